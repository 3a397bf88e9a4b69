//! End-to-end tests of `lapidary evaluate` with small generated books.

use crate::common;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Folder, prose, run};

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

#[test]
fn calibration_counts_what_unrelated_books_share() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let counted = |line: &str, paths: &[&Path]| -> Vec<(String, u64, f64, u64)> {
        let table = run(line, paths).expect(0).out;
        let row = |line: &str| {
            let columns: Vec<&str> = line.split('\t').collect();
            let number = |i: usize| columns[i].parse().expect("a number");
            (
                columns[0].to_owned(),
                number(1),
                columns[2].parse().expect("evidence"),
                number(3),
            )
        };
        table.lines().map(row).collect()
    };
    let told = counted(
        "evaluate --recipes documented,released --calibrate --books {} --pairs {}",
        &[&books, &pairs],
    );
    let rows: Vec<(&str, f64, u64)> = told
        .iter()
        .map(|(recipe, _, level, reached)| (recipe.as_str(), *level, *reached))
        .collect();
    assert_eq!(rows, [("documented", 0.25, 0), ("released", 0.25, 0)]);
    // Six books of about 60 gems. Each is compared with the books that are neither held back with it nor related to
    // it.
    assert!((10_000..200_000).contains(&told[0].1), "{told:?}");
    // Without a declared relation, what the two books share counts as errors, at all levels of evidence.
    let untold = counted(
        "evaluate --calibrate --books {} --recipes documented",
        &[&books],
    );
    let reached: Vec<u64> = untold.iter().map(|row| row.3).collect();
    assert!(
        reached.len() > 5 && reached[0] == 2 && reached.last() == Some(&0),
        "{untold:?}"
    );
}

#[test]
fn a_report_has_evidence_and_how_likely_it_errs() {
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
    let (of_match, of_verdict) = (
        number(&found["error_probability"]),
        number(&report["error_probability"]),
    );
    assert!(
        0.0 < of_match && of_match < of_verdict && of_verdict < 1e-3,
        "{of_match} {of_verdict}"
    );
    // Gems that occur in two books carry less evidence.
    let report = check("", &prose(0, 3_500), 1);
    for found in report["matches"].as_array().expect("matches") {
        assert!(
            number(&found["evidence"]) < number(&found["common"]),
            "{found}"
        );
    }
    // The error probability is that of the best match that decides, whether it is shown or not.
    assert!(
        (number(&check("--limit 0", &text, 1)["error_probability"]) / of_verdict - 1.0).abs()
            < 1e-9
    );
    // A rule may require a minimum of evidence.
    assert!(report["rule"].get("min_evidence").is_none());
    let enough = number(&found["evidence"]);
    assert_eq!(
        check(&format!("--min-evidence {enough}"), &text, 1)["total"],
        1
    );
    // Exact copies are found regardless of evidence, so use a text that is not one.
    let changed = format!("Another beginning. {text}");
    let refused = check(&format!("--min-evidence {}", enough + 0.5), &changed, 0);
    assert_eq!(
        (&refused["total"], number(&refused["rule"]["min_evidence"])),
        (&0.into(), enough + 0.5)
    );
    assert!(refused.get("error_probability").is_none());
    let page = folder.path("report.html");
    let query = folder.file("query.txt", &text);
    let shown = run(
        "check --data {} --html {} {}",
        &[&folder.data(), &page, &query],
    )
    .expect(1)
    .out;
    let page = fs::read_to_string(page).expect("a page");
    for said in [
        "measured false-alarm rate: below 1 in",
        "unrelated books has as much",
    ] {
        assert!(page.contains(said), "{page}");
        assert!(
            shown
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(said),
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
