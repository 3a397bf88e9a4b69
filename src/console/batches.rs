//! Many files that are checked together: what became of each, and where to send those that are left.

use actix_web::http::Method;
use actix_web::web::{self, Path, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, html};

use super::At;
use super::check::{PUSH, failed_row, form, heads, row_of_decision, switch};
use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, more, table, time};
use super::visitor::{ApiCall, Visitor, path, with};
use lapidary_catalogue::api::{Batch, BatchFile, Batches};
use lapidary_language::Language;
use lapidary_operations::batches::{ListBatches, ShowBatch};
use lapidary_report::clean;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/batches", web::get().to(list))
        .route("/batches", web::post().to(make))
        .route("/batches/{id}", web::get().to(show));
}

/// Makes a batch for a script of the page, which then sends its files. The answer has its address.
async fn make(
    visitor: Visitor,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    let call = ApiCall::new(Method::POST, "/v1/batches").passing(&request, payload.into_inner());
    let answer = visitor.perform(call).await?;
    let batch: Batch = visitor.read(&answer)?;
    let place = path("/console/batches", [&batch.id]);
    Ok(HttpResponse::Ok().insert_header((PUSH, place)).finish())
}

async fn list(visitor: Visitor, at: At) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let page: Batches = visitor
        .list::<ListBatches>(&[], &[("cursor", &at.from)])
        .await?;
    let heads = [language.head_when(), language.c_progress()];
    let rows = html! {
        @for batch in &page.batches {
            tr {
                td { a href=(path("/console/batches", [&batch.id])) { (time(batch.created_at)) } }
                td { (progress(language, batch)) }
            }
        }
    };
    let title = HtmlPage::new(Here::Check, language.c_batches(), language.c_batches_lead());
    Ok(title.show(&visitor, &html! {
        @if page.batches.is_empty() { p { (language.c_nothing_found()) } }
        @else { (table(&language.c_batches(), &heads, &rows)) }
        @if let Some(next) = &page.next_cursor { (more(language, &with("/console/batches", &[("from", next)]))) }
    }))
}

async fn show(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let batch = visitor.call::<ShowBatch>(&[&id], ()).await?;
    let waiting = with(
        "/console/decisions",
        &[("state", "open"), ("batch", &batch.id)],
    );
    let rows = html! {
        @for file in &batch.files { (row(language, file)) }
    };
    let page = HtmlPage::new(Here::Check, language.c_several(), String::new());
    Ok(page.show(
        &visitor,
        &html! {
            p { (time(batch.created_at)) " · " (progress(language, &batch)) }
            progress max=(batch.total) value=(batch.checked) aria-label=(language.c_progress()) {}
            div class="buttons" {
                a class="button" href=(waiting) { (language.c_state_open()) }
                button type="button" data-csv="checks.csv" { (language.c_export()) }
                a class="button" href="/console/batches" { (language.c_batches()) }
            }
            @if batch.checked < batch.total {
                (switch(&visitor))
                (form(&visitor, Some(visitor.inside().max_body()), Some(&batch.id), &html! {
                    h2 { label for="file" { (language.c_files_left()) } }
                    input type="file" id="file" name="file" required;
                    p class="quiet" { (language.c_files_left_hint()) }
                }))
            }
            section id="table" { (table(&language.c_several(), &heads(language), &rows)) }
            section id="result" aria-live="polite" {}
        },
    ))
}

fn progress(language: Language, batch: &Batch) -> String {
    let done = language.c_batch_progress(batch.checked as u64, batch.total as u64);
    match batch.failed as u64 {
        0 => done,
        failed => format!("{done}, {}", language.c_batch_failed(failed)),
    }
}

fn row(language: Language, file: &BatchFile) -> Markup {
    let BatchFile {
        name,
        check,
        problem,
    } = file;
    match (check, problem) {
        (Some(check), _) => row_of_decision(language, name, check),
        (None, Some(problem)) => failed_row(language, name, problem),
        (None, None) => html! {
            tr data-name=(name) data-left { td { (clean(name)) } td colspan="3" { (language.c_not_yet()) } }
        },
    }
}
