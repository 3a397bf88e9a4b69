//! The work of a process.

use std::collections::BTreeMap;
use std::io;
use std::mem::take;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use lapidary_store::{Action, Actor, LeaseEnd, RowChange, Store, StoreError};

use crate::lease::LEASE;
use crate::queue::{Slot, WorkKind, WorkQueue};
use crate::{Lease, StopSignal};

/// How often to renew a lease.
const RENEWAL: Duration = Duration::from_secs(2);

/// Does the work of a process.
pub struct Runner {
    store: Arc<dyn Store>,
    pub(crate) registry: Mutex<Registry>,
    /// Signals that the registry has changed.
    pub(crate) changed: Condvar,
    threads: Mutex<Vec<RunnerThread>>,
}

/// A thread, and the name of the work that it does if it is of a kind.
struct RunnerThread {
    work: Option<String>,
    handle: JoinHandle<()>,
}

/// What is being done.
#[derive(Default)]
pub(crate) struct Registry {
    works: BTreeMap<String, RunningWork>,
    /// How many pieces of work of each kind have ended.
    ended: BTreeMap<&'static str, u64>,
    pub(crate) is_stopping: bool,
}

impl Registry {
    /// The work of a kind.
    pub(crate) fn of(&self, kind: &'static str) -> impl Iterator<Item = &RunningWork> {
        self.works.values().filter(move |work| work.kind == kind)
    }

    /// What is being done, by hand or not.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.works.keys().cloned()
    }

    /// How much work of a kind has ended.
    pub(crate) fn ended(&self, kind: &str) -> u64 {
        self.ended.get(kind).copied().unwrap_or_default()
    }
}

/// Work that is being done.
pub(crate) struct RunningWork {
    /// Empty if it was begun by hand.
    kind: &'static str,
    pub(crate) slot: Slot,
    pub(crate) since: Instant,
    pub(crate) stop: Arc<StopSignal>,
}

impl Runner {
    /// Creates the runner of a process.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            store,
            registry: Mutex::default(),
            changed: Condvar::new(),
            threads: Mutex::default(),
        })
    }

    /// The store in which the work is.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Begins work that only one may do; `None` if it is being done, here or elsewhere, or everything is to stop.
    pub fn begin(self: &Arc<Self>, name: &str) -> Result<Option<LeasedWork>, StoreError> {
        self.begin_in("", name, Slot::default(), None)
    }

    /// Begins work of a kind, under the `common` lease of the kind or one of its own.
    pub(crate) fn begin_in(
        self: &Arc<Self>,
        kind: &'static str,
        name: &str,
        slot: Slot,
        common: Option<&Arc<Lease>>,
    ) -> Result<Option<LeasedWork>, StoreError> {
        let Some(mut entry) = Registration::register(self, kind, name, slot) else {
            return Ok(None);
        };
        let lease = match common {
            Some(lease) => Some(Arc::clone(lease)),
            None => Lease::take(&self.store, name)?.map(Arc::new),
        };
        entry.is_begun = lease.is_some();
        Ok(lease.map(|lease| LeasedWork { lease, entry }))
    }

    /// Whether this work is being done here.
    fn has(&self, name: &str) -> bool {
        self.registry.lock().works.contains_key(name)
    }

    /// Pauses work, if it is done here: it ends soon, and may still write down what it has done.
    pub fn end(&self, name: &str) {
        if let Some(stop) = self.stop_of(name) {
            stop.end();
        }
    }

    /// Cancels work, wherever it is done. Once this returns, it changes nothing any more.
    pub fn revoke(&self, name: &str) -> Result<(), StoreError> {
        if let Some(stop) = self.stop_of(name) {
            stop.drop_it();
        }
        self.store.sharing().map_or(Ok(()), |sharing| {
            sharing.end_lease(name, "-", LeaseEnd::Revoked)
        })
    }

    fn stop_of(&self, name: &str) -> Option<Arc<StopSignal>> {
        let registry = self.registry.lock();
        registry
            .works
            .get(name)
            .map(|running| Arc::clone(&running.stop))
    }

    /// Does work of a kind whenever it is due, in the background, until everything is to stop.
    pub fn schedule(self: &Arc<Self>, kind: impl WorkKind) {
        let queue = WorkQueue::new(self, kind);
        self.beside(move || queue.run());
    }

    /// Does something else in the background, until it sees that it [must stop](Runner::is_stopping).
    pub fn beside(&self, work: impl FnOnce() + Send + 'static) {
        self.remember(None, thread::spawn(work));
    }

    /// Does work of a kind in a thread of its own.
    pub(crate) fn do_work(
        &self,
        kind: &str,
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let thread = thread::Builder::new().name(format!("lapidary-{kind}"));
        self.remember(Some(name.to_owned()), thread.spawn(work)?);
        Ok(())
    }

    fn remember(&self, work: Option<String>, handle: JoinHandle<()>) {
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.handle.is_finished());
        threads.push(RunnerThread { work, handle });
    }

    /// Whether everything is to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.registry.lock().is_stopping
    }

    /// Waits this long, or until everything is to stop. Returns whether it goes on.
    pub fn sleep(&self, time: Duration) -> bool {
        let goes_on = |registry: &mut Registry| !registry.is_stopping;
        let mut registry = self.registry.lock();
        self.changed.wait_while_for(&mut registry, goes_on, time);
        goes_on(&mut registry)
    }

    /// Tells everything to stop. What is done resumes when the store is served again.
    pub fn stop(&self) {
        let mut registry = self.registry.lock();
        registry.is_stopping = true;
        self.changed.notify_all();
        for running in registry.works.values() {
            running.stop.end();
        }
    }

    /// Waits until everything has stopped, but for work that is left alone. A thread that ends has the store until it has ended,
    /// and the process must not end before.
    pub fn join(&self) {
        loop {
            let threads = take(&mut *self.threads.lock());
            if threads.is_empty() {
                return;
            }
            let (schedules, works): (Vec<_>, Vec<_>) = threads
                .into_iter()
                .partition(|thread| thread.work.is_none());
            // Once these have ended, what is still registered is left alone.
            for thread in schedules {
                // One that panicked has said so.
                let _ = thread.handle.join();
            }
            let is_left =
                |thread: &RunnerThread| thread.work.as_ref().is_some_and(|name| self.has(name));
            for thread in works.into_iter().filter(|thread| !is_left(thread)) {
                let _ = thread.handle.join();
            }
        }
    }
}

/// The entry of some work in the registry, until it is dropped.
struct Registration {
    runner: Arc<Runner>,
    kind: &'static str,
    name: String,
    stop: Arc<StopSignal>,
    is_begun: bool,
}

impl Registration {
    fn register(runner: &Arc<Runner>, kind: &'static str, name: &str, slot: Slot) -> Option<Self> {
        let stop = Arc::new(StopSignal::default());
        let mut registry = runner.registry.lock();
        if registry.is_stopping || registry.works.contains_key(name) {
            return None;
        }
        let running = RunningWork {
            kind,
            slot,
            since: Instant::now(),
            stop: Arc::clone(&stop),
        };
        registry.works.insert(name.to_owned(), running);
        Some(Self {
            runner: Arc::clone(runner),
            kind,
            name: name.to_owned(),
            stop,
            is_begun: false,
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut registry = self.runner.registry.lock();
        registry.works.remove(&self.name);
        if self.is_begun {
            *registry.ended.entry(self.kind).or_default() += 1;
        }
        self.runner.changed.notify_all();
    }
}

/// Work that nobody else does until this is dropped.
pub struct LeasedWork {
    // Ends before the name is free again here.
    lease: Arc<Lease>,
    entry: Registration,
}

impl LeasedWork {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// What tells it to stop.
    #[must_use]
    pub fn stop(&self) -> &Arc<StopSignal> {
        &self.entry.stop
    }

    /// The same store, which is changed only while the lease is held. What former holders change is refused from now on.
    pub fn guard(&self, store: &Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        self.lease.refuse_former()?;
        Ok(self.lease.guard(store))
    }

    /// Changes rows in one step. Returns whether it did; not if the work was cancelled or goes on elsewhere, and then it never
    /// will again.
    pub fn apply(&self, changes: &[RowChange]) -> Result<bool, StoreError> {
        self.apply_and_note(&Actor::Local, changes, &[])
    }

    /// The same, and appends entries to the audit log in the same step.
    pub fn apply_and_note(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<bool, StoreError> {
        let stop = self.stop();
        let applied = stop.unless_dropped(|| self.lease.apply(by, changes, actions));
        let applied = applied.transpose()?.unwrap_or_default();
        if !applied {
            stop.drop_it();
        }
        Ok(applied)
    }

    /// Changes rows and appends entries to the audit log, in one step.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if the work goes on elsewhere.
    pub fn apply_noting(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        self.lease.apply_noting(by, changes, actions)
    }

    /// Keeps the lease while `task` is done. `look` is called at once and every two seconds, and `stopped` as soon as the task
    /// is told to stop, or is done.
    pub fn keep_during<T>(
        &self,
        look: impl FnMut() + Send,
        stopped: impl FnOnce() + Send,
        task: impl FnOnce() -> T,
    ) -> T {
        thread::scope(|scope| {
            scope.spawn(|| {
                self.keep(look);
                stopped();
            });
            // Also if it panics: the thread above goes on until it is told.
            let _end = EndOnDrop(self.stop());
            task()
        })
    }

    fn keep(&self, mut look: impl FnMut()) {
        let mut renewed = Instant::now();
        loop {
            look();
            if !self.stop().sleep(RENEWAL) {
                return;
            }
            let asked = Instant::now();
            match self.lease.renew() {
                Ok(true) => renewed = asked,
                Ok(false) => self.stop().drop_it(),
                Err(error) => {
                    tracing::warn!("the lease of '{}' is not renewed: {error}", self.name());
                }
            }
            // Nobody else does it before that.
            if renewed.elapsed() >= LEASE {
                self.stop().drop_it();
            }
        }
    }
}

/// Ends work when it is dropped.
struct EndOnDrop<'s>(&'s StopSignal);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
