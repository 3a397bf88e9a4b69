//! Folders of other versions.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_gems::{Gem, RecipeName};
use lapidary_store::{
    Actor, Administration as _, BookNo, Field, RocksStore, RowChange, Store as _, StoreError,
    Table, Term, UNWATCHED,
};
use rocksdb::{IteratorMode, Options};
use tempfile::tempdir;

use crate::common::{database, families, prose};
use crate::store::support::{
    ALL, alone, create, dump, found, keeping, key, posted, raw, raw_keys, recipe, recipe_name,
    refusal, set_version, simple,
};

/// The current version.
const TODAY: u32 = 11;

/// A folder that an older version made.
fn unpacked(version: u32, into: &Path) -> PathBuf {
    let archive = format!(
        "{}/tests/folders/format-{version}.tar.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let archive = flate2::read::GzDecoder::new(fs::File::open(archive).unwrap());
    tar::Archive::new(archive).unpack(into).unwrap();
    into.join(format!("format-{version}"))
}

#[test]
fn another_format_version_is_refused_with_advice() {
    for (version, says) in [
        (TODAY + 1, "update lapidary"),
        (1, "ingest the books again"),
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
    let data = unpacked(8, dir.path());
    let file = data.join("lapidary.version");
    fs::write(&file, TODAY.to_string()).unwrap();
    let refused = refusal(RocksStore::open(&data));
    let says_what_to_do = |detail: &str| detail.contains("delete that file");
    assert!(
        matches!(&refused, StoreError::Damaged { detail, .. } if says_what_to_do(detail)),
        "{refused}"
    );

    for of_another in [None, Some("8"), Some("nine"), Some("")] {
        match of_another {
            None => fs::remove_file(&file).unwrap(),
            Some(content) => fs::write(&file, content).unwrap(),
        }
        let store = RocksStore::open(&data).unwrap();
        assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&file).unwrap(), TODAY.to_string());
    }
}

/// Folders that older versions made of `prose(0..6)`, with one book replaced and one removed; versions 7 to 9 have 1,201
/// books more.
/// Families that came without a new version are created.
#[test]
fn a_folder_without_texts_gets_them_when_it_is_opened() {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store
        .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
        .unwrap();
    drop(store);
    let mut db = database(dir.path());
    db.drop_cf("texts").unwrap();
    drop(db);
    let store = RocksStore::open(dir.path()).unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    store
        .put(
            &Actor::Local,
            vec![keeping(simple("lib", "1", 0..3), "kept".to_owned())],
        )
        .unwrap();
    assert_eq!(
        store.snapshot().text(BookNo(0)).unwrap().as_deref(),
        Some("kept")
    );
}

#[test]
fn a_folder_of_an_older_version_becomes_one_of_today() {
    let (exact, hardened) = (&["documented", "released"][..], &["documented"][..]);
    for (version, names) in [
        (2, exact),
        (3, exact),
        (5, hardened),
        (6, hardened),
        (7, hardened),
        (8, hardened),
        (9, hardened),
    ] {
        let dir = tempdir().unwrap();
        let data = unpacked(version, dir.path());
        assert!(
            !families(&data).contains(&"decisions".to_owned()),
            "version {version}"
        );
        // Twice: what is brought to this version is one of it.
        for _ in 0..2 {
            let store = RocksStore::open(&data).unwrap();
            let snapshot = store.snapshot();
            assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
            // A new column family can be used.
            let row = RowChange::put(Table::Decisions, "r", "");
            store.apply(&Actor::Local, &[row], &[]).unwrap();
            assert_eq!(
                store.page(Table::Decisions, b"r", None, 2).unwrap().len(),
                1,
                "version {version}"
            );
            for id in 0..6_u32 {
                let Some(book) = snapshot.find(&key("l", &id.to_string())).unwrap() else {
                    assert_eq!(id, 1, "version {version}");
                    continue;
                };
                for &name in names {
                    let gems = recipe(name).gems(&prose(id.into(), 3_000));
                    let count = posted(name, &gems).len() as u32;
                    let asked: Vec<Gem> = gems.iter().map(|gem| gem.gem).collect();
                    let tally = alone(snapshot.tally(&recipe_name(name), &asked, ALL).unwrap());
                    assert_eq!(tally.books, [(book, count)], "version {version}, {name}");
                    assert_eq!(snapshot.gems(&recipe_name(name), book).unwrap(), Some(gems));
                }
                let record = snapshot.fetch(&[book]).unwrap().pop().flatten().unwrap();
                // The gems of `hardened` were others, and are gone.
                assert_eq!(
                    record
                        .gems
                        .keys()
                        .map(RecipeName::as_str)
                        .collect::<Vec<_>>(),
                    names
                );
                assert_eq!(
                    snapshot.gems(&recipe_name("hardened"), book).ok().flatten(),
                    None
                );
                assert!(
                    snapshot
                        .with_digest(&record.digest, ALL)
                        .unwrap()
                        .contains(&book),
                    "version {version}"
                );
                let terms = Term::of(&record.description);
                assert!(
                    terms.is_empty() || found(&*snapshot, terms, None, 1000).contains(&book),
                    "version {version}"
                );
            }
            // A list that is too long for a bucket, of a library that was fed in two parts.
            let long = snapshot
                .tally(&recipe_name("documented"), &[Gem(7)], ALL)
                .unwrap();
            let books: Vec<usize> = long.libraries.iter().map(|of| of.books.len()).collect();
            assert_eq!(books, if version < 7 { vec![] } else { vec![1201] });
        }
        raw(&data, |db| {
            let version = db.get_cf(db.cf_handle("meta").unwrap(), "version").unwrap();
            assert_eq!(version, Some(TODAY.to_be_bytes().to_vec()));
        });
    }
}

#[test]
fn a_recipe_with_an_earlier_definition_does_not_come_back_while_it_is_being_dropped() {
    let dir = tempdir().unwrap();
    let data = unpacked(9, dir.path());
    let mut number = Vec::new();
    raw(&data, |db| {
        let meta = db.cf_handle("meta").unwrap();
        let recipes = db.prefix_iterator_cf(meta, "recipe\0").map(Result::unwrap);
        let mut hardened = recipes.filter(|(_, value)| {
            str::from_utf8(value)
                .unwrap_or_default()
                .contains("hardened")
        });
        number = hardened
            .next()
            .unwrap()
            .0
            .strip_prefix(b"recipe\0")
            .unwrap()
            .to_vec();
        db.put_cf(meta, [b"leaving\0", number.as_slice()].concat(), [])
            .unwrap();
    });
    let of_recipe = || {
        ["gems", "postings"].map(|family| {
            raw_keys(&data, family)
                .iter()
                .filter(|key| key.starts_with(&number))
                .count()
        })
    };
    for _ in 0..2 {
        let store = RocksStore::open(&data).unwrap();
        assert_eq!(store.snapshot().recipes(), ["documented"].map(recipe));
        assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    }
    assert!(of_recipe().iter().all(|count| *count > 0));
    let store = RocksStore::open(&data).unwrap();
    store
        .drop_recipe(&Actor::Local, &recipe_name("hardened"), UNWATCHED)
        .unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    drop(store);
    assert_eq!(
        RocksStore::open(&data).unwrap().snapshot().recipes(),
        ["documented"].map(recipe)
    );
    assert_eq!(of_recipe(), [0, 0]);
}

#[test]
fn terms_that_were_written_in_part_are_completed_when_the_folder_is_opened() {
    let dir = tempdir().unwrap();
    let data = unpacked(8, dir.path());
    drop(RocksStore::open(&data).unwrap());
    let all = raw_keys(&data, "terms");
    // The version is written last.
    set_version(&data, 8);
    fs::remove_file(data.join("lapidary.version")).unwrap();
    raw(&data, |db| {
        all.iter()
            .step_by(2)
            .for_each(|key| db.delete_cf(db.cf_handle("terms").unwrap(), key).unwrap())
    });
    let store = RocksStore::open(&data).unwrap();
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    let search = |terms: Vec<Term>| found(&*store.snapshot(), terms, None, 1000).len();
    assert_eq!(
        search(Term::words(Field::Title, "cliche ЕЛКА").collect()),
        5
    );
    assert_eq!(
        search(Term::identifier("978-0306406157").into_iter().collect()),
        5
    );
    assert_eq!(search(Term::identifier("x:4").into_iter().collect()), 1);
    drop(store);
    assert_eq!(raw_keys(&data, "terms"), all);
}

#[test]
fn a_rebuild_that_was_interrupted_is_done_when_the_folder_is_opened() {
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
        let [meta, postings] = ["meta", "postings"].map(|name| db.cf_handle(name).unwrap());
        db.put_cf(meta, "rebuild", "").unwrap();
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
    assert_eq!(store.verify(UNWATCHED).unwrap(), Vec::<String>::new());
    assert_eq!(dump(&store).unwrap(), before);
}
