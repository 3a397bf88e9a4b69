//! What servers agree on.

use std::time::Duration;

use super::command::Command;
use super::keys::SHARDS;
use super::scripts::{FENCE, LEASE, SPEND};
use super::{ClusterStore, Shared};
use lapidary_store::{
    Action, Actor, ClusterVitals, LeaseEnd, LeaseGrant, RowChange, Sharing, Spending, Spent,
    StoreError,
};

impl Shared {
    /// Raises a version that changes of books must know: nobody can make one any more who knows an earlier one.
    pub(super) fn fence(&self, name: &str, version: u64) -> Result<(), StoreError> {
        // The version of the recipes is a stamp, which only a new catalogue may be given.
        let must_exist = i32::from(name == "recipes" && version > 0).to_string();
        let arguments = [version.to_string(), must_exist];
        for (shard, done) in (0..SHARDS).zip(
            self.client.write(
                &(0..SHARDS)
                    .map(|shard| {
                        Command::script(&FENCE, &[self.keys.shard(shard, name)], &arguments)
                    })
                    .collect::<Vec<_>>(),
            )?,
        ) {
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
        let end = match end {
            LeaseEnd::Done => 0,
            LeaseEnd::Abandoned => -1,
            LeaseEnd::Revoked => -2,
        };
        self.shared
            .write_one(self.shared.lease_command(name, holder, end))?;
        self.shared.acknowledge(())
    }

    fn apply_under(
        &self,
        name: &str,
        token: u64,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<bool, StoreError> {
        let lease = Some((name, token));
        let done = self
            .shared
            .meta()
            .apply(by, changes, actions, None, lease)?;
        self.shared.acknowledge(done)
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

    fn refuse_before(&self, turn: u64) -> Result<(), StoreError> {
        self.shared.fence("turn", turn)?;
        self.shared.changes().empty_outboxes()?;
        self.shared.acknowledge(())
    }

    fn vitals(&self) -> Result<ClusterVitals, StoreError> {
        self.shared.vitals()
    }
}
