//! Selects a few of all grams, the same ones wherever their surroundings are the same.

use std::collections::BTreeMap;
use std::mem::take;

use hashbrown::HashSet;

use super::grams::{ELIGIBLE, Gram};

/// Selects, from every `window` consecutive grams, the one with the smallest rank, the last one if several are equal
/// (Schleimer, Wilkerson, Aiken 2003, "Winnowing"), and from the whole text the `least` smallest.
///
/// So two texts that share `window` consecutive grams share a gem, a short text has a few gems, and a narrower window
/// selects everything that a wider one does. Grams that cannot be selected are not passed in; a window may have none
/// that can.
pub(super) struct Selection {
    window: u64,
    least: usize,
    /// The grams that are smaller than all following ones, by increasing rank.
    rising: Vec<Gram>,
    selected: Vec<Gram>,
    /// The smallest grams so far, by rank.
    smallest: BTreeMap<u64, Gram>,
    /// Grams must be smaller than this to be kept.
    bound: u64,
    /// Nearly every window has grams smaller than this. The others matter only where a window has none.
    small: u64,
    /// The number behind the last small gram.
    behind: u64,
    /// The grams behind it.
    waiting: Vec<Gram>,
    /// Where the small ones of some grams are among them.
    of_small: Vec<usize>,
}

/// The mean number of small grams in a window.
const SMALL: u64 = 6;

impl Selection {
    pub(super) fn new(window: u64, least: usize) -> Self {
        let (rising, selected, waiting, of_small) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (smallest, bound, behind) = (BTreeMap::new(), u64::MAX, 0);
        let small = (u64::MAX / window).saturating_mul(SMALL * ELIGIBLE);
        Self {
            window,
            least,
            rising,
            selected,
            smallest,
            bound,
            small,
            behind,
            waiting,
            of_small,
        }
    }

    /// Takes the next grams.
    pub(super) fn take(&mut self, grams: &[Gram]) {
        let mut waiting = take(&mut self.waiting);
        waiting.extend_from_slice(grams);
        self.of_small.resize(waiting.len(), 0);
        let mut count = 0;
        for (i, gram) in waiting.iter().enumerate() {
            // Written in any case, because whether it is small cannot be predicted.
            self.of_small[count] = i;
            count += usize::from(gram.rank < self.small);
        }
        let mut next = 0;
        for i in 0..count {
            let at = self.of_small[i];
            let gram = waiting[at];
            if gram.number - self.behind >= self.window || self.bound > self.small {
                waiting[next..at].iter().for_each(|gram| self.push(*gram));
            }
            self.push(gram);
            self.behind = gram.number + 1;
            next = at + 1;
        }
        // What was pushed is behind, and the last of all if nothing waits.
        if waiting[next..]
            .last()
            .is_some_and(|last| last.number - self.behind >= self.window)
        {
            for gram in waiting.drain(next..) {
                self.push(gram);
            }
        }
        waiting.drain(..next);
        self.waiting = waiting;
    }

    fn push(&mut self, gram: Gram) {
        while self
            .rising
            .last()
            .is_some_and(|last| last.rank >= gram.rank)
        {
            self.end_last(gram.number);
        }
        self.rising.push(gram);
        self.keep_if_small(gram);
    }

    /// Ends the range in which the last of the rising grams is the smallest: before the gram of this number. The range
    /// began behind the smaller one before it.
    fn end_last(&mut self, number: u64) {
        let Some(ended) = self.rising.pop() else {
            return;
        };
        let begun = self.rising.last().map_or(0, |smaller| smaller.number + 1);
        if number - begun >= self.window {
            self.selected.push(ended);
        }
    }

    fn keep_if_small(&mut self, gram: Gram) {
        if gram.rank >= self.bound {
            return;
        }
        self.smallest.entry(gram.rank).or_insert(gram);
        if self.smallest.len() > self.least {
            self.smallest.pop_last();
        }
        if self.smallest.len() == self.least {
            self.bound = self
                .smallest
                .last_key_value()
                .map_or(0, |(&largest, _)| largest);
        }
    }

    /// The selected grams of a text of `count` grams, without duplicates, in order of first place.
    pub(super) fn finish(mut self, count: u64) -> Vec<Gram> {
        for gram in take(&mut self.waiting) {
            self.push(gram);
        }
        while !self.rising.is_empty() {
            self.end_last(count);
        }
        let mut selected = self.selected;
        selected.extend(self.smallest.into_values());
        selected.sort_unstable_by_key(|gram| gram.number);
        let mut seen = HashSet::with_capacity(selected.len());
        selected.retain(|gram| seen.insert(gram.rank));
        selected
    }
}
