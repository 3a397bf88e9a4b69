//! Which gems have changes in the delta. Most gems that a check looks up have none, and asking `RocksDB` for each would take
//! longer than reading the main index.

use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::ReadOptions;

use super::RocksStore;
use super::schema::{Family, split_delta_key};

/// Number of bits: 2 MiB.
const BITS: u32 = 24;
/// Number of changes beyond which most bits would be set, so that it is not worth reading them all when a folder is opened.
const MOST: usize = 1 << 21;

/// A set of gems: those with changes, and by chance a few others (Bloom 1970, "Space/time trade-offs in hash coding with
/// allowable errors", with one hash function). Gems stay in it when their changes are merged, until the folder is opened
/// again.
pub(super) enum ChangedGems {
    All,
    Some(Box<[AtomicU64]>),
}

impl Default for ChangedGems {
    fn default() -> Self {
        Self::Some((0..1 << (BITS - 6)).map(|_| AtomicU64::new(0)).collect())
    }
}

impl ChangedGems {
    /// The gems with changes in a folder that was opened.
    pub(super) fn load(store: &RocksStore) -> Self {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options.fill_cache(false);
        let changed = Self::default();
        let snapshot = store.view();
        let mut delta = snapshot.iterator(Family::Delta, options);
        delta.seek_to_first();
        for _ in 0..MOST {
            let Some(key) = delta.key() else {
                // What cannot be read may be of any gem; whoever needs it meets the error.
                return delta.status().map_or(Self::All, |()| changed);
            };
            changed.note(key);
            delta.next();
        }
        Self::All
    }

    /// Adds the gem of a key of the delta. This must be done before that is written.
    pub(super) fn note(&self, key: &[u8]) {
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
    use super::ChangedGems;

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
        let changed = ChangedGems::default();
        for gem in gem_keys(1) {
            changed.note(&[&gem[..], &[1, 0, 0, 0, 7]].concat());
        }
        assert!(gem_keys(1).all(|gem| changed.may_have(&gem)));
        let others = gem_keys(2).filter(|gem| changed.may_have(gem)).count();
        assert!(others < 1_000, "{others}");
    }
}
