//! Hostile values in every field: they are shown as they are, and do nothing.

use serde_json::json;

use crate::common::{Folder, Server, prose};
use crate::console::browser::Browser;
use crate::console::protocol::PAGES;
use crate::console::web::Web;

const EVIL: &str = "\"'><script>window.evil=1</script><img src=x onerror=window.evil=1><a href=javascript:window.evil=1>x</a>\u{202e}${7*7}{{7*7}}";

/// A server whose catalogue has hostile values wherever strangers can put them.
fn attacked(folder: &Folder) -> Server {
    let server = Server::start_with("--private-webhooks", &[], &folder.data());
    let text = prose(3, 4_000);
    let book = json!({
        "rights": "protected", "title": EVIL, "authors": [EVIL], "language": "en", "identifiers": [EVIL],
        "text": text, "keep_text": true,
    });
    let id =
        percent_encoding::utf8_percent_encode(EVIL, percent_encoding::NON_ALPHANUMERIC).to_string();
    let put = |path: &str, body: &serde_json::Value| {
        ureq::put(format!("{}{path}", server.url))
            .send_json(body)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    };
    let of_book = format!("/v1/libraries/{id}/books/{id}");
    put(&of_book, &book);
    put(&format!("/v1/libraries/{id}/books/copy"), &book);
    ureq::patch(format!("{}{of_book}", server.url))
        .send_json(json!({ "note": EVIL }))
        .expect("a note");
    put(
        &format!("/v1/allow-lists/{id}"),
        &json!({ "book": { "library": EVIL, "id": "copy" }, "note": EVIL }),
    );
    put(
        &format!("/v1/libraries/{id}/webhook"),
        &json!({ "url": "http://127.0.0.1:9/?a=%3Cscript%3E'onerror=1" }),
    );
    let check = json!({ "text": format!("{text} {EVIL}"), "detail": true, "record": true, "name": EVIL, "case": EVIL });
    let report = ureq::post(format!("{}/v1/checks", server.url))
        .send_json(&check)
        .expect("a report");
    let report: serde_json::Value = report.into_body().read_json().expect("JSON");
    let decision = json!({ "check": report["filed"], "ruling": "accepted", "reason": EVIL });
    ureq::post(format!("{}/v1/decisions", server.url))
        .send_json(&decision)
        .expect("a decision");
    ureq::post(format!("{}/v1/jobs", server.url))
        .send_json(json!({ "kind": "duplicates", "library": EVIL }))
        .expect("a job");
    server
}

/// The pages that show them.
fn pages(web: &Web) -> Vec<String> {
    let id =
        percent_encoding::utf8_percent_encode(EVIL, percent_encoding::NON_ALPHANUMERIC).to_string();
    let mut pages: Vec<String> = PAGES.map(str::to_owned).into();
    let filed = web.get("/console/decisions?state=all").expect(200).body;
    let filed = filed.split_once("/console/checks/").expect("a check").1;
    pages.push(format!(
        "/console/checks/{}",
        &filed[..filed.find('"').expect("an end")]
    ));
    pages.extend([
        format!("/console/books/{id}/{id}"),
        format!("/console/matches/{id}/{id}"),
        format!("/console/catalogue?library={id}"),
        format!("/console/catalogue?q=script&language={id}"),
        format!("/console/catalogue?q={id}&sort=title"),
        format!("/console/audit?library={id}&book={id}"),
        format!("/console/add?library={id}&rights={id}"),
        format!("/console/import?library={id}&rights={id}"),
        format!("/console/decisions?day={id}"),
        format!("/console/decisions?library={id}&book={id}"),
        format!("/console/audit?since={id}"),
        format!("/console/statistics?of={id}"),
        format!("/console/{id}"),
        format!("/console/books/{id}"),
        format!("/console/sessions?x={id}"),
    ]);
    pages.retain(|page| !page.contains("library=demo"));
    pages
}

#[test]
fn nothing_of_a_stranger_becomes_markup() {
    let folder = Folder::new();
    let server = attacked(&folder);
    let web = Web::of(&server);
    for path in pages(&web) {
        let page = web.get(&path);
        assert!(page.status < 500, "{path}: {}", page.status);
        let body = page.body;
        assert!(
            !body.contains("<script>") && !body.contains("<img src=x"),
            "{path}"
        );
        // A field has what will be sent, as it is.
        let shown = body.split("<textarea").map(|part| {
            part.split_once("</textarea>")
                .map_or(part, |(_, after)| after)
        });
        let shown: String = shown
            .flat_map(|part| part.split('<'))
            .filter_map(|tag| tag.split_once('>'))
            .map(|(_, text)| text)
            .collect();
        assert!(
            !shown.contains('\u{202e}'),
            "{path} changes the direction of what follows"
        );
        for tag in body
            .split('<')
            .skip(1)
            .map(|tag| tag.split('>').next().unwrap_or_default())
        {
            // Names outside the quotes, and values inside.
            let (names, values): (Vec<_>, Vec<_>) =
                tag.split('"').enumerate().partition(|(at, _)| at % 2 == 0);
            assert!(
                names.iter().all(|(_, names)| !names.contains(" on")),
                "{path}: <{tag}>"
            );
            assert!(
                values
                    .iter()
                    .all(|(_, value)| !value.starts_with("javascript")),
                "{path}: <{tag}>"
            );
        }
    }
    // The name of a file that is sent.
    let name = "x<img src=x onerror=alert(1)>.txt";
    for target in [
        "/console/check?record=true",
        "/console/check?record=true&row=%3Cimg%20src%3Dx%3E",
    ] {
        let page = web
            .upload("/console/check", target, name, "A text.")
            .expect(200);
        assert!(!page.body.contains("<img src=x"), "{}", page.body);
    }
    let page = web.upload(
        "/console/add?library=a&rights=free",
        "/console/add?library=a&rights=free",
        name,
        "A text.",
    );
    assert!(!page.expect(200).body.contains("<img src=x"));
    // What is sent by forms.
    let evil =
        percent_encoding::utf8_percent_encode(EVIL, percent_encoding::NON_ALPHANUMERIC).to_string();
    for (page, to, body) in [
        (
            "/console/keys",
            "/console/keys".to_owned(),
            format!("name={evil}&read_texts=yes&libraries={evil}"),
        ),
        (
            "/console/keys",
            "/console/keys".to_owned(),
            format!("name=a&check=yes&rate={evil}"),
        ),
        (
            "/console/keys",
            "/console/keys".to_owned(),
            format!("name=a&check=yes&libraries={evil}"),
        ),
        (
            "/console/webhooks",
            "/console/webhooks".to_owned(),
            format!("library={evil}&url={evil}"),
        ),
        (
            "/console/jobs",
            format!("/console/jobs?kind={evil}"),
            String::new(),
        ),
        (
            "/console/check",
            format!("/console/checks/{evil}"),
            format!("ruling=accepted&reason={evil}"),
        ),
        (
            "/console/check",
            format!("/console/books/{evil}/x"),
            format!("what=rights&rights=free&from={evil}"),
        ),
        (
            "/console/check",
            format!("/console/keys/{evil}/revoke"),
            String::new(),
        ),
    ] {
        let told = web.send(page, &to, &body);
        assert!(
            (400..500).contains(&told.status) || told.status == 200,
            "{to}: {}",
            told.status
        );
        assert!(
            !told.body.contains("<script>") && !told.body.contains("<img src=x"),
            "{to}: {}",
            told.body
        );
    }
}

#[test]
fn no_page_runs_what_a_stranger_wrote() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = attacked(&folder);
    for path in pages(&Web::of(&server)) {
        browser.go(&format!("{}{path}", server.url));
        browser.settle();
        assert!(browser.js("return window.evil ?? null").is_null(), "{path}");
        assert_eq!(
            browser.js("return document.querySelectorAll('img[src=x], script:not([src])').length"),
            0,
            "{path}"
        );
    }
}
