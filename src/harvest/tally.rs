//! What became of a run's books.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

impl Tally {
    /// What came after an earlier one.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            fetched: self.fetched.saturating_sub(before.fetched),
            added: self.added.saturating_sub(before.added),
            unchanged: self.unchanged.saturating_sub(before.unchanged),
            refused: self.refused.saturating_sub(before.refused),
            gone: self.gone.saturating_sub(before.gone),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A kind of reason why an address was refused or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It is no address that can be fetched.
    Address,
    /// There is nothing at it.
    Missing,
    /// The site's `robots.txt` does not allow it.
    Robots,
    /// It is an address of the machine or its network.
    Private,
    /// The server refuses it, or redirects without end.
    Status,
    /// The server does not answer, or says that it cannot now.
    Unanswered,
    /// It is too large.
    TooLarge,
    /// A list that cannot be read.
    BadList,
    /// A file that is no book, or cannot be read.
    BadBook,
    /// The book matches protected ones.
    Matches,
    /// Another fault of the book, such as too long a name.
    BadRecord,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 11] = [
        Self::Address,
        Self::Missing,
        Self::Robots,
        Self::Private,
        Self::Status,
        Self::Unanswered,
        Self::TooLarge,
        Self::BadList,
        Self::BadBook,
        Self::Matches,
        Self::BadRecord,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Missing => "missing",
            Self::Robots => "robots",
            Self::Private => "private",
            Self::Status => "status",
            Self::Unanswered => "unanswered",
            Self::TooLarge => "too_large",
            Self::BadList => "bad_list",
            Self::BadBook => "bad_book",
            Self::Matches => "matches",
            Self::BadRecord => "bad_record",
        }
    }
}
