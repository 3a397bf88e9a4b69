//! Reading a state of the store.

use std::fmt::Display;
use std::sync::Arc;

use hashbrown::HashMap;
use rocksdb::{DBPinnableSlice, DBRawIterator, ReadOptions};
use serde::de::DeserializeOwned;

use super::recipes::{KnownRecipe, Recipes};
use super::schema::{self, Family};
use super::{RocksStore, codec, error, verify};
use crate::fingerprint::{Gem, PlacedGem, RecipeName};
use crate::index::{BookId, BookKey, BookNo, Library, LibrarySummary, Record, Sizes, Snapshot, StoreError, Tally};

/// A state of a [`RocksStore`].
pub(super) struct RocksSnapshot<'a> {
    store: &'a RocksStore,
    snapshot: rocksdb::Snapshot<'a>,
    recipes: Arc<Recipes>,
}

impl<'a> RocksSnapshot<'a> {
    pub(super) fn new(store: &'a RocksStore, snapshot: rocksdb::Snapshot<'a>, recipes: Arc<Recipes>) -> Self {
        Self { store, snapshot, recipes }
    }

    pub(super) fn recipes(&self) -> &Recipes {
        &self.recipes
    }

    pub(super) fn record(&self, book: BookNo) -> Result<Option<Record>, StoreError> {
        let Some(value) = self.get(Family::Books, &schema::book_key(book))? else {
            return Ok(None);
        };
        self.json(&value, format_args!("the record of book {}", book.0)).map(Some)
    }

    pub(super) fn gem_list(&self, recipe: &KnownRecipe, book: BookNo) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        let Some(value) = self.get(Family::Gems, &schema::gems_key(recipe, book))? else {
            return Ok(None);
        };
        match codec::decode(&value, recipe.gem_bytes()) {
            Some(gems) => Ok(Some(gems)),
            None => Err(self.damaged(format!("the gems of book {} ({}) cannot be read", book.0, recipe.name()))),
        }
    }

    pub(super) fn sizes_of(&self, recipe: &KnownRecipe) -> Result<Sizes, StoreError> {
        match self.get(Family::Meta, &schema::sizes_key(recipe.number))? {
            Some(value) => self.json(&value, format_args!("the sizes of recipe {}", recipe.name())),
            None => Ok(Sizes::default()),
        }
    }

    pub(super) fn summary(&self, library: &Library) -> Result<Option<LibrarySummary>, StoreError> {
        match self.get(Family::Meta, &schema::library_key(library))? {
            Some(value) => self.json(&value, format_args!("the summary of library {library}")).map(Some),
            None => Ok(None),
        }
    }

    /// The number that the next new book gets.
    pub(super) fn next_book(&self) -> Result<BookNo, StoreError> {
        match self.get(Family::Meta, schema::NEXT)? {
            Some(value) => {
                schema::read_book(&value).ok_or_else(|| self.damaged("the next book's number cannot be read"))
            }
            None => Ok(BookNo(0)),
        }
    }

    pub(super) fn get(&self, family: Family, key: &[u8]) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.snapshot.get_pinned_cf(self.store.family(family), key).map_err(|e| self.store.failed(&e))
    }

    /// An iterator that is nowhere yet.
    pub(super) fn iterator(&self, family: Family, options: ReadOptions) -> DBRawIterator<'_> {
        self.snapshot.raw_iterator_cf_opt(self.store.family(family), options)
    }

    /// Why an iterator is at no entry: because it is at the end, or because reading failed.
    pub(super) fn end(&self, iterator: &DBRawIterator<'_>) -> Result<(), StoreError> {
        iterator.status().map_err(|e| self.store.failed(&e))
    }

    /// Reads a value kept as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, value: &[u8], what: impl Display) -> Result<T, StoreError> {
        serde_json::from_slice(value).map_err(|e| self.damaged(format!("{what} cannot be read: {e}")))
    }

    pub(super) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        error::damaged(&self.store.dir, detail)
    }
}

impl Snapshot for RocksSnapshot<'_> {
    fn tally(&self, recipe: &RecipeName, gems: &[Gem], cap: u32) -> Result<Tally, StoreError> {
        let recipe = self.recipes.named(recipe)?;
        // In the order of the keys, so that each block is read once.
        let mut sorted: Vec<Gem> = gems.iter().copied().filter(|gem| recipe.fits(*gem)).collect();
        sorted.sort_unstable();
        sorted.dedup();

        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let mut postings = self.iterator(Family::Postings, options);
        let mut counts = HashMap::new();
        let mut common = Vec::new();
        let mut books = Vec::new();
        for gem in sorted {
            let list = schema::postings_prefix(recipe, gem);
            books.clear();
            // With the lowest book's number: RocksDB knows a list by a whole key.
            postings.seek(schema::posting_key(recipe, gem, BookNo(0)));
            while let Some((found, book)) = postings.key().and_then(schema::split_posting) {
                if found != list || books.len() > cap as usize {
                    break;
                }
                books.push(book);
                postings.next();
            }
            self.end(&postings)?;
            if books.len() > cap as usize {
                common.push(gem);
            } else {
                for book in &books {
                    *counts.entry(*book).or_insert(0) += 1;
                }
            }
        }

        let mut tally = Tally { books: counts.into_iter().collect(), common: Vec::with_capacity(common.len()) };
        tally.books.sort_unstable();
        // `common` is sorted; those asked for are not. Each is named where it was first asked for.
        let mut unnamed = vec![true; common.len()];
        for gem in gems {
            if let Ok(i) = common.binary_search(gem)
                && std::mem::take(&mut unnamed[i])
            {
                tally.common.push(*gem);
            }
        }
        Ok(tally)
    }

    fn find(&self, key: &BookKey) -> Result<Option<BookNo>, StoreError> {
        let Some(value) = self.get(Family::Ids, &schema::id_key(key))? else {
            return Ok(None);
        };
        let number = schema::read_book(&value);
        number.map(Some).ok_or_else(|| self.damaged(format!("the number of {key} cannot be read")))
    }

    fn fetch(&self, books: &[BookNo]) -> Result<Vec<Option<Record>>, StoreError> {
        books.iter().map(|book| self.record(*book)).collect()
    }

    fn gems(&self, recipe: &RecipeName, book: BookNo) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        self.gem_list(self.recipes.named(recipe)?, book)
    }

    fn walk(&self, library: &Library, after: Option<&BookId>, limit: usize) -> Result<Vec<Record>, StoreError> {
        let prefix = schema::ids_prefix(library);
        let mut from = prefix.clone();
        if let Some(id) = after {
            // The least key behind that of the id.
            from.extend(id.as_str().as_bytes());
            from.push(0);
        }
        let mut ids = self.iterator(Family::Ids, ReadOptions::default());
        ids.seek(from);
        let mut records = Vec::new();
        while records.len() < limit
            && let Some((key, value)) = ids.item()
            && key.starts_with(&prefix)
        {
            let name = || String::from_utf8_lossy(&key[prefix.len()..]);
            let book = schema::read_book(value)
                .ok_or_else(|| self.damaged(format!("the number of {library}/{} cannot be read", name())))?;
            let record = self.record(book)?;
            records.push(record.ok_or_else(|| self.damaged(format!("{library}/{} has no record", name())))?);
            ids.next();
        }
        self.end(&ids)?;
        Ok(records)
    }

    fn libraries(&self) -> Result<Vec<LibrarySummary>, StoreError> {
        let mut meta = self.iterator(Family::Meta, ReadOptions::default());
        meta.seek(schema::LIBRARY);
        let mut libraries = Vec::new();
        while let Some((key, value)) = meta.item()
            && let Some(name) = key.strip_prefix(schema::LIBRARY)
        {
            libraries.push(self.json(value, format_args!("the summary of library {}", String::from_utf8_lossy(name)))?);
            meta.next();
        }
        self.end(&meta)?;
        Ok(libraries)
    }

    fn sizes(&self, recipe: &RecipeName) -> Result<Sizes, StoreError> {
        self.sizes_of(self.recipes.named(recipe)?)
    }

    fn verify(&self) -> Result<Vec<String>, StoreError> {
        verify::verify(self)
    }
}
