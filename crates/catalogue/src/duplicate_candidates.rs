//! Which of many books may have text in common with others, so that only these are compared.
//!
//! Most books have no copy. To look up the gems of each takes long, because they are all over posting lists that are larger than
//! the cache. So the gems of many books are looked up together, in the order of the lists, and only counted.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use lapidary_gems::Gem;
use rayon::prelude::*;

use super::CatalogueError;
use super::duplicates::{DuplicateSearch, Halt};
use crate::duplicate_groups::LeftOut;
use lapidary_store::{BookNo, Limits, Record, StoreError};

/// Number of gems that are looked up together. They take 16 bytes each, and their counters [`COUNTERS`].
const MOST_GEMS: usize = 1 << 23;
/// Number of them that a thread looks up at a time.
const PART: usize = 1 << 16;
/// Number of parts after which the search may be stopped.
const PARTS: usize = 16;
/// Number of books whose gems are read at a time.
const BOOKS: usize = 1_000;
/// Number of counters for each gem.
const COUNTERS: usize = 8;
/// The largest number that is counted to.
const MOST_COUNTED: u32 = 100;
/// Number of gems and postings of the books that are compared together. They take up to 80 bytes each.
const MOST_COMPARED: u64 = 1 << 21;

/// A book with its record.
type Book = (BookNo, Record);

/// A gem of a book.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BookGem {
    gem: Gem,
    /// The place of the book among those that are looked at together.
    book: u32,
    /// Whether the book is in a list of the gem.
    is_posted: bool,
}

/// What counting has found of a book.
#[derive(Default)]
struct BookCounts {
    /// Whether it may have enough gems in common with a book that it is compared with.
    is_suspect: AtomicBool,
    /// The number of its gems, and of books that have each of them.
    read: AtomicU64,
    /// The number of its gems that too many books of a library have.
    common: AtomicU32,
}

impl DuplicateSearch<'_> {
    /// How many of the first books are looked up at a time: at least one.
    fn fitting(&self, books: &[&Book]) -> usize {
        let mut gems = 0;
        let fitting = books.iter().take_while(|book| {
            gems += self.gems_of(book);
            gems <= MOST_GEMS
        });
        fitting.count().max(1)
    }

    /// Those of these books that may be paired with others, among them all that are, as many together as can be compared at
    /// once. Counts the books with enough gems to be paired that too many books have.
    pub(super) fn suspects<'b>(
        &self,
        books: &[&'b Book],
        left_out: &mut LeftOut,
        halt: Halt<'_>,
    ) -> Result<Vec<Vec<&'b Book>>, CatalogueError> {
        let found: Vec<BookCounts> = books.iter().map(|_| BookCounts::default()).collect();
        let mut from = 0;
        while from < books.len() {
            let to = from + self.fitting(&books[from..]);
            self.count_common_gems(&books[from..to], &found[from..to], halt)?;
            from = to;
        }
        let fewest = self.wanted.limits().fewest.max(1);
        let has_common = found
            .iter()
            .filter(|found| found.common.load(Ordering::Relaxed) >= fewest);
        left_out.texts_with_common_gems += has_common.count() as u64;
        let suspects = books.par_iter().zip(&found).filter_map(|(book, found)| {
            match self.is_suspect(book, found) {
                Ok(is) => is.then_some(Ok((*book, found.read.load(Ordering::Relaxed)))),
                Err(error) => Some(Err(error)),
            }
        });
        let suspects: Vec<(&Book, u64)> = suspects.collect::<Result<_, _>>()?;
        Ok(grouped(suspects))
    }

    fn is_suspect(&self, (number, record): &Book, counts: &BookCounts) -> Result<bool, StoreError> {
        Ok(counts.is_suspect.load(Ordering::Relaxed)
            || self.has_digest_of_another(*number, record)?)
    }

    fn gems_of(&self, (_, record): &Book) -> usize {
        record
            .gems
            .get(self.wanted.recipe.name())
            .copied()
            .unwrap_or_default() as usize
    }

    /// Whether another book, which this one is compared with, may have the same text.
    fn has_digest_of_another(&self, number: BookNo, record: &Record) -> Result<bool, StoreError> {
        // Of each library the first two, and so one before this book if there is any.
        let limits = Limits {
            cap: 2,
            library: self.wanted.library.as_ref(),
            ..Limits::NONE
        };
        for digest in record.digests() {
            if self
                .snapshot
                .with_digest(digest, limits)?
                .iter()
                .any(|other| *other < number || (*other > number && self.wanted.recent.is_some()))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Counts the gems that these books have in common with others.
    fn count_common_gems(
        &self,
        books: &[&Book],
        found: &[BookCounts],
        halt: Halt<'_>,
    ) -> Result<(), StoreError> {
        let mut gems: Vec<BookGem> =
            Vec::with_capacity(books.iter().map(|book| self.gems_of(book)).sum());
        for (some, first) in books.chunks(BOOKS).zip((0_u32..).step_by(BOOKS)) {
            halt(0)?;
            let lists: Vec<_> = some
                .par_iter()
                .map(|(number, _)| self.snapshot.gems(self.wanted.recipe.name(), *number))
                .collect::<Result<_, _>>()?;
            let lists = lists.into_iter().map(Option::unwrap_or_default);
            for (list, book) in lists.zip(first..) {
                let posted = self.wanted.recipe.posted(&list);
                let held = list.iter().zip(posted);
                gems.extend(held.map(|(placed, is_posted)| BookGem {
                    gem: placed.gem,
                    book,
                    is_posted,
                }));
            }
        }
        gems.par_sort_unstable();
        let limits = self.wanted.limits();
        let counters = PairCounters::new(gems.len(), limits.fewest);
        let parts: Vec<&[BookGem]> = gems.chunks(PART).collect();
        for some in parts.chunks(PARTS) {
            halt(0)?;
            some.par_iter()
                .try_for_each(|part| self.count(part, books, found, limits, &counters))?;
        }
        Ok(())
    }

    /// Counts gems.
    fn count(
        &self,
        sorted: &[BookGem],
        books: &[&Book],
        found: &[BookCounts],
        limits: Limits<'_>,
        counters: &PairCounters,
    ) -> Result<(), StoreError> {
        let mut gems: Vec<Gem> = sorted.iter().map(|held| held.gem).collect();
        gems.dedup();
        let (mut rest, mut common) = (sorted, Vec::new());
        self.snapshot.holders(
            self.wanted.recipe.name(),
            &gems,
            limits,
            &mut |gem, holders| {
                let Some(holders) = holders else {
                    return common.push(gem);
                };
                rest = &rest[rest.iter().take_while(|held| held.gem < gem).count()..];
                for held in rest.iter().take_while(|held| held.gem == gem) {
                    let ((book, _), found) =
                        (books[held.book as usize], &found[held.book as usize]);
                    found
                        .read
                        .fetch_add(1 + holders.len() as u64, Ordering::Relaxed);
                    // What is known already needs no counting: crafted books have all their gems in common.
                    if !found.is_suspect.load(Ordering::Relaxed)
                        && holders.iter().any(|other| {
                            !self.is_left(*book, *other) && counters.count(*book, *other)
                        })
                    {
                        found.is_suspect.store(true, Ordering::Relaxed);
                    }
                }
            },
        )?;
        // A gem that too many books of one library have connects no book with those.
        for held in sorted
            .iter()
            .filter(|held| held.is_posted && common.binary_search(&held.gem).is_ok())
        {
            found[held.book as usize]
                .common
                .fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Books in groups that are compared at a time, by how much is read of each.
fn grouped(suspects: Vec<(&Book, u64)>) -> Vec<Vec<&Book>> {
    let (mut groups, mut size): (Vec<Vec<&Book>>, u64) = (Vec::new(), 0);
    for (book, read) in suspects {
        size = size.saturating_add(read);
        match groups.last_mut() {
            Some(group) if size <= MOST_COMPARED => group.push(book),
            _ => {
                groups.push(vec![book]);
                size = read;
            }
        }
    }
    groups
}

/// How many gems pairs of books have in common, or more: some pairs share a counter.
struct PairCounters {
    counts: Vec<AtomicU8>,
    enough: u8,
}

impl PairCounters {
    fn new(gems: usize, enough: u32) -> Self {
        let size = (COUNTERS * gems).next_power_of_two().max(2);
        let counts = (0..size).map(|_| AtomicU8::new(0)).collect();
        Self {
            counts,
            enough: enough.min(MOST_COUNTED) as u8,
        }
    }

    /// Counts a gem. Returns whether there are enough.
    fn count(&self, book: BookNo, other: BookNo) -> bool {
        // Multiplicative hashing (Knuth).
        let hash =
            (u64::from(book.0) << 32 | u64::from(other.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let counter = &self.counts[(hash >> (u64::BITS - self.counts.len().ilog2())) as usize];
        // Not counted further, so that it does not wrap around.
        counter.load(Ordering::Relaxed) >= self.enough
            || counter.fetch_add(1, Ordering::Relaxed) + 1 >= self.enough
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::{BTreeMap, BTreeSet};

    use jiff::Timestamp;
    use lapidary_gems::{Place, PlacedGem, Recipe, Rule};
    use proptest::prelude::*;

    use super::*;
    use crate::duplicate_groups::{LeftOut, Pair};
    use crate::duplicates::DuplicateScope;
    use lapidary_common::description::Description;
    use lapidary_store::{
        Actor, Administration as _, BookKey, NewBook, Rights, RocksStore, Standing, Store as _,
        UNWATCHED,
    };

    const LIBRARIES: [&str; 2] = ["one", "two"];
    const MOST_BOOKS: usize = 24;

    /// A book: its library, its gems, and its text.
    type Made = (usize, Vec<u64>, u8);

    fn book(recipe: &Recipe, id: usize, (library, gems, text): &Made) -> NewBook {
        // Some are in one bucket, and some far from each other.
        let gem = |gem: u64| Gem(gem << (gem % 3 * 9));
        let place = |at: usize| {
            Some(Place {
                start: 500 * at as u64,
                end: 500 * at as u64 + 400,
            })
        };
        let placed: Vec<PlacedGem> = gems
            .iter()
            .enumerate()
            .map(|(at, of)| PlacedGem {
                gem: gem(*of),
                place: place(at),
            })
            .collect();
        let record = Record {
            key: BookKey {
                library: LIBRARIES[*library].parse().unwrap(),
                id: id.to_string().parse().unwrap(),
            },
            rights: Rights::Free,
            description: Description::default(),
            digest: format!("{text:064x}").chars().rev().collect(),
            clean_digest: None,
            bytes: 0,
            clean: None,
            text_kept: false,
            gems: BTreeMap::from([(recipe.name().clone(), placed.len() as u32)]),
            changed_at: Timestamp::UNIX_EPOCH,
            fetched_at: None,
            standing: Standing::default(),
        };
        let gems = BTreeMap::from([(recipe.name().clone(), placed)]);
        NewBook {
            gems,
            ..NewBook::without_gems(record, true)
        }
    }

    fn any_book() -> impl Strategy<Value = Made> {
        let gems = prop::collection::btree_set(1..40_u64, 0..12)
            .prop_map(|gems| gems.into_iter().collect());
        (
            0..LIBRARIES.len(),
            gems,
            prop_oneof![1 => 0..4_u8, 4 => 4..=u8::MAX],
        )
    }

    fn sorted(mut pairs: Vec<Pair<u32>>) -> Vec<Pair<u32>> {
        pairs.sort_by_key(|pair| (pair.a, pair.b));
        pairs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The pairs are those that are found if every book is compared.
        #[test]
        fn no_pair_is_missed(
            (books, merged) in (prop::collection::vec(any_book(), 1..MOST_BOOKS), 0..MOST_BOOKS),
            (is_hardened, cap, min_common) in (any::<bool>(), 1..6_u32, 1..4_u32),
            (only, recent) in (prop::option::of(0..LIBRARIES.len()), prop::option::of(0..MOST_BOOKS)),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let store = RocksStore::open_or_create(folder.path()).unwrap();
            let recipe: Recipe = if is_hardened { "hardened" } else { "documented" }.parse().unwrap();
            store.add_recipe(&Actor::Local, &recipe).unwrap();
            let made: Vec<NewBook> = books.iter().enumerate().map(|(id, made)| book(&recipe, id, made)).collect();
            let (main, delta) = made.split_at(merged.min(made.len()));
            store.put(&Actor::Local, main.to_vec()).unwrap();
            store.compact(UNWATCHED).unwrap();
            store.put(&Actor::Local, delta.to_vec()).unwrap();
            let snapshot = store.snapshot();
            let all = snapshot.books(BookNo(0), MOST_BOOKS).unwrap();
            let rule = Rule { min_common, min_share: 0.0, min_share_of_few: 0.0, common_cap: cap, ..recipe.rule() };
            let recent = recent.map(|from| all.iter().map(|(number, _)| *number).skip(from).step_by(2).collect());
            let library = only.map(|only| LIBRARIES[only].parse().unwrap());
            let wanted = DuplicateScope { recipe, rule, library, recent, most_compared: usize::MAX };
            let search = DuplicateSearch { snapshot: &*snapshot, wanted: &wanted };
            let mut expected = Vec::new();
            for book in all.iter().filter(|(number, record)| wanted.is_compared(*number, record)) {
                expected.extend(search.of_suspects(&[book]).unwrap().pairs);
            }
            let found = search.pairs(&all, &|_| Ok(())).unwrap();
            prop_assert_eq!(sorted(found.pairs), sorted(expected));
            prop_assert_eq!(found.left_out.texts_with_many, 0);
        }
    }

    /// Whether more books of a library than `cap` have a gem.
    fn is_common(books: &[Made], cap: usize, library: usize, gem: u64) -> bool {
        books
            .iter()
            .filter(|(of, gems, _)| *of == library && gems.contains(&gem))
            .count()
            > cap
    }

    /// The numbers of gems that two books have in common, without those that are common in the library of the first one.
    fn in_common(books: &[Made], cap: usize) -> BTreeMap<(u32, u32), usize> {
        let mut counts = BTreeMap::new();
        for (b, (_, of_b, _)) in books.iter().enumerate() {
            for (a, (library, of_a, _)) in books[..b].iter().enumerate() {
                let is_counted =
                    |gem: &&u64| of_b.contains(gem) && !is_common(books, cap, *library, **gem);
                let both = of_a.iter().filter(is_counted).count();
                if both > 0 {
                    counts.insert((a as u32, b as u32), both);
                }
            }
        }
        counts
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// What the definition says, computed from the gems alone: a book is paired with each earlier one that has a gem of it, or
        /// with those that have most, if they are too many; and what is left out is counted.
        #[test]
        fn within_the_bounds_no_pair_is_missed(
            lists in prop::collection::vec((0..2_usize, prop::collection::btree_set(1..60_u64, 1..9)), 2..24),
            cap in 1..12_u32,
            most in 1..8_usize,
        ) {
            let books: Vec<Made> = lists
                .into_iter()
                .zip(0_u8..)
                .map(|((library, gems), text)| (library, gems.into_iter().collect(), text))
                .collect();
            let folder = tempfile::tempdir().unwrap();
            let store = RocksStore::open_or_create(folder.path()).unwrap();
            let recipe: Recipe = "documented".parse().unwrap();
            store.add_recipe(&Actor::Local, &recipe).unwrap();
            store.put(&Actor::Local, books.iter().enumerate().map(|(id, made)| book(&recipe, id, made)).collect()).unwrap();
            let snapshot = store.snapshot();
            let all = snapshot.books(BookNo(0), 100).unwrap();
            // The numbers of books follow their order.
            let first = all[0].0.0;
            let rule = Rule { min_common: 1, min_share: 0.0, min_share_of_few: 0.0, common_cap: cap, ..recipe.rule() };
            let search = |most_compared: usize| {
                let wanted = DuplicateScope { recipe: recipe.clone(), rule, library: None, recent: None, most_compared };
                DuplicateSearch { snapshot: &*snapshot, wanted: &wanted }.pairs(&all, &|_| Ok(())).unwrap()
            };
            let (found, unbounded) = (search(most), search(usize::MAX));
            let counts = in_common(&books, cap as usize);
            let of = |book: u32| {
                let mut others: Vec<_> =
                    counts.iter().filter(|((_, b), _)| *b == book).map(|((a, _), count)| (Reverse(*count), *a)).collect();
                others.sort_unstable();
                others
            };
            let mut allowed: BTreeSet<(u32, u32)> = BTreeSet::new();
            let mut left_out = LeftOut::default();
            for book in 0..books.len() as u32 {
                let others = of(book);
                left_out.texts_with_many += u64::from(others.len() > most);
                allowed.extend(others.into_iter().take(most).map(|(_, a)| (a, book)));
            }
            let is_common =
                |gem: &u64| (0..LIBRARIES.len()).any(|library| is_common(&books, cap as usize, library, *gem));
            left_out.texts_with_common_gems =
                books.iter().filter(|(_, gems, _)| gems.iter().any(is_common)).count() as u64;
            prop_assert_eq!(found.left_out, left_out);
            let numbered = |pairs: &[Pair<u32>]| -> BTreeSet<(u32, u32)> {
                pairs.iter().map(|pair| (pair.a - first, pair.b - first)).collect()
            };
            prop_assert!(numbered(&unbounded.pairs).is_subset(&counts.keys().copied().collect()));
            let expected: BTreeSet<_> = numbered(&unbounded.pairs).intersection(&allowed).copied().collect();
            prop_assert_eq!(numbered(&found.pairs), expected);
        }
    }

    /// An engine may leave out books of a tally before the search does.
    #[test]
    fn what_a_tally_has_left_out_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(folder.path()).unwrap();
        let recipe: Recipe = "documented".parse().unwrap();
        store.add_recipe(&Actor::Local, &recipe).unwrap();
        let made = [(0, vec![1, 2, 3], 1), (0, vec![1, 2, 3], 2)];
        let books = made
            .iter()
            .enumerate()
            .map(|(id, made)| book(&recipe, id, made))
            .collect();
        store.put(&Actor::Local, books).unwrap();
        let snapshot = store.snapshot();
        let [_, (number, record)] = &snapshot.books(BookNo(0), 9).unwrap()[..] else {
            panic!("two books")
        };
        let gems = snapshot.gems(recipe.name(), *number).unwrap().unwrap();
        let all: Vec<Gem> = gems.iter().map(|placed| placed.gem).collect();
        let tally = snapshot
            .tally(
                recipe.name(),
                &all,
                Limits {
                    cap: 9,
                    fewest: 1,
                    ..Limits::NONE
                },
            )
            .unwrap();
        let rule = recipe.rule();
        let wanted = DuplicateScope {
            recipe,
            rule,
            library: None,
            recent: None,
            most_compared: 9,
        };
        let search = DuplicateSearch {
            snapshot: &*snapshot,
            wanted: &wanted,
        };
        for left_out in [0, 1] {
            let mut tally = tally.clone();
            tally.libraries[0].left_out = left_out;
            let (_, has_many) = search.others(*number, record, gems.clone(), tally).unwrap();
            assert_eq!(has_many, left_out > 0);
        }
    }

    #[test]
    fn pairs_that_share_a_counter_have_no_fewer() {
        let counters = PairCounters::new(0, 3);
        let counted: Vec<bool> = (0..2_000)
            .map(|i| counters.count(BookNo(i % 7), BookNo(7 + i % 3)))
            .collect();
        let few = counted.iter().filter(|enough| !**enough).count();
        assert!(
            few <= 4 && counted[1_000..].iter().all(|enough| *enough),
            "{few}"
        );
    }
}
