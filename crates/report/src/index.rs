//! An index of the reports on several files: a page, and its summary in a line.

use jiff::Timestamp;
use maud::html;

use super::html::{date, whole_page};
use super::outcome::Outcome;
use super::page::clean;
use lapidary_language::Language;
use lapidary_store::Rights;

/// The row of an index of reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The name of what was checked.
    pub name: String,
    /// What the index shows of the report, or why there is none.
    pub summary: Result<Summary, String>,
}

/// What an index shows of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The page with the report, relative to the index.
    pub page: String,
    /// What became of the check.
    pub outcome: Outcome,
    /// Why the text counts as not checked, if the report is no answer.
    pub not_checked: Option<String>,
    /// The share of the text that is in protected books, if it is known.
    pub covered: Option<f64>,
    /// The number of matches.
    pub matches: usize,
}

/// Formats an index of reports as an HTML page.
#[must_use]
pub fn html_index(language: Language, rows: &[Checked], when: Timestamp) -> String {
    let body = html! {
        h1 { (summary(language, rows)) }
        p class="quiet" { (language.checked_on(&date(when))) }
        table class="index" {
            tr {
                th { (language.head_file()) } th { (language.head_verdict()) } th { (language.head_covered()) }
                th { (language.head_matches()) }
            }
            @for row in rows {
                tr {
                    @match &row.summary {
                        Ok(summary) => {
                            td { a href=(summary.page) { (clean(&row.name)) } }
                            td class=(summary.outcome.class()) {
                                (summary.outcome.name(language))
                                @if let Some(why) = &summary.not_checked { ": " (why) }
                            }
                            td { @if let Some(covered) = summary.shown_covered() { (language.percent(covered)) } }
                            td { (language.number(summary.matches as u64)) }
                        }
                        Err(why) => {
                            td { (clean(&row.name)) }
                            td class=(Outcome::Unreadable.class()) colspan="3" {
                                (Outcome::Unreadable.name(language)) ": " (clean(why))
                            }
                        }
                    }
                }
            }
        }
    };
    whole_page(
        language,
        &language.check_of(&language.files(rows.len() as u64)),
        &body,
    )
}

/// Rights in a word.
#[must_use]
pub fn rights_word(language: Language, rights: Rights) -> String {
    match rights {
        Rights::Forbidden => language.is_forbidden(),
        Rights::Protected => language.is_protected(),
        Rights::Free => language.is_free(),
        Rights::PublicDomain => language.is_public_domain(),
        Rights::Unknown => language.is_unknown(),
    }
}

impl Summary {
    fn shown_covered(&self) -> Option<f64> {
        self.covered.filter(|share| *share > 0.0)
    }
}

impl Checked {
    /// What became of the check.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.summary
            .as_ref()
            .map_or(Outcome::Unreadable, |summary| summary.outcome)
    }
}

/// How many files have which outcome: `5 files: 2 protected, 3 without a match`.
#[must_use]
pub fn summary(language: Language, rows: &[Checked]) -> String {
    let mut parts = Vec::new();
    for outcome in Outcome::ALL {
        let files = rows.iter().filter(|row| row.outcome() == outcome).count();
        if files > 0 {
            parts.push(outcome.of_files(language, files as u64));
        }
    }
    format!(
        "{}: {}",
        language.files(rows.len() as u64),
        parts.join(", ")
    )
}
