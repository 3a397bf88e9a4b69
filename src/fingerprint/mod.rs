//! Text to gems.
//!
//! A [`Recipe`] is everything that decides which gems a text has. The two exact ones fold a text into digits (`fold/`), cut
//! the digits into chunks and hash each chunk, as another program does, quirk for quirk; change nothing there that the tables
//! in `tests/golden` do not ask for. `hardened/` is a way of our own, which sees through disguise.

mod boundaries;
mod bounds;
mod cut;
mod fold;
mod gem;
mod hardened;
mod hash;
mod packed;
mod recipe;
mod statistics;

pub use boundaries::{Boundaries, BoundariesError};
pub use bounds::{Costly, bounded};
pub use gem::{Gem, Place, PlacedGem, Probe, WrittenGem, WrittenGemError};
pub use packed::PackedFold;
pub use recipe::{Recipe, RecipeError, RecipeName};
pub use statistics::{SequenceCounts, choose};
