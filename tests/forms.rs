//! Files in forms (`multipart/form-data`), as `curl -F` and browsers send them.

use crate::makers;
use serde_json::{Value, json};
use ureq::Agent;

use crate::common::{Folder, Server, key, prose};

/// A file of a form: its name and its content.
type File<'a> = (&'a str, &'a [u8]);

fn form(files: &[File]) -> Vec<u8> {
    let part = |(name, content): &File| {
        let head = format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let parts: Vec<u8> = files.iter().flat_map(part).collect();
    [parts.as_slice(), b"--x--\r\n"].concat()
}

struct Client<'a> {
    server: &'a Server,
    key: String,
}

impl Client<'_> {
    /// The status, the content type and the content of the answer.
    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String, String) {
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server.url));
        request = request.header("X-Api-Key", &self.key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = agent
            .run(request.body(body).expect("a request"))
            .expect("an answer");
        let kind = answer.body().mime_type().unwrap_or_default().to_owned();
        (
            answer.status().as_u16(),
            kind,
            answer.body_mut().read_to_string().expect("text"),
        )
    }

    fn form(&self, method: &str, path: &str, files: &[File]) -> (u16, String, String) {
        self.send(
            method,
            path,
            &[("Content-Type", "multipart/form-data; boundary=x")],
            &form(files),
        )
    }

    fn json(&self, method: &str, path: &str, files: &[File]) -> (u16, Value) {
        let (status, _, body) = self.form(method, path, files);
        (
            status,
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")),
        )
    }

    fn lines(&self, path: &str, files: &[File]) -> Vec<Value> {
        let (status, kind, body) = self.form("POST", path, files);
        assert_eq!(
            (status, kind.as_str()),
            (200, "application/x-ndjson"),
            "{body}"
        );
        body.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

#[test]
fn a_file_in_a_form_is_like_a_body() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client {
        server: &server,
        key: String::new(),
    };
    let paragraphs: Vec<String> = (0..40).map(|seed| prose(seed, 80)).collect();
    let epub = makers::epub(&paragraphs);
    let path = "/v1/libraries/l/books/one?rights=protected";
    let (status, added) = client.json("PUT", path, &[("one.epub", &epub)]);
    assert_eq!(
        (status, &added["outcome"]),
        (201, &json!("added")),
        "{added}"
    );
    assert_eq!(added["book"]["title"], makers::TITLE);
    let (status, again) = client.json("PUT", path, &[("other.epub", &epub)]);
    assert_eq!(
        (status, &again["outcome"]),
        (200, &json!("unchanged")),
        "{again}"
    );

    let (status, of_form) = client.json("POST", "/v1/checks?limit=1", &[("one.epub", &epub)]);
    let (_, _, of_body) = client.send(
        "POST",
        "/v1/checks?limit=1",
        &[("Content-Type", "application/epub+zip")],
        &epub,
    );
    // An encoding that nobody knows says nothing of a file that is no text.
    let kind = [("Content-Type", "application/epub+zip; charset=klingon")];
    assert_eq!(
        client.send("POST", "/v1/checks?limit=1", &kind, &epub).2,
        of_body
    );
    let head = "--x\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Type: application/epub+zip; charset=klingon\r\n\r\n";
    let part = [head.as_bytes(), &epub, b"\r\n--x--\r\n"].concat();
    let kind = [("Content-Type", "multipart/form-data; boundary=x")];
    assert_eq!(
        client.send("POST", "/v1/checks?limit=1", &kind, &part).2,
        of_body
    );
    assert_eq!(
        (status, &of_form),
        (200, &serde_json::from_str(&of_body).expect("JSON"))
    );
    assert_eq!(of_form["verdict"], "protected");
    // A page has the name of the file.
    let headers = [
        ("Content-Type", "multipart/form-data; boundary=x"),
        ("Accept", "text/html"),
    ];
    let (status, kind, page) = client.send(
        "POST",
        "/v1/checks",
        &headers,
        &form(&[("../<Мир>.epub", &epub)]),
    );
    assert_eq!((status, kind.as_str()), (200, "text/html"));
    assert!(
        page.contains("<title>Check of &lt;Мир&gt;.epub</title>"),
        "{page}"
    );

    let (status, problem) = client.json("POST", "/v1/checks", &[("a.txt", b"a"), ("b.txt", b"b")]);
    assert_eq!((status, &problem["code"]), (400, &json!("bad_form")));
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("/v1/checks:batch")),
        "{problem}"
    );
    let (status, problem) = client.json(
        "POST",
        "/v1/checks",
        &[("damaged.epub", &epub[..epub.len() / 2])],
    );
    assert_eq!(
        (status, &problem["code"]),
        (422, &json!("damaged")),
        "{problem}"
    );
}

/// One file that cannot be read does not lose the others.
#[test]
fn several_files_get_an_answer_each() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client {
        server: &server,
        key: String::new(),
    };
    let texts: Vec<String> = (0..4).map(|seed| prose(seed, 3_000)).collect();
    let epub = makers::epub(&[prose(9, 3_000)]);
    let books: Vec<File> = vec![
        ("one.txt", texts[0].as_bytes()),
        ("two.v2.txt", texts[1].as_bytes()),
        ("broken.epub", &epub[..epub.len() / 2]),
        ("one.fb2", texts[2].as_bytes()),
        ("", texts[3].as_bytes()),
        ("three.epub", &epub),
    ];
    let answers = client.lines("/v1/libraries/l/books?rights=protected", &books);
    let shown: Vec<_> = answers
        .iter()
        .map(|line| {
            (
                line["line"].clone(),
                line["file"].clone(),
                line["id"].clone(),
                line["outcome"].clone(),
            )
        })
        .collect();
    let row = |line: u64, file: &str, id: &str, outcome: &str| {
        (json!(line), json!(file), json!(id), json!(outcome))
    };
    assert_eq!(shown[0], row(1, "one.txt", "one", "added"));
    assert_eq!(shown[1], row(2, "two.v2.txt", "two.v2", "added"));
    assert_eq!(shown[2], row(3, "broken.epub", "broken", "refused"));
    assert_eq!(shown[5], row(6, "three.epub", "three", "added"));
    let code = |line: &Value| {
        line["problem"]["code"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    };
    let codes: Vec<String> = answers.iter().map(code).collect();
    assert_eq!(
        codes,
        ["none", "none", "damaged", "duplicate", "bad_name", "none"]
    );
    let again = client.lines("/v1/libraries/l/books?rights=protected", &books[..2]);
    assert!(
        again.iter().all(|line| line["outcome"] == "unchanged"),
        "{again:?}"
    );
    // The rights belong in the query.
    assert_eq!(client.form("POST", "/v1/libraries/l/books", &books).0, 400);

    let checked = client.lines(
        "/v1/checks:batch?limit=1",
        &[books[1], books[2], ("new.txt", b"short"), books[5]],
    );
    let verdicts: Vec<_> = checked
        .iter()
        .map(|line| line["report"]["verdict"].as_str())
        .collect();
    assert_eq!(
        verdicts,
        [Some("protected"), None, Some("unknown"), Some("protected")]
    );
    assert_eq!(
        checked.iter().map(code).collect::<Vec<_>>(),
        ["none", "damaged", "none", "none"]
    );
    assert_eq!(checked[3]["file"], "three.epub");
    // The answers to a feed without forms are as they were.
    let feed = json!({ "text": texts[0] }).to_string();
    let (_, _, line) = client.send(
        "POST",
        "/v1/checks:batch",
        &[("Content-Type", "application/x-ndjson")],
        feed.as_bytes(),
    );
    assert!(!line.contains("\"file\""), "{line}");
}

/// The content of a file says what it is, whatever the client calls it.
#[test]
fn the_content_decides_not_the_type_that_the_client_names() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client {
        server: &server,
        key: String::new(),
    };
    let paragraphs: Vec<String> = (0..40).map(|seed| prose(seed, 80)).collect();
    client.form(
        "PUT",
        "/v1/libraries/l/books/book?rights=protected",
        &[("", paragraphs.join("\n\n").as_bytes())],
    );
    let of_type = |kind: &str, content: &[u8]| {
        let head = format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"upload\"\r\nContent-Type: {kind}\r\n\r\n"
        );
        [head.as_bytes(), content, b"\r\n--x--\r\n"].concat()
    };
    let bound = "multipart/form-data; boundary=x";
    let kinds = [
        "application/x-pdf",
        "application/fb2",
        "text/x-markdown",
        "application/vnd.sun.xml.writer",
        "image/png",
        "application/octet-stream",
        "text/plain",
        "not a type",
    ];
    for (at, (format, make)) in makers::MAKERS.iter().enumerate() {
        let file = make(&paragraphs);
        // Each format with two of the types.
        for kind in [kinds[at % kinds.len()], kinds[(at + 3) % kinds.len()]] {
            let what = format!("{format} as {kind}");
            let (status, _, report) =
                client.send("POST", "/v1/checks", &[("Content-Type", kind)], &file);
            assert!(
                status == 200 && report.contains("\"verdict\":\"protected\""),
                "{what}: {report}"
            );
            let path = format!("/v1/libraries/l/books/{format}-{at}?rights=protected");
            let (status, _, added) = client.send("PUT", &path, &[("Content-Type", kind)], &file);
            assert!([200, 201].contains(&status), "{what}: {added}");
            for path in ["/v1/checks", "/v1/checks:batch"] {
                let (_, _, report) = client.send(
                    "POST",
                    path,
                    &[("Content-Type", bound)],
                    &of_type(kind, &file),
                );
                assert!(
                    report.contains("\"verdict\":\"protected\""),
                    "{path} {what}: {report}"
                );
            }
        }
    }
    // Where the content does not tell, the type does.
    let fragment = format!("<script>{}</script><p>A few words.</p>", prose(99, 2_000));
    let gems = |kind: &str| {
        let (_, _, report) = client.send(
            "POST",
            "/v1/checks",
            &[("Content-Type", kind)],
            fragment.as_bytes(),
        );
        serde_json::from_str::<Value>(&report).expect("a report")["gems"]
            .as_u64()
            .expect("a number")
    };
    assert!(gems("text/html") < gems("text/plain"));
    // Files that cannot be read are named.
    for (start, code, name) in [
        (
            &b"AT&TFORM\0\0\0\x0cDJVUINFO"[..],
            "not_readable",
            "a DjVu document",
        ),
        (
            b"ITSF\x03\0\0\0\x60\0\0\0",
            "not_readable",
            "a CHM help file",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0", "not_text", "a PNG image"),
    ] {
        for kind in [
            "image/vnd.djvu",
            "application/vnd.ms-htmlhelp",
            "text/plain",
            "",
        ] {
            let (status, _, said) =
                client.send("POST", "/v1/checks", &[("Content-Type", kind)], start);
            assert!(
                status == 422 && said.contains(&format!("\"{code}\"")) && said.contains(name),
                "{kind}: {said}"
            );
            let (status, _, said) = client.send(
                "POST",
                "/v1/checks",
                &[("Content-Type", bound)],
                &of_type(kind, start),
            );
            assert!(
                status == 422 && said.contains(code) && said.contains(name),
                "{kind}: {said}"
            );
        }
    }
}

/// Each file counts as a request.
#[test]
fn a_form_is_no_way_around_a_quota() {
    let folder = Folder::new();
    let daily = key(&folder.data(), "--role check --quota 3/day daily");
    let server = Server::start(&folder.data());
    let client = Client {
        server: &server,
        key: daily,
    };
    let files: Vec<File> = ["1.txt", "2.txt", "3.txt", "4.txt", "5.txt"]
        .iter()
        .map(|name| (*name, &b"a"[..]))
        .collect();
    let answers = client.lines("/v1/checks:batch", &files);
    let refused: Vec<_> = answers
        .iter()
        .map(|line| line["problem"]["code"].as_str())
        .collect();
    assert_eq!(
        refused,
        [
            None,
            None,
            None,
            Some("too_many_requests"),
            Some("too_many_requests")
        ]
    );
    assert_eq!(client.form("POST", "/v1/checks", &files[..1]).0, 429);
}

#[test]
fn hostile_forms_are_refused_in_plain_words() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client {
        server: &server,
        key: String::new(),
    };
    let one = form(&[("a.txt", b"some text")]);
    let part = "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n";
    let text = |rest: &str| format!("{part}{rest}").into_bytes();
    let bound = "multipart/form-data; boundary=x";
    let long = "a".repeat(9_000);
    let table: Vec<(&str, Vec<u8>, u16, &str)> = vec![
        ("multipart/form-data", one.clone(), 400, "bad_form"),
        (
            "multipart/form-data; boundary=",
            one.clone(),
            400,
            "bad_form",
        ),
        (
            "multipart/form-data; boundary=y",
            one.clone(),
            400,
            "bad_form",
        ),
        (
            "multipart/mixed; boundary=x",
            one.clone(),
            415,
            "unknown_content_type",
        ),
        (bound, Vec::new(), 400, "bad_form"),
        (bound, b"--x--\r\n".to_vec(), 400, "bad_form"),
        (bound, one[..one.len() - 5].to_vec(), 400, "bad_form"),
        (bound, one[..30].to_vec(), 400, "bad_form"),
        (
            bound,
            text(&format!("X-Long: {long}\r\n\r\na\r\n--x--\r\n")),
            400,
            "bad_form",
        ),
        (
            bound,
            text(&format!("{}\r\na\r\n--x--\r\n", "X-A: b\r\n".repeat(100))),
            400,
            "bad_form",
        ),
        (
            bound,
            text("Content-Type: multipart/mixed; boundary=y\r\n\r\n--y--\r\n--x--\r\n"),
            400,
            "bad_form",
        ),
        (bound, text("\r\n\r\n").repeat(5_000), 413, "too_many_files"),
        (bound, form(&[("a", b"a")]).repeat(2)[..].to_vec(), 200, ""),
        (
            bound,
            String::from_utf8(one.clone())
                .expect("text")
                .replace("\"file\"", "\"rights\"")
                .into(),
            400,
            "bad_form",
        ),
        (
            bound,
            text("Content-Type: text/plain; charset=none\r\n\r\na\r\n--x--\r\n"),
            415,
            "unknown_charset",
        ),
    ];
    for (kind, body, expected, code) in table {
        let what = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        for path in ["/v1/checks", "/v1/libraries/l/books/b?rights=free"] {
            let method = if path == "/v1/checks" { "POST" } else { "PUT" };
            let (status, _, answer) = client.send(method, path, &[("Content-Type", kind)], &body);
            if expected == 200 {
                // What follows the end of a form is ignored.
                assert!([200, 201].contains(&status), "{what}: {answer}");
                continue;
            }
            let problem: Value = serde_json::from_str(&answer).unwrap_or_default();
            assert_eq!(
                (status, &problem["code"]),
                (expected, &json!(code)),
                "{path} {kind} {what}: {answer}"
            );
        }
    }
    let problem = client.send(
        "POST",
        "/v1/checks:batch",
        &[("Content-Type", bound)],
        &one[..30],
    );
    assert_eq!(problem.0, 400, "{}", problem.2);
    assert_eq!(
        client.form("POST", "/v1/checks", &[("a.txt", b"text")]).0,
        200,
        "the server goes on"
    );
}

/// The example of the API description is a form that each of these calls takes.
#[test]
fn the_example_of_the_description_works() {
    let folder = Folder::new();
    let server = Server::start(&folder.data());
    let client = Client {
        server: &server,
        key: String::new(),
    };
    let api: Value = serde_json::from_str(&lapidary::server::openapi()).expect("JSON");
    for (method, path, target) in [
        ("post", "/v1/checks", "/v1/checks"),
        ("post", "/v1/checks:batch", "/v1/checks:batch"),
        (
            "put",
            "/v1/libraries/{library}/books/{id}",
            "/v1/libraries/l/books/b?rights=free",
        ),
        (
            "post",
            "/v1/libraries/{library}/books",
            "/v1/libraries/l/books?rights=free",
        ),
    ] {
        let content = &api["paths"][path][method]["requestBody"]["content"]["multipart/form-data"];
        assert_eq!(content["schema"]["required"], json!(["file"]), "{path}");
        let example = &content["example"]["file"];
        let text = example
            .as_str()
            .or_else(|| example[0].as_str())
            .unwrap_or_else(|| panic!("{path}: {content}"));
        let (status, _, answer) = client.form(
            &method.to_uppercase(),
            target,
            &[("example.txt", text.as_bytes())],
        );
        assert!(
            [200, 201].contains(&status) && !answer.contains("\"problem\""),
            "{path}: {answer}"
        );
    }
}
