//! Whose books those of a source are: they are looked at like all books of whoever defined it.

use super::served::send_with;
use super::*;
use crate::common::network::{ip, is_own};
use crate::common::{Server, key, until};

/// The source of a library's key stays one when an administrator changes it, and when an administrator's key gets the name of the
/// library's.
#[test]
fn a_source_stays_that_of_the_key_that_defined_it() {
    if !is_own(&[]) {
        return;
    }
    ip("link set lo up");
    ip("addr add 8.8.8.8/32 dev lo");
    let (site, folder) = (Site::at("8.8.8.8"), Folder::new());
    let novel = |number: u64| prose(50 + number, 3_000);
    let collage = |at: usize| {
        (0..3)
            .map(|number| novel(number)[at..at + 6_000].to_owned())
            .collect::<String>()
    };
    site.set("/book0.txt", found(collage(0)));
    site.set("/book1.txt", found(collage(500)));
    site.set("/list.txt", site.list(0..1));
    let admin = key(&folder.data(), "--role admin admin");
    let theirs = key(
        &folder.data(),
        "--role ingest --trusted --library lib theirs",
    );
    let server = Server::start(&folder.data());
    for number in 0..3 {
        let book = json!({ "text": novel(number), "rights": "free" });
        assert_eq!(
            send_with(
                &server,
                &admin,
                "PUT",
                &format!("/v1/libraries/others/books/{number}"),
                &book
            )
            .0,
            201
        );
    }
    let definition = json!({ "kind": "sitemap", "url": format!("{}/list.txt", site.url), "library": "lib",
                             "rights": "protected", "contact": "a@b.invalid" });
    assert_eq!(
        send_with(&server, &theirs, "PUT", "/v1/sources/it", &definition).0,
        201
    );
    assert_eq!(
        send_with(
            &server,
            &admin,
            "PATCH",
            "/v1/sources/it",
            &json!({ "rate": "1/s" })
        )
        .0,
        200
    );
    // An administrator's change stays, and none makes books of the key that it may not add.
    let (status, answer) = send_with(
        &server,
        &theirs,
        "PATCH",
        "/v1/sources/it",
        &json!({ "rate": "30/min" }),
    );
    assert_eq!(
        (status, &answer["code"]),
        (403, &json!("not_allowed")),
        "{answer}"
    );
    let (status, answer) = send_with(
        &server,
        &admin,
        "PATCH",
        "/v1/sources/it",
        &json!({ "rights": "forbidden" }),
    );
    assert_eq!(
        (status, &answer["code"]),
        (403, &json!("may_not_forbid")),
        "{answer}"
    );

    let run = |number: u64| {
        assert_eq!(
            send_with(&server, &admin, "POST", "/v1/sources/it/run", &Value::Null).0,
            202
        );
        let mut run = Value::Null;
        until("the run ends", || {
            run =
                send_with(&server, &admin, "GET", "/v1/sources/it", &Value::Null).1["run"].clone();
            run["number"] == number && run["finished_at"].is_string()
        });
        let listed = send_with(&server, &admin, "GET", "/v1/libraries", &Value::Null).1;
        let libraries = listed["libraries"].as_array().expect("libraries").clone();
        let lib = libraries
            .into_iter()
            .find(|library| library["library"] == "lib")
            .expect("the library");
        (lib["books"].clone(), lib["quarantined"].clone())
    };
    assert_eq!(run(1), (json!(1), json!(1)));
    assert_eq!(
        send_with(&server, &admin, "DELETE", "/v1/keys/theirs", &Value::Null).0,
        204
    );
    let other = json!({ "name": "theirs", "role": "admin" });
    assert_eq!(
        send_with(&server, &admin, "POST", "/v1/keys", &other).0,
        201
    );
    site.set("/list.txt", site.list(0..2));
    assert_eq!(run(2), (json!(2), json!(2)));
}
