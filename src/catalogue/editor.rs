//! Everything that changes a catalogue, in the name of somebody.

use std::io::BufRead;
use std::ops::Deref;
use std::sync::Arc;

use jiff::SignedDuration;
use lapidary_gems::{Recipe, RecipeName};

use super::transfer::Account;
use super::{Allowable, Catalogue, CatalogueError, NewEntry, Prepared};
use crate::api::{Added, AllowList, Amendment, Job, MadeKey, MadeWebhook, NewKey, Task};
use crate::index::{Actor, BookId, BookKey, Coverage, Library, Record, Watch};

/// A catalogue that somebody changes. The audit log names this actor. Reads are those of the [`Catalogue`].
///
/// ```
/// use lapidary::catalogue::{Catalogue, Content, NewEntry};
/// use lapidary::index::{Actor, BookKey, Rights};
///
/// # let folder = tempfile::tempdir()?;
/// let catalogue = Catalogue::open_or_create(folder.path())?;
/// let key = BookKey { library: "mine".parse()?, id: "1".parse()? };
/// let book = NewEntry::new(key.clone(), Rights::Free, Content::text("Some text.".to_owned()));
/// let editor = catalogue.by(Actor::Local);
/// editor.add(book)?;
/// assert_eq!(editor.remove(&[key])?, [true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The catalogue itself changes nothing:
///
/// ```compile_fail,E0624
/// # use lapidary::catalogue::Catalogue;
/// fn forgets_who_asked(catalogue: &Catalogue) {
///     let _ = catalogue.remove(&[]);
/// }
/// ```
#[derive(Clone)]
pub struct Editor<'c> {
    catalogue: &'c Catalogue,
    actor: Actor,
}

impl Catalogue {
    /// Changes the catalogue in the name of `actor`.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Editor<'_> {
        Editor { catalogue: self, actor }
    }

    /// Starts a job. If the same task was interrupted, resumes it instead.
    ///
    /// # Errors
    /// [`CatalogueError::JobRuns`] if a job of the same kind is unfinished, and the errors of an invalid task.
    pub fn start(self: &Arc<Self>, actor: Actor, task: Task) -> Result<Job, CatalogueError> {
        actor.act(|| self.start_job(task))
    }
}

impl Deref for Editor<'_> {
    type Target = Catalogue;

    fn deref(&self) -> &Catalogue {
        self.catalogue
    }
}

impl Editor<'_> {
    fn act<T>(&self, change: impl FnOnce(&Catalogue) -> T) -> T {
        self.actor.clone().act(|| change(self.catalogue))
    }

    /// Adds recipes to the catalogue. The first one of a new catalogue becomes its default; without any, that is
    /// `documented`. Returns all recipes of the catalogue; new texts get gems of each of them.
    ///
    /// This is for administrators and for creating a catalogue. Adding books never adds recipes.
    pub fn ensure_recipes(&self, recipes: &[Recipe]) -> Result<Vec<Recipe>, CatalogueError> {
        self.act(|catalogue| catalogue.ensure_recipes(recipes))
    }

    /// Marks as ready those of these recipes that every book now has gems of. Returns the others.
    pub fn ready_recipes(&self, recipes: &[Recipe]) -> Result<Vec<(RecipeName, Coverage)>, CatalogueError> {
        self.act(|catalogue| catalogue.ready_recipes(recipes))
    }

    /// Sets whether folds are kept of books added from now on. With its fold, a book can get gems of another recipe
    /// without its text ([`Task::Reindex`]).
    pub fn keep_folds(&self, keep: bool) -> Result<(), CatalogueError> {
        self.act(|catalogue| catalogue.keep_folds(keep))
    }

    /// Adds a book. A text gets gems of all recipes of the catalogue; a list of gems stays under its own recipe.
    pub fn add(&self, entry: NewEntry) -> Result<Added, CatalogueError> {
        self.act(|catalogue| catalogue.add(entry))
    }

    /// Adds books and returns the result for each, in order. The books are written together. If that fails they are
    /// written one by one, so that one failing book does not affect the others.
    #[must_use]
    pub fn add_some(&self, entries: Vec<NewEntry>) -> Vec<Result<Added, CatalogueError>> {
        self.act(|catalogue| catalogue.add_some(entries))
    }

    /// Adds the books of all jobs. `load` reads them in parallel on all cores; it names each book, as an archive
    /// contains many. `landed` is called for each book once it is on disk, or with the reason that it is not. A job
    /// without books does not stop the others.
    ///
    /// # Errors
    /// If the store fails. Every book reported as added to `landed` is in the catalogue even then.
    pub fn add_all<J: Send, N: Send, E: From<CatalogueError> + Send>(
        &self,
        jobs: Vec<J>,
        recipes: &[Recipe],
        load: impl Fn(J) -> Vec<(N, Result<NewEntry, E>)> + Sync,
        landed: impl FnMut(N, Result<Added, E>) + Send,
    ) -> Result<(), CatalogueError> {
        self.act(|catalogue| catalogue.add_all(jobs, recipes, load, landed))
    }

    /// Writes prepared books to the store, all or none. They are on disk when this returns.
    pub fn commit(&self, prepared: Vec<Prepared>) -> Result<(), CatalogueError> {
        self.act(|catalogue| catalogue.commit(prepared))
    }

    /// Removes books. Returns whether each of them existed.
    pub fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, CatalogueError> {
        self.act(|catalogue| catalogue.remove(keys))
    }

    /// Changes a book's metadata. Returns `None` if there is no such book.
    ///
    /// # Errors
    /// [`CatalogueError::LongNote`] and [`CatalogueError::BadValidity`].
    pub fn amend(&self, key: &BookKey, amendment: &Amendment) -> Result<Option<Record>, CatalogueError> {
        self.act(|catalogue| catalogue.amend(key, amendment))
    }

    /// Computes a book's missing gems from its text. Returns the recipes that were missing.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchBook`], [`CatalogueError::OtherText`] if this is not the book's text, and
    /// [`CatalogueError::NoText`].
    pub fn recut(&self, key: &BookKey, text: &str) -> Result<Vec<RecipeName>, CatalogueError> {
        self.act(|catalogue| catalogue.recut(key, text))
    }

    /// Creates an allow-list, or replaces the one of the same name. Returns whether one existed.
    ///
    /// The gems of a text are stored for every recipe that the catalogue has now. The text itself is not stored.
    ///
    /// # Errors
    /// [`CatalogueError::NothingToAllow`] if there are no gems, [`CatalogueError::LongNote`].
    pub fn allow(
        &self,
        name: BookId,
        what: Allowable,
        note: Option<String>,
    ) -> Result<(AllowList, bool), CatalogueError> {
        self.act(|catalogue| catalogue.allow(name, what, note))
    }

    /// Removes an allow-list. Returns whether it existed.
    pub fn disallow(&self, name: &BookId) -> Result<bool, CatalogueError> {
        self.act(|catalogue| catalogue.disallow(name))
    }

    /// Creates a key.
    ///
    /// # Errors
    /// [`CatalogueError::KeyExists`], [`CatalogueError::BadKey`].
    pub fn add_key(&self, new: NewKey) -> Result<MadeKey, CatalogueError> {
        self.act(|catalogue| catalogue.add_key(new))
    }

    /// Creates a new secret for a key. The old secret stays valid for `overlap`.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchKey`].
    pub fn rotate_key(&self, name: &str, overlap: SignedDuration) -> Result<MadeKey, CatalogueError> {
        self.act(|catalogue| catalogue.rotate_key(name, overlap))
    }

    /// Revokes a key immediately. Returns whether it existed.
    pub fn revoke_key(&self, name: &str) -> Result<bool, CatalogueError> {
        self.act(|catalogue| catalogue.revoke_key(name))
    }

    /// Sends events of a library's books to this address from now on. The returned flag says whether this replaced an
    /// earlier webhook.
    ///
    /// # Errors
    /// [`CatalogueError::BadWebhook`] if this is not an HTTP address.
    pub fn set_webhook(&self, library: Library, url: String) -> Result<(MadeWebhook, bool), CatalogueError> {
        self.act(|catalogue| catalogue.set_webhook(library, url))
    }

    /// Removes a library's webhook. Returns whether it existed.
    pub fn remove_webhook(&self, library: &Library) -> Result<bool, CatalogueError> {
        self.act(|catalogue| catalogue.remove_webhook(library))
    }

    /// Cancels a job. It stops within moments, except for a compaction, which finishes its current step.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], [`CatalogueError::JobEnded`].
    pub fn cancel(&self, id: u32) -> Result<Job, CatalogueError> {
        self.act(|catalogue| catalogue.cancel(id))
    }

    /// Imports an export into this catalogue, with lines of at most `line` bytes, and returns the number of books.
    /// Each book is added, replacing any book with the same key. The catalogue stays usable meanwhile. A catalogue
    /// without books takes over the export's recipes; any other one adds them to its own, as not ready.
    ///
    /// # Errors
    /// [`CatalogueError::BadExport`] with the line number; the books before that line are imported. Errors of the
    /// store.
    pub fn import_into(
        &self,
        input: &mut dyn BufRead,
        line: u64,
        watch: Watch<'_>,
        account: Account<'_>,
    ) -> Result<u64, CatalogueError> {
        self.act(|catalogue| catalogue.import_into(input, line, watch, account))
    }
}
