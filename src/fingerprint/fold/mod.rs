//! A text as digits: the thirteen steps of the two exact recipes, in one pass and constant memory.
//!
//! Each step is a file or a type of its own that takes characters with their places in the source and hands on fewer;
//! `plainly` below is their order, and the readable definition. Most tokens of most texts take a shorter way with the
//! same end (`tokens`).

mod characters;
mod classes;
mod decorated;
mod digits;
mod letters;
mod tokens;
mod words;

use self::characters::{Placed, characters};
use self::decorated::{Decorated, Kind};
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
    either(Letters::of(base), new_sink, |folding| folding.fast(text))
}

/// As [`fold`], by the steps alone: what the fast way must be equal to.
#[cfg(test)]
fn plainly<S: Sink>(text: &str, base: Base, new_sink: impl Fn() -> S) -> S {
    let letters = Letters::of(base);
    either(letters, new_sink, |folding| {
        let joint = first_joint(characters(text, letters)).unwrap_or_default();
        for (i, character) in characters(text, letters).enumerate() {
            if !joint.contains(&i) {
                folding.push(character);
            }
        }
    })
}

/// Folds without transliteration, and with it if that was wrong.
fn either<S: Sink>(letters: &'static Letters, new_sink: impl Fn() -> S, read: impl Fn(&mut Folding<S>)) -> S {
    let pass = |transliteration| {
        let mut folding = Folding::new(letters, transliteration, new_sink());
        read(&mut folding);
        folding.finish()
    };
    match pass(Transliteration::Needless) {
        Some(sink) => sink,
        None => pass(Transliteration::Needed).unwrap_or_else(new_sink),
    }
}

/// A pass over a text.
struct Folding<S> {
    letters: &'static Letters,
    short_words: ShortWords<'static>,
    decorated: Decorated<'static>,
    /// The digits that step 7 may still take back.
    digits: Vec<Placed>,
    sink: S,
}

impl<S: Sink> Folding<S> {
    fn new(letters: &'static Letters, transliteration: Transliteration, sink: S) -> Self {
        let decorated = Decorated::new(Digits::new(letters, transliteration));
        Self { letters, short_words: ShortWords::new(letters), decorated, digits: Vec::new(), sink }
    }

    /// Reads a whole text: plain tokens by tables, all others by the steps.
    fn fast(&mut self, text: &str) {
        let letters = self.letters;
        let plain = letters.plain();
        let bytes = text.as_bytes();
        let mut at = self.first_joint(text);
        while at < bytes.len() {
            if plain.is_blank(bytes[at]) {
                self.decorated.turn(Kind::Blank, &mut self.digits);
                self.decorated.digits().blank();
                at += 1;
            } else if let Some(token) = plain.token(bytes, at) {
                token.fold(plain, bytes, &mut self.decorated, &mut self.digits);
                at = token.end;
            } else {
                let end = bytes[at..].iter().position(|&byte| plain.is_blank(byte)).map_or(bytes.len(), |n| at + n);
                let offset = at as u64;
                for (c, Place { start, end }) in characters(&text[at..end], letters) {
                    self.push((c, Place { start: start + offset, end: end + offset }));
                }
                self.end_word();
                at = end;
            }
            self.settle();
        }
    }

    /// Reads a text up to the blank behind its first joint, by the steps; returns where that blank is. Reads nothing of
    /// a text without a joint.
    fn first_joint(&mut self, text: &str) -> usize {
        let letters = self.letters;
        let Some(joint) = first_joint(characters(text, letters)) else { return 0 };
        for (i, (c, place)) in characters(text, letters).enumerate() {
            let byte = text.as_bytes().get(place.start as usize);
            if i >= joint.end
                && place.end - place.start == 1
                && byte.is_some_and(|&byte| letters.plain().is_blank(byte))
            {
                self.end_word();
                return place.start as usize;
            }
            if !joint.contains(&i) {
                self.push((c, place));
            }
        }
        self.end_word();
        text.len()
    }

    fn push(&mut self, character: Placed) {
        self.short_words.push(character, &mut |character| self.decorated.push(character, &mut self.digits));
        self.settle();
    }

    fn end_word(&mut self) {
        self.short_words.end_word(&mut |character| self.decorated.push(character, &mut self.digits));
    }

    fn settle(&mut self) {
        if !self.digits.is_empty() && self.decorated.settled() {
            self.digits.drain(..).for_each(|(digit, place)| self.sink.digit(digit, place));
        }
    }

    /// The sink with all digits; `None` when the text should have been transliterated from its start.
    fn finish(mut self) -> Option<S> {
        self.end_word();
        let last = self.decorated.finish(&mut self.digits);
        self.digits.drain(..).for_each(|(digit, place)| self.sink.digit(digit, place));
        (last.transliteration() != Transliteration::TooLate).then_some(self.sink)
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, Place, Sink, fold, plainly};
    use proptest::prelude::*;

    impl Sink for Vec<(char, Place)> {
        fn digit(&mut self, digit: char, place: Place) {
            self.push((digit, place));
        }
    }

    fn same(text: &str) -> Result<(), TestCaseError> {
        for base in [Base::Documented, Base::Released] {
            prop_assert_eq!(fold(text, base, Vec::new), plainly(text, base, Vec::new), "{:?} under {:?}", text, base);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn fast_is_as_plain_on_words_and_marks(text in "([a-eA-E0-2а-еА-ЕёЁйЙьщэ]{0,9}[ .,*_'\u{2014}-]{0,3}[ \n]{0,2}){0,12}") {
            same(&text)?;
        }

        #[test]
        fn fast_is_as_plain_on_what_is_rare(
            text in "([a-eа-еґџѣѡѳ]{0,8}(\u{85}|\u{a0}|\u{301}|\u{2028}|ﬁ|é|ß|ö|Ł|«|“|…|\u{200d}|µ|ª|İ|Σ|٣|中|ｆ|҃|\u{e000}|[ *.-]){0,3}){0,10}"
        ) {
            same(&text)?;
        }
    }

    proptest! {
        #[test]
        fn fast_is_as_plain_on_anything(text in any::<String>()) {
            same(&text)?;
        }
    }
}
