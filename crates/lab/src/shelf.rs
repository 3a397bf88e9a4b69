//! The books of an evaluation. Each core holds one text in memory at a time.

use std::fs;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use lapidary_gems::{Lexicon, LexiconCount, LexiconWords};

use super::pieces::piece;
use super::{EvaluateError, Progress};
use lapidary_common::random::Random;
use lapidary_extract::{File, Limits};

/// A file with a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShelfFile {
    /// The name in tables and lists of pairs: the path relative to the folder of books, with `/` as separator.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
}

/// All books, sorted by name.
#[derive(Debug)]
pub struct Shelf {
    books: Vec<ShelfFile>,
    numbers: HashMap<String, usize>,
    /// If its texts are passages of the books: their length in characters, and the seed of where they begin.
    passages: Option<(usize, u64)>,
}

impl Shelf {
    /// Creates a shelf from files. Files are not opened until their text is needed, so unreadable ones cause errors only then.
    #[must_use]
    pub fn new(mut books: Vec<ShelfFile>) -> Self {
        books.sort_by(|a, b| a.name.cmp(&b.name));
        let numbers = books
            .iter()
            .enumerate()
            .map(|(number, book)| (book.name.clone(), number))
            .collect();
        Self {
            books,
            numbers,
            passages: None,
        }
    }

    /// A passage of each book in its place. A book that is not longer stays whole.
    pub(super) fn passages(&self, characters: usize, seed: u64) -> Self {
        Self {
            books: self.books.clone(),
            numbers: self.numbers.clone(),
            passages: Some((characters, seed)),
        }
    }

    /// Whether its texts are passages.
    pub(super) fn has_passages(&self) -> bool {
        self.passages.is_some()
    }

    /// The words of the books, counted.
    ///
    /// # Errors
    /// The errors of reading the books.
    pub fn lexicon(&self, progress: Progress<'_>) -> Result<Lexicon, EvaluateError> {
        let words = LexiconWords::default();
        let mut count = LexiconCount::new(words);
        for book in 0..self.len() {
            count.add(words.of(&self.text(book)?));
            progress("counting words", book as u64 + 1, self.len() as u64);
        }
        count
            .finish()
            .parse()
            .map_err(|e| EvaluateError::Internal(format!("a lexicon: {e}")))
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
        self.books[book]
            .name
            .split_once('/')
            .map_or("-", |(folder, _)| folder)
    }

    pub(super) fn text(&self, book: usize) -> Result<String, EvaluateError> {
        let ShelfFile { name, path } = &self.books[book];
        let text = read_text(name, path).map_err(|why| EvaluateError::Book {
            name: name.clone(),
            why,
        })?;
        let Some((characters, seed)) = self.passages else {
            return Ok(text);
        };
        let mut random = Random::new(seed.wrapping_add(book as u64));
        let passage = piece(&text, characters, &mut random).map(str::to_owned);
        Ok(passage.unwrap_or(text))
    }
}

/// The text of a file; the error says why it has none.
fn read_text(name: &str, path: &Path) -> Result<String, String> {
    let file = File {
        bytes: fs::read(path).map_err(|e| e.to_string())?.into(),
        name: Some(name.to_owned()),
        encoding: None,
    };
    let read = lapidary_extract::read_one(file, Limits::default());
    Ok(read.map_err(|e| e.to_string())?.text)
}
