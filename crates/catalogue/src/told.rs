//! What reports and records tell of the gems of a recipe.
//!
//! Of one with a secret, where a text has gems and exactly how many would tell how to edit it until it has none of a book's. So
//! what is told of those is rounded, or estimated from lengths.

use std::collections::BTreeMap;

use lapidary_checking::{Alignment, Extent, Score, Span};
use lapidary_gems::{Place, Recipe, RecipeName};
use lapidary_store::Record;

/// Places begin and end at a multiple of so many bytes.
const GRID: u64 = 512;
/// A text of fewer bytes is told to have no gem.
const TOO_SHORT: u64 = 64;

/// What is told of gems of a recipe.
#[derive(Clone, Copy)]
pub(super) struct Told<'r> {
    recipe: &'r Recipe,
    is_exact: bool,
}

impl<'r> Told<'r> {
    /// `exactly`: to whoever has the secret anyway.
    pub(super) fn of(recipe: &'r Recipe, exactly: bool) -> Self {
        let is_exact = exactly || recipe.secret().is_none();
        Self { recipe, is_exact }
    }

    /// Whether it is what is so.
    pub(super) fn is_exact(self) -> bool {
        self.is_exact
    }

    /// The number of gems of a text of so many bytes.
    pub(super) fn gems(self, gems: u32, bytes: u64) -> u32 {
        if self.is_exact() {
            gems
        } else {
            told_of(self.recipe, bytes)
        }
    }

    pub(super) fn e_value(self, e_value: f64) -> f64 {
        if self.is_exact() || e_value <= 0.0 {
            e_value
        } else {
            power_of_ten(e_value)
        }
    }

    /// A place in a text of so many bytes.
    pub(super) fn place(self, place: Place, bytes: u64) -> Place {
        if self.is_exact() {
            place
        } else {
            widened(place, bytes)
        }
    }

    /// What a query and a book of so many bytes have in common: score, evidence and spans.
    pub(super) fn common(
        self,
        score: Score,
        alignment: Alignment,
        bytes: [u64; 2],
    ) -> (Score, f64, Vec<Span>) {
        let Alignment {
            mut spans,
            evidence,
            ..
        } = alignment;
        if self.is_exact() {
            return (score, evidence, spans);
        }
        let [query, book] = bytes;
        for span in &mut spans {
            span.query = self.extent(span.query, query);
            span.book = self.extent(span.book, book);
            span.common = (span.query.gems.end - span.query.gems.start).max(1);
        }
        let share_of_query = whole_percent(score.share_of_query);
        let common = (share_of_query * f64::from(usual_gems(self.recipe, query))).ceil();
        let score = Score {
            common: common as u32,
            share_of_query,
            share_of_book: whole_percent(score.share_of_book),
            score: whole_percent(score.score),
        };
        (score, common, spans)
    }

    fn extent(self, mut extent: Extent, bytes: u64) -> Extent {
        if let Some(place) = &mut extent.bytes {
            *place = widened(*place, bytes);
            let before = |at| {
                if at == 0 {
                    0
                } else {
                    usual_gems(self.recipe, at)
                }
            };
            extent.gems.start = before(place.start);
            extent.gems.end = before(place.end);
        }
        extent
    }
}

/// The numbers of gems of a book.
pub(super) fn told_gems(book: &Record) -> BTreeMap<RecipeName, u32> {
    let told = book.gems.iter().map(|(recipe, gems)| {
        let gems = match recipe.without_secret() {
            None => *gems,
            Some(public) => public
                .parse()
                .map_or(0, |public| told_of(&public, book.bytes)),
        };
        (recipe.clone(), gems)
    });
    told.collect()
}

/// The number of gems that a text of so many bytes is told to have.
fn told_of(recipe: &Recipe, bytes: u64) -> u32 {
    if bytes < TOO_SHORT {
        0
    } else {
        usual_gems(recipe, bytes)
    }
}

/// The usual number of gems of a text of so many bytes, at least one.
fn usual_gems(recipe: &Recipe, bytes: u64) -> u32 {
    let usual = bytes / u64::from(recipe.characters_per_gem());
    usual.try_into().unwrap_or(u32::MAX).max(1)
}

fn widened(place: Place, bytes: u64) -> Place {
    Place {
        start: place.start / GRID * GRID,
        end: place.end.next_multiple_of(GRID).min(bytes),
    }
}

/// A share in whole percent. What is not all or nothing stays so.
pub(super) fn whole_percent(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        share
    } else {
        (100.0 * share).round().clamp(1.0, 99.0) / 100.0
    }
}

/// The next one, so that no E-value becomes smaller.
fn power_of_ten(e_value: f64) -> f64 {
    10_f64.powf(e_value.log10().ceil())
}

#[cfg(test)]
mod tests {
    use lapidary_gems::Place;

    use super::{power_of_ten, whole_percent, widened};

    #[test]
    fn what_is_told_is_coarse() {
        let of = |start, end| widened(Place { start, end }, 2_000);
        let wide = |start, end| Place { start, end };
        assert_eq!(of(0, 1), wide(0, 512));
        assert_eq!(of(511, 512), wide(0, 512));
        assert_eq!(of(512, 1_900), wide(512, 2_000));
        let told = [0.0, 0.001, 0.424, 0.999, 1.0].map(|share| whole_percent(share).to_string());
        assert_eq!(told, ["0", "0.01", "0.42", "0.99", "1"]);
        let told = [2e-7, 1.0, 30.0].map(|e_value| format!("{:e}", power_of_ten(e_value)));
        assert_eq!(told, ["1e-6", "1e0", "1e2"]);
    }
}
