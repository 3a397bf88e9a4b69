//! The index: a store of books, their gems and the posting lists, behind one interface.
//!
//! [`Store`] changes books. [`Snapshot`] reads a state of the store that no later change alters. Neither knows texts,
//! scores or verdicts; the catalogue combines those.

mod audit;
mod bounds;
mod record;
mod rocks;
mod standing;
mod vitals;

pub use audit::{Action, Actor, Amended, AuditEntry, AuditFrom, AuditedBook};
pub use bounds::{
    AUTHOR_BYTES, DESCRIPTION_BYTES, IDENTIFIER_BYTES, LANGUAGE_BYTES, MOST_LISTED, TEXT_BYTES, TITLE_BYTES, TooLong,
    described,
};
use lapidary_gems::{Gem, PackedFold, PlacedGem, Recipe, RecipeName, WrittenGem};
pub use record::{BadName, BookId, BookKey, LateGems, Library, NAME_BYTES, NewBook, Outline, Record, Rights};
pub use rocks::{CACHE_BYTES, RocksStore};
pub use standing::{NOTE_BYTES, Note, Standing, Validity};
pub use vitals::{Background, CacheUse, Disk, PostingCounts, Vitals};

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A book's internal number. Users see its [`BookKey`] instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookNo(pub u32);

/// Identifies a small record stored next to the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Small<'a> {
    /// An access key, by id.
    Key(&'a str),
    /// A job, by number.
    Job(u32),
    /// A setting, by kind and name.
    Setting(&'a str, &'a str),
}

/// Progress callback of a long operation: receives the units done and the total. It can stop the operation by
/// returning an error such as [`StoreError::Stopped`].
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> Result<(), StoreError> + Sync);

/// A [`Watch`] that ignores progress.
pub const UNWATCHED: Watch<'static> = &|_, _| Ok(());

/// A store of books, their gems and the posting lists.
///
/// Each call is one atomic change. After a crash, each of its books is either completely there or not at all. Changes
/// are on disk when the call returns.
pub trait Store: Send + Sync {
    /// The recipes that this store holds gems of, the default first. Empty for a new store.
    fn recipes(&self) -> Vec<Recipe>;

    /// Adds a recipe. The first one becomes the store's default. Adding a known recipe changes nothing.
    ///
    /// # Errors
    /// [`StoreError::RecipeDiffers`] if another recipe has the same name.
    fn add_recipe(&self, recipe: &Recipe) -> Result<(), StoreError>;

    /// Makes a recipe the default, and thereby ready, atomically for all readers. Returns the number of books without
    /// gems of it. If there are any, the default changes only if `anyway` is set.
    fn make_default(&self, recipe: &RecipeName, anyway: bool) -> Result<u64, StoreError>;

    /// Marks a recipe as ready ([`Snapshot::is_ready`]). It stays ready until it is dropped.
    fn make_ready(&self, recipe: &RecipeName) -> Result<(), StoreError>;

    /// Hides a recipe, the first step of [`Store::drop_recipe`].
    fn hide_recipe(&self, recipe: &RecipeName) -> Result<(), StoreError>;

    /// Drops a recipe with all its gems and postings. The recipe is hidden from the start. If this is stopped early,
    /// another call removes the rest.
    ///
    /// # Errors
    /// [`StoreError::IsDefault`] for the default recipe.
    fn drop_recipe(&self, recipe: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError>;

    /// Adds gems of a recipe to books that were stored before the recipe was added. Skips books that changed in the
    /// meantime: those whose record has another digest, or already has gems of the recipe.
    fn add_gems(&self, recipe: &RecipeName, books: Vec<LateGems>) -> Result<(), StoreError>;

    /// Whether folds of added books are kept.
    fn keeps_folds(&self) -> Result<bool, StoreError>;

    /// Sets whether folds are kept from now on. Existing folds stay.
    fn keep_folds(&self, keep: bool) -> Result<(), StoreError>;

    /// Returns every stored job, by number.
    fn jobs(&self) -> Result<Vec<(u32, Vec<u8>)>, StoreError>;

    /// Returns every stored access key.
    fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError>;

    /// Returns the settings of one kind, as names and values sorted by name.
    fn settings(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// Changes small records and writes the audit log entries for them in one atomic write. Does not wait for changes
    /// of books, however long those take.
    fn apply(&self, changes: &[(Small<'_>, Option<Vec<u8>>)], actions: &[Action]) -> Result<(), StoreError>;

    /// Saves the progress of some work. This is not in the audit log, and a crash can bring back an older value.
    fn keep(&self, kind: &str, name: &str, value: Option<&[u8]>) -> Result<(), StoreError>;

    /// Stores books. A book whose key exists replaces that book with all its gems and postings. If a key occurs more
    /// than once in a call, the last one wins. Duplicate gems of a book are dropped: the first occurrence stays, and
    /// the record's counts follow.
    ///
    /// A book that replaces a disabled one is disabled too, and keeps its note unless the new one has its own.
    /// Amendments made to the old book since the new one's [`Standing::amended`] are kept, including its rights, so a
    /// change that took long to prepare does not undo them.
    ///
    /// # Errors
    /// [`StoreError::UnknownRecipe`] for gems of a recipe that was not added, [`StoreError::GemTooLarge`] for a gem
    /// that its recipe cannot produce, [`StoreError::WouldBeEmpty`] for a book that would lose its gems without
    /// [`NewBook::allow_empty`]. Nothing is changed then.
    fn put(&self, books: Vec<NewBook>) -> Result<(), StoreError>;

    /// Removes books. Returns whether each key existed before the call.
    fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, StoreError>;

    /// Changes a book's metadata but not its gems. `change` receives the record; its changes to key, gems, digest
    /// and length are ignored. Returns the new record, or `None` if there is no such book.
    fn amend(&self, key: &BookKey, change: &mut dyn FnMut(&mut Record)) -> Result<Option<Record>, StoreError>;

    /// Returns a snapshot of the whole store, which later changes do not alter.
    fn snapshot(&self) -> Box<dyn Snapshot + '_>;

    /// Flushes memory to disk, for a clean shutdown.
    fn flush(&self) -> Result<(), StoreError>;

    /// Compacts the store into its smallest and fastest form. Reads and writes continue meanwhile.
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError>;

    /// Repairs what [`Snapshot::verify`] finds, from the books' records and gems. Returns what could not be repaired
    /// and was lost, by book. Reads continue; writes wait.
    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;

    /// Adds a backup to a folder, reads all of it as [`Snapshot::verify`] does, and keeps the newest `keep` backups.
    /// Reads and writes continue. The backup contains everything acknowledged before the call. A backup that could
    /// not be restored is removed again, older ones are kept, and the error says what is wrong.
    fn backup(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<Backup, StoreError>;

    /// Stops background work, so that a running [`Store::compact`] returns. Nothing is written after this.
    fn stop(&self);

    /// Returns the size of the store's files.
    fn disk(&self) -> Result<DiskUse, StoreError>;

    /// Returns what an administrator monitors. The cost does not depend on the size of the store.
    fn vitals(&self) -> Result<Vitals, StoreError>;

    /// Checks whether a change could be written now.
    ///
    /// # Errors
    /// The error that a change would fail with.
    fn writable(&self) -> Result<(), StoreError>;

    /// Reserves disk space, unless it is already reserved or there is too little. When the disk is full,
    /// [`Store::apply`] can use the reserve once. Books are then refused until there is room to reserve space again.
    fn hold_reserve(&self) -> Result<(), StoreError>;

    /// Whether the store refuses changes that could be written again: its disk was full or unwritable and no longer
    /// is. The store recovers by itself from most such failures; from the others, when it is reopened.
    fn wants_reopening(&self) -> bool;
}

/// A finished backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    /// Its number in the folder.
    pub number: u32,
    /// The size of its own files. Files shared between backups are stored once.
    pub bytes: u64,
    /// Number of backups in the folder.
    pub kept: usize,
}

/// Disk use of a store, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUse {
    /// All files.
    pub total: u64,
    /// The posting lists.
    pub postings: u64,
}

/// A fixed state of a [`Store`].
pub trait Snapshot: Send + Sync {
    /// The recipes that the store holds gems of, the default first.
    fn recipes(&self) -> Vec<Recipe>;

    /// Counts, for every book with enough of `gems`, how many of them have a posting for the book. Duplicates count
    /// once. Under a recipe that posts only some gems ([`Recipe::posted`]), the book may have more of them.
    ///
    /// Each library is counted on its own. A gem in too many books of a library is not counted there but reported in
    /// [`LibraryTally::common`]. A gem that the recipe cannot produce is in no book.
    fn tally(&self, recipe: &RecipeName, gems: &[Gem], limits: Limits<'_>) -> Result<Tally, StoreError>;

    /// Returns the books whose text may have this digest: up to [`Limits::cap`] per library. Only the first half of
    /// the digest is compared; the record has all of it.
    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError>;

    /// Returns the number of a book, if it exists.
    fn find(&self, key: &BookKey) -> Result<Option<BookNo>, StoreError>;

    /// Returns the records of books in the requested order; `None` for an unknown number.
    fn fetch(&self, books: &[BookNo]) -> Result<Vec<Option<Record>>, StoreError>;

    /// Like [`Snapshot::fetch`], but reads only the fields that decide whether and where a report shows the book.
    /// Many are read for the few that are shown.
    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError>;

    /// Returns a book's gems under a recipe in order of first occurrence, or `None` if it has none.
    fn gems(&self, recipe: &RecipeName, book: BookNo) -> Result<Option<Vec<PlacedGem>>, StoreError>;

    /// Returns up to `limit` records of a library, sorted by id (bytewise), starting after `after`.
    fn walk(&self, library: &Library, after: Option<&BookId>, limit: usize) -> Result<Vec<Record>, StoreError>;

    /// Returns up to `limit` books sorted by number, starting at `from`.
    fn books(&self, from: BookNo, limit: usize) -> Result<Vec<(BookNo, Record)>, StoreError>;

    /// Returns the stored fold of a book; `base` names the built-in recipe that made it.
    fn fold(&self, base: &str, book: BookNo) -> Result<Option<PackedFold>, StoreError>;

    /// Returns up to `limit` entries of the audit log, in order. A long log has lost its oldest entries.
    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError>;

    /// Returns the number of the last audit log entry, or 0 if there is none.
    fn last_audited(&self) -> Result<u64, StoreError>;

    /// Returns the summary of a library, or `None` if it holds no books.
    fn library(&self, library: &Library) -> Result<Option<LibrarySummary>, StoreError>;

    /// Whether a library holds, or ever held, a book.
    fn knows(&self, library: &Library) -> bool;

    /// Returns every library that holds a book, sorted by name.
    fn libraries(&self) -> Result<Vec<LibrarySummary>, StoreError>;

    /// Whether checks may use a recipe without explicitly accepting missing books. The default is always ready.
    fn is_ready(&self, recipe: &RecipeName) -> bool;

    /// Returns how many books have gems of a recipe.
    fn coverage(&self, recipe: &RecipeName) -> Result<Coverage, StoreError>;

    /// Returns the distribution of gem counts under a recipe.
    fn sizes(&self, recipe: &RecipeName) -> Result<Sizes, StoreError>;

    /// Reads everything and returns the inconsistencies found, one sentence each: a posting without its book or the
    /// reverse, a record without its id, wrong totals.
    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;
}

/// What [`Snapshot::tally`] leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits<'a> {
    /// A gem in more books of a library than this is common there.
    pub cap: u32,
    /// Books with fewer of the gems are left out.
    pub fewest: u32,
    /// Count only the books of this library.
    pub library: Option<&'a Library>,
}

/// The result of [`Snapshot::tally`]: the libraries that have a common gem, or a book with enough of the gems.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The libraries, in order of creation.
    pub libraries: Vec<LibraryTally>,
}

/// The tally of one library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryTally {
    /// The library.
    pub library: Library,
    /// Books with the number of gems each has, sorted by book number.
    pub books: Vec<(BookNo, u32)>,
    /// The gems in more books than the cap, in query order.
    pub common: Vec<Gem>,
    /// Number of books with a posting for each counted gem, sorted by gem. Gems without a posting are absent.
    pub holders: Vec<(Gem, u32)>,
}

impl LibraryTally {
    /// An empty tally.
    #[must_use]
    pub fn empty(library: Library) -> Self {
        Self { library, books: Vec::new(), common: Vec::new(), holders: Vec::new() }
    }
}

/// Summary of a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarySummary {
    /// The library.
    pub library: Library,
    /// Number of books.
    pub books: u64,
    /// Number of disabled books.
    #[serde(default)]
    pub disabled: u64,
    /// Total length of the texts, in bytes of UTF-8.
    pub bytes: u64,
    /// When one of its books was last added, replaced (both by the books' own `changed`), amended or removed.
    pub changed: Timestamp,
}

impl LibrarySummary {
    /// Adds a book to the summary of its library.
    fn count(summaries: &mut BTreeMap<Library, Self>, record: Record) {
        let disabled = record.is_disabled();
        let Record { key, changed, bytes, .. } = record;
        let library = key.library.clone();
        let empty = Self { library: key.library, books: 0, disabled: 0, bytes: 0, changed };
        let summary = summaries.entry(library).or_insert(empty);
        summary.books += 1;
        summary.disabled += u64::from(disabled);
        summary.bytes = summary.bytes.saturating_add(bytes);
        summary.changed = summary.changed.max(changed);
    }
}

/// How much of a catalogue a recipe covers. A check with the recipe cannot find other books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// Number of books that have gems of the recipe, or are too short to have any.
    pub books: u64,
    /// Number of all books.
    pub of: u64,
}

impl Coverage {
    /// Number of books without gems of the recipe.
    #[must_use]
    pub fn lacking(self) -> u64 {
        self.of.saturating_sub(self.books)
    }
}

/// Distribution of gem counts over the books. All chance estimates are based on it.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// `classes[i]` counts the books with `2^(i-1) .. 2^i` gems (`classes[0]`: without gems) and their total gems.
    /// The last class is never empty.
    pub classes: Vec<SizeClass>,
}

impl Sizes {
    /// Adds a book with this many gems.
    pub fn add(&mut self, gems: u32) {
        let class = Self::class(gems);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, SizeClass::default());
        }
        self.classes[class].books += 1;
        self.classes[class].gems += u64::from(gems);
    }

    /// Removes a book with this many gems. Returns `None`, and changes nothing, if no such book was counted.
    #[must_use]
    pub fn take(&mut self, gems: u32) -> Option<()> {
        let class = self.classes.get_mut(Self::class(gems))?;
        let books = class.books.checked_sub(1)?;
        let gems = class.gems.checked_sub(u64::from(gems))?;
        *class = SizeClass { books, gems };
        while self.classes.last().is_some_and(|class| class.books == 0) {
            self.classes.pop();
        }
        Some(())
    }

    fn class(gems: u32) -> usize {
        (u32::BITS - gems.leading_zeros()) as usize
    }
}

/// Books of similar size.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Number of books.
    pub books: u64,
    /// Total number of gems.
    pub gems: u64,
}

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the folder open.
    #[error("{path} is in use by {owner}; use --server URL to work with that process, or stop it")]
    InUse {
        /// The data folder.
        path: String,
        /// `process 1234`, or `another process` if it is unknown.
        owner: String,
    },
    /// The folder has another format version.
    #[error("{path} has format version {found}, this program reads version {supported}; {advice}")]
    Version {
        /// The data folder.
        path: String,
        /// The version found.
        found: String,
        /// The version that this program reads and writes.
        supported: u32,
        /// What to do.
        advice: &'static str,
    },
    /// The folder does not exist or holds no store.
    #[error("{0}: no catalogue here; `lapidary ingest --data {0} …` makes one")]
    Missing(String),
    /// A catalogue exists where a new one was to be created.
    #[error("{0}: there is a catalogue here already; name an empty or a new folder")]
    Occupied(String),
    /// The folder holds unrelated files.
    #[error("{0} holds files that are not a Lapidary catalogue; name an empty or a new folder")]
    Foreign(String),
    /// The data on disk is inconsistent.
    #[error("the data in {path} is damaged ({detail}); restore a backup, or feed the books again into a new folder")]
    Damaged {
        /// The data folder.
        path: String,
        /// What was found.
        detail: String,
    },
    /// The disk is full.
    #[error("no space left on the disk of {0}: nothing of this change was kept; free some space and try again")]
    DiskFull(String),
    /// No permission to read or write the folder.
    #[error("{path}: {detail}; check the folder's owner and permissions")]
    Denied {
        /// The data folder.
        path: String,
        /// The system's message.
        detail: String,
    },
    /// The store does not know the recipe.
    #[error("there are no gems of recipe '{asked}' here; there are: {known}")]
    UnknownRecipe {
        /// The recipe asked for.
        asked: RecipeName,
        /// The known recipes, or `none yet`.
        known: String,
    },
    /// A recipe of the same name has another definition.
    #[error("there is another recipe '{0}' here already; give this one another name")]
    RecipeDiffers(RecipeName),
    /// A gem has more bits than its recipe allows.
    #[error(
        "{book} has the gem {gem}, but gems of recipe '{recipe}' have {bits} bits; name the recipe it was made with"
    )]
    GemTooLarge {
        /// The book.
        book: BookKey,
        /// The recipe.
        recipe: RecipeName,
        /// The gem.
        gem: WrittenGem,
        /// Number of bits of the recipe's gems.
        bits: u32,
    },
    /// Replacing the book would make it impossible to find.
    #[error(
        "{book} has gems of {recipes}, and would have none, so that no check could find it any more; send all of its text, \
         disable or remove the book, or replace it all the same with allow_empty"
    )]
    WouldBeEmpty {
        /// The book.
        book: BookKey,
        /// The recipes that it would have no gems of.
        recipes: String,
    },
    /// Several books have the same key where keys must be unique.
    #[error("{0} is there twice; give each book an id of its own")]
    Duplicate(String),
    /// A book is out of order.
    #[error("{0} does not come in the order of libraries and ids; sort the books")]
    Unordered(String),
    /// The default recipe cannot be dropped.
    #[error("'{0}' is the default recipe; make another one the default before it is dropped")]
    IsDefault(RecipeName),
    /// The folder contains no backup.
    #[error("{0}: no backup of a catalogue here; `lapidary backup` makes one")]
    NoBackup(String),
    /// The operation was stopped early.
    #[error("stopped before the end")]
    Stopped,
    /// Any other error from `RocksDB`.
    #[error("{path}: {detail}")]
    Io {
        /// The data folder.
        path: String,
        /// The message from `RocksDB`.
        detail: String,
    },
}
