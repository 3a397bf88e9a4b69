//! Checks of texts and files: the forms, the report, and the table of several.

use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::{self, Payload, Query, ServiceConfig};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::assets;
use super::decisions::outcome_of;
use super::failure::PageFailure;
use super::filed::{deciding, exports};
use super::layout::{Here, HtmlPage, outcome, problem_told, size, table, terms, token_field};
use super::visitor::{ApiAnswer, ApiCall, Visitor, path, with};
use lapidary_catalogue::api::{Decision, Problem, Report};
use lapidary_language::Language;
use lapidary_report::{Outcome, clean, why_not_checked};

/// Tells htmx the address of what it shows.
pub(super) const PUSH: HeaderName = HeaderName::from_static("hx-push-url");
pub(super) const CHECKS: &str = "/console/check";
/// The statuses of files that are not read.
const UNREADABLE: [u16; 3] = [413, 415, 422];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route(
        "/check",
        web::get().to(|visitor: Visitor| async move { page(&visitor) }),
    )
    .route("/check", web::post().to(check));
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct CheckForm {
    /// Whether to file the check.
    record: bool,
    /// The name of the file, for a row of the table of several.
    row: Option<String>,
    /// The batch of the file.
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
