//! The passages of a report as CSV.

use std::borrow::Cow;

use super::html::PageTexts;
use super::page::clean;
use super::passages::words_of;
use super::words::{identity, located, rights};
use super::works::{Part, PartLikeness, TextLength, Work, title, works};
use lapidary_catalogue::api::Report;
use lapidary_language::Language;

/// A report's passages as CSV, one a line, with their words as far as the texts are known.
#[must_use]
pub fn passages_csv(
    language: Language,
    report: &Report,
    bytes: Option<u64>,
    texts: &PageTexts<'_>,
) -> String {
    let works = works(report, |at| texts.has_both(at));
    let length = TextLength::new(report, bytes);
    let mut lines = vec![heads(language).map(|head| quoted(&head)).join(",")];
    for work in &works {
        for part in work.parts.iter().filter(|part| part.number.is_some()) {
            let cells = cells(language, work, part, &length, texts);
            lines.push(cells.map(|cell| quoted(&cell)).join(","));
        }
    }
    // Spreadsheets take it for UTF-8 by its mark.
    format!("\u{feff}{}\r\n", lines.join("\r\n"))
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

/// A cell. One that a spreadsheet would take for a formula begins with an apostrophe.
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell: Cow<'_, str> = if is_formula {
        format!("'{cell}").into()
    } else {
        cell.into()
    };
    format!("\"{}\"", cell.replace('"', "\"\""))
}
