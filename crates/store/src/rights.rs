//! What may be done with a book.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What may be done with a book, strictest first. A verdict is also one of these.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// Nobody may publish it, not even its publisher: for example, a court has banned it.
    Forbidden,
    /// Under copyright; others may not publish it.
    Protected,
    /// Free to publish with its owner's permission.
    Free,
    /// In the public domain.
    PublicDomain,
    /// Not known.
    Unknown,
}

impl Rights {
    /// All rights, strictest first.
    pub const ALL: [Self; 5] = [
        Self::Forbidden,
        Self::Protected,
        Self::Free,
        Self::PublicDomain,
        Self::Unknown,
    ];

    /// Whether others must not publish it.
    #[must_use]
    pub fn forbids(self) -> bool {
        self <= Self::Protected
    }

    /// The word used in JSON and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Protected => "protected",
            Self::Free => "free",
            Self::PublicDomain => "public_domain",
            Self::Unknown => "unknown",
        }
    }
}

impl FromStr for Rights {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|rights| rights.as_str() == word)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::as_str).join(", ");
                format!("rights are one of: {known}")
            })
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
