//! Steps 6 and 7 on masks: what they leave of a row of plain tokens.

use std::ops::Range;

use super::masks::{BLOCK, Bits, Mask, Masks, inside, through};
use super::short::{Before, Two};

fn top(bits: u64) -> bool {
    bits >> (BLOCK - 1) != 0
}

/// What short words and decorated tokens leave of the tokens in a range of a stretch.
pub(super) struct Rest {
    /// Bytes of letters that stay.
    pub(super) letter: Mask,
    /// Bytes of marks that step 6 leaves.
    mark: Mask,
    /// The beginnings of tokens that step 6 takes.
    dropped: Mask,
}

/// A row of tokens, as the masks have it before any step.
struct Row<'m> {
    masks: &'m Masks,
    range: Range<usize>,
}

impl Row<'_> {
    fn two(&self, block: usize) -> Two {
        let both = |mask: &Mask, else_bits: u64| {
            let bits = |block| {
                let inside = inside(&self.range, block);
                u128::from(mask.block(block) & inside | else_bits & !inside)
            };
            bits(block) | bits(block + 1) << BLOCK
        };
        Two {
            blank: both(&self.masks.blank, u64::MAX),
            letter: both(&self.masks.letter, 0),
            first: both(&self.masks.first, u64::MAX),
            six: both(&self.masks.six, 0),
        }
    }
}

/// Looks for decorated tokens, from block to block: (start of the text or a blank), marks, at most one blank, a word,
/// any blanks, marks, (a blank or the end).
#[derive(Default)]
struct Decorated {
    marks: bool,
    blank: bool,
    dropped: bool,
    word: bool,
    blanks: bool,
    closing: bool,
}

impl Decorated {
    /// The blanks behind decorated tokens; `opening` has the marks that tokens begin with.
    #[inline]
    fn ends(&mut self, opening: u64, blank: u64, dropped: u64, letter: u64, mark: u64) -> u64 {
        let behind_marks = through(opening, mark, &mut self.marks);
        let one = behind_marks & blank;
        let behind_blank = behind_marks & !blank | one << 1 | u64::from(self.blank);
        self.blank = top(one);
        // A token of which nothing is left has another blank behind it.
        let word = through(behind_blank, dropped, &mut self.dropped) & letter;
        let behind_word = through(word, letter, &mut self.word);
        let closing = through(behind_word, blank | dropped, &mut self.blanks) & mark;
        through(closing, mark, &mut self.closing) & blank
    }
}

impl Rest {
    pub(super) fn new() -> Self {
        Self { letter: Mask::new(), mark: Mask::new(), dropped: Mask::new() }
    }

    /// Reads the plain tokens in the range, at both ends of which is a blank or an end of the text. `inside` is whether
    /// the blank before it ended a decorated token, and so cannot begin another.
    ///
    /// Returns where to go on by the steps: at the first token of which is not clear yet whether it is decorated, or else at the end; and
    /// whether the blank before that ended a decorated token.
    pub(super) fn read(&mut self, masks: &Masks, range: &Range<usize>, inside: bool, last: bool) -> (usize, bool) {
        let row = Row { masks, range: range.clone() };
        let mut before = Before { blank: true, letter: false, dropped: false };
        let mut dropped_before = 0;
        let mut decorated = Decorated::default();
        // Where a decorated token may begin next.
        let mut free = range.start + usize::from(inside);
        // One block more: the end of the last token may lie in it.
        for block in range.start / BLOCK..=range.end / BLOCK {
            let two = row.two(block);
            let dropped_both = two.dropped(&before);
            let dropped = dropped_both as u64 | dropped_before;
            let (blank, letters) = (two.blank as u64, two.letter as u64);
            let (letter, mark) = (letters & !dropped, !(letters | blank | dropped));
            let behind_dropped = dropped << 1 | u64::from(before.dropped);
            let starts = blank << 1 | u64::from(before.blank) | behind_dropped & !dropped;
            self.letter.set_block(block, letter);
            self.mark.set_block(block, mark);
            self.dropped.set_block(block, dropped);
            for end in Bits(decorated.ends(mark & starts, blank, dropped, letter, mark)) {
                let end = block * BLOCK + end;
                if let Some((start, token)) = self.decorated(&row, end)
                    && token >= free
                {
                    self.letter.clear(&(start..end));
                    // Its last blank is used up.
                    free = end + 2;
                }
            }
            before = Before { blank: top(blank), letter: top(letters), dropped: top(dropped) };
            dropped_before = (dropped_both >> BLOCK) as u64;
        }
        if !last && let Some(open) = self.open(&row).filter(|&open| open >= free) {
            return (open, false);
        }
        (range.end, free > range.end)
    }

    /// What may become a decorated token, but whose end does not lie in the row: where its first token begins.
    fn open(&self, row: &Row) -> Option<usize> {
        let end = row.range.end;
        let at = Self::back(row, end, |at| self.is_nothing(row, at));
        if at > row.range.start && self.letter.has(at - 1) {
            self.before_word(row, at)
        } else if end - at == 1 {
            self.opening(row, at)
        } else {
            None
        }
        .map(|(_, token)| token)
    }

    /// Where the decorated token that ends at `end` has its first mark, and where the token of that begins.
    fn decorated(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let at = Self::back(row, end, |at| self.mark.has(at));
        let at = Self::back(row, at, |at| self.is_nothing(row, at));
        self.before_word(row, at)
    }

    /// As [`Self::opening`], before a word that ends at `end`.
    fn before_word(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let at = Self::back(row, end, |at| self.letter.has(at));
        let at = Self::back(row, at, |at| self.dropped.has(at));
        let blank = at > row.range.start && row.masks.blank.has(at - 1);
        self.opening(row, at - usize::from(blank))
    }

    /// The marks that end at `end`, if a token begins with them: where they do, and where it does.
    fn opening(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let marks = Self::back(row, end, |at| self.mark.has(at));
        let token = Self::back(row, marks, |at| self.dropped.has(at));
        let begins = token == row.range.start || row.masks.blank.has(token - 1);
        (marks < end && begins).then_some((marks, token))
    }

    fn is_nothing(&self, row: &Row, at: usize) -> bool {
        row.masks.blank.has(at) || self.dropped.has(at)
    }

    /// The first of the bytes before `end` that all are so.
    fn back(row: &Row, end: usize, is: impl Fn(usize) -> bool) -> usize {
        (row.range.start..end).rev().take_while(|&at| is(at)).last().unwrap_or(end)
    }
}
