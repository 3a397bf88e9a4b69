//! The stamps of shards: the version of the recipes that changes of books must know.
//!
//! Each shard is given one before the catalogue gets its first recipe, and has it for ever. It moves with the slot of its
//! shard.

use super::Shared;
use super::command::Command;
use super::keys::{SHARDS, shard_of_slot, slot_of_shard};
use super::topology::Topology;
use lapidary_store::StoreError;

/// The stamps of shards.
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

    /// # Errors
    /// [`StoreError::Emptied`] if there are stamps but no recipes.
    pub(super) fn confirm_new(&self) -> Result<(), StoreError> {
        let read: Vec<Command> = (0..SHARDS).map(|shard| self.stamp_command(shard)).collect();
        for stamp in self.0.client.read(&read)? {
            let stamp: Option<u64> = self.0.answer(stamp)?;
            // Unless somebody has made the catalogue meanwhile.
            if stamp > Some(0) && !self.0.meta().recipes()?.is_stamped() {
                return Err(self.lost_recipes());
            }
        }
        Ok(())
    }

    /// The error of a shard without its stamp.
    pub(super) fn lost(&self, shard: u32) -> StoreError {
        self.emptied(slot_of_shard(shard), format!("shard {shard}"))
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
