//! All changes to a catalogue, each made on behalf of an actor.

use std::ops::Deref;
use std::sync::Arc;

use super::permission::Permission;
use super::sharing::{SETTINGS, Turn};
use super::{
    AllowLists, Audit, Batches, Books, Catalogue, CatalogueError, CatalogueRecipes, CheckHistory,
    CheckQueue, Checks, Copying, Decisions, DuplicateJobs, Evidence, Figures, Ingest, Jobs, Keys,
    Libraries, ReportLinks, Terms, Transfer, Watches, Webhooks,
};
use lapidary_store::{Action, Actor, RowChange, Standing, Store, StoreError, Table, tag_of};
use lapidary_work::LeasedWork;

/// Changes a catalogue on behalf of an actor, whom the audit log names. Read with the methods of [`Catalogue`].
///
/// ```
/// use lapidary_catalogue::{Catalogue, Content, NewEntry};
/// use lapidary_store::{Actor, BookKey, Rights};
///
/// # let folder = tempfile::tempdir()?;
/// let catalogue = Catalogue::open_or_create(folder.path())?;
/// let key = BookKey { library: "mine".parse()?, id: "1".parse()? };
/// let book = NewEntry::new(key.clone(), Rights::Free, Content::text("Some text.".to_owned()));
/// let editor = catalogue.by(Actor::Local);
/// editor.books().add(book)?;
/// assert_eq!(editor.books().remove(&[key])?, [true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The catalogue itself changes nothing:
///
/// ```compile_fail,E0599
/// # use lapidary_catalogue::Catalogue;
/// fn forgets_who_asked(catalogue: &Catalogue) {
///     let _ = catalogue.books().remove(&[]);
/// }
/// ```
#[derive(Clone)]
pub struct Editor<'c> {
    pub(super) catalogue: &'c Catalogue,
    /// The store of the catalogue, or what a lease allows of it.
    pub(super) store: Arc<dyn Store>,
    pub(super) actor: Actor,
    /// The key on whose authority it works, if that is not the actor's.
    pub(super) principal: Option<String>,
    /// The terms of the request that it works for.
    pub(super) terms: Arc<Terms>,
}

impl Editor<'_> {
    /// The same editor, which changes nothing once this work goes on elsewhere. From now on, what former holders of the work
    /// still send is refused.
    ///
    /// # Errors
    /// If not all of the store can be told so.
    pub fn under(&self, work: &LeasedWork) -> Result<Self, StoreError> {
        let store = work.guard(&self.store)?;
        Ok(Self {
            store,
            ..self.clone()
        })
    }

    /// The same editor, which changes nothing after this turn.
    pub(super) fn within(&self, turn: &Turn<'_>) -> Self {
        let store = turn.guard(&self.store);
        Self {
            store,
            ..self.clone()
        }
    }

    /// The same editor, whose changes are made on these terms.
    #[must_use]
    pub fn on(self, terms: Arc<Terms>) -> Self {
        Self { terms, ..self }
    }

    /// On whose behalf changes are made.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The name of the key on whose behalf changes are made, if there is one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match &self.actor {
            Actor::Key(name) => Some(name),
            Actor::Local | Actor::Anonymous => None,
        }
    }

    /// Takes out what a library noted about its books, for keys that only follow it.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn hide_notes<'s>(
        &self,
        standings: impl IntoIterator<Item = &'s mut Standing>,
    ) -> Result<(), CatalogueError> {
        let key = self.key().map(|name| self.keys().named(name)).transpose()?;
        // A key that was revoked meanwhile sees none.
        let sees = key.is_none_or(|key| key.is_some_and(|key| key.permits(Permission::Ingest)));
        for standing in standings.into_iter().filter(|_| !sees) {
            standing.note = None;
        }
        Ok(())
    }

    /// Changes or removes a setting. Returns whether it existed. The change in `along` is part of the same atomic
    /// step.
    pub fn change_setting(
        &self,
        setting: RowChange,
        along: Option<RowChange>,
    ) -> Result<bool, CatalogueError> {
        self.change_setting_if(setting, along, |_| Ok(()))
    }

    /// Like [`Self::change_setting`], if `permits` its value before, which nobody changes in between.
    ///
    /// # Errors
    /// Those of `permits`.
    pub fn change_setting_if<E: From<CatalogueError>>(
        &self,
        setting: RowChange,
        along: Option<RowChange>,
        permits: impl FnOnce(Option<&[u8]>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let turn = self.turn(&self.changing_settings, SETTINGS)?;
        let before = self.row(setting.table, &setting.key)?;
        permits(before.as_deref())?;
        let tag = before.as_deref().map(tag_of);
        self.terms.expect(tag.as_deref())?;
        let (was_there, removed) = (before.is_some(), setting.value.is_none());
        if was_there || !removed {
            let name = String::from_utf8_lossy(&setting.key).into_owned();
            let action = Action::Setting {
                kind: setting.table.as_str().to_owned(),
                name,
                removed,
            };
            let changes: Vec<RowChange> = [setting].into_iter().chain(along).collect();
            turn.apply(&self.actor, &changes, &[action])
                .map_err(CatalogueError::from)?;
            if let Some(written) = &changes[0].value {
                self.terms.wrote(|| tag_of(written));
            }
        }
        Ok(was_there)
    }

    /// Writes rows that record the progress of some work, in one step ([`Store::apply`](lapidary_store::Store::apply)).
    pub fn apply_rows(&self, changes: &[RowChange]) -> Result<(), CatalogueError> {
        Ok(self.store.apply(&self.actor, changes, &[])?)
    }

    /// Sets whether folds are kept of books added from now on. With its fold, a book can get gems of another recipe
    /// without its text ([`Task::Reindex`](crate::api::Task::Reindex)).
    pub fn keep_folds(&self, keep: bool) -> Result<(), CatalogueError> {
        let turn = self.turn(&self.changing_settings, SETTINGS)?;
        if keep != self.keeps_folds()? {
            let change = if keep {
                RowChange::put(Table::Folds, "", "")
            } else {
                RowChange::delete(Table::Folds, "")
            };
            turn.apply(&self.actor, &[change], &[Action::FoldsKept { kept: keep }])?;
        }
        Ok(())
    }
}

/// Gives a catalogue and its editors access to each of its subjects: with the catalogue one reads them, with an editor one
/// also changes them.
macro_rules! subjects {
    ($($(#[$doc:meta])* $name:ident: $Subject:ident,)*) => {
        impl Catalogue {
            $($(#[$doc])* #[must_use] pub fn $name(&self) -> $Subject<&Self> {
                $Subject(self)
            })*
        }

        impl<'c> Editor<'c> {
            $($(#[$doc])* #[must_use] pub fn $name(&self) -> $Subject<Editor<'c>> {
                $Subject(self.clone())
            })*
        }
    };
}

subjects! {
    /// Its allow-lists.
    allow_lists: AllowLists,
    /// Its audit log.
    audit: Audit,
    /// Its batches of files.
    batches: Batches,
    /// Its books.
    books: Books,
    /// How many checks there were.
    check_history: CheckHistory,
    /// Where its filed checks stand.
    check_queue: CheckQueue,
    /// Checks against its books.
    checks: Checks,
    /// Copying it to another place.
    copying: Copying,
    /// Its register of checks and decisions.
    decisions: Decisions,
    /// What its jobs find of duplicates.
    duplicate_jobs: DuplicateJobs,
    /// The kept texts of filed checks.
    evidence: Evidence,
    /// Figures of the last week.
    figures: Figures,
    /// Adding many books to it.
    ingest: Ingest,
    /// Its jobs.
    jobs: Jobs,
    /// Its keys.
    keys: Keys,
    /// Its libraries.
    libraries: Libraries,
    /// Its recipes.
    recipes: CatalogueRecipes,
    /// Links to its filed checks.
    report_links: ReportLinks,
    /// Export, and import into it.
    transfer: Transfer,
    /// Its watched checks.
    watches: Watches,
    /// Its webhooks.
    webhooks: Webhooks,
}

impl Deref for Editor<'_> {
    type Target = Catalogue;

    fn deref(&self) -> &Catalogue {
        self.catalogue
    }
}
