//! What the bytes of a stretch of text are, 64 at a time: a bit a byte.
//!
//! Vectors tell ASCII and Cyrillic apart, which is all of most blocks; each character else goes through the table. After
//! Langdale and Lemire, "Parsing Gigabytes of JSON per Second" (2019).

use wide::u8x16;

use super::plain::{Kind, Plain};

/// Bytes that a mask of one word covers.
pub(super) const BLOCK: usize = 64;
const BLOCKS: usize = 64;
/// Bytes that are looked at together.
pub(super) const SPAN: usize = BLOCKS * BLOCK;

/// A stretch of text of at most [`SPAN`] bytes. Behind the end of a text stand blanks.
pub(super) struct Masks {
    /// ASCII blanks.
    pub(super) blank: Mask,
    /// All bytes of letters.
    pub(super) letter: Mask,
    /// As many bytes of each character as the steps count characters: nearly always its first.
    pub(super) first: Mask,
    /// A byte of each character that is not plain.
    pub(super) odd: Mask,
}

/// A bit for each byte, the first in the lowest bit of the first byte; 64 ones before them, and 64 zeros behind.
pub(super) struct Mask([u8; SPAN / 8 + 16]);

impl Mask {
    fn new() -> Self {
        let mut bytes = [0; SPAN / 8 + 16];
        bytes[..8].fill(0xff);
        Self(bytes)
    }

    fn word(&self, byte: usize) -> u64 {
        self.0[byte..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The bits from `at` on, the first in the lowest: 57 or more.
    #[inline]
    pub(super) fn from(&self, at: usize) -> u64 {
        self.word(at / 8 + 8) >> (at % 8)
    }

    /// The bits up to `at`, the last in the highest: 57 or more.
    #[inline]
    pub(super) fn up_to(&self, at: usize) -> u64 {
        self.word(at / 8 + 1) << (7 - at % 8)
    }

    /// The bits of the block at `block` and of the next.
    fn two(&self, block: usize) -> u128 {
        u128::from(self.from(block)) | u128::from(self.from(block + BLOCK)) << BLOCK
    }

    fn set(&mut self, block: usize, bits: u64) {
        self.0[block * 8 + 8..][..8].copy_from_slice(&bits.to_le_bytes());
    }
}

/// The places of the bits of a word, rising.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (bit < BLOCK).then_some(bit)
    }
}

/// What the bytes of a block are as far as vectors see.
#[derive(Default)]
struct Block {
    blank: u64,
    /// ASCII letters and digits.
    alphanumeric: u64,
    /// The first bytes of U+0400 to U+047F.
    cyrillic: u64,
    /// Bytes behind the first of a character.
    behind: u64,
    /// First bytes of all other characters outside ASCII.
    other: u64,
    underscore: u64,
}

impl Block {
    #[inline]
    fn of(bytes: &[u8; BLOCK]) -> Self {
        let mut block = Self::default();
        for (i, sixteen) in bytes.as_chunks().0.iter().enumerate() {
            let b = u8x16::new(*sixteen);
            let of = |value| u8x16::splat(value);
            // Below `count` from `start` on.
            let range = |b: u8x16, start, count: u8| {
                let offset = b - of(start);
                offset.min(of(count - 1)).simd_eq(offset)
            };
            let put = |bits: u8x16| u64::from(bits.to_bitmask()) << (16 * i);
            let high = put(b);
            block.blank |= put(b.simd_eq(of(b' ')) | range(b, b'\t', 5));
            block.alphanumeric |= put(range(b | of(0x20), b'a', 26) | range(b, b'0', 10));
            block.underscore |= put(b.simd_eq(of(b'_')));
            if high != 0 {
                let cyrillic = put((b | of(1)).simd_eq(of(0xd1)));
                let behind = put(range(b, 0x80, 0x40));
                block.cyrillic |= cyrillic;
                block.behind |= behind;
                block.other |= high & !cyrillic & !behind;
            }
        }
        block
    }
}

impl Masks {
    pub(super) fn new() -> Self {
        Self { blank: Mask::new(), letter: Mask::new(), first: Mask::new(), odd: Mask::new() }
    }

    /// What of the block at `block` is worth a look: marks, and the first of any six letters. A token without them is a short word.
    #[inline]
    pub(super) fn notable(&self, block: usize) -> u64 {
        let letters = self.letter.two(block);
        let first = self.first.two(block) & letters;
        let of_two_bytes = first & (letters & !first) >> 1;
        let of_one_byte = first & !of_two_bytes;
        let six = (0..5).fold(first, |some, _| of_one_byte & some >> 1 | of_two_bytes & some >> 2);
        six as u64 | !(letters as u64 | self.blank.from(block))
    }

    /// Reads the beginning of `text`, which is the beginning of a character.
    pub(super) fn read(&mut self, plain: &Plain, text: &[u8]) {
        // What characters have in the next block.
        let (mut letter, mut first, mut odd) = (0, 0, 0);
        for block in 0..BLOCKS {
            let rest = text.get(block * BLOCK..).unwrap_or_default();
            let is = if let Some(bytes) = rest.first_chunk() {
                Block::of(bytes)
            } else {
                let mut last = [b' '; BLOCK];
                last[..rest.len()].copy_from_slice(rest);
                Block::of(&last)
            };
            letter |= is.alphanumeric | is.cyrillic | is.cyrillic << 1;
            first |= !is.behind;
            odd |= is.underscore;
            let mut next = (is.cyrillic >> (BLOCK - 1), 0, 0);
            for place in Bits(is.other) {
                let (kind, length) = plain.kind(&rest[place..]);
                let bytes = ((1_u128 << length) - 1) << place;
                let (here, behind) = (bytes as u64, (bytes >> BLOCK) as u64);
                match kind {
                    Kind::Letter => (letter, next.0) = (letter | here, next.0 | behind),
                    Kind::Mark => {}
                    Kind::Marks => (first, next.1) = (first | here, next.1 | behind),
                    Kind::Odd => odd |= here,
                }
            }
            self.blank.set(block, is.blank);
            self.letter.set(block, letter);
            self.first.set(block, first);
            self.odd.set(block, odd);
            (letter, first, odd) = next;
            if rest.len() < BLOCK {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::letters::Letters;
    use super::{Kind, Masks};
    use crate::fingerprint::recipe::Base;

    #[test]
    fn vectors_see_what_the_table_says() {
        for base in [Base::Documented, Base::Released] {
            let plain = Letters::of(base).plain();
            let mut masks = Masks::new();
            // NUL is unknown to the table, and so a mark by the steps.
            for c in ('\u{1}'..='\u{7f}').chain('\u{400}'..='\u{47f}') {
                let text = c.to_string();
                masks.read(plain, text.as_bytes());
                let bytes = (1 << text.len()) - 1;
                let (letter, blank, odd) = (masks.letter.from(0), masks.blank.from(0) & bytes, masks.odd.from(0));
                let seen = match (letter == bytes, blank == bytes, odd == 1) {
                    (true, false, false) => Kind::Letter,
                    (false, false, false) => Kind::Mark,
                    // The table does not have blanks.
                    _ => Kind::Odd,
                };
                assert_eq!(seen, plain.kind(text.as_bytes()).0, "{c:?}");
            }
        }
    }
}
