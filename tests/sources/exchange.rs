//! Servers that follow each other's libraries.

use super::*;
use crate::common::client::Client;
use crate::common::{Server, free_port, key, until};

/// A server in a ring of three. Its books are in `own`, those of the one before it in `first`, and those of the one before that in
/// `second`.
struct Member {
    folder: Folder,
    port: u16,
    admin: String,
    /// The key of the one after it.
    follower: String,
    server: Option<Server>,
}

impl Member {
    fn new(permissions: &str) -> Self {
        let folder = Folder::new();
        let admin = key(&folder.data(), "--role admin boss");
        let of_ring = "--library own --library first --library second next";
        let follower = key(&folder.data(), &format!("{permissions} {of_ring}"));
        Self {
            folder,
            port: free_port(),
            admin,
            follower,
            server: None,
        }
    }

    /// Starts it again, after a kill if it runs.
    fn start(&mut self, before: &str) {
        self.server = None;
        let line = format!("serve --listen 127.0.0.1:{} --data {{}}", self.port);
        let mut serve = command(&line, &[self.folder.data()]);
        serve.env("LAPIDARY_SOURCE_RING", before);
        self.server = Some(Server::of(serve));
    }

    fn client(&self) -> Client {
        Client::new(self.server.as_ref().expect("it runs"), &self.admin)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.client().json(method, path, body)
    }

    fn put(&self, id: &str, text: &str, rights: &str) {
        let book = json!({ "rights": rights, "title": id, "text": text, "keep_text": true });
        let path = format!("/v1/libraries/own/books/{id}");
        let (status, answer) = self.send("PUT", &path, &book);
        assert!(status == 200 || status == 201, "{answer}");
    }

    /// Has a library follow one of the server before it, a run a second.
    fn follow(&self, port: u16, theirs: &str, ours: &str) {
        let source = json!({
            "kind": "lapidary", "url": format!("http://127.0.0.1:{port}/v1/libraries/{theirs}"), "library": ours,
            "rights": "protected", "credentials": "env:LAPIDARY_SOURCE_RING", "allow_private": true,
            "on_missing": "disable", "interval_seconds": 1,
        });
        let (status, answer) = self.send("PUT", &format!("/v1/sources/{ours}"), &source);
        assert_eq!(status, 201, "{answer}");
    }

    /// The books of a library that count, by id, as `field` has them.
    fn books(&self, library: &str, field: &str) -> BTreeMap<String, Value> {
        let path = format!("/v1/libraries/{library}/books");
        let (_, listed) = self.send("GET", &path, &Value::Null);
        let books = listed["books"].as_array().cloned().unwrap_or_default();
        let books = books
            .into_iter()
            .filter(|book| !book["standing"]["disabled_at"].is_string());
        books
            .map(|book| {
                let id = book["id"].as_str().expect("an id").to_owned();
                (id, book[field].clone())
            })
            .collect()
    }
}

/// What the one behind is to have of a library of the one before: the same books. Digests tell texts apart, where those are sent.
fn has_come(before: &Member, theirs: &str, behind: &Member, ours: &str, field: &str) -> bool {
    before.books(theirs, field) == behind.books(ours, field)
}

#[test]
fn three_servers_in_a_ring_have_each_others_books() {
    let mut ring = [
        Member::new("--permission follow --permission read_texts"),
        Member::new("--permission follow"),
        Member::new("--permission follow"),
    ];
    let (keys, ports) = (
        ring.each_ref().map(|member| member.follower.clone()),
        ring.each_ref().map(|member| member.port),
    );
    for (number, member) in ring.iter_mut().enumerate() {
        member.start(&keys[(number + 2) % 3]);
        for book in 0..3 {
            let text = prose(10 * number as u64 + book, 900);
            member.put(&format!("{number}-{book}"), &text, "protected");
        }
    }
    ring[0].put("free", &prose(90, 900), "free");
    for (number, member) in ring.iter().enumerate() {
        let before = ports[(number + 2) % 3];
        for (theirs, ours) in [("own", "first"), ("first", "second"), ("second", "third")] {
            member.follow(before, theirs, ours);
        }
    }
    let all_have_come = |ring: &[Member; 3]| {
        (0..3).all(|number| {
            let (member, behind) = (&ring[number], &ring[(number + 1) % 3]);
            has_come(member, "own", behind, "first", "title")
                && has_come(member, "first", behind, "second", "title")
        })
    };
    until("all books come", || all_have_come(&ring));
    assert!(
        has_come(&ring[0], "own", &ring[1], "first", "digest"),
        "with their texts"
    );
    assert!(has_come(&ring[0], "own", &ring[1], "first", "rights"));

    // What has come back is one's own.
    until("the third source of each has run", || {
        ring.iter().all(|member| {
            let source = member.send("GET", "/v1/sources/third", &Value::Null).1;
            source["run"]["skipped_by"]["own"].as_u64()
                == Some(member.books("own", "id").len() as u64)
        })
    });
    for member in &ring {
        assert!(member.books("third", "id").is_empty());
    }

    // Where it is from is said at the end of the way, where it decides, too.
    let check = json!({ "text": prose(1, 900) });
    let (_, report) = ring[2].send("POST", "/v1/checks", &check);
    assert_eq!(report["verdict"], "protected", "{report}");
    let from = ring[2].books("second", "identifiers")["0-1"].to_string();
    assert!(
        from.contains("lapidary:") && from.contains("/own/0-1"),
        "{from}"
    );

    // Servers are killed while books change, come and go.
    for round in 0..2_u64 {
        ring[0].put("0-0", &prose(40 + round, 900), "protected");
        ring[0].put(
            &format!("new-{round}"),
            &prose(60 + round, 900),
            "protected",
        );
        let gone = format!("/v1/libraries/own/books/0-{}", round + 1);
        ring[0].send("DELETE", &gone, &Value::Null);
        thread::sleep(Duration::from_millis(300 * round));
        let killed = 1 + round as usize % 2;
        ring[killed].start(&keys[killed - 1]);
    }
    let amendment = json!({ "rights": "public_domain" });
    let (status, answer) = ring[0].send("PATCH", "/v1/libraries/own/books/free", &amendment);
    assert_eq!(status, 200, "{answer}");
    until("what changed comes", || {
        let same = |field| has_come(&ring[0], "own", &ring[1], "first", field);
        all_have_come(&ring) && same("digest") && same("rights")
    });
    assert_eq!(ring[1].books("first", "rights")["free"], "public_domain");
    for text in [prose(41, 900), prose(61, 900)] {
        let check = json!({ "text": text });
        until("the last one knows it", || {
            ring[2].send("POST", "/v1/checks", &check).1["verdict"] == "protected"
        });
    }
}

#[test]
fn a_library_is_followed_only_with_a_key_that_may() {
    let mut before = Member::new("--permission follow");
    let checks = key(&before.folder.data(), "--role check other");
    before.start("");
    before.put("banned", &prose(1, 900), "forbidden");
    for (secret, why) in [
        (checks.as_str(), "403"),
        ("lap_wrong", "does not accept the source's credentials"),
    ] {
        let file = before.folder.file("secret", secret);
        let url = format!("http://127.0.0.1:{}/v1/libraries/own", before.port);
        let options = format!("--allow-private --credentials {}", file.display());
        let harvest = Harvest::new("lapidary", &url, &options);
        assert_eq!(harvest.run(), (0, 0, 0, 1));
        let errors = harvest.summary()["errors"].to_string();
        assert!(errors.contains(why), "{errors}");
    }

    // A ban is the word of those who may ban here, not of another server.
    let file = before.folder.file("secret", &before.follower);
    let url = format!("http://127.0.0.1:{}/v1/libraries/own", before.port);
    let options = format!("--allow-private --credentials {}", file.display());
    let harvest = Harvest::new("lapidary", &url, &options);
    assert_eq!(harvest.run(), (1, 1, 0, 0));
    let books = run(
        "books list --json --data {} --library lib",
        &[harvest.folder.data()],
    )
    .json();
    assert_eq!(books[0]["rights"], "protected");
    assert_eq!(harvest.run(), (0, 0, 1, 0));
}
