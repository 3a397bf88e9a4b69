//! Checking and adding in one step.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lapidary_gems::Recipe;
use serde_json::{Value, json};

use super::running::{JSON, NDJSON, Running, TEXT, assert_has, encoded, gems};
use crate::common::prose;

const UNLESS: &str = "unless=protected";

fn book(id: usize) -> String {
    format!("/v1/libraries/house/books/{id}")
}

fn text(seed: u64) -> String {
    prose(seed, 4_000)
}

/// The same text with a few typing errors, so that its digest differs.
fn nearly(text: &str, seed: usize) -> String {
    let at = text.len() / 2 + 7 * seed;
    format!("{}x{}", &text[..at], &text[at..])
}

fn count(server: &Running) -> u64 {
    server.get("/v1/stats").expect(200)["books"]
        .as_u64()
        .unwrap()
}

#[test]
fn a_match_refuses_and_changes_nothing() {
    let server = Running::start();
    let (mine, other) = (text(1), text(2));
    server
        .put(
            &format!("{}?rights=protected&{UNLESS}", book(1)),
            TEXT,
            &mine,
        )
        .expect(201);
    let before = (
        server.get(&book(1)).expect(200),
        server.get("/v1/audit?limit=1000").expect(200),
    );
    let copy = nearly(&mine, 1);
    let refused = server.put(&format!("{}?rights=free&{UNLESS}", book(2)), TEXT, &copy);
    let detail = refused.problem(409, "matches", "a copy");
    assert!(detail.contains("house/1"), "{detail}");
    let report = refused.json()["report"].take();
    assert_has(
        &report,
        json!({ "verdict": "protected", "reason": "match", "total": 1 }),
    );
    assert_eq!(
        (
            &report["matches"][0]["book"]["id"],
            report["matches"][0]["spans"].is_array()
        ),
        (&json!("1"), true)
    );
    let body = json!({ "rights": "protected", "text": mine }).to_string();
    server
        .put(&format!("{}?{UNLESS}", book(2)), JSON, &body)
        .problem(409, "matches", "JSON");
    let of_gems = json!({ "rights": "protected", "recipe": "hardened", "gems": gems(&Recipe::hardened(), &mine) });
    server
        .put(&format!("{}?{UNLESS}", book(2)), JSON, of_gems.to_string())
        .problem(409, "matches", "gems");
    server
        .get(&book(2))
        .problem(404, "no_such_book", "not added");
    assert_eq!(
        (
            server.get(&book(1)).expect(200),
            server.get("/v1/audit?limit=1000").expect(200)
        ),
        before
    );

    // A book that may be published keeps nobody out, and another text matches nothing.
    server
        .put(&format!("{}?rights=free&{UNLESS}", book(3)), TEXT, &other)
        .expect(201);
    server
        .put(
            &format!("{}?rights=free&{UNLESS}", book(4)),
            TEXT,
            nearly(&other, 1),
        )
        .expect(201);
    // Refused as a new version, too; the old one stays.
    server
        .put(&format!("{}?rights=free&{UNLESS}", book(4)), TEXT, &copy)
        .problem(409, "matches", "a new version");
    assert_eq!(server.check_text(&other)["total"], 2);
}

#[test]
fn a_match_that_refuses_nothing_is_told() {
    let server = Running::start();
    let put = |id: usize, text: &str| {
        let place = format!("{}?rights=free&{UNLESS}", book(id));
        server.put(&place, TEXT, text).expect(201)
    };
    let named = |answer: &Value| answer["matches"][0]["id"].clone();
    assert_eq!(put(1, &text(1))["matches"], Value::Null);
    assert_eq!(put(2, &text(2))["matches"], Value::Null);
    let twin = put(3, &nearly(&text(1), 1));
    assert_eq!(named(&twin), "1", "{twin}");
    let line = json!({ "id": "4", "rights": "free", "text": text(2) }).to_string() + "\n";
    let answers = server.post(&format!("/v1/libraries/house/books?{UNLESS}"), NDJSON, line);
    assert_eq!(named(&answers.lines()[0]), "2");
}

#[test]
fn what_is_excluded_does_not_count() {
    let server = Running::start();
    let mine = text(1);
    let put = |id: usize, query: &str, text: &str| {
        server.put(
            &format!("{}?rights=protected&{UNLESS}{query}", book(id)),
            TEXT,
            text,
        )
    };
    put(1, "", &mine).expect(201);
    // A book never matches the version of itself that it replaces.
    assert_eq!(put(1, "", &mine).expect(200)["outcome"], "unchanged");
    assert_eq!(
        put(1, "", &nearly(&mine, 1)).expect(200)["outcome"],
        "replaced"
    );
    put(2, "", &mine).problem(409, "matches", "under another id");
    put(2, "&except=3", &mine).problem(409, "matches", "another book is excluded");
    put(2, "&except=3&except=1", &mine).expect(201);
    put(3, "&except=1", &mine).problem(409, "matches", "book 2 is not excluded");
    put(3, "&except=same-library", &mine).expect(201);
    let abroad = |query: &str| {
        let path = format!("/v1/libraries/abroad/books/1?rights=protected&{UNLESS}{query}");
        server
            .put(&path, TEXT, &mine)
            .problem(409, "matches", query);
    };
    abroad("&except=same-library");
    abroad("&except=1&except=2&except=3");
    // Even what is there unchanged is checked.
    server
        .put("/v1/libraries/abroad/books/2?rights=protected", TEXT, &mine)
        .expect(201);
    put(1, "&except=same-library", &nearly(&mine, 1)).problem(
        409,
        "matches",
        "unchanged, but abroad has it",
    );
    for wrong in ["&unless=protected", "&except=", "&nonsense=1"] {
        assert!(matches!(put(9, wrong, "x").status, 400 | 422), "{wrong}");
    }
    let beside = |query: &str, kind| server.put(&format!("{}?{query}", book(9)), kind, "{}");
    beside("rights=free&unless=free", TEXT).problem(400, "bad_query", "only protected");
    beside("rights=free&except=1", TEXT).problem(400, "bad_query", "except alone");
    beside("rights=free", JSON).problem(400, "bad_query", "rights are in the body");
    let inside = json!({ "rights": "free", "text": "x", "unless": "protected" }).to_string();
    server
        .put(&book(9), JSON, inside)
        .problem(400, "bad_json", "unless is in the query");
}

#[test]
fn of_sixteen_clients_with_one_text_one_adds_it() {
    for round in 0..4 {
        let server = Running::start();
        server
            .put(&format!("{}?rights=free", book(999)), TEXT, text(9))
            .expect(201);
        let mine = text(round);
        let start = Barrier::new(16);
        let add = |id: usize| {
            let text = if round % 2 == 0 {
                mine.clone()
            } else {
                nearly(&mine, id)
            };
            start.wait();
            if id.is_multiple_of(2) {
                server
                    .put(
                        &format!("{}?rights=protected&{UNLESS}", book(id)),
                        TEXT,
                        &text,
                    )
                    .status
            } else {
                let line = json!({ "id": id.to_string(), "rights": "protected", "text": text, "unless": "protected" });
                let answers = server
                    .post("/v1/libraries/house/books", NDJSON, line.to_string())
                    .lines();
                match (
                    answers[0]["outcome"].as_str(),
                    answers[0]["problem"]["code"].as_str(),
                ) {
                    (Some("added"), None) => 201,
                    (Some("refused"), Some("matches")) => 409,
                    _ => panic!("{answers:?}"),
                }
            }
        };
        let statuses: Vec<u16> = thread::scope(|scope| {
            let clients: Vec<_> = (0..16).map(|id| scope.spawn(move || add(id))).collect();
            clients
                .into_iter()
                .map(|client| client.join().unwrap())
                .collect()
        });
        assert_eq!(
            statuses.iter().filter(|status| **status == 201).count(),
            1,
            "{statuses:?}"
        );
        assert_eq!(
            statuses.iter().filter(|status| **status == 409).count(),
            15,
            "{statuses:?}"
        );
        assert_eq!(count(&server), 2);
    }
}

#[test]
fn lines_of_a_stream_pass_the_gate_one_by_one() {
    let server = Running::start();
    let line = |id: &str, seed: u64, more: Value| {
        let mut line = json!({ "id": id, "rights": "protected", "text": text(seed) });
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        line.to_string() + "\n"
    };
    let feed = [
        line("a", 1, json!({})),
        line("b", 1, json!({})),
        line("c", 1, json!({ "unless": "protected", "except": ["a"] })),
        line("d", 2, json!({})),
        line(
            "e",
            1,
            json!({ "unless": "protected", "except": ["same-library"] }),
        ),
        line("f", 3, json!({ "except": ["a"] })),
    ];
    let answers = server
        .post(
            &format!("/v1/libraries/house/books?{UNLESS}"),
            NDJSON,
            feed.concat(),
        )
        .lines();
    let outcomes: Vec<&str> = answers
        .iter()
        .map(|answer| answer["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        ["added", "refused", "added", "added", "added", "refused"]
    );
    let refused = &answers[1]["problem"];
    assert_eq!(
        (&refused["code"], &refused["status"]),
        (&json!("matches"), &json!(409))
    );
    assert_eq!(refused["report"]["matches"][0]["book"]["id"], "a");
    assert_eq!(
        refused["report"]["matches"][0]["spans"],
        json!([]),
        "the answers of streams are short"
    );
    assert_eq!(answers[5]["problem"]["code"], "bad_query");
    let again = server.post(
        &format!("/v1/libraries/house/books?{UNLESS}&except=same-library"),
        NDJSON,
        feed[..2].concat(),
    );
    let outcomes: Vec<Value> = again
        .lines()
        .iter()
        .map(|answer| answer["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["unchanged", "added"]);
    let part = |name: &str, seed| {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{}\r\n",
            text(seed)
        )
    };
    let form = part("g.txt", 1) + &part("h.txt", 7) + "--x--\r\n";
    let path = format!("/v1/libraries/house/books?rights=protected&{UNLESS}");
    let answers = server
        .post(&path, "multipart/form-data; boundary=x", form)
        .lines();
    assert_eq!(
        (&answers[0]["problem"]["code"], &answers[1]["outcome"]),
        (&json!("matches"), &json!("added"))
    );
    server
        .post("/v1/libraries/house/books?rights=free", NDJSON, "")
        .problem(400, "bad_query", "no such parameter");
}

#[test]
fn a_check_that_could_miss_a_book_lets_none_in() {
    let server = Running::start();
    let put = |id: usize, query: &str, body: Value| {
        server.put(&format!("{}?{query}", book(id)), JSON, body.to_string())
    };
    let of_gems = |recipe: &Recipe, seed| json!({ "rights": "protected", "recipe": recipe.name(), "gems": gems(recipe, &text(seed)) });
    // Known by gems of one recipe only. The check of a text uses both recipes and finds it.
    put(1, "", of_gems(&Recipe::released(), 1)).expect(201);
    put(2, UNLESS, json!({ "rights": "free", "text": text(1) })).problem(
        409,
        "matches",
        "found by the other recipe",
    );
    put(2, UNLESS, json!({ "rights": "free", "text": text(2) })).expect(201);
    // Neither recipe reaches all books now, and both together do.
    put(3, "", of_gems(&Recipe::hardened(), 3)).expect(201);
    put(4, UNLESS, json!({ "rights": "free", "text": text(3) })).problem(
        409,
        "matches",
        "found by the default",
    );
    put(4, UNLESS, json!({ "rights": "free", "text": text(1) })).problem(
        409,
        "matches",
        "found by the other recipe",
    );
    assert_eq!(
        put(4, UNLESS, json!({ "rights": "free", "text": text(4) })).expect(201)["coverage"],
        Value::Null
    );
    let report = server.check_text(&text(5));
    assert_eq!(
        (&report["coverage"], &report["note"]),
        (&Value::Null, &Value::Null),
        "{report}"
    );
    // Gems can be compared with those of their recipe alone.
    put(5, UNLESS, of_gems(&Recipe::hardened(), 5)).problem(
        409,
        "check_incomplete",
        "book 1 of this library",
    );
    put(5, UNLESS, of_gems(&Recipe::hardened(), 3)).problem(409, "matches", "a match is a match");
    put(
        5,
        &format!("{UNLESS}&except=same-library"),
        of_gems(&Recipe::hardened(), 5),
    )
    .expect(201);
}

#[test]
fn what_one_library_lacks_keeps_no_other_out() {
    let server = Running::start();
    let of_gems = |recipe: &Recipe, seed| json!({ "rights": "protected", "recipe": recipe.name(), "gems": gems(recipe, &text(seed)) });
    let put = |path: &str, body: Value| {
        server.put(&format!("/v1/libraries/{path}"), JSON, body.to_string())
    };
    put("one/books/1", of_gems(&Recipe::released(), 1)).expect(201);
    put("two/books/1", of_gems(&Recipe::hardened(), 2)).expect(201);
    put(
        "house/books/1?unless=protected",
        json!({ "rights": "protected", "text": text(3) }),
    )
    .expect(201);
    let added = put(
        "house/books/2?unless=protected",
        of_gems(&Recipe::hardened(), 4),
    )
    .expect(201);
    assert_eq!(
        added["coverage"],
        json!({ "books": 2, "total": 3 }),
        "the answer says that one was not compared"
    );
    let line = json!({ "id": "3", "rights": "free", "recipe": "released", "gems": gems(&Recipe::released(), &text(5)) });
    let answers = server
        .post(
            "/v1/libraries/three/books?unless=protected",
            NDJSON,
            line.to_string(),
        )
        .lines();
    assert_eq!(
        (&answers[0]["outcome"], &answers[0]["coverage"]),
        (&json!("added"), &json!({ "books": 2, "total": 4 }))
    );
    // A partner's gems are checked, and the report says the same.
    let report = server.post(
        "/v1/checks",
        JSON,
        json!({ "gems": gems(&Recipe::hardened(), &text(3)) }).to_string(),
    );
    assert_has(
        &report.expect(200),
        json!({ "verdict": "protected", "coverage": { "books": 3, "total": 5 } }),
    );
    let all = server.get("/v1/stats").expect(200);
    let of_one = all["libraries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|library| library["library"] == "one")
        .unwrap();
    assert_eq!(of_one["recipes"], json!({ "released": 1 }));
}

/// A book that lost its only recipe can be found by nobody. That is a matter of its own library.
#[test]
fn what_one_library_loses_with_a_recipe_keeps_no_other_out() {
    let server = Running::start();
    let of_gems = |recipe: &Recipe, seed| json!({ "rights": "protected", "recipe": recipe.name(), "gems": gems(recipe, &text(seed)) });
    let of_text = |seed| json!({ "rights": "protected", "text": text(seed) });
    let put = |path: &str, body: Value| {
        server.put(&format!("/v1/libraries/{path}"), JSON, body.to_string())
    };
    put("house/books/1?unless=protected", of_text(1)).expect(201);
    put("other/books/1", of_gems(&Recipe::released(), 2)).expect(201);
    let job = json!({ "kind": "drop_recipe", "recipe": "released" }).to_string();
    let job = server.post("/v1/jobs", JSON, job).expect(202)["id"].clone();
    let since = Instant::now();
    while server.get(&format!("/v1/jobs/{job}")).expect(200)["state"] != "done" {
        assert!(
            since.elapsed() < Duration::from_mins(1),
            "{}",
            server.get("/v1/jobs").expect(200)
        );
        thread::sleep(Duration::from_millis(50));
    }
    let added = put("house/books/2?unless=protected", of_text(3)).expect(201);
    assert_eq!(
        added["coverage"],
        json!({ "books": 1, "total": 2 }),
        "the answer says that one was not compared"
    );
    put("house/books/3?unless=protected", of_text(1)).problem(409, "matches", "a match is a match");
    let refused = put("other/books/2?unless=protected", of_text(4));
    let detail = refused.problem(409, "check_incomplete", "a book of this library");
    assert!(detail.contains("0 of 1 books of the library"), "{detail}");
    put(
        "other/books/2?unless=protected&except=same-library",
        of_text(4),
    )
    .expect(201);
    // What lacks a recipe can be replaced, which ends it.
    put("other/books/1?unless=protected", of_text(2)).expect(200);
    assert_eq!(
        put("other/books/3?unless=protected", of_text(5)).expect(201)["coverage"],
        Value::Null
    );
}

/// Books that cannot match one another do not wait for one another, and of those that can, one is added.
#[test]
fn of_many_texts_at_once_each_is_added_once() {
    let server = Running::start();
    server
        .put(&format!("{}?rights=free", book(999)), TEXT, text(99))
        .expect(201);
    let start = Barrier::new(12);
    let add = |id: usize| {
        let text = nearly(&text(id as u64 % 4), id);
        start.wait();
        server
            .put(
                &format!("{}?rights=protected&{UNLESS}", book(id)),
                TEXT,
                &text,
            )
            .status
    };
    let statuses: Vec<u16> = thread::scope(|scope| {
        let clients: Vec<_> = (0..12).map(|id| scope.spawn(move || add(id))).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    for text in 0..4 {
        let of_text = || statuses.iter().skip(text).step_by(4);
        assert_eq!(
            of_text().filter(|status| **status == 201).count(),
            1,
            "{statuses:?}"
        );
        assert_eq!(
            of_text().filter(|status| **status == 409).count(),
            2,
            "{statuses:?}"
        );
    }
}

#[test]
fn the_gate_honours_what_a_check_honours() {
    let server = Running::start();
    let mine = text(1);
    let protected = |validity: Value| {
        json!({ "rights": "protected", "text": mine, "validity": validity }).to_string()
    };
    let gate = |what: &str| {
        let answer = server.put(&format!("{}?rights=free&{UNLESS}", book(2)), TEXT, &mine);
        server.send("DELETE", &book(2), &[], b"");
        assert!(
            [201, 409].contains(&answer.status),
            "{what}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        answer.status == 201
    };
    server
        .put(&book(1), JSON, protected(json!({ "until": "2020-01-01" })))
        .expect(201);
    assert!(gate("the rights have ended"));
    server
        .put(
            &book(1),
            JSON,
            protected(json!({ "from": "2020-01-01", "otherwise": "free" })),
        )
        .expect(200);
    assert!(!gate("the rights hold today"));
    let disabled = |disabled: bool| {
        let change = json!({ "disabled": disabled }).to_string();
        server
            .send(
                "PATCH",
                &book(1),
                &[("Content-Type", JSON)],
                change.as_bytes(),
            )
            .expect(200);
    };
    disabled(true);
    assert!(gate("a disabled book does not count"));
    disabled(false);
    assert!(!gate("enabled again"));
    let allow = json!({ "book": { "library": "house", "id": "1" } }).to_string();
    server
        .put(
            &format!("/v1/allow-lists/{}", encoded("licensed")),
            JSON,
            allow,
        )
        .expect(201);
    assert!(gate("an allow-list"));
}
