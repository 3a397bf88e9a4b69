//! Changes of books.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

use lapidary_catalogue::api::Amendment;
use lapidary_catalogue::{Catalogue, Content, NewEntry, Prepared};
use lapidary_gems::{Gem, PlacedGem};
use lapidary_store::{
    Action, Actor, Administration as _, AuditFrom, BookNo, Condition, NewBook, Rights, RocksStore,
    RowChange, Store as _, StoreError, Table, Tally, UNWATCHED,
};
use tempfile::tempdir;

use crate::common::prose;
use crate::store::engine::{Engine, on_every_engine};
use crate::store::support::{
    ALL, book, create, dump, gem, keeping, key, placed, raw_keys, recipe, recipe_name, simple,
    tally,
};

on_every_engine! {
    a_book_is_emptied_by_nobody_who_did_not_ask_for_it
    a_new_version_may_lack_the_gems_of_one_recipe
    books_are_written_while_maintenance_goes_on
    many_may_write_and_read_at_once
    the_last_entry_of_the_audit_log_is_read_alone
    what_a_recipe_cannot_have_is_refused_whole
}

fn the_last_entry_of_the_audit_log_is_read_alone<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    for id in ["1", "2"] {
        let book = simple("lib", id, 0..3);
        store.put(&Actor::Local, vec![book]).unwrap();
    }
    let all = store.audit(AuditFrom::Behind(0), 99).unwrap();
    let last = all.last().unwrap();
    assert!(all.len() > 1);
    assert_eq!(
        store.audit(AuditFrom::Last, 99).unwrap(),
        std::slice::from_ref(last)
    );
    assert_eq!(store.last_audited().unwrap(), last.number);
}

fn what_a_recipe_cannot_have_is_refused_whole<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    store
        .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
        .unwrap();
    let before = dump(store).unwrap();

    let unknown = book(key("lib", "2"), &[("third", vec![placed("documented", 0)])]);
    let refused = store
        .put(&Actor::Local, vec![simple("lib", "1", 5..9), unknown])
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there are no gems of recipe 'documented@2f7be4a9' here; recipes here: documented, released, hardened"
    );
    assert_eq!(dump(store).unwrap(), before);
    assert!(matches!(
        store.snapshot().sizes(&recipe_name("third")),
        Err(StoreError::UnknownRecipe { .. })
    ));

    if recipe("documented").gem_bits() == 32 {
        // Its lower half is a gem of the book.
        let wide = Gem(gem("documented", 0).0 | 1 << 32);
        assert_eq!(
            store
                .snapshot()
                .tally(&recipe_name("documented"), &[wide], ALL)
                .unwrap(),
            Tally::default()
        );
        let wide = book(
            key("lib", "2"),
            &[(
                "documented",
                vec![PlacedGem {
                    gem: wide,
                    place: None,
                }],
            )],
        );
        assert!(matches!(
            store.put(&Actor::Local, vec![wide]),
            Err(StoreError::GemTooLarge { bits: 32, .. })
        ));
        assert_eq!(dump(store).unwrap(), before);
    }
}

fn many_may_write_and_read_at_once<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    std::thread::scope(|scope| {
        for library in ["a", "b", "c"] {
            let store = &store;
            scope.spawn(move || {
                for i in 0..40 {
                    store
                        .put(
                            &Actor::Local,
                            vec![
                                simple(library, &i.to_string(), i..i + 5),
                                simple("all", &i.to_string(), 0..i),
                            ],
                        )
                        .unwrap();
                    store
                        .remove(
                            &Actor::Local,
                            &[key(library, &(i / 2).to_string())],
                            &Condition::default(),
                        )
                        .unwrap();
                }
            });
        }
        for _ in 0..10 {
            assert_eq!(engine.faults(), Vec::<String>::new());
        }
    });
    assert_eq!(engine.faults(), Vec::<String>::new());
    let snapshot = store.snapshot();
    for library in ["a", "b", "c"] {
        let left = snapshot
            .walk(&library.parse().unwrap(), None, usize::MAX)
            .unwrap();
        assert_eq!(left.len(), 20);
        assert_eq!(
            snapshot
                .library(&library.parse().unwrap())
                .unwrap()
                .unwrap()
                .books,
            20
        );
    }
}

#[test]
fn folds_go_with_their_books() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store
        .apply(
            &Actor::Local,
            &[RowChange::put(Table::Folds, "", "")],
            &[Action::FoldsKept { kept: true }],
        )
        .unwrap();
    let folded = |name| {
        recipe(name)
            .folded("a text that is kept", |place| place)
            .unwrap()
    };
    let fold = folded("documented");
    let mut book = simple("lib", "1", 0..3);
    book.folds = vec![fold.clone(), folded("released")];
    store
        .put(&Actor::Local, vec![book, simple("lib", "2", 0..3)])
        .unwrap();
    drop(store);
    let store = RocksStore::open(dir.path()).unwrap();
    assert_eq!(
        store.page(Table::Folds, b"", None, 9).unwrap(),
        [(vec![], vec![])]
    );
    assert_eq!(
        store.snapshot().fold("documented", BookNo(0)).unwrap(),
        Some(fold)
    );
    assert_eq!(
        store.snapshot().fold("documented", BookNo(1)).unwrap(),
        None
    );
    store
        .remove(&Actor::Local, &[key("lib", "1")], &Condition::default())
        .unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    drop(store);
    assert_eq!(raw_keys(dir.path(), "folds").len(), 0);
}

#[test]
fn texts_go_with_their_books() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let in_blobs = || -> u64 {
        let files = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap());
        let blobs = files.filter(|file| {
            file.path()
                .extension()
                .is_some_and(|extension| extension == "blob")
        });
        blobs.map(|file| file.metadata().unwrap().len()).sum()
    };
    let text = |id: u64| prose(id, 20_000);
    let book = |id: u64| simple("lib", &id.to_string(), 0..3);
    let texts = |store: &RocksStore| -> Vec<bool> {
        (0..6)
            .map(|id| store.snapshot().text(BookNo(id)).unwrap() == Some(text(id.into())))
            .collect()
    };
    store
        .put(
            &Actor::Local,
            (0..6).map(|id| keeping(book(id), text(id))).collect(),
        )
        .unwrap();
    store.flush().unwrap();
    assert_eq!(texts(&store), [true; 6]);
    let all = in_blobs();
    let plain: usize = (0..6).map(|id| text(id).len()).sum();
    assert!(
        all > 0 && all < plain as u64 * 3 / 4,
        "{plain} compressed to {all}"
    );
    // Removed, replaced with another text, and replaced without one.
    store
        .remove(
            &Actor::Local,
            &[key("lib", "1"), key("lib", "2")],
            &Condition::default(),
        )
        .unwrap();
    store
        .put(&Actor::Local, vec![keeping(book(3), text(9)), book(5)])
        .unwrap();
    assert_eq!(texts(&store), [true, false, false, false, true, false]);
    assert_eq!(store.snapshot().text(BookNo(3)).unwrap(), Some(text(9)));
    store
        .amend(&Actor::Local, &key("lib", "4"), &mut |record| {
            record.text_kept = false;
            Ok(())
        })
        .unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    let summary = store
        .snapshot()
        .library(&"lib".parse().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(
        (summary.kept_texts, summary.kept_bytes),
        (3, [0, 9, 4].map(|id| text(id).len() as u64).iter().sum())
    );
    // What was removed is in no file after a compaction.
    store.compact(UNWATCHED).unwrap();
    assert!(in_blobs() < all * 6 / 10, "{} of {all}", in_blobs());
    store
        .remove(
            &Actor::Local,
            &[key("lib", "0"), key("lib", "3"), key("lib", "4")],
            &Condition::default(),
        )
        .unwrap();
    store.compact(UNWATCHED).unwrap();
    assert_eq!(in_blobs(), 0);
}

/// A book that is put in, by its text and its rights, and how an amendment changes it meanwhile.
#[test]
fn a_book_put_in_undoes_no_amendment_made_meanwhile() {
    let dir = tempdir().unwrap();
    let catalogue = Catalogue::open_or_create(dir.path()).unwrap();
    let key = key("lib", "1");
    let prepared = |text: u64, rights: Rights| -> Prepared {
        let entry = NewEntry::new(key.clone(), rights, Content::text(prose(text, 2_000)));
        catalogue
            .by(Actor::Local)
            .books()
            .prepare(
                entry,
                &catalogue.by(Actor::Local).recipes().ensure(&[]).unwrap(),
            )
            .unwrap()
    };
    let amend = |amendment: Amendment| {
        catalogue
            .by(Actor::Local)
            .books()
            .amend(&key, &amendment)
            .unwrap()
            .unwrap()
    };
    let (disabled, note) = (
        |disabled| Amendment {
            disabled: Some(disabled),
            ..Amendment::default()
        },
        "held back",
    );
    let note = Amendment {
        note: Some(note.to_owned()),
        ..Amendment::default()
    };
    let rights = Amendment {
        rights: Some(Rights::Free),
        ..Amendment::default()
    };
    let amendments = [disabled(true), disabled(false), note, rights];
    catalogue
        .by(Actor::Local)
        .books()
        .commit(vec![prepared(0, Rights::Protected)])
        .unwrap();
    for (text, amendment) in (1..).zip(amendments) {
        let put = prepared(text, Rights::Protected);
        let amended = amend(amendment.clone());
        catalogue
            .by(Actor::Local)
            .books()
            .commit(vec![put])
            .unwrap();
        let now = catalogue.books().get(&key).unwrap().unwrap();
        assert_ne!(now.digest, amended.digest, "the new text is there");
        assert_eq!(
            (now.rights, &now.standing),
            (amended.rights, &amended.standing),
            "{amendment:?}"
        );
        // A book that is put in afterwards says what its rights are; whether it counts and its note stay.
        catalogue
            .by(Actor::Local)
            .books()
            .commit(vec![prepared(100 + text, Rights::Protected)])
            .unwrap();
        let now = catalogue.books().get(&key).unwrap().unwrap();
        assert_eq!(
            (now.rights, &now.standing),
            (Rights::Protected, &amended.standing),
            "{amendment:?}"
        );
    }
    // Of two that are put in at once, the last counts, whatever was amended before.
    let (first, second) = (
        prepared(200, Rights::Free),
        prepared(201, Rights::PublicDomain),
    );
    catalogue
        .by(Actor::Local)
        .books()
        .commit(vec![first])
        .unwrap();
    catalogue
        .by(Actor::Local)
        .books()
        .commit(vec![second])
        .unwrap();
    assert_eq!(
        catalogue.books().get(&key).unwrap().unwrap().rights,
        Rights::PublicDomain
    );
    assert_eq!(catalogue.verify().unwrap(), Vec::<String>::new());
}

/// Each step of dropping a recipe and of a compaction waits until somebody has added a book.
fn books_are_written_while_maintenance_goes_on<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    let of = |name: &'static str| (name, (0..50).map(|i| placed(name, i)).collect::<Vec<_>>());
    let old = |id: u64| {
        book(
            key("lib", &format!("old{id}")),
            &[of("documented"), of("released")],
        )
    };
    store
        .put(&Actor::Local, (0..20).map(old).collect())
        .unwrap();
    let added = AtomicU64::new(0);
    let watch = |_: u64, _: u64| {
        let id = added.fetch_add(1, Ordering::Relaxed);
        let add = || {
            store.put(
                &Actor::Local,
                vec![simple("lib", &format!("new{id}"), [id])],
            )
        };
        thread::scope(|scope| scope.spawn(add).join().unwrap())
    };
    store
        .drop_recipe(&Actor::Local, &recipe_name("released"), &watch)
        .unwrap();
    let while_dropped = added.load(Ordering::Relaxed);
    store.compact(&watch).unwrap();
    assert!((1..added.load(Ordering::Relaxed)).contains(&while_dropped));
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(
        store.snapshot().libraries().unwrap()[0].books,
        20 + added.into_inner()
    );
}

/// Few words more or less, and a recipe finds nothing in a short text, while others do.
fn a_new_version_may_lack_the_gems_of_one_recipe<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    let version = |gems: [&[u64]; 2]| {
        let of = |name: &'static str, gems: &[u64]| {
            (name, gems.iter().map(|i| placed(name, *i)).collect())
        };
        let gems = [of("documented", gems[0]), of("released", gems[1])];
        NewBook {
            allow_empty: false,
            ..book(key("lib", "a"), &gems)
        }
    };
    store
        .put(&Actor::Local, vec![version([&[1, 2], &[3]])])
        .unwrap();
    store
        .put(&Actor::Local, vec![version([&[4, 5], &[]])])
        .unwrap();
    store
        .put(&Actor::Local, vec![version([&[], &[6]])])
        .unwrap();
    let refused = store
        .put(&Actor::Local, vec![version([&[], &[]])])
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("lib/a has gems of released and would have none at all"),
        "{refused}"
    );
}

fn a_book_is_emptied_by_nobody_who_did_not_ask_for_it<E: Engine>() {
    let engine = E::create();
    let store = engine.store();
    // Prepared when there was no such book yet.
    let empty = NewBook {
        allow_empty: false,
        ..simple("lib", "a", [])
    };
    store
        .put(&Actor::Local, vec![simple("lib", "a", [1, 2])])
        .unwrap();

    let before = dump(store).unwrap();
    let refused = store
        .put(&Actor::Local, vec![simple("lib", "b", [3]), empty.clone()])
        .unwrap_err();
    assert!(
        matches!(refused, StoreError::WouldBeEmpty { .. }),
        "{refused}"
    );
    assert_eq!(dump(store).unwrap(), before, "all or nothing");

    store
        .put(
            &Actor::Local,
            vec![NewBook {
                allow_empty: false,
                ..simple("lib", "a", [4])
            }],
        )
        .unwrap();
    store
        .put(
            &Actor::Local,
            vec![NewBook {
                allow_empty: true,
                ..empty
            }],
        )
        .unwrap();
    assert!(tally(&*store.snapshot(), [1, 2, 4], 10).books.is_empty());
}
