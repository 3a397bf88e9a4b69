//! Bytes to text: finds out what a file is, and in which encoding, and reads it.
//!
//! ```
//! use lapidary::extract;
//!
//! let (windows_1251, _, _) = encoding_rs::WINDOWS_1251.encode("Гранит и самоцветы лежали в одном сундуке.");
//! let text = extract::text(windows_1251.into_owned(), None)?;
//! assert_eq!(text.text, "Гранит и самоцветы лежали в одном сундуке.");
//! assert_eq!(text.encoding.to_string(), "windows-1251");
//! # Ok::<(), extract::ExtractError>(())
//! ```
//!
//! [`read`] takes files of every format in [`Format`], alone or in archives, and tells them apart by their content (`sniff`).
//! One file a format reads it; what costs too much, is encrypted or damaged is refused with the reason ([`Limits`]). Parsers
//! may run in processes of their own (`worker`). [`text`] reads plain text and nothing else: known formats are refused by
//! their name, as is data that no encoding makes a text, since what is not a text would only fill an index with noise.
//!
//! Not for text that is already a `String`: that needs no step at all.

mod archive;
mod clean;
mod cp855;
mod cyrillic;
mod detect;
mod doc;
mod docx;
mod encoding;
mod epub;
mod fb2;
mod fb3;
mod format;
mod html;
mod latin;
mod limits;
mod mobi;
mod noise;
mod odt;
mod office;
mod pdf;
mod plain;
mod prose;
mod read;
mod rtf;
mod sniff;
mod tei;
mod traced;
mod utf32;
mod wide;
pub(crate) mod worker;
mod xml;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use clean::{Clean, clean};
pub use encoding::{Encoding, UnknownEncoding};
pub use limits::{Limit, Limits, Met};
pub(crate) use read::reads_apart;
pub use worker::{isolate, readers};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Its name, which decides only what the content leaves open.
    pub name: Option<String>,
    /// The encoding of its text; `None`: as it says itself, or else as it looks.
    pub encoding: Option<Encoding>,
}

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Plain text.
    Text,
    /// HTML and XHTML.
    Html,
    /// FictionBook 2.
    Fb2,
    /// FictionBook 3.
    Fb3,
    /// EPUB 2 and 3.
    Epub,
    /// Office Open XML.
    Docx,
    /// Word 6 to 2003.
    Doc,
    /// OpenDocument, and StarOffice's SXW.
    Odt,
    /// Rich Text Format.
    Rtf,
    /// PDF.
    Pdf,
    /// MOBI, AZW and AZW3.
    Mobi,
    /// TEI XML.
    Tei,
}

impl Format {
    /// Its name in one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Fb2 => "fb2",
            Self::Fb3 => "fb3",
            Self::Epub => "epub",
            Self::Docx => "docx",
            Self::Doc => "doc",
            Self::Odt => "odt",
            Self::Rtf => "rtf",
            Self::Pdf => "pdf",
            Self::Mobi => "mobi",
            Self::Tei => "tei",
        }
    }
}

/// For people, with an article.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "a plain text",
            Self::Html => "an HTML page",
            Self::Fb2 => "an FB2 e-book",
            Self::Fb3 => "an FB3 e-book",
            Self::Epub => "an EPUB e-book",
            Self::Docx => "an Office Open XML document",
            Self::Doc => "a Word document",
            Self::Odt => "an OpenDocument text",
            Self::Rtf => "an RTF document",
            Self::Pdf => "a PDF document",
            Self::Mobi => "a MOBI e-book",
            Self::Tei => "a TEI document",
        })
    }
}

/// What a file says of the book in it. Nothing of it is verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The title.
    pub title: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The language, as it is written there.
    pub language: Option<String>,
    /// ISBNs and other identifiers, as they are written there.
    pub identifiers: Vec<String>,
}

impl Metadata {
    /// The same, no longer than a record may be: a file may call a library its title. Long values are cut, and those that do
    /// not fit are left out.
    fn bounded(self) -> Self {
        /// Bytes of a value, of a list, and of a language.
        const MOST: (usize, usize, usize) = (1_000, 3_000, 64);
        let value = |mut value: String, most: usize| {
            let end = (0..=most.min(value.len())).rev().find(|end| value.is_char_boundary(*end));
            value.truncate(end.unwrap_or(0));
            value
        };
        let values = |values: Vec<String>| {
            let mut left = MOST.1;
            let fits = |value: &String| {
                let fits = value.len() <= left;
                left = left.saturating_sub(value.len().max(MOST.1 / 100));
                fits
            };
            values.into_iter().map(|one| value(one, MOST.0)).take_while(fits).collect()
        };
        Self {
            title: self.title.map(|title| value(title, MOST.0)),
            authors: values(self.authors),
            language: self.language.filter(|language| language.len() <= MOST.2),
            identifiers: values(self.identifiers),
        }
    }
}

/// What was read of a book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// The format.
    pub format: Format,
    /// What a reader reads, in the order of reading.
    pub text: String,
    /// What the file says of it.
    pub metadata: Metadata,
    /// The encoding, where text is all that the file is.
    pub encoding: Option<Encoding>,
}

/// A book of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Its path in the archive; `None`, if the file is the book.
    pub name: Option<String>,
    /// What was read of it, or why nothing was.
    pub read: Result<Extracted, ExtractError>,
}

/// What was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text, without a byte-order mark. May be empty.
    pub text: String,
    /// The encoding that the bytes were read in.
    pub encoding: Encoding,
}

/// Why bytes did not become a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The bytes are another kind of file, or noise.
    #[error("not a text: {what}")]
    NotText {
        /// What the bytes are, or what speaks against a text, for people.
        what: String,
    },
    /// A book with nothing to read in it.
    #[error("no text: there is nothing to read in {0}, or only pictures")]
    NoText(Format),
    /// The bytes are not valid in the encoding that the caller gave.
    #[error("not valid {encoding}: the byte at offset {offset} has no meaning in it; give the right encoding, or none")]
    Undecodable {
        /// The encoding given.
        encoding: Encoding,
        /// The place of the first byte that cannot be read, in bytes from the start of the file.
        offset: usize,
    },
    /// Nobody can read it without a key.
    #[error("encrypted: {what}; send it without its protection")]
    Encrypted {
        /// What it is, for people.
        what: String,
    },
    /// The file is not whole, or not what it says.
    #[error("damaged: {why}")]
    Damaged {
        /// What is wrong with it.
        why: String,
    },
    /// Reading it would cost too much.
    #[error("too costly to read: {0}")]
    OverLimit(Met),
    /// Its reader did not survive it.
    #[error("not readable: {why}; the file may be damaged, or made to do harm")]
    Stopped {
        /// What happened.
        why: String,
    },
    /// No reader is free, or none could be started: nothing is said of the file.
    #[error("{why}; try again")]
    Busy {
        /// What is lacking.
        why: String,
    },
    /// One of the books of an archive cannot be read.
    #[error("{name} in the archive: {why}")]
    Member {
        /// Its path there.
        name: String,
        /// Why it cannot be read.
        why: Box<ExtractError>,
    },
    /// An archive of several books, where one was wanted.
    #[error("an archive of {books} books: {names}; send one at a time")]
    Several {
        /// How many.
        books: usize,
        /// Some of their names.
        names: String,
    },
}

impl ExtractError {
    fn damaged(why: String) -> Self {
        Self::Damaged { why }
    }
}

/// How much of a file [`is_marked`] looks at.
pub const START: usize = sniff::START;

/// Whether a file that begins so says by that what it is, as all formats that are read but plain text do.
#[must_use]
pub fn is_marked(start: &[u8]) -> bool {
    sniff::kind(start, None) != sniff::FileKind::Plain
}

/// Reads a file: the book that it is, or the books that it is an archive of.
///
/// # Errors
/// Any [`ExtractError`] but [`ExtractError::Several`]. One book of an archive that cannot be read stops no other.
pub fn read(file: File, limits: Limits) -> Result<Vec<Book>, ExtractError> {
    read_charged(file, limits, &mut |_| Ok(()))
}

/// Is told of memory, in bytes, before a reader takes it in this process, and may refuse that.
pub(crate) type Charge<'a> = &'a mut dyn FnMut(u64) -> Result<(), ExtractError>;

/// As [`read`], with an account of the memory that it takes beside the file.
pub(crate) fn read_charged(file: File, limits: Limits, charge: Charge<'_>) -> Result<Vec<Book>, ExtractError> {
    worker::read_apart(file, limits, charge)
}

/// Reads a file that must be one book.
///
/// # Errors
/// Any [`ExtractError`].
pub fn read_one(file: File, limits: Limits) -> Result<Extracted, ExtractError> {
    one(read(file, limits)?)
}

/// The only one of these books.
pub(crate) fn one(books: Vec<Book>) -> Result<Extracted, ExtractError> {
    /// How many names are shown.
    const SHOWN: usize = 3;
    let names: Vec<String> = books.iter().filter_map(|book| book.name.clone()).take(SHOWN).collect();
    match <[Book; 1]>::try_from(books) {
        Ok([book]) => book.read,
        Err(books) => Err(ExtractError::Several { books: books.len(), names: names.join(", ") }),
    }
}

/// Reads a file as one text: an archive is all of its books, one below the other.
///
/// # Errors
/// Any [`ExtractError`] but [`ExtractError::Several`]. A book of an archive that cannot be read is an error, since it may be
/// the one that counts.
pub fn read_whole(file: File, limits: Limits) -> Result<String, ExtractError> {
    whole(read(file, limits)?)
}

/// The text of all of these books.
pub(crate) fn whole(books: Vec<Book>) -> Result<String, ExtractError> {
    let mut whole = String::new();
    let mut left: usize = books.iter().flat_map(|book| &book.read).map(|read| read.text.len() + 2).sum();
    for Book { name, read } in books {
        let text = match (read, name) {
            (Ok(read), _) => read.text,
            (Err(why), None) => return Err(why),
            (Err(why), Some(name)) => return Err(ExtractError::Member { name, why: Box::new(why) }),
        };
        left = left.saturating_sub(text.len() + 2);
        if whole.is_empty() {
            whole = text;
            // Once for all, so that they are never there twice.
            whole.reserve_exact(left);
        } else {
            whole.push_str("\n\n");
            whole.push_str(&text);
        }
    }
    Ok(whole)
}

/// Reads a plain text: `bytes` is all of the file.
///
/// Without `encoding` the encoding is detected, and bytes that are invalid in it (a broken one here and there) become
/// U+FFFD. With `encoding` all bytes must be valid in it. A byte-order mark that says otherwise wins, as it does in
/// browsers: no text of another encoding begins with one. A long text in UTF-8 takes over the memory of `bytes`; all
/// others are written once, anew.
///
/// No bytes, or a byte-order mark alone, are a text of no characters and not an error: whether that is enough for a
/// fingerprint is for the steps behind to say, as it is for a text of ten characters.
///
/// # Errors
/// [`ExtractError::NotText`] for known formats that are not text and for noise, with or without `encoding`;
/// [`ExtractError::Undecodable`] only with `encoding`.
pub fn text(bytes: Vec<u8>, encoding: Option<Encoding>) -> Result<Text, ExtractError> {
    plain::text(bytes, encoding)
}
