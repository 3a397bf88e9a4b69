//! Query expansion: a long text with many wrong letters is looked up by parts, and then by all that the books have which these
//! parts found. So what is told of a whole copy does not depend on the length of the parts.

use std::cmp::Reverse;
use std::convert::Infallible;

use hashbrown::HashSet;
use lapidary_checking::Reader;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, Rule};

use super::Text;
use super::check::Asked;
use super::checking::Stored;
use super::libraries::Deciding;
use lapidary_store::{BookNo, Library, Limits, Snapshot, StoreError, Tally};

/// A book with fewer of a text's gems may have them by accident.
const FEWEST: u32 = Rule::FEW;
/// Maximum number of books that are read: of a library, so that none displaces those of another, and of all.
const BOOKS_OF_ONE: usize = 2;
const BOOKS: usize = 8;
/// So many gems of each count: those of 4 MB of text.
const GEMS: usize = 1 << 16;
/// Nothing is wrong in a text that has at least this share of its gems in common with a book. With one wrong letter in a hundred
/// it has less.
const RIGHT: f64 = 0.9;

impl Asked {
    /// Adds what the books have that are found in a snapshot. Those that were added since are found by what there was before.
    pub(super) fn expand(
        &mut self,
        text: &Text<'_>,
        snapshot: &dyn Snapshot,
        deciding: &Deciding<'_>,
        library: Option<&Library>,
    ) -> Result<(), StoreError> {
        for (recipe, probes) in &mut self.recipes {
            let limits = Limits {
                cap: recipe.rule().common_cap,
                fewest: FEWEST,
                library,
                informing: deciding.informing(),
            };
            let more =
                text.probes_of_books(recipe, || gems_of_books(snapshot, recipe, probes, limits))?;
            add(probes, more);
        }
        Ok(())
    }
}

/// What a text is compared with another one by: as a check looks it up that finds the other one.
pub(super) fn probes_to_compare(
    text: &Text<'_>,
    recipe: &Recipe,
    other: &[PlacedGem],
) -> Vec<Probe> {
    let mut probes = text.probes(recipe);
    let gems_of_other = || {
        let looked_up: HashSet<Gem> = probes.iter().map(|probe| probe.placed.gem).collect();
        let gems = other.iter().map(|placed| placed.gem);
        let common = gems.clone().filter(|gem| looked_up.contains(gem)).count();
        let is_read = common >= FEWEST as usize && !is_right(&own(&probes), other);
        let read = if is_read { GEMS } else { 0 };
        Ok::<Vec<Gem>, Infallible>(gems.take(read).collect())
    };
    let Ok(more) = text.probes_of_books(recipe, gems_of_other);
    add(&mut probes, more);
    probes
}

/// The gems of the books that have most of these gems.
fn gems_of_books(
    snapshot: &dyn Snapshot,
    recipe: &Recipe,
    probes: &[Probe],
    limits: Limits<'_>,
) -> Result<Vec<Gem>, StoreError> {
    let stored = Stored {
        snapshot,
        recipe: recipe.name(),
        is_new: snapshot.recipes().is_empty(),
    };
    let looked_up: Vec<Gem> = probes.iter().map(|probe| probe.placed.gem).collect();
    let own = own(probes);
    let mut gems = Vec::new();
    for book in best(stored.tally(&looked_up, limits)?, limits) {
        let of_book = stored.gems(book)?;
        if !is_right(&own, &of_book) {
            gems.extend(of_book.iter().take(GEMS).map(|placed| placed.gem));
        }
    }
    Ok(gems)
}

/// The gems of a text as it is.
fn own(probes: &[Probe]) -> HashSet<Gem> {
    let kept = probes.iter().filter(|probe| probe.kept);
    kept.map(|probe| probe.placed.gem).collect()
}

/// Whether a text with these gems has nothing wrong, as this book shows. Some books look misspelled.
fn is_right(own: &HashSet<Gem>, book: &[PlacedGem]) -> bool {
    let common = book.iter().filter(|placed| own.contains(&placed.gem));
    common.count() as f64 >= RIGHT * own.len() as f64
}

/// The books with most of the gems: the best of each library, then the second ones. What only informs changes nothing.
fn best(tally: Tally, limits: Limits<'_>) -> impl Iterator<Item = BookNo> {
    let mut best = Vec::new();
    let libraries = tally.libraries.into_iter();
    for of in libraries.filter(|of| !limits.informing.contains(&of.library)) {
        let mut books = of.books;
        books.sort_unstable_by_key(|(number, common)| (Reverse(*common), *number));
        let ranked = (0..BOOKS_OF_ONE).zip(books);
        best.extend(ranked.map(|(rank, (number, common))| (rank, Reverse(common), number)));
    }
    best.sort_unstable();
    best.into_iter().take(BOOKS).map(|(.., number)| number)
}

/// Adds probes to others, in the order of the text.
fn add(probes: &mut Vec<Probe>, more: Vec<Probe>) {
    if more.is_empty() {
        return;
    }
    let known: HashSet<Gem> = probes.iter().map(|probe| probe.placed.gem).collect();
    let new = more
        .into_iter()
        .filter(|probe| !known.contains(&probe.placed.gem));
    probes.extend(new);
    probes.sort_by_key(|probe| probe.placed.place.map(|place| place.start));
}
