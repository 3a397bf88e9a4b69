//! Restoring a catalogue from a backup.

use std::fs::{self, File};
use std::path::Path;

use super::{Catalogue, CatalogueError};
use lapidary_common::count::count;
use lapidary_store::{Administration as _, RocksStore, StoreError, Watch};

/// Copies a backup, by default the newest, into a folder that is empty or does not exist. The copy is read
/// completely and checked before the folder gets its name. Jobs that were running are cancelled. Returns the
/// backup's number.
pub fn restore(
    from: &Path,
    to: &Path,
    number: Option<u32>,
    watch: Watch<'_>,
) -> Result<u32, CatalogueError> {
    refuse_occupied(to)?;
    let failed = |e: std::io::Error| StoreError::Io {
        path: to.display().to_string(),
        detail: e.to_string(),
    };
    let parent = to
        .parent()
        .filter(|parent| *parent != Path::new(""))
        .unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let place = tempfile::Builder::new()
        .prefix(".lapidary-")
        .tempdir_in(parent)
        .map_err(failed)?;
    let made = place.path().join("made");
    let number = RocksStore::restore(from, &made, number)?;
    let store = RocksStore::open(&made)?;
    let faults = store.verify(watch)?;
    if let Some(first) = faults.first() {
        let detail = format!(
            "backup {number}: {first} (1 of {})",
            count(faults.len() as u64, "fault", "faults")
        );
        return Err(StoreError::Damaged {
            path: from.display().to_string(),
            detail,
        }
        .into());
    }
    let restored = Catalogue::with_store(Box::new(store));
    restored.jobs().end_interrupted()?;
    restored.flush()?;
    drop(restored);
    fs::rename(&made, to).map_err(failed)?;
    File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(failed)?;
    Ok(number)
}

/// Refuses a folder in which there is something.
fn refuse_occupied(to: &Path) -> Result<(), StoreError> {
    match RocksStore::open(to) {
        Err(StoreError::Missing(_)) => Ok(()),
        Ok(_) | Err(StoreError::InUse { .. } | StoreError::Version { .. }) => {
            Err(StoreError::Occupied(to.display().to_string()))
        }
        Err(error) => Err(error),
    }
}
