//! Counts which books have how many of a check's gems. Each library is counted on its own: how common a gem is in one
//! library never affects whether it counts in another.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hashbrown::HashMap;
use lapidary_gems::Gem;

use super::lists::PostingLists;
use super::owners::LibraryNo;
use super::read::RocksSnapshot;
use crate::recipes::KnownRecipe;
use crate::{BookNo, LibraryTally, Limits, StoreError, Tally};

/// Counts the books of gems.
pub(super) fn tally(
    snapshot: &RocksSnapshot<'_>,
    recipe: &KnownRecipe,
    gems: &[Gem],
    limits: Limits<'_>,
) -> Result<Tally, StoreError> {
    let Some(mut lists) = PostingLists::new(snapshot, recipe, limits, false)? else {
        return Ok(Tally::default());
    };
    // In key order, so that neighbouring gems are read together.
    let mut sorted: Vec<Gem> = gems
        .iter()
        .copied()
        .filter(|gem| recipe.fits(*gem))
        .collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut counts = Counts::default();
    lists.read(&sorted, &mut |library, gem, books| {
        counts.add(library, gem, books);
    })?;
    Ok(counts
        .by_library(snapshot, gems, limits.fewest)?
        .within_bounds(limits.informing))
}

/// Counts the books of the gems of many queries.
pub(super) fn tallies(
    snapshot: &RocksSnapshot<'_>,
    recipe: &KnownRecipe,
    queries: &[Vec<Gem>],
    limits: Limits<'_>,
) -> Result<Vec<Tally>, StoreError> {
    let Some(mut lists) = PostingLists::new(snapshot, recipe, limits, true)? else {
        return Ok(vec![Tally::default(); queries.len()]);
    };
    let numbered = queries
        .iter()
        .enumerate()
        .flat_map(|(query, gems)| gems.iter().map(move |gem| (*gem, query)));
    let mut asked: Vec<(Gem, usize)> = numbered.filter(|(gem, _)| recipe.fits(*gem)).collect();
    asked.sort_unstable();
    asked.dedup();
    let mut gems: Vec<Gem> = asked.iter().map(|(gem, _)| *gem).collect();
    gems.dedup();
    let mut counts: Vec<Counts> = queries.iter().map(|_| Counts::default()).collect();
    let mut rest = asked.as_slice();
    lists.read(&gems, &mut |library, gem, books| {
        rest = &rest[rest.iter().take_while(|(of, _)| *of < gem).count()..];
        for (_, query) in rest.iter().take_while(|(of, _)| *of == gem) {
            counts[*query].add(library, gem, books);
        }
    })?;
    counts
        .into_iter()
        .zip(queries)
        .map(|(counts, gems)| counts.by_library(snapshot, gems, limits.fewest))
        .collect()
}

#[derive(Default)]
struct Counts {
    books: HashMap<BookNo, u32>,
    common: BTreeMap<LibraryNo, Vec<Gem>>,
    /// Number of books of a library that have a gem that counts there.
    holders: Vec<(LibraryNo, Gem, u32)>,
}

impl Counts {
    fn add(&mut self, library: LibraryNo, gem: Gem, books: Option<&[BookNo]>) {
        let Some(books) = books else {
            return self.common.entry(library).or_default().push(gem);
        };
        self.holders.push((library, gem, books.len() as u32));
        for book in books {
            *self.books.entry(*book).or_insert(0) += 1;
        }
    }

    /// Groups the counts by library.
    fn by_library(
        self,
        snapshot: &RocksSnapshot<'_>,
        gems: &[Gem],
        fewest: u32,
    ) -> Result<Tally, StoreError> {
        let mut tallies: BTreeMap<LibraryNo, LibraryTally> = BTreeMap::new();
        let mut walk = snapshot.owners().walk();
        let enough = self.books.into_iter().filter(|(_, count)| *count >= fewest);
        let mut books: Vec<(BookNo, u32)> = enough.collect();
        books.sort_unstable();
        for (book, count) in books {
            let tally = tally_of(&mut tallies, snapshot, walk.of(book))?;
            tally.books.push((book, count));
        }
        for (library, common) in self.common {
            tally_of(&mut tallies, snapshot, library)?.common = as_asked(gems, &common);
        }
        for (library, gem, books) in self.holders {
            if let Some(tally) = tallies.get_mut(&library) {
                tally.holders.push((gem, books));
            }
        }
        Ok(Tally {
            libraries: tallies.into_values().collect(),
        })
    }
}

fn tally_of<'t>(
    tallies: &'t mut BTreeMap<LibraryNo, LibraryTally>,
    snapshot: &RocksSnapshot<'_>,
    library: LibraryNo,
) -> Result<&'t mut LibraryTally, StoreError> {
    match tallies.entry(library) {
        Entry::Occupied(entry) => Ok(entry.into_mut()),
        Entry::Vacant(entry) => {
            let name = snapshot.owners().name(library).cloned();
            let name = name.ok_or_else(|| {
                snapshot.damaged(format!("the name of library {} is lost", library.0))
            })?;
            Ok(entry.insert(LibraryTally::empty(name)))
        }
    }
}

/// Sorted gems, each where it first occurs in the query.
fn as_asked(query: &[Gem], sorted: &[Gem]) -> Vec<Gem> {
    let mut unnamed = vec![true; sorted.len()];
    let mut is_first = |gem: &Gem| {
        let at = sorted.binary_search(gem);
        at.is_ok_and(|at| std::mem::take(&mut unnamed[at]))
    };
    query.iter().copied().filter(|gem| is_first(gem)).collect()
}
