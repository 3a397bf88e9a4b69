//! Cleaning: it terminates, cleaned text has no form feeds and no soft hyphens, and each piece of it occurs in the
//! original text.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let clean = lapidary_gems::clean(text);
    assert!(!clean.text().contains(['\x0C', '\u{AD}']));
    for (at, char) in clean.text().char_indices() {
        let _ = &text[clean.source(at..at + char.len_utf8())];
    }
});
