//! A folder as it is at one moment, to be read while a server has it open and changes it.
//!
//! Tables and blobs never change, so links to them keep them, whatever the server deletes. The list of tables and the
//! log only grow, so what was copied of them is a state that the folder had. If a file disappears in between, everything
//! is done again.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use tempfile::{Builder, TempDir};

use super::error::{from_io, show};
use super::open::{self, CURRENT, LOCK_FILE};
use super::version::{self, VERSION_FILE};
use super::{RocksStore, sequence};
use crate::StoreError;

/// What the names of the folders with the links start with.
const PREFIX: &str = "lapidary.frozen-";
/// How often to start again.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Opens the present state of a folder for reading only.
pub(super) fn open(dir: &Path) -> Result<RocksStore, StoreError> {
    if open::is_empty(dir)? {
        return Err(StoreError::Missing(show(dir)));
    }
    if !open::is_ours(dir)? {
        return Err(StoreError::Foreign(show(dir)));
    }
    if !version::is_of_today(dir) {
        // An older format is brought up to date first. A server has done so.
        drop(RocksStore::open(dir)?);
    }
    remove_old(dir);
    let mut tries = 0;
    loop {
        let frozen = freeze(dir).and_then(open::read_only);
        match frozen {
            Err(StoreError::Damaged { .. }) if tries < TRIES => tries += 1,
            frozen => return frozen,
        }
        sleep(PAUSE);
    }
}

/// Makes a folder with the state of a folder.
fn freeze(dir: &Path) -> Result<TempDir, StoreError> {
    let failed = |e: io::Error| match e.kind() {
        ErrorKind::NotFound => StoreError::Damaged {
            path: show(dir),
            detail: e.to_string(),
        },
        _ => from_io(dir, &e),
    };
    let links = Builder::new()
        .prefix(PREFIX)
        .tempdir_in(dir)
        .map_err(failed)?;
    let copy = |name: &str| fs::copy(dir.join(name), links.path().join(name));
    copy(VERSION_FILE).map_err(failed)?;
    // Before the changes themselves: the copy must have all of those acknowledged until now.
    copy(sequence::FILE).map(drop).or_else(|e| {
        if e.kind() == ErrorKind::NotFound {
            Ok(())
        } else {
            Err(failed(e))
        }
    })?;
    link(dir, links.path()).map_err(failed)?;
    copy(CURRENT).map_err(failed)?;
    let manifest = fs::read_to_string(links.path().join(CURRENT)).map_err(failed)?;
    copy(manifest.trim()).map_err(failed)?;
    let mut logs = link(dir, links.path()).map_err(failed)?;
    // The server appends only to the last one.
    logs.sort();
    for log in logs {
        let complete = log.with_extension("copy");
        fs::copy(&log, &complete)
            .and_then(|_| fs::rename(&complete, &log))
            .map_err(failed)?;
    }
    Ok(links)
}

/// Links the tables, blobs and logs that are not linked yet. Returns all logs.
fn link(dir: &Path, links: &Path) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let kind = Path::new(&name)
            .extension()
            .and_then(|kind| kind.to_str())
            .unwrap_or_default();
        if !["sst", "blob", "log"].contains(&kind) {
            continue;
        }
        let link = links.join(&name);
        match fs::hard_link(dir.join(&name), &link) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            // Deleted since it was listed.
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        }
        if kind == "log" {
            logs.push(link);
        }
    }
    Ok(logs)
}

/// Removes what processes that were killed have left.
fn remove_old(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    {
        let is_unused =
            File::open(entry.path().join(LOCK_FILE)).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_unused {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
