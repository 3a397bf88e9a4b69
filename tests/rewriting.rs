//! The recipe `rewriting` says which books say the same in other words, and decides nothing.

use serde_json::{Value, json};

use crate::common::{Folder, Run, prose, reworded, run};

/// A catalogue with these recipes, of books that others have, one of them without a text of its own.
fn catalogue(recipes: &str) -> Folder {
    let folder = Folder::new();
    for seed in 0..4 {
        folder.file(&format!("books/b{seed}.txt"), prose(seed, 3_000));
    }
    let ingest = format!("ingest --data {{}} --library mine --rights protected {recipes} {{}}");
    run(&ingest, &[folder.data(), folder.path("books")]).expect(0);
    folder
}

fn check(folder: &Folder, options: &str, text: &str) -> Run {
    let file = folder.file("text.txt", text);
    run(
        &format!("check --data {{}} --json {options} {{}}"),
        &[folder.data(), file],
    )
}

/// What a report says without the matches that only `rewriting` found.
fn without_rewriting(of: &Run) -> (i32, Value) {
    let mut report = of.json().remove(0);
    let matches = report["matches"].as_array_mut().expect("matches");
    matches.retain(|found| found["informational"] != "reworded");
    for field in ["informational", "reason", "file"] {
        report[field].take();
    }
    (of.status, report)
}

#[test]
fn what_says_the_same_in_other_words_informs() {
    let with = catalogue("--recipe hardened --recipe rewriting");
    let without = catalogue("--recipe hardened");
    let book = prose(1, 3_000);
    let page = &book[6_000..8_000];
    let texts = [
        (reworded(&book, 7), 1),
        (reworded(page, 7), 1),
        (prose(50, 2_000) + &reworded(page, 7), 1),
        (book.clone(), 0),
        (prose(2, 3_000) + &reworded(&book, 7), 1),
        (reworded(&prose(51, 3_000), 7), 0),
        ("too short".to_owned(), 0),
    ];
    for (text, reworded) in &texts {
        let [told, usual] = [&with, &without].map(|folder| check(folder, "", text));
        assert_eq!(without_rewriting(&told), without_rewriting(&usual));
        let report = &told.json()[0];
        let matches = report["matches"].as_array().expect("matches");
        let found: Vec<&Value> = matches
            .iter()
            .filter(|found| found["informational"] == "reworded")
            .collect();
        assert_eq!(found.len(), *reworded, "{report}");
        for found in found {
            let told = [&found["book"]["id"], &found["relation"], &found["recipes"]];
            assert_eq!(json!(told), json!(["b1", "same_work", ["rewriting"]]));
        }
    }
    let named = check(&with, "--recipe hardened", &texts[0].0);
    assert_eq!(without_rewriting(&named).1["matches"], json!([]));
    assert_eq!(named.json()[0]["informational"], Value::Null);
}

#[test]
fn no_gate_refuses_what_says_the_same_in_other_words() {
    let folder = catalogue("--recipe rewriting");
    let file = folder.file("retold.txt", reworded(&prose(1, 3_000), 7));
    let unless = "ingest --data {} --library theirs --rights protected --unless protected {}";
    run(unless, &[folder.data(), file]).expect(0);
    let copy = folder.file("copy.txt", prose(1, 3_000));
    run(unless, &[folder.data(), copy]).expect(1);
}

/// Named first for a new catalogue or to re-index, it decides nothing all the same.
#[test]
fn it_becomes_no_default() {
    let folder = catalogue("--recipe rewriting");
    let copied = check(&folder, "--recipe rewriting", &prose(1, 3_000)).expect(1);
    assert_eq!(copied.json()[0]["verdict"], "protected");
    let other = catalogue("--recipe hardened");
    let reindex = "reindex --data {} --recipe rewriting --from sources {}";
    run(reindex, &[other.data(), other.path("books")]).expect(0);
    let stats = run("stats --json --data {}", &[other.data()])
        .expect(0)
        .json();
    let recipes = stats[0]["recipes"].as_array().expect("recipes").iter();
    let recipes: Vec<Value> = recipes
        .map(|of| json!([of["recipe"], of["default"], of["ready"], of["books"]]))
        .collect();
    assert_eq!(
        recipes,
        [
            json!(["hardened", true, true, 4]),
            json!(["rewriting", false, true, 4])
        ]
    );
    let retold = check(&other, "", &reworded(&prose(1, 3_000), 7)).expect(0);
    assert_eq!(retold.json()[0]["matches"][0]["relation"], "same_work");
}
