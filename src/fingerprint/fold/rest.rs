//! Steps 6 and 7 on masks: what they leave of a row of plain tokens.

use std::ops::Range;

use super::masks::{BLOCK, Bits, Mask, Masks, inside, through};
use super::short::drop_short;

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

/// Looks for decorated tokens, from block to block: (start of the text or a blank), marks, at most one blank, a word,
/// any blanks, marks, (a blank or the end).
#[derive(Default)]
struct Decorated {
    marks: bool,
    blank: bool,
    behind_blank: bool,
    dropped: bool,
    word: bool,
    blanks: bool,
    closing: bool,
}

impl Decorated {
    /// The blanks behind decorated tokens; `opening` has the marks that tokens begin with.
    #[inline]
    fn ends(&mut self, opening: u64, blank: u64, first: u64, dropped: u64, letter: u64, mark: u64) -> u64 {
        let behind_marks = through(opening, mark, &mut self.marks);
        let one = behind_marks & blank;
        let in_blank = one << 1 | u64::from(self.blank);
        self.blank = top(one);
        let behind_blank = behind_marks & !blank | through(in_blank, !first, &mut self.behind_blank);
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

    /// Step 6 of the first `length` bytes of a stretch, all of them or to the end of the text.
    pub(super) fn drop_short(&mut self, masks: &Masks, length: usize) {
        drop_short(masks, length, &mut self.dropped);
    }

    /// Step 7. Reads the plain tokens in the range, at both ends of which is a blank or an end of the text. `used` is whether
    /// the blank before it ended a decorated token, and so cannot begin another.
    ///
    /// Returns where to go on by the steps: at the first token of which is not clear yet whether it is decorated, or else at the end; and
    /// whether the blank before that ended a decorated token.
    pub(super) fn read(&mut self, masks: &Masks, range: &Range<usize>, used: bool, last: bool) -> (usize, bool) {
        let row = Row { masks, range: range.clone() };
        let mut before = 1;
        let mut decorated = Decorated::default();
        // Where a decorated token may begin next.
        let mut free = range.start + usize::from(used);
        // One block more: the end of the last token may lie in it.
        for block in range.start / BLOCK..=range.end / BLOCK {
            let inside = inside(range, block);
            let blank = masks.blank.block(block) | !inside;
            let first = masks.first.block(block) | !inside;
            let dropped = self.dropped.block(block) & inside;
            let letter = masks.letter.block(block) & !dropped & inside;
            let mark = !(letter | blank | dropped);
            // What is left of a token begins behind a blank or behind what is dropped.
            let begins = (blank | dropped) << 1 | before;
            before = (blank | dropped) >> (BLOCK - 1);
            self.letter.set_block(block, letter);
            self.mark.set_block(block, mark);
            for end in Bits(decorated.ends(mark & begins, blank, first, dropped, letter, mark)) {
                let end = block * BLOCK + end;
                if let Some((start, token)) = self.decorated(&row, end)
                    && token >= free
                {
                    self.letter.clear(&(start..end));
                    // Its last blank is used up.
                    free = masks.first.next(end + 1, range.end) + 1;
                }
            }
        }
        if !last && let Some(open) = self.open(&row).filter(|&open| open >= free) {
            return (open, false);
        }
        (range.end, free > range.end)
    }

    /// What may become a decorated token, but whose end does not lie in the row: where its first token begins.
    fn open(&self, row: &Row) -> Option<usize> {
        let end = row.range.end;
        let at = Self::back(row, end, |at| self.nothing_before(row, at));
        if at > row.range.start && self.letter.has(at - 1) {
            self.before_word(row, at)
        } else if at < end && row.masks.first.next(at + 1, end) == end {
            self.opening(row, at)
        } else {
            None
        }
        .map(|(_, token)| token)
    }

    /// Where the decorated token that ends at `end` has its first mark, and where the token of that begins.
    fn decorated(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let at = Self::back(row, end, |at| self.mark.before(at));
        let at = Self::back(row, at, |at| self.nothing_before(row, at));
        self.before_word(row, at)
    }

    /// As [`Self::opening`], before a word that ends at `end`.
    fn before_word(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let at = Self::back(row, end, |at| self.letter.before(at));
        let at = Self::back(row, at, |at| self.dropped.before(at));
        let blank = at > row.range.start && row.masks.blank.has(at - 1);
        let blank = if blank { row.masks.first.last_in(row.range.start..at) } else { None };
        self.opening(row, blank.unwrap_or(at))
    }

    /// The marks that end at `end`, if a token begins with them: where they do, and where it does.
    fn opening(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let marks = Self::back(row, end, |at| self.mark.before(at));
        let token = Self::back(row, marks, |at| self.dropped.before(at));
        let begins = token == row.range.start || row.masks.blank.has(token - 1);
        (marks < end && begins).then_some((marks, token))
    }

    /// As [`Mask::before`], blanks and what is dropped.
    fn nothing_before(&self, row: &Row, end: usize) -> u64 {
        row.masks.blank.before(end) | self.dropped.before(end)
    }

    /// The first of the bytes before `end` that all have bits, of which `before` tells the last ones.
    fn back(row: &Row, end: usize, before: impl Fn(usize) -> u64) -> usize {
        let mut at = end;
        loop {
            let bits = before(at).leading_ones() as usize;
            at -= bits;
            if bits < BLOCK - 7 || at <= row.range.start {
                return at.max(row.range.start);
            }
        }
    }
}
