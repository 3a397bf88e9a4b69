//! Runs of words: `winnow`, `shingles`, `mod-shingles` and `min-shingles`.

use std::collections::VecDeque;

use super::hash::{Charset, fingerprint};
use super::words::SignatureWords;

/// Of every w neighbouring runs the one of least CRC32, the last of several (Schleimer, Wilkerson and Aiken 2003).
pub(super) fn winnowed(
    words: &SignatureWords,
    k: usize,
    w: usize,
    charset: Charset,
    take: &mut dyn FnMut(&str),
) {
    let runs: Vec<&str> = words.runs(k).collect();
    let w = w.min(runs.len());
    // Those that may be the least of a later window.
    let mut ascending: VecDeque<(u32, usize)> = VecDeque::new();
    let mut last = None;
    for (place, run) in runs.iter().enumerate() {
        let hash = charset.crc32(run);
        while ascending.back().is_some_and(|(before, _)| *before >= hash) {
            ascending.pop_back();
        }
        ascending.push_back((hash, place));
        let Some(first) = (place + 1).checked_sub(w) else {
            continue;
        };
        while ascending.front().is_some_and(|(_, place)| *place < first) {
            ascending.pop_front();
        }
        let chosen = ascending.front().map(|(_, place)| *place);
        if let Some(place) = chosen.filter(|_| chosen != last) {
            take(runs[place]);
            last = chosen;
        }
    }
}

/// All runs within sentences (Broder 1997).
pub(super) fn in_sentences(words: &SignatureWords, k: usize, take: &mut dyn FnMut(&str)) {
    for (first, count) in words.sentences().filter(|(_, count)| *count >= k) {
        (first..=first + count - k).for_each(|first| take(words.run(first, k)));
    }
}

/// The runs whose fingerprint is divisible by m.
pub(super) fn modulo(words: &SignatureWords, k: usize, m: u64, take: &mut dyn FnMut(&str)) {
    words
        .runs(k)
        .filter(|run| fingerprint(run).is_multiple_of(m))
        .for_each(take);
}

/// The s different runs of least fingerprint.
pub(super) fn least(words: &SignatureWords, k: usize, s: usize, take: &mut dyn FnMut(&str)) {
    let mut runs: Vec<(u64, &str)> = words.runs(k).map(|run| (fingerprint(run), run)).collect();
    runs.sort_unstable();
    runs.dedup();
    runs.into_iter().take(s).for_each(|(_, run)| take(run));
}
