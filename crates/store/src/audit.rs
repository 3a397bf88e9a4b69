//! The audit log: who changed what, and when. An entry is written in the same batch as its change, so neither exists
//! without the other.

use std::fmt;

use jiff::Timestamp;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{Record, Rights};

/// Who a change is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A local user: a command that works on the folder, or the server itself.
    Local,
    /// A request without a key.
    Anonymous,
    /// A request with the key of this name.
    Key(String),
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

impl Actor {
    /// The actor that is written like this; `None` if none is.
    #[must_use]
    pub fn written(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("key:")) {
            (_, Some(name)) => Some(Self::Key(name.to_owned())),
            ("local", _) => Some(Self::Local),
            ("anonymous", _) => Some(Self::Anonymous),
            _ => None,
        }
    }
}

/// What was changed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// A book was added.
    Added(AuditedBook),
    /// A book replaced one with the same id.
    Replaced(AuditedBook),
    /// A book was removed.
    Removed(AuditedBook),
    /// A book's metadata was changed: whether it counts, its rights, their days, a note.
    Amended(AuditedBook),
    /// A setting was created, changed or removed.
    Setting {
        /// The kind of setting.
        kind: String,
        /// Its name.
        name: String,
        /// Whether it was removed.
        removed: bool,
    },
    /// A key was created, or got a new secret.
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
    /// A key has used up its daily quota.
    QuotaReached {
        /// Its name.
        name: String,
    },
    /// A person signed in with the identity provider: the key of this person was made or renewed.
    SignedIn {
        /// The name of the key.
        name: String,
        /// The groups that permit something.
        groups: Vec<String>,
    },
    /// A library was trusted, or not any more.
    LibraryTrust {
        /// The library.
        library: String,
        /// Whether it is trusted.
        trusted: bool,
    },
    /// A new catalogue was built from many books at once.
    Built {
        /// Number of books.
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
    /// Dropping a recipe, with all its gems, was started.
    RecipeDropped {
        /// Its name.
        recipe: RecipeName,
    },
    /// Keeping folds was turned on or off.
    FoldsKept {
        /// Whether folds are kept.
        kept: bool,
    },
    /// A job was started.
    JobStarted {
        /// Its number.
        job: u32,
        /// The kind of job.
        kind: String,
    },
    /// A check was filed, a decision about one recorded, or that a later book matches it.
    Decided {
        /// The id of the entry.
        decision: String,
        /// `checked`, `accepted`, `refused`, `appealed`, `matched`, `withdrawn` or `assigned`.
        ruling: String,
        /// The id of the check that it is about.
        check: String,
        /// The digest of the checked text.
        digest: String,
        /// Whether it came from an export, and so was made before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        imported: bool,
    },
    /// The kept text of a filed check was read.
    EvidenceRead {
        /// The id of the check.
        check: String,
        /// The id of the link that was followed, if it was read by that.
        link: Option<String>,
    },
    /// The kept text of a filed check has expired, and was deleted.
    EvidenceExpired {
        /// The id of the check.
        check: String,
    },
    /// The kept text of a filed check was deleted.
    EvidenceDeleted {
        /// The id of the check.
        check: String,
    },
    /// A filed check is no longer watched, because it has expired.
    WatchExpired {
        /// The id of the check.
        check: String,
    },
    /// A job was cancelled.
    JobCancelled {
        /// Its number.
        job: u32,
    },
    /// A job ended by itself.
    JobEnded {
        /// Its number.
        job: u32,
        /// The kind of job.
        kind: String,
        /// `done` or `failed`.
        state: String,
    },
    /// A run of a source ended, or cannot go on for now.
    SourceRun {
        /// The name of the source.
        source: String,
        /// The library that its books belong to.
        library: String,
        /// The number of the run.
        run: u64,
        /// Why it cannot go on; none if it ended.
        error: Option<String>,
        /// Whether only administrators see the source.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        administrators: bool,
    },
}

impl Action {
    /// The book that was changed.
    #[must_use]
    pub fn book(&self) -> Option<&AuditedBook> {
        match self {
            Self::Added(book)
            | Self::Replaced(book)
            | Self::Removed(book)
            | Self::Amended(book) => Some(book),
            _ => None,
        }
    }
}

/// A changed book, as shown in the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedBook {
    /// Its library.
    pub library: String,
    /// Its id in the library.
    pub id: String,
    /// Its rights; for a removed book, its last rights.
    pub rights: Rights,
    /// See [`Record::digest`](super::Record::digest).
    pub digest: String,
    /// Whether its text is kept; for a removed book, whether it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_kept: bool,
    /// For [`Action::Amended`]: what was changed. Entries of older versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Amended>,
}

/// A change to a book's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Amended {
    /// The book was disabled: checks no longer count it.
    Disabled,
    /// The book was enabled again.
    Enabled,
    /// The book was removed, and can be restored.
    Removed,
    /// The book was restored.
    Restored,
    /// A note was added.
    Noted,
    /// The note was removed.
    NoteForgotten,
    /// The rights were changed.
    Rights,
    /// The days on which the rights are in effect were changed.
    Validity,
    /// The book was confirmed: it is no longer in quarantine.
    Confirmed,
    /// The title, the authors or another part of its description was changed.
    Described,
}

impl Amended {
    /// The differences between two records.
    #[must_use]
    pub fn between(old: &Record, new: &Record) -> Vec<Self> {
        let (before, after) = (&old.standing, &new.standing);
        [
            (!old.is_disabled() && new.is_disabled(), Self::Disabled),
            (old.is_disabled() && !new.is_disabled(), Self::Enabled),
            (
                before.removed_at.is_none() && after.removed_at.is_some(),
                Self::Removed,
            ),
            (
                before.removed_at.is_some() && after.removed_at.is_none(),
                Self::Restored,
            ),
            (
                after.note.is_some() && before.note != after.note,
                Self::Noted,
            ),
            (
                before.note.is_some() && after.note.is_none(),
                Self::NoteForgotten,
            ),
            (old.rights != new.rights, Self::Rights),
            (before.validity != after.validity, Self::Validity),
            (
                before.is_quarantined() && !after.is_quarantined(),
                Self::Confirmed,
            ),
            (old.description != new.description, Self::Described),
        ]
        .into_iter()
        .filter_map(|(changed, change)| changed.then_some(change))
        .collect()
    }
}

/// An entry without its number, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// When it happened.
    pub at: Timestamp,
    /// Who did it.
    pub actor: String,
    #[serde(flatten)]
    /// What was done.
    pub action: Action,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number; numbers increase by 1.
    pub number: u64,
    /// When the change was made.
    pub created_at: Timestamp,
    /// Who: `local`, `anonymous`, or `key:` and the name of a key.
    pub actor: String,
    /// What was changed.
    pub action: Action,
}

/// Where to start reading the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFrom {
    /// After the entry with this number; 0 is before the first.
    Behind(u64),
    /// At the first entry at or after this time.
    Time(Timestamp),
    /// At the last entry.
    Last,
}
