//! Damaged data: what `verify` finds, what `repair` mends, and what no backup is made of.

use std::fs;

use lapidary_store::{
    Actor, Administration as _, AuditFrom, Condition, RocksStore, Store as _, StoreError, UNWATCHED,
};
use tempfile::{TempDir, tempdir};

use crate::store::support::{NO_CAP, copy, create, dump, gem, keeping, key, raw, simple, tally};

/// A sentence, and the family, key and value (`None`: deleted) that it comes from.
type Fault<'a> = (&'a str, &'a str, &'a [u8], Option<&'a [u8]>);

/// Damages a store of two books: `verify` says the sentence, and `repair` mends it.
fn is_found_and_mended((sentence, family, key_bytes, value): Fault) {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    store
        .put(&Actor::Local, vec![simple("lib", "1", 0..3)])
        .unwrap();
    store.compact(UNWATCHED).unwrap();
    store
        .put(
            &Actor::Local,
            vec![keeping(simple("lib", "2", 2..5), "kept ".repeat(9_000))],
        )
        .unwrap();
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
    let found = store.verify(UNWATCHED).unwrap();
    assert!(
        found.iter().any(|found| found.contains(sentence)),
        "{sentence}: {found:#?}"
    );
    assert!(found.len() < 64, "{found:#?}");
    drop(store);
    let mended = copy(dir.path());
    let store = RocksStore::open(mended.path()).unwrap();
    let lost = store.repair(UNWATCHED).unwrap();
    assert_eq!(
        store.verify(UNWATCHED).unwrap(),
        Vec::<String>::new(),
        "{sentence}"
    );
    // Nothing is lost but what was damaged itself: a record, a gem list, or a text.
    let loses = match family {
        "books" => true,
        "gems" => key_bytes == [0; 6],
        "ids" => key_bytes == b"lib\x009",
        "texts" => key_bytes == [0, 0, 0, 1],
        _ => false,
    };
    assert_eq!(lost.len(), usize::from(loses), "{sentence}: {lost:?}");
    assert!(
        (loses && family != "ids") || dump(&store).unwrap() == before,
        "{sentence}"
    );
    store
        .put(
            &Actor::Local,
            vec![simple("lib", "1", 0..3), simple("lib", "2", 2..5)],
        )
        .unwrap();
    assert_eq!(
        tally(&*store.snapshot(), 0..9, NO_CAP).books.len(),
        2,
        "{sentence}"
    );
    assert_eq!(
        store.verify(UNWATCHED).unwrap(),
        Vec::<String>::new(),
        "{sentence}"
    );
    drop(store);
    let store = RocksStore::open(dir.path()).unwrap();
    // Whatever is damaged, nothing panics.
    let _ = (
        dump(&store),
        store.put(&Actor::Local, vec![simple("lib", "1", 0..9)]),
        store.remove(&Actor::Local, &[key("lib", "2")], &Condition::default()),
    );
}

#[test]
fn verify_names_every_fault_of_postings() {
    // Books 0 and 1 have gems 0 to 2 and 2 to 4. Those of book 0 are in the main index, those of book 1 in the delta.
    let gem_key = |i: u64| [&[0, 0][..], &(gem("documented", i).0 as u32).to_be_bytes()].concat();
    let removed = |i: u64, book: u8| [&gem_key(i)[..], &[0, 0, 0, 0, book]].concat();
    let added = |i: u64, book: u8| [&gem_key(i)[..], &[1, 0, 0, 0, book]].concat();
    let bucket_of_0 = [
        &[0, 0][..],
        &((gem("documented", 0).0 >> 12) as u32).to_be_bytes()[1..],
    ]
    .concat();
    let no_posting = |book, i| {
        format!(
            "book {book} has gem {} of recipe documented, but no posting",
            gem("documented", i).0
        )
    };
    let miscounted: &[u8] = &[[0, 0, 0, 0, 0, 0, 0, 3], [0, 0, 0, 0, 0, 0, 0, 9]].concat();
    let faults: [Fault; 18] = [
        (&no_posting(1, 3), "delta", &added(3, 1), None),
        (&no_posting(0, 0), "postings", &bucket_of_0, None),
        (&no_posting(0, 1), "delta", &removed(1, 0), Some(b"")),
        ("but is already in it", "delta", &added(0, 0), Some(b"")),
        ("but is not in it", "delta", &removed(3, 0), Some(b"")),
        (
            "but the stored count is 3 postings and 3 changes",
            "delta",
            &added(2, 1),
            None,
        ),
        (
            "but the stored count is 3 postings and 9 changes",
            "meta",
            b"postings",
            Some(miscounted),
        ),
        (
            "the number of postings cannot be read",
            "meta",
            b"postings",
            Some(b"many"),
        ),
        (
            "book 0 should have no posting of gem 77 (documented)",
            "delta",
            &[0, 0, 0, 0, 0, 77, 1, 0, 0, 0, 0],
            Some(b""),
        ),
        (
            "book 9 should have no posting of gem 77 (documented)",
            "postings",
            &[0, 0, 0, 0, 0],
            Some(&[1, 8, 1, 77, 0, 9]),
        ),
        ("belongs to an unknown recipe", "delta", b"?", Some(b"")),
        ("belongs to an unknown recipe", "delta", &[0; 12], Some(b"")),
        (
            "belongs to an unknown recipe",
            "delta",
            &[0, 0, 0, 0, 0, 77, 2, 0, 0, 0, 0],
            Some(b""),
        ),
        (
            "belongs to an unknown recipe",
            "postings",
            &[0, 9, 0, 0, 0],
            Some(&[1, 8, 1, 77, 0, 0]),
        ),
        (
            "belongs to an unknown recipe",
            "lists",
            &[0, 0, 0],
            Some(&[0]),
        ),
        (
            "that no bucket refers to",
            "lists",
            &[0, 0, 0, 0, 0, 77],
            Some(&[0]),
        ),
        (
            "the postings of bucket 0 (documented) cannot be read",
            "postings",
            &[0; 5],
            Some(&[9]),
        ),
        (
            "the list of gem 0 (documented) cannot be read",
            "postings",
            &[0; 5],
            Some(&[1, 129, 3, 0, 208, 15, 1, 0, 0]),
        ),
    ];
    faults.into_iter().for_each(is_found_and_mended);
}

#[test]
fn verify_names_every_fault_of_records() {
    let digest_of = |book: u8| [&[0; 16][..], &[0, 0, 0, book]].concat();
    let word = |word: &str, book: u8| {
        let hash = blake3::hash(format!("t{word}").as_bytes());
        [&hash.as_bytes()[..8], &[0; 4], &[0, 0, 0, book]].concat()
    };
    let faults: [Fault; 28] = [
        (
            "lib/1 (book 0) is not found by its id",
            "ids",
            b"lib\x001",
            None,
        ),
        (
            "lib/9 refers to book 9, which does not exist",
            "ids",
            b"lib\x009",
            Some(&[0, 0, 0, 9]),
        ),
        (
            "lib/9 refers to book 0, which is lib/1",
            "ids",
            b"lib\x009",
            Some(&[0; 4]),
        ),
        (
            "the number of lib/1 cannot be read",
            "ids",
            b"lib\x001",
            Some(b"one"),
        ),
        (
            "lib/1 refers to book 0, which does not exist",
            "books",
            &[0; 4],
            None,
        ),
        (
            "the record of book 0 cannot be read",
            "books",
            &[0; 4],
            Some(b"{"),
        ),
        (
            "a record has the invalid key [1]",
            "books",
            &[1],
            Some(b"{}"),
        ),
        (
            "the gems of book 0 (documented) cannot be read",
            "gems",
            &[0; 6],
            Some(&[200, 1]),
        ),
        (
            "has no gems of recipe documented, but its record counts 3",
            "gems",
            &[0; 6],
            None,
        ),
        (
            "there are gems of recipe released for book 0, but no record lists them",
            "gems",
            &[0, 1, 0, 0, 0, 0],
            Some(&[0]),
        ),
        (
            "the stored sizes of recipe documented do not match its books",
            "meta",
            b"sizes\0\0\0",
            None,
        ),
        (
            "library lib holds 2 books, but has no summary",
            "meta",
            b"library\0lib",
            None,
        ),
        (
            "has a number that may be assigned again, because the next one is 1",
            "meta",
            b"next",
            Some(&[0, 0, 0, 1]),
        ),
        (
            "the number of lib/2 (book 1) belongs to another library",
            "meta",
            b"owner\0\0\0\0\0",
            None,
        ),
        (
            "lib/1 (book 0) is not found by the digest of its text",
            "digests",
            &digest_of(0),
            None,
        ),
        (
            "for book 1, which has no such text",
            "digests",
            &[&[1; 16][..], &[0, 0, 0, 1]].concat(),
            Some(b""),
        ),
        (
            "a digest has the invalid key [1]",
            "digests",
            &[1],
            Some(b""),
        ),
        (
            "lib/1 (book 0) is not found by the word of the title \"дети\"",
            "terms",
            &word("дети", 0),
            None,
        ),
        (
            "there is a term of book 1, whose record lacks it",
            "terms",
            &word("мать", 1),
            Some(b""),
        ),
        (
            "there is a term of book 9, whose record lacks it",
            "terms",
            &word("дети", 9),
            Some(b""),
        ),
        ("a term has the invalid key [1]", "terms", &[1], Some(b"")),
        (
            "the kept text of lib/2 (book 1) is lost",
            "texts",
            &[0, 0, 0, 1],
            None,
        ),
        (
            "the kept text of lib/2 (book 1) is not its text",
            "texts",
            &[0, 0, 0, 1],
            Some(b"another"),
        ),
        (
            "the kept text of lib/2 (book 1) is not its text",
            "texts",
            &[0, 0, 0, 1],
            Some(b"\xff"),
        ),
        (
            "there is a text of lib/1 (book 0), which keeps none",
            "texts",
            &[0; 4],
            Some(b"kept"),
        ),
        (
            "there is a text of book 9, which does not exist",
            "texts",
            &[0, 0, 0, 9],
            Some(b"kept"),
        ),
        (
            "a text has the invalid key [1]",
            "texts",
            &[1],
            Some(b"kept"),
        ),
        (
            "there is an unknown entry \"more\"",
            "meta",
            b"more",
            Some(b""),
        ),
    ];
    faults.into_iter().for_each(is_found_and_mended);
}

/// A small catalogue, part of it in tables, part in the log, and what it told after each change.
fn small_catalogue() -> (TempDir, Vec<String>) {
    let dir = tempdir().unwrap();
    let store = create(dir.path());
    let mut states = vec![dump(&store).unwrap()];
    for i in 0..6 {
        store
            .put(&Actor::Local, vec![simple("lib", &i.to_string(), i..i + 4)])
            .unwrap();
        states.push(dump(&store).unwrap());
        if i == 2 {
            store.flush().unwrap();
        }
    }
    drop(store);
    (dir, states)
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
        let flips = (0..content.len())
            .step_by(content.len().max(24) / 24)
            .map(|at| {
                let mut broken = content.clone();
                broken[at] ^= 0x10;
                (format!("{name}: byte {at} changed"), Some(broken))
            });
        let cuts = (0..4).map(|part| {
            let len = content.len() * part / 4;
            (
                format!("{name}: cut to {len} bytes"),
                Some(content[..len].to_vec()),
            )
        });
        let deleted = [(format!("{name}: deleted"), None)];
        for (what, broken) in flips.chain(cuts).chain(deleted) {
            let dir = copy(catalogue.path());
            let cut = broken
                .as_ref()
                .is_none_or(|broken| broken.len() < content.len());
            match broken {
                Some(broken) => fs::write(dir.path().join(&name), broken).unwrap(),
                None => fs::remove_file(dir.path().join(&name)).unwrap(),
            }
            let may_be_torn = cut || [".log", "MANIFEST"].iter().any(|part| name.contains(part));
            let read = |store: RocksStore| {
                store.audit(AuditFrom::Behind(0), usize::MAX)?;
                Ok((dump(&store)?, store.verify(UNWATCHED)?))
            };
            match RocksStore::open_or_create(dir.path()).and_then(read) {
                Err(StoreError::Damaged { .. }) => {}
                Ok((state, faults)) if Some(&state) == states.last() => {
                    assert_eq!(faults, [""; 0], "{what}");
                }
                Ok((state, faults)) => {
                    assert!(may_be_torn, "{what}: {state}");
                    assert!(
                        states.contains(&state) || !faults.is_empty(),
                        "{what}: {state}"
                    );
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
    }
}

#[test]
fn what_could_not_be_restored_is_no_backup() {
    let (dir, backups) = (tempdir().unwrap(), tempdir().unwrap());
    let store = create(dir.path());
    store
        .put(&Actor::Local, vec![simple("lib", "a", 0..20)])
        .unwrap();
    let first = store.backup(backups.path(), 1, UNWATCHED).unwrap();
    assert_eq!((first.number, first.kept), (1, 1));
    drop(store);
    // A fault of the catalogue.
    raw(dir.path(), |db| {
        db.delete_cf(db.cf_handle("books").unwrap(), 0_u32.to_be_bytes())
            .unwrap();
    });
    let store = RocksStore::open(dir.path()).unwrap();
    let refused = store
        .backup(backups.path(), 1, UNWATCHED)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("faults, such as: ") && refused.contains("--fix"),
        "{refused}"
    );
    store.repair(UNWATCHED).unwrap();
    store
        .put(&Actor::Local, vec![simple("lib", "a", 0..20)])
        .unwrap();
    // The one before is there, and alone.
    let to = tempdir().unwrap();
    let missing = RocksStore::restore(backups.path(), &to.path().join("2"), Some(2)).unwrap_err();
    assert!(missing.to_string().contains("there are: 1"), "{missing}");
    RocksStore::restore(backups.path(), &to.path().join("1"), Some(1)).unwrap();
    let second = store.backup(backups.path(), 2, UNWATCHED).unwrap();
    assert_eq!(second.kept, 2);

    // A file that went bad where it lies, and that the next backup shares.
    let shared = fs::read_dir(backups.path().join("shared_checksum")).unwrap();
    let largest = shared
        .map(|file| file.unwrap().path())
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    bytes.iter_mut().take(200).for_each(|byte| *byte ^= 0x55);
    fs::write(&largest, bytes).unwrap();
    assert!(store.backup(backups.path(), 2, UNWATCHED).is_err());
    // A new folder takes nothing over.
    let anew = tempdir().unwrap();
    assert_eq!(store.backup(anew.path(), 2, UNWATCHED).unwrap().kept, 1);
    let left: Vec<_> = fs::read_dir(anew.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with('.')),
        "{left:?}"
    );
}
