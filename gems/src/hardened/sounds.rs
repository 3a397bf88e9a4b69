//! Consonants, as classes that transliteration does not change.

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
/// The letters that stand for the sounds in a fold, by their numbers. The first stands for a vowel.
const LETTERS: &str = " PVKTSLMNR";

/// A sound of a text, or a character that is a word by itself, with the place of its letter.
///
/// ```text
/// bits 0..21                      21..24                24..64
///      the number of a sound,     the length of its     its position
///      or the character           letter in bytes       in the text
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol(u64);

const LENGTH: u32 = 21;
const START: u32 = 24;

impl Symbol {
    #[inline]
    fn new(code: u32, start: usize, length: usize) -> Self {
        Self((start as u64) << START | (length as u64) << LENGTH | u64::from(code))
    }

    /// The number of a sound, 0 for a vowel, or the character.
    #[inline]
    pub(super) fn code(self) -> u32 {
        self.0 as u32 & ((1 << LENGTH) - 1)
    }

    #[inline]
    pub(super) fn start(self) -> u64 {
        self.0 >> START
    }

    #[inline]
    pub(super) fn end(self) -> u64 {
        self.start() + (self.0 >> LENGTH & 7)
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
    LETTERS.find(shown).map_or(u32::from(shown), |number| number as u32)
}

/// The room for sounds that are not yet passed on.
pub(super) const ROOM: usize = 2_048;
/// The number of sounds passed on that decide what the next ones are.
const BEFORE: usize = 2;

/// The last sounds of a text. Equal ones in a row are one.
pub(super) struct Sounds {
    all: Box<[Symbol; ROOM]>,
    count: usize,
    ready: Vec<Symbol>,
}

impl Default for Sounds {
    fn default() -> Self {
        Self { all: Box::new([Symbol::default(); ROOM]), count: BEFORE, ready: Vec::with_capacity(ROOM) }
    }
}

#[allow(clippy::needless_bitwise_bool, reason = "what cannot be predicted must not be a branch")]
impl Sounds {
    /// The number of sounds, at most [`ROOM`].
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Takes the sounds of some characters: for each, its place, its sound, or 0 for a vowel, and whether it is a letter.
    /// Consecutive equal sounds become one (`нн`, `shch`), and `h` is part of the consonant before it.
    #[inline]
    pub(super) fn sounds(&mut self, characters: impl Iterator<Item = (usize, usize, u32, bool)>) {
        let mut count = self.count;
        let mut last = self.all[(count - 1) % ROOM].code();
        for (start, length, sound, is_letter) in characters {
            let of_h = if last == 0 { K } else { last };
            let sound = if sound == H { of_h } else { sound };
            // Written in any case, because whether it counts cannot be predicted.
            self.all[count % ROOM] = Symbol::new(sound, start, length);
            count += usize::from(is_letter & (sound != last));
            last = if is_letter { sound } else { last };
        }
        self.count = count;
    }

    /// Takes one sound of the letter at this position.
    fn sound(&mut self, sound: u32, start: usize, length: usize) {
        self.sounds(std::iter::once((start, length, sound, true)));
    }

    /// Takes the sounds of a letter, four bits each, the first in the lowest bits.
    pub(super) fn letter(&mut self, sounds: u32, start: usize, length: usize) {
        self.sound(sounds & 0xf, start, length);
        let mut rest = sounds >> 4;
        while rest != 0 {
            self.sound(rest & 0xf, start, length);
            rest >>= 4;
        }
    }

    /// Takes a character that is a word by itself.
    pub(super) fn sign(&mut self, sign: char, start: usize) {
        // No sound is next to another across a sign.
        for code in [u32::from(sign), 0] {
            self.push(Symbol::new(code, start, sign.len_utf8()));
        }
    }

    fn push(&mut self, symbol: Symbol) {
        self.all[self.count % ROOM] = symbol;
        self.count += 1;
    }

    /// Forgets the sounds of letters at or behind this position.
    pub(super) fn back_to(&mut self, start: usize) {
        self.count = self.first_at(start);
    }

    /// The first sound of a letter at or behind this position.
    fn first_at(&self, start: usize) -> usize {
        let before = self.all[..self.count].iter().rposition(|symbol| symbol.start() < start as u64);
        before.map_or(BEFORE, |before| before + 1).max(BEFORE)
    }

    /// Passes on the sounds of letters before this position, except for the last one.
    pub(super) fn pass_on(&mut self, start: usize, take: &mut impl FnMut(&[Symbol])) {
        let next = self.first_at(start) - 1;
        if next <= BEFORE {
            return;
        }
        self.ready.resize(ROOM, Symbol::default());
        let mut count = 0;
        for (four, ready) in self.all[..=next].windows(4).zip(1..) {
            let &[first, before, symbol, behind] = four else { continue };
            let [first, before, symbol, behind] = [first, before, symbol, behind].map(Symbol::code);
            // `т` before a sibilant is dropped, so `тс` equals `ц`, and then one of two sibilants around it.
            let dropped = (symbol == T) & (behind == S) | (symbol == S) & (before == T) & (first == S);
            self.ready[count % ROOM] = self.all[ready + 1];
            count += usize::from((symbol != 0) & !dropped);
        }
        take(&self.ready[..count]);
        self.all.copy_within(next - BEFORE..self.count, 0);
        self.count -= next - BEFORE;
    }

    /// Passes on the rest.
    pub(super) fn finish(mut self, take: &mut impl FnMut(&[Symbol])) {
        // Behind the last sound there is none.
        self.push(Symbol::default());
        self.pass_on(usize::MAX, take);
    }
}
