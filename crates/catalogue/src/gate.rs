//! The gate: a book is added only if no protected book matches it.
//!
//! Of books that could match one another, the gate decides about one at a time, from the check until the book is on disk. So
//! the first is added, and the others find it. Other books do not wait ([`super::gate_queue`]), nor do those without a gate.
//!
//! Servers that share a store take turns to write, but not to check. In its turn, a server compares its book with those that
//! were added since the check began, which the audit log names. If one of them could match, the check is made again.

use std::collections::BTreeSet;

use lapidary_gems::{Probe, Recipe, RecipeName};

use super::add::Prepared;
use super::answer::{CheckOptions, Recipes};
use super::authority::Authority;
use super::check::{Asked, today};
use super::checking::{Checking, InRecipe, Verdict};
use super::disguise::signs;
use super::gate_queue::{CouldMatch, GatePlace, OfRecipe};
use super::libraries::Deciding;
use super::recipes::Chosen;
use super::sharing::Turn;
use super::{BookGems, CatalogueError, Content, Editor, Text};
use crate::api::{Disguise, Report, Unless};
use crate::metrics::METRICS;
use lapidary_extract::HiddenWords;
use lapidary_language::Language;
use lapidary_store::{
    Action, AuditFrom, BookId, BookKey, BookNo, Coverage, Library, Rights, Snapshot, StoreError,
};

/// Excludes all books of the library.
const SAME_LIBRARY: &str = "same-library";
/// How often a book is checked outside its turn, if each time others add what could match it. Then it is checked within.
const CHECKS: usize = 3;
/// Number of changes since a check that are looked at. After more of them, it is made again.
const MOST_CHANGES: usize = 1_000;

/// Refuses a book if the verdict of its check is `protected` or `forbidden`.
///
/// The check is the usual one, with one difference: it must reach every book of the library. A book never matches the version of itself
/// that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Whether the other books of its library do not count, unless they are forbidden.
    pub except_library: bool,
    /// Books of its library that do not count, unless they are forbidden.
    pub except: BTreeSet<BookId>,
    /// Maximum number of matches in the report of a refusal, and of those that are told of a book that was added.
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
        let CheckOptions {
            limit,
            detail,
            language,
            ..
        } = CheckOptions::default();
        Self {
            except_library: false,
            except: BTreeSet::new(),
            limit,
            detail,
            language,
            visible: None,
            required: false,
        }
    }
}

impl Gate {
    /// The gate that a request asks for, if any. `except` has ids of books, and `same-library`.
    ///
    /// # Errors
    /// [`CatalogueError::ExceptAlone`] and [`CatalogueError::Name`].
    pub fn of(unless: Option<Unless>, except: Vec<String>) -> Result<Option<Self>, CatalogueError> {
        let Some(Unless::Protected) = unless else {
            return if except.is_empty() {
                Ok(None)
            } else {
                Err(CatalogueError::ExceptAlone)
            };
        };
        let (library, books): (Vec<_>, Vec<_>) =
            except.into_iter().partition(|book| book == SAME_LIBRARY);
        let except = books
            .into_iter()
            .map(BookId::try_from)
            .collect::<Result<_, _>>()?;
        Ok(Some(Self {
            except_library: !library.is_empty(),
            except,
            ..Self::default()
        }))
    }

    /// The same gate for a key that requires one.
    #[must_use]
    pub fn required(self) -> Self {
        Self {
            except_library: false,
            except: BTreeSet::new(),
            required: true,
            ..self
        }
    }

    /// What does not count, as a request names it.
    pub fn exceptions(&self) -> impl Iterator<Item = &str> {
        let library = self.except_library.then_some(SAME_LIBRARY);
        library
            .into_iter()
            .chain(self.except.iter().map(BookId::as_str))
    }

    /// Whether it names the books of a library.
    fn names(&self, library: &str) -> bool {
        let visible = self.visible.as_ref();
        visible.is_none_or(|visible| visible.contains(library))
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
    /// The length of the text, if there is one.
    characters: usize,
    disguise: Option<Disguise>,
}

impl Gated {
    /// The query for a text, in all recipes of the catalogue. Which of them are needed depends on the other books.
    pub(super) fn of_text(
        gate: Gate,
        text: &Text<'_>,
        hidden: &HiddenWords,
        recipes: Vec<Recipe>,
        snapshot: &dyn Snapshot,
        deciding: &Deciding<'_>,
    ) -> Result<Self, CatalogueError> {
        let Chosen { recipes, .. } = recipes.into();
        let mut asked = Asked::of_text(text.original(), text, recipes.into());
        asked.expand(text, snapshot, deciding, None)?;
        Ok(Self {
            gate,
            asked,
            of_gems: None,
            characters: text.original().chars().count(),
            disguise: signs(text.original(), hidden),
        })
    }

    /// The query for gems of a recipe.
    pub(super) fn of_gems(
        gate: Gate,
        content: &Content,
        recipe: Recipe,
    ) -> Result<Self, CatalogueError> {
        let Content::Gems(BookGems { gems, .. }) = content else {
            return Err(CatalogueError::NoText);
        };
        let of_gems = Some(recipe.name().clone());
        Ok(Self {
            gate,
            asked: Asked::of_gems(gems, None, vec![recipe])?,
            of_gems,
            characters: 0,
            disguise: None,
        })
    }

    /// How much of its own library a check with these recipes reaches, if not all, so that the book is refused. What another
    /// library lacks keeps nobody out, nor does the version that it replaces. `all`: how much of all libraries the check reaches.
    fn lacks(
        &self,
        snapshot: &dyn Snapshot,
        library: &Library,
        replaced: Option<BookNo>,
        recipes: &[RecipeName],
        all: Coverage,
    ) -> Result<Option<Coverage>, CatalogueError> {
        if self.gate.except_library {
            return Ok(None);
        }
        let Some(own) = snapshot.library(library)? else {
            return Ok(None);
        };
        // Where the books were not counted by recipe, any of those that are missed may be of this library.
        let mut coverage = own.coverage(recipes).unwrap_or(all);
        if coverage.lacking() > 0
            && let Some(replaced) = snapshot
                .fetch(&replaced.into_iter().collect::<Vec<_>>())?
                .pop()
                .flatten()
            && recipes
                .iter()
                .all(|recipe| !replaced.gems.contains_key(recipe))
        {
            coverage.total -= 1;
        }
        Ok(Some(coverage).filter(|coverage| coverage.lacking() > 0))
    }
}

/// Adds a book if its gate lets it in.
///
/// This must not run on a thread of rayon's: while one waits for the reads of a check, it may begin another job, which
/// would wait for the gate.
pub(super) fn admit(
    editor: &Editor<'_>,
    prepared: Prepared,
    gated: &Gated,
) -> Result<Verdict, CatalogueError> {
    let admission = Admission {
        editor,
        key: prepared.record().key.clone(),
        gated,
        could_match: could_match(editor, gated),
    };
    let could_match = admission.could_match.clone();
    let mut place = Some(editor.gate_queue.enter(&editor.in_line(), could_match));
    let (verdict, turn) = admission.pass(&mut place)?;
    match turn {
        Some(turn) => {
            // If this fails, it may still succeed.
            turn.is_open(true);
            editor.within(&turn).books().write(vec![prepared])?;
            turn.is_open(false);
        }
        None => editor.books().write(vec![prepared])?,
    }
    Ok(verdict)
}

/// A book at the gate.
struct Admission<'a> {
    editor: &'a Editor<'a>,
    key: BookKey,
    gated: &'a Gated,
    could_match: CouldMatch,
}

impl<'a> Admission<'a> {
    /// Checks a book. Returns the turn to write it in, if others share the store.
    fn pass(
        &self,
        place: &mut Option<GatePlace<'_>>,
    ) -> Result<(Verdict, Option<Turn<'a>>), CatalogueError> {
        if !self.editor.is_shared() {
            return Ok((self.judge(|| drop(place.take()))?, None));
        }
        for _ in 0..CHECKS {
            let mut since = self.editor.store.last_audited()?;
            let verdict = self.judge(|| drop(place.take()))?;
            // Most of what was added meanwhile is compared before others wait for it.
            if self.has_new_rival(&mut since)? {
                continue;
            }
            let turn = self.editor.gate_turn()?;
            if !self.has_new_rival(&mut since)? {
                return Ok((verdict, turn));
            }
        }
        let mut turn = self.editor.gate_turn()?;
        let verdict = self.judge(|| drop((turn.take(), place.take())))?;
        Ok((verdict, turn))
    }

    /// Whether a book that could match was added or changed after this entry of the audit log, which becomes the last one.
    fn has_new_rival(&self, since: &mut u64) -> Result<bool, CatalogueError> {
        let entries = self
            .editor
            .store
            .audit(AuditFrom::Behind(*since), MOST_CHANGES)?;
        let Some(last) = entries.last() else {
            return Ok(false);
        };
        *since = last.number;
        if entries.len() == MOST_CHANGES {
            return Ok(true);
        }
        let mut changed = BTreeSet::new();
        for entry in &entries {
            if let Action::Added(book) | Action::Replaced(book) | Action::Amended(book) =
                &entry.action
            {
                changed.insert(BookKey {
                    library: book.library.parse()?,
                    id: book.id.parse()?,
                });
            }
        }
        changed.remove(&self.key);
        let snapshot = self.editor.store.snapshot();
        for other in &changed {
            match self.could_match.could_match_stored(&*snapshot, other) {
                Ok(false) => {}
                Ok(true) | Err(StoreError::Changed(_)) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Decides about a book. `refused` is called before the report of a refusal, which takes longer than the verdict: nobody needs
    /// to wait for it.
    fn judge(&self, refused: impl FnOnce()) -> Result<Verdict, CatalogueError> {
        let Self {
            editor, key, gated, ..
        } = self;
        // Taken now, so that it has every book that could match and was let in here before.
        let snapshot = editor.store.snapshot();
        let (own, day) = (snapshot.find(key)?, today());
        let (allowances, deciding) = (
            editor.allow_lists().combined()?,
            editor
                .libraries()
                .deciding_for(&*snapshot, editor.own_libraries()?)?,
        );
        let [asked, aside] = self.needed(&*snapshot, &deciding)?;
        let has_secret = editor.authority()? == Authority::Administrator;
        let digests = &gated.asked.digests;
        let checking = Checking {
            aside,
            bytes: gated.asked.bytes,
            day,
            exactly: has_secret,
            is_left_out: &|number, outline| {
                let rights = outline.standing.rights_on(day, outline.rights);
                own == Some(number)
                    || rights != Rights::Forbidden
                        && gated.gate.excludes(key, &outline.library, &outline.id)
            },
            decided_by: &|book| {
                if !has_secret {
                    editor.versions.note(&editor.in_line(), &gated.asked, book);
                }
            },
            ..Checking::new(&*snapshot, asked, digests, &allowances, &deciding)
        };
        let verdict = checking.verdict(gated.gate.limit, |library| {
            gated.gate.names(library.as_str())
        })?;
        if verdict.rights.forbids() {
            refused();
            METRICS.changed("refused", 1);
            let report = gated.report(&checking)?;
            let (by, verdict) = (editor.in_line(), verdict.rights.as_str());
            let counted = &editor.check_counts;
            counted.note(&by, verdict, &report, gated.characters);
            return Err(CatalogueError::Matches(Box::new(report)));
        }
        if let Some(all) = verdict.coverage
            && let Some(coverage) =
                gated.lacks(&*snapshot, &key.library, own, &checking.recipes(), all)?
        {
            return Err(CatalogueError::CheckIncomplete { coverage });
        }
        Ok(verdict)
    }

    /// The query in the recipes that a check of all books needs now, and in those that only books which inform need.
    fn needed(
        &self,
        snapshot: &dyn Snapshot,
        deciding: &Deciding<'_>,
    ) -> Result<[Vec<InRecipe<'a>>; 2], CatalogueError> {
        let Self { editor, gated, .. } = self;
        let recipes = gated
            .of_gems
            .clone()
            .map_or(Recipes::Usual, |recipe| Recipes::Named(vec![recipe]));
        let options = CheckOptions {
            recipes,
            ..CheckOptions::default()
        };
        let Chosen { recipes, aside } = editor
            .recipes()
            .of_check(snapshot, deciding, None, &options)?;
        let find = |recipe: &Recipe| {
            gated
                .asked
                .recipes
                .iter()
                .find(|(asked, _)| asked.name() == recipe.name())
        };
        let found: Option<Vec<&(Recipe, Vec<Probe>)>> = recipes.iter().map(find).collect();
        // No recipe is added while a book is.
        let found = found.ok_or(CatalogueError::CheckIncomplete {
            coverage: Coverage { books: 0, total: 0 },
        })?;
        Ok([
            editor.checks().in_recipes(found),
            editor.checks().in_recipes(aside.iter().filter_map(find)),
        ])
    }
}

/// What decides whether a book could match another that is checked at the same time.
fn could_match(editor: &Editor<'_>, gated: &Gated) -> CouldMatch {
    let recipes = editor
        .checks()
        .in_recipes(&gated.asked.recipes)
        .into_iter()
        .map(|of| {
            let gems = of.gems.iter().map(|probe| probe.placed.gem).collect();
            (
                of.recipe.name().clone(),
                OfRecipe::new(of.rule.fewest(), gems),
            )
        })
        .collect();
    CouldMatch::new(recipes, gated.asked.digests.clone())
}

impl Gated {
    fn report(&self, checking: &Checking<'_>) -> Result<Report, CatalogueError> {
        let Gate {
            limit,
            detail,
            language,
            required,
            ..
        } = &self.gate;
        let options = CheckOptions {
            limit: *limit,
            detail: *detail,
            language: *language,
            ..CheckOptions::default()
        };
        let mut report = Report {
            disguise: self.disguise.clone(),
            ..checking.report(&options)?
        };
        let shown = deciding_matches(&report);
        report
            .matches
            .retain(|found| self.gate.names(&found.book.library));
        let hidden = (shown - deciding_matches(&report)) as u64;
        let notes = report
            .note
            .take()
            .into_iter()
            .chain((hidden > 0).then(|| language.note_hidden(hidden)))
            .chain(required.then(|| language.note_must_gate()));
        let notes: Vec<String> = notes.collect();
        report.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(report)
    }
}

fn deciding_matches(report: &Report) -> usize {
    report
        .matches
        .iter()
        .filter(|found| found.informational.is_none())
        .count()
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;
    use lapidary_store::Actor;

    #[test]
    fn books_of_a_source_wait_as_those_of_the_key_that_defined_it() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open_or_create(folder.path()).unwrap();
        let source = |key| catalogue.by(Actor::Local).on_behalf_of(key).in_line();
        assert_eq!(
            source(Some("shop")),
            catalogue.by(Actor::Key("shop".to_owned())).in_line()
        );
        assert_eq!(source(None), Actor::Local);
    }
}
