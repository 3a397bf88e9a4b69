//! Steps 9 to 13: letters to classes, transliteration, squeezing, long words cut, digits kept.

use super::characters::Placed;
use super::classes::{is_blank, is_digit, is_word};
use super::letters::{Class, Letters};
use crate::fingerprint::gem::Place;

/// How many characters of a word stay before it is cut.
const KEPT: u32 = 4;
/// Stands for the rest of a cut word.
const CUT: char = '8';

/// The last steps, a character at a time. Small, so that a copy of it is a point to come back to.
#[derive(Clone)]
pub(super) struct Digits<'l> {
    letters: &'l Letters,
    /// Whether the text has a character that is neither digit nor blank once its letters are classes: then all of it is
    /// transliterated.
    transliterates: bool,
    /// Whether a character passed untransliterated that transliteration would change.
    odd: bool,
    /// Whether that happened and the text turned out to be one that is transliterated.
    wrong: bool,
    /// The last character, for squeezing.
    last: Option<char>,
    /// How many characters the current word has, and whether its end is already cut.
    length: u32,
    cut: bool,
}

impl<'l> Digits<'l> {
    pub(super) fn new(letters: &'l Letters, transliterates: bool) -> Self {
        Self {
            letters,
            transliterates,
            odd: false,
            wrong: false,
            last: None,
            length: 0,
            cut: false,
        }
    }

    /// Whether what went out is wrong, and the text must be read again with transliteration from its start.
    pub(super) fn wrong(&self) -> bool {
        self.wrong
    }

    /// Steps 9 and 10.
    pub(super) fn push(&mut self, c: char, place: Place, out: &mut Vec<Placed>) {
        match self.letters.class(c) {
            Class::Deleted => return,
            Class::Digit(digit) => return self.word_character(digit, place, out),
            Class::Kept => {}
        }
        let blank = is_blank(c);
        if !self.transliterates && !blank && !is_digit(c) {
            self.transliterates = true;
            self.wrong = self.odd;
        }
        if c.is_ascii() && (blank || c.is_ascii_digit()) {
            self.any(c, place, out);
        } else if self.transliterates {
            for c in self.letters.transliterate(c).chars() {
                self.any(c, place, out);
            }
        } else {
            self.odd = true;
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
