//! Webhooks: where the events of a library are posted.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problem::{Details, Problem, excerpt};
use super::work::{Answer, work};
use super::{State, body, parameters};
use crate::catalogue::{MadeWebhook, Webhook};

/// All webhooks.
#[derive(Serialize, ToSchema)]
pub(super) struct All {
    /// Ordered by library.
    webhooks: Vec<Webhook>,
}

/// Where to post to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewWebhook)]
pub(super) struct Asked {
    /// An HTTP or HTTPS URL. It must be on the public internet unless the server allows others.
    #[schema(max_length = 2000)]
    url: String,
}

#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks", operation_id = "webhooks", summary = "List all webhooks and their delivery status",
    responses((status = 200, description = "All webhooks, by library", body = All), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&All { webhooks: catalogue.webhooks()? })).await
}

#[utoipa::path(put, path = "/v1/libraries/{library}/webhook", tag = "webhooks", operation_id = "put_webhook",
    summary = "Set a webhook: post an event when a book added to the library matches others",
    description = "Events are sent for books added from now on. The response contains the secret that events are signed with (Standard Webhooks). It is shown only once; another PUT creates a new secret.",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    request_body = Asked,
    responses((status = 200, description = "It replaced an existing one", body = MadeWebhook), (status = 201, description = "It was created", body = MadeWebhook), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn put(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    parameters::none(request.query_string())?;
    let Asked { url } = body::words(&request, payload, &state).await?;
    work(&state, move |catalogue| {
        let (made, replaced) = catalogue.set_webhook(library, url)?;
        Answer::json(if replaced { StatusCode::OK } else { StatusCode::CREATED }, &made)
    })
    .await
}

#[utoipa::path(delete, path = "/v1/libraries/{library}/webhook", tag = "webhooks", operation_id = "delete_webhook", summary = "Remove a library's webhook",
    params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")),
    responses((status = 204, description = "It was removed"), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")),)]
pub(super) async fn delete(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let library = parameters::library(&request)?;
    work(&state, move |catalogue| {
        if catalogue.remove_webhook(&library)? {
            return Ok(Answer::done());
        }
        let library = excerpt(library.as_str());
        Err(Problem::missing("no_such_webhook", format!("library '{library}' has no webhook")))
    })
    .await
}
