//! What reports tell of the gems of a secret recipe: not where they are.

use lapidary_checking::Span;
use lapidary_gems::Place;

/// Places begin and end at a multiple of so many bytes: several gems of a book begin between two of them.
const GRID: u64 = 512;

/// Widens the places of spans, in a text and a book of so many bytes.
pub(super) fn blur(spans: &mut [Span], query: u64, book: u64) {
    for span in spans {
        for (place, bytes) in [(&mut span.query.bytes, query), (&mut span.book.bytes, book)] {
            *place = place.map(|place| blurred(place, bytes));
        }
    }
}

fn blurred(place: Place, bytes: u64) -> Place {
    Place {
        start: place.start / GRID * GRID,
        end: place.end.next_multiple_of(GRID).min(bytes),
    }
}

/// A share in whole percent.
pub(super) fn blurred_share(share: f64) -> f64 {
    (100.0 * share).round() / 100.0
}

#[cfg(test)]
mod tests {
    use lapidary_gems::Place;

    use super::blurred;

    #[test]
    fn places_are_widened_within_the_text() {
        let of = |start, end| blurred(Place { start, end }, 2_000);
        let wide = |start, end| Place { start, end };
        assert_eq!(of(0, 1), wide(0, 512));
        assert_eq!(of(511, 512), wide(0, 512));
        assert_eq!(of(512, 1_900), wide(512, 2_000));
    }
}
