//! A folder on this machine: each folder in it is a page, each file a book.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::Entry;
use super::kind::{Entries, Page};
use crate::extract::is_book;

/// The files and folders in a folder. Hidden ones and links are left out.
pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let read = fs::read_dir(page.address).map_err(|error| error.to_string())?;
    Ok(Box::new(read.filter_map(|entry| match entry {
        Err(error) => Some(Err(error.to_string())),
        Ok(entry) => entry_of(page, &entry).transpose(),
    })))
}

fn entry_of(page: &Page<'_>, entry: &fs::DirEntry) -> Result<Option<Entry>, String> {
    let path = entry.path();
    let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
    let failed = |error| format!("{}: {error}", path.display());
    let kind = entry.file_type().map_err(failed)?;
    let Some(address) = path.to_str().filter(|_| !is_hidden && !kind.is_symlink()) else { return Ok(None) };
    if kind.is_dir() {
        return Ok(Some(Entry::page(address)));
    }
    if !kind.is_file() || !page.source.takes(address) || !is_book(&path) {
        return Ok(None);
    }
    let about = entry.metadata().map_err(failed)?;
    let changed = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let id = path.strip_prefix(&page.source.address).unwrap_or(Path::new(address)).to_string_lossy().into_owned();
    let version = Some(format!("{} bytes, {}", about.len(), changed.as_nanos()));
    Ok(Some(Entry { id: Some(id), version, ..Entry::book(address) }))
}
