//! When a text and a book with gems in common are a match.

use serde::{Deserialize, Serialize};

/// When a book counts as a match. Each recipe comes with one: `Recipe::rule`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub struct Rule {
    /// The fewest gems in common.
    pub min_common: u32,
    /// The least share in common, from 0 to 1, of the query or of the book, whichever is larger.
    pub min_share: f64,
    /// A gem in more books of one library than this is boilerplate there: reported as common, and not counted for that
    /// library's books. What other libraries hold changes nothing.
    pub common_cap: u32,
    /// The least evidence: what the gems in common say together, a rare gem in order counting 1.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min_evidence: f64,
    /// The least support: how many gems in common there are, one that stands alone counting half.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min_support: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_nothing(least: &f64) -> bool {
    *least <= 0.0
}

impl Default for Rule {
    /// [`Rule::EXACT`].
    fn default() -> Self {
        Self::EXACT
    }
}

impl Rule {
    /// The rule of the exact recipes: with 32 bits, fewer gems in common come about by chance in a large index.
    pub const EXACT: Self =
        Self { min_common: 3, min_share: 0.0, common_cap: 10_000, min_evidence: 0.0, min_support: 0.0 };
    /// The rule of the hardened recipes, measured on unrelated books: one gem is no more than a quotation, two far from each
    /// other are two quotations, and two books that share some have a small share of each other.
    pub const HARDENED: Self = Self { min_common: 2, min_share: 0.03, min_support: 2.0, ..Self::EXACT };

    /// The fewest gems in common that can make a match.
    #[must_use]
    pub fn fewest(&self) -> u32 {
        self.min_common.max(1)
    }
}
