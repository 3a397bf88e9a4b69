//! Bytes to text: encodings, formats, and what a reader does not see.

mod encodings;
mod formats;
#[path = "../../../../tests/common/makers.rs"]
mod makers;
mod pdf;
mod readers;
#[path = "../../../../tests/common/words.rs"]
mod words;
