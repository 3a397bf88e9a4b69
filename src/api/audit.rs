//! The audit log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::index::{self, Action};

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Its number; numbers increase by 1.
    pub number: u64,
    /// When the change was made.
    pub at: Timestamp,
    /// Who: `local`, `anonymous`, or `key:` and the name of a key.
    pub actor: String,
    /// What was changed.
    #[serde(flatten)]
    pub action: Action,
}

impl From<index::AuditEntry> for AuditEntry {
    fn from(index::AuditEntry { number, at, actor, action }: index::AuditEntry) -> Self {
        Self { number, at, actor, action }
    }
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number to continue after for the next page; `null` on the last page.
    pub next: Option<u64>,
}
