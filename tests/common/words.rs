//! Generated words, for tests and benchmarks.

/// Generates a text of this many words, with about one gem per hundred words. `below` returns a random number below its
/// argument.
pub fn text_of_words(mut below: impl FnMut(u64) -> u64, words: usize) -> String {
    let mut text = String::new();
    for word in 0..words {
        for _ in 0..3 + below(3) {
            text.push(char::from(b"bdfgklmnprstvz"[below(14) as usize]));
            text.push(char::from(b"aeiou"[below(5) as usize]));
        }
        text.push_str(if word % 12 == 11 { ".\n" } else { " " });
    }
    text
}
