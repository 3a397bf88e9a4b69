//! An index of the reports on several files: a page, and its summary in a line.

use jiff::Timestamp;
use maud::html;

use super::html::{date, whole_page};
use super::page::clean;
use super::words::percent;
use crate::count::{count, grouped};
use crate::index::Rights;

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
    /// The share of the text that is in protected books.
    pub covered: f64,
    /// The number of matches.
    pub matches: usize,
}

/// Formats an index of reports as an HTML page.
#[must_use]
pub fn html_index(rows: &[Checked], when: Timestamp) -> String {
    let what = count(rows.len() as u64, "file", "files");
    let body = html! {
        h1 { (summary(rows)) }
        p class="quiet" { "Checked on " (date(when)) }
        table class="index" {
            tr { th { "File" } th { "Verdict" } th { "In protected books" } th { "Matches" } }
            @for row in rows {
                tr {
                    @match &row.outcome {
                        Ok(Summary { page, verdict, covered, matches }) => {
                            td { a href=(page) { (clean(&row.name)) } }
                            td class=(verdict) { (word(*verdict)) }
                            td { @if *covered > 0.0 { (percent(*covered)) } }
                            td { (grouped(*matches as u64)) }
                        }
                        Err(why) => { td { (clean(&row.name)) } td colspan="3" { "not checked: " (clean(why)) } }
                    }
                }
            }
        }
    };
    whole_page(&format!("Check of {what}"), &body)
}

fn word(verdict: Rights) -> String {
    verdict.as_str().replace('_', " ")
}

/// How many files have which verdict: `5 files: 2 protected, 3 unknown`.
#[must_use]
pub fn summary(rows: &[Checked]) -> String {
    let verdicts = [Rights::Protected, Rights::Free, Rights::PublicDomain, Rights::Unknown].map(|verdict| {
        let of = rows.iter().filter(|row| row.outcome.as_ref().is_ok_and(|summary| summary.verdict == verdict)).count();
        (of > 0).then(|| format!("{} {}", grouped(of as u64), word(verdict)))
    });
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    let failed = (failed > 0).then(|| format!("{} not checked", grouped(failed as u64)));
    let parts: Vec<String> = verdicts.into_iter().flatten().chain(failed).collect();
    format!("{}: {}", count(rows.len() as u64, "file", "files"), parts.join(", "))
}
