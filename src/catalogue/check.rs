//! Checks: which books a query shares gems with, and the resulting verdict.

use std::convert::Infallible;
use std::time::Instant;

use hashbrown::HashSet;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, RecipeName, Rule};

use super::allow::Allowances;
use super::answer::{CheckOptions, Comparison, Query};
use super::disguise::signs;
use super::given::distinct;
use super::shown::Shown;
use super::{Catalogue, CatalogueError, Text, chosen};
use crate::api::{BookRef, Match, Report};
use crate::count::count;
use crate::index::{BookNo, Coverage, Library, Limits, Outline, Record, Sizes, Snapshot, StoreError, Tally};
use crate::matching::{
    Alignment, Calibration, Judged, Judgements, LookedUp, Question, Reader, Relation, Score, ToShow, align, candidates,
    chance, is_match, judge, kept, of_both, rank,
};
use crate::metrics::METRICS;

/// Compares two texts, the first as the query and the second as the book.
#[must_use]
pub fn compare(recipe: &Recipe, rule: Rule, a: &Text<'_>, b: &Text<'_>) -> Comparison {
    let (a, b) = (a.probes(recipe), b.gems(recipe));
    let alignment = align(&of_both(&a, &b), &b, |_| Some(1.0));
    let in_a: HashSet<Gem> = a.iter().map(|probe| probe.placed.gem).collect();
    let common = b.iter().filter(|g| in_a.contains(&g.gem)).count() as u32;
    let (gems_a, gems_b) = (kept(&a), b.len() as u32);
    let score = Score::new(common, gems_a, gems_b);
    let Ok::<bool, Infallible>(matches) = is_match(&rule, &score, || Ok(alignment.clone()));
    let Alignment { relation, spans, .. } = alignment;
    Comparison { recipe: recipe.name().clone(), gems_a, gems_b, score, matches, rule, relation, spans }
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
        let recipes = snapshot.recipes();
        let is_new = recipes.is_empty();
        let recipe = chosen(recipes, options.recipe.as_ref())?;
        may_answer(&*snapshot, &recipe, options)?;
        let (gems, digests) = match query {
            Query::Text { text, clean } => {
                let text = Text::bounded(text, *clean)?;
                (text.probes(&recipe), text.digests())
            }
            Query::Gems(gems) => {
                let placeless = |gem| Probe { placed: PlacedGem { gem, place: None }, kept: true };
                (distinct(gems, &recipe)?.into_iter().map(placeless).collect(), Vec::new())
            }
        };
        let allowances = self.allowances()?;
        let day = options.day.unwrap_or_else(today);
        let rule = self.rule.on(recipe.rule());
        let check = Checking {
            rule,
            recipe: &recipe,
            stored: Stored { snapshot: &*snapshot, recipe: recipe.name(), is_new },
            gems: &gems,
            allowances: &allowances,
            day,
            except: None,
        };
        let report = Report { disguise: query.as_text().and_then(signs), ..check.report(options, &digests)? };
        METRICS.checked(&report, begun.elapsed());
        Ok(report)
    }

    /// Checks a stored book against all others. Returns `None` if it has no gems of the default recipe.
    pub(super) fn check_book(
        &self,
        snapshot: &dyn Snapshot,
        book: BookNo,
        record: &Record,
    ) -> Result<Option<Report>, CatalogueError> {
        let Some(recipe) = snapshot.recipes().into_iter().next() else { return Ok(None) };
        let Some(gems) = snapshot.gems(recipe.name(), book)? else { return Ok(None) };
        let gems: Vec<Probe> = gems.into_iter().map(|placed| Probe { placed, kept: true }).collect();
        let check = Checking {
            rule: self.rule.on(recipe.rule()),
            recipe: &recipe,
            stored: Stored { snapshot, recipe: recipe.name(), is_new: false },
            gems: &gems,
            allowances: &*self.allowances()?,
            day: today(),
            except: Some(book),
        };
        let digests: Vec<String> = [&record.digest].into_iter().chain(&record.clean_digest).cloned().collect();
        check.report(&CheckOptions::default(), &digests).map(Some)
    }
}

/// Refuses a check that would silently cover fewer books than expected.
fn may_answer(snapshot: &dyn Snapshot, recipe: &Recipe, options: &CheckOptions) -> Result<(), CatalogueError> {
    if let Some(library) = &options.library
        && snapshot.walk(library, None, 1)?.is_empty()
    {
        return Err(CatalogueError::NoSuchLibrary(library.to_string()));
    }
    if options.recipe.is_some() && !snapshot.is_ready(recipe.name()) && !options.allow_incomplete {
        let coverage = snapshot.coverage(recipe.name())?;
        if coverage.lacking() > 0 {
            return Err(CatalogueError::RecipeIncomplete { recipe: recipe.name().clone(), coverage });
        }
    }
    Ok(())
}

/// Today, in UTC.
fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// A check in progress.
struct Checking<'a> {
    rule: Rule,
    recipe: &'a Recipe,
    stored: Stored<'a>,
    gems: &'a [Probe],
    allowances: &'a Allowances,
    day: Date,
    /// A book to leave out: the one that is being checked.
    except: Option<BookNo>,
}

/// The books of a snapshot with gems of one recipe.
struct Stored<'a> {
    snapshot: &'a dyn Snapshot,
    recipe: &'a RecipeName,
    /// Whether the catalogue is new and has no recipes yet.
    is_new: bool,
}

impl Stored<'_> {
    /// How many books have gems of the recipe, if not all do.
    fn coverage(&self) -> Result<Option<Coverage>, StoreError> {
        if self.is_new {
            return Ok(None);
        }
        Ok(Some(self.snapshot.coverage(self.recipe)?).filter(|coverage| coverage.lacking() > 0))
    }

    fn sizes(&self) -> Result<Sizes, StoreError> {
        if self.is_new { Ok(Sizes::default()) } else { self.snapshot.sizes(self.recipe) }
    }
}

impl Reader for Stored<'_> {
    fn tally(&self, gems: &[Gem], limits: Limits<'_>) -> Result<Tally, StoreError> {
        if self.is_new { Ok(Tally::default()) } else { self.snapshot.tally(self.recipe, gems, limits) }
    }

    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError> {
        self.snapshot.with_digest(digest, limits)
    }

    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError> {
        self.snapshot.outline(books)
    }

    fn gems(&self, book: BookNo) -> Result<Vec<PlacedGem>, StoreError> {
        Ok(self.snapshot.gems(self.recipe, book)?.unwrap_or_default())
    }

    fn books(&self, library: &Library) -> Result<u64, StoreError> {
        Ok(self.snapshot.library(library)?.map_or(0, |library| library.books))
    }
}

impl Checking<'_> {
    fn report(&self, options: &CheckOptions, digests: &[String]) -> Result<Report, CatalogueError> {
        let probes: Vec<Probe> = self.gems.iter().filter(|probe| !self.is_allowed(probe)).copied().collect();
        // A text whose gems are all in an allow-list is allowed.
        let digests = if probes.is_empty() && !self.gems.is_empty() { &[] } else { digests };
        let question = Question {
            recipe: self.recipe,
            rule: &self.rule,
            probes: &probes,
            digests,
            library: options.library.as_ref(),
            except: self.except,
            day: self.day,
            is_allowed: &|book| self.allowances.book(book),
        };
        let candidates = candidates(&self.stored, &question)?;
        let look_up = |of_library| LookedUp::new(&self.stored, &question, of_library);
        let looked_up = candidates.libraries.iter().map(look_up).collect::<Result<Vec<_>, _>>()?;
        let Judgements { matches, disabled } = judge(&self.stored, &question, &looked_up)?;
        let ranked = rank(matches);
        let (verdict, total) = (ranked.verdict, ranked.total());
        let ToShow { matches, decisive } = ranked.shown(options.limit);

        let (sizes, coverage) = (self.stored.sizes()?, self.stored.coverage()?);
        let (matches, left_out) = self.described(matches, decisive, &looked_up, &sizes, options.detail)?;
        let error_probability = match decisive {
            None => None,
            Some((number, library)) => {
                let all_gems = sizes.classes.iter().map(|class| class.gems).sum();
                let query = &looked_up[library];
                self.error(query, all_gems, query.aligned(number)?.evidence)
            }
        };
        let common: HashSet<Gem> = looked_up.iter().flat_map(LookedUp::common).collect();
        let kept_of =
            |is: &dyn Fn(&Probe) -> bool| self.gems.iter().filter(|probe| probe.kept && is(probe)).count() as u32;
        let common_gems = kept_of(&|probe| common.contains(&probe.placed.gem));
        let counted = probes.iter().filter(|probe| !common.contains(&probe.placed.gem)).count();
        Ok(Report {
            verdict,
            recipe: self.recipe.name().clone(),
            coverage,
            gems: kept(self.gems),
            common_gems,
            allowed_gems: kept_of(&|probe| self.is_allowed(probe)),
            day: self.day,
            rule: self.rule,
            chance: self.chance(&sizes, counted, self.rule.fewest()),
            total,
            disabled,
            error_probability,
            matches,
            disguise: None,
            note: self.note(common_gems, coverage, left_out),
        })
    }

    /// The matches as a report shows them, as far as they fit, and a note on what was left out.
    fn described(
        &self,
        matches: Vec<Judged>,
        decisive: Option<(BookNo, usize)>,
        looked_up: &[LookedUp<'_>],
        sizes: &Sizes,
        detail: bool,
    ) -> Result<(Vec<Match>, Option<String>), CatalogueError> {
        let numbers: Vec<BookNo> = matches.iter().map(|found| found.number).collect();
        let records = self.stored.snapshot.fetch(&numbers)?;
        let mut shown = Shown::default();
        // A record whose outline was read exists in the same snapshot.
        for (found, record) in matches.into_iter().zip(records).filter_map(|(found, record)| Some((found, record?))) {
            let Judged { number, library, score, identical, allowed, .. } = found;
            let query = &looked_up[library];
            let Alignment { relation, spans, evidence, .. } = query.aligned(number)?;
            let of_book = record.gems.get(self.recipe.name()).copied().unwrap_or_default();
            let error_probability = self.error(query, of_book.into(), evidence);
            let relation = if identical { Relation::SameText } else { relation };
            let spans = if detail { spans } else { Vec::new() };
            let book = BookRef::on(self.day, record);
            let chance = self.chance(sizes, query.probes().len(), score.common);
            let found = Match { book, score, relation, identical, chance, evidence, error_probability, spans, allowed };
            shown.add(found, decisive.is_some_and(|(decisive, _)| decisive == number));
        }
        Ok(shown.finish())
    }

    /// Expected number of unrelated books that have `common` gems in common. Any of the probes may match by chance.
    fn chance(&self, sizes: &Sizes, probes: usize, common: u32) -> f64 {
        chance(sizes, probes as u32, common, self.recipe.gem_bits())
    }

    /// Upper bound on the probability that unrelated gems, of which there are `among`, reach this evidence.
    fn error(&self, query: &LookedUp<'_>, among: u64, evidence: f64) -> Option<f64> {
        Calibration::built_in().error_probability(self.recipe.name(), kept(query.probes()), among, evidence)
    }

    fn is_allowed(&self, probe: &Probe) -> bool {
        self.allowances.gem(self.recipe.name(), probe.placed.gem)
    }

    /// The caveats to show with the answer.
    fn note(&self, common: u32, coverage: Option<Coverage>, left_out: Option<String>) -> Option<String> {
        let few = |fewest: u32| (self.gems.len() as u32) < fewest;
        let recipe = self.recipe.name();
        let short = if few(1) {
            Some(format!(
                "no gems with recipe '{recipe}': the text is too short, or not prose, so the check says nothing about it"
            ))
        } else if few(self.rule.fewest()) {
            let (gems, fewest) = (self.gems.len(), self.rule.fewest());
            Some(format!(
                "{} with recipe '{recipe}', but a match needs {fewest} in common",
                count(gems as u64, "gem", "gems")
            ))
        } else if 2 * common >= kept(self.gems) {
            let (gems, cap) = (kept(self.gems), self.rule.common_cap);
            Some(format!(
                "{common} of {gems} gems were not counted, because each is in more than {cap} books of a library: this text \
                 is mostly boilerplate, or was added very often, so the check says little about it"
            ))
        } else {
            None
        };
        let missed = coverage.map(|coverage| {
            let (lacking, of) = (coverage.lacking(), coverage.of);
            format!("{lacking} of {of} books have no gems of recipe '{recipe}', so this check could not find them")
        });
        let notes: Vec<String> = [short, missed, left_out].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}
