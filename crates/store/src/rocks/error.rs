//! Converts errors of `RocksDB` and the file system to [`StoreError`]s.

use std::path::Path;

use rocksdb::ErrorKind;

use super::schema::FORMAT_VERSION;
use crate::StoreError;

/// Converts a `RocksDB` error. It contains only text, so this looks for the system's messages, which are always in
/// English here.
pub(super) fn from_rocksdb(dir: &Path, error: &rocksdb::Error) -> StoreError {
    const DAMAGED: [&str; 3] = [
        "No such file or directory",
        "Column family not found",
        "Corruption:",
    ];
    const LOCKED: [&str; 2] = ["lock hold by", "Resource temporarily unavailable"];
    let text: &str = error.as_ref();
    let damaged = error.kind() == ErrorKind::Corruption || contains_any(text, &DAMAGED);
    if text.contains("LOCK") && contains_any(text, &LOCKED) {
        // `RocksDB`'s own lock, held by a program that opened the folder as a plain `RocksDB` database.
        StoreError::InUse {
            path: show(dir),
            owner: "another process".to_owned(),
        }
    } else if text.contains("Column families not opened") {
        let found = format!("{FORMAT_VERSION} with additional column families");
        StoreError::Version {
            path: show(dir),
            found,
            supported: FORMAT_VERSION,
            advice: "update lapidary",
        }
    } else {
        from_text(dir, text, damaged)
    }
}

/// Converts an error of the file system.
pub(crate) fn from_io(dir: &Path, error: &std::io::Error) -> StoreError {
    from_text(dir, &error.to_string(), false)
}

/// The data on disk is inconsistent.
pub(super) fn damaged(dir: &Path, detail: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        path: show(dir),
        detail: detail.into(),
    }
}

/// The store has used all numbers of some kind.
pub(super) fn full(dir: &Path, detail: &str) -> StoreError {
    StoreError::Io {
        path: show(dir),
        detail: format!("{detail}; ingest the books into a new folder"),
    }
}

/// The folder as shown to users.
pub(super) fn show(dir: &Path) -> String {
    dir.display().to_string()
}

fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

fn from_text(dir: &Path, text: &str, damaged: bool) -> StoreError {
    // File size limits and quotas are treated like a full disk: the remedy is the same.
    const FULL: [&str; 3] = ["No space left", "File too large", "Disk quota exceeded"];
    const DENIED: [&str; 3] = [
        "Permission denied",
        "Operation not permitted",
        "Read-only file system",
    ];
    let (path, detail) = (show(dir), text.to_owned());
    if contains_any(text, &FULL) {
        StoreError::DiskFull(path)
    } else if contains_any(text, &DENIED) {
        StoreError::Denied { path, detail }
    } else if damaged {
        StoreError::Damaged { path, detail }
    } else {
        StoreError::Io { path, detail }
    }
}
