//! Whether a query has many wrong letters, or letters in another order.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use super::constants::mix;
use crate::sample::sample_of;
use crate::signatures::{CLOSED_LANGUAGES, closed_language_of, closed_words_of};

/// The bytes of each part of a sample: 8 KiB together.
const PART: usize = 512;
/// The fewest letters of a frequent word. Shorter ones become others by one letter.
const SHORTEST: usize = 4;
/// The fewest words that look like a frequent one with a wrong letter.
const FEW: u32 = 5;
/// The largest share of such words, in percent of these and the frequent ones: of those that occur once, and of all. Half of 152
/// books have less than 10 and 17, and copies with one wrong consonant in 14 have more than 25 and 29.
const ONCE: u32 = 18;
const ALL: u32 = 28;

/// The fewest frequent words with their inner letters in another order, their least share, in percent of these and of the long ones
/// that are as they should be, and the fewest letters of these: of shorter ones, half stay as they are.
const FEW_SCRAMBLED: u32 = 3;
const SCRAMBLED: u32 = 33;
const LONG: usize = 5;

/// The fewest letters of words on average, in tenths. Words with blanks inside are shorter.
const LETTERS: usize = 35;

/// The least share of frequent words of a language, in percent of the words with as many letters. Texts in 65 languages that are
/// in no list have up to 2.7 of the one that they look most like, and books in these with wrong letters 3.4 or more.
const OF_LANGUAGE: usize = 3;

/// Combining marks.
const MARKS: RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// The frequent words of a language, the same without one of their letters, and with their inner letters in another order.
struct FrequentWords {
    words: HashSet<&'static str>,
    without_one: HashSet<u64>,
    sorted: HashSet<String>,
}

impl FrequentWords {
    /// Those of the language that most of these words are of, if any is of one.
    fn of_most(words: &[String]) -> Option<&'static Self> {
        static OF_LANGUAGES: [OnceLock<FrequentWords>; CLOSED_LANGUAGES] =
            [const { OnceLock::new() }; CLOSED_LANGUAGES];
        let language = closed_language_of(words.iter().map(String::as_str))?;
        Some(OF_LANGUAGES[language].get_or_init(|| Self::new(closed_words_of(language))))
    }

    fn new(words: impl Iterator<Item = &'static str>) -> Self {
        let words: HashSet<&str> = words.filter(|word| !is_short(word)).collect();
        Self {
            without_one: words.iter().flat_map(|word| without_one(word)).collect(),
            sorted: words
                .iter()
                .map(|word| with_inner_letters_sorted(word))
                .collect(),
            words,
        }
    }

    /// Whether a word looks like a frequent one with another letter in the place of one.
    fn has_one_like(&self, word: &str) -> bool {
        without_one(word).any(|hash| self.without_one.contains(&hash))
    }
}

fn is_short(word: &str) -> bool {
    !has_letters(word, SHORTEST)
}

fn has_letters(word: &str, count: usize) -> bool {
    word.chars().nth(count - 1).is_some()
}

/// A word without each of its letters, hashed. Short words have none.
fn without_one(word: &str) -> impl Iterator<Item = u64> {
    let places = if is_short(word) {
        0
    } else {
        word.chars().count()
    };
    (0..places).map(|left_out| {
        let others = word
            .chars()
            .enumerate()
            .filter(move |(at, _)| *at != left_out);
        others.fold(left_out as u64, |hash, (_, letter)| {
            mix(hash ^ u64::from(letter))
        })
    })
}

/// What is wrong with the words of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misspelling {
    /// Letters are others, or are missing.
    WrongLetters,
    /// The letters between the first and the last are in another order.
    ScrambledLetters,
}

/// What is wrong with so many of the frequent words of a sample that these are no other words. Queries by hardened recipes have many
/// more [probes](crate::Recipe::probes) then.
#[must_use]
pub fn misspelling(text: &str) -> Option<Misspelling> {
    let words: Vec<String> = sample_of(text, PART).flat_map(whole_words).collect();
    let frequent = FrequentWords::of_most(&words)?;
    if are_scrambled(&words, frequent) {
        Some(Misspelling::ScrambledLetters)
    } else {
        let is_misspelled = !is_disguised(text, &words) && are_misspelled(&words, frequent);
        is_misspelled.then_some(Misspelling::WrongLetters)
    }
}

fn are_misspelled(words: &[String], frequent: &FrequentWords) -> bool {
    let mut right = 0;
    let mut wrong: HashMap<&str, u32> = HashMap::new();
    for word in words {
        if frequent.words.contains(&**word) {
            right += 1;
        } else if frequent.has_one_like(word) {
            *wrong.entry(word).or_default() += 1;
        }
    }
    if !are_of_language(right, words) {
        return false;
    }
    let once = wrong.values().filter(|count| **count == 1).count() as u32;
    let all = wrong.values().sum();
    is_more(once, right, ONCE) || is_more(all, right, ALL)
}

fn are_scrambled(words: &[String], frequent: &FrequentWords) -> bool {
    let (mut right, mut right_and_long, mut scrambled) = (0, 0, 0);
    for word in words.iter().filter(|word| !is_short(word)) {
        if frequent.words.contains(&**word) {
            right += 1;
            right_and_long += u32::from(has_letters(word, LONG));
        } else if frequent.sorted.contains(&with_inner_letters_sorted(word)) {
            scrambled += 1;
        }
    }
    scrambled >= FEW_SCRAMBLED
        && is_share(scrambled, right_and_long, SCRAMBLED)
        && are_of_language(right + scrambled, words)
}

/// Whether words with so many frequent ones of a language are of it.
fn are_of_language(frequent: u32, words: &[String]) -> bool {
    let all = words.iter().filter(|word| !is_short(word)).count();
    100 * frequent as usize >= OF_LANGUAGE * all
}

/// A word with the letters between the first and the last in the order of their numbers: the same for all words that differ only
/// in the order of these.
#[must_use]
pub fn with_inner_letters_sorted(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    if let [_, inner @ .., _] = letters.as_mut_slice() {
        inner.sort_unstable();
    }
    letters.into_iter().collect()
}

/// Whether letters are disguised, or words broken: their sounds are right, and only look wrong here.
fn is_disguised(text: &str, words: &[String]) -> bool {
    let letters: usize = words.iter().map(|word| word.chars().count()).sum();
    let is_mixed =
        |word: &&String| word.contains(|c: char| c.is_ascii()) && word.contains(|c| c >= '\u{370}');
    let marks = sample_of(text, PART)
        .flat_map(str::chars)
        .filter(|c| MARKS.contains(c));
    10 * letters < LETTERS * words.len()
        || words.iter().filter(is_mixed).count() >= FEW as usize
        || marks.count() >= FEW as usize
}

fn is_more(wrong: u32, right: u32, percent: u32) -> bool {
    wrong >= FEW && is_share(wrong, right, percent)
}

fn is_share(wrong: u32, right: u32, percent: u32) -> bool {
    100 * wrong > percent * (right + wrong)
}

/// The words of a part of a text in small letters, without the first and the last, which may be cut.
fn whole_words(part: &str) -> Vec<String> {
    let mut words: Vec<&str> = part.split(|c: char| !c.is_alphabetic()).collect();
    words.pop();
    let whole = words.into_iter().skip(1).filter(|word| !word.is_empty());
    whole.map(str::to_lowercase).collect()
}
