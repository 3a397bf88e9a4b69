//! A filed report shows what it showed at first: from its link, from a row of several files, from the decisions, and after one.

use serde_json::json;

use crate::common::{Folder, Server, prose};
use crate::console::browser::Browser;

/// What a report shows of the texts.
const PASSAGES: &str = "return [...document.querySelectorAll('.report td[dir], .report .passage summary')].map((one) => one.textContent)";
/// Says yes to whatever the page asks.
const AGREE: &str = "window.confirm = () => true";

/// A part of a book between other texts.
fn copied() -> String {
    let copied = &prose(5, 4_000)[3_000..16_000];
    format!("{}\n\n{copied}\n\n{}", prose(6, 900), prose(7, 900))
}

fn with_a_book(folder: &Folder) -> Server {
    let server = Server::start(&folder.data());
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": prose(5, 4_000), "keep_text": true });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    server
}

fn decide(browser: &Browser, reason: &str) {
    browser.click("input[value=refused]");
    browser.type_into("#reason", reason);
    browser.click("#deciding form button.main");
    browser.see("#decisions", reason);
}

#[test]
fn a_filed_report_keeps_what_it_shows() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = with_a_book(&folder);
    let file = folder.file("upload.txt", copied());
    let other = folder.file("other.txt", prose(8, 400));
    let passages = || browser.js(PASSAGES);
    let check = |files: &str| {
        browser.go(&format!("{}/console/check", server.url));
        browser.type_into("#file", files);
        browser.click("form[data-files] button.main");
    };

    check(file.to_str().expect("a path"));
    browser.see("#result", "Record a decision");
    let fresh = passages();
    let shown = fresh.to_string();
    assert!(
        shown.len() > 10_000 && browser.text(".report").contains("paragraph"),
        "{shown}"
    );
    // A decision is added to the page, whose report stays.
    browser.js("document.querySelector('.report').dataset.same = 'yes'");
    // What is refused is told beside the form, with what was written: letters of two bytes.
    browser.js("document.getElementById('reason').value = 'ы'.repeat(4000)");
    browser.click("input[value=refused]");
    browser.click("#deciding form button.main");
    browser.see("#undecided", "too_long");
    browser.js("document.getElementById('reason').value = document.getElementById('reason').value.slice(4000)");
    assert_eq!(
        browser.js("return document.querySelectorAll('#result').length"),
        1
    );
    decide(&browser, "a copy");
    browser.find(".report[data-same=yes]");
    assert_eq!(passages(), fresh);
    assert_eq!(
        browser.js("return document.getElementById('reason').value"),
        ""
    );

    // The link to the report, and the list of decisions.
    browser.click("#result a.button");
    browser.see("#decisions", "a copy");
    browser.see("#result", "Its text is kept until");
    assert_eq!(passages(), fresh);
    for (theme, width) in [("light", 390), ("dark", 1280)] {
        browser.looks(theme, width);
        browser.picture(&format!("evidence-{theme}-{width}"));
    }
    browser.click("nav a[href='/console/decisions']");
    browser.see("main", "Nothing waits for a decision.");
    browser.click("main a[href='/console/decisions?state=decided']");
    browser.click("main table a");
    browser.see("#result", "Its text is kept until");
    assert_eq!(passages(), fresh);

    // A row of several files.
    check(&format!("{}\n{}", file.display(), other.display()));
    browser.find("#table tbody tr:nth-child(2)");
    browser.js(
        "[...document.querySelectorAll('#table tbody a')].find((one) => one.innerText == 'upload.txt').click()",
    );
    browser.see("#result", "Its text is kept until");
    assert_eq!(passages(), fresh);

    // Without the text, passages are shown to whoever has the file, and only that one.
    browser.js(AGREE);
    browser.click("#result form.one button");
    browser.see("#result", "Its text is not kept");
    assert_eq!(passages(), json!([]));
    browser.see(".report", "paragraph");
    browser.looks("light", 390);
    browser.picture("evidence-gone-light-390");
    let report = browser.url();
    browser.type_into("#file", other.to_str().expect("a path"));
    browser.click("form[action$='/attach'] button");
    browser.see(".problem", "other_text");
    browser.go(&report);
    browser.type_into("#file", file.to_str().expect("a path"));
    browser.click("form[action$='/attach'] button");
    browser.find(".report .sides");
    assert_eq!(passages(), fresh);
    decide(&browser, "still a copy");
    assert_eq!(passages(), fresh);
    browser.go(&report);
    browser.see("#decisions", "still a copy");
    assert_eq!(passages(), json!([]));
    assert_eq!(browser.js(crate::console::story::FOREIGN), 0);
}

/// The passages of a text that stays in the page stay when something is decided.
#[test]
fn a_decision_about_a_text_that_stays_leaves_its_passages() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = with_a_book(&folder);
    let file = folder.file("upload.txt", copied());
    browser.go(&format!("{}/console/check", server.url));
    browser.click("#stays:enabled");
    browser.type_into("#file", file.to_str().expect("a path"));
    browser.click("form[data-files] button.main");
    browser.see("#result", "Record a decision");
    let fresh = browser.js(PASSAGES);
    assert!(fresh.to_string().len() > 10_000, "{fresh}");
    decide(&browser, "a copy");
    assert_eq!(browser.js(PASSAGES), fresh);
    // Only gems were filed: there is no text to show or to compare a file with.
    browser.click("#result a.button");
    browser.see("#decisions", "a copy");
    assert_eq!(browser.js(PASSAGES), json!([]));
    assert_eq!(
        browser.js("return ['form', '[type=file]'].map(of => document.querySelectorAll(`#result ${of}`).length)"),
        json!([3, 0]),
        "to take it, to undo, and to decide"
    );
}

/// A link that an editor makes shows the report to a browser that has no key, until it is deleted.
#[test]
fn a_report_is_shared_by_a_link() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = with_a_book(&folder);
    let file = folder.file("upload.txt", copied());
    browser.go(&format!("{}/console/check", server.url));
    browser.type_into("#file", file.to_str().expect("a path"));
    browser.click("form[data-files] button.main");
    browser.see("#result", "Record a decision");
    browser.click("#result a.button");
    browser.see("#result", "Its text is kept until");
    let passages = browser.js(PASSAGES);
    browser.click("a[href$='/links']");
    browser.click("input[name=book_texts]");
    browser.click("form.card button.main");
    browser.see("main", "The link is ready");
    let address = browser.text("#secret");
    assert!(
        address.starts_with(&format!("{}/shared/", server.url)),
        "{address}"
    );
    browser.looks("light", 390);
    browser.picture("links-light-390");
    let links = browser.url();
    browser.go(&address);
    assert_eq!(browser.js(&PASSAGES.replace(".report ", "main ")), passages);
    browser.go(&links);
    browser.js(AGREE);
    browser.click("main table form.one button");
    browser.find("main:not(:has(table))");
    browser.go(&address);
    browser.see("main", "Ask whoever sent it for another");
}
