//! Hostile load: clients that each try to exhaust a server's memory and time, while a good client makes small checks
//! and an administrator works. Counts responses by kind, the good client's waiting times and the administrator's
//! failures.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::makers::{loops, zip};

/// Timeout for responses to hostile requests.
const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout for responses to the good client and the administrator.
const GOOD_PATIENCE: Duration = Duration::from_secs(10);
/// How long an idle connection is held open.
const HELD: Duration = Duration::from_secs(20);

/// A server and the keys of its clients.
pub struct Target {
    pub address: String,
    /// For each hostile client N, a key for checks and one that can ingest into the library `hostile-N`.
    pub hostile: Vec<[String; 2]>,
    /// Keys of an administrator whose exports and imports stall, of the good client, and of the administrator.
    pub careless: String,
    pub good: String,
    pub admin: String,
    /// The size of large bodies, in bytes.
    pub large: usize,
    /// A gem of a book in the catalogue.
    pub gem: String,
}

/// The results.
#[derive(Default)]
pub struct Outcome {
    /// For each kind of request, how often each response was received.
    pub answers: BTreeMap<&'static str, BTreeMap<String, u64>>,
    pub good: Calls,
    pub admin: Calls,
}

/// Calls that must succeed.
#[derive(Default)]
pub struct Calls {
    pub took: Vec<Duration>,
    /// Descriptions of the failures.
    pub failed: Vec<String>,
}

impl Calls {
    /// The time within which this share of the calls completed.
    pub fn quantile(&self, part: f64) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        let at = (part * took.len() as f64).ceil() as usize;
        took.get(at.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn count(&mut self, what: &str, wanted: &[&str], begun: Instant, answer: io::Result<String>) {
        let took = begun.elapsed();
        self.took.push(took);
        match answer {
            Ok(status) if wanted.contains(&status.as_str()) => {}
            Ok(status) => self.failed.push(format!("{what}: {status} after {took:?}")),
            Err(error) => self.failed.push(format!("{what}: {error} after {took:?}")),
        }
    }
}

/// Runs the attack for this long.
pub fn attack(target: &Target, duration: Duration) -> Outcome {
    let outcome = Mutex::new(Outcome::default());
    let over = AtomicBool::new(false);
    let bodies = Bodies::new(target.large);
    thread::scope(|scope| {
        for client in 0..target.hostile.len() {
            let (over, outcome, bodies) = (&over, &outcome, &bodies);
            scope.spawn(move || {
                for kind in KINDS.iter().cycle().skip(client % KINDS.len()) {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let attacker = Attacker { target, client, bodies, over };
                    let answer = (kind.1)(&attacker).unwrap_or_else(|error| {
                        // Avoid a busy loop.
                        thread::sleep(Duration::from_millis(100));
                        format!("{:?}", error.kind())
                    });
                    let mut outcome = outcome.lock().expect("nobody panics with it");
                    *outcome.answers.entry(kind.0).or_default().entry(answer).or_default() += 1;
                }
            });
        }
        let good = scope.spawn(|| check(target, &over));
        let admin = scope.spawn(|| administer(target, &over));
        thread::sleep(duration);
        over.store(true, Ordering::Relaxed);
        let (good, admin) = (good.join().expect("no panic"), admin.join().expect("no panic"));
        let mut outcome = outcome.lock().expect("nobody panics with it");
        (outcome.good, outcome.admin) = (good, admin);
    });
    outcome.into_inner().expect("nobody panics with it")
}

/// The good client, which checks one gem at a time.
fn check(target: &Target, over: &AtomicBool) -> Calls {
    let mut calls = Calls::default();
    let body = format!("{{\"gems\":[{}]}}", target.gem);
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let answer = call(target, &target.good, "POST /v1/checks", &body);
        calls.count("a check of one gem", &["200"], begun, answer);
        thread::sleep(Duration::from_millis(20));
    }
    calls
}

/// The administrator, who lists, creates and revokes keys and asks whether the server is ready.
fn administer(target: &Target, over: &AtomicBool) -> Calls {
    let mut calls = Calls::default();
    let new = "{\"name\":\"passing\",\"role\":\"check\"}";
    let steps = [
        ("GET /v1/keys", "", "200"),
        ("POST /v1/keys", new, "201"),
        ("DELETE /v1/keys/passing", "", "204"),
        ("GET /readyz", "", "200"),
    ];
    while !over.load(Ordering::Relaxed) {
        for (what, body, wanted) in steps {
            let begun = Instant::now();
            calls.count(what, &[wanted], begun, call(target, &target.admin, what, body));
        }
        thread::sleep(Duration::from_millis(200));
    }
    calls
}

/// Sends a small request on a new connection and returns the status of the response.
fn call(target: &Target, key: &str, what: &str, body: &str) -> io::Result<String> {
    let mut stream = connect(&target.address, GOOD_PATIENCE)?;
    stream.write_all(head(what, key, "application/json", body.len()).as_bytes())?;
    stream.write_all(body.as_bytes())?;
    status(&mut stream)
}

fn connect(address: &str, patience: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn head(what: &str, key: &str, kind: &str, length: usize) -> String {
    let key = if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
    format!(
        "{what} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n{key}Content-Length: {length}\r\n\r\n"
    )
}

/// Reads a response to its end and returns its status.
fn status(stream: &mut TcpStream) -> io::Result<String> {
    let mut answer = vec![0; 16 << 10];
    let mut length = 0;
    while length < 12 {
        match stream.read(&mut answer[length..])? {
            0 => return Ok("closed".to_owned()),
            read => length += read,
        }
    }
    let status = String::from_utf8_lossy(&answer[9..12]).into_owned();
    while stream.read(&mut answer)? > 0 {}
    Ok(status)
}

/// Bodies that are sent repeatedly.
struct Bodies {
    objects: Vec<u8>,
    gems: Vec<u8>,
    ligatures: Vec<u8>,
    ideographs: Vec<u8>,
    title: Vec<u8>,
    zip: Vec<u8>,
    pdf: Vec<u8>,
}

impl Bodies {
    fn new(large: usize) -> Self {
        let wrapped = |begin: &str, part: &str, end: &str| {
            let times = large.saturating_sub(begin.len() + end.len()) / part.len();
            [begin.as_bytes(), &part.repeat(times).as_bytes()[..times * part.len() - 1], end.as_bytes()].concat()
        };
        let filled = |text: &str| text.repeat(large / text.len()).into_bytes();
        Self {
            objects: wrapped("{\"x\":[", "{\"\":0},", "]}\n"),
            gems: wrapped("{\"gems\":[", "1,", "]}\n"),
            ligatures: filled("\u{fdfa}"),
            ideographs: filled("宝物は一つの箱の中にあった。"),
            title: [b"{\"rights\":\"free\",\"gems\":[1],\"title\":\"", &filled("a")[..], b"\"}"].concat(),
            zip: zip(&[("a.txt", &vec![b' '; 8 * large])]),
            pdf: loops(),
        }
    }
}

/// A hostile client.
struct Attacker<'a> {
    target: &'a Target,
    client: usize,
    bodies: &'a Bodies,
    over: &'a AtomicBool,
}

type Kind = (&'static str, fn(&Attacker<'_>) -> io::Result<String>);

/// The kinds of hostile requests.
const KINDS: [Kind; 17] = [
    ("objects in a line of a batch", |a| a.checks("POST /v1/checks:batch", NDJSON, &a.bodies.objects)),
    ("objects in a check", |a| a.checks("POST /v1/checks", JSON, &a.bodies.objects)),
    ("a list of gems", |a| a.checks("POST /v1/checks", JSON, &a.bodies.gems)),
    ("a list of gems in a line", |a| a.checks("POST /v1/checks:batch", NDJSON, &a.bodies.gems)),
    ("a length and no body, no key", |a| a.hold(&head("POST /v1/checks", "", JSON, 64 << 20), "")),
    ("a length and no body", |a| a.hold(&head("POST /v1/checks", a.check_key(), JSON, 64 << 20), "")),
    ("a body byte by byte", |a| a.hold(&head("POST /v1/checks", a.check_key(), JSON, 64 << 20), " ")),
    ("a text of U+FDFA", |a| a.checks("POST /v1/checks", TEXT, &a.bodies.ligatures)),
    ("a long text", |a| a.checks("POST /v1/checks", TEXT, &a.bodies.ideographs)),
    ("a slow PDF", |a| a.checks("POST /v1/checks", ANY, &a.bodies.pdf)),
    ("a ZIP bomb", |a| a.checks("POST /v1/checks", ANY, &a.bodies.zip)),
    ("a long title", |a| a.ingests(&format!("PUT /v1/libraries/hostile-{}/books/1", a.client), JSON, &a.bodies.title)),
    ("objects in a feed", |a| {
        a.ingests(&format!("POST /v1/libraries/hostile-{}/books", a.client), NDJSON, &a.bodies.objects)
    }),
    ("a batch that is not read and stalls", |a| {
        a.hold(&head("POST /v1/checks:batch", a.check_key(), NDJSON, 64 << 20), "{\"gems\":[1]}\n{\"gems\":[2]}\n")
    }),
    ("an export that is not read", |a| a.hold(&head("GET /v1/export", &a.target.careless, JSON, 0), "")),
    ("an import that stalls", |a| {
        a.hold(&head("POST /v1/import", &a.target.careless, NDJSON, 64 << 20), "{\"format\":")
    }),
    ("many small checks", |a| a.floods()),
];

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const TEXT: &str = "text/plain; charset=utf-8";
const ANY: &str = "application/octet-stream";

impl Attacker<'_> {
    fn check_key(&self) -> &str {
        &self.target.hostile[self.client][0]
    }

    fn checks(&self, what: &str, kind: &str, body: &[u8]) -> io::Result<String> {
        self.send(&head(what, self.check_key(), kind, body.len()), body)
    }

    fn ingests(&self, what: &str, kind: &str, body: &[u8]) -> io::Result<String> {
        self.send(&head(what, &self.target.hostile[self.client][1], kind, body.len()), body)
    }

    fn send(&self, head: &str, body: &[u8]) -> io::Result<String> {
        let mut stream = connect(&self.target.address, PATIENCE)?;
        stream.write_all(head.as_bytes())?;
        for piece in body.chunks(64 << 10) {
            if self.over.load(Ordering::Relaxed) {
                return Ok("given up".to_owned());
            }
            // A server that refuses early still sends its response.
            if stream.write_all(piece).is_err() {
                break;
            }
        }
        status(&mut stream)
    }

    /// Sends a head and then the same part of a body every half second, and reads nothing for a while.
    fn hold(&self, head: &str, body: &str) -> io::Result<String> {
        let mut stream = connect(&self.target.address, PATIENCE)?;
        stream.write_all(head.as_bytes())?;
        let begun = Instant::now();
        while begun.elapsed() < HELD && !self.over.load(Ordering::Relaxed) {
            if !body.trim().is_empty() && begun.elapsed() > Duration::from_secs(1) {
                thread::sleep(Duration::from_millis(500));
            } else if stream.write_all(body.as_bytes()).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(500));
        }
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        let mut answer = [0; 12];
        Ok(match stream.read_exact(&mut answer) {
            Ok(()) => String::from_utf8_lossy(&answer[9..]).into_owned(),
            Err(_) => "held".to_owned(),
        })
    }

    /// Sends small checks for some seconds and returns the last response.
    fn floods(&self) -> io::Result<String> {
        let begun = Instant::now();
        let mut last = String::new();
        while begun.elapsed() < Duration::from_secs(5) && !self.over.load(Ordering::Relaxed) {
            last = call(self.target, self.check_key(), "POST /v1/checks", "{\"gems\":[1,2,3]}")?;
        }
        Ok(last)
    }
}
