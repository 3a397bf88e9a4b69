//! Text to gems: the fingerprints of books that [Lapidary](https://crates.io/crates/lapidary) indexes.
//!
//! A *gem* is a number that represents a passage of text. Two texts that share a passage share its gem, even if case,
//! punctuation, accents or line breaks differ. So partners can compute gems and keep their texts to themselves: a service
//! compares only the numbers. The crate is plain Rust, reads no files, starts no threads, and builds for
//! `wasm32-unknown-unknown`.
//!
//! # Which recipe
//!
//! A [`Recipe`] is everything that decides which gems a text has. Gems of different recipes cannot be compared.
//!
//! | recipe | use it for | a gem |
//! |---|---|---|
//! | [`Recipe::hardened_compact`] | untrusted texts of any length, which may be disguised copies | 32 bits |
//! | [`Recipe::hardened`] | the same for a page or more; a quarter as many gems | 48 bits |
//! | [`Recipe::hardened_fine`] | short quotations | 48 bits |
//! | [`Recipe::released`] | services that take the gems of [Text::Distill], as the published module computes them | 32 bits |
//! | [`Recipe::documented`] | the same, following the authors' description of the algorithm | 32 bits |
//! | [`Recipe::documented_second`] | like `documented`, but cut in other places, to tell chance from copies | 32 bits |
//! | [`Recipe::rewriting`] | the same work in other words | 48 bits |
//! | [signatures](Recipe::signature), such as `tf` or `winnow;k=5` | the classic methods of digital libraries | 64 or 32 bits |
//!
//! # The gems of a text
//!
//! ```
//! use lapidary_gems::Recipe;
//!
//! # let text: String = (0..9_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! let recipe = Recipe::hardened();
//! for placed in recipe.gems(&text).into_iter().take(3) {
//!     // The form used in JSON and by services: a 32-bit number, or 16 hexadecimal digits.
//!     let written = recipe.write(placed.gem);
//!     let place = placed.place.expect("a gem of a text has a place");
//!     println!("{written} from byte {} to {}", place.start, place.end);
//! }
//! ```
//!
//! Lapidary computes the gems of hardened recipes from the [clean] text: see [`Recipe::reads_clean`].
//!
//! # What two texts have in common
//!
//! ```
//! use std::collections::HashSet;
//!
//! use lapidary_gems::{Gem, Recipe};
//!
//! # let text: String = (0..9_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! let recipe = Recipe::documented();
//! let gems = |text: &str| recipe.gems(text).into_iter().map(|placed| placed.gem).collect::<HashSet<Gem>>();
//! let (original, copy) = (gems(&text), gems(&text.to_uppercase().replace(' ', ",\n")));
//! assert!(copy.intersection(&original).count() > 10);
//! ```
//!
//! # Signs of disguise
//!
//! [`Signs`] counts and locates the tricks that hide a copy from programs, such as letters of another script.
//!
//! # Custom boundaries
//!
//! The exact recipes cut a text wherever its fold contains one of a set of 4-digit sequences. Another set makes another
//! recipe, with its own name.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use lapidary_gems::{Boundaries, Recipe, SequenceCounts, choose};
//!
//! # let text: String = (0..90_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! let recipe = Recipe::documented();
//! let counts = SequenceCounts::of_fold(&recipe.fold(&text), text.chars().count() as u64);
//! let by_language = BTreeMap::from([("en".to_owned(), counts)]);
//! // Chunks of about 2,000 characters, and of at least 150 digits.
//! if let Some(sequences) = choose(&by_language, |_language| 2_000.0, 150, None) {
//!     println!("{}", recipe.with_boundaries(Boundaries::new(sequences, 150)?).name());
//! }
//! # Ok::<(), lapidary_gems::BoundariesError>(())
//! ```
//!
//! # Storing folds
//!
//! Cutting is cheap and folding is not. A [`PackedFold`] stores a folded text, which any recipe with the same base can cut
//! again.
//!
//! ```
//! use lapidary_gems::Recipe;
//!
//! # let text: String = (0..9_000_u64).map(|i| format!("{:x}stone ", i * 2_654_435_761 % 999_983)).collect();
//! let fold = Recipe::documented().folded(&text, |place| place).expect("all but signatures fold");
//! let second = Recipe::documented_second();
//! assert_eq!(second.recut(&fold), Some(second.gems(&text)));
//! ```
//!
//! The exact recipes reproduce the output of another program, quirks included. So `fold/`, `cut` and `hash` change only to
//! match the tables in `tests/golden`.
//!
//! # Untrusted texts
//!
//! [`bounded`] refuses the few texts whose gems would take disproportionately long to compute.
//!
//! [Text::Distill]: https://metacpan.org/pod/Text::Distill

mod base;
mod boundaries;
mod bounds;
mod clean;
mod cut;
mod disguise;
mod fold;
mod gem;
mod hardened;
mod hash;
mod name;
mod packed;
mod recipe;
mod rewriting;
mod rule;
mod sample;
#[cfg(feature = "utoipa")]
mod schema;
mod secret;
mod signatures;
mod statistics;
mod traced;
pub mod varint;

pub use boundaries::{Boundaries, BoundariesError};
pub use bounds::{Costly, bounded};
pub use clean::{Clean, LineBreaks, clean};
pub use cut::{FoldedPart, TextParts};
pub use disguise::{Signs, Trick};
pub use gem::{Gem, Place, PlacedGem, Probe, WrittenGem, WrittenGemError};
pub use hardened::{Misspelling, has_scrambled_letters, misspelling, with_inner_letters_sorted};
pub use name::{RecipeError, RecipeName};
pub use packed::PackedFold;
pub use recipe::Recipe;
pub use rule::{PassageRule, Rule};
pub use secret::{NoSecret, Secret};
pub use signatures::{
    DocumentWords, Lexicon, LexiconCount, LexiconError, LexiconWords, TextWords, WEIGHED,
};
pub use statistics::{SequenceCounts, choose};
