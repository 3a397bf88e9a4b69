//! Faults of a cluster under load: nodes and servers that end or stop, slots that move, memory that is full.
//!
//! Clients put, replace, disable, remove and check books, through either of two servers. They do what the docs say: what is
//! refused with 503, or not answered, is sent again, to any server. Each has its own books, so it knows what every answer
//! must be.

mod load;
mod losses;
mod partitions;

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::cluster::Nodes;
use crate::common::{Folder, Random, run, until};
use load::{Client, PATIENCE, Servers, faults, heal, is_primary, print_delays, text, under_load};
use serde_json::{Value, json};

/// Kills a primary, waits until a replica has taken its place, and starts it again.
fn replace(nodes: &Nodes, node: usize) {
    let id = nodes.ask(node, &["cluster", "myid"]);
    nodes.signal(node, "-KILL");
    let other = (0..nodes.count())
        .find(|other| *other != node && is_primary(nodes, *other))
        .unwrap();
    let serves = || {
        let all = nodes.ask(other, &["cluster", "nodes"]);
        let line = all
            .lines()
            .find(|line| line.starts_with(&id))
            .unwrap_or_default()
            .to_owned();
        // A line without slots has eight words.
        line.split(' ').count() > 8
    };
    until("the node keeps its slots", || !serves());
    nodes.restart(node);
}

#[test]
fn what_was_acknowledged_survives_the_end_of_nodes_and_servers() {
    let Some(nodes) = Nodes::start(3, 2) else {
        return;
    };
    let servers = Servers::start(&nodes);
    let mut random = Random(7);
    let mut at = Vec::new();
    let delayed = under_load(&servers, || {
        for round in 0..faults(4) {
            sleep(Duration::from_millis(300 + random.below(500)));
            let primaries: Vec<usize> = (0..nodes.count())
                .filter(|node| is_primary(&nodes, *node))
                .collect();
            let primary = primaries[random.below(primaries.len() as u64) as usize];
            at.push(Instant::now());
            match round % 4 {
                0 => replace(&nodes, primary),
                1 => servers.restart(random.below(2) as usize),
                // A primary stops for longer than the others wait, and goes on as if nothing had happened.
                2 => {
                    nodes.signal(primary, "-STOP");
                    sleep(Duration::from_millis(3500 + random.below(1500)));
                    nodes.signal(primary, "-CONT");
                }
                // A replica stops, then its primary ends, and the replica goes on.
                _ => {
                    let port = nodes
                        .addresses
                        .split(',')
                        .nth(primary)
                        .unwrap()
                        .rsplit(':')
                        .next()
                        .unwrap()
                        .to_owned();
                    let follows = |node: &usize| {
                        nodes
                            .ask(*node, &["info", "replication"])
                            .contains(&format!("master_port:{port}"))
                    };
                    let replica = (0..nodes.count()).find(follows).unwrap();
                    nodes.signal(replica, "-STOP");
                    sleep(Duration::from_millis(random.below(4000)));
                    replace(&nodes, primary);
                    nodes.signal(replica, "-CONT");
                }
            }
            heal(&nodes);
        }
    });
    print_delays(&at, delayed);
}

#[test]
fn slots_can_be_moved_under_load() {
    let Some(nodes) = Nodes::start(4, 1) else {
        return;
    };
    let servers = Servers::start(&nodes);
    let ids: Vec<String> = (0..4)
        .map(|node| nodes.ask(node, &["cluster", "myid"]))
        .collect();
    let slots = (faults(10) * 40).min(4096).to_string();
    under_load(&servers, || {
        for (from, to) in [(3, 0), (0, 3)] {
            let first = nodes.addresses.split(',').next().unwrap();
            let reshard = || {
                Command::new("redis-cli")
                    .args([
                        "--cluster",
                        "reshard",
                        first,
                        "--cluster-from",
                        &ids[from],
                        "--cluster-to",
                        &ids[to],
                    ])
                    .args(["--cluster-slots", &slots, "--cluster-yes"])
                    .output()
                    .unwrap()
            };
            // It does nothing until all nodes agree on who serves what.
            let since = Instant::now();
            let mut moved = reshard();
            while String::from_utf8_lossy(&moved.stdout).contains("[ERR] Nodes don't agree") {
                assert!(since.elapsed() < PATIENCE);
                sleep(Duration::from_millis(500));
                moved = reshard();
            }
            assert!(
                moved.status.success(),
                "{}",
                String::from_utf8_lossy(&moved.stdout)
            );
        }
    });
    // A folder with the same books gives the same answers.
    let folder = Folder::new();
    let store = format!("redis://{}", nodes.addresses);
    run(&format!("copy --from {store} --to {{}}"), &[folder.data()]).expect(0);
    for book in 0..12 {
        for version in 0..3 {
            let file = folder.file("text.txt", text(book, version));
            let of_cluster = run(&format!("check --json --store {store} {{}}"), &[&file]);
            let of_folder = run("check --json --data {} {}", &[&folder.data(), &file]);
            assert_eq!(
                (of_cluster.status, of_cluster.json()),
                (of_folder.status, of_folder.json())
            );
        }
    }
}

#[test]
fn a_full_cluster_takes_nothing_and_loses_nothing() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let servers = Servers::start(&nodes);
    let mut client = Client::new(&servers, 0);
    for _ in 0..10 {
        client.act();
    }
    let limit = |bytes: &str| {
        (0..3).for_each(|node| drop(nodes.ask(node, &["config", "set", "maxmemory", bytes])));
    };
    limit("1mb");
    let book = json!({ "rights": "protected", "text": text(99, 0) });
    let (status, problem) = servers.ask("PUT", "/v1/libraries/lib/books/x", &book);
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("store_full")),
        "{problem}"
    );
    // Checks go on, and nothing of it is there.
    for book in client.books.keys().copied().collect::<Vec<_>>() {
        client.check(book);
    }
    let (status, report) = servers.ask("POST", "/v1/checks", &json!({ "text": text(99, 0) }));
    assert_eq!(
        (status, &report["verdict"]),
        (200, &json!("unknown")),
        "{report}"
    );
    limit("0");
    for _ in 0..5 {
        client.act();
    }
    assert_eq!(
        client.send("PUT", "/v1/libraries/lib/books/x", &book).0,
        201
    );
}

#[test]
fn without_replicas_nothing_is_acknowledged_and_checks_go_on() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let servers = Servers::start(&nodes);
    let mut client = Client::new(&servers, 0);
    for _ in 0..10 {
        client.act();
    }
    let (status, made) = servers.ask(
        "POST",
        "/v1/keys",
        &json!({ "name": "shop", "role": "check" }),
    );
    assert_eq!(status, 201, "{made}");
    let check = || {
        let secret = made["secret"].as_str().expect("a secret");
        servers
            .ask_as(secret, "POST", "/v1/checks", &json!({ "text": "gems" }))
            .0
    };
    assert_eq!(check(), 200);
    (3..6).for_each(|replica| nodes.signal(replica, "-KILL"));
    let book = json!({ "rights": "protected", "text": text(99, 0) });
    let (status, problem) = servers.ask("PUT", "/v1/libraries/lib/books/x", &book);
    assert_eq!(
        (status, &problem["code"]),
        (503, &json!("not_replicated")),
        "{problem}"
    );
    assert_eq!(servers.remove_if("another", "/v1/keys/shop"), 412);
    assert_eq!(check(), 200);
    // A key that is revoked is refused by the server that was asked, which says what others may do.
    let (status, problem) = servers.ask("DELETE", "/v1/keys/shop", &json!(null));
    assert_eq!(
        (status, &problem["code"]),
        (507, &json!("revoked_in_memory")),
        "{problem}"
    );
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|why| why.contains("other servers of a cluster may accept the key"))
    );
    assert_eq!(check(), 401);
    for book in client.books.keys().copied().collect::<Vec<_>>() {
        client.check(book);
    }
    (3..6).for_each(|replica| nodes.restart(replica));
    client.act();
    let since = Instant::now();
    let is_of_shop = |entry: &Value| entry["action"] == "key_revoked" && entry["name"] == "shop";
    let audited = || servers.ask("GET", "/v1/audit?limit=1000", &json!(null)).1;
    while !audited()["entries"]
        .as_array()
        .is_some_and(|entries| entries.iter().any(is_of_shop))
    {
        assert!(since.elapsed() < PATIENCE, "it is never written");
        sleep(Duration::from_millis(100));
    }
    assert_eq!(check(), 401);
}
