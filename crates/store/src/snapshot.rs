//! Reads of a store.

use std::collections::BTreeSet;
use std::sync::Arc;

use lapidary_gems::{Gem, PackedFold, PlacedGem, Recipe, RecipeName};

use super::recipes::Recipes;
use super::{
    BookId, BookKey, BookNo, BookParts, Coverage, Enough, Found, Library, LibrarySummary, Limits,
    NewBook, Outline, Record, Search, Sizes, StoreError, Tally, WantedParts,
};

/// Takes a gem, and the books of a library that have it; `None` if they are more than the limit.
pub type Each<'a> = &'a mut dyn FnMut(Gem, Option<&[BookNo]>);

/// What one check, export or job reads of a [`Store`](super::Store).
///
/// A check compares a text with each book, one by one, and relies on no book being missing. A snapshot guarantees only
/// this:
///
/// - **Complete.** It has every change that was acknowledged before it was taken. A book that does not change while
///   the snapshot lives is found in every way: by its gems, its digest, its key, its number, its terms, and in lists of
///   its library.
/// - **Books are whole.** Whatever is read of a book belongs to one state of it: whether it is there, its number, record,
///   outline, gem lists, folds and text, and how many gems a tally counts for it. If the book changes meanwhile, that is its
///   state before or after the change. A number is never given to another book.
/// - **Recipes are fixed.** [`known_recipes`](Self::known_recipes), their order and whether each is ready all belong to the
///   state when the snapshot was taken. A recipe made ready stays complete here: books keep their gems of it even if it
///   is dropped meanwhile.
/// - **Totals may run ahead.** The numbers in [`summaries`](Self::summaries),
///   [`coverage`](Self::coverage), [`sizes`](Self::sizes), and how many books of a library have a gem
///   ([`LibraryTally::holders`](super::LibraryTally::holders), [`LibraryTally::common`](super::LibraryTally::common))
///   have every change acknowledged before the snapshot was taken, and may have later ones. They decide weights and
///   E-values, which no single book changes noticeably.
///
/// Two books may be seen at different moments: no check compares them with each other, and each line of an export is
/// independent.
pub trait Snapshot: Send + Sync {
    /// The recipes that the store holds gems of, the default first, also those that are being dropped. Empty for a new store.
    fn known_recipes(&self) -> &Recipes;

    /// Counts, for every book with enough of `gems`, how many of them have a posting for the book. Duplicates count
    /// once. Under a recipe that posts only some gems ([`Recipe::posted`]), the book may have more of them.
    ///
    /// Each library is counted on its own. A gem in too many books of a library is not counted there but reported in
    /// [`LibraryTally::common`](super::LibraryTally::common). A gem that the recipe cannot produce is in no book.
    fn tally(
        &self,
        recipe: &RecipeName,
        gems: &[Gem],
        limits: Limits<'_>,
    ) -> Result<Tally, StoreError>;

    /// Like [`tally`](Self::tally), for many queries. If they have very many gems, an engine may read the lists faster, because in
    /// order. It may leave out no books where there are too many candidates.
    fn tallies(
        &self,
        recipe: &RecipeName,
        queries: &[Vec<Gem>],
        limits: Limits<'_>,
    ) -> Result<Vec<Tally>, StoreError> {
        queries
            .iter()
            .map(|gems| self.tally(recipe, gems, limits))
            .collect()
    }

    /// Calls `each` for each of `gems` and each library of the limits that has it, with its books there if they are no more than
    /// [`Limits::cap`]. `gems` are in ascending order and have no duplicates. These are the books that [`tally`](Self::tally)
    /// counts, and perhaps some that have just lost the gem. Of very many gems, it reads their lists faster, because in order.
    fn holders(
        &self,
        recipe: &RecipeName,
        gems: &[Gem],
        limits: Limits<'_>,
        each: Each<'_>,
    ) -> Result<(), StoreError>;

    /// Returns the books whose text may have this digest: up to [`Limits::cap`] per library. Only the first half of
    /// the digest is compared; the record has all of it.
    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError>;

    /// Returns books that have all terms of a search, ordered by library, in order of creation, and then by number. A
    /// book keeps its place as long as it exists.
    ///
    /// The work of a call is bounded. If it ends before the page is full, the page is shorter, or empty, and
    /// [`Found::next`] says where to go on.
    fn search(&self, search: &Search<'_>) -> Result<Found, StoreError>;

    /// Returns the number of a book, if it exists.
    fn find(&self, key: &BookKey) -> Result<Option<BookNo>, StoreError>;

    /// Returns the records of books in the requested order; `None` for an unknown number.
    fn fetch(&self, books: &[BookNo]) -> Result<Vec<Option<Record>>, StoreError>;

    /// Like [`Snapshot::fetch`], but reads only the fields that decide whether and where a report shows the book.
    /// Many are read for the few that are shown.
    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError>;

    /// Returns parts of books, in their order. A book that is not there has none.
    ///
    /// # Errors
    /// [`StoreError::UnknownRecipe`], and [`StoreError::Changed`] if a book was replaced or removed since something else was
    /// read of it.
    fn parts(
        &self,
        books: &[BookNo],
        wanted: WantedParts<'_>,
    ) -> Result<Vec<BookParts>, StoreError>;

    /// Returns up to `limit` books of a library, sorted by id (bytewise), starting after `after`.
    fn walk(
        &self,
        library: &Library,
        after: Option<&BookId>,
        limit: usize,
    ) -> Result<Vec<(BookNo, Record)>, StoreError>;

    /// Returns up to `limit` books sorted by number, starting at `from`.
    fn books(&self, from: BookNo, limit: usize) -> Result<Vec<(BookNo, Record)>, StoreError>;

    /// Returns every library that holds a book, sorted by name; or only this one, if it does.
    fn summaries(&self, only: Option<&Library>) -> Result<Vec<Arc<LibrarySummary>>, StoreError>;

    /// Returns how many books have gems of a recipe.
    fn coverage(&self, recipe: &RecipeName) -> Result<Coverage, StoreError>;

    /// Returns the distribution of gem counts under a recipe.
    fn sizes(&self, recipe: &RecipeName) -> Result<Sizes, StoreError>;
}

impl dyn Snapshot + '_ {
    /// The recipes, the default first.
    #[must_use]
    pub fn recipes(&self) -> Vec<Recipe> {
        self.known_recipes().shown().cloned().collect()
    }

    /// Whether checks may use a recipe without explicitly accepting missing books. The default is always ready.
    #[must_use]
    pub fn is_ready(&self, recipe: &RecipeName) -> bool {
        let known = self.known_recipes().staying(recipe);
        known.is_ok_and(|known| known.ready)
    }

    /// Returns a book's gems under a recipe in order of first occurrence, or `None` if it has none.
    pub fn gems(
        &self,
        recipe: &RecipeName,
        book: BookNo,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        let wanted = WantedParts {
            gems: &[recipe],
            ..WantedParts::default()
        };
        Ok(self.parts_of(book, wanted)?.gems.remove(recipe))
    }

    /// Returns the same if they are [`Enough`], else `None`.
    pub fn gems_if(
        &self,
        recipe: &RecipeName,
        book: BookNo,
        enough: Enough<'_>,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        let wanted = WantedParts {
            gems: &[recipe],
            gems_if: Some(enough),
            ..WantedParts::default()
        };
        Ok(self.parts_of(book, wanted)?.gems.remove(recipe))
    }

    /// Returns the stored fold of a book; `base` names the built-in recipe that made it.
    pub fn fold(&self, base: &str, book: BookNo) -> Result<Option<PackedFold>, StoreError> {
        let wanted = WantedParts {
            folds: &[base],
            ..WantedParts::default()
        };
        Ok(self.parts_of(book, wanted)?.folds.pop())
    }

    /// Returns the text of a book, if it is kept.
    pub fn text(&self, book: BookNo) -> Result<Option<String>, StoreError> {
        let wanted = WantedParts {
            text: true,
            ..WantedParts::default()
        };
        Ok(self.parts_of(book, wanted)?.text)
    }

    fn parts_of(&self, book: BookNo, wanted: WantedParts<'_>) -> Result<BookParts, StoreError> {
        Ok(self.parts(&[book], wanted)?.pop().unwrap_or_default())
    }

    /// Returns books with all that is stored of them, as they are to be stored elsewhere; `None` for an unknown number.
    ///
    /// # Errors
    /// Those of [`Snapshot::parts`].
    pub fn whole(&self, books: &[BookNo]) -> Result<Vec<Option<NewBook>>, StoreError> {
        let recipes = || self.known_recipes().shown();
        let bases: BTreeSet<&str> = recipes().map(Recipe::base).collect();
        let wanted = WantedParts {
            gems: &recipes().map(Recipe::name).collect::<Vec<_>>(),
            gems_if: None,
            folds: &bases.into_iter().collect::<Vec<_>>(),
            text: true,
        };
        // An engine that reads the records with the parts has them already.
        let parts = self.parts(books, wanted)?;
        let records = self.fetch(books)?.into_iter().zip(parts);
        Ok(records
            .map(|(record, parts)| Some(NewBook::copied(record?, parts)))
            .collect())
    }

    /// Returns the summary of a library, or `None` if it holds no books.
    pub fn library(&self, library: &Library) -> Result<Option<Arc<LibrarySummary>>, StoreError> {
        Ok(self.summaries(Some(library))?.pop())
    }

    /// Returns every library that holds a book, sorted by name.
    pub fn libraries(&self) -> Result<Vec<Arc<LibrarySummary>>, StoreError> {
        self.summaries(None)
    }

    /// Returns how many books have gems of at least one of these recipes. If the catalogue is of an older version that did not
    /// count this, it is the number for the one that covers the most.
    pub fn coverage_of_any(&self, recipes: &[RecipeName]) -> Result<Coverage, StoreError> {
        let mut widest: Option<Coverage> = None;
        for recipe in recipes {
            let coverage = self.coverage(recipe)?;
            if coverage.lacking() == 0 {
                return Ok(coverage);
            }
            widest = widest
                .filter(|known| known.lacking() <= coverage.lacking())
                .or(Some(coverage));
        }
        let exact = if recipes.len() == 1 {
            None
        } else {
            Coverage::of_libraries(&self.libraries()?, recipes)
        };
        Ok(exact.or(widest).unwrap_or(Coverage { books: 0, total: 0 }))
    }
}
