//! The store on `RocksDB`, in one folder of this machine.
//!
//! All state is in `RocksDB`: a change reads what it must know from the state before, writes one batch, and returns when
//! that is on disk, so that there is nothing in memory that a failure could leave different from the disk.
//!
//! | file | its job |
//! |---|---|
//! | `schema` | column families, keys, options |
//! | `codec` | a book's gems as bytes |
//! | `recipes` | recipes and their numbers |
//! | `open` | find, make, lock and check a folder |
//! | `read`, `write`, `verify` | a snapshot; a change; the check of everything |
//! | `error` | what `RocksDB` and the file system report |

mod codec;
mod error;
mod open;
mod read;
mod recipes;
mod schema;
mod verify;
mod write;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rocksdb::{ColumnFamily, DB, FlushOptions};

use self::read::RocksSnapshot;
use self::recipes::Recipes;
use self::schema::Family;
use crate::fingerprint::Recipe;
use crate::index::{BookKey, NewBook, Snapshot, Store, StoreError};

/// A [`Store`] in a folder of this machine. One process at a time has a folder open; within it any number of threads
/// may read while one writes.
///
/// After a full disk, reading goes on; writing does again some seconds after 32 MiB were freed. After another failure to
/// write, as at a limit on the size of files, `RocksDB` may refuse to write until the store is opened anew.
pub struct RocksStore {
    dir: PathBuf,
    /// Replaced as a whole, so that it is right even when a thread panicked while it held the lock.
    recipes: RwLock<Arc<Recipes>>,
    /// Held by the one that writes. It guards no memory: after a panic the next one begins from what is on disk.
    writing: Mutex<()>,
    db: DB,
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
        open::open(dir, open::Absent::Refuse)
    }

    /// Opens the catalogue in a folder, or makes an empty one when the folder is empty or does not exist.
    ///
    /// # Errors
    /// As [`RocksStore::open`].
    pub fn open_or_create(dir: &Path) -> Result<Self, StoreError> {
        open::open(dir, open::Absent::Create)
    }

    fn known_recipes(&self) -> Arc<Recipes> {
        self.recipes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn view(&self) -> RocksSnapshot<'_> {
        // The recipes after the snapshot: one added in between is known and has no books. In the other order it could
        // have books and be unknown.
        let snapshot = self.db.snapshot();
        RocksSnapshot::new(self, snapshot, self.known_recipes())
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
        self.known_recipes().0.iter().map(|known| known.recipe.clone()).collect()
    }

    fn add_recipe(&self, recipe: &Recipe) -> Result<(), StoreError> {
        write::add_recipe(self, recipe)
    }

    fn put(&self, books: Vec<NewBook>) -> Result<(), StoreError> {
        write::put(self, books)
    }

    fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, StoreError> {
        write::remove(self, keys)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        Box::new(self.view())
    }

    fn flush(&self) -> Result<(), StoreError> {
        let families = Family::ALL.map(|family| self.family(family));
        self.db.flush_cfs_opt(&families, &FlushOptions::default()).map_err(|e| self.failed(&e))
    }

    fn disk_bytes(&self) -> Result<u64, StoreError> {
        let sizes = || -> std::io::Result<u64> {
            let mut sum = 0;
            for entry in fs::read_dir(&self.dir)? {
                match entry?.metadata() {
                    Ok(file) if file.is_file() => sum += file.len(),
                    Ok(_) => {}
                    // A compaction deletes files at any time.
                    Err(e) if e.kind() == ErrorKind::NotFound => {}
                    Err(e) => return Err(e),
                }
            }
            Ok(sum)
        };
        sizes().map_err(|e| error::from_io(&self.dir, &e))
    }
}
