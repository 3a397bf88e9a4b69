//! What is due of a kind of work, and its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lapidary_store::StoreError;

use crate::{Lease, LeasedWork, Runner, StopSignal};

/// A kind of work: what is due of it, and how it is done.
pub trait WorkKind: Send + Sync + 'static {
    /// What is known of a piece of work that is due.
    type Task: Send + 'static;
    /// Why it cannot be seen what is due.
    type Error: fmt::Display + From<StoreError>;

    /// The name of the kind.
    const NAME: &'static str;
    /// How often to look for what is due, besides whenever some of it has ended.
    const LOOK: Duration = Duration::from_millis(500);
    /// The lease of whoever does all work of the kind; without one, each piece of work has a lease of its name.
    const LEASE: Option<&'static str> = None;
    /// How long work may be done while other work waits for its place.
    const TURN: Duration = Duration::MAX;
    /// How long to wait for work to end when everything is to stop. Then it is left alone, and changes nothing any more.
    const PATIENCE: Duration = Duration::MAX;

    /// How much of it may be done at once.
    fn places(&self) -> usize;

    /// What is due, in any order. What is being done is left out by the runner.
    fn due(&self) -> Result<Vec<DueWork<Self::Task>>, Self::Error>;

    /// Does work until it is done or told to stop, on a thread of its own. What fails is left alone until the next look.
    fn run(&self, task: Self::Task, work: &Arc<LeasedWork>) -> Result<(), Self::Error>;
}

/// Work that is due.
#[derive(Debug)]
pub struct DueWork<T> {
    /// Its name, and that of its lease.
    pub name: String,
    /// Since when it has been due.
    pub since: Timestamp,
    /// What place it takes.
    pub slot: Slot,
    /// What is known of it.
    pub task: T,
}

/// The place that work takes while it is done.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    /// For whom it is done. All get as many places.
    pub owner: String,
    /// What it needs besides.
    pub bottleneck: Option<Bottleneck>,
}

/// What only some work may use at once.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// Its name.
    pub name: String,
    /// How much work may use it at once.
    pub places: usize,
}

/// The work of a kind.
pub(crate) struct WorkQueue<K> {
    runner: Arc<Runner>,
    kind: K,
}

impl<K: WorkKind> WorkQueue<K> {
    pub(crate) fn new(runner: &Arc<Runner>, kind: K) -> Arc<Self> {
        Arc::new(Self {
            runner: Arc::clone(runner),
            kind,
        })
    }

    /// Does what is due, until everything is to stop.
    pub(crate) fn run(self: &Arc<Self>) {
        let mut common = None;
        while !self.runner.is_stopping() {
            let ended = self.runner.registry.lock().ended(K::NAME);
            if let Err(error) = self.look(&mut common) {
                tracing::warn!("work of the kind {}: {error}", K::NAME);
            }
            self.wait_for_more_than(ended);
        }
        self.finish();
    }

    /// Begins what is due and has a place, if this process does work of the kind.
    fn look(self: &Arc<Self>, common: &mut Option<Arc<Lease>>) -> Result<(), K::Error> {
        if let Some(name) = K::LEASE
            && !self.holds(common, name)?
        {
            return Ok(());
        }
        // Known before what is due, which may still list what ends meanwhile. What begins meanwhile is not begun again.
        let running: BTreeSet<String> = self.runner.registry.lock().names().collect();
        let mut due = self.kind.due()?;
        due.retain(|due| !running.contains(&due.name));
        loop {
            let owners = self.owners();
            let waiting = due.iter().map(|due| (due.since, due.slot.owner.as_str()));
            let Some(next) = foremost(waiting, &owners) else {
                return Ok(());
            };
            let DueWork {
                name, slot, task, ..
            } = due.swap_remove(next);
            if let Some(bottleneck) = &slot.bottleneck
                && self.count(|slot| slot.is_in(bottleneck)) >= bottleneck.places
            {
                self.make_room(|slot| slot.is_in(bottleneck));
            } else if self.count(|_| true) >= self.kind.places() {
                self.make_room(|_| true);
                return Ok(());
            } else {
                self.begin(&name, slot, task, common.as_ref())?;
            }
        }
    }

    /// Takes or renews the lease of the kind. Returns whether this process has it.
    fn holds(&self, common: &mut Option<Arc<Lease>>, name: &str) -> Result<bool, StoreError> {
        if let Some(lease) = common
            && !lease.renew()?
        {
            *common = None;
        }
        if common.is_none() {
            *common = Lease::take(self.runner.store(), name)?.map(Arc::new);
        }
        Ok(common.is_some())
    }

    fn begin(
        self: &Arc<Self>,
        name: &str,
        slot: Slot,
        task: K::Task,
        common: Option<&Arc<Lease>>,
    ) -> Result<(), StoreError> {
        let Some(work) = self.runner.begin_in(K::NAME, name, slot, common)? else {
            return Ok(());
        };
        let queue = Arc::clone(self);
        let run = move || queue.run_one(task, &Arc::new(work));
        if let Err(error) = self.runner.do_work(K::NAME, name, run) {
            tracing::error!("no thread for '{name}': {error}");
        }
        Ok(())
    }

    fn run_one(&self, task: K::Task, work: &Arc<LeasedWork>) {
        if let Err(error) = self.kind.run(task, work) {
            tracing::error!("{}: {error}", work.name());
            work.stop().sleep(K::LOOK);
        }
    }

    /// Ends one of these, if it has had its turn: of the owner with the most, the oldest. It is due again, after what waits now.
    fn make_room(&self, whose: impl Fn(&Slot) -> bool) {
        let owners = self.owners();
        let registry = self.runner.registry.lock();
        let done = registry
            .of(K::NAME)
            .filter(|work| whose(&work.slot) && work.since.elapsed() > K::TURN);
        let longest =
            done.max_by_key(|work| (owners.get(&work.slot.owner).copied(), work.since.elapsed()));
        if let Some(longest) = longest {
            longest.stop.end();
        }
    }

    /// How many places each owner has.
    fn owners(&self) -> BTreeMap<String, usize> {
        let mut owners = BTreeMap::new();
        for work in self.runner.registry.lock().of(K::NAME) {
            *owners.entry(work.slot.owner.clone()).or_default() += 1;
        }
        owners
    }

    fn count(&self, whose: impl Fn(&Slot) -> bool) -> usize {
        let registry = self.runner.registry.lock();
        registry
            .of(K::NAME)
            .filter(|work| whose(&work.slot))
            .count()
    }

    /// Waits until some more has ended, or it is time to look.
    fn wait_for_more_than(&self, ended: u64) {
        let Runner {
            registry, changed, ..
        } = &*self.runner;
        changed.wait_while_for(
            &mut registry.lock(),
            |registry| !registry.is_stopping && registry.ended(K::NAME) == ended,
            K::LOOK,
        );
    }

    /// Waits for the work to end, or leaves it alone.
    fn finish(&self) {
        let begun = Instant::now();
        let mut registry = self.runner.registry.lock();
        while registry.of(K::NAME).next().is_some() {
            let left = K::PATIENCE.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            self.runner.changed.wait_for(&mut registry, left);
        }
        let left: Vec<Arc<StopSignal>> = registry
            .of(K::NAME)
            .map(|work| Arc::clone(&work.stop))
            .collect();
        drop(registry);
        for stop in left {
            stop.drop_it();
        }
    }
}

impl Slot {
    fn is_in(&self, bottleneck: &Bottleneck) -> bool {
        self.bottleneck
            .as_ref()
            .is_some_and(|of| of.name == bottleneck.name)
    }
}

/// Which of those that wait comes first: of an owner with the fewest places, the one that has waited the longest. So no owner
/// keeps others from having places, however much work it has.
fn foremost<'o>(
    waiting: impl Iterator<Item = (Timestamp, &'o str)>,
    places: &BTreeMap<String, usize>,
) -> Option<usize> {
    let ranked = waiting
        .enumerate()
        .map(|(number, (since, owner))| (places.get(owner).copied(), since, number));
    ranked.min().map(|(.., number)| number)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use parking_lot::Mutex;

    use lapidary_store::{RocksStore, Store};

    use super::*;

    #[test]
    fn owners_take_turns() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let waiting = [
            (at(1), "busy"),
            (at(9), "quiet"),
            (at(2), "busy"),
            (at(5), "quiet"),
        ];
        let first = |places: &[(&str, usize)]| {
            let places = places.iter().map(|(owner, n)| ((*owner).to_owned(), *n));
            foremost(waiting.into_iter(), &places.collect())
        };
        assert_eq!(first(&[]), Some(0), "the one that has waited the longest");
        assert_eq!(
            first(&[("busy", 1)]),
            Some(3),
            "the other owner, and of it the one that has waited the longest"
        );
        assert_eq!(first(&[("busy", 1), ("quiet", 2)]), Some(0));
        assert_eq!(foremost([].into_iter(), &BTreeMap::new()), None);
    }

    /// Pieces of work, some of which are of a site.
    struct Pieces {
        /// How many of the threads that did one have ended.
        threads_ended: AtomicUsize,
        left: Mutex<Vec<&'static str>>,
        running: Mutex<Vec<&'static str>>,
        /// The most that was done at once, in all and of the site.
        most: Mutex<(usize, usize)>,
    }

    /// Of a thread that takes its time to end.
    struct ThreadEnd(Arc<Pieces>);

    impl Drop for ThreadEnd {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(50));
            self.0.threads_ended.fetch_add(1, Ordering::Relaxed);
        }
    }

    thread_local! {
        static END: RefCell<Option<ThreadEnd>> = const { RefCell::new(None) };
    }

    impl WorkKind for Arc<Pieces> {
        type Task = &'static str;
        type Error = StoreError;
        const NAME: &'static str = "piece";

        fn places(&self) -> usize {
            2
        }

        fn due(&self) -> Result<Vec<DueWork<&'static str>>, StoreError> {
            let left = self.left.lock().clone();
            // Some of it is done before it is seen.
            thread::sleep(Duration::from_millis(30));
            let due = left.into_iter().map(|name| {
                let bottleneck = is_of_site(name).then(|| Bottleneck {
                    name: "site".to_owned(),
                    places: 1,
                });
                let owner = String::new();
                DueWork {
                    name: name.to_owned(),
                    since: Timestamp::UNIX_EPOCH,
                    slot: Slot { owner, bottleneck },
                    task: name,
                }
            });
            Ok(due.collect())
        }

        fn run(&self, name: &'static str, work: &Arc<LeasedWork>) -> Result<(), StoreError> {
            END.replace(Some(ThreadEnd(Arc::clone(self))));
            let mut running = self.running.lock();
            running.push(name);
            let of_site = running.iter().filter(|name| is_of_site(name)).count();
            let mut most = self.most.lock();
            *most = (most.0.max(running.len()), most.1.max(of_site));
            drop((running, most));
            work.stop().sleep(Duration::from_millis(50));
            self.running.lock().retain(|running| *running != name);
            self.left.lock().retain(|left| *left != name);
            Ok(())
        }
    }

    fn is_of_site(name: &str) -> bool {
        name.starts_with("site")
    }

    #[test]
    fn work_is_done_within_its_places_and_bottlenecks() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = RocksStore::open_or_create(folder.path()).expect("a store");
        let runner = Runner::new(Arc::new(store) as Arc<dyn Store>);
        let pieces = Arc::new(Pieces {
            threads_ended: AtomicUsize::new(0),
            left: vec!["site 1", "site 2", "a", "b"].into(),
            running: Mutex::default(),
            most: Mutex::default(),
        });
        runner.schedule(Arc::clone(&pieces));
        while !pieces.left.lock().is_empty() {
            assert!(runner.sleep(Duration::from_millis(5)));
        }
        runner.stop();
        runner.join();
        assert!(runner.begin("a").expect("the store").is_none());
        assert_eq!(*pieces.most.lock(), (2, 1));
        let ended = pieces.threads_ended.load(Ordering::Relaxed);
        assert_eq!(ended, 4, "done once each, and no thread is running");
    }
}
