//! Which library each book number belongs to.
//!
//! Numbers are assigned in ascending order and never reused, and a book never changes its library. So the map from
//! numbers to libraries is a list of runs that only grows. It is small (a library added in one go is one run), so it
//! is kept in memory, and a check can count a gem's books by library without reading a record.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hashbrown::HashMap;

use super::error::damaged;
use super::schema::{self, Family, MetaKey};
use super::{RocksStore, read::RocksSnapshot};
use crate::{BookNo, Library, StoreError};

/// Identifies a library by the number of its first book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LibraryNo(pub(super) u32);

/// Runs of book numbers, each belonging to one library.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Owners {
    /// The start and the owner of each run, which ends where the next one starts. Neighbouring runs have different
    /// owners.
    runs: Vec<(BookNo, LibraryNo)>,
    libraries: BTreeMap<LibraryNo, Library>,
    numbers: HashMap<Library, LibraryNo>,
}

/// An entry of [`Family::Meta`].
type Kept = (Vec<u8>, Vec<u8>);

impl Owners {
    /// The owner of a number. An unassigned number belongs to the last run before it.
    pub(super) fn of(&self, book: BookNo) -> LibraryNo {
        self.run(book).library
    }

    fn run(&self, book: BookNo) -> OwnedRun {
        let next = self.runs.partition_point(|(start, _)| *start <= book);
        let (start, library) = next
            .checked_sub(1)
            .map_or((BookNo(0), LibraryNo(0)), |at| self.runs[at]);
        OwnedRun {
            start,
            end: self.runs.get(next).map(|(start, _)| *start),
            library,
        }
    }

    /// Looks up the owners of books that are mostly in ascending order.
    pub(super) fn walk(&self) -> OwnerWalk<'_> {
        OwnerWalk {
            owners: self,
            run: self.run(BookNo(0)),
        }
    }

    /// The only library, if all books belong to one.
    pub(super) fn only(&self) -> Option<LibraryNo> {
        match *self.runs.as_slice() {
            [] => Some(LibraryNo(0)),
            [(_, library)] => Some(library),
            _ => None,
        }
    }

    pub(super) fn name(&self, library: LibraryNo) -> Option<&Library> {
        self.libraries.get(&library)
    }

    pub(super) fn number(&self, library: &Library) -> Option<LibraryNo> {
        self.numbers.get(library).copied()
    }

    /// How many numbers of a library are lower than this one. Unlike the number, this says nothing about other libraries.
    pub(super) fn rank(&self, library: LibraryNo, book: BookNo) -> u32 {
        self.runs_of(library)
            .map(|(start, end)| end.min(book.0).saturating_sub(start))
            .sum()
    }

    /// The number of a library that has this rank, if so many were or could be assigned.
    pub(super) fn ranked(&self, library: LibraryNo, rank: u32) -> Option<BookNo> {
        let mut left = rank;
        for (start, end) in self.runs_of(library) {
            if left < end - start {
                return Some(BookNo(start + left));
            }
            left -= end - start;
        }
        None
    }

    /// The runs of a library: the first number of each, and the first after it.
    fn runs_of(&self, library: LibraryNo) -> impl Iterator<Item = (u32, u32)> {
        let ends = self
            .runs
            .iter()
            .skip(1)
            .map(|(start, _)| start.0)
            .chain([u32::MAX]);
        let runs = self
            .runs
            .iter()
            .zip(ends)
            .filter(move |((_, owner), _)| *owner == library);
        runs.map(|((start, _), end)| (start.0, end))
    }

    /// Whether this number can be assigned to the library without starting a new run.
    pub(super) fn continues(&self, book: BookNo, library: &Library) -> bool {
        let last = self.runs.last();
        last.is_some_and(|(start, owner)| {
            *start < book && self.libraries.get(owner) == Some(library)
        })
    }

    /// Assigns a number, higher than that of any book, to a library. Returns the entry to store if this starts a run.
    pub(super) fn give(&mut self, book: BookNo, library: &Library) -> Option<Kept> {
        // Drop assignments of changes that were not written.
        self.runs
            .truncate(self.runs.partition_point(|(start, _)| *start < book));
        self.libraries.retain(|library, _| library.0 < book.0);
        self.numbers.retain(|_, number| number.0 < book.0);
        if self.continues(book, library) {
            return None;
        }
        let number = self.number(library).unwrap_or(LibraryNo(book.0));
        self.add(book, number, library);
        let name = if number.0 == book.0 {
            library.as_str().as_bytes()
        } else {
            &[]
        };
        Some((
            MetaKey::Owner(book).bytes(),
            [&number.0.to_be_bytes(), name].concat(),
        ))
    }

    fn add(&mut self, start: BookNo, number: LibraryNo, library: &Library) {
        self.runs.push((start, number));
        if let Entry::Vacant(new) = self.libraries.entry(number) {
            new.insert(library.clone());
            self.numbers.insert(library.clone(), number);
        }
    }

    /// Loads the stored runs.
    pub(super) fn load(store: &RocksStore) -> Result<Self, StoreError> {
        let mut owners = Self::default();
        for entry in store.meta(MetaKey::Owner(BookNo(0)), MetaKey::Owner(BookNo(u32::MAX))) {
            let (key, value) = entry?;
            let read = match MetaKey::read(&key) {
                Some(MetaKey::Owner(start)) => owners.read(start, &value).map(|read| (start, read)),
                _ => None,
            };
            let Some((start, (number, library))) = read else {
                return Err(damaged(
                    &store.dir,
                    format!("the owner of book numbers {key:?} cannot be read"),
                ));
            };
            owners.add(start, number, &library);
        }
        Ok(owners)
    }

    fn read(&self, start: BookNo, value: &[u8]) -> Option<(LibraryNo, Library)> {
        let (number, name) = value.split_first_chunk()?;
        let number = LibraryNo(u32::from_be_bytes(*number));
        let library = if number.0 == start.0 {
            str::from_utf8(name).ok()?.parse().ok()?
        } else {
            self.libraries
                .get(&number)
                .filter(|_| name.is_empty())?
                .clone()
        };
        Some((number, library))
    }

    /// Derives the owners from the books' ids. Also returns all entries to store.
    pub(super) fn derive(snapshot: &RocksSnapshot<'_>) -> Result<(Self, Vec<Kept>), StoreError> {
        let mut books: Vec<(BookNo, Library)> = Vec::new();
        let mut ids = snapshot.iterator(Family::Ids, rocksdb::ReadOptions::default());
        ids.seek_to_first();
        while let Some((key, value)) = ids.item() {
            let library = key
                .split(|byte| *byte == 0)
                .next()
                .and_then(|name| str::from_utf8(name).ok()?.parse().ok());
            // Unreadable entries are reported by `verify`.
            books.extend(schema::read_book(value).zip(library));
            ids.next();
        }
        snapshot.end(&ids)?;
        books.sort_unstable_by_key(|(book, _)| *book);
        let mut owners = Self::default();
        let kept = books
            .iter()
            .filter_map(|(book, library)| owners.give(*book, library))
            .collect();
        Ok((owners, kept))
    }
}

/// A run of numbers: `start..end`.
#[derive(Debug, Clone, Copy)]
struct OwnedRun {
    start: BookNo,
    end: Option<BookNo>,
    library: LibraryNo,
}

/// Looks up owners one after another.
pub(super) struct OwnerWalk<'a> {
    owners: &'a Owners,
    run: OwnedRun,
}

impl OwnerWalk<'_> {
    pub(super) fn of(&mut self, book: BookNo) -> LibraryNo {
        if book < self.run.start || self.run.end.is_some_and(|end| book >= end) {
            self.run = self.owners.run(book);
        }
        self.run.library
    }

    /// The end of the run found last.
    pub(super) fn end(&self) -> Option<BookNo> {
        self.run.end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_belong_to_whom_they_were_given(
            given in proptest::collection::vec((0..4_u8, 1..4_u32, any::<bool>()), 0..40),
        ) {
            let (mut owners, mut model, mut next) = (Owners::default(), Vec::new(), 0);
            for (library, skip, lost) in given {
                let name: Library = format!("library {library}").parse().unwrap();
                let before = owners.clone();
                let continues = owners.continues(BookNo(next), &name);
                let entry = owners.give(BookNo(next), &name);
                prop_assert_eq!(entry.is_none(), continues);
                if lost {
                    // After a change that was not written, the same number is assigned again.
                    owners.give(BookNo(next), &"another".parse().unwrap());
                    owners.give(BookNo(next), &name);
                    let mut again = before;
                    again.give(BookNo(next), &name);
                    prop_assert_eq!(&owners, &again);
                }
                model.push((BookNo(next), name));
                next += skip;
            }
            let mut walk = owners.walk();
            for (book, library) in &model {
                let number = owners.of(*book);
                prop_assert_eq!(owners.name(number), Some(library));
                prop_assert_eq!(owners.number(library), Some(number));
                prop_assert_eq!(walk.of(*book), number);
                // Numbers that were skipped belong to the run before them.
                let rank = (0..book.0).filter(|before| owners.of(BookNo(*before)) == number).count() as u32;
                prop_assert_eq!(owners.rank(number, *book), rank);
                prop_assert_eq!(owners.ranked(number, rank), Some(*book));
            }
        }
    }
}
