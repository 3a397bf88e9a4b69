//! `PATCH`: updates a book's metadata and rights without its text.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};

use super::books::no_such_book;
use super::problem::{Details, Problem};
use super::work::{Answer, work};
use super::{State, body, parameters};
use crate::catalogue::Amendment;
use crate::index::Record;

#[utoipa::path(patch, path = "/v1/libraries/{library}/books/{id}", tag = "books", operation_id = "amend_book",
    summary = "Update a book: disable or enable it, set a note, change its rights",
    description = "Omitted fields keep their values.",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"), ("id" = String, Path, description = "The library's own id; slashes need no escaping", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    request_body(content((Amendment = "application/json"), (Amendment = "application/merge-patch+json"))),
    responses((status = 200, description = "The updated record", body = Record), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn patch(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    parameters::none(request.query_string())?;
    let amendment: Amendment = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let amended = catalogue.amend(&key, &amendment)?;
        Answer::ok(&amended.ok_or_else(|| no_such_book(&key))?)
    })
    .await
}
