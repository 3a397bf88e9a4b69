//! Metadata for the books of an ingest, from a JSON Lines file.

use std::fs;
use std::path::Path;

use hashbrown::HashMap;
use lapidary_catalogue::object;
use lapidary_catalogue::parse;
use lapidary_common::described;
use lapidary_common::description::Description;
use lapidary_store::{BookId, Library, Rights, Validity};
use serde::Deserialize;

use super::super::failure::Failure;
use super::super::files::InputFile;

/// Metadata by file.
#[derive(Default)]
pub(super) struct Metadata {
    /// The metadata file.
    path: String,
    entries: HashMap<String, MetadataEntry>,
}

/// What is known about a book from sources other than its file.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownMetadata {
    pub(super) id: Option<BookId>,
    pub(super) library: Option<Library>,
    pub(super) rights: Option<Rights>,
    pub(super) description: Description,
    pub(super) validity: Option<Validity>,
}

described! {
    /// A line of the file.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct MetadataLine {
        /// The book's file: its path relative to the ingested folder, or its name.
        file: String,
        id: Option<BookId>,
        library: Option<Library>,
        rights: Option<Rights>,
        #[serde(default, deserialize_with = "object::optional")]
        validity: Option<Validity>,
    }
}

struct MetadataEntry {
    /// The line, starting at 1.
    line: usize,
    known: KnownMetadata,
    used: bool,
}

impl Metadata {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let entries = fs::read_to_string(path)
            .map_err(|e| format!(": {e}"))
            .and_then(|text| entries(&text));
        let path = path.display().to_string();
        match entries {
            Ok(entries) => Ok(Self { path, entries }),
            Err(why) => Err(Failure::Input(format!("{path}{why}"))),
        }
    }

    /// The metadata of a file, looked up by path, then by name. Empty if no line names the file.
    pub(super) fn of(&mut self, file: &InputFile) -> Result<KnownMetadata, String> {
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
            return Ok(KnownMetadata::default());
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
        let mut lines: Vec<(usize, String)> =
            unused.map(|(file, entry)| (entry.line, file)).collect();
        lines.sort_unstable();
        lines
            .into_iter()
            .map(move |(line, file)| (file, format!("{path}, line {line}: no such file here")))
    }
}

/// The entries of a list by the files that they name.
fn entries(list: &str) -> Result<HashMap<String, MetadataEntry>, String> {
    let mut entries: HashMap<String, MetadataEntry> = HashMap::new();
    for (number, line) in (1..).zip(list.trim_start_matches('\u{feff}').lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let mut line: MetadataLine =
            parse::json(line.as_bytes()).map_err(|e| format!(", line {number}: {e}"))?;
        let description = line.take_description();
        let MetadataLine {
            file,
            id,
            library,
            rights,
            validity,
            ..
        } = line;
        if let Some(MetadataEntry { line: first, .. }) = entries.get(&file) {
            return Err(format!(
                ", line {number}: {file:?} is already in line {first}"
            ));
        }
        let known = KnownMetadata {
            id,
            library,
            rights,
            description,
            validity,
        };
        entries.insert(
            file,
            MetadataEntry {
                line: number,
                known,
                used: false,
            },
        );
    }
    Ok(entries)
}
