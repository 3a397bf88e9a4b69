//! Runs sources when they are due, in the background of a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::folders::Folders;
use super::plan::{Plan, Wanted, end_all, plans, put_wanted, removed};
use super::sources::clear_source;
use super::sources::{Sources as _, lease_of};
use super::{Harvest, HarvestError, Quotas, Source, Watched};
use lapidary_catalogue::api::SourceState;
use lapidary_catalogue::metrics::{METRICS, SourcesNow};
use lapidary_catalogue::{Catalogue, Stop};
use lapidary_extract::Limits;
use lapidary_store::{Actor, BookId, Library};

/// How often to look which sources are due.
const LOOK: Duration = Duration::from_millis(500);
/// How often the metrics are updated that need all sources.
const MEASURE: Duration = Duration::from_secs(10);
/// How long to wait for runs to end. A request that takes longer is given up: whatever it brings is not written.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a source may run while others wait for its place.
const TURN: Duration = Duration::from_secs(300);

/// A run in this process.
struct Running {
    library: Library,
    host: Option<String>,
    since: Instant,
    thread: JoinHandle<()>,
}

/// Runs the sources of a catalogue that are due, until its background work stops.
pub struct Schedule {
    catalogue: Arc<Catalogue>,
    limits: Limits,
    /// How many run at once.
    most: usize,
    running: BTreeMap<BookId, Running>,
    folders: Folders,
    begin: fn(),
    bounds: KeyBounds,
}

/// What bounds the sources that keys define.
#[derive(Clone)]
pub struct KeyBounds {
    /// Called with the books of a key.
    pub quotas: Quotas,
    /// How many addresses may wait for all sources of a key.
    pub queue: u64,
}

impl Schedule {
    /// Begins to run sources, at most `most` at once. `begin` is called on each thread that runs one.
    pub fn start(
        catalogue: &Arc<Catalogue>,
        limits: Limits,
        most: usize,
        begin: fn(),
        bounds: KeyBounds,
    ) {
        let (running, folders) = (BTreeMap::new(), Folders::default());
        let mut schedule = Self {
            catalogue: Arc::clone(catalogue),
            limits,
            most,
            running,
            folders,
            begin,
            bounds,
        };
        catalogue.run_beside(move || {
            if !schedule.catalogue.is_shared()
                && let Err(error) = end_all(&schedule.catalogue.by(Actor::Local))
            {
                tracing::warn!("sources: {error}");
            }
            let mut measured: Option<Instant> = None;
            while !schedule.catalogue.is_stopping() {
                let mut looked = schedule.look();
                if measured.is_none_or(|measured| measured.elapsed() >= MEASURE) {
                    looked = looked.and_then(|()| schedule.measure());
                    measured = Some(Instant::now());
                }
                if let Err(error) = looked {
                    tracing::warn!("sources: {error}");
                }
                thread::sleep(LOOK);
            }
            schedule.end();
        });
    }

    /// Begins the runs that are due and have a place.
    fn look(&mut self) -> Result<(), HarvestError> {
        self.running
            .retain(|_, running| !running.thread.is_finished());
        for name in removed(&self.catalogue)? {
            clear_source(&self.catalogue.by(Actor::Local), &name)?;
        }
        let mut plans = plans(&self.catalogue)?;
        let now = Timestamp::now();
        let mut due = Vec::new();
        let sources = self.catalogue.sources()?;
        if self.most > 0 {
            self.folders.follow(&sources);
        }
        for (name, source) in sources {
            let plan = plans.remove(name.as_str()).unwrap_or_default();
            if self.running.contains_key(&name) || plan.is_running() {
                continue;
            }
            let by_change = || self.folders.has_changed(&source).then_some(now);
            if let Some(at) = plan.due(&source).filter(|at| *at <= now).or_else(by_change) {
                due.push((at, name, source, plan));
            }
        }
        while let Some(next) = foremost(
            due.iter().map(|(at, _, source, _)| (*at, &source.library)),
            &self.libraries(),
        ) {
            let (_, name, source, plan) = due.swap_remove(next);
            let host = source.host();
            let is_of_host = |running: &Running| host.is_some() && running.host == host;
            if self.running.values().any(is_of_host) {
                self.make_room(is_of_host)?;
            } else if self.running.len() >= self.most {
                return self.make_room(|_| true);
            } else {
                self.begin(name, &source, plan)?;
            }
        }
        Ok(())
    }

    /// The libraries of the runs.
    fn libraries(&self) -> Vec<&Library> {
        self.running
            .values()
            .map(|running| &running.library)
            .collect()
    }

    /// Updates the metrics.
    fn measure(&self) -> Result<(), HarvestError> {
        let mut now = SourcesNow::default();
        for source in self.catalogue.shown_sources(&|_| true)? {
            now.queued += source.queued;
            now.refused += source.run.map_or(0, |run| run.refused);
            now.running += u64::from(source.state == SourceState::Running);
            now.failing += u64::from(source.error.is_some());
        }
        METRICS.sources.set(&now);
        Ok(())
    }

    /// Ends one of these runs, if it has had its turn: of the library with the most runs, the oldest. It is due again, after
    /// those that wait now.
    fn make_room(&self, whose: impl Fn(&Running) -> bool) -> Result<(), HarvestError> {
        let libraries = self.libraries();
        let done = self
            .running
            .iter()
            .filter(|(_, running)| whose(running) && running.since.elapsed() > TURN);
        let longest = done.max_by_key(|(_, running)| {
            (
                runs_of(&running.library, &libraries),
                running.since.elapsed(),
            )
        });
        if let Some((name, _)) = longest {
            self.catalogue
                .by(Actor::Local)
                .apply_rows(&[put_wanted(name, &Wanted::now())])?;
            self.catalogue.end_leased(&lease_of(name));
        }
        Ok(())
    }

    fn begin(&mut self, name: BookId, source: &Source, plan: Plan) -> Result<(), HarvestError> {
        self.folders.forget(source);
        // From here on, whoever is there goes on with it, until its end.
        let wanted = Wanted {
            at: Timestamp::now(),
            ..plan.wanted.unwrap_or_else(Wanted::now)
        };
        self.catalogue
            .by(Actor::Local)
            .apply_rows(&[put_wanted(&name, &wanted)])?;
        let (catalogue, limits, begin, of) = (
            Arc::clone(&self.catalogue),
            self.limits,
            self.begin,
            name.clone(),
        );
        let bounds = self.bounds.clone();
        let thread = thread::Builder::new()
            .name("lapidary-source".to_owned())
            .spawn(move || {
                begin();
                run(&catalogue, &of, limits, wanted, bounds);
            });
        match thread {
            Ok(thread) => {
                let library = source.library.clone();
                let running = Running {
                    library,
                    host: source.host(),
                    since: Instant::now(),
                    thread,
                };
                self.running.insert(name, running);
            }
            Err(error) => tracing::error!("no thread for the source {name}: {error}"),
        }
        Ok(())
    }

    /// Waits for the runs to end.
    fn end(self) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE
            && self
                .running
                .values()
                .any(|running| !running.thread.is_finished())
        {
            thread::sleep(Duration::from_millis(10));
        }
        self.catalogue.stop_leased(Stop::drop_it);
    }
}

/// How many of the runs are of a library.
fn runs_of(library: &Library, running: &[&Library]) -> usize {
    running.iter().filter(|of| **of == library).count()
}

/// Which of those that wait comes first: of a library with the fewest runs, the one that has waited the longest. So no library
/// keeps others from being fetched, however many sources it has.
fn foremost<'l>(
    waiting: impl Iterator<Item = (Timestamp, &'l Library)>,
    running: &[&Library],
) -> Option<usize> {
    let ranked = waiting
        .enumerate()
        .map(|(place, (since, library))| (runs_of(library, running), since, place));
    ranked.min().map(|(.., place)| place)
}

fn run(catalogue: &Catalogue, name: &BookId, limits: Limits, wanted: Wanted, bounds: KeyBounds) {
    let editor = catalogue.by(Actor::Local);
    let mut watch = |_: &Watched<'_>| {};
    tracing::info!("the source {name} is fetched");
    let KeyBounds { quotas, queue } = bounds;
    let harvest = Harvest::new(&editor, name, limits, &mut watch);
    let ended = harvest.and_then(|harvest| harvest.within(quotas, queue).run());
    match ended {
        Ok(tally) => tracing::info!(
            "the source {name} was fetched: {} books, {} added, {} refused",
            tally.fetched,
            tally.added,
            tally.refused
        ),
        Err(
            error
            @ (HarvestError::Runs(_) | HarvestError::Paused(_) | HarvestError::Stopped { .. }),
        ) => {
            tracing::info!("{error}");
        }
        Err(HarvestError::NoSuchSource(_)) => tracing::info!("the source {name} was removed"),
        Err(error) => {
            tracing::warn!("the source {name}: {error}");
            let why = error.to_string();
            let is_of_day = matches!(error, HarvestError::QuotaUsedUp { .. });
            let later = put_wanted(
                name,
                &if is_of_day {
                    Wanted::tomorrow(why)
                } else {
                    wanted.after_failure(why)
                },
            );
            if let Err(error) = editor.apply_rows(&[later]) {
                tracing::error!("the source {name}: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_take_turns() {
        let [busy, quiet] = ["busy", "quiet"].map(|name| name.parse::<Library>().expect("a name"));
        let at = |second| Timestamp::from_second(second).expect("a time");
        let waiting = [
            (at(1), &busy),
            (at(9), &quiet),
            (at(2), &busy),
            (at(5), &quiet),
        ];
        let first = |running: &[&Library]| foremost(waiting.into_iter(), running);
        assert_eq!(first(&[]), Some(0), "the one that has waited the longest");
        assert_eq!(
            first(&[&busy]),
            Some(3),
            "the other library, and of it the one that has waited the longest"
        );
        assert_eq!(first(&[&busy, &quiet, &quiet]), Some(0));
        assert_eq!(foremost([].into_iter(), &[&busy]), None);
    }
}
