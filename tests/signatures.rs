//! Signatures through the program: printed, kept by a catalogue beside other recipes, and weighed by a lexicon.

use crate::common;
use std::fs;
use std::path::PathBuf;

use crate::common::{Folder, Server, prose, run, run_with_input};
use lapidary_gems::{Lexicon, Recipe};
use serde_json::{Value, json};

/// Five books, and the lexicon of them with its name.
fn shelf(folder: &Folder) -> (Vec<PathBuf>, PathBuf, String) {
    // All have the same sixty words, but not as often.
    let common = |i: u64| {
        (0..60)
            .map(move |word| format!("common{word} ").repeat((word * 7 + i as usize * 3) % 5 + 1))
    };
    let paragraph = |number| prose(number, 300) + "\n\n";
    let text = |i| {
        (0..10)
            .map(|p| paragraph(10 * i + p))
            .chain(common(i))
            .collect::<String>()
    };
    let books = (0..5)
        .map(|i| folder.file(&format!("books/book-{i}.txt"), text(i)))
        .collect();
    let counted = run("lexicon count {}", &[folder.path("books")]).expect(0);
    let name = counted
        .err
        .trim()
        .strip_prefix("lexicon ")
        .expect("its name")
        .to_owned();
    (books, folder.file("lexicon.tsv", counted.out), name)
}

fn found(run: common::Run) -> Value {
    run.expect(1).json().remove(0)
}

#[test]
fn gems_and_strings_are_printed() {
    let folder = Folder::new();
    let text = "Клад лежал в старом сундуке. В сундуке лежал клад, и старый ключ!";
    let printed = |line: &str| run_with_input(line, text).expect(0).out;
    assert_eq!(printed("fold --recipe tf;n=3"), "клад лежал сундуке\n");
    // The first 16 digits of the SHA-256 of that line, and its CRC32 in two encodings.
    assert_eq!(printed("gems --recipe tf;n=3"), "a0fa53e2d5ee8202\n");
    assert_eq!(printed("gems --recipe tf;bits=32;n=3"), "89f2ceab\n");
    assert_eq!(
        printed("gems --recipe tf;bits=32;charset=windows-1251;n=3"),
        "55f4065b\n"
    );
    assert_eq!(
        printed("fold --recipe winnow;k=3;w=2").lines().count(),
        printed("gems --recipe winnow;k=3;w=2").split(',').count()
    );
    let (books, lexicon, name) = shelf(&folder);
    for recipe in [
        format!("tf-idf@{name}"),
        "tf-idf".to_owned(),
        "tf".to_owned(),
    ] {
        let line = format!("gems --recipe {recipe} --lexicon {{}} {{}}");
        assert_eq!(
            run(&line, &[&lexicon, &books[0]])
                .expect(0)
                .out
                .trim_end()
                .len(),
            16,
            "{recipe}"
        );
    }
    let table = [
        ("gems --recipe tff", "there is no recipe 'tff'"),
        ("gems --recipe tf;k=2", "tf has no parameter 'k'"),
        ("gems --recipe tf-idf", "it needs a lexicon"),
        (
            "gems --recipe documented;n=2",
            "there is no recipe 'documented;n=2'",
        ),
        (
            "gems --recipe tf --lexicon {}",
            "this is not a lexicon, as `lapidary lexicon count` writes it: line 1",
        ),
    ];
    for (line, why) in table {
        let refused = run(line, &books[..line.matches("{}").count()]).expect(2);
        assert!(refused.err.contains(why), "{line}: {}", refused.err);
    }
    let other = run(
        &format!("gems --recipe tf-idf@{} --lexicon {{}}", "0".repeat(16)),
        &[&lexicon],
    )
    .expect(2);
    assert!(
        other.err.contains(&format!("the given one is {name}")),
        "{}",
        other.err
    );
}

#[test]
fn a_lexicon_counts_words_of_files_and_folders() {
    let folder = Folder::new();
    let one = folder.file("a/one.txt", "The treasure, the Treasure and a box.");
    folder.file("b/two.html", "<p>A treasure of boxes: box, box!</p>");
    folder.file("b/three.txt", "Nothing of it here.");
    let counted = run("lexicon count {} {}", &[one, folder.path("b")]).expect(0);
    let head =
        "lapidary-lexicon 1\ndocuments 3\nwords 7\nstem none\nstop 5b24f2e4be9a40bb\nmin_len 3\n";
    assert_eq!(counted.out, format!("{head}box\t2\t3\ntreasure\t2\t3\n"));
    let lexicon: Lexicon = counted.out.parse().expect("a lexicon");
    assert_eq!(counted.err, format!("lexicon {}\n", lexicon.name()));
    let stemmed = run(
        "lexicon count --stop none --stem snowball:en --min-len 1 {}",
        &[folder.path("b")],
    )
    .expect(0);
    assert!(
        stemmed
            .out
            .contains("\nstem snowball:en\nstop none\nmin_len 1\n"),
        "{}",
        stemmed.out
    );
    assert!(stemmed.out.contains("\nof\t2\t2\n"), "{}", stemmed.out);
    let refused = run("lexicon count --stem snowball:uk {}", &[folder.path("b")]).expect(2);
    assert!(refused.err.contains("snowball:LANGUAGE"), "{}", refused.err);
    folder.file("b/broken.pdf", "%PDF-1.7 and nothing else");
    let partly = run("lexicon count {}", &[folder.path("b")]).expect(2);
    assert!(
        partly.err.contains("broken.pdf") && partly.out.contains("documents 2\n"),
        "{}",
        partly.err
    );
}

#[test]
fn a_catalogue_keeps_signatures_beside_other_recipes() {
    let folder = Folder::new();
    let (books, lexicon, name) = shelf(&folder);
    let recipes = [
        "tf".to_owned(),
        format!("tf-ridf@{name}"),
        "winnow;bits=32;k=3".to_owned(),
        format!("key-words;df_hi=100@{name}"),
        "long-sent;unit=paragraph".to_owned(),
    ];
    let given = format!(
        "--recipe hardened --recipe {} --keep-folds",
        recipes.join(" --recipe ")
    );
    let ingest =
        format!("ingest --data {{}} --library l --rights protected --lexicon {{}} {given} {{}}");
    let all = [folder.data(), lexicon.clone(), folder.path("books")];
    assert!(run(&ingest, &all).expect(0).out.contains("5 added"));
    assert!(run(&ingest, &all).expect(0).out.contains("5 unchanged"));
    let copy = folder.file(
        "copy.txt",
        fs::read_to_string(&books[2]).expect("a book") + " Appended.",
    );
    let check = |data: PathBuf, recipe: &str| {
        found(run(
            &format!("check --json --recipe {recipe} --data {{}} {{}}"),
            &[data, copy.clone()],
        ))
    };
    for recipe in &recipes {
        let report = check(folder.data(), recipe);
        let ids: Vec<&Value> = report["matches"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|found| &found["book"]["id"])
            .collect();
        assert_eq!(
            (&report["recipe"], ids),
            (&json!(recipe), vec![&json!("book-2")]),
            "{recipe}"
        );
    }
    let rules = |report: Value| {
        (
            report["rule"]["min_common"].clone(),
            report["rule"]["min_share"].clone(),
        )
    };
    assert_eq!(rules(check(folder.data(), "tf")), (json!(1), json!(0.0)));
    assert_eq!(
        rules(check(folder.data(), &recipes[2])),
        (json!(3), json!(0.05))
    );
    assert!(
        check(folder.data(), &recipes[3])["rule"]["min_score"]
            .as_f64()
            .expect("a number")
            > 0.88
    );
    run("verify --data {}", &[folder.data()]).expect(0);

    let export = folder.path("all.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    run("import --data {} {}", &[folder.path("imported"), export]).expect(0);
    for recipe in &recipes {
        assert_eq!(
            check(folder.path("imported"), recipe)["total"],
            1,
            "{recipe}"
        );
    }
    let reindex = "reindex --data {} --recipe i-match;threshold=1 --lexicon {}";
    let refused = run(reindex, &[folder.path("imported"), lexicon.clone()]).expect(2);
    assert!(refused.err.contains("not from folds"), "{}", refused.err);
    let line = format!("{reindex} --from sources {{}}");
    let done = run(
        &line,
        &[folder.path("imported"), lexicon, folder.path("books")],
    )
    .expect(0);
    assert!(
        done.out
            .contains(&format!("checks now use recipe i-match;threshold=1@{name}")),
        "{}",
        done.out
    );
    let jobs = run("jobs list --json --data {}", &[folder.path("imported")])
        .expect(0)
        .out;
    assert!(
        jobs.contains("i-match;threshold=1@") && jobs.len() < 10_000,
        "{jobs}"
    );
    assert_eq!(
        found(run(
            "check --json --data {} {}",
            &[folder.path("imported"), copy]
        ))["total"],
        1
    );
    run("verify --data {}", &[folder.path("imported")]).expect(0);
}

/// Six frequent words say that books are alike, not how much of the text is in them, nor how often that is an accident.
#[test]
fn reports_of_signatures_say_what_is_known() {
    let folder = Folder::new();
    let (books, _, _) = shelf(&folder);
    let ingest = "ingest --data {} --library l --rights protected --recipe hardened --recipe tf --recipe winnow {}";
    run(ingest, &[folder.data(), folder.path("books")]).expect(0);
    let copy = folder.file(
        "copy.txt",
        fs::read_to_string(&books[2]).expect("a book") + " Appended.",
    );
    for recipe in ["tf", "winnow"] {
        let check = |options: &str| {
            let line = format!("check --recipe {recipe} {options} --data {{}} {{}}");
            run(&line, &[folder.data(), copy.clone()]).expect(1).out
        };
        let report: Value = serde_json::from_str(&check("--json")).expect("a report");
        let found = &report["matches"][0];
        for (of, absent) in [
            (&report, &["covered", "e_value"][..]),
            (found, &["e_value", "relation"]),
        ] {
            for name in absent {
                assert!(of.get(name).is_none(), "{recipe}: {name} in {of}");
            }
        }
        assert_eq!(found["spans"], json!([]), "{recipe}");
        let (english, russian) = (check(""), check("--lang ru"));
        assert!(
            english.starts_with("PROTECTED: this text matches a protected book\n"),
            "{english}"
        );
        assert!(
            russian.starts_with("ОХРАНЯЕТСЯ: этот текст совпадает с охраняемой книгой\n"),
            "{russian}"
        );
        assert!(
            !english.contains("by accident") && !english.contains("mostly the same"),
            "{english}"
        );
    }
    // An identical text, and a recipe with places, tell the share.
    let same = run(
        "check --json --recipe tf --data {} {}",
        &[&folder.data(), &books[2]],
    )
    .expect(1)
    .json()
    .remove(0);
    assert_eq!(
        (&same["covered"], &same["matches"][0]["relation"]),
        (&json!(1.0), &json!("same_text"))
    );
    let all = run(
        "check --json --recipe hardened,tf --data {} {}",
        &[&folder.data(), &copy],
    )
    .expect(1)
    .json()
    .remove(0);
    assert!(
        all["covered"].as_f64() > Some(0.9) && all["e_value"].as_f64() < Some(1e-9),
        "{all}"
    );
}

#[test]
fn gems_of_signatures_are_not_taken_for_others() {
    let folder = Folder::new();
    let (books, ..) = shelf(&folder);
    let line = "ingest --data {} --library l --rights protected --recipe shingles --recipe shingles;bits=32 --recipe hardened {}";
    run(line, &[folder.data(), folder.path("books")]).expect(0);
    let text = fs::read_to_string(&books[1]).expect("a book");
    let gems = |recipe: &str| {
        let recipe: Recipe = recipe.parse().expect("a recipe");
        recipe
            .gems(&text)
            .iter()
            .map(|placed| json!(recipe.write(placed.gem)))
            .collect::<Vec<_>>()
    };
    let server = Server::start(&folder.data());
    let post = |body: Value| {
        let url = format!("{}/v1/checks", server.url);
        let mut answer = ureq::post(&url)
            .config()
            .http_status_as_error(false)
            .build()
            .send_json(body)
            .expect("an answer");
        let status = answer.status().as_u16();
        (
            status,
            answer.body_mut().read_json::<Value>().expect("JSON"),
        )
    };
    for recipe in ["shingles", "shingles;bits=32", "hardened"] {
        let (status, report) = post(json!({ "gems": gems(recipe), "recipe": recipe }));
        assert_eq!(
            (status, &report["total"]),
            (200, &json!(1)),
            "{recipe}: {report}"
        );
        for other in ["shingles", "shingles;bits=32"] {
            let is_refused = (recipe == "shingles;bits=32") != (other == "shingles;bits=32");
            let (status, report) = post(json!({ "gems": gems(recipe), "recipe": other }));
            assert_eq!(status == 422, is_refused, "{recipe} as {other}: {report}");
        }
    }
    let (_, report) = post(json!({ "gems": gems("hardened") }));
    assert_eq!(
        (&report["recipe"], &report["total"]),
        (&json!("hardened"), &json!(1)),
        "without a name they are its own"
    );
    let (status, refused) = post(json!({ "gems": [12_345_678], "recipe": "shingles;bits=32" }));
    assert_eq!(status, 422, "a number is no signature: {refused}");
    assert!(
        refused["detail"]
            .as_str()
            .expect("a sentence")
            .contains("strings of 8 hexadecimal digits"),
        "{refused}"
    );
}

#[test]
fn signatures_are_evaluated() {
    let folder = Folder::new();
    let (_, lexicon, name) = shelf(&folder);
    let line = format!(
        "evaluate --books {{}} --recipes tf,tf-idf@{name},set;members=sum+tf --attacks none --lexicon {{}}"
    );
    let table = run(&line, &[folder.path("books"), lexicon]).expect(0).out;
    for recipe in ["tf", "tf-idf@", "set;members=sum+tf"] {
        assert!(table.contains(recipe), "{table}");
    }
}

/// A lexicon of the same books changes nothing; one of half of them says how much did.
#[test]
fn drift_says_how_many_signatures_would_change() {
    let folder = Folder::new();
    let (books, lexicon, name) = shelf(&folder);
    let drift = |line: &str, lexicon: &PathBuf| {
        let line = format!("lexicon drift --json {line} {{}} {{}}");
        run(&line, &[lexicon.clone(), folder.path("books")])
            .expect(0)
            .json()
            .remove(0)
    };
    let same = drift("", &lexicon);
    assert_eq!(
        (&same["lexicon"], &same["new_lexicon"]),
        (&json!(name), &json!(name))
    );
    let of = |drifted: &Value| {
        let row = |row: &Value| {
            (
                row["texts"].clone(),
                row["changed"].as_u64().expect("a number"),
            )
        };
        drifted["recipes"]
            .as_array()
            .expect("rows")
            .iter()
            .map(row)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&same), vec![(json!(5), 0); 6]);
    let two = run("lexicon count {} {}", &books[..2]).expect(0).out;
    let old = folder.file("old.tsv", two);
    let changed = drift("", &old);
    assert_eq!(
        (&changed["documents"], &changed["new_documents"]),
        (&json!(2), &json!(5))
    );
    let rows = of(&changed);
    assert!(
        rows.iter()
            .all(|(texts, changed)| *texts == json!(5) && *changed <= 5),
        "{rows:?}"
    );
    // The words that all five have weighed nothing before and weigh nothing now, but those of two weigh more.
    assert!(rows.iter().any(|(_, changed)| *changed > 0), "{rows:?}");
    // The signatures themselves say the same.
    let gems = |lexicon: &PathBuf, book: &PathBuf| {
        run(
            "gems --recipe key-words;size=50 --lexicon {} {}",
            &[lexicon.clone(), book.clone()],
        )
        .expect(0)
        .out
    };
    let sorted = |gems: String| {
        let mut gems: Vec<String> = gems.trim().split(',').map(str::to_owned).collect();
        gems.sort();
        gems
    };
    let differ = books
        .iter()
        .filter(|book| sorted(gems(&old, book)) != sorted(gems(&lexicon, book)))
        .count() as u64;
    assert_eq!(
        of(&drift("--recipe key-words;size=50", &old)),
        [(json!(5), differ)]
    );
    let table = run("lexicon drift {} {}", &[old.clone(), folder.path("books")])
        .expect(0)
        .out;
    assert!(
        table.contains(": 2 documents") && table.contains("\ntf-idf@") && table.contains(" %)"),
        "{table}"
    );
    let refused = run(
        "lexicon drift --recipe tf {} {}",
        &[old, folder.path("books")],
    )
    .expect(2);
    assert!(
        refused.err.contains("'tf' weighs no words"),
        "{}",
        refused.err
    );
}

/// An administrator adds a recipe with its lexicon to a running server, sees both, and re-indexes with it.
#[test]
fn a_server_takes_recipes_with_a_lexicon() {
    let folder = Folder::new();
    let (books, lexicon, name) = shelf(&folder);
    run(
        "ingest --data {} --library l --rights protected {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    let server = Server::start(&folder.data());
    let written = fs::read_to_string(&lexicon).expect("a lexicon");
    let post = |recipe: &str, lexicon: &str| {
        let request = ureq::post(format!("{}/v1/recipes", server.url))
            .query("recipe", recipe)
            .content_type("text/plain");
        let mut answer = request
            .config()
            .http_status_as_error(false)
            .build()
            .send(lexicon)
            .expect("an answer");
        (
            answer.status().as_u16(),
            answer.body_mut().read_json::<Value>().expect("JSON"),
        )
    };
    let get = |path: &str| {
        let request = ureq::get(format!("{}{path}", server.url))
            .config()
            .http_status_as_error(false)
            .build();
        let mut answer = request.call().expect("an answer");
        (
            answer.status().as_u16(),
            answer.body_mut().read_to_string().expect("text"),
        )
    };
    let (status, added) = post("tf-ridf", &written);
    let of = &added;
    assert_eq!(
        (status, &of["recipe"], &of["default"]),
        (201, &json!(format!("tf-ridf@{name}")), &json!(false)),
        "{added}"
    );
    assert_eq!(
        (
            &of["lexicon"]["name"],
            &of["lexicon"]["documents"],
            &of["lexicon"]["bytes"]
        ),
        (&json!(name), &json!(5), &json!(written.len()))
    );
    assert_eq!(of["lexicon"]["words"], json!(written.lines().count() - 6));
    assert_eq!(post("tf-ridf", &written).0, 200);
    assert_eq!(post(&format!("tf-ridf@{name}"), &written).0, 200);
    assert_eq!(get(&format!("/v1/lexicons/{name}")), (200, written.clone()));
    assert_eq!(get("/v1/lexicons/0000000000000000").0, 404);
    let (_, listed) = get("/v1/recipes");
    assert!(
        listed.contains(&name) && listed.contains("\"hardened\""),
        "{listed}"
    );
    for (recipe, lexicon, code) in [
        ("tf-idf", "", "bad_recipe"),
        ("tf-idf", "lapidary-lexicon 2\n", "bad_recipe"),
        ("tf-idf@0000000000000000", &*written, "bad_recipe"),
        ("nothing", "", "unknown_recipe"),
    ] {
        let (status, problem) = post(recipe, lexicon);
        assert_eq!(
            (status, &problem["code"]),
            (422, &json!(code)),
            "{recipe}: {problem}"
        );
    }
    let line = format!(
        "reindex --server {} --recipe i-match;threshold=1 --lexicon {{}} --from sources {{}}",
        server.url
    );
    let done = run(&line, &[lexicon, folder.path("books")]).expect(0);
    assert!(
        done.out
            .contains(&format!("checks now use recipe i-match;threshold=1@{name}")),
        "{}",
        done.out
    );
    // The recipe added before is known by its name.
    let line = format!("check --json --server {} {{}}", server.url);
    assert_eq!(found(run(&line, &[books[3].clone()]))["total"], 1);
}

#[test]
fn a_text_is_stemmed_in_its_own_language() {
    let folder = Folder::new();
    // None of these words shows its language.
    let (book, upload) = (
        "Treasures boxes stones lantern-bearers walking",
        "Treasure box stone lantern-bearer walked",
    );
    let paths = [
        folder.data(),
        folder.file("of.ndjson", "{\"file\":\"book.txt\",\"language\":\"en\"}"),
        folder.file("book.txt", book),
    ];
    let line = "ingest --data {} --library l --rights protected --recipe sum;stem=snowball --metadata {} {}";
    run(line, &paths).expect(0);
    let upload = folder.file("upload.txt", upload);
    let verdict = |language: &str| {
        run(
            &format!("check --json {language} --data {{}} {{}}"),
            &[&folder.data(), &upload],
        )
        .json()
        .remove(0)["verdict"]
            .clone()
    };
    assert_eq!(
        [
            verdict("--language en"),
            verdict(""),
            verdict("--language de")
        ],
        ["protected", "unknown", "unknown"]
    );
    let gems = |language: &str, file: &PathBuf| {
        run(
            &format!("gems --recipe sum;stem=snowball {language} {{}}"),
            &[file],
        )
        .expect(0)
        .out
    };
    assert_eq!(
        gems("--language en", &upload),
        gems("--language eng", &paths[2])
    );
    assert_ne!(gems("", &upload), gems("", &paths[2]));

    let server = Server::start(&folder.data());
    let text = fs::read_to_string(&upload).expect("a text");
    let post = |body: Value| -> Value {
        let sent = ureq::post(format!("{}/v1/checks", server.url))
            .config()
            .http_status_as_error(false)
            .build()
            .send_json(body);
        sent.expect("an answer")
            .body_mut()
            .read_json()
            .expect("JSON")
    };
    assert_eq!(
        post(json!({ "text": text, "language": "en-GB" }))["verdict"],
        "protected"
    );
    assert_eq!(post(json!({ "text": text }))["verdict"], "unknown");
    assert_eq!(
        post(json!({ "text": text, "language": "e".repeat(65) }))["code"],
        "too_long"
    );
    assert_eq!(
        post(json!({ "gems": ["0000000000000000"], "language": "en" }))["code"],
        "bad_json"
    );
    let raw = ureq::post(format!("{}/v1/checks?language=en", server.url))
        .content_type("text/plain")
        .send(&text);
    let report: Value = raw
        .expect("an answer")
        .body_mut()
        .read_json()
        .expect("JSON");
    assert_eq!(report["verdict"], "protected");
    let line = format!("check --json --language en --server {} {{}}", server.url);
    assert_eq!(
        run(&line, &[&upload]).json().remove(0)["verdict"],
        "protected"
    );
}

#[test]
fn signatures_of_paragraphs_say_which_paragraphs_match() {
    let folder = Folder::new();
    let paragraphs: Vec<String> = (0..30).map(|number| prose(number, 80)).collect();
    let book = folder.file("book.txt", paragraphs.join("\n\n"));
    let line = "ingest --data {} --library l --rights protected --recipe tf;unit=paragraph {}";
    run(line, &[folder.data(), book]).expect(0);
    // Five of its paragraphs behind seven others.
    let others = (100..107).map(|number| prose(number, 80));
    let upload = others
        .chain(paragraphs[10..15].iter().cloned())
        .collect::<Vec<_>>()
        .join("\r\n\r\n");
    let upload = folder.file("upload.txt", upload);
    let report = found(run("check --json --data {} {}", &[&folder.data(), &upload]));
    let span = &report["matches"][0]["spans"][0];
    assert_eq!(span["common"], 5, "{report}");
    let (upload, bytes) = (
        fs::read_to_string(&upload).expect("a text"),
        &span["query"]["bytes"],
    );
    let at = |name: &str| bytes[name].as_u64().expect("a place") as usize;
    assert_eq!(
        &upload[at("start")..at("end")],
        paragraphs[10..15].join("\r\n\r\n")
    );
    let paragraph = |of: &str, end: &str| span[of][end]["paragraph"].clone();
    assert_eq!(
        (
            paragraph("query_position", "start"),
            paragraph("book_position", "start")
        ),
        (json!(8), json!(null)),
        "{span}"
    );
    assert!(span["book"]["bytes"]["start"].as_u64() > Some(0), "{span}");
}
