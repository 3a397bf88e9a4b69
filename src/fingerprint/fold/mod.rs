//! A text as digits: the thirteen steps of the two exact recipes, in one pass and constant memory.
//!
//! Each step is a file or a type of its own that takes characters with their places in the source and hands on fewer;
//! `plainly` below is their order, and the readable definition. Most tokens of most texts take a shorter way with the
//! same end (`tokens`).

mod buffer;
mod characters;
mod classes;
mod decorated;
mod digits;
mod letters;
mod masks;
mod plain;
mod tokens;
mod words;

use std::ops::Range;

use self::buffer::Buffer;
use self::characters::{Placed, characters};
use self::classes::is_ascii_blank;
use self::decorated::{Decorated, Kind};
use self::digits::{Digits, Transliteration};
use self::letters::Letters;
use self::masks::{BLOCK, Masks, SPAN};
use self::plain::Plain;
use self::tokens::{Rest, Token};
use self::words::{ShortWords, first_joint};
use super::gem::Place;
use super::recipe::Base;

/// What takes the digits of a fold.
pub(super) trait Sink {
    /// Takes the next digits, each with the bytes of the source that it came from. Not every digit is ASCII.
    fn digits(&mut self, digits: &[(char, Place)]);
}

impl Sink for String {
    fn digits(&mut self, digits: &[Placed]) {
        self.extend(digits.iter().map(|(digit, _)| digit));
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
    /// Whether the first joint lies behind.
    joined: bool,
    short_words: ShortWords<'static>,
    decorated: Decorated<'static>,
    /// The digits that are not handed on yet; step 7 may still take back the last of them.
    digits: Buffer,
    sink: S,
}

/// Digits are handed on when there are this many.
const MANY: usize = 1024;

impl<S: Sink> Folding<S> {
    fn new(letters: &'static Letters, transliteration: Transliteration, sink: S) -> Self {
        let decorated = Decorated::new(Digits::new(letters, transliteration));
        let short_words = ShortWords::new(letters);
        Self { letters, joined: false, short_words, decorated, digits: Buffer::new(), sink }
    }

    /// Reads a whole text: plain tokens by masks and tables, all others by the steps.
    fn fast(&mut self, text: &str) {
        let mut masks = Masks::new();
        let mut at = 0;
        while at < text.len() {
            masks.read(self.letters.plain(), &text.as_bytes()[at..]);
            at += self.stretch(text, at, &masks);
            self.settle();
        }
    }

    /// Reads the tokens of a stretch of text from `offset` on; returns where the first token begins that it does not
    /// hold wholly.
    fn stretch(&mut self, text: &str, offset: usize, masks: &Masks) -> usize {
        let plain = self.letters.plain();
        let rest = &text.as_bytes()[offset..];
        let read = rest.len().min(SPAN);
        // Where the next token begins.
        let mut next = 0_usize;
        for block in (0..read).step_by(BLOCK) {
            let blank = masks.blank.from(block);
            let behind = u64::MAX.checked_shl(next.saturating_sub(block) as u32).unwrap_or(0);
            let mut notable = masks.notable(block) & behind;
            while notable != 0 {
                let place = block + notable.trailing_zeros() as usize;
                let behind = blank & !(notable & notable.wrapping_neg()).wrapping_sub(1);
                let start = place + 1 - masks.blank.up_to(place).leading_zeros() as usize;
                let end = place + masks.blank.from(place).trailing_zeros() as usize;
                notable &= !(behind & behind.wrapping_neg()).wrapping_sub(1);
                self.decorated.blanks(start > next);
                match Token::new(masks, offset, start, end) {
                    // A joint has marks between letters.
                    Some(token) if self.joined || !token.is_joined() => {
                        self.plain_token(plain, text, token);
                        next = end + 1;
                    }
                    _ => {
                        let is_blank = |byte: &u8| is_ascii_blank(*byte);
                        let start = rest[..place].iter().rposition(is_blank).map_or(0, |blank| blank + 1);
                        let end = rest[place..].iter().position(is_blank).map_or(rest.len(), |blank| place + blank);
                        if start > 0 && end >= SPAN {
                            return start;
                        }
                        self.token(text, offset + start..offset + end);
                        next = end + 1;
                    }
                }
            }
        }
        let start = read - masks.blank.up_to(read - 1).leading_zeros() as usize;
        self.decorated.blanks(start > next);
        if read == rest.len() { rest.len() } else { next.max(start) }
    }

    /// Takes a token of plain characters, in which is no joint, and the blank behind it.
    #[inline]
    fn plain_token(&mut self, plain: &Plain, text: &str, token: Token) {
        if token.may_split() { self.parts(plain, text, token) } else { self.part(plain, text, &token) }
    }

    /// As [`Self::plain_token`] where step 3 may cut.
    #[cold]
    fn parts(&mut self, plain: &Plain, text: &str, mut token: Token) {
        while let Some(before) = token.split_off(text.as_bytes()) {
            self.part(plain, text, &before);
        }
        self.part(plain, text, &token);
    }

    /// Takes what lies between two blanks once step 3 is done, and the blank behind it.
    #[inline(always)]
    fn part(&mut self, plain: &Plain, text: &str, token: &Token) {
        let rest = token.rest(plain, text.as_bytes());
        let letters = rest.letter.trailing_ones() as usize;
        if rest.letter >> letters != 0 {
            return self.with_marks(plain, text, &rest);
        }
        if letters > 0 {
            let word = &text[rest.start..rest.start + letters];
            self.decorated.digits().plain_word(plain, word, rest.first, rest.start, &mut self.digits);
        }
        self.decorated.token(letters > 0, rest.length > letters, &mut self.digits);
    }

    /// As [`Self::part`] where marks stand before or between the letters that are left.
    #[cold]
    fn with_marks(&mut self, plain: &Plain, text: &str, rest: &Rest) {
        let mut at = 0;
        while at < rest.length {
            let letters = rest.letter >> at;
            let (kind, length) = match letters.trailing_ones() {
                0 => (Kind::Mark, letters.trailing_zeros()),
                length => (Kind::Word, length),
            };
            self.decorated.turn(kind, &mut self.digits);
            at += length as usize;
        }
        let end = rest.start + (rest.letter.ilog2() + 1) as usize;
        self.decorated.digits().plain_word(plain, &text[rest.start..end], rest.first, rest.start, &mut self.digits);
        self.decorated.turn(Kind::Blank, &mut self.digits);
    }

    /// Takes any token, and the blank behind it, by the steps.
    #[cold]
    fn token(&mut self, text: &str, range: Range<usize>) {
        let offset = range.start as u64;
        let token = &text[range];
        let joint = if self.joined { None } else { first_joint(characters(token, self.letters)) };
        self.joined |= joint.is_some();
        let joint = joint.unwrap_or_default();
        for (i, (c, Place { start, end })) in characters(token, self.letters).enumerate() {
            if !joint.contains(&i) {
                self.push((c, Place { start: start + offset, end: end + offset }));
            }
        }
        self.end_word();
        self.decorated.turn(Kind::Blank, &mut self.digits);
        self.decorated.digits().blank();
    }

    fn push(&mut self, character: Placed) {
        self.short_words.push(character, &mut |character| self.decorated.push(character, &mut self.digits));
        if self.digits.len() >= MANY {
            self.settle();
        }
    }

    fn end_word(&mut self) {
        self.short_words.end_word(&mut |character| self.decorated.push(character, &mut self.digits));
    }

    fn settle(&mut self) {
        self.decorated.settle(&mut self.digits, &mut self.sink);
    }

    /// The sink with all digits; `None` when the text should have been transliterated from its start.
    fn finish(mut self) -> Option<S> {
        self.end_word();
        let last = self.decorated.finish(&mut self.digits);
        self.digits.hand_on(self.digits.len(), &mut self.sink);
        (last.transliteration() != Transliteration::TooLate).then_some(self.sink)
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, Place, Placed, Sink, fold, plainly};
    use proptest::prelude::*;

    impl Sink for Vec<(char, Place)> {
        fn digits(&mut self, digits: &[Placed]) {
            self.extend(digits);
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
