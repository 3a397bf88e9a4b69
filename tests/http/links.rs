//! Links that show a filed check to somebody without a key.

use jiff::{Timestamp, ToSpan as _};
use lapidary_catalogue::EvidenceLimits;
use serde_json::{Value, json};

use super::codings::header;
use super::running::{Answer, JSON, Running};
use crate::common::prose;

/// A server with keys, a book whose text is kept, and a check that a shop filed of a part of it.
struct Shared {
    server: Running,
    admin: String,
    /// A key that reviews checks, and reads the texts, of the library.
    editor: String,
    shop: String,
    check: String,
}

impl Shared {
    fn start() -> Self {
        let evidence = EvidenceLimits {
            days: 90,
            bytes: 1 << 20,
        };
        let server = Running::keeping(evidence);
        let book = json!({ "rights": "protected", "text": prose(1, 4_000), "keep_text": true });
        server
            .put("/v1/libraries/house/books/1", JSON, book.to_string())
            .expect(201);
        let mut shared = Self {
            admin: made(&server, None, &json!({ "name": "admin", "role": "admin" })),
            server,
            editor: String::new(),
            shop: String::new(),
            check: String::new(),
        };
        let editor = json!({ "name": "editor", "role": "texts", "libraries": ["house"] });
        shared.editor = made(&shared.server, Some(&shared.admin), &editor);
        shared.shop = shared.new_shop();
        let text = format!("{}\n\n{}", prose(2, 300), &prose(1, 4_000)[5_000..15_000]);
        let asked = json!({ "text": text, "record": true });
        let report = shared.ask(&shared.shop, "POST", "/v1/checks", &asked);
        shared.check = word(&report.expect(200)["filed"]);
        shared
    }

    fn new_shop(&self) -> String {
        let shop = json!({ "name": "shop", "role": "check" });
        made(&self.server, Some(&self.admin), &shop)
    }

    fn ask(&self, key: &str, method: &str, target: &str, body: &Value) -> Answer {
        asked(&self.server, Some(key), method, target, body)
    }

    fn links(&self) -> String {
        format!("/v1/decisions/{}/links", self.check)
    }

    fn link(&self, key: &str, new: &Value) -> Value {
        self.ask(key, "POST", &self.links(), new).expect(201)
    }

    /// The page of a link, as somebody without a key gets it.
    fn page(&self, link: &Value) -> Answer {
        self.server.get(&word(&link["url"]))
    }

    /// Whether a link shows the passages of the checked text, and those of the book beside them.
    fn shows(&self, link: &Value) -> [bool; 2] {
        let page = self.page(link);
        assert_eq!(page.status, 200, "{page:?}");
        let page = String::from_utf8(page.body).unwrap();
        let passage = prose(1, 4_000)[9_000..]
            .split_whitespace()
            .nth(1)
            .map(ToOwned::to_owned);
        [
            page.contains(&passage.expect("a word")),
            page.contains("In the book"),
        ]
    }

    fn is_gone(&self, link: &Value) -> bool {
        let page = self.page(link);
        page.status == 404
            && String::from_utf8(page.body)
                .unwrap()
                .contains("Ask whoever sent it")
    }
}

fn asked(server: &Running, key: Option<&str>, method: &str, target: &str, body: &Value) -> Answer {
    let bearer = key.map(|key| format!("Bearer {key}"));
    let mut headers = vec![("Content-Type", JSON)];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    server.send(method, target, &headers, body.to_string().as_bytes())
}

fn made(server: &Running, by: Option<&str>, key: &Value) -> String {
    word(&asked(server, by, "POST", "/v1/keys", key).expect(201)["secret"])
}

fn word(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

#[test]
fn a_link_shows_what_its_maker_sees() {
    let shared = Shared::start();
    // The shop may not read the texts of books, so its link does not show them either.
    let of_shop = shared.link(&shared.shop, &json!({ "book_texts": true }));
    assert_eq!(shared.shows(&of_shop), [true, false]);
    let of_editor = shared.link(&shared.editor, &json!({}));
    assert_eq!(shared.shows(&of_editor), [true, false]);
    for key in [&shared.editor, &shared.admin] {
        let with_texts = shared.link(key, &json!({ "book_texts": true }));
        assert_eq!(shared.shows(&with_texts), [true, true]);
    }
    let page = shared.page(&of_shop);
    assert_eq!(header(&page, "referrer-policy"), Some("no-referrer"));
    assert_eq!(header(&page, "x-robots-tag"), Some("noindex"));
    assert_eq!(header(&page, "cache-control"), Some("no-store"));
    // Who read the text, and by which link, is in the audit log.
    let audit = shared.ask(&shared.admin, "GET", "/v1/audit?limit=1000", &Value::Null);
    let audit = audit.expect(200);
    let read: Vec<&Value> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"] == "evidence_read")
        .collect();
    assert_eq!(read.len(), 5);
    assert!(read.iter().all(|entry| entry["actor"] == "anonymous"));
    assert_eq!(read[0]["link"], of_shop["id"]);
    // The address is not told again, and not stored.
    let secret = word(&of_shop["url"]);
    let secret = secret.rsplit('/').next().unwrap();
    let listed = shared
        .ask(&shared.admin, "GET", &shared.links(), &Value::Null)
        .expect(200);
    assert_eq!(listed["links"].as_array().map(Vec::len), Some(4));
    assert!(!listed.to_string().contains(secret) && !audit.to_string().contains(secret));
}

#[test]
fn a_link_ends_with_its_time_its_maker_and_when_it_is_deleted() {
    let shared = Shared::start();
    let [first, second, other] =
        [&shared.shop, &shared.shop, &shared.editor].map(|key| shared.link(key, &json!({})));
    let path = |link: &Value| format!("{}/{}", shared.links(), word(&link["id"]));
    // Nobody but its maker and administrators sees or deletes it.
    for (key, seen) in [(&shared.shop, 2), (&shared.editor, 1), (&shared.admin, 3)] {
        let listed = shared
            .ask(key, "GET", &shared.links(), &Value::Null)
            .expect(200);
        assert_eq!(listed["links"].as_array().map(Vec::len), Some(seen));
    }
    for (key, link) in [(&shared.editor, &first), (&shared.shop, &other)] {
        for method in ["GET", "DELETE"] {
            shared.ask(key, method, &path(link), &Value::Null).problem(
                404,
                "no_such_link",
                "another's link",
            );
        }
    }
    assert!(!shared.is_gone(&first));
    let delete = |key: &str| shared.ask(key, "DELETE", &path(&first), &Value::Null);
    assert_eq!(delete(&shared.shop).status, 204);
    delete(&shared.shop).problem(404, "no_such_link", "it is gone");
    assert!(shared.is_gone(&first) && !shared.is_gone(&second));
    // A new key of the same name is not the maker.
    let revoked = shared.ask(&shared.admin, "DELETE", "/v1/keys/shop", &Value::Null);
    assert_eq!(revoked.status, 204);
    assert!(shared.is_gone(&second));
    shared.new_shop();
    assert!(shared.is_gone(&second) && !shared.is_gone(&other));
    // It expires.
    let soon = Timestamp::now() + 2.seconds();
    let brief = shared.link(&shared.admin, &json!({ "expires_at": soon }));
    assert!(!shared.is_gone(&brief));
    while Timestamp::now() <= soon {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(shared.is_gone(&brief));
}

#[test]
fn links_that_cannot_be_made_or_followed() {
    let shared = Shared::start();
    let refused = |new: &Value, code| {
        shared
            .ask(&shared.admin, "POST", &shared.links(), new)
            .problem(422, code, "a bad link");
    };
    for days in [-1_i64, 0, 367] {
        let until = Timestamp::now() + (24 * days).hours();
        refused(&json!({ "expires_at": until }), "bad_link");
    }
    // The decision about a check is no check, and nobody shares what they do not see.
    let decision = json!({ "check": shared.check, "ruling": "refused", "reason": "a copy" });
    let decided = shared
        .ask(&shared.admin, "POST", "/v1/decisions", &decision)
        .expect(201);
    let target = format!("/v1/decisions/{}/links", word(&decided["id"]));
    shared
        .ask(&shared.admin, "POST", &target, &json!({}))
        .problem(404, "no_such_decision", "a decision");
    let stranger = json!({ "name": "stranger", "role": "texts", "libraries": ["other"] });
    let stranger = made(&shared.server, Some(&shared.admin), &stranger);
    shared
        .ask(&stranger, "POST", &shared.links(), &json!({}))
        .problem(404, "no_such_decision", "another's check");
    // A link is of one check, and its secret is whole.
    let link = shared.link(&shared.shop, &json!({}));
    let url = word(&link["url"]);
    let asked = json!({ "text": prose(5, 300), "record": true });
    let second = shared
        .ask(&shared.shop, "POST", "/v1/checks", &asked)
        .expect(200);
    let of_second = url.replace(&shared.check, &word(&second["filed"]));
    let cut = &url[..url.len() - 1];
    for url in [
        &of_second,
        cut,
        "/shared/x/y",
        &format!("/shared/{}/", shared.check),
    ] {
        assert_eq!(shared.server.get(url).status, 404, "{url}");
    }
    // A request that is sent again makes no second link.
    let bearer = format!("Bearer {}", shared.shop);
    let headers = [
        ("Content-Type", JSON),
        ("Authorization", &bearer),
        ("Idempotency-Key", "the name of a request"),
    ];
    let send = || {
        shared
            .server
            .send("POST", &shared.links(), &headers, b"{}")
            .expect(201)
    };
    assert_eq!(send(), send());
    // The hundred-and-first is refused, and one that expired makes room.
    let soon = Timestamp::now() + 4.seconds();
    shared.link(&shared.admin, &json!({ "expires_at": soon }));
    for _ in 3..100 {
        shared.link(&shared.admin, &json!({}));
    }
    refused(&json!({}), "bad_link");
    while Timestamp::now() <= soon {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    shared.link(&shared.admin, &json!({}));
    // Whoever follows it over and over adds no more entries to the audit log.
    let statuses: Vec<u16> = (0..61).map(|_| shared.page(&link).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 60);
    assert_eq!(statuses.last(), Some(&429));
}
