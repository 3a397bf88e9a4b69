//! What a store tells of itself to whoever watches it.

use std::time::Duration;

/// A store in numbers. What is counted is counted since the store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vitals {
    /// The bytes of tables, by what they hold.
    pub tables: Vec<(&'static str, u64)>,
    /// Bytes of memory that hold what is not in tables yet.
    pub memtables: u64,
    /// The postings.
    pub postings: PostingCounts,
    /// How many postings were rewritten to merge the delta into the main index.
    pub merged_postings: u64,
    /// The disk.
    pub disk: Disk,
    /// The cache of what was read of tables.
    pub cache: CacheUse,
    /// What goes on in the background.
    pub background: Background,
}

/// How many postings there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingCounts {
    /// In the main index.
    pub main: u64,
    /// Changes that are not merged into it yet.
    pub delta: u64,
}

/// The disk that a store lies on, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// All files of the store.
    pub used: u64,
    /// What may still be written to the file system.
    pub free: u64,
    /// The whole file system.
    pub size: u64,
    /// Whether it can be read only.
    pub read_only: bool,
}

/// A cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUse {
    /// How many bytes it may hold.
    pub capacity: u64,
    /// How many it holds.
    pub used: u64,
    /// How many of those are in use at this moment.
    pub pinned: u64,
    /// How many blocks were found in it.
    pub hits: u64,
    /// How many were not.
    pub misses: u64,
}

/// What a store does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    /// Compactions that run now.
    pub compactions: u64,
    /// Flushes that run now.
    pub flushes: u64,
    /// Bytes that compactions still have to rewrite.
    pub pending: u64,
    /// Bytes that compactions have read.
    pub compaction_read: u64,
    /// Bytes that compactions have written.
    pub compaction_written: u64,
    /// Bytes that flushes have written.
    pub flush_written: u64,
    /// How long writes were held back, all together.
    pub stalled: Duration,
    /// Whether they are held back now.
    pub write_stopped: bool,
    /// How many flushes and compactions failed.
    pub errors: u64,
}
