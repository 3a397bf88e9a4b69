//! Small records, in tables of rows.
//!
//! What a harvest knows of the addresses of a source grows with the source. So it is in a shard, by the name of the source. All
//! other rows are in the slot of the catalogue as a whole, but for large values (`large.rs`).

use std::collections::{BTreeMap, BTreeSet};

use redis::FromRedisValue;

use super::Shared;
use super::audit::{KEPT, audited};
use super::command::Command;
use super::keys::{Place, SHARDS, place_of_row, place_of_rows};
use super::large::referred;
use super::meta::{Sums, token};
use super::scripts::{APPLY, APPLY_APART, PAGE};
use super::sharing::Fence;
use lapidary_store::{Action, Actor, Row, RowChange, StoreError, Table};

/// How often to read rows again whose large values were replaced meanwhile.
const TRIES: usize = 20;

/// The ends of a range of keys, as a sorted set takes them.
type KeyRange = [Vec<u8>; 2];

/// The smallest range of a sorted set with all keys that start with `prefix`, after `after`.
fn range(prefix: &[u8], after: Option<&[u8]>) -> KeyRange {
    let first = match after.filter(|after| *after >= prefix) {
        Some(after) => [b"(", after].concat(),
        None if prefix.is_empty() => b"-".to_vec(),
        None => [b"[", prefix].concat(),
    };
    let mut end = prefix.to_vec();
    while end.pop_if(|last| *last == u8::MAX).is_some() {}
    let Some(last) = end.last_mut() else {
        return [first, b"+".to_vec()];
    };
    *last += 1;
    [first, [b"(", end.as_slice()].concat()]
}

/// Tables of small records.
pub(super) struct Rows<'s>(pub(super) &'s Shared);

impl Rows<'_> {
    fn table_keys(&self, place: Place, table: Table) -> [Vec<u8>; 2] {
        ["keys", "rows"].map(|part| {
            let name = format!("{part}:{}", table.as_str());
            self.0.keys.at(place, &name)
        })
    }

    /// Reads what is in places, from nodes that have their data still.
    fn read<T: FromRedisValue>(&self, reads: Vec<(Place, Command)>) -> Result<Vec<T>, StoreError> {
        let (places, mut commands): (Vec<Place>, Vec<Command>) = reads.into_iter().unzip();
        let shards: BTreeSet<u32> = places.into_iter().filter_map(Place::shard).collect();
        let count = commands.len();
        let stamps = self.0.stamps();
        commands.extend(shards.iter().map(|shard| stamps.stamp_command(*shard)));
        commands.push(self.0.meta().recipes_command());
        let mut answers = self.0.client.read_now(&commands)?;
        let recipes = self
            .0
            .meta()
            .recipes_in(answers.pop().unwrap_or_default())?;
        for (shard, stamp) in shards.into_iter().zip(answers.split_off(count)) {
            let stamp: Option<u64> = self.0.answer(stamp)?;
            if recipes.is_stamped() && stamp.is_none() {
                return Err(stamps.lost(shard));
            }
        }
        let answers = answers.into_iter();
        answers.map(|answer| self.0.answer(answer)).collect()
    }

    /// Reads rows of a table.
    pub(super) fn page(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let range = range(prefix, after);
        match place_of_rows(table, prefix) {
            Some(place) => self.page_in(place, table, range, limit),
            None => self.page_of_all(table, range, limit),
        }
    }

    fn page_in(
        &self,
        place: Place,
        table: Table,
        [first, last]: KeyRange,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(-1).to_string().into_bytes();
        let keys = self.table_keys(place, table);
        let read = Command::script(&PAGE, &keys, &[first, last, limit][..]);
        for _ in 0..TRIES {
            let page: Vec<Vec<Vec<u8>>> = self.read(vec![(place, read.clone())])?;
            let mut page = page.into_iter().flatten();
            let mut rows: Vec<Row> = std::iter::from_fn(|| page.next().zip(page.next())).collect();
            if place != Place::Meta || self.fill(rows.iter_mut().map(|(_, value)| value))? {
                return Ok(rows);
            }
        }
        Err(self.lost_value(table))
    }

    /// Puts large values in the place of references. Returns false if one is not there: its row has another by now.
    fn fill<'v>(&self, values: impl Iterator<Item = &'v mut Vec<u8>>) -> Result<bool, StoreError> {
        let (mut references, mut reads) = (Vec::new(), Vec::new());
        for value in values {
            if let Some(id) = referred(value) {
                let (place, key) = self.0.large_values().key(id);
                reads.push((place, Command::bare("GET", &key)));
                references.push(value);
            }
        }
        if reads.is_empty() {
            return Ok(true);
        }
        for (reference, large) in references.into_iter().zip(self.read(reads)?) {
            let Some(large) = large else {
                return Ok(false);
            };
            *reference = large;
        }
        Ok(true)
    }

    fn lost_value(&self, table: Table) -> StoreError {
        let table = table.as_str();
        self.0
            .damaged(format!("a value of the table '{table}' is lost"))
    }

    /// Reads rows of all places in order. The rows of a source are together, so there are few changes from one place to another.
    fn page_of_all(
        &self,
        table: Table,
        [mut first, last]: KeyRange,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let places = (0..SHARDS).map(Place::Shard).chain([Place::Meta]);
        let mut next = self.first_keys(table, &[&first, &last], places)?;
        let mut page = Vec::new();
        while let Some((_, place)) = next.pop_first() {
            let after = next.first_key_value().map(|(key, _)| key.clone());
            let end = after
                .as_ref()
                .map_or_else(|| last.clone(), |key| [b"(", key.as_slice()].concat());
            page.append(&mut self.page_in(place, table, [first, end], limit - page.len())?);
            let Some(after) = after.filter(|_| page.len() < limit) else {
                break;
            };
            first = [b"[", after.as_slice()].concat();
            next.append(&mut self.first_keys(table, &[&first, &last], [place])?);
        }
        Ok(page)
    }

    /// The first key of a range in each place that has one.
    fn first_keys(
        &self,
        table: Table,
        [first, last]: &[&Vec<u8>; 2],
        places: impl IntoIterator<Item = Place>,
    ) -> Result<BTreeMap<Vec<u8>, Place>, StoreError> {
        let places: Vec<Place> = places.into_iter().collect();
        let read = |place: &Place| {
            let [sorted, _] = self.table_keys(*place, table);
            let range = (first, last, "LIMIT", 0, 1);
            (*place, Command::new("ZRANGEBYLEX", &sorted, range))
        };
        let found: Vec<Vec<Vec<u8>>> = self.read(places.iter().map(read).collect())?;
        let found = found.into_iter().map(|mut keys| keys.pop());
        let found = found.zip(places);
        Ok(found
            .filter_map(|(key, place)| Some((key?, place)))
            .collect())
    }

    /// Reads the values of the rows of a table with these keys.
    pub(super) fn get(
        &self,
        table: Table,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        for _ in 0..TRIES {
            let mut values = self.get_once(table, keys)?;
            let of_meta = keys
                .iter()
                .zip(&mut values)
                .filter(|(key, _)| place_of_row(table, key) == Place::Meta);
            if self.fill(of_meta.filter_map(|(_, value)| value.as_mut()))? {
                return Ok(values);
            }
        }
        Err(self.lost_value(table))
    }

    fn get_once(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut places: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        for (at, key) in keys.iter().enumerate() {
            places.entry(place_of_row(table, key)).or_default().push(at);
        }
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let reads = places.iter().map(|(place, of_place)| {
            let [_, rows] = self.table_keys(*place, table);
            let keys: Vec<&Vec<u8>> = of_place.iter().map(|at| &keys[*at]).collect();
            (*place, Command::new("HMGET", &rows, keys))
        });
        let read: Vec<Vec<Option<Vec<u8>>>> = self.read(reads.collect())?;
        let mut values = vec![None; keys.len()];
        for (of_place, found) in places.into_values().zip(read) {
            for (at, value) in of_place.into_iter().zip(found) {
                values[at] = value;
            }
        }
        Ok(values)
    }

    /// Changes rows, one place after another, each in one step. The entries of the audit log are part of the first: that of a source,
    /// if there is one.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if a lease has another token.
    pub(super) fn apply(
        &self,
        by: &Actor,
        fences: &[Fence],
        changes: &[RowChange],
        mut actions: &[Action],
    ) -> Result<(), StoreError> {
        let mut places: BTreeMap<Place, Vec<&RowChange>> = BTreeMap::new();
        for change in changes {
            let place = place_of_row(change.table, &change.key);
            places.entry(place).or_default().push(change);
        }
        if places.is_empty() {
            places.insert(Place::Meta, Vec::new());
        }
        for (place, changes) in places {
            let actions = std::mem::take(&mut actions);
            match place {
                Place::Shard(shard) => {
                    self.apply_apart(by, fences, shard, &changes, actions)?;
                    if !actions.is_empty() {
                        self.0.changes().empty_outbox(shard)?;
                    }
                }
                Place::Meta => {
                    self.apply_with(by, fences, &changes, actions, None)?;
                }
            }
        }
        Ok(())
    }

    /// Changes rows of the catalogue as a whole, and perhaps the recipes, from one text to another. Returns whether they were still
    /// the first.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if a lease has another token, or this took so long that its large values were removed.
    pub(super) fn apply_with(
        &self,
        by: &Actor,
        fences: &[Fence],
        changes: &[&RowChange],
        actions: &[Action],
        recipes: Option<(&str, &str)>,
    ) -> Result<bool, StoreError> {
        let command = self.command(by, fences, changes, actions, recipes)?;
        match self.run(command, actions.is_empty() && recipes.is_none())? {
            -1 => Err(self.0.stamps().lost_recipes()),
            -2 => Err(taken_over()),
            done => Ok(done == 1),
        }
    }

    /// Stores the large values of a change, and returns the command that makes it.
    pub(super) fn command(
        &self,
        by: &Actor,
        fences: &[Fence],
        changes: &[&RowChange],
        actions: &[Action],
        recipes: Option<(&str, &str)>,
    ) -> Result<Command, StoreError> {
        let mut keys = ["recipes", "audit", "done", "leases", "spare"]
            .map(|name| self.0.keys.meta(name))
            .to_vec();
        let (before, after) = recipes.unwrap_or_default();
        let mut values: Vec<Option<Vec<u8>>> =
            changes.iter().map(|change| change.value.clone()).collect();
        let large = self.0.large_values().store(values.iter_mut().flatten())?;
        let mut arguments: Vec<Vec<u8>> = [
            &token(),
            &KEPT.to_string(),
            before,
            after,
            self.must_be_stamped(),
            &fences.len().to_string(),
            &large.len().to_string(),
            &changes.len().to_string(),
        ]
        .map(|text| text.as_bytes().to_vec())
        .to_vec();
        for Fence { lease, token } in fences {
            arguments.extend([lease.clone(), token.to_string()].map(String::into_bytes));
        }
        arguments.extend(large.into_iter().map(|id| id.as_bytes().to_vec()));
        let changes = changes.iter().copied().zip(values);
        self.push_rows(Place::Meta, changes, &mut keys, &mut arguments);
        let entries = actions.iter().map(|action| audited(by, action.clone()));
        arguments.extend(entries.map(String::into_bytes));
        Ok(Command::script(&APPLY, &keys, arguments))
    }

    /// Changes rows of a shard. Entries of the audit log are left in its outbox.
    pub(super) fn apply_apart(
        &self,
        by: &Actor,
        fences: &[Fence],
        shard: u32,
        changes: &[&RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError> {
        let fixed = ["recipes", "outbox", "done"].map(str::to_owned).into_iter();
        let of_leases = fences.iter().map(|fence| Fence::name(&fence.lease));
        let names = fixed.chain(of_leases);
        let mut keys: Vec<Vec<u8>> = names.map(|name| self.0.keys.shard(shard, &name)).collect();
        let entries = actions.iter().map(|action| audited(by, action.clone()));
        let entries: Vec<String> = entries.collect();
        let entry = if entries.is_empty() {
            Vec::new()
        } else {
            Sums::default().entry(&entries)
        };
        let mut arguments = vec![
            token().into_bytes(),
            self.must_be_stamped().as_bytes().to_vec(),
            entry,
        ];
        let counts = [fences.len(), changes.len()];
        arguments.extend(counts.map(|count| count.to_string().into_bytes()));
        arguments.extend(
            fences
                .iter()
                .map(|fence| fence.token.to_string().into_bytes()),
        );
        let changes = changes.iter().map(|change| (*change, change.value.clone()));
        self.push_rows(Place::Shard(shard), changes, &mut keys, &mut arguments);
        let command = Command::script(&APPLY_APART, &keys, arguments);
        match self.run(command, actions.is_empty())? {
            -1 => Err(self.0.stamps().lost(shard)),
            -2 => Err(taken_over()),
            _ => Ok(()),
        }
    }

    /// Whether there must be recipes: a node that has lost them has lost everything else of the catalogue.
    fn must_be_stamped(&self) -> &'static str {
        if self.0.meta().last_recipes().is_stamped() {
            "1"
        } else {
            "0"
        }
    }

    pub(super) fn run(&self, command: Command, loosely: bool) -> Result<i64, StoreError> {
        let done = if loosely {
            self.0.client.write_loosely(&[command])?.pop()
        } else {
            Some(self.0.write_one(command)?)
        };
        self.0.answer(done.unwrap_or_default())
    }

    /// Adds changes of rows to the arguments of a script, and the keys of their tables to its keys, which count from 1.
    fn push_rows<'c>(
        &self,
        place: Place,
        changes: impl Iterator<Item = (&'c RowChange, Option<Vec<u8>>)>,
        keys: &mut Vec<Vec<u8>>,
        arguments: &mut Vec<Vec<u8>>,
    ) {
        let (mut tables, first): (Vec<Table>, usize) = (Vec::new(), keys.len() + 1);
        for (RowChange { table, key, .. }, value) in changes {
            let at = tables
                .iter()
                .position(|known| known == table)
                .unwrap_or_else(|| {
                    tables.push(*table);
                    keys.extend(self.table_keys(place, *table));
                    tables.len() - 1
                });
            arguments.push((first + 2 * at).to_string().into_bytes());
            arguments.push(u8::from(value.is_some()).to_string().into_bytes());
            arguments.push(key.clone());
            arguments.push(value.unwrap_or_default());
        }
    }
}

fn taken_over() -> StoreError {
    StoreError::Changed("what only one may change at a time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_what_starts_with_the_prefix() {
        let table = [
            ("", None, ["-", "+"]),
            ("", Some("a"), ["(a", "+"]),
            ("ab", None, ["[ab", "(ac"]),
            ("ab", Some("a"), ["[ab", "(ac"]),
            ("ab", Some("abc"), ["(abc", "(ac"]),
        ];
        for (prefix, after, expected) in table {
            let expected = expected.map(|end| end.as_bytes().to_vec());
            assert_eq!(range(prefix.as_bytes(), after.map(str::as_bytes)), expected);
        }
        assert_eq!(range(b"a\xff", None), [b"[a\xff".to_vec(), b"(b".to_vec()]);
        assert_eq!(range(b"\xff", None), [b"[\xff".to_vec(), b"+".to_vec()]);
    }
}
