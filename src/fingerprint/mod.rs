//! Text to gems: fold a text into digits, cut the digits into chunks, hash each chunk.
//!
//! A [`Recipe`] is everything that decides which gems a text has. The two built in are exact to another program's
//! output, quirk for quirk; change nothing here that the tables in `tests/golden` do not ask for.

mod boundaries;
mod cut;
mod fold;
mod gem;
mod hash;
mod packed;
mod recipe;
mod statistics;

pub use boundaries::{Boundaries, BoundariesError};
pub use gem::{Gem, Place, PlacedGem};
pub use packed::PackedFold;
pub use recipe::{Recipe, RecipeError, RecipeName};
pub use statistics::{SequenceCounts, choose};
