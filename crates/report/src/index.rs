//! An index of the reports on several files: a page, and its summary in a line.

use jiff::Timestamp;
use maud::html;

use super::html::{date, whole_page};
use super::page::clean;
use lapidary_language::Language;
use lapidary_store::Rights;

/// The row of an index of reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The name of what was checked.
    pub name: String,
    /// The report, or why there is none.
    pub outcome: Result<Summary, String>,
}

/// What an index shows of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The page with the report, relative to the index.
    pub page: String,
    /// The verdict.
    pub verdict: Rights,
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
                    @match &row.outcome {
                        Ok(Summary { page, not_checked: Some(why), .. }) => {
                            td { a href=(page) { (clean(&row.name)) } }
                            td class="not_checked" colspan="3" { (language.not_checked(why)) }
                        }
                        Ok(Summary { page, verdict, covered, matches, .. }) => {
                            td { a href=(page) { (clean(&row.name)) } }
                            td class=(verdict) { (rights_word(language, *verdict)) }
                            td { @if let Some(covered) = covered.filter(|share| *share > 0.0) { (language.percent(covered)) } }
                            td { (language.number(*matches as u64)) }
                        }
                        Err(why) => { td { (clean(&row.name)) } td class="not_checked" colspan="3" { (language.not_checked(&clean(why))) } }
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

/// Rights or a verdict in a word.
#[must_use]
pub fn rights_word(language: Language, verdict: Rights) -> String {
    match verdict {
        Rights::Forbidden => language.is_forbidden(),
        Rights::Protected => language.is_protected(),
        Rights::Free => language.is_free(),
        Rights::PublicDomain => language.is_public_domain(),
        Rights::Unknown => language.is_unknown(),
    }
}

impl Checked {
    /// Whether the text could not be checked.
    #[must_use]
    pub fn is_not_checked(&self) -> bool {
        self.verdict().is_none()
    }

    /// The verdict, if the text could be checked.
    fn verdict(&self) -> Option<Rights> {
        let summary = self.outcome.as_ref().ok()?;
        summary.not_checked.is_none().then_some(summary.verdict)
    }
}

/// So many files have this verdict.
fn number_with(language: Language, verdict: Rights, files: u64) -> String {
    match verdict {
        Rights::Forbidden => language.forbidden_of(files),
        Rights::Protected => language.protected_of(files),
        Rights::Free => language.free_of(files),
        Rights::PublicDomain => language.public_domain_of(files),
        Rights::Unknown => language.unknown_of(files),
    }
}

/// How many files have which verdict: `5 files: 2 protected, 3 unknown`.
#[must_use]
pub fn summary(language: Language, rows: &[Checked]) -> String {
    let mut parts = Vec::new();
    for verdict in Rights::ALL {
        let number = rows
            .iter()
            .filter(|row| row.verdict() == Some(verdict))
            .count();
        if number > 0 {
            parts.push(number_with(language, verdict, number as u64));
        }
    }
    let unchecked = rows.iter().filter(|row| row.is_not_checked()).count();
    if unchecked > 0 {
        parts.push(language.not_checked_of(unchecked as u64));
    }
    format!(
        "{}: {}",
        language.files(rows.len() as u64),
        parts.join(", ")
    )
}
