//! Conditional requests: `ETag`, `If-Match` and `If-None-Match`.

use std::thread::scope;

use serde_json::{Value, json};

use super::running::{Answer, JSON, NDJSON, Running, TEXT, assert_has, definition};
use crate::common::{prose, until};

const BOOK: &str = "/v1/libraries/house/books/1";

/// The tag that an answer shows.
#[track_caller]
fn tag(answer: &Answer) -> String {
    let tag = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("etag: "));
    let tag = tag.unwrap_or_else(|| panic!("no ETag: {}", answer.head));
    assert!(
        tag.len() > 10 && tag.starts_with('"') && tag.ends_with('"'),
        "a strong tag: {tag}"
    );
    tag.to_owned()
}

fn send(server: &Running, method: &str, condition: (&str, &str), body: &Value) -> Answer {
    server.send(
        method,
        BOOK,
        &[("Content-Type", JSON), condition],
        body.to_string().as_bytes(),
    )
}

fn text(rights: &str, seed: u64) -> Value {
    json!({ "rights": rights, "text": prose(seed, 2_000) })
}

#[test]
fn a_book_that_is_there_is_not_overwritten_by_who_expects_none() {
    let server = Running::start();
    let none = ("If-None-Match", "*");
    assert_eq!(
        send(&server, "PUT", none, &text("protected", 1)).status,
        201
    );
    let before = server.get(BOOK).expect(200);
    for body in [text("free", 2), text("protected", 1)] {
        send(&server, "PUT", none, &body).problem(412, "precondition_failed", "it is there");
    }
    send(&server, "PATCH", none, &json!({ "rights": "free" })).problem(
        412,
        "precondition_failed",
        "it is there",
    );
    send(&server, "DELETE", none, &Value::Null).problem(412, "precondition_failed", "it is there");
    assert_eq!(server.get(BOOK).expect(200), before);
}

#[test]
fn a_change_is_made_in_the_version_that_it_is_for() {
    let server = Running::start();
    let any = ("If-Match", "*");
    send(&server, "PUT", any, &text("protected", 1)).problem(
        412,
        "precondition_failed",
        "it is not there",
    );
    let added = server.put(BOOK, JSON, text("protected", 1).to_string());
    let first = tag(&added);
    assert_eq!(tag(&server.get(BOOK)), first);
    assert_eq!(
        tag(&server.put(BOOK, JSON, text("protected", 1).to_string())),
        first,
        "unchanged"
    );

    let weak = format!("W/{first}");
    send(
        &server,
        "PATCH",
        ("If-Match", &weak),
        &json!({ "note": "a" }),
    )
    .problem(412, "precondition_failed", "weak");
    send(&server, "PUT", ("If-Match", "\"0\""), &text("free", 2)).problem(
        412,
        "precondition_failed",
        "another",
    );
    let list = format!("\"0\", {first}");
    let noted = send(
        &server,
        "PATCH",
        ("If-Match", &list),
        &json!({ "note": "a" }),
    );
    let second = tag(&noted);
    assert_eq!(
        (noted.status, tag(&server.get(BOOK))),
        (200, second.clone())
    );
    assert_ne!(first, second);

    for (method, body) in [
        ("PUT", text("free", 2)),
        ("PATCH", json!({ "note": "b" })),
        ("DELETE", Value::Null),
    ] {
        send(&server, method, ("If-Match", &first), &body).problem(
            412,
            "precondition_failed",
            method,
        );
    }
    assert_has(
        &server.get(BOOK).expect(200),
        json!({ "rights": "protected" }),
    );
    let replaced = send(&server, "PUT", ("If-Match", &second), &text("free", 2));
    assert_eq!(
        (replaced.status, tag(&replaced)),
        (200, tag(&server.get(BOOK)))
    );
    let third = tag(&replaced);
    assert_eq!(
        send(&server, "PUT", ("If-None-Match", &second), &text("free", 3)).status,
        200,
        "none of these"
    );
    let weak = format!("W/{}", tag(&server.get(BOOK)));
    send(&server, "PUT", ("If-None-Match", &weak), &text("free", 4)).problem(
        412,
        "precondition_failed",
        "as good as it",
    );
    send(&server, "DELETE", ("If-Match", &third), &Value::Null).problem(
        412,
        "precondition_failed",
        "replaced",
    );
    assert_eq!(send(&server, "DELETE", any, &Value::Null).status, 204);
    send(&server, "DELETE", any, &Value::Null).problem(404, "no_such_book", "removed");
    send(&server, "PATCH", any, &json!({ "note": "b" })).problem(404, "no_such_book", "removed");
}

#[test]
fn a_version_that_a_client_has_is_not_sent_again() {
    let server = Running::start();
    let first = tag(&server.put(BOOK, JSON, text("protected", 1).to_string()));
    for known in [
        first.clone(),
        format!("W/{first}"),
        format!("\"0\" , {first}"),
        "*".to_owned(),
    ] {
        let answer = send(&server, "GET", ("If-None-Match", &known), &Value::Null);
        assert_eq!(
            (answer.status, tag(&answer), answer.body.len()),
            (304, first.clone(), 0),
            "{known}"
        );
    }
    assert_eq!(
        send(&server, "GET", ("If-None-Match", "\"0\""), &Value::Null).status,
        200
    );
    assert_eq!(
        send(&server, "GET", ("If-Match", &first), &Value::Null).status,
        200
    );
    send(&server, "GET", ("If-Match", "\"0\""), &Value::Null).problem(
        412,
        "precondition_failed",
        "another",
    );
    for malformed in ["", "0", "\"0", "*, \"0\"", "\"0\" \"1\""] {
        for name in ["If-Match", "If-None-Match"] {
            let answer = send(&server, "PUT", (name, malformed), &text("free", 2));
            answer.problem(400, "bad_precondition", malformed);
        }
    }
    assert_has(
        &server.get(BOOK).expect(200),
        json!({ "rights": "protected" }),
    );
}

#[test]
fn of_many_clients_that_add_what_is_not_there_one_does() {
    const CLIENTS: u64 = 8;
    let server = Running::start();
    for round in 0..5 {
        let book = format!("/v1/libraries/house/books/{round}");
        // What is as it was is not changed, so each client sends another text each time.
        let together =
            |method: &'static str, condition: (&'static str, String), texts: u64| -> Vec<u16> {
                scope(|scope| {
                    let (server, book, condition) = (&server, &book, &condition);
                    let client = |client: u64| {
                        scope.spawn(move || {
                            let headers =
                                [("Content-Type", JSON), (condition.0, condition.1.as_str())];
                            let body = if method == "PUT" {
                                text("free", texts + client)
                            } else {
                                json!({ "note": client.to_string() })
                            };
                            server
                                .send(method, book, &headers, body.to_string().as_bytes())
                                .status
                        })
                    };
                    let clients: Vec<_> = (0..CLIENTS).map(client).collect();
                    clients
                        .into_iter()
                        .map(|client| client.join().unwrap())
                        .collect()
                })
            };
        let is_one = |statuses: &[u16], done| {
            let count = |status| statuses.iter().filter(|found| **found == status).count() as u64;
            (count(done), count(412)) == (1, CLIENTS - 1)
        };
        let added = together("PUT", ("If-None-Match", "*".to_owned()), 0);
        assert!(is_one(&added, 201), "{added:?}");
        let version = tag(&server.get(&book));
        let amended = together("PATCH", ("If-Match", version), 0);
        assert!(is_one(&amended, 200), "{amended:?}");
        let version = tag(&server.get(&book));
        let replaced = together("PUT", ("If-Match", version), CLIENTS);
        assert!(is_one(&replaced, 200), "{replaced:?}");
        let version = tag(&server.get(&book));
        let removed = together("DELETE", ("If-Match", version), 0);
        assert_eq!(
            removed.iter().filter(|status| **status == 204).count(),
            1,
            "{removed:?}"
        );
    }
}

#[test]
fn calls_that_take_no_condition_refuse_one() {
    let server = Running::start();
    server
        .put(BOOK, JSON, text("protected", 1).to_string())
        .expect(201);
    let line = json!({ "id": "1", "rights": "free", "text": prose(2, 2_000) }).to_string();
    let table = [
        ("POST", "/v1/libraries/house/books", NDJSON, line.as_str()),
        (
            "POST",
            "/v1/libraries/house/books?rights=free",
            "multipart/form-data; boundary=x",
            "--x--",
        ),
        ("POST", "/v1/import", NDJSON, ""),
        ("POST", "/v1/checks", TEXT, "text"),
        ("POST", "/v1/checks:batch", NDJSON, ""),
        ("GET", "/v1/libraries/house/books", TEXT, ""),
        ("GET", "/v1/libraries/house/matches/1", TEXT, ""),
        ("GET", "/v1/stats", TEXT, ""),
        ("POST", "/v1/jobs", JSON, "{\"kind\": \"verify\"}"),
        ("GET", "/healthz", TEXT, ""),
    ];
    for (method, path, kind, body) in table {
        for name in ["If-Match", "If-None-Match"] {
            let answer = server.send(
                method,
                path,
                &[("Content-Type", kind), (name, "*")],
                body.as_bytes(),
            );
            answer.problem(400, "no_preconditions", path);
        }
    }
    assert_has(
        &server.get(BOOK).expect(200),
        json!({ "rights": "protected" }),
    );
}

/// What a definition is, and another of the same thing.
fn definitions() -> [(&'static str, Value, Value); 3] {
    let source = json!({
        "kind": "opds", "url": "https://books.example/", "library": "house", "rights": "free", "contact": "me@books.example",
        "paused": true
    });
    let mut another = source.clone();
    another["rights"] = "protected".into();
    [
        (
            "/v1/allow-lists/a/b",
            json!({ "gems": [1] }),
            json!({ "gems": [2] }),
        ),
        ("/v1/sources/it", source, another),
        (
            "/v1/libraries/house/webhook",
            json!({ "url": "https://books.example/1" }),
            json!({ "url": "https://books.example/2" }),
        ),
    ]
}

#[test]
fn definitions_are_changed_only_in_the_version_that_is_known() {
    let server = Running::start();
    for (path, first, second) in definitions() {
        let call = |method: &str, condition: (&str, &str), body: &Value| {
            let body = if body.is_null() {
                String::new()
            } else {
                body.to_string()
            };
            let headers = [("Content-Type", JSON), condition];
            server.send(method, path, &headers, body.as_bytes())
        };
        call("PUT", ("If-Match", "*"), &first).problem(412, "precondition_failed", path);
        let removed = call("DELETE", ("If-Match", "*"), &Value::Null).status;
        assert!([404, 412].contains(&removed), "{path}: {removed}");
        let added = call("PUT", ("If-None-Match", "*"), &first);
        assert_eq!(added.status, 201, "{path}");
        call("PUT", ("If-None-Match", "*"), &second).problem(412, "precondition_failed", path);
        // The tag names what is shown beside the definition, too, which changes while the server works.
        let mut shown = String::new();
        until("it stays as it is", || {
            shown = tag(&server.get(path));
            call("GET", ("If-None-Match", &shown), &Value::Null).status == 304
        });
        assert_eq!(
            call("GET", ("If-Match", &shown), &Value::Null).status,
            200,
            "{path}"
        );
        // The tag of an answer to a change is good for the next, and so is that of what is shown.
        let replaced = call("PUT", ("If-Match", &tag(&added)), &second);
        assert_eq!(replaced.status, 200, "{path}");
        let defined = || definition(server.get(path).expect(200));
        let before = defined();
        for old in [&shown, &tag(&added)] {
            call("PUT", ("If-Match", old), &first).problem(412, "precondition_failed", path);
            call("DELETE", ("If-Match", old), &Value::Null).problem(
                412,
                "precondition_failed",
                path,
            );
            call("GET", ("If-Match", old), &Value::Null).problem(412, "precondition_failed", path);
        }
        assert_eq!(defined(), before, "{path}");
        let known = tag(&server.get(path));
        let statuses: Vec<u16> = scope(|scope| {
            let clients =
                [(); 8].map(|()| scope.spawn(|| call("PUT", ("If-Match", &known), &first).status));
            clients.map(|client| client.join().unwrap()).into()
        });
        let done = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!((done, statuses.len()), (1, 8), "{path}: {statuses:?}");
        let known = tag(&server.get(path));
        assert_eq!(
            call("DELETE", ("If-Match", &known), &Value::Null).status,
            204,
            "{path}"
        );
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_key_is_rotated_and_revoked_only_in_the_version_that_is_known() {
    let server = Running::start();
    let made = json!({ "name": "boss", "role": "admin" }).to_string();
    let made = server.post("/v1/keys", JSON, made).expect(201);
    let boss = made["secret"].as_str().unwrap();
    let call = |method: &str, path: &str, condition: (&str, &str), body: &str| {
        let headers = [("Content-Type", JSON), ("X-Api-Key", boss), condition];
        server.send(method, path, &headers, body.as_bytes())
    };
    let any = ("Accept", "*/*");
    let shop = r#"{"name": "shop", "role": "check"}"#;
    assert_eq!(call("POST", "/v1/keys", any, shop).status, 201);
    let first = tag(&call("GET", "/v1/keys/shop", any, ""));
    let rotate = |condition| {
        call(
            "POST",
            "/v1/keys/shop/rotate",
            condition,
            r#"{"overlap_seconds": 9}"#,
        )
    };
    let rotated = rotate(("If-Match", &first));
    assert_eq!(rotated.status, 201);
    rotate(("If-Match", &first)).problem(412, "precondition_failed", "rotate");
    call("DELETE", "/v1/keys/shop", ("If-Match", &first), "").problem(
        412,
        "precondition_failed",
        "revoke",
    );
    let revoked = call("DELETE", "/v1/keys/shop", ("If-Match", &tag(&rotated)), "");
    assert_eq!(revoked.status, 204);
    assert_eq!(call("GET", "/v1/keys/shop", any, "").status, 404);
}

#[test]
fn what_is_said_of_a_library_is_changed_only_in_the_version_that_is_known() {
    let server = Running::start();
    let version = |path: &str| {
        let answer = server.get(path);
        let tag = answer
            .head
            .lines()
            .find_map(|line| line.strip_prefix("etag: "));
        (tag.expect("an ETag").to_owned(), answer.expect(200))
    };
    let put = |path: &str, condition: &str, body: &Value| {
        let headers = [("Content-Type", JSON), ("If-Match", condition)];
        server.send("PUT", path, &headers, body.to_string().as_bytes())
    };
    let table = [
        (
            "/v1/libraries/house/trust",
            json!({ "trusted": true }),
            json!({ "trusted": false }),
        ),
        (
            "/v1/libraries/house/policy",
            json!({}),
            json!({ "min_covered": 0.2 }),
        ),
    ];
    for (path, usual, other) in table {
        let (before, said) = version(path);
        assert_has(&said, usual);
        let answer = put(path, &before, &other);
        let written = tag(&answer);
        assert_has(&answer.expect(200), other.clone());
        put(path, &before, &json!(said)).problem(412, "precondition_failed", path);
        assert_has(&version(path).1, other);
        put(path, &written, &json!(said)).expect(200);
    }
}
