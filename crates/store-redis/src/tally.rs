//! Counts which books have how many of a check's gems.
//!
//! The buckets say which books may have how many of them. Books with enough are then read, and what counts is which gems
//! they have in that state. Each library is counted on its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use lapidary_gems::Gem;

use super::buckets::{Bucket, Listed, place};
use super::command::{Command, pairs};
use super::keys::gem_field;
use super::merge::LONGEST;
use super::snapshot::ClusterSnapshot;
use lapidary_store::gem_list;
use lapidary_store::postings::Unreadable;
use lapidary_store::recipes::KnownRecipe;
use lapidary_store::tally::keep_most;
use lapidary_store::{BookNo, Each, LibraryTally, Limits, StoreError, Tally};

/// What the buckets say of a library.
#[derive(Default)]
pub(super) struct Count {
    books: BTreeMap<BookNo, u32>,
    common: HashSet<Gem>,
    holders: Vec<(Gem, u32)>,
    /// Books that may have lost a gem. They are no holders until it is known.
    doubtful: Vec<(Gem, BookNo)>,
}

pub(super) fn tally(
    snapshot: &ClusterSnapshot<'_>,
    recipe: &KnownRecipe,
    gems: &[Gem],
    limits: Limits<'_>,
) -> Result<Tally, StoreError> {
    let Ok(only) = only(snapshot, limits)? else {
        return Ok(Tally::default());
    };
    let asked: BTreeSet<Gem> = gems
        .iter()
        .copied()
        .filter(|gem| recipe.fits(*gem))
        .collect();
    let (lists, is_before) = read_lists(snapshot, recipe, &asked)?;
    let counts = count(snapshot, lists, only, limits.cap)?;
    by_library(snapshot, recipe, gems, counts, limits, is_before)
}

/// Number of gems whose lists are read at a time, if they are very many.
const READ_AT_ONCE: usize = 10_000;

/// Counts what the lists say of each library, or of one.
pub(super) fn count(
    snapshot: &ClusterSnapshot<'_>,
    lists: Vec<(Gem, Listed)>,
    only: Option<u32>,
    cap: u32,
) -> Result<BTreeMap<u32, Count>, StoreError> {
    let mut counts: BTreeMap<u32, Count> = BTreeMap::new();
    by_owner(
        snapshot,
        lists,
        only,
        |library, gem, Listed { books, doubtful }| {
            let count = counts.entry(library).or_default();
            if books.len() > cap as usize {
                count.common.insert(gem);
                return;
            }
            if !books.is_empty() {
                count.holders.push((gem, books.len() as u32));
            }
            for book in books.iter().chain(&doubtful) {
                *count.books.entry(*book).or_default() += 1;
            }
            count
                .doubtful
                .extend(doubtful.into_iter().map(|book| (gem, book)));
        },
    )?;
    Ok(counts)
}

/// Calls `each` with what the lists say of each library, or of one.
fn by_owner(
    snapshot: &ClusterSnapshot<'_>,
    lists: Vec<(Gem, Listed)>,
    only: Option<u32>,
    mut each: impl FnMut(u32, Gem, Listed),
) -> Result<(), StoreError> {
    let shared = snapshot.shared;
    let listed = lists
        .iter()
        .flat_map(|(_, listed)| listed.books.iter().chain(&listed.doubtful).copied());
    shared.learn_owners(listed)?;
    let owner = |book: &BookNo| {
        shared
            .owners
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .of(*book)
    };
    for (gem, Listed { books, doubtful }) in lists {
        let mut of_libraries: BTreeMap<u32, Listed> = BTreeMap::new();
        // A number without an owner was never given to a book.
        let wanted =
            |book: &BookNo| owner(book).filter(|library| only.is_none_or(|only| only == *library));
        for (book, library) in books
            .into_iter()
            .filter_map(|book| Some((book, wanted(&book)?)))
        {
            of_libraries.entry(library).or_default().books.push(book);
        }
        for (book, library) in doubtful
            .into_iter()
            .filter_map(|book| Some((book, wanted(&book)?)))
        {
            of_libraries.entry(library).or_default().doubtful.push(book);
        }
        for (library, listed) in of_libraries {
            each(library, gem, listed);
        }
    }
    Ok(())
}

/// The books of gems in each library, and those that may have lost them; `None` for a gem in too many books of a library.
pub(super) fn holders(
    snapshot: &ClusterSnapshot<'_>,
    recipe: &KnownRecipe,
    gems: &[Gem],
    limits: Limits<'_>,
    each: Each<'_>,
) -> Result<(), StoreError> {
    let Ok(only) = only(snapshot, limits)? else {
        return Ok(());
    };
    for gems in gems.chunks(READ_AT_ONCE) {
        let asked = gems
            .iter()
            .copied()
            .filter(|gem| recipe.fits(*gem))
            .collect();
        let (lists, _) = read_lists(snapshot, recipe, &asked)?;
        by_owner(
            snapshot,
            lists,
            only,
            |_,
             gem,
             Listed {
                 mut books,
                 doubtful,
             }| {
                if books.len() > limits.cap as usize {
                    return each(gem, None);
                }
                books.extend(doubtful);
                each(gem, Some(&books));
            },
        )?;
    }
    snapshot.still_has(recipe)
}

/// That the limits are to a library without books.
struct NoBooks;

/// The number of the only library to count, if there is one.
fn only(
    snapshot: &ClusterSnapshot<'_>,
    limits: Limits<'_>,
) -> Result<Result<Option<u32>, NoBooks>, StoreError> {
    let Some(library) = limits.library else {
        return Ok(Ok(None));
    };
    snapshot.known()?;
    Ok(snapshot.shared.library(library)?.map(Some).ok_or(NoBooks))
}

/// Reads the lists of gems, in their order. Says also if they were read before any can have been dropped with the recipe.
///
/// # Errors
/// [`StoreError::Changed`] if it takes so long that a book may have changed, and lost its postings, from one bucket to the
/// next.
pub(super) fn read_lists(
    snapshot: &ClusterSnapshot<'_>,
    recipe: &KnownRecipe,
    gems: &BTreeSet<Gem>,
) -> Result<(Vec<(Gem, Listed)>, bool), StoreError> {
    let (shared, began) = (snapshot.shared, Instant::now());
    let sorted: Vec<Gem> = gems.iter().copied().collect();
    let groups: Vec<&[Gem]> = sorted
        .chunk_by(|a, b| place(recipe, *a).0 == place(recipe, *b).0)
        .collect();
    let key = |gems: &[Gem]| shared.keys.bucket(recipe.number, place(recipe, gems[0]).0);
    let reads: Vec<Command> = groups
        .iter()
        .map(|gems| Command::bare("HGETALL", &key(gems)))
        .collect();
    let mut lists = Vec::new();
    let (buckets, is_before) = snapshot.read_buckets(reads)?;
    for (gems, fields) in groups.iter().zip(buckets) {
        let unreadable = || {
            let key = String::from_utf8_lossy(&key(gems)).into_owned();
            snapshot.damaged(format!(
                "the postings of {key} ({}) cannot be read",
                recipe.name()
            ))
        };
        let bucket = pairs(fields)
            .and_then(Bucket::read)
            .ok_or_else(unreadable)?;
        for gem in *gems {
            let listed = bucket
                .books(recipe, place(recipe, *gem).1)
                .map_err(|Unreadable| unreadable())?;
            if listed != Listed::default() {
                lists.push((*gem, listed));
            }
        }
    }
    let slow = || StoreError::Changed("a book that the check looks for".to_owned());
    if began.elapsed() < LONGEST {
        Ok((lists, is_before))
    } else {
        Err(slow())
    }
}

/// Counts again what the books with enough gems have, and names the libraries.
///
/// # Errors
/// [`StoreError::Changed`] if the recipe is being dropped, so that buckets or books may have been read without it.
pub(super) fn by_library(
    snapshot: &ClusterSnapshot<'_>,
    recipe: &KnownRecipe,
    gems: &[Gem],
    counts: BTreeMap<u32, Count>,
    limits: Limits<'_>,
    is_before: bool,
) -> Result<Tally, StoreError> {
    let asked: HashSet<Gem> = gems.iter().copied().collect();
    let Limits {
        fewest, informing, ..
    } = limits;
    let enough = |count: &Count| {
        count
            .books
            .iter()
            .filter(|(_, n)| **n >= fewest)
            .map(|(book, n)| (*book, *n))
            .collect::<Vec<_>>()
    };
    let mut enough: Vec<Vec<(BookNo, u32)>> = counts.values().map(enough).collect();
    let informs = |library: &u32| {
        let owners = snapshot
            .shared
            .owners
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        owners
            .name(*library)
            .is_some_and(|library| informing.contains(library))
    };
    let left_out = keep_most(&mut enough, &counts.keys().map(informs).collect::<Vec<_>>());
    let candidates: Vec<BookNo> = enough.iter().flatten().map(|(book, _)| *book).collect();
    let states = snapshot.states(&candidates, &[gem_field(recipe.number)])?;
    let there = states.iter().flatten().count();
    let mut present: HashMap<BookNo, HashSet<Gem>> = HashMap::new();
    for (book, state) in candidates.iter().zip(states) {
        let Some(bytes) = state.and_then(|(_, values)| values.into_iter().next().flatten()) else {
            continue;
        };
        let list = gem_list::decode(&bytes, recipe.gem_bytes());
        let list = list.ok_or_else(|| {
            snapshot.damaged(format!("the gems of book {} cannot be read", book.0))
        })?;
        present.insert(
            *book,
            recipe
                .posted(&list)
                .filter(|gem| asked.contains(gem))
                .collect(),
        );
    }
    // All books lose a recipe before the first of its buckets is dropped. So if one has it still, and none has lost it, that
    // has not begun, and the recipes need not be read again.
    if present.len() < there || present.is_empty() && !is_before {
        snapshot.still_has(recipe)?;
    }
    let mut tallies = Vec::new();
    for (((library, mut count), kept), left_out) in counts.into_iter().zip(enough).zip(left_out) {
        for (gem, _) in count
            .doubtful
            .iter()
            .filter(|(gem, book)| present.get(book).is_some_and(|gems| gems.contains(gem)))
        {
            match count.holders.binary_search_by_key(gem, |(gem, _)| *gem) {
                Ok(at) => count.holders[at].1 += 1,
                Err(at) => count.holders.insert(at, (*gem, 1)),
            }
        }
        let has = |book: BookNo| {
            let gems = present.get(&book)?;
            let counted = gems
                .iter()
                .filter(|gem| !count.common.contains(*gem))
                .count() as u32;
            (counted > 0 && counted >= fewest).then_some((book, counted))
        };
        let books: Vec<(BookNo, u32)> = kept.iter().filter_map(|(book, _)| has(*book)).collect();
        if books.is_empty() && count.common.is_empty() {
            continue;
        }
        let owners = snapshot
            .shared
            .owners
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let name = owners.name(library).cloned();
        let library =
            name.ok_or_else(|| snapshot.damaged(format!("the name of library {library} is lost")))?;
        let mut named = HashSet::new();
        // Each gem where it first occurs in the query.
        let common = gems
            .iter()
            .copied()
            .filter(|gem| count.common.contains(gem) && named.insert(*gem))
            .collect();
        tallies.push(LibraryTally {
            library,
            books,
            common,
            holders: count.holders,
            left_out,
        });
    }
    Ok(Tally { libraries: tallies })
}
