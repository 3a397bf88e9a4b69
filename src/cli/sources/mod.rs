//! `lapidary sources add|list|show|run|test|errors|pause|resume|remove`.

mod lines;
mod run;

use std::io::Write as _;
use std::path::{Path, absolute};
use std::thread::sleep;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use lapidary::server::settings::LimitArguments;
use lapidary_catalogue::api::{
    Source, SourceDefinition, SourceError, SourceItem, SourceRun, SourceTest, Unless,
};
use lapidary_catalogue::permission::Rate;
use lapidary_common::count::count;
use lapidary_common::error::Classified as _;
use lapidary_extract::MainText;
use lapidary_harvest::{
    Credentials, Every, HarvestError, OnMissing, Pattern, SourceKind, clear_source,
};
use lapidary_operations::Done;
use lapidary_operations::PageQuery;
use lapidary_operations::sources::{
    ChangeSource, DeleteSource, ListSourceErrors, ListSourceRuns, ListSources, PutSource,
    ShowSource, SourceChanges, TestSource,
};
use lapidary_report::clean;
use lapidary_store::{Actor, BookId, Library, Rights};
use serde::Serialize;

use super::arguments::{CataloguePlace, Days, Listing, Removal, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status};
use super::terminal::{self, json_line, out, tell};
use lines::{failed, not_taken, run_line, summary};

/// How many runs and errors `show` prints.
const SHOWN: usize = 20;

/// Fetch books from folders, catalogues, archives and sites, and look again later for what is new.
#[derive(Args)]
pub(super) struct SourcesArgs {
    #[command(subcommand)]
    command: SourcesCommand,
}

#[derive(Subcommand)]
enum SourcesCommand {
    /// Add a source, or replace the definition of the one with this name. Nothing is fetched yet
    Add(Box<SourceArguments>),
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
    /// List the addresses of a source that failed, with the reasons
    Errors {
        #[command(flatten)]
        target: Target,
        /// Print JSON Lines
        #[arg(long)]
        json: bool,
        /// The source's name
        name: BookId,
    },
    /// Fetch what is new, until the source is exhausted. A run that was stopped goes on where it was. With --server, the
    /// server fetches it, also if this command is stopped
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
struct SourceArguments {
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
    /// What it is: a folder of files, a bucket of S3, an OPDS catalogue, an OAI-PMH repository, a sitemap, a feed (RSS, Atom, JSON),
    /// a site followed from a page on, a list of addresses as JSON Lines or CSV, a library of
    /// another Lapidary server, or an ONIX feed
    #[arg(long, value_parser = PossibleValuesParser::new(SourceKind::ALL.map(SourceKind::as_str)).try_map(|kind| kind.parse::<SourceKind>()))]
    kind: SourceKind,
    /// Take only books whose addresses contain this. Can be given several times
    #[arg(long, value_name = "TEXT")]
    contains: Vec<String>,
    /// Take also books whose addresses match this regular expression, such as /book/[0-9]+$, and no others. Can be given several
    /// times
    #[arg(long, value_name = "PATTERN")]
    matches: Vec<Pattern>,
    #[command(flatten)]
    days: Days,
    /// Of pages that are books, take only the elements that this CSS selector matches, such as main or .chapter. With
    /// `readability`, take what the reading mode of a browser would show
    #[arg(long, value_name = "SELECTOR")]
    text: Option<MainText>,
    /// Your e-mail address or web page: it is sent with each request, so that the owner of a site can reach you
    #[arg(long, value_name = "MAIL")]
    contact: Option<String>,
    /// Allow addresses of this machine and its network, without pauses between requests unless --rate is given
    #[arg(long)]
    allow_private: bool,
    /// Do not ask robots.txt: only for servers of your own, or with their owners' consent
    #[arg(long)]
    ignore_robots: bool,
    /// Disable books that the source no longer has
    #[arg(long)]
    disable_missing: bool,
    /// With --kind site: once a run has added this many new books, read nothing again that earlier runs have read
    #[arg(long, value_name = "N")]
    new_books_per_run: Option<u64>,
    /// With --kind oai: harvest only this set
    #[arg(long, value_name = "SET")]
    oai_set: Option<String>,
    /// Where to find USER:PASSWORD, a token or a bucket's ID:SECRET for the source's own host and port, whenever it runs: a file, or
    /// env:NAME for a variable whose name starts with `LAPIDARY_SOURCE_`
    #[arg(long, value_name = "FILE|env:NAME")]
    credentials: Option<String>,
    /// The highest rate of requests to a host, such as 30/min; its robots.txt may ask for fewer [default: 1/s]
    #[arg(long)]
    rate: Option<Rate>,
    /// The most addresses to fetch in a run
    #[arg(long, value_name = "N", default_value_t = SourceDefinition::MOST)]
    max_urls: u64,
    /// Have servers run it again this long after the beginning of a run, such as 30m, 6h or 7d. Otherwise only `run` does
    #[arg(long, value_name = "TIME")]
    every: Option<Every>,
    /// Refuse books that others may not publish: those for which `check` would find protected text [possible value:
    /// protected]
    #[arg(long, value_name = "VERDICT")]
    unless: Option<Unless>,
    /// A URL; with --kind folder a path, with --kind list also a file
    address: String,
}

impl From<HarvestError> for Failure {
    fn from(error: HarvestError) -> Self {
        match error {
            HarvestError::Catalogue(error) => error.into(),
            error => Self::new(error.code(), error.to_string()),
        }
    }
}

impl SourcesArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.command {
            SourcesCommand::Add(add) => add.run(),
            SourcesCommand::List(listing) => list(&listing),
            SourcesCommand::Show { target, json, name } => show(&target.open()?, &name, json),
            SourcesCommand::Errors { target, json, name } => errors(&target.open()?, &name, json),
            SourcesCommand::Run {
                target,
                limits,
                json,
                name,
            } => run::run(&target, &name, limits, json),
            SourcesCommand::Test { target, json, name } => test(&target, name, json),
            SourcesCommand::Pause { target, name } => pause(&target, name, true),
            SourcesCommand::Resume { target, name } => pause(&target, name, false),
            SourcesCommand::Remove(removal) => {
                let catalogue = removal.target.open()?;
                removal.each("source", |name| remove(&catalogue, name))
            }
        }
    }
}

fn list(Listing { target, json }: &Listing) -> Result<Status, Failure> {
    let sources = target.open()?.all::<ListSources>(&())?;
    terminal::lines(&mut out(*json), *json, &sources, summary)?;
    Ok(Status::Done)
}

impl SourceArguments {
    /// Whether it is a file or a folder.
    fn is_at_path(&self) -> bool {
        match self.kind {
            SourceKind::Folder => true,
            SourceKind::List | SourceKind::Onix => {
                self.address != "-" && !self.address.contains("://")
            }
            _ => false,
        }
    }

    fn run(self) -> Result<Status, Failure> {
        let here = !matches!(self.target.place()?, CataloguePlace::Server(_));
        let address = if here && self.is_at_path() {
            existing(&self.address)?
        } else {
            self.address
        };
        let definition = SourceDefinition {
            url_contains: self.contains,
            url_matches: self.matches.into_iter().map(Into::into).collect(),
            validity: self.days.are_given().then(|| self.days.into()),
            text_selector: self.text.map(|text| text.to_string()),
            contact: self.contact,
            allow_private: self.allow_private,
            ignore_robots: self.ignore_robots,
            on_missing: if self.disable_missing {
                OnMissing::Disable
            } else {
                OnMissing::Keep
            },
            new_books_per_run: self.new_books_per_run,
            oai_set: self.oai_set,
            credentials: self
                .credentials
                .map(|place| if here { whole(place) } else { place }),
            rate: self.rate,
            max_urls: self.max_urls,
            interval_seconds: self.every.map(Every::seconds),
            unless: self.unless,
            ..SourceDefinition::new(self.kind, &address, self.library, self.rights)
        };
        let catalogue = self.target.open_or_create()?;
        if let CatalogueClient::Local(catalogue) = &catalogue {
            catalogue.by(Actor::Local).recipes().ensure(&[])?;
        }
        let set = catalogue.call::<PutSource>(self.name.clone(), definition)?;
        let what = if set.is_new { "added" } else { "replaced" };
        writeln!(out(false), "{what} {}", self.name)?;
        Ok(Status::Done)
    }
}

/// The whole path of a file or folder that is there.
fn existing(path: &str) -> Result<String, Failure> {
    let found = match Path::new(path).canonicalize() {
        Ok(found) => found.into_os_string().into_string().ok(),
        Err(error) => return Err(Failure::Input(format!("{path}: {error}"))),
    };
    found.ok_or_else(|| Failure::Input(format!("{path}: its path is not UTF-8")))
}

/// Where credentials are, wherever it is read.
fn whole(place: String) -> String {
    if Credentials(place.clone()).variable().is_some() {
        return place;
    }
    absolute(&place)
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok())
        .unwrap_or(place)
}

/// A source with its last runs, and some of the addresses that failed.
#[derive(Serialize)]
struct SourceDetails {
    #[serde(flatten)]
    source: Source,
    runs: Vec<SourceRun>,
    errors: Vec<SourceError>,
}

fn show(catalogue: &CatalogueClient, name: &BookId, json: bool) -> Result<Status, Failure> {
    let source = catalogue.call::<ShowSource>(name.clone(), ())?;
    let first = PageQuery::first(SHOWN);
    let runs = catalogue.call::<ListSourceRuns>(name.clone(), first.clone())?;
    let errors = catalogue.call::<ListSourceErrors>(name.clone(), first)?;
    if json {
        json_line(
            &mut out(true),
            &SourceDetails {
                source,
                runs: runs.runs,
                errors: errors.errors,
            },
        )?;
        return Ok(Status::Done);
    }
    let mut out = out(false);
    writeln!(out, "{}", summary(&source))?;
    if let Some(error) = &source.error {
        writeln!(out, "{}", clean(error))?;
    }
    for run in &runs.runs {
        writeln!(out, "{}", run_line(run))?;
        for line in not_taken(run) {
            writeln!(out, "    {line}")?;
        }
    }
    for error in &errors.errors {
        writeln!(out, "{}", failed(error))?;
    }
    if errors.next_cursor.is_some() {
        writeln!(out, "and more: `lapidary sources errors` lists all")?;
    }
    Ok(Status::Done)
}

fn errors(catalogue: &CatalogueClient, name: &BookId, json: bool) -> Result<Status, Failure> {
    catalogue.each_page::<ListSourceErrors>(name, |errors| {
        Ok(terminal::lines(&mut out(json), json, &errors, failed)?)
    })?;
    Ok(Status::Done)
}

fn test(target: &Target, name: BookId, json: bool) -> Result<Status, Failure> {
    let SourceTest {
        items,
        skipped,
        excerpt: begins,
        error,
    } = target.open()?.call::<TestSource>(name, ())?;
    for item @ SourceItem {
        url: address,
        title,
        ..
    } in &items
    {
        if json {
            json_line(&mut out(true), item)?;
        } else {
            writeln!(
                out(false),
                "{}\t{}",
                clean(address),
                clean(title.as_deref().unwrap_or_default())
            )?;
        }
    }
    if let Some(error) = error {
        return Err(Failure::Input(error));
    }
    if skipped > 0 {
        tell(format_args!(
            "{skipped} others cannot be used: `lapidary sources errors` lists them after a run"
        ));
    }
    if items.is_empty() {
        tell("lapidary: no book was found on the first pages");
        return Ok(Status::WrongInput);
    }
    tell(format_args!(
        "the first {}",
        count(items.len() as u64, "book", "books")
    ));
    if let Some(begins) = begins {
        tell(format_args!("the first one begins: {}", clean(&begins)));
    }
    Ok(Status::Done)
}

/// Removes a source, and what is known of it unless a server does that.
fn remove(catalogue: &CatalogueClient, name: &BookId) -> Result<Done, Failure> {
    catalogue.call::<DeleteSource>(name.clone(), ())?;
    if let CatalogueClient::Local(catalogue) = catalogue {
        let editor = catalogue.by(Actor::Local);
        // A server may be clearing it, too.
        while !clear_source(&editor, name)? {
            sleep(Duration::from_millis(1));
        }
    }
    Ok(Done)
}

fn pause(target: &Target, name: BookId, paused: bool) -> Result<Status, Failure> {
    let change = SourceChanges::paused(paused);
    target.open()?.call::<ChangeSource>(name, change)?;
    Ok(Status::Done)
}
