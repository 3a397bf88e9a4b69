//! Keys: created, listed, rotated, revoked.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::path::HttpMethod::{Delete, Get, Post};

use super::State;
use super::access::Needs::Admin;
use super::body;
use super::calls::{Call, json, object};
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use crate::catalogue::{CatalogueError, NewKey};

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/keys", Admin, all).named("keys", "List all keys, without their secrets").answers(
            200,
            "The keys",
            [object()],
        ),
        Call::new(Post, "/v1/keys", Admin, make)
            .named("make_key", "Create a key")
            .about(
                "Such as `{\"name\": \"shop\", \"role\": \"check\", \"rate\": \"50/s\", \"quota\": \"100000/day\", \
                 \"expires\": \"2030-01-31T00:00:00Z\"}`. The role is check, ingest (with `libraries`) or admin. The \
                 secret is shown only once.",
            )
            .takes([object()])
            .answers(201, "The key and its secret", [object()]),
        Call::new(Post, "/v1/keys/{name}/rotate", Admin, rotate)
            .named("rotate_key", "Rotate a key: create a new secret")
            .takes([json::<Rotation>()])
            .answers(201, "The key and its new secret", [object()]),
        Call::new(Delete, "/v1/keys/{name}", Admin, revoke).named("revoke_key", "Revoke a key immediately").answers(
            204,
            "The key was revoked",
            [],
        ),
    ]
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&json!({ "keys": catalogue.keys()? }))).await
}

async fn make(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let new: NewKey = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| Answer::json(StatusCode::CREATED, &catalogue.add_key(new)?)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    /// How long the previous secret stays valid, in seconds.
    overlap_seconds: u32,
}

async fn rotate(
    request: HttpRequest,
    name: Path<String>,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let rotation: Rotation = body::words(&request, payload, &state).await?;
    let overlap = SignedDuration::from_secs(rotation.overlap_seconds.into());
    work(&state, move |catalogue| Answer::json(StatusCode::CREATED, &catalogue.rotate_key(&name, overlap)?)).await
}

async fn revoke(name: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
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
