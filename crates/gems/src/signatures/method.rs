//! The methods, each with its parameters.

use super::hash::{Algorithm, Charset};
use super::lexicon::Lexicon;
use super::selected::{IMatch, KeyWords};
use super::words::SignatureWords;
use super::{Signature, frequent, mega_shingles, runs, weighed};
use crate::rule::Rule;

#[derive(Debug)]
pub(super) enum SignatureMethod {
    Sum,
    /// The n words of most weight.
    Top {
        weight: Weight,
        n: usize,
    },
    /// The n sentences of most words, or of most weight (TF·IDF).
    Sentences {
        heavy: bool,
        n: usize,
        join: bool,
    },
    IMatch(IMatch),
    MegaShingles {
        k: usize,
    },
    KeyWords(KeyWords),
    Winnow {
        k: usize,
        w: usize,
    },
    FullText {
        n: usize,
    },
    NBlocks {
        n: usize,
        k: usize,
    },
    Shingles {
        k: usize,
    },
    ModShingles {
        k: usize,
        m: u64,
    },
    MinShingles {
        k: usize,
        s: usize,
    },
    /// The strings of several methods.
    Set(Vec<Signature>),
}

/// How a word weighs in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Weight {
    Tf,
    TfIdf,
    TfRidf,
    TfIdfOpt { opt: f64 },
}

impl SignatureMethod {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Top {
                weight: Weight::Tf, ..
            } => "tf",
            Self::Top {
                weight: Weight::TfIdf,
                ..
            } => "tf-idf",
            Self::Top {
                weight: Weight::TfRidf,
                ..
            } => "tf-ridf",
            Self::Top {
                weight: Weight::TfIdfOpt { .. },
                ..
            } => "tf-idfopt",
            Self::Sentences { heavy: false, .. } => "long-sent",
            Self::Sentences { heavy: true, .. } => "heavy-sent",
            Self::IMatch(_) => "i-match",
            Self::MegaShingles { .. } => "mega-shingles",
            Self::KeyWords(_) => "key-words",
            Self::Winnow { .. } => "winnow",
            Self::FullText { .. } => "full-text",
            Self::NBlocks { .. } => "n-blocks",
            Self::Shingles { .. } => "shingles",
            Self::ModShingles { .. } => "mod-shingles",
            Self::MinShingles { .. } => "min-shingles",
            Self::Set(_) => "set",
        }
    }

    /// What the literature hashes the strings with.
    pub(super) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Sum | Self::NBlocks { .. } => Algorithm::Md5,
            Self::IMatch(_) => Algorithm::Sha1,
            _ => Algorithm::Sha256,
        }
    }

    pub(super) fn rule(&self, by_paragraph: bool) -> Rule {
        match self {
            // Four fifths of the words that either text has are common.
            Self::KeyWords(_) => Rule {
                min_common: 10,
                min_score: 8.0 / 9.0,
                ..Rule::EXACT
            },
            Self::ModShingles { .. } | Self::MinShingles { .. } => Rule {
                min_share: 0.1,
                ..Rule::EXACT
            },
            Self::Winnow { .. } | Self::Shingles { .. } => Rule {
                min_share: 0.05,
                ..Rule::EXACT
            },
            _ if by_paragraph => Rule {
                min_share: 0.05,
                ..Rule::EXACT
            },
            Self::NBlocks { n, .. } => Rule {
                min_common: n.div_ceil(4) as u32,
                ..Rule::EXACT
            },
            _ => Rule {
                min_common: 1,
                ..Rule::EXACT
            },
        }
    }

    /// Measured on 152 books. A method with few gems, however long the text is, has its first gem from the first words on.
    pub(super) fn characters_per_gem(&self, by_paragraph: bool) -> u32 {
        match self {
            Self::KeyWords(_) => 1_000,
            Self::Winnow { .. } => 50,
            Self::Shingles { .. } => 18,
            Self::ModShingles { .. } => 160,
            Self::MinShingles { .. } => 6,
            _ if by_paragraph => 400,
            _ => 1,
        }
    }

    /// Passes on the strings of a text with words.
    pub(super) fn strings(
        &self,
        words: &SignatureWords,
        lexicon: Option<&Lexicon>,
        charset: Charset,
        take: &mut dyn FnMut(&str),
    ) {
        match self {
            Self::Sum => take(words.run(0, words.len())),
            Self::FullText { n } => take(words.run(0, words.len().min(*n))),
            Self::Top {
                weight: Weight::Tf,
                n,
            } => take(&frequent::by_count(words.iter(), *n)),
            Self::NBlocks { n, k } => frequent::blocks(words, *n, *k, take),
            Self::Sentences {
                heavy: false,
                n,
                join,
            } => weighed::sentences(words, |_, words| words as i128, *n, *join, take),
            Self::MegaShingles { k } => mega_shingles::strings(words, *k, take),
            Self::Winnow { k, w } => runs::winnowed(words, *k, *w, charset, take),
            Self::Shingles { k } => runs::in_sentences(words, *k, take),
            Self::ModShingles { k, m } => runs::modulo(words, *k, *m, take),
            Self::MinShingles { k, s } => runs::least(words, *k, *s, take),
            // No method is made without the lexicon that it needs.
            Self::Top { .. } | Self::Sentences { .. } | Self::IMatch(_) | Self::KeyWords(_) => {
                if let Some(lexicon) = lexicon {
                    self.weighed_strings(words, lexicon, take);
                }
            }
            // A set takes its members' strings.
            Self::Set(_) => {}
        }
    }

    /// The strings of a method that needs a lexicon.
    fn weighed_strings(
        &self,
        words: &SignatureWords,
        lexicon: &Lexicon,
        take: &mut dyn FnMut(&str),
    ) {
        match self {
            Self::Top { weight, n } => take(&weighed::top(words, lexicon, *weight, *n)),
            Self::Sentences { n, join, .. } => {
                let weights = weighed::tf_idf(words, lexicon);
                weighed::sentences(
                    words,
                    |first, count| {
                        let words = (first..first + count).map(|word| words.run(word, 1));
                        words.map(|word| i128::from(weights[word])).sum()
                    },
                    *n,
                    *join,
                    take,
                );
            }
            Self::IMatch(of) => of.strings(words, lexicon, take),
            Self::KeyWords(of) => of.strings(words, lexicon, take),
            _ => {}
        }
    }
}
