//! Files whose addresses checks name.

use super::private::{PRIVATE, give_addresses, redirect};
use super::served::{send, send_with};
use super::*;
use crate::common::network::is_own;
use crate::common::{Server, key, until};
use crate::makers;

/// A server that fetches these files, and a protected book.
fn server(which: &str) -> (Folder, Server, String) {
    let folder = Folder::new();
    let text = prose(1, 3_000);
    let file = folder.file("book.txt", &text);
    let line = "ingest --data {} --library lib --rights protected {}";
    run(line, &[folder.data(), file]).expect(0);
    let options = format!("--max-body 1000000 --check-urls {which}");
    let server = Server::start_with(&options, &[], &folder.data());
    (folder, server, text)
}

fn check(server: &Server, url: &str) -> (u16, Value) {
    send(server, "POST", "/v1/checks", &json!({ "url": url }))
}

/// The code of a refusal.
fn refusal(server: &Server, url: &str) -> String {
    let (_, answer) = check(server, url);
    answer["code"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_file_at_an_address_is_checked_as_if_it_were_sent() {
    let (_folder, server, text) = server("any");
    let site = Site::new();
    site.set(
        "/book.epub",
        found(makers::epub(std::slice::from_ref(&text))),
    );
    site.set("/moved", redirect("/book.epub"));
    site.set("/other.txt", found(prose(2, 3_000)));
    site.set("/picture", found(b"\xff\xd8\xff\xe0\0\x10JFIF\0"));
    site.set("/large", found(prose(3, 300_000)));
    site.set("/round", redirect("/round"));
    site.set("/nowhere", redirect(""));
    let at = |path: &str| format!("{}{path}", site.url);
    for (path, verdict) in [
        ("/book.epub", "protected"),
        ("/moved", "protected"),
        ("/other.txt", "unknown"),
    ] {
        let (status, report) = check(&server, &at(path));
        assert_eq!(
            (status, &report["verdict"]),
            (200, &verdict.into()),
            "{report}"
        );
    }
    for (path, code) in [
        ("/picture", "not_text"),
        ("/large", "body_too_large"),
        ("/round", "not_fetched"),
        ("/nowhere", "not_fetched"),
        ("/missing", "not_fetched"),
    ] {
        assert_eq!(refusal(&server, &at(path)), code, "{path}");
    }
    let robots = site.count().contains_key("/robots.txt");
    assert!(!robots, "{:?}", site.count());

    let url = at("/moved");
    let filed = json!({ "url": url, "record": true, "name": "an upload", "limit": 0 });
    let (status, report) = send(&server, "POST", "/v1/checks", &filed);
    assert_eq!(status, 200, "{report}");
    assert!(report["filed"].is_string() && report["total"] == 1);
    assert_eq!(report["matches"], json!([]));
    for wrong in [
        json!({ "url": url, "text": "a" }),
        json!({ "url": url, "text": "a".repeat(20_000) }),
        json!({ "url": url, "gems": [1] }),
        json!({ "url": url, "ref": 1 }),
        json!({ "url": 7 }),
    ] {
        let (status, answer) = send(&server, "POST", "/v1/checks", &wrong);
        assert_eq!(
            (status, &answer["code"]),
            (400, &"bad_json".into()),
            "{wrong}"
        );
    }
    let long = format!("{url}?{}", "a".repeat(2_000));
    assert_eq!(refusal(&server, &long), "too_long");
}

#[test]
fn a_server_fetches_only_what_its_administrator_allows() {
    let site = Site::new();
    site.books(0..1);
    let url = format!("{}/book0.txt", site.url);
    let port = site.url.rsplit(':').next().expect("a port");
    let (_folder, none, _) = server("none");
    assert_eq!(refusal(&none, &url), "not_offered");
    let (_folder, public, _) = server("public");
    for host in [
        "127.0.0.1",
        "localhost",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "user:word@127.0.0.1",
        "public.example@127.0.0.1",
        "１２７.0.0.1",
    ] {
        let code = refusal(&public, &format!("http://{host}:{port}/book0.txt"));
        assert_eq!(code, "not_fetched", "{host}");
    }
    for url in [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "http:",
        "/etc/passwd",
        "http://169.254.169.254/latest/meta-data/",
        "",
    ] {
        assert_eq!(refusal(&public, url), "not_fetched", "{url}");
    }
    assert_eq!(*site.asked.lock().expect("no panic"), Vec::<String>::new());
}

#[test]
fn a_public_address_leads_no_check_to_a_private_one() {
    if !is_own(&[]) {
        return;
    }
    give_addresses();
    let (_folder, server, _) = server("public");
    let public = Site::at("8.8.8.8");
    public.books(0..1);
    let (status, report) = check(&server, &format!("{}/book0.txt", public.url));
    assert_eq!(status, 200, "{report}");
    for private in PRIVATE.map(Site::at) {
        private.books(1..2);
        let url = format!("{}/book1.txt", private.url);
        public.set("/to", redirect(&url));
        public.set("/first", redirect("/to"));
        for url in [
            url,
            format!("{}/to", public.url),
            format!("{}/first", public.url),
        ] {
            let (status, answer) = check(&server, &url);
            assert_eq!(
                (status, &answer["code"]),
                (422, &"not_fetched".into()),
                "{url}"
            );
            let detail = answer["detail"].as_str().unwrap_or_default();
            assert!(
                detail.contains("is not a public internet address"),
                "{detail}"
            );
        }
        assert_eq!(private.count(), BTreeMap::new());
    }
}

#[test]
fn a_book_at_an_address_is_added_as_if_it_were_sent() {
    let (_folder, server, text) = server("any");
    let site = Site::new();
    let other = prose(2, 3_000);
    site.set(
        "/book.epub",
        found(makers::epub(std::slice::from_ref(&text))),
    );
    site.set("/other.txt", found(other.clone()));
    let at = |path: &str| json!({ "rights": "protected", "url": format!("{}{path}", site.url) });
    let put = |id: &str, body: &Value| {
        send(
            &server,
            "PUT",
            &format!("/v1/libraries/lib/books/{id}"),
            body,
        )
    };
    let mut described = at("/other.txt");
    described["title"] = "Another".into();
    let (status, added) = put("other", &described);
    assert_eq!(
        (status, &added["book"]["title"]),
        (201, &"Another".into()),
        "{added}"
    );
    let (status, again) = put("other", &described);
    assert_eq!(
        (status, &again["outcome"]),
        (200, &"unchanged".into()),
        "{again}"
    );
    let (_, report) = send(&server, "POST", "/v1/checks", &json!({ "text": other }));
    assert_eq!(report["matches"][0]["book"]["id"], "other", "{report}");
    let (status, problem) = put("copy?unless=protected", &at("/book.epub"));
    assert_eq!(
        (status, &problem["code"]),
        (409, &"matches".into()),
        "{problem}"
    );
    let (status, added) = put("copy", &at("/book.epub"));
    assert_eq!(status, 201, "{added}");
    assert!(
        added["book"]["title"].is_string(),
        "that of the file: {added}"
    );

    let mut both = at("/other.txt");
    both["text"] = other.into();
    for (id, body, status, code) in [
        ("both", &both, 400, "bad_json"),
        ("none", &at("/none"), 422, "not_fetched"),
    ] {
        let (answered, problem) = put(id, body);
        assert_eq!(
            (answered, &problem["code"]),
            (status, &code.into()),
            "{problem}"
        );
    }
    let line = json!({ "id": "line", "rights": "free", "url": site.url });
    let feed = ureq::post(format!("{}/v1/libraries/lib/books", server.url));
    let feed = feed.header("content-type", "application/x-ndjson");
    let mut answer = feed.send(line.to_string()).expect("an answer");
    let answer: Value = answer.body_mut().read_json().expect("a line");
    assert_eq!(answer["problem"]["code"], "bad_json", "{answer}");
    for (which, status, code) in [("public", 422, "not_fetched"), ("none", 409, "not_offered")] {
        let (_folder, server, _) = self::server(which);
        let path = "/v1/libraries/lib/books/other";
        let (answered, problem) = send(&server, "PUT", path, &at("/other.txt"));
        assert_eq!(
            (answered, &problem["code"]),
            (status, &code.into()),
            "{problem}"
        );
    }
}

/// A client waits for servers that never answer, and holds up neither its own other checks nor those of others.
#[test]
fn who_waits_for_a_file_holds_up_nobody() {
    let folder = Folder::new();
    let data = folder.data();
    let [slow, good] = ["slow", "good"].map(|name| key(&data, &format!("--role check {name}")));
    let options = "--check-urls any --concurrent 1 --queue 1";
    let server = Server::start_with(options, &[], &data);
    let site = Site::new();
    site.set(
        "/never",
        Answer {
            status: NEVER,
            ..found("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nand no more")
        },
    );
    site.books(0..1);
    let at = |path: &str| json!({ "url": format!("{}{path}", site.url) });
    let ask = |key: &str, body: &Value| send_with(&server, key, "POST", "/v1/checks", body);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (status, answer) = ask(&slow, &at("/never"));
                assert_eq!((status, &answer["code"]), (422, &"not_fetched".into()));
            });
        }
        until("the files are asked for", || site.waiting() == 4);
        let (status, answer) = ask(&slow, &at("/book0.txt"));
        assert_eq!((status, &answer["code"]), (503, &"overloaded".into()));
        assert_eq!(ask(&slow, &json!({ "gems": [1] })).0, 200);
        assert_eq!(ask(&good, &at("/book0.txt")).0, 200);
        assert_eq!(site.waiting(), 4, "they were given up before");
    });
}
