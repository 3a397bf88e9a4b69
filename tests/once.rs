//! Requests that take effect once, although their clients send them again after the server was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::{Agent, http};

use crate::common::cluster::Nodes;
use crate::common::{Folder, Random, Server, command, prose};

/// How many requests of each kind are made, and the longest time until the server is killed, in microseconds.
const ROUNDS: u64 = 5;
const LONGEST: u64 = 30_000;

/// A client that has an administrator's key.
struct Client {
    agent: Agent,
    secret: String,
}

impl Client {
    /// Sends a request, with its name if it is to take effect once. `None` if there was no answer.
    fn send(&self, url: &str, request: &Request) -> Option<(u16, Value)> {
        let Request { path, name, body } = request;
        let method = if body.is_null() { "GET" } else { "POST" };
        let mut sent = http::Request::builder()
            .method(method)
            .uri(format!("{url}{path}"))
            .header("X-Api-Key", &self.secret)
            .header("Content-Type", "application/json");
        if !name.is_empty() {
            sent = sent.header("Idempotency-Key", name);
        }
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut answer = self.agent.run(sent.body(body).expect("a request")).ok()?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().read_to_string().ok()?;
        Some((status, serde_json::from_str(&body).unwrap_or_default()))
    }

    fn get(&self, url: &str, path: &str) -> Value {
        let request = Request {
            path: path.to_owned(),
            name: String::new(),
            body: Value::Null,
        };
        let (status, answer) = self.send(url, &request).expect("an answer");
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

struct Request {
    path: String,
    name: String,
    body: Value,
}

/// A request that is made once.
fn once(path: &str, random: &mut Random, body: Value) -> Request {
    let name = format!(
        "{:016x}{:016x}",
        random.below(u64::MAX),
        random.below(u64::MAX)
    );
    Request {
        path: path.to_owned(),
        name,
        body,
    }
}

/// A body that asks for something else.
fn changed(body: &Value) -> Value {
    let others = [
        ("name", json!("other")),
        ("overlap_seconds", json!(60)),
        ("kind", json!("compact")),
        ("reason", json!("other")),
    ];
    let mut body = body.clone();
    for (field, other) in others {
        if body.get(field).is_some() {
            body[field] = other;
        }
    }
    body
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_mins(1)))
        .build()
        .into()
}

/// Sends a request to a server that is killed at some time, and then to others until one answers. Returns the answer, and the
/// server that gave it.
fn insisted(
    start: &dyn Fn() -> Server,
    mut server: Server,
    client: &Client,
    request: &Request,
    random: &mut Random,
) -> (Server, Value) {
    for _ in 0..2 {
        let (url, wait) = (server.url.clone(), random.below(LONGEST));
        scope(|scope| {
            scope.spawn(|| client.send(&url, request));
            sleep(Duration::from_micros(wait));
            drop(server);
        });
        server = start();
    }
    for _ in 0..2_400 {
        let (status, answer) = client.send(&server.url, request).expect("an answer");
        // A killed server may be answering still, as far as the others know, and the job before may still run.
        let waits = ["request_runs", "job_runs", "changed_meanwhile"];
        if answer["code"]
            .as_str()
            .is_some_and(|code| waits.contains(&code))
        {
            sleep(Duration::from_millis(50));
            continue;
        }
        assert!(
            (200..300).contains(&status),
            "{}: {status} {answer}",
            request.path
        );
        return (server, answer);
    }
    panic!("{} is not answered", request.path);
}

/// Makes a request of each kind until it is answered, with a server of its own. Returns the number of the job.
fn one_round(start: &dyn Fn() -> Server, client: &Client, round: u64) -> u64 {
    let mut random = Random(5 + round);
    let mut server = start();
    let shop = format!("shop{round}");
    let text = prose(round, 300);
    let asked = [
        once(
            "/v1/keys",
            &mut random,
            json!({ "name": shop, "role": "check" }),
        ),
        once(
            &format!("/v1/keys/{shop}/rotate"),
            &mut random,
            json!({ "overlap_seconds": 90_000 }),
        ),
        once(
            "/v1/checks",
            &mut random,
            json!({ "text": text, "record": true, "name": format!("file{round}") }),
        ),
        once("/v1/jobs", &mut random, json!({ "kind": "verify" })),
    ];
    let mut answers = Vec::new();
    for request in &asked {
        let answer;
        (server, answer) = insisted(start, server, client, request, &mut random);
        answers.push(answer);
    }
    let filed = answers[2]["filed"].as_str().expect("an id").to_owned();
    let ruling =
        json!({ "check": filed, "ruling": "accepted", "reason": format!("round {round}") });
    let ruling = once("/v1/decisions", &mut random, ruling);
    let decided;
    (server, decided) = insisted(start, server, client, &ruling, &mut random);
    // The same request gets the same answer, and another with its name none.
    for (request, answer) in asked
        .iter()
        .chain([&ruling])
        .zip(answers.iter().chain([&decided]))
    {
        let (_, again) = client.send(&server.url, request).expect("an answer");
        assert_eq!(again, *answer, "{}", request.path);
        let other = Request {
            path: request.path.clone(),
            name: request.name.clone(),
            body: changed(&request.body),
        };
        let (status, problem) = client.send(&server.url, &other).expect("an answer");
        assert_eq!(
            (status, &problem["code"]),
            (422, &json!("idempotency_key_reused")),
            "{}",
            request.path
        );
    }
    answers[3]["id"].as_u64().expect("a number")
}

/// A client that has the first key of a store.
fn first_client(server: &Server) -> Client {
    let nobody = Client {
        agent: agent(),
        secret: "none".to_owned(),
    };
    let boss = json!({ "name": "boss", "role": "admin" });
    let boss = once("/v1/keys", &mut Random(5), boss);
    let (_, boss) = nobody.send(&server.url, &boss).expect("an answer");
    Client {
        secret: boss["secret"].as_str().expect("a secret").to_owned(),
        ..nobody
    }
}

/// Checks what the requests of all rounds left, which began these jobs.
fn each_was_done_once(server: &Server, client: &Client, jobs: &BTreeSet<u64>) {
    let keys = client.get(&server.url, "/v1/keys?limit=1000");
    let mut by_name = BTreeMap::<&str, u64>::new();
    for key in keys["keys"].as_array().expect("keys") {
        *by_name
            .entry(key["name"].as_str().expect("a name"))
            .or_default() += 1;
    }
    assert_eq!(by_name.remove("boss"), Some(1));
    // Each was made once, and rotated once.
    assert!(
        by_name.len() as u64 == ROUNDS && by_name.values().all(|count| *count == 2),
        "{by_name:?}"
    );
    let entries = client.get(&server.url, "/v1/decisions?limit=1000");
    assert_eq!(
        entries["decisions"].as_array().map(Vec::len),
        Some(2 * ROUNDS as usize)
    );
    let stats = client.get(&server.url, "/v1/stats");
    assert_eq!(
        stats["evidence"]["texts"], ROUNDS,
        "the texts of filed checks"
    );
    // A job that a kill interrupted goes on when another like it is asked for. No request began one that nobody knows of.
    let listed = client.get(&server.url, "/v1/jobs?limit=1000");
    let listed = listed["jobs"].as_array().expect("jobs").iter();
    let listed: BTreeSet<u64> = listed.filter_map(|job| job["id"].as_u64()).collect();
    assert_eq!(listed, *jobs);
}

#[test]
fn a_client_that_insists_leaves_one_of_each() {
    let folder = Folder::new();
    let start = || Server::start(&folder.data());
    let client = first_client(&start());
    let rounds = 0..ROUNDS;
    let jobs = rounds.map(|round| one_round(&start, &client, round));
    let jobs = jobs.collect();
    each_was_done_once(&start(), &client, &jobs);
}

#[test]
fn a_client_that_insists_leaves_one_of_each_in_a_cluster() {
    let Some(nodes) = Nodes::start(3, 1) else {
        return;
    };
    let store = format!("--store redis://{}/once", nodes.addresses);
    let start = || {
        let serve = format!("serve --listen 127.0.0.1:0 {store}");
        Server::of(command(&serve, &[] as &[&Path]))
    };
    let client = first_client(&start());
    // At once, because what a kill interrupts waits for the end of a lease.
    let jobs = scope(|scope| {
        let begin = |round| {
            let (start, client) = (&start, &client);
            scope.spawn(move || one_round(start, client, round))
        };
        let rounds: Vec<_> = (0..ROUNDS).map(begin).collect();
        let rounds = rounds.into_iter();
        rounds.map(|round| round.join().expect("a round")).collect()
    });
    each_was_done_once(&start(), &client, &jobs);
}

#[test]
fn a_file_of_another_name_or_encoding_is_another_request() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let form = |boundary: &str, name: &str| {
        let kind = format!("multipart/form-data; boundary={boundary}");
        let disposition = format!("form-data; name=\"file\"; filename=\"{name}\"");
        let body = format!(
            "--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n{}\r\n--{boundary}--\r\n",
            prose(1, 300)
        );
        (kind, body)
    };
    let text = |kind: &str| (kind.to_owned(), prose(1, 300));
    let table = [
        (form("x", "a.txt"), form("y", "a.txt"), form("x", "b.txt")),
        (
            text("text/plain; charset=utf-8"),
            text("text/plain; charset=utf-8"),
            text("text/plain; charset=koi8-r"),
        ),
    ];
    for (number, (first, same, other)) in table.into_iter().enumerate() {
        let send = |(kind, body): (String, String)| {
            let request = agent()
                .post(format!("{}/v1/checks?record=true", server.url))
                .header("Idempotency-Key", format!("{number:016}"))
                .header("Content-Type", kind);
            let mut answer = request.send(body).expect("an answer");
            let status = answer.status().as_u16();
            let report: Value = answer.body_mut().read_json().expect("JSON");
            (status, report["filed"].clone())
        };
        let filed = send(first);
        assert_eq!(filed.0, 200, "{number}");
        assert_eq!(send(same), filed);
        assert_eq!(send(other).0, 422, "{number}");
    }
}

/// A recipe with a new secret is another one each time, unless the request has a name.
#[test]
fn a_secret_of_a_recipe_is_drawn_once() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let send = |name: &str, recipe: &str| {
        let request = agent()
            .post(format!("{}/v1/recipes?recipe={recipe}", server.url))
            .header("Idempotency-Key", name)
            .content_type("text/plain");
        let mut answer = request.send("").expect("an answer");
        let status = answer.status().as_u16();
        let place = answer.headers().get("location").cloned();
        let answer: Value = answer.body_mut().read_json().expect("JSON");
        (status, place, answer["recipe"].clone())
    };
    let (first, second) = ("0123456789abcdef", "another name of it");
    let added = send(first, "hardened@new-secret");
    assert_eq!(added.0, 201, "{added:?}");
    assert_eq!(send(first, "hardened@new-secret"), added);
    let other = send(second, "hardened@new-secret");
    assert_eq!(other.0, 201, "{other:?}");
    assert_ne!(other.2, added.2);
    assert_eq!(send(first, "documented").0, 422);
    assert_eq!(send("a name of its own", "documented").0, 201);
    assert_eq!(send("and of the next one", "documented").0, 200);
}

#[test]
fn names_of_requests_that_are_refused() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client {
        agent: agent(),
        secret: "none".to_owned(),
    };
    for name in ["short", &"x".repeat(256)] {
        let request = Request {
            path: "/v1/jobs".to_owned(),
            name: name.to_owned(),
            body: json!({ "kind": "verify" }),
        };
        let (status, problem) = client.send(&server.url, &request).expect("an answer");
        assert_eq!(
            (status, &problem["code"]),
            (400, &json!("bad_idempotency_key"))
        );
    }
}
