//! Recipes as they are stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Method, Recipe};
use crate::base::Base;
use crate::boundaries::Boundaries;
use crate::hardened::{Density, Hardened};
use crate::name::{RecipeError, RecipeName};
use crate::secret::Secret;
use crate::signatures::Lexicon;

/// The serialized form of a recipe.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Definition {
    Exact {
        name: RecipeName,
        base: Base,
        shortest: usize,
        boundaries: Vec<String>,
    },
    /// The name determines everything. The numbers tell the definition from earlier ones of the same name.
    Hardened {
        name: RecipeName,
        window: u64,
        /// The size of a gem; absent in earlier definitions.
        #[serde(default)]
        bits: u32,
        /// What the constants are drawn from, if they are not public.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<Secret>,
    },
    /// The name determines everything, as of `rewriting`; the lexicon that it ends with is kept too, to compute gems.
    Signature {
        name: RecipeName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lexicon: Option<String>,
    },
}

impl From<Recipe> for Definition {
    fn from(Recipe { name, method }: Recipe) -> Self {
        match method {
            Method::Exact { base, boundaries } => {
                let (shortest, boundaries) =
                    (boundaries.shortest(), boundaries.sequences().collect());
                Self::Exact {
                    name,
                    base,
                    shortest,
                    boundaries,
                }
            }
            Method::Hardened(hardened) => Self::Hardened {
                name,
                window: hardened.density().window(),
                bits: hardened.density().gem_bits(),
                secret: hardened.secret().cloned(),
            },
            Method::Rewriting => Self::Signature {
                name,
                lexicon: None,
            },
            Method::Signature(signature) => Self::Signature {
                name,
                lexicon: signature
                    .lexicon()
                    .map(|lexicon| lexicon.written().to_owned()),
            },
        }
    }
}

impl TryFrom<Definition> for Recipe {
    type Error = RecipeError;

    fn try_from(written: Definition) -> Result<Self, RecipeError> {
        let (name, recipe) = match written {
            Definition::Exact {
                name,
                base,
                shortest,
                boundaries,
            } => (
                name,
                Self::by(Method::Exact {
                    base,
                    boundaries: Boundaries::new(boundaries, shortest)?,
                }),
            ),
            Definition::Hardened {
                name,
                window,
                bits,
                secret,
            } => {
                let mut all = Density::ALL.into_iter();
                let found =
                    all.find(|density| (density.window(), density.gem_bits()) == (window, bits));
                let density = found.ok_or_else(|| {
                    RecipeError::Unknown(format!(
                        "{name} with a window of {window} and {bits} bits"
                    ))
                })?;
                let hardened = Hardened::new(density, secret.as_ref());
                (name, Self::by(Method::Hardened(hardened)))
            }
            Definition::Signature { name, lexicon } => {
                let lexicon = lexicon
                    .map(|written| written.parse::<Lexicon>().map(Arc::new))
                    .transpose()?;
                let recipe = Self::named(name.as_str(), lexicon.as_ref())?;
                (name, recipe)
            }
        };
        if recipe.name == name {
            Ok(recipe)
        } else {
            Err(RecipeError::Renamed(name, recipe.name))
        }
    }
}
