//! Reports as pages: of their own, or as parts of pages of the console.

use std::collections::BTreeSet;

use actix_web::{HttpMessage as _, HttpRequest};
use jiff::Timestamp;

use super::access::Visible;
use super::inside::AsPart;
use super::memory::Room;
use super::problem::Problem;
use super::texts;
use lapidary_catalogue::Catalogue;
use lapidary_catalogue::api::Report;
use lapidary_extract::Heading;
use lapidary_extract::position::Locator;
use lapidary_language::Language;
use lapidary_report::{PageTexts, html_report, report_part};
use lapidary_store::Library;

/// How a report is shown as a page.
pub(super) struct ReportPage {
    language: Language,
    /// Whether the console takes it into a page of its own.
    as_part: bool,
    /// The libraries whose texts it may show; `None` if all.
    readable: Option<BTreeSet<Library>>,
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
    /// Whether it is shown to whoever has just sent what was checked.
    pub(super) is_of_sender: bool,
}

impl ReportPage {
    /// For whoever sent a request.
    pub(super) fn of(request: &HttpRequest, language: Language) -> Self {
        Self {
            language,
            as_part: request.extensions().get::<AsPart>().is_some(),
            readable: Visible::to(request),
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
        let language = self.language;
        let ShownReport {
            name,
            text,
            headings,
            books,
            bytes,
            at,
            is_of_sender,
        } = shown;
        let name = name.unwrap_or_else(|| name_of_kind(language, bytes));
        let books = match text.filter(|_| self.compares()) {
            Some(text) => {
                let locator = Locator::new(text, headings);
                let readable = self.readable.as_ref();
                texts::compare(
                    catalogue,
                    &mut report,
                    text,
                    &locator,
                    readable,
                    books,
                    room,
                )?
            }
            None => Vec::new(),
        };
        let texts = PageTexts {
            text,
            // The page of the console has the text, and adds its passages.
            adds_passages: self.as_part && is_of_sender && text.is_none(),
            books,
        };
        let part = report_part(language, &name, &report, bytes, &texts, at);
        Ok(if self.as_part {
            part.into_string()
        } else {
            html_report(language, &name, &part)
        })
    }
}

/// What is checked, if it has no name.
fn name_of_kind(language: Language, bytes: Option<u64>) -> String {
    match bytes {
        Some(_) => language.name_text(),
        None => language.name_gems(),
    }
}
