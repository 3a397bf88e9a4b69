//! All books of a snapshot, a page at a time.

use std::iter;
use std::time::{Duration, Instant};

use lapidary_store::{BookNo, Record, Snapshot, StoreError};

/// Number of books in a page.
const PAGE: usize = 1_000;

/// Reads all books, sorted by number. After an error, nothing follows.
pub(super) fn pages(
    snapshot: &dyn Snapshot,
) -> impl Iterator<Item = Result<Vec<(BookNo, Record)>, StoreError>> {
    let mut next = Some(BookNo(0));
    iter::from_fn(move || {
        let books = snapshot.books(next?, PAGE);
        let last = books.as_ref().ok().and_then(|books| books.last());
        next = last.and_then(|(last, _)| last.0.checked_add(1)).map(BookNo);
        (!books.as_ref().is_ok_and(Vec::is_empty)).then_some(books)
    })
}

/// The most books in a batch.
const MOST: usize = 1 << 16;
/// Batches that take longer do not grow further.
const LONG: Duration = Duration::from_secs(3);

/// All books from a number on, in batches that grow, for work that is faster with many books at a time.
pub(super) struct GrowingBatches {
    next: Option<BookNo>,
    size: usize,
    /// When the last batch was read.
    begun: Option<Instant>,
}

impl GrowingBatches {
    pub(super) fn from(book: BookNo) -> Self {
        Self {
            next: Some(book),
            size: PAGE,
            begun: None,
        }
    }

    /// The books of the next batch, sorted by number; `None` after the last.
    pub(super) fn read(
        &mut self,
        snapshot: &dyn Snapshot,
    ) -> Result<Option<Vec<(BookNo, Record)>>, StoreError> {
        let Some(next) = self.next else {
            return Ok(None);
        };
        if self.begun.is_some_and(|begun| begun.elapsed() < LONG) {
            self.size = (2 * self.size).min(MOST);
        }
        self.begun = Some(Instant::now());
        let books = snapshot.books(next, self.size)?;
        self.next = books
            .last()
            .and_then(|(last, _)| last.0.checked_add(1))
            .map(BookNo);
        Ok((!books.is_empty()).then_some(books))
    }

    /// The number from which the next batch is read; `None` after the last book.
    pub(super) fn next(&self) -> Option<BookNo> {
        self.next
    }
}
