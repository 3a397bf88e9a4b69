//! The numbers that decide which gems a text has: public ones, or ones drawn from a secret.

use std::fmt;

use super::sounds::Sound;
use crate::secret::Secret;

/// The number of sounds in a gram.
pub(super) const SOUNDS: u32 = 15;
/// There are fewer sounds than this. Greater codes are characters.
pub(super) const CODES: usize = 16;
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// What grams are hashed with.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Constants {
    /// A symbol's number is multiplied by this for each following symbol of a gram. It is odd.
    pub(super) base: u64,
    /// Its square.
    pub(super) square: u64,
    /// The numbers of the sounds.
    numbers: [u64; CODES],
    /// The numbers of the sounds, as they are in the sum when [`SOUNDS`] others have followed.
    former: [u64; CODES],
    /// What characters are mixed with, and gems once more.
    gamma: u64,
}

/// Those of the recipes that anyone can compute.
pub(super) static PUBLIC: Constants = {
    let mut numbers = [0; CODES];
    let mut code = 0;
    while code < CODES {
        numbers[code] = mix(code as u64 ^ GAMMA);
        code += 1;
    }
    Constants::new(0xd130_2a9a_2f4c_8d45, GAMMA, numbers)
};

impl fmt::Debug for Constants {
    /// Those of a secret are as good as the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Constants(…)")
    }
}

impl Constants {
    const fn new(base: u64, gamma: u64, mut numbers: [u64; CODES]) -> Self {
        // An `h` that is heard.
        numbers[Sound::H as usize] = numbers[Sound::K as usize];
        let mut former = numbers;
        let mut code = 0;
        while code < CODES {
            former[code] = former[code].wrapping_mul(base.wrapping_pow(SOUNDS));
            code += 1;
        }
        Self {
            base,
            square: base.wrapping_mul(base),
            numbers,
            former,
            gamma,
        }
    }

    /// Those drawn from a secret.
    pub(super) fn of(secret: &Secret) -> Self {
        let mut random = secret.numbers();
        let mut next = || random.next().unwrap_or_default();
        Self::new(next() | 1, next(), [(); CODES].map(|()| next()))
    }

    #[inline]
    pub(super) fn number(&self, code: u32) -> u64 {
        let sound = self.numbers.get(code as usize).copied();
        sound.unwrap_or_else(|| mix(u64::from(code) ^ self.gamma))
    }

    /// What a sound adds to the sum when one leaves the gram and the next enters it.
    #[inline]
    pub(super) fn change(&self, former: u32, next: u32) -> u64 {
        self.numbers[next as usize % CODES].wrapping_sub(self.former[former as usize % CODES])
    }

    /// The gem of a rank: mixed once more, because selected ranks are small numbers, while gems should be uniformly
    /// distributed.
    pub(super) fn gem(&self, rank: u64) -> u64 {
        mix(rank.wrapping_add(self.gamma))
    }
}

/// A bijection of 64 bits: the finalizer of `SplitMix64` (Steele, Lea, Flood 2014; constants of Stafford's variant 13).
#[inline]
pub(super) const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
