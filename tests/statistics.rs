//! How many checks there were, with the program from outside.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::cluster::Nodes;
use crate::common::{Folder, Server, key, prose, run};

const CHECKS: &str = "/v1/history/checks";

/// The checks of the last days, whether or not midnight was among them: by verdict, by key, and by library.
fn counted(admin: &Client) -> [Value; 3] {
    let (status, shown) = admin.json("GET", CHECKS, &Value::Null);
    assert_eq!(status, 200, "{shown}");
    let mut all = serde_json::Map::new();
    for day in shown["days"].as_array().expect("days") {
        for (verdict, checks) in day["checks"].as_object().expect("verdicts") {
            let before = all.get(verdict).and_then(Value::as_u64).unwrap_or(0);
            all.insert(
                verdict.clone(),
                json!(before + checks.as_u64().expect("a number")),
            );
        }
    }
    let [actors, libraries] = ["actors", "libraries"].map(|of| shown[of].clone());
    [all.into(), actors, libraries]
}

fn until(admin: &Client, expected: &[Value; 3]) {
    let since = Instant::now();
    while counted(admin) != *expected {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "{:?}",
            counted(admin)
        );
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn checks_are_counted_for_whoever_asks_and_survive_a_kill() {
    let folder = Folder::new();
    let data = folder.data();
    let keys = [
        "--role admin boss",
        "--role check shop",
        "--role ingest --trusted --library house house",
        "--role ingest --untrusted --library rival rival",
    ];
    let keys = keys.map(|line| key(&data, line));
    let start = || {
        let server = Server::start(&data);
        let clients = keys.each_ref().map(|secret| Client::new(&server, secret));
        (server, clients)
    };
    let (server, [admin, shop, house, rival]) = start();
    assert_eq!(counted(&admin), [json!({}), json!([]), json!([])]);
    let book = json!({ "rights": "protected", "text": prose(1, 3_000) });
    let path = "/v1/libraries/house/books/1?unless=protected";
    assert_eq!(
        house.json("PUT", path, &book).0,
        201,
        "no check, and not refused"
    );
    let texts = [
        prose(1, 3_000),
        prose(1, 2_000),
        prose(2, 2_000),
        "шорт".to_owned(),
    ];
    for text in &texts {
        // Nobody hides by it what was blocked.
        shop.check(&json!({ "text": text, "limit": 0 }));
    }
    let [whole, part, other, short] = texts.each_ref().map(|text| text.chars().count());
    let path = "/v1/libraries/rival/books/1?unless=protected";
    assert_eq!(rival.json("PUT", path, &book).0, 409);
    let expected = [
        json!({ "not_checked": 1, "protected": 3, "unknown": 1 }),
        json!([
            { "actor": "key:rival", "checks": { "protected": 1 }, "characters": whole },
            {
                "actor": "key:shop",
                "checks": { "not_checked": 1, "protected": 2, "unknown": 1 },
                "characters": whole + part + other + short,
            },
        ]),
        json!([{ "library": "house", "checks": { "protected": 3 }, "characters": 2 * whole + part }]),
    ];
    assert_eq!(counted(&admin), expected);
    assert_eq!(server.stop(), Some(0));
    let (server, [admin, shop, ..]) = start();
    assert_eq!(counted(&admin), expected);
    shop.check(&json!({ "text": prose(3, 2_000) }));
    // What an administrator files is theirs, too.
    admin.check(&json!({ "text": prose(3, 2_000), "record": true }));
    let more = counted(&admin);
    assert_eq!(more[0]["unknown"], 3);
    assert_eq!(more[1][0]["actor"], "key:boss");
    // It is written within a few seconds.
    sleep(Duration::from_secs(6));
    drop(server);
    let (_server, [admin, shop, ..]) = start();
    assert_eq!(counted(&admin), more);
    let (status, week) = admin.json("GET", "/v1/history?period=week", &Value::Null);
    assert_eq!(status, 200, "{week}");
    let samples = week["samples"].as_array().expect("samples");
    let protected = samples.iter().map(|of| of["checks"]["protected"].as_u64());
    assert_eq!(
        protected.sum::<Option<u64>>(),
        Some(2),
        "of the server that was stopped, not of the one that was killed"
    );
    let before = admin.json(
        "GET",
        &format!("{CHECKS}?since=2020-01-01&until=2020-12-31"),
        &Value::Null,
    );
    assert_eq!((before.0, &before.1["days"]), (200, &json!([])));
    let (status, problem) = admin.json("GET", &format!("{CHECKS}?since=soon"), &Value::Null);
    assert_eq!((status, &problem["code"]), (400, &json!("bad_query")));
    assert_eq!(shop.json("GET", CHECKS, &Value::Null).0, 403);
}

#[test]
fn servers_that_share_a_store_count_together() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let store = format!("redis://{}/statistics", nodes.addresses);
    let none: &[&Path] = &[];
    let made = run(&format!("keys add --store {store} --role admin boss"), none).expect(0);
    let secret = made.out.lines().last().expect("a secret");
    let servers = [(); 2].map(|()| Server::start_on(&store));
    let clients = servers.each_ref().map(|server| Client::new(server, secret));
    let book = json!({ "rights": "forbidden", "text": prose(1, 2_000) });
    let (status, added) = clients[0].json("PUT", "/v1/libraries/l/books/1", &book);
    assert_eq!(status, 201, "{added}");
    for client in &clients {
        client.check(&json!({ "text": prose(1, 2_000) }));
    }
    let both = json!({ "forbidden": 2 });
    let characters = 2 * prose(1, 2_000).chars().count();
    let expected = [
        both.clone(),
        json!([{ "actor": "key:boss", "checks": both, "characters": characters }]),
        json!([{ "library": "l", "checks": both, "characters": characters }]),
    ];
    for client in &clients {
        until(client, &expected);
    }
}

/// Without keys, everybody may see the page.
#[test]
fn the_page_draws_a_bar_for_each_day() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client::new(&server, "");
    let page = |query: &str| {
        let path = format!("/console/statistics{query}");
        let (status, page) = client.call("GET", &path, "text/plain", "");
        assert_eq!(status, 200, "{page}");
        page
    };
    assert!(page("").contains("Nothing was checked on these days."));
    client.check(&json!({ "text": prose(1, 2_000) }));
    let shown = page("");
    assert!(
        shown.contains(": Checks 1, Protected or forbidden 0, Free to publish 0"),
        "{shown}"
    );
    assert_eq!(shown.matches("<rect class=\"whole\"").count(), 30);
    assert!(shown.contains("<td>anonymous</td><td>1</td>"), "{shown}");
    let characters = prose(1, 2_000).chars().count();
    let characters = format!("<td>{},{:03}</td>", characters / 1_000, characters % 1_000);
    assert!(shown.contains(&characters), "{shown}");
    assert!(page("?since=2020-01-01&until=2020-01-05").contains("Nothing was checked"));
    // The week begins with the first server, not with this one.
    assert!(page("?of=week").contains("There are no figures yet."));
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(&folder.data());
    let page =
        Client::new(&server, "").call("GET", "/console/statistics?of=week", "text/plain", "");
    assert!(page.1.contains("<polyline"), "{}", page.1);
    assert!(!page.1.contains("There are no figures yet."));
}
