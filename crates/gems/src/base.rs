//! The base of a recipe: the tables and steps that fold a text. Recipes with the same base have the same folds.

use serde::{Deserialize, Serialize};

/// The base of the recipes that fold a text into sounds.
pub(super) const SOUNDS: &str = "sounds";

/// The letter tables and steps that an exact recipe folds with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Base {
    /// As the authors of the algorithm describe it.
    Documented,
    /// As the published Perl module computes it.
    Released,
}

impl Base {
    pub(super) const ALL: [Self; 2] = [Self::Documented, Self::Released];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|base| base.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Released => "released",
        }
    }
}
