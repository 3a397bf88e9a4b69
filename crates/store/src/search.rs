//! A search for books by their terms.

use std::collections::BTreeSet;

use super::{BookNo, Library, Term};

/// What to search for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The terms that a book must have, all of them. Without any, nothing is found.
    pub terms: &'a BTreeSet<Term>,
    /// The only libraries to search.
    pub libraries: Option<&'a BTreeSet<Library>>,
    /// Where to start.
    pub from: Option<&'a Cursor>,
    /// The maximum number of books.
    pub limit: usize,
}

/// A place in the results of a search. It does not depend on whether the books before it still exist, and tells nothing
/// about other libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The library of the next book, or an earlier one.
    pub library: Library,
    /// How many books this library had ever got before the next book.
    pub passed: u32,
}

/// A page of results.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Found {
    /// The books.
    pub books: Vec<BookNo>,
    /// Where to go on, unless all books were found.
    pub next: Option<Cursor>,
}
