//! The right to do what only one may do at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Whether something that was done under it may still happen after its end.
    open: AtomicBool,
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
            open: AtomicBool::new(false),
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
                return Err(StoreError::Changed(format!(
                    "what only one may change at a time ({name})"
                )));
            }
            sleep(PAUSE);
        }
    }

    /// Its token, if others share the store.
    fn token(&self) -> Option<u64> {
        self.grant.map(|grant| grant.token)
    }

    /// Whether something that was done under the lease before may still happen.
    #[must_use]
    pub fn was_abandoned(&self) -> bool {
        self.grant.is_some_and(|grant| grant.abandoned)
    }

    /// Says whether something that was done under it may still happen after its end.
    pub fn is_open(&self, open: bool) {
        self.open.store(open, Ordering::Relaxed);
    }

    /// Keeps what was done under it before from happening any more.
    pub fn refuse_former(&self) -> Result<(), StoreError> {
        let (Some(sharing), Some(token)) = (self.store.sharing(), self.token()) else {
            return Ok(());
        };
        // If this fails, whoever has it next must know.
        self.is_open(true);
        sharing.refuse_before(&self.name, token)?;
        self.is_open(false);
        Ok(())
    }

    /// The same store, which is changed only while this is held.
    #[must_use]
    pub fn guard(&self, store: &Arc<dyn Store>) -> Arc<dyn Store> {
        match (store.sharing(), self.token()) {
            (Some(sharing), Some(token)) => sharing.under(&self.name, token),
            _ => Arc::clone(store),
        }
    }

    /// Renews it. Returns whether it is still held.
    pub fn renew(&self) -> Result<bool, StoreError> {
        let Some(sharing) = self.store.sharing() else {
            return Ok(true);
        };
        let granted = sharing.lease(&self.name, &self.holder, LEASE)?;
        Ok(granted.map(|grant| grant.token) == self.token())
    }

    /// Changes rows and appends entries to the audit log in one step, if it is still held. Returns whether it is.
    pub fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<bool, StoreError> {
        match self.apply_noting(by, changes, actions) {
            Err(StoreError::Changed(_)) => Ok(false),
            applied => applied.map(|()| true),
        }
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
        self.guard(&self.store).apply(by, changes, actions)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(sharing) = self.store.sharing() else {
            return;
        };
        let end = if self.open.load(Ordering::Relaxed) {
            LeaseEnd::Abandoned
        } else {
            LeaseEnd::Done
        };
        if let Err(error) = sharing.end_lease(&self.name, &self.holder, end) {
            tracing::warn!(
                "others wait some seconds for the lease of '{}': {error}",
                self.name
            );
        }
    }
}
