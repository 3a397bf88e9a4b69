//! Signs of disguise: the tricks that `hardened` sees through, counted and located.
//!
//! ```text
//! text ──scan──▶ suspect places ──word──▶ what in the word is a trick ──▶ Signs
//! ```
//!
//! What ordinary texts have too is not counted:
//!
//! | trick | ordinary |
//! |---|---|
//! | invisible characters | thin blanks, unless one is between small letters of a word of which the others are not; soft hyphens, unless they set single letters apart; joiners in scripts that need them, and after `f` (`Auflage` without a ligature); whatever is not between two letters |
//! | letters of another script | words wholly in one script; words of two letters (`kΩ`); Latin `i` and `j` in Cyrillic words (old spelling), Greek `β θ χ` in Latin words (phonetics); each part of a compound by itself (`IT-отдел`); fewer than three full-width, mathematical, circled, small or superscript letters; flags; turned letters of phonetics |
//! | combining marks | accents that have a letter of their own; marks of stress, tone and length, and other marks of a language, on vowels; one of them on a consonant; a letter without an accent in the word; all marks of other scripts |
//! | letter-spacing | fewer than four letters; capitals; one letter repeated |
//! | digits | digits before a capital (`H2O`), or at the ends of a word (`1st`, `2-го`); `1` in Cyrillic words; a single digit in a word, as scanners misread letters, in up to 6 % of the words |
//! | hyphens | compounds, and words broken at the ends of lines, in up to 12 % of the words |
//! | markup | tags after words, and references to letters outside of ASCII, in up to 12 % of the words |
//! | spelling | whatever is not each letter twice, or a frequent word with its inner letters in another order; anagrams of frequent words, unless they are more than those |
//!
//! A text is called disguised if the share of its words with a trick is greater than in any ordinary text, see
//! [`Signs::is_disguised`].

mod characters;
mod markup;
mod scan;
mod spelling;
#[cfg(test)]
mod tests;
mod word;

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use markup::{MarkedWord, marked_words};
use scan::{Suspect, scan};
use spelling::misspelled_words;
use word::{SuspectWord, read, start_of_word};

use self::characters::CharacterClass;
use crate::gem::Place;

/// How many examples of each trick are kept.
const EXAMPLES: usize = 3;
/// The fewest letters of a letter-spaced word.
const SPACED: u64 = 4;
/// A text with fewer disguised words is not called disguised.
const FEWEST: u64 = 5;
/// A word has at most so many thin blanks; otherwise they are between words.
const THIN: u64 = 2;
/// With so many different words that have a digit inside, they are no codes.
const CODES: usize = 100;
/// Fewer words with what is ordinary up to a point are ordinary in the shortest text.
const FEWEST_BEYOND: u64 = 20;

/// A way to disguise a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trick {
    /// Invisible characters.
    Invisible,
    /// Letters of another script, and symbols used as letters.
    LookAlikes,
    /// Combining marks.
    Marks,
    /// Blanks between letters.
    LetterSpaced,
    /// Digits for letters.
    Digits,
    /// Hyphens.
    Hyphens,
    /// Tags and character references inside words.
    Markup,
    /// Each letter twice, or the inner letters in another order.
    Misspelled,
}

impl Trick {
    /// All tricks.
    pub const ALL: [Self; 8] = [
        Self::Invisible,
        Self::LookAlikes,
        Self::Marks,
        Self::LetterSpaced,
        Self::Digits,
        Self::Hyphens,
        Self::Markup,
        Self::Misspelled,
    ];

    /// The largest share of words with this trick in a text that is not called disguised.
    #[must_use]
    pub fn tolerated(self) -> f64 {
        match self {
            Self::Invisible => 0.005,
            // Digits are also in names such as `base64url`, and old German books space the letters of emphasised words.
            Self::Digits | Self::LetterSpaced | Self::Markup | Self::Misspelled => 0.01,
            Self::LookAlikes | Self::Marks | Self::Hyphens => 0.02,
        }
    }

    /// The largest share of words in which it is ordinary, where a single one is not yet a trick.
    fn ordinary(self) -> f64 {
        match self {
            Self::Digits => 0.06,
            Self::Hyphens | Self::Markup => 0.12,
            _ => 0.0,
        }
    }
}

/// The signs of disguise of a text.
///
/// ```
/// use lapidary_gems::{Signs, Trick};
///
/// let signs = Signs::of(&"The trеasurе lay in a bоx. ".repeat(20));
/// assert!(signs.is_disguised());
/// assert_eq!(signs.count(Trick::LookAlikes), 60);
/// let plain = Signs::of(&"The treasure lay in a well-known box by the old harbour wall. ".repeat(20));
/// assert!(!plain.is_disguised() && plain.share() == 0.0);
/// ```
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Signs {
    words: u64,
    affected: u64,
    found: [TrickUses; Trick::ALL.len()],
    /// What is ordinary up to a point.
    ordinary: [TrickUses; Trick::ALL.len()],
    /// Runs of words with thin blanks between them.
    thinly_spaced: u64,
    /// The different words with a digit, up to [`CODES`].
    codes: HashSet<String>,
}

/// The uses of a trick.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct TrickUses {
    count: u64,
    words: u64,
    examples: Vec<Place>,
}

impl TrickUses {
    fn add(&mut self, count: u64, place: Place) {
        self.count += count;
        self.words += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(place);
        }
    }

    fn add_all(&mut self, other: &mut Self) {
        self.count += std::mem::take(&mut other.count);
        self.words += std::mem::take(&mut other.words);
        self.examples.append(&mut other.examples);
        self.examples.sort_unstable_by_key(|place| place.start);
        self.examples.truncate(EXAMPLES);
    }
}

impl Signs {
    /// Looks for signs of disguise, in time proportional to the length of the text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut signs = Self::default();
        // Up to where words, and single letters, have been looked at.
        let (mut read_to, mut spaced_to, mut merged) = (0, 0, 0);
        let words = scan(text, |at, suspect| match suspect {
            Suspect::Word if at >= read_to => {
                let start = start_of_word(text, read_to, at);
                let word = read(text, start);
                merged += word.runs.saturating_sub(1);
                signs.add(&word, start, &text[start..word.end]);
                read_to = word.end.max(at + 1);
                read_to = (read_to..=text.len())
                    .find(|at| text.is_char_boundary(*at))
                    .unwrap_or(text.len());
            }
            Suspect::Letters if at >= spaced_to.max(read_to) => {
                let spaced = spaced(text, spaced_to.max(read_to), at);
                // The last letter may be the first of another run.
                spaced_to = if spaced.is_trick {
                    spaced.end
                } else {
                    spaced.last
                };
                if spaced.is_trick {
                    merged += spaced.letters - 1;
                }
                if spaced.is_trick && !is_speaker(text, spaced.start) {
                    let place = place(spaced.start, spaced.end);
                    signs.use_of(Trick::LetterSpaced, 1, place, true);
                }
            }
            _ => {}
        });
        marked_words(text, |MarkedWord { place, is_trick }| {
            signs.use_of(Trick::Markup, 1, place, is_trick);
        });
        misspelled_words(text, |place| {
            signs.use_of(Trick::Misspelled, 1, place, true);
        });
        signs.words = words.saturating_sub(merged);
        signs.finish();
        signs
    }

    fn add(&mut self, word: &SuspectWord, start: usize, written: &str) {
        let place = place(start, word.end);
        let is_thin = (1..=THIN).contains(&word.thin);
        self.thinly_spaced += u64::from(word.thin > THIN);
        if word.digits == 1 && self.codes.len() < CODES {
            self.codes.insert(written.to_owned());
        }
        let tricks = [
            (Trick::Invisible, word.invisible, true),
            (Trick::Invisible, if is_thin { word.thin } else { 0 }, false),
            (Trick::LookAlikes, word.look_alikes, true),
            (Trick::Marks, word.marks, true),
            (Trick::Digits, word.digits, word.digits > 1),
            (Trick::Hyphens, word.hyphens, word.is_spelled),
        ];
        let before = self.affected;
        for (trick, count, counts) in tricks.into_iter().filter(|(_, count, _)| *count > 0) {
            self.use_of(trick, count, place, counts);
        }
        self.affected = self.affected.min(before + 1);
    }

    /// Takes a word with a trick, or with what is ordinary up to a point.
    fn use_of(&mut self, trick: Trick, count: u64, place: Place, is_trick: bool) {
        let found = if is_trick {
            &mut self.found
        } else {
            &mut self.ordinary
        };
        found[trick as usize].add(count, place);
        self.affected += u64::from(is_trick);
    }

    /// Counts what is beyond the ordinary.
    fn finish(&mut self) {
        for trick in Trick::ALL {
            let share = self.ordinary(trick);
            let ordinary = &mut self.ordinary[trick as usize];
            let is_usual = match trick {
                // Thin blanks are between the words.
                Trick::Invisible => 10 * self.thinly_spaced > ordinary.words,
                // The same few over and over, as in knitting patterns.
                Trick::Digits => {
                    self.codes.len() < CODES && 10 * self.codes.len() as u64 <= ordinary.words
                }
                _ => false,
            };
            if !is_usual && share > trick.ordinary() && ordinary.words >= FEWEST_BEYOND {
                self.affected += ordinary.words;
                self.found[trick as usize].add_all(ordinary);
            }
        }
    }

    /// How many characters are part of the trick; for [`Trick::LetterSpaced`], [`Trick::Markup`] and [`Trick::Misspelled`], how
    /// many words.
    #[must_use]
    pub fn count(&self, trick: Trick) -> u64 {
        self.found[trick as usize].count
    }

    /// The share of words with this trick.
    #[must_use]
    pub fn share_of(&self, trick: Trick) -> f64 {
        self.part(self.found[trick as usize].words)
    }

    /// The share of words with any trick.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.part(self.affected)
    }

    /// The share of words with what is ordinary up to a point, and not counted.
    #[must_use]
    pub fn ordinary(&self, trick: Trick) -> f64 {
        self.part(self.ordinary[trick as usize].words)
    }

    /// The first few words with each trick.
    pub fn examples(&self) -> impl Iterator<Item = (Trick, Place)> {
        Trick::ALL.into_iter().flat_map(|trick| {
            let places = self.found[trick as usize].examples.iter();
            places.map(move |place| (trick, *place))
        })
    }

    /// Whether anything was counted.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.affected > 0
    }

    /// Whether some trick is in more words than in any ordinary text: in five at least, and in more than the share that
    /// is [tolerated](Trick::tolerated).
    #[must_use]
    pub fn is_disguised(&self) -> bool {
        Trick::ALL.into_iter().any(|trick| {
            self.found[trick as usize].words >= FEWEST && self.share_of(trick) > trick.tolerated()
        })
    }

    fn part(&self, words: u64) -> f64 {
        (words as f64 / self.words.max(1) as f64).min(1.0)
    }
}

fn place(start: usize, end: usize) -> Place {
    Place {
        start: start as u64,
        end: end as u64,
    }
}

/// Whether a letter-spaced word is the name of who speaks in a play: it has a capital, and only letter-spaced words are before it
/// in its line.
fn is_speaker(text: &str, start: usize) -> bool {
    let line = text[..start].rsplit('\n').next().unwrap_or_default();
    let letters = line.chars().map(char::is_alphabetic);
    let has_word = letters.clone().zip(letters.skip(1)).any(|(a, b)| a && b);
    text[start..].starts_with(char::is_uppercase) && !has_word
}

/// Single letters with the same character between them.
struct Spaced {
    start: usize,
    /// The start of the last letter, and its end.
    last: usize,
    end: usize,
    letters: u64,
    is_trick: bool,
}

/// Reads the single letters around `at`, which follows one of them; not before `from`.
fn spaced(text: &str, from: usize, at: usize) -> Spaced {
    let separator = text[at..].chars().next();
    let start = start_of_spaced(&text[from..at], separator).map_or(at, |start| from + start);
    let mut spaced = Spaced {
        start,
        last: at,
        end: at,
        letters: 0,
        is_trick: false,
    };
    let (mut first, mut differ, mut is_small) = (None, false, false);
    let mut behind = text[start..].char_indices().peekable();
    while let Some((letter, c)) = behind.next_if(is_spaced_letter)
        && behind.peek().is_none_or(|next| !is_spaced_letter(next))
    {
        spaced.letters += 1;
        spaced.last = start + letter;
        spaced.end = spaced.last + c.len_utf8();
        differ |= *first.get_or_insert(c) != c;
        is_small |= c.is_lowercase();
        if behind.next_if(|(_, c)| Some(*c) == separator).is_none() {
            break;
        }
    }
    spaced.is_trick = spaced.letters >= SPACED
        && differ
        && is_small
        && separator.is_some_and(|c| CharacterClass::of(c) != CharacterClass::Line);
    spaced
}

/// Where the single letters start that a text ends with.
fn start_of_spaced(text: &str, separator: Option<char>) -> Option<usize> {
    let mut start = None;
    let mut before = text.char_indices().rev().peekable();
    while let Some((letter, _)) = before.next_if(is_spaced_letter)
        && before.peek().is_none_or(|next| !is_spaced_letter(next))
    {
        start = Some(letter);
        if before.next_if(|(_, c)| Some(*c) == separator).is_none() {
            break;
        }
    }
    start
}

fn is_spaced_letter((_, c): &(usize, char)) -> bool {
    CharacterClass::of(*c).is_plain_letter()
}
