//! Webhooks: where the events of a library, or of a key, are posted.

use std::cmp::Ordering;

use lapidary_catalogue::WebhookOwner;
use lapidary_catalogue::api::{
    KeyWebhook, KeyWebhooks, MadeKeyWebhook, MadeWebhook, NewWebhook, Replay, Webhook, WebhookTest,
    Webhooks,
};
use lapidary_common::error::ErrorCode;
use lapidary_store::{Library, Table};
use serde_json::json;

use crate::{
    Done, Endpoint, Input, Needs, Operation, OperationError, PageQuery, SentAs, Session, Upserted,
    VersionOf, excerpt,
};

/// What there is to know about webhooks.
const SET: &str = "What happens from now on is told; without `events`, `book.matched`. The response contains the secret that events are \
                   signed with (Standard Webhooks). It is shown only once; another PUT creates a new secret.";
const SET_OWN: &str = "What happens from now on is told, as far as the key may see it; without `events`, all. It ends with the key, and stays \
                       when this gets a new secret. The response contains the secret that events are signed with (Standard \
                       Webhooks). It is shown only once; another PUT creates a new one.";
const REPLAYED: &str = "Events of this entry of the audit log and of all later ones are sent again, with the same ids, if what they are \
                        about is still there.";
const TESTED: &str = "An event `webhook.test` is sent at once, and not again.";

/// Lists the webhooks of libraries.
pub struct ListWebhooks;

impl Operation for ListWebhooks {
    type Path = ();
    type Input = PageQuery;
    type Answer = Webhooks;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/webhooks", Needs::Admin)
        .named(
            "webhooks",
            "List the webhooks of libraries and their delivery status",
        )
        .answers(&[(200, "A page of webhooks, by library")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<Webhooks, OperationError> {
        let webhooks = session.webhooks().of_libraries()?;
        let page = query.of(
            webhooks,
            |webhook| webhook.library.clone(),
            Ordering::Greater,
        )?;
        Ok(page.into())
    }
}

/// Lists the webhooks of keys.
pub struct ListKeyWebhooks;

impl Operation for ListKeyWebhooks {
    type Path = ();
    type Input = PageQuery;
    type Answer = KeyWebhooks;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/webhooks/keys", Needs::Admin)
        .named(
            "key_webhooks",
            "List the webhooks of keys and their delivery status",
        )
        .answers(&[(200, "A page of webhooks, by key")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<KeyWebhooks, OperationError> {
        let webhooks = session.webhooks().of_keys()?;
        let page = query.of(webhooks, |webhook| webhook.key.clone(), Ordering::Greater)?;
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
        let mut webhooks = session.webhooks().of_libraries()?.into_iter();
        let webhook = webhooks.find(|webhook| webhook.library == library);
        webhook.ok_or_else(|| no_such_webhook(&WebhookOwner::Library(library)))
    }
}

/// Shows the webhook of the key.
pub struct ShowOwnWebhook;

impl Operation for ShowOwnWebhook {
    type Path = ();
    type Input = ();
    type Answer = KeyWebhook;
    const VERSION: Option<VersionOf<Self::Path>> = Some(own_version);
    const ENDPOINT: Endpoint = Endpoint::get("/v1/me/webhook", Needs::AnyKey)
        .named(
            "own_webhook",
            "Show the key's own webhook and its delivery status",
        )
        .answers(&[(200, "The webhook")]);

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<KeyWebhook, OperationError> {
        let key = own_key(session)?;
        let mut webhooks = session.webhooks().of_keys()?.into_iter();
        let webhook = webhooks.find(|webhook| webhook.key == key);
        webhook.ok_or_else(|| no_such_webhook(&WebhookOwner::Key(key)))
    }
}

fn version(session: &Session<'_>, library: &Library) -> Result<Option<String>, OperationError> {
    session.version(Table::Webhooks, library.as_str())
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the path of these operations is `()`"
)]
fn own_version(session: &Session<'_>, (): &()) -> Result<Option<String>, OperationError> {
    session.version(Table::KeyWebhooks, &own_key(session)?)
}

/// The name of the key that calls.
fn own_key(session: &Session<'_>) -> Result<String, OperationError> {
    let key = session.key().map(str::to_owned);
    key.ok_or_else(|| {
        let detail =
            "only a key has a webhook of its own: send one, or set the webhook of a library";
        OperationError::refused(ErrorCode::NoKey, detail)
    })
}

fn own(session: &Session<'_>) -> Result<WebhookOwner, OperationError> {
    own_key(session).map(WebhookOwner::Key)
}

fn no_such_webhook(owner: &WebhookOwner) -> OperationError {
    let detail = match owner {
        WebhookOwner::Library(library) => {
            format!("library '{}' has no webhook", excerpt(library.as_str()))
        }
        WebhookOwner::Key(key) => format!("key '{}' has no webhook", excerpt(key)),
    };
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
            "Set a library's webhook: post events of its books, such as that an added one matches others",
        )
        .about(SET)
        .answers(&[
            (200, "It replaced an existing one"),
            (201, "It was created"),
        ]);

    fn run(
        session: &Session<'_>,
        library: Library,
        new: NewWebhook,
    ) -> Result<Upserted<MadeWebhook>, OperationError> {
        let (item, replaced) = session.webhooks().set_of_library(library, new)?;
        Ok(Upserted {
            item,
            is_new: !replaced,
        })
    }
}

/// Sets the webhook of the key.
pub struct PutOwnWebhook;

impl Operation for PutOwnWebhook {
    type Path = ();
    type Input = NewWebhook;
    type Answer = Upserted<MadeKeyWebhook>;
    const VERSION: Option<VersionOf<Self::Path>> = Some(own_version);
    const ENDPOINT: Endpoint = Endpoint::put("/v1/me/webhook", Needs::AnyKey)
        .named(
            "put_own_webhook",
            "Set the key's own webhook: post events of what the key may see",
        )
        .about(SET_OWN)
        .answers(&[
            (200, "It replaced an existing one"),
            (201, "It was created"),
        ]);

    fn run(
        session: &Session<'_>,
        (): (),
        new: NewWebhook,
    ) -> Result<Upserted<MadeKeyWebhook>, OperationError> {
        let (item, replaced) = session.webhooks().set_of_key(own_key(session)?, new)?;
        Ok(Upserted {
            item,
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
        remove(session, &WebhookOwner::Library(library))
    }
}

/// Removes the webhook of the key.
pub struct DeleteOwnWebhook;

impl Operation for DeleteOwnWebhook {
    type Path = ();
    type Input = ();
    type Answer = Done;
    const VERSION: Option<VersionOf<Self::Path>> = Some(own_version);
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/me/webhook", Needs::AnyKey)
        .named("delete_own_webhook", "Remove the key's own webhook")
        .answers(&[(204, "It was removed")]);

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<Done, OperationError> {
        remove(session, &own(session)?)
    }
}

/// Removes the webhook of any key.
pub struct DeleteKeyWebhook;

impl Operation for DeleteKeyWebhook {
    type Path = String;
    type Input = ();
    type Answer = Done;
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/keys/{name}/webhook", Needs::Admin)
        .named("delete_key_webhook", "Remove the webhook of a key")
        .answers(&[(204, "It was removed")]);

    fn run(session: &Session<'_>, name: String, (): ()) -> Result<Done, OperationError> {
        remove(session, &WebhookOwner::Key(name))
    }
}

fn remove(session: &Session<'_>, owner: &WebhookOwner) -> Result<Done, OperationError> {
    if session.webhooks().remove(owner)? {
        return Ok(Done);
    }
    Err(no_such_webhook(owner))
}

/// Sends events of a library again.
pub struct ReplayWebhook;

impl Input for Replay {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({ "from": 1 }))
    }
}

impl Operation for ReplayWebhook {
    type Path = Library;
    type Input = Replay;
    type Answer = Done;
    const ENDPOINT: Endpoint =
        Endpoint::post("/v1/libraries/{library}/webhook/replay", Needs::Admin)
            .named("replay_webhook", "Send events of a library again")
            .about(REPLAYED)
            .answers(&[(204, "They will be sent again")]);

    fn run(session: &Session<'_>, library: Library, again: Replay) -> Result<Done, OperationError> {
        replay(session, &WebhookOwner::Library(library), again)
    }
}

/// Sends events of the key again.
pub struct ReplayOwnWebhook;

impl Operation for ReplayOwnWebhook {
    type Path = ();
    type Input = Replay;
    type Answer = Done;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/me/webhook/replay", Needs::AnyKey)
        .named("replay_own_webhook", "Send events of the key again")
        .about(REPLAYED)
        .answers(&[(204, "They will be sent again")]);

    fn run(session: &Session<'_>, (): (), again: Replay) -> Result<Done, OperationError> {
        replay(session, &own(session)?, again)
    }
}

fn replay(
    session: &Session<'_>,
    owner: &WebhookOwner,
    Replay { from }: Replay,
) -> Result<Done, OperationError> {
    if session.webhooks().replay(owner, from)? {
        return Ok(Done);
    }
    Err(no_such_webhook(owner))
}

/// Sends a test to the webhook of a library.
pub struct TestWebhook;

impl Operation for TestWebhook {
    type Path = Library;
    type Input = ();
    type Answer = WebhookTest;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/libraries/{library}/webhook/test", Needs::Admin)
        .named("test_webhook", "Send a test to a library's webhook")
        .about(TESTED)
        .answers(&[(200, "Whether it was confirmed")]);

    fn run(session: &Session<'_>, library: Library, (): ()) -> Result<WebhookTest, OperationError> {
        test(session, &WebhookOwner::Library(library))
    }
}

/// Sends a test to the webhook of the key.
pub struct TestOwnWebhook;

impl Operation for TestOwnWebhook {
    type Path = ();
    type Input = ();
    type Answer = WebhookTest;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/me/webhook/test", Needs::AnyKey)
        .named("test_own_webhook", "Send a test to the key's own webhook")
        .about(TESTED)
        .answers(&[(200, "Whether it was confirmed")]);

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<WebhookTest, OperationError> {
        test(session, &own(session)?)
    }
}

fn test(session: &Session<'_>, owner: &WebhookOwner) -> Result<WebhookTest, OperationError> {
    let tested = session.webhooks().test(owner)?;
    tested.ok_or_else(|| no_such_webhook(owner))
}
