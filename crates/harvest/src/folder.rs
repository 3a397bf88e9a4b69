//! A folder on this machine: each folder in it is a page, each file a book.

use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use super::kind::{Entries, Page};
use super::{Entry, Reason, SourceKind};
use lapidary_extract::why_no_book;

/// The files and folders in a folder. Hidden ones are left out, and links are skipped.
pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let read = fs::read_dir(page.address).map_err(|error| error.to_string())?;
    Ok(Box::new(read.filter_map(|entry| {
        match entry {
            Err(error) => Some(Err(error.to_string())),
            Ok(entry) => entry_of(page, &entry)
                .map_err(|error| format!("{}: {error}", entry.path().display()))
                .transpose(),
        }
    })))
}

fn entry_of(page: &Page<'_>, entry: &fs::DirEntry) -> io::Result<Option<Entry>> {
    let path = entry.path();
    let kind = entry.file_type()?;
    if entry.file_name().as_encoded_bytes().starts_with(b".") {
        return Ok(None);
    }
    let Some(address) = path.to_str() else {
        return Ok(Some(Entry::unusable(
            path.to_string_lossy(),
            Reason::Address,
            "its name is not UTF-8: rename it",
        )));
    };
    if kind.is_dir() {
        return Ok(Some(Entry::page(address)));
    }
    if !page.source.takes(address) {
        return Ok(None);
    }
    if !kind.is_file() {
        let why = if kind.is_symlink() {
            "it is a link, which is not followed"
        } else {
            "it is not a file"
        };
        return Ok(Some(Entry::unusable(address, Reason::Link, why)));
    }
    let is_feed = page.source.kind == SourceKind::Onix;
    if let Some(why) = why_no_book(&path).filter(|_| !is_feed) {
        return Ok(Some(Entry::unusable(address, Reason::Format, why)));
    }
    let metadata = entry.metadata()?;
    let changed = metadata
        .modified()
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    let id = path
        .strip_prefix(&page.source.address)
        .unwrap_or(Path::new(address))
        .to_string_lossy()
        .into_owned();
    let version = Some(format!("{} bytes, {}", metadata.len(), changed.as_nanos()));
    Ok(Some(Entry {
        id: Some(id),
        version,
        ..Entry::book(address)
    }))
}
