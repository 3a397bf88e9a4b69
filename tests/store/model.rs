//! The store against a model in memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use lapidary_common::description::Description;
use lapidary_gems::{Gem, Place, PlacedGem, RecipeName};
use lapidary_store::{
    Actor, Administration as _, BookKey, BookNo, Condition, Field, LateGems, Library,
    LibrarySummary, LibraryTally, Limits, NewBook, Record, RocksStore, Sizes, Snapshot, Store,
    Term, UNWATCHED,
};
use proptest::prelude::*;
use tempfile::tempdir;

use crate::store::engine::{Cluster, Engine, Rocks, has_cluster};
use crate::store::support::{
    COMPLETE, NO_CAP, POOL, RECIPES, book, create, dump, found, gem, keeping, key, posted,
    raw_keys, recipe, recipe_name,
};

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
    let place = proptest::option::of((0..5000_u64, 0..5000_u64).prop_map(|(start, n)| Place {
        start,
        end: start + n,
    }));
    let places = prop_oneof![
        Just(vec![None; POOL as usize]),
        proptest::collection::vec(place.clone(), POOL as usize),
        proptest::collection::vec(
            place.prop_map(|place| place.or(Some(Place { start: 0, end: 7 }))),
            POOL as usize
        ),
    ];
    (order, places, 0..=POOL as usize).prop_map(move |(order, places, len)| {
        let gems = order.into_iter().zip(places).take(len);
        gems.map(|(i, place)| PlacedGem {
            gem: gem(recipe, i),
            place,
        })
        .collect()
    })
}

/// Words as they are written, and as they are compared.
const WORDS: [(&str, &str); 6] = [
    ("Ёлка", "елка"),
    ("елка", "елка"),
    ("THE", "the"),
    ("the", "the"),
    ("Cafe\u{301}", "cafe"),
    ("Café", "cafe"),
];
/// Likewise for identifiers.
const IDENTIFIERS: [(&str, &str); 4] = [
    ("0-306-40615-2", "9780306406157"),
    ("978 0306406157", "9780306406157"),
    ("urn:x:1", "x:1"),
    ("X:1", "x:1"),
];

fn any_description() -> impl Strategy<Value = Description> {
    let words = || {
        let words = proptest::collection::vec(proptest::sample::select(WORDS.as_slice()), 0..3);
        words.prop_map(|words| {
            words
                .into_iter()
                .map(|(written, _)| written)
                .collect::<Vec<_>>()
                .join(" — ")
        })
    };
    let identifiers =
        proptest::collection::vec(proptest::sample::select(IDENTIFIERS.as_slice()), 0..3);
    (
        proptest::option::of(words()),
        proptest::collection::vec(words(), 0..3),
        identifiers,
    )
        .prop_map(|(title, authors, identifiers)| {
            let identifiers = identifiers
                .into_iter()
                .map(|(written, _)| written.to_owned())
                .collect();
            Description {
                title,
                authors,
                identifiers,
                ..Description::default()
            }
        })
}

/// The terms of such a description.
fn known_terms(description: &Description) -> BTreeSet<(Field, &'static str)> {
    let word = |written: &str| {
        WORDS
            .iter()
            .find(|(known, _)| *known == written)
            .map(|(_, word)| *word)
    };
    let words = |field, text: &String| -> Vec<_> {
        text.split(" — ")
            .filter_map(word)
            .map(|word| (field, word))
            .collect()
    };
    let titles = description
        .title
        .iter()
        .flat_map(|title| words(Field::Title, title));
    let authors = description
        .authors
        .iter()
        .flat_map(|author| words(Field::Author, author));
    let identifier = |written: &String| IDENTIFIERS.iter().find(|(known, _)| known == written);
    let identifiers = description.identifiers.iter().filter_map(identifier);
    titles
        .chain(authors)
        .chain(identifiers.map(|(_, known)| (Field::Identifier, *known)))
        .collect()
}

/// A text to keep, in a blob file if it is long.
fn any_text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(
        ("[а-яa-z ]{0,9}", 1..8_000_usize).prop_map(|(words, times)| words.repeat(times)),
    )
}

fn any_book() -> impl Strategy<Value = NewBook> {
    let gems = RECIPES.map(|name| proptest::option::weighted(0.8, any_gems(name)));
    (
        any_key(),
        gems,
        any_description(),
        0..10_000_u64,
        0..1_000_000_i64,
        any_text(),
    )
        .prop_map(|(key, gems, description, bytes, second, text)| {
            let gems: Vec<_> = RECIPES
                .into_iter()
                .zip(gems)
                .filter_map(|(name, gems)| Some((name, gems?)))
                .collect();
            let mut book = book(key, &gems);
            book.record.bytes = bytes;
            book.record.description = description;
            book.record.changed_at = Timestamp::from_second(second).unwrap();
            match text {
                Some(text) => keeping(book, text),
                None => book,
            }
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
    /// The libraries in the order of their first books.
    created: Vec<Library>,
}

impl Model {
    fn put(&mut self, books: &[NewBook]) {
        for (i, book) in books.iter().enumerate() {
            let library = &book.record.key.library;
            // The last book of a key is the one that counts.
            let is_last = books[i + 1..]
                .iter()
                .all(|later| later.record.key != book.record.key);
            if is_last && !self.created.contains(library) {
                self.created.push(library.clone());
            }
            self.books.insert(book.record.key.clone(), book.clone());
        }
    }

    fn remove(&mut self, keys: &[BookKey]) -> Vec<bool> {
        let there = keys
            .iter()
            .map(|key| self.books.contains_key(key))
            .collect();
        for key in keys {
            self.books.remove(key);
            self.numbers.remove(key);
        }
        there
    }

    /// Takes the numbers of new books from the store; they must be new.
    fn number_new(&mut self, snapshot: &dyn Snapshot) {
        for key in self
            .books
            .keys()
            .filter(|key| !self.numbers.contains_key(*key))
            .cloned()
            .collect::<Vec<_>>()
        {
            let number = snapshot.find(&key).unwrap().unwrap();
            assert!(
                self.used.insert(number),
                "{key} got a number that was used before"
            );
            self.numbers.insert(key, number);
        }
    }

    fn compare(&self, store: &dyn Store) {
        let snapshot = &*store.snapshot();
        for key in (0..LIBRARIES.len() * IDS.len()).map(model_key) {
            let number = self.numbers.get(&key).copied();
            assert_eq!(snapshot.find(&key).unwrap(), number);
            let Some(number) = number else { continue };
            let book = &self.books[&key];
            assert_eq!(
                snapshot.fetch(&[number]).unwrap(),
                [Some(book.record.clone())]
            );
            assert!(
                snapshot.text(number).unwrap() == book.text,
                "the text of {key}"
            );
            for name in RECIPES.map(recipe_name) {
                assert_eq!(
                    snapshot.gems(&name, number).unwrap(),
                    book.gems.get(&name).cloned()
                );
            }
        }
        let mut libraries: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
        for book in self.books.values() {
            libraries
                .entry(book.record.key.library.as_str())
                .or_default()
                .push(&book.record);
        }
        for name in LIBRARIES {
            let books = snapshot
                .walk(&name.parse().unwrap(), None, usize::MAX)
                .unwrap();
            let records: Vec<&Record> = books.iter().map(|(_, record)| record).collect();
            assert_eq!(records, libraries.get(name).cloned().unwrap_or_default());
            assert!(
                books
                    .iter()
                    .all(|(number, record)| self.numbers[&record.key] == *number)
            );
            let numbers: Vec<BookNo> = books.iter().map(|(number, _)| *number).collect();
            let whole = snapshot.whole(&numbers).unwrap();
            assert_eq!(whole.len(), numbers.len());
            for NewBook {
                record,
                gems,
                folds,
                text,
                ..
            } in whole.into_iter().map(Option::unwrap)
            {
                let expected = &self.books[&record.key];
                let is = (&record, &gems, &folds, &text);
                assert_eq!(
                    is,
                    (
                        &expected.record,
                        &expected.gems,
                        &expected.folds,
                        &expected.text
                    )
                );
            }
        }
        let summaries = snapshot.libraries().unwrap();
        assert_eq!(summaries.len(), libraries.len());
        for (summary, (name, records)) in summaries.iter().zip(&libraries) {
            let LibrarySummary {
                library,
                books,
                bytes,
                kept_texts,
                kept_bytes,
                changed_at: changed,
                ..
            } = &**summary;
            let kept = || records.iter().filter(|record| record.text_kept);
            assert_eq!(
                (*kept_texts, *kept_bytes),
                (
                    kept().count() as u64,
                    kept().map(|record| record.bytes).sum()
                )
            );
            assert_eq!((library.as_str(), *books), (*name, records.len() as u64));
            assert_eq!(
                *bytes,
                records.iter().map(|record| record.bytes).sum::<u64>()
            );
            assert!(records.iter().all(|record| record.changed_at <= *changed));
        }
        for name in RECIPES {
            self.compare_recipe(snapshot, name);
        }
        self.compare_coverage(snapshot);
        self.compare_searches(snapshot);
    }

    /// How many books have gems of one recipe, or of one of two.
    fn compare_coverage(&self, snapshot: &dyn Snapshot) {
        for (one, other) in RECIPES
            .iter()
            .flat_map(|one| RECIPES.iter().map(move |other| (one, other)))
        {
            let names = [recipe_name(one), recipe_name(other)];
            let has = |book: &&NewBook| names.iter().any(|name| book.gems.contains_key(name));
            let expected = (
                self.books.values().filter(has).count() as u64,
                self.books.len() as u64,
            );
            let coverage = snapshot.coverage_of_any(&names).unwrap();
            assert_eq!((coverage.books, coverage.total), expected);
        }
    }

    /// Each term by itself or with another, in all libraries and in some, in pages of any size.
    fn compare_searches(&self, snapshot: &dyn Snapshot) {
        let all = WORDS
            .iter()
            .flat_map(|(_, word)| [(Field::Title, *word), (Field::Author, *word)]);
        let all: BTreeSet<_> = all
            .chain(
                IDENTIFIERS
                    .iter()
                    .map(|(_, known)| (Field::Identifier, *known)),
            )
            .collect();
        let term = |(field, text): (Field, &str)| match field {
            Field::Identifier => Term::identifier(text).unwrap(),
            field => Term::words(field, text).next().unwrap(),
        };
        let libraries = LIBRARIES.map(|name| name.parse::<Library>().unwrap());
        let pairs = all
            .iter()
            .zip(all.iter().cycle().skip(self.used.len() % all.len()));
        for (i, (&one, &other)) in pairs.enumerate() {
            let mut expected: Vec<(Option<usize>, BookNo)> = Vec::new();
            let among: Option<BTreeSet<Library>> =
                (i % 3 > 0).then(|| libraries.iter().skip(i % 2).take(i % 3).cloned().collect());
            for (key, book) in &self.books {
                let known = known_terms(&book.record.description);
                let is_among = among
                    .as_ref()
                    .is_none_or(|among| among.contains(&key.library));
                if is_among && known.contains(&one) && known.contains(&other) {
                    let created = self
                        .created
                        .iter()
                        .position(|created| *created == key.library);
                    expected.push((created, self.numbers[key]));
                }
            }
            expected.sort_unstable();
            let expected: Vec<BookNo> = expected.into_iter().map(|(_, number)| number).collect();
            assert_eq!(
                found(
                    snapshot,
                    [term(one), term(other)],
                    among.as_ref(),
                    1 + i % 4
                ),
                expected
            );
        }
        assert_eq!(found(snapshot, [], None, 1), []);
    }

    fn compare_recipe(&self, snapshot: &dyn Snapshot, name: &str) {
        let asked: Vec<Gem> = (0..POOL + 3).rev().map(|i| gem(name, i)).collect();
        let (posted, name) = (|gems: &[PlacedGem]| posted(name, gems), recipe_name(name));
        let mut sizes = Sizes::default();
        let mut libraries: BTreeMap<Library, BTreeMap<Gem, Vec<BookNo>>> = BTreeMap::new();
        for (key, book) in &self.books {
            let Some(gems) = book.gems.get(&name) else {
                continue;
            };
            sizes.add(gems.len() as u32);
            let lists = libraries.entry(key.library.clone()).or_default();
            for gem in posted(gems) {
                lists.entry(gem).or_default().push(self.numbers[key]);
            }
        }
        assert_eq!(snapshot.sizes(&name).unwrap(), sizes);
        for (cap, fewest) in [0, 1, 2, NO_CAP]
            .into_iter()
            .flat_map(|cap| [0, 1, 2, 5].map(|fewest| (cap, fewest)))
        {
            // Each library is as if it were alone.
            let each = libraries
                .iter()
                .map(|(library, lists)| Self::tally(library, lists, &asked, cap, fewest));
            let each: Vec<LibraryTally> = each
                .filter(|of| !of.books.is_empty() || !of.common.is_empty())
                .collect();
            let limits = Limits {
                cap,
                fewest,
                ..Limits::NONE
            };
            let mut all = snapshot.tally(&name, &asked, limits).unwrap();
            all.libraries.sort_by(|a, b| a.library.cmp(&b.library));
            assert_eq!(all.libraries, each);
            if fewest == 1 {
                let one: Library = LIBRARIES[0].parse().unwrap();
                for library in [None, Some(&one)] {
                    Self::compare_in_order(
                        snapshot,
                        &name,
                        &asked,
                        Limits { library, ..limits },
                        &libraries,
                    );
                }
            }
            for library in LIBRARIES.map(|name| name.parse().unwrap()) {
                let found = snapshot
                    .tally(
                        &name,
                        &asked,
                        Limits {
                            library: Some(&library),
                            ..limits
                        },
                    )
                    .unwrap();
                let expected: Vec<LibraryTally> = each
                    .iter()
                    .filter(|of| of.library == library)
                    .cloned()
                    .collect();
                assert_eq!(found.libraries, expected);
            }
        }
    }

    /// The lists that are read in order are those that are tallied for one query.
    fn compare_in_order(
        snapshot: &dyn Snapshot,
        name: &RecipeName,
        asked: &[Gem],
        limits: Limits<'_>,
        libraries: &BTreeMap<Library, BTreeMap<Gem, Vec<BookNo>>>,
    ) {
        let queries = [
            asked.to_vec(),
            Vec::new(),
            asked.iter().step_by(2).copied().collect(),
        ];
        let tally = |gems: &Vec<Gem>| snapshot.tally(name, gems, limits).unwrap();
        assert_eq!(
            snapshot.tallies(name, &queries, limits).unwrap(),
            queries.iter().map(tally).collect::<Vec<_>>()
        );
        let sorted: BTreeSet<Gem> = asked.iter().copied().collect();
        let sorted: Vec<Gem> = sorted.into_iter().collect();
        let mut called: Vec<(Gem, Option<Vec<BookNo>>)> = Vec::new();
        let each =
            &mut |gem, books: Option<&[BookNo]>| called.push((gem, books.map(<[BookNo]>::to_vec)));
        snapshot.holders(name, &sorted, limits, each).unwrap();
        assert!(called.is_sorted_by_key(|(gem, _)| *gem));
        let common: Vec<Gem> = called
            .iter()
            .filter(|(_, books)| books.is_none())
            .map(|(gem, _)| *gem)
            .collect();
        let found = called
            .into_iter()
            .filter_map(|(gem, books)| Some((gem, books?)));
        let all = || {
            libraries
                .iter()
                .filter(|(library, _)| limits.library.is_none_or(|only| only == *library))
        };
        let has = |gem: &Gem, book: &BookNo| {
            all().any(|(_, lists)| lists.get(gem).is_some_and(|list| list.contains(book)))
        };
        // Some may just have lost the gem.
        let found: BTreeSet<(Gem, BookNo)> = found
            .flat_map(|(gem, books)| books.into_iter().map(move |book| (gem, book)))
            .filter(|(gem, book)| has(gem, book))
            .collect();
        let lists = || {
            all()
                .flat_map(|(_, lists)| lists)
                .filter(|(gem, _)| sorted.binary_search(gem).is_ok())
        };
        let many = lists().filter(|(_, list)| list.len() > limits.cap as usize);
        let mut of_many: Vec<Gem> = many.map(|(gem, _)| *gem).collect();
        of_many.sort_unstable();
        assert_eq!(common, of_many);
        let few = lists().filter(|(_, list)| list.len() <= limits.cap as usize);
        let expected: BTreeSet<(Gem, BookNo)> = few
            .flat_map(|(gem, list)| list.iter().map(|book| (*gem, *book)))
            .collect();
        assert_eq!(found, expected);
    }

    fn tally(
        library: &Library,
        lists: &BTreeMap<Gem, Vec<BookNo>>,
        asked: &[Gem],
        cap: u32,
        fewest: u32,
    ) -> LibraryTally {
        let mut counts: BTreeMap<BookNo, u32> = BTreeMap::new();
        let is_common = |gem: &&Gem| {
            lists
                .get(*gem)
                .is_some_and(|list| list.len() > cap as usize)
        };
        let common: Vec<Gem> = asked.iter().filter(is_common).copied().collect();
        for book in asked
            .iter()
            .filter(|gem| !is_common(gem))
            .filter_map(|gem| lists.get(gem))
            .flatten()
        {
            *counts.entry(*book).or_default() += 1;
        }
        let counted: BTreeSet<Gem> = asked
            .iter()
            .filter(|gem| !is_common(gem))
            .copied()
            .collect();
        let holders = counted
            .into_iter()
            .filter_map(|gem| Some((gem, lists.get(&gem)?.len() as u32)));
        counts.retain(|_, count| *count >= fewest);
        let mut tally = LibraryTally::empty(library.clone());
        tally.books = counts.into_iter().collect();
        // Asked for is what a check weighs: nothing, where no book is named.
        tally.holders = if tally.books.is_empty() && common.is_empty() {
            Vec::new()
        } else {
            holders.collect()
        };
        tally.common = common;
        tally
    }
}

impl Model {
    /// The keys of all buckets, as the schema draws them.
    fn buckets(&self) -> BTreeSet<Vec<u8>> {
        let mut keys = BTreeSet::new();
        for (number, name) in (0_u16..).zip(RECIPES) {
            let lists = self
                .books
                .values()
                .filter_map(|book| book.gems.get(&recipe_name(name)));
            for gem in lists.flat_map(|gems| posted(name, gems)) {
                let bucket = (gem.0 >> (recipe(name).gem_bits() - 20)) as u32;
                keys.insert([&number.to_be_bytes()[..], &bucket.to_be_bytes()[1..]].concat());
            }
        }
        keys
    }
}

/// Makes the steps, and compares the store with a map after each.
fn follow<E: Engine>(steps: Vec<Step>, mut after: impl FnMut(&E)) -> (E, Model) {
    let mut engine = E::create();
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Put(books) => {
                model.put(&books);
                engine.store().put(&Actor::Local, books).unwrap();
            }
            Step::Remove(keys) => {
                assert_eq!(
                    engine
                        .store()
                        .remove(&Actor::Local, &keys, &Condition::default())
                        .unwrap(),
                    model.remove(&keys)
                );
            }
            Step::Flush => engine
                .store()
                .folder()
                .map_or(Ok(()), RocksStore::flush)
                .unwrap(),
            Step::Compact => engine.compact(),
            Step::Reopen => engine = engine.reopened(),
        }
        model.number_new(&*engine.store().snapshot());
        model.compare(engine.store());
        after(&engine);
    }
    engine.compact();
    model.compare(engine.store());
    (engine, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_a_map_would(steps in proptest::collection::vec(any_step(), 1..12)) {
        let (engine, model) = follow::<Rocks>(steps, |engine| assert_eq!(engine.faults(), Vec::<String>::new()));
        prop_assert_eq!(engine.faults(), Vec::<String>::new());
        let dir = engine.close();
        prop_assert_eq!(raw_keys(dir.path(), "delta").len(), 0);
        prop_assert_eq!(raw_keys(dir.path(), "lists").len(), 0);
        prop_assert_eq!(raw_keys(dir.path(), "postings"), model.buckets());
        prop_assert_eq!(raw_keys(dir.path(), "books").len(), model.books.len());
        prop_assert_eq!(raw_keys(dir.path(), "ids").len(), model.books.len());
        let kept = model.books.values().filter(|book| book.text.is_some());
        prop_assert_eq!(raw_keys(dir.path(), "texts").len(), kept.count());
    }

}

proptest! {
    // Each case starts a catalogue of its own and asks all shards.
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_cluster_does_what_a_map_would(steps in proptest::collection::vec(any_step(), 1..12)) {
        if has_cluster() {
            follow::<Cluster>(steps, |_| ());
        }
    }
}

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
    let late = |(book, record): (BookNo, Record)| LateGems {
        book,
        digest: record.digest,
        gems: gems.to_vec(),
        fold: None,
    };
    let books = store.snapshot().books(BookNo(0), usize::MAX).unwrap();
    store
        .add_gems(
            &Actor::Local,
            &recipe,
            books.into_iter().map(late).collect(),
        )
        .unwrap();
    assert_eq!(
        store.set_recipe(&Actor::Local, &recipe, COMPLETE).unwrap(),
        0
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With recipes that post all gems (of 32 bits) and one that posts some (of 64).
    #[test]
    fn no_order_of_changes_leaves_a_fault(changes in proptest::collection::vec(any_change(), 1..16)) {
        let (dir, backups, empty) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
        let mut store = create(dir.path());
        for change in changes {
            let known: Vec<RecipeName> = store.snapshot().recipes().iter().map(|recipe| recipe.name().clone()).collect();
            let is_known = |name: &str| known.contains(&recipe_name(name));
            match change {
                Change::Put(mut books) => {
                    for book in &mut books {
                        book.gems.retain(|name, _| known.contains(name));
                    }
                    store.put(&Actor::Local, books).unwrap();
                }
                Change::Remove(keys) => { store.remove(&Actor::Local, &keys, &Condition::default()).unwrap(); }
                Change::AddRecipe(name) => store.add_recipe(&Actor::Local, &recipe(name)).unwrap(),
                Change::Reindex(name, gems) if is_known(name) => reindex(&store, name, &gems),
                Change::DropRecipe(name) if known[0] != recipe_name(name) => {
                    store.drop_recipe(&Actor::Local, &recipe_name(name), UNWATCHED).unwrap();
                }
                Change::Compact => store.compact(UNWATCHED).unwrap(),
                Change::Reopen => {
                    drop(store);
                    store = RocksStore::open(dir.path()).unwrap();
                }
                Change::Reindex(..) | Change::DropRecipe(_) => {}
            }
            prop_assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        }
        // And what is backed up can be restored.
        store.backup(backups.path(), 1, UNWATCHED).unwrap();
        let restored = empty.path().join("restored");
        RocksStore::restore(backups.path(), &restored, None).unwrap();
        let restored = RocksStore::open(&restored).unwrap();
        prop_assert_eq!(restored.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        prop_assert_eq!(dump(&restored).unwrap(), dump(&store).unwrap());
    }
}
