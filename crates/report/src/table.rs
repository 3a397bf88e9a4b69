//! The passages of a report, and filed checks, for spreadsheets.

use jiff::tz::TimeZone;
use rust_xlsxwriter::{Format, Workbook, XlsxError};

use super::html::PageTexts;
use super::outcome::Outcome;
use super::page::clean;
use super::passages::{CELL, up_to, words_of};
use super::words::{check_state, identity, located, rights};
use super::works::{Part, PartLikeness, TextLength, Work, title, works};
use lapidary_catalogue::api::{Decision, Report};
use lapidary_checking::Reason;
use lapidary_language::Language;

/// A report's passages as CSV, one a line, with their words as far as the texts are known.
///
/// # Panics
/// Never: it is written to memory.
#[must_use]
pub fn passages_csv(
    language: Language,
    report: &Report,
    bytes: Option<u64>,
    texts: &PageTexts<'_>,
) -> String {
    let works = works(report, |at| texts.has_both(at));
    let length = TextLength::new(report, bytes);
    let mut rows = vec![heads(language)];
    for work in &works {
        for part in work.parts.iter().filter(|part| part.number.is_some()) {
            rows.push(cells(language, work, part, &length, texts));
        }
    }
    String::from_utf8(csv_of(rows)).expect("all cells are UTF-8")
}

fn csv_of<const N: usize>(rows: Vec<[String; N]>) -> Vec<u8> {
    // Spreadsheets take it for UTF-8 by its mark.
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer("\u{feff}".as_bytes().to_vec());
    for row in rows {
        let row = row.map(unformulated);
        table.write_record(row).expect("all rows are of one length");
    }
    table.into_inner().expect("memory takes all")
}

/// The column of [`checks_xlsx`] that has a share.
const SHARE: u16 = 4;

/// Filed checks as CSV, one a line.
///
/// # Panics
/// Never: it is written to memory.
#[must_use]
pub fn checks_csv(language: Language, checks: &[Decision]) -> Vec<u8> {
    let checks = checks.iter().map(|check| cells_of_check(language, check));
    csv_of(
        [heads_of_checks(language)]
            .into_iter()
            .chain(checks)
            .collect(),
    )
}

/// Filed checks as a workbook (XLSX), one a row.
///
/// # Panics
/// Never: it is written to memory, and sheets have more rows.
#[must_use]
pub fn checks_xlsx(language: Language, checks: &[Decision]) -> Vec<u8> {
    workbook(language, checks).expect("a sheet has room for all checks of a page")
}

fn workbook(language: Language, checks: &[Decision]) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let percent = Format::new().set_num_format("0 %");
    let sheet = book.add_worksheet();
    sheet.write_row(0, 0, heads_of_checks(language))?;
    for (row, check) in (1..).zip(checks) {
        sheet.write_row(row, 0, cells_of_check(language, check))?;
        if let Some(covered) = known_share(check) {
            sheet.write_with_format(row, SHARE, covered, &percent)?;
        }
    }
    book.save_to_buffer()
}

fn heads_of_checks(language: Language) -> [String; 10] {
    [
        language.head_checked(),
        language.c_case(),
        language.c_state(),
        language.head_verdict(),
        language.head_covered(),
        language.c_best_match(),
        language.head_library(),
        language.head_when(),
        language.c_who(),
        language.c_assignee(),
    ]
}

fn cells_of_check(language: Language, check: &Decision) -> [String; 10] {
    let reason = check.verdict_reason.unwrap_or(Reason::Match);
    let best = check.best_match.as_ref();
    let at = check.created_at.to_zoned(TimeZone::UTC);
    let cells = [
        Some(check.name.clone().unwrap_or_else(|| check.id.clone())),
        check.case.clone(),
        check.state.map(|state| check_state(language, state)),
        Some(Outcome::new(check.verdict, reason).name(language)),
        known_share(check).map(|share| language.percent(share)),
        best.map(|best| best.title.clone().unwrap_or_else(|| best.id.clone())),
        best.map(|best| best.library.clone()),
        Some(at.strftime("%Y-%m-%d %H:%M").to_string()),
        Some(check.actor.clone()),
        check.assignee.clone(),
    ];
    cells.map(|cell| clean(up_to(&cell.unwrap_or_default(), CELL)))
}

fn known_share(check: &Decision) -> Option<f64> {
    check.covered.filter(|_| check.is_about_answer())
}

fn heads(language: Language) -> [String; 9] {
    [
        language.head_number(),
        language.head_works(),
        language.head_library(),
        language.head_rights(),
        language.head_in_text(),
        language.head_in_book(),
        language.head_identical(),
        language.head_words_of_text(),
        language.head_words_of_book(),
    ]
}

fn cells(
    language: Language,
    work: &Work<'_>,
    part: &Part<'_>,
    length: &TextLength,
    texts: &PageTexts<'_>,
) -> [String; 9] {
    let book = &part.edition.book;
    let [in_text, in_book] = [part.located(length), part.located_in_book()];
    let [words, words_in_book] = words_of(part, texts);
    [
        part.number.unwrap_or(work.number).to_string(),
        title(part.edition),
        clean(&book.library),
        rights(language, book.rights),
        in_text.map_or_else(String::new, |at| located(language, &at)),
        in_book.map_or_else(String::new, |at| located(language, &at)),
        match part.likeness {
            PartLikeness::Words(passage) => identity(language, &passage.identity),
            PartLikeness::Gems(_) => String::new(),
        },
        words,
        words_in_book,
    ]
}

/// A cell that a spreadsheet does not take for a formula.
fn unformulated(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell
    }
}
