//! Stores the number of the last acknowledged change in a file of its own, to detect a truncated write-ahead log.
//!
//! `RocksDB` notices a missing log file if a later one exists, but silently loses the changes of one that is missing
//! at the end. The number is written after each change is on disk, without waiting. After a power failure it may be
//! too old but never too new, so it raises no false alarm.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use parking_lot::Mutex;

use super::error::{damaged, from_io};
use crate::StoreError;

/// The file. It is optional: a restored backup has none.
pub(super) const FILE: &str = "lapidary.sequence";
/// Number of digits of the largest number.
const DIGITS: usize = 20;

/// The file, and the number in it.
pub(super) struct Acknowledged(Mutex<(File, u64)>);

impl Acknowledged {
    /// Opens the file of a catalogue whose last change has the number `last`.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a later change was acknowledged.
    pub(super) fn open(dir: &Path, last: u64) -> Result<Self, StoreError> {
        let failed = |e| from_io(dir, &e);
        let path = dir.join(FILE);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let mut digits = Vec::new();
        file.by_ref()
            .take(DIGITS as u64)
            .read_to_end(&mut digits)
            .map_err(failed)?;
        let known: Option<u64> = str::from_utf8(&digits)
            .ok()
            .and_then(|digits| digits.parse().ok());
        if known.is_some_and(|known| known > last) {
            let detail = format!(
                "the last changes that were acknowledged are missing from its log; to continue without them, delete {FILE}"
            );
            return Err(damaged(dir, detail));
        }
        let acknowledged = Self(Mutex::new((file, 0)));
        acknowledged.set(last);
        Ok(acknowledged)
    }

    /// Records that everything up to this number is on disk.
    pub(super) fn set(&self, number: u64) {
        let mut kept = self.0.lock();
        let (file, last) = &mut *kept;
        if number > *last {
            *last = number;
            // Ignore errors: this only helps to detect a loss. A full disk must not fail a change that is already on
            // disk.
            let _ = file.write_all_at(format!("{number:0DIGITS$}\n").as_bytes(), 0);
        }
    }
}
