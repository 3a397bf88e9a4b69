//! Webhooks: where the events of a library are posted.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use utoipa::openapi::path::HttpMethod::{Delete, Get, Put};

use super::access::Needs::Admin;
use super::calls::{Call, json};
use super::problem::{Problem, excerpt};
use super::work::{Answer, work};
use super::{State, body, parameters};
use lapidary_catalogue::api::{MadeWebhook, NewWebhook, Webhooks};
use lapidary_common::error::ErrorCode;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/webhooks", Admin, all)
            .named("webhooks", "List all webhooks and their delivery status")
            .answers(200, "All webhooks, by library", [json::<Webhooks>()]),
        Call::new(Put, "/v1/libraries/{library}/webhook", Admin, put)
            .named("put_webhook", "Set a webhook: post an event when a book added to the library matches others")
            .about(
                "Events are sent for books added from now on. The response contains the secret that events are signed \
                 with (Standard Webhooks). It is shown only once; another PUT creates a new secret.",
            )
            .takes([json::<NewWebhook>().example(json!({ "url": "https://books.example/lapidary" }))])
            .answers(200, "It replaced an existing one", [json::<MadeWebhook>()])
            .answers(201, "It was created", [json::<MadeWebhook>()]),
        Call::new(Delete, "/v1/libraries/{library}/webhook", Admin, delete)
            .named("delete_webhook", "Remove a library's webhook")
            .answers(204, "It was removed", []),
    ]
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| {
        Answer::ok(&Webhooks {
            webhooks: catalogue.webhooks()?,
        })
    })
    .await
}

async fn put(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    parameters::none(request.query_string())?;
    let NewWebhook { url } = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let (made, replaced) = catalogue.set_webhook(library, url)?;
        Answer::json(
            if replaced {
                StatusCode::OK
            } else {
                StatusCode::CREATED
            },
            &made,
        )
    })
    .await
}

async fn delete(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    work(&state, move |catalogue| {
        if catalogue.remove_webhook(&library)? {
            return Ok(Answer::done());
        }
        let library = excerpt(library.as_str());
        Err(Problem::new(
            ErrorCode::NoSuchWebhook,
            format!("library '{library}' has no webhook"),
        ))
    })
    .await
}
