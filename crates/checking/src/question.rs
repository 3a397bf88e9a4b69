//! The input of judging: a query, and a reader of books.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use jiff::civil::Date;
use lapidary_gems::{Gem, PlacedGem, Probe, Recipe, Rule};

use super::InformationalReason;
use lapidary_store::{BookNo, Enough, Library, Limits, Outline, StoreError, Tally};

/// The data that judging reads from an index: the books with gems of one recipe. See
/// [`Snapshot`](lapidary_store::Snapshot), whose methods these are.
pub trait Reader {
    /// The books that share gems with a query.
    fn tally(&self, gems: &[Gem], limits: Limits<'_>) -> Result<Tally, StoreError>;
    /// The books whose text may have this digest.
    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError>;
    /// The outlines of books, which decide how they count.
    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError>;
    /// The gems of a book.
    fn gems(&self, book: BookNo) -> Result<Vec<PlacedGem>, StoreError>;
    /// The same if they are enough.
    fn gems_if(
        &self,
        book: BookNo,
        enough: Enough<'_>,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError>;
    /// The number of books of a library.
    fn books(&self, library: &Library) -> Result<u64, StoreError>;
}

/// A query, and what decides which books match it.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// What is a match.
    pub rule: &'a Rule,
    /// The gems to look up.
    pub probes: &'a [Probe],
    /// Where each gem is in the list that was asked about, if there is no text. Spans then say which of that list they have.
    pub positions: Option<&'a HashMap<Gem, u32>>,
    /// The digests that an identical text may have.
    pub digests: &'a [String],
    /// Only books of this library count.
    pub library: Option<&'a Library>,
    /// Whether to leave out a book, such as the one that is being checked.
    pub is_left_out: &'a dyn Fn(BookNo, &Outline) -> bool,
    /// The day whose rights decide.
    pub day: Date,
    /// Whether a book is in an allow-list, and so does not affect the verdict.
    pub is_allowed: &'a dyn Fn(&Outline) -> bool,
    /// Why a book is only information, if it is.
    pub informs: &'a dyn Fn(&Outline) -> Option<InformationalReason>,
    /// The libraries of which all books are only information.
    pub informing: &'a BTreeSet<Library>,
}
