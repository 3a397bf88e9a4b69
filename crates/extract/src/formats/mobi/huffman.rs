//! HUFF/CDIC: codes of up to 32 bits, each for a dictionary word, which may itself be compressed.

use super::{ExtractError, Palm, damaged, long, short};

/// The maximum nesting of dictionary words: many times that of real books.
const DEEPEST: usize = 32;

/// The tables of a book.
pub(super) struct Huffman<'a> {
    /// Indexed by the first 8 bits: the length of the code, whether it ends there, and the largest code of that length.
    short_codes: Vec<u32>,
    /// Indexed by code length: the smallest and the largest code, in the top bits of 32.
    ranges: [(u32, u32); 33],
    /// Each word, and whether it is uncompressed.
    words: Vec<(&'a [u8], bool)>,
}

impl<'a> Huffman<'a> {
    /// Reads the tables: `count` records starting at `first`.
    pub(super) fn read(palm: &Palm<'a>, first: usize, count: usize) -> Result<Self, ExtractError> {
        let head = palm.record(first)?;
        if !head.starts_with(b"HUFF") {
            return Err(damaged("its code table is missing"));
        }
        let (short_table, range_table) = (long(head, 8)? as usize, long(head, 12)? as usize);
        let table = |start: usize, i: usize| long(head, start.saturating_add(4 * i));
        let short_codes = (0..256)
            .map(|i| table(short_table, i))
            .collect::<Result<Vec<u32>, _>>()?;
        let mut ranges = [(0, 0); 33];
        for (length, range) in (1_u32..).zip(&mut ranges[1..]) {
            let i = 2 * (length as usize - 1);
            let smallest = u64::from(table(range_table, i)?) << (32 - length);
            let behind = table(range_table, i + 1)?.wrapping_add(1);
            let largest = (u64::from(behind) << (32 - length)).wrapping_sub(1);
            *range = (smallest as u32, largest as u32);
        }
        let mut words = Vec::new();
        for number in 1..count {
            Self::read_words(palm.record(first.saturating_add(number))?, &mut words)?;
        }
        Ok(Self {
            short_codes,
            ranges,
            words,
        })
    }

    fn read_words(record: &'a [u8], words: &mut Vec<(&'a [u8], bool)>) -> Result<(), ExtractError> {
        if !record.starts_with(b"CDIC") {
            return Err(damaged("its dictionary is missing"));
        }
        let (all, bits) = (long(record, 8)? as usize, long(record, 12)?);
        let here = 1_usize
            .checked_shl(bits)
            .unwrap_or(usize::MAX)
            .min(all.saturating_sub(words.len()));
        for i in 0..here {
            let at = 16 + usize::from(short(record, 16_usize.saturating_add(2 * i))?);
            let length = short(record, at)?;
            let size = usize::from(length & 0x7FFF);
            let word = record
                .get(at + 2..at + 2 + size)
                .ok_or_else(super::cut_off)?;
            words.push((word, length & 0x8000 != 0));
        }
        Ok(())
    }

    /// Decompresses a record. Stops soon after `room` bytes in total.
    pub(super) fn unpack(
        &self,
        packed: &[u8],
        text: &mut Vec<u8>,
        room: u64,
    ) -> Result<(), ExtractError> {
        self.unpack_at(packed, text, room, 0)
    }

    fn unpack_at(
        &self,
        packed: &[u8],
        text: &mut Vec<u8>,
        room: u64,
        depth: usize,
    ) -> Result<(), ExtractError> {
        if depth > DEEPEST {
            return Err(damaged("its dictionary is recursive"));
        }
        let bits = packed.len() * 8;
        let mut at = 0;
        while at < bits && text.len() as u64 <= room {
            let code = window(packed, at);
            let entry = self.short_codes[(code >> 24) as usize];
            let mut length = entry & 0x1F;
            if length == 0 {
                return Err(damaged("a code has no length"));
            }
            let largest = if entry & 0x80 == 0 {
                while length < 32 && code < self.ranges[length as usize].0 {
                    length += 1;
                }
                self.ranges[length as usize].1
            } else {
                let up = u64::from((entry >> 8).wrapping_add(1)) << (32 - length);
                up.wrapping_sub(1) as u32
            };
            at += length as usize;
            if at > bits {
                break;
            }
            let index = (largest.wrapping_sub(code) >> (32 - length)) as usize;
            let Some(&(word, plain)) = self.words.get(index) else {
                return Err(damaged("a code is not in the dictionary"));
            };
            if plain {
                text.extend_from_slice(word);
            } else {
                self.unpack_at(word, text, room, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// The 32 bits starting at bit `at`; 0 beyond the end.
fn window(packed: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 8];
    let rest = &packed[at / 8..];
    let length = rest.len().min(8);
    bytes[..length].copy_from_slice(&rest[..length]);
    (u64::from_be_bytes(bytes) << (at % 8) >> 32) as u32
}
