//! How much of a text several passages cover together.

/// Number of passages above which overlapping ones are joined.
const MANY: usize = 4_096;

/// Passages of a text, which may overlap. The memory depends on the text, not on the number of passages.
#[derive(Debug, Default, Clone)]
pub struct Covered {
    passages: Vec<(u64, u64)>,
    /// How many remained when they were last joined.
    joined: usize,
}

impl Covered {
    /// Adds the passage `start..end`.
    pub fn add(&mut self, (start, end): (u64, u64)) {
        if end > start {
            self.passages.push((start, end));
        }
        if self.passages.len() >= MANY.max(2 * self.joined) {
            self.join();
        }
    }

    fn join(&mut self) {
        join_passages(&mut self.passages);
        self.joined = self.passages.len();
    }

    /// The share of a text of this length that the passages cover together, from 0 to 1.
    #[must_use]
    pub fn share(mut self, length: u64) -> f64 {
        self.join();
        let sum: u64 = self
            .passages
            .iter()
            .map(|(start, end)| (*end).min(length).saturating_sub(*start))
            .sum();
        if length == 0 {
            0.0
        } else {
            sum as f64 / length as f64
        }
    }
}

/// Sorts passages, and joins those that overlap or touch.
pub fn join_passages(passages: &mut Vec<(u64, u64)>) {
    passages.sort_unstable();
    passages.dedup_by(|next, last| {
        let touches = next.0 <= last.1;
        last.1 = if touches { last.1.max(next.1) } else { last.1 };
        touches
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Covered, MANY};

    proptest! {
        #[test]
        fn as_counted_one_by_one(
            passages in prop::collection::vec((0..60_u64, 0..60_u64), 0..8),
            length in 0..50_u64,
        ) {
            let is_in = |at: &u64| passages.iter().any(|(start, end)| (*start..*end).contains(at));
            let share = if length == 0 { 0.0 } else { (0..length).filter(is_in).count() as f64 / length as f64 };
            let mut covered = Covered::default();
            for passage in &passages {
                covered.add(*passage);
            }
            prop_assert!((covered.share(length) - share).abs() < 1e-12);
        }
    }

    #[test]
    fn memory_depends_on_the_text() {
        let mut covered = Covered::default();
        for i in 0..1_000_000 {
            covered.add((i % 1_000, i % 1_000 + 1));
        }
        assert!(covered.passages.len() <= MANY);
        assert!((covered.share(2_000) - 0.5).abs() < 1e-12);
    }
}
