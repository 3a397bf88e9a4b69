//! A book's record and its names.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use lapidary_gems::{PackedFold, PlacedGem, RecipeName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Standing, StoreError};
use crate::index::BookNo;

/// The longest library name or book id, in bytes of UTF-8.
pub const NAME_BYTES: usize = 512;

/// A name that cannot be used for a library or a book.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must have 1 to {NAME_BYTES} bytes and no control characters, not {value:?}")]
pub struct BadName {
    what: &'static str,
    value: String,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[schema(value_type = String, min_length = 1, max_length = 512)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
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
    /// A book's id within its library: 1 to 512 bytes without control characters; slashes and any script are fine.
    BookId,
    "a book's id"
);

/// What names a book for people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct BookKey {
    /// The library.
    pub library: Library,
    /// The library's own id.
    pub id: BookId,
}

impl fmt::Display for BookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.library, self.id)
    }
}

/// What may be done with a book, the strictest first. A verdict is one of these too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// Under copyright: may not be published by others.
    Protected,
    /// Free to publish by its owner's will.
    Free,
    /// In the public domain.
    PublicDomain,
    /// Nothing is known.
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

/// A book as the store keeps and shows it: all but its gems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Record {
    /// Library and id.
    #[serde(flatten)]
    pub key: BookKey,
    /// What may be done with it.
    pub rights: Rights,
    /// The title, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The authors, in the order of the title page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// The language as a BCP 47 tag, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// ISBNs and other identifiers, as they were given or stand in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<String>,
    /// BLAKE3 of the text (UTF-8), or of the gems where only those are known, in hexadecimal. Books put in by
    /// versions that had SHA-256 keep that as long as their content stays.
    pub digest: String,
    /// BLAKE3 of the text as it is read without the marks of its printing, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_digest: Option<String>,
    /// The text's length in bytes of UTF-8; 0 when only the gems are known.
    pub bytes: u64,
    /// Whether the text is read without the marks of its printing; missing, if each recipe does as it does by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<bool>,
    /// How many gems the book has under each recipe.
    #[schema(value_type = BTreeMap<String, u32>)]
    pub gems: BTreeMap<RecipeName, u32>,
    /// When the book, or what is said of it, was last changed.
    pub changed: Timestamp,
    /// Whether and when it counts, and what was noted of it.
    #[serde(default, skip_serializing_if = "Standing::is_usual")]
    pub standing: Standing,
}

/// What of a record decides whether and where a report shows the book.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Outline {
    /// The library.
    pub library: Library,
    /// The library's own id.
    pub id: BookId,
    /// What may be done with it.
    pub rights: Rights,
    /// As [`Record::digest`].
    pub digest: String,
    /// As [`Record::clean_digest`].
    #[serde(default)]
    pub clean_digest: Option<String>,
    /// How many gems the book has under each recipe.
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
    /// What may be done with the book on this day.
    #[must_use]
    pub fn rights_on(&self, day: Date) -> Rights {
        self.standing.rights_on(day, self.rights)
    }

    /// Whether no check counts the book.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.standing.disabled_since.is_some()
    }

    /// # Errors
    /// [`StoreError::WouldBeEmpty`] when the book has gems of one of these recipes, and `after` has none.
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

/// A book to be put into a store: its record, and its gems under every recipe that `record.gems` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBook {
    /// The record; its `gems` counts are those of `gems`.
    pub record: Record,
    /// The gems by recipe, none twice, in order of first place.
    pub gems: BTreeMap<RecipeName, Vec<PlacedGem>>,
    /// Folds to be kept, one a base.
    pub folds: Vec<PackedFold>,
    /// Whether it may take the place of a book that has gems of a recipe with none of it.
    pub allow_empty: bool,
}

/// The gems of a recipe for a book that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateGems {
    /// The book.
    pub book: BookNo,
    /// The digest of the text that they were made of.
    pub digest: String,
    /// The gems.
    pub gems: Vec<PlacedGem>,
    /// The fold they were cut from, if it is to be kept.
    pub fold: Option<PackedFold>,
}
