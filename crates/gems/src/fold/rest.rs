//! Steps 6 and 7 on masks: what remains of a row of plain tokens.

use std::ops::Range;

use super::bits::{BLOCK, Bits, Mask, inside, through};
use super::masks::Masks;
use super::short::drop_short;

/// What remains of the tokens in a range of a stretch after short words and decorated tokens are removed.
pub(super) struct Rest {
    /// Bytes of letters that remain.
    pub(super) letter: Mask,
    /// Bytes of marks that step 6 keeps.
    mark: Mask,
    /// The beginnings of tokens that step 6 removes.
    dropped: Mask,
}

/// A row of plain tokens, with a blank or an end of the text at both ends.
pub(super) struct Row<'m> {
    pub(super) masks: &'m Masks,
    pub(super) range: Range<usize>,
}

/// How far a row has been read.
pub(super) struct Read {
    /// Where to continue: after the row, or at its first token for which only the following text shows whether it is
    /// decorated.
    pub(super) end: usize,
    /// Whether the blank before that ended a decorated token, and so cannot start another.
    pub(super) used: bool,
}

/// Finds decorated tokens, block by block: (start of the text or a blank), marks, at most one blank, a word, any
/// blanks, marks, (a blank or the end). Holds the carries from the previous block.
#[derive(Default)]
struct DecoratedMasks([bool; 7]);

/// The bytes of a block after short words are removed; each has one kind.
struct Kinds {
    blank: u64,
    dropped: u64,
    letter: u64,
    mark: u64,
}

impl DecoratedMasks {
    /// The blanks after decorated tokens. `opening` has the marks that tokens begin with, `first` the first bytes of
    /// characters.
    #[inline]
    fn ends(
        &mut self,
        opening: u64,
        first: u64,
        &Kinds {
            blank,
            dropped,
            letter,
            mark,
        }: &Kinds,
    ) -> u64 {
        let [
            in_marks,
            before,
            in_blank,
            in_dropped,
            in_word,
            in_blanks,
            in_closing,
        ] = &mut self.0;
        let behind_marks = through(opening, mark, in_marks);
        let one = behind_marks & blank;
        let behind_one = through(one << 1 | u64::from(*before), !first, in_blank);
        *before = one >> (BLOCK - 1) != 0;
        // A token of which nothing remains is followed by another blank.
        let word = through(behind_marks & !blank | behind_one, dropped, in_dropped) & letter;
        let behind_word = through(word, letter, in_word);
        let closing = through(behind_word, blank | dropped, in_blanks) & mark;
        through(closing, mark, in_closing) & blank
    }
}

impl Rest {
    pub(super) fn new() -> Self {
        Self {
            letter: Mask::new(),
            mark: Mask::new(),
            dropped: Mask::new(),
        }
    }

    /// Step 6 for the first `length` bytes of a stretch: all of them, or up to the end of the text.
    pub(super) fn drop_short(&mut self, masks: &Masks, length: usize) {
        drop_short(masks, length, &mut self.dropped);
    }

    /// Step 7. `used` is whether the blank before the row ended a decorated token, `last` whether the text ends with
    /// the row.
    pub(super) fn read(&mut self, row: &Row, used: bool, last: bool) -> Read {
        let Row { masks, range } = row;
        let mut decorated = DecoratedMasks::default();
        // Whether the rest of a token begins at the first byte of the block.
        let mut begins = 1;
        // Where the next decorated token may begin.
        let mut free = range.start + usize::from(used);
        // Up to the block of the byte after the row: a token may end there.
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
            for end in Bits(decorated.ends(
                opening,
                first,
                &Kinds {
                    blank,
                    dropped,
                    letter,
                    mark,
                },
            )) {
                let end = block * BLOCK + end;
                if let Some((start, token)) = self.decorated(row, end)
                    && token >= free
                {
                    self.letter.clear(&(start..end));
                    // The token after its last blank cannot start another.
                    free = masks.first.next(end + 1, range.end) + 1;
                }
            }
        }
        match self.open(row) {
            Some(open) if open >= free && !last => Read {
                end: open,
                used: false,
            },
            _ => Read {
                end: range.end,
                used: free > range.end,
            },
        }
    }

    /// Where the first token of a possible decorated token begins, if that may end after the row.
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

    /// For the decorated token that ends at `end`: where its first mark is, and where the token of that mark begins.
    fn decorated(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let at = Self::back(row, end, |at| self.mark.before(at));
        let at = Self::back(row, at, |at| self.nothing_before(row, at));
        self.before_word(row, at)
    }

    /// Like [`Self::opening`], before a word that ends at `end`.
    fn before_word(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let at = Self::back(row, end, |at| self.letter.before(at));
        let at = Self::back(row, at, |at| self.dropped.before(at));
        let blank = at > row.range.start && row.masks.blank.has(at - 1);
        let blank = if blank {
            row.masks.first.last_in(row.range.start..at)
        } else {
            None
        };
        self.opening(row, blank.unwrap_or(at))
    }

    /// If the marks that end at `end` are the start of a token: where the marks start, and where the token starts.
    fn opening(&self, row: &Row, end: usize) -> Option<(usize, usize)> {
        let marks = Self::back(row, end, |at| self.mark.before(at));
        let token = Self::back(row, marks, |at| self.dropped.before(at));
        let begins = token == row.range.start || row.masks.blank.has(token - 1);
        (marks < end && begins).then_some((marks, token))
    }

    /// Like [`Mask::before`], for blanks and dropped bytes.
    fn nothing_before(&self, row: &Row, end: usize) -> u64 {
        row.masks.blank.before(end) | self.dropped.before(end)
    }

    /// The first of the consecutive set bits before `end`; `before` gives the last bits before a position.
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
