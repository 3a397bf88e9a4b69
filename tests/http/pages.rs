//! Web pages and the description of the API.

use crate::common::prose;
use crate::running::{Running, TEXT};

#[test]
fn a_page_for_whoever_asks_for_one() {
    let server = Running::start();
    let text = prose(1, 4_000);
    server.put_text("/v1/libraries/house/books/1", "protected", &text).expect(201);
    let accept = |accept: &str| {
        server.send("POST", "/v1/checks", &[("Content-Type", TEXT), ("Accept", accept)], text.as_bytes())
    };
    for browser in ["text/html", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json;q=0.5, text/html"] {
        let page = accept(browser);
        assert!(page.head.contains("content-type: text/html; charset=utf-8"), "{}", page.head);
        assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
        let page = String::from_utf8(page.body).unwrap();
        assert!(page.contains("PROTECTED") && page.contains("house/1") && page.contains("<svg"), "{page}");
    }
    for program in ["*/*", "application/json", "application/json, text/html", "nonsense"] {
        assert_eq!(accept(program).expect(200)["verdict"], "protected", "{program}");
    }
}

#[test]
fn the_api_describes_itself_without_a_network() {
    let server = Running::start();
    let api = server.get("/openapi.json").expect(200);
    for (path, calls) in api["paths"].as_object().unwrap() {
        for method in calls.as_object().unwrap().keys() {
            let target = path.replace("{library}", "l").replace("{id}", "1").replace("{name}", "n");
            let answer = server.send(&method.to_uppercase(), &target, &[], b"");
            assert!(answer.status != 405, "{method} {path}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("not_found"), "{method} {path}");
        }
    }
    let page = server.get("/docs/");
    assert_eq!(page.status, 200);
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("swagger-ui") && !page.contains("http://") && !page.contains("https://"), "{page}");
    assert!(server.get("/docs").status < 400);
}
