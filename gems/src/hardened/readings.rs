//! The classification of characters: a table, so that no library update changes a gem.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::sounds::Sound;

/// How a character affects a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
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

/// A character's row of the table: its kind, its sounds as a Latin and as a Cyrillic letter, and whether it can be
/// only one of the two.
///
/// ```text
/// bits 0..4    5..7             8..20                       20..32
///      kind    Latin, Cyrillic  up to three sounds (Latin)  up to three sounds (Cyrillic)
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading(u32);

/// A letter that can only be Latin; only Cyrillic.
const LATIN: u32 = 1 << 5;
const CYRILLIC: u32 = 1 << 6;
const SOUNDS: [u32; 2] = [8, 20];
const SOUND_BITS: u32 = 4;
const MOST_SOUNDS: usize = 3;

impl Reading {
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        const KINDS: [Kind; 16] = {
            let mut kinds = [Kind::End; 16];
            let mut i = 0;
            while i < ALL_KINDS.len() {
                kinds[ALL_KINDS[i].1 as usize] = ALL_KINDS[i].1;
                i += 1;
            }
            kinds
        };
        KINDS[self.0 as usize & 0xf]
    }

    /// Whether its kind is [`Kind::Letter`].
    #[inline]
    pub(super) fn is_letter(self) -> bool {
        self.0 & 0xf == Kind::Letter as u32
    }

    /// The sounds in a Latin word and in a Cyrillic word, four bits each, the first in the lowest bits.
    #[inline]
    pub(super) fn sounds(self) -> [u32; 2] {
        SOUNDS.map(|shift| self.0 >> shift & ((1 << (SOUND_BITS * MOST_SOUNDS as u32)) - 1))
    }

    /// 1 for a letter that can only be Cyrillic, -1 for one that can only be Latin.
    #[inline]
    pub(super) fn vote(self) -> i32 {
        i32::from(self.0 & CYRILLIC != 0) - i32::from(self.0 & LATIN != 0)
    }
}

/// The kinds by their names in the table.
const ALL_KINDS: [(&str, Kind); 8] = [
    ("letter", Kind::Letter),
    ("digit", Kind::Digit),
    ("sign", Kind::Sign),
    ("ignored", Kind::Ignored),
    ("joint", Kind::Joint),
    ("hyphen", Kind::Hyphen),
    ("blank", Kind::Blank),
    ("line", Kind::Line),
];

/// The table, in pages of 256 characters. Most pages are identical and stored once.
pub(crate) struct Readings {
    ascii: [Reading; 128],
    page: Vec<u16>,
    pages: Vec<[Reading; PAGE]>,
}

const PAGE: usize = 256;

impl Readings {
    pub(crate) fn get() -> &'static Self {
        static READINGS: LazyLock<Readings> = LazyLock::new(Readings::read);
        &READINGS
    }

    #[inline]
    pub(crate) fn of(&self, c: char) -> Reading {
        let code = c as usize;
        if let Some(reading) = self.ascii.get(code) {
            return *reading;
        }
        self.pages[usize::from(self.page[code / PAGE])][code % PAGE]
    }

    fn read() -> Self {
        let mut all = vec![Reading(0); char::MAX as usize + 1];
        for line in include_str!("../../data/readings.txt").lines().filter(|line| !line.starts_with('#')) {
            if let Some((range, reading)) = row(line) {
                all[*range.start() as usize..=*range.end() as usize].fill(reading);
            }
        }
        let (mut page, mut pages) = (Vec::new(), Vec::<[Reading; PAGE]>::new());
        for some in all.as_chunks().0 {
            let same = pages.iter().position(|page| page == some).unwrap_or_else(|| {
                pages.push(*some);
                pages.len() - 1
            });
            page.push(same as u16);
        }
        let ascii = std::array::from_fn(|code| all[code]);
        Self { ascii, page, pages }
    }
}

/// Parses a row of the table, such as `0440 letter p r`.
fn row(line: &str) -> Option<(RangeInclusive<u32>, Reading)> {
    let mut columns = line.split('\t');
    let range = columns.next()?;
    let (first, last) = range.split_once("..").unwrap_or((range, range));
    let range = u32::from_str_radix(first, 16).ok()?..=u32::from_str_radix(last, 16).ok()?;
    let name = columns.next()?;
    let kind = ALL_KINDS.iter().find(|(of, _)| *of == name)?.1;
    let mut reading = kind as u32;
    for (shift, sounds) in SOUNDS.into_iter().zip(columns.by_ref()) {
        let sounds = sounds.bytes().flat_map(Sound::of_letter).take(MOST_SOUNDS);
        reading |= sounds.enumerate().map(|(i, sound)| (sound as u32) << (shift + SOUND_BITS * i as u32)).sum::<u32>();
    }
    reading |= match columns.next() {
        Some("L") => LATIN,
        Some("C") => CYRILLIC,
        _ => 0,
    };
    Some((range, Reading(reading)))
}
