//! The results as tables: Markdown for people, CSV for programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Evaluation;
use super::findings::{CopyCount, CopyKey, Cost, Detected, PairsFound};
use super::pairs::Expected;
use super::pieces::CopyLength;

/// A part as a percentage, never rounded up to 100 or down to 0.
fn percent(part: u64, of: u64) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    let exact = 100.0 * part as f64 / of as f64;
    match (exact * 10.0).round() / 10.0 {
        rounded if rounded >= 100.0 && part < of => ">99.9".to_owned(),
        rounded if rounded <= 0.0 && part > 0 => "<0.1".to_owned(),
        rounded => format!("{rounded:.1}"),
    }
}

/// All of nothing, if there is nothing.
fn share(part: u64, of: u64) -> f64 {
    if of == 0 {
        1.0
    } else {
        part as f64 / of as f64
    }
}

/// Precision, recall, and their harmonic mean.
pub(super) struct Rates {
    pub(super) precision: f64,
    recall: f64,
}

impl Rates {
    pub(super) fn new(right: u64, wrong: u64, wanted: u64) -> Self {
        Self {
            precision: share(right, right + wrong),
            recall: share(right, wanted),
        }
    }

    fn f(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 {
            2.0 * self.precision * self.recall / sum
        } else {
            0.0
        }
    }

    fn cells(&self) -> String {
        format!(
            "{:.4} | {:.4} | {:.4}",
            self.precision,
            self.recall,
            self.f()
        )
    }
}

pub(super) fn markdown(evaluation: &Evaluation) -> String {
    let languages: BTreeSet<&str> = (0..evaluation.shelf.len())
        .map(|book| evaluation.shelf.language(book))
        .collect();
    let mut page = format!(
        "# Evaluation\n\n{} books in {} languages, seed {}. The column of a detector shows the percentage of copies caught.\n",
        evaluation.shelf.len(),
        languages.len(),
        evaluation.seed
    );
    if evaluation.copied < evaluation.shelf.len() {
        let _ = writeln!(
            page,
            "\nCopies were made of {} of the books.",
            evaluation.copied
        );
    }
    let sections = [
        cost,
        all_copies,
        short_texts,
        pairs_by_relation,
        whole_books,
        by_length,
        by_language,
        false_alarms,
    ];
    page.push_str(unlisted(evaluation));
    for section in sections {
        section(evaluation, &mut page);
    }
    page
}

/// The note that tables of false alarms need if no list of pairs was given.
fn unlisted(evaluation: &Evaluation) -> &'static str {
    if evaluation.pairs.rows.is_empty() {
        "\nNo list of related books was given (--pairs). Other editions, translations and collections that contain a book \
         therefore count as strangers, and matches with them as false alarms.\n"
    } else {
        ""
    }
}

/// Writes the head of a table with a column for each of `first` and then for each of `rest`.
fn head<'a>(page: &mut String, first: &[&'a str], rest: impl IntoIterator<Item = &'a str>) {
    let columns: Vec<&str> = first.iter().copied().chain(rest).collect();
    let escaped: Vec<String> = columns
        .iter()
        .map(|column| column.replace('|', "\\|"))
        .collect();
    let _ = writeln!(
        page,
        "| {} |\n|{}",
        escaped.join(" | "),
        "---|".repeat(columns.len())
    );
}

fn names(evaluation: &Evaluation) -> impl Iterator<Item = &str> {
    evaluation
        .detectors
        .iter()
        .map(|detector| detector.name.as_str())
}

fn cost(evaluation: &Evaluation, page: &mut String) {
    if evaluation
        .detectors
        .iter()
        .all(|detector| detector.cost.is_none())
    {
        return;
    }
    page.push_str(
        "\n## Cost\n\nA posting is a gem's entry in the index. MB/s is the speed of computing gems on one core.\n\n",
    );
    let columns = [
        "recipe",
        "gems per 1,000 characters",
        "postings",
        "postings per book",
        "books without a gem",
        "MB/s",
    ];
    head(page, &columns, []);
    for Detected { name, cost, .. } in &evaluation.detectors {
        let Some(Cost {
            gems,
            postings,
            without,
            characters,
            bytes,
            seconds,
        }) = *cost
        else {
            continue;
        };
        let gems = 1e3 * gems as f64 / characters as f64;
        let posted = 1e3 * postings as f64 / characters as f64;
        let of_book = postings as f64 / evaluation.shelf.len() as f64;
        let speed = bytes as f64 / 1e6 / seconds;
        let _ = writeln!(
            page,
            "| {name} | {gems:.3} | {posted:.3} | {of_book:.1} | {without} | {speed:.0} |"
        );
    }
}

fn all_copies(evaluation: &Evaluation, page: &mut String) {
    page.push_str(
        "\n## All copies\n\nOver all attacks and strengths, by length in characters.\n\n",
    );
    head(
        page,
        &[
            "detector",
            "length",
            "copies",
            "caught",
            "with false alarms",
            "precision",
            "recall",
            "F",
        ],
        [],
    );
    for (number, name) in names(evaluation).enumerate() {
        for length in CopyLength::ALL {
            let count = evaluation
                .findings
                .sum(|key| key.detector == number && key.length == length);
            if count.copies > 0 {
                let _ = writeln!(page, "| {name} | {} | {} |", length.name(), rates(count));
            }
        }
    }
}

/// The cells of copies, caught, accused, precision, recall and F.
fn rates(
    CopyCount {
        copies,
        caught,
        accused,
        false_alarms,
        ..
    }: CopyCount,
) -> String {
    format!(
        "{copies} | {caught} | {accused} | {}",
        Rates::new(caught, false_alarms, copies).cells()
    )
}

fn short_texts(evaluation: &Evaluation, page: &mut String) {
    if evaluation.short.is_empty() {
        return;
    }
    page.push_str(
        "\n## Short texts\n\nA passage of each book, indexed in its place, and copies of the passages, over all attacks and \
         strengths, by length in characters. Exact: the percentage of unchanged passages caught.\n\n",
    );
    let columns = [
        "detector",
        "length",
        "exact",
        "copies",
        "caught",
        "with false alarms",
        "precision",
        "recall",
        "F",
    ];
    head(page, &columns, []);
    for (number, name) in names(evaluation).enumerate() {
        for (characters, findings) in &evaluation.short {
            let count = findings.sum(|key| key.detector == number);
            let exact =
                findings.sum(|key| key.detector == number && evaluation.is_unchanged(key.attack));
            let exact = percent(exact.caught, exact.copies);
            let _ = writeln!(
                page,
                "| {name} | {characters} | {exact} | {} |",
                rates(count)
            );
        }
    }
}

/// A number of pairs.
type CountOf = fn(&PairsFound) -> u64;

fn pairs_by_relation(evaluation: &Evaluation, page: &mut String) {
    page.push_str(
        "\n## Pairs\n\nUnchanged books. A pair that must match is found if a check of the first book reports the second. A pair \
         that must not match is an error if a check of either book reports the other. Pairs that the list relates only through \
         other books count neither way.\n\n",
    );
    head(page, &["relation", "pairs"], names(evaluation));
    listed_pairs(evaluation, page);
    unlisted_pairs(evaluation, page);
    page.push('\n');
    head(page, &["detector", "precision", "recall", "F"], []);
    pair_rates(evaluation, page);
    for Detected { name, pairs, .. } in &evaluation.detectors {
        missed_and_named(evaluation, name, pairs, page);
    }
}

/// The rows of the relations of the list, those that must match first.
fn listed_pairs(evaluation: &Evaluation, page: &mut String) {
    let rows = &evaluation.pairs.rows;
    let relations: BTreeSet<(bool, &str)> = rows
        .iter()
        .map(|p| (p.expected != Expected::Match, p.relation))
        .collect();
    for (_, relation) in relations {
        let of_relation: Vec<usize> = (0..rows.len())
            .filter(|row| rows[*row].relation == relation)
            .collect();
        let _ = write!(page, "| {relation} | {} |", of_relation.len());
        for Detected { pairs, .. } in &evaluation.detectors {
            let found = of_relation.iter().filter(|row| pairs.rows[**row]);
            let _ = write!(page, " {} |", found.count());
        }
        page.push('\n');
    }
}

/// The rows of the pairs that the list does not have.
fn unlisted_pairs(evaluation: &Evaluation, page: &mut String) {
    let unlisted: [(&str, CountOf, CountOf); 2] = [
        (
            "through others",
            |pairs| pairs.through_others,
            |pairs| pairs.through_others_named,
        ),
        (
            "none known",
            |pairs| pairs.unrelated,
            |pairs| pairs.unrelated_named,
        ),
    ];
    for (relation, all, named) in unlisted {
        let first = evaluation.detectors.first();
        let pairs = first.map_or(0, |detector| all(&detector.pairs));
        let _ = write!(page, "| {relation} | {pairs} |");
        for Detected { pairs, .. } in &evaluation.detectors {
            let _ = write!(page, " {} |", named(pairs));
        }
        page.push('\n');
    }
}

fn pair_rates(evaluation: &Evaluation, page: &mut String) {
    for Detected { name, pairs, .. } in &evaluation.detectors {
        let (mut wanted, mut right) = (0, 0);
        for (pair, found) in evaluation.pairs.rows.iter().zip(&pairs.rows) {
            if pair.expected == Expected::Match {
                wanted += 1;
                right += u64::from(*found);
            }
        }
        // The unrelated pairs include those that the list says must not match.
        let rates = Rates::new(right, pairs.unrelated_named, wanted).cells();
        let _ = writeln!(page, "| {name} | {rates} |");
    }
}

/// Writes a cell for each detector: the percentage caught of the copies that are wanted.
fn caught_cells(evaluation: &Evaluation, page: &mut String, wanted: impl Fn(&CopyKey) -> bool) {
    for detector in 0..evaluation.detectors.len() {
        let count = evaluation
            .findings
            .sum(|key| key.detector == detector && wanted(key));
        let _ = write!(page, " {} |", percent(count.caught, count.copies));
    }
    page.push('\n');
}

/// The number of copies that are wanted.
fn number_of_copies(evaluation: &Evaluation, wanted: impl Fn(&CopyKey) -> bool) -> u64 {
    // Every detector checks the same ones.
    evaluation
        .findings
        .sum(|key| key.detector == 0 && wanted(key))
        .copies
}

fn missed_and_named(evaluation: &Evaluation, name: &str, pairs: &PairsFound, page: &mut String) {
    let shelf = &evaluation.shelf;
    let rows = evaluation.pairs.rows.iter().zip(&pairs.rows);
    let missed: Vec<_> = rows
        .filter(|(pair, found)| pair.expected == Expected::Match && !**found)
        .collect();
    if !missed.is_empty() {
        let _ = writeln!(page, "\n{name} misses:\n");
        for (pair, _) in missed {
            let _ = writeln!(
                page,
                "- {} – {} ({})",
                shelf.name(pair.a),
                shelf.name(pair.b),
                pair.relation
            );
        }
    }
    if !pairs.examples.is_empty() {
        let _ = writeln!(page, "\n{name} reports unrelated books as matches:\n");
        for (a, b) in &pairs.examples {
            let _ = writeln!(page, "- {} – {}", shelf.name(*a), shelf.name(*b));
        }
    }
}

fn whole_books(evaluation: &Evaluation, page: &mut String) {
    page.push_str("\n## Whole books\n\n");
    head(page, &["attack", "strength", "copies"], names(evaluation));
    for (number, strength, attack, share) in evaluation.attacks.with_strengths() {
        let of = (number, strength, CopyLength::Whole);
        let copies = number_of_copies(evaluation, |key| {
            (key.attack, key.strength, key.length) == of
        });
        let _ = write!(
            page,
            "| {} ({}) | {} | {copies} |",
            attack.name,
            attack.what,
            attack.strength(share)
        );
        caught_cells(evaluation, page, |key| {
            (key.attack, key.strength, key.length) == of
        });
    }
}

fn by_length(evaluation: &Evaluation, page: &mut String) {
    for (detector, name) in names(evaluation).enumerate() {
        let _ = writeln!(
            page,
            "\n## Pieces by length: {name}\n\nLengths in characters.\n"
        );
        let lengths: Vec<String> = CopyLength::ALL.iter().map(|length| length.name()).collect();
        head(
            page,
            &["attack", "strength"],
            lengths.iter().map(String::as_str),
        );
        for (number, strength, attack, share) in evaluation
            .attacks
            .with_strengths()
            .filter(|(_, _, a, _)| !a.whole)
        {
            let _ = write!(page, "| {} | {} |", attack.name, attack.strength(share));
            for length in CopyLength::ALL {
                let count = evaluation.findings.sum(|key| {
                    (key.detector, key.attack, key.strength, key.length)
                        == (detector, number, strength, length)
                });
                let _ = write!(page, " {} |", percent(count.caught, count.copies));
            }
            page.push('\n');
        }
    }
}

fn by_language(evaluation: &Evaluation, page: &mut String) {
    page.push_str("\n## By language\n\nWhole books, over all attacks and strengths.\n\n");
    head(page, &["language", "books", "copies"], names(evaluation));
    let languages: BTreeSet<&str> = evaluation
        .findings
        .counts
        .keys()
        .map(|key| key.language.as_str())
        .collect();
    for language in languages {
        let books = (0..evaluation.shelf.len())
            .filter(|book| evaluation.shelf.language(*book) == language)
            .count();
        let of = (language, CopyLength::Whole);
        let copies = number_of_copies(evaluation, |key| (key.language.as_str(), key.length) == of);
        let _ = write!(page, "| {language} | {books} | {copies} |");
        caught_cells(evaluation, page, |key| {
            (key.language.as_str(), key.length) == of
        });
    }
}

fn false_alarms(evaluation: &Evaluation, page: &mut String) {
    page.push_str(
        "\n## False alarms\n\nOver all copies of all lengths. A stranger is a book unrelated to the copied one.\n",
    );
    page.push_str(unlisted(evaluation));
    page.push('\n');
    head(
        page,
        &[
            "detector",
            "copies",
            "with false alarms",
            "false alarms",
            "pairs of a copy and a stranger",
        ],
        [],
    );
    for (number, name) in names(evaluation).enumerate() {
        let CopyCount {
            copies,
            accused,
            false_alarms,
            strangers,
            ..
        } = evaluation.findings.sum(|key| key.detector == number);
        let _ = writeln!(
            page,
            "| {name} | {copies} | {accused} | {false_alarms} | {strangers} |"
        );
    }
    for (number, name) in names(evaluation).enumerate() {
        named_for_copies(evaluation, number, name, page);
    }
}

/// The books that a detector reports although they are unrelated.
fn named_for_copies(evaluation: &Evaluation, detector: usize, name: &str, page: &mut String) {
    let all = evaluation.findings.false_alarms.iter();
    let mut alarms = all
        .filter(|(alarm, _)| alarm.detector == detector)
        .peekable();
    if alarms.peek().is_some() {
        let _ = writeln!(
            page,
            "\n{name} reports unrelated books for copies (number of copies, book, reported book):\n"
        );
    }
    for (alarm, copies) in alarms {
        let [book, named] = [alarm.book, alarm.named].map(|book| evaluation.shelf.name(book));
        let _ = writeln!(page, "- {copies}: {book} – {named}");
    }
}

/// Formats rows as CSV, with a header.
fn csv(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_record(head);
    rows.for_each(|row| drop(writer.write_record(row)));
    writer
        .into_inner()
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default()
}

/// All counts, with a line for each detector, attack, strength, length and language.
pub(super) fn copies(evaluation: &Evaluation) -> String {
    let head = [
        "detector",
        "attack",
        "strength",
        "length",
        "language",
        "copies",
        "caught",
        "accused",
        "false_alarms",
        "strangers",
    ];
    let rows = evaluation.findings.counts.iter().map(|(key, count)| {
        let attack = evaluation.attacks.0[key.attack];
        let strength = attack
            .strengths
            .get(key.strength)
            .map(ToString::to_string)
            .unwrap_or_default();
        let name = evaluation.detectors[key.detector].name.clone();
        let words = [
            name,
            attack.name.to_owned(),
            strength,
            key.length.name(),
            key.language.clone(),
        ];
        let CopyCount {
            copies,
            caught,
            accused,
            false_alarms,
            strangers,
        } = *count;
        let numbers =
            [copies, caught, accused, false_alarms, strangers].map(|number| number.to_string());
        words.into_iter().chain(numbers).collect()
    });
    csv(&head, rows)
}

/// The list of pairs, with the result of each detector.
pub(super) fn pairs(evaluation: &Evaluation) -> String {
    let head: Vec<&str> = ["file_a", "file_b", "relation"]
        .into_iter()
        .chain(names(evaluation))
        .collect();
    let rows = evaluation.pairs.rows.iter().enumerate().map(|(row, pair)| {
        let [a, b] = [pair.a, pair.b].map(|book| evaluation.shelf.name(book));
        let mut cells = [a, b, pair.relation].map(ToOwned::to_owned).to_vec();
        for detector in &evaluation.detectors {
            cells.push(u8::from(detector.pairs.rows[row]).to_string());
        }
        cells
    });
    csv(&head, rows)
}

#[cfg(test)]
mod tests {
    use super::{Rates, percent};

    #[test]
    fn percentages_never_lie_at_the_ends() {
        let table = [
            (0, 0, "–"),
            (0, 9, "0.0"),
            (1, 9_999, "<0.1"),
            (1, 3, "33.3"),
            (9_999, 10_000, ">99.9"),
            (7, 7, "100.0"),
        ];
        for (part, of, expected) in table {
            assert_eq!(percent(part, of), expected);
        }
    }

    #[test]
    fn precision_recall_and_f() {
        let rates = Rates::new(6, 2, 12);
        assert_eq!((rates.precision, rates.recall), (0.75, 0.5));
        assert!((rates.f() - 0.6).abs() < 1e-12);
        assert!(Rates::new(0, 0, 5).f() < f64::MIN_POSITIVE);
    }
}
