//! The books that an evaluation works with. Their texts stay in their files: one at a time is read by each core.

use std::fs;
use std::path::PathBuf;

use hashbrown::HashMap;

use super::EvaluateError;
use crate::extract::{self, File, Limits};

/// A file with a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookFile {
    /// What tables and lists of pairs call it: the path below the folder of books, with `/` between its parts.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// All books, in the order of their names.
#[derive(Debug)]
pub struct Shelf {
    books: Vec<BookFile>,
    numbers: HashMap<String, usize>,
}

impl Shelf {
    /// The books of these files. What cannot be read as a text is found out when it is read.
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

    /// The first folder of the book's path, by which books are sorted into languages; `-` for a book in none.
    pub(super) fn language(&self, book: usize) -> &str {
        self.books[book].name.split_once('/').map_or("-", |(folder, _)| folder)
    }

    pub(super) fn text(&self, book: usize) -> Result<String, EvaluateError> {
        let BookFile { name, path } = &self.books[book];
        let unreadable = |why: String| EvaluateError::Book { name: name.clone(), why };
        let bytes = fs::read(path).map_err(|e| unreadable(e.to_string()))?;
        let file = File { bytes, name: Some(name.clone()), encoding: None };
        Ok(extract::read_one(file, Limits::default()).map_err(|e| unreadable(e.to_string()))?.text)
    }
}
