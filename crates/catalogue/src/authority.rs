//! On whose authority a change is made, and what that permits.
//!
//! The server lets a key that can ingest write the books of its libraries. Here is what it may not do there unless an
//! administrator said so: forbid texts, add books without a gate, or undo what an administrator did.

use std::collections::BTreeSet;
use std::fmt;

use super::answer::CheckOptions;
use super::{Catalogue, CatalogueError, Editor, Gate, NewEntry};
use crate::permission::{Permission, Unless};
use lapidary_store::{Actor, Condition, Keeps, Library, Rights, SetBy, StoreError, Validity, bans};

/// On whose authority a change is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Authority {
    /// An administrator's: a command on the store itself, a server without keys, or an administrator's key.
    Administrator,
    /// That of a library's key.
    Tenant(TenantPowers),
}

/// What a library's key may do besides writing its books.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TenantPowers {
    libraries: BTreeSet<Library>,
    may_forbid: bool,
    must_gate: Option<Unless>,
}

impl Authority {
    /// The libraries of the key. Their books decide in what it is told.
    pub(super) fn own_libraries(&self) -> BTreeSet<Library> {
        match self {
            Self::Administrator => BTreeSet::new(),
            Self::Tenant(powers) => powers.libraries.clone(),
        }
    }

    /// As whom it disables books and notes something on them.
    pub(super) fn as_setter(&self) -> SetBy {
        match self {
            Self::Administrator => SetBy::Administrator,
            Self::Tenant(_) => SetBy::Library,
        }
    }

    /// What a change of books must not undo, apart from what is said of them.
    pub(super) fn keeps(&self) -> Keeps {
        match self {
            Self::Administrator => Keeps::default(),
            Self::Tenant(powers) => Keeps {
                ban: !powers.may_forbid,
                word_of_administrator: false,
            },
        }
    }

    /// What the removal of books must not undo.
    pub(super) fn keeps_of_removed(&self) -> Keeps {
        Keeps {
            word_of_administrator: *self != Self::Administrator,
            ..self.keeps()
        }
    }

    /// # Errors
    /// [`StoreError::MayNotForbid`] for rights that only some keys may give to `what`.
    pub(super) fn may_set(
        &self,
        what: impl fmt::Display,
        rights: Rights,
        validity: Option<&Validity>,
    ) -> Result<(), StoreError> {
        let refused = self.keeps().ban && bans(rights, validity);
        if refused {
            Err(StoreError::MayNotForbid(what.to_string()))
        } else {
            Ok(())
        }
    }

    /// The gate that a book must pass, of what its request asks for and what its key requires.
    fn gate(&self, asked: Option<Gate>) -> Option<Gate> {
        match self {
            Self::Tenant(TenantPowers {
                must_gate: Some(Unless::Protected),
                libraries,
                ..
            }) => {
                let asked = asked.unwrap_or_else(|| Gate {
                    visible: Some(libraries.clone()),
                    ..Gate::default()
                });
                Some(asked.required())
            }
            _ => asked,
        }
    }
}

fn authority_of(catalogue: &Catalogue, key: &str) -> Result<Option<Authority>, CatalogueError> {
    Ok(catalogue.keys().named(key)?.map(|key| {
        if key.permits(Permission::Administer) {
            return Authority::Administrator;
        }
        Authority::Tenant(TenantPowers {
            libraries: key.libraries.clone(),
            may_forbid: key.permits(Permission::Ban),
            must_gate: key.must_gate,
        })
    }))
}

impl<'c> Editor<'c> {
    /// An editor with the same actor that works for the library's key of this name, and has no powers if there is none any more;
    /// `None`: for an administrator.
    #[must_use]
    pub fn on_behalf_of(&self, key: Option<&str>) -> Editor<'c> {
        Editor {
            principal: key.map(str::to_owned),
            ..self.clone()
        }
    }

    /// On whose authority it makes changes. A key that is no longer there has no powers.
    pub(super) fn authority(&self) -> Result<Authority, CatalogueError> {
        let (key, is_library) = match (&self.principal, &self.actor) {
            (Some(key), _) => (key, true),
            (None, Actor::Key(key)) => (key, false),
            (None, Actor::Local) => return Ok(Authority::Administrator),
            (None, Actor::Anonymous) if self.keys().is_open()? => {
                return Ok(Authority::Administrator);
            }
            (None, Actor::Anonymous) => return Ok(Authority::Tenant(TenantPowers::default())),
        };
        // An administrator's key may have the name of a library's that was revoked.
        let found = authority_of(self, key)?
            .filter(|found| !is_library || *found != Authority::Administrator);
        Ok(found.unwrap_or_else(|| Authority::Tenant(TenantPowers::default())))
    }

    /// Who waits in the queue of the gate.
    pub(super) fn in_line(&self) -> Actor {
        self.principal
            .clone()
            .map_or_else(|| self.actor.clone(), Actor::Key)
    }

    /// The libraries of the key that acts, unless it is an administrator's. Their books decide in what it is told.
    pub fn own_libraries(&self) -> Result<BTreeSet<Library>, CatalogueError> {
        Ok(self.authority()?.own_libraries())
    }

    /// The options of a check that the actor asks for.
    pub fn asking(&self, options: CheckOptions) -> Result<CheckOptions, CatalogueError> {
        let authority = self.authority()?;
        Ok(CheckOptions {
            by: self.actor.clone(),
            exactly: authority == Authority::Administrator,
            own: authority.own_libraries(),
            ..options
        })
    }

    /// Whether the actor may define a source whose books have these rights.
    ///
    /// # Errors
    /// [`StoreError::MayNotForbid`].
    pub fn may_define(
        &self,
        rights: Rights,
        validity: Option<&Validity>,
    ) -> Result<(), CatalogueError> {
        Ok(self
            .authority()?
            .may_set("the books of the source", rights, validity)?)
    }

    /// Whether books must pass a gate whatever requests ask for, because the key requires it.
    pub fn must_gate(&self) -> Result<bool, CatalogueError> {
        Ok(matches!(
            self.authority()?,
            Authority::Tenant(TenantPowers {
                must_gate: Some(_),
                ..
            })
        ))
    }

    /// A book to add, with what its key requires and must not undo.
    ///
    /// # Errors
    /// [`StoreError::MayNotForbid`].
    pub(super) fn permitted(&self, entry: NewEntry) -> Result<NewEntry, CatalogueError> {
        let authority = self.authority()?;
        authority.may_set(&entry.key, entry.rights, entry.validity.as_ref())?;
        let condition = Condition {
            keeps: authority.keeps(),
            ..entry.condition
        };
        Ok(NewEntry {
            gate: authority.gate(entry.gate),
            condition,
            ..entry
        })
    }
}
