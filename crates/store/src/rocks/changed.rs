//! Which gems have changes in the delta. Most gems that a check looks up have none, and asking `RocksDB` for each would take
//! longer than reading the main index.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::ReadOptions;

use super::RocksStore;
use super::schema::{Family, split_delta_key};

/// Number of bits: 2 MiB.
const BITS: u32 = 24;
/// Number of changes beyond which most bits would be set, so that it is not worth reading them all.
const MOST: u64 = 1 << 21;
/// Number of gems whose changes are looked for until it pays to read which gems have any. A command for a single text looks for
/// fewer, and the tests look for few.
const PAYS: u64 = if cfg!(test) { 30 } else { 1 << 16 };

/// Which gems have changes, once that is known.
#[derive(Default)]
pub(super) struct ChangedGems {
    /// Number of gems whose changes were looked for without knowing.
    looked_up: AtomicU64,
    gems: OnceLock<GemSet>,
}

impl ChangedGems {
    /// The gems with changes in any snapshot that is taken after this call.
    pub(super) fn known(&self, store: &RocksStore) -> Option<&GemSet> {
        if self.looked_up.load(Ordering::Relaxed) >= PAYS
            && self.gems.get().is_none()
            // Nobody writes meanwhile, so no change is missed.
            && let Some(_turn) = store.writing.try_lock()
        {
            self.gems.get_or_init(|| GemSet::load(store));
        }
        self.gems.get()
    }

    /// Adds the gem of a key of the delta. The holder of the write lock must do this before that is written.
    pub(super) fn note(&self, key: &[u8]) {
        if let Some(gems) = self.gems.get() {
            gems.note(key);
        }
    }

    /// Counts a gem whose changes are looked for without knowing whether it has any.
    pub(super) fn look_up(&self) {
        self.looked_up.fetch_add(1, Ordering::Relaxed);
    }
}

/// A set of gems: those with changes, and by chance a few others (Bloom 1970, "Space/time trade-offs in hash coding with
/// allowable errors", with one hash function). Gems stay in it when their changes are merged.
pub(super) enum GemSet {
    All,
    Some(Box<[AtomicU64]>),
}

impl GemSet {
    fn empty() -> Self {
        Self::Some((0..1 << (BITS - 6)).map(|_| AtomicU64::new(0)).collect())
    }

    /// The gems with changes now.
    fn load(store: &RocksStore) -> Self {
        let snapshot = store.view();
        if !snapshot.postings().is_ok_and(|of| of.delta <= MOST) {
            return Self::All;
        }
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options.fill_cache(false);
        let gems = Self::empty();
        let mut delta = snapshot.iterator(Family::Delta, options);
        delta.seek_to_first();
        while let Some(key) = delta.key() {
            gems.note(key);
            delta.next();
        }
        // What cannot be read may be of any gem; whoever needs it meets the error.
        delta.status().map_or(Self::All, |()| gems)
    }

    fn note(&self, key: &[u8]) {
        if let (Self::Some(words), Some((gem, ..))) = (self, split_delta_key(key)) {
            let (word, bit) = place(gem);
            words[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether a gem, as its key says, may have changes.
    pub(super) fn may_have(&self, gem_key: &[u8]) -> bool {
        let Self::Some(words) = self else { return true };
        let (word, bit) = place(gem_key);
        words[word].load(Ordering::Relaxed) & bit != 0
    }
}

/// The word of a gem, and its bit there. Gems are hashes, and so are their lowest bits; recipes are few.
fn place(gem_key: &[u8]) -> (usize, u64) {
    let last = gem_key.last_chunk().copied().unwrap_or_default();
    let hash = u32::from_be_bytes(last) >> (32 - BITS);
    ((hash >> 6) as usize, 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use super::GemSet;

    /// Keys of gems of a recipe, as of hashes.
    fn gem_keys(seed: u64) -> impl Iterator<Item = [u8; 8]> {
        (0..100_000_u64).map(move |at| {
            let hash = blake3::hash(&[seed.to_be_bytes(), at.to_be_bytes()].concat());
            let mut key = [0; 8];
            key[2..].copy_from_slice(&hash.as_bytes()[..6]);
            key
        })
    }

    #[test]
    fn it_has_all_that_were_added_and_few_others() {
        let changed = GemSet::empty();
        for gem in gem_keys(1) {
            changed.note(&[&gem[..], &[1, 0, 0, 0, 7]].concat());
        }
        assert!(gem_keys(1).all(|gem| changed.may_have(&gem)));
        let others = gem_keys(2).filter(|gem| changed.may_have(gem)).count();
        assert!(others < 1_000, "{others}");
    }
}
