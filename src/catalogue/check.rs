//! Checks: which books a query shares gems with, and what follows from that.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::time::Instant;

use hashbrown::HashSet;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, Rule, WrittenGem};

use super::allow::Allowances;
use super::answer::{CheckOptions, Comparison, Query};
use super::looked_up::{LookedUp, kept, of_both};
use super::shown::Shown;
use super::{Catalogue, CatalogueError, Text, chosen};
use crate::api::{BookRef, Match, Report};
use crate::index::{BookKey, BookNo, Coverage, LibraryTally, Limits, Outline, Record, Rights, Snapshot, Tally};
use crate::matching::{Alignment, Calibration, Relation, Score, align, chance, is_match, verdict};
use crate::metrics::METRICS;

/// Maximum number of gems in a query, or in a book given as gems: many times that of the longest novels.
pub const MAX_GEMS: usize = 100_000;
/// Maximum number of exact copies considered per library.
const MOST_COPIES: u32 = 10_000;
/// Number of records fetched at a time.
const FETCHED_AT_ONCE: usize = 1_000;

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
        let nothing_stored = recipes.is_empty();
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
            snapshot: &*snapshot,
            gems: &gems,
            allowances: &allowances,
            day,
            nothing_stored,
            except: None,
        };
        let report = check.report(options, &digests)?;
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
            snapshot,
            gems: &gems,
            allowances: &*self.allowances()?,
            day: today(),
            nothing_stored: false,
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
    snapshot: &'a dyn Snapshot,
    gems: &'a [Probe],
    allowances: &'a Allowances,
    day: Date,
    /// Whether the catalogue is new and has no recipes yet.
    nothing_stored: bool,
    /// A book to leave out: the one that is being checked.
    except: Option<BookNo>,
}

/// A matching book.
struct Candidate {
    number: BookNo,
    key: BookKey,
    /// Index of its library in the tally.
    library: usize,
    /// On the report's day.
    rights: Rights,
    /// Whether its text is identical to the query.
    identical: bool,
    score: Score,
    allowed: bool,
}

impl Candidate {
    /// Best match first: identical texts, then by number of common gems, then by score.
    fn order(&self, other: &Self) -> Ordering {
        let identical = other.identical.cmp(&self.identical);
        let common = other.score.common.cmp(&self.score.common);
        let alike = other.score.score.total_cmp(&self.score.score);
        identical.then(common).then(alike).then_with(|| self.key.cmp(&other.key))
    }
}

impl Checking<'_> {
    fn report(&self, options: &CheckOptions, digests: &[String]) -> Result<Report, CatalogueError> {
        let name = self.recipe.name();
        let probes: Vec<Probe> = self.gems.iter().filter(|probe| !self.is_allowed(probe)).copied().collect();
        let coverage = if self.nothing_stored { None } else { Some(self.snapshot.coverage(name)?) };
        let coverage = coverage.filter(|coverage| coverage.lacking() > 0);
        let (tally, sizes) = if self.nothing_stored {
            Default::default()
        } else {
            (self.tally(&probes, options, digests)?, self.snapshot.sizes(name)?)
        };
        let look_up = |of_library| LookedUp::new(self.recipe, self.snapshot, probes.clone(), of_library);
        let looked_up = tally.libraries.iter().map(look_up).collect::<Result<Vec<_>, _>>()?;
        let (mut found, disabled) = self.candidates(&tally, &looked_up, digests)?;

        let common: HashSet<Gem> = looked_up.iter().flat_map(LookedUp::common).collect();
        let looked_up_by = probes.iter().filter(|probe| !common.contains(&probe.placed.gem)).count();
        // Any of the probes may match by chance.
        let by_chance = |probes: usize, common| chance(&sizes, probes as u32, common, self.recipe.gem_bits());
        let error =
            |counted, among, evidence| Calibration::built_in().error_probability(name, counted, among, evidence);
        let verdict = verdict(found.iter().filter(|candidate| !candidate.allowed).map(|candidate| candidate.rights));
        let total = found.len();
        let best = show_what_decides(&mut found, verdict, options.limit);
        let best_candidate = best.map(|at| (found[at].number, found[at].library));
        found.truncate(options.limit);
        let numbers: Vec<BookNo> = found.iter().map(|candidate| candidate.number).collect();
        let records = self.snapshot.fetch(&numbers)?;
        // A record whose outline was read exists in the same snapshot.
        let shown = found.into_iter().zip(records).filter_map(|(candidate, record)| Some((candidate, record?)));
        let mut matches = Shown::default();
        for (at, (candidate, record)) in shown.enumerate() {
            let Candidate { number, library, score, identical, allowed, .. } = candidate;
            let query = &looked_up[library];
            let Alignment { relation, spans, evidence, .. } = query.aligned(number)?;
            let of_book = record.gems.get(name).copied().unwrap_or_default();
            let error_probability = error(kept(query.probes()), u64::from(of_book), evidence);
            let relation = if identical { Relation::SameText } else { relation };
            let spans = if options.detail { spans } else { Vec::new() };
            let book = BookRef::on(self.day, record);
            let chance = by_chance(query.probes().len(), score.common);
            let found = Match { book, score, relation, identical, chance, evidence, error_probability, spans, allowed };
            matches.add(found, best == Some(at));
        }
        let (matches, left_out) = matches.finish();
        let all_gems: u64 = sizes.classes.iter().map(|class| class.gems).sum();
        let error_probability = match best_candidate {
            None => None,
            Some((number, library)) => {
                let query = &looked_up[library];
                error(kept(query.probes()), all_gems, query.aligned(number)?.evidence)
            }
        };
        let kept_of =
            |is: &dyn Fn(&Probe) -> bool| self.gems.iter().filter(|probe| probe.kept && is(probe)).count() as u32;
        let common_gems = kept_of(&|probe| common.contains(&probe.placed.gem));
        Ok(Report {
            verdict,
            recipe: name.clone(),
            coverage,
            gems: kept(self.gems),
            common_gems,
            allowed_gems: kept_of(&|probe| self.is_allowed(probe)),
            day: self.day,
            rule: self.rule,
            chance: by_chance(looked_up_by, self.rule.fewest()),
            total,
            disabled,
            error_probability,
            matches,
            note: self.note(common_gems, coverage, left_out),
        })
    }

    fn is_allowed(&self, probe: &Probe) -> bool {
        self.allowances.gem(self.recipe.name(), probe.placed.gem)
    }

    /// Looks up the gems, and the books with an identical text. Those are added to the tally of their library even if
    /// they have no gem in common.
    fn tally(&self, probes: &[Probe], options: &CheckOptions, digests: &[String]) -> Result<Tally, CatalogueError> {
        let gems: Vec<Gem> = probes.iter().map(|probe| probe.placed.gem).collect();
        // If not all gems are posted, only one of the common gems may have a posting.
        let fewest = if self.recipe.posts_all() { self.rule.fewest() } else { 1 };
        let limits = Limits { cap: self.rule.common_cap, fewest, library: options.library.as_ref() };
        let mut tally = self.snapshot.tally(self.recipe.name(), &gems, limits)?;
        // A text whose gems are all in an allow-list is allowed.
        let digests = if probes.is_empty() && !self.gems.is_empty() { &[] } else { digests };
        for digest in digests {
            let numbers = self.snapshot.with_digest(digest, Limits { cap: MOST_COPIES, ..limits })?;
            for (outline, number) in self.snapshot.outline(&numbers)?.into_iter().zip(numbers) {
                let Some(outline) = outline.filter(|outline| outline.is_of(digests)) else { continue };
                let at = tally.libraries.iter().position(|of| of.library == outline.library);
                let at = at.unwrap_or_else(|| {
                    tally.libraries.push(LibraryTally::empty(outline.library));
                    tally.libraries.len() - 1
                });
                let books = &mut tally.libraries[at].books;
                if let Err(place) = books.binary_search_by_key(&number, |(number, _)| *number) {
                    books.insert(place, (number, 0));
                }
            }
        }
        Ok(tally)
    }

    /// The matches, best first, and how many more there would be without disabled books.
    fn candidates(
        &self,
        tally: &Tally,
        looked_up: &[LookedUp<'_>],
        digests: &[String],
    ) -> Result<(Vec<Candidate>, usize), CatalogueError> {
        let (mut found, mut disabled) = (Vec::new(), 0);
        for (library, (of_library, query)) in tally.libraries.iter().zip(looked_up).enumerate() {
            for some in of_library.books.chunks(FETCHED_AT_ONCE) {
                let numbers: Vec<BookNo> = some.iter().map(|(number, _)| *number).collect();
                for (outline, &(number, count)) in self.snapshot.outline(&numbers)?.into_iter().zip(some) {
                    let Some(outline) = outline.filter(|_| self.except != Some(number)) else { continue };
                    let identical = outline.is_of(digests);
                    let of_book = outline.gems.get(self.recipe.name()).copied().unwrap_or_default();
                    let (score, meets) = query.judge(&self.rule, number, count, of_book)?;
                    if !(meets || identical) {
                        continue;
                    }
                    if outline.standing.disabled_since.is_some() {
                        disabled += 1;
                        continue;
                    }
                    let Outline { library: name, id, rights, standing, .. } = outline;
                    let (key, rights) = (BookKey { library: name, id }, standing.rights_on(self.day, rights));
                    let allowed = self.allowances.book(&key);
                    found.push(Candidate { number, key, library, rights, identical, score, allowed });
                }
            }
        }
        found.sort_by(Candidate::order);
        Ok((found, disabled))
    }

    /// The caveats to show with the answer.
    fn note(&self, common: u32, coverage: Option<Coverage>, left_out: Option<String>) -> Option<String> {
        let few = |fewest: u32| (self.gems.len() as u32) < fewest;
        let recipe = self.recipe.name();
        let short = if few(1) {
            Some(format!("no gems under '{recipe}': too short, or not prose, so nothing can be said of this text"))
        } else if few(self.rule.fewest()) {
            let (gems, fewest) = (self.gems.len(), self.rule.fewest());
            Some(format!("{gems} gems under '{recipe}', fewer than the {fewest} in common that make a match"))
        } else if 2 * common >= kept(self.gems) {
            let (gems, cap) = (kept(self.gems), self.rule.common_cap);
            Some(format!(
                "{common} of {gems} gems were not counted, since each is in more than {cap} books of one library: this text is \
                 mostly boilerplate, or was put in very often, so the answer says little about it"
            ))
        } else {
            None
        };
        let missed = coverage.map(|coverage| {
            let (lacking, of) = (coverage.lacking(), coverage.of);
            format!("{lacking} of {of} books have no gems of recipe '{recipe}': this check could not find them")
        });
        let notes: Vec<String> = [short, missed, left_out].into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// Returns the position of the best match that decides the verdict. A match beyond `limit` is first moved among those
/// shown, so that other matches cannot hide it.
fn show_what_decides(found: &mut [Candidate], verdict: Rights, limit: usize) -> Option<usize> {
    let at = found.iter().position(|candidate| !candidate.allowed && candidate.rights == verdict)?;
    match limit.checked_sub(1) {
        Some(last) if at > last => {
            found[last..=at].rotate_right(1);
            Some(last)
        }
        _ => Some(at),
    }
}

/// Validates external gems: checks their range and number, and removes duplicates.
pub(super) fn distinct(gems: &[WrittenGem], recipe: &Recipe) -> Result<Vec<Gem>, CatalogueError> {
    if gems.len() > MAX_GEMS {
        return Err(CatalogueError::TooManyGems { found: gems.len(), limit: MAX_GEMS });
    }
    let mut seen = HashSet::with_capacity(gems.len());
    let mut distinct = Vec::with_capacity(gems.len());
    for &gem in gems {
        let Some(gem) = recipe.read(gem) else {
            let are = if recipe.gem_bits() == 64 {
                "strings of 16 hexadecimal digits"
            } else {
                "numbers from 0 to 4294967295"
            };
            return Err(CatalogueError::BadGem { gem, recipe: recipe.name().clone(), are });
        };
        if seen.insert(gem) {
            distinct.push(gem);
        }
    }
    Ok(distinct)
}
