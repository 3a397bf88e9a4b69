//! Steps 9 to 13 for the remaining letters, without branching on any of them: no processor can predict whether a
//! letter has a digit and whether it is the last of its word.

use super::bits::{BLOCK, Bits, SPAN};
use super::plain::{END, PACKED, PlainEntry};

/// How many digits of a word are kept.
const KEPT: u32 = 4;
/// Replaces the rest of a longer word.
const CUT: u8 = b'8';

/// The digits of a stretch, in order.
pub(super) struct Squeezed {
    digits: Box<[u8; ROOM]>,
    /// For each digit, the position of its letter's last byte in the stretch.
    places: Box<[u16; ROOM]>,
    state: SqueezeState,
}

/// Room for the maximum number of digits, because no letter maps to more than [`PACKED`], and for one that is written
/// after the last without being counted.
const ROOM: usize = (SPAN * PACKED + 1).next_power_of_two();

/// Passed and returned by value, so that it stays in registers: each letter depends on the state after the previous one.
#[derive(Clone, Copy)]
struct SqueezeState {
    /// The number of digits.
    count: usize,
    /// The last result that was not empty.
    last: u8,
    /// The number of characters in the word, as far as it matters.
    length: u32,
    /// The combined flags of the letters.
    flags: u32,
}

impl SqueezeState {
    const START: Self = Self {
        count: 0,
        last: END,
        length: 0,
        flags: 0,
    };
}

impl Squeezed {
    pub(super) fn new() -> Self {
        let room = "as many as it takes";
        Self {
            digits: vec![0; ROOM].try_into().expect(room),
            places: vec![0; ROOM].try_into().expect(room),
            state: SqueezeState::START,
        }
    }

    pub(super) fn clear(&mut self) {
        self.state = SqueezeState::START;
    }

    /// Takes the letters of a block by their last bytes, and the blanks after words.
    #[inline]
    pub(super) fn letters(&mut self, block: usize, last: u64, entry: impl Fn(usize) -> PlainEntry) {
        let mut state = self.state;
        for at in Bits(last) {
            let mut entry = entry(at);
            loop {
                state = self.one(state, entry, (block * BLOCK + at) as u16);
                match entry.behind_first() {
                    Some(rest) => entry = rest,
                    None => break,
                }
            }
        }
        self.state = state;
    }

    /// Takes the first character of a letter's result, if any.
    #[inline]
    fn one(&mut self, state: SqueezeState, entry: PlainEntry, place: u16) -> SqueezeState {
        let SqueezeState {
            count,
            last,
            length,
            flags,
        } = state;
        let code = entry.code();
        let new = entry.digit() & u32::from(code != last);
        self.digits[count % ROOM] = if length == KEPT { CUT } else { code };
        self.places[count % ROOM] = place;
        SqueezeState {
            count: count + (new & u32::from(length <= KEPT)) as usize,
            last: if entry.is_nothing() { last } else { code },
            // A mark inside a word counts as one of the kept characters, but does not cause squeezing or cutting.
            length: (length + (new | entry.mark() & u32::from(length < KEPT))) & entry.unless_end(),
            flags: flags | entry.flags(),
        }
    }

    /// Whether one of the letters makes the text a transliterated one.
    pub(super) fn is_transliterated(&self) -> bool {
        PlainEntry::any_is_transliterated(self.state.flags)
    }

    /// The digits, and for each the position of its letter's last byte in the stretch.
    pub(super) fn digits(&self) -> (&[u8], &[u16]) {
        let count = self.state.count;
        (&self.digits[..count], &self.places[..count])
    }
}
