//! Bulk loading of a whole catalogue: writes sorted tables outside the store and ingests them as they are.
//!
//! Books arrive in key order and are numbered in that order, so records, ids and gem lists are already sorted.
//! Postings are sorted in runs that fit into memory; the runs go to disk and are merged bucket by bucket.

mod merged;
mod tables;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lapidary_gems::{PlacedGem, Recipe};
use rocksdb::{Cache, WriteBatch};
use tempfile::TempDir;

pub(super) use self::merged::Merged;
use self::tables::Tables;
use super::change::digest_keys;
use super::open;
use super::owners::Owners;
use super::schema::{self, Bucket, Family, MetaKey, Postings};
use super::search::term_keys;
use super::{RocksStore, audit, error, options};
use crate::change::make_distinct;
use crate::gem_list;
use crate::recipes::KnownRecipe;
use crate::runs::Runs;
use crate::{
    Action, Actor, Administration as _, BookNo, LibrarySummary, NewBook, Record, Sizes, Store,
    StoreError,
};

/// Number of unsorted entries written at once.
const BATCH: usize = 10_000;

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
    let recipes = store.known_recipes();
    let cache = Cache::new_lru_cache(0);
    let with_options = |family| (family, options::of_family(family, &cache));
    let families = [
        Family::Books,
        Family::Ids,
        Family::Folds,
        Family::Texts,
        Family::Postings,
        Family::Lists,
    ];
    let families = families.map(with_options);
    let mut tables = families
        .each_ref()
        .map(|(family, options)| Tables::new(store, *family, options, place));
    let [records, ids, folds, texts, buckets, lists] = &mut tables;
    let gems_options = options::of_family(Family::Gems, &cache);
    let mut of_recipes: Vec<OfRecipe<'_>> = Vec::new();
    for (i, recipe) in recipes.0.iter().enumerate() {
        let gems = Tables::numbered(store, Family::Gems, i, &gems_options, place);
        let runs = Runs::new(&store.dir, recipe, place, recipes.0.len());
        of_recipes.push(OfRecipe {
            recipe,
            gems,
            runs,
            sizes: Sizes::default(),
        });
    }

    let mut libraries = BTreeMap::new();
    let (mut owners, mut batch) = (Owners::default(), WriteBatch::default());
    let mut key_before = Vec::new();
    let mut next = BookNo(0);
    for book in books {
        let NewBook {
            mut record,
            mut gems,
            folds: kept,
            text,
            ..
        } = book?;
        let number = next;
        next = BookNo(
            number
                .0
                .checked_add(1)
                .ok_or_else(|| error::full(&store.dir, "no book numbers are left"))?,
        );
        if let Some((key, value)) = owners.give(number, &record.key.library) {
            batch.put_cf(store.family(Family::Meta), key, value);
        }
        for key in digest_keys(number, &record) {
            batch.put_cf(store.family(Family::Digests), key, []);
        }
        for key in term_keys(owners.of(number), number, &record.description) {
            batch.put_cf(store.family(Family::Terms), key, []);
        }
        if batch.len() >= BATCH {
            store
                .db
                .write(std::mem::take(&mut batch))
                .map_err(|e| store.failed(&e))?;
        }
        record.gems.clear();
        for of_recipe in &mut of_recipes {
            if let Some(gems) = gems.remove(of_recipe.recipe.name()) {
                of_recipe.put(number, &mut record, gems)?;
            }
        }
        if let Some(other) = gems.keys().next() {
            recipes.staying(other)?;
        }
        let mut kept: Vec<_> = kept
            .iter()
            .map(|fold| (schema::fold_key(number, fold.base()), fold.as_bytes()))
            .collect();
        kept.sort_unstable();
        kept.into_iter()
            .try_for_each(|(key, fold)| folds.put(&key, fold))?;
        record.text_kept = text.is_some();
        text.map_or(Ok(()), |text| {
            texts.put(&schema::book_key(number), text.as_bytes())
        })?;
        records.put(&schema::book_key(number), &schema::json(&record))?;
        let key = schema::id_key(&record.key);
        follows(&key, &key_before)?;
        ids.put(&key, &schema::book_key(number))?;
        key_before = key;
        LibrarySummary::count(&mut libraries, &record);
    }

    let meta = store.family(Family::Meta);
    let mut main = 0;
    for of_recipe in of_recipes {
        batch.put_cf(
            meta,
            MetaKey::Sizes(of_recipe.recipe.number).bytes(),
            schema::json(&of_recipe.sizes),
        );
        main += of_recipe.finish(buckets, lists, &owners)?;
    }
    for table in tables {
        table.ingest()?;
    }
    batch.put_cf(meta, MetaKey::Next.bytes(), schema::book_key(next));
    batch.put_cf(
        meta,
        MetaKey::Postings.bytes(),
        Postings { main, delta: 0 }.write(),
    );
    for (library, summary) in &libraries {
        batch.put_cf(
            meta,
            MetaKey::library(library).bytes(),
            schema::json(summary),
        );
    }
    audit::commit(
        store,
        &Actor::Local,
        batch,
        vec![Action::Built {
            books: u64::from(next.0),
        }],
    )?;
    Ok(store.flush()?)
}

/// Checks that the key of an id comes after the one before it.
fn follows(key: &[u8], before: &[u8]) -> Result<(), StoreError> {
    match key.cmp(before) {
        Ordering::Greater => Ok(()),
        Ordering::Equal => Err(StoreError::Duplicate(schema::show_id_key(key))),
        Ordering::Less => Err(StoreError::Unordered(schema::show_id_key(key))),
    }
}

/// Data collected for a recipe.
struct OfRecipe<'a> {
    recipe: &'a KnownRecipe,
    gems: Tables<'a>,
    runs: Runs<'a>,
    sizes: Sizes,
}

impl OfRecipe<'_> {
    /// Adds the gems of a book.
    fn put(
        &mut self,
        book: BookNo,
        record: &mut Record,
        mut gems: Vec<PlacedGem>,
    ) -> Result<(), StoreError> {
        make_distinct(self.recipe, &record.key, &mut gems)?;
        for gem in self.recipe.posted(&gems) {
            self.runs.push(gem, book)?;
        }
        self.gems.put(
            &schema::gems_key(self.recipe, book),
            &gem_list::encode(&gems, self.recipe.gem_bytes()),
        )?;
        self.sizes.add(gems.len() as u32);
        record
            .gems
            .insert(self.recipe.name().clone(), gems.len() as u32);
        Ok(())
    }

    /// Merges the postings into the main index and returns their number.
    fn finish(
        self,
        buckets: &mut Tables<'_>,
        lists: &mut Tables<'_>,
        owners: &Owners,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        let recipe = self.recipe;
        self.runs.merge(
            |gem| Bucket::of(recipe, gem),
            |bucket, postings| {
                count += postings.len() as u64;
                let bucket = Merged::new(recipe, bucket, postings, owners);
                for (key, list) in &bucket.lists {
                    lists.put(key, list)?;
                }
                bucket
                    .value
                    .map_or(Ok(()), |value| buckets.put(&bucket.key, &value))
            },
        )?;
        self.gems.ingest()?;
        Ok(count)
    }
}
