//! Counts which books have how many of a check's gems.
//!
//! The buckets say which books may have how many of them. Books with enough are then read, and what counts is which gems
//! they have in that state. Each library is counted on its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use hashbrown::{HashMap, HashSet};
use lapidary_gems::Gem;

use super::buckets::{BucketBooks, PackedBucket, place};
use super::command::{Command, pairs};
use super::keys::gem_field;
use super::merge::LONGEST;
use super::snapshot::ClusterSnapshot;
use lapidary_store::gem_list;
use lapidary_store::postings::Unreadable;
use lapidary_store::recipes::KnownRecipe;
use lapidary_store::tally::keep_most;
use lapidary_store::{BookNo, Each, Library, LibraryTally, Limits, StoreError, Tally};

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
    let counts = count(snapshot, lists, only, limits)?;
    by_library(snapshot, recipe, gems, counts, limits, is_before)
}

/// Number of gems whose lists are read at a time, if they are very many.
const READ_AT_ONCE: usize = 10_000;

/// Counts what the lists say of each library, or of one.
pub(super) fn count(
    snapshot: &ClusterSnapshot<'_>,
    lists: Vec<(Gem, BucketBooks)>,
    only: Option<u32>,
    limits: Limits<'_>,
) -> Result<BTreeMap<u32, Count>, StoreError> {
    let mut counts: BTreeMap<u32, Count> = BTreeMap::new();
    by_owner(
        snapshot,
        lists,
        only,
        |library, gem, BucketBooks { books, doubtful }| {
            let count = counts.entry(library).or_default();
            if books.len() > cap_of(snapshot, library, limits) {
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

fn cap_of(snapshot: &ClusterSnapshot<'_>, library: u32, limits: Limits<'_>) -> usize {
    let owners = snapshot.shared.read_owners();
    let name = owners.name(library);
    name.map_or(limits.cap, |name| limits.cap_of(name)) as usize
}

/// Calls `each` with what the lists say of each library, or of one.
fn by_owner(
    snapshot: &ClusterSnapshot<'_>,
    lists: Vec<(Gem, BucketBooks)>,
    only: Option<u32>,
    mut each: impl FnMut(u32, Gem, BucketBooks),
) -> Result<(), StoreError> {
    let shared = snapshot.shared;
    let listed = lists
        .iter()
        .flat_map(|(_, listed)| listed.books.iter().chain(&listed.doubtful).copied());
    shared.numbering().learn_owners(listed)?;
    let owner = |book: &BookNo| shared.read_owners().of(*book);
    for (gem, BucketBooks { books, doubtful }) in lists {
        let mut of_libraries: BTreeMap<u32, BucketBooks> = BTreeMap::new();
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
            |library,
             gem,
             BucketBooks {
                 mut books,
                 doubtful,
             }| {
                if books.len() > cap_of(snapshot, library, limits) {
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
    Ok(snapshot
        .shared
        .numbering()
        .library(library)?
        .map(Some)
        .ok_or(NoBooks))
}

fn unreadable(snapshot: &ClusterSnapshot<'_>, recipe: &KnownRecipe, key: &[u8]) -> StoreError {
    let key = String::from_utf8_lossy(key);
    snapshot.damaged(format!(
        "the postings of {key} ({}) cannot be read",
        recipe.name()
    ))
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
) -> Result<(Vec<(Gem, BucketBooks)>, bool), StoreError> {
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
        let bucket = pairs(fields)
            .and_then(PackedBucket::read)
            .ok_or_else(|| unreadable(snapshot, recipe, &key(gems)))?;
        for gem in *gems {
            let listed = bucket
                .books(recipe, place(recipe, *gem).1)
                .map_err(|Unreadable| unreadable(snapshot, recipe, &key(gems)))?;
            if listed != BucketBooks::default() {
                lists.push((*gem, listed));
            }
        }
    }
    if began.elapsed() < LONGEST {
        Ok((lists, is_before))
    } else {
        Err(StoreError::Changed(
            "a book that the check looks for".to_owned(),
        ))
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
    let candidates = candidates(snapshot, &counts, limits);
    let books: Vec<BookNo> = { candidates.iter() }
        .flat_map(|candidates| candidates.books.iter().copied())
        .collect();
    let asked: HashSet<Gem> = gems.iter().copied().collect();
    let present = present_gems(snapshot, recipe, &asked, &books, is_before)?;
    let mut libraries = Vec::new();
    for ((library, mut count), candidates) in counts.into_iter().zip(candidates) {
        count.add_doubtful(&present);
        let books: Vec<(BookNo, u32)> = { candidates.books.into_iter() }
            .filter_map(|book| Some((book, count.counted(present.get(&book)?, limits.fewest)?)))
            .collect();
        if books.is_empty() && count.common.is_empty() {
            continue;
        }
        libraries.push(LibraryTally {
            library: library_name(snapshot, library)?,
            books,
            common: count.common_of(gems),
            holders: count.holders,
            left_out: candidates.left_out,
        });
    }
    Ok(Tally { libraries })
}

/// The books of a library that are compared, and how many are not.
struct Candidates {
    books: Vec<BookNo>,
    left_out: usize,
}

/// The books of each library with enough gems, as far as they are not too many.
fn candidates(
    snapshot: &ClusterSnapshot<'_>,
    counts: &BTreeMap<u32, Count>,
    limits: Limits<'_>,
) -> Vec<Candidates> {
    let mut enough: Vec<Vec<(BookNo, u32)>> = { counts.values() }
        .map(|count| count.with_enough(limits.fewest))
        .collect();
    let owners = snapshot.shared.read_owners();
    let informs: Vec<bool> = { counts.keys() }
        .map(|library| owners.name(*library))
        .map(|name| name.is_some_and(|name| limits.informing.contains(name)))
        .collect();
    let left_out = keep_most(&mut enough, &informs);
    let with_enough = enough.into_iter().zip(left_out);
    with_enough
        .map(|(books, left_out)| Candidates {
            books: books.into_iter().map(|(book, _)| book).collect(),
            left_out,
        })
        .collect()
}

/// Which gems that are asked for the books have now.
type PresentGems = HashMap<BookNo, HashSet<Gem>>;

/// # Errors
/// [`StoreError::Changed`] if the recipe is being dropped.
fn present_gems(
    snapshot: &ClusterSnapshot<'_>,
    recipe: &KnownRecipe,
    asked: &HashSet<Gem>,
    books: &[BookNo],
    is_before: bool,
) -> Result<PresentGems, StoreError> {
    let states = snapshot.states(books, &[gem_field(recipe.number)])?;
    let there = states.iter().flatten().count();
    let mut present = PresentGems::new();
    for (book, state) in books.iter().zip(states) {
        let Some(bytes) = state.and_then(|(_, values)| values.into_iter().next().flatten()) else {
            continue;
        };
        let list = gem_list::decode(&bytes, recipe.gem_bytes());
        let list = list.ok_or_else(|| {
            snapshot.damaged(format!("the gems of book {} cannot be read", book.0))
        })?;
        let posted = recipe.posted(&list);
        present.insert(*book, posted.filter(|gem| asked.contains(gem)).collect());
    }
    // All books lose a recipe before the first of its buckets is dropped. So if one has it still, and none has lost it, that
    // has not begun, and the recipes need not be read again.
    if present.len() < there || present.is_empty() && !is_before {
        snapshot.still_has(recipe)?;
    }
    Ok(present)
}

fn library_name(snapshot: &ClusterSnapshot<'_>, library: u32) -> Result<Library, StoreError> {
    let owners = snapshot.shared.read_owners();
    let name = owners.name(library).cloned();
    name.ok_or_else(|| snapshot.damaged(format!("the name of library {library} is lost")))
}

impl Count {
    fn with_enough(&self, fewest: u32) -> Vec<(BookNo, u32)> {
        let books = self.books.iter().filter(|(_, gems)| **gems >= fewest);
        books.map(|(book, gems)| (*book, *gems)).collect()
    }

    /// Adds the books to the holders of a gem that may have lost it, and have it still.
    fn add_doubtful(&mut self, present: &PresentGems) {
        for (gem, book) in &self.doubtful {
            if !present.get(book).is_some_and(|gems| gems.contains(gem)) {
                continue;
            }
            match self.holders.binary_search_by_key(gem, |(gem, _)| *gem) {
                Ok(at) => self.holders[at].1 += 1,
                Err(at) => self.holders.insert(at, (*gem, 1)),
            }
        }
    }

    /// How many of a book's gems count in this library, if they are enough.
    fn counted(&self, gems: &HashSet<Gem>, fewest: u32) -> Option<u32> {
        let counted = gems.iter().filter(|gem| !self.common.contains(*gem));
        let counted = counted.count() as u32;
        (counted > 0 && counted >= fewest).then_some(counted)
    }

    /// The common gems of the query, each where it first occurs.
    fn common_of(&self, gems: &[Gem]) -> Vec<Gem> {
        let mut named = HashSet::new();
        let common = gems.iter().copied();
        common
            .filter(|gem| self.common.contains(gem) && named.insert(*gem))
            .collect()
    }
}
