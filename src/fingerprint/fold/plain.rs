//! Plain characters: those on which steps 1 to 4 act alone and one for one, so that a table can say what becomes of
//! them. Most of Latin and Cyrillic, digits, and the usual punctuation but `_`.

use super::characters::{Placed, is_plain_form};
use super::classes::{is_blank, is_digit, is_word};
use super::letters::{Class, Letters};
use crate::fingerprint::gem::Place;

/// What becomes of a character: its digits, at most three, the first in the lowest byte, and what it is. 0 is a
/// character that is not plain.
type Entry = u32;
const LETTER: Entry = 1 << 24;
const MARK: Entry = 1 << 25;
/// A mark that the steps see as three.
const ELLIPSIS: Entry = 1 << 26;
/// A letter of which six are a short word.
const OF_SIX: Entry = 1 << 27;
/// A letter that makes the text one that is transliterated.
const TRANSLITERATED: Entry = 1 << 28;
/// A letter that becomes something else than up to three digits.
const OTHER: Entry = 1 << 29;

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

/// What a character is to the steps behind the fourth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Letter,
    Mark,
    /// Three marks of one byte each.
    Marks,
    /// Not plain.
    Odd,
}

/// What there is to know of a plain word.
pub(super) struct Word {
    /// How many digits it has, up to [`DIGITS`].
    pub(super) count: usize,
    /// Whether one of its letters makes the text one that is transliterated.
    pub(super) transliterated: bool,
}

/// How many digits of a word matter.
pub(super) const DIGITS: usize = 5;

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

    /// The entry of the next character, which leaves `rest`.
    #[inline]
    fn next(&self, rest: &mut &[u8]) -> Entry {
        match *rest {
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

    /// What the character is that `text` begins with, and its length in bytes if it is plain.
    pub(super) fn kind(&self, text: &[u8]) -> (Kind, usize) {
        let mut rest = text;
        let kind = match self.next(&mut rest) {
            entry if entry & LETTER != 0 => Kind::Letter,
            entry if entry & ELLIPSIS != 0 => Kind::Marks,
            entry if entry & MARK != 0 => Kind::Mark,
            _ => return (Kind::Odd, 1),
        };
        (kind, text.len() - rest.len())
    }

    /// Whether all of the letters are such that six of them are a short word.
    pub(super) fn all_of_six(&self, letters: &[u8]) -> bool {
        let mut rest = letters;
        let mut all = OF_SIX;
        while !rest.is_empty() && all != 0 {
            all &= self.next(&mut rest);
        }
        all != 0
    }

    /// Steps 9 to 11 of the letters from `from` to the end of `text`, with plain marks between them: writes the first
    /// digits, none like the one before, each with the place of its letter. `None` if a letter becomes something else.
    ///
    /// Whether a letter has a digit no processor can foresee, so nothing here branches on it.
    #[inline]
    pub(super) fn word(&self, text: &[u8], from: usize, digits: &mut [Placed; DIGITS + 1]) -> Option<Word> {
        let (mut count, mut last, mut any) = (0, 0, 0);
        let mut rest = &text[from..];
        while !rest.is_empty() {
            let start = (text.len() - rest.len()) as u64;
            let entry = self.next(&mut rest);
            let place = Place { start, end: (text.len() - rest.len()) as u64 };
            any |= entry;
            let mut packed = entry & (LETTER - 1);
            loop {
                let digit = packed as u8;
                digits[count] = (char::from(digit), place);
                count += usize::from(digit != 0) & usize::from(digit != last) & usize::from(count < DIGITS);
                last = if digit == 0 { last } else { digit };
                packed >>= 8;
                if packed == 0 {
                    break;
                }
            }
        }
        (any & OTHER == 0).then_some(Word { count, transliterated: any & TRANSLITERATED != 0 })
    }
}

/// What becomes of a character, if it is plain.
fn entry_of(letters: &Letters, c: char) -> Option<Entry> {
    if c == '…' {
        return Some(MARK | ELLIPSIS);
    }
    if c == '_' || !is_plain_form(c) {
        return None;
    }
    let mut lower = c.to_lowercase();
    let (Some(lower), None) = (lower.next(), lower.next()) else { return None };
    let simple = letters.simplify(lower);
    match (is_word(lower), is_word(simple)) {
        (false, false) if !is_blank(lower) && !is_blank(simple) => Some(MARK),
        // Masks know letters of one and two bytes only.
        (true, true) if simple != '_' && c.len_utf8() <= 2 => {
            let six = if letters.is_of_six(simple) { OF_SIX } else { 0 };
            Some(LETTER | six | digits_of(letters, simple).unwrap_or(OTHER))
        }
        _ => None,
    }
}

/// The digits of a simplified letter, if it becomes up to three of them and nothing else.
fn digits_of(letters: &Letters, simple: char) -> Option<Entry> {
    let (digits, transliterated) = match letters.class(simple) {
        Class::Deleted => (String::new(), 0),
        Class::Digit(digit) => (digit.to_string(), 0),
        Class::Kept if simple.is_ascii_digit() => (simple.to_string(), 0),
        // A digit of another script alone does not make the text a transliterated one.
        Class::Kept if is_digit(simple) => return None,
        Class::Kept => (letters.transliterate(simple).to_owned(), TRANSLITERATED),
    };
    let few = digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    few.then(|| transliterated | digits.bytes().rev().fold(0, |packed, digit| packed << 8 | Entry::from(digit)))
}
