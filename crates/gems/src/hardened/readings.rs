//! How characters are read: a table, so that no library update changes a gem.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::sounds::Sound;

/// How a character affects a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ReadingKind {
    /// Ends a word.
    End,
    /// Has a place in a word, and usually a sound.
    Letter,
    /// Stands for a letter, but only between letters.
    Digit,
    /// Is a word by itself: belongs to a script without blanks between words.
    Sign,
    /// Skipped: invisible, or a mark on the preceding letter.
    Ignored,
    /// No effect inside a word, like an apostrophe.
    Joint,
    /// No effect inside a word, even if followed by a line end.
    Hyphen,
    /// A blank within a line.
    Blank,
    /// The end of a line.
    Line,
}

/// How letters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Script {
    /// As Latin letters, or as those that they look like.
    Latin,
    /// As Cyrillic letters, or as those that they look like.
    Cyrillic,
    /// As letters of their own script.
    Own,
    /// As Latin letters that stand on their heads.
    Turned,
}

impl Script {
    const ALL: [Self; 4] = [Self::Latin, Self::Cyrillic, Self::Own, Self::Turned];
}

/// A character's row of the table: its kind, its vote, and its sounds in each script.
///
/// ```text
/// bits 0..4    4..10   16..28, 28..40, 40..52, 52..64
///      kind    vote    up to three sounds, four bits each, for each script
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CharacterReading(u64);

const VOTE: u32 = 4;
const SOUNDS: u32 = 16;
const SOUND_BITS: u32 = 4;
const MOST_SOUNDS: u32 = 3;

/// The votes by their names in the table: the scripts, in their order, and a Latin letter that may also be a turned one.
const VOTES: [&str; 5] = ["L", "C", "O", "T", "U"];

impl CharacterReading {
    #[inline]
    pub(crate) fn kind(self) -> ReadingKind {
        const KINDS: [ReadingKind; 16] = {
            let mut kinds = [ReadingKind::End; 16];
            let mut i = 0;
            while i < ALL_KINDS.len() {
                kinds[ALL_KINDS[i].1 as usize] = ALL_KINDS[i].1;
                i += 1;
            }
            kinds
        };
        KINDS[(self.0 & 0xf) as usize]
    }

    /// The sounds in a script, four bits each, the first in the lowest bits.
    #[inline]
    pub(super) fn sounds(self, script: Script) -> u32 {
        let shift = SOUNDS + SOUND_BITS * MOST_SOUNDS * script as u32;
        (self.0 >> shift) as u32 & ((1 << (SOUND_BITS * MOST_SOUNDS)) - 1)
    }

    /// Its counter in [`Votes`].
    #[inline]
    fn vote(self) -> u32 {
        (self.0 >> VOTE) as u32 & 0x3f
    }

    /// Its row in [`Usual`].
    fn usual_row(self, script: Script) -> u8 {
        let mut votes = Votes::default();
        votes.add(self);
        let is_usual = votes.decide(script) == script;
        match (self.kind(), self.sounds(script)) {
            (ReadingKind::Letter, 0) if is_usual => VOWEL,
            (ReadingKind::Letter, sound) if is_usual && sound < 1 << SOUND_BITS => {
                CONSONANT | sound as u8
            }
            (ReadingKind::Letter | ReadingKind::Digit | ReadingKind::Sign, _) => UNUSUAL,
            _ => SILENT,
        }
    }

    /// The only script that it can be of.
    pub(super) fn script(self) -> Option<Script> {
        match self.vote() / VOTE_BITS {
            0 => None,
            vote => Some(
                Script::ALL
                    .get(vote as usize - 1)
                    .copied()
                    .unwrap_or(Script::Latin),
            ),
        }
    }
}

/// The votes of the letters of a word: a counter for letters without one, and one for each of [`VOTES`].
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Votes(u64);

/// The place in [`VOTES`] of a Latin letter that may also be a turned one.
const UNSURE: u32 = 4;

/// The bits of a counter at this place.
#[inline]
fn counter(place: u32) -> u64 {
    ((1 << VOTE_BITS) - 1) << (VOTE_BITS * place)
}

/// The bits of a counter, which are enough for the letters that are read at a time.
const VOTE_BITS: u32 = 10;

impl Votes {
    #[inline]
    pub(super) fn add(&mut self, reading: CharacterReading) {
        self.0 += 1 << reading.vote();
    }

    /// The script with most votes, and of several the one before.
    #[inline]
    pub(super) fn decide(self, before: Script) -> Script {
        let cast = self.0 >> VOTE_BITS;
        let mut own = counter(before as u32);
        if before == Script::Latin {
            own |= counter(UNSURE);
        }
        let others = !own;
        // Most words have letters of one script only.
        if cast & others == 0 {
            before
        } else {
            self.most(before)
        }
    }

    fn most(self, before: Script) -> Script {
        let mut votes = Script::ALL.map(|script| self.of(script as u32));
        // Letters that may be turned are, if others are or were.
        let unsure = if votes[Script::Turned as usize] > 0 || before == Script::Turned {
            Script::Turned
        } else {
            Script::Latin
        };
        votes[unsure as usize] += self.of(UNSURE);
        let most = votes.into_iter().max().unwrap_or(0);
        if votes[before as usize] == most {
            return before;
        }
        Script::ALL
            .into_iter()
            .find(|script| votes[*script as usize] == most)
            .unwrap_or(before)
    }

    /// The votes at a place of [`VOTES`].
    fn of(self, place: u32) -> u64 {
        self.0 >> (VOTE_BITS * (place + 1)) & counter(0)
    }
}

/// The kinds by their names in the table.
const ALL_KINDS: [(&str, ReadingKind); 8] = [
    ("letter", ReadingKind::Letter),
    ("digit", ReadingKind::Digit),
    ("sign", ReadingKind::Sign),
    ("ignored", ReadingKind::Ignored),
    ("joint", ReadingKind::Joint),
    ("hyphen", ReadingKind::Hyphen),
    ("blank", ReadingKind::Blank),
    ("line", ReadingKind::Line),
];

/// How a text is usually read in words of one script, byte by byte: a row for each pair of a byte and the one before. The
/// row of a character is that of its second byte, or of its only one; its other bytes are [`SILENT`].
pub(super) struct Usual(Box<[u8; ROWS]>);

/// The row of bytes that have no sound.
pub(super) const SILENT: u8 = 0;
/// The row of a vowel.
pub(super) const VOWEL: u8 = 1 << 6;
/// Set for a consonant, with its sound in the lowest bits.
pub(super) const CONSONANT: u8 = 1 << 7;
/// The row of a character that may show that a word is not of the script, or that needs more than one look.
pub(super) const UNUSUAL: u8 = 1 << 5;
/// The bytes that begin characters of two and three bytes, and one for all others.
const LEADS: usize = 64;

/// The rows of all pages.
const ROWS: usize = LEADS << 8;

/// Where the page of rows begins of the bytes after this one.
const PAGE_AFTER: [u16; 256] = {
    let mut page = [0; 256];
    let mut byte = 0xc0;
    while byte < 0xf0 {
        page[byte] = (byte as u16 - 0xbf) << 8;
        byte += 1;
    }
    page
};

impl Usual {
    fn new(script: Script, all: &[CharacterReading]) -> Self {
        Self(Box::new(std::array::from_fn(|i| {
            Self::row_of_byte(script, all, i >> 8, i & 0xff)
        })))
    }

    /// The row of a byte behind one of [`LEADS`].
    fn row_of_byte(script: Script, all: &[CharacterReading], lead: usize, byte: usize) -> u8 {
        match (lead, byte) {
            (0, ..0x80) => all[byte].usual_row(script),
            // Characters of four bytes.
            (0, 0xf0..) => UNUSUAL,
            (1..=0x20, 0x80..0xc0) => all[(lead - 1) << 6 | byte & 0x3f].usual_row(script),
            (0x21..=0x30, 0x80..0xc0) => {
                let first = (lead - 0x21) << 12 | (byte & 0x3f) << 6;
                let mut rows = all[first..first + 64]
                    .iter()
                    .map(|reading| reading.usual_row(script));
                if rows.all(|row| row == SILENT) {
                    SILENT
                } else {
                    UNUSUAL
                }
            }
            _ => SILENT,
        }
    }

    /// The rows of bytes that begin with a character.
    pub(super) fn rows(&self, bytes: &[u8], rows: &mut [u8]) {
        let (some, rest) = bytes.as_chunks::<AT_ONCE>();
        let (rows, rows_of_rest) = rows.as_chunks_mut::<AT_ONCE>();
        let mut page = 0;
        for (bytes, rows) in some.iter().zip(rows) {
            if u128::from_ne_bytes(*bytes) & NOT_ASCII == 0 {
                // Of characters of one byte.
                for (byte, row) in bytes.iter().zip(rows) {
                    *row = self.0[usize::from(*byte)];
                }
            } else {
                page = self.rows_after(page, bytes, rows);
            }
        }
        self.rows_after(page, rest, rows_of_rest);
    }

    /// Writes the rows of bytes after one of this page; returns the page of the last byte.
    #[inline]
    fn rows_after(&self, mut page: u16, bytes: &[u8], rows: &mut [u8]) -> u16 {
        for (byte, row) in bytes.iter().zip(rows) {
            *row = self.0[usize::from(page | u16::from(*byte)) % ROWS];
            page = PAGE_AFTER[usize::from(*byte)];
        }
        page
    }
}

/// How many bytes are looked at together, and the bits of those that are not ASCII.
const AT_ONCE: usize = 16;
const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; AT_ONCE]);

/// The table, in pages of 256 characters. Most pages are identical and stored once.
pub(crate) struct Readings {
    /// For each script.
    usual: [Usual; Script::ALL.len()],
    page: Vec<u16>,
    pages: Vec<[CharacterReading; PAGE]>,
}

const PAGE: usize = 256;

impl Readings {
    pub(crate) fn get() -> &'static Self {
        static READINGS: LazyLock<Readings> = LazyLock::new(Readings::read);
        &READINGS
    }

    #[inline]
    pub(crate) fn of(&self, c: char) -> CharacterReading {
        let code = c as usize;
        self.pages[usize::from(self.page[code / PAGE])][code % PAGE]
    }

    #[inline]
    pub(super) fn usual(&self, script: Script) -> &Usual {
        &self.usual[script as usize]
    }

    fn read() -> Self {
        let mut all = vec![CharacterReading(0); char::MAX as usize + 1];
        for line in include_str!("../../data/readings.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            if let Some((range, reading)) = row(line) {
                all[*range.start() as usize..=*range.end() as usize].fill(reading);
            }
        }
        let (mut page, mut pages) = (Vec::new(), Vec::<[CharacterReading; PAGE]>::new());
        for some in all.as_chunks().0 {
            let same = pages
                .iter()
                .position(|page| page == some)
                .unwrap_or_else(|| {
                    pages.push(*some);
                    pages.len() - 1
                });
            page.push(same as u16);
        }
        Self {
            usual: Script::ALL.map(|script| Usual::new(script, &all)),
            page,
            pages,
        }
    }
}

/// Parses a row of the table, such as `0440 letter p r`.
fn row(line: &str) -> Option<(RangeInclusive<u32>, CharacterReading)> {
    let mut columns = line.split('\t');
    let range = columns.next()?;
    let (first, last) = range.split_once("..").unwrap_or((range, range));
    let range = u32::from_str_radix(first, 16).ok()?..=u32::from_str_radix(last, 16).ok()?;
    let (name, vote) = columns
        .next()
        .map(|kind| kind.split_once('/').unwrap_or((kind, "")))?;
    let kind = ALL_KINDS.iter().find(|(of, _)| *of == name)?.1;
    let mut reading = kind as u64;
    let mut sounds = 0;
    for script in 0..Script::ALL.len() as u32 {
        // A column that is left out is the one before it.
        if let Some(letters) = columns.next() {
            let letters = letters
                .bytes()
                .flat_map(Sound::of_letter)
                .take(MOST_SOUNDS as usize);
            sounds = letters
                .enumerate()
                .map(|(i, sound)| (sound as u64) << (SOUND_BITS * i as u32))
                .sum();
        }
        reading |= sounds << (SOUNDS + SOUND_BITS * MOST_SOUNDS * script);
    }
    let vote = VOTES
        .iter()
        .position(|of| *of == vote)
        .map_or(0, |place| place as u64 + 1);
    reading |= (vote * u64::from(VOTE_BITS)) << VOTE;
    Some((range, CharacterReading(reading)))
}
