//! A walk along numbers: where the addresses of a site's books differ only in a number, those with the numbers around it are tried, too.
//! So books are found that no page links to. A run of numbers without a book ends the walk in its direction.

use serde::{Deserialize, Serialize};

use super::frontier::QueuedEntry;
use super::run::Harvest;
use super::{Entry, HarvestError, Mark, SourceKind};

/// How many addresses must show the numbers, and how many of them may do without.
const FIRST: usize = 10;
const OTHERS: usize = 2;
/// How many numbers before and behind that of a book are tried.
const REACH: u64 = 10;
/// The walk ends for good if most tries are in vain: this many, and this many for each that was not.
const IN_VAIN: u64 = 100;
const IN_VAIN_EACH: u64 = 4;

/// What is known of a site's numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NumberWalk {
    /// The first addresses of books, until there are enough.
    first: Vec<String>,
    /// What is before and behind the number.
    around: Option<(String, String)>,
    /// How many tries led to a book, and how many did not.
    found: u64,
    missed: u64,
}

impl NumberWalk {
    /// Learns from the address of a book.
    pub(super) fn learn(&mut self, address: &str) {
        if self.first.len() >= FIRST || self.first.iter().any(|known| known == address) {
            return;
        }
        self.first.push(address.to_owned());
        if self.first.len() == FIRST {
            self.around = around(&self.first);
        }
    }

    /// The addresses to try around that of a book.
    pub(super) fn near(&self, address: &str) -> Vec<String> {
        let number = self
            .around
            .as_ref()
            .and_then(|(before, behind)| number(address, before, behind));
        let (Some((before, behind)), Some((digits, at))) = (&self.around, number) else {
            return Vec::new();
        };
        if self.missed > IN_VAIN + IN_VAIN_EACH * self.found {
            return Vec::new();
        }
        let width = if digits.starts_with('0') {
            digits.len()
        } else {
            0
        };
        let near = at.saturating_sub(REACH)..=at.saturating_add(REACH);
        near.filter(|near| *near != at)
            .map(|near| format!("{before}{near:0width$}{behind}"))
            .collect()
    }

    /// Counts a try.
    pub(super) fn tried(&mut self, found: bool) {
        *if found {
            &mut self.found
        } else {
            &mut self.missed
        } += 1;
    }
}

impl Harvest<'_> {
    /// Counts a guess.
    pub(super) fn tried(&mut self, found: bool) {
        self.state.walk.tried(found);
    }

    /// Queues addresses with the numbers around that of a site's book.
    pub(super) fn guess(&mut self, queued: &QueuedEntry) -> Result<(), HarvestError> {
        if self.source.kind != SourceKind::Site {
            return Ok(());
        }
        let address = &queued.entry.address;
        self.state.walk.learn(address);
        let guesses: Vec<Entry> = self
            .state
            .walk
            .near(address)
            .into_iter()
            .map(|near| Entry {
                book: true,
                mark: Some(Mark::Guess),
                ..Entry::page(near)
            })
            .collect();
        let mut rows = Vec::new();
        // Not a step deeper: numbers are no trap.
        self.listing().consider(guesses, queued.depth, &mut rows)?;
        self.write(rows)
    }
}

/// Whether nothing lists an entry.
pub(super) fn is_guess(entry: &Entry) -> bool {
    entry.mark == Some(Mark::Guess)
}

/// The digits of an address between these parts, and their number.
fn number<'a>(address: &'a str, before: &str, behind: &str) -> Option<(&'a str, u64)> {
    let digits = address.strip_prefix(before)?.strip_suffix(behind)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((digits, digits.parse().ok().filter(|_| is_number)?))
}

/// What is before and behind the number in most of the addresses.
fn around(addresses: &[String]) -> Option<(String, String)> {
    let fitting = |(before, behind): &(String, String)| {
        addresses
            .iter()
            .filter(|of| number(of, before, behind).is_some())
            .count()
    };
    // Two of any three are among the first.
    let candidates = addresses[..=OTHERS]
        .iter()
        .flat_map(|address| around_numbers(address));
    candidates
        .filter(|around| fitting(around) >= FIRST - OTHERS)
        .max_by_key(fitting)
}

/// What is before and behind each number of an address.
fn around_numbers(address: &str) -> Vec<(String, String)> {
    let (mut around, mut at) = (Vec::new(), 0);
    for run in address
        .as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
    {
        let end = at + run.len();
        if run[0].is_ascii_digit() {
            around.push((address[..at].to_owned(), address[end..].to_owned()));
        }
        at = end;
    }
    around
}

#[cfg(test)]
mod tests {
    use super::{IN_VAIN, NumberWalk};

    fn learnt(addresses: impl IntoIterator<Item = String>) -> NumberWalk {
        let mut walk = NumberWalk::default();
        addresses
            .into_iter()
            .for_each(|address| walk.learn(&address));
        walk
    }

    #[test]
    fn ten_addresses_show_the_number() {
        let book = |number: u32| format!("http://x1.y:80/2/b/{number}/read?v=3");
        let walk = learnt((0..10).map(|i| book(100 + 7 * i)));
        let near = walk.near(&book(205));
        assert_eq!(
            (near.len(), &near[0], &near[19]),
            (20, &book(195), &book(215))
        );
        assert_eq!(
            walk.near(&book(3))[..4],
            [book(0), book(1), book(2), book(4)]
        );
        assert!(walk.near("http://x1.y:80/2/b/name/read?v=3").is_empty());
        assert!(walk.near("http://x1.y:80/2/c/7/read?v=3").is_empty());
        // Eight of ten are enough, and nine addresses are not.
        let mixed = [0, 1]
            .map(|i| format!("http://x/about{i}/"))
            .into_iter()
            .chain((0..8).map(book));
        assert_eq!(learnt(mixed).near(&book(50)).len(), 20);
        assert!(learnt((0..9).map(book)).near(&book(50)).is_empty());
        assert!(
            learnt((0..10).map(|i| format!("http://x/{i}/title-{}", "x".repeat(i))))
                .near(&book(50))
                .is_empty()
        );
    }

    #[test]
    fn numbers_keep_their_zeros() {
        let book = |number: u32| format!("http://x/{number:04}.html");
        assert_eq!(learnt((1..11).map(book)).near(&book(9))[17], book(18));
    }

    #[test]
    fn a_walk_in_vain_ends() {
        let book = |number: u32| format!("http://x/{number}");
        let mut walk = learnt((1..11).map(book));
        (0..=IN_VAIN).for_each(|_| walk.tried(false));
        assert!(walk.near(&book(50)).is_empty());
        walk.tried(true);
        assert!(!walk.near(&book(50)).is_empty());
    }
}
