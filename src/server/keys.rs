//! Keys: created, listed, rotated, revoked.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use jiff::SignedDuration;
use serde_json::json;
use utoipa::openapi::path::HttpMethod::{Delete, Get, Post};

use super::State;
use super::access::Needs::Admin;
use super::body;
use super::calls::{Call, json};
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use lapidary_catalogue::CatalogueError;
use lapidary_catalogue::api::{Keys, MadeKey, NewKey, Rotation};

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/keys", Admin, all).named("keys", "List all keys, without their secrets").answers(
            200,
            "The keys",
            [json::<Keys>()],
        ),
        Call::new(Post, "/v1/keys", Admin, make)
            .named("make_key", "Create a key")
            .about(
                "The role is check, texts or ingest (these with `libraries`), or admin. The secret is shown only once. From the first \
                 key on, every call needs one: make an admin's key first.",
            )
            .takes([json::<NewKey>().example(json!({ "name": "me", "role": "admin" }))])
            .answers(201, "The key and its secret", [json::<MadeKey>()]),
        Call::new(Post, "/v1/keys/{name}/rotate", Admin, rotate)
            .named("rotate_key", "Rotate a key: create a new secret")
            .takes([json::<Rotation>().example(json!({ "overlap_seconds": 86_400 }))])
            .answers(201, "The key and its new secret", [json::<MadeKey>()]),
        Call::new(Delete, "/v1/keys/{name}", Admin, revoke)
            .named("revoke_key", "Revoke a key immediately")
            .about(
                "If that cannot be written, the answer is 507 `revoked_in_memory`: this server refuses the key from now on, and tries again \
                 to write that. Until then, other servers of a cluster may accept the key, and so does this one if it is restarted.",
            )
            .answers(204, "The key was revoked, and that is on disk", []),
    ]
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| {
        Answer::ok(&Keys {
            keys: catalogue.keys()?,
        })
    })
    .await
}

async fn make(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let new: NewKey = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        Answer::json(StatusCode::CREATED, &catalogue.add_key(new)?)
    })
    .await
}

async fn rotate(
    request: HttpRequest,
    name: Path<String>,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let rotation: Rotation = body::words(&request, payload, &state).await?;
    let overlap = SignedDuration::from_secs(rotation.overlap_seconds.into());
    work(&state, move |catalogue| {
        Answer::json(StatusCode::CREATED, &catalogue.rotate_key(&name, overlap)?)
    })
    .await
}

async fn revoke(name: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let shared = state.clone();
    work(&state, move |catalogue| {
        let revoked = catalogue.revoke_key_at_once(&name);
        if matches!(
            revoked,
            Ok(true) | Err(CatalogueError::RevokedInMemory { .. })
        ) {
            shared.access.forget(&name);
        }
        if revoked? {
            Ok(Answer::done())
        } else {
            Err(CatalogueError::NoSuchKey(excerpt(&name)).into())
        }
    })
    .await
}
