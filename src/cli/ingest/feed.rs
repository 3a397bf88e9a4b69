//! A JSON Lines feed of books, each with its text, its gems or the path of a file. It is ingested while it is read.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use lapidary_catalogue::Gate;
use lapidary_catalogue::api::Unless;
use lapidary_catalogue::json;
use lapidary_catalogue::object;
use lapidary_catalogue::parse;
use lapidary_common::described;
use lapidary_gems::{RecipeName, WrittenGem};
use lapidary_store::{BookId, BookKey, Library, Rights, Validity};
use serde::Deserialize;

use super::super::failure::Failure;
use super::super::files::InputFile;
use super::{BookSource, IngestJob};

/// How many lines are ingested at a time: up to this number, or to this number of bytes.
const AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 64 << 20;

described! {
    /// A line: exactly one of `text`, `gems` and `file`.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct FeedLine {
        id: BookId,
        library: Option<Library>,
        rights: Option<Rights>,
        #[serde(default, deserialize_with = "object::optional")]
        validity: Option<Validity>,
        text: Option<String>,
        clean: Option<bool>,
        gems: Option<Vec<WrittenGem>>,
        recipe: Option<RecipeName>,
        #[serde(default)]
        allow_empty: bool,
        #[serde(default)]
        keep_text: bool,
        unless: Option<Unless>,
        #[serde(default)]
        except: Vec<String>,
        /// Relative to the feed's folder.
        file: Option<std::path::PathBuf>,
    }
}

/// The values for lines that do not set them.
pub(super) struct Defaults<'a> {
    pub(super) library: Option<&'a Library>,
    pub(super) rights: Option<Rights>,
    pub(super) clean: Option<bool>,
    pub(super) allow_empty: bool,
    pub(super) keep_text: bool,
    pub(super) gate: Option<&'a Gate>,
}

/// A line's job or the reason why it is refused, with the names of feed and line.
pub(super) type Read = (String, Result<IngestJob, String>);

/// Reads a feed and passes on batches of lines.
pub(super) fn each(
    path: &Path,
    defaults: &Defaults<'_>,
    mut some: impl FnMut(Vec<Read>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::Input(format!("{}: {e}", path.display()));
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut jobs = Vec::new();
    let mut lines = BufReader::new(File::open(path).map_err(failed)?);
    let (mut line, mut bytes) = (Vec::new(), 0);
    for number in 1_u64.. {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        bytes += line.len();
        let content = if number == 1 {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)
        } else {
            &line
        };
        if content.trim_ascii().is_empty() {
            continue;
        }
        jobs.push((
            format!("{}, line {number}", path.display()),
            job(content, folder, defaults),
        ));
        if jobs.len() == AT_ONCE || bytes > BYTES_AT_ONCE {
            bytes = 0;
            some(std::mem::take(&mut jobs))?;
        }
    }
    some(jobs)
}

impl FeedLine {
    fn take_source(&mut self, folder: &Path) -> Result<BookSource, String> {
        let content = (
            self.text.take(),
            self.gems.take(),
            self.file.take(),
            self.recipe.take(),
        );
        match content {
            (_, Some(_), ..) if self.clean.is_some() => {
                Err("'clean' applies only to a text; leave it out with gems".to_owned())
            }
            (_, Some(_), ..) if self.keep_text => {
                Err("'keep_text' applies only to a text; leave it out with gems".to_owned())
            }
            (Some(text), None, None, None) => Ok(BookSource::Text(text)),
            (None, Some(gems), None, recipe) => Ok(BookSource::Gems { recipe, gems }),
            (None, None, Some(file), None) => Ok(BookSource::File(InputFile {
                path: folder.join(&file),
                relative: file,
            })),
            _ => Err(
                "give exactly one of 'text', 'gems' and 'file', and a 'recipe' only with gems"
                    .to_owned(),
            ),
        }
    }
}

fn job(line: &[u8], folder: &Path, defaults: &Defaults<'_>) -> Result<IngestJob, String> {
    json::measure(line).map_err(|excess| excess.to_string())?;
    let mut line: FeedLine = parse::json(line)?;
    let description = line.take_description();
    let source = line.take_source(folder)?;
    let own = Gate::of(line.unless, line.except).map_err(|error| error.to_string())?;
    let gate = own.or_else(|| defaults.gate.cloned());
    let library = line.library.or_else(|| defaults.library.cloned());
    Ok(IngestJob {
        key: BookKey {
            library: library.ok_or("no library: give --library, or \"library\" in the line")?,
            id: line.id,
        },
        source,
        clean: line.clean.or(defaults.clean),
        rights: line
            .rights
            .or(defaults.rights)
            .ok_or("no rights: give --rights, or \"rights\" in the line")?,
        description,
        validity: line.validity,
        allow_empty: line.allow_empty || defaults.allow_empty,
        keep_text: line.keep_text || defaults.keep_text,
        gate,
    })
}
