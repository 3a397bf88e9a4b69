//! Sources: where books are fetched from, how far that is, what failed and what helps.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Path, ServiceConfig};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;

use super::At;
use super::failure::PageFailure;
use super::layout::{
    Here, HtmlPage, button_to, choice_of_rights, form_to, main_button, more, optional_field,
    required_field, rights, see_other, table, terms, time,
};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{
    Source, SourceDefinition, SourceErrors, SourceRun, SourceRuns, SourceState, SourceTest, Sources,
};
use lapidary_common::error::ErrorCode;
use lapidary_harvest::{Every, HarvestError, Reason, SourceKind, SourceLimit};
use lapidary_language::Language;
use lapidary_operations::sources::{
    ChangeSource, DeleteSource, ListSourceErrors, ListSourceRuns, ListSources, PutSource,
    RunSource, ShowSource, SourceChanges, TestSource,
};
use lapidary_report::clean;
use lapidary_store::{BadName, Library, Rights};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/sources", web::get().to(page))
        .route("/sources", web::post().to(add))
        .route("/sources/{name}", web::get().to(one))
        .route("/sources/{name}/test", web::post().to(test))
        .route("/sources/{name}/{what}", web::post().to(change));
}

fn sources_table(language: Language, sources: &[Source]) -> Markup {
    let heads = [
        language.c_name(),
        language.c_kind(),
        language.c_library(),
        language.c_state(),
        language.c_queued(),
        language.c_next_run(),
    ];
    let rows = html! {
        @for source in sources {
            tr {
                td { a href=(path("/console/sources", [source.name.as_str()])) { (clean(source.name.as_str())) } }
                td { (kind(language, source.definition.kind)) }
                td { (clean(source.definition.library.as_str())) }
                td { (state(language, source.state)) @if source.error.is_some() { " " span class="tag protected" { "!" } } }
                td { (language.number(source.queued)) }
                td { @if let Some(next) = source.next_run_at { (time(next)) } }
            }
        }
    };
    table(&language.c_sources(), &heads, &rows)
}

async fn page(visitor: Visitor, at: At) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let Sources {
        sources,
        next_cursor,
    } = visitor
        .list::<ListSources>(&[], &[("cursor", &at.from)])
        .await?;
    Ok(HtmlPage::new(
        Here::Sources,
        language.c_sources(),
        language.c_sources_lead(),
    )
    .show(
        &visitor,
        &html! {
            @if sources.is_empty() { p { (language.c_no_sources()) } }
            @else { (sources_table(language, &sources)) }
            @if let Some(next) = next_cursor { (more(language, &with("/console/sources", &[("from", &next)]))) }
            (form(&visitor))
            (terms(language, [
                (language.c_term_source(), language.c_term_source_is()),
                (language.c_main_text(), language.c_term_main_text_is()),
                (language.c_contact(), language.c_term_contact_is()),
            ]))
        },
    ))
}

fn form(visitor: &Visitor) -> Markup {
    let language = visitor.language();
    form_to(
        visitor,
        "/console/sources",
        "card narrow",
        &html! {
            h2 { (language.c_new_source()) }
            (required_field("name", &language.c_name(), 512))
            label for="kind" { (language.c_kind()) }
            select id="kind" name="kind" { @for one in SourceKind::ALL { option value=(one.as_str()) { (kind(language, one)) } } }
            label for="address" { (language.c_source_address()) }
            input id="address" name="address" required maxlength="2000" autocomplete="off" placeholder="https://";
            (required_field("library", &language.c_library(), 512))
            label for="rights" { (language.c_rights()) }
            (choice_of_rights(language, Rights::Protected))
            (optional_field("contains", &language.c_contains(), Some(500), None))
            (optional_field("text", &language.c_main_text(), Some(500), Some("readability")))
            (optional_field("contact", &language.c_contact(), Some(200), None))
            (optional_field("every", &language.c_every(), None, Some("7d")))
            (main_button(&language.c_create()))
        },
    )
}

#[derive(Deserialize)]
struct SourceForm {
    name: String,
    kind: SourceKind,
    address: String,
    library: String,
    rights: Rights,
    #[serde(default)]
    contains: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    contact: String,
    #[serde(default)]
    every: String,
}

async fn add(visitor: Visitor, new: Form<SourceForm>) -> Result<HttpResponse, PageFailure> {
    let Form(SourceForm {
        name,
        kind,
        address,
        library,
        rights,
        contains,
        text,
        contact,
        every,
    }) = new;
    let every: Option<Every> = given(&every)
        .map(|every| every.parse())
        .transpose()
        .map_err(|error: HarvestError| {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            visitor.problem(ErrorCode::BadSource, status, &error.to_string())
        })?;
    let library: Library = library.trim().parse().map_err(|error: BadName| {
        visitor.problem(
            ErrorCode::BadName,
            StatusCode::UNPROCESSABLE_ENTITY,
            &error.to_string(),
        )
    })?;
    let definition = SourceDefinition {
        url_contains: given(&contains).into_iter().collect(),
        text_selector: given(&text),
        contact: given(&contact),
        interval_seconds: every.map(Every::seconds),
        ..SourceDefinition::new(kind, address.trim(), library, rights)
    };
    visitor
        .call::<PutSource>(&[name.trim()], definition)
        .await?;
    Ok(see_other(&path("/console/sources", [name.trim()])))
}

fn given(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

async fn one(visitor: Visitor, name: Path<String>, at: At) -> Result<HttpResponse, PageFailure> {
    show(&visitor, &name, &at.from, &html! {}).await
}

/// What can be done with a source.
fn buttons(visitor: &Visitor, name: &str, here: &str, is_paused: bool) -> Markup {
    let language = visitor.language();
    let does =
        |what: &str, label: String| button_to(visitor, &format!("{here}/{what}"), &label, None);
    let sure = language.c_sure_remove(&clean(name));
    html! {
        div class="buttons" {
            @if is_paused { (does("resume", language.c_resume())) }
            @else { (does("run", language.c_run())) (does("pause", language.c_pause())) }
            (does("test", language.c_test()))
            (button_to(visitor, &format!("{here}/remove"), &language.c_remove(), Some(&sure)))
        }
    }
}

async fn show(
    visitor: &Visitor,
    name: &str,
    from: &str,
    tested: &Markup,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let segments = &[name];
    let source = visitor.call::<ShowSource>(segments, ()).await?;
    let newest = visitor.list::<ListSourceRuns>(segments, &[("limit", "20")]);
    let SourceRuns { runs, .. } = newest.await?;
    let asked = [("limit", "50"), ("cursor", from)];
    let errors = visitor.list::<ListSourceErrors>(segments, &asked).await?;
    let here = path("/console/sources", [name]);
    let is_busy = matches!(source.state, SourceState::Running | SourceState::Waiting);
    let again = is_busy.then_some(here.as_str());
    Ok(HtmlPage::new(Here::Sources, clean(name), language.c_source_lead()).show(
        visitor,
        &html! {
            (tested)
            (buttons(visitor, name, &here, source.state == SourceState::Paused))
            section id="state" hx-get=[again] hx-trigger=[again.map(|_| "every 2s")] hx-select=[again.map(|_| "#state")]
                hx-swap=[again.map(|_| "outerHTML")] {
                (facts(language, &source))
                (progress(language, &source))
                (failed(language, &errors, &here))
                (past_runs(language, &runs))
            }
            (terms_of_runs(language))
        },
    ))
}

fn past_runs(language: Language, runs: &[SourceRun]) -> Markup {
    html! {
        h2 { (language.c_runs()) }
        @if runs.is_empty() { p { (language.c_no_runs()) } }
        @else { (history(language, &language.c_runs(), runs)) }
    }
}

fn terms_of_runs(language: Language) -> Markup {
    terms(
        language,
        [
            (language.c_refused_ones(), language.c_term_refused_is()),
            (language.c_skipped_ones(), language.c_term_skipped_is()),
            (language.c_left_out_ones(), language.c_term_left_out_is()),
        ],
    )
}

fn facts(language: Language, source: &Source) -> Markup {
    let definition = &source.definition;
    html! {
        dl class="facts" {
            dt { (language.c_state()) } dd { (state(language, source.state)) }
            @if let Some(error) = &source.error {
                dt { (language.c_failed()) } dd { span lang="en" { (clean(error)) } }
            }
            dt { (language.c_kind()) } dd { (kind(language, definition.kind)) }
            dt { (language.c_source_address()) } dd { (clean(&definition.url)) }
            dt { (language.c_library()) } dd { (clean(definition.library.as_str())) " " (rights(language, definition.rights)) }
            @let taken = [&*definition.url_contains, &*definition.url_matches].concat();
            @if !taken.is_empty() { dt { (language.c_contains()) } dd { (clean(&taken.join(", "))) } }
            @if let Some(text) = &definition.text_selector { dt { (language.c_main_text()) } dd { (clean(text)) } }
            @if let Some(every) = definition.interval_seconds.and_then(|seconds| Every::of_seconds(seconds).ok()) {
                dt { (language.c_every()) } dd { (every) }
            }
            @if let Some(next) = source.next_run_at { dt { (language.c_next_run()) } dd { (time(next)) } }
        }
    }
}

/// How far the run is that has not ended, if there is one.
fn progress(language: Language, source: &Source) -> Markup {
    let Some(run) = source.run.as_ref().filter(|run| run.finished_at.is_none()) else {
        return html! {};
    };
    let done = run.fetched + run.unchanged + run.refused + run.missing;
    html! {
        h2 { (language.c_run_number(run.number)) }
        p {
            progress max=((done + source.queued).max(1)) value=(done) aria-label=(language.c_progress()) {}
            " " (language.c_left(source.queued))
            @if let Some(seconds) = source.remaining_seconds { ", " (language.c_minutes(seconds.div_ceil(60))) }
        }
        (history(language, &language.c_run_number(run.number), std::slice::from_ref(run)))
    }
}

fn history(language: Language, label: &str, runs: &[SourceRun]) -> Markup {
    let heads = [
        language.head_number(),
        language.c_since(),
        language.c_ended(),
        language.c_fetched(),
        language.c_added_ones(),
        language.c_was_unchanged(),
        language.c_refused_ones(),
        language.c_skipped_ones(),
        language.c_gone_ones(),
        language.c_pages_unchanged(),
        language.c_left_out_ones(),
    ];
    let rows = html! {
        @for run in runs {
            tr {
                td { (run.number) }
                td { (time(run.started_at)) }
                td { (ended_at(run.finished_at)) @if let Some(error) = &run.error { " " span lang="en" { (clean(error)) } } }
                @for figure in [run.fetched, run.added, run.unchanged, run.refused, run.skipped, run.missing, run.pages_unchanged] {
                    td { (language.number(figure)) }
                }
                td {
                    @for (limit, count) in &run.left_out {
                        div { (language.number(*count)) " " (left_out(language, *limit)) }
                    }
                }
            }
        }
    };
    table(label, &heads, &rows)
}

fn ended_at(when: Option<Timestamp>) -> Markup {
    html! { @if let Some(when) = when { (time(when)) } }
}

/// Which limit left addresses out.
fn left_out(language: Language, limit: SourceLimit) -> String {
    match limit {
        SourceLimit::MaxUrls => language.c_left_out_most(),
        SourceLimit::Key => language.c_left_out_key(),
        SourceLimit::Depth => language.c_left_out_depth(),
    }
}

fn failed(language: Language, errors: &SourceErrors, here: &str) -> Markup {
    let SourceErrors {
        errors,
        next_cursor,
    } = errors;
    let heads = [
        language.c_source_address(),
        language.c_reason(),
        language.c_fix(),
        language.c_next_try(),
    ];
    let rows = html! {
        @for error in errors {
            tr {
                td { (clean(&error.url)) }
                td { span lang="en" { (clean(&error.detail)) } }
                td { (advice(language, error.reason)) }
                td { @if let Some(next) = error.retry_at { (time(next)) } @else { (language.c_never()) } }
            }
        }
    };
    html! {
        @if !errors.is_empty() {
            section {
                h2 { (language.c_refused_or_skipped()) }
                (table(&language.c_refused_or_skipped(), &heads, &rows))
                @if let Some(next) = next_cursor { (more(language, &with(here, &[("from", next)]))) }
            }
        }
    }
}

/// What helps against a reason.
fn advice(language: Language, reason: Reason) -> String {
    match reason {
        Reason::Address => language.c_fix_address(),
        Reason::Missing => language.c_fix_missing(),
        Reason::Robots => language.c_fix_robots(),
        Reason::Private => language.c_fix_private(),
        Reason::Status => language.c_fix_status(),
        Reason::Unanswered => language.c_fix_unanswered(),
        Reason::TooLarge => language.c_fix_too_large(),
        Reason::BadList => language.c_fix_bad_list(),
        Reason::BadBook => language.c_fix_bad_book(),
        Reason::Matches => language.c_fix_matches(),
        Reason::BadRecord => language.c_fix_bad_record(),
        Reason::Format => language.c_fix_format(),
        Reason::NoFile => language.c_fix_no_file(),
        Reason::Link => language.c_fix_link(),
        Reason::Own => language.c_fix_own(),
    }
}

fn kind(language: Language, kind: SourceKind) -> String {
    match kind {
        SourceKind::Folder => language.c_kind_folder(),
        SourceKind::S3 => language.c_kind_s3(),
        SourceKind::List => language.c_kind_list(),
        SourceKind::Sitemap => language.c_kind_sitemap(),
        SourceKind::Feed => language.c_kind_feed(),
        SourceKind::Opds => language.c_kind_opds(),
        SourceKind::Oai => language.c_kind_oai(),
        SourceKind::Site => language.c_kind_site(),
        SourceKind::Lapidary => language.c_kind_lapidary(),
        SourceKind::Onix => language.c_kind_onix(),
    }
}

fn state(language: Language, state: SourceState) -> String {
    match state {
        SourceState::Idle => language.c_idle(),
        SourceState::Waiting => language.c_waiting(),
        SourceState::Running => language.c_running(),
        SourceState::Paused => language.c_paused(),
    }
}

async fn test(visitor: Visitor, name: Path<String>) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let SourceTest {
        items,
        excerpt: begins,
        skipped,
        error,
    } = visitor.call::<TestSource>(&[&name], ()).await?;
    let heads = [
        language.c_source_address(),
        language.c_book(),
        language.c_title(),
    ];
    let rows = html! {
        @for item in &items {
            tr {
                td { (clean(&item.url)) }
                td { (clean(item.id.as_deref().unwrap_or_default())) }
                td { (clean(item.title.as_deref().unwrap_or_default())) }
            }
        }
    };
    let tested = html! {
        section id="tested" class="card accent" {
            h2 { (language.c_tested()) }
            @if let Some(error) = &error { p class="problem" lang="en" { (clean(error)) } }
            @if skipped > 0 { p { (language.c_skipped_ones()) ": " (language.number(skipped)) } }
            @if items.is_empty() { p { (language.c_nothing_found()) } }
            @else { (table(&language.c_tested(), &heads, &rows)) }
            @if let Some(begins) = &begins { p { (language.c_begins()) " " q { (clean(begins)) } } }
        }
    };
    show(&visitor, &name, "", &tested).await
}

async fn change(visitor: Visitor, to: Path<(String, String)>) -> Result<HttpResponse, PageFailure> {
    let (name, what) = to.into_inner();
    let segments: &[&str] = &[&name];
    match what.as_str() {
        "run" => visitor.call::<RunSource>(segments, ()).await?,
        "pause" => {
            visitor
                .call::<ChangeSource>(segments, SourceChanges::paused(true))
                .await?
        }
        "resume" => {
            visitor
                .call::<ChangeSource>(segments, SourceChanges::paused(false))
                .await?
        }
        "remove" => {
            visitor.call::<DeleteSource>(segments, ()).await?;
            return Ok(see_other("/console/sources"));
        }
        _ => {
            return Err(visitor.problem(ErrorCode::NotFound, StatusCode::NOT_FOUND, ""));
        }
    };
    Ok(see_other(&path("/console/sources", [&name])))
}
