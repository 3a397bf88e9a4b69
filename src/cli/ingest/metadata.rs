//! Metadata for the books of an ingest, from a table.

use std::fs;
use std::path::Path;

use hashbrown::HashMap;
use lapidary_catalogue::table::{self, NumberedRow, TableRow};

use super::super::failure::Failure;
use super::super::files::InputFile;

/// Metadata by file.
#[derive(Default)]
pub(super) struct Metadata {
    /// The metadata file.
    path: String,
    entries: HashMap<String, MetadataEntry>,
}

struct MetadataEntry {
    /// The line, starting at 1.
    line: u64,
    known: TableRow,
    used: bool,
}

impl Metadata {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let entries = fs::read(path)
            .map_err(|e| format!(": {e}"))
            .and_then(|bytes| entries(&bytes));
        let path = path.display().to_string();
        match entries {
            Ok(entries) => Ok(Self { path, entries }),
            Err(why) => Err(Failure::Input(format!("{path}{why}"))),
        }
    }

    /// The metadata of a file, looked up by path, then by name. Empty if no line names the file.
    pub(super) fn of(&mut self, file: &InputFile) -> Result<TableRow, String> {
        let path = file.relative.to_str().unwrap_or_default();
        let name = file
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let key = if self.entries.contains_key(path) {
            path
        } else {
            name
        };
        let Some(entry) = self.entries.get_mut(key) else {
            return Ok(TableRow::default());
        };
        if entry.used {
            return Err(format!(
                "{}, line {}: {key:?} matches several files: give their paths",
                self.path, entry.line
            ));
        }
        entry.used = true;
        Ok(entry.known.clone())
    }

    /// The entries for which there is no file, with the reason to refuse them.
    pub(super) fn unused(self) -> impl Iterator<Item = (String, String)> {
        let Self { path, entries } = self;
        let unused = entries.into_iter().filter(|(_, entry)| !entry.used);
        let mut lines: Vec<(u64, String)> =
            unused.map(|(file, entry)| (entry.line, file)).collect();
        lines.sort_unstable();
        lines
            .into_iter()
            .map(move |(line, file)| (file, format!("{path}, line {line}: no such file here")))
    }
}

/// The rows of a table by the files that they name.
fn entries(bytes: &[u8]) -> Result<HashMap<String, MetadataEntry>, String> {
    let mut entries: HashMap<String, MetadataEntry> = HashMap::new();
    let rows = table::read(bytes, usize::MAX, None).map_err(|why| format!(": {why}"))?;
    for NumberedRow { line, row } in rows {
        let known = row.map_err(|why| format!(", line {line}: {why}"))?;
        let Some(file) = known.file.clone() else {
            return Err(format!(", line {line}: the field 'file' is missing"));
        };
        if known.deleted {
            return Err(format!(
                ", line {line}: a file is added, so its book cannot be deleted"
            ));
        }
        if let Some(MetadataEntry { line: first, .. }) = entries.get(&file) {
            return Err(format!(
                ", line {line}: {file:?} is already in line {first}"
            ));
        }
        let used = false;
        entries.insert(file, MetadataEntry { line, known, used });
    }
    Ok(entries)
}
