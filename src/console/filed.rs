//! Filed checks: the report, what was decided, and the forms to decide.

use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Form, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

use super::check::CHECKS;
use super::decisions::said;
use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, download, main_button, see_other, size, time, token_field,
};
use super::visitor::{ApiAnswer, ApiCall, Visitor, path};
use lapidary_catalogue::api::{Decision, NewDecision, Ruling};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::decisions::{Decide, DeleteEvidence, ListDecisions, ShowDecision};
use lapidary_report::{Standing, clean, later_match, ruling, standing_of};

/// How many pages of checks of others to search for the next one to decide.
const PAGES_TO_SEARCH: usize = 3;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/checks/{id}", web::get().to(filed))
        .route("/checks/{id}", web::post().to(decide))
        .route("/checks/{id}/attach", web::post().to(attach))
        .route("/checks/{id}/{file}", web::get().to(export))
        .route("/checks/{id}/delete-text", web::post().to(delete_text))
        .route("/checks/{id}/undo", web::post().to(undo))
        .route("/checks/{id}/assign", web::post().to(assign));
}

/// What was decided about a check, and the form to decide more. The page around it stays as it is. What goes wrong is told
/// above the form, which keeps what was written.
pub(super) fn deciding(
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
                @if visitor.decides() { (ruling_fields(language)) } @else { (appeal_fields(language)) }
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
        (reason_field(language))
        div class="buttons" {
            button type="submit" class="main" accesskey="s" { (language.c_record()) }
            small class="quiet" { (language.c_access_keys()) }
        }
    }
}

fn appeal_fields(language: Language) -> Markup {
    html! {
        input type="hidden" name="ruling" value=(Ruling::Appealed.as_str());
        (reason_field(language))
        div class="buttons" {
            button type="submit" class="main" accesskey="s" { (language.c_appeal()) }
        }
    }
}

fn reason_field(language: Language) -> Markup {
    html! {
        label for="reason" { (language.c_reason()) }
        textarea id="reason" name="reason" rows="2" required maxlength="4000" {}
    }
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
pub(super) fn exports(language: Language, id: &str) -> Markup {
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
    download(&visitor, kind, file, body)
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
    let assignee = entry.assignee.as_deref();
    html! {
        @if visitor.decides() {
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
