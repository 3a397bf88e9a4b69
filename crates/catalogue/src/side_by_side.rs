//! The texts of books next to a text that was checked.

use lapidary_gems::Recipe;

use super::{Text, compare};
use crate::api::Match;
use lapidary_extract::Whole;
use lapidary_extract::position::Locator;

/// The most books of a report whose texts are compared with the text that was checked, and the most bytes of these.
const MOST_COMPARED: usize = 100;
const MOST_BYTES: u64 = 64 << 20;

/// How many matches of a report are compared: the best ones, and at least one.
#[must_use]
pub fn compared(matches: &[Match]) -> usize {
    let sizes = matches.iter().map(|found| found.book.bytes);
    let sums = sizes.scan(0_u64, |sum, bytes| {
        *sum = sum.saturating_add(bytes);
        Some(*sum)
    });
    let within = sums.take_while(|sum| *sum <= MOST_BYTES);
    within.take(MOST_COMPARED).count().max(1)
}

/// Compares a match with the book's text, word by word. The positions of its spans are of the text that was indexed; in any
/// other version of the text, the gems are looked for again.
pub fn side_by_side(found: &mut Match, text: &str, locator: &Locator, book: &Whole) {
    let is_indexed = found.book.bytes == book.text.len() as u64
        && found.spans.iter().all(|span| span.book.bytes.is_some());
    if !is_indexed {
        let recipe = Recipe::hardened();
        let again = compare(
            &recipe,
            recipe.rule(),
            &Text::new(text, None),
            &Text::new(&book.text, None),
        );
        // A copy that a public recipe misses has none.
        if !again.spans.is_empty() {
            found.spans = again.spans;
        }
    }
    let of_book = Locator::new(&book.text, &book.headings);
    found.compare(text, locator, &book.text, &of_book);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Match, compared};

    fn of_bytes(bytes: u64) -> Match {
        serde_json::from_value(json!({
            "book": { "library": "l", "id": "a", "rights": "free", "title": null, "authors": [], "language": null,
                "bytes": bytes },
            "recipes": [], "work": 1, "common": 4, "share_of_query": 1, "share_of_book": 1, "score": 1, "evidence": 4,
            "spans": [],
        }))
        .expect("a match")
    }

    #[test]
    fn texts_are_compared_up_to_a_bound() {
        let compared = |sizes: &[u64]| {
            let matches: Vec<Match> = sizes.iter().map(|bytes| of_bytes(*bytes)).collect();
            compared(&matches)
        };
        assert_eq!(compared(&[1_000; 99]), 99);
        assert_eq!(compared(&[1_000; 101]), 100);
        assert_eq!(compared(&[16 << 20; 101]), 4);
        assert_eq!(compared(&[64 << 20, 1]), 1);
        // The best one, however long it is.
        assert_eq!(compared(&[u64::MAX, u64::MAX]), 1);
    }
}
