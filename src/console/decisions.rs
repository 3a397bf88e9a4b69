//! Filed checks as a queue of those who decide, and all entries about them.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Path, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;

use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, download, more, outcome, problem_told, search_by_book, table, terms, time,
    token_field,
};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{CheckState, Decision, DecisionPage, NewDecision, Problem, Ruling};
use lapidary_checking::Reason;
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::decisions::{Decide, ListDecisions};
use lapidary_report::{
    Outcome, check_state, checks_csv, checks_xlsx, clean, later_match, rights_word, ruling,
};
use lapidary_store::Rights;

/// Makes a file for spreadsheets of checks.
type MakeFile = fn(Language, &[Decision]) -> Vec<u8>;

const QUEUE: &str = "/console/decisions";
/// Everything, in place of a state.
const ALL: &str = "all";
/// In place of an assignee: what is assigned to nobody.
const NOBODY: &str = "nobody";
/// In place of a ruling: to give back what was taken.
const GIVEN_BACK: &str = "given_back";
/// How many checks are decided at once: those of a page.
const MOST_AT_ONCE: usize = 100;
/// How many checks an export has.
const MOST_EXPORTED: usize = 10_000;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/decisions", web::get().to(list))
        .route("/decisions", web::post().to(decide_several))
        .route("/decisions/{file}", web::get().to(export));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DecisionSearch {
    /// A state of filed checks, or [`ALL`].
    state: String,
    day: Option<String>,
    library: Option<String>,
    book: Option<String>,
    q: String,
    verdict: String,
    actor: String,
    assignee: String,
    /// In percent.
    share: String,
    batch: String,
    from: String,
}

impl DecisionSearch {
    /// The conditions on entries, if not those in a state are shown.
    fn sought(&self) -> [(&'static str, &str); 3] {
        let [day, library, book] = [&self.day, &self.library, &self.book]
            .map(|value| value.as_deref().unwrap_or_default().trim());
        [("day", day), ("library", library), ("book", book)]
    }

    /// What is shown. What waits for a decision comes first.
    fn shown(&self) -> Shown {
        // A search for nothing shows everything, too.
        if self.day.is_some() || self.book.is_some() {
            return Shown::Entries;
        }
        match self.state.as_str() {
            ALL if self.is_narrowed() => Shown::Checks(None),
            ALL => Shown::Entries,
            state => Shown::Checks(Some(CheckState::named(state).unwrap_or(CheckState::Open))),
        }
    }

    /// The conditions on the checks in a state, as the form has them.
    fn conditions(&self) -> [(&'static str, &str); 7] {
        [
            ("q", self.q.trim()),
            ("verdict", &self.verdict),
            (
                "library",
                self.library.as_deref().unwrap_or_default().trim(),
            ),
            ("actor", self.actor.trim()),
            ("assignee", &self.assignee),
            ("share", self.share.trim()),
            ("batch", &self.batch),
        ]
    }

    fn is_narrowed(&self) -> bool {
        self.conditions().iter().any(|(_, value)| !value.is_empty())
    }

    /// The address of what is shown.
    fn address(&self, page: &str) -> String {
        let conditions: &[(&str, &str)] = match self.shown() {
            Shown::Entries => &self.sought(),
            Shown::Checks(_) => &self.conditions(),
        };
        with(&with(page, &[("state", self.shown().part())]), conditions)
    }

    /// What the API is asked.
    fn asked(&self) -> Vec<(&'static str, String)> {
        let Shown::Checks(state) = self.shown() else {
            return self
                .sought()
                .map(|(name, value)| (name, value.to_owned()))
                .into();
        };
        let state = state.map_or("", CheckState::as_str).to_owned();
        let mut asked = vec![("state", state)];
        for (name, value) in self.conditions() {
            asked.push(match (name, value.parse::<f64>()) {
                ("share", Ok(percent)) => ("min_covered", (percent / 100.0).to_string()),
                ("share", Err(_)) => ("min_covered", String::new()),
                ("actor", _) => (name, actor_of(value)),
                _ => (name, value.to_owned()),
            });
        }
        asked
    }

    /// A page of what is sought.
    async fn page(
        &self,
        visitor: &Visitor,
        cursor: &str,
        limit: &str,
    ) -> Result<DecisionPage, PageFailure> {
        let asked = self.asked();
        let mut asked: Vec<(&str, &str)> = asked
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        asked.extend([("cursor", cursor), ("limit", limit)]);
        visitor.list::<ListDecisions>(&[], &asked).await
    }
}

/// What the page shows.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// Filed checks, in one state or in any.
    Checks(Option<CheckState>),
    /// All entries about them.
    Entries,
}

impl Shown {
    /// The part of the page that it belongs to.
    fn part(self) -> &'static str {
        match self {
            Self::Checks(Some(state)) => state.as_str(),
            Self::Checks(None) | Self::Entries => ALL,
        }
    }
}

/// An actor as the API names them: people write the name of a key.
fn actor_of(written: &str) -> String {
    match written {
        "" | "local" | "anonymous" => written.to_owned(),
        key if key.starts_with("key:") => key.to_owned(),
        name => format!("key:{name}"),
    }
}

async fn list(
    visitor: Visitor,
    wanted: Query<DecisionSearch>,
) -> Result<HttpResponse, PageFailure> {
    show(&visitor, &wanted, &html! {}).await
}

/// The page, below what was just done.
async fn show(
    visitor: &Visitor,
    wanted: &DecisionSearch,
    done: &Markup,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let shown = wanted.shown();
    let DecisionPage {
        decisions,
        next_cursor,
    } = wanted.page(visitor, &wanted.from, "").await?;
    let lead = match shown {
        Shown::Entries => language.c_decisions_lead(),
        Shown::Checks(_) => language.c_queue_lead(),
    };
    let page = HtmlPage::new(Here::Decisions, language.c_decisions(), lead);
    let body = html! {
        (done)
        (states(language, shown))
        @match shown {
            Shown::Checks(state) => {
                (filters(visitor, wanted, state))
                @if !decisions.is_empty() { (queue(visitor, wanted, state, &decisions)) }
            }
            Shown::Entries => {
                (search_of_checks(language))
                @let [day, library, book] = wanted.sought();
                (search_by_book(language, ("day", &language.c_day(), day.1), library.1, book.1))
                @if !decisions.is_empty() { (decisions_table(language, &decisions)) }
            }
        }
        @if decisions.is_empty() {
            p { @if next_cursor.is_none() { (nothing(language, wanted)) } @else { (language.c_search_on()) } }
        }
        @if let Some(next) = next_cursor {
            (more(language, &with(&wanted.address(QUEUE), &[("from", &next)])))
        }
        (terms(language, [
            (language.c_term_filed(), language.c_term_filed_is()),
            (language.c_appealed(), language.c_term_appealed_is()),
        ]))
    };
    Ok(page.show(visitor, &body))
}

/// The parts of the page: checks by where they stand, and everything.
fn states(language: Language, shown: Shown) -> Markup {
    let parts = CheckState::ALL.map(Some).into_iter().chain([None]);
    html! {
        div class="buttons" {
            @for part in parts {
                @let state = part.map_or(ALL, CheckState::as_str);
                a class="button" href=(with(QUEUE, &[("state", state)]))
                    aria-current=[(state == shown.part()).then_some("page")] {
                    (part.map_or_else(|| language.c_state_all(), |part| check_state(language, part)))
                }
            }
        }
    }
}

fn nothing(language: Language, wanted: &DecisionSearch) -> String {
    match wanted.shown() {
        Shown::Checks(Some(CheckState::Open | CheckState::Appealed)) if !wanted.is_narrowed() => {
            language.c_queue_empty()
        }
        _ => language.c_nothing_found(),
    }
}

/// The form that narrows the queue. Its address can be kept.
fn filters(visitor: &Visitor, wanted: &DecisionSearch, state: Option<CheckState>) -> Markup {
    let language = visitor.language();
    let library = wanted.library.as_deref().unwrap_or_default();
    html! {
        form method="get" class="card search" {
            input type="hidden" name="state" value=(Shown::Checks(state).part());
            @if !wanted.batch.is_empty() { input type="hidden" name="batch" value=(wanted.batch); }
            div { label for="q" { (language.c_queue_words()) } input type="search" id="q" name="q" value=(wanted.q) maxlength="200"; }
            div { label for="verdict" { (language.head_verdict()) } (choice_of_verdict(language, &wanted.verdict)) }
            div { label for="library" { (language.c_library()) } input type="search" id="library" name="library" value=(library); }
            div { label for="share" { (language.c_least_share()) }
                input type="number" id="share" name="share" min="0" max="100" step="any" value=(wanted.share); }
            div { label for="actor" { (language.c_filed_by_whom()) } input type="search" id="actor" name="actor" value=(wanted.actor); }
            div { label for="assignee" { (language.c_assignee()) } (choice_of_assignee(visitor, &wanted.assignee)) }
            button type="submit" class="main" { (language.c_search()) }
        }
        @if !wanted.batch.is_empty() {
            p { a href=(path("/console/batches", [&wanted.batch])) { (language.c_of_batch()) } }
        }
    }
}

/// The form that looks for checks in all states.
fn search_of_checks(language: Language) -> Markup {
    html! {
        form method="get" class="card search" {
            input type="hidden" name="state" value=(ALL);
            div { label for="q" { (language.c_queue_words()) } input type="search" id="q" name="q" maxlength="200"; }
            button type="submit" class="main" { (language.c_search()) }
        }
    }
}

fn choice_of_verdict(language: Language, chosen: &str) -> Markup {
    html! {
        select id="verdict" name="verdict" {
            option value="" { (language.c_any()) }
            @for one in Rights::ALL {
                option value=(one.as_str()) selected[one.as_str() == chosen] { (rights_word(language, one)) }
            }
        }
    }
}

fn choice_of_assignee(visitor: &Visitor, chosen: &str) -> Markup {
    let language = visitor.language();
    let own = visitor.actor().to_string();
    let is_other = ![NOBODY, &own, ""].contains(&chosen);
    html! {
        select id="assignee" name="assignee" {
            option value="" { (language.c_any()) }
            option value=(own) selected[chosen == own] { (language.c_to_me()) }
            option value=(NOBODY) selected[chosen == NOBODY] { (language.c_to_nobody()) }
            @if is_other { option value=(chosen) selected { (clean(chosen)) } }
        }
    }
}

/// The checks, and what to do with those that are chosen.
fn queue(
    visitor: &Visitor,
    wanted: &DecisionSearch,
    state: Option<CheckState>,
    checks: &[Decision],
) -> Markup {
    let language = visitor.language();
    html! {
        form method="post" action=(with(&wanted.address(QUEUE), &[("from", &wanted.from)])) {
            (token_field(visitor))
            (queue_table(language, checks))
            div class="card" {
                label class="choice" hidden { input type="checkbox" data-all="check"; (language.c_choose_all()) }
                label for="reason" { (language.c_reason()) }
                textarea id="reason" name="reason" rows="2" maxlength="4000" {}
                div class="buttons" { (rulings_of_several(visitor, state)) }
            }
        }
        div class="buttons" {
            @for (file, name) in [("queue.csv", language.c_export()), ("queue.xlsx", language.c_export_xlsx())] {
                a class="button" download href=(wanted.address(&path(QUEUE, [file]))) { (name) }
            }
        }
    }
}

/// The buttons for the checks that are chosen.
fn rulings_of_several(visitor: &Visitor, state: Option<CheckState>) -> Markup {
    let language = visitor.language();
    let accept = (Ruling::Accepted.as_str(), language.c_accept());
    let refuse = (Ruling::Refused.as_str(), language.c_refuse());
    let appeal = (Ruling::Appealed.as_str(), language.c_appeal());
    let undo = (Ruling::Withdrawn.as_str(), language.c_undo());
    let take = (Ruling::Assigned.as_str(), language.c_take());
    let give_back = (GIVEN_BACK, language.c_give_back());
    let buttons = match (visitor.decides(), state) {
        (false, _) => vec![appeal],
        (true, None | Some(CheckState::Decided | CheckState::Appealed)) => {
            vec![accept, refuse, undo, take, give_back]
        }
        (true, _) => vec![accept, refuse, take, give_back],
    };
    html! {
        @for (value, name) in buttons { button type="submit" name="ruling" value=(value) { (name) } }
    }
}

/// Filed checks as a table: what was checked comes first, for narrow screens.
fn queue_table(language: Language, checks: &[Decision]) -> Markup {
    let heads = [
        language.head_checked(),
        language.head_verdict(),
        language.head_covered(),
        language.c_best_match(),
        language.head_when(),
        language.c_who(),
        language.c_assignee(),
    ];
    let rows = html! {
        @for one in checks {
            tr {
                td {
                    div class="choice" {
                        input type="checkbox" name="check" value=(one.check) aria-label=(name_of(one));
                        span { (checked(one)) }
                    }
                    @if let Some(later) = &one.matched_later { small { (later_match(language, later)) } }
                }
                td { (outcome_of(language, one)) }
                td { @if let Some(covered) = one.covered.filter(|_| one.is_about_answer()) { (language.percent(covered)) } }
                td { @if let Some(best) = &one.best_match { (clean(best.title.as_deref().unwrap_or(&best.id))) } }
                td { (time(one.created_at)) }
                td { (clean(&one.actor)) }
                td { @if let Some(assignee) = &one.assignee { (clean(assignee)) } }
            }
        }
    };
    table(&language.c_decisions(), &heads, &rows)
}

fn name_of(entry: &Decision) -> String {
    clean(entry.name.as_deref().unwrap_or(&entry.check))
}

/// What was checked, with a link to the check.
fn checked(entry: &Decision) -> Markup {
    html! {
        a href=(path("/console/checks", [&entry.check])) { (name_of(entry)) }
        @if let Some(case) = &entry.case { " (" (clean(case)) ")" }
    }
}

pub(super) fn outcome_of(language: Language, entry: &Decision) -> Markup {
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
                td { (said(language, one)) }
                td { (checked(one)) }
                td { (outcome_of(language, one)) }
                td {
                    @if let Some(reason) = &one.reason { (clean(reason)) }
                    @if let Some(later) = &one.matched_later { (later_match(language, later)) }
                }
            }
        }
    };
    table(&language.c_decisions(), &heads, &rows)
}

/// What an entry says, in a word or two.
pub(super) fn said(language: Language, entry: &Decision) -> String {
    let word = ruling(language, entry.ruling);
    match &entry.assignee {
        Some(assignee) if entry.ruling == Ruling::Assigned => {
            format!("{word}: {}", clean(assignee))
        }
        None if entry.ruling == Ruling::Assigned => {
            format!("{word}: {}", language.c_to_nobody())
        }
        _ => word,
    }
}

/// What is to be done with several checks.
struct SeveralDecisions {
    checks: Vec<String>,
    ruling: String,
    reason: String,
}

impl SeveralDecisions {
    /// From the fields of a form, of which one has as many values as there are checks.
    fn of(fields: Vec<(String, String)>) -> Self {
        let (mut checks, mut ruling, mut reason) = (Vec::new(), String::new(), String::new());
        for (name, value) in fields {
            match name.as_str() {
                "check" if checks.len() < MOST_AT_ONCE => checks.push(value),
                "ruling" => ruling = value,
                "reason" => reason = value,
                _ => {}
            }
        }
        Self {
            checks,
            ruling,
            reason,
        }
    }

    /// The decision about a check; `None` if the form names no ruling that a person makes.
    fn about(&self, visitor: &Visitor, check: &str) -> Option<NewDecision> {
        let ruling = match self.ruling.as_str() {
            GIVEN_BACK => Ruling::Assigned,
            word => Ruling::of_a_person(word)?,
        };
        let is_taken = self.ruling == Ruling::Assigned.as_str();
        Some(NewDecision {
            check: check.to_owned(),
            ruling,
            reason: self.reason.clone(),
            assignee: is_taken.then(|| visitor.actor().to_string()),
        })
    }
}

async fn decide_several(
    visitor: Visitor,
    wanted: Query<DecisionSearch>,
    fields: Form<Vec<(String, String)>>,
) -> Result<HttpResponse, PageFailure> {
    let several = SeveralDecisions::of(fields.into_inner());
    let (mut recorded, mut failed) = (Vec::new(), Vec::new());
    for check in &several.checks {
        let Some(new) = several.about(&visitor, check) else {
            return Err(visitor.problem(
                ErrorCode::BadDecision,
                StatusCode::UNPROCESSABLE_ENTITY,
                "",
            ));
        };
        match visitor.call::<Decide>(&[], new).await {
            Ok(decision) => recorded.push(decision),
            Err(failure) => match failure.detail() {
                Some(problem) => failed.push(problem.clone()),
                None => return Err(failure),
            },
        }
    }
    let done = told(&visitor, &wanted, &recorded, &failed);
    show(&visitor, &wanted, &done).await
}

/// What was recorded, with the way back, and what was not.
fn told(
    visitor: &Visitor,
    wanted: &DecisionSearch,
    recorded: &[Decision],
    failed: &[Problem],
) -> Markup {
    let language = visitor.language();
    let is_decided = |one: &&Decision| !matches!(one.ruling, Ruling::Assigned | Ruling::Withdrawn);
    let decided: Vec<&Decision> = recorded.iter().filter(is_decided).collect();
    html! {
        div role="status" {
            @if recorded.is_empty() && failed.is_empty() { p class="notice" { (language.c_nothing_chosen()) } }
            @if !recorded.is_empty() {
                form method="post" action=(wanted.address(QUEUE)) class="notice buttons" {
                    (token_field(visitor))
                    span { (language.c_recorded(recorded.len() as u64)) }
                    @for one in &decided { input type="hidden" name="check" value=(one.check); }
                    @if !decided.is_empty() {
                        button type="submit" name="ruling" value=(Ruling::Withdrawn.as_str()) accesskey="u" { (language.c_undo()) }
                    }
                }
            }
            @if let Some(problem) = failed.first() {
                p class="problem" { (language.c_not_recorded(failed.len() as u64)) " " (problem_told(language, problem)) }
            }
        }
    }
}

/// The checks that are sought, as a file for spreadsheets.
async fn export(
    visitor: Visitor,
    file: Path<String>,
    wanted: Query<DecisionSearch>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let (as_file, kind): (MakeFile, _) = match file.as_str() {
        "queue.csv" => (checks_csv, "text/csv; charset=utf-8"),
        "queue.xlsx" => (
            checks_xlsx,
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ),
        _ => return Err(visitor.problem(ErrorCode::NotFound, StatusCode::NOT_FOUND, "")),
    };
    let (mut checks, mut more) = (Vec::new(), Some(String::new()));
    while let Some(cursor) = more.take_if(|_| checks.len() < MOST_EXPORTED) {
        let page = wanted.page(&visitor, &cursor, "1000").await?;
        checks.extend(page.decisions);
        more = page.next_cursor;
    }
    let is_cut = more.is_some() || checks.len() > MOST_EXPORTED;
    checks.truncate(MOST_EXPORTED);
    // Whoever opens the file later sees that there were more.
    let name = match file.as_str() {
        whole if !is_cut => whole.to_owned(),
        part => format!("newest-{MOST_EXPORTED}-of-{part}"),
    };
    download(&visitor, kind, &name, as_file(language, &checks))
}
