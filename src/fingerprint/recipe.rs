//! A recipe: everything that decides which gems a text has.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A recipe's name, such as `documented`: 1 to 64 of `a-z 0-9 - @`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecipeName(String);

impl RecipeName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RecipeName {
    type Error = RecipeError;

    fn try_from(name: String) -> Result<Self, RecipeError> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'@';
        if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
            Ok(Self(name))
        } else {
            Err(RecipeError::Name(name))
        }
    }
}

impl From<RecipeName> for String {
    fn from(name: RecipeName) -> String {
        name.0
    }
}

/// What is wrong with a recipe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The name has characters a recipe's name cannot have.
    #[error("'{0}' is not a recipe's name: 1 to 64 of a-z, 0-9, '-' and '@'")]
    Name(String),
}

/// Placeholder for the full recipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    name: RecipeName,
}

impl Recipe {
    /// The recipe's name.
    #[must_use]
    pub fn name(&self) -> &RecipeName {
        &self.name
    }

    /// How many bits a gem of this recipe has: 32 or 64.
    #[must_use]
    pub fn gem_bits(&self) -> u32 {
        32
    }
}
