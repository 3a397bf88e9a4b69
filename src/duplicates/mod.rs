//! Groups of texts that are copies, editions or parts of one another.

mod best;
mod history;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::matching::Relation;

pub use best::{Copy, Merit, best};
pub use history::{Segment, history};

/// Two texts with passages in common. `a` and `b` are positions in a list of texts, or any other numbers of theirs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair<N> {
    /// One text.
    pub a: N,
    /// The other text.
    pub b: N,
    /// Whether they are the same to the letter, perhaps after removing print artifacts.
    pub identical: bool,
    /// How `a`, as the query, relates to `b`, as the book.
    pub relation: Relation,
    /// The share of the gems of `a` that `b` has.
    pub share_of_a: f64,
    /// The share of the gems of `b` that `a` has.
    pub share_of_b: f64,
}

impl<N> Pair<N> {
    /// The same pair with new numbers, the smaller one first.
    pub fn renumbered<M: Ord>(self, number: impl Fn(N) -> M) -> Pair<M> {
        let Self { a, b, identical, relation, share_of_a, share_of_b } = self;
        let (a, b) = (number(a), number(b));
        if a <= b {
            return Pair { a, b, identical, relation, share_of_a, share_of_b };
        }
        let relation = match relation {
            Relation::PartOfBook => Relation::ContainsBook,
            Relation::ContainsBook => Relation::PartOfBook,
            Relation::SameText | Relation::Overlap | Relation::Quotations => relation,
        };
        Pair { a: b, b: a, identical, relation, share_of_a: share_of_b, share_of_b: share_of_a }
    }

    /// The name of the relation: `identical`, or that of [`Relation`].
    pub fn relation_name(&self) -> &'static str {
        if self.identical { "identical" } else { self.relation.as_str() }
    }
}

/// Texts that are connected by pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The texts, in order.
    pub members: Vec<u32>,
    /// The pairs that connect them, in order.
    pub pairs: Vec<Pair<u32>>,
}

/// Texts being put into groups: texts of one group are connected by pairs, directly or through others.
#[derive(Debug, Default)]
pub struct Grouping {
    /// Of each text, another one of its group; of the smallest, itself.
    parents: BTreeMap<u32, u32>,
    pairs: Vec<Pair<u32>>,
}

/// Once there are so many pairs, which take about 160 MB, those between members of one group are left out.
const MOST_PAIRS: usize = 4_000_000;

impl Grouping {
    /// Adds a pair, with the smaller number first. Adding it again changes nothing.
    pub fn add(&mut self, pair: Pair<u32>) {
        let (a, b) = (root(&mut self.parents, pair.a), root(&mut self.parents, pair.b));
        // The smallest member represents its group.
        self.parents.insert(a.max(b), a.min(b));
        if a != b || self.pairs.len() < MOST_PAIRS {
            self.pairs.push(pair);
        }
    }

    /// The groups, in the order of their first members.
    #[must_use]
    pub fn groups(self) -> Vec<Group> {
        let Self { mut parents, mut pairs } = self;
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
        let members: Vec<u32> = parents.keys().copied().collect();
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        let empty = || Group { members: Vec::new(), pairs: Vec::new() };
        for member in members {
            let root = root(&mut parents, member);
            groups.entry(root).or_insert_with(empty).members.push(member);
        }
        for pair in pairs {
            let root = root(&mut parents, pair.a);
            groups.entry(root).or_insert_with(empty).pairs.push(pair);
        }
        groups.into_values().collect()
    }
}

/// The representative of a text's group. Shortens the way to it (path halving, Tarjan and van Leeuwen 1984).
fn root(parents: &mut BTreeMap<u32, u32>, mut of: u32) -> u32 {
    loop {
        let parent = *parents.entry(of).or_insert(of);
        if parent == of {
            return of;
        }
        let above = *parents.entry(parent).or_insert(parent);
        parents.insert(of, above);
        of = above;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Group, Grouping, Pair, Relation};

    fn pair(a: u32, b: u32) -> Pair<u32> {
        Pair { a, b, identical: false, relation: Relation::PartOfBook, share_of_a: 1.0, share_of_b: 0.25 }
    }

    #[test]
    fn a_pair_can_be_turned_round() {
        let turned = pair(7, 3).renumbered(|number| number);
        assert_eq!((turned.a, turned.b), (3, 7));
        assert_eq!((turned.relation, turned.share_of_a, turned.share_of_b), (Relation::ContainsBook, 0.25, 1.0));
        assert_eq!(pair(3, 7).renumbered(|number| number), pair(3, 7));
    }

    /// The texts that can be reached from one.
    fn reached(from: u32, pairs: &[(u32, u32)]) -> BTreeSet<u32> {
        let mut reached = BTreeSet::from([from]);
        loop {
            let more: Vec<u32> = pairs
                .iter()
                .flat_map(|&(a, b)| [(a, b), (b, a)])
                .filter(|(from, to)| reached.contains(from) && !reached.contains(to))
                .map(|(_, to)| to)
                .collect();
            if more.is_empty() {
                return reached;
            }
            reached.extend(more);
        }
    }

    proptest! {
        #[test]
        fn groups_are_what_can_be_reached(pairs in prop::collection::btree_set((0..30_u32, 0..30_u32), 0..40)) {
            let pairs: Vec<(u32, u32)> = pairs.into_iter().filter(|(a, b)| a < b).collect();
            let mut grouping = Grouping::default();
            for (a, b) in pairs.iter().rev().chain(pairs.first()) {
                grouping.add(pair(*a, *b));
            }
            let groups = grouping.groups();
            let all: BTreeSet<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            prop_assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(), all.len());
            prop_assert_eq!(groups.iter().map(|group| group.pairs.len()).sum::<usize>(), pairs.len());
            prop_assert!(groups.is_sorted_by_key(|group| group.members[0]));
            for Group { members, pairs: of_group } in &groups {
                let set: BTreeSet<u32> = members.iter().copied().collect();
                prop_assert_eq!(&reached(members[0], &pairs), &set);
                prop_assert!(members.is_sorted());
                prop_assert!(of_group.iter().all(|pair| set.contains(&pair.a) && set.contains(&pair.b)));
            }
        }
    }
}
