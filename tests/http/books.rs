//! Adding, updating, disabling, removing and listing books.

use lapidary_gems::Recipe;
use serde_json::{Value, json};

use super::running::{JSON, NDJSON, Running, TEXT, assert_has, encoded, gems};
use crate::common::prose;

#[test]
fn a_book_comes_changes_and_goes() {
    let server = Running::of_recipe(&Recipe::documented());
    let (text, other) = (prose(1, 22_000), prose(2, 22_000));
    let book = "/v1/libraries/house/books/1";
    let added = server.put_text(book, "protected", &text).expect(201);
    assert_eq!(added["outcome"], "added");
    assert!(
        added["book"]["gems"]["documented"].as_u64() > Some(100),
        "{added}"
    );
    assert_eq!(server.get(book).expect(200), added["book"]);

    let unchanged = json!({ "outcome": "unchanged", "book": added["book"] });
    assert_eq!(
        server.put_text(book, "protected", &text).expect(200),
        unchanged
    );
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let file = server.put(
        &format!("{book}?rights=protected"),
        "text/plain; charset=utf-16le",
        utf_16,
    );
    assert_eq!(
        file.expect(200),
        unchanged,
        "the same text from a file in another encoding"
    );

    let replaced = server.put_text(book, "free", &other).expect(200);
    assert_eq!(replaced["outcome"], "replaced");
    assert_has(
        &server.check_text(&text),
        json!({ "verdict": "unknown", "total": 0 }),
    );
    assert_has(
        &server.check_text(&other),
        json!({ "verdict": "free", "total": 1 }),
    );

    let delete = || server.send("DELETE", book, &[], b"");
    assert_eq!(delete().expect(204), Value::Null);
    delete().problem(404, "no_such_book", "deleted twice");
    server.get(book).problem(404, "no_such_book", "deleted");
    assert_has(
        &server.check_text(&other),
        json!({ "verdict": "unknown", "total": 0 }),
    );
}

#[test]
fn a_disabled_book_is_kept_and_not_counted() {
    let server = Running::start();
    let text = prose(1, 10_000);
    let book = "/v1/libraries/house/books/1";
    server.put_text(book, "protected", &text).expect(201);
    let patch = |change: Value| {
        server.send(
            "PATCH",
            book,
            &[("Content-Type", JSON)],
            change.to_string().as_bytes(),
        )
    };

    let disabled = patch(json!({ "disabled": true, "note": "complaint 17" })).expect(200);
    assert!(
        disabled["standing"]["disabled_at"].is_string(),
        "{disabled}"
    );
    assert_eq!(disabled["standing"]["note"]["text"], "complaint 17");
    assert_has(
        &server.check_text(&text),
        json!({ "verdict": "unknown", "total": 0, "disabled": 1, "matches": [] }),
    );
    let stats = server.get("/v1/stats").expect(200);
    assert_eq!(
        (&stats["disabled"], &stats["libraries"][0]["disabled"]),
        (&json!(1), &json!(1))
    );

    assert_eq!(
        server.put_text(book, "protected", &text).expect(200)["outcome"],
        "unchanged",
        "a feed sent again"
    );
    let replaced = server.put_text(book, "free", &prose(2, 10_000)).expect(200);
    assert_eq!(replaced["outcome"], "replaced");
    assert_eq!(
        replaced["book"]["standing"], disabled["standing"],
        "a new text does not enable it"
    );
    assert_eq!(server.get(book).expect(200), replaced["book"]);

    let enabled = patch(json!({ "disabled": false, "note": "" })).expect(200);
    let standing = &enabled["standing"];
    assert_eq!(
        (&standing["disabled_at"], &standing["note"]),
        (&Value::Null, &Value::Null)
    );
    assert!(standing["amended_at"].is_string(), "{enabled}");
    assert_has(
        &server.check_text(&prose(2, 10_000)),
        json!({ "verdict": "free", "disabled": 0 }),
    );
    assert_eq!(server.get("/v1/stats").expect(200)["disabled"], 0);

    patch(json!({ "disabled": "yes" })).problem(400, "bad_json", "no boolean");
    patch(json!({ "note": "x".repeat(4_001) })).problem(422, "long_note", "a long note");
    patch(json!({ "validity": { "from": "2026-02-01", "until": "2026-01-01" } })).problem(
        422,
        "bad_validity",
        "dates",
    );
    patch(json!({ "validity": [null, null] })).problem(400, "bad_json", "an object");
    let missing = server.send(
        "PATCH",
        "/v1/libraries/house/books/2",
        &[("Content-Type", JSON)],
        b"{}",
    );
    missing.problem(404, "no_such_book", "not there");
}

#[test]
fn a_removed_book_is_not_counted_and_can_be_restored() {
    let server = Running::start();
    let text = prose(1, 10_000);
    let book = "/v1/libraries/house/books/1";
    let added = server.put_text(book, "protected", &text).expect(201);
    let patch = |change: Value| {
        let change = change.to_string();
        server.send("PATCH", book, &[("Content-Type", JSON)], change.as_bytes())
    };
    let found = |state: &str| {
        let found = server.get(&format!("/v1/books?state={state}")).expect(200);
        found["books"].as_array().expect("books").len()
    };
    let removed = patch(json!({ "removed": true })).expect(200);
    let standing = &removed["standing"];
    assert!(standing["removed_at"].is_string(), "{removed}");
    assert_has(
        &server.check_text(&text),
        json!({ "verdict": "unknown", "matches": [] }),
    );
    assert_eq!((found("removed"), found("disabled")), (1, 1));
    assert_eq!(server.get("/v1/stats").expect(200)["disabled"], 1);
    let again = patch(json!({ "removed": true })).expect(200);
    assert_eq!(again["standing"]["removed_at"], standing["removed_at"]);

    let restored = patch(json!({ "removed": false })).expect(200);
    assert_eq!(restored["gems"], added["book"]["gems"]);
    let restored = &restored["standing"];
    assert!(
        restored["removed_at"].is_null() && restored["disabled_at"].is_null(),
        "{restored}"
    );
    assert_eq!((found("removed"), found("disabled")), (0, 0));
    assert_has(
        &server.check_text(&text),
        json!({ "verdict": "protected", "total": 1 }),
    );

    // Enabling it restores it, too, and so does adding it again.
    for restore in [&|| patch(json!({ "disabled": false })).expect(200), &|| {
        server.put_text(book, "protected", &text).expect(200)["book"].clone()
    }] as [&dyn Fn() -> Value; 2]
    {
        patch(json!({ "removed": true })).expect(200);
        let standing = &restore()["standing"];
        assert!(standing["disabled_at"].is_null(), "{standing}");
        assert_eq!(found("removed"), 0);
    }
    // What was disabled before stays disabled.
    for change in [json!({ "disabled": true }), json!({ "removed": true })] {
        patch(change).expect(200);
    }
    let standing = &patch(json!({ "removed": false })).expect(200)["standing"];
    assert!(standing["disabled_at"].is_string(), "{standing}");
    let log = server.get("/v1/audit?library=house&book=1").expect(200);
    let log = log["entries"].to_string();
    assert!(
        log.contains(r#"["disabled","removed"]"#) && log.contains(r#"["enabled","restored"]"#),
        "{log}"
    );
}

#[test]
fn rights_hold_on_their_days() {
    let server = Running::start();
    let text = prose(1, 10_000);
    let validity =
        json!({ "from": "2026-02-01", "until": "2026-02-28", "otherwise": "public_domain" });
    let body = json!({ "rights": "protected", "text": text, "validity": validity });
    server
        .put("/v1/libraries/house/books/1", JSON, body.to_string())
        .expect(201);
    let table = [
        ("2026-01-31", "public_domain"),
        ("2026-02-01", "protected"),
        ("2026-02-28", "protected"),
        ("2026-03-01", "public_domain"),
    ];
    for (day, verdict) in table {
        let report = server
            .post(&format!("/v1/checks?day={day}"), TEXT, &text)
            .expect(200);
        assert_has(
            &report,
            json!({ "verdict": verdict, "day": day, "total": 1 }),
        );
        assert_has(
            &report["matches"][0]["book"],
            json!({ "rights": verdict, "validity": validity }),
        );
    }
    server
        .post("/v1/checks?day=2026-02-30", TEXT, &text)
        .problem(400, "bad_query", "no such day");
    let always = json!({ "validity": {} }).to_string();
    let book = server.send(
        "PATCH",
        "/v1/libraries/house/books/1",
        &[("Content-Type", JSON)],
        always.as_bytes(),
    );
    assert_eq!(book.expect(200)["standing"]["validity"], Value::Null);
    assert_eq!(server.check_text(&text)["verdict"], "protected");
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

    let query = format!(
        "rights=unknown&title={}&author=A+B&author=C%26D&language=en",
        encoded("Что?")
    );
    let added = server
        .put(
            &format!("/v1/libraries/house/books/raw?{query}"),
            TEXT,
            "short",
        )
        .expect(201);
    let said = [
        ("rights", json!("unknown")),
        ("title", json!("Что?")),
        ("authors", json!(["A B", "C&D"])),
    ];
    for (name, value) in said {
        assert_eq!(added["book"][name], value);
    }
    assert_eq!(added["book"]["language"], "en");
}

/// Requests that would take a book out of the checks must be explicit.
#[test]
fn no_book_is_emptied_by_mistake() {
    let server = Running::of_recipe(&Recipe::documented());
    let (book, text) = ("/v1/libraries/house/books/book", prose(3, 6_000));
    server.put_text(book, "protected", &text).expect(201);
    let line = |mut book: Value| {
        book["id"] = json!("book");
        server
            .post("/v1/libraries/house/books", NDJSON, book.to_string())
            .lines()
            .remove(0)
    };
    for empty in [
        json!({ "rights": "protected", "text": "…" }),
        json!({ "rights": "free", "gems": [] }),
    ] {
        let said =
            server
                .put(book, JSON, empty.to_string())
                .problem(409, "would_be_empty", "by JSON");
        assert!(said.contains("house/book has gems of documented"), "{said}");
        assert_eq!(line(empty)["problem"]["code"], "would_be_empty");
    }
    server
        .put(&format!("{book}?rights=protected"), TEXT, "…")
        .problem(409, "would_be_empty", "by a text");
    server
        .put(
            &format!("{book}?rights=protected&allow_empty=false"),
            TEXT,
            "…",
        )
        .problem(409, "would_be_empty", "no");
    server
        .put(
            &format!("{book}?rights=protected&allow_empty=no"),
            TEXT,
            "…",
        )
        .problem(400, "bad_query", "neither");
    assert_eq!(server.check_text(&text)["verdict"], "protected");

    let again = || server.put_text(book, "protected", &text);
    server
        .put(
            &format!("{book}?rights=protected&allow_empty=true"),
            TEXT,
            "…",
        )
        .expect(200);
    assert_eq!(server.check_text(&text)["verdict"], "unknown");
    again().expect(200);
    let by_body = json!({ "rights": "free", "gems": [], "allow_empty": true });
    server.put(book, JSON, by_body.to_string()).expect(200);
    again().expect(200);
    assert_eq!(line(by_body)["outcome"], "replaced");
    again().expect(200);
    let plain = json!({ "rights": "free", "gems": [] }).to_string();
    server
        .put(&format!("{book}?allow_empty=true"), JSON, &plain)
        .expect(200);
    server.put(book, JSON, plain).expect(200);
    // A new book may be too short to have gems.
    server
        .put_text("/v1/libraries/house/books/short", "free", "…")
        .expect(201);
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
            assert_eq!(
                (&added["book"]["library"], &added["book"]["id"]),
                (&json!(library), &json!(id))
            );
            assert_eq!(server.get(&target).expect(200), added["book"]);
        }
    }
    // Slashes, dots and characters that need no encoding address the same books unencoded.
    for id in [
        "a/b",
        "/a",
        "a/",
        "a//b",
        "..",
        ".",
        "../../v1/stats",
        "a+b",
        "books/books",
    ] {
        assert_eq!(
            server
                .get(&format!("/v1/libraries/house/books/{id}"))
                .expect(200)["id"],
            id
        );
    }
    let page = server.get("/v1/libraries/a%2Fb/books").expect(200);
    assert_eq!(page["books"].as_array().unwrap().len(), ids.len());
    for id in ids {
        let target = format!("/v1/libraries/a%2Fb/books/{}", encoded(id));
        assert_eq!(server.send("DELETE", &target, &[], b"").status, 204, "{id}");
    }
    server
        .get("/v1/libraries/a%2Fb/books")
        .problem(404, "no_such_library", "emptied");
}

#[test]
fn pages_and_numbers() {
    let server = Running::of_recipe(&Recipe::documented());
    assert_eq!(
        server.get("/v1/libraries").expect(200),
        json!({ "libraries": [], "next_cursor": null })
    );
    let mut ids: Vec<String> = (0..250).map(|i| format!("книга {i}?")).collect();
    for id in &ids {
        server
            .put_text(
                &format!("/v1/libraries/house/books/{}", encoded(id)),
                "free",
                id,
            )
            .expect(201);
    }
    ids.sort();
    for limit in [1, 99, 125, 250, 1000] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server
                .get(&format!("/v1/libraries/house/books?limit={limit}{cursor}"))
                .expect(200);
            seen.extend(
                page["books"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|book| book["id"].as_str().unwrap().to_owned()),
            );
            let Some(next) = page["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={}", encoded(next));
        }
        assert_eq!(seen, ids, "{limit} a page");
    }
    let first = server.get("/v1/libraries/house/books").expect(200);
    assert_eq!(
        (
            first["books"].as_array().unwrap().len(),
            &first["next_cursor"]
        ),
        (100, &json!(ids[99]))
    );
    let behind = server
        .get(&format!(
            "/v1/libraries/house/books?cursor={}",
            encoded("\u{10FFFF}")
        ))
        .expect(200);
    assert_eq!(behind, json!({ "books": [], "next_cursor": null }));
    let library = &server.get("/v1/libraries").expect(200)["libraries"][0];
    assert_eq!(
        (&library["library"], &library["books"]),
        (&json!("house"), &json!(250))
    );
    let stats = server.get("/v1/stats").expect(200);
    assert_eq!(
        (&stats["books"], &stats["recipes"][0]["recipe"]),
        (&json!(250), &json!("documented"))
    );
    for path in [
        "/v1/stats",
        "/healthz",
        "/readyz",
        "/v1/libraries/house/books",
    ] {
        let head = server.send("HEAD", path, &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
    }
}

#[test]
fn a_book_is_checked_against_all_others() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);
    server
        .put_text(
            "/v1/libraries/other/books/copy",
            "free",
            &text.to_uppercase(),
        )
        .expect(201);
    server
        .put_text("/v1/libraries/house/books/2", "protected", &prose(2, 4_000))
        .expect(201);
    server
        .put_text("/v1/libraries/house/books/empty", "protected", "Too short.")
        .expect(201);
    let report = server.get("/v1/libraries/house/matches/1").expect(200);
    assert_eq!(
        (&report["total"], &report["verdict"]),
        (&json!(1), &json!("free")),
        "{report}"
    );
    let found = &report["matches"][0];
    assert_eq!(
        (&found["book"]["library"], &found["book"]["id"]),
        (&json!("other"), &json!("copy"))
    );
    assert!(!found["spans"].as_array().expect("spans").is_empty());
    for alone in ["2", "empty"] {
        let report = server
            .get(&format!("/v1/libraries/house/matches/{alone}"))
            .expect(200);
        assert_eq!(report["total"], 0, "{report}");
    }
    assert_eq!(
        server.get("/v1/libraries/house/matches/none").expect(404)["code"],
        "no_such_book"
    );
}

#[test]
fn the_audit_log_is_read_for_one_book() {
    let server = Running::start();
    for (library, id) in [("house", "1"), ("other", "1"), ("house", "2")] {
        let path = format!("/v1/libraries/{library}/books/{id}");
        server
            .put_text(&path, "protected", &prose(1, 1_000))
            .expect(201);
        server
            .send(
                "PATCH",
                &path,
                &[("Content-Type", "application/json")],
                br#"{"note": "seen"}"#,
            )
            .expect(200);
    }
    let read = |query: &str| {
        let page = server.get(&format!("/v1/audit?{query}")).expect(200);
        let entries = page["entries"].as_array().expect("entries").clone();
        let shown = |entry: &Value| {
            format!("{} {}/{}", entry["action"], entry["library"], entry["id"]).replace('"', "")
        };
        (
            entries.iter().map(shown).collect::<Vec<_>>(),
            page["next_cursor"].clone(),
        )
    };
    assert_eq!(
        read("library=house&book=1"),
        (
            vec!["added house/1".to_owned(), "amended house/1".to_owned()],
            Value::Null
        )
    );
    assert_eq!(read("library=house").0.len(), 4);
    assert!(read("library=nobody").0.is_empty());
    let (first, next) = read("library=house&limit=3");
    let next = next.as_str().expect("a cursor");
    assert_eq!(first.len(), 3);
    assert_eq!(
        read(&format!("library=house&cursor={next}")).0,
        ["amended house/2"]
    );
    assert_eq!(
        server.get("/v1/audit?book=1").expect(400)["code"],
        "bad_query"
    );
}
