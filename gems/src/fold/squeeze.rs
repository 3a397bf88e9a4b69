//! Steps 9 to 13 of the letters that are left, without a branch on any of them: whether a letter has a digit, and
//! whether it is the last of its word, no processor can foresee.

use super::bits::{BLOCK, Bits, SPAN};
use super::plain::{END, Entry, PACKED};

/// How many digits of a word stay.
const KEPT: u32 = 4;
/// Stands for the rest of a longer one.
const CUT: u8 = b'8';

/// The digits of a stretch, in order.
pub(super) struct Squeezed {
    digits: Box<[u8; ROOM]>,
    /// The last byte of the letter of each in the stretch.
    places: Box<[u16; ROOM]>,
    state: State,
}

/// No letter becomes more digits, and behind the last one more is written than counts.
const ROOM: usize = (SPAN * PACKED + 1).next_power_of_two();

/// Taken and given by value, so that it stays in registers: each letter waits for what the one before it left.
#[derive(Clone, Copy)]
struct State {
    /// How many digits there are.
    count: usize,
    /// What the last letter became that became something.
    last: u8,
    /// How many characters the word has, as far as it matters.
    length: u32,
    /// What any of the letters is.
    flags: u32,
}

impl State {
    const START: Self = Self { count: 0, last: END, length: 0, flags: 0 };
}

impl Squeezed {
    pub(super) fn new() -> Self {
        let room = "as many as it takes";
        Self {
            digits: vec![0; ROOM].try_into().expect(room),
            places: vec![0; ROOM].try_into().expect(room),
            state: State::START,
        }
    }

    pub(super) fn clear(&mut self) {
        self.state = State::START;
    }

    /// Takes letters of a block by their last bytes, and the blanks behind words.
    #[inline]
    pub(super) fn letters(&mut self, block: usize, last: u64, entry: impl Fn(usize) -> Entry) {
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

    /// Takes the first of what a letter becomes, if anything.
    #[inline]
    fn one(&mut self, state: State, entry: Entry, place: u16) -> State {
        let State { count, last, length, flags } = state;
        let code = entry.code();
        let new = entry.digit() & u32::from(code != last);
        self.digits[count % ROOM] = if length == KEPT { CUT } else { code };
        self.places[count % ROOM] = place;
        State {
            count: count + (new & u32::from(length <= KEPT)) as usize,
            last: if entry.is_nothing() { last } else { code },
            // A mark inside a word is one of the characters that are kept, but nothing is squeezed or cut for it.
            length: (length + (new | entry.mark() & u32::from(length < KEPT))) & entry.unless_end(),
            flags: flags | entry.flags(),
        }
    }

    /// Whether one of the letters makes the text one that is transliterated.
    pub(super) fn is_transliterated(&self) -> bool {
        Entry::any_is_transliterated(self.state.flags)
    }

    /// The digits, and the last byte of the letter of each in the stretch.
    pub(super) fn digits(&self) -> (&[u8], &[u16]) {
        let count = self.state.count;
        (&self.digits[..count], &self.places[..count])
    }
}
