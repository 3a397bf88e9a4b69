//! The number of the last change that was acknowledged, in a file of its own: so that it shows when the log is not all there.
//!
//! `RocksDB` notices a log file that is missing before others, and none that is missing at the end: what it had is then gone
//! without a word. The number is written behind each change that is on disk, and is not waited for. After a power cut it may be
//! an older one, never a newer, so that it raises no false alarm.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::error::{damaged, from_io};
use crate::index::StoreError;

/// The file. Without it, as in a restored backup, nothing is known.
const FILE: &str = "lapidary.sequence";
/// Digits of the largest number.
const DIGITS: usize = 20;

/// The file, and the number in it.
pub(super) struct Acknowledged(Mutex<(File, u64)>);

impl Acknowledged {
    /// Opens the file of a catalogue whose last change has this number.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when there was a later one.
    pub(super) fn open(dir: &Path, last: u64) -> Result<Self, StoreError> {
        let failed = |e| from_io(dir, &e);
        let path = dir.join(FILE);
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut digits = Vec::new();
        file.by_ref().take(DIGITS as u64).read_to_end(&mut digits).map_err(failed)?;
        let known: Option<u64> = str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
        if known.is_some_and(|known| known > last) {
            let detail = format!(
                "the last changes that were acknowledged are missing from its log; to go on without them, delete {FILE}"
            );
            return Err(damaged(dir, detail));
        }
        let acknowledged = Self(Mutex::new((file, 0)));
        acknowledged.set(last);
        Ok(acknowledged)
    }

    /// Notes that everything up to this number is on disk.
    pub(super) fn set(&self, number: u64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, last) = &mut *kept;
        if number > *last {
            *last = number;
            // It serves to notice a loss: a full disk must not keep a change from being acknowledged that is kept.
            let _ = file.write_all_at(format!("{number:0DIGITS$}\n").as_bytes(), 0);
        }
    }
}
