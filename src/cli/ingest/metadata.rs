//! Metadata for the books of an ingest, from a JSON Lines file.

use std::fs;
use std::path::Path;

use hashbrown::HashMap;
use serde::Deserialize;

use super::super::failure::Failure;
use super::super::files::Found;
use crate::index::{BookId, Library, Rights, Validity};
use crate::object;
use crate::parse;

/// Metadata by file.
#[derive(Default)]
pub(super) struct Metadata {
    /// The metadata file.
    path: String,
    entries: HashMap<String, MetadataLine>,
}

/// The metadata of one book.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    /// The book's file: its path relative to the ingested folder, or its name.
    pub(super) file: String,
    pub(super) id: Option<BookId>,
    pub(super) library: Option<Library>,
    pub(super) rights: Option<Rights>,
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) authors: Vec<String>,
    pub(super) language: Option<String>,
    #[serde(default)]
    pub(super) identifiers: Vec<String>,
    #[serde(default, deserialize_with = "object::optional")]
    pub(super) validity: Option<Validity>,
}

struct MetadataLine {
    number: usize,
    known: Known,
    used: bool,
}

impl Metadata {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Input(format!("{}{why}", path.display()));
        let text = fs::read_to_string(path).map_err(|e| wrong(format!(": {e}")))?;
        let mut entries: HashMap<String, MetadataLine> = HashMap::new();
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let known: Known = parse::json(line.as_bytes()).map_err(|e| wrong(format!(", line {number}: {e}")))?;
            if let Some(first) = entries.get(&known.file) {
                let (file, first) = (&known.file, first.number);
                return Err(wrong(format!(", line {number}: {file:?} is already in line {first}")));
            }
            entries.insert(known.file.clone(), MetadataLine { number, known, used: false });
        }
        Ok(Self { path: path.display().to_string(), entries })
    }

    /// The metadata of a file, looked up by path, then by name. Empty if no line names the file.
    pub(super) fn of(&mut self, file: &Found) -> Result<Known, String> {
        let path = file.relative.to_str().unwrap_or_default();
        let name = file.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let key = if self.entries.contains_key(path) { path } else { name };
        let Some(line) = self.entries.get_mut(key) else {
            return Ok(Known::default());
        };
        if line.used {
            return Err(format!(
                "{}, line {}: {key:?} matches several files: give their paths",
                self.path, line.number
            ));
        }
        line.used = true;
        Ok(line.known.clone())
    }

    /// The entries for which there is no file, with the reason to refuse them.
    pub(super) fn unused(self) -> impl Iterator<Item = (String, String)> {
        let Self { path, entries } = self;
        let mut lines: Vec<MetadataLine> = entries.into_values().filter(|line| !line.used).collect();
        lines.sort_by_key(|line| line.number);
        lines.into_iter().map(move |line| (line.known.file, format!("{path}, line {}: no such file here", line.number)))
    }
}
