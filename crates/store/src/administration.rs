//! Maintenance of a store.

use std::path::Path;

use super::{ClusterVitals, StoreError, Vitals, Watch};

/// Maintenance operations on a store.
pub trait Administration: Send + Sync {
    /// Whether the engine has files of its own. Without them, it has no backups and no [`Vitals`]: a database server has
    /// its own tools for these.
    fn keeps_files(&self) -> bool;

    /// The space that the store takes, on disk or in memory. Other catalogues of the same server may be counted too.
    fn bytes(&self) -> Result<u64, StoreError>;

    /// Flushes memory to disk, so that the store opens quickly the next time. No change depends on this.
    fn flush(&self) -> Result<(), StoreError>;

    /// Compacts the store into its smallest and fastest form. Reads and writes continue meanwhile.
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError>;

    /// Stops background work, so that a running [`Administration::compact`] returns. Nothing is written after this.
    fn stop(&self);

    /// Reads everything and returns the inconsistencies found, one sentence each: a posting without its book or the
    /// reverse, a record without its id, wrong totals. Reads and writes continue meanwhile.
    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;

    /// Repairs what [`Administration::verify`] finds, from the books' records and gems. Returns what could not be
    /// repaired and was lost, by book. Reads continue; writes wait.
    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;

    /// Adds a backup to a folder, reads all of it as [`Administration::verify`] does, and keeps the newest `keep`
    /// backups. Reads and writes continue. The backup contains everything acknowledged before the call. A backup that
    /// could not be restored is removed again, older ones are kept, and the error says what is wrong.
    fn backup(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<Backup, StoreError>;

    /// Returns what an administrator monitors. The cost does not depend on the size of the store.
    fn vitals(&self) -> Result<Vitals, StoreError>;

    /// Returns what an administrator monitors of a cluster; `None` if the store is not on one.
    fn cluster(&self) -> Result<Option<ClusterVitals>, StoreError> {
        Ok(None)
    }

    /// Reserves disk space, unless it is already reserved or there is too little. When the disk is full,
    /// [`Store::apply`](super::Store::apply) can use the reserve once. Books are then refused until there is room to
    /// reserve space again.
    fn hold_reserve(&self) -> Result<(), StoreError>;

    /// Whether the store refuses changes that could be written again: its disk was full or unwritable and no longer
    /// is. The store recovers by itself from most such failures; from the others, when it is reopened.
    fn wants_reopening(&self) -> bool;
}

/// A finished backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    /// Its number in the folder.
    pub number: u32,
    /// The size of its own files. Files shared between backups are stored once.
    pub bytes: u64,
    /// Number of backups in the folder.
    pub kept: usize,
}
