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
    let avoided: Vec<String> = avoid
        .map(|avoid| avoid.sequences().collect())
        .unwrap_or_default();
    let languages: Vec<(&String, &SequenceCounts)> = by_language
        .iter()
        .filter(|(_, counts)| counts.characters > 0)
        .collect();
    // Cuts occur like radioactive decays: beyond the minimum length, the expected remaining length of a chunk is the
    // average distance between cuts, however long the chunk already is.
    let apart: Vec<f64> = languages
        .iter()
        .map(|(language, counts)| {
            target(language) - shortest as f64 * counts.characters_per_digit()
        })
        .collect();
    if apart.iter().any(|apart| *apart <= 0.0) {
        return None;
    }
    // The fraction of the cuts that each sequence would make in each language.
    let parts = |sequence: &str| -> Vec<f64> {
        let languages = languages.iter().zip(&apart);
        languages
            .map(|((_, counts), apart)| {
                counts.of(sequence) as f64 * apart / counts.characters as f64
            })
            .collect()
    };
    let overlaps = |s: &str| (1..SEQUENCE).any(|shift| s[shift..] == s[..SEQUENCE - shift]);
    let candidates: Vec<(String, Vec<f64>)> = (0..SEQUENCES)
        .map(|value| format!("{value:04}"))
        .filter(|sequence| !overlaps(sequence) && !avoided.contains(sequence))
        .map(|sequence| (parts(&sequence), sequence))
        .filter(|(parts, _)| {
            parts
                .iter()
                .all(|part| (SMALLEST_PART..=LARGEST_PART).contains(part))
        })
        .map(|(parts, sequence)| (sequence, parts))
        .collect();

    let mut sum = vec![0.0; languages.len()];
    let error = |sum: &[f64], less: Option<&[f64]>, more: &[f64]| -> f64 {
        let of = |i: usize| sum[i] - less.map_or(0.0, |less| less[i]) + more[i] - 1.0;
        (0..sum.len()).map(|i| of(i) * of(i)).sum()
    };
    let nothing = vec![0.0; languages.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let best = |sum: &[f64], less: Option<&[f64]>, chosen: &[usize]| {
        let free = (0..candidates.len()).filter(|candidate| !chosen.contains(candidate));
        let errors = free.map(|candidate| (error(sum, less, &candidates[candidate].1), candidate));
        errors.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    while let Some((left, candidate)) = best(&sum, None, &chosen)
        && left < error(&sum, None, &nothing)
    {
        sum.iter_mut()
            .zip(&candidates[candidate].1)
            .for_each(|(sum, part)| *sum += part);
        chosen.push(candidate);
    }
    for _ in 0..ROUNDS {
        let mut exchanged = false;
        for i in 0..chosen.len() {
            let out = &candidates[chosen[i]].1;
            let Some((left, candidate)) = best(&sum, Some(out), &chosen) else {
                break;
            };
            if left < error(&sum, None, &nothing) {
                for (sum, (less, more)) in
                    sum.iter_mut().zip(out.iter().zip(&candidates[candidate].1))
                {
                    *sum += more - less;
                }
                chosen[i] = candidate;
                exchanged = true;
            }
        }
        if !exchanged {
            break;
        }
    }
    let mut sequences: Vec<String> = chosen
        .into_iter()
        .map(|candidate| candidates[candidate].0.clone())
        .collect();
    sequences.sort();
    (!sequences.is_empty()).then_some(sequences)
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
