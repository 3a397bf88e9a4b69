//! Harvesting: Lapidary fetches books itself, from folders, catalogues, archives and sites.
//!
//! ```text
//! source ──▶ frontier (in the store) ──fetch──▶ page ──kind──▶ entries ──▶ frontier
//!                                        └────▶ book ──extract──▶ catalogue
//! ```
//!
//! A [`Source`] says where the books are and what rights they have. Its [`SourceKind`] knows how to read its pages, each of which
//! lists books and other pages ([`Entry`]). The frontier (`frontier.rs`) keeps in the store what is to be fetched and what
//! was seen, so that a harvest that is stopped at any moment goes on where it was. Only `web.rs` sends requests for sources, and
//! keeps to the rules of good manners; `s3/` reads objects that checks and notifications name.
//!
//! ```
//! use lapidary_harvest::{SourceKind, Source};
//!
//! let source: Source = serde_json::from_str(
//!     r#"{"kind": "opds", "address": "https://books.example/opds", "library": "example", "rights": "free", "most": 1000}"#,
//! )?;
//! assert_eq!(source.kind, SourceKind::Opds);
//! assert!(!source.allow_private, "addresses of this machine are refused unless a source says otherwise");
//! # Ok::<(), serde_json::Error>(())
//! ```

mod asked;
mod books;
mod exchange;
mod feed;
mod fetch;
mod folder;
mod folders;
mod frontier;
mod hosts;
mod kind;
mod links;
mod list;
mod listed;
mod oai;
mod onix;
mod opds;
mod pages;
mod plan;
mod refusals;
mod robots;
mod run;
mod s3;
mod schedule;
mod site;
mod sitemap;
mod source;
mod sources;
mod trial;
mod walk;
mod web;

pub use lapidary_catalogue::sources::{OnMissing, Reason, SourceKind, SourceLimit, Tally};
pub use pages::read_page;
pub use run::{Harvest, Watched};
pub use s3::{ObjectName, ObjectStore, S3Access, S3Error, decoded_key};
pub use schedule::{KeyBounds, Schedule};
pub use source::{Credentials, Every, Pattern, Source};
pub use sources::{Sources, clear_source, remove_source, set_source, want_source};
pub use web::fetch;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use thiserror::Error;

use lapidary_catalogue::CatalogueError;
use lapidary_common::description::Description;
use lapidary_common::error::{Classified, ErrorCode};
use lapidary_extract::BadSelector;
use lapidary_store::{BadName, StoreError};

/// Counts books in the daily quota of a key. Returns whether there is room for more.
pub type Quotas = Arc<dyn Fn(&str, usize) -> Result<bool, CatalogueError> + Send + Sync>;

/// Something that a page lists.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its URL, or its path.
    pub address: String,
    /// Whether it lists others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub page: bool,
    /// Whether it is a book. A page of a site can be both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub book: bool,
    /// The id that the source gives it. By default its address.
    pub id: Option<String>,
    /// What the source says of it.
    #[serde(default)]
    pub description: Description,
    /// Changes when the content does, if the source says so: a date, a size.
    pub version: Option<String>,
    /// What is special about it.
    pub mark: Option<Mark>,
    /// Why it cannot be used, if so: it is counted, and not fetched.
    pub unusable: Option<Unusable>,
}

/// Why something that a page lists cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unusable {
    /// The kind of reason.
    pub reason: Reason,
    /// Why, in words.
    pub why: String,
}

/// What is special about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The source says that it is gone.
    Gone,
    /// It is fetched although this run has seen it.
    Again,
    /// Nothing lists it; it may not be there.
    Guess,
    /// The page that lists it is a copy of it.
    Original,
}

impl Entry {
    fn page(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            page: true,
            ..Self::default()
        }
    }

    fn book(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            book: true,
            ..Self::default()
        }
    }

    /// A book that cannot be used.
    fn unusable(address: impl Into<String>, reason: Reason, why: impl Into<String>) -> Self {
        Self {
            unusable: Some(Unusable {
                reason,
                why: why.into(),
            }),
            ..Self::book(address)
        }
    }
}

/// Why a source cannot be harvested, or not to its end.
#[derive(Debug, Error)]
pub enum HarvestError {
    /// The catalogue failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The library or an id is not a name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// There is no such source.
    #[error("there is no source {0:?}")]
    NoSuchSource(String),
    /// One of this name was removed, and is not cleared yet.
    #[error(
        "what is known of the source {0:?} that was removed is still being cleared; try again in a minute, or choose another name"
    )]
    Clearing(String),
    /// Another one has the name.
    #[error(
        "another source has the name {0:?}, which this key may not manage; choose another name"
    )]
    NotYours(String),
    /// It is paused.
    #[error("the source {0:?} is paused; resume it first")]
    Paused(String),
    /// It is being run.
    #[error("the source {0:?} is being run, by a server or another command")]
    Runs(String),
    /// It was told to stop.
    #[error(
        "the run was stopped; {left} addresses are left in the queue, and the next run goes on with them"
    )]
    Stopped {
        /// The number of addresses.
        left: u64,
    },
    /// The key that defined it has no quota left.
    #[error(
        "the daily quota of the key {key:?}, which defined the source, is used up; {left} addresses are left in the queue"
    )]
    QuotaUsedUp {
        /// The name of the key.
        key: String,
        /// The number of addresses.
        left: u64,
    },
    /// A part of the source's definition cannot be used.
    #[error("{0}")]
    Input(String),
    /// Its main text cannot be found like this.
    #[error(transparent)]
    Selector(#[from] BadSelector),
    /// The source does not answer. What is left stays in its queue.
    #[error("{why}; {left} addresses are left in the queue, run it again later")]
    Unreachable {
        /// What happened.
        why: String,
        /// The number of addresses.
        left: u64,
    },
}

impl Classified for HarvestError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Catalogue(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Name(error) => error.code(),
            Self::NoSuchSource(_) => ErrorCode::NoSuchSource,
            Self::Clearing(_) | Self::NotYours(_) => ErrorCode::SourceExists,
            Self::Paused(_) => ErrorCode::SourcePaused,
            Self::Runs(_) => ErrorCode::SourceRuns,
            Self::Input(_) | Self::Selector(_) => ErrorCode::BadSource,
            Self::QuotaUsedUp { .. } => ErrorCode::TooManyRequests,
            Self::Stopped { .. } => ErrorCode::Stopping,
            Self::Unreachable { .. } => ErrorCode::SourceUnreachable,
        }
    }
}
