//! Checks of texts and files, and the reports on them.

use actix_web::http::Method;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::{self, Form, Path, Payload, Query, ServiceConfig};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

use super::assets;
use super::decisions::{outcome_of, said};
use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, main_button, outcome, problem_told, see_other, size, table, terms,
    time, token_field,
};
use super::visitor::{ApiAnswer, ApiCall, Visitor, path, with};
use lapidary_catalogue::api::{Decision, NewDecision, Problem, Report, Ruling};
use lapidary_catalogue::permission::Permission;
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::decisions::{Decide, DeleteEvidence, ListDecisions, ShowDecision};
use lapidary_report::{
    Outcome, Standing, clean, later_match, ruling, standing_of, why_not_checked,
};

/// Tells htmx the address of what it shows.
pub(super) const PUSH: HeaderName = HeaderName::from_static("hx-push-url");
/// How many pages of checks of others to search for the next one to decide.
const PAGES_TO_SEARCH: usize = 3;
const CHECKS: &str = "/console/check";
/// The statuses of files that are not read.
const UNREADABLE: [u16; 3] = [413, 415, 422];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route(
        "/check",
        web::get().to(|visitor: Visitor| async move { page(&visitor) }),
    )
    .route("/check", web::post().to(check))
    .route("/checks/{id}", web::get().to(filed))
    .route("/checks/{id}", web::post().to(decide))
    .route("/checks/{id}/attach", web::post().to(attach))
    .route("/checks/{id}/{file}", web::get().to(export))
    .route("/checks/{id}/delete-text", web::post().to(delete_text))
    .route("/checks/{id}/undo", web::post().to(undo))
    .route("/checks/{id}/assign", web::post().to(assign));
}

/// The page on which texts are checked.
pub(super) fn page(visitor: &Visitor) -> HttpResponse {
    frame(
        visitor,
        &html! { section id="result" aria-live="polite" {} },
    )
}

fn frame(visitor: &Visitor, body: &Markup) -> HttpResponse {
    let language = visitor.language();
    let body = html! { (forms(visitor)) (body) (explained(language)) };
    HtmlPage::new(Here::Check, language.c_check(), language.c_check_lead())
        .with_report()
        .show(visitor, &body)
}

fn forms(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    html! {
        (switch(visitor))
        div class="two" {
            (form(visitor, Some(visitor.inside().max_body()), None, &html! {
                h2 { label for="file" { (language.c_files()) } }
                input type="file" id="file" name="file" required;
                p class="quiet" { (language.c_files_hint()) }
            }))
            (form(visitor, None, None, &html! {
                h2 { label for="text" { (language.c_text()) } }
                textarea id="text" name="file" rows="6" required {}
            }))
        }
        div class="buttons" {
            a class="button" href="/console/batches" { (language.c_batches()) }
            a class="button" href="/console/compare" { (language.c_compare()) }
        }
        section id="table" hidden {
            h2 { (language.c_several()) }
            div class="buttons" { button type="button" data-csv="checks.csv" { (language.c_export()) } }
            (table(&language.c_several(), &[], &html! {}))
        }
        template id="heads" {
            @for head in heads(language) { th scope="col" { button type="button" data-sort { (head) } } }
        }
    }
}

/// The switch with which the page computes the gems and sends only those. Scripts enable it.
pub(super) fn switch(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    let recipe = visitor.inside().portable_recipe();
    html! {
        div class="stays" {
            label class="choice" {
                input type="checkbox" role="switch" id="stays" disabled aria-describedby="stays-is"
                    data-worker=[recipe.as_ref().map(|_| assets::worker())] data-recipe=[&recipe];
                strong { (language.c_stays()) }
            }
            p id="stays-is" class="quiet" {
                @if recipe.is_some() { (language.c_stays_is()) } @else { (language.c_stays_not()) }
            }
        }
        template id="unread" {
            section id="result" class="problem" role="alert" {
                h2 { (language.c_unread()) }
                p class="detail" lang="en" {}
                button type="button" data-anyway { (language.c_anyway()) }
            }
        }
    }
}

fn explained(language: Language) -> Markup {
    terms(
        language,
        [
            (language.c_term_filed(), language.c_term_filed_is()),
            (language.c_term_gem(), language.c_term_gem_is()),
            (language.c_term_verdict(), language.c_term_verdict_is()),
            (language.head_covered(), language.c_term_covered_is()),
        ],
    )
}

pub(super) fn heads(language: Language) -> [String; 4] {
    [
        language.head_file(),
        language.head_verdict(),
        language.head_covered(),
        language.c_best_match(),
    ]
}

#[derive(Deserialize)]
struct CheckForm {
    /// Whether to file the check.
    #[serde(default)]
    record: bool,
    /// The name of the file, for a row of the table of several.
    row: Option<String>,
    /// The batch of the file.
    #[serde(default)]
    batch: String,
}

async fn check(
    visitor: Visitor,
    request: HttpRequest,
    wanted: Query<CheckForm>,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    // What the page sends in place of a text says itself what is asked.
    let is_json = request.content_type() == "application/json";
    // What is filed is shown later.
    let detail = wanted.record || wanted.row.is_none();
    let options = format!("/v1/checks?detail={detail}&record={}", wanted.record);
    let name = wanted.row.as_deref().filter(|_| wanted.record);
    let of_file = [
        ("name", name.unwrap_or_default()),
        ("batch", wanted.batch.as_str()),
    ];
    let asked = if is_json {
        "/v1/checks".to_owned()
    } else {
        with(&options, &of_file)
    };
    let call = ApiCall::new(Method::POST, &asked).passing(&request, payload.into_inner());
    match &wanted.row {
        None => result(&visitor, call).await,
        Some(name) => Ok(row(
            &visitor,
            name,
            visitor
                .perform(call)
                .await
                .and_then(|answer| visitor.read(&answer)),
        )),
    }
}

/// Makes a check and shows its report.
pub(super) async fn result(
    visitor: &Visitor,
    call: ApiCall<'_>,
) -> Result<HttpResponse, PageFailure> {
    let ApiAnswer { body, filed, .. } = visitor.perform(call.for_a_page()).await?;
    let report = String::from_utf8_lossy(&body).into_owned();
    let mut response = frame(
        visitor,
        &html! {
            section id="result" aria-live="polite" {
                div class="report" { (PreEscaped(report)) }
                (after(visitor, filed.as_deref()))
            }
        },
    );
    if let Some(Ok(place)) = filed.map(|id| HeaderValue::try_from(path("/console/checks", [&id]))) {
        response.headers_mut().insert(PUSH, place);
    }
    Ok(response)
}

/// What to do about a report.
fn after(visitor: &Visitor, filed: Option<&str>) -> Markup {
    let language = visitor.language();
    html! {
        div class="buttons" {
            button type="button" data-print { (language.c_print()) }
            @if let Some(id) = filed {
                a class="button" href=(path("/console/checks", [id])) { (language.c_link()) }
                (exports(language, id))
            }
        }
        @if let Some(id) = filed { (deciding(visitor, id, None, &[], None)) }
        @else { p class="quiet" { (language.c_not_filed()) } }
    }
}

/// What was decided about a check, and the form to decide more. The page around it stays as it is. What goes wrong is told
/// above the form, which keeps what was written.
fn deciding(
    visitor: &Visitor,
    id: &str,
    entry: Option<&Decision>,
    decisions: &[Decision],
    next: Option<&Decision>,
) -> Markup {
    let language = visitor.language();
    let place = path("/console/checks", [id]);
    html! {
        div id="deciding" aria-live="polite" {
            (rulings(visitor, entry, decisions))
            @if let Some(entry) = entry { (assigning(visitor, entry)) }
            @if let Some(next) = next {
                p { a class="button" rel="next" accesskey="n" autofocus[!decisions.is_empty()] href=(path("/console/checks", [&next.id])) {
                    (language.c_next_open())
                } }
            }
            div id="undecided" class="problem" role="alert" {}
            form method="post" action=(place) class="card" hx-post=(place) hx-target="#undecided"
                hx-select="#deciding, .problem > *" hx-swap="innerHTML" hx-disabled-elt="find button" {
                (token_field(visitor))
                (ruling_fields(language))
            }
        }
    }
}

fn ruling_fields(language: Language) -> Markup {
    html! {
        h2 { (language.c_decide()) }
        fieldset {
            legend { (language.c_ruling()) }
            @for (one, key) in [(Ruling::Accepted, Some("a")), (Ruling::Refused, Some("r")), (Ruling::Appealed, None)] {
                label class="choice" {
                    input type="radio" name="ruling" value=(one.as_str()) required accesskey=[key];
                    (ruling(language, one))
                }
            }
        }
        label for="reason" { (language.c_reason()) }
        textarea id="reason" name="reason" rows="2" required maxlength="4000" {}
        div class="buttons" {
            button type="submit" class="main" accesskey="s" { (language.c_record()) }
            small class="quiet" { (language.c_access_keys()) }
        }
    }
}

/// A file in the table of several.
fn row(visitor: &Visitor, name: &str, checked: Result<Report, PageFailure>) -> HttpResponse {
    let language = visitor.language();
    let row = match checked {
        Ok(report) => row_of_report(language, name, &report),
        Err(failure) => match failure.detail() {
            Some(problem) => failed_row(language, name, problem),
            None => return actix_web::ResponseError::error_response(&failure),
        },
    };
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .body(row.into_string())
}

/// A file that could not be checked, in the table of several.
pub(super) fn failed_row(language: Language, name: &str, problem: &Problem) -> Markup {
    html! { tr class="failed" data-name=(name) data-left {
        td data-value=(name) { (clean(name)) }
        td colspan="3" {
            @if UNREADABLE.contains(&problem.status) { (outcome(language, Outcome::Unreadable)) " " }
            (problem_told(language, problem))
        }
    } }
}

/// What was decided about a filed check.
async fn decisions_about(
    visitor: &Visitor,
    check: &Decision,
) -> Result<Vec<Decision>, PageFailure> {
    let asked = [("limit", "1000"), ("digest", check.digest.as_str())];
    let mut about = visitor.list::<ListDecisions>(&[], &asked).await?.decisions;
    about.retain(|one| one.check == check.id && one.id != check.id);
    Ok(about)
}

async fn filed(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    let entry = visitor.call::<ShowDecision>(&[&id], ()).await?;
    if entry.filed.is_none() {
        return Ok(see_other(&path("/console/checks", [&entry.check])));
    }
    let page = page_of(&id);
    show_filed(&visitor, &entry, ApiCall::new(Method::GET, &page)).await
}

/// Shows a filed check with the passages of a file that is the one that was checked.
async fn attach(
    visitor: Visitor,
    request: HttpRequest,
    id: Path<String>,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    let page = page_of(&id);
    let call = ApiCall::new(Method::POST, &page).passing(&request, payload.into_inner());
    let entry = visitor.call::<ShowDecision>(&[&id], ()).await?;
    show_filed(&visitor, &entry, call).await
}

async fn delete_text(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<DeleteEvidence>(&[&id], ()).await?;
    Ok(see_other(&path("/console/checks", [&id])))
}

/// Links to the files of a filed report.
fn exports(language: Language, id: &str) -> Markup {
    let files = [
        ("report.html", language.c_export_page()),
        ("passages.csv", language.c_export_passages()),
        ("report.json", language.c_export_json()),
    ];
    html! {
        @for (file, name) in files {
            a class="button" download href=(path("/console/checks", [id, file])) { (name) }
        }
    }
}

/// A filed report as a file.
async fn export(
    visitor: Visitor,
    asked: Path<(String, String)>,
) -> Result<HttpResponse, PageFailure> {
    let (id, file) = &*asked;
    let entry = path("/v1/decisions", [id]);
    let (call, kind) = match file.as_str() {
        "report.html" => (entry + "/page", "text/html; charset=utf-8"),
        "passages.csv" => (entry + "/passages", "text/csv; charset=utf-8"),
        "report.json" => (entry, "application/json"),
        _ => return Err(visitor.problem(ErrorCode::NotFound, StatusCode::NOT_FOUND, "")),
    };
    let ApiAnswer { body, .. } = visitor.perform(ApiCall::new(Method::GET, &call)).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let body = visitor.inside().body(body);
    Ok(HttpResponse::Ok()
        .content_type(kind)
        .insert_header((
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{file}\""),
        ))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(body.map_err(|problem| visitor.failed(problem))?))
}

fn page_of(id: &str) -> String {
    path("/v1/decisions", [id]) + "/page"
}

/// Shows a filed check. The call answers with its report as a part of a page.
async fn show_filed(
    visitor: &Visitor,
    entry: &Decision,
    call: ApiCall<'_>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let ApiAnswer { body, .. } = visitor.perform(call.for_a_page()).await?;
    let report = String::from_utf8_lossy(&body);
    let decisions = decisions_about(visitor, entry).await?;
    let next = next_open(visitor, &entry.id).await?;
    let name = entry
        .name
        .as_deref()
        .map_or_else(|| language.name_text(), clean);
    let page = HtmlPage::new(Here::Decisions, language.check_of(&name), String::new())
        .with_report()
        .untitled();
    Ok(page.show(visitor, &html! {
        section id="result" {
            div class="report" { (PreEscaped(report)) }
            p class="quiet" { (language.c_filed_by(&clean(&entry.actor))) " " (time(entry.created_at)) "." }
            @if let Some(until) = entry.watch_expires_at {
                p class="quiet" { (language.c_watched_until(&until.strftime("%Y-%m-%d").to_string())) }
            }
            div class="buttons" {
                button type="button" data-print { (language.c_print()) }
                (exports(language, &entry.id))
                a class="button" href=(path("/console/checks", [&entry.id, "links"])) { (language.c_links()) }
                a class="button" href=(CHECKS) { (language.c_check_another()) }
            }
            (evidence(visitor, entry))
            (deciding(visitor, &entry.id, Some(entry), &decisions, next.as_ref()))
        }
    }))
}

/// What becomes of the text of a filed check: how long it is kept, or how to show its passages without it.
fn evidence(visitor: &Visitor, entry: &Decision) -> Markup {
    let language = visitor.language();
    let place = path("/console/checks", [&entry.id]);
    if let Some(text) = entry.text {
        let until = text.expires_at.strftime("%Y-%m-%d").to_string();
        return html! {
            p class="quiet" { (language.c_text_kept(&until)) }
            @if visitor.is_admin() || visitor.is(&entry.actor) {
                (button_to(visitor, &(place + "/delete-text"), &language.c_delete_text(), Some(&language.c_sure_delete_text())))
            }
        };
    }
    let (place, most) = (place + "/attach", visitor.inside().max_body());
    let too_large = language.c_too_large(&size(language, most as u64));
    html! {
        @if is_of_text(entry) {
            h2 { (language.c_attach()) }
            p { (language.c_text_gone()) " " (language.c_attach_hint()) }
            div class="two" {
                form method="post" enctype="multipart/form-data" action=(place) class="card" data-max=(most)
                    data-too-large=(too_large) {
                    (token_field(visitor))
                    label for="file" { (language.head_file()) }
                    input type="file" id="file" name="file" required;
                    (main_button(&language.c_attach_do()))
                }
                form method="post" enctype="multipart/form-data" action=(place) class="card" {
                    (token_field(visitor))
                    label for="text" { (language.c_text()) }
                    textarea id="text" name="file" rows="2" required {}
                    (main_button(&language.c_attach_do()))
                }
            }
        }
    }
}

/// Whether a text was checked, and not only gems.
fn is_of_text(entry: &Decision) -> bool {
    entry.filed.as_ref().is_some_and(|filed| {
        let mut spans = filed.report.matches.iter().flat_map(|found| &found.spans);
        filed.bytes.is_some() || spans.any(|span| span.query.bytes.is_some())
    })
}

/// Who is to decide, and the forms to take the check or to give it back.
fn assigning(visitor: &Visitor, entry: &Decision) -> Markup {
    let language = visitor.language();
    let place = path("/console/checks", [&entry.id, "assign"]);
    let own = visitor.actor().to_string();
    let decides = visitor.is_admin() || visitor.may(Permission::Review);
    let assignee = entry.assignee.as_deref();
    html! {
        @if decides {
            form method="post" action=(place) class="buttons" {
                (token_field(visitor))
                span { (language.c_assignee()) ": " (clean(assignee.unwrap_or(&language.c_to_nobody()))) }
                @if assignee != Some(own.as_str()) {
                    button type="submit" name="assignee" value=(own) { (language.c_take()) }
                }
                @if assignee.is_some() {
                    button type="submit" name="assignee" value="" { (language.c_give_back()) }
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct AssignForm {
    assignee: String,
}

async fn assign(
    visitor: Visitor,
    id: Path<String>,
    to: Form<AssignForm>,
) -> Result<HttpResponse, PageFailure> {
    let assignee = Some(to.into_inner().assignee);
    let new = NewDecision {
        check: id.to_string(),
        ruling: Ruling::Assigned,
        reason: String::new(),
        assignee: assignee.filter(|assignee| !assignee.is_empty()),
    };
    visitor.call::<Decide>(&[], new).await?;
    Ok(see_other(&path("/console/checks", [&id])))
}

async fn undo(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    let new = NewDecision {
        check: id.to_string(),
        ruling: Ruling::Withdrawn,
        reason: String::new(),
        assignee: None,
    };
    visitor.call::<Decide>(&[], new).await?;
    Ok(see_other(&(path("/console/checks", [&id]) + "#decisions")))
}

/// What was decided about a check, with the way back for whoever made the decision that holds.
fn rulings(visitor: &Visitor, entry: Option<&Decision>, decisions: &[Decision]) -> Markup {
    let language = visitor.language();
    let holds = entry.and_then(|entry| entry.decision_id.as_ref());
    html! {
        section id="decisions" {
            h2 { (language.c_decisions()) }
            @if decisions.is_empty() { p { (language.c_no_decisions_yet()) } }
            @for one in decisions {
                article class="card" {
                    p { strong { (said(language, one)) } " · " (time(one.created_at)) " · " (clean(&one.actor)) }
                    @if let Some(later) = &one.matched_later { p { (later_match(language, later)) } }
                    @if let Some(reason) = &one.reason { p { (clean(reason)) } }
                    @if holds == Some(&one.id) && visitor.is(&one.actor) {
                        (button_to(visitor, &path("/console/checks", [&one.check, "undo"]), &language.c_undo(), None))
                    }
                }
            }
        }
    }
}

#[derive(Deserialize, Serialize)]
struct Decided {
    ruling: Ruling,
    reason: String,
}

async fn decide(
    visitor: Visitor,
    id: Path<String>,
    decided: Form<Decided>,
) -> Result<HttpResponse, PageFailure> {
    let Form(Decided { ruling, reason }) = decided;
    let new = NewDecision {
        check: id.to_string(),
        ruling,
        reason,
        assignee: None,
    };
    visitor.call::<Decide>(&[], new).await?;
    if !visitor.is_by_script() {
        return Ok(see_other(&(path("/console/checks", [&id]) + "#decisions")));
    }
    let mut response = HttpResponse::Ok();
    response.content_type("text/html; charset=utf-8");
    // It is recorded: a failure to show that must not look like one to record it.
    let Ok((entry, decisions, next)) = decided_about(&visitor, &id).await else {
        let place = path("/console/checks", [&id]);
        return Ok(response.insert_header(("hx-redirect", place)).finish());
    };
    Ok(response
        .insert_header(("hx-retarget", "#deciding"))
        .insert_header(("hx-reswap", "outerHTML"))
        .body(
            html! {
                (deciding(&visitor, &id, Some(&entry), &decisions, next.as_ref()))
                (standing(visitor.language(), &entry, &decisions))
            }
            .into_string(),
        ))
}

/// Where a check stands, for the head of its report on the page that the decision was sent from.
fn standing(language: Language, entry: &Decision, decisions: &[Decision]) -> Markup {
    let standing = entry.state.map(|state| Standing {
        state,
        last: decisions
            .iter()
            .find(|one| Some(&one.id) == entry.decision_id.as_ref()),
        later: entry.matched_later.as_ref(),
    });
    html! {
        @if let (Some(standing), Some(filed)) = (standing, &entry.filed) {
            div hx-swap-oob="innerHTML:#standing" {
                (standing_of(language, &filed.report, &standing))
            }
        }
    }
}

/// The filed check with this id, what was decided about it, and the next one to decide.
async fn decided_about(
    visitor: &Visitor,
    id: &str,
) -> Result<(Decision, Vec<Decision>, Option<Decision>), PageFailure> {
    let entry = visitor.call::<ShowDecision>(&[id], ()).await?;
    let decisions = decisions_about(visitor, &entry).await?;
    Ok((entry, decisions, next_open(visitor, id).await?))
}

/// The check to decide after this one: the next older one that waits for a decision, or the newest.
async fn next_open(visitor: &Visitor, id: &str) -> Result<Option<Decision>, PageFailure> {
    for first in [id, ""] {
        let mut cursor = first.to_owned();
        // A page may be empty although more follow.
        for _ in 0..PAGES_TO_SEARCH {
            let asked = [("state", "open"), ("limit", "2"), ("cursor", &cursor)];
            let page = visitor.list::<ListDecisions>(&[], &asked).await?;
            let mut waiting = page.decisions.into_iter();
            if let Some(next) = waiting.find(|one| one.id != id) {
                return Ok(Some(next));
            }
            let Some(next) = page.next_cursor else { break };
            cursor = next;
        }
    }
    Ok(None)
}

fn row_of_report(language: Language, name: &str, report: &Report) -> Markup {
    let best = report
        .matches
        .iter()
        .find(|found| found.informational.is_none());
    let best = best.map(|best| best.book.title.as_deref().unwrap_or(&best.book.id));
    html! { tr data-name=(name) {
        td data-value=(name) {
            @match &report.filed {
                Some(id) => a href=(path("/console/checks", [id])) { (clean(name)) },
                None => (clean(name)),
            }
            @if report.text_kept == Some(false) { br; small { (language.text_not_kept()) } }
        }
        td data-value=(Outcome::of(report) as u8) {
            (outcome(language, Outcome::of(report)))
            @if let Some(why) = why_not_checked(language, report) { ": " (why) }
        }
        (found_cells(language, report.covered.filter(|_| report.is_answer()), best))
    } }
}

/// A file whose check was filed before, in the table of several.
pub(super) fn row_of_decision(language: Language, name: &str, check: &Decision) -> Markup {
    let best = check.best_match.as_ref();
    let best = best.map(|best| best.title.as_deref().unwrap_or(&best.id));
    html! { tr data-name=(name) {
        td data-value=(name) { a href=(path("/console/checks", [&check.id])) { (clean(name)) } }
        td { (outcome_of(language, check)) }
        (found_cells(language, check.covered.filter(|_| check.is_about_answer()), best))
    } }
}

fn found_cells(language: Language, covered: Option<f64>, best: Option<&str>) -> Markup {
    html! {
        td data-value=[covered] { @if let Some(covered) = covered { (language.percent(covered)) } }
        td { @if let Some(best) = best { (clean(best)) } }
    }
}

/// A form that checks and files, perhaps what is left of a batch. One for files says how large they may be.
pub(super) fn form(
    visitor: &Visitor,
    most: Option<usize>,
    batch: Option<&str>,
    fields: &Markup,
) -> Markup {
    let language = visitor.language();
    let filing = format!("{CHECKS}?record=true");
    let too_large = most.map(|most| language.c_too_large(&size(language, most as u64)));
    html! {
        form method="post" enctype="multipart/form-data" action=(filing) hx-post=(filing) hx-encoding="multipart/form-data"
            hx-target="#result" hx-select="#result" hx-swap="outerHTML show:top" hx-disabled-elt="find button"
            class="card" data-check data-files[most.is_some()] data-batch=[batch] data-max=[most] data-too-large=[too_large] {
            (token_field(visitor))
            (fields)
            div class="buttons" {
                button type="submit" class="main" { (language.c_check_and_file()) }
                @if batch.is_none() { button type="submit" formaction=(CHECKS) { (language.c_check_only()) } }
                progress max="1" value="0" hidden aria-label=(language.c_progress()) {}
            }
        }
    }
}
