//! A check in progress: from the gems of a query, in one recipe or several, to the report.

use hashbrown::{HashMap, HashSet};
use jiff::civil::Date;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, RecipeName, Rule};

use super::CatalogueError;
use super::allow::Allowances;
use super::answer::CheckOptions;
use super::shown::Shown;
use crate::api::{BookRef, Match, Partial, Report};
use crate::index::{BookKey, BookNo, Coverage, Library, Limits, Outline, Rights, Sizes, Snapshot, StoreError, Tally};
use crate::language::Language;
use crate::matching::{
    Alignment, Calibration, Covered, Extent, Judged, Judgements, LookedUp, Question, Ranked, Reader, Reason, Relation,
    Sketch, Span, ToShow, candidates, chance, judge, kept, merge, rank, works,
};

/// Maximum number of matches, besides those shown, whose passages are combined into the share of the text that protected
/// books cover. Each takes as long as a shown one.
const MOST_COVERING: usize = 200;

/// A check in progress.
pub(super) struct Checking<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    /// The query in each recipe. Not empty.
    pub(super) asked: Vec<InRecipe<'a>>,
    /// The digests that an identical text may have.
    pub(super) digests: &'a [String],
    /// The length of the text in bytes, if it is known.
    pub(super) bytes: Option<u64>,
    pub(super) allowances: &'a Allowances,
    pub(super) day: Date,
    /// Whether to leave out a book, such as the one that is being checked.
    pub(super) is_left_out: &'a dyn Fn(BookNo, &Outline) -> bool,
}

/// A query in one recipe.
pub(super) struct InRecipe<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) rule: Rule,
    pub(super) gems: &'a [Probe],
}

/// The books of a snapshot with gems of one recipe.
pub(super) struct Stored<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) recipe: &'a RecipeName,
    /// Whether the catalogue is new and has no recipes yet.
    pub(super) is_new: bool,
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
    pub(super) fn report(&self, options: &CheckOptions) -> Result<Report, CatalogueError> {
        self.answer(options.library.as_ref(), |answering| answering.report(options))
    }

    /// The verdict alone, against all libraries, and how many books have gems of the recipes if not all do.
    pub(super) fn verdict(&self) -> Result<(Rights, Option<Coverage>), CatalogueError> {
        self.answer(None, |answering| Ok((answering.ranked()?.0.verdict, answering.coverage())))
    }

    /// The books that match, best first.
    pub(super) fn matches(&self) -> Result<Vec<BookKey>, CatalogueError> {
        self.answer(None, |answering| {
            let matches = answering.ranked()?.0.shown(usize::MAX).matches;
            Ok(matches.into_iter().map(|found| found.key).collect())
        })
    }

    /// Looks the query up, and answers with what was found.
    fn answer<T>(
        &self,
        library: Option<&Library>,
        answer: impl FnOnce(&Answering<'_>) -> Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        let is_new = self.snapshot.recipes().is_empty();
        let stored: Vec<Stored<'_>> = self
            .asked
            .iter()
            .map(|asked| Stored { snapshot: self.snapshot, recipe: asked.recipe.name(), is_new })
            .collect();
        let probes: Vec<Vec<Probe>> = self
            .asked
            .iter()
            .map(|asked| asked.gems.iter().filter(|probe| !self.is_allowed(asked, probe)).copied().collect())
            .collect();
        let positions: Vec<_> = self.asked.iter().map(|asked| self.positions(asked)).collect();
        let is_allowed = |book: &_| self.allowances.book(book);
        let is_no_ban = |number, outline: &Outline| {
            let rights = outline.standing.rights_on(self.day, outline.rights);
            rights != Rights::Forbidden || (self.is_left_out)(number, outline)
        };
        let (mut questions, mut bans) = (Vec::with_capacity(self.asked.len()), Vec::new());
        for (((asked, stored), probes), positions) in self.asked.iter().zip(&stored).zip(&probes).zip(&positions) {
            let question = Question {
                recipe: asked.recipe,
                rule: &asked.rule,
                probes,
                positions: positions.as_ref(),
                // A text whose gems are all in an allow-list is allowed.
                digests: if probes.is_empty() && !asked.gems.is_empty() { &[] } else { self.digests },
                library,
                is_left_out: self.is_left_out,
                day: self.day,
                is_allowed: &is_allowed,
            };
            questions.push((asked, stored, question));
            // No allow-list lifts a ban, so forbidden books are compared with all gems.
            if probes.len() < asked.gems.len() {
                let question =
                    Question { probes: asked.gems, digests: self.digests, is_left_out: &is_no_ban, ..question };
                bans.push((asked, stored, question));
            }
        }
        questions.append(&mut bans);
        let tallies = questions.iter().map(|(_, stored, question)| candidates(*stored, question));
        let tallies: Vec<Tally> = tallies.collect::<Result<_, _>>()?;
        let mut in_recipes = Vec::with_capacity(questions.len());
        for ((asked, stored, question), tally) in questions.iter().zip(&tallies) {
            let stored: &Stored<'_> = stored;
            let of_libraries = tally.libraries.iter().map(|of_library| LookedUp::new(stored, question, of_library));
            let looked_up = of_libraries.collect::<Result<Vec<_>, _>>()?;
            let (sizes, coverage) = (stored.sizes()?, stored.coverage()?);
            in_recipes.push(Answered { asked, stored, question, looked_up, sizes, coverage });
        }
        answer(&Answering { checking: self, in_recipes })
    }

    /// Where each gem is in a query without a text.
    fn positions(&self, asked: &InRecipe<'_>) -> Option<HashMap<Gem, u32>> {
        self.bytes.is_none().then(|| asked.gems.iter().map(|probe| probe.placed.gem).zip(0..).collect())
    }

    fn is_allowed(&self, asked: &InRecipe<'_>, probe: &Probe) -> bool {
        self.allowances.gem(asked.recipe.name(), probe.placed.gem)
    }
}

/// What the index says to a query in one recipe.
struct Answered<'a> {
    asked: &'a InRecipe<'a>,
    stored: &'a Stored<'a>,
    question: &'a Question<'a>,
    /// By library.
    looked_up: Vec<LookedUp<'a>>,
    sizes: Sizes,
    coverage: Option<Coverage>,
}

impl Answered<'_> {
    fn judge(&self) -> Result<Judgements, StoreError> {
        judge(self.stored, self.question, &self.looked_up)
    }

    /// The gems that some library did not count.
    fn common(&self) -> HashSet<Gem> {
        self.looked_up.iter().flat_map(LookedUp::common).collect()
    }

    /// Number of gems of the text, of those that `is` selects.
    fn count(&self, is: impl Fn(&Probe) -> bool) -> u32 {
        self.asked.gems.iter().filter(|probe| probe.kept && is(probe)).count() as u32
    }

    fn is_common(&self, common: u32) -> bool {
        2 * common >= kept(self.asked.gems)
    }

    fn is_short(&self) -> bool {
        (self.asked.gems.len() as u32) < self.asked.rule.fewest()
    }

    /// Expected number of unrelated books that have `common` gems in common. Any of the probes may match by chance.
    fn chance(&self, probes: usize, common: u32) -> f64 {
        chance(&self.sizes, probes as u32, common, self.asked.recipe.gem_bits())
    }

    /// Upper bound on the probability that unrelated gems, of which there are `among`, reach this evidence.
    fn error(&self, query: &LookedUp<'_>, among: u64, evidence: f64) -> Option<f64> {
        Calibration::built_in().error_probability(self.asked.recipe.name(), kept(query.probes()), among, evidence)
    }

    /// A caveat about the answer in this recipe. `common`: the number of gems that did not count.
    fn note(&self, language: Language, common: u32) -> Option<String> {
        let recipe = language.quoted(self.asked.recipe.name().as_str());
        let (gems, fewest) = (self.asked.gems.len() as u64, u64::from(self.asked.rule.fewest()));
        // A text of this length has as many gems as a match needs, on average.
        let needed = fewest * u64::from(self.asked.recipe.characters_per_gem());
        if gems == 0 {
            Some(language.note_no_gems(&recipe, needed))
        } else if self.is_short() {
            Some(language.note_few_gems(&recipe, gems, fewest, needed))
        } else if self.is_common(common) {
            let [common, gems, cap] = [common, kept(self.asked.gems), self.asked.rule.common_cap].map(u64::from);
            Some(language.note_boilerplate(common, gems, cap))
        } else {
            None
        }
    }
}

/// What the index says to a query in all recipes.
struct Answering<'a> {
    checking: &'a Checking<'a>,
    /// First in each recipe that was asked for; then in those where gems are in allow-lists, about forbidden books.
    in_recipes: Vec<Answered<'a>>,
}

impl Answering<'_> {
    /// The matches in order, and the disabled books that would match.
    fn ranked(&self) -> Result<(Ranked, Vec<BookNo>), StoreError> {
        let judged = self.in_recipes.iter().map(Answered::judge).collect::<Result<_, _>>()?;
        let Judgements { matches, disabled } = merge(judged);
        Ok((rank(matches), disabled))
    }

    fn report(&self, options: &CheckOptions) -> Result<Report, CatalogueError> {
        let (ranked, disabled) = self.ranked()?;
        let (verdict, total) = (ranked.verdict, ranked.total());
        let hidden = ranked.hidden(options.limit, MOST_COVERING);
        let to_show = ranked.shown(options.limit);
        let error_probability =
            to_show.decisive.as_ref().map(|found| self.error_of_verdict(found)).transpose()?.flatten();
        // The figures of a report are those of the recipe behind the verdict.
        let at = to_show.decisive.as_ref().map_or(0, first_recipe);
        let main = &self.in_recipes[at];
        let mut covering = Covering::new(self.in_recipes[0].asked, self.checking.bytes);
        let (matches, left_out) = self.described(to_show, options, &mut covering)?;
        for found in &hidden {
            let (_, query) = self.of_match(found);
            covering.add(found, &query.aligned(found.number)?.spans);
        }
        let commons: Vec<HashSet<Gem>> = self.in_recipes.iter().map(Answered::common).collect();
        let common_of = |at: usize| self.in_recipes[at].count(|probe| commons[at].contains(&probe.placed.gem));
        let asked = self.checking.asked.len();
        let notes = self.in_recipes[..asked]
            .iter()
            .enumerate()
            .filter_map(|(at, answered)| answered.note(options.language, common_of(at)));
        let coverage = self.coverage();
        let notes = notes.chain(self.missed(options.language, coverage)).chain(left_out);
        // The last read of the index was before this.
        let partial = self.checking.snapshot.unread().map(Partial::new);
        let notes: Vec<String> = notes.chain(partial.map(|partial| unread(options.language, partial))).collect();
        let counted = main.question.probes.iter().filter(|probe| !commons[at].contains(&probe.placed.gem)).count();
        Ok(Report {
            verdict,
            reason: self.reason(total, partial.is_some(), common_of),
            covered: covering.share(),
            recipe: main.asked.recipe.name().clone(),
            recipes: self.names(0..self.in_recipes.len()),
            coverage,
            partial,
            gems: kept(main.asked.gems),
            looked_up: main.asked.gems.len() as u32,
            common_gems: common_of(at),
            allowed_gems: main.count(|probe| self.checking.is_allowed(main.asked, probe)),
            day: self.checking.day,
            rule: main.asked.rule,
            chance: main.chance(counted, main.asked.rule.fewest()),
            total,
            disabled: disabled.len(),
            error_probability,
            matches,
            disguise: None,
            filed: None,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        })
    }

    /// How many books have gems of the recipe that most books have gems of, if not all do.
    fn coverage(&self) -> Option<Coverage> {
        let widest =
            self.in_recipes.iter().map(|answered| answered.coverage).min_by_key(|c| c.map_or(0, Coverage::lacking));
        widest.flatten()
    }

    /// Warns of the books that no recipe could find, and of recipes that no book has gems of.
    fn missed(&self, language: Language, coverage: Option<Coverage>) -> impl Iterator<Item = String> {
        let is_unused = |at: &usize| self.in_recipes[*at].coverage.is_some_and(|of| of.books == 0);
        let all = self.names(0..self.in_recipes.len());
        let unused = self.names((0..self.in_recipes.len()).filter(is_unused));
        let missed = match coverage {
            Some(coverage) => {
                let names = language.names(&all);
                Some(language.note_missed(coverage.lacking(), coverage.of, &names, all.len() as u64))
            }
            None if unused.is_empty() => None,
            None => Some(language.note_unused(&language.names(&unused), unused.len() as u64)),
        };
        let remedy = (!unused.is_empty()).then(|| language.note_reindex());
        missed.into_iter().chain(remedy)
    }

    fn names(&self, recipes: impl IntoIterator<Item = usize>) -> Vec<RecipeName> {
        let mut names: Vec<RecipeName> = Vec::new();
        for name in recipes.into_iter().map(|recipe| self.in_recipes[recipe].asked.recipe.name()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The recipe that a match is shown with, and the query in its library.
    fn of_match(&self, found: &Judged) -> (&Answered<'_>, &LookedUp<'_>) {
        let answered = &self.in_recipes[first_recipe(found)];
        (answered, &answered.looked_up[found.library])
    }

    fn reason(&self, total: usize, is_partial: bool, common: impl Fn(usize) -> u32) -> Reason {
        let all =
            |is: &dyn Fn(usize, &Answered<'_>) -> bool| self.in_recipes.iter().enumerate().all(|(at, of)| is(at, of));
        if total > 0 {
            Reason::Match
        } else if is_partial {
            Reason::Partial
        } else if all(&|_, of| of.sizes.classes.iter().all(|class| class.books == 0)) {
            Reason::NothingToCompare
        } else if all(&|_, of| of.is_short()) {
            Reason::TooShort
        } else if all(&|at, of| of.is_short() || of.is_common(common(at))) {
            Reason::MostlyCommon
        } else {
            Reason::NoMatch
        }
    }

    /// The matches as a report shows them, as far as they fit, and a note on what was left out. Adds their passages in the
    /// text to `covered`.
    fn described(
        &self,
        ToShow { matches, decisive }: ToShow,
        options: &CheckOptions,
        covered: &mut Covering,
    ) -> Result<(Vec<Match>, Option<String>), CatalogueError> {
        let numbers: Vec<BookNo> = matches.iter().map(|found| found.number).collect();
        let records = self.checking.snapshot.fetch(&numbers)?;
        let (mut shown, mut sketches) = (Shown::default(), Vec::new());
        // A record whose outline was read exists in the same snapshot.
        for (found, record) in matches.into_iter().zip(records).filter_map(|(found, record)| Some((found, record?))) {
            let (answered, query) = self.of_match(&found);
            let (Alignment { relation, spans, evidence, .. }, gems) = query.compared(found.number)?;
            covered.add(&found, &spans);
            let sketch = (first_recipe(&found), Sketch::of(&gems));
            let Judged { number, recipes, score, identical, allowed, .. } = found;
            let found = Match {
                book: BookRef::on(self.checking.day, record),
                recipes: self.names(recipes),
                work: 0,
                score,
                relation: if identical { Relation::SameText } else { relation },
                identical,
                chance: answered.chance(query.probes().len(), score.common),
                evidence,
                error_probability: answered.error(query, gems.len() as u64, evidence),
                spans: if options.detail { spans } else { Vec::new() },
                exact: None,
                passages: Vec::new(),
                allowed,
            };
            if shown.add(found, decisive.as_ref().is_some_and(|decisive| decisive.number == number)) {
                sketches.push(sketch);
            }
        }
        let (mut matches, left_out) = shown.finish(options.language);
        for (found, work) in matches.iter_mut().zip(works(&sketches)) {
            found.work = work;
        }
        Ok((matches, left_out))
    }

    /// Upper bound on the probability that a verdict which rests on this match is wrong. Each recipe that was asked could
    /// have accused another book, so their probabilities add up.
    fn error_of_verdict(&self, found: &Judged) -> Result<Option<f64>, StoreError> {
        let (answered, query) = self.of_match(found);
        let all_gems = answered.sizes.classes.iter().map(|class| class.gems).sum();
        let error = answered.error(query, all_gems, query.aligned(found.number)?.evidence);
        Ok(error.map(|error| (error * self.in_recipes.len() as f64).min(1.0)))
    }
}

/// Combines the passages of the text that are in protected books.
struct Covering {
    /// The length of the text in bytes, or else the number of gems.
    length: u64,
    by_bytes: bool,
    covered: Covered,
    /// Whether a book's text is the query's.
    whole: bool,
}

impl Covering {
    fn new(asked: &InRecipe<'_>, bytes: Option<u64>) -> Self {
        Self {
            length: bytes.unwrap_or(asked.gems.len() as u64),
            by_bytes: bytes.is_some(),
            covered: Covered::default(),
            whole: false,
        }
    }

    /// Adds the spans of a match, if it is protected and counts.
    fn add(&mut self, found: &Judged, spans: &[Span]) {
        if found.allowed || !found.rights.forbids() {
            return;
        }
        self.whole |= found.identical;
        for span in spans {
            let Extent { gems, bytes } = span.query;
            let bytes = bytes.map(|bytes| (bytes.start, bytes.end));
            let gems = (!self.by_bytes).then_some((gems.start.into(), gems.end.into()));
            if let Some(place) = bytes.or(gems) {
                self.covered.add(place);
            }
        }
    }

    fn share(self) -> f64 {
        if self.whole { 1.0 } else { self.covered.share(self.length) }
    }
}

/// Warns of what could not be read.
fn unread(language: Language, Partial { unread_gems, unread_digests, unread_books, .. }: Partial) -> String {
    language.note_partial((unread_gems + unread_digests) as u64, unread_books as u64)
}

/// The recipe that a match is shown with: the first that found it.
fn first_recipe(found: &Judged) -> usize {
    found.recipes.first().copied().unwrap_or(0)
}
