//! Reports as self-contained HTML pages, without scripts or external resources, so that they can be archived.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::disguise::{disguise, examples, hidden};
use super::map::{chip, map};
use super::outcome::Outcome;
use super::page::clean;
use super::passages::{self, Side, legend, read_aloud};
use super::words::{
    certainty, disabled, figures, identity, informing, later_match, not_described, recipes,
    relation, reservation, rights, rule, ruling, sentence, shares, subject,
};
use super::works::{TextLength, Work, title, works};
use lapidary_catalogue::api::{CheckState, Decision, LaterMatch, Match, Report};
use lapidary_language::Language;

/// Colours and fonts, of the console too.
pub const TOKENS: &str = include_str!("tokens.css");
/// How many works the list of contents names.
const SHORT: usize = 6;
const STYLE: &str = include_str!("report.css");

/// A report, and what a page shows with it.
pub struct CheckedReport<'a> {
    /// The name of what was checked.
    pub name: &'a str,
    /// The report.
    pub report: &'a Report,
    /// The length of the text, or `None` if gems were checked.
    pub bytes: Option<u64>,
    /// The texts of passages.
    pub texts: &'a PageTexts<'a>,
    /// When it was checked.
    pub when: Timestamp,
    /// What was decided, if the check was filed.
    pub standing: Option<Standing<'a>>,
    /// Whether it is part of a page of the console, whose script steps through passages.
    pub in_console: bool,
    /// Whether it is about a book of the catalogue: what that shares with others is no reason for an alarm.
    pub of_book: bool,
    /// The page of the book of a match, if its readers have one.
    pub book_page: &'a dyn Fn(&Match) -> Option<String>,
}

/// Where a filed check stands, and the last decision about it.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// Where it stands.
    pub state: CheckState,
    /// The last decision.
    pub last: Option<&'a Decision>,
    /// The book that was added later and made it wait for a decision again.
    pub later: Option<&'a LaterMatch>,
}

/// The texts that a page may show passages of.
#[derive(Debug, Default)]
pub struct PageTexts<'a> {
    /// What was checked.
    pub text: Option<&'a str>,
    /// Whether the page has the text, and adds its passages: where they are, it finds the positions of their gems.
    pub adds_passages: bool,
    /// The books of the matches, as far as their texts are known.
    pub books: Vec<Option<String>>,
}

impl<'a> PageTexts<'a> {
    pub(super) fn side(&self) -> Option<Side<'a>> {
        let text = self.text?;
        Some(Side {
            text,
            language: None,
        })
    }

    /// Whether the text can be shown beside that of the book of a match.
    pub(super) fn has_both(&self, at: usize) -> bool {
        self.text.is_some() && self.books.get(at).is_some_and(Option::is_some)
    }
}

/// An HTML page of what [`report_part`] made; `name` is the name of what was checked.
#[must_use]
pub fn html_report(language: Language, name: &str, part: &Markup) -> String {
    whole_page(language, &language.check_of(&clean(name)), part)
}

/// An HTML page that says one thing.
#[must_use]
pub fn notice_page(language: Language, told: &str) -> String {
    whole_page(language, "Lapidary", &html! { p { (told) } })
}

/// Formats a check's report as a part of a page, which has the [stylesheet].
#[must_use]
pub fn report_part(language: Language, checked: &CheckedReport<'_>) -> Markup {
    let CheckedReport { report, texts, .. } = checked;
    let works = works(report, |at| texts.has_both(at));
    let length = TextLength::new(report, checked.bytes);
    let has_parts = works.iter().any(|work| !work.parts.is_empty());
    html! {
        (head(language, checked, &works))
        (contents(language, checked, &works, has_parts))
        (facts(language, checked))
        @if has_parts { (map(language, &works, &length)) }
        (signs(language, report))
        (list(language, checked, &works))
        @if has_parts {
            section id="passages" {
                h2 { (language.head_passages()) }
                @if (0..report.matches.len()).any(|at| texts.has_both(at)) { (legend(language)) }
                (passages::of_works(language, &works, texts, &length))
            }
        }
        (method(language, checked))
    }
}

/// The stylesheet of all reports in a language. It uses [`TOKENS`].
#[must_use]
pub fn stylesheet(language: Language) -> String {
    STYLE.to_owned() + &read_aloud(language)
}

/// What stays in view: the verdict, what was decided, and the way through the passages.
fn head(language: Language, checked: &CheckedReport<'_>, works: &[Work<'_>]) -> Markup {
    let outcome = Outcome::of(checked.report);
    let parts = works.iter().flat_map(|work| &work.parts);
    let listed = parts.filter_map(|part| part.number).max();
    html! {
        div class="head" id="verdict" {
            @if !checked.of_book { h1 {
                span class={"outcome " (outcome.class())} { (outcome.name(language)) }
                @if let Some(sentence) = sentence(language, checked.report) { " " span { (sentence) } }
            } }
            @if let Some(standing) = &checked.standing {
                p id="standing" class="standing" { (standing_of(language, checked.report, standing)) }
            }
            @if let Some(last) = listed.filter(|_| checked.in_console) {
                p class="ways" {
                    a href={"#passage-" (last)} accesskey="k" data-step="-1" aria-label=(language.previous_passage())
                        title=(language.previous_passage()) { "↑" }
                    a href="#passage-1" accesskey="j" data-step="1" aria-label=(language.next_passage())
                        title=(language.next_passage()) { "↓" }
                }
            }
        }
    }
}

/// What was decided about a check and by whom, or who decides.
#[must_use]
pub fn standing_of(language: Language, report: &Report, standing: &Standing<'_>) -> String {
    if let Some(later) = standing.later {
        return language.waits_again(&later_match(language, later));
    }
    match (standing.last, standing.state) {
        (Some(last), _) => language.decided(
            &ruling(language, last.ruling),
            &clean(&last.actor),
            &last.created_at.strftime("%Y-%m-%d").to_string(),
        ),
        (None, CheckState::Clear | CheckState::Watched) => language.needs_no_decision(),
        (None, _) => language.waits_for(&language.list(&deciding_libraries(report))),
    }
}

/// The libraries whose books made the verdict.
fn deciding_libraries(report: &Report) -> Vec<String> {
    let books = report.matches.iter().filter(|found| found.decides());
    let mut libraries: Vec<String> = books.map(|found| clean(&found.book.library)).collect();
    libraries.sort_unstable();
    libraries.dedup();
    libraries
}

fn contents(
    language: Language,
    checked: &CheckedReport<'_>,
    works: &[Work<'_>],
    has_parts: bool,
) -> Markup {
    let report = checked.report;
    // Below it, the console has what was decided.
    let has_decisions = checked.in_console && checked.standing.is_some();
    html! {
        nav class="contents" aria-label=(language.head_contents()) {
            a href="#verdict" { (language.head_verdict()) }
            @if has_parts { a href="#map" { (language.head_map()) } }
            @if has_signs(language, report) { a href="#disguise" { (language.head_disguise()) } }
            @for work in works.iter().take(SHORT) {
                a href={"#work-" (work.number)} { (chip(work)) " " (work.title()) }
            }
            @if works.len() > SHORT { a href="#works" { (language.more_works((works.len() - SHORT) as u64)) } }
            @if has_parts { a href="#passages" { (language.head_passages()) } }
            a href="#method" { (language.head_how()) }
            @if has_decisions { a href="#decisions" { (language.c_decisions()) } }
        }
    }
}

fn facts(language: Language, checked: &CheckedReport<'_>) -> Markup {
    let report = checked.report;
    let asides = [disabled(language, report), informing(language, report)];
    html! {
        dl class="facts" {
            dt { (language.head_checked()) } dd { (what(language, checked)) }
            dt { (language.head_when()) }
            dd { (language.rights_as_of(&date(checked.when), &report.day.to_string())) }
            @if let Some(certainty) = certainty(language, report) {
                dt { (language.head_certainty()) } dd { (certainty) }
            }
            @for aside in asides.into_iter().flatten() {
                dt { (language.head_not_counted()) } dd { (aside) }
            }
            @if let Some(note) = &report.note {
                dt { (language.head_note()) } dd { (clean(note)) }
            }
            @if report.text_kept == Some(false) {
                dt { (language.head_note()) } dd { (language.text_not_kept()) }
            }
        }
    }
}

/// What was checked: its name, and its length if the text is known.
fn what(language: Language, checked: &CheckedReport<'_>) -> String {
    let name = clean(checked.name);
    match checked.texts.text {
        Some(text) => format!(
            "{name}, {}",
            language.characters(text.chars().count() as u64)
        ),
        None if checked.bytes.is_none() => {
            language.only_gems(&name, &recipes(language, &checked.report.recipes))
        }
        None => name,
    }
}

fn has_signs(language: Language, report: &Report) -> bool {
    disguise(language, report).is_some() || hidden(language, report).is_some()
}

/// The signs of disguise, with examples.
fn signs(language: Language, report: &Report) -> Markup {
    let said = [disguise(language, report), hidden(language, report)];
    html! {
        @if has_signs(language, report) {
            section id="disguise" class="signs" {
                h2 { (language.head_disguise()) }
                @for said in said.into_iter().flatten() { p { (said) } }
                @if disguise(language, report).is_some() {
                    details {
                        summary { (language.head_disguised_words()) }
                        ul { @for example in examples(language, report) { li { (example) } } }
                    }
                }
            }
        }
    }
}

/// The works, each with its editions.
fn list(language: Language, checked: &CheckedReport<'_>, works: &[Work<'_>]) -> Markup {
    let rest = not_described(checked.report, checked.report.matches.len());
    html! {
        @if !works.is_empty() {
            section id="works" {
                h2 { (language.head_works()) }
                @for work in works { (one_work(language, checked, work)) }
                @if rest > 0 { p class="quiet" { (language.more_matches(rest as u64)) } }
            }
        }
    }
}

fn one_work(language: Language, checked: &CheckedReport<'_>, work: &Work<'_>) -> Markup {
    html! {
        article class="work" id={"work-" (work.number)} {
            (chip(work))
            div {
                (edition(language, checked, work.best))
                p {
                    (relation(language, work.best))
                    @if let Some(exact) = &work.best.exact { "; " (identity(language, exact)) }
                }
                @if !work.others.is_empty() {
                    details class="editions" {
                        summary { (language.other_editions(work.others.len() as u64)) }
                        @for other in &work.others { (edition(language, checked, other)) }
                    }
                }
            }
            @if let Some(first) = work.parts.iter().find_map(|part| part.number) {
                a class="count" href={"#passage-" (first)} { (language.passages(work.parts.len() as u64)) }
            }
        }
    }
}

/// The title of a book, its authors, its library and its rights.
fn edition(language: Language, checked: &CheckedReport<'_>, found: &Match) -> Markup {
    let book = &found.book;
    html! {
        h3 {
            @match (checked.book_page)(found) {
                Some(page) => a href=(page) { (title(found)) },
                None => (title(found)),
            }
        }
        p class="quiet" {
            @if !book.authors.is_empty() { (clean(&book.authors.join(", "))) " · " }
            (clean(&book.library)) " · "
            span class=(book.rights) { (rights(language, book.rights)) }
            @if let Some(validity) = &book.validity {
                @if let Some(from) = validity.from { "; " (language.valid_from(&from.to_string())) }
                @if let Some(until) = validity.until { "; " (language.valid_until(&until.to_string())) }
            }
            @if let Some(why) = reservation(language, found) { "; " (why) }
        }
    }
}

/// How the verdict came about, for readers who check it.
fn method(language: Language, checked: &CheckedReport<'_>) -> Markup {
    let CheckedReport { report, bytes, .. } = checked;
    html! {
        details id="method" class="method" {
            summary { (language.head_how()) }
            p { (subject(language, &clean(checked.name), report, *bytes)) }
            p { (recipes(language, &report.recipes)) "; " (rule(language, report)) }
            @if !report.matches.is_empty() {
                ol {
                    @for found in &report.matches {
                        li {
                            (clean(&found.book.library)) "/" (clean(&found.book.id)) ": "
                            (shares(language, found)) "; " (figures(language, found))
                        }
                    }
                }
            }
        }
    }
}

/// A time as shown on a page.
pub(super) fn date(when: Timestamp) -> String {
    when.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d %H:%M UTC")
        .to_string()
}

/// A page with this body.
pub(super) fn whole_page(language: Language, title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang=(language) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(TOKENS)) (PreEscaped(stylesheet(language))) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}
