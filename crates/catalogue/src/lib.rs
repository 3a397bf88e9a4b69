//! Catalogue operations: add, remove, check, list and so on.
//!
//! This is the only module that combines the steps behind an answer. The server and the command line are thin layers
//! over it: they turn bytes into text with [`lapidary_extract`] and contain no other logic, so both always give the
//! same answer.
//!
//! ```
//! use lapidary_catalogue::{Catalogue, CheckOptions, Content, NewEntry, Query};
//! use lapidary_store::{Actor, BookKey, Rights};
//!
//! # let folder = tempfile::tempdir()?;
//! # let text: String = (0..9_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! let catalogue = Catalogue::open_or_create(folder.path())?;
//! let key = BookKey { library: "mine".parse()?, id: "1".parse()? };
//! let book = NewEntry::new(key, Rights::Protected, Content::text(text.clone()));
//! catalogue.by(Actor::Local).books().add(book)?;
//! let report = catalogue.checks().report(&Query::text(text.to_uppercase()), &CheckOptions::default())?;
//! assert_eq!(report.verdict, Rights::Protected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod addresses;
pub mod api;
pub mod client;
pub mod duplicate_groups;
pub mod history;
pub mod id;
pub mod json;
pub mod metrics;
pub mod object;
mod once;
pub mod onix;
pub mod parse;
pub mod permission;
pub mod sources;
pub mod table;

mod add;
mod allow_lists;
mod amend;
mod answer;
mod answer_size;
mod audit;
mod authority;
mod batches;
mod books;
mod check;
mod check_counts;
mod checking;
mod collage;
mod copy;
mod decisions;
mod digest;
mod disguise;
mod doctor;
mod duplicate_candidates;
mod duplicates;
mod editor;
mod entry;
mod error;
mod evidence;
mod expansion;
mod feed_lock;
mod gate;
mod gate_queue;
mod gem_list;
mod ingest;
mod jobs;
mod keys;
mod libraries;
mod links;
mod members;
mod nodes;
mod pages;
mod recipes;
mod removal;
mod restore;
mod settings;
mod sharing;
mod side_by_side;
mod terms;
mod text;
mod told;
mod transfer;
mod versions;
mod watches;
mod webhooks;

pub use add::Prepared;
pub use allow_lists::{AllowLists, Allowable};
pub use answer::{CheckOptions, Comparison, Query, Recipes, TextGems};
pub use audit::Audit;
pub use batches::Batches;
pub use books::{BookFilter, Books};
pub use check::{Checks, compare, today};
pub use check_counts::CheckHistory;
use copy::complete;
pub use copy::{Copied, Copying};
pub use decisions::{Case, CheckQueue, Decisions, SoughtChecks, SoughtDecisions};
pub use digest::digests_of;
pub use doctor::{SOON, diagnose};
pub use duplicates::{DuplicateOptions, Duplicates, FoundDuplicates};
pub use editor::Editor;
pub use entry::{BookGems, Content, NewEntry, TextOr};
pub use error::CatalogueError;
pub use evidence::{CheckedText, Evidence, EvidenceLimits, expire_evidence, is_evidence};
pub use gate::Gate;
pub use gem_list::MAX_GEMS;
pub use history::Figures;
pub use ingest::Ingest;
pub use jobs::{Backups, DuplicateJobs, Jobs, resume_jobs, start_job};
pub use keys::{AccessDenied, Keys, UnwrittenRevocation, Usage};
use lapidary_gems::RecipeName;
pub use libraries::Libraries;
pub use links::{Followed, ReportLinks};
pub use members::{GroupGrant, Members, NotAdmitted, Person};
pub use once::OnceRequest;
pub use recipes::CatalogueRecipes;
use recipes::{chosen, recipe_stats};
pub use removal::{REMOVED_FOR, delete_removed_books};
pub use restore::restore;
pub use settings::put;
use sharing::{CachedSetting, GATE, Turn};
pub use side_by_side::{compared, side_by_side};
pub use terms::Terms;
pub use text::Text;
pub use transfer::{Transfer, import};
pub use watches::{WatchLimits, Watches, start_watching};
pub use webhooks::{WebhookOwner, Webhooks, start_webhooks};

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use crate::api::Stats;
use crate::api::Verified;
use crate::metrics::METRICS;
use lapidary_checking::RuleChanges;
use lapidary_store::{Actor, ClusterVitals, RocksStore, Store, UNWATCHED, Vitals};
use lapidary_store_redis::{ClusterAddress, ClusterStore, Recovery};
use lapidary_work::Runner;

/// A catalogue of books: a store, plus any changes to the rule that checks use. It can be used from any number of
/// threads at once.
pub struct Catalogue {
    store: Arc<dyn Store>,
    rule: RuleChanges,
    jobs: jobs::BegunJobs,
    keyring: keys::Keyring,
    /// Who may sign in without a key, where that is known: on a server.
    members: Option<Members>,
    allowances: CachedSetting<allow_lists::Allowances>,
    statements: CachedSetting<libraries::Statements>,
    backups: Backups,
    webhooks: webhooks::LocalWebhooks,
    client_recipe: Option<RecipeName>,
    evidence: EvidenceLimits,
    watching: WatchLimits,
    changing_settings: Mutex<()>,
    /// Held while a check is filed whose text or gems are kept, or these are deleted, or a check is decided.
    filing_evidence: Mutex<()>,
    /// Books that are checked and added in one step ([`gate`]).
    gate_queue: gate_queue::GateQueue,
    /// Held while this process has the turn of the gate among all that share the store.
    gating: Mutex<()>,
    runner: Arc<Runner>,
    /// Whether it learns in the background what they change.
    follows: AtomicBool,
    feeding: feed_lock::FeedLock,
    versions: versions::CheckedVersions,
    check_counts: check_counts::CheckCounts,
}

impl Catalogue {
    /// Opens the catalogue in a folder.
    pub fn open(folder: &Path) -> Result<Self, CatalogueError> {
        complete(Self::with_store(Box::new(RocksStore::open(folder)?)))
    }

    /// Like [`Catalogue::open`], with a read cache of `cache` bytes.
    pub fn open_with_cache(folder: &Path, cache: usize) -> Result<Self, CatalogueError> {
        complete(Self::with_store(Box::new(RocksStore::open_with_cache(
            folder, cache,
        )?)))
    }

    /// Opens the catalogue in a folder, or creates one there.
    pub fn open_or_create(folder: &Path) -> Result<Self, CatalogueError> {
        complete(Self::with_store(Box::new(RocksStore::open_or_create(
            folder,
        )?)))
    }

    /// Like [`Catalogue::open_or_create`], with a read cache of `cache` bytes.
    pub fn open_or_create_with_cache(folder: &Path, cache: usize) -> Result<Self, CatalogueError> {
        let store = RocksStore::open_or_create_with_cache(folder, cache)?;
        complete(Self::with_store(Box::new(store)))
    }

    /// Opens the state that the catalogue in a folder has now, to read it only, even while a server has it open.
    pub fn open_frozen(folder: &Path) -> Result<Self, CatalogueError> {
        complete(Self::with_store(Box::new(RocksStore::open_frozen(folder)?)))
    }

    /// Opens the catalogue of a cluster, which is empty if there is none yet.
    pub fn open_cluster(address: &ClusterAddress) -> Result<Self, CatalogueError> {
        complete(Self::with_store(Box::new(ClusterStore::open(address)?)))
    }

    /// Verifies the catalogue of a cluster some of whose nodes have lost data, which cannot be opened, and repairs it if it is
    /// to be `fix`ed. Returns `None` if no node has.
    pub fn recover_cluster(
        address: &ClusterAddress,
        fix: bool,
    ) -> Result<Option<Verified>, CatalogueError> {
        let Some(Recovery { found, lost }) = ClusterStore::recover(address, fix, UNWATCHED)? else {
            return Ok(None);
        };
        if !fix {
            return Ok(Some(Verified {
                faults: found,
                found: None,
                lost: None,
            }));
        }
        Ok(Some(Verified {
            faults: Self::open_cluster(address)?.verify()?,
            found: Some(found),
            lost: Some(lost),
        }))
    }

    /// Creates a catalogue on top of a store.
    #[must_use]
    pub fn with_store(store: Box<dyn Store>) -> Self {
        let store: Arc<dyn Store> = store.into();
        Self {
            runner: Runner::new(Arc::clone(&store)),
            watching: WatchLimits::usual(store.sharing().is_some()),
            store,
            rule: RuleChanges::default(),
            jobs: jobs::BegunJobs::default(),
            keyring: keys::Keyring::default(),
            members: None,
            allowances: CachedSetting::default(),
            statements: CachedSetting::default(),
            backups: Backups::Nowhere,
            webhooks: webhooks::LocalWebhooks::default(),
            client_recipe: None,
            evidence: EvidenceLimits::default(),
            changing_settings: Mutex::default(),
            filing_evidence: Mutex::default(),
            gate_queue: gate_queue::GateQueue::default(),
            gating: Mutex::default(),
            follows: AtomicBool::new(false),
            feeding: feed_lock::FeedLock::default(),
            versions: versions::CheckedVersions::default(),
            check_counts: check_counts::CheckCounts::default(),
        }
    }

    /// Returns an editor that makes changes on behalf of `actor`.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Editor<'_> {
        Editor {
            catalogue: self,
            store: Arc::clone(&self.store),
            actor,
            principal: None,
            terms: Arc::default(),
        }
    }

    /// What does the work of this process.
    #[must_use]
    pub fn runner(&self) -> &Arc<Runner> {
        &self.runner
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

    /// Sets the recipe assumed for gems of existing clients; see [`CatalogueRecipes::client_recipe`].
    #[must_use]
    pub fn with_client_recipe(self, recipe: Option<RecipeName>) -> Self {
        Self {
            client_recipe: recipe,
            ..self
        }
    }

    /// Sets how long texts of filed checks are kept, and how many.
    #[must_use]
    pub fn with_evidence(self, evidence: EvidenceLimits) -> Self {
        Self { evidence, ..self }
    }

    /// Sets who may sign in without a key.
    #[must_use]
    pub fn with_members(self, members: Members) -> Self {
        Self {
            members: Some(members),
            ..self
        }
    }

    /// Sets how long filed checks are watched, and how many.
    #[must_use]
    pub fn with_watching(self, watching: WatchLimits) -> Self {
        Self { watching, ..self }
    }

    /// Allows or forbids webhooks to private addresses, such as those of this machine and its network.
    #[must_use]
    pub fn with_private_webhooks(mut self, allowed: bool) -> Self {
        self.webhooks.private = allowed;
        self
    }

    /// The catalogue, reopened, with revocations that could not be written before.
    #[must_use]
    pub fn with_revocations(self, unwritten: Vec<UnwrittenRevocation>) -> Self {
        *self.keyring.unwritten() = unwritten;
        self
    }

    /// The turn of the gate among all processes that share the store; `None` if this is the only one.
    fn gate_turn(&self) -> Result<Option<Turn<'_>>, CatalogueError> {
        self.store
            .sharing()
            .map(|_| self.turn(&self.gating, GATE))
            .transpose()
    }

    /// Returns statistics of the catalogue.
    pub fn stats(&self) -> Result<Stats, CatalogueError> {
        let snapshot = self.store.snapshot();
        let recipes = recipe_stats(&*snapshot)?;
        let libraries = self.libraries().listed(snapshot.libraries()?)?;
        let books = libraries.iter().map(|library| library.books).sum();
        let disabled = libraries.iter().map(|library| library.disabled).sum();
        let disk_bytes = self.store.bytes()?;
        let posting_bytes = self
            .store
            .folder()
            .map(RocksStore::vitals)
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
            evidence: self.evidence().stats()?,
            watched: self.watches().stats()?,
            rule,
            cluster,
        })
    }

    /// Returns what an administrator monitors, if the store's engine knows it, and updates this process's metrics. The
    /// cost does not depend on the size of the catalogue.
    pub fn vitals(&self) -> Result<Option<Vitals>, CatalogueError> {
        let vitals = self.store.folder().map(RocksStore::vitals).transpose()?;
        if let Some(cluster) = self.cluster() {
            METRICS.cluster.set(&cluster);
        }
        for stats in recipe_stats(&*self.store.snapshot())? {
            METRICS
                .store
                .set_recipe(stats.recipe.as_str(), stats.books, stats.gems);
        }
        if let Some(vitals) = &vitals {
            METRICS.store.set(vitals);
        }
        METRICS.watched_checks(self.watches().stats()?.checks);
        Ok(vitals)
    }

    /// What an administrator monitors of the cluster that the catalogue is in, as far as it answers.
    fn cluster(&self) -> Option<ClusterVitals> {
        let vitals = self.store.sharing()?.vitals();
        vitals.inspect_err(|error| tracing::warn!("{error}")).ok()
    }

    /// Checks whether a change could be written now.
    ///
    /// # Errors
    /// The error that a change would fail with.
    pub fn writable(&self) -> Result<(), CatalogueError> {
        Ok(self.store.writable()?)
    }

    /// Reserves disk space for when the disk is full; see [`RocksStore::hold_reserve`].
    pub fn hold_reserve(&self) -> Result<(), CatalogueError> {
        Ok(self
            .store
            .folder()
            .map_or(Ok(()), RocksStore::hold_reserve)?)
    }

    /// Whether reopening the catalogue would make it writable again; see [`RocksStore::wants_reopening`].
    #[must_use]
    pub fn wants_reopening(&self) -> bool {
        self.store.folder().is_some_and(RocksStore::wants_reopening)
    }

    /// Reads everything and returns the inconsistencies found, one sentence each.
    pub fn verify(&self) -> Result<Vec<String>, CatalogueError> {
        Ok(self.store.verify(UNWATCHED)?)
    }

    /// Compacts the store into its smallest and fastest form. Reads and writes continue meanwhile.
    pub fn compact(&self) -> Result<(), CatalogueError> {
        Ok(self.store.compact(UNWATCHED)?)
    }

    /// Flushes memory to disk, for a clean shutdown.
    pub fn flush(&self) -> Result<(), CatalogueError> {
        Ok(self.store.folder().map_or(Ok(()), RocksStore::flush)?)
    }
}
