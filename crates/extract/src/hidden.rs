//! What a reader leaves out of a text because nobody sees it when the file is opened: it is counted, and told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How words of a file are hidden from its readers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Hiding {
    /// Marked as hidden: `hidden` in HTML, hidden text in word processors.
    HiddenAttribute,
    /// Not displayed, such as `display: none` and hidden sections.
    DisplayNone,
    /// Drawn invisibly: `visibility: hidden`, and a text rendering mode of PDF.
    InvisibleRendering,
    /// Transparent.
    Transparent,
    /// In the colour of its background, or nearly.
    SameColour,
    /// In letters too small to see.
    Tiny,
    /// Clipped away, or in a box without a size.
    Clipped,
    /// Placed beyond the page or the screen.
    OffPage,
    /// Under a picture or a filled shape.
    Covered,
    /// On a layer that is switched off.
    HiddenLayer,
    /// Deleted, while changes are tracked.
    Deleted,
    /// Inserted, while changes are tracked, and rejected.
    RejectedInsertion,
}

impl Hiding {
    /// All ways.
    pub const ALL: [Self; 12] = [
        Self::HiddenAttribute,
        Self::DisplayNone,
        Self::InvisibleRendering,
        Self::Transparent,
        Self::SameColour,
        Self::Tiny,
        Self::Clipped,
        Self::OffPage,
        Self::Covered,
        Self::HiddenLayer,
        Self::Deleted,
        Self::RejectedInsertion,
    ];
}

/// The number of words that are hidden in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HiddenCount {
    /// How they are hidden.
    #[serde(alias = "how")]
    pub method: Hiding,
    /// How many words.
    pub words: u64,
}

/// The words of a file that were left out of its text because no reader sees them, counted by how they are hidden.
///
/// ```
/// use lapidary_extract::{HiddenWords, Hiding};
///
/// let mut hidden = HiddenWords::default();
/// hidden.add(Hiding::SameColour, "tre");
/// hidden.add(Hiding::SameColour, "asure, box");
/// hidden.end_word();
/// hidden.add(Hiding::Tiny, "by");
/// assert_eq!((hidden.words(), hidden.counts().count()), (3, 2));
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "Vec<HiddenCount>", from = "Vec<HiddenCount>")]
pub struct HiddenWords {
    counts: BTreeMap<Hiding, u64>,
    /// Whether the last piece ended within a word, which the next one may continue.
    in_word: bool,
}

impl HiddenWords {
    /// Counts the words of a piece of hidden text. A piece continues the last word of the one before.
    pub fn add(&mut self, how: Hiding, piece: &str) {
        let mut words = 0;
        for char in piece.chars() {
            if char.is_whitespace() {
                self.in_word = false;
            } else if !self.in_word && char.is_alphanumeric() {
                self.in_word = true;
                words += 1;
            }
        }
        if words > 0 {
            let count = self.counts.entry(how).or_default();
            *count = count.saturating_add(words);
        }
    }

    /// Whatever follows belongs to another word.
    pub fn end_word(&mut self) {
        self.in_word = false;
    }

    /// Adds the words of another part of the same file.
    pub fn extend(&mut self, other: &Self) {
        self.in_word = false;
        for HiddenCount { method: how, words } in other.counts() {
            let count = self.counts.entry(how).or_default();
            *count = count.saturating_add(words);
        }
    }

    /// How many words are hidden.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.counts
            .values()
            .fold(0, |all, words| all.saturating_add(*words))
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The numbers by how the words are hidden.
    pub fn counts(&self) -> impl Iterator<Item = HiddenCount> {
        self.counts
            .iter()
            .map(|(&how, &words)| HiddenCount { method: how, words })
    }
}

impl PartialEq for HiddenWords {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts
    }
}

impl Eq for HiddenWords {}

impl From<HiddenWords> for Vec<HiddenCount> {
    fn from(hidden: HiddenWords) -> Self {
        hidden.counts().collect()
    }
}

impl From<Vec<HiddenCount>> for HiddenWords {
    fn from(counts: Vec<HiddenCount>) -> Self {
        let mut hidden = Self::default();
        for HiddenCount { method: how, words } in counts.into_iter().filter(|count| count.words > 0)
        {
            let count = hidden.counts.entry(how).or_default();
            *count = count.saturating_add(words);
        }
        hidden
    }
}
