//! The fast way of the fold and the steps by themselves agree on any text, in digits and places, under both recipes.

#![no_main]

use lapidary_gems::Recipe;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for recipe in [Recipe::documented(), Recipe::released()] {
        let [fast, plain] = recipe.folded_both_ways(text);
        assert_eq!(fast, plain, "under {}", recipe.name());
    }
});
