//! Adding books.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_gems::{Gem, PackedFold, PlacedGem, Recipe, RecipeName};

use super::amend::checked;
use super::checking::Verdict;
use super::digest::{digest_after, digest_of, digests_of};
use super::entry::{BookGems, Content, NewEntry};
use super::gate::Gated;
use super::gem_list::distinct;
use super::{Books, CatalogueError, Editor, Text};
use crate::api::{Added, Decides, HiddenText, Outcome};
use crate::metrics::METRICS;
use crate::permission::Unless;
use lapidary_store::{BookKey, BookNo, NewBook, Record, Snapshot, Standing};

/// A book with its computed gems, ready for [`Editor::commit`](super::Editor::commit).
#[derive(Debug, Clone)]
pub struct Prepared {
    outcome: Outcome,
    book: NewBook,
    hidden: Option<HiddenText>,
    decides: Option<Decides>,
    gated: Option<Gated>,
}

impl Books<Editor<'_>> {
    /// Computes a book's gems, unless the catalogue already has the same book. This is the CPU-bound part of adding a
    /// book; it changes nothing.
    ///
    /// A text that replaces a book also gets gems of every recipe that the book had, so that no check loses it.
    ///
    /// # Errors
    /// [`StoreError::WouldBeEmpty`](lapidary_store::StoreError::WouldBeEmpty) if a book would lose all its gems of a
    /// recipe and the entry does not allow that; [`CatalogueError::NoSuchRecipe`] for gems of an unknown recipe; and
    /// the errors of an invalid entry; [`StoreError::OtherVersion`](lapidary_store::StoreError::OtherVersion);
    /// [`StoreError::MayNotForbid`](lapidary_store::StoreError::MayNotForbid) if the actor may not add such a book, or replace the one that is there.
    pub fn prepare(&self, entry: NewEntry, recipes: &[Recipe]) -> Result<Prepared, CatalogueError> {
        let entry = self.0.permitted(entry)?;
        let text_kept = entry.text_to_keep().is_some();
        let NewEntry {
            key,
            rights,
            description,
            validity,
            content,
            hidden,
            allow_empty,
            fetched,
            gate,
            condition,
            ..
        } = entry;
        description.within_bounds()?;
        let validity = validity.map(checked).transpose()?.flatten();
        let decides = self.0.libraries().decides(&key.library)?;
        let snapshot = self.0.store.snapshot();
        let (number, before) = stored(&*snapshot, &key)?;
        // Fail early. The store checks again when it writes.
        condition.holds(&key, before.as_ref())?;
        let keeps_folds = matches!(content, Content::Text { .. }) && self.0.keeps_folds()?;
        let mut wanted: BTreeMap<RecipeName, Recipe> = BTreeMap::new();
        let (bytes, text, clean) = match &content {
            Content::Text { text, .. } if text.trim().is_empty() => {
                return Err(CatalogueError::NoText);
            }
            Content::Text { text, clean } => {
                let had = |recipe: &Recipe| {
                    before
                        .as_ref()
                        .is_some_and(|b| b.gems.contains_key(recipe.name()))
                };
                let both = recipes
                    .iter()
                    .cloned()
                    .chain(self.0.recipes().into_iter().filter(had));
                wanted.extend(both.map(|recipe| (recipe.name().clone(), recipe)));
                (Cow::Borrowed(text.as_bytes()), text.as_str(), *clean)
            }
            Content::Gems(BookGems { recipe, gems }) => {
                let recipe = self.0.recipe_named_or_of(recipe.as_ref(), gems)?;
                wanted.insert(recipe.name().clone(), recipe);
                let bytes = gems.iter().flat_map(|&gem| Gem::from(gem).0.to_le_bytes());
                (Cow::Owned(bytes.collect()), "", None)
            }
        };
        let digest = before.as_ref().map_or_else(
            || digest_of(&bytes),
            |before| digest_after(&before.digest, &bytes),
        );
        let mut record = Record {
            key,
            rights,
            description,
            digest,
            clean_digest: None,
            bytes: text.len() as u64,
            clean,
            text_kept,
            gems: BTreeMap::new(),
            changed: Timestamp::now(),
            fetched,
            standing: Standing {
                validity,
                ..Standing::default()
            },
        };
        if let Some(before) = &before {
            // Keep the stored standing: adding a disabled book again does not enable it.
            record.standing = Standing {
                validity: record.standing.validity,
                ..before.standing.clone()
            };
        }
        let stands = text;
        let language = record.description.language.clone();
        let text = Text::bounded(stands, clean)?.in_language(language.as_deref());
        let gated = match (gate, &content) {
            (None, _) => None,
            (Some(gate), Content::Text { .. }) => {
                Some(Gated::of_text(gate, &text, &hidden, self.0.recipes()))
            }
            (Some(gate), Content::Gems(_)) => {
                let recipe = wanted.values().next().cloned();
                recipe
                    .map(|recipe| Gated::of_gems(gate, &content, recipe))
                    .transpose()?
            }
        };
        let hidden = HiddenText::of(&hidden, stands);
        record.clean_digest = match &before {
            // Same text, cleaned the same way.
            Some(before) if before.digest == record.digest && before.clean == clean => {
                before.clean_digest.clone()
            }
            _ if matches!(content, Content::Text { .. }) => text.clean_digest(),
            _ => None,
        };
        if let Some(before) = &before
            && wanted.keys().eq(before.gems.keys())
            && *before
                == (Record {
                    gems: before.gems.clone(),
                    changed: before.changed,
                    fetched: before.fetched,
                    ..record.clone()
                })
            && (!keeps_folds || has_folds(&*snapshot, number, &wanted)?)
        {
            let book = NewBook::without_gems(before.clone(), allow_empty);
            return Ok(Prepared {
                outcome: Outcome::Unchanged,
                book,
                hidden,
                decides,
                gated,
            });
        }
        let (gems, folds) = gems_of(&content, &text, wanted, keeps_folds)?;
        record.gems = gems
            .iter()
            .map(|(name, gems)| (name.clone(), gems.len() as u32))
            .collect();
        if let Some(before) = before.as_ref().filter(|_| !allow_empty) {
            // Fail early for this book alone. The store checks again when it writes.
            before.not_emptied_by(&record, self.0.recipes().iter().map(Recipe::name))?;
        }
        if before
            .as_ref()
            .is_none_or(|before| !record.has_content_of(before))
        {
            record.standing.quarantine = self.0.quarantine_of(&record, &gems)?;
            self.keep_disabled(&mut record, &digests_of(&bytes), &*snapshot)?;
        }
        let outcome = if before.is_some() {
            Outcome::Replaced
        } else {
            Outcome::Added
        };
        let known = snapshot.recipes();
        let complete = matches!(content, Content::Text { .. })
            && known.iter().all(|r| gems.contains_key(r.name()));
        let text = content.into_text().filter(|_| text_kept);
        let book = NewBook {
            record,
            gems,
            folds,
            text,
            allow_empty,
            complete,
            turn: None,
            condition,
        };
        Ok(Prepared {
            outcome,
            book,
            hidden,
            decides,
            gated,
        })
    }
}

/// A book's number and record, if there is one.
fn stored(
    snapshot: &dyn Snapshot,
    key: &BookKey,
) -> Result<(Option<BookNo>, Option<Record>), CatalogueError> {
    let number = snapshot.find(key)?;
    let found = number.map(|number| snapshot.fetch(&[number])).transpose()?;
    Ok((number, found.and_then(|mut found| found.pop().flatten())))
}

impl Books<Editor<'_>> {
    /// Adds a book. A text gets gems of all recipes of the catalogue; a list of gems stays under its own recipe.
    pub fn add(&self, entry: NewEntry) -> Result<Added, CatalogueError> {
        self.0.ensure_recipes(&[])?;
        let _feed = self.0.feed();
        let prepared = self.prepare(entry, &self.0.recipes())?;
        self.land(prepared)
    }

    /// Writes a prepared book to the store, if its gate lets it in.
    pub(super) fn land(&self, mut prepared: Prepared) -> Result<Added, CatalogueError> {
        let added = prepared.added();
        let checked = if let Some(gated) = prepared.gated.take() {
            self.0.admit(prepared, &gated)?
        } else {
            self.write(vec![prepared])?;
            Verdict::default()
        };
        Ok(Added {
            coverage: checked.coverage,
            uncompared: checked.uncompared,
            ..added
        })
    }

    /// Writes prepared books to the store: those without a gate all or none, then the others one by one, as far as their
    /// gates let them in. They are on disk when this returns.
    ///
    /// # Errors
    /// The first error, such as [`CatalogueError::Matches`]. It ends the work.
    pub fn commit(&self, prepared: Vec<Prepared>) -> Result<(), CatalogueError> {
        let (free, gated): (Vec<_>, Vec<_>) = prepared
            .into_iter()
            .partition(|prepared| !prepared.is_gated());
        self.write(free)?;
        gated
            .into_iter()
            .try_for_each(|prepared| self.land(prepared).map(drop))
    }

    /// Writes books, all or none, whatever their gates say.
    pub(super) fn write(&self, prepared: Vec<Prepared>) -> Result<(), CatalogueError> {
        let outcomes: Vec<Outcome> = prepared.iter().map(Prepared::outcome).collect();
        let changed = prepared
            .into_iter()
            .filter(|p| p.outcome != Outcome::Unchanged)
            .map(|p| p.book);
        let books: Vec<NewBook> = changed.collect();
        if !books.is_empty() {
            self.0.store.put(&self.0.actor, books)?;
        }
        for outcome in outcomes {
            METRICS.changed(outcome.as_str(), 1);
        }
        Ok(())
    }
}

/// A book's gems by recipe.
pub(super) type GemsByRecipe = BTreeMap<RecipeName, Vec<PlacedGem>>;

/// Computes a book's gems, and the folds they were cut from if those are kept.
fn gems_of(
    content: &Content,
    text: &Text<'_>,
    recipes: BTreeMap<RecipeName, Recipe>,
    keeps_folds: bool,
) -> Result<(GemsByRecipe, Vec<PackedFold>), CatalogueError> {
    let mut gems = BTreeMap::new();
    let mut folds: Vec<PackedFold> = Vec::new();
    for (name, recipe) in recipes {
        let of_recipe = match content {
            Content::Text { .. } if keeps_folds => {
                if folds.iter().all(|fold| fold.base() != recipe.base()) {
                    folds.extend(text.folded(&recipe));
                }
                folds
                    .iter()
                    .find_map(|fold| recipe.recut(fold))
                    .unwrap_or_else(|| text.gems(&recipe))
            }
            Content::Text { .. } => text.gems(&recipe),
            Content::Gems(BookGems { gems, .. }) => {
                let placeless = |gem| PlacedGem { gem, place: None };
                distinct(gems, &recipe)?
                    .into_iter()
                    .map(placeless)
                    .collect()
            }
        };
        gems.insert(name, of_recipe);
    }
    Ok((gems, folds))
}

/// Whether a fold of the book is stored for each of these recipes.
fn has_folds(
    snapshot: &dyn Snapshot,
    book: Option<BookNo>,
    recipes: &BTreeMap<RecipeName, Recipe>,
) -> Result<bool, CatalogueError> {
    let Some(book) = book else { return Ok(false) };
    for recipe in recipes.values().filter(|recipe| !recipe.is_signature()) {
        if snapshot.fold(recipe.base(), book)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Prepared {
    /// What committing it will do.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// What is told of it once it is written.
    pub(super) fn added(&self) -> Added {
        let Self {
            outcome,
            book,
            hidden,
            decides,
            ..
        } = self;
        let unless = self.is_gated().then_some(Unless::Protected);
        let is_quarantined = book.record.standing.is_quarantined();
        let decides = decides.or(is_quarantined.then_some(Decides::Quarantined));
        let (book, hidden) = (book.record.clone().into(), hidden.clone());
        Added {
            outcome: *outcome,
            book,
            hidden,
            decides,
            coverage: None,
            uncompared: 0,
            unless,
        }
    }

    /// To be written in this turn of the gate, and not after it.
    pub(super) fn within(mut self, turn: Option<u64>) -> Self {
        self.book.turn = turn;
        self
    }

    /// Whether it must pass a gate.
    pub(super) fn is_gated(&self) -> bool {
        self.gated.is_some()
    }

    /// The book's record as it will be stored.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.book.record
    }
}
