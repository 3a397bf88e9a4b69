//! Streams of lines: batches of checks and feeds of books.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use lapidary_gems::Recipe;
use serde_json::{Value, json};

use super::running::{JSON, MAX_BODY, NDJSON, Running, TEXT, assert_has};
use crate::common::prose;

#[test]
fn a_batch_answers_every_line_in_its_place() {
    let server = Running::start();
    let texts: Vec<String> = (0..3).map(|seed| prose(seed, 4_000)).collect();
    server
        .put_text("/v1/libraries/house/books/0", "protected", &texts[0])
        .expect(201);
    server
        .put_text("/v1/libraries/house/books/1", "free", &texts[1])
        .expect(201);
    let mut batch = String::new();
    for (i, text) in texts.iter().enumerate() {
        writeln!(
            batch,
            "{}",
            json!({ "text": text, "ref": format!("upload {i}"), "detail": false })
        )
        .unwrap();
    }
    batch += "\n{\"text\": \n";
    batch += "{\"ref\": 7, \"colour\": \"red\"}\r\n";
    batch += "\u{1}\n";
    writeln!(
        batch,
        "{}",
        json!({ "gems": [1], "ref": "x".repeat(2_000) })
    )
    .unwrap();
    writeln!(
        batch,
        "{}",
        json!({ "gems": [4_294_967_296_u64], "ref": { "a": [1] } })
    )
    .unwrap();
    batch += "{\"gems\": [1, 2, 3]}";
    let answers = server.post("/v1/checks:batch", NDJSON, &batch).lines();
    let said: Vec<_> = answers
        .iter()
        .map(|answer| {
            let said = answer["report"]["verdict"]
                .as_str()
                .or(answer["problem"]["code"].as_str())
                .unwrap();
            (
                answer["line"].as_u64().unwrap(),
                answer["ref"].clone(),
                said.to_owned(),
            )
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
    assert_eq!(
        said,
        expected.map(|(line, mark, said)| (line, mark, said.to_owned()))
    );
    let alone = server
        .post("/v1/checks?detail=false", TEXT, &texts[0])
        .expect(200);
    assert_eq!(answers[0]["report"], alone, "the same answer as by itself");
    server
        .post("/v1/checks:batch", JSON, "{}")
        .problem(415, "unknown_content_type", "no lines");
    assert_eq!(
        server.post("/v1/checks:batch", NDJSON, "").lines(),
        [Value::Null; 0]
    );
}

#[test]
fn a_batch_has_an_end_and_a_line_too() {
    let server = Running::start();
    let answers = server
        .post(
            "/v1/checks:batch",
            NDJSON,
            "{\"gems\":[1]}\n".repeat(10_002),
        )
        .lines();
    assert_eq!(answers.len(), 10_002);
    let wrong: Vec<u64> = answers
        .iter()
        .filter(|a| a["problem"].is_object())
        .map(|a| a["line"].as_u64().unwrap())
        .collect();
    assert_eq!(wrong, [10_001, 10_002]);
    assert_eq!(answers[10_001]["problem"]["code"], "too_many_checks");

    let long = format!(
        "{{\"text\":\"{}\"}}\n{{\"gems\":[1]}}\n",
        "a".repeat(3 * MAX_BODY)
    );
    let answers = server.post("/v1/checks:batch", NDJSON, long).lines();
    assert_eq!(
        (&answers[0]["line"], &answers[0]["problem"]["code"]),
        (&json!(1), &json!("body_too_large"))
    );
    assert_eq!(
        (&answers[1]["line"], &answers[1]["report"]["verdict"]),
        (&json!(2), &json!("unknown"))
    );
}

/// Responses are not buffered, so a client may wait for each one before it sends the next line.
#[test]
fn a_feed_answers_as_books_land() {
    let server = Running::of_recipe(&Recipe::documented());
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
        (
            json!({ "id": "a/1", "rights": "free", "text": text }),
            "added",
        ),
        (
            json!({ "id": "a/1", "rights": "free", "text": text }),
            "unchanged",
        ),
        (
            json!({ "id": "a/1", "rights": "protected", "text": text }),
            "replaced",
        ),
        (json!({ "id": "b", "rights": "free" }), "refused"),
        (
            json!({ "id": "b", "rights": "free", "gems": [1, 2], "recipe": "released" }),
            "refused",
        ),
        (
            json!({ "id": "c", "rights": "free", "gems": [1, 2], "recipe": "documented" }),
            "added",
        ),
    ];
    for (i, (book, outcome)) in books.iter().enumerate() {
        let line = format!("{book}\n");
        write!(stream, "{:x}\r\n{line}\r\n", line.len()).unwrap();
        let answer = next();
        assert_has(
            &answer,
            json!({ "line": i + 1, "id": book["id"], "outcome": outcome }),
        );
        if *outcome != "refused" {
            let book = server.get(&format!(
                "/v1/libraries/house/books/{}",
                book["id"].as_str().unwrap()
            ));
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
        let answers = server
            .post("/v1/libraries/house/books", NDJSON, &feed)
            .lines();
        assert_eq!(answers.len(), 202);
        assert!(
            (1..)
                .zip(&answers)
                .all(|(line, answer)| answer["line"] == line)
        );
        let count = |outcome: &str| {
            answers
                .iter()
                .filter(|answer| answer["outcome"] == outcome)
                .count()
        };
        let codes: Vec<_> = answers
            .iter()
            .filter_map(|answer| answer["problem"]["code"].as_str())
            .collect();
        assert_eq!(codes, ["bad_json", "bad_name"]);
        ["added", "replaced", "unchanged", "refused"].map(count)
    };
    assert_eq!(
        outcomes(),
        [150, 0, 50, 2],
        "a book that comes twice in one feed is there the second time"
    );
    let before = server.get("/v1/libraries").expect(200);
    assert_eq!(outcomes(), [0, 0, 200, 2]);
    assert_eq!(server.get("/v1/libraries").expect(200), before);
}
