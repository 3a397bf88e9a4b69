//! End-to-end tests of the command line, as people and other programs use it.

use crate::common;
use crate::makers;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{Folder, Run, Server, command, prose, run, run_with_input};
use lapidary::server::{Opening, Settings};
use lapidary_gems::Recipe;
use serde_json::{Value, json};

fn none() -> &'static [&'static Path] {
    &[]
}

/// Five books with about 60 gems each, one of them free and one in the public domain.
fn shelf(folder: &Folder) -> Vec<PathBuf> {
    let books: Vec<PathBuf> = (0..5)
        .map(|i| folder.file(&format!("books/book-{i}.txt"), prose(i, 6_000)))
        .collect();
    let metadata = r#"{"file": "book-3.txt", "rights": "free", "title": "Three\u001b[2J", "authors": ["A. Uthor"]}
        {"file": "book-4.txt", "rights": "public_domain", "id": "four/4", "language": "la"}"#;
    let metadata = folder.file("metadata.ndjson", metadata);
    let line = "ingest --data {} --library shelf --rights protected --metadata {} {}";
    run(line, &[folder.data(), metadata, folder.path("books")]).expect(0);
    books
}

fn check(folder: &Folder, status: i32, text: impl AsRef<[u8]>) -> Value {
    let file = folder.file("query.txt", text);
    run("check --data {} --json {}", &[folder.data(), file])
        .expect(status)
        .json()
        .remove(0)
}

/// `scripts/build` sets the variables for the build and for this test alike.
#[test]
fn the_version_names_the_commit_and_its_day() {
    let said = run("--version", none()).expect(0).out;
    let said = said.strip_suffix('\n').expect("a line");
    let version = concat!("lapidary ", env!("CARGO_PKG_VERSION"));
    let commit = std::env::var("LAPIDARY_COMMIT").unwrap_or_default();
    let rest = said.strip_prefix(version).expect("the version");
    if commit.is_empty() {
        assert_eq!(rest, "");
        return;
    }
    let built = rest.strip_prefix(" (").and_then(|it| it.strip_suffix(')'));
    let (of, day) = built.and_then(|it| it.split_once(", ")).expect(said);
    assert_eq!(of, commit);
    let _: jiff::civil::Date = day.parse().expect("a day");
}

#[test]
fn fold_and_gems_print_what_the_recipe_says() {
    let folder = Folder::new();
    let text = format!("{}Бриллианты и самоцветы, café!", prose(1, 3_000));
    let file = folder.file("text.txt", &text);
    for recipe in Recipe::built_in() {
        let name = recipe.name();
        let digits = recipe.fold(&text) + "\n";
        let gems: Vec<String> = recipe
            .gems(&text)
            .iter()
            .map(|g| recipe.write(g.gem).to_string())
            .collect();
        let gems = gems.join(",") + "\n";
        assert!(gems.len() > 100);
        assert_eq!(
            run(&format!("fold --recipe {name} {{}}"), &[&file])
                .expect(0)
                .out,
            digits
        );
        assert_eq!(
            run_with_input(&format!("fold --recipe {name} -"), &text)
                .expect(0)
                .out,
            digits
        );
        assert_eq!(
            run(&format!("gems --recipe {name} {{}}"), &[&file])
                .expect(0)
                .out,
            gems
        );
        assert_eq!(
            run_with_input(&format!("gems --recipe {name}"), &text)
                .expect(0)
                .out,
            gems
        );
    }
    assert_eq!(
        run("fold {}", &[&file]).out,
        Recipe::hardened().fold(&text) + "\n"
    );
}

/// Long files are folded while they are read, if they are what they seem.
#[test]
fn a_long_file_has_the_gems_of_its_text() {
    let folder = Folder::new();
    let story = "Гранит и самоцветы лежали в одном сундуке, а капитан охранял сокровища. ";
    let text: String = (0..60).map(|seed| prose(seed, 2_000) + story).collect();
    let text = format!("The captain's story. {text}");
    assert!(text.len() > 400_000, "long enough");
    let broken = [text.as_bytes(), b"\xff"].concat();
    let (windows, _, lossy) = encoding_rs::WINDOWS_1251.encode(&text);
    assert!(!lossy);
    for recipe in [Recipe::documented(), Recipe::released()] {
        let gems_of = |text: &str| {
            let gems: Vec<String> = recipe
                .gems(text)
                .iter()
                .map(|g| recipe.write(g.gem).to_string())
                .collect();
            gems.join(",") + "\n"
        };
        for (bytes, text) in [
            (text.as_bytes(), text.as_str()),
            (&broken, &format!("{text}\u{fffd}")),
            (format!("\u{feff}{text}").as_bytes(), &text),
            (&windows, &text),
        ] {
            let file = folder.file("text.txt", bytes);
            let name = recipe.name();
            assert_eq!(
                run(&format!("gems --recipe {name} {{}}"), &[&file])
                    .expect(0)
                    .out,
                gems_of(text)
            );
            let mut command = command(&format!("gems --recipe {name} -"), none());
            let redirected = command
                .stdin(fs::File::open(&file).expect("a file"))
                .output()
                .expect("an answer");
            assert_eq!(
                String::from_utf8(redirected.stdout).expect("text"),
                gems_of(text)
            );
        }
    }
    let file = folder.file(
        "noise.txt",
        [text.as_bytes(), "\u{1}\u{2}".repeat(9_000).as_bytes()].concat(),
    );
    let noise = run("gems --recipe documented {}", &[&file]).expect(2);
    assert!(
        noise.err.contains("control characters") && noise.out.is_empty(),
        "{}",
        noise.err
    );
    let text = folder.file("text.txt", text);
    let long = run("gems --recipe documented --limit-input 300000 {}", &[&text]);
    assert!(long.status == 2 && long.out.is_empty(), "{}", long.err);
}

#[test]
fn texts_with_nothing_in_them_have_no_gems() {
    let many = |text: &str| text.repeat(3_000_000 / text.len());
    for text in [
        "",
        "word",
        &many("a"),
        &many("7"),
        &many("1234 "),
        &many("?!— "),
        &many("x-"),
        &many("\u{301}"),
    ] {
        assert_eq!(run_with_input("gems -", text).expect(0).out, "\n");
    }
    assert_eq!(
        run_with_input("fold --recipe documented -", "1234 123456")
            .expect(0)
            .out,
        "12348\n",
        "the first is a short word"
    );
}

#[test]
fn other_boundaries_are_another_recipe() {
    let folder = Folder::new();
    let text = folder.file("text.txt", prose(1, 3_000));
    let boundaries = folder.file("fine.txt", "[fine]\nshortest = 40\n12 13 # not four digits");
    let refused = run("gems --boundaries {} {}", &[&boundaries, &text]).expect(2);
    assert!(
        refused.err.contains("'12' is not a boundary sequence"),
        "{}",
        refused.err
    );

    let boundaries = folder.file(
        "fine.txt",
        "[fine]\nshortest = 40\n4562 2483 1255 4135 3131 2121 1313 5151",
    );
    let gems = |run: common::Run| run.expect(0).out.split(',').count();
    assert!(
        gems(run("gems --boundaries {} {}", &[&boundaries, &text]))
            > gems(run("gems --recipe documented {}", &[&text]))
    );

    let line = "ingest --data {} --library l --rights free --recipe documented --boundaries {} {}";
    run(line, &[&folder.data(), &boundaries, &text]).expect(0);
    // The catalogue now knows the recipe by its name and by its boundaries, and uses it by default.
    let report = run("check --json --data {} {}", &[&folder.data(), &text])
        .expect(0)
        .json()
        .remove(0);
    let recipe = report["recipe"].as_str().expect("a name").to_owned();
    assert!(recipe.starts_with("documented@"), "{recipe}");
    assert_eq!(report["matches"][0]["share_of_query"], 1.0);
    let named = format!("check --json --recipe {recipe} --data {{}} {{}}");
    assert_eq!(
        run(&named, &[&folder.data(), &text]).expect(0).json(),
        std::slice::from_ref(&report)
    );
    let by_file = "check --json --boundaries {} --data {} {}";
    assert_eq!(
        run(by_file, &[&boundaries, &folder.data(), &text])
            .expect(0)
            .json(),
        [report]
    );
    let other = run(
        "check --json --recipe documented --data {} {}",
        &[&folder.data(), &text],
    )
    .expect(2);
    assert!(
        other.err.contains(&format!("only: {recipe}")),
        "{}",
        other.err
    );
}

#[test]
fn a_check_says_which_book_how_much_and_what_may_be_done() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let text = |i: usize| fs::read_to_string(&books[i]).expect("a book");

    let report = check(
        &folder,
        1,
        text(0).to_uppercase().replace(' ', "  ").replace('.', " —"),
    );
    let gems = report["gems"].as_u64().expect("a number");
    assert!(gems > 30);
    assert_eq!(report["verdict"], "protected");
    let recipe = report["recipe"].as_str().expect("a name");
    assert!(recipe.starts_with("hardened-compact@"), "{recipe}");
    assert_eq!(report["recipes"], json!([recipe]));
    assert_eq!(report["reason"], "match");
    assert!(
        report["covered"].as_f64().expect("a share") > 0.98,
        "{report}"
    );
    let rule = json!({"min_common": 2, "min_share": 0.01, "min_share_of_few": 0.16, "common_cap": 10_000, "min_support": 2.0});
    assert_eq!(report["rule"], rule);
    let matches = report["matches"].as_array().expect("matches");
    assert_eq!(matches.len(), 1);
    assert_eq!(matches[0]["book"]["library"], "shelf");
    assert_eq!(matches[0]["book"]["id"], "book-0");
    // With some secrets, the book has a gem that is only looked up for the text.
    let common = matches[0]["common"].as_u64().expect("a number");
    let looked_up = report["looked_up"].as_u64().expect("a number");
    assert!((gems..=looked_up).contains(&common), "{report}");
    assert_eq!(
        (&matches[0]["share_of_query"], &matches[0]["share_of_book"]),
        (&json!(1.0), &json!(1.0))
    );
    assert_eq!(matches[0]["relation"], "same_text");
    assert!(matches[0]["e_value"].as_f64().expect("a number") < 1e-9);

    for (named, used) in [
        ("released,hardened", vec!["released", "hardened"]),
        ("all", vec![recipe, "hardened", "released"]),
    ] {
        let line = format!("check --json --recipe {named} --data {{}} {{}}");
        let report = run(&line, &[&folder.data(), &books[0]])
            .expect(1)
            .json()
            .remove(0);
        assert_eq!(
            (&report["recipes"], &report["matches"][0]["recipes"]),
            (&json!(used), &json!(used))
        );
    }
    let wrong = run(
        "check --recipe hardened,none --data {} {}",
        &[&folder.data(), &books[0]],
    )
    .expect(2);
    assert!(wrong.err.contains("no recipe 'none'"), "{}", wrong.err);

    let report = check(&folder, 0, text(3));
    assert_eq!(report["verdict"], "free");
    assert_eq!(report["matches"][0]["book"]["title"], "Three\u{1b}[2J");
    assert_eq!(report["matches"][0]["book"]["authors"], json!(["A. Uthor"]));

    let report = check(&folder, 0, prose(99, 6_000));
    assert_eq!(report["verdict"], "unknown");
    assert_eq!(report["matches"], json!([]));
    assert_eq!(check(&folder, 2, "")["verdict"], "unknown");
    assert!(
        check(&folder, 2, "word")["note"]
            .as_str()
            .expect("a note")
            .starts_with("no gems")
    );
}

#[test]
fn parts_and_collections() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let text = |i: usize| fs::read_to_string(&books[i]).expect("a book");

    let half = text(4).len() / 2;
    let part = &text(4)[half..half + 20_000];
    let report = check(&folder, 0, part);
    assert_eq!(report["verdict"], "public_domain");
    let found = &report["matches"][0];
    assert_eq!(
        (&found["book"]["id"], &found["relation"]),
        (&json!("four/4"), &json!("part_of_book"))
    );
    // The reported span is where the part was taken from.
    let span = &found["spans"][0];
    let byte = |of: &str, end: &str| span[of]["bytes"][end].as_u64().expect("a place") as usize;
    assert_eq!(byte("book", "start") - byte("query", "start"), half);
    assert_eq!(byte("book", "end") - byte("query", "end"), half);
    assert_eq!(span["common"], found["common"]);

    let glued = [text(4), prose(50, 9_000), text(3), text(1)].concat();
    let report = check(&folder, 1, glued);
    assert_eq!(report["verdict"], "protected");
    let mut found: Vec<_> = report["matches"]
        .as_array()
        .expect("matches")
        .iter()
        .collect();
    assert!(found.iter().all(|m| m["relation"] == "contains_book"));
    found.sort_by_key(|m| m["book"]["id"].as_str());
    let ids: Vec<_> = found
        .iter()
        .map(|m| m["book"]["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, ["book-1", "book-3", "four/4"]);

    let only = folder.file("query.txt", text(1));
    run(
        "check --data {} --json --library shelf {}",
        &[folder.data(), only.clone()],
    )
    .expect(1);
    for library in ["other", "Shelf"] {
        let refused = run(
            &format!("check --data {{}} --json --library {library} {{}}"),
            &[folder.data(), only.clone()],
        );
        assert!(
            refused
                .expect(2)
                .err
                .contains(&format!("there is no library {library:?}")),
            "{library}"
        );
    }
}

#[test]
fn the_rule_is_a_setting() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let text = fs::read_to_string(&books[0]).expect("a book");
    let query = folder.file(
        "query.txt",
        format!("{}{}", &text[..text.len() / 3], prose(77, 12_000)),
    );
    let checked = |rule: &str, status: i32| {
        let line = format!("check --json {rule} --data {{}} {{}}");
        run(&line, &[folder.data(), query.clone()])
            .expect(status)
            .json()
            .remove(0)
    };
    let common = checked("", 1)["matches"][0]["common"]
        .as_u64()
        .expect("a number");
    assert_eq!(checked(&format!("--min-common {common}"), 1)["total"], 1);
    let stricter = checked(&format!("--min-common {}", common + 1), 0);
    assert_eq!(
        (&stricter["total"], &stricter["rule"]["min_common"]),
        (&json!(0), &json!(common + 1))
    );
    assert_eq!(checked("--min-share 0.2", 1)["total"], 1);
    assert_eq!(checked("--min-share 0.9", 0)["total"], 0);
    run(
        "check --json --min-share 1.5 --data {} {}",
        &[folder.data(), query.clone()],
    )
    .expect(2);
}

#[test]
fn boilerplate_is_not_counted() {
    let folder = Folder::new();
    let licence = prose(1, 2_000);
    for i in 0..6 {
        folder.file(
            &format!("books/{i}.txt"),
            format!("{}{licence}{}", prose(10 + i, 1_500), prose(20 + i, 1_500)),
        );
    }
    run(
        "ingest --data {} --library l --rights protected {}",
        &[folder.data(), folder.path("books")],
    )
    .expect(0);
    let query = folder.file(
        "query.txt",
        format!("{}{licence}{}", prose(30, 1_500), prose(31, 1_500)),
    );
    let found = run("check --json --data {} {}", &[folder.data(), query.clone()])
        .expect(1)
        .json()
        .remove(0);
    assert_eq!(
        (&found["total"], &found["common_gems"]),
        (&json!(6), &json!(0))
    );
    let capped = "check --json --common-cap 5 --data {} {}";
    let found = run(capped, &[folder.data(), query])
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(found["total"], 0);
    assert!(found["common_gems"].as_u64().expect("a number") > 10);
}

#[test]
fn an_ingest_goes_on_where_it_was() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let again = |what: &str| {
        let line = "ingest --data {} --library shelf --rights protected --metadata {} {}";
        let run = run(
            line,
            &[
                folder.data(),
                folder.path("metadata.ndjson"),
                folder.path("books"),
            ],
        );
        assert!(run.out.contains(what), "{what}: {}", run.out);
        run
    };
    again("0 added, 0 replaced, 5 unchanged, 0 refused").expect(0);
    fs::write(&books[2], prose(200, 6_000)).expect("a file");
    folder.file("books/deeper/still/new.txt", prose(300, 6_000));
    folder.file("books/.hidden.txt", prose(301, 6_000));
    again("1 added, 1 replaced, 4 unchanged, 0 refused").expect(0);
    assert_eq!(
        check(&folder, 0, prose(2, 6_000))["total"],
        0,
        "the old text left no trace"
    );
    assert_eq!(
        check(&folder, 1, prose(200, 6_000))["matches"][0]["book"]["id"],
        "book-2"
    );
    assert_eq!(
        check(&folder, 1, prose(300, 6_000))["matches"][0]["book"]["id"],
        "new"
    );
    run("verify --data {}", &[folder.data()]).expect(0);

    let compacted = run("compact --data {}", &[folder.data()]).expect(0).out;
    assert!(compacted.contains("on disk before"), "{compacted}");
    assert_eq!(check(&folder, 0, prose(2, 6_000))["total"], 0);
    assert_eq!(
        check(&folder, 1, prose(200, 6_000))["matches"][0]["book"]["id"],
        "book-2"
    );
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn recipes_stand_side_by_side() {
    let folder = Folder::new();
    let book = folder.file("book.txt", prose(1, 6_000));
    let ingest = |recipes: &str| {
        let line = format!("ingest --data {{}} --library l --rights protected {recipes} {{}}");
        run(&line, &[folder.data(), book.clone()]).expect(0).out
    };
    ingest("--recipe released");
    assert_eq!(check(&folder, 1, prose(1, 6_000))["recipe"], "released");
    assert!(
        ingest("--recipe documented").contains("1 replaced"),
        "it has gems of another recipe now"
    );
    assert!(ingest("--recipe documented").contains("1 unchanged"));
    assert!(ingest("").contains("1 unchanged"));
    for recipe in ["documented", "released"] {
        let line = format!("check --json --recipe {recipe} --data {{}} {{}}");
        let report = run(&line, &[folder.data(), book.clone()])
            .expect(1)
            .json()
            .remove(0);
        assert_eq!(
            (&report["recipe"], &report["matches"][0]["share_of_book"]),
            (&json!(recipe), &json!(1.0))
        );
    }
    fs::write(&book, prose(2, 6_000)).expect("a file");
    ingest("--recipe documented");
    let report = check(&folder, 1, prose(2, 6_000));
    assert_eq!(
        report["recipe"], "released",
        "the first ingest settled the default"
    );
    assert_eq!(
        report["matches"][0]["share_of_book"], 1.0,
        "a new text has gems of all recipes that the old one had"
    );
    assert_eq!(check(&folder, 0, prose(1, 6_000))["total"], 0);
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn one_bad_file_stops_no_other() {
    let folder = Folder::new();
    folder.file("books/good.txt", prose(1, 6_000));
    folder.file("books/second/good.txt", prose(2, 6_000));
    folder.file("books/empty.txt", "");
    folder.file("books/short.txt", "Only a few words.");
    folder.file(
        "books/picture.txt",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01",
    );
    folder.file(
        "books/cyrillic.txt",
        encoding_rs::KOI8_R.encode("Не то чтобы он был").0,
    );
    let long = "x".repeat(200);
    folder.file(&format!("books/Имя с пробелом {long}.txt"), prose(4, 6_000));
    let metadata = folder.file(
        "m.ndjson",
        "{\"file\": \"gone.txt\", \"rights\": \"free\"}\n",
    );
    let paths = [
        folder.data(),
        metadata,
        folder.path("books"),
        folder.path("nowhere"),
    ];
    let ingest = run(
        "ingest --json --data {} --library l --rights free --metadata {} {} {}",
        &paths,
    )
    .expect(2);
    let mut refused: Vec<(String, String)> = Vec::new();
    let mut added = 0;
    for line in ingest.json() {
        match line["refused"].as_str() {
            Some(why) => {
                let file = line["file"]
                    .as_str()
                    .expect("a path")
                    .rsplit('/')
                    .next()
                    .expect("a name");
                refused.push((file.to_owned(), why.to_owned()));
            }
            None => added += 1,
        }
    }
    refused.sort();
    let reasons: Vec<String> = refused
        .iter()
        .map(|(file, why)| format!("{file}: {why}"))
        .collect();
    let expected = [
        "empty.txt: the text is empty",
        &format!(
            "gone.txt: {}, line 1: no such file here",
            folder.path("m.ndjson").display()
        ),
        "good.txt: the id \"good\" is already used by",
        "nowhere: No such file or directory",
        "picture.txt: not a text: a PNG",
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:#?}");
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.starts_with(expected), "{reason}");
    }
    assert_eq!(added, 4);
    let (_, short) = ingest
        .err
        .split_once("2 are too short for a gem, so no check can find them\n")
        .expect("a count");
    assert!(
        ["short.txt", "cyrillic.txt"]
            .iter()
            .all(|name| short.contains(name)),
        "{short}"
    );
    run("verify --data {}", &[folder.data()]).expect(0);
}

/// Files next to books are not ingested, and globs select the files that are.
#[test]
fn of_a_folder_the_books_are_taken() {
    let folder = Folder::new();
    let others = [
        "README.md",
        "list.csv",
        "list.tsv",
        "meta.json",
        "feed.xml",
        "cover.jpg",
        "deep/notes.md",
    ];
    for (seed, name) in (100..).zip(others) {
        folder.file(&format!("books/{name}"), prose(seed, 2_000));
    }
    for (seed, name) in (0..).zip(["one.txt", "two", "Vol. 3", "draft/four.txt"]) {
        folder.file(&format!("books/{name}"), prose(seed, 2_000));
    }
    folder.file(
        "books/page.web",
        format!(
            "<!DOCTYPE html><html><body><p>{}</p></body></html>",
            prose(9, 2_000)
        ),
    );
    let ids = |options: &str, status: i32| {
        let data = folder.path(&format!("data{}", options.replace(['*', '/', ' '], "_")));
        let line = format!("ingest --library l --rights protected {options} --data {{}} {{}}");
        let said = run(&line, &[data.clone(), folder.path("books")]).expect(status);
        let books = run("books list --json --data {}", &[data]).json();
        (
            books
                .iter()
                .map(|book| book["id"].as_str().expect("an id").to_owned())
                .collect::<Vec<_>>(),
            said,
        )
    };
    let (found, said) = ids("", 0);
    assert_eq!(found, ["Vol", "four", "one", "page", "two"]);
    assert!(said.out.contains("formats: 1 html, 4 text"), "{}", said.out);
    let skipped = "skipped, not books: 1 .csv, 1 .jpg, 1 .json, 2 .md, 1 .tsv, 1 .xml;";
    assert!(said.out.contains(skipped), "{}", said.out);
    assert_eq!(ids("--exclude draft/*", 0).0, ["Vol", "one", "page", "two"]);
    assert_eq!(
        ids("--include *.md --include *.txt --exclude README*", 0).0,
        ["four", "notes", "one"]
    );
    assert_eq!(
        ids("--id path --include *.txt", 0).0,
        ["draft/four.txt", "one.txt"]
    );
    // A file named explicitly is always ingested.
    let named = [folder.path("named"), folder.path("books/README.md")];
    assert!(
        run("ingest --library l --rights protected --data {} {}", &named)
            .expect(0)
            .out
            .contains("1 added")
    );
    let bad = run(
        "ingest --library l --rights free --include [ --data {} {}",
        &named,
    )
    .expect(2);
    assert!(bad.err.contains("--include"), "{}", bad.err);
}

#[test]
fn books_with_one_name_get_ids_of_their_own() {
    let folder = Folder::new();
    for (seed, name) in (0..).zip(["a/book.txt", "a/book.text", "b/book.txt"]) {
        folder.file(&format!("books/{name}"), prose(seed, 2_000));
    }
    let paths = [folder.data(), folder.path("books")];
    let refused = run("ingest --library l --rights free --data {} {}", &paths).expect(2);
    assert!(
        refused.err.contains("is already used by") && refused.err.contains("give --id path"),
        "{}",
        refused.err
    );
    let paths = [folder.path("other"), folder.path("books")];
    run(
        "ingest --library l --rights free --id path --data {} {}",
        &paths,
    )
    .expect(0);
    let books = run("books list --json --data {}", &paths[..1]).json();
    let ids: Vec<_> = books
        .iter()
        .map(|book| book["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, ["a/book.text", "a/book.txt", "b/book.txt"]);
}

#[test]
fn what_all_files_lack_is_said_once() {
    let folder = Folder::new();
    for seed in 0..5 {
        folder.file(&format!("books/{seed}.txt"), prose(seed, 1_000));
    }
    for (options, lacks) in [
        ("--library l", "no rights: give --rights"),
        ("--rights free", "no library: give --library"),
    ] {
        let line = format!("ingest {options} --data {{}} {{}}");
        let refused = run(&line, &[folder.data(), folder.path("books")]).expect(2);
        assert_eq!(
            (
                refused.err.matches(lacks).count(),
                refused.err.lines().count()
            ),
            (1, 1),
            "{}",
            refused.err
        );
    }
    assert!(!folder.data().exists());
    let metadata = folder.file("m.ndjson", r#"{"file": "1.txt", "rights": "free"}"#);
    let paths = [folder.data(), metadata, folder.path("books")];
    let refused = run("ingest --library l --data {} --metadata {} {}", &paths).expect(2);
    assert_eq!(
        refused.err.matches("no rights").count(),
        1,
        "{}",
        refused.err
    );
    assert!(
        refused
            .err
            .contains("refused 4 files: no rights: give --rights, or metadata\n"),
        "{}",
        refused.err
    );
    assert!(refused.out.contains("1 added"), "{}", refused.out);
}

/// A file that cannot be checked never hides a protected match, and an empty input never passes as clean.
#[test]
fn the_exit_status_of_a_check_hides_nothing() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let (data, protected, free) = (folder.data(), books[0].clone(), books[3].clone());
    let missing = folder.path("missing.txt");
    let check = |files: &[&PathBuf]| {
        let line = format!("check --data {{}}{}", " {}".repeat(files.len()));
        let paths: Vec<&PathBuf> = [&data].into_iter().chain(files.iter().copied()).collect();
        run(&line, &paths)
    };
    check(&[&free]).expect(0);
    assert!(
        check(&[&free, &missing])
            .expect(2)
            .err
            .contains("missing.txt: No such file")
    );
    for files in [[&protected, &missing], [&missing, &protected]] {
        let both = check(&files).expect(1);
        assert!(
            both.err.contains("missing.txt: No such file") && both.out.contains("protected"),
            "{both:?}"
        );
    }
    fs::create_dir_all(folder.path("nothing/in/it")).expect("a folder");
    let empty = folder.path("nothing");
    assert!(
        check(&[&empty])
            .expect(2)
            .err
            .contains("nothing: this folder contains no files")
    );
    assert!(
        check(&[&free, &empty])
            .expect(2)
            .err
            .contains("this folder contains no files")
    );
    check(&[&protected, &empty]).expect(1);
    // A file that the server rejects does not stop the others.
    let server = Server::start_with("--max-body 100000", &[], &data);
    let large = folder.file("large.txt", prose(50, 30_000));
    for (other, status) in [(&protected, 1), (&free, 2)] {
        let line = format!("check --server {} {{}} {{}}", server.url);
        let both = run(&line, &[&large, other]).expect(status);
        assert!(both.err.contains("large.txt: "), "{both:?}");
        assert!(
            both.out.contains(
                other
                    .file_name()
                    .and_then(|name| name.to_str())
                    .expect("a name")
            ),
            "{both:?}"
        );
    }
    drop(server);
    // In a folder, `check` reads every file, whatever its name.
    folder.file("uploads/README.md", fs::read(&protected).expect("a book"));
    check(&[&folder.path("uploads")]).expect(1);
    let line = "check --exclude *.md --data {} {}";
    let none = run(line, &[data.clone(), folder.path("uploads")]).expect(2);
    assert!(none.err.contains("1 .md"), "{}", none.err);
}

/// A text of which nothing can be found is not one of which nothing was found.
#[test]
fn a_text_that_cannot_be_checked_does_not_look_clean() {
    let folder = Folder::new();
    shelf(&folder);
    let data = folder.data();
    let texts = [
        "",
        " \n\t\n",
        "?!… — ***",
        "12 345 678",
        "- 7 -\n\n8\n",
        "Too short to tell.",
    ];
    let files: Vec<PathBuf> = (0..)
        .zip(texts)
        .map(|(i, text): (usize, _)| folder.file(&format!("short/{i}.txt"), text))
        .collect();
    for (file, text) in files.iter().zip(texts) {
        let report = run("check --data {} --json {}", &[&data, file])
            .expect(2)
            .json()
            .remove(0);
        assert_eq!(
            (&report["verdict"], &report["reason"]),
            (&json!("unknown"), &json!("too_short")),
            "{text:?}"
        );
        let all = run("check --recipe all --data {} {}", &[&data, file]).expect(2);
        assert!(
            all.out.starts_with("TOO SHORT TO CHECK\n"),
            "{text:?}: {}",
            all.out
        );
        let russian = run("check --lang ru --data {} {}", &[&data, file]).expect(2);
        assert!(
            russian.out.starts_with("СЛИШКОМ КОРОТКИЙ ТЕКСТ\n"),
            "{text:?}: {}",
            russian.out
        );
    }
    folder.file("short/clean.txt", prose(60, 3_000));
    let pages = folder.path("pages");
    let several = run(
        "check --record --data {} --html {} {}",
        &[&data, &pages, &folder.path("short")],
    )
    .expect(2);
    assert!(
        several
            .out
            .ends_with("7 files: 6 too short to check, 1 without a match\n"),
        "{}",
        several.out
    );
    let index = fs::read_to_string(pages.join("index.html")).expect("an index");
    assert_eq!(index.matches("Too short to check").count(), 6, "{index}");
    let decisions = run("decisions list --data {}", &[&data]).expect(0).out;
    assert_eq!(
        decisions.matches("\tnot_checked\t").count(),
        6,
        "{decisions}"
    );
    assert_eq!(
        decisions.matches("\tunknown\twatched\t").count(),
        1,
        "{decisions}"
    );

    // An identical text is a match, however short. What forbids is an answer, whatever else was found.
    let same = folder.file("same.txt", texts[5]);
    run(
        "ingest --data {} --library shelf --rights protected {}",
        &[&data, &same],
    )
    .expect(0);
    run("check --data {} {}", &[&data, &files[5]]).expect(1);
    run("check --data {} {}", &[&data, &folder.path("short")]).expect(1);
    // Nor does a catalogue without books answer anything.
    let empty = folder.path("empty");
    run(
        "ingest --data {} --library shelf --rights free {}",
        &[&empty, &same],
    )
    .expect(0);
    run("books remove --data {} --library shelf same", &[&empty]).expect(0);
    let clean = run(
        "check --data {} {}",
        &[&empty, &folder.path("short/clean.txt")],
    )
    .expect(2);
    assert!(
        clean
            .out
            .starts_with("NOT CHECKED: the catalogue has nothing to compare it with"),
        "{}",
        clean.out
    );
}

/// On the command line too, a text without gems never replaces a book by mistake.
#[test]
fn an_ingest_empties_no_book_by_mistake() {
    let folder = Folder::new();
    let books = shelf(&folder);
    fs::write(&books[0], "Nearly nothing.").expect("a file");
    let again = |options: &str| {
        let line = format!("ingest {options} --data {{}} --library shelf --rights protected {{}}");
        run(&line, &[folder.data(), books[0].clone()])
    };
    let refused = again("").expect(2);
    assert!(
        refused
            .err
            .contains("hardened, released and would have none at all")
            && refused.err.contains("hardened-compact@"),
        "{}",
        refused.err
    );
    check(&folder, 1, prose(0, 6_000));
    let server = Server::start(&folder.data());
    let line = format!(
        "ingest --server {} --library shelf --rights protected {{}}",
        server.url
    );
    assert!(
        run(&line, &[&books[0]])
            .expect(2)
            .err
            .contains("would have none at all")
    );
    drop(server);
    again("--allow-empty").expect(0);
    check(&folder, 0, prose(0, 6_000));
}

#[test]
fn metadata_that_cannot_be_right_is_refused_before_anything_else() {
    let folder = Folder::new();
    let book = folder.file("book.txt", prose(1, 1_000));
    for (metadata, said) in [
        (
            "{\"file\": \"book.txt\", \"titel\": \"x\"}",
            "line 1: there is no field 'titel'",
        ),
        ("\n{\"file\": \"book.txt\"", "line 2: it is incomplete JSON"),
        (
            "{\"file\": \"book.txt\", \"rights\": \"mine\"}",
            "'mine' is not one of",
        ),
        (
            "{\"file\": \"a\"}\n{\"file\": \"a\"}",
            "line 2: \"a\" is already in line 1",
        ),
    ] {
        let metadata = folder.file("m.ndjson", metadata);
        let paths = [folder.data(), metadata, book.clone()];
        let refused = run(
            "ingest --data {} --library l --rights free --metadata {} {}",
            &paths,
        )
        .expect(2);
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    assert!(!folder.data().exists());
    let no_rights = run("ingest --data {} --library l {}", &[folder.data(), book]).expect(2);
    assert!(
        no_rights
            .err
            .contains("no rights: give --rights, or metadata"),
        "{}",
        no_rights.err
    );
}

#[test]
fn books_are_listed_shown_and_removed() {
    let folder = Folder::new();
    shelf(&folder);
    let listed = run("books list --data {}", &[folder.data()]).expect(0).out;
    assert_eq!(listed.lines().count(), 5);
    assert!(listed.starts_with("shelf/book-0\tprotected\t"), "{listed}");
    assert!(
        listed.contains("Three [2J") && !listed.contains('\u{1b}'),
        "no title steers the terminal: {listed}"
    );
    let shown = run(
        "books show --data {} --library shelf --json four/4",
        &[folder.data()],
    )
    .expect(0)
    .json()
    .remove(0);
    assert_eq!(
        (&shown["language"], &shown["rights"]),
        (&json!("la"), &json!("public_domain"))
    );
    assert_eq!(shown["bytes"], prose(4, 6_000).len());
    assert!(
        run(
            "books show --data {} --library shelf book-3",
            &[folder.data()]
        )
        .expect(0)
        .out
        .contains("A. Uthor")
    );
    run(
        "books remove --data {} --library shelf book-0 four/4",
        &[folder.data()],
    )
    .expect(0);
    let gone = run(
        "books remove --data {} --library shelf book-0",
        &[folder.data()],
    )
    .expect(2);
    assert!(gone.err.contains("no book \"book-0\""), "{}", gone.err);
    run(
        "books show --data {} --library shelf book-0",
        &[folder.data()],
    )
    .expect(2);
    assert_eq!(check(&folder, 0, prose(0, 6_000))["total"], 0);
    let stats = run("stats --json --data {}", &[folder.data()])
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(
        (&stats["books"], &stats["libraries"][0]["books"]),
        (&json!(3), &json!(3))
    );
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn books_are_found_in_a_folder_and_on_a_server() {
    let folder = Folder::new();
    shelf(&folder);
    let metadata = r#"{"file": "book-0.txt", "title": "Evenings on a Farm", "authors": ["N. Gogol"], "identifiers": ["0-306-40615-2"]}
        {"file": "book-1.txt", "title": "The farm, 2nd ed.", "authors": ["Gógol"]}"#;
    let metadata = folder.file("about.ndjson", metadata);
    let line = "ingest --data {} --library farms --rights protected --metadata {} {}";
    run(line, &[folder.data(), metadata, folder.path("books")]).expect(0);
    let find = |wher: &str, line: &str, words: &str| {
        let words = if words.is_empty() {
            vec![]
        } else {
            vec![Path::new(words)]
        };
        run(&format!("books find {line} {wher}"), &words)
    };
    let in_all_ways = |wher: &str| {
        let table = [
            ("--title {}", "FARM", vec!["farms/book-0", "farms/book-1"]),
            ("--title {}", "farm evenings", vec!["farms/book-0"]),
            ("--title farm --author {}", "n gogol", vec!["farms/book-0"]),
            ("--author gogol", "", vec!["farms/book-0", "farms/book-1"]),
            ("--author uthor --library shelf", "", vec!["shelf/book-3"]),
            ("--identifier 978-0-306-40615-7", "", vec!["farms/book-0"]),
            ("{}", "FAR gog", vec!["farms/book-0", "farms/book-1"]),
            ("{}", "978-0-306-40615-7", vec!["farms/book-0"]),
            (
                "{} --rights protected --library farms",
                "far",
                vec!["farms/book-0", "farms/book-1"],
            ),
            ("{} --rights free", "far", vec![]),
            ("--state disabled", "", vec![]),
        ];
        for (line, words, expected) in table {
            let out = find(wher, line, words).expect(0).out;
            // In the order in which they were added, and an ingest adds books in any order.
            let mut names: Vec<&str> = out
                .lines()
                .map(|line| line.split('\t').next().expect("a name"))
                .collect();
            names.sort_unstable();
            assert_eq!(names, expected, "{line} {words}");
        }
        let found = find(wher, "--json --identifier 0306406152", "")
            .expect(0)
            .json();
        assert_eq!(
            (found.len(), &found[0]["title"]),
            (1, &json!("Evenings on a Farm"))
        );
        let nothing = find(wher, "--title {}", "evenings 2nd").expect(0);
        assert_eq!(
            (nothing.out.as_str(), nothing.err.as_str()),
            ("", "lapidary: no book was found\n")
        );
        assert!(
            find(wher, "--title {}", "!?")
                .expect(2)
                .err
                .contains("has no letter or digit")
        );
        assert!(
            find(wher, "--title farm --library none", "")
                .expect(2)
                .err
                .contains("there is no library")
        );
        assert!(
            find(wher, "--library farms", "")
                .expect(2)
                .err
                .contains("--identifier")
        );
    };
    in_all_ways(&format!("--data {}", folder.data().display()));
    let server = Server::start(&folder.data());
    in_all_ways(&format!("--server {}", server.url));
}

#[test]
fn books_are_disabled_noted_and_allowed() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let text = || fs::read_to_string(&books[0]).expect("a book");
    let books_command = |line: &str| {
        run(
            &format!("books {line} --data {{}} --library shelf book-0"),
            &[folder.data()],
        )
        .expect(0)
        .out
    };
    assert_eq!(
        books_command("disable --note withdrawn"),
        "disabled shelf/book-0\n"
    );
    assert_eq!(check(&folder, 0, text())["disabled"], 1);
    let shown = books_command("show");
    assert!(
        shown.contains("disabled") && shown.contains("withdrawn"),
        "{shown}"
    );
    assert!(
        run("books list --data {}", &[folder.data()])
            .out
            .contains("protected (disabled)")
    );
    let line = "ingest --data {} --library shelf --rights protected --metadata {} {}";
    let again = run(
        line,
        &[
            folder.data(),
            folder.path("metadata.ndjson"),
            folder.path("books"),
        ],
    )
    .expect(0)
    .out;
    assert!(again.contains("5 unchanged"), "{again}");
    assert_eq!(check(&folder, 0, text())["total"], 0);
    run("verify --data {}", &[folder.data()]).expect(0);
    books_command("enable");
    books_command("note --text second");
    books_command("rights --until 2000-12-31 --otherwise free");
    assert_eq!(check(&folder, 0, text())["verdict"], "free");
    let then = run(
        "check --json --day 2000-12-31 --data {} {}",
        &[&folder.data(), &books[0]],
    )
    .expect(1);
    assert_eq!(then.json()[0]["verdict"], "protected");
    books_command("rights --always");
    run(
        "books disable --data {} --library shelf nonesuch",
        &[folder.data()],
    )
    .expect(2);

    run(
        "allow add --data {} --text {} quoted --note licence",
        &[&folder.data(), &books[0]],
    )
    .expect(0);
    assert_eq!(check(&folder, 0, text())["total"], 0);
    let listed = run("allow list --data {}", &[folder.data()]).expect(0).out;
    assert!(
        listed.starts_with("quoted\t") && listed.contains("gems of hardened, "),
        "{listed}"
    );
    run("allow remove --data {} quoted", &[folder.data()]).expect(0);
    run("allow remove --data {} quoted", &[folder.data()]).expect(2);
    run(
        "allow add --data {} --library shelf --book book-0 mine",
        &[folder.data()],
    )
    .expect(0);
    assert_eq!(check(&folder, 0, text())["matches"][0]["allowed"], true);
    run("verify --data {}", &[folder.data()]).expect(0);
}

#[test]
fn two_texts_compare_without_a_catalogue() {
    let folder = Folder::new();
    let a = folder.file("a.txt", prose(1, 6_000));
    let b = folder.file("b.txt", [prose(2, 9_000), prose(1, 6_000)].concat());
    let found = run("compare --json {} {}", &[&a, &b])
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(
        (&found["match"], &found["relation"]),
        (&json!(true), &json!("part_of_book"))
    );
    assert!(found["share_of_query"].as_f64().expect("a number") > 0.9);
    assert!(
        run("compare {} {}", &[&a, &b])
            .expect(0)
            .out
            .contains("a match")
    );
    let c = folder.file("c.txt", prose(3, 6_000));
    let found = run("compare --json {} {}", &[&a, &c])
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(
        (&found["match"], &found["passages"]),
        (&json!(false), &json!([]))
    );
}

#[test]
fn a_comparison_tells_how_much_is_identical_word_for_word() {
    let folder = Folder::new();
    let story = prose(1, 6_000);
    let changed: Vec<&str> = story
        .split(' ')
        .enumerate()
        .map(|(i, w)| if i % 50 == 7 { "Zebra" } else { w })
        .collect();
    let a = folder.file(
        "a.txt",
        [prose(2, 3_000), changed.join(" "), prose(3, 3_000)].join("\n\n"),
    );
    let b = folder.file("b.txt", &story);
    let found = run("compare --json {} {}", &[&a, &b])
        .expect(0)
        .json()
        .remove(0);
    let exact = &found["exact"];
    let [characters, identical] =
        ["characters", "identical"].map(|of| exact[of].as_u64().expect("a number"));
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() as u64;
    let zebras = letters(
        &changed
            .iter()
            .filter(|word| **word == "Zebra")
            .copied()
            .collect::<String>(),
    );
    assert_eq!(
        (characters, identical),
        (
            letters(&changed.concat()),
            letters(&changed.concat()) - zebras
        )
    );
    let start = prose(2, 3_000).len() + 2;
    let passage = &found["passages"][0];
    assert_eq!(passage["query"]["start"], start, "from its first word");
    assert_eq!(passage["book"]["start"], 0);
    assert_eq!(exact["lower_bound"], json!(null));
    let said = run("compare {} {}", &[&a, &b]).expect(0).out;
    let share = format!("{:.1} %", (identical * 1000 / characters) as f64 / 10.0);
    assert!(
        said.contains(&format!("Word for word, in 1 passage: {share} of ")),
        "{said}"
    );
    let turned = folder.file("c.txt", story.to_uppercase());
    let said = run("compare {} {}", &[&turned, &b]).expect(0).out;
    assert!(
        said.contains("100.0 % apart from case, accents and disguise"),
        "{said}"
    );
}

#[test]
fn passages_are_shown_next_to_each_other() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let book = fs::read_to_string(&books[0]).expect("a book");
    let copy = format!(
        "{}\n\nChapter 2\n\n{}",
        prose(77, 2_000),
        book.replacen('a', "<b>", 40)
    );
    let upload = folder.file("upload.txt", &copy);
    let page = folder.path("compared.html");
    run("compare --html {} {} {}", &[&page, &upload, &books[0]]).expect(0);
    let compared = fs::read_to_string(&page).expect("a page");
    assert!(
        compared.contains("<details class=\"passage ")
            && compared.contains("<del>")
            && !compared.contains("<b>"),
        "{compared}"
    );
    assert!(
        compared.contains("“Chapter 2”, paragraph 1, "),
        "{compared}"
    );

    let data = folder.data();
    let check = |more: &str, paths: &[&Path]| {
        let paths: Vec<&Path> = [data.as_path(), &page, &upload]
            .into_iter()
            .chain(paths.iter().copied())
            .collect();
        let said = run(
            &format!("check --data {{}} --html {{}} {{}} {more}"),
            &paths,
        )
        .expect(1);
        (said, fs::read_to_string(&page).expect("a page"))
    };
    let (said, alone) = check("", &[]);
    assert!(
        alone.contains("<details class=\"passage ")
            && !alone.contains("<del>")
            && !said.out.contains("are identical"),
        "{alone}"
    );
    assert!(alone.contains("“Chapter 2”, paragraph 1, "), "{alone}");
    for from in [books[0].as_path(), books[0].parent().expect("a folder")] {
        let (said, both) = check("--text-from {}", &[from]);
        assert!(
            both.contains("<del>")
                && both.contains(" characters are identical")
                && !both.contains("<b>"),
            "{both}"
        );
        assert!(
            said.out.contains(" characters are identical"),
            "{}",
            said.out
        );
    }
    // A file that is not the text that was added, but another version of it.
    let other = folder.file("other/version.txt", format!("{}\n\n{book}", prose(78, 500)));
    let (said, _) = check("--text-from {}", &[&other]);
    assert!(
        said.out.contains(" characters are identical"),
        "{}",
        said.out
    );
    let (said, _) = check("--text-from http://127.0.0.1:1/{id}", &[]);
    assert!(
        said.err.contains("no text of shelf/book-0: "),
        "{}",
        said.err
    );
    run(
        "check --data {} --text-from {} {}",
        &[&folder.data(), &folder.path("nowhere"), &upload],
    )
    .expect(2);

    let json = run(
        "check --data {} --json --text-from {} {}",
        &[&folder.data(), &books[0], &upload],
    )
    .expect(1)
    .json();
    let found = &json[0]["matches"][0];
    assert!(
        found["exact"]["identical"].as_u64().expect("a number") > 1_000,
        "{found}"
    );
    assert_eq!(
        found["spans"][0]["query_position"]["start"]["chapter"],
        "Chapter 2"
    );
    assert_eq!(
        found["passages"][0]["query_position"]["start"]["chapter"],
        "Chapter 2"
    );
    assert!(
        found["spans"][0]["query"]["bytes"]["start"]
            .as_u64()
            .is_some()
    );
    let json = run("check --data {} --json {}", &[&folder.data(), &upload])
        .expect(1)
        .json();
    let found = &json[0]["matches"][0];
    assert!(
        found["spans"][0]["book_position"]["start"]["percent"]
            .as_f64()
            .is_some()
            && found["exact"].is_null(),
        "{found}"
    );
}

/// The text as printed: pages with a running head and a number, and words hyphenated at line ends.
fn printed(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut pages = String::new();
    for (number, page) in (1..).zip(words.chunks(90)) {
        pages.push_str("The Daughter of the Lapidary\n\n");
        for line in page.chunks(9) {
            let (last, first) = line.split_last().expect("a line");
            let (start, end) = last.split_at(last.len() / 2);
            pages += &[&first.join(" "), " ", start, "-\n", end, " "].concat();
        }
        pages += &["\n\n", &number.to_string(), "\n\x0C"].concat();
    }
    pages
}

#[test]
fn the_marks_of_printing_are_read_over_where_it_is_said() {
    let folder = Folder::new();
    let plain = folder.file("plain/book.txt", prose(1, 6_000));
    let pages = printed(&prose(1, 6_000));
    let paper = folder.file("paper/book.txt", &pages);
    run(
        "ingest --data {} --library plain --rights free --recipe documented --recipe hardened {}",
        &[folder.data(), plain.clone()],
    )
    .expect(0);
    let check = |options: &str| {
        let checked = run(
            &format!("check --data {{}} --json {options} {{}}"),
            &[folder.data(), paper.clone()],
        );
        checked.expect(0).json().remove(0)
    };
    let all = |report: &Value| {
        report["matches"][0]["share_of_query"]
            .as_f64()
            .unwrap_or_default()
            > 0.99
    };
    let hardened = check("--recipe hardened");
    assert!(all(&hardened), "{hardened}");
    // Spans refer to the original file, including running heads and page numbers.
    let last = hardened["matches"][0]["spans"]
        .as_array()
        .and_then(|spans| spans.last())
        .expect("a span");
    let end = last["query"]["bytes"]["end"].as_u64().expect("a place");
    assert!(
        end <= pages.len() as u64 && end > pages.len() as u64 * 9 / 10,
        "{end}"
    );
    assert!(!all(&check("--recipe hardened --clean=false")));
    assert!(!all(&check("")));
    assert!(all(&check("--clean")));
    // A book records how it was read if that differs from the default.
    let ingest = |options: &str| {
        let line =
            format!("ingest --data {{}} --library paper --rights free --json {options} {{}}");
        run(&line, &[folder.data(), paper.clone()])
            .expect(0)
            .json()
            .remove(0)
    };
    let usual = ingest("");
    assert_eq!(
        (&usual["outcome"], &usual["book"]["clean"]),
        (&json!("added"), &Value::Null)
    );
    let raw = ingest("--clean=false");
    assert_eq!(
        (&raw["outcome"], &raw["book"]["clean"]),
        (&json!("replaced"), &json!(false))
    );
    assert_eq!(raw["book"]["digest"], usual["book"]["digest"]);
    assert_eq!(
        raw["book"]["gems"]["documented"],
        usual["book"]["gems"]["documented"]
    );
    assert_eq!(ingest("--clean=false")["outcome"], "unchanged");
    let clean = ingest("--clean");
    assert_eq!(
        (&clean["outcome"], &clean["book"]["clean"]),
        (&json!("replaced"), &json!(true))
    );
    // `reindex` reads it the same way.
    run(
        "reindex --data {} --recipe released --from sources {} {}",
        &[folder.data(), plain.clone(), paper.clone()],
    )
    .expect(0);
    assert!(all(&run(
        "check --data {} --json {}",
        &[folder.data(), plain]
    )
    .expect(0)
    .json()[0]));
    let found = run(
        "check --data {} --json --clean --library paper {}",
        &[folder.data(), paper.clone()],
    )
    .expect(0)
    .json();
    assert!(all(&found[0]), "{found:?}");
    run("verify --data {}", &[folder.data()]).expect(0);
}

/// The positions in a report are those of the text that `lapidary text` prints.
#[test]
fn positions_are_of_the_text_that_is_printed() {
    let folder = Folder::new();
    let paragraphs: Vec<String> = prose(1, 6_000)
        .lines()
        .map(|line| line.replace('a', "ä").replace("du", "d\u{ad}u"))
        .collect();
    run(
        "ingest --data {} --library l --rights protected --recipe hardened {}",
        &[
            folder.data(),
            folder.file("book.txt", paragraphs.join("\n")),
        ],
    )
    .expect(0);
    let disguise = |line: &String| line.replace("me", "m\u{200b}e");
    let upload: Vec<String> = prose(7, 900)
        .lines()
        .map(str::to_owned)
        .chain(paragraphs[100..300].iter().map(disguise))
        .collect();
    for (name, bytes) in [
        ("upload.epub", makers::epub(&upload)),
        ("upload.fb2", makers::fb2(&upload)),
    ] {
        let file = folder.file(name, bytes);
        let text = run("text {}", &[&file]).expect(0);
        assert_eq!(text.err, "");
        let text = text.out;
        let report = run("check --json --data {} {}", &[folder.data(), file.clone()])
            .expect(1)
            .json()
            .remove(0);
        let place = |bytes: &Value| {
            let byte = |end: &str| bytes[end].as_u64().expect("a place") as usize;
            text.get(byte("start")..byte("end"))
                .expect("a part of the text")
        };
        // The matching part begins and ends with words of the book.
        let part = place(&report["matches"][0]["spans"][0]["query"]["bytes"]);
        let lines: Vec<String> = upload
            .iter()
            .map(|line| line.trim_end_matches('.').to_owned())
            .collect();
        assert!(
            part.len() > 10_000
                && lines
                    .join(" ")
                    .contains(part.split(['.', '\n']).next().expect("a line")),
            "{part}"
        );
        assert!(
            !part.contains(lines[0].split(' ').next().expect("a word")),
            "{part}"
        );
        let disguise = &report["disguise"];
        assert_eq!(
            (&disguise["disguised"], &disguise["look_alikes"]),
            (&json!(true), &json!(0))
        );
        assert_eq!(disguise["invisible"], text.matches('\u{200b}').count());
        for example in disguise["examples"].as_array().expect("examples") {
            assert_eq!(example["trick"], "invisible");
            let word = place(&example["bytes"]);
            assert!(
                word.contains("m\u{200b}e") && example["word"] == word,
                "{example}"
            );
            let context = [&example["before"], &example["word"], &example["after"]]
                .map(|part| part.as_str().expect("text"));
            assert!(text.contains(&context.concat()), "{example}");
        }
        let shown = run("check --data {} {}", &[folder.data(), file.clone()])
            .expect(1)
            .out;
        assert!(
            shown.contains("This text is disguised: ") && shown.contains("m[U+200B]e"),
            "{shown}"
        );
        let from_standard_input =
            run_with_input("text", fs::read(&file).expect("a file")).expect(0);
        assert_eq!(from_standard_input.out, text);
    }
    let plain = folder.file("plain.txt", "\u{feff}no line end");
    assert_eq!(run("text {}", &[plain]).expect(0).out, "no line end");
    assert!(
        run("text {}", &[folder.path("missing.txt")])
            .expect(2)
            .err
            .contains("missing.txt")
    );
    assert!(
        run("text --clean {}", &[folder.path("plain.txt")])
            .expect(2)
            .err
            .contains("--clean")
    );
}

#[test]
fn what_identifies_a_book_is_kept() {
    let folder = Folder::new();
    let fb2 = format!(
        "<FictionBook><description><publish-info><isbn>978-5-00-000001-4</isbn></publish-info></description>\
         <body><section><p>{}</p></section></body></FictionBook>",
        prose(2, 3_000)
    );
    folder.file("books/book.fb2", fb2);
    folder.file("books/told.txt", prose(3, 3_000));
    let metadata = folder.file(
        "told.ndjson",
        r#"{"file": "told.txt", "identifiers": ["isbn:5-00-000002-X", "ark:/1/2"]}"#,
    );
    let line = "ingest --data {} --library l --rights free --metadata {} {}";
    run(line, &[folder.data(), metadata, folder.path("books")]).expect(0);
    let of = |id: &str| {
        let shown = run(
            &format!("books show --data {{}} --library l --json {id}"),
            &[folder.data()],
        )
        .expect(0);
        shown.json().remove(0)["identifiers"].clone()
    };
    assert_eq!(of("book"), json!(["978-5-00-000001-4"]));
    assert_eq!(of("told"), json!(["isbn:5-00-000002-X", "ark:/1/2"]));
}

#[test]
fn any_encoding_gives_the_same_gems() {
    let folder = Folder::new();
    let russian: String = prose(5, 4_000)
        .chars()
        .map(|c| match c {
            'a' => 'а',
            'b' => 'б',
            'd' => 'д',
            'e' => 'е',
            'f' => 'ф',
            'g' => 'г',
            'i' => 'и',
            'k' => 'к',
            'l' => 'л',
            'm' => 'м',
            'n' => 'н',
            'o' => 'о',
            'p' => 'п',
            'r' => 'р',
            's' => 'с',
            't' => 'т',
            'u' => 'у',
            'v' => 'в',
            'z' => 'з',
            other => other,
        })
        .collect();
    let expected = run_with_input("gems", &russian).expect(0).out;
    assert!(expected.len() > 100);
    let encode =
        |encoding: &'static encoding_rs::Encoding| encoding.encode(&russian).0.into_owned();
    let utf16: Vec<u8> = russian.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf32: Vec<u8> = russian
        .chars()
        .flat_map(|c| u32::from(c).to_be_bytes())
        .collect();
    let variants = [
        ("windows-1251", encode(encoding_rs::WINDOWS_1251)),
        ("koi8-r", encode(encoding_rs::KOI8_R)),
        ("cp866", encode(encoding_rs::IBM866)),
        ("utf-16le", utf16),
        ("utf-32be", utf32),
        ("utf-8", [b"\xef\xbb\xbf", russian.as_bytes()].concat()),
    ];
    for (encoding, bytes) in variants {
        let file = folder.file("text.txt", &bytes);
        assert_eq!(
            run(&format!("gems --encoding {encoding} {{}}"), &[&file])
                .expect(0)
                .out,
            expected,
            "{encoding}"
        );
    }
    let wrong = run("gems --encoding klingon {}", &[folder.path("text.txt")]).expect(2);
    assert!(wrong.err.contains("klingon"), "{}", wrong.err);
}

#[test]
fn folders_that_are_no_catalogue() {
    let folder = Folder::new();
    let book = folder.file("book.txt", prose(1, 1_000));
    let missing = run("check --data {} {}", &[folder.data(), book.clone()]).expect(2);
    assert!(missing.err.contains("no catalogue here"), "{}", missing.err);
    assert!(!folder.data().exists(), "a check makes nothing");
    folder.file("foreign/letter.txt", "Dear all");
    for line in [
        "ingest --library l --rights free --data {} {}",
        "check --data {} {}",
    ] {
        run(line, &[folder.path("foreign"), book.clone()]).expect(2);
    }
    let left: Vec<_> = fs::read_dir(folder.path("foreign"))
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 1, "nothing was written there");
    let usage = run("check --data", none()).expect(2);
    assert!(!usage.err.is_empty());
}

#[test]
fn a_folder_in_use_says_by_whom_and_a_server_does_the_same() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let local = run("check --json --data {} {}", &[&folder.data(), &books[0]])
        .expect(1)
        .json();
    let server = Server::start(&folder.data());
    let refused = run("stats --data {}", &[folder.data()]).expect(3);
    let said = format!("in use by process {}; use --server", server.pid());
    assert!(refused.err.contains(&said), "{}", refused.err);

    let on_server =
        |line: &str, paths: &[&Path]| run(&format!("{line} --server {}", server.url), paths);
    assert_eq!(
        on_server("check --json {}", &[&books[0]]).expect(1).json(),
        local,
        "both faces give the same answer"
    );
    let new = folder.file("more/Новая книга.txt", prose(400, 6_000));
    let again = folder.file("more/book-1.txt", prose(1, 6_000));
    let out = on_server(
        "ingest --library shelf --rights protected {} {}",
        &[&new, &again],
    )
    .expect(0)
    .out;
    assert!(
        out.contains("1 added, 0 replaced, 1 unchanged, 0 refused"),
        "{out}"
    );
    assert_eq!(
        on_server("books list --json", &[]).expect(0).json().len(),
        6
    );
    assert!(
        on_server("books show --library shelf four/4", &[])
            .expect(0)
            .out
            .contains("public_domain")
    );
    let id = "Новая\u{a0}книга".replace('\u{a0}', " ");
    let removed = common::command(
        &format!("books remove --library shelf --server {} {{}}", server.url),
        &[Path::new(&id)],
    );
    let removed: common::Run = { removed }.output().expect("the program runs").into();
    assert!(removed.expect(0).out.contains("removed shelf/Новая книга"));
    assert_eq!(
        on_server("stats --json", &[]).expect(0).json()[0]["books"],
        5
    );
    assert_eq!(server.stop(), Some(0));
    run("verify --data {}", &[folder.data()]).expect(0);
    let nobody = run("stats --server http://127.0.0.1:9", none()).expect(3);
    assert!(
        nobody.err.contains("no answer from http://127.0.0.1:9"),
        "{}",
        nobody.err
    );
}

#[test]
fn the_demo_finds_the_copy_and_not_the_stranger() {
    let demo = run("demo", none()).expect(0).out;
    assert!(
        demo.contains("PROTECTED") && demo.contains("lapidary ingest"),
        "{demo}"
    );
}

#[test]
fn shells_and_man_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let completions = run(&format!("completions {shell}"), &[] as &[&Path])
            .expect(0)
            .out;
        assert!(
            completions.contains("ingest") && completions.contains("metadata"),
            "{shell}"
        );
    }
    let folder = Folder::new();
    run("man {}", &[folder.path("man")]).expect(0);
    let page = std::fs::read_to_string(folder.path("man/lapidary-serve.1")).expect("a page");
    assert!(page.contains("log\\-format"), "{page}");
}

/// A file name from a partner that clears the terminal.
const STEERING: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b.txt";

#[test]
fn nothing_from_outside_steers_a_terminal() {
    let folder = Folder::new();
    let (data, books) = (folder.data(), folder.path("books"));
    folder.file(&format!("books/{STEERING}"), prose(1, 6_000));
    folder.file(&format!("broken/{STEERING}"), [0, 1, 2, 3, 255, 254, 0, 0]);
    let known = json!({"file": STEERING, "id": "one", "title": STEERING, "authors": [STEERING]})
        .to_string();
    let known = folder.file("known.ndjson", known);
    let steers = |text: &str| {
        text.chars()
            .any(|c| c == '\u{202e}' || c.is_control() && c != '\n' && c != '\t')
    };
    let line = "ingest --data {} --library shelf --rights protected --json --metadata {} {}";
    let ingested = run(line, &[&data, &known, &books]).expect(0);
    assert!(
        ingested.json()[0]["file"]
            .as_str()
            .expect("a name")
            .ends_with(STEERING),
        "JSON says it exactly"
    );
    let (broken, book) = (folder.path("broken"), books.join(STEERING));
    let lines: [(&str, &[&Path]); 7] = [
        (
            "ingest --data {} --library shelf --rights protected {}",
            &[&data, &broken],
        ),
        (
            "ingest --data {} --library shelf --rights protected {}",
            &[&data, &books],
        ),
        ("check --data {} {}", &[&data, &books]),
        ("check --data {} {}", &[&data, &broken]),
        ("books list --data {}", &[&data]),
        ("books show --library shelf --data {} one", &[&data]),
        ("compare {} {}", &[&book, &book]),
    ];
    for (line, paths) in lines {
        let shown = run(line, paths);
        assert!(
            !steers(&shown.out) && !steers(&shown.err),
            "{line}: {:?} {:?}",
            shown.out,
            shown.err
        );
        assert!(
            shown.out.contains("a [2J") || shown.err.contains("a [2J"),
            "{line}: {:?} {:?}",
            shown.out,
            shown.err
        );
    }
    let found = run("check --data {} --json {}", &[&data, &books])
        .expect(1)
        .json()
        .remove(0);
    assert!(found["file"].as_str().expect("a name").ends_with(STEERING));
}

/// Covers `| head -1`, and a closed standard error.
#[test]
fn who_stops_reading_ends_a_command_quietly() {
    let folder = Folder::new();
    let book = shelf(&folder).remove(0);
    let data = folder.data();
    let lines: [(&str, &[&Path]); 12] = [
        ("completions bash", &[]),
        ("--help", &[]),
        ("demo", &[]),
        ("books list --data {}", &[&data]),
        ("books list --json --data {}", &[&data]),
        ("audit --data {}", &[&data]),
        ("stats --data {}", &[&data]),
        ("keys list --data {}", &[&data]),
        ("verify --data {}", &[&data]),
        ("export --data {} -", &[&data]),
        ("gems {}", &[&book]),
        ("serve --check-config --data {}", &[&data]),
    ];
    for (line, paths) in lines {
        let mut command = common::command(line, paths);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdout.take());
        let ended = Run::from(child.wait_with_output().expect("the program ends"));
        assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{line}");
    }
    let lines: [(&str, &[&Path], i32); 3] = [
        ("keys add --role check --data {} shop", &[&data], 0),
        ("check --data {} {}", &[&data, &folder.path("missing")], 2),
        ("books show --library shelf --data {} nobody", &[&data], 2),
    ];
    for (line, paths, status) in lines {
        let mut command = common::command(line, paths);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stderr.take());
        assert_eq!(
            child.wait().expect("the program ends").code(),
            Some(status),
            "{line}"
        );
    }
}

#[test]
fn a_disabled_book_that_would_match_is_told_of() {
    let folder = Folder::new();
    let book = shelf(&folder).remove(0);
    let data = folder.data();
    let check = || run("check --data {} {}", &[&data, &book]);
    assert!(!check().expect(1).out.contains("disabled"));
    run("books disable --library shelf --data {} book-0", &[&data]).expect(0);
    let shown = check().expect(0).out;
    assert!(
        shown.contains("not counted: 1 disabled book would match"),
        "{shown}"
    );
}

#[test]
fn the_audit_log_says_what_was_changed_of_a_book() {
    let folder = Folder::new();
    shelf(&folder);
    let data = folder.data();
    let changes = [
        ("disable --note stolen", "disabled, added a note to"),
        ("enable", "enabled"),
        ("note --text seen", "added a note to"),
        ("note", "removed the note of"),
        ("rights --rights free", "changed the rights of"),
        ("rights --from 2030-01-01", "changed the validity period of"),
    ];
    for (change, _) in changes {
        run(
            &format!("books {change} --library shelf --data {{}} book-0"),
            &[&data],
        )
        .expect(0);
    }
    let log = run("audit --data {}", &[&data]).expect(0).out;
    let said: Vec<&str> = log.lines().rev().take(changes.len()).collect();
    for ((_, words), line) in changes.iter().zip(said.iter().rev()) {
        assert!(
            line.contains(&format!("\t{words} shelf/book-0 (")),
            "{words}: {line}"
        );
    }
    let last = run("audit --json --data {}", &[&data])
        .expect(0)
        .json()
        .pop()
        .expect("an entry");
    assert_eq!(
        (&last["action"], &last["changes"]),
        (&json!("amended"), &json!(["validity"]))
    );
}

#[test]
fn all_settings_that_hold_are_shown() {
    let shown = |line: &str| {
        run(
            &format!("serve --check-config --data /nowhere {line}"),
            none(),
        )
        .expect(0)
        .out
    };
    let settings: toml::Table = toml::from_str(&shown("")).expect("a file of settings");
    let documented = fs::read_to_string(deployed("lapidary.toml")).expect("a file");
    let all: Vec<&str> = documented
        .lines()
        .map(|line| line.strip_prefix("#: ").unwrap_or(line))
        .collect();
    let all: toml::Table = toml::from_str(&all.join("\n")).expect("settings");
    let none_by_default = [
        "store",
        "certificate",
        "private-key",
        "clamd",
        "clamd-key",
        "keyless-rate",
        "client-recipe",
        "backups",
    ];
    for name in all
        .keys()
        .filter(|name| !none_by_default.contains(&name.as_str()))
    {
        assert!(settings.contains_key(name), "{name} in {settings:?}");
    }
    for name in all["limits"].as_table().expect("a table").keys() {
        assert!(
            settings["limits"]
                .as_table()
                .is_some_and(|limits| limits.contains_key(name)),
            "{name}"
        );
    }
    assert_eq!(settings["rule"]["common-cap"].as_integer(), Some(10_000));
    assert!(
        shown("").contains("# min-common, by recipe: 3 (documented), "),
        "{}",
        shown("")
    );
    // The output is itself a valid settings file.
    let folder = Folder::new();
    let file = folder.file("all.toml", shown("--min-common 7"));
    assert_eq!(
        run("serve --check-config --config {}", &[&file])
            .expect(0)
            .out,
        shown("--min-common 7")
    );
}

#[test]
fn sizes_may_have_units() {
    let folder = Folder::new();
    let file = folder.file(
        "l.toml",
        "data = \"/nowhere\"\nmin-free = \"1GB\"\nmax-body = 1000\n[limits]\ninput = \"3 MiB\"\n",
    );
    let line = "serve --check-config --config {} --cache 1.5GiB --limit-memory 2GiB";
    let shown = run(line, &[&file]).expect(0).out;
    for line in [
        "cache = 1610612736",
        "min-free = 1000000000",
        "max-body = 1000",
        "input = 3145728",
        "memory = 2147483648",
    ] {
        assert!(
            shown.lines().any(|shown| shown == line),
            "{line} in {shown}"
        );
    }
    let refused = run("serve --check-config --data /nowhere --cache 1XB", none()).expect(2);
    assert!(refused.err.contains("300MiB"), "{}", refused.err);
}

fn deployed(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("deploy")
        .join(file)
}

#[test]
fn the_settings_and_the_service_name_one_folder() {
    let settings = fs::read_to_string(deployed("lapidary.toml")).expect("a file");
    let settings: toml::Table = toml::from_str(&settings).expect("settings");
    let service = fs::read_to_string(deployed("systemd/lapidary.service")).expect("a file");
    let folder = settings["data"].as_str().expect("a folder");
    let is_readable = service
        .lines()
        .any(|line| line.starts_with("StateDirectory=lapidary"))
        && folder.starts_with("/var/lib/lapidary/");
    assert!(
        is_readable && service.contains(" --config /etc/lapidary/lapidary.toml"),
        "{folder}: {service}"
    );
}

#[test]
fn a_server_listens_at_a_name() {
    let folder = Folder::new();
    let mut command = common::command("serve --listen localhost:0 --data {}", &[folder.data()]);
    let mut child = command
        .env_remove("RUST_LOG")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"))
        .lines()
        .map_while(Result::ok);
    let line = log
        .find(|line| line.contains("listens on http://"))
        .expect("an address");
    let address: SocketAddr = line
        .rsplit('/')
        .next()
        .expect("an address")
        .parse()
        .expect("an address");
    let connected = TcpStream::connect(address);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(address.ip().is_loopback() && connected.is_ok(), "{line}");
    let refused = run(
        "serve --check-config --data /nowhere --listen nowhere.invalid:1",
        none(),
    )
    .expect(2);
    assert!(refused.err.contains("localhost:8093"), "{}", refused.err);
}

#[test]
fn a_server_listens_at_all_addresses_of_a_name() {
    let addresses = ["127.0.0.1:0", "127.0.0.2:0", "[2001:db8::1]:0"]
        .map(|address| address.parse().expect("an address"));
    let settings = Settings {
        listen: addresses.to_vec().into(),
        ..Settings::default()
    };
    let opening = Opening::bind(settings).expect("two of these are here");
    let taken = opening.addresses();
    assert_eq!(
        taken
            .iter()
            .map(|address| address.ip().to_string())
            .collect::<Vec<_>>(),
        ["127.0.0.1", "127.0.0.2"]
    );
    assert_eq!(taken[0].port(), taken[1].port());
    assert!(
        taken
            .iter()
            .all(|address| TcpStream::connect(address).is_ok())
    );
}

#[test]
fn an_ingest_adds_only_what_may_be_published() {
    let folder = Folder::new();
    let (mine, other) = (prose(1, 4_000), prose(2, 4_000));
    let copy = mine.replacen(' ', " x", 1);
    for (path, text) in [("a/1.txt", &mine), ("b/2.txt", &copy), ("b/3.txt", &other)] {
        folder.file(path, text);
    }
    let ingest = |more: &str, at: &str, path: &str| {
        let line = format!(
            "ingest {at} --library house --rights protected --unless protected {more} {{}}"
        );
        let data = at.contains("{}").then(|| folder.data());
        run(
            &line,
            &data
                .into_iter()
                .chain([folder.path(path)])
                .collect::<Vec<_>>(),
        )
    };
    let data = "--data {}";
    ingest("", data, "a").expect(0);
    ingest("", data, "a").expect(0);
    let refused = ingest("", data, "b").expect(1);
    assert!(
        refused
            .out
            .starts_with("1 added, 0 replaced, 0 unchanged, 1 refused"),
        "{}",
        refused.out
    );
    assert!(
        refused
            .err
            .contains("2.txt: not added: 1 book matches, such as house/1, and"),
        "{}",
        refused.err
    );
    let refused = ingest("--json", data, "b").expect(1).json();
    let line = refused
        .iter()
        .find(|line| line["refused"].is_string())
        .expect("a refusal");
    assert_eq!(
        (
            &line["report"]["verdict"],
            &line["report"]["matches"][0]["book"]["id"]
        ),
        (&json!("protected"), &json!("1"))
    );
    // A file that cannot be read does not hide that another was refused.
    folder.file("b/4.pdf", "%PDF-1.4");
    ingest("", data, "b").expect(1);
    ingest("--except 1", data, "b").expect(2);
    run(
        "ingest --data {} --library house --rights free --except 1 {}",
        &[folder.data(), folder.path("b")],
    )
    .expect(2);

    let server = Server::start(&folder.data());
    let at = format!("--server {}", server.url);
    ingest("", &at, "b/2.txt").expect(1);
    let abroad = format!("ingest {at} --library abroad --rights protected --unless protected {{}}");
    let refused = run(&abroad, &[folder.path("a")]).expect(1);
    assert!(
        refused.err.contains("2 books match, such as house/"),
        "{}",
        refused.err
    );
    let feed = json!({ "id": "x", "text": mine, "rights": "free", "library": "abroad", "unless": "protected" });
    let feed = folder.file("feed.ndjson", feed.to_string());
    run(&format!("ingest {at} --feed {{}}"), &[feed]).expect(1);
    drop(server);
    let stats = run("stats --json --data {}", &[folder.data()]).expect(0);
    assert_eq!(stats.json()[0]["books"], 3);
}

#[test]
fn forbidden_text_is_the_strictest_find() {
    let folder = Folder::new();
    let text = folder.file("ban.txt", prose(1, 4_000));
    run(
        "ingest --data {} --library court --rights forbidden {}",
        &[folder.data(), text.clone()],
    )
    .expect(0);
    let found = run(
        "check --data {} {} {}",
        &[folder.data(), text.clone(), text.clone()],
    )
    .expect(1);
    assert!(
        found.out.starts_with("FORBIDDEN: nobody may publish this")
            && found.out.contains("forbidden to publish")
    );
    let page = folder.path("report.html");
    run(
        "check --data {} --html {} {}",
        &[folder.data(), page.clone(), text.clone()],
    )
    .expect(1);
    assert!(
        std::fs::read_to_string(page)
            .expect("a page")
            .contains("class=\"forbidden\"")
    );
    // Sales rights of a feed do not lift it.
    let feed = "<ONIXMessage release=\"3.0\" xmlns=\"http://ns.editeur.org/onix/3.0/reference\"><Product>\
                <RecordReference>1</RecordReference><ProductIdentifier><ProductIDType>15</ProductIDType>\
                <IDValue>9780306406157</IDValue></ProductIdentifier><PublishingDetail>\
                <ROWSalesRightsType>01</ROWSalesRightsType></PublishingDetail></Product></ONIXMessage>";
    let (feed, file) = (
        folder.file("feed.xml", feed),
        folder.file("9780306406157.txt", prose(2, 4_000)),
    );
    let ingest = "ingest --data {} --library court --rights forbidden --onix {} {}";
    run(ingest, &[folder.data(), feed, file.clone()]).expect(0);
    assert!(
        run("check --data {} {}", &[folder.data(), file])
            .expect(1)
            .out
            .starts_with("FORBIDDEN")
    );
}

#[test]
fn decisions_are_recorded_listed_and_taken_along() {
    let folder = Folder::new();
    let text = folder.file("a/1.txt", prose(1, 4_000));
    run(
        "ingest --data {} --library house --rights protected {}",
        &[folder.data(), text.clone()],
    )
    .expect(0);
    let checked = run(
        "check --data {} --record --case 17/2026 {}",
        &[folder.data(), text.clone()],
    )
    .expect(1);
    let id = checked
        .err
        .trim()
        .rsplit(' ')
        .next()
        .expect("an id")
        .to_owned();
    let record = format!("decisions record --data {{}} --ruling refused --reason copy {id}");
    run(&record, &[folder.data()]).expect(0);
    run(&record.replace("refused", "burnt"), &[folder.data()]).expect(2);
    let states = run("decisions list --data {}", &[folder.data()]).expect(0);
    assert!(
        states.out.contains("\tchecked\tprotected\tdecided\t"),
        "{}",
        states.out
    );
    let back = format!("decisions record --data {{}} --ruling withdrawn {id}");
    run(&back, &[folder.data()]).expect(0);
    let open = run("decisions list --data {} --state open", &[folder.data()]).expect(0);
    assert!(open.out.contains(&id), "{}", open.out);
    run(&record, &[folder.data()]).expect(0);
    let list = |data: &Path| {
        run(
            "decisions list --data {} --library house --book 1 --json",
            &[data],
        )
        .expect(0)
        .out
    };
    let listed = list(&folder.data());
    assert_eq!(listed.lines().count(), 4, "{listed}");
    assert!(
        listed.contains("\"case\":\"17/2026\"") && listed.contains("\"reason\":\"copy\""),
        "{listed}"
    );
    // Whether the check is watched is not in an export.
    let show = |data: &Path| {
        let shown = run(&format!("decisions show --data {{}} {id}"), &[data]).expect(0);
        let mut shown: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
        shown
            .as_object_mut()
            .expect("an entry")
            .remove("watch_expires_at");
        shown
    };
    assert!(
        run("audit --data {}", &[folder.data()])
            .expect(0)
            .out
            .contains("recorded refused about check")
    );

    // An export has them, and an import takes them over: into a new folder, and through a server.
    let export = folder.path("export.ndjson");
    run("export --data {} {}", &[folder.data(), export.clone()]).expect(0);
    run(
        "import --data {} {}",
        &[folder.path("copy"), export.clone()],
    )
    .expect(0);
    assert_eq!(
        (list(&folder.path("copy")), show(&folder.path("copy"))),
        (listed.clone(), show(&folder.data()))
    );
    let again = folder.path("again.ndjson");
    run("export --data {} {}", &[folder.path("copy"), again.clone()]).expect(0);
    assert_eq!(
        std::fs::read(&again).expect("a file"),
        std::fs::read(&export).expect("a file")
    );
    let whole = std::fs::read_to_string(&export).expect("a file");
    let (cut, _) = whole.trim_end().rsplit_once('\n').expect("lines");
    let (part, none_of_it) = (
        folder.file("part.ndjson", format!("{cut}\n")),
        folder.path("none"),
    );
    let refused = run("import --data {} {}", &[none_of_it.clone(), part]).expect(2);
    assert!(
        refused.err.contains("incomplete") && !none_of_it.exists(),
        "{}",
        refused.err
    );
    // Entries are never changed: a second time nothing is added, and what differs is refused.
    let audit = |data: &Path| {
        run("audit --data {}", &[data])
            .expect(0)
            .out
            .matches("recorded")
            .count()
    };
    let before = audit(&folder.data());
    run("import --data {} {}", &[folder.data(), export.clone()]).expect(0);
    assert_eq!(
        (list(&folder.data()), audit(&folder.data())),
        (listed.clone(), before)
    );
    let other = folder.file(
        "other.ndjson",
        whole.replace("\"reason\":\"copy\"", "\"reason\":\"other\""),
    );
    let refused = run("import --data {} {}", &[folder.data(), other]).expect(2);
    assert!(
        refused.err.contains("another decision with this id"),
        "{}",
        refused.err
    );
    assert_eq!(list(&folder.data()), listed);
    let server = Server::start(&folder.path("third"));
    run(&format!("import --server {} {{}}", server.url), &[export]).expect(0);
    let remote = run(
        &format!("decisions list --server {} --json", server.url),
        none(),
    )
    .expect(0)
    .out;
    assert_eq!(remote, listed);

    // If the clock was set back since the check, a decision still comes after it.
    let tomorrow = jiff::Timestamp::now().as_millisecond() + 24 * 3_600_000;
    let later = format!(
        "{:08x}-{:04x}{}",
        tomorrow >> 16,
        tomorrow & 0xffff,
        &id[13..]
    );
    let exported = std::fs::read_to_string(&again).expect("a file");
    let exported: Vec<&str> = exported
        .lines()
        .filter(|line| !line.contains("\"ruling\":\"refused\"") && !line.contains("withdrawn"))
        .collect();
    let at = jiff::Timestamp::from_millisecond(tomorrow)
        .expect("a time")
        .to_string();
    let moved = exported.join("\n").replace(&id, &later) + "\n";
    let from = moved.find("\"created_at\":\"").expect("a time") + 14;
    let until = from + moved[from..].find('"').expect("its end");
    let moved = folder.file(
        "moved.ndjson",
        [&moved[..from], &at, &moved[until..]].concat(),
    );
    run("import --data {} {}", &[folder.path("moved"), moved]).expect(0);
    run(&record.replace(&id, &later), &[folder.path("moved")]).expect(0);
    let listed = list(&folder.path("moved"));
    let rulings: Vec<bool> = listed
        .lines()
        .map(|line| line.contains("\"ruling\":\"checked\""))
        .collect();
    assert_eq!(rulings, [true, false], "{listed}");
    run(
        &format!(
            "decisions record --server {} --ruling accepted --reason ours {id}",
            server.url
        ),
        none(),
    )
    .expect(0);
    run(
        &format!("check --server {} --record {{}}", server.url),
        &[text],
    )
    .expect(1);
}
