//! Steps 6 and 7 on masks: what they leave of a row of plain tokens.

use std::ops::Range;

use super::bits::{BLOCK, Bits, Mask, inside, through};
use super::masks::Masks;
use super::short::drop_short;

/// What short words and decorated tokens leave of the tokens in a range of a stretch.
pub(super) struct Rest {
    /// Bytes of letters that stay.
    pub(super) letter: Mask,
    /// Bytes of marks that step 6 leaves.
    mark: Mask,
    /// The beginnings of tokens that step 6 takes.
    dropped: Mask,
}

/// A row of plain tokens, at both ends of which is a blank or an end of the text.
pub(super) struct Row<'m> {
    pub(super) masks: &'m Masks,
    pub(super) range: Range<usize>,
}

/// How far a row is read.
pub(super) struct Read {
    /// Where to go on: behind the row, or at the first token of it of which only what follows tells whether it is
    /// decorated.
    pub(super) end: usize,
    /// Whether the blank before that ended a decorated token, and so cannot begin another.
    pub(super) used: bool,
}

/// Looks for decorated tokens, from block to block: (start of the text or a blank), marks, at most one blank, a word,
/// any blanks, marks, (a blank or the end). Has what the block before carries over.
#[derive(Default)]
struct Decorated([bool; 7]);

/// What the bytes of a block are once short words are gone; each is of one kind.
struct Kinds {
    blank: u64,
    dropped: u64,
    letter: u64,
    mark: u64,
}

impl Decorated {
    /// The blanks behind decorated tokens. `opening` has the marks that tokens begin with, `first` the first bytes of
    /// characters.
    #[inline]
    fn ends(&mut self, opening: u64, first: u64, &Kinds { blank, dropped, letter, mark }: &Kinds) -> u64 {
        let [in_marks, before, in_blank, in_dropped, in_word, in_blanks, in_closing] = &mut self.0;
        let behind_marks = through(opening, mark, in_marks);
        let one = behind_marks & blank;
        let behind_one = through(one << 1 | u64::from(*before), !first, in_blank);
        *before = one >> (BLOCK - 1) != 0;
        // A token of which nothing is left has another blank behind it.
        let word = through(behind_marks & !blank | behind_one, dropped, in_dropped) & letter;
        let behind_word = through(word, letter, in_word);
        let closing = through(behind_word, blank | dropped, in_blanks) & mark;
        through(closing, mark, in_closing) & blank
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

    /// Step 7. `used` is whether the blank before the row ended a decorated token, `last` whether the text ends with the
    /// row.
    pub(super) fn read(&mut self, row: &Row, used: bool, last: bool) -> Read {
        let Row { masks, range } = row;
        let mut decorated = Decorated::default();
        // Whether what is left of a token begins at a block's first byte.
        let mut begins = 1;
        // Where a decorated token may begin next.
        let mut free = range.start + usize::from(used);
        // To the block of the byte behind the row: a token may end there.
        for block in range.start / BLOCK..=range.end / BLOCK {
            let inside = inside(range, block);
            let blank = masks.blank.block(block) | !inside;
            let first = masks.first.block(block) | !inside;
            let dropped = self.dropped.block(block) & inside;
            let letter = masks.letter.block(block) & !dropped & inside;
            let mark = !(letter | blank | dropped);
            let before = blank | dropped;
            let opening = mark & (before << 1 | begins);
            begins = before >> (BLOCK - 1);
            self.letter.set_block(block, letter);
            self.mark.set_block(block, mark);
            for end in Bits(decorated.ends(opening, first, &Kinds { blank, dropped, letter, mark })) {
                let end = block * BLOCK + end;
                if let Some((start, token)) = self.decorated(row, end)
                    && token >= free
                {
                    self.letter.clear(&(start..end));
                    // The token behind its last blank cannot begin another.
                    free = masks.first.next(end + 1, range.end) + 1;
                }
            }
        }
        match self.open(row) {
            Some(open) if open >= free && !last => Read { end: open, used: false },
            _ => Read { end: range.end, used: free > range.end },
        }
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
