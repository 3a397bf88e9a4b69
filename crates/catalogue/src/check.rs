//! Checks: which books a query shares gems with, and the resulting verdict.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::Deref;
use std::time::Instant;

use hashbrown::HashSet;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, Rule, WrittenGem};

use super::add::StoredBook;
use super::answer::{CheckOptions, Comparison, Query, TextGems};
use super::checking::{Checking, InRecipe};
use super::disguise::signs;
use super::expansion::probes_to_compare;
use super::gem_list::distinct;
use super::libraries::{Deciding, holds_books};
use super::recipes::{Chosen, reaching_all};
use super::{Catalogue, CatalogueError, Text};
use crate::api::Report;
use crate::metrics::METRICS;
use lapidary_checking::{
    Exact, Meets, Relation, Score, align, exact, exact_in_other_words, kept, kept_probes, meets,
    of_both,
};
use lapidary_store::{BookKey, BookNo, Record, Rights, Snapshot, StoreError};

/// Compares two texts by their gems and word by word, the first as the query and the second as the book.
#[must_use]
pub fn compare(recipe: &Recipe, rule: Rule, a: &Text<'_>, b: &Text<'_>) -> Comparison {
    let originals = (a.original(), b.original());
    let b = b.gems(recipe);
    let a = probes_to_compare(a, recipe, &b);
    let alignment = align(&of_both(&a, &b), &b, recipe, |_| Some(1.0));
    let in_a: HashSet<Gem> = a.iter().map(|probe| probe.placed.gem).collect();
    let common = b.iter().filter(|g| in_a.contains(&g.gem)).count() as u32;
    let (gems_a, gems_b) = (kept(&a), b.len() as u32);
    let score = Score::new(common, gems_a, gems_b);
    let Ok::<Meets, Infallible>(meets) = meets(recipe, &rule, &score, gems_a.min(gems_b), || {
        Ok(alignment.clone())
    });
    let relation = match meets {
        Meets::Quoted => Relation::Quotations,
        Meets::Scattered => alignment.relation_if_scattered(),
        Meets::No | Meets::Yes => alignment.relation,
    };
    let spans = alignment.spans;
    let compare = if recipe.is_rewriting() {
        exact_in_other_words
    } else {
        exact
    };
    let Exact {
        passages,
        total: exact,
    } = compare(originals.0, originals.1, &spans);
    let recipe = recipe.name().clone();
    Comparison {
        recipe,
        // Around its edges, a text is looked up by gems that a longer one may have.
        gems_a: gems_a.max(common),
        gems_b,
        score,
        matches: meets == Meets::Yes,
        rule,
        relation,
        spans,
        exact,
        passages,
    }
}

/// Checks of texts, gems and stored books ([`Catalogue::checks`]).
#[derive(Debug, Clone)]
pub struct Checks<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Checks<C> {
    /// Checks a text, or its gems, against every book of the catalogue.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], [`CatalogueError::RecipeIncomplete`], [`CatalogueError::NoSuchLibrary`], and
    /// the errors of invalid gems.
    pub fn report(&self, query: &Query, options: &CheckOptions) -> Result<Report, CatalogueError> {
        // Read everything from one snapshot, so that a change of the default recipe is never seen halfway.
        let mut checked = Err(StoreError::Changed("the catalogue".to_owned()).into());
        self.0.store.read(&mut |snapshot| {
            checked = self.report_in(snapshot, query, options);
        })?;
        checked
    }

    pub(super) fn report_in(
        &self,
        snapshot: &dyn Snapshot,
        query: &Query,
        options: &CheckOptions,
    ) -> Result<Report, CatalogueError> {
        let (report, _) = self.report_with_query(snapshot, query, options)?;
        Ok(report)
    }

    /// The report, with what was looked up for it.
    pub(super) fn report_with_query(
        &self,
        snapshot: &dyn Snapshot,
        query: &Query,
        options: &CheckOptions,
    ) -> Result<(Report, Asked), CatalogueError> {
        let begun = Instant::now();
        holds_books(snapshot, options.library.as_ref())?;
        let deciding = self
            .0
            .libraries()
            .deciding_for(snapshot, options.own.clone())?;
        let chosen = self
            .0
            .recipes()
            .of_check(snapshot, &deciding, query.as_gems(), options)?;
        let asked = Asked::of_query(query, chosen, snapshot, &deciding, options)?;
        let allowances = self.0.allow_lists().combined()?;
        let recipes = self.in_recipes(&asked.recipes);
        let checking = Checking {
            aside: self.in_recipes(&asked.aside),
            bytes: asked.bytes,
            day: options.day.unwrap_or_else(today),
            policy: options.policy.as_ref(),
            // Others will see what is filed.
            exactly: options.exactly && options.record.is_none(),
            decided_by: &|book| {
                // Whoever has the secret does not look for edits.
                if !options.exactly {
                    self.0.versions.note(&options.by, &asked, book);
                }
            },
            ..Checking::new(snapshot, recipes, &asked.digests, &allowances, &deciding)
        };
        let text = query.as_text();
        let report = Report {
            disguise: text.and_then(|text| signs(text, &options.hidden)),
            ..checking.report(options)?
        };
        let verdict = if report.is_answer() {
            report.verdict.as_str()
        } else {
            "not_checked"
        };
        METRICS.checked(verdict, report.gems, report.total, begun.elapsed());
        let characters = text.map_or(0, |text| text.chars().count());
        let counted = &self.0.check_counts;
        counted.note(&options.by, verdict, &report, characters);
        Ok((report, asked))
    }

    /// What a stored book does to the answer to a query: its rights and the verdict, if it matches and decides.
    pub(super) fn effect_of(
        &self,
        snapshot: &dyn Snapshot,
        asked: &Asked,
        book: BookNo,
        options: &CheckOptions,
    ) -> Result<Option<[Rights; 2]>, CatalogueError> {
        if asked.recipes.is_empty() {
            return Ok(None);
        }
        let libraries = self.0.libraries();
        let deciding = libraries.deciding_for(snapshot, options.own.clone())?;
        let allowances = self.0.allow_lists().combined()?;
        let recipes = self.in_recipes(&asked.recipes);
        let checking = Checking {
            bytes: asked.bytes,
            day: options.day.unwrap_or_else(today),
            policy: options.policy.as_ref(),
            ..Checking::new(snapshot, recipes, &asked.digests, &allowances, &deciding)
        };
        checking.effect_of(options.library.as_ref(), book)
    }

    /// The books that a text matches under one recipe: what a measurement needs of a report.
    pub fn matching(
        &self,
        text: &Text<'_>,
        recipe: &Recipe,
    ) -> Result<Vec<BookKey>, CatalogueError> {
        let mut asked = Asked::of_text(text.original(), text, vec![recipe.clone()].into());
        let snapshot = self.0.store.snapshot();
        let libraries = self.0.libraries();
        let deciding = libraries.deciding_for(&*snapshot, BTreeSet::new())?;
        asked.expand(text, &*snapshot, &deciding, None)?;
        let allowances = self.0.allow_lists().combined()?;
        let recipes = self.in_recipes(&asked.recipes);
        let checking = Checking {
            bytes: asked.bytes,
            ..Checking::new(&*snapshot, recipes, &asked.digests, &allowances, &deciding)
        };
        checking.matches()
    }

    /// Checks a stored book against all others, with spans. Returns `None` if there is no such book, and a report without
    /// matches if it has no gems of the recipes that a check uses.
    pub fn of_book(&self, key: &BookKey) -> Result<Option<Report>, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let Some(StoredBook { number, record }) = StoredBook::find(&*snapshot, key)? else {
            return Ok(None);
        };
        match self.report_of(
            &*snapshot,
            number,
            &record,
            &CheckOptions {
                detail: true,
                // Only administrators may ask.
                exactly: true,
                ..CheckOptions::default()
            },
        )? {
            Some(report) => Ok(Some(report)),
            None => self
                .report(&Query::Gems(TextGems::default()), &CheckOptions::default())
                .map(Some),
        }
    }

    /// Checks a stored book against all others. Returns `None` if it has no gems of the recipes that a check uses.
    pub(super) fn report_of(
        &self,
        snapshot: &dyn Snapshot,
        book: BookNo,
        record: &Record,
        options: &CheckOptions,
    ) -> Result<Option<Report>, CatalogueError> {
        let deciding = self
            .0
            .libraries()
            .deciding_for(snapshot, options.own.clone())?;
        let Chosen { recipes, aside } = reaching_all(&deciding, snapshot.recipes())?;
        let mut asked = probes_of_book(snapshot, book, recipes)?;
        let mut aside = probes_of_book(snapshot, book, aside)?;
        // A book that is known by other gems than those that decide.
        if asked.is_empty() {
            asked = aside
                .extract_if(.., |(recipe, _)| !recipe.is_rewriting())
                .collect();
        }
        if asked.is_empty() {
            return Ok(None);
        }
        let digests: Vec<String> = record.digests().cloned().collect();
        let allowances = self.0.allow_lists().combined()?;
        let recipes = self.in_recipes(&asked);
        let checking = Checking {
            aside: self.in_recipes(&aside),
            bytes: Some(record.bytes).filter(|bytes| *bytes > 0),
            exactly: options.exactly,
            is_left_out: &|number, _| number == book,
            ..Checking::new(snapshot, recipes, &digests, &allowances, &deciding)
        };
        checking.report(options).map(Some)
    }

    /// A query in several recipes, with their rules.
    pub(super) fn in_recipes<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a (Recipe, Vec<Probe>)>,
    ) -> Vec<InRecipe<'a>> {
        asked
            .into_iter()
            .map(|(recipe, gems)| InRecipe {
                recipe,
                rule: self.0.rule.on(recipe.rule()),
                gems,
            })
            .collect()
    }
}

/// What a check looks up.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The query in each recipe.
    pub(super) recipes: Vec<(Recipe, Vec<Probe>)>,
    /// The query in those that find only what informs.
    pub(super) aside: Vec<(Recipe, Vec<Probe>)>,
    /// The digests that an identical text may have.
    pub(super) digests: Vec<String>,
    /// The length of the text in bytes.
    pub(super) bytes: Option<u64>,
}

impl Asked {
    fn of_query(
        query: &Query,
        chosen: Chosen,
        snapshot: &dyn Snapshot,
        deciding: &Deciding<'_>,
        options: &CheckOptions,
    ) -> Result<Self, CatalogueError> {
        match query {
            Query::Text { text, clean } => {
                let read =
                    Text::bounded(text, *clean)?.in_language(options.text_language.as_deref());
                let mut asked = Self::of_text(text, &read, chosen);
                asked.expand(&read, snapshot, deciding, options.library.as_ref())?;
                Ok(asked)
            }
            Query::Gems(TextGems { gems, indexed }) => {
                Self::of_gems(gems, indexed.as_deref(), chosen.recipes)
            }
        }
    }

    pub(super) fn of_text(
        stands: &str,
        text: &Text<'_>,
        Chosen { recipes, aside }: Chosen,
    ) -> Self {
        let [recipes, aside] = [recipes, aside].map(|recipes| {
            recipes
                .into_iter()
                .map(|recipe| {
                    let probes = text.probes(&recipe);
                    (recipe, probes)
                })
                .collect()
        });
        Self {
            recipes,
            aside,
            digests: text.digests(),
            bytes: Some(stands.len() as u64),
        }
    }

    /// `indexed`: the positions of the gems that a book with the same text would have, if not all.
    pub(super) fn of_gems(
        gems: &[WrittenGem],
        indexed: Option<&[u32]>,
        recipes: Vec<Recipe>,
    ) -> Result<Self, CatalogueError> {
        let mut in_recipes = Vec::with_capacity(recipes.len());
        for recipe in recipes {
            let distinct = distinct(gems, &recipe)?;
            let indexed = indexed.map(|at| gems_at(gems, at, &recipe)).transpose()?;
            let probes = distinct.into_iter().map(|gem| Probe {
                placed: PlacedGem { gem, place: None },
                kept: indexed
                    .as_ref()
                    .is_none_or(|indexed| indexed.contains(&gem)),
            });
            let probes = probes.collect();
            in_recipes.push((recipe, probes));
        }
        Ok(Self {
            recipes: in_recipes,
            aside: Vec::new(),
            digests: Vec::new(),
            bytes: None,
        })
    }
}

/// The gems at these positions.
fn gems_at(
    gems: &[WrittenGem],
    positions: &[u32],
    recipe: &Recipe,
) -> Result<HashSet<Gem>, CatalogueError> {
    let mut found = HashSet::new();
    for &at in positions {
        let gem = gems
            .get(at as usize)
            .ok_or(CatalogueError::NoSuchPosition {
                at,
                gems: gems.len(),
            })?;
        found.extend(recipe.read(*gem));
    }
    Ok(found)
}

/// The query for a stored book in those of these recipes that it has gems of.
fn probes_of_book(
    snapshot: &dyn Snapshot,
    book: BookNo,
    recipes: Vec<Recipe>,
) -> Result<Vec<(Recipe, Vec<Probe>)>, StoreError> {
    let mut in_recipes = Vec::new();
    for recipe in recipes {
        if let Some(gems) = snapshot.gems(recipe.name(), book)? {
            in_recipes.push((recipe, kept_probes(gems)));
        }
    }
    Ok(in_recipes)
}

/// Today, in UTC.
#[must_use]
pub fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}
