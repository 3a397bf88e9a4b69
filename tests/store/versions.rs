//! Folders of other versions.

use std::fs;

use lapidary_store::{Actor, Administration as _, RocksStore, Store as _, StoreError, UNWATCHED};
use rocksdb::{IteratorMode, Options};
use tempfile::tempdir;

use crate::common::database;
use crate::store::support::{create, dump, raw, refusal, set_version, simple};

/// The current version.
const TODAY: u32 = 14;

#[test]
fn another_format_version_is_refused_with_advice() {
    for (version, says) in [
        (TODAY + 1, "update lapidary"),
        (TODAY - 1, "run `lapidary export"),
    ] {
        let dir = tempdir().unwrap();
        create(dir.path());
        set_version(dir.path(), version);
        for error in [
            refusal(RocksStore::open(dir.path())),
            refusal(RocksStore::open_or_create(dir.path())),
        ] {
            assert!(
                matches!(&error, StoreError::Version { found, supported: TODAY, .. } if *found == version.to_string())
            );
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}

#[test]
fn a_newer_version_may_have_more_column_families() {
    let dir = tempdir().unwrap();
    create(dir.path());
    set_version(dir.path(), TODAY + 1);
    database(dir.path())
        .create_cf("later", &Options::default())
        .unwrap();
    assert!(matches!(
        refusal(RocksStore::open(dir.path())),
        StoreError::Version { .. }
    ));
}

#[test]
fn a_folder_with_more_families_is_of_a_newer_version() {
    let dir = tempdir().unwrap();
    drop(create(dir.path()));
    database(dir.path())
        .create_cf("later", &Options::default())
        .unwrap();
    let error = refusal(RocksStore::open(dir.path()));
    assert!(matches!(error, StoreError::Version { .. }), "{error}");
    assert!(error.to_string().contains("update lapidary"), "{error}");
}

#[test]
fn the_file_with_the_version_deceives_nobody() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store
        .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
        .unwrap();
    drop(store);
    let file = dir.path().join("lapidary.version");
    for of_another in [None, Some("8"), Some("nine"), Some("")] {
        match of_another {
            None => fs::remove_file(&file).unwrap(),
            Some(content) => fs::write(&file, content).unwrap(),
        }
        let store = RocksStore::open(dir.path()).unwrap();
        assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&file).unwrap(), TODAY.to_string());
    }

    set_version(dir.path(), TODAY - 1);
    for content in [Some(TODAY.to_string()), Some("8".to_owned()), None] {
        match content {
            None => fs::remove_file(&file).unwrap(),
            Some(content) => fs::write(&file, content).unwrap(),
        }
        let refused = refusal(RocksStore::open(dir.path()));
        assert!(matches!(refused, StoreError::Version { .. }), "{refused}");
    }
}

#[test]
fn a_folder_without_one_of_its_families_is_damaged() {
    let dir = tempdir().unwrap();
    drop(create(dir.path()));
    database(dir.path()).drop_cf("texts").unwrap();
    let refused = refusal(RocksStore::open(dir.path()));
    assert!(
        matches!(&refused, StoreError::Damaged { detail, .. } if detail.contains("'texts' is lost")),
        "{refused}"
    );
}

#[test]
fn a_repair_makes_all_postings_anew() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let many = |i: u64| simple("lib", &i.to_string(), [1, i, i + 1]);
    store
        .put(&Actor::Local, (0..1500).map(many).collect())
        .unwrap();
    store.compact(UNWATCHED).unwrap();
    store
        .put(
            &Actor::Local,
            (1400..1600)
                .map(|i| simple("lib", &i.to_string(), [2, i]))
                .collect(),
        )
        .unwrap();
    let before = dump(&store).unwrap();
    drop(store);
    raw(dir.path(), |db| {
        let postings = db.cf_handle("postings").unwrap();
        let keys: Vec<_> = db
            .iterator_cf(postings, IteratorMode::Start)
            .map(|entry| entry.unwrap().0)
            .collect();
        for (i, key) in keys.iter().enumerate() {
            match i % 3 {
                0 => db.delete_cf(postings, key).unwrap(),
                1 => db.put_cf(postings, key, b"?").unwrap(),
                _ => {}
            }
        }
        for family in ["lists", "delta"] {
            db.put_cf(db.cf_handle(family).unwrap(), [0; 11], "?")
                .unwrap();
            db.put_cf(db.cf_handle(family).unwrap(), "zzz", "?")
                .unwrap();
        }
    });
    let store = RocksStore::open(dir.path()).unwrap();
    store.repair(UNWATCHED).unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(dump(&store).unwrap(), before);
}
