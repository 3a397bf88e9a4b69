//! Checks: which books a query shares gems with, and the resulting verdict.

use std::convert::Infallible;
use std::time::Instant;

use hashbrown::HashSet;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, Rule};

use super::answer::{CheckOptions, Comparison, Query};
use super::checking::{Checking, InRecipe};
use super::choice::reaching_all;
use super::disguise::signs;
use super::given::distinct;
use super::{Catalogue, CatalogueError, Text};
use crate::api::Report;
use crate::index::{BookNo, Record, Snapshot};
use crate::matching::{Alignment, Exact, Score, align, exact, is_match, kept, of_both};
use crate::metrics::METRICS;

/// Compares two texts by their gems and word by word, the first as the query and the second as the book.
#[must_use]
pub fn compare(recipe: &Recipe, rule: Rule, a: &Text<'_>, b: &Text<'_>) -> Comparison {
    let originals = (a.original(), b.original());
    let (a, b) = (a.probes(recipe), b.gems(recipe));
    let alignment = align(&of_both(&a, &b), &b, |_| Some(1.0));
    let in_a: HashSet<Gem> = a.iter().map(|probe| probe.placed.gem).collect();
    let common = b.iter().filter(|g| in_a.contains(&g.gem)).count() as u32;
    let (gems_a, gems_b) = (kept(&a), b.len() as u32);
    let score = Score::new(common, gems_a, gems_b);
    let Ok::<bool, Infallible>(matches) = is_match(&rule, &score, || Ok(alignment.clone()));
    let Alignment { relation, spans, .. } = alignment;
    let Exact { passages, total: exact } = exact(originals.0, originals.1, &spans);
    let recipe = recipe.name().clone();
    Comparison { recipe, gems_a, gems_b, score, matches, rule, relation, spans, exact, passages }
}

impl Catalogue {
    /// Checks a text, or its gems, against every book of the catalogue.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], [`CatalogueError::RecipeIncomplete`], [`CatalogueError::NoSuchLibrary`], and
    /// the errors of invalid gems.
    pub fn check(&self, query: &Query, options: &CheckOptions) -> Result<Report, CatalogueError> {
        let begun = Instant::now();
        // Read everything from one snapshot, so that a change of the default recipe is never seen halfway.
        let snapshot = self.store.snapshot();
        if let Some(library) = &options.library
            && snapshot.walk(library, None, 1)?.is_empty()
        {
            return Err(CatalogueError::NoSuchLibrary(library.to_string()));
        }
        let recipes = self.recipes_for(&*snapshot, query, options)?;
        let (gems, digests, bytes): (Vec<Vec<Probe>>, _, _) = match query {
            Query::Text { text, clean } => {
                let bytes = text.len() as u64;
                let text = Text::bounded(text, *clean)?;
                (recipes.iter().map(|recipe| text.probes(recipe)).collect(), text.digests(), Some(bytes))
            }
            Query::Gems(gems) => {
                let of = |recipe| Ok(distinct(gems, recipe)?.into_iter().map(without_place).collect());
                (recipes.iter().map(of).collect::<Result<_, CatalogueError>>()?, Vec::new(), None)
            }
        };
        let day = options.day.unwrap_or_else(today);
        let asked = recipes.iter().zip(gems).map(|(recipe, gems)| self.in_recipe(recipe, gems)).collect();
        let allowances = &*self.allowances()?;
        let checking =
            Checking { snapshot: &*snapshot, asked, digests: &digests, bytes, allowances, day, except: None };
        let report = Report { disguise: query.as_text().and_then(signs), ..checking.report(options)? };
        METRICS.checked(&report, begun.elapsed());
        Ok(report)
    }

    /// Checks a stored book against all others. Returns `None` if it has no gems of the recipes that a check uses.
    pub(super) fn check_book(
        &self,
        snapshot: &dyn Snapshot,
        book: BookNo,
        record: &Record,
    ) -> Result<Option<Report>, CatalogueError> {
        let recipes = reaching_all(snapshot, snapshot.recipes())?;
        let mut asked = Vec::with_capacity(recipes.len());
        for recipe in &recipes {
            if let Some(gems) = snapshot.gems(recipe.name(), book)? {
                let gems = gems.into_iter().map(|placed| Probe { placed, kept: true }).collect();
                asked.push(self.in_recipe(recipe, gems));
            }
        }
        if asked.is_empty() {
            return Ok(None);
        }
        let digests: Vec<String> = [&record.digest].into_iter().chain(&record.clean_digest).cloned().collect();
        let checking = Checking {
            snapshot,
            asked,
            digests: &digests,
            bytes: Some(record.bytes).filter(|bytes| *bytes > 0),
            allowances: &*self.allowances()?,
            day: today(),
            except: Some(book),
        };
        checking.report(&CheckOptions::default()).map(Some)
    }

    fn in_recipe<'a>(&self, recipe: &'a Recipe, gems: Vec<Probe>) -> InRecipe<'a> {
        InRecipe { recipe, rule: self.rule.on(recipe.rule()), gems }
    }
}

fn without_place(gem: Gem) -> Probe {
    Probe { placed: PlacedGem { gem, place: None }, kept: true }
}

/// Today, in UTC.
fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}
