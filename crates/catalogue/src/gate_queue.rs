//! Which books the gate decides about at the same time: those that cannot match one another.
//!
//! A book that could match another waits for it. Of those that wait, the one goes first whose key had its turn longest ago, so
//! the books of one key never hold up another key for longer than one of them takes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use lapidary_gems::{Gem, RecipeName};

use lapidary_store::{Actor, BookKey, Snapshot, StoreError};

/// What a book could match: books with some of its gems, or with its digest.
#[derive(Clone)]
pub(super) struct CouldMatch(Arc<GateBooks>);

struct GateBooks {
    recipes: BTreeMap<RecipeName, OfRecipe>,
    digests: Vec<String>,
}

/// All gems of a recipe that are looked up for a book.
pub(super) struct OfRecipe {
    /// How many of them a match has at least.
    fewest: u32,
    /// Sorted.
    gems: Vec<Gem>,
}

impl OfRecipe {
    pub(super) fn new(fewest: u32, mut gems: Vec<Gem>) -> Self {
        gems.sort_unstable();
        gems.dedup();
        Self { fewest, gems }
    }

    fn could_match(&self, other: &Self) -> bool {
        let (few, many) = if self.gems.len() < other.gems.len() {
            (self, other)
        } else {
            (other, self)
        };
        let fewest = self.fewest.min(other.fewest).max(1) as usize;
        let common = few
            .gems
            .iter()
            .filter(|gem| many.gems.binary_search(gem).is_ok());
        common.take(fewest).count() == fewest
    }
}

impl CouldMatch {
    pub(super) fn new(recipes: BTreeMap<RecipeName, OfRecipe>, digests: Vec<String>) -> Self {
        Self(Arc::new(GateBooks { recipes, digests }))
    }

    fn could_match(&self, other: &Self) -> bool {
        let (
            GateBooks { recipes, digests },
            GateBooks {
                recipes: of_other,
                digests: other,
            },
        ) = (&*self.0, &*other.0);
        digests.iter().any(|digest| other.contains(digest))
            || recipes.iter().any(|(name, of)| {
                of_other
                    .get(name)
                    .is_some_and(|other| of.could_match(other))
            })
    }

    /// Whether it could match a stored book, if that exists.
    pub(super) fn could_match_stored(
        &self,
        snapshot: &dyn Snapshot,
        book: &BookKey,
    ) -> Result<bool, StoreError> {
        let Some(number) = snapshot.find(book)? else {
            return Ok(false);
        };
        let outline = snapshot.outline(&[number])?.pop().flatten();
        let digests = outline
            .into_iter()
            .flat_map(|outline| [Some(outline.digest), outline.clean_digest]);
        if digests
            .flatten()
            .any(|digest| self.0.digests.contains(&digest))
        {
            return Ok(true);
        }
        for (name, sought) in &self.0.recipes {
            let gems = snapshot
                .gems(name, number)?
                .unwrap_or_default()
                .into_iter()
                .map(|placed| placed.gem);
            if sought.could_match(&OfRecipe::new(sought.fewest, gems.collect())) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The books that the gate decides about, and those that wait.
#[derive(Default)]
pub(super) struct GateQueue {
    books: Mutex<BookBits>,
    changed: Condvar,
}

#[derive(Default)]
struct BookBits {
    last: u64,
    queued: Vec<Queued>,
    /// The number of the last turn, and that of each key.
    turns: u64,
    turn_of: HashMap<String, u64>,
}

/// When the turns of more keys than this are known, those of keys that have nothing in the queue are forgotten.
const MANY_KEYS: usize = 1_000;

struct Queued {
    number: u64,
    by: String,
    runs: bool,
    could_match: CouldMatch,
    /// The others in the queue that it could match.
    rivals: Vec<u64>,
}

/// A book's place in the queue, until the gate has decided about it.
pub(super) struct GatePlace<'q> {
    queue: &'q GateQueue,
    number: u64,
}

impl GateQueue {
    /// Waits until no book runs that this one could match.
    pub(super) fn enter(&self, by: &Actor, could_match: CouldMatch) -> GatePlace<'_> {
        let (mut books, mut rivals, mut compared) = (self.lock(), Vec::new(), 0);
        // Gems are compared while others enter and leave, until there is nobody left to compare with.
        while compared < books.last {
            let others = books.behind(compared);
            compared = books.last;
            drop(books);
            rivals.extend(
                others
                    .iter()
                    .filter(|(_, other)| other.could_match(&could_match))
                    .map(|(number, _)| *number),
            );
            books = self.lock();
        }
        let place = GatePlace {
            queue: self,
            number: books.add(by.to_string(), could_match, rivals),
        };
        while !books.begins(place.number) {
            self.changed.wait(&mut books);
        }
        // It may be the turn of another key now.
        self.changed.notify_all();
        place
    }

    fn lock(&self) -> MutexGuard<'_, BookBits> {
        self.books.lock()
    }
}

impl Drop for GatePlace<'_> {
    fn drop(&mut self) {
        self.queue
            .lock()
            .queued
            .retain(|queued| queued.number != self.number);
        self.queue.changed.notify_all();
    }
}

impl BookBits {
    /// The books that entered after this one.
    fn behind(&self, number: u64) -> Vec<(u64, CouldMatch)> {
        let later = self.queued.iter().filter(|queued| queued.number > number);
        later
            .map(|queued| (queued.number, queued.could_match.clone()))
            .collect()
    }

    fn add(&mut self, by: String, could_match: CouldMatch, rivals: Vec<u64>) -> u64 {
        self.last += 1;
        let number = self.last;
        for other in self
            .queued
            .iter_mut()
            .filter(|other| rivals.contains(&other.number))
        {
            other.rivals.push(number);
        }
        self.queued.push(Queued {
            number,
            by,
            runs: false,
            could_match,
            rivals,
        });
        number
    }

    /// Begins with a book if it is its turn.
    fn begins(&mut self, number: u64) -> bool {
        let Some(at) = self
            .queued
            .iter()
            .position(|queued| queued.number == number)
        else {
            return true;
        };
        let this = &self.queued[at];
        let rivals = self
            .queued
            .iter()
            .filter(|other| this.rivals.contains(&other.number));
        let begins = rivals
            .into_iter()
            .all(|other| !other.runs && self.order(this) < self.order(other));
        if begins {
            self.begin(at);
        }
        begins
    }

    fn begin(&mut self, at: usize) {
        if self.turn_of.len() > MANY_KEYS {
            let queued = &self.queued;
            self.turn_of
                .retain(|key, _| queued.iter().any(|other| other.by == *key));
        }
        self.turns += 1;
        let this = &mut self.queued[at];
        this.runs = true;
        self.turn_of.insert(this.by.clone(), self.turns);
    }

    /// What decides who is first: the last turn of the key, then who came first.
    fn order(&self, queued: &Queued) -> (u64, u64) {
        (
            self.turn_of.get(&queued.by).copied().unwrap_or(0),
            queued.number,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn these(gems: &[u64]) -> CouldMatch {
        let of_recipe = OfRecipe::new(2, gems.iter().copied().map(Gem).collect());
        CouldMatch::new(
            [("hardened".parse().unwrap(), of_recipe)].into(),
            Vec::new(),
        )
    }

    /// Adds a book and says whether the gate begins with it.
    fn add(books: &mut BookBits, by: &str, could_match: CouldMatch) -> (u64, bool) {
        let others = books
            .behind(0)
            .into_iter()
            .filter(|(_, other)| other.could_match(&could_match));
        let rivals = others.map(|(number, _)| number).collect();
        let number = books.add(by.to_owned(), could_match, rivals);
        (number, books.begins(number))
    }

    #[test]
    fn only_books_that_could_match_wait_for_one_another() {
        let mut books = BookBits::default();
        assert!(add(&mut books, "a", these(&[1, 2, 3])).1);
        assert!(
            add(&mut books, "a", these(&[3, 4, 5])).1,
            "one gem in common is no match"
        );
        assert!(!add(&mut books, "b", these(&[9, 3, 2])).1);
        let digest = || CouldMatch::new(BTreeMap::new(), vec!["d".to_owned()]);
        let mut books = BookBits::default();
        assert!(add(&mut books, "a", digest()).1);
        assert!(
            !add(&mut books, "b", digest()).1,
            "the same text, without gems"
        );
    }

    #[test]
    fn a_key_that_waits_with_many_books_holds_up_nobody_for_more_than_one() {
        let mut books = BookBits::default();
        let (first, begins) = add(&mut books, "flood", these(&[1, 2]));
        assert!(begins);
        let flood: Vec<u64> = (0..9)
            .map(|_| add(&mut books, "flood", these(&[1, 2])).0)
            .collect();
        let (other, begins) = add(&mut books, "other", these(&[1, 2]));
        assert!(!begins);
        books.queued.retain(|queued| queued.number != first);
        assert!(!flood.iter().any(|waiting| books.begins(*waiting)) && books.begins(other));
        books.queued.retain(|queued| queued.number != other);
        let (again, begins) = add(&mut books, "other", these(&[1, 2]));
        assert!(
            !begins
                && !flood[1..].iter().any(|waiting| books.begins(*waiting))
                && books.begins(flood[0])
        );
        books.queued.retain(|queued| queued.number != flood[0]);
        assert!(
            !flood[1..].iter().any(|waiting| books.begins(*waiting)) && books.begins(again),
            "in turn"
        );
    }
}
