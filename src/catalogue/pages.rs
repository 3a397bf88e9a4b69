//! All books of a snapshot, a page at a time.

use std::iter;

use crate::index::{BookNo, Record, Snapshot, StoreError};

/// Number of books in a page.
const PAGE: usize = 1_000;

/// Reads all books, sorted by number. After an error, nothing follows.
pub(super) fn pages(snapshot: &dyn Snapshot) -> impl Iterator<Item = Result<Vec<(BookNo, Record)>, StoreError>> {
    let mut next = Some(BookNo(0));
    iter::from_fn(move || {
        let books = snapshot.books(next?, PAGE);
        let last = books.as_ref().ok().and_then(|books| books.last());
        next = last.and_then(|(last, _)| last.0.checked_add(1)).map(BookNo);
        (!books.as_ref().is_ok_and(Vec::is_empty)).then_some(books)
    })
}
