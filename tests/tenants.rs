//! No key can weaken what others are told: whatever a key of one library does, checks against the books of another
//! stay the same or become stricter.

use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use lapidary_gems::clean;
use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::{Folder, Random, Server, key, prose, reworded, run};

/// A gem in more than this many books of a library is common there.
const CAP: u64 = 4;

/// The strictness of a verdict; 0 is the strictest.
fn strictness(report: &Value) -> usize {
    let verdict = report["verdict"].as_str().expect("a verdict");
    ["forbidden", "protected", "free", "public_domain", "unknown"]
        .iter()
        .position(|word| *word == verdict)
        .expect("a known verdict")
}

/// A catalogue with the library `victim` under two recipes, served with keys for an attacker and a checker.
fn served(folder: &Folder) -> (Server, Client, Client) {
    for seed in 0..4 {
        folder.file(&format!("books/b{seed}.txt"), text_of(seed));
    }
    // Boilerplate shared by all of these books.
    for seed in 0..=CAP {
        folder.file(
            &format!("series/s{seed}.txt"),
            prose(900, 1500) + &prose(910 + seed, 1500),
        );
    }
    let recipes = "--recipe hardened --recipe documented --recipe rewriting";
    let ingest =
        format!("ingest --data {{}} --library victim --rights protected {recipes} {{}} {{}}");
    run(
        &ingest,
        &[folder.data(), folder.path("books"), folder.path("series")],
    )
    .expect(0);
    let attacker = key(
        &folder.data(),
        "--role ingest --trusted --library attacker --library second feed",
    );
    let checker = key(&folder.data(), "--role check shop");
    let server = Server::start_with(&format!("--common-cap {CAP}"), &[], &folder.data());
    let (attacker, checker) = (
        Client::new(&server, &attacker),
        Client::new(&server, &checker),
    );
    (server, attacker, checker)
}

fn text_of(seed: u64) -> String {
    prose(seed, 3000)
}

fn gems_of(folder: &Folder, recipe: &str, text: &str) -> Value {
    let file = folder.file("gems.txt", text);
    let printed = run(&format!("gems --recipe {recipe} {{}}"), &[file])
        .expect(0)
        .out;
    let gem = |gem: &str| {
        gem.parse::<u32>()
            .map_or_else(|_| json!(gem), |gem| json!(gem))
    };
    printed.trim().split(',').map(gem).collect()
}

/// Queries about the victim's books, in every form.
fn questions(folder: &Folder) -> Vec<Value> {
    let mut questions = Vec::new();
    for seed in [0, 1, 9] {
        let text = text_of(seed);
        let disguised = text.replace(" ba", " bo");
        for recipe in ["hardened", "documented"] {
            questions.push(json!({ "text": text, "recipe": recipe }));
            questions.push(json!({ "text": disguised, "recipe": recipe }));
            questions
                .push(json!({ "text": &text[..text.len() / 2], "recipe": recipe, "limit": 1 }));
            questions.push(json!({ "gems": gems_of(folder, recipe, &text), "recipe": recipe }));
        }
    }
    questions.push(json!({ "text": prose(900, 1500) }));
    questions.push(json!({ "text": reworded(&text_of(0), 1) }));
    questions
}

/// Performs a random action of the attacker.
fn act(random: &mut Random, attacker: &Client, questions: &[Value]) {
    let library = ["attacker", "second", "victim"][random.below(3) as usize];
    let book = format!("/v1/libraries/{library}/books/{}", random.below(6));
    let question = &questions[random.below(questions.len() as u64) as usize];
    let rights =
        ["forbidden", "protected", "free", "public_domain", "unknown"][random.below(5) as usize];
    let content = if question["text"].is_null() {
        json!({ "gems": question["gems"], "recipe": question["recipe"], "rights": rights })
    } else {
        json!({ "text": question["text"], "rights": rights })
    };
    match random.below(15) {
        0..4 => drop(attacker.json("PUT", &book, &content)),
        13 => {
            let except = ["", "&except=1", "&except=same-library"][random.below(3) as usize];
            let (status, answer) =
                attacker.json("PUT", &format!("{book}?unless=protected{except}"), &content);
            let shows_victim = answer.to_string().contains("\"victim\"");
            assert!(
                [200, 201, 403, 409].contains(&status) && !shows_victim,
                "{status} {answer}"
            );
        }
        4..7 => {
            let line = |i: u64| {
                let mut content = content.clone();
                content["id"] = json!(i.to_string());
                content.to_string() + "\n"
            };
            let lines: String = (0..2 * CAP + random.below(20)).map(line).collect();
            attacker.call(
                "POST",
                &format!("/v1/libraries/{library}/books"),
                "application/x-ndjson",
                lines,
            );
        }
        7 => drop(attacker.json("DELETE", &book, &Value::Null)),
        8 => {
            let field = ["disabled", "removed"][random.below(2) as usize];
            let change = json!({ field: random.below(2) == 0 });
            drop(attacker.json("PATCH", &book, &change));
        }
        9 => {
            let recipe = ["released", "hardened-fine", "documented"][random.below(3) as usize];
            attacker.json(
                "PUT",
                &book,
                &json!({ "gems": [1, 2, 3], "recipe": recipe, "rights": rights }),
            );
        }
        10 => {
            let task = ["compact", "verify", "reindex", "drop_recipe"][random.below(4) as usize];
            let (status, _) = attacker.json(
                "POST",
                "/v1/jobs",
                &json!({ "kind": task, "recipe": "documented" }),
            );
            assert_eq!(status, 403);
        }
        11 => drop(attacker.json(
            "PUT",
            &book,
            &json!({ "gems": [], "rights": rights, "allow_empty": true }),
        )),
        14 => {
            let row = |id: u64| json!({ "id": id.to_string(), "rights": rights, "title": "x", "authors": ["y"] });
            let rows: String = (0..6).map(|id| row(id).to_string() + "\n").collect();
            let text = question["text"].as_str().unwrap_or("short");
            let parts = [("table", rows.as_str()), ("3.txt", text)].map(|(name, content)| {
                format!("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{content}\r\n")
            });
            attacker.call(
                "POST",
                &format!("/v1/libraries/{library}/table"),
                "multipart/form-data; boundary=x",
                parts.concat() + "--x--\r\n",
            );
        }
        _ => {
            let forbidden = [
                ("PUT", "/v1/allow-lists/mine", content),
                (
                    "POST",
                    "/v1/keys",
                    json!({ "name": "more", "role": "admin" }),
                ),
                ("POST", "/v1/import", json!({ "lapidary_export": 1 })),
            ];
            for (method, path, body) in forbidden {
                assert_eq!(attacker.json(method, path, &body).0, 403, "{path}");
            }
        }
    }
}

/// The part of a report about the victim's books, without the E-values, which rightly depend on the size of the whole
/// index.
fn of_victim(mut report: Value) -> Value {
    for found in report["matches"].as_array_mut().expect("matches") {
        found
            .as_object_mut()
            .expect("a match")
            .retain(|name, _| name != "e_value");
    }
    let fields = ["verdict", "total", "common_gems", "disabled", "matches"];
    fields
        .into_iter()
        .map(|field| (field.to_owned(), report[field].take()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn no_key_weakens_what_others_are_told() {
    for seed in 0..3 {
        let folder = Folder::new();
        let owner = key(
            &folder.data(),
            "--role ingest --trusted --library victim owner",
        );
        let (server, attacker, checker) = served(&folder);
        let watched = checker.check(&json!({ "text": text_of(9), "record": true }));
        let questions = questions(&folder);
        let about_victim: Vec<Value> = questions
            .iter()
            .map(|question| {
                let mut question = question.clone();
                question["library"] = json!("victim");
                question
            })
            .collect();
        let strict = |questions: &[Value]| -> Vec<usize> {
            questions
                .iter()
                .map(|question| strictness(&checker.check(question)))
                .collect()
        };
        let before = strict(&questions);
        let alone: Vec<Value> = about_victim
            .iter()
            .map(|question| of_victim(checker.check(question)))
            .collect();
        assert!(
            before.contains(&1) && before.contains(&4),
            "some is protected, some is unknown: {before:?}"
        );
        // The attacker's own books may add to a verdict, but it is never weaker than that of the victim's books alone.
        let least = strict(&about_victim);
        let mut random = Random(seed);
        for step in 0..12 {
            act(&mut random, &attacker, &questions);
            let now = strict(&questions);
            for (at, question) in about_victim.iter().enumerate() {
                assert!(
                    now[at] <= least[at],
                    "seed {seed}, step {step}: {}",
                    questions[at]
                );
                assert_eq!(
                    of_victim(checker.check(question)),
                    alone[at],
                    "seed {seed}, step {step}"
                );
            }
        }
        // A check that was filed before is found by a book of the victim, whatever the attacker added to match it.
        let later = json!({ "text": text_of(9), "rights": "protected" });
        let (status, _) =
            Client::new(&server, &owner).json("PUT", "/v1/libraries/victim/books/later", &later);
        assert_eq!(status, 201);
        wait_for_match(&checker, &watched["filed"]);
        assert_eq!(server.stop(), Some(0));
        run("verify --data {}", &[folder.data()]).expect(0);
    }
}

/// Waits until it is known that a filed check matches the book that the victim added later.
fn wait_for_match(checker: &Client, check: &Value) {
    let begun = Instant::now();
    let path = "/v1/decisions?library=victim&book=later";
    loop {
        let (_, page) = checker.json("GET", path, &Value::Null);
        let mut entries = page["decisions"].as_array().into_iter().flatten();
        if entries.any(|entry| entry["ruling"] == "matched" && entry["check"] == *check) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{page}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_flood_of_copies_hides_no_book() {
    let folder = Folder::new();
    let (_server, attacker, checker) = served(&folder);
    let text = text_of(0);
    for recipe in ["hardened", "documented"] {
        let gems = gems_of(&folder, recipe, &text);
        let lines: String = (0..500)
            .map(|i| {
                let line = json!({ "id": format!("{recipe}{i}"), "gems": gems, "recipe": recipe, "rights": "unknown" });
                line.to_string() + "\n"
            })
            .collect();
        let (status, answer) = attacker.call(
            "POST",
            "/v1/libraries/attacker/books",
            "application/x-ndjson",
            lines,
        );
        assert!(status == 200 && !answer.contains("problem"), "{answer}");
        for question in [
            json!({ "text": text, "recipe": recipe }),
            json!({ "gems": gems, "recipe": recipe, "limit": 1 }),
        ] {
            let report = checker.check(&question);
            assert_eq!(report["verdict"], "protected", "{recipe}: {report}");
            assert_eq!(
                report["matches"][0]["book"]["library"], "victim",
                "{recipe}: {report}"
            );
        }
    }
}

/// Copies that are not so many that their gems are common.
#[test]
fn a_flood_is_compared_in_part_and_displaces_no_book() {
    let folder = Folder::new();
    let text = text_of(0);
    folder.file("books/b0.txt", text.clone());
    run(
        "ingest --data {} --library victim --rights protected {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    let attacker = key(
        &folder.data(),
        "--role ingest --trusted --library attacker feed",
    );
    let checker = key(&folder.data(), "--role check shop");
    let server = Server::start(&folder.data());
    let (attacker, checker) = (
        Client::new(&server, &attacker),
        Client::new(&server, &checker),
    );
    let gems = gems_of(&folder, "hardened", &text);
    let line = |i| {
        json!({ "id": i, "gems": gems, "recipe": "hardened", "rights": "unknown" }).to_string()
            + "\n"
    };
    let lines: String = (0..400).map(|i| line(i.to_string())).collect();
    let (status, answer) = attacker.call(
        "POST",
        "/v1/libraries/attacker/books",
        "application/x-ndjson",
        lines,
    );
    assert!(status == 200 && !answer.contains("problem"), "{answer}");
    for question in [json!({ "text": text }), json!({ "gems": gems, "limit": 1 })] {
        let report = checker.check(&question);
        assert_eq!(
            (&report["verdict"], &report["uncompared"]),
            (&json!("protected"), &json!(101)),
            "{report}"
        );
        assert_eq!(
            report["matches"][0]["book"]["library"], "victim",
            "{report}"
        );
        assert!(
            report["note"]
                .as_str()
                .is_some_and(|note| note.contains("101 books")),
            "{report}"
        );
    }
}

#[test]
fn an_exact_copy_is_found_whatever_its_gems_are() {
    let folder = Folder::new();
    let (_server, attacker, checker) = served(&folder);
    // All of this text is boilerplate in its library.
    let series = prose(900, 1500);
    let report = checker.check(&json!({ "text": series }));
    assert_eq!(
        (
            &report["verdict"],
            report["matches"].as_array().map(Vec::len)
        ),
        (&json!("unknown"), Some(0))
    );
    assert!(
        report["note"]
            .as_str()
            .is_some_and(|note| note.contains("boilerplate")),
        "{report}"
    );
    let short = "Roses are red, and violets are blue.";
    let printed = format!(
        "{short}\r\n\r\n\r\n{}",
        "A line that stands be-\nside another, broken as a printer does. ".repeat(9)
    );
    for (id, text) in [
        ("series", series.as_str()),
        ("short", short),
        ("printed", &printed),
    ] {
        let book = json!({ "text": text, "rights": "protected" });
        let path = format!("/v1/libraries/second/books/{id}");
        assert_eq!(attacker.json("PUT", &path, &book).0, 201);
        let report = checker.check(&json!({ "text": text }));
        assert_eq!(
            (&report["verdict"], &report["matches"][0]["book"]["id"]),
            (&json!("protected"), &json!(id)),
            "{report}"
        );
        assert_eq!(
            (
                &report["matches"][0]["identical"],
                &report["matches"][0]["relation"]
            ),
            (&json!(true), &json!("same_text"))
        );
        assert_eq!(attacker.json("DELETE", &path, &Value::Null).0, 204);
        assert_eq!(
            checker.check(&json!({ "text": text }))["verdict"],
            "unknown"
        );
    }
    // Cleaned of blank lines and hyphenation, it is the same text.
    assert_eq!(
        attacker
            .json(
                "PUT",
                "/v1/libraries/second/books/p",
                &json!({ "text": printed, "rights": "free" })
            )
            .0,
        201
    );
    let clean = clean(&printed).text().to_owned();
    assert!(clean != printed && clean.contains("beside"), "{clean}");
    for text in [printed.clone(), clean] {
        let report = checker.check(&json!({ "text": text, "recipe": "documented" }));
        assert_eq!(report["verdict"], "free", "{report}");
    }
}

/// Whatever books others have: what a key finds, and its cursors, stay the same to the byte.
#[test]
fn no_key_finds_the_books_of_others() {
    let folder = Folder::new();
    let (mine, theirs) = (
        key(
            &folder.data(),
            "--role ingest --trusted --library b --library d mine",
        ),
        "abcde",
    );
    let admin = key(&folder.data(), "--role admin admin");
    let server = Server::start(&folder.data());
    let [mine, admin] = [mine, admin].map(|secret| Client::new(&server, &secret));
    let mut random = Random(1);
    let mut book = |client: &Client, library: &str, id: u64| {
        let word = |random: &mut Random| ["sea", "Sea", "the", "мёд"][random.below(4) as usize];
        let title = format!("{} {}", word(&mut random), word(&mut random));
        let (authors, isbn) = (
            [word(&mut random)],
            ["0-306-40615-2", "978-0306406157"][random.below(2) as usize],
        );
        let book = json!({ "rights": "free", "gems": [], "allow_empty": true, "title": title, "authors": authors, "identifiers": [isbn] });
        let (status, answer) =
            client.json("PUT", &format!("/v1/libraries/{library}/books/{id}"), &book);
        assert!(status == 200 || status == 201, "{answer}");
    };
    let queries = [
        "title=sea",
        "author=sea",
        "title=%D0%BC%D0%B5%D0%B4+the",
        "identifier=9780306406157",
        "title=sea&library=d",
        "q=s",
        "q=th+978&library=b",
        "rights=free",
    ];
    let answers = || {
        let mut answers = Vec::new();
        for (query, limit) in queries
            .iter()
            .flat_map(|query| [1, 2, 100].map(|limit| (query, limit)))
        {
            let mut cursor = String::new();
            loop {
                let path = format!("/v1/books?{query}&limit={limit}{cursor}");
                let (status, answer) = mine.call("GET", &path, "text/plain", "");
                let page: Value = serde_json::from_str(&answer).expect("a page");
                assert_eq!(status, 200, "{answer}");
                for book in page["books"].as_array().expect("books") {
                    assert!(
                        ["b", "d"].contains(&book["library"].as_str().expect("a name")),
                        "{book}"
                    );
                }
                answers.push(answer);
                let Some(next) = page["next_cursor"].as_str() else {
                    break;
                };
                cursor = format!("&cursor={next}");
            }
        }
        answers
    };
    for id in 0..8 {
        for library in ["b", "d", "b"] {
            book(&mine, library, id);
            // Before, between and after them, in older libraries and in newer ones.
            book(
                &admin,
                &theirs[id as usize % 5..][..1].replace(['b', 'd'], "a"),
                id,
            );
        }
    }
    let before = answers();
    assert!(
        before.iter().any(|answer| answer.len() > 1_000),
        "some books are found"
    );
    for id in 100..140 {
        book(&admin, ["a", "c", "e", "f"][id as usize % 4], id);
    }
    assert_eq!(answers(), before);
    for id in 100..120 {
        admin.json(
            "DELETE",
            &format!(
                "/v1/libraries/{}/books/{id}",
                ["a", "c", "e", "f"][id as usize % 4]
            ),
            &Value::Null,
        );
    }
    assert_eq!(answers(), before);
    // No cursor leads to another library, nor says whether there is one.
    for library in ["a", "c", "nobodys"] {
        let cursor = BASE64_URL_SAFE_NO_PAD.encode(format!("0 {library}"));
        let (status, answer) = mine.json(
            "GET",
            &format!("/v1/books?title=sea&cursor={cursor}"),
            &Value::Null,
        );
        assert_eq!(
            (status, &answer["code"]),
            (400, &json!("bad_cursor")),
            "{library}"
        );
        let (status, answer) = mine.json(
            "GET",
            &format!("/v1/books?title=sea&library={library}"),
            &Value::Null,
        );
        assert_eq!(
            (status, &answer["code"]),
            (403, &json!("not_your_library")),
            "{library}"
        );
    }
}

/// A refusal says that a text is protected, and names only books of the key's own libraries.
#[test]
fn a_refused_book_names_no_book_of_others() {
    let folder = Folder::new();
    let (_server, attacker, _) = served(&folder);
    let put = |id: &str| {
        let book = json!({ "text": text_of(0), "rights": "free" });
        attacker.json(
            "PUT",
            &format!("/v1/libraries/attacker/books/{id}?unless=protected"),
            &book,
        )
    };
    let (status, refused) = put("1");
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("matches")),
        "{refused}"
    );
    assert_eq!(
        (&refused["report"]["verdict"], &refused["report"]["matches"]),
        (&json!("protected"), &json!([]))
    );
    assert!(!refused.to_string().contains("victim"), "{refused}");
    assert!(
        refused["report"]["note"]
            .as_str()
            .is_some_and(|note| note.contains("may not see")),
        "{refused}"
    );
    let book = json!({ "text": text_of(0), "rights": "protected" });
    assert_eq!(
        attacker
            .json("PUT", "/v1/libraries/second/books/own", &book)
            .0,
        201
    );
    let (status, refused) = put("1");
    let shown = refused["report"]["matches"].as_array().expect("matches");
    assert_eq!(
        (status, shown.len(), &shown[0]["book"]["id"]),
        (409, 1, &json!("own")),
        "{refused}"
    );
    let line = json!({ "id": "2", "text": text_of(0), "rights": "free", "unless": "protected" })
        .to_string();
    let (_, answer) = attacker.call(
        "POST",
        "/v1/libraries/attacker/books",
        "application/x-ndjson",
        line,
    );
    assert!(
        answer.contains("\"matches\"") && !answer.contains("victim"),
        "{answer}"
    );
}

/// A key sees and answers only what was filed with it.
#[test]
fn no_key_sees_the_decisions_of_others() {
    let folder = Folder::new();
    let other = key(&folder.data(), "--role check other");
    let admin = key(&folder.data(), "--role admin admin");
    let (server, attacker, checker) = served(&folder);
    let [other, admin] = [other, admin].map(|secret| Client::new(&server, &secret));
    let report = checker.check(&json!({ "text": text_of(0), "record": true, "case": "secret" }));
    let (id, path) = (
        &report["filed"],
        format!("/v1/decisions/{}", report["filed"].as_str().expect("an id")),
    );
    let new = json!({ "check": id, "ruling": "accepted", "reason": "mine" });
    let list = |client: &Client| {
        let (status, page) =
            client.json("GET", "/v1/decisions?library=victim&book=b0", &Value::Null);
        (status, page["decisions"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(other.json("GET", &path, &Value::Null).0, 404);
    assert_eq!(other.json("POST", "/v1/decisions", &new).0, 404);
    assert_eq!(attacker.json("GET", &path, &Value::Null).0, 403);
    assert_eq!(attacker.json("POST", "/v1/decisions", &new).0, 403);
    // Nor the batches of others, administrators' or not, and nobody checks in them.
    let files = json!({ "files": ["a.txt"] });
    let (status, batch) = checker.json("POST", "/v1/batches", &files);
    assert_eq!(status, 201, "{batch}");
    let of_batch = format!("/v1/batches/{}", batch["id"].as_str().expect("an id"));
    let check = json!({ "text": "x", "record": true, "name": "a.txt", "batch": batch["id"] });
    for client in [&other, &admin] {
        assert_eq!(client.json("GET", &of_batch, &Value::Null).0, 404);
        assert_eq!(client.json("POST", "/v1/checks", &check).0, 404);
        let (_, page) = client.json("GET", "/v1/batches", &Value::Null);
        assert_eq!(page["batches"], json!([]));
    }
    assert_eq!(
        (list(&other), list(&attacker), list(&checker), list(&admin)),
        ((200, 0), (403, 0), (200, 1), (200, 1))
    );
    // Neither the text, even to whoever has it, nor the way to delete it.
    let page = format!("{path}/page");
    let show = |client: &Client| client.call("GET", &page, "text/plain", "");
    let send = |client: &Client| client.call("POST", &page, "text/plain", text_of(0));
    let delete = |client: &Client| {
        let text = format!("{path}/text");
        client.json("DELETE", &text, &Value::Null).0
    };
    let all = |client: &Client| (show(client).0, send(client).0, delete(client));
    assert_eq!(all(&other), (404, 404, 404));
    assert_eq!(all(&attacker), (403, 403, 403));
    let table = |client: &Client| {
        let passages = format!("{path}/passages");
        client.call("GET", &passages, "text/plain", "").0
    };
    assert_eq!(
        (table(&other), table(&attacker), table(&checker)),
        (404, 403, 200)
    );
    let text = text_of(0);
    let word = text[4_000..].split_whitespace().nth(1).expect("a word");
    let (status, shown) = show(&checker);
    assert!(status == 200 && shown.contains(word), "{word}: {shown}");
    assert_eq!(all(&checker), (200, 200, 204));
    assert!(!show(&admin).1.contains(word));
    assert_eq!(checker.json("GET", &path, &Value::Null).0, 200);
    assert_eq!(checker.json("POST", "/v1/decisions", &new).0, 201);
    assert_eq!(
        admin.json("POST", "/v1/decisions", &new).1["actor"],
        "key:admin"
    );
    assert_eq!((list(&checker), list(&admin)), ((200, 3), (200, 3)));
}

/// Reviewers of a library decide about checks that matched its books, if these count for others.
#[test]
fn reviewers_see_the_checks_that_match_their_books() {
    let folder = Folder::new();
    let reviewers = [
        "--role texts --library victim reviewer",
        "--permission review --library victim judge",
        "--role texts --library attacker untrusted",
        "--role texts --library second stranger",
        "--role check --permission read_texts --library victim reader",
    ];
    let reviewers = reviewers.map(|of| key(&folder.data(), of));
    let admin = key(&folder.data(), "--role admin admin");
    let (server, attacker, checker) = served(&folder);
    let [reviewer, judge, untrusted, stranger, reader] =
        reviewers.map(|secret| Client::new(&server, &secret));
    let admin = Client::new(&server, &admin);
    let distrust = json!({ "trusted": false });
    let (status, _) = admin.json("PUT", "/v1/libraries/attacker/trust", &distrust);
    assert_eq!(status, 200);
    // The attacker's copy of the victim's book would show it what others check.
    let book = json!({ "text": text_of(0), "rights": "protected" });
    let (status, _) = attacker.json("PUT", "/v1/libraries/attacker/books/copy", &book);
    assert_eq!(status, 201);
    let report = checker.check(&json!({ "text": text_of(0), "record": true }));
    let found = report["matches"].to_string();
    assert!(
        found.contains("victim") && found.contains("attacker"),
        "{found}"
    );
    let check = report["filed"].as_str().expect("an id");
    let path = format!("/v1/decisions/{check}");
    let page = format!("{path}/page");
    let decision = json!({ "check": check, "ruling": "refused", "reason": "a copy" });
    for client in [&untrusted, &stranger, &reader] {
        assert_eq!(client.json("GET", &path, &Value::Null).0, 404);
        assert_eq!(client.call("GET", &page, "text/plain", "").0, 404);
        assert_eq!(client.json("POST", "/v1/decisions", &decision).0, 404);
        let (_, open) = client.json("GET", "/v1/decisions?state=open", &Value::Null);
        assert_eq!(open["decisions"], json!([]));
    }
    // Whoever sent the text cannot take it out of the queue.
    let own = json!({ "check": check, "ruling": "accepted", "reason": "it is mine" });
    assert_eq!(checker.json("POST", "/v1/decisions", &own).0, 201);
    let (_, open) = reviewer.json("GET", "/v1/decisions?state=open", &Value::Null);
    assert_eq!(open["decisions"][0]["id"], *check, "{open}");
    assert_eq!(judge.json("GET", &path, &Value::Null).0, 200);
    assert_eq!(
        judge.json("POST", "/v1/checks", &json!({ "text": "" })).0,
        403
    );
    let (status, shown) = reviewer.call("GET", &page, "text/plain", "");
    assert!(
        status == 200 && shown.contains("Not decided yet"),
        "{shown}"
    );
    // Reviewers take a check; only administrators assign it to another, who sees it.
    let assign = |client: &Client, to: &str| {
        let new = json!({ "check": check, "ruling": "assigned", "assignee": to });
        client.json("POST", "/v1/decisions", &new).0
    };
    assert_eq!(assign(&reviewer, "key:reviewer"), 201);
    assert_eq!(assign(&reviewer, "key:judge"), 422);
    assert_eq!(assign(&reviewer, "key:nobody"), 422);
    assert_eq!(assign(&checker, "key:shop"), 422);
    assert_eq!(assign(&stranger, "key:stranger"), 404);
    assert_eq!(assign(&admin, "key:stranger"), 422);
    assert_eq!(assign(&admin, "key:judge"), 201);
    let mine = "/v1/decisions?state=open&assignee=key:judge";
    assert_eq!(
        judge.json("GET", mine, &Value::Null).1["decisions"][0]["id"],
        *check
    );
    assert_eq!(
        untrusted.json("GET", mine, &Value::Null).1["decisions"],
        json!([])
    );
    only_who_decided_takes_it_back(&judge, [&checker, &reviewer, &admin], &decision);
    // A policy of the check hides nothing from them.
    let policy = json!({ "relations": [], "min_covered": 1, "min_passage": u32::MAX });
    let text = text_of(0) + &prose(77, 500);
    let lax = checker.check(&json!({ "text": text, "record": true, "policy": policy }));
    assert_eq!(
        (&lax["verdict"], &lax["reason"]),
        (&json!("unknown"), &json!("none_decides"))
    );
    let (_, open) = reviewer.json("GET", "/v1/decisions?state=open", &Value::Null);
    assert_eq!(open["decisions"][0]["id"], lax["filed"], "{open}");
    // Nor does a report that shows no matches.
    let text = text_of(0) + &prose(78, 500);
    let cut = checker.check(&json!({ "text": text, "record": true, "limit": 0 }));
    assert_eq!(
        (&cut["verdict"], &cut["matches"]),
        (&json!("protected"), &json!([]))
    );
    assert!(cut["libraries"].is_null(), "{cut}");
    let (_, open) = reviewer.json("GET", "/v1/decisions?state=open", &Value::Null);
    assert_eq!(open["decisions"][0]["id"], cut["filed"], "{open}");
    // The text stays whose it is.
    let text = format!("{path}/text");
    assert_eq!(reviewer.json("DELETE", &text, &Value::Null).0, 404);
    let (status, decided) = reviewer.json("POST", "/v1/decisions", &decision);
    assert_eq!(status, 201, "{decided}");
    let (_, shown) = reviewer.call("GET", &page, "text/plain", "");
    assert!(shown.contains("key:reviewer"), "{shown}");
    // Whoever sent the text sees what was decided, and appeals.
    let id = decided["id"].as_str().expect("an id");
    let path_of_decision = format!("/v1/decisions/{id}");
    let (_, told) = checker.json("GET", &path_of_decision, &Value::Null);
    assert_eq!(told["reason"], "a copy");
    let appeal = json!({ "check": check, "ruling": "appealed", "reason": "licensed" });
    assert_eq!(checker.json("POST", "/v1/decisions", &appeal).0, 201);
    let (_, appealed) = reviewer.json("GET", "/v1/decisions?state=appealed", &Value::Null);
    assert_eq!(appealed["decisions"][0]["id"], *check, "{appealed}");
    assert_eq!(checker.json("POST", "/v1/decisions", &own).0, 201);
    let (_, appealed) = reviewer.json("GET", &path, &Value::Null);
    assert_eq!(appealed["state"], "appealed");
    assert_eq!(
        untrusted.json("GET", &path_of_decision, &Value::Null).0,
        404
    );
}

/// Nobody takes back what another decided.
fn only_who_decided_takes_it_back(judge: &Client, others: [&Client; 3], decision: &Value) {
    let back = json!({ "check": decision["check"], "ruling": "withdrawn" });
    assert_eq!(judge.json("POST", "/v1/decisions", decision).0, 201);
    for client in others {
        assert_eq!(client.json("POST", "/v1/decisions", &back).0, 409);
    }
    assert_eq!(judge.json("POST", "/v1/decisions", &back).0, 201);
}

/// Of two keys that add a source of the same name at once, one does. The other changes nothing.
#[test]
fn of_two_keys_that_name_a_source_alike_one_has_it() {
    let folder = Folder::new();
    key(&folder.data(), "--role admin admin");
    let secrets = ["left", "right"].map(|library| {
        key(
            &folder.data(),
            &format!("--role ingest --untrusted --library {library} {library}"),
        )
    });
    let server = Server::start(&folder.data());
    let clients = [("left", &secrets[0]), ("right", &secrets[1])]
        .map(|(name, secret)| (name, Client::new(&server, secret)));
    let source = |library: &str| json!({ "kind": "feed", "url": "https://books.invalid/f", "library": library, "rights": "unknown", "contact": "a@b.invalid" });
    for round in 0..60 {
        let at = format!("/v1/sources/s{round}");
        let statuses = std::thread::scope(|scope| {
            let adding = clients.each_ref().map(|(library, client)| {
                let at = &at;
                scope.spawn(move || client.json("PUT", at, &source(library)).0)
            });
            adding.map(|adding| adding.join().expect("a status"))
        });
        let added = statuses
            .iter()
            .position(|status| *status == 201)
            .expect("one adds it");
        assert_eq!(statuses[1 - added], 409, "{statuses:?}");
        for (which, (library, client)) in clients.iter().enumerate() {
            assert_eq!(
                client.json("GET", &at, &Value::Null).0,
                if which == added { 200 } else { 404 },
                "{library}"
            );
        }
        // Nor is it removed or changed by the other.
        let (_, other) = &clients[1 - added];
        assert_eq!(other.json("PATCH", &at, &json!({ "paused": true })).0, 404);
        assert_eq!(other.json("DELETE", &at, &Value::Null).0, 404);
    }
}

/// What an administrator defined or paused for a library, its key can see and run, but not change.
fn what_an_administrator_defined_stays(admin: &Client, attacker: &Client, source: &Value) {
    let mut of_admin = source.clone();
    (of_admin["unless"], of_admin["max_urls"]) = (json!("protected"), json!(5_000_000));
    assert_eq!(admin.json("PUT", "/v1/sources/given", &of_admin).0, 201);
    let given = || admin.json("GET", "/v1/sources/given", &Value::Null).1["definition"].clone();
    let given_before = given();
    assert_eq!(
        attacker.json("GET", "/v1/sources/given", &Value::Null).0,
        200
    );
    let changes = [
        json!({ "url": "https://other.invalid/f" }),
        json!({ "kind": "site" }),
        json!({ "unless": null }),
        json!({ "rights": "free" }),
        json!({ "paused": true }),
        json!({ "max_urls": 10 }),
        json!({}),
    ];
    for change in &changes {
        let (status, answer) = attacker.json("PATCH", "/v1/sources/given", change);
        assert_eq!(
            (status, &answer["code"]),
            (403, &json!("not_allowed")),
            "{change}: {answer}"
        );
    }
    assert_eq!(attacker.json("PUT", "/v1/sources/given", source).0, 403);
    assert_eq!(
        attacker.json("DELETE", "/v1/sources/given", &Value::Null).0,
        403
    );
    assert_eq!(given(), given_before);
    // What an administrator paused, stays paused; what they resumed is the key's again.
    assert_eq!(attacker.json("PUT", "/v1/sources/mine", source).0, 201);
    assert_eq!(
        admin
            .json("PATCH", "/v1/sources/mine", &json!({ "paused": true }))
            .0,
        200
    );
    for (method, body) in [
        ("PATCH", json!({ "paused": false })),
        ("PUT", source.clone()),
        ("DELETE", Value::Null),
    ] {
        let (status, answer) = attacker.json(method, "/v1/sources/mine", &body);
        assert_eq!(
            (status, &answer["code"]),
            (403, &json!("not_allowed")),
            "{method}: {answer}"
        );
    }
    assert_eq!(
        attacker
            .json("POST", "/v1/sources/mine/run", &Value::Null)
            .1["code"],
        "source_paused"
    );
    assert_eq!(
        admin
            .json("PATCH", "/v1/sources/mine", &json!({ "paused": false }))
            .0,
        200
    );
    assert_eq!(
        attacker
            .json("PATCH", "/v1/sources/mine", &json!({ "rate": "30/min" }))
            .0,
        200
    );
    assert_eq!(
        attacker.json("DELETE", "/v1/sources/mine", &Value::Null).0,
        204
    );
    assert_eq!(
        admin.json("DELETE", "/v1/sources/given", &Value::Null).0,
        204
    );
}

/// A library's key cannot have the server read its disk, its network or its secrets, nor press other people's servers,
/// nor use or see the sources of others, whatever it asks for.
#[test]
fn no_key_reaches_further_through_a_source() {
    let folder = Folder::new();
    let admin = key(&folder.data(), "--role admin admin");
    let (server, attacker, _) = served(&folder);
    let admin = Client::new(&server, &admin);
    let web = |library: &str| json!({ "kind": "feed", "url": "https://books.invalid/f", "library": library, "rights": "unknown", "contact": "a@b.invalid" });
    let with = |mut source: Value, name: &str, value: Value| {
        source[name] = value;
        source
    };
    let secret = folder.file("secret/book.txt", text_of(7));
    let path = secret
        .parent()
        .and_then(|path| path.to_str())
        .expect("UTF-8");
    let on_disk = with(
        with(web("victim"), "kind", json!("folder")),
        "url",
        json!(path),
    );
    for (name, source) in [("theirs", web("victim")), ("disk", on_disk)] {
        assert_eq!(
            admin.json("PUT", &format!("/v1/sources/{name}"), &source).0,
            201
        );
    }
    // What reads the disk is not shown to a library's own key, not even if its books go there.
    let own = with(
        with(web("attacker"), "kind", json!("folder")),
        "url",
        json!(path),
    );
    assert_eq!(admin.json("PUT", "/v1/sources/own", &own).0, 201);
    let before: Vec<Value> = ["theirs", "disk", "own"]
        .map(|name| {
            admin
                .json("GET", &format!("/v1/sources/{name}"), &Value::Null)
                .1["definition"]
                .clone()
        })
        .into();

    let list = |address: &str| {
        with(
            with(web("attacker"), "kind", json!("list")),
            "url",
            json!(address),
        )
    };
    let powers = [
        own,
        list("/etc/passwd"),
        list("file:///etc/passwd"),
        with(web("attacker"), "allow_private", json!(true)),
        with(web("attacker"), "ignore_robots", json!(true)),
        with(
            web("attacker"),
            "credentials",
            json!("env:LAPIDARY_SOURCE_ONE"),
        ),
        with(web("attacker"), "rate", json!("1000/s")),
        with(web("attacker"), "max_urls", json!(100_001)),
        with(web("attacker"), "max_urls", json!(u64::MAX)),
        with(web("attacker"), "url", json!("/etc/passwd")),
        with(web("attacker"), "url", json!("file:///etc/passwd")),
        with(web("attacker"), "url", json!("-")),
        // These would stop the server, or keep it busy.
        with(web("attacker"), "rate", json!("1/day")),
        with(web("attacker"), "url_contains", json!(vec!["x"; 101])),
        with(web("attacker"), "url_contains", json!(["x".repeat(501)])),
        web("victim"),
    ];
    what_an_administrator_defined_stays(&admin, &attacker, &web("attacker"));
    let mut random = Random(20);
    assert_eq!(
        attacker.json("PUT", "/v1/sources/mine", &web("attacker")).0,
        201
    );
    for _ in 0..120 {
        let name = ["mine", "theirs", "disk", "own", "new"][random.below(5) as usize];
        let at = format!("/v1/sources/{name}");
        let power = &powers[random.below(powers.len() as u64) as usize];
        let (status, answer) = match random.below(7) {
            0 | 1 => attacker.json("PUT", &at, power),
            2 => attacker.json("PATCH", &at, power),
            3 => attacker.json(
                "PATCH",
                &at,
                &json!({ "paused": true, "allow_private": true }),
            ),
            4 => attacker.json(
                "POST",
                &format!("{at}/{}", if name == "mine" { "nothing" } else { "run" }),
                &Value::Null,
            ),
            5 => attacker.json(
                "GET",
                &format!("{at}/{}", ["runs", "errors"][random.below(2) as usize]),
                &Value::Null,
            ),
            _ => attacker.json("DELETE", &at, &Value::Null),
        };
        let is_mine = name == "mine" && matches!(status, 200 | 204);
        assert!(
            is_mine || [403, 404, 405, 422].contains(&status),
            "{name}: {status} {answer}"
        );
        assert!(
            !answer.to_string().contains(path) && !answer.to_string().contains("victim"),
            "{answer}"
        );
        attacker.json("PUT", "/v1/sources/mine", &web("attacker"));
    }
    let (_, seen) = attacker.json("GET", "/v1/sources", &Value::Null);
    assert_eq!(seen["sources"].as_array().map(Vec::len), Some(1), "{seen}");
    assert_eq!(
        attacker
            .json("PUT", "/v1/sources/theirs", &web("attacker"))
            .1["code"],
        "source_exists"
    );
    let after: Vec<Value> = ["theirs", "disk", "own"]
        .map(|name| {
            admin
                .json("GET", &format!("/v1/sources/{name}"), &Value::Null)
                .1["definition"]
                .clone()
        })
        .into();
    assert_eq!(before, after);
    // Nobody names any other secret of the server, or a file of it, from elsewhere.
    for place in ["env:PATH", "env:", "/etc/passwd", "secret"] {
        let (status, answer) = admin.json(
            "PUT",
            "/v1/sources/new",
            &with(web("victim"), "credentials", json!(place)),
        );
        assert_eq!(
            (status, &answer["code"]),
            (422, &json!("bad_source")),
            "{place}"
        );
    }
    assert!(server.stop() == Some(0));
}

/// A book put together from others decides nothing for anybody else until an administrator says that it is none.
#[test]
fn a_collage_waits_for_an_administrator() {
    let folder = Folder::new();
    let collector = key(
        &folder.data(),
        "--role ingest --trusted --library collector collector",
    );
    let [shop, admin] =
        ["--role check shop", "--role admin boss"].map(|of| key(&folder.data(), of));
    let server = Server::start(&folder.data());
    let [collector, shop, admin] =
        [collector, shop, admin].map(|secret| Client::new(&server, &secret));
    for (seed, author) in (0..).zip(["Gogol, N.", "Charles Dickens", "Verne", "Poe", "Poe"]) {
        let book = json!({ "text": text_of(seed), "rights": "free", "authors": [author] });
        assert_eq!(
            admin
                .json("PUT", &format!("/v1/libraries/victim/books/b{seed}"), &book)
                .0,
            201
        );
    }
    let put = |id: &str, content: Value| {
        let mut book = json!({ "rights": "protected" });
        book.as_object_mut()
            .expect("an object")
            .extend(content.as_object().expect("an object").clone());
        let (status, answer) =
            collector.json("PUT", &format!("/v1/libraries/collector/books/{id}"), &book);
        assert!([200, 201].contains(&status), "{answer}");
        answer["restriction"].clone()
    };
    let part = |seed: u64| text_of(seed)[..6_000].to_owned();
    let collage = |seeds: &[u64]| {
        seeds
            .iter()
            .map(|seed| part(*seed))
            .collect::<Vec<_>>()
            .join("\n\n")
    };
    let gems =
        |text: &str| json!({ "gems": gems_of(&folder, "hardened", text), "recipe": "hardened" });
    let whole = |seeds: &[u64]| {
        seeds
            .iter()
            .map(|seed| text_of(*seed))
            .collect::<Vec<_>>()
            .join("\n\n")
    };

    assert_eq!(
        put("anthology", json!({ "text": whole(&[0, 1, 2, 3]) })),
        Value::Null
    );
    assert_eq!(put("two", json!({ "text": collage(&[0, 1]) })), Value::Null);
    assert_eq!(
        put("one-author", json!({ "text": collage(&[0, 3, 4]) })),
        Value::Null
    );
    assert_eq!(put("gems-of-two", gems(&collage(&[0, 1]))), "quarantined");
    assert_eq!(
        put(
            "diluted",
            json!({ "text": collage(&[0, 1, 2]) + &prose(77, 20_000) })
        ),
        "quarantined"
    );
    for id in ["anthology", "two", "one-author", "gems-of-two", "diluted"] {
        let path = format!("/v1/libraries/collector/books/{id}");
        assert_eq!(
            collector.call("DELETE", &path, "text/plain", "").0,
            204,
            "{id}"
        );
    }

    assert_eq!(
        put("collage", json!({ "text": collage(&[0, 1, 2]) })),
        "quarantined"
    );
    let told = |who: &Client| {
        let report = who.check(&json!({ "text": text_of(0) }));
        let found = report["matches"].as_array().expect("matches").clone();
        let of = found
            .into_iter()
            .find(|found| found["book"]["id"] == "collage")
            .expect("the collage");
        (report["verdict"].clone(), of["informational"].clone())
    };
    assert_eq!(told(&shop), (json!("free"), json!("quarantined")));
    let place = "/v1/libraries/collector/books/collage";
    let doctor = admin.json("GET", "/v1/doctor", &Value::Null).1.to_string();
    assert!(
        doctor.contains("1 book waits of library collector in quarantine"),
        "{doctor}"
    );
    let confirm = json!({ "confirmed": true });
    assert_eq!(collector.json("PATCH", place, &confirm).0, 403);
    assert_eq!(told(&shop).1, "quarantined");
    let (status, confirmed) = admin.json("PATCH", place, &confirm);
    assert_eq!(status, 200, "{confirmed}");
    assert_eq!(told(&shop), (json!("protected"), Value::Null));
    // Metadata change nothing, another content does.
    assert_eq!(
        put(
            "collage",
            json!({ "text": collage(&[0, 1, 2]), "title": "Pieces" })
        ),
        Value::Null
    );
    assert_eq!(
        put("collage", json!({ "text": collage(&[0, 1, 2, 3]) })),
        "quarantined"
    );
    assert_eq!(
        put("collage", json!({ "text": prose(78, 3_000) })),
        Value::Null
    );

    assert_eq!(put("claim", gems(&part(1))), Value::Null);
    let report = shop.check(&json!({ "text": text_of(1) }));
    let claim = report["matches"].as_array().and_then(|all| {
        all.iter()
            .find(|found| found["book"]["id"] == "claim")
            .cloned()
    });
    assert_eq!(claim.expect("the claim")["disputed"], true);
}
