//! Compressed requests and answers.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::running::{Answer, JSON, MAX_BODY, Running, TEXT};
use crate::common::prose;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}

pub fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let start = format!("{name}: ");
    answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix(&*start))
}

/// The same books under many ids, so that a report of them is long.
fn server() -> Running {
    let server = Running::start();
    for id in 0..40 {
        server
            .put_text(
                &format!("/v1/libraries/house/books/{id}"),
                "protected",
                &prose(1, 3_000),
            )
            .expect(201);
    }
    server
}

#[test]
fn a_body_may_be_compressed() {
    let server = server();
    let text = prose(1, 3_000);
    let plain = server.check_text(&text);
    assert_eq!(plain["verdict"], "protected");
    let check = json!({ "text": text }).to_string();
    for (coding, encode) in [
        ("gzip", gzip as fn(&[u8]) -> Vec<u8>),
        ("x-gzip", gzip),
        ("ZSTD", zstd),
    ] {
        let (raw, whole) = (encode(text.as_bytes()), encode(check.as_bytes()));
        for (kind, body) in [(TEXT, &raw), (JSON, &whole)] {
            let headers = [("Content-Type", kind), ("Content-Encoding", coding)];
            let report = server
                .send("POST", "/v1/checks", &headers, body)
                .expect(200);
            for field in ["verdict", "covered", "matches"] {
                assert_eq!(report[field], plain[field], "{coding} {field}");
            }
            let cut = &body[..body.len() - 9];
            server
                .send("POST", "/v1/checks", &headers, cut)
                .problem(400, "broken_body", coding);
            server
                .send("POST", "/v1/checks", &headers, b"word")
                .problem(400, "broken_body", coding);
        }
    }
    // A small body that becomes too large is given up on the way.
    for (coding, bomb) in [
        ("gzip", gzip(&vec![b'a'; 16 * MAX_BODY])),
        ("zstd", zstd(&vec![b'a'; 16 * MAX_BODY])),
    ] {
        assert!(bomb.len() < MAX_BODY / 32);
        let headers = [("Content-Type", TEXT), ("Content-Encoding", coding)];
        server
            .send("POST", "/v1/checks", &headers, &bomb)
            .problem(413, "body_too_large", coding);
    }
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_long_answer_is_compressed_for_whoever_takes_it() {
    let server = server();
    let ask = |path: &str, accepted: &str| {
        server.send("GET", path, &[("Accept-Encoding", accepted)], b"")
    };
    let path = "/v1/libraries/house/books?limit=40";
    let plain = server.get(path);
    assert_eq!(header(&plain, "content-encoding"), None);
    let plain = plain.expect(200);
    let zipped = ask(path, "gzip, deflate");
    assert_eq!(header(&zipped, "content-encoding"), Some("gzip"));
    assert!(header(&zipped, "vary").is_some_and(|vary| vary.contains("accept-encoding")));
    let mut json = Vec::new();
    GzDecoder::new(&*zipped.body)
        .read_to_end(&mut json)
        .unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), plain);
    let packed = ask(path, "gzip, zstd");
    assert_eq!(header(&packed, "content-encoding"), Some("zstd"));
    let json = zstd::stream::decode_all(&*packed.body).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap(), plain);
    // What is short, or is named by a tag, stays as it is.
    for path in ["/v1/jobs", "/v1/libraries/house/books/1"] {
        assert_eq!(
            header(&ask(path, "gzip"), "content-encoding"),
            None,
            "{path}"
        );
    }
}
