//! Texts that nobody may publish.

use lapidary_gems::Recipe;
use serde_json::{Value, json};

use super::running::{FORM, JSON, Running, TEXT, assert_has, gems};
use crate::common::prose;

fn book(id: usize) -> String {
    format!("/v1/libraries/house/books/{id}")
}

#[test]
fn nothing_lifts_a_ban() {
    let server = Running::start();
    let banned = prose(1, 4_000);
    // A better match, and many of them.
    for id in 0..5 {
        server.put_text(&book(id), "protected", &banned).expect(201);
    }
    let part = &banned[..banned.len() / 2];
    let ban = |validity: Value| {
        let body = json!({ "rights": "forbidden", "text": part, "validity": validity }).to_string();
        let answer = server.put("/v1/libraries/court/books/ban", JSON, body);
        assert!(answer.status < 300, "{answer:?}");
    };
    ban(json!({}));
    let is_forbidden = |what: &str| {
        let report = server.post("/v1/checks?limit=1", TEXT, &banned).expect(200);
        assert_eq!(report["verdict"], "forbidden", "{what}: {report}");
        let found = &report["matches"][0];
        assert_eq!(
            (&found["book"]["id"], &found["allowed"]),
            (&json!("ban"), &Value::Null),
            "{what}: {report}"
        );
        report
    };
    let report = is_forbidden("the strictest of several");
    assert_eq!(
        (&report["total"], report["covered"].as_f64() > Some(0.99)),
        (&json!(6), true),
        "{report}"
    );
    ban(json!({ "until": "2000-01-01", "otherwise": "public_domain" }));
    is_forbidden("on every day");
    ban(json!({ "from": "2100-01-01", "otherwise": "free" }));
    is_forbidden("on every day");
    for recipes in ["released", "hardened,released", "all"] {
        let report = server
            .post(&format!("/v1/checks?recipes={recipes}"), TEXT, &banned)
            .expect(200);
        assert_eq!(report["verdict"], "forbidden", "{recipes}");
    }
    let allow = |name: &str, what: Value| {
        server
            .put(&format!("/v1/allow-lists/{name}"), JSON, what.to_string())
            .expect(201)
    };
    allow(
        "book",
        json!({ "book": { "library": "court", "id": "ban" } }),
    );
    is_forbidden("although the book is allowed");
    allow("text", json!({ "text": banned }));
    let report = server.check_text(&banned);
    assert_has(&report, json!({ "verdict": "forbidden", "total": 1 }));
    let recipes = report["recipes"].as_array().expect("recipes");
    let has_secret = |name: &Value| {
        name.as_str()
            .is_some_and(|name| name.starts_with("hardened-compact@"))
    };
    assert!(recipes.len() == 1 && has_secret(&recipes[0]), "{report}");
    let exact = server.check_text(part);
    assert_eq!(
        (&exact["verdict"], &exact["matches"][0]["identical"]),
        (&json!("forbidden"), &json!(true))
    );

    // The gate refuses it, too, even if the library is excluded.
    let gated = |id: &str, query: &str| {
        let path = format!("/v1/libraries/court/books/{id}?rights=free&unless=protected{query}");
        server.put(&path, TEXT, part)
    };
    for query in ["", "&except=ban", "&except=same-library"] {
        gated("copy", query).problem(409, "matches", query);
        assert_eq!(
            gated("copy", query).json()["report"]["verdict"],
            "forbidden",
            "{query}"
        );
    }
    gated("ban", "").expect(200);
    assert_eq!(
        server.check_text(&banned)["total"],
        0,
        "its own library may lift it"
    );
}

#[test]
fn existing_clients_know_it_as_protected() {
    let server = Running::start();
    let text = prose(1, 4_000);
    let validity = json!({ "from": "2000-01-01", "otherwise": "forbidden" });
    let body = json!({ "rights": "forbidden", "text": text, "validity": validity });
    server.put(&book(1), JSON, body.to_string()).expect(201);
    let gems = gems(&Recipe::released(), &text)
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let answer = server.post("/copyright_check_by_gems/", FORM, format!("gems={gems}"));
    let report = answer.expect(200);
    assert_has(&report, json!({ "verdict": "protected", "total": 1 }));
    assert!(
        !String::from_utf8_lossy(&answer.body).contains("forbidden"),
        "{report}"
    );
    let page = |language| {
        let headers = [
            ("Content-Type", TEXT),
            ("Accept", "text/html"),
            ("Accept-Language", language),
        ];
        String::from_utf8(
            server
                .send("POST", "/v1/checks", &headers, text.as_bytes())
                .body,
        )
        .unwrap()
    };
    let (english, russian) = (page("en"), page("ru"));
    assert!(
        english.contains("nobody may publish this")
            && english.contains("class=\"outcome forbidden\">Forbidden<")
    );
    assert!(russian.contains(">Запрещено<"), "{russian}");
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(
        metrics.contains("lapidary_checks_total{verdict=\"forbidden\"}"),
        "{metrics}"
    );
}
