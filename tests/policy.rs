//! From how much on a match decides: the policies of libraries and of checks.

use serde_json::{Value, json};

use crate::common::{Folder, Server, prose, run};

/// The words of a quotation: a page and a half. It has as many gems as a passage needs, but no more than a quotation may have.
const QUOTED: usize = 400;

/// Words of a book, from this one on.
fn quotation(book: &str, from: usize) -> String {
    let words: Vec<&str> = book.split_whitespace().skip(from).take(QUOTED).collect();
    words.join(" ")
}

/// A book, and a text of four times its length that quotes it twice.
fn book_and_text() -> (String, String) {
    let book = prose(1, 8_000);
    let own = [2, 3, 4].map(|seed| prose(seed, 10_500));
    let quoted = [2_000, 6_000].map(|from| quotation(&book, from));
    let text = [&own[0], &quoted[0], &own[1], &quoted[1], &own[2]].map(String::as_str);
    (book.clone(), text.join(" "))
}

/// A catalogue with that book, and the text. Which gems a text has by a secret differs from run to run.
fn quoted() -> (Folder, String) {
    let folder = Folder::new();
    let (book, text) = book_and_text();
    let paths = [folder.data(), folder.file("book.txt", book)];
    run(
        "ingest --data {} --recipe hardened --library l --rights protected {}",
        &paths,
    )
    .expect(0);
    folder.file("text.txt", &text);
    (folder, text)
}

/// What a match is to a report: the verdict, its reason, why it only informs, and its relation.
fn told(report: &Value) -> [&str; 4] {
    let found = &report["matches"][0];
    [
        &report["verdict"],
        &report["reason"],
        &found["informational"],
        &found["relation"],
    ]
    .map(|word| word.as_str().unwrap_or("-"))
}

const INFORMS: [&str; 4] = ["unknown", "none_decides", "too_little", "quotations"];
const DECIDES: [&str; 4] = ["protected", "match", "-", "quotations"];

#[test]
fn the_policy_of_a_library_or_of_a_check_decides() {
    let (folder, text) = quoted();
    let (data, file) = (folder.data(), folder.path("text.txt"));
    let check = |policy: &str, status| {
        let line = format!("check --json --data {{}} {policy} {{}}");
        run(&line, &[&data, &file]).expect(status).json().remove(0)
    };
    let report = check("", 0);
    assert_eq!(told(&report), INFORMS);
    let covered = report["covered"].as_f64().expect("a share");
    assert!(
        covered > 0.01 && covered < 0.03,
        "it is still said: {covered}"
    );
    let words = run("check --data {} {}", &[&data, &file]).expect(0).out;
    assert!(
        words.contains("too little to count, by the policy"),
        "{words}"
    );

    let strict = r#"{"min_covered":0.01}"#;
    assert_eq!(told(&check(&format!("--policy {strict}"), 1)), DECIDES);
    assert_eq!(told(&check(r#"--policy {"min_passage":2000}"#, 1)), DECIDES);
    let set = format!("libraries policy --data {{}} l {strict}");
    run(&set, &[&data]).expect(0);
    assert_eq!(told(&check("", 1)), DECIDES);
    assert_eq!(told(&check(r#"--policy {"min_covered":0.05}"#, 0)), INFORMS);
    let listed = run("libraries list --json --data {}", &[&data]).json();
    assert_eq!(listed[0]["policy"]["min_covered"], 0.01);
    let log = run("audit --data {}", &[&data]).out;
    assert!(log.contains("set policy l"), "{log}");

    // The gate goes by the library of the book that matches.
    let server = Server::start(&data);
    let agent = ureq::Agent::from(
        ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build(),
    );
    let put = || {
        let url = format!("{}/v1/libraries/m/books/1?unless=protected", server.url);
        let book = json!({ "rights": "protected", "text": text });
        agent.put(url).send_json(book).expect("an answer").status()
    };
    assert_eq!(put(), 409);
    let of_library = format!("{}/v1/libraries/l/policy", server.url);
    let said = |policy: Value| {
        let mut answer = agent.put(&of_library).send_json(policy).expect("an answer");
        let status = answer.status().as_u16();
        (
            status,
            answer.body_mut().read_json::<Value>().expect("JSON"),
        )
    };
    let (status, usual) = said(json!({}));
    assert_eq!((status, &usual["min_passage"]), (200, &json!(4_000)));
    assert_eq!(put(), 201);
    for wrong in [
        json!({ "relations": ["same_work"] }),
        json!({ "min_covered": 2 }),
        json!({ "most": 1 }),
    ] {
        let (status, problem) = said(wrong);
        assert_eq!(
            (status, &problem["code"]),
            (400, &json!("bad_json")),
            "{problem}"
        );
    }
}

/// What is wholly in a book is no quotation, however short, and nor are many short quotations together.
#[test]
fn short_copies_and_collages_decide() {
    let folder = Folder::new();
    let books: Vec<String> = (0..20).map(|at| prose(at, 8_000)).collect();
    let mut paths = vec![folder.data()];
    for (at, book) in books.iter().enumerate() {
        paths.push(folder.file(&format!("{at}.txt"), book));
    }
    let files = " {}".repeat(books.len());
    run(
        &format!("ingest --data {{}} --recipe hardened --library l --rights protected{files}"),
        &paths,
    )
    .expect(0);
    let pages = |book| [1_000, 5_000].map(|from| quotation(book, from));
    let parts: Vec<String> = books.iter().flat_map(|book| pages(book)).collect();
    let page = folder.file("page.txt", &parts[0]);
    let verdict = |file| {
        let run = run("check --json --data {} {}", &[&folder.data(), file]).expect(1);
        told(&run.json()[0]).map(str::to_owned)
    };
    assert_eq!(verdict(&page), ["protected", "match", "-", "part_of_book"]);
    let collage = folder.file("collage.txt", parts.join(" "));
    assert_eq!(verdict(&collage)[..3], ["protected", "match", "-"]);
}
