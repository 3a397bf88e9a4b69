//! Backups: copies of the store's files, made while it is in use. A file is stored once however many backups contain
//! it.
//!
//! A folder holds the backups of one catalogue, which a file in it identifies.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;

use rocksdb::Env;
use rocksdb::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};

use super::error::{damaged, from_io, from_rocksdb, show};
use super::{RocksStore, open};
use crate::{Administration as _, Backup, StoreError, Watch};

/// Identifies the catalogue whose backups a folder holds, by the identity that `RocksDB` gave it.
const OF: &str = "lapidary.backups";
/// `RocksDB`'s file with that identity.
const IDENTITY: &str = "IDENTITY";
/// `RocksDB`'s folder with its metadata of each backup.
const META: &str = "meta";

pub(super) fn backup(
    store: &RocksStore,
    to: &Path,
    keep: u32,
    watch: Watch<'_>,
) -> Result<Backup, StoreError> {
    claim(store, to)?;
    let failed = |e: rocksdb::Error| from_rocksdb(to, &e);
    let mut engine = engine(to)?;
    engine
        .create_new_backup_flush(&store.db, true)
        .map_err(failed)?;
    let all = engine.get_backup_info();
    let Some(newest) = all.last() else {
        return Err(damaged(to, "the new backup is not listed"));
    };
    let number = newest.backup_id;
    if let Err(error) = engine
        .verify_backup(number)
        .map_err(failed)
        .and_then(|()| verify(to, number, watch))
    {
        // Without this file the backup does not exist, and the next one deletes its files.
        drop(engine);
        fs::remove_file(to.join(META).join(number.to_string())).map_err(|e| from_io(to, &e))?;
        return Err(error);
    }
    // Delete older backups only once this one can replace them.
    engine
        .purge_old_backups(keep.max(1) as usize)
        .map_err(failed)?;
    Ok(Backup {
        number,
        bytes: newest.size,
        kept: engine.get_backup_info().len(),
    })
}

/// Reads all of a backup in place, through links, the way a restored one is read.
fn verify(backups: &Path, number: u32, watch: Watch<'_>) -> Result<(), StoreError> {
    let failed = |e| from_io(backups, &e);
    let backups = backups.canonicalize().map_err(failed)?;
    let list = fs::read_to_string(backups.join(META).join(number.to_string())).map_err(failed)?;
    let links = tempfile::Builder::new()
        .prefix(".lapidary-")
        .tempdir_in(&backups)
        .map_err(failed)?;
    let files = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    for file in files.filter(|file| file.starts_with("private/") || file.starts_with("shared")) {
        symlink(backups.join(file), links.path().join(own_name(file))).map_err(failed)?;
    }
    let store = open::read_only(links)?;
    let faults = store.verify(watch)?;
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let detail = format!(
        "the new backup has {} faults, such as: {first}; run `lapidary verify` to see whether the catalogue has them too \
         (--fix repairs them); if not, back up to a new folder. Earlier backups are kept",
        faults.len()
    );
    Err(unusable(&backups, detail))
}

/// A file's name in the catalogue. Shared files have a checksum and more in theirs, as in `000012_s0AB_345.sst`.
fn own_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    match (
        file.starts_with("shared"),
        name.split_once('_'),
        name.rsplit_once('.'),
    ) {
        (true, Some((number, _)), Some((_, kind))) => format!("{number}.{kind}"),
        _ => name.to_owned(),
    }
}

/// Ensures that the folder is for backups of this catalogue.
fn claim(store: &RocksStore, to: &Path) -> Result<(), StoreError> {
    let failed = |e| from_io(to, &e);
    fs::create_dir_all(to).map_err(failed)?;
    let (inside, data) = (
        to.canonicalize().map_err(failed)?,
        store.dir.canonicalize().map_err(failed)?,
    );
    if inside.starts_with(&data) {
        return Err(unusable(
            to,
            "this is inside the catalogue's folder, so both would be lost together; name another folder",
        ));
    }
    let identity =
        fs::read_to_string(store.dir.join(IDENTITY)).map_err(|e| from_io(&store.dir, &e))?;
    match fs::read_to_string(to.join(OF)) {
        Ok(of) if of == identity => Ok(()),
        Ok(_) => Err(unusable(
            to,
            "this folder has the backups of another catalogue; name another folder",
        )),
        Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(e)),
        Err(_) if !open::is_empty(to)? => Err(unusable(
            to,
            "this folder holds other files; name an empty or a new folder",
        )),
        Err(_) => {
            let mut file = File::create(to.join(OF)).map_err(failed)?;
            file.write_all(identity.as_bytes())
                .and_then(|()| file.sync_all())
                .map_err(failed)
        }
    }
}

/// What is wrong with a folder of backups.
fn unusable(dir: &Path, detail: impl Into<String>) -> StoreError {
    StoreError::Io {
        path: show(dir),
        detail: detail.into(),
    }
}

fn engine(dir: &Path) -> Result<BackupEngine, StoreError> {
    BackupEngineOptions::new(dir)
        .and_then(|options| BackupEngine::open(&options, &Env::new()?))
        .map_err(|e| from_rocksdb(dir, &e))
}

/// Copies a backup, by default the newest, into a folder that does not exist. The folder then holds a catalogue,
/// which is not opened yet.
pub(super) fn restore(from: &Path, to: &Path, number: Option<u32>) -> Result<u32, StoreError> {
    if !fs::exists(from.join(OF))
        .and_then(|of| Ok(of && fs::exists(from.join(META))?))
        .map_err(|e| from_io(from, &e))?
    {
        return Err(StoreError::NoBackup(show(from)));
    }
    let failed = |e: rocksdb::Error| from_rocksdb(from, &e);
    let mut engine = engine(from)?;
    let all: Vec<u32> = engine
        .get_backup_info()
        .iter()
        .map(|backup| backup.backup_id)
        .collect();
    let newest = *all.last().ok_or_else(|| StoreError::NoBackup(show(from)))?;
    let number = number.unwrap_or(newest);
    if !all.contains(&number) {
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        let detail = format!(
            "there is no backup {number} here; there are: {}",
            all.join(", ")
        );
        return Err(unusable(from, detail));
    }
    engine.verify_backup(number).map_err(failed)?;
    engine
        .restore_from_backup(to, to, &RestoreOptions::default(), number)
        .map_err(failed)?;
    Ok(number)
}
