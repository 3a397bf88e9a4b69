//! Reads all keys of a catalogue, and looks whether the books that they refer to need them.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::super::command::Command;
use super::super::keys::{KeyName, split};
use super::suspicion::Suspicion;
use super::{ClusterVerification, PAGE, Reference, book_at_end, is_there};
use lapidary_store::{BookNo, StoreError};

/// Number of keys read at a time that name books. Some name a 256th of a library.
const LISTS: usize = 64;

/// The pass over all keys, with look-ups of the books that they refer to.
pub(super) struct KeyPass<'h, 'a>(pub(super) &'h mut ClusterVerification<'a>);

impl KeyPass<'_, '_> {
    pub(super) fn all_keys(&mut self) -> Result<(), StoreError> {
        let pattern = self.0.shared.keys.all();
        let shared = self.0.shared;
        shared
            .writing(&[])
            .scan(&pattern, &mut |page| self.page(page))
    }

    fn page(&mut self, page: Vec<Vec<u8>>) -> Result<(), StoreError> {
        let (mut buckets, mut present, mut referring) = (Vec::new(), Vec::new(), Vec::new());
        for key in page {
            match self.0.shared.keys.read(&key) {
                Some(KeyName::PackedBucket(..)) => buckets.push(key),
                Some(KeyName::Digest(_)) => referring.push((Command::bare("HKEYS", &key), key)),
                Some(KeyName::Shard(_, name))
                    if name.starts_with("ids:") || name.starts_with("t:") =>
                {
                    referring.push((Command::new("ZRANGE", &key, &["0", "-1"][..]), key));
                }
                Some(KeyName::Book('b', book)) => present.push(book),
                // The state before or after a change.
                Some(KeyName::Book(_, book)) => {
                    self.0.doubts.push(Suspicion::LeftOver(book, key));
                }
                Some(KeyName::Shard(_, name)) => {
                    let id = name.strip_prefix("v:");
                    let id: Option<Uuid> = id.and_then(|id| id.parse().ok());
                    self.0.values.needless.extend(id);
                }
                Some(KeyName::Meta(name)) => {
                    let table = name.strip_prefix("rows:").map(str::to_owned);
                    self.0.values.tables.extend(table);
                }
                Some(KeyName::Usage) => {}
                None => self.0.faults.add(format!(
                    "there is an unknown key {}",
                    String::from_utf8_lossy(&key)
                )),
            }
        }
        self.listed(&present)?;
        for some in referring.chunks(LISTS) {
            self.referring(some)?;
            self.0.step(0)?;
        }
        self.0.step(0)?;
        self.0.buckets(&buckets)
    }

    /// Looks whether books are listed.
    fn listed(&mut self, books: &[BookNo]) -> Result<(), StoreError> {
        let found = self.0.shared.client.read(
            &books
                .iter()
                .map(|book| {
                    let (shard, number) = split(*book);
                    Command::new("ZSCORE", &self.0.shared.keys.shard(shard, "books"), number)
                })
                .collect::<Vec<_>>(),
        )?;
        let unlisted = books
            .iter()
            .zip(found)
            .filter(|(_, found)| !is_there(found));
        self.0
            .doubts
            .extend(unlisted.map(|(book, _)| Suspicion::Unlisted(*book)));
        Ok(())
    }

    /// Looks whether the books that keys name need that.
    fn referring(&mut self, keys: &[(Command, Vec<u8>)]) -> Result<(), StoreError> {
        let reads: Vec<Command> = keys.iter().map(|(read, _)| read.clone()).collect();
        let mut books: BTreeMap<BookNo, BTreeSet<Reference>> = BTreeMap::new();
        let members: Vec<Vec<Vec<u8>>> = self.0.shared.ask_all(&reads)?;
        for ((_, key), members) in keys.iter().zip(members) {
            for member in members {
                let Some(book) = book_at_end(&member) else {
                    let key = String::from_utf8_lossy(key);
                    self.0
                        .faults
                        .add(format!("{key} has an entry that cannot be read"));
                    continue;
                };
                books.entry(book).or_default().insert((key.clone(), member));
            }
        }
        self.doubt_needless(books)
    }

    /// Doubts what refers to books that do not need it.
    fn doubt_needless(
        &mut self,
        mut books: BTreeMap<BookNo, BTreeSet<Reference>>,
    ) -> Result<(), StoreError> {
        let numbers: Vec<BookNo> = books.keys().copied().collect();
        for some in numbers.chunks(PAGE) {
            let read = self.0.records(some)?;
            for (number, book) in some.iter().zip(read) {
                let needed = book
                    .as_ref()
                    .map(|book| self.0.all_references(book))
                    .transpose()?
                    .unwrap_or_default();
                let doubted = books.remove(number).unwrap_or_default().into_iter();
                let doubted = doubted.filter(|reference| !needed.contains(reference));
                self.0
                    .doubts
                    .extend(doubted.map(|reference| Suspicion::Reference {
                        book: *number,
                        reference,
                    }));
            }
        }
        Ok(())
    }
}
