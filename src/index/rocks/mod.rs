//! The store on `RocksDB`, in one folder of this machine.
//!
//! All state is in `RocksDB`: a change reads what it must know from the state before, writes one batch, and returns when
//! that is on disk, so that there is nothing in memory that a failure could leave different from the disk.
//!
//! The posting lists are in two parts: the main index, packed by buckets of neighbouring gems, and the delta, a key for each
//! posting that was added or removed since. A change writes to the delta, a check reads both, and a merge brings the one
//! into the other.
//!
//! | file | its job |
//! |---|---|
//! | `schema` | column families and keys |
//! | `options` | how `RocksDB` is set |
//! | `gem_list`, `postings`, `varint` | values as bytes: a book's gems; posting lists; numbers |
//! | `recipes` | recipes and their numbers |
//! | `owners` | which library each book number belongs to |
//! | `open` | find, make, lock and check a folder |
//! | `read`, `tally` | a snapshot; the count of a check's gems |
//! | `write`, `merge` | a change; the delta into the main index |
//! | `audit`, `acknowledged` | who changed what; whether the last change is there |
//! | `drop_recipe` | a recipe and all that is of it |
//! | `rebuild` | the postings anew from the gem lists |
//! | `build` | a whole catalogue at once |
//! | `verify`, `repair` | the check of everything; mending what it finds |
//! | `backup` | backups, and their way back |
//! | `reserve` | room on the disk for when it is full |
//! | `vitals` | what is watched: sizes, the cache, what goes on in the background |
//! | `error` | what `RocksDB` and the file system report |

mod acknowledged;
mod audit;
mod backup;
mod build;
mod change;
mod drop_recipe;
mod error;
mod gem_list;
mod merge;
mod open;
mod options;
mod owners;
mod parallel;
mod postings;
mod read;
mod rebuild;
mod recipes;
mod repair;
mod reserve;
mod schema;
mod tally;
mod verify;
mod vitals;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use lapidary_gems::{Recipe, RecipeName};
use rocksdb::{
    BottommostLevelCompaction, ColumnFamily, CompactOptions, DB, FlushOptions, IteratorMode, Options, WriteBatch,
    properties,
};

use self::acknowledged::Acknowledged;
use self::owners::Owners;
use self::read::RocksSnapshot;
use self::recipes::Recipes;
use self::reserve::Reserve;
use self::schema::Family;
use crate::index::{
    Action, Backup, BookKey, DiskUse, LateGems, NewBook, Record, Small, Snapshot, Store, StoreError, Vitals, Watch,
};

/// How much memory a store takes for what it read of its tables, unless told otherwise: four fifths of the posting lists of
/// 100 million postings.
pub const CACHE_BYTES: usize = 300 << 20;

/// A [`Store`] in a folder of this machine. One process at a time has a folder open; within it any number of threads
/// may read while one writes.
///
/// After a full disk, reading goes on; writing does again some seconds after 32 MiB were freed. After another failure to
/// write, as at a limit on the size of files, `RocksDB` may refuse to write until the store is opened anew
/// ([`Store::wants_reopening`]).
pub struct RocksStore {
    dir: PathBuf,
    /// Replaced as a whole, so that it is right even when a thread panicked while it held the lock.
    recipes: RwLock<Arc<Recipes>>,
    /// Replaced before a change that gives out numbers is written: one that is not on disk yet harms nobody.
    owners: RwLock<Arc<Owners>>,
    /// Held by the one that writes. It guards no state: after a panic the next one begins from what is on disk.
    writing: Mutex<merge::Cursor>,
    db: DB,
    acknowledged: Acknowledged,
    reserve: Reserve,
    /// Held while entries of the audit log get their numbers and are written. Whoever has the turn may take it, and not the
    /// reverse.
    numbering: Mutex<()>,
    /// The database's, which count what it does.
    options: Options,
    /// Postings that merges have rewritten.
    merged: AtomicU64,
    /// Behind the database, so that the folder is free only once that is closed.
    _lock: File,
}

impl RocksStore {
    /// Opens the catalogue in a folder.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none, [`StoreError::Foreign`] when the folder holds something else,
    /// [`StoreError::InUse`], [`StoreError::Version`], [`StoreError::Damaged`], [`StoreError::Denied`]. A folder that
    /// is not a catalogue stays as it is.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        open::open(dir, open::Absent::Refuse, CACHE_BYTES)
    }

    /// Opens the catalogue in a folder, or makes an empty one when the folder is empty or does not exist.
    ///
    /// # Errors
    /// As [`RocksStore::open`].
    pub fn open_or_create(dir: &Path) -> Result<Self, StoreError> {
        Self::open_or_create_with_cache(dir, CACHE_BYTES)
    }

    /// As [`RocksStore::open_or_create`], with so many bytes of memory for what was read of the tables instead of
    /// [`CACHE_BYTES`].
    ///
    /// # Errors
    /// As [`RocksStore::open`].
    pub fn open_or_create_with_cache(dir: &Path, cache: usize) -> Result<Self, StoreError> {
        open::open(dir, open::Absent::Create, cache)
    }

    /// Makes a catalogue of many books, many times faster than [`Store::put`], in memory that does not grow with their
    /// number. The books come in the order of their libraries and ids, by bytes; an error among them is the result. The
    /// folder must be empty or not exist; it is there with all books when this returns, or with none. While it is made,
    /// its files are in a folder `.lapidary-…` beside it, which stays if the process is killed, and can be deleted then.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] when two books have the same key, [`StoreError::Unordered`], those of [`Store::put`],
    /// and [`StoreError::Foreign`] when there is something in the folder.
    pub fn build<E: From<StoreError>>(
        dir: &Path,
        recipes: &[Recipe],
        books: impl IntoIterator<Item = Result<NewBook, E>>,
    ) -> Result<Self, E> {
        build::build(dir, recipes, books)
    }

    /// Copies a backup, the newest if none is named, into a folder that does not exist, and returns its number.
    ///
    /// # Errors
    /// [`StoreError::NoBackup`], [`StoreError::Foreign`] when there is something in the folder, [`StoreError::Damaged`].
    pub fn restore(from: &Path, to: &Path, number: Option<u32>) -> Result<u32, StoreError> {
        if open::is_empty(to)? { backup::restore(from, to, number) } else { Err(StoreError::Foreign(error::show(to))) }
    }

    fn known_recipes(&self) -> Arc<Recipes> {
        self.recipes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn view(&self) -> RocksSnapshot<'_> {
        // Both at the same time: whoever changes the recipes holds this lock until they are on disk.
        let recipes = self.recipes.read().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.db.snapshot();
        // Behind the snapshot, so that all its books have owners.
        RocksSnapshot::new(self, snapshot, recipes.clone(), self.known_owners())
    }

    fn known_owners(&self) -> Arc<Owners> {
        self.owners.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_owners(&self, owners: Owners) {
        *self.owners.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(owners);
    }

    /// Waits for the turn to write.
    fn turn(&self) -> MutexGuard<'_, merge::Cursor> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn family(&self, family: Family) -> &ColumnFamily {
        self.db.cf_handle(family.name()).expect("a store is opened with all of its column families")
    }

    fn failed(&self, error: &rocksdb::Error) -> StoreError {
        error::from_rocksdb(&self.dir, error)
    }
}

impl Store for RocksStore {
    fn recipes(&self) -> Vec<Recipe> {
        self.known_recipes().shown().cloned().collect()
    }

    fn add_recipe(&self, recipe: &Recipe) -> Result<(), StoreError> {
        write::add_recipe(self, recipe)
    }

    fn make_default(&self, recipe: &RecipeName, anyway: bool) -> Result<u64, StoreError> {
        write::make_default(self, recipe, anyway)
    }

    fn make_ready(&self, recipe: &RecipeName) -> Result<(), StoreError> {
        write::make_ready(self, recipe)
    }

    fn hide_recipe(&self, recipe: &RecipeName) -> Result<(), StoreError> {
        drop_recipe::mark(self, recipe).map(|_| ())
    }

    fn drop_recipe(&self, recipe: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError> {
        drop_recipe::drop_recipe(self, recipe, watch)
    }

    fn add_gems(&self, recipe: &RecipeName, books: Vec<LateGems>) -> Result<(), StoreError> {
        write::add_gems(self, recipe, books)
    }

    fn keeps_folds(&self) -> Result<bool, StoreError> {
        let found = self.db.get_pinned_cf(self.family(Family::Meta), schema::FOLDS);
        Ok(found.map_err(|e| self.failed(&e))?.is_some())
    }

    fn keep_folds(&self, keep: bool) -> Result<(), StoreError> {
        let _turn = self.turn();
        if keep == self.keeps_folds()? {
            return Ok(());
        }
        let mut batch = WriteBatch::default();
        let meta = self.family(Family::Meta);
        if keep {
            batch.put_cf(meta, schema::FOLDS, []);
        } else {
            batch.delete_cf(meta, schema::FOLDS);
        }
        audit::commit(self, batch, vec![Action::FoldsKept { kept: keep }])
    }

    fn jobs(&self) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        let mut jobs = Vec::new();
        for entry in self.db.iterator_cf(self.family(Family::Jobs), IteratorMode::Start) {
            let (key, job) = entry.map_err(|e| self.failed(&e))?;
            let number = key.as_ref().try_into().map(u32::from_be_bytes);
            let number = number.map_err(|_| error::damaged(&self.dir, format!("a job has the key {key:?}")))?;
            jobs.push((number, job.into_vec()));
        }
        Ok(jobs)
    }

    fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        let keys = self.db.iterator_cf(self.family(Family::Keys), IteratorMode::Start);
        keys.map(|entry| Ok(entry.map_err(|e| self.failed(&e))?.1.into_vec())).collect()
    }

    fn put(&self, books: Vec<NewBook>) -> Result<(), StoreError> {
        write::put(self, books)
    }

    fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, StoreError> {
        write::remove(self, keys)
    }

    fn amend(&self, key: &BookKey, change: &mut dyn FnMut(&mut Record)) -> Result<Option<Record>, StoreError> {
        write::amend(self, key, change)
    }

    fn settings(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.view().settings(kind)
    }

    fn apply(&self, changes: &[(Small<'_>, Option<Vec<u8>>)], actions: &[Action]) -> Result<(), StoreError> {
        write::apply(self, changes, actions)
    }

    fn keep(&self, kind: &str, name: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        write::keep(self, kind, name, value)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        Box::new(self.view())
    }

    fn flush(&self) -> Result<(), StoreError> {
        let families = Family::ALL.map(|family| self.family(family));
        self.db.flush_cfs_opt(&families, &FlushOptions::default()).map_err(|e| self.failed(&e))
    }

    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        let steps = 1 + Family::ALL.len() as u64;
        watch(0, steps)?;
        merge::merge_all(self, &mut self.turn())?;
        self.flush()?;
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        for (family, done) in Family::ALL.into_iter().zip(1..) {
            watch(done, steps)?;
            self.db.compact_range_cf_opt(self.family(family), None::<&[u8]>, None::<&[u8]>, &options);
        }
        watch(steps, steps)
    }

    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        repair::repair(self, watch)
    }

    fn backup(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<Backup, StoreError> {
        backup::backup(self, to, keep, watch)
    }

    fn stop(&self) {
        self.db.cancel_all_background_work(true);
    }

    fn disk(&self) -> Result<DiskUse, StoreError> {
        let mut postings = 0;
        for family in [Family::Postings, Family::Lists, Family::Delta] {
            let size = self.db.property_int_value_cf(self.family(family), properties::TOTAL_SST_FILES_SIZE);
            postings += size.map_err(|e| self.failed(&e))?.unwrap_or(0);
        }
        let total = vitals::files(self)?;
        Ok(DiskUse { total, postings })
    }

    fn vitals(&self) -> Result<Vitals, StoreError> {
        vitals::vitals(self)
    }

    fn writable(&self) -> Result<(), StoreError> {
        vitals::writable(self)
    }

    fn hold_reserve(&self) -> Result<(), StoreError> {
        let free = vitals::disk(self)?.free;
        self.reserve.hold(free).map_err(|e| error::from_io(&self.dir, &e))
    }

    fn wants_reopening(&self) -> bool {
        let refused = matches!(self.writable(), Err(StoreError::DiskFull(_) | StoreError::Denied { .. }));
        refused && reserve::has_room(&self.dir)
    }
}
