//! The audit log.
//!
//! The last entries are a stream in the slot of the catalogue as a whole, to which a change adds its own in the step in which
//! it, or its place in an outbox, is moved there. Older ones do not change any more: they are moved to the shards in segments,
//! compressed, and are in both places for a moment.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use redis::ToRedisArgs as _;

use super::Shared;
use super::command::Command;
use super::keys::SHARDS;
use lapidary_store::audit::Audited;
use lapidary_store::{Action, Actor, AuditEntry, AuditFrom, StoreError};

/// Number of entries to keep.
pub(super) const KEPT: u64 = 10_000_000;
/// Number of entries of a segment.
const SEGMENT: u64 = 1024;
/// How many segments' entries stay in the stream.
const RECENT: u64 = 8;
/// Number of segments to move at a time.
const AT_ONCE: u64 = 16;
/// How much segments are compressed.
const LEVEL: i32 = 3;

/// An entry as it is stored, and its number.
type StoredEntry = (u64, String);

/// An entry of the audit log, as it is stored.
pub(super) fn audited(by: &Actor, action: Action) -> String {
    let entry = Audited {
        at: Timestamp::now(),
        actor: by.to_string(),
        action,
    };
    serde_json::to_string(&entry).unwrap_or_default()
}

/// The entries of a segment, each in a line with its number.
fn pack(entries: &[StoredEntry]) -> Option<Vec<u8>> {
    let lines = entries
        .iter()
        .map(|(number, entry)| format!("{number} {entry}\n"));
    zstd::encode_all(lines.collect::<String>().as_bytes(), LEVEL).ok()
}

fn unpack(segment: &[u8]) -> Option<Vec<StoredEntry>> {
    let text = String::from_utf8(zstd::decode_all(segment).ok()?).ok()?;
    let entries = text.lines().map(|line| {
        let (number, entry) = line.split_once(' ')?;
        Some((number.parse().ok()?, entry.to_owned()))
    });
    entries.collect()
}

/// The audit log of a catalogue.
pub(super) struct AuditLog<'s>(pub(super) &'s Shared);

impl AuditLog<'_> {
    /// Reads entries.
    pub(super) fn read(
        &self,
        from: AuditFrom,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let first = match from {
            AuditFrom::Behind(number) => number.saturating_add(1),
            AuditFrom::Last => {
                let last = self.recent("XREVRANGE", "+", "-", limit.min(1))?;
                return self.entries(last);
            }
            AuditFrom::Time(time) => self.first_since(time)?,
        };
        let entries = self.stored(first, limit)?;
        self.entries(entries)
    }

    /// The number of the last entry, or 0, even if the entry cannot be read.
    pub(super) fn last(&self) -> Result<u64, StoreError> {
        let last = self.recent("XREVRANGE", "+", "-", 1)?;
        Ok(last.first().map_or(0, |(number, _)| *number))
    }

    /// The number of the first entry from this time on, or one past the end.
    fn first_since(&self, time: Timestamp) -> Result<u64, StoreError> {
        let to = self.last()?.saturating_add(1);
        // Times increase with numbers, but for the clocks of several servers.
        let (mut from, mut to) = (to.saturating_sub(KEPT), to);
        while from < to {
            let middle = from + (to - from) / 2;
            let entry = self.stored(middle, 1)?;
            match self.entries(entry)?.pop() {
                Some(entry) if entry.created_at < time => from = entry.number + 1,
                _ => to = middle,
            }
        }
        Ok(from)
    }

    fn stored(&self, first: u64, limit: usize) -> Result<Vec<StoredEntry>, StoreError> {
        // First, because an entry is moved before it is removed here.
        let mut recent = self.recent("XRANGE", &first.to_string(), "+", limit)?;
        let mut entries = match recent.first() {
            Some((number, _)) if *number > first => self.moved(first, *number, limit)?,
            _ => Vec::new(),
        };
        entries.append(&mut recent);
        entries.truncate(limit);
        Ok(entries)
    }

    /// Entries that were moved, from `first` on and before `end`.
    fn moved(&self, first: u64, end: u64, limit: usize) -> Result<Vec<StoredEntry>, StoreError> {
        // A long log has lost its oldest entries.
        let first = first.max(end.saturating_sub(KEPT));
        let mut entries = Vec::new();
        for segment in first / SEGMENT..end.div_ceil(SEGMENT) {
            if entries.len() >= limit {
                break;
            }
            let packed = self.packed(segment)?;
            if packed.is_empty() {
                continue;
            }
            let segment = unpack(&packed).ok_or_else(|| {
                let entry = segment * SEGMENT;
                self.0.damaged(format!(
                    "the audit log cannot be read from entry {entry} on"
                ))
            })?;
            let wanted = |entry: &StoredEntry| (first..end).contains(&entry.0);
            entries.extend(segment.into_iter().filter(wanted));
        }
        Ok(entries)
    }

    /// A segment as it is stored: empty if it is not there, or noted as lost.
    fn packed(&self, segment: u64) -> Result<Vec<u8>, StoreError> {
        let read = Command::bare("GET", &self.key(segment));
        self.0.answer(self.0.read_now(read)?)
    }

    /// Entries of the stream.
    fn recent(
        &self,
        command: &str,
        first: &str,
        last: &str,
        limit: usize,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let range = (first, last, "COUNT", limit).to_redis_args();
        let read = Command::new(command, &self.stream(), range);
        let read: Vec<(String, Vec<String>)> = self.0.meta().read_meta(read)?;
        let entries = read.into_iter().map(|(id, fields)| {
            let number = id.split('-').next().and_then(|number| number.parse().ok());
            let number = number.ok_or_else(|| self.unreadable(&id))?;
            Ok((number, fields.into_iter().nth(1).unwrap_or_default()))
        });
        entries.collect()
    }

    fn entries(&self, stored: Vec<StoredEntry>) -> Result<Vec<AuditEntry>, StoreError> {
        let entries = stored.into_iter().map(|(number, entry)| {
            let read = serde_json::from_str(&entry);
            let Audited { at, actor, action } =
                read.map_err(|_| self.unreadable(&number.to_string()))?;
            Ok(AuditEntry {
                number,
                created_at: at,
                actor,
                action,
            })
        });
        entries.collect()
    }

    fn unreadable(&self, entry: &str) -> StoreError {
        self.0
            .damaged(format!("entry {entry} of the audit log cannot be read"))
    }

    fn stream(&self) -> Vec<u8> {
        self.0.keys.meta("audit")
    }

    fn key(&self, segment: u64) -> Vec<u8> {
        let shard = (segment % u64::from(SHARDS)) as u32;
        self.0.keys.shard(shard, &format!("audit:{segment}"))
    }

    /// The segments that hold missing entries of this range and are lost without a note. `None` if every missing entry is
    /// accounted for.
    pub(super) fn missing(
        &self,
        range: RangeInclusive<u64>,
        numbers: &BTreeSet<u64>,
    ) -> Result<Option<BTreeSet<u64>>, StoreError> {
        let missing: Vec<u64> = range.filter(|number| !numbers.contains(number)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let first = self.recent("XRANGE", "-", "+", 1)?;
        let first = first.first().map_or(0, |(number, _)| *number);
        let (moved, here): (Vec<u64>, Vec<u64>) =
            missing.into_iter().partition(|number| *number < first);
        let segments: BTreeSet<u64> = moved.iter().map(|number| number / SEGMENT).collect();
        let mut lost = BTreeSet::new();
        for segment in segments {
            let read = Command::bare("EXISTS", &self.key(segment));
            if !self.0.ask::<bool>(read)? {
                lost.insert(segment);
            }
        }
        Ok((!here.is_empty() || !lost.is_empty()).then_some(lost))
    }

    /// Notes that a segment is lost, unless it is there.
    pub(super) fn give_up(&self, segment: u64) -> Result<(), StoreError> {
        let note = Command::new("SET", &self.key(segment), ("", "NX"));
        self.0.write_one(note).map(drop)
    }

    /// Moves old entries to the shards. Several servers may do this at once.
    pub(super) fn move_old(&self) -> Result<(), StoreError> {
        let Some((first, _)) = self.recent("XRANGE", "-", "+", 1)?.pop() else {
            return Ok(());
        };
        let old = (self.last()? / SEGMENT).saturating_sub(RECENT);
        for segment in (first / SEGMENT..old).take(AT_ONCE as usize) {
            self.move_segment(segment)?;
        }
        Ok(())
    }

    fn move_segment(&self, segment: u64) -> Result<(), StoreError> {
        let (first, end) = (segment * SEGMENT, (segment + 1) * SEGMENT);
        let [first, last] = [first, end - 1].map(|number| number.to_string());
        let entries = self.recent("XRANGE", &first, &last, SEGMENT as usize)?;
        // Another server may have moved them meanwhile.
        if entries.is_empty() {
            return Ok(());
        }
        self.store(segment, &entries)?;
        // What is removed here is certain to be missed there if it is lost.
        self.0.acknowledge(())?;
        // Before the entries are removed, since nothing asks for it afterwards.
        if let Some(oldest) = segment.checked_sub(KEPT / SEGMENT) {
            let forget = Command::bare("UNLINK", &self.key(oldest));
            self.0.client.write_loosely(&[forget])?;
        }
        let trim = Command::new("XTRIM", &self.stream(), ("MINID", end));
        self.0.write_one(trim).map(drop)
    }

    /// Stores a segment, unless it was before.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it has other entries: the numbers began again after the stream was lost.
    fn store(&self, segment: u64, entries: &[StoredEntry]) -> Result<(), StoreError> {
        let first = segment * SEGMENT;
        let packed = pack(entries).ok_or_else(|| self.unreadable(&first.to_string()))?;
        let store = Command::new("SET", &self.key(segment), (packed, "NX"));
        let is_new = self.0.answer::<Option<String>>(self.0.write_one(store)?)?;
        if is_new.is_some() || unpack(&self.packed(segment)?).as_deref() == Some(entries) {
            return Ok(());
        }
        Err(self.0.damaged(format!(
            "the audit log began again: entries from {first} on are not moved, because others are in their place"
        )))
    }
}
