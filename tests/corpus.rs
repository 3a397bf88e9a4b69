//! Matches among real books, which are not part of the project: related books must be found, and others must not. No book is
//! called disguised, unless it is; nor is a generated text.
//!
//! `cargo test --release --test program -- --nocapture corpus::` prints the figures. Skipped if the books are not present.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::common::{Folder, Random, prose, run};
use lapidary_catalogue::api::Match;
use lapidary_catalogue::{
    BookGems, Catalogue, CheckOptions, Content, NewEntry, Query, Recipes, Text, compare,
};
use lapidary_checking::RuleChanges;
use lapidary_gems::{Misspelling, Recipe, Signs, Trick, WrittenGem, misspelling};
use lapidary_lab::{ATTACKS, Attack};
use lapidary_store::{Actor, BookKey, Rights};
use rayon::prelude::*;
use serde_json::{Value, json};

fn corpus() -> Option<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if !corpus.is_dir() {
        // Written directly, because the test harness hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there are no books at {}",
            corpus.display()
        );
        return None;
    }
    Some(corpus)
}

/// The rows of a table without its header.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let table = fs::read_to_string(file).expect("a table");
    table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

/// A file's name without folder and extension: the id of the book.
fn stem(file: &str) -> String {
    Path::new(file)
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

/// For each kind of pair, the number found and the total.
type Found = BTreeMap<String, (u32, u32)>;

/// Books that the E-values are not fitted to, in 12 languages. Two checks of 152 may be above by accident.
#[test]
fn unrelated_books_reach_no_more_than_the_stated_e_values() {
    let Some(corpus) = corpus() else { return };
    let table = run(
        "evaluate --calibrate --recipes documented,documented-second,released,hardened,hardened-fine,\
         hardened-compact --books {} --pairs {}",
        &[&corpus, &corpus.join("pairs.tsv")],
    )
    .expect(0)
    .out;
    let checked: Vec<&str> = table
        .lines()
        .filter(|line| line.contains(", as built in: "))
        .collect();
    println!("{}", checked.join("\n"));
    assert_eq!(checked.len(), 6, "{table}");
    for line in checked {
        let (head, counts) = line.rsplit_once(" checks, ").expect("a number of checks");
        let (_, number) = head.rsplit_once(": ").expect("a number of checks");
        let number: f64 = number.parse().expect("a number");
        for count in counts.split(", ") {
            let (checks, stated) = count.split_once(" with E <= ").expect("a count");
            let [checks, stated]: [f64; 2] =
                [checks, stated].map(|number| number.parse().expect("a number"));
            // With so many accidents expected, there is at least one in this part of the checks.
            let most = number * (1.0 - (-stated).exp()) + 2.0;
            assert!(checks <= most, "{line}");
        }
    }
}

#[test]
fn related_books_are_found_and_others_are_not() {
    let Some(corpus) = corpus() else { return };
    let books = rows(&corpus.join("catalogue.tsv"));
    let files: Vec<PathBuf> = books.iter().map(|row| corpus.join(&row[0])).collect();
    // Books with the same title are the same work, even if pairs.tsv does not say so. The title may be followed by a
    // file name.
    let title: BTreeMap<String, &str> = books
        .iter()
        .map(|row| (stem(&row[0]), row[2].split(" [").next().unwrap_or_default()))
        .collect();
    let pairs = rows(&corpus.join("pairs.tsv"));
    let pairs: Vec<(String, String, &str)> = pairs
        .iter()
        .map(|row| (stem(&row[0]), stem(&row[1]), row[2].as_str()))
        .collect();
    for recipe in ["documented", "released"] {
        let folder = Folder::new();
        let mut paths = vec![folder.data()];
        paths.extend(files.iter().cloned());
        let each = "{} ".repeat(files.len());
        let line =
            format!("ingest --library l --rights protected --recipe {recipe} --data {{}} {each}");
        println!("{recipe}: {}", run(&line, &paths).expect(0).out.trim());
        let line = format!("check --json --recipe {recipe} --data {{}} {each}");
        let reports: BTreeMap<String, Value> = run(&line, &paths)
            .expect(1)
            .json()
            .into_iter()
            .map(|r| (stem(r["file"].as_str().expect("a file")), r))
            .collect();
        assert_eq!(reports.len(), books.len());

        for (report, file) in books
            .iter()
            .map(|row| (&reports[&stem(&row[0])], corpus.join(&row[0])))
        {
            let best = report["matches"]
                .get(0)
                .unwrap_or_else(|| panic!("{} finds nothing", file.display()));
            let found = file.with_file_name(format!(
                "{}.txt",
                best["book"]["id"].as_str().expect("an id")
            ));
            let itself = found == file || fs::read(&found).ok() == fs::read(&file).ok();
            assert!(itself, "{} finds {} first", file.display(), found.display());
            assert_eq!(best["common"], report["gems"], "{}", file.display());
        }

        let common = |a: &str, b: &str| {
            let matches = reports[a]["matches"].as_array().expect("matches");
            matches
                .iter()
                .find(|m| m["book"]["id"] == b)
                .map(|m| m["common"].as_u64().expect("a number"))
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

        let listed: BTreeSet<[&str; 2]> = pairs
            .iter()
            .flat_map(|(a, b, _)| [[a.as_str(), b], [b.as_str(), a]])
            .collect();
        for (a, report) in &reports {
            for b in report["matches"]
                .as_array()
                .expect("matches")
                .iter()
                .map(|m| m["book"]["id"].as_str().expect("an id"))
            {
                if a != b && !listed.contains(&[a.as_str(), b]) {
                    println!(
                        "  not listed: {a} / {b}, {} gems",
                        common(a, b).expect("found just now")
                    );
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
    let files: BTreeSet<&str> = pairs
        .iter()
        .flat_map(|row| [row[0].as_str(), &row[1]])
        .collect();
    let folder = Folder::new();
    let mut paths = vec![folder.data()];
    paths.extend(files.iter().map(|file| corpus.join(file)));
    let each = "{} ".repeat(files.len());
    run(
        &format!("ingest --library l --rights protected --recipe hardened --data {{}} {each}"),
        &paths,
    )
    .expect(0);
    let reports = run(&format!("check --json --data {{}} {each}"), &paths)
        .expect(1)
        .json();
    let reports: BTreeMap<String, Value> = reports
        .into_iter()
        .map(|report| (stem(report["file"].as_str().expect("a file")), report))
        .collect();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for row in &pairs {
        let (a, b, relation) = (stem(&row[0]), stem(&row[1]), row[2].as_str());
        let work = |id: &str| {
            let matches = reports[&a]["matches"].as_array().expect("matches");
            let found = matches.iter().find(|found| found["book"]["id"] == id)?;
            Some((
                found["work"].clone(),
                found["share_of_query"].as_f64() > Some(0.5),
            ))
        };
        let (Some((of_a, _)), Some((of_b, is_mostly))) = (work(&a), work(&b)) else {
            continue;
        };
        // A revision may leave less than half of a text as it was.
        let editions =
            relation == "same-work-other-source" || relation == "revised-edition" && is_mostly;
        assert_eq!(of_a == of_b, editions, "{a} / {b}: {relation}");
        *seen.entry(relation).or_default() += 1;
        assert!(
            reports[&a]["covered"].as_f64() > Some(0.999),
            "{a} is in the catalogue"
        );
    }
    println!("hardened finds: {seen:?}");
    assert!(!seen.contains_key("different-translation"), "{seen:?}");
    assert!(
        seen["contained"] == 4 && seen["revised-edition"] > 4 && seen["same-work-other-source"] > 9,
        "{seen:?}"
    );
}

#[test]
fn check_and_compare_agree() {
    let Some(corpus) = corpus() else { return };
    let pairs = rows(&corpus.join("pairs.tsv"));
    let files: BTreeSet<&str> = pairs
        .iter()
        .flat_map(|row| [row[0].as_str(), &row[1]])
        .collect();
    agree(
        &files
            .iter()
            .map(|file| {
                (
                    stem(file),
                    fs::read_to_string(corpus.join(file)).expect("a book"),
                )
            })
            .collect(),
    );
}

/// Of texts that share passages, some of them with a word left out, so that one may be found by gems that the other does not have.
#[test]
fn check_and_compare_agree_about_generated_texts() {
    let passages: Vec<String> = (0..30).map(|seed| prose(500 + seed, 120)).collect();
    let mut random = Random(35);
    let text = |id: usize| {
        let mut passage = |_| {
            let of = &passages[random.below(30) as usize];
            let left_out = random.below(240) as usize;
            of.split(' ')
                .enumerate()
                .filter(|(at, _)| *at != left_out)
                .map(|(_, word)| word)
                .collect::<Vec<_>>()
                .join(" ")
        };
        (
            id.to_string(),
            (0..12).map(&mut passage).collect::<Vec<_>>().join(" "),
        )
    };
    let texts: BTreeMap<String, String> = (0..16).map(text).collect();
    agree(&texts);
    // Which of two is checked matters: these would tell one from the other.
    let recipe = Recipe::hardened();
    let rule = recipe.rule();
    let common =
        |a: &str, b: &str| compare(&recipe, rule, &Text::new(a, None), &Text::new(b, None)).score;
    let pairs = texts
        .values()
        .flat_map(|a| texts.values().map(move |b| (a, b)));
    assert!(pairs.into_iter().any(|(a, b)| common(a, b) != common(b, a)));
}

/// A comparison of two texts says of them what a check of one says of the other, in a catalogue of all. A text with wrong letters is
/// compared whole only with the books that have most of its gems: all else is said by a check of one library, which has one book.
fn agree(texts: &BTreeMap<String, String>) {
    let folder = Folder::new();
    let catalogue = Catalogue::open_or_create(&folder.data()).expect("a catalogue");
    let editor = catalogue.by(Actor::Local);
    let recipes = [Recipe::hardened(), Recipe::released()];
    editor.recipes().ensure(&recipes).expect("new recipes");
    for (id, text) in texts {
        let key = BookKey {
            library: id.parse().expect("a name"),
            id: id.parse().expect("a name"),
        };
        editor
            .books()
            .add(NewEntry::new(
                key,
                Rights::Protected,
                Content::text(text.clone()),
            ))
            .expect("it is added");
    }
    // Whatever two texts share, so that there are many pairs.
    let any = RuleChanges {
        min_common: Some(1),
        min_share: Some(0.0),
        min_support: Some(0.0),
        ..RuleChanges::default()
    };
    let catalogue = catalogue.with_rule(any);
    for recipe in &recipes {
        let rule = any.on(recipe.rule());
        let options = CheckOptions {
            recipes: Recipes::Named(vec![recipe.name().clone()]),
            limit: 1_000,
            ..CheckOptions::default()
        };
        let in_library = |library: &str| CheckOptions {
            library: Some(library.parse().expect("a name")),
            ..options.clone()
        };
        let check = |text: &String, options: &CheckOptions| {
            let query = Query::text(text.clone());
            let report = catalogue.checks().report(&query, options);
            report.expect("a report")
        };
        let different: Vec<String> = texts
            .par_iter()
            .flat_map_iter(|(id, text)| {
                let report = check(text, &options);
                let query = Text::new(text, None);
                let common = report.matches.iter().map(|found| found.score.common);
                let most_common = common.max().unwrap_or(0);
                let has_wrong_letters = *recipe != Recipe::released()
                    && misspelling(text) == Some(Misspelling::WrongLetters);
                let of_book = |found: &Match| {
                    let two = compare(
                        recipe,
                        rule,
                        &query,
                        &Text::new(&texts[&found.book.id], None),
                    );
                    // A report has one number of gems, and no match has more.
                    let gems = two.gems_a.max(most_common);
                    let mut told = (report.gems, found.score, found.spans.len(), true);
                    let compared = (gems, two.score, two.spans.len(), two.matches);
                    if has_wrong_letters && found.score.common < most_common {
                        let alone = check(text, &in_library(&found.book.id));
                        let found = &alone.matches[0];
                        let gems = alone.gems.max(most_common);
                        told = (gems, found.score, found.spans.len(), true);
                    }
                    (told != compared)
                        .then(|| format!("{id} / {}: {told:?} {compared:?}", found.book.id))
                };
                report
                    .matches
                    .iter()
                    .filter_map(of_book)
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(different.is_empty(), "{}", different.join("\n"));
    }
}

/// A text of 120,000 characters, with passages of this length from everywhere in a book between those of another one, and
/// the share of it that is from the book.
fn with_passages(book: &str, other: &str, length: usize, share: f64) -> (String, f64) {
    const LENGTH: usize = 120_000;
    let [book, other] = [book, other].map(|text| text.chars().collect::<Vec<char>>());
    let passages = (LENGTH as f64 * share / length as f64).round() as usize;
    let between = (LENGTH - passages * length) / (passages + 1);
    let room = book.len() / passages - length;
    let mut random = Random(length as u64 + passages as u64);
    let mut text = String::new();
    for at in 0..passages {
        text.extend(&other[at * between..(at + 1) * between]);
        // Not in the order of the book.
        let part = (at * 7 + 3) % passages;
        let start = part * (length + room) + random.below(room as u64) as usize;
        text.extend(&book[start..start + length]);
    }
    text.extend(&other[passages * between..(passages + 1) * between]);
    (text, (passages * length) as f64 / LENGTH as f64)
}

/// A catalogue of one protected book, in this recipe too.
fn of_one(folder: &Folder, recipe: &Recipe, book: &str) -> Catalogue {
    let catalogue = Catalogue::open_or_create(&folder.data()).expect("a catalogue");
    let editor = catalogue.by(Actor::Local);
    editor
        .recipes()
        .ensure(std::slice::from_ref(recipe))
        .expect("a new recipe");
    let key = BookKey {
        library: "l".parse().expect("a name"),
        id: "book".parse().expect("a name"),
    };
    let entry = NewEntry::new(key, Rights::Protected, Content::text(book.to_owned()));
    editor.books().add(entry).expect("it is added");
    catalogue
}

/// The share of a text that a report states is what of it is literally the same.
#[test]
fn quotations_are_covered_as_far_as_they_go() {
    let Some(corpus) = corpus() else { return };
    let [book, other] = ["eltec-eng19090-wells", "eltec-eng18930-benson"]
        .map(|name| fs::read_to_string(corpus.join(format!("en/{name}.txt"))).expect("a book"));
    // `hardened` has one gem in 240 characters, so it misses a part of many short passages.
    for (recipe, most_missed) in [
        (Recipe::hardened(), [0.09, 0.07, 0.05, 0.05]),
        (Recipe::hardened_fine(), [0.05; 4]),
        (Recipe::hardened_compact(), [0.05; 4]),
    ] {
        let folder = Folder::new();
        let catalogue = of_one(&folder, &recipe, &book);
        println!(
            "{}: length of the passages, true and stated shares in %",
            recipe.name()
        );
        for (length, most_missed) in [300, 600, 1_500, 4_000].into_iter().zip(most_missed) {
            let shares = [0.05, 0.1, 0.2, 0.33, 0.5].map(|share| {
                let (text, share) = with_passages(&book, &other, length, share);
                let report = catalogue
                    .checks()
                    .report(&Query::text(text), &CheckOptions::default())
                    .expect("a report");
                let covered = report.covered.expect("it is known");
                // They are not joined, as the parts of a copy are that was changed everywhere.
                let passages = share * 120_000.0 / length as f64;
                let spans = report.matches[0].spans.len() as f64;
                assert!(
                    length < 600 || spans > 0.7 * passages,
                    "{spans} of {passages}"
                );
                assert!(covered < share + 0.05, "{covered} of {share}");
                let least = (share - most_missed).max(0.0);
                assert!(covered > least, "{covered} of {share}");
                format!("{:.1} {:.1}", 100.0 * share, 100.0 * covered)
            });
            println!("{length}\t{}", shares.join("\t"));
        }
    }
}

/// So it is of a copy that was changed everywhere. Of words with wrong letters, most letters are the same.
#[test]
fn changed_copies_are_covered_as_far_as_they_are_the_same() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("en/eltec-eng19090-wells.txt");
    let book = fs::read_to_string(path).expect("a book");
    let folder = Folder::new();
    let catalogue = of_one(&folder, &Recipe::hardened_compact(), &book);
    for (name, strength, letters_of_word) in [
        ("words", 0.05, 1),
        ("words", 0.1, 1),
        ("reworded", 0.2, 1),
        ("reworded", 0.3, 1),
        ("letters", 0.01, 5),
        ("letters", 0.05, 5),
        ("ocr", 0.02, 5),
        ("ocr", 0.05, 5),
    ] {
        let attack = Attack::named(name).expect("an attack");
        let copy = attack.copy(&book, strength, 1).expect("it applies");
        let report = catalogue
            .checks()
            .report(&Query::text(copy), &CheckOptions::default())
            .expect("a report");
        let covered = report.covered.expect("it is known");
        println!("{name} {:.0} %: {:.1} %", 100.0 * strength, 100.0 * covered);
        let same: f64 = 1.0 - strength;
        assert!(covered < same + 0.05, "{name} {strength}: {covered}");
        let words = same.powi(letters_of_word);
        assert!(covered > words - 0.05, "{name} {strength}: {covered}");
    }
}

/// A page has few gems, from which less can be told. Never much more than is the same, and on average not much less.
#[test]
fn changed_pages_are_covered_as_far_as_few_gems_tell() {
    const PAGES: usize = 60;
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("en/eltec-eng19090-wells.txt");
    let book = fs::read_to_string(path).expect("a book");
    let folder = Folder::new();
    let catalogue = of_one(&folder, &Recipe::hardened_compact(), &book);
    let letters: Vec<char> = book.chars().collect();
    let pages = letters.chunks(letters.len() / PAGES).take(PAGES);
    let pages: Vec<String> = pages.map(|page| page[..2_000].iter().collect()).collect();
    for (name, strength, least) in [
        ("words", 0.05, 0.88),
        ("words", 0.1, 0.76),
        ("reworded", 0.2, 0.43),
        ("letters", 0.05, 0.7),
        ("ocr", 0.05, 0.7),
    ] {
        let attack = Attack::named(name).expect("an attack");
        let stated: Vec<f64> = pages
            .iter()
            .map(|page| {
                let copy = attack.copy(page, strength, 1).expect("it applies");
                let report = catalogue
                    .checks()
                    .report(&Query::text(copy), &CheckOptions::default())
                    .expect("a report");
                report.covered.expect("it is known")
            })
            .collect();
        let mean = stated.iter().sum::<f64>() / PAGES as f64;
        println!(
            "pages, {name} {:.0} %: {:.0} %",
            100.0 * strength,
            100.0 * mean
        );
        let most = stated.into_iter().fold(0.0, f64::max);
        assert!(most < 1.0 - strength + 0.1, "{name} {strength}: {most}");
        assert!(mean > least, "{name} {strength}: {mean}");
    }
}

/// A paragraph of a protected book is protected, and a page that quotes one is not.
#[test]
fn a_paragraph_is_found_and_a_quotation_informs() {
    let Some(corpus) = corpus() else { return };
    let (others, books): (Vec<_>, Vec<_>) = rows(&corpus.join("catalogue.tsv"))
        .into_iter()
        .map(|row| row[0].clone())
        .partition(|path| path.starts_with("ru/"));
    let characters = |path: &String| -> Vec<char> {
        let text = fs::read_to_string(corpus.join(path)).expect("a book");
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().collect()
    };
    let folder = Folder::new();
    let page = &characters(&others[0])[..6_000];
    for (at, path) in books.iter().enumerate() {
        let book = characters(path);
        for piece in 1..4 {
            let from = book.len() * piece / 4;
            let paragraph = &book[from..from + 300];
            let quoting = [&page[..3_000], paragraph, &page[3_000..]].concat();
            folder.file(
                &format!("paragraphs/{at}-{piece}.txt"),
                paragraph.iter().collect::<String>(),
            );
            folder.file(
                &format!("pages/{at}-{piece}.txt"),
                quoting.iter().collect::<String>(),
            );
        }
    }
    let mut paths = vec![folder.data()];
    paths.extend(books.iter().map(|path| corpus.join(path)));
    // Without a secret, which would make other figures each time.
    let line = "ingest --library l --rights protected --recipe hardened-compact --id path --data {}"
        .to_owned() + &" {}".repeat(books.len());
    run(&line, &paths).expect(0);
    let checked = |texts: &str, status: i32| {
        run(
            "check --json --data {} {}",
            &[folder.data(), folder.path(texts)],
        )
        .expect(status)
        .json()
    };
    let of_paragraphs = checked("paragraphs", 1);
    let found = of_paragraphs
        .iter()
        .filter(|report| report["verdict"] == "protected")
        .count();
    println!(
        "{found} of {} paragraphs of 300 characters",
        of_paragraphs.len()
    );
    assert!(100 * found >= 99 * of_paragraphs.len());
    let of_pages = checked("pages", 0);
    let informed = of_pages.iter().filter(|report| {
        let found = &report["matches"][0];
        found["relation"] == "quotations" && found["informational"] == "quoted"
    });
    let informed = informed.count();
    println!("{informed} of {} pages that quote them", of_pages.len());
    assert!(100 * informed >= 95 * of_pages.len());
}

/// What users are told of how much text a check needs.
#[test]
fn a_gem_takes_as_many_characters_as_said() {
    let Some(corpus) = corpus() else { return };
    let books = rows(&corpus.join("catalogue.tsv"));
    let books: Vec<String> = books
        .iter()
        .map(|row| fs::read_to_string(corpus.join(&row[0])).expect("a book"))
        .collect();
    let characters: usize = books.par_iter().map(|text| text.chars().count()).sum();
    for recipe in [
        Recipe::documented(),
        Recipe::released(),
        Recipe::hardened(),
        Recipe::hardened_fine(),
        Recipe::hardened_compact(),
    ] {
        let gems: usize = books.par_iter().map(|text| recipe.gems(text).len()).sum();
        let (found, said) = (
            characters as f64 / gems as f64,
            f64::from(recipe.characters_per_gem()),
        );
        println!("{}: {found:.0} characters per gem", recipe.name());
        assert!(
            (found / said - 1.0).abs() < 0.05,
            "{}: {found} {said}",
            recipe.name()
        );
    }
}

/// Attacks that hide words, with the weakest strength that is noticed in every book.
const NOTICED: [(&str, f64); 29] = [
    ("zero-width", 0.05),
    ("look-alikes", 0.1),
    ("hyphens", 1.0),
    ("letter-spaced", 0.05),
    ("full-width", 0.1),
    ("mathematical", 0.1),
    ("circled", 0.1),
    ("marks", 0.1),
    ("leet", 0.2),
    ("other-look-alikes", 0.1),
    ("upside-down", 1.0),
    ("turned", 1.0),
    ("backwards", 1.0),
    ("references", 0.1),
    ("markup", 0.5),
    ("thin-blanks", 0.5),
    ("flags", 0.1),
    ("superscript", 0.1),
    ("accented", 1.0),
    ("all-look-alikes", 0.1),
    ("coptic", 1.0),
    ("doubled", 0.1),
    ("volapuk", 1.0),
    // Some texts are, and others are not.
    ("joined", 2.0),
    ("split", 2.0),
    ("scrambled", 2.0),
    ("shapes", 2.0),
    ("lisu", 2.0),
    ("keyboard", 2.0),
];

#[test]
fn disguised_books_are_called_so_and_others_are_not() {
    let Some(corpus) = corpus() else { return };
    let books: Vec<(String, String)> = rows(&corpus.join("catalogue.tsv"))
        .into_iter()
        .map(|row| {
            (
                stem(&row[0]),
                fs::read_to_string(corpus.join(&row[0])).expect("a book"),
            )
        })
        .collect();
    let signs: Vec<(&str, Signs)> = books
        .iter()
        .map(|(name, text)| (name.as_str(), Signs::of(text)))
        .collect();
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    for trick in Trick::ALL {
        for (what, share) in [
            ("counted", Signs::share_of as fn(&Signs, Trick) -> f64),
            ("ordinary", Signs::ordinary),
        ] {
            let most = signs
                .iter()
                .max_by(|a, b| share(&a.1, trick).total_cmp(&share(&b.1, trick)))
                .expect("a book");
            println!(
                "{trick:?}, {what}: at most {} of the words, in {}",
                percent(share(&most.1, trick)),
                most.0
            );
        }
    }
    for (name, signs) in &signs {
        assert!(!signs.is_disguised(), "{name}: {signs:?}");
    }
    let texts: Vec<&str> = books.iter().map(|(_, text)| middle(text)).collect();
    attacks_are_noticed(&texts, |_| true);
}

/// A part of a book, of 64 KiB: enough words for the share of those that an attack changes.
fn middle(text: &str) -> &str {
    let start = text.len().saturating_sub(64 << 10) / 2;
    let end = text.len() - start;
    &text[text.floor_char_boundary(start)..text.floor_char_boundary(end)]
}

#[test]
fn disguised_texts_are_called_so() {
    let latin = prose(1, 4_000);
    let letters = |c: char| {
        "абцдефгхийклмнопярстувшхыз"
            .chars()
            .nth((c as usize).wrapping_sub('a' as usize))
            .unwrap_or(c)
    };
    let cyrillic: String = latin.chars().map(letters).collect();
    for text in [&latin, &cyrillic] {
        assert!(!Signs::of(text).is_any());
    }
    // In words as long as these, a scanner misreads letters as digits more often than in real books. All have an even number
    // of letters, as flags have.
    attacks_are_noticed(&[&latin, &cyrillic], |attack| {
        !["ocr", "flags"].contains(&attack)
    });
}

/// Disguises texts with all attacks that `chosen` selects by name.
fn attacks_are_noticed(texts: &[&str], chosen: impl Fn(&str) -> bool) {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let mut wrong = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| chosen(attack.name)) {
        for &strength in attack.all_strengths() {
            let disguised = texts
                .par_iter()
                .filter_map(|text| attack.copy(text, strength, 1));
            let signs: Vec<Signs> = disguised.map(|copy| Signs::of(&copy)).collect();
            let called = signs.iter().filter(|signs| signs.is_disguised()).count();
            let mut shares: Vec<f64> = signs.iter().map(Signs::share).collect();
            shares.sort_by(f64::total_cmp);
            let (Some(least), Some(most)) = (shares.first(), shares.last()) else {
                continue;
            };
            let ordinary = signs
                .iter()
                .flat_map(|signs| Trick::ALL.map(|trick| signs.ordinary(trick)));
            let line = format!(
                "{} {strength}: {} to {}, median {}, ordinary at most {}: {called} of {}",
                attack.name,
                percent(*least),
                percent(*most),
                percent(shares[shares.len() / 2]),
                percent(ordinary.fold(0.0, f64::max)),
                signs.len(),
            );
            println!("{line}");
            let expected = match NOTICED.iter().find(|(name, _)| *name == attack.name) {
                None => Some(0),
                Some((_, least)) => (strength >= *least).then_some(signs.len()),
            };
            if expected.is_some_and(|expected| expected != called) {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each related pair is in a group of duplicates, and no group connects books of different titles.
#[test]
fn the_groups_of_duplicates_are_the_known_ones() {
    let Some(corpus) = corpus() else { return };
    let lines = run("duplicates --json {}", &[&corpus]).expect(0).json();
    let name = |file: &Value| stem(file.as_str().expect("a file"));
    let of = |field: &str| -> Vec<BTreeSet<String>> {
        let names = lines.iter().filter_map(|line| line[field].as_array());
        names
            .map(|files| files.iter().map(name).collect())
            .collect()
    };
    let (groups, overlaps) = (of("files"), of("overlap"));
    let known: BTreeSet<(String, String)> = rows(&corpus.join("pairs.tsv"))
        .iter()
        .filter(|row| row[2] != "different-translation")
        .flat_map(|row| {
            [
                (stem(&row[0]), stem(&row[1])),
                (stem(&row[1]), stem(&row[0])),
            ]
        })
        .collect();
    // A text that overlaps with a group is told with one text of it.
    let same = |book: &String| {
        groups
            .iter()
            .find(|group| group.contains(book))
            .cloned()
            .unwrap_or([book.clone()].into())
    };
    let is_told = |(a, b): &&(String, String)| {
        let (a, b) = (same(a), same(b));
        a == b
            || overlaps
                .iter()
                .any(|of| !of.is_disjoint(&a) && !of.is_disjoint(&b))
    };
    assert_eq!(
        known
            .iter()
            .filter(|pair| !is_told(pair))
            .collect::<Vec<_>>(),
        Vec::<&(String, String)>::new()
    );
    let books = rows(&corpus.join("catalogue.tsv"));
    let titles: BTreeMap<String, &str> = books
        .iter()
        .map(|row| (stem(&row[0]), row[2].split(" [").next().unwrap_or_default()))
        .collect();
    let is_known =
        |a: &str, b: &str| titles[a] == titles[b] || known.contains(&(a.to_owned(), b.to_owned()));
    // The editions of an edition are of the same work, too.
    let is_edition = |a: &str, b: &str| {
        titles
            .keys()
            .any(|book| is_known(a, book) && is_known(book, b))
    };
    let pairs = lines
        .iter()
        .filter_map(|line| line["pairs"].as_array())
        .flatten();
    let pairs = pairs.map(|pair| [name(&pair["a"]), name(&pair["b"])].into());
    let strangers: Vec<BTreeSet<String>> = pairs
        .chain(overlaps.clone())
        .filter(|pair| !is_edition(pair.first().expect("a"), pair.last().expect("b")))
        .collect();
    assert_eq!(strangers, Vec::<BTreeSet<String>>::new());
}

/// A catalogue with books of others, to which a library's key adds its own.
struct Collector {
    catalogue: Catalogue,
    recipe: Recipe,
    _folder: Folder,
}

impl Collector {
    fn entry(library: &str, id: &str, content: Content) -> NewEntry {
        let key = BookKey {
            library: library.parse().expect("a library"),
            id: id.parse().expect("an id"),
        };
        NewEntry::new(key, Rights::Protected, content)
    }

    fn among<'a>(others: impl Iterator<Item = (&'a Vec<String>, &'a String)>) -> Self {
        let folder = Folder::new();
        let catalogue = Catalogue::open_or_create(&folder.data()).expect("a catalogue");
        let others = others.map(|(row, text)| {
            let mut other = Self::entry("others", &stem(&row[0]), Content::text(text.clone()));
            other.description.authors = vec![row[3].clone()];
            other
        });
        for added in catalogue
            .by(Actor::Local)
            .ingest()
            .add_some(others.collect())
        {
            added.expect("a book of others");
        }
        let key = json!({ "name": "collector", "role": "ingest", "libraries": ["collector"], "trusted": true });
        catalogue
            .by(Actor::Local)
            .keys()
            .add(serde_json::from_value(key).expect("a key"))
            .expect("made");
        Self {
            catalogue,
            recipe: Recipe::hardened(),
            _folder: folder,
        }
    }

    /// How many of these books wait in quarantine, and how many there are.
    fn waiting(&self, kind: &str, contents: Vec<Content>) -> (usize, usize) {
        let of = contents.len();
        let entries = (0..)
            .zip(contents)
            .map(|(i, content)| Self::entry("collector", &format!("{kind} {i}"), content))
            .collect();
        let added = self
            .catalogue
            .by(Actor::Key("collector".to_owned()))
            .ingest()
            .add_some(entries);
        let waiting = added
            .into_iter()
            .map(|added| added.expect("added").book.standing.is_quarantined());
        let waiting = waiting.filter(|waiting| *waiting).count();
        println!("{kind}: {waiting} of {of} wait in quarantine");
        (waiting, of)
    }

    fn gems(&self, text: &str) -> Vec<WrittenGem> {
        self.recipe
            .gems(text)
            .iter()
            .map(|placed| self.recipe.write(placed.gem))
            .collect()
    }

    fn list(&self, gems: Vec<WrittenGem>) -> Content {
        Content::Gems(BookGems {
            recipe: Some(self.recipe.name().clone()),
            gems,
        })
    }

    /// That none of these texts waits, nor a list of its gems.
    fn none_waits(&self, kind: &str, texts: &[String]) {
        let contents: Vec<Content> = texts.iter().cloned().map(Content::text).collect();
        assert_eq!(self.waiting(kind, contents).0, 0);
        let lists = texts
            .iter()
            .map(|text| self.list(self.gems(text)))
            .collect();
        assert_eq!(
            self.waiting(&format!("{kind}, as lists of gems"), lists).0,
            0
        );
    }

    fn all_wait(&self, kind: &str, contents: Vec<Content>) {
        let (waiting, of) = self.waiting(kind, contents);
        assert_eq!(waiting, of, "{kind}");
    }
}

/// Books put together from passages of others wait in quarantine; other books and anthologies do not.
#[test]
fn collages_are_told_from_anthologies() {
    let Some(corpus) = corpus() else { return };
    let rows = rows(&corpus.join("catalogue.tsv"));
    let texts: Vec<String> = rows
        .iter()
        .map(|row| fs::read_to_string(corpus.join(&row[0])).expect("a text"))
        .collect();
    let collector = Collector::among(rows.iter().zip(&texts));
    collector.none_waits("books", &texts);
    // Books that are not there yet, though books by the same authors and other editions are.
    for half in 0..2 {
        let (new, known): (Vec<usize>, Vec<usize>) =
            (0..texts.len()).partition(|at| at % 2 == half);
        let new: Vec<String> = new.into_iter().map(|at| texts[at].clone()).collect();
        Collector::among(known.into_iter().map(|at| (&rows[at], &texts[at])))
            .none_waits("new books", &new);
    }

    let mut random = Random(1);
    let mut chosen = |from: usize, count: usize| -> Vec<usize> {
        let mut all: Vec<usize> = (0..from).collect();
        (0..count)
            .map(|_| all.swap_remove(random.below(all.len() as u64) as usize))
            .collect()
    };
    let mut short: Vec<&String> = texts.iter().collect();
    short.sort_by_key(|text| text.len());
    let anthology = |works: Vec<usize>| {
        works
            .into_iter()
            .map(|at| short[at].as_str())
            .collect::<Vec<_>>()
            .join("\n\n")
    };
    let anthologies: Vec<String> = [3, 5, 10, 20]
        .repeat(3)
        .into_iter()
        .map(|count| anthology(chosen(60, count)))
        .collect();
    collector.none_waits("anthologies of 3 to 20 whole books", &anthologies);
    let passage = |text: &str, at: usize, characters: usize| {
        let from = text.chars().count().saturating_sub(characters) * at / 10;
        text.chars().skip(from).take(characters).collect::<String>()
    };
    let mut collages = Vec::new();
    for count in [4, 8, 20, 100] {
        for characters in [2_000, 5_000, 10_000, 30_000] {
            let works = chosen(texts.len(), count).into_iter();
            let passages = works.map(|at| passage(&texts[at], at % 10, characters));
            collages.push(Content::text(passages.collect::<Vec<_>>().join("\n\n")));
        }
    }
    collector.all_wait(
        "collages of 4 to 100 passages of 2,000 to 30,000 characters",
        collages,
    );
    // Pieces of several books in turn.
    let mut alternating = Vec::new();
    for count in [4, 8, 20] {
        for characters in [200, 500, 1_000] {
            let works: Vec<usize> = chosen(texts.len(), count);
            let parts: Vec<Vec<char>> = works
                .iter()
                .map(|&at| passage(&texts[at], 5, 4_000).chars().collect())
                .collect();
            let pieces = (0..4_000 / characters).flat_map(|turn| {
                parts
                    .iter()
                    .map(move |part| part.chunks(characters).nth(turn).unwrap_or_default())
            });
            let pieces: Vec<String> = pieces.map(|piece| piece.iter().collect()).collect();
            alternating.push(Content::text(pieces.join("\n\n")));
        }
    }
    collector.all_wait(
        "collages of 4 to 20 passages of 4,000 characters, by turns",
        alternating,
    );
    let mut lists = Vec::new();
    for count in [4, 20, 100] {
        for most in [4, 6, 12] {
            let neighbours = |at: usize| {
                let gems = collector.gems(&texts[at]);
                gems.into_iter()
                    .skip(at % 10)
                    .take(most)
                    .collect::<Vec<_>>()
            };
            lists.push(
                collector.list(
                    chosen(texts.len(), count)
                        .into_iter()
                        .flat_map(neighbours)
                        .collect(),
                ),
            );
        }
    }
    collector.all_wait("lists of 4 to 12 gems of each of 4 to 100 books", lists);
}
