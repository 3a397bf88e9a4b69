//! Which files are books, by their names.

use std::fs;
use std::io::Read as _;
use std::path::Path;

/// A name's extension in lower case, if it looks like one: the `2` in `Vol. 2` does not.
#[must_use]
pub fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_one = ending.len() <= 10 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_one && ending.bytes().any(|byte| byte.is_ascii_alphabetic())).then_some(ending)
}

/// Whether a file in a folder is a book, judging by its name or its first bytes.
#[must_use]
pub fn is_book(path: &Path) -> bool {
    const ENDINGS: [&str; 21] = [
        "txt", "text", "html", "htm", "xhtml", "fb2", "fb3", "epub", "docx", "doc", "odt", "sxw", "rtf", "pdf", "mobi",
        "prc", "azw", "azw3", "tei", "zip", "gz",
    ];
    let Some(ending) = ending(path) else { return true };
    if ENDINGS.contains(&ending.as_str()) {
        return true;
    }
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(super::START as u64).read_to_end(&mut start));
    // An unreadable file counts as a book, so that the error is reported when it is read again.
    read.is_err() || super::is_marked(&start)
}
