//! Finding books by identifier, title and author.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::shown::fitting;
use super::{Catalogue, CatalogueError, READ_AT_ONCE};
use crate::api::FoundBooks;
use lapidary_store::{Cursor, Field, Found, Library, MOST_TERMS, Record, Search, Term};

/// What to find. A book must meet all conditions that are given.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Sought {
    /// An ISBN or another identifier of the book.
    pub identifier: Option<String>,
    /// Words of its title.
    pub title: Option<String>,
    /// Words of its authors.
    pub author: Option<String>,
    /// Its library.
    pub library: Option<Library>,
}

impl Catalogue {
    /// Returns a page of the books of some libraries, or of all, that meet some conditions: up to `limit` records, from
    /// `cursor` on. They are ordered by library, oldest first, and then in the order in which they were added. A page has
    /// fewer books, or none, if the records are long or the search takes long; only the last has no cursor.
    ///
    /// # Errors
    /// [`CatalogueError::NothingSought`], [`CatalogueError::TooMuchSought`], [`CatalogueError::BadCursor`], and
    /// [`CatalogueError::NoSuchLibrary`] if the library asked for holds no books.
    pub fn find(
        &self,
        sought: &Sought,
        visible: Option<&BTreeSet<Library>>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FoundBooks, CatalogueError> {
        let terms = sought.terms()?;
        let asked = sought
            .library
            .iter()
            .filter(|library| visible.is_none_or(|visible| visible.contains(*library)));
        let asked: Option<BTreeSet<Library>> =
            sought.library.is_some().then(|| asked.cloned().collect());
        let libraries = asked.as_ref().or(visible);
        let from = cursor.map(|cursor| read(cursor, libraries)).transpose()?;
        let snapshot = self.store.snapshot();
        if let Some(library) = &sought.library
            && snapshot.library(library)?.is_none()
        {
            return Err(CatalogueError::NoSuchLibrary(library.to_string()));
        }
        let search = |limit| {
            snapshot.search(&Search {
                terms: &terms,
                libraries,
                from: from.as_ref(),
                limit,
            })
        };
        let Found { books, mut next } = search(limit)?;
        let mut records: Vec<Record> = Vec::new();
        for some in books.chunks(READ_AT_ONCE) {
            records.extend(snapshot.fetch(some)?.into_iter().flatten());
            let fitting = fitting(&records);
            if fitting < records.len() {
                records.truncate(fitting);
                next = search(fitting)?.next;
                break;
            }
        }
        // A damaged index must not show one library's books to another.
        records.retain(|record| {
            libraries.is_none_or(|libraries| libraries.contains(&record.key.library))
        });
        let next_cursor = next.map(|next| written(&next));
        Ok(FoundBooks {
            books: records.into_iter().map(Into::into).collect(),
            next_cursor,
        })
    }
}

impl Sought {
    fn terms(&self) -> Result<BTreeSet<Term>, CatalogueError> {
        let words = |text, field| -> Vec<Term> { Term::words(field, text).collect() };
        let conditions = [
            (
                "identifier",
                self.identifier
                    .as_deref()
                    .map(|written| Term::identifier(written).into_iter().collect()),
            ),
            (
                "title",
                self.title.as_deref().map(|text| words(text, Field::Title)),
            ),
            (
                "author",
                self.author
                    .as_deref()
                    .map(|text| words(text, Field::Author)),
            ),
        ];
        let mut terms = BTreeSet::new();
        for (name, found) in conditions
            .into_iter()
            .filter_map(|(name, found)| Some((name, found?)))
        {
            if found.is_empty() {
                return Err(CatalogueError::NothingSought(format!(
                    "the {name} has no letter or digit"
                )));
            }
            terms.extend(found);
        }
        match terms.len() {
            0 => Err(CatalogueError::NothingSought(
                "give an identifier, words of a title, or an author".to_owned(),
            )),
            1..=MOST_TERMS => Ok(terms),
            _ => Err(CatalogueError::TooMuchSought),
        }
    }
}

fn written(cursor: &Cursor) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("{} {}", cursor.passed, cursor.library))
}

fn read(written: &str, libraries: Option<&BTreeSet<Library>>) -> Result<Cursor, CatalogueError> {
    let parsed = BASE64_URL_SAFE_NO_PAD
        .decode(written)
        .ok()
        .and_then(|bytes| {
            let text = String::from_utf8(bytes).ok()?;
            let (passed, library) = text.split_once(' ')?;
            Some(Cursor {
                library: library.parse().ok()?,
                passed: passed.parse().ok()?,
            })
        });
    let permitted =
        |cursor: &Cursor| libraries.is_none_or(|libraries| libraries.contains(&cursor.library));
    parsed.filter(permitted).ok_or(CatalogueError::BadCursor)
}
