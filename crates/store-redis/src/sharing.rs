//! What servers agree on.

use std::sync::Arc;
use std::time::Duration;

use super::command::Command;
use super::keys::SHARDS;
use super::scripts::{FENCE, LEASE, SPEND};
use super::{ClusterStore, Shared};
use lapidary_store::{
    ClusterVitals, LeaseEnd, LeaseGrant, Sharing, Spending, Spent, Store, StoreError,
};

/// How long shards know the token of a lease, in ms: longer than anyone goes on who was stopped.
const FENCED: u64 = 7 * 24 * 3600 * 1000;

/// A lease under which changes are made, and the token that it must have.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    pub(super) lease: String,
    pub(super) token: u64,
}

impl Fence {
    /// What a shard calls the token.
    pub(super) fn name(lease: &str) -> String {
        format!("fence:{lease}")
    }
}

impl Shared {
    /// Raises the version of the recipes that changes of books must know: nobody can make one any more who knows an earlier one.
    pub(super) fn stamp(&self, version: u64) -> Result<(), StoreError> {
        // Only a new catalogue may be given its first.
        self.raise("recipes", [version, u64::from(version > 0), 0])
    }

    /// Refuses changes of books under earlier tokens of a lease.
    fn fence(&self, lease: &str, token: u64) -> Result<(), StoreError> {
        self.raise(&Fence::name(lease), [token, 0, FENCED])
    }

    fn raise(&self, name: &str, arguments: [u64; 3]) -> Result<(), StoreError> {
        let arguments = arguments.map(|number| number.to_string());
        let shards = (0..SHARDS).map(|shard| self.keys.shard(shard, name));
        let commands = shards.map(|key| Command::script(&FENCE, &[key], &arguments));
        let raised = self.client.write(&commands.collect::<Vec<_>>())?;
        for (shard, done) in (0..SHARDS).zip(raised) {
            if self.answer::<i64>(done)? == 0 {
                return Err(self.stamps().lost(shard));
            }
        }
        Ok(())
    }

    fn lease_command(&self, name: &str, holder: &str, time: i64) -> Command {
        let time = time.to_string();
        Command::script(
            &LEASE,
            &[self.keys.meta("leases")],
            &[name, holder, &time][..],
        )
    }
}

impl Sharing for ClusterStore {
    fn lease(
        &self,
        name: &str,
        holder: &str,
        time: Duration,
    ) -> Result<Option<LeaseGrant>, StoreError> {
        let shared = &self.shared;
        let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1);
        let lease = shared.write_one(shared.lease_command(name, holder, time))?;
        shared.client.witnesses().tell()?;
        let (token, abandoned): (u64, bool) = shared.answer(lease)?;
        Ok((token > 0).then_some(LeaseGrant { token, abandoned }))
    }

    fn end_lease(&self, name: &str, holder: &str, end: LeaseEnd) -> Result<(), StoreError> {
        let time = match end {
            LeaseEnd::Done => 0,
            LeaseEnd::Abandoned => -1,
            LeaseEnd::Revoked => -2,
        };
        let shared = &self.shared;
        let ended = shared.write_one(shared.lease_command(name, holder, time))?;
        let (token, _): (u64, bool) = shared.answer(ended)?;
        if end == LeaseEnd::Revoked {
            shared.fence(name, token)?;
        }
        shared.acknowledge(())
    }

    fn under(&self, lease: &str, token: u64) -> Arc<dyn Store> {
        let mut store = self.clone();
        let lease = lease.to_owned();
        store.fences.push(Fence { lease, token });
        Arc::new(store)
    }

    fn spend(&self, who: &str, spending: &Spending) -> Result<Spent, StoreError> {
        let (quota, wanted) = spending.quota;
        let (rate, tokens) = spending.rate;
        let (rate, period) = rate.map_or((0, 0), |(rate, period)| (rate, period.as_millis()));
        let numbers = [
            quota.unwrap_or(0).to_string(),
            wanted.to_string(),
            rate.to_string(),
        ];
        let mut arguments = vec![spending.day.clone()];
        arguments.extend(numbers);
        arguments.extend([period.to_string(), tokens.to_string()]);
        let usage = self.shared.keys.usage(who);
        let spent =
            self.shared
                .client
                .write_loosely(&[Command::script(&SPEND, &[usage], arguments)])?;
        let spent = spent.into_iter().next().unwrap_or_default();
        let (used, counted, wait, busy) = self.shared.answer(spent)?;
        let [wait, busy] = [wait, busy].map(Duration::from_millis);
        Ok(Spent {
            used,
            counted,
            wait,
            busy,
        })
    }

    fn refuse_before(&self, lease: &str, token: u64) -> Result<(), StoreError> {
        self.shared.fence(lease, token)?;
        self.shared.changes().empty_outboxes()?;
        self.shared.acknowledge(())
    }

    fn vitals(&self) -> Result<ClusterVitals, StoreError> {
        self.shared.vitals()
    }
}
