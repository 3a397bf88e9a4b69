//! Steps 3 and 6 for tokens of plain characters, by their masks.
//!
//! A *token* is what stands between two ASCII blanks. Step 3 may cut one into several, step 6 takes a beginning off it;
//! where, depends on the borders between letters and marks and on the number of characters, and hardly ever on which
//! letters they are.

use super::characters::sets_apart;
use super::masks::Masks;
use super::plain::Plain;

/// The longest token in bytes that masks can show, with the blank behind it.
const LONGEST: usize = 56;

/// The length in bytes of six letters that are a short word: each has two.
const SIX_LETTERS: usize = 12;

/// A token, or a part of one, of plain characters. Bit `i` of a mask is byte `start + i` of the text.
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) length: usize,
    letter: u64,
    first: u64,
    /// Where step 3 may cut: marks of one byte between two letters that no cut before has used up.
    inner: u64,
}

/// What step 6 leaves of a token.
pub(super) struct Rest {
    pub(super) start: usize,
    pub(super) length: usize,
    /// Bit `i` is byte `start + i` of the text.
    pub(super) letter: u64,
    pub(super) first: u64,
}

impl Token {
    /// The token from `start` to `end` of a stretch of text that begins at byte `offset`; `None` if it is not plain, or
    /// too long.
    #[inline]
    pub(super) fn new(masks: &Masks, offset: usize, start: usize, end: usize) -> Option<Self> {
        let length = end - start;
        if length > LONGEST {
            return None;
        }
        let all = (1 << length) - 1;
        let letter = masks.letter.from(start) & all;
        let token = Self {
            start: offset + start,
            length,
            letter,
            first: masks.first.from(start),
            inner: !letter & letter << 1 & letter >> 1,
        };
        (masks.odd.from(start) & all == 0).then_some(token)
    }

    /// Whether marks stand between letters.
    #[inline]
    pub(super) fn is_joined(&self) -> bool {
        let lowest = self.letter & self.letter.wrapping_neg();
        self.letter & (self.letter + lowest) != 0
    }

    /// Whether step 3 may cut.
    #[inline]
    pub(super) fn may_split(&self) -> bool {
        self.inner != 0
    }

    /// Step 3: takes off what stands before the first blank that goes into the token.
    #[inline]
    pub(super) fn split_off(&mut self, text: &[u8]) -> Option<Self> {
        while self.inner != 0 {
            let mark = self.inner.trailing_zeros() as usize;
            self.inner &= self.inner - 1;
            if sets_apart(char::from(text[self.start + mark])) {
                let length = mark + 1;
                let letter = self.letter & ((1 << length) - 1);
                let before = Self { start: self.start, length, letter, first: self.first, inner: 0 };
                let first = self.first >> length;
                let second = first & (first - 1);
                *self = Self {
                    start: self.start + length,
                    length: self.length - length,
                    letter: self.letter >> length,
                    first,
                    // The letter behind the mark is used up, and cannot stand before another.
                    inner: self.inner >> length & !(second & second.wrapping_neg()),
                };
                return Some(before);
            }
        }
        None
    }

    /// Step 6.
    #[inline]
    pub(super) fn rest(&self, plain: &Plain, text: &[u8]) -> Rest {
        // Bit `i`: a border stands before byte `i`.
        let borders = (self.letter ^ self.letter << 1) & !1;
        let sixth = (0..5).fold(self.first, |first, _| first & first.wrapping_sub(1));
        let up_to_sixth = sixth ^ sixth.wrapping_sub(1);
        let mut dropped = (borders & up_to_sixth | 1).ilog2() as usize;
        let seventh = sixth & sixth.wrapping_sub(1);
        let up_to_seventh = seventh ^ seventh.wrapping_sub(1);
        // A letter at the start, and the first border behind six of two bytes each.
        let six = (borders & up_to_seventh | self.letter & 1) == (1 << SIX_LETTERS | 1);
        if six && plain.all_of_six(&text[self.start..self.start + SIX_LETTERS]) {
            dropped = SIX_LETTERS;
        }
        Rest {
            start: self.start + dropped,
            length: self.length - dropped,
            letter: self.letter >> dropped,
            first: self.first >> dropped,
        }
    }
}
