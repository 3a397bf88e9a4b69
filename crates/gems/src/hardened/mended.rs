//! Grams of a query as they would be if one sound were right that is wrong.
//!
//! A wrong letter spoils all grams that have it: it is another sound, one too many, or one too few. Where a query has many wrong
//! letters, it is looked up by the grams that it would have with any one sound put right, too. As with other
//! [spellings](super::respell), a wrong guess only adds probes.

use std::ops::Range;

use super::constants::{CODES, Constants, SOUNDS, mix};
use super::grams::{ELIGIBLE, Gram, is_eligible};
use super::sounds::{Sound, Symbol};
use super::symbols::symbols;
use crate::sample::boundary;

/// The sounds of a gram.
const COUNT: usize = SOUNDS as usize;
/// Of a long query, only parts are put right, so that it takes no longer than one of a few pages. With all their gems, these
/// are enough of a book to be called the same passage.
const PARTS: usize = 2;
const PART: usize = 16 << 10;
/// The most grams of a part that are taken. Ordinary text has fewer.
const MOST: usize = 1 << 15;
/// The mean number of eligible grams of a window that are taken. The smallest one, which is a gem, is mostly among these.
const TAKEN: u64 = 2;

/// The parts of a text that are put right.
fn parts(text: &str) -> impl Iterator<Item = Range<usize>> {
    let (parts, length) = if text.len() <= PARTS * PART {
        (1, text.len())
    } else {
        (PARTS, PART)
    };
    (0..parts).map(move |part| {
        let start = (text.len() * (2 * part + 1) / (2 * parts)).saturating_sub(length / 2);
        let start = boundary(text, start);
        start..boundary(text, start + length)
    })
}

/// The grams of a text with one sound put right, of which those are taken that may be the smallest of a window.
pub(super) fn mended(text: &str, window: u64, constants: &Constants) -> Vec<Gram> {
    let mut grams = Vec::new();
    for part in parts(text) {
        let mut sounds = Vec::new();
        symbols(&text[part.clone()], |symbols| {
            sounds.extend_from_slice(symbols);
        });
        grams.extend(
            mended_sounds(&sounds, window, constants)
                .into_iter()
                .map(|gram| Gram {
                    first: gram.first + part.start as u64,
                    last: gram.last + part.start as u64,
                    ..gram
                }),
        );
    }
    grams
}

/// The same of the sounds of a text.
pub(super) fn mended_sounds(symbols: &[Symbol], window: u64, constants: &Constants) -> Vec<Gram> {
    let mut powers = [1_u64; COUNT];
    for at in 1..COUNT {
        powers[at] = powers[at - 1].wrapping_mul(constants.base);
    }
    let mut mender = Mender {
        constants,
        powers,
        limit: (u64::MAX / window).saturating_mul(TAKEN * ELIGIBLE),
        grams: Vec::new(),
    };
    for (number, sounds) in (0..).zip(symbols.windows(COUNT + 1)) {
        if let Some(sounds) = Sounds::of(sounds, number, constants) {
            mender.replace(&sounds);
            mender.leave_out(&sounds);
            mender.insert(&sounds);
        }
    }
    mender.grams
}

/// The sounds of a gram and the next one.
struct Sounds<'a> {
    number: u64,
    symbols: &'a [Symbol],
    codes: [u32; COUNT + 1],
    /// The sum of each beginning: of no sound, of the first, of two …
    sums: [u64; COUNT + 2],
}

impl<'a> Sounds<'a> {
    /// `None` if one is a character that is a word by itself.
    fn of(symbols: &'a [Symbol], number: u64, constants: &Constants) -> Option<Self> {
        let (mut codes, mut sums) = ([0; COUNT + 1], [0_u64; COUNT + 2]);
        for (at, symbol) in symbols.iter().enumerate() {
            let code = symbol.code();
            if code as usize >= CODES {
                return None;
            }
            codes[at] = if code == Sound::H as u32 {
                Sound::K as u32
            } else {
                code
            };
            let sum = sums[at].wrapping_mul(constants.base);
            sums[at + 1] = sum.wrapping_add(constants.number(code));
        }
        Some(Self {
            number,
            symbols,
            codes,
            sums,
        })
    }

    /// The sounds that may stand between these two: equal sounds in a row are one.
    fn between(&self, before: Option<usize>, behind: Option<usize>) -> impl Iterator<Item = u32> {
        let [before, behind] = [before, behind].map(|at| at.map(|at| self.codes[at]));
        (Sound::P as u32..Sound::H as u32)
            .filter(move |code| before != Some(*code) && behind != Some(*code))
    }
}

/// Collects the grams.
struct Mender<'a> {
    constants: &'a Constants,
    /// The powers of the base.
    powers: [u64; COUNT],
    /// The ranks of the grams that are taken are smaller.
    limit: u64,
    grams: Vec<Gram>,
}

impl Mender<'_> {
    /// One sound is another.
    fn replace(&mut self, sounds: &Sounds<'_>) {
        for at in 0..COUNT {
            let behind = Some(at + 1).filter(|behind| *behind < COUNT);
            let former = self.constants.number(sounds.codes[at]);
            for code in sounds.between(at.checked_sub(1), behind) {
                let change = self.constants.number(code).wrapping_sub(former);
                let change = change.wrapping_mul(self.powers[COUNT - 1 - at]);
                if code != sounds.codes[at] {
                    self.take(sounds, sounds.sums[COUNT].wrapping_add(change), COUNT);
                }
            }
        }
    }

    /// One sound is too many.
    fn leave_out(&mut self, sounds: &Sounds<'_>) {
        for at in 1..COUNT {
            if sounds.codes[at - 1] != sounds.codes[at + 1] {
                let sum = self.joined(sounds, at, at + 1..COUNT + 1, None);
                self.take(sounds, sum, COUNT + 1);
            }
        }
    }

    /// One sound is missing.
    fn insert(&mut self, sounds: &Sounds<'_>) {
        for at in 1..COUNT - 1 {
            for code in sounds.between(Some(at - 1), Some(at)) {
                let sum = self.joined(sounds, at, at..COUNT - 1, Some(code));
                self.take(sounds, sum, COUNT - 1);
            }
        }
    }

    /// The sum of the first `before` sounds, perhaps another one, and those in a range.
    fn joined(
        &self,
        sounds: &Sounds<'_>,
        before: usize,
        behind: Range<usize>,
        between: Option<u32>,
    ) -> u64 {
        let power = self.powers[behind.len()];
        let of_behind =
            sounds.sums[behind.end].wrapping_sub(sounds.sums[behind.start].wrapping_mul(power));
        let mut sum = sounds.sums[before];
        if let Some(code) = between {
            sum = sum
                .wrapping_mul(self.constants.base)
                .wrapping_add(self.constants.number(code));
        }
        sum.wrapping_mul(power).wrapping_add(of_behind)
    }

    /// Takes the gram of a sum that stands for the first `count` sounds.
    fn take(&mut self, sounds: &Sounds<'_>, sum: u64, count: usize) {
        let rank = mix(sum);
        if is_eligible(sum) && rank < self.limit && self.grams.len() < MOST {
            self.grams.push(Gram {
                number: sounds.number,
                rank,
                first: sounds.symbols[0].end(),
                last: sounds.symbols[count - 1].end(),
            });
        }
    }
}
