//! Many files that are checked together.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{Decision, Problem};

/// A batch to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBatch {
    /// The names of the files that are to be checked, each different from the others.
    #[schema(min_items = 1, max_items = 500, max_length = 1000)]
    pub files: Vec<String>,
}

/// Files that are checked together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Batch {
    /// Its id.
    pub id: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// How many files it has.
    pub total: usize,
    /// How many were checked and filed.
    pub checked: usize,
    /// How many could not be checked.
    pub failed: usize,
    /// If it is shown alone: its files, in the order in which they were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BatchFile>,
}

/// A file of a batch.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchFile {
    /// Its name.
    pub name: String,
    /// The filed check, once it was checked.
    pub check: Option<Decision>,
    /// Why it could not be checked the last time.
    pub problem: Option<Problem>,
}

/// A page of batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Batches {
    /// Without their files, newest first.
    pub batches: Vec<Batch>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}
