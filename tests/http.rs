//! The server from outside: what it answers to what is right, what is wrong, and what is meant to break it.

mod common;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lapidary::catalogue::Catalogue;
use lapidary::index::{
    Action, Backup, BookKey, DiskUse, LateGems, NewBook, Record, RocksStore, Small, Snapshot, Store, StoreError,
    Vitals, Watch,
};
use lapidary::server::{Server, ServerError, Settings};
use lapidary_gems::{Recipe, RecipeName, WrittenGem};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tempfile::TempDir;

use common::prose;

/// Small, so that going beyond it is cheap.
const MAX_BODY: usize = 4 << 20;
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const NDJSON: &str = "application/x-ndjson";
const BYTES: &str = "application/octet-stream";

/// A server in this process, with a catalogue of its own.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
    _folder: TempDir,
}

impl Running {
    fn start() -> Self {
        Self::with(|store| Box::new(store))
    }

    /// With a new catalogue of another recipe than `documented`.
    fn of_recipe(recipe: &Recipe) -> Self {
        Self::with(|store| {
            store.add_recipe(recipe).unwrap();
            Box::new(store)
        })
    }

    fn with(store: impl FnOnce(RocksStore) -> Box<dyn Store>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = store(RocksStore::open_or_create(folder.path()).unwrap());
        let settings =
            Settings { listen: vec!["127.0.0.1:0".parse().unwrap()], max_body: MAX_BODY, ..Settings::default() };
        let server = Server::bind(Arc::new(Catalogue::with_store(store)), settings).unwrap();
        let address = server.addresses()[0];
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let stopped = async move {
            while !told.load(Ordering::Relaxed) {
                actix_web::rt::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let thread = Some(thread::spawn(move || server.run_until(stopped)));
        Self { address, stop, thread, _folder: folder }
    }

    fn stop(&mut self) -> Result<(), ServerError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes as they are, and reads all that is answered.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that refuses early may close before all is sent; what it said is there nonetheless.
        let _ = stream.write_all(request);
        Answer::read(stream)
    }

    fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        self.raw(&[head.as_bytes(), body].concat())
    }

    fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[], b"")
    }

    fn post(&self, target: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", target, &[("Content-Type", kind)], body.as_ref())
    }

    fn put(&self, target: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
        self.send("PUT", target, &[("Content-Type", kind)], body.as_ref())
    }

    fn put_text(&self, target: &str, rights: &str, text: &str) -> Answer {
        self.put(target, JSON, json!({ "rights": rights, "text": text }).to_string())
    }

    fn check_text(&self, text: &str) -> Value {
        self.post("/v1/checks", TEXT, text).expect(200)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    /// Reads an answer to its end, or to the end of the connection. A reset behind a whole answer is not its fault.
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut some = [0; 1 << 13];
        loop {
            let read = stream.read(&mut some).unwrap_or_default();
            bytes.extend_from_slice(&some[..read]);
            match Self::parse(&bytes) {
                Some(answer) if read == 0 || answer.is_whole() => return answer,
                None if read == 0 => panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)),
                _ => {}
            }
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, body) = (String::from_utf8(bytes[..end].to_vec()).unwrap(), &bytes[end + 4..]);
        if head.starts_with("HTTP/1.1 100") {
            return Self::parse(body);
        }
        let status = head[9..12].parse().unwrap();
        Some(Self { status, head: head.to_lowercase(), body: body.to_vec() })
    }

    fn is_whole(&self) -> bool {
        let length = self.head.lines().find_map(|line| line.strip_prefix("content-length: "));
        length.is_some_and(|length| length == self.body.len().to_string())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The lines of an answer, which came in chunks.
    #[track_caller]
    fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let (mut rest, mut body) = (self.body.as_slice(), Vec::new());
        while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
            let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
            body.extend_from_slice(&rest[end + 2..end + 2 + length]);
            rest = &rest[end + 4 + length..];
        }
        body.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[track_caller]
    fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// A problem as all are: of the right type, with a sentence that is not too long.
    #[track_caller]
    fn problem(&self, status: u16, code: &str, what: &str) -> String {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{what}: {body}");
        assert!(self.head.contains("content-type: application/problem+json"), "{what}: {}", self.head);
        let problem = self.json();
        assert_eq!((&problem["code"], &problem["status"]), (&json!(code), &json!(status)), "{what}: {body}");
        assert!(problem["type"].is_string() && problem["title"].is_string(), "{what}: {body}");
        let detail = problem["detail"].as_str().unwrap();
        assert!((10..700).contains(&detail.chars().count()), "{what}: {body}");
        detail.to_owned()
    }
}

fn encoded(id: &str) -> String {
    utf8_percent_encode(id, NON_ALPHANUMERIC).to_string()
}

/// Asserts that an answer has these fields, whatever else it has.
#[track_caller]
fn assert_has(answer: &Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("not an object: {fields}") };
    for (name, value) in fields {
        assert_eq!(answer[&name], value, "{name} of {answer}");
    }
}

fn gems(recipe: &Recipe, text: &str) -> Vec<WrittenGem> {
    recipe.gems(text).iter().map(|placed| recipe.write(placed.gem)).collect()
}

#[test]
fn a_book_comes_changes_and_goes() {
    let server = Running::start();
    let (text, other) = (prose(1, 22_000), prose(2, 22_000));
    let book = "/v1/libraries/house/books/1";
    let added = server.put_text(book, "protected", &text).expect(201);
    assert_eq!(added["outcome"], "added");
    assert!(added["book"]["gems"]["documented"].as_u64() > Some(100), "{added}");
    assert_eq!(server.get(book).expect(200), added["book"]);

    let unchanged = json!({ "outcome": "unchanged", "book": added["book"] });
    assert_eq!(server.put_text(book, "protected", &text).expect(200), unchanged);
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let file = server.put(&format!("{book}?rights=protected"), "text/plain; charset=utf-16le", utf_16);
    assert_eq!(file.expect(200), unchanged, "the same text from a file in another encoding");

    let replaced = server.put_text(book, "free", &other).expect(200);
    assert_eq!(replaced["outcome"], "replaced");
    assert_has(&server.check_text(&text), json!({ "verdict": "unknown", "total": 0 }));
    assert_has(&server.check_text(&other), json!({ "verdict": "free", "total": 1 }));

    let delete = || server.send("DELETE", book, &[], b"");
    assert_eq!(delete().expect(204), Value::Null);
    delete().problem(404, "no_such_book", "deleted twice");
    server.get(book).problem(404, "no_such_book", "deleted");
    assert_has(&server.check_text(&other), json!({ "verdict": "unknown", "total": 0 }));
}

#[test]
fn a_text_is_read_as_it_is_asked_for() {
    let server = Running::start();
    let text = prose(1, 6_000);
    // Every ninth word is broken at the end of its line.
    let broken: String = text
        .split_whitespace()
        .enumerate()
        .map(|(i, word)| match word.split_at(word.len() / 2) {
            (start, end) if i % 9 == 8 => format!("{start}-\n{end} "),
            _ => format!("{word} "),
        })
        .collect();
    server.put_text("/v1/libraries/house/books/plain", "free", &text).expect(201);
    let raw = |query: &str| server.put(&format!("/v1/libraries/house/books/b?rights=free{query}"), TEXT, &broken);
    let as_it_stands = raw("&identifier=isbn:9785000000014&identifier=ark:/1/2").expect(201)["book"].clone();
    assert_has(&as_it_stands, json!({ "identifiers": ["isbn:9785000000014", "ark:/1/2"], "clean": null }));
    let clean = raw("&clean=true").expect(200);
    assert_has(&clean, json!({ "outcome": "replaced" }));
    assert_has(&clean["book"], json!({ "clean": true, "digest": as_it_stands["digest"] }));
    assert_ne!(clean["book"]["gems"], as_it_stands["gems"]);
    let written = json!({ "rights": "free", "text": broken, "clean": true });
    let again = server.put("/v1/libraries/house/books/b", JSON, written.to_string());
    assert_has(&again.expect(200), json!({ "outcome": "unchanged" }));

    let share = |report: Value| report["matches"][0]["share_of_query"].as_f64().unwrap_or_default();
    let check = |clean: Option<bool>| {
        let asked = json!({ "text": broken, "clean": clean, "library": "house" });
        share(server.post("/v1/checks", JSON, asked.to_string()).expect(200))
    };
    assert!(check(Some(true)) > 0.99);
    server.send("DELETE", "/v1/libraries/house/books/b", &[], b"").expect(204);
    assert!(check(Some(true)) > 0.99 && check(None) < 0.9 && check(Some(false)) < 0.9);
    assert!(share(server.post("/v1/checks?clean=true", TEXT, &broken).expect(200)) > 0.99);
    for (path, method, body) in [
        ("/v1/checks", "POST", json!({ "gems": [1], "clean": true })),
        ("/v1/libraries/house/books/c", "PUT", json!({ "rights": "free", "gems": [1], "clean": false })),
        ("/v1/allow/list", "PUT", json!({ "gems": [1], "clean": true })),
    ] {
        server
            .send(method, path, &[("Content-Type", JSON)], body.to_string().as_bytes())
            .problem(400, "bad_json", path);
    }
}

#[test]
fn a_disabled_book_is_kept_and_not_counted() {
    let server = Running::start();
    let text = prose(1, 10_000);
    let book = "/v1/libraries/house/books/1";
    server.put_text(book, "protected", &text).expect(201);
    let patch = |change: Value| server.send("PATCH", book, &[("Content-Type", JSON)], change.to_string().as_bytes());

    let disabled = patch(json!({ "disabled": true, "note": "complaint 17" })).expect(200);
    assert!(disabled["standing"]["disabled_since"].is_string(), "{disabled}");
    assert_eq!(disabled["standing"]["note"]["text"], "complaint 17");
    assert_has(&server.check_text(&text), json!({ "verdict": "unknown", "total": 0, "disabled": 1, "matches": [] }));
    let stats = server.get("/v1/stats").expect(200);
    assert_eq!((&stats["disabled"], &stats["libraries"][0]["disabled"]), (&json!(1), &json!(1)));

    assert_eq!(server.put_text(book, "protected", &text).expect(200)["outcome"], "unchanged", "a feed sent again");
    let replaced = server.put_text(book, "free", &prose(2, 10_000)).expect(200);
    assert_eq!(replaced["outcome"], "replaced");
    assert_eq!(replaced["book"]["standing"], disabled["standing"], "a new text does not enable it");
    assert_eq!(server.get(book).expect(200), replaced["book"]);

    let enabled = patch(json!({ "disabled": false, "note": "" })).expect(200);
    let standing = &enabled["standing"];
    assert_eq!((&standing["disabled_since"], &standing["note"]), (&Value::Null, &Value::Null));
    assert!(standing["amended"].is_string(), "{enabled}");
    assert_has(&server.check_text(&prose(2, 10_000)), json!({ "verdict": "free", "disabled": 0 }));
    assert_eq!(server.get("/v1/stats").expect(200)["disabled"], 0);

    patch(json!({ "disabled": "yes" })).problem(400, "bad_json", "no boolean");
    patch(json!({ "note": "x".repeat(4_001) })).problem(422, "long_note", "a long note");
    patch(json!({ "validity": { "from": "2026-02-01", "until": "2026-01-01" } })).problem(422, "bad_validity", "dates");
    patch(json!({ "validity": [null, null] })).problem(400, "bad_json", "an object");
    let missing = server.send("PATCH", "/v1/libraries/house/books/2", &[("Content-Type", JSON)], b"{}");
    missing.problem(404, "no_such_book", "not there");
}

#[test]
fn rights_hold_on_their_days() {
    let server = Running::start();
    let text = prose(1, 10_000);
    let validity = json!({ "from": "2026-02-01", "until": "2026-02-28", "otherwise": "public_domain" });
    let body = json!({ "rights": "protected", "text": text, "validity": validity });
    server.put("/v1/libraries/house/books/1", JSON, body.to_string()).expect(201);
    let table = [
        ("2026-01-31", "public_domain"),
        ("2026-02-01", "protected"),
        ("2026-02-28", "protected"),
        ("2026-03-01", "public_domain"),
    ];
    for (day, verdict) in table {
        let report = server.post(&format!("/v1/checks?day={day}"), TEXT, &text).expect(200);
        assert_has(&report, json!({ "verdict": verdict, "day": day, "total": 1 }));
        assert_has(&report["matches"][0]["book"], json!({ "rights": verdict, "validity": validity }));
    }
    server.post("/v1/checks?day=2026-02-30", TEXT, &text).problem(400, "bad_query", "no such day");
    let always = json!({ "validity": {} }).to_string();
    let book = server.send("PATCH", "/v1/libraries/house/books/1", &[("Content-Type", JSON)], always.as_bytes());
    assert_eq!(book.expect(200)["standing"]["validity"], Value::Null);
    assert_eq!(server.check_text(&text)["verdict"], "protected");
}

#[test]
fn what_is_allowed_never_blocks() {
    let server = Running::start();
    let (quotation, text) = (prose(1, 10_000), prose(2, 10_000));
    server.put_text("/v1/libraries/house/books/1", "protected", &quotation).expect(201);
    server.put_text("/v1/libraries/house/books/2", "protected", &text).expect(201);
    let allow = |name: &str, what: Value| server.put(&format!("/v1/allow/{name}"), JSON, what.to_string());

    let list = allow("licensed%2F1", json!({ "text": quotation, "note": "contract 5" })).expect(201);
    assert_has(&list, json!({ "name": "licensed/1", "note": "contract 5" }));
    let report = server.check_text(&quotation);
    assert_has(&report, json!({ "verdict": "unknown", "total": 0, "allowed_gems": report["gems"] }));
    let both = server.check_text(&format!("{quotation}{text}"));
    assert_has(&both, json!({ "verdict": "protected", "total": 1 }));
    assert_eq!(both["matches"][0]["share_of_query"].as_f64().map(|share| share > 0.9), Some(true), "{both}");

    allow("mine", json!({ "book": { "library": "house", "id": "2" } })).expect(201);
    let report = server.check_text(&text);
    assert_has(&report, json!({ "verdict": "unknown", "total": 1 }));
    assert_eq!(report["matches"][0]["allowed"], true);
    assert_eq!(server.get("/v1/allow").expect(200)["allow"].as_array().map(Vec::len), Some(2));
    allow("mine", json!({ "gems": [1, 2] })).expect(200);
    assert_eq!(server.check_text(&text)["verdict"], "protected");
    let delete = || server.send("DELETE", "/v1/allow/licensed%2F1", &[], b"");
    assert_eq!(delete().status, 204);
    delete().problem(404, "no_such_allow_list", "deleted twice");
    assert_eq!(server.check_text(&quotation)["verdict"], "protected");

    allow("x", json!({ "text": "short" })).problem(422, "nothing_to_allow", "no gems");
    allow("x", json!({})).problem(400, "bad_json", "nothing");
    allow("x", json!({ "gems": [1], "text": "a" })).problem(400, "bad_json", "two things");
    allow("", json!({ "gems": [1] })).problem(422, "bad_name", "no name");
}

#[test]
fn a_batch_answers_every_line_in_its_place() {
    let server = Running::start();
    let texts: Vec<String> = (0..3).map(|seed| prose(seed, 4_000)).collect();
    server.put_text("/v1/libraries/house/books/0", "protected", &texts[0]).expect(201);
    server.put_text("/v1/libraries/house/books/1", "free", &texts[1]).expect(201);
    let mut batch = String::new();
    for (i, text) in texts.iter().enumerate() {
        writeln!(batch, "{}", json!({ "text": text, "ref": format!("upload {i}"), "detail": false })).unwrap();
    }
    batch += "\n{\"text\": \n";
    batch += "{\"ref\": 7, \"colour\": \"red\"}\r\n";
    batch += "\u{1}\n";
    writeln!(batch, "{}", json!({ "gems": [1], "ref": "x".repeat(2_000) })).unwrap();
    writeln!(batch, "{}", json!({ "gems": [4_294_967_296_u64], "ref": { "a": [1] } })).unwrap();
    batch += "{\"gems\": [1, 2, 3]}";
    let answers = server.post("/v1/checks:batch", NDJSON, &batch).lines();
    let said: Vec<_> = answers
        .iter()
        .map(|answer| {
            let said = answer["report"]["verdict"].as_str().or(answer["problem"]["code"].as_str()).unwrap();
            (answer["line"].as_u64().unwrap(), answer["ref"].clone(), said.to_owned())
        })
        .collect();
    let expected = [
        (1, json!("upload 0"), "protected"),
        (2, json!("upload 1"), "free"),
        (3, json!("upload 2"), "unknown"),
        (5, Value::Null, "bad_json"),
        (6, json!(7), "bad_json"),
        (7, Value::Null, "bad_json"),
        (8, Value::Null, "bad_ref"),
        (9, json!({ "a": [1] }), "bad_gem"),
        (10, Value::Null, "unknown"),
    ];
    assert_eq!(said, expected.map(|(line, mark, said)| (line, mark, said.to_owned())));
    let alone = server.post("/v1/checks?detail=false", TEXT, &texts[0]).expect(200);
    assert_eq!(answers[0]["report"], alone, "the same answer as by itself");
    server.post("/v1/checks:batch", JSON, "{}").problem(415, "unknown_content_type", "no lines");
    assert_eq!(server.post("/v1/checks:batch", NDJSON, "").lines(), [Value::Null; 0]);
}

#[test]
fn a_batch_has_an_end_and_a_line_too() {
    let server = Running::start();
    let answers = server.post("/v1/checks:batch", NDJSON, "{\"gems\":[1]}\n".repeat(10_002)).lines();
    assert_eq!(answers.len(), 10_002);
    let wrong: Vec<u64> =
        answers.iter().filter(|a| a["problem"].is_object()).map(|a| a["line"].as_u64().unwrap()).collect();
    assert_eq!(wrong, [10_001, 10_002]);
    assert_eq!(answers[10_001]["problem"]["code"], "too_many_checks");

    let long = format!("{{\"text\":\"{}\"}}\n{{\"gems\":[1]}}\n", "a".repeat(3 * MAX_BODY));
    let answers = server.post("/v1/checks:batch", NDJSON, long).lines();
    assert_eq!((&answers[0]["line"], &answers[0]["problem"]["code"]), (&json!(1), &json!("body_too_large")));
    assert_eq!((&answers[1]["line"], &answers[1]["report"]["verdict"]), (&json!(2), &json!("unknown")));
}

/// A client may wait for each answer before it sends on: nothing is held back until the end.
#[test]
fn a_feed_answers_as_books_land() {
    let server = Running::start();
    let mut stream = server.connect();
    write!(
        stream,
        "POST /v1/libraries/house/books HTTP/1.1\r\nHost: localhost\r\nContent-Type: {NDJSON}\r\n\
         Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    .unwrap();
    let mut answers = std::io::BufReader::new(stream.try_clone().unwrap());
    let mut next = || loop {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut answers, &mut line).unwrap();
        if line.starts_with('{') {
            return serde_json::from_str::<Value>(&line).unwrap();
        }
        assert!(!line.is_empty(), "the answer ended");
    };
    let text = prose(1, 4_000);
    let books = [
        (json!({ "id": "a/1", "rights": "free", "text": text }), "added"),
        (json!({ "id": "a/1", "rights": "free", "text": text }), "unchanged"),
        (json!({ "id": "a/1", "rights": "protected", "text": text }), "replaced"),
        (json!({ "id": "b", "rights": "free" }), "refused"),
        (json!({ "id": "b", "rights": "free", "gems": [1, 2], "recipe": "released" }), "refused"),
        (json!({ "id": "c", "rights": "free", "gems": [1, 2], "recipe": "documented" }), "added"),
    ];
    for (i, (book, outcome)) in books.iter().enumerate() {
        let line = format!("{book}\n");
        write!(stream, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        let answer = next();
        assert_has(&answer, json!({ "line": i + 1, "id": book["id"], "outcome": outcome }));
        if *outcome != "refused" {
            let book = server.get(&format!("/v1/libraries/house/books/{}", book["id"].as_str().unwrap()));
            assert_eq!(book.status, 200, "what is told of is there");
        }
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    answers.read_to_end(&mut rest).unwrap();
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 2);
}

#[test]
fn a_feed_sent_again_changes_nothing_and_one_bad_line_stops_no_other() {
    let server = Running::start();
    let mut feed = String::new();
    for i in 0..200 {
        let id = format!("book {}", i % 150);
        let gems: Vec<u64> = (0..50).map(|gem| (i % 150) * 1_000 + gem).collect();
        writeln!(
            feed,
            "{}",
            json!({ "id": id, "rights": "protected", "title": format!("№ {}", i % 150), "gems": gems })
        )
        .unwrap();
    }
    feed += "nonsense\n{\"id\":\"\",\"rights\":\"free\",\"text\":\"a\"}\n";
    let outcomes = || {
        let answers = server.post("/v1/libraries/house/books", NDJSON, &feed).lines();
        assert_eq!(answers.len(), 202);
        assert!((1..).zip(&answers).all(|(line, answer)| answer["line"] == line));
        let count = |outcome: &str| answers.iter().filter(|answer| answer["outcome"] == outcome).count();
        let codes: Vec<_> = answers.iter().filter_map(|answer| answer["problem"]["code"].as_str()).collect();
        assert_eq!(codes, ["bad_json", "bad_name"]);
        ["added", "replaced", "unchanged", "refused"].map(count)
    };
    assert_eq!(outcomes(), [150, 0, 50, 2], "a book that comes twice in one feed is there the second time");
    let before = server.get("/v1/libraries").expect(200);
    assert_eq!(outcomes(), [0, 0, 200, 2]);
    assert_eq!(server.get("/v1/libraries").expect(200), before);
}

#[test]
fn a_page_for_whoever_asks_for_one() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server.put_text("/v1/libraries/house/books/1", "protected", &text).expect(201);
    let accept = |accept: &str| {
        server.send("POST", "/v1/checks", &[("Content-Type", TEXT), ("Accept", accept)], text.as_bytes())
    };
    for browser in ["text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json;q=0.5, text/html"] {
        let page = accept(browser);
        assert!(page.head.contains("content-type: text/html; charset=utf-8"), "{}", page.head);
        assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
        let page = String::from_utf8(page.body).unwrap();
        assert!(page.contains("PROTECTED") && page.contains("house/1") && page.contains("<svg"), "{page}");
    }
    for program in ["*/*", "application/json", "application/json, text/html", "nonsense"] {
        assert_eq!(accept(program).expect(200)["verdict"], "protected", "{program}");
    }
}

#[test]
fn the_api_describes_itself_without_a_network() {
    let server = Running::start();
    let api = server.get("/openapi.json").expect(200);
    for (path, calls) in api["paths"].as_object().unwrap() {
        for method in calls.as_object().unwrap().keys() {
            let target = path.replace("{library}", "l").replace("{id}", "1").replace("{name}", "n");
            let answer = server.send(&method.to_uppercase(), &target, &[], b"");
            assert!(answer.status != 405, "{method} {path}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("not_found"), "{method} {path}");
        }
    }
    let page = server.get("/docs/");
    assert_eq!(page.status, 200);
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("swagger-ui") && !page.contains("http://") && !page.contains("https://"), "{page}");
    assert!(server.get("/docs").status < 400);
}

#[test]
fn a_copy_a_part_and_a_stranger() {
    let server = Running::start();
    let text = prose(1, 22_000);
    server.put_text("/v1/libraries/house/books/1", "protected", &text).expect(201);

    let copy = server.check_text(&text);
    assert_has(&copy, json!({ "verdict": "protected", "total": 1 }));
    let found = &copy["matches"][0];
    assert_has(&found["book"], json!({ "library": "house", "id": "1" }));
    assert_has(found, json!({ "relation": "same_text", "share_of_query": 1.0, "share_of_book": 1.0 }));
    assert_eq!(found["spans"].as_array().map(Vec::len), Some(1), "{found}");
    let part = server.check_text(&text[50_000..150_000]);
    assert_has(&part["matches"][0], json!({ "relation": "part_of_book", "share_of_query": 1.0 }));
    assert_has(&server.check_text(&prose(2, 22_000)), json!({ "verdict": "unknown", "matches": [] }));
}

#[test]
fn one_check_by_every_way_in() {
    let server = Running::start();
    let text = prose(1, 10_000);
    server.put_text("/v1/libraries/house/books/1", "protected", &text).expect(201);

    let by_text = server.check_text(&text);
    let written = json!({ "text": text, "limit": 5, "library": "house", "recipe": "documented", "detail": true });
    for answer in [
        server.post("/v1/checks", JSON, written.to_string()),
        server.post("/v1/checks", "application/json; charset=utf-8", json!({ "text": text }).to_string()),
        server.post("/v1/checks?limit=5&library=house&recipe=documented&detail=true", BYTES, &text),
        server.send("POST", "/v1/checks", &[], text.as_bytes()),
    ] {
        assert_eq!(answer.expect(200), by_text);
    }

    let gems = gems(&Recipe::documented(), &text);
    let by_gems = server.post("/v1/checks", JSON, json!({ "gems": gems }).to_string()).expect(200);
    assert_has(&by_gems, json!({ "verdict": "protected", "gems": gems.len() }));
    let decimals = gems.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    for path in ["/copyright_check_by_gems/", "/copyright_check_by_gems"] {
        for kind in [FORM, "application/x-www-form-urlencoded; charset=UTF-8"] {
            for form in [&decimals, &decimals.replace(',', "%2C"), &decimals.replace(',', "+,+")] {
                assert_eq!(server.post(path, kind, format!("gems={form}")).expect(200), by_gems);
            }
        }
    }
    assert_has(&server.post("/copyright_check_by_gems/", FORM, "gems=").expect(200), json!({ "verdict": "unknown" }));

    server.put_text("/v1/libraries/elsewhere/books/1", "free", &prose(2, 1_000)).expect(201);
    let table = [
        ("library=elsewhere", json!({ "verdict": "unknown", "total": 0 })),
        ("limit=0", json!({ "verdict": "protected", "total": 1, "matches": [] })),
    ];
    for (query, fields) in table {
        assert_has(&server.post(&format!("/v1/checks?{query}"), TEXT, &text).expect(200), fields);
    }
    let brief = server.post("/v1/checks?detail=false", TEXT, &text).expect(200);
    assert_eq!(brief["matches"][0]["spans"], json!([]));
}

/// Gems of 64 bits are strings wherever there is JSON, and a catalogue of them is checked like any other.
#[test]
fn gems_of_64_bits_are_strings() {
    let server = Running::of_recipe(&Recipe::hardened());
    let text = prose(5, 30_000);
    let gems = gems(&Recipe::hardened(), &text);
    let strings: Vec<String> = gems.iter().map(ToString::to_string).collect();
    assert!(strings.len() > 10 && strings.iter().all(|gem| gem.len() == 16), "{strings:?}");

    let book = json!({ "rights": "protected", "recipe": "hardened", "gems": strings }).to_string();
    let added = server.put("/v1/libraries/house/books/gems", JSON, book).expect(201);
    assert_eq!(added["book"]["gems"], json!({ "hardened": gems.len() }));
    server.put("/v1/libraries/house/books/text?rights=free", TEXT, &text).expect(201);
    let found = json!({ "verdict": "protected", "recipe": "hardened", "total": 2 });
    for asked in [json!({ "gems": strings }), json!({ "text": text }), json!({ "gems": strings, "recipe": "hardened" })]
    {
        assert_has(&server.post("/v1/checks", JSON, asked.to_string()).expect(200), found.clone());
    }
    let form = format!("gems={}", strings.join(","));
    assert_has(&server.post("/copyright_check_by_gems/", FORM, form).expect(200), found);

    let allowed = json!({ "gems": strings[1..], "note": "all but one" }).to_string();
    let list = server.put("/v1/allow/most", JSON, allowed).expect(201);
    assert_eq!(list["gems"], json!({ "hardened": strings[1..] }));
    let all = server.get("/v1/allow").expect(200);
    assert_eq!(all["allow"][0]["gems"]["hardened"], json!(strings[1..]));
    let report = server.post("/v1/checks", TEXT, &text).expect(200);
    assert_has(&report, json!({ "allowed_gems": gems.len() - 1 }));

    let hex = strings[0].as_str();
    let table = [
        (json!({ "gems": [7] }), 422, "bad_gem"),
        (json!({ "gems": [hex], "recipe": "documented" }), 422, "unknown_recipe"),
        (json!({ "gems": [hex[1..]] }), 400, "bad_json"),
        (json!({ "gems": ["7"] }), 400, "bad_json"),
    ];
    for (asked, status, code) in table {
        let refused = server.post("/v1/checks", JSON, asked.to_string()).expect(status);
        assert_eq!(refused["code"], code, "{asked}: {refused}");
    }
    let exact = json!({ "rights": "free", "recipe": "documented", "gems": [hex] }).to_string();
    let refused = Running::start().put("/v1/libraries/house/books/exact", JSON, exact).expect(422);
    assert_eq!(
        refused["detail"],
        format!("gem {hex} is not one of recipe 'documented': its gems are numbers from 0 to 4294967295")
    );
}

#[test]
fn a_book_of_gems_and_what_is_said_of_it() {
    let server = Running::of_recipe(&Recipe::released());
    let gems = gems(&Recipe::released(), &prose(3, 11_000));
    let book = json!({
        "rights": "public_domain", "title": "Камни", "authors": ["А", "Б"], "language": "ru",
        "recipe": "released", "gems": gems,
    });
    let put = || server.put("/v1/libraries/house/books/gems", JSON, book.to_string());
    let added = put().expect(201);
    assert_eq!(put().expect(200)["outcome"], "unchanged");
    assert_eq!(added["book"]["gems"], json!({ "released": gems.len() }));
    let check = json!({ "gems": gems, "recipe": "released" }).to_string();
    let report = server.post("/v1/checks", JSON, check).expect(200);
    assert_eq!(
        (&report["verdict"], &report["matches"][0]["book"]["title"]),
        (&json!("public_domain"), &json!("Камни"))
    );

    let query = format!("rights=unknown&title={}&author=A+B&author=C%26D&language=en", encoded("Что?"));
    let added = server.put(&format!("/v1/libraries/house/books/raw?{query}"), TEXT, "short").expect(201);
    let said = [("rights", json!("unknown")), ("title", json!("Что?")), ("authors", json!(["A B", "C&D"]))];
    for (name, value) in said {
        assert_eq!(added["book"][name], value);
    }
    assert_eq!(added["book"]["language"], "en");
}

/// A library's feed adds no recipe: neither to a catalogue in use, nor to a new one, whose default it would be.
#[test]
fn putting_books_in_adds_no_recipe() {
    let server = Running::start();
    let text = prose(3, 6_000);
    let refused = |id: &str| {
        let gems = json!({ "rights": "free", "gems": [1, 2], "recipe": "released" });
        let path = format!("/v1/libraries/house/books/{id}");
        let said = server.put(&path, JSON, gems.to_string()).problem(422, "unknown_recipe", id);
        assert!(said.contains("it has: documented") && said.contains("lapidary reindex"), "{said}");
        let line = json!({ "id": id, "rights": "free", "gems": [1, 2], "recipe": "hardened" }).to_string();
        assert_eq!(
            server.post("/v1/libraries/house/books", NDJSON, line).lines()[0]["problem"]["code"],
            "unknown_recipe"
        );
        let recipes = &server.get("/v1/stats").expect(200)["recipes"];
        assert_eq!((recipes.as_array().map(Vec::len), &recipes[0]["recipe"]), (Some(1), &json!("documented")));
    };
    refused("first");
    server.put_text("/v1/libraries/house/books/book", "protected", &text).expect(201);
    let form = format!(
        "gems={}",
        gems(&Recipe::documented(), &text).iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    );
    let asked = || server.post("/copyright_check_by_gems/", FORM, &form).expect(200);
    let before = asked();
    assert_eq!(before["verdict"], "protected");
    refused("second");
    assert_eq!(asked(), before);
}

/// A library that is not there is no library without matches.
#[test]
fn a_check_against_no_library_is_refused() {
    let server = Running::start();
    let text = prose(3, 6_000);
    server.put_text("/v1/libraries/house/books/book", "protected", &text).expect(201);
    for library in ["House", "hous", "house ", "other"] {
        let asked = json!({ "text": text, "library": library }).to_string();
        let said = server.post("/v1/checks", JSON, &asked).problem(404, "no_such_library", library);
        assert!(said.contains(library) && said.contains("case"), "{said}");
        let raw = format!("/v1/checks?library={}", encoded(library));
        server.post(&raw, TEXT, &text).problem(404, "no_such_library", library);
        let lines = [asked, json!({ "text": text, "library": "house" }).to_string()].join("\n");
        let answers = server.post("/v1/checks:batch", NDJSON, lines).lines();
        assert_eq!(answers[0]["problem"]["code"], "no_such_library");
        assert_eq!(answers[1]["report"]["verdict"], "protected");
    }
    // Nor does a library answer whose last book was removed: it protects nothing.
    assert_eq!(server.send("DELETE", "/v1/libraries/house/books/book", &[], b"").status, 204);
    let asked = json!({ "text": text, "library": "house" }).to_string();
    server.post("/v1/checks", JSON, asked).problem(404, "no_such_library", "emptied");
}

/// What would take a book out of the checks must be meant.
#[test]
fn no_book_is_emptied_by_mistake() {
    let server = Running::of_recipe(&Recipe::documented());
    let (book, text) = ("/v1/libraries/house/books/book", prose(3, 6_000));
    server.put_text(book, "protected", &text).expect(201);
    let line = |mut book: Value| {
        book["id"] = json!("book");
        server.post("/v1/libraries/house/books", NDJSON, book.to_string()).lines().remove(0)
    };
    for empty in [json!({ "rights": "protected", "text": "…" }), json!({ "rights": "free", "gems": [] })] {
        let said = server.put(book, JSON, empty.to_string()).problem(409, "would_be_empty", "by JSON");
        assert!(said.contains("house/book has gems of documented"), "{said}");
        assert_eq!(line(empty)["problem"]["code"], "would_be_empty");
    }
    server.put(&format!("{book}?rights=protected"), TEXT, "…").problem(409, "would_be_empty", "by a text");
    server.put(&format!("{book}?rights=protected&allow_empty=false"), TEXT, "…").problem(409, "would_be_empty", "no");
    server.put(&format!("{book}?rights=protected&allow_empty=no"), TEXT, "…").problem(400, "bad_query", "neither");
    assert_eq!(server.check_text(&text)["verdict"], "protected");

    let again = || server.put_text(book, "protected", &text);
    server.put(&format!("{book}?rights=protected&allow_empty=true"), TEXT, "…").expect(200);
    assert_eq!(server.check_text(&text)["verdict"], "unknown");
    again().expect(200);
    let by_body = json!({ "rights": "free", "gems": [], "allow_empty": true });
    server.put(book, JSON, by_body.to_string()).expect(200);
    again().expect(200);
    assert_eq!(line(by_body)["outcome"], "replaced");
    again().expect(200);
    let plain = json!({ "rights": "free", "gems": [] }).to_string();
    server.put(&format!("{book}?allow_empty=true"), JSON, &plain).expect(200);
    server.put(book, JSON, plain).expect(200);
    // A new book may be too short for a gem.
    server.put_text("/v1/libraries/house/books/short", "free", "…").expect(201);
}

#[test]
fn ids_come_back_as_they_were_sent() {
    let server = Running::start();
    let ids = [
        "a/b",
        "/a",
        "a/",
        "a//b",
        "Гранит и яшма",
        "100%",
        "%2F",
        "%41",
        "a?b#c",
        "..",
        ".",
        "../../v1/stats",
        "a+b",
        "a b",
        "books/books",
        "🪨",
        "a&b=c;d",
        "\"quoted\"\\",
        &"x".repeat(512),
    ];
    for id in ids {
        for library in ["house", "a/b", "Дом+книг %2F"] {
            let target = format!("/v1/libraries/{}/books/{}", encoded(library), encoded(id));
            let added = server.put_text(&target, "free", id).expect(201);
            assert_eq!((&added["book"]["library"], &added["book"]["id"]), (&json!(library), &json!(id)));
            assert_eq!(server.get(&target).expect(200), added["book"]);
        }
    }
    // Slashes, dots and signs that need no encoding name the same books.
    for id in ["a/b", "/a", "a/", "a//b", "..", ".", "../../v1/stats", "a+b", "books/books"] {
        assert_eq!(server.get(&format!("/v1/libraries/house/books/{id}")).expect(200)["id"], id);
    }
    let page = server.get("/v1/libraries/a%2Fb/books").expect(200);
    assert_eq!(page["books"].as_array().unwrap().len(), ids.len());
    for id in ids {
        let target = format!("/v1/libraries/a%2Fb/books/{}", encoded(id));
        assert_eq!(server.send("DELETE", &target, &[], b"").status, 204, "{id}");
    }
    server.get("/v1/libraries/a%2Fb/books").problem(404, "no_such_library", "emptied");
}

#[test]
fn pages_and_numbers() {
    let server = Running::start();
    assert_eq!(server.get("/v1/libraries").expect(200), json!({ "libraries": [] }));
    let mut ids: Vec<String> = (0..250).map(|i| format!("книга {i}?")).collect();
    for id in &ids {
        server.put_text(&format!("/v1/libraries/house/books/{}", encoded(id)), "free", id).expect(201);
    }
    ids.sort();
    for limit in [1, 99, 125, 250, 1000] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.get(&format!("/v1/libraries/house/books?limit={limit}{cursor}")).expect(200);
            seen.extend(page["books"].as_array().unwrap().iter().map(|book| book["id"].as_str().unwrap().to_owned()));
            let Some(next) = page["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={}", encoded(next));
        }
        assert_eq!(seen, ids, "{limit} a page");
    }
    let first = server.get("/v1/libraries/house/books").expect(200);
    assert_eq!((first["books"].as_array().unwrap().len(), &first["next_cursor"]), (100, &json!(ids[99])));
    let behind = server.get(&format!("/v1/libraries/house/books?cursor={}", encoded("\u{10FFFF}"))).expect(200);
    assert_eq!(behind, json!({ "books": [], "next_cursor": null }));
    let library = &server.get("/v1/libraries").expect(200)["libraries"][0];
    assert_eq!((&library["library"], &library["books"]), (&json!("house"), &json!(250)));
    let stats = server.get("/v1/stats").expect(200);
    assert_eq!((&stats["books"], &stats["recipes"][0]["recipe"]), (&json!(250), &json!("documented")));
    for path in ["/v1/stats", "/healthz", "/readyz", "/v1/libraries/house/books"] {
        let head = server.send("HEAD", path, &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
    }
}

#[test]
fn a_catalogue_without_books_answers() {
    let server = Running::start();
    let report = server.check_text(&prose(1, 4_000));
    assert_eq!((&report["verdict"], &report["total"]), (&json!("unknown"), &json!(0)));
    assert!(report["gems"].as_u64() > Some(3), "{report}");
    let by_gems = server.post("/copyright_check_by_gems/", FORM, "gems=1,2,3");
    assert_eq!(by_gems.expect(200)["verdict"], "unknown");
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 0);
}

/// Texts without a gem are read, and said to be so.
#[test]
fn texts_that_say_nothing() {
    let server = Running::start();
    server.put_text("/v1/libraries/house/books/1", "protected", &prose(1, 6_000)).expect(201);
    for text in ["", "word", "слово", "0123456789 42", "?! … ,;", "\u{feff}", "\n\n\n"] {
        for answer in [
            server.post("/v1/checks", TEXT, text),
            server.post("/v1/checks", BYTES, text),
            server.post("/v1/checks", JSON, json!({ "text": text }).to_string()),
        ] {
            let report = answer.expect(200);
            assert_eq!((&report["verdict"], &report["gems"]), (&json!("unknown"), &json!(0)), "{text:?}");
            assert!(report["note"].is_string(), "{text:?}");
        }
    }
    assert_eq!(server.post("/v1/checks", JSON, r#"{"gems":[]}"#).expect(200)["verdict"], "unknown");
}

/// Method, target, content type, body; status and code of the refusal.
type Row<'a> = (&'a str, &'a str, &'a str, Vec<u8>, u16, &'a str);

#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn bad_input_is_refused_by_name_and_the_server_goes_on() {
    let server = Running::start();
    let checks = "/v1/checks";
    let form = "/copyright_check_by_gems/";
    let book = "/v1/libraries/house/books/1";
    let nested = |n: usize| format!(r#"{{"gems":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    let many = |n: usize| vec!["1"; n].join(",");
    let long = "x".repeat(100_000);
    let library = |name: &str| json!({ "text": "", "library": name }).to_string();
    let (far, long_id) = (format!("/{}", &long[..20_000]), format!("/v1/libraries/l/books/{}", &long[..513]));
    let zip = b"PK\x03\x04rest of a file".to_vec();
    #[rustfmt::skip]
    let table: Vec<Row> = vec![
        // JSON that is none, or says something else.
        ("POST", checks, JSON, "".into(), 400, "bad_json"),
        ("POST", checks, JSON, "{".into(), 400, "bad_json"),
        ("POST", checks, JSON, "null".into(), 400, "bad_json"),
        ("POST", checks, JSON, "[]".into(), 400, "bad_json"),
        ("POST", checks, JSON, " [[1, 2, 3], null, null, null, null, null, null]".into(), 400, "bad_json"),
        ("PATCH", book, JSON, "[null, null]".into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"["free", null, null, [], null, "text", null, null]"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, "{}".into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"a","gems":[1]}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"a","text":"b"}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"a"} x"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"a","colour":"red"}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, format!(r#"{{"text":"a","{long}":1}}"#).into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":7}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"\ud800"}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"\udc00\ud800 and more"}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, b"{\"text\":\"\xff\xfe\"}".to_vec(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"gems":["a"]}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"gems":[-1]}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"gems":[1.5]}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"gems":[18446744073709551616]}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"gems":[[1]]}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"gems":{"1":2}}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, nested(1_000).into(), 400, "bad_json"),
        ("POST", checks, JSON, nested(1_000_000).into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"a","limit":-1}"#.into(), 400, "bad_json"),
        ("POST", checks, JSON, r#"{"text":"a","limit":1001}"#.into(), 400, "bad_limit"),
        ("POST", checks, JSON, r#"{"text":"a","detail":"yes"}"#.into(), 400, "bad_json"),
        ("POST", "/v1/checks?limit=1", JSON, r#"{"text":"a"}"#.into(), 400, "bad_query"),
        // JSON that is read, and of no use.
        ("POST", checks, JSON, r#"{"gems":[4294967296]}"#.into(), 422, "bad_gem"),
        ("POST", checks, JSON, r#"{"text":"a","recipe":"nonesuch"}"#.into(), 422, "unknown_recipe"),
        ("POST", checks, JSON, r#"{"text":"a","recipe":"Не то"}"#.into(), 422, "unknown_recipe"),
        ("POST", checks, JSON, library("").into(), 422, "bad_name"),
        ("POST", checks, JSON, library("a\nb").into(), 422, "bad_name"),
        ("POST", checks, JSON, library(&long[..513]).into(), 422, "bad_name"),
        ("POST", checks, JSON, library(&long).into(), 422, "too_long"),
        ("POST", checks, JSON, format!(r#"{{"gems":[{}]}}"#, many(100_001)).into(), 413, "too_many_gems"),
        ("POST", checks, JSON, format!(r#"{{"gems":[{}]}}"#, many(10_000_000)).into(), 413, "body_too_large"),
        // Raw bodies.
        ("POST", checks, TEXT, b"fine \xff broken".to_vec(), 400, "undecodable"),
        ("POST", checks, "text/plain; charset=klingon", "a".into(), 415, "unknown_charset"),
        ("POST", checks, BYTES, zip, 422, "damaged"),
        ("POST", checks, BYTES, vec![0; 10_000], 422, "not_text"),
        ("POST", "/v1/checks?colour=red", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?limit=many", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?limit=1001", TEXT, "a".into(), 400, "bad_limit"),
        ("POST", "/v1/checks?limit=1&limit=2", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?library=%ff", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?library=", TEXT, "a".into(), 422, "bad_name"),
        ("POST", "/v1/checks?recipe=nonesuch", TEXT, "a".into(), 422, "unknown_recipe"),
        ("POST", checks, TEXT, vec![b'a'; MAX_BODY + 1], 413, "body_too_large"),
        // Content types.
        ("POST", checks, FORM, "gems=1".into(), 415, "unknown_content_type"),
        ("POST", checks, "image/png", "PNG".into(), 415, "unknown_content_type"),
        ("POST", checks, "not a type", "a".into(), 415, "unknown_content_type"),
        ("POST", checks, &long[..8_000], "a".into(), 415, "unknown_content_type"),
        ("PUT", book, FORM, "gems=1".into(), 415, "unknown_content_type"),
        ("POST", form, JSON, r#"{"gems":[1]}"#.into(), 415, "unknown_content_type"),
        // The form of existing clients.
        ("POST", form, FORM, "".into(), 400, "bad_query"),
        ("POST", form, FORM, "gem=1".into(), 400, "bad_query"),
        ("POST", form, FORM, "gems=1,x".into(), 400, "bad_gems"),
        ("POST", form, FORM, "gems=-1".into(), 400, "bad_gems"),
        ("POST", form, FORM, "gems=1.5".into(), 400, "bad_gems"),
        ("POST", form, FORM, "gems=1,,2".into(), 400, "bad_gems"),
        ("POST", form, FORM, "gems=18446744073709551616".into(), 400, "bad_gems"),
        ("POST", form, FORM, format!("gems={long}").into(), 400, "bad_gems"),
        ("POST", form, FORM, b"gems=\xff".to_vec(), 400, "bad_query"),
        ("POST", form, FORM, "gems=4294967296".into(), 422, "bad_gem"),
        ("POST", form, FORM, format!("gems={}", many(100_001)).into(), 413, "too_many_gems"),
        ("POST", form, FORM, format!("gems={}", many(10_000_000)).into(), 413, "body_too_large"),
        // Books.
        ("PUT", book, JSON, r#"{"text":"a"}"#.into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"{"rights":"all","text":"a"}"#.into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"{"rights":"free"}"#.into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"{"rights":"free","text":"a","gems":[1]}"#.into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"{"rights":"free","text":"a","recipe":"released"}"#.into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"{"rights":"free","text":"a","authors":"A"}"#.into(), 400, "bad_json"),
        ("PUT", book, JSON, r#"{"rights":"free","gems":[4294967296]}"#.into(), 422, "bad_gem"),
        ("PUT", book, JSON, r#"{"rights":"free","gems":[1],"recipe":"nonesuch"}"#.into(), 422, "unknown_recipe"),
        ("PUT", book, JSON, r#"{"rights":"free","text":" \n"}"#.into(), 422, "no_text"),
        ("PUT", "/v1/libraries/l/books/1?rights=free", TEXT, "".into(), 422, "no_text"),
        ("PUT", book, TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=all", TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=free&rights=free", TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=free&color=red", TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=free", BYTES, vec![0; 100], 422, "not_text"),
        ("PUT", book, JSON, vec![b' '; MAX_BODY + 1], 413, "body_too_large"),
        // Paths.
        ("GET", "/v1/libraries/l/books/%00", "", vec![], 422, "bad_name"),
        ("PUT", "/v1/libraries/l/books/a%0Ab", TEXT, "a".into(), 422, "bad_name"),
        ("GET", "/v1/libraries/l/books/%ff", "", vec![], 400, "bad_path"),
        ("GET", "/v1/libraries/%ff/books/1", "", vec![], 400, "bad_path"),
        ("GET", "/v1/libraries/l/books/", "", vec![], 422, "bad_name"),
        ("GET", "/v1/libraries/%0A/books", "", vec![], 422, "bad_name"),
        ("GET", "/v1/libraries/l/books/%D0%AF", "", vec![], 404, "no_such_book"),
        ("GET", "/v1/libraries/l/books", "", vec![], 404, "no_such_library"),
        ("GET", "/v1/libraries/l/books?limit=0", "", vec![], 400, "bad_limit"),
        ("GET", "/v1/libraries/l/books?limit=1001", "", vec![], 400, "bad_limit"),
        ("GET", "/v1/libraries/l/books?limit=-1", "", vec![], 400, "bad_query"),
        ("GET", "/v1/libraries/l/books?cursor=", "", vec![], 422, "bad_name"),
        ("GET", "/v1/libraries/l/books?page=2", "", vec![], 400, "bad_query"),
        ("GET", "/", "", vec![], 404, "not_found"),
        ("GET", "/v1/nothing?here", "", vec![], 404, "not_found"),
        ("GET", "/v1/libraries//books", "", vec![], 404, "not_found"),
        ("GET", &far, "", vec![], 404, "not_found"),
        ("GET", &long_id, "", vec![], 422, "bad_name"),
    ];
    for (method, target, kind, body, status, code) in table {
        let what = format!("{method} {} {}", excerpt(target), excerpt(&String::from_utf8_lossy(&body)));
        let headers = [("Content-Type", kind)];
        let headers = if kind.is_empty() { &[] } else { &headers[..] };
        server.send(method, target, headers, &body).problem(status, code, &what);
        assert_eq!(server.get("/healthz").expect(200), json!({ "status": "ok" }), "after {what}");
    }
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 0, "nothing that was refused is kept");
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

#[test]
fn a_problem_says_what_to_do() {
    let server = Running::start();
    let table = [
        (server.post("/v1/checks", JSON, r#"{"text":"a","colour":"red"}"#), "unknown field `colour`"),
        (server.post("/v1/checks", JSON, r#"{"text":"a","gems":[1]}"#), "exactly one of 'gems' and 'text'"),
        (server.post("/v1/checks?colour=red", TEXT, "a"), "unknown field `colour`"),
        (server.post("/v1/checks", "image/png", "a"), "application/octet-stream"),
        (server.post("/copyright_check_by_gems/", FORM, "gems=1,x"), "'x' is not a gem"),
        (server.put("/v1/libraries/l/books/1", TEXT, "a"), "'rights' is missing"),
        (server.put("/v1/libraries/l/books/1", JSON, r#"{"text":"a"}"#), "missing field `rights`"),
        (server.get("/v1/libraries/l/books?limit=0"), "from 1 to 1000"),
        (server.get("/v2"), "/v1/checks"),
    ];
    for (answer, words) in table {
        let problem = answer.json();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{words}: {problem}");
    }
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let server = Running::start();
    let table = [
        ("GET", "/v1/checks", "POST"),
        ("GET", "/copyright_check_by_gems/", "POST"),
        ("POST", "/v1/libraries/l/books/1", "GET, HEAD, PUT, PATCH, DELETE"),
        ("BREW", "/v1/libraries/l/books/a/b", "GET, HEAD, PUT, PATCH, DELETE"),
        ("DELETE", "/v1/libraries", "GET, HEAD"),
        ("PUT", "/v1/libraries/l/books", "GET, HEAD, POST"),
        ("GET", "/v1/checks:batch", "POST"),
        ("POST", "/v1/allow", "GET, HEAD"),
        ("POST", "/v1/stats", "GET, HEAD"),
        ("BREW", "/healthz", "GET, HEAD"),
    ];
    for (method, target, allowed) in table {
        let answer = server.send(method, target, &[], b"");
        answer.problem(405, "method_not_allowed", target);
        let allow = format!("allow: {}", allowed.to_lowercase());
        assert!(answer.head.lines().any(|line| line == allow), "{target}: {}", answer.head);
    }
}

/// However a body that is too large is sent, its sender reads why it was refused.
#[test]
fn the_limit_holds_for_every_way_of_sending() {
    let server = Running::start();
    let too_large = |answer: Answer, what: &str| {
        let detail = answer.problem(413, "body_too_large", what);
        assert!(detail.contains("4194304 bytes (4.0 MiB)"), "{detail}");
    };
    let head = "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
    let chunks = |bytes: usize| {
        let mut sent = format!("{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
        for _ in 0..bytes / 1024 {
            sent.extend_from_slice(b"400\r\n");
            sent.extend_from_slice(&[b'a'; 1024]);
            sent.extend_from_slice(b"\r\n");
        }
        sent.extend_from_slice(b"0\r\n\r\n");
        sent
    };
    too_large(server.post("/v1/checks", TEXT, vec![b'a'; MAX_BODY + 1]), "length given");
    too_large(server.post("/v1/checks", TEXT, vec![b'a'; 16 * MAX_BODY]), "far too much");
    too_large(server.raw(&chunks(MAX_BODY + 1024)), "chunks");
    too_large(server.raw(&chunks(8 * MAX_BODY)), "many chunks");
    server.raw(&chunks(MAX_BODY)).expect(200);
    server.post("/v1/checks", TEXT, vec![b'a'; MAX_BODY]).expect(200);
    for length in [MAX_BODY as u64 + 1, u64::MAX / 2] {
        let expect = format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
        too_large(server.raw(expect.as_bytes()), "asked before sending");
    }

    let mut waiting = server.connect();
    write!(waiting, "{head}Connection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n").unwrap();
    let mut line = [0; 25];
    waiting.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
    waiting.write_all(b"word").unwrap();
    Answer::read(waiting).expect(200);
}

#[test]
fn broken_and_compressed_bodies() {
    let server = Running::start();
    let head = "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
    for body in ["Content-Length: 100\r\n\r\nnot so many", "Transfer-Encoding: chunked\r\n\r\n5\r\nfi"] {
        let mut stream = server.connect();
        write!(stream, "{head}{body}").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(Answer::parse(&rest).is_none_or(|answer| answer.status == 400), "{body}");
    }
    Answer::problem(
        &server.raw(format!("{head}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n").as_bytes()),
        400,
        "broken_body",
        "chunks that are none",
    );
    let gzip = [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")];
    server.send("POST", "/v1/checks", &gzip, b"\x1f\x8b").problem(415, "unknown_content_encoding", "gzip");
    let identity = [("Content-Type", "text/plain"), ("Content-Encoding", "identity")];
    server.send("POST", "/v1/checks", &identity, b"word").expect(200);
    assert_eq!(server.get("/healthz").status, 200);
}

/// A store that fails where it is told to, and is slow to be read.
struct Faulty {
    store: RocksStore,
    put: fn() -> Result<(), StoreError>,
    read: fn(),
}

impl Store for Faulty {
    fn recipes(&self) -> Vec<Recipe> {
        self.store.recipes()
    }

    fn add_recipe(&self, recipe: &Recipe) -> Result<(), StoreError> {
        self.store.add_recipe(recipe)
    }

    fn put(&self, books: Vec<NewBook>) -> Result<(), StoreError> {
        (self.put)()?;
        self.store.put(books)
    }

    fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, StoreError> {
        self.store.remove(keys)
    }

    fn amend(&self, key: &BookKey, change: &mut dyn FnMut(&mut Record)) -> Result<Option<Record>, StoreError> {
        self.store.amend(key, change)
    }

    fn settings(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.store.settings(kind)
    }

    fn apply(&self, changes: &[(Small<'_>, Option<Vec<u8>>)], actions: &[Action]) -> Result<(), StoreError> {
        self.store.apply(changes, actions)
    }

    fn keep(&self, kind: &str, name: &str, value: Option<&[u8]>) -> Result<(), StoreError> {
        self.store.keep(kind, name, value)
    }

    fn snapshot(&self) -> Box<dyn Snapshot + '_> {
        (self.read)();
        self.store.snapshot()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.store.flush()
    }

    fn make_default(&self, recipe: &RecipeName, anyway: bool) -> Result<u64, StoreError> {
        self.store.make_default(recipe, anyway)
    }

    fn make_ready(&self, recipe: &RecipeName) -> Result<(), StoreError> {
        self.store.make_ready(recipe)
    }

    fn hide_recipe(&self, recipe: &RecipeName) -> Result<(), StoreError> {
        self.store.hide_recipe(recipe)
    }

    fn drop_recipe(&self, recipe: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError> {
        self.store.drop_recipe(recipe, watch)
    }

    fn add_gems(&self, recipe: &RecipeName, books: Vec<LateGems>) -> Result<(), StoreError> {
        self.store.add_gems(recipe, books)
    }

    fn keeps_folds(&self) -> Result<bool, StoreError> {
        self.store.keeps_folds()
    }

    fn keep_folds(&self, keep: bool) -> Result<(), StoreError> {
        self.store.keep_folds(keep)
    }

    fn keys(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        self.store.keys()
    }

    fn jobs(&self) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        self.store.jobs()
    }

    fn compact(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        self.store.compact(watch)
    }

    fn repair(&self, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
        self.store.repair(watch)
    }

    fn backup(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<Backup, StoreError> {
        self.store.backup(to, keep, watch)
    }

    fn stop(&self) {
        self.store.stop();
    }

    fn disk(&self) -> Result<DiskUse, StoreError> {
        self.store.disk()
    }

    fn vitals(&self) -> Result<Vitals, StoreError> {
        self.store.vitals()
    }

    fn writable(&self) -> Result<(), StoreError> {
        self.store.writable()
    }

    fn hold_reserve(&self) -> Result<(), StoreError> {
        self.store.hold_reserve()
    }

    fn wants_reopening(&self) -> bool {
        self.store.wants_reopening()
    }
}

#[test]
fn a_store_that_fails_is_a_problem_of_the_server() {
    const SECRET: &str = "/srv/secret";
    type Put = fn() -> Result<(), StoreError>;
    let damaged = || Err(StoreError::Damaged { path: SECRET.into(), detail: "a block".into() });
    let table: [(Put, u16, &str); 3] = [
        (|| Err(StoreError::DiskFull(SECRET.into())), 507, "disk_full"),
        (damaged, 500, "store_failed"),
        (|| panic!("on purpose"), 500, "internal"),
    ];
    for (put, status, code) in table {
        let server = Running::with(|store| Box::new(Faulty { store, put, read: || {} }));
        for _ in 0..100 {
            let detail = server.put_text("/v1/libraries/l/books/1", "free", "a").problem(status, code, code);
            assert!(!detail.contains(SECRET), "{detail}");
        }
        assert_eq!(server.get("/v1/stats").expect(200)["books"], 0);
    }
}

#[test]
fn checks_are_answered_while_books_are_put_in() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server.put_text("/v1/libraries/house/books/small", "protected", &text).expect(201);
    let big: Vec<String> = (10..14).map(|seed| prose(seed, 300_000)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let puts: Vec<_> = big
            .iter()
            .enumerate()
            .map(|(i, text)| {
                let target = format!("/v1/libraries/house/books/big{i}?rights=free");
                let server = &server;
                scope.spawn(move || server.put(&target, TEXT, text).expect(201))
            })
            .collect();
        let checks: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut longest = Duration::ZERO;
                    while !done.load(Ordering::Relaxed) {
                        let start = Instant::now();
                        assert_eq!(server.check_text(&text)["verdict"], "protected");
                        longest = longest.max(start.elapsed());
                    }
                    longest
                })
            })
            .collect();
        for put in puts {
            put.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for check in checks {
            let longest = check.join().unwrap();
            assert!(longest < Duration::from_secs(5), "a check took {longest:?}");
        }
    });
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 5);
    let same: Vec<u16> = thread::scope(|scope| {
        let put = || server.put_text("/v1/libraries/house/books/contended", "free", &text).status;
        let puts: Vec<_> = (0..16).map(|_| scope.spawn(put)).collect();
        puts.into_iter().map(|put| put.join().unwrap()).collect()
    });
    assert!(same.iter().all(|status| [200, 201].contains(status)), "{same:?}");
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 6);
}

/// A stop takes no new request, finishes the one that runs, and is not held up by a connection that asks for nothing.
#[test]
fn a_stop_finishes_what_runs() {
    const SLOW: Duration = Duration::from_millis(700);
    let mut server = Running::with(|store| Box::new(Faulty { store, put: || Ok(()), read: || thread::sleep(SLOW) }));
    assert_eq!(server.get("/readyz").expect(200), json!({ "status": "ready" }));
    let mut idle = server.connect();
    idle.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let mut slow = server.connect();
    slow.write_all(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    let answer = thread::spawn(move || Answer::read(slow));
    server.stop().unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(answer.join().unwrap().expect(200)["books"], 0);
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn an_address_in_use_is_named_with_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Arc::new(Catalogue::open_or_create(folder.path()).unwrap());
    let table = [(listen, "--listen"), ("192.0.2.1:80".parse().unwrap(), "an address of this machine")];
    for (listen, advice) in table {
        let settings = Settings { listen: vec![listen], ..Settings::default() };
        let error = Server::bind(Arc::clone(&catalogue), settings).err().unwrap().to_string();
        assert!(error.contains(&listen.to_string()) && error.contains(advice), "{error}");
    }
}
