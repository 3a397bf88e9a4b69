//! Reading a snapshot of the store.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use lapidary_gems::{Gem, PackedFold, PlacedGem, RecipeName};
use parking_lot::Mutex;
use rocksdb::{ColumnFamily, DBPinnableSlice, DBRawIterator, ReadOptions, WriteBatch, properties};
use serde::de::DeserializeOwned;

use super::changed::GemSet;
use super::lists::PostingLists;
use super::long_list::decode_parts;
use super::owners::{LibraryNo, Owners};
use super::parallel;
use super::schema::{self, Bucket, Family, MetaKey, Postings, Sign};
use super::search;
use super::tally::{tallies, tally};
use super::{RocksStore, error, merge};
use crate::gem_list;
use crate::postings::{self, List, Reader, Unreadable};
use crate::recipes::{KnownRecipe, Recipes};
use crate::{
    BookId, BookKey, BookNo, BookParts, Coverage, Each, Found, Library, LibrarySummary, Limits,
    Outline, Record, Search, Sizes, Snapshot, StoreError, Tally, WantedParts,
};

/// The summary of a library, and the JSON that it was read from.
#[derive(Clone)]
pub(super) struct ReadSummary {
    json: Arc<[u8]>,
    summary: Arc<LibrarySummary>,
}

impl ReadSummary {
    fn name(&self) -> &[u8] {
        self.summary.library.as_str().as_bytes()
    }
}

/// A snapshot of a [`RocksStore`].
pub(super) struct RocksSnapshot<'a> {
    store: &'a RocksStore,
    snapshot: rocksdb::Snapshot<'a>,
    recipes: Arc<Recipes>,
    owners: Arc<Owners>,
    /// The gems with changes, if they were known before the snapshot was taken.
    changed: Option<&'a GemSet>,
    /// The sizes of the recipes that were asked for: a check asks several times.
    sizes: Mutex<BTreeMap<u16, Sizes>>,
    /// The summaries of all libraries, once they were asked for.
    summaries: OnceLock<Arc<[ReadSummary]>>,
}

impl<'a> RocksSnapshot<'a> {
    pub(super) fn new(
        store: &'a RocksStore,
        snapshot: rocksdb::Snapshot<'a>,
        recipes: Arc<Recipes>,
        owners: Arc<Owners>,
        changed: Option<&'a GemSet>,
    ) -> Self {
        Self {
            store,
            snapshot,
            recipes,
            owners,
            changed,
            sizes: Mutex::default(),
            summaries: OnceLock::new(),
        }
    }

    /// The owners of book numbers. May include numbers assigned after the snapshot.
    pub(super) fn owners(&self) -> &Owners {
        &self.owners
    }

    pub(super) fn known(&self) -> &Recipes {
        &self.recipes
    }

    pub(super) fn record(&self, book: BookNo) -> Result<Option<Record>, StoreError> {
        let Some(value) = self.get(Family::Books, &schema::book_key(book))? else {
            return Ok(None);
        };
        self.json(&value, format_args!("the record of book {}", book.0))
            .map(Some)
    }

    /// The records of books, or only some of their fields.
    fn records<T: DeserializeOwned>(&self, books: &[BookNo]) -> Result<Vec<Option<T>>, StoreError> {
        let keys: Vec<_> = books.iter().map(|book| schema::book_key(*book)).collect();
        let values = self.get_many(Family::Books, &keys, books.is_sorted())?;
        values
            .into_iter()
            .zip(books)
            .map(|(value, book)| {
                value
                    .map(|value| self.json(&value, format_args!("the record of book {}", book.0)))
                    .transpose()
            })
            .collect()
    }

    pub(super) fn gem_list(
        &self,
        recipe: &KnownRecipe,
        book: BookNo,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        self.of_gem_list(recipe, book, gem_list::decode)
    }

    /// What is read of a book's list of gems; `None` if it has none.
    fn of_gem_list<T>(
        &self,
        recipe: &KnownRecipe,
        book: BookNo,
        read: impl FnOnce(&[u8], usize) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let Some(value) = self.get(Family::Gems, &schema::gems_key(recipe, book))? else {
            return Ok(None);
        };
        match read(&value, recipe.gem_bytes()) {
            Some(read) => Ok(Some(read)),
            None => Err(self.damaged(format!(
                "the gems of book {} ({}) cannot be read",
                book.0,
                recipe.name()
            ))),
        }
    }

    pub(super) fn fold(&self, base: &str, book: BookNo) -> Result<Option<PackedFold>, StoreError> {
        let Some(bytes) = self.get(Family::Folds, &schema::fold_key(book, base))? else {
            return Ok(None);
        };
        let fold = PackedFold::new(base, bytes.to_vec());
        fold.map(Some).ok_or_else(|| {
            self.damaged(format!(
                "no recipe has the base {base} of the fold of book {}",
                book.0
            ))
        })
    }

    pub(super) fn text(&self, book: BookNo) -> Result<Option<String>, StoreError> {
        let Some(bytes) = self.get(Family::Texts, &schema::book_key(book))? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes.to_vec());
        text.map(Some)
            .map_err(|_| self.damaged(format!("the text of book {} is not UTF-8", book.0)))
    }

    pub(super) fn sizes_of(&self, recipe: &KnownRecipe) -> Result<Sizes, StoreError> {
        let mut known = self.sizes.lock();
        if let Some(sizes) = known.get(&recipe.number) {
            return Ok(sizes.clone());
        }
        let sizes: Sizes = match self.meta(MetaKey::Sizes(recipe.number))? {
            Some(value) => self.json(
                &value,
                format_args!("the sizes of recipe {}", recipe.name()),
            )?,
            None => Sizes::default(),
        };
        known.insert(recipe.number, sizes.clone());
        Ok(sizes)
    }

    /// How much of the store a recipe covers. If no book was ever removed, this need not read the libraries.
    pub(super) fn coverage_of(&self, recipe: &KnownRecipe) -> Result<Coverage, StoreError> {
        let books = self
            .sizes_of(recipe)?
            .classes
            .iter()
            .map(|class| class.books)
            .sum();
        let ever = u64::from(self.next_book()?.0);
        if books == ever {
            return Ok(Coverage {
                books,
                total: books,
            });
        }
        let libraries = self.all_summaries()?;
        let of = libraries.iter().map(|one| one.summary.books).sum();
        Ok(Coverage { books, total: of })
    }

    /// The summaries of all libraries.
    fn all_summaries(&self) -> Result<&[ReadSummary], StoreError> {
        if let Some(read) = self.summaries.get() {
            return Ok(read);
        }
        let read = self.read_summaries()?;
        self.store.read_summaries.write().clone_from(&read);
        Ok(self.summaries.get_or_init(|| read))
    }

    /// Reads them. What was read before from the same JSON is not parsed again.
    fn read_summaries(&self) -> Result<Arc<[ReadSummary]>, StoreError> {
        let before = self.store.read_summaries.read().clone();
        let mut before = before.iter().peekable();
        let mut meta = self.iterator(Family::Meta, ReadOptions::default());
        meta.seek(MetaKey::Library(b"").bytes());
        let mut read = Vec::with_capacity(before.len());
        while let Some((key, value)) = meta.item()
            && let Some(MetaKey::Library(name)) = MetaKey::read(key)
        {
            while before.next_if(|one| one.name() < name).is_some() {}
            read.push(match before.next_if(|one| *one.json == *value) {
                Some(same) => same.clone(),
                None => ReadSummary {
                    json: value.into(),
                    summary: self.json(
                        value,
                        format_args!("the summary of library {}", String::from_utf8_lossy(name)),
                    )?,
                },
            });
            meta.next();
        }
        self.end(&meta)?;
        Ok(read.into())
    }

    pub(super) fn summary(&self, library: &Library) -> Result<Option<LibrarySummary>, StoreError> {
        match self.meta(MetaKey::library(library))? {
            Some(value) => self
                .json(&value, format_args!("the summary of library {library}"))
                .map(Some),
            None => Ok(None),
        }
    }

    /// The number for the next new book.
    pub(super) fn next_book(&self) -> Result<BookNo, StoreError> {
        match self.meta(MetaKey::Next)? {
            Some(value) => schema::read_book(&value)
                .ok_or_else(|| self.damaged("the next book's number cannot be read")),
            None => Ok(BookNo(0)),
        }
    }

    /// The number of the last audit log entry.
    pub(super) fn last_audited(&self) -> Result<u64, StoreError> {
        match self.meta(MetaKey::Audited)? {
            Some(value) => schema::read_audit_key(&value).ok_or_else(|| {
                self.damaged("the number of the last entry of the audit log cannot be read")
            }),
            None => Ok(0),
        }
    }

    /// The number of postings.
    pub(super) fn postings(&self) -> Result<Postings, StoreError> {
        match self.meta(MetaKey::Postings)? {
            Some(value) => Postings::read(&value)
                .ok_or_else(|| self.damaged("the number of postings cannot be read")),
            None => Ok(Postings::default()),
        }
    }

    /// Parses a key of the delta.
    pub(super) fn read_delta(
        &self,
        key: &[u8],
    ) -> Result<(&KnownRecipe, Gem, Sign, BookNo), StoreError> {
        let change = schema::split_delta_key(key).and_then(|(gem, sign, book)| {
            let (recipe, gem) = self.recipes.read_gem(gem)?;
            Some((recipe, gem, sign, book))
        });
        change
            .ok_or_else(|| self.damaged(format!("the change {key:?} belongs to an unknown recipe")))
    }

    /// The books of a gem's list in the main index.
    pub(super) fn books_of(
        &self,
        recipe: &KnownRecipe,
        gem: Gem,
        list: Option<List<'_>>,
    ) -> Result<Vec<BookNo>, StoreError> {
        let count = match list {
            None => return Ok(Vec::new()),
            Some(List::Short(books)) => return Ok(books.collect()),
            Some(List::Long(count)) => count,
        };
        let mut books = Vec::with_capacity(count as usize);
        for (library, _) in self.list_parts(recipe, gem, count)? {
            books.extend(self.list_part(recipe, gem, library)?);
        }
        books.sort_unstable();
        if books.len() == count as usize {
            Ok(books)
        } else {
            Err(self.unreadable_list(recipe, gem))
        }
    }

    /// How many books each library has in a long list of `count` books.
    pub(super) fn list_parts(
        &self,
        recipe: &KnownRecipe,
        gem: Gem,
        count: u32,
    ) -> Result<Vec<(LibraryNo, u32)>, StoreError> {
        let value = self.get(Family::Lists, &schema::gem_key(recipe, gem))?;
        let parts = value.and_then(|value| decode_parts(&value));
        parts
            .filter(|parts| counted(parts) == u64::from(count))
            .ok_or_else(|| self.unreadable_list(recipe, gem))
    }

    /// The books of a library in a long list.
    pub(super) fn list_part(
        &self,
        recipe: &KnownRecipe,
        gem: Gem,
        library: LibraryNo,
    ) -> Result<Vec<BookNo>, StoreError> {
        let value = self.get(Family::Lists, &schema::list_key(recipe, gem, library))?;
        let books = value.and_then(|value| postings::decode_list(&value));
        books.ok_or_else(|| self.unreadable_list(recipe, gem))
    }

    fn unreadable_list(&self, recipe: &KnownRecipe, gem: Gem) -> StoreError {
        let gem = recipe.shown(gem);
        self.damaged(format!(
            "the list of gem {gem} ({}) cannot be read",
            recipe.name()
        ))
    }

    /// The books that have a gem according to the main index alone.
    pub(super) fn main_list(
        &self,
        recipe: &KnownRecipe,
        gem: Gem,
    ) -> Result<Vec<BookNo>, StoreError> {
        let bucket = Bucket::of(recipe, gem);
        let Some(value) = self.get(Family::Postings, &bucket.key(recipe))? else {
            return Ok(Vec::new());
        };
        let bucket_of_gem = Reader::new(&value, schema::rest_bits(recipe));
        let list = bucket_of_gem.and_then(|lists| lists.find(schema::rest_of(recipe, gem)));
        self.books_of(
            recipe,
            gem,
            list.map_err(|Unreadable| self.unreadable(recipe, bucket))?,
        )
    }

    /// Whether there is a posting of a gem for a book.
    pub(super) fn has_posting(
        &self,
        recipe: &KnownRecipe,
        gem: Gem,
        book: BookNo,
    ) -> Result<bool, StoreError> {
        let change = |sign| {
            self.get(
                Family::Delta,
                schema::delta_key(recipe, gem, sign, book).as_ref(),
            )
        };
        let main = self.main_list(recipe, gem)?.contains(&book);
        Ok(if main {
            change(Sign::Removed)?.is_none()
        } else {
            change(Sign::Added)?.is_some()
        })
    }

    /// Estimates the number of entries of a family.
    pub(super) fn estimate(&self, family: Family) -> u64 {
        let estimate = self
            .store
            .db
            .property_int_value_cf(self.family(family), properties::ESTIMATE_NUM_KEYS);
        estimate.ok().flatten().unwrap_or(0)
    }

    pub(super) fn unreadable(&self, recipe: &KnownRecipe, bucket: Bucket) -> StoreError {
        self.damaged(format!(
            "the postings of {bucket} ({}) cannot be read",
            recipe.name()
        ))
    }

    pub(super) fn family(&self, family: Family) -> &'a ColumnFamily {
        self.store.family(family)
    }

    /// Writes a batch without waiting for the disk.
    pub(super) fn write(&self, batch: WriteBatch) -> Result<(), StoreError> {
        self.store
            .db
            .write(batch)
            .map_err(|e| self.store.failed(&e))
    }

    /// Whether a gem, as its key says, may have changes in the delta.
    pub(super) fn may_have_changes(&self, gem_key: &[u8]) -> bool {
        if self.changed.is_none() {
            self.store.changed.look_up();
        }
        self.changed.is_none_or(|gems| gems.may_have(gem_key))
    }

    /// Notes that reading the list of a gem of so many books has met so many changes.
    pub(super) fn has_changes(&self, recipe: &KnownRecipe, gem: Gem, books: usize, changes: usize) {
        self.store.crowded.note(recipe, gem, books, changes);
    }

    /// Counts postings rewritten by a merge.
    pub(super) fn merged(&self, postings: u64) {
        self.store.merged.fetch_add(postings, Ordering::Relaxed);
    }

    fn meta(&self, key: MetaKey<'_>) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.get(Family::Meta, &key.bytes())
    }

    pub(super) fn get(
        &self,
        family: Family,
        key: &[u8],
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.snapshot
            .get_pinned_cf(self.store.family(family), key)
            .map_err(|e| self.store.failed(&e))
    }

    /// Gets the values of many keys in ascending order at once.
    pub(super) fn get_sorted<K: AsRef<[u8]>>(
        &self,
        family: Family,
        keys: &[K],
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, StoreError> {
        self.get_many(family, keys, true)
    }

    fn get_many<K: AsRef<[u8]>>(
        &self,
        family: Family,
        keys: &[K],
        sorted: bool,
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, StoreError> {
        let mut options = ReadOptions::default();
        options.set_snapshot(&self.snapshot);
        let keys = keys.iter().map(AsRef::as_ref);
        let values =
            self.store
                .db
                .batched_multi_get_cf_opt(self.family(family), keys, sorted, &options);
        values
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|e| self.store.failed(&e))
    }

    /// Creates an iterator that is not positioned yet.
    pub(super) fn iterator(&self, family: Family, options: ReadOptions) -> DBRawIterator<'_> {
        self.snapshot
            .raw_iterator_cf_opt(self.store.family(family), options)
    }

    /// Returns the error of an exhausted iterator, if it stopped because reading failed.
    pub(super) fn end(&self, iterator: &DBRawIterator<'_>) -> Result<(), StoreError> {
        iterator.status().map_err(|e| self.store.failed(&e))
    }

    /// Parses a JSON value.
    pub(super) fn json<T: DeserializeOwned>(
        &self,
        value: &[u8],
        what: impl Display,
    ) -> Result<T, StoreError> {
        serde_json::from_slice(value).map_err(|_| self.damaged(format!("{what} cannot be read")))
    }

    pub(super) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        error::damaged(&self.store.dir, detail)
    }
}

fn counted(parts: &[(LibraryNo, u32)]) -> u64 {
    parts
        .iter()
        .map(|(_, count)| u64::from(*count))
        .sum::<u64>()
}

impl Snapshot for RocksSnapshot<'_> {
    fn known_recipes(&self) -> &Recipes {
        &self.recipes
    }

    fn tally(
        &self,
        recipe: &RecipeName,
        gems: &[Gem],
        limits: Limits<'_>,
    ) -> Result<Tally, StoreError> {
        let tally = tally(self, self.recipes.staying(recipe)?, gems, limits);
        merge::after_read(self.store);
        tally
    }

    fn tallies(
        &self,
        recipe: &RecipeName,
        queries: &[Vec<Gem>],
        limits: Limits<'_>,
    ) -> Result<Vec<Tally>, StoreError> {
        tallies(self, self.recipes.staying(recipe)?, queries, limits)
    }

    fn holders(
        &self,
        recipe: &RecipeName,
        gems: &[Gem],
        limits: Limits<'_>,
        each: Each<'_>,
    ) -> Result<(), StoreError> {
        let recipe = self.recipes.staying(recipe)?;
        let Some(mut lists) = PostingLists::new(self, recipe, limits, true)? else {
            return Ok(());
        };
        let fit = gems.partition_point(|gem| recipe.fits(*gem));
        lists.read(&gems[..fit], &mut |_, gem, books| each(gem, books))
    }

    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError> {
        let Some(prefix) = schema::digest_prefix(digest) else {
            return Ok(Vec::new());
        };
        let only = limits.library.map(|library| self.owners.number(library));
        let mut found = Vec::new();
        let (mut walk, mut counts) = (self.owners.walk(), HashMap::new());
        let mut entries = self.iterator(Family::Digests, ReadOptions::default());
        entries.seek(prefix);
        while let Some(key) = entries.key().filter(|key| key.starts_with(&prefix)) {
            let (_, book) = schema::read_digest_key(key)
                .ok_or_else(|| self.damaged(format!("a digest has the invalid key {key:?}")))?;
            let library = walk.of(book);
            let count: &mut u32 = counts.entry(library).or_default();
            let counts_here = only.is_none_or(|only| only == Some(library));
            if counts_here && *count < limits.cap {
                *count += 1;
                found.push(book);
                entries.next();
            } else {
                // Skip the rest of this library's run, however long.
                let Some((end, key)) = walk
                    .end()
                    .and_then(|end| Some((end, schema::digest_key(digest, end)?)))
                else {
                    break;
                };
                debug_assert!(end > book, "a run ends behind its books");
                entries.seek(key);
            }
        }
        self.end(&entries)?;
        Ok(found)
    }

    fn search(&self, search: &Search<'_>) -> Result<Found, StoreError> {
        search::search(self, search)
    }

    fn find(&self, key: &BookKey) -> Result<Option<BookNo>, StoreError> {
        let Some(value) = self.get(Family::Ids, &schema::id_key(key))? else {
            return Ok(None);
        };
        let number = schema::read_book(&value);
        number
            .map(Some)
            .ok_or_else(|| self.damaged(format!("the number of {key} cannot be read")))
    }

    fn fetch(&self, books: &[BookNo]) -> Result<Vec<Option<Record>>, StoreError> {
        self.records(books)
    }

    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError> {
        parallel::read(books, |books| self.records(books))
    }

    fn parts(
        &self,
        books: &[BookNo],
        wanted: WantedParts<'_>,
    ) -> Result<Vec<BookParts>, StoreError> {
        let recipes = wanted.gems.iter().map(|name| self.recipes.staying(name));
        let recipes: Vec<&KnownRecipe> = recipes.collect::<Result<_, _>>()?;
        let mut all = Vec::with_capacity(books.len());
        for book in books {
            let mut parts = BookParts::default();
            for recipe in &recipes {
                let read = |bytes: &[u8], width| gem_list::decode_if(bytes, width, wanted.gems_if);
                let gems = self.of_gem_list(recipe, *book, read)?.flatten();
                parts
                    .gems
                    .extend(gems.map(|gems| (recipe.name().clone(), gems)));
            }
            for base in wanted.folds {
                parts.folds.extend(self.fold(base, *book)?);
            }
            if wanted.text {
                parts.text = self.text(*book)?;
            }
            all.push(parts);
        }
        Ok(all)
    }

    fn walk(
        &self,
        library: &Library,
        after: Option<&BookId>,
        limit: usize,
    ) -> Result<Vec<(BookNo, Record)>, StoreError> {
        let prefix = schema::ids_prefix(library);
        let mut from = prefix.clone();
        if let Some(id) = after {
            // The smallest key after that of the id.
            from.extend(id.as_str().as_bytes());
            from.push(0);
        }
        let mut ids = self.iterator(Family::Ids, ReadOptions::default());
        ids.seek(from);
        let mut books = Vec::new();
        while books.len() < limit
            && let Some((key, value)) = ids.item()
            && key.starts_with(&prefix)
        {
            let name = || String::from_utf8_lossy(&key[prefix.len()..]);
            let book = schema::read_book(value).ok_or_else(|| {
                self.damaged(format!("the number of {library}/{} cannot be read", name()))
            })?;
            let record = self.record(book)?;
            books.push((
                book,
                record
                    .ok_or_else(|| self.damaged(format!("{library}/{} has no record", name())))?,
            ));
            ids.next();
        }
        self.end(&ids)?;
        Ok(books)
    }

    fn books(&self, from: BookNo, limit: usize) -> Result<Vec<(BookNo, Record)>, StoreError> {
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        let mut entries = self.iterator(Family::Books, options);
        entries.seek(schema::book_key(from));
        let mut books = Vec::new();
        while books.len() < limit
            && let Some((key, value)) = entries.item()
        {
            let book = schema::read_book(key)
                .ok_or_else(|| self.damaged(format!("a record has the invalid key {key:?}")))?;
            books.push((
                book,
                self.json(value, format_args!("the record of book {}", book.0))?,
            ));
            entries.next();
        }
        self.end(&entries)?;
        Ok(books)
    }

    fn summaries(&self, only: Option<&Library>) -> Result<Vec<Arc<LibrarySummary>>, StoreError> {
        if let Some(library) = only {
            return Ok(self.summary(library)?.map(Arc::new).into_iter().collect());
        }
        let all = self.all_summaries()?.iter();
        Ok(all.map(|one| one.summary.clone()).collect())
    }

    fn coverage(&self, recipe: &RecipeName) -> Result<Coverage, StoreError> {
        self.coverage_of(self.recipes.staying(recipe)?)
    }

    fn sizes(&self, recipe: &RecipeName) -> Result<Sizes, StoreError> {
        self.sizes_of(self.recipes.staying(recipe)?)
    }
}
