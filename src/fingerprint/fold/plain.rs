//! Plain characters: those on which steps 1 to 4 act alone and one for one, so that a table can say what becomes of
//! them. Most of Latin and Cyrillic, digits, and the usual punctuation but `_`.

use std::iter;

use super::buffer::Room;
use super::characters::is_plain_form;
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
/// A letter of two bytes of which six are a short word.
const OF_SIX: Entry = 1 << 27;
/// A letter that makes the text one that is transliterated.
const TRANSLITERATED: Entry = 1 << 28;
/// A letter that becomes something else than up to three digits.
const OTHER: Entry = 1 << 29;

/// Every other bit, from the lowest on.
const EVEN: u64 = u64::MAX / 3;

/// Characters of one and two bytes.
const TWO_BYTES: usize = 0x800;
/// The general punctuation from U+2000 on that begins with these two bytes.
const PUNCTUATION: [u8; 2] = [0xe2, 0x80];
const PUNCTUATION_START: u32 = 0x2000;
const PUNCTUATION_COUNT: usize = 0x40;

fn is_first_of_two(byte: u8) -> bool {
    matches!(byte, 0xc2..=0xdf)
}

/// The code point of a character of two bytes.
#[inline]
fn two_bytes([first, second]: [u8; 2]) -> usize {
    usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f)
}

/// What becomes of plain characters under a recipe.
pub(super) struct Plain {
    /// By code point, and behind [`TWO_BYTES`] the punctuation.
    entries: Box<[Entry; TWO_BYTES + PUNCTUATION_COUNT]>,
    /// By code point, what letters are after step 4.
    simple: Vec<Option<char>>,
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

/// What there is to know of a plain word but its digits.
pub(super) struct Word {
    /// How many digits it has.
    pub(super) count: usize,
    /// What any of its letters is.
    any: Entry,
}

impl Word {
    /// Steps 9 to 11, from each letter's entry and place: writes the digits, none like the one before. Whether a letter
    /// has a digit no processor can foresee, so nothing here branches on it.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "a lazy one would be a branch")]
    fn new(letters: impl Iterator<Item = (Entry, Place)>, room: &mut Room) -> Self {
        let (mut count, mut last, mut any) = (0, 0, 0);
        for (entry, place) in letters {
            any |= entry;
            let mut packed = entry & (LETTER - 1);
            loop {
                let digit = packed as u8;
                room[count % room.len()] = (char::from(digit), place);
                count += usize::from((digit != 0) & (digit != last));
                last = if digit == 0 { last } else { digit };
                packed >>= 8;
                if packed == 0 {
                    break;
                }
            }
        }
        Self { count, any }
    }

    /// Whether one of its letters makes the text one that is transliterated.
    pub(super) fn is_transliterated(&self) -> bool {
        self.any & TRANSLITERATED != 0
    }
}

impl Plain {
    pub(super) fn new(letters: &Letters) -> Self {
        let mut simple = vec![None; TWO_BYTES];
        let mut entries = Box::new([0; TWO_BYTES + PUNCTUATION_COUNT]);
        for (code, entry) in (0..TWO_BYTES as u32).chain(PUNCTUATION_START..).zip(entries.iter_mut()) {
            if let Some(c) = char::from_u32(code) {
                *entry = entry_of(letters, c).unwrap_or_default();
                if *entry & LETTER != 0 {
                    simple[code as usize] = c.to_lowercase().next().map(|c| letters.simplify(c));
                }
            }
        }
        Self { entries, simple }
    }

    /// The entry of the next character, which leaves `rest`.
    #[inline]
    fn next(&self, rest: &mut &[u8]) -> Entry {
        match *rest {
            [byte @ 0..=0x7f, behind @ ..] => {
                *rest = behind;
                self.entries[usize::from(*byte)]
            }
            [first, second, behind @ ..] if is_first_of_two(*first) => {
                *rest = behind;
                self.entries[two_bytes([*first, *second])]
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

    /// Whether all of the letters, of two bytes each, are such that six of them are a short word.
    #[inline]
    pub(super) fn all_of_six(&self, letters: &[u8]) -> bool {
        letters.as_chunks().0.iter().fold(OF_SIX, |all, &letter| all & self.entries[two_bytes(letter)]) != 0
    }

    /// Steps 9 to 11 of plain letters with plain marks between them: 64 bytes at most, from byte `from` of the text on, of
    /// which `first` says which begin a character, or is 0. `None` if a letter becomes something else than digits.
    #[inline]
    pub(super) fn word(&self, letters: &[u8], first: u64, from: usize, room: &mut Room) -> Option<Word> {
        let place = |start, end| Place { start: (from + start) as u64, end: (from + end) as u64 };
        let all = u64::MAX >> (64 - letters.len());
        // Words of one script are nearly all; to foresee the length of each character would cost more than to look.
        let word = if first & all == all {
            let entry = |(at, byte): (usize, &u8)| (self.entries[usize::from(*byte)], place(at, at + 1));
            Word::new(letters.iter().enumerate().map(entry), room)
        } else if first & all == EVEN & all && letters.len().is_multiple_of(2) {
            let entry = |(i, pair): (usize, &[u8; 2])| (self.entries[two_bytes(*pair)], place(2 * i, 2 * i + 2));
            Word::new(letters.as_chunks().0.iter().enumerate().map(entry), room)
        } else {
            let mut rest = letters;
            let next = || {
                let start = letters.len() - rest.len();
                (!rest.is_empty()).then(|| (self.next(&mut rest), place(start, letters.len() - rest.len())))
            };
            Word::new(iter::from_fn(next), room)
        };
        (word.any & OTHER == 0).then_some(word)
    }

    /// What a plain letter is after step 4; `None` for a mark.
    pub(super) fn simple(&self, c: char) -> Option<char> {
        self.simple.get(c as usize).copied().flatten()
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
