//! Runs a server in the test process and parses its raw responses.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lapidary::server::{Server, ServerError, Settings};
use lapidary_catalogue::{Catalogue, EvidenceLimits};
use lapidary_gems::{Recipe, WrittenGem};
use lapidary_store::{Actor, RocksStore, Store};
use lapidary_store_redis::ClusterStore;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::cluster::Nodes;

/// Small, so that exceeding it is cheap.
pub const MAX_BODY: usize = 4 << 20;
pub const TEXT: &str = "text/plain; charset=utf-8";
pub const JSON: &str = "application/json";
pub const FORM: &str = "application/x-www-form-urlencoded";
pub const NDJSON: &str = "application/x-ndjson";
pub const BYTES: &str = "application/octet-stream";

/// A new store of the engine under test.
fn store(folder: &TempDir) -> Box<dyn Store> {
    static NODES: OnceLock<Option<Nodes>> = OnceLock::new();
    static CATALOGUES: AtomicU32 = AtomicU32::new(0);
    if super::ON_CLUSTER
        && let Some(nodes) = NODES.get_or_init(|| Nodes::start(3, 1))
    {
        let address = format!(
            "redis://{}/http{}",
            nodes.addresses,
            CATALOGUES.fetch_add(1, Ordering::Relaxed)
        );
        return Box::new(ClusterStore::open(&address.parse().unwrap()).unwrap());
    }
    Box::new(RocksStore::open_or_create(folder.path()).unwrap())
}

/// A server in this process with its own catalogue.
pub struct Running {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
    _folder: TempDir,
}

impl Running {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::on(store(&folder), folder)
    }

    /// Starts with a new catalogue whose recipe is not `documented`.
    pub fn of_recipe(recipe: &Recipe) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        store.add_recipe(&Actor::Local, recipe).unwrap();
        Self::on(store, folder)
    }

    /// Starts on a store that is made of a new one.
    pub fn with(of: impl FnOnce(Box<dyn Store>) -> Box<dyn Store>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::on(of(store(&folder)), folder)
    }

    /// Starts with a new catalogue that keeps texts of filed checks within these limits.
    pub fn keeping(evidence: EvidenceLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::with_store(store(&folder)).with_evidence(evidence);
        Self::of(catalogue, folder)
    }

    fn on(store: Box<dyn Store>, folder: TempDir) -> Self {
        Self::of(Catalogue::with_store(store), folder)
    }

    fn of(catalogue: Catalogue, folder: TempDir) -> Self {
        let settings = Settings {
            listen: vec!["127.0.0.1:0".parse().unwrap()].into(),
            max_body: MAX_BODY.into(),
            ..Settings::default()
        };
        let server = Server::bind(Arc::new(catalogue), settings).unwrap();
        let address = server.addresses()[0];
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let stopped = async move {
            while !told.load(Ordering::Relaxed) {
                actix_web::rt::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let thread = Some(thread::spawn(move || server.run_until(stopped)));
        Self {
            address,
            stop,
            thread,
            _folder: folder,
        }
    }

    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap())
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        stream
    }

    /// Sends raw bytes and reads the whole response.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that refuses early may close the connection before the whole request is sent. Its response still
        // arrives.
        let _ = stream.write_all(request);
        Answer::read(stream)
    }

    pub fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head =
            format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        self.raw(&[head.as_bytes(), body].concat())
    }

    pub fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[], b"")
    }

    pub fn post(&self, target: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", target, &[("Content-Type", kind)], body.as_ref())
    }

    pub fn put(&self, target: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
        self.send("PUT", target, &[("Content-Type", kind)], body.as_ref())
    }

    pub fn put_text(&self, target: &str, rights: &str, text: &str) -> Answer {
        self.put(
            target,
            JSON,
            json!({ "rights": rights, "text": text }).to_string(),
        )
    }

    pub fn check_text(&self, text: &str) -> Value {
        self.post("/v1/checks", TEXT, text).expect(200)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads one response. A connection reset after a complete response is ignored.
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let mut some = [0; 1 << 13];
        loop {
            let read = stream.read(&mut some).unwrap_or_default();
            bytes.extend_from_slice(&some[..read]);
            match Self::parse(&bytes) {
                Some(answer) if read == 0 || answer.is_whole() => return answer,
                None if read == 0 => panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)),
                _ => {}
            }
        }
    }

    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, body) = (
            String::from_utf8(bytes[..end].to_vec()).unwrap(),
            &bytes[end + 4..],
        );
        if head.starts_with("HTTP/1.1 100") {
            return Self::parse(body);
        }
        let status = head[9..12].parse().unwrap();
        Some(Self {
            status,
            head: head.to_lowercase(),
            body: body.to_vec(),
        })
    }

    pub fn is_whole(&self) -> bool {
        let length = self
            .head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        length.is_some_and(|length| length == self.body.len().to_string())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The JSON lines of a chunked response.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        let (mut rest, mut body) = (self.body.as_slice(), Vec::new());
        while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
            let length =
                usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
            body.extend_from_slice(&rest[end + 2..end + 2 + length]);
            rest = &rest[end + 4 + length..];
        }
        body.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(
            self.status,
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        if self.body.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// Asserts that this is a well-formed problem response with this status and code, and returns its detail.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str, what: &str) -> String {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{what}: {body}");
        assert!(
            self.head.contains("content-type: application/problem+json"),
            "{what}: {}",
            self.head
        );
        let problem = self.json();
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&json!(code), &json!(status)),
            "{what}: {body}"
        );
        assert!(
            problem["type"].is_string() && problem["title"].is_string(),
            "{what}: {body}"
        );
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            (10..700).contains(&detail.chars().count()),
            "{what}: {body}"
        );
        detail.to_owned()
    }
}

pub fn encoded(id: &str) -> String {
    utf8_percent_encode(id, NON_ALPHANUMERIC).to_string()
}

/// What was defined, without the count of changes still to be told, which falls while the server works.
pub fn definition(mut shown: Value) -> Value {
    shown
        .as_object_mut()
        .expect("an object")
        .remove("pending_changes");
    shown
}

/// Asserts that a response has these fields. Others are ignored.
#[track_caller]
pub fn assert_has(answer: &Value, fields: Value) {
    let Value::Object(fields) = fields else {
        panic!("not an object: {fields}")
    };
    for (name, value) in fields {
        assert_eq!(answer[&name], value, "{name} of {answer}");
    }
}

pub fn gems(recipe: &Recipe, text: &str) -> Vec<WrittenGem> {
    recipe
        .gems(text)
        .iter()
        .map(|placed| recipe.write(placed.gem))
        .collect()
}
