//! Several servers that share one catalogue in a cluster.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::common::cluster::Nodes;
use crate::common::hook::Hook;
use crate::common::watched::{Call, Stop, Watched};
use crate::common::{Server, prose, run, until};
use lapidary_catalogue::api::{AddOutcome, MadeKey, NewKey};
use lapidary_catalogue::permission::Role;
use lapidary_catalogue::{Catalogue, CatalogueError, Content, Gate, NewEntry, OnceRequest, Terms};
use lapidary_store::{Actor, BookKey, Rights};
use lapidary_store_redis::{ClusterAddress, ClusterStore};
use serde_json::{Value, json};
use ureq::Agent;

/// The address of a new catalogue.
fn catalogue() -> Option<String> {
    static NODES: OnceLock<Option<Nodes>> = OnceLock::new();
    static CATALOGUES: AtomicU32 = AtomicU32::new(0);
    let nodes = NODES.get_or_init(|| Nodes::start(3, 1)).as_ref()?;
    Some(format!(
        "redis://{}/servers{}",
        nodes.addresses,
        CATALOGUES.fetch_add(1, Ordering::Relaxed)
    ))
}

/// Two servers of a new catalogue.
fn servers(options: &str) -> Option<[Server; 2]> {
    let store = catalogue()?;
    Some([(); 2].map(|()| Server::start_on_with(options, &store)))
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_mins(1)))
        .build()
        .new_agent()
}

/// Sends JSON, with a key if there is one. Returns the status and the answer.
fn send(server: &Server, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let url = format!("{}{path}", server.url);
    let bearer = format!("Bearer {key}");
    let answer = match method {
        "GET" => agent().get(url).header("Authorization", bearer).call(),
        "DELETE" => agent().delete(url).header("Authorization", bearer).call(),
        "PUT" => agent()
            .put(url)
            .header("Authorization", bearer)
            .send_json(body),
        _ => agent()
            .post(url)
            .header("Authorization", bearer)
            .send_json(body),
    };
    let mut answer = answer.unwrap();
    (
        answer.status().as_u16(),
        answer.body_mut().read_json().unwrap_or_default(),
    )
}

fn put(server: &Server, path: &str, text: &str) -> (u16, Value) {
    let path = format!("/v1/libraries/lib/books/{path}");
    send(
        server,
        "",
        "PUT",
        &path,
        &json!({ "rights": "protected", "text": text }),
    )
}

fn books(server: &Server) -> usize {
    let (status, page) = send(server, "", "GET", "/v1/libraries/lib/books", &Value::Null);
    if status == 404 {
        0
    } else {
        page["books"].as_array().unwrap().len()
    }
}

#[test]
fn of_two_servers_that_add_what_is_not_there_one_does() {
    const CLIENTS: usize = 8;
    let Some(servers) = servers("") else { return };
    for round in 0..5 {
        let statuses: Vec<u16> = scope(|scope| {
            let upload = |client: usize| {
                let url = format!("{}/v1/libraries/lib/books/{round}", servers[client % 2].url);
                scope.spawn(move || {
                    let body = json!({ "rights": "free", "text": prose(client as u64, 600) });
                    let sent = agent()
                        .put(url)
                        .header("If-None-Match", "*")
                        .send_json(body);
                    sent.unwrap().status().as_u16()
                })
            };
            let uploads: Vec<_> = (0..CLIENTS).map(upload).collect();
            uploads
                .into_iter()
                .map(|upload| upload.join().unwrap())
                .collect()
        });
        let count = |status| statuses.iter().filter(|found| **found == status).count();
        assert_eq!((count(201), count(412)), (1, CLIENTS - 1), "{statuses:?}");
        assert_eq!(books(&servers[1]), round + 1);
    }
}

#[test]
fn of_twin_uploads_through_two_servers_one_is_added() {
    const CLIENTS: usize = 16;
    let Some(servers) = servers("") else { return };
    for round in 0..3 {
        let text = prose(round, 600);
        let statuses: Vec<u16> = scope(|scope| {
            let upload = |client: usize| {
                let (server, text) = (&servers[client % 2], &text);
                scope.spawn(move || {
                    put(server, &format!("{round}-{client}?unless=protected"), text).0
                })
            };
            let uploads: Vec<_> = (0..CLIENTS).map(upload).collect();
            uploads
                .into_iter()
                .map(|upload| upload.join().unwrap())
                .collect()
        });
        let count = |status| statuses.iter().filter(|found| **found == status).count();
        assert_eq!((count(201), count(409)), (1, CLIENTS - 1), "{statuses:?}");
        assert_eq!(books(&servers[1]), round as usize + 1);
    }
    // A server that ends in the middle of it holds up nobody for long, and leaves no twin.
    let [killed, other] = servers;
    let text = prose(9, 600);
    scope(|scope| {
        for client in 0..4 {
            let (url, text) = (
                format!(
                    "{}/v1/libraries/lib/books/x{client}?unless=protected",
                    killed.url
                ),
                &text,
            );
            scope.spawn(move || {
                agent()
                    .put(url)
                    .send_json(json!({ "rights": "protected", "text": text }))
                    .is_ok()
            });
        }
        sleep(Duration::from_millis(20));
        drop(killed);
    });
    until("the gate opens again", || {
        matches!(put(&other, "last?unless=protected", &text).0, 201 | 409)
    });
    sleep(Duration::from_millis(100));
    assert_eq!(books(&other), 4);
}

/// A gate that is slow in one server holds up no gate of another text in another, and what others add meanwhile is found.
#[test]
fn a_slow_check_holds_up_no_other_gate_and_misses_no_new_twin() {
    let Some(store) = catalogue() else { return };
    let address: ClusterAddress = store.parse().unwrap();
    let stop = Arc::new(Stop::default());
    let on_call = Arc::clone(&stop);
    let watched = Watched(
        Box::new(ClusterStore::open(&address).unwrap()),
        move |call| {
            on_call.on(call);
            Ok(())
        },
    );
    let slow = Catalogue::with_store(Box::new(watched));
    let other = Catalogue::open_cluster(&address).unwrap();
    let book = |id: &str, text: u64, gate: bool| {
        let key = BookKey {
            library: "lib".parse().unwrap(),
            id: id.parse().unwrap(),
        };
        let gate = gate.then(Gate::default);
        NewEntry {
            gate,
            ..NewEntry::new(key, Rights::Protected, Content::text(prose(text, 600)))
        }
    };
    let add = |book: NewEntry| other.by(Actor::Local).books().add(book).unwrap().outcome;
    assert_eq!(add(book("first", 1, true)), AddOutcome::Added);
    // While it checks; after that; and in its turn, in which others can add books without a gate.
    for (round, (call, but, gate)) in [
        (Call::Snapshot, 0, true),
        (Call::Audit, 0, true),
        (Call::Audit, 1, false),
    ]
    .into_iter()
    .enumerate()
    {
        for twin in [false, true] {
            let texts = 10 * (1 + round as u64) + 5 * u64::from(twin);
            let name = |what: &str| format!("{what}{texts}");
            let editor = slow.by(Actor::Local);
            let prepared = editor
                .books()
                .prepare(
                    book(&name("slow"), texts, true),
                    &editor.recipes().ensure(&[]).unwrap(),
                )
                .unwrap();
            stop.at(call, but);
            let (added, took) = scope(|scope| {
                let added = scope.spawn(|| editor.books().commit(vec![prepared]));
                stop.reached();
                let since = Instant::now();
                for i in 1..4 {
                    assert_eq!(
                        add(book(&name(&format!("other{i}-")), texts + i, gate)),
                        AddOutcome::Added
                    );
                }
                if twin {
                    assert_eq!(add(book(&name("twin"), texts, gate)), AddOutcome::Added);
                }
                let took = since.elapsed();
                stop.release();
                (added.join().unwrap(), took)
            });
            // A turn that is not ended lasts for 10 s.
            assert!(took < Duration::from_secs(5), "{call:?}: {took:?}");
            assert_eq!(
                matches!(added, Err(CatalogueError::Matches(_))),
                twin,
                "{call:?}: {added:?}"
            );
            assert_eq!(added.is_ok(), !twin, "{call:?}: {added:?}");
        }
    }
}

#[test]
fn keys_allow_lists_and_trust_are_those_of_all_servers() {
    let Some([first, second]) = servers("") else {
        return;
    };
    let text = prose(1, 600);
    assert_eq!(put(&first, "1", &text).0, 201);
    let check = |server: &Server, key: &str| {
        send(server, key, "POST", "/v1/checks", &json!({ "text": text }))
    };
    assert_eq!(check(&second, "").1["verdict"], "protected");
    let made = |server: &Server, key: &str, name: &str, role: &str| {
        let (status, made) = send(
            server,
            key,
            "POST",
            "/v1/keys",
            &json!({ "name": name, "role": role }),
        );
        assert_eq!(status, 201, "{made}");
        made["secret"].as_str().unwrap().to_owned()
    };
    let admin = made(&first, "", "admin", "admin");
    until("keys are needed everywhere", || check(&second, "").0 == 401);
    until("the key is known everywhere", || {
        check(&second, &admin).0 == 200
    });
    let shop = made(&second, &admin, "shop", "check");
    until("the key is known everywhere", || {
        check(&first, &shop).0 == 200
    });
    let twin = send(
        &first,
        &admin,
        "POST",
        "/v1/keys",
        &json!({ "name": "shop", "role": "check" }),
    );
    assert_eq!((twin.0, &twin.1["code"]), (409, &json!("key_exists")));
    let allowed = send(
        &second,
        &admin,
        "PUT",
        "/v1/allow-lists/it",
        &json!({ "text": text }),
    );
    assert_eq!(allowed.0, 201, "{}", allowed.1);
    until("what is allowed is allowed everywhere", || {
        check(&first, &shop).1["verdict"] == "unknown"
    });
    assert_eq!(
        send(&first, &admin, "DELETE", "/v1/allow-lists/it", &Value::Null).0,
        204
    );
    until("what is forbidden is forbidden everywhere", || {
        check(&second, &shop).1["verdict"] == "protected"
    });
    let trust = |server: &Server, trusted: bool| {
        let said = json!({ "trusted": trusted });
        assert_eq!(
            send(server, &admin, "PUT", "/v1/libraries/lib/trust", &said).0,
            200
        );
    };
    trust(&first, false);
    until("who is not trusted is trusted nowhere", || {
        check(&second, &shop).1["reason"] == "none_decides"
    });
    trust(&second, true);
    until("who is trusted is trusted everywhere", || {
        check(&first, &shop).1["verdict"] == "protected"
    });
    // A revoked key stays revoked, also when another server that knew it notes how often it was used.
    assert_eq!(
        send(&first, &admin, "DELETE", "/v1/keys/shop", &Value::Null).0,
        204
    );
    until("the key is revoked everywhere", || {
        check(&second, &shop).0 == 401
    });
    sleep(Duration::from_secs(3));
    let (_, keys) = send(&first, &admin, "GET", "/v1/keys", &Value::Null);
    assert!(!keys.to_string().contains("shop"), "{keys}");
}

#[test]
fn limits_are_those_of_all_servers_together() {
    let Some(servers) = servers("") else { return };
    let new = |name: &str, limits: Value| {
        let mut new =
            json!({ "name": name, "role": if limits.is_null() { "admin" } else { "check" } });
        new.as_object_mut()
            .unwrap()
            .extend(limits.as_object().cloned().unwrap_or_default());
        new
    };
    let (_, admin) = send(
        &servers[0],
        "",
        "POST",
        "/v1/keys",
        &new("admin", Value::Null),
    );
    let admin = admin["secret"].as_str().unwrap();
    for limits in [json!({ "quota": "30/day" }), json!({ "rate": "30/h" })] {
        let (status, made) = send(
            &servers[0],
            admin,
            "POST",
            "/v1/keys",
            &new(&limits.to_string(), limits.clone()),
        );
        assert_eq!(status, 201, "{made}");
        let key = made["secret"].as_str().unwrap();
        let check = |server: usize| {
            send(
                &servers[server],
                key,
                "POST",
                "/v1/checks",
                &json!({ "gems": [1] }),
            )
            .0
        };
        until("the key is known everywhere", || check(1) != 401);
        let statuses: Vec<u16> = scope(|scope| {
            let check = &check;
            let some = (0..8).map(|client| {
                scope.spawn(move || (0..10).map(|_| check(client % 2)).collect::<Vec<_>>())
            });
            let all: Vec<_> = some.collect();
            all.into_iter()
                .flat_map(|some| some.join().unwrap())
                .collect()
        });
        let allowed = statuses.iter().filter(|status| **status != 429).count();
        assert!((27..=33).contains(&(allowed + 1)), "{limits}: {statuses:?}");
    }
}

/// The first checks that are filed name the catalogue, in whichever server.
#[test]
fn a_catalogue_has_one_id() {
    let Some(servers) = servers("") else { return };
    let ids: BTreeSet<String> = scope(|scope| {
        let file = |client: usize| {
            let server = &servers[client % 2];
            let (status, report) = send(
                server,
                "",
                "POST",
                "/v1/checks",
                &json!({ "text": "a", "record": true }),
            );
            assert_eq!(status, 200, "{report}");
            let path = format!("/v1/decisions/{}", report["filed"].as_str().unwrap());
            let (_, entry) = send(server, "", "GET", &path, &Value::Null);
            entry["filed"]["catalogue_id"].as_str().unwrap().to_owned()
        };
        let all: Vec<_> = (0..8)
            .map(|client| scope.spawn(move || file(client)))
            .collect();
        all.into_iter().map(|id| id.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 1, "{ids:?}");
}

/// Clients without a key share what their address may do, and so do attempts to sign in.
#[test]
fn limits_by_address_are_those_of_all_servers_together() {
    let Some(servers) = servers("--keyless-rate 10/h") else {
        return;
    };
    let (_, admin) = send(
        &servers[0],
        "",
        "POST",
        "/v1/keys",
        &json!({ "name": "admin", "role": "admin" }),
    );
    assert!(admin["secret"].is_string(), "{admin}");
    let form = |server: &Server, path: &str, name: &str| {
        let url = format!("{}{path}", server.url);
        let post = agent()
            .post(&url)
            .header("Origin", &server.url)
            .header("Sec-Fetch-Site", "same-origin");
        post.send_form([(name, "1")]).unwrap().status().as_u16()
    };
    until("keys are needed everywhere", || {
        send(&servers[1], "", "GET", "/v1/stats", &Value::Null).0 == 401
    });
    for (path, name, refused, limit) in [
        ("/copyright_check_by_gems/", "gems", 429, 10),
        ("/console/sign-in", "key", 429, 20),
    ] {
        let statuses: Vec<u16> = (0..2 * limit)
            .map(|i| form(&servers[i % 2], path, name))
            .collect();
        let allowed = statuses.iter().filter(|status| **status != refused).count();
        assert!(
            (limit..=limit + 1).contains(&allowed),
            "{path}: {statuses:?}"
        );
    }
    // A key that is valid signs in as often as that, too.
    let secret = admin["secret"].as_str().unwrap();
    let sign_in = |server: &Server| {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .new_agent();
        let post = agent
            .post(format!("{}/console/sign-in", server.url))
            .header("Origin", &server.url);
        let post = post.header("Sec-Fetch-Site", "same-origin");
        post.send_form([("key", secret)]).unwrap().status().as_u16()
    };
    let statuses: Vec<u16> = (0..40).map(|i| sign_in(&servers[i % 2])).collect();
    let allowed = statuses.iter().filter(|status| **status == 303).count();
    assert!((20..=21).contains(&allowed), "{statuses:?}");
}

#[test]
fn a_job_goes_on_in_another_server() {
    let Some([first, second]) = servers("") else {
        return;
    };
    let text = prose(1, 600);
    assert_eq!(put(&first, "1", &text).0, 201);
    let post = |server: &Server, path: &str, body: Value| send(server, "", "POST", path, &body);
    let state = |server: &Server, id: u64| {
        let (_, job) = send(server, "", "GET", &format!("/v1/jobs/{id}"), &Value::Null);
        job["state"].as_str().unwrap_or_default().to_owned()
    };
    // The job waits for texts, so it does not end by itself.
    let waits = json!({ "kind": "reindex", "recipe": "documented", "from": "sources" });
    let (status, job) = post(&first, "/v1/jobs", waits.clone());
    assert_eq!((status, &job["id"]), (202, &json!(1)), "{job}");
    for server in [&first, &second] {
        let (status, problem) = post(server, "/v1/jobs", waits.clone());
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("job_runs")),
            "{problem}"
        );
    }
    // Anyone can cancel it, and it stays cancelled.
    assert_eq!(
        send(&second, "", "POST", "/v1/jobs/1/cancel", &Value::Null).0,
        202
    );
    until("it ends where it runs", || state(&first, 1) == "cancelled");
    let (status, job) = post(&first, "/v1/jobs", waits);
    assert_eq!((status, &job["id"]), (202, &json!(2)), "{job}");
    drop(first);
    let recut = |text: &str| {
        let url = format!("{}/v1/libraries/lib/recut/1", second.url);
        agent()
            .post(url)
            .content_type("text/plain")
            .send(text)
            .unwrap()
            .status()
            .as_u16()
    };
    until("the recipe is there", || recut(&text) == 200);
    until("the other server ends it", || {
        state(&second, 2) != "running"
    });
    let (_, job) = send(&second, "", "GET", "/v1/jobs/2", &Value::Null);
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(state(&second, 1), "cancelled");
    let (_, all) = send(&second, "", "GET", "/v1/stats", &Value::Null);
    assert_eq!(all["recipes"][0]["recipe"], "documented", "{all}");
}

/// A job does not fail because a part of the store cannot be read for a while.
#[test]
fn a_job_outlasts_a_node_that_does_not_answer() {
    let Some(nodes) = Nodes::start(3, 0) else {
        return;
    };
    let server = Server::start_on(&format!("redis://{}", nodes.addresses));
    let text = prose(1, 600);
    assert_eq!(put(&server, "1", &text).0, 201);
    // The job waits for texts.
    let waits = json!({ "kind": "reindex", "recipe": "documented", "from": "sources" });
    let (status, begun) = send(&server, "", "POST", "/v1/jobs", &waits);
    assert_eq!(status, 202, "{begun}");
    let job = || send(&server, "", "GET", "/v1/jobs/1", &Value::Null).1;
    until("it has begun", || job()["total"] == 1);
    // A node without the totals, so that the job can still be read.
    let has_totals = |node| {
        let keys = nodes.ask(node, &["--scan", "--pattern", "*meta*totals"]);
        !keys.is_empty()
    };
    let silent = (0..nodes.count()).find(|node| !has_totals(*node));
    let silent = silent.expect("a node without totals");
    nodes.signal(silent, "-STOP");
    // Longer than its lease lasts, and than a job then waits for a node.
    sleep(Duration::from_secs(42));
    assert_eq!(job()["state"], "running", "{}", job());
    nodes.signal(silent, "-CONT");
    let recut = || {
        let url = format!("{}/v1/libraries/lib/recut/1", server.url);
        let sent = agent().post(url).content_type("text/plain").send(&text);
        sent.unwrap().status().as_u16()
    };
    until("its text is taken", || recut() == 200);
    until("it ends", || job()["state"] != "running");
    assert_eq!(job()["state"], "done", "{}", job());
}

/// A server that is stopped for longer than its lease changes nothing of its job afterwards, which another has done.
#[test]
fn a_server_that_was_stopped_in_its_job_changes_no_recipe() {
    let Some([first, second]) = servers("") else {
        return;
    };
    let text = prose(1, 600);
    assert_eq!(put(&first, "1", &text).0, 201);
    let get = |path: &str| send(&second, "", "GET", path, &Value::Null).1;
    let recipes = || {
        let stats = get("/v1/stats");
        let recipes = stats["recipes"].as_array().unwrap().iter();
        let names = recipes.map(|recipe| recipe["recipe"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let start = |server: &Server, job: Value| send(server, "", "POST", "/v1/jobs", &job).0;
    let is_done = |id: u32| get(&format!("/v1/jobs/{id}"))["state"] == "done";
    let before = recipes();
    // It asks for texts again and again, and becomes the default once it has them.
    let job = json!({ "kind": "reindex", "recipe": "documented", "from": "sources" });
    assert_eq!(start(&first, job), 202);
    until("the recipe is there", || {
        recipes().contains(&"documented".to_owned())
    });
    signal(&first, "-STOP");
    let recut = agent()
        .post(format!("{}/v1/libraries/lib/recut/1", second.url))
        .content_type("text/plain");
    assert_eq!(recut.send(&text).unwrap().status(), 200);
    until("the other server does it", || is_done(1));
    assert_eq!(recipes()[0], "documented");
    assert_eq!(
        start(&second, json!({ "kind": "reindex", "recipe": before[0] })),
        202
    );
    until("the default is as it was", || is_done(2));
    let then = (recipes(), get("/v1/audit"));
    assert_eq!(then.0[0], before[0]);
    signal(&first, "-CONT");
    sleep(Duration::from_secs(4));
    assert_eq!((recipes(), get("/v1/audit")), then);
}

#[test]
fn one_server_delivers_events() {
    let Some([first, second]) = servers("--private-webhooks") else {
        return;
    };
    let hook = Hook::new(&["200 OK"]);
    run(
        &format!(
            "webhooks set --server {} --library lib {}",
            first.url, hook.url
        ),
        &[] as &[&Path],
    )
    .expect(0);
    let text = prose(1, 600);
    assert_eq!(put(&first, "1", &text).0, 201);
    assert_eq!(put(&second, "2", &text).0, 201);
    let of = |event: Value| event["data"]["book"]["id"].as_str().unwrap().to_owned();
    let mut came: Vec<String> = vec![of(hook.next().json())];
    // The first book matches only if the second was there when it was its turn.
    if came == ["1"] {
        came.push(of(hook.next().json()));
    }
    assert_eq!(came.last().unwrap(), "2");
    hook.is_left_alone();
    // If it ends, the other one goes on.
    drop(first);
    assert_eq!(put(&second, "3", &text).0, 201);
    assert_eq!(of(hook.next().json()), "3");
    hook.is_left_alone();
}

#[test]
fn statistics_have_the_nodes() {
    let Some([server, _other]) = servers("") else {
        return;
    };
    let (_, stats) = send(&server, "", "GET", "/v1/stats", &Value::Null);
    let nodes = stats["cluster"]["nodes"].as_array().expect("nodes");
    let primaries: Vec<bool> = nodes
        .iter()
        .map(|node| node["primary"].as_bool().expect("a boolean"))
        .collect();
    assert_eq!(
        primaries,
        [true, true, true, false, false, false],
        "{stats}"
    );
    let memory = |node: &Value| node["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0);
    assert!(
        nodes.iter().all(memory) && nodes[0]["replicas"] == 1,
        "{stats}"
    );
    let page = agent()
        .get(format!("{}/console/statistics", server.url))
        .header("Accept", "text/html")
        .call();
    let page = page
        .expect("an answer")
        .body_mut()
        .read_to_string()
        .expect("a page");
    assert!(
        nodes
            .iter()
            .all(|node| page.contains(node["address"].as_str().expect("an address"))),
        "{page}"
    );
}

/// A browser that a load balancer sends to one server and then to another.
#[test]
fn who_signs_in_at_one_server_is_signed_in_at_all() {
    let Some([first, second]) = servers("") else {
        return;
    };
    let made = |name: &str, role: &str, key: &str| {
        let new = json!({ "name": name, "role": role });
        send(&first, key, "POST", "/v1/keys", &new).1["secret"]
            .as_str()
            .expect("a secret")
            .to_owned()
    };
    // Where nobody signs in, a form of one server is good at the other.
    let page = |server: &Server, cookie: &str, path: &str| {
        let get = agent()
            .get(format!("{}{path}", server.url))
            .config()
            .max_redirects(0)
            .build();
        let mut answer = get
            .header("Cookie", cookie)
            .header("Accept", "text/html")
            .call()
            .expect("an answer");
        (
            answer.status().as_u16(),
            answer.body_mut().read_to_string().expect("a page"),
        )
    };
    let token = |page: &str| {
        page.split_once("name=\"token\" value=\"")
            .expect("a form")
            .1[..64]
            .to_owned()
    };
    let post = |server: &Server, cookie: &str, path: &str, form: &[(&str, &str)]| {
        let post = agent()
            .post(format!("{}{path}", server.url))
            .config()
            .max_redirects(0)
            .build();
        let answer = post
            .header("Cookie", cookie)
            .header("Origin", &server.url)
            .send_form(form.iter().copied());
        let answer = answer.expect("an answer");
        let cookie = answer
            .headers()
            .get("set-cookie")
            .and_then(|cookie| cookie.to_str().ok())
            .unwrap_or_default();
        (
            answer.status().as_u16(),
            cookie.split(';').next().unwrap_or_default().to_owned(),
        )
    };
    let of_first = token(&page(&first, "", "/console/check").1);
    assert_eq!(token(&page(&second, "", "/console/check").1), of_first);

    let boss = made("boss", "admin", "");
    let shop = made("shop", "check", &boss);
    until("the keys are known everywhere", || {
        post(&second, "", "/console/sign-in", &[("key", &shop)]).0 == 303
    });
    let sign_in =
        |server: &Server, key: &str| post(server, "", "/console/sign-in", &[("key", key)]).1;
    let [boss, shop] = [sign_in(&first, &boss), sign_in(&first, &shop)];
    let is_in = |server: &Server, cookie: &str| page(server, cookie, "/console/check").0 == 200;
    assert!(
        [&boss, &shop]
            .iter()
            .all(|cookie| is_in(&first, cookie) && is_in(&second, cookie))
    );
    assert!(!is_in(&second, &boss[..boss.len() - 1]));
    // A form of a page of one server goes to another.
    let [here, there] =
        [&first, &second].map(|server| token(&page(server, &boss, "/console/check").1));
    assert_eq!(here, there);
    assert_ne!(here, token(&page(&first, &shop, "/console/check").1));
    let (_, listed) = page(&second, &boss, "/console/sessions");
    let ids: BTreeSet<&str> = listed
        .split("/console/sessions/")
        .skip(1)
        .map(|rest| &rest[..16])
        .collect();
    assert!(!ids.is_empty() && listed.contains("shop"), "{listed}");
    // Ended at one, it is over at the other within a second, and nothing that the other does revives it.
    for id in ids {
        let path = format!("/console/sessions/{id}/end");
        assert_eq!(post(&second, &boss, &path, &[("token", &here)]).0, 303);
    }
    assert!(!is_in(&second, &shop));
    until("the session is over everywhere", || !is_in(&first, &shop));
    sleep(Duration::from_millis(1_200));
    assert!(!is_in(&second, &shop) && !is_in(&first, &shop) && is_in(&first, &boss));
    // Each server shows its own figures, and says so.
    assert!(
        page(&second, &boss, "/console/statistics")
            .1
            .contains("the server that shows this page")
    );
}

/// A connection to the node that has a key of the catalogue as a whole.
fn redis_with(store: &str, key: &str) -> redis::Connection {
    let nodes = store
        .strip_prefix("redis://")
        .and_then(|rest| rest.split('/').next())
        .expect("addresses");
    let connect = |node: &str| {
        redis::Client::open(format!("redis://{node}"))
            .unwrap()
            .get_connection()
            .unwrap()
    };
    let serves = |node: &mut redis::Connection| {
        redis::cmd("HLEN")
            .arg(key)
            .query::<u64>(node)
            .is_ok_and(|rows| rows > 0)
    };
    nodes
        .split(',')
        .map(connect)
        .find_map(|mut node| serves(&mut node).then_some(node))
        .expect("a node")
}

/// Sends a signal to a server.
fn signal(server: &Server, signal: &str) {
    let pid = server.pid().to_string();
    let sent = std::process::Command::new("kill")
        .args([signal, &pid])
        .status();
    assert!(sent.unwrap().success());
}

/// Two servers of a new catalogue, without their programs.
fn catalogues() -> Option<[Catalogue; 2]> {
    let address: ClusterAddress = catalogue()?.parse().unwrap();
    Some([(); 2].map(|()| Catalogue::open_cluster(&address).unwrap()))
}

/// Begins the request that makes the key `shop`.
fn begun(catalogue: &Catalogue) -> Result<OnceRequest, CatalogueError> {
    let name = "0b9e4a52-7f6c-4c8e-9d43-1f2f3a4b5c6d";
    OnceRequest::begin(catalogue, &Actor::Local, name, "", "")
}

/// Makes the key `shop` on the terms of its request.
fn shop(catalogue: &Catalogue, terms: &Arc<Terms>) -> MadeKey {
    let editor = catalogue.by(Actor::Local).on(Arc::clone(terms));
    editor.keys().add(NewKey::new("shop", Role::Check)).unwrap()
}

#[test]
fn no_other_server_answers_a_request_that_takes_long() {
    let Some([first, second]) = catalogues() else {
        return;
    };
    let terms = Arc::new(Terms::default().once(begun(&first).unwrap()));
    let (go, wait) = mpsc::channel();
    let made = scope(|scope| {
        let (first, terms) = (&first, &terms);
        let made = scope.spawn(move || {
            terms.keep_during(|| {
                wait.recv().unwrap();
                shop(first, terms)
            })
        });
        // Longer than a lease lasts.
        sleep(Duration::from_secs(11));
        let others = begun(&second).map(drop);
        go.send(()).unwrap();
        assert!(matches!(others, Err(CatalogueError::RequestRuns)));
        made.join().unwrap()
    });
    drop(terms);
    let again = Arc::new(Terms::default().once(begun(&second).unwrap()));
    assert_eq!(shop(&second, &again), made);
}

/// The lease of a server that is stopped ends, but not its turn to change keys, if it takes that later.
#[test]
fn what_two_servers_answer_to_a_request_is_the_same() {
    let Some([first, second]) = catalogues() else {
        return;
    };
    let terms = Arc::new(Terms::default().once(begun(&first).unwrap()));
    sleep(Duration::from_secs(11));
    let later = Arc::new(Terms::default().once(begun(&second).unwrap()));
    let made = shop(&first, &terms);
    assert_eq!(shop(&second, &later), made);
}

#[test]
fn named_requests_leave_no_leases() {
    const REQUESTS: u64 = 20;
    let Some(store) = catalogue() else { return };
    let server = Server::start_on(&store);
    for request in 0..REQUESTS {
        let sent = agent()
            .post(format!("{}/v1/keys", server.url))
            .header("Idempotency-Key", format!("{request:016}"));
        // One without a name is refused, and stores nothing.
        let name = if request == 0 { "" } else { "shop" };
        let answer = sent.send_json(json!({ "name": name, "role": "check" }));
        assert!(answer.is_ok());
    }
    let leases = format!("{}{{meta}}leases", store.rsplit('/').next().unwrap());
    let left: u64 = redis::cmd("HLEN")
        .arg(&leases)
        .query(&mut redis_with(&store, &leases))
        .unwrap();
    assert!(left < REQUESTS / 2, "{left} leases");
}

/// A server that is stopped between reading the keys and writing them, for longer than its turn, writes nothing afterwards.
#[test]
fn a_server_that_was_stopped_in_its_turn_does_not_write_revoked_keys() {
    const COPIES: usize = 6_000;
    /// When to stop it, in ms from the beginning of its turn. What is too late takes no time.
    const MOMENTS: [u64; 15] = [200, 150, 110, 80, 60, 45, 35, 28, 22, 17, 13, 9, 6, 3, 0];
    let Some(store) = catalogue() else { return };
    let [first, second] = [(); 2].map(|()| Server::start_on(&store));
    let made = |server: &Server, key: &str, name: &str, role: &str| {
        let (status, made) = send(
            server,
            key,
            "POST",
            "/v1/keys",
            &json!({ "name": name, "role": role }),
        );
        assert_eq!(status, 201, "{made}");
        made
    };
    let boss = made(&first, "", "boss", "admin")["secret"]
        .as_str()
        .unwrap()
        .to_owned();
    let many = made(&first, &boss, "many", "check");
    let id = many["id"].as_str().unwrap();
    // Many keys take long to read, so that there is time to stop the server meanwhile.
    let prefix = store.rsplit('/').next().unwrap();
    let [leases, sorted, rows] =
        ["leases", "keys:key", "rows:key"].map(|name| format!("{prefix}{{meta}}{name}"));
    let mut node = redis_with(&store, &leases);
    let row: String = redis::cmd("HGET")
        .arg(&rows)
        .arg(id)
        .query(&mut node)
        .unwrap();
    for copy in 0..COPIES {
        let other = format!("{copy:08x}");
        let row = row
            .replace(id, &other)
            .replace("many", &format!("other{copy}"));
        let put = redis::cmd("HSET")
            .arg(&rows)
            .arg(&other)
            .arg(row)
            .query::<u64>(&mut node);
        assert!(
            put.is_ok()
                && redis::cmd("ZADD")
                    .arg(&sorted)
                    .arg(0)
                    .arg(&other)
                    .query::<u64>(&mut node)
                    .is_ok()
        );
    }
    let mut is_held = || {
        let lease: Option<String> = redis::cmd("HGET")
            .arg(&leases)
            .arg("settings")
            .query(&mut node)
            .unwrap();
        lease.is_some_and(|lease| !lease.starts_with('-'))
    };
    let stopped = MOMENTS
        .iter()
        .chain(&MOMENTS)
        .enumerate()
        .find_map(|(attempt, moment)| {
            let name = format!("shop{attempt}");
            let secret = made(&second, &boss, &name, "check")["secret"]
                .as_str()
                .unwrap()
                .to_owned();
            scope(|scope| {
                let path = format!("/v1/keys/{name}");
                let (rotate, overlap) =
                    (format!("{path}/rotate"), json!({ "overlap_seconds": 3600 }));
                let (server, key) = (&first, boss.as_str());
                let rotated = scope.spawn(move || send(server, key, "POST", &rotate, &overlap));
                while !is_held() && !rotated.is_finished() {
                    sleep(Duration::from_millis(1));
                }
                sleep(Duration::from_millis(*moment));
                signal(&first, "-STOP");
                sleep(Duration::from_millis(200));
                if !is_held() {
                    signal(&first, "-CONT");
                    assert_eq!(rotated.join().unwrap().0, 201);
                    return None;
                }
                until("the key can be revoked", || {
                    send(&second, &boss, "DELETE", &path, &Value::Null).0 == 204
                });
                signal(&first, "-CONT");
                let (status, answer) = rotated.join().unwrap();
                let gone = || send(&second, &boss, "GET", "/v1/keys", &Value::Null).1;
                assert!(
                    !gone().to_string().contains(&format!("\"{name}\"")),
                    "{status} {answer}"
                );
                match (status, answer["code"].as_str()) {
                    (503, Some("changed_meanwhile")) => Some((name, secret)),
                    // Stopped before it read the keys, it finds none of that name. Stopped after it wrote, it was in time.
                    (404, Some("no_such_key")) | (200 | 201, None) => None,
                    _ => panic!("{status} {answer}"),
                }
            })
        });
    let (name, secret) = stopped.expect("a server that was stopped between reading and writing");
    for server in [&first, &second] {
        let check = || {
            send(
                server,
                &secret,
                "POST",
                "/v1/checks",
                &json!({ "text": prose(1, 600) }),
            )
        };
        until("the key is revoked everywhere", || check().0 == 401);
        let (_, keys) = send(server, &boss, "GET", "/v1/keys", &Value::Null);
        assert!(!keys.to_string().contains(&format!("\"{name}\"")));
    }
}
