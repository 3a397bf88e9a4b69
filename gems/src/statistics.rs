//! Which 4-digit sequences are how frequent in folded texts, and a set of them to cut at.
//!
//! The authors of the algorithm chose their boundary sequences from such counts over a large library: at the right set,
//! chunks are about equally long in every language. Not for texts of one language alone: any set is right for them.

use std::collections::BTreeMap;

use super::boundaries::{Boundaries, SEQUENCE};

/// All values of a sequence.
const SEQUENCES: usize = 10_usize.pow(SEQUENCE as u32);
/// The most that one sequence may contribute to the cuts of any language: a name that folds to a sequence must not decide
/// where its book is cut.
const LARGEST_PART: f64 = 0.12;
/// The least that one sequence has to contribute in every language: what stands in a few books only (numbers of pages, say)
/// fits these books and no others.
const SMALLEST_PART: f64 = 0.005;
/// How often the set found is gone through for exchanges that make it better.
const ROUNDS: usize = 20;

/// How often each sequence stands in some folded texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceCounts {
    counts: Box<[u64]>,
    /// How many characters the texts have.
    pub characters: u64,
    /// How many digits their folds have.
    pub digits: u64,
}

impl Default for SequenceCounts {
    fn default() -> Self {
        Self { counts: vec![0; SEQUENCES].into(), characters: 0, digits: 0 }
    }
}

impl SequenceCounts {
    /// Counts every place of a fold, of a text of so many characters, at which a sequence begins. Digits outside ASCII
    /// belong to none.
    #[must_use]
    pub fn of_fold(fold: &str, characters: u64) -> Self {
        let mut counted = Self { characters, digits: fold.chars().count() as u64, ..Self::default() };
        for window in fold.as_bytes().windows(SEQUENCE).filter(|window| window.iter().all(u8::is_ascii_digit)) {
            let sequence = window.iter().fold(0, |n, digit| 10 * n + usize::from(digit - b'0'));
            counted.counts[sequence] += 1;
        }
        counted
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts.iter()).for_each(|(count, more)| *count += more);
        self.characters += other.characters;
        self.digits += other.digits;
    }

    /// How many characters of text a digit stands for, on average.
    #[must_use]
    pub fn characters_per_digit(&self) -> f64 {
        self.characters as f64 / self.digits.max(1) as f64
    }

    /// How often a sequence of four digits was counted; 0 for what is none.
    #[must_use]
    pub fn of(&self, sequence: &str) -> u64 {
        let value = sequence.parse().ok().filter(|_| sequence.len() == SEQUENCE);
        value.and_then(|value: usize| self.counts.get(value)).copied().unwrap_or_default()
    }

    /// Every sequence that was counted, with its count, the most frequent first.
    #[must_use]
    pub fn sorted(&self) -> Vec<(String, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut sorted: Vec<_> = counts.map(|(value, count)| (format!("{value:04}"), *count)).collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sorted
    }
}

/// Sequences that cut the texts of every language into chunks of about as many characters as `target` wants for it, not
/// counting chunks of fewer digits than `shortest`; `None` when there are none.
///
/// Sequences of `avoid` are not taken, nor those that may overlap with themselves or are too rare or too frequent in a
/// language. The set is grown by the sequence that
/// brings the cuts of all languages nearest to the target (least squares), until none does, and then bettered by exchanges.
#[must_use]
pub fn choose(
    by_language: &BTreeMap<String, SequenceCounts>,
    target: impl Fn(&str) -> f64,
    shortest: usize,
    avoid: Option<&Boundaries>,
) -> Option<Vec<String>> {
    let avoided: Vec<String> = avoid.map(|avoid| avoid.sequences().collect()).unwrap_or_default();
    let languages: Vec<(&String, &SequenceCounts)> =
        by_language.iter().filter(|(_, counts)| counts.characters > 0).collect();
    // Cuts come about as radioactive decays do: beyond the shortest length a chunk goes on for as long as cuts are apart on
    // average, however long it is already.
    let apart: Vec<f64> = languages
        .iter()
        .map(|(language, counts)| target(language) - shortest as f64 * counts.characters_per_digit())
        .collect();
    if apart.iter().any(|apart| *apart <= 0.0) {
        return None;
    }
    // Of each sequence, the part of the cuts that it would make in each language.
    let parts = |sequence: &str| -> Vec<f64> {
        let languages = languages.iter().zip(&apart);
        languages.map(|((_, counts), apart)| counts.of(sequence) as f64 * apart / counts.characters as f64).collect()
    };
    let overlaps = |s: &str| (1..SEQUENCE).any(|shift| s[shift..] == s[..SEQUENCE - shift]);
    let candidates: Vec<(String, Vec<f64>)> = (0..SEQUENCES)
        .map(|value| format!("{value:04}"))
        .filter(|sequence| !overlaps(sequence) && !avoided.contains(sequence))
        .map(|sequence| (parts(&sequence), sequence))
        .filter(|(parts, _)| parts.iter().all(|part| (SMALLEST_PART..=LARGEST_PART).contains(part)))
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
        sum.iter_mut().zip(&candidates[candidate].1).for_each(|(sum, part)| *sum += part);
        chosen.push(candidate);
    }
    for _ in 0..ROUNDS {
        let mut exchanged = false;
        for i in 0..chosen.len() {
            let out = &candidates[chosen[i]].1;
            let Some((left, candidate)) = best(&sum, Some(out), &chosen) else { break };
            if left < error(&sum, None, &nothing) {
                for (sum, (less, more)) in sum.iter_mut().zip(out.iter().zip(&candidates[candidate].1)) {
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
    let mut sequences: Vec<String> = chosen.into_iter().map(|candidate| candidates[candidate].0.clone()).collect();
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
        assert_eq!((counts.of("1212"), counts.of("2121"), counts.of("12"), counts.of("121x")), (3, 2, 0, 0));
        let mut twice = counts.clone();
        twice.add(&counts);
        assert_eq!(twice.sorted(), [("1212".to_owned(), 6), ("2121".to_owned(), 4)]);
    }

    /// Folds of random digits, of which each language prefers others.
    fn folds() -> BTreeMap<String, String> {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut all = BTreeMap::new();
        for favourite in ['1', '5', '8'] {
            let mut digit = || if random(3) == 0 { favourite } else { char::from(b'1' + random(8) as u8) };
            let fold: String = std::iter::repeat_with(&mut digit).take(300_000).collect();
            all.insert(favourite.to_string(), fold);
        }
        all
    }

    #[test]
    fn chunks_are_as_long_as_asked_for_in_every_language() {
        let folds = folds();
        let counted = |(name, fold): (&String, &String)| (name.clone(), SequenceCounts::of_fold(fold, 600_000));
        let languages: BTreeMap<String, SequenceCounts> = folds.iter().map(counted).collect();
        for (target, shortest) in [(900.0, 1), (2_000.0, 150)] {
            let chosen = choose(&languages, |_| target, shortest, None).expect("a set");
            assert!(chosen.len() > 8, "{chosen:?}");
            for (name, counts) in &languages {
                let set = Boundaries::new(&chosen, shortest).expect("good");
                let (chunks, digits) = set.chunks(&folds[name]);
                let chunk = digits as f64 * counts.characters_per_digit() / chunks as f64;
                assert!((chunk / target - 1.0).abs() < 0.1, "{name}: {chunk} for {target}");
            }
            let avoid = Boundaries::new(&chosen, 150).expect("good");
            let others = choose(&languages, |_| target, shortest, Some(&avoid)).expect("another set");
            assert!(others.iter().all(|other| !chosen.contains(other)));
        }
        assert_eq!(choose(&BTreeMap::new(), |_| 2_000.0, 150, None), None);
        assert_eq!(choose(&languages, |_| 200.0, 150, None), None, "150 digits are 300 characters");
    }
}
