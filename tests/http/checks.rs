//! Checks by text, file, form and gems, and queries with few or no gems.

use lapidary_gems::Recipe;
use serde_json::{Value, json};

use super::running::{BYTES, FORM, JSON, NDJSON, Running, TEXT, assert_has, encoded, gems};
use crate::common::prose;

#[test]
fn a_text_is_read_as_it_is_asked_for() {
    let server = Running::of_recipe(&Recipe::documented());
    let text = prose(1, 6_000);
    // Hyphenates every ninth word at a line end.
    let broken: String = text
        .split_whitespace()
        .enumerate()
        .map(|(i, word)| match word.split_at(word.len() / 2) {
            (start, end) if i % 9 == 8 => format!("{start}-\n{end} "),
            _ => format!("{word} "),
        })
        .collect();
    server
        .put_text("/v1/libraries/house/books/plain", "free", &text)
        .expect(201);
    let raw = |query: &str| {
        server.put(
            &format!("/v1/libraries/house/books/b?rights=free{query}"),
            TEXT,
            &broken,
        )
    };
    let as_it_stands =
        raw("&identifier=isbn:9785000000014&identifier=ark:/1/2").expect(201)["book"].clone();
    assert_has(
        &as_it_stands,
        json!({ "identifiers": ["isbn:9785000000014", "ark:/1/2"], "clean": null }),
    );
    let clean = raw("&clean=true").expect(200);
    assert_has(&clean, json!({ "outcome": "replaced" }));
    assert_has(
        &clean["book"],
        json!({ "clean": true, "digest": as_it_stands["digest"] }),
    );
    assert_ne!(clean["book"]["gems"], as_it_stands["gems"]);
    let written = json!({ "rights": "free", "text": broken, "clean": true });
    let again = server.put("/v1/libraries/house/books/b", JSON, written.to_string());
    assert_has(&again.expect(200), json!({ "outcome": "unchanged" }));

    let share = |report: Value| {
        report["matches"][0]["share_of_query"]
            .as_f64()
            .unwrap_or_default()
    };
    let check = |clean: Option<bool>| {
        let asked = json!({ "text": broken, "clean": clean, "library": "house" });
        share(
            server
                .post("/v1/checks", JSON, asked.to_string())
                .expect(200),
        )
    };
    assert!(check(Some(true)) > 0.99);
    server
        .send("DELETE", "/v1/libraries/house/books/b", &[], b"")
        .expect(204);
    assert!(check(Some(true)) > 0.99 && check(None) < 0.9 && check(Some(false)) < 0.9);
    assert!(
        share(
            server
                .post("/v1/checks?clean=true", TEXT, &broken)
                .expect(200)
        ) > 0.99
    );
    for (path, method, body) in [
        ("/v1/checks", "POST", json!({ "gems": [1], "clean": true })),
        (
            "/v1/libraries/house/books/c",
            "PUT",
            json!({ "rights": "free", "gems": [1], "clean": false }),
        ),
        (
            "/v1/allow-lists/list",
            "PUT",
            json!({ "gems": [1], "clean": true }),
        ),
    ] {
        server
            .send(
                method,
                path,
                &[("Content-Type", JSON)],
                body.to_string().as_bytes(),
            )
            .problem(400, "bad_json", path);
    }
}

/// A report has signs of disguise if there are any, with any recipe, and an example of where they are.
#[test]
fn signs_of_disguise_are_in_the_report() {
    let text = prose(1, 3_000);
    let disguised = text.replace("ba", "bа");
    let letters = disguised.matches('а').count();
    let start = text
        .match_indices(char::is_whitespace)
        .map(|(at, _)| at + 1)
        .rfind(|at| text[..*at].find("ba").is_none());
    for recipe in [Recipe::hardened(), Recipe::documented()] {
        let server = Running::of_recipe(&recipe);
        let signs = server.check_text(&disguised)["disguise"].clone();
        let counts = json!({
            "disguised": true, "invisible": 0, "look_alikes": letters, "marks": 0, "letter_spaced": 0, "digits": 0,
            "hyphens": 0,
        });
        assert_has(&signs, counts);
        let example = &signs["examples"][0];
        assert_has(
            example,
            json!({ "trick": "look_alikes", "bytes": { "start": start, "end": example["bytes"]["end"] } }),
        );
        assert!(
            example["word"].as_str().expect("a word").contains("bа"),
            "{example}"
        );
        // In a few words of a text they are counted, too.
        let once = server.check_text(&text.replacen("ba", "bа", 1))["disguise"].clone();
        assert_has(&once, json!({ "disguised": false, "look_alikes": 1 }));
        assert_eq!(server.check_text(&text)["disguise"], Value::Null);
        let gems = json!({ "gems": gems(&recipe, &disguised) });
        assert_eq!(
            server
                .post("/v1/checks", JSON, gems.to_string())
                .expect(200)["disguise"],
            Value::Null
        );
    }
}

#[test]
fn what_is_allowed_never_blocks() {
    let server = Running::start();
    let (quotation, text) = (prose(1, 10_000), prose(2, 10_000));
    server
        .put_text("/v1/libraries/house/books/1", "protected", &quotation)
        .expect(201);
    server
        .put_text("/v1/libraries/house/books/2", "protected", &text)
        .expect(201);
    let allow = |name: &str, what: Value| {
        server.put(&format!("/v1/allow-lists/{name}"), JSON, what.to_string())
    };

    let list = allow(
        "licensed%2F1",
        json!({ "text": quotation, "note": "contract 5" }),
    )
    .expect(201);
    assert_has(&list, json!({ "name": "licensed/1", "note": "contract 5" }));
    let report = server.check_text(&quotation);
    assert_has(
        &report,
        json!({ "verdict": "unknown", "total": 0, "allowed_gems": report["gems"] }),
    );
    let both = server.check_text(&format!("{quotation}{text}"));
    assert_has(&both, json!({ "verdict": "protected", "total": 1 }));
    assert_eq!(
        both["matches"][0]["share_of_query"]
            .as_f64()
            .map(|share| share > 0.9),
        Some(true),
        "{both}"
    );

    allow("mine", json!({ "book": { "library": "house", "id": "2" } })).expect(201);
    let report = server.check_text(&text);
    assert_has(&report, json!({ "verdict": "unknown", "total": 1 }));
    assert_eq!(report["matches"][0]["allowed"], true);
    assert_eq!(
        server.get("/v1/allow-lists").expect(200)["allow_lists"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    allow("mine", json!({ "gems": [1, 2] })).expect(200);
    assert_eq!(server.check_text(&text)["verdict"], "protected");
    let delete = || server.send("DELETE", "/v1/allow-lists/licensed%2F1", &[], b"");
    assert_eq!(delete().status, 204);
    delete().problem(404, "no_such_allow_list", "deleted twice");
    assert_eq!(server.check_text(&quotation)["verdict"], "protected");

    allow("x", json!({ "text": "short" })).problem(422, "nothing_to_allow", "no gems");
    allow("x", json!({})).problem(400, "bad_json", "nothing");
    allow("x", json!({ "gems": [1], "text": "a" })).problem(400, "bad_json", "two things");
    allow("", json!({ "gems": [1] })).problem(422, "bad_name", "no name");
}

#[test]
fn a_copy_a_part_and_a_stranger() {
    let server = Running::start();
    let text = prose(1, 22_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);

    let copy = server.check_text(&text);
    assert_has(&copy, json!({ "verdict": "protected", "total": 1 }));
    let found = &copy["matches"][0];
    assert_has(&found["book"], json!({ "library": "house", "id": "1" }));
    assert_has(
        found,
        json!({ "relation": "same_text", "share_of_query": 1.0, "share_of_book": 1.0 }),
    );
    assert_eq!(found["spans"].as_array().map(Vec::len), Some(1), "{found}");
    let part = server.check_text(&text[50_000..150_000]);
    assert_has(
        &part["matches"][0],
        json!({ "relation": "part_of_book", "share_of_query": 1.0 }),
    );
    assert_has(
        &server.check_text(&prose(2, 22_000)),
        json!({ "verdict": "unknown", "matches": [] }),
    );
}

#[test]
fn one_check_by_every_way_in() {
    let server = Running::of_recipe(&Recipe::documented());
    let text = prose(1, 10_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);

    let by_text = server.check_text(&text);
    let written = json!({ "text": text, "limit": 5, "library": "house", "recipe": "documented", "detail": true });
    for answer in [
        server.post("/v1/checks", JSON, written.to_string()),
        server.post(
            "/v1/checks",
            "application/json; charset=utf-8",
            json!({ "text": text }).to_string(),
        ),
        server.post(
            "/v1/checks?limit=5&library=house&recipe=documented&detail=true",
            BYTES,
            &text,
        ),
        server.send("POST", "/v1/checks", &[], text.as_bytes()),
    ] {
        assert_eq!(answer.expect(200), by_text);
    }

    let gems = gems(&Recipe::documented(), &text);
    let by_gems = server
        .post("/v1/checks", JSON, json!({ "gems": gems }).to_string())
        .expect(200);
    assert_has(
        &by_gems,
        json!({ "verdict": "protected", "gems": gems.len() }),
    );
    let decimals = gems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",");
    for path in ["/copyright_check_by_gems/", "/copyright_check_by_gems"] {
        for kind in [FORM, "application/x-www-form-urlencoded; charset=UTF-8"] {
            for form in [
                &decimals,
                &decimals.replace(',', "%2C"),
                &decimals.replace(',', "+,+"),
            ] {
                assert_eq!(
                    server.post(path, kind, format!("gems={form}")).expect(200),
                    by_gems
                );
            }
        }
    }
    assert_has(
        &server
            .post("/copyright_check_by_gems/", FORM, "gems=")
            .expect(200),
        json!({ "verdict": "unknown" }),
    );

    server
        .put_text("/v1/libraries/elsewhere/books/1", "free", &prose(2, 1_000))
        .expect(201);
    let table = [
        (
            "library=elsewhere",
            json!({ "verdict": "unknown", "total": 0 }),
        ),
        (
            "limit=0",
            json!({ "verdict": "protected", "total": 1, "matches": [] }),
        ),
    ];
    for (query, fields) in table {
        assert_has(
            &server
                .post(&format!("/v1/checks?{query}"), TEXT, &text)
                .expect(200),
            fields,
        );
    }
    let brief = server
        .post("/v1/checks?detail=false", TEXT, &text)
        .expect(200);
    assert_eq!(brief["matches"][0]["spans"], json!([]));
}

/// JSON writes 64-bit gems as strings, and a catalogue of them is checked like any other.
#[test]
fn gems_of_64_bits_are_strings() {
    let server = Running::of_recipe(&Recipe::hardened());
    let text = prose(5, 30_000);
    let gems = gems(&Recipe::hardened(), &text);
    let strings: Vec<String> = gems.iter().map(ToString::to_string).collect();
    assert!(
        strings.len() > 10 && strings.iter().all(|gem| gem.len() == 16),
        "{strings:?}"
    );

    let book = json!({ "rights": "protected", "recipe": "hardened", "gems": strings }).to_string();
    let added = server
        .put("/v1/libraries/house/books/gems", JSON, book)
        .expect(201);
    assert_eq!(added["book"]["gems"], json!({ "hardened": gems.len() }));
    server
        .put("/v1/libraries/house/books/text?rights=free", TEXT, &text)
        .expect(201);
    let found = json!({ "verdict": "protected", "recipe": "hardened", "total": 2 });
    for asked in [
        json!({ "gems": strings }),
        json!({ "text": text }),
        json!({ "gems": strings, "recipe": "hardened" }),
    ] {
        assert_has(
            &server
                .post("/v1/checks", JSON, asked.to_string())
                .expect(200),
            found.clone(),
        );
    }
    let form = format!("gems={}", strings.join(","));
    assert_has(
        &server
            .post("/copyright_check_by_gems/", FORM, form)
            .expect(200),
        found,
    );

    let allowed = json!({ "gems": strings[1..], "note": "all but one" }).to_string();
    let list = server
        .put("/v1/allow-lists/most", JSON, allowed)
        .expect(201);
    assert_eq!(list["gems"], json!({ "hardened": strings[1..] }));
    let all = server.get("/v1/allow-lists").expect(200);
    assert_eq!(
        all["allow_lists"][0]["gems"]["hardened"],
        json!(strings[1..])
    );
    let report = server.post("/v1/checks", TEXT, &text).expect(200);
    assert_has(&report, json!({ "allowed_gems": gems.len() - 1 }));

    let hex = strings[0].as_str();
    let table = [
        (json!({ "gems": [7] }), 422, "bad_gem"),
        (
            json!({ "gems": [hex], "recipe": "documented" }),
            422,
            "unknown_recipe",
        ),
        (json!({ "gems": [hex[1..]] }), 400, "bad_json"),
        (json!({ "gems": ["7"] }), 400, "bad_json"),
    ];
    for (asked, status, code) in table {
        let refused = server
            .post("/v1/checks", JSON, asked.to_string())
            .expect(status);
        assert_eq!(refused["code"], code, "{asked}: {refused}");
    }
    let exact = json!({ "rights": "free", "recipe": "documented", "gems": [hex] }).to_string();
    let documented = Running::of_recipe(&Recipe::documented());
    let refused = documented
        .put("/v1/libraries/house/books/exact", JSON, exact)
        .expect(422);
    assert_eq!(
        refused["detail"],
        format!(
            "{hex} is not a gem of recipe 'documented', whose gems are numbers from 0 to 4294967295"
        )
    );
}

/// A request may name several recipes, in every form, and a wrong list is refused.
#[test]
fn several_recipes_are_named() {
    let server = Running::start();
    let text = prose(1, 6_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);
    let both = json!(["released", "hardened"]);
    for asked in [
        server.post(
            "/v1/checks",
            JSON,
            json!({ "text": text, "recipes": both }).to_string(),
        ),
        server.post("/v1/checks?recipes=released,hardened", TEXT, &text),
    ] {
        let report = asked.expect(200);
        assert_has(
            &report,
            json!({ "verdict": "protected", "reason": "match", "recipes": both, "recipe": "released" }),
        );
        assert_has(&report["matches"][0], json!({ "recipes": both, "work": 1 }));
        assert!(report["covered"].as_f64() > Some(0.9), "{report}");
    }
    let all = server
        .post(
            "/v1/checks",
            JSON,
            json!({ "text": text, "recipes": ["all"] }).to_string(),
        )
        .expect(200);
    let all = all["recipes"].as_array().expect("recipes");
    assert_eq!(all[1..], ["hardened", "released"]);
    assert!(
        all[0]
            .as_str()
            .is_some_and(|name| name.starts_with("hardened-compact@"))
    );
    // Gems say by their form which recipe they are of; the form of existing clients is `released` by default.
    for recipe in [Recipe::hardened(), Recipe::released()] {
        let gems = gems(&recipe, &text);
        let report = server
            .post("/v1/checks", JSON, json!({ "gems": gems }).to_string())
            .expect(200);
        assert_has(
            &report,
            json!({ "verdict": "protected", "recipes": [recipe.name()] }),
        );
    }
    let many: Vec<String> = (0..9).map(|i| format!("r{i}")).collect();
    let table = [
        (
            json!({ "text": "a", "recipe": "hardened", "recipes": ["released"] }),
            400,
            "bad_query",
        ),
        (json!({ "text": "a", "recipes": [] }), 400, "bad_query"),
        (
            json!({ "text": "a", "recipes": ["hardened", "none"] }),
            422,
            "unknown_recipe",
        ),
        (
            json!({ "text": "a", "recipes": ["all", "hardened"] }),
            422,
            "unknown_recipe",
        ),
        (
            json!({ "text": "a", "recipes": ["No Recipe"] }),
            422,
            "unknown_recipe",
        ),
        (
            json!({ "text": "a", "recipes": many }),
            413,
            "too_many_recipes",
        ),
    ];
    for (asked, status, code) in table {
        server.post("/v1/checks", JSON, asked.to_string()).problem(
            status,
            code,
            &asked.to_string(),
        );
    }
}

/// Adding a book never adds a recipe: neither to a catalogue in use nor to a new one, where it would become the
/// default.
#[test]
fn putting_books_in_adds_no_recipe() {
    let server = Running::of_recipe(&Recipe::documented());
    let text = prose(3, 6_000);
    let refused = |id: &str| {
        let gems = json!({ "rights": "free", "gems": [1, 2], "recipe": "released" });
        let path = format!("/v1/libraries/house/books/{id}");
        let said = server
            .put(&path, JSON, gems.to_string())
            .problem(422, "unknown_recipe", id);
        assert!(
            said.contains("only: documented") && said.contains("ask an administrator"),
            "{said}"
        );
        let line =
            json!({ "id": id, "rights": "free", "gems": [1, 2], "recipe": "hardened" }).to_string();
        assert_eq!(
            server
                .post("/v1/libraries/house/books", NDJSON, line)
                .lines()[0]["problem"]["code"],
            "unknown_recipe"
        );
        let recipes = &server.get("/v1/stats").expect(200)["recipes"];
        assert_eq!(
            (recipes.as_array().map(Vec::len), &recipes[0]["recipe"]),
            (Some(1), &json!("documented"))
        );
    };
    refused("first");
    server
        .put_text("/v1/libraries/house/books/book", "protected", &text)
        .expect(201);
    let form = format!(
        "gems={}",
        gems(&Recipe::documented(), &text)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    );
    let asked = || {
        server
            .post("/copyright_check_by_gems/", FORM, &form)
            .expect(200)
    };
    let before = asked();
    assert_eq!(before["verdict"], "protected");
    refused("second");
    assert_eq!(asked(), before);
}

/// An unknown library is an error, not a library without matches.
#[test]
fn a_check_against_no_library_is_refused() {
    let server = Running::start();
    let text = prose(3, 6_000);
    server
        .put_text("/v1/libraries/house/books/book", "protected", &text)
        .expect(201);
    for library in ["House", "hous", "house ", "other"] {
        let asked = json!({ "text": text, "library": library }).to_string();
        let said = server
            .post("/v1/checks", JSON, &asked)
            .problem(404, "no_such_library", library);
        assert!(said.contains(library) && said.contains("case"), "{said}");
        let raw = format!("/v1/checks?library={}", encoded(library));
        server
            .post(&raw, TEXT, &text)
            .problem(404, "no_such_library", library);
        let lines = [
            asked,
            json!({ "text": text, "library": "house" }).to_string(),
        ]
        .join("\n");
        let answers = server.post("/v1/checks:batch", NDJSON, lines).lines();
        assert_eq!(answers[0]["problem"]["code"], "no_such_library");
        assert_eq!(answers[1]["report"]["verdict"], "protected");
    }
    // The same holds for a library whose last book was removed.
    assert_eq!(
        server
            .send("DELETE", "/v1/libraries/house/books/book", &[], b"")
            .status,
        204
    );
    let asked = json!({ "text": text, "library": "house" }).to_string();
    server
        .post("/v1/checks", JSON, asked)
        .problem(404, "no_such_library", "emptied");
}

#[test]
fn a_catalogue_without_books_answers() {
    let server = Running::start();
    let report = server.check_text(&prose(1, 4_000));
    assert_eq!(
        (&report["verdict"], &report["total"]),
        (&json!("unknown"), &json!(0))
    );
    assert!(report["gems"].as_u64() > Some(3), "{report}");
    let by_gems = server.post("/copyright_check_by_gems/", FORM, "gems=1,2,3");
    assert_eq!(by_gems.expect(200)["verdict"], "unknown");
    assert_eq!(server.get("/v1/stats").expect(200)["books"], 0);
}

/// Texts without gems are accepted, and the report says that they have none.
#[test]
fn texts_that_say_nothing() {
    let server = Running::start();
    server
        .put_text("/v1/libraries/house/books/1", "protected", &prose(1, 6_000))
        .expect(201);
    for text in [
        "",
        "word",
        "слово",
        "0123456789 42",
        "?! … ,;",
        "\u{feff}",
        "\n\n\n",
    ] {
        for answer in [
            server.post("/v1/checks", TEXT, text),
            server.post("/v1/checks", BYTES, text),
            server.post("/v1/checks", JSON, json!({ "text": text }).to_string()),
        ] {
            let report = answer.expect(200);
            assert_eq!(
                (&report["verdict"], &report["gems"]),
                (&json!("unknown"), &json!(0)),
                "{text:?}"
            );
            assert!(report["note"].is_string(), "{text:?}");
        }
    }
    assert_eq!(
        server
            .post("/v1/checks", JSON, r#"{"gems":[]}"#)
            .expect(200)["verdict"],
        "unknown"
    );
}
