//! A text as digits: the thirteen steps of the two exact recipes, in one pass and constant memory.
//!
//! Each step is a file or a type of its own. It takes characters with their places in the source and passes on fewer
//! of them. `plainly` below shows their order and is the readable definition. Most tokens of most texts take a
//! shorter path with the same result (`fast`), many at a time: bytes become masks (`masks`, using `plain` and
//! `bits`), arithmetic on the masks performs steps 6 (`short`) and 7 (`rest`), and one loop turns the remaining
//! letters into digits (`squeeze`).
//!
//! Only three steps look beyond a single word. Step 5 applies only once in the whole text: a separate pass finds where,
//! nearly always within the first lines. Step 7 spans three words, and passes characters on before it knows the result,
//! so it saves the small state of the later steps to go back to. Step 10 applies to the whole text or not at all; if
//! that is discovered too late (digits of other scripts before the first letter), the text is folded again.
//!
//! A token takes the plain steps if it has a character outside the masks, or if step 3 or 5 applies to it. The paths
//! switch only between tokens where step 7 has no pending state, so neither needs the other's state. Places are
//! computed on request, only for the digits needed. A long text can be folded in parts (`parts`), in any order: a part
//! ends where no step remembers anything.
//!
//! Character classes are those of Unicode 14, which the reference uses. Newer characters count as unassigned
//! (`data/assigned.txt`), so no library update changes a gem.

pub(crate) mod bits;
mod characters;
mod classes;
mod decorated;
mod digits;
mod fast;
mod letters;
mod masks;
mod parts;
mod plain;
mod rest;
mod short;
mod squeeze;
mod words;

use self::characters::Placed;
#[cfg(any(test, fuzzing))]
use self::characters::characters;
pub(crate) use self::classes::known;
use self::decorated::Decorated;
use self::digits::{Digits, Transliteration};
use self::letters::LetterTables;
pub(crate) use self::parts::{FoldPass, FoldedInto, end_of_part, fold_in_parts};
use self::words::ShortWords;
#[cfg(any(test, fuzzing))]
use self::words::first_joint;
use super::base::Base;
use super::gem::Place;

/// Receives the digits of a fold, in order.
pub(super) trait Sink {
    /// Takes ASCII digits; `place` maps the index of each to the bytes of the source that it came from.
    fn digits(&mut self, digits: &[u8], place: impl Fn(usize) -> Place);

    /// Takes a digit of any script.
    fn digit(&mut self, digit: char, place: Place);
}

impl Sink for String {
    fn digits(&mut self, digits: &[u8], _: impl Fn(usize) -> Place) {
        self.extend(digits.iter().copied().map(char::from));
    }

    fn digit(&mut self, digit: char, _: Place) {
        self.push(digit);
    }
}

impl Sink for Vec<Placed> {
    fn digits(&mut self, digits: &[u8], place: impl Fn(usize) -> Place) {
        self.extend(
            digits
                .iter()
                .enumerate()
                .map(|(i, &digit)| (char::from(digit), place(i))),
        );
    }

    fn digit(&mut self, digit: char, place: Place) {
        self.push((digit, place));
    }
}

/// Folds `text` into a new sink.
///
/// A text is transliterated either completely or not at all. If the need for it appears only after digits have been
/// output that transliteration would have changed, the text is folded again into another sink.
pub(super) fn fold<S: Sink>(text: &str, base: Base, new_sink: impl Fn() -> S) -> S {
    whole(LetterTables::of(base), new_sink, |folding| {
        folding.fast(text);
    })
}

/// Like [`fold`], but by the steps alone. The fast path must give the same result.
#[cfg(any(test, fuzzing))]
pub(super) fn plainly<S: Sink>(text: &str, base: Base, new_sink: impl Fn() -> S) -> S {
    let letters = LetterTables::of(base);
    whole(letters, new_sink, |folding| {
        let joint = first_joint(characters(text, letters)).unwrap_or_default();
        for (i, character) in characters(text, letters).enumerate() {
            if !joint.contains(&i) {
                folding.push(character);
            }
        }
    })
}

/// Folds a whole text with one reader.
fn whole<S: Sink>(
    letters: &'static LetterTables,
    new_sink: impl Fn() -> S,
    read: impl Fn(&mut Folding<S>),
) -> S {
    either(new_sink, |transliteration, sink| {
        let mut folding = Folding::new(letters, transliteration, sink);
        read(&mut folding);
        folding.finish()
    })
}

/// Folds without transliteration, and again with it if it turns out to have been needed earlier.
fn either<S>(
    new_sink: impl Fn() -> S,
    pass: impl Fn(Transliteration, S) -> (S, Transliteration),
) -> S {
    match pass(Transliteration::Needless, new_sink()) {
        (_, Transliteration::TooLate) => pass(Transliteration::Needed, new_sink()).0,
        (sink, _) => sink,
    }
}

/// A pass over a text.
struct Folding<S> {
    letters: &'static LetterTables,
    /// Whether step 5 is done.
    joined: bool,
    short_words: ShortWords<'static>,
    decorated: Decorated<'static>,
    /// Digits that have not been passed on yet; step 7 may still remove the last of them.
    digits: Vec<Placed>,
    sink: S,
}

/// The number of digits that are passed on at a time.
const MANY: usize = 1024;

impl<S: Sink> Folding<S> {
    fn new(letters: &'static LetterTables, transliteration: Transliteration, sink: S) -> Self {
        let decorated = Decorated::new(Digits::new(letters, transliteration));
        let short_words = ShortWords::new(letters);
        Self {
            letters,
            joined: false,
            short_words,
            decorated,
            digits: Vec::new(),
            sink,
        }
    }

    fn push(&mut self, character: Placed) {
        self.short_words.push(character, &mut |character| {
            self.decorated.push(character, &mut self.digits);
        });
        if self.digits.len() >= MANY {
            self.settle();
        }
    }

    fn end_word(&mut self) {
        self.short_words
            .end_word(&mut |character| self.decorated.push(character, &mut self.digits));
    }

    fn settle(&mut self) {
        self.decorated.settle(&mut self.digits, &mut self.sink);
    }

    /// The sink with all digits, and whether the text is transliterated.
    fn finish(mut self) -> (S, Transliteration) {
        self.end_word();
        let last = self.decorated.finish(&mut self.digits);
        self.digits
            .into_iter()
            .for_each(|(digit, place)| self.sink.digit(digit, place));
        (self.sink, last.transliteration())
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, fold, plainly};
    use proptest::prelude::*;

    fn same(text: &str) -> Result<(), TestCaseError> {
        for base in [Base::Documented, Base::Released] {
            prop_assert_eq!(
                fold(text, base, Vec::new),
                plainly(text, base, Vec::new),
                "{:?} under {:?}",
                text,
                base
            );
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
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Tests the borders of blocks and stretches at every position of a token, and tokens longer than a mask.
        #[test]
        fn fast_is_as_plain_over_blocks(
            text in "([a-zа-я]{0,12}[ \u{a0}.…'\u{2014}-]{1,3}|[b-dб-г]{30,70}[ .,-]|…_é?){0,40}",
            times in 1_usize..9,
        ) {
            same(&text.repeat(times))?;
        }

        #[test]
        fn fast_is_as_plain_on_decorated_words(
            text in "([*.,«\u{2014}]{0,2}(b|bcd|bcdfgh|bcdbcdbcd|б|бвгд|бвгдбв|бвгдбвгд|щьцщьъц|ћѓєёђћѓ)?[*.,»\u{2014}'-]{0,2}[ \u{a0}\n]){0,60}",
            times in 1_usize..9,
        ) {
            same(&text.repeat(times))?;
        }

        #[test]
        fn fast_is_as_plain_after_blanks_that_are_transliterated(
            text in "(([*.]|[bб]{2,3}[.,]|[bcбц]{6,8}[*.]?|\u{85}|\u{85}[*.]|ђ|٣)[ \u{85}]{1,2}){0,12}"
        ) {
            same(&text)?;
        }
    }

    #[test]
    fn a_mark_that_combines_behind_a_blank_is_of_its_token() {
        let text = "\u{b}\u{64d}ttttt";
        assert_eq!(
            fold(text, Base::Documented, Vec::new)[0].1,
            super::Place { start: 1, end: 3 }
        );
        same(text).expect("the same both ways");
    }

    #[test]
    fn an_ellipsis_inside_a_token_is_no_letter() {
        for text in [
            "ab-cd some…thing else…where",
            "……2 \u{85}!!!!42",
            "кто-то слово…слово",
            "a-b …mnr…rst…",
        ] {
            same(text).expect("the same both ways");
        }
    }

    #[test]
    fn a_text_may_be_one_token_of_about_a_mask() {
        for length in 50..70 {
            same(&"?".repeat(length)).expect("the same both ways");
            same(&"b".repeat(length)).expect("the same both ways");
        }
    }

    proptest! {
        #[test]
        fn fast_is_as_plain_on_anything(text in any::<String>()) {
            same(&text)?;
        }
    }
}
