//! Opening a folder: what it contains, and who has it open.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek as _, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use rocksdb::{Cache, DB, IteratorMode, Options};
use tempfile::TempDir;

use super::changed::ChangedGems;
use super::error::{damaged, from_io, from_rocksdb, show};
use super::merge::CrowdedBuckets;
use super::owners::Owners;
use super::reserve::Reserve;
use super::schema::{self, Family, MetaKey};
use super::sequence::Acknowledged;
use super::{RocksStore, options, version};
use crate::StoreError;
use crate::recipes::{KnownRecipe, Recipes};

/// The lock file. It is locked while the folder is in use and contains the number of the process that holds it. It is
/// created first and marks a folder as a catalogue, even if creating that was interrupted. The system releases the
/// lock when the process ends, so a file left behind locks nobody out.
pub(super) const LOCK_FILE: &str = "lapidary.lock";
/// A folder that this process has just closed stays locked while a child is being started: until the child runs its program, it
/// has all files open that its parent had.
const BEING_STARTED: Duration = Duration::from_secs(1);
/// `RocksDB`'s file that names the newest manifest. A `RocksDB` folder without it counts as empty.
pub(super) const CURRENT: &str = "CURRENT";
/// Created in the root of a new file system: a disk mounted as the data folder still counts as empty.
const LOST_FOUND: &str = "lost+found";

/// Cache size for a folder that is read once, from beginning to end.
const READ_ONLY_CACHE_BYTES: usize = 32 << 20;

/// What to do if there is no catalogue in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    Refuse,
    Create,
}

/// What a folder contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderContent {
    /// Nothing, or it does not exist.
    Nothing,
    /// A catalogue whose creation was interrupted.
    Unfinished,
    /// A catalogue of this version.
    Catalogue,
}

pub(super) fn open(dir: &Path, absent: Absent, cache: usize) -> Result<RocksStore, StoreError> {
    let (content, lock) = enter(dir, absent)?;
    let is_new = content != FolderContent::Catalogue;
    if is_new && absent == Absent::Refuse {
        return Err(StoreError::Missing(show(dir)));
    }
    let mut options = options::database();
    options.create_if_missing(is_new);
    options.create_missing_column_families(is_new);
    // This kind of cache does not block readers; 0 lets it find out how large its entries are.
    let cache = Cache::new_hyper_clock_cache(cache, 0);
    let db = DB::open_cf_descriptors(&options, dir, options::families(&cache))
        .map_err(|e| from_rocksdb(dir, &e))?;
    let store = assemble(dir, db, options, lock, None)?;
    if is_new {
        finish(&store)?;
    }
    version::confirm(&store)?;
    with_contents(store)
}

/// Locks a folder, which is made if it may be, and looks what is in it.
fn enter(dir: &Path, absent: Absent) -> Result<(FolderContent, File), StoreError> {
    if !is_empty(dir)? {
        if !is_ours(dir)? {
            return Err(StoreError::Foreign(show(dir)));
        }
        let lock = lock(dir)?;
        return Ok((content(dir)?, lock));
    }
    if absent == Absent::Refuse {
        return Err(StoreError::Missing(show(dir)));
    }
    make_folder(dir).map_err(|e| from_io(dir, &e))?;
    Ok((FolderContent::Nothing, lock(dir)?))
}

/// Creates a store on an opened database. Its recipes and owners are not loaded yet.
fn assemble(
    dir: &Path,
    db: DB,
    options: Options,
    lock: File,
    links: Option<TempDir>,
) -> Result<RocksStore, StoreError> {
    Ok(RocksStore {
        dir: dir.to_owned(),
        recipes: RwLock::default(),
        owners: RwLock::default(),
        read_summaries: RwLock::default(),
        writing: Mutex::default(),
        crowded: CrowdedBuckets::default(),
        changed: ChangedGems::default(),
        reserve: Reserve::none(dir),
        acknowledged: Acknowledged::open(dir, db.latest_sequence_number())?,
        db,
        numbering: Mutex::default(),
        options,
        merged: AtomicU64::new(0),
        _lock: lock,
        _links: links,
    })
}

/// Loads what a store has in memory.
fn with_contents(mut store: RocksStore) -> Result<RocksStore, StoreError> {
    let (recipes, owners) = (load_recipes(&store)?, Owners::load(&store)?);
    store.recipes = RwLock::new(Arc::new(recipes));
    store.owners = RwLock::new(Arc::new(owners));
    Ok(store)
}

/// Opens a folder of links to a folder of the current version, for reading only. It goes with the store.
pub(super) fn read_only(links: TempDir) -> Result<RocksStore, StoreError> {
    let dir = links.path();
    let lock = lock(dir)?;
    let (options, cache) = (
        options::database(),
        Cache::new_lru_cache(READ_ONLY_CACHE_BYTES),
    );
    let db = DB::open_cf_descriptors_read_only(&options, dir, options::families(&cache), false)
        .map_err(|e| from_rocksdb(dir, &e))?;
    let dir = dir.to_owned();
    with_contents(assemble(&dir, db, options, lock, Some(links))?)
}

/// Creates a folder that only its owner can access, because gems reveal much about an unpublished book.
fn make_folder(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Whether the folder is empty or does not exist.
pub(super) fn is_empty(dir: &Path) -> Result<bool, StoreError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            let detail = "this is a file, or is inside one, but a folder is needed; name a folder"
                .to_owned();
            return Err(StoreError::Io {
                path: show(dir),
                detail,
            });
        }
        Err(e) => return Err(from_io(dir, &e)),
    };
    for entry in entries {
        if entry.map_err(|e| from_io(dir, &e))?.file_name() != LOST_FOUND {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a non-empty folder holds a catalogue. A copy or restored backup may lack the lock file.
pub(super) fn is_ours(dir: &Path) -> Result<bool, StoreError> {
    let has = |name| fs::exists(dir.join(name)).map_err(|e| from_io(dir, &e));
    if has(LOCK_FILE)? {
        return Ok(true);
    }
    if !has(CURRENT)? {
        return Ok(false);
    }
    let families = DB::list_cf(&Options::default(), dir).map_err(|e| from_rocksdb(dir, &e))?;
    Ok(families.iter().any(|name| name == Family::Meta.name()))
}

fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK_FILE);
    let open = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let mut file = open.map_err(|e| from_io(dir, &e))?;
    let until = Instant::now() + BEING_STARTED;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {
                let owner = owner(&mut file);
                if owner == Some(std::process::id()) && Instant::now() < until {
                    thread::sleep(BEING_STARTED / 100);
                    continue;
                }
                return Err(StoreError::InUse {
                    path: show(dir),
                    owner: owner.map_or("another process".to_owned(), |owner| {
                        format!("process {owner}")
                    }),
                });
            }
            Err(TryLockError::Error(e)) => return Err(from_io(dir, &e)),
        }
    }
    // Ignore errors: the number is only shown in a message, and a full disk must not prevent reading.
    let _ = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| write!(file, "{}", std::process::id()));
    Ok(file)
}

/// The process that a lock file names.
fn owner(file: &mut File) -> Option<u32> {
    let mut process = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut process).ok()?;
    process.parse().ok()
}

/// Determines the content of a locked folder. Changes nothing, so a folder of another version is left as it is.
fn content(dir: &Path) -> Result<FolderContent, StoreError> {
    if !version::is_there(dir)? {
        // The version is the first thing written to a table. Tables without a version mean that `RocksDB` has lost
        // its list of tables. If it started over, it would delete them all.
        return if has_tables(dir)? {
            Err(damaged(dir, "the list of its files is lost"))
        } else {
            Ok(FolderContent::Unfinished)
        };
    }
    let families = DB::list_cf(&Options::default(), dir).map_err(|e| from_rocksdb(dir, &e))?;
    for family in Family::ALL.map(Family::name) {
        if !families.iter().any(|name| name == family) {
            return Err(damaged(
                dir,
                format!("its column family '{family}' is lost"),
            ));
        }
    }
    Ok(FolderContent::Catalogue)
}

/// Whether there are table files.
fn has_tables(dir: &Path) -> Result<bool, StoreError> {
    for entry in fs::read_dir(dir).map_err(|e| from_io(dir, &e))? {
        let path = entry.map_err(|e| from_io(dir, &e))?.path();
        if path.extension().is_some_and(|extension| extension == "sst") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finishes creating a catalogue: the version is written after everything else.
fn finish(store: &RocksStore) -> Result<(), StoreError> {
    let dir = &store.dir;
    if store
        .db
        .iterator_cf(store.family(Family::Books), IteratorMode::Start)
        .next()
        .is_some()
    {
        return Err(damaged(
            dir,
            "there are books, but the format version is lost",
        ));
    }
    version::write(store)
}

/// Loads the recipes, the default first.
fn load_recipes(store: &RocksStore) -> Result<Recipes, StoreError> {
    let mut recipes = Recipes::default();
    for entry in store.meta(MetaKey::Recipe(0), MetaKey::Recipe(u16::MAX)) {
        let (key, value) = entry?;
        let Some(MetaKey::Recipe(number)) = MetaKey::read(&key) else {
            return Err(unreadable(store, "the number of a recipe"));
        };
        let recipe = serde_json::from_slice(&value)
            .map_err(|_| unreadable(store, &format!("recipe {number}")))?;
        let ready = store.meta_value(MetaKey::Ready(number))?.is_some();
        recipes.0.push(KnownRecipe {
            leaving: store.meta_value(MetaKey::Leaving(number))?.is_some(),
            ..KnownRecipe::new(number, recipe, ready)
        });
    }
    let default = match store.meta_value(MetaKey::Default)? {
        Some(value) => {
            let number = schema::read_recipe(&value);
            Some(number.ok_or_else(|| unreadable(store, "the default recipe"))?)
        }
        None => None,
    };
    recipes.sort(default);
    Ok(recipes)
}

fn unreadable(store: &RocksStore, what: &str) -> StoreError {
    damaged(&store.dir, format!("{what} cannot be read"))
}
