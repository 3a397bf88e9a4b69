//! The texts that a re-index waits for.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use utoipa::openapi::path::HttpMethod::Post;

use super::ServerState;
use super::access::Needs::Ingest;
use super::body::{self, RequestBody};
use super::calls::{Call, TEXT, file, json, text};
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::api::RecutResult;
use lapidary_common::error::ErrorCode;
use lapidary_extract::Whole;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Post, "/v1/libraries/{library}/recut/{id:.*}", Ingest, recut)
            .named("recut", "Send a text that a re-index is waiting for")
            .takes([text("text/plain").example(TEXT), file()])
            .answers(
                200,
                "Whether the re-index was waiting for it",
                [json::<RecutResult>()],
            ),
    ]
}

async fn recut(
    request: HttpRequest,
    payload: Payload,
    state: Data<ServerState>,
) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let RequestBody::Raw(raw) = body::json_or_raw(&request, payload, &state).await? else {
        return Err(Problem::new(
            ErrorCode::BadJson,
            "this call takes the book's text; send it with Content-Type: text/plain",
        ));
    };
    work(&state, move |catalogue| {
        let (Whole { text, .. }, mut room) = raw.text()?;
        room.grow_to_add(&text, catalogue)?;
        Answer::ok(&RecutResult {
            added: catalogue.jobs().recut(&key, &text)?,
        })
    })
    .await
}
