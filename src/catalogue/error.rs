//! What an operation on a catalogue can fail with.

use crate::fingerprint::{Recipe, RecipeError, RecipeName};
use crate::index::{BadName, StoreError};

/// Why a catalogue did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A recipe is wrong.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A library or book id is wrong.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A recipe of which the catalogue holds no gems.
    #[error("this catalogue has no gems of recipe '{asked}'; it has: {known}")]
    NoSuchRecipe {
        /// The recipe asked for.
        asked: String,
        /// The recipes there are.
        known: String,
    },
    /// A library that holds no book.
    #[error("there is no library {0:?}")]
    NoSuchLibrary(String),
    /// A book without a text.
    #[error("there is no text in it")]
    NoText,
    /// A gem that no text can have under the recipe.
    #[error("gem {gem} is not one of recipe '{recipe}': its gems are numbers from 0 to {largest}")]
    BadGem {
        /// The gem.
        gem: u64,
        /// The recipe.
        recipe: RecipeName,
        /// The largest gem it has.
        largest: u64,
    },
    /// More gems than one query or book may have.
    #[error("{found} gems are too many: the limit is {limit}, more than any book has")]
    TooManyGems {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
}

impl CatalogueError {
    pub(super) fn no_such_recipe(asked: &RecipeName, known: &[Recipe]) -> Self {
        let known: Vec<&str> = known.iter().map(|recipe| recipe.name().as_str()).collect();
        Self::NoSuchRecipe {
            asked: asked.to_string(),
            known: if known.is_empty() { "none yet".to_owned() } else { known.join(", ") },
        }
    }
}
