//! Lists, a page at a time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::running::{JSON, Running, definition};

/// Sends a request with a key.
fn send(server: &Running, key: &str, method: &str, path: &str, body: &Value) -> Value {
    let mut headers = vec![("Content-Type", JSON)];
    if !key.is_empty() {
        headers.push(("X-Api-Key", key));
    }
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = server.send(method, path, &headers, body.as_bytes());
    assert!(
        (200..300).contains(&answer.status),
        "{method} {path}: {}",
        String::from_utf8_lossy(&answer.body)
    );
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// The items of a page, without what changes while they are read.
fn listed(page: &Value, items: &str) -> Vec<Value> {
    let items = page[items].as_array().expect("items").iter();
    items.cloned().map(definition).collect()
}

/// Lists take `limit` and `cursor`, and whoever follows the cursors sees each item once, in the order of one page.
#[test]
fn whoever_follows_the_cursors_sees_every_item_once() {
    let server = Running::start();
    let made = json!({ "name": "boss", "role": "admin" });
    let made = send(&server, "", "POST", "/v1/keys", &made);
    let boss = made["secret"].as_str().expect("a secret");
    let call = |method: &str, path: &str, body: Value| send(&server, boss, method, path, &body);
    for name in ["a", "b/c", "d e", "ж"] {
        let encoded = form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>();
        let encoded = encoded.replace('+', "%20");
        call("POST", "/v1/keys", json!({ "name": name, "role": "check" }));
        // It has two secrets.
        let rotated = format!("/v1/keys/{encoded}/rotate");
        call("POST", &rotated, json!({ "overlap_seconds": 600 }));
        let book = json!({ "rights": "free", "text": name, "allow_empty": true });
        for id in 1..=3 {
            let path = format!("/v1/libraries/{encoded}/books/{id}");
            call("PUT", &path, book.clone());
        }
        let hook = json!({ "url": "https://books.example/" });
        call("PUT", &format!("/v1/libraries/{encoded}/webhook"), hook);
        call(
            "PUT",
            &format!("/v1/allow-lists/{encoded}"),
            json!({ "gems": [1, 2] }),
        );
        let source = json!({
            "kind": "opds", "url": "https://books.example/", "library": name, "rights": "free", "contact": "me@books.example",
            "paused": true
        });
        call("PUT", &format!("/v1/sources/{encoded}"), source);
    }
    for _ in 0..3 {
        let job = call("POST", "/v1/jobs", json!({ "kind": "verify" }));
        while call("GET", &format!("/v1/jobs/{}", job["id"]), Value::Null)["state"] == "running" {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    let lists = [
        ("/v1/allow-lists", "allow_lists", 4),
        ("/v1/audit", "entries", 20),
        ("/v1/jobs", "jobs", 3),
        ("/v1/keys", "keys", 9),
        ("/v1/libraries", "libraries", 4),
        ("/v1/libraries/a/books", "books", 3),
        ("/v1/recipes", "recipes", 3),
        ("/v1/sources", "sources", 4),
        ("/v1/webhooks", "webhooks", 4),
    ];
    for (path, items, least) in lists {
        let all = call("GET", path, Value::Null);
        assert_eq!(all["next_cursor"], Value::Null, "{path}");
        let all = listed(&all, items);
        assert!(all.len() >= least, "{path}: {}", all.len());
        for limit in [1, 2, all.len()] {
            let (mut found, mut cursors, mut next) = (Vec::new(), BTreeSet::new(), String::new());
            loop {
                let page = call("GET", &format!("{path}?limit={limit}{next}"), Value::Null);
                let listed = listed(&page, items);
                assert!(listed.len() <= limit, "{path}");
                found.extend(listed);
                let Some(cursor) = page["next_cursor"].as_str() else {
                    break;
                };
                assert!(cursors.insert(cursor.to_owned()), "{path}: {cursor}");
                let cursor = form_urlencoded::byte_serialize(cursor.as_bytes());
                next = format!("&cursor={}", cursor.collect::<String>());
            }
            assert_eq!(found, all, "{path}?limit={limit}");
        }
        for limit in ["0", "1001"] {
            let headers = [("X-Api-Key", boss)];
            let refused = server.send("GET", &format!("{path}?limit={limit}"), &headers, b"");
            assert_eq!(refused.expect(400)["code"], "bad_limit", "{path}");
        }
    }
    for path in ["/v1/audit", "/v1/jobs", "/v1/keys", "/v1/sources/a/runs"] {
        let headers = [("X-Api-Key", boss)];
        let refused = server.send("GET", &format!("{path}?cursor=x"), &headers, b"");
        assert_eq!(refused.expect(400)["code"], "bad_cursor", "{path}");
    }
}
