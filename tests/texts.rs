//! Kept texts: who keeps them, and who sees them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Folder, LAPIDARY, Run, Server, key, prose, run};

/// A word that only kept texts have.
const SECRET: &str = "zqxwsecret";

/// What a book and an upload have in common.
fn common_text(seed: u64) -> String {
    prose(seed, 3_000)
}

/// The text of a book: the common one, and the secret word now and then.
fn secret_text(seed: u64) -> String {
    let text = common_text(seed);
    let words: Vec<&str> = text.split(' ').collect();
    words
        .chunks(200)
        .map(|words| format!("{} {SECRET}", words.join(" ")))
        .collect::<Vec<_>>()
        .join(" ")
}

struct Client {
    agent: ureq::Agent,
    url: String,
    secret: String,
}

struct Answer {
    status: u16,
    kind: String,
    cached: String,
    body: String,
}

impl Answer {
    fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }
}

impl Client {
    fn new(server: &Server, secret: &str) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        Self {
            agent,
            url: server.url.clone(),
            secret: secret.to_owned(),
        }
    }

    fn call(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        accept: &str,
        body: impl Into<String>,
    ) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        let request = request
            .header("x-api-key", &self.secret)
            .header("content-type", kind)
            .header("accept", accept);
        let mut answer = self
            .agent
            .run(request.body(body.into()).expect("a request"))
            .expect("an answer");
        let header = |name| {
            let value = answer
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (kind, cached) = (header("content-type"), header("cache-control"));
        let body = answer
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_to_string()
            .expect("text");
        Answer {
            status: answer.status().as_u16(),
            kind,
            cached,
            body,
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.call("GET", path, "text/plain", "*/*", "")
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.call(method, path, "application/json", "*/*", body.to_string())
    }

    /// The page of a check of a text.
    fn page(&self, text: &str) -> String {
        self.call("POST", "/v1/checks", "text/plain", "text/html", text)
            .expect(200)
            .body
    }
}

/// A folder with a file of each of these texts, ingested with these options.
fn ingested(folder: &Folder, options: &str, texts: &[(&str, String)]) -> PathBuf {
    for (name, text) in texts {
        folder.file(&format!("books/{name}.txt"), text);
    }
    let books = folder.path("books");
    run(
        &format!("ingest --data {{}} --library mine --rights protected {options} {{}}"),
        &[folder.data(), books.clone()],
    )
    .expect(0);
    books
}

fn text_of(data: &Path, id: &str) -> Run {
    run(
        &format!("books text --library mine --data {{}} {id}"),
        &[data],
    )
}

#[test]
fn texts_are_kept_if_they_are_to_be() {
    let folder = Folder::new();
    let (data, text) = (folder.data(), secret_text(1));
    let books = ingested(&folder, "", &[("a", text.clone())]);
    let said = text_of(&data, "a").expect(2).err;
    assert!(
        said.contains("the text of mine/a is not kept") && said.contains("--keep-texts"),
        "{said}"
    );
    let said = text_of(&data, "b").expect(2).err;
    assert!(said.contains("there is no book mine/b"), "{said}");

    let add = |options: &str| {
        let line =
            format!("ingest --json --data {{}} --library mine --rights protected {options} {{}}");
        run(&line, &[&data, &books]).expect(0).json()[0]["outcome"].clone()
    };
    // The same book again, with its text.
    assert_eq!(add("--keep-texts"), "replaced");
    assert_eq!(add("--keep-texts"), "unchanged");
    assert_eq!(text_of(&data, "a").expect(0).out, text);
    let stats = run("stats --data {}", &[&data]).expect(0).out;
    assert!(
        stats.contains(", 1 text kept (") && stats.contains("library mine: 1 book"),
        "{stats}"
    );
    let shown = run("books show --json --data {} --library mine a", &[&data])
        .expect(0)
        .json();
    assert_eq!(
        (&shown[0]["text_kept"], &shown[0]["bytes"]),
        (&json!(true), &json!(text.len()))
    );
    // An amended book keeps it.
    run("books note --data {} --library mine --text x a", &[&data]).expect(0);
    assert_eq!(text_of(&data, "a").expect(0).out, text);
    run("verify --data {}", &[&data]).expect(0);
    // Without the option, it is gone.
    assert_eq!(add(""), "replaced");
    text_of(&data, "a").expect(2);
    let audit = run("audit --json --data {}", &[&data]).expect(0);
    let kept: Vec<bool> = audit
        .json()
        .iter()
        .filter(|entry| entry["id"] == "a")
        .map(|e| e["text_kept"] == true)
        .collect();
    assert_eq!(kept, [false, true, true, false]);
    assert!(!audit.out.contains(SECRET));

    // Lines of a feed, with gems that have no text, and a text of its own.
    let lines = [
        json!({ "id": "c", "text": "A line.", "keep_text": true }),
        json!({ "id": "d", "text": "Another line." }),
        json!({ "id": "e", "gems": [1, 2, 3] }),
        json!({ "id": "f", "gems": [1, 2, 3], "keep_text": true }),
    ];
    let feed = folder.file("feed.ndjson", lines.map(|line| line.to_string()).join("\n"));
    let ingested = |options: &str| {
        run(
            &format!("ingest --data {{}} --library mine --rights free {options} --feed {{}}"),
            &[&data, &feed],
        )
    };
    assert!(
        ingested("")
            .expect(2)
            .err
            .contains("'keep_text' applies only to a text")
    );
    assert_eq!(
        (
            text_of(&data, "c").expect(0).out.as_str(),
            text_of(&data, "d").status
        ),
        ("A line.", 2)
    );
    ingested("--keep-texts").expect(2);
    assert_eq!(
        (
            text_of(&data, "d").expect(0).out.as_str(),
            text_of(&data, "e").status
        ),
        ("Another line.", 2)
    );
    run("books remove --data {} --library mine c d", &[&data]).expect(0);
    run("verify --data {}", &[&data]).expect(0);
    let stats = run("stats --data {}", &[&data]).expect(0).out;
    assert!(!stats.contains("kept"), "{stats}");
}

#[test]
fn kept_texts_are_next_to_the_upload() {
    let folder = Folder::new();
    let texts = [("a", secret_text(1)), ("b", secret_text(2))];
    ingested(&folder, "--keep-texts", &texts);
    // A book whose text is not kept, from the same text.
    let other = folder.file("other.txt", secret_text(1));
    run(
        "ingest --data {} --library theirs --rights free {}",
        &[&folder.data(), &other],
    )
    .expect(0);
    let upload = folder.file(
        "upload.txt",
        format!("{}\n\n{}", prose(9, 1_000), common_text(1)),
    );
    let page = folder.path("page.html");
    let line = "check --data {} --html {} {}";
    let said = run(line, &[&folder.data(), &page, &upload]).expect(1).out;
    let shown = fs::read_to_string(&page).expect("a page");
    assert!(
        shown.contains(&format!("<del>{SECRET}</del>"))
            && shown.contains("characters are identical"),
        "{shown}"
    );
    assert!(said.contains("characters are identical"), "{said}");
    let report = run("check --json --data {} {}", &[&folder.data(), &upload]).expect(1);
    assert!(!report.out.contains(SECRET) && report.json()[0]["matches"][0]["exact"].is_null());
    // Other texts come first if they are given.
    let given = folder.file("given/a.txt", secret_text(1).replace(SECRET, "zqxwgiven"));
    let from = given.parent().expect("a folder");
    run(
        &format!("{line} --text-from {{}}"),
        &[&folder.data(), &page, &upload, from],
    )
    .expect(1);
    let shown = fs::read_to_string(&page).expect("a page");
    assert!(
        shown.contains("zqxwgiven") && !shown.contains(SECRET),
        "{shown}"
    );

    // Through a server, if the key permits it.
    let (reader, other) = (
        key(&folder.data(), "--role texts --library mine reader"),
        key(&folder.data(), "--role check c"),
    );
    let server = Server::start(&folder.data());
    for (secret, shows) in [(&reader, true), (&other, false)] {
        let with_key = |arguments: &[&str]| {
            let mut command = std::process::Command::new(LAPIDARY);
            Run::from(
                command
                    .args(arguments)
                    .env("LAPIDARY_KEY", secret)
                    .output()
                    .expect("the program runs"),
            )
        };
        let [path, upload] = [&page, &upload].map(|path| path.to_str().expect("UTF-8"));
        with_key(&["check", "--server", &server.url, "--html", path, upload]).expect(1);
        let shown = fs::read_to_string(&page).expect("a page");
        assert_eq!(shown.contains(SECRET), shows, "{shown}");
        let text = with_key(&[
            "books",
            "text",
            "--server",
            &server.url,
            "--library",
            "mine",
            "b",
        ]);
        assert_eq!(
            (text.status, text.out == secret_text(2)),
            if shows { (0, true) } else { (2, false) },
            "{}",
            text.err
        );
        let missing = with_key(&[
            "books",
            "text",
            "--server",
            &server.url,
            "--library",
            "mine",
            "c",
        ])
        .expect(2)
        .err;
        assert!(
            missing.contains(if shows {
                "has no book 'c'"
            } else {
                "needs the permission read_texts"
            }),
            "{missing}"
        );
    }
}

#[test]
fn books_are_added_with_their_texts_in_every_way() {
    let folder = Folder::new();
    run(
        "ingest --data {} --library x --rights free {}",
        &[folder.data(), folder.file("x.txt", "A book.")],
    )
    .expect(0);
    let secrets = [
        "--role ingest --trusted --library mine feed",
        "--role texts --library mine reader",
    ]
    .map(|of| key(&folder.data(), of));
    let server = Server::start(&folder.data());
    let [feed, reader] = secrets.map(|secret| Client::new(&server, &secret));
    let of = |id: &str| format!("/v1/libraries/mine/books/{id}");
    let kept = |id: &str| reader.get(&format!("/v1/libraries/mine/texts/{id}"));
    let text = secret_text(1);

    let body = json!({ "rights": "protected", "text": text });
    let with = |more: &str| {
        let mut body = body.clone();
        body["keep_text"] = json!(more == "true");
        body
    };
    feed.json("PUT", &of("a/b"), &with("true")).expect(201);
    let shown = kept("a/b").expect(200);
    assert_eq!(
        (shown.kind.as_str(), shown.body == text),
        ("text/plain; charset=utf-8", true)
    );
    assert_eq!(shown.cached, "no-store");
    assert_eq!(kept("a%2Fb").expect(200).body, text);
    assert_eq!(
        feed.json("PUT", &of("a/b"), &body).expect(200).json()["outcome"],
        "replaced"
    );
    assert_eq!(kept("a/b").expect(404).code(), "no_such_text");
    assert_eq!(
        feed.json("PUT", &of("a/b?keep_text=true"), &body)
            .expect(200)
            .json()["book"]["text_kept"],
        true
    );
    assert_eq!(
        feed.json("PUT", &of("a/b?keep_text=true"), &body)
            .expect(200)
            .json()["outcome"],
        "unchanged"
    );
    kept("a/b").expect(200);
    feed.json("DELETE", &of("a/b"), &Value::Null).expect(204);
    assert_eq!(kept("a/b").expect(404).code(), "no_such_book");

    // A raw body, with a gate too, and a form.
    let raw = |id: &str| feed.call("PUT", &of(id), "text/plain", "*/*", text.clone());
    raw("raw?rights=free&keep_text=true&unless=protected").expect(201);
    assert_eq!(kept("raw").expect(200).body, text);
    raw("raw?rights=free&keep_text=false").expect(200);
    assert_eq!(kept("raw").expect(404).code(), "no_such_text");
    let part =
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"form.txt\"\r\n\r\n";
    let form = format!("{part}{text}\r\n--x--\r\n");
    let sent = |query: &str| {
        let path = format!("/v1/libraries/mine/books?rights=free{query}");
        feed.call(
            "POST",
            &path,
            "multipart/form-data; boundary=x",
            "*/*",
            form.clone(),
        )
        .expect(200)
        .body
    };
    assert!(sent("&keep_text=true").contains("\"added\""));
    assert_eq!(kept("form").expect(200).body, text);
    assert!(sent("").contains("\"replaced\"") && kept("form").status == 404);

    // A stream, and its default.
    let lines: String = [
        json!({ "id": "one", "rights": "free", "text": text, "keep_text": true }),
        json!({ "id": "two", "rights": "free", "text": text }),
        json!({ "id": "gems", "rights": "free", "gems": [1, 2, 3] }),
    ]
    .map(|line| line.to_string() + "\n")
    .concat();
    for (query, both) in [("", false), ("?keep_text=true", true)] {
        let path = format!("/v1/libraries/mine/books{query}");
        feed.call("POST", &path, "application/x-ndjson", "*/*", lines.clone())
            .expect(200);
        assert_eq!(
            (
                kept("one").status,
                kept("two").status == 200,
                kept("gems").status
            ),
            (200, both, 404)
        );
    }
    // What cannot be.
    let gems = json!({ "rights": "free", "gems": [1, 2, 3] });
    let refused = [
        (
            feed.json("PUT", &of("g?keep_text=true"), &gems),
            "bad_query",
        ),
        (feed.json("PUT", &of("g?keep_text=yes"), &body), "bad_query"),
        (
            feed.json("PUT", &of("g?keep_text=true&keep_text=true"), &body),
            "bad_query",
        ),
        (
            feed.json(
                "PUT",
                &of("g"),
                &json!({ "rights": "free", "gems": [1, 2, 3], "keep_text": true }),
            ),
            "bad_json",
        ),
    ];
    for (answer, code) in refused {
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, code),
            "{}",
            answer.body
        );
    }
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
}

/// Whatever a key asks for, in JSON or as a page, it sees no word of a kept text that it may not read.
/// Every call that could show a book: method, path, content type and body.
fn calls(upload: &str) -> Vec<(&'static str, &'static str, &'static str, String)> {
    let form = format!(
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"u.txt\"\r\n\r\n{upload}\r\n--x--\r\n"
    );
    let line = json!({ "text": upload, "ref": 1 }).to_string() + "\n";
    let fed = json!({ "id": "x", "rights": "free", "text": upload, "unless": "protected" })
        .to_string()
        + "\n";
    let book = json!({ "rights": "free", "text": upload }).to_string();
    let (json_type, lines, plain) = ("application/json", "application/x-ndjson", "text/plain");
    let in_form = "multipart/form-data; boundary=x";
    let none = String::new();
    vec![
        ("GET", "/v1/libraries/mine/texts/a", plain, none.clone()),
        ("GET", "/v1/libraries/mine/texts/none", plain, none.clone()),
        (
            "GET",
            "/v1/libraries/theirs/texts/../../mine/texts/a",
            plain,
            none.clone(),
        ),
        (
            "GET",
            "/v1/libraries/theirs%2F..%2Fmine/texts/a",
            plain,
            none.clone(),
        ),
        ("HEAD", "/v1/libraries/mine/texts/a", plain, none.clone()),
        ("PUT", "/v1/libraries/mine/texts/a", plain, "x".to_owned()),
        ("GET", "/v1/libraries/mine/books/a", plain, none.clone()),
        ("GET", "/v1/libraries/mine/books", plain, none.clone()),
        ("GET", "/v1/books?title=a", plain, none.clone()),
        ("GET", "/v1/libraries", plain, none.clone()),
        ("GET", "/v1/audit", plain, none.clone()),
        ("GET", "/v1/stats", plain, none.clone()),
        ("GET", "/v1/doctor", plain, none.clone()),
        ("GET", "/v1/decisions", plain, none.clone()),
        ("GET", "/metrics", plain, none.clone()),
        ("POST", "/v1/checks", plain, upload.to_owned()),
        (
            "POST",
            "/v1/checks?record=true&library=mine",
            plain,
            upload.to_owned(),
        ),
        ("POST", "/v1/checks?limit=0", plain, upload.to_owned()),
        ("POST", "/v1/checks", in_form, form.clone()),
        ("POST", "/v1/checks", json_type, line.clone()),
        ("POST", "/v1/checks:batch", lines, line.clone()),
        ("POST", "/v1/checks:batch", in_form, form.clone()),
        (
            "POST",
            "/copyright_check_by_gems/",
            "application/x-www-form-urlencoded",
            "gems=1,2,3".to_owned(),
        ),
        (
            "PUT",
            "/v1/libraries/mine/books/x?unless=protected",
            json_type,
            book.clone(),
        ),
        (
            "PUT",
            "/v1/libraries/theirs/books/x?unless=protected&except=x",
            json_type,
            book.clone(),
        ),
        ("POST", "/v1/libraries/mine/books", lines, fed.clone()),
        (
            "POST",
            "/v1/libraries/mine/recut/a",
            plain,
            upload.to_owned(),
        ),
        (
            "PATCH",
            "/v1/libraries/mine/books/a",
            json_type,
            "{\"note\": \"x\"}".to_owned(),
        ),
        ("GET", "/v1/export", plain, none.clone()),
        (
            "POST",
            "/v1/jobs",
            json_type,
            "{\"kind\": \"verify\"}".to_owned(),
        ),
    ]
}

#[test]
fn no_other_key_sees_a_kept_text() {
    let folder = Folder::new();
    ingested(
        &folder,
        "--keep-texts",
        &[("a", secret_text(1)), ("b", secret_text(2))],
    );
    let check = folder.file("theirs.txt", secret_text(3));
    run(
        "ingest --data {} --library theirs --rights protected {}",
        &[&folder.data(), &check],
    )
    .expect(0);
    let roles = [
        ("--role admin boss", true),
        ("--role texts --library mine reader", true),
        (
            "--role texts --library theirs --library others stranger",
            false,
        ),
        ("--role check shop", false),
        ("--role ingest --trusted --library mine feed", false),
        (
            "--role ingest --permission check --trusted --library mine all",
            false,
        ),
        (
            "--permission check --permission review --library mine judge",
            false,
        ),
        (
            "--permission check --permission read_texts --library mine eye",
            true,
        ),
        ("--role ingest --trusted --library theirs rival", false),
    ];
    let secrets = roles.map(|(role, sees)| (key(&folder.data(), role), sees));
    let server = Server::start(&folder.data());
    let clients = secrets.map(|(secret, sees)| (Client::new(&server, &secret), sees));
    let upload = format!("{}\n\n{}", prose(9, 500), common_text(1));
    let page = "text/html";
    let plain = "text/plain";
    let calls = calls(&upload);
    for (client, sees) in &clients {
        let mut seen = Vec::new();
        for &(method, path, kind, ref body) in &calls {
            for accept in ["*/*", page] {
                let answer = client.call(method, path, kind, accept, body.as_str());
                assert!(answer.status < 500, "{method} {path}: {}", answer.body);
                if answer.body.contains(SECRET) {
                    seen.push(path);
                }
            }
        }
        let may = |path: &&str| {
            let is_export = client.get("/v1/stats").status == 200 && *path == "/v1/export";
            is_export || path.ends_with("mine/texts/a") || path.starts_with("/v1/checks")
        };
        assert!(
            if *sees {
                seen.iter().all(may)
            } else {
                seen.is_empty()
            },
            "{seen:?}"
        );
        assert_eq!(
            client
                .get("/v1/libraries/mine/texts/a")
                .body
                .contains(SECRET),
            *sees
        );
        let checks = client.call("POST", "/v1/checks", plain, page, upload.clone());
        assert_eq!(checks.body.contains(SECRET), *sees, "{}", checks.body);
        // Nor does it when the check is shown later.
        let filed = "/v1/checks?record=true&name=u";
        let filed = client.call("POST", filed, plain, "*/*", upload.clone());
        let id = serde_json::from_str::<Value>(&filed.body).unwrap_or_default()["filed"].clone();
        let later = format!("/v1/decisions/{}/page", id.as_str().unwrap_or("0"));
        let sent_again = client.call("POST", &later, plain, page, upload.clone());
        for later in [client.get(&later), sent_again] {
            assert_eq!(later.body.contains(SECRET), *sees, "{}", later.body);
        }
        // Programs get figures, not words.
        assert!(
            !client
                .call("POST", "/v1/checks", plain, "*/*", upload.clone())
                .body
                .contains(SECRET)
        );
    }
    // A key of another library is told nothing about the books of this one.
    let (stranger, _) = &clients[2];
    for id in ["a", "none"] {
        assert_eq!(
            stranger
                .get(&format!("/v1/libraries/mine/texts/{id}"))
                .expect(403)
                .code(),
            "not_your_library"
        );
    }
    // What the library stops keeping, nobody sees.
    let (boss, reader) = (&clients[0].0, &clients[1].0);
    let body = json!({ "rights": "protected", "text": secret_text(1) });
    boss.json("PUT", "/v1/libraries/mine/books/a", &body)
        .expect(200);
    assert!(
        !reader.page(&upload).contains(SECRET)
            && reader.get("/v1/libraries/mine/texts/a").status == 404
    );
    assert!(!boss.page(&upload).contains(SECRET));
}

#[test]
fn exports_have_kept_texts() {
    let folder = Folder::new();
    ingested(
        &folder,
        "--keep-texts",
        &[("a", secret_text(1)), ("b", "Ёлка\n\u{1}\"«».".to_owned())],
    );
    run(
        "ingest --data {} --library mine --rights free {}",
        &[folder.data(), folder.file("c.txt", secret_text(3))],
    )
    .expect(0);
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    let written = fs::read_to_string(&export).expect("an export");
    // Into an empty folder, into a catalogue, and back.
    let built = folder.path("built");
    let other = folder.path("other");
    run(
        "ingest --data {} --library x --rights free {}",
        &[&other, &folder.path("c.txt")],
    )
    .expect(0);
    for data in [&built, &other] {
        run("import --data {} {}", &[data, &export]).expect(0);
        run("verify --data {}", &[data]).expect(0);
        assert_eq!(text_of(data, "a").expect(0).out, secret_text(1));
        assert_eq!(text_of(data, "b").expect(0).out, "Ёлка\n\u{1}\"«».");
        text_of(data, "c").expect(2);
    }
    let again = folder.path("again.ndjson");
    run("export --data {} {}", &[built, again.clone()]).expect(0);
    assert_eq!(fs::read_to_string(again).expect("an export"), written);
    // A backup has them.
    run(
        "backup --data {} --to {}",
        &[folder.data(), folder.path("backups")],
    )
    .expect(0);
    let restored = folder.path("restored");
    run(
        "restore --data {} --from {}",
        &[restored.clone(), folder.path("backups")],
    )
    .expect(0);
    assert_eq!(text_of(&restored, "a").expect(0).out, secret_text(1));
    // A text that is not that of its record.
    for wrong in [
        written.replacen(SECRET, "zqxwpublic", 1),
        written.replacen("\"text_kept\":true,", "", 1),
        written.replacen(",\"text\":\"Ёлка", ",\"more\":\"Ёлка", 1),
    ] {
        assert_ne!(wrong, written);
        let (file, data) = (folder.file("wrong.ndjson", &wrong), folder.path("wrong"));
        let said = run("import --data {} {}", &[data.clone(), file])
            .expect(2)
            .err;
        assert!(
            said.contains("the text is not the one that the record describes"),
            "{said}"
        );
        assert!(!data.exists());
    }
}
