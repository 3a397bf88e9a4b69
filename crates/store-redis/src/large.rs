//! Large values of rows of the catalogue as a whole: reports and texts of filed checks, above all. Each is a key of some shard, and
//! its row has a reference to it.
//!
//! A change first stores them, so it is made in one step: rows refer to them from then on. Until then, and once a row has another
//! value, they are noted as spare in the slot of the catalogue as a whole, and are removed some time later, whoever is gone
//! meanwhile.

use uuid::Uuid;

use super::Shared;
use super::command::Command;
use super::keys::Place;
use super::scripts::SPARE;
use lapidary_store::StoreError;

/// The length of large values in bytes: those at least as long are stored apart.
const LARGE: usize = 4096;
/// What a reference begins with, and hardly any other value does. One that does is stored apart, however short.
const REFERENCE: u8 = 0xFF;
/// How long a value stays that was replaced, in seconds, for those who read its row before.
const STAYS: &str = "60";
/// How long a change may take from storing values to referring to them, in seconds.
const WINDOW: &str = "600";
/// Number of values removed at a time.
const AT_ONCE: usize = 1000;

fn must_be_apart(value: &[u8]) -> bool {
    value.len() >= LARGE || value.first() == Some(&REFERENCE)
}

/// The id of the value that a row refers to, if it does.
pub(super) fn referred(value: &[u8]) -> Option<Uuid> {
    let id = value.strip_prefix(&[REFERENCE])?;
    Uuid::from_slice(id).ok()
}

/// The large values of rows.
pub(super) struct LargeValues<'s>(pub(super) &'s Shared);

impl LargeValues<'_> {
    /// The place of a value, and its key. The end of an id is random.
    pub(super) fn key(&self, id: Uuid) -> (Place, Vec<u8>) {
        let place = Place::Shard(u32::from(id.as_bytes()[15]));
        (place, self.0.keys.at(place, &format!("v:{}", id.simple())))
    }

    fn spare(&self) -> Vec<u8> {
        self.0.keys.meta("spare")
    }

    /// Stores the large ones among values, and puts references in their place. Returns their ids, which the change must name that
    /// writes the references.
    pub(super) fn store<'v>(
        &self,
        values: impl Iterator<Item = &'v mut Vec<u8>>,
    ) -> Result<Vec<Uuid>, StoreError> {
        let (mut ids, mut writes) = (Vec::new(), Vec::new());
        for value in values.filter(|value| must_be_apart(value)) {
            let id = Uuid::now_v7();
            let (_, key) = self.key(id);
            writes.push(Command::new("SET", &key, value.as_slice()));
            *value = [&[REFERENCE], id.as_bytes().as_slice()].concat();
            ids.push(id);
        }
        if !ids.is_empty() {
            // Noted first, so that nothing is left of a change that is not made.
            self.0.write_one(self.spare_command(&ids))?;
            self.0.client.write(&writes)?;
        }
        Ok(ids)
    }

    fn spare_command(&self, ids: &[Uuid]) -> Command {
        let mut arguments = [STAYS, WINDOW]
            .map(|time| time.as_bytes().to_vec())
            .to_vec();
        arguments.extend(ids.iter().map(|id| id.as_bytes().to_vec()));
        Command::script(&SPARE, &[self.spare()], arguments)
    }

    /// Removes values that no row refers to.
    pub(super) fn remove_spare(&self) -> Result<(), StoreError> {
        if self.0.ask::<u64>(Command::bare("HLEN", &self.spare()))? == 0 {
            return Ok(());
        }
        let due: Vec<Vec<u8>> = self.0.answer(self.0.write_one(self.spare_command(&[]))?)?;
        for some in due.chunks(AT_ONCE) {
            let ids = some.iter().filter_map(|id| Uuid::from_slice(id).ok());
            let unlink = ids.map(|id| Command::bare("UNLINK", &self.key(id).1));
            self.0.client.write_loosely(&unlink.collect::<Vec<_>>())?;
            let forget = Command::new("HDEL", &self.spare(), some);
            self.0.client.write_loosely(&[forget])?;
        }
        Ok(())
    }

    /// Whether a value is noted as spare.
    pub(super) fn is_spare(&self, id: Uuid) -> Result<bool, StoreError> {
        let known = Command::new("HEXISTS", &self.spare(), id.as_bytes().as_slice());
        self.0.ask(known)
    }
}
