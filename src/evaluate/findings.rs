//! What was found: sums that do not depend on the order in which books are worked on.

use std::collections::BTreeMap;

use super::attacks::Attack;
use super::pieces::Length;

/// How many false alarms are kept by name; all are counted.
const NAMED: usize = 200;

/// What copies have in common that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Which detector, which attack, and which of the attack's strengths.
    pub(super) detector: usize,
    pub(super) attack: usize,
    pub(super) strength: usize,
    pub(super) length: Length,
    pub(super) language: String,
}

/// Copies that were checked, and what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// How many copies.
    pub(super) copies: u64,
    /// How many of them were taken for the book that they are of.
    pub(super) caught: u64,
    /// How many of them were taken for a book that they have nothing to do with.
    pub(super) accused: u64,
    /// How many times a copy was taken for such a book, of how many times that could have been.
    pub(super) false_alarms: u64,
    pub(super) strangers: u64,
}

impl Count {
    pub(super) fn add(&mut self, other: Self) {
        self.copies += other.copies;
        self.caught += other.caught;
        self.accused += other.accused;
        self.false_alarms += other.false_alarms;
        self.strangers += other.strangers;
    }
}

/// A book that was taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FalseAlarm {
    pub(super) detector: usize,
    pub(super) book: usize,
    pub(super) named: usize,
}

/// Everything that was found of disguised copies.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) counts: BTreeMap<Key, Count>,
    /// The first of them, and of how many copies each was.
    pub(super) false_alarms: BTreeMap<FalseAlarm, u64>,
}

impl Findings {
    pub(super) fn count(&mut self, key: Key, count: Count) {
        self.counts.entry(key).or_default().add(count);
    }

    pub(super) fn false_alarm(&mut self, alarm: FalseAlarm, copies: u64) {
        *self.false_alarms.entry(alarm).or_default() += copies;
        // One that is dropped stands behind so many others, and so never comes back.
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

    /// The sum of what `wanted` picks.
    pub(super) fn sum(&self, wanted: impl Fn(&Key) -> bool) -> Count {
        let mut sum = Count::default();
        self.counts.iter().filter(|(key, _)| wanted(key)).for_each(|(_, count)| sum.add(*count));
        sum
    }
}

/// What a recipe costs.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Cost {
    /// How many gems all books have together.
    pub gems: u64,
    /// How many of them have a posting in the index.
    pub postings: u64,
    /// How many books have none.
    pub without: u64,
    /// How long the texts are.
    pub characters: u64,
    /// The same in bytes of UTF-8.
    pub bytes: u64,
    /// How long one core took to make the gems.
    pub seconds: f64,
}

/// What became of the pairs that are known.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PairsFound {
    /// For every row of the list, whether a check of the first names the second, or for those that must not match, whether
    /// either names the other.
    pub(super) rows: Vec<bool>,
    /// How many pairs of books that are nothing to each other were named, and how many there are.
    pub(super) unrelated_named: u64,
    pub(super) unrelated: u64,
    /// The first of those that were named.
    pub(super) examples: Vec<(usize, usize)>,
}

/// One detector.
#[derive(Debug)]
pub(super) struct Detected {
    pub(super) name: String,
    /// `None` for another program.
    pub(super) cost: Option<Cost>,
    pub(super) pairs: PairsFound,
}

/// What was evaluated.
pub(super) struct Attacks(pub(super) Vec<&'static Attack>);

impl Attacks {
    /// Every attack with each of its strengths, as they are numbered in a [`Key`].
    pub(super) fn with_strengths(&self) -> impl Iterator<Item = (usize, usize, &'static Attack, f64)> + '_ {
        self.0.iter().enumerate().flat_map(|(number, attack)| {
            attack.all_strengths().iter().enumerate().map(move |(i, strength)| (number, i, *attack, *strength))
        })
    }
}
