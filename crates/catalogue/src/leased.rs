//! Work that one process does at a time, among all that share the store, and that can be told to stop.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::sharing::RENEWAL;
use super::{Catalogue, CatalogueError, Editor};
use lapidary_store::{LeaseEnd, RowChange};

/// Tells work to stop.
#[derive(Debug, Default)]
pub struct Stop {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    #[default]
    GoOn,
    /// End soon, and keep what was done.
    End,
    /// Change nothing any more.
    Drop,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: Told) {
        let mut told = self.lock();
        *told = what.max(*told);
        self.changed.notify_all();
    }

    /// Tells it to end soon. It may still write down what it has done.
    pub fn end(&self) {
        self.tell(Told::End);
    }

    /// Once this returns, it changes nothing any more.
    pub fn drop_it(&self) {
        self.tell(Told::Drop);
    }

    /// Whether it was told to stop.
    pub fn is_stopped(&self) -> bool {
        *self.lock() != Told::GoOn
    }

    /// Waits this long, or until it is stopped. Returns whether it goes on.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut told = self.lock();
        while *told == Told::GoOn {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            told = self
                .changed
                .wait_timeout(told, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        false
    }

    fn unless_dropped<T>(&self, change: impl FnOnce() -> T) -> Option<T> {
        let told = self.lock();
        (*told != Told::Drop).then(change)
    }
}

/// The leased work of this process, by name.
pub(super) type LeasedHere = Mutex<BTreeMap<String, Arc<Stop>>>;

/// Work that nobody else does until this is dropped.
pub struct Leased<'c> {
    catalogue: &'c Catalogue,
    name: String,
    token: u64,
    /// Tells it to stop.
    pub stop: Arc<Stop>,
}

impl Catalogue {
    /// Begins work that only one may do; `None` if it is being done, here or elsewhere.
    pub fn begin_leased(&self, name: String) -> Result<Option<Leased<'_>>, CatalogueError> {
        let stop = Arc::new(Stop::default());
        {
            let mut here = self.leased_here();
            if here.contains_key(&name) || self.jobs.are_stopping() {
                return Ok(None);
            }
            here.insert(name.clone(), Arc::clone(&stop));
        }
        // From here on, dropping it removes it.
        let mut leased = Leased {
            catalogue: self,
            name,
            token: 0,
            stop,
        };
        let token = self.lease(&leased.name)?;
        leased.token = token.unwrap_or_default();
        Ok(token.map(|_| leased))
    }

    /// Stops leased work, wherever it is done. It can change no rows any more.
    pub fn revoke_leased(&self, name: &str) {
        let here = self.leased_here().get(name).cloned();
        if let Some(stop) = here {
            stop.drop_it();
        }
        self.end_lease(name, LeaseEnd::Revoked);
    }

    /// Tells all leased work of this process to end, or after that, to change nothing any more.
    pub fn stop_leased(&self, how: fn(&Stop)) {
        let all: Vec<_> = self.leased_here().values().cloned().collect();
        for stop in all {
            how(&stop);
        }
    }

    /// Tells the work of this name to end, if it is done here.
    pub fn end_leased(&self, name: &str) {
        let here = self.leased_here().get(name).cloned();
        if let Some(stop) = here {
            stop.end();
        }
    }

    fn leased_here(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Stop>>> {
        self.leased_here
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leased<'_> {
    /// Keeps the lease until the work is stopped; `look` is called every two seconds.
    pub fn keep(&self, mut look: impl FnMut()) {
        loop {
            look();
            if !self.stop.sleep(RENEWAL) {
                return;
            }
            match self.catalogue.lease(&self.name) {
                Ok(Some(token)) if token == self.token => {}
                Ok(_) => self.stop.drop_it(),
                // If this lasts, others take the lease, and no change is made under this one.
                Err(error) => {
                    tracing::warn!("the lease of '{}' is not renewed: {error}", self.name)
                }
            }
        }
    }

    /// Changes rows in one step. Returns whether it did; not if the work goes on elsewhere.
    pub fn apply(&self, by: &Editor<'_>, changes: &[RowChange]) -> Result<bool, CatalogueError> {
        let store = &self.catalogue.store;
        let applied = self.stop.unless_dropped(|| match store.sharing() {
            Some(sharing) => sharing.apply_under(&self.name, self.token, &by.actor, changes, &[]),
            None => store.apply(&by.actor, changes, &[]).map(|()| true),
        });
        let applied = applied.transpose()?.unwrap_or_default();
        if !applied {
            self.stop.drop_it();
        }
        Ok(applied)
    }
}

impl Drop for Leased<'_> {
    fn drop(&mut self) {
        self.stop.drop_it();
        self.catalogue.end_lease(&self.name, LeaseEnd::Done);
        self.catalogue.leased_here().remove(&self.name);
    }
}
