//! Links that show a filed check to somebody without a key.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A link to make.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReportLink {
    /// When it expires, at most 366 days from now. The default is in 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether the page shows passages of the kept texts of books that the maker of the link may read.
    #[serde(default)]
    pub book_texts: bool,
}

/// A link that shows a filed check to somebody without a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportLink {
    /// Its id.
    pub id: String,
    /// The id of the filed check.
    pub check: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it. It shows what they would see, and ends with their key.
    pub actor: String,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Whether the page shows passages of the kept texts of books.
    pub book_texts: bool,
}

/// A new link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeReportLink {
    /// The link.
    #[serde(flatten)]
    pub link: ReportLink,
    /// The path of the page on this server. It is shown only once.
    pub url: String,
}

/// The links of a filed check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportLinks {
    /// Ordered by id.
    pub links: Vec<ReportLink>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}
