//! Bulk loading of a whole catalogue: writes sorted tables outside the store and ingests them as they are.
//!
//! Books arrive in key order and are numbered in that order, so records, ids and gem lists are already sorted.
//! Postings are sorted in runs that fit into memory; the runs go to disk and are merged bucket by bucket. The keys of
//! digests and terms are, too.

mod books;
mod bucket;
mod gems;
mod keys;
mod tables;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lapidary_gems::Recipe;
use rocksdb::WriteBatch;
use tempfile::TempDir;

use self::books::BookTables;
pub(super) use self::bucket::StoredBucket;
use self::gems::GemTables;
use self::tables::{Tables, Workplace};
use super::open;
use super::owners::Owners;
use super::schema::{self, Family, MetaKey, Postings};
use super::{RocksStore, audit, error};
use crate::recipes::Recipes;
use crate::{Action, Actor, BookNo, Library, LibrarySummary, NewBook, Store, StoreError};

/// A catalogue next to the folder that it is for. It is deleted if this is dropped.
#[derive(Debug)]
pub struct Staged {
    place: TempDir,
    dir: PathBuf,
}

impl Staged {
    fn made(&self) -> PathBuf {
        self.place.path().join("made")
    }

    /// Moves the catalogue, which must be closed, into its folder.
    pub fn publish(self) -> Result<(), StoreError> {
        let failed = |e: io::Error| error::from_io(&self.dir, &e);
        fs::rename(self.made(), &self.dir).map_err(failed)?;
        File::open(parent(&self.dir))
            .and_then(|parent| parent.sync_all())
            .map_err(failed)
    }
}

fn parent(dir: &Path) -> &Path {
    dir.parent()
        .filter(|parent| *parent != Path::new(""))
        .unwrap_or(Path::new("."))
}

/// Builds a catalogue for `dir`.
pub(super) fn stage<E: From<StoreError>>(
    dir: &Path,
    recipes: &[Recipe],
    books: impl IntoIterator<Item = Result<NewBook, E>>,
) -> Result<(RocksStore, Staged), E> {
    if !open::is_empty(dir)? {
        return Err(StoreError::Foreign(error::show(dir)).into());
    }
    let failed = |e: io::Error| error::from_io(dir, &e);
    fs::create_dir_all(parent(dir)).map_err(failed)?;
    let place = tempfile::Builder::new()
        .prefix(".lapidary-")
        .tempdir_in(parent(dir))
        .map_err(failed)?;
    let staged = Staged {
        place,
        dir: dir.to_owned(),
    };
    let store = RocksStore::open_or_create(&staged.made())?;
    for recipe in recipes {
        store.add_recipe(&Actor::Local, recipe)?;
    }
    fill(&store, staged.place.path(), books)?;
    Ok((store, staged))
}

/// Adds all books to an empty store, with temporary files in `place`.
fn fill<E: From<StoreError>>(
    store: &RocksStore,
    place: &Path,
    books: impl IntoIterator<Item = Result<NewBook, E>>,
) -> Result<(), E> {
    let (recipes, workplace) = (store.known_recipes(), Workplace { store, place });
    let mut built = BuiltTables::new(&workplace, &recipes);
    for book in books {
        built.add(book?)?;
    }
    built.ingest()?;
    Ok(store.flush()?)
}

/// The tables of a catalogue, and what is summed up meanwhile.
struct BuiltTables<'a> {
    workplace: &'a Workplace<'a>,
    recipes: &'a Recipes,
    books: BookTables<'a>,
    gems: Vec<GemTables<'a>>,
    owners: Owners,
    libraries: BTreeMap<Library, LibrarySummary>,
    next: BookNo,
    /// What is written last, in one step.
    batch: WriteBatch,
}

impl<'a> BuiltTables<'a> {
    fn new(workplace: &'a Workplace<'a>, recipes: &'a Recipes) -> Self {
        let count = recipes.0.len();
        let gems = { recipes.0.iter().enumerate() }
            .map(|(i, recipe)| GemTables::new(workplace, recipe, i, count))
            .collect();
        Self {
            workplace,
            recipes,
            books: BookTables::new(workplace),
            gems,
            owners: Owners::default(),
            libraries: BTreeMap::new(),
            next: BookNo(0),
            batch: WriteBatch::default(),
        }
    }

    fn add(&mut self, book: NewBook) -> Result<(), StoreError> {
        let NewBook {
            mut record,
            mut gems,
            folds,
            text,
            ..
        } = book;
        let number = self.number(&record.key.library)?;
        record.gems.clear();
        for tables in &mut self.gems {
            if let Some(gems) = gems.remove(tables.recipe.name()) {
                tables.put(number, &mut record, gems)?;
            }
        }
        if let Some(other) = gems.keys().next() {
            self.recipes.staying(other)?;
        }
        record.text_kept = text.is_some();
        LibrarySummary::count(&mut self.libraries, &record);
        let library = self.owners.of(number);
        self.books.put(number, library, &record)?;
        self.books.put_content(number, &folds, text.as_deref())
    }

    /// The number of the next book, which is of this library.
    fn number(&mut self, library: &Library) -> Result<BookNo, StoreError> {
        let store = self.workplace.store;
        let (number, next) = (self.next, self.next.0.checked_add(1));
        self.next =
            BookNo(next.ok_or_else(|| error::full(&store.dir, "no book numbers are left"))?);
        if let Some((key, value)) = self.owners.give(number, library) {
            self.batch.put_cf(store.family(Family::Meta), key, value);
        }
        Ok(number)
    }

    /// Merges the postings, and makes everything part of the store.
    fn ingest(mut self) -> Result<(), StoreError> {
        let (store, meta) = (
            self.workplace.store,
            self.workplace.store.family(Family::Meta),
        );
        for gems in &self.gems {
            let sizes = MetaKey::Sizes(gems.recipe.number).bytes();
            self.batch.put_cf(meta, sizes, schema::json(&gems.sizes));
        }
        let (main, books) = rayon::join(
            || merge(self.workplace, self.gems, &self.owners),
            || self.books.ingest(),
        );
        let main = main?;
        books?;
        let (next, postings) = (
            schema::book_key(self.next),
            Postings { main, delta: 0 }.write(),
        );
        self.batch.put_cf(meta, MetaKey::Next.bytes(), next);
        self.batch.put_cf(meta, MetaKey::Postings.bytes(), postings);
        for (library, summary) in &self.libraries {
            let key = MetaKey::library(library).bytes();
            self.batch.put_cf(meta, key, schema::json(summary));
        }
        let books = u64::from(self.next.0);
        audit::commit(
            store,
            &Actor::Local,
            self.batch,
            vec![Action::Built { books }],
        )
    }
}

/// Merges the postings of all recipes into the main index and returns their number.
fn merge(
    workplace: &Workplace<'_>,
    gems: Vec<GemTables<'_>>,
    owners: &Owners,
) -> Result<u64, StoreError> {
    let [mut buckets, mut lists] =
        [Family::Postings, Family::Lists].map(|family| Tables::new(workplace, family, 0));
    let mut postings = 0;
    for gems in gems {
        postings += gems.merge(&mut buckets, &mut lists, owners)?;
    }
    buckets.ingest()?;
    lists.ingest()?;
    Ok(postings)
}
