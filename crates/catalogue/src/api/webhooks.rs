//! Webhooks, and the events that are posted to them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BookRef, Report};
use lapidary_store::Library;

/// Where to post to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// An HTTP or HTTPS URL. It must be on the public internet unless the server allows others.
    #[schema(max_length = 2000)]
    pub url: String,
}

/// The destination of a library's events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// The library.
    #[schema(value_type = String)]
    pub library: Library,
    /// The address that events are posted to.
    pub url: String,
    /// When it was set. Books added earlier are not reported.
    pub created_at: Timestamp,
    /// Number of changes of the catalogue not processed yet.
    pub pending_changes: u64,
    /// The current delivery failure, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<DeliveryFailure>,
}

/// Why events are not being delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryFailure {
    /// Failed attempts to deliver the next event since the server started.
    pub attempts: u32,
    /// The last error.
    pub error: String,
}

/// A new webhook with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeWebhook {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// The secret that its events are signed with. It is shown only once.
    pub secret: String,
}

/// A page of webhooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhooks {
    /// Ordered by library.
    pub webhooks: Vec<Webhook>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// The body of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WebhookEvent {
    /// `book.matched`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When the book was added.
    pub timestamp: Timestamp,
    /// The book and its matches.
    pub data: MatchEvent,
}

/// A book that matches others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MatchEvent {
    /// The book that was added or replaced.
    pub book: BookRef,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The result of checking it against all other books.
    pub report: Report,
}
