//! The fast way through most of a text: whole words of plain letters, by tables over bytes.
//!
//! What stands between two ASCII blanks is *plain* when it is marks, letters, marks: ASCII punctuation without `_`,
//! ASCII letters and digits, the letters of Russian and its neighbours in two bytes. A plain token goes through the
//! thirteen steps at once, since all that they do to it is known: steps 1 and 3 change nothing, step 5 is over, step 6
//! drops a beginning that depends on three lengths. Everything else takes the way of [`super::characters`].

use super::characters::Placed;
use super::decorated::{Decorated, Kind};
use super::letters::{Class, Letters};
use crate::fingerprint::gem::Place;

/// What a byte is at the start of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    /// Of a character that is not plain.
    Other,
    Blank,
    Mark,
    /// A letter or a digit.
    Letter,
    /// The first of the two bytes of a character in U+0400 to U+047F.
    Cyrillic,
}

/// Digits of one plain letter: at most three, the first in the lowest byte; 0 is none.
type Packed = u32;

/// What becomes of plain letters under a recipe, by their bytes.
pub(super) struct Plain {
    bytes: [Byte; 256],
    /// By the byte of an ASCII letter or digit.
    ascii: [Packed; 128],
    /// By the code point's lower seven bits; `None` for letters that are not plain.
    cyrillic: [Option<Packed>; 128],
    /// By the same: whether six of them are a short word.
    of_six: [bool; 128],
    /// Whether a Cyrillic letter makes the text one that is transliterated.
    pub(super) transliterates: bool,
}

/// Where the Cyrillic letters begin that have the first bytes 0xD0 and 0xD1.
const CYRILLIC: u32 = 0x400;

impl Plain {
    pub(super) fn new(letters: &Letters) -> Self {
        let mut plain = Self {
            bytes: [Byte::Other; 256],
            ascii: [0; 128],
            cyrillic: [None; 128],
            of_six: [false; 128],
            transliterates: letters.class(letters.simplify('б')) == Class::Kept,
        };
        for byte in 0..128_u8 {
            let c = char::from(byte);
            plain.bytes[usize::from(byte)] = match c {
                '\t'..='\r' | ' ' => Byte::Blank,
                '0'..='9' | 'a'..='z' | 'A'..='Z' => Byte::Letter,
                '_' => Byte::Other,
                '!'..='~' => Byte::Mark,
                _ => Byte::Other,
            };
            if let (Byte::Letter, Some(digits)) = (plain.bytes[usize::from(byte)], digits(letters, c)) {
                plain.ascii[usize::from(byte)] = digits;
            }
        }
        plain.bytes[0xd0] = Byte::Cyrillic;
        plain.bytes[0xd1] = Byte::Cyrillic;
        for i in 0..128_u8 {
            let Some(c) = char::from_u32(CYRILLIC + u32::from(i)).filter(|c| c.is_alphabetic()) else { continue };
            let mut lower = c.to_lowercase();
            if let (Some(lower), None) = (lower.next(), lower.next()) {
                plain.cyrillic[usize::from(i)] = digits(letters, c);
                plain.of_six[usize::from(i)] = letters.is_of_six(letters.simplify(lower));
            }
        }
        plain
    }

    /// Reads the token that begins at `start`, which is no blank; `None` if it is not plain.
    pub(super) fn token(&self, text: &[u8], start: usize) -> Option<Token> {
        let kind = |at: usize| text.get(at).map_or(Byte::Blank, |&byte| self.bytes[usize::from(byte)]);
        let mut at = start;
        while kind(at) == Byte::Mark {
            at += 1;
        }
        let word = at;
        let mut letters = 0;
        let mut six = true;
        loop {
            match kind(at) {
                Byte::Letter => {
                    six = false;
                    at += 1;
                }
                Byte::Cyrillic => {
                    let i = cyrillic(text[at], *text.get(at + 1)?);
                    self.cyrillic[i]?;
                    six &= self.of_six[i];
                    at += 2;
                }
                _ => break,
            }
            letters += 1;
        }
        let word_end = at;
        while kind(at) == Byte::Mark {
            at += 1;
        }
        (kind(at) == Byte::Blank).then_some(Token { start, word, letters, six, word_end, end: at })
    }

    /// Calls `digit` for every digit of the plain word `text[from..to]`, with the place of its letter, until it says to
    /// stop.
    pub(super) fn digits(&self, text: &[u8], from: usize, to: usize, mut digit: impl FnMut(char, Place) -> bool) {
        let mut at = from;
        while at < to {
            let byte = text[at];
            let (mut packed, end) = if byte < 0x80 {
                (self.ascii[usize::from(byte)], at + 1)
            } else {
                (self.cyrillic[cyrillic(byte, text[at + 1])].unwrap_or_default(), at + 2)
            };
            while packed != 0 {
                let place = Place { start: at as u64, end: end as u64 };
                if !digit(char::from(packed as u8), place) {
                    return;
                }
                packed >>= 8;
            }
            at = end;
        }
    }

    /// Whether the byte is an ASCII blank.
    pub(super) fn is_blank(&self, byte: u8) -> bool {
        self.bytes[usize::from(byte)] == Byte::Blank
    }
}

/// The lower seven bits of the code point with these two bytes, the first being 0xD0 or 0xD1.
fn cyrillic(first: u8, second: u8) -> usize {
    usize::from(first & 1) << 6 | usize::from(second & 0x3f)
}

/// What steps 2, 4, 9 and 10 make of a letter, if it is digits only, and few enough.
fn digits(letters: &Letters, c: char) -> Option<Packed> {
    let simple = letters.simplify(c.to_lowercase().next()?);
    let digits = match letters.class(simple) {
        Class::Deleted => String::new(),
        Class::Digit(digit) => digit.to_string(),
        Class::Kept if simple.is_ascii_digit() => simple.to_string(),
        Class::Kept => letters.transliterate(simple).to_owned(),
    };
    let plain = digits.len() < 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.bytes().rev().fold(0, |packed, digit| packed << 8 | u32::from(digit)))
}

/// A plain token: marks, letters, marks, and a blank or the end behind it.
pub(super) struct Token {
    start: usize,
    /// Where the letters begin.
    word: usize,
    /// How many there are.
    letters: usize,
    /// Whether all are of the letters of which six are a short word.
    six: bool,
    word_end: usize,
    /// Where the blank stands.
    pub(super) end: usize,
}

impl Token {
    /// Step 6 of the token, and what is left of it handed on.
    pub(super) fn fold(&self, plain: &Plain, text: &[u8], next: &mut Decorated<'_>, out: &mut Vec<Placed>) {
        let before = self.word - self.start;
        let (marks, word) = match self.letters {
            0 => (before > 0, false),
            // To the end of the word, or to its beginning.
            letters if before + letters <= 5 => (false, false),
            letters if before == 0 && letters == 6 && self.six => (false, false),
            _ => (before > 5, true),
        };
        if marks {
            next.turn(Kind::Mark, out);
        }
        if word {
            next.turn(Kind::Word, out);
            next.digits().plain_word(plain, text, self.word, self.word_end, out);
        }
        if self.word_end < self.end {
            next.turn(Kind::Mark, out);
        }
    }
}
