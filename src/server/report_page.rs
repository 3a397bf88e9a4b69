//! Reports as pages: of their own, or as parts of pages of the console.

use std::collections::BTreeSet;

use actix_web::{HttpMessage as _, HttpRequest};
use jiff::Timestamp;

use super::access::{Editable, Visible};
use super::inside::AsPart;
use super::memory::Room;
use super::problem::Problem;
use super::texts;
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::{BookRef, CheckState, Decision, LaterMatch, Match, Report};
use lapidary_extract::Heading;
use lapidary_extract::position::Locator;
use lapidary_language::Language;
use lapidary_operations::filled;
use lapidary_report::{CheckedReport, PageTexts, Standing, html_report, passages_csv, report_part};
use lapidary_store::Library;

/// How a report is shown as a page.
pub(super) struct ReportPage {
    language: Language,
    /// Whether the console takes it into a page of its own.
    as_part: bool,
    /// The libraries whose texts it may show; `None` if all.
    readable: Option<BTreeSet<Library>>,
    /// The libraries whose books its reader may open; `None` if all.
    editable: Option<BTreeSet<Library>>,
}

/// What is shown with a report.
pub(super) struct ShownReport<'a> {
    /// The name of what was checked.
    pub(super) name: Option<String>,
    /// The text that was checked, as far as it is known.
    pub(super) text: Option<&'a str>,
    pub(super) headings: &'a [Heading],
    /// The digests of the texts that the matched books had, if it was filed.
    pub(super) books: Option<&'a [String]>,
    /// The length of the text; `None` if gems were checked.
    pub(super) bytes: Option<u64>,
    /// When it was checked.
    pub(super) at: Timestamp,
    /// Where it stands, if it was filed.
    pub(super) standing: Option<CheckStanding>,
    /// Whether it is shown to whoever has just sent what was checked.
    pub(super) is_of_sender: bool,
}

/// Where a filed check stands.
pub(super) struct CheckStanding {
    pub(super) state: CheckState,
    /// The decision about it that holds.
    pub(super) decision: Option<Decision>,
    /// The book that made it open again.
    pub(super) later: Option<LaterMatch>,
}

impl ReportPage {
    /// For whoever sent a request.
    pub(super) fn of(request: &HttpRequest, language: Language) -> Self {
        Self {
            language,
            as_part: request.extensions().get::<AsPart>().is_some(),
            readable: Visible::to(request),
            editable: Editable::by(request),
        }
    }

    /// For whoever follows a link, with the kept texts of these libraries; `None` for all.
    pub(super) fn of_link(readable: Option<BTreeSet<Library>>, language: Language) -> Self {
        Self {
            language,
            as_part: false,
            readable,
            editable: Some(BTreeSet::new()),
        }
    }

    /// Whether it shows passages of books beside those of the text.
    pub(super) fn compares(&self) -> bool {
        self.readable
            .as_ref()
            .is_none_or(|libraries| !libraries.is_empty())
    }

    /// The page, or the part of one. Memory is reserved for the texts of books.
    pub(super) fn render(
        &self,
        catalogue: &Catalogue,
        mut report: Report,
        shown: ShownReport<'_>,
        room: &mut Room,
    ) -> Result<String, Problem> {
        let texts = self.texts(catalogue, &mut report, &shown, room)?;
        let (language, bytes) = (self.language, shown.bytes);
        let name = shown.name.unwrap_or_else(|| name_of_kind(language, bytes));
        let standing = shown.standing.as_ref();
        let checked = CheckedReport {
            name: &name,
            report: &report,
            bytes,
            texts: &texts,
            when: shown.at,
            standing: standing.map(|standing| Standing {
                state: standing.state,
                last: standing.decision.as_ref(),
                later: standing.later.as_ref(),
            }),
            in_console: self.as_part,
            of_book: false,
            book_page: &|found| self.book_page(found),
        };
        let part = report_part(language, &checked);
        Ok(if self.as_part {
            part.into_string()
        } else {
            html_report(language, &name, &part)
        })
    }

    /// The passages of a report as CSV.
    pub(super) fn passages(
        &self,
        catalogue: &Catalogue,
        mut report: Report,
        shown: &ShownReport<'_>,
        room: &mut Room,
    ) -> Result<String, Problem> {
        let texts = self.texts(catalogue, &mut report, shown, room)?;
        Ok(passages_csv(self.language, &report, shown.bytes, &texts))
    }

    /// The texts that the page shows, compared with each other.
    fn texts<'t>(
        &self,
        catalogue: &Catalogue,
        report: &mut Report,
        shown: &ShownReport<'t>,
        room: &mut Room,
    ) -> Result<PageTexts<'t>, Problem> {
        let text = shown.text;
        let books = match text.filter(|_| self.compares()) {
            Some(text) => {
                let locator = Locator::new(text, shown.headings);
                let readable = self.readable.as_ref();
                texts::compare(
                    catalogue,
                    report,
                    text,
                    &locator,
                    readable,
                    shown.books,
                    room,
                )?
            }
            None => Vec::new(),
        };
        Ok(PageTexts {
            text,
            // The page of the console has the text, and adds its passages.
            adds_passages: self.as_part && shown.is_of_sender && text.is_none(),
            books,
        })
    }

    /// The page of a book in the console, if whoever reads the report may open it.
    fn book_page(&self, found: &Match) -> Option<String> {
        let BookRef { library, id, .. } = &found.book;
        let is_theirs = |editable: &BTreeSet<Library>| editable.contains(library.as_str());
        let is_linked = self.as_part && self.editable.as_ref().is_none_or(is_theirs);
        is_linked.then(|| filled("/console/books/{library}/{id}", &[library, id]))
    }
}

/// What is checked, if it has no name.
fn name_of_kind(language: Language, bytes: Option<u64>) -> String {
    match bytes {
        Some(_) => language.name_text(),
        None => language.name_gems(),
    }
}
