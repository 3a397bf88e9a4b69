//! Nodes that came back without their data.
//!
//! A primary that keeps nothing on disk and is started again is empty, and says of everything that it is not there. So no
//! answer counts unless its node has its stamp still: the version of the recipes, which each shard is given before the
//! catalogue gets its first recipe, and which is never removed. It moves with the slot of its shard.

use std::collections::BTreeSet;

use redis::Value;

use super::Shared;
use super::command::Command;
use super::error::answer;
use super::keys::{SHARDS, shard_of_slot, slot_of_shard};
use super::topology::Topology;
use lapidary_store::StoreError;

/// The stamps of shards, by which one that came back empty is known.
pub(super) struct Stamps<'s>(pub(super) &'s Shared);

impl Stamps<'_> {
    /// The command that reads the stamp of a shard.
    pub(super) fn stamp_command(&self, shard: u32) -> Command {
        Command::bare("GET", &self.0.keys.shard(shard, "recipes"))
    }

    /// The shards whose stamps say whether the answers to commands count: of a command to a shard, that one; of any other, one
    /// of the same node. A node without a shard has no stamp.
    pub(super) fn stamps_of(topology: &Topology, commands: &[Command]) -> Vec<Option<u32>> {
        commands
            .iter()
            .map(|command| {
                let shard = shard_of_slot(command.slot);
                shard.or_else(|| {
                    topology
                        .index(command.slot)
                        .and_then(|node| topology.a_shard(node))
                })
            })
            .collect()
    }

    /// Reads, from nodes that have their data still.
    pub(super) fn read_stamped(
        &self,
        mut commands: Vec<Command>,
    ) -> Result<Vec<Value>, StoreError> {
        let count = commands.len();
        let stamps = Self::stamps_of(&self.0.client.topology(), &commands);
        let mut shards: BTreeSet<u32> = stamps.into_iter().flatten().collect();
        // A catalogue without recipes has no books, and no stamps either.
        if !self.0.meta().last_recipes().is_stamped() {
            shards.clear();
        }
        commands.extend(shards.iter().map(|shard| self.stamp_command(*shard)));
        let mut answers = self.0.client.read(&commands)?;
        let stamps = answers.split_off(count);
        let lost = shards
            .iter()
            .zip(stamps)
            .find(|(_, stamp)| *stamp == Value::Nil);
        lost.map_or(Ok(answers), |(shard, _)| Err(self.lost(*shard)))
    }

    /// The error of a shard without its stamp.
    pub(super) fn lost(&self, shard: u32) -> StoreError {
        self.emptied(slot_of_shard(shard), format!("shard {shard}"))
    }

    /// Looks at the stamps of all shards.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if one is missing, and if there are stamps but no recipes.
    pub(super) fn confirm(&self) -> Result<(), StoreError> {
        let is_new = !self.0.meta().recipes()?.is_stamped();
        let stamps = self.0.client.read(
            &(0..SHARDS)
                .map(|shard| self.stamp_command(shard))
                .collect::<Vec<_>>(),
        )?;
        let stamps: Vec<Option<u64>> = { stamps.into_iter() }
            .map(|stamp| answer(self.0.address(), stamp))
            .collect::<Result<_, _>>()?;
        if !is_new {
            let missing = (0..SHARDS).zip(&stamps).find(|(_, stamp)| stamp.is_none());
            return missing.map_or(Ok(()), |(shard, _)| Err(self.lost(shard)));
        }
        // Unless somebody has made the catalogue meanwhile.
        if stamps.iter().any(|stamp| *stamp > Some(0)) && !self.0.meta().recipes()?.is_stamped() {
            return Err(self.lost_recipes());
        }
        Ok(())
    }

    /// The error of a catalogue whose recipes are gone.
    pub(super) fn lost_recipes(&self) -> StoreError {
        self.emptied(
            self.0.meta().recipes_command().slot,
            "recipes, keys and totals".to_owned(),
        )
    }

    fn emptied(&self, slot: u16, what: String) -> StoreError {
        let node = self
            .0
            .client
            .topology()
            .node(slot)
            .unwrap_or("a node")
            .to_owned();
        StoreError::Emptied {
            store: self.0.address().to_string(),
            node,
            what,
        }
    }
}
