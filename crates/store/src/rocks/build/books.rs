//! The tables of books, without their gems.

use std::cmp::Ordering;

use lapidary_gems::PackedFold;

use super::keys::KeyTables;
use super::tables::{Tables, Workplace};
use crate::rocks::change::digest_keys;
use crate::rocks::owners::LibraryNo;
use crate::rocks::schema::{self, DigestKey, Family, TermKey};
use crate::rocks::search::term_keys;
use crate::{BookNo, Record, StoreError};

/// Number of digests, and of terms, that are sorted in memory: up to 80 MiB each.
const SORTED: usize = 1 << 22;

/// The tables of everything of a book but its gems.
pub(super) struct BookTables<'a> {
    records: Tables<'a>,
    ids: Tables<'a>,
    folds: Tables<'a>,
    texts: Tables<'a>,
    digests: KeyTables<'a, { size_of::<DigestKey>() }>,
    terms: KeyTables<'a, { size_of::<TermKey>() }>,
    /// The key of the last book's id.
    last_id: Vec<u8>,
}

impl<'a> BookTables<'a> {
    pub(super) fn new(workplace: &'a Workplace<'a>) -> Self {
        let tables = |family| Tables::new(workplace, family, 0);
        Self {
            records: tables(Family::Books),
            ids: tables(Family::Ids),
            folds: tables(Family::Folds),
            texts: tables(Family::Texts),
            digests: KeyTables::new(workplace, Family::Digests, SORTED),
            terms: KeyTables::new(workplace, Family::Terms, SORTED),
            last_id: Vec::new(),
        }
    }

    /// Adds a book's record, and what it is found by.
    pub(super) fn put(
        &mut self,
        book: BookNo,
        library: LibraryNo,
        record: &Record,
    ) -> Result<(), StoreError> {
        let (id, number) = (schema::id_key(&record.key), schema::book_key(book));
        follows(&id, &self.last_id)?;
        self.ids.put(&id, &number)?;
        self.last_id = id;
        self.records.put(&number, &schema::json(record))?;
        self.digests.put(digest_keys(book, record))?;
        self.terms.put(term_keys(library, book, record))
    }

    /// Adds a book's folds, and its text.
    pub(super) fn put_content(
        &mut self,
        book: BookNo,
        folds: &[PackedFold],
        text: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut folds: Vec<_> = folds
            .iter()
            .map(|fold| (schema::fold_key(book, fold.base()), fold.as_bytes()))
            .collect();
        folds.sort_unstable();
        for (key, fold) in folds {
            self.folds.put(&key, fold)?;
        }
        match text {
            Some(text) => self.texts.put(&schema::book_key(book), text.as_bytes()),
            None => Ok(()),
        }
    }

    /// Makes the tables part of the store.
    pub(super) fn ingest(self) -> Result<(), StoreError> {
        for tables in [self.records, self.ids, self.folds, self.texts] {
            tables.ingest()?;
        }
        self.digests.ingest()?;
        self.terms.ingest()
    }
}

/// Checks that the key of an id comes after the one before it.
fn follows(key: &[u8], before: &[u8]) -> Result<(), StoreError> {
    match key.cmp(before) {
        Ordering::Greater => Ok(()),
        Ordering::Equal => Err(StoreError::Duplicate(schema::show_id_key(key))),
        Ordering::Less => Err(StoreError::Unordered(schema::show_id_key(key))),
    }
}
