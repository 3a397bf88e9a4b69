//! Hashes every few consecutive symbols to a number.

use super::constants::{CODES, Constants, SOUNDS, mix};
use super::sounds::Symbol;
use crate::gem::Gem;

const CURRENT: usize = SOUNDS as usize;
/// How many sounds a character counts as that is a word by itself.
const SIGN: u32 = 3;
/// One gram in this many can be selected.
pub(super) const ELIGIBLE: u64 = 8;

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
    /// Its gem, of so many bits.
    pub(super) fn gem(self, constants: &Constants, bits: u32) -> Gem {
        Gem(constants.gem(self.rank) >> (u64::BITS - bits))
    }
}

fn weight(code: u32) -> u32 {
    if (code as usize) < CODES { 1 } else { SIGN }
}

/// A rolling hash over the last symbols of a text (Karp, Rabin 1987).
pub(super) struct Grams<'a> {
    constants: &'a Constants,
    /// The symbols of the current gram, and those that follow.
    symbols: Vec<Symbol>,
    sum: u64,
    weight: u32,
    count: u64,
    /// The sums of the grams that each of some symbols ends, and which of these grams can be selected.
    sums: Vec<u64>,
    eligible: Vec<u32>,
    /// The grams that can be selected.
    ended: Vec<Gram>,
}

impl<'a> Grams<'a> {
    pub(super) fn new(constants: &'a Constants) -> Self {
        let (symbols, sums, eligible, ended) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (sum, weight, count) = (0, 0, 0);
        Self {
            constants,
            symbols,
            sum,
            weight,
            count,
            sums,
            eligible,
            ended,
        }
    }

    /// Takes symbols, and passes on the grams that they end and that can be selected.
    pub(super) fn take(&mut self, symbols: &[Symbol], mut take: impl FnMut(&[Gram])) {
        let current = self.symbols.len();
        self.symbols.extend_from_slice(symbols);
        // As many symbols as their weight are all sounds.
        let is_full = self.weight == SOUNDS && current == CURRENT;
        let all = symbols.iter().fold(0, |all, symbol| all | symbol.code()) as usize;
        let first = if is_full && all < CODES {
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
        let count = self.symbols.len() - CURRENT;
        if self.sums.len() < count {
            self.sums.resize(count, 0);
            self.eligible.resize(count, 0);
        }
        let eligible = self.roll(count);
        for &i in &self.eligible[..eligible] {
            let at = i as usize;
            self.ended.push(Gram {
                number: self.count + u64::from(i),
                rank: mix(self.sums[at]),
                first: self.symbols[at + 1].end(),
                last: self.symbols[at + CURRENT].end(),
            });
        }
        self.count += count as u64;
    }

    /// Computes the sums of so many grams. Returns how many of them can be selected.
    fn roll(&mut self, count: usize) -> usize {
        let (former, next) = (&self.symbols[..count], &self.symbols[CURRENT..]);
        let (former, next) = (former.as_chunks(), next.as_chunks());
        let sums = &mut self.sums[..count];
        let mut eligible = EligibleGrams {
            numbers: &mut self.eligible[..count],
            count: 0,
        };
        let mut sum = self.sum;
        let constants = self.constants;
        let (base, square) = (constants.base, constants.square);
        // Two at a time, because the second need not wait for the first.
        let pairs = former.0.iter().zip(next.0).zip(sums.as_chunks_mut().0);
        for (i, (([a, b], [c, d]), sums)) in (0..).step_by(2).zip(pairs) {
            let [first, second] = [
                constants.change(a.code(), c.code()),
                constants.change(b.code(), d.code()),
            ];
            let both = first.wrapping_mul(base).wrapping_add(second);
            let next = [
                sum.wrapping_mul(base).wrapping_add(first),
                sum.wrapping_mul(square).wrapping_add(both),
            ];
            eligible.note(i, next[0]);
            eligible.note(i + 1, next[1]);
            (*sums, sum) = (next, next[1]);
        }
        if let ([a], [c], [.., last]) = (former.1, next.1, sums) {
            sum = sum
                .wrapping_mul(base)
                .wrapping_add(constants.change(a.code(), c.code()));
            *last = sum;
            eligible.note(count as u32 - 1, sum);
        }
        self.sum = sum;
        eligible.count
    }

    /// Takes any symbols behind those of the current gram; returns the number of symbols before the last gram.
    fn take_any(&mut self, current: usize) -> usize {
        let constants = self.constants;
        let mut first = 0;
        for (behind, symbol) in self.symbols.iter().enumerate().skip(current) {
            self.sum = self
                .sum
                .wrapping_mul(constants.base)
                .wrapping_add(constants.number(symbol.code()));
            self.weight += weight(symbol.code());
            // Remove the first ones as long as the others are enough.
            while self.weight - weight(self.symbols[first].code()) >= SOUNDS {
                let code = self.symbols[first].code();
                let power = constants.base.wrapping_pow((behind - first) as u32);
                self.sum = self
                    .sum
                    .wrapping_sub(constants.number(code).wrapping_mul(power));
                self.weight -= weight(code);
                first += 1;
            }
            if self.weight < SOUNDS {
                continue;
            }
            if is_eligible(self.sum) {
                let [first, last] = [first, behind].map(|of| self.symbols[of].end());
                self.ended.push(Gram {
                    number: self.count,
                    rank: mix(self.sum),
                    first,
                    last,
                });
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

/// The numbers of the grams that can be selected.
struct EligibleGrams<'a> {
    numbers: &'a mut [u32],
    count: usize,
}

impl EligibleGrams<'_> {
    #[inline]
    fn note(&mut self, number: u32, sum: u64) {
        // Written in any case, because whether it counts cannot be predicted.
        self.numbers[self.count] = number;
        self.count += usize::from(is_eligible(sum));
    }
}

#[inline]
pub(super) fn is_eligible(sum: u64) -> bool {
    sum < u64::MAX / ELIGIBLE
}
