//! What witnesses know of how far the nodes have come ([`clock`](super::super::clock)).

use std::sync::atomic::Ordering;

use super::super::clock::{ClockUse, Clocks};
use super::super::command::{Command, read};
use super::super::keys::{SHARDS, slot, slot_of_shard};
use super::super::topology::Topology;
use super::{Client, Purpose, Trouble, unavailable};
use lapidary_store::StoreError;

/// What a client learns of witnesses, and tells them.
pub(crate) struct Witnesses<'c>(pub(super) &'c Client);

impl Witnesses<'_> {
    /// A sentence for each node that has lost data, as far as they answer.
    pub(crate) fn losses(&self) -> Vec<String> {
        let _ = self.learn();
        let topology = self.0.topology();
        let lost = topology.primaries().filter_map(|node| {
            let slot = topology.shard_at(node).map(slot_of_shard);
            let clocks = self
                .0
                .clocks
                .of(&topology, slot.into_iter(), ClockUse::Read);
            let clock = clocks.first()?;
            let get = redis::cmd("GET")
                .arg(self.0.clocks.key(clock.shard))
                .clone();
            let said = read::<Option<u64>>(self.0.on(node, &get).ok()?)?.unwrap_or(0);
            let set_back = self.0.clocks.compare(clock, said, ClockUse::Read)?;
            Some(self.0.said_of(set_back))
        });
        lost.collect()
    }

    /// Sets the clocks that were set back to what they said, and believes their nodes again.
    pub(crate) fn heal(&self) -> Result<(), StoreError> {
        let get: Vec<Command> = (0..SHARDS)
            .map(|shard| Command::bare("GET", &self.0.clocks.key(shard)))
            .collect();
        let said = self.0.run(&get, Purpose::Loosely, ClockUse::Ignore)?;
        let mut set = Vec::new();
        for (shard, said) in (0..SHARDS).zip(said) {
            let said = read::<Option<u64>>(said).flatten().unwrap_or(0);
            if said < self.0.clocks.known(shard) {
                self.0.clocks.note(shard, self.0.clocks.known(shard) + 1);
                let known = self.0.clocks.known(shard);
                set.push(Command::new("SET", &self.0.clocks.key(shard), known));
            }
        }
        self.0.run(&set, self.0.writing(), ClockUse::Ignore)?;
        self.0.clocks.say_all();
        self.tell()
    }

    /// Reads the clocks of all nodes.
    ///
    /// # Errors
    /// [`StoreError::Emptied`] if one says less than it said once.
    pub(crate) fn confirm(&self) -> Result<(), StoreError> {
        self.learn()?;
        self.0
            .ask_clocks(|| (0..SHARDS).map(slot_of_shard), ClockUse::Read)
    }

    /// Whether no clock has begun: the catalogue is new, or older than clocks.
    pub(crate) fn has_no_clocks(&self) -> Result<bool, StoreError> {
        self.learn()?;
        Ok(!self.0.clocks.have_begun())
    }

    /// Begins the clock of every shard. If several servers do so at once, clocks only go further.
    pub(crate) fn begin_clocks(&self) -> Result<(), StoreError> {
        let now = jiff::Timestamp::now().as_microsecond();
        let begin: Vec<Command> = (0..SHARDS)
            .map(|shard| Command::new("INCRBY", &self.0.clocks.key(shard), now))
            .collect();
        let said = self.0.run(&begin, self.0.writing(), ClockUse::Ignore)?;
        for (shard, said) in (0..SHARDS).zip(said) {
            self.0.clocks.note(shard, read(said).unwrap_or(0));
        }
        self.0.clocks.say_all();
        self.tell()
    }

    /// Tells the witnesses what the clocks said after the changes that were made. These are acknowledged only then.
    pub(crate) fn tell(&self) -> Result<(), StoreError> {
        let _turn = self.0.clocks.turn();
        let untold = self.0.clocks.take_untold();
        if untold.is_empty() {
            return Ok(());
        }
        let first = self.0.clocks.first_witness();
        let topology = self.0.topology();
        let node = topology.node(slot(&first));
        let second = self
            .0
            .pool
            .voters(&topology, false)
            .filter(|other| Some(*other) != node)
            .find_map(|node| topology.shard_at(node));
        let witnesses = [
            Some(first),
            second.map(|shard| self.0.clocks.witness(shard)),
        ];
        let tell: Vec<Command> = witnesses
            .into_iter()
            .flatten()
            .map(|witness| Clocks::tell_command(witness, &untold))
            .collect();
        let told = self.0.run(&tell, self.0.writing(), ClockUse::Ignore);
        if told.is_err() {
            for (shard, said) in untold {
                self.0.clocks.say(shard, said);
            }
        }
        told.map(drop)
    }

    /// After slots were moved, other clocks stand for the nodes, and others may be witnesses.
    pub(crate) fn tell_again(&self) -> Result<(), StoreError> {
        if !self.0.clocks.must_tell_again.swap(false, Ordering::AcqRel)
            || !self.0.clocks.have_begun()
        {
            return Ok(());
        }
        self.0.clocks.say_all();
        let told = self
            .0
            .ask_clocks(|| (0..SHARDS).map(slot_of_shard), ClockUse::Raise)
            .and_then(|()| self.tell());
        if told.is_err() {
            self.0.clocks.must_tell_again.store(true, Ordering::Release);
        }
        told
    }

    /// Reads what the witnesses know. All but the first may be silent.
    fn learn(&self) -> Result<(), StoreError> {
        let topology = self.0.topology();
        let first = self.0.clocks.first_witness();
        let node = topology
            .node(slot(&first))
            .ok_or_else(|| unavailable(&self.0.address, "no node serves the recipes and keys"))?;
        let known = self.0.on(node, redis::cmd("HGETALL").arg(first))?;
        self.0.clocks.note_all(read(known).unwrap_or_default());
        for other in self.0.pool.voters(&topology, false) {
            let Some(shard) = topology.shard_at(other) else {
                continue;
            };
            let known = self.0.on(
                other,
                redis::cmd("HGETALL").arg(self.0.clocks.witness(shard)),
            );
            self.0
                .clocks
                .note_all(known.ok().and_then(read).unwrap_or_default());
        }
        Ok(())
    }

    /// Compares the clocks of nodes with what the witnesses know, before anything is sent to them.
    pub(super) fn admit<'n>(
        &self,
        nodes: impl Iterator<Item = &'n str>,
        topology: &Topology,
    ) -> Result<(), Trouble> {
        let again = |error: StoreError| Trouble::Again(error.to_string());
        self.learn().map_err(again)?;
        for node in nodes {
            let slot = topology.shard_at(node).map(slot_of_shard);
            let Some(clock) = self
                .0
                .clocks
                .of(topology, slot.into_iter(), ClockUse::Read)
                .pop()
            else {
                continue;
            };
            let key = self.0.clocks.key(clock.shard);
            let said = self.0.on(node, redis::cmd("GET").arg(key)).map_err(again)?;
            self.0
                .compare(&[clock], [said], ClockUse::Read)
                .map_err(Trouble::Final)?;
        }
        Ok(())
    }
}
