//! Long-running jobs: listed, started, cancelled.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Path, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, failure_told, form_to, see_other, size, table, terms, time,
};
use super::visitor::Visitor;
use lapidary_catalogue::api::{Job, JobResult, JobState, Task};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::jobs::{CancelJob, ListJobs, StartJob};
use lapidary_report::clean;

/// What to re-index with: with the catalogue's secret or a new one, and the public recipes of partners and existing clients.
const USUAL_RECIPES: [&str; 4] = [
    "hardened-compact@secret",
    "hardened-compact@new-secret",
    "hardened",
    "released",
];

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/jobs", web::get().to(page))
        .route("/jobs", web::post().to(start))
        .route("/jobs/{id}/cancel", web::post().to(cancel));
}

async fn page(visitor: Visitor) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let jobs = visitor.all::<ListJobs>(&[]).await?;
    let runs = jobs.iter().any(|job| job.state == JobState::Running);
    let again = runs.then_some("every 2s");
    let heads = [
        language.head_number(),
        language.c_job(),
        language.c_state(),
        language.c_progress(),
        language.c_since(),
        language.c_result(),
        language.c_actions(),
    ];
    Ok(HtmlPage::new(Here::Jobs, language.c_jobs(), language.c_jobs_lead()).show(&visitor, &html! {
        (start_card(&visitor))
        section id="jobs" hx-get=[again.map(|_| "/console/jobs")] hx-trigger=[again] hx-select=[again.map(|_| "#jobs")]
            hx-swap=[again.map(|_| "outerHTML")] {
            h2 { (language.c_jobs()) }
            @if jobs.is_empty() { p { (language.c_no_jobs()) } }
            @else { (table(&language.c_jobs(), &heads, &html! { @for job in &jobs { (row(&visitor, job)) } })) }
        }
        (terms(language, [
            (language.c_find_duplicates(), language.c_term_duplicates_is()),
            (language.c_verify(), language.c_term_verify_is()),
            (language.c_compact(), language.c_term_compact_is()),
            (language.c_backup(), language.c_term_backup_is()),
            (language.c_reindex(), language.c_term_reindex_is()),
        ]))
    }))
}

/// What to start a job with.
fn start_card(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    let no_backups = visitor.inside().why_no_backups();
    html! {
        section class="card" {
            h2 { (language.c_start_job()) }
            div class="buttons" {
                (start_button(visitor, "duplicates", &language.c_find_duplicates()))
                (start_button(visitor, "verify", &language.c_verify()))
                (start_button(visitor, "compact", &language.c_compact()))
                @if no_backups.is_none() { (start_button(visitor, "backup", &language.c_backup())) }
            }
            (form_to(visitor, "/console/jobs?kind=reindex", "", &html! {
                label for="recipe" { (language.c_recipe()) }
                input id="recipe" name="recipe" list="recipes" required maxlength="512" autocomplete="off";
                datalist id="recipes" {
                    @for recipe in USUAL_RECIPES { option value=(recipe) {} }
                }
                div class="buttons" { button type="submit" { (language.c_reindex()) } }
            }))
            @match no_backups {
                None => {}
                Some(ErrorCode::NotOffered) => p class="quiet" { (language.c_no_backups_of_cluster()) " " code { "lapidary export --server URL" } }
                Some(_) => p class="quiet" { (language.c_no_backups()) " " code { "backups = \"/var/backups/lapidary\"" } }
            }
        }
    }
}

fn start_button(visitor: &Visitor, kind: &str, name: &str) -> Markup {
    button_to(visitor, &format!("/console/jobs?kind={kind}"), name, None)
}

fn row(visitor: &Visitor, job: &Job) -> Markup {
    let language = visitor.language();
    let cancel = format!("/console/jobs/{}/cancel", job.id);
    html! {
        tr {
            td { (job.id) }
            td { (kind(language, &job.task)) }
            td { (state(language, job.state)) }
            td {
                @if job.state == JobState::Running {
                    progress max=(job.total.max(1)) value=(job.done) aria-label=(language.c_progress()) {}
                    " " (language.number(job.done)) " / " (language.number(job.total))
                }
            }
            td { (time(job.started_at)) }
            td {
                @if let Some(error) = &job.error { (failure_told(language, job.error_code.as_deref(), error)) }
                @if let Some(result) = &job.result { (told(language, result)) }
            }
            td { @if job.state == JobState::Running {
                (button_to(visitor, &cancel, &language.c_cancel(), Some(&language.c_sure_cancel())))
            } }
        }
    }
}

fn kind(language: Language, task: &Task) -> String {
    match task {
        Task::Duplicates { .. } => language.c_find_duplicates(),
        Task::Verify { .. } => language.c_verify(),
        Task::Compact {} => language.c_compact(),
        Task::Backup { .. } => language.c_backup(),
        Task::Reindex { .. } => language.c_reindex(),
        Task::DropRecipe { .. } => language.c_drop_recipe(),
    }
}

fn state(language: Language, state: JobState) -> String {
    match state {
        JobState::Running => language.c_running(),
        JobState::Done => language.c_done(),
        JobState::Failed => language.c_failed(),
        JobState::Cancelled => language.c_cancelled(),
    }
}

fn told(language: Language, result: &JobResult) -> Markup {
    html! {
        @match result {
            JobResult::Grouped(found) => {
                a href="/console/duplicates" { (language.duplicates(found.groups, found.duplicates)) }
            }
            JobResult::Verified(found) => {
                (language.c_faults(found.faults.len() as u64))
                @if !found.faults.is_empty() { ul lang="en" { @for fault in &found.faults { li { (clean(fault)) } } } }
            }
            JobResult::Compacted(done) => { (size(language, done.bytes_before)) " → " (size(language, done.bytes)) }
            JobResult::BackedUp(done) => { (language.head_number()) (done.backup) ", " (size(language, done.bytes)) }
            JobResult::Reindexed(done) => { (done.previous_default.as_str()) " → " (done.default.as_str()) }
            JobResult::Dropped(done) => { (done.dropped.as_str()) }
        }
    }
}

#[derive(Deserialize)]
struct JobToStart {
    kind: String,
}

/// What a re-index asks for.
#[derive(Deserialize)]
struct JobOptions {
    recipe: Option<String>,
}

async fn start(
    visitor: Visitor,
    wanted: Query<JobToStart>,
    options: Form<JobOptions>,
) -> Result<HttpResponse, PageFailure> {
    let mut task = json!({ "kind": wanted.kind });
    if let Some(recipe) = &options.recipe {
        task["recipe"] = recipe.trim().into();
    }
    let task = serde_json::from_value(task);
    let task = task.map_err(|error| {
        let status = StatusCode::BAD_REQUEST;
        visitor.problem(ErrorCode::BadJson, status, &error.to_string())
    })?;
    visitor.call::<StartJob>(&[], task).await?;
    Ok(see_other("/console/jobs"))
}

async fn cancel(visitor: Visitor, id: Path<String>) -> Result<HttpResponse, PageFailure> {
    visitor.call::<CancelJob>(&[&id], ()).await?;
    Ok(see_other("/console/jobs"))
}
