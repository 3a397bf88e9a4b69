//! Bit masks with one bit per byte of a stretch of text, and arithmetic on them.

use std::num::NonZeroU64;
use std::ops::Range;

use wide::u8x16;

/// The number of bytes covered by one word of a mask.
pub(crate) const BLOCK: usize = 64;
const BLOCKS: usize = 64;
/// The number of bytes processed together.
pub(super) const SPAN: usize = BLOCKS * BLOCK;

/// One bit for each byte of a stretch, starting with the lowest bit of the first byte, with room for what lies beyond
/// the end of the stretch.
pub(super) struct Mask([u8; SPAN / 8 + 4 * 8]);

impl Mask {
    pub(super) fn new() -> Self {
        Self([0; _])
    }

    /// The bits of a block.
    #[inline]
    pub(super) fn block(&self, block: usize) -> u64 {
        self.from(block * 8)
    }

    #[inline]
    pub(super) fn set_block(&mut self, block: usize, bits: u64) {
        self.set_from(block * 8, bits);
    }

    /// The 64 bits starting at the lowest bit of mask byte `byte`.
    #[inline]
    pub(super) fn from(&self, byte: usize) -> u64 {
        self.0[byte..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    #[inline]
    pub(super) fn set_from(&mut self, byte: usize, bits: u64) {
        self.0[byte..][..8].copy_from_slice(&bits.to_le_bytes());
    }

    /// At least 57 bits before bit `end`, the last of them in the highest position; zeros before the first bit.
    #[inline]
    pub(super) fn before(&self, end: usize) -> u64 {
        if end < BLOCK {
            return self.from(0).checked_shl((BLOCK - end) as u32).unwrap_or(0);
        }
        let byte = end.div_ceil(8) - 8;
        self.from(byte) << (byte * 8 + BLOCK - end)
    }

    #[inline]
    pub(super) fn has(&self, byte: usize) -> bool {
        self.0[byte / 8] >> (byte % 8) & 1 != 0
    }

    /// The position of the next bit at or after `byte`; `end` if there is none before `end`.
    #[inline]
    pub(super) fn next(&self, byte: usize, end: usize) -> usize {
        self.first_in(byte..end).unwrap_or(end)
    }

    /// The first bit in the range.
    pub(super) fn first_in(&self, range: Range<usize>) -> Option<usize> {
        blocks(&range)
            .find(|&block| self.block(block) & inside(&range, block) != 0)
            .map(|block| {
                let bits = self.block(block) & inside(&range, block);
                block * BLOCK + bits.trailing_zeros() as usize
            })
    }

    /// The last bit in the range.
    pub(super) fn last_in(&self, range: Range<usize>) -> Option<usize> {
        blocks(&range)
            .rfind(|&block| self.block(block) & inside(&range, block) != 0)
            .map(|block| {
                let bits = self.block(block) & inside(&range, block);
                block * BLOCK + bits.ilog2() as usize
            })
    }

    /// Clears the bits in the range.
    pub(super) fn clear(&mut self, range: &Range<usize>) {
        for block in blocks(range) {
            self.set_block(block, self.block(block) & !inside(range, block));
        }
    }
}

/// The bits of a block that lie in the range.
#[inline]
pub(super) fn inside(range: &Range<usize>, block: usize) -> u64 {
    below(range.end, block) & !below(range.start, block)
}

/// The bits of a block before `end`.
#[inline]
fn below(end: usize, block: usize) -> u64 {
    match end.saturating_sub(block * BLOCK) {
        bits @ ..BLOCK => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// The blocks that a range touches.
#[inline]
pub(super) fn blocks(range: &Range<usize>) -> Range<usize> {
    range.start / BLOCK..range.end.div_ceil(BLOCK)
}

/// The positions of a word's bits, in ascending order.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bits = NonZeroU64::new(self.0)?;
        self.0 &= self.0 - 1;
        Some(bits.trailing_zeros() as usize)
    }
}

/// Moves the bits that lie in a run to the first position after the run, like the carry of an addition; the others
/// stay. `carry` is the carry from the previous block, and is set to the carry into the next.
#[inline]
pub(crate) fn through(bits: u64, runs: u64, carry: &mut bool) -> u64 {
    let (sum, above) = bits.overflowing_add(runs);
    let (sum, still) = sum.overflowing_add(u64::from(*carry));
    *carry = above | still;
    sum & !runs
}

/// The same byte sixteen times.
#[inline]
pub(crate) fn splat(byte: u8) -> u8x16 {
    u8x16::splat(byte)
}

/// The highest bit of each byte.
#[inline]
pub(crate) fn bits(bytes: u8x16) -> u64 {
    bytes.to_bitmask().into()
}

/// Which bytes are among the `count` values starting at `start`.
#[inline]
pub(crate) fn in_range(b: u8x16, start: u8, count: u8) -> u8x16 {
    let offset = b - u8x16::splat(start);
    offset.min(u8x16::splat(count - 1)).simd_eq(offset)
}
