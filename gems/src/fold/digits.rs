//! Steps 9 to 13: letters to classes, transliteration, squeezing, long words cut, digits kept.

use super::characters::Placed;
use super::classes::{is_blank, is_digit, is_word};
use super::letters::{Class, Letters};
use crate::gem::Place;

/// How many characters of a word stay before it is cut.
const KEPT: u32 = 4;
/// Stands for the rest of a cut word.
const CUT: char = '8';

/// The last steps, a character at a time. Small, so that a copy of it is a point to come back to.
#[derive(Clone)]
pub(super) struct Digits<'l> {
    letters: &'l Letters,
    transliteration: Transliteration,
    /// The last character, for squeezing.
    last: Option<char>,
    /// How many characters the current word has, and whether its end is already cut.
    length: u32,
    cut: bool,
}

/// Whether the text is transliterated: as a whole, if any of its characters is neither digit nor blank once its letters
/// are classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transliteration {
    /// Not so far, nor has a character passed that it would have changed.
    Needless,
    /// Not so far, but such a character has passed.
    Missed,
    /// It is.
    Needed,
    /// It is, and such a character has passed before that was known.
    TooLate,
}

impl<'l> Digits<'l> {
    pub(super) fn new(letters: &'l Letters, transliteration: Transliteration) -> Self {
        Self { letters, transliteration, last: None, length: 0, cut: false }
    }

    pub(super) fn transliteration(&self) -> Transliteration {
        self.transliteration
    }

    /// Takes an ASCII blank.
    pub(super) fn blank(&mut self) {
        self.last = Some(' ');
        (self.length, self.cut) = (0, false);
    }

    /// Notes that the text is one that is transliterated.
    pub(super) fn transliterate(&mut self) {
        self.transliteration = match self.transliteration {
            Transliteration::Needless | Transliteration::Needed => Transliteration::Needed,
            Transliteration::Missed | Transliteration::TooLate => Transliteration::TooLate,
        };
    }

    /// Steps 9 and 10.
    pub(super) fn push(&mut self, c: char, place: Place, out: &mut Vec<Placed>) {
        match self.letters.class(c) {
            Class::Deleted => return,
            Class::Digit(digit) => return self.word_character(digit, place, out),
            Class::Kept => {}
        }
        let blank = is_blank(c);
        if !blank && !is_digit(c) {
            self.transliterate();
        }
        if c.is_ascii() && (blank || c.is_ascii_digit()) {
            self.any(c, place, out);
        } else if matches!(self.transliteration, Transliteration::Needed | Transliteration::TooLate) {
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

    /// Steps 11 to 13. A word is cut where it has a word character behind its fourth; no digit stands behind the last.
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
