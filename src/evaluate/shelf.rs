//! The books of an evaluation. Each core holds one text in memory at a time.

use std::fs;
use std::path::PathBuf;

use hashbrown::HashMap;

use super::EvaluateError;
use crate::extract::{self, File, Limits};

/// A file with a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookFile {
    /// The name in tables and lists of pairs: the path relative to the folder of books, with `/` as separator.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
}

/// All books, sorted by name.
#[derive(Debug)]
pub struct Shelf {
    books: Vec<BookFile>,
    numbers: HashMap<String, usize>,
}

impl Shelf {
    /// Creates a shelf from files. Files are not opened until their text is needed, so unreadable ones cause errors only then.
    #[must_use]
    pub fn new(mut books: Vec<BookFile>) -> Self {
        books.sort_by(|a, b| a.name.cmp(&b.name));
        let numbers = books.iter().enumerate().map(|(number, book)| (book.name.clone(), number)).collect();
        Self { books, numbers }
    }

    pub(super) fn len(&self) -> usize {
        self.books.len()
    }

    pub(super) fn name(&self, book: usize) -> &str {
        &self.books[book].name
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The language of a book: the first folder of its path, or `-` if it is not in a folder.
    pub(super) fn language(&self, book: usize) -> &str {
        self.books[book].name.split_once('/').map_or("-", |(folder, _)| folder)
    }

    pub(super) fn text(&self, book: usize) -> Result<String, EvaluateError> {
        let BookFile { name, path } = &self.books[book];
        let unreadable = |why: String| EvaluateError::Book { name: name.clone(), why };
        let bytes = fs::read(path).map_err(|e| unreadable(e.to_string()))?;
        let file = File { bytes: bytes.into(), name: Some(name.clone()), encoding: None };
        Ok(extract::read_one(file, Limits::default()).map_err(|e| unreadable(e.to_string()))?.text)
    }
}
