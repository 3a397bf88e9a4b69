//! Steps 9 to 13 of the letters that are left, without a branch on any of them: whether a letter has a digit, and
//! whether it is the last of its word, no processor can foresee.

use super::masks::{BLOCK, Bits, SPAN};
use super::plain::{END, Entry, PACKED};

/// How many digits of a word stay.
const KEPT: u32 = 4;
/// Stands for the rest of a longer one.
const CUT: u8 = b'8';

/// What the letters of a stretch become, in order: ASCII digits, other characters, and [`END`] behind each word.
pub(super) struct Items {
    codes: Box<[u8; ROOM]>,
    /// The last byte of the letter in the stretch.
    places: Box<[u16; ROOM]>,
    length: usize,
}

/// Room for every byte of a stretch, and as much behind it as is written at a time.
const ROOM: usize = SPAN * PACKED + BLOCK;

impl Items {
    pub(super) fn new() -> Self {
        Self { codes: Box::new([0; ROOM]), places: Box::new([0; ROOM]), length: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Takes characters of a block by their last bytes and returns what any of them is.
    #[inline]
    pub(super) fn letters(&mut self, block: usize, last: u64, entry: impl Fn(usize) -> Entry) -> u32 {
        let mut any = 0;
        let mut length = self.length;
        for at in Bits(last) {
            let entry = entry(at);
            any |= entry.flags();
            if let Some(codes) = self.codes[length..].first_chunk_mut() {
                *codes = entry.packed();
            }
            if let Some(places) = self.places[length..].first_chunk_mut() {
                *places = [(block * BLOCK + at) as u16; PACKED + 1];
            }
            length += entry.count();
        }
        self.length = length;
        any
    }

    /// Steps 11 to 13: runs of one digit squeezed, long words cut. The digits that are left, and the last byte of the
    /// letter of each in the stretch.
    pub(super) fn digits(&mut self) -> (&[u8], &[u16]) {
        let (mut last, mut length, mut digits) = (END, 0, 0);
        for i in 0..self.length {
            let (code, place) = (self.codes[i], self.places[i]);
            let new = code.is_ascii_digit() & (code != last);
            let mark = !code.is_ascii_digit() & (length < KEPT);
            self.codes[digits] = if length == KEPT { CUT } else { code };
            self.places[digits] = place;
            digits += usize::from(new & (length <= KEPT));
            length += u32::from(new | mark);
            // No branch: words end where nobody foresees it.
            length &= u32::from(code == END).wrapping_sub(1);
            last = code;
        }
        (&self.codes[..digits], &self.places[..digits])
    }
}
