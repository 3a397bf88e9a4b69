//! Consonants, as classes that transliteration does not change.

use wide::u8x16;

use crate::fold::bits::{BLOCK, Bits, through};

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

const K: u8 = Sound::K as u8;
const T: u8 = Sound::T as u8;
const S: u8 = Sound::S as u8;
const H: u8 = Sound::H as u8;
/// The letters that stand for the sounds in a fold, by their numbers. The first stands for a vowel. An `h` that is heard
/// is a `k`.
const LETTERS: &str = " PVKTSLMNRK";

/// A sound of a text, or a character that is a word by itself, with the end of its letter.
///
/// ```text
/// bits 0..21                 21..64
///      the sound,            the end of its letter
///      or the character      in the text
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol(u64);

const END: u32 = 21;

impl Symbol {
    #[inline]
    pub(super) fn new(code: u32, end: usize) -> Self {
        Self((end as u64) << END | u64::from(code))
    }

    /// The number of a sound, less than 16, or the character.
    #[inline]
    pub(super) fn code(self) -> u32 {
        self.0 as u32 & ((1 << END) - 1)
    }

    #[inline]
    pub(super) fn end(self) -> u64 {
        self.0 >> END
    }

    /// How it is written in a fold.
    pub(super) fn shown(self) -> char {
        match LETTERS.as_bytes().get(self.code() as usize) {
            Some(letter) => char::from(*letter),
            None => char::from_u32(self.code()).unwrap_or_default(),
        }
    }
}

/// The code of a symbol by how it is written.
pub(super) fn code_of(shown: char) -> u32 {
    LETTERS
        .find(shown)
        .map_or(u32::from(shown), |number| number as u32)
}

/// What was heard last, as far as it matters to the next sound: a sound, 0 for a vowel or the start of the text, or this.
const T_BEHIND_S: u8 = 10;

/// What a sound does to the sounds before it.
#[derive(Clone, Copy)]
pub(super) struct HeardSound {
    /// What is then the last.
    pub(super) last: u8,
    /// Whether the last sound is dropped.
    pub(super) drops: bool,
    /// Whether this one stays.
    pub(super) stays: bool,
}

/// Consecutive equal sounds become one (`нн`, `shch`). `h` is part of the consonant before it. `т` before a sibilant is
/// dropped, so `тс` equals `ц`, and then one of two sibilants around it.
pub(super) const fn hear(last: u8, sound: u8) -> HeardSound {
    match (last, sound) {
        (_, 0) => HeardSound {
            last: 0,
            drops: false,
            stays: false,
        },
        (0, H) => HeardSound {
            last: K,
            drops: false,
            stays: true,
        },
        (T_BEHIND_S, T) | (_, H..) => HeardSound {
            last,
            drops: false,
            stays: false,
        },
        (S, T) => HeardSound {
            last: T_BEHIND_S,
            drops: false,
            stays: true,
        },
        (T, S) => HeardSound {
            last: S,
            drops: true,
            stays: true,
        },
        (T_BEHIND_S, S) => HeardSound {
            last: S,
            drops: true,
            stays: false,
        },
        _ => HeardSound {
            last: sound,
            drops: false,
            stays: last != sound,
        },
    }
}

/// A number above those of all sounds.
const LASTS: usize = 16;

/// What a consonant does to the sounds, as [`HeardSound`], ready to be added.
#[derive(Clone, Copy)]
struct SoundStep {
    /// What is then the last.
    last: u16,
    /// Where it is written, from the end of the sounds: at the end, or in place of the last one.
    at: i16,
    /// By how many there are more.
    more: i32,
}

/// For each consonant, without a vowel before it and with one, the steps by what was heard last. A step has to wait for the one
/// before it; its row is found meanwhile.
const STEPS: [[SoundStep; LASTS]; 2 * LASTS] = {
    let mut all = [[SoundStep {
        last: 0,
        at: 0,
        more: 0,
    }; LASTS]; 2 * LASTS];
    let mut i = 0;
    while i < 2 * LASTS * LASTS {
        let (own, last) = (i / LASTS, i % LASTS);
        let heard = hear(if own % 2 == 0 { last as u8 } else { 0 }, own as u8 / 2);
        let at = -(heard.drops as i16);
        all[own][last] = SoundStep {
            last: heard.last as u16,
            at,
            more: at as i32 + heard.stays as i32,
        };
        i += 1;
    }
    all
};
/// The consonants and the vowels of a block of rows.
#[inline]
fn masks(block: &[u8; BLOCK]) -> (u64, u64) {
    let (mut consonants, mut vowels) = (0, 0);
    for (i, rows) in block.as_chunks().0.iter().enumerate() {
        let rows = u8x16::new(*rows);
        consonants |= u64::from(rows.to_bitmask()) << (16 * i);
        vowels |= u64::from((rows + rows).to_bitmask()) << (16 * i);
    }
    (consonants, vowels)
}

/// The room for sounds that are not yet passed on: a quarter of it, those of some words, and those of a word or of signs.
const ROOM: usize = 2_048;
/// The number of bytes whose sounds can be taken at a time.
pub(super) const MOST: usize = ROOM / 4;

/// The sounds of a text that were not yet passed on.
pub(super) struct Sounds {
    all: Box<[Symbol; ROOM]>,
    count: usize,
    last: u8,
}

impl Default for Sounds {
    fn default() -> Self {
        Self {
            all: Box::new([Symbol::default(); ROOM]),
            count: 0,
            last: 0,
        }
    }
}

impl Sounds {
    /// Takes this many rows of bytes, the first of which ends at this position.
    pub(super) fn rows(&mut self, rows: &[u8; MOST], bytes: usize, end: usize) {
        let (mut count, mut last) = (self.count as u32, usize::from(self.last));
        let mut vowel = false;
        for (block, from) in rows.as_chunks().0.iter().zip((0..bytes).step_by(BLOCK)) {
            let (consonants, vowels) = masks(block);
            let inside = u64::MAX >> (BLOCK - (bytes - from).min(BLOCK));
            let (consonants, vowels) = (consonants & inside, vowels & inside);
            let behind = through(vowels, !consonants, &mut vowel);
            for i in Bits(consonants) {
                let sound = block[i] & 0xf;
                let own = 2 * usize::from(sound) + (behind >> i & 1) as usize;
                let step = STEPS[own][last % LASTS];
                last = usize::from(step.last);
                // Written in any case, because whether it stays cannot be predicted.
                self.all[count.wrapping_add_signed(step.at.into()) as usize % ROOM] =
                    Symbol::new(sound.into(), end + from + i);
                count = count.wrapping_add_signed(step.more);
            }
        }
        (self.count, self.last) = (count as usize, if vowel { 0 } else { last as u8 });
    }

    /// Takes a sound of the letter that ends at this position.
    fn sound(&mut self, sound: u8, end: usize) {
        let HeardSound { last, drops, stays } = hear(self.last, sound);
        self.last = last;
        self.count -= usize::from(drops);
        self.all[self.count % ROOM] = Symbol::new(u32::from(sound), end);
        self.count += usize::from(stays);
    }

    /// Takes the sounds of a letter, four bits each, the first in the lowest bits.
    pub(super) fn letter(&mut self, sounds: u32, end: usize) {
        self.sound(sounds as u8 & 0xf, end);
        let mut rest = sounds >> 4;
        while rest != 0 {
            self.sound(rest as u8 & 0xf, end);
            rest >>= 4;
        }
    }

    /// Takes a character that is a word by itself.
    pub(super) fn sign(&mut self, sign: char, end: usize) {
        self.all[self.count % ROOM] = Symbol::new(u32::from(sign), end);
        self.count += 1;
        // No sound is next to another across a sign.
        self.last = 0;
    }

    /// Passes on the sounds if there are many. The last one may be dropped later.
    #[inline]
    pub(super) fn make_room(&mut self, take: &mut impl FnMut(&[Symbol])) {
        if self.count > ROOM / 4 {
            take(&self.all[..self.count - 1]);
            self.all[0] = self.all[self.count - 1];
            self.count = 1;
        }
    }

    /// Passes on the rest.
    pub(super) fn finish(self, take: &mut impl FnMut(&[Symbol])) {
        take(&self.all[..self.count]);
    }
}
