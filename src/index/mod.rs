//! Gems to books: the store that keeps books, their gems and the posting lists, behind one interface.
//!
//! [`Store`] changes books, [`Snapshot`] reads a state of the store that no later change alters. Neither knows texts,
//! scores or verdicts: the catalogue joins those.

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

/// A book's internal number. People see its [`BookKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookNo(pub u32);

/// What names a small record that is kept beside the books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Small<'a> {
    /// A key, by its id.
    Key(&'a str),
    /// A job, by its number.
    Job(u32),
    /// A setting, by its kind and its name.
    Setting(&'a str, &'a str),
}

/// Hears of long work how much of how much is done, and may end it with an error of its own, as
/// [`StoreError::Stopped`].
pub type Watch<'a> = &'a (dyn Fn(u64, u64) -> Result<(), StoreError> + Sync);

/// For work that nobody watches.
pub const UNWATCHED: Watch<'static> = &|_, _| Ok(());

/// A store of books, their gems and the posting lists.
///
/// One call is one atomic change: after a crash each of its books is there wholly or not at all, and once the call has
/// returned they are on disk.
pub trait Store: Send + Sync {
    /// The recipes this store holds gems of, the default first. Empty in a new store.
    fn recipes(&self) -> Vec<Recipe>;

    /// Adds a recipe; the first becomes the store's default. Adding one that is there already changes nothing.
    ///
    /// # Errors
    /// [`StoreError::RecipeDiffers`] for another recipe of the same name.
    fn add_recipe(&self, recipe: &Recipe) -> Result<(), StoreError>;

    /// Makes a recipe the default, and so ready, for all who read at the same instant, and says how many books have no gems of
    /// it. When there are any, it does so only if `anyway`.
    fn make_default(&self, recipe: &RecipeName, anyway: bool) -> Result<u64, StoreError>;

    /// Makes a recipe ready ([`Snapshot::is_ready`]). It stays so until it is dropped.
    fn make_ready(&self, recipe: &RecipeName) -> Result<(), StoreError>;

    /// Makes a recipe one that is known no more, as [`Store::drop_recipe`] does first.
    fn hide_recipe(&self, recipe: &RecipeName) -> Result<(), StoreError>;

    /// Drops a recipe with all gems and postings of it. It is known no more once this has begun; what is left of it when
    /// this is stopped, another call takes away.
    ///
    /// # Errors
    /// [`StoreError::IsDefault`] for the default recipe.
    fn drop_recipe(&self, recipe: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError>;

    /// Gives books their gems of a recipe that was added after them. A book whose record does not have the digest, or that
    /// has gems of the recipe, was changed meanwhile, and stays as it is.
    fn add_gems(&self, recipe: &RecipeName, books: Vec<LateGems>) -> Result<(), StoreError>;

    /// Whether folds are to be kept of the books put in.
    fn keeps_folds(&self) -> Result<bool, StoreError>;

    /// Says whether folds are to be kept from now on. Those that are there stay.
    fn keep_folds(&self, keep: bool) -> Result<(), StoreError>;

    /// Every job that was kept, by number.
    fn jobs(&self) -> Result<Vec<(u32, Vec<u8>)>, StoreError>;

    /// Every key that was kept.
    fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError>;

    /// The settings of one kind: names and values, by name.
    fn settings(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError>;

    /// Changes small records and writes the entries of the audit log that tell of it, in one step: after a crash all of it
    /// is there, or nothing. Does not wait for changes of books, however long those take.
    fn apply(&self, changes: &[(Small<'_>, Option<Vec<u8>>)], actions: &[Action]) -> Result<(), StoreError>;

    /// Sets where some work stands: the audit log does not tell of it, and after a crash an older value may be back.
    fn keep(&self, kind: &str, name: &str, value: Option<&[u8]>) -> Result<(), StoreError>;

    /// Puts books in; one whose key is there already is replaced with all its gems and postings. When a key stands
    /// twice in one call, the last one stays. A book has a gem once: the first place stays, and the record counts it
    /// so. A book that takes the place of a disabled one is disabled too, and keeps its note, unless it has its own. What was
    /// amended of the one before since [`Standing::amended`] of the new one stays, rights too: a change that took long to
    /// prepare undoes no amendment.
    ///
    /// # Errors
    /// [`StoreError::UnknownRecipe`] for gems of a recipe that was not added first, [`StoreError::GemTooLarge`] for
    /// one that its recipe cannot have, [`StoreError::WouldBeEmpty`] for a book whose gems would go without
    /// [`NewBook::allow_empty`]; nothing is changed then.
    fn put(&self, books: Vec<NewBook>) -> Result<(), StoreError>;

    /// Removes books, and says for each key whether it was there before the call.
    fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, StoreError>;

    /// Changes what is said of a book, and not its gems: `change` gets its record, of which key, gems and digest stay as
    /// they are. Returns the new record; `None` when there is no such book.
    fn amend(&self, key: &BookKey, change: &mut dyn FnMut(&mut Record)) -> Result<Option<Record>, StoreError>;

    /// A state of the whole store that no later change alters.
    fn snapshot(&self) -> Box<dyn Snapshot + '_>;

    /// Writes what is in memory to disk, for a clean stop.
    fn flush(&self) -> Result<(), StoreError>;

    /// Brings everything into the form that takes the least space and is read the fastest. Reading and writing go on.
    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError>;

    /// Mends what [`Snapshot::verify`] finds, from the records and the gems of the books; says what each book has lost by
    /// what could not be mended. Others wait with changes, and read on.
    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;

    /// Adds a backup to those in a folder, reads all of it as [`Snapshot::verify`] does, and keeps the newest so many of them.
    /// Reading and writing go on; what was acknowledged before the call is in it. One that could not be restored is no backup:
    /// it is taken away again, the others stay, and the error says what is wrong.
    fn backup(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<Backup, StoreError>;

    /// Ends what runs in the background, so that a [`Store::compact`] under way returns. Nothing is written after this.
    fn stop(&self);

    /// The size of the store's files.
    fn disk(&self) -> Result<DiskUse, StoreError>;

    /// What an administrator watches. Costs no more in a large store than in a small one.
    fn vitals(&self) -> Result<Vitals, StoreError>;

    /// Whether a change could be written now.
    ///
    /// # Errors
    /// Why not, as a change would fail.
    fn writable(&self) -> Result<(), StoreError>;

    /// Sets room on the disk aside, unless that is so or there is too little: when the disk is full, [`Store::apply`] works
    /// once more with it. Then books are refused until there is room to set aside again.
    fn hold_reserve(&self) -> Result<(), StoreError>;

    /// Whether what the store refuses could be written: its disk was full or could not be written, and can be again. It goes
    /// on by itself after most such failures, and else when it is opened anew.
    fn wants_reopening(&self) -> bool;
}

/// A backup that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    /// Its number among those of the folder.
    pub number: u32,
    /// What it takes by itself; files that others have too lie there once.
    pub bytes: u64,
    /// How many backups the folder has.
    pub kept: usize,
}

/// What a store takes on disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUse {
    /// All files.
    pub total: u64,
    /// The posting lists.
    pub postings: u64,
}

/// One state of a [`Store`].
pub trait Snapshot: Send + Sync {
    /// The recipes there are gems of, the default first.
    fn recipes(&self) -> Vec<Recipe>;

    /// For every book with enough of `gems` (equal ones count once): how many of them it has posted. Under a recipe that
    /// posts only some ([`Recipe::posted`]), it may have more of them.
    ///
    /// Each library is counted by itself, as if there were no other. A gem in too many of its books is not counted there but
    /// reported in [`LibraryTally::common`]. A gem that the recipe cannot have is in no book.
    fn tally(&self, recipe: &RecipeName, gems: &[Gem], limits: Limits<'_>) -> Result<Tally, StoreError>;

    /// The books whose text may have this digest, by number: up to [`Limits::cap`] of each library. The first half of the
    /// digest decides; the record has all of it.
    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError>;

    /// The number of a book, if it is there.
    fn find(&self, key: &BookKey) -> Result<Option<BookNo>, StoreError>;

    /// The records of books, in the order asked for; `None` for a number no book has.
    fn fetch(&self, books: &[BookNo]) -> Result<Vec<Option<Record>>, StoreError>;

    /// As [`Snapshot::fetch`], but only of each record what decides whether and where a report shows the book: many are read
    /// for a few that are shown.
    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError>;

    /// A book's gems under a recipe, in order of first place; `None` when it has none under that recipe.
    fn gems(&self, recipe: &RecipeName, book: BookNo) -> Result<Option<Vec<PlacedGem>>, StoreError>;

    /// Up to `limit` records of a library in the order of their ids (by bytes), beginning behind `after`.
    fn walk(&self, library: &Library, after: Option<&BookId>, limit: usize) -> Result<Vec<Record>, StoreError>;

    /// Up to `limit` books in the order of their numbers, from this number on.
    fn books(&self, from: BookNo, limit: usize) -> Result<Vec<(BookNo, Record)>, StoreError>;

    /// The fold that is kept of a book, by the built-in recipe of this name.
    fn fold(&self, base: &str, book: BookNo) -> Result<Option<PackedFold>, StoreError>;

    /// Up to `limit` entries of the audit log, in their order. The oldest of a long log are gone.
    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError>;

    /// The number of the last entry of the audit log; 0 when there is none.
    fn last_audited(&self) -> Result<u64, StoreError>;

    /// What a library holds; `None` when it has no book.
    fn library(&self, library: &Library) -> Result<Option<LibrarySummary>, StoreError>;

    /// Whether a library has a book, or ever had one.
    fn knows(&self, library: &Library) -> bool;

    /// Every library that holds a book, by name.
    fn libraries(&self) -> Result<Vec<LibrarySummary>, StoreError>;

    /// Whether a check may use a recipe without being told that some books may have no gems of it. The default is ready.
    fn is_ready(&self, recipe: &RecipeName) -> bool;

    /// How many of the books have gems of a recipe.
    fn coverage(&self, recipe: &RecipeName) -> Result<Coverage, StoreError>;

    /// How many books have how many gems under a recipe.
    fn sizes(&self, recipe: &RecipeName) -> Result<Sizes, StoreError>;

    /// Reads everything and says what does not fit together, a sentence a fault: a posting without its book or the
    /// reverse, a record without its id, sums that are not the sum.
    fn verify(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError>;
}

/// What [`Snapshot::tally`] leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits<'a> {
    /// A gem in more books of a library than this is a common one there.
    pub cap: u32,
    /// Books with fewer of the gems than this are not named.
    pub fewest: u32,
    /// The library whose books count, if not all do.
    pub library: Option<&'a Library>,
}

/// What [`Snapshot::tally`] counted: the libraries that have a book with enough of the gems, or a common one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// In the order in which the libraries came to be.
    pub libraries: Vec<LibraryTally>,
}

/// What was counted of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryTally {
    /// The library.
    pub library: Library,
    /// Books and how many of the gems each has, by book number.
    pub books: Vec<(BookNo, u32)>,
    /// The gems in more books than the cap, in the order asked for.
    pub common: Vec<Gem>,
    /// How many books have each of the gems that were counted posted, if any has, in the order of the gems.
    pub holders: Vec<(Gem, u32)>,
}

impl LibraryTally {
    /// Nothing was counted.
    #[must_use]
    pub fn empty(library: Library) -> Self {
        Self { library, books: Vec::new(), common: Vec::new(), holders: Vec::new() }
    }
}

/// What a library holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarySummary {
    /// The library.
    pub library: Library,
    /// How many books it holds.
    pub books: u64,
    /// How many of them are disabled.
    #[serde(default)]
    pub disabled: u64,
    /// How long their texts are together, in bytes of UTF-8.
    pub bytes: u64,
    /// When one of its books was last added, replaced (both by the books' own `changed`), amended or removed.
    pub changed: Timestamp,
}

impl LibrarySummary {
    /// Counts a book in the summary of its library.
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

/// How much of a catalogue a recipe covers: a check by it finds no other books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// How many books have gems of the recipe, or were too short for one.
    pub books: u64,
    /// How many books there are.
    pub of: u64,
}

impl Coverage {
    /// How many books have no gems of the recipe.
    #[must_use]
    pub fn lacking(self) -> u64 {
        self.of.saturating_sub(self.books)
    }
}

/// How many books have how many gems: the basis of every statement on chance.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// `classes[i]` is the number of books with `2^(i-1) .. 2^i` gems (`classes[0]`: with none), and how many gems
    /// those books have together. The last class has a book.
    pub classes: Vec<SizeClass>,
}

impl Sizes {
    /// Counts a book with so many gems.
    pub fn add(&mut self, gems: u32) {
        let class = Self::class(gems);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, SizeClass::default());
        }
        self.classes[class].books += 1;
        self.classes[class].gems += u64::from(gems);
    }

    /// Takes out a book with so many gems; `None`, and nothing is changed, when none was counted.
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

/// Books of about one size.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// How many books.
    pub books: u64,
    /// How many gems they have together.
    pub gems: u64,
}

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has the folder open.
    #[error("{path} is in use by {owner}; use --server URL to work with that process, or stop it")]
    InUse {
        /// The data folder.
        path: String,
        /// `process 1234`, or `another process` when it left no trace.
        owner: String,
    },
    /// The folder is of another format version.
    #[error("{path} has format version {found}, this program reads version {supported}; {advice}")]
    Version {
        /// The data folder.
        path: String,
        /// The version found.
        found: String,
        /// The version this program reads and writes.
        supported: u32,
        /// What to do.
        advice: &'static str,
    },
    /// The folder does not exist or holds no store.
    #[error("{0}: no catalogue here; `lapidary ingest --data {0} …` makes one")]
    Missing(String),
    /// There is a catalogue where a new one was to be made.
    #[error("{0}: there is a catalogue here already; name an empty or a new folder")]
    Occupied(String),
    /// The folder holds other files.
    #[error("{0} holds files that are not a Lapidary catalogue; name an empty or a new folder")]
    Foreign(String),
    /// What is on disk does not fit together.
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
    /// The folder may not be read or written.
    #[error("{path}: {detail}; check the folder's owner and permissions")]
    Denied {
        /// The data folder.
        path: String,
        /// What the system said.
        detail: String,
    },
    /// A recipe that the store holds nothing of.
    #[error("there are no gems of recipe '{asked}' here; there are: {known}")]
    UnknownRecipe {
        /// The recipe asked for.
        asked: RecipeName,
        /// The recipes there are, or `none yet`.
        known: String,
    },
    /// A recipe of the same name, but with another definition, is there.
    #[error("there is another recipe '{0}' here already; give this one another name")]
    RecipeDiffers(RecipeName),
    /// A gem with more bits than its recipe's gems have.
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
        /// How many bits the recipe's gems have.
        bits: u32,
    },
    /// A book would be taken out of the checks by being replaced.
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
    /// Two books of one key where each must have its own.
    #[error("{0} is there twice; give each book an id of its own")]
    Duplicate(String),
    /// A book that does not come in its place.
    #[error("{0} does not come in the order of libraries and ids; sort the books")]
    Unordered(String),
    /// The default recipe cannot be dropped.
    #[error("'{0}' is the default recipe; make another one the default before it is dropped")]
    IsDefault(RecipeName),
    /// There is no backup in a folder.
    #[error("{0}: no backup of a catalogue here; `lapidary backup` makes one")]
    NoBackup(String),
    /// What was to be done was stopped before its end.
    #[error("stopped before the end")]
    Stopped,
    /// Anything else that `RocksDB` reports.
    #[error("{path}: {detail}")]
    Io {
        /// The data folder.
        path: String,
        /// What `RocksDB` said.
        detail: String,
    },
}
