//! Finds the files that paths stand for, and reads their text.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use glob::{MatchOptions, Pattern};
use lapidary::server::settings::LimitArguments;
use lapidary_extract::{Book, Bytes, Encoding, File, Whole, ending, is_book};
use walkdir::{DirEntry, WalkDir};

/// How to read a text.
#[derive(Args, Clone, Copy)]
pub(super) struct Reading {
    /// The character encoding, such as windows-1251 [default: detected]
    #[arg(long, value_name = "NAME")]
    pub(super) encoding: Option<Encoding>,
    #[command(flatten)]
    limits: LimitArguments,
}

impl Reading {
    /// Reads the text of a file, or of standard input if the path is `-`. The error is a message for the user.
    pub(super) fn text(self, path: &Path) -> Result<String, String> {
        Ok(self.whole(path)?.text)
    }

    /// Like [`Reading::text`], with headings.
    pub(super) fn whole(self, path: &Path) -> Result<Whole, String> {
        lapidary_extract::read_whole(self.file(path)?, self.limits.limits())
            .map_err(|e| e.to_string())
    }

    /// Like [`Reading::whole`], for the bytes of a file.
    pub(super) fn whole_of(self, bytes: Vec<u8>) -> Result<Whole, String> {
        let file = File {
            bytes: bytes.into(),
            name: None,
            encoding: self.encoding,
        };
        lapidary_extract::read_whole(file, self.limits.limits()).map_err(|e| e.to_string())
    }

    /// The maximum size of a file.
    pub(super) fn most_bytes(self) -> u64 {
        self.limits.limits().input
    }

    /// Reads the books in a file.
    pub(super) fn books(self, path: &Path) -> Result<Vec<Book>, String> {
        lapidary_extract::read(self.file(path)?, self.limits.limits()).map_err(|e| e.to_string())
    }

    /// Reads the texts of the books in a file.
    pub(super) fn texts(self, path: &Path) -> Vec<Result<String, String>> {
        match self.books(path) {
            Ok(books) => books
                .into_iter()
                .map(|book| book.read.map(|read| read.text).map_err(|e| e.to_string()))
                .collect(),
            Err(why) => vec![Err(why)],
        }
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
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(File {
            bytes: bytes.map_err(|e| e.to_string())?,
            name,
            encoding: self.encoding,
        })
    }

    /// Reads all bytes, up to one more than the limit, which is enough to detect a file that is too large.
    fn all(self, file: impl Read, size: u64) -> io::Result<Bytes> {
        let most = self.limits.limits().input.saturating_add(1);
        Bytes::read(file.take(most), size.min(most) as usize)
    }
}

/// How to read a text, and whether to clean it.
#[derive(Args, Clone, Copy)]
pub(super) struct TextArguments {
    #[command(flatten)]
    pub(super) reading: Reading,
    /// Ignore print artifacts: running heads, page numbers, hyphens at line ends, ligatures. --clean=false keeps them
    /// [default: true for hardened recipes, false for exact recipes]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) clean: Option<bool>,
}

/// The language of a text.
#[derive(Args)]
pub(super) struct LanguageOfText {
    /// The language of the text, such as en: signatures with `stem=snowball` stem by it [default: detected]
    #[arg(long, value_name = "LANGUAGE")]
    pub(super) language: Option<String>,
}

/// How to read files, and which of those in folders.
#[derive(Args)]
pub(super) struct FileArguments {
    #[command(flatten)]
    pub(super) text: TextArguments,
    #[command(flatten)]
    choice: Choice,
}

impl FileArguments {
    /// Finds all files at the paths; see [`FileWalk::of`].
    pub(super) fn walk(&self, paths: &[PathBuf], usually: Usually) -> FileWalk {
        FileWalk::of(paths, &self.choice, usually)
    }
}

/// A file to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InputFile {
    pub(super) path: PathBuf,
    /// Its path relative to the folder on the command line, or its name if the file itself was given.
    pub(super) relative: PathBuf,
}

impl InputFile {
    /// The first folder of its relative path, for books sorted by language; `-` if there is none.
    pub(super) fn language(&self) -> String {
        let mut parts = self.relative.iter();
        let first = parts.next().filter(|_| parts.next().is_some());
        first.map_or_else(
            || "-".to_owned(),
            |folder| folder.to_string_lossy().into_owned(),
        )
    }
}

/// Which files in folders to take. A file given by its own path is always taken.
#[derive(Args, Clone, Default)]
pub(super) struct Choice {
    /// In folders, take only files that match this glob: of names, such as '*.epub', or of paths relative to the folder, such as
    /// 'drafts/*'. Can be given several times
    #[arg(long, value_name = "GLOB")]
    pub(super) include: Vec<Pattern>,
    /// In folders, skip files that match this glob. Can be given several times
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<Pattern>,
}

impl Choice {
    /// Whether the globs select a file of a folder.
    fn takes(&self, relative: &Path) -> bool {
        let fits = |globs: &[Pattern]| globs.iter().any(|glob| fits(glob, relative));
        (self.include.is_empty() || fits(&self.include)) && !fits(&self.exclude)
    }
}

/// Matches a glob with a slash against the path, and any other against the file name, ignoring case.
fn fits(glob: &Pattern, relative: &Path) -> bool {
    let options = MatchOptions {
        case_sensitive: false,
        require_literal_separator: true,
        ..MatchOptions::new()
    };
    if glob.as_str().contains('/') {
        return glob.matches_path_with(relative, options);
    }
    relative
        .file_name()
        .is_some_and(|name| glob.matches_with(&name.to_string_lossy(), options))
}

/// Which files in folders a command takes without `--include`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usually {
    /// All files.
    All,
    /// Books, recognized by name or content.
    Books,
}

/// The files that paths stand for.
#[derive(Default)]
pub(super) struct FileWalk {
    /// In the order of the paths, then by name.
    pub(super) found: Vec<InputFile>,
    /// Paths that cannot be read, with the reason.
    pub(super) refused: Vec<(PathBuf, String)>,
    /// How many files in folders are not books, by extension.
    pub(super) skipped: BTreeMap<String, u64>,
}

impl FileWalk {
    /// Finds all files at the paths. Folders are walked recursively, without hidden files.
    pub(super) fn of(paths: &[PathBuf], choice: &Choice, usually: Usually) -> Self {
        let usually = if choice.include.is_empty() {
            usually
        } else {
            Usually::All
        };
        let mut walk = Self::default();
        for root in paths {
            let (found, refused) = (walk.found.len(), walk.refused.len());
            let mut others = BTreeMap::new();
            walk.root(root, choice, usually, &mut others);
            if (walk.found.len(), walk.refused.len()) == (found, refused) {
                let why = if others.is_empty() {
                    "this folder contains no files".to_owned()
                } else {
                    let others = counted(&others);
                    format!(
                        "there is no book in this folder, but {others}: name them, or select them with --include"
                    )
                };
                walk.refused.push((root.clone(), why));
            }
            for (ending, files) in others {
                *walk.skipped.entry(ending).or_default() += files;
            }
        }
        walk
    }

    /// The files, if all paths can be read. The error is a message for the user.
    pub(super) fn all(self) -> Result<Vec<InputFile>, String> {
        match self.refused.first() {
            None => Ok(self.found),
            Some((path, why)) => Err(format!("{}: {why}", path.display())),
        }
    }

    fn root(
        &mut self,
        root: &Path,
        choice: &Choice,
        usually: Usually,
        others: &mut BTreeMap<String, u64>,
    ) {
        for entry in WalkDir::new(root)
            .follow_links(true)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|entry: &DirEntry| {
                entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
            })
        {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) if !entry.file_type().is_file() => {
                    self.refused
                        .push((entry.into_path(), "neither a file nor a folder".to_owned()));
                }
                Ok(entry) => {
                    let relative = match entry.path().strip_prefix(root) {
                        Ok(below) if below != Path::new("") => below.to_owned(),
                        _ => entry.file_name().into(),
                    };
                    let named_itself = entry.depth() == 0;
                    if named_itself
                        || choice.takes(&relative)
                            && (usually == Usually::All || is_book(entry.path()))
                    {
                        self.found.push(InputFile {
                            relative,
                            path: entry.into_path(),
                        });
                    } else {
                        *others
                            .entry(ending(entry.path()).unwrap_or_default())
                            .or_default() += 1;
                    }
                }
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    let why = error
                        .io_error()
                        .map_or_else(|| error.to_string(), ToString::to_string);
                    self.refused.push((path, why));
                }
            }
        }
    }
}

/// Formats file counts by extension: `3 .md, 1 without an extension`.
pub(super) fn counted(files: &BTreeMap<String, u64>) -> String {
    let each = files.iter().map(|(ending, files)| match ending.as_str() {
        "" => format!("{files} without an extension"),
        ending => format!("{files} .{ending}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_of_names_or_of_paths() {
        let table = [
            ("*.epub", "a/b.epub", true),
            ("*.epub", "a/b.EPUB", true),
            ("*.epub", "a.epub/b.txt", false),
            ("a/*", "a/b.txt", true),
            ("a/*", "a/b/c.txt", false),
            ("a/**/*", "a/b/c.txt", true),
            ("**/b/*", "a/b/c.txt", true),
            ("draft?.txt", "x/draft1.txt", true),
            ("draft?.txt", "x/draft12.txt", false),
        ];
        for (glob, path, takes) in table {
            let choice = |include, exclude| Choice { include, exclude };
            let glob = || vec![Pattern::new(glob).expect("a glob")];
            assert_eq!(
                choice(glob(), Vec::new()).takes(Path::new(path)),
                takes,
                "{path}"
            );
            assert_eq!(
                choice(Vec::new(), glob()).takes(Path::new(path)),
                !takes,
                "{path}"
            );
            assert!(!choice(glob(), glob()).takes(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn endings_look_like_some() {
        let table = [
            ("a.TXT", Some("txt")),
            ("Vol. 2", None),
            ("Mr. Smith", None),
            ("a.mp3", Some("mp3")),
            ("1869", None),
            ("a.tar.gz", Some("gz")),
        ];
        for (name, expected) in table {
            assert_eq!(ending(Path::new(name)).as_deref(), expected, "{name}");
        }
    }
}
