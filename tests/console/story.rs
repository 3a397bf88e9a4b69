//! What each user comes for, in a browser, from the first page to the last.

use serde_json::json;

use crate::common::{Folder, Server, key, prose, until};
use crate::console::browser::{Browser, ENTER};

/// How much a page loaded from elsewhere.
pub const FOREIGN: &str = "return performance.getEntriesByType('resource').filter((one) => !one.name.startsWith(location.origin)).length";

#[test]
fn from_a_fresh_program_to_a_decision() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    browser.go(&server.url);
    browser.see("h1", "Fill the catalogue");
    browser.click("form[action^='/console/demo'] button");
    browser.see("h1", "Demo shelf");
    browser.see("main", "The Lighthouse That Collected Umbrellas");

    // The disguised copy, as a file that is uploaded.
    let copy = lapidary::demo::VICTIM.disguised().text;
    let file = folder.file("midnight.txt", &copy);
    browser.click("nav a[href='/console/check']");
    browser.see("h1", "Check");
    browser.type_into("#file", file.to_str().expect("a path"));
    browser.click("form[data-files] button.main");
    browser.see(".report h1", "Protected");
    browser.see("#result", "The Lighthouse That Collected Umbrellas");
    let shown = browser.text(".report");
    assert!(
        shown.contains("midnight.txt") && shown.contains("Wilhelmina Quickfeather"),
        "{shown}"
    );
    // Passages of both texts, side by side, with what was changed; and the map of the parts.
    let long = "return [...document.querySelectorAll('.report .sides tbody tr')].some((row) =>
        row.cells.length > 1 && [...row.cells].slice(0, 2).every((cell) => cell.textContent.length > 100))";
    assert_eq!(browser.js(long), true, "{shown}");
    assert!(
        browser
            .js("return document.querySelectorAll('.report td mark, .report td ins').length")
            .as_u64()
            > Some(10)
    );
    assert!(
        browser
            .js("return document.querySelectorAll('.report .scale a .part').length")
            .as_u64()
            > Some(0)
    );
    // The address is now that of the filed report.
    assert!(
        browser.url().contains("/console/checks/"),
        "{}",
        browser.url()
    );

    browser.click("input[value=refused]");
    browser.type_into("#reason", "It is our best-selling book.");
    browser.click("form[action*='/console/checks/'] button.main");
    browser.see("#decisions", "It is our best-selling book.");
    browser.see("#decisions", "refused");
    browser.see(".report h1", "Protected");
    let report = browser.url();

    // The book is disabled: checks no longer count it.
    browser.click("nav a[href='/console/catalogue']");
    browser.type_into("#find-q", "lighthouse umbr");
    browser.type_into("#find-q", ENTER);
    browser.see("#found", "Wilhelmina Quickfeather");
    browser.click("#found td a");
    browser.see("h1", "The Lighthouse That Collected Umbrellas");
    browser.click("main .buttons form button");
    browser.see(".facts", "disabled");
    browser.see("main", "book changed");

    browser.click("nav a[href='/console/check']");
    // All of it, since some secrets find no gem in a page; pasted, since nobody types that much.
    let paste = format!("document.querySelector('#text').value = {}", json!(copy));
    browser.js(&paste);
    browser.click("form:not([data-files]) button.main");
    browser.see(".report", "1 disabled book would match");
    // With some secrets, a sentence of another book of the demo informs.
    let outcome = browser.text(".report h1");
    assert!(!outcome.contains("Protected"), "{outcome}");

    // The report of before is as it was.
    browser.go(&report);
    browser.see(".report h1", "Protected");
    browser.see("#decisions", "It is our best-selling book.");
    browser.click("nav a[href='/console/decisions']");
    browser.click("main a[href='/console/decisions?state=all']");
    browser.see("main table", "midnight.txt");
    browser.see("main table", "refused");
    browser.click("nav a[href='/console/audit']");
    browser.see("main table", "demo/lighthouse");

    // Nothing came from elsewhere, and nothing was refused by the policy.
    assert_eq!(browser.js(FOREIGN), 0);
}

/// A shop sees why an upload was blocked and disputes it; the publisher's reviewer finds that, and decides.
#[test]
fn a_partner_appeals_against_a_refusal() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let [boss, shop, editor] = [
        "--role admin boss",
        "--role check shop",
        "--role texts --library house editor",
    ]
    .map(|line| key(&folder.data(), line));
    let server = Server::start(&folder.data());
    let text = prose(5, 4_000);
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": text });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .header("X-Api-Key", &boss)
        .send_json(&book)
        .expect("it is added");
    ureq::post(format!("{}/v1/checks", server.url))
        .header("X-Api-Key", &shop)
        .send_json(json!({ "text": &text[3_000..16_000], "record": true, "name": "an upload" }))
        .expect("it is filed");

    browser.sign_in(&server, &shop);
    browser.click("nav a[href='/console/decisions']");
    browser.see("main tbody tr", "an upload");
    browser.click("main tbody tr a");
    browser.see(".report h1", "Protected");
    browser.see(".report", "A lighthouse");
    assert_eq!(
        browser.js("return document.querySelectorAll('#deciding input[type=radio]').length"),
        0,
        "it only appeals"
    );
    browser.type_into("#reason", "We have a licence.");
    browser.click("#deciding form button.main");
    browser.see("#decisions", "We have a licence.");
    for (theme, width) in [("light", 390), ("dark", 1280)] {
        browser.looks(theme, width);
        browser.picture(&format!("appeal-{theme}-{width}"));
    }
    browser.sign_out();

    browser.sign_in(&server, &editor);
    browser.click("nav a[href='/console/decisions']");
    browser.click("main a[href='/console/decisions?state=appealed']");
    browser.see("main tbody tr", "an upload");
    browser.click("main tbody tr a");
    browser.see("#decisions", "We have a licence.");
    browser.click("input[value=accepted]");
    browser.type_into("#reason", "They do.");
    browser.click("#deciding form button.main");
    browser.see("#decisions", "They do.");
    browser.sign_out();

    browser.sign_in(&server, &shop);
    browser.click("nav a[href='/console/decisions']");
    browser.click("main a[href='/console/decisions?state=decided']");
    browser.click("main tbody tr a");
    browser.see("#decisions", "They do.");
}

/// An administrator sees how much each partner checked in a month, and makes a backup.
#[test]
fn an_administrator_looks_at_a_month_and_backs_up() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let [boss, shop] =
        ["--role admin boss", "--role check shop"].map(|line| key(&folder.data(), line));
    let backups = folder.path("backups");
    let options = format!("--backups {}", backups.display());
    let server = Server::start_with(&options, &[], &folder.data());
    for number in 0..3 {
        ureq::post(format!("{}/v1/checks", server.url))
            .header("X-Api-Key", &shop)
            .send_json(json!({ "text": prose(number, 900) }))
            .expect("it is checked");
    }

    browser.sign_in(&server, &boss);
    browser.click("nav a[href='/console/statistics']");
    // Checks are counted within seconds. The last day of this month is today.
    let month = "#checks .buttons a";
    until("the checks are counted", || {
        browser.click(&format!("{month}:first-child"));
        browser.find(&format!("{month}:first-child[aria-current=true]"));
        browser.text("#checks table").contains("key:shop\t3")
    });
    browser.type_into("#price", "0.5");
    browser.click("#checks form button");
    browser.see("#checks dl", "1.50");
    browser.see("#checks table", "1.50");
    browser.looks("light", 390);
    browser.picture("month-light-390");
    browser.click(&format!("{month}:last-child"));
    browser.find(&format!("{month}:last-child[aria-current=true]"));
    browser.see("#checks", "Nothing was checked on these days.");

    browser.click("nav a[href='/console/jobs']");
    browser.click("form[action$='kind=backup'] button");
    browser.see("#jobs", "done");
    browser.see("#jobs", "#1, ");
}

#[test]
fn duplicates_are_found_and_shown() {
    let Some(browser) = Browser::start("ru") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    browser.go(&server.url);
    browser.see("h1", "Наполнить каталог");
    browser.click("form[action^='/console/demo'] button");
    browser.see("h1", "Демонстрационная полка");
    let copy = folder.file("copy.txt", lapidary::demo::VICTIM.text());
    browser.go(&format!(
        "{}/console/add?library=другие&rights=unknown",
        server.url
    ));
    browser.type_into("#file", copy.to_str().expect("a path"));
    browser.click("main button.main");
    // It is there already.
    browser.see("main table", "The Lighthouse That Collected Umbrellas");
    browser.click("[data-again]");
    browser.see("main table", "добавлена");
    browser.go(&format!("{}/console/duplicates", server.url));
    browser.click("main form button");
    browser.see("#jobs", "выполнено");
    browser.click("#jobs td a");
    browser.see("main", "Группа 1: 2 книги");
    browser.see("main", "copy");
    browser.click("main .group a[href$='/lighthouse']");
    browser.see("main", "Общее с другими книгами");
    browser.see("#shared", "copy");
    assert!(
        browser
            .js("return document.querySelectorAll('#shared .scale a .part').length")
            .as_u64()
            > Some(0)
    );
}

#[test]
fn a_source_is_added_tested_and_run() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    for (name, seed) in [("one.txt", 1), ("two.txt", 2)] {
        folder.file(&format!("shelf/{name}"), prose(seed, 2_000));
    }
    folder.file("shelf/broken.epub", b"PK\x03\x04 and nothing more");
    browser.go(&format!("{}/console/sources", server.url));
    browser.type_into("#name", "our shelf");
    browser.type_into("#address", folder.path("shelf").to_str().expect("a path"));
    browser.type_into("#library", "shelf");
    browser.click("main form button.main");
    browser.see("h1", "our shelf");
    browser.click("form[action*='/test'] button");
    browser.see("#tested", "one.txt");
    browser.click("form[action*='/run'] button");
    browser.see("main", "It is no book that can be read");
    browser.see("main", "broken.epub");
    browser.see("#state", "idle");
    browser.click("form[action*='/pause'] button");
    browser.see("#state", "paused");
    browser.go(&format!("{}/console/catalogue?library=shelf", server.url));
    browser.see("main table", "one");
}
