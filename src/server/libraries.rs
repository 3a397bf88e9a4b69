//! What there is: libraries, their books, and the catalogue in numbers.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;

use super::State;
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work};
use crate::index::BookId;

/// How many books a page has when no limit is given.
const PAGE: usize = 100;

/// `GET /v1/libraries`
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&json!({ "libraries": catalogue.libraries()? }))).await
}

/// `GET /v1/stats`
pub(super) async fn stats(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&catalogue.stats()?)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    cursor: Option<String>,
    limit: Option<usize>,
}

/// `GET /v1/libraries/{library}/books`
pub(super) async fn books(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    let known = "cursor (the 'next_cursor' of the page before) and limit (a number)";
    let wanted: Wanted = parameters::query(request.query_string(), known)?;
    let cursor: Option<BookId> = wanted.cursor.map(TryInto::try_into).transpose()?;
    let limit = parameters::limit(wanted.limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| Answer::ok(&catalogue.books(&library, cursor.as_ref(), limit)?)).await
}
