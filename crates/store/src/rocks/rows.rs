//! The tables of small records. Keys and jobs have families of their own; the others share [`Family::Meta`].

use std::thread::sleep;
use std::time::{Duration, Instant};

use rocksdb::{Direction, IteratorMode, PrefixRange, ReadOptions, WriteBatch};

use super::schema::{Family, MetaKey};
use super::{RocksStore, audit, error, vitals};
use crate::{Action, Actor, Row, RowChange, StoreError, Table};

/// How long to wait for `RocksDB` to resume writing after space was freed. It checks every 5 seconds.
const RECOVERY: Duration = Duration::from_secs(15);
const RECOVERY_STEP: Duration = Duration::from_millis(50);

/// The most bytes of values of a change that may use the reserve, which is there for changes such as revoking a key.
const SMALL: usize = 256 << 10;

/// Where the rows of a table are: a family, and what their keys start with.
fn place(table: Table) -> (Family, Vec<u8>) {
    match table {
        Table::Keys => (Family::Keys, Vec::new()),
        Table::Jobs => (Family::Jobs, Vec::new()),
        Table::Decisions => (Family::Decisions, Vec::new()),
        Table::Folds => (Family::Meta, MetaKey::Folds.bytes()),
        Table::Access
        | Table::AllowLists
        | Table::Libraries
        | Table::Webhooks
        | Table::WebhookProgress
        | Table::KeyWebhooks
        | Table::KeyWebhookProgress
        | Table::Sources
        | Table::Harvests
        | Table::Copy
        | Table::Sessions
        | Table::Duplicates
        | Table::DuplicateGroups
        | Table::Requests
        | Table::CheckCounts
        | Table::Figures => (
            Family::Meta,
            MetaKey::Setting(table.as_str().as_bytes(), b"").bytes(),
        ),
    }
}

/// Reads up to `limit` rows whose keys start with `prefix`, after the key `after`.
pub(super) fn page(
    store: &RocksStore,
    table: Table,
    prefix: &[u8],
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let (family, place) = place(table);
    // The first key after another one is that key with a zero byte.
    let first = after
        .map_or_else(|| prefix.to_vec(), |after| [after, b"\0"].concat())
        .max(prefix.to_vec());
    let from = [place.as_slice(), &first].concat();
    let mut rows = Vec::new();
    // Without an end, it would read on past deleted rows behind these, of which there may be millions.
    let mut options = ReadOptions::default();
    options.set_iterate_range(PrefixRange([place.as_slice(), prefix].concat()));
    let mode = IteratorMode::From(&from, Direction::Forward);
    for entry in store
        .db
        .iterator_cf_opt(store.family(family), options, mode)
        .take(limit)
    {
        let (key, value) = entry.map_err(|e| store.failed(&e))?;
        let key = key
            .strip_prefix(place.as_slice())
            .filter(|key| key.starts_with(prefix));
        let Some(key) = key else { break };
        rows.push((key.to_vec(), value.into_vec()));
    }
    Ok(rows)
}

/// Reads the values of the rows with these keys.
pub(super) fn get(
    store: &RocksStore,
    table: Table,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
    let (family, place) = place(table);
    let family = store.family(family);
    let keys = keys
        .iter()
        .map(|key| (family, [place.as_slice(), key].concat()));
    store
        .db
        .multi_get_cf(keys)
        .into_iter()
        .map(|value| value.map_err(|e| store.failed(&e)))
        .collect()
}

/// Writes the changes. On a full disk, small ones use its reserve, and the others are refused until it is held again.
pub(super) fn apply(
    store: &RocksStore,
    by: &Actor,
    changes: &[RowChange],
    actions: &[Action],
) -> Result<(), StoreError> {
    let is_small = may_use_reserve(changes);
    if !is_small && store.reserve.is_released() {
        return Err(StoreError::DiskFull(error::show(&store.dir)));
    }
    match commit(store, by, changes, actions) {
        Err(StoreError::DiskFull(_)) if is_small && store.reserve.release() => {
            tracing::warn!(
                "{}: the disk is full; its reserve is used",
                error::show(&store.dir)
            );
            let until = Instant::now() + RECOVERY;
            while vitals::writable(store).is_err() && Instant::now() < until {
                sleep(RECOVERY_STEP);
            }
            commit(store, by, changes, actions)
        }
        done => done,
    }
}

/// Whether it is a small change, and not only an entry of the audit log, such as of whoever reads something.
fn may_use_reserve(changes: &[RowChange]) -> bool {
    let values = changes.iter().filter_map(|change| change.value.as_ref());
    let bytes: usize = values.map(Vec::len).sum();
    !changes.is_empty() && bytes <= SMALL
}

fn commit(
    store: &RocksStore,
    by: &Actor,
    changes: &[RowChange],
    actions: &[Action],
) -> Result<(), StoreError> {
    let mut batch = WriteBatch::default();
    for RowChange { table, key, value } in changes {
        let (family, mut place) = place(*table);
        place.extend(key);
        match value {
            Some(value) => batch.put_cf(store.family(family), place, value),
            None => batch.delete_cf(store.family(family), place),
        }
    }
    if actions.is_empty() {
        // Progress: later changes that wait for the disk take it along.
        return store.db.write(batch).map_err(|e| store.failed(&e));
    }
    audit::commit(store, by, batch, actions.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_full_disk_is_for_small_changes() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = RocksStore::open_or_create(dir.path()).expect("a store");
        let action = [Action::KeyRevoked {
            name: "shop".to_owned(),
        }];
        let write = |bytes: usize| {
            let change = RowChange::put(Table::Decisions, "t", vec![b'x'; bytes]);
            apply(&store, &Actor::Local, &[change], &action)
        };
        write(SMALL + 1).expect("there is space");
        store.reserve.hold(u64::MAX).expect("there is space");
        assert!(store.reserve.release());
        assert!(matches!(write(SMALL + 1), Err(StoreError::DiskFull(_))));
        let only_noted = apply(&store, &Actor::Local, &[], &action);
        assert!(matches!(only_noted, Err(StoreError::DiskFull(_))));
        write(SMALL).expect("it is small");
        store.reserve.hold(u64::MAX).expect("there is space");
        write(SMALL + 1).expect("there is space again");
    }
}
