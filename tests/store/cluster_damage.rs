//! Damage of a cluster's keys is found, and repaired as far as possible.

use std::process::Command;

use lapidary_store::{Actor, Administration as _, Condition, UNWATCHED};
use lapidary_store_redis::ClusterStore;

use crate::store::engine::{Cluster, Engine as _, has_cluster};
use crate::store::support::{key, simple};

/// A damage: what the key matches, what is done to it, what is found, and whether it can be repaired.
type Damage = (&'static str, &'static str, &'static str, bool);

const DAMAGES: [Damage; 17] = [
    (
        ":p:*",
        "call('HDEL', KEYS[1], call('HKEYS', KEYS[1])[1])",
        "but no posting",
        true,
    ),
    (":p:*", "call('DEL', KEYS[1])", "but no posting", true),
    (
        ":p:*",
        "call('HSET', KEYS[1], '\\0\\0\\0\\0\\0\\0\\1\\7' .. string.sub(call('HKEYS', KEYS[1])[1], 9), '+1')",
        "should have no posting of gem",
        true,
    ),
    (
        ":p:*",
        "call('HSET', KEYS[1], '\\0\\0\\0\\0\\0\\0\\1\\7\\0\\0\\0\\99', '+1')",
        "book 99, which does not exist",
        true,
    ),
    (
        ":p:*",
        "call('HSET', KEYS[1], 'm', 'nonsense')",
        "cannot be read",
        false,
    ),
    (
        ":d:*",
        "call('DEL', KEYS[1])",
        "is not found by the digest of its text",
        true,
    ),
    (
        ":d:*",
        "call('HSET', KEYS[1], '\\0\\0\\0\\99', '+1')",
        "there is a digest for book 99, which does not exist",
        true,
    ),
    (
        "{*}ids:*",
        "call('ZPOPMIN', KEYS[1])",
        "is not found by its id",
        true,
    ),
    (
        "{*}ids:*",
        "call('ZADD', KEYS[1], 0, 'x\\0\\0\\0\\0\\99')",
        "there is an id for book 99",
        true,
    ),
    (
        "{*}t:*",
        "call('ZPOPMIN', KEYS[1])",
        "is not found by a word of its title",
        true,
    ),
    (
        "{*}t:*",
        "call('ZADD', KEYS[1], 0, '\\0\\0\\0\\0\\0\\0\\0\\99')",
        "there is a word for book 99",
        true,
    ),
    (
        "{*}books",
        "call('ZPOPMIN', KEYS[1])",
        "is missing from the list of all books",
        true,
    ),
    (
        "{*}b:*",
        "call('DEL', KEYS[1])",
        "is in the list of all books, but cannot be read",
        true,
    ),
    (
        "{*}b:*",
        "call('HSET', KEYS[1], 'r', '{')",
        "cannot be read",
        false,
    ),
    (
        "{*}b:*",
        "call('HSET', KEYS[1], 'G0', '')",
        "no readable gems of recipe",
        false,
    ),
    (
        "{meta}totals",
        "call('HINCRBY', KEYS[1], 'l:0:0', 1)",
        "the total l:0:0 does not match the books",
        true,
    ),
    (
        "{meta}audit",
        "call('XDEL', KEYS[1], '4-0')",
        "missing from the audit log",
        false,
    ),
];

/// Runs a command on all nodes, or on the node of a key. Returns what they print.
fn redis(address: &str, arguments: &[&str]) -> String {
    let mut said = String::new();
    for node in address
        .trim_start_matches("redis://")
        .split('/')
        .next()
        .unwrap()
        .split(',')
    {
        let port = node.rsplit(':').next().unwrap();
        let output = Command::new("redis-cli")
            .args(["-c", "-p", port])
            .args(arguments)
            .output()
            .unwrap();
        said += &String::from_utf8_lossy(&output.stdout);
        if arguments[0] == "EVAL" {
            break;
        }
    }
    said
}

fn damage(address: &str, pattern: &str, script: &str) {
    let prefix = address.rsplit('/').next().unwrap();
    let keys = redis(
        address,
        &["--scan", "--pattern", &format!("{prefix}{pattern}")],
    );
    let name = keys.lines().min().expect("a key");
    let script = format!("local call = redis.call; return {script}");
    let said = redis(address, &["EVAL", &script, "1", name]);
    assert!(!said.contains("ERR"), "{said}");
}

#[test]
fn damage_is_found_and_repaired() {
    if !has_cluster() {
        return;
    }
    for (pattern, script, found, repairable) in DAMAGES {
        let engine = Cluster::create();
        let store = engine.store();
        let books = vec![
            simple("lib", "1", 0..5),
            simple("lib", "2", 3..9),
            simple("new", "1", 0..60),
        ];
        store.put(&Actor::Local, books).unwrap();
        assert_eq!(store.verify(UNWATCHED).unwrap(), [] as [&str; 0]);
        let address = engine.address().to_string();
        damage(&address, pattern, script);
        let other = ClusterStore::open(engine.address()).unwrap();
        let faults = other.verify(UNWATCHED).unwrap();
        assert!(
            faults.iter().any(|fault| fault.contains(found)),
            "{script}: {faults:?}"
        );
        other.repair(UNWATCHED).unwrap();
        let left = other.verify(UNWATCHED).unwrap();
        assert_eq!(left.is_empty(), repairable, "{script}: {left:?}");
    }
}

#[test]
fn changes_that_others_make_are_no_faults() {
    if !has_cluster() {
        return;
    }
    let engine = Cluster::create();
    let other = ClusterStore::open(engine.address()).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for round in 0..30_u64 {
                let books =
                    (0..8).map(|i| simple("lib", &i.to_string(), round * i..round * i + 20));
                engine.store().put(&Actor::Local, books.collect()).unwrap();
                engine
                    .store()
                    .remove(&Actor::Local, &[key("lib", "3")], &Condition::default())
                    .unwrap();
            }
        });
        while !writing.is_finished() {
            assert_eq!(other.verify(UNWATCHED).unwrap(), [] as [&str; 0]);
        }
    });
    other.compact(UNWATCHED).unwrap();
    assert_eq!(other.verify(UNWATCHED).unwrap(), [] as [&str; 0]);
}
