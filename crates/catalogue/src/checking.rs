//! A check in progress: from the gems of a query, in one recipe or several, to the report.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use jiff::civil::Date;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, RecipeName, Rule};

use super::CatalogueError;
use super::allow_lists::Allowances;
use super::answer::CheckOptions;
use super::answer_size::Shown;
use super::check::today;
use super::libraries::Deciding;
use super::told::{Told, whole_percent};
use crate::api::{BookRef, Match, Report};
use lapidary_checking::{
    Alignment, Calibration, Claimed, Covered, Extent, InformationalReason, Judged, Judgements,
    LookedUp, MOST_COMPARED, Policy, Question, Ranked, Reader, Reason, Relation, SharedWork,
    Sketch, Span, ToShow, candidates, judge, kept, merge, name_words, rank, works,
};
use lapidary_language::Language;
use lapidary_store::{
    BookKey, BookNo, Coverage, Enough, Library, LibraryTally, Limits, Outline, Record, Rights,
    Sizes, Snapshot, StoreError, Tally,
};

/// Maximum number of matches, besides those shown, whose passages are combined into the share of the text that protected
/// books cover. Each takes as long as a shown one.
const MOST_COVERING: usize = 100;

/// What a gate needs to know of a check.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    pub(super) rights: Rights,
    /// How many books have gems of the recipes, if not all do.
    pub(super) coverage: Option<Coverage>,
    /// Number of books that were not compared, because there were too many.
    pub(super) uncompared: usize,
    /// The first books behind it, if it forbids nothing.
    pub(super) matches: Vec<BookRef>,
}

impl Default for Verdict {
    fn default() -> Self {
        Self {
            rights: Rights::Unknown,
            coverage: None,
            uncompared: 0,
            matches: Vec::new(),
        }
    }
}

/// A check in progress.
pub(super) struct Checking<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    /// The query in each recipe. Not empty.
    pub(super) asked: Vec<InRecipe<'a>>,
    /// The query in recipes that no book needs which decides, and in `rewriting`. They find only what informs.
    pub(super) aside: Vec<InRecipe<'a>>,
    /// The digests that an identical text may have.
    pub(super) digests: &'a [String],
    /// The length of the text in bytes, if it is known.
    pub(super) bytes: Option<u64>,
    pub(super) allowances: &'a Allowances,
    pub(super) deciding: &'a Deciding<'a>,
    pub(super) day: Date,
    /// The policy of the check, in place of those of the libraries.
    pub(super) policy: Option<&'a Policy>,
    /// Whether whoever asks may be told where gems of recipes with a secret are.
    pub(super) exactly: bool,
    /// Libraries to leave out. Nothing is read of their books.
    pub(super) without: &'a BTreeSet<Library>,
    /// Whether to leave out a book, such as the one that is being checked.
    pub(super) is_left_out: &'a dyn Fn(BookNo, &Outline) -> bool,
    /// Gets the book behind the verdict of a report.
    pub(super) decided_by: &'a dyn Fn(BookNo),
}

static NO_LIBRARIES: BTreeSet<Library> = BTreeSet::new();

impl<'a> Checking<'a> {
    /// Of a query today, against all books, by the policies of their libraries.
    pub(super) fn new(
        snapshot: &'a dyn Snapshot,
        asked: Vec<InRecipe<'a>>,
        digests: &'a [String],
        allowances: &'a Allowances,
        deciding: &'a Deciding<'a>,
    ) -> Self {
        Self {
            snapshot,
            asked,
            aside: Vec::new(),
            digests,
            bytes: None,
            allowances,
            deciding,
            day: today(),
            policy: None,
            exactly: false,
            without: &NO_LIBRARIES,
            is_left_out: &|_, _| false,
            decided_by: &|_| {},
        }
    }
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
    fn sizes(&self) -> Result<Sizes, StoreError> {
        if self.is_new {
            Ok(Sizes::default())
        } else {
            self.snapshot.sizes(self.recipe)
        }
    }

    /// How many of the books decide.
    fn deciding(&self, deciding: &Deciding<'_>) -> Result<u64, StoreError> {
        if self.is_new {
            return Ok(0);
        }
        let of_recipe = std::slice::from_ref(self.recipe);
        Ok(deciding.coverage(of_recipe)?.books)
    }
}

impl Reader for Stored<'_> {
    fn tally(&self, gems: &[Gem], limits: Limits<'_>) -> Result<Tally, StoreError> {
        if self.is_new {
            Ok(Tally::default())
        } else {
            self.snapshot.tally(self.recipe, gems, limits)
        }
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

    fn gems_if(
        &self,
        book: BookNo,
        enough: Enough<'_>,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        self.snapshot.gems_if(self.recipe, book, enough)
    }

    fn books(&self, library: &Library) -> Result<u64, StoreError> {
        Ok(self
            .snapshot
            .library(library)?
            .map_or(0, |library| library.books))
    }
}

impl Checking<'_> {
    /// What is told of gems of a recipe.
    fn told<'r>(&self, recipe: &'r Recipe) -> Told<'r> {
        Told::of(recipe, self.exactly)
    }

    /// The policy by which a book of the library decides.
    fn policy(&self, library: &Library) -> &Policy {
        self.policy.unwrap_or_else(|| self.deciding.policy(library))
    }

    /// Adds what of the query is the same: its bytes, or its gems if there is no text.
    fn add_same(&self, alignment: &Alignment, covered: &mut Covered) {
        for Extent { gems, bytes } in &alignment.same {
            let bytes = bytes.map(|bytes| (bytes.start, bytes.end));
            let gems = self
                .bytes
                .is_none()
                .then_some((gems.start.into(), gems.end.into()));
            if let Some(place) = bytes.or(gems) {
                covered.add(place);
            }
        }
    }

    pub(super) fn report(&self, options: &CheckOptions) -> Result<Report, CatalogueError> {
        self.answer(options.library.as_ref(), |answering| {
            answering.report(options)
        })
    }

    /// The verdict against all libraries. If it forbids nothing, also up to `limit` books behind it, of the libraries that are
    /// named.
    pub(super) fn verdict(
        &self,
        limit: usize,
        is_named: impl Fn(&Library) -> bool,
    ) -> Result<Verdict, CatalogueError> {
        self.answer(None, |answering| {
            let AllMatches {
                ranked, uncompared, ..
            } = answering.ranked()?;
            let rights = ranked.verdict;
            let mut named = ranked.shown(usize::MAX).matches;
            named.retain(|found| found.decides() && is_named(&found.key.library));
            named.truncate(if rights.forbids() { 0 } else { limit });
            let named = self.with_records(named)?;
            Ok(Verdict {
                rights,
                coverage: answering.coverage,
                uncompared,
                matches: named
                    .map(|(_, record)| BookRef::on(self.day, record))
                    .collect(),
            })
        })
    }

    /// The books that match and decide, best first.
    pub(super) fn matches(&self) -> Result<Vec<BookKey>, CatalogueError> {
        self.answer(None, |answering| {
            let matches = answering.ranked()?.ranked.shown(usize::MAX).matches;
            let deciding = matches.into_iter().filter(Judged::decides);
            Ok(deciding.map(|found| found.key).collect())
        })
    }

    /// The rights in a book, and the verdict, if the book matches and decides.
    pub(super) fn effect_of(
        &self,
        library: Option<&Library>,
        book: BookNo,
    ) -> Result<Option<[Rights; 2]>, CatalogueError> {
        self.answer(library, |answering| {
            let ranked = answering.ranked()?.ranked;
            let mut deciding = ranked.deciding(usize::MAX).filter(|found| found.decides());
            let found = deciding.find(|found| found.number == book);
            Ok(found.map(|found| [found.rights, ranked.verdict]))
        })
    }

    /// The works that match, with the largest share of each that the query has. `passage`: the number of gems of a passage.
    pub(super) fn shared_works(
        &self,
        passage: &dyn Fn(&Recipe) -> usize,
    ) -> Result<Vec<SharedWork>, CatalogueError> {
        self.answer(None, |answering| {
            // A work can have many editions, so books are not counted before these are joined.
            let matches = answering.ranked()?.ranked.shown(MOST_COMPARED).matches;
            let (mut shared, mut sketches) = (Vec::new(), Vec::new());
            for (found, record) in self.with_records(matches)? {
                let (answered, query) = answering.of_match(&found);
                let recipe = answered.asked.recipe;
                let (places, gems) = query.shared(found.number)?;
                // The same recipe can be asked with several rules.
                let of_recipe = self
                    .asked
                    .iter()
                    .position(|asked| asked.recipe.name() == recipe.name());
                sketches.push((of_recipe.unwrap_or_default(), Sketch::of(&gems)));
                let (authors, share) = (
                    name_words(&record.description.authors),
                    found.score.share_of_book,
                );
                shared.push(SharedWork {
                    authors,
                    share,
                    gems: places,
                    passage: passage(recipe),
                });
            }
            let all = sketches.len();
            let mut shared = by_work(shared, &works(&sketches, all));
            shared.truncate(MOST_COVERING);
            Ok(shared)
        })
    }

    /// Matches with their records. A record whose outline was read exists in the same snapshot.
    fn with_records(
        &self,
        matches: Vec<Judged>,
    ) -> Result<impl Iterator<Item = (Judged, Record)>, StoreError> {
        let numbers: Vec<BookNo> = matches.iter().map(|found| found.number).collect();
        let records = self.snapshot.fetch(&numbers)?;
        let matches = matches.into_iter().zip(records);
        Ok(matches.filter_map(|(found, record)| Some((found, record?))))
    }

    /// Looks the query up, and answers with what was found.
    fn answer<T>(
        &self,
        library: Option<&Library>,
        answer: impl FnOnce(&Answering<'_>) -> Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        let (of_all, aside) = (self.prepared(&self.asked), self.prepared(&self.aside));
        let is_allowed = |book: &Outline| self.allowances.book(book);
        let informs = |book: &Outline| self.deciding.informs(book);
        let is_no_ban = |number, outline: &Outline| {
            let rights = outline.standing.rights_on(self.day, outline.rights);
            rights != Rights::Forbidden || (self.is_left_out)(number, outline)
        };
        let ask = |query| (query, self.question(query, library, &is_allowed, &informs));
        let mut questions: Vec<_> = of_all.iter().map(ask).collect();
        self.ask_for_bans(&mut questions, &is_no_ban);
        let deciding = questions.len();
        let cannot_decide = |number, outline: &Outline| {
            (self.is_left_out)(number, outline) || self.deciding.informs(outline).is_some()
        };
        let aside = aside.iter().map(ask);
        questions
            .extend(aside.map(|(query, question)| (query, informing(question, &cannot_decide))));
        let tallies = self.tallies(&questions, deciding)?;
        let in_recipes = questions.iter().zip(&tallies);
        let in_recipes = in_recipes
            .map(|((query, question), tally)| Answered::new(query, question, tally, self.deciding));
        answer(&Answering {
            checking: self,
            in_recipes: in_recipes.collect::<Result<_, _>>()?,
            deciding,
            coverage: self.coverage()?,
        })
    }

    /// The query in these recipes, without the gems in allow-lists.
    fn prepared<'q>(&'q self, asked: &'q [InRecipe<'q>]) -> Vec<PreparedQuery<'q>> {
        let prepare = |asked: &'q InRecipe<'q>| {
            let mut probes = asked.gems.to_vec();
            probes.retain(|probe| !self.is_allowed(asked, probe));
            PreparedQuery {
                asked,
                stored: Stored {
                    snapshot: self.snapshot,
                    recipe: asked.recipe.name(),
                    is_new: self.is_new(),
                },
                probes,
                positions: self.positions(asked),
            }
        };
        asked.iter().map(prepare).collect()
    }

    fn question<'q>(
        &'q self,
        query: &'q PreparedQuery<'q>,
        library: Option<&'q Library>,
        is_allowed: &'q dyn Fn(&Outline) -> bool,
        informs: &'q dyn Fn(&Outline) -> Option<InformationalReason>,
    ) -> Question<'q> {
        // A text whose gems are all in an allow-list is allowed.
        let is_allowed_text = query.probes.is_empty() && !query.asked.gems.is_empty();
        Question {
            recipe: query.asked.recipe,
            rule: &query.asked.rule,
            probes: &query.probes,
            positions: query.positions.as_ref(),
            digests: if is_allowed_text { &[] } else { self.digests },
            library,
            is_left_out: self.is_left_out,
            day: self.day,
            is_allowed,
            informs,
            informing: self.deciding.informing(),
        }
    }

    /// Asks again where gems are in allow-lists. No allow-list lifts a ban, so forbidden books are compared with all gems.
    fn ask_for_bans<'q>(
        &'q self,
        questions: &mut Vec<(&'q PreparedQuery<'q>, Question<'q>)>,
        is_no_ban: &'q dyn Fn(BookNo, &Outline) -> bool,
    ) {
        for at in 0..questions.len() {
            let (query, question) = questions[at];
            if query.probes.len() < query.asked.gems.len() {
                let of_bans = Question {
                    probes: query.asked.gems,
                    digests: self.digests,
                    is_left_out: is_no_ban,
                    ..question
                };
                questions.push((query, of_bans));
            }
        }
    }

    /// Looks up questions, of which the first so many decide. The others find only books that inform.
    fn tallies(
        &self,
        questions: &[(&PreparedQuery<'_>, Question<'_>)],
        deciding: usize,
    ) -> Result<Vec<Tally>, StoreError> {
        let mut tallies = Vec::with_capacity(questions.len());
        for (at, (query, question)) in questions.iter().enumerate() {
            let mut tally = candidates(&query.stored, question)?;
            let is_rewriting = question.recipe.is_rewriting();
            tally.libraries.retain(|LibraryTally { library, .. }| {
                let informs = self.deciding.informing().contains(library);
                !self.without.contains(library) && (at < deciding || informs != is_rewriting)
            });
            tallies.push(tally);
        }
        Ok(tallies)
    }

    /// Whether the catalogue is new and has no recipes yet.
    fn is_new(&self) -> bool {
        self.snapshot.recipes().is_empty()
    }

    /// How many of the books that decide have gems of at least one of the recipes, if not all do. No others can be found.
    fn coverage(&self) -> Result<Option<Coverage>, StoreError> {
        if self.is_new() {
            return Ok(None);
        }
        let coverage = self.deciding.coverage(&self.recipes())?;
        Ok(Some(coverage).filter(|coverage| coverage.lacking() > 0))
    }

    /// The recipes that find books which decide.
    pub(super) fn recipes(&self) -> Vec<RecipeName> {
        let asked = self.asked.iter();
        asked.map(|asked| asked.recipe.name().clone()).collect()
    }

    /// Where each gem is in a query without a text.
    fn positions(&self, asked: &InRecipe<'_>) -> Option<HashMap<Gem, u32>> {
        self.bytes.is_none().then(|| {
            asked
                .gems
                .iter()
                .map(|probe| probe.placed.gem)
                .zip(0..)
                .collect()
        })
    }

    fn is_allowed(&self, asked: &InRecipe<'_>, probe: &Probe) -> bool {
        self.allowances.gem(asked.recipe.name(), probe.placed.gem)
    }
}

/// A question that finds only what informs: by `rewriting` in any book but those that could not decide.
fn informing<'q>(
    question: Question<'q>,
    cannot_decide: &'q dyn Fn(BookNo, &Outline) -> bool,
) -> Question<'q> {
    if !question.recipe.is_rewriting() {
        return question;
    }
    Question {
        digests: &[],
        is_left_out: cannot_decide,
        informs: &|_| Some(InformationalReason::Reworded),
        ..question
    }
}

/// The query in one recipe, and the books among which it is looked up.
struct PreparedQuery<'a> {
    asked: &'a InRecipe<'a>,
    stored: Stored<'a>,
    /// The gems that are in no allow-list.
    probes: Vec<Probe>,
    /// Where each gem is in the list that was asked about, if there is no text.
    positions: Option<HashMap<Gem, u32>>,
}

/// What the index says to a query in one recipe.
struct Answered<'a> {
    asked: &'a InRecipe<'a>,
    stored: &'a Stored<'a>,
    question: &'a Question<'a>,
    /// By library.
    looked_up: Vec<LookedUp<'a>>,
    sizes: Sizes,
    /// Whether no book that decides has gems of the recipe.
    is_empty: bool,
}

impl<'a> Answered<'a> {
    fn new(
        query: &'a PreparedQuery<'a>,
        question: &'a Question<'a>,
        tally: &'a Tally,
        deciding: &Deciding<'_>,
    ) -> Result<Self, StoreError> {
        let PreparedQuery { asked, stored, .. } = query;
        let books = stored.deciding(deciding)?;
        let looked_up = LookedUp::by_library(stored, question, tally, books)?;
        let sizes = stored.sizes()?;
        let has_books = sizes.classes.iter().any(|class| class.books > 0);
        Ok(Self {
            asked,
            stored,
            question,
            looked_up,
            sizes,
            is_empty: !has_books || deciding.only_inform(asked.recipe.name()),
        })
    }
}

impl Answered<'_> {
    fn judge(&self) -> Result<Judgements, StoreError> {
        judge(self.stored, self.question, &self.looked_up, MOST_COMPARED)
    }

    fn is_rewriting(&self) -> bool {
        self.asked.recipe.is_rewriting()
    }

    /// The gems that some library did not count, of those whose books are more than information.
    fn common(&self, deciding: &Deciding<'_>) -> HashSet<Gem> {
        let decide = self
            .looked_up
            .iter()
            .filter(|of| !deciding.informing().contains(of.library()));
        decide.flat_map(LookedUp::common).collect()
    }

    /// Number of gems of the text, of those that `is` selects.
    fn count(&self, is: impl Fn(&Probe) -> bool) -> u32 {
        self.asked
            .gems
            .iter()
            .filter(|probe| probe.kept && is(probe))
            .count() as u32
    }

    fn is_common(&self, common: u32) -> bool {
        2 * common >= kept(self.asked.gems)
    }

    fn is_short(&self) -> bool {
        (self.asked.gems.len() as u32) < self.asked.rule.fewest()
    }

    /// Whether spans say where the texts match. Those of signatures do if all their gems are of paragraphs.
    fn has_places(&self, spans: &[Span]) -> bool {
        !self.asked.recipe.is_signature()
            || (!spans.is_empty() && spans.iter().all(|span| span.query.bytes.is_some()))
    }

    /// What a book of the library claims that has these spans.
    fn claim(&self, library: &Library, spans: &[Span]) -> Claim {
        let recipe = self.asked.recipe.name();
        let passages = spans.iter().map(|span| Claimed {
            recipe: recipe.clone(),
            extent: span.query,
        });
        Claim {
            library: library.clone(),
            passages: passages.collect(),
        }
    }

    /// A caveat about the answer in this recipe. `common`: the number of gems that did not count.
    fn note(&self, language: Language, common: u32, told: Told<'_>) -> Option<String> {
        let recipe = language.quoted(self.asked.recipe.name().as_str());
        let (gems, fewest) = (
            self.asked.gems.len() as u64,
            u64::from(self.asked.rule.fewest()),
        );
        // A text of this length has as many gems as a match needs, on average.
        let needed = fewest * u64::from(self.asked.recipe.characters_per_gem());
        let is_told = told.is_exact();
        if gems == 0 || self.is_short() && !is_told {
            Some(language.note_no_gems(&recipe, needed))
        } else if self.is_short() {
            Some(language.note_few_gems(&recipe, gems, fewest, needed))
        } else if self.is_common(common) && is_told {
            let [common, gems, cap] =
                [common, kept(self.asked.gems), self.asked.rule.common_cap].map(u64::from);
            Some(language.note_boilerplate(common, gems, cap))
        } else {
            None
        }
    }
}

/// What a report tells of the gems of the query.
struct GemCounts {
    gems: u32,
    looked_up: u32,
    common: u32,
    allowed: u32,
}

/// All matches.
struct AllMatches {
    ranked: Ranked,
    /// Number of disabled books that would match.
    disabled: usize,
    /// Number of books that were not compared, because there were too many.
    uncompared: usize,
}

/// The matches as a report shows them, and what it says of them all.
struct ShownMatches {
    matches: Vec<Match>,
    /// A note on what did not fit.
    left_out: Option<String>,
    /// The share of the text that protected books cover.
    covered: Option<f64>,
    /// The recipe behind the verdict, whose figures the report has.
    recipe: usize,
    /// The library of the book behind the verdict.
    decided_by: Option<Library>,
    e_value: Option<f64>,
}

/// A match that decides only if its library's policy says so.
struct Doubtful {
    /// Its position among the matches.
    at: usize,
    relation: Relation,
    /// The characters of its longest passage, as far as gems tell.
    passage: u32,
}

/// What the index says to a query in all recipes.
struct Answering<'a> {
    checking: &'a Checking<'a>,
    /// First in each recipe that was asked for; then in those where gems are in allow-lists, about forbidden books; then in
    /// those that find only books that inform.
    in_recipes: Vec<Answered<'a>>,
    /// The number of those before the last ones.
    deciding: usize,
    /// How many of the books that decide can be found, if not all.
    coverage: Option<Coverage>,
}

impl Answering<'_> {
    /// In the recipes that find books that decide.
    fn deciding(&self) -> &[Answered<'_>] {
        &self.in_recipes[..self.deciding]
    }

    fn ranked(&self) -> Result<AllMatches, StoreError> {
        let (mut judged, mut reworded) = (Vec::new(), None);
        for (at, answered) in self.in_recipes.iter().enumerate() {
            if answered.is_rewriting() {
                reworded = Some((answered.judge()?, at));
            } else {
                judged.push(answered.judge()?);
            }
        }
        let mut merged = merge(judged);
        if let Some((others, at)) = reworded {
            merged.add_others(others, at);
        }
        let Judgements {
            mut matches,
            disabled,
            left_out,
        } = merged;
        self.apply_policies(&mut matches)?;
        Ok(AllMatches {
            ranked: rank(matches),
            disabled: disabled.len(),
            uncompared: left_out,
        })
    }

    /// Finds the matches that are too little by their policies, which only inform.
    fn apply_policies(&self, matches: &mut [Judged]) -> Result<(), StoreError> {
        let (mut doubtful, mut covered) = (Vec::new(), Covered::default());
        for (at, found) in matches.iter().enumerate() {
            if self.is_doubtful(found) {
                let (answered, query) = self.of_match(found);
                let alignment = query.aligned(found.number)?;
                let gem = answered.asked.recipe.characters_per_gem();
                self.checking.add_same(&alignment, &mut covered);
                doubtful.push(Doubtful {
                    at,
                    relation: alignment.relation,
                    passage: alignment.longest_passage() * gem,
                });
            }
            // Each has to be read. The others decide.
            if doubtful.len() == MOST_COVERING {
                break;
            }
        }
        let gems = self.in_recipes[0].asked.gems.len() as u64;
        let covered = covered.share(self.checking.bytes.unwrap_or(gems));
        for Doubtful {
            at,
            relation,
            passage,
        } in doubtful
        {
            let policy = self.checking.policy(&matches[at].key.library);
            if !policy.decides(relation, covered, passage) {
                matches[at].informs = Some(InformationalReason::TooLittle);
            }
        }
        Ok(())
    }

    /// Whether a match has to be aligned to know whether it decides. Exact recipes and signatures have no policies.
    fn is_doubtful(&self, found: &Judged) -> bool {
        let (answered, _) = self.of_match(found);
        let policy = self.checking.policy(&found.key.library);
        found.decides()
            && !found.identical
            && answered.asked.rule.min_share > 0.0
            && !answered.asked.recipe.is_signature()
            && !policy.is_certain(&found.score)
    }

    fn report(&self, options: &CheckOptions) -> Result<Report, CatalogueError> {
        let AllMatches {
            ranked,
            disabled,
            uncompared,
        } = self.ranked()?;
        let (verdict, total, informing) = (ranked.verdict, ranked.total(), ranked.informing());
        let libraries = ranked.libraries();
        // Whoever quotes a few sentences is told so, and that there is no match.
        let others = [informing - ranked.quoted(), ranked.reworded()];
        let ShownMatches {
            matches,
            left_out,
            covered,
            recipe: at,
            decided_by,
            e_value,
        } = self.shown_matches(ranked, options)?;
        let main = &self.in_recipes[at];
        let common = self.common_gems();
        let counts = self.counts(main, common[at], &matches);
        let mut notes = self.notes(options.language, &common, uncompared);
        notes.extend(left_out);
        Ok(Report {
            verdict,
            reason: self.reason(total, others, &common),
            covered,
            recipe: main.asked.recipe.name().clone(),
            recipes: self.names(0..self.deciding),
            coverage: self.coverage,
            gems: counts.gems,
            looked_up: counts.looked_up,
            common_gems: counts.common,
            allowed_gems: counts.allowed,
            day: self.checking.day,
            rule: main.asked.rule,
            total,
            informational: informing,
            uncompared,
            disabled,
            e_value,
            matches,
            disguise: None,
            filed: None,
            text_kept: None,
            libraries,
            decided_by,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        })
    }

    fn shown_matches(
        &self,
        ranked: Ranked,
        options: &CheckOptions,
    ) -> Result<ShownMatches, StoreError> {
        let hidden = ranked.hidden(options.limit, MOST_COVERING);
        let rivals: Vec<Judged> = ranked.deciding(MOST_COVERING).cloned().collect();
        let to_show = ranked.shown(options.limit);
        let decisive = to_show.decisive.clone();
        let mut covering = Covering::new(self.in_recipes[0].asked, self.checking);
        let (matches, left_out) = self.described(to_show, &rivals, options, &mut covering)?;
        let e_value = match &decisive {
            Some(decisive) => {
                (self.checking.decided_by)(decisive.number);
                self.e_value_of_verdict(decisive, &matches)?
            }
            None => None,
        };
        self.cover(&hidden, &mut covering)?;
        Ok(ShownMatches {
            matches,
            left_out,
            covered: covering.share(),
            recipe: decisive.as_ref().map_or(0, first_recipe),
            decided_by: decisive.map(|decisive| decisive.key.library),
            e_value,
        })
    }

    /// The caveats about an answer. `common`: for each recipe that decides, the number of gems that did not count.
    fn notes(&self, language: Language, common: &[u32], uncompared: usize) -> Vec<String> {
        let asked = &self.in_recipes[..self.checking.asked.len()];
        let mut notes: Vec<String> = asked
            .iter()
            .zip(common)
            .filter_map(|(answered, common)| {
                let told = self.checking.told(answered.asked.recipe);
                answered.note(language, *common, told)
            })
            .collect();
        notes.extend(self.missed(language, self.coverage));
        if uncompared > 0 {
            notes.push(language.note_uncompared(uncompared as u64));
        }
        notes
    }

    /// Warns of the books that no recipe could find, and of recipes that no book has gems of.
    fn missed(
        &self,
        language: Language,
        coverage: Option<Coverage>,
    ) -> impl Iterator<Item = String> {
        let is_empty = coverage.is_none() && self.deciding().iter().all(|of| of.is_empty);
        let all = self.names(0..self.deciding);
        let unused =
            self.names((0..self.deciding).filter(|at| !is_empty && self.in_recipes[*at].is_empty));
        let missed = match coverage {
            Some(coverage) => {
                let names = language.names(&all);
                Some(language.note_missed(
                    coverage.lacking(),
                    coverage.total,
                    &names,
                    all.len() as u64,
                ))
            }
            None if unused.is_empty() => None,
            None => Some(language.note_unused(&language.names(&unused), unused.len() as u64)),
        };
        let remedy = (!unused.is_empty()).then(|| language.note_reindex());
        missed.into_iter().chain(remedy)
    }

    fn names(&self, recipes: impl IntoIterator<Item = usize>) -> Vec<RecipeName> {
        let mut names: Vec<RecipeName> = Vec::new();
        for name in recipes
            .into_iter()
            .map(|recipe| self.in_recipes[recipe].asked.recipe.name())
        {
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

    /// `deciding`: how many matches decide. `others`: how many inform, but for quotations, and how many only `rewriting` found.
    /// `common`: for each recipe, the number of gems that did not count.
    fn reason(&self, deciding: usize, others: [usize; 2], common: &[u32]) -> Reason {
        let answered = self.deciding().iter();
        let [informing, reworded] = others;
        if deciding > 0 {
            Reason::Match
        } else if answered.clone().all(|of| of.is_empty) {
            if informing > reworded {
                Reason::NoneDecides
            } else {
                Reason::NothingToCompare
            }
        } else if answered.clone().all(Answered::is_short) {
            Reason::TooShort
        } else if answered
            .zip(common)
            .all(|(of, common)| of.is_short() || of.is_common(*common))
        {
            Reason::MostlyCommon
        } else if informing > 0 {
            // What could not be checked stays so, whatever untrusted libraries have.
            Reason::NoneDecides
        } else {
            Reason::NoMatch
        }
    }

    /// Counts what matches cover that are not shown.
    fn cover(&self, hidden: &[Judged], covering: &mut Covering<'_>) -> Result<(), StoreError> {
        for found in hidden {
            let (answered, query) = self.of_match(found);
            covering.add(found, answered, &query.aligned(found.number)?);
        }
        Ok(())
    }

    /// What a report tells of the gems of the query, of which these matches are shown.
    fn counts(&self, main: &Answered<'_>, common: u32, shown: &[Match]) -> GemCounts {
        let recipe = main.asked.recipe.name();
        let of_recipe = shown.iter().filter(|found| {
            // Whoever adds a book that only informs changes nothing else that is told.
            found.informational.is_none() && found.recipes.first() == Some(recipe)
        });
        // Around its edges, a text is looked up by gems that a longer one may have, and they are found.
        let found = of_recipe.map(|found| found.score.common).max();
        let told = self.checking.told(main.asked.recipe);
        let bytes = self.checking.bytes.unwrap_or(0);
        let counted = |count| if told.is_exact() { count } else { 0 };
        GemCounts {
            gems: told
                .gems(kept(main.asked.gems), bytes)
                .max(found.unwrap_or(0)),
            looked_up: told.gems(main.asked.gems.len() as u32, bytes),
            common: counted(common),
            allowed: counted(main.count(|probe| self.checking.is_allowed(main.asked, probe))),
        }
    }

    /// How many gems of the query are common, in each recipe that decides.
    fn common_gems(&self) -> Vec<u32> {
        let of_recipe = |of: &Answered<'_>| {
            let common = of.common(self.checking.deciding);
            of.count(|probe| common.contains(&probe.placed.gem))
        };
        self.deciding().iter().map(of_recipe).collect()
    }

    /// Adds the claims of rivals that are not shown.
    fn add_claims(
        &self,
        rivals: &[Judged],
        claims: &mut HashMap<BookNo, Claim>,
    ) -> Result<(), StoreError> {
        for rival in rivals {
            if let Entry::Vacant(claim) = claims.entry(rival.number) {
                let (answered, query) = self.of_match(rival);
                let spans = query.aligned(rival.number)?.spans;
                claim.insert(answered.claim(&rival.key.library, &spans));
            }
        }
        Ok(())
    }

    /// The matches as a report shows them, as far as they fit, and a note on what was left out. Adds what of the
    /// text they have to `covered`. `rivals`: the first matches that decide, which may dispute what is shown.
    fn described(
        &self,
        ToShow { matches, decisive }: ToShow,
        rivals: &[Judged],
        options: &CheckOptions,
        covered: &mut Covering<'_>,
    ) -> Result<(Vec<Match>, Option<String>), StoreError> {
        let decisive = decisive.map(|decisive| decisive.number);
        let (mut shown, mut books) = (Shown::default(), ShownBooks::default());
        for (found, record) in self.checking.with_records(matches)? {
            let (answered, query) = self.of_match(&found);
            let number = found.number;
            let (alignment, gems) = query.compared(number)?;
            covered.add(&found, answered, &alignment);
            let claim = answered.claim(&record.key.library, &alignment.spans);
            books.claims.insert(number, claim);
            let sketch = (first_recipe(&found), Sketch::of(&gems));
            let by_gems = (record.bytes == 0).then_some(number);
            let found = self.shown_match(found, record, alignment, options.detail);
            if shown.add(found, decisive == Some(number)) {
                books.sketches.push(sketch);
                books.by_gems.push(by_gems);
            }
        }
        if books.by_gems.iter().any(Option::is_some) {
            self.add_claims(rivals, &mut books.claims)?;
        }
        let (mut matches, left_out) = shown.finish(options.language);
        books.complete(&mut matches, rivals);
        Ok((matches, left_out))
    }

    /// A match as a report shows it.
    fn shown_match(
        &self,
        found: Judged,
        record: Record,
        alignment: Alignment,
        detail: bool,
    ) -> Match {
        let (answered, _) = self.of_match(&found);
        let has_places = answered.has_places(&alignment.spans);
        let relation = if found.identical {
            Some(Relation::SameText)
        } else if let Some(InformationalReason::Scattered | InformationalReason::Reworded) =
            found.informs
        {
            Some(alignment.relation_if_scattered())
        } else if found.informs == Some(InformationalReason::Quoted) {
            Some(Relation::Quotations)
        } else {
            has_places.then_some(alignment.relation)
        };
        let e_value = self.e_value(&found, &alignment);
        let bytes = [self.checking.bytes.unwrap_or(record.bytes), record.bytes];
        let told = self.checking.told(answered.asked.recipe);
        let (score, evidence, spans) = told.common(found.score, alignment, bytes);
        Match {
            e_value,
            book: BookRef::on(self.checking.day, record),
            recipes: self.names(found.recipes),
            work: 0,
            score,
            relation,
            identical: found.identical,
            evidence,
            spans: if detail && has_places {
                spans
            } else {
                Vec::new()
            },
            exact: None,
            passages: Vec::new(),
            allowed: found.allowed,
            informational: found.informs,
            disputed: false,
        }
    }

    /// How many unrelated books are expected to match as well. Each recipe that was asked could find some. An identical text
    /// is no accident.
    fn e_value(&self, found: &Judged, alignment: &Alignment) -> Option<f64> {
        let (answered, query) = self.of_match(found);
        let fit = Calibration::built_in().of(answered.asked.recipe.name());
        let fit = fit.filter(|_| !found.identical)?;
        let query = query.probes().len() as u64;
        let index = answered.sizes.classes.iter().map(|class| class.gems).sum();
        let in_recipe = fit.e_value(query, index, alignment.segment_score);
        let e_value = in_recipe * self.checking.asked.len() as f64;
        Some(self.checking.told(answered.asked.recipe).e_value(e_value))
    }

    /// That of the match behind the verdict. `shown`: the matches that were compared already.
    fn e_value_of_verdict(
        &self,
        found: &Judged,
        shown: &[Match],
    ) -> Result<Option<f64>, StoreError> {
        let compared = shown.iter().find(|shown| {
            shown.book.library == found.key.library.as_str()
                && shown.book.id == found.key.id.as_str()
        });
        if let Some(compared) = compared {
            return Ok(compared.e_value);
        }
        let (_, query) = self.of_match(found);
        Ok(self.e_value(found, &query.aligned(found.number)?))
    }
}

/// Combines the passages of the text that are in protected books.
struct Covering<'c> {
    checking: &'c Checking<'c>,
    gems: u64,
    covered: Covered,
    /// Whether a book's text is the query's.
    whole: bool,
    /// Whether it is not known where a book's passages are.
    is_unknown: bool,
    /// Whether gems are among them of which not all may be told.
    is_coarse: bool,
}

impl<'c> Covering<'c> {
    fn new(asked: &InRecipe<'_>, checking: &'c Checking<'c>) -> Self {
        Self {
            checking,
            gems: asked.gems.len() as u64,
            covered: Covered::default(),
            whole: false,
            is_unknown: false,
            is_coarse: false,
        }
    }

    /// Adds what of the text a match has, too, if that is known and counts.
    fn add(&mut self, found: &Judged, answered: &Answered<'_>, alignment: &Alignment) {
        if !found.covers() {
            return;
        }
        self.whole |= found.identical;
        let told = self.checking.told(answered.asked.recipe);
        self.is_coarse |= !told.is_exact();
        if !answered.has_places(&alignment.spans) {
            self.is_unknown = true;
            return;
        }
        self.checking.add_same(alignment, &mut self.covered);
    }

    fn share(self) -> Option<f64> {
        match self {
            Self { whole: true, .. } => Some(1.0),
            Self {
                is_unknown: true, ..
            } => None,
            Self {
                covered,
                checking,
                gems,
                is_coarse,
                ..
            } => {
                let share = covered.share(checking.bytes.unwrap_or(gems));
                Some(if is_coarse {
                    whole_percent(share)
                } else {
                    share
                })
            }
        }
    }
}

/// The books of the matches that a report shows.
#[derive(Default)]
struct ShownBooks {
    /// What these and their rivals claim of the text.
    claims: HashMap<BookNo, Claim>,
    /// For each match, the recipe that it is shown with, and a sketch of the book.
    sketches: Vec<(usize, Sketch)>,
    /// For each match, its book if only the gems of it are known.
    by_gems: Vec<Option<BookNo>>,
}

impl ShownBooks {
    /// Says which work each match is of, and which matches are disputed.
    fn complete(&self, matches: &mut [Match], rivals: &[Judged]) {
        // Those that only inform come last, and join no works.
        let joining = matches.partition_point(|found| found.informational.is_none());
        let works = works(&self.sketches, joining);
        for ((found, work), by_gems) in matches.iter_mut().zip(works).zip(&self.by_gems) {
            found.work = work;
            found.disputed = by_gems.is_some_and(|book| self.is_disputed(book, rivals));
        }
    }

    fn is_disputed(&self, book: BookNo, rivals: &[Judged]) -> bool {
        let claim = &self.claims[&book];
        let mut rivals = rivals.iter().map(|rival| &self.claims[&rival.number]);
        rivals.any(|rival| claim.is_disputed_by(rival))
    }
}

/// What a matching book claims of the text.
struct Claim {
    library: Library,
    passages: Vec<Claimed>,
}

impl Claim {
    /// Whether a book of another library has a passage that this one claims, too.
    fn is_disputed_by(&self, other: &Self) -> bool {
        other.library != self.library && Claimed::any_overlap(&self.passages, &other.passages)
    }
}

/// Joins the editions of each work, whose numbers count from 1.
fn by_work(editions: Vec<SharedWork>, numbers: &[u32]) -> Vec<SharedWork> {
    let mut works: BTreeMap<u32, SharedWork> = BTreeMap::new();
    for (edition, number) in editions.into_iter().zip(numbers) {
        match works.get_mut(number) {
            Some(work) => {
                work.authors.extend(edition.authors);
                work.gems.extend(edition.gems);
                work.share = work.share.max(edition.share);
            }
            None => {
                works.insert(*number, edition);
            }
        }
    }
    let mut works: Vec<SharedWork> = works.into_values().collect();
    for work in &mut works {
        work.gems
            .sort_unstable_by_key(|place| (place.start, place.end));
        work.gems.dedup();
    }
    works
}

/// The recipe that a match is shown with: the first that found it.
fn first_recipe(found: &Judged) -> usize {
    found.recipes.first().copied().unwrap_or(0)
}
