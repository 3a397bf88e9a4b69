//! When a text and a book with common gems match.

use serde::{Deserialize, Serialize};

/// When a book counts as a match. Each recipe has its own rule: `Recipe::rule`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub struct Rule {
    /// The minimum number of common gems.
    pub min_common: u32,
    /// The minimum share of common gems, from 0 to 1: of the query or of the book, whichever share is larger.
    pub min_share: f64,
    /// The minimum share if fewer than [`Rule::FEW`] gems are common: a text that quotes a few sentences of a book has a small
    /// share of it, and one that is a page of the book a large one. Less than that only informs. Of gems that overlap, which are
    /// one phrase, one counts; and at least `min_common` must not overlap.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min_share_of_few: f64,
    /// The minimum overall similarity, from 0 to 1: twice the common gems over the gems of both texts.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min_score: f64,
    /// A gem in more than this many books of a library is boilerplate in that library: it is reported as common, and
    /// does not count towards matches with that library's books. Other libraries do not affect this.
    pub common_cap: u32,
    /// The minimum evidence: the combined weight of the common gems. A rare gem in order has weight 1.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min_evidence: f64,
    /// The minimum support: the number of common gems, where an isolated gem counts half.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub min_support: f64,
}

/// Which common gems of two texts belong to the same passage. Each recipe has its own rule: `Recipe::passages`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageRule {
    /// In both texts, at most this many gems lie from one common gem to the next: with an exact recipe about 16,000
    /// characters, with `hardened` 6,000. That is enough to bridge gems lost to small edits, and too little to join two
    /// chapters.
    pub reach: usize,
    /// So many missing gems do not divide a passage: about 480 characters, at least two. In other words, most are missing.
    pub gap: usize,
    /// Passages of fewer common gems are not shown beside longer ones: unrelated texts have them.
    pub fewest: usize,
    /// A passage with at most this many common gems may be a quotation: about 4,000 characters.
    pub quotation: usize,
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
    /// The rule of the exact recipes. With 32-bit gems, a smaller number of common gems occurs by chance in a large index.
    pub const EXACT: Self = Self {
        min_common: 3,
        min_share: 0.0,
        min_share_of_few: 0.0,
        min_score: 0.0,
        common_cap: 10_000,
        min_evidence: 0.0,
        min_support: 0.0,
    };
    /// The rule of `hardened`, measured on unrelated books: one gem is no more than a quotation, two gems far apart are two
    /// quotations, a text may quote a page of a book, and two books that share quotations share only a small part of each
    /// other.
    pub const HARDENED: Self = Self {
        min_share_of_few: 0.12,
        ..Self::QUOTED
    };
    /// The rule of `hardened-compact`, of which a paragraph has several gems.
    pub const COMPACT: Self = Self {
        min_share: 0.01,
        min_share_of_few: 0.16,
        ..Self::QUOTED
    };
    /// The rule of `hardened-fine`, which finds quotations.
    pub const QUOTED: Self = Self {
        min_common: 2,
        min_share: 0.03,
        min_support: 2.0,
        ..Self::EXACT
    };
    /// The rule of `rewriting`, whose gems must be near each other. A triple in so many books is a common phrase.
    pub const REWRITING: Self = Self {
        min_common: 3,
        min_share: 0.01,
        common_cap: 1_000,
        ..Self::EXACT
    };
    /// With fewer common gems, [`Rule::min_share_of_few`] is required.
    pub const FEW: u32 = 16;

    /// The number of common gems needed for a match between two texts of which the shorter one has this many gems.
    #[must_use]
    pub fn needed(&self, gems: u32) -> f64 {
        f64::from(self.fewest()).max(self.min_share * f64::from(gems))
    }

    /// Whether the share must be [larger](Self::min_share_of_few), because few gems are common.
    #[must_use]
    pub fn is_few(&self, common: u32) -> bool {
        common < Self::FEW && self.min_share_of_few > 0.0
    }

    /// The smallest number of common gems that can make a match.
    #[must_use]
    pub fn fewest(&self) -> u32 {
        self.min_common.max(1)
    }
}
