//! Adding, completing and dropping recipes.

use lapidary_gems::Gem;
use lapidary_store::{
    Actor, Administration as _, BookNo, Condition, LateGems, RocksStore, Store as _, StoreError,
    Tally, UNWATCHED,
};
use tempfile::tempdir;

use crate::store::engine::{Engine, on_every_engine};
use crate::store::support::{
    ALL, COMPLETE, alone, book, create, gem, key, placed, raw_keys, recipe, recipe_name, simple,
};

on_every_engine! {
    late_gems_are_for_the_book_they_were_made_of
    recipes_keep_their_order
}

fn recipes_keep_their_order<E: Engine>() {
    let engine = E::empty();
    let store = engine.store();
    assert_eq!(store.snapshot().recipes(), []);
    let known = store
        .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
        .unwrap_err()
        .to_string();
    assert!(known.ends_with("recipes here: none yet"), "{known}");
    for name in ["released", "third", "released", "documented"] {
        store.add_recipe(&Actor::Local, &recipe(name)).unwrap();
    }
    let expected = ["released", "third", "documented"].map(recipe);
    assert_eq!(store.snapshot().recipes(), expected);
    assert_eq!(engine.reopened().store().snapshot().recipes(), expected);
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
        book(
            key("lib", id),
            &[
                ("documented", gems("documented")),
                ("hardened", gems("hardened")),
            ],
        )
    };
    store
        .put(
            &Actor::Local,
            (0..2500).map(|i| both(&i.to_string(), i)).collect(),
        )
        .unwrap();
    store.compact(UNWATCHED).unwrap();
    store
        .put(&Actor::Local, vec![both("7", 9000), both("2400", 9000)])
        .unwrap();
    let old = store.snapshot();
    let wide = recipe_name("hardened");
    let all: Vec<Gem> = (0..9010).map(|i| gem("hardened", i)).collect();
    let before = old.tally(&wide, &all, ALL).unwrap();
    assert_eq!(alone(before.clone()).books.len(), 2500);

    assert!(matches!(
        store.drop_recipe(&Actor::Local, &recipe_name("documented"), UNWATCHED),
        Err(StoreError::IsDefault(_))
    ));
    // Stopped in the middle: the first thousand records name it no more.
    assert!(matches!(
        store.drop_recipe(&Actor::Local, &wide, &stops_after(0)),
        Err(StoreError::Stopped)
    ));
    let clean =
        |store: &RocksStore| assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    clean(&store);
    assert!(matches!(
        store.snapshot().tally(&wide, &all, ALL),
        Err(StoreError::UnknownRecipe { .. })
    ));
    assert_eq!(
        store.snapshot().recipes(),
        ["documented", "released"].map(recipe)
    );
    assert_eq!(old.tally(&wide, &all, ALL).unwrap(), before);
    drop(old);
    // Books on either side of where it stopped change and go, and one that was prepared before comes.
    store
        .put(
            &Actor::Local,
            vec![both("3", 50), both("2000", 60), both("new", 70)],
        )
        .unwrap();
    store
        .remove(
            &Actor::Local,
            &[key("lib", "4"), key("lib", "2001")],
            &Condition::default(),
        )
        .unwrap();
    clean(&store);
    drop(store);
    let store = RocksStore::open(dir.path()).unwrap();
    clean(&store);
    assert_eq!(
        store.snapshot().recipes(),
        ["documented", "released"].map(recipe)
    );
    store.drop_recipe(&Actor::Local, &wide, UNWATCHED).unwrap();
    clean(&store);
    store.compact(UNWATCHED).unwrap();
    clean(&store);
    drop(store);
    for family in ["gems", "postings", "lists", "delta"] {
        assert!(
            raw_keys(dir.path(), family)
                .iter()
                .all(|key| key.starts_with(&[0, 0])),
            "{family}"
        );
    }
    // Its number comes again, and finds nothing of it.
    let store = RocksStore::open(dir.path()).unwrap();
    store.drop_recipe(&Actor::Local, &wide, UNWATCHED).unwrap();
    store
        .add_recipe(&Actor::Local, &recipe("hardened"))
        .unwrap();
    assert_eq!(
        store.snapshot().tally(&wide, &all, ALL).unwrap(),
        Tally::default()
    );
    clean(&store);
}

fn late_gems_are_for_the_book_they_were_made_of<E: Engine>() {
    let engine = E::empty();
    let store = engine.store();
    store
        .add_recipe(&Actor::Local, &recipe("documented"))
        .unwrap();
    store
        .put(
            &Actor::Local,
            vec![
                simple("lib", "1", 0..5),
                simple("lib", "2", 0..5),
                simple("lib", "3", 0..5),
            ],
        )
        .unwrap();
    store
        .add_recipe(&Actor::Local, &recipe("released"))
        .unwrap();
    let released = recipe_name("released");
    let numbers =
        ["1", "2", "3"].map(|id| store.snapshot().find(&key("lib", id)).unwrap().unwrap());
    let number = |i: usize| numbers.get(i).copied().unwrap_or(BookNo(u32::MAX - 1));
    let late = |book, digest: &str, i| LateGems {
        book: number(book),
        digest: digest.to_owned(),
        gems: vec![placed("released", i)],
        fold: None,
    };
    let right = "00".repeat(32);
    assert_eq!(
        store
            .set_recipe(&Actor::Local, &released, COMPLETE)
            .unwrap(),
        3
    );
    store
        .add_gems(
            &Actor::Local,
            &released,
            vec![
                late(0, &right, 1),
                late(1, "another", 1),
                late(9, &right, 1),
            ],
        )
        .unwrap();
    store
        .add_gems(&Actor::Local, &released, vec![late(0, &right, 2)])
        .unwrap();
    assert_eq!(
        store
            .snapshot()
            .gems(&released, number(0))
            .unwrap()
            .unwrap(),
        [placed("released", 1)]
    );
    assert_eq!(store.snapshot().gems(&released, number(1)).unwrap(), None);
    assert_eq!(
        store
            .set_recipe(&Actor::Local, &released, COMPLETE)
            .unwrap(),
        2
    );
    assert_eq!(store.snapshot().recipes()[0], recipe("documented"));
    store
        .add_gems(
            &Actor::Local,
            &released,
            vec![late(1, &right, 3), late(2, &right, 4)],
        )
        .unwrap();
    assert_eq!(engine.faults(), Vec::<String>::new());
    assert_eq!(
        store
            .set_recipe(&Actor::Local, &released, COMPLETE)
            .unwrap(),
        0
    );
    assert_eq!(
        engine.reopened().store().snapshot().recipes(),
        [recipe("released"), recipe("documented")]
    );
}
