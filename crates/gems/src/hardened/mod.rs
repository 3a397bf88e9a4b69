//! The recipe `hardened`: gems that survive disguise, small changes and transliteration.
//!
//! ```text
//! text ──undo──▶ plain text ──symbols──▶ consonants ──grams──▶ a number for every 15 of them ──selection──▶ few: gems
//!                            readings                                                       winnowing
//! ```
//!
//! `docs/explanation/recipes.md` explains the purpose of each step and the measurements. All of it is fixed
//! permanently, because gems in existing indexes depend on it: an improved step makes a new recipe. With a secret, only the
//! constants of `grams` are others.
//!
//! Nearly every word is of the same script as the one before it. `symbols` reads up to 512 bytes as if all were. A table
//! (`readings`) gives each byte a row: a consonant, a vowel, nothing, or a character that may show that a word is of
//! another script. The words before the first such character are taken 64 bytes at a time (`sounds`); the word itself is
//! read character by character, with votes. `grams` are hashed, and the few that can be selected picked out, without
//! branches. Property tests compare all of it with the definition, which reads one character after the other.

mod constants;
mod grams;
mod mended;
mod misspelled;
mod postings;
pub(crate) mod readings;
mod respell;
mod scrambled;
mod selection;
mod sounds;
mod symbols;
#[cfg(test)]
mod tests;
pub(crate) mod undo;

use std::sync::Arc;

use hashbrown::HashSet;

use super::gem::{Gem, Place, PlacedGem, Probe};
use super::rule::Rule;
use super::secret::Secret;
use constants::{Constants, PUBLIC};
use grams::{Gram, Grams};
use mended::{WHOLE, mended, mended_among};
pub use misspelled::{Misspelling, has_scrambled_letters, misspelling, with_inner_letters_sorted};
use respell::respelled;
use scrambled::unscrambled;
use selection::Selection;
use sounds::{Symbol, code_of};
use symbols::symbols;
use undo::{Undone, undone};

/// The minimum number of gems of a text with enough grams.
const LEAST: usize = 16;
/// How many symbols of a fold are taken at a time.
const AT_ONCE: usize = 1_024;
/// How many times denser than gems the probes of a query are.
const PROBES: usize = 4;
/// Of a query of so many bytes, enough of the gems of [`Density::Compact`] survive any change by themselves.
const LONG: usize = 64 << 10;

/// The density of gems. Gems of a wider window are always among those of a narrower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Density {
    /// For books: about one gem per 240 characters.
    Coarse,
    /// For quotations: about one per 80.
    Fine,
    /// For whole books, pages and paragraphs: about one per 65, of fewer bits.
    Compact,
}

impl Density {
    pub(super) const ALL: [Self; 3] = [Self::Coarse, Self::Fine, Self::Compact];

    fn name(self) -> &'static str {
        match self {
            Self::Coarse => "hardened",
            Self::Fine => "hardened-fine",
            Self::Compact => "hardened-compact",
        }
    }

    /// The window size: at least one of this many consecutive grams is a gem.
    pub(super) fn window(self) -> u64 {
        match self {
            Self::Coarse => 184,
            Self::Fine => 60,
            Self::Compact => 50,
        }
    }

    /// The size of a gem in bits. In an index of a billion postings, one in 280,000 gems of 48 bits of an unrelated text is found
    /// by chance, and one in four of 32 bits. That is seldom two of the same book.
    pub(super) fn gem_bits(self) -> u32 {
        match self {
            Self::Coarse | Self::Fine => 48,
            Self::Compact => 32,
        }
    }
}

/// A recipe of this kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hardened {
    density: Density,
    secret: Option<Arc<(Secret, Constants)>>,
}

impl Hardened {
    pub(super) fn new(density: Density, secret: Option<&Secret>) -> Self {
        let secret = secret.map(|secret| Arc::new((secret.clone(), Constants::of(secret))));
        Self { density, secret }
    }

    pub(super) fn density(&self) -> Density {
        self.density
    }

    pub(super) fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref().map(|both| &both.0)
    }

    fn constants(&self) -> &Constants {
        self.secret.as_ref().map_or(&PUBLIC, |both| &both.1)
    }

    pub(super) fn characters_per_gem(&self) -> u32 {
        match self.density {
            Density::Coarse => 240,
            Density::Fine => 80,
            Density::Compact => 65,
        }
    }

    /// The name of the density, then `@` and eight digits if there is a secret.
    pub(super) fn name(&self) -> String {
        let name = self.density.name();
        self.secret().map_or_else(
            || name.to_owned(),
            |secret| format!("{name}@{}", secret.tag()),
        )
    }

    fn window(&self) -> u64 {
        self.density.window()
    }

    pub(super) fn rule(&self) -> Rule {
        match self.density {
            Density::Coarse => Rule::HARDENED,
            Density::Compact => Rule::COMPACT,
            Density::Fine => Rule::QUOTED,
        }
    }

    /// See [`PassageRule::reach`](crate::PassageRule::reach).
    pub(super) fn reach(&self) -> usize {
        match self.density {
            Density::Coarse | Density::Compact => 24,
            Density::Fine => 8,
        }
    }

    /// See [`Recipe::most_unposted`](crate::Recipe::most_unposted). About half of the gems have a posting, and one of any three that
    /// follow one another; or two thirds, and one of any two; or all.
    pub(super) fn most_unposted(&self) -> u32 {
        match self.density {
            Density::Coarse => 16,
            Density::Compact => 4,
            Density::Fine => 1,
        }
    }

    /// Which of a book's gems have a posting.
    pub(super) fn posted(&self, gems: &[PlacedGem]) -> Vec<bool> {
        match self.density {
            Density::Coarse => postings::posted(gems, 3),
            Density::Fine => vec![true; gems.len()],
            Density::Compact => postings::posted(gems, 2),
        }
    }

    pub(super) fn gems(&self, text: &str) -> Vec<PlacedGem> {
        let undone = undone(text);
        let mut selection = Selection::new(self.window(), LEAST);
        let mut grams = Grams::new(self.constants());
        symbols(undone.text(), |symbols| {
            grams.take(symbols, |grams| selection.take(grams));
        });
        selection
            .finish(grams.count())
            .into_iter()
            .map(|gram| self.gem(gram, &undone))
            .collect()
    }

    pub(super) fn probes(&self, text: &str) -> Vec<Probe> {
        let undone = undone(text);
        let mut probes = self.probes_of(&undone);
        if let Some(respelled) = respelled(&undone) {
            probes = of_both_spellings(probes, self.probes_of(&respelled));
        }
        let guess = match misspelling(undone.text()) {
            Some(Misspelling::WrongLetters) => mended,
            Some(Misspelling::ScrambledLetters) => unscrambled,
            None => return probes,
        };
        let grams = guess(undone.text(), self.window(), self.constants());
        self.add_guessed(&mut probes, grams, &undone);
        probes
    }

    /// See [`Recipe::probes_of_books`](crate::Recipe::probes_of_books).
    pub(super) fn probes_of_books<E>(
        &self,
        text: &str,
        gems_of_books: impl FnOnce() -> Result<Vec<Gem>, E>,
    ) -> Result<Vec<Probe>, E> {
        let undone = undone(text);
        let is_partly_looked_up = undone.text().len() > WHOLE
            && misspelling(undone.text()) == Some(Misspelling::WrongLetters);
        if !is_partly_looked_up {
            return Ok(Vec::new());
        }
        let of_books: HashSet<Gem> = gems_of_books()?.into_iter().collect();
        let mut probes = Vec::new();
        if !of_books.is_empty() {
            let gem = |gram| self.gem_of(gram);
            let (window, constants) = (self.window(), self.constants());
            let grams = mended_among(undone.text(), window, constants, gem, of_books);
            self.add_guessed(&mut probes, grams, &undone);
        }
        Ok(probes)
    }

    /// Adds the probes that a misspelled query may have had.
    fn add_guessed(&self, probes: &mut Vec<Probe>, grams: Vec<Gram>, undone: &Undone<'_>) {
        let mut known: HashSet<Gem> = probes.iter().map(|probe| probe.placed.gem).collect();
        for gram in grams {
            let placed = self.gem(gram, undone);
            if known.insert(placed.gem) {
                probes.push(Probe {
                    placed,
                    kept: false,
                });
            }
        }
        probes.sort_by_key(|probe| probe.placed.place.map(|place| place.start));
    }

    fn probes_of(&self, undone: &Undone<'_>) -> Vec<Probe> {
        let times = self.probes_per_gem(undone.text());
        let mut probes = Selection::new(self.window() / times as u64, LEAST * times);
        let mut kept = Selection::new(self.window(), 1);
        let mut grams = Grams::new(self.constants());
        symbols(undone.text(), |symbols| {
            grams.take(symbols, |grams| {
                probes.take(grams);
                if times > 1 {
                    kept.take(grams);
                }
            });
        });
        let kept: HashSet<Gem> = kept
            .finish(grams.count())
            .into_iter()
            .map(|gram| self.gem_of(gram))
            .collect();
        let mut probes: Vec<Probe> = probes
            .finish(grams.count())
            .into_iter()
            .map(|gram| self.gem(gram, undone))
            .map(|placed| Probe {
                placed,
                kept: times == 1 || kept.contains(&placed.gem),
            })
            .collect();
        // Different grams may have the same gem.
        let mut seen = HashSet::with_capacity(probes.len());
        probes.retain(|probe| seen.insert(probe.placed.gem));
        probes
    }

    fn probes_per_gem(&self, text: &str) -> usize {
        match self.density {
            Density::Compact if text.len() >= LONG => 1,
            _ => PROBES,
        }
    }

    /// The sounds in readable form.
    pub(super) fn fold(text: &str) -> String {
        let mut fold = String::new();
        symbols(undone(text).text(), |symbols| {
            fold.extend(symbols.iter().map(|symbol| symbol.shown()));
        });
        fold
    }

    /// The symbols with their places.
    pub(super) fn folded(text: &str) -> Vec<(char, Place)> {
        let undone = undone(text);
        let mut folded = Vec::new();
        symbols(undone.text(), |symbols| {
            for symbol in symbols {
                folded.push((symbol.shown(), undone.source(symbol.end(), symbol.end())));
            }
        });
        folded
    }

    /// The gems of the text of these symbols.
    pub(super) fn recut(&self, folded: &[(char, Place)]) -> Vec<PlacedGem> {
        let mut selection = Selection::new(self.window(), LEAST);
        let mut grams = Grams::new(self.constants());
        // Their numbers, counted from 1, serve as positions.
        let symbols: Vec<Symbol> = folded
            .iter()
            .zip(1..)
            .map(|(&(shown, _), end)| Symbol::new(code_of(shown), end))
            .collect();
        symbols
            .chunks(AT_ONCE)
            .for_each(|some| grams.take(some, |grams| selection.take(grams)));
        let selected = selection.finish(grams.count()).into_iter();
        selected
            .map(|gram| PlacedGem {
                gem: self.gem_of(gram),
                place: Some(Place {
                    start: folded[gram.first as usize - 1].1.start,
                    end: folded[gram.last as usize - 1].1.end,
                }),
            })
            .collect()
    }

    fn gem_of(&self, gram: Gram) -> Gem {
        gram.gem(self.constants(), self.density.gem_bits())
    }

    /// The gem of a gram, with its place in the text that was undone.
    fn gem(&self, gram: Gram, undone: &Undone<'_>) -> PlacedGem {
        PlacedGem {
            gem: self.gem_of(gram),
            place: Some(undone.source(gram.first, gram.last)),
        }
    }
}

/// The probes of a query as it is, and of another spelling, whose gems the book is expected to have.
fn of_both_spellings(as_it_is: Vec<Probe>, mut respelled: Vec<Probe>) -> Vec<Probe> {
    let known: HashSet<Gem> = respelled.iter().map(|probe| probe.placed.gem).collect();
    let others = as_it_is
        .into_iter()
        .filter(|probe| !known.contains(&probe.placed.gem));
    respelled.extend(others.map(|probe| Probe {
        kept: false,
        ..probe
    }));
    respelled.sort_by_key(|probe| probe.placed.place.map(|place| place.start));
    respelled
}
