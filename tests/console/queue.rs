//! Filed checks that wait for a decision are decided one after another, by keyboard.

use std::io::{Cursor, Read as _};

use serde_json::json;
use zip::ZipArchive;

use crate::common::{Folder, Server, prose};
use crate::console::browser::{Browser, ENTER, TAB};
use crate::console::web::Web;

const FILED: usize = 20;

#[test]
fn refusals_are_cleared_by_keyboard() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": prose(5, 4_000) });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    let copy = &prose(5, 4_000)[3_000..16_000];
    let texts = (0..FILED).map(|number| format!("{copy} {number}"));
    for (number, text) in texts.chain([prose(9, 900)]).enumerate() {
        let check = json!({ "text": text, "record": true, "name": format!("upload {number}") });
        ureq::post(format!("{}/v1/checks", server.url))
            .send_json(&check)
            .expect("it is filed");
    }
    // The newest comes first, and what matches nothing does not wait.
    browser.go(&format!("{}/console/decisions", server.url));
    browser.see(
        "main tbody tr:first-child",
        &format!("upload {}", FILED - 1),
    );
    let rows = "return document.querySelectorAll('main tbody tr').length";
    assert_eq!(browser.js(rows), FILED);
    browser.looks("light", 390);
    browser.picture("queue-light-390");
    browser.click("main tbody tr:first-child a");
    for number in (0..FILED).rev() {
        browser.see("h1", "Protected");
        browser.see(".report", &format!("upload {number}"));
        let key = if number % 2 == 0 { 'r' } else { 'a' };
        let reason = format!("reason {number}");
        browser.press_with_alt(key);
        browser.press(TAB);
        browser.press(&reason);
        browser.press_with_alt('s');
        browser.see("#decisions", &reason);
        if number > 0 {
            browser.find("a[rel=next]:focus");
            browser.press(ENTER);
        }
    }
    assert_eq!(
        browser.js("return document.querySelectorAll('a[rel=next]').length"),
        0
    );
    browser.click("nav a[href='/console/decisions']");
    browser.see("main", "Nothing waits for a decision.");
    for (state, rows_of_state) in [("decided", FILED), ("watched", 1), ("appealed", 0)] {
        browser.click(&format!("main a[href='/console/decisions?state={state}']"));
        browser.find(&format!("a[aria-current=page][href$='state={state}']"));
        assert_eq!(browser.js(rows), rows_of_state, "{state}");
    }
    browser.click("main a[href='/console/decisions?state=all']");
    browser.see("main table", "refused");
    browser.see("main table", "accepted");
}

/// Several at once, by what they are searched for; and back.
#[test]
fn several_refusals_are_decided_at_once() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": prose(5, 4_000) });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    for number in 0..FILED {
        let name = if number < 4 { "novel" } else { "other" };
        let text = format!("{} {number}", prose(5, 4_000));
        let check = json!({ "text": text, "record": true, "name": format!("{name} {number}") });
        ureq::post(format!("{}/v1/checks", server.url))
            .send_json(&check)
            .expect("it is filed");
    }
    browser.go(&format!("{}/console/decisions", server.url));
    browser.type_into("#q", "novel");
    browser.click("form.search button");
    browser.see("main tbody", "novel 3");
    let rows = "return document.querySelectorAll('main tbody tr').length";
    assert_eq!(browser.js(rows), 4);
    assert!(browser.url().contains("q=novel"), "{}", browser.url());
    browser.see("main tbody", "A lighthouse");
    for (theme, width) in [("light", 390), ("dark", 1280)] {
        browser.looks(theme, width);
        browser.picture(&format!("queue-several-{theme}-{width}"));
    }
    browser.click("[data-all]");
    browser.click("button[value=assigned]");
    browser.see("[role=status]", "Recorded for 4 checks.");
    browser.see("main tbody", "anonymous");
    browser.click("[data-all]");
    browser.type_into("#reason", "copies");
    browser.click("button[value=refused]");
    browser.see("[role=status]", "Recorded for 4 checks.");
    browser.see("main", "Nothing was found.");
    // What was done is taken back, and stays on record.
    browser.click("[role=status] button[value=withdrawn]");
    browser.see("main tbody", "novel 0");
    assert_eq!(browser.js(rows), 4);
    browser.click("main tbody a");
    browser.see("#decisions", "copies");
    browser.see("#decisions", "taken back");
    // A decision is taken back where it is shown, too.
    browser.click("input[value=accepted]");
    browser.type_into("#reason", "licensed");
    browser.click("#deciding form.card button.main");
    browser.see("#decisions", "licensed");
    browser.click("#decisions form button");
    browser.see("#standing", "Not decided yet");
}

/// What a search finds is exported, in both languages and for spreadsheets.
#[test]
fn the_queue_is_exported() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": prose(5, 4_000) });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
    for name in ["=cmd()", "other"] {
        let text = format!("{} {name}", prose(5, 4_000));
        let check = json!({ "text": text, "record": true, "name": name });
        ureq::post(format!("{}/v1/checks", server.url))
            .send_json(&check)
            .expect("it is filed");
    }
    let web = Web::of(&server);
    let csv = web
        .get("/console/decisions/queue.csv?state=open")
        .expect(200);
    assert_eq!(csv.body.lines().count(), 3, "{}", csv.body);
    assert!(csv.body.contains("'=cmd(),"), "{}", csv.body);
    assert!(csv.body.contains("Protected,"), "{}", csv.body);
    assert!(csv.body.contains("A lighthouse,house,"), "{}", csv.body);
    let narrow = web
        .get("/console/decisions/queue.csv?state=open&q=other")
        .expect(200);
    assert_eq!(narrow.body.lines().count(), 2, "{}", narrow.body);
    let mut answer = ureq::get(format!(
        "{}/console/decisions/queue.xlsx?state=open",
        server.url
    ))
    .call()
    .expect("a workbook");
    let bytes = answer.body_mut().read_to_vec().expect("bytes");
    let mut book = ZipArchive::new(Cursor::new(bytes)).expect("a workbook");
    let mut text = String::new();
    let mut strings = book.by_name("xl/sharedStrings.xml").expect("strings");
    strings.read_to_string(&mut text).expect("a text");
    assert!(
        text.contains("=cmd()") && text.contains("A lighthouse"),
        "{text}"
    );
    web.get("/console/decisions/queue.exe").expect(404);
}
