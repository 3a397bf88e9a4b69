//! What a snapshot tells.

use lapidary_gems::Gem;
use lapidary_store::{
    Actor, Administration as _, BookId, BookNo, Condition, Library, LibraryTally, Limits, Snapshot,
    Store as _, UNWATCHED,
};
use tempfile::tempdir;

use crate::store::engine::{Engine, on_every_engine};
use crate::store::support::{ALL, alone, create, gem, key, placed, recipe_name, simple, tally};

on_every_engine! {
    a_gem_given_twice_counts_once
    a_gem_in_more_books_than_the_cap_is_common
    a_gem_is_sooner_common_in_a_library_that_informs
    a_list_may_grow_long_and_short_again
    a_walk_goes_on_behind_an_id
}

#[test]
fn a_snapshot_sees_no_later_change() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store
        .put(
            &Actor::Local,
            vec![simple("lib", "1", 0..5), simple("lib", "2", 3..8)],
        )
        .unwrap();
    let before = store.snapshot();
    let unread = store.snapshot();
    let numbers = [
        before.find(&key("lib", "1")).unwrap().unwrap(),
        before.find(&key("lib", "2")).unwrap().unwrap(),
    ];
    let asked: Vec<Gem> = (0..10).map(|i| gem("documented", i)).collect();
    let see = |snapshot: &dyn Snapshot| {
        (
            snapshot
                .tally(&recipe_name("documented"), &asked, ALL)
                .unwrap(),
            snapshot.fetch(&numbers).unwrap(),
            snapshot
                .gems(&recipe_name("documented"), numbers[0])
                .unwrap(),
            snapshot.walk(&"lib".parse().unwrap(), None, 10).unwrap(),
            (
                snapshot.libraries().unwrap(),
                snapshot.sizes(&recipe_name("documented")).unwrap(),
            ),
        )
    };
    let seen = see(&*before);
    assert_eq!(
        alone(seen.0.clone()).books,
        [(numbers[0], 5), (numbers[1], 5)]
    );

    store
        .remove(&Actor::Local, &[key("lib", "1")], &Condition::default())
        .unwrap();
    store
        .put(
            &Actor::Local,
            vec![
                simple("first", "4", 0..9),
                simple("lib", "2", 0..1),
                simple("new", "3", 0..9),
            ],
        )
        .unwrap();
    store.flush().unwrap();
    assert_eq!(see(&*before), seen);
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    let after = see(&*store.snapshot());
    assert_ne!(after, seen);
    assert_eq!(
        see(&*unread),
        seen,
        "what others read later is not mixed in"
    );
    assert_eq!(see(&*store.snapshot()), after);
}

fn a_walk_goes_on_behind_an_id<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    let ids = ["1", "1/2", "10", "2", "Я", "а"];
    store
        .put(
            &Actor::Local,
            ids.iter().rev().map(|id| simple("lib", id, 0..2)).collect(),
        )
        .unwrap();
    store
        .put(
            &Actor::Local,
            vec![simple("lib2", "15", 0..2), simple("l", "0", 0..2)],
        )
        .unwrap();
    let snapshot = store.snapshot();
    let walk = |after: Option<&str>, limit| -> Vec<String> {
        let after: Option<BookId> = after.map(|id| id.parse().unwrap());
        let books = snapshot
            .walk(&"lib".parse().unwrap(), after.as_ref(), limit)
            .unwrap();
        books
            .into_iter()
            .map(|(_, record)| record.key.id.as_str().to_owned())
            .collect()
    };
    assert_eq!(walk(None, 100), ids);
    assert_eq!(walk(None, 0), [""; 0]);
    assert_eq!(walk(Some("1"), 2), ["1/2", "10"]);
    assert_eq!(walk(Some("10"), 1), ["2"]);
    assert_eq!(walk(Some("1.5 is not there"), 1), ["1/2"]);
    assert_eq!(walk(Some("а"), 5), [""; 0]);
    assert_eq!(
        snapshot
            .walk(&"li".parse::<Library>().unwrap(), None, 9)
            .unwrap(),
        []
    );
}

fn a_gem_in_more_books_than_the_cap_is_common<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    store
        .put(
            &Actor::Local,
            (0..4)
                .map(|i| simple("lib", &i.to_string(), [0, 5, 6 + i]))
                .collect(),
        )
        .unwrap();
    store
        .put(&Actor::Local, vec![simple("lib", "4", [5])])
        .unwrap();
    let snapshot = store.snapshot();
    let number = |i: u32| snapshot.find(&key("lib", &i.to_string())).unwrap().unwrap();
    let ones = |n: u32| {
        let mut ones: Vec<_> = (0..n).map(|i| (number(i), 1)).collect();
        ones.sort_unstable();
        ones
    };
    let common = |of: &[u64]| of.iter().map(|i| gem("documented", *i)).collect::<Vec<_>>();
    for (asked, cap, books, commons) in [
        (vec![5], 5, ones(5), vec![]),
        (vec![5], 4, vec![], vec![5]),
        (vec![5, 0], 4, ones(4), vec![5]),
        (vec![5, 0], 3, vec![], vec![5, 0]),
        (vec![0, 5], 3, vec![], vec![0, 5]),
        (vec![0, 7, 5], 1, vec![(number(1), 1)], vec![0, 5]),
        (vec![7], 0, vec![], vec![7]),
        (vec![3, 5, 5, 5], 0, vec![], vec![5]),
        (vec![7, 7], 1, vec![(number(1), 1)], vec![]),
        (vec![], 1, vec![], vec![]),
    ] {
        let found = tally(&*snapshot, asked, cap);
        assert_eq!((found.books, found.common), (books, common(&commons)));
    }
}

/// Whether the books are in the changes of the lists or in the lists.
fn a_gem_is_sooner_common_in_a_library_that_informs<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    for library in ["decides", "informs"] {
        let books = (0..51).map(|i| simple(library, &i.to_string(), [1, 2 + i % 2]));
        store.put(&Actor::Local, books.collect()).unwrap();
    }
    let limits = Limits {
        cap: 1_000,
        informing: &["informs".parse().unwrap()].into(),
        ..ALL
    };
    let asked = [1, 2].map(|i| gem("documented", i));
    for merged in [false, true] {
        if merged {
            engine.compact();
        }
        let snapshot = store.snapshot();
        let tally = snapshot.tally(&recipe_name("documented"), &asked, limits);
        let [decides, informs] = &tally.unwrap().libraries[..] else {
            panic!("two libraries");
        };
        assert_eq!((decides.books.len(), decides.common.len()), (51, 0));
        assert_eq!(informs.common, asked[..1]);
        assert_eq!(informs.books.len(), 26, "those of the other gem");
        let mut held = Vec::new();
        let note = &mut |_, books: Option<&[BookNo]>| held.push(books.map(<[BookNo]>::len));
        let name = recipe_name("documented");
        snapshot.holders(&name, &asked[..1], limits, note).unwrap();
        held.sort_unstable();
        assert_eq!(held, [None, Some(51)], "common where it only informs");
    }
}

fn a_list_may_grow_long_and_short_again<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    let books = |ids: std::ops::Range<u32>| {
        ids.map(|i| simple("lib", &i.to_string(), [1, 2 + u64::from(i % 2)]))
            .collect()
    };
    let keys =
        |ids: std::ops::Range<u32>| ids.map(|i| key("lib", &i.to_string())).collect::<Vec<_>>();
    let empty = || LibraryTally::empty("lib".parse().unwrap());
    let check = |there: std::ops::Range<u32>| {
        for merged in [false, true] {
            if merged {
                engine.compact();
            }
            let snapshot = store.snapshot();
            let number = |i: u32| snapshot.find(&key("lib", &i.to_string())).unwrap().unwrap();
            let mut all: Vec<_> = there.clone().map(|i| (number(i), 1)).collect();
            all.sort_unstable();
            let count = there.len() as u32;
            let one = gem("documented", 1);
            assert_eq!(
                tally(&*snapshot, [1], count),
                LibraryTally {
                    books: all,
                    holders: vec![(one, count)],
                    ..empty()
                }
            );
            assert_eq!(
                tally(&*snapshot, [1], count - 1),
                LibraryTally {
                    common: vec![one],
                    ..empty()
                }
            );
            assert_eq!(engine.faults(), Vec::<String>::new());
        }
    };
    store.put(&Actor::Local, books(0..1024)).unwrap();
    check(0..1024);
    store.put(&Actor::Local, books(1024..1025)).unwrap();
    check(0..1025);
    store.put(&Actor::Local, books(1025..2500)).unwrap();
    check(0..2500);
    store
        .remove(&Actor::Local, &keys(1000..2500), &Condition::default())
        .unwrap();
    check(0..1000);
}

fn a_gem_given_twice_counts_once<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    store
        .put(&Actor::Local, vec![simple("lib", "1", [3, 4, 3, 3])])
        .unwrap();
    let snapshot = store.snapshot();
    let number = snapshot.find(&key("lib", "1")).unwrap().unwrap();
    assert_eq!(
        snapshot.fetch(&[number]).unwrap()[0].as_ref().unwrap().gems[&recipe_name("documented")],
        2
    );
    assert_eq!(
        snapshot
            .gems(&recipe_name("documented"), number)
            .unwrap()
            .unwrap(),
        [placed("documented", 3), placed("documented", 4)]
    );
    assert_eq!(engine.faults(), Vec::<String>::new());
}
