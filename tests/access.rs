//! End-to-end tests of access control: keys, roles, limits and settings.

use crate::common;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::common::client::Client;
use crate::common::{Folder, Server, command, key, prose, run};

/// A response: status, lower-cased headers and body.
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// Sends raw bytes and reads the response until the server closes the connection.
fn raw(server: &Server, request: &[u8]) -> Answer {
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a time-out");
    // A server that refuses early may close the connection before the whole request is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    Answer {
        status,
        head: head.to_lowercase(),
        body: serde_json::from_str(body).unwrap_or_default(),
    }
}

fn send(server: &Server, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
    raw(
        server,
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes(),
    )
}

fn with_key(server: &Server, secret: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = format!("Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n");
    send(
        server,
        method,
        path,
        &headers,
        &if body.is_null() {
            String::new()
        } else {
            body.to_string()
        },
    )
}

const CHECK: &str = "/v1/checks";
const MINE: &str = "/v1/libraries/mine/books/one";
const THEIRS: &str = "/v1/libraries/theirs/books/one";

/// Method, path and body of calls, and the status that each gets without a key and with one of each role.
fn each_call() -> Vec<(&'static str, &'static str, Value, [u16; 5])> {
    let gems = json!({ "gems": [1, 2, 3] });
    let book = json!({ "rights": "protected", "text": prose(1, 3000) });
    let source = |library: &str| {
        let address = "https://books.invalid/feed";
        json!({ "kind": "feed", "url": address, "library": library, "rights": "free", "contact": "me@books.invalid" })
    };
    let object = json!({ "bucket": { "name": "b" }, "object": { "key": "k" } });
    let written = json!({ "Records": [{ "eventName": "ObjectCreated:Put", "s3": object }] });
    vec![
        ("GET", "/", Value::Null, [200, 200, 200, 200, 200]),
        ("GET", "/healthz", Value::Null, [200, 200, 200, 200, 200]),
        ("GET", "/readyz", Value::Null, [200, 200, 200, 200, 200]),
        ("GET", "/metrics", Value::Null, [401, 200, 200, 200, 200]),
        ("PUT", MINE, book.clone(), [401, 403, 403, 201, 200]),
        ("PUT", THEIRS, book, [401, 403, 403, 403, 201]),
        ("GET", MINE, Value::Null, [401, 403, 403, 200, 200]),
        ("HEAD", MINE, Value::Null, [401, 403, 403, 200, 200]),
        (
            "GET",
            "/v1/libraries/theirs/books",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/libraries/mine/books",
            Value::Null,
            [401, 403, 403, 200, 200],
        ),
        // JSON is no table.
        (
            "POST",
            "/v1/libraries/mine/table",
            Value::Null,
            [401, 403, 403, 415, 415],
        ),
        (
            "POST",
            "/v1/libraries/theirs/table",
            Value::Null,
            [401, 403, 403, 403, 415],
        ),
        (
            "GET",
            "/v1/libraries/mine/exports/one",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/libraries/mine/texts/one",
            Value::Null,
            [401, 403, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/libraries/theirs/texts/one",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "GET",
            "/v1/books?title=a",
            Value::Null,
            [401, 403, 403, 200, 200],
        ),
        (
            "GET",
            "/v1/books?title=a&library=mine",
            Value::Null,
            [401, 403, 403, 200, 200],
        ),
        (
            "GET",
            "/v1/books?title=a&library=theirs",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/books?title=a&library=nobodys",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        ("POST", CHECK, gems, [401, 200, 200, 403, 200]),
        // Only the key that the settings name may send these.
        ("POST", "/v1/s3/events", written, [401, 403, 403, 403, 403]),
        ("GET", "/v1/batches", Value::Null, [401, 200, 200, 403, 200]),
        // JSON is no form.
        ("POST", "/v1/compare", json!({}), [401, 400, 400, 403, 400]),
        (
            "POST",
            "/v1/batches",
            json!({ "files": ["a.txt"] }),
            [401, 201, 201, 403, 201],
        ),
        (
            "GET",
            "/v1/batches/0",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/decisions",
            Value::Null,
            [401, 200, 200, 403, 200],
        ),
        (
            "POST",
            "/v1/decisions",
            json!({ "check": "0", "ruling": "accepted", "reason": "r" }),
            [401, 404, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/decisions/0",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/decisions/0/page",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/decisions/0/passages",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "POST",
            "/v1/decisions/0/page",
            json!({}),
            [401, 415, 415, 403, 415],
        ),
        (
            "DELETE",
            "/v1/decisions/0/text",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/decisions/0/links",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "POST",
            "/v1/decisions/0/links",
            json!({}),
            [401, 404, 404, 403, 404],
        ),
        (
            "GET",
            "/v1/decisions/0/links/1",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        (
            "DELETE",
            "/v1/decisions/0/links/1",
            Value::Null,
            [401, 404, 404, 403, 404],
        ),
        ("GET", "/v1/sources", Value::Null, [401, 403, 403, 200, 200]),
        (
            "PUT",
            "/v1/sources/s",
            source("mine"),
            [401, 403, 403, 201, 200],
        ),
        (
            "PUT",
            "/v1/sources/t",
            source("theirs"),
            [401, 403, 403, 403, 201],
        ),
        (
            "GET",
            "/v1/sources/s",
            Value::Null,
            [401, 403, 403, 200, 200],
        ),
        (
            "GET",
            "/v1/sources/t",
            Value::Null,
            [401, 403, 403, 404, 200],
        ),
        (
            "GET",
            "/v1/sources/s/runs",
            Value::Null,
            [401, 403, 403, 200, 200],
        ),
        (
            "GET",
            "/v1/sources/t/errors",
            Value::Null,
            [401, 403, 403, 404, 200],
        ),
        // An administrator has replaced it.
        (
            "PATCH",
            "/v1/sources/s",
            json!({ "paused": true }),
            [401, 403, 403, 403, 200],
        ),
        (
            "POST",
            "/v1/sources/s/run",
            Value::Null,
            [401, 403, 403, 409, 409],
        ),
        (
            "POST",
            "/v1/sources/t/test",
            Value::Null,
            [401, 403, 403, 404, 200],
        ),
        (
            "DELETE",
            "/v1/sources/t",
            Value::Null,
            [401, 403, 403, 404, 204],
        ),
        (
            "DELETE",
            "/v1/sources/s",
            Value::Null,
            [401, 403, 403, 403, 204],
        ),
        (
            "GET",
            "/v1/libraries",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/libraries/mine/trust",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/libraries/mine/policy",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "PUT",
            "/v1/libraries/mine/trust",
            json!({ "trusted": true }),
            [401, 403, 403, 403, 200],
        ),
        (
            "PUT",
            "/v1/libraries/mine/policy",
            json!({}),
            [401, 403, 403, 403, 200],
        ),
        ("GET", "/v1/stats", Value::Null, [401, 403, 403, 403, 200]),
        ("GET", "/v1/recipes", Value::Null, [401, 403, 403, 403, 200]),
        (
            "POST",
            "/v1/recipes?recipe=tf",
            Value::Null,
            [401, 403, 403, 403, 415],
        ),
        (
            "GET",
            "/v1/lexicons/0123456789abcdef",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        ("GET", "/v1/history", Value::Null, [401, 403, 403, 403, 200]),
        (
            "GET",
            "/v1/history/checks",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/libraries/mine/matches/one",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/audit?library=mine",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        ("GET", "/v1/doctor", Value::Null, [401, 403, 403, 403, 200]),
        ("GET", "/v1/jobs", Value::Null, [401, 403, 403, 403, 200]),
        (
            "POST",
            "/v1/jobs",
            json!({ "kind": "verify" }),
            [401, 403, 403, 403, 202],
        ),
        (
            "GET",
            "/v1/jobs/99/groups",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "GET",
            "/v1/jobs/99/overlaps",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "POST",
            "/v1/duplicates",
            json!({ "books": [{ "library": "mine", "id": "no" }, { "library": "mine", "id": "none" }] }),
            [401, 403, 403, 403, 404],
        ),
        ("GET", "/v1/keys", Value::Null, [401, 403, 403, 403, 200]),
        (
            "GET",
            "/v1/keys/boss",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "GET",
            "/v1/allow-lists/none",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "GET",
            "/v1/recipes/tf",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "GET",
            "/v1/libraries/none/webhook",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        ("GET", "/v1/me", Value::Null, [401, 200, 200, 200, 200]),
        (
            "PUT",
            "/v1/me/webhook",
            json!({ "url": "https://books.example/" }),
            [401, 201, 201, 201, 201],
        ),
        (
            "GET",
            "/v1/me/webhook",
            Value::Null,
            [401, 200, 200, 200, 200],
        ),
        (
            "POST",
            "/v1/me/webhook/replay",
            json!({ "from": 0 }),
            [401, 422, 422, 422, 422],
        ),
        (
            "DELETE",
            "/v1/me/webhook",
            Value::Null,
            [401, 204, 204, 204, 204],
        ),
        (
            "POST",
            "/v1/me/webhook/test",
            Value::Null,
            [401, 404, 404, 404, 404],
        ),
        (
            "GET",
            "/v1/webhooks/keys",
            Value::Null,
            [401, 403, 403, 403, 200],
        ),
        (
            "DELETE",
            "/v1/keys/nobody/webhook",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "POST",
            "/v1/libraries/none/webhook/replay",
            json!({ "from": 1 }),
            [401, 403, 403, 403, 404],
        ),
        (
            "POST",
            "/v1/libraries/none/webhook/test",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        (
            "DELETE",
            "/v1/keys/nobody",
            Value::Null,
            [401, 403, 403, 403, 404],
        ),
        ("PATCH", CHECK, Value::Null, [405, 405, 405, 405, 405]),
        ("GET", "/nowhere", Value::Null, [404, 404, 404, 404, 404]),
        ("DELETE", THEIRS, Value::Null, [401, 403, 403, 403, 204]),
        ("DELETE", MINE, Value::Null, [401, 403, 403, 204, 404]),
    ]
}

#[test]
fn each_role_may_do_its_own() {
    let folder = Folder::new();
    let data = folder.data();
    let check = key(&data, "--role check shop");
    let texts = key(&data, "--role texts --library mine reviewer");
    let ingest = key(&data, "--role ingest --trusted --library mine feed");
    let admin = key(&data, "--role admin boss");
    let server = Server::start(&data);
    for (method, path, body, expected) in each_call() {
        let nobody = send(
            &server,
            method,
            path,
            "Content-Type: application/json\r\n",
            &if body.is_null() {
                String::new()
            } else {
                body.to_string()
            },
        );
        assert_eq!(nobody.status, expected[0], "{method} {path} without a key");
        if nobody.status == 401 && method != "HEAD" {
            assert_eq!(nobody.code(), "no_key");
            assert!(
                nobody
                    .header("www-authenticate")
                    .is_some_and(|how| how.starts_with("bearer"))
            );
        }
        for (secret, expected) in [&check, &texts, &ingest, &admin]
            .into_iter()
            .zip(&expected[1..])
        {
            let answer = with_key(&server, secret, method, path, &body);
            assert_eq!(answer.status, *expected, "{method} {path}: {}", answer.body);
        }
    }
    assert_eq!(
        with_key(&server, &ingest, "GET", THEIRS, &Value::Null).code(),
        "not_your_library"
    );
    // The check applies to the routed path, so no alternative spelling opens another library.
    for path in [
        "/v1/libraries/mine/../theirs/books/one",
        "/v1/libraries/mine%2f..%2ftheirs/books/one",
        "//v1/libraries/theirs/books/one",
        "/v1/libraries/%74heirs/books/one",
    ] {
        let answer = with_key(&server, &ingest, "GET", path, &Value::Null);
        assert!(
            [403, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
    }
    assert_eq!(server.stop(), Some(0));
}

/// A key may do what each of its permissions allows, and nothing else.
#[test]
fn permissions_add_up() {
    let sets: [(&str, &[usize]); 4] = [
        (
            "--role ingest --permission check --trusted --library mine",
            &[1, 3],
        ),
        (
            "--permission check --permission review --permission read_texts --library mine",
            &[2],
        ),
        (
            "--permission ban --permission ingest --trusted --library mine",
            &[3],
        ),
        ("--permission administer", &[4]),
    ];
    for (permissions, columns) in sets {
        let folder = Folder::new();
        let secret = key(&folder.data(), &format!("{permissions} one"));
        let server = Server::start(&folder.data());
        // A source belongs to whoever defined it.
        let calls = each_call().into_iter();
        for (method, path, body, expected) in
            calls.filter(|call| !call.1.starts_with("/v1/sources/"))
        {
            let status = with_key(&server, &secret, method, path, &body).status;
            let is_forbidden = columns.iter().all(|&column| expected[column] == 403);
            assert_eq!(
                status == 403,
                is_forbidden,
                "{permissions}: {method} {path}: {status}"
            );
        }
    }
}

/// Such a key reads the books of its libraries and changes none. Texts and folds are not for it, unless it may read texts, and
/// gems of secret recipes are for nobody.
#[test]
fn a_key_that_follows_reads_books_and_writes_none() {
    const EXPORT: &str = "/v1/libraries/mine/exports/one";
    let folder = Folder::new();
    let data = folder.data();
    let follow = key(&data, "--permission follow --library mine partner");
    let texts = key(
        &data,
        "--permission follow --permission read_texts --library mine friend",
    );
    let admin = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let text = prose(1, 3000);
    let book = json!({ "rights": "protected", "title": "A", "text": text, "keep_text": true });
    for (path, book) in [(MINE, &book), (THEIRS, &book)] {
        assert_eq!(with_key(&server, &admin, "PUT", path, book).status, 201);
    }
    let read = |secret: &str, path: &str| with_key(&server, secret, "GET", path, &Value::Null);
    let exported = |secret: &str| {
        let answer = read(secret, EXPORT);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };

    let gems_only = exported(&follow);
    let with_text = exported(&texts);
    assert_eq!(gems_only["book"]["title"], "A");
    assert!(gems_only.get("text").is_none() && gems_only.get("folds").is_none());
    assert_eq!(with_text["text"], text.as_str());
    assert_eq!(with_text["gems"], gems_only["gems"]);
    let administrator = Client::new(&server, &admin);
    let (_, whole) = administrator.call("GET", "/v1/export", "application/json", String::new());
    let line = whole.lines().find(|line| line.contains("\"mine\""));
    let line: Value = serde_json::from_str(line.expect("its line")).expect("a book");
    let origin = with_text["book"]["identifiers"][0]
        .as_str()
        .expect("an identifier");
    assert!(
        origin.starts_with("lapidary:") && origin.ends_with("/mine/one"),
        "{origin}"
    );
    let mut with_text = with_text.clone();
    with_text["book"]
        .as_object_mut()
        .expect("a record")
        .remove("identifiers");
    assert_eq!(line, with_text, "as in the whole export");

    // Notes are for the library itself.
    let note = json!({ "note": "complaint 17" });
    let noted = with_key(&server, &admin, "PATCH", MINE, &note);
    assert_eq!(noted.status, 200, "{}", noted.body);
    for path in [MINE, "/v1/libraries/mine/books", EXPORT] {
        let answer = read(&follow, path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.to_string().contains("complaint"), "{path}");
    }
    let own = read(&admin, MINE).body.to_string();
    assert!(own.contains("complaint"), "{own}");
    for path in [
        THEIRS,
        "/v1/libraries/theirs/books",
        "/v1/libraries/theirs/exports/one",
    ] {
        assert_eq!(read(&follow, path).code(), "not_your_library", "{path}");
    }
    for (method, body) in [
        ("PUT", book),
        ("PATCH", json!({ "disabled": true })),
        ("DELETE", Value::Null),
    ] {
        let answer = with_key(&server, &follow, method, MINE, &body);
        assert_eq!(answer.code(), "not_allowed", "{method}");
    }
    assert_eq!(
        read(&follow, "/v1/libraries/mine/texts/one").code(),
        "not_allowed"
    );
    let missing = read(&follow, "/v1/libraries/mine/exports/none");
    assert_eq!(missing.code(), "no_such_book");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn wrong_keys_open_nothing() {
    let folder = Folder::new();
    let data = folder.data();
    let good = key(&data, "--role check shop");
    let void = key(&data, "--role admin --expires 2020-01-01 past");
    let server = Server::start(&data);
    let with = |headers: &str| send(&server, "GET", "/metrics", headers, "");
    for good in [
        format!("X-Api-Key: {good}"),
        format!("authorization: bearer {good}"),
        format!("Authorization: Bearer  {good} "),
    ] {
        assert_eq!(with(&format!("{good}\r\n")).status, 200, "{good}");
    }
    let flipped = format!(
        "{}{}",
        &good[..good.len() - 1],
        if good.ends_with('0') { '1' } else { '0' }
    );
    let wrong = [
        "x",
        "lap_",
        "lap_00000000_0",
        &good[..20],
        &flipped,
        &format!("{good}0"),
        &format!("{good},{good}"),
    ];
    for wrong in wrong {
        let answer = with(&format!("Authorization: Bearer {wrong}\r\n"));
        assert_eq!(
            (answer.status, answer.code()),
            (401, "bad_key"),
            "{wrong}: {}",
            answer.body
        );
        assert_eq!(
            with(&format!("X-Api-Key: {wrong}\r\n")).status,
            401,
            "{wrong}"
        );
    }
    assert_eq!(
        with(&format!("X-Api-Key: {void}\r\n")).code(),
        "key_expired"
    );
    assert_eq!(
        with(&format!("Authorization: Basic {good}\r\n")).code(),
        "no_key"
    );
    assert_eq!(with(&format!("Authorization: {good}\r\n")).code(), "no_key");
}

#[test]
fn keys_are_made_listed_rotated_and_revoked_while_it_serves() {
    let folder = Folder::new();
    let data = folder.data();
    let admin = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let keys = |line: &str, secret: &str| {
        let line = format!("keys {line}").replace("--", &format!("--server {} --", server.url));
        let line = if line.contains("--server") {
            line
        } else {
            format!("{line} --server {}", server.url)
        };
        let mut command = command(&line, &[] as &[&Path]);
        common::Run::from(
            command
                .env("LAPIDARY_KEY", secret)
                .output()
                .expect("the program runs"),
        )
    };
    let opens = |secret: &str| with_key(&server, secret, "GET", "/metrics", &Value::Null).status;
    let made = keys("add --role check shop", &admin).expect(0);
    let old = made.out.trim().to_owned();
    assert_eq!(opens(&old), 200);
    assert_eq!(keys("add --role check other", &old).expect(2).out, "");
    assert!(
        keys("add --role check shop", &admin)
            .expect(2)
            .err
            .contains("already")
    );
    let new = keys("rotate shop", &admin).expect(0).out.trim().to_owned();
    assert_eq!((opens(&old), opens(&new)), (200, 200));
    let newest = keys("rotate --overlap=0s shop", &admin)
        .expect(0)
        .out
        .trim()
        .to_owned();
    assert_eq!((opens(&old), opens(&new), opens(&newest)), (401, 401, 200));
    let listed = keys("list", &admin).expect(0).out;
    assert!(
        listed.contains("boss: admin") && listed.contains("shop: check"),
        "{listed}"
    );
    for secret in [&old, &new, &newest, &admin] {
        assert!(!listed.contains(secret.rsplit('_').next().expect("a part")));
    }
    keys("revoke shop", &admin).expect(0);
    assert_eq!(opens(&newest), 401);
    assert!(
        keys("revoke shop", &admin)
            .expect(2)
            .err
            .contains("no key named")
    );
    // After the last key is revoked nobody is an administrator, even after a restart, until one is created on the
    // command line.
    keys("revoke boss", &admin).expect(0);
    assert_eq!(opens(&admin), 401);
    let keyless = |server: &Server| send(server, "GET", "/v1/stats", "", "");
    assert_eq!(
        (keyless(&server).status, keyless(&server).code()),
        (401, "no_key")
    );
    assert!(
        keyless(&server).body["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("lapidary keys add"))
    );
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(&data);
    assert_eq!(keyless(&server).status, 401);
    assert_eq!(server.stop(), Some(0));
    let admin = key(&data, "--role admin boss");
    let server = Server::start(&data);
    assert_eq!(
        with_key(&server, &admin, "GET", "/v1/stats", &Value::Null).status,
        200
    );
}

/// A client that knows only its key learns what it may do with it.
#[test]
fn a_key_is_told_what_it_permits() {
    let folder = Folder::new();
    let data = folder.data();
    let me = |server: &Server, secret: &str| {
        let answer = with_key(server, secret, "GET", "/v1/me", &Value::Null);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    let server = Server::start(&data);
    let open = send(&server, "GET", "/v1/me", "", "").body;
    assert_eq!(
        (&open["role"], &open["name"]),
        (&json!("admin"), &Value::Null)
    );
    let all = [
        "check",
        "ingest",
        "read_texts",
        "follow",
        "review",
        "ban",
        "administer",
    ];
    assert_eq!(open["permissions"], json!(all));
    assert_eq!(open["recipes"][0]["default"], true);
    assert_eq!(open["features"], json!(["console"]));
    assert_eq!(server.stop(), Some(0));

    let check = key(
        &data,
        "--role check --rate 50/s --quota 9/day --expires 2999-01-01 shop",
    );
    let feed = key(
        &data,
        "--role ingest --permission check --trusted --library mine --must-gate protected feed",
    );
    let server = Server::start_with("--no-console --max-body=2MiB", &[], &data);
    let shop = me(&server, &check);
    assert_eq!(shop["name"], "shop");
    assert_eq!(shop["role"], "check");
    assert_eq!(shop["expires_at"], "2999-01-01T00:00:00Z");
    assert_eq!(
        shop["limits"],
        json!({ "rate": "50/s", "quota": "9/day", "max_body_bytes": 2 << 20, "max_gems": 100_000 })
    );
    assert_eq!(
        (&shop["features"], &shop["libraries"]),
        (&json!([]), &json!([]))
    );
    let feed = me(&server, &feed);
    assert_eq!(feed["libraries"], json!(["mine"]));
    assert_eq!(
        (&feed["role"], &feed["must_gate"]),
        (&json!("ingest"), &json!("protected"))
    );
    assert_eq!(feed["permissions"], json!(["check", "ingest"]));
    assert_eq!(feed["limits"].get("rate"), None);
}

#[test]
fn rates_and_quotas_hold_and_a_quota_outlives_the_server() {
    let folder = Folder::new();
    let data = folder.data();
    let quick = key(&data, "--role check --rate 3/h quick");
    let daily = key(&data, "--role check --quota 4/day daily");
    let free = key(&data, "--role check free");
    let server = Server::start(&data);
    let check = |server: &Server, secret: &str| {
        with_key(server, secret, "POST", CHECK, &json!({ "gems": [1] }))
    };
    for left in ["2", "1", "0"] {
        let answer = check(&server, &quick);
        assert_eq!(
            (answer.status, answer.header("ratelimit-remaining")),
            (200, Some(left))
        );
        assert_eq!(answer.header("ratelimit-limit"), Some("3"));
        assert_eq!(answer.header("ratelimit-policy"), Some("3;w=3600"));
    }
    let refused = check(&server, &quick);
    assert_eq!((refused.status, refused.code()), (429, "too_many_requests"));
    let wait: u64 = refused
        .header("retry-after")
        .and_then(|wait| wait.parse().ok())
        .expect("seconds");
    assert!((1..=1200).contains(&wait), "{wait}");
    let unlimited = send(
        &server,
        "GET",
        "/metrics",
        &format!("X-Api-Key: {free}\r\n"),
        "",
    );
    assert_eq!(
        (unlimited.status, unlimited.header("ratelimit-limit")),
        (200, None)
    );
    // Each key has its own quota.
    assert_eq!(
        check(&server, &daily).header("ratelimit-remaining"),
        Some("3")
    );
    assert_eq!(check(&server, &daily).status, 200);
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(&data);
    assert_eq!(
        check(&server, &daily).header("ratelimit-remaining"),
        Some("1")
    );
    assert_eq!(check(&server, &daily).status, 200);
    let refused = check(&server, &daily);
    assert_eq!(refused.status, 429);
    assert!(
        refused.body["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("quota") && detail.contains("4/day"))
    );
}

/// Quotas count checks and books exactly, and rotating a secret does not reset them.
#[test]
fn a_quota_is_exact_by_lines_and_shared_by_the_secrets_of_a_key() {
    let folder = Folder::new();
    let data = folder.data();
    let daily = key(&data, "--role check --quota 5/day daily");
    let admin = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let batch = |secret: &str, lines: usize| {
        let headers = format!("X-Api-Key: {secret}\r\nContent-Type: application/x-ndjson\r\n");
        let (status, text) = send_for_text(
            &server,
            "/v1/checks:batch",
            &headers,
            &"{\"gems\":[1]}\n".repeat(lines),
        );
        (
            status,
            text.matches("\"report\"").count(),
            text.matches("too_many_requests").count(),
        )
    };
    assert_eq!(batch(&daily, 2), (200, 2, 0));
    let rotated = with_key(
        &server,
        &admin,
        "POST",
        "/v1/keys/daily/rotate",
        &json!({ "overlap_seconds": 3600 }),
    );
    let new = rotated.body["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert_eq!(batch(&new, 64), (200, 3, 61));
    for secret in [&daily, &new] {
        assert_eq!(
            with_key(&server, secret, "POST", CHECK, &json!({ "gems": [1] })).status,
            429
        );
    }
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(&data);
    assert_eq!(
        with_key(&server, &new, "POST", CHECK, &json!({ "gems": [1] })).status,
        429
    );
    // A new key with the same name starts with a full quota.
    assert_eq!(
        with_key(&server, &admin, "DELETE", "/v1/keys/daily", &Value::Null).status,
        204
    );
    let again = json!({ "name": "daily", "role": "check", "quota": "5/day" });
    let made = with_key(&server, &admin, "POST", "/v1/keys", &again);
    let again = made.body["secret"].as_str().expect("a secret").to_owned();
    let allowed = with_key(&server, &again, "POST", CHECK, &json!({ "gems": [1] }));
    assert_eq!(
        (allowed.status, allowed.header("ratelimit-remaining")),
        (200, Some("4"))
    );
}

/// Posts a body and returns the status and the text of the response.
fn send_for_text(server: &Server, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    (status, text)
}

/// Rejects DNS rebinding and cross-site requests when the server has no keys.
#[test]
fn without_keys_pages_of_the_web_are_refused() {
    let folder = Folder::new();
    let server = Server::start_with(
        "--allowed-hosts books.example,b.example",
        &[],
        &folder.data(),
    );
    let get = |headers: &str| {
        let request = format!("GET /v1/stats HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
        raw(&server, request.as_bytes())
    };
    for good in [
        "localhost",
        "127.0.0.1:80",
        "[::1]",
        "books.example:8093",
        "B.example",
    ] {
        assert_eq!(get(&format!("Host: {good}\r\n")).status, 200, "{good}");
    }
    for bad in ["evil.example", "books.example.evil.example", "10.0.0.1", ""] {
        let refused = get(&format!("Host: {bad}\r\n"));
        assert_eq!(
            (refused.status, refused.code()),
            (421, "unknown_host"),
            "{bad}"
        );
        assert!(
            refused.body["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("--allowed-hosts"))
        );
    }
    let refused = get("Host: localhost\r\nOrigin: https://evil.example\r\n");
    assert_eq!((refused.status, refused.code()), (403, "cross_site"));
    assert_eq!(
        get("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n").code(),
        "cross_site"
    );
    // Health checks accept any host name.
    let ready = raw(
        &server,
        b"GET /readyz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(ready.status, 200);
    drop(server);
    // When keys exist, a valid key is enough and the host name is not checked.
    let admin = key(&folder.data(), "--role admin boss");
    let server = Server::start(&folder.data());
    let head = format!(
        "GET /v1/stats HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nX-Api-Key: {admin}\r\n\r\n"
    );
    assert_eq!(raw(&server, head.as_bytes()).status, 200);
}

/// Browsers expect HEAD wherever GET works; service managers expect SIGHUP not to stop the server.
#[test]
fn a_head_is_answered_where_a_page_is_and_a_hangup_is_no_end() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    for path in [
        "/docs/",
        "/docs/index.html",
        "/docs/api/",
        "/docs/api/swagger-ui.css",
        "/openapi.json",
        "/healthz",
        "/v1/stats",
    ] {
        let [get, head] = ["GET", "HEAD"].map(|method| send(&server, method, path, "", ""));
        assert_eq!((get.status, head.status), (200, 200), "{path}");
        assert!(head.body.is_null(), "{path}");
        assert_eq!(
            head.header("content-type"),
            get.header("content-type"),
            "{path}"
        );
    }
    assert_eq!(send(&server, "HEAD", "/nothing", "", "").status, 404);
    for _ in 0..3 {
        let told = std::process::Command::new("kill")
            .args(["-HUP", &server.pid().to_string()])
            .status();
        assert!(told.expect("kill runs").success());
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(send(&server, "GET", "/healthz", "", "").status, 200);
    }
    assert_eq!(server.stop(), Some(0));
}

/// The headers that the published Perl client sends: a form and no key.
const PERL: &str = "TE: deflate,gzip;q=0.3\r\nUser-Agent: libwww-perl/6.67\r\nContent-Type: application/x-www-form-urlencoded\r\n";

#[test]
fn the_published_client_needs_no_key_where_it_is_let() {
    let folder = Folder::new();
    let data = folder.data();
    let check = key(&data, "--role check shop");
    let form = |server: &Server, headers: &str| {
        send(
            server,
            "POST",
            "/copyright_check_by_gems/",
            &format!("{PERL}{headers}"),
            "gems=1%2C2%2C3",
        )
    };
    let closed = Server::start(&data);
    assert_eq!(form(&closed, "").code(), "no_key");
    assert_eq!(
        form(&closed, &format!("X-Api-Key: {check}\r\n")).body["verdict"],
        "unknown"
    );
    drop(closed);
    let open = Server::start_with("--keyless-rate 2/h", &[], &data);
    assert_eq!(form(&open, "").body["verdict"], "unknown");
    assert_eq!(form(&open, "").status, 200);
    let refused = form(&open, "");
    assert_eq!((refused.status, refused.code()), (429, "too_many_requests"));
    assert!(refused.header("retry-after").is_some());
    // Other calls still need a key, and requests with a key have that key's limits.
    assert_eq!(
        send(
            &open,
            "POST",
            CHECK,
            "Content-Type: application/json\r\n",
            "{}"
        )
        .code(),
        "no_key"
    );
    assert_eq!(form(&open, &format!("X-Api-Key: {check}\r\n")).status, 200);
}

/// A proxy that the settings name says who asks. Nobody else is believed.
#[test]
fn behind_a_trusted_proxy_each_client_is_counted() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role check shop");
    let statuses = |options: &str, headers: &[&str]| -> Vec<u16> {
        let server = Server::start_with(&format!("--keyless-rate 1/h {options}"), &[], &data);
        let form = |headers: &&str| {
            let headers = format!("{PERL}{headers}");
            send(
                &server,
                "POST",
                "/copyright_check_by_gems/",
                &headers,
                "gems=1%2C2%2C3",
            )
            .status
        };
        headers.iter().map(form).collect()
    };
    let clients = [
        "X-Forwarded-For: 192.0.2.1\r\n",
        "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n",
        "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 192.0.2.1, 10.0.0.7\r\n",
        "Forwarded: for=\"192.0.2.1:4711\";proto=https\r\n",
        "Forwarded: for=\"[::ffff:192.0.2.1]\"\r\n",
        "X-Forwarded-For: 192.0.2.2\r\n",
        "Forwarded: for=\"[2001:db8::1]:_port\"\r\n",
        // The same network.
        "X-Forwarded-For: 2001:db8::2\r\n",
        // Nobody in particular.
        "Forwarded: for=_hidden\r\n",
        "X-Forwarded-For: unix:\r\n",
        "",
    ];
    let counted = statuses("--trusted-proxies 127.0.0.0/8,10.0.0.7", &clients);
    assert_eq!(
        counted,
        [200, 429, 429, 429, 429, 200, 200, 429, 200, 429, 200]
    );
    for options in ["", "--trusted-proxies 192.168.0.0/16,::1"] {
        let counted = statuses(options, &clients[..6]);
        assert_eq!(counted, [200, 429, 429, 429, 429, 429], "{options}");
    }
    let wrong = run("serve --data {} --trusted-proxies 10.0.0.0/40", &[&data]).expect(2);
    assert!(
        wrong.err.contains("neither an address nor a network"),
        "{}",
        wrong.err
    );
}

/// A proxy that passes on connections says at their beginning whose they are.
#[test]
fn connections_of_a_trusted_proxy_say_whose_they_are() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role check shop");
    let options = "--keyless-rate 1/h --trusted-proxies 127.0.0.1,10.0.0.0/8 --proxy-protocol";
    let server = Server::start_with(options, &[], &data);
    let status = |header: &[u8], headers: &str| {
        let request = format!(
            "POST /copyright_check_by_gems/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{PERL}{headers}Content-Length: \
             14\r\n\r\ngems=1%2C2%2C3"
        );
        raw(&server, &[header, request.as_bytes()].concat()).status
    };
    let first = |client: &str| format!("PROXY TCP4 {client} 10.0.0.1 4660 80\r\n");
    let second = |client: [u8; 4]| {
        let addresses = [&client[..], &[10, 0, 0, 1, 0x12, 0x34, 0, 80]].concat();
        [b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", &addresses[..]].concat()
    };
    let table: [(Vec<u8>, &str, u16); 8] = [
        (first("192.0.2.1").into(), "", 200),
        (first("192.0.2.1").into(), "", 429),
        (second([192, 0, 2, 1]), "", 429),
        (second([192, 0, 2, 2]), "", 200),
        // Not a trusted proxy, whatever it says.
        (
            first("192.0.2.1").into(),
            "X-Forwarded-For: 192.0.2.3\r\n",
            429,
        ),
        // A chain of trusted ones.
        (
            first("10.0.0.9").into(),
            "X-Forwarded-For: 192.0.2.3\r\n",
            200,
        ),
        (
            first("10.0.0.9").into(),
            "X-Forwarded-For: 192.0.2.1\r\n",
            429,
        ),
        // Without a header it is no proxy.
        (Vec::new(), "", 0),
    ];
    for (header, headers, expected) in table {
        assert_eq!(
            status(&header, headers),
            expected,
            "{:?} {headers}",
            String::from_utf8_lossy(&header)
        );
    }
    drop(server);
    // Nobody else says anything by it.
    let server = Server::start_with(
        "--keyless-rate 1/h --trusted-proxies 10.0.0.1 --proxy-protocol",
        &[],
        &data,
    );
    let header = first("192.0.2.1");
    assert_eq!(
        raw(
            &server,
            format!("{header}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()
        )
        .status,
        400
    );
    assert_eq!(send(&server, "GET", "/healthz", "", "").status, 200);
    run("serve --data {} --proxy-protocol", &[&data]).expect(2);
}

/// Without keys a server is for its own machine, and a proxy does not make it anybody else's.
#[test]
fn without_keys_a_proxy_lets_in_nobody_from_elsewhere() {
    let folder = Folder::new();
    let server = Server::start_with("--trusted-proxies 127.0.0.1", &[], &folder.data());
    for (headers, status) in [
        ("", 200),
        ("X-Forwarded-For: 127.0.0.1\r\n", 200),
        ("X-Forwarded-For: 192.0.2.1\r\n", 401),
        ("X-Forwarded-For: 127.0.0.1, 192.0.2.1\r\n", 401),
        ("Forwarded: for=unknown\r\n", 401),
        (
            "X-Forwarded-For: 127.0.0.1\r\nForwarded: for=192.0.2.1\r\n",
            401,
        ),
    ] {
        let answer = send(&server, "GET", "/v1/stats", headers, "");
        assert_eq!(answer.status, status, "{headers}");
    }
}

/// Rates count checks and books, so batching them in one request does not make them faster.
#[test]
fn a_rate_slows_the_lines_of_a_stream() {
    let folder = Folder::new();
    let data = folder.data();
    let check = key(&data, "--role check --rate 10/s shop");
    let server = Server::start(&data);
    let headers = format!("X-Api-Key: {check}\r\nContent-Type: application/x-ndjson\r\n");
    let begun = Instant::now();
    let answer = send(
        &server,
        "POST",
        "/v1/checks:batch",
        &headers,
        &"{\"gems\":[1]}\n".repeat(39),
    );
    // A burst of ten is let through at once; the rest follow at ten per second.
    assert!(
        answer.status == 200 && begun.elapsed() >= Duration::from_millis(2_900),
        "{:?}",
        begun.elapsed()
    );
}

/// A feed that exceeds its key's rate is slowed down, not refused.
#[test]
fn an_ingest_heeds_its_rate() {
    let folder = Folder::new();
    let data = folder.data();
    let feed = key(
        &data,
        "--role ingest --trusted --library mine --rate 20/s feed",
    );
    for book in 0..60 {
        folder.file(&format!("books/{book}.txt"), prose(book, 500));
    }
    let server = Server::start(&data);
    let line = format!(
        "ingest --server {} --library mine --rights free {{}}",
        server.url
    );
    let ingest = command(&line, &[folder.path("books")])
        .env("LAPIDARY_KEY", feed)
        .output()
        .expect("the program runs");
    let ingest = common::Run::from(ingest).expect(0);
    assert!(
        ingest
            .out
            .contains("60 added, 0 replaced, 0 unchanged, 0 refused"),
        "{}",
        ingest.out
    );
}

#[test]
fn without_keys_it_serves_this_machine_only() {
    let folder = Folder::new();
    let data = folder.data();
    let refused = run("serve --listen 0.0.0.0:0 --data {}", &[&data]).expect(2);
    assert!(
        refused.err.contains("lapidary keys add") && refused.err.contains("127.0.0.1"),
        "{}",
        refused.err
    );
}

#[test]
fn settings_come_from_a_file_the_environment_and_flags() {
    let folder = Folder::new();
    let file = folder.file(
        "l.toml",
        "data = \"/nowhere\"\nmax-body = 1000\nqueue = 7\n[rule]\nmin-common = 5\n",
    );
    let shown = |line: &str| {
        let mut command = command(
            &format!("serve --check-config --config {{}} {line}"),
            &[&file],
        );
        command
            .env("LAPIDARY_MAX_BODY", "2000")
            .env("LAPIDARY_QUEUE", "8");
        common::Run::from(command.output().expect("the program runs"))
            .expect(0)
            .out
    };
    let out = shown("--max-body 3000 --common-cap 9");
    for line in [
        "data = \"/nowhere\"",
        "max-body = 3000",
        "queue = 8",
        "min-common = 5",
        "common-cap = 9",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line} in {out}");
    }
    let wrong = [
        ("data = \"x\"\nmax-bodi = 1\n", "max-bodi"),
        ("data = \"x\"\nmax-body = \"big\"\n", "max-body"),
        ("data = \"x\"\nlisten = \"here\"\n", "listen"),
        ("data = \"x\"\nkeyless-rate = \"5/week\"\n", "5/week"),
        ("data = \"x\"\nbody-memory = 5\n", "body-memory"),
        ("data = \"x\"\n[rule]\nmin-share = 2.0\n", "min-share"),
        ("listen = \"127.0.0.1:0\"\n", "--data"),
        ("data = \n", "l.toml"),
    ];
    for (content, says) in wrong {
        let file = folder.file("l.toml", content);
        let refused = run("serve --check-config --config {}", &[&file]).expect(2);
        assert!(refused.err.contains(says), "{content}: {}", refused.err);
    }
    assert!(!folder.path("x").exists());
}

#[test]
fn a_command_without_the_key_is_told_of_the_variable() {
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role admin boss");
    let server = Server::start(&data);
    let line = format!("stats --server {}", server.url);
    let none: &[&Path] = &[];
    let mut without = command(&line, none);
    let mut wrong = command(&line, none);
    for (command, says) in [
        (without.env_remove("LAPIDARY_KEY"), "none is set"),
        (wrong.env("LAPIDARY_KEY", "lap_x"), "does not know"),
    ] {
        let refused = common::Run::from(command.output().expect("the program runs")).expect(2);
        assert!(
            refused.err.contains(says) && refused.err.contains("LAPIDARY_KEY"),
            "{}",
            refused.err
        );
        assert!(!refused.err.contains("Authorization"), "{}", refused.err);
    }
}

/// Sends requests concurrently and returns their responses.
fn at_once(server: &Server, secret: &str, requests: &[(&str, &str, Value)]) -> Vec<Answer> {
    let begin = std::sync::Barrier::new(requests.len());
    std::thread::scope(|scope| {
        let sent: Vec<_> = requests
            .iter()
            .map(|(method, path, body)| {
                scope.spawn(|| {
                    begin.wait();
                    with_key(server, secret, method, path, body)
                })
            })
            .collect();
        sent.into_iter()
            .map(|answer| answer.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn a_key_made_changed_and_revoked_at_once_is_in_one_state() {
    let folder = Folder::new();
    let data = folder.data();
    let boss = key(&data, "--role admin boss");
    let server = Server::start(&data);
    for round in 0..20 {
        let name = format!("shop{round}");
        let new = ("POST", "/v1/keys", json!({ "name": name, "role": "check" }));
        let made = at_once(
            &server,
            &boss,
            &[new.clone(), new.clone(), new.clone(), new],
        );
        let mut statuses: Vec<u16> = made.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409], "round {round}");
        let first = made
            .iter()
            .find_map(|answer| answer.body["secret"].as_str())
            .expect("a secret")
            .to_owned();
        let works =
            |secret: &str| with_key(&server, secret, "POST", CHECK, &json!({ "gems": [1] })).status;
        assert_eq!(works(&first), 200);

        let (rotate, revoke) = (
            format!("/v1/keys/{name}/rotate"),
            format!("/v1/keys/{name}"),
        );
        let changes = [
            ("POST", rotate.as_str(), json!({ "overlap_seconds": 3600 })),
            ("DELETE", revoke.as_str(), Value::Null),
        ];
        let answers = at_once(&server, &boss, &changes);
        assert_eq!(answers[1].status, 204, "round {round}: {}", answers[1].body);
        // Whichever request was handled first, no secret of the key is valid afterwards.
        assert!(
            [200, 201, 404].contains(&answers[0].status),
            "round {round}: {}",
            answers[0].body
        );
        let second = answers[0].body["secret"].as_str().unwrap_or(&first);
        assert_eq!((works(&first), works(second)), (401, 401), "round {round}");
    }
    drop(server);
    let entries = run("audit --json --data {}", &[&data]).expect(0).json();
    let made = entries
        .iter()
        .filter(|entry| entry["action"] == "key_made")
        .count();
    let revoked = entries
        .iter()
        .filter(|entry| entry["action"] == "key_revoked")
        .count();
    assert!(
        (21..=41).contains(&made) && revoked == 20,
        "{made} {revoked}"
    );
}

/// The systemd unit starts the program with the sample settings, which name nothing that the unit does not let it write.
#[test]
fn the_unit_starts_the_program_with_the_sample_settings() {
    let unit = include_str!("../deploy/systemd/lapidary.service");
    let of = |name: &str| {
        unit.lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .collect::<Vec<_>>()
    };
    let [start] = of("ExecStart")[..] else {
        panic!("one ExecStart")
    };
    let arguments: Vec<&str> = start.split(' ').collect();
    assert_eq!(arguments[..2], ["lapidary", "serve"]);
    let root = Folder::new();
    let settings = include_str!("../deploy/lapidary.toml").replace("#: backups", "backups");
    let state: Vec<String> = of("StateDirectory")
        .join(" ")
        .split(' ')
        .map(|name| format!("/var/lib/{name}"))
        .collect();
    let table: toml::Table = settings.parse().expect("settings");
    assert_eq!(
        table["log-format"].as_str(),
        Some("json"),
        "what collects logs reads JSON"
    );
    for name in ["data", "backups"] {
        let path = table[name].as_str().expect("a path");
        let writable = state
            .iter()
            .any(|folder| Path::new(path).starts_with(folder));
        assert!(
            writable,
            "{name}: the unit lets it write only below {state:?}"
        );
    }

    // A made-up root: every path of the machine is one below it.
    let below = |path: &str| {
        root.path(path.trim_start_matches('/'))
            .display()
            .to_string()
    };
    for folder in &state {
        std::fs::create_dir_all(below(folder)).expect("a folder");
    }
    let config = arguments[2..]
        .iter()
        .find(|argument| argument.starts_with("/etc/"))
        .expect("the settings");
    let folders: Vec<String> = of("ConfigurationDirectory")
        .iter()
        .map(|name| format!("/etc/{name}"))
        .collect();
    assert!(
        folders
            .iter()
            .any(|folder| Path::new(config).starts_with(folder)),
        "{config}"
    );
    root.file(
        config.trim_start_matches('/'),
        settings.replace("\"/var/", &format!("\"{}", below("/var/") + "/")),
    );
    let arguments: Vec<String> = arguments[2..]
        .iter()
        .map(|one| {
            if one.starts_with('/') {
                below(one)
            } else {
                (*one).to_owned()
            }
        })
        .collect();
    let mut serve = command("serve", &[] as &[&Path]);
    // Its address is read from the log.
    serve
        .args(arguments)
        .env("LAPIDARY_LISTEN", "127.0.0.1:0")
        .env("LAPIDARY_LOG_FORMAT", "text");
    let server = Server::of(serve);
    run(&format!("backup --server {}", server.url), &[] as &[&Path]).expect(0);
    assert_eq!(server.stop(), Some(0));
    assert!(
        root.path("var/lib/lapidary/backups/catalogue").is_dir()
            && root.path("var/lib/lapidary/catalogue").is_dir()
    );
}

#[test]
fn systemd_understands_the_unit() {
    let folder = Folder::new();
    let unit = include_str!("../deploy/systemd/lapidary.service").replace(
        "ExecStart=lapidary",
        &format!("ExecStart={}", common::LAPIDARY),
    );
    let file = folder.file("lapidary.service", unit);
    let Ok(verified) = Process::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(file)
        .output()
    else {
        assert!(
            std::env::var_os("LAPIDARY_REQUIRE").is_none(),
            "no systemd-analyze: install systemd"
        );
        println!("no systemd-analyze (of the package systemd) here: skipped");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(
        verified.status.success() && !said.contains("lapidary.service"),
        "{said}"
    );
}

/// In the cluster of the samples, clients come through a TLS proxy on the host and the balancer: both are believed, and nobody else.
#[test]
fn the_balancer_of_the_cluster_says_who_asks() {
    let compose = include_str!("../deploy/compose.cluster.yml");
    let balancer = include_str!("../deploy/cluster/haproxy.cfg");
    let after = |text: &'static str, name: &str| {
        let value = text
            .lines()
            .find_map(|line| Some(line.trim().split_once(name)?.1));
        let end = |value: &'static str| value.split([' ', ',', '}']).next().expect("a word");
        end(value.unwrap_or_else(|| panic!("{name} is not set")))
    };
    let host = after(balancer, "acl host_proxy src ");
    assert_eq!(host, after(compose, "subnet: 172.30.94.0/24, gateway: "));
    let own = after(compose, "networks: {front: {ipv4_address: ");
    assert!(compose.contains(&format!("LAPIDARY_TRUSTED_PROXIES: {own},{host}\n")));
    // Nobody but the host reaches the balancer from outside.
    assert!(compose.contains("ports: [\"127.0.0.1:8093:8093\"]"));
    let rules: Vec<&str> = balancer
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("Forwarded"))
        .collect();
    let rules: Vec<&str> = rules
        .into_iter()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(
        rules,
        [
            "http-request del-header X-Forwarded-For unless host_proxy",
            "http-request del-header Forwarded"
        ]
    );
    assert!(
        balancer
            .lines()
            .any(|line| line.trim() == "option forwardfor")
    );
}

/// The sample settings of nginx pass on who asks, and nothing that clients make up.
#[test]
fn nginx_says_who_asks() {
    let nginx = ["nginx", "/usr/sbin/nginx"]
        .into_iter()
        .find(|nginx| Process::new(nginx).arg("-v").output().is_ok());
    let Some(nginx) = nginx else {
        assert!(std::env::var_os("LAPIDARY_REQUIRE").is_none(), "no nginx");
        println!("no nginx here: skipped");
        return;
    };
    let folder = Folder::new();
    let data = folder.data();
    key(&data, "--role check shop");
    let server = Server::start_with("--keyless-rate 1/h --trusted-proxies 127.0.0.1", &[], &data);
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a port")
        .port();
    let sample = include_str!("../deploy/nginx/lapidary.conf");
    let sample = sample
        .lines()
        .filter(|line| !line.trim_start().starts_with("ssl_"))
        .collect::<Vec<_>>()
        .join("\n");
    let sample = sample
        .replace("443 ssl", &format!("127.0.0.1:{port}"))
        .replace("http://127.0.0.1:8093", &server.url);
    let own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {kind};"))
        .concat();
    let settings = format!(
        "daemon off; master_process off; pid pid; error_log errors; events {{ worker_connections 64; }}
         http {{ access_log off; {own} {sample} }}"
    );
    let settings = folder.file("nginx/nginx.conf", settings);
    let mut program = Process::new(nginx);
    program
        .arg("-p")
        .arg(folder.path("nginx"))
        .arg("-c")
        .arg(settings)
        .stderr(Stdio::null());
    let mut program = program.spawn().expect("it runs");
    let ask = |from: [u8; 4], headers: &str| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket
            .bind(&SocketAddr::from((from, 0)).into())
            .expect("an address of this machine");
        let at = SocketAddr::from(([127, 0, 0, 1], port)).into();
        while socket.connect(&at).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut stream = TcpStream::from(socket);
        let form = "gems=1%2C2%2C3";
        let request = format!(
            "POST /copyright_check_by_gems/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{PERL}{headers}Content-Length: \
             {}\r\n\r\n{form}",
            form.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer[9..12].to_owned()
    };
    let statuses = [
        ask([127, 0, 0, 2], ""),
        ask([127, 0, 0, 2], "X-Forwarded-For: 6.6.6.6\r\n"),
        ask([127, 0, 0, 2], "Forwarded: for=6.6.6.6\r\n"),
        ask([127, 0, 0, 3], "X-Forwarded-For: 127.0.0.2\r\n"),
    ];
    let _ = program.kill();
    let _ = program.wait();
    assert_eq!(statuses, ["200", "429", "429", "200"]);
}
