//! Detectors, which an evaluation measures: a recipe of this program with its rule, or another program.

use std::path::Path;

use lapidary_gems::Recipe;

use super::EvaluateError;
use lapidary_catalogue::{Catalogue, CatalogueError, Content, NewEntry, Text};
use lapidary_store::{Actor, BookKey, Library, Rights};

/// Finds the numbers of the books in its index that a text matches.
pub(super) trait Detector: Sync {
    fn name(&self) -> &str;

    fn check(&self, text: &Text<'_>) -> Result<Vec<usize>, EvaluateError>;
}

/// A catalogue with all books and all recipes that are evaluated.
pub(super) struct BookIndex {
    catalogue: Catalogue,
    library: Library,
}

impl BookIndex {
    pub(super) fn create(folder: &Path, recipes: &[Recipe]) -> Result<Self, EvaluateError> {
        let catalogue = Catalogue::open_or_create(folder)?;
        catalogue.by(Actor::Local).recipes().ensure(recipes)?;
        let library = "books".parse().map_err(CatalogueError::from)?;
        Ok(Self { catalogue, library })
    }

    /// Adds these books on all cores. `text` reads the text of a book.
    pub(super) fn add(
        &self,
        books: Vec<usize>,
        recipes: &[Recipe],
        text: impl Fn(usize) -> Result<String, EvaluateError> + Sync,
        added: impl Fn() + Sync,
    ) -> Result<(), EvaluateError> {
        let mut refused = None;
        self.catalogue.by(Actor::Local).ingest().add_all(
            books,
            recipes,
            |book| vec![((), text(book).and_then(|text| self.entry(book, text)))],
            |(), landed| {
                added();
                if let Err(why) = landed {
                    refused.get_or_insert(why.to_string());
                }
            },
        )?;
        refused.map_or(Ok(()), |why| Err(EvaluateError::Refused(why)))
    }

    fn entry(&self, book: usize, text: String) -> Result<NewEntry, EvaluateError> {
        let key = BookKey {
            library: self.library.clone(),
            id: book.to_string().parse().map_err(CatalogueError::from)?,
        };
        Ok(NewEntry::new(key, Rights::Protected, Content::text(text)))
    }
}

/// Recipes of this program with their default rules. Finds the books that any of them finds.
pub(super) struct ByRecipes<'i> {
    pub(super) index: &'i BookIndex,
    pub(super) recipes: &'i [Recipe],
    pub(super) name: String,
}

impl Detector for ByRecipes<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, text: &Text<'_>) -> Result<Vec<usize>, EvaluateError> {
        let mut named = Vec::new();
        for recipe in self.recipes {
            for book in self.index.catalogue.checks().matching(text, recipe)? {
                let number = book.id.as_str().parse();
                named.push(
                    number.map_err(|e| EvaluateError::Internal(format!("a book's number: {e}")))?,
                );
            }
        }
        named.sort_unstable();
        named.dedup();
        Ok(named)
    }
}
