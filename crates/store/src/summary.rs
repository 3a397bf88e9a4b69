//! Totals of a store: its libraries, the coverage of a recipe, the distribution of gem counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use lapidary_gems::RecipeName;

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
    /// Number of books in quarantine: they decide nothing for others until an administrator confirms them.
    #[serde(default)]
    pub quarantined: u64,
    /// Total length of the texts, in bytes of UTF-8.
    pub bytes: u64,
    /// Number of books whose text is kept.
    #[serde(default)]
    pub kept_texts: u64,
    /// Total length of the kept texts, in bytes of UTF-8.
    #[serde(default)]
    pub kept_bytes: u64,
    /// Number of books by the recipes that they have gems of: the names, separated by spaces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub recipes: BTreeMap<String, u64>,
    /// When one of its books was last added, replaced (both by the books' own `changed_at`), amended or removed.
    pub changed_at: Timestamp,
}

impl LibrarySummary {
    /// Adds a book to the summary of its library.
    pub fn count(summaries: &mut BTreeMap<Library, Self>, record: &Record) {
        let library = record.key.library.clone();
        let summary = summaries
            .entry(library)
            .or_insert_with_key(|library| Self::empty(library, record.changed_at));
        summary.changed_at = summary.changed_at.max(record.changed_at);
        summary.add(record);
    }

    /// That of a library without books.
    #[must_use]
    pub fn empty(library: &Library, changed: Timestamp) -> Self {
        let library = library.clone();
        let recipes = BTreeMap::new();
        Self {
            library,
            books: 0,
            disabled: 0,
            quarantined: 0,
            bytes: 0,
            kept_texts: 0,
            kept_bytes: 0,
            recipes,
            changed_at: changed,
        }
    }

    /// Adds a book, except for when it changed.
    pub fn add(&mut self, record: &Record) {
        for (sum, more) in self.sums().into_iter().zip(counts(record)) {
            *sum = sum.saturating_add(more);
        }
        self.count_recipes(None, Some(record));
    }

    /// Removes a book, except for when it changed. Returns `None` if no such book was counted.
    #[must_use]
    pub fn take(&mut self, record: &Record) -> Option<()> {
        for (sum, less) in self.sums().into_iter().zip(counts(record)) {
            *sum = sum.checked_sub(less)?;
        }
        self.count_recipes(Some(record), None);
        Some(())
    }

    /// What [`counts`] of a book are added to.
    fn sums(&mut self) -> [&mut u64; 6] {
        [
            &mut self.books,
            &mut self.disabled,
            &mut self.bytes,
            &mut self.kept_texts,
            &mut self.kept_bytes,
            &mut self.quarantined,
        ]
    }

    /// Counts which recipes a book has gems of, after a change and no longer before it.
    pub fn count_recipes(&mut self, before: Option<&Record>, after: Option<&Record>) {
        if let Some(before) = before.map(recipes_of)
            && let Some(books) = self.recipes.get_mut(&before)
        {
            *books = books.saturating_sub(1);
            if *books == 0 {
                self.recipes.remove(&before);
            }
        }
        if let Some(after) = after {
            *self.recipes.entry(recipes_of(after)).or_default() += 1;
        }
    }

    /// Whether the recipes of all books were counted. Older versions did not.
    #[must_use]
    pub fn counts_recipes(&self) -> bool {
        self.recipes.values().sum::<u64>() == self.books
    }

    /// How many of the books have gems of at least one of these recipes; `None` if that is not known.
    #[must_use]
    pub fn coverage(&self, recipes: &[RecipeName]) -> Option<Coverage> {
        let covered = self.recipes.iter().filter(|(names, _)| {
            let mut names = names.split(' ');
            names.any(|name| recipes.iter().any(|recipe| recipe.as_str() == name))
        });
        let books = covered.map(|(_, books)| books).sum();
        self.counts_recipes().then_some(Coverage {
            books,
            total: self.books,
        })
    }
}

/// What a book adds to the sums of a summary. Stores keep them in this order.
#[must_use]
pub fn counts(record: &Record) -> [u64; 6] {
    let kept = u64::from(record.text_kept);
    let (disabled, quarantined) = (
        record.is_disabled().into(),
        record.standing.is_quarantined().into(),
    );
    [
        1,
        disabled,
        record.bytes,
        kept,
        kept * record.bytes,
        quarantined,
    ]
}

/// The recipes that a book has gems of, as in [`LibrarySummary::recipes`].
fn recipes_of(record: &Record) -> String {
    record
        .gems
        .keys()
        .map(RecipeName::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

/// How much of a catalogue a recipe covers. A check with the recipe cannot find other books.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// Number of books that have gems of the recipe, or are too short to have any.
    pub books: u64,
    /// Number of all books.
    #[serde(alias = "of")]
    pub total: u64,
}

impl Coverage {
    /// Number of books without gems of the recipe.
    #[must_use]
    pub fn lacking(self) -> u64 {
        self.total.saturating_sub(self.books)
    }

    /// How much of all these libraries at least one of the recipes covers; `None` if that is not known.
    #[must_use]
    pub fn of_libraries(libraries: &[Arc<LibrarySummary>], recipes: &[RecipeName]) -> Option<Self> {
        libraries
            .iter()
            .try_fold(Self { books: 0, total: 0 }, |all, library| {
                let Self { books, total: of } = library.coverage(recipes)?;
                Some(Self {
                    books: all.books + books,
                    total: all.total + of,
                })
            })
    }
}

/// Distribution of gem counts over the books. E-values are based on it.
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
    #[must_use]
    pub fn class(gems: u32) -> usize {
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
