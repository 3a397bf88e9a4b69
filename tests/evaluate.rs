//! End-to-end tests of `lapidary evaluate` with small generated books.

use crate::common;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Folder, prose, run};
use lapidary_checking::{Calibration, align, of_both};
use lapidary_gems::Recipe;

/// Three books in Latin letters and three in Cyrillic. `twice` is `one` with a different ending.
fn shelf(folder: &Folder) -> PathBuf {
    let cyrillic = |text: String| {
        let letters = "абцдефгхийклмнопярстувшхыз".chars().collect::<Vec<_>>();
        text.chars()
            .map(|c| {
                if c.is_ascii_lowercase() {
                    letters[c as usize - 'a' as usize]
                } else {
                    c
                }
            })
            .collect::<String>()
    };
    for i in 0..2 {
        folder.file(&format!("books/la/{i}.txt"), prose(i, 6_000));
        folder.file(&format!("books/ru/{i}.txt"), cyrillic(prose(10 + i, 6_000)));
    }
    folder.file("books/la/twice.txt", prose(0, 4_000) + &prose(20, 2_000));
    folder.file("books/ru/other.txt", cyrillic(prose(12, 6_000)));
    folder.file("books/list.tsv", "not a book");
    folder.path("books")
}

const PAIRS: &str = "file_a\tfile_b\trelation\nla/0.txt\tla/twice.txt\tpartial-overlap\nru/0.txt\tru/1.txt\tdifferent-translation\n";

/// The rows of a CSV table, by column name.
fn rows(file: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(file).expect("a table");
    reader
        .deserialize()
        .map(|row| row.expect("a row"))
        .collect()
}

#[test]
fn one_seed_gives_one_result_that_is_right() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let evaluated = |seed: u64, out: &str| {
        let line = format!(
            "evaluate --recipes documented,released --books {{}} --pairs {{}} --seed {seed} --out {{}}"
        );
        run(&line, &[&books, &pairs, &folder.path(out)]).expect(0)
    };
    evaluated(7, "a");
    evaluated(7, "b");
    evaluated(8, "c");
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect("a file");
    assert_eq!(read("a/copies.csv"), read("b/copies.csv"));
    assert_eq!(read("a/pairs.csv"), read("b/pairs.csv"));
    assert_ne!(read("a/copies.csv"), read("c/copies.csv"));
    for plot in ["by-attack.svg", "by-length.svg", "by-language.svg"] {
        assert_eq!(read(&format!("a/{plot}")), read(&format!("b/{plot}")));
        assert!(read(&format!("a/{plot}")).starts_with("<svg"));
    }
    assert_eq!(
        read("a/pairs.csv"),
        "file_a,file_b,relation,documented,released\nla/0.txt,la/twice.txt,partial-overlap,1,1\n\
         ru/0.txt,ru/1.txt,different-translation,0,0\n"
    );

    let rows = rows(&folder.path("a/copies.csv"));
    let sum = |attack: &str, strength: &str, column: &str, language: &str| -> u64 {
        let wanted = rows.iter().filter(|row| {
            row["detector"] == "documented"
                && row["attack"] == attack
                && row["strength"] == strength
                && row["length"] == "whole"
                && row["language"] == language
        });
        wanted
            .map(|row| row[column].parse::<u64>().expect("a number"))
            .sum()
    };
    // Three books per language. Two books of one language are related, so they have fewer unrelated books than the
    // others.
    for language in ["la", "ru"] {
        assert_eq!(
            (
                sum("none", "", "copies", language),
                sum("none", "", "caught", language)
            ),
            (3, 3)
        );
        // The recipe folds case and accents, but not invisible characters.
        assert_eq!(sum("upper-case", "", "caught", language), 3);
        assert_eq!(sum("zero-width", "1", "caught", language), 0);
        assert_eq!(sum("glued", "", "caught", language), 3);
        assert_eq!(sum("words", "0.1", "copies", language), 3);
        assert_eq!(sum("none", "", "false_alarms", language), 0);
    }
    assert_eq!(sum("none", "", "strangers", "la"), 4 + 5 + 4);
    assert_eq!(sum("none", "", "strangers", "ru"), 5 + 5 + 5);
    assert_eq!(
        (
            sum("romanised", "", "copies", "la"),
            sum("romanised", "", "copies", "ru")
        ),
        (0, 3)
    );
    assert_eq!(
        (
            sum("circled", "1", "copies", "la"),
            sum("circled", "1", "copies", "ru")
        ),
        (3, 0)
    );
    let page = read("a/evaluation.md");
    for line in [
        "6 books in 2 languages, seed 7.",
        "| partial-overlap | 1 | 1 | 1 |",
        "| different-translation | 1 | 0 | 0 |",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

/// Every pair of books is in one row of the table of pairs, and only once.
#[test]
fn pairs_related_through_others_have_a_row() {
    let folder = Folder::new();
    for (name, text) in [
        ("a", prose(0, 6_000)),
        ("b", prose(0, 6_000) + "x"),
        ("c", prose(0, 6_000) + "y"),
    ] {
        folder.file(&format!("books/la/{name}.txt"), text);
    }
    folder.file("books/la/d.txt", prose(9, 6_000));
    let pairs = "la/a.txt\tla/b.txt\trevised-edition\nla/b.txt\tla/c.txt\trevised-edition\n";
    let pairs = folder.file("pairs.tsv", pairs);
    let line = "evaluate --recipes documented,sum --attacks none --books {} --pairs {}";
    let page = run(line, &[&folder.path("books"), &pairs]).expect(0).out;
    for row in [
        "| revised-edition | 2 | 2 | 0 |",
        "| through others | 1 | 1 | 0 |",
        "| none known | 3 | 0 | 0 |",
    ] {
        assert!(page.contains(row), "{row}: {page}");
    }
}

/// All methods are measured, on short texts too, and copies only of some books if asked for.
#[test]
fn all_recipes_and_short_texts() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let line = "evaluate --recipes all --attacks none,words,shuffled --sample 2 --texts 100,1000 --books {} --pairs {} --out {}";
    let page = run(line, &[&books, &pairs, &folder.path("out")])
        .expect(0)
        .out;
    let rows = rows(&folder.path("out/copies.csv"));
    for method in [
        "documented",
        "hardened-fine",
        "sum",
        "tf-idf@",
        "key-words@",
        "winnow",
        "set",
    ] {
        assert!(
            rows.iter().any(|row| row["detector"].starts_with(method)),
            "{method}"
        );
    }
    let of = |row: &BTreeMap<String, String>| {
        row["detector"] == "sum" && row["attack"] == "none" && row["length"] == "whole"
    };
    let copies: Vec<&str> = rows
        .iter()
        .filter(|row| of(row))
        .map(|row| row["copies"].as_str())
        .collect();
    assert_eq!(copies, ["1", "1"], "one book of each language");
    // An exact copy of each of the six passages is caught, and none with other words. Not all change in a short one.
    for row in [
        "| sum | 100 | 100.0 |",
        "| sum | 1000 | 100.0 | 24 | 6 | 0 | 1.0000 | 0.2500 | 0.4000 |",
    ] {
        assert!(page.contains(row), "{row}: {page}");
    }
    let overview = fs::read_to_string(folder.path("out/overview.svg")).expect("a plot");
    assert!(
        overview.contains("shuffled") && overview.contains("winnow"),
        "{overview}"
    );
    for plot in ["by-attack-2", "by-length-5", "by-language", "short-texts"] {
        assert!(folder.path(&format!("out/{plot}.svg")).exists(), "{plot}");
    }
}

#[test]
fn false_alarms_are_named() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let line = "evaluate --books {} --recipes documented --attacks none,letters";
    let page = run(line, &[&books]).expect(0).out;
    // The relation between the two books was not declared.
    assert!(
        page.contains(
            "documented reports unrelated books as matches:\n\n- la/0.txt – la/twice.txt\n"
        ),
        "{page}"
    );
    assert!(
        page.contains(
            "documented reports unrelated books for copies (number of copies, book, reported book):"
        ),
        "{page}"
    );
    assert!(page.contains(": la/0.txt – la/twice.txt\n"), "{page}");
}

#[test]
fn another_program_takes_part() {
    if Command::new("python3")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/minhash.py");
    let program = folder.file(
        "detector.sh",
        format!("#!/bin/sh\nexec python3 {}\n", script.display()),
    );
    let detector = format!("sh {}", program.display());
    let out = folder.path("out");
    let arguments = [
        "evaluate",
        "--recipes",
        "none",
        "--attacks",
        "none,words,upper-case,from-romanised",
        "--books",
    ];
    let mut command = Command::new(common::LAPIDARY);
    command
        .args(arguments)
        .arg(&books)
        .arg("--pairs")
        .arg(&pairs)
        .arg("--detector")
        .arg(&detector)
        .arg("--out")
        .arg(&out);
    let done: common::Run = command.output().expect("the program runs").into();
    done.expect(0);
    let rows = rows(&out.join("copies.csv"));
    let caught = |attack: &str, length: &str| {
        let of = |column: &str| -> u64 {
            let wanted = rows
                .iter()
                .filter(|row| row["attack"] == attack && row["length"] == length);
            wanted
                .map(|row| row[column].parse::<u64>().expect("a number"))
                .sum()
        };
        (of("caught"), of("copies"))
    };
    assert_eq!(caught("none", "whole"), (6, 6));
    assert_eq!(caught("upper-case", "whole"), (6, 6));
    assert_eq!(caught("from-romanised", "whole"), (0, 3));
    assert!(rows.iter().all(|row| row["detector"] == detector));
    let page = fs::read_to_string(out.join("evaluation.md")).expect("tables");
    assert!(
        !page.contains("## Cost") && page.contains("| partial-overlap | 1 | 1 |"),
        "{page}"
    );
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let none = folder
        .file("empty/only.txt", prose(1, 100))
        .parent()
        .expect("a folder")
        .to_owned();
    let pairs = folder.file("pairs.tsv", "la/0.txt\tla/9.txt\tcontained\n");
    let table: [(&str, Vec<&Path>, &str); 6] = [
        (
            "evaluate --books {}",
            vec![&none],
            "an evaluation needs at least three books, not 1",
        ),
        (
            "evaluate --books {} --pairs {}",
            vec![&books, &pairs],
            "pairs.tsv: line 1: the folder of books has no 'la/9.txt'",
        ),
        (
            "evaluate --books {} --recipes soft",
            vec![&books],
            "--recipes: there is no recipe 'soft'",
        ),
        (
            "evaluate --books {} --attacks fire",
            vec![&books],
            "unknown attack 'fire'; known attacks: none, letters",
        ),
        (
            "evaluate --books {} --recipes none --detector false",
            vec![&books],
            "the detector 'false': it",
        ),
        (
            "evaluate --books {} --recipes none --detector cat",
            vec![&books],
            "'{\"add\":0",
        ),
    ];
    for (line, paths, expected) in table {
        let refused = run(line, &paths).expect(2);
        assert!(refused.err.contains(expected), "{line}: {}", refused.err);
    }
}

/// Two books with a passage in common are related or have a common source, which is no accident.
#[test]
fn calibration_counts_what_unrelated_books_share() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let fitted = |line: &str, paths: &[&Path]| -> Vec<Vec<String>> {
        let table = run(line, paths).expect(0).out;
        Calibration::parse(&table).expect("a table");
        assert!(
            table.contains("# documented, as built in: 6 checks, 0 with E <= 1, 0 with E <= 0.1"),
            "{table}"
        );
        let rows = table.lines().filter(|line| !line.starts_with('#'));
        rows.map(|row| row.split('\t').map(str::to_owned).collect())
            .collect()
    };
    let told = fitted(
        "evaluate --recipes documented,released --calibrate --books {} --pairs {}",
        &[&books, &pairs],
    );
    let [documented, released] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((&*documented[0], &*released[0]), ("documented", "released"));
    // Six books of about 60 gems. Each pair is compared once, but for those that are related.
    let gem_pairs: u64 = documented[3].parse().expect("a number");
    assert!((10_000..200_000).contains(&gem_pairs), "{told:?}");
    assert_eq!([&documented[4], &documented[5]], ["", ""]);
    let untold = fitted(
        "evaluate --calibrate --books {} --recipes documented",
        &[&books],
    );
    assert_eq!(untold[0][4], "");
    assert!(untold[0][5].starts_with("1 1 1 1 1"), "{untold:?}");
}

/// The expected number of accidents like a copy in a million books like its original.
fn among_a_million(recipe: &Recipe, copy: &str, book: &str) -> f64 {
    let (probes, book) = (recipe.probes(copy), recipe.gems(book));
    let alignment = align(&of_both(&probes, &book), &book, recipe, |_| Some(1.0));
    let fit = Calibration::built_in().of(recipe.name()).expect("fitted");
    let index = 1_000_000 * book.len() as u64;
    fit.e_value(probes.len() as u64, index, alignment.segment_score)
}

/// With `--nocapture`, prints the figures.
#[test]
fn a_copy_is_no_accident_in_a_million_books() {
    let books: Vec<String> = (0..5).map(|seed| prose(seed, 60_000)).collect();
    for recipe in Recipe::built_in() {
        for book in &books {
            let whole = among_a_million(&recipe, &format!("Xy{}", &book[2..]), book);
            assert!(whole <= 1e-9, "{}: {whole}", recipe.name());
        }
    }
    for recipe in [
        Recipe::hardened(),
        Recipe::hardened_fine(),
        Recipe::hardened_compact(),
    ] {
        for characters in [1_000, 2_000, 4_000] {
            let mut e_values = Vec::new();
            for book in &books {
                let pieces = (1..10).map(|at| &book[30_000 * at..30_000 * at + characters]);
                e_values.extend(pieces.map(|piece| among_a_million(&recipe, piece, book)));
            }
            let reach = |most: f64| e_values.iter().filter(|found| **found <= most).count();
            let (rare, rarer) = (reach(1e-3), reach(1e-6));
            println!("{} {characters}: {rare}, {rarer} of 45", recipe.name());
            let least = if recipe == Recipe::hardened() { 32 } else { 45 };
            assert!(characters < 2_000 || rare == 45 && rarer >= least);
        }
    }
}

#[test]
fn a_report_has_evidence_and_how_often_that_is_an_accident() {
    let folder = Folder::new();
    let books = shelf(&folder);
    run(
        "ingest --data {} --library l --rights protected {}",
        &[&folder.data(), &books.join("la")],
    )
    .expect(0);
    let check = |options: &str, text: &str, status: i32| {
        let query = folder.file("query.txt", text);
        run(
            &format!("check --json {options} --data {{}} {{}}"),
            &[folder.data(), query],
        )
        .expect(status)
        .json()
        .remove(0)
    };
    let number = |value: &serde_json::Value| {
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{value} is a number"))
    };
    let text = prose(1, 6_000);
    let report = check("", &text, 1);
    let found = &report["matches"][0];
    // All gems match in order, and occur in no other book.
    assert!(
        (number(&found["evidence"]) - number(&found["common"])).abs() < 1e-9,
        "{found}"
    );
    let enough = number(&found["evidence"]);
    // A rule may require a minimum of evidence.
    assert!(report["rule"].get("min_evidence").is_none());
    assert_eq!(
        check(&format!("--min-evidence {enough}"), &text, 1)["total"],
        1
    );
    // An identical text is no accident, and found regardless of evidence.
    assert!(report.get("e_value").or(found.get("e_value")).is_none());
    let changed = format!("Another beginning. {text}");
    let refused = check(&format!("--min-evidence {}", enough + 0.5), &changed, 0);
    assert_eq!(
        (&refused["total"], number(&refused["rule"]["min_evidence"])),
        (&0.into(), enough + 0.5)
    );
    assert!(refused.get("e_value").is_none());
    // That of a report is that of the best match that decides, whether it is shown or not.
    let report = check("", &changed, 1);
    let e_value = number(&report["e_value"]);
    assert!(e_value < 1e-9, "{e_value}");
    assert_eq!(report["matches"][0]["e_value"], report["e_value"]);
    assert_eq!(
        check("--limit 0", &changed, 1)["e_value"],
        report["e_value"]
    );
    // More of the text is never less certain, and gems that occur in two books carry less evidence.
    let less = check("", &prose(1, 1_000), 1);
    assert!(number(&less["e_value"]) > e_value, "{less}");
    for found in check("", &prose(0, 3_500), 1)["matches"]
        .as_array()
        .expect("matches")
    {
        assert!(
            number(&found["evidence"]) < number(&found["common"]),
            "{found}"
        );
    }
    let page = folder.path("report.html");
    for (text, is_said) in [(&changed, true), (&text, false)] {
        let query = folder.file("query.txt", text);
        let paths = [&folder.data(), &page, &query];
        let shown = run("check --data {} --html {} {}", &paths).expect(1).out;
        let page = fs::read_to_string(&page).expect("a page");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "by accident is not to be expected in a million indexes of this size";
        assert_eq!(
            [page.contains(said), shown.contains(said)],
            [is_said; 2],
            "{shown}"
        );
    }
}

#[test]
fn without_a_list_of_pairs_the_page_says_what_counts_as_a_false_alarm() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let says = "No list of related books was given (--pairs)";
    let line = "evaluate --attacks upper-case --recipes documented --books {}";
    let bare = run(line, &[&books]).expect(0).out;
    let alarms = bare.split("## False alarms").nth(1).expect("a section");
    assert!(
        bare.starts_with("# Evaluation") && alarms.contains(says),
        "{bare}"
    );
    assert!(
        !run(&format!("{line} --pairs {{}}"), &[&books, &pairs])
            .expect(0)
            .out
            .contains(says)
    );
}
