//! Servers that share a store: turns, leases, and what each must learn of the others.
//!
//! A catalogue in a folder belongs to one process, so all of this is trivial there.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::{Catalogue, CatalogueError};
use lapidary_store::{
    Action, Actor, LeaseEnd, RowChange, Sharing, Spending, Spent, Store, StoreError,
};

/// How long a turn may take. If its server ends, the others wait no longer.
const TURN: Duration = Duration::from_secs(10);
/// How long to wait for a turn.
const PATIENCE: Duration = Duration::from_secs(25);
const PAUSE: Duration = Duration::from_millis(4);
/// How long work may go on without renewing its lease.
pub(super) const LEASE: Duration = Duration::from_secs(10);
/// How often to renew it.
pub(super) const RENEWAL: Duration = Duration::from_secs(2);
/// How often to learn what others have changed.
const FOLLOW: Duration = Duration::from_millis(500);
/// How old what is known of settings may be.
pub(super) const FRESH: Duration = Duration::from_secs(1);
/// How often to look for jobs that nobody runs any more.
const ADOPT: Duration = Duration::from_secs(2);

/// What only one may do at a time, among the threads of this process and among all that share the store. It ends when
/// dropped.
pub(super) struct Turn<'c> {
    store: &'c dyn Store,
    shared: Option<SharedTurn<'c>>,
    _alone: MutexGuard<'c, ()>,
}

struct SharedTurn<'c> {
    sharing: &'c dyn Sharing,
    name: &'static str,
    holder: String,
    token: u64,
    end: LeaseEnd,
}

impl Turn<'_> {
    /// Its number, if others share the store.
    pub(super) fn number(&self) -> Option<u64> {
        self.shared.as_ref().map(|shared| shared.token)
    }

    /// Changes rows and appends entries to the audit log, in one step, unless the turn is over. A server that was stopped for
    /// longer than its turn would otherwise write what it read before others changed it.
    pub(super) fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        let Some(SharedTurn {
            sharing,
            name,
            token,
            ..
        }) = &self.shared
        else {
            return self.store.apply(by, changes, actions);
        };
        if sharing.apply_under(name, *token, by, changes, actions)? {
            return Ok(());
        }
        Err(StoreError::Changed(format!(
            "what only one may change at a time ({name})"
        )))
    }

    /// Says whether something that was done in the turn may still happen after it.
    pub(super) fn is_open(&mut self, open: bool) {
        if let Some(shared) = &mut self.shared {
            shared.end = if open {
                LeaseEnd::Abandoned
            } else {
                LeaseEnd::Done
            };
        }
    }
}

impl Drop for SharedTurn<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.sharing.end_lease(self.name, &self.holder, self.end) {
            tracing::warn!(
                "others wait some seconds for the turn of '{}': {error}",
                self.name
            );
        }
    }
}

/// A value that others can change, and when it was read.
pub(super) type Read<T> = Option<(Instant, Arc<T>)>;

impl Catalogue {
    /// Waits for the turn of `name`.
    pub(super) fn turn<'c>(
        &'c self,
        alone: &'c Mutex<()>,
        name: &'static str,
    ) -> Result<Turn<'c>, CatalogueError> {
        let alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
        let store = &*self.store;
        let Some(sharing) = store.sharing() else {
            return Ok(Turn {
                store,
                shared: None,
                _alone: alone,
            });
        };
        let holder = Uuid::now_v7().simple().to_string();
        let since = Instant::now();
        loop {
            if let Some(lease) = sharing.lease(name, &holder, TURN)? {
                let shared = SharedTurn {
                    sharing,
                    name,
                    holder,
                    token: lease.token,
                    end: LeaseEnd::Abandoned,
                };
                if lease.abandoned && name == GATE {
                    sharing.refuse_before(lease.token)?;
                }
                let mut turn = Turn {
                    store,
                    shared: Some(shared),
                    _alone: alone,
                };
                turn.is_open(false);
                return Ok(turn);
            }
            if since.elapsed() > PATIENCE {
                return Err(StoreError::Changed(format!(
                    "what only one may change at a time ({name})"
                ))
                .into());
            }
            sleep(PAUSE);
        }
    }

    /// Takes or renews a lease of this process. Returns its token, or `None` if another process has it.
    pub(super) fn lease(&self, name: &str) -> Result<Option<u64>, CatalogueError> {
        let Some(sharing) = self.store.sharing() else {
            return Ok(Some(0));
        };
        Ok(sharing
            .lease(name, &self.process, LEASE)?
            .map(|lease| lease.token))
    }

    /// Ends a lease, if others share the store.
    pub(super) fn end_lease(&self, name: &str, end: LeaseEnd) {
        let ended = self.store.sharing().map_or(Ok(()), |sharing| {
            sharing.end_lease(name, &self.process, end)
        });
        if let Err(error) = ended {
            tracing::warn!("the lease of '{name}' ends only in some seconds: {error}");
        }
    }

    /// What is known of a setting, if it is fresh enough.
    ///
    /// # Errors
    /// If others may have changed it, and what they did could not be learned for long.
    pub(super) fn still_known<T>(
        &self,
        known: Option<&(Instant, Arc<T>)>,
    ) -> Result<Option<Arc<T>>, CatalogueError> {
        let Some((read, value)) = known else {
            return Ok(None);
        };
        if self.store.sharing().is_none() || read.elapsed() < FRESH {
            return Ok(Some(Arc::clone(value)));
        }
        // Requests do not wait for a store that does not answer.
        if self.follows.load(Ordering::Relaxed) && read.elapsed() > 2 * FRESH {
            let detail = "what others have changed could not be read for a while";
            return Err(StoreError::Unavailable {
                store: "the store".to_owned(),
                detail: detail.to_owned(),
            }
            .into());
        }
        Ok(if self.follows.load(Ordering::Relaxed) {
            Some(Arc::clone(value))
        } else {
            None
        })
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

    /// Learns in the background what other servers change, and takes over their jobs, until [`Catalogue::stop_jobs`].
    pub fn follow_others(self: &Arc<Self>) {
        if self.store.sharing().is_none() {
            return;
        }
        self.follows.store(true, Ordering::Relaxed);
        let catalogue = Arc::clone(self);
        self.jobs.run_beside(move || {
            let mut adopted = Instant::now();
            while !catalogue.jobs.are_stopping() {
                let learned = catalogue
                    .keys()
                    .learn()
                    .and_then(|()| catalogue.allow_lists().learn());
                let learned = learned.and_then(|()| catalogue.libraries().learn());
                let due = adopted.elapsed() >= ADOPT;
                let looked =
                    learned.and_then(|()| if due { catalogue.resume_jobs() } else { Ok(()) });
                if due {
                    adopted = Instant::now();
                }
                if let Err(error) = looked {
                    tracing::warn!("cannot see what other servers do: {error}");
                }
                sleep(FOLLOW);
            }
        });
    }
}

/// The turn of books that must pass a gate.
pub(super) const GATE: &str = "gate";
/// The turn of settings and keys, and of starting jobs.
pub(super) const SETTINGS: &str = "settings";
