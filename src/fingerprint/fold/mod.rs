//! A text as digits: the thirteen steps of the two exact recipes, in one pass and constant memory.
//!
//! This is the readable definition. Each step is a file or a type of its own that takes characters with their places in
//! the source and hands on fewer; [`fold`] is their order.

mod characters;
mod classes;
mod decorated;
mod digits;
mod letters;
mod words;

use self::characters::{Placed, characters};
use self::decorated::Decorated;
use self::digits::{Digits, Transliteration};
use self::letters::Letters;
use self::words::{ShortWords, first_joint};
use super::gem::Place;
use super::recipe::Base;

/// What takes the digits of a fold.
pub(super) trait Sink {
    /// Takes the next digit and the bytes of the source that it came from. Not every digit is ASCII.
    fn digit(&mut self, digit: char, place: Place);
}

impl Sink for String {
    fn digit(&mut self, digit: char, _: Place) {
        self.push(digit);
    }
}

/// Folds `text` into a new sink.
///
/// A text is transliterated as a whole or not at all, which may turn out only after digits went out that
/// transliteration would have changed; then the text is folded once more, into another sink.
pub(super) fn fold<S: Sink>(text: &str, base: Base, new_sink: impl Fn() -> S) -> S {
    let letters = Letters::of(base);
    match pass(text, letters, Transliteration::Needless, new_sink()) {
        Some(sink) => sink,
        None => pass(text, letters, Transliteration::Needed, new_sink()).unwrap_or_else(new_sink),
    }
}

/// One pass over the text; `None` when it should have been transliterated from its start.
fn pass<S: Sink>(text: &str, letters: &Letters, transliteration: Transliteration, mut sink: S) -> Option<S> {
    let joint = first_joint(characters(text, letters)).unwrap_or_default();
    let mut short_words = ShortWords::new(letters);
    let mut decorated = Decorated::new(Digits::new(letters, transliteration));
    let mut digits: Vec<Placed> = Vec::new();
    for (i, character) in characters(text, letters).enumerate() {
        if joint.contains(&i) {
            continue;
        }
        short_words.push(character, &mut |character| decorated.push(character, &mut digits));
        if decorated.settled() {
            digits.drain(..).for_each(|(digit, place)| sink.digit(digit, place));
        }
    }
    short_words.end_word(&mut |character| decorated.push(character, &mut digits));
    let last = decorated.finish(&mut digits);
    digits.drain(..).for_each(|(digit, place)| sink.digit(digit, place));
    (last.transliteration() != Transliteration::TooLate).then_some(sink)
}
