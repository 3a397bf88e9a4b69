//! New books: files that are dropped or chosen. What is there already, or is protected, is added only if the visitor says so.
//!
//! With scripts, each file is sent alone and becomes a row; else all of them are sent at once.

use actix_web::http::Method;
use actix_web::web::{self, Payload, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use maud::{Markup, html};
use serde::Deserialize;

use super::catalogue::to_library;
use super::failure::PageFailure;
use super::layout::{Here, HtmlPage, problem_told, size, table, token_field};
use super::visitor::{ApiCall, Visitor, lines_of, path, with};
use crate::server::id_of_file;
use lapidary_catalogue::api::{
    AddOutcome, Added, BookRef, FeedAnswer, FeedOutcome, Problem, Record,
};
use lapidary_common::error::ErrorCode;
use lapidary_language::Language;
use lapidary_report::{Outcome, clean};

pub(super) fn routes(app: &mut ServiceConfig) {
    app.route("/add", web::get().to(add_form))
        .route("/add", web::post().to(add));
}

/// Where new books belong.
#[derive(Deserialize)]
pub(super) struct AddTarget {
    pub(super) library: String,
    pub(super) rights: String,
    #[serde(default)]
    pub(super) keep: bool,
}

impl AddTarget {
    /// The address of a page with the same target.
    pub(super) fn place(&self, page: &str) -> String {
        let keep = if self.keep { "true" } else { "" };
        let (library, rights) = (self.library.as_str(), self.rights.as_str());
        with(
            page,
            &[("library", library), ("rights", rights), ("keep", keep)],
        )
    }
}

/// What is sent.
#[derive(Deserialize)]
struct Sent {
    /// Whether to add books that match others, and to replace what is there.
    #[serde(default)]
    anyway: bool,
    /// The name of the file, for a row of the table.
    row: Option<String>,
}

fn heads(language: Language) -> [String; 4] {
    [
        language.head_file(),
        language.c_book(),
        language.c_outcome(),
        language.c_details(),
    ]
}

async fn add_form(visitor: Visitor, to: Query<AddTarget>) -> HttpResponse {
    let language = visitor.language();
    let max = visitor.inside().max_body();
    let place = to.place("/console/add");
    let title = language.c_add_to(&clean(&to.library));
    HtmlPage::new(Here::Catalogue, title, language.c_add_lead()).show(
        &visitor,
        &html! {
            form method="post" enctype="multipart/form-data" action=(place) class="card" data-files="each"
                data-max=(max) data-too-large=(language.c_too_large(&size(language, max as u64))) {
                (token_field(&visitor))
                label for="file" { (language.c_files()) }
                input type="file" id="file" name="file" multiple required;
                p class="quiet" { (language.c_files_hint()) }
                div class="buttons" {
                    button type="submit" class="main" { (language.c_add()) }
                    button type="submit" formaction=(with(&place, &[("anyway", "true")])) { (language.c_add_all()) }
                    progress max="1" value="0" hidden aria-label=(language.c_progress()) {}
                }
            }
            section id="table" hidden {
                h2 { (language.c_outcome()) }
                div class="buttons" { button type="button" data-csv="books.csv" { (language.c_export()) } }
                (table(&language.c_outcome(), &[], &html! {}))
            }
            template id="heads" { @for head in heads(language) { th scope="col" { (head) } } }
            p { (to_library(&to.library)) }
        },
    )
}

async fn add(
    visitor: Visitor,
    request: HttpRequest,
    to: Query<AddTarget>,
    sent: Query<Sent>,
    payload: Payload,
) -> Result<HttpResponse, PageFailure> {
    let keep = to.keep.to_string();
    let unless = if sent.anyway { "" } else { "protected" };
    let options = [
        ("rights", to.rights.as_str()),
        ("keep_text", &keep),
        ("unless", unless),
    ];
    let Some(name) = &sent.row else {
        let asked = with(&path("/v1/libraries", [&to.library, "books"]), &options);
        let call = ApiCall::new(Method::POST, &asked).passing(&request, payload.into_inner());
        let answers: Vec<FeedAnswer> = lines_of(&visitor.perform(call).await?.body);
        return Ok(page_of_form(&visitor, &to, &answers));
    };
    let book = path("/v1/libraries", [&to.library, "books", &id_of_file(name)]);
    let asked = with(&book, &options);
    let call = ApiCall::new(Method::PUT, &asked).passing(&request, payload.into_inner());
    let call = if sent.anyway { call } else { call.if_new() };
    let added = visitor.perform(call).await;
    let added = added.and_then(|added| visitor.read(&added));
    Ok(row(&visitor, &to, name, &added))
}

/// What became of files that were sent at once.
fn page_of_form(visitor: &Visitor, to: &AddTarget, answers: &[FeedAnswer]) -> HttpResponse {
    let language = visitor.language();
    let rows = html! { @for answer in answers { (row_of_form(visitor, &to.library, answer)) } };
    let title = language.c_add_to(&clean(&to.library));
    let page = HtmlPage::new(Here::Catalogue, title, language.c_added_lead());
    page.show(
        visitor,
        &html! {
            (table(&language.c_outcome(), &heads(language), &rows))
            p { a href=(to.place("/console/add")) { (language.c_add()) } " · " (to_library(&to.library)) }
        },
    )
}

/// What became of a file that was sent alone.
fn row(
    visitor: &Visitor,
    to: &AddTarget,
    name: &str,
    added: &Result<Added, PageFailure>,
) -> HttpResponse {
    let row = match added {
        Ok(added) => row_of_book(visitor, name, added),
        Err(failure) => match failure.detail() {
            Some(problem) => row_of_refusal(visitor, to, name, problem),
            None => return failure.error_response(),
        },
    };
    HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .body(row.into_string())
}

fn row_of_book(visitor: &Visitor, name: &str, added: &Added) -> Markup {
    let language = visitor.language();
    let outcome = match added.outcome {
        AddOutcome::Added => FeedOutcome::Added,
        AddOutcome::Replaced => FeedOutcome::Replaced,
        AddOutcome::Unchanged => FeedOutcome::Unchanged,
    };
    let Record {
        key, description, ..
    } = &added.book;
    let (library, id) = (key.library.as_str(), key.id.as_str());
    html! {
        tr {
            td { (clean(name)) }
            td {
                a href=(path("/console/books", [library, id])) { (clean(description.title.as_deref().unwrap_or(id))) }
                @if !description.authors.is_empty() { br; (clean(&description.authors.join(", "))) }
            }
            td { (told(language, &outcome)) }
            td {
                @if is_too_short(&added.book) { p class="warn" { (Outcome::TooShort.name(language)) } }
                (matching(language, &added.matches)) (shares(visitor, library, id))
            }
        }
    }
}

/// Whether hardly a gem of a book could be found: often its file has pictures of the text.
fn is_too_short(book: &Record) -> bool {
    book.gems.values().all(|gems| *gems < 2)
}

/// A file that was not added, and a button to add it nevertheless, if that helps.
fn row_of_refusal(visitor: &Visitor, to: &AddTarget, name: &str, problem: &Problem) -> Markup {
    let language = visitor.language();
    let known = [
        (ErrorCode::PreconditionFailed, language.c_replace()),
        (ErrorCode::Matches, language.c_add_anyway()),
        (ErrorCode::CheckIncomplete, language.c_add_anyway()),
    ];
    let mut known = known.into_iter();
    let again = known.find(|(code, _)| problem.code == code.as_str());
    let is_there = problem.code == ErrorCode::PreconditionFailed.as_str();
    let id = id_of_file(name);
    let place = with(
        &to.place("/console/add"),
        &[("anyway", "true"), ("row", name)],
    );
    html! {
        tr class="failed" {
            td { (clean(name)) }
            td { @if is_there { a href=(path("/console/books", [&to.library, &id])) { (clean(&id)) } } }
            td {
                (told(language, &FeedOutcome::Refused))
                @if let Some((_, words)) = again { " " button type="button" data-again=(place) { (words) } }
            }
            td { @if is_there { (language.c_is_there()) } @else { (why(language, problem)) } }
        }
    }
}

fn row_of_form(visitor: &Visitor, library: &str, answer: &FeedAnswer) -> Markup {
    let language = visitor.language();
    let FeedAnswer {
        file, id, problem, ..
    } = answer;
    let id = id.as_deref().unwrap_or_default();
    html! {
        tr class=(if problem.is_some() { "failed" } else { "" }) {
            td { (clean(file.as_deref().unwrap_or_default())) }
            td {
                @if problem.is_some() { (clean(id)) }
                @else { a href=(path("/console/books", [library, id])) { (clean(id)) } }
            }
            td { (told(language, &answer.outcome)) }
            td {
                @match problem {
                    Some(problem) => (why(language, problem)),
                    None => { (matching(language, &answer.matches)) (shares(visitor, library, id)) },
                }
            }
        }
    }
}

/// The books that a book matches that was added.
fn matching(language: Language, books: &[BookRef]) -> Markup {
    html! {
        @if !books.is_empty() { p class="warn" { (language.c_matching()) (book_links(books.iter())) } }
    }
}

/// Where a book says what it shares with others.
fn shares(visitor: &Visitor, library: &str, id: &str) -> Markup {
    html! {
        @if visitor.is_admin() {
            a href=(path("/console/matches", [library, id])) { (visitor.language().c_shares()) }
        }
    }
}

/// Why a file was refused: the books that it matches, or another problem.
fn why(language: Language, problem: &Problem) -> Markup {
    let Some(report) = &problem.report else {
        return problem_told(language, problem);
    };
    let deciding = report.matches.iter().filter(|found| found.decides());
    html! {
        (language.problem(&problem.code))
        (book_links(deciding.map(|found| &found.book)))
        @if let Some(note) = &report.note { br; small { (clean(note)) } }
    }
}

/// A link to each book, on a line of its own.
fn book_links<'b>(books: impl Iterator<Item = &'b BookRef>) -> Markup {
    html! {
        @for book in books {
            br;
            a href=(path("/console/books", [&book.library, &book.id])) {
                (clean(book.title.as_deref().unwrap_or(&book.id)))
            }
            " " span class="quiet" { (clean(&book.library)) "/" (clean(&book.id)) }
        }
    }
}

fn told(language: Language, outcome: &FeedOutcome) -> String {
    match outcome {
        FeedOutcome::Added => language.c_was_added(),
        FeedOutcome::Replaced => language.c_was_replaced(),
        FeedOutcome::Unchanged => language.c_was_unchanged(),
        FeedOutcome::Refused => language.c_was_refused(),
    }
}
