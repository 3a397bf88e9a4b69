//! Invalid requests: each is refused with the right error, and the server keeps running.

use std::io::{Read as _, Write as _};

use serde_json::json;

use super::running::{Answer, BYTES, FORM, JSON, MAX_BODY, NDJSON, Running, TEXT};
use crate::makers;

/// Method, target, content type and body of a request; status and code of the response.
type Row<'a> = (&'a str, &'a str, &'a str, Vec<u8>, u16, &'a str);

const CHECKS: &str = "/v1/checks";
const OLD_CHECKS: &str = "/copyright_check_by_gems/";
const BOOK: &str = "/v1/libraries/house/books/1";

fn many(gems: usize) -> String {
    vec!["1"; gems].join(",")
}

fn long() -> String {
    "x".repeat(100_000)
}

/// Makes sure that each request is refused, and that the server goes on.
fn refused(table: Vec<Row<'_>>) {
    let server = Running::start();
    for (method, target, kind, body, status, code) in table {
        let what = format!(
            "{method} {} {}",
            excerpt(target),
            excerpt(&String::from_utf8_lossy(&body))
        );
        let headers = [("Content-Type", kind)];
        let headers = if kind.is_empty() { &[] } else { &headers[..] };
        server
            .send(method, target, headers, &body)
            .problem(status, code, &what);
        assert_eq!(
            server.get("/healthz").expect(200),
            json!({ "status": "ok" }),
            "after {what}"
        );
    }
    assert_eq!(
        server.get("/v1/stats").expect(200)["books"],
        0,
        "nothing that was refused is kept"
    );
}

#[test]
#[rustfmt::skip]
fn bad_json_is_refused() {
    let nested = |n: usize| format!(r#"{{"gems":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    let library = |name: &str| json!({ "text": "", "library": name }).to_string();
    let long = long();
    refused(vec![
        // Invalid JSON, or JSON with other fields.
        ("POST", CHECKS, JSON, "".into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, "{".into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, "null".into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, "[]".into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, " [[1, 2, 3], null, null, null, null, null, null]".into(), 400, "bad_json"),
        ("PATCH", BOOK, JSON, "[null, null]".into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"["free", null, null, [], null, "text", null, null]"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, "{}".into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"a","gems":[1]}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"a","text":"b"}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"a"} x"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"a","colour":"red"}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, format!(r#"{{"text":"a","{long}":1}}"#).into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":7}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"\ud800"}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"\udc00\ud800 and more"}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, b"{\"text\":\"\xff\xfe\"}".to_vec(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"gems":["a"]}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"gems":[-1]}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"gems":[1.5]}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"gems":[18446744073709551616]}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"gems":[[1]]}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"gems":{"1":2}}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, nested(1_000).into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, nested(1_000_000).into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"a","limit":-1}"#.into(), 400, "bad_json"),
        ("POST", CHECKS, JSON, r#"{"text":"a","limit":1001}"#.into(), 400, "bad_limit"),
        ("POST", CHECKS, JSON, r#"{"text":"a","detail":"yes"}"#.into(), 400, "bad_json"),
        ("POST", "/v1/checks?limit=1", JSON, r#"{"text":"a"}"#.into(), 400, "bad_query"),
        // Valid JSON with unusable values.
        ("POST", CHECKS, JSON, r#"{"gems":[4294967296]}"#.into(), 422, "bad_gem"),
        ("POST", CHECKS, JSON, r#"{"text":"a","recipe":"nonesuch"}"#.into(), 422, "unknown_recipe"),
        ("POST", CHECKS, JSON, r#"{"text":"a","recipe":"Не то"}"#.into(), 422, "unknown_recipe"),
        ("POST", CHECKS, JSON, library("").into(), 422, "bad_name"),
        ("POST", CHECKS, JSON, library("a\nb").into(), 422, "bad_name"),
        ("POST", CHECKS, JSON, library(&long[..513]).into(), 422, "bad_name"),
        ("POST", CHECKS, JSON, library(&long).into(), 422, "too_long"),
        ("POST", CHECKS, JSON, format!(r#"{{"gems":[{}]}}"#, many(100_001)).into(), 413, "too_many_gems"),
        ("POST", CHECKS, JSON, format!(r#"{{"gems":[{}]}}"#, many(10_000_000)).into(), 413, "body_too_large"),
    ]);
}

#[test]
#[rustfmt::skip]
fn bad_bodies_and_forms_are_refused() {
    let long = long();
    let zip = b"PK\x03\x04rest of a file".to_vec();
    let two = makers::zip(&[("a.txt", &b"A stone."[..]), ("b.txt", b"A tree.")]);
    let manifest = b"<manifest><encryption-data/></manifest>";
    let locked = makers::zip(&[
        ("mimetype", &b"application/vnd.oasis.opendocument.text"[..]),
        ("META-INF/manifest.xml", manifest),
    ]);
    refused(vec![
        // Raw bodies.
        ("POST", CHECKS, TEXT, b"fine \xff broken".to_vec(), 400, "undecodable"),
        ("POST", CHECKS, "text/plain; charset=klingon", "a".into(), 415, "unknown_charset"),
        ("POST", CHECKS, "text/html; charset=klingon", "<p>a".into(), 415, "unknown_charset"),
        ("POST", CHECKS, "application/pdf; charset=klingon", zip.clone(), 422, "damaged"),
        // Plain text, whatever it is called.
        ("POST", CHECKS, "application/pdf; charset=klingon", "a".into(), 415, "unknown_charset"),
        ("POST", CHECKS, BYTES, zip, 422, "damaged"),
        ("POST", CHECKS, BYTES, vec![0; 10_000], 422, "not_text"),
        ("POST", CHECKS, BYTES, locked, 422, "encrypted"),
        ("PUT", "/v1/libraries/l/books/1?rights=free", BYTES, two, 422, "several_books"),
        ("POST", "/v1/checks?colour=red", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?limit=many", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?limit=1001", TEXT, "a".into(), 400, "bad_limit"),
        ("POST", "/v1/checks?limit=1&limit=2", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?library=%ff", TEXT, "a".into(), 400, "bad_query"),
        ("POST", "/v1/checks?library=", TEXT, "a".into(), 422, "bad_name"),
        ("POST", "/v1/checks?recipe=nonesuch", TEXT, "a".into(), 422, "unknown_recipe"),
        ("POST", CHECKS, TEXT, vec![b'a'; MAX_BODY + 1], 413, "body_too_large"),
        // Content types.
        ("POST", CHECKS, FORM, "gems=1".into(), 415, "unknown_content_type"),
        ("POST", CHECKS, NDJSON, "{}".into(), 415, "unknown_content_type"),
        ("POST", CHECKS, "multipart/mixed; boundary=x", "a".into(), 415, "unknown_content_type"),
        ("POST", "/v1/keys", "not a type", "{}".into(), 415, "unknown_content_type"),
        ("PUT", BOOK, FORM, "gems=1".into(), 415, "unknown_content_type"),
        ("POST", OLD_CHECKS, JSON, r#"{"gems":[1]}"#.into(), 415, "unknown_content_type"),
        // The form that existing clients send.
        ("POST", OLD_CHECKS, FORM, "".into(), 400, "bad_query"),
        ("POST", OLD_CHECKS, FORM, "gem=1".into(), 400, "bad_query"),
        ("POST", OLD_CHECKS, FORM, "gems=1,x".into(), 400, "bad_gems"),
        ("POST", OLD_CHECKS, FORM, "gems=-1".into(), 400, "bad_gems"),
        ("POST", OLD_CHECKS, FORM, "gems=1.5".into(), 400, "bad_gems"),
        ("POST", OLD_CHECKS, FORM, "gems=1,,2".into(), 400, "bad_gems"),
        ("POST", OLD_CHECKS, FORM, "gems=18446744073709551616".into(), 400, "bad_gems"),
        ("POST", OLD_CHECKS, FORM, format!("gems={long}").into(), 400, "bad_gems"),
        ("POST", OLD_CHECKS, FORM, b"gems=\xff".to_vec(), 400, "bad_query"),
        ("POST", OLD_CHECKS, FORM, "gems=4294967296".into(), 422, "bad_gem"),
        ("POST", OLD_CHECKS, FORM, format!("gems={}", many(100_001)).into(), 413, "too_many_gems"),
        ("POST", OLD_CHECKS, FORM, format!("gems={}", many(10_000_000)).into(), 413, "body_too_large"),
    ]);
}

#[test]
#[rustfmt::skip]
fn bad_books_and_paths_are_refused() {
    let long = long();
    let (far, long_id) = (format!("/{}", &long[..20_000]), format!("/v1/libraries/l/books/{}", &long[..513]));
    refused(vec![
        // Books.
        ("PUT", BOOK, JSON, r#"{"text":"a"}"#.into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"{"rights":"all","text":"a"}"#.into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"{"rights":"free"}"#.into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"{"rights":"free","text":"a","gems":[1]}"#.into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"{"rights":"free","text":"a","recipe":"released"}"#.into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"{"rights":"free","text":"a","authors":"A"}"#.into(), 400, "bad_json"),
        ("PUT", BOOK, JSON, r#"{"rights":"free","gems":[4294967296]}"#.into(), 422, "bad_gem"),
        ("PUT", BOOK, JSON, r#"{"rights":"free","gems":[1],"recipe":"nonesuch"}"#.into(), 422, "unknown_recipe"),
        ("PUT", BOOK, JSON, r#"{"rights":"free","text":" \n"}"#.into(), 422, "no_text"),
        ("PUT", "/v1/libraries/l/books/1?rights=free", TEXT, "".into(), 422, "no_text"),
        ("PUT", BOOK, TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=all", TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=free&rights=free", TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=free&color=red", TEXT, "a".into(), 400, "bad_query"),
        ("PUT", "/v1/libraries/l/books/1?rights=free", BYTES, vec![0; 100], 422, "not_text"),
        ("PUT", BOOK, JSON, vec![b' '; MAX_BODY + 1], 413, "body_too_large"),
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
        ("GET", "/v1/libraries/l/books?cursor=", "", vec![], 400, "bad_cursor"),
        ("GET", "/v1/libraries/l/books?page=2", "", vec![], 400, "bad_query"),
        ("GET", "/nothing", "", vec![], 404, "not_found"),
        ("GET", "/v1/nothing?here", "", vec![], 404, "not_found"),
        ("GET", "/v1/libraries//books", "", vec![], 404, "not_found"),
        ("GET", &far, "", vec![], 404, "not_found"),
        ("GET", &long_id, "", vec![], 422, "bad_name"),
    ]);
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

#[test]
fn a_problem_says_what_to_do() {
    let server = Running::start();
    let table = [
        (
            server.post("/v1/checks", JSON, r#"{"text":"a","colour":"red"}"#),
            "there is no field 'colour'",
        ),
        (
            server.post("/v1/checks", JSON, r#"{"text":"a","gems":[1]}"#),
            "exactly one of 'gems' and 'text'",
        ),
        (
            server.post("/v1/checks?colour=red", TEXT, "a"),
            "there is no field 'colour'",
        ),
        (
            server.post("/v1/checks", NDJSON, "{}"),
            "any type of a text or file",
        ),
        (
            server.post("/copyright_check_by_gems/", FORM, "gems=1,x"),
            "'x' is not a gem",
        ),
        (
            server.put("/v1/libraries/l/books/1", TEXT, "a"),
            "'rights' is missing",
        ),
        (
            server.put("/v1/libraries/l/books/1", JSON, r#"{"text":"a"}"#),
            "the field 'rights' is missing",
        ),
        (
            server.get("/v1/libraries/l/books?limit=0"),
            "from 1 to 1000",
        ),
        (server.get("/v2"), "/v1/checks"),
    ];
    for (answer, words) in table {
        let problem = answer.json();
        assert!(
            problem["detail"].as_str().unwrap().contains(words),
            "{words}: {problem}"
        );
    }
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let server = Running::start();
    let table = [
        ("GET", "/v1/checks", "POST"),
        ("GET", "/copyright_check_by_gems/", "POST"),
        (
            "POST",
            "/v1/libraries/l/books/1",
            "GET, HEAD, PUT, PATCH, DELETE",
        ),
        (
            "BREW",
            "/v1/libraries/l/books/a/b",
            "GET, HEAD, PUT, PATCH, DELETE",
        ),
        ("DELETE", "/v1/libraries", "GET, HEAD"),
        ("PUT", "/v1/libraries/l/books", "GET, HEAD, POST"),
        ("GET", "/v1/checks:batch", "POST"),
        ("POST", "/v1/allow-lists", "GET, HEAD"),
        ("POST", "/v1/stats", "GET, HEAD"),
        ("BREW", "/healthz", "GET, HEAD"),
    ];
    for (method, target, allowed) in table {
        let answer = server.send(method, target, &[], b"");
        answer.problem(405, "method_not_allowed", target);
        let allow = format!("allow: {}", allowed.to_lowercase());
        assert!(
            answer.head.lines().any(|line| line == allow),
            "{target}: {}",
            answer.head
        );
    }
}

/// A body over the limit gets a readable refusal, however it is sent.
#[test]
fn the_limit_holds_for_every_way_of_sending() {
    let server = Running::start();
    let too_large = |answer: Answer, what: &str| {
        let detail = answer.problem(413, "body_too_large", what);
        assert!(
            detail.contains("4194304 bytes (4.0 MiB)") && detail.ends_with("raise max-body"),
            "{detail}"
        );
    };
    // No setting raises the limit of a job's description.
    let detail =
        server
            .post("/v1/jobs", JSON, vec![b' '; MAX_BODY])
            .problem(413, "body_too_large", "a job");
    assert!(
        detail.ends_with("262144 bytes (0.2 MiB); send less"),
        "{detail}"
    );
    let head = "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
    let chunks = |bytes: usize| {
        let mut sent =
            format!("{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
        for _ in 0..bytes / 1024 {
            sent.extend_from_slice(b"400\r\n");
            sent.extend_from_slice(&[b'a'; 1024]);
            sent.extend_from_slice(b"\r\n");
        }
        sent.extend_from_slice(b"0\r\n\r\n");
        sent
    };
    too_large(
        server.post("/v1/checks", TEXT, vec![b'a'; MAX_BODY + 1]),
        "length given",
    );
    too_large(
        server.post("/v1/checks", TEXT, vec![b'a'; 16 * MAX_BODY]),
        "far too much",
    );
    too_large(server.raw(&chunks(MAX_BODY + 1024)), "chunks");
    too_large(server.raw(&chunks(8 * MAX_BODY)), "many chunks");
    server.raw(&chunks(MAX_BODY)).expect(200);
    server
        .post("/v1/checks", TEXT, vec![b'a'; MAX_BODY])
        .expect(200);
    for length in [MAX_BODY as u64 + 1, u64::MAX / 2] {
        let expect = format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
        too_large(server.raw(expect.as_bytes()), "asked before sending");
    }

    let mut waiting = server.connect();
    write!(
        waiting,
        "{head}Connection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    )
    .unwrap();
    let mut line = [0; 25];
    waiting.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
    waiting.write_all(b"word").unwrap();
    Answer::read(waiting).expect(200);
}

#[test]
fn broken_bodies() {
    let server = Running::start();
    let head = "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
    for body in [
        "Content-Length: 100\r\n\r\nnot so many",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nfi",
    ] {
        let mut stream = server.connect();
        write!(stream, "{head}{body}").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(
            Answer::parse(&rest).is_none_or(|answer| answer.status == 400),
            "{body}"
        );
    }
    Answer::problem(
        &server.raw(format!("{head}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n").as_bytes()),
        400,
        "broken_body",
        "chunks that are none",
    );
    let brotli = [("Content-Type", "text/plain"), ("Content-Encoding", "br")];
    server.send("POST", "/v1/checks", &brotli, b"\x0b").problem(
        415,
        "unknown_content_encoding",
        "br",
    );
    let lines = [("Content-Type", NDJSON), ("Content-Encoding", "gzip")];
    server
        .send("POST", "/v1/checks:batch", &lines, b"\x1f\x8b")
        .problem(415, "unknown_content_encoding", "a stream");
    let identity = [
        ("Content-Type", "text/plain"),
        ("Content-Encoding", "identity"),
    ];
    server
        .send("POST", "/v1/checks", &identity, b"word")
        .expect(200);
    assert_eq!(server.get("/healthz").status, 200);
}
