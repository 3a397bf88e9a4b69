//! End-to-end tests of webhooks: the program notifies a small receiver of books that match others.

use crate::common;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::common::hook::Hook;
use crate::common::{Folder, Server, prose, run};

/// Sets the webhook of a library and returns its secret.
fn set(server: &Server, library: &str, url: &str) -> String {
    let made = run(
        &format!(
            "webhooks set --server {} --library {library} {url}",
            server.url
        ),
        &[] as &[&Path],
    )
    .expect(0);
    made.out
        .lines()
        .last()
        .expect("the secret comes last")
        .to_owned()
}

fn put(folder: &Folder, to: &str, library: &str, id: &str, text: &str) {
    let file = folder.file(&format!("{id}.txt"), text);
    run(
        &format!("ingest {to} --library {library} --rights protected {{}}"),
        &[file],
    )
    .expect(0);
}

fn list(to: &str) -> Vec<Value> {
    run(&format!("webhooks list --json {to}"), &[] as &[&Path])
        .expect(0)
        .json()
}

const PRIVATE: &str = "--private-webhooks";

#[test]
fn a_library_is_told_of_books_that_match() {
    let folder = Folder::new();
    let server = Server::start_with(PRIVATE, &[], &folder.data());
    let to = format!("--server {}", server.url);
    let hook = Hook::new(&["204 No Content"]);
    put(&folder, &to, "mine", "before", &prose(1, 3_000));
    let secret = set(&server, "mine", &hook.url);
    put(&folder, &to, "mine", "stranger", &prose(2, 3_000));
    put(&folder, &to, "theirs", "elsewhere", &prose(1, 3_000));
    put(&folder, &to, "mine", "copy", &prose(1, 3_000));

    let came = hook.next();
    assert!(
        came.head.starts_with("POST /hook?a=b HTTP/1.1\n"),
        "{}",
        came.head
    );
    assert_eq!(came.header("content-type"), "application/json");
    let event = came.json();
    assert_eq!(event["type"], "book.matched");
    assert_eq!(
        (
            &event["data"]["book"]["library"],
            &event["data"]["book"]["id"]
        ),
        (&"mine".into(), &"copy".into())
    );
    let report = &event["data"]["report"];
    assert_eq!(
        (&report["total"], &report["verdict"]),
        (&2.into(), &"protected".into())
    );
    let ids: Vec<&Value> = report["matches"]
        .as_array()
        .expect("matches")
        .iter()
        .map(|m| &m["book"]["id"])
        .collect();
    assert_eq!(ids, ["before", "elsewhere"]);
    assert_eq!(report["matches"][0]["relation"], "same_text");

    let (id, at) = (came.header("webhook-id"), came.header("webhook-timestamp"));
    let now = jiff::Timestamp::now().as_second();
    assert!((now - at.parse::<i64>().expect("seconds")).abs() < 60);
    let key = BASE64_STANDARD
        .decode(secret.strip_prefix("whsec_").expect("a prefix"))
        .expect("base 64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
    mac.update(format!("{id}.{at}.{}", came.body).as_bytes());
    assert_eq!(
        came.header("webhook-signature"),
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    );

    // Adding the same book again changes nothing and sends no event.
    put(&folder, &to, "mine", "copy", &prose(1, 3_000));
    hook.is_left_alone();
    let shown = list(&to);
    assert_eq!(
        (
            &shown[0]["library"],
            &shown[0]["url"],
            &shown[0]["pending_changes"]
        ),
        (&"mine".into(), &hook.url.as_str().into(), &0.into())
    );
    assert!(!format!("{shown:?}").contains("whsec"), "{shown:?}");
    let audit = run(&format!("audit {to}"), &[] as &[&Path]).expect(0).out;
    assert!(
        audit.contains("webhook")
            && !audit.contains("webhook-progress")
            && !audit.contains("whsec"),
        "{audit}"
    );
    let metrics = ureq::get(format!("{}/metrics", server.url))
        .call()
        .expect("metrics");
    let metrics = metrics.into_body().read_to_string().expect("text");
    assert!(
        metrics.contains("lapidary_webhook_deliveries_total{outcome=\"delivered\"} 1"),
        "{metrics}"
    );

    run(
        &format!("webhooks remove {to} --library mine"),
        &[] as &[&Path],
    )
    .expect(0);
    put(&folder, &to, "mine", "copy-2", &prose(1, 3_000));
    hook.is_left_alone();
    run(
        &format!("webhooks remove {to} --library mine"),
        &[] as &[&Path],
    )
    .expect(2);
    let wrong = run(
        &format!("webhooks set {to} --library mine ftp://example/"),
        &[] as &[&Path],
    )
    .expect(2);
    assert!(
        wrong.err.contains("not a valid webhook URL"),
        "{}",
        wrong.err
    );
}

#[test]
fn what_fails_is_sent_again_and_what_is_refused_is_not() {
    let folder = Folder::new();
    let server = Server::start_with(PRIVATE, &[], &folder.data());
    let to = format!("--server {}", server.url);
    let elsewhere = Hook::new(&["200 OK"]);
    let redirect = format!("302 Found\r\nLocation: {}", elsewhere.url);
    let hook = Hook::new(&[
        "500 Internal Server Error",
        &redirect,
        "200 OK",
        "410 Gone",
        "200 OK",
    ]);
    // A receiver that never answers does not delay the others.
    let silent = TcpListener::bind("127.0.0.1:0").expect("an address");
    set(
        &server,
        "dead",
        &format!("http://{}/", silent.local_addr().expect("an address")),
    );
    set(&server, "mine", &hook.url);
    put(&folder, &to, "dead", "one", &prose(1, 3_000));
    put(&folder, &to, "dead", "two", &prose(1, 3_000));
    put(&folder, &to, "mine", "three", &prose(1, 3_000));
    let (first, second, third) = (hook.next(), hook.next(), hook.next());
    let ids = [&first, &second, &third].map(|came| came.header("webhook-id"));
    assert!(ids[0] == ids[1] && ids[1] == ids[2], "{ids:?}");
    assert_eq!(first.body, third.body);
    put(&folder, &to, "mine", "four", &prose(1, 3_000));
    put(&folder, &to, "mine", "five", &prose(1, 3_000));
    assert_eq!(hook.next().json()["data"]["book"]["id"], "four");
    assert_eq!(hook.next().json()["data"]["book"]["id"], "five");
    hook.is_left_alone();
    elsewhere.is_left_alone();
    let shown = std::iter::repeat_with(|| list(&to)).find(|shown| {
        thread::sleep(Duration::from_millis(100));
        shown[0]["failure"].is_object()
    });
    let shown = shown.expect("endless");
    assert_eq!(shown[0]["library"], "dead");
    assert!(
        shown[0]["failure"]["error"]
            .as_str()
            .expect("an error")
            .contains("did not respond in time"),
        "{shown:?}"
    );
    assert!(
        shown[0]["pending_changes"].as_u64() > Some(0)
            && shown[1]["pending_changes"] == 0
            && shown[1]["failure"].is_null(),
        "{shown:?}"
    );
}

/// Many receivers that never answer, each for ten seconds, do not delay the others.
#[test]
fn dead_receivers_hold_up_none_that_lives() {
    let folder = Folder::new();
    let server = Server::start_with(PRIVATE, &[], &folder.data());
    let to = format!("--server {}", server.url);
    let silent = TcpListener::bind("127.0.0.1:0").expect("an address");
    let hook = Hook::new(&["200 OK"]);
    for dead in 0..14 {
        let library = format!("dead-{dead:02}");
        set(
            &server,
            &library,
            &format!("http://{}/", silent.local_addr().expect("an address")),
        );
        put(&folder, &to, &library, "one", &prose(1, 3_000));
    }
    set(&server, "mine", &hook.url);
    put(&folder, &to, "mine", "one", &prose(1, 3_000));
    assert_eq!(hook.next().json()["data"]["book"]["library"], "mine");
}

/// What no event would be sent to is refused, however it is set.
#[test]
fn an_address_that_is_not_served_is_not_set() {
    let folder = Folder::new();
    let data = folder.data();
    let server = Server::start(&data);
    let set = |target: &str, url: &str| {
        run(
            &format!("webhooks set {target} --library mine {url}"),
            &[] as &[&Path],
        )
    };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let urls = [
        "http://127.0.0.1:9/",
        "https://localhost/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/x",
    ];
    for url in urls {
        let refused = set(&format!("--server {}", server.url), url).expect(2);
        assert!(
            refused.err.contains("is not a public internet address"),
            "{}",
            refused.err
        );
        let answer = agent.put(format!("{}/v1/libraries/mine/webhook", server.url));
        let mut answer = answer
            .send_json(serde_json::json!({ "url": url }))
            .expect("an answer");
        let problem: Value = answer.body_mut().read_json().expect("JSON");
        assert_eq!(
            (answer.status().as_u16(), &problem["code"]),
            (422, &"bad_webhook".into()),
            "{problem}"
        );
    }
    assert_eq!(
        list(&format!("--server {}", server.url)),
        Vec::<Value>::new()
    );
    drop(server);
    for url in urls {
        assert!(
            set(&format!("--data {}", data.display()), url)
                .expect(2)
                .err
                .contains("private-webhooks")
        );
    }
    let of_folder = format!("--data {}", data.display());
    assert_eq!(list(&of_folder), Vec::<Value>::new());
    // Whose servers send to private addresses says so, as they are told.
    set(&format!("{of_folder} {PRIVATE}=false"), urls[0]).expect(2);
    set(&format!("{of_folder} {PRIVATE}"), urls[0]).expect(0);
    assert_eq!(list(&of_folder)[0]["url"], urls[0]);
    let mut by_variable = common::command(
        &format!("webhooks set {of_folder} --library theirs {}", urls[1]),
        &[] as &[&Path],
    );
    let set = by_variable
        .env("LAPIDARY_PRIVATE_WEBHOOKS", "true")
        .output()
        .expect("it runs");
    assert!(
        set.status.success(),
        "{}",
        String::from_utf8_lossy(&set.stderr)
    );
}

#[test]
fn what_was_not_told_is_told_after_a_restart() {
    let folder = Folder::new();
    let data = folder.data();
    let hook = Hook::new(&["200 OK"]);
    let server = Server::start_with(PRIVATE, &[], &data);
    set(&server, "mine", &hook.url);
    drop(server);
    // What was allowed once may not be any more.
    let server = Server::start(&data);
    let to = format!("--server {}", server.url);
    put(&folder, &to, "mine", "one", &prose(1, 3_000));
    put(&folder, &to, "mine", "two", &prose(1, 3_000));
    let error = || {
        list(&to)
            .first()
            .and_then(|hook| Some(hook["failure"]["error"].as_str()?.to_owned()))
    };
    let error = std::iter::repeat_with(error).find_map(|error| {
        thread::sleep(Duration::from_millis(100));
        error
    });
    assert!(
        error
            .expect("endless")
            .contains("127.0.0.1 is not a public internet address")
    );
    drop(server);
    // Events recorded while no server runs.
    let folder_of_it = format!("--data {}", data.display());
    put(&folder, &folder_of_it, "mine", "three", &prose(1, 3_000));
    assert!(list(&folder_of_it)[0]["pending_changes"].as_u64() > Some(1));
    let server = Server::start_with(PRIVATE, &[], &data);
    let told: Vec<Value> = (0..3)
        .map(|_| hook.next().json()["data"]["book"]["id"].clone())
        .collect();
    assert_eq!(told, ["one", "two", "three"]);
    assert_eq!(
        list(&format!("--server {}", server.url))[0]["library"],
        "mine"
    );
    assert_eq!(server.stop(), Some(0));
}
