//! The fast way through most of a text: tokens of plain characters, by one table.
//!
//! What stands between two ASCII blanks is *plain* when it is marks, letters, marks, each a character on which the
//! steps act alone and one for one: most of Latin and Cyrillic, digits, and the usual punctuation but `_`. What the
//! thirteen steps do to a plain token is known beforehand: steps 1 and 3 change nothing, step 5 is over, step 6 drops a
//! beginning that depends on three lengths. Every other token takes the way of [`super::characters`].

use super::characters::{Placed, is_plain_form};
use super::classes::{is_blank, is_digit, is_word};
use super::decorated::{Decorated, Kind};
use super::letters::{Class, Letters};
use crate::fingerprint::gem::Place;

/// What becomes of a character: its digits, at most three, the first in the lowest byte, and what it is. 0 is a
/// character that is not plain.
type Entry = u32;
const LETTER: Entry = 1 << 24;
const MARK: Entry = 1 << 25;
/// An ASCII blank.
const BLANK: Entry = 1 << 26;
/// A letter of which six are a short word.
const OF_SIX: Entry = 1 << 27;
/// A letter that makes the text one that is transliterated.
const TRANSLITERATED: Entry = 1 << 28;

/// Characters of one and two bytes.
const TWO_BYTES: usize = 0x800;
/// The general punctuation from U+2000 on that begins with these two bytes.
const PUNCTUATION: [u8; 2] = [0xe2, 0x80];
const PUNCTUATION_START: u32 = 0x2000;
const PUNCTUATION_COUNT: usize = 0x40;

/// What becomes of plain characters under a recipe.
pub(super) struct Plain {
    /// By code point, and behind [`TWO_BYTES`] the punctuation.
    entries: Box<[Entry; TWO_BYTES + PUNCTUATION_COUNT]>,
}

impl Plain {
    pub(super) fn new(letters: &Letters) -> Self {
        let mut entries = Box::new([0; TWO_BYTES + PUNCTUATION_COUNT]);
        for (code, entry) in (0..TWO_BYTES as u32).chain(PUNCTUATION_START..).zip(entries.iter_mut()) {
            if let Some(c) = char::from_u32(code) {
                *entry = entry_of(letters, c).unwrap_or_default();
            }
        }
        Self { entries }
    }

    /// The entry of the next character, which leaves `rest`; a blank at the end of the text.
    #[inline]
    fn next(&self, rest: &mut &[u8]) -> Entry {
        match *rest {
            [] => BLANK,
            [byte @ 0..=0x7f, behind @ ..] => {
                *rest = behind;
                self.entries[usize::from(*byte)]
            }
            [first @ 0xc2..=0xdf, second, behind @ ..] => {
                *rest = behind;
                self.entries[(usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f)) % TWO_BYTES]
            }
            [first, second, third, behind @ ..] if [*first, *second] == PUNCTUATION => {
                *rest = behind;
                self.entries[TWO_BYTES + usize::from(third & 0x3f)]
            }
            _ => 0,
        }
    }

    /// Reads the token that begins at `start`, which is no blank; `None` if it is not plain.
    #[inline]
    pub(super) fn token(&self, text: &[u8], start: usize) -> Option<Token> {
        let mut rest = &text[start..];
        let mut at = start;
        let mut entry = self.next(&mut rest);
        let mut before = 0;
        while entry & MARK != 0 {
            before += 1;
            at = text.len() - rest.len();
            entry = self.next(&mut rest);
        }
        let (word, mut letters, mut all, mut any) = (at, 0, Entry::MAX, 0);
        while entry & LETTER != 0 {
            letters += 1;
            all &= entry;
            any |= entry;
            at = text.len() - rest.len();
            entry = self.next(&mut rest);
        }
        let (word_end, after) = (at, entry & MARK != 0);
        while entry & MARK != 0 {
            at = text.len() - rest.len();
            entry = self.next(&mut rest);
        }
        (entry & BLANK != 0).then_some(Token { before, word, letters, word_end, after, end: at, all, any })
    }

    /// Steps 9 to 12 of the plain word from `from` to the end of `text`: its first digits, none like the one before, each
    /// with the place of its letter; stops when there are `N`. Says how many there are.
    ///
    /// Whether a letter has a digit no processor can foresee, so nothing here branches on it.
    #[inline]
    pub(super) fn first_digits<const N: usize>(&self, text: &[u8], from: usize) -> ([(u8, Place); N], usize) {
        let mut found = [(0, Place { start: 0, end: 0 }); N];
        let mut count = 0;
        let mut last = 0;
        let mut rest = &text[from..];
        while !rest.is_empty() && count < N {
            let start = (text.len() - rest.len()) as u64;
            let mut digits = self.next(&mut rest) & (LETTER - 1);
            let place = Place { start, end: (text.len() - rest.len()) as u64 };
            loop {
                let digit = digits as u8;
                found[count] = (digit, place);
                count += usize::from(digit != 0) & usize::from(digit != last);
                last = if digit == 0 { last } else { digit };
                digits >>= 8;
                if digits == 0 || count == N {
                    break;
                }
            }
        }
        (found, count)
    }

    /// Whether the byte is an ASCII blank.
    pub(super) fn is_blank(&self, byte: u8) -> bool {
        byte.is_ascii() && self.entries[usize::from(byte)] & BLANK != 0
    }
}

/// What becomes of a character, if it is plain.
fn entry_of(letters: &Letters, c: char) -> Option<Entry> {
    if c.is_ascii() && is_blank(c) {
        return Some(BLANK);
    }
    if c == '_' || !is_plain_form(c) {
        return None;
    }
    let mut lower = c.to_lowercase();
    let (Some(lower), None) = (lower.next(), lower.next()) else { return None };
    let simple = letters.simplify(lower);
    match (is_word(lower), is_word(simple)) {
        (false, false) if !is_blank(lower) && !is_blank(simple) => Some(MARK),
        (true, true) if simple != '_' => {
            let (digits, transliterated) = match letters.class(simple) {
                Class::Deleted => (String::new(), 0),
                Class::Digit(digit) => (digit.to_string(), 0),
                Class::Kept if simple.is_ascii_digit() => (simple.to_string(), 0),
                // A digit of another script alone does not make the text a transliterated one.
                Class::Kept if is_digit(simple) => return None,
                Class::Kept => (letters.transliterate(simple).to_owned(), TRANSLITERATED),
            };
            let few = digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
            let packed = digits.bytes().rev().fold(0, |packed, digit| packed << 8 | Entry::from(digit));
            let six = if letters.is_of_six(simple) { OF_SIX } else { 0 };
            few.then_some(LETTER | transliterated | six | packed)
        }
        _ => None,
    }
}

/// A plain token: marks, letters, marks, and a blank or the end behind it.
pub(super) struct Token {
    /// How many marks stand before the letters.
    before: usize,
    /// Where the letters begin.
    word: usize,
    /// How many there are.
    letters: usize,
    /// Where they end.
    word_end: usize,
    /// Whether there are marks behind them.
    after: bool,
    /// Where the blank stands.
    pub(super) end: usize,
    /// What all of the letters are, and what any of them is.
    all: Entry,
    any: Entry,
}

impl Token {
    /// Step 6 of the token, and what is left of it handed on.
    #[inline]
    pub(super) fn fold(&self, plain: &Plain, text: &[u8], next: &mut Decorated<'_>, out: &mut Vec<Placed>) {
        let before = self.before;
        let (marks, word) = match self.letters {
            0 => (before > 0, false),
            // To the end of the word, or to its beginning.
            letters if before + letters <= 5 => (false, false),
            6 if before == 0 && self.all & OF_SIX != 0 => (false, false),
            _ => (before > 5, true),
        };
        if marks {
            next.turn(Kind::Mark, out);
        }
        if word {
            next.turn(Kind::Word, out);
            let transliterated = self.any & TRANSLITERATED != 0;
            next.digits().plain_word(plain, transliterated, &text[..self.word_end], self.word, out);
        }
        if self.after {
            next.turn(Kind::Mark, out);
        }
    }
}
