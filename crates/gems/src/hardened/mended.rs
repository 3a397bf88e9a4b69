//! Grams of a query as they would be if one sound were right that is wrong.
//!
//! A wrong letter spoils all grams that have it: it is another sound, one too many, or one too few. Where a query has many wrong
//! letters, it is looked up by the grams that it would have with any one sound put right, too. As with other
//! [spellings](super::respell), a wrong guess only adds probes.

use std::ops::Range;

use hashbrown::HashSet;

use super::constants::{CODES, Constants, SOUNDS, mix};
use super::grams::{ELIGIBLE, Gram, is_eligible};
use super::sounds::{Sound, Symbol};
use super::symbols::symbols;
use crate::gem::Gem;
use crate::sample::boundary;

/// The code of no sound.
const NONE: u32 = 0;
/// The sounds of a gram.
const COUNT: usize = SOUNDS as usize;
/// Of a long query, only parts are looked up, so that it takes no longer than a query of a few pages.
const PARTS: usize = 2;
const PART: usize = 16 << 10;
/// The most grams of a part that are looked up. A denser recipe has as many in the first half of one.
const MOST: usize = 1 << 15;
/// The mean number of eligible grams of a window that are looked up. The smallest one, which is a gem, is mostly among these.
const TAKEN: u64 = 2;
/// Of a query of so many bytes or less, all are looked up.
pub(super) const WHOLE: usize = 4 << 10;
/// Of so many parts, more grams of a window are compared with gems of books, in less than a second; and so many are found at most.
const COMPARED_PARTS: usize = 64;
const COMPARED: u64 = 4;
const MOST_COMMON: usize = 1 << 17;

/// At most so many parts of a text, at equal distances.
fn parts(text: &str, most: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = text.len().div_ceil(PART).clamp(1, most);
    (0..parts).map(move |part| {
        let room = text.len() * part / parts..text.len() * (part + 1) / parts;
        let start = boundary(text, room.start + room.len().saturating_sub(PART) / 2);
        start..boundary(text, room.end.min(start + PART))
    })
}

/// The grams of a text with one sound put right, of which those are taken that may be the smallest of a window.
pub(super) fn mended(text: &str, window: u64, constants: &Constants) -> Vec<Gram> {
    let mut grams = Vec::new();
    for part in parts(text, PARTS) {
        let most = grams.len() + MOST;
        mend(text, part, limit(window, TAKEN), constants, |gram| {
            if grams.len() < most {
                grams.push(gram);
            }
        });
    }
    grams
}

/// Those of a whole text that are among these gems, each once. `gem` makes a gem of a gram.
pub(super) fn mended_among(
    text: &str,
    window: u64,
    constants: &Constants,
    gem: impl Fn(Gram) -> Gem,
    mut among: HashSet<Gem>,
) -> Vec<Gram> {
    let mut grams = Vec::new();
    for part in parts(text, COMPARED_PARTS) {
        mend(text, part, limit(window, COMPARED), constants, |gram| {
            if grams.len() < MOST_COMMON && among.remove(&gem(gram)) {
                grams.push(gram);
            }
        });
    }
    grams
}

/// So many eligible grams of a window have a smaller rank.
fn limit(window: u64, taken: u64) -> u64 {
    (u64::MAX / window).saturating_mul(taken * ELIGIBLE)
}

fn mend(
    text: &str,
    part: Range<usize>,
    limit: u64,
    constants: &Constants,
    mut take: impl FnMut(Gram),
) {
    let mut sounds = Vec::new();
    symbols(&text[part.clone()], |symbols| {
        sounds.extend_from_slice(symbols);
    });
    mend_sounds(&sounds, limit, constants, |gram| {
        take(Gram {
            first: gram.first + part.start as u64,
            last: gram.last + part.start as u64,
            ..gram
        });
    });
}

/// The grams of these sounds with one put right, whose ranks are smaller than the limit.
pub(super) fn mend_sounds(
    symbols: &[Symbol],
    limit: u64,
    constants: &Constants,
    take: impl FnMut(Gram),
) {
    let mut mender = Mender::new(constants, limit, take);
    for (number, sounds) in (0..).zip(symbols.windows(COUNT + 1)) {
        if let Some(sounds) = Sounds::of(sounds, number, constants) {
            mender.replace(&sounds);
            mender.leave_out(&sounds);
            mender.insert(&sounds);
        }
    }
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
}

/// Passes on the grams.
struct Mender<F> {
    /// The powers of the base.
    powers: [u64; COUNT],
    /// What each sound adds to a sum in which so many sounds are behind it.
    added: [[u64; CODES]; COUNT],
    limit: u64,
    take: F,
}

impl<F: FnMut(Gram)> Mender<F> {
    fn new(constants: &Constants, limit: u64, take: F) -> Self {
        let mut powers = [1_u64; COUNT];
        for at in 1..COUNT {
            powers[at] = powers[at - 1].wrapping_mul(constants.base);
        }
        let mut added = [[0; CODES]; COUNT];
        for (added, power) in added.iter_mut().zip(powers) {
            for (added, code) in added.iter_mut().zip(0..) {
                *added = constants.number(code).wrapping_mul(power);
            }
        }
        Self {
            powers,
            added,
            limit,
            take,
        }
    }

    /// One sound is another.
    fn replace(&mut self, sounds: &Sounds<'_>) {
        let codes = &sounds.codes;
        for at in 0..COUNT {
            let behind = COUNT - 1 - at;
            let former = self.added[behind][codes[at] as usize];
            let others = sounds.sums[COUNT].wrapping_sub(former);
            let before = at.checked_sub(1).map_or(NONE, |before| codes[before]);
            let next = if behind == 0 { NONE } else { codes[at + 1] };
            self.pass_with_each(sounds, others, behind, [before, codes[at], next], COUNT);
        }
    }

    /// One sound is too many.
    fn leave_out(&mut self, sounds: &Sounds<'_>) {
        for at in 1..COUNT {
            if sounds.codes[at - 1] != sounds.codes[at + 1] {
                let sum = self.joined(sounds, sounds.sums[at], at + 1..COUNT + 1);
                self.pass(sounds, sum, COUNT + 1);
            }
        }
    }

    /// One sound is missing.
    fn insert(&mut self, sounds: &Sounds<'_>) {
        let codes = &sounds.codes;
        for at in 1..COUNT - 1 {
            // With room for one sound.
            let before = sounds.sums[at].wrapping_mul(self.powers[1]);
            let others = self.joined(sounds, before, at..COUNT - 1);
            let (behind, between) = (COUNT - 1 - at, [codes[at - 1], codes[at], NONE]);
            self.pass_with_each(sounds, others, behind, between, COUNT - 1);
        }
    }

    /// The sum of what is before some sounds, and of these.
    fn joined(&self, sounds: &Sounds<'_>, before: u64, range: Range<usize>) -> u64 {
        let power = self.powers[range.len()];
        let of_start = sounds.sums[range.start].wrapping_mul(power);
        let of_range = sounds.sums[range.end].wrapping_sub(of_start);
        before.wrapping_mul(power).wrapping_add(of_range)
    }

    /// Passes on the grams that have one more sound than these. Equal sounds in a row are one.
    fn pass_with_each(
        &mut self,
        sounds: &Sounds<'_>,
        others: u64,
        behind: usize,
        except: [u32; 3],
        count: usize,
    ) {
        for code in Sound::P as u32..Sound::H as u32 {
            let sum = others.wrapping_add(self.added[behind][code as usize]);
            // Few are eligible, so this is asked first.
            if is_eligible(sum) && !except.contains(&code) {
                self.pass(sounds, sum, count);
            }
        }
    }

    /// Passes on the gram of a sum that stands for the first `count` sounds.
    fn pass(&mut self, sounds: &Sounds<'_>, sum: u64, count: usize) {
        if !is_eligible(sum) {
            return;
        }
        let rank = mix(sum);
        if rank < self.limit {
            (self.take)(Gram {
                number: sounds.number,
                rank,
                first: sounds.symbols[0].end(),
                last: sounds.symbols[count - 1].end(),
            });
        }
    }
}
