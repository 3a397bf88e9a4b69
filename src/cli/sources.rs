//! `lapidary sources add|list|show|run|test|pause|resume|remove`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use lapidary::catalogue::Catalogue;
use lapidary::count::count;
use lapidary::harvest::{
    Entry, Gone, Harvest, HarvestError, Kind, Source, SourceSummary, Sources as _, Tally, Watched,
};
use lapidary::index::{Actor, BookId, Library, Rights};
use lapidary::report::clean;

use super::arguments::{Listing, Removal, Target};
use super::failure::{Failure, Status};
use super::limits::LimitArguments;
use super::terminal::{json_line, out, tell};

/// How many books `test` shows.
const SHOWN: usize = 10;

/// Fetch books from folders, catalogues, archives and sites, and look again later for what is new.
#[derive(Args)]
pub(super) struct Sources {
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Subcommand)]
enum SourcesCommand {
    /// Add a source, or replace the definition of the one with this name. Nothing is fetched yet
    Add(Box<Add>),
    /// List all sources
    List(Listing),
    /// Show a source: its runs, its queue, and what was refused
    Show {
        #[command(flatten)]
        target: Target,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The source's name
        name: BookId,
    },
    /// Fetch what is new, until the source is exhausted. A run that was stopped goes on where it was
    Run {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        limits: LimitArguments,
        /// Print the counts as JSON
        #[arg(long)]
        json: bool,
        /// The source's name
        name: BookId,
    },
    /// Show the first books that a source lists. Nothing is changed
    Test {
        #[command(flatten)]
        target: Target,
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
        /// The source's name
        name: BookId,
    },
    /// Stop the runs of a source, and start no more
    Pause {
        #[command(flatten)]
        target: Target,
        /// The source's name
        name: BookId,
    },
    /// Let a paused source go on
    Resume {
        #[command(flatten)]
        target: Target,
        /// The source's name
        name: BookId,
    },
    /// Remove sources. Their books stay
    Remove(Removal),
}

#[derive(Args)]
struct Add {
    #[command(flatten)]
    target: Target,
    /// The source's name
    #[arg(long)]
    name: BookId,
    /// The library that its books belong to
    #[arg(long)]
    library: Library,
    /// The rights of its books: forbidden, protected, free, `public_domain` or unknown
    #[arg(long)]
    rights: Rights,
    /// What it is: a folder of files, an OPDS catalogue, an OAI-PMH repository, a sitemap, a feed (RSS, Atom, JSON), a site
    /// followed from a page on, or a list of addresses as JSON Lines or CSV
    #[arg(long, value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(|kind| kind.parse::<Kind>()))]
    kind: Kind,
    /// Take only books whose addresses contain this. Can be given several times
    #[arg(long, value_name = "TEXT")]
    contains: Vec<String>,
    /// Your e-mail address or web page: it is sent with each request, so that the owner of a site can reach you
    #[arg(long, value_name = "MAIL")]
    contact: Option<String>,
    /// Allow addresses of this machine and its network, without pauses between requests unless --rate is given
    #[arg(long)]
    allow_private: bool,
    /// Disable books that the source no longer has
    #[arg(long)]
    disable_gone: bool,
    /// With --kind oai: harvest only this set
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// A file with USER:PASSWORD, or with a token, for the source's own host and port. The file is read when the source runs; only its
    /// path is kept
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// The most requests per second to a host; its robots.txt may ask for fewer [default: 1]
    #[arg(long, value_name = "N")]
    rate: Option<f64>,
    /// The most addresses to fetch in a run
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    most: u64,
    /// A URL; with --kind folder a path, with --kind list also a file
    address: String,
}

impl From<HarvestError> for Failure {
    fn from(error: HarvestError) -> Self {
        match error {
            HarvestError::Catalogue(error) => error.into(),
            HarvestError::Store(error) => Self::Failed(error.to_string()),
            HarvestError::Unreachable { .. } => Self::Failed(error.to_string()),
            other => Self::Input(other.to_string()),
        }
    }
}

impl Sources {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            SourcesCommand::Add(add) => add.run(),
            SourcesCommand::List(Listing { target, json }) => list(&opened(&target)?, json),
            SourcesCommand::Show { target, json, name } => show(&opened(&target)?, &name, json),
            SourcesCommand::Run { target, limits, json, name } => run(&opened(&target)?, &name, limits, json),
            SourcesCommand::Test { target, json, name } => test(&opened(&target)?.source(&name)?, json),
            SourcesCommand::Pause { target, name } => pause(&opened(&target)?, &name, true),
            SourcesCommand::Resume { target, name } => pause(&opened(&target)?, &name, false),
            SourcesCommand::Remove(removal) => {
                let catalogue = opened(&removal.target)?;
                removal.each("source", |name| Ok(catalogue.by(Actor::Local).remove_source(name)?))
            }
        }
    }
}

fn opened(target: &Target) -> Result<Catalogue, Failure> {
    if target.server.is_some() {
        return Err(Failure::Input("sources need the catalogue itself: give --data DIR or --store URL".to_owned()));
    }
    target.open_existing()
}

impl Add {
    fn run(self) -> Result<Status, Failure> {
        let kind = self.kind;
        let source = Source {
            kind,
            address: if kind == Kind::Folder || is_file(kind, &self.address) {
                absolute(&self.address)?
            } else {
                self.address
            },
            library: self.library,
            rights: self.rights,
            contains: self.contains,
            contact: self.contact,
            allow_private: self.allow_private,
            gone: if self.disable_gone { Gone::Disable } else { Gone::Keep },
            set: self.set,
            credentials: self.credentials,
            rate: self.rate,
            most: self.most,
            paused: false,
        }
        .checked()?;
        let catalogue = self.target.open_here()?;
        let editor = catalogue.by(Actor::Local);
        editor.ensure_recipes(&[])?;
        let replaced = editor.set_source(&self.name, &source)?;
        writeln!(out(false), "{} {}", if replaced { "replaced" } else { "added" }, self.name)?;
        Ok(Status::Done)
    }
}

fn is_file(kind: Kind, address: &str) -> bool {
    kind == Kind::List && address != "-" && !address.contains("://")
}

fn absolute(path: &str) -> Result<String, Failure> {
    let wrong = |why: String| Failure::Input(format!("{path}: {why}"));
    let found = Path::new(path).canonicalize().map_err(|error| wrong(error.to_string()))?;
    found.into_os_string().into_string().map_err(|_| wrong("its path is not UTF-8".to_owned()))
}

fn list(catalogue: &Catalogue, json: bool) -> Result<Status, Failure> {
    let mut out = out(json);
    for name in catalogue.sources()?.into_keys() {
        let summary = catalogue.source_summary(&name)?;
        if json {
            json_line(&mut out, &summary)?;
        } else {
            writeln!(out, "{}", line(&summary))?;
        }
    }
    Ok(Status::Done)
}

/// A source in a line.
fn line(summary: &SourceSummary) -> String {
    let SourceSummary { name, source, queued, runs, .. } = summary;
    let state = match runs.first() {
        _ if source.paused => "paused".to_owned(),
        None => "never run".to_owned(),
        Some(run) => run.ended.map_or_else(|| format!("{queued} in the queue"), |ended| format!("last run {ended:.0}")),
    };
    let books = runs.first().map(|run| words(&run.tally)).unwrap_or_default();
    format!("{name}\t{}\t{}\t{state}\t{books}", source.library, clean(&source.address))
}

fn words(tally: &Tally) -> String {
    let Tally { fetched, added, unchanged, refused, gone } = tally;
    let gone = if *gone == 0 { String::new() } else { format!(", {gone} gone") };
    format!("{fetched} fetched, {added} added, {unchanged} unchanged, {refused} refused{gone}")
}

fn show(catalogue: &Catalogue, name: &BookId, json: bool) -> Result<Status, Failure> {
    let summary = catalogue.source_summary(name)?;
    let mut out = out(json);
    if json {
        json_line(&mut out, &summary)?;
        return Ok(Status::Done);
    }
    writeln!(out, "{}", line(&summary))?;
    for run in &summary.runs {
        let ended = run.ended.map_or_else(|| "not ended".to_owned(), |ended| format!("to {ended:.0}"));
        writeln!(out, "run from {:.0} {ended}: {}", run.begun, words(&run.tally))?;
    }
    for refusal in &summary.refused {
        writeln!(out, "refused {}: {}", clean(&refusal.address), clean(&refusal.why))?;
    }
    Ok(Status::Done)
}

fn run(catalogue: &Catalogue, name: &BookId, limits: LimitArguments, json: bool) -> Result<Status, Failure> {
    let bar = ProgressBar::new_spinner();
    let editor = catalogue.by(Actor::Local);
    let mut watch = |watched: &Watched<'_>| {
        bar.set_message(words(&watched.tally));
        bar.tick();
        if let Some((address, why)) = watched.refused {
            bar.suspend(|| tell(format_args!("refused {address}: {why}")));
        }
    };
    let tally = Harvest::new(&editor, name, limits.limits(), &mut watch)?.run();
    bar.finish_and_clear();
    let tally = tally?;
    let mut out = out(json);
    if json {
        json_line(&mut out, &tally)?;
    } else {
        writeln!(out, "{}", words(&tally))?;
    }
    Ok(if tally.refused == 0 { Status::Done } else { Status::WrongInput })
}

fn test(source: &Source, json: bool) -> Result<Status, Failure> {
    let mut out = out(json);
    let books = Harvest::test(source, SHOWN)?;
    for Entry { address, id, description, .. } in &books {
        if json {
            serde_json::to_writer(
                &mut out,
                &serde_json::json!({"address": address, "id": id, "title": description.title}),
            )
            .map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            let title = description.title.as_deref().unwrap_or_default();
            writeln!(out, "{}\t{}", clean(address), clean(title))?;
        }
    }
    if books.is_empty() {
        tell("lapidary: no book was found on the first pages");
        return Ok(Status::WrongInput);
    }
    tell(format_args!("the first {}", count(books.len() as u64, "book", "books")));
    Ok(Status::Done)
}

fn pause(catalogue: &Catalogue, name: &BookId, paused: bool) -> Result<Status, Failure> {
    let source = catalogue.source(name)?;
    catalogue.by(Actor::Local).set_source(name, &Source { paused, ..source })?;
    Ok(Status::Done)
}
