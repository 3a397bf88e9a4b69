//! The store on top of `RocksDB`, in one local folder.
//!
//! All state is in `RocksDB`. A change reads what it needs from the state before, writes one batch, and returns once
//! that is on disk. So a failure cannot leave memory and disk in different states.
//!
//! The posting lists have two parts: the main index, packed into buckets of neighbouring gems, and the delta, with
//! one key for each posting added or removed since. A change writes to the delta, a check reads both, and a merge
//! moves the delta into the main index.
//!
//! | file | content |
//! |---|---|
//! | `schema` | column families and keys |
//! | `options` | `RocksDB` settings |
//! | `gem_list`, `postings`, `varint` | encodings: a book's gems, posting lists, numbers |
//! | `recipes` | recipes and their numbers |
//! | `owners` | which library each book number belongs to |
//! | `open`, `version` | find, create, lock and check a folder; its format version |
//! | `read`, `search` | a snapshot; finding books by their terms |
//! | `lists`, `changed`, `tally` | posting lists with their changes; which have any; counting a check's gems |
//! | `write`, `change`, `merge` | the changes; the batch of a change; merging the delta into the main index |
//! | `frozen` | the state of a folder that another process has open |
//! | `sync` | writing a batch to disk |
//! | `audit`, `sequence` | the audit log; detecting lost changes |
//! | `rows` | tables of small records |
//! | `drop_recipe` | dropping a recipe with everything that belongs to it |
//! | `rebuild` | rebuilding the postings from the gem lists |
//! | `build` | bulk loading of a whole catalogue |
//! | `verify`, `repair` | checking everything; repairing what that finds |
//! | `backup` | making and restoring backups |
//! | `reserve` | disk space reserved for when the disk is full |
//! | `vitals` | monitoring: sizes, the cache, background work |
//! | `error` | errors of `RocksDB` and the file system |

mod audit;
mod backup;
mod build;
mod change;
mod changed;
mod drop_recipe;
mod error;
mod frozen;
mod lists;
mod long_list;
mod merge;
mod open;
mod options;
mod owners;
mod parallel;
mod read;
mod rebuild;
mod recipes;
mod repair;
mod reserve;
mod rows;
mod schema;
mod search;
mod sequence;
mod sync;
mod tally;
mod verify;
mod version;
mod vitals;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};

use lapidary_gems::{Recipe, RecipeName};
use rocksdb::{
    BottommostLevelCompaction, ColumnFamily, CompactOptions, DB, Direction, FlushOptions,
    IteratorMode, Options, WaitForCompactOptions,
};
use tempfile::TempDir;

pub use self::build::Staged;
pub(super) use self::error::from_io;
use self::owners::Owners;
use self::read::{ReadSummary, RocksSnapshot};
use self::reserve::Reserve;
use self::schema::{Family, MetaKey};
use self::sequence::Acknowledged;
use crate::recipes::{RecipeState, Recipes};
use crate::{
    Action, Actor, Administration, AuditEntry, AuditFrom, Backup, BookKey, Condition, Engine,
    LateGems, NewBook, Record, RecordChange, Row, RowChange, Snapshot, Store, StoreError, Table,
    Vitals, Watch,
};

/// Default size of the read cache: four fifths of the posting lists of 100 million postings.
pub const CACHE_BYTES: usize = 300 << 20;

/// A log that is not left when a store is closed.
const LONG_LOG_BYTES: u64 = 1 << 20;
/// How long maintenance pauses between its steps.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a compaction waits for the tables that it replaced to be deleted.
const DELETION: Duration = Duration::from_secs(1);
/// `RocksDB`'s default for [`RocksStore::collect_texts`].
const COLLECTED: &str = "0.25";

/// A [`Store`] in a local folder. Only one process at a time can open a folder. Within it, any number of threads can
/// read while one writes.
///
/// When the disk is full, reads continue. Writes work again some seconds after 32 MiB have been freed. After other
/// write failures, such as a file size limit, `RocksDB` may refuse to write until the store is reopened
/// ([`RocksStore::wants_reopening`]).
pub struct RocksStore {
    dir: PathBuf,
    /// Always replaced as a whole, so it is valid even if a thread panicked while holding the lock.
    recipes: RwLock<Arc<Recipes>>,
    /// Replaced before a change that assigns numbers is written. Numbers that are not on disk yet do no harm.
    owners: RwLock<Arc<Owners>>,
    /// The summaries that were read last: most do not change between two checks.
    read_summaries: RwLock<Arc<[ReadSummary]>>,
    /// The write lock. It guards no state: after a panic, the next writer starts from what is on disk.
    writing: Mutex<merge::MergeCursor>,
    crowded: merge::CrowdedBuckets,
    changed: changed::ChangedGems,
    db: DB,
    acknowledged: Acknowledged,
    reserve: Reserve,
    /// Held while audit log entries are numbered and written. A holder of the write lock may take it, but not the
    /// other way round.
    numbering: Mutex<()>,
    /// The options of the database, which hold its statistics.
    options: Options,
    /// Number of postings rewritten by merges.
    merged: AtomicU64,
    /// Declared after the database, so that the folder is unlocked only once that is closed.
    _lock: File,
    /// The folder itself, if it is only there for this store.
    _links: Option<TempDir>,
}

impl RocksStore {
    /// Opens the catalogue in a folder.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none, [`StoreError::Foreign`] if the folder holds something else,
    /// [`StoreError::InUse`], [`StoreError::Version`], [`StoreError::Damaged`], [`StoreError::Denied`]. A folder that
    /// is not a catalogue is left unchanged.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_with_cache(dir, CACHE_BYTES)
    }

    /// Like [`RocksStore::open`], with a read cache of `cache` bytes instead of [`CACHE_BYTES`].
    ///
    /// # Errors
    /// See [`RocksStore::open`].
    pub fn open_with_cache(dir: &Path, cache: usize) -> Result<Self, StoreError> {
        open::open(dir, open::Absent::Refuse, cache)
    }

    /// Opens the catalogue in a folder, or creates one if the folder is empty or does not exist.
    ///
    /// # Errors
    /// See [`RocksStore::open`].
    pub fn open_or_create(dir: &Path) -> Result<Self, StoreError> {
        Self::open_or_create_with_cache(dir, CACHE_BYTES)
    }

    /// Like [`RocksStore::open_or_create`], with a read cache of `cache` bytes instead of [`CACHE_BYTES`].
    ///
    /// # Errors
    /// See [`RocksStore::open`].
    pub fn open_or_create_with_cache(dir: &Path, cache: usize) -> Result<Self, StoreError> {
        open::open(dir, open::Absent::Create, cache)
    }

    /// Opens the state that a folder has now, to read it only, even if another process has the folder open. Links in a
    /// folder inside it keep its files until this is dropped.
    ///
    /// # Errors
    /// See [`RocksStore::open`]. A change of the store that is opened like this fails.
    pub fn open_frozen(dir: &Path) -> Result<Self, StoreError> {
        frozen::open(dir)
    }

    /// Builds a catalogue of many books, many times faster than [`Store::put`], with memory use that does not depend
    /// on their number. The books must be sorted by library and id, bytewise; an error among them is returned. The
    /// folder must be empty or not exist. When this returns, it holds either all of the books or none. Meanwhile the
    /// files are in a folder `.lapidary-…` next to it. If the process is killed, that folder stays and can be
    /// deleted.
    ///
    /// # Errors
    /// [`StoreError::Duplicate`] if two books have the same key, [`StoreError::Unordered`], the errors of
    /// [`Store::put`], and [`StoreError::Foreign`] if the folder is not empty.
    pub fn build<E: From<StoreError>>(
        dir: &Path,
        recipes: &[Recipe],
        books: impl IntoIterator<Item = Result<NewBook, E>>,
    ) -> Result<Self, E> {
        let (store, staged) = Self::stage(dir, recipes, books)?;
        drop(store);
        staged.publish()?;
        Ok(Self::open(dir)?)
    }

    /// Like [`RocksStore::build`], for a catalogue that is changed further before it is moved into its folder.
    ///
    /// # Errors
    /// Those of [`RocksStore::build`].
    pub fn stage<E: From<StoreError>>(
        dir: &Path,
        recipes: &[Recipe],
        books: impl IntoIterator<Item = Result<NewBook, E>>,
    ) -> Result<(Self, Staged), E> {
        build::stage(dir, recipes, books)
    }

    /// Copies a backup, by default the newest, into a folder that does not exist. Returns its number.
    ///
    /// # Errors
    /// [`StoreError::NoBackup`], [`StoreError::Foreign`] if the folder is not empty, [`StoreError::Damaged`].
    pub fn restore(from: &Path, to: &Path, number: Option<u32>) -> Result<u32, StoreError> {
        if open::is_empty(to)? {
            backup::restore(from, to, number)
        } else {
            Err(StoreError::Foreign(error::show(to)))
        }
    }

    fn known_recipes(&self) -> Arc<Recipes> {
        self.recipes.read().clone()
    }

    fn view(&self) -> RocksSnapshot<'_> {
        let changed = self.changed.known(self);
        // Snapshot and recipes must match: recipes change under this lock until they are on disk.
        let recipes = self.recipes.read();
        let snapshot = self.db.snapshot();
        // Read the owners after taking the snapshot, so that all its books have one.
        RocksSnapshot::new(
            self,
            snapshot,
            recipes.clone(),
            self.known_owners(),
            changed,
        )
    }

    fn recipes_to_change(&self) -> RwLockWriteGuard<'_, Arc<Recipes>> {
        self.recipes.write()
    }

    fn known_owners(&self) -> Arc<Owners> {
        self.owners.read().clone()
    }

    fn set_owners(&self, owners: Owners) {
        *self.owners.write() = Arc::new(owners);
    }

    /// Takes the write lock.
    fn turn(&self) -> MutexGuard<'_, merge::MergeCursor> {
        self.writing.lock()
    }

    fn family(&self, family: Family) -> &ColumnFamily {
        self.db
            .cf_handle(family.name())
            .expect("a store is opened with all of its column families")
    }

    /// The entries of [`Family::Meta`] from one key to another, inclusive.
    fn meta(
        &self,
        first: MetaKey<'_>,
        last: MetaKey<'_>,
    ) -> impl Iterator<Item = Result<Row, StoreError>> {
        let last = last.bytes();
        let from = first.bytes();
        let entries = self.db.iterator_cf(
            self.family(Family::Meta),
            IteratorMode::From(&from, Direction::Forward),
        );
        let entries =
            entries.take_while(move |entry| entry.as_ref().map_or(true, |(key, _)| **key <= *last));
        entries.map(|entry| {
            let (key, value) = entry.map_err(|e| self.failed(&e))?;
            Ok((key.into_vec(), value.into_vec()))
        })
    }

    /// A value of [`Family::Meta`].
    fn meta_value(&self, key: MetaKey<'_>) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.db.get_cf(self.family(Family::Meta), key.bytes());
        value.map_err(|e| self.failed(&e))
    }

    /// Sets the part of the blob files of a family, the oldest first, that a compaction rewrites without removed texts.
    fn collect_texts(&self, family: Family, part: &str) -> Result<(), StoreError> {
        let options = [("blob_garbage_collection_age_cutoff", part)];
        self.db
            .set_options_cf(self.family(family), &options)
            .map_err(|e| self.failed(&e))
    }

    /// Whether no table of a family was compacted yet. `RocksDB` would move such tables to the last level as they are, with
    /// all that was overwritten or deleted, and compressed for speed.
    fn has_only_flushed(&self, family: Family) -> Result<bool, StoreError> {
        let mut tables = self
            .db
            .live_files()
            .map_err(|e| self.failed(&e))?
            .into_iter();
        Ok(tables.all(|table| table.level == 0 || table.column_family_name != family.name()))
    }

    /// Lets those write who wait for their turn. A lock that is taken again at once would keep them waiting.
    fn let_others_write() {
        thread::sleep(PAUSE);
    }

    fn failed(&self, error: &rocksdb::Error) -> StoreError {
        error::from_rocksdb(&self.dir, error)
    }
}

impl Drop for RocksStore {
    /// A long log is written to tables, which take half the space and need not be read again. If that fails, the log remains.
    fn drop(&mut self) {
        if vitals::log_bytes(&self.dir) > LONG_LOG_BYTES {
            let _ = self.flush();
        }
    }
}

impl Store for RocksStore {
    fn add_recipe(&self, by: &Actor, recipe: &Recipe) -> Result<(), StoreError> {
        write::add_recipe(self, by, recipe)
    }

    fn set_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        state: RecipeState,
    ) -> Result<u64, StoreError> {
        write::set_recipe(self, by, recipe, state)
    }

    fn drop_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        watch: Watch<'_>,
    ) -> Result<(), StoreError> {
        drop_recipe::drop_recipe(self, by, recipe, watch)
    }

    fn add_gems(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        books: Vec<LateGems>,
    ) -> Result<(), StoreError> {
        write::add_gems(self, by, recipe, books)
    }

    fn page(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        rows::page(self, table, prefix, after, limit)
    }

    fn rows(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        rows::get(self, table, keys)
    }

    fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        rows::apply(self, by, changes, actions)
    }

    fn put(&self, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError> {
        write::put(self, by, books)
    }

    fn remove(
        &self,
        by: &Actor,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, StoreError> {
        write::remove(self, by, keys, condition)
    }

    fn amend(
        &self,
        by: &Actor,
        key: &BookKey,
        change: RecordChange<'_>,
    ) -> Result<Option<Record>, StoreError> {
        write::amend(self, by, key, change)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        Box::new(self.view())
    }

    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError> {
        audit::read(&self.view(), from, limit)
    }

    fn writable(&self) -> Result<(), StoreError> {
        vitals::writable(self)
    }

    fn engine(&self) -> Engine<'_> {
        Engine::Folder(self)
    }
}

/// What only a store with files of its own has.
impl RocksStore {
    /// The space that its files take.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        Ok(vitals::disk(self)?.used)
    }

    /// Flushes memory to disk, so that the store opens quickly the next time. No change depends on this.
    pub fn flush(&self) -> Result<(), StoreError> {
        let families = Family::ALL.map(|family| self.family(family));
        self.db
            .flush_cfs_opt(&families, &FlushOptions::default())
            .map_err(|e| self.failed(&e))
    }

    /// Adds a backup to a folder, reads all of it as [`Administration::verify`] does, and keeps the newest `keep`
    /// backups. Reads and writes continue. The backup contains everything acknowledged before the call. A backup that
    /// could not be restored is removed again, older ones are kept, and the error says what is wrong.
    pub fn backup(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<Backup, StoreError> {
        backup::backup(self, to, keep, watch)
    }

    /// Stops background work, so that a running [`Administration::compact`] returns. Nothing is written after this.
    pub fn stop(&self) {
        self.db.cancel_all_background_work(true);
    }

    /// Returns what an administrator monitors. The cost does not depend on the size of the store.
    pub fn vitals(&self) -> Result<Vitals, StoreError> {
        vitals::vitals(self)
    }

    /// Reserves disk space, unless it is already reserved or there is too little. When the disk is full, [`Store::apply`]
    /// can use the reserve once. Books are then refused until there is room to reserve space again.
    pub fn hold_reserve(&self) -> Result<(), StoreError> {
        let free = vitals::disk(self)?.free;
        self.reserve.hold(free).map_err(|e| StoreError::Io {
            path: error::show(&self.dir),
            detail: e.to_string(),
        })
    }

    /// Whether the store refuses changes that could be written again: its disk was full or unwritable and no longer
    /// is. The store recovers by itself from most such failures; from the others, when it is reopened.
    #[must_use]
    pub fn wants_reopening(&self) -> bool {
        let refused = matches!(
            self.writable(),
            Err(StoreError::DiskFull(_) | StoreError::Denied { .. })
        );
        refused && reserve::has_room(&self.dir)
    }
}

impl Administration for RocksStore {
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        let steps = 1 + Family::ALL.len() as u64;
        watch(0, steps)?;
        merge::merge_in_turns(self, &|_, _| watch(0, steps))?;
        self.flush()?;
        let mut options = CompactOptions::default();
        // Otherwise nothing else is compacted meanwhile, and writes are slowed down.
        options.set_exclusive_manual_compaction(false);
        for (family, done) in Family::ALL.into_iter().zip(1..) {
            watch(done, steps)?;
            // A removed text is then in no file any more.
            let has_texts = matches!(family, Family::Texts | Family::Decisions);
            if has_texts {
                self.collect_texts(family, "1.0")?;
            }
            // The last level is as small as it can be, but what refers to blobs is read to drop those of removed books.
            let read_all = has_texts || family == Family::Folds || self.has_only_flushed(family)?;
            options.set_bottommost_level_compaction(if read_all {
                BottommostLevelCompaction::ForceOptimized
            } else {
                BottommostLevelCompaction::Skip
            });
            let (handle, all) = (self.family(family), None::<&[u8]>);
            self.db.compact_range_cf_opt(handle, all, all, &options);
            if has_texts {
                self.collect_texts(family, COLLECTED)?;
            }
        }
        // Until then they count as space in use. They may also wait for other compactions, or for a reader.
        let mut options = WaitForCompactOptions::default();
        options.set_timeout(DELETION.as_micros() as u64);
        let _ = self.db.wait_for_compact(&options);
        watch(steps, steps)
    }

    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        verify::verify(&self.view(), watch)
    }

    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        repair::repair(self, watch)
    }
}
