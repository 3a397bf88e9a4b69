//! Web pages and the description of the API.

use serde_json::{Value, json};

use super::running::{FORM, NDJSON, Running, TEXT};
use crate::common::prose;

#[test]
fn a_page_for_whoever_asks_for_one() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);
    let accept = |accept: &str| {
        server.send(
            "POST",
            "/v1/checks",
            &[("Content-Type", TEXT), ("Accept", accept)],
            text.as_bytes(),
        )
    };
    for browser in [
        "text/html",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/json;q=0.5, text/html",
    ] {
        let page = accept(browser);
        assert!(
            page.head.contains("content-type: text/html; charset=utf-8"),
            "{}",
            page.head
        );
        assert!(
            page.head
                .contains("content-security-policy: default-src 'none'"),
            "{}",
            page.head
        );
        let page = String::from_utf8(page.body).unwrap();
        assert!(
            page.contains("Protected") && page.contains("house/1") && page.contains("<svg"),
            "{page}"
        );
    }
    for program in [
        "*/*",
        "application/json",
        "application/json, text/html",
        "nonsense",
    ] {
        assert_eq!(
            accept(program).expect(200)["verdict"],
            "protected",
            "{program}"
        );
    }
}

#[test]
fn passages_are_found_by_chapter_paragraph_and_percent() {
    let server = Running::start();
    let (book, other) = (prose(1, 4_000), prose(2, 4_000));
    server
        .put_text("/v1/libraries/house/books/1", "protected", &book)
        .expect(201);
    let upload = format!(
        "<!DOCTYPE html><html><body><h2>One</h2><p>{other}</p><h2>The <i>second</i></h2><p>New.</p><p>{book}</p>"
    );
    let html = [("Content-Type", "text/html"), ("Accept", "*/*")];
    let report = server
        .send("POST", "/v1/checks", &html, upload.as_bytes())
        .expect(200);
    let span = &report["matches"][0]["spans"][0];
    let from = &span["query_position"]["start"];
    assert_eq!(
        (&from["chapter"], &from["paragraph"]),
        (&json!("The second"), &json!(2)),
        "{span}"
    );
    assert!(
        (50.0..60.0).contains(&from["percent"].as_f64().unwrap()),
        "{span}"
    );
    assert!(
        span["book_position"]["start"]["percent"].as_f64().unwrap() < 10.0,
        "{span}"
    );
    let page = server.send(
        "POST",
        "/v1/checks",
        &[("Content-Type", "text/html"), ("Accept", "text/html")],
        upload.as_bytes(),
    );
    let page = String::from_utf8(page.body).unwrap();
    assert!(
        page.contains("“The second”, paragraph 2, ") && page.contains("<details class=\"passage "),
        "{page}"
    );
    // The excerpts of all matches together are bounded.
    assert!(page.len() < 2 * upload.len() + 50_000, "{}", page.len());
    let plain = server.check_text(&format!("{other}\n\nChapter 2\n\n{book}"));
    assert_eq!(
        plain["matches"][0]["spans"][0]["query_position"]["start"]["chapter"],
        "Chapter 2"
    );
    let line = json!({ "text": format!("{other}\n\nChapter 2\n\n{book}") }).to_string() + "\n";
    let lines = server
        .send(
            "POST",
            "/v1/checks:batch",
            &[("Content-Type", NDJSON)],
            line.as_bytes(),
        )
        .lines();
    assert_eq!(
        lines[0]["report"]["matches"][0]["spans"],
        plain["matches"][0]["spans"]
    );
}

/// The page, and the note in JSON, are in the language that the client prefers. What programs read is not.
#[test]
fn reports_follow_the_language_of_the_client() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server
        .put_text("/v1/libraries/house/books/1", "protected", &text)
        .expect(201);
    let asked = |path: &str, kind: &str, accept: &str, language: &str, body: &str| {
        let headers = [
            ("Content-Type", kind),
            ("Accept", accept),
            ("Accept-Language", language),
        ];
        server.send("POST", path, &headers, body.as_bytes())
    };
    for (preferred, language, verdict) in [
        ("ru-RU,ru;q=0.9,en;q=0.8", "ru", "Охраняется"),
        ("en,ru;q=0.5", "en", "Protected"),
        ("ja, ru;q=0", "en", "Protected"),
    ] {
        let page = asked("/v1/checks", TEXT, "text/html", preferred, &text);
        assert!(
            page.head
                .contains(&format!("content-language: {language}\r\n")),
            "{}",
            page.head
        );
        assert!(
            page.head.contains("vary: accept, accept-language"),
            "{}",
            page.head
        );
        let page = String::from_utf8(page.body).unwrap();
        assert!(
            page.contains(&format!("<html lang=\"{language}\">")) && page.contains(verdict),
            "{page}"
        );
    }
    let russian = asked(
        "/v1/checks",
        TEXT,
        "application/json",
        "ru",
        "короткий текст",
    );
    assert!(
        russian.head.contains("content-language: ru\r\n"),
        "{}",
        russian.head
    );
    let (russian, english) = (russian.expect(200), server.check_text("короткий текст"));
    assert!(
        russian["note"]
            .as_str()
            .unwrap()
            .contains("проверьте не менее"),
        "{russian}"
    );
    let without_note = |mut report: Value| {
        std::mem::take(&mut report["note"])
            .is_string()
            .then_some(report)
    };
    assert_eq!(
        without_note(russian.clone()).unwrap(),
        without_note(english).unwrap()
    );
    let line = json!({ "text": "короткий текст" }).to_string() + "\n";
    let batch = asked("/v1/checks:batch", NDJSON, "*/*", "ru", &line);
    assert!(
        batch.head.contains("content-language: ru\r\n"),
        "{}",
        batch.head
    );
    assert_eq!(batch.lines()[0]["report"]["note"], russian["note"]);
    let form = asked("/copyright_check_by_gems/", FORM, "*/*", "ru", "gems=");
    assert!(
        form.expect(200)["note"]
            .as_str()
            .unwrap()
            .contains("ни одного отпечатка")
    );
}

#[test]
fn the_api_describes_itself_without_a_network() {
    let server = Running::start();
    let api = server.get("/openapi.json").expect(200);
    for (path, calls) in api["paths"].as_object().unwrap() {
        for method in calls.as_object().unwrap().keys() {
            let target = path
                .replace("{library}", "l")
                .replace("{id}", "1")
                .replace("{name}", "n");
            let answer = server.send(&method.to_uppercase(), &target, &[], b"");
            assert!(answer.status != 405, "{method} {path}");
            assert!(
                !String::from_utf8_lossy(&answer.body).contains(r#""code":"not_found""#),
                "{method} {path}"
            );
        }
    }
    let page = server.get("/docs/api/");
    assert_eq!(page.status, 200);
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(
        page.contains("swagger-ui") && !page.contains("http://") && !page.contains("https://"),
        "{page}"
    );
    assert!(server.get("/docs").status < 400);
}

#[test]
fn the_documentation_is_served() {
    let server = Running::start();
    let page = |path| {
        let page = server.get(path);
        assert_eq!(page.status, 200, "{path}");
        String::from_utf8(page.body).expect("UTF-8")
    };
    let start = page("/docs/");
    assert!(start.contains("<h1 id=\"lapidary\">") && start.contains("href=\"api/\""));
    let guide = page("/docs/guides/partner.html");
    assert!(guide.contains("href=\"../site.css\"") && guide.contains("href=\"../api/\""));
    assert!(page("/docs/ru.html").contains("lang=\"ru\""));
    assert!(page("/docs/parts.js").contains("reference/books.html#quarantine"));
    assert_eq!(server.get("/docs/guides/none.html").status, 404);
    assert_eq!(server.get("/docs/../Cargo.toml").status, 404);
}
