//! Each error code is provoked: by a request below, or by the test that brings about what takes more than one.

use std::fs;
use std::path::Path;

use lapidary_common::error::ErrorCode;
use serde_json::{Value, json};

use crate::common::{Folder, Server, key, prose, run};
use crate::makers;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";
const LINES: &str = "application/x-ndjson";
const FORM: &str = "application/x-www-form-urlencoded";

/// Faults of the disk, and what happens in the moment of a signal.
const HEALTH: &str = "../src/server/health.rs";

const CHECK: &str = "/v1/checks";
const BOOK: &str = "/v1/libraries/house/books/one";

/// What brings about an error.
enum Cause {
    /// A request with the key of an administrator.
    Request(Request),
    /// A test in this file of the folder, which expects the code.
    Test(&'static str),
    /// A test in this file, which expects these words: commands and jobs tell no code, and unit tests look inside.
    Words(&'static str, &'static str),
    /// A command on a folder of this name, which fails with these words.
    Command(&'static str, &'static str, &'static str),
    /// It takes two recipes with the same digest.
    Collision,
}

/// A request to a server with the book `house/one`.
struct Request {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

fn request(method: &'static str, path: &str, kind: &str, body: impl Into<Vec<u8>>) -> Request {
    Request {
        method,
        path: path.to_owned(),
        headers: vec![("content-type", kind.to_owned())],
        body: body.into(),
    }
}

impl Request {
    fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((header, value.into()));
        self
    }
}

fn get(path: &str) -> Cause {
    Cause::Request(request("GET", path, "", ""))
}

fn post(path: &str, body: &Value) -> Cause {
    Cause::Request(request("POST", path, JSON, body.to_string()))
}

fn put(path: &str, body: &Value) -> Cause {
    Cause::Request(request("PUT", path, JSON, body.to_string()))
}

fn check(kind: &str, body: impl Into<Vec<u8>>) -> Cause {
    Cause::Request(request("POST", CHECK, kind, body))
}

fn with(header: &'static str, value: &str) -> Cause {
    Cause::Request(request("POST", CHECK, TEXT, "words").with(header, value))
}

/// A request with a key of a publisher, whose library is `house`.
fn of_publisher(publisher: &str, method: &'static str, path: &str) -> Cause {
    let request = request(method, path, TEXT, "words of a book");
    Cause::Request(request.with("authorization", format!("Bearer {publisher}")))
}

fn locked() -> Vec<u8> {
    makers::zip(&[
        ("mimetype", &b"application/vnd.oasis.opendocument.text"[..]),
        (
            "META-INF/manifest.xml",
            b"<manifest><encryption-data/></manifest>",
        ),
    ])
}

fn numbers(count: usize) -> Value {
    json!({ "gems": vec![1; count] })
}

/// A code without a cause does not compile.
#[expect(clippy::match_same_arms, reason = "a table, in the order of the codes")]
fn cause(code: ErrorCode, publisher: &str) -> Cause {
    use Cause::{Command, Test, Words};
    use ErrorCode as E;
    let long = "x".repeat(5_000);
    match code {
        E::BadCursor => get("/v1/keys?cursor=x"),
        E::BadForm => check("multipart/form-data; boundary=x", "--x--\r\n"),
        E::BadGems => Cause::Request(request(
            "POST",
            "/copyright_check_by_gems/",
            FORM,
            "gems=1,x",
        )),
        E::BadIdempotencyKey => Cause::Request(
            request("POST", "/v1/jobs", JSON, r#"{"kind":"verify"}"#)
                .with("idempotency-key", "short"),
        ),
        E::BadJson => check(JSON, "{"),
        E::BadLimit => get("/v1/keys?limit=0"),
        E::BadPath => get("/v1/libraries/%ff/books/one"),
        E::BadPrecondition => Cause::Request(request("DELETE", BOOK, "", "").with("if-match", "0")),
        E::BadQuery => get("/v1/keys?colour=red"),
        E::BadRef => Cause::Request(request(
            "POST",
            "/v1/checks:batch",
            LINES,
            json!({ "gems": [1], "ref": long }).to_string(),
        )),
        E::BrokenBody => with("content-encoding", "gzip"),
        E::NoPreconditions => with("if-match", "*"),
        E::Undecodable => check(TEXT, b"fine \xff broken"),

        E::BadKey => with("authorization", "Bearer lap_x"),
        E::KeyExpired => Test("access.rs"),
        E::NoKey => with("authorization", "Basic lap_x"),

        E::CrossSite => Test("access.rs"),
        E::MayNotForbid => of_publisher(
            publisher,
            "PUT",
            "/v1/libraries/house/books/two?rights=forbidden",
        ),
        E::NotAllowed => of_publisher(publisher, "GET", "/v1/keys"),
        E::SetByAdministrator => Test("trust.rs"),
        E::NotYourLibrary => of_publisher(publisher, "GET", "/v1/libraries/other/books/one"),

        E::NoSuchAllowList => get("/v1/allow-lists/none"),
        E::NoSuchBatch => get("/v1/batches/none"),
        E::NoSuchBook => get("/v1/libraries/house/books/none"),
        E::NoSuchDecision => get("/v1/decisions/none"),
        E::NoSuchJob => get("/v1/jobs/77"),
        E::NoSuchKey => get("/v1/keys/none"),
        E::NoSuchLexicon => get("/v1/lexicons/none"),
        E::NoSuchLibrary => get("/v1/libraries/none/books"),
        E::NoSuchLink => Test("http/links.rs"),
        E::NoSuchRecipe => get("/v1/recipes/none"),
        E::NoSuchSource => get("/v1/sources/none"),
        E::NoSuchText => get("/v1/libraries/house/texts/one"),
        E::NoSuchWebhook => get("/v1/libraries/house/webhook"),
        E::NotFound => get("/v1/nothing"),

        E::MethodNotAllowed => get(CHECK),
        E::BodyStalled => Test("attack.rs"),

        E::CheckIncomplete => Test("http/gate.rs"),
        E::Duplicate => Test("forms.rs"),
        E::IsDefault => Test("jobs.rs"),
        E::JobEnded => Test("errors.rs"),
        E::JobRuns => Test("jobs.rs"),
        E::KeyExists => post("/v1/keys", &json!({ "name": "root", "role": "check" })),
        E::Matches => put(
            "/v1/libraries/house/books/two?unless=protected",
            &json!({ "rights": "free", "text": prose(1, 3_000) }),
        ),
        E::NotOffered => check(JSON, r#"{"url":"https://books.example/one"}"#),
        E::NotRecut => Words("jobs.rs", "cannot get gems of recipe"),
        E::NothingToWithdraw => Test("http/decisions.rs"),
        E::OtherText => Test("jobs.rs"),
        E::RecipeDiffers => Cause::Collision,
        E::RecipeIncomplete => Test("jobs.rs"),
        E::RequestRuns => Test("once.rs"),
        E::SourceExists => Test("tenants.rs"),
        E::SourcePaused => Test("sources/served.rs"),
        E::SourceRuns => Words("sources/cluster.rs", "is being run"),
        E::TrustStated => Test("trust.rs"),
        E::WouldBeEmpty => put(BOOK, &json!({ "rights": "free", "text": "…" })),

        E::PreconditionFailed => {
            Cause::Request(request("DELETE", BOOK, "", "").with("if-match", "\"0\""))
        }

        E::BodyTooLarge => check(TEXT, vec![b'a'; (4 << 20) + 1]),
        E::TooManyChecks => Test("http/streams.rs"),
        E::TooManyElements => check(JSON, numbers(102_000).to_string()),
        E::TooManyFiles => check(
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\r\n".repeat(5_000),
        ),
        E::TooManyGems => check(JSON, numbers(100_001).to_string()),
        E::TooManyRecipes => Test("http/checks.rs"),
        E::TooMuchMemory => Test("errors.rs"),

        E::UnknownCharset => check("text/plain; charset=klingon", "a"),
        E::UnknownContentEncoding => with("content-encoding", "br"),
        E::UnknownContentType => check(FORM, "gems=1"),

        E::UnknownHost => Test("access.rs"),

        E::BadAssignee => Test("http/decisions.rs"),
        E::BadBatch => post("/v1/batches", &json!({ "files": [] })),
        E::BadDecision => Test("http/decisions.rs"),
        E::BadEvents => Test("key_webhooks.rs"),
        E::BadExport => Cause::Request(request("POST", "/v1/import", LINES, "{}\n")),
        E::BadGem => check(JSON, r#"{"gems":[4294967296]}"#),
        E::BadKeyRequest => post("/v1/keys", &json!({ "name": "", "role": "check" })),
        E::BadLink => Test("http/links.rs"),
        E::BadName => get("/v1/libraries/house/books/%00"),
        E::BadRecipe => Cause::Request(request("POST", "/v1/recipes?recipe=tf-idf", TEXT, "")),
        E::BadReplay => Test("key_webhooks.rs"),
        E::BadSource => put(
            "/v1/sources/it",
            &json!({ "kind": "folder", "url": "/no/such/folder", "library": "house", "rights": "free" }),
        ),
        E::BadTable => Test("http/tables.rs"),
        E::BadTask => post("/v1/jobs", &json!({ "kind": "backup", "keep": 0 })),
        E::BadValidity => Cause::Request(request(
            "PATCH",
            BOOK,
            JSON,
            r#"{"validity":{"from":"2026-02-01","until":"2026-01-01"}}"#,
        )),
        E::BadWebhook => put(
            "/v1/libraries/house/webhook",
            &json!({ "url": "http://127.0.0.1:9/" }),
        ),
        E::Damaged => check(BYTES, "PK\x03\x04rest of a file"),
        E::OtherRequest => Test("once.rs"),
        E::Encrypted => check(BYTES, locked()),
        E::LongNote => Cause::Request(request(
            "PATCH",
            BOOK,
            JSON,
            json!({ "note": long }).to_string(),
        )),
        E::NoText => put(
            "/v1/libraries/house/books/two",
            &json!({ "rights": "free", "text": " \n" }),
        ),
        E::NotFetched => Test("sources/fetched.rs"),
        E::NotReadable => check(BYTES, &b"AT&TFORM\0\0\0\x0cDJVUINFO"[..]),
        E::NotText => check(BYTES, vec![0; 10_000]),
        E::NothingToAllow => put("/v1/allow-lists/few", &json!({ "text": "short" })),
        E::OverLimit => check(BYTES, makers::gz(&vec![b' '; 64 << 20])),
        E::SecretRecipe => Test("secret.rs"),
        E::SeveralBooks => Cause::Request(request(
            "PUT",
            "/v1/libraries/house/books/two?rights=free",
            BYTES,
            makers::zip(&[("a.txt", &b"A stone."[..]), ("b.txt", b"A tree.")]),
        )),
        E::TooLong => check(
            JSON,
            json!({ "text": "a", "library": long.repeat(20) }).to_string(),
        ),
        E::UnknownRecipe => check(JSON, r#"{"text":"a","recipe":"nonesuch"}"#),

        E::TooManyRequests => Test("access.rs"),

        E::CatalogueExists => Words("copy.rs", "there is already a catalogue here"),
        E::NoBackup => Command(
            "restore --from {} --data new",
            "other",
            "there is no backup of a catalogue here",
        ),
        E::NoCatalogue => Command("stats --data {}", "new", "there is no catalogue here"),
        E::NotACatalogue => Command("stats --data {}", "other", "is not a Lapidary catalogue"),
        E::UnfinishedCopy => Words("copy.rs", "this is an unfinished copy of"),
        E::InUse => Command("stats --data {}", "catalogue", "in use by process"),

        E::ChangedMeanwhile => Test("servers.rs"),
        E::DiskNearlyFull => Test("watch.rs"),
        E::NoDiskSpace | E::NotWritable => Test("scarce.rs"),
        E::NotReplicated | E::StoreFull => Test("faults/mod.rs"),
        E::Overloaded => Test("sources/fetched.rs"),
        E::SourceUnreachable => Words("sources/hostile.rs", "addresses are left"),
        E::Starting => Test("watch.rs"),
        E::ReadOnly => Words(HEALTH, "HealthFault::ReadOnly);"),
        E::Stopping => Words(HEALTH, "fn a_server_that_stops_is_not_ready"),
        E::StoreSilent => Words(HEALTH, "Some(HealthFault::Silent));"),
        E::StoreEmptied => Test("cluster.rs"),
        E::StoreUnavailable => Test("cluster.rs"),

        E::DiskFull | E::Internal | E::StoreFailed => Test("http/serving.rs"),
        E::RevokedInMemory => Test("scarce.rs"),
        E::ExportFailed => Words("errors.rs", "cannot write the output"),
    }
}

fn code_of(server: &Server, admin: &str, request: Request) -> Value {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build()
        .into();
    let mut sent = ureq::http::Request::builder()
        .method(request.method)
        .uri(format!("{}{}", server.url, request.path));
    let is_signed = |(name, _): &(&str, String)| *name == "authorization";
    if !request.headers.iter().any(is_signed) {
        sent = sent.header("authorization", format!("Bearer {admin}"));
    }
    for (name, value) in &request.headers {
        sent = sent.header(*name, value);
    }
    let sent = sent.body(request.body).expect("a request");
    let mut answer = agent.run(sent).expect("an answer");
    let text = answer.body_mut().read_to_string().expect("a text");
    let first = text.lines().next().unwrap_or_default();
    let answer: Value = serde_json::from_str(first).unwrap_or_default();
    let problem = if answer["problem"].is_object() {
        &answer["problem"]
    } else {
        &answer
    };
    problem["code"].clone()
}

#[test]
fn each_code_is_provoked() {
    let folder = Folder::new();
    let data = folder.path("catalogue");
    fs::create_dir(folder.path("other")).expect("a folder");
    folder.file("other/notes.txt", "no catalogue");
    let file = folder.file("one.txt", prose(1, 3_000));
    let ingest = "ingest --data {} --library house --rights protected --id name {}";
    run(ingest, &[&data, &file]).expect(0);
    let admin = key(&data, "--role admin root");
    let publisher = key(&data, "--role ingest --library house --trusted publisher");
    let server = Server::start_with("--max-body 4MiB", &[], &data);
    let mut others = Vec::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for code in ErrorCode::ALL {
        let (file, words) = match cause(*code, &publisher) {
            Cause::Request(request) => {
                let path = request.path.clone();
                let found = code_of(&server, &admin, request);
                if found != code.as_str() {
                    others.push(format!("{}: {path}: {found}", code.as_str()));
                }
                continue;
            }
            Cause::Test(file) => (file, format!("\"{}\"", code.as_str())),
            Cause::Words(file, words) => (file, words.to_owned()),
            Cause::Command(line, name, words) => {
                let failed = run(line, &[folder.path(name)]);
                assert!(failed.err.contains(words), "{}", failed.err);
                continue;
            }
            Cause::Collision => continue,
        };
        let test = fs::read_to_string(tests.join(file)).expect("a file of tests");
        assert!(test.contains(&words), "{}: {file}", code.as_str());
    }
    assert!(others.is_empty(), "{others:#?}");
    assert_eq!(server.stop(), Some(0));
}
