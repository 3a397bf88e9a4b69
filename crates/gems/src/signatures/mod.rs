//! Signatures: recipes of the literature. A text becomes one or a few strings, and their hashes are its gems.
//!
//! ```text
//! text ──text──▶ paragraphs ──sentences──▶ sentences ──words──▶ words that count ──a method──▶ strings ──hash──▶ gems
//! ```
//!
//! `docs/reference/signatures.md` says what each method is and where it comes from. All of it is fixed permanently:
//! a name always means the same gems.

mod characters;
mod frequent;
mod hash;
mod lexicon;
mod mega_shingles;
mod method;
mod parameters;
mod runs;
mod selected;
mod sentences;
#[cfg(test)]
mod tests;
mod text;
mod weighed;
mod words;

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashSet;

use super::gem::{Gem, Place, PlacedGem, WrittenGem};
use super::rule::Rule;
pub(super) use characters::is_invisible;
pub(super) use hash::Algorithm;
use hash::Charset;
pub use lexicon::{DocumentWords, Lexicon, LexiconCount, LexiconError, LexiconWords};
use method::SignatureMethod;
pub use parameters::WEIGHED;
pub(super) use parameters::{METHODS, SignatureError};
use words::Filter;
pub use words::TextWords;
pub(super) use words::{
    CLOSED_LANGUAGES, ContentStems, closed_language_of, closed_words, closed_words_of, words,
};

/// A method with its parameters.
#[derive(Debug)]
pub(super) struct Signature {
    name: String,
    method: SignatureMethod,
    /// Which words count.
    filter: Filter,
    /// Whether each paragraph is taken alone.
    by_paragraph: bool,
    /// The least number of words of a text or paragraph.
    min_words: usize,
    size: GemSize,
    /// What CRC32 is computed over.
    charset: Charset,
    lexicon: Option<Arc<Lexicon>>,
}

/// The size of a gem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GemSize {
    /// CRC32, as in the literature.
    Short,
    /// 64 bits of a digest.
    Long,
}

impl PartialEq for Signature {
    /// A name determines everything.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Signature {}

impl Signature {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn lexicon(&self) -> Option<&Arc<Lexicon>> {
        self.lexicon.as_ref()
    }

    pub(super) fn gem_bits(&self) -> u32 {
        match self.size {
            GemSize::Short => u32::BITS,
            GemSize::Long => u64::BITS,
        }
    }

    pub(super) fn write(&self, gem: Gem) -> WrittenGem {
        match self.size {
            GemSize::Short => WrittenGem::ShortDigits(gem.0 as u32),
            GemSize::Long => WrittenGem::Digits(gem.0),
        }
    }

    pub(super) fn read(&self, written: WrittenGem) -> Option<Gem> {
        match (self.size, written) {
            (GemSize::Short, WrittenGem::ShortDigits(gem)) => Some(Gem(gem.into())),
            (GemSize::Long, WrittenGem::Digits(gem)) => Some(Gem(gem)),
            _ => None,
        }
    }

    pub(super) fn rule(&self) -> Rule {
        self.method.rule(self.by_paragraph)
    }

    pub(super) fn characters_per_gem(&self) -> u32 {
        self.method.characters_per_gem(self.by_paragraph)
    }

    /// The text's gems, in the order of its strings. The only gem of a paragraph has its place; no other has one.
    pub(super) fn gems(&self, words: &TextWords) -> Vec<PlacedGem> {
        let algorithm = self.method.algorithm();
        let mut known = HashSet::new();
        let mut gems: Vec<PlacedGem> = Vec::new();
        let mut before = None;
        self.each(words, &mut |string, paragraph| {
            let gem = match self.size {
                GemSize::Short => self.charset.crc32(string).into(),
                GemSize::Long => algorithm.hash(string),
            };
            let is_only = paragraph != before;
            before = paragraph;
            if let Some(last) = gems
                .last_mut()
                .filter(|last| !is_only && last.place == paragraph)
            {
                last.place = None;
            }
            if known.insert(gem) {
                gems.push(PlacedGem {
                    gem: Gem(gem),
                    place: paragraph.filter(|_| is_only),
                });
            }
        });
        gems
    }

    /// The different strings whose hashes are the gems.
    pub(super) fn strings(&self, text: &str) -> Vec<String> {
        let mut known = HashSet::new();
        let mut strings = Vec::new();
        self.each(&TextWords::of(text), &mut |string, _| {
            if known.insert(string.to_owned()) {
                strings.push(string.to_owned());
            }
        });
        strings
    }

    /// Passes on the strings, some of them several times, each with the place of the paragraph that it is of alone.
    fn each(&self, words: &TextWords, take: &mut dyn FnMut(&str, Option<Place>)) {
        if let SignatureMethod::Set(members) = &self.method {
            for member in members {
                member.each(words, &mut |string, _| {
                    take(&format!("{} {string}", member.method.name()), None);
                });
            }
            return;
        }
        if self.by_paragraph {
            for (sentences, place) in words.paragraphs() {
                self.each_of(words, sentences, &mut |string| take(string, Some(place)));
            }
        } else {
            self.each_of(words, words.whole(), &mut |string| take(string, None));
        }
    }

    /// Passes on the strings of some sentences.
    fn each_of(&self, words: &TextWords, sentences: Range<usize>, take: &mut dyn FnMut(&str)) {
        let words = words.kept(sentences, self.filter);
        if words.len() >= self.min_words.max(1) {
            let lexicon = self.lexicon.as_deref();
            self.method.strings(&words, lexicon, self.charset, take);
        }
    }
}
