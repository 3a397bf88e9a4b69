//! Lists libraries and their books.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::Get;

use super::State;
use super::access::Needs::{Admin, Ingest};
use super::calls::{Call, json};
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work};
use crate::api::{Libraries, Page};
use crate::index::BookId;

/// The default number of books per page.
const PAGE: usize = 100;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/libraries", Admin, all).named("libraries", "List all libraries").answers(
            200,
            "All libraries that have books",
            [json::<Libraries>()],
        ),
        Call::new(Get, "/v1/libraries/{library}/books", Ingest, books)
            .named("books", "List the books of a library, one page at a time")
            .query::<Wanted>()
            .answers(200, "A page of books, ordered by id", [json::<Page>()]),
    ]
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&Libraries { libraries: catalogue.libraries()? })).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The `next_cursor` of the previous page
    #[param(min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")]
    cursor: Option<String>,
    /// The maximum number of books
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

async fn books(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    let known = "cursor (the 'next_cursor' of the previous page) and limit (a number)";
    let wanted: Wanted = parameters::query(request.query_string(), known)?;
    let cursor: Option<BookId> = wanted.cursor.map(TryInto::try_into).transpose()?;
    let limit = parameters::limit(wanted.limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| Answer::ok(&catalogue.books(&library, cursor.as_ref(), limit)?)).await
}
