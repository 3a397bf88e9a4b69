//! The most frequent words: `tf`, and `n-blocks`.

use std::cmp::Reverse;

use super::lexicon::counts;
use super::words::SignatureWords;

/// The n words of highest score, then longest, then first in the alphabet: in alphabetical order, joined.
pub(super) fn best<'a, S: Ord + Copy>(
    scores: impl Iterator<Item = (&'a str, S)>,
    n: usize,
) -> String {
    let mut best: Vec<_> = scores.collect();
    if n < best.len() {
        best.select_nth_unstable_by_key(n, |&(word, score)| {
            (Reverse(score), Reverse(word.chars().count()), word)
        });
        best.truncate(n);
    }
    let mut best: Vec<&str> = best.into_iter().map(|(word, _)| word).collect();
    best.sort_unstable();
    best.join(" ")
}

/// The most frequent words.
pub(super) fn by_count<'a>(words: impl Iterator<Item = &'a str>, n: usize) -> String {
    best(counts(words).into_iter(), n)
}

/// The most frequent words of each of n blocks, filled with the sentences in the order of their length.
pub(super) fn blocks(words: &SignatureWords, n: usize, k: usize, take: &mut dyn FnMut(&str)) {
    let mut sentences: Vec<(usize, usize)> = words.sentences().collect();
    sentences.sort_by_cached_key(|&(first, count)| (Reverse(count), words.run(first, count)));
    let mut before = 0;
    let of_blocks = sentences.into_iter().map(|(first, count)| {
        let block = n * before / words.len();
        before += count;
        (block, first, count)
    });
    let of_blocks: Vec<_> = of_blocks.collect();
    for block in of_blocks.chunk_by(|(a, ..), (b, ..)| a == b) {
        let in_block = block
            .iter()
            .flat_map(|&(_, first, count)| (first..first + count).map(|word| words.run(word, 1)));
        take(&format!("{}/{n} {}", block[0].0 + 1, by_count(in_block, k)));
    }
}
