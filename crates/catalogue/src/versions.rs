//! How many texts that one book matches a key checks. Whoever looks for edits after which a copy is not found any more checks
//! many.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;

use parking_lot::Mutex;

use super::check::Asked;
use hashbrown::{DefaultHashBuilder, HashMap};
use jiff::{SignedDuration, Timestamp};
use lapidary_store::{Actor, BookNo};

/// So many texts are worth telling.
pub(super) const MANY: usize = 50;
/// How long they are counted from the first one.
const PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// How many books for a key, and how many keys, are remembered: 20 MB in all.
const BOOKS: usize = 32;
const KEYS: usize = 1_000;

/// The texts that keys have checked in this process, by the book behind the verdict.
#[derive(Default)]
pub(super) struct CheckedVersions {
    keys: Mutex<HashMap<String, VecDeque<MatchedBook>>>,
    hashing: DefaultHashBuilder,
}

struct MatchedBook {
    number: BookNo,
    since: Timestamp,
    /// Hashes of the texts' digests.
    texts: Vec<u64>,
}

impl CheckedVersions {
    /// Counts a text that was checked with a secret, and that this book matches. Of a public recipe, nobody needs to ask where its
    /// gems are.
    pub(super) fn note(&self, by: &Actor, asked: &Asked, book: BookNo) {
        let mut recipes = asked.recipes.iter();
        let has_secret = recipes.any(|(recipe, _)| recipe.secret().is_some());
        if let (true, Actor::Key(key), Some(digest)) = (has_secret, by, asked.digests.first()) {
            self.count(key, digest, book, Timestamp::now());
        }
    }

    fn count(&self, key: &str, digest: &str, book: BookNo, now: Timestamp) {
        let text = self.hashing.hash_one(digest);
        let mut keys = self.keys.lock();
        if !keys.contains_key(key) && keys.len() >= KEYS {
            keys.retain(|_, books| books.iter().any(|book| !book.is_over(now)));
            if keys.len() >= KEYS {
                return;
            }
        }
        let books = keys.entry_ref(key).or_default();
        books.retain(|book| !book.is_over(now));
        let known = books.iter().position(|known| known.number == book);
        let mut matched = known
            .and_then(|at| books.remove(at))
            .unwrap_or(MatchedBook {
                number: book,
                since: now,
                texts: Vec::new(),
            });
        if matched.add(text) {
            tracing::warn!(
                "key '{key}' has checked {MANY} texts that one book matches within a day"
            );
        }
        if books.len() >= BOOKS {
            let fewest = books
                .iter()
                .enumerate()
                .min_by_key(|(_, book)| book.texts.len());
            if let Some((at, _)) = fewest {
                books.remove(at);
            }
        }
        books.push_back(matched);
    }

    /// The keys that have checked [`MANY`] texts that one book matches.
    pub(super) fn of_many(&self, now: Timestamp) -> Vec<String> {
        let keys = self.keys.lock();
        let has_many = |books: &VecDeque<MatchedBook>| {
            let mut books = books.iter().filter(|book| !book.is_over(now));
            books.any(|book| book.texts.len() >= MANY)
        };
        let found = keys.iter().filter(|(_, books)| has_many(books));
        let mut found: Vec<String> = found.map(|(key, _)| key.clone()).collect();
        found.sort_unstable();
        found
    }
}

impl MatchedBook {
    fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) > PERIOD
    }

    /// Returns whether they are many now.
    fn add(&mut self, text: u64) -> bool {
        if self.texts.len() >= MANY || self.texts.contains(&text) {
            return false;
        }
        self.texts.push(text);
        self.texts.len() == MANY
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use lapidary_store::BookNo;

    use super::{BOOKS, CheckedVersions, KEYS, MANY, PERIOD};

    #[test]
    fn only_different_texts_of_one_book_within_a_day_count() {
        let (checked, now) = (CheckedVersions::default(), Timestamp::UNIX_EPOCH);
        let count = |key: &str, book: u32, text: usize, hours: i64| {
            let at = now + SignedDuration::from_hours(hours);
            checked.count(key, &format!("{book} {text}"), BookNo(book), at);
        };
        for (at, hours) in (0..4 * MANY).zip((0..).step_by(1)) {
            count("shop", at as u32, 0, 0);
            count("again", 1, at % (MANY - 1), 0);
            count("slow", 1, at, hours);
        }
        assert_eq!(checked.of_many(now), [""; 0]);
        for text in 0..MANY {
            assert_eq!(checked.of_many(now), [""; 0]);
            count("thief", 1, text, 0);
            // Others between them.
            for other in 2..=BOOKS as u32 {
                count("thief", other + text as u32 * 100, 0, 0);
            }
        }
        assert_eq!(checked.of_many(now), ["thief"]);
        assert_eq!(checked.of_many(now + PERIOD * 2), [""; 0]);
    }

    #[test]
    fn memory_is_bounded() {
        let checked = CheckedVersions::default();
        let at = Timestamp::UNIX_EPOCH;
        for key in 0..2 * KEYS {
            for book in 0..2 * BOOKS as u32 {
                checked.count(&key.to_string(), "text", BookNo(book), at);
            }
        }
        let keys = checked.keys.lock();
        assert_eq!((keys.len(), keys["1"].len()), (KEYS, BOOKS));
        drop(keys);
        let later = at + PERIOD * 2;
        checked.count("new", "text", BookNo(1), later);
        assert_eq!(checked.keys.lock().len(), 1);
    }
}
