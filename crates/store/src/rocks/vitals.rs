//! Monitoring data of a store, from `RocksDB`'s statistics and properties, and from the file system.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rocksdb::statistics::Ticker;
use rocksdb::{WriteBatch, WriteOptions, properties};
use rustix::fs::{Access, StatVfsMountFlags};

use super::schema::{Family, Postings};
use super::{RocksStore, error, reserve};
use crate::{Background, CacheUse, Disk, PostingCounts, StoreError, Vitals};

fn property(
    store: &RocksStore,
    family: Family,
    name: &properties::PropName,
) -> Result<u64, StoreError> {
    let value = store.db.property_int_value_cf(store.family(family), name);
    Ok(value.map_err(|e| store.failed(&e))?.unwrap_or(0))
}

/// The sum of a property of these families.
fn total(
    store: &RocksStore,
    families: &[Family],
    name: &properties::PropName,
) -> Result<u64, StoreError> {
    let mut families = families.iter();
    families.try_fold(0, |sum, family| Ok(sum + property(store, *family, name)?))
}

pub(super) fn vitals(store: &RocksStore) -> Result<Vitals, StoreError> {
    // All families share one cache and background, so any family can report them.
    let of_database = |name| property(store, Family::Meta, name);
    let mut tables = Vec::new();
    for family in Family::ALL {
        let bytes = property(store, family, properties::TOTAL_SST_FILES_SIZE)?;
        tables.push((family.name(), bytes));
    }
    let count = |ticker| store.options.get_ticker_count(ticker);
    let Postings { main, delta } = store.view().postings()?;
    Ok(Vitals {
        tables,
        memtables: total(store, &Family::ALL, properties::SIZE_ALL_MEM_TABLES)?,
        postings: PostingCounts { main, delta },
        merged_postings: store.merged.load(Ordering::Relaxed),
        disk: disk(store)?,
        cache: CacheUse {
            capacity: of_database(properties::BLOCK_CACHE_CAPACITY)?,
            used: of_database(properties::BLOCK_CACHE_USAGE)?,
            pinned: of_database(properties::BLOCK_CACHE_PINNED_USAGE)?,
            hits: count(Ticker::BlockCacheHit),
            misses: count(Ticker::BlockCacheMiss),
        },
        background: Background {
            compactions: of_database(properties::NUM_RUNNING_COMPACTIONS)?,
            flushes: of_database(properties::NUM_RUNNING_FLUSHES)?,
            pending: total(
                store,
                &Family::ALL,
                properties::ESTIMATE_PENDING_COMPACTION_BYTES,
            )?,
            compaction_read: count(Ticker::CompactReadBytes),
            compaction_written: count(Ticker::CompactWriteBytes),
            flush_written: count(Ticker::FlushWriteBytes),
            stalled: Duration::from_micros(count(Ticker::StallMicros)),
            write_stopped: of_database(properties::IS_WRITE_STOPPED)? != 0,
            errors: of_database(properties::BACKGROUND_ERRORS)?,
        },
    })
}

pub(super) fn disk(store: &RocksStore) -> Result<Disk, StoreError> {
    let system =
        rustix::fs::statvfs(&store.dir).map_err(|e| error::from_io(&store.dir, &e.into()))?;
    let read_only = system.f_flag.contains(StatVfsMountFlags::RDONLY)
        || rustix::fs::access(&store.dir, Access::WRITE_OK).is_err();
    let postings = total(
        store,
        &[Family::Postings, Family::Lists, Family::Delta],
        properties::TOTAL_SST_FILES_SIZE,
    )?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    Ok(Disk {
        used: size_of_files(&store.dir, |name| name != OsStr::new(reserve::FILE))
            .map_err(|e| error::from_io(&store.dir, &e))?,
        postings,
        free,
        size: system.f_blocks.saturating_mul(system.f_frsize),
        read_only,
        lacks_reserve: store.reserve.is_lacking(free),
    })
}

/// Size of the write-ahead log, 0 if it cannot be told.
pub(super) fn log_bytes(dir: &Path) -> u64 {
    let is_log = |name: &OsStr| {
        Path::new(name)
            .extension()
            .is_some_and(|kind| kind == "log")
    };
    size_of_files(dir, is_log).unwrap_or(0)
}

/// Size of all files of these names.
fn size_of_files(dir: &Path, counts: impl Fn(&OsStr) -> bool) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !counts(&entry.file_name()) {
            continue;
        }
        match entry.metadata() {
            Ok(file) if file.is_file() => sum += file.len(),
            Ok(_) => {}
            // A compaction may delete files at any time.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(sum)
}

/// Writes an empty batch. `RocksDB` rejects it if it would reject other writes; there is no other way to ask. Stalled
/// writes are not rejected.
pub(super) fn writable(store: &RocksStore) -> Result<(), StoreError> {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options.set_no_slowdown(true);
    match store.db.write_opt(WriteBatch::default(), &options) {
        Err(e) if e.kind() != rocksdb::ErrorKind::Incomplete => Err(store.failed(&e)),
        _ => Ok(()),
    }
}
