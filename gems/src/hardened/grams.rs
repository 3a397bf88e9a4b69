//! Hashes every few consecutive symbols to a number.

use super::sounds::{Sound, Symbol};
use crate::gem::Gem;

/// The number of sounds in a gram.
const SOUNDS: u32 = 15;
const CURRENT: usize = SOUNDS as usize;
/// How many sounds a character counts as that is a word by itself.
const SIGN: u32 = 3;
/// One gram in this many can be selected.
pub(super) const ELIGIBLE: u64 = 8;

/// The size of a gem. In an index of a billion postings, one in 280,000 gems of an unrelated text is found by chance.
pub(super) const GEM_BITS: u32 = 48;

/// A few consecutive symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gram {
    /// Its number in the text, counted from 0.
    pub(super) number: u64,
    /// A number that depends on all of its symbols. It decides which grams are selected.
    pub(super) rank: u64,
    /// The ends of its first letter and of its last one.
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Gram {
    /// The gem: mixed once more, because selected ranks are small numbers, while gems should be uniformly distributed.
    pub(super) fn gem(self) -> Gem {
        Gem(mix(self.rank.wrapping_add(GAMMA)) >> (u64::BITS - GEM_BITS))
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
    // An `h` that is heard.
    numbers[Sound::H as usize] = numbers[Sound::K as usize];
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

/// The first powers of [`BASE`], and their inverses modulo 2^64.
const POWERS: [(u64, u64); 64] = {
    // Newton's method doubles the number of correct bits; any odd number is its own inverse in the lowest three.
    let mut inverse = BASE;
    let mut bits = 3;
    while bits < 64 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(BASE.wrapping_mul(inverse)));
        bits *= 2;
    }
    let mut powers = [(BASE, inverse); 64];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = (powers[i - 1].0.wrapping_mul(BASE), powers[i - 1].1.wrapping_mul(inverse));
        i += 1;
    }
    powers
};

fn number(code: u32) -> u64 {
    NUMBERS.get(code as usize).copied().unwrap_or_else(|| mix(u64::from(code) ^ GAMMA))
}

fn weight(code: u32) -> u32 {
    if (code as usize) < NUMBERS.len() { 1 } else { SIGN }
}

/// A rolling hash over the last symbols of a text (Karp, Rabin 1987).
#[derive(Default)]
pub(super) struct Grams {
    /// The symbols of the current gram, and those that follow.
    symbols: Vec<Symbol>,
    sum: u64,
    weight: u32,
    count: u64,
    /// The grams of some symbols that can be selected: the number of the symbol behind each, and its sum.
    eligible: Vec<(u32, u64)>,
    /// These grams.
    ended: Vec<Gram>,
}

impl Grams {
    /// Takes symbols, and passes on the grams that they end and that can be selected.
    pub(super) fn take(&mut self, symbols: &[Symbol], mut take: impl FnMut(&[Gram])) {
        let current = self.symbols.len();
        self.symbols.extend_from_slice(symbols);
        // As many symbols as their weight are all sounds.
        let is_full = self.weight == SOUNDS && current == CURRENT;
        let all = symbols.iter().fold(0, |all, symbol| all | symbol.code()) as usize;
        let first = if is_full && all < NUMBERS.len() {
            self.take_sounds();
            symbols.len()
        } else {
            self.take_any(current)
        };
        take(&self.ended);
        self.ended.clear();
        self.symbols.drain(..first);
    }

    /// Takes sounds behind a gram of sounds.
    fn take_sounds(&mut self) {
        let former = self.symbols.chunks(POWERS.len()).zip(self.symbols[CURRENT..].chunks(POWERS.len()));
        let number_of = |table: &[u64; 16], symbol: &Symbol| table[symbol.code() as usize % table.len()];
        self.eligible.resize(self.symbols.len(), (0, 0));
        let (mut i, mut eligible) = (0, 0);
        for (former, next) in former {
            // Divided by the power of its symbol, a sum differs from the one before by a term that does not depend on it.
            let mut divided = self.sum;
            for ((former, next), (power, inverse)) in former.iter().zip(next).zip(&POWERS) {
                let change = number_of(&NUMBERS, next).wrapping_sub(number_of(&FORMER, former));
                divided = divided.wrapping_add(change.wrapping_mul(*inverse));
                self.sum = divided.wrapping_mul(*power);
                // Written in any case, because whether it counts cannot be predicted.
                self.eligible[eligible] = (i, self.sum);
                eligible += usize::from(is_eligible(self.sum));
                i += 1;
            }
        }
        for &(i, sum) in &self.eligible[..eligible] {
            let (number, i) = (self.count + u64::from(i), i as usize);
            let [first, last] = [1, CURRENT].map(|of| self.symbols[i + of].end());
            self.ended.push(Gram { number, rank: mix(sum), first, last });
        }
        self.count += u64::from(i);
    }

    /// Takes any symbols behind those of the current gram; returns the number of symbols before the last gram.
    fn take_any(&mut self, current: usize) -> usize {
        let mut first = 0;
        for (behind, symbol) in self.symbols.iter().enumerate().skip(current) {
            self.sum = self.sum.wrapping_mul(BASE).wrapping_add(number(symbol.code()));
            self.weight += weight(symbol.code());
            // Remove the first ones as long as the others are enough.
            while self.weight - weight(self.symbols[first].code()) >= SOUNDS {
                let code = self.symbols[first].code();
                let power = BASE.wrapping_pow((behind - first) as u32);
                self.sum = self.sum.wrapping_sub(number(code).wrapping_mul(power));
                self.weight -= weight(code);
                first += 1;
            }
            if self.weight < SOUNDS {
                continue;
            }
            if is_eligible(self.sum) {
                let [first, last] = [first, behind].map(|of| self.symbols[of].end());
                self.ended.push(Gram { number: self.count, rank: mix(self.sum), first, last });
            }
            self.count += 1;
        }
        first
    }

    /// The number of grams so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

fn is_eligible(sum: u64) -> bool {
    sum < u64::MAX / ELIGIBLE
}
