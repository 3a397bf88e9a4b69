//! The right to do what only one may do at a time.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lapidary_store::{Action, Actor, LeaseEnd, LeaseGrant, RowChange, Store, StoreError};
use uuid::Uuid;

/// How long a lease lasts that is not renewed. If its process ends, the others wait no longer.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
/// How long to wait for a lease, and how often to try.
const PATIENCE: Duration = Duration::from_secs(25);
const PAUSE: Duration = Duration::from_millis(4);

/// The right to do what only one may do at a time, among all that share a store. It ends when it is dropped, or is not renewed
/// for ten seconds. If only this process has the store, it holds until it is dropped.
pub struct Lease {
    store: Arc<dyn Store>,
    name: String,
    /// Names this lease, not the process: whoever takes it next, here or elsewhere, is another holder.
    holder: String,
    grant: Option<LeaseGrant>,
    end: LeaseEnd,
}

impl Lease {
    /// Takes the lease of this name; `None` if another has it.
    pub fn take(store: &Arc<dyn Store>, name: &str) -> Result<Option<Self>, StoreError> {
        let holder = Uuid::now_v7().simple().to_string();
        let grant = match store.sharing() {
            Some(sharing) => match sharing.lease(name, &holder, LEASE)? {
                None => return Ok(None),
                grant => grant,
            },
            None => None,
        };
        Ok(Some(Self {
            store: Arc::clone(store),
            name: name.to_owned(),
            holder,
            grant,
            end: LeaseEnd::Done,
        }))
    }

    /// Waits for the lease of this name.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if others have it for long.
    pub fn wait(store: &Arc<dyn Store>, name: &str) -> Result<Self, StoreError> {
        let since = Instant::now();
        loop {
            if let Some(lease) = Self::take(store, name)? {
                return Ok(lease);
            }
            if since.elapsed() > PATIENCE {
                return Err(is_over(name));
            }
            sleep(PAUSE);
        }
    }

    /// Its token, if others share the store.
    #[must_use]
    pub fn token(&self) -> Option<u64> {
        self.grant.map(|grant| grant.token)
    }

    /// Whether something that was done under the lease before may still happen.
    #[must_use]
    pub fn was_abandoned(&self) -> bool {
        self.grant.is_some_and(|grant| grant.abandoned)
    }

    /// Says whether something that was done under it may still happen after its end.
    pub fn is_open(&mut self, open: bool) {
        self.end = if open {
            LeaseEnd::Abandoned
        } else {
            LeaseEnd::Done
        };
    }

    /// Renews it. Returns whether it is still held.
    pub fn renew(&self) -> Result<bool, StoreError> {
        let Some(sharing) = self.store.sharing() else {
            return Ok(true);
        };
        let granted = sharing.lease(&self.name, &self.holder, LEASE)?;
        Ok(granted.map(|grant| grant.token) == self.token())
    }

    /// Changes rows in one step, if it is still held. Returns whether it is.
    pub fn apply(&self, changes: &[RowChange]) -> Result<bool, StoreError> {
        self.apply_by(&Actor::Local, changes, &[])
    }

    /// Changes rows and appends entries to the audit log, in one step.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if it is no longer held: what was read under it may have changed since.
    pub fn apply_noting(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        if self.apply_by(by, changes, actions)? {
            return Ok(());
        }
        Err(is_over(&self.name))
    }

    fn apply_by(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<bool, StoreError> {
        match (self.store.sharing(), self.grant) {
            (Some(sharing), Some(LeaseGrant { token, .. })) => {
                sharing.apply_under(&self.name, token, by, changes, actions)
            }
            _ => self.store.apply(by, changes, actions).map(|()| true),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(sharing) = self.store.sharing() else {
            return;
        };
        if let Err(error) = sharing.end_lease(&self.name, &self.holder, self.end) {
            tracing::warn!(
                "others wait some seconds for the lease of '{}': {error}",
                self.name
            );
        }
    }
}

fn is_over(name: &str) -> StoreError {
    StoreError::Changed(format!("what only one may change at a time ({name})"))
}
