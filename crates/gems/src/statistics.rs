//! Counts how often 4-digit sequences occur in folded texts, and chooses a set of them to cut at.
//!
//! The authors of the algorithm chose their boundary sequences from such counts over a large library: with the right
//! set, chunks have about the same length in every language. This is not needed for texts in a single language: any
//! set works for them.

use std::collections::BTreeMap;

use super::boundaries::{Boundaries, SEQUENCE};

/// The number of possible sequences.
const SEQUENCES: usize = 10_usize.pow(SEQUENCE as u32);
/// The largest fraction of a language's cuts that one sequence may contribute. Otherwise a name that folds to a
/// sequence could decide where its book is cut.
const LARGEST_PART: f64 = 0.12;
/// The smallest fraction of cuts that a sequence must contribute in every language. Sequences that occur in only a
/// few books (page numbers, for example) do not work for other books.
const SMALLEST_PART: f64 = 0.005;
/// How many passes look for exchanges that improve the set.
const ROUNDS: usize = 20;

/// How often each sequence occurs in a set of folded texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceCounts {
    counts: Box<[u64]>,
    /// The number of characters in the texts.
    pub characters: u64,
    /// The number of digits in their folds.
    pub digits: u64,
}

impl Default for SequenceCounts {
    fn default() -> Self {
        Self {
            counts: vec![0; SEQUENCES].into(),
            characters: 0,
            digits: 0,
        }
    }
}

impl SequenceCounts {
    /// Counts the sequences of a fold at every position. `characters` is the length of the text that was folded.
    /// Digits outside ASCII are not part of any sequence.
    #[must_use]
    pub fn of_fold(fold: &str, characters: u64) -> Self {
        let mut counted = Self {
            characters,
            digits: fold.chars().count() as u64,
            ..Self::default()
        };
        for window in fold
            .as_bytes()
            .windows(SEQUENCE)
            .filter(|window| window.iter().all(u8::is_ascii_digit))
        {
            let sequence = window
                .iter()
                .fold(0, |n, digit| 10 * n + usize::from(digit - b'0'));
            counted.counts[sequence] += 1;
        }
        counted
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.counts
            .iter_mut()
            .zip(other.counts.iter())
            .for_each(|(count, more)| *count += more);
        self.characters += other.characters;
        self.digits += other.digits;
    }

    /// The average number of text characters per digit.
    #[must_use]
    pub fn characters_per_digit(&self) -> f64 {
        self.characters as f64 / self.digits.max(1) as f64
    }

    /// The count of a sequence of four digits; 0 if `sequence` is not one.
    #[must_use]
    pub fn of(&self, sequence: &str) -> u64 {
        let value = sequence.parse().ok().filter(|_| sequence.len() == SEQUENCE);
        value
            .and_then(|value: usize| self.counts.get(value))
            .copied()
            .unwrap_or_default()
    }

    /// Every sequence that was counted, with its count, most frequent first.
    #[must_use]
    pub fn sorted(&self) -> Vec<(String, u64)> {
        let counts = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        let mut sorted: Vec<_> = counts
            .map(|(value, count)| (format!("{value:04}"), *count))
            .collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sorted
    }
}

/// Chooses sequences that cut the texts of every language into chunks of about the number of characters that `target`
/// gives for it, not counting chunks of fewer digits than `shortest`. `None` if there are no such sequences.
///
/// Excludes the sequences in `avoid`, those that can overlap with themselves, and those that are too rare or too
/// frequent in a language. The set grows by the sequence that brings the cuts of all languages nearest to the target
/// (least squares) until no sequence improves it. Exchanges then refine it.
#[must_use]
pub fn choose(
    by_language: &BTreeMap<String, SequenceCounts>,
    target: impl Fn(&str) -> f64,
    shortest: usize,
    avoid: Option<&Boundaries>,
) -> Option<Vec<String>> {
    let languages: Vec<CountedLanguage> = by_language
        .iter()
        .filter(|(_, counts)| counts.characters > 0)
        .map(|(name, counts)| CountedLanguage::new(counts, target(name), shortest))
        .collect();
    if languages.iter().any(|language| language.apart <= 0.0) {
        return None;
    }
    let candidates = candidates(&languages, avoid);
    let mut set = SequenceSet::new(&candidates, languages.len());
    set.grow();
    set.refine();
    set.sequences()
}

/// A language, and how far apart its cuts should be.
struct CountedLanguage<'a> {
    counts: &'a SequenceCounts,
    /// In characters, beyond the minimum length of a chunk.
    apart: f64,
}

impl<'a> CountedLanguage<'a> {
    /// Cuts occur like radioactive decays: beyond the minimum length, the expected remaining length of a chunk is the
    /// average distance between cuts, however long the chunk already is.
    fn new(counts: &'a SequenceCounts, target: f64, shortest: usize) -> Self {
        let apart = target - shortest as f64 * counts.characters_per_digit();
        Self { counts, apart }
    }

    /// The fraction of the cuts that a sequence would make.
    fn part(&self, sequence: &str) -> f64 {
        self.counts.of(sequence) as f64 * self.apart / self.counts.characters as f64
    }
}

/// A sequence that can be chosen, and its fraction of the cuts in each language.
struct SequenceCandidate {
    sequence: String,
    parts: Vec<f64>,
}

fn candidates(languages: &[CountedLanguage], avoid: Option<&Boundaries>) -> Vec<SequenceCandidate> {
    let avoided: Vec<String> = avoid.map_or_else(Vec::new, |avoid| avoid.sequences().collect());
    let mut candidates = Vec::new();
    for value in 0..SEQUENCES {
        let sequence = format!("{value:04}");
        if overlaps_itself(&sequence) || avoided.contains(&sequence) {
            continue;
        }
        let parts: Vec<f64> = languages
            .iter()
            .map(|language| language.part(&sequence))
            .collect();
        if parts
            .iter()
            .all(|part| (SMALLEST_PART..=LARGEST_PART).contains(part))
        {
            candidates.push(SequenceCandidate { sequence, parts });
        }
    }
    candidates
}

fn overlaps_itself(sequence: &str) -> bool {
    (1..SEQUENCE).any(|shift| sequence[shift..] == sequence[..SEQUENCE - shift])
}

/// Some of the candidates.
struct SequenceSet<'a> {
    candidates: &'a [SequenceCandidate],
    chosen: Vec<usize>,
    /// Their fractions of the wanted number of cuts in each language.
    sum: Vec<f64>,
    /// What nothing adds to these.
    nothing: Vec<f64>,
}

impl<'a> SequenceSet<'a> {
    fn new(candidates: &'a [SequenceCandidate], languages: usize) -> Self {
        let nothing = vec![0.0; languages];
        Self {
            candidates,
            chosen: Vec::new(),
            sum: nothing.clone(),
            nothing,
        }
    }

    /// How far the cuts are from the target, without `less` and with `more`.
    fn error(&self, less: &[f64], more: &[f64]) -> f64 {
        let mut error = 0.0;
        for ((sum, less), more) in self.sum.iter().zip(less).zip(more) {
            let off = sum - less + more - 1.0;
            error += off * off;
        }
        error
    }

    /// The candidate that brings the set nearest to the target in place of `less`, if it improves the set.
    fn best(&self, less: &[f64]) -> Option<usize> {
        let free = (0..self.candidates.len()).filter(|candidate| !self.chosen.contains(candidate));
        let (error, best) = free
            .map(|candidate| {
                (
                    self.error(less, &self.candidates[candidate].parts),
                    candidate,
                )
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))?;
        (error < self.error(&self.nothing, &self.nothing)).then_some(best)
    }

    /// Adds sequences as long as they improve the set.
    fn grow(&mut self) {
        while let Some(best) = self.best(&self.nothing) {
            for (sum, part) in self.sum.iter_mut().zip(&self.candidates[best].parts) {
                *sum += part;
            }
            self.chosen.push(best);
        }
    }

    /// Exchanges sequences as long as that improves the set.
    fn refine(&mut self) {
        for _ in 0..ROUNDS {
            let mut exchanged = false;
            for place in 0..self.chosen.len() {
                exchanged |= self.exchange(place);
            }
            if !exchanged {
                break;
            }
        }
    }

    /// Whether there was a better sequence for a place of the set.
    fn exchange(&mut self, place: usize) -> bool {
        let less = &self.candidates[self.chosen[place]].parts;
        let Some(best) = self.best(less) else {
            return false;
        };
        let more = &self.candidates[best].parts;
        for (sum, (less, more)) in self.sum.iter_mut().zip(less.iter().zip(more)) {
            *sum += more - less;
        }
        self.chosen[place] = best;
        true
    }

    fn sequences(self) -> Option<Vec<String>> {
        let mut sequences: Vec<String> = self
            .chosen
            .into_iter()
            .map(|candidate| self.candidates[candidate].sequence.clone())
            .collect();
        sequences.sort();
        (!sequences.is_empty()).then_some(sequences)
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, Boundaries, SequenceCounts, choose};

    #[test]
    fn counts_of_every_place() {
        let mut counts = SequenceCounts::of_fold("1212121٣1212", 100);
        counts.add(&SequenceCounts::of_fold("12", 50));
        assert_eq!((counts.characters, counts.digits), (150, 14));
        assert_eq!(
            (
                counts.of("1212"),
                counts.of("2121"),
                counts.of("12"),
                counts.of("121x")
            ),
            (3, 2, 0, 0)
        );
        let mut twice = counts.clone();
        twice.add(&counts);
        assert_eq!(
            twice.sorted(),
            [("1212".to_owned(), 6), ("2121".to_owned(), 4)]
        );
    }

    /// Folds of random digits; each language prefers different digits.
    fn folds() -> BTreeMap<String, String> {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut all = BTreeMap::new();
        for favourite in ['1', '5', '8'] {
            let mut digit = || {
                if random(3) == 0 {
                    favourite
                } else {
                    char::from(b'1' + random(8) as u8)
                }
            };
            let fold: String = std::iter::repeat_with(&mut digit).take(300_000).collect();
            all.insert(favourite.to_string(), fold);
        }
        all
    }

    #[test]
    fn chunks_are_as_long_as_asked_for_in_every_language() {
        let folds = folds();
        let counted = |(name, fold): (&String, &String)| {
            (name.clone(), SequenceCounts::of_fold(fold, 600_000))
        };
        let languages: BTreeMap<String, SequenceCounts> = folds.iter().map(counted).collect();
        for (target, shortest) in [(900.0, 1), (2_000.0, 150)] {
            let chosen = choose(&languages, |_| target, shortest, None).expect("a set");
            assert!(chosen.len() > 8, "{chosen:?}");
            for (name, counts) in &languages {
                let set = Boundaries::new(&chosen, shortest).expect("good");
                let (chunks, digits) = set.chunks(&folds[name]);
                let chunk = digits as f64 * counts.characters_per_digit() / chunks as f64;
                assert!(
                    (chunk / target - 1.0).abs() < 0.1,
                    "{name}: {chunk} for {target}"
                );
            }
            let avoid = Boundaries::new(&chosen, 150).expect("good");
            let others =
                choose(&languages, |_| target, shortest, Some(&avoid)).expect("another set");
            assert!(others.iter().all(|other| !chosen.contains(other)));
        }
        assert_eq!(choose(&BTreeMap::new(), |_| 2_000.0, 150, None), None);
        assert_eq!(
            choose(&languages, |_| 200.0, 150, None),
            None,
            "150 digits are 300 characters"
        );
    }
}
