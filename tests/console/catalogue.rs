//! The catalogue: a library that is filled with a table, searched, repaired and tidied up.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::{Folder, Server, key, prose};
use crate::console::browser::Browser;
use crate::console::web::Web;

const TITLES: [&str; 4] = ["Шинель", "Нос", "The Portrait", "Невский проспект"];

/// The button that removes a book.
const REMOVE: &str = "form:has([value=remove]) button";

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
    browser.sign_in(&server, &secret);

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

    // A record is repaired, a book is disabled and enabled again, and removed, which can be undone.
    browser.type_into("#title", " и другие");
    browser.click("form:has(#title) button");
    browser.see("h1", "Шинель и другие");
    browser.click("main section > .buttons form button");
    browser.see("[role=status]", "The book is disabled");
    browser.click("[role=status] button");
    browser.see("main section > .buttons", "Disable");
    assert!(!browser.text(".facts").contains("disabled"));
    browser.click(REMOVE);
    browser.see("[role=status]", "The book is removed");
    browser.click("[role=status] button");
    browser.see("main section > .buttons", "Remove");
    browser.click(REMOVE);
    browser.see("[role=status]", "The book is removed");
    let removed = format!("{}/console/catalogue?state=removed", server.url);
    browser.go(&removed);
    browser.see("#found tbody", "Шинель");
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
}

#[test]
fn the_template_is_a_table_without_rows() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let get = |path: &str| ureq::get(format!("{}{path}", server.url)).call();
    let template = get("/console/import/template.xlsx").expect("a workbook");
    let workbook = template.into_body().read_to_vec().expect("its bytes");
    let send = |table: &[u8]| {
        let place = format!("{}/v1/libraries/mine/table?rights=free", server.url);
        let sent = ureq::post(place)
            .header("Content-Type", "application/octet-stream")
            .send(table);
        let mut answer = sent.expect("a table");
        answer.body_mut().read_to_string().expect("lines")
    };
    assert_eq!(send(&workbook), "");
    // Its columns are those of the reader, all of them: the examples are read, too, when they are in the first sheet.
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&workbook)).expect("an archive");
    let mut sheet = String::new();
    let mut examples = archive
        .by_name("xl/worksheets/sheet2.xml")
        .expect("a sheet");
    std::io::Read::read_to_string(&mut examples, &mut sheet).expect("a text");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let plain = zip::write::SimpleFileOptions::default();
    zip.start_file("xl/worksheets/sheet1.xml", plain)
        .expect("a part");
    std::io::Write::write_all(&mut zip, sheet.as_bytes()).expect("its content");
    let examples = zip.finish().expect("an archive").into_inner();
    let rows = send(&examples);
    let example = rows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|answer| answer["id"] == "evenings")
        .expect("the example");
    assert_eq!(example["outcome"], "missing", "{example}");
    assert_eq!(
        example["row"]["validity"]["until"], "2030-12-31",
        "{example}"
    );
}

/// A book of this text in a library.
fn add(server: &Server, library: &str, id: &str, title: &str, text: &str) {
    let book = json!({ "rights": "protected", "title": title, "text": text });
    let place = format!("{}/v1/libraries/{library}/books/{id}", server.url);
    ureq::put(place).send_json(&book).expect("it is added");
}

#[test]
fn what_is_there_already_is_added_only_after_a_warning() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let text = prose(1, 3_000);
    add(&server, "theirs", "1", "The first edition", &text);
    add(&server, "mine", "old", "An old book", &prose(3, 3_000));
    let (free, place) = (prose(5, 3_000), "/v1/libraries/theirs/books/2");
    let book = json!({ "rights": "free", "title": "A free one", "text": free });
    ureq::put(format!("{}{place}", server.url))
        .send_json(&book)
        .expect("it is added");
    let files = [
        ("copy.txt", text),
        ("new.txt", prose(2, 3_000)),
        ("old.txt", prose(4, 3_000)),
        ("twin.txt", free + " the end"),
        ("scan.txt", "Scanned by nobody.".to_owned()),
    ]
    .map(|(name, text)| folder.file(name, text));
    let files: Vec<&str> = files
        .iter()
        .map(|path| path.to_str().expect("a path"))
        .collect();
    browser.go(&format!(
        "{}/console/add?library=mine&rights=protected",
        server.url
    ));
    browser.type_into("#file", &files.join("\n"));
    browser.click("main button.main");
    let row = |name: &str| format!("#table tbody tr:has([data-again*='row={name}'])");
    browser.see(&row("copy.txt"), "The first edition");
    browser.see(&row("old.txt"), "has a book with this id");
    browser.see("#table tbody tr:has(a[href$='/new'])", "new.txt");
    // What keeps nothing out is told, too.
    let warned = |id: &str| format!("#table tbody tr:has(a[href$='/{id}']) .warn");
    browser.see(&warned("twin"), "A free one");
    browser.see(&warned("scan"), "Too short to check");
    for (theme, width) in [("light", 390), ("dark", 1280)] {
        browser.looks(theme, width);
        browser.picture(&format!("added-{theme}-{width}"));
    }
    let ids = || -> Vec<String> {
        let books = ureq::get(format!("{}/v1/libraries/mine/books", server.url)).call();
        let mut books = books.expect("books");
        let books: Value = books.body_mut().read_json().expect("JSON");
        let books = books["books"].as_array().expect("books").iter();
        books
            .map(|book| format!("{} {}", book["id"], book["title"]))
            .collect()
    };
    assert_eq!(
        ids(),
        [
            "\"new\" null",
            "\"old\" \"An old book\"",
            "\"scan\" null",
            "\"twin\" null"
        ]
    );
    // One click adds what matches, another one replaces what is there.
    for (name, done) in [("copy.txt", "added"), ("old.txt", "replaced")] {
        browser.click(&format!("{} button", row(name)));
        browser.see(
            &format!(
                "#table tbody tr:has(a[href$='/{}'])",
                &name[..name.len() - 4]
            ),
            done,
        );
    }
    assert_eq!(
        ids(),
        [
            "\"copy\" null",
            "\"new\" null",
            "\"old\" null",
            "\"scan\" null",
            "\"twin\" null"
        ]
    );
    assert_eq!(
        browser.js("return document.querySelectorAll('#table tbody tr').length"),
        5
    );
}

#[test]
fn without_scripts_a_warning_is_shown_too() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let web = Web::of(&server);
    let text = prose(1, 3_000);
    add(&server, "theirs", "1", "The first edition", &text);
    let page = "/console/add?library=mine&rights=protected";
    let refused = web.upload(page, page, "copy.txt", &text).expect(200).body;
    assert!(refused.contains("The first edition"), "{refused}");
    web.get("/console/books/mine/copy").expect(404);
    let anyway = format!("{page}&anyway=true");
    web.upload(page, &anyway, "copy.txt", &text).expect(200);
    web.get("/console/books/mine/copy").expect(200);
}

#[test]
fn a_publisher_adds_152_books_with_a_spreadsheet() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let mut table = "id,file,title\r\n".to_owned();
    let files: Vec<String> = (0..152)
        .map(|i| {
            write!(table, "b{i},{i}.txt,Title {i:03}\r\n").expect("a row");
            let file = folder.file(&format!("files/{i}.txt"), prose(i, 300));
            file.to_str().expect("a path").to_owned()
        })
        .chain((0..50).map(|i| {
            let file = folder.file(&format!("files/stray {i}.txt"), prose(999, 300));
            file.to_str().expect("a path").to_owned()
        }))
        .collect();
    let table = folder.file("table.csv", table);
    browser.go(&format!(
        "{}/console/import?library=mine&rights=protected",
        server.url
    ));
    browser.type_into("#file", table.to_str().expect("a path"));
    browser.click("main button.main");
    browser.see("main", "Nothing was changed yet");
    browser.type_into("#texts", &files.join("\n"));
    browser.click("main button.main");
    browser.see("main .lead", "What became of each row");
    let count = |words: &str| {
        browser.js(&format!(
            "return [...document.querySelectorAll('main tbody tr')].filter((row) => row.cells[2].textContent === '{words}').length"
        ))
    };
    assert_eq!(count("added"), 152);
    assert_eq!(count("refused"), 50, "the files of no row");
    assert!(!browser.text("main").contains("its file is needed"));
}

#[test]
fn more_books_than_a_page_has_are_sorted() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let lines: String = (0..1_234)
        .map(|i| {
            let title = format!("Title {:04}", (i * 7) % 1_234);
            let book = json!({ "id": format!("{i}"), "rights": "free", "title": title, "text": format!("Text {i}.") });
            book.to_string() + "\n"
        })
        .collect();
    ureq::post(format!("{}/v1/libraries/mine/books", server.url))
        .header("Content-Type", "application/x-ndjson")
        .send(lines)
        .expect("books")
        .body_mut()
        .read_to_string()
        .expect("answers");
    let web = Web::of(&server);
    for (from, first) in [(0, "Title 0000"), (50, "Title 0050"), (1_200, "Title 1200")] {
        let address = format!("/console/catalogue?library=mine&sort=title&from={from}");
        let page = web.get(&address).expect(200).body;
        let place = page.find("Title ").expect("a book");
        assert!(
            page[place..].starts_with(first),
            "{}",
            &page[place..place + 20]
        );
        assert_eq!(page.contains(&format!("from={}", from + 50)), from < 1_184);
    }
}

#[test]
fn a_librarian_keeps_one_of_each_group_of_duplicates() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    for (id, title, seed) in [("a", "Draft", 1), ("b", "Final", 1), ("c", "Other", 2)] {
        add(&server, "house", id, title, &prose(seed, 3_000));
    }
    browser.go(&format!("{}/console/duplicates", server.url));
    browser.click("main form button");
    browser.see("#jobs", "done");
    browser.click("#jobs td a");
    browser.see(".group", "of it is in the best copy");
    browser.click(".group li:has(a[href$='/b']) form button");
    browser.see("main", "No two books are the same");
    browser.click("main a[href$='state=removed']");
    browser.see("#found tbody", "Draft");
    browser.click("#found td a");
    browser.click("[role=status] button");
    browser.see("main section > .buttons", "Remove");
    // It is there again, and so is the group, which is then settled in another way, and opened again.
    browser.go(&format!("{}/console/duplicates", server.url));
    browser.click(".group form:has([value=editions]) button");
    browser.see("main", "No two books are the same");
    browser.click("main a[href$='settled=true']");
    browser.see(".group", "Draft");
    browser.click(".group form:has([value=reopen]) button");
    browser.see("main", "No two books are the same");
    browser.go(&format!("{}/console/duplicates", server.url));
    browser.see(".group", "Draft");
}

/// Libraries, keys and sources have pages of a hundred, and each is on one of them.
#[test]
fn long_lists_have_pages() {
    let folder = Folder::new();
    let secret = key(&folder.data(), "--role admin boss");
    let server = Server::start(&folder.data());
    let client = Client::new(&server, &secret);
    let gems: Vec<u64> = (1..20).collect();
    let book = json!({ "rights": "free", "gems": gems, "recipe": "released" });
    for number in 0..=100 {
        let library = format!("library-{number:03}");
        for (method, path, body) in [
            ("PUT", format!("/v1/libraries/{library}/books/one"), &book),
            (
                "POST",
                "/v1/keys".to_owned(),
                &json!({ "name": format!("key-{number:03}"), "role": "check" }),
            ),
            (
                "PUT",
                format!("/v1/sources/source-{number:03}"),
                &json!({
                    "kind": "feed", "url": "https://books.invalid/feed", "library": library, "rights": "free",
                    "contact": "me@books.invalid", "paused": true,
                }),
            ),
        ] {
            let (status, answer) = client.json(method, &path, body);
            assert_eq!(status, 201, "{path}: {answer}");
        }
    }
    let web = Web::signed_in(&server, &secret);
    for (page, next, kind) in [
        ("/console/catalogue", "libraries", "library"),
        ("/console/keys", "from", "key"),
        ("/console/sources", "from", "source"),
    ] {
        let (first, last) = (format!("{kind}-000"), format!("{kind}-100"));
        let begins = web.get(page).expect(200).body;
        assert!(begins.contains(&first) && !begins.contains(&last), "{page}");
        let link = format!("{page}?{next}=");
        let (_, link) = begins
            .split_once(&format!("href=\"{link}"))
            .expect("a link");
        let (cursor, _) = link.split_once('"').expect("its end");
        let goes_on = web.get(&format!("{page}?{next}={cursor}")).expect(200).body;
        assert!(
            goes_on.contains(&last) && !goes_on.contains(&first),
            "{page}"
        );
    }
    let found = web
        .get("/console/catalogue?library=library-100")
        .expect(200);
    assert!(
        found.body.contains("library-100/one"),
        "the field of a library works"
    );
}
