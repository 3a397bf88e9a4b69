//! The format version of a folder. A folder of another version is left as it is.

use std::cmp::Ordering;
use std::fs;
use std::path::Path;

use rocksdb::{DB, WriteBatch};

use super::error::{damaged, from_io, from_rocksdb, show};
use super::open::CURRENT;
use super::schema::{FORMAT_VERSION, Family, MetaKey};
use super::sync::durably;
use super::{RocksStore, options};
use crate::StoreError;

/// The file with the format version. It gives the version before the log is replayed, which takes long after a crash. If
/// it is missing or names another version, the store is asked.
pub(super) const VERSION_FILE: &str = "lapidary.version";

/// Whether there is a catalogue of this version. One that is not finished has none yet.
///
/// # Errors
/// [`StoreError::Version`] if it is of another one.
pub(super) fn is_there(dir: &Path) -> Result<bool, StoreError> {
    if !fs::exists(dir.join(CURRENT)).map_err(|e| from_io(dir, &e))? {
        return Ok(false);
    }
    if is_of_today(dir) {
        return Ok(true);
    }
    let Some(version) = stored(dir)? else {
        return Ok(false);
    };
    refuse_other(dir, &version)?;
    Ok(true)
}

/// The version in the store of a folder, if it was written already.
fn stored(dir: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let (options, meta) = (options::database(), Family::Meta.name());
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

fn refuse_other(dir: &Path, version: &[u8]) -> Result<(), StoreError> {
    let Ok(version) = version.try_into().map(u32::from_be_bytes) else {
        return Err(damaged(dir, "the format version cannot be read"));
    };
    let advice = match version.cmp(&FORMAT_VERSION) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "update lapidary",
        Ordering::Less => {
            "run `lapidary export --data FOLDER books.ndjson` of the older program, and then \
             `lapidary import --data NEW-FOLDER books.ndjson` of this one"
        }
    };
    Err(StoreError::Version {
        path: show(dir),
        found: version.to_string(),
        supported: FORMAT_VERSION,
        advice,
    })
}

/// Refuses a store of another version whose version file came from another catalogue. Also writes a missing version
/// file for the next time; if that fails, the next opening only takes longer.
pub(super) fn confirm(store: &RocksStore) -> Result<(), StoreError> {
    let version = store.meta_value(MetaKey::Version)?;
    refuse_other(&store.dir, &version.unwrap_or_default())?;
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

/// Writes the current version and flushes it to a table, so that the folder is recognised whatever happens to the log.
pub(super) fn write(store: &RocksStore) -> Result<(), StoreError> {
    let meta = store.family(Family::Meta);
    let mut batch = WriteBatch::default();
    batch.put_cf(meta, MetaKey::Version.bytes(), FORMAT_VERSION.to_be_bytes());
    durably(store, batch)?;
    store.db.flush_cf(meta).map_err(|e| store.failed(&e))
}
