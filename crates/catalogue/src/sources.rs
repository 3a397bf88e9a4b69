//! What is stored and said of sources: what they are, and what became of the books of a run.

use std::str::FromStr;

use lapidary_common::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A folder of files.
    Folder,
    /// A bucket of S3, or what begins alike in it.
    S3,
    /// An OPDS 1.2 or 2.0 catalogue.
    Opds,
    /// A repository that speaks OAI-PMH 2.0.
    Oai,
    /// A sitemap, or an index of sitemaps.
    Sitemap,
    /// An RSS, Atom or JSON feed.
    Feed,
    /// A web site, from a start page on.
    Site,
    /// A file with addresses, as NDJSON or CSV.
    List,
    /// A library of another Lapidary server.
    Lapidary,
    /// An ONIX feed, or a folder of such feeds. It brings no books: it changes those that there are.
    Onix,
}

impl SourceKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Folder,
        Self::S3,
        Self::List,
        Self::Sitemap,
        Self::Feed,
        Self::Opds,
        Self::Oai,
        Self::Site,
        Self::Lapidary,
        Self::Onix,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::S3 => "s3",
            Self::Opds => "opds",
            Self::Oai => "oai",
            Self::Sitemap => "sitemap",
            Self::Feed => "feed",
            Self::Site => "site",
            Self::List => "list",
            Self::Lapidary => "lapidary",
            Self::Onix => "onix",
        }
    }
}

impl FromStr for SourceKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.ok_or_else(|| format!("there is no kind of source {name:?}"))
    }
}

/// What becomes of books that a source no longer has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnMissing {
    /// They stay.
    #[default]
    Keep,
    /// They are disabled, with a note.
    Disable,
}

/// What became of the books of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Books that were fetched.
    pub fetched: u64,
    /// Books that were added or replaced.
    pub added: u64,
    /// Books that are as they were.
    pub unchanged: u64,
    /// Addresses that could not be fetched or read.
    pub refused: u64,
    /// Pages that are as they were, so that the server did not send them again.
    #[serde(default, skip_serializing_if = "is_none")]
    pub pages_unchanged: u64,
    /// Books that the source no longer has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub gone: u64,
    /// What the source lists and cannot be used ([`Reason::is_skipped`]).
    #[serde(default, skip_serializing_if = "is_none")]
    pub skipped: u64,
}

impl Tally {
    /// What came after an earlier one.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            fetched: self.fetched.saturating_sub(before.fetched),
            added: self.added.saturating_sub(before.added),
            unchanged: self.unchanged.saturating_sub(before.unchanged),
            refused: self.refused.saturating_sub(before.refused),
            pages_unchanged: self.pages_unchanged.saturating_sub(before.pages_unchanged),
            gone: self.gone.saturating_sub(before.gone),
            skipped: self.skipped.saturating_sub(before.skipped),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

words! {
    /// A kind of reason why an address was refused or failed.
    #[derive(PartialOrd, Ord)]
    #[schema(as = SourceReason)]
    pub enum Reason {
        /// It is no address that can be fetched.
        Address = "address",
        /// There is nothing at it.
        Missing = "missing",
        /// The site's `robots.txt` does not allow it.
        Robots = "robots",
        /// It is an address of the machine or its network.
        Private = "private",
        /// The server refuses it, or redirects without end.
        Status = "status",
        /// The server does not answer, or says that it cannot now.
        Unanswered = "unanswered",
        /// It is too large.
        TooLarge = "too_large",
        /// A list that cannot be read.
        BadList = "bad_list",
        /// A file that is no book, or cannot be read.
        BadBook = "bad_book",
        /// The book matches protected ones.
        Matches = "matches",
        /// Another fault of the book, such as too long a name.
        BadRecord = "bad_record",
        /// It is in no format that can be read.
        Format = "format",
        /// The source gives no file of it: it must be bought or borrowed, or nothing leads to it.
        NoFile = "no_file",
        /// It is a link, or something else than a file, in a folder.
        Link = "link",
        /// It is a book of this catalogue, which the other server has from here.
        Own = "own",
    }
}

impl Reason {
    /// Whether it is about something that the source lists and that is not tried: no fault, and so counted apart.
    #[must_use]
    pub fn is_skipped(self) -> bool {
        matches!(self, Self::Format | Self::NoFile | Self::Link | Self::Own)
    }
}

/// Why a run leaves out addresses that it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceLimit {
    /// The most addresses of a run of the source.
    MaxUrls,
    /// The most addresses in the queues of all sources of the key that defined it.
    Key,
    /// The most links from the start of a site.
    Depth,
}

impl SourceLimit {
    /// What it is, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::MaxUrls => "the most addresses of a run (--max-urls)",
            Self::Key => "the most addresses that may wait for all sources of its key",
            Self::Depth => "the most links from the start of a site",
        }
    }
}
