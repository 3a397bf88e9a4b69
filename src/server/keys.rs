//! Keys: created, listed, rotated, revoked.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::State;
use super::body;
use super::problem::{Details, Problem, excerpt};
use super::work::{Answer, work};
use crate::catalogue::{CatalogueError, NewKey};

#[utoipa::path(get, path = "/v1/keys", tag = "keys", operation_id = "keys", summary = "List all keys, without their secrets", responses((status = 200, description = "The keys", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&json!({ "keys": catalogue.keys()? }))).await
}

#[utoipa::path(post, path = "/v1/keys", tag = "keys", operation_id = "make_key", summary = "Create a key", description = "Such as `{\"name\": \"shop\", \"role\": \"check\", \"rate\": \"50/s\", \"quota\": \"100000/day\", \"expires\": \"2030-01-31T00:00:00Z\"}`. The role is check, ingest (with `libraries`) or admin. The secret is shown only once.", request_body = Object, responses((status = 201, description = "The key and its secret", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn make(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let new: NewKey = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| Answer::json(StatusCode::CREATED, &catalogue.add_key(new)?)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    /// How long the previous secret stays valid, in seconds.
    overlap_seconds: u32,
}

#[utoipa::path(post, path = "/v1/keys/{name}/rotate", tag = "keys", operation_id = "rotate_key", summary = "Rotate a key: create a new secret", params(("name" = String, Path, description = "The key's name", min_length = 1, max_length = 100)), request_body = Rotation, responses((status = 201, description = "The key and its new secret", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn rotate(
    request: HttpRequest,
    name: Path<String>,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let rotation: Rotation = body::words(&request, payload, &state).await?;
    let overlap = SignedDuration::from_secs(rotation.overlap_seconds.into());
    work(&state, move |catalogue| Answer::json(StatusCode::CREATED, &catalogue.rotate_key(&name, overlap)?)).await
}

#[utoipa::path(delete, path = "/v1/keys/{name}", tag = "keys", operation_id = "revoke_key", summary = "Revoke a key immediately", params(("name" = String, Path, description = "The key's name", min_length = 1, max_length = 100)), responses((status = 204, description = "The key was revoked"), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn revoke(name: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let shared = state.clone();
    work(&state, move |catalogue| {
        if catalogue.revoke_key(&name)? {
            shared.access.forget(&name);
            Ok(Answer::done())
        } else {
            Err(CatalogueError::NoSuchKey(excerpt(&name)).into())
        }
    })
    .await
}
