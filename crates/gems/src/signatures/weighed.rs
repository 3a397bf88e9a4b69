//! Words and sentences by weight: `tf-idf`, `tf-ridf`, `tf-idfopt`, `long-sent` and `heavy-sent`.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};

use super::frequent::best;
use super::lexicon::{Lexicon, counts};
use super::method::Weight;
use super::words::SignatureWords;

/// A weight in whole billionths, so that the last bit of a logarithm cannot change an order.
pub(super) fn quantum(weight: f64) -> i64 {
    (weight * 1e9 + 0.5).floor() as i64
}

/// The n words of most weight.
pub(super) fn top(words: &SignatureWords, lexicon: &Lexicon, weight: Weight, n: usize) -> String {
    best(weights(words, lexicon, weight), n)
}

pub(super) fn tf_idf<'a>(words: &'a SignatureWords, lexicon: &Lexicon) -> HashMap<&'a str, i64> {
    weights(words, lexicon, Weight::TfIdf).collect()
}

fn weights<'a>(
    words: &'a SignatureWords,
    lexicon: &Lexicon,
    weight: Weight,
) -> impl Iterator<Item = (&'a str, i64)> {
    let counts = counts(words.iter());
    let most = counts.values().max().copied().unwrap_or(1) as f64;
    let all = words.len() as f64;
    counts.into_iter().map(move |(word, here)| {
        let of = lexicon.frequency(word, here);
        let count = here as f64;
        let weight = match weight {
            Weight::Tf => count,
            Weight::TfIdf => count / all * lexicon.idf(of),
            Weight::TfRidf => (0.5 + 0.5 * count / most) * lexicon.ridf(of),
            Weight::TfIdfOpt { opt } => {
                let idf = lexicon.idf(of) / opt;
                count / all * if idf <= 1.0 { idf.sqrt() } else { 1.0 / idf }
            }
        };
        (word, quantum(weight))
    })
}

/// The n different sentences of most weight, then first in the alphabet: in alphabetical order, joined or each alone.
pub(super) fn sentences(
    words: &SignatureWords,
    weight: impl Fn(usize, usize) -> i128,
    n: usize,
    join: bool,
    take: &mut dyn FnMut(&str),
) {
    let different: HashSet<(Reverse<i128>, &str)> = words
        .sentences()
        .map(|(first, count)| (Reverse(weight(first, count)), words.run(first, count)))
        .collect();
    let mut best: Vec<_> = different.into_iter().collect();
    best.sort_unstable();
    best.truncate(n);
    let mut best: Vec<&str> = best.into_iter().map(|(_, sentence)| sentence).collect();
    best.sort_unstable();
    if join {
        take(&best.join(" "));
    } else {
        best.into_iter().for_each(take);
    }
}
