//! Sources: where books come from that are fetched.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::object;
use crate::permission::{Rate, Unless};
use crate::sources::{OnMissing, Reason, SourceKind, SourceLimit};
use lapidary_store::{BookId, Library, Rights, Validity};

/// Where books are, and what becomes of them.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceDefinition {
    /// What it is.
    pub kind: SourceKind,
    /// A URL; for a folder, a list or an ONIX feed, also a path on the server, which needs an admin key.
    pub url: String,
    /// The library that its books belong to.
    #[schema(value_type = String)]
    pub library: Library,
    /// The rights of its books.
    pub rights: Rights,
    /// Take only books whose addresses contain one of these; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub url_contains: Vec<String>,
    /// Take also books whose addresses match one of these regular expressions, and no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub url_matches: Vec<String>,
    /// The days on which the rights of its books are in effect, if limited.
    #[serde(default, deserialize_with = "object::optional")]
    pub validity: Option<Validity>,
    /// Where the text of a page is that is a book: a CSS selector, such as `main` or `.chapter`, or `readability`, which finds it as
    /// the reading mode of a browser does. All of the page but its navigation if absent.
    pub text_selector: Option<String>,
    /// An e-mail address or a URL that is sent with each request, so that the owner of a site can reach you. Sources on the
    /// web need one.
    pub contact: Option<String>,
    /// Whether addresses of the server's machine and network may be used. Needs an admin key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_private: bool,
    /// Whether `robots.txt` is not asked: only for servers of your own, or with their owners' consent. Needs an admin key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_robots: bool,
    /// What becomes of books that the source no longer has.
    #[serde(default)]
    pub on_missing: OnMissing,
    /// Only for a site: once a run has added this many new books, it does not read again what earlier runs have read. If absent, it
    /// reads all pages.
    #[schema(minimum = 1)]
    pub new_books_per_run: Option<u64>,
    /// The set of an OAI repository.
    pub oai_set: Option<String>,
    /// Where the credentials are: `env:NAME` for a variable of the server whose name starts with `LAPIDARY_SOURCE_`. It has
    /// `USER:PASSWORD`, a token, or `ID:SECRET` of an access key for a bucket. Needs an admin key.
    pub credentials: Option<String>,
    /// The highest rate of requests to a host, such as `30/min`. More than `1/s` needs an admin key.
    #[schema(value_type = Option<String>)]
    pub rate: Option<Rate>,
    /// The most addresses of one run. More than 100,000 need an admin key.
    #[serde(default = "max_urls")]
    pub max_urls: u64,
    /// How many seconds after its beginning a run is repeated; without it, only when told to.
    #[schema(minimum = 1)]
    pub interval_seconds: Option<u64>,
    /// Refuse a book if the verdict of its check is this, or stricter.
    pub unless: Option<Unless>,
    /// Whether it is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

fn max_urls() -> u64 {
    SourceDefinition::MOST
}

impl SourceDefinition {
    /// The most addresses of a run by default, and of a source that an ingest key defines.
    pub const MOST: u64 = 100_000;

    /// A source of this kind, with what it has by default.
    #[must_use]
    pub fn new(kind: SourceKind, address: &str, library: Library, rights: Rights) -> Self {
        Self {
            kind,
            url: address.to_owned(),
            library,
            rights,
            url_contains: Vec::new(),
            url_matches: Vec::new(),
            validity: None,
            text_selector: None,
            contact: None,
            allow_private: false,
            ignore_robots: false,
            on_missing: OnMissing::default(),
            new_books_per_run: None,
            oai_set: None,
            credentials: None,
            rate: None,
            max_urls: max_urls(),
            interval_seconds: None,
            unless: None,
            paused: false,
        }
    }
}

/// Changes of a definition: fields that are absent stay, and those that are `null` are removed.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub struct SourceChange {
    /// Whether it is paused. A run stops within seconds, and goes on where it was.
    paused: Option<bool>,
    /// The rights of its books. The next run sets those of books that are there.
    rights: Option<Rights>,
    /// How many seconds after its beginning a run is repeated.
    #[schema(minimum = 1)]
    interval_seconds: Option<u64>,
    /// The highest rate of requests to a host, such as `30/min`.
    #[schema(value_type = Option<String>)]
    rate: Option<Rate>,
    /// The most addresses of one run.
    max_urls: Option<u64>,
    /// How many new books of a site are enough for a run.
    new_books_per_run: Option<u64>,
    /// Take only books whose addresses contain one of these.
    url_contains: Option<Vec<String>>,
    /// Take also books whose addresses match one of these.
    url_matches: Option<Vec<String>>,
    /// The days on which the rights of its books are in effect. The next run sets those of books that are there.
    validity: Option<Validity>,
    /// Where the text of a page is that is a book. The next run reads all pages again.
    text_selector: Option<String>,
    /// How the owner of a site can reach you.
    contact: Option<String>,
    /// What becomes of books that the source no longer has.
    on_missing: Option<OnMissing>,
    /// Refuse a book if the verdict of its check is this, or stricter.
    unless: Option<Unless>,
}

/// A source and what it is doing.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// Its name.
    #[schema(value_type = String)]
    pub name: BookId,
    /// Its definition.
    pub definition: SourceDefinition,
    /// What it is doing.
    pub state: SourceState,
    /// The number of addresses in the queue.
    pub queued: u64,
    /// How many addresses were done per second lately.
    pub urls_per_second: f64,
    /// How many seconds the queue takes at this rate, while it runs; more if other addresses are found.
    pub remaining_seconds: Option<u64>,
    /// The current or last run.
    pub run: Option<SourceRun>,
    /// When the server runs it next, or goes on with a run, if it does.
    pub next_run_at: Option<Timestamp>,
    /// Why its run could not go on; it is tried again at `next_run_at`.
    pub error: Option<String>,
}

/// What a source is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Nothing, until its next run.
    Idle,
    /// A run was asked for or stopped, and goes on at its time and turn.
    Waiting,
    /// It is being fetched.
    Running,
    /// It is paused.
    Paused,
}

/// A run of a source.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceRun {
    /// Its number, counted from 1.
    pub number: u64,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; missing while it runs, or if it was stopped.
    pub finished_at: Option<Timestamp>,
    /// Books that were fetched.
    pub fetched: u64,
    /// Books that were added or replaced.
    pub added: u64,
    /// Books that are as they were.
    pub unchanged: u64,
    /// Addresses that could not be fetched or read.
    pub refused: u64,
    /// Pages that are as they were, so that the site did not send them again.
    #[serde(default)]
    pub pages_unchanged: u64,
    /// Books that the source no longer has.
    pub missing: u64,
    /// What the source lists and cannot be used: books in no format that can be read, those that must be bought, pictures.
    #[serde(default)]
    pub skipped: u64,
    /// The number of addresses refused now, by reason.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub refused_by: BTreeMap<Reason, u64>,
    /// The number of those skipped, by reason.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, u64>)]
    pub skipped_by: BTreeMap<Reason, u64>,
    /// The number of addresses that were listed and left out, by the limit that did: `max_urls` of the definition, `key`
    /// (`sources-queue` of the server) or `depth`. One that is listed twice can count twice.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, u64>)]
    pub left_out: BTreeMap<SourceLimit, u64>,
    /// Why it could not go on.
    pub error: Option<String>,
}

/// A page of the sources that the key may see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sources {
    /// The sources, by name.
    pub sources: Vec<Source>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// A page of the history of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceRuns {
    /// The runs, the newest first.
    pub runs: Vec<SourceRun>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// An address that failed or was skipped.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceError {
    /// The address.
    pub url: String,
    /// The kind of reason.
    pub reason: Reason,
    /// Why, in words.
    pub detail: String,
    /// When it failed last.
    pub failed_at: Timestamp,
    /// When it is tried again; missing if it was refused for good. The next run tries it again if the source still lists it,
    /// unless the source says that it did not change.
    pub retry_at: Option<Timestamp>,
}

/// A page of the addresses that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceErrors {
    /// The addresses, in alphabetical order.
    pub errors: Vec<SourceError>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// The first books that a source lists.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceTest {
    /// At most ten.
    pub items: Vec<SourceItem>,
    /// How many others it lists that cannot be used, on the pages that were read.
    #[serde(default)]
    pub skipped: u64,
    /// How the main text of the first book begins, if the source says where it is.
    pub excerpt: Option<String>,
    /// What is wrong with the source, if it cannot be read.
    pub error: Option<String>,
}

/// A book that a source lists.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceItem {
    /// Its address.
    pub url: String,
    /// The id that the source gives it.
    pub id: Option<String>,
    /// Its title, if the source says it.
    pub title: Option<String>,
}
