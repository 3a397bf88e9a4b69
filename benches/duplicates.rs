//! Duplicates among many books: time and memory of a search, by the number of books.
//!
//! `cargo bench --bench duplicates -- 10000 100000 1000000`. Books have 150 gems of `documented`. Every tenth book begins with
//! the same five gems, a notice; every hundredth is another copy of the book before it, with a tenth of its gems changed.
//! Arguments such as `hardened gems=700 copies=3` choose the recipe, the number of gems, and that every third is a copy. With
//! `pool=1000`, the gems of all books are of so few, as if somebody had made them up to keep a search busy.

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::error::Error;
use std::fs;
use std::iter;
use std::time::Instant;

use jiff::Timestamp;
use lapidary_catalogue::{Catalogue, DuplicateOptions};
use lapidary_common::description::Description;
use lapidary_common::random::Random;
use lapidary_gems::{Gem, Place, PlacedGem, Recipe};
use lapidary_store::{
    Administration as _, BookKey, NewBook, Record, Rights, RocksStore, Standing, StoreError,
    UNWATCHED,
};
use tempfile::TempDir;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The gems of the notice, and how many books it is in: one of so many.
const NOTICE: u64 = 5;
const WITH_NOTICE: u32 = 10;

/// What books are made of.
struct Kind {
    recipe: Recipe,
    gems: u64,
    /// One of so many is a copy of the one before it.
    copies: u32,
    /// The number of different gems that there are.
    pool: u64,
}

fn main() -> Outcome<()> {
    let sizes: Vec<u32> = env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let recipe = env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or_else(Recipe::documented);
    let gems = option("gems=").unwrap_or(150);
    let copies = option("copies=").unwrap_or(100) as u32;
    let pool = option("pool=").unwrap_or(1 << recipe.gem_bits()).max(gems);
    let kind = Kind {
        recipe,
        gems,
        copies,
        pool,
    };
    let name = kind.recipe.name();
    println!(
        "{gems} gems of {name}, of {pool}, in each book, of which one of {copies} is a copy\n"
    );
    println!(
        "| books | time | processor time | books/s | groups | peak memory |\n|---|---|---|---|---|---|"
    );
    for books in sizes {
        measure(&kind, books)?;
    }
    Ok(())
}

/// The number in an argument that starts with this name.
fn option(name: &str) -> Option<u64> {
    env::args().find_map(|argument| argument.strip_prefix(name)?.parse().ok())
}

/// Prints the row of a search among so many books.
fn measure(kind: &Kind, books: u32) -> Outcome<()> {
    let folder = TempDir::with_prefix_in("duplicates-", env!("CARGO_TARGET_TMPDIR"))?;
    let index = folder.path().join("index");
    let all = (0..books).map(|number| Ok::<_, StoreError>(kind.book(number)));
    let store = RocksStore::build(&index, std::slice::from_ref(&kind.recipe), all)?;
    store.compact(UNWATCHED)?;
    drop(store);
    let catalogue = Catalogue::open(&index)?;
    // From here on, the peak is that of the search.
    fs::write("/proc/self/clear_refs", "5")?;
    let (begun, used) = (Instant::now(), processor_time()?);
    let groups = catalogue
        .checks()
        .duplicates(&DuplicateOptions::default(), UNWATCHED)?
        .groups;
    let seconds = begun.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default()
        .trim();
    let (used, rate) = (processor_time()? - used, f64::from(books) / seconds);
    println!(
        "| {books} | {seconds:.1} s | {used:.1} s | {rate:.0} | {} | {peak} |",
        groups.len()
    );
    Ok(())
}

/// The time that all threads have used, in seconds.
fn processor_time() -> Outcome<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    // utime and stime, in hundredths of a second.
    let ticks: Vec<f64> = fields
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

fn distinct(gems: impl Iterator<Item = Gem>) -> impl Iterator<Item = Gem> {
    let mut known = HashSet::new();
    gems.filter(move |gem| known.insert(*gem))
}

impl Kind {
    /// The gems of a book that is no copy.
    fn own(&self, number: u32) -> Vec<Gem> {
        let mut random = Random::new(number.into());
        let notice = if number.is_multiple_of(WITH_NOTICE) {
            NOTICE
        } else {
            0
        };
        let drawn = iter::repeat_with(|| Gem(random.below(self.pool as usize) as u64));
        distinct((0..notice).map(Gem).chain(drawn))
            .take(self.gems as usize)
            .collect()
    }

    fn gems(&self, number: u32) -> Vec<Gem> {
        if number % self.copies != 1 {
            return self.own(number);
        }
        let changed = self
            .own(number)
            .into_iter()
            .zip(self.own(number - 1))
            .zip(0_u32..);
        distinct(changed.map(|((own, copied), place)| if place % 10 == 9 { own } else { copied }))
            .collect()
    }

    fn book(&self, number: u32) -> NewBook {
        let chunk = u64::from(self.recipe.characters_per_gem());
        let place = |place: u64| {
            Some(Place {
                start: place * chunk,
                end: (place + 1) * chunk,
            })
        };
        let placed = self
            .gems(number)
            .into_iter()
            .zip(0..)
            .map(|(gem, at)| PlacedGem {
                gem,
                place: place(at),
            });
        let gems = BTreeMap::from([(self.recipe.name().clone(), placed.collect::<Vec<_>>())]);
        let library = "bench".parse().expect("a short word is a library");
        let id = format!("book-{number:010}")
            .parse()
            .expect("a short word is an id");
        let title = Some(format!("The book of number {number}"));
        let digest = format!(
            "{:064x}",
            u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
        .chars()
        .rev()
        .collect();
        let record = Record {
            key: BookKey { library, id },
            rights: Rights::Protected,
            description: Description {
                title,
                ..Description::default()
            },
            digest,
            clean_digest: None,
            bytes: self.gems * chunk,
            clean: None,
            text_kept: false,
            gems: gems
                .iter()
                .map(|(name, gems)| (name.clone(), gems.len() as u32))
                .collect(),
            changed_at: Timestamp::now(),
            fetched_at: None,
            standing: Standing::default(),
        };
        NewBook {
            gems,
            ..NewBook::without_gems(record, true)
        }
    }
}
