//! The recipe `rewriting`: gems that survive other words and another word order.
//!
//! ```text
//! text ──words──▶ words that count, stemmed ──every three in a row, sorted──▶ triples ──selection──▶ gems
//! ```
//!
//! These are the contextual n-grams of Rodríguez Torrejón and Martín Ramos (`CoReMo` 2.1, PAN 2013). They tell that two texts say
//! the same, not that they say it in the same words. All of it is fixed permanently, because gems in existing indexes depend on it.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::gem::{Gem, Place, PlacedGem};
use super::signatures::{Algorithm, ContentStems, is_invisible, words};

/// The size of a gem in bits.
pub(super) const GEM_BITS: u32 = 48;
/// How many characters of prose have one gem.
pub(super) const CHARACTERS_PER_GEM: u32 = 25;
/// About 1,200 characters have so many gems.
pub(super) const REACH: usize = 48;
/// Of two triples, on average, one is a gem.
const KEPT: u64 = 2;
/// Of so many gems, on average, so many have a posting.
const POSTED: (u64, u64) = (3, 10);

/// The gems of a text, without duplicates, in order of first place.
pub(super) fn gems(text: &str) -> Vec<PlacedGem> {
    let (mut known, mut gems) = (HashSet::new(), Vec::new());
    each_triple(text, |triple, place| {
        if let Some(gem) = gem(triple).filter(|gem| known.insert(*gem)) {
            let place = Some(place);
            gems.push(PlacedGem { gem, place });
        }
    });
    gems
}

/// The triples whose hashes are the gems, each in a line.
pub(super) fn fold(text: &str) -> String {
    let (mut known, mut lines) = (HashSet::new(), Vec::new());
    each_triple(text, |triple, _| {
        if gem(triple).is_some_and(|gem| known.insert(gem)) {
            lines.push(triple.to_owned());
        }
    });
    lines.join("\n")
}

/// Which of a book's gems have a posting.
pub(super) fn posted(gems: &[PlacedGem]) -> Vec<bool> {
    let (most, of) = POSTED;
    gems.iter().map(|placed| placed.gem.0 % of < most).collect()
}

/// The upper bits of the hash of a triple, if its lower ones select it.
fn gem(triple: &str) -> Option<Gem> {
    let hash = Algorithm::Sha256.hash(triple);
    hash.is_multiple_of(KEPT)
        .then_some(Gem(hash >> (u64::BITS - GEM_BITS)))
}

/// Passes on every three stems in a row, sorted and joined by blanks, with their place.
fn each_triple(text: &str, mut take: impl FnMut(&str, Place)) {
    let text = NumberedWords::of(text);
    let by = ContentStems::in_language_of(text.iter());
    let stems: Vec<_> = text.different.iter().map(|word| by.stem(word)).collect();
    let stems: Vec<(&str, Place)> = text
        .all
        .iter()
        .filter_map(|(word, place)| Some((stems[*word].as_deref()?, *place)))
        .collect();
    for three in stems.windows(3) {
        let mut triple = [three[0].0, three[1].0, three[2].0];
        triple.sort_unstable();
        let place = Place {
            start: three[0].1.start,
            end: three[2].1.end,
        };
        take(&triple.join(" "), place);
    }
}

/// The words of a text, in order, as positions in the list of the different ones, and with their places.
struct NumberedWords {
    different: Vec<String>,
    all: Vec<(usize, Place)>,
}

impl NumberedWords {
    fn of(text: &str) -> Self {
        let (mut numbers, mut all) = (HashMap::<String, usize>::new(), Vec::new());
        each_word(text, |word, place| {
            let next = numbers.len();
            all.push((*numbers.entry_ref(word).or_insert(next), place));
        });
        let mut different = vec![String::new(); numbers.len()];
        for (word, number) in numbers {
            different[number] = word;
        }
        Self { different, all }
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.all
            .iter()
            .map(|(word, _)| self.different[*word].as_str())
    }
}

/// Passes on the words of a text in the normal form NFKC and without invisible characters, with their places. Those between blanks
/// that are written in another form have the place of all that is between these.
fn each_word(text: &str, mut take: impl FnMut(&str, Place)) {
    let mut at = 0;
    for written in text.split_inclusive(char::is_whitespace) {
        let all = Place {
            start: at,
            end: at + written.trim_end().len() as u64,
        };
        match normal_form(written) {
            Cow::Borrowed(same) => words(same, |word, place| {
                let (start, end) = (at + place.start, at + place.end);
                take(word, Place { start, end });
            }),
            Cow::Owned(other) => words(&other, |word, _| take(word, all)),
        }
        at += written.len() as u64;
    }
}

fn normal_form(text: &str) -> Cow<'_, str> {
    let is_normal = is_nfkc_quick(text.chars()) == IsNormalized::Yes;
    if is_normal && !text.chars().any(is_invisible) {
        return text.into();
    }
    let visible = text.chars().filter(|c| !is_invisible(*c));
    visible.nfkc().collect()
}
