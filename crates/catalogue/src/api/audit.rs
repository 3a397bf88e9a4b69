//! The audit log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use lapidary_store::{Action, Amended, Rights};

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its number; numbers increase by 1.
    pub number: u64,
    /// When the change was made.
    pub created_at: Timestamp,
    /// Who: `local`, `anonymous`, or `key:` and the name of a key.
    pub actor: String,
    /// What was changed.
    #[serde(flatten)]
    pub action: Action,
}

impl From<lapidary_store::AuditEntry> for AuditEntry {
    fn from(
        lapidary_store::AuditEntry {
            number,
            created_at,
            actor,
            action,
        }: lapidary_store::AuditEntry,
    ) -> Self {
        Self {
            number,
            created_at,
            actor,
            action,
        }
    }
}

/// An entry for the API description: one object with the fields of all actions, since generated clients do not read an object
/// that extends several others.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct Described {
    /// Its number; numbers increase by 1.
    number: u64,
    /// When the change was made.
    created_at: Timestamp,
    /// Who: `local`, `anonymous`, or `key:` and the name of a key.
    actor: String,
    /// What was changed: a book (`added`, `replaced`, `removed`, `amended`), a `setting`, a key (`key_made`, `key_revoked`), the key
    /// of a person who `signed_in`, that a key has used up its daily quota (`quota_reached`), whether a library is trusted
    /// (`library_trust`), the whole catalogue (`built`), a recipe (`recipe_added`, `recipe_default`, `recipe_dropped`), whether
    /// folds are kept (`folds_kept`), a job (`job_started`, `job_ended`, `job_cancelled`), a run of a source (`source_run`), a
    /// filed check or what was decided or found about it later (`decided`), the kept text of a filed check (`evidence_read`,
    /// `evidence_deleted`, `evidence_expired`), or a check that is no longer watched (`watch_expired`).
    action: String,
    /// The library, or that of the book.
    library: Option<String>,
    /// Whether the library is trusted.
    trusted: Option<bool>,
    /// The id of the book in its library, or of the key.
    id: Option<String>,
    /// The rights in the book; its last ones if it was removed.
    rights: Option<Rights>,
    /// The digest of the book's text, or of the text that was checked.
    digest: Option<String>,
    /// Whether the book's text is kept, or was if the book was removed; absent if not.
    text_kept: Option<bool>,
    /// What was changed about the book.
    changes: Option<Vec<Amended>>,
    /// The kind of the setting or the job.
    kind: Option<String>,
    /// The name of the setting or the key.
    name: Option<String>,
    /// Whether the setting was removed.
    removed: Option<bool>,
    /// The groups of the person that permit something.
    groups: Option<Vec<String>>,
    /// The number of books that the catalogue was built from.
    books: Option<u64>,
    /// The recipe.
    recipe: Option<String>,
    /// Whether folds are kept.
    kept: Option<bool>,
    /// The id of the filed check or decision.
    decision: Option<String>,
    /// What it says: `checked`, `accepted`, `refused`, `appealed` or `matched`.
    ruling: Option<String>,
    /// The id of the filed check that it is about, or whose text was read or deleted.
    check: Option<String>,
    /// The id of the link by which that text was read.
    link: Option<String>,
    /// Whether the decision came from an export; absent if not.
    imported: Option<bool>,
    /// The number of the job.
    job: Option<u32>,
    /// How the job ended: `done` or `failed`.
    state: Option<String>,
    /// The name of the source.
    source: Option<String>,
    /// The number of its run.
    run: Option<u64>,
    /// Why the run cannot go on; absent if it ended.
    error: Option<String>,
    /// Whether only administrators see the source; absent if not.
    administrators: Option<bool>,
}

impl PartialSchema for AuditEntry {
    fn schema() -> RefOr<Schema> {
        Described::schema()
    }
}

impl ToSchema for AuditEntry {
    fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
        Described::schemas(all);
    }
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}
