//! The alignment of two sequences of words.

use std::ops::Range;

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Words that both sequences have, in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordRun {
    pub(super) query: usize,
    pub(super) book: usize,
    pub(super) len: usize,
}

/// The lengths of anchors, in words. Shorter ones are looked for only between longer ones.
const ANCHORS: [usize; 3] = [8, 3, 1];
/// A gap is searched for the shortest edit if the product of its two lengths is at most this.
const SEARCHED: u64 = 1 << 18;
/// The most work, in products of two lengths.
const MOST: u64 = 1 << 27;
/// The work of an approximate search per word.
const APPROXIMATE: u64 = 1 << 10;

/// Aligns sequences, and bounds the work for all of them together.
pub(super) struct Aligner {
    left: u64,
}

impl Default for Aligner {
    fn default() -> Self {
        Self { left: MOST }
    }
}

impl Aligner {
    /// The runs in order, and whether everything between anchors was searched for the shortest edit.
    pub(super) fn align(&mut self, query: &[u32], book: &[u32]) -> (Vec<WordRun>, bool) {
        let mut pass = Pass {
            aligner: self,
            query,
            book,
            runs: Vec::new(),
            complete: true,
        };
        pass.between(0..query.len(), 0..book.len(), &ANCHORS);
        (pass.runs, pass.complete)
    }

    /// Takes some work from what is left.
    fn affords(&mut self, work: u64) -> bool {
        let affords = work <= self.left;
        self.left -= if affords { work } else { 0 };
        affords
    }
}

struct Pass<'a> {
    aligner: &'a mut Aligner,
    query: &'a [u32],
    book: &'a [u32],
    runs: Vec<WordRun>,
    complete: bool,
}

impl Pass<'_> {
    /// Aligns the words between two anchors.
    fn between(&mut self, mut query: Range<usize>, mut book: Range<usize>, anchors: &[usize]) {
        let (a, b) = (&self.query[query.clone()], &self.book[book.clone()]);
        let same_start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[same_start..], &b[same_start..]);
        let same_end = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        self.run(query.start, book.start, same_start);
        (query.start, book.start) = (query.start + same_start, book.start + same_start);
        (query.end, book.end) = (query.end - same_end, book.end - same_end);
        if !query.is_empty() && !book.is_empty() {
            self.gap(query.clone(), book.clone(), anchors);
        }
        self.run(query.end, book.end, same_end);
    }

    /// Aligns words that neither begin nor end alike.
    fn gap(&mut self, query: Range<usize>, book: Range<usize>, anchors: &[usize]) {
        let is_short = query.len() as u64 * book.len() as u64 <= SEARCHED;
        let Some((length, shorter)) = anchors.split_first().filter(|_| !is_short) else {
            return self.search(query, book);
        };
        let found = anchored(
            &self.query[query.clone()],
            &self.book[book.clone()],
            *length,
        );
        let (mut q, mut b) = (query.start, book.start);
        for (at_query, at_book) in found {
            let (at_query, at_book) = (query.start + at_query, book.start + at_book);
            let (end_query, end_book) = (at_query + length, at_book + length);
            if at_query >= q && at_book >= b {
                self.between(q..at_query, b..at_book, shorter);
                self.run(at_query, at_book, *length);
            } else if end_query > q && end_query - q == end_book.saturating_sub(b) {
                // It overlaps the anchor before.
                self.run(q, b, end_query - q);
            } else {
                continue;
            }
            (q, b) = (end_query, end_book);
        }
        self.between(q..query.end, b..book.end, shorter);
    }

    /// Searches for the shortest edit, among the words that both sides have; in long gaps for a short one.
    fn search(&mut self, query: Range<usize>, book: Range<usize>) {
        let a = of_both(&self.query[query.clone()], &self.book[book.clone()]);
        let b = of_both(&self.book[book.clone()], &self.query[query.clone()]);
        let product = a.len() as u64 * b.len() as u64;
        let (how, work) = if product <= SEARCHED {
            (Algorithm::RawMyers, product)
        } else {
            self.complete = false;
            (Algorithm::Myers, APPROXIMATE * (a.len() + b.len()) as u64)
        };
        if !self.aligner.affords(work) {
            self.complete = false;
            return;
        }
        let (of_query, of_book) = (
            chosen(&a, &self.query[query.clone()]),
            chosen(&b, &self.book[book.clone()]),
        );
        for op in capture_diff_slices(how, &of_query, &of_book) {
            if let DiffOp::Equal {
                old_index,
                new_index,
                len,
            } = op
            {
                for i in 0..len {
                    self.run(
                        query.start + a[old_index + i],
                        book.start + b[new_index + i],
                        1,
                    );
                }
            }
        }
    }

    fn run(&mut self, query: usize, book: usize, len: usize) {
        match self.runs.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.query + last.len == query && last.book + last.len == book => {
                last.len += len;
            }
            _ => self.runs.push(WordRun { query, book, len }),
        }
    }
}

fn chosen(kept: &[usize], words: &[u32]) -> Vec<u32> {
    kept.iter().map(|at| words[*at]).collect::<Vec<u32>>()
}

/// Where the words are that the other side has too. No other word can be in a run.
fn of_both(words: &[u32], other: &[u32]) -> Vec<usize> {
    let other: HashSet<u32> = other.iter().copied().collect();
    (0..words.len())
        .filter(|at| other.contains(&words[*at]))
        .collect()
}

/// Where sequences of this many words are that occur once in both texts: as many as are in the same order, in order.
fn anchored(query: &[u32], book: &[u32], length: usize) -> Vec<(usize, usize)> {
    let in_book = once(book, length);
    let mut pairs: Vec<(usize, usize)> = once(query, length)
        .into_iter()
        .filter_map(|(words, at)| Some((at?, (*in_book.get(words)?)?)))
        .collect();
    pairs.sort_unstable();
    increasing(&pairs)
}

/// The sequences of this many words, and where each is if it occurs once.
fn once(words: &[u32], length: usize) -> HashMap<&[u32], Option<usize>> {
    let mut once = HashMap::with_capacity(words.len());
    for (at, words) in words.windows(length).enumerate() {
        match once.entry(words) {
            Entry::Vacant(entry) => drop(entry.insert(Some(at))),
            Entry::Occupied(mut entry) => *entry.get_mut() = None,
        }
    }
    once
}

/// The longest subsequence of pairs in which the second numbers increase (Schensted 1961).
fn increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The best ends of subsequences by their lengths, and for each pair the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) =
        (Vec::new(), Vec::with_capacity(pairs.len()));
    for (i, (_, at)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *at);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = i,
            None => ends.push(i),
        }
    }
    let mut chain: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |i| before[*i])
            .map(|i| pairs[i])
            .collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Aligner, WordRun, anchored};

    /// The length of the longest common subsequence, by the plain algorithm.
    fn longest(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for word in a {
            let mut diagonal = 0;
            for (j, other) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if word == other {
                    diagonal + 1
                } else {
                    above.max(row[j])
                };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    /// Checks that the runs are an alignment, and returns the number of words in them.
    fn aligned(a: &[u32], b: &[u32], runs: &[WordRun]) -> usize {
        let (mut q, mut k) = (0, 0);
        for run in runs {
            assert!(
                run.len > 0 && run.query >= q && run.book >= k,
                "in order: {runs:?}"
            );
            (q, k) = (run.query + run.len, run.book + run.len);
            assert_eq!(a[run.query..q], b[run.book..k]);
        }
        runs.iter().map(|run| run.len).sum()
    }

    proptest! {
        #[test]
        fn between_anchors_no_edit_is_shorter(
            a in prop::collection::vec(0..6_u32, 0..60),
            b in prop::collection::vec(0..6_u32, 0..60),
        ) {
            let (runs, complete) = Aligner::default().align(&a, &b);
            prop_assert!(complete);
            prop_assert_eq!(aligned(&a, &b, &runs), longest(&a, &b));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn long_copies_are_found(
            seed in 0..1_000_u32,
            edits in prop::collection::vec((0..2_000_usize, 0..3_u8, 0..40_000_u32), 0..100),
        ) {
            // More words than are searched without anchors, half of them frequent.
            let a: Vec<u32> = (0..2_000).map(|i| {
                let word = (i ^ seed).wrapping_mul(2_654_435_761) >> 12;
                if word & 1 == 0 { word % 100 } else { word % 20_000 }
            }).collect();
            let mut b = a.clone();
            for (at, how, word) in edits {
                match how {
                    0 => b[at.min(1_800)] = word,
                    1 => b.insert(at.min(1_800), word),
                    _ => drop(b.remove(at.min(1_800))),
                }
            }
            let (runs, complete) = Aligner::default().align(&a, &b);
            prop_assert!(complete);
            let (found, best) = (aligned(&a, &b, &runs), longest(&a, &b));
            prop_assert!(found <= best && found + 2 >= best, "{} of {}", found, best);
        }
    }

    #[test]
    fn anchors_are_in_the_same_order() {
        assert_eq!(
            anchored(&[1, 2, 3, 4, 5], &[4, 1, 2, 9, 5], 1),
            [(0, 1), (1, 2), (4, 4)]
        );
        assert_eq!(anchored(&[1, 2, 3, 1, 2], &[1, 2, 3], 2), [(1, 1)]);
        assert_eq!(anchored(&[1], &[1], 2), []);
    }

    #[test]
    fn the_work_is_bounded() {
        // Nothing can be an anchor, and the two begin and end differently.
        let a: Vec<u32> = (0..20_000).map(|i| i % 7 * (i % 3)).collect();
        let b: Vec<u32> = (0..20_000).map(|i| 1 + i % 5 * (i % 11)).collect();
        let mut aligner = Aligner::default();
        let (runs, complete) = aligner.align(&a, &b);
        aligned(&a, &b, &runs);
        assert!(!complete);
        // Nothing is left for more.
        while aligner.left >= 1_000 {
            aligner.left /= 2;
        }
        let (runs, complete) = aligner.align(&[1, 2, 3].repeat(50), &[3, 1, 2, 2].repeat(50));
        assert_eq!((runs.len(), complete), (0, false));
    }
}
