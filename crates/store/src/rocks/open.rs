//! Opening a folder: what it contains, who has it open, and its version.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};

use rocksdb::{Cache, DB, IteratorMode, Options, WriteBatch};
use serde::Deserialize;

use super::acknowledged::Acknowledged;
use super::durable::durably;
use super::error::{damaged, from_io, from_rocksdb, show};
use super::owners::Owners;
use super::read::RocksSnapshot;
use super::reserve::Reserve;
use super::schema::{self, FORMAT_VERSION, Family, MetaKey, OLDEST_VERSION};
use super::search::term_keys;
use super::{RocksStore, drop_recipe, options, rebuild};
use crate::recipes::{FORMER_GEM_BITS, KnownRecipe, Recipes};
use crate::{Library, LibrarySummary, Record, Snapshot as _, StoreError, UNWATCHED};
use lapidary_common::description::Description;
use lapidary_gems::Recipe;

/// The lock file. It is locked while the folder is in use and contains the number of the process that holds it. It is
/// created first and marks a folder as a catalogue, even if creating that was interrupted. The system releases the
/// lock when the process ends, so a file left behind locks nobody out.
pub(super) const LOCK_FILE: &str = "lapidary.lock";
/// The file with the format version. It gives the version before the log is replayed, which takes long after a crash. If
/// it is missing or names another version, the store is asked.
pub(super) const VERSION_FILE: &str = "lapidary.version";
/// `RocksDB`'s file that names the newest manifest. A `RocksDB` folder without it counts as empty.
pub(super) const CURRENT: &str = "CURRENT";
/// Created in the root of a new file system: a disk mounted as the data folder still counts as empty.
const LOST_FOUND: &str = "lost+found";

/// Number of entries written at once.
const BATCH: usize = 10_000;
/// Cache size for a folder that is read once, from beginning to end.
const READ_ONLY_CACHE_BYTES: usize = 32 << 20;

/// What to do if there is no catalogue in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    Refuse,
    Create,
}

/// What a folder contains.
enum Content {
    /// Nothing, or it does not exist.
    Nothing,
    /// A catalogue whose creation was interrupted.
    Unfinished,
    /// A catalogue of this version, or of one that can be migrated.
    Catalogue(u32),
}

pub(super) fn open(dir: &Path, absent: Absent, cache: usize) -> Result<RocksStore, StoreError> {
    let empty = is_empty(dir)?;
    if empty {
        if absent == Absent::Refuse {
            return Err(StoreError::Missing(show(dir)));
        }
        make_folder(dir).map_err(|e| from_io(dir, &e))?;
    } else if !is_ours(dir)? {
        return Err(StoreError::Foreign(show(dir)));
    }
    let lock = lock(dir)?;
    let content = if empty {
        Content::Nothing
    } else {
        content(dir)?
    };
    let create = match (&content, absent) {
        (Content::Catalogue(_), _) => false,
        (Content::Nothing | Content::Unfinished, Absent::Create) => true,
        (Content::Nothing | Content::Unfinished, Absent::Refuse) => {
            return Err(StoreError::Missing(show(dir)));
        }
    };

    let mut options = options::database();
    options.create_if_missing(create);
    options.create_missing_column_families(true);
    // This kind of cache does not block readers; 0 lets it find out how large its entries are.
    let cache = Cache::new_hyper_clock_cache(cache, 0);
    let db = DB::open_cf_descriptors(&options, dir, options::families(&cache))
        .map_err(|e| from_rocksdb(dir, &e))?;
    let store = assemble(dir, db, options, lock)?;
    let mut recipes = load_recipes(&store)?;
    match content {
        Content::Catalogue(version) => {
            if version < FORMAT_VERSION {
                recipes = marked_ready(&store, recipes)?;
            }
            migrate(&store, &recipes, version)?;
        }
        Content::Nothing | Content::Unfinished => finish(&store)?,
    }
    confirm_version(&store)?;
    let owners = Owners::load(&store)?;
    let store = RocksStore {
        recipes: RwLock::new(Arc::new(recipes)),
        owners: RwLock::new(Arc::new(owners)),
        ..store
    };
    let rebuild = store
        .db
        .get_pinned_cf(store.family(Family::Meta), MetaKey::Rebuild.bytes());
    if rebuild.map_err(|e| store.failed(&e))?.is_some() {
        tracing::warn!(
            "{}: rebuilding the posting lists in the current format",
            show(&store.dir)
        );
        rebuild::postings(&store, &mut store.turn(), UNWATCHED)?;
    }
    drop_recipe::renew(&store)?;
    count_recipes(&store)?;
    Ok(store)
}

/// Counts which recipes the books have gems of, in libraries whose books were changed by a version that did not.
fn count_recipes(store: &RocksStore) -> Result<(), StoreError> {
    // Unreadable summaries are reported by `verify`.
    let Ok(mut summaries) = store.view().libraries() else {
        return Ok(());
    };
    summaries.retain(|summary| !summary.counts_recipes());
    if summaries.is_empty() {
        return Ok(());
    }
    let mut libraries: BTreeMap<Library, LibrarySummary> = BTreeMap::new();
    for mut summary in summaries {
        summary.recipes.clear();
        libraries.insert(summary.library.clone(), summary);
    }
    for entry in store
        .db
        .iterator_cf(store.family(Family::Books), IteratorMode::Start)
    {
        let (_, value) = entry.map_err(|e| store.failed(&e))?;
        // Unreadable records are reported by `verify`.
        let Ok(record) = serde_json::from_slice::<Record>(&value) else {
            continue;
        };
        if let Some(summary) = libraries.get_mut(&record.key.library) {
            summary.count_recipes(None, Some(&record));
        }
    }
    let mut batch = WriteBatch::default();
    for (library, summary) in &libraries {
        batch.put_cf(
            store.family(Family::Meta),
            MetaKey::library(library).bytes(),
            schema::json(summary),
        );
    }
    durably(store, batch)
}

/// Creates a store on an opened database. Its recipes are not loaded yet.
fn assemble(dir: &Path, db: DB, options: Options, lock: File) -> Result<RocksStore, StoreError> {
    Ok(RocksStore {
        dir: dir.to_owned(),
        recipes: RwLock::default(),
        owners: RwLock::default(),
        writing: Mutex::default(),
        reserve: Reserve::none(dir),
        acknowledged: Acknowledged::open(dir, db.latest_sequence_number())?,
        db,
        numbering: Mutex::default(),
        options,
        merged: AtomicU64::new(0),
        _lock: lock,
        _links: None,
    })
}

/// Opens a folder of the current version for reading only.
pub(super) fn read_only(dir: &Path) -> Result<RocksStore, StoreError> {
    let lock = lock(dir)?;
    let (options, cache) = (
        options::database(),
        Cache::new_lru_cache(READ_ONLY_CACHE_BYTES),
    );
    let db = DB::open_cf_descriptors_read_only(&options, dir, options::families(&cache), false);
    let store = assemble(dir, db.map_err(|e| from_rocksdb(dir, &e))?, options, lock)?;
    let (recipes, owners) = (load_recipes(&store)?, Owners::load(&store)?);
    Ok(RocksStore {
        recipes: RwLock::new(Arc::new(recipes)),
        owners: RwLock::new(Arc::new(owners)),
        ..store
    })
}

/// Creates a folder that only its owner can access, because gems reveal much about an unpublished book.
fn make_folder(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Migrates an older version to the current one. All steps can be repeated if interrupted.
///
/// - Version 3 has other buckets than version 2. The mark to rebuild them is written together with the version.
/// - Version 4 has more families, which exist already.
/// - Versions 6 and 7 post other gems than earlier ones, under a recipe that does not post all.
/// - Version 8 has long lists by library, the owners of book numbers, and digests.
/// - Version 9 has terms.
/// - Version 11 writes gem lists in another form, and still reads the earlier one.
fn migrate(store: &RocksStore, recipes: &Recipes, version: u32) -> Result<(), StoreError> {
    if version == FORMAT_VERSION {
        return Ok(());
    }
    let mut batch = WriteBatch::default();
    index_books(store, version)?;
    let long_lists = || {
        store
            .db
            .iterator_cf(store.family(Family::Lists), IteratorMode::Start)
            .next()
            .is_some()
    };
    if version < 3
        || (version < 8 && long_lists())
        || (version < 7 && !recipes.0.iter().all(|known| known.recipe.posts_all()))
    {
        batch.put_cf(store.family(Family::Meta), MetaKey::Rebuild.bytes(), []);
    }
    write_version(store, batch)
}

/// Writes what a folder of this version lacks: the owners of book numbers, the digests of texts, and terms. Can be
/// repeated.
fn index_books(store: &RocksStore, version: u32) -> Result<(), StoreError> {
    /// The fields needed of a record.
    #[derive(Deserialize)]
    struct Indexed {
        digest: String,
        #[serde(flatten)]
        description: Description,
    }
    if version >= 9 {
        return Ok(());
    }
    let (digests, terms) = (store.family(Family::Digests), store.family(Family::Terms));
    let mut batch = WriteBatch::default();
    if version < 8 {
        for (key, value) in Owners::derive(&store.view())?.1 {
            batch.put_cf(store.family(Family::Meta), key, value);
        }
        durably(store, std::mem::take(&mut batch))?;
    }
    let owners = Owners::load(store)?;
    for entry in store
        .db
        .iterator_cf(store.family(Family::Books), IteratorMode::Start)
    {
        let (key, value) = entry.map_err(|e| store.failed(&e))?;
        // Unreadable entries are reported by `verify`.
        let indexed = serde_json::from_slice::<Indexed>(&value).ok();
        let Some((
            book,
            Indexed {
                digest,
                description,
            },
        )) = schema::read_book(&key).zip(indexed)
        else {
            continue;
        };
        if let Some(key) = schema::digest_key(&digest, book).filter(|_| version < 8) {
            batch.put_cf(digests, key, []);
        }
        for key in term_keys(owners.of(book), book, &description) {
            batch.put_cf(terms, key, []);
        }
        if batch.len() >= BATCH {
            store
                .db
                .write(std::mem::take(&mut batch))
                .map_err(|e| store.failed(&e))?;
        }
    }
    durably(store, batch)
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
    match file.try_lock() {
        Ok(()) => {
            // Ignore errors: the number is only shown in a message, and a full disk must not prevent reading.
            let _ = file
                .set_len(0)
                .and_then(|()| write!(file, "{}", std::process::id()));
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            let read = file.read_to_string(&mut process);
            let owner = match (read, process.parse::<u32>()) {
                (Ok(_), Ok(process)) => format!("process {process}"),
                _ => "another process".to_owned(),
            };
            Err(StoreError::InUse {
                path: show(dir),
                owner,
            })
        }
        Err(TryLockError::Error(e)) => Err(from_io(dir, &e)),
    }
}

/// Determines the content of a locked folder. Changes nothing, so a folder of another version is left as it is.
fn content(dir: &Path) -> Result<Content, StoreError> {
    let Some(version) = version(dir)? else {
        // The version is the first thing written to a table. Tables without a version mean that `RocksDB` has lost
        // its list of tables. If it started over, it would delete them all.
        let tables = has_tables(dir)?;
        return if tables {
            Err(damaged(dir, "the list of its files is lost"))
        } else {
            Ok(Content::Unfinished)
        };
    };
    let version = supported(dir, &version)?;
    let families = DB::list_cf(&Options::default(), dir).map_err(|e| from_rocksdb(dir, &e))?;
    match Family::OLDEST
        .iter()
        .find(|family| !families.iter().any(|name| name == family.name()))
    {
        Some(lost) => Err(damaged(
            dir,
            format!("its column family '{}' is lost", lost.name()),
        )),
        None => Ok(Content::Catalogue(version)),
    }
}

/// Parses a format version.
///
/// # Errors
/// If this version cannot be opened.
fn supported(dir: &Path, version: &[u8]) -> Result<u32, StoreError> {
    let Ok(version) = version.try_into().map(u32::from_be_bytes) else {
        return Err(damaged(dir, "the format version cannot be read"));
    };
    let refuse = |advice| StoreError::Version {
        path: show(dir),
        found: version.to_string(),
        supported: FORMAT_VERSION,
        advice,
    };
    match version.cmp(&FORMAT_VERSION) {
        Ordering::Greater => Err(refuse("update lapidary")),
        _ if version >= OLDEST_VERSION => Ok(version),
        _ => Err(refuse(
            "use the version of lapidary that created it, or ingest the books again into a new folder",
        )),
    }
}

/// Refuses a store of another version whose version file came from another catalogue. Also writes a missing version
/// file for the next time; if that fails, the next opening only takes longer.
fn confirm_version(store: &RocksStore) -> Result<(), StoreError> {
    let version = store
        .db
        .get_cf(store.family(Family::Meta), MetaKey::Version.bytes())
        .map_err(|e| store.failed(&e))?;
    let version = supported(&store.dir, &version.unwrap_or_default())?;
    if version != FORMAT_VERSION {
        return Err(damaged(
            &store.dir,
            format!("{VERSION_FILE} belongs to another catalogue; delete that file"),
        ));
    }
    if !is_of_today(&store.dir) {
        let _ = fs::write(store.dir.join(VERSION_FILE), FORMAT_VERSION.to_string());
    }
    Ok(())
}

/// Whether the version file has the current version.
pub(super) fn is_of_today(dir: &Path) -> bool {
    fs::read(dir.join(VERSION_FILE))
        .is_ok_and(|version| version == FORMAT_VERSION.to_string().as_bytes())
}

/// The format version, if it was written already.
fn version(dir: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    if !fs::exists(dir.join(CURRENT)).map_err(|e| from_io(dir, &e))? {
        return Ok(None);
    }
    if is_of_today(dir) {
        return Ok(Some(FORMAT_VERSION.to_be_bytes().to_vec()));
    }
    let options = options::database();
    let meta = Family::Meta.name();
    let families = DB::list_cf(&options, dir).map_err(|e| from_rocksdb(dir, &e))?;
    if !families.iter().any(|name| name == meta) {
        return Ok(None);
    }
    let db = DB::open_cf_for_read_only(&options, dir, [meta], false)
        .map_err(|e| from_rocksdb(dir, &e))?;
    let handle = db.cf_handle(meta).expect("this family was just opened");
    db.get_cf(handle, MetaKey::Version.bytes())
        .map_err(|e| from_rocksdb(dir, &e))
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
    write_version(store, WriteBatch::default())
}

/// Writes the current version together with a batch, and flushes it to a table, so that the folder is recognised
/// whatever happens to the log.
fn write_version(store: &RocksStore, mut batch: WriteBatch) -> Result<(), StoreError> {
    let meta = store.family(Family::Meta);
    batch.put_cf(meta, MetaKey::Version.bytes(), FORMAT_VERSION.to_be_bytes());
    durably(store, batch)?;
    store.db.flush_cf(meta).map_err(|e| store.failed(&e))
}

/// Marks recipes as ready in a catalogue of an older version that has no such marks: the default, and those that
/// every book has gems of.
fn marked_ready(store: &RocksStore, mut recipes: Recipes) -> Result<Recipes, StoreError> {
    if recipes.0.first().is_none_or(|default| default.ready) {
        return Ok(recipes);
    }
    let snapshot = RocksSnapshot::new(
        store,
        store.db.snapshot(),
        Arc::new(recipes.clone()),
        Arc::default(),
    );
    let mut batch = WriteBatch::default();
    for (i, known) in recipes
        .0
        .iter_mut()
        .enumerate()
        .filter(|(_, known)| !known.leaving)
    {
        if i == 0 || snapshot.coverage_of(known)?.lacking() == 0 {
            known.ready = true;
            batch.put_cf(
                store.family(Family::Meta),
                MetaKey::Ready(known.number).bytes(),
                [],
            );
        }
    }
    durably(store, batch)?;
    Ok(recipes)
}

fn load_recipes(store: &RocksStore) -> Result<Recipes, StoreError> {
    let meta = store.family(Family::Meta);
    let failed = |e| store.failed(&e);
    let unreadable = |what: &dyn Display| damaged(&store.dir, format!("{what} cannot be read"));
    let mut recipes = Recipes::default();
    for entry in store.meta(MetaKey::Recipe(0), MetaKey::Recipe(u16::MAX)) {
        let (key, value) = entry?;
        let Some(MetaKey::Recipe(number)) = MetaKey::read(&key) else {
            return Err(unreadable(&"the number of a recipe"));
        };
        let former = Recipe::renewed(&value);
        let recipe = match former.clone() {
            Some(recipe) => recipe,
            None => serde_json::from_slice(&value)
                .map_err(|_| unreadable(&format_args!("recipe {number}")))?,
        };
        let has = |key: MetaKey<'_>| {
            Ok(store
                .db
                .get_pinned_cf(meta, key.bytes())
                .map_err(failed)?
                .is_some())
        };
        let (leaving, ready) = (has(MetaKey::Leaving(number))?, has(MetaKey::Ready(number))?);
        // The gems of a recipe that is being dropped are not renewed.
        let gem_bits = if former.is_some() {
            FORMER_GEM_BITS
        } else {
            recipe.gem_bits()
        };
        let former = former.is_some() && !leaving;
        recipes.0.push(KnownRecipe {
            leaving,
            former,
            gem_bits,
            ..KnownRecipe::new(number, recipe, ready)
        });
    }
    let default = store
        .db
        .get_pinned_cf(meta, MetaKey::Default.bytes())
        .map_err(failed)?;
    let default = default
        .map(|value| schema::read_recipe(&value).ok_or_else(|| unreadable(&"the default recipe")));
    recipes.sort(default.transpose()?);
    Ok(recipes)
}
