//! What the key of one library can do to what others are told of another: nothing that weakens it.

mod common;

use std::path::Path;

use common::{Folder, Random, Server, prose, run};
use lapidary::fingerprint::Recipe;
use serde_json::{Value, json};
use ureq::Agent;

/// A client with a key, or none.
struct Client<'a> {
    agent: Agent,
    url: &'a str,
    key: String,
}

impl<'a> Client<'a> {
    fn new(url: &'a str, key: &str) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { agent, url, key: format!("Bearer {key}") }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("Authorization", &self.key)
            .header("Content-Type", if path.ends_with("/books") { "application/x-ndjson" } else { "application/json" });
        let answer = match body {
            Value::Null => self.agent.run(request.body(()).expect("a request")),
            body => self.agent.run(request.body(body.to_string()).expect("a request")),
        };
        let mut answer = answer.expect("an answer");
        (answer.status().as_u16(), answer.body_mut().read_json().unwrap_or_default())
    }
}

fn key(data: &Path, arguments: &str) -> String {
    let made = run(&format!("keys add --data {{}} {arguments}"), &[data]).expect(0);
    made.out.lines().last().expect("the secret comes last").to_owned()
}

fn text(book: u64) -> String {
    prose(book, 3_000)
}

fn gems(recipe: &Recipe, text: &str) -> Vec<Value> {
    recipe.gems(text).iter().map(|placed| json!(recipe.write(placed.gem))).collect()
}

/// Everything that a partner asks about the books of `theirs`.
fn questions() -> Vec<(&'static str, Value)> {
    let mut asked = Vec::new();
    for book in 0..3 {
        let (whole, half) = (text(book), text(book)[..12_000].to_owned());
        let gems = gems(&Recipe::documented(), &whole);
        asked.push(("/v1/checks", json!({ "text": whole })));
        asked.push(("/v1/checks", json!({ "text": half })));
        asked.push(("/v1/checks", json!({ "text": whole, "library": "theirs" })));
        asked.push(("/v1/checks", json!({ "gems": gems, "recipe": "documented" })));
        asked.push(("/v1/checks", json!({ "text": format!("{half}{}", prose(99, 2_000)) })));
    }
    asked
}

/// What an answer says of the books of `theirs`, and its verdict: the smaller, the stricter.
fn said(answer: &(u16, Value)) -> (usize, Vec<(Value, Value, Value)>) {
    let (status, report) = answer;
    assert_eq!(*status, 200, "{report}");
    let order = ["protected", "free", "public_domain", "unknown"];
    let verdict = order.iter().position(|rights| report["verdict"] == *rights).expect("a verdict");
    let matches = report["matches"].as_array().expect("matches").iter();
    let theirs = matches.filter(|found| found["book"]["library"] == "theirs");
    let mut theirs: Vec<_> =
        theirs.map(|found| (found["book"].clone(), found["common"].clone(), found["relation"].clone())).collect();
    theirs.sort_by_key(|(book, ..)| book.to_string());
    (verdict, theirs)
}

/// One thing that the key of `mine` may try, or may not.
fn action(random: &mut Random) -> (&'static str, String, Value) {
    let stolen = |random: &mut Random| {
        let recipe = [Recipe::documented(), Recipe::released(), Recipe::hardened()][random.below(3) as usize].clone();
        let mut gems = gems(&recipe, &text(random.below(3)));
        gems.truncate(random.below(40) as usize);
        json!({ "rights": "unknown", "gems": gems, "recipe": recipe.name().as_str() })
    };
    let content = |random: &mut Random| match random.below(5) {
        0 => json!({ "rights": "unknown", "text": text(random.below(6)), "allow_empty": true }),
        1 => json!({ "rights": "free", "text": "…" }),
        2 => json!({ "rights": "public_domain", "gems": [], "allow_empty": true }),
        _ => stolen(random),
    };
    let library = if random.below(5) == 0 { "theirs" } else { "mine" };
    let id = if random.below(3) == 0 { random.below(3).to_string() } else { format!("x{}", random.below(20)) };
    let book = format!("/v1/libraries/{library}/books/{id}");
    match random.below(12) {
        0..5 => ("PUT", book, content(random)),
        5 => {
            let mut line = content(random);
            line["id"] = json!(id);
            ("POST", format!("/v1/libraries/{library}/books"), line)
        }
        6 => ("PATCH", book, json!({ "disabled": true, "rights": "free" })),
        7 => ("DELETE", book, Value::Null),
        8 => ("POST", "/v1/jobs".to_owned(), json!({ "kind": "reindex", "recipe": "released", "allow_missing": true })),
        9 => ("PUT", "/v1/allow/all".to_owned(), json!({ "text": text(random.below(3)) })),
        10 => ("POST", "/v1/keys".to_owned(), json!({ "name": "more", "role": "admin" })),
        _ => ("POST", "/v1/import".to_owned(), json!({ "lapidary_export": 1 })),
    }
}

#[test]
fn no_key_weakens_what_others_are_told() {
    for seed in 0..3 {
        let folder = Folder::new();
        let data = folder.data();
        let [mine, theirs, check] =
            ["--role ingest --library mine mine", "--role ingest --library theirs theirs", "--role check shop"]
                .map(|arguments| key(&data, arguments));
        let server = Server::start(&data);
        let [mine, theirs, shop] = [&mine, &theirs, &check].map(|secret| Client::new(&server.url, secret));
        for book in 0..3 {
            let rights = ["protected", "free", "protected"][book as usize];
            let sent = json!({ "rights": rights, "title": book.to_string(), "text": text(book) });
            assert_eq!(theirs.call("PUT", &format!("/v1/libraries/theirs/books/{book}"), &sent).0, 201);
        }
        let asked = questions();
        let before: Vec<_> = asked.iter().map(|(path, body)| said(&shop.call("POST", path, body))).collect();
        assert!(before.iter().all(|(_, theirs)| !theirs.is_empty()));
        let mut random = Random(seed);
        for step in 0..60 {
            let (method, path, body) = action(&mut random);
            let (status, answer) = mine.call(method, &path, &body);
            assert!(status < 500, "{method} {path}: {answer}");
            if step % 6 != 5 {
                continue;
            }
            for ((path, body), before) in asked.iter().zip(&before) {
                let now = said(&shop.call("POST", path, body));
                assert!(now.0 <= before.0, "seed {seed}, step {step}: {now:?} after {before:?}");
                assert_eq!(now.1, before.1, "seed {seed}, step {step}");
            }
        }
        assert_eq!(server.stop(), Some(0));
        run("verify --data {}", &[data]).expect(0);
    }
}
