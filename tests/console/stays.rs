//! The switch "the text stays here": the page sends gems, and shows the same result with the passages of the text.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use crate::common::{Folder, Server, prose, without_secret};
use crate::console::browser::Browser;

/// What a browser sends to a server, as it goes over the wire.
struct Wire {
    url: String,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Wire {
    fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let to = server.url.trim_start_matches("http://").to_owned();
        let sent = Arc::<Mutex<Vec<u8>>>::default();
        let record = Arc::clone(&sent);
        thread::spawn(move || {
            for browser in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&to).expect("a server");
                let (back, out) = (
                    server.try_clone().expect("a socket"),
                    browser.try_clone().expect("a socket"),
                );
                let record = Arc::clone(&record);
                thread::spawn(move || pass(back, out, |_| ()));
                thread::spawn(move || {
                    pass(browser, server, |some| {
                        record.lock().expect("a lock").extend(some);
                    });
                });
            }
        });
        Self { url, sent }
    }

    /// What was sent since the last call.
    fn take(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.sent.lock().expect("a lock")))
            .into_owned()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, see: impl Fn(&[u8])) {
    let mut buffer = [0; 16 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        see(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// All but the headline, whose share is counted in gems or in bytes, and the signs of disguise.
const STATED: &str =
    "return [...document.querySelectorAll('.report .work')].map((one) => one.innerText)";
const PASSAGES: &str = "return [...document.querySelectorAll('.report td[dir]')].map((one) => one.textContent.replace(/\\s+/g, ' '))";

fn add(server: &Server, text: &str) {
    let book = json!({ "rights": "protected", "title": "A lighthouse", "text": text });
    ureq::put(format!("{}/v1/libraries/house/books/1", server.url))
        .send_json(&book)
        .expect("it is added");
}

/// The page computes gems of a public recipe, since it has no secret of the catalogue.
#[test]
fn a_text_can_stay_although_the_catalogue_has_a_secret() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = prose(5, 4_000);
    add(&server, &book);
    let file = folder.file("upload.txt", &book);
    let wire = Wire::to(&server);
    browser.go(&format!("{}/console/check", wire.url));
    browser.find("#stays:enabled");
    browser.click("#stays");
    wire.take();
    browser.type_into("#file", file.to_str().expect("a path"));
    browser.click("form[data-files] button.main");
    browser.see(".report h1", "Protected");
    let sent = wire.take();
    assert!(
        sent.contains("\"recipe\":\"hardened\"") && !sent.contains(&book[..200]),
        "{sent}"
    );
}

#[test]
fn the_text_stays_in_the_page() {
    let Some(browser) = Browser::start("en") else {
        return;
    };
    let folder = Folder::new();
    // The page can compute no gems of a secret.
    without_secret(&folder.data());
    let server = Server::start(&folder.data());
    let book = prose(5, 4_000);
    add(&server, &book);
    // A part of the book with letters of another script, in a text of the uploader's own.
    let copied = book[3_000..16_000].replace('a', "\u{430}");
    let text = format!("\u{feff}{}{copied}{}", prose(6, 900), prose(7, 900));
    let file = folder.file("upload.txt", &text);
    let wire = Wire::to(&server);
    let check = |stays: bool| {
        browser.go(&format!("{}/console/check", wire.url));
        browser.find("#stays:enabled");
        if browser.js("return document.getElementById('stays').checked") != stays {
            browser.click("#stays");
        }
        wire.take();
        browser.type_into("#file", file.to_str().expect("a path"));
        browser.click("form[data-files] button.main");
        browser.see(".report h1", "Protected");
        browser.see("#result", "Record a decision");
        (browser.js(STATED), browser.js(PASSAGES), wire.take())
    };
    let words: Vec<&str> = copied.split(' ').filter(|word| word.len() > 6).collect();
    let is_in = |sent: &str| words.iter().filter(|word| sent.contains(**word)).count();

    let (ordinary, shown, sent) = check(false);
    assert!(is_in(&sent) == words.len(), "the wire is seen");
    let (stayed, passages, sent) = check(true);
    for (theme, width) in [("light", 390), ("dark", 1280)] {
        browser.looks(theme, width);
        browser.picture(&format!("stays-{theme}-{width}"));
    }
    assert_eq!(is_in(&sent), 0);
    assert!(
        sent.contains("\"gems\":[\"0000") && sent.contains("\"name\":\"upload.txt\""),
        "{sent}"
    );
    assert_eq!(stayed, ordinary);
    // The passages are of the upload. Beside a book whose text is not kept, both show whole excerpts.
    let of_upload =
        |passages: &serde_json::Value| passages[0].as_str().expect("a passage").to_owned();
    assert_eq!(of_upload(&passages), of_upload(&shown));
    assert!(
        of_upload(&passages).contains(words[words.len() / 2]),
        "{passages}"
    );
    assert!(
        browser.url().contains("/console/checks/"),
        "{}",
        browser.url()
    );
    // The way back leads to the form, where the switch is still on; and so it is for a pasted text that is not filed.
    browser.js("history.back()");
    browser.find("#stays:checked");
    wire.take();
    browser.js(&format!(
        "document.getElementById('text').value = {}",
        json!(text)
    ));
    browser.click("form:not([data-files]) button:not(.main)");
    browser.see(".report h1", "Protected");
    browser.see("#result", "was not filed");
    assert!(
        browser
            .js(PASSAGES)
            .to_string()
            .contains(words[words.len() / 2])
    );
    assert_eq!(is_in(&wire.take()), 0);
    assert_eq!(browser.js(crate::console::story::FOREIGN), 0);
}

#[test]
fn a_file_that_the_page_cannot_read_is_sent_only_when_told() {
    let Some(browser) = Browser::start("ru") else {
        return;
    };
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let page = folder.file("page.html", format!("<!doctype html><p>{}", prose(3, 300)));
    let plain = folder.file("plain.txt", prose(4, 300));
    let wire = Wire::to(&server);
    browser.go(&wire.url);
    browser.click("nav a[href='/console/check']");
    browser.click("#stays");
    wire.take();
    browser.type_into("#file", &format!("{}\n{}", page.display(), plain.display()));
    browser.click("form[data-files] button:not(.main)");
    browser.see("#table tr.failed", "page.html");
    browser.see("#table tr.failed", "не может это прочитать");
    browser.see("#table tbody tr:not(.failed)", "plain.txt");
    browser.go(&format!("{}/console/check", wire.url));
    browser.type_into("#file", page.to_str().expect("a path"));
    browser.click("form[data-files] button:not(.main)");
    browser.see("#result", "ничего не отправлено");
    let word = prose(3, 300).split(' ').next().expect("a word").to_owned();
    assert!(!wire.take().contains(&word));
    browser.click("[data-anyway]");
    browser.see(".report", "page.html");
    assert!(wire.take().contains(&word));
    assert_eq!(
        browser.js("return document.getElementById('stays').checked"),
        true
    );
}
