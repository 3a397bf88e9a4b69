//! The books of a catalogue: reading, finding and removing them.

use std::collections::BTreeSet;
use std::ops::Deref;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use lapidary_gems::Recipe;

use super::add::StoredBook;
use super::answer_size::fitting;
use super::check::today;
use super::libraries::holds_books;
use super::text::memory_for;
use super::{Catalogue, CatalogueError, Editor};
use crate::api::{FoundBooks, Page};
use crate::metrics::METRICS;
use lapidary_store::{
    BookId, BookKey, BookNo, BookState, Condition, Cursor, Field, Found, Library, MOST_TERMS,
    NewBook, Record, Rights, Search, Snapshot, StoreError, Term,
};

/// Number of records fetched at a time while filling a page.
const READ_AT_ONCE: usize = 100;
/// The length in bytes of texts that are read at a time.
const TEXTS: u64 = 16 << 20;
/// The length in bytes of texts of which little memory is taken, whatever of them is held.
const FEW_PAGES: usize = 16 << 10;
/// How often to read a book that is being changed.
const TRIES: u32 = 20;

/// A book of a list.
pub(super) type Listed = (BookNo, Record);

/// What to find. A book must meet all conditions that are given.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BookFilter {
    /// Beginnings of words of its title, its authors, its id and its identifiers, or an ISBN.
    pub words: Option<String>,
    /// An ISBN or another identifier of the book.
    pub identifier: Option<String>,
    /// Words of its title.
    pub title: Option<String>,
    /// Words of its authors.
    pub author: Option<String>,
    /// Its rights, on the days on which they are in effect.
    pub rights: Option<Rights>,
    /// Its language, as a tag. `pt` is also that of books in `pt-BR`.
    pub language: Option<String>,
    /// A state that it is in.
    pub state: Option<BookState>,
    /// Its library.
    pub library: Option<Library>,
}

/// The books of a catalogue ([`Catalogue::books`]). Who has an [`Editor`] adds, changes and removes them.
#[derive(Debug, Clone)]
pub struct Books<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Books<C> {
    /// Returns a book's record.
    pub fn get(&self, key: &BookKey) -> Result<Option<Record>, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let stored = StoredBook::find(&*snapshot, key)?;
        Ok(stored.map(|stored| stored.record))
    }

    /// Returns a page of a library: up to `limit` records in order of their ids, starting after `cursor`. A page has
    /// fewer if the records are long.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchLibrary`] if the library holds no books.
    pub fn page(
        &self,
        library: &Library,
        cursor: Option<&BookId>,
        limit: usize,
    ) -> Result<Page, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let mut books: Vec<Record> = Vec::new();
        // Fetch in small batches: long records can fill the page early.
        let wanted = limit.saturating_add(1);
        while books.len() < wanted && fitting(&books) >= books.len() {
            let after = books.last().map(|record| record.key.id.clone());
            let some = (wanted - books.len()).min(READ_AT_ONCE);
            let read = snapshot.walk(library, after.as_ref().or(cursor), some)?;
            let is_last = read.len() < some;
            books.extend(read.into_iter().map(|(_, record)| record));
            if is_last {
                break;
            }
        }
        if books.is_empty() {
            holds_books(&*snapshot, Some(library))?;
        }
        let shown = limit.min(fitting(&books));
        let more = books.len() > shown;
        books.truncate(shown);
        let next_cursor = books
            .last()
            .filter(|_| more)
            .map(|record| record.key.id.clone());
        Ok(Page {
            books: books.into_iter().map(Into::into).collect(),
            next_cursor,
        })
    }

    /// Estimates the most memory that adding a text takes, besides the text itself. The text may be part of a line of
    /// JSON.
    pub fn memory_to_add(&self, text: &[u8]) -> Result<usize, CatalogueError> {
        let words =
            self.0.keeps_folds()? || self.0.recipes().all().iter().any(Recipe::is_signature);
        Ok(memory_for(text, words))
    }

    /// Estimates the most memory that reading a text for a check takes, besides the text itself.
    pub fn memory_to_check(&self, text: &[u8]) -> Result<usize, CatalogueError> {
        if text.len() <= FEW_PAGES {
            // In a cluster, asking what is held takes two of the four reads of such a check.
            return Ok(memory_for(text, true));
        }
        self.memory_to_add(text)
    }

    /// Returns a page of the books of some libraries, or of all, that meet some conditions: up to `limit` records, from
    /// `cursor` on. They are ordered by library, oldest first, and then in the order in which they were added. A page has
    /// fewer books, or none, if the records are long or the search takes long; only the last has no cursor.
    ///
    /// # Errors
    /// [`CatalogueError::NothingSought`], [`CatalogueError::TooMuchSought`], [`CatalogueError::BadCursor`], and
    /// [`CatalogueError::NoSuchLibrary`] if the library asked for holds no books.
    pub fn find(
        &self,
        sought: &BookFilter,
        visible: Option<&BTreeSet<Library>>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FoundBooks, CatalogueError> {
        let terms = sought.terms()?;
        let asked: Option<BTreeSet<Library>> = sought.library.as_ref().map(|library| {
            let is_visible = visible.is_none_or(|visible| visible.contains(library));
            is_visible.then(|| library.clone()).into_iter().collect()
        });
        let libraries = asked.as_ref().or(visible);
        let from = cursor.map(|cursor| read(cursor, libraries)).transpose()?;
        let snapshot = self.0.store.snapshot();
        holds_books(&*snapshot, sought.library.as_ref())?;
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
        // Terms do not know what day it is.
        let day = today();
        records.retain(|record| sought.state.is_none_or(|state| record.is_in(state, day)));
        Ok(FoundBooks {
            books: records.into_iter().map(Into::into).collect(),
            next_cursor: next.as_ref().map(written),
        })
    }

    /// Returns the text of a book, if it is kept.
    pub fn text(&self, key: &BookKey) -> Result<Option<String>, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        match snapshot.find(key)? {
            Some(number) => Ok(snapshot.text(number)?),
            None => Ok(None),
        }
    }

    /// Reads all of books, each in one state, even if it is being changed; `None` for one that is gone.
    pub(super) fn complete(
        &self,
        snapshot: &dyn Snapshot,
        books: &[Listed],
    ) -> Result<Vec<Option<NewBook>>, CatalogueError> {
        let numbers: Vec<BookNo> = books.iter().map(|(number, _)| *number).collect();
        match snapshot.whole(&numbers) {
            Err(StoreError::Changed(_)) => books
                .iter()
                .map(|(_, record)| self.complete_one(&record.key))
                .collect(),
            // One that is gone may be back, with another number.
            whole => whole?
                .into_iter()
                .zip(books)
                .map(|(book, (_, record))| {
                    book.map_or_else(|| self.complete_one(&record.key), |book| Ok(Some(book)))
                })
                .collect(),
        }
    }

    /// Reads all of a book in one state, even if it is being changed.
    pub(super) fn complete_one(&self, key: &BookKey) -> Result<Option<NewBook>, CatalogueError> {
        let mut tries = 0;
        loop {
            let snapshot = self.0.store.snapshot();
            match find_whole(&*snapshot, key) {
                Err(StoreError::Changed(_)) if tries < TRIES => tries += 1,
                book => return Ok(book?),
            }
        }
    }
}

impl Books<Editor<'_>> {
    /// Removes books. Returns whether each of them existed.
    pub fn remove(&self, keys: &[BookKey]) -> Result<Vec<bool>, CatalogueError> {
        self.remove_if(keys, &Condition::default())
    }

    /// Removes books, all or none, if each that exists meets the condition. Returns whether each of them existed.
    ///
    /// # Errors
    /// [`StoreError::OtherVersion`], and [`StoreError::SetByAdministrator`] and [`StoreError::MayNotForbid`] for a book that the
    /// actor may not remove.
    pub fn remove_if(
        &self,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, CatalogueError> {
        let condition = Condition {
            keeps: self.0.authority()?.keeps_of_removed(),
            ..condition.clone()
        };
        let were_there = self.0.store.remove(&self.0.actor, keys, &condition)?;
        let removed = were_there.iter().filter(|there| **there).count();
        METRICS.changed("removed", removed as u64);
        Ok(were_there)
    }
}

impl BookFilter {
    fn terms(&self) -> Result<BTreeSet<Term>, CatalogueError> {
        let words = |text, field| -> Vec<Term> { Term::words(field, text).collect() };
        let conditions = [
            (
                "text of 'q'",
                self.words
                    .as_deref()
                    .map(|text| Term::beginnings(text).into_iter().collect()),
            ),
            (
                "language",
                self.language
                    .as_deref()
                    .map(|tag| Term::language(tag).into_iter().collect()),
            ),
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
        let mut terms: BTreeSet<Term> = self.rights.map(Term::rights).into_iter().collect();
        terms.extend(self.state.map(Term::state));
        for (name, found) in conditions {
            let Some(found) = found else { continue };
            if found.is_empty() {
                return Err(CatalogueError::NothingSought(format!(
                    "the {name} has no letter or digit"
                )));
            }
            terms.extend(found);
        }
        match terms.len() {
            0 => Err(CatalogueError::NothingSought(
                "give an identifier, words of a title, or an author, words of any of them as 'q', or rights, a language or a state"
                    .to_owned(),
            )),
            1..=MOST_TERMS => Ok(terms),
            _ => Err(CatalogueError::TooMuchSought),
        }
    }
}

fn find_whole(snapshot: &dyn Snapshot, key: &BookKey) -> Result<Option<NewBook>, StoreError> {
    match snapshot.find(key)? {
        Some(number) => Ok(snapshot.whole(&[number])?.pop().flatten()),
        None => Ok(None),
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
    parsed
        .filter(|cursor| libraries.is_none_or(|libraries| libraries.contains(&cursor.library)))
        .ok_or(CatalogueError::BadCursor)
}

/// Groups of books that follow each other, whose texts have at most [`TEXTS`] bytes together, or which are one.
pub(super) fn of_little_text(books: Vec<Listed>) -> Vec<Vec<Listed>> {
    let mut groups: Vec<Vec<Listed>> = Vec::new();
    let mut bytes = 0;
    for book in books {
        bytes += book.1.bytes;
        if let Some(group) = groups.last_mut().filter(|_| bytes <= TEXTS) {
            group.push(book);
        } else {
            bytes = book.1.bytes;
            groups.push(vec![book]);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use lapidary_store::Actor;

    use super::{Catalogue, FEW_PAGES};

    #[test]
    fn for_a_check_no_less_memory_is_reserved_than_it_may_take() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        for keeps_folds in [false, true] {
            let editor = catalogue.by(Actor::Local);
            editor.keep_folds(keeps_folds).expect("a setting");
            for length in [0, 1, FEW_PAGES, FEW_PAGES + 1] {
                let text = vec![b'-'; length];
                let books = catalogue.books();
                let to_check = books.memory_to_check(&text).expect("an estimate");
                let to_add = books.memory_to_add(&text).expect("an estimate");
                assert!(to_check >= to_add, "{length}: {to_check} of {to_add}");
                let is_exact = keeps_folds || length > FEW_PAGES;
                assert!(!is_exact || to_check == to_add, "{length}: {to_check}");
            }
        }
    }
}
