//! Books with all that is stored of them, as exports and copies read them.

use super::{Catalogue, CatalogueError};
use lapidary_store::{BookKey, BookNo, NewBook, Record, Snapshot, StoreError};

/// The length in bytes of texts that are read at a time.
const TEXTS: u64 = 16 << 20;
/// How often to read a book that is being changed.
const TRIES: u32 = 20;

/// A book of a list.
pub(super) type Listed = (BookNo, Record);

impl Catalogue {
    /// Reads all of books, each in one state, even if it is being changed; `None` for one that is gone.
    pub(super) fn whole(
        &self,
        snapshot: &dyn Snapshot,
        books: &[Listed],
    ) -> Result<Vec<Option<NewBook>>, CatalogueError> {
        let numbers: Vec<BookNo> = books.iter().map(|(number, _)| *number).collect();
        let again = |(book, (_, record)): (Option<NewBook>, &Listed)| {
            book.map_or_else(|| self.read(&record.key), |book| Ok(Some(book)))
        };
        match snapshot.whole(&numbers) {
            Err(StoreError::Changed(_)) => books
                .iter()
                .map(|(_, record)| self.read(&record.key))
                .collect(),
            // One that is gone may be back, with another number.
            whole => whole?.into_iter().zip(books).map(again).collect(),
        }
    }

    /// Reads all of a book in one state, even if it is being changed.
    fn read(&self, key: &BookKey) -> Result<Option<NewBook>, CatalogueError> {
        let mut tries = 0;
        loop {
            let snapshot = self.store.snapshot();
            let read = || -> Result<Option<NewBook>, StoreError> {
                let Some(number) = snapshot.find(key)? else {
                    return Ok(None);
                };
                Ok(snapshot.whole(&[number])?.pop().flatten())
            };
            match read() {
                Err(StoreError::Changed(_)) if tries < TRIES => tries += 1,
                read => return Ok(read?),
            }
        }
    }
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
