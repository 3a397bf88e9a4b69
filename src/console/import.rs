//! Tables of metadata: chosen, shown as what they would change, and then applied, together with the files of new books.
//!
//! The server keeps nothing in between: the page that shows what would change has the rows in its form.

use actix_web::http::Method;
use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::{self, Payload, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, html};

use super::add::AddTarget;
use super::catalogue::to_library;
use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, main_button, problem_told, size, table, token_field};
use super::visitor::{ApiCall, Visitor, lines_of, path, with};
use lapidary_catalogue::api::{FieldChange, ImportAnswer, RowOutcome};
use lapidary_language::Language;
use lapidary_report::{clean, rights_word};

/// A workbook whose first sheet has only the names of the columns. The second one has examples.
const TEMPLATE: &[u8] = include_bytes!("assets/books.xlsx");
const WORKBOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/import", web::get().to(page))
        .route("/import", web::post().to(preview))
        .route("/import/apply", web::post().to(apply))
        .route("/import/template.xlsx", web::get().to(template));
}

async fn page(visitor: Visitor, to: Query<AddTarget>) -> HttpResponse {
    let language = visitor.language();
    let title = language.c_import_to(&clean(&to.library));
    HtmlPage::new(Here::Catalogue, title, language.c_import_lead()).show(
        &visitor,
        &html! {
            (form(&visitor, &to.place("/console/import"), true, &html! {
                label for="file" { (language.c_table()) }
                input type="file" id="file" name="file" required;
                (main_button(&language.c_preview()))
            }))
            p { (language.c_template_is()) " " a href="/console/import/template.xlsx" { (language.c_template()) } }
        },
    )
}

/// A form that goes to this place, with files whose size is limited.
fn form(visitor: &Visitor, place: &str, has_files: bool, fields: &Markup) -> Markup {
    let language = visitor.language();
    let max = has_files.then(|| visitor.inside().max_body());
    let too_large = max.map(|max| language.c_too_large(&size(language, max as u64)));
    html! {
        form method="post" enctype="multipart/form-data" action=(place) class="card"
            data-max=[max] data-too-large=[too_large] {
            (token_field(visitor))
            (fields)
        }
    }
}

async fn template(_: Visitor) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(WORKBOOK)
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"books.xlsx\""))
        .body(TEMPLATE)
}

/// Sends a table, and what became of its rows, or would.
async fn sent(
    visitor: &Visitor,
    (request, payload): (&HttpRequest, Payload),
    to: &AddTarget,
    dry_run: bool,
) -> Result<Vec<ImportAnswer>, PageFailure> {
    let keep = to.keep.to_string();
    let asked = with(
        &path("/v1/libraries", [&to.library, "table"]),
        &[
            ("rights", to.rights.as_str()),
            ("keep_text", &keep),
            ("dry_run", if dry_run { "true" } else { "" }),
        ],
    );
    let call = ApiCall::new(Method::POST, &asked).passing(request, payload.into_inner());
    let answer = visitor.perform(call).await?;
    Ok(lines_of(&answer.body))
}

async fn preview(
    visitor: Visitor,
    request: HttpRequest,
    to: Query<AddTarget>,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let rows = sent(&visitor, (&request, payload), &to, true).await?;
    let is_open =
        |row: &&ImportAnswer| matches!(row.outcome, RowOutcome::Changed | RowOutcome::Missing);
    let open: Vec<&ImportAnswer> = rows.iter().filter(is_open).collect();
    let page = HtmlPage::new(
        Here::Catalogue,
        language.c_import_to(&clean(&to.library)),
        language.c_preview_lead(),
    );
    Ok(page.show(
        &visitor,
        &html! {
            (apply_form(&visitor, &to, &open))
            (rows_table(language, &to, &language.c_effect(), &rows))
        },
    ))
}

async fn apply(
    visitor: Visitor,
    request: HttpRequest,
    to: Query<AddTarget>,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let rows = sent(&visitor, (&request, payload), &to, false).await?;
    let missing = rows.iter().filter(|row| row.outcome == RowOutcome::Missing);
    let missing: Vec<&ImportAnswer> = missing.collect();
    let page = HtmlPage::new(
        Here::Catalogue,
        language.c_import_to(&clean(&to.library)),
        language.c_imported_lead(),
    );
    Ok(page.show(
        &visitor,
        &html! {
            (rows_table(language, &to, &language.c_outcome(), &rows))
            (apply_form(&visitor, &to, &missing))
            p { (to_library(&to.library)) }
        },
    ))
}

/// The form that applies rows, with the files of the books that are not there.
fn apply_form(visitor: &Visitor, to: &AddTarget, rows: &[&ImportAnswer]) -> Markup {
    let language = visitor.language();
    if rows.is_empty() {
        return html! {};
    }
    let lines = rows.iter().filter_map(|answer| answer.row.as_ref());
    let lines: Vec<String> = lines
        .filter_map(|row| serde_json::to_string(row).ok())
        .collect();
    let missing = rows
        .iter()
        .filter(|row| row.outcome == RowOutcome::Missing)
        .count() as u64;
    form(
        visitor,
        &to.place("/console/import/apply"),
        missing > 0,
        &html! {
            input type="hidden" name="file" value=(lines.join("\n")) data-rows;
            @if missing > 0 {
                label for="texts" { (language.c_files_of_new(missing)) }
                input type="file" id="texts" name="file" multiple;
            }
            div class="buttons" {
                button type="submit" class="main" { (language.c_import_rows(lines.len() as u64)) }
                progress max="1" value="0" hidden aria-label=(language.c_progress()) {}
            }
        },
    )
}

fn rows_table(language: Language, to: &AddTarget, effect: &str, rows: &[ImportAnswer]) -> Markup {
    let heads = [
        language.c_row(),
        language.c_book(),
        effect.to_owned(),
        language.c_details(),
    ];
    let body = html! {
        @for row in rows {
            tr class=(if row.problem.is_some() { "failed" } else { "" }) data-open[row.outcome == RowOutcome::Missing] {
                td { @if row.line > 0 { (row.line) } }
                td { (book(to, row)) }
                td { (outcome(language, row.outcome)) }
                td {
                    @for change in &row.changes { (changed(language, change)) }
                    @if let Some(problem) = &row.problem { (problem_told(language, problem)) }
                }
            }
        }
    };
    html! {
        @if rows.is_empty() { p { (language.c_no_rows()) } }
        @else { (table(effect, &heads, &body)) }
    }
}

/// The book of a row, which leads to it if it is there.
fn book(to: &AddTarget, row: &ImportAnswer) -> Markup {
    let (id, file) = (row.id.as_deref(), row.file.as_deref());
    let is_there = row.outcome != RowOutcome::Missing && row.problem.is_none();
    html! {
        @match id {
            Some(id) if is_there => a href=(path("/console/books", [&to.library, id])) { (clean(id)) },
            _ => (clean(id.or(file).unwrap_or_default())),
        }
    }
}

fn outcome(language: Language, outcome: RowOutcome) -> String {
    match outcome {
        RowOutcome::Added => language.c_was_added(),
        RowOutcome::Replaced => language.c_was_replaced(),
        RowOutcome::Changed => language.c_was_changed(),
        RowOutcome::Unchanged => language.c_was_unchanged(),
        RowOutcome::Missing => language.c_was_missing(),
        RowOutcome::Refused => language.c_was_refused(),
    }
}

/// A field before and after.
fn changed(language: Language, change: &FieldChange) -> Markup {
    let FieldChange {
        field,
        before,
        after,
    } = change;
    html! {
        div {
            (field_name(language, field)) ": "
            @if !before.is_empty() { del { (value(language, field, before)) } " " }
            @if !after.is_empty() { ins { (value(language, field, after)) } }
        }
    }
}

fn value(language: Language, field: &str, value: &str) -> String {
    match (field, value.parse()) {
        ("rights" | "otherwise", Ok(rights)) => rights_word(language, rights),
        _ => clean(value),
    }
}

fn field_name(language: Language, field: &str) -> String {
    match field {
        "title" => language.c_title(),
        "authors" => language.c_authors(),
        "language" => language.c_language(),
        "identifiers" => language.c_identifier(),
        "published" => language.c_published(),
        "rights" => language.c_rights(),
        "from" => language.c_from_day(),
        "until" => language.c_until_day(),
        "disabled" => language.c_disabled(),
        _ => language.c_otherwise(),
    }
}
