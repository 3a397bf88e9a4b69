//! How pages look, and whether everybody can use them: pictures, axe, the keyboard, narrow screens.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::common::{Folder, Server, key, prose};
use crate::console::browser::{Browser, ENTER, TAB, skip};

const THEMES: [&str; 2] = ["light", "dark"];
const WIDTHS: [u32; 3] = [360, 1280, 1920];

/// The themes and widths in which the pages of a language are looked at. Over both languages, these are all pairs of language,
/// theme and width: what is too wide depends on the language and the width, what cannot be read on the theme and the width.
fn looks(language: &str) -> impl Iterator<Item = (&'static str, u32)> {
    let first = usize::from(language != "en");
    let themes = THEMES.into_iter().cycle().skip(first);
    themes.zip(WIDTHS)
}

/// A server with something on every page, and its pages by name.
fn filled(folder: &Folder) -> (Server, String, Vec<(&'static str, String)>) {
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    key(
        &data,
        "--role ingest --trusted --library demo --rate 50/s shelf",
    );
    let server = Server::start_with("--private-webhooks", &[], &data);
    let send = |method: &str, path: &str, body: serde_json::Value| -> serde_json::Value {
        let url = format!("{}{path}", server.url);
        let request = if method == "PUT" {
            ureq::put(url)
        } else {
            ureq::post(url)
        };
        let answer = request.header("X-Api-Key", &secret).send_json(&body);
        answer
            .unwrap_or_else(|error| panic!("{path}: {error}"))
            .into_body()
            .read_json()
            .expect("JSON")
    };
    for book in &lapidary::demo::SHELF {
        let id = percent_encoding::utf8_percent_encode(book.id, percent_encoding::NON_ALPHANUMERIC)
            .to_string();
        let body = json!({
            "rights": book.rights, "title": book.title, "authors": [book.author], "language": book.language.tag,
            "text": book.text(), "keep_text": true, "identifiers": ["978-5-17-118366-6"],
        });
        send("PUT", &format!("/v1/libraries/demo/books/{id}"), body);
    }
    for (id, seed) in [("a", 1), ("b", 1), ("c", 2), ("gone", 3)] {
        let book = json!({ "rights": "protected", "title": format!("Copy {id}"), "text": prose(seed, 3_000) });
        send("PUT", &format!("/v1/libraries/house/books/{id}"), book);
    }
    let gone = format!("{}/v1/libraries/house/books/gone", server.url);
    ureq::patch(gone)
        .header("X-Api-Key", &secret)
        .send_json(json!({ "removed": true }))
        .expect("it is removed");
    send(
        "PUT",
        "/v1/allow-lists/demo%2Fthunder",
        json!({ "book": { "library": "demo", "id": "thunder" }, "note": "licensed" }),
    );
    let shelf = folder.path("shelf");
    folder.file("shelf/one.txt", prose(7, 2_000));
    folder.file("shelf/two.txt", prose(8, 2_000));
    folder.file("shelf/broken.epub", b"PK\x03\x04 and nothing more");
    let source = json!({ "kind": "folder", "url": shelf, "library": "shelf", "rights": "free" });
    send("PUT", "/v1/sources/shelf", source);
    send("POST", "/v1/sources/shelf/run", json!({}));
    send(
        "PUT",
        "/v1/libraries/demo/webhook",
        json!({ "url": "http://127.0.0.1:9/hook" }),
    );
    let copy = lapidary::demo::VICTIM.disguised().text;
    let check = json!({ "text": copy, "detail": true, "record": true, "name": "midnight.txt" });
    let filed = send("POST", "/v1/checks", check)["filed"]
        .as_str()
        .expect("an id")
        .to_owned();
    send(
        "POST",
        "/v1/decisions",
        json!({ "check": filed, "ruling": "refused", "reason": "A disguised copy of our book." }),
    );
    let batch = send(
        "POST",
        "/v1/batches",
        json!({ "files": ["one.txt", "two.pdf"] }),
    );
    let batch = batch["id"].as_str().expect("an id").to_owned();
    let check = json!({ "text": prose(1, 900), "record": true, "name": "one.txt", "batch": batch });
    send("POST", "/v1/checks", check);
    let job = send("POST", "/v1/jobs", json!({ "kind": "duplicates" }))["id"].to_string();
    let done = || {
        let mut answer = ureq::get(format!("{}/v1/jobs/{job}", server.url))
            .header("X-Api-Key", &secret)
            .call()
            .expect("a job");
        answer
            .body_mut()
            .read_json::<serde_json::Value>()
            .expect("JSON")["state"]
            != "running"
    };
    while !done() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let pages = [
        ("check", "/console/check".to_owned()),
        ("report", format!("/console/checks/{filed}")),
        ("links", format!("/console/checks/{filed}/links")),
        ("decisions", "/console/decisions".to_owned()),
        (
            "decided",
            "/console/decisions?state=decided&q=midn".to_owned(),
        ),
        ("batches", "/console/batches".to_owned()),
        ("compare", "/console/compare".to_owned()),
        ("batch", format!("/console/batches/{batch}")),
        ("catalogue", "/console/catalogue?q=quickf".to_owned()),
        ("library", "/console/catalogue?library=demo".to_owned()),
        (
            "removed-books",
            "/console/catalogue?state=removed".to_owned(),
        ),
        ("book", "/console/books/demo/lighthouse".to_owned()),
        ("removed", "/console/books/house/gone".to_owned()),
        ("shared", "/console/matches/house/a".to_owned()),
        ("duplicates", "/console/duplicates".to_owned()),
        (
            "add",
            "/console/add?library=demo&rights=protected".to_owned(),
        ),
        (
            "import",
            "/console/import?library=demo&rights=protected".to_owned(),
        ),
        ("sources", "/console/sources".to_owned()),
        ("source", "/console/sources/shelf".to_owned()),
        ("jobs", "/console/jobs".to_owned()),
        ("webhooks", "/console/webhooks".to_owned()),
        ("statistics", "/console/statistics".to_owned()),
        ("audit", "/console/audit".to_owned()),
        ("keys", "/console/keys".to_owned()),
        ("sessions", "/console/sessions".to_owned()),
        ("first", "/console/first".to_owned()),
        ("demo", "/console/demo".to_owned()),
        ("missing", "/console/nowhere".to_owned()),
        ("documentation", "/docs/".to_owned()),
        (
            "documentation-guide",
            "/docs/guides/console.html".to_owned(),
        ),
        (
            "documentation-pictures",
            "/docs/explanation/cluster.html".to_owned(),
        ),
        ("documentation-russian", "/docs/ru.html".to_owned()),
        (
            "documentation-page",
            "/docs/reference/sources.html".to_owned(),
        ),
    ];
    (server, secret, pages.into())
}

/// axe, if it can be had.
fn axe() -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/console-modules");
    let found = Command::new(script)
        .output()
        .ok()
        .filter(|run| run.status.success());
    let path = found.map(|run| String::from_utf8(run.stdout).expect("a path"));
    let axe = path
        .and_then(|path| fs::read_to_string(format!("{}/axe-core/axe.min.js", path.trim())).ok());
    if axe.is_none() {
        skip("there is no axe to test accessibility with (scripts/console-modules)");
    }
    axe
}

/// What axe finds on the page.
fn violations(browser: &Browser, axe: &str) -> String {
    if browser.js("return !window.axe") == true {
        browser.js(&format!("{axe}; window.axe = window.axe ?? axe;"));
    }
    let found = browser.js_later(
        "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then((found) => \
         done(found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).join(' | ')}`).join('\\n')), \
         (error) => done(String(error)));",
    );
    found.as_str().expect("a text").to_owned()
}

/// Pictures of a page, which people look at. On each, axe finds nothing, and nothing is wider than the screen. Returns what is
/// wrong.
fn look(browser: &Browser, axe: Option<&str>, language: &str, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (theme, width) in looks(language) {
        let name = format!("{language}-{name}-{theme}-{width}");
        browser.looks(theme, width);
        browser.settle();
        browser.picture(&name);
        let wide = browser.js(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth",
        );
        if wide != 0 {
            wrong.push(format!("{name}: {wide} pixels too wide"));
        }
        let found = axe.map_or_else(String::new, |axe| violations(browser, axe));
        if !found.is_empty() {
            wrong.push(format!("{name}: {found}"));
        }
    }
    browser.looks("light", 1280);
    wrong
}

/// The pages with small pictures in the documentation.
const SAMPLES: [&str; 5] = ["check", "library", "book", "duplicates", "statistics"];

/// Looks at every page as somebody who reads this language.
fn look_at_all(language: &str, check: &str) {
    let Some(browser) = Browser::start(language) else {
        return;
    };
    let axe = axe();
    let folder = Folder::new();
    let (server, secret, pages) = filled(&folder);
    browser.go(&server.url);
    let look = |name: &str| look(&browser, axe.as_deref(), language, name);
    let mut wrong = look("sign-in");
    browser.sign_in(&server, &secret);
    for (name, path) in pages {
        browser.go(&format!("{}{path}", server.url));
        browser.settle();
        wrong.extend(look(name));
        if language == "en" && SAMPLES.contains(&name) {
            browser.sample(&format!("console-{name}"), "main");
        }
    }
    // A report right after a check, with its passages.
    browser.go(&format!("{}/console/demo", server.url));
    browser.click("form[action*='/console/demo/check'] button");
    browser.see(".report h1", check);
    wrong.extend(look("checked"));
    if language == "en" {
        browser.js("document.querySelector('.report .passage').open = true");
        browser.sample("console", ".report");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_in_both_themes_and_all_widths() {
    look_at_all("en", "Protected");
}

#[test]
fn every_page_in_russian_in_both_themes_and_all_widths() {
    look_at_all("ru", "Охраняется");
}

#[test]
fn the_keyboard_is_enough() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let data = folder.data();
    let secret = key(&data, "--role admin boss");
    let server = Server::start(&data);
    let focused = || {
        browser
            .js("const one = document.activeElement; return one.innerText || one.id || one.tagName")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    // The report has a few stops for each passage: eight to 22, by the catalogue's secret.
    let reach = |words: &str| {
        for _ in 0..400 {
            browser.press(TAB);
            if focused().contains(words) {
                return;
            }
        }
        panic!("'{words}' cannot be reached at {}", browser.url());
    };
    browser.go(&server.url);
    // The field has the focus.
    browser.press(&(secret + ENTER));
    browser.see("h1", "Fill the catalogue");
    browser.js("document.activeElement.blur()");
    // The first stop skips the navigation.
    browser.press(TAB);
    assert_eq!(focused(), "Skip to the content");
    let outline = browser.js("return getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, "solid", "the focus is seen");
    browser.press(ENTER);
    reach("Add the demo shelf");
    browser.press(ENTER);
    browser.see("h1", "Demo shelf");
    reach("Check the copy");
    browser.press(ENTER);
    browser.see(".report h1", "Protected");
    reach("INPUT");
    assert_eq!(browser.js("return document.activeElement.type"), "radio");
}
