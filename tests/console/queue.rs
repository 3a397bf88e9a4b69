//! Filed checks that wait for a decision are decided one after another, by keyboard.

use serde_json::json;

use crate::common::{Folder, Server, prose};
use crate::console::browser::{Browser, ENTER, TAB};

const FILED: usize = 6;

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
    browser.see("main tbody tr:first-child", "upload 5");
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
