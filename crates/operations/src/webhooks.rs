//! Webhooks: where the events of a library are posted.

use std::cmp::Ordering;

use lapidary_catalogue::api::{MadeWebhook, NewWebhook, Webhook, Webhooks};
use lapidary_common::error::ErrorCode;
use lapidary_store::{Library, Table};
use serde_json::json;

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, Upserted,
    VersionOf, excerpt,
};

/// Lists all webhooks.
pub struct ListWebhooks;

impl Operation for ListWebhooks {
    type Path = ();
    type Input = PageQuery;
    type Answer = Webhooks;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/webhooks", Needs::Admin)
        .named("webhooks", "List all webhooks and their delivery status")
        .answers(&[(200, "A page of webhooks, by library")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<Webhooks, OperationError> {
        let webhooks = session.webhooks().all()?;
        let page = query.of(
            webhooks,
            |webhook| webhook.library.clone(),
            Ordering::Greater,
        )?;
        Ok(page.into())
    }
}

/// Shows the webhook of a library.
pub struct ShowWebhook;

impl Operation for ShowWebhook {
    type Path = Library;
    type Input = ();
    type Answer = Webhook;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/libraries/{library}/webhook", Needs::Admin)
        .named(
            "webhook",
            "Show a library's webhook and its delivery status",
        )
        .answers(&[(200, "The webhook")]);

    fn run(session: &Session<'_>, library: Library, (): ()) -> Result<Webhook, OperationError> {
        let mut webhooks = session.webhooks().all()?.into_iter();
        let webhook = webhooks.find(|webhook| webhook.library == library);
        webhook.ok_or_else(|| no_such_webhook(&library))
    }
}

fn version(session: &Session<'_>, library: &Library) -> Result<Option<String>, OperationError> {
    session.version(Table::Webhooks, library.as_str())
}

fn no_such_webhook(library: &Library) -> OperationError {
    let detail = format!("library '{}' has no webhook", excerpt(library.as_str()));
    OperationError::refused(ErrorCode::NoSuchWebhook, detail)
}

/// Sets the webhook of a library.
pub struct PutWebhook;

impl Input for NewWebhook {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "url": "https://books.example/lapidary" }))
    }
}

impl Operation for PutWebhook {
    type Path = Library;
    type Input = NewWebhook;
    type Answer = Upserted<MadeWebhook>;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::put("/v1/libraries/{library}/webhook", Needs::Admin)
        .named(
            "put_webhook",
            "Set a webhook: post an event when a book added to the library matches others",
        )
        .about(
            "Events are sent for books added from now on. The response contains the secret that events are signed \
             with (Standard Webhooks). It is shown only once; another PUT creates a new secret.",
        )
        .answers(&[
            (200, "It replaced an existing one"),
            (201, "It was created"),
        ]);

    fn run(
        session: &Session<'_>,
        library: Library,
        NewWebhook { url }: NewWebhook,
    ) -> Result<Upserted<MadeWebhook>, OperationError> {
        let (made, replaced) = session.webhooks().set(library, url)?;
        Ok(Upserted {
            item: made,
            is_new: !replaced,
        })
    }
}

/// Removes the webhook of a library.
pub struct DeleteWebhook;

impl Operation for DeleteWebhook {
    type Path = Library;
    type Input = ();
    type Answer = Done;
    const VERSION: Option<VersionOf<Self::Path>> = Some(version);
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/libraries/{library}/webhook", Needs::Admin)
        .named("delete_webhook", "Remove a library's webhook")
        .answers(&[(204, "It was removed")]);

    fn run(session: &Session<'_>, library: Library, (): ()) -> Result<Done, OperationError> {
        if session.webhooks().remove(&library)? {
            return Ok(Done);
        }
        Err(no_such_webhook(&library))
    }
}
