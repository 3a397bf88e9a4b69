//! The digits that are not handed on yet.

use super::Sink;
use super::characters::Placed;
use crate::fingerprint::gem::Place;

/// Digits in order. The last of them may still be taken back; behind them is room for those of a whole word, which are
/// written there before it is known how many they are.
pub(super) struct Buffer {
    /// At least `length` and [`ROOM`].
    places: Vec<Placed>,
    length: usize,
}

/// More than a plain word has digits: 56 letters of up to three.
const ROOM: usize = 256;
pub(super) type Room = [Placed; ROOM];

const NONE: Placed = ('0', Place { start: 0, end: 0 });

impl Buffer {
    pub(super) fn new() -> Self {
        Self { places: vec![NONE; ROOM], length: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    pub(super) fn push(&mut self, digit: Placed) {
        self.room()[0] = digit;
        self.length += 1;
    }

    /// Makes the first of what was written to the room digits, or takes digits back.
    #[inline]
    pub(super) fn set_len(&mut self, length: usize) {
        self.length = length;
    }

    /// The room behind the digits.
    #[inline]
    pub(super) fn room(&mut self) -> &mut Room {
        if self.places.len() < self.length + ROOM {
            self.grow();
        }
        self.places[self.length..].first_chunk_mut().expect("as much was just made")
    }

    #[cold]
    fn grow(&mut self) {
        self.places.resize(2 * self.places.len() + ROOM, NONE);
    }

    /// Hands on the first `count` digits.
    pub(super) fn hand_on(&mut self, count: usize, sink: &mut impl Sink) {
        sink.digits(&self.places[..count]);
        self.places.copy_within(count..self.length, 0);
        self.length -= count;
    }
}
