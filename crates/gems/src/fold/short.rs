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
        let windows = Windows::new(
            windows(&masks.blank, start),
            windows(&masks.letter, start),
            windows(&masks.first, start),
            windows(&masks.six, start),
            &mut before,
        );
        for (lane, bits) in windows.dropped().to_array().into_iter().enumerate() {
            dropped.set_from(first_byte(start, lane), bits | reaching);
            reaching = bits >> WINDOW;
        }
    }
}

/// The byte of a mask that a window begins with.
#[inline]
fn first_byte(start: usize, lane: usize) -> usize {
    (start + lane * WINDOW) / 8
}

/// The bits of a mask in each window.
#[inline]
fn windows(mask: &Mask, start: usize) -> [u64; LANES] {
    array::from_fn(|lane| mask.from(first_byte(start, lane)))
}

/// The bits that follow those of the windows; `before` is the last bit of the windows before.
#[inline]
fn following(windows: [u64; LANES], before: &mut u64) -> u64x4 {
    u64x4::new(windows.map(|bits| {
        let up = bits << 1 | *before;
        *before = bits >> (WINDOW - 1) & 1;
        up
    }))
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
        let behind_blank = following(blank, &mut before.blank);
        let behind_letter = following(letter, &mut before.letter);
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
