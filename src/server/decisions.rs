//! Filed checks, and the decisions about them. A key that may only check sees what was filed with it.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::{Get, Post};

use super::access::Needs::Check;
use super::access::Visible;
use super::calls::{Call, json};
use super::problem::Problem;
use super::turns::Lane;
use super::work::{Answer, work};
use super::{State, body, parameters, requests};
use lapidary_catalogue::SoughtDecisions;
use lapidary_catalogue::api::{Decision, DecisionPage, NewDecision};
use lapidary_common::error::ErrorCode;
use lapidary_store::{Actor, BookKey};

/// The default number of entries per page.
const PAGE: usize = 100;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only about the text with this digest (BLAKE3 in hexadecimal)
    digest: Option<String>,
    /// Only about checks that matched this book; requires `book`
    library: Option<String>,
    /// The book's id in the library
    book: Option<String>,
    /// Only entries of this day, in UTC
    day: Option<Date>,
    /// The cursor of the page
    cursor: Option<String>,
    /// The maximum number of entries, from 1 to 1000
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/decisions", Check, page)
            .named("decisions", "List filed checks and the decisions about them")
            .about("Entries are listed without their reports, oldest first. A key with the role check sees its own entries.")
            .query::<Wanted>()
            .answers(200, "A page of entries", [json::<DecisionPage>()]),
        Call::new(Post, "/v1/decisions", Check, decide)
            .named("decide", "Record what was decided about a filed check, and why")
            .about("A check is filed with `record`. Entries are never changed; a new decision is a new entry.")
            .takes([json::<NewDecision>().example(json!({
                "check": "01890a5d-ac96-774b-bcce-b302099a8057", "ruling": "accepted", "reason": "licensed in 2026"
            }))])
            .answers(201, "It was recorded", [json::<Decision>()]),
        Call::new(Get, "/v1/decisions/{decision}", Check, show)
            .named("decision", "Show a filed check with its report, or a decision")
            .answers(200, "The entry", [json::<Decision>()]),
    ]
}

/// The only actor whose entries the request sees; `None` for all.
fn seen_by(request: &HttpRequest) -> Option<Actor> {
    Visible::to(request).map(|_| requests::caller().actor())
}

async fn page(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let known = "digest, library and book (together), day (such as 2026-01-31), cursor (the 'next_cursor' of the previous \
                 page) and limit (a number)";
    let Wanted {
        digest,
        library,
        book,
        day,
        cursor,
        limit,
    } = parameters::query(request.query_string(), known)?;
    let book = match (library, book) {
        (Some(library), Some(id)) => Some(BookKey {
            library: library.try_into()?,
            id: id.try_into()?,
        }),
        (None, None) => None,
        _ => {
            return Err(Problem::new(
                ErrorCode::BadQuery,
                "give both of 'library' and 'book', or none",
            ));
        }
    };
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    let (sought, by) = (SoughtDecisions { digest, book, day }, seen_by(&request));
    work(&state, move |catalogue| {
        Answer::ok(&catalogue.decisions(&sought, by.as_ref(), cursor.as_deref(), limit)?)
    })
    .await
}

async fn decide(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    parameters::none(request.query_string())?;
    // It waits for the disk.
    requests::is_work_of(Lane::Changes);
    let by = seen_by(&request);
    let new: NewDecision = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        Answer::json(StatusCode::CREATED, &catalogue.decide(&new, by.as_ref())?)
    })
    .await
}

async fn show(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let (id, by) = (
        parameters::rest(&request, 3)?.into_owned(),
        seen_by(&request),
    );
    work(&state, move |catalogue| {
        Answer::ok(&catalogue.decision(&id, by.as_ref())?)
    })
    .await
}
