//! What reports and records tell of the gems of a secret recipe. Where a text has gems, and exactly how many, would tell how to
//! edit it until it has none of a book's: what is told is estimated from lengths.

use std::collections::BTreeMap;

use lapidary_checking::{Extent, Score, Span};
use lapidary_gems::{Place, Recipe, RecipeName};
use lapidary_store::Record;

/// Places begin and end at a multiple of so many bytes.
const GRID: u64 = 512;

/// The usual number of gems of a text of so many bytes, at least one.
pub(super) fn usual_gems(recipe: &Recipe, bytes: u64) -> u32 {
    let usual = bytes / u64::from(recipe.characters_per_gem());
    usual.try_into().unwrap_or(u32::MAX).max(1)
}

/// Widens the places of spans, in a text and a book of so many bytes, and tells the usual numbers of gems.
pub(super) fn blur(recipe: &Recipe, spans: &mut [Span], query: u64, book: u64) {
    for span in spans {
        span.query = blurred_extent(recipe, span.query, query);
        span.book = blurred_extent(recipe, span.book, book);
        span.common = (span.query.gems.end - span.query.gems.start).max(1);
    }
}

fn blurred_extent(recipe: &Recipe, mut extent: Extent, bytes: u64) -> Extent {
    if let Some(place) = &mut extent.bytes {
        *place = blurred(*place, bytes);
        let before = |at| if at == 0 { 0 } else { usual_gems(recipe, at) };
        extent.gems.start = before(place.start);
        extent.gems.end = before(place.end);
    }
    extent
}

/// Widens a place in a text of so many bytes.
pub(super) fn blurred(place: Place, bytes: u64) -> Place {
    Place {
        start: place.start / GRID * GRID,
        end: place.end.next_multiple_of(GRID).min(bytes),
    }
}

/// A share in whole percent; what is not all or nothing stays so.
pub(super) fn blurred_share(share: f64) -> f64 {
    let percent = (100.0 * share).round();
    if share <= 0.0 || share >= 1.0 {
        share
    } else {
        percent.clamp(1.0, 99.0) / 100.0
    }
}

/// Shares in whole percent, and as many common gems as they come to.
pub(super) fn blurred_score(score: &Score, gems: u32) -> Score {
    let share_of_query = blurred_share(score.share_of_query);
    Score {
        common: (share_of_query * f64::from(gems)).ceil() as u32,
        share_of_query,
        share_of_book: blurred_share(score.share_of_book),
        score: blurred_share(score.score),
    }
}

/// The power of ten that is no smaller.
pub(super) fn blurred_e_value(e_value: f64) -> f64 {
    if e_value > 0.0 {
        10_f64.powf(e_value.log10().ceil())
    } else {
        e_value
    }
}

/// The numbers of gems of a book, as others are told them.
pub(super) fn told_gems(book: &Record) -> BTreeMap<RecipeName, u32> {
    let told = book.gems.iter().map(|(recipe, gems)| {
        let public = recipe.without_secret().map(str::parse::<Recipe>);
        let gems = match public {
            Some(Ok(public)) => usual_gems(&public, book.bytes),
            _ => *gems,
        };
        (recipe.clone(), gems)
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use lapidary_gems::Place;

    use super::{blurred, blurred_e_value, blurred_share};

    #[test]
    fn what_is_told_is_no_less_than_what_is() {
        let of = |start, end| blurred(Place { start, end }, 2_000);
        let wide = |start, end| Place { start, end };
        assert_eq!(of(0, 1), wide(0, 512));
        assert_eq!(of(511, 512), wide(0, 512));
        assert_eq!(of(512, 1_900), wide(512, 2_000));
        let told = [0.0, 0.001, 0.424, 0.999, 1.0].map(|share| blurred_share(share).to_string());
        assert_eq!(told, ["0", "0.01", "0.42", "0.99", "1"]);
        let told = [0.0, 2e-7, 1.0, 30.0].map(|e_value| format!("{:e}", blurred_e_value(e_value)));
        assert_eq!(told, ["0e0", "1e-6", "1e0", "1e2"]);
    }
}
