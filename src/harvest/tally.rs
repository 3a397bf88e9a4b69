//! What became of a run's books.

use serde::{Deserialize, Serialize};

/// What became of the books of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Books that were fetched.
    pub fetched: u64,
    /// Books that were added or replaced.
    pub added: u64,
    /// Books that are as they were.
    pub unchanged: u64,
    /// Addresses that could not be fetched or read.
    pub refused: u64,
    /// Books that the source no longer has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub gone: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}
