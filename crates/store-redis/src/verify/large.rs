//! Large values of rows: whether each is there, and whether a row needs it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use uuid::Uuid;

use super::super::command::Command;
use super::super::large::referred;
use super::super::scripts::PAGE as PAGE_OF_ROWS;
use super::{ClusterVerification, PAGE};
use lapidary_store::{Row, StoreError};

/// A change has referred to a value that is older than so many seconds, or will never do so.
const OLD: u64 = 3600;

/// What was found of large values.
#[derive(Default)]
pub(super) struct FoundValues {
    /// The tables that have rows.
    pub(super) tables: BTreeSet<String>,
    /// The values that are there, and that no row was seen to need.
    pub(super) needless: BTreeSet<Uuid>,
    /// The tables and the keys of rows whose values are not.
    lost: Vec<(String, Vec<u8>)>,
}

/// Verifies large values.
pub(super) struct ValuePass<'c, 'a>(pub(super) &'c mut ClusterVerification<'a>);

impl ValuePass<'_, '_> {
    /// Compares the rows with the values that were found.
    pub(super) fn all_values(&mut self) -> Result<(), StoreError> {
        for table in std::mem::take(&mut self.0.values.tables) {
            let mut first = b"-".to_vec();
            loop {
                let rows = self.stored_rows(&table, &first)?;
                let Some((last, _)) = rows.last() else { break };
                first = [b"(", last.as_slice()].concat();
                self.values_of(&table, rows)?;
                self.0.step(0)?;
            }
        }
        for id in std::mem::take(&mut self.0.values.needless) {
            if is_old(id) && !self.0.shared.large_values().is_spare(id)? {
                self.0
                    .faults
                    .add(format!("no row has the large value {id}"));
                self.0.values.needless.insert(id);
            }
        }
        Ok(())
    }

    /// Rows as they are stored.
    fn stored_rows(&self, table: &str, first: &[u8]) -> Result<Vec<Row>, StoreError> {
        let keys = ["keys", "rows"].map(|part| self.0.shared.keys.meta(&format!("{part}:{table}")));
        let limit = PAGE.to_string();
        let range = [first, b"+", limit.as_bytes()];
        let page: Vec<Vec<u8>> =
            self.0
                .shared
                .ask(Command::script(&PAGE_OF_ROWS, &keys, &range[..]))?;
        let mut page = page.into_iter();
        Ok(std::iter::from_fn(|| page.next().zip(page.next())).collect())
    }

    fn values_of(&mut self, table: &str, rows: Vec<Row>) -> Result<(), StoreError> {
        let references = rows.into_iter();
        let references = references.filter_map(|(key, value)| Some((key, referred(&value)?)));
        let references: Vec<(Vec<u8>, Uuid)> = references.collect();
        let values = self.0.shared.large_values();
        let lookups = references.iter().map(|(_, id)| values.key(*id).1);
        let lookups: Vec<Command> = lookups.map(|key| Command::bare("EXISTS", &key)).collect();
        let found: Vec<bool> = self.0.shared.ask_all(&lookups)?;
        for ((key, id), is_there) in references.into_iter().zip(found) {
            self.0.values.needless.remove(&id);
            // It is removed some time after its row has another.
            if !is_there && self.refers(table, &key, id)? {
                let name = key.escape_ascii();
                self.0.faults.add(format!(
                    "the value of the row '{name}' of the table '{table}' is lost"
                ));
                self.0.values.lost.push((table.to_owned(), key));
            }
        }
        Ok(())
    }

    /// Whether a row refers to a value still.
    fn refers(&self, table: &str, key: &[u8], id: Uuid) -> Result<bool, StoreError> {
        let rows = self.0.shared.keys.meta(&format!("rows:{table}"));
        let value: Option<Vec<u8>> = self.0.shared.ask(Command::new("HGET", &rows, key))?;
        Ok(value.and_then(|value| referred(&value)) == Some(id))
    }

    /// Removes values that no row needs, and rows whose values are lost.
    pub(super) fn mend(&mut self) -> Result<(), StoreError> {
        for id in std::mem::take(&mut self.0.values.needless) {
            let (_, key) = self.0.shared.large_values().key(id);
            self.0.shared.write_one(Command::bare("UNLINK", &key))?;
        }
        for (table, key) in std::mem::take(&mut self.0.values.lost) {
            for (command, part) in [("ZREM", "keys"), ("HDEL", "rows")] {
                let of_table = self.0.shared.keys.meta(&format!("{part}:{table}"));
                self.0
                    .shared
                    .write_one(Command::new(command, &of_table, key.as_slice()))?;
            }
        }
        Ok(())
    }
}

fn is_old(id: Uuid) -> bool {
    let made = id.get_timestamp().map_or(0, |time| time.to_unix().0);
    let now = u64::try_from(Timestamp::now().as_second()).unwrap_or(0);
    made.saturating_add(OLD) < now
}
