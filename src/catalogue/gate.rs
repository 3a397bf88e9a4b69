//! The gate: a book is added only if no protected book matches it.
//!
//! Of books that could match one another, the gate decides about one at a time, from the check until the book is on disk. So
//! the first is added, and the others find it. Other books do not wait ([`super::gate_queue`]), nor do those without a gate.
//! Servers that share a store take turns, whatever the books are.

use std::collections::BTreeSet;

use lapidary_gems::{Probe, Recipe, RecipeName};

use super::add::Prepared;
use super::answer::{CheckOptions, Recipes};
use super::check::{Asked, today};
use super::checking::{Checking, InRecipe, Verdict};
use super::disguise::signs;
use super::gate_queue::{CouldMatch, OfRecipe};
use super::sharing::Turn;
use super::{BookGems, CatalogueError, Content, Editor, Text};
use crate::api::{Disguise, Report, Unless};
use crate::extract::HiddenWords;
use crate::index::{BookId, BookKey, BookNo, Coverage, Library, Outline, Rights, Snapshot};
use crate::language::Language;
use crate::metrics::METRICS;

/// Excludes all books of the library.
const SAME_LIBRARY: &str = "same-library";

/// Refuses a book if the verdict of its check is `protected` or `forbidden`.
///
/// The check is the usual one, with one difference: it must reach every book. A book never matches the version of itself
/// that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Whether the other books of its library do not count, unless they are forbidden.
    pub except_library: bool,
    /// Books of its library that do not count, unless they are forbidden.
    pub except: BTreeSet<BookId>,
    /// Maximum number of matches in the report of a refusal.
    pub limit: usize,
    /// Whether that report has spans.
    pub detail: bool,
    /// The language of its note.
    pub language: Language,
    /// The libraries whose books it names; `None` for all.
    pub visible: Option<BTreeSet<Library>>,
    /// Whether the key requires it. Nothing is excepted then.
    pub required: bool,
}

impl Default for Gate {
    fn default() -> Self {
        let CheckOptions { limit, detail, language, .. } = CheckOptions::default();
        Self { except_library: false, except: BTreeSet::new(), limit, detail, language, visible: None, required: false }
    }
}

impl Gate {
    /// The gate that a request asks for, if any. `except` has ids of books, and `same-library`.
    ///
    /// # Errors
    /// [`CatalogueError::ExceptAlone`] and [`CatalogueError::Name`].
    pub fn of(unless: Option<Unless>, except: Vec<String>) -> Result<Option<Self>, CatalogueError> {
        let Some(Unless::Protected) = unless else {
            return if except.is_empty() { Ok(None) } else { Err(CatalogueError::ExceptAlone) };
        };
        let (library, books): (Vec<_>, Vec<_>) = except.into_iter().partition(|book| book == SAME_LIBRARY);
        let except = books.into_iter().map(BookId::try_from).collect::<Result<_, _>>()?;
        Ok(Some(Self { except_library: !library.is_empty(), except, ..Self::default() }))
    }

    /// The same gate for a key that requires one.
    #[must_use]
    pub fn required(self) -> Self {
        Self { except_library: false, except: BTreeSet::new(), required: true, ..self }
    }

    /// What does not count, as a request names it.
    pub fn exceptions(&self) -> impl Iterator<Item = &str> {
        let library = self.except_library.then_some(SAME_LIBRARY);
        library.into_iter().chain(self.except.iter().map(BookId::as_str))
    }

    fn excludes(&self, book: &BookKey, library: &Library, id: &BookId) -> bool {
        *library == book.library && (self.except_library || self.except.contains(id))
    }
}

/// What the gate checks of a book.
#[derive(Debug, Clone)]
pub(super) struct Gated {
    gate: Gate,
    /// The query in every recipe that the check may use.
    asked: Asked,
    /// The recipe of the gems, if there is no text.
    of_gems: Option<RecipeName>,
    disguise: Option<Disguise>,
}

impl Gated {
    /// The query for a text, in all recipes of the catalogue. Which of them are needed depends on the other books.
    pub(super) fn of_text(gate: Gate, text: &Text<'_>, hidden: &HiddenWords, recipes: Vec<Recipe>) -> Self {
        let asked = Asked::of_text(text.original(), text, recipes);
        Self { gate, asked, of_gems: None, disguise: signs(text.original(), hidden) }
    }

    /// The query for gems of a recipe.
    pub(super) fn of_gems(gate: Gate, content: &Content, recipe: Recipe) -> Result<Self, CatalogueError> {
        let Content::Gems(BookGems { gems, .. }) = content else { return Err(CatalogueError::NoText) };
        let of_gems = Some(recipe.name().clone());
        Ok(Self { gate, asked: Asked::of_gems(gems, None, vec![recipe])?, of_gems, disguise: None })
    }

    /// Whether a check may miss this, so that the book is refused: any book, for a text, because a text has gems of all recipes.
    /// Gems can be compared only with gems of their recipe. Then only books of the same library count: what another library
    /// lacks keeps nobody out.
    fn lacks(
        &self,
        snapshot: &dyn Snapshot,
        library: &Library,
        coverage: Coverage,
    ) -> Result<Option<Coverage>, CatalogueError> {
        let Some(recipe) = &self.of_gems else { return Ok(Some(coverage)) };
        if self.gate.except_library {
            return Ok(None);
        }
        let own = snapshot.library(library)?.and_then(|own| own.coverage(std::slice::from_ref(recipe)));
        Ok(own.filter(|own| own.lacking() > 0))
    }
}

impl Editor<'_> {
    /// Adds a book if its gate lets it in.
    ///
    /// This must not run on a thread of rayon's: while one waits for the reads of a check, it may begin another job, which
    /// would wait for the gate.
    pub(super) fn admit(&self, prepared: Prepared, gated: &Gated) -> Result<Verdict, CatalogueError> {
        let key = prepared.record().key.clone();
        let place = self.gate_queue.enter(&self.actor, self.could_match(gated));
        let mut turn = self.gate_turn()?;
        // Taken in turn, so that it has every book that the gate let in.
        let snapshot = self.store.snapshot();
        let (own, day) = (snapshot.find(&key)?, today());
        let is_left_out = |number: BookNo, outline: &Outline| {
            let is_banned = outline.standing.rights_on(day, outline.rights) == Rights::Forbidden;
            own == Some(number) || !is_banned && gated.gate.excludes(&key, &outline.library, &outline.id)
        };
        let asked = self.needed(&*snapshot, gated)?;
        let (allowances, deciding) = (self.allowances()?, self.deciding_for(self.own_libraries()?)?);
        let checking = Checking {
            snapshot: &*snapshot,
            asked,
            digests: &gated.asked.digests,
            bytes: gated.asked.bytes,
            allowances: &allowances,
            deciding: &deciding,
            day,
            is_left_out: &is_left_out,
        };
        match checking.verdict()? {
            Verdict { rights, .. } if rights.forbids() => {
                // The report takes longer than the verdict.
                drop((turn, place));
                METRICS.refused();
                Err(CatalogueError::Matches(Box::new(gated.report(&checking)?)))
            }
            verdict => {
                let lacks =
                    verdict.coverage.map(|coverage| gated.lacks(&*snapshot, &key.library, coverage)).transpose()?;
                if let Some(coverage) = lacks.flatten() {
                    return Err(CatalogueError::CheckIncomplete { coverage });
                }
                // If this fails, it may still succeed.
                if let Some(turn) = &mut turn {
                    turn.is_open(true);
                }
                self.write(vec![prepared.within(turn.as_ref().and_then(Turn::number))])?;
                if let Some(turn) = &mut turn {
                    turn.is_open(false);
                }
                Ok(verdict)
            }
        }
    }

    /// What decides whether a book could match another that is checked at the same time.
    fn could_match(&self, gated: &Gated) -> CouldMatch {
        if self.store.sharing().is_some() {
            return CouldMatch::Anything;
        }
        let of_recipe = |of: InRecipe<'_>| {
            let gems = of.gems.iter().map(|probe| probe.placed.gem).collect();
            (of.recipe.name().clone(), OfRecipe::new(of.rule.fewest(), gems))
        };
        let recipes = self.in_recipes(&gated.asked.recipes).into_iter().map(of_recipe).collect();
        CouldMatch::These { recipes, digests: gated.asked.digests.clone() }
    }

    /// The query in the recipes that a check of all books needs now.
    fn needed<'g>(&self, snapshot: &dyn Snapshot, gated: &'g Gated) -> Result<Vec<InRecipe<'g>>, CatalogueError> {
        let recipes = gated.of_gems.clone().map_or(Recipes::Usual, |recipe| Recipes::Named(vec![recipe]));
        let options = CheckOptions { recipes, ..CheckOptions::default() };
        let needed = self.recipes_for(snapshot, None, &options)?;
        let find = |recipe: &Recipe| gated.asked.recipes.iter().find(|(asked, _)| asked.name() == recipe.name());
        let found: Option<Vec<&(Recipe, Vec<Probe>)>> = needed.iter().map(find).collect();
        // No recipe is added while a book is.
        let found = found.ok_or(CatalogueError::CheckIncomplete { coverage: Coverage { books: 0, of: 0 } })?;
        Ok(self.in_recipes(found))
    }
}

impl Gated {
    fn report(&self, checking: &Checking<'_>) -> Result<Report, CatalogueError> {
        let Gate { limit, detail, language, visible, required, .. } = &self.gate;
        let options = CheckOptions { limit: *limit, detail: *detail, language: *language, ..CheckOptions::default() };
        let mut report = Report { disguise: self.disguise.clone(), ..checking.report(&options)? };
        if let Some(visible) = visible {
            let deciding = |report: &Report| report.matches.iter().filter(|found| found.informs.is_none()).count();
            let shown = deciding(&report);
            report.matches.retain(|found| visible.iter().any(|library| library.as_str() == found.book.library));
            let hidden = (shown - deciding(&report)) as u64;
            let notes = report.note.take().into_iter().chain((hidden > 0).then(|| language.note_hidden(hidden)));
            let notes: Vec<String> = notes.collect();
            report.note = (!notes.is_empty()).then(|| notes.join("; "));
        }
        if *required {
            let notes = report.note.take().into_iter().chain([language.note_must_gate()]);
            report.note = Some(notes.collect::<Vec<_>>().join("; "));
        }
        Ok(report)
    }
}
