//! What people read when something is wrong, on the command line and over HTTP.

use std::thread::sleep;
use std::time::Duration;

use crate::common::{Folder, Server, prose, run};
use serde_json::Value;
use ureq::Agent;

/// Words of parsers and frameworks, which say nothing to somebody who did not write this program.
const FOREIGN: [&str; 12] = [
    "Query deserialize error",
    "expected ident",
    "expected value",
    "EOF while",
    "invalid type",
    "unknown variant",
    "at line 1 column",
    "digit found in string",
    "provided string was not",
    "expected struct",
    "expected u",
    "did not match any variant",
];

fn plain(message: &str) {
    for words in FOREIGN {
        assert!(!message.contains(words), "{words:?} in: {message}");
    }
}

/// Sends a request and returns the problem that it is answered with.
fn problem(server: &Server, method: &str, path: &str, kind: &str, body: &str) -> Value {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let url = format!("{}{path}", server.url);
    let answer = match method {
        "GET" => agent.get(url).call(),
        "PUT" => agent.put(url).content_type(kind).send(body),
        _ => agent.post(url).content_type(kind).send(body),
    };
    let mut answer = answer.expect("an answer");
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().expect("a text");
    let first = text.lines().next().unwrap_or_default();
    let json: Value = serde_json::from_str(first).unwrap_or_else(|e| panic!("{e}: {text}"));
    let problem = if json["problem"].is_object() {
        json["problem"].clone()
    } else {
        json
    };
    assert!(
        kind == "application/x-ndjson" || problem["status"] == status,
        "{problem}"
    );
    problem
}

#[test]
fn a_wrong_request_is_answered_in_plain_words() {
    const JSON: &str = "application/json";
    const LINES: &str = "application/x-ndjson";
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let book = "/v1/libraries/l/books/1";
    let table = [
        (
            "POST",
            "/v1/checks",
            JSON,
            "{nonsense}",
            "bad_json",
            "not valid JSON (column 2)",
        ),
        (
            "POST",
            "/v1/checks",
            JSON,
            "{\"text\": ",
            "bad_json",
            "ends too early",
        ),
        (
            "POST",
            "/v1/checks",
            JSON,
            r#"{"text": 5}"#,
            "bad_json",
            "'text': expected a string, not 5",
        ),
        (
            "POST",
            "/v1/checks",
            JSON,
            r#"{"gems": ["x"]}"#,
            "bad_json",
            "'gems[0]': expected a gem: a whole number",
        ),
        (
            "POST",
            "/v1/checks",
            JSON,
            r#"{"text": "a", "colour": 1}"#,
            "bad_json",
            "there is no field 'colour'",
        ),
        (
            "POST",
            "/v1/checks",
            JSON,
            r#"{"text": "a", "day": "soon"}"#,
            "bad_json",
            "'day': expected a date such as",
        ),
        (
            "POST",
            "/v1/checks",
            JSON,
            r#"{"text": "a", "limit": -1}"#,
            "bad_json",
            "'limit': expected a whole number",
        ),
        (
            "POST",
            "/v1/checks?limit=many",
            "text/plain",
            "a",
            "bad_query",
            "'limit': expected a whole number",
        ),
        (
            "POST",
            "/v1/checks?detail=si",
            "text/plain",
            "a",
            "bad_query",
            "'detail': expected true or false",
        ),
        (
            "POST",
            "/v1/checks?colour=1",
            "text/plain",
            "a",
            "bad_query",
            "there is no field 'colour'",
        ),
        (
            "POST",
            "/v1/checks:batch",
            LINES,
            r#"{"text": 5}"#,
            "bad_json",
            "'text': expected a string, not 5",
        ),
        (
            "POST",
            "/v1/checks:batch",
            LINES,
            "[1]",
            "bad_json",
            "the JSON is a list; this call takes an object",
        ),
        (
            "POST",
            "/v1/libraries/l/books",
            LINES,
            r#"{"id": 5}"#,
            "bad_json",
            "'id': expected a string, not 5",
        ),
        (
            "POST",
            "/v1/libraries/l/books",
            LINES,
            r#"{"id": "1"}"#,
            "bad_json",
            "the field 'rights' is missing",
        ),
        (
            "PUT",
            book,
            JSON,
            r#"{"rights": "mine", "text": "a"}"#,
            "bad_json",
            "'mine' is not one of: 'forbidden', 'protected',",
        ),
        (
            "PUT",
            "/v1/libraries/l/books/1?rights=mine",
            "text/plain",
            "a",
            "bad_query",
            "rights are one of: forbidden, protected",
        ),
        (
            "PUT",
            "/v1/libraries/l/books/1?title=a",
            "text/plain",
            "a",
            "bad_query",
            "'rights' is missing",
        ),
        (
            "POST",
            "/v1/jobs",
            JSON,
            r#"{"kind": "fly"}"#,
            "bad_json",
            "'fly' is not one of: 'reindex',",
        ),
        (
            "POST",
            "/v1/jobs",
            JSON,
            r#"{"kind": "reindex", "recipe": 5}"#,
            "bad_json",
            "the possible forms",
        ),
        (
            "POST",
            "/v1/keys",
            JSON,
            r#"{"name": "k", "role": "check", "rate": "fast"}"#,
            "bad_json",
            "'fast' is not a rate",
        ),
        (
            "POST",
            "/v1/keys",
            JSON,
            r#"{"name": "", "role": "check"}"#,
            "bad_key_request",
            "1 to 100 bytes",
        ),
        (
            "GET",
            "/v1/audit?since=now",
            "",
            "",
            "bad_query",
            "2026-01-31T12:00:00Z",
        ),
        (
            "GET",
            "/v1/audit?cursor=-1",
            "",
            "",
            "bad_cursor",
            "leave it out to start at the first page",
        ),
        (
            "POST",
            "/v1/import",
            LINES,
            "{}\n",
            "bad_export",
            "line 1: this is not an export of a catalogue",
        ),
        (
            "POST",
            "/v1/import",
            LINES,
            "{\"lapidary_export\": 1}\n",
            "bad_export",
            "line 1: the field 'recipes' is missing",
        ),
    ];
    for (method, path, kind, body, code, words) in table {
        let problem = problem(&server, method, path, kind, body);
        let detail = problem["detail"].as_str().expect("a detail");
        assert_eq!(problem["code"], code, "{path} {body}: {detail}");
        assert!(detail.contains(words), "{path} {body}: {detail}");
        // What the call takes may be named after it.
        plain(detail);
    }
}

#[test]
fn advice_is_that_of_the_front_end() {
    let folder = Folder::new();
    let file = folder.file("a.txt", prose(1, 2_000));
    let ingest = "ingest --data {} --recipe documented --library l --rights free --id name {}";
    run(ingest, &[folder.data().as_path(), &file]).expect(0);

    let missing = run(
        "check --data {} {}",
        &[folder.path("none").as_path(), &file],
    )
    .expect(2);
    assert!(
        missing
            .err
            .contains("there is no catalogue here; `lapidary ingest --data DIR"),
        "{}",
        missing.err
    );
    let unknown = run(
        "check --data {} --recipe hardened {}",
        &[folder.data().as_path(), &file],
    )
    .expect(2);
    assert!(
        unknown.err.contains("`lapidary reindex`"),
        "{}",
        unknown.err
    );

    let server = Server::start(&folder.data());
    let busy = run("check --data {} {}", &[folder.data().as_path(), &file]).expect(3);
    assert!(busy.err.contains("use --server URL"), "{}", busy.err);
    let check = r#"{"text": "a", "recipe": "hardened"}"#;
    let problem = problem(&server, "POST", "/v1/checks", "application/json", check);
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(
        detail.contains("no recipe 'hardened'") && !detail.contains("lapidary "),
        "{detail}"
    );
    let remote = run(
        &format!("check --server {} --recipe hardened {{}}", server.url),
        &[&file],
    )
    .expect(2);
    assert!(
        remote.err.contains("no recipe 'hardened'") && remote.err.contains("`lapidary reindex`"),
        "{}",
        remote.err
    );
}

/// One book that would lose its gems is refused; the others are added.
#[test]
fn a_book_that_would_be_empty_does_not_stop_an_ingest() {
    let folder = Folder::new();
    folder.file("books/a.txt", prose(1, 2_000));
    folder.file("books/b.txt", prose(2, 2_000));
    let ingest = "ingest --data {} --library l --rights free --id name {}";
    let paths = [folder.data(), folder.path("books")];
    run(ingest, &paths).expect(0);
    folder.file("books/a.txt", "Too short for a gem.");
    folder.file("books/b.txt", prose(3, 2_000));
    folder.file("books/c.txt", prose(4, 2_000));
    let refused = run(ingest, &paths).expect(2);
    assert!(
        refused.err.contains("checks could no longer find it"),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("pass --allow-empty"),
        "{}",
        refused.err
    );
    let books = run("books list --data {} --library l --json", &paths[..1])
        .expect(0)
        .json();
    assert_eq!(books.len(), 3, "{books:?}");
    run(&format!("{ingest} --allow-empty"), &paths).expect(0);
}

#[test]
fn settings_and_files_of_commands_are_explained_too() {
    let folder = Folder::new();
    let serve = |settings: &str| {
        let file = folder.file("lapidary.toml", settings);
        run(
            "serve --check-config --config {} --data {}",
            &[file.as_path(), &folder.data()],
        )
        .expect(2)
        .err
    };
    let table = [
        ("listen = 5", "line 1: 'listen': expected"),
        ("\nmax-body", "line 2: this is not valid TOML"),
        ("\n\ncolour = 1", "line 3: there is no field 'colour'"),
    ];
    for (settings, words) in table {
        let message = serve(settings);
        assert!(message.contains(words), "{message}");
        plain(&message);
    }
    let book = folder.file("a.txt", prose(1, 2_000));
    let metadata = folder.file(
        "metadata.jsonl",
        r#"{"file": "a.txt", "authors": "N. Gogol"}"#,
    );
    let paths = [folder.data(), metadata, book];
    let wrong = run(
        "ingest --data {} --library l --rights free --metadata {} {}",
        &paths,
    )
    .expect(2)
    .err;
    assert!(
        wrong.contains("line 1: 'authors': expected a list, not \"N. Gogol\""),
        "{wrong}"
    );
    plain(&wrong);
}

/// What a server says of what it does not have.
#[test]
fn what_is_missing_has_a_code() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let gems = format!("{{\"gems\": [{}0]}}", "0,".repeat(101_000));
    let table = [
        ("GET", "/v1/lexicons/none", "", "no_such_lexicon"),
        ("GET", "/v1/recipes/none", "", "no_such_recipe"),
        ("GET", "/v1/libraries/l/webhook", "", "no_such_webhook"),
        ("POST", "/v1/checks", &gems, "too_many_elements"),
    ];
    for (method, path, body, code) in table {
        let problem = problem(&server, method, path, "application/json", body);
        assert_eq!(
            problem["code"].as_str().unwrap_or_default(),
            code,
            "{problem}"
        );
    }
}

#[test]
fn a_job_that_has_ended_is_not_cancelled() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let job = format!("{}/v1/jobs", server.url);
    let begun = ureq::post(&job).content_type("application/json");
    begun.send(r#"{"kind": "compact"}"#).expect("a job");
    let is_running = |_: &u32| {
        let mut answer = ureq::get(format!("{job}/1")).call().expect("the job");
        let job = answer.body_mut().read_to_string().expect("a text");
        job.contains(r#""state":"running""#)
    };
    for _ in (0..3_000).take_while(is_running) {
        sleep(Duration::from_millis(20));
    }
    let ended = problem(&server, "POST", "/v1/jobs/1/cancel", "", "");
    assert_eq!(ended["code"], "job_ended", "{ended}");
}

#[test]
fn a_request_that_takes_more_memory_than_one_client_may_is_too_large() {
    let folder = Folder::new();
    let limits = "--max-body 4MiB --body-memory 4MiB";
    let server = Server::start_with(limits, &[], &folder.data());
    let body = "word ".repeat(800_000);
    let problem = problem(&server, "POST", "/v1/checks", "text/plain", &body);
    assert_eq!(problem["code"], "too_much_memory", "{problem}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_that_cannot_be_written_says_so() {
    let folder = Folder::new();
    let file = folder.file("a.txt", prose(1, 2_000));
    let ingest = "ingest --data {} --library l --rights free --id name {}";
    run(ingest, &[folder.data().as_path(), &file]).expect(0);
    // A link, so that a device is not lost if it is replaced.
    let full = folder.path("full");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let failed = run("export --data {} {}", &[folder.data(), full]).expect(3);
    assert!(
        failed.err.contains("cannot write the output"),
        "{}",
        failed.err
    );
}
