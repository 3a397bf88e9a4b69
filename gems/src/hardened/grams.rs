//! Hashes every few consecutive symbols to a number.

use super::sounds::Symbol;
use crate::gem::{Gem, Place, PlacedGem};

/// The number of sounds in a gram.
const SOUNDS: u32 = 15;
/// How many sounds a character counts as that is a word by itself.
const SIGN: u32 = 3;
/// One gram in this many can be selected.
const ELIGIBLE: u64 = 8;

/// A few consecutive symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gram {
    /// Its number in the text, counted from 0.
    pub(super) number: u64,
    /// A number that depends on all of its symbols. It decides which grams are selected.
    pub(super) rank: u64,
    pub(super) place: Place,
}

impl Gram {
    /// The gem: mixed once more, because selected ranks are small numbers, while gems should be uniformly distributed.
    pub(super) fn gem(self) -> PlacedGem {
        PlacedGem { gem: Gem(mix(self.rank.wrapping_add(GAMMA))), place: Some(self.place) }
    }
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits: the finalizer of `SplitMix64` (Steele, Lea, Flood 2014; constants of Stafford's variant 13).
const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A symbol's number is multiplied by this for each following symbol of a gram (any odd 64-bit number would do).
const BASE: u64 = 0xd130_2a9a_2f4c_8d45;

/// The numbers of the sounds.
const NUMBERS: [u64; 16] = {
    let mut numbers = [0; 16];
    let mut code = 0;
    while code < 16 {
        numbers[code] = mix(code as u64 ^ GAMMA);
        code += 1;
    }
    numbers
};

/// The numbers of the sounds, as they are in the sum when [`SOUNDS`] others have followed.
const FORMER: [u64; 16] = {
    let mut former = NUMBERS;
    let mut code = 0;
    while code < 16 {
        former[code] = former[code].wrapping_mul(BASE.wrapping_pow(SOUNDS));
        code += 1;
    }
    former
};

fn number(code: u32) -> u64 {
    NUMBERS.get(code as usize).copied().unwrap_or_else(|| mix(u64::from(code) ^ GAMMA))
}

fn weight(code: u32) -> u32 {
    if (code as usize) < NUMBERS.len() { 1 } else { SIGN }
}

/// More than the number of symbols of a gram.
const LAST: usize = 16;

/// A rolling hash over the last symbols of a text (Karp, Rabin 1987).
#[derive(Default)]
pub(super) struct Grams {
    /// Codes and starts of the last symbols: symbol `i` of the text is at `i % LAST`.
    last: [(u32, u64); LAST],
    /// The first symbol of the current gram, and the one behind it.
    first: usize,
    behind: usize,
    sum: u64,
    weight: u32,
    count: u64,
}

impl Grams {
    /// Takes symbols, and passes on the grams that they end, if those can be selected.
    #[inline]
    pub(super) fn take(&mut self, symbols: &[Symbol], mut take: impl FnMut(Gram)) {
        for symbol in symbols {
            self.next(symbol.code(), Place { start: symbol.start(), end: symbol.end() })
                .into_iter()
                .for_each(&mut take);
        }
    }

    /// Takes the next symbol; returns the gram that it ends, if it can be selected.
    #[inline]
    pub(super) fn next(&mut self, code: u32, Place { start, end }: Place) -> Option<Gram> {
        // As many symbols as their weight are all sounds.
        let is_full = self.weight == SOUNDS && self.behind - self.first == SOUNDS as usize;
        self.last[self.behind % LAST] = (code, start);
        self.behind += 1;
        if let (true, Some(number)) = (is_full, NUMBERS.get(code as usize)) {
            let former = FORMER[self.last[self.first % LAST].0 as usize % FORMER.len()];
            self.sum = self.sum.wrapping_mul(BASE).wrapping_add(number.wrapping_sub(former));
            self.first += 1;
        } else {
            self.lengthen(code);
            if self.weight < SOUNDS {
                return None;
            }
        }
        let number = self.count;
        self.count += 1;
        let place = Place { start: self.last[self.first % LAST].1, end };
        (self.sum < u64::MAX / ELIGIBLE).then(|| Gram { number, rank: mix(self.sum), place })
    }

    /// Adds the last symbol, and removes the first ones as long as the others are enough.
    fn lengthen(&mut self, code: u32) {
        self.sum = self.sum.wrapping_mul(BASE).wrapping_add(number(code));
        self.weight += weight(code);
        loop {
            let (first, _) = self.last[self.first % LAST];
            if self.weight - weight(first) < SOUNDS {
                return;
            }
            let power = BASE.wrapping_pow((self.behind - 1 - self.first) as u32);
            self.sum = self.sum.wrapping_sub(number(first).wrapping_mul(power));
            self.weight -= weight(first);
            self.first += 1;
        }
    }

    /// The number of grams so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}
