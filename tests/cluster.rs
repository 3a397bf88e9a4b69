//! Catalogues in a Redis Cluster, with the program as users run it.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::cluster::Nodes;
use common::{Folder, Run, Server, command, prose, run};
use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

/// Sends JSON. Returns the status, `Retry-After`, and the answer.
fn send(method: &str, url: &str, body: &Value) -> (u16, Option<String>, Value) {
    let agent =
        Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(60))).build();
    let mut answer = send_with(&agent.new_agent(), method, url, body);
    let retry = answer.headers().get("Retry-After").map(|value| value.to_str().unwrap().to_owned());
    (answer.status().as_u16(), retry, answer.body_mut().read_json().unwrap())
}

fn send_with(agent: &Agent, method: &str, url: &str, body: &Value) -> Response<Body> {
    let request = if method == "PUT" { agent.put(url) } else { agent.post(url) };
    request.send_json(body).unwrap()
}

#[test]
fn commands_work_on_a_cluster_as_on_a_folder() {
    let Some(nodes) = Nodes::start(3, 1) else { return };
    let store = format!("redis://{}/books", nodes.addresses);
    let folder = Folder::new();
    for i in 0..4 {
        folder.file(&format!("library/{i}.txt"), prose(i, 3000));
    }
    let copy = folder.file("copy.txt", prose(2, 3000));
    let (library, data) = (folder.path("library"), folder.data());
    let ingest =
        |flags: &str| run(&format!("ingest {flags} --library lib --rights protected {{}}"), &[&library]).expect(0);
    ingest(&format!("--store {store}"));
    run("ingest --data {} --library lib --rights protected {}", &[&data, &library]).expect(0);
    let same = |line: &str, file: Option<&std::path::Path>| {
        let files: Vec<&std::path::Path> = file.into_iter().collect();
        let on_cluster = run(&format!("{line} --store {store} {}", "{} ".repeat(files.len())), &files);
        let mut paths = vec![data.as_path()];
        paths.extend(&files);
        let on_folder = run(&format!("{line} --data {{}} {}", "{} ".repeat(files.len())), &paths);
        assert_eq!(
            (on_cluster.status, on_cluster.out),
            (on_folder.status, on_folder.out),
            "{line}: {}",
            on_cluster.err
        );
    };
    same("check", Some(&copy));
    same("books find --identifier 123", None);
    run(&format!("books disable --store {store} --library lib 2"), &[] as &[&str]).expect(0);
    run("books disable --data {} --library lib 2", &[&data]).expect(0);
    same("check", Some(&copy));
    // The variable, and the export of one as the import of the other.
    let export = folder.path("export.ndjson");
    let stats: Run = command("stats", &[] as &[&str]).env("LAPIDARY_STORE", &store).output().unwrap().into();
    assert!(stats.expect(0).out.contains("lib"));
    run(&format!("export --store {store} {{}}"), &[&export]).expect(0);
    let other = format!("redis://{}/other", nodes.addresses);
    run(&format!("import --store {other} {{}}"), &[&export]).expect(0);
    let again = folder.path("again.ndjson");
    run(&format!("export --store {other} {{}}"), &[&again]).expect(0);
    let lines = |path| std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert!(lines(&export).len() > 4);
    assert_eq!(lines(&export), lines(&again));
    let duplicates = run(&format!("duplicates --json --store {store} --since 1h"), &[] as &[&str]).expect(0);
    assert_eq!(duplicates.json().len(), 0, "four different books");
    // What only folders have.
    let backup = run(&format!("backup --store {store} --to {{}}"), &[folder.path("backups")]);
    assert!(backup.err.contains("the engine of this store has no backups"), "{}", backup.err);
    let both = run(&format!("stats --store {store} --data {{}}"), &[&data]);
    assert_eq!(both.status, 2);
    let wrong = run("stats --store redis://nowhere", &[] as &[&str]).expect(2);
    assert!(wrong.err.contains("each node needs a host and a port"), "{}", wrong.err);
}

#[test]
fn without_a_part_of_the_index_there_is_no_verdict() {
    let Some(nodes) = Nodes::start(3, 0) else { return };
    let store = format!("redis://{}", nodes.addresses);
    let servers = [Server::start_on(&store), Server::start_on(&store)];
    let url = |server: &Server, path: &str| format!("{}{path}", server.url);
    let book = json!({ "rights": "protected", "text": prose(1, 3000) });
    let (status, _, answer) = send("PUT", &url(&servers[0], "/v1/libraries/lib/books/1"), &book);
    assert_eq!(status, 201, "{answer}");
    // Another server knows it at once.
    let check = json!({ "text": prose(1, 3000) });
    let (status, _, answer) = send("POST", &url(&servers[1], "/v1/checks"), &check);
    assert_eq!((status, &answer["matches"][0]["book"]["id"]), (200, &json!("1")), "{answer}");
    nodes.signal(1, "-KILL");
    for server in &servers {
        let (status, retry, answer) = send("POST", &url(server, "/v1/checks"), &check);
        assert_eq!((status, &answer["code"]), (503, &json!("store_unavailable")), "{answer}");
        assert!(retry.is_some() && answer.get("verdict").is_none());
    }
}
