//! Cleaning: it ends, and what is clean has no form feeds and no soft hyphens.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| assert!(!lapidary::extract::clean(text).contains(['\x0C', '\u{AD}'])));
