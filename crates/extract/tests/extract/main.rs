//! Bytes to text: encodings, formats, and what a reader does not see.

// A test tells a story from its beginning to its end.
#![allow(clippy::too_many_lines)]

mod encodings;
mod formats;
#[path = "../../../../tests/common/makers.rs"]
mod makers;
mod pdf;
mod readers;
#[path = "../../../../tests/common/words.rs"]
mod words;
