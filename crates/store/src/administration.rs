//! Maintenance of a store.

use super::{StoreError, Watch};

/// Maintenance operations on a store.
pub trait Administration: Send + Sync {
    /// Compacts the store into its smallest and fastest form. Reads and writes continue meanwhile.
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError>;

    /// Reads everything and returns the inconsistencies found, one sentence each: a posting without its book or the
    /// reverse, a record without its id, wrong totals. Reads and writes continue meanwhile.
    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;

    /// Repairs what [`Administration::verify`] finds, from the books' records and gems. Returns what could not be
    /// repaired and was lost, by book. Reads continue; writes wait.
    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;
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
