//! Sources of a running server.

use super::*;
use crate::common;
use crate::common::{Server, until};

/// Sends a request with JSON. Returns the status and the answer.
pub fn send(server: &Server, method: &str, path: &str, body: &Value) -> (u16, Value) {
    send_with(server, "", method, path, body)
}

/// The same, with a key unless it is empty.
pub fn send_with(
    server: &Server,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url));
    let request = request.header("content-type", "application/json");
    let request = if key.is_empty() {
        request
    } else {
        request.header("authorization", format!("Bearer {key}"))
    };
    let mut answer = agent
        .run(request.body(body.to_string()).expect("a request"))
        .expect("an answer");
    (
        answer.status().as_u16(),
        answer.body_mut().read_json().unwrap_or_default(),
    )
}

pub fn get(server: &Server, path: &str) -> Value {
    let (status, answer) = send(server, "GET", path, &Value::Null);
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// Waits for the end of a run of this number, and returns it.
pub fn ended(server: &Server, number: u64) -> Value {
    let mut run = Value::Null;
    until("the run ends", || {
        run = get(server, "/v1/sources/it")["run"].clone();
        run["number"] == number && run["finished_at"].is_string()
    });
    run
}

/// The definition of a list of addresses of a site.
pub fn listed(site: &Site) -> Value {
    json!({ "kind": "sitemap", "url": format!("{}/list.txt", site.url), "library": "lib", "rights": "protected", "allow_private": true })
}

pub fn put(server: &Server, definition: &Value) -> u16 {
    let (status, answer) = send(server, "PUT", "/v1/sources/it", definition);
    assert!(status == 200 || status == 201, "{answer}");
    status
}

pub fn counted(run: &Value) -> [u64; 4] {
    ["fetched", "added", "unchanged", "refused"].map(|name| run[name].as_u64().expect("a number"))
}

#[test]
fn sources_are_defined_run_and_shown_over_http() {
    let site = Site::new();
    site.books(0..3);
    site.set("/robots.txt", found("User-agent: *\nDisallow: /book9\n"));
    site.set("/bad.txt", found(*b"\x89PNG\r\n\x1a\n"));
    let lines = [
        "book0.txt",
        "book1.txt",
        "book2.txt",
        "book9.txt",
        "none.txt",
        "bad.txt",
    ];
    site.set(
        "/list.txt",
        found(lines.map(|line| format!("{}/{line}", site.url)).join("\n")),
    );
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    assert_eq!(put(&server, &listed(&site)), 201);
    assert_eq!(put(&server, &listed(&site)), 200);
    let shown = get(&server, "/v1/sources/it");
    assert_eq!(
        (&shown["state"], &shown["run"], &shown["next_run_at"]),
        (&json!("idle"), &Value::Null, &Value::Null)
    );
    let (_, tested) = send(&server, "POST", "/v1/sources/it/test", &Value::Null);
    assert_eq!(
        tested["items"].as_array().map(Vec::len),
        Some(6),
        "{tested}"
    );

    assert_eq!(
        send(&server, "POST", "/v1/sources/it/run", &Value::Null).0,
        202
    );
    let run = ended(&server, 1);
    assert_eq!(counted(&run), [4, 3, 0, 3], "{run}");
    assert_eq!(
        run["refused_by"],
        json!({ "bad_book": 1, "missing": 1, "robots": 1 })
    );
    until("it rests", || {
        get(&server, "/v1/sources/it")["state"] == "idle"
    });
    let errors = get(&server, "/v1/sources/it/errors?limit=2");
    let cursor = errors["next_cursor"]
        .as_str()
        .expect("there is another page")
        .replace(':', "%3A");
    let rest = get(&server, &format!("/v1/sources/it/errors?cursor={cursor}"));
    let all = [&errors, &rest]
        .map(|page| page["errors"].as_array().expect("a page").clone())
        .concat();
    let reasons: Vec<&str> = all
        .iter()
        .map(|error| error["reason"].as_str().expect("a reason"))
        .collect();
    assert_eq!(
        (reasons, &rest["next_cursor"]),
        (vec!["bad_book", "robots", "missing"], &Value::Null),
        "{all:?}"
    );

    let metrics = || {
        let text = ureq::get(format!("{}/metrics", server.url))
            .call()
            .expect("an answer")
            .body_mut()
            .read_to_string();
        text.expect("text")
    };
    until("the metrics of all sources are known", || {
        metrics().contains("lapidary_source_dead_letters 3")
    });
    let metrics = metrics();
    for line in [
        "lapidary_source_books_total{outcome=\"fetched\"} 4",
        "lapidary_source_books_total{outcome=\"added\"} 3",
        "lapidary_source_refused_total{reason=\"robots\"} 1",
        "lapidary_source_refused_total{reason=\"private\"} 0",
        "lapidary_source_run_duration_seconds_count 1",
        "lapidary_source_queued 0",
        "lapidary_sources_failing 0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }

    // What was repaired is no error any more.
    site.set("/none.txt", found(prose(7, 600)));
    assert_eq!(
        send(&server, "POST", "/v1/sources/it/run", &Value::Null).0,
        202
    );
    assert_eq!(counted(&ended(&server, 2)), [5, 1, 3, 2]);
    assert!(
        !get(&server, "/v1/sources/it/errors")
            .to_string()
            .contains("none.txt")
    );
    let runs = get(&server, "/v1/sources/it/runs?limit=1");
    assert_eq!(
        (&runs["runs"][0]["number"], &runs["next_cursor"]),
        (&json!(2), &json!("2"))
    );
    let before = get(&server, "/v1/sources/it/runs?cursor=2");
    assert_eq!(
        (&before["runs"][0]["number"], &before["next_cursor"]),
        (&json!(1), &Value::Null)
    );

    let (status, changed) = send(
        &server,
        "PATCH",
        "/v1/sources/it",
        &json!({ "paused": true, "rights": "free", "url_contains": null }),
    );
    assert_eq!(
        (status, &changed["state"], &changed["definition"]["rights"]),
        (200, &json!("paused"), &json!("free"))
    );
    let (status, problem) = send(&server, "POST", "/v1/sources/it/run", &Value::Null);
    assert_eq!((status, &problem["code"]), (409, &json!("source_paused")));
    for wrong in [
        json!({ "interval_seconds": "soon" }),
        json!({ "kind": "shop" }),
        json!({ "unknown": 1 }),
        json!({ "library": null }),
        json!({ "kind": "folder", "url": "/no/such/folder" }),
    ] {
        let (status, problem) = send(&server, "PATCH", "/v1/sources/it", &wrong);
        assert_eq!(
            (status, &problem["code"]),
            (422, &json!("bad_source")),
            "{wrong}"
        );
    }
    assert_eq!(get(&server, "/v1/sources")["sources"][0]["name"], "it");
    assert_eq!(
        send(&server, "DELETE", "/v1/sources/it", &Value::Null).0,
        204
    );
    let (status, problem) = send(&server, "GET", "/v1/sources/it", &Value::Null);
    assert_eq!((status, &problem["code"]), (404, &json!("no_such_source")));
    let entries = get(&server, "/v1/audit")["entries"].to_string();
    assert_eq!(
        entries.matches("\"kind\":\"source\"").count(),
        4,
        "{entries}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn commands_work_through_a_server() {
    let site = Site::new();
    site.books(0..3);
    site.set("/list.txt", site.list(0..4));
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let there = |line: &str| {
        run(
            &format!("sources {line} --server {}", server.url),
            &[] as &[&str],
        )
    };
    let add = add(
        "sitemap",
        &format!("{}/list.txt", site.url),
        "--allow-private --every 1d",
    );
    let add = add.replace("sources ", "").replace("--data {}", "");
    assert_eq!(there(&add).expect(0).out, "added it\n");
    until("it runs by itself", || {
        get(&server, "/v1/sources/it")["run"]["finished_at"].is_string()
    });
    let again = there("run --json it").expect(2);
    assert_eq!(
        (counts(&again), again.err.contains("book3.txt")),
        ((3, 0, 3, 1), true),
        "{again:?}"
    );
    assert_eq!(there("test it").expect(0).out.lines().count(), 4);
    assert!(there("list").expect(0).out.starts_with("it\tlib\t"));
    assert!(
        there("show it")
            .expect(0)
            .out
            .contains("there is nothing at this address")
    );
    assert!(there("errors it").expect(0).out.starts_with("refused\t"));
    there("pause it").expect(0);
    assert!(there("run it").expect(2).err.contains("sources resume"));
    there("resume it").expect(0);
    there("remove it").expect(0);
    there("remove it").expect(2);
    assert!(
        there("show it")
            .expect(2)
            .err
            .contains("there is no source")
    );
}

#[test]
fn sources_run_when_they_are_due_and_stop_when_told_to() {
    let site = Site::new();
    site.books(0..200);
    site.set("/list.txt", site.list(0..200));
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let mut slow = listed(&site);
    (slow["interval_seconds"], slow["rate"]) = (json!(1), json!("40/s"));
    put(&server, &slow);
    let asked = || site.asked.lock().expect("no panic").len();
    until("it runs", || {
        asked() > 20 && get(&server, "/v1/sources/it")["state"] == "running"
    });
    send(
        &server,
        "PATCH",
        "/v1/sources/it",
        &json!({ "paused": true }),
    );
    let is_left = || {
        let before = asked();
        thread::sleep(Duration::from_millis(300));
        asked() == before
    };
    until("a paused source stops", is_left);
    let left = get(&server, "/v1/sources/it")["queued"]
        .as_u64()
        .expect("a number");
    assert!(left > 0);
    send(
        &server,
        "PATCH",
        "/v1/sources/it",
        &json!({ "paused": false }),
    );
    until("it goes on", || asked() > 60);
    // Stopped, killed and started again, it goes on by itself.
    assert_eq!(server.stop(), Some(0));
    let before = asked();
    let server = Server::start(&folder.data());
    until("it goes on", || asked() > before + 20);
    drop(server);
    let server = Server::start(&folder.data());
    // The next run begins when the first one is seen, not as soon as it ends.
    (slow["interval_seconds"], slow["rate"]) = (json!(3_600), Value::Null);
    put(&server, &slow);
    let first = ended(&server, 1);
    assert_eq!(first["added"], 200, "{first}");
    slow["interval_seconds"] = json!(1);
    put(&server, &slow);
    until("it is due again", || {
        get(&server, "/v1/sources/it")["run"]["number"].as_u64() > Some(1)
    });
    send(&server, "DELETE", "/v1/sources/it", &Value::Null);
    until("a removed source stops", is_left);
    let twice: usize = site
        .count()
        .iter()
        .filter(|(path, _)| path.starts_with("/book"))
        .filter(|(_, times)| **times > 3)
        .count();
    assert_eq!(twice, 0, "{:?}", site.count());
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn a_watched_folder_is_followed_by_a_server() {
    let folder = Folder::new();
    folder.file("books/a.txt", prose(0, 600));
    let server = Server::start(&folder.data());
    let books = folder.path("books");
    let source = json!({ "kind": "folder", "url": books, "library": "lib", "rights": "free", "on_missing": "disable" });
    put(&server, &source);
    let has = |id: &str, disabled: bool| {
        let (status, book) = send(
            &server,
            "GET",
            &format!("/v1/libraries/lib/books/{id}"),
            &Value::Null,
        );
        status == 200 && book["standing"]["disabled_at"].is_string() == disabled
    };
    until("it is read", || has("a.txt", false));
    folder.file("books/deep/er/b.txt", prose(1, 600));
    until("a new file is seen", || has("deep/er/b.txt", false));
    fs::remove_file(books.join("a.txt")).expect("it is there");
    until("a file that is gone is seen", || has("a.txt", true));
    // That files were read is no change.
    until("it rests", || {
        get(&server, "/v1/sources/it")["state"] == "idle"
    });
    thread::sleep(Duration::from_secs(3));
    let runs = get(&server, "/v1/sources/it")["run"]["number"]
        .as_u64()
        .expect("a number");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(get(&server, "/v1/sources/it")["run"]["number"], runs);
    // Another folder takes its place.
    fs::rename(&books, folder.path("old")).expect("it is there");
    folder.file("books/deep/er/b.txt", prose(1, 600));
    folder.file("books/c.txt", prose(2, 600));
    until("another folder is watched", || has("c.txt", false));
    folder.file("books/d.txt", prose(3, 600));
    until("a new file is seen there", || has("d.txt", false));
    assert_eq!(server.stop(), Some(0));
}

/// Two lists of two sites lead to the same third site.
#[test]
fn a_host_is_asked_one_thing_at_a_time_by_all_sources() {
    const PAUSE: Duration = Duration::from_millis(50);
    let (host, folder) = (Site::new(), Folder::new());
    host.books(0..24);
    let server = Server::start(&folder.data());
    let lists = [0..12, 12..24].map(|numbers| {
        let site = Site::new();
        site.set("/list.txt", host.list(numbers));
        site
    });
    for (number, site) in lists.iter().enumerate() {
        let source = json!({ "kind": "sitemap", "url": format!("{}/list.txt", site.url), "library": "lib", "rights": "free",
                             "allow_private": true, "rate": "20/s", "interval_seconds": 86_400 });
        assert_eq!(
            send(&server, "PUT", &format!("/v1/sources/s{number}"), &source).0,
            201
        );
    }
    for number in 0..2 {
        until("it ends", || {
            get(&server, &format!("/v1/sources/s{number}"))["run"]["finished_at"].is_string()
        });
    }
    assert_eq!(
        host.count().values().sum::<usize>(),
        25,
        "each book once, and robots.txt once: {:?}",
        host.count()
    );
    let mut times = host.times.lock().expect("no panic").clone();
    times.sort();
    for pair in times.windows(2) {
        assert!(pair[1].0.duration_since(pair[0].1) >= PAUSE, "{pair:?}");
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_long_list_is_stopped_in_its_middle() {
    const LINES: u64 = 20_000;
    let folder = Folder::new();
    let lines: Vec<String> = (0..LINES)
        .map(|line| json!({ "address": format!("nowhere:{line}") }).to_string())
        .collect();
    let list = folder.file("list.ndjson", lines.join("\n"));
    let server = Server::start(&folder.data());
    put(
        &server,
        &json!({ "kind": "list", "url": list, "library": "lib", "rights": "free", "allow_private": true }),
    );
    send(&server, "POST", "/v1/sources/it/run", &Value::Null);
    let shown = || get(&server, "/v1/sources/it");
    until("it is read", || shown()["queued"].as_u64() > Some(1_000));
    for _ in 0..3 {
        send(
            &server,
            "PATCH",
            "/v1/sources/it",
            &json!({ "paused": true }),
        );
        let mut before = Value::Null;
        until("it stops", || {
            thread::sleep(Duration::from_millis(300));
            let now = json!([shown()["queued"], shown()["run"]["refused"]]);
            now == std::mem::replace(&mut before, now.clone())
        });
        send(
            &server,
            "PATCH",
            "/v1/sources/it",
            &json!({ "paused": false }),
        );
        until("it goes on", || {
            shown()["state"] == "running" || shown()["run"]["finished_at"].is_string()
        });
    }
    assert_eq!(
        counted(&ended(&server, 1)),
        [0, 0, 0, LINES],
        "each line was counted once"
    );
    assert_eq!(shown()["queued"], 0);
    // Much is known of it, and is cleared bit by bit before another source can have its name.
    assert_eq!(
        send(&server, "DELETE", "/v1/sources/it", &Value::Null).0,
        204
    );
    assert_eq!(send(&server, "GET", "/v1/sources/it", &Value::Null).0, 404);
    let again = json!({ "kind": "list", "url": list, "library": "lib", "rights": "free", "allow_private": true, "max_urls": 5 });
    until("it is cleared", || {
        let (status, problem) = send(&server, "PUT", "/v1/sources/it", &again);
        assert!(
            status == 201 || problem["code"] == "source_exists",
            "{problem}"
        );
        status == 201
    });
    assert_eq!(
        (&shown()["run"], &shown()["queued"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(get(&server, "/v1/sources/it/errors")["errors"], json!([]));
    send(&server, "POST", "/v1/sources/it/run", &Value::Null);
    assert_eq!(
        counted(&ended(&server, 1)),
        [0, 0, 0, 4],
        "nothing is known of what the other one fetched"
    );
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for() {
    let site = Site::new();
    site.books(0..1);
    site.set("/list.txt", site.list(0..3));
    let never = |body: &str| Answer {
        status: NEVER,
        ..found(body)
    };
    site.set(
        "/book1.txt",
        never("HTTP/1.1 200 OK\r\n\r\nThis has no end, and "),
    );
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    put(&server, &listed(&site));
    let waits = || until("it waits", || site.waiting() == 1);
    let gives_up = || until("it gives up", || site.waiting() == 0);
    let is_as_before = || {
        until("what was fetched before is written", || {
            get(&server, "/v1/sources/it")["queued"] == 2
        });
        assert_eq!(
            get(&server, "/v1/sources/it/errors")["errors"],
            json!([]),
            "it is no failure of the address"
        );
    };
    send(&server, "POST", "/v1/sources/it/run", &Value::Null);
    waits();
    send(
        &server,
        "PATCH",
        "/v1/sources/it",
        &json!({ "paused": true }),
    );
    gives_up();
    is_as_before();
    site.set("/book1.txt", never("HTTP/1.1 "));
    send(
        &server,
        "PATCH",
        "/v1/sources/it",
        &json!({ "paused": false }),
    );
    waits();
    assert_eq!(server.stop(), Some(0));
    gives_up();
    let server = Server::start(&folder.data());
    waits();
    assert_eq!(
        send(&server, "DELETE", "/v1/sources/it", &Value::Null).0,
        204
    );
    gives_up();
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn no_key_keeps_others_from_testing_their_sources() {
    let (site, folder) = (Site::new(), Folder::new());
    site.books(0..1);
    site.set("/list.txt", site.list(0..1));
    site.set(
        "/slow",
        Answer {
            status: NEVER,
            ..found("")
        },
    );
    let keys =
        ["one", "two"].map(|name| common::key(&folder.data(), &format!("--role admin {name}")));
    let server = Server::start(&folder.data());
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let send = |key: &str, method: &str, path: &str, body: &Value| {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/v1/sources/{path}", server.url));
        let request = request
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        let mut answer = agent
            .run(request.body(body.to_string()).expect("a request"))
            .expect("an answer");
        (
            answer.status().as_u16(),
            answer.body_mut().read_json::<Value>().unwrap_or_default(),
        )
    };
    for (name, path) in [("slow", "slow"), ("quick", "list.txt")] {
        let source = json!({ "kind": "sitemap", "url": format!("{}/{path}", site.url), "library": "lib", "rights": "free",
                             "allow_private": true });
        assert_eq!(send(&keys[0], "PUT", name, &source).0, 201);
    }
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(send(&keys[0], "POST", "slow/test", &Value::Null).0, 200));
        until("it is tested", || site.waiting() == 1);
        let (status, problem) = send(&keys[0], "POST", "quick/test", &Value::Null);
        assert_eq!((status, &problem["code"]), (503, &json!("overloaded")));
        let (status, tested) = send(&keys[1], "POST", "quick/test", &Value::Null);
        assert_eq!(
            (status, tested["items"].as_array().map(Vec::len)),
            (200, Some(1))
        );
    });
    assert_eq!(
        send(&keys[0], "POST", "quick/test", &Value::Null).0,
        200,
        "when it is done, it may again"
    );
}

#[test]
fn a_source_is_no_way_around_a_quota() {
    const BOOKS: u64 = 150;
    let (site, folder) = (Site::new(), Folder::new());
    site.books(0..BOOKS);
    site.set("/list.txt", site.list(0..BOOKS));
    let [admin, limited] = ["boss", "limited --quota 80/day"]
        .map(|key| common::key(&folder.data(), &format!("--role admin {key}")));
    let server = Server::start(&folder.data());
    assert_eq!(
        send_with(&server, &limited, "PUT", "/v1/sources/it", &listed(&site)).0,
        201
    );
    assert_eq!(
        send_with(
            &server,
            &limited,
            "POST",
            "/v1/sources/it/run",
            &Value::Null
        )
        .0,
        202
    );
    let shown = || send_with(&server, &admin, "GET", "/v1/sources/it", &Value::Null).1;
    until("it stops", || shown()["error"].is_string());
    let stopped = shown();
    assert!(
        stopped["error"]
            .as_str()
            .is_some_and(|error| error.contains("quota of the key \"limited\"")),
        "{stopped}"
    );
    assert!(
        stopped["next_run_at"]
            .as_str()
            .is_some_and(|next| next.ends_with("T00:00:00Z")),
        "{stopped}"
    );
    // 64 books are in flight at a time.
    let fetched = stopped["run"]["fetched"].as_u64().expect("a number");
    assert!((78..78 + 64).contains(&fetched), "{stopped}");
    assert_eq!(
        send_with(&server, &limited, "GET", "/v1/sources", &Value::Null).0,
        429,
        "it is the key's own quota"
    );
    // An administrator who resumes it does not lift it, but one who defines it anew does.
    send_with(
        &server,
        &admin,
        "PATCH",
        "/v1/sources/it",
        &json!({ "rights": "free" }),
    );
    send_with(&server, &admin, "POST", "/v1/sources/it/run", &Value::Null);
    until("it stops again", || {
        shown()["state"] == "waiting" && shown()["error"].is_string()
    });
    assert_eq!(shown()["run"]["fetched"], fetched);
    send_with(&server, &admin, "PUT", "/v1/sources/it", &listed(&site));
    send_with(&server, &admin, "POST", "/v1/sources/it/run", &Value::Null);
    until("it ends", || shown()["run"]["finished_at"].is_string());
    assert_eq!(counted(&shown()["run"])[0], BOOKS);
}
