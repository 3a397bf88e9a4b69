//! The counts of an evaluation. They do not depend on the order in which books are processed.

use std::collections::BTreeMap;

use super::attacks::Attack;
use super::pieces::CopyLength;

/// The maximum number of false alarms that are listed. All of them are counted.
const NAMED: usize = 200;

/// Identifies copies that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyKey {
    /// The numbers of the detector, the attack, and the attack's strength.
    pub(super) detector: usize,
    pub(super) attack: usize,
    pub(super) strength: usize,
    pub(super) length: CopyLength,
    pub(super) language: String,
}

/// Checked copies and their results.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct CopyCount {
    /// The number of copies.
    pub(super) copies: u64,
    /// Copies for which the book they were made from was reported.
    pub(super) caught: u64,
    /// Copies for which an unrelated book was reported.
    pub(super) accused: u64,
    /// Pairs of a copy and an unrelated book that were reported, and all such pairs.
    pub(super) false_alarms: u64,
    pub(super) strangers: u64,
}

impl CopyCount {
    pub(super) fn add(&mut self, other: Self) {
        self.copies += other.copies;
        self.caught += other.caught;
        self.accused += other.accused;
        self.false_alarms += other.false_alarms;
        self.strangers += other.strangers;
    }
}

/// A book, and an unrelated book that was reported for a copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FalseAlarm {
    pub(super) detector: usize,
    pub(super) book: usize,
    pub(super) named: usize,
}

/// The results of all disguised copies.
#[derive(Debug, Default)]
pub(super) struct CopyFindings {
    pub(super) counts: BTreeMap<CopyKey, CopyCount>,
    /// The first false alarms in sorted order, with the number of copies of each.
    pub(super) false_alarms: BTreeMap<FalseAlarm, u64>,
}

impl CopyFindings {
    pub(super) fn count(&mut self, key: CopyKey, count: CopyCount) {
        self.counts.entry(key).or_default().add(count);
    }

    pub(super) fn false_alarm(&mut self, alarm: FalseAlarm, copies: u64) {
        *self.false_alarms.entry(alarm).or_default() += copies;
        // A dropped entry sorts after all that are kept, so its count is never restarted.
        if self.false_alarms.len() > NAMED {
            self.false_alarms.pop_last();
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (key, count) in other.counts {
            self.count(key, count);
        }
        for (alarm, copies) in other.false_alarms {
            self.false_alarm(alarm, copies);
        }
    }

    /// The sum of the counts with a `wanted` key.
    pub(super) fn sum(&self, wanted: impl Fn(&CopyKey) -> bool) -> CopyCount {
        let mut sum = CopyCount::default();
        self.counts
            .iter()
            .filter(|(key, _)| wanted(key))
            .for_each(|(_, count)| sum.add(*count));
        sum
    }
}

/// The cost of a recipe.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The number of gems of all books.
    pub gems: u64,
    /// The number of gems with a posting in the index.
    pub postings: u64,
    /// The number of books without gems.
    pub without: u64,
    /// The length of all texts, in characters.
    pub characters: u64,
    /// The length of all texts, in bytes of UTF-8.
    pub bytes: u64,
    /// The time one core took to compute the gems.
    pub seconds: f64,
}

/// The results for pairs of unchanged books.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PairsFound {
    /// For each row of the list, whether a check of the first book reports the second. For pairs that must not match, whether a
    /// check of either reports the other.
    pub(super) rows: Vec<bool>,
    /// The number of pairs that the list relates only through others: reported, and all. Both results are correct.
    pub(super) through_others_named: u64,
    pub(super) through_others: u64,
    /// The number of unrelated pairs that were reported, and of all unrelated pairs.
    pub(super) unrelated_named: u64,
    pub(super) unrelated: u64,
    /// The first of the unrelated pairs that were reported.
    pub(super) examples: Vec<(usize, usize)>,
}

/// A detector and its results.
#[derive(Debug)]
pub(super) struct Detected {
    pub(super) name: String,
    /// `None` for another program.
    pub(super) cost: Option<Cost>,
    pub(super) pairs: PairsFound,
}

/// The attacks of an evaluation.
pub(super) struct Attacks(pub(super) Vec<&'static Attack>);

impl Attacks {
    /// Every attack with each of its strengths, preceded by their numbers in a [`Key`].
    pub(super) fn with_strengths(
        &self,
    ) -> impl Iterator<Item = (usize, usize, &'static Attack, f64)> + '_ {
        self.0.iter().enumerate().flat_map(|(number, attack)| {
            attack
                .all_strengths()
                .iter()
                .enumerate()
                .map(move |(i, strength)| (number, i, *attack, *strength))
        })
    }
}
