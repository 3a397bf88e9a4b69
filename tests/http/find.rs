//! Finding books by identifier, title and author.

use lapidary_store::{Actor, BookKey, NewBook, Record, Rights, Standing};
use serde_json::{Value, json};

use super::running::{JSON, Running, encoded};

fn put(server: &Running, book: &str, about: &Value) {
    let mut body = json!({ "rights": "free", "gems": [1, 2, 3] });
    body.as_object_mut()
        .unwrap()
        .extend(about.as_object().unwrap().clone());
    server
        .put(&format!("/v1/libraries/{book}"), JSON, body.to_string())
        .expect(201);
}

/// A server with some books.
fn library() -> Running {
    let server = Running::start();
    for (book, about) in [
        (
            "house/books/1",
            json!({ "title": "Мёртвые души", "authors": ["Николай Гоголь"], "identifiers": ["978-5-17-118362-2"] }),
        ),
        (
            "house/books/2",
            json!({ "title": "Dead Souls", "authors": ["N. Gogol", "D. J. Hogarth"], "identifiers": ["0-306-40615-2"] }),
        ),
        (
            "other/books/1",
            json!({ "title": "Souls, dead or not", "authors": ["Ångström, A."], "identifiers": ["urn:x:7"] }),
        ),
        (
            "house/books/3",
            json!({ "title": "Dead souls", "authors": ["N. Gogol"], "identifiers": ["X:7"] }),
        ),
        ("house/books/4", json!({})),
    ] {
        put(&server, book, &about);
    }
    server
}

/// On a cluster, the books of a library are in an order of its own.
fn ordered<T: Ord>(mut books: Vec<T>, same_library: impl FnMut(&T, &T) -> bool) -> Vec<T> {
    if super::ON_CLUSTER {
        books.chunk_by_mut(same_library).for_each(<[T]>::sort);
    }
    books
}

/// The books that a query finds.
fn found(server: &Running, query: &str) -> Vec<String> {
    let page = server.get(&format!("/v1/books?{query}")).expect(200);
    assert_eq!(page["next_cursor"], Value::Null, "{query}");
    let name = |book: &Value| {
        format!(
            "{}/{}",
            book["library"].as_str().unwrap(),
            book["id"].as_str().unwrap()
        )
    };
    page["books"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn books_are_found_by_all_that_is_said_of_them() {
    let server = library();
    let table: [(&str, &[&str]); 18] = [
        ("title=dead", &["house/2", "house/3", "other/1"]),
        ("title=SOULS+dead", &["house/2", "house/3", "other/1"]),
        ("title=dead&library=other", &["other/1"]),
        ("title=dead&author=gogol", &["house/2", "house/3"]),
        ("title=dead&author=hogarth+gogol", &["house/2"]),
        ("author=angstrom", &["other/1"]),
        ("author=Hogarth&identifier=9780306406157", &["house/2"]),
        ("author=Angstrom&identifier=9780306406157", &[]),
        ("identifier=9780306406157", &["house/2"]),
        ("identifier=ISBN+0306406152", &["house/2"]),
        ("identifier=x:7", &["house/3", "other/1"]),
        ("identifier=x", &[]),
        ("identifier=978-0-306-40615-8", &[]),
        ("title=dea", &[]),
        ("title=gogol", &[]),
        ("title=dead+man", &[]),
        (
            "title=dead&library=house&limit=1000",
            &["house/2", "house/3"],
        ),
        ("author=Austen", &[]),
    ];
    for (query, expected) in table {
        let same_library = |a: &String, b: &String| a.split('/').next() == b.split('/').next();
        assert_eq!(
            ordered(found(&server, query), same_library),
            expected,
            "{query}"
        );
    }
    assert_eq!(
        found(&server, &format!("title={}", encoded("МЕРТВЫЕ души"))),
        ["house/1"]
    );
    let record = server.get("/v1/libraries/house/books/1").expect(200);
    let page = server.get("/v1/books?identifier=9785171183622").expect(200);
    assert_eq!(page, json!({ "books": [record], "next_cursor": null }));
    // What is changed is found as it is now.
    let renamed = json!({ "rights": "free", "gems": [1, 2, 3], "title": "Taras Bulba" });
    server
        .put("/v1/libraries/house/books/2", JSON, renamed.to_string())
        .expect(200);
    server
        .send("DELETE", "/v1/libraries/other/books/1", &[], b"")
        .expect(204);
    assert_eq!(found(&server, "title=dead"), ["house/3"]);
    assert_eq!(found(&server, "title=bulba"), ["house/2"]);
    assert_eq!(
        server
            .send("HEAD", "/v1/books?title=bulba", &[], b"")
            .status,
        200
    );
}

#[test]
fn words_are_found_by_their_beginnings() {
    let server = library();
    let same_library = |a: &String, b: &String| a.split('/').next() == b.split('/').next();
    let table: [(&str, &[&str]); 15] = [
        ("дуШ", &["house/1"]),
        ("гог мертв", &["house/1"]),
        ("DEA gog", &["house/2", "house/3"]),
        ("n", &["house/2", "house/3", "other/1"]),
        ("angst", &["other/1"]),
        ("978-5-17-118362-2", &["house/1"]),
        ("9785171", &["house/1"]),
        ("978-5-17", &["house/1"]),
        ("0306406152", &["house/2"]),
        ("4", &["house/2", "house/4"]),
        ("x 7", &["house/3", "other/1"]),
        ("ead", &[]),
        ("deadd", &[]),
        ("dead hogarth angstrom", &[]),
        ("9780306406158", &[]),
    ];
    for (words, expected) in table {
        let query = format!("q={}", encoded(words));
        assert_eq!(
            ordered(found(&server, &query), same_library),
            expected,
            "{words}"
        );
    }
    assert_eq!(
        found(&server, "q=dead&title=souls&library=other"),
        ["other/1"]
    );
    // Of long words, the first 16 characters are compared.
    let long = json!({ "title": "Donaudampfschifffahrtsgesellschaft" });
    put(&server, "house/books/long", &long);
    for words in [
        "donaudampfschif",
        "donaudampfschifffahrt",
        "donaudampfschifffrost",
    ] {
        assert_eq!(
            found(&server, &format!("q={words}")),
            ["house/long"],
            "{words}"
        );
    }
    server
        .get("/v1/books?q=%2C")
        .problem(400, "bad_query", "no letter");
}

#[test]
fn books_are_found_by_rights_language_and_state() {
    let server = library();
    put(
        &server,
        "other/books/br",
        &json!({ "title": "Memórias", "language": "pt-BR" }),
    );
    let change = |book: &str, amendment: Value| {
        let kind = [("Content-Type", JSON)];
        let path = format!("/v1/libraries/house/books/{book}");
        server
            .send("PATCH", &path, &kind, amendment.to_string().as_bytes())
            .expect(200);
    };
    assert_eq!(
        found(&server, "rights=free&library=other&language=pt"),
        ["other/br"]
    );
    assert_eq!(found(&server, "language=PT_br"), ["other/br"]);
    assert_eq!(found(&server, "language=p"), [""; 0]);
    change("2", json!({ "rights": "protected", "disabled": true }));
    assert_eq!(found(&server, "rights=protected"), ["house/2"]);
    assert_eq!(found(&server, "state=disabled"), ["house/2"]);
    assert_eq!(
        found(&server, "q=dead&rights=free&library=house"),
        ["house/3"]
    );
    change("2", json!({ "disabled": false }));
    assert_eq!(found(&server, "state=disabled"), [""; 0]);
    for (until, is_over) in [("2020-01-01", true), ("2999-12-31", false)] {
        change("3", json!({ "validity": { "until": until } }));
        let expected: &[&str] = if is_over { &["house/3"] } else { &[] };
        assert_eq!(found(&server, "state=expired"), expected, "{until}");
    }
    assert_eq!(found(&server, "state=quarantined"), [""; 0]);
    // A description that is changed is found as it is now.
    change(
        "1",
        json!({ "title": "Шинель", "authors": [], "published": "1842", "identifiers": ["x:9"] }),
    );
    assert_eq!(
        found(&server, &format!("q={}", encoded("шинел"))),
        ["house/1"]
    );
    assert_eq!(found(&server, "q=9785171183622"), [""; 0]);
    change("1", json!({ "title": "", "published": null }));
    let record = server.get("/v1/libraries/house/books/1").expect(200);
    assert_eq!(
        (
            &record["title"],
            &record["authors"],
            &record["published"],
            &record["identifiers"]
        ),
        (&Value::Null, &Value::Null, &Value::Null, &json!(["x:9"]))
    );
    for (query, says) in [
        ("state=lost", "one of"),
        ("rights=mine", "one of"),
        ("language=", "language"),
    ] {
        server
            .get(&format!("/v1/books?{query}"))
            .problem(400, "bad_query", says);
    }
}

#[test]
fn what_cannot_be_sought_is_refused() {
    let server = library();
    let words = |count: usize| {
        (0..count)
            .map(|i| format!("w{i}"))
            .collect::<Vec<_>>()
            .join("+")
    };
    assert_eq!(found(&server, &format!("title={}", words(64))), [""; 0]);
    let cursor = server.get("/v1/books?title=dead&limit=1").expect(200)["next_cursor"]
        .as_str()
        .unwrap()
        .to_owned();
    for (query, code, says) in [
        (String::new(), "bad_query", "give an identifier"),
        (
            "library=house".to_owned(),
            "bad_query",
            "give an identifier",
        ),
        (
            "title=".to_owned(),
            "bad_query",
            "the title has no letter or digit",
        ),
        (
            "title=dead&author=%2C".to_owned(),
            "bad_query",
            "the author has no letter or digit",
        ),
        (
            "identifier=+".to_owned(),
            "bad_query",
            "the identifier has no letter or digit",
        ),
        (
            format!("title={}", words(65)),
            "bad_query",
            "more than 64 words",
        ),
        (
            "name=dead".to_owned(),
            "bad_query",
            "identifier, title or author",
        ),
        ("title=a&title=b".to_owned(), "bad_query", "title"),
        ("title=%ff".to_owned(), "bad_query", "not UTF-8"),
        (
            "title=dead&limit=0".to_owned(),
            "bad_limit",
            "from 1 to 1000",
        ),
        (
            "title=dead&limit=1001".to_owned(),
            "bad_limit",
            "from 1 to 1000",
        ),
        (
            "title=dead&cursor=".to_owned(),
            "bad_cursor",
            "leave it out",
        ),
        (
            "title=dead&cursor=house".to_owned(),
            "bad_cursor",
            "leave it out",
        ),
        (
            format!("title=dead&cursor={cursor}A"),
            "bad_cursor",
            "leave it out",
        ),
        (
            format!("title=dead&library=other&cursor={cursor}"),
            "bad_cursor",
            "leave it out",
        ),
    ] {
        server
            .get(&format!("/v1/books?{query}"))
            .problem(400, code, says);
    }
    server
        .get("/v1/books?title=dead&library=nowhere")
        .problem(404, "no_such_library", "nowhere");
    server
        .get("/v1/books?title=dead&library=")
        .problem(422, "bad_name", "a library");
    server
        .post("/v1/books", JSON, "{}")
        .problem(405, "method_not_allowed", "GET");
}

#[test]
fn pages_of_found_books() {
    let server = Running::start();
    for i in 0..25 {
        let library = ["a", "b", "c"][i % 3];
        put(
            &server,
            &format!("{library}/books/{i:02}"),
            &json!({ "title": format!("The sea {}", i % 2) }),
        );
    }
    for (limit, among) in [(1, ""), (4, ""), (25, ""), (2, "&library=b")] {
        let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = server
                .get(&format!(
                    "/v1/books?title=sea+the&limit={limit}{among}{cursor}"
                ))
                .expect(200);
            let books = page["books"].as_array().unwrap();
            assert!(books.len() <= limit);
            seen.extend(
                books
                    .iter()
                    .map(|book| book["id"].as_str().unwrap().parse::<usize>().unwrap()),
            );
            pages += 1;
            let Some(next) = page["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
        }
        // By library, oldest first, and then as they were added.
        let mut expected: Vec<usize> = (0..25).filter(|i| among.is_empty() || i % 3 == 1).collect();
        expected.sort_by_key(|i| (i % 3, *i));
        assert_eq!(pages, expected.len().div_ceil(limit), "{limit}");
        assert_eq!(ordered(seen, |a, b| a % 3 == b % 3), expected, "{limit}");
    }
}

/// A page of long records is cut where the answer would grow too large, and the next one goes on there.
#[test]
fn long_records_make_short_pages() {
    let record = |i: u32| Record {
        key: BookKey {
            library: "long".parse().unwrap(),
            id: format!("{i:04}").parse().unwrap(),
        },
        rights: Rights::Free,
        description: lapidary_common::description::Description {
            title: Some(format!("sea {}", "x".repeat(1_900))),
            authors: vec!["y".repeat(900); 6],
            ..Default::default()
        },
        digest: "00".repeat(32),
        clean_digest: None,
        bytes: 1,
        clean: None,
        text_kept: false,
        gems: [].into(),
        changed_at: jiff::Timestamp::UNIX_EPOCH,
        fetched_at: None,
        standing: Standing::default(),
    };
    let server = Running::with(|store| {
        let book = |i| NewBook::without_gems(record(i), true);
        lapidary_store::Store::put(&*store, &Actor::Local, (0..900).map(book).collect()).unwrap();
        store
    });
    let (mut ids, mut cursor, mut sizes) = (Vec::new(), String::new(), Vec::new());
    loop {
        let answer = server.get(&format!("/v1/books?title=sea&limit=1000{cursor}"));
        sizes.push(answer.body.len());
        let page = answer.expect(200);
        ids.extend(
            page["books"]
                .as_array()
                .unwrap()
                .iter()
                .map(|book| book["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    if super::ON_CLUSTER {
        // There, a library has no other order than that of its shards.
        ids.sort_unstable();
    }
    assert_eq!(ids, (0..900).map(|i| format!("{i:04}")).collect::<Vec<_>>());
    assert!(
        sizes.len() == 2 && sizes.iter().all(|size| *size < 5 << 20),
        "{sizes:?}"
    );
}
