//! Filed checks, and the decisions about them.

use std::slice::from_ref;

use lapidary_catalogue::EvidenceLimits;
use serde_json::{Value, json};

use super::running::{Answer, FORM, JSON, NDJSON, Running, TEXT, assert_has};
use crate::common::prose;

fn file(server: &Running, text: &str) -> Value {
    let asked = json!({ "text": text, "record": true, "name": "upload.txt", "case": "17/2026" });
    server
        .post("/v1/checks", JSON, asked.to_string())
        .expect(200)
}

fn shown(server: &Running, id: &Value) -> Value {
    server
        .get(&format!("/v1/decisions/{}", id.as_str().expect("an id")))
        .expect(200)
}

#[test]
fn a_filed_check_can_be_repeated() {
    let server = Running::start();
    let (text, other) = (prose(1, 4_000), prose(2, 4_000));
    let empty = file(&server, &text);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);
    let report = file(&server, &text);
    let entry = shown(&server, &report["filed"]);
    let digest = blake3::hash(text.as_bytes()).to_string();
    let expected = json!({
        "id": report["filed"], "check": report["filed"], "ruling": "checked", "digest": digest, "verdict": "protected",
        "name": "upload.txt", "case": "17/2026", "actor": "anonymous"
    });
    assert_has(&entry, expected);
    let filed = &entry["filed"];
    assert_eq!(filed["version"], env!("CARGO_PKG_VERSION"));
    let without_places = |report: &Value| {
        let mut report = report.clone();
        for found in report["matches"].as_array_mut().unwrap() {
            found["spans"] = found["spans"].as_array().unwrap().len().into();
        }
        report["filed"] = Value::Null;
        report
    };
    assert_eq!(without_places(&filed["report"]), without_places(&report));

    // Repeated, the answer and the state are the same, although entries were added meanwhile.
    let again = shown(&server, &file(&server, &text)["filed"]);
    assert_eq!(
        without_places(&again["filed"]["report"]),
        without_places(&filed["report"])
    );
    let of = |entry: &Value| {
        (
            entry["filed"]["catalogue_id"].clone(),
            entry["filed"]["catalogue_digest"].clone(),
        )
    };
    assert_eq!(of(&again), of(&entry));
    // After a change of the catalogue, the state differs.
    let before = shown(&server, &empty["filed"]);
    assert_eq!(of(&before).0, of(&entry).0);
    let mut states = vec![of(&before).1, of(&entry).1];
    let mut now = || {
        let state = of(&shown(&server, &file(&server, &text)["filed"])).1;
        assert!(!states.contains(&state), "{states:?}");
        states.push(state);
    };
    server
        .put_text("/v1/libraries/house/books/2", "free", &other)
        .expect(201);
    now();
    server
        .put_text("/v1/libraries/house/books/2", "unknown", &other)
        .expect(200);
    now();
    server
        .put(
            "/v1/allow-lists/a",
            JSON,
            json!({ "book": { "library": "house", "id": "2" } }).to_string(),
        )
        .expect(201);
    now();
    server.send("DELETE", "/v1/libraries/house/books/2", &[], b"");
    now();
}

/// What waits for a decision is listed, the newest first, page by page.
#[test]
fn filed_checks_are_listed_by_where_they_stand() {
    let server = Running::start();
    server
        .put_text("/v1/libraries/house/books/1", "protected", &prose(1, 4_000))
        .expect(201);
    let open: Vec<Value> = (0..5)
        .map(|number| file(&server, &format!("{} {number}", prose(1, 4_000)))["filed"].clone())
        .collect();
    let watched = file(&server, &prose(2, 4_000))["filed"].clone();
    let short = file(&server, "Too short.")["filed"].clone();
    let walk = |query: &str| {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.get(&format!("/v1/decisions?{query}&limit=2{cursor}"));
            let page = page.expect(200);
            let entries = page["decisions"].as_array().expect("a list");
            assert!(
                !entries.is_empty() || cursor.is_empty(),
                "an empty last page"
            );
            found.extend(entries.iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    };
    let ids = |entries: Vec<Value>| {
        entries
            .iter()
            .map(|one| one["id"].clone())
            .collect::<Vec<_>>()
    };
    let listed = |state: &str| {
        let found = walk(&format!("state={state}"));
        assert!(found.iter().all(|entry| entry["state"] == state));
        ids(found)
    };
    let newest_first =
        |ids: &[&Value]| ids.iter().rev().map(|id| (*id).clone()).collect::<Vec<_>>();
    assert_eq!(
        listed("open"),
        newest_first(&open.iter().collect::<Vec<_>>())
    );
    assert_eq!(listed("watched"), newest_first(&[&watched]));
    assert_eq!(listed("clear"), newest_first(&[&short]));
    let decide = |id: &Value, ruling: &str| {
        let decision = json!({ "check": id, "ruling": ruling, "reason": "why" });
        server
            .post("/v1/decisions", JSON, decision.to_string())
            .expect(201);
    };
    decide(&open[1], "refused");
    decide(&open[2], "refused");
    decide(&open[2], "appealed");
    decide(&open[3], "appealed");
    decide(&open[3], "accepted");
    assert_eq!(listed("open"), newest_first(&[&open[0], &open[4]]));
    assert_eq!(listed("appealed"), newest_first(&[&open[2]]));
    assert_eq!(listed("decided"), newest_first(&[&open[1], &open[3]]));
    assert_eq!(shown(&server, &open[3])["state"], "decided");
    // In whatever state they are.
    let all: Vec<&Value> = open.iter().chain([&watched, &short]).collect();
    assert_eq!(ids(walk("actor=anonymous")), newest_first(&all));
    for query in [
        "state=open&day=2026-01-31",
        "state=new",
        "state=open&cursor=x",
    ] {
        server.get(&format!("/v1/decisions?{query}")).expect(400);
    }
}

fn decide(server: &Running, new: &Value) -> Answer {
    server.post("/v1/decisions", JSON, new.to_string())
}

fn ids_of(server: &Running, query: &str) -> Vec<Value> {
    let page = server.get(&format!("/v1/decisions?{query}")).expect(200);
    let entries = page["decisions"].as_array().expect("a list").iter();
    entries.map(|entry| entry["id"].clone()).collect()
}

/// The queue is narrowed by what an editor looks for, and shared out.
#[test]
fn the_queue_is_searched_and_assigned() {
    let server = Running::start();
    for (book, title, text) in [
        ("house/books/1", "The Lighthouse", prose(1, 4_000)),
        ("other/books/2", "Маяк", prose(2, 4_000)),
    ] {
        let book_is = json!({ "rights": "protected", "title": title, "text": text });
        server
            .put(&format!("/v1/libraries/{book}"), JSON, book_is.to_string())
            .expect(201);
    }
    let whole = file(&server, &prose(1, 4_000))["filed"].clone();
    let half = prose(2, 4_000)[..12_000].to_owned() + &prose(3, 4_000);
    let half = file(&server, &half)["filed"].clone();
    let all = [half.clone(), whole.clone()];
    let entry = shown(&server, &whole);
    assert_eq!(entry["best_match"]["title"], "The Lighthouse", "{entry}");
    assert_eq!(entry["covered"], entry["filed"]["report"]["covered"]);
    for (query, expected) in [
        ("verdict=protected", &all[..]),
        ("verdict=forbidden", &[]),
        ("library=house", &all[1..]),
        ("library=other", &all[..1]),
        ("actor=anonymous&q=UPLOAD%20%2017", &all[..]),
        ("actor=key:shop", &[]),
        ("q=lightho", &all[1..]),
        ("q=%D0%BC%D0%B0%D1%8F", &all[..1]),
        ("q=ighthouse", &[]),
        ("min_covered=0.9", &all[1..]),
        ("min_covered=0.1", &all[..]),
        ("assignee=nobody", &all[..]),
        ("batch=x", &[]),
    ] {
        let found = ids_of(&server, &format!("state=open&{query}"));
        assert_eq!(found, expected, "{query}");
    }
    for query in [
        "verdict=protected&day=2026-01-31",
        "state=open&book=1",
        "q=x&digest=0",
        "state=open&verdict=x",
        "min_covered=-1",
        "state=open&min_covered=1.5",
    ] {
        server.get(&format!("/v1/decisions?{query}")).expect(400);
    }

    // Whoever asks without a key takes a check, or gives it back.
    let assign = |assignee: Option<&str>| {
        decide(
            &server,
            &json!({ "check": whole, "ruling": "assigned", "assignee": assignee }),
        )
    };
    assign(Some("anonymous")).expect(201);
    assert_eq!(ids_of(&server, "state=open&assignee=anonymous"), all[1..]);
    assert_eq!(ids_of(&server, "state=open&assignee=nobody"), all[..1]);
    assert_eq!(shown(&server, &whole)["assignee"], "anonymous");
    assign(Some("key:nobody")).problem(422, "bad_assignee", "no such key");
    assign(None).expect(201);
    assert_eq!(ids_of(&server, "state=open&assignee=nobody"), all);
    assert_eq!(shown(&server, &whole)["state"], "open");

    // What was decided is still found.
    decide(
        &server,
        &json!({ "check": whole, "ruling": "refused", "reason": "a copy" }),
    )
    .expect(201);
    assert_eq!(ids_of(&server, "state=open&q=upload"), all[..1]);
    assert_eq!(ids_of(&server, "q=upload"), all);
    let first = server.get("/v1/decisions?q=upload&limit=1").expect(200);
    assert_eq!(first["decisions"][0]["id"], all[0]);
    let next = first["next_cursor"].as_str().expect("a cursor");
    let rest = ids_of(&server, &format!("q=upload&cursor={next}"));
    assert_eq!(rest, all[1..]);
    assert_eq!(ids_of(&server, "verdict=protected&library=house"), all[1..]);
}

/// A decision is taken back by whoever made it, and what held before holds again.
#[test]
fn a_decision_can_be_taken_back() {
    let server = Running::start();
    server
        .put_text("/v1/libraries/house/books/1", "protected", &prose(1, 4_000))
        .expect(201);
    let check = file(&server, &prose(1, 4_000))["filed"].clone();
    let record = |ruling: &str| {
        let decision = json!({ "check": check, "ruling": ruling, "reason": "why" });
        decide(&server, &decision).expect(201)["id"].clone()
    };
    let back = || decide(&server, &json!({ "check": check, "ruling": "withdrawn" }));
    back().problem(409, "nothing_to_withdraw", "nothing was decided");
    let refused = record("refused");
    record("appealed");
    record("accepted");
    for (state, holds) in [
        ("appealed", None),
        ("decided", Some(&refused)),
        ("open", None),
    ] {
        back().expect(201);
        let entry = shown(&server, &check);
        assert_eq!(entry["state"], state, "{entry}");
        assert!(
            holds.is_none_or(|id| entry["decision_id"] == *id),
            "{entry}"
        );
    }
    back().problem(409, "nothing_to_withdraw", "all is taken back");
    // All of it stays on record, and in the audit log.
    let about = format!(
        "digest={}",
        shown(&server, &check)["digest"].as_str().expect("a digest")
    );
    assert_eq!(ids_of(&server, &about).len(), 7);
    let audit = server.get("/v1/audit?limit=1000").expect(200);
    let noted = audit["entries"].to_string();
    assert_eq!(
        noted.matches("\"ruling\":\"withdrawn\"").count(),
        3,
        "{noted}"
    );
    for wrong in [
        json!({ "check": check, "ruling": "accepted" }),
        json!({ "check": check, "ruling": "accepted", "reason": "x", "assignee": "anonymous" }),
        json!({ "check": check, "ruling": "withdrawn", "assignee": "anonymous" }),
    ] {
        decide(&server, &wrong).problem(422, "bad_decision", "it is not complete");
    }
}

/// What could not be checked is told from what is in no book, wherever a check is answered or listed.
#[test]
fn a_text_that_cannot_be_checked_does_not_look_clean() {
    let server = Running::start();
    server
        .put_text("/v1/libraries/house/books/1", "protected", &prose(1, 4_000))
        .expect(201);
    let texts = ["", " \n", "?!", "Too short."];
    for text in texts {
        let report = file(&server, text);
        assert_has(
            &report,
            json!({ "verdict": "unknown", "reason": "too_short" }),
        );
        assert_has(
            &shown(&server, &report["filed"]),
            json!({ "verdict_reason": "too_short" }),
        );
        let headers = [("Content-Type", TEXT), ("Accept", "text/html")];
        let page = String::from_utf8(
            server
                .send("POST", "/v1/checks", &headers, text.as_bytes())
                .body,
        )
        .unwrap();
        assert!(
            page.contains("class=\"outcome not_checked\">Too short to check"),
            "{page}"
        );
    }
    let lines: String = texts
        .iter()
        .map(|text| json!({ "text": text }).to_string() + "\n")
        .collect();
    for answer in server.post("/v1/checks:batch", NDJSON, lines).lines() {
        assert_eq!(answer["report"]["reason"], "too_short", "{answer}");
    }
    assert_has(
        &file(&server, &prose(2, 4_000)),
        json!({ "verdict": "unknown", "reason": "no_match" }),
    );
    let old = server
        .post("/copyright_check_by_gems/", FORM, "gems=1")
        .expect(200);
    assert_has(&old, json!({ "verdict": "unknown", "reason": "too_short" }));
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(
        metrics.contains("lapidary_checks_total{verdict=\"not_checked\"}"),
        "{metrics}"
    );
}

#[test]
fn decisions_are_kept_and_found() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);
    let check = file(&server, &text)["filed"].clone();
    let other = server
        .post(
            "/v1/checks?record=true&name=b&case=c",
            TEXT,
            prose(2, 4_000),
        )
        .expect(200)["filed"]
        .clone();
    let decide = |check: &Value, ruling: &str, reason: &str| {
        let new = json!({ "check": check, "ruling": ruling, "reason": reason }).to_string();
        server.post("/v1/decisions", JSON, new)
    };
    let refused = decide(&check, "refused", "a copy").expect(201);
    assert_has(
        &refused,
        json!({ "check": check, "ruling": "refused", "reason": "a copy", "case": "17/2026" }),
    );
    decide(&check, "appealed", "our own edition").expect(201);
    decide(&other, "accepted", "nothing found").expect(201);
    decide(&check, "checked", "x").problem(422, "bad_decision", "no ruling");
    decide(&check, "refused", " ").problem(422, "bad_decision", "no reason");
    decide(&refused["id"], "refused", "x").problem(404, "no_such_decision", "not about a check");
    decide(&json!("nonsense"), "refused", "x").problem(404, "no_such_decision", "no id");
    decide(&check, "refused", &"x".repeat(4_001)).problem(422, "too_long", "a long reason");
    decide(&check, "burnt", "x").problem(400, "bad_json", "no such ruling");

    let list = |query: &str| {
        let mut found = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = server
                .get(&format!("/v1/decisions?{query}{cursor}"))
                .expect(200);
            for decision in page["decisions"].as_array().unwrap() {
                assert!(decision["filed"].is_null(), "lists are short");
                found.push(format!(
                    "{} {}",
                    decision["ruling"].as_str().unwrap(),
                    decision["verdict"].as_str().unwrap()
                ));
            }
            let Some(next) = page["next_cursor"].as_str() else {
                return found;
            };
            cursor = format!("&cursor={next}");
        }
    };
    let about = [
        "checked protected",
        "refused protected",
        "appealed protected",
    ];
    let digest = blake3::hash(text.as_bytes()).to_string();
    let day = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    for limit in [1, 2, 100] {
        assert_eq!(list(&format!("limit={limit}")).len(), 5);
        for query in [
            format!("digest={digest}"),
            "library=house&book=1".to_owned(),
            format!("digest={digest}&library=house&book=1&day={day}"),
        ] {
            assert_eq!(list(&format!("{query}&limit={limit}")), about, "{query}");
        }
    }
    assert_eq!(list(&format!("day={day}")).len(), 5);
    for nothing in [
        "day=2020-01-01",
        "day=2099-01-01",
        "digest=00",
        "library=house&book=2",
    ] {
        assert!(list(nothing).is_empty(), "{nothing}");
    }
    server
        .get("/v1/decisions?library=house")
        .problem(400, "bad_query", "no book");
    server
        .get("/v1/decisions?cursor=x")
        .problem(400, "bad_cursor", "a forged cursor");
    let audit = server.get("/v1/audit?limit=1000").expect(200);
    let decided = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"] == "decided");
    let rulings: Vec<&str> = decided
        .map(|entry| entry["ruling"].as_str().unwrap())
        .collect();
    assert_eq!(
        rulings,
        ["checked", "checked", "refused", "appealed", "accepted"]
    );
}

#[test]
fn only_single_checks_are_filed() {
    let server = Running::start();
    let asked = json!({ "text": "x", "record": true }).to_string();
    let answers = server.post("/v1/checks:batch", NDJSON, &asked).lines();
    assert_eq!(answers[0]["problem"]["code"], "bad_query");
    server
        .post("/v1/checks?case=1", TEXT, "x")
        .problem(400, "bad_query", "a case without record");
    let long = json!({ "text": "x", "record": true, "case": "x".repeat(1_001) }).to_string();
    server
        .post("/v1/checks", JSON, long)
        .problem(422, "too_long", "a long case");
    assert_eq!(
        server.get("/v1/decisions").expect(200)["decisions"],
        json!([])
    );
    assert!(server.check_text("x")["filed"].is_null());
}

/// A server that keeps texts, with a book whose text is kept too.
fn keeping(bytes: u64) -> Running {
    let server = Running::keeping(EvidenceLimits { days: 90, bytes });
    let book = json!({ "rights": "protected", "text": prose(1, 4_000), "keep_text": true });
    server
        .put("/v1/libraries/house/books/1", JSON, book.to_string())
        .expect(201);
    server
}

/// What was put before, within and behind a part of the book.
fn copied() -> String {
    format!(
        "{}\n\n{}\n\n{}",
        prose(2, 300),
        &prose(1, 4_000)[5_000..15_000],
        prose(3, 300)
    )
}

fn path_of(id: &Value, rest: &str) -> String {
    format!("/v1/decisions/{}/{rest}", id.as_str().expect("an id"))
}

/// The matches as a page shows them: passages and positions.
fn matches_of(page: Answer) -> String {
    assert_eq!(page.status, 200, "{page:?}");
    let page = String::from_utf8(page.body).unwrap();
    let (_, matches) = page.split_once("<section id=\"works\">").expect("a match");
    let (matches, _) = matches
        .split_once("<details id=\"method\"")
        .expect("a method");
    matches.to_owned()
}

fn kept(server: &Running) -> Value {
    server.get("/v1/stats").expect(200)["evidence"]["texts"].clone()
}

/// Who did something to the texts of filed checks.
fn noted(server: &Running, action: &str) -> Vec<Value> {
    let audit = server.get("/v1/audit?limit=1000").expect(200);
    let entries = audit["entries"].as_array().unwrap().iter();
    entries
        .filter(|entry| entry["action"] == action)
        .map(|entry| entry["check"].clone())
        .collect()
}

/// A filed report shows what it showed at first, until its text is deleted; then again to whoever has the text.
#[test]
fn a_filed_report_keeps_what_it_shows() {
    let server = keeping(1 << 20);
    let text = copied();
    let headers = [("Content-Type", TEXT), ("Accept", "text/html")];
    let target = "/v1/checks?record=true";
    let fresh = matches_of(server.send("POST", target, &headers, text.as_bytes()));
    assert!(
        fresh.contains("In the book") && fresh.matches("<td lang").count() > 2,
        "{fresh}"
    );
    let report = file(&server, &text);
    assert_eq!(report["text_kept"], true);
    let (id, page) = (&report["filed"], path_of(&report["filed"], "page"));
    let entry = shown(&server, id);
    assert_eq!(entry["text"]["bytes"], text.len());
    assert_eq!(entry["filed"]["bytes"], text.len());
    assert_eq!(kept(&server), 2);

    assert_eq!(matches_of(server.get(&page)), fresh);
    assert_eq!(noted(&server, "evidence_read"), from_ref(id));

    let delete = || server.send("DELETE", &path_of(id, "text"), &[], b"");
    assert_eq!(delete().status, 204);
    assert_eq!(noted(&server, "evidence_deleted"), from_ref(id));
    delete().problem(404, "no_such_text", "it is gone");
    assert_eq!(kept(&server), 1);
    assert!(shown(&server, id)["text"].is_null());
    let without = matches_of(server.get(&page));
    let word = text[6_000..].split_whitespace().nth(1).expect("a word");
    assert!(
        fresh.contains(word) && !without.contains(word),
        "{word} in {fresh}, not in {without}"
    );
    // Its positions stay: those of readers, not of bytes.
    assert!(
        without.contains("in the text: paragraph ") && !without.contains("bytes "),
        "{without}"
    );

    assert_eq!(matches_of(server.post(&page, TEXT, &text)), fresh);
    server
        .post(&page, TEXT, text.clone() + ".")
        .problem(409, "other_text", "another text");
    server
        .post(&page, JSON, json!({ "text": text }).to_string())
        .problem(415, "unknown_content_type", "not a text");
    assert_eq!(kept(&server), 1);
    assert_eq!(noted(&server, "evidence_read").len(), 1);
    for call in [
        server.get("/v1/decisions/nonsense/page"),
        server.send("DELETE", "/v1/decisions/nonsense/text", &[], b""),
    ] {
        call.problem(404, "no_such_decision", "no id");
    }
}

/// A book that was replaced or removed since has no passages: they would be of another text than the one that matched.
#[test]
fn a_filed_report_shows_no_other_text_than_the_one_that_matched() {
    let server = keeping(1 << 20);
    let put = |text: String| {
        let book = json!({ "rights": "protected", "text": text, "keep_text": true }).to_string();
        server.put("/v1/libraries/house/books/1", JSON, book)
    };
    let page = path_of(&file(&server, &copied())["filed"], "page");
    let shown = || matches_of(server.get(&page));
    // A page that is asked for again is the same one.
    let headers = [
        ("Content-Type", TEXT),
        ("Accept", "text/html"),
        ("Idempotency-Key", "the name of a request"),
    ];
    let sent = || {
        let target = "/v1/checks?record=true";
        matches_of(server.send("POST", target, &headers, copied().as_bytes()))
    };
    let fresh = shown();
    assert_eq!(sent(), fresh);
    let has_passages = |page: &str| page.contains("<th scope=\"col\">In the book</th>");
    assert!(has_passages(&fresh), "{fresh}");
    // A note on the book is no other text.
    server
        .send(
            "PATCH",
            "/v1/libraries/house/books/1",
            &[("Content-Type", JSON)],
            br#"{"note": "seen"}"#,
        )
        .expect(200);
    assert_eq!(shown(), fresh);
    // Of the same length, so that only its content tells.
    let other = prose(1, 4_000).replace('e', "a");
    put(other).expect(200);
    assert!(!has_passages(&shown()), "{}", shown());
    assert!(!has_passages(&sent()), "{}", sent());
    put(prose(1, 4_000)).expect(200);
    assert_eq!(shown(), fresh);
    assert_eq!(sent(), fresh);
    assert_eq!(kept(&server), 2);
    server.send("DELETE", "/v1/libraries/house/books/1", &[], b"");
    assert!(!has_passages(&shown()), "{}", shown());
}

/// A decision has no text, and neither has a check of gems.
#[test]
fn only_a_check_of_a_text_has_one() {
    let server = keeping(1 << 20);
    let asked = json!({ "gems": [1, 2, 3], "record": true }).to_string();
    let report = server.post("/v1/checks", JSON, asked).expect(200);
    assert!(report["text_kept"].is_null(), "{report}");
    let page = path_of(&report["filed"], "page");
    assert_eq!(server.get(&page).status, 200);
    server
        .post(&page, TEXT, "1,2,3")
        .problem(409, "other_text", "a text in place of gems");
    let checked = file(&server, &copied())["filed"].clone();
    let new = json!({ "check": checked, "ruling": "refused", "reason": "a copy" }).to_string();
    let decision = server.post("/v1/decisions", JSON, new).expect(201)["id"].clone();
    let page = path_of(&decision, "page");
    server
        .get(&page)
        .problem(404, "no_such_decision", "not a check");
    server
        .send("DELETE", &path_of(&decision, "text"), &[], b"")
        .problem(404, "no_such_text", "not a check");
    assert_eq!(kept(&server), 1);
}

/// What is beyond the limit is filed without its text, and says so. What is deleted makes room.
#[test]
fn texts_take_no_more_than_they_may() {
    let text = copied();
    // Enough for one, of which a single client has two thirds.
    let server = keeping(text.len() as u64 * 2);
    let first = file(&server, &text);
    let second = file(&server, &text);
    assert_eq!(
        (&first["text_kept"], &second["text_kept"]),
        (&json!(true), &json!(false))
    );
    assert!(shown(&server, &second["filed"])["text"].is_null());
    let page = server.get(&path_of(&second["filed"], "page"));
    let page = String::from_utf8(page.body).unwrap();
    assert!(
        page.contains("The text was not kept with this report."),
        "{page}"
    );
    assert_eq!(kept(&server), 1);
    server.send("DELETE", &path_of(&first["filed"], "text"), &[], b"");
    assert_eq!(file(&server, &text)["text_kept"], true);
    assert_eq!(kept(&server), 1);

    let none = Running::keeping(EvidenceLimits {
        days: 0,
        bytes: 1 << 20,
    });
    assert_eq!(file(&none, &text)["text_kept"], false);
    assert_eq!(kept(&none), 0);
}
