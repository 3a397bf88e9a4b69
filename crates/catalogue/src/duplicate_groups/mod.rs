//! Groups of texts that are copies or editions of one another, and which of them overlap.

mod best;
mod history;

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use lapidary_checking::Relation;

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
        let Self {
            a,
            b,
            identical,
            relation,
            share_of_a,
            share_of_b,
        } = self;
        let (a, b) = (number(a), number(b));
        if a <= b {
            return Pair {
                a,
                b,
                identical,
                relation,
                share_of_a,
                share_of_b,
            };
        }
        let relation = match relation {
            Relation::PartOfBook => Relation::ContainsBook,
            Relation::ContainsBook => Relation::PartOfBook,
            Relation::SameText | Relation::Overlap | Relation::Quotations | Relation::SameWork => {
                relation
            }
        };
        Pair {
            a: b,
            b: a,
            identical,
            relation,
            share_of_a: share_of_b,
            share_of_b: share_of_a,
        }
    }

    /// Whether the two are copies or editions of one text, and not parts of one another.
    #[must_use]
    pub fn is_of_same(&self) -> bool {
        self.identical || self.relation == Relation::SameText
    }

    /// How much they have in common: the larger of the shares.
    #[must_use]
    pub fn strength(&self) -> f64 {
        self.share_of_a.max(self.share_of_b)
    }

    /// The name of the relation: `identical`, or that of [`Relation`].
    pub fn relation_name(&self) -> &'static str {
        if self.identical {
            "identical"
        } else {
            self.relation.as_str()
        }
    }
}

/// Texts with pairs between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The texts, in order.
    pub members: Vec<u32>,
    /// The pairs between them, in order.
    pub pairs: Vec<Pair<u32>>,
}

/// What a search for duplicates left out, because there is too much of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DuplicatesLeftOut)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Number of books with gems of more than 32 earlier books. They were compared with the 32 that have most of their gems.
    pub texts_with_many: u64,
    /// Number of books with gems that more than 500 books of a library have. These gems connect no books.
    pub texts_with_common_gems: u64,
    /// Number of pairs that were found, and are too many to be kept.
    pub pairs: u64,
}

impl LeftOut {
    /// Whether it is nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, other: Self) {
        self.texts_with_many += other.texts_with_many;
        self.texts_with_common_gems += other.texts_with_common_gems;
        self.pairs += other.pairs;
    }
}

/// Pairs being put in order. Texts that are the same, directly or through others, are a group.
#[derive(Debug, Default)]
pub struct Grouping {
    same: Partition,
    pairs: Vec<Pair<u32>>,
    left_out: u64,
}

/// What pairs say.
#[derive(Debug, Default, PartialEq)]
pub struct GroupedPairs {
    /// The groups of texts that are the same, in the order of their first members.
    pub groups: Vec<Group>,
    /// Of each two groups, or texts in none, that have text in common, the pair with most of it; those with most come first.
    pub overlaps: Vec<Pair<u32>>,
    /// The number of pairs that were too many to be kept.
    pub left_out: u64,
}

/// Once there are so many pairs, which take about 160 MB, only those are kept that join groups.
const MOST_PAIRS: usize = 4_000_000;
/// The most overlaps that are kept.
const MOST_OVERLAPS: usize = 100_000;

impl Grouping {
    /// Adds a pair, with the smaller number first. Adding it again changes nothing.
    pub fn add(&mut self, pair: Pair<u32>) {
        let joins = pair.is_of_same() && self.same.join(pair.a, pair.b);
        if joins || self.pairs.len() < MOST_PAIRS {
            self.pairs.push(pair);
        } else {
            self.left_out += 1;
        }
    }

    /// The texts that are connected by pairs of any kind, directly or through others, in the order of their first members.
    #[must_use]
    pub fn connected(&self) -> Vec<Group> {
        let mut parts = Partition::default();
        for pair in &self.pairs {
            parts.join(pair.a, pair.b);
        }
        parts.groups(&ordered(self.pairs.clone())).0
    }

    /// The groups, and what overlaps.
    #[must_use]
    pub fn grouped(self) -> GroupedPairs {
        let Self {
            mut same,
            pairs,
            mut left_out,
        } = self;
        let (groups, between) = same.groups(&ordered(pairs));
        let mut overlaps: BTreeMap<(u32, u32), Pair<u32>> = BTreeMap::new();
        for pair in between {
            let (a, b) = (same.root(pair.a), same.root(pair.b));
            let strongest = overlaps.entry((a.min(b), a.max(b))).or_insert(pair);
            if pair.strength() > strongest.strength() {
                *strongest = pair;
            }
        }
        let mut overlaps: Vec<Pair<u32>> = overlaps.into_values().collect();
        overlaps.sort_by(|a, b| {
            b.strength()
                .total_cmp(&a.strength())
                .then((a.a, a.b).cmp(&(b.a, b.b)))
        });
        left_out += overlaps.len().saturating_sub(MOST_OVERLAPS) as u64;
        overlaps.truncate(MOST_OVERLAPS);
        GroupedPairs {
            groups,
            overlaps,
            left_out,
        }
    }
}

/// The same pairs in order, each once.
fn ordered(mut pairs: Vec<Pair<u32>>) -> Vec<Pair<u32>> {
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    pairs.dedup_by_key(|pair| (pair.a, pair.b));
    pairs
}

/// Texts in disjoint parts: of each text, another one of its part; of the smallest, itself.
#[derive(Debug, Default)]
struct Partition(BTreeMap<u32, u32>);

impl Partition {
    /// Makes one part of those of two texts. Returns whether they were two.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0.insert(a.max(b), a.min(b));
        a != b
    }

    /// The representative of a text's part, its smallest member. Shortens the way to it (path halving, Tarjan and van Leeuwen
    /// 1984).
    fn root(&mut self, mut of: u32) -> u32 {
        loop {
            let parent = *self.0.entry(of).or_insert(of);
            if parent == of {
                return of;
            }
            let above = *self.0.entry(parent).or_insert(parent);
            self.0.insert(of, above);
            of = above;
        }
    }

    /// The parts of several texts, with the pairs within them, and the other pairs.
    fn groups(&mut self, pairs: &[Pair<u32>]) -> (Vec<Group>, Vec<Pair<u32>>) {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        let members: Vec<u32> = self.0.keys().copied().collect();
        for member in members {
            groups
                .entry(self.root(member))
                .or_default()
                .members
                .push(member);
        }
        let mut between = Vec::new();
        for pair in pairs {
            match (self.root(pair.a), self.root(pair.b)) {
                (a, b) if a == b => groups.entry(a).or_default().pairs.push(*pair),
                _ => between.push(*pair),
            }
        }
        (groups.into_values().collect(), between)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Group, GroupedPairs, Grouping, Pair, Relation};

    fn pair(a: u32, b: u32) -> Pair<u32> {
        Pair {
            a,
            b,
            identical: false,
            relation: Relation::PartOfBook,
            share_of_a: 1.0,
            share_of_b: 0.25,
        }
    }

    #[test]
    fn a_pair_can_be_turned_round() {
        let turned = pair(7, 3).renumbered(|number| number);
        assert_eq!((turned.a, turned.b), (3, 7));
        assert_eq!(
            (turned.relation, turned.share_of_a, turned.share_of_b),
            (Relation::ContainsBook, 0.25, 1.0)
        );
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
            let groups = grouping.connected();
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

        /// Only the same texts are a group. Of the other pairs, each two groups have the strongest.
        #[test]
        fn what_overlaps_joins_no_groups(
            pairs in prop::collection::btree_map((0..20_u32, 0..20_u32), (any::<bool>(), 0..100_u32), 0..40),
        ) {
            let mut grouping = Grouping::default();
            let pairs: Vec<Pair<u32>> = pairs
                .into_iter()
                .filter(|((a, b), _)| a < b)
                .map(|((a, b), (is_same, share))| {
                    let relation = if is_same { Relation::SameText } else { Relation::Overlap };
                    Pair { relation, share_of_a: f64::from(share) / 100.0, share_of_b: 0.0, ..pair(a, b) }
                })
                .collect();
            for pair in &pairs {
                grouping.add(*pair);
            }
            let GroupedPairs { groups, overlaps, left_out } = grouping.grouped();
            let same: Vec<(u32, u32)> = pairs.iter().filter(|pair| pair.is_of_same()).map(|pair| (pair.a, pair.b)).collect();
            let group = |of: u32| reached(of, &same);
            for Group { members, .. } in &groups {
                prop_assert!(members.len() > 1);
                prop_assert_eq!(&group(members[0]), &members.iter().copied().collect::<BTreeSet<u32>>());
            }
            prop_assert_eq!(groups.iter().map(|group| group.members.len()).sum::<usize>(),
                same.iter().flat_map(|&(a, b)| [a, b]).collect::<BTreeSet<u32>>().len());
            let between = |a: u32, b: u32| (group(a).min(group(b)), group(a).max(group(b)));
            let apart: BTreeSet<_> =
                pairs.iter().filter(|pair| group(pair.a) != group(pair.b)).map(|pair| between(pair.a, pair.b)).collect();
            prop_assert_eq!(overlaps.iter().map(|pair| between(pair.a, pair.b)).collect::<BTreeSet<_>>(), apart.clone());
            prop_assert_eq!((overlaps.len(), left_out), (apart.len(), 0));
            for found in &overlaps {
                let rivals = pairs.iter().filter(|pair| between(pair.a, pair.b) == between(found.a, found.b));
                prop_assert!(rivals.clone().all(|pair| pair.strength() <= found.strength()));
            }
            prop_assert!(overlaps.is_sorted_by(|a, b| a.strength() >= b.strength()));
        }
    }
}
