//! Catalogue operations: add, remove, check, list and so on.
//!
//! This is the only module that combines the steps behind an answer. The server and the command line are thin layers
//! over it: they turn bytes into text with [`lapidary_extract`] and contain no other logic, so both always give the
//! same answer.

pub mod addresses;
pub mod api;
pub mod client;
pub mod duplicate_groups;
pub mod history;
pub mod id;
pub mod json;
pub mod metrics;
pub mod object;
pub mod onix;
pub mod parse;
pub mod permission;
pub mod sources;

mod add;
mod allow;
mod amend;
mod answer;
mod authority;
mod check;
mod checking;
mod choice;
mod collage;
mod copy;
mod decisions;
mod digest;
mod disguise;
mod doctor;
mod duplicates;
mod editor;
mod entry;
mod error;
mod find;
mod gate;
mod gate_queue;
mod given;
mod ingest;
mod jobs;
mod kept;
mod keys;
mod leased;
mod nodes;
mod pages;
mod restore;
mod rows;
mod sharing;
mod shown;
mod suspects;
mod text;
mod transfer;
mod trust;
mod webhooks;
mod whole;

pub use add::Prepared;
pub use allow::Allowable;
pub use answer::{CheckOptions, Comparison, Query, Recipes, TextGems};
pub use check::compare;
pub use copy::Copied;
pub use decisions::{Case, SoughtDecisions};
pub use digest::digests_of;
pub use doctor::SOON;
pub use duplicates::{DuplicateOptions, Duplicates, FoundDuplicates};
pub use editor::Editor;
pub use entry::{BookGems, Content, NewEntry, TextOr};
pub use error::CatalogueError;
pub use find::Sought;
pub use gate::Gate;
pub use given::MAX_GEMS;
pub use jobs::Backups;
pub use kept::{MOST_COMPARED, side_by_side};
pub use keys::{AccessDenied, Key, UnwrittenRevocation, Usage};
use lapidary_gems::{Lexicon, Recipe, RecipeName};
pub use leased::{Leased, Stop};
pub use rows::put;
use sharing::{GATE, Turn};
pub use text::Text;
use text::memory_for;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::api::{AuditEntry, AuditPage, LexiconStats, Page, RecipeStats, Stats};
use crate::metrics::METRICS;
use lapidary_checking::RuleChanges;
use lapidary_store::{
    Administration, AuditFrom, BookId, BookKey, ClusterVitals, Condition, Library, Record,
    RocksStore, Snapshot, Store, StoreError, UNWATCHED, Vitals,
};
use lapidary_store_redis::{ClusterAddress, ClusterStore};

/// The operations that need an [`Administration`], as named in error messages.
const BACKUPS: &str = "backups";
const COMPACTION: &str = "compaction";
const VERIFICATION: &str = "verification";
/// Number of records fetched at a time while filling a page.
const READ_AT_ONCE: usize = 100;
/// How long a change of the recipes looks for a moment in which no books are being added.
const FEEDS: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(2);
/// How much of the audit log is read for those entries of it that are about some books.
const AUDIT_PAGES: usize = 50;
const AUDIT_PAGE: usize = 1_000;

/// A catalogue of books: a store, plus any changes to the rule that checks use. It can be used from any number of
/// threads at once.
pub struct Catalogue {
    store: Box<dyn Store>,
    rule: RuleChanges,
    jobs: jobs::Jobs,
    keyring: keys::Keyring,
    allowances: allow::AllowancesRead,
    trust: trust::TrustRead,
    backups: Backups,
    webhooks: webhooks::Webhooks,
    client_recipe: Option<RecipeName>,
    changing_settings: Mutex<()>,
    /// Books that are checked and added in one step ([`gate`]).
    gate_queue: gate_queue::GateQueue,
    /// Held while this process has the turn of the gate among all that share the store.
    gating: Mutex<()>,
    leased_here: leased::LeasedHere,
    /// Names this process to others that share the store.
    process: String,
    /// Whether it learns in the background what they change.
    follows: AtomicBool,
    /// Writers of books hold this shared lock from choosing the recipes until the books are on disk. Adding or hiding
    /// a recipe holds it exclusively. So no book is written with an outdated set of recipes.
    feeding: RwLock<()>,
}

impl Catalogue {
    /// Opens the catalogue in a folder.
    pub fn open(folder: &Path) -> Result<Self, CatalogueError> {
        Self::with_store(Box::new(RocksStore::open(folder)?)).complete()
    }

    /// Like [`Catalogue::open`], with a read cache of `cache` bytes.
    pub fn open_with_cache(folder: &Path, cache: usize) -> Result<Self, CatalogueError> {
        Self::with_store(Box::new(RocksStore::open_with_cache(folder, cache)?)).complete()
    }

    /// Opens the catalogue in a folder, or creates one there.
    pub fn open_or_create(folder: &Path) -> Result<Self, CatalogueError> {
        Self::with_store(Box::new(RocksStore::open_or_create(folder)?)).complete()
    }

    /// Like [`Catalogue::open_or_create`], with a read cache of `cache` bytes.
    pub fn open_or_create_with_cache(folder: &Path, cache: usize) -> Result<Self, CatalogueError> {
        Self::with_store(Box::new(RocksStore::open_or_create_with_cache(
            folder, cache,
        )?))
        .complete()
    }

    /// Opens the state that the catalogue in a folder has now, to read it only, even while a server has it open.
    pub fn open_frozen(folder: &Path) -> Result<Self, CatalogueError> {
        Self::with_store(Box::new(RocksStore::open_frozen(folder)?)).complete()
    }

    /// Opens the catalogue of a cluster, which is empty if there is none yet.
    pub fn open_cluster(address: &ClusterAddress) -> Result<Self, CatalogueError> {
        Self::with_store(Box::new(ClusterStore::open(address)?)).complete()
    }

    /// Creates a catalogue on top of a store.
    #[must_use]
    pub fn with_store(store: Box<dyn Store>) -> Self {
        Self {
            store,
            rule: RuleChanges::default(),
            jobs: jobs::Jobs::default(),
            keyring: keys::Keyring::default(),
            allowances: allow::AllowancesRead::default(),
            trust: trust::TrustRead::default(),
            backups: Backups::Nowhere,
            webhooks: webhooks::Webhooks::default(),
            client_recipe: None,
            changing_settings: Mutex::default(),
            gate_queue: gate_queue::GateQueue::default(),
            gating: Mutex::default(),
            leased_here: leased::LeasedHere::default(),
            process: Uuid::now_v7().simple().to_string(),
            follows: AtomicBool::new(false),
            feeding: RwLock::new(()),
        }
    }

    /// Overrides parts of the rule that each recipe comes with.
    #[must_use]
    pub fn with_rule(self, rule: RuleChanges) -> Self {
        Self { rule, ..self }
    }

    /// Sets where backups go.
    #[must_use]
    pub fn with_backups(self, backups: Backups) -> Self {
        Self { backups, ..self }
    }

    /// Sets the recipe assumed for gems of existing clients; see [`Catalogue::client_recipe`].
    #[must_use]
    pub fn with_client_recipe(self, recipe: Option<RecipeName>) -> Self {
        Self {
            client_recipe: recipe,
            ..self
        }
    }

    /// The recipe assumed for gems that arrive without a recipe name. Such clients know only one recipe, whatever the
    /// default is now.
    ///
    /// It is the recipe that was set with [`Catalogue::with_client_recipe`]; otherwise `released`, which the
    /// published client computes, or `documented`, whichever is ready first; `None` if neither is. A recipe that is
    /// still being added therefore changes nothing here until every book has gems of it.
    #[must_use]
    pub fn client_recipe(&self) -> Option<RecipeName> {
        let snapshot = self.store.snapshot();
        let exact = [Recipe::released(), Recipe::documented()];
        let found = exact
            .iter()
            .map(Recipe::name)
            .find(|name| snapshot.is_ready(name));
        self.client_recipe.as_ref().or(found).cloned()
    }

    /// The shared lock, held while books are added.
    fn feed(&self) -> RwLockReadGuard<'_, ()> {
        self.feeding.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of the gate among all processes that share the store; `None` if this is the only one.
    fn gate_turn(&self) -> Result<Option<Turn<'_>>, CatalogueError> {
        self.store
            .sharing()
            .map(|_| self.turn(&self.gating, GATE))
            .transpose()
    }

    /// Runs a change of the set of recipes while no books are being added.
    fn between_feeds<T>(&self, change: impl FnOnce() -> T) -> T {
        let _alone = self.alone_between_feeds();
        change()
    }

    /// Waits until no books are being added. Those who begin to add some wait for whoever waits for the lock, as long as the
    /// longest of those who have begun. So this looks for a moment without any before it waits.
    fn alone_between_feeds(&self) -> RwLockWriteGuard<'_, ()> {
        let since = Instant::now();
        while since.elapsed() < FEEDS {
            match self.feeding.try_write() {
                Ok(alone) => return alone,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
            }
        }
        self.feeding.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The recipes of the catalogue, the default first.
    fn recipes(&self) -> Vec<Recipe> {
        self.store.snapshot().recipes()
    }

    /// The recipe `asked` for, or the default. The default of a new catalogue is `hardened`.
    ///
    /// # Errors
    /// If the catalogue has no gems of that recipe.
    pub fn recipe(&self, asked: Option<&RecipeName>) -> Result<Recipe, CatalogueError> {
        chosen(self.recipes(), asked)
    }

    /// Estimates the most memory that adding a text takes, besides the text itself. The text may be part of a line of
    /// JSON.
    pub fn memory_for(&self, text: &[u8]) -> Result<usize, CatalogueError> {
        let words = self.keeps_folds()? || self.recipes().iter().any(Recipe::is_signature);
        Ok(memory_for(text, words))
    }

    /// Returns a book's record.
    pub fn book(&self, key: &BookKey) -> Result<Option<Record>, CatalogueError> {
        let snapshot = self.store.snapshot();
        match snapshot.find(key)? {
            Some(number) => Ok(snapshot.fetch(&[number])?.pop().flatten()),
            None => Ok(None),
        }
    }

    /// Returns a page of a library: up to `limit` records in order of their ids, starting after `cursor`. A page has
    /// fewer if the records are long.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchLibrary`] if the library holds no books.
    pub fn books(
        &self,
        library: &Library,
        cursor: Option<&BookId>,
        limit: usize,
    ) -> Result<Page, CatalogueError> {
        let snapshot = self.store.snapshot();
        let mut books: Vec<Record> = Vec::new();
        // Fetch in small batches: long records can fill the page early.
        let wanted = limit.saturating_add(1);
        while books.len() < wanted && shown::fitting(&books) >= books.len() {
            let after = books.last().map(|record| record.key.id.clone());
            let some = (wanted - books.len()).min(READ_AT_ONCE);
            let read = snapshot.walk(library, after.as_ref().or(cursor), some)?;
            let is_last = read.len() < some;
            books.extend(read.into_iter().map(|(_, record)| record));
            if is_last {
                break;
            }
        }
        if books.is_empty() && snapshot.library(library)?.is_none() {
            return Err(CatalogueError::NoSuchLibrary(library.to_string()));
        }
        let shown = limit.min(shown::fitting(&books));
        let more = books.len() > shown;
        books.truncate(shown);
        let next_cursor = books
            .last()
            .filter(|_| more)
            .map(|record| record.key.id.clone());
        Ok(Page {
            books: books.into_iter().map(Into::into).collect(),
            next_cursor,
        })
    }

    /// Returns statistics of the catalogue.
    pub fn stats(&self) -> Result<Stats, CatalogueError> {
        let snapshot = self.store.snapshot();
        let recipes = Self::recipe_stats(&*snapshot)?;
        let libraries = self.listed(snapshot.libraries()?)?;
        let books = libraries.iter().map(|library| library.books).sum();
        let disabled = libraries.iter().map(|library| library.disabled).sum();
        let disk_bytes = self
            .store
            .administration()
            .map_or(Ok(0), Administration::bytes)?;
        let posting_bytes = self
            .files()
            .map(Administration::vitals)
            .transpose()?
            .map_or(0, |vitals| vitals.disk.postings);
        let rule = self.rule.on(chosen(snapshot.recipes(), None)?.rule());
        let cluster = self.cluster().map(Into::into);
        Ok(Stats {
            books,
            disabled,
            recipes,
            libraries,
            disk_bytes,
            posting_bytes,
            rule,
            cluster,
        })
    }

    /// Returns the recipes of the catalogue, the default first.
    pub fn recipe_list(&self) -> Result<Vec<RecipeStats>, CatalogueError> {
        Self::recipe_stats(&*self.store.snapshot())
    }

    /// Returns the lexicon of this name, if a recipe has it.
    #[must_use]
    pub fn lexicon(&self, name: &str) -> Option<Arc<Lexicon>> {
        self.recipes()
            .iter()
            .filter_map(|recipe| recipe.lexicon())
            .find(|lexicon| lexicon.name() == name)
            .cloned()
    }

    fn recipe_stats(snapshot: &dyn Snapshot) -> Result<Vec<RecipeStats>, CatalogueError> {
        let recipes = snapshot
            .recipes()
            .into_iter()
            .enumerate()
            .map(|(i, recipe)| {
                let classes = snapshot.sizes(recipe.name())?.classes;
                let books = classes.iter().map(|class| class.books).sum();
                let gems = classes.iter().map(|class| class.gems).sum();
                let ready = snapshot.is_ready(recipe.name());
                let lexicon = recipe.lexicon().map(|lexicon| LexiconStats {
                    name: lexicon.name().to_owned(),
                    documents: lexicon.documents(),
                    words: lexicon.different() as u64,
                    bytes: lexicon.written().len() as u64,
                });
                Ok(RecipeStats {
                    recipe: recipe.name().clone(),
                    default: i == 0,
                    ready,
                    books,
                    gems,
                    lexicon,
                })
            });
        recipes.collect()
    }

    /// Returns what an administrator monitors, if the store's engine knows it, and updates this process's metrics. The
    /// cost does not depend on the size of the catalogue.
    pub fn vitals(&self) -> Result<Option<Vitals>, CatalogueError> {
        let vitals = self.files().map(Administration::vitals).transpose()?;
        if let Some(cluster) = self.cluster() {
            METRICS.cluster.set(&cluster);
        }
        for stats in Self::recipe_stats(&*self.store.snapshot())? {
            METRICS
                .store
                .set_recipe(stats.recipe.as_str(), stats.books, stats.gems);
        }
        if let Some(vitals) = &vitals {
            METRICS.store.set(vitals);
        }
        Ok(vitals)
    }

    /// What an administrator monitors of the cluster that the catalogue is in, as far as it answers.
    fn cluster(&self) -> Option<ClusterVitals> {
        self.store
            .administration()?
            .cluster()
            .unwrap_or_else(|error| {
                tracing::warn!("{error}");
                None
            })
    }

    /// The administration of a store that has files of its own.
    fn files(&self) -> Option<&dyn Administration> {
        self.store
            .administration()
            .filter(|store| store.keeps_files())
    }

    /// The administration of the store.
    ///
    /// # Errors
    /// [`StoreError::NotOffered`] if the store's engine has none; `wanted` names the operation.
    fn administration(&self, wanted: &'static str) -> Result<&dyn Administration, StoreError> {
        self.store
            .administration()
            .ok_or(StoreError::NotOffered(wanted))
    }

    /// Checks whether a change could be written now.
    ///
    /// # Errors
    /// The error that a change would fail with.
    pub fn writable(&self) -> Result<(), CatalogueError> {
        Ok(self.store.writable()?)
    }

    /// Reserves disk space for when the disk is full; see [`Administration::hold_reserve`].
    pub fn hold_reserve(&self) -> Result<(), CatalogueError> {
        Ok(self
            .store
            .administration()
            .map_or(Ok(()), Administration::hold_reserve)?)
    }

    /// Whether reopening the catalogue would make it writable again; see [`Administration::wants_reopening`].
    #[must_use]
    pub fn wants_reopening(&self) -> bool {
        self.store
            .administration()
            .is_some_and(Administration::wants_reopening)
    }

    /// Returns a page of the audit log: up to `limit` entries.
    pub fn audit(&self, from: AuditFrom, limit: usize) -> Result<AuditPage, CatalogueError> {
        let mut entries = self.store.audit(from, limit.saturating_add(1))?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(|entry| entry.number);
        Ok(AuditPage {
            entries: entries.into_iter().map(Into::into).collect(),
            next,
        })
    }

    /// Returns a page of the entries of the audit log about the books of a library, or about one book of it: up to `limit`
    /// entries, of the next 50,000 of the log.
    pub fn audit_of(
        &self,
        mut from: AuditFrom,
        library: &str,
        book: Option<&str>,
        limit: usize,
    ) -> Result<AuditPage, CatalogueError> {
        let is_meant = |entry: &AuditEntry| {
            let about = entry.action.book();
            about.is_some_and(|about| {
                about.library == library && book.is_none_or(|book| about.id == book)
            })
        };
        let mut found = Vec::new();
        let mut next = None;
        for _ in 0..AUDIT_PAGES {
            let page = self.audit(from, AUDIT_PAGE)?;
            next = page.next;
            for entry in page.entries.into_iter().filter(is_meant) {
                found.push(entry);
                if found.len() == limit {
                    next = found.last().map(|entry| entry.number);
                    return Ok(AuditPage {
                        entries: found,
                        next,
                    });
                }
            }
            let Some(last) = next else { break };
            from = AuditFrom::Behind(last);
        }
        Ok(AuditPage {
            entries: found,
            next,
        })
    }

    /// Reads everything and returns the inconsistencies found, one sentence each.
    pub fn verify(&self) -> Result<Vec<String>, CatalogueError> {
        Ok(self.administration(VERIFICATION)?.verify(UNWATCHED)?)
    }

    /// Compacts the store into its smallest and fastest form. Reads and writes continue meanwhile.
    pub fn compact(&self) -> Result<(), CatalogueError> {
        Ok(self.administration(COMPACTION)?.compact(UNWATCHED)?)
    }

    /// Flushes memory to disk, for a clean shutdown.
    pub fn flush(&self) -> Result<(), CatalogueError> {
        Ok(self
            .store
            .administration()
            .map_or(Ok(()), Administration::flush)?)
    }
}

impl Editor<'_> {
    /// Removes books. Returns whether each of them existed.
    pub fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, CatalogueError> {
        self.remove_if(keys, &Condition::default())
    }

    /// Removes books, all or none, if each that exists meets the condition. Returns whether each of them existed.
    ///
    /// # Errors
    /// [`StoreError::OtherVersion`], and [`StoreError::SetByAdministrator`] and [`StoreError::MayNotForbid`] for a book that the
    /// actor may not remove.
    pub fn remove_if(
        &self,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, CatalogueError> {
        let condition = Condition {
            keeps: self.authority()?.keeps_of_removed(),
            ..condition.clone()
        };
        let were_there = self.store.remove_if(&self.actor, keys, &condition)?;
        let removed = were_there.iter().filter(|there| **there).count();
        METRICS.changed("removed", removed as u64);
        Ok(were_there)
    }
}

/// The recipe asked for, or the first of `recipes`, or `hardened` if there are none yet.
fn chosen(recipes: Vec<Recipe>, asked: Option<&RecipeName>) -> Result<Recipe, CatalogueError> {
    let Some(name) = asked else {
        return Ok(recipes.into_iter().next().unwrap_or_else(Recipe::hardened));
    };
    let found = recipes.iter().find(|recipe| recipe.name() == name).cloned();
    found.ok_or_else(|| CatalogueError::no_such_recipe(name, &recipes))
}
