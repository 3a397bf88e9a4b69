//! Measures how much evidence is found between unrelated texts and books, from which [`Calibration`] bounds error
//! probabilities.
//!
//! This is cross-validation in four parts. Each part of the books is held back in turn, and the others are indexed. Related
//! books are in the same part. Then the books held back are checked against the index. No book related to them is indexed, so
//! any evidence is an error. Whole books are enough, because a whole text shares whatever a part of it shares.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use lapidary_gems::{Recipe, RecipeName};
use rayon::prelude::*;

use super::detector::BookIndex;
use super::pairs::Pairs;
use super::shelf::Shelf;
use super::{EvaluateError, Progress, folder_failed};
use lapidary_checking::{Calibration, Level, RuleChanges};

/// The number of parts.
const PARTS: usize = 4;
/// The levels of evidence.
const LEVELS: [f64; 14] = [
    0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 128.0,
];

/// The counts for a recipe.
#[derive(Debug, Default)]
struct EvidenceCount {
    gem_pairs: u64,
    /// By level, how many pairs of a text and a book reached it but not the next.
    reached: BTreeMap<usize, u64>,
}

/// Calibrates these recipes.
pub fn calibrate(
    shelf: &Shelf,
    lists: &[(String, String)],
    recipes: &[Recipe],
    progress: Progress<'_>,
) -> Result<Calibration, EvaluateError> {
    let pairs = Pairs::parse(lists, shelf)?;
    let counting = EvidenceCounting {
        shelf,
        recipes,
        progress,
        all: Mutex::default(),
        done: AtomicU64::new(0),
    };
    for part in 0..PARTS {
        let (held_back, indexed): (Vec<usize>, Vec<usize>) =
            (0..shelf.len()).partition(|book| pairs.group(*book) % PARTS == part);
        counting.part(held_back, indexed)?;
    }
    let all = counting.all.into_inner();
    let levels = all
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .filter(|(_, counted)| counted.gem_pairs > 0)
        .flat_map(|(recipe, counted)| counted.levels(&recipe));
    Ok(Calibration::new(levels.collect()))
}

/// The counts of all parts so far.
struct EvidenceCounting<'a> {
    shelf: &'a Shelf,
    recipes: &'a [Recipe],
    progress: Progress<'a>,
    all: Mutex<BTreeMap<RecipeName, EvidenceCount>>,
    /// How many books have been checked.
    done: AtomicU64,
}

impl EvidenceCounting<'_> {
    /// Checks the books held back against the others.
    fn part(&self, held_back: Vec<usize>, indexed: Vec<usize>) -> Result<(), EvaluateError> {
        let folder = tempfile::tempdir().map_err(folder_failed)?;
        let index = BookIndex::create(folder.path(), self.recipes)?.with_rule(RuleChanges {
            min_common: Some(1),
            min_share: Some(0.0),
            min_support: Some(0.0),
            ..RuleChanges::default()
        });
        index.add(indexed, self.recipes, |book| self.shelf.text(book), || {})?;
        let gems = index.gems()?;
        held_back
            .into_par_iter()
            .with_max_len(1)
            .try_for_each(|book| self.book(book, &index, &gems))?;
        drop(index);
        folder.close().map_err(folder_failed)
    }

    /// Checks a book; `gems` are those of the index, by recipe.
    fn book(
        &self,
        book: usize,
        index: &BookIndex,
        gems: &BTreeMap<RecipeName, u64>,
    ) -> Result<(), EvaluateError> {
        let text = self.shelf.text(book)?;
        for recipe in self.recipes {
            let report = index.report(recipe, text.clone())?;
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            let counted = all.entry(recipe.name().clone()).or_default();
            let indexed = gems.get(recipe.name()).copied().unwrap_or_default();
            counted.gem_pairs += u64::from(report.gems) * indexed;
            for found in &report.matches {
                if let Some(level) = level(found.evidence) {
                    *counted.reached.entry(level).or_default() += 1;
                }
            }
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)("checking", done, self.shelf.len() as u64);
        Ok(())
    }
}

/// The highest level that this evidence reaches.
fn level(evidence: f64) -> Option<usize> {
    LEVELS
        .partition_point(|level| *level <= evidence)
        .checked_sub(1)
}

impl EvidenceCount {
    /// The levels up to the first that no pair reached.
    fn levels(&self, recipe: &RecipeName) -> Vec<Level> {
        let mut levels = Vec::new();
        for (level, &evidence) in LEVELS.iter().enumerate() {
            let reached = self.reached.range(level..).map(|(_, pairs)| pairs).sum();
            levels.push(Level {
                recipe: recipe.clone(),
                gem_pairs: self.gem_pairs,
                evidence,
                reached,
            });
            if reached == 0 {
                break;
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, EvidenceCount, level};

    #[test]
    fn levels_are_of_all_that_reached_them() {
        let levels = [0.1, 0.25, 0.6, 8.0, 11.9, 12.0, 400.0].map(level);
        assert_eq!(
            levels,
            [None, Some(0), Some(1), Some(8), Some(8), Some(9), Some(13)]
        );
        let counted = EvidenceCount {
            gem_pairs: 100,
            reached: BTreeMap::from([(0, 5), (2, 1)]),
        };
        let levels = counted.levels(&"documented".parse().expect("a name"));
        let reached: Vec<(f64, u64)> = levels
            .iter()
            .map(|level| (level.evidence, level.reached))
            .collect();
        assert_eq!(reached, [(0.25, 6), (0.5, 1), (1.0, 1), (1.5, 0)]);
    }
}
