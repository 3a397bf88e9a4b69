//! Monitoring data of a store.

use std::time::Duration;

/// Statistics of a store. Counters start when the store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vitals {
    /// Size of the tables in bytes, by content.
    pub tables: Vec<(&'static str, u64)>,
    /// Bytes of memory holding data that is not in tables yet.
    pub memtables: u64,
    /// The postings.
    pub postings: PostingCounts,
    /// Number of postings rewritten to merge the delta into the main index.
    pub merged_postings: u64,
    /// The disk.
    pub disk: Disk,
    /// The cache of table blocks.
    pub cache: CacheUse,
    /// Background work.
    pub background: Background,
}

/// Statistics of a store on a cluster. Counters start when the store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterVitals {
    /// The nodes that answer.
    pub nodes: Vec<NodeVitals>,
    /// The nodes that have lost data, and what: `127.0.0.1:7001 has lost all its data`.
    pub lost: Vec<String>,
    /// Number of changes of books that are being made, or were left half done.
    pub pending: u64,
    /// Number of pipelines sent to nodes.
    pub round_trips: u64,
    /// Number of those that were sent again.
    pub retries: u64,
    /// Number of commands that a node has redirected.
    pub redirects: u64,
    /// Number of primaries that others have replaced.
    pub failovers: u64,
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeVitals {
    /// Host and port.
    pub address: String,
    /// Whether it is no replica.
    pub is_primary: bool,
    /// Used memory in bytes.
    pub used: u64,
    /// Maximum memory in bytes; 0 if there is no limit.
    pub most: u64,
    /// The policy by which it may drop keys.
    pub evicts: Option<String>,
    /// Whether it keeps all changes on disk, in an append-only file.
    pub is_saved: bool,
    /// Whether its last attempt to write to its disk failed.
    pub cannot_save: bool,
    /// Number of its replicas that are in sync.
    pub replicas: u64,
    /// Bytes that the slowest of these is behind.
    pub lag: u64,
}

impl NodeVitals {
    /// Used memory in percent of the maximum.
    #[must_use]
    pub fn fullness(&self) -> u64 {
        (100 * self.used).checked_div(self.most).unwrap_or(0)
    }
}

/// Number of postings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingCounts {
    /// Postings in the main index.
    pub main: u64,
    /// Changes not merged into it yet.
    pub delta: u64,
}

/// The disk that a store is on, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// Size of all files of the store.
    pub used: u64,
    /// Size of the posting lists; part of `used`.
    pub postings: u64,
    /// Free space of the file system.
    pub free: u64,
    /// Size of the file system.
    pub size: u64,
    /// Whether the file system is read-only.
    pub read_only: bool,
    /// Whether there is too little space to reserve some for when the disk is full.
    pub lacks_reserve: bool,
}

/// A cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUse {
    /// Capacity in bytes.
    pub capacity: u64,
    /// Bytes used.
    pub used: u64,
    /// Bytes of those that are pinned right now.
    pub pinned: u64,
    /// Number of blocks found in the cache.
    pub hits: u64,
    /// Number of blocks not found in the cache.
    pub misses: u64,
}

/// Background work of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    /// Number of running compactions.
    pub compactions: u64,
    /// Number of running flushes.
    pub flushes: u64,
    /// Bytes that compactions still have to rewrite.
    pub pending: u64,
    /// Bytes read by compactions.
    pub compaction_read: u64,
    /// Bytes written by compactions.
    pub compaction_written: u64,
    /// Bytes written by flushes.
    pub flush_written: u64,
    /// Total time that writes were stalled.
    pub stalled: Duration,
    /// Whether writes are stopped right now.
    pub write_stopped: bool,
    /// Number of failed flushes and compactions.
    pub errors: u64,
}
