//! Reads a text as a sequence of sounds, without the blanks between words.
//!
//! Each word is read in the script of most of its letters. Nearly every word is of the same script as the one before, so
//! the text is read as if all were, many bytes at a time, up to the first word with a character that may show that it is
//! not. That word is read character by character.

use memchr::memchr;

use super::readings::{CharacterReading, ReadingKind, Readings, SILENT, Script, UNUSUAL, Votes};
use super::sounds::{MOST, Sounds, Symbol};

/// The maximum number of consecutive digits that can stand for letters.
const MOST_DIGITS: usize = 3;
/// The longest word, in bytes; a longer one is read as several.
const LONGEST_WORD: usize = 256;
/// How many bytes are read at a time after a word of another script, because the next one may be of another, too.
const FEW: usize = 64;

/// Passes on the symbols of a text in order, many at a time.
pub(super) fn symbols(text: &str, mut take: impl FnMut(&[Symbol])) {
    let readings = Readings::get();
    // The first words, too, may consist of letters that could be of any script.
    let script = text
        .chars()
        .find_map(|c| readings.of(c).script())
        .unwrap_or(Script::Latin);
    let mut reader = SymbolReader {
        readings,
        text,
        script,
        sounds: Sounds::default(),
        at: 0,
        some: FEW,
        rows: [SILENT; MOST],
    };
    while reader.at < text.len() {
        reader.read_some();
        reader.sounds.make_room(&mut take);
    }
    reader.sounds.finish(&mut take);
}

/// A pass over a text.
struct SymbolReader<'a> {
    readings: &'static Readings,
    text: &'a str,
    /// The script of the last word of known script. It decides words whose letters could be of several.
    script: Script,
    sounds: Sounds,
    /// The next word, or a position before it.
    at: usize,
    /// How many bytes are read next.
    some: usize,
    /// The rows of the bytes from `at` on.
    rows: [u8; MOST],
}

impl SymbolReader<'_> {
    /// Reads the next words, up to one that is unusual.
    fn read_some(&mut self) {
        let end = self.boundary(self.text.len().min(self.at + self.some));
        let count = end - self.at;
        self.readings
            .usual(self.script)
            .rows(&self.text.as_bytes()[self.at..end], &mut self.rows[..count]);
        let mut from = 0;
        while let Some(found) = memchr(UNUSUAL, &self.rows[from..count]) {
            let unusual = self.boundary(self.at + from + found);
            let word = self.word_before(unusual);
            let (reading, length) = self.character(unusual);
            match reading.kind() {
                ReadingKind::Letter => return self.read_up_to(word, Self::read_word),
                ReadingKind::Digit if word < unusual => {
                    return self.read_up_to(word, Self::read_word);
                }
                ReadingKind::Sign => return self.read_up_to(unusual, Self::read_signs),
                _ => {
                    self.rows[from + found] = SILENT;
                    from = unusual + length - self.at;
                }
            }
        }
        self.some = MOST.min(2 * self.some);
        if end == self.text.len() {
            return self.read_usual(end);
        }
        // The next bytes may show how the last word is to be read.
        match self.word_before(end) {
            word if word == self.at => self.read_word(),
            word => self.read_usual(word),
        }
    }

    /// The start of the character at this position.
    fn boundary(&self, at: usize) -> usize {
        (0..=at)
            .rev()
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or(0)
    }

    fn read_usual(&mut self, end: usize) {
        self.sounds.rows(&self.rows, end - self.at, self.at + 1);
        self.at = end;
    }

    /// Reads the usual words before this position, and then what is there.
    fn read_up_to(&mut self, end: usize, read: impl FnOnce(&mut Self)) {
        self.read_usual(end);
        self.some = FEW;
        read(self);
    }

    /// Reads the next characters, each of which is a word by itself.
    fn read_signs(&mut self) {
        let end = self.text.len().min(self.at + MOST);
        while self.at < end {
            let Some(sign) = self.text[self.at..].chars().next() else {
                return;
            };
            if self.readings.of(sign).kind() != ReadingKind::Sign {
                return;
            }
            self.at += sign.len_utf8();
            self.sounds.sign(sign, self.at);
        }
    }

    /// The first letter of the word that this position is in or behind; the position itself if there is none.
    fn word_before(&self, at: usize) -> usize {
        let (mut word, mut blank) = (at, false);
        for (i, c) in self.text[self.at..at].char_indices().rev() {
            match self.readings.of(c).kind() {
                ReadingKind::Letter if !blank => word = self.at + i,
                ReadingKind::Ignored | ReadingKind::Joint if !blank => {}
                // A word may be hyphenated at the end of a line.
                ReadingKind::Hyphen => blank = false,
                ReadingKind::Blank | ReadingKind::Line => blank = true,
                _ => break,
            }
        }
        word
    }

    /// Reads the word that begins here in the script of most of its letters.
    fn read_word(&mut self) {
        let (end, votes) = self.word();
        self.script = votes.decide(self.script);
        for (i, c) in self.text[self.at..end].char_indices() {
            let reading = self.readings.of(c);
            if matches!(reading.kind(), ReadingKind::Letter | ReadingKind::Digit) {
                self.sounds
                    .letter(reading.sounds(self.script), self.at + i + c.len_utf8());
            }
        }
        self.at = end;
    }

    /// The end of the word that begins here, and the votes of its letters.
    fn word(&self) -> (usize, Votes) {
        let mut votes = Votes::default();
        let (mut at, end) = (self.at, self.text.len().min(self.at + LONGEST_WORD));
        let mut hyphenated = false;
        while at < end {
            let (reading, length) = self.character(at);
            let before = std::mem::take(&mut hyphenated);
            match reading.kind() {
                ReadingKind::Letter => votes.add(reading),
                ReadingKind::Ignored | ReadingKind::Joint => {}
                ReadingKind::Hyphen => hyphenated = true,
                ReadingKind::Blank | ReadingKind::Line if before => hyphenated = true,
                ReadingKind::Digit => match self.digits(at) {
                    Some(behind) => {
                        at = behind;
                        continue;
                    }
                    None => break,
                },
                _ => break,
            }
            at += length;
        }
        (at, votes)
    }

    /// The end of digits between letters, which stand for letters; `None` if they do not.
    fn digits(&self, mut at: usize) -> Option<usize> {
        for _ in 0..=MOST_DIGITS {
            let (reading, length) = self.character(at);
            match reading.kind() {
                ReadingKind::Digit => at += length,
                ReadingKind::Letter => return Some(at),
                _ => return None,
            }
        }
        None
    }

    /// The reading of the character at this position, and its length in bytes.
    fn character(&self, at: usize) -> (CharacterReading, usize) {
        let c = self.text[at..].chars().next().unwrap_or_default();
        (self.readings.of(c), c.len_utf8())
    }
}
