//! Allow-lists.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lapidary_gems::{RecipeName, WrittenGem};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::object;
use lapidary_store::{BookId, BookKey};

/// What to allow: exactly one of `text`, `gems` and `book`.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAllowList {
    /// A text. Its gems are stored; the text itself is not.
    pub text: Option<String>,
    /// Whether to remove print artifacts from the text; the default depends on the recipe.
    pub clean: Option<bool>,
    /// Gems.
    pub gems: Option<Vec<WrittenGem>>,
    /// The recipe of `gems`; by default the catalogue's default recipe.
    pub recipe: Option<String>,
    /// A book.
    #[serde(default, deserialize_with = "object::optional")]
    pub book: Option<BookKey>,
    /// A note on why this is allowed.
    pub note: Option<String>,
}

/// An allow-list: it has either `gems` or a `book`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AllowList {
    /// Its name: 1 to 512 bytes without control characters.
    #[schema(value_type = String)]
    pub name: BookId,
    /// The gems, by recipe: checks do not count them.
    #[schema(value_type = Option<BTreeMap<String, Vec<WrittenGem>>>)]
    pub gems: Option<BTreeMap<RecipeName, Vec<WrittenGem>>>,
    /// Or the book: it is shown as a match but does not affect the verdict.
    pub book: Option<BookKey>,
    /// The digest of the book's content when the list was created: other books of its library with this content are allowed, too.
    pub digest: Option<String>,
    /// The reason for it.
    pub note: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A page of allow-lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AllowLists {
    /// Ordered by name.
    pub allow_lists: Vec<AllowList>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}
