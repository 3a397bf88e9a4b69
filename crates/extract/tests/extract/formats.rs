//! Real files of every format, which are not part of the project: the books they contain are found, and none is called
//! disguised.
//!
//! `cargo test --release -p lapidary-extract --test extract -- --nocapture formats::` prints the figures. Skipped if the files are not present.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;

use lapidary_extract::{File, Format, Limits};
use lapidary_gems::{Gem, Recipe, Signs, Trick};

/// The smallest share of a book's gems that a file of the same text must have.
fn least(format: Format) -> f64 {
    if format == Format::Pdf { 0.80 } else { 0.95 }
}

#[test]
fn real_files_hold_their_books() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(table) = fs::read_to_string(shared.join("formats/provenance.tsv")) else {
        // Written directly, because the test harness hides the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there are no files at {}",
            shared.display()
        );
        return;
    };
    let recipe = Recipe::documented();
    let gems = |text: &str| {
        recipe
            .gems(text)
            .iter()
            .map(|placed| placed.gem)
            .collect::<HashSet<Gem>>()
    };
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    let mut refused = Vec::new();
    // The largest share of words with each trick of a disguise, counted and ordinary.
    let mut most = [(0.0_f64, 0.0_f64); Trick::ALL.len()];
    for row in table.lines().skip(1) {
        let [name, _, _, made_by, same] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let bytes = fs::read(shared.join("formats").join(name)).expect("a file");
        let file = File {
            bytes: bytes.into(),
            name: Some(name.to_owned()),
            encoding: None,
        };
        let read = match lapidary_extract::read_one(file, Limits::default()) {
            Ok(read) => read,
            Err(error) => {
                let refusal = format!("{name}: {error}");
                if !same.is_empty() {
                    failures.push(refusal.clone());
                }
                assert!(!refusal.contains("its reader crashed"), "{refusal}");
                refused.push(refusal);
                continue;
            }
        };
        // Notes that are shown elsewhere and not displayed here, and a deletion: nobody sees them.
        let hides = [
            "idpf-epub3__internallinks.epub",
            "tika__testODFwithOOo3.odt",
        ]
        .contains(&name);
        assert_eq!(read.hidden.is_empty(), !hides, "{name}: {:?}", read.hidden);
        let signs = Signs::of(&read.text);
        assert!(!signs.is_disguised(), "{name}: {signs:?}");
        for (trick, (counted, ordinary)) in Trick::ALL.into_iter().zip(&mut most) {
            *counted = counted.max(signs.share_of(trick));
            *ordinary = ordinary.max(signs.ordinary(trick));
        }
        if same.is_empty() {
            lines.push((
                read.format,
                name,
                None,
                read.text.len(),
                read.metadata.title,
            ));
            continue;
        }
        let of_file = gems(&read.text);
        let share = |book: &str| {
            let book = gems(&fs::read_to_string(shared.join("corpus").join(book)).expect("a book"));
            book.intersection(&of_file).count() as f64 / book.len() as f64
        };
        let of_books: Vec<f64> = same.split(' ').map(share).collect();
        let best = of_books.iter().copied().fold(0.0, f64::max);
        let enough = if made_by == "converted" {
            least(read.format)
        } else {
            0.1
        };
        if best < enough {
            failures.push(format!("{name}: {best:.3} of the book's gems"));
        }
        lines.push((
            read.format,
            name,
            Some(best),
            read.text.len(),
            read.metadata.title,
        ));
    }
    let mut by_format: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (format, name, share, bytes, title) in lines {
        let share = share.map_or("     -".to_owned(), |share| format!("{share:6.3}"));
        let short = name.rsplit("__").next().unwrap_or(name);
        let line = format!("{share} {bytes:>9}  {short}  {}", title.unwrap_or_default());
        by_format
            .entry(format!("{format:?}"))
            .or_default()
            .push(line);
    }
    for (format, lines) in by_format {
        println!("{format}\n  {}", lines.join("\n  "));
    }
    for (trick, (counted, ordinary)) in Trick::ALL.into_iter().zip(most) {
        let (counted, ordinary) = (100.0 * counted, 100.0 * ordinary);
        println!(
            "{trick:?}: at most {counted:.2} % of the words counted, {ordinary:.2} % ordinary"
        );
    }
    println!("refused\n  {}", refused.join("\n  "));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
