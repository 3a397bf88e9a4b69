//! Maintenance of a store.

use super::{ClusterVitals, RocksStore, StoreError, Watch};

/// Maintenance operations on a store.
pub trait Administration: Send + Sync {
    /// The store itself, if it is in a folder. It then has files to flush and to back up, and [`Vitals`](super::Vitals); a
    /// database server has its own tools for these.
    fn folder(&self) -> Option<&RocksStore>;

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

    /// Returns what an administrator monitors of a cluster; `None` if the store is not on one.
    fn cluster(&self) -> Result<Option<ClusterVitals>, StoreError> {
        Ok(None)
    }
}

impl dyn Administration + '_ {
    /// The space that the store takes, on disk or in memory. Other catalogues of the same server may be counted too.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        if let Some(folder) = self.folder() {
            return folder.bytes();
        }
        let nodes = self.cluster()?.map_or(Vec::new(), |cluster| cluster.nodes);
        let primaries = nodes.iter().filter(|node| node.is_primary);
        Ok(primaries.map(|node| node.used).sum())
    }
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
