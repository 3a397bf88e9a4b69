//! The audit log: who changed what, and when. An entry is written in the same batch as the change that it tells of, so that
//! neither is ever there without the other.

use std::cell::RefCell;
use std::fmt;

use jiff::Timestamp;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};

use super::{Record, Rights};

/// On whose behalf something is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// Someone at this machine: a command that works on the folder, or the server by itself.
    Local,
    /// A request without a key.
    Anonymous,
    /// A request with the key of this name.
    Key(String),
}

thread_local! {
    static CURRENT: RefCell<Actor> = const { RefCell::new(Actor::Local) };
}

impl Actor {
    /// On whose behalf this thread works: [`Actor::Local`] unless it is within [`Actor::act`].
    #[must_use]
    pub fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Does `job` on this one's behalf. A thread that the job starts has to be told by itself.
    pub fn act<T>(self, job: impl FnOnce() -> T) -> T {
        /// Who was there before comes back, also after a panic.
        struct Before(Option<Actor>);

        impl Drop for Before {
            fn drop(&mut self) {
                if let Some(before) = self.0.take() {
                    CURRENT.set(before);
                }
            }
        }

        let _before = Before(Some(CURRENT.replace(self)));
        job()
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Anonymous => f.write_str("anonymous"),
            Self::Key(name) => write!(f, "key:{name}"),
        }
    }
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// A book was added.
    Added(AuditedBook),
    /// A book took the place of one with the same id.
    Replaced(AuditedBook),
    /// A book was removed.
    Removed(AuditedBook),
    /// What is said of a book was changed: whether it counts, its rights, their days, a note.
    Amended(AuditedBook),
    /// A setting that is kept beside the books was made, changed or removed.
    Setting {
        /// Of which kind.
        kind: String,
        /// Its name.
        name: String,
        /// Whether it is gone now.
        removed: bool,
    },
    /// A key was made, or got a new secret.
    KeyMade {
        /// Its name.
        name: String,
        /// Its id.
        id: String,
    },
    /// A key was revoked.
    KeyRevoked {
        /// Its name.
        name: String,
    },
    /// Many books were built into a new catalogue at once.
    Built {
        /// How many.
        books: u64,
    },
    /// A recipe was added.
    RecipeAdded {
        /// Its name.
        recipe: RecipeName,
    },
    /// A recipe became the default.
    RecipeDefault {
        /// Its name.
        recipe: RecipeName,
    },
    /// A recipe, and all gems of it, began to be dropped.
    RecipeDropped {
        /// Its name.
        recipe: RecipeName,
    },
    /// Folds are kept from now on, or not any more.
    FoldsKept {
        /// Whether they are.
        kept: bool,
    },
    /// A job was started.
    JobStarted {
        /// Its number.
        job: u32,
        /// What it does.
        kind: String,
    },
    /// A job was cancelled.
    JobCancelled {
        /// Its number.
        job: u32,
    },
}

/// What is told of a changed book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedBook {
    /// Its library.
    pub library: String,
    /// Its id there.
    pub id: String,
    /// What may be done with it; of a removed one, what might have been.
    pub rights: Rights,
    /// As [`Record::digest`](super::Record::digest).
    pub digest: String,
    /// Of [`Action::Amended`]: what was changed. Entries of older versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Amended>,
}

/// What was changed of what is said of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amended {
    /// It is counted by no check any more.
    Disabled,
    /// It is counted again.
    Enabled,
    /// Something was noted of it.
    Noted,
    /// Its note was forgotten.
    NoteForgotten,
    /// What may be done with it.
    Rights,
    /// The days that its rights hold on.
    Validity,
}

impl Amended {
    /// What of the new record is other than it was.
    pub(super) fn between(old: &Record, new: &Record) -> Vec<Self> {
        let (before, after) = (&old.standing, &new.standing);
        [
            (!old.is_disabled() && new.is_disabled(), Self::Disabled),
            (old.is_disabled() && !new.is_disabled(), Self::Enabled),
            (after.note.is_some() && before.note != after.note, Self::Noted),
            (before.note.is_some() && after.note.is_none(), Self::NoteForgotten),
            (old.rights != new.rights, Self::Rights),
            (before.validity != after.validity, Self::Validity),
        ]
        .into_iter()
        .filter_map(|(changed, change)| changed.then_some(change))
        .collect()
    }
}

/// An entry without its number: what the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Audited {
    pub(super) at: Timestamp,
    pub(super) actor: String,
    #[serde(flatten)]
    pub(super) action: Action,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its number; numbers rise by 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// Who: `local`, `anonymous`, or `key:` and the name of a key.
    pub actor: String,
    /// What.
    #[serde(flatten)]
    pub action: Action,
}

/// Where to begin to read the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFrom {
    /// Behind the entry of this number; 0 is before the first.
    Behind(u64),
    /// At the first entry of this time or later.
    Time(Timestamp),
}
