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
        let owners = snapshot.owners();
        let mut tallies: BTreeMap<LibraryNo, LibraryTally> = BTreeMap::new();
        let tally_of = |library: LibraryNo| {
            let name = owners.name(library).cloned();
            let name = name.ok_or_else(|| {
                snapshot.damaged(format!("the name of library {} is lost", library.0))
            })?;
            Ok::<_, StoreError>(LibraryTally::empty(name))
        };
        let mut walk = owners.walk();
        let mut books: Vec<(BookNo, u32)> = self
            .books
            .into_iter()
            .filter(|(_, count)| *count >= fewest)
            .collect();
        books.sort_unstable();
        for (book, count) in books {
            let library = walk.of(book);
            let tally = match tallies.entry(library) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(tally_of(library)?),
            };
            tally.books.push((book, count));
        }
        for (library, common) in self.common {
            // These are sorted but the query is not: report each gem where it first occurs in the query.
            let mut unnamed = vec![true; common.len()];
            let named = gems.iter().filter(|gem| {
                common
                    .binary_search(gem)
                    .is_ok_and(|at| std::mem::take(&mut unnamed[at]))
            });
            let named = named.copied().collect();
            match tallies.get_mut(&library) {
                Some(tally) => tally.common = named,
                None => {
                    tallies.insert(
                        library,
                        LibraryTally {
                            common: named,
                            ..tally_of(library)?
                        },
                    );
                }
            }
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
