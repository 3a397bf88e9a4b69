//! Groups of duplicates, and books that overlap, as the last search found them.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{self, Form, Query, ServiceConfig};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, button_to, form_to, more, rights, see_other, time};
use super::visitor::{Visitor, path, with};
use lapidary_catalogue::api::{
    Amendment, BookRef, DuplicateGroup, DuplicateOverlap, DuplicateResolution, Job, JobResult,
    JobState, ResolvedDuplicates, Task,
};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_operations::books::AmendBook;
use lapidary_operations::jobs::{
    ListDuplicateGroups, ListDuplicateOverlaps, ListJobs, ResolveDuplicates,
};
use lapidary_report::{clean, duplicates_left_out, group_picture, overlap};
use lapidary_store::BookKey;

/// The largest group that is settled here.
const MOST_SETTLED: usize = 50;
/// The fewest groups of a page, unless there are no more, and the most calls for that.
const GROUPS: usize = 10;
const MOST_PAGES: usize = 1_000;

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/duplicates", web::get().to(duplicates))
        .route("/duplicates", web::post().to(settle));
}

/// Which groups the page shows.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ShownGroups {
    from: String,
    /// Whether they are those of which something was said.
    settled: bool,
}

impl ShownGroups {
    /// The address of the page that shows groups from a place on.
    fn place(&self, from: &str) -> String {
        let settled = if self.settled { "true" } else { "" };
        with(
            "/console/duplicates",
            &[("from", from), ("settled", settled)],
        )
    }
}

async fn duplicates(
    visitor: Visitor,
    wanted: Query<ShownGroups>,
) -> Result<HttpResponse, PageFailure> {
    let language = visitor.language();
    let jobs = visitor.all::<ListJobs>(&[]).await?;
    let (running, done) = (
        search_that(&jobs, JobState::Running),
        search_that(&jobs, JobState::Done),
    );
    let found = if let Some(job) = done {
        found_by(&visitor, job, &wanted).await?
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
async fn found_by(
    visitor: &Visitor,
    job: &Job,
    wanted: &ShownGroups,
) -> Result<Markup, PageFailure> {
    let language = visitor.language();
    let id = job.id.to_string();
    let (groups, next_cursor) = next_groups(visitor, &id, wanted).await?;
    let mut overlaps = Vec::new();
    if wanted.from.is_empty() && !wanted.settled {
        let first = [("limit", "20")];
        let page = visitor
            .list::<ListDuplicateOverlaps>(&[&id], &first)
            .await?;
        overlaps = page.overlaps;
    }
    let left_out = match &job.result {
        Some(JobResult::Grouped(found)) => duplicates_left_out(language, found.left_out),
        _ => Vec::new(),
    };
    Ok(html! {
        p { (language.c_found_at()) " " (time(job.finished_at.unwrap_or(job.started_at))) }
        @for sentence in &left_out { p { (sentence) } }
        p {
            @if wanted.settled { a href="/console/duplicates" { (language.c_duplicates()) } }
            @else { a href="/console/duplicates?settled=true" { (language.c_settled()) } }
            " · " a href="/console/catalogue?state=removed" { (language.c_removed_books()) }
        }
        @if groups.is_empty() { p { (language.c_no_duplicates()) } }
        @else { p class="quiet" { (language.duplicates_picture()) } }
        @for (group, number) in groups.iter().zip(1..) { (one_group(visitor, group, number, wanted)) }
        @if let Some(next) = next_cursor { (more(language, &wanted.place(&next))) }
        @if !overlaps.is_empty() {
            h2 { (language.head_overlaps()) }
            @for found in &overlaps { (one_overlap(language, found)) }
        }
    })
}

/// The next groups that are settled, or are not, and the place of those that follow.
async fn next_groups(
    visitor: &Visitor,
    job: &str,
    wanted: &ShownGroups,
) -> Result<(Vec<DuplicateGroup>, Option<String>), PageFailure> {
    let (mut found, mut next) = (Vec::new(), Some(wanted.from.clone()));
    for _ in 0..MOST_PAGES {
        let Some(from) = next.take() else { break };
        let asked = [("limit", "20"), ("cursor", from.as_str())];
        let page = visitor.list::<ListDuplicateGroups>(&[job], &asked).await?;
        let groups = page.groups.into_iter();
        // All but one of a group may have been removed since.
        found.extend(
            groups.filter(|group| {
                group.books.len() > 1 && group.resolution.is_some() == wanted.settled
            }),
        );
        next = page.next_cursor;
        if found.len() >= GROUPS {
            break;
        }
    }
    Ok((found, next))
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

fn one_group(
    visitor: &Visitor,
    group: &DuplicateGroup,
    number: usize,
    shown: &ShownGroups,
) -> Markup {
    let language = visitor.language();
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
                        @if let Some(share) = share_of_best(group, at) { " " span class="quiet" { (language.c_in_best(&language.percent(share))) } }
                        div class="buttons" {
                            a class="button" href=(path("/console/matches", [&book.library, &book.id])) { (language.c_side_by_side()) }
                            @if group.books.len() <= MOST_SETTLED {
                                (settle_button(visitor, shown, "keep", &language.c_keep_one(), &all_but(group, Some(at))))
                            }
                        }
                    }
                }
            }
            @if group.books.len() <= MOST_SETTLED { (settle_buttons(visitor, group, shown)) }
        }
    }
}

/// What can be said of a whole group.
fn settle_buttons(visitor: &Visitor, group: &DuplicateGroup, shown: &ShownGroups) -> Markup {
    let language = visitor.language();
    let books = all_but(group, None);
    let said = group.resolution.map(|resolution| match resolution {
        DuplicateResolution::Editions => language.c_editions(),
        DuplicateResolution::Dismissed => language.c_dismiss(),
    });
    html! {
        div class="buttons" {
            @if let Some(said) = said {
                span class="tag" { (said) } " "
                (settle_button(visitor, shown, "reopen", &language.c_undo(), &books))
            } @else {
                (settle_button(visitor, shown, "editions", &language.c_editions(), &books))
                (settle_button(visitor, shown, "dismissed", &language.c_dismiss(), &books))
            }
        }
    }
}

/// How much of a book is in the best one of its group, if they were compared.
fn share_of_best(group: &DuplicateGroup, at: usize) -> Option<f64> {
    let (at, best) = (at as u32, group.best);
    group.pairs.iter().find_map(|pair| {
        if (pair.a, pair.b) == (at, best) {
            Some(pair.share_of_a)
        } else {
            ((pair.b, pair.a) == (at, best)).then_some(pair.share_of_b)
        }
    })
}

/// The books of a group, without one of them, as JSON.
fn all_but(group: &DuplicateGroup, kept: Option<usize>) -> String {
    let books = group.books.iter().enumerate();
    let books = books.filter(|(at, _)| Some(*at) != kept);
    let books = books.map(|(_, book)| json!({ "library": book.library, "id": book.id }));
    books.collect::<Value>().to_string()
}

fn settle_button(
    visitor: &Visitor,
    shown: &ShownGroups,
    what: &str,
    label: &str,
    books: &str,
) -> Markup {
    let fields = html! {
        input type="hidden" name="what" value=(what);
        input type="hidden" name="books" value=(books);
        button type="submit" { (label) }
    };
    form_to(visitor, &shown.place(&shown.from), "one", &fields)
}

#[derive(Deserialize)]
struct Settled {
    what: String,
    /// The books, as JSON.
    books: String,
}

/// Removes books of a group, which can be restored, or says what all of them are.
async fn settle(
    visitor: Visitor,
    shown: Query<ShownGroups>,
    sent: Form<Settled>,
) -> Result<HttpResponse, PageFailure> {
    let bad = |detail: &str| visitor.problem(ErrorCode::BadQuery, StatusCode::BAD_REQUEST, detail);
    let books: Vec<BookKey> =
        serde_json::from_str(&sent.books).map_err(|error| bad(&error.to_string()))?;
    let resolution = match sent.what.as_str() {
        "keep" => {
            for BookKey { library, id } in books.iter().take(MOST_SETTLED) {
                let removal = Amendment {
                    removed: Some(true),
                    ..Amendment::default()
                };
                let book: &[&str] = &[library.as_str(), id.as_str()];
                visitor.call::<AmendBook>(book, removal).await?;
            }
            return Ok(see_other(&shown.place(&shown.from)));
        }
        "editions" => Some(DuplicateResolution::Editions),
        "dismissed" => Some(DuplicateResolution::Dismissed),
        "reopen" => None,
        other => return Err(bad(&format!("{other:?} settles no group"))),
    };
    let said = ResolvedDuplicates { books, resolution };
    visitor.call::<ResolveDuplicates>(&[], said).await?;
    Ok(see_other(&shown.place(&shown.from)))
}
