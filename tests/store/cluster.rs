//! What only a store that several servers share can do.

use std::process::Command;
use std::thread;

use lapidary_store::{
    Action, Actor, AuditFrom, Condition, RowChange, Store as _, StoreError, Table,
};
use lapidary_store_redis::{ClusterAddress, ClusterStore};

use crate::common::cluster::Nodes;
use crate::store::engine::{Cluster, Engine as _, has_cluster};
use crate::store::support::{gem, key, simple, tally};

#[test]
fn servers_that_share_a_store_see_each_others_changes() {
    if !has_cluster() {
        return;
    }
    let engine = Cluster::create();
    let other = ClusterStore::open(engine.address()).unwrap();
    let store = engine.store();
    store
        .put(&Actor::Local, vec![simple("lib", "1", 0..5)])
        .unwrap();
    assert_eq!(tally(&*other.snapshot(), 0..5, 9).books.len(), 1);
    other
        .put(&Actor::Local, vec![simple("new", "2", 3..9)])
        .unwrap();
    let snapshot = store.snapshot();
    assert_eq!(snapshot.libraries().unwrap().len(), 2);
    let number = snapshot.find(&key("new", "2")).unwrap().unwrap();
    assert_eq!(
        snapshot.fetch(&[number]).unwrap()[0].as_ref().unwrap().key,
        key("new", "2")
    );
    assert_eq!(
        other
            .remove(
                &Actor::Local,
                &[key("lib", "1"), key("lib", "1"), key("x", "1")],
                &Condition::default()
            )
            .unwrap(),
        [true, true, false]
    );
    assert_eq!(tally(&*store.snapshot(), 0..3, 9).books, []);
    assert_eq!(store.snapshot().libraries().unwrap().len(), 1);
}

#[test]
fn of_twin_changes_each_is_made_once() {
    const WRITERS: u64 = 4;
    if !has_cluster() {
        return;
    }
    let engine = Cluster::create();
    let servers: Vec<ClusterStore> = (0..WRITERS)
        .map(|_| ClusterStore::open(engine.address()).unwrap())
        .collect();
    // All replace the same books, in different orders.
    thread::scope(|scope| {
        for (i, server) in (0..).zip(&servers) {
            scope.spawn(move || {
                for round in 0..5 {
                    let mut books = vec![
                        simple("lib", "a", [i, round]),
                        simple("lib", "b", [10 + i, round]),
                    ];
                    if i % 2 == 0 {
                        books.reverse();
                    }
                    server.put(&Actor::Local, books).unwrap();
                }
            });
        }
    });
    let store = engine.store();
    let entries = store.audit(AuditFrom::Behind(3), usize::MAX).unwrap();
    let added = entries
        .iter()
        .filter(|entry| matches!(entry.action, Action::Added(_)))
        .count();
    assert_eq!((entries.len() as u64, added), (2 * 5 * WRITERS, 2));
    assert!(
        entries
            .iter()
            .zip(4..)
            .all(|(entry, number)| entry.number == number)
    );
    let summary = store
        .snapshot()
        .library(&"lib".parse().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!((summary.books, summary.bytes), (2, 2000));
    assert_eq!(
        store
            .snapshot()
            .walk(&"lib".parse().unwrap(), None, 9)
            .unwrap()
            .len(),
        2
    );
    let all: Vec<_> = (0..20).map(|i| gem("documented", i)).collect();
    let counted = tally(&*store.snapshot(), 0..20, 99);
    // Two gems each, or one if both are the same; nothing of what was replaced.
    let lists = counted.books.iter().map(|(book, _)| {
        let gems = store
            .snapshot()
            .gems(&crate::store::support::recipe_name("documented"), *book)
            .unwrap()
            .unwrap();
        gems.iter()
            .filter(|placed| all.contains(&placed.gem))
            .count() as u32
    });
    assert_eq!(counted.books.len(), 2);
    assert_eq!(
        counted
            .books
            .iter()
            .map(|(_, count)| *count)
            .collect::<Vec<_>>(),
        lists.collect::<Vec<_>>()
    );
}

#[test]
fn a_book_that_changes_is_read_in_one_state_or_not_at_all() {
    if !has_cluster() {
        return;
    }
    let engine = Cluster::create();
    let store = engine.store();
    store
        .put(&Actor::Local, vec![simple("lib", "1", 0..5)])
        .unwrap();
    let snapshot = store.snapshot();
    let number = snapshot.find(&key("lib", "1")).unwrap().unwrap();
    let missing = snapshot.find(&key("lib", "2")).unwrap();
    assert_eq!(missing, None);
    let before = snapshot.fetch(&[number]).unwrap();
    store
        .put(
            &Actor::Local,
            vec![simple("lib", "1", 3..9), simple("lib", "2", 0..9)],
        )
        .unwrap();
    assert_eq!(snapshot.fetch(&[number]).unwrap(), before);
    let documented = crate::store::support::recipe_name("documented");
    assert!(matches!(
        snapshot.gems(&documented, number),
        Err(StoreError::Changed(_))
    ));
    // What was not there when it was looked for does not appear.
    let later = store.snapshot().find(&key("lib", "2")).unwrap().unwrap();
    assert_eq!(snapshot.fetch(&[later]).unwrap(), [None]);
    assert_eq!(
        store
            .snapshot()
            .gems(&documented, number)
            .unwrap()
            .unwrap()
            .len(),
        6
    );
    // What was read stays as it was read first.
    let snapshot = store.snapshot();
    let before = snapshot.gems(&documented, number).unwrap();
    store
        .put(&Actor::Local, vec![simple("lib", "1", 20..29)])
        .unwrap();
    assert_eq!(snapshot.gems(&documented, number).unwrap(), before);
}

#[test]
fn rows_are_read_in_pages() {
    if !has_cluster() {
        return;
    }
    let engine = Cluster::empty();
    let store = engine.store();
    let keys = ["a", "ab", "ab\0", "ab\u{7f}", "b", ""];
    let changes: Vec<_> = keys
        .iter()
        .map(|key| RowChange::put(Table::Decisions, key, *key))
        .collect();
    store
        .apply(&Actor::Local, &changes, &[Action::FoldsKept { kept: true }])
        .unwrap();
    let page = |prefix: &str, after: Option<&str>, limit| -> Vec<String> {
        let rows = store
            .page(
                Table::Decisions,
                prefix.as_bytes(),
                after.map(str::as_bytes),
                limit,
            )
            .unwrap();
        rows.into_iter()
            .map(|(key, value)| {
                assert_eq!(key, value);
                String::from_utf8(key).unwrap()
            })
            .collect()
    };
    assert_eq!(page("", None, 99), ["", "a", "ab", "ab\0", "ab\u{7f}", "b"]);
    assert_eq!(page("ab", None, 2), ["ab", "ab\0"]);
    assert_eq!(page("ab", Some("ab\0"), 9), ["ab\u{7f}"]);
    assert_eq!(page("a", Some("0"), 1), ["a"]);
    store
        .apply(
            &Actor::Local,
            &[RowChange::delete(Table::Decisions, "ab")],
            &[],
        )
        .unwrap();
    assert_eq!(page("ab", None, 9), ["ab\0", "ab\u{7f}"]);
    assert_eq!(store.page(Table::Webhooks, b"", None, 9).unwrap(), []);
    let entries = store.audit(AuditFrom::Behind(0), 9).unwrap();
    assert_eq!((entries.len(), entries[0].number), (1, 1));
    assert_eq!(store.audit(AuditFrom::Last, 9).unwrap(), entries);
    assert_eq!(
        store
            .audit(AuditFrom::Time(entries[0].created_at), 9)
            .unwrap(),
        entries
    );
}

#[test]
fn a_cluster_that_may_drop_keys_is_refused() {
    let Some(nodes) = Nodes::start(1, 0) else {
        return;
    };
    let address: ClusterAddress = format!("redis://{}", nodes.addresses).parse().unwrap();
    ClusterStore::open(&address).unwrap();
    let port = nodes.addresses.rsplit(':').next().unwrap();
    let set = Command::new("redis-cli")
        .args([
            "-p",
            port,
            "config",
            "set",
            "maxmemory-policy",
            "allkeys-lru",
        ])
        .output();
    assert!(set.unwrap().status.success());
    let error = ClusterStore::open(&address)
        .err()
        .expect("it may drop books");
    assert!(
        matches!(&error, StoreError::Evicts { policy, .. } if policy == "allkeys-lru"),
        "{error}"
    );
}

#[test]
fn a_cluster_that_cannot_be_reached_is_unavailable() {
    let address: ClusterAddress = "redis://127.0.0.1:1/p".parse().unwrap();
    let error = ClusterStore::open(&address)
        .err()
        .expect("nobody listens there");
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("redis://127.0.0.1:1/p is not available ("),
        "{error}"
    );
}
