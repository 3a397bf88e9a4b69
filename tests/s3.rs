//! Checks of objects in buckets, and notifications of them.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::client::Client;
use crate::common::moto::Moto;
use crate::common::{Folder, Random, Server, key, prose, run};

const BUCKET: &str = "uploads";

/// A server that knows a protected book, with the key of its bucket.
fn server(folder: &Folder, endpoint: &str, text: &str) -> (Server, Client) {
    server_with("id:secret", folder, endpoint, text)
}

/// The same, with this access key.
fn server_with(access: &str, folder: &Folder, endpoint: &str, text: &str) -> (Server, Client) {
    let file = folder.file("book.txt", text);
    let line = "ingest --data {} --library lib --rights protected {}";
    run(line, &[folder.data(), file]).expect(0);
    let secret = key(&folder.data(), "--role check uploads");
    folder.file("credentials", access);
    let server = started(folder, endpoint);
    let client = Client::new(&server, &secret);
    (server, client)
}

/// A server for the catalogue of the folder, which may have been killed before.
fn started(folder: &Folder, endpoint: &str) -> Server {
    let options = format!(
        "--max-body 1000000 --s3-endpoint {endpoint} --s3-buckets {BUCKET} --s3-key uploads --s3-credentials {{}}"
    );
    Server::start_with(&options, &[&folder.path("credentials")], &folder.data())
}

fn check(client: &Client, url: &str) -> (u16, Value) {
    client.json("POST", "/v1/checks", &json!({ "url": url }))
}

fn event(name: &str, bucket: &str, key: &str) -> Value {
    let object = json!({ "key": key, "size": 1, "sequencer": "A1" });
    json!({ "eventVersion": "2.1", "eventName": name, "s3": { "bucket": { "name": bucket }, "object": object } })
}

fn notify(client: &Client, events: &[Value]) -> (u16, Value) {
    let notification = json!({ "EventName": "s3:ObjectCreated:Put", "Records": events });
    client.json("POST", "/v1/s3/events", &notification)
}

#[test]
fn objects_are_checked_and_tagged() {
    let moto = Moto::start();
    let (folder, text) = (Folder::new(), prose(1, 3_000));
    let (server, client) = server(&folder, &moto.url, &text);
    moto.put("a%20b/%D0%96%2B1.txt", &text);
    moto.put("other.txt", prose(2, 3_000));
    moto.put("picture", b"\xff\xd8\xff\xe0\0\x10JFIF\0");
    moto.put("large.txt", prose(3, 300_000));

    let (status, report) = check(&client, "s3://uploads/a b/Ж+1.txt");
    assert_eq!(
        (status, &report["verdict"]),
        (200, &"protected".into()),
        "{report}"
    );
    for (url, status, code) in [
        ("s3://uploads/missing", 422, "not_fetched"),
        ("s3://uploads/../other/a", 422, "not_fetched"),
        ("s3://uploads", 422, "not_fetched"),
        ("s3://other/a", 422, "not_fetched"),
        ("s3://uploads/picture", 422, "not_text"),
        ("s3://uploads/large.txt", 413, "body_too_large"),
        ("https://books.example/", 409, "not_offered"),
    ] {
        let (answered, problem) = check(&client, url);
        assert_eq!(
            (answered, &problem["code"]),
            (status, &code.into()),
            "{url} {problem}"
        );
    }

    let tags = "<Tagging><TagSet><Tag><Key>owner</Key><Value>me + you</Value></Tag>\
                <Tag><Key>lapidary-old</Key><Value>1</Value></Tag></TagSet></Tagging>";
    moto.put("other.txt?tagging", tags);
    let events = [
        event("s3:ObjectCreated:Put", BUCKET, "a+b/%D0%96%2B1.txt"),
        event("ObjectCreated:CompleteMultipartUpload", BUCKET, "other.txt"),
        event("ObjectCreated:Copy", BUCKET, "picture"),
        event("ObjectCreated:Post", BUCKET, "large.txt"),
        event("ObjectCreated:Put", BUCKET, "missing"),
        event("ObjectRemoved:Delete", BUCKET, "other.txt"),
        event("s3:ObjectCreated:PutTagging", BUCKET, "other.txt"),
    ];
    let (status, answer) = notify(&client, &events);
    assert_eq!(status, 200, "{answer}");
    let objects = answer["objects"].as_array().expect("a list");
    let codes: Vec<&Value> = objects
        .iter()
        .map(|object| &object["problem"]["code"])
        .collect();
    let expected = json!([null, null, "not_text", "body_too_large", "not_fetched"]);
    assert_eq!(json!(codes), expected, "{answer}");
    assert_eq!(objects[0]["url"], "s3://uploads/a b/Ж+1.txt");
    let filed = objects[0]["filed"].as_str().expect("an id");
    let found = moto.tags("a%20b/%D0%96%2B1.txt");
    for (name, value) in [
        ("verdict", "protected"),
        ("reason", "match"),
        ("report", filed),
    ] {
        let tag = format!("<Key>lapidary-{name}</Key><Value>{value}</Value>");
        assert!(
            found.replace(['\n', ' '], "").contains(&tag),
            "{tag} {found}"
        );
    }
    let found = moto.tags("other.txt");
    assert!(
        found.contains("me + you") && found.contains("no_match"),
        "{found}"
    );
    assert!(!found.contains("lapidary-old"), "{found}");
    let found = moto.tags("picture");
    assert!(
        found.contains("unchecked") && found.contains("not_text"),
        "{found}"
    );

    let (_, again) = notify(&client, &events[..1]);
    assert_eq!(
        again["objects"][0]["filed"], filed,
        "the same event is the same check"
    );
    let (_, entry) = client.json("GET", &format!("/v1/decisions/{filed}"), &Value::Null);
    assert_eq!(entry["name"], "s3://uploads/a b/Ж+1.txt", "{entry}");
    drop(server);
}

/// The values of elements of an XML file.
fn values<'x>(xml: &'x str, name: &str) -> Vec<&'x str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = xml.split(&begin).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(&end)?.0))
        .collect()
}

/// An event is about what was written then, not about what is there now.
#[test]
fn events_are_about_one_state_of_an_object() {
    let moto = Moto::start();
    let (folder, text) = (Folder::new(), prose(1, 3_000));
    let (_server, client) = server(&folder, &moto.url, &text);
    let written = |field: &str, value: &str| {
        let mut event = event("ObjectCreated:Put", BUCKET, "book.txt");
        event["s3"]["object"][field] = value.into();
        notify(&client, &[event]).1["objects"][0].clone()
    };
    moto.put("book.txt", &text);
    let listed = moto.send("GET", BUCKET, "").replace("&quot;", "");
    let etag = values(&listed, "ETag")[0].trim_matches('"');
    let answer = written("eTag", etag);
    assert_eq!(answer["verdict"], "protected", "{answer}");
    assert!(moto.tags("book.txt").contains("protected"));
    moto.put("book.txt", prose(2, 3_000));
    let answer = written("eTag", etag);
    assert_eq!(answer["problem"]["code"], "not_fetched", "{answer}");
    assert!(!moto.tags("book.txt").contains("lapidary"));

    let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    moto.send("PUT", "uploads?versioning", on);
    moto.put("book.txt", &text);
    moto.put("book.txt", prose(3, 3_000));
    let versions = moto.send("GET", "uploads?versions", "");
    let versions = values(&versions, "VersionId");
    let answer = written("versionId", versions[1]);
    assert_eq!(answer["verdict"], "protected", "{answer}");
    assert!(!moto.tags("book.txt").contains("lapidary"), "the newest");
    let version = format!("uploads/book.txt?versionId={}&tagging", versions[1]);
    let of_version = moto.send("GET", &version, "");
    assert!(of_version.contains("protected"), "{of_version}");
}

#[test]
fn notifications_are_refused_that_change_nothing_or_may_not() {
    let moto = Moto::start();
    let (folder, text) = (Folder::new(), prose(1, 3_000));
    let other = key(&folder.data(), "--role check other");
    let (server, client) = server(&folder, &moto.url, &text);
    moto.put("book.txt", &text);
    let put = |bucket| [event("ObjectCreated:Put", bucket, "book.txt")];
    let other = Client::new(&server, &other);
    let (status, problem) = notify(&other, &put(BUCKET));
    assert_eq!(
        (status, &problem["code"]),
        (403, &"not_allowed".into()),
        "{problem}"
    );
    let (status, problem) = notify(&client, &put("other"));
    assert_eq!(
        (status, &problem["code"]),
        (422, &"not_fetched".into()),
        "{problem}"
    );
    let mut replaced = put(BUCKET);
    replaced[0]["s3"]["object"]["eTag"] = "0123".into();
    let (status, answer) = notify(&client, &replaced);
    let problem = &answer["objects"][0]["problem"];
    assert_eq!(
        (status, &problem["code"]),
        (200, &"not_fetched".into()),
        "{answer}"
    );
    assert!(problem.to_string().contains("replaced"), "{problem}");
    let many = vec![put(BUCKET)[0].clone(); 17];
    let (status, problem) = notify(&client, &many);
    assert_eq!(
        (status, &problem["code"]),
        (413, &"too_many_checks".into()),
        "{problem}"
    );
    let trial = json!({ "Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET });
    let (status, answer) = client.json("POST", "/v1/s3/events", &trial);
    assert_eq!((status, answer), (200, json!({ "objects": [] })));
    assert!(!moto.tags("book.txt").contains("lapidary"));
}

#[test]
fn an_unavailable_bucket_is_asked_for_again() {
    let moto = Moto::start();
    let (folder, text) = (Folder::new(), prose(1, 3_000));
    moto.put("book.txt", &text);
    let (_server, client) = server_with("id:wrong", &folder, &moto.url, &text);
    let ask = || {
        let events = [event("ObjectCreated:Put", BUCKET, "book.txt")];
        for (status, problem) in [
            check(&client, "s3://uploads/book.txt"),
            notify(&client, &events),
        ] {
            let found = (status, &problem["code"]);
            assert_eq!(found, (503, &"source_unreachable".into()), "{problem}");
        }
    };
    // It refuses the credentials, and then it is gone.
    ask();
    drop(moto);
    ask();
}

/// Whoever sends events sends them again until they are answered. Each object then has one filed check and its verdict,
/// whenever the server was killed.
#[test]
fn an_event_is_one_check_whenever_the_server_is_killed() {
    const OBJECTS: u64 = 12;
    let moto = Moto::start();
    let (folder, text) = (Folder::new(), prose(1, 3_000));
    let admin = key(&folder.data(), "--role admin boss");
    let (server, client) = server(&folder, &moto.url, &text);
    let (mut server, mut random, mut unanswered) = (server, Random(5), 0);
    let mut filed = Vec::new();
    for number in 0..OBJECTS {
        let (object, is_copy) = (format!("{number}.txt"), number % 2 == 0);
        let other = prose(100 + number, 3_000);
        moto.put(&object, if is_copy { &text } else { &other });
        let mut event = event("ObjectCreated:Put", BUCKET, &object);
        event["s3"]["object"]["sequencer"] = format!("A{number}").into();
        let sender = Client::new(&server, &client.secret);
        let event = json!({ "Records": [event] }).to_string();
        let sent = {
            let event = event.clone();
            thread::spawn(move || sender.tried("POST", "/v1/s3/events", event))
        };
        thread::sleep(Duration::from_millis(random.below(120)));
        // Killed by being dropped.
        drop(server);
        let first = sent.join().expect("no panic");
        server = started(&folder, &moto.url);
        let again = Client::new(&server, &client.secret);
        let again = again
            .tried("POST", "/v1/s3/events", event)
            .expect("an answer");
        assert_eq!(again.0, 200, "{}", again.1);
        let report = |answer: &str| -> Value {
            let answer: Value = serde_json::from_str(answer).expect("JSON");
            answer["objects"][0].clone()
        };
        let checked = report(&again.1);
        match first {
            Some((200, first)) => assert_eq!(report(&first), checked),
            _ => unanswered += 1,
        }
        let verdict = if is_copy { "protected" } else { "no_match" };
        let id = checked["filed"].as_str().expect("an id").to_owned();
        let tags = moto.tags(&object);
        assert!(tags.contains(verdict) && tags.contains(&id), "{tags}");
        filed.push(id);
    }
    assert!(unanswered > 0, "{unanswered} were killed before an answer");
    let admin = Client::new(&server, &admin);
    let mut listed = Vec::new();
    for state in ["open", "clear", "watched", "decided"] {
        let path = format!("/v1/decisions?state={state}&limit=1000");
        let (_, page) = admin.json("GET", &path, &Value::Null);
        let entries = page["decisions"].as_array().expect("a list");
        listed.extend(
            entries
                .iter()
                .map(|entry| entry["id"].as_str().expect("an id").to_owned()),
        );
    }
    listed.sort();
    filed.sort();
    assert_eq!(listed, filed);
}
