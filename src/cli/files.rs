//! Files as texts: which files a list of paths means, and their text.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use walkdir::{DirEntry, WalkDir};

use super::limits::LimitArguments;
use crate::extract::{self, Book, Encoding, File};

/// How to read a text.
#[derive(Args, Clone, Copy)]
pub(super) struct Reading {
    /// The texts' encoding, such as windows-1251 [default: detected]
    #[arg(long, value_name = "NAME")]
    pub(super) encoding: Option<Encoding>,
    #[command(flatten)]
    limits: LimitArguments,
}

impl Reading {
    /// The text of a file, or of standard input when the path is `-`; or a sentence that says why there is none.
    pub(super) fn text(self, path: &Path) -> Result<String, String> {
        extract::read_whole(self.file(path)?, self.limits.limits()).map_err(|e| e.to_string())
    }

    /// The books of a file.
    pub(super) fn books(self, path: &Path) -> Result<Vec<Book>, String> {
        extract::read(self.file(path)?, self.limits.limits()).map_err(|e| e.to_string())
    }

    fn file(self, path: &Path) -> Result<File, String> {
        let bytes = if path == Path::new("-") {
            self.all(io::stdin().lock(), 0)
        } else {
            fs::File::open(path).and_then(|file| {
                let size = file.metadata().map_or(0, |metadata| metadata.len());
                self.all(file, size)
            })
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(File { bytes: bytes.map_err(|e| e.to_string())?, name, encoding: self.encoding })
    }

    /// All bytes, but of a file that is too large only so many that this is seen.
    fn all(self, file: impl Read, size: u64) -> io::Result<Vec<u8>> {
        let most = self.limits.limits().input.saturating_add(1);
        let mut bytes = Vec::with_capacity(size.min(most) as usize);
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether texts are cleaned.
#[derive(Args, Clone, Copy)]
pub(super) struct CleanArgument {
    /// Read texts without the marks of their printing: running heads, page numbers, hyphens at the ends of lines, ligatures; or
    /// with them: --clean=false [default: without them by hardened, with them by the exact recipes]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) clean: Option<bool>,
}

/// A file that a command was asked to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Its path from the folder that was named on; its name, if it was named itself.
    pub(super) relative: PathBuf,
}

impl Found {
    /// The first folder of its relative path, where books lie sorted by language; `-` for a file in none.
    pub(super) fn language(&self) -> String {
        let mut parts = self.relative.iter();
        let first = parts.next().filter(|_| parts.next().is_some());
        first.map_or_else(|| "-".to_owned(), |folder| folder.to_string_lossy().into_owned())
    }
}

/// Whether a file that lies beside books is, by its ending, none: a table or a note.
pub(super) fn is_table(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| ["tsv", "csv", "md", "json"].contains(&ending.as_str()))
}

/// All files that the paths mean, a folder being all that lies in it but hidden files, in the order of their names; and
/// the paths that cannot be read, with the reason.
pub(super) fn find(paths: &[PathBuf]) -> (Vec<Found>, Vec<(PathBuf, String)>) {
    let mut found = Vec::new();
    let mut refused = Vec::new();
    for root in paths {
        let visible = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".");
        for entry in WalkDir::new(root).follow_links(true).sort_by_file_name().into_iter().filter_entry(visible) {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) if !entry.file_type().is_file() => {
                    refused.push((entry.into_path(), "neither a file nor a folder".to_owned()));
                }
                Ok(entry) => {
                    let name = || entry.file_name().into();
                    let below = entry.path().strip_prefix(root).ok().filter(|path| *path != Path::new(""));
                    let relative = below.map_or_else(name, Path::to_owned);
                    found.push(Found { relative, path: entry.into_path() });
                }
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    refused.push((path, why));
                }
            }
        }
    }
    (found, refused)
}
