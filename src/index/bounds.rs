//! Length limits for the metadata of books, whatever its source: a request, a line of a feed, an import, ONIX, the
//! command line. A report shows at most a thousand books, so these limits also bound the size of a report.
//!
//! Names have their own limit ([`NAME_BYTES`](super::NAME_BYTES)), and so do notes
//! ([`NOTE_BYTES`](super::NOTE_BYTES)).

use super::Record;

/// Maximum length of a title, in bytes of UTF-8.
pub const TITLE_BYTES: usize = 2_000;
/// Maximum length of an author's name, in bytes of UTF-8.
pub const AUTHOR_BYTES: usize = 1_000;
/// Maximum length of a language, in bytes. BCP 47 tags of 35 bytes are rare.
pub const LANGUAGE_BYTES: usize = 64;
/// Maximum length of an identifier, in bytes of UTF-8.
pub const IDENTIFIER_BYTES: usize = 1_000;
/// Maximum number of authors, and of identifiers.
pub const MOST_LISTED: usize = 100;
/// Maximum total length of title, authors, language and identifiers, in bytes.
pub const DESCRIPTION_BYTES: usize = 8_000;
/// Maximum text length that a record may claim, in bytes. It keeps the sum over all books from overflowing.
pub const TEXT_BYTES: u32 = u32::MAX;

/// What is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} is longer than {most} {unit}; shorten it")]
pub struct TooLong {
    what: &'static str,
    most: usize,
    unit: &'static str,
}

/// Checks the metadata of a book against the limits.
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
    /// Like [`described`], and also checks the note and the claimed length of the text.
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
