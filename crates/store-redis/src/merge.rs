//! Merging what changed in buckets into their lists.
//!
//! An added posting is simply merged. A doubted one is dropped only if its book does not have the gem and no change of the
//! book is being made: such a change may have added the posting already. Both are read after the bucket. A change that
//! begins later writes to the bucket later, and the script finds that it is not as it was read.
//!
//! It is also dropped only some time after the book lost the gem. A check that began while the book had it then finds all
//! postings of the book as it was, and one that began later all postings of the book as it is. So it cannot miss the book
//! because it read some buckets before the change and others after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::Shared;
use super::buckets::{BucketPosting, PackedBucket, gem_in};
use super::command::{Command, pairs};
use super::intent::Intent;
use super::keys::{BookState, gem_field, split};
use super::scripts::MERGE;
use lapidary_store::gem_list;
use lapidary_store::postings::Unreadable;
use lapidary_store::recipes::{KnownRecipe, Recipes};
use lapidary_store::{BookNo, StoreError};

/// The number of fields from which a bucket is merged.
const MANY: i64 = 48;
/// How long a doubted posting stays, in seconds. Longer than [`LONGEST`], by more than a clock is set at a time.
const STAYS: u64 = 60;
/// The longest time that a check may take to read its buckets.
pub(super) const LONGEST: Duration = Duration::from_secs(30);
/// The most buckets to remember for later. Others are merged when they change again.
const MOST_REMEMBERED: usize = 200_000;
/// Number of buckets merged at a time.
const AT_ONCE: usize = 500;
/// Number of buckets to look at with each sweep: all that a new catalogue has in five minutes.
const LOOKED_AT: u64 = 4096;
/// The number of fields from which such a bucket is merged: one is its list.
const CHANGED: i64 = 2;

/// A bucket to merge.
struct BucketMerge<'a> {
    key: &'a [u8],
    recipe: &'a KnownRecipe,
    /// Its number.
    number: u64,
    bucket: PackedBucket,
}

/// A posting that its book may not have any more.
struct Doubt {
    book: BookNo,
    recipe: u16,
    generation: i64,
}

/// The recipe of a bucket, and the number of the bucket.
fn read_key(recipes: &Recipes, key: &[u8]) -> Option<(KnownRecipe, u64)> {
    let mut parts = str::from_utf8(key).ok()?.rsplitn(4, ':');
    let bucket = parts.next()?.parse().ok()?;
    let recipe = parts.next()?.parse().ok()?;
    (parts.next()? == "p")
        .then(|| Some((recipes.numbered(recipe)?.clone(), bucket)))
        .flatten()
}

/// Merging the changes of buckets.
pub(super) struct Merging<'s>(pub(super) &'s Shared);

impl Merging<'_> {
    /// Merges the buckets that have many fields now, according to the answers to changes of them. A bucket that is changed
    /// meanwhile is merged another time.
    pub(super) fn merge_full(
        &self,
        recipes: &Recipes,
        lengths: &[(Vec<u8>, i64)],
    ) -> Result<(), StoreError> {
        let later = self.0.later.lock();
        let full = lengths
            .iter()
            .filter(|(key, length)| *length >= MANY && !later.contains_key(key));
        let full: Vec<Vec<u8>> = full.map(|(key, _)| key.clone()).collect();
        drop(later);
        self.merge(recipes, &full)
    }

    /// Remembers to merge buckets that have many fields now, once their doubted postings have stayed long enough.
    pub(super) fn merge_later(&self, buckets: impl IntoIterator<Item = (Vec<u8>, i64)>) {
        let mut later = self.0.later.lock();
        let due = Instant::now() + Duration::from_secs(STAYS + 5);
        for (key, _) in buckets.into_iter().filter(|(_, length)| *length >= MANY) {
            if later.len() < MOST_REMEMBERED {
                later.insert(key, due);
            }
        }
    }

    /// Merges the buckets that were remembered long enough ago.
    pub(super) fn merge_due(&self) -> Result<(), StoreError> {
        let now = Instant::now();
        let mut later = self.0.later.lock();
        let due: Vec<Vec<u8>> = later
            .extract_if(|_, due| *due <= now)
            .map(|(key, _)| key)
            .collect();
        drop(later);
        if due.is_empty() {
            Ok(())
        } else {
            self.merge(&*self.0.meta().recipes()?, &due)
        }
    }

    /// Merges what has changed in some buckets, and in those after them the next time. Changes take several times the memory that they
    /// take in a list.
    pub(super) fn merge_next(&self) -> Result<(), StoreError> {
        let recipes = self.0.meta().recipes()?;
        let next = &self.0.next_bucket;
        let (number, first) = *next.lock();
        let later = recipes.0.iter().filter(|recipe| recipe.number >= number);
        let Some(recipe) = later.min_by_key(|recipe| recipe.number) else {
            *next.lock() = (0, 0);
            return Ok(());
        };
        let first = if recipe.number == number { first } else { 0 };
        let count = 1 << recipe.bucket_bits;
        let end = count.min(first + LOOKED_AT);
        let keys: Vec<Vec<u8>> = (first..end)
            .map(|bucket| self.0.keys.bucket(recipe.number, bucket))
            .collect();
        let lengths: Vec<Command> = keys.iter().map(|key| Command::bare("HLEN", key)).collect();
        let lengths: Vec<i64> = self.0.ask_all(&lengths)?;
        let changed = keys.into_iter().zip(lengths);
        let changed = changed.filter(|(_, length)| *length >= CHANGED);
        let changed: Vec<Vec<u8>> = changed.map(|(key, _)| key).collect();
        self.merge(&recipes, &changed)?;
        *next.lock() = if end == count {
            (recipe.number.saturating_add(1), 0)
        } else {
            (recipe.number, end)
        };
        Ok(())
    }

    /// Merges buckets.
    pub(super) fn merge(&self, recipes: &Recipes, buckets: &[Vec<u8>]) -> Result<(), StoreError> {
        let known: Vec<_> = buckets
            .iter()
            .filter_map(|key| Some((key, read_key(recipes, key)?)))
            .collect();
        for some in known.chunks(AT_ONCE) {
            let reads: Vec<Command> = some
                .iter()
                .map(|(key, _)| Command::bare("HGETALL", key))
                .collect();
            let mut merges = Vec::new();
            for ((key, (recipe, number)), fields) in some.iter().zip(self.0.client.read(&reads)?) {
                let bucket = pairs(fields)
                    .and_then(PackedBucket::read)
                    .ok_or_else(|| self.unreadable(key))?;
                merges.push(BucketMerge {
                    key,
                    recipe,
                    number: *number,
                    bucket,
                });
            }
            self.merge_some(&merges)?;
        }
        Ok(())
    }

    fn unreadable(&self, key: &[u8]) -> StoreError {
        self.0.damaged(format!(
            "the bucket {} cannot be read",
            String::from_utf8_lossy(key)
        ))
    }

    fn merge_some(&self, merges: &[BucketMerge<'_>]) -> Result<(), StoreError> {
        let known = self.resolve(merges, &doubts(merges))?;
        let mut commands = Vec::new();
        for (
            at,
            BucketMerge {
                key,
                recipe,
                bucket,
                ..
            },
        ) in merges.iter().enumerate()
        {
            let changes: BTreeMap<BucketPosting, bool> = bucket
                .changes
                .iter()
                .filter_map(|(posting, change)| match change.doubted {
                    None => Some((*posting, true)),
                    Some(_) => Some((*posting, *known.get(&(at, *posting))?)),
                })
                .collect();
            if changes.len() < bucket.changes.len() {
                self.merge_later([(
                    key.to_vec(),
                    i64::try_from(bucket.changes.len()).unwrap_or(i64::MAX),
                )]);
            }
            if !changes.is_empty() {
                let mut arguments = vec![STAYS.to_string().into_bytes()];
                arguments.extend(
                    bucket
                        .merged(recipe, &changes)
                        .map_err(|Unreadable| self.unreadable(key))?,
                );
                commands.push(Command::script(&MERGE, &[key.to_vec()], arguments));
            }
        }
        self.0.client.write_loosely(&commands).map(drop)
    }

    /// Whether the books of doubted postings have their gems. Leaves out books that are being changed.
    fn resolve(
        &self,
        merges: &[BucketMerge<'_>],
        doubts: &BTreeMap<(usize, BucketPosting), Doubt>,
    ) -> Result<BTreeMap<(usize, BucketPosting), bool>, StoreError> {
        if doubts.is_empty() {
            return Ok(BTreeMap::new());
        }
        let books: BTreeSet<BookNo> = doubts.values().map(|doubt| doubt.book).collect();
        // Before and after their states are read: a change that ends in between has not changed the buckets after that.
        let mut changing = self.being_changed(&books)?;
        let states = self.lists_of(doubts)?;
        changing.extend(self.being_changed(&books)?);
        let mut known = BTreeMap::new();
        for (
            place,
            Doubt {
                book,
                recipe,
                generation,
            },
        ) in doubts.iter().filter(|(_, of)| !changing.contains(&of.book))
        {
            let (now, list) = states.get(&(*book, *recipe)).cloned().unwrap_or_default();
            let BucketMerge { recipe, number, .. } = &merges[place.0];
            // The change that raised the doubt was right. A later one may have added the gem again.
            let has = match list.filter(|_| now.is_some_and(|now| now > *generation)) {
                None => false,
                Some(list) => {
                    let gems = gem_list::decode(&list, recipe.gem_bytes());
                    let gem = gem_in(recipe, *number, place.1.0);
                    recipe
                        .posted(&gems.ok_or_else(|| {
                            self.0
                                .damaged(format!("the gems of book {} cannot be read", book.0))
                        })?)
                        .any(|posted| posted == gem)
                }
            };
            known.insert(*place, has);
        }
        Ok(known)
    }

    /// Those of some books that are being changed.
    fn being_changed(&self, books: &BTreeSet<BookNo>) -> Result<BTreeSet<BookNo>, StoreError> {
        let shards: BTreeSet<u32> = books.iter().map(|book| split(*book).0).collect();
        let reads: Vec<Command> = shards
            .iter()
            .map(|shard| Command::bare("HVALS", &self.0.keys.shard(*shard, "intents")))
            .collect();
        let mut changing = BTreeSet::new();
        for intents in self.0.client.read_now(&reads)? {
            let intents: Vec<String> = self.0.answer(intents)?;
            changing.extend(
                intents
                    .iter()
                    .filter_map(|intent| Intent::read(intent))
                    .map(|intent| intent.number),
            );
        }
        Ok(changing)
    }

    /// The generations of the books of doubts, and their gem lists if they changed since.
    #[expect(clippy::type_complexity, reason = "a map with two parts of a state")]
    fn lists_of(
        &self,
        doubts: &BTreeMap<(usize, BucketPosting), Doubt>,
    ) -> Result<BTreeMap<(BookNo, u16), (Option<i64>, Option<Vec<u8>>)>, StoreError> {
        let wanted = earliest_generations(doubts);
        let key = |book| self.0.keys.book(BookState::Present, book);
        let reads: Vec<Command> = wanted
            .keys()
            .map(|(book, _)| Command::new("HGET", &key(*book), "g"))
            .collect();
        let mut states = BTreeMap::new();
        let mut changed = Vec::new();
        let generations: Vec<Option<i64>> = self.0.ask_all(&reads)?;
        for ((of, earliest), generation) in wanted.iter().zip(generations) {
            if generation.is_some_and(|generation| generation > *earliest) {
                changed.push(*of);
            }
            states.insert(*of, (generation, None));
        }
        let reads: Vec<Command> = changed
            .iter()
            .map(|(book, recipe)| Command::new("HGET", &key(*book), gem_field(*recipe)))
            .collect();
        for (of, list) in changed.into_iter().zip(self.0.ask_all(&reads)?) {
            states.entry(of).and_modify(|(_, known)| *known = list);
        }
        Ok(states)
    }
}

/// For each book and recipe that is doubted, the earliest generation of a doubt.
fn earliest_generations(
    doubts: &BTreeMap<(usize, BucketPosting), Doubt>,
) -> BTreeMap<(BookNo, u16), i64> {
    let mut generations: BTreeMap<(BookNo, u16), i64> = BTreeMap::new();
    for Doubt {
        book,
        recipe,
        generation,
    } in doubts.values()
    {
        let earliest = generations.entry((*book, *recipe)).or_insert(*generation);
        *earliest = (*earliest).min(*generation);
    }
    generations
}

/// The doubted postings that may go by now.
fn doubts(merges: &[BucketMerge<'_>]) -> BTreeMap<(usize, BucketPosting), Doubt> {
    let now = Timestamp::now().as_second();
    let mut doubts = BTreeMap::new();
    for (at, BucketMerge { recipe, bucket, .. }) in merges.iter().enumerate() {
        for (posting, change) in &bucket.changes {
            // The script compares it with the clock of the node.
            if change
                .doubted
                .is_some_and(|since| now - since >= STAYS.cast_signed())
            {
                let doubt = Doubt {
                    book: posting.1,
                    recipe: recipe.number,
                    generation: change.generation,
                };
                doubts.insert((at, *posting), doubt);
            }
        }
    }
    doubts
}
