//! Which passages of a text came from which earlier text.

use hashbrown::HashMap;
use lapidary_gems::{Gem, Place, PlacedGem, Recipe};

use lapidary_checking::align;

/// A passage of a text that an earlier text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Where it is in the text, in bytes.
    pub place: Place,
    /// The earliest text that has it.
    pub from: u32,
    /// Where it is in that text.
    pub there: Place,
}

/// Where a gem of a text came from: the text, and the place there if the gem itself is there.
type Origin = Option<(u32, Option<Place>)>;

/// The passages of a text that came from others, in its order. `earlier` has these others, the earliest first, each with its
/// number. A passage belongs to the first that has it. A gem alone is no passage, and gems without places have none.
#[must_use]
pub fn history<'a>(
    recipe: &Recipe,
    text: &[PlacedGem],
    earlier: impl IntoIterator<Item = (u32, &'a [PlacedGem])>,
) -> Vec<Segment> {
    let mut origins: Vec<Origin> = vec![None; text.len()];
    for (from, gems) in earlier {
        let spans = align(text, gems, recipe, |_| Some(1.0)).spans;
        for span in spans.iter().filter(|span| span.common > 1) {
            let (here, there) = (span.query.gems, span.book.gems);
            let there = &gems[there.start as usize..there.end as usize];
            let there = there.iter().map(|placed| (placed.gem, placed.place));
            let places: HashMap<Gem, Option<Place>> = there.collect();
            for at in here.start as usize..here.end as usize {
                origins[at]
                    .get_or_insert_with(|| (from, places.get(&text[at].gem).copied().flatten()));
            }
        }
    }
    segments_of(text, &origins)
}

/// Joins what follows one another in one source.
fn segments_of(text: &[PlacedGem], origins: &[Origin]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut before = None;
    for (placed, origin) in text.iter().zip(origins) {
        let from = origin.map(|(from, _)| from);
        let found = origin.and_then(|(from, there)| Some((placed.place?, from, there?)));
        match (found, segments.last_mut()) {
            // Text moved within its source is two passages.
            (Some((place, from, there)), Some(last))
                if before == Some(from) && there.start >= last.there.start =>
            {
                last.place.end = last.place.end.max(place.end);
                last.there.end = last.there.end.max(there.end);
            }
            (Some((place, from, there)), _) => segments.push(Segment { place, from, there }),
            (None, _) => {}
        }
        before = from;
    }
    segments
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::{Segment, history};
    use lapidary_gems::{Gem, Place, PlacedGem, Recipe};

    /// A text with a gem of these numbers every hundred bytes.
    fn text(gems: impl IntoIterator<Item = u64>) -> Vec<PlacedGem> {
        let place = |at: u64| {
            Some(Place {
                start: 100 * at,
                end: 100 * at + 90,
            })
        };
        gems.into_iter()
            .zip(0..)
            .map(|(gem, at)| PlacedGem {
                gem: Gem(gem),
                place: place(at),
            })
            .collect()
    }

    fn segment(here: Range<u64>, from: u32, there: Range<u64>) -> Segment {
        let place = |gems: Range<u64>| Place {
            start: 100 * gems.start,
            end: 100 * gems.end - 10,
        };
        Segment {
            place: place(here),
            from,
            there: place(there),
        }
    }

    #[test]
    fn a_passage_belongs_to_the_earliest_text_that_has_it() {
        let (first, second) = (text(0..10), text((5..10).chain(100..110)));
        // Five of its own; what both have, and what only the second has; and the beginning of the first.
        let late = text((200..205).chain(5..10).chain(100..105).chain(0..3));
        let found = history(&Recipe::documented(), &late, [(7, &*first), (8, &*second)]);
        assert_eq!(
            found,
            [
                segment(5..10, 7, 5..10),
                segment(10..15, 8, 5..10),
                segment(15..18, 7, 0..3)
            ]
        );
        let found = history(&Recipe::documented(), &late, [(8, &*second), (7, &*first)]);
        assert_eq!(found, [segment(5..15, 8, 0..10), segment(15..18, 7, 0..3)]);
    }

    #[test]
    fn small_changes_do_not_end_a_passage_and_a_gem_alone_is_none() {
        let source = text(0..20);
        let changed = text((0..20).map(|gem| if gem % 5 == 3 { gem + 100 } else { gem }));
        assert_eq!(
            history(&Recipe::documented(), &changed, [(0, &*source)]),
            [segment(0..20, 0, 0..20)]
        );
        let alone = text((100..110).chain([4]).chain(120..130));
        assert_eq!(history(&Recipe::documented(), &alone, [(0, &*source)]), []);
    }

    #[test]
    fn gems_without_places_have_no_passages() {
        let placeless: Vec<PlacedGem> = text(0..5)
            .into_iter()
            .map(|gem| PlacedGem { place: None, ..gem })
            .collect();
        assert_eq!(
            history(&Recipe::documented(), &placeless, [(0, &*text(0..5))]),
            []
        );
        assert_eq!(
            history(&Recipe::documented(), &text(0..5), [(0, &*placeless)]),
            []
        );
    }
}
