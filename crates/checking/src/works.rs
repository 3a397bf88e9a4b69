//! Groups books that are editions of one work.

use std::collections::BTreeSet;

use lapidary_gems::PlacedGem;

/// Number of gems in a sketch, more than half of what most books have. Shares are estimated to 0.03 or better.
const SKETCH: usize = 256;
/// Two books are editions of one work if they share at least this part of all their gems. Half the gems of either are
/// then the same in both.
const EDITIONS: f64 = 0.33;
/// Unless one is a collection that contains the other: nearly all of the smaller one is in the larger one, of which it
/// is not nearly all.
const CONTAINED: f64 = 0.88;
const NEARLY_ALL: f64 = 0.8;
/// Editions have some of their smallest gems in common: that none of this many are happens once in 400,000 pairs.
const FIRST: usize = 32;

/// The smallest gems of a book, from which the share of gems that two books have in common can be estimated (`MinHash`,
/// Broder 1997).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    least: Vec<u64>,
    /// Number of all gems.
    gems: usize,
}

impl Sketch {
    /// The sketch of a book with these gems.
    #[must_use]
    pub fn of(gems: &[PlacedGem]) -> Self {
        let mut least: Vec<u64> = gems.iter().map(|placed| mixed(placed.gem.0)).collect();
        if least.len() > SKETCH {
            least.select_nth_unstable(SKETCH);
            least.truncate(SKETCH);
        }
        least.sort_unstable();
        least.shrink_to_fit();
        Self {
            least,
            gems: gems.len(),
        }
    }

    /// Whether two books are editions of one work.
    fn is_edition_of(&self, other: &Self) -> bool {
        let (small, large) = (
            self.gems.min(other.gems) as f64,
            self.gems.max(other.gems) as f64,
        );
        if small < EDITIONS * large || self.resemblance(other, FIRST) <= 0.0 {
            return false;
        }
        let resemblance = self.resemblance(other, SKETCH);
        if resemblance < EDITIONS {
            return false;
        }
        let in_both = resemblance / (1.0 + resemblance) * (small + large);
        in_both < CONTAINED * small || small >= NEARLY_ALL * large
    }

    /// The number of gems that both books have, as a share of the gems that either has, estimated from the `most` smallest
    /// of these.
    fn resemblance(&self, other: &Self, most: usize) -> f64 {
        let (mut a, mut b) = (self.least.iter().peekable(), other.least.iter().peekable());
        let (mut all, mut both) = (0_usize, 0_usize);
        while all < most {
            let least = match (a.peek(), b.peek()) {
                (Some(a), Some(b)) => (*a).min(*b),
                (Some(one), None) | (None, Some(one)) => *one,
                (None, None) => break,
            };
            let (in_a, in_b) = (
                a.next_if_eq(&least).is_some(),
                b.next_if_eq(&least).is_some(),
            );
            all += 1;
            both += usize::from(in_a && in_b);
        }
        if all == 0 {
            0.0
        } else {
            both as f64 / all as f64
        }
    }
}

/// Puts gems in another order. `hardened` selects grams with small hashes, so the smallest gems of two editions are
/// the same more often than others, and are no fair sample.
fn mixed(gem: u64) -> u64 {
    // The finalizer of MurmurHash3 (Appleby 2011), a bijection.
    let gem = (gem ^ (gem >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let gem = (gem ^ (gem >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    gem ^ (gem >> 33)
}

/// The number of each book's work, counted from 1 in the order of the books. An edition of an edition is the same work;
/// but of the books after the first `joining`, none makes others one work.
/// Each sketch comes with the recipe of its gems; gems of different recipes are not compared.
#[must_use]
pub fn works(books: &[(usize, Sketch)], joining: usize) -> Vec<u32> {
    let mut works: Vec<u32> = Vec::with_capacity(books.len());
    let mut next = 1;
    for (recipe, sketch) in books {
        let mut editions: BTreeSet<u32> = BTreeSet::new();
        for ((of, other), work) in books.iter().zip(&works) {
            // One edition of a work is enough.
            if of == recipe && !editions.contains(work) && sketch.is_edition_of(other) {
                editions.insert(*work);
            }
        }
        let work = editions.first().copied().unwrap_or(next);
        next += u32::from(editions.is_empty());
        if works.len() < joining {
            for known in &mut works {
                if editions.contains(known) {
                    *known = work;
                }
            }
        }
        works.push(work);
    }
    works
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;
    use lapidary_gems::{Gem, PlacedGem};
    use proptest::prelude::*;

    use super::{SKETCH, Sketch, works};

    fn book(gems: impl IntoIterator<Item = u64>) -> (usize, Sketch) {
        let gems: Vec<PlacedGem> = gems
            .into_iter()
            .map(|gem| PlacedGem {
                gem: Gem(gem),
                place: None,
            })
            .collect();
        (0, Sketch::of(&gems))
    }

    #[test]
    fn editions_are_one_work() {
        let island = 0..150;
        let books = [
            book(island.clone()),
            book(1_000..1_150),
            book((0..148).chain(500..506)),
            book(island.clone().chain(2_000..2_140)),
            book((4..150).chain(700..702)),
            (1, book(island).1),
        ];
        assert_eq!(
            works(&books, books.len()),
            [1, 2, 1, 3, 1, 4],
            "a collection is a work of its own, as is a book with gems of another recipe"
        );
        assert!(works(&[], 0).is_empty());
        assert_eq!(
            works(&[book([]), book([])], 2),
            [1, 2],
            "nothing is known of these"
        );
    }

    #[test]
    fn an_edition_of_an_edition_joins_them() {
        let books = [book(0..40), book(24..64), book(12..52)];
        assert_eq!(works(&books[..2], 2), [1, 2]);
        assert_eq!(works(&books, 3), [1, 1, 1]);
        assert_eq!(
            works(&books, 2),
            [1, 2, 1],
            "a book that only informs joins nothing"
        );
    }

    proptest! {
        #[test]
        fn resemblance_is_as_counted(a in prop::collection::hash_set(0..600_u64, 0..300), b in prop::collection::hash_set(0..600_u64, 0..300)) {
            let (a, b): (HashSet<u64>, HashSet<u64>) = (a.into_iter().collect(), b.into_iter().collect());
            let (both, all) = (a.intersection(&b).count(), a.union(&b).count());
            let found = book(a).1.resemblance(&book(b).1, SKETCH);
            // Few gems are counted, not estimated.
            let exact = if all == 0 { 0.0 } else { both as f64 / all as f64 };
            prop_assert!(all > SKETCH || (found - exact).abs() < 1e-12, "{found} {exact}");
            prop_assert!((found - exact).abs() < 0.2, "{found} {exact}");
        }
    }
}
