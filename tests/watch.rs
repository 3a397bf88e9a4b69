//! Monitoring a running server: metrics, log and readiness.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lapidary::server::{Opening, Settings};
use lapidary_catalogue::Catalogue;
use lapidary_gems::Recipe;
use lapidary_store::Actor;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Response;

use crate::common::{Folder, LAPIDARY, prose, run};

const NO_PATHS: &[&str] = &[];

/// A server whose log is captured.
struct Server {
    url: String,
    child: Child,
    /// `None` once the log was taken.
    log: Option<JoinHandle<String>>,
    agent: Agent,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    id: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

impl Server {
    fn start(data: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(LAPIDARY);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(options);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        log.read_line(&mut first).expect("a line");
        let address = first.split("http://").nth(1).expect("an address");
        let address: String = address
            .chars()
            .take_while(|c| c.is_ascii_digit() || ".:".contains(*c))
            .collect();
        let log = thread::spawn(move || {
            let mut rest = first;
            log.read_to_string(&mut rest).expect("UTF-8");
            rest
        });
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        Self {
            url: format!("http://{address}"),
            child,
            log: Some(log),
            agent,
        }
    }

    fn get(&self, path: &str) -> Answer {
        answer(self.agent.get(format!("{}{path}", self.url)).call())
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        answer(
            self.agent
                .post(format!("{}{path}", self.url))
                .content_type("text/plain")
                .send(body),
        )
    }

    fn put(&self, id: &str, text: &str) -> Answer {
        let url = format!(
            "{}/v1/libraries/shelf/books/{id}?rights=protected&title=Unheard",
            self.url
        );
        answer(self.agent.put(url).content_type("text/plain").send(text))
    }

    fn metrics(&self) -> Metrics {
        Metrics::parse(&self.get("/metrics").body)
    }

    /// Waits until `/readyz` responds with this status and code.
    #[track_caller]
    fn wait_for(&self, status: u16, code: Option<&str>) -> Answer {
        let begun = Instant::now();
        loop {
            let answer = self.get("/readyz");
            if answer.status == status && answer.json()["code"].as_str() == code {
                return answer;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{} {}",
                answer.status,
                answer.body
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Stops the server and returns its log.
    fn stop(mut self) -> String {
        let told = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        assert!(told.expect("kill runs").success());
        assert!(self.child.wait().expect("it ends").success());
        self.log.take().expect("asked once").join().expect("a log")
    }
}

fn answer(response: Result<Response<ureq::Body>, ureq::Error>) -> Answer {
    let mut response = response.expect("an answer");
    let id = response
        .headers()
        .get("x-request-id")
        .map_or("", |id| id.to_str().expect("ASCII"))
        .to_owned();
    Answer {
        status: response.status().as_u16(),
        id,
        body: response.body_mut().read_to_string().expect("UTF-8"),
    }
}

/// The samples of `/metrics`, by name and labels as written.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    fn parse(text: &str) -> Self {
        let samples = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').expect("a name and a value");
                (name.to_owned(), value.parse().expect("a number"))
            });
        Self(samples.collect())
    }

    #[track_caller]
    fn of(&self, sample: &str) -> f64 {
        *self
            .0
            .get(sample)
            .unwrap_or_else(|| panic!("no {sample} in {:#?}", self.0))
    }

    fn names(&self) -> BTreeSet<&str> {
        self.0
            .keys()
            .map(|sample| sample.split('{').next().unwrap_or_default())
            .collect()
    }
}

/// Waits until a metric has this value. Metrics of the store are updated periodically.
#[track_caller]
fn eventually(server: &Server, sample: &str, value: f64) {
    let begun = Instant::now();
    loop {
        let found = server.metrics().0.get(sample).copied();
        if found.is_some_and(|found| (found - value).abs() < f64::EPSILON) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{sample} is {found:?}"
        );
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_happened_is_in_the_metrics() {
    let folder = Folder::new();
    {
        let catalogue = Catalogue::open_or_create(&folder.data()).expect("a catalogue");
        catalogue
            .by(Actor::Local)
            .recipes()
            .ensure(&[Recipe::documented()])
            .expect("a recipe");
    }
    let server = Server::start(&folder.data(), &[]);
    let (text, other) = (prose(1, 6_000), prose(2, 6_000));
    assert_eq!(server.put("1", &text).status, 201);
    assert_eq!(server.put("1", &text).status, 200);
    assert_eq!(server.put("1", &other).status, 200);
    assert_eq!(server.put("2", &text).status, 201);
    assert_eq!(
        server
            .agent
            .delete(format!("{}/v1/libraries/shelf/books/2", server.url))
            .call()
            .unwrap()
            .status(),
        204
    );
    let report = server.post("/v1/checks", &other).json();
    assert_eq!(
        (&report["verdict"], &report["total"]),
        (&json!("protected"), &json!(1))
    );
    server.post("/v1/checks", "stranger");
    assert_eq!(server.post("/v1/checks", "%PDF-1.4").status, 422);
    for i in 0..50 {
        assert_eq!(
            server
                .get(&format!("/v1/libraries/shelf/books/secret-{i}"))
                .status,
            404
        );
        assert_eq!(server.get(&format!("/secret-{i}")).status, 404);
    }
    let gems = report["gems"].as_f64().unwrap();
    eventually(&server, "lapidary_gems{recipe=\"documented\"}", gems);
    let metrics = server.metrics();
    let table = [
        ("lapidary_ready", 1.0),
        ("lapidary_book_changes_total{change=\"added\"}", 2.0),
        ("lapidary_book_changes_total{change=\"unchanged\"}", 1.0),
        ("lapidary_book_changes_total{change=\"replaced\"}", 1.0),
        ("lapidary_book_changes_total{change=\"removed\"}", 1.0),
        ("lapidary_books{recipe=\"documented\"}", 1.0),
        ("lapidary_index_postings{part=\"main\"}", 0.0),
        ("lapidary_index_postings{part=\"delta\"}", gems),
        ("lapidary_checks_total{verdict=\"protected\"}", 1.0),
        ("lapidary_checks_total{verdict=\"not_checked\"}", 1.0),
        ("lapidary_check_gems_sum", gems),
        ("lapidary_check_gems_count", 2.0),
        ("lapidary_check_matches_sum", 1.0),
        ("lapidary_check_matches_bucket{le=\"0\"}", 1.0),
        ("lapidary_check_duration_seconds_count", 2.0),
        ("lapidary_texts_read_total{outcome=\"read\"}", 6.0),
        ("lapidary_texts_read_total{outcome=\"damaged\"}", 1.0),
        ("lapidary_http_requests_running", 1.0),
        ("lapidary_work_running", 0.0),
        ("lapidary_work_waiting", 0.0),
        (
            "lapidary_http_request_duration_seconds_count{method=\"PUT\",route=\"/v1/libraries/{library}/books/{id}\",status=\"201\"}",
            2.0,
        ),
        (
            "lapidary_http_request_duration_seconds_count{method=\"POST\",route=\"/v1/checks\",status=\"422\"}",
            1.0,
        ),
        (
            "lapidary_http_request_duration_seconds_count{method=\"GET\",route=\"/v1/libraries/{library}/books/{id}\",status=\"404\"}",
            50.0,
        ),
        (
            "lapidary_http_request_duration_seconds_count{method=\"GET\",route=\"none\",status=\"404\"}",
            50.0,
        ),
    ];
    for (sample, value) in table {
        assert!(
            (metrics.of(sample) - value).abs() < f64::EPSILON,
            "{sample} is {}",
            metrics.of(sample)
        );
    }
    let filed = json!({ "text": prose(3, 6_000), "record": true });
    let filed = server
        .agent
        .post(format!("{}/v1/checks", server.url))
        .send_json(filed);
    assert_eq!(filed.expect("an answer").status(), 200);
    eventually(&server, "lapidary_watched_checks", 1.0);
    assert!(
        !metrics.0.keys().any(|sample| sample.contains("secret")),
        "a path is no label"
    );
    for sample in [
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_start_time_seconds",
        "lapidary_disk_free_bytes",
    ] {
        assert!(metrics.of(sample) > 0.0, "{sample}");
    }
}

/// A trace that requests are a part of.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[test]
fn the_log_tells_of_requests_and_not_of_what_was_sent() {
    let folder = Folder::new();
    let server = Server::start(&folder.data(), &["--log-format", "json"]);
    let text = format!("Zanzibarquartz {}", prose(1, 3_000));
    let key = ("Authorization", "Bearer hushhush");
    let check = |path: &str, id: &str, body: &str| {
        let request = server
            .agent
            .post(format!("{}{path}", server.url))
            .header("X-Request-Id", id)
            .header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))
            .header(key.0, key.1);
        answer(request.content_type("text/plain").send(body))
    };
    assert_eq!(check("/v1/checks", "my-id-1", &text).id, "my-id-1");
    let made = check("/v1/checks", "not \"sane\"", &text).id;
    assert!(
        made.len() == 36 && made.chars().all(|c| c.is_ascii_hexdigit() || c == '-'),
        "{made}"
    );
    let refused = check("/v1/checks?colour=Zanzibarquartz", "my-id-2", &text);
    assert_eq!(
        (refused.status, refused.json()["request_id"].as_str()),
        (400, Some("my-id-2"))
    );
    server.put("Zanzibarquartz", &text);
    check("/Zanzibarquartz?key=hushhush", "my-id-3", &text);

    let log = server.stop();
    assert!(log.matches(TRACE).count() >= 4, "{log}");
    for secret in ["Zanzibarquartz", "hushhush", "Unheard", &text[20..40]] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let of = |id: &str| {
        let mut lines = lines.iter().filter(|line| line["span"]["id"] == id);
        let line = lines.next().expect("a line of the request");
        assert!(lines.next().is_none(), "one line a request");
        assert!(
            line["timestamp"].is_string() && line["duration_ms"].as_f64() > Some(0.0),
            "{line}"
        );
        assert_eq!(line["received"], text.len());
        assert!(line["sent"].as_u64() > Some(100), "{line}");
        ["level", "method", "route", "status", "code"].map(|field| line[field].clone())
    };
    assert_eq!(
        of("my-id-1"),
        [
            json!("INFO"),
            json!("POST"),
            json!("/v1/checks"),
            json!(200),
            Value::Null
        ]
    );
    assert_eq!(of(&made)[3], 200);
    assert_eq!(of("my-id-2")[3..], [json!(400), json!("bad_query")]);
    assert_eq!(
        of("my-id-3")[2..],
        [json!("none"), json!(404), json!("not_found")]
    );
}

#[test]
fn a_slow_request_is_warned_of() {
    let folder = Folder::new();
    let server = Server::start(&folder.data(), &["--slow", "0"]);
    server.get("/healthz");
    let log = server.stop();
    let line = log
        .lines()
        .find(|line| line.contains("slow request"))
        .unwrap_or_else(|| panic!("{log}"));
    assert!(
        line.contains(" WARN ") && line.contains("route=\"/healthz\""),
        "{line}"
    );
}

#[test]
fn a_full_disk_is_not_ready_and_says_so() {
    let folder = Folder::new();
    let server = Server::start(&folder.data(), &["--min-free", &i64::MAX.to_string()]);
    let problem = server.wait_for(503, Some("disk_nearly_full")).json();
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("free some space"),
        "{problem}"
    );
    assert!(
        !problem
            .to_string()
            .contains(&*folder.data().to_string_lossy()),
        "{problem}"
    );
    assert_eq!(
        (
            server.get("/healthz").status,
            server.metrics().of("lapidary_ready")
        ),
        (200, 0.0)
    );
    server.stop();
}

/// A file size limit interrupts writes just as a full disk does.
#[test]
fn a_store_that_cannot_write_is_not_ready() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    let script =
        "trap '' XFSZ; ulimit -f 1000; exec \"$0\" serve --listen 127.0.0.1:0 --data \"$1\"";
    command.args(["-c", script, LAPIDARY]).arg(folder.data());
    let server = Server::of(command);
    assert_eq!(
        server.wait_for(200, None).json(),
        json!({ "status": "ready" })
    );
    let failed =
        (0..500).find(|book| server.put(&book.to_string(), &prose(*book, 3_000)).status == 507);
    assert!(failed.is_some(), "no put failed");
    let begun = Instant::now();
    let refused = loop {
        let answer = server.get("/readyz");
        if answer.status == 503 {
            break answer;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "ready, but no book can be put in"
        );
        thread::sleep(Duration::from_millis(50));
    };
    assert!(
        ["no_disk_space", "not_writable"].contains(&refused.json()["code"].as_str().unwrap()),
        "{}",
        refused.body
    );
    assert_eq!(
        server.post("/v1/checks", &prose(0, 3_000)).json()["verdict"],
        "protected",
        "checks go on"
    );
}

#[test]
fn whoever_asks_while_the_catalogue_is_opened_is_told_to_wait() {
    let folder = Folder::new();
    let opening = Opening::bind(Settings {
        listen: vec!["127.0.0.1:0".parse().unwrap()].into(),
        ..Settings::default()
    })
    .unwrap();
    let url = format!("http://{}", opening.addresses()[0]);
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let (go, wait) = mpsc::channel::<()>();
    let (stop, stopped) = mpsc::channel::<()>();
    let data = folder.data();
    let server = thread::spawn(move || {
        let server = opening.open(|| {
            wait.recv().unwrap();
            Catalogue::open_or_create(&data)
        });
        server.unwrap().run_until(async move {
            let _ = actix_web::rt::task::spawn_blocking(move || stopped.recv()).await;
        })
    });
    let alive = answer(agent.get(format!("{url}/healthz")).call());
    assert_eq!(alive.status, 200, "nobody may kill what takes long to open");
    for path in ["/readyz", "/v1/stats", "/metrics"] {
        let refused = answer(agent.get(format!("{url}{path}")).call());
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (503, &json!("starting")),
            "{path}"
        );
    }
    go.send(()).unwrap();
    let begun = Instant::now();
    while answer(agent.get(format!("{url}/readyz")).call()).status != 200 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not become ready"
        );
    }
    drop(stop);
    server.join().unwrap().unwrap();
}

#[test]
fn who_changed_what_is_told_by_the_folder_and_by_the_server() {
    let folder = Folder::new();
    folder.file("books/1.txt", prose(1, 2_000));
    folder.file("books/2.txt", prose(2, 2_000));
    let ingest = "ingest --recipe documented --library shelf --rights free --data {} {}";
    run(ingest, &[folder.data(), folder.path("books")]).expect(0);
    run(ingest, &[folder.data(), folder.path("books")]).expect(0);
    folder.file("books/2.txt", prose(3, 2_000));
    run(ingest, &[folder.data(), folder.path("books")]).expect(0);
    let of_folder = "audit --json --data {}";
    let actions = |lines: &[Value]| {
        let told = lines.iter().map(|line| {
            let said = ["actor", "action", "library", "id", "rights"]
                .map(|field| line[field].as_str().unwrap_or("-"));
            said.join(" ")
        });
        told.collect::<Vec<_>>()
    };
    let mut local = run(of_folder, &[folder.data()]).expect(0).json();
    local.sort_by_key(|line| {
        (
            line["action"] != "recipe_added",
            line["action"] == "replaced",
            line["id"].to_string(),
        )
    });
    let expected = [
        "local recipe_added - - -",
        "local added shelf 1 free",
        "local added shelf 2 free",
        "local replaced shelf 2 free",
    ];
    assert_eq!(actions(&local), expected);

    let server = Server::start(&folder.data(), &[]);
    server.put("3", &prose(4, 2_000));
    server.put("3", &prose(4, 2_000));
    for _ in 0..2 {
        let _ = server
            .agent
            .delete(format!("{}/v1/libraries/shelf/books/1", server.url))
            .call()
            .unwrap();
    }
    let page = |query: &str| server.get(&format!("/v1/audit{query}")).json();
    let first = page("?limit=4");
    assert_eq!(
        (
            first["entries"].as_array().unwrap().len(),
            &first["next_cursor"]
        ),
        (4, &json!("4"))
    );
    let second = page("?cursor=4&limit=4");
    let entries = second["entries"].as_array().unwrap();
    assert_eq!(
        actions(entries),
        [
            "anonymous added shelf 3 protected",
            "anonymous removed shelf 1 free"
        ]
    );
    assert_eq!(
        (&entries[0]["number"], &second["next_cursor"]),
        (&json!(5), &Value::Null)
    );
    let begun = entries[0]["created_at"].as_str().unwrap();
    assert_eq!(page(&format!("?since={begun}")), second);
    assert_eq!(page("?since=2100-01-01T00:00:00Z")["entries"], json!([]));
    assert_eq!(
        page("?since=1970-01-01T00:00:00Z")["entries"]
            .as_array()
            .unwrap()
            .len(),
        6
    );
    for bad in [
        "?cursor=x",
        "?since=yesterday",
        "?cursor=1&since=1970-01-01T00:00:00Z",
        "?limit=0",
        "?colour=red",
    ] {
        assert_eq!(server.get(&format!("/v1/audit{bad}")).status, 400, "{bad}");
    }
    let url = server.url.clone();
    let remote = run(
        &format!("audit --json --since {begun} --server {url}"),
        NO_PATHS,
    )
    .expect(0)
    .json();
    assert_eq!(json!(remote), second["entries"]);
    assert_eq!(
        run(&format!("audit --since 1h --server {url}"), NO_PATHS)
            .expect(0)
            .out
            .lines()
            .count(),
        6
    );
    server.stop();
    run("compact --data {}", &[folder.data()]).expect(0);
    run("verify --data {}", &[folder.data()]).expect(0);
    let whole = run("audit --data {}", &[folder.data()]).expect(0).out;
    let told: Vec<&str> = whole
        .lines()
        .filter_map(|line| line.splitn(3, '\t').nth(2))
        .collect();
    assert_eq!(
        told[5..7],
        [
            "anonymous\tremoved shelf/1 (free)",
            "local\tstarted job 1 (compact)"
        ],
        "{whole}"
    );
}

/// Every metric used by an alert or a dashboard panel exists.
#[test]
fn dashboard_and_alerts_ask_for_metrics_that_there_are() {
    let folder = Folder::new();
    let server = Server::start(&folder.data(), &[]);
    server.put("1", &prose(1, 3_000));
    eventually(&server, "lapidary_books{recipe=\"hardened\"}", 1.0);
    let metrics = server.metrics();
    let known = metrics.names();
    for file in [
        "deploy/grafana/lapidary.json",
        "deploy/prometheus/alerts.yml",
    ] {
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect(file);
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let asked: BTreeSet<&str> = words
            .filter(|word| word.starts_with("lapidary_") || word.starts_with("process_"))
            .collect();
        assert!(asked.len() > 5, "{file}: {asked:?}");
        for name in asked {
            assert!(
                known.contains(name),
                "{file} asks for {name}, which nobody tells"
            );
        }
    }
}
