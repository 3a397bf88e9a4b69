//! A book's record, library name and id.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use lapidary_gems::{PackedFold, PlacedGem, RecipeName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Standing, StoreError};
use crate::error::{Classified, ErrorCode};
use crate::index::BookNo;

/// Maximum length of a library name or book id, in bytes of UTF-8.
pub const NAME_BYTES: usize = 512;

/// An invalid library name or book id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must have 1 to {NAME_BYTES} bytes and no control characters, not {value:?}")]
pub struct BadName {
    what: &'static str,
    value: String,
}

impl Classified for BadName {
    fn code(&self) -> ErrorCode {
        ErrorCode::BadName
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[schema(value_type = String, min_length = 1, max_length = 512)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(value: String) -> Result<Self, BadName> {
                if value.is_empty() || value.len() > NAME_BYTES || value.chars().any(char::is_control) {
                    let value = value.chars().take(80).collect();
                    return Err(BadName { what: $what, value });
                }
                Ok(Self(value))
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(value: &str) -> Result<Self, BadName> {
                Self::try_from(value.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A library's name: 1 to 512 bytes without control characters.
    Library,
    "a library's name"
);
name!(
    /// A book's id within its library: 1 to 512 bytes without control characters. Slashes and any script are allowed.
    BookId,
    "a book's id"
);

/// Identifies a book: its library and its id there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct BookKey {
    /// The library.
    pub library: Library,
    /// The book's id in the library.
    pub id: BookId,
}

impl fmt::Display for BookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.library, self.id)
    }
}

/// What may be done with a book, strictest first. A verdict is also one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// Under copyright; others may not publish it.
    Protected,
    /// Free to publish with its owner's permission.
    Free,
    /// In the public domain.
    PublicDomain,
    /// Not known.
    Unknown,
}

impl Rights {
    /// The word used in JSON and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Protected => "protected",
            Self::Free => "free",
            Self::PublicDomain => "public_domain",
            Self::Unknown => "unknown",
        }
    }
}

impl FromStr for Rights {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = [Self::Protected, Self::Free, Self::PublicDomain, Self::Unknown];
        let known = || all.map(Self::as_str).join(", ");
        all.into_iter().find(|rights| rights.as_str() == word).ok_or_else(|| format!("rights are one of: {}", known()))
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A book as stored: everything except its gems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Library and id.
    #[serde(flatten)]
    pub key: BookKey,
    /// Its rights.
    pub rights: Rights,
    /// The title, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The authors, in title page order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// The language as a BCP 47 tag, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// ISBNs and other identifiers, as given or as found in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<String>,
    /// BLAKE3 of the text (UTF-8) in hexadecimal; of the gems if only those are known. Books added by versions that
    /// used SHA-256 keep that digest until their content changes.
    pub digest: String,
    /// BLAKE3 of the text after stripping print artifacts, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_digest: Option<String>,
    /// Length of the text in bytes of UTF-8; 0 if only the gems are known.
    pub bytes: u64,
    /// Whether print artifacts are stripped from the text. If missing, each recipe decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// Number of gems of the book, by recipe.
    pub gems: BTreeMap<RecipeName, u32>,
    /// When the book or its metadata last changed.
    pub changed: Timestamp,
    /// Whether and when the book counts, and any note on it.
    #[serde(default, skip_serializing_if = "Standing::is_usual")]
    pub standing: Standing,
}

/// The part of a record that decides whether and where a report shows the book.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Outline {
    /// The library.
    pub library: Library,
    /// The book's id in the library.
    pub id: BookId,
    /// Its rights.
    pub rights: Rights,
    /// See [`Record::digest`].
    pub digest: String,
    /// See [`Record::clean_digest`].
    #[serde(default)]
    pub clean_digest: Option<String>,
    /// Number of gems of the book, by recipe.
    pub gems: BTreeMap<RecipeName, u32>,
    /// Whether and when it counts.
    #[serde(default)]
    pub standing: Standing,
}

impl Outline {
    /// Whether the book's text has one of these digests.
    #[must_use]
    pub fn is_of(&self, digests: &[String]) -> bool {
        digests.contains(&self.digest) || self.clean_digest.as_ref().is_some_and(|digest| digests.contains(digest))
    }
}

impl Record {
    /// The rights in effect on a day.
    #[must_use]
    pub fn rights_on(&self, day: Date) -> Rights {
        self.standing.rights_on(day, self.rights)
    }

    /// Whether checks ignore the book.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.standing.disabled_since.is_some()
    }

    /// # Errors
    /// [`StoreError::WouldBeEmpty`] if the book has gems of one of these recipes and `after` has none.
    pub(crate) fn not_emptied_by<'a>(
        &self,
        after: &Self,
        recipes: impl IntoIterator<Item = &'a RecipeName>,
    ) -> Result<(), StoreError> {
        let has = |record: &Self, name| record.gems.get(name).is_some_and(|gems| *gems > 0);
        let emptied = recipes.into_iter().filter(|name| has(self, name) && !has(after, name));
        let emptied: Vec<&str> = emptied.map(RecipeName::as_str).collect();
        if emptied.is_empty() {
            return Ok(());
        }
        Err(StoreError::WouldBeEmpty { book: after.key.clone(), recipes: emptied.join(", ") })
    }
}

/// A book to store: its record, and its gems of every recipe named in `record.gems`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBook {
    /// The record. Its `gems` counts match `gems`.
    pub record: Record,
    /// The gems by recipe, without duplicates, in order of first occurrence.
    pub gems: BTreeMap<RecipeName, Vec<PlacedGem>>,
    /// Folds to store, one for each base.
    pub folds: Vec<PackedFold>,
    /// Whether the book may replace one that has gems of a recipe that this one has none of.
    pub allow_empty: bool,
}

/// Gems of a recipe for an existing book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateGems {
    /// The book.
    pub book: BookNo,
    /// The digest of the text that the gems were computed from.
    pub digest: String,
    /// The gems.
    pub gems: Vec<PlacedGem>,
    /// The fold they were cut from, if it is to be stored.
    pub fold: Option<PackedFold>,
}
