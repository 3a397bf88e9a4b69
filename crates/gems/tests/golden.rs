//! Compares the two exact recipes with the recorded outputs of the reference.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::read::GzDecoder;
use lapidary_gems::{PlacedGem, Recipe};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

fn recipes() -> [Recipe; 2] {
    [Recipe::documented(), Recipe::released()]
}

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let mut text = String::new();
    let mut file = File::open(&path).expect("the golden file is part of the project");
    if path.extension().is_some_and(|e| e == "gz") {
        GzDecoder::new(file)
            .read_to_string(&mut text)
            .expect("gzip of UTF-8");
    } else {
        file.read_to_string(&mut text).expect("UTF-8");
    }
    text
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn joined(gems: &[PlacedGem]) -> String {
    gems.iter()
        .map(|g| g.gem.0.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

/// Reports how many of `cases` differ and shows the first few, so that an error in a table shows as a pattern.
fn none_differs(cases: impl IntoIterator<Item = (String, String, String)>) {
    let cases: Vec<_> = cases.into_iter().collect();
    assert!(!cases.is_empty());
    let wrong: Vec<_> = cases
        .iter()
        .filter(|(_, is, expected)| is != expected)
        .collect();
    for (what, is, expected) in wrong.iter().take(10) {
        println!("{what}\n  is       {is}\n  expected {expected}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ",
        wrong.len(),
        cases.len()
    );
}

#[test]
fn short_texts() {
    for recipe in recipes() {
        let table = golden("fold.jsonl.gz");
        none_differs(table.lines().map(|line| {
            let case: Value = serde_json::from_str(line).expect("JSON");
            let text = case["text"].as_str().expect("a text");
            let expected = case[recipe.name().as_str()].as_str().expect("digits");
            (format!("{text:?}"), recipe.fold(text), expected.to_owned())
        }));
    }
}

#[test]
fn long_texts() {
    for recipe in recipes() {
        for line in golden("gems.jsonl.gz").lines() {
            let case: Value = serde_json::from_str(line).expect("JSON");
            let text = case["text"].as_str().expect("a text");
            let expected = &case[recipe.name().as_str()];
            assert_eq!(
                recipe.fold(text),
                expected["digits"].as_str().expect("digits")
            );
            let gems: Vec<u64> = recipe.gems(text).iter().map(|g| g.gem.0).collect();
            assert_eq!(Value::from(gems), expected["gems"]);
        }
    }
}

#[test]
fn every_code_point_in_four_places() {
    for recipe in recipes() {
        let table = golden(&format!("codepoints.{}.tsv.gz", recipe.name()));
        none_differs(table.lines().map(|line| {
            let (code, expected) = line.split_once('\t').expect("a code point and four folds");
            let c = char::from_u32(u32::from_str_radix(code, 16).expect("hexadecimal"))
                .expect("a character");
            let texts = [
                format!("{c}aaaaaa"),
                format!("bagala{c}madara"),
                format!("aaaaaa{c} bagala"),
                c.to_string().repeat(7),
            ];
            (
                format!("U+{code}"),
                texts.map(|text| recipe.fold(&text)).join("\t"),
                expected.to_owned(),
            )
        }));
    }
}

#[test]
fn real_books() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !corpus.is_dir() {
        // Written directly, because the test harness hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there are no books at {}",
            corpus.display()
        );
        return;
    }
    for recipe in recipes() {
        let table = golden(&format!("books.{}.tsv", recipe.name()));
        none_differs(table.lines().map(|line| {
            let (name, expected) = line.split_once('\t').expect("a book and its digests");
            let text = fs::read_to_string(corpus.join(name)).expect("a book in UTF-8");
            let digits = recipe.fold(&text);
            let gems = recipe.gems(&text);
            let is = format!(
                "{}\t{}\t{}\t{}",
                digits.len(),
                sha256(&digits),
                gems.len(),
                sha256(&joined(&gems))
            );
            (name.to_owned(), is, expected.to_owned())
        }));
        println!(
            "{}: {} books as in the reference",
            recipe.name(),
            table.lines().count()
        );
    }
}
