//! Webhooks of keys: each is told of what its key sees, as it happens, and of nothing else.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::cluster::Nodes;
use crate::common::hook::{Came, Hook};
use crate::common::{Folder, Server, command, key, prose, run, until};

const PRIVATE: &str = "--private-webhooks";
const OWN: &str = "/v1/me/webhook";

/// Sends JSON with a key. Returns the status and the answer.
fn send(server: &Server, secret: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    Client::new(server, secret).json(method, path, body)
}

fn done(server: &Server, secret: &str, method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = send(server, secret, method, path, body);
    assert!(status < 300, "{method} {path}: {status} {answer}");
    answer
}

fn text_of(seed: u64) -> String {
    prose(400 + seed, 3_000)
}

/// A key with a receiver of its own.
struct Listener {
    name: &'static str,
    secret: String,
    hook: Hook,
}

impl Listener {
    /// The events that came, each with what it is about. When a quota is told depends on the beat of the server.
    fn heard(&self) -> Vec<String> {
        let came = self.hook.came.try_iter();
        let heard = came.map(|came| about(&came.json()));
        heard.filter(|event| !event.starts_with("quota.")).collect()
    }
}

/// The type of an event, and what it is about.
fn about(event: &Value) -> String {
    let data = &event["data"];
    let known = [
        "/book/id",
        "/library",
        "/source",
        "/decision/ruling",
        "/state",
        "/key",
    ];
    let subject = known.iter().find_map(|path| data.pointer(path)?.as_str());
    format!(
        "{} {}",
        event["type"].as_str().expect("a type"),
        subject.unwrap_or_default()
    )
}

/// Makes a key with a webhook for all events.
fn listener(server: &Server, admin: &str, name: &'static str, new: Value) -> Listener {
    let mut body = new;
    body["name"] = json!(name);
    let made = done(server, admin, "POST", "/v1/keys", &body);
    let secret = made["secret"].as_str().expect("a secret").to_owned();
    let hook = Hook::new(&["200 OK"]);
    let set = done(server, &secret, "PUT", OWN, &json!({ "url": hook.url }));
    assert_eq!(
        (&set["key"], &set["pending_changes"]),
        (&json!(name), &json!(0))
    );
    Listener { name, secret, hook }
}

/// Waits until no webhook of a key is behind.
fn settled(server: &Server, admin: &str) {
    let since = Instant::now();
    loop {
        let listed = done(server, admin, "GET", "/v1/webhooks/keys", &Value::Null);
        let webhooks = listed["webhooks"].as_array().expect("a list");
        if webhooks.iter().all(|one| one["pending_changes"] == 0) {
            return;
        }
        assert!(since.elapsed() < Duration::from_mins(1), "{listed}");
        sleep(Duration::from_millis(50));
    }
}

/// Waits for a job to end.
fn ended(server: &Server, admin: &str, job: &Value) {
    let path = format!("/v1/jobs/{job}");
    until("the job never ends", || {
        done(server, admin, "GET", &path, &Value::Null)["state"] != "running"
    });
}

fn store() -> Option<String> {
    static NODES: OnceLock<Option<Nodes>> = OnceLock::new();
    let nodes = NODES.get_or_init(|| Nodes::start(3, 1)).as_ref()?;
    Some(format!("redis://{}/hooks", nodes.addresses))
}

#[test]
fn each_key_hears_of_what_it_sees_and_of_nothing_else() {
    let folder = Folder::new();
    let server = Server::start_with(PRIVATE, &[], &folder.data());
    each_hears_its_own(&server);
}

#[test]
fn each_key_hears_of_what_it_sees_and_of_nothing_else_on_a_cluster() {
    let Some(store) = store() else { return };
    each_hears_its_own(&Server::start_on_with(PRIVATE, &store));
}

/// Something of every kind happens. Each key is told in order.
fn each_hears_its_own(server: &Server) {
    let first = json!({ "name": "first", "role": "admin" });
    let admin = done(server, "", "POST", "/v1/keys", &first);
    let admin = admin["secret"].as_str().expect("a secret");
    let new = |name, key| listener(server, admin, name, key);
    let listeners = [
        new("boss", json!({ "role": "admin" })),
        new("shop", json!({ "role": "check" })),
        new("other", json!({ "role": "check" })),
        new(
            "reviewer",
            json!({ "role": "texts", "libraries": ["victim"] }),
        ),
        new(
            "stranger",
            json!({ "role": "texts", "libraries": ["second"] }),
        ),
        new(
            "collector",
            json!({ "role": "ingest", "permissions": ["check"], "libraries": ["collector"], "trusted": true }),
        ),
        new(
            "second",
            json!({ "role": "ingest", "libraries": ["second"], "trusted": true }),
        ),
        new(
            "feed",
            json!({ "role": "ingest", "libraries": ["victim"], "trusted": true, "quota": "2/day" }),
        ),
    ];
    let secrets: BTreeMap<&str, &str> = listeners
        .iter()
        .map(|one| (one.name, one.secret.as_str()))
        .collect();
    let of_library = Hook::new(&["200 OK"]);
    let chosen = json!({ "url": of_library.url, "events": ["book.quarantined", "book.confirmed", "library.distrusted"] });
    done(
        server,
        admin,
        "PUT",
        "/v1/libraries/collector/webhook",
        &chosen,
    );
    settled(server, admin);
    for one in &listeners {
        one.heard();
    }

    // A collage, which an administrator confirms.
    for (seed, author) in (0..).zip(["Gogol, N.", "Charles Dickens", "Verne", "Poe"]) {
        let book = json!({ "text": text_of(seed), "rights": "protected", "authors": [author] });
        done(
            server,
            admin,
            "PUT",
            &format!("/v1/libraries/victim/books/b{seed}"),
            &book,
        );
    }
    let collage: Vec<String> = (0..3)
        .map(|seed| text_of(seed)[..6_000].to_owned())
        .collect();
    let book = json!({ "text": collage.join("\n\n"), "rights": "protected" });
    let path = "/v1/libraries/collector/books/collage";
    let added = done(server, secrets["collector"], "PUT", path, &book);
    assert_eq!(added["restriction"], "quarantined");
    settled(server, admin);
    done(server, admin, "PATCH", path, &json!({ "confirmed": true }));
    // A check, its decision and the appeal; one that nobody needs to decide.
    let check = json!({ "text": text_of(0), "record": true, "case": "7" });
    let report = done(server, secrets["shop"], "POST", "/v1/checks", &check);
    let free = json!({ "text": prose(9, 500), "record": true });
    let free = done(server, secrets["shop"], "POST", "/v1/checks", &free);
    for (who, ruling) in [("reviewer", "refused"), ("shop", "appealed")] {
        let new = json!({ "check": report["filed"], "ruling": ruling, "reason": "why" });
        done(server, secrets[who], "POST", "/v1/decisions", &new);
    }
    // A book that the other check would have matched.
    let late = json!({ "text": prose(9, 500), "rights": "protected" });
    done(
        server,
        admin,
        "PUT",
        "/v1/libraries/victim/books/late",
        &late,
    );
    until_open(server, admin, &free["filed"]);
    // Trust, jobs and sources.
    for library in ["second", "collector"] {
        let path = format!("/v1/libraries/{library}/trust");
        done(server, admin, "PUT", &path, &json!({ "trusted": false }));
    }
    let job = done(
        server,
        admin,
        "POST",
        "/v1/jobs",
        &json!({ "kind": "verify" }),
    );
    ended(server, admin, &job["id"]);
    let source = json!({ "kind": "feed", "url": "https://books.invalid/feed", "library": "victim", "rights": "free", "contact": "me@books.invalid" });
    done(
        server,
        secrets["feed"],
        "PUT",
        "/v1/sources/theirs",
        &source,
    );
    done(
        server,
        admin,
        "POST",
        "/v1/sources/theirs/run",
        &Value::Null,
    );
    // Its key has used up its quota.
    until_failed(server, admin, "theirs");
    let folder = Folder::new();
    folder.file("shelf/note.txt", prose(8, 300));
    let local = json!({ "kind": "folder", "url": folder.path("shelf"), "library": "victim", "rights": "free" });
    done(server, admin, "PUT", "/v1/sources/ours", &local);
    done(server, admin, "POST", "/v1/sources/ours/run", &Value::Null);
    until_ended(server, admin, "ours");
    settled(server, admin);

    let told: BTreeMap<&str, Vec<String>> = listeners
        .iter()
        .map(|one| (one.name, one.heard()))
        .collect();
    let of_check = [
        "check.filed checked",
        "decision.made refused",
        "decision.appealed appealed",
        "check.matched matched",
    ];
    let of_book = ["book.quarantined collage", "book.confirmed collage"];
    let of_jobs = [
        "job.ended done",
        "source.failed victim",
        "source.ended victim",
    ];
    let distrusted = ["library.distrusted second", "library.distrusted collector"];
    let expected: BTreeMap<&str, Vec<&str>> = [
        (
            "boss",
            [&of_book[..], &of_check, &distrusted, &of_jobs].concat(),
        ),
        ("shop", of_check[1..].to_vec()),
        ("other", vec![]),
        ("reviewer", of_check.to_vec()),
        ("stranger", vec![]),
        (
            "collector",
            vec![
                "book.quarantined collage",
                "book.matched collage",
                "book.confirmed collage",
                "library.distrusted collector",
            ],
        ),
        ("second", vec!["library.distrusted second"]),
        ("feed", vec!["source.failed victim"]),
    ]
    .into();
    assert_eq!(json!(told), json!(expected));
    let of_library: Vec<String> = (0..3).map(|_| about(&of_library.next().json())).collect();
    assert_eq!(
        of_library,
        [
            "book.quarantined collage",
            "book.confirmed collage",
            "library.distrusted collector"
        ]
    );
}

/// Waits until a check waits for a decision.
fn until_open(server: &Server, admin: &str, check: &Value) {
    let path = format!("/v1/decisions/{}", check.as_str().expect("an id"));
    until("the check is never open", || {
        done(server, admin, "GET", &path, &Value::Null)["state"] == "open"
    });
}

/// Waits until a source says why it cannot go on.
fn until_failed(server: &Server, admin: &str, source: &str) {
    let path = format!("/v1/sources/{source}");
    until("the source never says why it cannot go on", || {
        !done(server, admin, "GET", &path, &Value::Null)["run"]["error"].is_null()
    });
}

/// Waits until a run of a source has ended.
fn until_ended(server: &Server, admin: &str, source: &str) {
    let path = format!("/v1/sources/{source}");
    until("the run never ends", || {
        !done(server, admin, "GET", &path, &Value::Null)["run"]["finished_at"].is_null()
    });
}

/// A server with an administrator's key and a checker's, and a book that matches.
fn shop(folder: &Folder) -> (Server, String, String) {
    let data = folder.data();
    let (admin, shop) = (
        key(&data, "--role admin boss"),
        key(&data, "--role check shop"),
    );
    let server = Server::start_with(PRIVATE, &[], &data);
    let book = json!({ "text": text_of(0), "rights": "protected" });
    done(&server, &admin, "PUT", "/v1/libraries/house/books/1", &book);
    (server, admin, shop)
}

#[test]
fn a_quota_that_is_used_up_is_told_once_a_day() {
    let folder = Folder::new();
    quota_is_told(&Server::start_with(PRIVATE, &[], &folder.data()));
}

#[test]
fn a_quota_that_is_used_up_is_told_once_a_day_on_a_cluster() {
    let Some(store) = store() else { return };
    let store = format!("{store}-quota");
    quota_is_told(&Server::start_on_with(PRIVATE, &store));
}

fn quota_is_told(server: &Server) {
    let first = json!({ "name": "first", "role": "admin" });
    let admin = done(server, "", "POST", "/v1/keys", &first);
    let admin = admin["secret"].as_str().expect("a secret");
    let new = json!({ "name": "shop", "role": "check", "quota": "5/day" });
    let shop = done(server, admin, "POST", "/v1/keys", &new);
    let shop = shop["secret"].as_str().expect("a secret");
    let hooks = [(admin, "/v1/keys/shop"), (shop, "/v1/me")].map(|(secret, url)| {
        let hook = Hook::new(&["200 OK"]);
        let chosen = json!({ "url": hook.url, "events": ["quota.reached"] });
        done(server, secret, "PUT", OWN, &chosen);
        (url, hook)
    });
    let ask = || send(server, shop, "GET", "/v1/me", &Value::Null).0;
    while ask() != 429 {}
    for (url, hook) in &hooks {
        let event = hook.next().json();
        assert_eq!(event["type"], "quota.reached");
        assert_eq!(
            (&event["data"]["key"], &event["data"]["url"]),
            (&json!("shop"), &json!(url))
        );
    }
    assert_eq!(ask(), 429);
    hooks[0].1.is_left_alone();
    let entries = done(server, admin, "GET", "/v1/audit", &Value::Null)["entries"].to_string();
    assert_eq!(entries.matches("quota_reached").count(), 1, "{entries}");
}

/// Files a check as a key, has it refused by another, and returns the id of the decision.
fn refused(server: &Server, admin: &str, shop: &str) -> String {
    let check = json!({ "text": text_of(0), "record": true });
    let report = done(server, shop, "POST", "/v1/checks", &check);
    let new = json!({ "check": report["filed"], "ruling": "refused", "reason": "a copy" });
    let decision = done(server, admin, "POST", "/v1/decisions", &new);
    decision["id"].as_str().expect("an id").to_owned()
}

fn decision_of(came: &Came) -> String {
    let event = came.json();
    assert_eq!(event["type"], "decision.made", "{event}");
    event["data"]["decision"]["id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[test]
fn an_event_says_what_the_api_shows() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    let hook = Hook::new(&["200 OK"]);
    done(&server, &shop, "PUT", OWN, &json!({ "url": hook.url }));
    let id = refused(&server, &admin, &shop);
    let came = hook.next();
    let event = came.json();
    let url = event["data"]["url"].as_str().expect("a path");
    assert_eq!(url, format!("/v1/decisions/{id}"));
    assert_eq!(
        event["data"]["decision"],
        done(&server, &shop, "GET", url, &Value::Null)
    );
    assert_eq!(
        came.header("webhook-id"),
        format!("change-{}", event["data"]["change"])
    );
    hook.is_left_alone();
}

#[test]
fn only_what_was_chosen_is_sent() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    let hook = Hook::new(&["200 OK"]);
    let set = |path: &str, events: Value| {
        send(
            &server,
            &admin,
            "PUT",
            path,
            &json!({ "url": hook.url, "events": events }),
        )
    };
    let (status, refusal) = set(OWN, json!(["job.begun"]));
    assert!(
        status == 400 && refusal.to_string().contains("'book.confirmed', "),
        "{refusal}"
    );
    let of_library = "/v1/libraries/house/webhook";
    for (path, events) in [
        (OWN, json!([])),
        (of_library, json!([])),
        (of_library, json!(["book.matched", "job.ended"])),
    ] {
        let (status, refusal) = set(path, events);
        assert_eq!(
            (status, &refusal["code"]),
            (422, &json!("bad_events")),
            "{refusal}"
        );
        assert!(
            refusal["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("book.confirmed")),
            "{refusal}"
        );
    }
    assert_eq!(send(&server, &admin, "GET", OWN, &Value::Null).0, 404);
    let (status, made) = set(OWN, json!(["decision.made"]));
    assert_eq!((status, &made["events"]), (201, &json!(["decision.made"])));
    let id = refused(&server, &admin, &shop);
    assert_eq!(decision_of(&hook.next()), id);
    hook.is_left_alone();
    let shown = done(&server, &admin, "GET", OWN, &Value::Null);
    assert_eq!(
        (&shown["events"], &shown["secret"]),
        (&json!(["decision.made"]), &Value::Null)
    );
    // What is not said of a library's webhook is as it was.
    let made = done(
        &server,
        &admin,
        "PUT",
        of_library,
        &json!({ "url": hook.url }),
    );
    assert_eq!(made["events"], json!(["book.matched"]));
}

#[test]
fn a_webhook_goes_with_its_key() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    let hook = Hook::new(&["200 OK"]);
    done(&server, &shop, "PUT", OWN, &json!({ "url": hook.url }));
    let now = Timestamp::now;
    let end = now().saturating_add(4.seconds()).expect("a time");
    let brief = json!({ "name": "brief", "role": "admin", "expires_at": end });
    let brief = done(&server, &admin, "POST", "/v1/keys", &brief);
    let short = Hook::new(&["200 OK"]);
    let chosen = json!({ "url": short.url, "events": ["decision.made"] });
    done(
        &server,
        brief["secret"].as_str().expect("a secret"),
        "PUT",
        OWN,
        &chosen,
    );
    // A new secret changes nothing.
    let rotated = done(
        &server,
        &admin,
        "POST",
        "/v1/keys/shop/rotate",
        &json!({ "overlap_seconds": 0 }),
    );
    let shop = rotated["secret"].as_str().expect("a secret").to_owned();
    let id = refused(&server, &admin, &shop);
    assert_eq!(
        (decision_of(&hook.next()), decision_of(&short.next())),
        (id.clone(), id)
    );
    while now() <= end {
        sleep(Duration::from_millis(100));
    }
    let id = refused(&server, &admin, &shop);
    assert_eq!(decision_of(&hook.next()), id);
    let (status, _) = send(&server, &admin, "DELETE", "/v1/keys/shop", &Value::Null);
    assert_eq!(status, 204);
    let made = done(
        &server,
        &admin,
        "POST",
        "/v1/keys",
        &json!({ "name": "shop", "role": "check" }),
    );
    let shop = made["secret"].as_str().expect("a secret").to_owned();
    assert_eq!(
        send(&server, &shop, "GET", OWN, &Value::Null).1["code"],
        "no_such_webhook"
    );
    refused(&server, &admin, &shop);
    hook.is_left_alone();
    assert!(short.came.try_recv().is_err(), "it has expired");
    // An administrator sees what there is, and ends it.
    done(&server, &shop, "PUT", OWN, &json!({ "url": hook.url }));
    let listed = done(&server, &admin, "GET", "/v1/webhooks/keys", &Value::Null);
    let keys: Vec<&Value> = listed["webhooks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["key"])
        .collect();
    assert_eq!(keys, ["brief", "shop"]);
    assert_eq!(
        send(
            &server,
            &admin,
            "DELETE",
            "/v1/keys/shop/webhook",
            &Value::Null
        )
        .0,
        204
    );
    assert_eq!(send(&server, &shop, "GET", OWN, &Value::Null).0, 404);
    let audit = run(
        &format!("audit --data {}", stopped(server, &folder)),
        &[] as &[&Path],
    )
    .expect(0)
    .out;
    assert!(
        audit.contains("set key-webhook shop") && audit.contains("removed key-webhook shop"),
        "{audit}"
    );
}

/// Stops a server, and returns the folder of its catalogue.
fn stopped(server: Server, folder: &Folder) -> String {
    assert_eq!(server.stop(), Some(0));
    folder.data().display().to_string()
}

#[test]
fn events_are_sent_again_from_where_it_is_asked() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    let hook = Hook::new(&["200 OK"]);
    done(&server, &shop, "PUT", OWN, &json!({ "url": hook.url }));
    for _ in 0..3 {
        refused(&server, &admin, &shop);
    }
    let told: Vec<Came> = (0..3).map(|_| hook.next()).collect();
    let change = told[1].json()["data"]["change"].clone();
    let again = |secret: &str, path: &str, from: &Value| {
        send(&server, secret, "POST", path, &json!({ "from": from }))
    };
    let path = "/v1/me/webhook/replay";
    assert_eq!(again(&shop, path, &change).0, 204);
    for before in &told[1..] {
        let came = hook.next();
        assert_eq!(
            (came.header("webhook-id"), &came.body),
            (before.header("webhook-id"), &before.body)
        );
    }
    hook.is_left_alone();
    for from in [json!(0), json!(100_000)] {
        let (status, refusal) = again(&shop, path, &from);
        assert_eq!(
            (status, &refusal["code"]),
            (422, &json!("bad_replay")),
            "{refusal}"
        );
        assert!(
            refusal["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("from 1 to ")),
            "{refusal}"
        );
    }
    assert_eq!(again(&admin, path, &change).1["code"], "no_such_webhook");
    // Those of a library as well.
    let of_library = "/v1/libraries/house/webhook";
    let hook = Hook::new(&["200 OK"]);
    let copy = json!({ "text": text_of(0), "rights": "protected" });
    done(&server, &admin, "PUT", "/v1/libraries/house/books/2", &copy);
    done(
        &server,
        &admin,
        "PUT",
        of_library,
        &json!({ "url": hook.url }),
    );
    assert_eq!(
        again(&admin, &format!("{of_library}/replay"), &json!(1)).0,
        204
    );
    // The first book matches the second now.
    let of = |came: Came| came.json()["data"]["book"]["id"].clone();
    assert_eq!((of(hook.next()), of(hook.next())), (json!("1"), json!("2")));
    hook.is_left_alone();
}

/// A server that is killed while it delivers loses no event, and repeats one only with its id.
#[test]
fn events_survive_kill_9() {
    let folder = Folder::new();
    let (mut server, admin, shop) = shop(&folder);
    let hook = Hook::new(&["200 OK"]);
    done(&server, &shop, "PUT", OWN, &json!({ "url": hook.url }));
    let (mut decided, mut told) = (Vec::new(), BTreeMap::new());
    for round in 0..6 {
        for _ in 0..3 {
            decided.push(refused(&server, &admin, &shop));
        }
        sleep(Duration::from_millis(40 * round));
        // Dropped, it is killed.
        drop(server);
        server = Server::start_with(PRIVATE, &[], &folder.data());
    }
    let since = Instant::now();
    while told.len() < decided.len() {
        assert!(since.elapsed() < Duration::from_mins(1), "{told:?}");
        let came = hook.next();
        let known = told
            .entry(decision_of(&came))
            .or_insert_with(|| came.header("webhook-id").to_owned());
        assert_eq!(known, came.header("webhook-id"));
    }
    let mut told: Vec<(String, String)> = told
        .into_iter()
        .map(|(decision, id)| (id, decision))
        .collect();
    told.sort();
    told.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(told.len(), decided.len(), "each event has an id of its own");
}

/// Keys whose receivers never answer do not delay the others.
#[test]
fn dead_receivers_of_keys_hold_up_none_that_lives() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    let silent = TcpListener::bind("127.0.0.1:0").expect("an address");
    let dead = json!({ "url": format!("http://{}/", silent.local_addr().expect("an address")), "events": ["check.filed"] });
    for number in 0..14 {
        let new = json!({ "name": format!("dead-{number:02}"), "role": "admin" });
        let made = done(&server, &admin, "POST", "/v1/keys", &new);
        done(
            &server,
            made["secret"].as_str().expect("a secret"),
            "PUT",
            OWN,
            &dead,
        );
    }
    let hook = Hook::new(&["200 OK"]);
    done(&server, &shop, "PUT", OWN, &json!({ "url": hook.url }));
    for _ in 0..3 {
        let id = refused(&server, &admin, &shop);
        assert_eq!(decision_of(&hook.next()), id);
    }
}

/// What comes with an import was decided before, so nobody is told.
#[test]
fn an_import_of_decisions_is_no_news() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    refused(&server, &admin, &shop);
    let data = stopped(server, &folder);
    let export = folder.path("export.ndjson");
    run(&format!("export --data {data} {{}}"), &[&export]).expect(0);
    let other = Folder::new();
    let secret = key(&other.data(), "--role check shop");
    let boss = key(&other.data(), "--role admin boss");
    let server = Server::start_with(PRIVATE, &[], &other.data());
    let hook = Hook::new(&["200 OK"]);
    done(&server, &secret, "PUT", OWN, &json!({ "url": hook.url }));
    let import = command(&format!("import --server {} {{}}", server.url), &[&export])
        .env("LAPIDARY_KEY", &boss)
        .output()
        .expect("it runs");
    assert!(
        import.status.success(),
        "{}",
        String::from_utf8_lossy(&import.stderr)
    );
    let seen = done(&server, &secret, "GET", "/v1/decisions", &Value::Null);
    assert_eq!(
        seen["decisions"].as_array().map(Vec::len),
        Some(2),
        "{seen}"
    );
    let id = refused(&server, &boss, &secret);
    assert_eq!(decision_of(&hook.next()), id);
    hook.is_left_alone();
}

/// The command line does all of it with the key that it uses.
#[test]
fn a_key_manages_its_webhook_by_commands() {
    let folder = Folder::new();
    let (server, admin, shop) = shop(&folder);
    let by = |secret: &str, line: &str| {
        let done = command(
            &format!("webhooks {line} --server {}", server.url),
            &[] as &[&Path],
        )
        .env("LAPIDARY_KEY", secret)
        .output()
        .expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout) + &text(&done.stderr))
    };
    let hook = Hook::new(&["200 OK", "410 Gone", "200 OK"]);
    let (status, set) = by(
        &shop,
        &format!("set --events decision.made,decision.appealed {}", hook.url),
    );
    assert!(
        status == Some(0) && set.starts_with("key shop\t") && set.contains("whsec_"),
        "{set}"
    );
    let (status, wrong) = by(&shop, &format!("set --events job.begun {}", hook.url));
    assert!(status == Some(2) && wrong.contains("job.ended"), "{wrong}");
    assert_eq!(
        by(&shop, "test"),
        (Some(0), "the webhook of this key works\n".to_owned())
    );
    let test = hook.next();
    assert_eq!(
        (&test.json()["type"], &test.json()["data"]),
        (&json!("webhook.test"), &json!({}))
    );
    let (status, gone) = by(&shop, "test");
    assert!(
        status == Some(3) && gone.contains("refused it with status 410 Gone"),
        "{gone}"
    );
    hook.next();
    let id = refused(&server, &admin, &shop);
    let came = hook.next();
    assert_eq!(decision_of(&came), id);
    let (status, _) = by(
        &shop,
        &format!("replay --from {}", came.json()["data"]["change"]),
    );
    assert_eq!((status, decision_of(&hook.next())), (Some(0), id));
    let (_, shown) = by(&shop, "show");
    assert!(
        shown.starts_with("key shop\t") && shown.contains("\tdecision.made,decision.appealed\t"),
        "{shown}"
    );
    assert_eq!(by(&admin, "list").1, shown);
    assert_eq!(
        by(&shop, "remove --key shop").0,
        Some(2),
        "only administrators name keys"
    );
    assert_eq!(
        by(&admin, "remove --key shop"),
        (Some(0), "removed the webhook of key shop\n".to_owned())
    );
    assert_eq!(by(&shop, "remove").0, Some(2));
    // A folder has no key.
    let data = stopped(server, &folder);
    let none = run(
        &format!("webhooks set --data {data} https://books.example/"),
        &[] as &[&Path],
    );
    assert!(
        none.err.contains("only a key has a webhook of its own"),
        "{}",
        none.err
    );
}
