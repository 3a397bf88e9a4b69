//! Texts generated from a seed: words with a Zipf distribution, frequent ones shorter, in sentences with capitals and
//! commas.

use crate::random::{Purpose, Random};

/// The length of a text.
pub const BYTES: usize = 1_000_000;
/// The number of distinct words.
const WORDS: usize = 5_000;
const SENTENCE: u64 = 18;

/// A script for generated texts.
pub struct Script {
    pub name: &'static str,
    consonants: &'static [&'static str],
    vowels: &'static [&'static str],
}

/// One script with one-byte letters and one with two-byte letters.
pub const SCRIPTS: [Script; 2] = [
    Script {
        name: "English-like",
        consonants: &[
            "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "w", "st", "th", "ch",
            "nt",
        ],
        vowels: &["a", "e", "i", "o", "u", "ea", "ou", "y"],
    },
    Script {
        name: "Cyrillic",
        consonants: &[
            "б", "в", "г", "д", "ж", "з", "к", "л", "м", "н", "п", "р", "с", "т", "ч", "ш", "ст",
            "пр",
        ],
        vowels: &["а", "е", "и", "о", "у", "ы", "я", "ю", "ой"],
    },
];

impl Script {
    /// A text of [`BYTES`] bytes in words of its own.
    pub fn text(&self, seed: u64, number: u64) -> String {
        let mut random = Random::new(seed, Purpose::Text, number);
        let words = self.words(WORDS, &mut random);
        text_of(&words, BYTES, &mut random)
    }

    /// This many words, the most frequent ones first.
    pub fn words(&self, count: usize, random: &mut Random) -> Vec<String> {
        (0..count).map(|rank| self.word(rank, random)).collect()
    }

    fn word(&self, rank: usize, random: &mut Random) -> String {
        let syllables = match rank {
            0..20 => 1,
            20..200 => 1 + random.below(2),
            _ => 2 + random.below(3),
        };
        let mut word = String::new();
        for _ in 0..syllables {
            word.push_str(self.consonants[random.below(self.consonants.len() as u64) as usize]);
            word.push_str(self.vowels[random.below(self.vowels.len() as u64) as usize]);
        }
        word
    }
}

/// A text of this many bytes in these words.
pub fn text_of(words: &[String], bytes: usize, random: &mut Random) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut capital = true;
    while text.len() < bytes {
        // Uniform in the logarithm of the rank, which gives a Zipf distribution.
        let word = &words[(words.len() as f64).powf(random.unit()) as usize - 1];
        let first = word.chars().next().filter(|_| capital);
        text.extend(first.iter().flat_map(|letter| letter.to_uppercase()));
        text.push_str(&word[first.map_or(0, char::len_utf8)..]);
        let end = random.below(SENTENCE);
        text.push_str(match end {
            0 => ".\n",
            1 | 2 => ", ",
            _ => " ",
        });
        capital = end == 0;
    }
    while text.len() > bytes {
        text.pop();
    }
    // Fill up if truncating a two-byte letter left one byte.
    text.extend(std::iter::repeat_n('.', bytes - text.len()));
    text
}
