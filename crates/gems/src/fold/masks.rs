//! Classifies the bytes of a stretch of text, 64 at a time, into masks with one bit per byte.
//!
//! Vector instructions recognise ASCII and Cyrillic, which is all of most blocks; every other character is looked up
//! in the table. After Langdale and Lemire, "Parsing Gigabytes of JSON per Second" (2019).

use wide::u8x16;

use super::bits::{BLOCK, Bits, Mask, SPAN, bits, in_range, splat, through};
use super::characters::sets_apart;
use super::plain::{Plain, PlainKind};

/// A stretch of text of at most [`SPAN`] bytes.
pub(super) struct Masks {
    /// All bytes of blanks: ASCII, and U+00A0.
    pub(super) blank: Mask,
    /// All bytes of letters.
    pub(super) letter: Mask,
    /// The last byte of each one- or two-byte letter that can map to anything. Most vowels are not included.
    pub(super) last: Mask,
    /// Those of letters that the last byte alone does not identify, see [`Plain::by_last_byte`].
    pub(super) rare: Mask,
    /// As many bytes of each character as the steps count characters: nearly always its first byte.
    pub(super) first: Mask,
    /// The second byte of each letter of which six are a short word. All of these letters have two bytes.
    pub(super) six: Mask,
    /// A byte of each token that needs the steps: it has characters that are not plain, or marks that step 3 acts on.
    pub(super) odd: Mask,
}

/// The bytes of a block as classified by vector instructions.
#[derive(Default)]
struct Block {
    blank: u64,
    /// ASCII letters and digits.
    alphanumeric: u64,
    /// The first bytes of U+0400 to U+047F.
    cyrillic: u64,
    /// Those of them from U+0440 on.
    upper: u64,
    /// Continuation bytes.
    behind: u64,
    /// Those of them from 0x90 on.
    late: u64,
    /// First bytes of all other characters outside ASCII.
    other: u64,
    underscore: u64,
    /// Latin vowels.
    latin_vowel: u64,
    /// Last bytes of most vowels from `А` to `Я` and `а` to `я`, and bytes of other characters.
    cyrillic_vowel: u64,
}

impl Block {
    #[inline]
    fn of(bytes: &[u8; BLOCK]) -> Self {
        let mut block = Self::default();
        for (i, sixteen) in bytes.as_chunks().0.iter().enumerate() {
            block.sixteen(u8x16::new(*sixteen), 16 * i);
        }
        block
    }

    /// Adds the bytes from this one on.
    #[inline]
    fn sixteen(&mut self, b: u8x16, at: usize) {
        let alphanumeric = in_range(b | splat(0x20), b'a', 26) | in_range(b, b'0', 10);
        self.blank |= bits(b.simd_eq(splat(b' ')) | in_range(b, b'\t', 5)) << at;
        self.alphanumeric |= bits(alphanumeric) << at;
        self.underscore |= bits(b.simd_eq(splat(b'_'))) << at;
        self.latin_vowel |= bits(any_of(b | splat(0x20), b"aehiouwy")) << at;
        let high = bits(b);
        if high != 0 {
            let cyrillic = bits((b | splat(1)).simd_eq(splat(0xd1)));
            let behind = bits(in_range(b, 0x80, 0x40));
            self.cyrillic |= cyrillic << at;
            self.upper |= bits(b.simd_eq(splat(0xd1))) << at;
            self.behind |= behind << at;
            self.late |= bits(in_range(b, 0x90, 0x30)) << at;
            self.cyrillic_vowel |= bits(any_of(b & splat(0x1f), CYRILLIC_VOWELS)) << at;
            self.other |= (high & !cyrillic & !behind) << at;
        }
    }
}

/// The last five bits of the last bytes of а, е, и, о; у, ы, э, ю, я, in both cases.
const CYRILLIC_VOWELS: &[u8] = &[0x10, 0x15, 0x18, 0x1e, 0x03, 0x0b, 0x0d, 0x0e, 0x0f];

/// Adds characters by their first bytes in the block that starts here.
#[inline]
fn add_others(
    plain: &Plain,
    text: &[u8],
    start: usize,
    firsts: u64,
    here: &mut BlockMasks,
    next: &mut BlockMasks,
) {
    for place in Bits(firsts) {
        let at = start + place;
        let (kind, length) = plain.kind(&text[at..]);
        // The end of a stretch must not split a blank.
        let kind = match kind {
            PlainKind::Blank if at + 1 >= SPAN => PlainKind::Odd,
            kind => kind,
        };
        let bytes = ((1_u128 << length) - 1) << place;
        let (bytes, beyond) = (bytes as u64, (bytes >> BLOCK) as u64);
        here.add(kind, bytes, bytes & !(1 << place));
        next.add(kind, beyond, beyond);
    }
}

/// Those of some second bytes of whose letters six are a short word.
#[inline]
fn of_six(plain: &Plain, text: &[u8], block: usize, seconds: u64) -> u64 {
    Bits(seconds).fold(0, |six, place| {
        let (kind, _) = plain.kind(&text[block * BLOCK + place - 1..]);
        six | u64::from(kind == PlainKind::OfSix) << place
    })
}

/// Which bytes are one of these.
#[inline]
fn any_of(b: u8x16, bytes: &[u8]) -> u8x16 {
    bytes
        .iter()
        .fold(splat(0), |any, &byte| any | b.simd_eq(splat(byte)))
}

/// The highest bit, as the first of the next block.
#[inline]
fn carried(bits: u64) -> u64 {
    bits >> (BLOCK - 1)
}

/// The bits of a block in [`Masks`], before vowels are left out.
#[derive(Default)]
struct BlockMasks {
    blank: u64,
    letter: u64,
    rare: u64,
    first: u64,
    six: u64,
    odd: u64,
}

impl BlockMasks {
    /// Adds the bytes of a character; `behind` are those after its first.
    #[inline]
    fn add(&mut self, kind: PlainKind, bytes: u64, behind: u64) {
        if matches!(kind, PlainKind::Letter | PlainKind::OfSix) {
            self.letter |= bytes;
            self.rare |= behind;
        }
        match kind {
            PlainKind::Letter | PlainKind::Mark => {}
            PlainKind::OfSix => self.six |= behind,
            PlainKind::Marks => self.first |= bytes,
            PlainKind::Blank => self.blank |= bytes,
            PlainKind::Odd => self.odd |= bytes,
        }
    }
}

/// The bits in the next block of characters that begin in this block.
#[derive(Default)]
struct NextBlock {
    cyrillic: u64,
    upper: u64,
    masks: BlockMasks,
}

impl Masks {
    pub(super) fn new() -> Self {
        Self {
            blank: Mask::new(),
            letter: Mask::new(),
            last: Mask::new(),
            rare: Mask::new(),
            first: Mask::new(),
            six: Mask::new(),
            odd: Mask::new(),
        }
    }

    /// Reads the beginning of `text`, which must start at a character boundary. `joined` is whether step 5 is done;
    /// if not, tokens that it could act on are odd.
    pub(super) fn read(&mut self, plain: &Plain, text: &[u8], joined: bool) {
        let blocks = text.len().min(SPAN).div_ceil(BLOCK);
        let mut next = NextBlock::default();
        for block in 0..blocks {
            let rest = &text[block * BLOCK..];
            let is = if let Some(bytes) = rest.first_chunk() {
                Block::of(bytes)
            } else {
                let mut last = [b' '; BLOCK];
                last[..rest.len()].copy_from_slice(rest);
                Block::of(&last)
            };
            next = self.block(plain, text, block, &is, &next);
        }
        // The text is followed by blanks.
        self.blank.set_block(blocks, u64::MAX);
        self.letter.set_block(blocks, next.masks.letter);
        self.first.set_block(blocks, u64::MAX);
        self.inner_marks(text, blocks, joined);
    }

    #[inline]
    fn block(
        &mut self,
        plain: &Plain,
        text: &[u8],
        block: usize,
        is: &Block,
        before: &NextBlock,
    ) -> NextBlock {
        let cyrillic = is.cyrillic << 1 | before.cyrillic;
        let upper = is.upper << 1 | before.upper;
        // А to Я and а to п are 0xd0 and 0x90 to 0xbf, р to я are 0xd1 and 0x80 to 0x8f.
        let usual = cyrillic & (is.late ^ upper);
        let mut here = BlockMasks {
            blank: is.blank | before.masks.blank,
            letter: is.alphanumeric | is.cyrillic | cyrillic | before.masks.letter,
            rare: cyrillic & !usual | before.masks.rare,
            first: !is.behind | before.masks.first,
            six: before.masks.six,
            odd: is.underscore | before.masks.odd,
        };
        let mut next = NextBlock {
            cyrillic: carried(is.cyrillic),
            upper: carried(is.upper),
            ..NextBlock::default()
        };
        let mut vowel = is.latin_vowel;
        if plain.knows_cyrillic() {
            vowel |= is.cyrillic_vowel & usual;
            here.six |= usual | of_six(plain, text, block, cyrillic & !usual);
        }
        let start = block * BLOCK;
        add_others(plain, text, start, is.other, &mut here, &mut next.masks);
        let last = (is.alphanumeric | usual | here.rare) & !vowel;
        self.set_block(block, &here, last);
        next
    }

    fn set_block(&mut self, block: usize, bits: &BlockMasks, last: u64) {
        self.blank.set_block(block, bits.blank);
        self.letter.set_block(block, bits.letter);
        self.last.set_block(block, last);
        self.rare.set_block(block, bits.rare);
        self.first.set_block(block, bits.first);
        self.six.set_block(block, bits.six);
        self.odd.set_block(block, bits.odd);
    }

    /// Tokens with a mark between letters are also odd if step 3 or 5 may act on it.
    fn inner_marks(&mut self, text: &[u8], blocks: usize, joined: bool) {
        let (mut before, mut open) = (0, false);
        for block in 0..blocks {
            let letter = self.letter.block(block);
            let mark = !letter & !self.blank.block(block);
            let behind_letter = (letter << 1 | before) & mark;
            let before_letter = letter >> 1 | self.letter.block(block + 1) << (BLOCK - 1);
            before = letter >> (BLOCK - 1);
            let mut odd = 0;
            for place in Bits(behind_letter & before_letter) {
                odd |= u64::from(sets_apart(char::from(text[block * BLOCK + place]))) << place;
            }
            if !joined {
                odd |= letter & through(behind_letter, mark, &mut open);
            }
            if odd != 0 {
                self.odd.set_block(block, self.odd.block(block) | odd);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::letters::LetterTables;
    use super::{Masks, Plain, PlainKind};
    use crate::base::Base;

    /// Checks the masks of each ASCII and Cyrillic character. NUL is not in the table, so the steps handle it as a
    /// mark.
    fn each(check: impl Fn(&Plain, &Masks, &str)) {
        for base in [Base::Documented, Base::Released] {
            let plain = LetterTables::of(base).plain();
            let mut masks = Masks::new();
            for c in ('\u{1}'..='\u{7f}').chain('\u{400}'..='\u{47f}') {
                let text = c.to_string();
                masks.read(plain, text.as_bytes(), true);
                check(plain, &masks, &text);
            }
        }
    }

    #[test]
    fn vectors_leave_out_what_becomes_nothing() {
        each(|plain, masks, text| {
            let last = text.len() - 1;
            if masks.letter.has(last) && !masks.last.has(last) {
                assert!(
                    plain.letter(text.as_bytes(), last).is_nothing_at_all(),
                    "{text:?}"
                );
            }
        });
    }

    #[test]
    fn vectors_see_what_the_table_says() {
        each(|plain, masks, text| {
            let bytes = (1 << text.len()) - 1;
            let [letter, blank, six, odd] = [&masks.letter, &masks.blank, &masks.six, &masks.odd]
                .map(|mask| mask.block(0) & bytes);
            let seen = match (letter == bytes, blank == bytes, six == 2, odd == 1) {
                (true, false, false, false) => PlainKind::Letter,
                (true, false, true, false) => PlainKind::OfSix,
                (false, false, false, false) => PlainKind::Mark,
                // The table does not include blanks.
                _ => PlainKind::Odd,
            };
            assert_eq!(seen, plain.kind(text.as_bytes()).0, "{text:?}");
        });
    }
}
