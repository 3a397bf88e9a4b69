//! A catalogue built at once.

use std::fs;

use lapidary_gems::{Gem, PlacedGem};
use lapidary_store::{
    Actor, Administration as _, Condition, NewBook, RocksStore, Store as _, StoreError, UNWATCHED,
};
use tempfile::tempdir;

use crate::common::families;
use crate::store::support::{
    RECIPES, book, create, dump, keeping, key, placed, raw_keys, recipe, recipe_name, refusal,
    simple,
};

#[test]
fn a_catalogue_built_at_once_is_as_one_fed() {
    let dir = tempdir().unwrap();
    let (built, fed) = (dir.path().join("built"), dir.path().join("fed"));
    let mut books: Vec<NewBook> = (0..3000)
        .map(|i| {
            simple(
                ["lib", "a"][i as usize % 2],
                &i.to_string(),
                [0, i % 7, i % 7, i],
            )
        })
        .collect();
    books[5].gems.clear();
    for i in (0..300).step_by(3) {
        books[i].gems.insert(
            recipe_name("released"),
            (0..i as u64 % 5)
                .map(|gem| placed("released", gem))
                .collect(),
        );
        books[i].gems.insert(
            recipe_name("hardened"),
            (0..i as u64 % 4)
                .map(|gem| placed("hardened", gem))
                .collect(),
        );
        books[i].folds = RECIPES
            .iter()
            .filter_map(|name| recipe(name).folded("a text of some more words", |place| place))
            .collect();
    }
    for i in (0..300).step_by(10) {
        books[i] = keeping(books[i].clone(), format!("kept {i} ").repeat(50 * i));
    }
    books.sort_by(|a, b| a.record.key.cmp(&b.record.key));
    let recipes = RECIPES.map(recipe);
    let built_store = RocksStore::build(
        &built,
        &recipes,
        books.iter().cloned().map(Ok::<_, StoreError>),
    )
    .unwrap();
    let fed_store = create(&fed);
    fed_store.put(&Actor::Local, books).unwrap();
    assert_eq!(dump(&built_store).unwrap(), dump(&fed_store).unwrap());
    assert_eq!(built_store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    fed_store.compact(UNWATCHED).unwrap();
    for store in [&built_store, &fed_store] {
        store
            .remove(
                &Actor::Local,
                &[key("a", "1"), key("lib", "2998")],
                &Condition::default(),
            )
            .unwrap();
        store
            .put(&Actor::Local, vec![simple("lib", "new", 0..9)])
            .unwrap();
    }
    // A library changes when a book is removed, and the two were not removed at once.
    let without_times = |store| {
        let dump = dump(store).unwrap();
        dump.lines()
            .filter(|line| !line.starts_with("LibrarySummary"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(without_times(&built_store), without_times(&fed_store));
    drop((built_store, fed_store));
    // Each has a story of its own.
    for family in families(&built).iter().filter(|family| *family != "audit") {
        assert_eq!(raw_keys(&built, family), raw_keys(&fed, family), "{family}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_cannot_be_built_leaves_nothing() {
    let dir = tempdir().unwrap();
    let data = dir.path().join("data");
    let documented = [recipe("documented")];
    let twice = vec![
        simple("lib", "0", 0..3),
        simple("lib", "1", 0..3),
        simple("lib", "1", 3..5),
    ];
    let unsorted = vec![simple("lib", "2", 0..3), simple("lib", "1", 3..5)];
    let wide = PlacedGem {
        gem: Gem(1 << 32),
        place: None,
    };
    for (books, says) in [
        (twice, "lib/1 occurs twice"),
        (unsorted, "lib/1 is out of order"),
        (
            vec![book(key("lib", "1"), &[("documented", vec![wide])])],
            "have 32 bits",
        ),
        (
            vec![book(key("lib", "1"), &[("released", vec![])])],
            "there are no gems of recipe 'released' here",
        ),
    ] {
        let error = refusal(RocksStore::build(
            &data,
            &documented,
            books.into_iter().map(Ok::<_, StoreError>),
        ))
        .to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
    create(&data);
    let again = refusal(RocksStore::build(
        &data,
        &documented,
        std::iter::empty::<Result<_, StoreError>>(),
    ));
    assert!(matches!(again, StoreError::Foreign(_)), "{again}");
}
