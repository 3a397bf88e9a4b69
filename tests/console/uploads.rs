//! Files of each format, dropped, chosen, and several at once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::{Folder, Server, prose};
use crate::console::browser::{Browser, told_skipped};
use crate::console::web::Web;
use crate::makers::MAKERS;

/// A file of each format, of the same text, which is in the catalogue.
fn files(folder: &Folder, text: &str) -> Vec<PathBuf> {
    let words: Vec<&str> = text.split(' ').collect();
    let paragraphs: Vec<String> = words.chunks(120).map(|words| words.join(" ")).collect();
    MAKERS
        .iter()
        .map(|(format, make)| folder.file(&format!("upload.{format}"), make(&paragraphs)))
        .collect()
}

#[test]
fn several_files_of_all_formats_become_a_table() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let text = prose(5, 4_000);
    let book = json!({ "rights": "protected", "title": "The book of all formats", "text": text });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    let mut files = files(&folder, &text);
    files.push(folder.file("<img src=x onerror=alert(1)>.txt", "Too short."));
    files.push(folder.file("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\0"));
    let paths: Vec<&str> = files
        .iter()
        .map(|path| path.to_str().expect("a path"))
        .collect();
    browser.go(&server.url);
    browser.type_into("#file", &paths.join("\n"));
    browser.click("form[data-files] button.main");
    browser.see("#table tbody", "upload.txt");
    wait_for_rows(&browser, files.len());
    let rows = browser.text("#table tbody");
    for (format, _) in MAKERS {
        let row = rows
            .lines()
            .find(|line| line.contains(&format!("upload.{format}")))
            .unwrap_or_default()
            .to_owned();
        let row = browser.js(&format!(
            "return [...document.querySelectorAll('#table tbody tr')].find((row) => row.innerText.includes('upload.{format}')).innerText"
        )).as_str().map_or(row, str::to_owned);
        assert!(
            row.contains("Protected") && row.contains("The book of all formats"),
            "{row}"
        );
    }
    let failed = browser.text("#table tr.failed");
    assert!(failed.contains("picture.png"), "{failed}");
    assert_eq!(
        browser.js("return document.querySelectorAll('#table img').length"),
        0
    );

    // Sorted by name, both ways.
    let first = || browser.text("#table tbody td");
    browser.click("#table th:first-child button");
    browser.find("#table th[aria-sort=ascending]");
    let up = first();
    browser.click("#table th:first-child button");
    browser.find("#table th[aria-sort=descending]");
    assert_ne!(first(), up);

    // The export has every row, and no cell that a spreadsheet would calculate.
    let csv = browser.js_later(
        "const done = arguments[0]; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); }; \
         document.querySelector('[data-csv]').click();",
    );
    let csv = csv.as_str().expect("a text");
    assert_eq!(csv.lines().count(), files.len() + 1, "{csv}");
    assert!(csv.contains("\"upload.epub\",\"Protected\""), "{csv}");

    // Each row leads to its report.
    browser.click("#table tbody td a");
    browser.find(".report h1");
    assert!(browser.url().contains("/console/checks/"));
}

/// The table of several files, which is exported as CSV, and the pages of one tell what was not checked.
#[test]
fn a_text_that_cannot_be_checked_does_not_look_clean() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = json!({ "rights": "protected", "text": prose(5, 4_000) });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    let web = Web::of(&server);
    for (text, verdict) in [
        (" ", "Too short to check</span></td>"),
        ("Too short.", "Too short to check</span></td>"),
        (&prose(6, 4_000), "No match</span></td>"),
    ] {
        let row = web
            .upload(
                "/console/check",
                "/console/check?record=true&row=a.txt",
                "a.txt",
                text,
            )
            .expect(200);
        assert!(row.body.contains(verdict), "{}", row.body);
    }
    let alone = web
        .upload("/console/check", "/console/check", "a.txt", "Too short.")
        .expect(200);
    assert!(alone.body.contains("Too short to check"), "{}", alone.body);
    let decisions = web.get("/console/decisions?state=all").expect(200).body;
    assert_eq!(
        decisions.matches("\"tag not_checked\"").count(),
        2,
        "{decisions}"
    );
    assert_eq!(
        decisions.matches("\"tag no_match\"").count(),
        1,
        "{decisions}"
    );
}

fn wait_for_rows(browser: &Browser, rows: usize) {
    browser.js_later(&format!(
        "const done = arguments[0]; const look = () => document.querySelectorAll('#table tbody tr').length >= {rows} ? done(true) : setTimeout(look, 50); look();"
    ));
}

#[test]
fn a_file_can_be_dropped() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    browser.go(&format!("{}/console/check", server.url));
    browser.js(
        "const files = new DataTransfer(); files.items.add(new File(['A short text that was dropped.'], 'dropped.txt', { type: 'text/plain' })); \
         const form = document.querySelector('form[data-files]'); \
         for (const kind of ['dragover', 'drop']) form.dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));",
    );
    browser.click("form[data-files] button:not(.main)");
    browser.see(".report", "dropped.txt");
    // This one was not filed.
    browser.see("#result", "was not filed");
    assert!(!browser.url().contains("/console/checks/"));
}

/// Files that were checked together have an address, where they are found again and what is left is sent.
#[test]
fn a_batch_is_left_and_found_again() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": prose(5, 4_000) });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    let names = ["copy.txt", "own & new.txt", "broken.pdf"];
    let files = [prose(5, 4_000), prose(6, 4_000), "%PDF-1.4".to_owned()];
    let files: Vec<PathBuf> = names
        .iter()
        .zip(files)
        .map(|(name, content)| folder.file(name, content))
        .collect();
    let paths: Vec<&str> = files
        .iter()
        .map(|path| path.to_str().expect("a path"))
        .collect();
    browser.go(&format!("{}/console/check", server.url));
    browser.type_into("#file", &paths.join("\n"));
    browser.click("form[data-files] button.main");
    wait_for_rows(&browser, files.len());
    let batch = browser.url();
    assert!(batch.contains("/console/batches/"), "{batch}");

    browser.go(&format!("{}/console/batches", server.url));
    browser.click("main tbody a");
    assert_eq!(browser.url(), batch);
    browser.see("main", "2 of 3 checked, 1 failed");
    browser.see("#table tbody", "A lighthouse");
    browser.see("#table tr.failed", "Could not be read");
    for (theme, width) in [("light", 390), ("dark", 1280)] {
        browser.looks(theme, width);
        browser.picture(&format!("batch-{theme}-{width}"));
    }
    // Only the file that failed is sent again, wherever it is dropped.
    let checks_there = || {
        let checks = format!("{}/v1/decisions", server.url);
        let mut answer = ureq::get(checks).call().expect("a list");
        let page: serde_json::Value = answer.body_mut().read_json().expect("JSON");
        page["decisions"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(checks_there(), 2);
    browser.js(
        "const files = new DataTransfer(); \
         for (const name of ['copy.txt', 'broken.pdf']) files.items.add(new File(['A text that can be read.'], name)); \
         for (const kind of ['dragover', 'drop']) document.querySelector('h1').dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));",
    );
    browser.click("form[data-batch] button.main");
    browser.see("#table tbody tr:last-child td:nth-child(2)", "Too short");
    assert_eq!(checks_there(), 3);
    browser.go(&batch);
    browser.see("main", "3 of 3 checked");
    browser.see("#table tbody", "broken.pdf");
    assert_eq!(
        browser.js("return document.querySelectorAll('form[data-batch]').length"),
        0
    );
    browser.click("main a[href*='state=open']");
    browser.see("main tbody", "copy.txt");
    assert_eq!(
        browser.js("return document.querySelectorAll('main tbody tr').length"),
        1
    );
}

/// Real files, which are not part of the project.
#[test]
fn real_files_are_read() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/formats");
    // Chromium takes no paths with dots.
    let listed = fs::canonicalize(&shared).and_then(fs::read_dir);
    let Ok(listed) = listed else {
        return told_skipped(&format!("there are no files at {}", shared.display()));
    };
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let mut kinds = std::collections::BTreeMap::new();
    for path in listed.flatten().map(|entry| entry.path()) {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        if name.contains("converted-here") && name.contains("shinel") {
            let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
            kinds.entry(kind).or_insert(path);
        }
    }
    let paths: Vec<&str> = kinds
        .values()
        .map(|path| path.to_str().expect("a path"))
        .collect();
    assert!(paths.len() >= 8, "{paths:?}");
    browser.go(&format!("{}/console/check", server.url));
    browser.type_into("#file", &paths.join("\n"));
    browser.click("form[data-files] button.main");
    wait_for_rows(&browser, paths.len());
    assert_eq!(browser.text("#table tr.failed"), "");
}
