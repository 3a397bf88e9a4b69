//! How long what is said of books may be, wherever it comes from: a request, a line of a feed, an import, ONIX, the command line.
//! A report shows a thousand books at most, and is never larger than what these allow.
//!
//! Names have their own bound ([`NAME_BYTES`](super::NAME_BYTES)), and so do notes ([`NOTE_BYTES`](super::NOTE_BYTES)).

use super::Record;

/// The longest title, in bytes of UTF-8.
pub const TITLE_BYTES: usize = 2_000;
/// The longest name of an author, in bytes of UTF-8.
pub const AUTHOR_BYTES: usize = 1_000;
/// The longest language, in bytes: a BCP 47 tag of 35 is rare.
pub const LANGUAGE_BYTES: usize = 64;
/// The longest identifier, in bytes of UTF-8.
pub const IDENTIFIER_BYTES: usize = 1_000;
/// The most authors, and the most identifiers.
pub const MOST_LISTED: usize = 100;
/// The most bytes of title, authors, language and identifiers together.
pub const DESCRIPTION_BYTES: usize = 8_000;
/// The longest text that a record may claim, in bytes: the lengths of all books can then be added up.
pub const TEXT_BYTES: u32 = u32::MAX;

/// What is longer than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} may have at most {most} {unit}; make it shorter")]
pub struct TooLong {
    what: &'static str,
    most: usize,
    unit: &'static str,
}

/// Says what is too long of what is said of a book, if anything is.
pub fn described(
    title: Option<&str>,
    authors: &[String],
    language: Option<&str>,
    identifiers: &[String],
) -> Result<(), TooLong> {
    let long = |what, most| TooLong { what, most, unit: "bytes" };
    if title.is_some_and(|title| title.len() > TITLE_BYTES) {
        return Err(long("the title", TITLE_BYTES));
    }
    if language.is_some_and(|language| language.len() > LANGUAGE_BYTES) {
        return Err(long("the language", LANGUAGE_BYTES));
    }
    for (list, what, whats, most) in [
        (authors, "an author's name", "the list of authors", AUTHOR_BYTES),
        (identifiers, "an identifier", "the list of identifiers", IDENTIFIER_BYTES),
    ] {
        if list.len() > MOST_LISTED {
            return Err(TooLong { what: whats, most: MOST_LISTED, unit: "entries" });
        }
        if list.iter().any(|one| one.len() > most) {
            return Err(long(what, most));
        }
    }
    let listed = authors.iter().chain(identifiers).map(String::len);
    let all = title.iter().chain(&language).map(|value| value.len()).chain(listed).sum::<usize>();
    if all > DESCRIPTION_BYTES {
        return Err(long("title, authors, language and identifiers together", DESCRIPTION_BYTES));
    }
    Ok(())
}

impl Record {
    /// As [`described`], with its note, and the length that it claims for its text.
    pub fn within_bounds(&self) -> Result<(), TooLong> {
        described(self.title.as_deref(), &self.authors, self.language.as_deref(), &self.identifiers)?;
        if self.bytes > u64::from(TEXT_BYTES) {
            return Err(TooLong { what: "the text", most: TEXT_BYTES as usize, unit: "bytes" });
        }
        match &self.standing.note {
            Some(note) if note.text.len() > super::NOTE_BYTES => {
                Err(TooLong { what: "the note", most: super::NOTE_BYTES, unit: "bytes" })
            }
            _ => Ok(()),
        }
    }
}
