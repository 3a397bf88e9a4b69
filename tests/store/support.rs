//! What the tests of the store share: books of few gems, and ways to look at a store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use lapidary_common::description::Description;
use lapidary_gems::{Boundaries, Gem, Place, PlacedGem, Recipe, RecipeName};
use lapidary_store::recipes::RecipeState;
use lapidary_store::{
    Actor, BookKey, BookNo, Cursor, Found, Library, LibraryTally, Limits, NewBook, Record, Rights,
    RocksStore, Search, Snapshot, Standing, Store, StoreError, Tally, Term,
};
use rocksdb::{DB, IteratorMode};
use tempfile::{TempDir, tempdir};

use crate::common::database;

pub const RECIPES: [&str; 3] = ["documented", "released", "hardened"];
/// How many gems there are.
pub const POOL: u64 = 24;
pub const NO_CAP: u32 = u32::MAX;
pub const ALL: Limits<'static> = Limits {
    cap: NO_CAP,
    fewest: 1,
    ..Limits::NONE
};

/// The default, if no book lacks gems of it.
pub const COMPLETE: RecipeState = RecipeState::Default { anyway: false };

pub fn recipe(name: &str) -> Recipe {
    match name {
        "third" => Recipe::documented().with_boundaries(Boundaries::new(["1234"], 60).unwrap()),
        built_in => built_in.parse().unwrap(),
    }
}

pub fn recipe_name(name: &str) -> RecipeName {
    recipe(name).name().clone()
}

pub fn key(library: &str, id: &str) -> BookKey {
    BookKey {
        library: library.parse().unwrap(),
        id: id.parse().unwrap(),
    }
}

/// One of few gems, as wide as the recipe's gems are.
pub fn gem(recipe_name: &str, i: u64) -> Gem {
    Gem((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - recipe(recipe_name).gem_bits()))
}

pub fn placed(recipe: &str, i: u64) -> PlacedGem {
    PlacedGem {
        gem: gem(recipe, i),
        place: Some(Place {
            start: i * 1000,
            end: i * 1000 + 1000,
        }),
    }
}

/// The gems that have a posting.
pub fn posted(recipe_name: &str, gems: &[PlacedGem]) -> Vec<Gem> {
    let posted = recipe(recipe_name).posted(gems);
    gems.iter()
        .zip(posted)
        .filter_map(|(placed, posted)| posted.then_some(placed.gem))
        .collect()
}

pub fn book(key: BookKey, gems: &[(&str, Vec<PlacedGem>)]) -> NewBook {
    let gems: BTreeMap<_, _> = gems
        .iter()
        .map(|(name, gems)| (recipe_name(name), gems.clone()))
        .collect();
    let record = Record {
        key,
        rights: Rights::Protected,
        description: Description {
            title: Some("Отцы и дети".to_owned()),
            authors: vec!["И. С. Тургенев".to_owned()],
            ..Description::default()
        },
        digest: "00".repeat(32),
        clean_digest: None,
        bytes: 1000,
        clean: None,
        text_kept: false,
        gems: gems
            .iter()
            .map(|(name, gems)| (name.clone(), gems.len() as u32))
            .collect(),
        changed_at: Timestamp::from_second(1_000_000).unwrap(),
        fetched_at: None,
        standing: Standing::default(),
    };
    NewBook {
        gems,
        ..NewBook::without_gems(record, true)
    }
}

/// The book with a text that is kept.
pub fn keeping(book: NewBook, text: String) -> NewBook {
    let (digest, bytes) = (blake3::hash(text.as_bytes()).to_string(), text.len() as u64);
    let record = Record {
        digest,
        bytes,
        text_kept: true,
        ..book.record
    };
    NewBook {
        record,
        text: Some(text),
        ..book
    }
}

/// A book with these gems of the first recipe.
pub fn simple(library: &str, id: &str, gems: impl IntoIterator<Item = u64>) -> NewBook {
    book(
        key(library, id),
        &[(
            "documented",
            gems.into_iter().map(|i| placed("documented", i)).collect(),
        )],
    )
}

pub fn create(dir: &Path) -> RocksStore {
    let store = RocksStore::open_or_create(dir).unwrap();
    for name in RECIPES {
        store.add_recipe(&Actor::Local, &recipe(name)).unwrap();
    }
    store
}

/// The tally of the one library `lib`.
pub fn tally(
    snapshot: &dyn Snapshot,
    gems: impl IntoIterator<Item = u64>,
    cap: u32,
) -> LibraryTally {
    let gems: Vec<Gem> = gems.into_iter().map(|i| gem("documented", i)).collect();
    alone(
        snapshot
            .tally(&recipe_name("documented"), &gems, Limits { cap, ..ALL })
            .unwrap(),
    )
}

pub fn alone(mut tally: Tally) -> LibraryTally {
    assert!(tally.libraries.len() < 2);
    tally
        .libraries
        .pop()
        .unwrap_or_else(|| LibraryTally::empty("lib".parse().unwrap()))
}

/// All books that have all of these terms, found in pages of `limit` books.
pub fn found(
    snapshot: &dyn Snapshot,
    terms: impl IntoIterator<Item = Term>,
    libraries: Option<&BTreeSet<Library>>,
    limit: usize,
) -> Vec<BookNo> {
    let terms: BTreeSet<Term> = terms.into_iter().collect();
    let (mut all, mut from): (_, Option<Cursor>) = (Vec::new(), None);
    loop {
        let search = Search {
            terms: &terms,
            libraries,
            from: from.as_ref(),
            limit,
        };
        let Found { books, next } = snapshot.search(&search).unwrap();
        assert!(books.len() <= limit);
        all.extend(books);
        assert!(next.is_none() || next != from, "a page makes progress");
        from = next;
        if from.is_none() {
            return all;
        }
    }
}

/// Everything a snapshot tells, to compare states; an error when any of it cannot be read.
pub fn dump(store: &dyn Store) -> Result<String, StoreError> {
    let snapshot = store.snapshot();
    let mut lines = Vec::new();
    for summary in snapshot.libraries()? {
        for (listed, record) in snapshot.walk(&summary.library, None, usize::MAX)? {
            let number = snapshot.find(&record.key)?;
            assert_eq!(number, Some(listed));
            for recipe in store.snapshot().recipes() {
                let gems = number
                    .map(|number| snapshot.gems(recipe.name(), number))
                    .transpose()?;
                lines.push(format!("{number:?} {gems:?}"));
            }
            lines.push(format!(
                "{:?}",
                number.map(|number| snapshot.text(number)).transpose()?
            ));
            lines.push(format!(
                "{record:?} {:?}",
                snapshot.with_digest(&record.digest, ALL)?
            ));
            let terms = Term::of(&record);
            let search = Search {
                terms: &terms,
                libraries: None,
                from: None,
                limit: 2,
            };
            lines.push(format!("{:?}", snapshot.search(&search)?));
        }
        lines.push(format!("{summary:?}"));
    }
    for recipe in store.snapshot().recipes() {
        let gems: Vec<Gem> = (0..POOL).map(|i| gem(recipe.name().as_str(), i)).collect();
        let (tally, sizes) = (
            snapshot.tally(recipe.name(), &gems, ALL)?,
            snapshot.sizes(recipe.name())?,
        );
        lines.push(format!("{tally:?} {sizes:?}"));
    }
    Ok(lines.join("\n"))
}

/// Changes a folder in ways that the store itself never does.
pub fn raw(dir: &Path, change: impl FnOnce(&DB)) {
    change(&database(dir));
}

/// Puts a format version into a folder.
pub fn set_version(dir: &Path, version: u32) {
    raw(dir, |db| {
        let meta = db.cf_handle("meta").unwrap();
        db.put_cf(meta, "version", version.to_be_bytes()).unwrap();
    });
}

pub fn raw_keys(dir: &Path, family: &str) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    raw(dir, |db| {
        let entries = db.iterator_cf(db.cf_handle(family).unwrap(), IteratorMode::Start);
        keys = entries.map(|entry| entry.unwrap().0.into_vec()).collect();
    });
    keys
}

pub fn refusal(result: Result<RocksStore, StoreError>) -> StoreError {
    result.err().expect("this folder is refused")
}

pub fn copy(from: &Path) -> TempDir {
    let to = tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    to
}
