//! Plain characters: those that steps 1 to 4 map independently and one to one, so that a table can give the result.
//! They include most of Latin and Cyrillic, digits, and the usual punctuation except `_`.

use super::characters::is_plain_form;
use super::classes::{is_ascii_blank, is_blank, is_digit, is_word};
use super::letters::{LetterClass, LetterTables};

/// The result for a character: up to [`PACKED`] ASCII characters, the first in the lowest byte, and flags for their
/// and its kind. 0 means that the character is not plain.
#[derive(Clone, Copy, Default)]
pub(super) struct PlainEntry(u32);

/// The maximum number of characters that a letter maps to.
pub(super) const PACKED: usize = 3;
/// The result for a blank; it follows each word.
pub(super) const END: u8 = b' ';

/// Positions of flags: it maps to digits; to a mark; only to the end of a word.
const DIGIT: u32 = 24;
const SINGLE_MARK: u32 = 25;
const ENDING: u32 = 26;
const BLANK: u32 = 1 << ENDING;

const LETTER: u32 = 1 << 27;
const MARK: u32 = 1 << 28;
/// A mark that the steps see as three marks.
const ELLIPSIS: u32 = 1 << 29;
/// Six of these are a short word.
const OF_SIX: u32 = 1 << 30;
/// A letter that makes the text a transliterated one.
const TRANSLITERATED: u32 = 1 << 31;

impl PlainEntry {
    fn new(flags: u32, becomes: &str) -> Option<Self> {
        let packed = becomes
            .bytes()
            .rev()
            .fold(0, |packed, byte| packed << 8 | u32::from(byte));
        let what = match becomes.as_bytes() {
            [] => 0,
            [END] => BLANK,
            [b'0'..=b'9'] => 1 << DIGIT,
            [_] => 1 << SINGLE_MARK,
            several if several.iter().all(u8::is_ascii_digit) => 1 << DIGIT,
            _ => return None,
        };
        (becomes.len() <= PACKED).then_some(Self(flags | what | packed))
    }

    fn is(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// The first character of the result.
    #[inline]
    pub(super) fn code(self) -> u8 {
        self.0 as u8
    }

    /// 1 if it maps to digits.
    #[inline]
    pub(super) fn digit(self) -> u32 {
        self.0 >> DIGIT & 1
    }

    /// 1 if it maps to a mark.
    #[inline]
    pub(super) fn mark(self) -> u32 {
        self.0 >> SINGLE_MARK & 1
    }

    /// 0 if it maps to an [`END`], otherwise all bits set.
    #[inline]
    pub(super) fn unless_end(self) -> u32 {
        (self.0 >> ENDING & 1).wrapping_sub(1)
    }

    #[inline]
    pub(super) fn is_nothing(self) -> bool {
        self.code() == 0
    }

    /// Whether it maps to nothing and has no effect on the text.
    #[cfg(test)]
    pub(super) fn is_nothing_at_all(self) -> bool {
        self.is(LETTER) && self.is_nothing() && !self.is(TRANSLITERATED)
    }

    /// The rest of the result after its first character, if it has several; all of them are digits then.
    #[inline]
    pub(super) fn behind_first(self) -> Option<Self> {
        let becomes = self.0 & ((1 << DIGIT) - 1);
        (becomes > 0xff).then_some(Self(self.0 ^ becomes | becomes >> 8))
    }

    /// The flags for [`Self::any_is_transliterated`].
    #[inline]
    pub(super) fn flags(self) -> u32 {
        self.0
    }

    /// Whether a letter with any of these flags makes the text a transliterated one.
    pub(super) fn any_is_transliterated(flags: u32) -> bool {
        flags & TRANSLITERATED != 0
    }
}

const NO_BREAK_SPACE: char = '\u{a0}';
/// Its first byte, which is not the last byte of any character.
const BLANK_OF_TWO: u8 = 0xc2;

/// The number of characters of one and two bytes.
const TWO_BYTES: usize = 0x800;
/// The two bytes that begin the general punctuation from U+2000 on.
const PUNCTUATION: [u8; 2] = [0xe2, 0x80];
const PUNCTUATION_START: u32 = 0x2000;
const PUNCTUATION_COUNT: usize = 0x40;

/// The results for plain characters under a recipe.
pub(super) struct Plain {
    /// Indexed by code point; the punctuation follows at [`TWO_BYTES`].
    entries: Box<[PlainEntry; TWO_BYTES + PUNCTUATION_COUNT]>,
    /// See [`Self::by_last_byte`].
    by_last_byte: Box<[PlainEntry; 256]>,
    knows_cyrillic: bool,
}

/// How the steps after the fourth see a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainKind {
    Letter,
    /// A two-byte letter of which six are a short word.
    OfSix,
    Mark,
    /// Three marks of one byte each.
    Marks,
    /// A two-byte blank.
    Blank,
    /// Not plain.
    Odd,
}

impl Plain {
    pub(super) fn new(letters: &LetterTables) -> Self {
        let mut entries = Box::new([PlainEntry::default(); TWO_BYTES + PUNCTUATION_COUNT]);
        for (code, entry) in (0..TWO_BYTES as u32)
            .chain(PUNCTUATION_START..)
            .zip(entries.iter_mut())
        {
            *entry = char::from_u32(code)
                .and_then(|c| entry_of(letters, c))
                .unwrap_or_default();
        }
        let mut by_last_byte = Box::new([PlainEntry::default(); 256]);
        // A word may end before the first byte of a blank.
        by_last_byte[usize::from(BLANK_OF_TWO)] = entries[NO_BREAK_SPACE as usize];
        for c in ('\0'..='\x7f').chain('А'..='я') {
            if let Some(last) = c.encode_utf8(&mut [0; 2]).bytes().last() {
                by_last_byte[usize::from(last)] = entries[c as usize];
            }
        }
        Self {
            entries,
            by_last_byte,
            knows_cyrillic: letters.is_of_six('а'),
        }
    }

    /// Whether the recipe's tables include Cyrillic letters, so that six of them are a short word and vowels map to
    /// nothing.
    pub(super) fn knows_cyrillic(&self) -> bool {
        self.knows_cyrillic
    }

    /// The result for an ASCII letter or for `А` to `Я` and `а` to `я`, by its last byte, and for a blank by its
    /// first byte. All of these bytes are distinct.
    #[inline]
    pub(super) fn by_last_byte(&self, byte: u8) -> PlainEntry {
        self.by_last_byte[usize::from(byte)]
    }

    /// The result for the plain letter whose last byte is at `last`, or for the blank whose first byte is there.
    #[inline]
    pub(super) fn letter(&self, text: &[u8], last: usize) -> PlainEntry {
        match text[last] {
            byte @ (0..=0x7f | BLANK_OF_TWO) => self.by_last_byte[usize::from(byte)],
            second => self.two_bytes(text[last - 1], second),
        }
    }

    fn two_bytes(&self, first: u8, second: u8) -> PlainEntry {
        self.entries[usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f)]
    }

    /// The kind of the first character of `text`, and its length in bytes if it is plain.
    pub(super) fn kind(&self, text: &[u8]) -> (PlainKind, usize) {
        let (entry, length) = self.next(text);
        let kind = if entry.is(LETTER) {
            if entry.is(OF_SIX) {
                PlainKind::OfSix
            } else {
                PlainKind::Letter
            }
        } else if entry.is(ELLIPSIS) {
            PlainKind::Marks
        } else if entry.is(MARK) && !(entry.is(OF_SIX) && self.next(&text[length..]).0.is(OF_SIX)) {
            PlainKind::Mark
        } else if entry.is(BLANK)
            && length == 2
            && (text.len() == 2 || self.next(&text[2..]).0.is(LETTER | MARK | BLANK))
        {
            // A combining character would form one piece with it.
            PlainKind::Blank
        } else {
            // Six marks may also be a short word, but nobody writes that.
            return (PlainKind::Odd, 1);
        };
        (kind, length)
    }

    /// The entry of the next character, and its length if it is plain.
    fn next(&self, text: &[u8]) -> (PlainEntry, usize) {
        match *text {
            [byte @ 0..=0x7f, ..] => (self.entries[usize::from(byte)], 1),
            [first @ 0xc2..=0xdf, second, ..] => (self.two_bytes(first, second), 2),
            [first, second, third, ..] if [first, second] == PUNCTUATION => {
                (self.entries[TWO_BYTES + usize::from(third & 0x3f)], 3)
            }
            _ => (PlainEntry::default(), 1),
        }
    }
}

/// The entry of a character, if it is plain.
fn entry_of(letters: &LetterTables, c: char) -> Option<PlainEntry> {
    if c == NO_BREAK_SPACE || c.is_ascii() && is_ascii_blank(c as u8) {
        return PlainEntry::new(0, char::from(END).encode_utf8(&mut [0]));
    }
    if c == '…' {
        return PlainEntry::new(MARK | ELLIPSIS, "");
    }
    if c == '_' || !is_plain_form(c) {
        return None;
    }
    let mut lower = c.to_lowercase();
    let (Some(lower), None) = (lower.next(), lower.next()) else {
        return None;
    };
    let simple = letters.simplify(lower);
    let six = if letters.is_of_six(simple) { OF_SIX } else { 0 };
    // Masks support only letters of one and two bytes, and short words of six only with two-byte letters.
    match (is_word(lower), is_word(simple), c.len_utf8()) {
        (false, false, _) if !is_blank(lower) && !is_blank(simple) => {
            PlainEntry::new(MARK | six, "")
        }
        // None of the marks that step 4 turns into letters is one that step 3 acts on.
        (_, true, 2) if !is_blank(lower) => letter(letters, simple, LETTER | six),
        (_, true, 1) if six == 0 && !is_blank(lower) => letter(letters, simple, LETTER),
        _ => None,
    }
}

/// The entry of a simplified letter, if it maps to a few digits and marks.
fn letter(letters: &LetterTables, simple: char, flags: u32) -> Option<PlainEntry> {
    match letters.class(simple) {
        LetterClass::Deleted => PlainEntry::new(flags, ""),
        LetterClass::Digit(digit) => PlainEntry::new(flags, &digit.to_string()),
        LetterClass::Kept if simple.is_ascii_digit() => PlainEntry::new(flags, &simple.to_string()),
        // A digit of another script alone does not make the text a transliterated one.
        LetterClass::Kept if is_digit(simple) => None,
        LetterClass::Kept => {
            let becomes = letters.transliterate(simple);
            if !becomes.chars().all(is_digit_or_mark) {
                return None;
            }
            PlainEntry::new(flags | TRANSLITERATED, becomes)
        }
    }
}

fn is_digit_or_mark(c: char) -> bool {
    c.is_ascii_digit() || c.is_ascii() && !is_word(c) && !is_blank(c)
}
