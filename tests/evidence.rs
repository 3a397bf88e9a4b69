//! Texts of filed checks, with the program from outside: how long they are kept, and where they go.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::cluster::Nodes;
use crate::common::{Folder, Server, prose, run};

const NONE: &[&Path] = &[];

/// Files a check of a copy of a book. Returns its id.
fn file(server: &Server) -> String {
    let book = json!({ "rights": "protected", "text": prose(1, 4_000) });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    let check = json!({ "text": copied(), "record": true });
    let report: Value = ureq::post(format!("{}/v1/checks", server.url))
        .send_json(&check)
        .expect("a report")
        .into_body()
        .read_json()
        .expect("JSON");
    report["filed"].as_str().expect("an id").to_owned()
}

fn copied() -> String {
    prose(1, 4_000)[5_000..15_000].to_owned()
}

fn get(server: &Server, path: &str) -> String {
    ureq::get(format!("{}{path}", server.url))
        .call()
        .expect("an answer")
        .into_body()
        .read_to_string()
        .expect("a text")
}

fn kept(server: &Server) -> Value {
    let stats: Value = serde_json::from_str(&get(server, "/v1/stats")).expect("JSON");
    stats["evidence"].clone()
}

fn delete(server: &Server, id: &str) {
    ureq::delete(format!("{}/v1/decisions/{id}/text", server.url))
        .call()
        .expect("it is deleted");
}

/// Whether the page of a filed check has its passages.
fn has_passages(server: &Server, id: &str) -> bool {
    let page = get(server, &format!("/v1/decisions/{id}/page"));
    assert!(page.contains("class=\"protected\""), "{page}");
    page.contains(&copied()[2_000..2_030])
}

/// The catalogues of both engines, as `serve` takes them.
fn places(folder: &Folder, nodes: Option<&Nodes>) -> Vec<String> {
    let shared = nodes.map(|nodes| format!("--store redis://{}/evidence", nodes.addresses));
    let own = format!("--data {}", folder.data().display());
    shared.into_iter().chain([own]).collect()
}

fn serve(options: &str, place: &str) -> Server {
    Server::of(crate::common::command(
        &format!("serve --listen 127.0.0.1:0 {options} {place}"),
        NONE,
    ))
}

/// A server that keeps no texts leaves those that others have filed, until they expire or are deleted.
#[test]
fn what_was_filed_is_kept_as_long_as_was_said_then() {
    let folder = Folder::new();
    let nodes = Nodes::start(3, 1);
    for place in places(&folder, nodes.as_ref()) {
        let server = serve("", &place);
        let id = file(&server);
        assert!(has_passages(&server, &id), "{place}");
        assert_eq!(kept(&server)["texts"], 1, "{place}");
        server.stop();

        let server = serve("--keep-evidence-days 0", &place);
        assert!(has_passages(&server, &id), "{place}");
        assert!(!has_passages(&server, &file(&server)), "{place}");
        assert_eq!(kept(&server)["texts"], 1, "{place}");
        delete(&server, &id);
        assert!(!has_passages(&server, &id), "{place}");
        assert_eq!(kept(&server), json!({ "texts": 0, "bytes": 0 }), "{place}");
        server.stop();
    }
}

/// A copy and a backup have the texts, an export has not; and a text that is deleted is in no file after a compaction.
#[test]
fn where_texts_go() {
    let folder = Folder::new();
    let (data, backups) = (folder.data(), folder.path("backups"));
    let server = Server::start(&data);
    let id = file(&server);
    server.stop();
    run("backup --data {} --to {}", &[&data, &backups]).expect(0);
    let (copy, restored, imported) = (
        folder.path("copy"),
        folder.path("restored"),
        folder.path("imported"),
    );
    run("copy --from {} --to {}", &[&data, &copy]).expect(0);
    run("restore --data {} --from {}", &[&restored, &backups]).expect(0);
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[&data, &export]).expect(0);
    run("import --data {} {}", &[&imported, &export]).expect(0);
    for (place, has) in [(&copy, true), (&restored, true), (&imported, false)] {
        let server = Server::start(place);
        assert_eq!(has_passages(&server, &id), has, "{}", place.display());
        if has {
            delete(&server, &id);
        }
        server.stop();
    }
    // The command line makes, lists and deletes links.
    let shared = run(
        &format!("decisions share --data {{}} --expires 7d {id}"),
        &[&data],
    )
    .expect(0);
    let (link, url) = shared
        .out
        .trim()
        .split_once('\t')
        .expect("an id and an address");
    assert!(url.starts_with(&format!("/shared/{id}/")), "{url}");
    let links = || {
        run(&format!("decisions links --data {{}} {id}"), &[&data])
            .expect(0)
            .out
    };
    assert!(links().starts_with(&format!("{link}\t")), "{}", links());
    run(
        &format!("decisions unshare --data {{}} {id} {link}"),
        &[&data],
    )
    .expect(0);
    assert_eq!(links(), "");
    // What is read and deleted in a copy does not keep it from being brought up to date.
    run("copy --from {} --to {}", &[&data, &copy]).expect(0);
    run(&format!("decisions delete-text --data {{}} {id}"), &[&data]).expect(0);
    let again = run(&format!("decisions delete-text --data {{}} {id}"), &[&data]).expect(2);
    assert!(again.err.contains("is not kept"), "{}", again.err);
    run("compact --data {}", &[&data]).expect(0);
    run("verify --data {}", &[&data]).expect(0);
    let blobs = walkdir::WalkDir::new(&data).into_iter();
    let blobs: u64 = blobs
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "blob"))
        .map(|entry| entry.metadata().expect("its size").len())
        .sum();
    assert_eq!(blobs, 0);
}
