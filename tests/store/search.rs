//! Finding books by their terms.

use std::collections::BTreeSet;

use lapidary_common::description::Description;
use lapidary_store::{
    Actor, Administration as _, BookNo, Condition, Cursor, Field, Found, Library, NewBook,
    RocksStore, Search, Snapshot, Store as _, StoreError, Term, UNWATCHED,
};
use tempfile::tempdir;

use crate::store::engine::{Engine, on_every_engine};
use crate::store::support::{create, found, key, recipe, simple};

on_every_engine! {
    a_book_is_found_by_its_new_title_alone
}

fn titled(library: &str, id: &str, title: &str) -> NewBook {
    let mut book = simple(library, id, []);
    book.record.description = Description {
        title: Some(title.to_owned()),
        ..Description::default()
    };
    book
}

fn title(words: &str) -> BTreeSet<Term> {
    Term::words(Field::Title, words).collect()
}

fn page(snapshot: &dyn Snapshot, words: &str, from: Option<&Cursor>, limit: usize) -> Found {
    snapshot
        .search(&Search {
            terms: &title(words),
            libraries: None,
            from,
            limit,
        })
        .unwrap()
}

#[test]
fn the_work_of_a_search_is_bounded() {
    const BOOKS: u32 = 40_000;
    let dir = tempdir().unwrap();
    // No book has both colours, and two lists of the same length alternate.
    let book = |i: u32| {
        titled(
            "lib",
            &format!("{i:06}"),
            if i.is_multiple_of(2) {
                "The red"
            } else {
                "The blue"
            },
        )
    };
    let books = (0..BOOKS).map(|i| Ok::<_, StoreError>(book(i)));
    let store =
        RocksStore::build(&dir.path().join("data"), &[recipe("documented")], books).unwrap();
    let snapshot = &*store.snapshot();
    let Found { books, next } = page(snapshot, "red blue", None, 10);
    assert_eq!(books, []);
    let next = next.expect("the rest of the lists");
    assert!(
        next.passed > 1_000 && next.passed < BOOKS - 1_000,
        "{next:?}"
    );
    assert_eq!(found(snapshot, title("red blue"), None, 10), []);
    // A common word is found at once, and all of its books in the end.
    assert_eq!(
        page(snapshot, "the", None, 3).books,
        [BookNo(0), BookNo(1), BookNo(2)]
    );
    assert_eq!(
        found(snapshot, title("blue the"), None, 1_000).len() as u32,
        BOOKS / 2
    );
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
}

#[test]
fn pages_go_on_where_the_last_one_ended_whatever_was_removed() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let books = (0..10).map(|i| titled(["a", "b"][i % 2], &i.to_string(), "The sea"));
    store.put(&Actor::Local, books.collect()).unwrap();
    let (mut ids, mut from) = (Vec::new(), None);
    loop {
        let snapshot = store.snapshot();
        let Found { books, next } = page(&*snapshot, "sea", from.as_ref(), 3);
        let records = snapshot
            .fetch(&books)
            .unwrap()
            .into_iter()
            .map(Option::unwrap);
        let keys: Vec<_> = records.map(|record| record.key).collect();
        store
            .remove(&Actor::Local, &keys, &Condition::default())
            .unwrap();
        ids.extend(keys.into_iter().map(|key| key.id.to_string()));
        from = next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(ids, ["0", "2", "4", "6", "8", "1", "3", "5", "7", "9"]);
}

#[test]
fn a_cursor_counts_only_books_of_its_own_library() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    for i in 0..4 {
        for library in ["others", "mine", "more"] {
            store
                .put(
                    &Actor::Local,
                    vec![titled(library, &i.to_string(), "The sea")],
                )
                .unwrap();
        }
    }
    let snapshot = store.snapshot();
    let mine: BTreeSet<Library> = ["mine".parse().unwrap()].into();
    let mut from = None;
    for passed in 1..4 {
        let search = Search {
            terms: &title("sea"),
            libraries: Some(&mine),
            from: from.as_ref(),
            limit: 1,
        };
        let Found { books, next } = snapshot.search(&search).unwrap();
        assert_eq!(
            books,
            [snapshot
                .find(&key("mine", &(passed - 1).to_string()))
                .unwrap()
                .unwrap()]
        );
        assert_eq!(
            next,
            Some(Cursor {
                library: "mine".parse().unwrap(),
                passed
            })
        );
        from = next;
    }
}

fn a_book_is_found_by_its_new_title_alone<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    store
        .put(
            &Actor::Local,
            vec![titled("lib", "1", "Old man"), titled("lib", "2", "Old sea")],
        )
        .unwrap();
    store
        .put(&Actor::Local, vec![titled("lib", "1", "New man")])
        .unwrap();
    let change = &mut |record: &mut lapidary_store::Record| {
        record.description.title = Some("Young sea".to_owned());
        Ok(())
    };
    store
        .amend(&Actor::Local, &key("lib", "2"), change)
        .unwrap();
    let snapshot = &*store.snapshot();
    let counts =
        ["old", "new", "man", "sea", "young"].map(|word| page(snapshot, word, None, 9).books.len());
    assert_eq!(counts, [0, 1, 1, 1, 1]);
    assert_eq!(engine.faults(), Vec::<String>::new());
}

/// A repair may give a library another number, if the first of its books is gone.
#[test]
fn books_are_found_after_a_repair() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let books = (0..6).map(|i| titled(["a", "b"][i % 2], &i.to_string(), "The sea"));
    store.put(&Actor::Local, books.collect()).unwrap();
    store
        .remove(
            &Actor::Local,
            &[key("a", "0"), key("b", "3")],
            &Condition::default(),
        )
        .unwrap();
    let search = |library: &str| {
        let libraries: BTreeSet<Library> = [library.parse().unwrap()].into();
        found(&*store.snapshot(), title("sea"), Some(&libraries), 1).len()
    };
    assert_eq!(["a", "b"].map(search), [2, 2]);
    assert_eq!(store.repair(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(["a", "b"].map(search), [2, 2]);
    store
        .put(
            &Actor::Local,
            vec![titled("a", "7", "The sea"), titled("a", "2", "The land")],
        )
        .unwrap();
    assert_eq!(["a", "b"].map(search), [2, 2]);
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
}
