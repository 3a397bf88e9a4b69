//! Allow-lists: gems that are not counted and books that do not affect verdicts, so that a publisher's boilerplate or
//! a licensed quotation never blocks a text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;
use lapidary_gems::{Gem, RecipeName, WrittenGem};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::gem_list::distinct;
use super::settings::put;
use super::{BookGems, Catalogue, CatalogueError, Content, Editor, Text};
use crate::api::AllowList;
use lapidary_store::{BookId, BookKey, Library, NOTE_BYTES, Outline, RowChange, Table};

/// What to put in an allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowable {
    /// The gems of a text, or a list of gems.
    Gems(Content),
    /// A book.
    Book(BookKey),
}

/// An allow-list, as stored.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
struct StoredAllowList {
    name: BookId,
    #[serde(flatten)]
    allowed: KeptContent,
    /// The digest of the book's content when it was allowed.
    digest: Option<String>,
    note: Option<String>,
    since: Timestamp,
}

/// The content of an allow-list, as stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptContent {
    Gems(BTreeMap<RecipeName, Vec<WrittenGem>>),
    Book(BookKey),
}

impl From<StoredAllowList> for AllowList {
    /// As it is shown: without gems of secret recipes.
    fn from(
        StoredAllowList {
            name,
            allowed,
            digest,
            note,
            since,
        }: StoredAllowList,
    ) -> Self {
        let (gems, book) = match allowed {
            KeptContent::Gems(mut gems) => {
                gems.retain(|recipe, _| recipe.without_secret().is_none());
                (Some(gems), None)
            }
            KeptContent::Book(book) => (None, Some(book)),
        };
        Self {
            name,
            gems,
            book,
            digest,
            note,
            created_at: since,
        }
    }
}

/// All allow-lists combined, as a check needs them.
#[derive(Debug, Default)]
pub(super) struct Allowances {
    gems: HashMap<RecipeName, HashSet<Gem>>,
    books: HashMap<Library, AllowedBooks>,
    /// The names of the lists, and since when each is as it is.
    versions: Vec<(BookId, Timestamp)>,
}

/// The books of a library that are allowed: by their ids, and by the digests of their content.
#[derive(Debug, Default)]
struct AllowedBooks {
    ids: HashSet<BookId>,
    digests: HashSet<String>,
}

impl Allowances {
    fn of(lists: BTreeMap<String, StoredAllowList>) -> Self {
        let mut all = Self::default();
        for list in lists.into_values() {
            all.versions.push((list.name, list.since));
            match list.allowed {
                KeptContent::Book(BookKey { library, id }) => {
                    let of_library = all.books.entry(library).or_default();
                    of_library.ids.insert(id);
                    of_library.digests.extend(list.digest);
                }
                KeptContent::Gems(gems) => {
                    for (recipe, gems) in gems {
                        let of_recipe = all.gems.entry(recipe).or_default();
                        of_recipe.extend(gems.into_iter().map(Gem::from));
                    }
                }
            }
        }
        all
    }

    /// The names of the lists, and since when each is as it is: what a check depends on.
    pub(super) fn versions(&self) -> &[(BookId, Timestamp)] {
        &self.versions
    }

    pub(super) fn gem(&self, recipe: &RecipeName, gem: Gem) -> bool {
        self.gems
            .get(recipe)
            .is_some_and(|gems| gems.contains(&gem))
    }

    pub(super) fn book(&self, book: &Outline) -> bool {
        let allowed = self.books.get(&book.library);
        allowed.is_some_and(|allowed| {
            allowed.ids.contains(&book.id) || allowed.digests.contains(&book.digest)
        })
    }
}

/// The allow-lists of a catalogue ([`Catalogue::allow_lists`]). Who has an [`Editor`] changes them.
#[derive(Debug, Clone)]
pub struct AllowLists<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> AllowLists<C> {
    /// All allow-lists, by name.
    pub fn list(&self) -> Result<Vec<AllowList>, CatalogueError> {
        Ok(self.stored()?.into_values().map(Into::into).collect())
    }

    /// The allow-list of this name.
    pub fn get(&self, name: &BookId) -> Result<Option<AllowList>, CatalogueError> {
        let mut stored = self.stored()?;
        Ok(stored.remove(name.as_str()).map(Into::into))
    }

    fn stored(&self) -> Result<BTreeMap<String, StoredAllowList>, CatalogueError> {
        self.0.rows(Table::AllowLists)
    }

    /// All allow-lists combined.
    pub(super) fn combined(&self) -> Result<Arc<Allowances>, CatalogueError> {
        self.0
            .allowances
            .get(&self.0, || Ok(Allowances::of(self.stored()?)))
    }

    /// Reads the allow-lists again, because others may have changed them.
    pub(super) fn learn(&self) -> Result<(), CatalogueError> {
        self.0
            .allowances
            .learn(|| Ok(Allowances::of(self.stored()?)))
    }
}

impl AllowLists<Editor<'_>> {
    /// Creates an allow-list, or replaces the one of the same name. Returns whether one existed.
    ///
    /// The gems of a text are stored for every recipe that the catalogue has now. The text itself is not stored.
    ///
    /// # Errors
    /// [`CatalogueError::NothingToAllow`] if there are no gems, [`CatalogueError::LongNote`].
    pub fn put(
        &self,
        name: BookId,
        what: Allowable,
        note: Option<String>,
    ) -> Result<(AllowList, bool), CatalogueError> {
        if note.as_ref().is_some_and(|note| note.len() > NOTE_BYTES) {
            return Err(CatalogueError::LongNote);
        }
        let allowed = match what {
            Allowable::Book(book) => KeptContent::Book(book),
            Allowable::Gems(content) => {
                let mut gems = self.gems_of(content)?;
                gems.retain(|_, gems| !gems.is_empty());
                if gems.is_empty() {
                    return Err(CatalogueError::NothingToAllow);
                }
                KeptContent::Gems(gems)
            }
        };
        // The same content under another id is allowed, too.
        let digest = match &allowed {
            KeptContent::Book(book) => self.0.books().get(book)?.map(|record| record.digest),
            KeptContent::Gems(_) => None,
        };
        let list = StoredAllowList {
            name,
            allowed,
            digest,
            note,
            since: Timestamp::now(),
        };
        let replaced = self.change(put(Table::AllowLists, list.name.as_str(), &list))?;
        Ok((list.into(), replaced))
    }

    /// Removes an allow-list. Returns whether it existed.
    pub fn remove(&self, name: &BookId) -> Result<bool, CatalogueError> {
        self.change(RowChange::delete(Table::AllowLists, name.as_str()))
    }

    fn change(&self, change: RowChange) -> Result<bool, CatalogueError> {
        let changed = self.0.change_setting(change, None);
        self.0.allowances.forget();
        changed
    }

    fn gems_of(
        &self,
        content: Content,
    ) -> Result<BTreeMap<RecipeName, Vec<WrittenGem>>, CatalogueError> {
        match content {
            Content::Text { text, clean } => {
                let recipes = self.0.recipes().ensure(&[])?;
                let text = Text::bounded(&text, clean)?;
                // All that a check of this text may look up, not only what a book would have.
                let mut gems = BTreeMap::new();
                for recipe in &recipes {
                    let probes = text.probes(recipe);
                    let distinct: BTreeSet<Gem> =
                        probes.iter().map(|probe| probe.placed.gem).collect();
                    let written = distinct.into_iter().map(|gem| recipe.write(gem));
                    gems.insert(recipe.name().clone(), written.collect());
                }
                Ok(gems)
            }
            Content::Gems(BookGems { recipe, gems }) => {
                let recipe = self.0.recipes().named_or_of(recipe.as_ref(), &gems)?;
                let gems = distinct(&gems, &recipe)?
                    .into_iter()
                    .map(|gem| recipe.write(gem));
                Ok([(recipe.name().clone(), gems.collect())].into())
            }
        }
    }
}
