//! Webhooks, and the events that are posted to them.

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::{BookRef, Decision, JobState, Report};
use lapidary_common::words;
use lapidary_store::Library;

words! {
    /// The type of an event.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum EventType {
        /// A book that was added or replaced matches others.
        BookMatched = "book.matched",
        /// A book that was added or replaced waits in quarantine.
        BookQuarantined = "book.quarantined",
        /// An administrator confirmed a book, which ends its quarantine.
        BookConfirmed = "book.confirmed",
        /// A library is trusted now.
        LibraryTrusted = "library.trusted",
        /// A library is not trusted any more.
        LibraryDistrusted = "library.distrusted",
        /// A run of a source ended.
        SourceEnded = "source.ended",
        /// A run of a source cannot go on for now.
        SourceFailed = "source.failed",
        /// A check was filed that waits for a decision.
        CheckFiled = "check.filed",
        /// A filed check that is watched matches a book that was added later.
        CheckMatched = "check.matched",
        /// A filed check was accepted or refused.
        DecisionMade = "decision.made",
        /// A decision was disputed.
        DecisionAppealed = "decision.appealed",
        /// A job is done, failed or was cancelled.
        JobEnded = "job.ended",
        /// A key has used up its daily quota.
        QuotaReached = "quota.reached",
    }
}

impl EventType {
    /// Whether the webhook of a library can choose it; the others concern keys.
    #[must_use]
    pub fn is_of_libraries(self) -> bool {
        !matches!(
            self,
            Self::CheckFiled
                | Self::CheckMatched
                | Self::DecisionMade
                | Self::DecisionAppealed
                | Self::JobEnded
                | Self::QuotaReached
        )
    }
}

impl FromStr for EventType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::named(name).ok_or_else(|| {
            format!(
                "an event is one of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// Where to post to.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// An HTTP or HTTPS URL. It must be on the public internet unless the server allows others.
    #[schema(max_length = 2000)]
    pub url: String,
    /// The types of events to send; if absent, those of a library are `book.matched`, and those of a key all.
    #[schema(min_items = 1)]
    pub events: Option<BTreeSet<EventType>>,
}

/// The destination of a library's events.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// The library.
    #[schema(value_type = String)]
    pub library: Library,
    /// The address that events are posted to.
    pub url: String,
    /// The types of events that are sent.
    #[serde(default)]
    pub events: BTreeSet<EventType>,
    /// When it was set. Books added earlier are not reported.
    pub created_at: Timestamp,
    /// Number of changes of the catalogue not processed yet.
    pub pending_changes: u64,
    /// The current delivery failure, if any.
    pub failure: Option<DeliveryFailure>,
}

/// The destination of a key's events.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyWebhook {
    /// The name of the key.
    pub key: String,
    /// The address that events are posted to.
    pub url: String,
    /// The types of events that are sent.
    pub events: BTreeSet<EventType>,
    /// When it was set. What happened earlier is not told, unless it is replayed.
    pub created_at: Timestamp,
    /// Number of changes of the catalogue not processed yet.
    pub pending_changes: u64,
    /// The current delivery failure, if any.
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

/// A new webhook of a key with its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeKeyWebhook {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: KeyWebhook,
    /// The secret that its events are signed with. It is shown only once.
    pub secret: String,
}

/// From where to send events again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The number of the first entry of the audit log whose events are sent again; events name it as `change`.
    #[schema(minimum = 1)]
    pub from: u64,
}

/// Whether an event arrives.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookTest {
    /// Whether the receiver confirmed it.
    pub delivered: bool,
    /// Why not.
    pub error: Option<String>,
}

/// A page of webhooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhooks {
    /// Ordered by library.
    pub webhooks: Vec<Webhook>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// A page of webhooks of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyWebhooks {
    /// Ordered by key.
    pub webhooks: Vec<KeyWebhook>,
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

/// What became of a book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BookEvent {
    /// The book.
    pub book: BookRef,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The path of the book in the API.
    pub url: String,
}

/// What was said of a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibraryEvent {
    /// The library.
    pub library: String,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The path of its books in the API.
    pub url: String,
}

/// What a key may use no more of today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuotaEvent {
    /// The name of the key.
    pub key: String,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The path of the key in the API.
    pub url: String,
}

/// A filed check, or a decision about one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecisionEvent {
    /// The filed check or the decision, as lists show it.
    pub decision: Decision,
    /// For a filed check: the libraries of the key that it matched; for an administrator's key, all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub libraries: BTreeSet<String>,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The path of the check or decision in the API.
    pub url: String,
}

/// A job that has ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobEvent {
    /// Its number.
    pub job: u32,
    /// The kind of job, while it is remembered.
    pub kind: Option<String>,
    /// How it ended.
    pub state: JobState,
    /// Why it failed.
    pub error: Option<String>,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The path of the job in the API.
    pub url: String,
}

/// A run of a source that ended, or cannot go on for now.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceEvent {
    /// The name of the source.
    pub source: String,
    /// The library that its books belong to.
    pub library: String,
    /// The number of the run.
    pub run: u64,
    /// Why it cannot go on. It is tried again.
    pub error: Option<String>,
    /// The number of the change in the audit log.
    pub change: u64,
    /// The path of the source in the API.
    pub url: String,
}

/// The data of a test (`webhook.test`): nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestEvent {}
