//! A book to add.

use jiff::Timestamp;
use lapidary_gems::{RecipeName, WrittenGem};

use super::Gate;
use lapidary_common::description::Description;
use lapidary_extract::HiddenWords;
use lapidary_store::{BookKey, Condition, Rights, Validity};

/// A book to add: its metadata, rights and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// Library and id.
    pub key: BookKey,
    /// Its rights.
    pub rights: Rights,
    /// Title, authors, language and identifiers.
    pub description: Description,
    /// The days on which its rights are in effect, if limited.
    pub validity: Option<Validity>,
    /// The content.
    pub content: Content,
    /// What was left out of its text, because no reader sees it.
    pub hidden: HiddenWords,
    /// Whether it may replace a book that has gems even if it has none itself.
    pub allow_empty: bool,
    /// Whether its text is kept, if it has one.
    pub keep_text: bool,
    /// When it was fetched, if a source has it.
    pub fetched: Option<Timestamp>,
    /// Unless this refuses it.
    pub gate: Option<Gate>,
    /// What must be true of the book that it replaces.
    pub condition: Condition,
}

impl NewEntry {
    /// The text to keep, if any.
    #[must_use]
    pub fn text_to_keep(&self) -> Option<&str> {
        self.content.as_text().filter(|_| self.keep_text)
    }

    /// Creates an entry without metadata.
    #[must_use]
    pub fn new(key: BookKey, rights: Rights, content: Content) -> Self {
        Self {
            key,
            rights,
            description: Description::default(),
            validity: None,
            content,
            hidden: HiddenWords::default(),
            allow_empty: false,
            keep_text: false,
            fetched: None,
            gate: None,
            condition: Condition::default(),
        }
    }
}

/// The content of a book.
pub type Content = TextOr<BookGems>;

/// The gems of a book, of one recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookGems {
    /// The recipe. Default: the catalogue's default.
    pub recipe: Option<RecipeName>,
    /// The gems, in text order.
    pub gems: Vec<WrittenGem>,
}

/// A text, or only its gems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOr<G> {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Whether to strip print artifacts such as running heads and page numbers. `None`: each recipe decides.
        clean: Option<bool>,
    },
    /// Its gems.
    Gems(G),
}

impl<G> TextOr<G> {
    /// A text; each recipe decides whether print artifacts are stripped.
    #[must_use]
    pub fn text(text: String) -> Self {
        Self::Text { text, clean: None }
    }

    /// The text, unless only gems are known.
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Gems(_) => None,
        }
    }

    /// The text, unless only gems are known.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Gems(_) => None,
        }
    }
}
