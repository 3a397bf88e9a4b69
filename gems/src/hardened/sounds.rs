//! The consonants of a word, as classes that transliteration does not change.

/// A class of consonants. Vowels have none, so different transliterations of `ю`, `ы` or `ё` make no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Sound {
    /// б п, b p
    P = 1,
    /// в ф, v f w
    V,
    /// г к х, g k q, h after a vowel
    K,
    /// д т, d t
    T,
    /// с з ц ж ш щ ч, s z c: all sibilants, alone or combined, as in `shch`
    S,
    /// л l
    L,
    /// м m
    M,
    /// н n
    N,
    /// р r
    R,
    /// `h`, until the preceding sound is known
    H,
}

impl Sound {
    /// The sounds of a letter in the table of readings.
    pub(super) fn of_letter(letter: u8) -> impl Iterator<Item = Self> {
        let (first, second) = match letter {
            b'b' | b'p' => (Some(Self::P), None),
            b'v' | b'f' | b'w' => (Some(Self::V), None),
            b'g' | b'k' | b'q' => (Some(Self::K), None),
            b'd' | b't' => (Some(Self::T), None),
            b's' | b'z' | b'c' => (Some(Self::S), None),
            b'l' => (Some(Self::L), None),
            b'm' => (Some(Self::M), None),
            b'n' => (Some(Self::N), None),
            b'r' => (Some(Self::R), None),
            b'h' => (Some(Self::H), None),
            b'x' => (Some(Self::K), Some(Self::S)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}

const K: u32 = Sound::K as u32;
const T: u32 = Sound::T as u32;
const S: u32 = Sound::S as u32;
const H: u32 = Sound::H as u32;

/// The sounds of a word so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sounds {
    /// Four bits per sound, the last in the lowest bits.
    code: u32,
    /// The sound immediately before the next letter; 0 after a vowel.
    last: u32,
    /// The sound before that.
    before: u32,
}

/// The minimum number of sounds for a word to be significant, and the maximum considered.
const SHORTEST: u32 = 3;
const LONGEST: u32 = 4;
/// A code of at least this has so many sounds that no later one changes the first [`LONGEST`].
const ENOUGH: u32 = 1 << (4 * (LONGEST + 1));

impl Sounds {
    /// Takes the sounds of the next letter, four bits each, the first in the lowest bits.
    ///
    /// Consecutive equal sounds become one (`нн`, `shch`); `т` before `с` is dropped, so `тс` equals `ц`; `h` is part
    /// of the consonant before it.
    #[inline]
    pub(super) fn letter(&mut self, sounds: u32) {
        self.sound(sounds & 0xf);
        let mut rest = sounds >> 4;
        while rest != 0 {
            self.sound(rest & 0xf);
            rest >>= 4;
        }
    }

    /// Takes a sound, or 0 for a vowel.
    #[inline]
    fn sound(&mut self, sound: u32) {
        let part_of_last = if self.last == 0 { K } else { self.last };
        let sound = if sound == H { part_of_last } else { sound };
        if sound == S && self.last == T {
            return self.hiss_behind_t();
        }
        let again = sound == self.last;
        let pushed = !again && sound != 0 && self.code < ENOUGH;
        self.code = if pushed { self.code << 4 | sound } else { self.code };
        let last = if sound == 0 { 0 } else { self.last };
        self.before = if again { self.before } else { last };
        self.last = sound;
    }

    fn hiss_behind_t(&mut self) {
        if self.code >= ENOUGH {
            return;
        }
        self.code >>= 4;
        self.last = S;
        if self.before != S {
            self.code = self.code << 4 | S;
        }
    }

    /// The first sounds of the word, four bits each; `None` if it has too few to be significant.
    #[inline]
    pub(super) fn code(self) -> Option<u32> {
        let count = (u32::BITS - self.code.leading_zeros()).div_ceil(4);
        (count >= SHORTEST).then(|| self.code >> (4 * count.saturating_sub(LONGEST)))
    }
}

/// A code of [`Sounds::code`] in letters.
pub(super) fn letters(code: u32) -> impl Iterator<Item = char> {
    let letter = move |i: u32| b" PVKTSLMNR".get((code >> (4 * i) & 0xf) as usize).copied().map(char::from);
    (0..LONGEST).rev().filter_map(letter).filter(|letter| *letter != ' ')
}
