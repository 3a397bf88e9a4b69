//! Step 6 on masks: finds the bytes of plain tokens to drop, many tokens at a time and without branches.

use std::array;

use wide::u64x4;

use super::bits::{BLOCK, Mask};
use super::masks::Masks;

/// Only tokens that begin in this many first bits of a word are processed. The step needs 15 more bits, for five
/// characters of three bytes or six letters of two, so no word needs the next one.
const WINDOW: usize = BLOCK - 16;
/// The number of windows processed together.
const LANES: usize = 4;

/// Sets `dropped` to the beginnings that the tokens in the first `length` bytes lose.
pub(super) fn drop_short(masks: &Masks, length: usize, dropped: &mut Mask) {
    let mut before = Before {
        blank: 1,
        letter: 0,
    };
    let mut reaching = 0;
    for start in (0..length).step_by(LANES * WINDOW) {
        let byte = |lane| (start + lane * WINDOW) / 8;
        let windows = |mask: &Mask| array::from_fn(|lane| mask.from(byte(lane)));
        let windows = Windows::new(
            windows(&masks.blank),
            windows(&masks.letter),
            windows(&masks.first),
            windows(&masks.six),
            &mut before,
        );
        for (lane, bits) in windows.dropped().to_array().into_iter().enumerate() {
            dropped.set_from(byte(lane), bits | reaching);
            reaching = bits >> WINDOW;
        }
    }
}

/// The last bits before windows.
struct Before {
    blank: u64,
    letter: u64,
}

/// One window per lane.
struct Windows {
    /// Where tokens begin.
    starts: u64x4,
    /// Bytes preceded by a border between letters and other characters.
    borders: u64x4,
    blank: u64x4,
    first: u64x4,
    six: u64x4,
}

impl Windows {
    #[inline]
    fn new(
        blank: [u64; LANES],
        letter: [u64; LANES],
        first: [u64; LANES],
        six: [u64; LANES],
        before: &mut Before,
    ) -> Self {
        let up = |bits: [u64; LANES], before: &mut u64| {
            let up = bits.map(|bits| {
                let up = bits << 1 | *before;
                *before = bits >> (WINDOW - 1) & 1;
                up
            });
            u64x4::new(up)
        };
        let (behind_blank, behind_letter) =
            (up(blank, &mut before.blank), up(letter, &mut before.letter));
        let (blank, letter) = (u64x4::new(blank), u64x4::new(letter));
        Self {
            starts: behind_blank & !blank & u64x4::splat((1 << WINDOW) - 1),
            borders: letter ^ behind_letter,
            blank,
            first: u64x4::new(first),
            six: u64x4::new(six),
        }
    }

    /// The bytes lost by the tokens that begin in the windows.
    #[inline]
    fn dropped(&self) -> u64x4 {
        // The borders after one to five characters.
        let mut behind = self.starts;
        let mut ends = u64x4::splat(0);
        for _ in 0..5 {
            behind = self.next(behind & !self.blank);
            ends |= behind & self.borders;
        }
        // Six letters of two bytes each, found by their second bytes.
        let two = self.six & self.six >> 2_u32;
        let six = two & two >> 4_u32 & two >> 8_u32;
        ends |= ((self.starts << 1_u32 & six) << 11_u32) & self.borders;
        self.down(ends)
    }

    /// The characters after these.
    #[inline]
    fn next(&self, characters: u64x4) -> u64x4 {
        ((characters << 1_u32) + !self.first) & self.first
    }

    /// The bytes of tokens before each of `ends`, at most 16.
    #[inline]
    fn down(&self, ends: u64x4) -> u64x4 {
        let mut token = !self.blank;
        let mut bytes = ends >> 1_u32 & token;
        for distance in [1_u32, 2, 4, 8] {
            bytes |= bytes >> distance & token;
            token &= token >> distance;
        }
        bytes
    }
}
