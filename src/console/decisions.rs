//! Filed checks and the decisions about them.

use actix_web::HttpResponse;
use actix_web::web::{self, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, more, outcome, search_by_book, table, terms, time};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{CheckState, Decision, DecisionPage};
use lapidary_checking::Reason;
use lapidary_language::Language;
use lapidary_operations::decisions::ListDecisions;
use lapidary_report::{Outcome, clean, later_match, ruling};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/decisions", web::get().to(list));
}

/// Everything, in place of a state.
const ALL: &str = "all";

#[derive(Deserialize)]
struct DecisionSearch {
    /// A state of filed checks, or [`ALL`].
    #[serde(default)]
    state: String,
    day: Option<String>,
    library: Option<String>,
    book: Option<String>,
    #[serde(default)]
    from: String,
}

impl DecisionSearch {
    /// The conditions on entries, if not those in a state are shown.
    fn sought(&self) -> [(&'static str, &str); 3] {
        let [day, library, book] = [&self.day, &self.library, &self.book]
            .map(|value| value.as_deref().unwrap_or_default().trim());
        [("day", day), ("library", library), ("book", book)]
    }

    /// The state of the checks that are shown; `None` for all entries. What waits for a decision comes first.
    fn shown(&self) -> Option<CheckState> {
        // A search for nothing shows everything, too.
        let is_search = [&self.day, &self.library, &self.book]
            .iter()
            .any(|value| value.is_some());
        if is_search || self.state == ALL {
            return None;
        }
        let named = CheckState::ALL
            .into_iter()
            .find(|state| state.as_str() == self.state);
        Some(named.unwrap_or(CheckState::Open))
    }
}

async fn list(
    visitor: Visitor,
    wanted: Query<DecisionSearch>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let shown = wanted.shown();
    let [day, library, book] = wanted.sought();
    let mut asked = match shown {
        Some(state) => vec![("state", state.as_str())],
        None => vec![day, library, book],
    };
    asked.push(("cursor", &wanted.from));
    let DecisionPage {
        decisions,
        next_cursor,
    } = visitor.list::<ListDecisions>(&[], &asked).await?;
    let lead = if shown.is_none() {
        language.c_decisions_lead()
    } else {
        language.c_queue_lead()
    };
    Ok(
        HtmlPage::new(Here::Decisions, language.c_decisions(), lead).show(
            &visitor,
            &html! {
                (states(language, shown))
                @if shown.is_none() {
                    (search_by_book(language, ("day", &language.c_day(), day.1), library.1, book.1))
                }
                @if decisions.is_empty() {
                    @if next_cursor.is_none() { p { (nothing(language, shown)) } }
                }
                @else if shown.is_some() { (queue_table(language, &decisions)) }
                @else { (decisions_table(language, &decisions)) }
                @if let Some(next) = next_cursor {
                    (more(language, &further(shown, &wanted.sought(), &next)))
                }
                (terms(language, [
                    (language.c_term_filed(), language.c_term_filed_is()),
                    (language.c_appealed(), language.c_term_appealed_is()),
                ]))
            },
        ),
    )
}

/// The address of the next page.
fn further(shown: Option<CheckState>, sought: &[(&str, &str)], next: &str) -> String {
    let state = shown.map_or(ALL, CheckState::as_str);
    let page = with("/console/decisions", &[("state", state), ("from", next)]);
    with(&page, sought)
}

/// The parts of the page: checks by where they stand, and everything.
fn states(language: Language, shown: Option<CheckState>) -> Markup {
    let parts = CheckState::ALL.map(Some).into_iter().chain([None]);
    html! {
        div class="buttons" {
            @for part in parts {
                @let state = part.map_or(ALL, CheckState::as_str);
                a class="button" href=(with("/console/decisions", &[("state", state)]))
                    aria-current=[(part == shown).then_some("page")] { (state_name(language, part)) }
            }
        }
    }
}

fn state_name(language: Language, state: Option<CheckState>) -> String {
    match state {
        Some(CheckState::Open) => language.c_state_open(),
        Some(CheckState::Appealed) => language.c_state_appealed(),
        Some(CheckState::Decided) => language.c_state_decided(),
        Some(CheckState::Watched) => language.c_state_watched(),
        Some(CheckState::Clear) => language.c_state_clear(),
        None => language.c_state_all(),
    }
}

fn nothing(language: Language, shown: Option<CheckState>) -> String {
    match shown {
        Some(CheckState::Open | CheckState::Appealed) => language.c_queue_empty(),
        _ => language.c_nothing_found(),
    }
}

/// Filed checks as a table: what was checked comes first, for narrow screens.
fn queue_table(language: Language, checks: &[Decision]) -> Markup {
    let heads = [
        language.head_checked(),
        language.head_verdict(),
        language.head_when(),
        language.c_who(),
    ];
    let rows = html! {
        @for one in checks {
            tr {
                td {
                    (checked(one))
                    @if let Some(later) = &one.matched_later { br; small { (later_match(language, later)) } }
                }
                td { (outcome_of(language, one)) }
                td { (time(one.created_at)) }
                td { (clean(&one.actor)) }
            }
        }
    };
    table(&language.c_decisions(), &heads, &rows)
}

/// What was checked, with a link to the check.
fn checked(entry: &Decision) -> Markup {
    html! {
        a href=(path("/console/checks", [&entry.check])) {
            (clean(entry.name.as_deref().unwrap_or(&entry.check)))
        }
        @if let Some(case) = &entry.case { " (" (clean(case)) ")" }
    }
}

fn outcome_of(language: Language, entry: &Decision) -> Markup {
    let reason = entry.verdict_reason.unwrap_or(Reason::Match);
    outcome(language, Outcome::new(entry.verdict, reason))
}

/// The entries of a page as a table.
fn decisions_table(language: Language, decisions: &[Decision]) -> Markup {
    let heads = [
        language.head_when(),
        language.c_who(),
        language.c_entry(),
        language.head_checked(),
        language.head_verdict(),
        language.c_reason(),
    ];
    let rows = html! {
        @for one in decisions {
            tr {
                td { (time(one.created_at)) }
                td { (clean(&one.actor)) }
                td { (ruling(language, one.ruling)) }
                td { (checked(one)) }
                td { (outcome_of(language, one)) }
                td { @if let Some(reason) = &one.reason { (clean(reason)) } }
            }
        }
    };
    table(&language.c_decisions(), &heads, &rows)
}
