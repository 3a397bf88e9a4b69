//! Whose word counts: whether the books of a library decide for others.
//!
//! An administrator says of a library whether it is trusted. A library about which nothing was said is trusted, so that
//! catalogues stay as they were. The books of others decide only in what their own keys are told, and are information for
//! everybody else. The statement belongs to the name of the library, not to its books.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::settings::put;
use super::sharing::{SETTINGS, Turn};
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{LibraryListing, Restriction};
use lapidary_checking::{InformationalReason, Policy};
use lapidary_store::{
    Action, Coverage, Library, LibrarySummary, Outline, RowChange, Snapshot, StoreError, Table,
    tag_of,
};

/// The version of a library of which nothing was said.
const UNSTATED: &str = "0";

/// What an administrator said of a library, as stored.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Statement {
    trusted: Option<bool>,
    policy: Option<Policy>,
    since: Timestamp,
}

/// What administrators have said of libraries.
#[derive(Debug, Default, Serialize)]
pub(super) struct Statements(BTreeMap<Library, Statement>);

impl Statements {
    /// Whether the books of a library decide for everybody.
    pub(super) fn is_trusted(&self, library: &Library) -> bool {
        self.trusted(library) != Some(false)
    }

    /// The libraries that are not trusted.
    pub(super) fn untrusted(&self) -> impl Iterator<Item = &Library> {
        self.0
            .iter()
            .filter(|(_, statement)| statement.trusted == Some(false))
            .map(|(library, _)| library)
    }

    /// Whether a library is trusted, if that was said.
    pub(super) fn trusted(&self, library: &Library) -> Option<bool> {
        self.0.get(library)?.trusted
    }

    /// The policy of a library, if it has its own.
    pub(super) fn policy(&self, library: &Library) -> Option<&Policy> {
        self.0.get(library)?.policy.as_ref()
    }

    /// The row of a library after this is said of it.
    fn row(&self, library: &Library, say: impl FnOnce(&mut Statement)) -> RowChange {
        let mut statement = self.0.get(library).cloned().unwrap_or(Statement {
            trusted: None,
            policy: None,
            since: Timestamp::UNIX_EPOCH,
        });
        say(&mut statement);
        statement.since = Timestamp::now();
        put(Table::Libraries, library.as_str(), &statement)
    }
}

/// Which books decide in what somebody is told.
pub(super) struct Deciding<'a> {
    snapshot: &'a dyn Snapshot,
    statements: Arc<Statements>,
    /// The policy of libraries without their own.
    usual: Policy,
    /// The libraries of whoever is told.
    own: BTreeSet<Library>,
    /// The libraries of others that are not trusted.
    informing: BTreeSet<Library>,
    /// All others, if there are any that are not.
    libraries: Option<Vec<Arc<LibrarySummary>>>,
}

impl Deciding<'_> {
    /// Why a book is only information, if it is.
    pub(super) fn informs(&self, book: &Outline) -> Option<InformationalReason> {
        if self.own.contains(&book.library) {
            None
        } else if self.informing.contains(&book.library) {
            Some(InformationalReason::UntrustedLibrary)
        } else {
            book.standing
                .is_quarantined()
                .then_some(InformationalReason::Quarantined)
        }
    }

    /// The policy by which the books of a library decide.
    pub(super) fn policy(&self, library: &Library) -> &Policy {
        self.statements.policy(library).unwrap_or(&self.usual)
    }

    /// The libraries of which all books are only information.
    pub(super) fn informing(&self) -> &BTreeSet<Library> {
        &self.informing
    }

    /// How many of the books have gems of at least one of these recipes, without libraries that only inform.
    pub(super) fn coverage(&self, recipes: &[RecipeName]) -> Result<Coverage, StoreError> {
        self.counted(recipes)
            .map_or_else(|| self.snapshot.coverage_of_any(recipes), Ok)
    }

    /// How many of all books have gems of at least one of these recipes, if there are libraries that only inform.
    pub(super) fn coverage_of_all(
        &self,
        recipes: &[RecipeName],
    ) -> Result<Option<Coverage>, StoreError> {
        self.libraries
            .as_ref()
            .map(|_| self.snapshot.coverage_of_any(recipes))
            .transpose()
    }

    /// Whether all books with gems of a recipe are of libraries that only inform.
    pub(super) fn only_inform(&self, recipe: &RecipeName) -> bool {
        self.counted(std::slice::from_ref(recipe))
            .is_some_and(|coverage| coverage.books == 0)
    }

    /// The coverage, if some libraries are not counted. Catalogues of older versions may not know it.
    fn counted(&self, recipes: &[RecipeName]) -> Option<Coverage> {
        Coverage::of_libraries(self.libraries.as_ref()?, recipes)
    }
}

/// The libraries of a catalogue and whose word counts ([`Catalogue::libraries`]). Who has an [`Editor`] says so.
#[derive(Debug, Clone)]
pub struct Libraries<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Libraries<C> {
    /// What administrators have said of libraries.
    pub(super) fn statements(&self) -> Result<Arc<Statements>, CatalogueError> {
        self.0.statements.get(&self.0, || self.read_statements())
    }

    /// Reads the statements again, because others may have changed them.
    pub(super) fn learn(&self) -> Result<(), CatalogueError> {
        self.0.statements.learn(|| self.read_statements())
    }

    fn read_statements(&self) -> Result<Statements, CatalogueError> {
        Ok(Statements(self.0.rows(Table::Libraries)?))
    }

    /// Which books decide in what whoever has these libraries is told.
    pub(super) fn deciding_for<'a>(
        &self,
        snapshot: &'a dyn Snapshot,
        own: BTreeSet<Library>,
    ) -> Result<Deciding<'a>, CatalogueError> {
        let statements = self.statements()?;
        let untrusted = statements.untrusted();
        let of_others = untrusted.filter(|library| !own.contains(*library));
        let informing: BTreeSet<Library> = of_others.cloned().collect();
        let libraries = if informing.is_empty() {
            None
        } else {
            Some(
                snapshot
                    .libraries()?
                    .into_iter()
                    .filter(|of| !informing.contains(&of.library))
                    .collect(),
            )
        };
        Ok(Deciding {
            snapshot,
            statements,
            usual: Policy::default(),
            own,
            informing,
            libraries,
        })
    }

    /// Why the books of a library do not decide for everybody, if they do not.
    pub(super) fn restriction(
        &self,
        library: &Library,
    ) -> Result<Option<Restriction>, CatalogueError> {
        Ok((!self.statements()?.is_trusted(library)).then_some(Restriction::UntrustedLibrary))
    }

    /// Whether a library is trusted.
    pub fn is_trusted(&self, library: &Library) -> Result<bool, CatalogueError> {
        Ok(self.statements()?.is_trusted(library))
    }

    /// The policy by which the books of a library decide.
    pub fn policy(&self, library: &Library) -> Result<Policy, CatalogueError> {
        Ok(self
            .statements()?
            .policy(library)
            .cloned()
            .unwrap_or_default())
    }

    /// The version of what was said of a library.
    pub fn version(&self, library: &Library) -> Result<String, CatalogueError> {
        let row = self.0.row(Table::Libraries, library.as_str().as_bytes())?;
        Ok(row.as_deref().map_or_else(|| UNSTATED.to_owned(), tag_of))
    }

    /// Returns every library that holds a book.
    pub fn list(&self) -> Result<Vec<LibraryListing>, CatalogueError> {
        self.listed(self.0.store.snapshot().libraries()?)
    }

    /// Summaries of libraries, with whether these are trusted.
    pub(super) fn listed(
        &self,
        summaries: Vec<Arc<LibrarySummary>>,
    ) -> Result<Vec<LibraryListing>, CatalogueError> {
        let trust = self.statements()?;
        let listed = summaries.into_iter().map(|summary| {
            let library = &summary.library;
            let (trusted, policy) = (trust.is_trusted(library), trust.policy(library).cloned());
            LibraryListing::new(Arc::unwrap_or_clone(summary), trusted, policy)
        });
        Ok(listed.collect())
    }

    /// What is to be stated of the libraries of a new key, of which its maker says whether they are trusted.
    ///
    /// # Errors
    /// [`CatalogueError::TrustStated`] if something else was said of one before, or if books that decide so far would not any
    /// more.
    pub(super) fn trust_of_new_key(
        &self,
        libraries: &BTreeSet<Library>,
        trusted: bool,
    ) -> Result<Vec<(Library, bool)>, CatalogueError> {
        let (known, snapshot) = (self.read_statements()?, self.0.store.snapshot());
        let mut stated = Vec::new();
        for library in libraries {
            match known.trusted(library) {
                Some(known) if known == trusted => continue,
                None if trusted || snapshot.library(library)?.is_none() => {}
                _ => {
                    return Err(CatalogueError::TrustStated {
                        library: library.clone(),
                        trusted,
                    });
                }
            }
            stated.push((library.clone(), trusted));
        }
        Ok(stated)
    }

    /// The row that says of a library whether it is trusted.
    pub(super) fn trust_row(
        &self,
        library: &Library,
        trusted: bool,
    ) -> Result<RowChange, CatalogueError> {
        let statements = self.read_statements()?;
        Ok(statements.row(library, |said| said.trusted = Some(trusted)))
    }

    /// Forgets what is known of the statements, because they have changed.
    pub(super) fn forget(&self) {
        self.0.statements.forget();
    }
}

impl Libraries<Editor<'_>> {
    /// Distrusts libraries that another catalogue distrusts, unless something was said of them here.
    pub(super) fn distrust(&self, libraries: &[Library]) -> Result<(), CatalogueError> {
        let known = self.read_statements()?;
        for library in libraries {
            if known.trusted(library).is_none() {
                self.set_trust(library, false)?;
            }
        }
        Ok(())
    }

    /// Says of a library whether it is trusted. Returns whether that changed.
    pub fn set_trust(&self, library: &Library, trusted: bool) -> Result<bool, CatalogueError> {
        let turn = self.0.turn(&self.0.changing_settings, SETTINGS)?;
        self.expects_version(library)?;
        let statements = self.read_statements()?;
        let was_stated = statements.trusted(library);
        if was_stated == Some(trusted) {
            return Ok(false);
        }
        let action = Action::LibraryTrust {
            library: library.to_string(),
            trusted,
        };
        let row = statements.row(library, |said| said.trusted = Some(trusted));
        self.state(&turn, row, action)?;
        Ok(was_stated.unwrap_or(true) != trusted)
    }

    /// Makes sure that what was said of a library is the version that the request is for.
    fn expects_version(&self, library: &Library) -> Result<(), CatalogueError> {
        let version = self.version(library)?;
        self.0.terms.expect(Some(&version))
    }

    /// Writes what is said of a library.
    fn state(&self, turn: &Turn<'_>, row: RowChange, action: Action) -> Result<(), CatalogueError> {
        let version = row.value.as_deref().map(tag_of);
        let done = turn.apply(&self.0.actor, &[row], &[action]);
        self.forget();
        done?;
        if let Some(version) = version {
            self.0.terms.wrote(|| version);
        }
        Ok(())
    }

    /// Sets the policy by which the books of a library decide; `None` for the usual one.
    pub fn set_policy(
        &self,
        library: &Library,
        policy: Option<&Policy>,
    ) -> Result<(), CatalogueError> {
        let turn = self.0.turn(&self.0.changing_settings, SETTINGS)?;
        self.expects_version(library)?;
        let statements = self.read_statements()?;
        if statements.policy(library) == policy {
            return Ok(());
        }
        let action = Action::Setting {
            kind: "policy".to_owned(),
            name: library.to_string(),
            removed: policy.is_none(),
        };
        let row = statements.row(library, |said| said.policy = policy.cloned());
        self.state(&turn, row, action)
    }
}

/// Makes sure that a library has books, if one is named.
///
/// # Errors
/// [`CatalogueError::NoSuchLibrary`].
pub(super) fn holds_books(
    snapshot: &dyn Snapshot,
    library: Option<&Library>,
) -> Result<(), CatalogueError> {
    match library {
        Some(library) if snapshot.library(library)?.is_none() => {
            Err(CatalogueError::NoSuchLibrary(library.to_string()))
        }
        _ => Ok(()),
    }
}
