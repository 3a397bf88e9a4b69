//! Reads all keys of a catalogue, and looks whether the books that they refer to need them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::command::Command;
use super::super::error::answer;
use super::super::keys::{Name, split};
use super::doubt::Doubt;
use super::{BOOKS, Check, Reference, is_there};
use crate::index::{BookNo, StoreError};

impl Check<'_> {
    pub(super) fn all_keys(&mut self) -> Result<(), StoreError> {
        let pattern = self.shared.keys.all();
        let shared = self.shared;
        shared.scan(&pattern, &mut |page| self.page(page))
    }

    fn page(&mut self, page: Vec<Vec<u8>>) -> Result<(), StoreError> {
        let mut buckets = Vec::new();
        for key in page {
            match self.shared.keys.read(&key) {
                Some(Name::Bucket(..)) => buckets.push(key),
                Some(Name::Digest(_)) => self.referring(&key, Command::bare("HKEYS", &key))?,
                Some(Name::Shard(_, name)) if name.starts_with("ids:") || name.starts_with("t:") => {
                    let all = Command::new("ZRANGE", &key, &["0", "-1"][..]);
                    self.referring(&key, all)?;
                }
                Some(Name::Book(state, book)) => self.state(state, book, key)?,
                Some(Name::Shard(..) | Name::Meta(_) | Name::Usage) => {}
                None => self.faults.add(format!("there is an unknown key {}", String::from_utf8_lossy(&key))),
            }
        }
        self.step(0)?;
        self.buckets(&buckets)
    }

    /// Looks at a state of a book.
    fn state(&mut self, state: char, book: BookNo, key: Vec<u8>) -> Result<(), StoreError> {
        if state != 'b' {
            self.doubts.push(Doubt::LeftOver(book, key));
            return Ok(());
        }
        let (shard, number) = split(book);
        let lookup = Command::new("ZSCORE", &self.shared.keys.shard(shard, "books"), number);
        if !is_there(&self.shared.read_one(lookup)?) {
            self.doubts.push(Doubt::Unlisted(book));
        }
        Ok(())
    }

    /// Looks whether the books that a key names need that.
    fn referring(&mut self, key: &[u8], members: Command) -> Result<(), StoreError> {
        let members: Vec<Vec<u8>> = answer(self.shared.address(), self.shared.read_one(members)?)?;
        let mut books: BTreeMap<BookNo, BTreeSet<Reference>> = BTreeMap::new();
        for member in members {
            // All of them end with the number of the book.
            match member.last_chunk().map(|book| BookNo(u32::from_be_bytes(*book))) {
                Some(book) => drop(books.entry(book).or_default().insert((key.to_vec(), member))),
                None => self.faults.add(format!("{} has an entry that cannot be read", String::from_utf8_lossy(key))),
            }
        }
        let numbers: Vec<BookNo> = books.keys().copied().collect();
        for some in numbers.chunks(BOOKS) {
            let read = self.records(some)?;
            for (number, book) in some.iter().zip(read) {
                for reference in books.remove(number).unwrap_or_default() {
                    if !self.needs(book.as_ref(), &reference)? {
                        self.doubts.push(Doubt::Reference { book: *number, reference });
                    }
                }
            }
        }
        Ok(())
    }
}
