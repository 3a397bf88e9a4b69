//! Reserves disk space, so that keys can be revoked when the disk is full.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{FallocateFlags, fallocate};

/// The file that holds the space.
pub(super) const FILE: &str = "lapidary.reserve";
/// Enough to flush memory to disk, which `RocksDB` does before any other write after a full disk.
const BYTES: u64 = 64 << 20;
/// How much must be free to reserve it.
const NEEDED: u64 = 2 * BYTES;
/// A file written to test whether there is space.
const TRIAL: &str = "lapidary.trial";
/// Its size.
const TRIAL_BYTES: u64 = 32 << 20;

/// The reserve of a catalogue.
pub(super) struct Reserve {
    dir: PathBuf,
    state: Mutex<State>,
    /// Whether it was already reported that no space can be reserved.
    told: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Never requested, or there was no space.
    Missing,
    Held,
    /// Released for small records. What is left of it is for them until it can be reserved again.
    Released,
}

impl Reserve {
    /// Starts without a reserve, and deletes one left by an earlier server. It is reserved again if requested.
    pub(super) fn none(dir: &Path) -> Self {
        let _ = fs::remove_file(dir.join(FILE));
        Self {
            dir: dir.to_owned(),
            state: Mutex::new(State::Missing),
            told: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Reserves the space, unless that is done already. The same amount must remain free. Returns an error only the
    /// first time.
    pub(super) fn hold(&self, free: u64) -> io::Result<()> {
        let mut state = self.state();
        if *state == State::Held {
            return Ok(());
        }
        let allocated = if free < NEEDED {
            let needed = format!(
                "{} MiB are free, and {} MiB are needed",
                free >> 20,
                NEEDED >> 20
            );
            Err(io::Error::new(io::ErrorKind::StorageFull, needed))
        } else {
            allocate(&self.dir.join(FILE), BYTES)
        };
        match allocated {
            Ok(()) => *state = State::Held,
            // A reserve that is in use was told of then.
            Err(_) if *state == State::Released || self.told.swap(true, Ordering::Relaxed) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether there is none, and too little free space for one.
    pub(super) fn is_lacking(&self, free: u64) -> bool {
        *self.state() != State::Held && free < NEEDED
    }

    /// Releases the space. Returns whether there was any.
    pub(super) fn release(&self) -> bool {
        let mut state = self.state();
        let released = *state == State::Held && fs::remove_file(self.dir.join(FILE)).is_ok();
        if released {
            *state = State::Released;
        }
        released
    }

    /// Whether the remaining space is left to small records.
    pub(super) fn is_released(&self) -> bool {
        *self.state() == State::Released
    }
}

/// Whether the folder has space and can be written.
pub(super) fn has_room(dir: &Path) -> bool {
    let path = dir.join(TRIAL);
    let made = allocate(&path, TRIAL_BYTES);
    let removed = fs::remove_file(&path);
    made.is_ok() && removed.is_ok()
}

/// Creates a file with this much space allocated.
fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let file = File::create(path)?;
    let allocated = fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(io::Error::from);
    let allocated = allocated.and_then(|()| file.sync_all());
    if allocated.is_err() {
        let _ = fs::remove_file(path);
    }
    allocated
}
