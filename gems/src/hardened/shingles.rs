//! Hashes every few consecutive words to a number.

use super::words::Word;
use crate::gem::{Gem, Place, PlacedGem};

/// The number of words in a shingle.
const WORDS: usize = 5;
/// The minimum number of words for a text shorter than a shingle to get a number.
const FEWEST: usize = 3;

/// A few consecutive words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shingle {
    /// A number that depends on all of its words. It decides which shingles are selected.
    pub(super) rank: u64,
    pub(super) place: Place,
}

impl Shingle {
    /// The gem: mixed once more, because selected ranks are small numbers, while gems should be uniformly distributed.
    pub(super) fn gem(self) -> PlacedGem {
        PlacedGem { gem: Gem(mix(self.rank.wrapping_add(GAMMA))), place: Some(self.place) }
    }
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits: the finalizer of `SplitMix64` (Steele, Lea, Flood 2014; constants of Stafford's variant 13).
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A word's number is multiplied by this for each following word in a shingle (any odd 64-bit number would do).
const BASE: u64 = 0xd130_2a9a_2f4c_8d45;
const BASE_OF_FIRST: u64 = BASE.wrapping_pow(WORDS as u32);

/// A rolling hash over the last words of a text (Karp, Rabin 1987).
#[derive(Default)]
pub(super) struct Shingles {
    /// Number and start of the last words; word `i` of the text is at `i % WORDS`.
    last: [(u64, u64); WORDS],
    count: usize,
    sum: u64,
    /// The end of the last word.
    end: u64,
}

impl Shingles {
    /// Takes the next word; returns the shingle that it ends.
    #[inline]
    pub(super) fn next(&mut self, word: Word) -> Option<Shingle> {
        let number = mix(u64::from(word.code) ^ GAMMA);
        let oldest = &mut self.last[self.count % WORDS];
        self.sum = self.sum.wrapping_mul(BASE).wrapping_add(number).wrapping_sub(oldest.0.wrapping_mul(BASE_OF_FIRST));
        *oldest = (number, word.place.start);
        self.end = word.place.end;
        self.count += 1;
        (self.count >= WORDS).then(|| self.shingle(self.last[self.count % WORDS].1))
    }

    /// The shingle of a text too short for a regular one: all of its words, if they are at least `FEWEST`.
    pub(super) fn only(&self) -> Option<Shingle> {
        (FEWEST..WORDS).contains(&self.count).then(|| self.shingle(self.last[0].1))
    }

    fn shingle(&self, start: u64) -> Shingle {
        Shingle { rank: mix(self.sum), place: Place { start, end: self.end } }
    }
}
