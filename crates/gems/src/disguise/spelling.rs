//! Words with each letter twice, and frequent words with their inner letters in another order.

use std::sync::LazyLock;

use hashbrown::HashMap;

use super::{FEWEST, place};
use crate::gem::Place;
use crate::hardened::has_scrambled_letters;
use crate::sample::sample;
use crate::signatures::closed_words;

/// The fewest letters of a word with each letter twice.
const DOUBLED: usize = 4;
/// The letters of a frequent word. In shorter ones, few orders are possible.
const SHORTEST: usize = 5;
const LONGEST: usize = 9;

/// The letters of a word, then zeros.
type Letters = [char; LONGEST];

/// The words of closed classes in all languages, by the same with their inner letters sorted.
static CLOSED: LazyLock<HashMap<Letters, Vec<Letters>>> = LazyLock::new(|| {
    let mut closed: HashMap<Letters, Vec<Letters>> = HashMap::new();
    for (word, count) in closed_words().filter_map(letters) {
        closed.entry(sorted(word, count)).or_default().push(word);
    }
    closed
});

/// How the words of a sample are spelled.
#[derive(Default)]
struct Spelling {
    words: u64,
    doubled: u64,
}

/// Passes on misspelled words if a sample of the text has many.
pub(super) fn misspelled_words(text: &str, mut take: impl FnMut(Place)) {
    let mut spelling = Spelling::default();
    for part in sample(text) {
        each_word(part, |word, _| spelling.add(word));
    }
    let is_doubled = spelling.doubled >= FEWEST && 100 * spelling.doubled > spelling.words;
    let is_scrambled = has_scrambled_letters(text);
    if !is_doubled && !is_scrambled {
        return;
    }
    each_word(text, |word, at| {
        if is_doubled && has_doubled_letters(word) || is_scrambled && is_scrambled_word(word) {
            take(place(at, at + word.len()));
        }
    });
}

impl Spelling {
    fn add(&mut self, word: &str) {
        self.words += 1;
        self.doubled += u64::from(has_doubled_letters(word));
    }
}

fn each_word(text: &str, mut take: impl FnMut(&str, usize)) {
    let mut at = 0;
    for word in text.split(|c: char| !c.is_alphabetic()) {
        if !word.is_empty() {
            take(word, at);
        }
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
}

/// Whether a word has each letter twice, and is no Roman number.
fn has_doubled_letters(word: &str) -> bool {
    let mut letters = word.chars().flat_map(char::to_lowercase);
    let (mut count, mut differ, mut first) = (0, false, None);
    while let Some(letter) = letters.next() {
        if letters.next() != Some(letter) {
            return false;
        }
        count += 2;
        differ |= *first.get_or_insert(letter) != letter;
    }
    let is_number = || {
        word.chars()
            .all(|c| "ivxlcdm".contains(c.to_ascii_lowercase()))
    };
    count >= DOUBLED && differ && !is_number()
}

/// Whether a word only has the letters of a frequent one.
fn is_scrambled_word(word: &str) -> bool {
    letters(word).is_some_and(|(word, count)| {
        let words = CLOSED.get(&sorted(word, count));
        words.is_some_and(|words| !words.contains(&word))
    })
}

/// The small letters of a word that is neither too short nor too long, and their number.
fn letters(word: &str) -> Option<(Letters, usize)> {
    let mut letters = Letters::default();
    let mut count = 0;
    for letter in word.chars().flat_map(char::to_lowercase) {
        *letters.get_mut(count)? = letter;
        count += 1;
    }
    (count >= SHORTEST).then_some((letters, count))
}

/// A word with the letters between the first and the last sorted.
fn sorted(mut word: Letters, count: usize) -> Letters {
    word[1..count - 1].sort_unstable();
    word
}
