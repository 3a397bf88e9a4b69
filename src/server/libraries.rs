//! Lists libraries and their books, and shows catalogue statistics.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::State;
use super::parameters;
use super::problem::{Details, Problem};
use super::work::{Answer, work};
use crate::catalogue::{Page, Stats};
use crate::index::{BookId, LibrarySummary};

/// The default number of books per page.
const PAGE: usize = 100;

/// All libraries.
#[derive(Serialize, ToSchema)]
pub(super) struct Libraries {
    /// Ordered by name.
    libraries: Vec<LibrarySummary>,
}

#[utoipa::path(get, path = "/v1/libraries", tag = "books", operation_id = "libraries", summary = "List all libraries",
    responses((status = 200, description = "All libraries that have books", body = Libraries), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&Libraries { libraries: catalogue.libraries()? })).await
}

#[utoipa::path(get, path = "/v1/stats", tag = "server", operation_id = "stats", summary = "Show catalogue statistics",
    responses((status = 200, description = "The statistics", body = Stats), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn stats(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&catalogue.stats()?)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    cursor: Option<String>,
    limit: Option<usize>,
}

#[utoipa::path(get, path = "/v1/libraries/{library}/books", tag = "books", operation_id = "books", summary = "List the books of a library, one page at a time",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the previous page", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"),
        ("limit" = Option<u32>, Query, description = "The maximum number of books", minimum = 1, maximum = 1000)),
    responses((status = 200, description = "A page of books, ordered by id", body = Page), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn books(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    let known = "cursor (the 'next_cursor' of the page before) and limit (a number)";
    let wanted: Wanted = parameters::query(request.query_string(), known)?;
    let cursor: Option<BookId> = wanted.cursor.map(TryInto::try_into).transpose()?;
    let limit = parameters::limit(wanted.limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| Answer::ok(&catalogue.books(&library, cursor.as_ref(), limit)?)).await
}
