//! Recipes in keys.

use lapidary_gems::Gem;

use super::owners::LibraryNo;
use super::schema;
use crate::recipes::{KnownRecipe, Recipes};

impl Recipes {
    /// Parses the beginning of a gem's keys.
    pub(super) fn read_gem(&self, key: &[u8]) -> Option<(&KnownRecipe, Gem)> {
        let (number, bytes, gem) = schema::read_gem_key(key)?;
        let recipe = self.numbered(number)?;
        (bytes == recipe.gem_bytes() && recipe.fits(gem)).then_some((recipe, gem))
    }

    /// Parses a key of a long list: that of its counts, or that of a library's part.
    pub(super) fn read_list(&self, key: &[u8]) -> Option<(&KnownRecipe, Gem, Option<LibraryNo>)> {
        let counts = self.read_gem(key).map(|(recipe, gem)| (recipe, gem, None));
        counts.or_else(|| {
            let (gem, library) = key.split_last_chunk()?;
            let (recipe, gem) = self.read_gem(gem)?;
            Some((recipe, gem, Some(LibraryNo(u32::from_be_bytes(*library)))))
        })
    }
}
