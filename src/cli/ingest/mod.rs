//! `lapidary ingest PATH…`.

mod feed;
mod job;
mod metadata;
mod onix;
mod progress;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hashbrown::{HashMap, HashSet};
use lapidary_catalogue::api::Unless;
use lapidary_catalogue::onix::Territory;
use lapidary_catalogue::table::TableRow;
use lapidary_catalogue::{Catalogue, CatalogueError, Gate};
use lapidary_gems::Recipe;
use lapidary_store::{Actor, BookId, BookKey, Coverage, Library, Rights};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use self::job::{BookLabel, BookSource, IngestJob};
use self::metadata::Metadata;
use self::progress::Progress;
use super::arguments::{BoundariesArgument, FoldsArgument, LexiconArgument, Target};
use super::failure::{Failure, Status};
use super::files::{FileArguments, FileWalk, InputFile, Usually};
use super::remote::Remote;
use super::terminal::tell;

/// Reasons to refuse books with missing metadata.
const NO_LIBRARY: &str = "no library: give --library, or metadata";
const NO_RIGHTS: &str = "no rights: give --rights, or metadata";
/// How many matches `--json` shows of a refused book.
const MATCHES: usize = 10;
/// How many books are sent to a server concurrently, to hide the latency of a distant one.
const AT_ONCE: usize = 16;

/// Add files or folders of files to a catalogue.
///
/// Folders are read recursively. Files that are not books according to their names and first bytes (`.md`, `.csv`, `.json`,
/// images) are skipped and counted, unless `--include` names them; a file that is named itself is always taken. A file that cannot be
/// read does not stop the others; the summary names it and the reason. Unchanged books are skipped, so an interrupted ingest
/// continues where it stopped.
///
/// A row of a metadata file is `{"file": …}` with any of `id`, `library`, `rights`, `title`, `authors`, `language`, `identifiers`,
/// `published` (1886, 1886-05 or 1886-05-31) and `validity`. `file` is the path relative to the folder, or the file name. Metadata
/// overrides the command line.
///
/// With `--unless protected`, a book is checked and added in one step, only if others may publish it too. Each book is then written on
/// its own, which is slower.
///
/// Kept texts can be read by whoever has the folder, a backup or an export. Through a server, only administrators and keys that can read
/// texts can.
///
/// Exit status: 0 all books are in the catalogue; 1 books were refused by --unless, whatever else happened; 2 some could not be
/// added; 3 the catalogue or the server failed.
#[derive(Args)]
pub(super) struct IngestArgs {
    #[command(flatten)]
    target: Target,
    /// The library to add the books to, unless their metadata names another
    #[arg(long)]
    library: Option<Library>,
    /// The rights of the books, unless set in their metadata: forbidden, protected, free, `public_domain`
    /// or unknown. forbidden also holds against --onix
    #[arg(long)]
    rights: Option<Rights>,
    /// Add this recipe to the catalogue, such as hardened-fine or a signature. Can be given several times; the first becomes the default of
    /// a new catalogue [default: hardened-compact@secret, hardened and released]. Books are fingerprinted with every recipe of the catalogue
    #[arg(long = "recipe", value_name = "RECIPE")]
    recipes: Vec<String>,
    #[command(flatten)]
    lexicon: LexiconArgument,
    #[command(flatten)]
    boundaries: BoundariesArgument,
    #[command(flatten)]
    folds: FoldsArgument,
    /// Keep the texts of these books, so that reports can show them next to a text that was checked. Adding a book again
    /// without this removes its text
    #[arg(long)]
    keep_texts: bool,
    /// Add metadata with a table: JSON Lines ({"file": …, "id", "library", "rights", "title", "authors", "language",
    /// "identifiers", "published", "validity"}), or CSV or XLSX with columns of these names
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// Take metadata from this feed in ONIX for Books 3.0 or 3.1. Files are matched by the ISBN in their names
    #[arg(long, value_name = "FILE.xml", conflicts_with = "metadata")]
    onix: Option<PathBuf>,
    /// Use the sales rights for this country or region, such as DE, RU or GB-SCT [default: any]
    #[arg(long, value_name = "CODE", requires = "onix")]
    territory: Option<Territory>,
    /// Ingest this JSON Lines feed: {"id": …, "library", "rights", "title", "authors", "language", "identifiers", "validity",
    /// "clean"}, and one of "text", "gems" and "file"
    #[arg(long, value_name = "FILE.ndjson", conflicts_with_all = ["metadata", "onix", "paths"])]
    feed: Option<PathBuf>,
    #[command(flatten)]
    input: FileArguments,
    /// Take book ids from the file's name without its extension, or from its path relative to the folder. Ids in the metadata
    /// come first
    #[arg(long, value_enum, value_name = "FROM", default_value_t = Id::Name)]
    id: Id,
    /// Let a text without gems, which no check can find, replace a book that has gems
    #[arg(long)]
    allow_empty: bool,
    /// Refuse books that others may not publish: those for which `check` would find protected text [possible value:
    /// protected]
    #[arg(long, value_name = "VERDICT")]
    unless: Option<Unless>,
    /// With --unless: a book of the same library that does not count, such as an earlier edition, or `same-library` for all
    /// of them. Can be given several times
    #[arg(long, value_name = "ID", requires = "unless")]
    except: Vec<String>,
    /// Print one JSON object per file, once its book is on disk
    #[arg(long)]
    json: bool,
    /// Files, or folders to read recursively
    #[arg(required_unless_present = "feed", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The id of a book whose metadata does not set one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Id {
    Name,
    Path,
}

/// A file, and what is known of its book or why that cannot be used.
type DescribedFile = (InputFile, Result<TableRow, String>);

impl IngestArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        if let Some(feed) = &self.feed {
            return self.feed(feed);
        }
        // Report this once rather than for each file.
        if self.metadata.is_none() && self.library.is_none() {
            return Err(Failure::Input(NO_LIBRARY.to_owned()));
        }
        if self.metadata.is_none() && self.onix.is_none() && self.rights.is_none() {
            return Err(Failure::Input(NO_RIGHTS.to_owned()));
        }
        let mut metadata = self
            .metadata
            .as_deref()
            .map(Metadata::read)
            .transpose()?
            .unwrap_or_default();
        let FileWalk {
            found,
            refused: unreadable,
            skipped,
        } = self.input.walk(&self.paths, Usually::Books);
        let progress = Progress::new(found.len() + unreadable.len(), self.json, skipped);
        for (path, why) in unreadable {
            progress.landed(BookLabel::of(&path), Err(Failure::Input(why)))?;
        }
        let found = self.with_metadata(found, &mut metadata, &progress)?;
        let jobs = self.jobs(found, &progress)?;
        for (file, why) in metadata.unused() {
            progress.landed(BookLabel::from(file), Err(Failure::Input(why)))?;
        }
        let sink = self.sink()?;
        sink.keep_busy(|| self.add(&sink, jobs, &progress))?;
        sink.finish()?;
        progress.finish()
    }

    /// The files with what the metadata or the feed says of each.
    fn with_metadata(
        &self,
        files: Vec<InputFile>,
        metadata: &mut Metadata,
        progress: &Progress,
    ) -> Result<Vec<DescribedFile>, Failure> {
        let Some(feed) = &self.onix else {
            let described = files.into_iter().map(|file| {
                let known = metadata.of(&file);
                (file, known)
            });
            return Ok(described.collect());
        };
        let (found, refused) = onix::matched(feed, self.territory.as_ref(), files)?;
        let all = found.len() + refused.len();
        progress.bar.set_length(all as u64);
        for (name, why) in refused {
            progress.landed(BookLabel::from(name), Err(Failure::Input(why)))?;
        }
        let described = found.into_iter().map(|(file, known)| (file, Ok(known)));
        Ok(described.collect())
    }

    /// A job for each file, with the name by which it is shown. Files that cannot be added are refused.
    fn jobs(
        &self,
        files: Vec<DescribedFile>,
        progress: &Progress,
    ) -> Result<Vec<(String, IngestJob)>, Failure> {
        let mut jobs = Vec::with_capacity(files.len());
        let mut first_of: HashMap<BookKey, PathBuf> = HashMap::new();
        for (file, known) in files {
            let path = file.path.clone();
            let job = known
                .and_then(|known| self.job(file, known))
                .and_then(|job| match first_of.get(&job.key) {
                    Some(first) => Err(self.twice(&job.key, first)),
                    None => Ok(job),
                });
            match job {
                Ok(job) => {
                    first_of.insert(job.key.clone(), path.clone());
                    jobs.push((path.display().to_string(), job));
                }
                Err(why) => progress.landed(BookLabel::of(&path), Err(Failure::Input(why)))?,
            }
        }
        Ok(jobs)
    }

    /// Why a second file with the id of another is refused.
    fn twice(&self, key: &BookKey, first: &Path) -> String {
        let advice = match self.id {
            Id::Name => "give --id path, to use paths as ids, or an id in the metadata",
            Id::Path => "give it an id in the metadata",
        };
        format!(
            "the id {:?} is already used by {}; {advice}",
            key.id.as_str(),
            first.display()
        )
    }

    /// Combines what is known about a file: its metadata first, then the command line, then its name.
    fn job(&self, file: InputFile, mut known: TableRow) -> Result<IngestJob, String> {
        let description = known.take_description();
        let id = match (known.id, self.id) {
            (Some(id), _) => id,
            (None, Id::Name) => parsed(
                file.path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            )?,
            (None, Id::Path) => {
                let parts: Vec<_> = file
                    .relative
                    .iter()
                    .map(|part| part.to_string_lossy())
                    .collect();
                parsed(parts.join("/"))?
            }
        };
        let library = known
            .library
            .or_else(|| self.library.clone())
            .ok_or(NO_LIBRARY)?;
        // No sales rights of a feed lift a ban.
        let ban = self
            .rights
            .filter(|rights| *rights == Rights::Forbidden && self.onix.is_some());
        let rights = ban.or(known.rights).or(self.rights).ok_or(NO_RIGHTS)?;
        let (source, key) = (BookSource::File(file), BookKey { library, id });
        let (clean, allow_empty, keep_text) =
            (self.input.text.clean, self.allow_empty, self.keep_texts);
        let gate = self.gate().map_err(|e| e.to_string())?;
        Ok(IngestJob {
            source,
            clean,
            key,
            rights,
            description,
            validity: known.validity,
            allow_empty,
            keep_text,
            gate,
        })
    }

    /// The gate for books without their own.
    fn gate(&self) -> Result<Option<Gate>, CatalogueError> {
        let gate = Gate::of(self.unless, self.except.clone())?;
        Ok(gate.map(|gate| Gate {
            limit: MATCHES,
            detail: false,
            ..gate
        }))
    }

    /// Opens the destination of the books.
    fn sink(&self) -> Result<Sink, Failure> {
        if let Some(url) = &self.target.server {
            if !self.recipes.is_empty()
                || self.boundaries.boundaries.is_some()
                || self.folds.keep_folds.is_some()
            {
                let sentence = "a server has its own recipes: leave out --recipe, --boundaries and --keep-folds";
                return Err(Failure::Input(sentence.to_owned()));
            }
            return Ok(Sink::Server(Remote::new(url)?));
        }
        let usual = self
            .boundaries
            .boundaries
            .as_ref()
            .map(|_| "documented")
            .filter(|_| self.recipes.is_empty());
        let names = self.recipes.iter().map(String::as_str).chain(usual);
        let lexicon = self.lexicon.read()?;
        let catalogue = self.target.open_here()?;
        let recipes = names
            .map(|name| {
                let recipe = catalogue.recipes().named(name, lexicon.as_ref());
                let recipe = recipe.map_err(|why| Failure::Input(format!("--recipe: {why}")))?;
                self.boundaries.apply(recipe)
            })
            .collect::<Result<Vec<Recipe>, _>>()?;
        self.folds.apply(&catalogue)?;
        let all = catalogue.by(Actor::Local).recipes().ensure(&recipes)?;
        Ok(Sink::Folder {
            catalogue: Box::new(catalogue),
            all,
            named: recipes,
        })
    }

    /// Adds a book for every job. Each job comes with its display name.
    fn add(
        &self,
        sink: &Sink,
        jobs: Vec<(String, IngestJob)>,
        progress: &Progress,
    ) -> Result<(), Failure> {
        match sink {
            Sink::Server(server) => {
                jobs.into_par_iter()
                    .with_max_len(1)
                    .try_for_each(|(name, job)| {
                        for (name, entry) in job.load(name, self.input.text.reading) {
                            let added = match entry.map(|entry| server.add(entry)) {
                                Ok(Err(
                                    refused @ (Failure::Input(_)
                                    | Failure::Missing(_)
                                    | Failure::Matches { .. }),
                                )) => Err(refused),
                                Err(why) => Err(Failure::Input(why)),
                                Ok(added) => Ok(added?),
                            };
                            progress.landed(name, added)?;
                        }
                        Ok(())
                    })
            }
            Sink::Folder { catalogue, all, .. } => {
                let mut shown = Ok(());
                catalogue.by(Actor::Local).ingest().add_all(
                    jobs,
                    all,
                    |(name, job)| {
                        let loaded = job.load(name, self.input.text.reading).into_iter();
                        loaded
                            .map(|(name, entry)| (name, entry.map_err(Failure::Input)))
                            .collect()
                    },
                    |name, added| {
                        let landed = progress.landed(name, added);
                        if shown.is_ok() {
                            shown = landed;
                        }
                    },
                )?;
                shown
            }
        }
    }

    /// Ingests a JSON Lines feed.
    fn feed(&self, feed: &Path) -> Result<Status, Failure> {
        let progress = Progress::new(0, self.json, BTreeMap::new());
        let sink = self.sink()?;
        let gate = self.gate()?;
        let defaults = feed::Defaults {
            library: self.library.as_ref(),
            rights: self.rights,
            clean: self.input.text.clean,
            allow_empty: self.allow_empty,
            keep_text: self.keep_texts,
            gate: gate.as_ref(),
        };
        feed::each(feed, &defaults, |lines| {
            progress.bar.inc_length(lines.len() as u64);
            let (mut rest, mut jobs) = (VecDeque::from(lines), Vec::new());
            while !rest.is_empty() {
                // One batch holds a book only once, so that a repeated book is compared with its previous version.
                let mut keys = HashSet::new();
                while let Some((name, job)) = rest.pop_front() {
                    match job {
                        Err(why) => {
                            progress.landed(BookLabel::from(name), Err(Failure::Input(why)))?;
                        }
                        Ok(job) if keys.insert(job.key.clone()) => jobs.push((name, job)),
                        Ok(job) => {
                            rest.push_front((name, Ok(job)));
                            break;
                        }
                    }
                }
                let jobs = std::mem::take(&mut jobs);
                sink.keep_busy(|| self.add(&sink, jobs, &progress))?;
            }
            Ok(())
        })?;
        sink.finish()?;
        progress.finish()
    }
}

/// The destination of the books.
enum Sink {
    Server(Remote),
    Folder {
        catalogue: Box<Catalogue>,
        /// The recipes to fingerprint books with.
        all: Vec<Recipe>,
        /// The recipes named on the command line.
        named: Vec<Recipe>,
    },
}

impl Sink {
    /// Runs `add` with enough threads. Threads that wait for a server need no core.
    fn keep_busy(&self, add: impl FnOnce() -> Result<(), Failure> + Send) -> Result<(), Failure> {
        match self {
            Self::Folder { .. } => add(),
            Self::Server(_) => {
                let threads = ThreadPoolBuilder::new().num_threads(AT_ONCE).build();
                threads
                    .map_err(|e| Failure::Failed(format!("cannot start threads: {e}")))?
                    .install(add)
            }
        }
    }

    /// Flushes the added books to disk.
    fn finish(&self) -> Result<(), Failure> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Folder {
                catalogue, named, ..
            } => {
                for (recipe, Coverage { books, total: of }) in
                    catalogue.by(Actor::Local).recipes().make_ready(named)?
                {
                    tell(format_args!(
                        "lapidary: {books} of {of} books have gems of recipe {recipe}: checks use it only when all do; \
                         ingest the others too, or run lapidary reindex"
                    ));
                }
                Ok(catalogue.flush()?)
            }
        }
    }
}

fn parsed(id: String) -> Result<BookId, String> {
    BookId::try_from(id).map_err(|error| error.to_string())
}
