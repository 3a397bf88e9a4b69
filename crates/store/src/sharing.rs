//! What processes agree on that share a store.

use std::sync::Arc;
use std::time::Duration;

use super::{ClusterVitals, Store, StoreError};

/// The right to do what only one may do at a time, until it ends or is not renewed in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseGrant {
    /// Grows with every new holder, so what a former holder does can be refused.
    pub token: u64,
    /// Whether the former holder did not end its lease: something of what it did may still happen.
    pub abandoned: bool,
}

/// How a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseEnd {
    /// Everything that it was for is done, or will not be.
    Done,
    /// Something may still happen.
    Abandoned,
    /// Its holder, whoever that is, loses it.
    Revoked,
}

/// What to count of a quota and a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spending {
    /// The quota of a day, and what to count of it. It is counted as far as there is something left.
    pub quota: (Option<u32>, i64),
    /// The day, in whatever form.
    pub day: String,
    /// The rate, in units per time, and what to count of it: all or nothing.
    pub rate: (Option<(u32, Duration)>, u32),
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// How much of the quota is used.
    pub used: u64,
    /// How much of it was counted now.
    pub counted: i64,
    /// How long to wait, because the rate is used up; otherwise zero.
    pub wait: Duration,
    /// How long until all of the rate is free again.
    pub busy: Duration,
}

/// A store that several processes share.
pub trait Sharing: Send + Sync {
    /// Takes a lease, or renews it. Returns `None` if another holder has it.
    fn lease(
        &self,
        name: &str,
        holder: &str,
        time: Duration,
    ) -> Result<Option<LeaseGrant>, StoreError>;

    /// Ends a lease before its time. Once one is revoked, its holder changes nothing any more.
    fn end_lease(&self, name: &str, holder: &str, end: LeaseEnd) -> Result<(), StoreError>;

    /// The same store, whose changes fail with [`StoreError::Changed`] once the lease has another token. Changes of books do
    /// so once [`refuse_before`](Self::refuse_before) was told of the other.
    fn under(&self, lease: &str, token: u64) -> Arc<dyn Store>;

    /// Counts what `who` uses, for all processes together. What was counted last may be lost when a node fails.
    fn spend(&self, who: &str, spending: &Spending) -> Result<Spent, StoreError>;

    /// Refuses from now on changes of books [under](Self::under) earlier tokens of the lease, wherever they are on their way.
    /// Those that were made before are in the audit log when this returns.
    fn refuse_before(&self, lease: &str, token: u64) -> Result<(), StoreError>;

    /// Returns what an administrator monitors of the servers that the store is on, as far as they answer.
    fn vitals(&self) -> Result<ClusterVitals, StoreError>;
}
