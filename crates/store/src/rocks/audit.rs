//! The audit log in its column family.

use std::sync::Arc;

use jiff::Timestamp;
use rocksdb::{ReadOptions, WriteBatch};

use super::RocksStore;
use super::read::RocksSnapshot;
use super::schema::{self, Family, MetaKey};
use super::sync::durably;
use crate::audit::Audited;
use crate::{Action, Actor, AuditEntry, AuditFrom, StoreError};

/// Number of entries to keep, some hundred bytes each on disk.
const KEPT: u64 = if cfg!(test) { 300 } else { 10_000_000 };
/// Number of entries to delete at a time.
const STEP: u64 = KEPT / 100;

/// Writes a batch together with its audit log entries, and waits until both are on disk.
///
/// Entries are numbered in the order in which their batches are written. No other lock is taken here, so changes that
/// do not need the write lock, such as revoking a key, do not wait for a long merge.
pub(super) fn commit(
    store: &RocksStore,
    by: &Actor,
    mut batch: WriteBatch,
    actions: Vec<Action>,
) -> Result<(), StoreError> {
    if actions.is_empty() {
        return if batch.is_empty() {
            Ok(())
        } else {
            durably(store, batch)
        };
    }
    let _numbering = store.numbering.lock();
    let (at, actor) = (Timestamp::now(), by.to_string());
    // Not `view`: a caller that changes the recipes holds their lock.
    let first = RocksSnapshot::new(
        store,
        store.db.snapshot(),
        Arc::default(),
        Arc::default(),
        None,
    )
    .last_audited()?;
    let mut number = first;
    for action in actions {
        number += 1;
        let entry = Audited {
            at,
            actor: actor.clone(),
            action,
        };
        batch.put_cf(
            store.family(Family::Audit),
            schema::audit_key(number),
            schema::json(&entry),
        );
    }
    batch.put_cf(
        store.family(Family::Meta),
        MetaKey::Audited.bytes(),
        schema::audit_key(number),
    );
    if number / STEP > first / STEP && number > KEPT {
        let gone = schema::audit_key(0)..schema::audit_key(number - KEPT);
        batch.delete_range_cf(store.family(Family::Audit), gone.start, gone.end);
    }
    durably(store, batch)
}

/// Resets the number of the last entry to that of the last existing entry, so that no number is reused.
pub(super) fn renumber(store: &RocksStore) -> Result<(), StoreError> {
    let _numbering = store.numbering.lock();
    let snapshot = store.view();
    let mut entries = snapshot.iterator(Family::Audit, ReadOptions::default());
    entries.seek_to_last();
    let mut batch = WriteBatch::default();
    if let Some(last) = entries.key() {
        batch.put_cf(store.family(Family::Meta), MetaKey::Audited.bytes(), last);
    }
    snapshot.end(&entries)?;
    durably(store, batch)
}

/// Returns up to `limit` entries sorted by number.
pub(super) fn read(
    snapshot: &RocksSnapshot<'_>,
    from: AuditFrom,
    limit: usize,
) -> Result<Vec<AuditEntry>, StoreError> {
    let mut entries = snapshot.iterator(Family::Audit, ReadOptions::default());
    let first = match from {
        AuditFrom::Behind(number) => number.saturating_add(1),
        AuditFrom::Last => {
            entries.seek_to_last();
            let Some((key, _)) = entries.item() else {
                snapshot.end(&entries)?;
                return Ok(Vec::new());
            };
            number(snapshot, key)?
        }
        AuditFrom::Time(time) => {
            entries.seek_to_first();
            let Some((key, _)) = entries.item() else {
                snapshot.end(&entries)?;
                return Ok(Vec::new());
            };
            // Times increase with numbers, unless the clock was set back.
            let (mut from, mut to) = (
                number(snapshot, key)?,
                snapshot.last_audited()?.saturating_add(1),
            );
            while from < to {
                let middle = from + (to - from) / 2;
                entries.seek(schema::audit_key(middle));
                match entries.item() {
                    Some((key, value)) if entry(snapshot, key, value)?.created_at < time => {
                        from = middle + 1;
                    }
                    _ => to = middle,
                }
            }
            from
        }
    };
    entries.seek(schema::audit_key(first));
    let mut found = Vec::new();
    while found.len() < limit
        && let Some((key, value)) = entries.item()
    {
        found.push(entry(snapshot, key, value)?);
        entries.next();
    }
    snapshot.end(&entries)?;
    Ok(found)
}

fn number(snapshot: &RocksSnapshot<'_>, key: &[u8]) -> Result<u64, StoreError> {
    schema::read_audit_key(key)
        .ok_or_else(|| snapshot.damaged(format!("an entry of the audit log has the key {key:?}")))
}

/// Reads an entry.
pub(super) fn entry(
    snapshot: &RocksSnapshot<'_>,
    key: &[u8],
    value: &[u8],
) -> Result<AuditEntry, StoreError> {
    let number = number(snapshot, key)?;
    let Audited { at, actor, action } =
        snapshot.json(value, format_args!("entry {number} of the audit log"))?;
    Ok(AuditEntry {
        number,
        created_at: at,
        actor,
        action,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn a_long_log_loses_its_oldest_entries() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        for job in 1..=2 * KEPT as u32 {
            store
                .apply(&Actor::Local, &[], &[Action::JobCancelled { job }])
                .unwrap();
            let all = read(&store.view(), AuditFrom::Behind(0), usize::MAX).unwrap();
            let (first, last) = (all[0].number, u64::from(job));
            assert_eq!(all.len() as u64, last + 1 - first);
            assert!(
                first == 1 || (KEPT..=KEPT + STEP).contains(&(last - first)),
                "{first} to {last}"
            );
            assert_eq!(all.last().map(|entry| entry.number), Some(last));
        }
    }

    #[test]
    fn any_time_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let past = AuditFrom::Time(Timestamp::UNIX_EPOCH);
        assert_eq!(read(&store.view(), past, 9).unwrap(), []);
        for job in 0..40 {
            store
                .apply(&Actor::Local, &[], &[Action::JobCancelled { job }])
                .unwrap();
        }
        let all = read(&store.view(), AuditFrom::Behind(0), usize::MAX).unwrap();
        for entry in &all {
            let found = read(&store.view(), AuditFrom::Time(entry.created_at), 1).unwrap();
            assert_eq!(found[0].created_at, entry.created_at);
        }
        assert_eq!(read(&store.view(), past, 99).unwrap(), all);
        let future = AuditFrom::Time(Timestamp::MAX);
        assert_eq!(read(&store.view(), future, 9).unwrap(), []);
    }
}
