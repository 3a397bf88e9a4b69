//! The texts of books next to a text that was checked.

use lapidary_gems::Recipe;

use super::{Text, compare};
use crate::api::Match;
use lapidary_extract::Whole;
use lapidary_extract::position::Locator;

/// The most books of a report whose texts are compared with the text that was checked.
pub const MOST_COMPARED: usize = 20;

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
