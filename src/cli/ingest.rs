//! `lapidary ingest PATH…`.

mod feed;
mod job;
mod metadata;
mod onix;

use std::collections::VecDeque;
use std::io::{self, Write as _, stdout};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use clap::Args;
use hashbrown::{HashMap, HashSet};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use serde::Serialize;

use self::job::{Job, Source};
use self::metadata::{Known, Metadata};
use super::access::Access as _;
use super::arguments::{BoundariesArgument, FoldsArgument, Target};
use super::failure::{Failure, Status};
use super::files::{CleanArgument, Found, Reading, find};
use super::remote::Remote;
use crate::catalogue::{Added, Catalogue, Outcome};
use crate::fingerprint::Recipe;
use crate::index::{BookId, BookKey, Library, Rights};

/// How many books are on their way to a server at once, so that one far away is not waited for book by book.
const AT_ONCE: usize = 16;

/// Add files, or all files of folders, to a catalogue.
///
/// Files whose text is in the catalogue already are skipped, so that an ingest that was stopped goes on where it was.
#[derive(Args)]
pub(super) struct Ingest {
    #[command(flatten)]
    target: Target,
    /// The library the books belong to, unless their metadata name another
    #[arg(long)]
    library: Option<Library>,
    /// What may be done with the books, unless their metadata say: protected, free, `public_domain` or unknown
    #[arg(long)]
    rights: Option<Rights>,
    /// A recipe to fingerprint the books by, such as documented or hardened; may stand several times, the first is the default
    /// of a new catalogue [default: all recipes of the catalogue]
    #[arg(long = "recipe", value_name = "RECIPE")]
    recipes: Vec<String>,
    #[command(flatten)]
    boundaries: BoundariesArgument,
    #[command(flatten)]
    folds: FoldsArgument,
    /// What is known of the books, a JSON object a line: {"file": …, "id", "library", "rights", "title", "authors",
    /// "language", "identifiers", "validity"}
    #[arg(long, value_name = "FILE.ndjson")]
    metadata: Option<PathBuf>,
    /// Take what is known of the books from this ONIX for Books 3.0 feed; the names of the files have the ISBNs
    #[arg(long, value_name = "FILE.xml", conflicts_with = "metadata")]
    onix: Option<PathBuf>,
    /// The country or region whose sales rights decide, such as DE or RU [default: any]
    #[arg(long, value_name = "CODE", requires = "onix")]
    territory: Option<String>,
    /// Ingest this feed, a JSON object a line: {"id": …, "library", "rights", "title", "authors", "language",
    /// "identifiers", "validity", "clean"}, and one of "text", "gems" and "file"
    #[arg(long, value_name = "FILE.ndjson", conflicts_with_all = ["metadata", "onix", "paths"])]
    feed: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    clean: CleanArgument,
    /// Print one JSON object for each file once its book is on disk
    #[arg(long)]
    json: bool,
    /// Texts, or folders of them
    #[arg(required_unless_present = "feed", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    file: String,
    #[serde(flatten)]
    added: Option<&'a Added>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
}

impl Ingest {
    pub(super) fn run(self) -> Result<Status, Failure> {
        if let Some(feed) = &self.feed {
            return self.feed(feed);
        }
        let mut metadata = self.metadata.as_deref().map(Metadata::read).transpose()?.unwrap_or_default();
        let (found, unreadable) = find(&self.paths);
        let progress = Progress::new(found.len() + unreadable.len(), self.json);
        for (path, why) in unreadable {
            progress.landed(path.display().to_string(), Err(why))?;
        }
        let found: Vec<(Found, Result<Known, String>)> = match &self.onix {
            Some(feed) => {
                let (found, refused) = onix::matched(feed, self.territory.as_deref(), found)?;
                progress.bar.set_length((found.len() + refused.len()) as u64);
                for (name, why) in refused {
                    progress.landed(name, Err(why))?;
                }
                found.into_iter().map(|(file, known)| (file, Ok(known))).collect()
            }
            None => found
                .into_iter()
                .map(|file| {
                    let known = metadata.of(&file);
                    (file, known)
                })
                .collect(),
        };
        let mut jobs = Vec::with_capacity(found.len());
        let mut first_of: HashMap<BookKey, PathBuf> = HashMap::new();
        for (file, known) in found {
            let path = file.path.clone();
            let job = known.and_then(|known| self.job(file, known)).and_then(|job| match first_of.get(&job.key) {
                Some(first) => Err(format!("the id {:?} is already that of {}", job.key.id.as_str(), first.display())),
                None => Ok(job),
            });
            match job {
                Ok(job) => {
                    jobs.push((path.display().to_string(), job));
                    first_of.insert(jobs[jobs.len() - 1].1.key.clone(), path);
                }
                Err(why) => progress.landed(path.display().to_string(), Err(why))?,
            }
        }
        for (file, why) in metadata.unused() {
            progress.landed(file, Err(why))?;
        }
        let sink = self.sink()?;
        sink.keep_busy(|| self.add(&sink, jobs, &progress))?;
        sink.finish()?;
        progress.finish()
    }

    /// What is known of a file: its metadata first, then the command line, then its name.
    fn job(&self, file: Found, known: Known) -> Result<Job, String> {
        let id = match known.id {
            Some(id) => id,
            None => file
                .path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .parse::<BookId>()
                .map_err(|e| e.to_string())?,
        };
        let library =
            known.library.or_else(|| self.library.clone()).ok_or("no library: give --library, or metadata")?;
        let rights = known.rights.or(self.rights).ok_or("no rights: give --rights, or metadata")?;
        let (source, key) = (Source::File(file), BookKey { library, id });
        let Known { title, authors, language, identifiers, validity, .. } = known;
        Ok(Job { source, clean: self.clean.clean, key, rights, title, authors, language, identifiers, validity })
    }

    /// Where the books go.
    fn sink(&self) -> Result<Sink, Failure> {
        if let Some(url) = &self.target.server {
            if !self.recipes.is_empty() || self.boundaries.boundaries.is_some() || self.folds.keep_folds.is_some() {
                let sentence = "a server has its own recipes: leave out --recipe, --boundaries and --keep-folds";
                return Err(Failure::Input(sentence.to_owned()));
            }
            return Ok(Sink::Server(Remote::new(url)?));
        }
        let Some(folder) = &self.target.data else {
            return Err(Failure::Input("name a catalogue with --data DIR or --server URL".to_owned()));
        };
        let mut recipes =
            self.recipes.iter().map(|name| self.boundaries.apply(name)).collect::<Result<Vec<Recipe>, _>>()?;
        if recipes.is_empty() && self.boundaries.boundaries.is_some() {
            recipes.push(self.boundaries.apply("documented")?);
        }
        let catalogue = Catalogue::open_or_create(folder)?;
        self.folds.apply(&catalogue)?;
        let recipes = catalogue.settle_recipes(&recipes)?;
        Ok(Sink::Folder(Box::new(catalogue), recipes))
    }

    /// Adds a book for every job; each comes with its name for people.
    fn add(&self, sink: &Sink, jobs: Vec<(String, Job)>, progress: &Progress) -> Result<(), Failure> {
        match sink {
            Sink::Server(server) => jobs.into_par_iter().with_max_len(1).try_for_each(|(name, job)| {
                for (name, entry) in job.load(name, self.reading) {
                    let added = match entry.map(|entry| server.add(entry)) {
                        Ok(Err(Failure::Input(why))) | Err(why) => Err(why),
                        Ok(added) => Ok(added?),
                    };
                    progress.landed(name, added)?;
                }
                Ok(())
            }),
            Sink::Folder(catalogue, recipes) => {
                let mut shown = Ok(());
                catalogue.add_all(
                    jobs,
                    recipes,
                    |(name, job)| job.load(name, self.reading),
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

    /// Ingests a feed of lines.
    fn feed(&self, feed: &Path) -> Result<Status, Failure> {
        let progress = Progress::new(0, self.json);
        let sink = self.sink()?;
        let defaults = feed::Defaults { library: self.library.as_ref(), rights: self.rights, clean: self.clean.clean };
        feed::each(feed, &defaults, |lines| {
            progress.bar.inc_length(lines.len() as u64);
            let (mut rest, mut jobs) = (VecDeque::from(lines), Vec::new());
            while !rest.is_empty() {
                // A book that comes again is compared with what it was before.
                let mut keys = HashSet::new();
                while let Some((name, job)) = rest.pop_front() {
                    match job {
                        Err(why) => progress.landed(name, Err(why))?,
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

/// Where books go.
enum Sink {
    Server(Remote),
    Folder(Box<Catalogue>, Vec<Recipe>),
}

impl Sink {
    /// Adds books on as many threads as it takes: those that wait for a server need no core.
    fn keep_busy(&self, add: impl FnOnce() -> Result<(), Failure> + Send) -> Result<(), Failure> {
        match self {
            Self::Folder(..) => add(),
            Self::Server(_) => {
                let threads = ThreadPoolBuilder::new().num_threads(AT_ONCE).build();
                threads.map_err(|e| Failure::Failed(format!("the system gives no threads: {e}")))?.install(add)
            }
        }
    }

    /// Brings what was added to disk for good.
    fn finish(&self) -> Result<(), Failure> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Folder(catalogue, _) => Ok(catalogue.flush()?),
        }
    }
}

/// Counts what lands, and shows it.
struct Progress {
    bar: ProgressBar,
    json: bool,
    begun: Instant,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    added: u64,
    replaced: u64,
    unchanged: u64,
    /// Books without a gem, which no check can find.
    gemless: u64,
    bytes: u64,
    refused: Vec<(String, String)>,
}

impl Progress {
    fn new(files: usize, json: bool) -> Self {
        let bar = ProgressBar::new(files as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos} of {len} files, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, json, begun: Instant::now(), counts: Mutex::default() }
    }

    fn landed(&self, file: String, added: Result<Added, String>) -> Result<(), Failure> {
        let mut counts = self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.json {
            let line = Line {
                file: file.clone(),
                added: added.as_ref().ok(),
                refused: added.as_ref().err().map(String::as_str),
            };
            let mut out = stdout().lock();
            serde_json::to_writer(&mut out, &line).map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
        }
        self.bar.inc(1);
        match added {
            Ok(Added { outcome, book }) => {
                *match outcome {
                    Outcome::Added => &mut counts.added,
                    Outcome::Replaced => &mut counts.replaced,
                    Outcome::Unchanged => &mut counts.unchanged,
                } += 1;
                counts.bytes += if outcome == Outcome::Unchanged { 0 } else { book.bytes };
                counts.gemless += u64::from(book.gems.values().all(|&gems| gems == 0));
            }
            Err(why) => counts.refused.push((file, why)),
        }
        Ok(())
    }

    fn finish(self) -> Result<Status, Failure> {
        self.bar.finish_and_clear();
        let Counts { added, replaced, unchanged, gemless, bytes, refused } =
            self.counts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let took = self.begun.elapsed();
        let mut summary =
            format!("{added} added, {replaced} replaced, {unchanged} unchanged, {} refused", refused.len());
        let seconds = took.as_secs_f64().max(1e-3);
        let (bytes, rate) = (HumanBytes(bytes), HumanBytes((bytes as f64 / seconds) as u64));
        summary = format!("{summary}; {bytes} of text in {seconds:.1} s, {rate}/s");
        if gemless > 0 {
            summary += "\n";
            summary += &gemless.to_string();
            summary += " of them are too short for a gem: no check can find these";
        }
        if self.json {
            eprintln!("{summary}");
        } else {
            writeln!(stdout(), "{summary}")?;
        }
        for (file, why) in &refused {
            eprintln!("refused {file}: {why}");
        }
        Ok(if refused.is_empty() { Status::Done } else { Status::WrongInput })
    }
}
