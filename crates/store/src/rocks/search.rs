//! Searching for books by their terms.
//!
//! Each term has a sorted list of places. The books with all terms of a search are found by a leapfrog join (Veldhuizen
//! 2014, "Leapfrog Triejoin"): the lists take turns in moving to the highest place reached, so the shortest list
//! determines the number of steps. A list moves to a near place entry by entry, and to a far one by a seek.

use std::collections::BTreeSet;

use rocksdb::{DBRawIterator, ReadOptions};

use super::owners::{LibraryNo, Owners};
use super::read::RocksSnapshot;
use super::schema::{self, Family, TERM_BYTES};
use crate::{BookNo, Cursor, Found, Record, Search, StoreError, Term};

/// The number of entries that a list moves one by one before it seeks.
const NEAR: u32 = 8;
/// The cost of a seek, as a number of entries.
const SEEK: u32 = 10;
/// The most entries that a search may cost. Then it ends, and its cursor says where to go on.
const MOST_ENTRIES: u32 = 20_000;

/// A place in a list: the order is that of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TermPlace {
    library: LibraryNo,
    book: BookNo,
}

impl TermPlace {
    /// The first place behind this one.
    fn next(self) -> Self {
        Self {
            book: BookNo(self.book.0 + 1),
            ..self
        }
    }
}

/// The keys of a book's terms.
pub(super) fn term_keys(
    library: LibraryNo,
    book: BookNo,
    record: &Record,
) -> BTreeSet<schema::TermKey> {
    Term::each_of(record)
        .iter()
        .map(|term| schema::term_key(schema::term_prefix(term), library, book))
        .collect()
}

/// Whether a key is that of a term of an existing book.
pub(super) fn is_of_a_book(snapshot: &RocksSnapshot<'_>, key: &[u8]) -> Result<bool, StoreError> {
    let Some((_, library, book)) = schema::read_term_key(key) else {
        return Ok(false);
    };
    let record = snapshot.record(book)?;
    Ok(record.is_some_and(|record| {
        library == snapshot.owners().of(book)
            && term_keys(library, book, &record)
                .iter()
                .any(|of_record| of_record == key)
    }))
}

/// Where a search begins, unless its cursor is in no library.
fn first_place(owners: &Owners, from: Option<&Cursor>) -> Option<TermPlace> {
    let Some(Cursor { library, passed }) = from else {
        return Some(TermPlace {
            library: LibraryNo(0),
            book: BookNo(0),
        });
    };
    let library = owners.number(library)?;
    // No book has the last number.
    let book = owners.ranked(library, *passed).unwrap_or(BookNo(u32::MAX));
    Some(TermPlace { library, book })
}

pub(super) fn search(
    snapshot: &RocksSnapshot<'_>,
    search: &Search<'_>,
) -> Result<Found, StoreError> {
    let owners = snapshot.owners();
    let allowed = search.libraries.map(|libraries| {
        let numbers = libraries
            .iter()
            .filter_map(|library| owners.number(library));
        numbers.collect()
    });
    let begin = first_place(owners, search.from).filter(|_| !search.terms.is_empty());
    let Some(mut at) = begin else {
        return Ok(Found::default());
    };
    let terms = search.terms.iter();
    let mut join = Join {
        snapshot,
        lists: terms.map(|term| TermList::new(snapshot, term)).collect(),
        allowed,
        left: MOST_ENTRIES,
    };
    let mut books = Vec::new();
    loop {
        match join.next(at)? {
            SearchStep::Found(_) if books.len() == search.limit => {
                let next = books.last().map(|last: &TermPlace| last.next());
                return join.page(&books, next.unwrap_or(at));
            }
            SearchStep::Found(place) => {
                books.push(place);
                at = place.next();
            }
            SearchStep::Tired(place) => return join.page(&books, place),
            SearchStep::End => {
                return Ok(Found {
                    books: numbers(&books),
                    next: None,
                });
            }
        }
    }
}

fn numbers(places: &[TermPlace]) -> Vec<BookNo> {
    places.iter().map(|place| place.book).collect()
}

/// The list of a term.
struct TermList<'a> {
    prefix: [u8; TERM_BYTES],
    entries: DBRawIterator<'a>,
}

impl<'a> TermList<'a> {
    fn new(snapshot: &'a RocksSnapshot<'_>, term: &Term) -> Self {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        Self {
            prefix: schema::term_prefix(term),
            entries: snapshot.iterator(Family::Terms, options),
        }
    }

    /// Its current place, unless it is not positioned, or at its end.
    fn place(&self) -> Option<TermPlace> {
        let (prefix, library, book) = schema::read_term_key(self.entries.key()?)?;
        (prefix == self.prefix).then_some(TermPlace { library, book })
    }
}

/// The outcome of looking for the next book.
enum SearchStep {
    /// The next book is here.
    Found(TermPlace),
    /// The work is used up; the next book is here or later.
    Tired(TermPlace),
    /// There is none.
    End,
}

/// The books that are in all of some lists.
struct Join<'a> {
    snapshot: &'a RocksSnapshot<'a>,
    lists: Vec<TermList<'a>>,
    allowed: Option<BTreeSet<LibraryNo>>,
    /// The entries that may still be read.
    left: u32,
}

impl Join<'_> {
    /// Looks for the next book from a place on.
    fn next(&mut self, from: TermPlace) -> Result<SearchStep, StoreError> {
        let Some(mut at) = self.permitted(from) else {
            return Ok(SearchStep::End);
        };
        let mut agreeing = 0;
        for list in (0..self.lists.len()).cycle() {
            if agreeing == self.lists.len() {
                break;
            }
            if self.left == 0 {
                return Ok(SearchStep::Tired(at));
            }
            let Some(reached) = self.advance(list, at)? else {
                return Ok(SearchStep::End);
            };
            if reached == at {
                agreeing += 1;
                continue;
            }
            let Some(next) = self.permitted(reached) else {
                return Ok(SearchStep::End);
            };
            agreeing = usize::from(next == reached);
            at = next;
        }
        Ok(SearchStep::Found(at))
    }

    /// The first place from this one on in a library that is searched.
    fn permitted(&self, place: TermPlace) -> Option<TermPlace> {
        let Some(allowed) = &self.allowed else {
            return Some(place);
        };
        let library = *allowed.range(place.library..).next()?;
        Some(if library == place.library {
            place
        } else {
            TermPlace {
                library,
                book: BookNo(0),
            }
        })
    }

    /// Moves a list to the first place from `to` on.
    fn advance(&mut self, list: usize, to: TermPlace) -> Result<Option<TermPlace>, StoreError> {
        let list = &mut self.lists[list];
        for _ in 0..NEAR {
            match list.place() {
                Some(place) if place >= to => return Ok(Some(place)),
                Some(_) => list.entries.next(),
                None => break,
            }
            self.left = self.left.saturating_sub(1);
        }
        list.entries
            .seek(schema::term_key(list.prefix, to.library, to.book));
        self.left = self.left.saturating_sub(SEEK);
        self.snapshot.end(&list.entries)?;
        Ok(list.place())
    }

    /// The page of these books; the next one starts at `next`.
    fn page(&self, books: &[TermPlace], next: TermPlace) -> Result<Found, StoreError> {
        let owners = self.snapshot.owners();
        let library = owners.name(next.library).cloned();
        let library = library.ok_or_else(|| {
            self.snapshot
                .damaged(format!("the name of library {} is lost", next.library.0))
        })?;
        let passed = owners.rank(next.library, next.book);
        Ok(Found {
            books: numbers(books),
            next: Some(Cursor { library, passed }),
        })
    }
}
