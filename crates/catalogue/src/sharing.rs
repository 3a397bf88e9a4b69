//! Servers that share a store: turns, and what each must learn of the others.
//!
//! A catalogue in a folder belongs to one process, so all of this is trivial there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockWriteGuard};

use super::{Catalogue, CatalogueError};
use lapidary_store::{Action, Actor, RowChange, Spending, Spent, Store, StoreError};
use lapidary_work::Lease;

/// How often to learn what others have changed.
const FOLLOW: Duration = Duration::from_millis(500);
/// How old what is known of settings may be.
pub(super) const FRESH: Duration = Duration::from_secs(1);

/// What only one may do at a time, among the threads of this process and among all that share the store. It ends when
/// dropped.
pub(super) struct Turn<'c> {
    lease: Lease,
    _alone: MutexGuard<'c, ()>,
}

impl Turn<'_> {
    /// Changes rows and appends entries to the audit log, in one step, unless the turn is over. A server that was stopped for
    /// longer than its turn would otherwise write what it read before others changed it.
    pub(super) fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        self.lease.apply_noting(by, changes, actions)
    }

    /// The same store, which is changed only in the turn.
    pub(super) fn guard(&self, store: &Arc<dyn Store>) -> Arc<dyn Store> {
        self.lease.guard(store)
    }

    /// Says whether something that was done in the turn may still happen after it.
    pub(super) fn is_open(&self, open: bool) {
        self.lease.is_open(open);
    }
}

/// A setting that others can change, and when it was read. Empty until it is first needed.
pub(super) struct CachedSetting<T>(RwLock<Option<(Instant, Arc<T>)>>);

impl<T> Default for CachedSetting<T> {
    fn default() -> Self {
        Self(RwLock::new(None))
    }
}

impl<T> CachedSetting<T> {
    /// The setting. It is read if it is not known, or not fresh enough.
    pub(super) fn get(
        &self,
        catalogue: &Catalogue,
        read: impl FnOnce() -> Result<T, CatalogueError>,
    ) -> Result<Arc<T>, CatalogueError> {
        let known = self.0.read().clone();
        if let Some(known) = catalogue.still_known(known)? {
            return Ok(known);
        }
        // The lock keeps it from changing between reading and caching.
        let mut known = self.known();
        let now = Instant::now();
        Ok(Arc::clone(&known.insert((now, Arc::new(read()?))).1))
    }

    /// Reads it again, because others may have changed it.
    pub(super) fn learn(
        &self,
        read: impl FnOnce() -> Result<T, CatalogueError>,
    ) -> Result<(), CatalogueError> {
        let (now, read) = (Instant::now(), Arc::new(read()?));
        let mut known = self.known();
        // What was changed here since is read when it is needed.
        if known.as_ref().is_some_and(|(known, _)| *known < now) {
            *known = Some((now, read));
        }
        Ok(())
    }

    /// Forgets it, because it has changed.
    pub(super) fn forget(&self) {
        *self.known() = None;
    }

    fn known(&self) -> RwLockWriteGuard<'_, Option<(Instant, Arc<T>)>> {
        self.0.write()
    }
}

impl Catalogue {
    /// Waits for the turn of `name`.
    pub(super) fn turn<'c>(
        &'c self,
        alone: &'c Mutex<()>,
        name: &'static str,
    ) -> Result<Turn<'c>, CatalogueError> {
        let alone = alone.lock();
        let lease = Lease::wait(&self.store, name)?;
        if name == GATE && lease.was_abandoned() {
            lease.refuse_former()?;
        }
        Ok(Turn {
            lease,
            _alone: alone,
        })
    }

    /// What is known of a setting, if it is fresh enough.
    ///
    /// # Errors
    /// If others may have changed it, and what they did could not be learned for long.
    fn still_known<T>(
        &self,
        known: Option<(Instant, Arc<T>)>,
    ) -> Result<Option<Arc<T>>, CatalogueError> {
        let Some((read, value)) = known else {
            return Ok(None);
        };
        if self.store.sharing().is_none() || read.elapsed() < FRESH {
            return Ok(Some(value));
        }
        let follows = self.follows.load(Ordering::Relaxed);
        // Requests do not wait for a store that does not answer.
        if follows && read.elapsed() > 2 * FRESH {
            let detail = "what others have changed could not be read for a while";
            return Err(StoreError::Unavailable {
                store: "the store".to_owned(),
                detail: detail.to_owned(),
            }
            .into());
        }
        Ok(follows.then_some(value))
    }

    /// Counts what the key with this name uses, for all servers together; `None` if this is the only one.
    pub fn spend(&self, key: &str, spending: &Spending) -> Result<Option<Spent>, CatalogueError> {
        Ok(self
            .store
            .sharing()
            .map(|sharing| sharing.spend(key, spending))
            .transpose()?)
    }

    /// Whether other servers may share the store.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.store.sharing().is_some()
    }

    /// Learns in the background what other servers change, until [`Jobs::stop`](crate::Jobs::stop).
    pub fn follow_others(self: &Arc<Self>) {
        if self.store.sharing().is_none() {
            return;
        }
        self.follows.store(true, Ordering::Relaxed);
        let catalogue = Arc::clone(self);
        self.runner.beside(move || {
            while catalogue.runner.sleep(FOLLOW) {
                if let Err(error) = catalogue.learn() {
                    tracing::warn!("cannot see what other servers do: {error}");
                }
            }
        });
    }

    fn learn(&self) -> Result<(), CatalogueError> {
        self.keys().learn()?;
        self.allow_lists().learn()?;
        self.libraries().learn()
    }
}

/// The turn of books that must pass a gate.
pub(super) const GATE: &str = "gate";
/// The turn of settings and keys, and of starting jobs.
pub(super) const SETTINGS: &str = "settings";
/// The turn of texts of filed checks, so that a long one holds up nothing else.
pub(super) const EVIDENCE: &str = "evidence";
