//! What a check takes for granted, until its first read says whether it is so.
//!
//! A check needs the recipes before it knows which buckets to read. It begins with the recipes that the server read last, reads
//! the buckets by them, and in the same round trip the recipes and the epoch. If the recipes are others, nothing that it has
//! read counts, and it is made again.
//!
//! Then it must know that no bucket was dropped with its recipe before it was read. The drop begins once every shard has been
//! told the version of the recipes in which the recipe is hidden. So each node is asked, after its buckets, for the version in
//! one of its shards: if it is still that of the check, the drop had not begun. If there is none, the node has lost its data.

use std::collections::BTreeSet;
use std::sync::Arc;

use redis::Value;

use super::command::Command;
use super::meta::RecipesThen;
use super::snapshot::ClusterSnapshot;
use super::topology::Topology;
use super::totals::Totals;
use lapidary_store::StoreError;

/// Whether recipes are those of the catalogue.
pub(super) enum Confirmed {
    Same,
    Changed,
    /// They could not be read, so nothing else can.
    Unread(StoreError),
}

/// Answers, and the nodes that gave them ([`Client::read_in_order`](super::Client::read_in_order)).
type InOrder = (Vec<Value>, Option<Arc<Topology>>);

impl ClusterSnapshot<'_> {
    /// The recipes, confirmed. Nothing that may be old is read before.
    pub(super) fn known(&self) -> Result<&RecipesThen, StoreError> {
        if self.confirmed.get().is_none() {
            self.read_confirming(Vec::new())?;
        }
        match self.confirmed.get() {
            Some(Confirmed::Unread(error)) => Err(error.clone()),
            Some(Confirmed::Changed) => Err(StoreError::Changed("the recipes".to_owned())),
            Some(Confirmed::Same) | None => Ok(&*self.recipes),
        }
    }

    /// Reads what is true now, and with it what the snapshot needs to know anyway.
    fn read_confirming(&self, mut commands: Vec<Command>) -> Result<InOrder, StoreError> {
        let count = commands.len();
        commands.extend([
            self.shared.meta().recipes_command(),
            self.shared.meta().totals_version_command(),
        ]);
        let read = self.shared.client.read_in_order(&commands, true);
        let (mut answers, nodes) = read.inspect_err(|error| {
            let _ = self.confirmed.set(Confirmed::Unread(error.clone()));
        })?;
        let [recipes, version] = answers.split_off(count).try_into().unwrap_or_default();
        let same = self.shared.meta().recipes_in(recipes)?.is(&self.recipes);
        if let Some(totals) = self.shared.meta().totals_of(version)? {
            let _ = self.totals.set(totals);
        }
        let _ = self.confirmed.set(if same {
            Confirmed::Same
        } else {
            Confirmed::Changed
        });
        self.known()?;
        Ok((answers, nodes))
    }

    /// Reads buckets, and says if all were read before any of them can have been dropped with its recipe. The recipes that
    /// the snapshot has must be believed until then.
    pub(super) fn read_buckets(
        &self,
        buckets: Vec<Command>,
    ) -> Result<(Vec<Value>, bool), StoreError> {
        let topology = self.shared.client.topology();
        let (count, mut commands) = (buckets.len(), buckets);
        let stamps: Option<BTreeSet<u32>> = super::Stamps::stamps_of(&topology, &commands)
            .into_iter()
            .collect();
        let Some(stamps) = stamps else {
            self.known()?;
            return Ok((self.shared.client.read(&commands)?, false));
        };
        commands.extend(
            stamps
                .iter()
                .map(|shard| self.shared.stamps().stamp_command(*shard)),
        );
        let (mut answers, nodes) = if self.confirmed.get().is_none() {
            self.read_confirming(commands)?
        } else {
            self.known()?;
            self.shared.client.read_in_order(&commands, false)?
        };
        // Each node has read its version after its buckets.
        let mut is_before = nodes.is_some_and(|nodes| Arc::ptr_eq(&nodes, &topology));
        for (shard, version) in stamps.into_iter().zip(answers.split_off(count)) {
            let version: Option<u64> = self.shared.answer(version)?;
            let Some(version) = version else {
                return Err(self.shared.stamps().lost(shard));
            };
            is_before &= version <= self.recipes.version;
        }
        Ok((answers, is_before))
    }

    /// The sums of all books.
    pub(super) fn totals(&self) -> Result<&Totals, StoreError> {
        self.known()?;
        if let Some(totals) = self.totals.get() {
            return Ok(totals);
        }
        let totals = self.shared.meta().totals()?;
        Ok(self.totals.get_or_init(|| totals))
    }
}
