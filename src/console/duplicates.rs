//! Groups of duplicates, and books that overlap, as the last search found them.

use actix_web::HttpResponse;
use actix_web::web::{self, ServiceConfig};
use maud::{Markup, html};

use super::At;
use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, button_to, more, rights, time};
use super::visitor::{Visitor, path};
use lapidary_catalogue::api::{
    BookRef, DuplicateGroup, DuplicateGroups, DuplicateOverlap, Job, JobResult, JobState, Task,
};
use lapidary_language::Language;
use lapidary_operations::jobs::{ListDuplicateGroups, ListDuplicateOverlaps, ListJobs};
use lapidary_report::{clean, duplicates_left_out, group_picture, overlap};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/duplicates", web::get().to(duplicates));
}

async fn duplicates(visitor: Visitor, at: At) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let jobs = visitor.all::<ListJobs>(&[]).await?;
    let (running, done) = (
        search_that(&jobs, JobState::Running),
        search_that(&jobs, JobState::Done),
    );
    let found = if let Some(job) = done {
        found_by(&visitor, job, &at.from).await?
    } else {
        html! {}
    };
    let start = button_to(
        &visitor,
        "/console/jobs?kind=duplicates",
        &language.c_find_duplicates(),
        None,
    );
    let page = HtmlPage::new(
        Here::Catalogue,
        language.c_duplicates(),
        language.c_duplicates_lead(),
    );
    Ok(page.show(&visitor, &html! {
        @match running {
            Some(job) => p class="notice" {
                (language.c_job_runs()) " " a href="/console/jobs" { (language.c_jobs()) " " (job.id) }
            },
            None => (start),
        }
        (found)
    }))
}

/// The newest search for duplicates in this state.
fn search_that(jobs: &[Job], state: JobState) -> Option<&Job> {
    jobs.iter()
        .filter(|job| matches!(job.task, Task::Duplicates { .. }))
        .find(|job| job.state == state)
}

/// What a search for duplicates found: a page of groups, and on the first page the overlaps.
async fn found_by(visitor: &Visitor, job: &Job, from: &str) -> Result<Markup, PageFailure> {
    let language = visitor.language();
    let id = job.id.to_string();
    let asked = [("limit", "20"), ("cursor", from)];
    let page = visitor.list::<ListDuplicateGroups>(&[&id], &asked).await?;
    let DuplicateGroups {
        groups,
        next_cursor,
    } = page;
    let mut overlaps = Vec::new();
    if from.is_empty() {
        let first = &asked[..1];
        let page = visitor.list::<ListDuplicateOverlaps>(&[&id], first).await?;
        overlaps = page.overlaps;
    }
    let left_out = match &job.result {
        Some(JobResult::Grouped(found)) => duplicates_left_out(language, found.left_out.into()),
        _ => Vec::new(),
    };
    Ok(html! {
        p { (language.c_found_at()) " " (time(job.finished_at.unwrap_or(job.started_at))) }
        @for sentence in &left_out { p { (sentence) } }
        (groups_found(language, &groups))
        @if let Some(next) = next_cursor { (more(language, &format!("/console/duplicates?from={next}"))) }
        @if !overlaps.is_empty() {
            h2 { (language.head_overlaps()) }
            @for found in &overlaps { (one_overlap(language, found)) }
        }
    })
}

fn groups_found(language: Language, groups: &[DuplicateGroup]) -> Markup {
    html! {
        @if groups.is_empty() { p { (language.c_no_duplicates()) } }
        @else { p class="quiet" { (language.duplicates_picture()) } }
        @for (group, number) in groups.iter().zip(1..) { (one_group(language, group, number)) }
    }
}

fn one_overlap(language: Language, found: &DuplicateOverlap) -> Markup {
    let shares = overlap(
        language,
        &found.relation,
        found.share_of_a,
        found.share_of_b,
    );
    html! {
        p {
            "A: " (linked(language, &found.a)) br; "B: " (linked(language, &found.b)) br;
            span class="quiet" { (shares) }
        }
    }
}

/// A book's title, which leads to it, and its name.
fn linked(language: Language, book: &BookRef) -> Markup {
    html! {
        a href=(path("/console/books", [&book.library, &book.id])) {
            (book.title.as_deref().map_or_else(|| language.no_title(), clean))
        }
        " " span class="quiet" { (clean(&book.library)) "/" (clean(&book.id)) }
    }
}

fn one_group(language: Language, group: &DuplicateGroup, number: usize) -> Markup {
    let bytes: Vec<u64> = group.books.iter().map(|book| book.bytes).collect();
    let pairs: Vec<(u32, u32, f64)> = group
        .pairs
        .iter()
        .map(|pair| (pair.a, pair.b, pair.share_of_a.max(pair.share_of_b)))
        .collect();
    let reason = match group.reason.as_ref() {
        "most_complete" => language.best_complete(),
        "best_format" => language.best_format(),
        "most_metadata" => language.best_metadata(),
        _ => language.best_first(),
    };
    html! {
        section class="card group" {
            h2 { (language.c_group(number as u64, group.size.into())) }
            (group_picture(language, &bytes, group.best as usize, &pairs, number))
            ol {
                @for (at, book) in group.books.iter().enumerate() {
                    li {
                        (linked(language, book)) " " (rights(language, book.rights))
                        @if at == group.best as usize { " " strong { (reason) } }
                    }
                }
            }
        }
    }
}
