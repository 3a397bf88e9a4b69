//! Lists libraries and their books.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::{Get, Put};

use super::State;
use super::access::Needs::{Admin, Ingest};
use super::calls::{Call, json};
use super::problem::Problem;
use super::work::{Answer, work};
use super::{body, parameters};
use lapidary_catalogue::api::{Libraries, LibraryTrust, Page};
use lapidary_store::BookId;

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
        Call::new(Put, "/v1/libraries/{library}/trust", Admin, trust)
            .named("trust_library", "Say whether a library is trusted")
            .about(
                "The books of a library that is not trusted decide only in what its own keys are told. For everybody else, they \
                 are information. A library of which nothing was said is trusted. It may have no books yet.",
            )
            .takes([json::<LibraryTrust>().example(json!({ "trusted": true }))])
            .answers(200, "Whether it is trusted now", [json::<LibraryTrust>()]),
    ]
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| {
        Answer::ok(&Libraries {
            libraries: catalogue.libraries()?,
        })
    })
    .await
}

async fn trust(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    parameters::none(request.query_string())?;
    let said: LibraryTrust = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        catalogue.set_trust(&library, said.trusted)?;
        Answer::ok(&said)
    })
    .await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The `next_cursor` of the previous page
    #[param(
        min_length = 1,
        max_length = 512,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"
    )]
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
    work(&state, move |catalogue| {
        Answer::ok(&catalogue.books(&library, cursor.as_ref(), limit)?)
    })
    .await
}
