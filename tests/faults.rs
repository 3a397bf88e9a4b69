//! Faults of a cluster under load: nodes and servers that end or stop, slots that move, memory that is full.
//!
//! Clients put, replace, disable, remove and check books, through either of two servers. They do what the docs say: what is
//! refused with 503, or not answered, is sent again, to any server. Each has its own books, so it knows what every answer
//! must be.

mod common;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use common::cluster::Nodes;
use common::{Random, Server, prose};
use serde_json::{Value, json};
use ureq::Agent;

const CLIENTS: u64 = 4;
const BOOKS: u64 = 3;
const VERSIONS: u64 = 3;
/// Longer than a request takes without faults.
const SLOW: Duration = Duration::from_millis(300);
/// How long to send a request again.
const PATIENCE: Duration = Duration::from_secs(90);

/// How many faults there are. Set `LAPIDARY_KILLS=50` for a thorough run.
fn faults(usual: u64) -> u64 {
    std::env::var("LAPIDARY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(usual)
}

fn text(book: u64, version: u64) -> String {
    prose(1000 + book * VERSIONS + version, 1500)
}

/// The servers, of which some may have ended.
struct Servers {
    store: String,
    running: [RwLock<Server>; 2],
}

impl Servers {
    fn start(nodes: &Nodes) -> Self {
        let store = format!("redis://{}", nodes.addresses);
        let running = [(); 2].map(|()| RwLock::new(Server::start_on(&store)));
        Self { store, running }
    }

    fn restart(&self, i: usize) {
        let mut server = self.running[i].write().unwrap();
        // Ends the one before.
        *server = Server::start_on(&self.store);
    }

    fn url(&self, i: u64) -> String {
        self.running[i as usize % 2].read().unwrap().url.clone()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    version: u64,
    disabled: bool,
}

/// A client with its books.
struct Client<'a> {
    servers: &'a Servers,
    agent: Agent,
    random: Random,
    books: BTreeMap<u64, Option<State>>,
    /// The requests that took long: when they began, and how long it took until they were answered.
    delayed: Vec<(Instant, Duration)>,
    requests: u64,
}

impl<'a> Client<'a> {
    fn new(servers: &'a Servers, number: u64) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(40)));
        let books = (0..BOOKS).map(|book| (number * BOOKS + book, None)).collect();
        let agent = agent.build().new_agent();
        Self { servers, agent, random: Random(number), books, delayed: Vec::new(), requests: 0 }
    }

    /// Sends a request until it is answered.
    fn send(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let since = Instant::now();
        self.requests += 1;
        loop {
            let url = format!("{}{path}", self.servers.url(self.random.below(2)));
            let answer = match method {
                "PUT" => self.agent.put(url).send_json(body),
                "PATCH" => self.agent.patch(url).send_json(body),
                "DELETE" => self.agent.delete(url).call(),
                "GET" => self.agent.get(url).call(),
                _ => self.agent.post(url).send_json(body),
            };
            if let Ok(mut answer) = answer {
                let status = answer.status().as_u16();
                let retry = answer.headers().contains_key("Retry-After");
                let body = answer.body_mut().read_json::<Value>();
                match (status, body) {
                    (503, Ok(problem)) => assert!(retry && problem.get("verdict").is_none(), "{problem}"),
                    (_, body) if status == 204 || body.is_ok() => {
                        let body = body.unwrap_or_default();
                        if since.elapsed() > SLOW {
                            self.delayed.push((since, since.elapsed()));
                        }
                        return (status, body);
                    }
                    _ => {}
                }
            }
            assert!(since.elapsed() < PATIENCE, "{method} {path} is never answered");
            sleep(Duration::from_millis(50));
        }
    }

    /// Changes one of the books, and checks another.
    fn act(&mut self) {
        let books: Vec<u64> = self.books.keys().copied().collect();
        let book = books[self.random.below(BOOKS) as usize];
        let path = format!("/v1/libraries/lib/books/{book}");
        let before = self.books[&book];
        let (version, disabled) = (self.random.below(VERSIONS), self.random.below(2) == 0);
        let (now, (status, answer)) = match (self.random.below(6), before) {
            (0, _) => (None, self.send("DELETE", &path, &Value::Null)),
            (1, Some(state)) => {
                (Some(State { disabled, ..state }), self.send("PATCH", &path, &json!({ "disabled": disabled })))
            }
            (_, before) => {
                let now = State { version, disabled: before.is_some_and(|state| state.disabled) };
                let body = json!({ "rights": "protected", "text": text(book, version) });
                (Some(now), self.send("PUT", &path, &body))
            }
        };
        // What is repeated finds what it has done.
        assert!(matches!(status, 200 | 201 | 204) || now.is_none() && status == 404, "{path}: {status} {answer}");
        self.books.insert(book, now);
        let checked = books[self.random.below(BOOKS) as usize];
        self.check(checked);
    }

    /// Asserts that a check finds a book in its state, and in no other.
    fn check(&mut self, book: u64) {
        let name = book.to_string();
        for version in 0..VERSIONS {
            let (status, report) = self.send("POST", "/v1/checks", &json!({ "text": text(book, version) }));
            assert_eq!(status, 200, "{report}");
            let expected = self.books[&book].is_some_and(|state| state.version == version && !state.disabled);
            let whole = |found: &&Value| found["book"]["id"].as_str() == Some(&name) && found["share_of_book"] == 1.0;
            let found = report["matches"].as_array().unwrap().iter().any(|found| whole(&found));
            assert_eq!(found, expected, "book {book} is {:?}, version {version}: {report}", self.books[&book]);
            let verdict = if expected { "protected" } else { "unknown" };
            assert_eq!(report["verdict"], verdict, "book {book}, version {version}: {report}");
        }
    }
}

/// Runs clients while `disturb` does its work, and compares the catalogue with what they know. Returns all delays.
fn under_load(servers: &Servers, disturb: impl FnOnce() + Send) -> Vec<(Instant, Duration)> {
    /// Ends the work of clients, also if something has failed.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    let all = Mutex::new(Vec::new());
    scope(|scope| {
        for number in 0..CLIENTS {
            let (done, all) = (&done, &all);
            scope.spawn(move || {
                let mut client = Client::new(servers, number);
                let mut after = 0;
                while after < 5 {
                    client.act();
                    after += u64::from(done.load(Ordering::Relaxed));
                }
                all.lock().unwrap().push(client);
            });
        }
        let _done = Done(&done);
        disturb();
    });
    let mut clients = all.into_inner().unwrap();
    assert_eq!(clients.len() as u64, CLIENTS);
    for client in &mut clients {
        for book in client.books.keys().copied().collect::<Vec<_>>() {
            client.check(book);
        }
    }
    // The totals and the audit log say the same.
    let states: BTreeMap<u64, Option<State>> = clients.iter().flat_map(|client| client.books.clone()).collect();
    let client = &mut clients[0];
    let there = states.values().flatten().count() as u64;
    let (_, all) = client.send("GET", "/v1/stats", &Value::Null);
    assert_eq!(all["books"], there, "{all}");
    let mut told: BTreeMap<u64, String> = BTreeMap::new();
    let mut path = "/v1/audit?limit=1000".to_owned();
    loop {
        let (_, page) = client.send("GET", &path, &Value::Null);
        for entry in page["entries"].as_array().unwrap() {
            let Some(book) = entry["id"].as_str().and_then(|id| id.parse().ok()) else { continue };
            match entry["action"].as_str().unwrap() {
                "added" => assert!(told.insert(book, entry["digest"].to_string()).is_none(), "{entry}"),
                "replaced" => assert!(told.insert(book, entry["digest"].to_string()).is_some(), "{entry}"),
                "removed" => assert!(told.remove(&book).is_some(), "{entry}"),
                _ => {}
            }
        }
        let Some(next) = page["next"].as_u64() else { break };
        path = format!("/v1/audit?limit=1000&after={next}");
    }
    let digest = |book: u64, state: State| json!(blake3::hash(text(book, state.version).as_bytes()).to_string());
    let expected = states.iter().filter_map(|(book, state)| Some((*book, digest(*book, (*state)?).to_string())));
    assert_eq!(told, expected.collect());
    println!("{} requests", clients.iter().map(|client| client.requests).sum::<u64>());
    clients.into_iter().flat_map(|client| client.delayed).collect()
}

fn is_primary(nodes: &Nodes, node: usize) -> bool {
    nodes.ask(node, &["role"]).starts_with("master")
}

/// Waits until all slots are served, and every other node is a replica that has everything.
fn heal(nodes: &Nodes) {
    let is_well = || {
        let all = (0..nodes.count())
            .map(|node| (nodes.ask(node, &["cluster", "info"]), nodes.ask(node, &["info", "replication"])));
        let all: Vec<_> = all.collect();
        let serve =
            all.iter().all(|(info, _)| info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384"));
        let primaries = all.iter().filter(|(_, role)| role.contains("role:master")).count();
        let in_sync = all.iter().filter(|(_, role)| role.contains("master_link_status:up")).count();
        serve && primaries == 3 && primaries + in_sync == nodes.count()
    };
    let since = Instant::now();
    while !is_well() {
        assert!(since.elapsed() < Duration::from_secs(120), "the cluster does not recover");
        sleep(Duration::from_millis(100));
    }
}

/// Kills a primary, waits until a replica has taken its place, and starts it again.
fn replace(nodes: &Nodes, node: usize) {
    let id = nodes.ask(node, &["cluster", "myid"]);
    nodes.signal(node, "-KILL");
    let other = (0..nodes.count()).find(|other| *other != node && is_primary(nodes, *other)).unwrap();
    let serves = || {
        let all = nodes.ask(other, &["cluster", "nodes"]);
        let line = all.lines().find(|line| line.starts_with(&id)).unwrap_or_default().to_owned();
        // A line without slots has eight words.
        line.split(' ').count() > 8
    };
    while serves() {
        sleep(Duration::from_millis(50));
    }
    nodes.restart(node);
}

#[test]
fn what_was_acknowledged_survives_the_end_of_nodes_and_servers() {
    let Some(nodes) = Nodes::start(3, 2) else { return };
    let servers = Servers::start(&nodes);
    let mut random = Random(7);
    let mut at = Vec::new();
    let delayed = under_load(&servers, || {
        for round in 0..faults(4) {
            sleep(Duration::from_millis(300 + random.below(500)));
            let primaries: Vec<usize> = (0..nodes.count()).filter(|node| is_primary(&nodes, *node)).collect();
            let primary = primaries[random.below(primaries.len() as u64) as usize];
            at.push(Instant::now());
            match round % 4 {
                0 => replace(&nodes, primary),
                1 => servers.restart(random.below(2) as usize),
                // A primary stops for longer than the others wait, and goes on as if nothing had happened.
                2 => {
                    nodes.signal(primary, "-STOP");
                    sleep(Duration::from_millis(3500 + random.below(1500)));
                    nodes.signal(primary, "-CONT");
                }
                // A replica stops, then its primary ends, and the replica goes on.
                _ => {
                    let port = nodes.addresses.split(',').nth(primary).unwrap().rsplit(':').next().unwrap().to_owned();
                    let follows = |node: &usize| {
                        nodes.ask(*node, &["info", "replication"]).contains(&format!("master_port:{port}"))
                    };
                    let replica = (0..nodes.count()).find(follows).unwrap();
                    nodes.signal(replica, "-STOP");
                    sleep(Duration::from_millis(random.below(4000)));
                    replace(&nodes, primary);
                    nodes.signal(replica, "-CONT");
                }
            }
            heal(&nodes);
        }
    });
    // What each fault delayed longest.
    let mut worst = vec![Duration::ZERO; at.len()];
    for (since, time) in delayed {
        let fault = at.iter().rposition(|at| *at <= since + Duration::from_secs(1)).unwrap_or(0);
        worst[fault] = worst[fault].max(time);
    }
    worst.sort_unstable();
    println!(
        "{} faults: unavailable for {:.1?} (median), {:.1?} (worst)",
        at.len(),
        worst[worst.len() / 2],
        worst[worst.len() - 1]
    );
}

#[test]
fn slots_can_be_moved_under_load() {
    let Some(nodes) = Nodes::start(4, 1) else { return };
    let servers = Servers::start(&nodes);
    let ids: Vec<String> = (0..4).map(|node| nodes.ask(node, &["cluster", "myid"])).collect();
    let slots = (faults(10) * 40).min(4096).to_string();
    under_load(&servers, || {
        for (from, to) in [(3, 0), (0, 3)] {
            let first = nodes.addresses.split(',').next().unwrap();
            let reshard = || {
                Command::new("redis-cli")
                    .args(["--cluster", "reshard", first, "--cluster-from", &ids[from], "--cluster-to", &ids[to]])
                    .args(["--cluster-slots", &slots, "--cluster-yes"])
                    .output()
                    .unwrap()
            };
            // It does nothing until all nodes agree on who serves what.
            let since = Instant::now();
            let mut moved = reshard();
            while String::from_utf8_lossy(&moved.stdout).contains("[ERR] Nodes don't agree") {
                assert!(since.elapsed() < PATIENCE);
                sleep(Duration::from_millis(500));
                moved = reshard();
            }
            assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stdout));
        }
    });
}

#[test]
fn a_full_cluster_takes_nothing_and_loses_nothing() {
    let Some(nodes) = Nodes::start(3, 0) else { return };
    let servers = Servers::start(&nodes);
    let once = |method: &str, path: &str, body: &Value| {
        let agent = Agent::config_builder().http_status_as_error(false).build().new_agent();
        let url = format!("{}{path}", servers.url(0));
        let answer = if method == "PUT" { agent.put(url).send_json(body) } else { agent.post(url).send_json(body) };
        let mut answer = answer.unwrap();
        (answer.status().as_u16(), answer.body_mut().read_json::<Value>().unwrap())
    };
    let mut client = Client::new(&servers, 0);
    for _ in 0..10 {
        client.act();
    }
    let limit = |bytes: &str| (0..3).for_each(|node| drop(nodes.ask(node, &["config", "set", "maxmemory", bytes])));
    limit("1mb");
    let (status, problem) =
        once("PUT", "/v1/libraries/lib/books/x", &json!({ "rights": "protected", "text": text(99, 0) }));
    assert_eq!((status, &problem["code"]), (503, &json!("store_full")), "{problem}");
    // Checks go on, and nothing of it is there.
    for book in client.books.keys().copied().collect::<Vec<_>>() {
        client.check(book);
    }
    let (status, report) = once("POST", "/v1/checks", &json!({ "text": text(99, 0) }));
    assert_eq!((status, &report["verdict"]), (200, &json!("unknown")), "{report}");
    limit("0");
    for _ in 0..5 {
        client.act();
    }
    let body = json!({ "rights": "protected", "text": text(99, 0) });
    assert_eq!(client.send("PUT", "/v1/libraries/lib/books/x", &body).0, 201);
}

#[test]
fn without_replicas_nothing_is_acknowledged_and_checks_go_on() {
    let Some(nodes) = Nodes::start(3, 1) else { return };
    let servers = Servers::start(&nodes);
    let mut client = Client::new(&servers, 0);
    for _ in 0..10 {
        client.act();
    }
    (3..6).for_each(|replica| nodes.signal(replica, "-KILL"));
    let agent = Agent::config_builder().http_status_as_error(false).build().new_agent();
    let url = format!("{}/v1/libraries/lib/books/x", servers.url(0));
    let mut answer = agent.put(url).send_json(json!({ "rights": "protected", "text": text(99, 0) })).unwrap();
    let problem: Value = answer.body_mut().read_json().unwrap();
    assert_eq!((answer.status().as_u16(), &problem["code"]), (503, &json!("not_replicated")), "{problem}");
    for book in client.books.keys().copied().collect::<Vec<_>>() {
        client.check(book);
    }
    (3..6).for_each(|replica| nodes.restart(replica));
    client.act();
}
