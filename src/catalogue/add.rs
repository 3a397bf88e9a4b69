//! Adding books.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_gems::{Gem, PackedFold, PlacedGem, Recipe, RecipeName, WrittenGem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amend::checked;
use super::check::distinct;
use super::digest::{digest_after, digest_of};
use super::{Catalogue, CatalogueError, Text};
use crate::index::{BookKey, BookNo, Coverage, NewBook, Record, Rights, Snapshot, Standing, Validity, described};
use crate::metrics::METRICS;

/// A book to add: what it is called, what may be done with it, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Library and id.
    pub key: BookKey,
    /// What may be done with it.
    pub rights: Rights,
    /// The title, if known.
    pub title: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The language as a BCP 47 tag, if known.
    pub language: Option<String>,
    /// ISBNs and other identifiers, as they were given.
    pub identifiers: Vec<String>,
    /// The days that its rights hold on, if not all.
    pub validity: Option<Validity>,
    /// What is in it.
    pub content: Content,
    /// Whether it may take the place of a book that has gems with one that has none.
    pub allow_empty: bool,
}

impl NewEntry {
    /// A book of which nothing else is known.
    #[must_use]
    pub fn new(key: BookKey, rights: Rights, content: Content) -> Self {
        let (title, authors, language, identifiers, validity) = (None, Vec::new(), None, Vec::new(), None);
        Self { key, rights, title, authors, language, identifiers, validity, content, allow_empty: false }
    }
}

/// What is in a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Its text.
    Text {
        /// The text.
        text: String,
        /// Whether it is read without the marks of its printing; `None`: as each recipe does.
        clean: Option<bool>,
    },
    /// Only its gems, under one recipe.
    Gems {
        /// The recipe; the catalogue's default when none is named.
        recipe: Option<RecipeName>,
        /// The gems, in the order of the text.
        gems: Vec<WrittenGem>,
    },
}

impl Content {
    /// A text, read as each recipe does.
    #[must_use]
    pub fn text(text: String) -> Self {
        Self::Text { text, clean: None }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Gems { .. } => None,
        }
    }
}

/// What adding a book did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was not there before.
    Added,
    /// It took the place of another text, other metadata, fewer recipes, or a book without its fold; a disabled book stays
    /// disabled.
    Replaced,
    /// It was there already, just so.
    Unchanged,
}

/// A book with its gems, ready to be put into the store by [`Catalogue::commit`].
#[derive(Debug, Clone)]
pub struct Prepared {
    outcome: Outcome,
    book: NewBook,
}

/// What became of a book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Added {
    /// What adding it did.
    pub outcome: Outcome,
    /// Its record.
    pub book: Record,
}

impl Catalogue {
    /// Adds recipes to the catalogue. The first of a new catalogue is its default; that is `documented` when none is given.
    /// Returns all that the catalogue has, by which every new text is fingerprinted.
    ///
    /// For whoever makes the catalogue, and for administrators: putting books in adds no recipe.
    pub fn ensure_recipes(&self, recipes: &[Recipe]) -> Result<Vec<Recipe>, CatalogueError> {
        let known = self.store.recipes();
        let recipes = match (recipes, known.is_empty()) {
            ([], false) => return Ok(known),
            ([], true) => &[Recipe::documented()],
            (named, _) => named,
        };
        self.between_feeds(|| {
            let holds_none = self.store.snapshot().libraries()?.is_empty();
            for recipe in recipes {
                self.store.add_recipe(recipe)?;
                if holds_none {
                    self.store.make_ready(recipe.name())?;
                }
            }
            Ok(self.store.recipes())
        })
    }

    /// Makes those of these recipes ready that every book has gems of by now; returns the others.
    pub fn ready_recipes(&self, recipes: &[Recipe]) -> Result<Vec<(RecipeName, Coverage)>, CatalogueError> {
        let snapshot = self.store.snapshot();
        let mut incomplete = Vec::new();
        for name in recipes.iter().map(Recipe::name).filter(|name| !snapshot.is_ready(name)) {
            match snapshot.coverage(name)? {
                coverage if coverage.lacking() == 0 => self.store.make_ready(name)?,
                coverage => incomplete.push((name.clone(), coverage)),
            }
        }
        Ok(incomplete)
    }

    /// Adds a book: a text under all recipes of the catalogue, gems under theirs.
    pub fn add(&self, entry: NewEntry) -> Result<Added, CatalogueError> {
        self.ensure_recipes(&[])?;
        let _feed = self.feed();
        let prepared = self.prepare(entry, &self.store.recipes())?;
        let added = Added { outcome: prepared.outcome, book: prepared.book.record.clone() };
        self.commit(vec![prepared])?;
        Ok(added)
    }

    /// Makes a book's gems, unless the catalogue has the same book already. This is the part of adding that takes CPU,
    /// and changes nothing.
    ///
    /// A text that replaces another gets gems under the recipes that the other had too, so that no check loses it.
    ///
    /// # Errors
    /// [`StoreError::WouldBeEmpty`](crate::index::StoreError::WouldBeEmpty) when a book that has gems of a recipe would have none, unless the entry allows that;
    /// [`CatalogueError::NoSuchRecipe`] for gems of a recipe that is not there; and what is wrong with the entry.
    pub fn prepare(&self, entry: NewEntry, recipes: &[Recipe]) -> Result<Prepared, CatalogueError> {
        let NewEntry { key, rights, title, authors, language, identifiers, validity, content, allow_empty } = entry;
        described(title.as_deref(), &authors, language.as_deref(), &identifiers)?;
        let validity = validity.map(checked).transpose()?.flatten();
        let snapshot = self.store.snapshot();
        let number = snapshot.find(&key)?;
        let before =
            number.map(|number| snapshot.fetch(&[number])).transpose()?.and_then(|mut found| found.pop().flatten());
        let keeps_folds = matches!(content, Content::Text { .. }) && self.store.keeps_folds()?;
        let mut wanted: BTreeMap<RecipeName, Recipe> = BTreeMap::new();
        let (bytes, text, clean) = match &content {
            Content::Text { text, .. } if text.trim().is_empty() => return Err(CatalogueError::NoText),
            Content::Text { text, clean } => {
                let had = |recipe: &Recipe| before.as_ref().is_some_and(|b| b.gems.contains_key(recipe.name()));
                let both = recipes.iter().cloned().chain(self.store.recipes().into_iter().filter(had));
                wanted.extend(both.map(|recipe| (recipe.name().clone(), recipe)));
                (Cow::Borrowed(text.as_bytes()), text.as_str(), *clean)
            }
            Content::Gems { recipe, gems } => {
                let recipe = self.recipe(recipe.as_ref())?;
                wanted.insert(recipe.name().clone(), recipe);
                let bytes = gems.iter().flat_map(|&gem| Gem::from(gem).0.to_le_bytes());
                (Cow::Owned(bytes.collect()), "", None)
            }
        };
        let digest = before.as_ref().map_or_else(|| digest_of(&bytes), |before| digest_after(&before.digest, &bytes));
        let mut record = Record {
            key,
            rights,
            title,
            authors,
            language,
            identifiers,
            digest,
            clean_digest: None,
            bytes: text.len() as u64,
            clean,
            gems: BTreeMap::new(),
            changed: Timestamp::now(),
            standing: Standing { validity, ..Standing::default() },
        };
        if let Some(before) = &before {
            // As the store has it: a feed that is sent again makes no disabled book count again.
            record.standing = Standing { validity: record.standing.validity, ..before.standing.clone() };
        }
        let text = Text::bounded(text, clean)?;
        record.clean_digest = match &before {
            // The same text, read in the same way.
            Some(before) if before.digest == record.digest && before.clean == clean => before.clean_digest.clone(),
            _ if matches!(content, Content::Text { .. }) => text.clean_digest(),
            _ => None,
        };
        if let Some(before) = &before
            && wanted.keys().eq(before.gems.keys())
            && *before == (Record { gems: before.gems.clone(), changed: before.changed, ..record.clone() })
            && (!keeps_folds || has_folds(&*snapshot, number, &wanted)?)
        {
            let book = NewBook { record: before.clone(), gems: BTreeMap::new(), folds: Vec::new(), allow_empty };
            return Ok(Prepared { outcome: Outcome::Unchanged, book });
        }
        let (gems, folds) = gems_of(&content, &text, wanted, keeps_folds)?;
        record.gems = gems.iter().map(|(name, gems)| (name.clone(), gems.len() as u32)).collect();
        if let Some(before) = before.as_ref().filter(|_| !allow_empty) {
            // The store asks again, when nothing can change any more; here it concerns this book alone.
            before.not_emptied_by(&record, self.store.recipes().iter().map(Recipe::name))?;
        }
        let outcome = if before.is_some() { Outcome::Replaced } else { Outcome::Added };
        Ok(Prepared { outcome, book: NewBook { record, gems, folds, allow_empty } })
    }

    /// Puts prepared books into the store, all or none of them. When this returns they are on disk.
    pub fn commit(&self, prepared: Vec<Prepared>) -> Result<(), CatalogueError> {
        let outcomes: Vec<Outcome> = prepared.iter().map(Prepared::outcome).collect();
        let changed = prepared.into_iter().filter(|p| p.outcome != Outcome::Unchanged).map(|p| p.book);
        let books: Vec<NewBook> = changed.collect();
        if !books.is_empty() {
            self.store.put(books)?;
        }
        for outcome in outcomes {
            METRICS.put(outcome);
        }
        Ok(())
    }
}

/// The gems of a book, by recipe.
type GemsByRecipe = BTreeMap<RecipeName, Vec<PlacedGem>>;

/// The gems of a book, and the folds that they were cut from, if those are to be kept.
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
                    folds.push(text.folded(&recipe));
                }
                folds.iter().find_map(|fold| recipe.recut(fold)).unwrap_or_else(|| text.gems(&recipe))
            }
            Content::Text { .. } => text.gems(&recipe),
            Content::Gems { gems, .. } => {
                let placeless = |gem| PlacedGem { gem, place: None };
                distinct(gems, &recipe)?.into_iter().map(placeless).collect()
            }
        };
        gems.insert(name, of_recipe);
    }
    Ok((gems, folds))
}

/// Whether a fold is kept of a book for each of these recipes.
fn has_folds(
    snapshot: &dyn Snapshot,
    book: Option<BookNo>,
    recipes: &BTreeMap<RecipeName, Recipe>,
) -> Result<bool, CatalogueError> {
    let Some(book) = book else { return Ok(false) };
    for recipe in recipes.values() {
        if snapshot.fold(recipe.base(), book)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Prepared {
    /// What putting it in will do.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The book's record, as it will be.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.book.record
    }
}
