//! Selects a few of all shingles, the same ones wherever their surroundings are the same.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashSet;

use super::shingles::Shingle;

/// Selects, from every `window` consecutive shingles, the one with the smallest rank, the last one if several are
/// equal (Schleimer, Wilkerson, Aiken 2003, "Winnowing"), and from the whole text the `least` smallest.
///
/// So two texts that share `window` consecutive shingles share a gem, a short text has a few gems, and a narrower
/// window selects everything that a wider one does.
pub(super) struct Selection {
    window: usize,
    least: usize,
    /// The number of shingles so far.
    count: usize,
    /// The shingles of the last window that are smaller than all following ones, with their indexes: the first is the
    /// smallest.
    falling: VecDeque<(usize, Shingle)>,
    selected: Vec<Shingle>,
    last_selected: Option<usize>,
    /// The smallest shingles so far, by rank.
    smallest: BTreeMap<u64, Shingle>,
    /// Shingles must be smaller than this to be kept.
    bound: u64,
}

impl Selection {
    pub(super) fn new(window: usize, least: usize) -> Self {
        let (falling, selected) = (VecDeque::new(), Vec::new());
        Self {
            window,
            least,
            count: 0,
            falling,
            selected,
            last_selected: None,
            smallest: BTreeMap::new(),
            bound: u64::MAX,
        }
    }

    pub(super) fn push(&mut self, shingle: Shingle) {
        while self.falling.back().is_some_and(|(_, last)| last.rank >= shingle.rank) {
            self.falling.pop_back();
        }
        self.falling.push_back((self.count, shingle));
        if self.falling.front().is_some_and(|(number, _)| number + self.window <= self.count) {
            self.falling.pop_front();
        }
        self.count += 1;
        if self.count >= self.window
            && let Some(&(number, smallest)) = self.falling.front()
            && self.last_selected != Some(number)
        {
            self.last_selected = Some(number);
            self.selected.push(smallest);
        }
        self.keep_if_small(shingle);
    }

    fn keep_if_small(&mut self, shingle: Shingle) {
        if shingle.rank >= self.bound {
            return;
        }
        self.smallest.entry(shingle.rank).or_insert(shingle);
        if self.smallest.len() > self.least {
            self.smallest.pop_last();
        }
        if self.smallest.len() == self.least {
            self.bound = self.smallest.last_key_value().map_or(0, |(&largest, _)| largest);
        }
    }

    /// The selected shingles, without duplicates, in order of first place.
    pub(super) fn finish(self) -> Vec<Shingle> {
        let mut selected = self.selected;
        selected.extend(self.smallest.into_values());
        selected.sort_by_key(|shingle| (shingle.place.start, shingle.place.end));
        let mut seen = HashSet::with_capacity(selected.len());
        selected.retain(|shingle| seen.insert(shingle.rank));
        selected
    }
}
