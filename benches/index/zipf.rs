//! Books whose gems follow a Zipf distribution: the gem of rank r is in C/r books, and at most in all.

use lapidary_gems::{Gem, Recipe};

use crate::Outcome;
use crate::data::{Data, GEMS};
use crate::query::{Query, Right};
use crate::random::{Purpose, Random, scramble};

/// The share of gems that are in more books than the cap.
const COMMON: f64 = 0.01;
/// The number of common gems in a query.
const COMMON_IN_QUERY: usize = 50;
/// How far the expected frequency of a gem must be from the cap, so that the sampled frequency is on the same side.
const CLEARLY: f64 = 1.25;

/// Books with about [`GEMS`] gems with a Zipf distribution.
pub struct Zipf {
    seed: u64,
    books: u32,
    cap: u32,
    key: u32,
    /// For each rank, the mean number of gems up to this rank in a book. Successive values differ by at most 1.
    expected: Vec<f64>,
}

impl Zipf {
    /// # Errors
    /// If there are too few books for common gems.
    pub fn new(seed: u64, postings: u64, cap: u32) -> Outcome<Self> {
        let books = u32::try_from(postings / GEMS)?;
        let least = 2 * GEMS * u64::from(cap);
        if postings < least {
            return Err(format!(
                "--zipf: {least} postings at least for a cap of {cap}, or give --common-cap"
            )
            .into());
        }
        // With g gems, the gem of rank r is in C/r = COMMON*g*cap/r books. The sum over all ranks, with an integral
        // for the tail, is C * (1 + ln(books * g / C)) and must equal the number of postings.
        let for_one = COMMON * f64::from(cap);
        let gems = postings as f64 / (for_one * (1.0 + (f64::from(books) / for_one).ln()));
        let share = |rank: f64| (for_one * gems / (rank * f64::from(books))).min(1.0);
        let expected = (1..=gems as u32).scan(0.0, |sum, rank| {
            *sum += share(f64::from(rank));
            Some(*sum)
        });
        let key = Random::new(seed, Purpose::Zipf, 0).next() as u32;
        Ok(Self {
            seed,
            books,
            cap,
            key,
            expected: expected.collect(),
        })
    }

    /// The number of distinct gems.
    pub fn distinct(&self) -> usize {
        self.expected.len()
    }

    /// The number of gems in more books than the cap.
    pub fn common(&self) -> usize {
        (self.distinct() as f64 * COMMON) as usize
    }

    /// A check of 50 common gems and 150 others.
    pub fn query(&self, number: u64, recipe: &Recipe, others: Others) -> Query {
        let mut random = Random::new(self.seed, Purpose::Query, number);
        let (common, end) = (COMMON * self.distinct() as f64, self.distinct() as u64);
        let mut ranks = random.different(COMMON_IN_QUERY, 0, (common / CLEARLY) as u64);
        let ((from, end), right) = match others {
            Others::InNoBook => (
                (end, u32::MAX.into()),
                Right::Nothing {
                    gems: GEMS as u32,
                    common: COMMON_IN_QUERY as u32,
                },
            ),
            Others::InBooks => (
                ((common * CLEARLY) as u64, end),
                Right::Common(COMMON_IN_QUERY as u32),
            ),
        };
        ranks.extend(random.different(GEMS as usize - COMMON_IN_QUERY, from, end));
        Query::of_gems(
            ranks
                .into_iter()
                .map(|rank| self.gem(rank as u32))
                .collect(),
            recipe,
            right,
        )
    }

    fn gem(&self, rank: u32) -> Gem {
        Gem(scramble(rank ^ self.key).into())
    }
}

/// The other gems of a query.
#[derive(Clone, Copy)]
pub enum Others {
    /// Gems that occur in no book.
    InNoBook,
    /// Gems of the index that are not common, chosen uniformly.
    InBooks,
}

impl Data for Zipf {
    fn name(&self) -> String {
        format!(
            "zipf-{}-books-cap-{}-seed-{}",
            self.books, self.cap, self.seed
        )
    }

    fn books(&self) -> u32 {
        self.books
    }

    /// Draws one gem from each interval of ranks that holds one on average (stratified sampling), so that each gem
    /// occurs in its share of the books. A gem in two intervals may be drawn twice and counts once.
    fn gems(&self, book: u32) -> Vec<Gem> {
        let mut random = Random::new(self.seed, Purpose::Book, book.into());
        let stretches = self.expected.last().map_or(0, |sum| *sum as u32);
        let drawn = (0..stretches).map(|stretch| f64::from(stretch) + random.unit());
        let mut ranks: Vec<usize> = drawn
            .map(|at| self.expected.partition_point(|sum| *sum <= at))
            .collect();
        ranks.dedup();
        ranks
            .into_iter()
            .map(|rank| self.gem(rank as u32))
            .collect()
    }
}
