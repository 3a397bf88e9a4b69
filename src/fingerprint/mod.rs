//! Text to gems: fold a text into digits, cut the digits into chunks, hash each chunk.

mod gem;
mod recipe;

pub use gem::{Gem, Place, PlacedGem};
pub use recipe::{Recipe, RecipeError, RecipeName};
