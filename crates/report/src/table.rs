//! The passages of a report as CSV.

use super::html::PageTexts;
use super::page::clean;
use super::passages::words_of;
use super::words::{identity, located, rights};
use super::works::{Part, PartLikeness, TextLength, Work, title, works};
use lapidary_catalogue::api::Report;
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
    // Spreadsheets take it for UTF-8 by its mark.
    let mut table = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer("\u{feff}".as_bytes().to_vec());
    let mut rows = vec![heads(language)];
    for work in &works {
        for part in work.parts.iter().filter(|part| part.number.is_some()) {
            rows.push(cells(language, work, part, &length, texts).map(unformulated));
        }
    }
    for row in rows {
        table.write_record(row).expect("all rows are of one length");
    }
    let table = table.into_inner().expect("memory takes all");
    String::from_utf8(table).expect("all cells are UTF-8")
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
