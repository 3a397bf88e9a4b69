//! Steps 9 to 13: letters to classes, transliteration, squeezing, cutting long words, keeping only digits.

use super::characters::Placed;
use super::classes::{is_blank, is_digit, is_word};
use super::letters::{LetterClass, LetterTables};
use crate::gem::Place;

/// How many characters of a word are kept when it is cut.
const KEPT: u32 = 4;
/// Replaces the rest of a cut word.
const CUT: char = '8';

/// The last steps, one character at a time. It is small, so that a copy of it can serve as a point to return to.
#[derive(Clone)]
pub(super) struct Digits<'l> {
    letters: &'l LetterTables,
    transliteration: Transliteration,
    /// The last character, for squeezing.
    last: Option<char>,
    /// The number of characters in the current word, and whether its end has already been cut.
    length: u32,
    cut: bool,
}

/// Whether the text is transliterated. This applies to the whole text, if any of its characters is neither a digit
/// nor a blank after its letters have become classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transliteration {
    /// Not so far, and no character has passed that transliteration would have changed.
    Needless,
    /// Not so far, but such a character has passed.
    Missed,
    /// Yes.
    Needed,
    /// Yes, but such a character had already passed by then.
    TooLate,
}

impl<'l> Digits<'l> {
    pub(super) fn new(letters: &'l LetterTables, transliteration: Transliteration) -> Self {
        Self {
            letters,
            transliteration,
            last: None,
            length: 0,
            cut: false,
        }
    }

    pub(super) fn transliteration(&self) -> Transliteration {
        self.transliteration
    }

    /// Takes an ASCII blank.
    pub(super) fn blank(&mut self) {
        self.last = Some(' ');
        (self.length, self.cut) = (0, false);
    }

    /// Records that the text is transliterated.
    pub(super) fn transliterate(&mut self) {
        self.transliteration = match self.transliteration {
            Transliteration::Needless | Transliteration::Needed => Transliteration::Needed,
            Transliteration::Missed | Transliteration::TooLate => Transliteration::TooLate,
        };
    }

    /// Steps 9 and 10.
    pub(super) fn push(&mut self, c: char, place: Place, out: &mut Vec<Placed>) {
        match self.letters.class(c) {
            LetterClass::Deleted => return,
            LetterClass::Digit(digit) => return self.word_character(digit, place, out),
            LetterClass::Kept => {}
        }
        let blank = is_blank(c);
        if !blank && !is_digit(c) {
            self.transliterate();
        }
        if c.is_ascii() && (blank || c.is_ascii_digit()) {
            self.any(c, place, out);
        } else if matches!(
            self.transliteration,
            Transliteration::Needed | Transliteration::TooLate
        ) {
            for c in self.letters.transliterate(c).chars() {
                self.any(c, place, out);
            }
        } else {
            self.transliteration = Transliteration::Missed;
            self.any(c, place, out);
        }
    }

    fn any(&mut self, c: char, place: Place, out: &mut Vec<Placed>) {
        if is_word(c) {
            self.word_character(c, place, out);
        } else {
            self.last = Some(c);
            if is_blank(c) {
                (self.length, self.cut) = (0, false);
            } else {
                self.length = self.length.saturating_add(1);
            }
        }
    }

    /// Steps 11 to 13. A word is cut if a word character follows its fourth character; no digit follows the last one.
    fn word_character(&mut self, c: char, place: Place, out: &mut Vec<Placed>) {
        if self.last == Some(c) {
            return;
        }
        self.last = Some(c);
        if self.length < KEPT {
            self.length += 1;
            if is_digit(c) {
                out.push((c, place));
            }
        } else if !self.cut {
            self.cut = true;
            out.push((CUT, place));
        }
    }
}
