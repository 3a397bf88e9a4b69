//! The report of a long text is one screen that opens: by mouse, by keyboard, without scripts, and on paper.

use serde_json::json;

use crate::common::{Folder, Server, prose};
use crate::console::browser::{Browser, ENTER, TAB};

const PASSAGES: usize = 17;
/// The number of the open passage that has the focus.
const CURRENT: &str =
    "return document.activeElement.closest('.passage[open]')?.querySelector('div').id ?? ''";

/// A protected book, and what a novel has of it.
fn copied() -> (String, Vec<String>) {
    let book = prose(5, 14_000);
    let part = |at: usize| book[at * 4_500..at * 4_500 + 2_000].to_owned();
    let parts = (0..PASSAGES).map(part).collect();
    (book, parts)
}

/// A server with a filed check of a novel that has passages of a book. Returns its id.
fn with_a_novel(folder: &Folder) -> (Server, String) {
    let server = Server::start(&folder.data());
    let (book, parts) = copied();
    for (id, title) in [("1", "A lighthouse"), ("2", "A lighthouse, again")] {
        let book =
            json!({ "rights": "protected", "title": title, "text": book, "keep_text": true });
        ureq::put(format!("{}/v1/libraries/house/books/{id}", server.url))
            .send_json(&book)
            .expect("it is added");
    }
    let chapters = (1..).zip(&parts).map(|(number, part)| {
        let own = prose(100 + number, 700);
        format!("Chapter {number}\n\n{own}\n\n{part}\n\n")
    });
    let novel: String = chapters.collect();
    let check = json!({ "text": novel, "record": true, "detail": true, "name": "novel.txt" });
    let mut answer = ureq::post(format!("{}/v1/checks", server.url))
        .send_json(&check)
        .expect("it is filed");
    let report: serde_json::Value = answer.body_mut().read_json().expect("JSON");
    let id = report["filed"].as_str().expect("an id").to_owned();
    (server, id)
}

fn count(browser: &Browser, css: &str) -> u64 {
    let script = format!("return document.querySelectorAll({css:?}).length");
    browser.js(&script).as_u64().expect("a number")
}

#[test]
fn a_novel_is_one_screen_that_opens() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let (server, id) = with_a_novel(&folder);
    browser.looks("light", 1280);
    browser.go(&format!("{}/console/checks/{id}", server.url));
    browser.see(".report h1", "Protected");
    browser.see("#standing", "Reviewers of house decide");
    let height = browser.js("return document.querySelector('.report').offsetHeight");
    assert!(height.as_u64() < Some(2_500), "{height}");

    // Both editions are one work; each passage is on the map and in the list, and all of its words are on the page.
    assert_eq!(count(&browser, ".report .work"), 1);
    browser.see(".report .work", "1 other edition");
    assert_eq!(count(&browser, ".report .scale a"), PASSAGES as u64);
    assert_eq!(
        count(&browser, ".report .passage:not([open])"),
        PASSAGES as u64
    );
    let words = browser.js(
        "return [...document.querySelectorAll('.report .sides td:first-child')].map((one) => one.textContent).join('')",
    );
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = plain(words.as_str().expect("a text"));
    for part in copied().1 {
        // Where a passage begins and ends is not for the page to say.
        let part: Vec<&str> = part.split_whitespace().collect();
        let middle = part[part.len() / 3..part.len() * 2 / 3].join(" ");
        assert!(words.contains(&middle), "{middle}");
    }

    // The verdict stays in view.
    browser.js("scrollTo(0, document.body.scrollHeight / 2)");
    let top =
        browser.js("return document.querySelector('.report .head').getBoundingClientRect().top");
    assert_eq!(top, 0);

    // By access keys, by the links of a passage, and by the map.
    for (key, passage) in [('j', 1), ('j', 2), ('j', 3), ('k', 2)] {
        browser.press_with_alt(key);
        browser.find(&format!("details[open] > #passage-{passage}"));
        assert_eq!(browser.js(CURRENT), format!("passage-{passage}"));
    }
    browser.press(&format!("{TAB}{TAB}{ENTER}"));
    assert_eq!(browser.js(CURRENT), "passage-3");
    browser.js("document.querySelector('.scale a[href=\"#passage-9\"]').focus()");
    browser.press(ENTER);
    assert_eq!(browser.js(CURRENT), "passage-9");

    // What was decided is said beside the verdict.
    browser.click("input[value=refused]");
    browser.type_into("#reason", "a copy");
    browser.click("#deciding form button.main");
    browser.see("#standing", "Decision: refused");
}

#[test]
fn a_page_by_itself_opens_without_scripts() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let (server, id) = with_a_novel(&folder);
    browser.go(&format!("{}/v1/decisions/{id}/page", server.url));
    assert_eq!(count(&browser, "script"), 0);
    assert_eq!(count(&browser, ".passage[open]"), 0);
    browser.js("document.querySelector('.scale a[href=\"#passage-4\"]').focus()");
    browser.press(ENTER);
    browser.find("details[open] > #passage-4");
    // The focus goes on from there: to the passage before it, and the one behind it.
    browser.press(&format!("{TAB}{TAB}{ENTER}"));
    browser.find("details[open] > #passage-5");
    // The map is magnified.
    browser.js("scrollTo(0, 0)");
    let wide =
        "const map = document.querySelector('.scroller'); return map.scrollWidth / map.clientWidth";
    assert_eq!(browser.js(wide), 1);
    browser.click("#zoom-4 + span");
    assert_eq!(browser.js(wide), 4);
}

#[test]
fn on_paper_all_is_shown_without_controls() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let (server, id) = with_a_novel(&folder);
    // A page of A4 with margins of a centimetre, in pixels.
    browser.looks("light", 718);
    browser.go(&format!("{}/console/checks/{id}", server.url));
    browser.see(".report h1", "Protected");
    browser.devtools("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let seen = |css: &str| {
        let script = format!(
            "return [...document.querySelectorAll({css:?})].filter((one) => one.checkVisibility({{ contentVisibilityAuto: true }})).length"
        );
        browser.js(&script).as_u64().expect("a number")
    };
    for control in [
        "button",
        "form",
        "input",
        ".zoom",
        ".ways",
        ".steps",
        ".contents",
    ] {
        assert_eq!(seen(control), 0, "{control}");
    }
    assert_eq!(seen(".report .passage .sides"), PASSAGES as u64);
    let summary = browser.js(
        "const top = (css) => document.querySelector(css).getBoundingClientRect().top; return top('#passages') - top('.report')",
    );
    assert!(summary.as_f64() < Some(2.0 * 1_046.0), "{summary}");
    // Nor where the report is below the form that asked for it.
    browser.go(&format!("{}/console/check", server.url));
    assert_eq!(seen("main :is(button, form, input, .lead)"), 0);
}

#[test]
fn a_report_is_exported() {
    let folder = Folder::new();
    let (server, id) = with_a_novel(&folder);
    let file = |name: &str| {
        let mut answer = ureq::get(format!("{}/console/checks/{id}/{name}", server.url))
            .call()
            .expect("a file");
        let kind = answer.headers()["content-disposition"]
            .to_str()
            .expect("a name");
        assert_eq!(kind, format!("attachment; filename=\"{name}\""));
        answer.body_mut().read_to_string().expect("a text")
    };
    let table = file("passages.csv");
    assert_eq!(table.lines().count(), 1 + PASSAGES, "{table}");
    assert!(
        table.contains("A lighthouse,house,protected,\"“Chapter 3”"),
        "{table}"
    );
    assert!(file("report.html").ends_with("</html>"));
    let entry: serde_json::Value = serde_json::from_str(&file("report.json")).expect("JSON");
    assert_eq!(entry["filed"]["report"]["verdict"], "protected");
}
