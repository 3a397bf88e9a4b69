//! The catalogue: a library that is filled with a table, searched, repaired and tidied up.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::json;

use crate::common::{Folder, Server, key, prose};
use crate::console::browser::Browser;
use crate::console::web::Web;

const TITLES: [&str; 4] = ["Шинель", "Нос", "The Portrait", "Невский проспект"];

/// A table and the files of its books.
fn shelf(folder: &Folder) -> (PathBuf, String) {
    let mut table = "\u{feff}id;file;title;authors;isbn\r\n".to_owned();
    let mut files = Vec::new();
    for (i, title) in (1_u64..).zip(TITLES) {
        let authors = "\"Н. Гоголь; A. Nother\"";
        write!(table, "g{i};book {i}.txt;{title};{authors};x{i}\r\n").expect("a row");
        files.push(folder.file(&format!("files/book {i}.txt"), prose(i, 2_000)));
    }
    let files: Vec<&str> = files
        .iter()
        .map(|path| path.to_str().expect("a path"))
        .collect();
    (folder.file("table.csv", table), files.join("\n"))
}

#[test]
fn a_publisher_fills_a_library_with_a_table() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let secret = key(
        &folder.data(),
        "--role ingest --trusted --library mine feed",
    );
    let server = Server::start(&folder.data());
    let (table, files) = shelf(&folder);
    browser.go(&server.url);
    browser.type_into("#key", &secret);
    browser.click("button.main");

    // The table, what it would change, and the files of its books.
    browser.see("h1", "Catalogue");
    browser.type_into("#library", "mine");
    browser.click("button[formaction='/console/import']");
    browser.type_into("#file", table.to_str().expect("a path"));
    browser.click("main button.main");
    browser.see("main", "Nothing was changed yet");
    browser.see("main tbody", "new: its file is needed");
    browser.type_into("#texts", &files);
    browser.click("main button.main");
    browser.see("main tbody", "added");
    assert!(!browser.text("main").contains("its file is needed"));

    // Some letters are enough, and the address has them.
    browser.click("nav a[href='/console/catalogue']");
    browser.type_into("#find-q", "шинел гог");
    browser.see("#found", "Шинель");
    assert!(!browser.text("#found").contains("Нос"));
    let address = browser.url();
    assert!(address.contains("q=%D1%88"), "{address}");
    browser.click("#found td a");
    browser.see("h1", "Шинель");

    // A record is repaired, a book is disabled and enabled again, and removed.
    browser.type_into("#title", " и другие");
    browser.click("form:has(#title) button");
    browser.see("h1", "Шинель и другие");
    browser.click("main section > .buttons form button");
    browser.see("[role=status]", "The book is disabled");
    browser.click("[role=status] button");
    browser.see("main section > .buttons", "Disable");
    assert!(!browser.text(".facts").contains("disabled"));
    browser.js("window.confirm = () => true");
    browser.click("form[data-sure] button");
    browser.see("h1", "Catalogue");
    let sorted = format!("{}/console/catalogue?library=mine&sort=title", server.url);
    browser.go(&sorted);
    let rows = browser.text("#found tbody");
    assert!(!rows.contains("Шинель"), "{rows}");
    let place = |title: &str| rows.find(title).expect("a title");
    assert!(
        place("The Portrait") < place("Невский") && place("Невский") < place("Нос"),
        "{rows}"
    );
}

#[test]
fn what_is_wrong_with_books_is_shown_and_found() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    for (id, until) in [("old", "2020-01-01"), ("new", "2999-12-31")] {
        let book = json!({ "rights": "protected", "title": id, "validity": { "until": until }, "text": prose(1, 2_000) });
        ureq::put(format!("{}/v1/libraries/house/books/{id}", server.url))
            .send_json(&book)
            .expect("it is added");
    }
    let expired = web.get("/console/catalogue?state=expired").expect(200).body;
    assert!(expired.contains("house/old") && !expired.contains("house/new"));
    let library = web.get("/console/catalogue?library=house").expect(200).body;
    assert_eq!(
        library
            .matches("<span class=\"tag\">rights expired")
            .count(),
        1
    );
    for (book, is_expired) in [("old", true), ("new", false)] {
        let page = web
            .get(&format!("/console/books/house/{book}"))
            .expect(200)
            .body;
        assert_eq!(page.contains("rights expired"), is_expired, "{book}");
    }
    // What a book shares with others is no alarm.
    let shared = web.get("/console/matches/house/old").expect(200).body;
    assert!(shared.contains("/console/books/house/new"), "{shared}");
    assert!(!shared.contains("class=\"outcome"), "{shared}");
    // Nobody can be made to believe that a book was disabled.
    let page = web
        .get("/console/books/house/new?done=disable")
        .expect(200)
        .body;
    assert!(!page.contains("The book is disabled"));
}

#[test]
fn a_hostile_table_is_shown_as_it_is() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    let evil = "\"\"'><script>evil()</script>";
    let table = format!("id,title,rights\r\n\"{evil}\",\"{evil}\",free\r\nb,x,\"{evil}\"\r\n");
    let page = "/console/import?library=mine&rights=free";
    let preview = web.upload(page, page, "t.csv", &table).expect(200);
    assert!(preview.body.contains("&lt;script&gt;"), "{}", preview.body);
    assert!(!preview.body.contains("<script>"), "{}", preview.body);
    let refused = web
        .upload(page, page, "t.csv", "colour\r\nred\r\n")
        .expect(422);
    assert!(refused.body.contains("bad_table"), "{}", refused.body);
    let template = web.get("/console/import/template.csv").expect(200);
    let empty = web.upload(page, page, "t.csv", &template.body).expect(200);
    assert!(
        empty.body.contains("The table has no rows"),
        "{}",
        empty.body
    );
}
