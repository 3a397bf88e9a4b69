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
//! The formats are told apart in `format` by the bytes that they begin with. Only plain text is read (`plain`), and so
//! is markup (HTML, XML, FB2), as the plain text that it is, tags and all. All others are refused by their name, as is
//! data that no encoding makes a text: what is not a text would only fill an index with noise.
//!
//! Not for text that is already a `String`: that needs no step at all.

mod cp855;
mod cyrillic;
mod detect;
mod encoding;
mod format;
mod latin;
mod noise;
mod plain;
mod utf32;
mod wide;

pub use encoding::{Encoding, UnknownEncoding};

/// What was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text, without a byte-order mark. May be empty.
    pub text: String,
    /// The encoding that the bytes were read in.
    pub encoding: Encoding,
}

/// Why bytes did not become a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The bytes are another kind of file, or noise.
    #[error("not a text: {what}")]
    NotText {
        /// What the bytes are, or what speaks against a text, for people.
        what: String,
    },
    /// The bytes are not valid in the encoding that the caller gave.
    #[error("not valid {encoding}: the byte at offset {offset} has no meaning in it; give the right encoding, or none")]
    Undecodable {
        /// The encoding given.
        encoding: Encoding,
        /// The place of the first byte that cannot be read, in bytes from the start of the file.
        offset: usize,
    },
}

/// Reads a file: `bytes` is all of it.
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
    match format::name(&bytes) {
        Some(what) => Err(ExtractError::NotText { what: what.to_owned() }),
        None => plain::read(bytes, encoding),
    }
}
