//! The recipe `hardened`: gems that survive disguise, small changes and transliteration.
//!
//! ```text
//! text ──words──▶ consonants of each word ──shingles──▶ a number for every five words ──selection──▶ few of them: gems
//!      readings   sounds                                                              winnowing
//! ```
//!
//! `docs/explanation/recipes.md` explains the purpose of each step and the measurements. All of it is fixed
//! permanently, because gems in existing indexes depend on it: an improved step makes a new recipe.

mod postings;
pub(crate) mod readings;
mod selection;
mod shingles;
mod sounds;
#[cfg(test)]
mod tests;
mod words;

use hashbrown::HashSet;

use super::gem::{Gem, Place, PlacedGem, Probe};
use super::packed::PackedFold;
use selection::Selection;
use shingles::{Shingle, Shingles};
use words::{Word, words};

/// The minimum number of gems of a text with enough shingles.
const LEAST: usize = 16;
/// How many times denser than gems the probes of a query are.
const PROBES: usize = 4;

/// The density of gems. Gems of a wider window are always among those of a narrower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hardened {
    /// For books: about one gem per 800 characters.
    Coarse,
    /// For quotations: about one per 80.
    Fine,
}

impl Hardened {
    pub(super) const ALL: [Self; 2] = [Self::Coarse, Self::Fine];

    pub(super) fn characters_per_gem(self) -> u32 {
        match self {
            Self::Coarse => 800,
            Self::Fine => 80,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Coarse => "hardened",
            Self::Fine => "hardened-fine",
        }
    }

    /// The window size: at least one of this many consecutive shingles is a gem.
    pub(super) fn window(self) -> usize {
        match self {
            Self::Coarse => 110,
            Self::Fine => 10,
        }
    }

    /// Whether all of a book's gems have a posting. A quotation has few gems, so all of them are needed.
    pub(super) fn posts_all(self) -> bool {
        self == Self::Fine
    }

    /// Which of a book's gems have a posting.
    pub(super) fn posted(self, gems: &[PlacedGem]) -> Vec<bool> {
        match self {
            Self::Coarse => postings::posted(gems),
            Self::Fine => vec![true; gems.len()],
        }
    }

    pub(super) fn gems(self, text: &str) -> Vec<PlacedGem> {
        self.select(|take| words(text, take))
    }

    pub(super) fn probes(self, text: &str) -> Vec<Probe> {
        let mut probes = Selection::new(self.window() / PROBES, LEAST * PROBES);
        let mut kept = Selection::new(self.window(), 1);
        shingles(
            |take| words(text, take),
            |shingle| {
                probes.push(shingle);
                kept.push(shingle);
            },
        );
        let kept: HashSet<Gem> = kept.finish().into_iter().map(|shingle| shingle.gem().gem).collect();
        let probe = |shingle: Shingle| {
            let placed = shingle.gem();
            Probe { placed, kept: kept.contains(&placed.gem) }
        };
        probes.finish().into_iter().map(probe).collect()
    }

    /// The significant words in readable form.
    pub(super) fn fold(text: &str) -> String {
        let mut fold = String::new();
        words(text, |word| {
            if !fold.is_empty() {
                fold.push(' ');
            }
            fold.push_str(&word.shown());
        });
        fold
    }

    pub(super) fn folded(text: &str, source: impl Fn(Place) -> Place) -> PackedFold {
        let mut folded = Vec::new();
        words(text, |word| folded.push((word.code, source(word.place))));
        PackedFold::of_words(&folded)
    }

    pub(super) fn recut(self, packed: &PackedFold) -> Option<Vec<PlacedGem>> {
        let words = packed.words()?;
        Some(self.select(|take| words.into_iter().map(|(code, place)| Word { code, place }).for_each(take)))
    }

    fn select(self, words: impl FnOnce(&mut dyn FnMut(Word))) -> Vec<PlacedGem> {
        let mut selection = Selection::new(self.window(), LEAST);
        shingles(words, |shingle| selection.push(shingle));
        selection.finish().into_iter().map(Shingle::gem).collect()
    }
}

/// Passes on the shingles of words in order.
fn shingles(words: impl FnOnce(&mut dyn FnMut(Word)), mut take: impl FnMut(Shingle)) {
    let mut shingles = Shingles::default();
    words(&mut |word| shingles.next(word).into_iter().for_each(&mut take));
    shingles.only().into_iter().for_each(take);
}
