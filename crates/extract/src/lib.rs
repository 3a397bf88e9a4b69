//! Bytes to text: detects the format and encoding of a file, and reads it.
//!
//! ```
//! let (windows_1251, _, _) = encoding_rs::WINDOWS_1251.encode("Гранит и самоцветы лежали в одном сундуке.");
//! let text = lapidary_extract::text(windows_1251.into_owned(), None)?;
//! assert_eq!(text.text, "Гранит и самоцветы лежали в одном сундуке.");
//! assert_eq!(text.encoding.to_string(), "windows-1251");
//! # Ok::<(), lapidary_extract::ExtractError>(())
//! ```
//!
//! [`read`] reads files of every format in [`Format`], alone or in archives, and detects the format from the content
//! (`sniff`). Each format has a source file of its own in `formats`. Files that cost too much, are encrypted or damaged are
//! refused with the reason ([`Limits`]). Parsers can run in separate processes (`worker`). [`text`] reads only plain
//! text: it refuses known formats by name, and data that is not text in any encoding, because that would fill an
//! index with noise.
//!
//! Text that is already a `String` needs none of this.

mod archive;
mod book_files;
mod bytes;
mod colour;
mod cp855;
mod cyrillic;
mod detect;
mod encoding;
mod formats;
mod headings;
mod hidden;
mod latin;
mod limits;
mod magic;
mod main_text;
mod noise;
mod pieces;
pub mod position;
mod prose;
mod read;
mod sheet;
mod sniff;
mod style;
mod utf32;
mod wide;
pub mod worker;
mod xml;

use serde::{Deserialize, Serialize};

use lapidary_common::description::Description;
use lapidary_common::error::{Classified, ErrorCode};

pub use book_files::{ending, is_book, rank, why_no_book};
pub use bytes::Bytes;
pub use encoding::{Encoding, UnknownEncoding};
pub use formats::Format;
pub use headings::{Heading, headings_in};
pub use hidden::{HiddenCount, HiddenWords, Hiding};
pub use limits::{Limit, Limits, Met};
pub use main_text::{BadSelector, MainText};
pub use pieces::Pieces;
pub use read::{reads_apart, takes_encoding};
pub use sheet::{SheetRow, is_workbook, sheet};
pub use worker::Readers;
pub use worker::{isolate, readers};

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The whole content.
    pub bytes: Bytes,
    /// Its name, used only where the content is ambiguous.
    pub name: Option<String>,
    /// The encoding of its text; `None` uses the encoding that the file declares, or else detects it.
    pub encoding: Option<Encoding>,
}

/// The content of a book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// The format.
    pub format: Format,
    /// The text that a reader sees, in reading order.
    pub text: String,
    /// The headings that its markup names, in the order of the text.
    #[serde(default)]
    pub headings: Vec<Heading>,
    /// What was left out of the text, because no reader sees it.
    #[serde(default)]
    pub hidden: HiddenWords,
    /// The metadata in the file.
    pub metadata: Description,
    /// The encoding, if the file is plain text.
    pub encoding: Option<Encoding>,
}

/// A book in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Its path in the archive; `None` if the file itself is the book.
    pub name: Option<String>,
    /// Its content, or why it could not be read.
    pub read: Result<Extracted, ExtractError>,
}

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text, without a byte-order mark. May be empty.
    pub text: String,
    /// The encoding used to decode it.
    pub encoding: Encoding,
}

/// Why bytes could not be converted to text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ExtractError {
    /// The bytes are another kind of file, or noise.
    #[error("not a text: {what}")]
    NotText {
        /// What the bytes are, or why they are not text, for people.
        what: String,
    },
    /// A kind of file that may be a book, and that is not read.
    #[error("not read: {what}")]
    Unsupported {
        /// What it is, and what to do, for people.
        what: String,
    },
    /// The book contains no text.
    #[error("no text: {0} is empty or contains only pictures")]
    NoText(Format),
    /// The page has no main text where it was said to be.
    #[error("no main text: {}", where_not(.text))]
    NoMainText {
        /// Where.
        text: MainText,
    },
    /// The bytes are not valid in the encoding given by the caller.
    #[error(
        "not valid {encoding}: the byte at offset {offset} is invalid; give the right encoding, or none"
    )]
    Undecodable {
        /// The encoding given.
        encoding: Encoding,
        /// The offset of the first invalid byte from the start of the file.
        offset: usize,
    },
    /// The file is encrypted and cannot be read without a key.
    #[error("encrypted: {what}; remove the protection first")]
    Encrypted {
        /// What it is, for people.
        what: String,
    },
    /// The file is incomplete, or does not follow its format.
    #[error("damaged: {why}")]
    Damaged {
        /// What is wrong with it.
        why: String,
    },
    /// Reading it would exceed a limit.
    #[error("too expensive to read: {0}")]
    OverLimit(Met),
    /// The reader crashed or was stopped.
    #[error("unreadable: {why}; the file may be damaged or malicious")]
    Stopped {
        /// What happened.
        why: String,
    },
    /// No reader is free, or none could be started. This says nothing about the file.
    #[error("{why}; try again")]
    Busy {
        /// What is missing.
        why: String,
    },
    /// A book in an archive cannot be read.
    #[error("{name} in the archive: {why}")]
    Member {
        /// Its path in the archive.
        name: String,
        /// Why it cannot be read.
        why: Box<ExtractError>,
    },
    /// The archive has several books where one was expected.
    #[error("an archive with {books} books ({names}); send one at a time")]
    Several {
        /// How many.
        books: usize,
        /// Some of their names.
        names: String,
    },
}

impl Classified for ExtractError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotText { .. } => ErrorCode::NotText,
            Self::NoText(_) | Self::NoMainText { .. } => ErrorCode::NoText,
            Self::Undecodable { .. } => ErrorCode::Undecodable,
            Self::Encrypted { .. } => ErrorCode::Encrypted,
            Self::Damaged { .. } => ErrorCode::Damaged,
            Self::OverLimit(_) => ErrorCode::OverLimit,
            Self::Unsupported { .. } | Self::Stopped { .. } => ErrorCode::NotReadable,
            Self::Busy { .. } => ErrorCode::Overloaded,
            // The archive as a whole may well have a text.
            Self::Member { why, .. } => match why.code() {
                ErrorCode::NotText | ErrorCode::NoText => ErrorCode::NotReadable,
                code => code,
            },
            Self::Several { .. } => ErrorCode::SeveralBooks,
        }
    }
}

impl ExtractError {
    fn damaged(why: String) -> Self {
        Self::Damaged { why }
    }
}

fn where_not(text: &MainText) -> String {
    match text {
        MainText::Readability => "the page has none that a reading mode would show".to_owned(),
        MainText::Selector(selector) => {
            format!("nothing with text on the page matches the selector {selector:?}")
        }
    }
}

/// The number of bytes that [`is_marked`] looks at.
pub const START: usize = sniff::START;

/// Whether the start of a file identifies its format. It does for all supported formats except plain text.
#[must_use]
pub fn is_marked(start: &[u8]) -> bool {
    !sniff::kind(start, None).is_plain()
}

/// Reads a file: a single book, or all books of an archive.
///
/// # Errors
/// Any [`ExtractError`] but [`ExtractError::Several`]. An unreadable book in an archive does not affect the others.
pub fn read(file: File, limits: Limits) -> Result<Vec<Book>, ExtractError> {
    read_charged(file, limits, &mut |_| Ok(()))
}

/// Called with an amount of memory, in bytes, before a reader allocates it in this process; may refuse it.
pub type Charge<'a> = &'a mut dyn FnMut(u64) -> Result<(), ExtractError>;

/// Like [`read`], but accounts for the memory that it takes in addition to the file.
pub fn read_charged(
    file: File,
    limits: Limits,
    charge: Charge<'_>,
) -> Result<Vec<Book>, ExtractError> {
    worker::read_apart(file, limits, charge)
}

/// Reads a file that must contain a single book.
///
/// # Errors
/// Any [`ExtractError`].
pub fn read_one(file: File, limits: Limits) -> Result<Extracted, ExtractError> {
    one(read(file, limits)?)
}

/// The only one of these books.
pub fn one(books: Vec<Book>) -> Result<Extracted, ExtractError> {
    /// How many names are shown.
    const SHOWN: usize = 3;
    let names: Vec<String> = books
        .iter()
        .filter_map(|book| book.name.clone())
        .take(SHOWN)
        .collect();
    match <[Book; 1]>::try_from(books) {
        Ok([book]) => book.read,
        Err(books) => Err(ExtractError::Several {
            books: books.len(),
            names: names.join(", "),
        }),
    }
}

/// Reads a file as one text: an archive is the concatenation of all its books.
///
/// # Errors
/// Any [`ExtractError`] but [`ExtractError::Several`]. An unreadable book in an archive is an error, because it may
/// be the one that matters.
pub fn read_whole(file: File, limits: Limits) -> Result<Whole, ExtractError> {
    whole(read(file, limits)?)
}

/// The text of a whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// The text.
    pub text: String,
    /// Its headings; each book of an archive begins with its name.
    pub headings: Vec<Heading>,
    /// What was left out of it, because no reader sees it.
    pub hidden: HiddenWords,
}

/// The concatenated text of these books.
pub fn whole(books: Vec<Book>) -> Result<Whole, ExtractError> {
    let mut whole = Whole::default();
    let several = books.len() > 1;
    if books.iter().all(is_part_without_text) {
        return Err(ExtractError::NotText {
            what: "an archive without a text".to_owned(),
        });
    }
    let mut left: usize = books
        .iter()
        .flat_map(|book| &book.read)
        .map(|read| read.text.len() + SEPARATOR.len())
        .sum();
    for Book { name, read } in books {
        let book = match (read, name.as_deref()) {
            (Ok(book), _) => book,
            (Err(why), None) => return Err(why),
            (Err(why), Some(name)) => {
                return Err(ExtractError::Member {
                    name: name.to_owned(),
                    why: Box::new(why),
                });
            }
        };
        left = left.saturating_sub(book.text.len() + SEPARATOR.len());
        whole.push(book, name.as_deref().filter(|_| several), left);
    }
    Ok(whole)
}

/// Whether it is in an archive, and of a kind that has no text, such as a program.
fn is_part_without_text(book: &Book) -> bool {
    let of_no_text = matches!(
        book.read,
        Err(ExtractError::NotText { .. } | ExtractError::NoText(_))
    );
    of_no_text && book.name.is_some()
}

/// What is between two books.
const SEPARATOR: &str = "\n\n";

impl Whole {
    /// Adds a book, under its name if it has one. So many bytes follow.
    fn push(&mut self, book: Extracted, name: Option<&str>, left: usize) {
        let start = if self.text.is_empty() {
            0
        } else {
            self.text.len() + SEPARATOR.len()
        };
        if let Some(name) = name {
            headings::add(&mut self.headings, start, name);
        }
        headings::append(&mut self.headings, start, book.headings);
        self.hidden.extend(&book.hidden);
        if self.text.is_empty() {
            self.text = book.text;
            // Reserved once, so that the texts never exist twice.
            self.text.reserve_exact(left);
        } else {
            self.text.push_str(SEPARATOR);
            self.text.push_str(&book.text);
        }
    }
}

/// Reads a plain text: `bytes` is the whole file.
///
/// Without `encoding`, the encoding is detected, and bytes that are invalid in it (an occasional broken one) become
/// U+FFFD. With `encoding`, all bytes must be valid in it. A contradicting byte-order mark takes precedence, as it
/// does in browsers: no text in another encoding begins with one. A long UTF-8 text reuses the memory of `bytes`; all
/// others are written once to new memory.
///
/// An empty file, or a byte-order mark alone, is an empty text and not an error. Whether a text is long enough for a
/// fingerprint is decided by later steps.
///
/// # Errors
/// [`ExtractError::NotText`] for known formats that are not text and for noise, with or without `encoding`;
/// [`ExtractError::Undecodable`] only with `encoding`.
pub fn text(bytes: Vec<u8>, encoding: Option<Encoding>) -> Result<Text, ExtractError> {
    formats::plain::text(bytes.into(), encoding)
}
