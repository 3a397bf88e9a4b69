//! A part of a fold, cut by itself.
//!
//! Where the digits of a part are cut may depend on the digits before it: sequences do not overlap, and the one that
//! ended last is unknown. That uncertainty ends at the first sequence that no other may overlap. The digits up to there
//! are kept, to be cut behind those of the part before.

use super::{Chunk, Chunks, Cutter, Ended, NO_DIGITS, with};
use crate::boundaries::{Boundaries, SEQUENCE};
use crate::fold::Sink;
use crate::gem::{Place, PlacedGem};

/// Cuts the digits of a part as far as they can be cut.
pub(crate) struct PartCutter<'b> {
    before: Uncertain,
    ended: Vec<Ended>,
    chunks: Chunks<'b>,
}

/// The digits of a part, cut as far as they can be.
#[derive(Debug)]
pub(crate) struct CutPart {
    before: Uncertain,
    /// Behind these digits.
    ended: Vec<Ended>,
    open: Chunk,
    tail: u16,
}

/// The digits up to the first sequence that ends a chunk for certain.
#[derive(Debug)]
struct Uncertain {
    /// Whether that sequence was found.
    over: bool,
    tail: u16,
    /// How many digits have come since one that may end a sequence: each of the first three may.
    since: usize,
    digits: Vec<(char, [u32; 2])>,
}

impl<'b> PartCutter<'b> {
    pub(crate) fn new(boundaries: &'b Boundaries) -> Self {
        let before = Uncertain { over: false, tail: NO_DIGITS, since: 0, digits: Vec::new() };
        Self { before, ended: Vec::new(), chunks: Chunks::new(boundaries) }
    }

    pub(crate) fn finish(self) -> CutPart {
        let Chunks { open, tail, .. } = self.chunks;
        CutPart { before: self.before, ended: self.ended, open, tail }
    }
}

impl Sink for PartCutter<'_> {
    fn digits(&mut self, digits: &[u8], place: impl Fn(usize) -> Place) {
        let mut from = 0;
        while from < digits.len() && !self.before.over {
            self.before.digit(char::from(digits[from]), place(from), self.chunks.boundaries);
            from += 1;
        }
        self.chunks.digits(&digits[from..], |i| place(from + i), |ended| self.ended.push(ended));
    }

    fn digit(&mut self, digit: char, place: Place) {
        if self.before.over {
            self.chunks.digit(digit, place, |ended| self.ended.push(ended));
        } else {
            self.before.digit(digit, place, self.chunks.boundaries);
        }
    }
}

impl Uncertain {
    fn digit(&mut self, digit: char, place: Place, boundaries: &Boundaries) {
        let Place { start, end } = place;
        self.digits.push((digit, [start as u32, end as u32]));
        if !digit.is_ascii() {
            // No sequence has such a digit.
            (self.tail, self.since) = (NO_DIGITS, SEQUENCE);
            return;
        }
        self.tail = with(self.tail, digit as u8);
        if boundaries.ends_at(self.tail) {
            self.over = self.since >= SEQUENCE - 1;
            self.since = 0;
        } else if self.digits.len() >= SEQUENCE {
            self.since += 1;
        }
    }
}

impl Cutter<'_> {
    /// Goes on with a part that starts at `offset` in the source.
    pub(crate) fn append(&mut self, part: CutPart, offset: u64) {
        let CutPart { before, ended, mut open, tail } = part;
        for (digit, place) in before.digits {
            let [start, end] = place.map(|at| offset + u64::from(at));
            self.digit(digit, Place { start, end });
        }
        if !before.over {
            return;
        }
        for mut chunk in ended {
            if let Ended::Chunk(Some(PlacedGem { place: Some(place), .. })) = &mut chunk {
                place.start += offset;
                place.end += offset;
            }
            self.kept.keep(chunk);
        }
        open.start += offset;
        open.ends = open.ends.map(|end| end + offset);
        (self.chunks.open, self.chunks.tail) = (open, tail);
    }
}
