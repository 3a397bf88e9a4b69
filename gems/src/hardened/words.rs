//! Splits a text into words, each represented by its first consonants.

use super::readings::{Kind, Reading, Readings};
use super::sounds::{Sounds, letters};
use crate::gem::Place;

/// A word long enough to be significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// Its first sounds, or the character that is a word by itself.
    pub(super) code: u32,
    /// From its first letter to its last.
    pub(super) place: Place,
}

impl Word {
    /// The word in readable form: its sounds, or the character.
    pub(super) fn shown(self) -> String {
        match char::from_u32(self.code ^ SIGN) {
            Some(sign) => sign.to_string(),
            None => letters(self.code).collect(),
        }
    }
}

/// Set in the code of a character that is a word by itself.
const SIGN: u32 = 1 << 31;
/// The maximum number of consecutive digits that can stand for letters.
const MOST_DIGITS: usize = 3;

/// Passes on the words of a text in order.
pub(super) fn words(text: &str, take: impl FnMut(Word)) {
    let readings = Readings::get();
    // The first words, too, may consist of letters that could be of either script.
    let cyrillic = text.chars().map(|c| readings.of(c).vote()).find(|vote| *vote != 0).is_some_and(|vote| vote > 0);
    Words { readings, text, word: Unfinished::default(), cyrillic, take }.read();
}

/// A pass over a text.
struct Words<'a, F> {
    readings: &'static Readings,
    text: &'a str,
    word: Unfinished,
    /// Whether the last word of known script was Cyrillic, or at the start, whether the next one will be. It decides
    /// words whose letters could be of either script.
    cyrillic: bool,
    take: F,
}

/// The word being read.
#[derive(Default)]
struct Unfinished {
    /// Its sounds if its letters are Latin, and if they are Cyrillic.
    sounds: [Sounds; 2],
    /// The number of letters that can only be Cyrillic, minus those that can only be Latin.
    votes: i32,
    start: usize,
    end: usize,
    /// How far it has been read.
    begun: Begun,
    gap: Gap,
    /// Digits that count as letters if a letter follows.
    digits: Digits,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Begun {
    #[default]
    Not,
    /// Started, with isolated letters only.
    Spaced,
    /// Started, with adjacent letters.
    Closed,
}

/// What lies between the last letter and the next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Gap {
    #[default]
    Nothing,
    Joint,
    Hyphen,
    /// A hyphen and blanks or line ends.
    HyphenAndBlank,
    /// One blank or mark after an isolated letter: the word may be letter-spaced.
    AfterOneLetter,
}

#[derive(Default)]
struct Digits {
    readings: [Option<Reading>; MOST_DIGITS],
    count: usize,
}

impl<F: FnMut(Word)> Words<'_, F> {
    fn read(mut self) {
        let mut characters = self.text.char_indices();
        while let Some((mut at, mut c)) = characters.next() {
            let mut reading = self.readings.of(c);
            if reading.is_letter() {
                self.first_letter(reading, at, at + c.len_utf8());
                // The letters adjacent to it.
                let (first, mut sounds, mut votes) = (at + c.len_utf8(), self.word.sounds, self.word.votes);
                loop {
                    let Some(next) = characters.next() else {
                        at = self.text.len();
                        break;
                    };
                    (at, c) = next;
                    reading = self.readings.of(c);
                    if !reading.is_letter() {
                        break;
                    }
                    for (sounds, letter) in sounds.iter_mut().zip(reading.sounds()) {
                        sounds.letter(letter);
                    }
                    votes += reading.vote();
                }
                (self.word.sounds, self.word.votes, self.word.end) = (sounds, votes, at);
                if at > first {
                    self.word.begun = Begun::Closed;
                }
                if at == self.text.len() {
                    break;
                }
            }
            self.between(at, c, reading);
        }
        self.end();
    }

    /// Takes a letter that does not directly follow another.
    #[inline]
    fn first_letter(&mut self, reading: Reading, start: usize, end: usize) {
        if self.word.gap == Gap::AfterOneLetter && !self.stands_alone(end) {
            self.end();
        }
        if self.word.begun == Begun::Not {
            self.word.start = start;
        }
        self.word.letter(reading);
    }

    /// Takes a character that is not a letter.
    #[inline]
    fn between(&mut self, at: usize, c: char, reading: Reading) {
        let word = &mut self.word;
        match reading.kind() {
            Kind::Letter | Kind::Ignored => {}
            Kind::Digit => {
                if word.begun == Begun::Not || word.gap != Gap::Nothing || !word.digits.push(reading) {
                    self.end();
                }
            }
            Kind::Sign => {
                self.end();
                let place = Place { start: at as u64, end: (at + c.len_utf8()) as u64 };
                (self.take)(Word { code: SIGN | u32::from(c), place });
            }
            kind => match (word.gap, kind) {
                (Gap::Nothing, Kind::Joint) if word.digits.count == 0 => word.gap = Gap::Joint,
                (Gap::Nothing, Kind::Hyphen) if word.digits.count == 0 => word.gap = Gap::Hyphen,
                (Gap::Hyphen | Gap::HyphenAndBlank, Kind::Blank | Kind::Line) => word.gap = Gap::HyphenAndBlank,
                (Gap::Nothing, Kind::Blank | Kind::End) if word.begun == Begun::Spaced && word.digits.count == 0 => {
                    word.gap = Gap::AfterOneLetter;
                }
                _ => self.end(),
            },
        }
    }

    /// Whether the letter before this position is not followed by more of the word.
    #[cold]
    fn stands_alone(&self, behind: usize) -> bool {
        let mut kinds = self.text[behind..].chars().map(|c| self.readings.of(c).kind());
        let next = kinds.find(|kind| *kind != Kind::Ignored).unwrap_or(Kind::End);
        matches!(next, Kind::End | Kind::Blank | Kind::Line | Kind::Sign)
    }

    #[inline]
    fn end(&mut self) {
        if self.word.begun == Begun::Not {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if word.votes != 0 {
            self.cyrillic = word.votes > 0;
        }
        if let Some(code) = word.sounds[usize::from(self.cyrillic)].code() {
            (self.take)(Word { code, place: Place { start: word.start as u64, end: word.end as u64 } });
        }
    }
}

impl Unfinished {
    #[inline]
    fn letter(&mut self, reading: Reading) {
        if self.digits.count > 0 {
            let digits = std::mem::take(&mut self.digits);
            digits.readings.into_iter().flatten().for_each(|digit| self.sound(digit));
        }
        self.sound(reading);
        self.votes += reading.vote();
        // After a digit or an invisible character, it is adjacent to the letter before.
        let together = self.begun != Begun::Not && self.gap == Gap::Nothing;
        self.begun = if together || self.begun == Begun::Closed { Begun::Closed } else { Begun::Spaced };
        self.gap = Gap::Nothing;
    }

    #[inline]
    fn sound(&mut self, reading: Reading) {
        for (sounds, letter) in self.sounds.iter_mut().zip(reading.sounds()) {
            sounds.letter(letter);
        }
    }
}

impl Digits {
    /// Keeps a digit; `false` if there are too many.
    fn push(&mut self, reading: Reading) -> bool {
        let Some(place) = self.readings.get_mut(self.count) else { return false };
        *place = Some(reading);
        self.count += 1;
        true
    }
}
