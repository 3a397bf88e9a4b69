//! Hostile load: clients that each try to exhaust a server's memory and time, or to flood its catalogue, while good clients
//! check a text and add books through the gate, and an administrator works. Counts responses by kind, and the waiting times and
//! failures of those who mean no harm.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::bucket::{BUCKET, ENDLESS, OBJECT, SLOW};
use crate::makers::{loops, zip};

/// Timeout for responses to hostile requests.
const PATIENCE: Duration = Duration::from_mins(1);
/// Timeout for responses to the good client and the administrator.
const GOOD_PATIENCE: Duration = Duration::from_secs(10);
/// How long an idle connection is held open.
const HELD: Duration = Duration::from_secs(20);

/// A server and the keys of its clients.
pub struct Target {
    pub address: String,
    /// Where it answers clients of `clamd`.
    pub clamd: String,
    /// For each hostile client N, a key for checks and one that can ingest into the library `hostile-N`.
    pub hostile: Vec<[String; 2]>,
    /// A key that may ingest into the library `good`.
    pub publisher: String,
    /// Keys of an administrator whose exports and imports stall, of the good client, and of the administrator.
    pub careless: String,
    pub good: String,
    pub admin: String,
    /// A key that may follow the library `books`.
    pub follower: String,
    /// The size of large bodies, in bytes.
    pub large: usize,
    /// A gem of a book in the catalogue, in `released`.
    pub gem: String,
    /// A text of which the catalogue has a longer book. It is what the good client checks and what the others flood.
    pub text: String,
    /// Its gems in `hardened`, as JSON.
    pub gems: String,
    /// Makes a new text of some thousand characters.
    pub new_text: fn(u64) -> String,
}

/// The results.
#[derive(Default)]
pub struct Outcome {
    /// For each kind of request, how often each response was received.
    pub answers: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// Checks of one gem.
    pub good: Calls,
    /// Checks of the flooded text.
    pub checks: Calls,
    /// Books added through the gate.
    pub gates: Calls,
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
                    let attacker = Attacker {
                        target,
                        client,
                        bodies,
                        over,
                    };
                    let answer = (kind.1)(&attacker).unwrap_or_else(|error| {
                        // Avoid a busy loop.
                        thread::sleep(Duration::from_millis(100));
                        format!("{:?}", error.kind())
                    });
                    let mut outcome = outcome.lock().expect("nobody panics with it");
                    *outcome
                        .answers
                        .entry(kind.0)
                        .or_default()
                        .entry(answer)
                        .or_default() += 1;
                }
            });
        }
        let good = scope.spawn(|| check(target, &over));
        let checks = scope.spawn(|| check_text(target, &over));
        let gates = scope.spawn(|| publish(target, &over));
        let admin = scope.spawn(|| administer(target, &over));
        thread::sleep(duration);
        over.store(true, Ordering::Relaxed);
        let [good, checks, gates, admin] =
            [good, checks, gates, admin].map(|calls| calls.join().expect("no panic"));
        let mut outcome = outcome.lock().expect("nobody panics with it");
        (outcome.good, outcome.checks, outcome.gates, outcome.admin) = (good, checks, gates, admin);
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

/// A good client, which checks the text that is flooded.
fn check_text(target: &Target, over: &AtomicBool) -> Calls {
    let mut calls = Calls::default();
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let answer = send(
            &target.address,
            &head("POST /v1/checks", &target.good, TEXT, target.text.len()),
            &target.text,
        );
        calls.count("a check of a text", &["200"], begun, answer);
        thread::sleep(Duration::from_millis(50));
    }
    calls
}

/// A publisher, who adds new books through the gate.
fn publish(target: &Target, over: &AtomicBool) -> Calls {
    let mut calls = Calls::default();
    for book in 1_000_000.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let text = (target.new_text)(book);
        let what = format!("PUT /v1/libraries/good/books/{book}?rights=protected&unless=protected");
        let begun = Instant::now();
        let answer = send(
            &target.address,
            &head(&what, &target.publisher, TEXT, text.len()),
            &text,
        );
        calls.count("a gate", &["201"], begun, answer);
        thread::sleep(Duration::from_millis(100));
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
            calls.count(
                what,
                &[wanted],
                begun,
                call(target, &target.admin, what, body),
            );
        }
        thread::sleep(Duration::from_millis(200));
    }
    calls
}

/// Sends a small request on a new connection and returns the status of the response.
fn call(target: &Target, key: &str, what: &str, body: &str) -> io::Result<String> {
    send(&target.address, &head(what, key, JSON, body.len()), body)
}

fn send(address: &str, head: &str, body: &str) -> io::Result<String> {
    let mut stream = connect(address, GOOD_PATIENCE)?;
    stream.write_all(head.as_bytes())?;
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
    let key = if key.is_empty() {
        String::new()
    } else {
        format!("Authorization: Bearer {key}\r\n")
    };
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
    onix: Vec<u8>,
}

impl Bodies {
    fn new(large: usize) -> Self {
        let filled = |text: &str| text.repeat(large / text.len()).into_bytes();
        Self {
            objects: wrapped(large, "{\"x\":[", "{\"\":0},", "]}\n"),
            gems: wrapped(large, "{\"gems\":[", "1,", "]}\n"),
            ligatures: filled("\u{fdfa}"),
            ideographs: filled("宝物は一つの箱の中にあった。"),
            title: [
                b"{\"rights\":\"free\",\"gems\":[1],\"title\":\"",
                &filled("a")[..],
                b"\"}",
            ]
            .concat(),
            zip: zip(&[("a.txt", &vec![b' '; 8 * large])]),
            pdf: loops(),
            // Longer feeds are refused at once.
            onix: wrapped(
                large.min(7 << 20),
                "<ONIXMessage release=\"3.0\" xmlns=\"http://ns.editeur.org/onix/3.0/reference\"><Header/>",
                "<Product><RecordReference>1</RecordReference></Product> ",
                "</ONIXMessage>",
            ),
        }
    }
}

/// A body of about this length, of the same part again and again.
fn wrapped(length: usize, begin: &str, part: &str, end: &str) -> Vec<u8> {
    let times = length.saturating_sub(begin.len() + end.len()) / part.len();
    [
        begin.as_bytes(),
        &part.repeat(times).as_bytes()[..times * part.len() - 1],
        end.as_bytes(),
    ]
    .concat()
}

/// A hostile client.
struct Attacker<'a> {
    target: &'a Target,
    client: usize,
    bodies: &'a Bodies,
    over: &'a AtomicBool,
}

/// Numbers that are used once.
static NUMBER: AtomicU64 = AtomicU64::new(1);

type Kind = (&'static str, fn(&Attacker<'_>) -> io::Result<String>);

/// The number of kinds of hostile requests.
pub const KIND_COUNT: usize = KINDS.len();

/// The kinds of hostile requests.
const KINDS: [Kind; 34] = [
    ("objects in a line of a batch", |a| {
        a.checks("POST /v1/checks:batch", NDJSON, &a.bodies.objects)
    }),
    ("objects in a check", |a| {
        a.checks("POST /v1/checks", JSON, &a.bodies.objects)
    }),
    ("a list of gems", |a| {
        a.checks("POST /v1/checks", JSON, &a.bodies.gems)
    }),
    ("a list of gems in a line", |a| {
        a.checks("POST /v1/checks:batch", NDJSON, &a.bodies.gems)
    }),
    ("a length and no body, no key", |a| {
        a.hold(&head("POST /v1/checks", "", JSON, 64 << 20), "")
    }),
    ("a length and no body", |a| {
        a.hold(&head("POST /v1/checks", a.check_key(), JSON, 64 << 20), "")
    }),
    ("a body byte by byte", |a| {
        a.hold(&head("POST /v1/checks", a.check_key(), JSON, 64 << 20), " ")
    }),
    ("a text of U+FDFA", |a| {
        a.checks("POST /v1/checks", TEXT, &a.bodies.ligatures)
    }),
    ("a long text", |a| {
        a.checks("POST /v1/checks", TEXT, &a.bodies.ideographs)
    }),
    ("a slow PDF", |a| {
        a.checks("POST /v1/checks", ANY, &a.bodies.pdf)
    }),
    ("a ZIP bomb", |a| {
        a.checks("POST /v1/checks", ANY, &a.bodies.zip)
    }),
    ("a slow PDF for clamd", |a| a.scans(&a.bodies.pdf)),
    ("a ZIP bomb for clamd", |a| a.scans(&a.bodies.zip)),
    ("a chunk byte by byte for clamd", |a| {
        a.hold_at(&a.target.clamd, "nINSTREAM\n\x03\0\0\0", " ")
    }),
    ("a long title", |a| {
        a.ingests(
            &format!("PUT /v1/libraries/hostile-{}/books/1", a.client),
            JSON,
            &a.bodies.title,
        )
    }),
    ("objects in a feed", |a| {
        a.ingests(
            &format!("POST /v1/libraries/hostile-{}/books", a.client),
            NDJSON,
            &a.bodies.objects,
        )
    }),
    ("a batch that is not read and stalls", |a| {
        a.hold(
            &head("POST /v1/checks:batch", a.check_key(), NDJSON, 64 << 20),
            "{\"gems\":[1]}\n{\"gems\":[2]}\n",
        )
    }),
    ("an export that is not read", |a| {
        a.hold(&head("GET /v1/export", &a.target.careless, JSON, 0), "")
    }),
    ("an import that stalls", |a| {
        a.hold(
            &head("POST /v1/import", &a.target.careless, NDJSON, 64 << 20),
            "{\"format\":",
        )
    }),
    ("many small checks", |a| {
        a.repeats(|a| {
            call(
                a.target,
                a.check_key(),
                "POST /v1/checks",
                "{\"gems\":[1,2,3]}",
            )
        })
    }),
    ("books of one gem", |a| {
        a.repeats(|a| {
            let id = next_number();
            let (recipe, gem) = if a.client.is_multiple_of(2) {
                ("hardened", hexadecimal(id))
            } else {
                ("released", id.to_string())
            };
            a.puts(
                &id.to_string(),
                &format!("{{\"rights\":\"protected\",\"recipe\":\"{recipe}\",\"gems\":[{gem}]}}"),
            )
        })
    }),
    ("copies of a text by its gems", |a| {
        a.feeds(|a, _| a.target.gems.clone())
    }),
    ("books of gems from a small pool", |a| {
        a.feeds(|_, book| {
            let gems: Vec<String> = (0..500)
                .map(|at| hexadecimal(7 + (book * 7_919 + at * at * 31) % 1_000))
                .collect();
            format!("[{}]", gems.join(","))
        })
    }),
    ("wrong keys at the sign-in", |a| {
        a.repeats(|a| {
            let form = "key=lapidary_wrong";
            let head = head(
                "POST /console/sign-in",
                "",
                "application/x-www-form-urlencoded",
                form.len(),
            );
            let head = head.replacen("\r\n", "\r\nOrigin: http://localhost\r\n", 1);
            send(&a.target.address, &head, form)
        })
    }),
    ("one book again and again", |a| {
        a.repeats(|a| {
            let text = (a.target.new_text)(next_number());
            let what = format!(
                "PUT /v1/libraries/hostile-{}/books/again?rights=free",
                a.client
            );
            send(
                &a.target.address,
                &head(&what, a.ingest_key(), TEXT, text.len()),
                &text,
            )
        })
    }),
    ("gates of the flooded text", |a| {
        a.repeats(|a| {
            let what = format!(
                "PUT /v1/libraries/hostile-{}/books/gate?rights=free&unless=protected",
                a.client
            );
            let text = &a.target.text;
            send(
                &a.target.address,
                &head(&what, a.ingest_key(), TEXT, text.len()),
                text,
            )
        })
    }),
    ("an object of a bucket that comes slowly", |a| {
        a.hold(&a.fetches(SLOW), "")
    }),
    ("an object of a bucket without end", |a| {
        a.send(&a.fetches(ENDLESS), &[])
    }),
    ("notifications of objects that come slowly", |a| {
        a.hold(&a.notifies(SLOW), "")
    }),
    ("notifications of the flooded text", |a| {
        a.repeats(|a| a.send(&a.notifies(OBJECT), &[]))
    }),
    ("a library that is followed book by book", |a| {
        a.repeats(|a| {
            let what = format!("GET /v1/libraries/books/exports/{}", next_number() % 20);
            call(a.target, &a.target.follower, &what, "")
        })
    }),
    ("a library that is followed and not read", |a| {
        let what = "GET /v1/libraries/books/books?limit=1000";
        a.hold(&head(what, &a.target.follower, JSON, 0), "")
    }),
    ("a feed of ONIX", |a| {
        let what = format!("POST /v1/libraries/hostile-{}/table", a.client);
        a.ingests(&what, "application/xml", &a.bodies.onix)
    }),
    ("filed checks, each watched", |a| {
        a.repeats(|a| {
            let text = (a.target.new_text)(next_number());
            let head = head(
                "POST /v1/checks?record=true",
                a.check_key(),
                TEXT,
                text.len(),
            );
            send(&a.target.address, &head, &text)
        })
    }),
];

/// A gem of `hardened`, as JSON.
fn hexadecimal(gem: u64) -> String {
    format!("\"{gem:016x}\"")
}

/// How many books a request of a flood adds.
const BOOKS_OF_A_FEED: u64 = 100;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const TEXT: &str = "text/plain; charset=utf-8";
const ANY: &str = "application/octet-stream";

/// A number that no other call has.
fn next_number() -> u64 {
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl Attacker<'_> {
    fn check_key(&self) -> &str {
        &self.target.hostile[self.client][0]
    }

    fn ingest_key(&self) -> &str {
        &self.target.hostile[self.client][1]
    }

    /// Adds a book by its gems.
    fn puts(&self, id: &str, body: &str) -> io::Result<String> {
        let what = format!("PUT /v1/libraries/hostile-{}/books/{id}", self.client);
        call(self.target, self.ingest_key(), &what, body)
    }

    /// Adds many books by gems that `gems` writes, in one request.
    fn feeds(&self, gems: impl Fn(&Self, u64) -> String) -> io::Result<String> {
        let line = |_| {
            let book = next_number();
            let gems = gems(self, book);
            format!(
                "{{\"id\":\"{book}\",\"rights\":\"protected\",\"recipe\":\"hardened\",\"gems\":{gems}}}\n"
            )
        };
        let lines: String = (0..BOOKS_OF_A_FEED).map(line).collect();
        self.ingests(
            &format!("POST /v1/libraries/hostile-{}/books", self.client),
            NDJSON,
            lines.as_bytes(),
        )
    }

    fn checks(&self, what: &str, kind: &str, body: &[u8]) -> io::Result<String> {
        self.send(&head(what, self.check_key(), kind, body.len()), body)
    }

    fn ingests(&self, what: &str, kind: &str, body: &[u8]) -> io::Result<String> {
        self.send(
            &head(what, &self.target.hostile[self.client][1], kind, body.len()),
            body,
        )
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

    /// A check of an object of the bucket.
    fn fetches(&self, object: &str) -> String {
        let body = format!("{{\"url\":\"s3://{BUCKET}/{object}\"}}");
        let head = head("POST /v1/checks", self.check_key(), JSON, body.len());
        format!("{head}{body}")
    }

    /// A notification of as many objects as one may have, with the key that may send it.
    fn notifies(&self, object: &str) -> String {
        let event = |_| {
            let number = next_number();
            format!(
                "{{\"eventName\":\"ObjectCreated:Put\",\"s3\":{{\"bucket\":{{\"name\":\"{BUCKET}\"}},\
                 \"object\":{{\"key\":\"{object}\",\"sequencer\":\"{number}\"}}}}}}"
            )
        };
        let events: Vec<String> = (0..16).map(event).collect();
        let body = format!("{{\"Records\":[{}]}}", events.join(","));
        let key = &self.target.hostile[0][0];
        let head = head("POST /v1/s3/events", key, JSON, body.len());
        format!("{head}{body}")
    }

    /// Sends a file as to `clamd`.
    fn scans(&self, file: &[u8]) -> io::Result<String> {
        let mut stream = connect(&self.target.clamd, PATIENCE)?;
        let length = (file.len() as u32).to_be_bytes();
        // A server that refuses early still answers.
        let _ = stream.write_all(&[b"nINSTREAM\n", &length[..], file, &[0; 4]].concat());
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        Ok(said.trim().to_owned())
    }

    fn hold(&self, head: &str, body: &str) -> io::Result<String> {
        self.hold_at(&self.target.address, head, body)
    }

    /// Sends a head and then the same part of a body every half second, and reads nothing for a while.
    fn hold_at(&self, address: &str, head: &str, body: &str) -> io::Result<String> {
        let mut stream = connect(address, PATIENCE)?;
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

    /// Sends small requests for some seconds and returns the last response.
    fn repeats(&self, send: impl Fn(&Self) -> io::Result<String>) -> io::Result<String> {
        let begun = Instant::now();
        let mut last = String::new();
        while begun.elapsed() < Duration::from_secs(5) && !self.over.load(Ordering::Relaxed) {
            last = send(self)?;
        }
        Ok(last)
    }
}
