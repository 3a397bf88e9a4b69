//! Runs sources when they are due, in the background of a server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use super::folders::Folders;
use super::plan::{PlannedRun, drop_asked, end_all, plans, put_begun, removed};
use super::sources::clear_source;
use super::sources::{Sources as _, lease_of};
use super::{Harvest, HarvestError, Quotas, Source, Tally};
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::SourceState;
use lapidary_catalogue::metrics::{METRICS, SourcesNow};
use lapidary_extract::Limits;
use lapidary_store::{Actor, BookId};
use lapidary_work::{Bottleneck, DueWork, LeasedWork, Slot, WorkKind};

/// How often the metrics are updated that need all sources.
const MEASURE: Duration = Duration::from_secs(10);

/// Runs the sources of a catalogue that are due, until its background work stops.
pub struct Schedule {
    catalogue: Arc<Catalogue>,
    limits: Limits,
    /// How many run at once.
    most: usize,
    folders: Mutex<Folders>,
    measured: Mutex<Option<Instant>>,
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

/// A source that is due.
pub struct DueSource {
    name: BookId,
    source: Source,
    /// The run that was to go on, if it is one.
    planned: PlannedRun,
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
        if !catalogue.is_shared()
            && let Err(error) = end_all(&catalogue.by(Actor::Local))
        {
            tracing::warn!("sources: {error}");
        }
        catalogue.runner().schedule(Self {
            catalogue: Arc::clone(catalogue),
            limits,
            most,
            folders: Mutex::default(),
            measured: Mutex::default(),
            begin,
            bounds,
        });
    }

    fn folders(&self) -> MutexGuard<'_, Folders> {
        self.folders.lock()
    }

    /// Updates the metrics from time to time.
    fn measure(&self) -> Result<(), HarvestError> {
        let mut measured = self.measured.lock();
        if measured.is_some_and(|measured| measured.elapsed() < MEASURE) {
            return Ok(());
        }
        *measured = Some(Instant::now());
        let mut now = SourcesNow::default();
        for source in self.catalogue.shown_sources(&|_, _| true, usize::MAX)? {
            now.queued += source.queued;
            now.refused += source.run.map_or(0, |run| run.refused);
            now.running += u64::from(source.state == SourceState::Running);
            now.failing += u64::from(source.error.is_some());
        }
        METRICS.sources.set(&now);
        Ok(())
    }

    fn harvest(&self, name: &BookId, work: &Arc<LeasedWork>) -> Result<Tally, HarvestError> {
        let editor = self.catalogue.by(Actor::Local);
        let KeyBounds { quotas, queue } = self.bounds.clone();
        Harvest::under(Arc::clone(work), &editor, name, self.limits, &mut |_| {})?
            .within(quotas, queue)
            .run()
    }
}

impl WorkKind for Schedule {
    type Task = DueSource;
    type Error = HarvestError;

    const NAME: &'static str = "source";
    const TURN: Duration = Duration::from_mins(5);
    /// A request that takes longer is given up: whatever it brings is not written.
    const PATIENCE: Duration = Duration::from_secs(5);

    fn places(&self) -> usize {
        self.most
    }

    fn due(&self) -> Result<Vec<DueWork<DueSource>>, HarvestError> {
        for name in removed(&self.catalogue)? {
            clear_source(&self.catalogue.by(Actor::Local), &name)?;
        }
        self.measure()?;
        let mut plans = plans(&self.catalogue)?;
        let sources = self.catalogue.sources()?;
        let mut folders = self.folders();
        if self.most > 0 {
            folders.follow(&sources);
        }
        let (mut due, now) = (Vec::new(), Timestamp::now());
        for (name, source) in sources {
            let plan = plans.remove(name.as_str()).unwrap_or_default();
            if plan.is_running() {
                continue;
            }
            let by_plan = plan.due(&source).filter(|at| *at <= now);
            let by_change = folders.has_changed(&source).then_some(now);
            let Some(since) = by_plan.or(by_change) else {
                continue;
            };
            let bottleneck = source.host().map(|name| Bottleneck { name, places: 1 });
            let owner = source.library.to_string();
            due.push(DueWork {
                name: lease_of(&name),
                since,
                slot: Slot { owner, bottleneck },
                task: DueSource {
                    name,
                    source,
                    planned: plan.planned.unwrap_or_else(PlannedRun::now),
                },
            });
        }
        Ok(due)
    }

    fn run(&self, due: DueSource, work: &Arc<LeasedWork>) -> Result<(), HarvestError> {
        (self.begin)();
        let DueSource {
            name,
            source,
            planned,
        } = due;
        self.folders().forget(&source);
        tracing::info!("the source {name} is fetched");
        // From here on, whoever is there goes on with it, until its end.
        let planned = PlannedRun {
            at: Timestamp::now(),
            ..planned
        };
        if !work.apply(&[put_begun(&name, &planned), drop_asked(&name)])? {
            return Ok(());
        }
        if let Some(next) = next_run(&name, planned, self.harvest(&name, work)) {
            work.apply(&[put_begun(&name, &next)])?;
        }
        Ok(())
    }
}

/// When a run goes on that ended like this, if it was not at its end.
fn next_run(
    name: &BookId,
    planned: PlannedRun,
    ended: Result<Tally, HarvestError>,
) -> Option<PlannedRun> {
    match ended {
        Ok(tally) => {
            tracing::info!(
                "the source {name} was fetched: {} books, {} added, {} refused",
                tally.fetched,
                tally.added,
                tally.refused
            );
            None
        }
        Err(HarvestError::NoSuchSource(_)) => {
            tracing::info!("the source {name} was removed");
            None
        }
        Err(error @ HarvestError::Paused(_)) => {
            tracing::info!("{error}");
            None
        }
        // After those that have waited while it ran.
        Err(error @ HarvestError::Stopped { .. }) => {
            tracing::info!("{error}");
            Some(PlannedRun {
                at: Timestamp::now(),
                ..planned
            })
        }
        Err(error) => {
            tracing::warn!("the source {name}: {error}");
            let why = error.to_string();
            Some(match error {
                HarvestError::QuotaUsedUp { .. } => PlannedRun::tomorrow(why),
                _ => planned.after_failure(why),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_stopped_goes_on_with_its_failures() {
        let name = "theirs".parse().expect("a name");
        let planned = PlannedRun::now()
            .after_failure("no answer".to_owned())
            .after_failure("no answer".to_owned());
        let ended = Err(HarvestError::Stopped { left: 1 });
        let next = next_run(&name, planned.clone(), ended).expect("it goes on");
        assert_eq!((next.failures, next.error), (2, planned.error));
        assert!(
            next.at < planned.at,
            "after those that have waited while it ran"
        );
    }
}
