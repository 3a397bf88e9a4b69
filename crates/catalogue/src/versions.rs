//! How many versions of a text a key checks. Whoever looks for edits after which a copy is not found any more checks many.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use jiff::{SignedDuration, Timestamp};
use lapidary_gems::Probe;

use super::check::Asked;
use lapidary_store::Actor;

/// So many versions of a text are worth telling.
pub(super) const MANY: usize = 25;
/// How long versions of a text are counted from the first one.
const PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// How many texts of a key, and how many keys, are remembered: 12 MB in all.
const TEXTS: usize = 32;
const KEYS: usize = 1_000;
/// A text is known by so many of its gems, the smallest, and its versions by half of them (`MinHash`, Broder 1997).
const GEMS: usize = 8;

/// The texts that keys have checked in this process.
#[derive(Default)]
pub(super) struct CheckedVersions {
    keys: Mutex<HashMap<String, VecDeque<CheckedText>>>,
    hashing: DefaultHashBuilder,
}

struct CheckedText {
    since: Timestamp,
    least: Vec<u64>,
    /// Hashes of the versions' digests.
    versions: Vec<u64>,
}

impl CheckedVersions {
    /// Counts a text that a key has checked with a secret recipe. Of a public one, nobody needs to ask where its gems are.
    pub(super) fn count(&self, by: &Actor, asked: &Asked) {
        let secret = asked
            .recipes
            .iter()
            .find(|(recipe, _)| recipe.secret().is_some());
        if let (Actor::Key(key), Some(digest), Some((_, probes))) =
            (by, asked.digests.first(), secret)
        {
            self.count_version(key, digest, least(probes), Timestamp::now());
        }
    }

    fn count_version(&self, key: &str, digest: &str, least: Vec<u64>, now: Timestamp) {
        if least.len() < GEMS {
            return;
        }
        let version = self.hashing.hash_one(digest);
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if !keys.contains_key(key) && keys.len() >= KEYS {
            keys.retain(|_, texts| texts.back().is_some_and(|text| !text.is_over(now)));
            if keys.len() >= KEYS {
                return;
            }
        }
        let texts = keys.entry_ref(key).or_default();
        texts.retain(|text| !text.is_over(now));
        if let Some(text) = texts.iter_mut().find(|text| text.is_like(&least)) {
            text.add(version, least, key);
            return;
        }
        if texts.len() >= TEXTS {
            texts.pop_front();
        }
        texts.push_back(CheckedText {
            since: now,
            least,
            versions: vec![version],
        });
    }

    /// The keys that have checked [`MANY`] versions of a text.
    pub(super) fn of_many(&self, now: Timestamp) -> Vec<String> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let has_many = |texts: &VecDeque<CheckedText>| {
            let mut texts = texts.iter().filter(|text| !text.is_over(now));
            texts.any(|text| text.versions.len() >= MANY)
        };
        let found = keys.iter().filter(|(_, texts)| has_many(texts));
        let mut found: Vec<String> = found.map(|(key, _)| key.clone()).collect();
        found.sort_unstable();
        found
    }
}

impl CheckedText {
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) > PERIOD
    }

    fn is_like(&self, least: &[u64]) -> bool {
        let common = least.iter().filter(|gem| self.least.contains(gem));
        common.count() >= GEMS / 2
    }

    fn add(&mut self, version: u64, least: Vec<u64>, key: &str) {
        self.least = least;
        if self.versions.len() >= MANY || self.versions.contains(&version) {
            return;
        }
        self.versions.push(version);
        if self.versions.len() == MANY {
            tracing::warn!("key '{key}' has checked {MANY} versions of a text within a day");
        }
    }
}

/// The smallest gems of a text, of those that a book with this text has.
fn least(probes: &[Probe]) -> Vec<u64> {
    let own = probes.iter().filter(|probe| probe.kept);
    let mut gems: Vec<u64> = own.map(|probe| probe.placed.gem.0).collect();
    if gems.len() > GEMS {
        gems.select_nth_unstable(GEMS);
        gems.truncate(GEMS);
    }
    gems
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{CheckedVersions, GEMS, KEYS, MANY, PERIOD, TEXTS};

    /// A text of other gems for each number, and a version of it with some other ones.
    fn gems(text: usize, version: usize) -> Vec<u64> {
        let changed = version % (GEMS / 2);
        (0..GEMS)
            .map(|at| (text * 1_000 + at + if at < changed { 500 + version } else { 0 }) as u64)
            .collect()
    }

    #[test]
    fn only_versions_of_one_text_within_a_day_count() {
        let (checked, now) = (CheckedVersions::default(), Timestamp::UNIX_EPOCH);
        let count = |key: &str, text: usize, version: usize, hours: i64| {
            let at = now + SignedDuration::from_hours(hours);
            let digest = format!("{text} {version}");
            checked.count_version(key, &digest, gems(text, version), at);
        };
        for (at, hours) in (0..4 * MANY).zip((0..).step_by(2)) {
            count("shop", at, 0, 0);
            count("again", 1, at % (MANY - 1), 0);
            count("slow", 1, at, hours);
        }
        assert_eq!(checked.of_many(now), [""; 0]);
        for at in 0..MANY {
            assert_eq!(checked.of_many(now), [""; 0]);
            count("thief", 1, at, 0);
        }
        assert_eq!(checked.of_many(now), ["thief"]);
        assert_eq!(checked.of_many(now + PERIOD * 2), [""; 0]);
    }

    #[test]
    fn memory_is_bounded() {
        let checked = CheckedVersions::default();
        let at = Timestamp::UNIX_EPOCH;
        for key in 0..2 * KEYS {
            for text in 0..2 * TEXTS {
                checked.count_version(&key.to_string(), &text.to_string(), gems(text, 0), at);
            }
        }
        let keys = checked.keys.lock().unwrap();
        assert_eq!((keys.len(), keys["1"].len()), (KEYS, TEXTS));
        drop(keys);
        let later = at + PERIOD * 2;
        checked.count_version("new", "text", gems(1, 0), later);
        assert_eq!(checked.keys.lock().unwrap().len(), 1);
    }
}
