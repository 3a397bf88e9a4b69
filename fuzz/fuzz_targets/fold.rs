//! The optimized fold agrees with its separate steps on any text, in digits and positions, under both recipes.

#![no_main]

use lapidary_gems::Recipe;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for recipe in [Recipe::documented(), Recipe::released()] {
        let [fast, plain] = recipe.folded_both_ways(text);
        assert_eq!(fast, plain, "under {}", recipe.name());
    }
});
