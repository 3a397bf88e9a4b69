//! Cut and hash: turns a stream of digits into gems.

mod parts;

use std::ops::Range;

use hashbrown::HashSet;

use super::boundaries::{Boundaries, SEQUENCE};
use super::fold::Sink;
use super::gem::{Gem, Place, PlacedGem};
use super::hash::jenkins;

pub(crate) use self::parts::cut_in_parts;
pub use self::parts::{FoldedPart, TextParts};

/// Cuts digits at boundary sequences and keeps a gem for each chunk that counts. Holds one chunk at a time.
///
/// The first and last chunks do not count, nor do short ones. "Last" means the last non-empty chunk, because the
/// reference splits the way Perl does, which drops empty trailing fields.
pub(super) struct Cutter<'b> {
    chunks: CutChunks<'b>,
    kept: KeptGems,
}

impl<'b> Cutter<'b> {
    pub(super) fn new(boundaries: &'b Boundaries) -> Self {
        Self {
            chunks: CutChunks::new(boundaries),
            kept: KeptGems::default(),
        }
    }

    /// The gems, without duplicates, in order of first place.
    pub(super) fn finish(mut self) -> Vec<PlacedGem> {
        if self.chunks.open.count > 0 {
            self.kept.release();
        }
        self.kept.gems
    }

    /// The digits since the last boundary, and where they start.
    #[cfg(test)]
    pub(super) fn open(&self) -> Option<(&[u8], u64)> {
        let Chunk { digits, start, .. } = &self.chunks.open;
        (!digits.is_empty()).then_some((digits, *start))
    }
}

impl Sink for Cutter<'_> {
    fn digits(&mut self, digits: &[u8], place: impl Fn(usize) -> Place) {
        self.chunks
            .digits(digits, place, |ended| self.kept.keep(ended));
    }

    fn digit(&mut self, digit: char, place: Place) {
        self.chunks
            .digit(digit, place, |ended| self.kept.keep(ended));
    }
}

/// The gems of a text so far.
#[derive(Default)]
struct KeptGems {
    /// How many chunks have ended.
    ended: usize,
    /// The gem of the last non-empty chunk, if it is long enough. It counts only when another chunk follows.
    held: Option<PlacedGem>,
    seen: HashSet<Gem>,
    gems: Vec<PlacedGem>,
}

impl KeptGems {
    fn keep(&mut self, ended: EndedChunk) {
        if let EndedChunk::Chunk(gem) = ended {
            self.release();
            self.held = gem.filter(|_| self.ended > 0);
        }
        self.ended += 1;
    }

    fn release(&mut self) {
        if let Some(held) = self.held.take()
            && self.seen.insert(held.gem)
        {
            self.gems.push(held);
        }
    }
}

/// A chunk that a boundary sequence ended.
#[derive(Debug, Clone, Copy)]
enum EndedChunk {
    Empty,
    /// One with its gem, if it is long enough.
    Chunk(Option<PlacedGem>),
}

/// Digits, cut at boundary sequences.
#[derive(Debug)]
struct CutChunks<'b> {
    boundaries: &'b Boundaries,
    /// The last four digits, four bits each.
    tail: u16,
    open: Chunk,
}

/// The digits since the last boundary.
#[derive(Debug, Default)]
struct Chunk {
    /// In UTF-8, because digits outside ASCII are rare but possible.
    digits: Vec<u8>,
    /// The number of digits.
    count: usize,
    start: u64,
    /// Where the last digits end in the source; digit `i` is at `i % ENDS`. These are enough to find where the chunk
    /// ends after its boundary sequence is removed.
    ends: [u64; ENDS],
}

/// More than the number of digits in a boundary sequence.
const ENDS: usize = 8;
const _: () = assert!(ENDS > SEQUENCE);
/// A tail in which no boundary sequence has started.
const NO_DIGITS: u16 = 0xffff;

impl<'b> CutChunks<'b> {
    fn new(boundaries: &'b Boundaries) -> Self {
        Self {
            boundaries,
            tail: NO_DIGITS,
            open: Chunk::default(),
        }
    }

    fn digits(
        &mut self,
        digits: &[u8],
        place: impl Fn(usize) -> Place,
        mut ended: impl FnMut(EndedChunk),
    ) {
        let mut from = 0;
        let mut tail = self.tail;
        for (i, digit) in digits.iter().enumerate() {
            tail = with(tail, *digit);
            if self.boundaries.ends_at(tail) {
                self.open.extend(digits, from..i + 1, &place);
                ended(self.open.end(self.boundaries.shortest()));
                (from, tail) = (i + 1, NO_DIGITS);
            }
        }
        self.open.extend(digits, from..digits.len(), &place);
        self.tail = tail;
    }

    fn digit(&mut self, digit: char, place: Place, ended: impl FnMut(EndedChunk)) {
        if digit.is_ascii() {
            return self.digits(&[digit as u8], |_| place, ended);
        }
        self.tail = NO_DIGITS;
        self.open.push(digit, place);
    }
}

/// The last four digits with one more.
fn with(tail: u16, digit: u8) -> u16 {
    tail << 4 | u16::from(digit - b'0')
}

impl Chunk {
    /// Ends the chunk before the boundary sequence that it ends with, and begins the next.
    fn end(&mut self, shortest: usize) -> EndedChunk {
        self.digits.truncate(self.digits.len() - SEQUENCE);
        let count = self.count - SEQUENCE;
        let ended = match count {
            0 => EndedChunk::Empty,
            _ if count < shortest => EndedChunk::Chunk(None),
            _ => EndedChunk::Chunk(Some(PlacedGem {
                gem: Gem(u64::from(jenkins(&self.digits))),
                place: Some(Place {
                    start: self.start,
                    end: self.ends[(count - 1) % ENDS],
                }),
            })),
        };
        self.digits.clear();
        self.count = 0;
        ended
    }

    fn extend(&mut self, digits: &[u8], range: Range<usize>, place: impl Fn(usize) -> Place) {
        if self.count == 0 && !range.is_empty() {
            self.start = place(range.start).start;
        }
        for i in range.clone().rev().take(ENDS) {
            self.ends[(self.count + i - range.start) % ENDS] = place(i).end;
        }
        self.count += range.len();
        self.digits.extend_from_slice(&digits[range]);
    }

    fn push(&mut self, digit: char, place: Place) {
        if self.count == 0 {
            self.start = place.start;
        }
        self.ends[self.count % ENDS] = place.end;
        self.count += 1;
        self.digits
            .extend_from_slice(digit.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::boundaries::Boundaries;
    use super::super::fold::Sink;
    use super::super::gem::{Gem, Place};
    use super::super::hash::jenkins;
    use super::Cutter;
    use proptest::prelude::*;

    /// Passes digits on, some at a time; digit `i` lies at bytes `10 i .. 10 i + 5`.
    pub(super) fn pass(digits: &[char], sink: &mut impl Sink) {
        let place = |i: usize| Place {
            start: 10 * i as u64,
            end: 10 * i as u64 + 5,
        };
        let digits: Vec<_> = digits
            .iter()
            .enumerate()
            .map(|(i, &digit)| (digit, place(i)))
            .collect();
        for digits in digits.chunks(7) {
            if digits.iter().all(|(digit, _)| digit.is_ascii()) {
                let bytes: Vec<u8> = digits.iter().map(|&(digit, _)| digit as u8).collect();
                sink.digits(&bytes, |i| digits[i].1);
            } else {
                for &(digit, place) in digits {
                    sink.digit(digit, place);
                }
            }
        }
    }

    fn cut(digits: &str, boundaries: &Boundaries) -> Vec<(Gem, u64, u64)> {
        let mut cutter = Cutter::new(boundaries);
        pass(&digits.chars().collect::<Vec<_>>(), &mut cutter);
        let placed =
            |g: super::PlacedGem| g.place.map(|p| (g.gem, p.start, p.end)).expect("a place");
        cutter.finish().into_iter().map(placed).collect()
    }

    /// A naive implementation of the cut rules.
    fn naive(digits: &str, boundaries: &Boundaries) -> Vec<Gem> {
        let chars: Vec<char> = digits.chars().collect();
        let mut chunks = vec![String::new()];
        let mut i = 0;
        while i < chars.len() {
            let four: String = chars[i..].iter().take(4).collect();
            if boundaries.sequences().any(|s| s == four) {
                chunks.push(String::new());
                i += 4;
            } else {
                chunks.last_mut().expect("never empty").push(chars[i]);
                i += 1;
            }
        }
        while chunks.last().is_some_and(String::is_empty) {
            chunks.pop();
        }
        let mut gems = Vec::new();
        for chunk in chunks.iter().take(chunks.len().saturating_sub(1)).skip(1) {
            let gem = Gem(u64::from(jenkins(chunk.as_bytes())));
            if chunk.chars().count() >= boundaries.shortest() && !gems.contains(&gem) {
                gems.push(gem);
            }
        }
        gems
    }

    #[test]
    fn first_and_last_do_not_count() {
        let boundaries = Boundaries::new(["9999"], 2).expect("good");
        let gem = |digits: &str| Gem(u64::from(jenkins(digits.as_bytes())));
        assert_eq!(
            cut("129999349999569999", &boundaries),
            [(gem("34"), 60, 75)]
        );
        assert_eq!(
            cut("1299993499995699997", &boundaries),
            [(gem("34"), 60, 75), (gem("56"), 120, 135)]
        );
        assert_eq!(cut("9999349999567", &boundaries), [(gem("34"), 40, 55)]);
        assert_eq!(
            cut("129999349999349999", &boundaries),
            [(gem("34"), 60, 75)]
        );
        assert_eq!(cut("", &boundaries), []);
        assert_eq!(cut("9999", &boundaries), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn the_stream_cuts_as_the_rules_say(digits in "[12٣]{0,80}", shortest in 1_usize..4) {
            let boundaries = Boundaries::new(["1212", "2211", "1111"], shortest).expect("good");
            let gems: Vec<Gem> = cut(&digits, &boundaries).into_iter().map(|(gem, ..)| gem).collect();
            prop_assert_eq!(gems, naive(&digits, &boundaries));
        }
    }
}
