//! Changes of a store.

use lapidary_gems::{Recipe, RecipeName};

use super::recipes::RecipeState;
use super::{
    Action, Actor, Administration, AuditEntry, AuditFrom, BookKey, Condition, LateGems, NewBook,
    Record, RecordChange, RocksStore, Row, RowChange, Sharing, Snapshot, StoreError, Table, Watch,
};

/// A store of books, their gems and the posting lists.
///
/// Each call is one atomic change. After a crash, each of its books is either completely there or not at all. Changes
/// are on disk when the call returns. A change names its actor, for the audit log.
pub trait Store: Administration + Send + Sync {
    /// Adds a recipe. The first one becomes the store's default. Adding a known recipe changes nothing.
    ///
    /// # Errors
    /// [`StoreError::RecipeDiffers`] if another recipe has the same name.
    fn add_recipe(&self, by: &Actor, recipe: &Recipe) -> Result<(), StoreError>;

    /// Changes the state of a recipe, atomically for all readers. Returns the number of books without gems of one that is to
    /// be the [default](RecipeState::Default), otherwise 0. If there are any, the default changes only `anyway`.
    ///
    /// # Errors
    /// [`StoreError::UnknownRecipe`], unless it is to be hidden; [`StoreError::IsDefault`] if the default is.
    fn set_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        state: RecipeState,
    ) -> Result<u64, StoreError>;

    /// Drops a recipe with all its gems and postings. The recipe is hidden from the start. If this is stopped early,
    /// another call removes the rest.
    ///
    /// # Errors
    /// [`StoreError::IsDefault`] for the default recipe.
    fn drop_recipe(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        watch: Watch<'_>,
    ) -> Result<(), StoreError>;

    /// Adds gems of a recipe to books that were stored before the recipe was added. Skips books that changed in the
    /// meantime: those whose record has another digest, or already has gems of the recipe.
    fn add_gems(
        &self,
        by: &Actor,
        recipe: &RecipeName,
        books: Vec<LateGems>,
    ) -> Result<(), StoreError>;

    /// Returns up to `limit` rows of a table whose keys start with `prefix`, sorted by key, starting after the key `after`.
    fn page(
        &self,
        table: Table,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError>;

    /// Returns the values of the rows of a table with these keys, in their order; `None` where there is none. However many they
    /// are, this is one read.
    fn rows(&self, table: Table, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Changes rows and writes the audit log entries for them in one atomic step. Does not wait for changes of books,
    /// however long those take.
    ///
    /// Changes without an entry are progress of some work, which can be repeated. They do not wait for the disk: a power
    /// failure can bring back older rows.
    ///
    /// An engine on several nodes changes what is known of a source ([`Table::Harvests`], from its name and a zero byte on) in a
    /// step of its own, with the entries, before the other rows.
    fn apply(
        &self,
        by: &Actor,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), StoreError>;

    /// Stores books. A book whose key exists replaces that book with all its gems and postings. If a key occurs more
    /// than once in a call, the last one wins. Duplicate gems of a book are dropped: the first occurrence stays, and
    /// the record's counts follow.
    ///
    /// A book that replaces a disabled one is disabled too, and keeps its note unless the new one has its own.
    /// Amendments made to the old book since the new one's [`Standing::amended_at`](super::Standing::amended_at) are kept,
    /// including its rights, so a change that took long to prepare does not undo them.
    ///
    /// # Errors
    /// [`StoreError::UnknownRecipe`] for gems of a recipe that was not added, [`StoreError::GemTooLarge`] for a gem
    /// that its recipe cannot produce, [`StoreError::Changed`] for a book that was to have gems of all recipes
    /// ([`NewBook::complete`]) and lacks those of one that was added since, [`StoreError::WouldBeEmpty`] for a book that would lose its gems without
    /// [`NewBook::allow_empty`], [`StoreError::OtherVersion`] for a book whose [`NewBook::condition`] does not hold. Nothing is
    /// changed then.
    fn put(&self, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError>;

    /// Completes the books that were stored as [`NewBook::fills`].
    fn finish_filling(&self, _: Watch<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Removes books, all or none, if each that exists meets the condition. Returns whether each key existed.
    ///
    /// # Errors
    /// [`StoreError::OtherVersion`].
    fn remove(
        &self,
        by: &Actor,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, StoreError>;

    /// Changes a book's metadata but not its gems. `change` receives the record; its changes to key, gems, digest,
    /// length and whether the text is kept are ignored. If it fails, nothing changes. Returns the new record, or `None` if there is
    /// no such book.
    fn amend(
        &self,
        by: &Actor,
        key: &BookKey,
        change: RecordChange<'_>,
    ) -> Result<Option<Record>, StoreError>;

    /// Returns a view of the store as it is now, with every change acknowledged before.
    fn snapshot(&self) -> Box<dyn Snapshot + '_>;

    /// Calls `read` with a snapshot. If an engine began with the recipes as it knew them last, to save a round trip, and they have
    /// changed, it calls once more. Only what was read last counts.
    ///
    /// # Errors
    /// If it could not be found out whether they have changed.
    fn read(&self, read: &mut dyn FnMut(&dyn Snapshot)) -> Result<(), StoreError> {
        read(&*self.snapshot());
        Ok(())
    }

    /// Returns up to `limit` entries of the audit log, in order. A long log has lost its oldest entries. A snapshot
    /// taken after this has the changes of all of them.
    fn audit(&self, from: AuditFrom, limit: usize) -> Result<Vec<AuditEntry>, StoreError>;

    /// Checks whether a change could be written now.
    ///
    /// # Errors
    /// The error that a change would fail with.
    fn writable(&self) -> Result<(), StoreError>;

    /// The store itself, if it is in a folder, or what the processes agree on that share it.
    fn engine(&self) -> Engine<'_>;
}

/// What only one kind of store has.
pub enum Engine<'s> {
    /// Files to flush and to back up, which no other process has open.
    Folder(&'s RocksStore),
    /// Any number of processes, on a database server that has its own tools for backups.
    Shared(&'s dyn Sharing),
}

impl dyn Store + '_ {
    /// Returns the rows of a table, sorted by key.
    pub fn table(&self, table: Table) -> Result<Vec<Row>, StoreError> {
        self.page(table, b"", None, usize::MAX)
    }

    /// Returns the number of the last audit log entry, or 0 if there is none.
    pub fn last_audited(&self) -> Result<u64, StoreError> {
        let last = self.audit(AuditFrom::Last, 1)?.pop();
        Ok(last.map_or(0, |entry| entry.number))
    }

    /// The store itself, if it is in a folder.
    #[must_use]
    pub fn folder(&self) -> Option<&RocksStore> {
        match self.engine() {
            Engine::Folder(folder) => Some(folder),
            Engine::Shared(_) => None,
        }
    }

    /// What the processes agree on that share the store, if its engine lets several have it open.
    #[must_use]
    pub fn sharing(&self) -> Option<&dyn Sharing> {
        match self.engine() {
            Engine::Folder(_) => None,
            Engine::Shared(sharing) => Some(sharing),
        }
    }

    /// The bytes that the store takes, on disk or in memory. Other catalogues of the same server may be counted too.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        match self.engine() {
            Engine::Folder(folder) => folder.bytes(),
            Engine::Shared(sharing) => {
                let nodes = sharing.vitals()?.nodes.into_iter();
                let primaries = nodes.filter(|node| node.is_primary);
                Ok(primaries.map(|node| node.used).sum())
            }
        }
    }
}
