//! Room on the disk that is set aside, so that keys can be revoked when there is no other left.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, fallocate};

/// The file that takes the room.
pub(super) const FILE: &str = "lapidary.reserve";
/// Enough for what is in memory to go to disk, before which `RocksDB` writes nothing else after a full disk.
const BYTES: u64 = 64 << 20;
/// A file that is made to see whether there is room.
const TRIAL: &str = "lapidary.trial";
/// The room it looks for.
const TRIAL_BYTES: u64 = 32 << 20;

/// The reserve of a catalogue.
pub(super) struct Reserve {
    dir: PathBuf,
    state: Mutex<State>,
    /// Whether it was said that there can be none.
    told: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody asked for one, or there was no room.
    Missing,
    Held,
    /// Given up for small records: what is left of it is for them until it can be set aside again.
    Released,
}

impl Reserve {
    /// A folder without a reserve. What a server before has left there goes: it is asked for anew, or not.
    pub(super) fn none(dir: &Path) -> Self {
        let _ = fs::remove_file(dir.join(FILE));
        Self { dir: dir.to_owned(), state: Mutex::new(State::Missing), told: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the room aside, unless that is so. As much must be free beside it. Why it cannot be is said once.
    pub(super) fn hold(&self, free: u64) -> io::Result<()> {
        let mut state = self.state();
        if *state == State::Held || free < 2 * BYTES {
            return Ok(());
        }
        match allocate(&self.dir.join(FILE), BYTES) {
            Ok(()) => *state = State::Held,
            Err(_) if self.told.swap(true, Ordering::Relaxed) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Gives the room up; whether there was any.
    pub(super) fn release(&self) -> bool {
        let mut state = self.state();
        let released = *state == State::Held && fs::remove_file(self.dir.join(FILE)).is_ok();
        if released {
            *state = State::Released;
        }
        released
    }

    /// Whether what room there is, is left for small records.
    pub(super) fn is_released(&self) -> bool {
        *self.state() == State::Released
    }
}

/// Whether the folder has room, and can be written.
pub(super) fn has_room(dir: &Path) -> bool {
    let path = dir.join(TRIAL);
    let made = allocate(&path, TRIAL_BYTES);
    let removed = fs::remove_file(&path);
    made.is_ok() && removed.is_ok()
}

/// Makes a file that takes so much of the disk.
fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let file = File::create(path)?;
    let allocated = fallocate(&file, FallocateFlags::empty(), 0, bytes).map_err(io::Error::from);
    let allocated = allocated.and_then(|()| file.sync_all());
    if allocated.is_err() {
        let _ = fs::remove_file(path);
    }
    allocated
}
