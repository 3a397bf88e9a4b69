//! Changes of a store.

use std::path::Path;

use lapidary_gems::{Recipe, RecipeName};

use super::{Action, BookKey, LateGems, NewBook, Record, Snapshot, StoreError, Vitals};

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
