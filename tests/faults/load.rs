//! Clients of two servers, which know what every answer must be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::http::header::AUTHORIZATION;
use ureq::{Agent, Body};

use crate::common::cluster::Nodes;
use crate::common::{Random, Server, prose, run};

const CLIENTS: u64 = 4;
const BOOKS: u64 = 3;
const VERSIONS: u64 = 3;
/// Longer than a request takes without faults.
const SLOW: Duration = Duration::from_millis(300);
/// Within which the servers know of new and revoked keys.
const KNOWN: Duration = Duration::from_secs(2);
/// How long to send a request again.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// How many faults there are. Set `LAPIDARY_KILLS=50` for a thorough run.
pub fn faults(usual: u64) -> u64 {
    std::env::var("LAPIDARY_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(usual)
}

pub fn text(book: u64, version: u64) -> String {
    prose(1000 + book * VERSIONS + version, 1500)
}

/// The servers, of which some may have ended.
pub struct Servers {
    store: String,
    running: [RwLock<Server>; 2],
    /// The key of an administrator.
    key: String,
}

impl Servers {
    pub fn start(nodes: &Nodes) -> Self {
        let store = format!("redis://{}", nodes.addresses);
        let (running, key) = (
            [(); 2].map(|()| Server::start_on(&store)),
            admin_key(&store),
        );
        Self::of(store, running, &key)
    }

    /// Servers of this store that are running, and the key of an administrator.
    pub fn of(store: String, running: [Server; 2], key: &str) -> Self {
        Self {
            store,
            running: running.map(RwLock::new),
            key: key.to_owned(),
        }
    }

    pub fn restart(&self, i: usize) {
        let mut server = self.running[i].write().unwrap();
        // Ends the one before.
        *server = Server::start_on(&self.store);
    }

    /// Sends a request to a server.
    fn once(
        &self,
        agent: &Agent,
        server: u64,
        key: &str,
        (method, path, body): (&str, &str, &Value),
    ) -> Result<Response<Body>, ureq::Error> {
        let url = format!(
            "{}{path}",
            self.running[server as usize % 2].read().unwrap().url
        );
        let key = format!("Bearer {key}");
        match method {
            "PUT" => agent.put(url).header(AUTHORIZATION, key).send_json(body),
            "PATCH" => agent.patch(url).header(AUTHORIZATION, key).send_json(body),
            "DELETE" => agent.delete(url).header(AUTHORIZATION, key).call(),
            "GET" => agent.get(url).header(AUTHORIZATION, key).call(),
            _ => agent.post(url).header(AUTHORIZATION, key).send_json(body),
        }
    }

    /// Sends a request to one of the servers, only once.
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask_as(&self.key, method, path, body)
    }

    /// Removes what is at a path, if it is in this version. Returns the status.
    pub fn remove_if(&self, version: &str, path: &str) -> u16 {
        let url = format!("{}{path}", self.running[0].read().unwrap().url);
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let request = agent
            .delete(url)
            .header(AUTHORIZATION, format!("Bearer {}", self.key))
            .header("If-Match", format!("\"{version}\""));
        request.call().unwrap().status().as_u16()
    }

    pub fn ask_as(&self, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut answer = self.once(&agent, 0, key, (method, path, body)).unwrap();
        (
            answer.status().as_u16(),
            answer.body_mut().read_json().unwrap(),
        )
    }
}

/// A new key of an administrator, which all servers know.
pub fn admin_key(store: &str) -> String {
    let added = run(
        &format!("keys add --store {store} --role admin test"),
        &[] as &[&str],
    )
    .expect(0);
    sleep(KNOWN);
    added.out.lines().last().unwrap().to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    version: u64,
    disabled: bool,
}

/// A client with its books.
pub struct Client<'a> {
    servers: &'a Servers,
    agent: Agent,
    random: Random,
    pub books: BTreeMap<u64, Option<State>>,
    /// The requests that took long: when they began, and how long it took until they were answered.
    delayed: Vec<(Instant, Duration)>,
    requests: u64,
}

impl<'a> Client<'a> {
    pub fn new(servers: &'a Servers, number: u64) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(40)));
        let books = (0..BOOKS)
            .map(|book| (number * BOOKS + book, None))
            .collect();
        let agent = agent.build().new_agent();
        Self {
            servers,
            agent,
            random: Random(number),
            books,
            delayed: Vec::new(),
            requests: 0,
        }
    }

    /// Sends a request until it is answered.
    pub fn send(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send_with(&self.servers.key, method, path, body)
    }

    fn send_with(&mut self, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let since = Instant::now();
        self.requests += 1;
        loop {
            let server = self.random.below(2);
            if let Ok(mut answer) =
                self.servers
                    .once(&self.agent, server, key, (method, path, body))
            {
                let status = answer.status().as_u16();
                let retry = answer.headers().contains_key("Retry-After");
                let body = answer.body_mut().read_json::<Value>();
                match (status, body) {
                    // Others may accept the key until that is written; asked again, any server writes it.
                    (507, Ok(problem)) => {
                        assert_eq!(problem["code"], "revoked_in_memory", "{problem}");
                    }
                    (503, Ok(problem)) => {
                        assert!(retry && problem.get("verdict").is_none(), "{problem}");
                    }
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
            assert!(
                since.elapsed() < PATIENCE,
                "{method} {path} is never answered"
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// Changes one of the books or a key, and checks another book.
    pub fn act(&mut self) {
        let books: Vec<u64> = self.books.keys().copied().collect();
        let book = books[self.random.below(BOOKS) as usize];
        match self.random.below(8) {
            0 => self.add_and_revoke_key(),
            1 => self.pass_gate(book),
            _ => self.change(book),
        }
        let checked = books[self.random.below(BOOKS) as usize];
        self.check(checked);
    }

    /// Adds a book if none like it is protected. One of the same text is, if it is there and not disabled.
    fn pass_gate(&mut self, book: u64) {
        let version = self.random.below(VERSIONS);
        let body = json!({ "rights": "protected", "text": text(book, version) });
        let before = self.books[&book];
        if before
            == Some(State {
                version,
                disabled: false,
            })
        {
            let (status, answer) = self.send(
                "PUT",
                "/v1/libraries/lib/books/twin?unless=protected",
                &body,
            );
            assert_eq!(
                (status, &answer["code"]),
                (409, &json!("matches")),
                "{answer}"
            );
        } else {
            let (status, answer) = self.send(
                "PUT",
                &format!("/v1/libraries/lib/books/{book}?unless=protected"),
                &body,
            );
            assert!(
                matches!(status, 200 | 201),
                "book {book} was {before:?}: {status} {answer}"
            );
            let disabled = before.is_some_and(|state| state.disabled);
            self.books.insert(book, Some(State { version, disabled }));
        }
    }

    /// Adds a key, uses it, and revokes it. All servers know of both in time.
    fn add_and_revoke_key(&mut self) {
        let name = format!(
            "key-{}-{}",
            self.books.keys().next().unwrap(),
            self.requests
        );
        let (status, made) = self.send(
            "POST",
            "/v1/keys",
            &json!({ "name": name, "role": "check" }),
        );
        let added = Instant::now();
        // If the first answer was lost, so is the secret.
        assert!(matches!(status, 201 | 409), "{status} {made}");
        let secret = made["secret"].as_str().unwrap_or("lap_none").to_owned();
        if status == 201 {
            self.check_until(&secret, 200, 401, added + KNOWN);
        }
        let (status, answer) = self.send("DELETE", &format!("/v1/keys/{name}"), &Value::Null);
        let revoked = Instant::now();
        assert!(matches!(status, 204 | 404), "{status} {answer}");
        // Both servers, most likely.
        for _ in 0..4 {
            self.check_until(&secret, 401, 200, revoked + KNOWN);
        }
    }

    /// Checks with a key until the answer is `status`. Only requests sent before `deadline` may be answered `before`.
    fn check_until(&mut self, secret: &str, status: u16, before: u16, deadline: Instant) {
        loop {
            let asked = Instant::now();
            let answered = self
                .send_with(secret, "POST", "/v1/checks", &json!({ "text": "gems" }))
                .0;
            if answered == status {
                return;
            }
            assert!(answered == before && asked < deadline, "{answered}");
        }
    }

    /// Puts, disables or removes a book.
    fn change(&mut self, book: u64) {
        let path = format!("/v1/libraries/lib/books/{book}");
        let before = self.books[&book];
        let (version, disabled) = (self.random.below(VERSIONS), self.random.below(2) == 0);
        let (now, (status, answer)) = match (self.random.below(6), before) {
            (0, _) => (None, self.send("DELETE", &path, &Value::Null)),
            (1, Some(state)) => (
                Some(State { disabled, ..state }),
                self.send("PATCH", &path, &json!({ "disabled": disabled })),
            ),
            (_, before) => {
                let now = State {
                    version,
                    disabled: before.is_some_and(|state| state.disabled),
                };
                let body = json!({ "rights": "protected", "text": text(book, version) });
                (Some(now), self.send("PUT", &path, &body))
            }
        };
        // What is repeated finds what it has done.
        assert!(
            matches!(status, 200 | 201 | 204) || now.is_none() && status == 404,
            "{path}: {status} {answer}"
        );
        self.books.insert(book, now);
    }

    /// Asserts that a check finds a book in its state, and in no other.
    pub fn check(&mut self, book: u64) {
        let name = book.to_string();
        for version in 0..VERSIONS {
            let (status, report) = self.send(
                "POST",
                "/v1/checks",
                &json!({ "text": text(book, version) }),
            );
            assert_eq!(status, 200, "{report}");
            let expected =
                self.books[&book].is_some_and(|state| state.version == version && !state.disabled);
            let whole = |found: &&Value| {
                found["book"]["id"].as_str() == Some(&name) && found["share_of_book"] == 1.0
            };
            let found = report["matches"]
                .as_array()
                .unwrap()
                .iter()
                .any(|found| whole(&found));
            assert_eq!(
                found, expected,
                "book {book} is {:?}, version {version}: {report}",
                self.books[&book]
            );
            let verdict = if expected { "protected" } else { "unknown" };
            assert_eq!(
                report["verdict"], verdict,
                "book {book}, version {version}: {report}"
            );
        }
    }
}

/// Runs clients while `disturb` does its work, and compares the catalogue with what they know. Returns all delays.
pub fn under_load(servers: &Servers, disturb: impl FnOnce() + Send) -> Vec<(Instant, Duration)> {
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
    let states: BTreeMap<u64, Option<State>> = clients
        .iter()
        .flat_map(|client| client.books.clone())
        .collect();
    let client = &mut clients[0];
    let there = states.values().flatten().count() as u64;
    let (_, all) = client.send("GET", "/v1/stats", &Value::Null);
    assert_eq!(all["books"], there, "{all}");
    let mut told: BTreeMap<u64, String> = BTreeMap::new();
    let mut path = "/v1/audit?limit=1000".to_owned();
    loop {
        let (_, page) = client.send("GET", &path, &Value::Null);
        for entry in page["entries"].as_array().unwrap() {
            let Some(book) = entry["id"].as_str().and_then(|id| id.parse().ok()) else {
                continue;
            };
            match entry["action"].as_str().unwrap() {
                "added" => assert!(
                    told.insert(book, entry["digest"].to_string()).is_none(),
                    "{entry}"
                ),
                "replaced" => assert!(
                    told.insert(book, entry["digest"].to_string()).is_some(),
                    "{entry}"
                ),
                "removed" => assert!(told.remove(&book).is_some(), "{entry}"),
                _ => {}
            }
        }
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        path = format!("/v1/audit?limit=1000&cursor={next}");
    }
    let digest = |book: u64, state: State| {
        json!(blake3::hash(text(book, state.version).as_bytes()).to_string())
    };
    let expected = states
        .iter()
        .filter_map(|(book, state)| Some((*book, digest(*book, (*state)?).to_string())));
    assert_eq!(told, expected.collect());
    println!(
        "{} requests",
        clients.iter().map(|client| client.requests).sum::<u64>()
    );
    clients
        .into_iter()
        .flat_map(|client| client.delayed)
        .collect()
}

pub fn is_primary(nodes: &Nodes, node: usize) -> bool {
    nodes.ask(node, &["role"]).starts_with("master")
}

/// Waits until all slots are served, and every other node is a replica that has everything.
pub fn heal(nodes: &Nodes) {
    let is_well = || {
        let all = (0..nodes.count()).map(|node| {
            (
                nodes.ask(node, &["cluster", "info"]),
                nodes.ask(node, &["info", "replication"]),
            )
        });
        let all: Vec<_> = all.collect();
        let serve = all.iter().all(|(info, _)| {
            info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
        });
        let primaries = all
            .iter()
            .filter(|(_, role)| role.contains("role:master"))
            .count();
        let in_sync = all
            .iter()
            .filter(|(_, role)| role.contains("master_link_status:up"))
            .count();
        serve && primaries == 3 && primaries + in_sync == nodes.count()
    };
    let since = Instant::now();
    while !is_well() {
        assert!(
            since.elapsed() < Duration::from_mins(2),
            "the cluster does not recover"
        );
        sleep(Duration::from_millis(100));
    }
}

/// Prints how long the request waited that each fault delayed longest.
pub fn print_delays(at: &[Instant], delayed: Vec<(Instant, Duration)>) {
    let mut worst = vec![Duration::ZERO; at.len()];
    for (since, time) in delayed {
        let fault = at
            .iter()
            .rposition(|at| *at <= since + Duration::from_secs(1))
            .unwrap_or(0);
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
