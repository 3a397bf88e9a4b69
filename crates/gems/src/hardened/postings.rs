//! Selects the few gems of a book that have a posting and represent the others in an index.

use crate::gem::PlacedGem;

/// The minimum distance, in gems, from one posted gem to the next.
const LEAST_STEP: usize = 1;
/// The next posted gem begins within this many times the mean distance between gems, if there is one.
const FARTHEST: u64 = 5;
/// The minimum number of posted gems of a book with enough gems.
const LEAST: usize = 16;

/// The next posted gem is at most `most_step` gems behind the last one. Among those that may be it, selects the
/// shortest: the fewer letters a gem covers, the more likely a copy has them all. Among equals, and if no places are
/// known, selects the smallest. A short book also posts its smallest gems.
///
/// Each choice depends on the previous one. Nevertheless, two books with the same passage make the same choices after
/// some distance into it: sooner or later both happen to choose the same gem.
pub(super) fn posted(gems: &[PlacedGem], most_step: usize) -> Vec<bool> {
    let far = match gems {
        [first, .., last] => {
            let all = start(last).saturating_sub(start(first));
            all.saturating_mul(FARTHEST) / (gems.len() as u64 - 1)
        }
        _ => 0,
    };
    let mut posted = vec![false; gems.len()];
    let (mut last, mut next) = (0, LEAST_STEP - 1);
    while next < gems.len() {
        let end = gems.len().min(next + 1 + most_step - LEAST_STEP);
        let from = start(&gems[last]).saturating_add(far);
        let near = (next..end).filter(|&at| start(&gems[at]) <= from);
        let chosen = near
            .min_by_key(|&at| (length(&gems[at]), gems[at].gem))
            .unwrap_or(next);
        posted[chosen] = true;
        (last, next) = (chosen, chosen + LEAST_STEP);
    }
    let missing = LEAST.saturating_sub(posted.iter().filter(|posted| **posted).count());
    if missing == 0 {
        return posted;
    }
    let mut others: Vec<usize> = (0..gems.len()).filter(|&at| !posted[at]).collect();
    others.sort_unstable_by_key(|&at| gems[at].gem);
    others
        .into_iter()
        .take(missing)
        .for_each(|at| posted[at] = true);
    posted
}

fn start(gem: &PlacedGem) -> u64 {
    gem.place.map_or(0, |place| place.start)
}

fn length(gem: &PlacedGem) -> u64 {
    gem.place
        .map_or(0, |place| place.end.saturating_sub(place.start))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LEAST, posted};
    use crate::gem::{Gem, Place, PlacedGem};

    /// Sixty gems 100 bytes apart, the smallest last, 50 bytes long except for some that are shorter or farther away.
    fn gems(shorter: &[(usize, u64)], farther: &[(usize, u64)]) -> Vec<PlacedGem> {
        let of = |list: &[(usize, u64)], at| {
            list.iter()
                .find(|(of, _)| *of == at)
                .map_or(0, |(_, bytes)| *bytes)
        };
        let gem = |at: usize| {
            let start = at as u64 * 100 + (0..=at).map(|before| of(farther, before)).sum::<u64>();
            let place = Place {
                start,
                end: start + 50 - of(shorter, at),
            };
            PlacedGem {
                gem: Gem(900 - at as u64),
                place: Some(place),
            }
        };
        (0..60).map(gem).collect()
    }

    fn first(gems: &[PlacedGem]) -> Vec<usize> {
        posted(gems, 3)
            .into_iter()
            .enumerate()
            .filter_map(|(at, posted)| posted.then_some(at))
            .take(4)
            .collect()
    }

    #[test]
    fn the_shortest_of_those_that_may_be_the_next() {
        // All are alike: the smallest of the first three.
        assert_eq!(first(&gems(&[], &[])), [2, 5, 8, 11]);
        let placeless: Vec<_> = gems(&[], &[])
            .iter()
            .map(|gem| PlacedGem {
                place: None,
                ..*gem
            })
            .collect();
        assert_eq!(first(&placeless), [2, 5, 8, 11]);
        assert_eq!(first(&gems(&[(0, 9), (1, 9)], &[])), [1, 4, 7, 10]);
        assert_eq!(first(&gems(&[(4, 9), (5, 1), (6, 2)], &[])), [2, 4, 6, 9]);
        // A gem that is too far away is chosen only if there is no other.
        assert_eq!(first(&gems(&[], &[(6, 2_000)])), [2, 5, 6, 9]);
        assert_eq!(first(&gems(&[], &[(4, 2_000)])), [2, 3, 4, 7]);
    }

    #[test]
    fn a_short_book_has_sixteen_postings_if_it_has_as_many_gems() {
        let all = gems(&[], &[]);
        for count in [0, 1, 15, 16] {
            assert_eq!(posted(&all[..count], 3), vec![true; count]);
        }
        // The chosen ones, and the smallest.
        let of_twenty: Vec<usize> = posted(&all[..20], 3)
            .into_iter()
            .enumerate()
            .filter_map(|(at, posted)| (!posted).then_some(at))
            .collect();
        assert_eq!(of_twenty, [0, 1, 3, 4]);
    }

    proptest! {
        #[test]
        fn no_list_has_a_larger_gap(
            list in prop::collection::vec((any::<u64>(), prop::option::of(any::<(u64, u64)>())), 0..200),
            most_step in 1..4_usize,
        ) {
            let gem = |(gem, place): (u64, Option<(u64, u64)>)| {
                PlacedGem { gem: Gem(gem), place: place.map(|(start, end)| Place { start, end }) }
            };
            let posted = posted(&list.iter().copied().map(gem).collect::<Vec<_>>(), most_step);
            prop_assert_eq!(posted.len(), list.len());
            prop_assert!(posted.split(|posted| *posted).all(|gap| gap.len() < most_step));
            prop_assert!(posted.iter().filter(|posted| **posted).count() >= list.len().min(LEAST));
        }
    }
}
