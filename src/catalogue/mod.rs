//! The operations that people ask for: add, remove, check, list. The only place that joins the steps behind the text; the
//! server and the command line are two faces of it, which read bytes to a text by [`crate::extract`] and have no other
//! logic, so that both always give the same answer.

mod add;
mod allow;
mod amend;
mod answer;
mod check;
mod digest;
mod error;
mod ingest;
mod jobs;
mod keys;
mod looked_up;
mod restore;
mod shown;
mod text;
mod transfer;
mod webhooks;

pub use add::{Added, Content, NewEntry, Outcome, Prepared};
pub use allow::{AllowList, Allowable, Allowed};
pub use amend::Amendment;
pub use answer::{BookRef, CheckOptions, Comparison, Match, Query, Report};
pub use check::{MAX_GEMS, compare};
pub(crate) use digest::digests_of;
pub use error::CatalogueError;
pub use jobs::{Backups, Checkpoint, CutFrom, Job, JobState, RecipeChoice, Task};
pub use keys::{AccessDenied, Key, MadeKey, NewKey, Rate, RateError, Role, Unit, Usage};
use lapidary_gems::{Recipe, RecipeName, Rule};
pub use text::Text;
use text::memory_for;
pub use webhooks::{Failing, MadeWebhook, Webhook};

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::index::{
    Action, AuditEntry, AuditFrom, BookId, BookKey, Library, LibrarySummary, Record, RocksStore, Small, Snapshot,
    Store, UNWATCHED, Vitals,
};
use crate::matching::RuleChanges;
use crate::metrics::METRICS;

/// How many records are read at a time for a page.
const READ_AT_ONCE: usize = 100;

/// A catalogue of books: a store, and what is other than usual in the rule it is checked by. Any number of threads may use one at once.
pub struct Catalogue {
    store: Box<dyn Store>,
    rule: RuleChanges,
    jobs: jobs::Jobs,
    keyring: keys::Keyring,
    allowances: allow::AllowancesRead,
    backups: Backups,
    webhooks: webhooks::Webhooks,
    client_recipe: Option<RecipeName>,
    changing_settings: Mutex<()>,
    /// Shared by those who put books in, from the choice of their recipes until they are on disk; held alone by those who
    /// change which recipes there are. So no book is put in by recipes of the day before.
    feeding: RwLock<()>,
}

impl Catalogue {
    /// Opens the catalogue in a folder.
    pub fn open(folder: &Path) -> Result<Self, CatalogueError> {
        Ok(Self::with_store(Box::new(RocksStore::open(folder)?)))
    }

    /// Opens the catalogue in a folder, or makes one there.
    pub fn open_or_create(folder: &Path) -> Result<Self, CatalogueError> {
        Ok(Self::with_store(Box::new(RocksStore::open_or_create(folder)?)))
    }

    /// As [`Catalogue::open_or_create`], with so many bytes of memory for what was read of the index.
    pub fn open_or_create_with_cache(folder: &Path, cache: usize) -> Result<Self, CatalogueError> {
        Ok(Self::with_store(Box::new(RocksStore::open_or_create_with_cache(folder, cache)?)))
    }

    /// A catalogue on a store.
    #[must_use]
    pub fn with_store(store: Box<dyn Store>) -> Self {
        Self {
            store,
            rule: RuleChanges::default(),
            jobs: jobs::Jobs::default(),
            keyring: keys::Keyring::default(),
            allowances: allow::AllowancesRead::default(),
            backups: Backups::Nowhere,
            webhooks: webhooks::Webhooks::default(),
            client_recipe: None,
            changing_settings: Mutex::default(),
            feeding: RwLock::new(()),
        }
    }

    /// This catalogue with other rules than those that its recipes come with.
    #[must_use]
    pub fn with_rule(self, rule: RuleChanges) -> Self {
        Self { rule, ..self }
    }

    /// This catalogue with a place for its backups.
    #[must_use]
    pub fn with_backups(self, backups: Backups) -> Self {
        Self { backups, ..self }
    }

    /// This catalogue with a recipe that the gems of existing clients are of ([`Catalogue::client_recipe`]).
    #[must_use]
    pub fn with_client_recipe(self, recipe: Option<RecipeName>) -> Self {
        Self { client_recipe: recipe, ..self }
    }

    /// The recipe of gems that come without its name from clients which know no other, whatever the default is by now: the one
    /// that was set, or `released`, as the published client computes, or `documented`, when it is ready; `None` when neither is. So
    /// a recipe that is being added changes nothing here until every book has gems of it.
    #[must_use]
    pub fn client_recipe(&self) -> Option<RecipeName> {
        let snapshot = self.store.snapshot();
        let exact = [Recipe::released(), Recipe::documented()];
        let found = exact.iter().map(Recipe::name).find(|name| snapshot.is_ready(name));
        self.client_recipe.as_ref().or(found).cloned()
    }

    /// Held while books are put in.
    fn feed(&self) -> RwLockReadGuard<'_, ()> {
        self.feeding.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what changes which recipes there are, while nobody puts books in.
    fn between_feeds<T>(&self, change: impl FnOnce() -> T) -> T {
        let _alone = self.feeding.write().unwrap_or_else(PoisonError::into_inner);
        change()
    }

    /// The recipe to use when `asked` for one, or the default; of a new catalogue that is `documented`.
    ///
    /// # Errors
    /// When the catalogue holds no gems of that recipe.
    pub fn recipe(&self, asked: Option<&RecipeName>) -> Result<Recipe, CatalogueError> {
        chosen(self.store.recipes(), asked)
    }

    /// Says whether folds are kept of the books put in from now on, from which another recipe can cut them without their
    /// texts ([`Task::Reindex`]).
    pub fn keep_folds(&self, keep: bool) -> Result<(), CatalogueError> {
        Ok(self.store.keep_folds(keep)?)
    }

    /// About how much memory putting in a text takes at most beside the text; it may stand in a line of JSON.
    pub(crate) fn memory_for(&self, text: &[u8]) -> Result<usize, CatalogueError> {
        Ok(memory_for(text, self.store.keeps_folds()?))
    }

    /// Removes books, and says for each whether it was there.
    pub fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, CatalogueError> {
        let were_there = self.store.remove(keys)?;
        METRICS.removed(were_there.iter().filter(|there| **there).count() as u64);
        Ok(were_there)
    }

    /// A book's record.
    pub fn book(&self, key: &BookKey) -> Result<Option<Record>, CatalogueError> {
        let snapshot = self.store.snapshot();
        match snapshot.find(key)? {
            Some(number) => Ok(snapshot.fetch(&[number])?.pop().flatten()),
            None => Ok(None),
        }
    }

    /// A page of a library: up to `limit` records in the order of their ids, beginning behind `cursor`; fewer, if they are long.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchLibrary`] for a library that holds no book.
    pub fn books(&self, library: &Library, cursor: Option<&BookId>, limit: usize) -> Result<Page, CatalogueError> {
        let snapshot = self.store.snapshot();
        let mut books: Vec<Record> = Vec::new();
        // Some at a time, since a page may be full before it has as many.
        let wanted = limit.saturating_add(1);
        while books.len() < wanted && shown::fitting(&books) >= books.len() {
            let after = books.last().map(|record| record.key.id.clone());
            let some = (wanted - books.len()).min(READ_AT_ONCE);
            let read = snapshot.walk(library, after.as_ref().or(cursor), some)?;
            let is_last = read.len() < some;
            books.extend(read);
            if is_last {
                break;
            }
        }
        if books.is_empty() && !snapshot.libraries()?.iter().any(|summary| summary.library == *library) {
            return Err(CatalogueError::NoSuchLibrary(library.to_string()));
        }
        let shown = limit.min(shown::fitting(&books));
        let more = books.len() > shown;
        books.truncate(shown);
        let next_cursor = books.last().filter(|_| more).map(|record| record.key.id.clone());
        Ok(Page { books, next_cursor })
    }

    /// Every library that holds a book.
    pub fn libraries(&self) -> Result<Vec<LibrarySummary>, CatalogueError> {
        Ok(self.store.snapshot().libraries()?)
    }

    /// The catalogue in numbers.
    pub fn stats(&self) -> Result<Stats, CatalogueError> {
        let snapshot = self.store.snapshot();
        let recipes = Self::recipe_stats(&*snapshot)?;
        let libraries = snapshot.libraries()?;
        let books = libraries.iter().map(|library| library.books).sum();
        let disabled = libraries.iter().map(|library| library.disabled).sum();
        let disk = self.store.disk()?;
        let (disk_bytes, posting_bytes) = (disk.total, disk.postings);
        let rule = self.rule.on(self.recipe(None)?.rule());
        Ok(Stats { books, disabled, recipes, libraries, disk_bytes, posting_bytes, rule })
    }

    fn recipe_stats(snapshot: &dyn Snapshot) -> Result<Vec<RecipeStats>, CatalogueError> {
        let recipes = snapshot.recipes().into_iter().enumerate().map(|(i, recipe)| {
            let classes = snapshot.sizes(recipe.name())?.classes;
            let books = classes.iter().map(|class| class.books).sum();
            let gems = classes.iter().map(|class| class.gems).sum();
            let ready = snapshot.is_ready(recipe.name());
            Ok(RecipeStats { recipe: recipe.name().clone(), default: i == 0, ready, books, gems })
        });
        recipes.collect()
    }

    /// What an administrator watches; costs no more in a large catalogue than in a small one. The metrics of this process
    /// have it from now on.
    pub fn vitals(&self) -> Result<Vitals, CatalogueError> {
        let vitals = self.store.vitals()?;
        METRICS.store.set(&vitals, &Self::recipe_stats(&*self.store.snapshot())?);
        Ok(vitals)
    }

    /// Whether a change could be written now.
    ///
    /// # Errors
    /// Why not, as a change would fail.
    pub fn writable(&self) -> Result<(), CatalogueError> {
        Ok(self.store.writable()?)
    }

    /// Sets room on the disk aside for when it is full, as [`Store::hold_reserve`] does.
    pub fn hold_reserve(&self) -> Result<(), CatalogueError> {
        Ok(self.store.hold_reserve()?)
    }

    /// Whether opening it anew would let it be changed again, as [`Store::wants_reopening`] says.
    #[must_use]
    pub fn wants_reopening(&self) -> bool {
        self.store.wants_reopening()
    }

    /// A page of the audit log: up to `limit` entries.
    pub fn audit(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, CatalogueError> {
        let mut entries = self.store.snapshot().audit(from, limit.saturating_add(1))?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(|entry| entry.number);
        Ok(AuditPage { entries, next })
    }

    /// Reads everything and says what does not fit together, a sentence a fault.
    pub fn verify(&self) -> Result<Vec<String>, CatalogueError> {
        Ok(self.store.snapshot().verify(UNWATCHED)?)
    }

    /// Brings everything into the form that takes the least space and is read the fastest, while others go on reading
    /// and adding.
    pub fn compact(&self) -> Result<(), CatalogueError> {
        Ok(self.store.compact(UNWATCHED)?)
    }

    /// Makes a setting, or with no value removes it; says whether it was there. What goes `along` is changed in the same step.
    fn change_setting(
        &self,
        kind: &str,
        name: &str,
        value: Option<Vec<u8>>,
        along: Option<(Small<'_>, Option<Vec<u8>>)>,
    ) -> Result<bool, CatalogueError> {
        let _changing = self.changing_settings();
        let was_there = self.store.settings(kind)?.iter().any(|(there, _)| there == name);
        let removed = value.is_none();
        if was_there || !removed {
            let action = Action::Setting { kind: kind.to_owned(), name: name.to_owned(), removed };
            let changes: Vec<_> = [(Small::Setting(kind, name), value)].into_iter().chain(along).collect();
            self.store.apply(&changes, &[action])?;
        }
        Ok(was_there)
    }

    /// Held from the reading of settings to the end of a change that depends on it.
    fn changing_settings(&self) -> MutexGuard<'_, ()> {
        self.changing_settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is in memory to disk, for a clean stop.
    pub fn flush(&self) -> Result<(), CatalogueError> {
        Ok(self.store.flush()?)
    }
}

/// The recipe asked for, or the first of these; where there is none yet, `documented`.
fn chosen(recipes: Vec<Recipe>, asked: Option<&RecipeName>) -> Result<Recipe, CatalogueError> {
    let Some(name) = asked else {
        return Ok(recipes.into_iter().next().unwrap_or_else(Recipe::documented));
    };
    let found = recipes.iter().find(|recipe| recipe.name() == name).cloned();
    found.ok_or_else(|| CatalogueError::no_such_recipe(name, &recipes))
}

/// A page of a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page {
    /// The records.
    pub books: Vec<Record>,
    /// The cursor of the next page; `null` on the last.
    pub next_cursor: Option<BookId>,
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The entries, the oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number behind which the next page begins; `null` on the last.
    pub next: Option<u64>,
}

/// A catalogue in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    /// How many books it holds.
    pub books: u64,
    /// How many of them are disabled, and counted by no check.
    #[serde(default)]
    pub disabled: u64,
    /// What it holds under each recipe, the default first.
    pub recipes: Vec<RecipeStats>,
    /// Its libraries.
    pub libraries: Vec<LibrarySummary>,
    /// The size of its files.
    pub disk_bytes: u64,
    /// The size of the posting lists among them.
    pub posting_bytes: u64,
    /// The rule it checks by under the default recipe.
    pub rule: Rule,
}

/// What a catalogue holds under one recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecipeStats {
    /// The recipe.
    #[schema(value_type = String)]
    pub recipe: RecipeName,
    /// Whether a check uses it when none is named.
    pub default: bool,
    /// Whether a check that names it needs no `allow_incomplete`: it was made the default, or every book had gems of it.
    #[serde(default)]
    pub ready: bool,
    /// How many books have gems of it, or were too short for one.
    pub books: u64,
    /// How many gems they have together: the postings of the index.
    pub gems: u64,
}
