//! The store against a model in memory, against damage, and against other processes.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::prose;
use jiff::Timestamp;
use lapidary::catalogue::{Amendment, Catalogue, Content, NewEntry, Prepared};
use lapidary::index::{
    AuditFrom, BookId, BookKey, BookNo, LateGems, Library, LibrarySummary, LibraryTally, Limits, NewBook, Record,
    Rights, RocksStore, Sizes, Snapshot, Standing, Store, StoreError, Tally, UNWATCHED,
};
use lapidary_gems::{Boundaries, Gem, Place, PlacedGem, Recipe, RecipeName};
use proptest::prelude::*;
use rocksdb::{DB, IteratorMode, Options};
use tempfile::{TempDir, tempdir};

const FAMILIES: [&str; 12] =
    ["meta", "books", "ids", "gems", "postings", "lists", "delta", "digests", "folds", "jobs", "keys", "audit"];
const RECIPES: [&str; 3] = ["documented", "released", "hardened"];
const NO_CAP: u32 = u32::MAX;
const ALL: Limits<'static> = Limits { cap: NO_CAP, fewest: 1, library: None };

fn recipe(name: &str) -> Recipe {
    match name {
        "third" => Recipe::documented().with_boundaries(Boundaries::new(["1234"], 60).unwrap()),
        built_in => built_in.parse().unwrap(),
    }
}

fn recipe_name(name: &str) -> RecipeName {
    recipe(name).name().clone()
}

fn key(library: &str, id: &str) -> BookKey {
    BookKey { library: library.parse().unwrap(), id: id.parse().unwrap() }
}

/// One of few gems, as wide as the recipe's gems are.
fn gem(recipe_name: &str, i: u64) -> Gem {
    Gem((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - recipe(recipe_name).gem_bits()))
}

fn placed(recipe: &str, i: u64) -> PlacedGem {
    PlacedGem { gem: gem(recipe, i), place: Some(Place { start: i * 1000, end: i * 1000 + 1000 }) }
}

/// The gems that have a posting.
fn posted(recipe_name: &str, gems: &[PlacedGem]) -> Vec<Gem> {
    let posted = recipe(recipe_name).posted(gems);
    gems.iter().zip(posted).filter_map(|(placed, posted)| posted.then_some(placed.gem)).collect()
}

fn book(key: BookKey, gems: &[(&str, Vec<PlacedGem>)]) -> NewBook {
    let gems: BTreeMap<_, _> = gems.iter().map(|(name, gems)| (recipe_name(name), gems.clone())).collect();
    let record = Record {
        key,
        rights: Rights::Protected,
        title: Some("Отцы и дети".to_owned()),
        authors: vec!["И. С. Тургенев".to_owned()],
        language: None,
        identifiers: Vec::new(),
        digest: "00".repeat(32),
        clean_digest: None,
        bytes: 1000,
        clean: None,
        gems: gems.iter().map(|(name, gems)| (name.clone(), gems.len() as u32)).collect(),
        changed: Timestamp::from_second(1_000_000).unwrap(),
        standing: Standing::default(),
    };
    NewBook { record, gems, folds: Vec::new(), allow_empty: true }
}

/// A book with these gems of the first recipe.
fn simple(library: &str, id: &str, gems: impl IntoIterator<Item = u64>) -> NewBook {
    book(key(library, id), &[("documented", gems.into_iter().map(|i| placed("documented", i)).collect())])
}

fn create(dir: &Path) -> RocksStore {
    let store = RocksStore::open_or_create(dir).unwrap();
    for name in RECIPES {
        store.add_recipe(&recipe(name)).unwrap();
    }
    store
}

/// The tally of the one library `lib`.
fn tally(snapshot: &dyn Snapshot, gems: impl IntoIterator<Item = u64>, cap: u32) -> LibraryTally {
    let gems: Vec<Gem> = gems.into_iter().map(|i| gem("documented", i)).collect();
    alone(snapshot.tally(&recipe_name("documented"), &gems, Limits { cap, ..ALL }).unwrap())
}

fn alone(mut tally: Tally) -> LibraryTally {
    assert!(tally.libraries.len() < 2);
    tally.libraries.pop().unwrap_or_else(|| LibraryTally::empty("lib".parse().unwrap()))
}

/// Everything a snapshot tells, to compare states; an error when any of it cannot be read.
fn dump(store: &RocksStore) -> Result<String, StoreError> {
    let snapshot = store.snapshot();
    let mut lines = Vec::new();
    for summary in snapshot.libraries()? {
        for record in snapshot.walk(&summary.library, None, usize::MAX)? {
            let number = snapshot.find(&record.key)?;
            for recipe in store.recipes() {
                let gems = number.map(|number| snapshot.gems(recipe.name(), number)).transpose()?;
                lines.push(format!("{number:?} {gems:?}"));
            }
            lines.push(format!("{record:?} {:?}", snapshot.with_digest(&record.digest, ALL)?));
        }
        lines.push(format!("{summary:?}"));
    }
    for recipe in store.recipes() {
        let gems: Vec<Gem> = (0..POOL).map(|i| gem(recipe.name().as_str(), i)).collect();
        let (tally, sizes) = (snapshot.tally(recipe.name(), &gems, ALL)?, snapshot.sizes(recipe.name())?);
        lines.push(format!("{tally:?} {sizes:?}"));
    }
    Ok(lines.join("\n"))
}

/// The folder as a plain database, for what the store itself never does.
fn raw(dir: &Path, change: impl FnOnce(&DB)) {
    change(&DB::open_cf(&Options::default(), dir, FAMILIES).unwrap());
}

/// Puts a format version into a folder.
fn set_version(dir: &Path, version: u32) {
    raw(dir, |db| {
        let meta = db.cf_handle("meta").unwrap();
        db.put_cf(meta, "version", version.to_be_bytes()).unwrap();
    });
}

fn raw_keys(dir: &Path, family: &str) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    raw(dir, |db| {
        let entries = db.iterator_cf(db.cf_handle(family).unwrap(), IteratorMode::Start);
        keys = entries.map(|entry| entry.unwrap().0.into_vec()).collect();
    });
    keys
}

// ---------------------------------------------------------------------------------------------------- the model ----

const POOL: u64 = 24;
const LIBRARIES: [&str; 3] = ["lib", "lib2", "Библиотека / №1"];
const IDS: [&str; 3] = ["a", "a/b", "Книга"];

fn model_key(i: usize) -> BookKey {
    key(LIBRARIES[i / IDS.len()], IDS[i % IDS.len()])
}

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<NewBook>),
    Remove(Vec<BookKey>),
    Flush,
    Compact,
    Reopen,
}

fn any_key() -> impl Strategy<Value = BookKey> {
    (0..LIBRARIES.len() * IDS.len()).prop_map(model_key)
}

fn any_gems(recipe: &'static str) -> impl Strategy<Value = Vec<PlacedGem>> {
    let order = Just((0..POOL).collect::<Vec<_>>()).prop_shuffle();
    let place = proptest::option::of((0..5000_u64, 0..5000_u64).prop_map(|(start, n)| Place { start, end: start + n }));
    let places = prop_oneof![
        Just(vec![None; POOL as usize]),
        proptest::collection::vec(place.clone(), POOL as usize),
        proptest::collection::vec(place.prop_map(|place| place.or(Some(Place { start: 0, end: 7 }))), POOL as usize),
    ];
    (order, places, 0..=POOL as usize).prop_map(move |(order, places, len)| {
        let gems = order.into_iter().zip(places).take(len);
        gems.map(|(i, place)| PlacedGem { gem: gem(recipe, i), place }).collect()
    })
}

fn any_book() -> impl Strategy<Value = NewBook> {
    let gems = RECIPES.map(|name| proptest::option::weighted(0.8, any_gems(name)));
    (any_key(), gems, 0..10_000_u64, 0..1_000_000_i64).prop_map(|(key, gems, bytes, second)| {
        let gems: Vec<_> = RECIPES.into_iter().zip(gems).filter_map(|(name, gems)| Some((name, gems?))).collect();
        let mut book = book(key, &gems);
        book.record.bytes = bytes;
        book.record.changed = Timestamp::from_second(second).unwrap();
        book
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec(any_book(), 1..4).prop_map(Step::Put),
        3 => proptest::collection::vec(any_key(), 1..4).prop_map(Step::Remove),
        1 => Just(Step::Flush),
        2 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Default)]
struct Model {
    books: BTreeMap<BookKey, NewBook>,
    numbers: BTreeMap<BookKey, BookNo>,
    used: BTreeSet<BookNo>,
}

impl Model {
    fn put(&mut self, books: &[NewBook]) {
        for book in books {
            self.books.insert(book.record.key.clone(), book.clone());
        }
    }

    fn remove(&mut self, keys: &[BookKey]) -> Vec<bool> {
        let there = keys.iter().map(|key| self.books.contains_key(key)).collect();
        for key in keys {
            self.books.remove(key);
            self.numbers.remove(key);
        }
        there
    }

    /// Takes the numbers of new books from the store; they must be new.
    fn number_new(&mut self, snapshot: &dyn Snapshot) {
        for key in self.books.keys().filter(|key| !self.numbers.contains_key(*key)).cloned().collect::<Vec<_>>() {
            let number = snapshot.find(&key).unwrap().unwrap();
            assert!(self.used.insert(number), "{key} got a number that was used before");
            self.numbers.insert(key, number);
        }
    }

    fn compare(&self, snapshot: &dyn Snapshot) {
        for key in (0..LIBRARIES.len() * IDS.len()).map(model_key) {
            let number = self.numbers.get(&key).copied();
            assert_eq!(snapshot.find(&key).unwrap(), number);
            let Some(number) = number else { continue };
            let book = &self.books[&key];
            assert_eq!(snapshot.fetch(&[number]).unwrap(), [Some(book.record.clone())]);
            for name in RECIPES.map(recipe_name) {
                assert_eq!(snapshot.gems(&name, number).unwrap(), book.gems.get(&name).cloned());
            }
        }
        let mut libraries: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        for book in self.books.values() {
            libraries.entry(book.record.key.library.as_str()).or_default().push(&book.record);
        }
        for name in LIBRARIES {
            let records = snapshot.walk(&name.parse().unwrap(), None, usize::MAX).unwrap();
            assert_eq!(records.iter().collect::<Vec<_>>(), libraries.get(name).cloned().unwrap_or_default());
        }
        let summaries = snapshot.libraries().unwrap();
        assert_eq!(summaries.len(), libraries.len());
        for (LibrarySummary { library, books, bytes, changed, .. }, (name, records)) in summaries.iter().zip(&libraries)
        {
            assert_eq!((library.as_str(), *books), (*name, records.len() as u64));
            assert_eq!(*bytes, records.iter().map(|record| record.bytes).sum::<u64>());
            assert!(records.iter().all(|record| record.changed <= *changed));
        }
        for name in RECIPES {
            self.compare_recipe(snapshot, name);
        }
        assert_eq!(snapshot.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    }

    fn compare_recipe(&self, snapshot: &dyn Snapshot, name: &str) {
        let asked: Vec<Gem> = (0..POOL + 3).rev().map(|i| gem(name, i)).collect();
        let (posted, name) = (|gems: &[PlacedGem]| posted(name, gems), recipe_name(name));
        let mut sizes = Sizes::default();
        let mut libraries: BTreeMap<Library, BTreeMap<Gem, Vec<BookNo>>> = BTreeMap::new();
        for (key, book) in &self.books {
            let Some(gems) = book.gems.get(&name) else { continue };
            sizes.add(gems.len() as u32);
            let lists = libraries.entry(key.library.clone()).or_default();
            for gem in posted(gems) {
                lists.entry(gem).or_default().push(self.numbers[key]);
            }
        }
        assert_eq!(snapshot.sizes(&name).unwrap(), sizes);
        for (cap, fewest) in [0, 1, 2, NO_CAP].into_iter().flat_map(|cap| [0, 1, 2, 5].map(|fewest| (cap, fewest))) {
            // Each library is as if it were alone.
            let each = libraries.iter().map(|(library, lists)| Self::tally(library, lists, &asked, cap, fewest));
            let each: Vec<LibraryTally> = each.filter(|of| !of.books.is_empty() || !of.common.is_empty()).collect();
            let limits = Limits { cap, fewest, library: None };
            let mut all = snapshot.tally(&name, &asked, limits).unwrap();
            all.libraries.sort_by(|a, b| a.library.cmp(&b.library));
            assert_eq!(all.libraries, each);
            for library in LIBRARIES.map(|name| name.parse().unwrap()) {
                let found = snapshot.tally(&name, &asked, Limits { library: Some(&library), ..limits }).unwrap();
                let expected: Vec<LibraryTally> = each.iter().filter(|of| of.library == library).cloned().collect();
                assert_eq!(found.libraries, expected);
            }
        }
    }

    fn tally(
        library: &Library,
        lists: &BTreeMap<Gem, Vec<BookNo>>,
        asked: &[Gem],
        cap: u32,
        fewest: u32,
    ) -> LibraryTally {
        let mut counts: BTreeMap<BookNo, u32> = BTreeMap::new();
        let is_common = |gem: &&Gem| lists.get(*gem).is_some_and(|list| list.len() > cap as usize);
        let common: Vec<Gem> = asked.iter().filter(is_common).copied().collect();
        for book in asked.iter().filter(|gem| !is_common(gem)).filter_map(|gem| lists.get(gem)).flatten() {
            *counts.entry(*book).or_default() += 1;
        }
        let counted: BTreeSet<Gem> = asked.iter().filter(|gem| !is_common(gem)).copied().collect();
        let holders = counted.into_iter().filter_map(|gem| Some((gem, lists.get(&gem)?.len() as u32)));
        counts.retain(|_, count| *count >= fewest);
        let mut tally = LibraryTally::empty(library.clone());
        tally.books = counts.into_iter().collect();
        // Asked for is what a check weighs: nothing, where no book is named.
        tally.holders = if tally.books.is_empty() && common.is_empty() { Vec::new() } else { holders.collect() };
        tally.common = common;
        tally
    }
}

impl Model {
    /// The keys of all buckets, as the schema draws them.
    fn buckets(&self) -> BTreeSet<Vec<u8>> {
        let mut keys = BTreeSet::new();
        for (number, name) in (0_u16..).zip(RECIPES) {
            let lists = self.books.values().filter_map(|book| book.gems.get(&recipe_name(name)));
            for gem in lists.flat_map(|gems| posted(name, gems)) {
                let bucket = (gem.0 >> (recipe(name).gem_bits() - 20)) as u32;
                keys.insert([&number.to_be_bytes()[..], &bucket.to_be_bytes()[1..]].concat());
            }
        }
        keys
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_a_map_would(steps in proptest::collection::vec(any_step(), 1..12)) {
        let dir = tempdir().unwrap();
        let mut store = create(dir.path());
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Put(books) => {
                    model.put(&books);
                    store.put(books).unwrap();
                }
                Step::Remove(keys) => assert_eq!(store.remove(&keys).unwrap(), model.remove(&keys)),
                Step::Flush => store.flush().unwrap(),
                Step::Compact => store.compact(UNWATCHED).unwrap(),
                Step::Reopen => {
                    drop(store);
                    store = RocksStore::open(dir.path()).unwrap();
                }
            }
            let snapshot = store.snapshot();
            model.number_new(&*snapshot);
            model.compare(&*snapshot);
        }
        store.compact(UNWATCHED).unwrap();
        model.compare(&*store.snapshot());
        drop(store);
        prop_assert_eq!(raw_keys(dir.path(), "delta").len(), 0);
        prop_assert_eq!(raw_keys(dir.path(), "lists").len(), 0);
        prop_assert_eq!(raw_keys(dir.path(), "postings"), model.buckets());
        prop_assert_eq!(raw_keys(dir.path(), "books").len(), model.books.len());
        prop_assert_eq!(raw_keys(dir.path(), "ids").len(), model.books.len());
    }
}

// ---------------------------------------------------------------------------------------------------- behaviour ----

#[test]
fn a_snapshot_sees_no_later_change() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store.put(vec![simple("lib", "1", 0..5), simple("lib", "2", 3..8)]).unwrap();
    let before = store.snapshot();
    let numbers = [before.find(&key("lib", "1")).unwrap().unwrap(), before.find(&key("lib", "2")).unwrap().unwrap()];
    let asked: Vec<Gem> = (0..10).map(|i| gem("documented", i)).collect();
    let see = |snapshot: &dyn Snapshot| {
        (
            snapshot.tally(&recipe_name("documented"), &asked, ALL).unwrap(),
            snapshot.fetch(&numbers).unwrap(),
            snapshot.gems(&recipe_name("documented"), numbers[0]).unwrap(),
            snapshot.walk(&"lib".parse().unwrap(), None, 10).unwrap(),
            (snapshot.libraries().unwrap(), snapshot.sizes(&recipe_name("documented")).unwrap()),
        )
    };
    let seen = see(&*before);
    assert_eq!(alone(seen.0.clone()).books, [(numbers[0], 5), (numbers[1], 5)]);

    store.remove(&[key("lib", "1")]).unwrap();
    store.put(vec![simple("lib", "2", 0..1), simple("new", "3", 0..9)]).unwrap();
    store.flush().unwrap();
    assert_eq!(see(&*before), seen);
    assert_eq!(before.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_ne!(see(&*store.snapshot()), seen);
}

#[test]
fn a_walk_goes_on_behind_an_id() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let ids = ["1", "1/2", "10", "2", "Я", "а"];
    store.put(ids.iter().rev().map(|id| simple("lib", id, 0..2)).collect()).unwrap();
    store.put(vec![simple("lib2", "15", 0..2), simple("l", "0", 0..2)]).unwrap();
    let snapshot = store.snapshot();
    let walk = |after: Option<&str>, limit| -> Vec<String> {
        let after: Option<BookId> = after.map(|id| id.parse().unwrap());
        let records = snapshot.walk(&"lib".parse().unwrap(), after.as_ref(), limit).unwrap();
        records.into_iter().map(|record| record.key.id.as_str().to_owned()).collect()
    };
    assert_eq!(walk(None, 100), ids);
    assert_eq!(walk(None, 0), [""; 0]);
    assert_eq!(walk(Some("1"), 2), ["1/2", "10"]);
    assert_eq!(walk(Some("10"), 1), ["2"]);
    assert_eq!(walk(Some("1.5 is not there"), 1), ["1/2"]);
    assert_eq!(walk(Some("а"), 5), [""; 0]);
    assert_eq!(snapshot.walk(&"li".parse::<Library>().unwrap(), None, 9).unwrap(), []);
}

#[test]
fn a_gem_in_more_books_than_the_cap_is_common() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store.put((0..4).map(|i| simple("lib", &i.to_string(), [0, 5, 6 + i])).collect()).unwrap();
    store.put(vec![simple("lib", "4", [5])]).unwrap();
    let snapshot = store.snapshot();
    let ones = |n: u32| (0..n).map(|i| (BookNo(i), 1)).collect::<Vec<_>>();
    let common = |of: &[u64]| of.iter().map(|i| gem("documented", *i)).collect::<Vec<_>>();
    for (asked, cap, books, commons) in [
        (vec![5], 5, ones(5), vec![]),
        (vec![5], 4, vec![], vec![5]),
        (vec![5, 0], 4, ones(4), vec![5]),
        (vec![5, 0], 3, vec![], vec![5, 0]),
        (vec![0, 5], 3, vec![], vec![0, 5]),
        (vec![0, 7, 5], 1, vec![(BookNo(1), 1)], vec![0, 5]),
        (vec![7], 0, vec![], vec![7]),
        (vec![3, 5, 5, 5], 0, vec![], vec![5]),
        (vec![7, 7], 1, vec![(BookNo(1), 1)], vec![]),
        (vec![], 1, vec![], vec![]),
    ] {
        let found = tally(&*snapshot, asked, cap);
        assert_eq!((found.books, found.common), (books, common(&commons)));
    }
}

#[test]
fn a_list_may_grow_long_and_short_again() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let books =
        |ids: std::ops::Range<u32>| ids.map(|i| simple("lib", &i.to_string(), [1, 2 + u64::from(i % 2)])).collect();
    let keys = |ids: std::ops::Range<u32>| ids.map(|i| key("lib", &i.to_string())).collect::<Vec<_>>();
    let empty = || LibraryTally::empty("lib".parse().unwrap());
    let check = |there: std::ops::Range<u32>| {
        for merged in [false, true] {
            if merged {
                store.compact(UNWATCHED).unwrap();
            }
            let snapshot = store.snapshot();
            let all: Vec<_> = there.clone().map(|i| (BookNo(i), 1)).collect();
            let count = there.len() as u32;
            let one = gem("documented", 1);
            assert_eq!(
                tally(&*snapshot, [1], count),
                LibraryTally { books: all, holders: vec![(one, count)], ..empty() }
            );
            assert_eq!(tally(&*snapshot, [1], count - 1), LibraryTally { common: vec![one], ..empty() });
            assert_eq!(snapshot.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        }
    };
    store.put(books(0..1024)).unwrap();
    check(0..1024);
    store.put(books(1024..1025)).unwrap();
    check(0..1025);
    store.put(books(1025..2500)).unwrap();
    check(0..2500);
    store.remove(&keys(1000..2500)).unwrap();
    check(0..1000);
    drop(store);
    assert_eq!(raw_keys(dir.path(), "lists").len(), 0);
}

#[test]
fn a_catalogue_built_at_once_is_as_one_fed() {
    let dir = tempdir().unwrap();
    let (built, fed) = (dir.path().join("built"), dir.path().join("fed"));
    let mut books: Vec<NewBook> =
        (0..3000).map(|i| simple(["lib", "a"][i as usize % 2], &i.to_string(), [0, i % 7, i % 7, i])).collect();
    books[5].gems.clear();
    for i in (0..300).step_by(3) {
        books[i].gems.insert(recipe_name("released"), (0..i as u64 % 5).map(|gem| placed("released", gem)).collect());
        books[i].gems.insert(recipe_name("hardened"), (0..i as u64 % 4).map(|gem| placed("hardened", gem)).collect());
        books[i].folds = RECIPES.map(|name| recipe(name).folded("a text of some more words", |place| place)).into();
    }
    books.sort_by(|a, b| a.record.key.cmp(&b.record.key));
    let recipes = RECIPES.map(recipe);
    let built_store = RocksStore::build(&built, &recipes, books.iter().cloned().map(Ok::<_, StoreError>)).unwrap();
    let fed_store = create(&fed);
    fed_store.put(books).unwrap();
    assert_eq!(dump(&built_store).unwrap(), dump(&fed_store).unwrap());
    assert_eq!(built_store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    fed_store.compact(UNWATCHED).unwrap();
    for store in [&built_store, &fed_store] {
        store.remove(&[key("a", "1"), key("lib", "2998")]).unwrap();
        store.put(vec![simple("lib", "new", 0..9)]).unwrap();
    }
    // A library changes when a book is removed, and the two were not removed at once.
    let without_times = |store| {
        let dump = dump(store).unwrap();
        dump.lines().filter(|line| !line.starts_with("LibrarySummary")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_times(&built_store), without_times(&fed_store));
    drop((built_store, fed_store));
    // Each has a story of its own.
    for family in FAMILIES.into_iter().filter(|family| *family != "audit") {
        assert_eq!(raw_keys(&built, family), raw_keys(&fed, family), "{family}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_cannot_be_built_leaves_nothing() {
    let dir = tempdir().unwrap();
    let data = dir.path().join("data");
    let documented = [recipe("documented")];
    let twice = vec![simple("lib", "0", 0..3), simple("lib", "1", 0..3), simple("lib", "1", 3..5)];
    let unsorted = vec![simple("lib", "2", 0..3), simple("lib", "1", 3..5)];
    let wide = PlacedGem { gem: Gem(1 << 32), place: None };
    for (books, says) in [
        (twice, "lib/1 is there twice"),
        (unsorted, "lib/1 does not come in the order"),
        (vec![book(key("lib", "1"), &[("documented", vec![wide])])], "have 32 bits"),
        (vec![book(key("lib", "1"), &[("released", vec![])])], "there are no gems of recipe 'released' here"),
    ] {
        let error =
            refusal(RocksStore::build(&data, &documented, books.into_iter().map(Ok::<_, StoreError>))).to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
    create(&data);
    let again = refusal(RocksStore::build(&data, &documented, std::iter::empty::<Result<_, StoreError>>()));
    assert!(matches!(again, StoreError::Foreign(_)), "{again}");
}

#[test]
fn what_a_recipe_cannot_have_is_refused_whole() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store.put(vec![simple("lib", "1", 0..3)]).unwrap();
    let before = dump(&store).unwrap();

    let unknown = book(key("lib", "2"), &[("third", vec![placed("documented", 0)])]);
    let refused = store.put(vec![simple("lib", "1", 5..9), unknown]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there are no gems of recipe 'documented@2f7be4a9' here; there are: documented, released, hardened"
    );
    assert_eq!(dump(&store).unwrap(), before);
    assert!(matches!(store.snapshot().sizes(&recipe_name("third")), Err(StoreError::UnknownRecipe { .. })));

    if recipe("documented").gem_bits() == 32 {
        // Its lower half is a gem of the book.
        let wide = Gem(gem("documented", 0).0 | 1 << 32);
        assert_eq!(store.snapshot().tally(&recipe_name("documented"), &[wide], ALL).unwrap(), Tally::default());
        let wide = book(key("lib", "2"), &[("documented", vec![PlacedGem { gem: wide, place: None }])]);
        assert!(matches!(store.put(vec![wide]), Err(StoreError::GemTooLarge { bits: 32, .. })));
        assert_eq!(dump(&store).unwrap(), before);
    }
}

#[test]
fn a_gem_given_twice_counts_once() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store.put(vec![simple("lib", "1", [3, 4, 3, 3])]).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(snapshot.fetch(&[BookNo(0)]).unwrap()[0].as_ref().unwrap().gems[&recipe_name("documented")], 2);
    assert_eq!(
        snapshot.gems(&recipe_name("documented"), BookNo(0)).unwrap().unwrap(),
        [placed("documented", 3), placed("documented", 4)]
    );
    assert_eq!(snapshot.verify(UNWATCHED).unwrap(), Vec::<String>::new());
}

#[test]
fn recipes_keep_their_order() {
    let dir = tempdir().unwrap();
    let store = RocksStore::open_or_create(dir.path()).unwrap();
    assert_eq!(store.recipes(), []);
    let known = store.put(vec![simple("lib", "1", 0..3)]).unwrap_err().to_string();
    assert!(known.ends_with("there are: none yet"), "{known}");
    for name in ["released", "third", "released", "documented"] {
        store.add_recipe(&recipe(name)).unwrap();
    }
    let expected = ["released", "third", "documented"].map(recipe);
    assert_eq!(store.recipes(), expected);
    drop(store);
    assert_eq!(RocksStore::open(dir.path()).unwrap().recipes(), expected);
}

#[test]
fn many_may_write_and_read_at_once() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    std::thread::scope(|scope| {
        for library in ["a", "b", "c"] {
            let store = &store;
            scope.spawn(move || {
                for i in 0..40 {
                    store
                        .put(vec![simple(library, &i.to_string(), i..i + 5), simple("all", &i.to_string(), 0..i)])
                        .unwrap();
                    store.remove(&[key(library, &(i / 2).to_string())]).unwrap();
                }
            });
        }
        for _ in 0..10 {
            assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
        }
    });
    assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert!(store.disk().unwrap().total > 10_000);
}

// ------------------------------------------------------------------------------------------- folders and owners ----

/// Names, contents and times of all files in a folder.
fn listing(dir: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let content = fs::read(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), (content, entry.metadata().unwrap().modified().unwrap()))
        })
        .collect()
}

fn refusal(result: Result<RocksStore, StoreError>) -> StoreError {
    result.err().expect("this folder is refused")
}

#[test]
fn a_folder_that_is_no_catalogue_is_left_alone() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("not/there");
    assert!(matches!(refusal(RocksStore::open(&missing)), StoreError::Missing(_)));
    assert!(matches!(refusal(RocksStore::open(dir.path())), StoreError::Missing(_)));
    assert!(listing(dir.path()).is_empty());

    fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
    let before = listing(dir.path());
    assert!(matches!(refusal(RocksStore::open(dir.path())), StoreError::Foreign(_)));
    assert!(matches!(refusal(RocksStore::open_or_create(dir.path())), StoreError::Foreign(_)));
    assert_eq!(listing(dir.path()), before);

    let file = dir.path().join("thesis.txt");
    for file in [file.clone(), file.join("data")] {
        let error = refusal(RocksStore::open_or_create(&file)).to_string();
        assert!(error.contains("this is a file"), "{error}");
    }

    let other = tempdir().unwrap();
    drop(DB::open_default(other.path()).unwrap());
    let before = listing(other.path());
    assert!(matches!(refusal(RocksStore::open_or_create(other.path())), StoreError::Foreign(_)));
    assert_eq!(listing(other.path()), before);
}

#[test]
fn a_new_folder_is_its_users_alone() {
    let dir = tempdir().unwrap();
    let data = dir.path().join("not/there/yet");
    drop(create(&data));
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_mounted_disk_is_an_empty_folder() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    assert!(matches!(refusal(RocksStore::open(dir.path())), StoreError::Missing(_)));
    create(dir.path());
}

#[test]
fn a_copy_without_its_lock_file_is_a_catalogue() {
    let dir = tempdir().unwrap();
    create(dir.path()).put(vec![simple("lib", "1", 0..3)]).unwrap();
    fs::remove_file(dir.path().join("lapidary.lock")).unwrap();
    let store = RocksStore::open(dir.path()).unwrap();
    assert!(store.snapshot().find(&key("lib", "1")).unwrap().is_some());
}

#[test]
fn an_interrupted_creation_is_completed() {
    for interrupted in ["lock only", "no families", "no version"] {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join("lapidary.lock"), "1").unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        match interrupted {
            "lock only" => {}
            "no families" => drop(DB::open(&options, dir.path()).unwrap()),
            _ => drop(DB::open_cf(&options, dir.path(), FAMILIES).unwrap()),
        }
        assert!(matches!(refusal(RocksStore::open(dir.path())), StoreError::Missing(_)), "{interrupted}");
        create(dir.path()).put(vec![simple("lib", "1", 0..3)]).unwrap();
        RocksStore::open(dir.path()).unwrap();
    }
}

#[test]
fn another_format_version_is_refused_with_advice() {
    for (version, says) in [(9_u32, "update lapidary"), (1, "feed the books again")] {
        let dir = tempdir().unwrap();
        create(dir.path());
        set_version(dir.path(), version);
        for error in [refusal(RocksStore::open(dir.path())), refusal(RocksStore::open_or_create(dir.path()))] {
            assert!(matches!(&error, StoreError::Version { found, supported: 8, .. } if *found == version.to_string()));
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}

#[test]
fn a_newer_version_may_have_more_column_families() {
    let dir = tempdir().unwrap();
    create(dir.path());
    set_version(dir.path(), 9);
    let mut options = Options::default();
    options.create_missing_column_families(true);
    drop(DB::open_cf(&options, dir.path(), FAMILIES.into_iter().chain(["later"])).unwrap());
    assert!(matches!(refusal(RocksStore::open(dir.path())), StoreError::Version { .. }));
}

#[test]
fn a_second_opening_is_told_who_has_the_folder() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let me = format!("process {}", std::process::id());
    for error in [refusal(RocksStore::open(dir.path())), refusal(RocksStore::open_or_create(dir.path()))] {
        assert!(matches!(&error, StoreError::InUse { owner, .. } if *owner == me), "{error}");
    }
    let other = child("open", dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&other.stdout);
    assert!(said.contains(&format!("in use by {me};")), "{said}");
    drop(store);

    // A number left behind, be it one that runs, locks nobody out.
    fs::write(dir.path().join("lapidary.lock"), "1").unwrap();
    drop(RocksStore::open(dir.path()).unwrap());
    raw(dir.path(), |_| {
        let error = refusal(RocksStore::open(dir.path()));
        assert!(matches!(&error, StoreError::InUse { owner, .. } if owner == "another process"), "{error}");
    });
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_denied() {
    let dir = tempdir().unwrap();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    // For the one user whom permissions do not stop: a file system that nobody can write to.
    let closed =
        if fs::write(closed.join("probe"), "").is_ok() { Path::new("/sys/lapidary").to_owned() } else { closed };
    let error = refusal(RocksStore::open_or_create(&closed));
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
}

/// A folder that an older version made.
fn unpacked(version: u32, into: &Path) -> PathBuf {
    let archive = format!("{}/tests/folders/format-{version}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let archive = flate2::read::GzDecoder::new(fs::File::open(archive).unwrap());
    tar::Archive::new(archive).unpack(into).unwrap();
    into.join(format!("format-{version}"))
}

#[test]
fn the_file_with_the_version_deceives_nobody() {
    let dir = tempdir().unwrap();
    let data = unpacked(7, dir.path());
    let file = data.join("lapidary.version");
    fs::write(&file, "8").unwrap();
    let refused = refusal(RocksStore::open(&data));
    let says_what_to_do = |detail: &str| detail.contains("delete that file");
    assert!(matches!(&refused, StoreError::Damaged { detail, .. } if says_what_to_do(detail)), "{refused}");

    for of_another in [None, Some("7"), Some("eight"), Some("")] {
        match of_another {
            None => fs::remove_file(&file).unwrap(),
            Some(content) => fs::write(&file, content).unwrap(),
        }
        let store = RocksStore::open(&data).unwrap();
        assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read(&file).unwrap(), b"8");
    }
}

/// Folders that older versions made of `prose(0..6)`, with one book replaced and one removed; version 7 has 1,201 books more.
#[test]
fn a_folder_of_an_older_version_becomes_one_of_today() {
    let (exact, hardened) = (["documented", "released"], ["documented", "hardened"]);
    for (version, names) in [(2, exact), (3, exact), (5, hardened), (6, hardened), (7, hardened)] {
        let dir = tempdir().unwrap();
        let data = unpacked(version, dir.path());
        // Twice: what is brought to this version is one of it.
        for _ in 0..2 {
            let store = RocksStore::open(&data).unwrap();
            let snapshot = store.snapshot();
            assert_eq!(snapshot.verify(UNWATCHED).unwrap(), Vec::<String>::new());
            for id in 0..6_u32 {
                let Some(book) = snapshot.find(&key("l", &id.to_string())).unwrap() else {
                    assert_eq!(id, 1, "version {version}");
                    continue;
                };
                for name in names {
                    let gems = recipe(name).gems(&prose(id.into(), 3_000));
                    let count = posted(name, &gems).len() as u32;
                    let asked: Vec<Gem> = gems.iter().map(|gem| gem.gem).collect();
                    let tally = alone(snapshot.tally(&recipe_name(name), &asked, ALL).unwrap());
                    assert_eq!(tally.books, [(book, count)], "version {version}, {name}");
                    assert_eq!(snapshot.gems(&recipe_name(name), book).unwrap(), Some(gems));
                }
                let text = snapshot.fetch(&[book]).unwrap().pop().flatten().unwrap();
                assert!(snapshot.with_digest(&text.digest, ALL).unwrap().contains(&book), "version {version}");
            }
            // A list that is too long for a bucket, of a library that was fed in two parts.
            let long = snapshot.tally(&recipe_name("documented"), &[Gem(7)], ALL).unwrap();
            let books: Vec<usize> = long.libraries.iter().map(|of| of.books.len()).collect();
            assert_eq!(books, if version < 7 { vec![] } else { vec![1201] });
        }
        raw(&data, |db| {
            let version = db.get_cf(db.cf_handle("meta").unwrap(), "version").unwrap();
            assert_eq!(version, Some(8_u32.to_be_bytes().to_vec()));
        });
    }
}

#[test]
fn a_rebuild_that_was_interrupted_is_done_when_the_folder_is_opened() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let many = |i: u64| simple("lib", &i.to_string(), [1, i, i + 1]);
    store.put((0..1500).map(many).collect()).unwrap();
    store.compact(UNWATCHED).unwrap();
    store.put((1400..1600).map(|i| simple("lib", &i.to_string(), [2, i])).collect()).unwrap();
    let before = dump(&store).unwrap();
    drop(store);
    raw(dir.path(), |db| {
        let [meta, postings] = ["meta", "postings"].map(|name| db.cf_handle(name).unwrap());
        db.put_cf(meta, "rebuild", "").unwrap();
        let keys: Vec<_> = db.iterator_cf(postings, IteratorMode::Start).map(|entry| entry.unwrap().0).collect();
        for (i, key) in keys.iter().enumerate() {
            match i % 3 {
                0 => db.delete_cf(postings, key).unwrap(),
                1 => db.put_cf(postings, key, b"?").unwrap(),
                _ => {}
            }
        }
        for family in ["lists", "delta"] {
            db.put_cf(db.cf_handle(family).unwrap(), [0; 11], "?").unwrap();
            db.put_cf(db.cf_handle(family).unwrap(), "zzz", "?").unwrap();
        }
    });
    let store = RocksStore::open(dir.path()).unwrap();
    assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(dump(&store).unwrap(), before);
}

#[test]
fn folds_go_with_their_books() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store.keep_folds(true).unwrap();
    let fold = recipe("documented").folded("a text that is kept", |place| place);
    let mut folded = simple("lib", "1", 0..3);
    folded.folds = vec![fold.clone(), recipe("released").folded("a text that is kept", |place| place)];
    store.put(vec![folded, simple("lib", "2", 0..3)]).unwrap();
    drop(store);
    let store = RocksStore::open(dir.path()).unwrap();
    assert!(store.keeps_folds().unwrap());
    assert_eq!(store.snapshot().fold("documented", BookNo(0)).unwrap(), Some(fold));
    assert_eq!(store.snapshot().fold("documented", BookNo(1)).unwrap(), None);
    store.remove(&[key("lib", "1")]).unwrap();
    assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    drop(store);
    assert_eq!(raw_keys(dir.path(), "folds").len(), 0);
}

#[test]
fn a_folder_with_more_families_is_of_a_newer_version() {
    let dir = tempdir().unwrap();
    drop(create(dir.path()));
    let mut db = DB::open_cf(&Options::default(), dir.path(), FAMILIES).unwrap();
    db.create_cf("later", &Options::default()).unwrap();
    drop(db);
    let error = refusal(RocksStore::open(dir.path()));
    assert!(matches!(error, StoreError::Version { .. }), "{error}");
    assert!(error.to_string().contains("update lapidary"), "{error}");
}

/// A watch that stops after so many calls.
fn stops_after(calls: u64) -> impl Fn(u64, u64) -> Result<(), StoreError> + Sync {
    let left = std::sync::atomic::AtomicU64::new(calls);
    move |_, _| match left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
        0 => Err(StoreError::Stopped),
        _ => Ok(()),
    }
}

#[test]
fn a_recipe_that_is_being_dropped_is_gone_for_all_but_verify() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let both = |id: &str, from: u64| {
        let gems = |name| (from..from + 4).map(|i| placed(name, i)).collect();
        book(key("lib", id), &[("documented", gems("documented")), ("hardened", gems("hardened"))])
    };
    store.put((0..2500).map(|i| both(&i.to_string(), i)).collect()).unwrap();
    store.compact(UNWATCHED).unwrap();
    store.put(vec![both("7", 9000), both("2400", 9000)]).unwrap();
    let old = store.snapshot();
    let wide = recipe_name("hardened");
    let all: Vec<Gem> = (0..9010).map(|i| gem("hardened", i)).collect();
    let before = old.tally(&wide, &all, ALL).unwrap();
    assert_eq!(alone(before.clone()).books.len(), 2500);

    assert!(matches!(store.drop_recipe(&recipe_name("documented"), UNWATCHED), Err(StoreError::IsDefault(_))));
    // Stopped in the middle: the first thousand records name it no more.
    assert!(matches!(store.drop_recipe(&wide, &stops_after(0)), Err(StoreError::Stopped)));
    let clean = |store: &RocksStore| assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    clean(&store);
    assert!(matches!(store.snapshot().tally(&wide, &all, ALL), Err(StoreError::UnknownRecipe { .. })));
    assert_eq!(store.recipes(), ["documented", "released"].map(recipe));
    assert_eq!(old.tally(&wide, &all, ALL).unwrap(), before);
    drop(old);
    // Books on either side of where it stopped change and go, and one that was prepared before comes.
    store.put(vec![both("3", 50), both("2000", 60), both("new", 70)]).unwrap();
    store.remove(&[key("lib", "4"), key("lib", "2001")]).unwrap();
    clean(&store);
    drop(store);
    let store = RocksStore::open(dir.path()).unwrap();
    clean(&store);
    assert_eq!(store.recipes(), ["documented", "released"].map(recipe));
    store.drop_recipe(&wide, UNWATCHED).unwrap();
    clean(&store);
    store.compact(UNWATCHED).unwrap();
    clean(&store);
    drop(store);
    for family in ["gems", "postings", "lists", "delta"] {
        assert!(raw_keys(dir.path(), family).iter().all(|key| key.starts_with(&[0, 0])), "{family}");
    }
    // Its number comes again, and finds nothing of it.
    let store = RocksStore::open(dir.path()).unwrap();
    store.drop_recipe(&wide, UNWATCHED).unwrap();
    store.add_recipe(&recipe("hardened")).unwrap();
    assert_eq!(store.snapshot().tally(&wide, &all, ALL).unwrap(), Tally::default());
    clean(&store);
}

#[test]
fn late_gems_are_for_the_book_they_were_made_of() {
    let dir = tempdir().unwrap();
    let store = RocksStore::open_or_create(dir.path()).unwrap();
    store.add_recipe(&recipe("documented")).unwrap();
    store.put(vec![simple("lib", "1", 0..5), simple("lib", "2", 0..5), simple("lib", "3", 0..5)]).unwrap();
    store.add_recipe(&recipe("released")).unwrap();
    let released = recipe_name("released");
    let late = |book, digest: &str, i| LateGems {
        book: BookNo(book),
        digest: digest.to_owned(),
        gems: vec![placed("released", i)],
        fold: None,
    };
    let right = "00".repeat(32);
    assert_eq!(store.make_default(&released, false).unwrap(), 3);
    store.add_gems(&released, vec![late(0, &right, 1), late(1, "another", 1), late(9, &right, 1)]).unwrap();
    store.add_gems(&released, vec![late(0, &right, 2)]).unwrap();
    assert_eq!(store.snapshot().gems(&released, BookNo(0)).unwrap().unwrap(), [placed("released", 1)]);
    assert_eq!(store.snapshot().gems(&released, BookNo(1)).unwrap(), None);
    assert_eq!(store.make_default(&released, false).unwrap(), 2);
    assert_eq!(store.recipes()[0], recipe("documented"));
    store.add_gems(&released, vec![late(1, &right, 3), late(2, &right, 4)]).unwrap();
    assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(store.make_default(&released, false).unwrap(), 0);
    drop(store);
    let store = RocksStore::open(dir.path()).unwrap();
    assert_eq!(store.recipes(), [recipe("released"), recipe("documented")]);
    assert_eq!(store.snapshot().recipes(), store.recipes());
}

// ------------------------------------------------------------------------------------------------------- damage ----

#[test]
#[allow(clippy::too_many_lines)] // A table.
fn verify_names_every_fault() {
    // Books 0 and 1 have gems 0 to 2 and 2 to 4. Those of book 0 are in the main index, those of book 1 in the delta.
    let gem_key = |i: u64| [&[0, 0][..], &(gem("documented", i).0 as u32).to_be_bytes()].concat();
    let removed = |i: u64, book: u8| [&gem_key(i)[..], &[0, 0, 0, 0, book]].concat();
    let added = |i: u64, book: u8| [&gem_key(i)[..], &[1, 0, 0, 0, book]].concat();
    let bucket_of_0 = [&[0, 0][..], &((gem("documented", 0).0 >> 12) as u32).to_be_bytes()[1..]].concat();
    let no_posting =
        |book, i| format!("book {book} has gem {} of recipe documented, but no posting", gem("documented", i).0);
    let miscounted: &[u8] = &[[0, 0, 0, 0, 0, 0, 0, 3], [0, 0, 0, 0, 0, 0, 0, 9]].concat();
    let digest_of = |book: u8| [&[0; 16][..], &[0, 0, 0, book]].concat();
    let faults: [Fault; 36] = [
        (&no_posting(1, 3), "delta", &added(3, 1), None),
        (&no_posting(0, 0), "postings", &bucket_of_0, None),
        (&no_posting(0, 1), "delta", &removed(1, 0), Some(b"")),
        ("which it is in already", "delta", &added(0, 0), Some(b"")),
        ("which it is out of already", "delta", &removed(3, 0), Some(b"")),
        ("but they are counted as 3 postings and 3 changes", "delta", &added(2, 1), None),
        ("but they are counted as 3 postings and 9 changes", "meta", b"postings", Some(miscounted)),
        ("the number of postings cannot be read", "meta", b"postings", Some(b"many")),
        (
            "there is a posting of gem 77 (documented) for book 0, which does not need it",
            "delta",
            &[0, 0, 0, 0, 0, 77, 1, 0, 0, 0, 0],
            Some(b""),
        ),
        (
            "there is a posting of gem 77 (documented) for book 9, which does not need it",
            "postings",
            &[0, 0, 0, 0, 0],
            Some(&[1, 8, 1, 77, 0, 9]),
        ),
        ("is of no recipe that is defined here", "delta", b"?", Some(b"")),
        ("is of no recipe that is defined here", "delta", &[0; 12], Some(b"")),
        ("is of no recipe that is defined here", "delta", &[0, 0, 0, 0, 0, 77, 2, 0, 0, 0, 0], Some(b"")),
        ("is of no recipe that is defined here", "postings", &[0, 9, 0, 0, 0], Some(&[1, 8, 1, 77, 0, 0])),
        ("is of no recipe that is defined here", "lists", &[0, 0, 0], Some(&[0])),
        ("that nothing leads to", "lists", &[0, 0, 0, 0, 0, 77], Some(&[0])),
        ("the postings of bucket 0 (documented) cannot be read", "postings", &[0; 5], Some(&[9])),
        ("the list of gem 0 (documented) cannot be read", "postings", &[0; 5], Some(&[1, 129, 3, 0, 208, 15, 1, 0, 0])),
        ("lib/1 (book 0) is not found by its id", "ids", b"lib\x001", None),
        ("lib/9 leads to book 9, which is not there", "ids", b"lib\x009", Some(&[0, 0, 0, 9])),
        ("lib/9 leads to book 0, which is lib/1", "ids", b"lib\x009", Some(&[0; 4])),
        ("the number of lib/1 cannot be read", "ids", b"lib\x001", Some(b"one")),
        ("lib/1 leads to book 0, which is not there", "books", &[0; 4], None),
        ("the record of book 0 cannot be read", "books", &[0; 4], Some(b"{")),
        ("has the key [1], which is no book's number", "books", &[1], Some(b"{}")),
        ("the gems of book 0 (documented) cannot be read", "gems", &[0; 6], Some(&[200, 1])),
        ("has no gems of recipe documented, but its record counts 3", "gems", &[0; 6], None),
        ("there are gems of recipe released for book 0, but no record", "gems", &[0, 1, 0, 0, 0, 0], Some(&[0])),
        ("the sizes kept for recipe documented are not those of its books", "meta", b"sizes\0\0\0", None),
        ("library lib holds 2 books, but has no summary", "meta", b"library\0lib", None),
        ("has a number that the next new book may get, 1", "meta", b"next", Some(&[0, 0, 0, 1])),
        ("the number of lib/2 (book 1) belongs to another library", "meta", b"owner\0\0\0\0\0", None),
        ("lib/1 (book 0) is not found by the digest of its text", "digests", &digest_of(0), None),
        ("of book 1, which has no such text", "digests", &[&[1; 16][..], &[0, 0, 0, 1]].concat(), Some(b"")),
        ("a digest has the key [1], which is none", "digests", &[1], Some(b"")),
        ("there is an entry \"more\", which means nothing", "meta", b"more", Some(b"")),
    ];
    for (sentence, family, key_bytes, value) in faults {
        let dir = tempdir().unwrap();
        let store = create(dir.path());
        store.put(vec![simple("lib", "1", 0..3)]).unwrap();
        store.compact(UNWATCHED).unwrap();
        store.put(vec![simple("lib", "2", 2..5)]).unwrap();
        let before = dump(&store).unwrap();
        drop(store);
        raw(dir.path(), |db| {
            let family = db.cf_handle(family).unwrap();
            match value {
                Some(value) => db.put_cf(family, key_bytes, value).unwrap(),
                None => db.delete_cf(family, key_bytes).unwrap(),
            }
        });
        let store = RocksStore::open(dir.path()).unwrap();
        let found = store.snapshot().verify(UNWATCHED).unwrap();
        assert!(found.iter().any(|found| found.contains(sentence)), "{sentence}: {found:#?}");
        assert!(found.len() < 10, "{found:#?}");
        drop(store);
        let mended = copy(dir.path());
        let store = RocksStore::open(mended.path()).unwrap();
        let lost = store.repair(UNWATCHED).unwrap();
        assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new(), "{sentence}");
        // Nothing is lost but what was damaged itself: a record, or a gem list.
        let loses = match family {
            "books" => true,
            "gems" => key_bytes == [0; 6],
            "ids" => key_bytes == b"lib\x009",
            _ => false,
        };
        assert_eq!(lost.len(), usize::from(loses), "{sentence}: {lost:?}");
        assert!((loses && family != "ids") || dump(&store).unwrap() == before, "{sentence}");
        store.put(vec![simple("lib", "1", 0..3), simple("lib", "2", 2..5)]).unwrap();
        assert_eq!(tally(&*store.snapshot(), 0..9, NO_CAP).books.len(), 2, "{sentence}");
        assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new(), "{sentence}");
        drop(store);
        let store = RocksStore::open(dir.path()).unwrap();
        // Whatever is damaged, nothing panics.
        let _ = (dump(&store), store.put(vec![simple("lib", "1", 0..9)]), store.remove(&[key("lib", "2")]));
    }
}

/// A sentence, and the family, key and value (`None`: deleted) that it comes from.
type Fault<'a> = (&'a str, &'a str, &'a [u8], Option<&'a [u8]>);

/// A small catalogue, part of it in tables, part in the log, and what it told after each change.
fn small_catalogue() -> (TempDir, Vec<String>) {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let mut states = vec![dump(&store).unwrap()];
    for i in 0..6 {
        store.put(vec![simple("lib", &i.to_string(), i..i + 4)]).unwrap();
        states.push(dump(&store).unwrap());
        if i == 2 {
            store.flush().unwrap();
        }
    }
    drop(store);
    (dir, states)
}

fn copy(from: &Path) -> TempDir {
    let to = tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
    }
    to
}

/// What a bit was flipped in is an error or makes no difference, with one exception: in the log and in the manifest, a
/// length that points behind the end of the file reads as a record that was being written when the system stopped.
/// Like a file cut short, this may give an earlier state, or one whose faults `verify` tells.
#[test]
fn a_broken_file_is_an_error_or_harmless() {
    let (catalogue, states) = small_catalogue();
    for entry in fs::read_dir(catalogue.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let content = fs::read(catalogue.path().join(&name)).unwrap();
        let flips = (0..content.len()).step_by(content.len().max(24) / 24).map(|at| {
            let mut broken = content.clone();
            broken[at] ^= 0x10;
            (format!("{name}: byte {at} changed"), Some(broken))
        });
        let cuts = (0..4).map(|part| {
            let len = content.len() * part / 4;
            (format!("{name}: cut to {len} bytes"), Some(content[..len].to_vec()))
        });
        let deleted = [(format!("{name}: deleted"), None)];
        for (what, broken) in flips.chain(cuts).chain(deleted) {
            let dir = copy(catalogue.path());
            let cut = broken.as_ref().is_none_or(|broken| broken.len() < content.len());
            match broken {
                Some(broken) => fs::write(dir.path().join(&name), broken).unwrap(),
                None => fs::remove_file(dir.path().join(&name)).unwrap(),
            }
            let may_be_torn = cut || [".log", "MANIFEST"].iter().any(|part| name.contains(part));
            let read = |store: RocksStore| {
                store.snapshot().audit(AuditFrom::Behind(0), usize::MAX)?;
                Ok((dump(&store)?, store.snapshot().verify(UNWATCHED)?))
            };
            match RocksStore::open_or_create(dir.path()).and_then(read) {
                Err(StoreError::Damaged { .. }) => {}
                Ok((state, faults)) if Some(&state) == states.last() => assert_eq!(faults, [""; 0], "{what}"),
                Ok((state, faults)) => {
                    assert!(may_be_torn, "{what}: {state}");
                    assert!(states.contains(&state) || !faults.is_empty(), "{what}: {state}");
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------- other processes ----

/// This program again, in one of the roles of [`child_process`].
fn child(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_process", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("LAPIDARY_ROLE", role).env("LAPIDARY_DIR", dir).stderr(Stdio::inherit());
    command
}

#[test]
#[ignore = "other tests start it as a second process"]
fn child_process() {
    let Some(dir) = std::env::var_os("LAPIDARY_DIR") else {
        return;
    };
    let dir = Path::new(&dir);
    match std::env::var("LAPIDARY_ROLE").unwrap().as_str() {
        "open" => println!("{}", refusal(RocksStore::open(dir))),
        "feed" => {
            let store = create(dir);
            for i in 0.. {
                store.put(vec![simple("lib", &i.to_string(), i..i + 50), simple("last", "1", i..i + 5)]).unwrap();
                println!("\nput {i}");
            }
        }
        "fill" => fill(dir),
        role => panic!("{role} is no role"),
    }
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let dir = tempdir().unwrap();
    let mut feeder = child("feed", dir.path()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(feeder.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut acknowledged = lines.filter_map(|line| line.strip_prefix("put ").map(|i| i.parse::<u64>().unwrap()));
    let last = acknowledged.by_ref().find(|i| *i == 60).unwrap();
    feeder.kill().unwrap();
    feeder.wait().unwrap();
    let last = acknowledged.last().unwrap_or(last);

    let store = RocksStore::open(dir.path()).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(snapshot.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    for i in 0..=last {
        assert!(snapshot.find(&key("lib", &i.to_string())).unwrap().is_some(), "book {i} of {last} is lost");
    }
}

/// Fills a disk, of which a file `ballast` takes a part, then deletes that.
fn fill(dir: &Path) {
    let data = dir.join("data");
    let store = create(&data);
    let big = |i: u64| simple("lib", &i.to_string(), i * 100_000..(i + 1) * 100_000);
    let (full, error) = (0..).find_map(|i| Some((i, store.put(vec![big(i)]).err()?))).unwrap();
    assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
    let state = |store: &RocksStore| {
        let snapshot = store.snapshot();
        assert_eq!(snapshot.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        assert_eq!(snapshot.find(&key("lib", &full.to_string())).unwrap(), None);
        assert_eq!(snapshot.libraries().unwrap()[0].books, full);
    };
    state(&store);
    let again = store.put(vec![big(full)]).unwrap_err();
    assert!(matches!(again, StoreError::DiskFull(_)), "{again}");

    let store = if dir.join("ballast").exists() {
        fs::remove_file(dir.join("ballast")).unwrap();
        let start = Instant::now();
        while let Err(error) = store.put(vec![simple("lib", "small", 0..9)]) {
            assert!(start.elapsed() < Duration::from_secs(60), "{error}");
            std::thread::sleep(Duration::from_millis(100));
        }
        println!("wrote again after {:?}", start.elapsed());
        store.remove(&[key("lib", "small")]).unwrap();
        store
    } else {
        drop(store);
        RocksStore::open(&data).unwrap()
    };
    state(&store);
    drop(store);
    state(&RocksStore::open(&data).unwrap());
    println!("filled and freed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_takes_nothing_half() {
    // A disk of its own, where the system lets its users mount one.
    let dir = tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=72m none "$LAPIDARY_DIR" || { echo "cannot mount"; exit 0; }
        head -c 44M /dev/zero > "$LAPIDARY_DIR/ballast" && exec "$0" "$@""#;
    let test = child("fill", dir.path());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script]).arg(test.get_program()).args(test.get_args());
    command.envs(test.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    println!("{said}{problem}");
    if said.contains("cannot mount") || problem.contains("unshare") {
        return;
    }
    assert!(said.contains("filled and freed"), "{said}{problem}");
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_size_takes_nothing_half() {
    let dir = tempdir().unwrap();
    let test = child("fill", dir.path());
    let mut command = Command::new("sh");
    // In blocks of 512 or 1024 bytes, by the shell.
    command
        .args(["-c", r#"trap "" XFSZ; ulimit -f 8000; exec "$0" "$@""#])
        .arg(test.get_program())
        .args(test.get_args());
    command.envs(test.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("filled and freed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

// ------------------------------------------------------------------------------------------- any order of changes ----

/// What may be done to a store, books of it and recipes alike.
#[derive(Debug, Clone)]
enum Change {
    Put(Vec<NewBook>),
    Remove(Vec<BookKey>),
    AddRecipe(&'static str),
    /// Gives all books that lack them gems of the recipe, and makes it the default.
    Reindex(&'static str, Vec<PlacedGem>),
    DropRecipe(&'static str),
    Compact,
    Reopen,
}

fn any_change() -> impl Strategy<Value = Change> {
    let any_recipe = || proptest::sample::select(RECIPES.as_slice());
    prop_oneof![
        6 => proptest::collection::vec(any_book(), 1..4).prop_map(Change::Put),
        2 => proptest::collection::vec(any_key(), 1..4).prop_map(Change::Remove),
        2 => any_recipe().prop_map(Change::AddRecipe),
        2 => any_recipe().prop_flat_map(|name| any_gems(name).prop_map(move |gems| Change::Reindex(name, gems))),
        3 => any_recipe().prop_map(Change::DropRecipe),
        2 => Just(Change::Compact),
        1 => Just(Change::Reopen),
    ]
}

/// Gives books gems of a recipe that was added after them.
fn reindex(store: &RocksStore, name: &str, gems: &[PlacedGem]) {
    let recipe = recipe_name(name);
    let late =
        |(book, record): (BookNo, Record)| LateGems { book, digest: record.digest, gems: gems.to_vec(), fold: None };
    let books = store.snapshot().books(BookNo(0), usize::MAX).unwrap();
    store.add_gems(&recipe, books.into_iter().map(late).collect()).unwrap();
    assert_eq!(store.make_default(&recipe, false).unwrap(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With recipes that post all gems (of 32 bits) and one that posts some (of 64).
    #[test]
    fn no_order_of_changes_leaves_a_fault(changes in proptest::collection::vec(any_change(), 1..16)) {
        let (dir, backups, empty) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
        let mut store = create(dir.path());
        for change in changes {
            let known: Vec<RecipeName> = store.recipes().iter().map(|recipe| recipe.name().clone()).collect();
            let is_known = |name: &str| known.contains(&recipe_name(name));
            match change {
                Change::Put(mut books) => {
                    for book in &mut books {
                        book.gems.retain(|name, _| known.contains(name));
                    }
                    store.put(books).unwrap();
                }
                Change::Remove(keys) => { store.remove(&keys).unwrap(); }
                Change::AddRecipe(name) => store.add_recipe(&recipe(name)).unwrap(),
                Change::Reindex(name, gems) if is_known(name) => reindex(&store, name, &gems),
                Change::DropRecipe(name) if known[0] != recipe_name(name) => {
                    store.drop_recipe(&recipe_name(name), UNWATCHED).unwrap();
                }
                Change::Compact => store.compact(UNWATCHED).unwrap(),
                Change::Reopen => {
                    drop(store);
                    store = RocksStore::open(dir.path()).unwrap();
                }
                Change::Reindex(..) | Change::DropRecipe(_) => {}
            }
            prop_assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
        }
        // And what is backed up can be restored.
        store.backup(backups.path(), 1, UNWATCHED).unwrap();
        let restored = empty.path().join("restored");
        RocksStore::restore(backups.path(), &restored, None).unwrap();
        let restored = RocksStore::open(&restored).unwrap();
        prop_assert_eq!(restored.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
        prop_assert_eq!(dump(&restored).unwrap(), dump(&store).unwrap());
    }
}

#[test]
fn what_could_not_be_restored_is_no_backup() {
    let (dir, backups) = (tempdir().unwrap(), tempdir().unwrap());
    let store = create(dir.path());
    store.put(vec![simple("lib", "a", 0..20)]).unwrap();
    let first = store.backup(backups.path(), 1, UNWATCHED).unwrap();
    assert_eq!((first.number, first.kept), (1, 1));
    drop(store);
    // A fault of the catalogue.
    raw(dir.path(), |db| db.delete_cf(db.cf_handle("books").unwrap(), 0_u32.to_be_bytes()).unwrap());
    let store = RocksStore::open(dir.path()).unwrap();
    let refused = store.backup(backups.path(), 1, UNWATCHED).unwrap_err().to_string();
    assert!(refused.contains("faults, such as: ") && refused.contains("--fix"), "{refused}");
    store.repair(UNWATCHED).unwrap();
    store.put(vec![simple("lib", "a", 0..20)]).unwrap();
    // The one before is there, and alone.
    let to = tempdir().unwrap();
    let missing = RocksStore::restore(backups.path(), &to.path().join("2"), Some(2)).unwrap_err();
    assert!(missing.to_string().contains("there are: 1"), "{missing}");
    RocksStore::restore(backups.path(), &to.path().join("1"), Some(1)).unwrap();
    let second = store.backup(backups.path(), 2, UNWATCHED).unwrap();
    assert_eq!(second.kept, 2);

    // A file that went bad where it lies, and that the next backup shares.
    let shared = fs::read_dir(backups.path().join("shared_checksum")).unwrap();
    let largest = shared.map(|file| file.unwrap().path()).max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    bytes.iter_mut().take(200).for_each(|byte| *byte ^= 0x55);
    fs::write(&largest, bytes).unwrap();
    assert!(store.backup(backups.path(), 2, UNWATCHED).is_err());
    // A new folder takes nothing over.
    let anew = tempdir().unwrap();
    assert_eq!(store.backup(anew.path(), 2, UNWATCHED).unwrap().kept, 1);
    let left: Vec<_> = fs::read_dir(anew.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn a_lost_end_of_the_log_is_noticed() {
    let dir = tempdir().unwrap();
    let mut feeder = child("feed", dir.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(feeder.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line == "put 20").unwrap();
    feeder.kill().unwrap();
    feeder.wait().unwrap();
    let newest = || {
        let files = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|kind| kind == "log")).max().unwrap()
    };
    let lost = fs::read(newest()).unwrap();
    for damage in [None, Some(&lost[..lost.len() / 2])] {
        let copied = copy(dir.path());
        let log = copied.path().join(newest().file_name().unwrap());
        match damage {
            None => fs::remove_file(log).unwrap(),
            Some(rest) => fs::write(log, rest).unwrap(),
        }
        for _ in 0..2 {
            let refused = refusal(RocksStore::open(copied.path()));
            assert!(
                matches!(&refused, StoreError::Damaged { detail, .. } if detail.contains("acknowledged")),
                "{refused}"
            );
        }
        // Whoever can do without goes on.
        fs::remove_file(copied.path().join("lapidary.sequence")).unwrap();
        let store = RocksStore::open(copied.path()).unwrap();
        assert_eq!(store.snapshot().verify(UNWATCHED).unwrap(), Vec::<String>::new());
    }
    // What was not damaged opens.
    assert!(RocksStore::open(dir.path()).is_ok());
}

// --------------------------------------------------------------------------------------------------- amendments ----

/// A book that is put in, by its text and its rights, and how an amendment changes it meanwhile.
#[test]
fn a_book_put_in_undoes_no_amendment_made_meanwhile() {
    let dir = tempdir().unwrap();
    let catalogue = Catalogue::open_or_create(dir.path()).unwrap();
    let key = key("lib", "1");
    let prepared = |text: u64, rights: Rights| -> Prepared {
        let entry = NewEntry::new(key.clone(), rights, Content::text(prose(text, 2_000)));
        catalogue.prepare(entry, &catalogue.ensure_recipes(&[]).unwrap()).unwrap()
    };
    let amend = |amendment: Amendment| catalogue.amend(&key, &amendment).unwrap().unwrap();
    let (disabled, note) = (|disabled| Amendment { disabled: Some(disabled), ..Amendment::default() }, "held back");
    let note = Amendment { note: Some(note.to_owned()), ..Amendment::default() };
    let rights = Amendment { rights: Some(Rights::Free), ..Amendment::default() };
    let amendments = [disabled(true), disabled(false), note, rights];
    catalogue.commit(vec![prepared(0, Rights::Protected)]).unwrap();
    for (text, amendment) in (1..).zip(amendments) {
        let put = prepared(text, Rights::Protected);
        let amended = amend(amendment.clone());
        catalogue.commit(vec![put]).unwrap();
        let now = catalogue.book(&key).unwrap().unwrap();
        assert_ne!(now.digest, amended.digest, "the new text is there");
        assert_eq!((now.rights, &now.standing), (amended.rights, &amended.standing), "{amendment:?}");
        // A book that is put in afterwards says what its rights are; whether it counts and its note stay.
        catalogue.commit(vec![prepared(100 + text, Rights::Protected)]).unwrap();
        let now = catalogue.book(&key).unwrap().unwrap();
        assert_eq!((now.rights, &now.standing), (Rights::Protected, &amended.standing), "{amendment:?}");
    }
    // Of two that are put in at once, the last counts, whatever was amended before.
    let (first, second) = (prepared(200, Rights::Free), prepared(201, Rights::PublicDomain));
    catalogue.commit(vec![first]).unwrap();
    catalogue.commit(vec![second]).unwrap();
    assert_eq!(catalogue.book(&key).unwrap().unwrap().rights, Rights::PublicDomain);
    assert_eq!(catalogue.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_book_is_emptied_by_nobody_who_did_not_ask_for_it() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    // Prepared when there was no such book yet.
    let empty = NewBook { allow_empty: false, ..simple("lib", "a", []) };
    store.put(vec![simple("lib", "a", [1, 2])]).unwrap();

    let before = dump(&store).unwrap();
    let refused = store.put(vec![simple("lib", "b", [3]), empty.clone()]).unwrap_err();
    assert!(matches!(refused, StoreError::WouldBeEmpty { .. }), "{refused}");
    assert_eq!(dump(&store).unwrap(), before, "all or nothing");

    store.put(vec![NewBook { allow_empty: false, ..simple("lib", "a", [4]) }]).unwrap();
    store.put(vec![NewBook { allow_empty: true, ..empty }]).unwrap();
    assert!(tally(&*store.snapshot(), [1, 2, 4], 10).books.is_empty());
}
