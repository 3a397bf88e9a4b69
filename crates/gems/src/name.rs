//! The names of recipes, and what can be wrong with a recipe.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::boundaries::BoundariesError;
use super::signatures::{LexiconError, METHODS};

/// The beginning of a name that someone gave.
pub(super) fn excerpt(name: &str) -> String {
    name.chars().take(80).collect()
}

/// A recipe's name, such as `documented`: 1 to 255 characters of `a-z 0-9 - @ ; = : + . _`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecipeName(String);

impl RecipeName {
    /// A name that is known to be one.
    pub(super) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without the digits that tell a secret from others, if it is that of a recipe with one.
    #[must_use]
    pub fn without_secret(&self) -> Option<&str> {
        let (public, tag) = self.0.split_once('@')?;
        let is_tag = tag.len() == 8 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_tag && matches!(public, "hardened" | "hardened-fine" | "hardened-compact"))
            .then_some(public)
    }
}

impl fmt::Display for RecipeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for RecipeName {
    type Err = RecipeError;

    fn from_str(name: &str) -> Result<Self, RecipeError> {
        if (1..=255).contains(&name.len()) && name.bytes().all(is_allowed) {
            Ok(Self(name.to_owned()))
        } else {
            Err(RecipeError::Name(excerpt(name)))
        }
    }
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-@;=:+._".contains(&byte)
}

impl TryFrom<String> for RecipeName {
    type Error = RecipeError;

    fn try_from(name: String) -> Result<Self, RecipeError> {
        name.parse()
    }
}

impl From<RecipeName> for String {
    fn from(name: RecipeName) -> String {
        name.0
    }
}

/// Why a recipe is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The name has characters that are not allowed in a recipe's name.
    #[error("{0:?} is not a recipe's name: 1 to 255 of a-z, 0-9 and -@;=:+._")]
    Name(String),
    /// There is no built-in recipe with that name.
    #[error(
        "there is no recipe '{0}'; built-in recipes: documented, documented-second, released, hardened, hardened-fine, \
         hardened-compact, rewriting; signatures: {methods}",
        methods = METHODS.join(", ")
    )]
    Unknown(String),
    /// The parameters of a signature, or its lexicon, do not fit.
    #[error("recipe '{name}': {why}")]
    Signature {
        /// The name as given.
        name: String,
        /// What does not fit.
        why: String,
    },
    /// The lexicon is invalid.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The boundaries are invalid.
    #[error(transparent)]
    Boundaries(#[from] BoundariesError),
    /// The recipe's name does not match its definition.
    #[error("a recipe is stored as '{0}', but its content is that of '{1}'")]
    Renamed(RecipeName, RecipeName),
}
