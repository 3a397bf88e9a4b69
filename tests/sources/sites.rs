//! Sites whose pages have several addresses, and whose addresses have numbers.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Answer, Harvest, Site, add, found, ids};
use crate::common::{prose, run};
use crate::makers::exhausts_memory;

fn page(head: &str, number: u64, links: &str) -> Answer {
    found(format!(
        "<html><head>{head}</head><body><p>{}</p>{links}</body></html>",
        prose(number, 300)
    ))
}

#[test]
fn a_page_with_several_addresses_is_one_book() {
    let site = Site::new();
    let links = "<a href='/book/1;jsessionid=A1'>1</a><a href='/book/1?PHPSESSID=2#top'>1</a><a href='/book/2?print=1'>2</a>\
                 <a href='/book/3'>3</a><a href='/copy/of/book/3'>3</a><a href='/book/4?sid=7&v=2'>4</a>";
    site.set("/", page("", 50, links));
    site.set("/book/1", page("", 1, ""));
    site.set(
        "/book/2",
        page("<link rel='canonical' href='/book/2'>", 2, ""),
    );
    site.set(
        "/book/2?print=1",
        page(
            "<link rel='canonical' href='/book/2'>",
            2,
            "<p>Printed today</p>",
        ),
    );
    for copy in ["/book/3", "/copy/of/book/3"] {
        site.set(copy, page("", 3, ""));
    }
    site.set("/book/4?v=2", page("", 4, ""));
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book/",
    );
    assert_eq!(harvest.run(), (5, 4, 1, 0), "{:?}", site.count());
    let expected =
        ["/book/1", "/book/2", "/book/3", "/book/4?v=2"].map(|path| format!("{}{path}", site.url));
    assert_eq!(harvest.ids(), BTreeSet::from(expected));
    assert!(
        site.count()
            .keys()
            .all(|path| !path.to_ascii_lowercase().contains("sess")),
        "{:?}",
        site.count()
    );
    // The next run knows all of them.
    assert_eq!(harvest.run(), (5, 0, 5, 0));
}

#[test]
fn numbers_in_addresses_are_walked() {
    let site = Site::new();
    // Ten of thirty books are linked; one has gone, one says so with a page, and one leads to the start.
    let links: Vec<String> = (0..10)
        .map(|i| format!("<a href='/b/{}.html'>{i}</a>", 103 + 2 * i))
        .collect();
    site.set("/", page("", 50, &links.concat()));
    for number in (100..130).filter(|number| ![110, 112, 114].contains(number)) {
        site.set(&format!("/b/{number}.html"), page("", number, ""));
    }
    site.set("/b/112.html", page("", 105, ""));
    site.set(
        "/b/114.html",
        Answer {
            status: "302 Found",
            headers: "Location: /\r\n".to_owned(),
            ..found("")
        },
    );
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains /b/",
    );
    let (fetched, added, unchanged, refused) = harvest.run();
    assert_eq!(
        (fetched, added, unchanged, refused),
        (28, 27, 1, 0),
        "{:?}",
        site.count()
    );
    let asked = site.count();
    assert!(
        asked.contains_key("/b/90.html") && asked.contains_key("/b/139.html"),
        "{asked:?}"
    );
    assert!(
        !asked.contains_key("/b/140.html") && !asked.contains_key("/b/89.html"),
        "{asked:?}"
    );
    assert!(
        asked
            .iter()
            .all(|(path, times)| path == "/" || path == "/robots.txt" || *times == 1),
        "{asked:?}"
    );
    assert_eq!(harvest.ids().len(), 27);

    // Without numbers there is nothing to walk.
    let site = Site::new();
    let links: Vec<String> = (0..12)
        .map(|i| {
            format!(
                "<a href='/b/{}'>{i}</a>",
                ["x", "y", "z"][i % 3].repeat(i + 1)
            )
        })
        .collect();
    site.set("/", page("", 50, &links.concat()));
    site.set("/b/x", page("", 1, ""));
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains /b/",
    );
    assert_eq!(harvest.run(), (1, 1, 0, 11));
}

#[test]
fn a_server_of_ones_own_need_not_be_asked_for_leave() {
    let site = Site::new();
    site.books(0..1);
    site.set("/robots.txt", found("User-agent: *\nDisallow: /\n"));
    let address = format!("{}/book0.txt", site.url);
    assert_eq!(
        Harvest::new("site", &address, "--allow-private").run(),
        (0, 0, 0, 1)
    );
    let harvest = Harvest::new("site", &address, "--allow-private --ignore-robots");
    assert_eq!(harvest.run(), (1, 1, 0, 0));
    assert_eq!(harvest.ids(), ids([&address]));
}

#[test]
fn a_page_that_kills_its_reader_takes_no_other_along() {
    let site = Site::new();
    let links: Vec<String> = (0..9)
        .map(|number| format!("<a href='/book/{number}'>{number}</a>"))
        .collect();
    site.set("/", page("", 50, &links.concat()));
    (0..9).for_each(|number| site.set(&format!("/book/{number}"), page("", number, "")));
    site.set("/book/4", found(exhausts_memory()));
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book/",
    );
    assert_eq!(harvest.run(), (9, 8, 0, 1));
    assert_eq!(harvest.ids().len(), 8);
    assert!(
        harvest.summary()["errors"]
            .to_string()
            .contains("bytes of memory"),
        "{}",
        harvest.summary()
    );
}

/// A page of a site: the same around each book, and the book itself in two parts.
fn framed(number: u64, class: &str) -> Answer {
    let menu = "<li><a href='/?by=name'>All books by name</a></li>".repeat(40);
    let [one, two] = [0, 1].map(|part| {
        format!(
            "<div class='{class}'><p>{}</p></div>",
            prose(100 * number + part, 300)
        )
    });
    let around = format!(
        "<div class='menu'><p>{}</p><ul>{menu}</ul></div>",
        prose(77, 200)
    );
    let html = format!(
        "<html><head><title>B{number}</title></head><body>{around}{one}<p>An advert</p>{two}</body></html>"
    );
    Answer {
        headers: "ETag: \"one\"\r\nContent-Type: text/html\r\n".to_owned(),
        ..found(html)
    }
}

#[test]
fn only_the_main_text_of_a_page_is_the_book() {
    let site = Site::new();
    let links: Vec<String> = (0..4)
        .map(|i| format!("<a href='/book/{}'>{i}</a>", ["a", "b", "c", "d"][i]))
        .collect();
    site.set(
        "/",
        page("", 50, &(links.concat() + "<a href='/gone'>gone</a>")),
    );
    site.set("/?by=name", page("", 50, ""));
    for (number, name) in (0..).zip(["a", "b", "c"]) {
        site.set(&format!("/book/{name}"), framed(number, "text"));
    }
    site.set("/book/d", framed(9, "other"));
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book/ --text .text",
    );
    let data = harvest.folder.data();
    let tested = run("sources test --data {} it", &[&data]).expect(0);
    assert!(
        tested
            .err
            .contains(&format!("begins: {}", &prose(0, 300)[..100])),
        "{tested:?}"
    );
    assert_eq!(harvest.run(), (4, 3, 0, 2));
    let error = harvest.summary()["errors"][0].clone();
    assert_eq!(
        (&error["url"], &error["reason"]),
        (&json!(format!("{}/book/d", site.url)), &json!("bad_book"))
    );
    assert!(
        error["detail"]
            .as_str()
            .is_some_and(|why| why.contains("matches the selector \".text\"")),
        "{error}"
    );
    let checked = |text: &str| {
        let file = harvest.folder.file("upload.txt", text);
        run("check --json --data {} {}", &[&data, &file])
            .json()
            .remove(0)
    };
    assert_eq!(
        checked(&prose(77, 200))["verdict"],
        "unknown",
        "what surrounds books is in none"
    );
    let both = format!("{}\n\n{}", prose(100, 300), prose(101, 300));
    assert_eq!(checked(&both)["matches"][0]["relation"], "same_text");
    assert_eq!(
        harvest.run(),
        (1, 0, 3, 2),
        "only the one that was refused is sent again"
    );

    // With another selector, they are read again though they did not change.
    let redefined = |text: &str| {
        let options = format!("--allow-private --contains book/ {text}");
        run(&add("site", &format!("{}/", site.url), &options), &[&data]).expect(0);
        harvest.run()
    };
    assert_eq!(redefined("--text .other"), (4, 1, 0, 4));
    assert_eq!(
        redefined("--text .other"),
        (3, 0, 1, 4),
        "refused ones are no books that did not change"
    );
    assert_eq!(redefined(""), (4, 4, 0, 1));
    assert_eq!(checked(&prose(77, 200))["verdict"], "protected");
    let wrong = add("site", &format!("{}/", site.url), "--text div[");
    assert!(
        run(&wrong, &[&data])
            .expect(2)
            .err
            .contains("is not a CSS selector")
    );
}

#[test]
fn known_pages_are_followed_until_enough_new_books_appear() {
    // More than are in flight at once.
    const KNOWN: u64 = 100;
    let site = Site::new();
    let link = |path: &str| format!("<a href='{path}'>{path}</a>");
    let known: String = (0..KNOWN)
        .map(|number| link(&format!("/book/x{number}x")))
        .collect();
    let shelf = |new: &[&str]| {
        let new: String = new
            .iter()
            .map(|name| link(&format!("/book/{name}")))
            .collect();
        site.set("/", page("", 150, &(new + &known + &link("/old"))));
    };
    (0..KNOWN).for_each(|number| site.set(&format!("/book/x{number}x"), page("", number, "")));
    site.set("/old", page("", 151, ""));
    site.set("/book/a", page("", 160, &link("/book/b")));
    site.set("/book/b", page("", 161, ""));
    site.set("/book/c", page("", 162, ""));
    shelf(&[]);
    let harvest = Harvest::new(
        "site",
        &format!("{}/", site.url),
        "--allow-private --contains book/ --new-books-per-run 2",
    );
    assert_eq!(harvest.run(), (KNOWN, KNOWN, 0, 0), "at first, all is new");
    let asked = || std::mem::take(&mut *site.asked.lock().expect("no panic")).concat();
    asked();
    shelf(&["a"]);
    assert_eq!(
        harvest.run(),
        (KNOWN + 2, 2, KNOWN, 0),
        "the second one appears behind all that is known"
    );
    assert!(asked().contains("/old"));
    site.set("/book/b", page("", 163, ""));
    site.set("/book/d", page("", 164, ""));
    shelf(&["c", "d", "b"]);
    let (fetched, added, ..) = harvest.run();
    assert!(
        added == 3 && fetched < KNOWN,
        "two new ones, and one that changed: {fetched} {added}"
    );
    assert!(!asked().contains("/old"));
    // What was left out is known as before.
    assert_eq!(harvest.run(), (KNOWN + 3, 0, KNOWN + 3, 0));
    let wrong = add("list", "-", "--allow-private --new-books-per-run 2");
    assert!(
        run(&wrong, &[harvest.folder.data()])
            .expect(2)
            .err
            .contains("only of a site")
    );
}
