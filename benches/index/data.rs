//! The content of an index: books generated from a seed, each independently of the others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_common::description::Description;
use lapidary_gems::{Gem, Place, PlacedGem, Recipe};
use lapidary_store::{BookId, BookKey, Library, NewBook, Record, Rights, Standing};

use crate::random::{Purpose, Random, scramble};

/// Gems per book. A novel of some 100,000 words has several hundred.
pub const GEMS: u64 = 200;
/// The mean length of a chunk in bytes. Lengths range from half to one and a half times this.
const CHUNK_BYTES: u64 = 3_000;

/// A set of books and their gems.
pub trait Data: Sync {
    /// Identifies this set, and names its folder.
    fn name(&self) -> String;

    /// The number of books.
    fn books(&self) -> u32;

    /// The distinct gems of a book.
    fn gems(&self, book: u32) -> Vec<Gem>;
}

/// Books with [`GEMS`] random gems each.
pub struct Uniform {
    pub seed: u64,
    pub books: u32,
}

impl Data for Uniform {
    fn name(&self) -> String {
        format!("uniform-{}-books-seed-{}", self.books, self.seed)
    }

    fn books(&self) -> u32 {
        self.books
    }

    fn gems(&self, book: u32) -> Vec<Gem> {
        gems(Random::new(self.seed, Purpose::Book, book.into()))
    }
}

/// The gems of one random book.
pub fn gems(random: Random) -> Vec<Gem> {
    random
        .permutation()
        .take(GEMS as usize)
        .map(|gem| Gem(gem.into()))
        .collect()
}

/// A random 32-bit gem as one of this recipe, different from those of other such gems.
pub fn of_recipe(gem: Gem, recipe: &Recipe) -> Gem {
    let more = recipe.gem_bits() - u32::BITS;
    Gem(gem.0 << more | u64::from(scramble(gem.0 as u32)) & ((1 << more) - 1))
}

pub fn id(book: u32) -> String {
    format!("book-{book:010}")
}

/// Completes the books with records of the usual size, and with positions as in a text.
pub struct Stock<'a> {
    data: &'a dyn Data,
    seed: u64,
    recipes: &'a [Recipe],
    library: Library,
    now: Timestamp,
}

impl<'a> Stock<'a> {
    pub fn new(
        data: &'a dyn Data,
        seed: u64,
        recipes: &'a [Recipe],
    ) -> Result<Self, lapidary_store::BadName> {
        Ok(Self {
            data,
            seed,
            recipes,
            library: "bench".parse()?,
            now: Timestamp::now(),
        })
    }

    pub fn book(&self, number: u32) -> NewBook {
        let mut random = Random::new(self.seed, Purpose::Record, number.into());
        let mut end = 0;
        let mut drawn = Vec::new();
        for gem in self.data.gems(number) {
            let start = end;
            end += CHUNK_BYTES / 2 + random.below(CHUNK_BYTES);
            let place = Some(Place { start, end });
            drawn.push(PlacedGem { gem, place });
        }
        let mut gems = BTreeMap::new();
        for recipe in self.recipes {
            let placed = drawn.iter().map(|placed| PlacedGem {
                gem: of_recipe(placed.gem, recipe),
                ..*placed
            });
            gems.insert(recipe.name().clone(), placed.collect::<Vec<_>>());
        }
        let id = BookId::try_from(id(number)).expect("a short word is an id");
        let record = Record {
            key: BookKey {
                library: self.library.clone(),
                id,
            },
            rights: Rights::Protected,
            description: Description {
                title: Some(format!("The book of number {number}")),
                authors: vec![format!("Author {}", random.below(100_000))],
                language: Some("en".to_owned()),
                identifiers: Vec::new(),
                published: None,
            },
            digest: [(); 4].map(|()| format!("{:016x}", random.next())).concat(),
            clean_digest: None,
            bytes: end,
            clean: None,
            text_kept: false,
            gems: gems
                .iter()
                .map(|(name, gems)| (name.clone(), gems.len() as u32))
                .collect(),
            changed_at: self.now,
            fetched_at: None,
            standing: Standing::default(),
        };
        NewBook {
            gems,
            ..NewBook::without_gems(record, true)
        }
    }
}
