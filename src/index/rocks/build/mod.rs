//! A whole catalogue at once: sorted tables, written outside of the store and taken in as they are.
//!
//! Books get their numbers in the order they come in, so that records and gem lists are sorted as they are. Postings are
//! sorted in runs of what memory holds, which go to disk and are merged bucket by bucket.

mod runs;
mod tables;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use rayon::slice::ParallelSliceMut;
use rocksdb::{Cache, WriteBatch, WriteOptions};

use self::runs::Runs;
use self::tables::Tables;
use super::open;
use super::schema::{self, Family, Postings};
use super::write::{full, make_distinct};
use super::{RocksStore, error, gem_list, options};
use crate::fingerprint::Recipe;
use crate::index::{BookNo, Library, LibrarySummary, NewBook, Record, Sizes, Store, StoreError};

/// Makes a catalogue in `dir` and opens it.
pub(super) fn build(
    dir: &Path,
    recipe: &Recipe,
    books: impl IntoIterator<Item = NewBook>,
) -> Result<RocksStore, StoreError> {
    if !open::is_empty(dir)? {
        return Err(StoreError::Foreign(error::show(dir)));
    }
    let failed = |e: io::Error| error::from_io(dir, &e);
    let parent = dir.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let place = tempfile::Builder::new().prefix(".lapidary-").tempdir_in(parent).map_err(failed)?;
    let made = place.path().join("made");
    let store = RocksStore::open_or_create(&made)?;
    store.add_recipe(recipe)?;
    fill(&store, recipe, place.path(), books)?;
    drop(store);
    fs::rename(&made, dir).map_err(failed)?;
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
    RocksStore::open(dir)
}

/// Puts all books into an empty store, with files in `place` meanwhile.
fn fill(
    store: &RocksStore,
    recipe: &Recipe,
    place: &Path,
    books: impl IntoIterator<Item = NewBook>,
) -> Result<(), StoreError> {
    let recipes = store.known_recipes();
    let recipe = recipes.named(recipe.name())?;
    let cache = Cache::new_lru_cache(0);
    let with_options = |family| (family, options::of_family(family, &cache));
    let families = [Family::Books, Family::Gems, Family::Ids, Family::Postings, Family::Lists].map(with_options);
    let mut tables = families.each_ref().map(|(family, options)| Tables::new(store, *family, options, place));
    let [records, gems, ids, buckets, lists] = &mut tables;

    let mut runs = Runs::new(store, recipe, place);
    let mut sums = Sums::default();
    let mut keys: Vec<(Vec<u8>, BookNo)> = Vec::new();
    for (i, NewBook { mut record, gems: mut of_recipes }) in books.into_iter().enumerate() {
        let number = u32::try_from(i).map_err(|_| full(store, "the numbers of books are used up"))?;
        let number = BookNo(number);
        let list = of_recipes.remove(recipe.name());
        if let Some(other) = of_recipes.keys().next() {
            recipes.named(other)?;
        }
        record.gems.clear();
        if let Some(mut list) = list {
            make_distinct(recipe, &record.key, &mut list)?;
            for gem in &list {
                runs.push(gem.gem, number)?;
            }
            gems.put(&schema::gems_key(recipe, number), &gem_list::encode(&list, recipe.gem_bytes()))?;
            record.gems.insert(recipe.name().clone(), list.len() as u32);
        }
        records.put(&schema::book_key(number), &schema::json(&record))?;
        keys.push((schema::id_key(&record.key), number));
        sums.add(record);
    }

    keys.par_sort_unstable();
    if let Some(two) = keys.windows(2).find(|two| two[0].0 == two[1].0) {
        return Err(StoreError::Duplicate(schema::show_id_key(&two[0].0)));
    }
    for (key, number) in &keys {
        ids.put(key, &schema::book_key(*number))?;
    }
    let next = BookNo(keys.len() as u32);
    drop(keys);
    let main = runs.merge(buckets, lists)?;

    for table in tables {
        table.ingest()?;
    }
    let mut batch = WriteBatch::default();
    let meta = store.family(Family::Meta);
    batch.put_cf(meta, schema::NEXT, schema::book_key(next));
    batch.put_cf(meta, schema::POSTINGS, Postings { main, delta: 0 }.write());
    batch.put_cf(meta, schema::sizes_key(recipe.number), schema::json(&sums.sizes));
    for (library, summary) in &sums.libraries {
        batch.put_cf(meta, schema::library_key(library), schema::json(summary));
    }
    let mut durable = WriteOptions::default();
    durable.set_sync(true);
    store.db.write_opt(batch, &durable).map_err(|e| store.failed(&e))?;
    store.flush()
}

/// What is summed up over books.
#[derive(Default)]
struct Sums {
    sizes: Sizes,
    libraries: BTreeMap<Library, LibrarySummary>,
}

impl Sums {
    fn add(&mut self, record: Record) {
        record.gems.values().for_each(|gems| self.sizes.add(*gems));
        LibrarySummary::count(&mut self.libraries, record);
    }
}
