//! Nodes that come back without what they had: empty, emptied while they run, or as they were some time ago.
//!
//! Whatever a node has lost, a check finds its book or fails, the node is named, and nothing is written to it. A repair brings
//! back what others have, and names the books that nobody has.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;

use super::load::{PATIENCE, faults, is_primary};
use crate::common::cluster::Nodes;
use crate::common::{Folder, Server, prose, run};

/// The books before and after the moment that a node is set back to.
const BEFORE: u64 = 24;
const AFTER: u64 = 36;
const NONE: &[&str] = &[];

/// A server of a catalogue on nodes, and what it must answer.
struct Story<'n> {
    nodes: &'n Nodes,
    store: String,
    server: Server,
    folder: Folder,
}

impl<'n> Story<'n> {
    fn begin(nodes: &'n Nodes) -> Self {
        let store = format!("redis://{}/books", nodes.addresses);
        let server = Server::start_on(&store);
        let begun = Self {
            nodes,
            store,
            server,
            folder: Folder::new(),
        };
        begun.add(0..BEFORE);
        begun.export();
        begun
    }

    /// Exports what there is, to refill the catalogue with what it loses.
    fn export(&self) {
        let export = self.folder.path("books.ndjson");
        run(&format!("export --store {} {{}}", self.store), &[export]).expect(0);
    }

    fn refill(&self) -> String {
        let export = self.folder.path("books.ndjson");
        let refilled = run(&format!("import --store {} {{}}", self.store), &[export]);
        refilled.expect(0).out
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(1)))
            .build()
            .new_agent();
        let url = format!("{}{path}", self.server.url);
        let answer = match method {
            "PUT" => agent.put(url).send_json(body),
            "GET" => agent.get(url).call(),
            _ => agent.post(url).send_json(body),
        };
        let mut answer = answer.unwrap();
        (
            answer.status().as_u16(),
            answer.body_mut().read_json().unwrap(),
        )
    }

    fn add(&self, books: impl IntoIterator<Item = u64>) {
        for i in books {
            let book = json!({ "rights": "protected", "text": prose(i, 1500), "title": format!("Title {i}") });
            let (status, answer) = self.call("PUT", &format!("/v1/libraries/lib/books/{i}"), &book);
            assert_eq!(status, 201, "{i}: {answer}");
        }
    }

    /// The status of a check of a book, and whether it was found.
    fn check(&self, i: u64) -> (u16, bool, Value) {
        let (status, report) = self.call("POST", "/v1/checks", &json!({ "text": prose(i, 1500) }));
        let is_found = report["matches"][0]["book"]["id"] == json!(i.to_string())
            && report["verdict"] == "protected";
        (status, is_found, report)
    }

    fn lapidary(&self, command: &str) -> crate::common::Run {
        run(
            &command.replace("STORE", &format!("--store {}", self.store)),
            NONE,
        )
    }

    /// Goes on after a loss. `all`: the books that were acknowledged.
    fn go_on(&self, all: &BTreeSet<u64>, has_lost_the_log: bool) {
        let mut refused = 0;
        for i in all {
            let (status, is_found, report) = self.check(*i);
            assert!(
                status == 503 || status == 200 && is_found,
                "a silent miss of {i}: {status} {report}"
            );
            refused += u32::from(status == 503);
        }
        assert!(refused > 0, "nobody noticed");
        let book = json!({ "rights": "protected", "text": prose(900, 1500) });
        let (status, answer) = self.call("PUT", "/v1/libraries/lib/books/900", &book);
        assert_eq!(status, 503, "{answer}");
        let since = Instant::now();
        while self.call("GET", "/readyz", &Value::Null).1["code"] != "store_emptied" {
            assert!(since.elapsed() < PATIENCE, "it is always ready");
            sleep(Duration::from_millis(100));
        }
        let (status, told) = self.call("GET", "/v1/doctor", &Value::Null);
        assert!(
            status == 503 || told["findings"][0]["code"] == "lost_data",
            "{told}"
        );
        let verified = self.lapidary("verify STORE");
        assert!(
            verified.status != 0 && verified.out.contains(" has lost "),
            "{} {}",
            verified.out,
            verified.err
        );
        let other = self.lapidary("stats STORE");
        assert!(
            other.status == 3 && other.err.contains("verify --store"),
            "{}",
            other.err
        );
        let fixed = self.lapidary("verify STORE --fix").expect(0);
        self.lapidary("verify STORE").expect(0);
        // Servers that could not read the keys wait until they can.
        let is_ready = || {
            self.call("GET", "/readyz", &Value::Null).0 == 200
                && all.iter().all(|i| self.check(*i).0 == 200)
        };
        let since = Instant::now();
        while !is_ready() {
            assert!(since.elapsed() < PATIENCE, "it is never ready again");
            sleep(Duration::from_millis(200));
        }
        let lost: Vec<u64> = all.iter().copied().filter(|i| !self.check(*i).1).collect();
        // Each is named, or counted where nothing names it any more.
        let is_named = |i: &&u64| fixed.out.contains(&format!("lib/{i} is lost"));
        let (named, nameless) = (
            lost.iter().filter(is_named).count(),
            fixed.out.matches("nothing names it").count(),
        );
        assert!(
            named == lost.len() || has_lost_the_log && named + nameless >= lost.len(),
            "{lost:?}: {}",
            fixed.out
        );
        assert!(lost.len() < all.len(), "{}", fixed.out);
        // Only what is missing is written.
        let refilled = self.refill();
        let kept = format!(
            "{} books, {} of them there already",
            all.len(),
            all.len() - lost.len()
        );
        assert!(refilled.starts_with(&kept), "{lost:?}: {refilled}");
        self.add([901]);
        for i in all.iter().chain(&[901]) {
            let (status, is_found, report) = self.check(*i);
            assert_eq!((status, is_found), (200, true), "{i}: {report}");
        }
        self.lapidary("verify STORE").expect(0);
        let (status, answer) = self.call("GET", "/readyz", &Value::Null);
        assert_eq!(status, 200, "{answer}");
        let logged = self.lapidary("audit STORE --json").expect(0).out;
        for i in lost.iter().chain(&[901]) {
            assert!(
                logged.contains(&format!("\"id\":\"{i}\"")),
                "the log lacks {i}"
            );
        }
    }

    /// The node that has the recipes, keys and totals.
    fn meta(&self) -> usize {
        let slot: usize = self
            .nodes
            .ask(0, &["cluster", "keyslot", "books{meta}"])
            .parse()
            .unwrap();
        (0..self.nodes.count())
            .filter(|node| is_primary(self.nodes, *node))
            .find(|node| {
                let id = self.nodes.ask(*node, &["cluster", "myid"]);
                let all = self.nodes.ask(*node, &["cluster", "nodes"]);
                let line = all.lines().find(|line| line.starts_with(&id)).unwrap();
                line.split(' ').skip(8).any(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    (first.parse().unwrap()..=last.parse().unwrap()).contains(&slot)
                })
            })
            .unwrap()
    }
}

/// A primary is killed, loses its file, and is started before its replica takes its place. It is empty, and its replica follows.
#[test]
fn a_primary_that_is_back_before_its_replica_is_not_believed() {
    for round in 0..faults(1) {
        let Some(nodes) = Nodes::start(3, 1) else {
            return;
        };
        let story = Story::begin(&nodes);
        let other = (story.meta() + 1 + round as usize % 2) % 3;
        nodes.signal(other, "-KILL");
        nodes.lose_data(other);
        nodes.restart(other);
        story.go_on(&(0..BEFORE).collect(), false);
    }
}

#[test]
fn a_node_that_is_emptied_while_it_runs_is_not_believed() {
    for round in 0..faults(2) {
        let Some(nodes) = Nodes::start(3, 0) else {
            return;
        };
        let story = Story::begin(&nodes);
        let node = (story.meta() + round as usize) % 3;
        assert_eq!(nodes.ask(node, &["flushall"]), "OK");
        story.go_on(&(0..BEFORE).collect(), round % 3 == 0);
    }
}

/// One node starts from a file of some time ago.
#[test]
fn a_node_that_is_set_back_is_not_believed() {
    for round in 0..faults(2) {
        let on_disk = [("ON_DISK", Path::new("1"))];
        let Some(nodes) = Nodes::start_with(3, 0, &on_disk) else {
            return;
        };
        let story = Story::begin(&nodes);
        let node = (story.meta() + round as usize) % 3;
        let (file, copy) = (
            nodes.folder(node).join("appendonlydir"),
            nodes.folder(node).join("copy"),
        );
        let copied = |from: &Path, to: &Path| {
            let copy = Command::new("cp").arg("-r").args([from, to]).status();
            assert!(copy.unwrap().success());
        };
        copied(&file, &copy);
        story.add(BEFORE..AFTER);
        // Removed books must not match again.
        story
            .lapidary("books remove STORE --library lib 0")
            .expect(0);
        story.export();
        nodes.signal(node, "-KILL");
        std::fs::remove_dir_all(&file).unwrap();
        copied(&copy, &file);
        nodes.restart(node);
        story.go_on(&(1..AFTER).collect(), round % 3 == 0);
    }
}
