//! Whose word counts: the books of a library that is not trusted decide for nobody but its own keys.

use std::collections::BTreeSet;
use std::path::Path;

use lapidary_gems::Recipe;
use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::{Folder, Run, Server, command, key, prose, run};

impl Client {
    fn put(&self, book: &str, rights: &str, text: &str) -> (u16, Value) {
        self.json("PUT", &at(book), &json!({ "rights": rights, "text": text }))
    }

    fn verdict(&self, text: &str) -> String {
        self.check(&json!({ "text": text }))["verdict"]
            .as_str()
            .expect("a verdict")
            .to_owned()
    }

    /// Runs a command on the server with the key.
    fn run<P: AsRef<Path>>(&self, line: &str, paths: &[P]) -> Run {
        let mut command = command(&format!("{line} --server {}", self.url), paths);
        command
            .env("LAPIDARY_KEY", &self.secret)
            .output()
            .expect("the program runs")
            .into()
    }
}

/// The path of a book, `library/id`.
fn at(book: &str) -> String {
    let (library, id) = book.split_once('/').expect("library/id");
    format!("/v1/libraries/{library}/books/{id}")
}

/// The libraries and ids of the matches.
fn matches(report: &Value) -> Vec<String> {
    let found = report["matches"].as_array().expect("matches").iter();
    found
        .map(|found| {
            format!(
                "{}/{}",
                text(&found["book"]["library"]),
                text(&found["book"]["id"])
            )
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// A server with an administrator, a shop, a trusted publisher (`mine`), and an untrusted one (`rival`) with a reviewer.
struct Market {
    folder: Folder,
    server: Server,
    admin: Client,
    shop: Client,
    mine: Client,
    rival: Client,
    reviewer: Client,
}

fn market() -> Market {
    let folder = Folder::new();
    let keys = [
        "--role admin boss",
        "--role check shop",
        "--role ingest --trusted --library mine mine",
        "--role ingest --untrusted --library rival rival",
        "--role texts --library rival reviewer",
    ];
    let keys = keys.map(|line| key(&folder.data(), line));
    let server = Server::start(&folder.data());
    let [admin, shop, mine, rival, reviewer] = keys.map(|secret| Client::new(&server, &secret));
    Market {
        folder,
        server,
        admin,
        shop,
        mine,
        rival,
        reviewer,
    }
}

#[test]
fn an_untrusted_library_decides_for_its_own_keys_only() {
    let Market {
        folder,
        server,
        admin,
        shop,
        mine,
        rival,
        reviewer,
    } = market();
    let novel = prose(1, 3_000);
    let (status, added) = rival.put("rival/1", "protected", &novel);
    assert_eq!(
        (status, &added["restriction"]),
        (201, &json!("untrusted_library")),
        "{added}"
    );
    for other in [&shop, &admin] {
        let report = other.check(&json!({ "text": novel }));
        assert_eq!(
            (&report["verdict"], &report["reason"]),
            (&json!("unknown"), &json!("none_decides")),
            "{report}"
        );
        assert_eq!(
            (&report["total"], &report["informational"]),
            (&json!(0), &json!(1)),
            "{report}"
        );
        assert_eq!(report["covered"], 0.0);
        assert_eq!(
            report["matches"][0]["informational"], "untrusted_library",
            "{report}"
        );
        assert!(report["e_value"].is_null());
    }
    let report = reviewer.check(&json!({ "text": novel }));
    assert_eq!(
        (&report["verdict"], &report["reason"]),
        (&json!("protected"), &json!("match")),
        "{report}"
    );
    assert_eq!(
        (
            &report["informational"],
            &report["matches"][0]["informational"]
        ),
        (&Value::Null, &Value::Null),
        "{report}"
    );
    let line = json!({ "text": novel }).to_string();
    let batch = |client: &Client| {
        client
            .call(
                "POST",
                "/v1/checks:batch",
                "application/x-ndjson",
                line.clone(),
            )
            .1
    };
    assert!(
        batch(&shop).contains("none_decides")
            && batch(&reviewer).contains("\"verdict\":\"protected\"")
    );
    // Nor in forms, of files or of gems.
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"1.txt\"\r\n\r\n{novel}\r\n--b--\r\n"
    );
    let files = |client: &Client| {
        client
            .call(
                "POST",
                "/v1/checks:batch",
                "multipart/form-data; boundary=b",
                form.clone(),
            )
            .1
    };
    let recipe = Recipe::released();
    let gems = recipe
        .gems(&novel)
        .iter()
        .map(|placed| recipe.write(placed.gem).to_string())
        .collect::<Vec<_>>()
        .join(",");
    let gems = |client: &Client| {
        let body = format!("gems={gems}");
        client
            .call(
                "POST",
                "/copyright_check_by_gems/",
                "application/x-www-form-urlencoded",
                body,
            )
            .1
    };
    for answer in [&files as &dyn Fn(&Client) -> String, &gems] {
        let read = |client: &Client| {
            let answer = answer(client);
            let said: Value = serde_json::from_str(&answer).expect("one answer");
            let report = said.get("report").unwrap_or(&said);
            [
                &report["verdict"],
                &report["reason"],
                &report["total"],
                &report["informational"],
            ]
            .map(Clone::clone)
        };
        for other in [&shop, &admin] {
            assert_eq!(
                read(other),
                [json!("unknown"), json!("none_decides"), json!(0), json!(1)]
            );
        }
        assert_eq!(
            read(&reviewer),
            [json!("protected"), json!("match"), json!(1), Value::Null]
        );
    }

    // A check of the command line does not find it, either, and says so in words.
    let file = folder.file("novel.txt", &novel);
    let checked = shop.run("check {}", &[&file]).expect(0);
    assert!(
        checked.out.contains("its library is not trusted"),
        "{}",
        checked.out
    );
    let page = shop
        .run("check --lang ru {}", &[&file])
        .expect(0)
        .out
        .replace('\n', " ");
    assert!(page.contains("только для сведения"), "{page}");

    // Everybody who adds books is told for whom these decide.
    let feed = json!({ "id": "2", "rights": "free", "text": prose(2, 2_000) }).to_string();
    let (_, answer) = rival.call(
        "POST",
        "/v1/libraries/rival/books",
        "application/x-ndjson",
        feed,
    );
    assert!(
        answer.contains("\"restriction\":\"untrusted_library\""),
        "{answer}"
    );
    let ingested = rival
        .run("ingest --library rival --rights free {}", &[&file])
        .expect(0);
    assert!(
        ingested.out.contains("do not count for others"),
        "{}",
        ingested.out
    );
    let trusted = mine.put("mine/2", "free", &prose(3, 2_000)).1;
    assert!(trusted["restriction"].is_null(), "{trusted}");

    // The gate of others lets their books in, and its own gate keeps the copy out.
    assert_eq!(
        rival
            .json(
                "PUT",
                &(at("rival/3") + "?unless=protected"),
                &json!({ "rights": "free", "text": novel })
            )
            .0,
        409
    );
    assert_eq!(
        mine.json(
            "PUT",
            &(at("mine/1") + "?unless=protected"),
            &json!({ "rights": "protected", "text": novel })
        )
        .0,
        201
    );
    let report = shop.check(&json!({ "text": novel }));
    assert_eq!(
        (&report["verdict"], matches(&report)[0].as_str()),
        (&json!("protected"), "mine/1"),
        "{report}"
    );
    server.stop();
}

#[test]
fn only_an_administrator_says_whose_word_counts() {
    let Market {
        folder,
        server,
        admin,
        shop,
        mine,
        rival,
        ..
    } = market();
    let novel = prose(1, 3_000);
    assert_eq!(rival.put("rival/1", "protected", &novel).0, 201);
    let trust = |client: &Client, trusted: bool| {
        client
            .json(
                "PUT",
                "/v1/libraries/rival/trust",
                &json!({ "trusted": trusted }),
            )
            .0
    };
    for client in [&rival, &mine, &shop] {
        assert_eq!(trust(client, true), 403);
    }
    // Not by removing everything, either.
    assert_eq!(rival.json("DELETE", &at("rival/1"), &Value::Null).0, 204);
    assert_eq!(
        rival.put("rival/1", "protected", &novel).1["restriction"],
        "untrusted_library"
    );
    assert_eq!(shop.verdict(&novel), "unknown");
    let listed = |name: &str| {
        let (_, listed) = admin.json("GET", "/v1/libraries", &Value::Null);
        let found = listed["libraries"]
            .as_array()
            .expect("libraries")
            .iter()
            .find(|of| of["library"] == name)
            .cloned();
        found.expect("it is listed")["trusted"].clone()
    };
    assert_eq!(listed("rival"), false);
    assert_eq!(trust(&admin, true), 200);
    assert_eq!(
        (shop.verdict(&novel).as_str(), listed("rival")),
        ("protected", json!(true))
    );
    let none: [&Path; 0] = [];
    admin.run("libraries distrust rival", &none).expect(0);
    assert_eq!(
        (shop.verdict(&novel).as_str(), listed("rival")),
        ("unknown", json!(false))
    );
    assert!(
        admin
            .run("libraries list", &none)
            .expect(0)
            .out
            .contains("rival\tnot trusted")
    );
    let audit = admin.run("audit", &none).expect(0).out;
    for said in [
        "trusted library mine",
        "distrusted library rival",
        "trusted library rival",
    ] {
        assert!(audit.contains(said), "{said}: {audit}");
    }
    assert_eq!(server.stop(), Some(0));
    // The same on the folder.
    assert!(run("libraries list --data {} --json", &[folder.data()]).json()[0]["trusted"] == false);
    run("libraries trust --data {} rival", &[folder.data()]).expect(0);
    let checked = run(
        "check --data {} {}",
        &[folder.data(), folder.file("novel.txt", &novel)],
    )
    .expect(1);
    assert!(checked.out.contains("PROTECTED"), "{}", checked.out);
}

#[test]
fn a_key_for_books_says_whether_these_count() {
    let Market {
        folder,
        server,
        admin,
        mine,
        ..
    } = market();
    assert_eq!(mine.put("mine/1", "free", &prose(1, 2_000)).0, 201);
    let make = |name: &str, role: &str, library: &str, trusted: Value| {
        let mut new = json!({ "name": name, "role": role });
        for (field, value) in [("libraries", json!([library])), ("trusted", trusted)] {
            let is_given = if field == "trusted" {
                !value.is_null()
            } else {
                !library.is_empty()
            };
            is_given.then(|| new[field] = value);
        }
        let (status, answer) = admin.json("POST", "/v1/keys", &new);
        (
            status,
            answer["code"].as_str().unwrap_or_default().to_owned(),
            answer["detail"].to_string(),
        )
    };
    let (status, code, detail) = make("a", "ingest", "new", Value::Null);
    assert_eq!((status, code.as_str()), (422, "bad_key_request"));
    assert!(detail.contains("--untrusted"), "{detail}");
    assert_eq!(make("a", "check", "", json!(true)).0, 422);
    for (library, trusted, advice) in [
        ("rival", true, "lapidary libraries trust 'rival'"),
        ("mine", false, "lapidary libraries distrust 'mine'"),
    ] {
        let (status, code, detail) = make("a", "ingest", library, json!(trusted));
        assert_eq!((status, code.as_str()), (409, "trust_stated"));
        assert!(detail.contains(advice), "{detail}");
    }
    assert_eq!(make("a", "ingest", "rival", json!(false)).0, 201);
    assert_eq!(make("b", "ingest", "mine", json!(true)).0, 201);
    // The administrator's own books are believed, and no key for them silently changes that.
    assert_eq!(admin.put("old/1", "free", &prose(2, 2_000)).0, 201);
    assert_eq!(make("c", "ingest", "old", json!(false)).0, 409);
    assert_eq!(make("c", "ingest", "old", json!(true)).0, 201);
    assert_eq!(server.stop(), Some(0));
    let bare = run(
        "keys add --data {} --role ingest --library l k",
        &[folder.data()],
    )
    .expect(2);
    assert!(
        bare.err.contains("--trusted or --untrusted"),
        "{}",
        bare.err
    );
    run(
        "keys add --data {} --role ingest --trusted --untrusted --library l k",
        &[folder.data()],
    )
    .expect(2);
}

#[test]
fn a_flood_of_untrusted_copies_comes_after_what_decides() {
    let Market {
        server: _server,
        admin,
        shop,
        rival,
        ..
    } = market();
    let novel = prose(1, 3_000);
    let half = &novel[..novel.len() / 2];
    assert_eq!(admin.put("house/whole", "protected", &novel).0, 201);
    let before = shop.check(&json!({ "text": half }));
    let lines = (0..40).map(|id| {
        json!({ "id": id.to_string(), "rights": "protected", "text": half }).to_string() + "\n"
    });
    let (_, answer) = rival.call(
        "POST",
        "/v1/libraries/rival/books",
        "application/x-ndjson",
        lines.collect::<String>(),
    );
    assert_eq!(
        answer.matches("\"outcome\":\"added\"").count(),
        40,
        "{answer}"
    );
    for limit in [1, 3, 100] {
        let report = shop.check(&json!({ "text": half, "limit": limit }));
        assert_eq!(matches(&report)[0], "house/whole", "{limit}");
        for figure in [
            "verdict",
            "reason",
            "covered",
            "total",
            "common_gems",
            "disabled",
            "note",
        ] {
            assert_eq!(report[figure], before[figure], "{limit}: {figure}");
        }
        let same = ["score", "relation", "spans", "evidence", "work"];
        assert!(
            same.iter()
                .all(|figure| report["matches"][0][figure] == before["matches"][0][figure]),
            "{report}"
        );
        assert_eq!(report["informational"], 40);
    }
    // A refusal does not count them, either.
    let (status, refused) = admin.json(
        "PUT",
        &(at("house/half") + "?unless=protected"),
        &json!({ "rights": "free", "text": half }),
    );
    assert_eq!(status, 409);
    assert!(
        text(&refused["detail"]).contains("1 book matches, such as house/whole"),
        "{refused}"
    );
}

/// A ban is a permission of its own, however a book arrives.
#[test]
fn no_key_forbids_texts_without_permission() {
    let Market {
        server: _server,
        admin,
        shop,
        mine,
        ..
    } = market();
    let novel = prose(1, 3_000);
    let refused = |(status, answer): (u16, Value), what: &str| {
        assert_eq!(
            (status, answer["code"].as_str()),
            (403, Some("may_not_forbid")),
            "{what}: {answer}"
        );
        assert!(
            text(&answer["detail"]).contains("--permission ban"),
            "{what}: {answer}"
        );
    };
    refused(mine.put("mine/1", "forbidden", &novel), "PUT");
    let days = json!({ "rights": "protected", "text": novel, "validity": { "until": "2020-01-01", "otherwise": "forbidden" } });
    refused(mine.json("PUT", &at("mine/1"), &days), "days");
    let raw = mine.call(
        "PUT",
        &(at("mine/1") + "?rights=forbidden"),
        "text/plain",
        novel.clone(),
    );
    refused(
        (raw.0, serde_json::from_str(&raw.1).expect("JSON")),
        "a raw body",
    );
    let line = json!({ "id": "1", "rights": "forbidden", "text": novel }).to_string();
    let (_, answer) = mine.call(
        "POST",
        "/v1/libraries/mine/books",
        "application/x-ndjson",
        line,
    );
    assert!(
        answer.contains("may_not_forbid") && answer.contains("refused"),
        "{answer}"
    );
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"1.txt\"\r\n\r\n{novel}\r\n--b--\r\n"
    );
    let path = "/v1/libraries/mine/books?rights=forbidden";
    assert!(
        mine.call("POST", path, "multipart/form-data; boundary=b", form)
            .1
            .contains("may_not_forbid")
    );
    let source = |rights: &str, days: Value| {
        let address = "https://books.invalid/feed";
        json!({ "kind": "feed", "url": address, "library": "mine", "rights": rights, "contact": "a@b.invalid",
                "validity": days })
    };
    let ban_later = json!({ "until": "2020-01-01", "otherwise": "forbidden" });
    refused(
        mine.json("PUT", "/v1/sources/s", &source("forbidden", Value::Null)),
        "a source",
    );
    refused(
        mine.json("PUT", "/v1/sources/s", &source("protected", ban_later)),
        "the days of a source",
    );
    assert_eq!(
        mine.json("PUT", "/v1/sources/s", &source("protected", Value::Null))
            .0,
        201
    );
    refused(
        mine.json("PATCH", "/v1/sources/s", &json!({ "rights": "forbidden" })),
        "a changed source",
    );
    assert_eq!(mine.put("mine/1", "protected", &novel).0, 201);
    refused(
        mine.json("PATCH", &at("mine/1"), &json!({ "rights": "forbidden" })),
        "PATCH",
    );
    refused(
        mine.json(
            "PATCH",
            &at("mine/1"),
            &json!({ "validity": { "until": "2020-01-01", "otherwise": "forbidden" } }),
        ),
        "days",
    );
    assert_eq!(shop.verdict(&novel), "protected");

    // Nor does it lift a ban.
    assert_eq!(
        admin
            .json("PATCH", &at("mine/1"), &json!({ "rights": "forbidden" }))
            .0,
        200
    );
    refused(mine.put("mine/1", "free", &novel), "PUT");
    refused(mine.put("mine/1", "forbidden", &novel), "PUT of the same");
    refused(
        mine.json("PATCH", &at("mine/1"), &json!({ "rights": "free" })),
        "PATCH",
    );
    refused(
        mine.json("PATCH", &at("mine/1"), &json!({ "disabled": true })),
        "disabled",
    );
    refused(mine.json("DELETE", &at("mine/1"), &Value::Null), "DELETE");
    assert_eq!(
        mine.json("PATCH", &at("mine/1"), &json!({ "note": "we ask why" }))
            .0,
        200
    );
    assert_eq!(shop.verdict(&novel), "forbidden");

    // With the permission, both are possible.
    let new = json!({ "name": "court", "role": "ingest", "libraries": ["mine"], "trusted": true, "permissions": ["ban"] });
    let (status, made) = admin.json("POST", "/v1/keys", &new);
    assert_eq!(
        (status, &made["permissions"]),
        (201, &json!(["ban"])),
        "{made}"
    );
    let court = admin.with_key(text(&made["secret"]));
    assert_eq!(court.put("mine/1", "protected", &novel).0, 200);
    assert_eq!(court.put("mine/2", "forbidden", &novel).0, 201);
    assert_eq!(shop.verdict(&novel), "forbidden");
    assert_eq!(court.json("DELETE", &at("mine/2"), &Value::Null).0, 204);
    let again = admin
        .json(
            "POST",
            "/v1/keys/court/rotate",
            &json!({ "overlap_seconds": 0 }),
        )
        .1;
    assert_eq!(
        again["permissions"],
        json!(["ban"]),
        "a new secret has the permissions of the old one: {again}"
    );
}

/// A gate that a key requires is passed by each of its books, however it arrives.
#[test]
fn a_required_gate_cannot_be_left_out() {
    let Market {
        folder,
        server: _server,
        admin,
        shop,
        ..
    } = market();
    let novel = prose(1, 3_000);
    assert_eq!(admin.put("house/novel", "protected", &novel).0, 201);
    let new = json!({ "name": "feed", "role": "ingest", "libraries": ["feed"], "trusted": true, "must_gate": "protected" });
    let (status, made) = admin.json("POST", "/v1/keys", &new);
    assert_eq!(
        (status, &made["must_gate"]),
        (201, &json!("protected")),
        "{made}"
    );
    let feed = admin.with_key(text(&made["secret"]));
    let own = prose(2, 3_000);
    let (status, added) = feed.put("feed/1", "free", &own);
    assert_eq!(
        (status, &added["unless"]),
        (201, &json!("protected")),
        "{added}"
    );
    // It passed the gate, and would now become something else.
    let (status, refused) = feed.put("feed/1", "free", &novel);
    assert_eq!(
        (status, refused["code"].as_str()),
        (409, Some("matches")),
        "{refused}"
    );
    assert!(
        text(&refused["report"]["note"]).contains("must pass the gate"),
        "{refused}"
    );
    assert_eq!(
        refused["report"]["matches"],
        json!([]),
        "it names no books of others"
    );
    let body = json!({ "rights": "free", "text": novel });
    for query in ["?unless=protected", "?unless=protected&except=same-library"] {
        assert_eq!(
            feed.json("PUT", &(at("feed/1") + query), &body).0,
            409,
            "{query}"
        );
    }
    let line = json!({ "id": "2", "rights": "free", "text": novel }).to_string();
    let (_, answer) = feed.call(
        "POST",
        "/v1/libraries/feed/books",
        "application/x-ndjson",
        line,
    );
    assert!(
        answer.contains("\"matches\"") && answer.contains("refused"),
        "{answer}"
    );
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"3.txt\"\r\n\r\n{novel}\r\n--b--\r\n"
    );
    let path = "/v1/libraries/feed/books?rights=free";
    assert!(
        feed.call("POST", path, "multipart/form-data; boundary=b", form)
            .1
            .contains("\"matches\"")
    );
    let file = folder.file("novel.txt", &novel);
    feed.run("ingest --library feed --rights free {}", &[&file])
        .expect(1);
    let (_, page) = feed.json("GET", "/v1/libraries/feed/books", &Value::Null);
    assert_eq!(page["books"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(shop.check(&json!({ "text": novel }))["total"], 1);
    // Nothing is excepted: its own books count, too.
    assert_eq!(feed.put("feed/4", "protected", &prose(4, 3_000)).0, 201);
    let copy = json!({ "rights": "protected", "text": prose(4, 3_000) });
    assert_eq!(
        feed.json(
            "PUT",
            &(at("feed/5") + "?unless=protected&except=same-library"),
            &copy
        )
        .0,
        409
    );
    // Its sources have the gate, whether or not they are defined with one.
    let source = json!({ "kind": "feed", "url": "https://books.invalid/f", "library": "feed", "rights": "free",
                         "contact": "a@b.invalid" });
    assert_eq!(
        feed.json("PUT", "/v1/sources/s", &source).1["definition"]["unless"],
        "protected"
    );
    let others = admin
        .run(
            "keys add --role check --must-gate protected nobody",
            &[] as &[&Path],
        )
        .expect(2);
    assert!(
        others.err.contains("only a key that can ingest"),
        "{}",
        others.err
    );
}

/// A gate tells a key of the books of its own libraries that it let a book in beside, and of no others.
#[test]
fn a_gate_names_only_books_that_its_key_can_see() {
    let Market {
        server: _server,
        admin,
        mine,
        ..
    } = market();
    let (others, own) = (prose(1, 3_000), prose(2, 3_000));
    assert_eq!(admin.put("house/1", "free", &others).0, 201);
    assert_eq!(mine.put("mine/1", "free", &own).0, 201);
    let add = |client: &Client, id: &str, copied: &str| {
        let body = json!({ "rights": "free", "text": format!("{copied} the end") });
        let path = at(&format!("mine/{id}")) + "?unless=protected";
        let (status, added) = client.json("PUT", &path, &body);
        assert_eq!(status, 201, "{added}");
        let books = added["matches"].as_array().cloned().unwrap_or_default();
        let names = books
            .iter()
            .map(|of| format!("{}/{}", text(&of["library"]), text(&of["id"])));
        names.collect::<BTreeSet<_>>()
    };
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    assert_eq!(add(&mine, "2", &others), named(&[]));
    assert_eq!(add(&mine, "3", &own), named(&["mine/1"]));
    assert_eq!(add(&admin, "4", &others), named(&["house/1", "mine/2"]));
}

/// What an administrator did, a library's key does not undo in any way.
#[test]
fn no_key_undoes_what_an_administrator_did() {
    let Market {
        folder,
        server,
        admin,
        shop,
        mine,
        ..
    } = market();
    let novel = prose(1, 3_000);
    let refused = |(status, answer): (u16, Value), what: &str| {
        assert_eq!(
            (status, answer["code"].as_str()),
            (403, Some("set_by_administrator")),
            "{what}: {answer}"
        );
        assert!(text(&answer["detail"]).contains(what), "{what}: {answer}");
    };
    for id in ["mine/1", "mine/2"] {
        assert_eq!(mine.put(id, "protected", &novel).0, 201);
    }
    // What the library does itself, it undoes itself.
    assert_eq!(
        mine.json(
            "PATCH",
            &at("mine/1"),
            &json!({ "disabled": true, "note": "late" })
        )
        .1["standing"]["disabled_by"],
        "library"
    );
    assert_eq!(
        mine.json(
            "PATCH",
            &at("mine/1"),
            &json!({ "disabled": false, "note": "" })
        )
        .0,
        200
    );

    let by_admin = json!({ "disabled": true, "note": "a complaint" });
    let (status, amended) = admin.json("PATCH", &at("mine/1"), &by_admin);
    assert_eq!(
        (status, &amended["standing"]["disabled_by"]),
        (200, &json!("administrator")),
        "{amended}"
    );
    assert_eq!(amended["standing"]["note"]["created_by"], "administrator");
    assert_eq!(
        admin
            .json("PATCH", &at("mine/2"), &json!({ "disabled": true }))
            .0,
        200
    );
    refused(
        mine.json(
            "PATCH",
            &at("mine/1"),
            &json!({ "disabled": false, "note": "" }),
        ),
        "disabled",
    );
    refused(
        mine.json("PATCH", &at("mine/1"), &json!({ "note": "nonsense" })),
        "noted",
    );
    refused(
        mine.json("PATCH", &at("mine/1"), &json!({ "note": "" })),
        "noted",
    );
    refused(mine.json("DELETE", &at("mine/1"), &Value::Null), "disabled");
    // The library may add a note of its own, and disable what is disabled: the administrator's word stays.
    assert_eq!(
        mine.json(
            "PATCH",
            &at("mine/2"),
            &json!({ "disabled": true, "note": "why?" })
        )
        .0,
        200
    );
    refused(
        mine.json("PATCH", &at("mine/2"), &json!({ "disabled": false })),
        "disabled",
    );
    // A new version is kept as disabled as the old one, and as noted.
    for content in [prose(2, 3_000), novel.clone()] {
        assert_eq!(mine.put("mine/1", "free", &content).0, 200);
    }
    let line = json!({ "id": "2", "rights": "free", "text": prose(3, 3_000) }).to_string();
    mine.call(
        "POST",
        "/v1/libraries/mine/books",
        "application/x-ndjson",
        line,
    );
    for id in ["mine/1", "mine/2"] {
        let record = admin.json("GET", &at(id), &Value::Null).1;
        assert_eq!(
            record["standing"]["disabled_by"], "administrator",
            "{record}"
        );
    }
    assert_eq!(
        admin.json("GET", &at("mine/1"), &Value::Null).1["standing"]["note"]["text"],
        "a complaint"
    );
    assert_eq!(shop.verdict(&novel), "unknown");
    assert_eq!(
        mine.json("PUT", "/v1/allow-lists/mine", &json!({ "text": novel }))
            .0,
        403
    );

    // The administrator may.
    assert_eq!(
        admin
            .json(
                "PATCH",
                &at("mine/1"),
                &json!({ "disabled": false, "note": "" })
            )
            .0,
        200
    );
    assert_eq!(mine.json("DELETE", &at("mine/1"), &Value::Null).0, 204);
    // So may the command line on the folder.
    assert_eq!(server.stop(), Some(0));
    run("books remove --data {} --library mine 2", &[folder.data()]).expect(0);
}
