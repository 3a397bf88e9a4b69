//! `lapidary evaluate` from outside, on small books made up for the purpose.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Folder, prose, run};

/// Three books in Latin letters and three in Cyrillic ones, of which `twice` is `one` again with another ending.
fn shelf(folder: &Folder) -> PathBuf {
    let cyrillic = |text: String| {
        let letters = "абцдефгхийклмнопярстувшхыз".chars().collect::<Vec<_>>();
        text.chars()
            .map(|c| if c.is_ascii_lowercase() { letters[c as usize - 'a' as usize] } else { c })
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

const PAIRS: &str =
    "file_a\tfile_b\trelation\nla/0.txt\tla/twice.txt\tpartial-overlap\nru/0.txt\tru/1.txt\tdifferent-translation\n";

/// The rows of a table in CSV, by their column's name.
fn rows(file: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(file).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

#[test]
fn one_seed_gives_one_result_that_is_right() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let evaluated = |seed: u64, out: &str| {
        let line = format!("evaluate --books {{}} --pairs {{}} --seed {seed} --out {{}}");
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
        wanted.map(|row| row[column].parse::<u64>().expect("a number")).sum()
    };
    // Three books a language; one has two strangers fewer than the others, as two of its language are related.
    for language in ["la", "ru"] {
        assert_eq!((sum("none", "", "copies", language), sum("none", "", "caught", language)), (3, 3));
        // It folds case and accents away, and knows nothing of invisible characters.
        assert_eq!(sum("upper-case", "", "caught", language), 3);
        assert_eq!(sum("zero-width", "1", "caught", language), 0);
        assert_eq!(sum("glued", "", "caught", language), 3);
        assert_eq!(sum("words", "0.1", "copies", language), 3);
        assert_eq!(sum("none", "", "false_alarms", language), 0);
    }
    assert_eq!(sum("none", "", "strangers", "la"), 4 + 5 + 4);
    assert_eq!(sum("none", "", "strangers", "ru"), 5 + 5 + 5);
    assert_eq!((sum("romanised", "", "copies", "la"), sum("romanised", "", "copies", "ru")), (0, 3));
    assert_eq!((sum("circled", "1", "copies", "la"), sum("circled", "1", "copies", "ru")), (3, 0));
    let page = read("a/evaluation.md");
    for line in
        ["6 books in 2 languages, seed 7.", "| partial-overlap | 1 | 1 | 1 |", "| different-translation | 1 | 0 | 0 |"]
    {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[test]
fn false_alarms_are_named() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let line = "evaluate --books {} --recipes documented --attacks none,letters";
    let page = run(line, &[&books]).expect(0).out;
    // Nobody said that the two are related.
    assert!(page.contains("documented names, though nothing relates them:\n\n- la/0.txt – la/twice.txt\n"), "{page}");
    assert!(
        page.contains("- 1 of la/0.txt for la/twice.txt") || page.contains(" of la/0.txt for la/twice.txt"),
        "{page}"
    );
}

#[test]
fn another_program_takes_part() {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let folder = Folder::new();
    let books = shelf(&folder);
    let pairs = folder.file("pairs.tsv", PAIRS);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/minhash.py");
    let program = folder.file("detector.sh", format!("#!/bin/sh\nexec python3 {}\n", script.display()));
    let detector = format!("sh {}", program.display());
    let out = folder.path("out");
    let arguments = ["evaluate", "--recipes", "none", "--attacks", "none,words,upper-case,from-romanised", "--books"];
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
            let wanted = rows.iter().filter(|row| row["attack"] == attack && row["length"] == length);
            wanted.map(|row| row[column].parse::<u64>().expect("a number")).sum()
        };
        (of("caught"), of("copies"))
    };
    assert_eq!(caught("none", "whole"), (6, 6));
    assert_eq!(caught("upper-case", "whole"), (6, 6));
    assert_eq!(caught("from-romanised", "whole"), (0, 3));
    assert!(rows.iter().all(|row| row["detector"] == detector));
    let page = fs::read_to_string(out.join("evaluation.md")).expect("tables");
    assert!(!page.contains("## Cost") && page.contains("| partial-overlap | 1 | 1 |"), "{page}");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new();
    let books = shelf(&folder);
    let none = folder.file("empty/only.txt", prose(1, 100)).parent().expect("a folder").to_owned();
    let pairs = folder.file("pairs.tsv", "la/0.txt\tla/9.txt\tcontained\n");
    let table: [(&str, Vec<&Path>, &str); 6] = [
        ("evaluate --books {}", vec![&none], "1 books; an evaluation takes three at least"),
        ("evaluate --books {} --pairs {}", vec![&books, &pairs], "pairs.tsv: line 1: there is no book 'la/9.txt'"),
        ("evaluate --books {} --recipes soft", vec![&books], "--recipes: there is no recipe 'soft'"),
        ("evaluate --books {} --attacks fire", vec![&books], "there is no attack 'fire'; there are: none, letters"),
        ("evaluate --books {} --recipes none --detector false", vec![&books], "the detector 'false': it"),
        ("evaluate --books {} --recipes none --detector cat", vec![&books], "'{\"add\":0"),
    ];
    for (line, paths, expected) in table {
        let refused = run(line, &paths).expect(2);
        assert!(refused.err.contains(expected), "{line}: {}", refused.err);
    }
}
