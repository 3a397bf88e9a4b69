//! Whether a query has many wrong letters, or letters in another order.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use super::constants::mix;
use super::readings::{Readings, Script};
use crate::sample::sample_of;
use crate::signatures::{CLOSED_LANGUAGES, closed_language_of, closed_words_of};

/// The bytes of each part of a sample: 8 KiB together.
const PART: usize = 512;
/// The fewest letters of a frequent word. Shorter ones become others by one letter.
const SHORTEST: usize = 4;
/// The largest share of words that look like a frequent one with a wrong consonant, in percent of these and the frequent ones. With
/// [`NEIGHBOURS`] of half of the books, of pages of 2,000 characters of the other half 5 % have more, and 93 % of their copies with one
/// wrong consonant in 14; of the books themselves, 2 and 98 %.
const WRONG: u32 = 6;
/// The same share in a language without a list of neighbours.
const WRONG_OR_NEIGHBOURS: u32 = 20;
/// The common words of each language that look so without being wrong, such as “life” beside “like”: those that are in a third of its
/// books in a corpus, and in two at least.
const NEIGHBOURS: &str = include_str!("../../data/neighbours.tsv");

/// The fewest frequent words with their inner letters in another order, their least share, in percent of these and of the long ones
/// that are as they should be, and the fewest letters of these: of shorter ones, half stay as they are.
const FEW_SCRAMBLED: u32 = 3;
const SCRAMBLED: u32 = 33;
const LONG: usize = 5;

/// The fewest letters of words on average, in tenths. Words with blanks inside are shorter.
const LETTERS: usize = 35;

/// The least share of frequent words of a language, in thousandths of the words with as many letters. Texts in languages that are in
/// no list have up to 30 of the one that they look most like. Of 152 books with wrong letters, all but one have 45 or more.
const OF_LANGUAGE: usize = 32;

/// The fewest words of mixed scripts, or combining marks, of a text in disguise.
const DISGUISED: usize = 5;
/// Combining marks.
const MARKS: RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// The frequent words of a language.
struct FrequentWords {
    words: HashSet<&'static str>,
    /// The sounds of the consonant that they have beside these other letters.
    consonants: HashMap<u64, SoundSet>,
    /// Their letters in any order, but for the first and the last.
    unordered: HashSet<u64>,
    neighbours: HashSet<&'static str>,
}

/// A bit for each sound.
type SoundSet = u16;

impl FrequentWords {
    /// Those of the language that most of these words are of, if any is of one.
    fn of_most(words: &[String]) -> Option<&'static Self> {
        static OF_LANGUAGES: [OnceLock<FrequentWords>; CLOSED_LANGUAGES] =
            [const { OnceLock::new() }; CLOSED_LANGUAGES];
        let language = closed_language_of(words.iter().map(String::as_str))?;
        Some(OF_LANGUAGES[language].get_or_init(|| Self::new(language)))
    }

    fn new(language: usize) -> Self {
        let (name, words) = closed_words_of(language);
        let words: HashSet<&str> = words.filter(|word| !is_short(word)).collect();
        let mut consonants: HashMap<u64, SoundSet> = HashMap::new();
        for (others, sound) in words.iter().flat_map(|word| consonants_of(word)) {
            *consonants.entry(others).or_default() |= sound;
        }
        let neighbours = NEIGHBOURS.lines().filter_map(|line| line.split_once('\t'));
        Self {
            consonants,
            unordered: words.iter().map(|word| unordered(word)).collect(),
            words,
            neighbours: neighbours
                .filter(|(of, _)| *of == name)
                .flat_map(|(_, words)| words.split(' '))
                .collect(),
        }
    }

    /// Whether a word is a frequent one but for one consonant, which has another sound. Other letters make no difference to gems.
    fn has_one_beside(&self, word: &str) -> bool {
        consonants_of(word).any(|(others, sound)| {
            let sounds = self.consonants.get(&others);
            sounds.is_some_and(|sounds| sounds & !sound != 0)
        })
    }

    /// The largest share of words that look like frequent ones, in percent.
    fn most_wrong(&self) -> u32 {
        if self.neighbours.is_empty() {
            WRONG_OR_NEIGHBOURS
        } else {
            WRONG
        }
    }
}

fn is_short(word: &str) -> bool {
    !has_letters(word, SHORTEST)
}

fn has_letters(word: &str, count: usize) -> bool {
    word.chars().nth(count - 1).is_some()
}

/// The consonants of a word: a hash of the other letters in their places, and the sound. Short words have none.
fn consonants_of(word: &str) -> impl Iterator<Item = (u64, SoundSet)> {
    let word = if is_short(word) { "" } else { word };
    let all = placed(word).fold(0, |sum: u64, letter| sum.wrapping_add(hash(letter)));
    placed(word).filter_map(move |letter| Some((all.wrapping_sub(hash(letter)), sound(letter.1)?)))
}

/// The letters of a word, with their places.
fn placed(word: &str) -> impl Iterator<Item = (u64, char)> {
    (0..).zip(word.chars())
}

fn hash((at, letter): (u64, char)) -> u64 {
    mix(at << 32 | u64::from(letter))
}

/// The sound of a consonant.
fn sound(letter: char) -> Option<SoundSet> {
    let reading = Readings::get().of(letter);
    let sounds = reading.sounds(reading.script().unwrap_or(Script::Latin));
    (1..SoundSet::BITS).contains(&sounds).then(|| 1 << sounds)
}

/// A hash of the letters of a word in any order, but for the first and the last.
fn unordered(word: &str) -> u64 {
    let mut letters = word.chars();
    let [first, last] = [letters.next(), letters.next_back()].map(|end| end.map_or(0, u64::from));
    let inner = letters.map(|letter| mix(letter.into()));
    mix(first << 32 | last).wrapping_add(inner.fold(0, u64::wrapping_add))
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
    let words = words_of(text);
    let frequent = FrequentWords::of_most(&words)?;
    if are_scrambled(&words, frequent) {
        Some(Misspelling::ScrambledLetters)
    } else {
        let is_misspelled = are_misspelled(&words, frequent) && !is_disguised(text, &words);
        is_misspelled.then_some(Misspelling::WrongLetters)
    }
}

/// Whether [`misspelling`] finds scrambled letters.
#[must_use]
pub fn has_scrambled_letters(text: &str) -> bool {
    let words = words_of(text);
    FrequentWords::of_most(&words).is_some_and(|frequent| are_scrambled(&words, frequent))
}

/// The words of a sample.
fn words_of(text: &str) -> Vec<String> {
    words_in(sample_of(text, PART))
}

/// The words of parts of a text in small letters, without names, which may look like any word, such as those of a play's speakers.
/// If most words begin with a capital, these are no names.
fn words_in<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (capitalized, mut words): (Vec<&str>, Vec<&str>) = parts
        .flat_map(whole_words)
        .partition(|word| is_capitalized(word));
    if capitalized.len() > words.len() {
        words.extend(capitalized);
    }
    words.into_iter().map(str::to_lowercase).collect()
}

/// Whether only the first letter is a capital.
fn is_capitalized(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

fn are_misspelled(words: &[String], frequent: &FrequentWords) -> bool {
    let (mut right, mut wrong) = (0, 0);
    for word in words {
        let word = word.as_str();
        if frequent.words.contains(word) {
            right += 1;
        } else if !frequent.neighbours.contains(word) && frequent.has_one_beside(word) {
            wrong += 1;
        }
    }
    is_share(wrong, right, frequent.most_wrong()) && are_of_language(right, words)
}

fn are_scrambled(words: &[String], frequent: &FrequentWords) -> bool {
    let (mut right, mut right_and_long, mut scrambled) = (0, 0, 0);
    for word in words.iter().filter(|word| !is_short(word)) {
        if frequent.words.contains(&**word) {
            right += 1;
            right_and_long += u32::from(has_letters(word, LONG));
        } else if frequent.unordered.contains(&unordered(word)) {
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
    1000 * frequent as usize >= OF_LANGUAGE * all
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
        || words.iter().filter(is_mixed).count() >= DISGUISED
        || marks.count() >= DISGUISED
}

fn is_share(wrong: u32, right: u32, percent: u32) -> bool {
    100 * wrong > percent * (right + wrong)
}

/// The words of a part of a text, without the first and the last, which may be cut.
fn whole_words(part: &str) -> Vec<&str> {
    let mut words: Vec<&str> = part.split(|c: char| !c.is_alphabetic()).collect();
    words.pop();
    let whole = words.into_iter().skip(1);
    whole.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::io::Write as _;
    use std::path::Path;

    use super::*;

    use crate::hardened::tests::with_wrong_letters;

    /// The books of the corpus, if there is one.
    fn corpus() -> impl Iterator<Item = String> {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        let folders = corpus.read_dir();
        if folders.is_err() {
            // Written directly, because the test harness hides the output of tests that pass.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: there are no books at {}",
                corpus.display()
            );
        }
        let folders = folders.into_iter().flatten().flatten();
        let files = folders.filter_map(|folder| folder.path().read_dir().ok());
        files
            .flatten()
            .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("a text"))
    }

    #[test]
    fn pages_are_told_from_copies_with_wrong_letters() {
        let (mut pages, mut misspelled, mut found) = (0, 0, 0);
        for text in corpus() {
            let page: String = text.chars().skip(20_000).take(2_000).collect();
            let copy = with_wrong_letters(&page, 14);
            let is_found = |page| misspelling(page) == Some(Misspelling::WrongLetters);
            pages += 1;
            misspelled += u32::from(is_found(&page));
            found += u32::from(is_found(&copy));
        }
        assert!(
            100 * misspelled <= 10 * pages && 100 * found >= 85 * pages,
            "{misspelled}, and {found} of copies, of {pages}"
        );
    }

    /// With `UPDATE_NEIGHBOURS=1`, the list is written.
    #[test]
    fn neighbours_are_common_words_of_books() {
        let mut books: BTreeMap<&str, Vec<BTreeSet<String>>> = BTreeMap::new();
        for text in corpus() {
            let (language, neighbours) = looking_wrong(&text).expect("a known language");
            books.entry(language).or_default().push(neighbours);
        }
        if books.is_empty() {
            return;
        }
        let lines = books
            .into_iter()
            .map(|(language, books)| format!("{language}\t{}", common_words(&books).join(" ")));
        let list = lines.collect::<Vec<_>>().join("\n") + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/neighbours.tsv");
        if std::env::var_os("UPDATE_NEIGHBOURS").is_some() {
            std::fs::write(path, &list).expect("the list");
        }
        assert!(
            list == std::fs::read_to_string(path).expect("the list"),
            "{path} is out of date; UPDATE_NEIGHBOURS=1 writes it"
        );
    }

    /// The language of a book, and the words that look like frequent ones with a wrong consonant.
    fn looking_wrong(text: &str) -> Option<(&'static str, BTreeSet<String>)> {
        let words = words_in([text].into_iter());
        let frequent = FrequentWords::of_most(&words)?;
        let (language, _) = closed_words_of(closed_language_of(words.iter().map(String::as_str))?);
        let is_like = |word: &String| {
            !frequent.words.contains(word.as_str()) && frequent.has_one_beside(word)
        };
        Some((language, words.into_iter().filter(is_like).collect()))
    }

    /// The words that are in a third of the books, and in two at least.
    fn common_words(books: &[BTreeSet<String>]) -> Vec<&str> {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for word in books.iter().flatten() {
            *count.entry(word).or_default() += 1;
        }
        let fewest = books.len().div_ceil(3).max(2);
        count.retain(|_, count| *count >= fewest);
        count.into_keys().collect()
    }
}
