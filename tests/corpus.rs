//! Matches among real books, which are not part of the project: related books must be found, and others must not.
//!
//! `cargo test --release --test corpus -- --nocapture` prints the figures. Skipped if the books are not present.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use common::{Folder, run};
use serde_json::Value;

fn corpus() -> Option<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if !corpus.is_dir() {
        // Written directly, because the test harness hides the output of tests that pass.
        let _ = writeln!(std::io::stderr(), "skipped: there are no books at {}", corpus.display());
        return None;
    }
    Some(corpus)
}

/// The rows of a table without its header.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let table = fs::read_to_string(file).expect("a table");
    table.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// A file's name without folder and extension: the id of the book.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().expect("a name").to_string_lossy().into_owned()
}

/// For each kind of pair, the number found and the total.
type Found = BTreeMap<String, (u32, u32)>;

#[test]
fn related_books_are_found_and_others_are_not() {
    let Some(corpus) = corpus() else { return };
    let books = rows(&corpus.join("catalogue.tsv"));
    let files: Vec<PathBuf> = books.iter().map(|row| corpus.join(&row[0])).collect();
    // Books with the same title are the same work, even if pairs.tsv does not say so. The title may be followed by a
    // file name.
    let title: BTreeMap<String, &str> =
        books.iter().map(|row| (stem(&row[0]), row[2].split(" [").next().unwrap_or_default())).collect();
    let pairs = rows(&corpus.join("pairs.tsv"));
    let pairs: Vec<(String, String, &str)> =
        pairs.iter().map(|row| (stem(&row[0]), stem(&row[1]), row[2].as_str())).collect();
    for recipe in ["documented", "released"] {
        let folder = Folder::new();
        let mut paths = vec![folder.data()];
        paths.extend(files.iter().cloned());
        let each = "{} ".repeat(files.len());
        let line = format!("ingest --library l --rights protected --recipe {recipe} --data {{}} {each}");
        println!("{recipe}: {}", run(&line, &paths).expect(0).out.trim());
        let line = format!("check --json --recipe {recipe} --data {{}} {each}");
        let reports: BTreeMap<String, Value> = run(&line, &paths)
            .expect(1)
            .json()
            .into_iter()
            .map(|r| (stem(r["file"].as_str().expect("a file")), r))
            .collect();
        assert_eq!(reports.len(), books.len());

        for (report, file) in books.iter().map(|row| (&reports[&stem(&row[0])], corpus.join(&row[0]))) {
            let best = report["matches"].get(0).unwrap_or_else(|| panic!("{} finds nothing", file.display()));
            let found = file.with_file_name(format!("{}.txt", best["book"]["id"].as_str().expect("an id")));
            let itself = found == file || fs::read(&found).ok() == fs::read(&file).ok();
            assert!(itself, "{} finds {} first", file.display(), found.display());
            assert_eq!(best["common"], report["gems"], "{}", file.display());
        }

        let common = |a: &str, b: &str| {
            let matches = reports[a]["matches"].as_array().expect("matches");
            matches.iter().find(|m| m["book"]["id"] == b).map(|m| m["common"].as_u64().expect("a number"))
        };
        let mut found = Found::new();
        for (a, b, relation) in &pairs {
            let (hits, of) = found.entry((*relation).to_owned()).or_default();
            *of += 1;
            match common(a, b) {
                Some(_) => *hits += 1,
                None => println!("  not found: {relation} {a} / {b}"),
            }
            assert_eq!(common(a, b), common(b, a), "{a} / {b}");
        }
        for (relation, (hits, of)) in &found {
            println!("  {relation}: {hits} of {of}");
        }
        assert_eq!(found["different-translation"].0, 0);

        let listed: BTreeSet<[&str; 2]> =
            pairs.iter().flat_map(|(a, b, _)| [[a.as_str(), b], [b.as_str(), a]]).collect();
        for (a, report) in &reports {
            for b in
                report["matches"].as_array().expect("matches").iter().map(|m| m["book"]["id"].as_str().expect("an id"))
            {
                if a != b && !listed.contains(&[a.as_str(), b]) {
                    println!("  not listed: {a} / {b}, {} gems", common(a, b).expect("found just now"));
                    assert_eq!(title[a], title[b], "{a} / {b}");
                }
            }
        }
    }
}

/// With the recipes of a new catalogue: editions of a work are one work, and a story is not the collection it is in.
#[test]
fn editions_are_one_work() {
    let Some(corpus) = corpus() else { return };
    let pairs = rows(&corpus.join("pairs.tsv"));
    let files: BTreeSet<&str> = pairs.iter().flat_map(|row| [row[0].as_str(), &row[1]]).collect();
    let folder = Folder::new();
    let mut paths = vec![folder.data()];
    paths.extend(files.iter().map(|file| corpus.join(file)));
    let each = "{} ".repeat(files.len());
    run(&format!("ingest --library l --rights protected --data {{}} {each}"), &paths).expect(0);
    let reports = run(&format!("check --json --data {{}} {each}"), &paths).expect(1).json();
    let reports: BTreeMap<String, Value> =
        reports.into_iter().map(|report| (stem(report["file"].as_str().expect("a file")), report)).collect();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for row in &pairs {
        let (a, b, relation) = (stem(&row[0]), stem(&row[1]), row[2].as_str());
        let work = |id: &str| {
            let matches = reports[&a]["matches"].as_array().expect("matches");
            matches.iter().find(|found| found["book"]["id"] == id).map(|found| found["work"].clone())
        };
        let (Some(of_a), Some(of_b)) = (work(&a), work(&b)) else { continue };
        let editions = ["revised-edition", "same-work-other-source"].contains(&relation);
        assert_eq!(of_a == of_b, editions, "{a} / {b}: {relation}");
        *seen.entry(relation).or_default() += 1;
        assert!(reports[&a]["covered"].as_f64() > Some(0.999), "{a} is in the catalogue");
    }
    println!("pairs grouped: {seen:?}");
    assert!(seen["contained"] == 4 && seen["revised-edition"] > 4 && seen["same-work-other-source"] > 9, "{seen:?}");
}
