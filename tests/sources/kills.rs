//! Servers that are killed while they fetch: nothing is forgotten, and only what was in flight is fetched twice.

use std::collections::HashSet;
use std::mem;

use super::served::{counted, get, send};
use super::*;
use crate::common::{Random, Server, until};

/// Each kill hits both sources, so that there are 50 in all.
const KILLS: usize = 25;
const BOOKS: u64 = 300;
/// What a source has in flight.
const BATCH: usize = 64;

/// The path of a book. A site's numbers would be walked.
fn path(number: u64) -> String {
    let letter = |digit: u64| char::from(b'a' + digit as u8);
    format!("/book/{}{}", letter(number / 20), letter(number % 20))
}

/// A site with books, on shelves that lead to each other.
fn library() -> Site {
    let site = Site::new();
    for number in 0..BOOKS {
        site.set(
            &path(number),
            found(format!(
                "<html><body><p>{}</p></body></html>",
                prose(number, 120)
            )),
        );
    }
    for shelf in 0..10 {
        let books = (shelf * BOOKS / 10..(shelf + 1) * BOOKS / 10)
            .map(|number| format!("<a href='{}'>b</a>", path(number)));
        let links = [
            books.collect::<Vec<_>>().concat(),
            format!("<a href='/shelf{}'>next</a>", (shelf + 1) % 10),
        ]
        .concat();
        site.set(
            &format!("/shelf{shelf}"),
            found(format!("<html><body>{links}</body></html>")),
        );
    }
    let list: Vec<String> = (0..BOOKS)
        .map(|number| format!("{}{}", site.url, path(number)))
        .collect();
    site.set("/list.txt", found(list.join("\n")));
    site
}

/// What a server asked a site for, but for what each server asks for again.
fn asked(site: &Site) -> HashSet<String> {
    let heads = mem::take(&mut *site.asked.lock().expect("no panic"));
    let paths: Vec<String> = heads
        .iter()
        .filter_map(|head| Some(head.split(' ').nth(1)?.to_owned()))
        .collect();
    let all: HashSet<String> = paths
        .iter()
        .filter(|path| *path != "/robots.txt")
        .cloned()
        .collect();
    assert_eq!(
        all.len(),
        paths.iter().filter(|path| *path != "/robots.txt").count(),
        "one server asks for nothing twice"
    );
    all
}

#[test]
fn servers_that_are_killed_go_on_where_they_were() {
    let sites = [library(), library()];
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    for ((kind, address), site) in [("sitemap", "list.txt"), ("site", "shelf0")]
        .iter()
        .zip(&sites)
    {
        let source = json!({ "kind": kind, "url": format!("{}/{address}", site.url), "library": kind, "rights": "free",
                             "url_contains": ["book/"], "allow_private": true, "rate": "150/s" });
        assert_eq!(
            send(&server, "PUT", &format!("/v1/sources/{kind}"), &source).0,
            201
        );
        assert_eq!(
            send(
                &server,
                "POST",
                &format!("/v1/sources/{kind}/run"),
                &Value::Null
            )
            .0,
            202
        );
    }
    let (mut server, mut random) = (Some(server), Random(11));
    let mut before = [HashSet::new(), HashSet::new()];
    let (mut again, mut in_the_middle) = (0, 0);
    for _ in 0..KILLS {
        let more = 1 + random.below(40) as usize;
        let requests = || -> usize {
            sites
                .iter()
                .map(|site| site.asked.lock().expect("no panic").len())
                .sum()
        };
        let running = server.get_or_insert_with(|| Server::start(&folder.data()));
        let is_done = |kind: &str| {
            get(running, &format!("/v1/sources/{kind}"))["run"]["finished_at"].is_string()
        };
        until("it fetches, or is done", || {
            requests() > more || ["sitemap", "site"].iter().all(|kind| is_done(kind))
        });
        in_the_middle += ["sitemap", "site"]
            .iter()
            .filter(|kind| !is_done(kind))
            .count();
        // Killed by being dropped.
        drop(server.take());
        for (site, before) in sites.iter().zip(&mut before) {
            let now = asked(site);
            let twice = now.intersection(before).count();
            assert!(twice <= BATCH, "{twice} were fetched again after a kill");
            again += twice;
            before.extend(now);
        }
    }
    assert!(
        again > 0 && in_the_middle >= 2 * KILLS - 10,
        "{again} were fetched again, {in_the_middle} runs were killed"
    );
    let server = Server::start(&folder.data());
    for kind in ["sitemap", "site"] {
        let shown = || get(&server, &format!("/v1/sources/{kind}"));
        until("the run ends", || shown()["run"]["finished_at"].is_string());
        let run = &shown()["run"];
        // A book that was added just before a kill is as it was afterwards.
        let [_, added, unchanged, refused] = counted(run);
        assert_eq!(
            (&run["number"], added + unchanged, refused),
            (&json!(1), BOOKS, 0),
            "{run}"
        );
    }
    for (site, before) in sites.iter().zip(&mut before) {
        before.extend(asked(site));
        assert!(
            (0..BOOKS).all(|number| before.contains(&path(number))),
            "nothing is forgotten"
        );
    }
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
}
