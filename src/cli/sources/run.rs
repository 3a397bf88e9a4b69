//! Runs a source, in this process or on a server, and shows how far it is.

use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

use indicatif::ProgressBar;
use lapidary::server::settings::LimitArguments;
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::{SourceRun, SourceState};
use lapidary_common::error::ErrorCode;
use lapidary_harvest::{Harvest, HarvestError, Sources as _, Tally, Watched};
use lapidary_operations::PageQuery;
use lapidary_operations::sources::{ListSourceErrors, RunSource, ShowSource};
use lapidary_store::{Actor, BookId};

use super::super::arguments::{CataloguePlace, Target};
use super::super::failure::{Failure, Status};
use super::super::remote::Remote;
use super::super::terminal::{json_line, out, tell};
use super::SHOWN;
use super::lines::{not_taken, tally, words};

/// A queue is read in order and an address looked up once, so a larger cache of the store would only take memory.
const CACHE_BYTES: usize = 48 << 20;
/// How often to ask a server how far a run is.
const LOOK: Duration = Duration::from_millis(500);

pub(super) fn run(
    target: &Target,
    name: &BookId,
    limits: LimitArguments,
    json: bool,
) -> Result<Status, Failure> {
    let tally = match target.place()? {
        CataloguePlace::Server(url) => run_there(&Remote::new(&url)?, name)?,
        _ => run_here(target, name, limits)?,
    };
    if json {
        json_line(&mut out(true), &tally)?;
    } else {
        writeln!(out(false), "{}", words(&tally))?;
    }
    Ok(Status::of_input(tally.refused > 0))
}

fn run_here(target: &Target, name: &BookId, limits: LimitArguments) -> Result<Tally, Failure> {
    let catalogue = match target.place()? {
        CataloguePlace::Folder(folder) => Catalogue::open_with_cache(&folder, CACHE_BYTES)?,
        CataloguePlace::Cluster(_) | CataloguePlace::Server(_) => target.open_here()?,
    };
    let bar = ProgressBar::new_spinner();
    let editor = catalogue.by(Actor::Local);
    let mut watch = |watched: &Watched<'_>| {
        bar.set_message(words(&watched.tally));
        bar.tick();
        if let Some((address, why)) = watched.refused {
            bar.suspend(|| tell(format_args!("refused {address}: {why}")));
        }
    };
    let ended = Harvest::new(&editor, name, limits.limits(), &mut watch)?.run();
    bar.finish_and_clear();
    let tally = ended?;
    if let Some(run) = catalogue.shown_source(name)?.run {
        for line in not_taken(&run) {
            tell(line);
        }
    }
    Ok(tally)
}

/// Has a server run a source, and shows how far it is.
fn run_there(server: &Remote, name: &BookId) -> Result<Tally, Failure> {
    let ended = server
        .call::<ShowSource>(name, &())?
        .run
        .filter(|run| run.finished_at.is_some())
        .map(|run| run.number);
    let mut source = server.call::<RunSource>(name, &())?;
    let bar = ProgressBar::new_spinner();
    loop {
        if let Some(run) = source.run.as_ref().filter(|run| is_done(run, ended)) {
            bar.finish_and_clear();
            let refused = server
                .call::<ListSourceErrors>(name, &PageQuery::first(SHOWN))?
                .errors;
            for error in refused
                .iter()
                .filter(|error| error.failed_at >= run.started_at)
                .filter(|error| error.retry_at.is_none() && !error.reason.is_skipped())
            {
                tell(format_args!("refused {}: {}", error.url, error.detail));
            }
            for line in not_taken(run) {
                tell(line);
            }
            return Ok(tally(run));
        }
        if let Some(error) = source.error {
            return Err(Failure::new(ErrorCode::SourceUnreachable, error));
        }
        if source.state == SourceState::Paused {
            return Err(HarvestError::Paused(name.as_str().to_owned()).into());
        }
        bar.set_message(
            source
                .run
                .as_ref()
                .map(|run| words(&tally(run)))
                .unwrap_or_default(),
        );
        bar.tick();
        sleep(LOOK);
        source = server.call::<ShowSource>(name, &())?;
    }
}

fn is_done(run: &SourceRun, before: Option<u64>) -> bool {
    run.finished_at.is_some() && Some(run.number) != before
}
