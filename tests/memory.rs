//! Memory is bounded whatever is sent. Each test measures the peak memory of a server process under excessive
//! requests.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use ureq::Agent;

use crate::common::{Folder, Random, Server, key, prose, run};

const MIB: u64 = 1 << 20;
/// The memory for requests and the largest body, as set for these servers.
const BUDGET: u64 = 160 * MIB;
const BODY: usize = 16 << 20;
const SETTINGS: &str = "--body-memory 167772160 --max-body 16777216 --cache 33554432";
/// The memory that a server uses in addition (docs/reference/security.md).
const BESIDE: u64 = 160 * MIB;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

/// The peak memory of the process, in bytes.
fn peak(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("a process");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .expect("a peak");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        << 10
}

fn assert_bounded(server: &Server, what: &str) {
    let peak = peak(server);
    println!("{what}: {} MiB", peak / MIB);
    assert!(peak < BUDGET + BESIDE, "{what}: {} MiB", peak / MIB);
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_mins(2)))
        .build()
        .into()
}

/// The status and body of the response, or 0 if the server closed the connection.
fn post(server: &Server, key: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
    let request = agent()
        .post(format!("{}{path}", server.url))
        .header("X-Api-Key", key)
        .content_type(kind);
    let Ok(mut answer) = request.send(body) else {
        return (0, String::new());
    };
    let status = answer.status().as_u16();
    (
        status,
        answer
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_to_string()
            .unwrap_or_default(),
    )
}

fn put(server: &Server, key: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = agent()
        .put(format!("{}{path}", server.url))
        .header("X-Api-Key", key);
    let mut answer = request.send_json(body).expect("an answer");
    (
        answer.status().as_u16(),
        answer.body_mut().read_json().unwrap_or_default(),
    )
}

fn get(server: &Server, key: &str, path: &str) -> (u16, Value) {
    let mut answer = agent()
        .get(format!("{}{path}", server.url))
        .header("X-Api-Key", key)
        .call()
        .expect("an answer");
    let text = answer
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()
        .expect("text");
    (
        answer.status().as_u16(),
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    )
}

/// Fills a body with repetitions of a part.
fn full(head: &str, part: &str, tail: &str) -> Vec<u8> {
    let times = (BODY - head.len() - tail.len()) / part.len();
    format!("{head}{}{tail}", part.repeat(times)).into_bytes()
}

#[test]
fn json_costs_no_more_than_its_bytes() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let bodies = [
        ("empty objects", full(r#"{"x":["#, r#"{"":0},"#, "0]}\n")),
        ("gems", full(r#"{"gems":["#, "1,", "1]}\n")),
        (
            "authors",
            full(
                r#"{"id":"a","rights":"free","text":"a","authors":["#,
                r#""","#,
                "\"\"]}\n",
            ),
        ),
        ("a mark", full(r#"{"gems":[1],"ref":["#, "[],", "[]]}\n")),
        (
            "a long name",
            full(r#"{"gems":[1],""#, "\u{e000}", "\":1}\n"),
        ),
        ("no gem", full(r#"{"gems":[""#, "\u{e000}", "\"]}\n")),
        ("a deep one", full("", "[", "\n")),
        (
            "no rights",
            full(r#"{"id":"a","text":"a","rights":""#, "x", "\"}\n"),
        ),
    ];
    for (what, body) in bodies {
        thread::scope(|scope| {
            for (path, kind) in [
                ("/v1/checks:batch", NDJSON),
                ("/v1/libraries/l/books", NDJSON),
                ("/v1/checks", JSON),
                ("/v1/checks", JSON),
            ] {
                let (server, body) = (&server, &body);
                scope.spawn(move || {
                    let (status, answer) = post(server, "", path, kind, body);
                    assert!(
                        status != 200 || answer.contains("problem"),
                        "{what}: {answer:.300}"
                    );
                });
            }
        });
        assert_bounded(&server, what);
    }
    assert_eq!(
        post(&server, "", "/v1/checks", JSON, b"{\"gems\":[1]}").0,
        200
    );
}

/// Memory is allocated as data arrives, not when it is announced.
#[test]
fn announced_lengths_take_no_memory() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let waiting: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream =
                TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
            let head = "POST /v1/checks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
            write!(stream, "{head}Content-Length: {BODY}\r\n\r\n").expect("sent");
            stream
        })
        .collect();
    thread::sleep(Duration::from_millis(300));
    let text = prose(1, 300_000);
    assert_eq!(
        post(
            &server,
            "",
            "/v1/checks",
            JSON,
            json!({ "text": text }).to_string().as_bytes()
        )
        .0,
        200
    );
    drop(waiting);
}

/// A single key cannot take all memory: another key's checks and administration continue.
#[test]
fn one_client_takes_no_more_than_a_part() {
    let folder = Folder::new();
    let data = folder.data();
    let (boss, greedy, modest) = (
        key(&data, "--role admin boss"),
        key(&data, "--role check greedy"),
        key(&data, "--role check modest"),
    );
    let server = Server::start_with(SETTINGS, &[], &data);
    // Bodies whose last byte is missing.
    let body = vec![b'a'; BODY - 1];
    let held: Vec<TcpStream> = (0..12)
        .map(|_| {
            let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
            let head =
                format!("POST /v1/checks HTTP/1.1\r\nHost: a\r\nX-Api-Key: {greedy}\r\nContent-Type: text/plain\r\n");
            let _ = write!(stream, "{head}Content-Length: {BODY}\r\n\r\n");
            let _ = stream.write_all(&body);
            stream
        })
        .collect();
    let text = json!({ "text": prose(1, 100_000) }).to_string();
    assert_eq!(
        post(&server, &modest, "/v1/checks", JSON, text.as_bytes()).0,
        200
    );
    let made = json!({ "name": "another", "role": "check" }).to_string();
    assert_eq!(
        post(&server, &boss, "/v1/keys", JSON, made.as_bytes()).0,
        201
    );
    assert_eq!(
        get(&server, &boss, "/v1/keys").1["keys"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
    assert_bounded(&server, "bodies that wait");
    drop(held);
}

/// Calls with small bodies, such as creating a key, have a small body limit.
#[test]
fn a_few_words_are_no_large_body() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let long = json!({ "name": "a".repeat(300_000), "role": "check" }).to_string();
    for path in ["/v1/keys", "/v1/jobs", "/v1/keys/a/rotate"] {
        let (status, answer) = post(&server, "", path, JSON, long.as_bytes());
        assert_eq!(status, 413, "{path}: {answer}");
    }
    let form = format!("gems={}", "1,".repeat(1_500_000));
    let (status, answer) = post(
        &server,
        "",
        "/copyright_check_by_gems/",
        "application/x-www-form-urlencoded",
        form.as_bytes(),
    );
    assert_eq!(status, 413, "{answer}");
}

fn zipped(text: &str) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file("a.txt", zip::write::SimpleFileOptions::default())
        .expect("a member");
    archive.write_all(text.as_bytes()).expect("written");
    archive.finish().expect("an archive").into_inner()
}

#[test]
fn what_is_unpacked_is_accounted_for() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let archive = zipped(&prose(3, 1_500).repeat(6_000));
    assert!(archive.len() < 4 << 20, "{}", archive.len());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (status, answer) = post(&server, "", "/v1/checks", "application/zip", &archive);
                assert!([413, 422, 503].contains(&status), "{status} {answer:.300}");
            });
        }
    });
    assert_bounded(&server, "archives");
    let (status, answer) = post(
        &server,
        "",
        "/v1/checks",
        "application/zip",
        &zipped(&prose(3, 50_000)),
    );
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn compressed_bodies_are_accounted_for() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let text = full("", &prose(3, 1_500), "");
    for (coding, compress) in [
        ("gzip", gzip as fn(&[u8]) -> Vec<u8>),
        ("zstd", |text| {
            zstd::bulk::compress(text, 3).expect("a frame")
        }),
    ] {
        let send = |body: &[u8]| {
            let request = agent()
                .post(format!("{}/v1/checks", server.url))
                .content_type("text/plain")
                .header("Content-Encoding", coding);
            request.send(body).expect("an answer").status().as_u16()
        };
        let body = compress(&text);
        assert!(body.len() < BODY / 8, "{coding}: {}", body.len());
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let status = send(&body);
                    assert!([200, 413, 503].contains(&status), "{coding}: {status}");
                });
            }
        });
        assert_bounded(&server, coding);
        assert_eq!(send(&compress(&text[..100_000])), 200, "{coding}");
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("written");
    encoder.finish().expect("a file")
}

/// A form exists twice while it is read; its parts and their headers are bounded.
#[test]
fn forms_are_accounted_for() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let head = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n";
    let end = "\r\n--x--\r\n";
    let file = format!("{head}\r\n");
    let bodies = [
        ("one large file", full(&file, &prose(1, 500), end)),
        (
            "a long header",
            full(&format!("{head}X-Long: "), "a", "\r\n\r\n\r\n--x--\r\n"),
        ),
        (
            "many headers",
            full(head, "X-A: b\r\n", "\r\n\r\n--x--\r\n"),
        ),
        ("many files", full("", &format!("{file}a\r\n"), end)),
        ("no end", full(&file, "\r\n--x", "")),
        ("no part", full("", "--x--", "")),
        (
            "a hundred files",
            [file.as_str(), &prose(1, 10_000), "\r\n"]
                .concat()
                .repeat(100)
                .into_bytes(),
        ),
    ];
    for (what, body) in bodies {
        thread::scope(|scope| {
            for path in [
                "/v1/checks",
                "/v1/checks:batch",
                "/v1/libraries/l/books?rights=free",
                "/v1/checks:batch",
            ] {
                let (server, body) = (&server, &body);
                scope.spawn(move || {
                    let (status, answer) =
                        post(server, "", path, "multipart/form-data; boundary=x", body);
                    assert!(
                        [0, 200, 400, 413, 503].contains(&status),
                        "{what}: {status} {answer:.300}"
                    );
                });
            }
        });
        assert_bounded(&server, what);
    }
    let (status, answer) = post(
        &server,
        "",
        "/v1/checks",
        "multipart/form-data; boundary=x",
        format!("{file}text{end}").as_bytes(),
    );
    assert_eq!(status, 200, "{answer}");
}

/// Pages that show kept texts next to the text that was checked. Short words cost the most.
#[test]
fn compared_texts_are_accounted_for() {
    let folder = Folder::new();
    let boss = key(&folder.data(), "--role admin boss");
    let reader = key(&folder.data(), "--role texts --library l reader");
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let mut random = Random(1);
    let mut letters = |count: u64| -> String {
        (0..count)
            .map(|_| ["b", "k", "t", "m", "s", " ", " "][random.below(7) as usize])
            .collect()
    };
    let (text, other) = (letters(MIB / 2), letters(4 * MIB));
    for (id, text) in [
        ("1", text.clone()),
        ("2", format!("{text} ")),
        ("3", format!("{text} {other}")),
    ] {
        let book = json!({ "rights": "protected", "text": text, "keep_text": true });
        assert_eq!(
            put(
                &server,
                &boss,
                &format!("/v1/libraries/l/books/{id}"),
                &book
            )
            .0,
            201
        );
    }
    println!("before: {} MiB", peak(&server) / MIB);
    let page = || {
        let request = agent()
            .post(format!("{}/v1/checks", server.url))
            .header("X-Api-Key", &reader);
        let mut answer = request
            .header("Accept", "text/html")
            .content_type("text/plain")
            .send(&text)
            .expect("an answer");
        (
            answer.status().as_u16(),
            answer
                .body_mut()
                .with_config()
                .limit(1 << 30)
                .read_to_string()
                .unwrap_or_default(),
        )
    };
    let (status, alone) = page();
    println!("one: {} MiB", peak(&server) / MIB);
    // The third book is too long to be compared.
    assert_eq!(
        (
            status,
            alone.matches("characters are identical").count() > 1
        ),
        (200, true),
        "{alone:.2000}"
    );
    // The other two are one work, of which the page shows one.
    assert_eq!(alone.matches("<th scope=\"col\">In the book").count(), 1);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (status, answer) = page();
                assert!([200, 503].contains(&status), "{status} {answer:.300}");
            });
        }
    });
    assert_bounded(&server, "compared texts");
    let (status, text) = get(&server, &reader, "/v1/libraries/l/texts/3");
    assert_eq!(
        (status, text.as_str().map(str::len)),
        (200, Some(9 * MIB as usize / 2 + 1))
    );
}

/// Long lines of streams count against the same budget as bodies.
#[test]
fn lines_are_accounted_for() {
    let folder = Folder::new();
    let server = Server::start_with(SETTINGS, &[], &folder.data());
    let text = prose(1, 5_000).repeat(BODY / 10 * 9 / prose(1, 5_000).len());
    let mut line = json!({ "id": "a", "rights": "free", "text": text }).to_string();
    line.push('\n');
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let (status, answer) = post(
                    &server,
                    "",
                    "/v1/libraries/l/books",
                    NDJSON,
                    line.as_bytes(),
                );
                assert_eq!(status, 200, "{answer}");
                let answer: Value = serde_json::from_str(answer.trim()).expect("one line");
                let code = answer["problem"]["code"].as_str();
                assert!(code.is_none() || code == Some("overloaded"), "{answer}");
            });
        }
    });
    assert_bounded(&server, "lines");
}

#[test]
fn what_is_said_of_a_book_is_short_wherever_it_comes_from() {
    let folder = Folder::new();
    let data = folder.data();
    let long = |bytes: usize| "x".repeat(bytes);
    let said = [
        json!({ "title": long(2_001) }),
        json!({ "authors": [long(1_001)] }),
        json!({ "authors": vec!["a"; 101] }),
        json!({ "language": long(65) }),
        json!({ "identifiers": [long(1_001)] }),
        json!({ "identifiers": vec!["a"; 101] }),
        json!({ "authors": vec![long(900); 9] }),
        json!({ "title": long(4 << 20) }),
    ];
    let server = Server::start_with(SETTINGS, &[], &data);
    let mut feed = String::new();
    for said in &said {
        let mut book = said.clone();
        book["rights"] = json!("free");
        book["gems"] = json!([1]);
        let (status, answer) = put(&server, "", "/v1/libraries/l/books/a", &book);
        assert_eq!(
            (status, &answer["code"]),
            (422, &json!("too_long")),
            "{answer}"
        );
        book["id"] = json!("a");
        writeln!(feed, "{book}").expect("text");
    }
    let (_, answers) = post(
        &server,
        "",
        "/v1/libraries/l/books",
        NDJSON,
        feed.as_bytes(),
    );
    assert_eq!(
        answers.matches("\"code\":\"too_long\"").count(),
        said.len(),
        "{answers}"
    );
    let fits =
        json!({ "rights": "free", "gems": [1], "title": long(2_000), "authors": vec!["a"; 100] });
    assert_eq!(put(&server, "", "/v1/libraries/l/books/a", &fits).0, 201);
    // A forged export.
    let export = post_export(&server);
    let forged = export.replace(&long(2_000), &long(2_001));
    let (status, answer) = post(&server, "", "/v1/import", NDJSON, forged.as_bytes());
    assert_eq!(status, 422, "{answer}");
    assert!(answer.contains("title"), "{answer}");
    assert_eq!(
        post(&server, "", "/v1/import", NDJSON, export.as_bytes()).0,
        200
    );
    drop(server);
    // The command line enforces the same limits.
    let feed = folder.file("feed.jsonl", &feed);
    run("ingest --data {} --library l --feed {}", &[&data, &feed]).expect(2);
    let forged = folder.file("export", forged);
    run("import --data {} {}", &[&folder.path("new"), &forged]).expect(2);
}

/// Oversized metadata from a file is truncated, and the book is added.
#[test]
fn what_a_file_says_of_itself_fits() {
    let folder = Folder::new();
    let author = |i: usize| format!("<author><last-name>А{i}</last-name></author>");
    let few = "<author><last-name>".to_owned() + &"Я".repeat(4_000) + "</last-name></author>";
    for (name, authors) in [("few", few), ("many", (0..300).map(author).collect())] {
        let about = format!(
            "{authors}<book-title>{}</book-title><lang>{}</lang>",
            "Ы".repeat(9_000),
            "x".repeat(900)
        );
        let body = format!("<section><p>{}</p></section>", prose(1, 3_000));
        let head = "<description><title-info>".to_owned() + &about + "</title-info></description>";
        let book =
            format!("<?xml version=\"1.0\"?><FictionBook>{head}<body>{body}</body></FictionBook>");
        folder.file(&format!("books/{name}.fb2"), book);
    }
    run(
        "ingest --data {} --library l --rights free {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    let books = run("books list --json --data {}", &[folder.data()])
        .expect(0)
        .json();
    assert_eq!(books.len(), 2);
    for book in books {
        let title = book["title"].as_str().expect("a title");
        assert!(title.starts_with("ЫЫЫ") && title.len() <= 2_000, "{title}");
        assert!(
            (1..=100).contains(&book["authors"].as_array().expect("authors").len()),
            "{book}"
        );
    }
}

fn post_export(server: &Server) -> String {
    get(server, "", "/v1/export")
        .1
        .as_str()
        .expect("text")
        .to_owned()
}

/// A page of large records ends early, and the cursor continues after it.
#[test]
fn pages_have_an_end() {
    const BOOKS: usize = 900;
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let mut feed = String::new();
    for book in 0..BOOKS {
        let authors = vec!["x".repeat(900); 8];
        writeln!(
            feed,
            "{}",
            json!({ "id": format!("{book:04}"), "rights": "free", "gems": [1, 2, 3, 4], "authors": authors })
        )
        .expect("text");
    }
    post(
        &server,
        "",
        "/v1/libraries/l/books",
        NDJSON,
        feed.as_bytes(),
    );
    let (mut seen, mut cursor) = (0, String::new());
    loop {
        let (status, page) = get(
            &server,
            "",
            &format!("/v1/libraries/l/books?limit=1000{cursor}"),
        );
        assert_eq!(status, 200);
        assert!(page.to_string().len() < 5 << 20);
        seen += page["books"].as_array().map_or(0, Vec::len);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, BOOKS);
    // A report says how many matches it omits.
    let body = json!({ "gems": [1, 2, 3, 4], "limit": 1_000 }).to_string();
    let (_, answer) = post(&server, "", "/v1/checks", JSON, body.as_bytes());
    assert!(answer.len() < 5 << 20, "{}", answer.len());
    let report: Value = serde_json::from_str(&answer).expect("a report");
    let shown = report["matches"].as_array().map_or(0, Vec::len);
    assert_eq!(
        (&report["verdict"], &report["total"]),
        (&json!("free"), &json!(BOOKS))
    );
    let left_out = format!("{} matches", BOOKS - shown);
    assert!(
        shown < BOOKS
            && report["note"]
                .as_str()
                .is_some_and(|note| note.contains(&left_out)),
        "{}",
        report["note"]
    );
}

/// Revoking a key ends its open streams.
#[test]
fn a_stream_ends_with_its_key() {
    let folder = Folder::new();
    let data = folder.data();
    let boss = key(&data, "--role admin boss");
    let feed = key(&data, "--role ingest --trusted --library l feed");
    let server = Server::start(&data);
    let mut stream =
        TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a time-out");
    write!(
        stream,
        "POST /v1/libraries/l/books HTTP/1.1\r\nHost: a\r\nX-Api-Key: {feed}\r\nContent-Type: {NDJSON}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    )
    .expect("sent");
    let mut answers = BufReader::new(stream.try_clone().expect("a connection"));
    let mut say = |id: &str| {
        let line = json!({ "id": id, "rights": "free", "gems": [1, 2, 3] }).to_string() + "\n";
        write!(stream, "{:x}\r\n{line}\r\n", line.len()).expect("sent");
        loop {
            let mut line = String::new();
            assert_ne!(
                answers.read_line(&mut line).expect("an answer"),
                0,
                "the answer ended"
            );
            if line.starts_with('{') {
                return serde_json::from_str::<Value>(&line).expect("JSON");
            }
        }
    };
    assert_eq!(say("first")["outcome"], "added");
    let url = format!("{}/v1/keys/feed", server.url);
    let revoked = agent()
        .delete(url)
        .header("X-Api-Key", &boss)
        .call()
        .expect("an answer");
    assert_eq!(revoked.status(), 204);
    let refused = say("second");
    assert_eq!(
        (&refused["outcome"], &refused["problem"]["code"]),
        (&json!("refused"), &json!("bad_key")),
        "{refused}"
    );
    let mut rest = String::new();
    let _ = answers.read_to_string(&mut rest);
    assert_eq!(
        rest.trim_matches(['\r', '\n', '0']),
        "",
        "nothing comes behind"
    );
    assert_eq!(get(&server, &boss, "/v1/libraries/l/books/second").0, 404);
}

/// Stalled exports and imports do not block other calls, and block each other only for a limited time.
#[test]
fn transfers_that_stand_still_stop_nobody() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let mut feed = String::new();
    for book in 0..400 {
        let gems: Vec<u32> = (0..10_000).map(|gem| book * 10_000 + gem).collect();
        writeln!(
            feed,
            "{}",
            json!({ "id": format!("{book}"), "rights": "free", "gems": gems })
        )
        .expect("text");
    }
    post(
        &server,
        "",
        "/v1/libraries/l/books",
        NDJSON,
        feed.as_bytes(),
    );
    let connect =
        || TcpStream::connect(server.url.trim_start_matches("http://")).expect("a connection");
    let unread: Vec<TcpStream> = (0..70)
        .map(|number| {
            let mut stream = connect();
            let head = if number % 2 == 0 {
                "GET /v1/export HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()
            } else {
                format!("POST /v1/import HTTP/1.1\r\nHost: a\r\nContent-Type: {NDJSON}\r\nTransfer-Encoding: chunked\r\n\r\n")
            };
            stream.write_all(head.as_bytes()).expect("sent");
            stream
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    for _ in 0..50 {
        assert_eq!(
            post(&server, "", "/v1/checks", JSON, b"{\"gems\":[1,2,3]}").0,
            200
        );
        assert_eq!(get(&server, "", "/readyz").0, 200);
    }
    let begun = Instant::now();
    // Stalled transfers are cut off although their clients stay connected.
    loop {
        let (status, export) = get(&server, "", "/v1/export");
        if status == 200
            && export
                .as_str()
                .is_some_and(|export| export.contains("\"end\":400"))
        {
            break;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(150),
            "exports that nobody reads hold their places"
        );
        thread::sleep(Duration::from_secs(1));
    }
    for stream in unread {
        let _ = stream.shutdown(Shutdown::Both);
    }
}
