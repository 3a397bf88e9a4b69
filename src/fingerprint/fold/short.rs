//! Step 6 on masks: which bytes of plain tokens go, 64 at a time and without a branch.

use super::masks::BLOCK;

/// What the bytes of a block and of the one behind it are.
pub(super) struct Two {
    pub(super) blank: u128,
    pub(super) letter: u128,
    pub(super) first: u128,
    pub(super) six: u128,
}

/// What the last byte before a block is.
pub(super) struct Before {
    pub(super) blank: bool,
    pub(super) letter: bool,
    pub(super) dropped: bool,
}

impl Two {
    /// The bytes that the tokens that begin in the first block lose; of these, some may lie in the second.
    #[inline]
    pub(super) fn dropped(&self, before: &Before) -> u128 {
        let blank_before = self.blank << 1 | u128::from(before.blank);
        // A border stands before each of these.
        let borders = self.letter ^ (self.letter << 1 | u128::from(before.letter));
        let starts = u128::from((blank_before & !self.blank) as u64);

        // The borders behind one to five characters.
        let mut behind = starts;
        let mut ends = 0;
        for _ in 0..5 {
            behind = self.next(behind & !self.blank);
            ends |= behind & borders;
        }
        // Six letters of two bytes each.
        let mut behind = starts;
        for _ in 0..6 {
            behind = (behind << 1 & self.six) << 1;
        }
        ends |= behind & borders;
        down(ends, !self.blank)
    }

    /// The characters behind these.
    #[inline]
    fn next(&self, characters: u128) -> u128 {
        (characters << 1).wrapping_add(!self.first) & self.first
    }
}

/// All places in `runs` from each of `ends` down, at most 15: five characters have no more bytes.
#[inline]
fn down(ends: u128, mut runs: u128) -> u128 {
    let mut places = ends >> 1 & runs;
    for distance in [1, 2, 4, 8] {
        places |= places >> distance & runs;
        runs &= runs >> distance;
    }
    places
}

const _: () = assert!(2 * 15 < BLOCK);
