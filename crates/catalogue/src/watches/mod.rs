//! Watched checks. The gems of filed checks are kept for some days, so that a book that is added later finds those that it
//! matches ([`search`]).
//!
//! A check is found by search keys: hashes of up to [`KEYS`] of its gems under each recipe. Which ones depends on its id, so
//! nobody can fill a text with others. They are in [`Table::Decisions`] with what is kept of the check:
//!
//! ```text
//! n           → how many checks are watched, and their bytes, JSON
//! n actor     → the same of those that this actor filed
//! w id        → what a check looked up, without its gems, and when it expires, JSON
//! g id number → a piece of its gems; numbers are u32, big-endian
//! y key id    → nothing: the checks with a search key; keys are u64, big-endian
//! x time id   → nothing: the checks as they expire; times are in milliseconds, u64, big-endian
//! ```

mod search;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Once;

use jiff::Timestamp;
use lapidary_gems::{Gem, PlacedGem, Probe, RecipeName};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use uuid::Uuid;

use self::search::progress_of_filing;
use super::check::Asked;
use super::decisions::{MadeCheck, StoredDecision, id_of, key};
use super::evidence::{
    AT_ONCE, days_after, expired, expiry_key, is_fair, piece_keys, pieces, pieces_found, pieces_of,
    readable,
};
use super::sharing::{EVIDENCE, Turn};
use super::{Catalogue, CatalogueError, Editor};
use crate::api::WatchStats;
use crate::settings::put;
use lapidary_checking::Policy;
use lapidary_store::{Action, RowChange, Table, gem_list};

pub(super) use search::progress_of_copy;
pub use search::start_watching;

/// The most search keys of a check under a recipe.
pub(super) const KEYS: usize = 64;
/// What the keys of the pieces of gems begin with.
const GEMS: &[u8] = b"g";
const DAYS: u32 = 90;
/// The most bytes of watched checks in a folder, and in a cluster, where they are in memory.
const MOST: u64 = 4 << 30;
const MOST_SHARED: u64 = 64 << 20;
/// The bytes of what is kept besides gems: a search key, and the rest.
const BYTES_OF_KEY: u64 = 25;
const BYTES_OF_CHECK: u64 = 500;
/// Tells the log once that checks are not watched.
static FULL: Once = Once::new();

/// How long filed checks are watched, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchLimits {
    /// For this many days. With 0, none is from now on.
    pub days: u32,
    /// The most bytes that what is kept of them takes together, before compression.
    pub bytes: u64,
}

impl WatchLimits {
    /// The usual ones, where others may share the store or not.
    #[must_use]
    pub fn usual(is_shared: bool) -> Self {
        let bytes = if is_shared { MOST_SHARED } else { MOST };
        Self { days: DAYS, bytes }
    }

    /// Whether checks are filed without being watched, or will soon be: one actor alone may take two thirds.
    pub(crate) fn are_nearly_reached(self, stats: WatchStats) -> bool {
        self.days > 0 && stats.bytes > self.bytes / 2
    }
}

/// What is kept of a watched check, besides its gems.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
struct StoredWatch {
    expires_at: Timestamp,
    library: Option<String>,
    policy: Option<Policy>,
    /// The digests that an identical text may have.
    digests: Vec<String>,
    /// The length of the text in bytes.
    #[serialize_always]
    bytes: Option<u64>,
    /// How many search keys there are.
    keys: u64,
    /// Where its gems are, one list behind the other.
    lists: Vec<StoredList>,
}

/// The gems of a recipe, and behind them a bit for each that says whether a longer text has it, from the lowest of each byte.
#[derive(Serialize, Deserialize)]
struct StoredList {
    recipe: RecipeName,
    /// The bytes of a gem.
    width: usize,
    /// The bytes of the gems, and those of the bits.
    gems: usize,
    bits: usize,
}

impl StoredWatch {
    /// What to keep of a check, and its gems.
    fn of(check: &MadeCheck, keys: u64, expires_at: Timestamp) -> (Self, Vec<u8>) {
        let (mut lists, mut packed) = (Vec::new(), Vec::new());
        for (recipe, probes) in &check.asked.recipes {
            let width = recipe.gem_bits().div_ceil(u8::BITS) as usize;
            let placed: Vec<PlacedGem> = probes.iter().map(|probe| probe.placed).collect();
            let (gems, bits) = (gem_list::encode(&placed, width), kept_bits(probes));
            lists.push(StoredList {
                recipe: recipe.name().clone(),
                width,
                gems: gems.len(),
                bits: bits.len(),
            });
            packed.extend(gems);
            packed.extend(bits);
        }
        let watch = Self {
            expires_at,
            library: check.filed.library.clone(),
            policy: check.filed.policy.clone(),
            digests: check.asked.digests.clone(),
            bytes: check.asked.bytes,
            keys,
            lists,
        };
        (watch, packed)
    }

    fn pieces(&self, id: Uuid) -> impl Iterator<Item = Vec<u8>> + use<> {
        piece_keys(GEMS, id, pieces_of(self.packed()))
    }

    /// The bytes of its gems.
    fn packed(&self) -> u64 {
        let bytes = self.lists.iter().map(|list| list.gems + list.bits);
        bytes.sum::<usize>() as u64
    }

    /// The bytes of all that is kept, about.
    fn sum(&self) -> u64 {
        self.packed() + BYTES_OF_KEY * self.keys + BYTES_OF_CHECK
    }

    /// Its gems under each recipe; `None` if they are damaged.
    fn unpack(&self, mut packed: &[u8]) -> Option<WatchedGems> {
        let mut lists = Vec::new();
        for list in &self.lists {
            let gems = packed.split_off(..list.gems)?;
            let bits = packed.split_off(..list.bits)?;
            let placed = gem_list::decode(gems, list.width)?;
            let mut probes = Vec::with_capacity(placed.len());
            for (at, placed) in placed.into_iter().enumerate() {
                let kept = bits.get(at / 8)? >> (at % 8) & 1 == 1;
                probes.push(Probe { placed, kept });
            }
            lists.push((list.recipe.clone(), probes));
        }
        Some(lists)
    }
}

/// The gems that a check looked up, under each recipe.
type WatchedGems = Vec<(RecipeName, Vec<Probe>)>;

fn kept_bits(probes: &[Probe]) -> Vec<u8> {
    let bits = |eight: &[Probe]| {
        let bits = (0..).zip(eight);
        bits.fold(0, |byte, (at, probe)| byte | u8::from(probe.kept) << at)
    };
    probes.chunks(8).map(bits).collect()
}

/// The hash that a gem of a recipe is looked up by.
fn search_key(recipe: &RecipeName, gem: Gem) -> [u8; 8] {
    let hash = blake3::hash(&[recipe.as_str().as_bytes(), &gem.0.to_le_bytes()].concat());
    *hash
        .as_bytes()
        .first_chunk()
        .expect("a hash is longer than a key")
}

/// The keys by which a check is found. Those that a longer text has come first; otherwise, its id decides.
fn search_keys<'g>(
    id: Uuid,
    gems: impl IntoIterator<Item = (&'g RecipeName, &'g [Probe])>,
) -> Vec<[u8; 8]> {
    let mut keys = Vec::new();
    for (recipe, probes) in gems {
        let mut ranked = Vec::with_capacity(probes.len());
        for probe in probes {
            let search = search_key(recipe, probe.placed.gem);
            let rank = blake3::hash(&[id.as_bytes().as_slice(), &search].concat());
            ranked.push((!probe.kept, *rank.as_bytes(), search));
        }
        ranked.sort_unstable();
        keys.extend(ranked.into_iter().take(KEYS).map(|(.., search)| search));
    }
    keys
}

fn search_row(search: [u8; 8], id: Uuid) -> Vec<u8> {
    key(&search_prefix(search), id)
}

fn search_prefix(search: [u8; 8]) -> Vec<u8> {
    [b"y", search.as_slice()].concat()
}

/// Changes that end watches.
#[derive(Default)]
pub(super) struct WatchEnd {
    pub(super) changes: Vec<RowChange>,
    /// The ids of the checks.
    checks: Vec<String>,
    /// The rows that count the checks, with what is then left.
    stats: BTreeMap<Vec<u8>, WatchStats>,
}

impl WatchEnd {
    /// All changes.
    pub(super) fn finish(mut self) -> Vec<RowChange> {
        for (row, stats) in self.stats {
            self.changes.push(match stats.checks {
                0 => RowChange::delete(Table::Decisions, row),
                _ => put(Table::Decisions, row, &stats),
            });
        }
        self.changes
    }
}

/// The watched checks of a catalogue ([`Catalogue::watches`]).
#[derive(Debug, Clone)]
pub struct Watches<C>(pub(super) C);

impl Watches<Editor<'_>> {
    /// What makes a check that is filed a watched one, in the turn of filing; `None` if it has no gems, or checks are not
    /// watched, or not so many.
    pub(super) fn changes_to_watch(
        &self,
        id: Uuid,
        entry: &StoredDecision,
        check: &MadeCheck,
    ) -> Result<Option<Vec<RowChange>>, CatalogueError> {
        let limits = self.0.watching;
        if limits.days == 0 {
            return Ok(None);
        }
        let lists = check.asked.recipes.iter();
        let search = search_keys(id, lists.map(|(of, gems)| (of.name(), gems.as_slice())));
        if search.is_empty() {
            return Ok(None);
        }
        let expires_at = days_after(entry.at, limits.days);
        let (watch, gems) = StoredWatch::of(check, search.len() as u64, expires_at);
        let mut all = self.stats()?;
        let mut own = self.0.decisions().stats_in(&stats_row(&entry.actor))?;
        for stats in [&mut all, &mut own] {
            stats.checks += 1;
            stats.bytes += watch.sum();
        }
        if !is_fair(limits.bytes, all.bytes, own.bytes) {
            FULL.call_once(|| tell_of_full(limits));
            return Ok(None);
        }
        let mut changes = pieces(GEMS, id, &[&gems]);
        for search in search {
            let row = search_row(search, id);
            changes.push(RowChange::put(Table::Decisions, row, ""));
        }
        let expiry = expiry_key(b"x", watch.expires_at, id);
        changes.extend([
            put(Table::Decisions, key(b"w", id), &watch),
            RowChange::put(Table::Decisions, expiry, ""),
            put(Table::Decisions, b"n", &all),
            put(Table::Decisions, stats_row(&entry.actor), &own),
            progress_of_filing(self.progress()?, check.since),
        ]);
        Ok(Some(changes))
    }

    /// Ends some of the watches that have expired by `now`. Returns whether there may be more.
    pub(super) fn end_expired(&self, now: Timestamp) -> Result<bool, CatalogueError> {
        if expired(&self.0, b"x", now, 1)?.is_empty() {
            return Ok(false);
        }
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let expired = expired(&self.0, b"x", now, AT_ONCE)?;
        let mut end = WatchEnd::default();
        for row in &expired {
            if let Some(id) = id_of(row) {
                self.add_end(id, &mut end)?;
            }
            let expiry = RowChange::delete(Table::Decisions, row.as_slice());
            end.changes.push(expiry);
        }
        self.apply_end(&turn, end)?;
        Ok(expired.len() == AT_ONCE)
    }

    fn apply_end(&self, turn: &Turn<'_>, end: WatchEnd) -> Result<(), CatalogueError> {
        let ended = end.checks.iter().cloned();
        let actions: Vec<Action> = ended.map(|check| Action::WatchExpired { check }).collect();
        turn.apply(&self.0.actor, &end.finish(), &actions)?;
        Ok(())
    }

    /// Ends the watch of a check. Returns whether it was watched.
    pub(super) fn add_end(&self, id: Uuid, end: &mut WatchEnd) -> Result<bool, CatalogueError> {
        let row = key(b"w", id);
        if self.0.row(Table::Decisions, &row)?.is_none() {
            return Ok(false);
        }
        let bytes;
        if let Some(watch) = readable(self.stored(id))? {
            bytes = watch.sum();
            let gems = self.gems(id, &watch)?.unwrap_or_default();
            let lists = gems.iter().map(|(recipe, gems)| (recipe, gems.as_slice()));
            let search = search_keys(id, lists).into_iter();
            let mut keys: Vec<Vec<u8>> = search.map(|search| search_row(search, id)).collect();
            keys.extend(watch.pieces(id));
            keys.push(expiry_key(b"x", watch.expires_at, id));
            let deleted = keys.into_iter();
            end.changes
                .extend(deleted.map(|key| RowChange::delete(Table::Decisions, key)));
        } else {
            // The search keys that stay behind find nothing.
            let (keys, packed) = pieces_found(&self.0, GEMS, id)?;
            bytes = packed + BYTES_OF_CHECK;
            let deleted = keys.into_iter();
            end.changes
                .extend(deleted.map(|key| RowChange::delete(Table::Decisions, key)));
        }
        end.changes.push(RowChange::delete(Table::Decisions, row));
        end.changes
            .extend(self.0.check_queue().changes_of_watch_end(id)?);
        end.checks.push(id.to_string());
        self.uncount(b"n".to_vec(), bytes, end)?;
        if let Some(entry) = readable(self.0.decisions().entry(id))? {
            self.uncount(stats_row(&entry.actor), bytes, end)?;
        }
        Ok(true)
    }

    fn uncount(&self, row: Vec<u8>, bytes: u64, end: &mut WatchEnd) -> Result<(), CatalogueError> {
        let stats = match end.stats.get(&row) {
            Some(stats) => *stats,
            None => self.0.decisions().stats_in::<WatchStats>(&row)?,
        };
        let left = WatchStats {
            checks: stats.checks.saturating_sub(1),
            bytes: stats.bytes.saturating_sub(bytes),
        };
        end.stats.insert(row, left);
        Ok(())
    }
}

impl<C: Deref<Target = Catalogue>> Watches<C> {
    /// How many checks are watched.
    pub fn stats(&self) -> Result<WatchStats, CatalogueError> {
        self.0.decisions().stats_in(b"n")
    }

    /// Until when a check is watched.
    pub(super) fn until(&self, id: Uuid) -> Result<Option<Timestamp>, CatalogueError> {
        let watch = self.stored(id)?;
        let until = watch.map(|watch| watch.expires_at);
        Ok(until.filter(|until| Timestamp::now() < *until))
    }

    fn stored(&self, id: Uuid) -> Result<Option<StoredWatch>, CatalogueError> {
        self.0.decisions().row(b"w", id)
    }

    /// The gems of a watched check; `None` if they are damaged, or deleted at this moment.
    fn gems(&self, id: Uuid, watch: &StoredWatch) -> Result<Option<WatchedGems>, CatalogueError> {
        let keys: Vec<Vec<u8>> = watch.pieces(id).collect();
        let pieces = self.0.rows_of(Table::Decisions, &keys)?;
        let packed: Option<Vec<Vec<u8>>> = pieces.into_iter().collect();
        Ok(packed.and_then(|packed| watch.unpack(&packed.concat())))
    }
}

impl StoredWatch {
    /// What the check looked up, of the recipes that are known still.
    fn asked(&self, gems: WatchedGems, known: &[lapidary_gems::Recipe]) -> Asked {
        let mut recipes = Vec::new();
        for (name, gems) in gems {
            if let Some(recipe) = known.iter().find(|recipe| *recipe.name() == name) {
                recipes.push((recipe.clone(), gems));
            }
        }
        Asked {
            recipes,
            aside: Vec::new(),
            digests: self.digests.clone(),
            bytes: self.bytes,
        }
    }
}

fn stats_row(actor: &str) -> Vec<u8> {
    [b"n", actor.as_bytes()].concat()
}

fn tell_of_full(limits: WatchLimits) {
    tracing::warn!(
        "filed checks are not watched any more, or not those of some keys: their gems may take {} bytes together (max-watched)",
        limits.bytes
    );
}

#[cfg(test)]
mod tests;
