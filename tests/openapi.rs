//! Consistency of the documentation: `docs/openapi.json` describes the current API, and the tests named in
//! `docs/reference/security.md` exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lapidary::server::openapi;
use serde_json::{Value, json};
use ureq::http::Request;
use ureq::{Agent, SendBody};
use walkdir::WalkDir;

use crate::common::{Folder, Server, key};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");

#[test]
fn the_description_is_up_to_date() {
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        fs::write(FILE, openapi()).expect("a file");
    }
    let written = fs::read_to_string(FILE).expect("docs/openapi.json");
    let same = written == openapi();
    assert!(
        same,
        "docs/openapi.json is of other calls: UPDATE_OPENAPI=1 cargo test --test program writes it anew"
    );
}

#[test]
fn it_is_openapi_and_every_reference_leads_somewhere() {
    let text = openapi();
    let api: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(api["openapi"], "3.1.0");
    for reference in text.split("\"$ref\": \"#").skip(1) {
        let pointer = reference.split('"').next().expect("an end");
        assert!(api.pointer(pointer).is_some(), "{pointer}");
    }
}

/// Schemas in an `allOf` must not forbid additional fields, because no value could satisfy all of them.
#[test]
fn nothing_is_composed_of_what_allows_no_other_fields() {
    let api: Value = serde_json::from_str(&openapi()).expect("JSON");
    for (name, schema) in api["components"]["schemas"].as_object().expect("schemas") {
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let part = part["$ref"]
                .as_str()
                .map_or(Some(part), |to| api.pointer(to.trim_start_matches('#')));
            assert_ne!(
                part.expect("it leads somewhere")["additionalProperties"],
                false,
                "{name}"
            );
        }
    }
}

/// Every test named in `docs/reference/security.md` exists.
/// All files in these folders that are text.
fn sources(folders: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = folders
        .iter()
        .flat_map(|folder| WalkDir::new(root.join(folder)));
    files
        .filter_map(|entry| {
            let file = entry.ok().filter(|entry| entry.file_type().is_file())?;
            fs::read_to_string(file.path()).ok()
        })
        .collect()
}

/// Of two types with one name, the description would have only one.
#[test]
fn each_type_of_the_description_has_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for source in sources(&["src", "crates"]) {
        let (mut is_described, mut renamed) = (false, None);
        for line in source.lines().map(str::trim) {
            is_described |= line.contains("ToSchema") && !line.starts_with("use ");
            is_described |= line == "words! {";
            if let Some((_, name)) = line.split_once("#[schema(as = ") {
                renamed = Some(name.trim_end_matches(")]").to_owned());
            }
            let declared = ["struct ", "enum "].iter().find_map(|kind| {
                let name = line.strip_prefix("pub ").unwrap_or(line);
                let name = name.strip_prefix(kind)?;
                name.split(|c: char| !c.is_alphanumeric()).next()
            });
            if let Some(name) = declared {
                let name = renamed.take().unwrap_or_else(|| name.to_owned());
                // A macro declares one by a variable.
                let is_one = is_described && !name.is_empty();
                assert!(!is_one || names.insert(name.clone()), "two are {name}");
                is_described = false;
            }
        }
    }
    assert!(names.len() > 90, "{names:?}");
}

#[test]
fn every_test_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = sources(&["src", "crates", "tests"]);
    let page = fs::read_to_string(root.join("docs/reference/security.md")).expect("a page");
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let shown_by = row
            .trim_end_matches(['|', ' '])
            .rsplit('|')
            .next()
            .expect("a column");
        for name in shown_by
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.matches('_').count() > 1)
        {
            // A long name may be abbreviated at its end.
            let start = format!("fn {}", name.trim_end_matches('…'));
            // A test of every engine has a type parameter.
            let ends: &[&str] = if name.ends_with('…') {
                &[""]
            } else {
                &["(", "<"]
            };
            let is_in = |source: &String| {
                ends.iter()
                    .any(|end| source.contains(&(start.clone() + end)))
            };
            assert!(sources.iter().any(is_in), "{name}");
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
}

/// Executes each call with its example, as a reader of `/docs/api/` can.
#[test]
fn every_call_works_with_its_example() {
    let folder = Folder::new();
    let key = key(&folder.data(), "--role admin admin");
    let server = Server::start(&folder.data());
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let send = |method: &str, path: &str, (kind, body): (&str, String)| {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", server.url))
            .header("X-Api-Key", &key);
        if !kind.is_empty() {
            request = request.header("Content-Type", kind);
        }
        let mut answer = agent
            .run(
                request
                    .body(SendBody::from_owned_reader(std::io::Cursor::new(body)))
                    .unwrap(),
            )
            .unwrap();
        let kind = answer.body().mime_type().unwrap_or_default().to_owned();
        let place = answer.headers().get("location");
        let place = place
            .and_then(|place| place.to_str().ok())
            .map(str::to_owned);
        (
            answer.status().as_u16().to_string(),
            kind,
            answer.body_mut().read_to_string().unwrap(),
            place,
        )
    };
    let api: Value = serde_json::from_str(&openapi()).expect("JSON");
    let paths = api["paths"].as_object().expect("paths");
    let calls = paths.iter().flat_map(|(path, calls)| {
        calls
            .as_object()
            .expect("calls")
            .iter()
            .map(move |call| (path, call))
    });
    let mut calls: Vec<(&String, (&String, &Value))> = calls.collect();
    // Create resources before showing them, and remove them last.
    let order = ["put", "post", "patch", "get", "delete"];
    calls.sort_by_key(|(_, (method, _))| order.iter().position(|known| known == method));
    assert!(calls.len() > 30, "{}", calls.len());
    for (path, (method, call)) in calls {
        let mut target = path.clone();
        for parameter in call["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["in"] == "path")
        {
            let example = parameter["example"]
                .as_str()
                .map_or_else(|| parameter["example"].to_string(), str::to_owned);
            target = target.replace(
                &format!("{{{}}}", parameter["name"].as_str().expect("a name")),
                &example,
            );
        }
        let query = call["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["in"] == "query");
        let examples =
            query.filter_map(|one| Some((one["name"].as_str()?, one["example"].as_str()?)));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(examples)
            .finish();
        if !query.is_empty() {
            target = format!("{target}?{query}");
        }
        if call["operationId"] == "cancel_job" {
            // Cancel a job that is still running, because it waits for texts.
            let examples = &paths["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
                ["examples"];
            let started = send(
                "POST",
                "/v1/jobs",
                ("application/json", examples["reindex"]["value"].to_string()),
            )
            .2;
            let started: Value = serde_json::from_str(&started).expect("a job");
            target = format!("/v1/jobs/{}/cancel", started["id"]);
        }
        if ["duplicate_groups", "duplicate_overlaps"]
            .contains(&call["operationId"].as_str().expect("a name"))
        {
            // Let the job find them.
            let started = send(
                "POST",
                "/v1/jobs",
                ("application/json", r#"{"kind": "duplicates"}"#.to_owned()),
            )
            .2;
            let started: Value = serde_json::from_str(&started).expect("a job");
            let job = format!("/v1/jobs/{}", started["id"]);
            while !send("GET", &job, ("", String::new()))
                .2
                .contains(r#""state":"done""#)
            {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let found = target.rsplit('/').next().unwrap_or_default().to_owned();
            target = format!("{job}/{found}");
        }
        if call["operationId"] == "resolve_duplicates" {
            // Add the other book that it is about.
            let other = "/v1/libraries/mine/books/preface?rights=free";
            send("PUT", other, ("text/plain", "A preface.".to_owned()));
        }
        let (kind, mut example_body) = example(&call["requestBody"]);
        let about_links = ["report_link", "delete_report_link", "shared_report"];
        let about_checks = [
            "decision",
            "decide",
            "delete_evidence",
            "report_links",
            "make_report_link",
            "filed_page",
            "filed_page_of_text",
            "filed_passages",
        ];
        let name = call["operationId"].as_str().expect("a name");
        if about_checks.contains(&name) || about_links.contains(&name) {
            // File the check that it is about.
            let text = if kind == "text/plain" {
                &example_body
            } else {
                "Gems"
            };
            let filed = json!({ "text": text, "record": true });
            let filed = send(
                "POST",
                "/v1/checks",
                ("application/json", filed.to_string()),
            )
            .2;
            let filed: Value = serde_json::from_str(&filed).expect("a report");
            let example = "01890a5d-ac96-774b-bcce-b302099a8057";
            let id = filed["filed"].as_str().expect("an id");
            (example_body, target) = (
                example_body.replace(example, id),
                target.replace(example, id),
            );
            if about_links.contains(&name) {
                let links = format!("/v1/decisions/{id}/links");
                let made = send("POST", &links, ("application/json", "{}".to_owned())).2;
                let made: Value = serde_json::from_str(&made).expect("a link");
                let link = made["id"].as_str().expect("an id");
                target = match name {
                    "shared_report" => made["url"].as_str().expect("a path").to_owned(),
                    _ => format!("{links}/{link}"),
                };
            }
        }
        if name == "object_events" {
            // The server has no buckets.
            example_body = example_body.replace("ObjectCreated:Put", "ObjectRemoved:Delete");
        }
        if name == "batch" {
            let new = r#"{"files": ["an upload.epub"]}"#.to_owned();
            let made = send("POST", "/v1/batches", ("application/json", new)).2;
            let made: Value = serde_json::from_str(&made).expect("a batch");
            target = format!("/v1/batches/{}", made["id"].as_str().expect("an id"));
        }
        if call["operationId"] == "book_text" {
            // Texts are not kept by default.
            let book =
                r#"{"rights": "free", "text": "Gems", "keep_text": true, "allow_empty": true}"#
                    .to_owned();
            let kept = send(
                "PUT",
                &target.replace("/texts/", "/books/"),
                ("application/json", book),
            );
            assert_eq!(kept.0, "200", "{}", kept.2);
        }
        if ["delete_key_webhook", "delete_own_webhook"]
            .contains(&call["operationId"].as_str().expect("a name"))
        {
            // Both are of the key that calls.
            let new = r#"{"url": "https://books.example/lapidary"}"#.to_owned();
            let set = send("PUT", "/v1/me/webhook", ("application/json", new));
            assert!(set.0.starts_with('2'), "{}", set.2);
            target = target.replace("/keys/me/", "/keys/admin/");
        }
        let (status, kind, body, place) =
            send(&method.to_uppercase(), &target, (kind, example_body));
        assert!(
            status.starts_with('2'),
            "{method} {target}: {status} {body}"
        );
        let answers = &call["responses"][&status]["content"];
        assert!(
            answers.is_null() && kind.is_empty() || answers[&kind].is_object(),
            "{method} {target}: {status} {kind}"
        );
        let is_new = ["201", "202"].contains(&&*status);
        assert_eq!(
            place.is_some(),
            is_new,
            "{method} {target}: {status} {place:?}"
        );
        if let Some(place) = place {
            assert_eq!(send("GET", &place, ("", String::new())).0, "200", "{place}");
        }
    }
}

/// The first example of a body, with its content type.
fn example(body: &Value) -> (&str, String) {
    let Some(content) = body["content"].as_object() else {
        return ("", String::new());
    };
    // What takes nothing but a form compares two files.
    if let (1, Some(form)) = (content.len(), content.get("multipart/form-data")) {
        let file = form["example"]["file"][0].as_str().expect("a text");
        let part =
            format!("--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{file}\r\n");
        return (
            "multipart/form-data; boundary=x",
            format!("{part}{part}--x--\r\n"),
        );
    }
    // The program that sends a form chooses its boundary.
    let contents = content
        .iter()
        .filter(|(kind, _)| *kind != "multipart/form-data");
    let examples = contents.filter_map(|(kind, content)| {
        let first = content["examples"]
            .as_object()
            .and_then(|examples| examples.values().next());
        Some((
            kind.as_str(),
            content
                .get("example")
                .or(first.map(|first| &first["value"]))?,
        ))
    });
    let (kind, example) = examples
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no example: {body}"));
    let fields = |fields: &serde_json::Map<String, Value>| {
        let fields = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_str().expect("text")));
        fields.collect::<Vec<_>>().join("&")
    };
    let written = match example {
        Value::String(text) => text.clone(),
        Value::Object(form) if kind == "application/x-www-form-urlencoded" => fields(form),
        example => example.to_string(),
    };
    (kind, written)
}

/// No schema is empty: it would be useless to clients, and generated clients could not parse the response.
#[test]
fn every_schema_says_what_it_is_of() {
    fn look(schema: &Value, place: &str) {
        match schema {
            Value::Object(fields) => {
                for (name, part) in fields {
                    let is_schema =
                        name == "schema" || name == "items" || place.ends_with("/properties");
                    let empty = part
                        .as_object()
                        .is_some_and(|part| !part.keys().any(|key| key != "description"));
                    // `ref` is a client's own reference, which may be any JSON.
                    assert!(!(is_schema && empty) || name == "ref", "{place}/{name}");
                    look(part, &format!("{place}/{name}"));
                }
            }
            Value::Array(parts) => parts.iter().for_each(|part| look(part, place)),
            _ => {}
        }
    }
    let api: Value = serde_json::from_str(&openapi()).expect("JSON");
    look(&api["paths"], "");
    look(&api["components"]["schemas"], "");
    assert_eq!(
        api["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"],
        json!({
            "$ref": "#/components/schemas/Problem"
        })
    );
}

/// A generated client knows where to send its calls, how to send its key, which codes there are, and what it is sent.
#[test]
fn a_client_can_be_generated_from_it() {
    let api: Value = serde_json::from_str(&openapi()).expect("JSON");
    assert_eq!(api["servers"], json!([{ "url": "/" }]));
    assert_eq!(
        api["webhooks"]["book.matched"]["post"]["requestBody"]["content"]["application/json"]["schema"]
            ["$ref"],
        "#/components/schemas/WebhookEvent"
    );
    let codes = &api["components"]["schemas"]["Problem"]["properties"]["code"]["enum"];
    assert!(
        codes
            .as_array()
            .is_some_and(|codes| codes.contains(&json!("no_such_book")))
    );
    for (path, calls) in api["paths"].as_object().expect("paths") {
        for (method, call) in calls.as_object().expect("calls") {
            let security = call["security"].as_array().expect("a list");
            assert!(!security.contains(&json!({})), "{method} {path}");
            for (status, answer) in call["responses"].as_object().expect("answers") {
                let is_new = ["201", "202"].contains(&status.as_str());
                assert_eq!(
                    answer["headers"]["Location"].is_object(),
                    is_new,
                    "{method} {path}: {status}"
                );
            }
        }
    }
}
