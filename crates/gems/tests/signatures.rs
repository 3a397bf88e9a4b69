//! Compares every signature with the recorded outputs of the reference.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use lapidary_gems::{Lexicon, LexiconCount, LexiconWords, Recipe};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(golden(name)).expect("the golden file is part of the project")
}

/// All cases, by method.
fn cases() -> BTreeMap<String, Vec<Value>> {
    let mut text = String::new();
    let file =
        File::open(golden("signatures.jsonl.gz")).expect("the golden file is part of the project");
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("gzip of UTF-8");
    let mut cases: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).expect("JSON");
        cases
            .entry(case["method"].as_str().expect("a method").to_owned())
            .or_default()
            .push(case);
    }
    cases
}

/// The recipe of a method and its parameters.
fn recipe(method: &str, parameters: &Map<String, Value>, lexicon: Option<&Arc<Lexicon>>) -> Recipe {
    let written = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let parameters = parameters
        .iter()
        .map(|(key, value)| format!("{key}={}", written(value)));
    let name = std::iter::once(method.to_owned())
        .chain(parameters)
        .collect::<Vec<_>>()
        .join(";");
    Recipe::signature(&name, lexicon).expect("a recipe")
}

fn gems(recipe: &Recipe, text: &str) -> Vec<String> {
    recipe
        .gems(text)
        .iter()
        .map(|placed| recipe.write(placed.gem).to_string())
        .collect()
}

fn texts(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).expect("strings")
}

#[test]
fn every_method_on_short_texts() {
    let lexicon: Arc<Lexicon> =
        Arc::new(read("signatures.lexicon.tsv").parse().expect("a lexicon"));
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases()
        .values()
        .flatten()
        .filter(|case| case["strings"].is_array())
    {
        let lexicon = case["lexicon"]
            .as_str()
            .map(|name| (name == lexicon.name()).then_some(&lexicon).expect("it"));
        let method = case["method"].as_str().expect("a method");
        let recipe = recipe(
            method,
            case["params"].as_object().expect("parameters"),
            lexicon,
        );
        let text = case["text"].as_str().expect("a text");
        let strings: Vec<String> = recipe.fold(text).split('\n').map(str::to_owned).collect();
        let strings = if strings == [""] { Vec::new() } else { strings };
        compared += 1;
        if strings != texts(&case["strings"]) || gems(&recipe, text) != texts(&case["signature"]) {
            wrong.push(format!(
                "{} {text:?}\n  is       {strings:?}\n  expected {}",
                recipe.name(),
                case["strings"]
            ));
        }
    }
    assert!(compared > 500, "{compared}");
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}

#[test]
fn words() {
    let sum: Recipe = "sum".parse().expect("a recipe");
    for case in &cases()["words"] {
        assert_eq!(
            sum.fold(case["text"].as_str().expect("a text")),
            texts(&case["signature"]).join(" "),
            "{case}"
        );
    }
}

#[test]
fn stems() {
    for line in read("signatures.stems.tsv").lines().skip(1) {
        let [language, word, stem] = line
            .split('\t')
            .collect::<Vec<_>>()
            .try_into()
            .expect("three columns");
        let name = format!("tf;min_len=1;stem=snowball:{language};stop=none");
        assert_eq!(
            name.parse::<Recipe>().expect("a recipe").fold(word),
            stem,
            "{language} {word}"
        );
    }
}

#[test]
fn a_lexicon_is_counted() {
    for case in &cases()["lexicon"] {
        let words = LexiconWords::default();
        let mut count = LexiconCount::new(words);
        for text in texts(&case["texts"]) {
            count.add(words.of(&text));
        }
        let written = count.finish();
        assert_eq!(
            written.lines().collect::<Vec<_>>(),
            texts(&case["signature"])
        );
        assert_eq!(
            written.parse::<Lexicon>().expect("a lexicon").name(),
            case["name"]
        );
    }
}

#[test]
fn every_method_on_real_books() {
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
    let books = &cases()["*"];
    let text = |case: &Value| {
        fs::read_to_string(corpus.join(case["book"].as_str().expect("a book"))).expect("UTF-8")
    };
    let words = LexiconWords::default();
    let mut count = LexiconCount::new(words);
    for case in books {
        count.add(words.of(&text(case)));
    }
    let lexicon: Arc<Lexicon> = Arc::new(count.finish().parse().expect("a lexicon"));
    for case in books {
        assert_eq!(lexicon.name(), case["lexicon"]);
        let text = text(case);
        for (name, digest) in case["signature"].as_object().expect("digests") {
            let gems = gems(
                &Recipe::signature(name, Some(&lexicon)).expect("a recipe"),
                &text,
            );
            assert_eq!(gems.len(), case["gems"][name], "{name} of {}", case["book"]);
            let is = hex::encode(Sha256::digest(gems.join(",")));
            assert_eq!(
                is[..32],
                *digest.as_str().expect("a digest"),
                "{name} of {}",
                case["book"]
            );
        }
    }
}
