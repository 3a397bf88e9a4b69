//! What `--recipes all` measures.

use std::sync::Arc;

use lapidary_gems::{Lexicon, Recipe, RecipeError};

/// The signatures with the parameters that the literature gives them, and those that mend a method's greatest weakness.
const SIGNATURES: [&str; 25] = [
    "sum",
    "tf",
    "tf;min_len=1;stop=none",
    "tf-idf",
    "tf-ridf",
    "tf-idfopt",
    "long-sent",
    "long-sent;join=false;n=16",
    "heavy-sent",
    "heavy-sent;join=false;n=16",
    "i-match;lexicons=0",
    "i-match",
    "mega-shingles",
    "key-words",
    "winnow",
    "full-text",
    "n-blocks",
    "n-blocks;stop=none",
    "shingles",
    "mod-shingles",
    "min-shingles",
    "set",
    "tf;unit=paragraph",
    "long-sent;unit=paragraph",
    "full-text;unit=paragraph",
];

/// All methods: the built-in recipes, then the signatures.
///
/// # Errors
/// None that a lexicon could cause.
pub fn every_recipe(lexicon: &Arc<Lexicon>) -> Result<Vec<Recipe>, RecipeError> {
    let signatures = SIGNATURES
        .iter()
        .map(|name| Recipe::signature(name, Some(lexicon)));
    Recipe::built_in().map(Ok).chain(signatures).collect()
}
