//! Adding books.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_gems::{Gem, PackedFold, PlacedGem, Recipe, RecipeName};

use super::amend::checked;
use super::checking::Verdict;
use super::collage::quarantine_of;
use super::digest::{digest_after, digest_of, digests_of};
use super::entry::{BookGems, Content, NewEntry};
use super::gate::{Gated, admit};
use super::gem_list::distinct;
use super::{Books, CatalogueError, Editor, Text};
use crate::api::{AddOutcome, Added, HiddenText, Restriction};
use crate::metrics::METRICS;
use crate::permission::Unless;
use lapidary_store::{BookKey, BookNo, NewBook, Record, Snapshot, Standing, StoreError, Validity};

/// A book with its computed gems, ready for [`Books::commit`].
#[derive(Debug, Clone)]
pub struct Prepared {
    outcome: AddOutcome,
    book: NewBook,
    hidden: Option<HiddenText>,
    restriction: Option<Restriction>,
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
        entry.description.within_bounds()?;
        let validity = entry.validity.clone().map(checked).transpose()?.flatten();
        let restriction = self.0.libraries().restriction(&entry.key.library)?;
        let snapshot = self.0.store.snapshot();
        let stored = StoredBook::find(&*snapshot, &entry.key)?;
        // Fail early. The store checks again when it writes.
        let before = stored.as_ref().map(|stored| &stored.record);
        entry.condition.holds(&entry.key, before)?;
        let source = self.source(&entry, recipes, before)?;
        let gated = self.gated(&source, &entry, &*snapshot)?;
        let hidden = HiddenText::of(&entry.hidden, source.text.original());
        let record = source.record(&entry, validity, before);
        let (outcome, mut book) = match stored {
            Some(stored) if stored.is_same(&*snapshot, &record, &source)? => {
                let book = NewBook::without_gems(stored.record, entry.allow_empty);
                (AddOutcome::Unchanged, book)
            }
            _ => {
                let outcome = before.map_or(AddOutcome::Added, |_| AddOutcome::Replaced);
                let book = self.fingerprinted(&*snapshot, &entry, &source, record, before)?;
                (outcome, book)
            }
        };
        // Moved, not copied: it may be long.
        if outcome != AddOutcome::Unchanged && entry.keep_text {
            book.text = entry.content.into_text();
        }
        Ok(Prepared {
            outcome,
            book,
            hidden,
            restriction,
            gated,
        })
    }

    /// What the gems of a book are computed from. `before`: the book that it replaces.
    fn source<'a>(
        &self,
        entry: &'a NewEntry,
        recipes: &[Recipe],
        before: Option<&Record>,
    ) -> Result<BookSource<'a>, CatalogueError> {
        match &entry.content {
            Content::Text { text, .. } if text.trim().is_empty() => Err(CatalogueError::NoText),
            Content::Text { text, clean } => {
                let recipes = self.recipes_of_text(recipes, before).into_iter();
                Ok(BookSource {
                    content: &entry.content,
                    text: Text::bounded(text, *clean)?
                        .in_language(entry.description.language.as_deref()),
                    clean: *clean,
                    bytes: Cow::Borrowed(text.as_bytes()),
                    recipes: recipes
                        .map(|recipe| (recipe.name().clone(), recipe))
                        .collect(),
                    keeps_folds: self.0.keeps_folds()?,
                })
            }
            Content::Gems(BookGems { recipe, gems }) => {
                let recipe = self.0.recipes().named_or_of(recipe.as_ref(), gems)?;
                let bytes = gems.iter().flat_map(|&gem| Gem::from(gem).0.to_le_bytes());
                Ok(BookSource {
                    content: &entry.content,
                    text: Text::new("", None),
                    clean: None,
                    bytes: Cow::Owned(bytes.collect()),
                    recipes: BTreeMap::from([(recipe.name().clone(), recipe)]),
                    keeps_folds: false,
                })
            }
        }
    }

    /// What the gate of a book checks, if it has one.
    fn gated(
        &self,
        source: &BookSource<'_>,
        entry: &NewEntry,
        snapshot: &dyn Snapshot,
    ) -> Result<Option<Gated>, CatalogueError> {
        let Some(gate) = entry.gate.clone() else {
            return Ok(None);
        };
        if !source.is_text() {
            let recipe = source.recipes.values().next().cloned();
            return recipe
                .map(|recipe| Gated::of_gems(gate, source.content, recipe))
                .transpose();
        }
        let libraries = self.0.libraries();
        let deciding = libraries.deciding_for(snapshot, self.0.own_libraries()?)?;
        let recipes = self.0.recipes().all();
        let gated = Gated::of_text(
            gate,
            &source.text,
            &entry.hidden,
            recipes,
            snapshot,
            &deciding,
        );
        gated.map(Some)
    }

    /// These recipes, and those of the book that is replaced.
    fn recipes_of_text(&self, recipes: &[Recipe], before: Option<&Record>) -> Vec<Recipe> {
        let mut recipes = recipes.to_vec();
        if let Some(before) = before {
            let known = self.0.recipes().all().into_iter();
            recipes.extend(known.filter(|known| before.gems.contains_key(known.name())));
        }
        recipes
    }

    /// The book with its gems. `before`: the book that it replaces.
    fn fingerprinted(
        &self,
        snapshot: &dyn Snapshot,
        entry: &NewEntry,
        source: &BookSource<'_>,
        mut record: Record,
        before: Option<&Record>,
    ) -> Result<NewBook, CatalogueError> {
        let (gems, folds) = source.gems()?;
        record.gems = gems
            .iter()
            .map(|(name, gems)| (name.clone(), gems.len() as u32))
            .collect();
        if let Some(before) = before.filter(|_| !entry.allow_empty) {
            // Fail early for this book alone. The store checks again when it writes.
            before.not_emptied_by(&record, self.0.recipes().all().iter().map(Recipe::name))?;
        }
        if before.is_none_or(|before| !record.has_content_of(before)) {
            record.standing.quarantine = quarantine_of(&self.0, &record, &gems)?;
            self.keep_disabled(&mut record, &digests_of(&source.bytes), snapshot)?;
        }
        let is_complete = snapshot
            .recipes()
            .iter()
            .all(|recipe| gems.contains_key(recipe.name()));
        Ok(NewBook {
            gems,
            folds,
            complete: source.is_text() && is_complete,
            condition: entry.condition.clone(),
            ..NewBook::without_gems(record, entry.allow_empty)
        })
    }
}

/// The gems of a book under a recipe from its fold, or else from its text, if either is known.
pub(super) fn recut_of(
    recipe: &Recipe,
    record: &Record,
    fold: Option<&PackedFold>,
    text: Option<&str>,
) -> Result<Option<Vec<PlacedGem>>, CatalogueError> {
    if let Some(gems) = fold.and_then(|fold| recipe.recut(fold)) {
        return Ok(Some(gems));
    }
    let Some(text) = text else {
        return Ok(None);
    };
    Ok(Some(text_of(record, text)?.gems(recipe)))
}

/// The text of a book as it was read when the book was added.
pub(super) fn text_of<'a>(record: &'a Record, text: &'a str) -> Result<Text<'a>, CatalogueError> {
    let language = record.description.language.as_deref();
    Ok(Text::bounded(text, record.clean)?.in_language(language))
}

/// A book of the catalogue.
pub(super) struct StoredBook {
    pub(super) number: BookNo,
    pub(super) record: Record,
}

impl StoredBook {
    pub(super) fn find(snapshot: &dyn Snapshot, key: &BookKey) -> Result<Option<Self>, StoreError> {
        let Some(number) = snapshot.find(key)? else {
            return Ok(None);
        };
        let record = snapshot.fetch(&[number])?.pop().flatten();
        Ok(record.map(|record| Self { number, record }))
    }

    /// Whether a new record says the same, and everything that its source would add is stored.
    fn is_same(
        &self,
        snapshot: &dyn Snapshot,
        record: &Record,
        source: &BookSource<'_>,
    ) -> Result<bool, CatalogueError> {
        let as_stored = Record {
            gems: self.record.gems.clone(),
            changed_at: self.record.changed_at,
            fetched_at: self.record.fetched_at,
            ..record.clone()
        };
        let is_same = source.recipes.keys().eq(self.record.gems.keys()) && self.record == as_stored;
        Ok(
            is_same
                && (!source.keeps_folds || self.has_folds(snapshot, source.recipes.values())?),
        )
    }

    /// Whether a fold of the book is stored for each of these recipes.
    fn has_folds<'r>(
        &self,
        snapshot: &dyn Snapshot,
        recipes: impl Iterator<Item = &'r Recipe>,
    ) -> Result<bool, CatalogueError> {
        for recipe in recipes.filter(|recipe| !recipe.is_signature()) {
            if snapshot.fold(recipe.base(), self.number)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What the gems of a book are computed from.
struct BookSource<'a> {
    content: &'a Content,
    /// Empty if only gems are known.
    text: Text<'a>,
    clean: Option<bool>,
    /// What its digest is computed from.
    bytes: Cow<'a, [u8]>,
    recipes: BTreeMap<RecipeName, Recipe>,
    keeps_folds: bool,
}

impl BookSource<'_> {
    fn is_text(&self) -> bool {
        matches!(self.content, Content::Text { .. })
    }

    /// The record of the book, without gems. `before`: that of the book that it replaces.
    fn record(
        &self,
        entry: &NewEntry,
        validity: Option<Validity>,
        before: Option<&Record>,
    ) -> Record {
        let digest = match before {
            Some(before) => digest_after(&before.digest, &self.bytes),
            None => digest_of(&self.bytes),
        };
        let clean_digest = match before {
            // Same text, cleaned the same way.
            Some(before) if before.digest == digest && before.clean == self.clean => {
                before.clean_digest.clone()
            }
            _ if self.is_text() => self.text.clean_digest(),
            _ => None,
        };
        // Adding a disabled book again does not enable it, but a removed one is restored.
        let mut standing = before.map_or_else(Standing::default, |before| before.standing.clone());
        standing.restore();
        Record {
            key: entry.key.clone(),
            rights: entry.rights,
            description: entry.description.clone(),
            digest,
            clean_digest,
            bytes: self.text.original().len() as u64,
            clean: self.clean,
            text_kept: entry.text_to_keep().is_some(),
            gems: BTreeMap::new(),
            changed_at: Timestamp::now(),
            fetched_at: entry.fetched,
            standing: Standing {
                validity,
                ..standing
            },
        }
    }

    /// The gems in each recipe, and the folds they were cut from if those are kept.
    fn gems(&self) -> Result<(GemsByRecipe, Vec<PackedFold>), CatalogueError> {
        let (mut gems, mut folds) = (BTreeMap::new(), Vec::new());
        for (name, recipe) in &self.recipes {
            let of_recipe = match self.content {
                Content::Text { .. } if self.keeps_folds => self.cut(recipe, &mut folds),
                Content::Text { .. } => self.text.gems(recipe),
                Content::Gems(BookGems { gems, .. }) => {
                    let gems = distinct(gems, recipe)?.into_iter();
                    gems.map(|gem| PlacedGem { gem, place: None }).collect()
                }
            };
            gems.insert(name.clone(), of_recipe);
        }
        Ok((gems, folds))
    }

    /// The gems of the text, cut from its fold, which is added to `folds` if it is missing there.
    fn cut(&self, recipe: &Recipe, folds: &mut Vec<PackedFold>) -> Vec<PlacedGem> {
        if folds.iter().all(|fold| fold.base() != recipe.base()) {
            folds.extend(self.text.folded(recipe));
        }
        let cut = folds.iter().find_map(|fold| recipe.recut(fold));
        cut.unwrap_or_else(|| self.text.gems(recipe))
    }
}

impl Books<Editor<'_>> {
    /// Adds a book. A text gets gems of all recipes of the catalogue; a list of gems stays under its own recipe.
    pub fn add(&self, entry: NewEntry) -> Result<Added, CatalogueError> {
        self.0.recipes().ensure(&[])?;
        let _feed = self.0.feeding.shared();
        let prepared = self.prepare(entry, &self.0.recipes().all())?;
        self.land(prepared)
    }

    /// Writes a prepared book to the store, if its gate lets it in.
    pub(super) fn land(&self, mut prepared: Prepared) -> Result<Added, CatalogueError> {
        let added = prepared.added();
        let checked = if let Some(gated) = prepared.gated.take() {
            admit(&self.0, prepared, &gated)?
        } else {
            self.write(vec![prepared])?;
            Verdict::default()
        };
        Ok(Added {
            coverage: checked.coverage,
            uncompared: checked.uncompared,
            matches: checked.matches,
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
        let outcomes: Vec<AddOutcome> = prepared.iter().map(Prepared::outcome).collect();
        let changed = prepared
            .into_iter()
            .filter(|p| p.outcome != AddOutcome::Unchanged)
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

impl Prepared {
    /// What committing it will do.
    #[must_use]
    pub fn outcome(&self) -> AddOutcome {
        self.outcome
    }

    /// What is told of it once it is written.
    pub(super) fn added(&self) -> Added {
        let Self {
            outcome,
            book,
            hidden,
            restriction,
            ..
        } = self;
        let unless = self.is_gated().then_some(Unless::Protected);
        let is_quarantined = book.record.standing.is_quarantined();
        let restriction = restriction.or(is_quarantined.then_some(Restriction::Quarantined));
        let (book, hidden) = (book.record.clone().into(), hidden.clone());
        Added {
            outcome: *outcome,
            book,
            hidden,
            restriction,
            coverage: None,
            uncompared: 0,
            matches: Vec::new(),
            unless,
        }
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
