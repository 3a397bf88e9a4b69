//! A book's record, and books to store.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use jiff::Timestamp;
use jiff::civil::Date;
use lapidary_gems::{Gem, PackedFold, PlacedGem, RecipeName};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::moderation::bans;
use super::{BookId, BookKey, BookNo, BookState, Condition, Library, Rights, Standing, StoreError};
use lapidary_common::description::Description;

/// Declares a book's record. What a store keeps and what the API shows have the same fields, but are two types, so that
/// either can change alone.
#[doc(hidden)]
#[macro_export]
macro_rules! record {
    ($(#[$attribute:meta])* pub struct $name:ident { $(#[$gems:meta])* gems }) => {
        #[serde_with::skip_serializing_none]
        $(#[$attribute])*
        pub struct $name {
            /// Library and id.
            #[serde(flatten)]
            pub key: BookKey,
            /// Its rights.
            pub rights: Rights,
            /// Title, authors, language and identifiers.
            #[serde(flatten)]
            pub description: Description,
            /// BLAKE3 of the text (UTF-8) in hexadecimal; of the gems if only those are known. Books added by versions that
            /// used SHA-256 keep that digest until their content changes.
            pub digest: String,
            /// BLAKE3 of the text after stripping print artifacts, if that differs.
            pub clean_digest: Option<String>,
            /// Length of the text in bytes of UTF-8; 0 if only the gems are known.
            pub bytes: u64,
            /// Whether print artifacts are stripped from the text. If missing, each recipe decides.
            pub clean: Option<bool>,
            /// Whether its text is kept.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub text_kept: bool,
            /// Number of gems of the book, by recipe.
            $(#[$gems])*
            pub gems: BTreeMap<RecipeName, u32>,
            /// When the book or its metadata last changed.
            #[serde(alias = "changed")]
            pub changed_at: Timestamp,
            /// When its content was fetched, if a source has it.
            #[serde(alias = "fetched")]
            pub fetched_at: Option<Timestamp>,
            /// Whether and when the book counts, and any note on it.
            #[serde(default, skip_serializing_if = "Standing::is_usual")]
            pub standing: Standing,
        }
    };
}
record! {
    /// A book as stored: everything except its gems.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Record { gems }
}

/// A change to a book's record. If it fails, nothing changes.
pub type RecordChange<'a> = &'a mut dyn FnMut(&mut Record) -> Result<(), StoreError>;

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
        digests.contains(&self.digest)
            || self
                .clean_digest
                .as_ref()
                .is_some_and(|digest| digests.contains(digest))
    }
}

impl Record {
    /// The rights in effect on a day.
    #[must_use]
    pub fn rights_on(&self, day: Date) -> Rights {
        self.standing.rights_on(day, self.rights)
    }

    /// Whether nobody may publish it, on some days at least.
    #[must_use]
    pub fn is_banned(&self) -> bool {
        bans(self.rights, self.standing.validity.as_ref())
    }

    /// Whether the book is in a state on a day.
    #[must_use]
    pub fn is_in(&self, state: BookState, day: Date) -> bool {
        match state {
            BookState::Disabled => self.is_disabled(),
            BookState::Quarantined => self.standing.is_quarantined(),
            BookState::Expired => self.standing.is_expired_on(day, self.rights),
            BookState::Removed => self.standing.removed_at.is_some(),
        }
    }

    /// Whether checks ignore the book.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        self.standing.disabled_at.is_some()
    }

    /// The digests of its text: as it is, and cleaned if that differs.
    pub fn digests(&self) -> impl Iterator<Item = &String> {
        [&self.digest].into_iter().chain(&self.clean_digest)
    }

    /// Whether this is the text that the book was added with.
    #[must_use]
    pub fn is_of(&self, text: &str) -> bool {
        self.bytes == text.len() as u64
            && (self.digest == blake3::hash(text.as_bytes()).to_string()
                || self.digest == hex::encode(Sha256::digest(text)))
    }

    /// Whether it has the content of another version of the book: the same text, read in the same way, or the same gems of the
    /// same recipes. Rights and metadata may differ.
    #[must_use]
    pub fn has_content_of(&self, other: &Self) -> bool {
        // A text gets gems of more recipes later.
        (self.bytes, self.clean, &self.digest) == (other.bytes, other.clean, &other.digest)
            && (self.bytes > 0 || self.gems.keys().eq(other.gems.keys()))
    }

    /// # Errors
    /// [`StoreError::WouldBeEmpty`] if the book has gems of one of these recipes and `after` has none of any. A new version may
    /// have none of a recipe that the former had some of, because not every recipe finds gems in each short text.
    pub fn not_emptied_by<'a>(
        &self,
        after: &Self,
        recipes: impl IntoIterator<Item = &'a RecipeName>,
    ) -> Result<(), StoreError> {
        let has = |record: &Self, name| record.gems.get(name).is_some_and(|gems| *gems > 0);
        let recipes: Vec<&RecipeName> = recipes.into_iter().collect();
        let had: Vec<&str> = recipes
            .iter()
            .filter(|name| has(self, name))
            .map(|name| name.as_str())
            .collect();
        if had.is_empty() || recipes.iter().any(|name| has(after, name)) {
            return Ok(());
        }
        Err(StoreError::WouldBeEmpty {
            book: after.key.clone(),
            recipes: had.join(", "),
        })
    }
}

/// What is stored of a book besides its record, as far as it was [wanted](WantedParts).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BookParts {
    /// The gems by recipe, in order of first occurrence.
    pub gems: BTreeMap<RecipeName, Vec<PlacedGem>>,
    /// The folds.
    pub folds: Vec<PackedFold>,
    /// The text, if it is kept.
    pub text: Option<String>,
}

/// How many of some gems a book must have, so that its list is worth reading.
#[derive(Clone, Copy)]
pub struct Enough<'a> {
    /// These gems.
    pub among: &'a HashSet<Gem>,
    /// Whether so many of them are enough.
    pub is_enough: &'a dyn Fn(u32) -> bool,
}

/// Which parts of books to read.
#[derive(Default, Clone, Copy)]
pub struct WantedParts<'a> {
    /// The recipes whose gems to read.
    pub gems: &'a [&'a RecipeName],
    /// Lists with too few of these gems are left out.
    pub gems_if: Option<Enough<'a>>,
    /// The folds to read, each by the name of the built-in recipe that made it.
    pub folds: &'a [&'a str],
    /// Whether to read the text.
    pub text: bool,
}

/// A book to store: its record, and its gems of every recipe named in `record.gems`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBook {
    /// The record. Its `gems` counts match `gems`, and `text_kept` follows `text`.
    pub record: Record,
    /// The gems by recipe, without duplicates, in order of first occurrence.
    pub gems: BTreeMap<RecipeName, Vec<PlacedGem>>,
    /// Folds to store, one for each base.
    pub folds: Vec<PackedFold>,
    /// Its text, if that is to be kept.
    pub text: Option<String>,
    /// Whether the book may replace one that has gems if this one has none.
    pub allow_empty: bool,
    /// Whether it has gems of all recipes that the store had when they were computed, because they are those of a text.
    pub complete: bool,
    /// What must be true of the book that it replaces.
    pub condition: Condition,
    /// Whether it fills a catalogue that nobody reads before [`Store::finish_filling`](super::Store::finish_filling). An
    /// engine may leave out what it is found by until then, and be faster.
    pub fills: bool,
}

impl NewBook {
    /// A record without gems.
    #[must_use]
    pub fn without_gems(record: Record, allow_empty: bool) -> Self {
        Self {
            record,
            gems: BTreeMap::new(),
            folds: Vec::new(),
            text: None,
            allow_empty,
            complete: false,
            condition: Condition::default(),
            fills: false,
        }
    }

    /// What was read of a book that is to be stored elsewhere.
    #[must_use]
    pub fn copied(mut record: Record, BookParts { gems, folds, text }: BookParts) -> Self {
        record.gems.retain(|name, _| gems.contains_key(name));
        record.text_kept = text.is_some();
        Self {
            gems,
            folds,
            text,
            ..Self::without_gems(record, true)
        }
    }

    /// # Errors
    /// [`StoreError::Changed`] if the book was to have gems of all recipes, and lacks those of one of these.
    pub fn has_all<'a>(
        &self,
        recipes: impl IntoIterator<Item = &'a RecipeName>,
    ) -> Result<(), StoreError> {
        let lacking = recipes
            .into_iter()
            .any(|name| !self.gems.contains_key(name));
        if self.complete && lacking {
            Err(StoreError::Changed("the list of recipes".to_owned()))
        } else {
            Ok(())
        }
    }
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
