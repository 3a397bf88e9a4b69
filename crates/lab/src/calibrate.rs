//! Fits how often unrelated texts reach a score, from which reports get their E-values ([`Fit`]).
//!
//! Each text is aligned with all books that are not related to it, as a check would align them. Two books that have twelve
//! words in a row in common have a source in common: this is no accident, so they are counted apart and not fitted.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::{HashMap, HashSet};
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe};
use rayon::prelude::*;

use super::pairs::Pairs;
use super::shelf::Shelf;
use super::{EvaluateError, Progress};
use lapidary_checking::{Calibration, Fit, align, of_both};

/// This many successive words in common are a common source.
const SOURCE: usize = 12;
/// The E-values for which it is counted how many checks reach them.
const STATED: [f64; 4] = [1.0, 0.1, 0.01, 0.001];

/// Fits these recipes to the books of a shelf. Returns the table that [`lapidary_checking::Calibration`] reads. Comments
/// say how often checks of the books reach E-values with the built-in fits, and checks of one half with fits to the other.
pub fn calibrate(
    shelf: &Shelf,
    lists: &[(String, String)],
    recipes: &[Recipe],
    progress: Progress<'_>,
) -> Result<String, EvaluateError> {
    let pairs = Pairs::parse(lists, shelf)?;
    let sources = sources(shelf, progress)?;
    let mut compared = Vec::new();
    for recipe in recipes {
        compared.push(Comparisons::new(shelf, &pairs, &sources, recipe, progress)?);
    }
    let whole = fits(&compared, |_| true);
    let half = fits(&compared, |book| pairs.group(book) % 2 == 0);
    let mut table = format!(
        "# Written by `lapidary evaluate --calibrate`, from {} books: recipe, K, lambda, pairs of gems; pairs of books with a\n\
         # score of at least 1, 2, 3, …; the same of pairs with {SOURCE} words in a row in common, which were not fitted.\n",
        shelf.len()
    );
    for ((of, fit), half) in compared.iter().zip(whole).zip(half) {
        if let Some(built_in) = Calibration::built_in().of(&fit.recipe) {
            let checked = of.checked(built_in, |_| true);
            let _ = writeln!(table, "# {}, as built in: {checked}", fit.recipe);
        }
        let checked = of.checked(&half, |book| pairs.group(book) % 2 == 1);
        let _ = writeln!(
            table,
            "# {}, one half as fitted to the other: {checked}",
            fit.recipe
        );
        let (fitted, apart): (Vec<&Comparison>, _) =
            of.once(|_| true).partition(|pair| !pair.has_source);
        let _ = writeln!(
            table,
            "{}\t{:.3e}\t{:.3}\t{}\t{}\t{}",
            fit.recipe,
            fit.k,
            fit.lambda,
            of.gem_pairs(|_| true),
            reached(&fitted),
            reached(&apart)
        );
    }
    Ok(table)
}

/// The hashes of all series of successive words of each book, sorted.
fn sources(shelf: &Shelf, progress: Progress<'_>) -> Result<Vec<Vec<u64>>, EvaluateError> {
    let done = AtomicU64::new(0);
    let of_book = |book| {
        let text = shelf.text(book)?.to_lowercase();
        let words: Vec<&str> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let mut series: Vec<u64> = words.windows(SOURCE).map(hash).collect();
        series.sort_unstable();
        series.dedup();
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress("reading", done, shelf.len() as u64);
        Ok(series)
    };
    (0..shelf.len()).into_par_iter().map(of_book).collect()
}

fn hash(words: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

fn share_any(one: &[u64], other: &[u64]) -> bool {
    let (fewer, more) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    fewer
        .iter()
        .any(|series| more.binary_search(series).is_ok())
}

/// The gems of all books under a recipe.
struct BookGems<'a> {
    recipe: &'a Recipe,
    gems: Vec<Vec<PlacedGem>>,
    holders: HashMap<Gem, Vec<usize>>,
}

impl<'a> BookGems<'a> {
    fn of(shelf: &Shelf, recipe: &'a Recipe) -> Result<Self, EvaluateError> {
        let books = (0..shelf.len()).into_par_iter();
        let gems: Vec<Vec<PlacedGem>> = books
            .map(|book| Ok(recipe.gems(&shelf.text(book)?)))
            .collect::<Result<_, EvaluateError>>()?;
        let mut holders: HashMap<Gem, Vec<usize>> = HashMap::new();
        for (book, gems) in gems.iter().enumerate() {
            for placed in gems {
                holders.entry(placed.gem).or_default().push(book);
            }
        }
        Ok(Self {
            recipe,
            gems,
            holders,
        })
    }

    /// The books that have any of the gems.
    fn with_any(&self, probes: &[Probe]) -> HashSet<usize> {
        let found = probes
            .iter()
            .filter_map(|probe| self.holders.get(&probe.placed.gem));
        found.flatten().copied().collect()
    }

    fn score(&self, probes: &[Probe], book: usize) -> f64 {
        let book = &self.gems[book];
        align(&of_both(probes, book), book, self.recipe, |_| Some(1.0)).segment_score
    }
}

/// A text and an unrelated book that have a gem in common.
struct Comparison {
    text: usize,
    book: usize,
    score: f64,
    has_source: bool,
}

/// All comparisons under a recipe.
struct Comparisons<'a> {
    recipe: &'a Recipe,
    pairs: &'a Pairs,
    /// The number of gems that each book has, and that are looked up for it.
    gems: Vec<[u64; 2]>,
    all: Vec<Comparison>,
}

impl<'a> Comparisons<'a> {
    fn new(
        shelf: &Shelf,
        pairs: &'a Pairs,
        sources: &[Vec<u64>],
        recipe: &'a Recipe,
        progress: Progress<'_>,
    ) -> Result<Self, EvaluateError> {
        let books = BookGems::of(shelf, recipe)?;
        let done = AtomicU64::new(0);
        let of_text = |text: usize| {
            let probes = recipe.probes(&shelf.text(text)?);
            let mut compared = Vec::new();
            for book in books.with_any(&probes) {
                if !pairs.is_related(text, book) {
                    compared.push(Comparison {
                        text,
                        book,
                        score: books.score(&probes, book),
                        has_source: share_any(&sources[text], &sources[book]),
                    });
                }
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress("comparing", done, shelf.len() as u64);
            Ok((
                [books.gems[text].len() as u64, probes.len() as u64],
                compared,
            ))
        };
        let texts = (0..shelf.len()).into_par_iter();
        let texts: Vec<_> = texts.map(of_text).collect::<Result<_, EvaluateError>>()?;
        let (gems, all): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
        Ok(Self {
            recipe,
            pairs,
            gems,
            all: all.into_iter().flatten().collect(),
        })
    }

    /// Each pair of such books once: the first as a text, the second as a book.
    fn once(&self, is_of: impl Fn(usize) -> bool) -> impl Iterator<Item = &Comparison> {
        let of =
            move |pair: &&Comparison| pair.text < pair.book && is_of(pair.text) && is_of(pair.book);
        self.all.iter().filter(of)
    }

    /// Number of pairs of a gem of one such book and a gem of another one.
    fn gem_pairs(&self, is_of: impl Fn(usize) -> bool) -> u64 {
        let books: Vec<usize> = (0..self.gems.len()).filter(|book| is_of(*book)).collect();
        let mut gem_pairs = 0;
        for (at, text) in books.iter().enumerate() {
            let [_, looked_up] = self.gems[*text];
            gem_pairs += looked_up * self.unrelated(*text, &books[at + 1..]);
        }
        gem_pairs
    }

    /// Number of gems of those of the books that are unrelated to a text.
    fn unrelated(&self, text: usize, books: &[usize]) -> u64 {
        let unrelated = books
            .iter()
            .filter(|book| !self.pairs.is_related(text, **book));
        unrelated.map(|book| self.gems[*book][0]).sum()
    }

    /// How many checks of such books, each in an index of the others, reach E-values.
    fn checked(&self, fit: &Fit, is_of: impl Fn(usize) -> bool) -> String {
        let books: Vec<usize> = (0..self.gems.len()).filter(|book| is_of(*book)).collect();
        let mut best: HashMap<usize, f64> = HashMap::new();
        for pair in self.all.iter().filter(|pair| !pair.has_source) {
            if is_of(pair.text) && is_of(pair.book) {
                let score = best.entry(pair.text).or_default();
                *score = score.max(pair.score);
            }
        }
        let e_value = |(text, score): (&usize, &f64)| {
            fit.e_value(self.gems[*text][1], self.unrelated(*text, &books), *score)
        };
        let e_values: Vec<f64> = best.iter().map(e_value).collect();
        let reached = STATED.map(|stated| {
            let checks = e_values
                .iter()
                .filter(|e_value| **e_value <= stated)
                .count();
            format!("{checks} with E <= {stated}")
        });
        format!("{} checks, {}", books.len(), reached.join(", "))
    }
}

/// Fits each recipe to the pairs of such books. None gets less of a slope than the recipe that reached most pairs: few pairs
/// cannot prove that a score is rare, and of recipes whose gems are farther apart, fewer are in one phrase.
fn fits(compared: &[Comparisons<'_>], is_of: impl Fn(usize) -> bool + Copy) -> Vec<Fit> {
    let mut rates = Vec::new();
    for of in compared {
        let scores: Vec<f64> = of
            .once(is_of)
            .filter(|pair| !pair.has_source)
            .map(|pair| pair.score)
            .collect();
        rates.push((scores.len(), slope(&scores)));
    }
    let least = rates.iter().max_by_key(|(pairs, _)| *pairs);
    let least = least.map_or(0.0, |(_, slope)| *slope);
    let of_recipes = compared.iter().zip(&rates);
    let fit = |(of, (pairs, slope)): (&Comparisons<'_>, &(usize, f64))| {
        let lambda = slope.max(least);
        let gem_pairs = of.gem_pairs(is_of).max(1) as f64;
        let collisions = 0.5_f64.powi(of.recipe.gem_bits().cast_signed());
        Fit {
            recipe: of.recipe.name().clone(),
            k: (upper_bound(*pairs as f64) / gem_pairs).max(collisions) * lambda.exp(),
            lambda,
        }
    };
    of_recipes.map(fit).collect()
}

/// How fast scores become rarer from 1 on: the lower end of a 95 % confidence interval, as if they were geometrically
/// distributed, but not so fast that a score which was reached would lie above its own upper bound.
fn slope(scores: &[f64]) -> f64 {
    let pairs = scores.len() as f64;
    let beyond: f64 = scores.iter().map(|score| score - 1.0).sum();
    let mut slope = (pairs / upper_bound(beyond)).ln_1p();
    for score in scores.iter().filter(|score| **score > 1.0) {
        let reached = scores.iter().filter(|other| *other >= score).count() as f64;
        slope = slope.min((upper_bound(pairs) / upper_bound(reached)).ln() / (score - 1.0));
    }
    slope
}

/// The greatest mean consistent with this many hits at 95 % confidence: the upper bound of Garwood (1936) for a
/// Poisson variable, by the approximation of Wilson and Hilferty (1931), which is accurate to 1 %.
fn upper_bound(hits: f64) -> f64 {
    /// The 95 % quantile of the normal distribution.
    const Z: f64 = 1.6449;
    let degrees = 2.0 * (hits + 1.0);
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + Z * spread.sqrt()).powi(3) / 2.0
}

/// How many pairs reach a score of 1, 2, 3 …, up to the highest.
fn reached(pairs: &[&Comparison]) -> String {
    let reach = |score: u32| {
        pairs
            .iter()
            .filter(|pair| pair.score >= f64::from(score))
            .count()
    };
    let counts = (1..).map(reach).take_while(|pairs| *pairs > 0);
    counts
        .map(|pairs| pairs.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::{share_any, slope, upper_bound};

    #[test]
    fn bounds_as_in_tables() {
        // Half the 95 % quantiles of chi squared with 2, 4, 12 and 202 degrees of freedom.
        for (hits, expected) in [(0.0, 2.9957), (1.0, 4.7439), (5.0, 10.513), (100.0, 118.08)] {
            let bound = upper_bound(hits);
            assert!((bound / expected - 1.0).abs() < 0.011, "{hits}: {bound}");
        }
    }

    #[test]
    fn slopes_are_as_low_as_the_data_allow() {
        let scores = |two: usize, five: usize| {
            let mut scores = vec![1.0; 1_000 - two - five];
            scores.extend(vec![2.0; two]);
            scores.extend(vec![5.0; five]);
            scores
        };
        // Each common gem is followed by another one in at most 3 of 1,000 pairs, or 13.1 if 7 were seen.
        for (two, five, expected) in [
            (0, 0, (1.0 + 1_000.0 / 2.996_f64).ln()),
            (7, 0, (1.0 + 1_000.0 / 13.15_f64).ln()),
            (0, 1, (1_052.6 / 4.744_f64).ln() / 4.0),
        ] {
            let found = slope(&scores(two, five));
            assert!(
                (found - expected).abs() < 0.02,
                "{two} {five}: {found} {expected}"
            );
        }
        assert!(slope(&[]).abs() < f64::EPSILON);
        assert!(slope(&scores(7, 0)) > slope(&scores(8, 0)));
    }

    #[test]
    fn common_sources() {
        assert!(share_any(&[1, 5, 9], &[2, 9]) && share_any(&[9], &[2, 9, 11]));
        assert!(!share_any(&[1, 5], &[2, 9, 11]) && !share_any(&[], &[]));
    }
}
