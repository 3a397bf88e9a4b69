//! A gem, and where in the source text its chunk lies.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The hash of one chunk of a folded text. The two exact recipes use the lower 32 bits only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gem(pub u64);

impl fmt::Display for Gem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of bytes of the source text in UTF-8, without a byte-order mark: `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Place {
    /// The first byte of the range.
    pub start: u64,
    /// The byte behind its last.
    pub end: u64,
}

/// A gem as it came from a text, or, without a place, from a list of gems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedGem {
    /// The gem.
    pub gem: Gem,
    /// Where the chunk lies in the source; `None` when only the gems are known.
    pub place: Option<Place>,
}
