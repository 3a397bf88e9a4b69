//! Validates gems supplied by clients.

use hashbrown::HashSet;
use lapidary_gems::{Gem, Recipe, WrittenGem};

use super::CatalogueError;

/// Maximum number of gems in a query, or in a book given as gems: many times that of the longest novels.
pub const MAX_GEMS: usize = 100_000;

/// Validates external gems: checks their range and number, and removes duplicates. Nobody can know those of a secret recipe;
/// to look up guesses would tell which are right.
pub(super) fn distinct(gems: &[WrittenGem], recipe: &Recipe) -> Result<Vec<Gem>, CatalogueError> {
    if recipe.secret().is_some() && !gems.is_empty() {
        return Err(CatalogueError::SecretRecipe(recipe.name().clone()));
    }
    if gems.len() > MAX_GEMS {
        return Err(CatalogueError::TooManyGems {
            found: gems.len(),
            limit: MAX_GEMS,
        });
    }
    let mut seen = HashSet::with_capacity(gems.len());
    let mut distinct = Vec::with_capacity(gems.len());
    for &gem in gems {
        let Some(gem) = recipe.read(gem) else {
            let are = match (recipe.is_signature(), recipe.gem_bits()) {
                (true, 32) => "strings of 8 hexadecimal digits",
                (true, _) => "strings of 16 hexadecimal digits",
                (false, 32) => "numbers from 0 to 4294967295",
                (false, _) => "strings of 16 hexadecimal digits, of which the first four are 0",
            };
            return Err(CatalogueError::BadGem {
                gem,
                recipe: recipe.name().clone(),
                are,
            });
        };
        if seen.insert(gem) {
            distinct.push(gem);
        }
    }
    Ok(distinct)
}
