//! Reads a text as a sequence of sounds, without the blanks between words.
//!
//! Each word is read in the script of most of its letters. Nearly every word is of the same script as the one before, so
//! letters are taken as if it were, until one shows that it is not. Then its word is read again, from the beginning.

use super::readings::{Kind, Reading, Readings, Script, UNUSUAL, Usual, Votes};
use super::sounds::{ROOM, Sounds, Symbol};

/// The maximum number of consecutive digits that can stand for letters.
const MOST_DIGITS: usize = 3;
/// The longest word, in bytes; a longer one is read as several.
const LONGEST_WORD: usize = 256;
/// How many bytes of ASCII are read at a time.
const AT_ONCE: usize = 16;

/// Passes on the symbols of a text in order, many at a time.
pub(super) fn symbols(text: &str, mut take: impl FnMut(&[Symbol])) {
    let readings = Readings::get();
    // The first words, too, may consist of letters that could be of any script.
    let script = text.chars().find_map(|c| readings.of(c).script()).unwrap_or(Script::Latin);
    let mut reader = Reader { readings, text, script, sounds: Sounds::default(), at: 0, settled: 0 };
    while reader.at < text.len() {
        reader.make_room(&mut take);
        if !(reader.take_ascii() || reader.take_short()) {
            reader.take_some();
        }
    }
    reader.sounds.finish(&mut take);
}

/// A pass over a text.
struct Reader<'a> {
    readings: &'static Readings,
    text: &'a str,
    /// The script of the last word of known script. It decides words whose letters could be of several.
    script: Script,
    sounds: Sounds,
    at: usize,
    /// What is before this position is not read again.
    settled: usize,
}

impl Reader<'_> {
    /// Passes on the sounds of settled words before there are too many.
    #[inline]
    fn make_room(&mut self, take: &mut impl FnMut(&[Symbol])) {
        if self.sounds.count() < ROOM / 2 && self.at - self.settled < ROOM {
            return;
        }
        let word = self.word_before(self.at);
        // A word of several is read at once, so that it does not become longer.
        if word == self.settled && word < self.at {
            self.read_again(word);
        }
        self.settled = self.settled.max(word);
        self.sounds.pass_on(self.settled, take);
    }

    /// Takes the next characters if they are of ASCII and usual in this script.
    #[inline]
    fn take_ascii(&mut self) -> bool {
        let Some(some) = self.text.as_bytes()[self.at..].first_chunk::<AT_ONCE>() else { return false };
        let usual = self.readings.usual(self.script);
        let rows = some.map(|byte| usual.of_ascii(byte));
        if !some.is_ascii() || rows.iter().fold(0, |all, row| all | row) & UNUSUAL != 0 {
            return false;
        }
        let at = self.at;
        self.sounds.sounds(rows.into_iter().enumerate().map(|(i, row)| Usual::read(row, at + i, 1)));
        self.at += AT_ONCE;
        true
    }

    /// Takes the next characters if they have one or two bytes and are usual in this script.
    #[inline]
    fn take_short(&mut self) -> bool {
        let Some(some) = self.text.as_bytes()[self.at..].first_chunk::<{ 2 * AT_ONCE + 1 }>() else { return false };
        let usual = self.readings.usual(self.script);
        let (mut at, mut all) = (0, 0);
        // Without branches, because the ends of words cannot be predicted.
        let rows: [(u8, usize); AT_ONCE] = std::array::from_fn(|_| {
            let (first, second) = (some[at % some.len()], some[(at + 1) % some.len()]);
            let row = if first < 0x80 { usual.of_ascii(first) } else { usual.of_two(first, second) };
            all |= if first < 0xe0 { row } else { UNUSUAL };
            let start = at;
            at += 1 + usize::from(first >= 0x80);
            (row, start)
        });
        if all & UNUSUAL != 0 {
            return false;
        }
        let from = self.at;
        let lengths = rows.iter().skip(1).map(|(_, start)| *start).chain([at]);
        let characters = rows.iter().zip(lengths);
        self.sounds.sounds(characters.map(|((row, start), end)| Usual::read(*row, from + start, end - start)));
        self.at += at;
        true
    }

    /// Takes the next characters one by one, up to one that is not usual.
    fn take_some(&mut self) {
        let bytes = self.text.as_bytes();
        let end = bytes.len().min(self.at + AT_ONCE);
        while self.at < end {
            let usual = self.readings.usual(self.script);
            let (row, length) = match bytes[self.at..] {
                [ascii @ ..0x80, ..] => (usual.of_ascii(ascii), 1),
                [first @ ..0xe0, second, ..] => (usual.of_two(first, second), 2),
                _ => (UNUSUAL, 0),
            };
            if row & UNUSUAL != 0 {
                return self.take_unusual();
            }
            self.sounds.sounds(std::iter::once(Usual::read(row, self.at, length)));
            self.at += length;
        }
    }

    /// Takes a character that may show what script its word is of, or that is none of a word.
    #[cold]
    fn take_unusual(&mut self) {
        let (reading, length) = self.character(self.at);
        match reading.kind() {
            Kind::Letter => self.read_again(self.word_before(self.at)),
            Kind::Digit => {
                let word = self.word_before(self.at);
                if word < self.at {
                    self.read_again(word);
                } else {
                    self.at += length;
                }
            }
            Kind::Sign => {
                self.text[self.at..].chars().take(1).for_each(|sign| self.sounds.sign(sign, self.at));
                self.at += length;
                self.settled = self.at;
            }
            _ => self.at += length,
        }
    }

    /// The first letter of the word that this position is in or behind; the position itself if there is none.
    fn word_before(&self, at: usize) -> usize {
        let (mut word, mut blank) = (at, false);
        for (i, c) in self.text[self.settled..at].char_indices().rev() {
            match self.readings.of(c).kind() {
                Kind::Letter if !blank => word = self.settled + i,
                Kind::Ignored | Kind::Joint if !blank => {}
                // A word may be hyphenated at the end of a line.
                Kind::Hyphen => blank = false,
                Kind::Blank | Kind::Line => blank = true,
                _ => break,
            }
        }
        word
    }

    /// Reads the word at this position in the script of most of its letters.
    fn read_again(&mut self, word: usize) {
        self.sounds.back_to(word);
        let votes = self.read_word(word);
        let script = votes.decide(self.script);
        if script != self.script {
            self.sounds.back_to(word);
            self.script = script;
            self.read_word(word);
        }
        self.settled = self.at;
    }

    fn read_word(&mut self, word: usize) -> Votes {
        let mut votes = Votes::default();
        self.at = word;
        let end = self.text.len().min(word + LONGEST_WORD);
        let mut hyphenated = false;
        while self.at < end {
            let (reading, length) = self.character(self.at);
            let before = std::mem::take(&mut hyphenated);
            match reading.kind() {
                Kind::Letter => {
                    votes.add(reading);
                    self.sounds.letter(reading.sounds(self.script), self.at, length);
                    self.at += length;
                }
                Kind::Ignored | Kind::Joint => self.at += length,
                Kind::Hyphen => (self.at, hyphenated) = (self.at + length, true),
                Kind::Blank | Kind::Line if before => (self.at, hyphenated) = (self.at + length, true),
                Kind::Digit => {
                    if !self.read_digits() {
                        break;
                    }
                }
                _ => break,
            }
        }
        votes
    }

    /// Reads digits between letters, which stand for letters; `false` if they do not.
    fn read_digits(&mut self) -> bool {
        let (mut behind, mut count) = (self.at, 0);
        while behind < self.text.len() {
            let (reading, length) = self.character(behind);
            match reading.kind() {
                Kind::Digit if count < MOST_DIGITS => (behind, count) = (behind + length, count + 1),
                Kind::Letter => {
                    while self.at < behind {
                        let (reading, length) = self.character(self.at);
                        self.sounds.letter(reading.sounds(self.script), self.at, length);
                        self.at += length;
                    }
                    return true;
                }
                _ => return false,
            }
        }
        false
    }

    /// The reading of the character at this position, and its length in bytes.
    fn character(&self, at: usize) -> (Reading, usize) {
        let c = self.text[at..].chars().next().unwrap_or_default();
        (self.readings.of(c), c.len_utf8())
    }
}
