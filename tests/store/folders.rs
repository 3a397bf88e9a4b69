//! Folders: which hold a catalogue, and who may open them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use lapidary_store::{Actor, RocksStore, Store as _, StoreError};
use rocksdb::{DB, Options};
use tempfile::tempdir;

use crate::common::families;
use crate::store::support::{create, key, refusal, simple};

/// Names, contents and times of all files in a folder.
fn listing(dir: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let content = fs::read(entry.path()).unwrap();
            (
                entry.file_name().into_string().unwrap(),
                (content, entry.metadata().unwrap().modified().unwrap()),
            )
        })
        .collect()
}

#[test]
fn a_folder_that_is_no_catalogue_is_left_alone() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("not/there");
    assert!(matches!(
        refusal(RocksStore::open(&missing)),
        StoreError::Missing(_)
    ));
    assert!(matches!(
        refusal(RocksStore::open(dir.path())),
        StoreError::Missing(_)
    ));
    assert!(listing(dir.path()).is_empty());

    fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
    let before = listing(dir.path());
    assert!(matches!(
        refusal(RocksStore::open(dir.path())),
        StoreError::Foreign(_)
    ));
    assert!(matches!(
        refusal(RocksStore::open_or_create(dir.path())),
        StoreError::Foreign(_)
    ));
    assert_eq!(listing(dir.path()), before);

    let file = dir.path().join("thesis.txt");
    for file in [file.clone(), file.join("data")] {
        let error = refusal(RocksStore::open_or_create(&file)).to_string();
        assert!(error.contains("this is a file"), "{error}");
    }

    let other = tempdir().unwrap();
    drop(DB::open_default(other.path()).unwrap());
    let before = listing(other.path());
    assert!(matches!(
        refusal(RocksStore::open_or_create(other.path())),
        StoreError::Foreign(_)
    ));
    assert_eq!(listing(other.path()), before);
}

#[test]
fn a_new_folder_is_its_users_alone() {
    let dir = tempdir().unwrap();
    let data = dir.path().join("not/there/yet");
    drop(create(&data));
    assert_eq!(
        fs::metadata(&data).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn a_mounted_disk_is_an_empty_folder() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    assert!(matches!(
        refusal(RocksStore::open(dir.path())),
        StoreError::Missing(_)
    ));
    create(dir.path());
}

#[test]
fn a_copy_without_its_lock_file_is_a_catalogue() {
    let dir = tempdir().unwrap();
    create(dir.path())
        .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
        .unwrap();
    fs::remove_file(dir.path().join("lapidary.lock")).unwrap();
    let store = RocksStore::open(dir.path()).unwrap();
    assert!(store.snapshot().find(&key("lib", "1")).unwrap().is_some());
}

#[test]
fn an_interrupted_creation_is_completed() {
    let complete = tempdir().unwrap();
    create(complete.path());
    let families = families(complete.path());
    for interrupted in ["lock only", "no families", "no version"] {
        let dir = tempdir().unwrap();
        fs::write(dir.path().join("lapidary.lock"), "1").unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        match interrupted {
            "lock only" => {}
            "no families" => drop(DB::open(&options, dir.path()).unwrap()),
            _ => drop(DB::open_cf(&options, dir.path(), &families).unwrap()),
        }
        assert!(
            matches!(
                refusal(RocksStore::open(dir.path())),
                StoreError::Missing(_)
            ),
            "{interrupted}"
        );
        create(dir.path())
            .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
            .unwrap();
        RocksStore::open(dir.path()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_is_denied() {
    let dir = tempdir().unwrap();
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    // For the one user whom permissions do not stop: a file system that nobody can write to.
    let closed = if fs::write(closed.join("probe"), "").is_ok() {
        Path::new("/sys/lapidary").to_owned()
    } else {
        closed
    };
    let error = refusal(RocksStore::open_or_create(&closed));
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
}
