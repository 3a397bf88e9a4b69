//! Totals of a store: its libraries, the coverage of a recipe, the distribution of gem counts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Library, Record};

/// Summary of a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarySummary {
    /// The library.
    pub library: Library,
    /// Number of books.
    pub books: u64,
    /// Number of disabled books.
    #[serde(default)]
    pub disabled: u64,
    /// Total length of the texts, in bytes of UTF-8.
    pub bytes: u64,
    /// Number of books whose text is kept.
    #[serde(default)]
    pub kept_texts: u64,
    /// Total length of the kept texts, in bytes of UTF-8.
    #[serde(default)]
    pub kept_bytes: u64,
    /// When one of its books was last added, replaced (both by the books' own `changed`), amended or removed.
    pub changed: Timestamp,
}

impl LibrarySummary {
    /// Adds a book to the summary of its library.
    pub(super) fn count(summaries: &mut BTreeMap<Library, Self>, record: &Record) {
        let library = record.key.library.clone();
        let summary = summaries.entry(library).or_insert_with_key(|library| Self::empty(library, record.changed));
        summary.changed = summary.changed.max(record.changed);
        summary.add(record);
    }

    pub(super) fn empty(library: &Library, changed: Timestamp) -> Self {
        let library = library.clone();
        Self { library, books: 0, disabled: 0, bytes: 0, kept_texts: 0, kept_bytes: 0, changed }
    }

    /// Adds a book, except for when it changed.
    pub(super) fn add(&mut self, record: &Record) {
        let Self { books, disabled, bytes, kept_texts, kept_bytes, .. } = self;
        for (sum, more) in [books, disabled, bytes, kept_texts, kept_bytes].into_iter().zip(counts(record)) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Removes a book, except for when it changed. Returns `None` if no such book was counted.
    #[must_use]
    pub(super) fn take(&mut self, record: &Record) -> Option<()> {
        let Self { books, disabled, bytes, kept_texts, kept_bytes, .. } = self;
        for (sum, less) in [books, disabled, bytes, kept_texts, kept_bytes].into_iter().zip(counts(record)) {
            *sum = sum.checked_sub(less)?;
        }
        Some(())
    }
}

/// What a book adds to the sums of a summary, in the order of its fields.
pub(super) fn counts(record: &Record) -> [u64; 5] {
    let kept = u64::from(record.text_kept);
    [1, u64::from(record.is_disabled()), record.bytes, kept, kept * record.bytes]
}

/// How much of a catalogue a recipe covers. A check with the recipe cannot find other books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// Number of books that have gems of the recipe, or are too short to have any.
    pub books: u64,
    /// Number of all books.
    pub of: u64,
}

impl Coverage {
    /// Number of books without gems of the recipe.
    #[must_use]
    pub fn lacking(self) -> u64 {
        self.of.saturating_sub(self.books)
    }
}

/// Distribution of gem counts over the books. All chance estimates are based on it.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// `classes[i]` counts the books with `2^(i-1) .. 2^i` gems (`classes[0]`: without gems) and their total gems.
    /// The last class is never empty.
    pub classes: Vec<SizeClass>,
}

impl Sizes {
    /// Adds a book with this many gems.
    pub fn add(&mut self, gems: u32) {
        let class = Self::class(gems);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, SizeClass::default());
        }
        self.classes[class].books += 1;
        self.classes[class].gems += u64::from(gems);
    }

    /// Removes a book with this many gems. Returns `None`, and changes nothing, if no such book was counted.
    #[must_use]
    pub fn take(&mut self, gems: u32) -> Option<()> {
        let class = self.classes.get_mut(Self::class(gems))?;
        let books = class.books.checked_sub(1)?;
        let gems = class.gems.checked_sub(u64::from(gems))?;
        *class = SizeClass { books, gems };
        while self.classes.last().is_some_and(|class| class.books == 0) {
            self.classes.pop();
        }
        Some(())
    }

    /// The class of a book with this many gems.
    pub(super) fn class(gems: u32) -> usize {
        (u32::BITS - gems.leading_zeros()) as usize
    }
}

/// Books of similar size.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Number of books.
    pub books: u64,
    /// Total number of gems.
    pub gems: u64,
}
