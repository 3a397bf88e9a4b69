//! Keys: made, listed, rotated, revoked.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::json;

use super::State;
use super::body;
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use crate::catalogue::{CatalogueError, NewKey};

/// `GET /v1/keys`
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&json!({ "keys": catalogue.keys()? }))).await
}

/// `POST /v1/keys`
pub(super) async fn make(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let new: NewKey = body::only_json(&request, payload, state.max_body).await?;
    work(&state, move |catalogue| Answer::json(StatusCode::CREATED, &catalogue.add_key(new)?)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// How long the secret before is good yet.
    overlap_seconds: u32,
}

/// `POST /v1/keys/{name}/rotate`
pub(super) async fn rotate(
    request: HttpRequest,
    name: Path<String>,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let rotation: Rotation = body::only_json(&request, payload, state.max_body).await?;
    let overlap = SignedDuration::from_secs(rotation.overlap_seconds.into());
    work(&state, move |catalogue| Answer::json(StatusCode::CREATED, &catalogue.rotate_key(&name, overlap)?)).await
}

/// `DELETE /v1/keys/{name}`
pub(super) async fn revoke(name: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, move |catalogue| {
        if catalogue.revoke_key(&name)? {
            Ok(Answer::done())
        } else {
            Err(CatalogueError::NoSuchKey(excerpt(&name)).into())
        }
    })
    .await
}
