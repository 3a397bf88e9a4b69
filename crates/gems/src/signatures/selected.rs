//! Which words of a lexicon a text has: `i-match` and `key-words`.

use std::cmp::Reverse;
use std::sync::OnceLock;

use hashbrown::HashSet;

use super::hash::Algorithm;
use super::lexicon::{Frequency, Lexicon, counts};
use super::weighed::quantum;
use super::words::SignatureWords;

/// Places of words in a lexicon in ascending order, which is alphabetical: computed when first needed.
type Chosen = OnceLock<Vec<usize>>;

/// The words of middling IDF that a text has, and those of them that are in smaller lexicons.
#[derive(Debug)]
pub(super) struct IMatch {
    /// The IDF wanted, as a share of the largest possible one.
    pub(super) mid: f64,
    /// The number of words in the whole lexicon.
    pub(super) size: usize,
    /// The number of smaller lexicons.
    pub(super) lexicons: u64,
    /// How many words in a thousand each of these lacks.
    pub(super) lack: u64,
    /// A string must have more words.
    pub(super) threshold: usize,
    pub(super) chosen: Chosen,
}

impl IMatch {
    pub(super) fn strings(
        &self,
        words: &SignatureWords,
        lexicon: &Lexicon,
        take: &mut dyn FnMut(&str),
    ) {
        let chosen = self.chosen.get_or_init(|| self.choose(lexicon));
        let different: HashSet<&str> = words.iter().collect();
        let mut both: Vec<&str> = different
            .into_iter()
            .filter_map(|word| Some((word, lexicon.find(word)?)))
            .filter(|(_, place)| chosen.binary_search(place).is_ok())
            .map(|(word, _)| word)
            .collect();
        both.sort_unstable();
        for lexicon in 0..=self.lexicons {
            let kept: Vec<&str> = both
                .iter()
                .copied()
                .filter(|word| self.has(lexicon, word))
                .collect();
            if kept.len() > self.threshold {
                take(&kept.join(" "));
            }
        }
    }

    /// Whether a word is in a smaller lexicon; number 0 is the whole one.
    fn has(&self, lexicon: u64, word: &str) -> bool {
        lexicon == 0 || Algorithm::Sha256.hash(&format!("{lexicon} {word}")) % 1_000 >= self.lack
    }

    fn choose(&self, lexicon: &Lexicon) -> Vec<usize> {
        let most = lexicon.idf(Frequency { df: 1, cf: 1 });
        let mut near: Vec<(i64, usize)> = Vec::with_capacity(lexicon.different());
        for place in 0..lexicon.different() {
            let idf = lexicon.idf(lexicon.entry(place).1);
            near.push((quantum((idf / most - self.mid).abs()), place));
        }
        if self.size < near.len() {
            // The farthest that is chosen may be as far as others, of which hashes decide.
            let (_, &mut (farthest, _), _) = near.select_nth_unstable(self.size);
            near.retain(|(distance, _)| *distance <= farthest);
            near.sort_by_cached_key(|&(distance, place)| {
                (distance, Algorithm::Sha256.hash(lexicon.entry(place).0))
            });
            near.truncate(self.size);
        }
        in_order(near.into_iter().map(|(_, place)| place))
    }
}

/// The words that are in many documents, and more frequent in the text than in those.
#[derive(Debug)]
pub(super) struct KeyWords {
    /// The number of words in the list.
    pub(super) size: usize,
    /// The largest share of documents that a word may be in, in percent.
    pub(super) df_hi: u64,
    pub(super) chosen: Chosen,
}

impl KeyWords {
    pub(super) fn strings(
        &self,
        words: &SignatureWords,
        lexicon: &Lexicon,
        take: &mut dyn FnMut(&str),
    ) {
        let chosen = self.chosen.get_or_init(|| self.choose(lexicon));
        let counts = counts(words.iter());
        for &place in chosen {
            let (word, Frequency { df, cf }) = lexicon.entry(place);
            let Some(&count) = counts.get(word) else {
                continue;
            };
            if product([count, df, lexicon.words()])
                > product([cf, lexicon.documents(), words.len() as u64])
            {
                take(word);
            }
        }
    }

    fn choose(&self, lexicon: &Lexicon) -> Vec<usize> {
        let most = self.df_hi * lexicon.documents();
        let mut fit: Vec<usize> = (0..lexicon.different())
            .filter(|place| lexicon.entry(*place).1.df * 100 <= most)
            .collect();
        fit.sort_by_cached_key(|&place| {
            let Frequency { df, cf } = lexicon.entry(place).1;
            (Reverse(df), Reverse(cf), place)
        });
        in_order(fit.into_iter().take(self.size))
    }
}

fn product(numbers: [u64; 3]) -> u128 {
    numbers.into_iter().map(u128::from).product()
}

fn in_order(places: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut places: Vec<usize> = places.collect();
    places.sort_unstable();
    places
}
