//! What a harvest has seen and what it has still to fetch, in rows of the store:
//!
//! ```text
//! source \0 's'              → the state of the harvest
//! source \0 'q' number, u64  → an entry to fetch, in order of number
//! source \0 'k' address      → what is known of an address that was listed
//! source \0 't' digest       → the address of the book of a site with this text
//! source \0 'e' address      → why it failed, if it did
//! source \0 'l' address      → what a page listed, packed (`links.rs`)
//! source \0 'r' !number, u64 → a run, the newest first
//! ```
//!
//! All others in JSON. Whatever happens between two writes, an address that was listed is in the queue or was fetched: its rows
//! change in one step.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::links::KeptLinks;
use super::walk::NumberWalk;
use super::{Entry, HarvestError, Reason, SourceLimit, Tally};
use lapidary_catalogue::api::SourceError;
use lapidary_catalogue::{Catalogue, CatalogueError, put};
use lapidary_extract::MainText;
use lapidary_store::{BookId, Library, Rights, RowChange, Table, Validity};
use lapidary_work::LeasedWork;

/// How many rows are read at a time.
const ROWS: usize = 1_000;
/// How many such pages [`Frontier::clear`] deletes in one call.
const PAGES_CLEARED: usize = 10;
/// Longer addresses are known by their digests.
const LONGEST: usize = 500;

/// The rows of a source.
pub(super) struct Frontier<'c> {
    catalogue: &'c Catalogue,
    name: String,
}

/// The state of a harvest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct HarvestState {
    /// The number of the current or last run, counted from 1.
    pub(super) run: u64,
    /// The next number in the queue.
    pub(super) next: u64,
    /// The number of entries that the run has queued.
    pub(super) listed: u64,
    /// The number of books that the run has added for addresses without any before.
    #[serde(default)]
    pub(super) new: u64,
    /// How often a list of the run was begun again.
    #[serde(default)]
    pub(super) restarts: u32,
    /// The bytes of what is kept of its pages.
    #[serde(default)]
    pub(super) kept_bytes: u64,
    /// What the run knows of the numbers in a site's addresses.
    #[serde(default)]
    pub(super) walk: NumberWalk,
    /// Whether a page of the run could not be read.
    pub(super) incomplete: bool,
    /// When the source's own clock says that this run began, and the last complete one.
    pub(super) now: Option<String>,
    pub(super) since: Option<String>,
    /// The number of entries in the queue.
    #[serde(default)]
    pub(super) queued: u64,
    /// The number of addresses that are known as refused.
    #[serde(default)]
    pub(super) refused: u64,
    /// How many addresses were done per second lately.
    #[serde(default)]
    pub(super) per_second: f64,
    /// The current or last run.
    pub(super) last: Option<RunRecord>,
}

impl HarvestState {
    /// Whether the last run has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.ended.is_some())
    }
}

/// What some sources have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueTotals {
    /// The addresses in their queues, and those that are known as refused.
    pub(super) queued: u64,
    pub(super) refused: u64,
    /// The bytes of what is kept of their pages.
    pub(super) kept_bytes: u64,
}

/// A run.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunRecord {
    /// Its number, counted from 1.
    pub(super) number: u64,
    pub(super) begun: Timestamp,
    /// Missing while it runs, or if it was stopped.
    pub(super) ended: Option<Timestamp>,
    #[serde(flatten)]
    pub(super) tally: Tally,
    /// The number of addresses refused or skipped, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) refused_by: BTreeMap<Reason, u64>,
    /// The number of addresses left out, by limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) left_out: BTreeMap<SourceLimit, u64>,
    /// Why it could not go on.
    pub(super) error: Option<String>,
}

/// An entry in the queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct QueuedEntry {
    pub(super) entry: Entry,
    /// How many pages lead to it.
    #[serde(default)]
    pub(super) depth: u32,
    /// The attempts so far.
    #[serde(default)]
    pub(super) tries: u32,
    /// Not before this time.
    pub(super) due: Option<Timestamp>,
    /// Whether an earlier run has read it.
    #[serde(default)]
    pub(super) read_before: bool,
}

impl QueuedEntry {
    pub(super) fn new(entry: Entry, depth: u32, read_before: bool) -> Self {
        Self {
            entry,
            depth,
            tries: 0,
            due: None,
            read_before,
        }
    }
}

/// A row of the queue: its key and its value.
pub(super) type QueueRow = (Vec<u8>, QueuedEntry);

/// What is known of an address.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct KnownAddress {
    pub(super) address: String,
    /// The last run that listed it.
    pub(super) run: u64,
    pub(super) state: Seen,
    /// The id of its book.
    pub(super) id: Option<String>,
    /// Those of the other books, if it is an archive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<String>,
    /// What it was when its books were added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    pub(super) version: Option<String>,
    /// The library and the rights that its book was added with.
    pub(super) added_as: Option<(Library, Rights)>,
    /// The days for which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) validity: Option<Validity>,
    /// Where the main text was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<MainText>,
    /// The validators of HTTP.
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
    /// What is kept of its entries, if it is a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<KeptLinks>,
    /// Whether the source no longer has the book.
    #[serde(default)]
    pub(super) gone: bool,
    pub(super) at: Timestamp,
}

impl KnownAddress {
    /// The ids of its books.
    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.id.iter().chain(&self.more)
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self.state, Seen::Refused(_))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Seen {
    /// In the queue.
    #[default]
    Queued,
    /// A page that was read.
    Page,
    /// A book that was added.
    FetchedBook,
    /// Refused.
    Refused(Reason),
    /// A book that the source no longer has.
    Gone,
}

impl<'c> Frontier<'c> {
    pub(super) fn new(catalogue: &'c Catalogue, name: &BookId) -> Self {
        Self {
            catalogue,
            name: name.as_str().to_owned(),
        }
    }

    fn key(&self, kind: u8, rest: &[u8]) -> Vec<u8> {
        [self.name.as_bytes(), b"\0", &[kind], rest].concat()
    }

    fn address_key(&self, kind: u8, address: &str) -> Vec<u8> {
        if address.len() <= LONGEST {
            return self.key(kind, address.as_bytes());
        }
        self.key(kind, blake3::hash(address.as_bytes()).to_hex().as_bytes())
    }

    /// Rows with keys of a kind, after one of them.
    fn page<V: DeserializeOwned>(
        &self,
        kind: u8,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, V)>, HarvestError> {
        let rows = self
            .catalogue
            .page_of(Table::Harvests, &self.key(kind, b""), after, limit)?;
        rows.into_iter()
            .map(|(key, value)| Ok((key, self.read(&value)?)))
            .collect()
    }

    fn read<V: DeserializeOwned>(&self, value: &[u8]) -> Result<V, CatalogueError> {
        serde_json::from_slice(value).map_err(|_| CatalogueError::BadSetting {
            kind: Table::Harvests.as_str(),
            name: self.name.clone(),
        })
    }

    fn get<V: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<V>, HarvestError> {
        let value = self.catalogue.row(Table::Harvests, key)?;
        Ok(value.map(|value| self.read(&value)).transpose()?)
    }

    pub(super) fn state(&self) -> Result<HarvestState, HarvestError> {
        Ok(self.get(&self.key(b's', b""))?.unwrap_or_default())
    }

    /// What is known of addresses, in their order: one read of the store, however many they are.
    pub(super) fn known<'a>(
        &self,
        addresses: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Option<KnownAddress>>, HarvestError> {
        let keys: Vec<Vec<u8>> = addresses
            .map(|address| self.address_key(b'k', address))
            .collect();
        let rows = self.catalogue.rows_of(Table::Harvests, &keys)?;
        rows.into_iter()
            .map(|row| Ok(row.map(|row| self.read(&row)).transpose()?))
            .collect()
    }

    /// The packed entries of a page.
    pub(super) fn links(&self, address: &str) -> Result<Option<Vec<u8>>, HarvestError> {
        Ok(self
            .catalogue
            .row(Table::Harvests, &self.address_key(b'l', address))?)
    }

    pub(super) fn put_links(&self, address: &str, packed: Vec<u8>) -> RowChange {
        RowChange::put(Table::Harvests, self.address_key(b'l', address), packed)
    }

    pub(super) fn drop_links(&self, address: &str) -> RowChange {
        RowChange::delete(Table::Harvests, self.address_key(b'l', address))
    }

    /// What some sources have.
    pub(super) fn held_by(&self, names: &[BookId]) -> Result<QueueTotals, HarvestError> {
        let mut held = QueueTotals::default();
        if names.is_empty() {
            return Ok(held);
        }
        let keys: Vec<Vec<u8>> = names
            .iter()
            .map(|name| Self::new(self.catalogue, name).key(b's', b""))
            .collect();
        for row in self
            .catalogue
            .rows_of(Table::Harvests, &keys)?
            .into_iter()
            .flatten()
        {
            let HarvestState {
                queued,
                refused,
                kept_bytes,
                ..
            } = self.read(&row)?;
            held.queued += queued;
            held.refused += refused;
            held.kept_bytes += kept_bytes;
        }
        Ok(held)
    }

    /// Entries of the queue, in order, after one of them.
    pub(super) fn queue(
        &self,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<QueueRow>, HarvestError> {
        self.page(b'q', after, limit)
    }

    /// What is known of addresses, in order of their keys, after one of them.
    pub(super) fn known_after(
        &self,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, KnownAddress)>, HarvestError> {
        self.page(b'k', after, limit)
    }

    /// Runs, the newest first, before this one.
    pub(super) fn runs(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, HarvestError> {
        let after = before.map(|number| self.run_key(number));
        Ok(self
            .page(b'r', after.as_deref(), limit)?
            .into_iter()
            .map(|(_, run)| run)
            .collect())
    }

    fn run_key(&self, number: u64) -> Vec<u8> {
        self.key(b'r', &(!number).to_be_bytes())
    }

    /// Failures with their cursors, in order of addresses, after a cursor.
    pub(super) fn faults(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, SourceError)>, HarvestError> {
        let (start, after) = (
            self.key(b'e', b"").len(),
            after.map(|after| self.key(b'e', after.as_bytes())),
        );
        let faults = self.page(b'e', after.as_deref(), limit)?;
        Ok(faults
            .into_iter()
            .map(|(key, fault)| (String::from_utf8_lossy(&key[start..]).into_owned(), fault))
            .collect())
    }

    /// The address of the book of a site that has the text with this digest.
    pub(super) fn with_text(&self, digest: &str) -> Result<Option<String>, HarvestError> {
        self.get(&self.key(b't', digest.as_bytes()))
    }

    pub(super) fn put_text(&self, digest: &str, address: &str) -> RowChange {
        put(Table::Harvests, self.key(b't', digest.as_bytes()), &address)
    }

    /// The rows of the state, and of the run that it is in.
    pub(super) fn put_state(&self, state: &HarvestState) -> Vec<RowChange> {
        let run = state
            .last
            .iter()
            .map(|run| put(Table::Harvests, self.run_key(run.number), run));
        run.chain([put(Table::Harvests, self.key(b's', b""), state)])
            .collect()
    }

    /// Forgets a run.
    pub(super) fn drop_run(&self, number: u64) -> RowChange {
        RowChange::delete(Table::Harvests, self.run_key(number))
    }

    pub(super) fn put_fault(&self, fault: &SourceError) -> RowChange {
        put(Table::Harvests, self.address_key(b'e', &fault.url), fault)
    }

    pub(super) fn drop_fault(&self, address: &str) -> RowChange {
        RowChange::delete(Table::Harvests, self.address_key(b'e', address))
    }

    pub(super) fn put_known(&self, known: &KnownAddress) -> RowChange {
        put(
            Table::Harvests,
            self.address_key(b'k', &known.address),
            known,
        )
    }

    pub(super) fn drop_known(&self, address: &str) -> RowChange {
        RowChange::delete(Table::Harvests, self.address_key(b'k', address))
    }

    /// Adds an entry to the end of the queue.
    pub(super) fn enqueue(&self, state: &mut HarvestState, queued: &QueuedEntry) -> RowChange {
        let key = self.key(b'q', &state.next.to_be_bytes());
        state.next += 1;
        state.queued += 1;
        put(Table::Harvests, key, queued)
    }

    pub(super) fn dequeue(state: &mut HarvestState, key: &[u8]) -> RowChange {
        state.queued = state.queued.saturating_sub(1);
        RowChange::delete(Table::Harvests, key)
    }

    /// Removes rows, but not for long. Returns whether none is left.
    pub(super) fn clear(&self, work: &LeasedWork) -> Result<bool, HarvestError> {
        let prefix = [self.name.as_bytes(), b"\0"].concat();
        // Deleted rows are slow to read past.
        let mut after: Option<Vec<u8>> = None;
        for _ in 0..PAGES_CLEARED {
            let rows = self
                .catalogue
                .page_of(Table::Harvests, &prefix, after.as_deref(), ROWS)?;
            let Some((last, _)) = rows.last() else {
                return Ok(true);
            };
            after = Some(last.clone());
            let changes: Vec<_> = rows
                .into_iter()
                .map(|(key, _)| RowChange::delete(Table::Harvests, key))
                .collect();
            if !work.apply(&changes)? {
                break;
            }
        }
        Ok(false)
    }
}
