//! How many addresses a source may queue, and what is told of those that are left out.

use lapidary_store::{RocksStore, Store as _, Table};

use super::served::send_with;
use super::*;
use crate::common::network::{ip, is_own};
use crate::common::{Server, key, until};

#[test]
fn what_is_beyond_the_most_of_a_run_is_counted() {
    let site = Site::new();
    site.books(0..50);
    site.set("/list.txt", site.list(0..50));
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --disable-missing --max-urls 21",
    );
    let data = harvest.folder.data();
    let done = run("sources run --data {} it", &[&data]).expect(0);
    assert!(done.out.starts_with("20 fetched, 20 added"), "{}", done.out);
    assert!(
        done.err
            .contains("left out 30 beyond the most addresses of a run (--max-urls)"),
        "{}",
        done.err
    );
    assert_eq!(
        harvest.summary()["runs"][0]["left_out"],
        json!({ "max_urls": 30 })
    );
    let shown = run("sources show --data {} it", &[&data]).expect(0).out;
    assert!(shown.contains("    left out 30 beyond"), "{shown}");
    // Without a limit of its own, a source has the usual one.
    run(
        &add(
            "sitemap",
            &format!("{}/list.txt", site.url),
            "--allow-private",
        ),
        &[&data],
    )
    .expect(0);
    assert_eq!(harvest.summary()["definition"]["max_urls"], 100_000);
}

/// A list that names ever new addresses, none of which can be fetched, costs its site nothing.
#[test]
fn no_list_of_useless_addresses_is_kept_without_bound() {
    const RUNS: usize = 12;
    let site = Site::new();
    let list = |run: usize| {
        (0..100)
            .map(|i| format!("x:{run}/{i}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    site.set_all("/list.txt", (0..RUNS).map(|run| found(list(run))).collect());
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --max-urls 51",
    );
    let data = harvest.folder.data();
    for _ in 0..RUNS {
        run("sources run --data {} it", &[&data]).expect(2);
    }
    let run_of = |at: usize| harvest.summary()["runs"][at].clone();
    assert_eq!(
        (&run_of(0)["refused"], &run_of(0)["left_out"]),
        (&json!(50), &json!({ "max_urls": 50 }))
    );
    let errors = run("sources errors --data {} it", &[&data]).expect(0).out;
    let newest = format!("x:{}/", RUNS - 1);
    assert!(
        errors.contains(&newest) && errors.lines().count() <= 100,
        "{errors}"
    );
    // Of each address two rows, and some of the source and its runs.
    let rows = RocksStore::open(&data)
        .and_then(|store| store.page(Table::Harvests, b"", None, usize::MAX))
        .expect("rows")
        .len();
    assert!(rows <= 2 * 100 + RUNS + 5, "{rows} rows");
}

/// An index of sitemaps that leads to more addresses than anybody wants. In a network of its own, this machine has public
/// addresses, as the sources of ingest keys need.
#[test]
fn no_key_queues_without_bound() {
    if !is_own(&[]) {
        return;
    }
    ip("link set lo up");
    ip("addr add 8.8.8.8/32 dev lo");
    let site = Site::at("8.8.8.8");
    let index: Vec<String> = (0..10)
        .map(|n| format!("<sitemap><loc>/{n}.txt</loc></sitemap>"))
        .collect();
    site.set(
        "/index.xml",
        found(format!("<sitemapindex>{}</sitemapindex>", index.concat())),
    );
    for n in 0..10 {
        let lines: Vec<String> = (0..400)
            .map(|i| format!("{}/none/{n}/{i}", site.url))
            .collect();
        site.set(&format!("/{n}.txt"), found(lines.join("\n")));
    }
    let folder = Folder::new();
    let admin = key(&folder.data(), "--role admin admin");
    let theirs = key(
        &folder.data(),
        "--role ingest --untrusted --library lib theirs",
    );
    let server = Server::start_with("--sources-queue 1000", &[], &folder.data());
    let definition = |most: u64| {
        json!({ "kind": "sitemap", "url": format!("{}/index.xml", site.url), "library": "lib", "rights": "unknown",
                "contact": "a@b.invalid", "max_urls": most })
    };
    let (status, answer) = send_with(
        &server,
        &theirs,
        "PUT",
        "/v1/sources/a",
        &definition(100_001),
    );
    assert_eq!(
        (status, &answer["code"]),
        (403, &json!("not_allowed")),
        "{answer}"
    );
    for name in ["a", "b"] {
        let at = format!("/v1/sources/{name}");
        assert_eq!(
            send_with(&server, &theirs, "PUT", &at, &definition(100_000)).0,
            201
        );
        let (status, answer) = send_with(
            &server,
            &theirs,
            "PATCH",
            &at,
            &json!({ "max_urls": 100_001 }),
        );
        assert_eq!(
            (status, &answer["code"]),
            (403, &json!("not_allowed")),
            "{answer}"
        );
    }
    let run = |name: &str| {
        send_with(
            &server,
            &theirs,
            "POST",
            &format!("/v1/sources/{name}/run"),
            &Value::Null,
        )
        .0
    };
    let shown = |name: &str| {
        send_with(
            &server,
            &theirs,
            "GET",
            &format!("/v1/sources/{name}"),
            &Value::Null,
        )
        .1
    };
    assert_eq!(run("a"), 202);
    until("its queue is full", || {
        shown("a")["run"]["left_out"]["key"]
            .as_u64()
            .is_some_and(|count| count > 0)
    });
    assert!(
        shown("a")["queued"]
            .as_u64()
            .is_some_and(|queued| queued <= 1_000),
        "{}",
        shown("a")
    );
    // What waits for one source of the key counts for the others.
    assert_eq!(
        send_with(
            &server,
            &theirs,
            "PATCH",
            "/v1/sources/a",
            &json!({ "paused": true })
        )
        .0,
        200
    );
    assert_eq!(run("b"), 202);
    until("it leaves out", || {
        shown("b")["run"]["left_out"]["key"]
            .as_u64()
            .is_some_and(|count| count > 0)
    });
    let queued: u64 = ["a", "b"]
        .iter()
        .map(|name| shown(name)["queued"].as_u64().expect("a number"))
        .sum();
    assert!(queued <= 1_000, "{queued}");
    // An administrator may have more.
    assert_eq!(
        send_with(&server, &admin, "PUT", "/v1/sources/c", &definition(5_000)).0,
        201
    );
    assert_eq!(
        send_with(
            &server,
            &theirs,
            "PATCH",
            "/v1/sources/b",
            &json!({ "paused": true })
        )
        .0,
        200
    );
    assert_eq!(
        send_with(&server, &admin, "POST", "/v1/sources/c/run", &Value::Null).0,
        202
    );
    let of_admin = || send_with(&server, &admin, "GET", "/v1/sources/c", &Value::Null).1;
    until("it queues all", || {
        of_admin()["queued"]
            .as_u64()
            .is_some_and(|queued| queued > 1_000)
    });
    assert_eq!(of_admin()["run"]["left_out"], json!({}));
    // What cannot be used takes room, too, and that of one source counts for the others.
    for name in ["a", "b", "c"] {
        assert_eq!(
            send_with(
                &server,
                &admin,
                "DELETE",
                &format!("/v1/sources/{name}"),
                &Value::Null
            )
            .0,
            204
        );
    }
    for (name, refused) in [("d", 900..=1_000), ("e", 0..=100)] {
        let path = format!("/{name}.txt");
        site.set(
            &path,
            found(
                (0..3_000)
                    .map(|i| format!("x:{name}/{i}"))
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
        );
        let mut definition = definition(100_000);
        definition["url"] = json!(format!("{}{path}", site.url));
        assert_eq!(
            send_with(
                &server,
                &theirs,
                "PUT",
                &format!("/v1/sources/{name}"),
                &definition
            )
            .0,
            201
        );
        assert_eq!(run(name), 202);
        until("it has run", || {
            shown(name)["run"]["finished_at"].is_string()
        });
        let shown = shown(name);
        assert!(
            shown["run"]["refused"]
                .as_u64()
                .is_some_and(|count| refused.contains(&count)),
            "{shown}"
        );
        assert!(
            shown["run"]["left_out"]["key"]
                .as_u64()
                .is_some_and(|count| count >= 2_000),
            "{shown}"
        );
    }
}
