//! Watched checks, with the program from outside: a book that is added later puts a filed check back into the queue.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::cluster::Nodes;
use crate::common::{Folder, Server, key, prose, run, until};

const NONE: &[&Path] = &[];

impl Client {
    fn shown(&self, path: &str) -> Value {
        let (status, answer) = self.json("GET", path, &Value::Null);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn add(&self, book: &str, text: &str) {
        let (library, id) = book.split_once('/').expect("a library and an id");
        let path = format!("/v1/libraries/{library}/books/{id}");
        let about =
            json!({ "rights": "protected", "title": format!("Title of {id}"), "text": text });
        let (status, answer) = self.json("PUT", &path, &about);
        assert!([200, 201].contains(&status), "{answer}");
    }

    /// Files a check. Returns its id.
    fn file(&self, text: &str) -> String {
        let check = json!({ "text": text, "record": true, "name": "upload.txt" });
        let report = self.check(&check);
        report["filed"].as_str().expect("an id").to_owned()
    }

    fn decide(&self, check: &str, ruling: &str) {
        let decision = json!({ "check": check, "ruling": ruling, "reason": "why" });
        let (status, answer) = self.json("POST", "/v1/decisions", &decision);
        assert_eq!(status, 201, "{answer}");
    }

    fn entry(&self, check: &str) -> Value {
        self.shown(&format!("/v1/decisions/{check}"))
    }

    /// The ids of the checks in a state that it sees.
    fn listed(&self, state: &str) -> Vec<Value> {
        let page = self.shown(&format!("/v1/decisions?state={state}"));
        let listed = page["decisions"].as_array().expect("a list").iter();
        listed.map(|one| one["id"].clone()).collect()
    }

    /// Waits until the last book that made a check open again is this one.
    fn wait_for(&self, check: &str, book: &str) -> Value {
        let since = Instant::now();
        loop {
            let entry = self.entry(check);
            let later = &entry["matched_later"];
            let found = [&later["library"], &later["id"]].map(|part| part.as_str());
            if found.map(Option::unwrap_or_default).join("/") == book {
                assert_eq!(entry["state"], "open", "{entry}");
                return entry;
            }
            assert!(since.elapsed() < Duration::from_mins(1), "{entry}");
            sleep(Duration::from_millis(50));
        }
    }
}

/// The catalogues of both engines, as commands take them.
fn places(folder: &Folder, nodes: Option<&Nodes>) -> Vec<String> {
    let shared = nodes.map(|nodes| format!("--store redis://{}/watches", nodes.addresses));
    let own = format!("--data {}", folder.data().display());
    shared.into_iter().chain([own]).collect()
}

fn serve(place: &str) -> Server {
    let line = format!("serve --listen 127.0.0.1:0 {place}");
    Server::of(crate::common::command(&line, NONE))
}

fn key_of(place: &str, arguments: &str) -> String {
    let made = run(&format!("keys add {place} {arguments}"), NONE).expect(0);
    made.out.lines().last().expect("a secret").to_owned()
}

/// Only a book that counts for whoever checked does, even if the server is killed in between; and who is told of it sees no more
/// than a report would show.
#[test]
fn a_book_that_is_added_later_reopens_a_check() {
    let (folder, nodes) = (Folder::new(), Nodes::start(3, 1));
    for place in places(&folder, nodes.as_ref()) {
        let keys = [
            "--role admin boss",
            "--role check shop",
            "--role check other",
            "--role ingest --trusted --library house house",
            "--role ingest --untrusted --library rival rival",
            "--role texts --library house reviewer",
        ];
        let keys = keys.map(|line| key_of(&place, line));
        let mut server = serve(&place);
        let clients = |server: &Server| keys.each_ref().map(|secret| Client::new(server, secret));
        let [_, shop, _, house, ..] = clients(&server);
        house.add("house/0", &prose(99, 600));
        let (novel, stranger) = (prose(1, 4_000), prose(2, 4_000));
        let (check, free) = (shop.file(&novel[..15_000]), shop.file(&stranger));
        for check in [&check, &free] {
            let entry = shop.entry(check);
            assert_eq!(entry["state"], "watched", "{place}: {entry}");
            assert!(entry["watch_expires_at"].is_string(), "{entry}");
        }
        house.add("house/1", &novel);
        // Perhaps before the search has seen the book, perhaps after.
        drop(server);
        server = serve(&place);
        let [admin, shop, other, house, rival, reviewer] = clients(&server);
        let entry = shop.wait_for(&check, "house/1");
        assert_eq!(entry["matched_later"]["title"], "Title of 1", "{entry}");
        assert_eq!(shop.listed("open"), [json!(check)], "{place}");
        assert_eq!(reviewer.listed("open"), [json!(check)], "{place}");
        assert!(other.listed("open").is_empty(), "{place}");
        assert_eq!(
            other
                .json("GET", &format!("/v1/decisions/{check}"), &Value::Null)
                .0,
            404
        );

        // The book that was seen is known, and what does not count for the shop is not told.
        reviewer.decide(&check, "accepted");
        rival.add("rival/1", &novel);
        rival.add("rival/2", &stranger);
        house.add("house/1", &format!("{novel} New edition."));
        house.add("house/2", &novel);
        shop.wait_for(&check, "house/2");
        assert_eq!(shop.entry(&free)["state"], "watched", "{place}");
        assert_eq!(shop.listed("watched"), [json!(free)], "{place}");
        let about = shop.shown(&format!(
            "/v1/decisions?digest={}",
            entry["digest"].as_str().expect("a digest")
        ));
        let rulings: Vec<&Value> = about["decisions"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| &one["ruling"])
            .collect();
        assert_eq!(
            rulings,
            ["checked", "matched", "accepted", "matched"],
            "{place}"
        );
        let of_book = reviewer.shown("/v1/decisions?library=house&book=2");
        assert!(of_book.to_string().contains(&check), "{of_book}");
        let refused = json!({ "check": check, "ruling": "matched", "reason": "why" });
        assert_eq!(admin.json("POST", "/v1/decisions", &refused).0, 422);

        // Whoever deletes the text ends the watch.
        assert_eq!(admin.shown("/v1/stats")["watched"]["checks"], 2, "{place}");
        for check in [&check, &free] {
            let text = format!("/v1/decisions/{check}/text");
            assert_eq!(other.json("DELETE", &text, &Value::Null).0, 404);
            assert_eq!(shop.json("DELETE", &text, &Value::Null).0, 204);
            assert!(shop.entry(check)["watch_expires_at"].is_null());
        }
        assert_eq!(admin.shown("/v1/stats")["watched"]["checks"], 0, "{place}");
        assert_eq!(shop.listed("clear"), [json!(free)], "{place}");
        assert_eq!(shop.listed("open"), [json!(check)], "{place}");
        server.stop();
        run(&format!("verify {place}"), NONE).expect(0);
    }
}

/// Whoever takes back a refusal lets nothing through that a book matched meanwhile.
#[test]
fn a_refusal_that_is_taken_back_hides_no_later_match() {
    let folder = Folder::new();
    let boss = key(&folder.data(), "--role admin boss");
    let server = Server::start(&folder.data());
    let client = Client::new(&server, &boss);
    client.add("house/0", &prose(99, 600));
    let check = client.file(&prose(1, 4_000));
    client.decide(&check, "refused");
    client.add("house/1", &prose(1, 4_000));
    let of_book = "/v1/decisions?library=house&book=1";
    until("the book is never found", || {
        client.shown(of_book)["decisions"] != json!([])
    });
    assert_eq!(client.entry(&check)["state"], "decided");
    client.decide(&check, "withdrawn");
    client.wait_for(&check, "house/1");
}

/// A copy watches what its source does, and books are found there that are added there. An export has no gems.
#[test]
fn where_watches_go() {
    let folder = Folder::new();
    let (data, copy, imported) = (folder.data(), folder.path("copy"), folder.path("imported"));
    let boss = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let client = Client::new(&server, &boss);
    client.add("house/0", &prose(99, 600));
    let (check, open) = (client.file(&prose(1, 4_000)), client.file(&prose(2, 4_000)));
    client.add("house/2", &prose(2, 4_000));
    client.wait_for(&open, "house/2");
    server.stop();
    run("copy --from {} --to {}", &[&data, &copy]).expect(0);
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[&data, &export]).expect(0);
    run("import --data {} {}", &[&imported, &export]).expect(0);
    for (place, watched, state) in [(&copy, 2, "watched"), (&imported, 0, "clear")] {
        if watched == 0 {
            key(place, "--role admin boss");
        }
        let stats = run("stats --data {} --json", &[place]).expect(0).json();
        assert_eq!(stats[0]["watched"]["checks"], watched);
        for (check, state) in [(&check, state), (&open, "open")] {
            let entry = run(&format!("decisions show --data {{}} {check}"), &[place]).expect(0);
            let entry: Value = serde_json::from_str(&entry.out).expect("JSON");
            assert_eq!(entry["state"], state, "{}", place.display());
        }
        let listed = run(
            &format!("decisions list --data {{}} --state {state}"),
            &[place],
        )
        .expect(0);
        assert!(listed.out.contains(&check), "{}", listed.out);
    }
    let server = Server::start(&copy);
    let client = Client::new(&server, &boss);
    client.add("house/1", &prose(1, 4_000));
    client.wait_for(&check, "house/1");
    server.stop();
}
