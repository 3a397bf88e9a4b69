//! Repairs references to books: adds what is missing, and removes what no book needs.
//!
//! A book is locked meanwhile, as for any other change. What refers to a book that does not exist needs no lock, because
//! numbers are not given again.

use super::super::buckets::{Buckets, Posts};
use super::super::command::Command;
use super::super::intent::read_member;
use super::super::keys::{KeyName, split};
use super::{ClusterVerification, ReadBook, Reference};
use lapidary_store::{BookNo, StoreError};

/// A generation after all others.
const LAST: i64 = 1 << 53;

impl ClusterVerification<'_> {
    /// Repairs what was found. Returns the books that are lost. What else is still wrong afterwards cannot be repaired.
    pub(super) fn repair(mut self) -> Result<Vec<String>, StoreError> {
        let mut lost = Vec::new();
        let wrong = std::mem::take(&mut self.wrong);
        for (number, wrong) in &wrong {
            self.mend(*number, wrong, &mut lost)?;
        }
        if !wrong.is_empty() && !self.amiss.is_empty() {
            // The totals, too, may have been of the books that could be found.
            self = Self::run(self.shared, self.watch)?;
        }
        let totals = self.shared.keys.meta("totals");
        for (key, by) in std::mem::take(&mut self.amiss) {
            self.shared
                .write_one(Command::new("HINCRBY", &totals, (key, by)))?;
        }
        Ok(lost)
    }

    fn mend(
        &mut self,
        number: BookNo,
        wrong: &[(Reference, bool)],
        lost: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let Some(book) = self.books(&[number])?.pop().flatten() else {
            if self.exists(number)? {
                return Ok(());
            }
            let ids = wrong
                .iter()
                .filter_map(|((_, member), _)| Some(read_member(member)?.0));
            lost.extend(ids.map(|id| {
                format!("the book {id:?} has no record: add it again, unless it was removed")
            }));
            return self.write(number, None, wrong, LAST);
        };
        let locked = self.shared.intents().lock(
            &self.recipes,
            std::slice::from_ref(&book.record.key),
            false,
        )?;
        let generation = locked
            .first()
            .filter(|locked| locked.number == number)
            .map(|locked| locked.generation);
        let Some(generation) = generation else {
            // It cannot be locked before its id is there, nor changed by others.
            let is_id = |((key, _), _): &&(Reference, bool)| matches!(self.shared.keys.read(key), Some(KeyName::Shard(_, name)) if name.starts_with("ids:"));
            let ids: Vec<(Reference, bool)> = wrong.iter().filter(is_id).cloned().collect();
            if locked.is_empty() && !ids.is_empty() {
                self.write(number, Some(&book), &ids, 0)?;
                return self.mend(number, wrong, lost);
            }
            return self.shared.intents().end(&locked);
        };
        let book = self
            .books(&[number])?
            .pop()
            .flatten()
            .filter(|book| self.is_whole(book));
        if book.is_some() {
            self.write(number, book.as_ref(), wrong, generation)?;
        }
        self.shared.intents().end(&locked)
    }

    fn write(
        &self,
        number: BookNo,
        book: Option<&ReadBook>,
        wrong: &[(Reference, bool)],
        generation: i64,
    ) -> Result<(), StoreError> {
        let (mut added, mut removed) = (Posts::new(), Posts::new());
        let mut commands = Vec::new();
        for (reference, is_needed) in wrong {
            let (key, field) = reference.clone();
            match self.shared.keys.read(&key) {
                Some(KeyName::PackedBucket(..) | KeyName::Digest(_)) => {
                    let posts = if self.needs(book, reference)? {
                        &mut added
                    } else {
                        &mut removed
                    };
                    posts.entry(key).or_default().insert(field);
                }
                Some(KeyName::Shard(_, "books")) if *is_needed => {
                    commands.push(Command::new("ZADD", &key, (split(number).1, field)));
                }
                Some(KeyName::Shard(_, "books")) => {
                    commands.push(Command::new("ZREM", &key, field));
                }
                Some(KeyName::Book(..)) => commands.push(Command::bare("UNLINK", &key)),
                _ if self.needs(book, reference)? => {
                    commands.push(Command::new("ZADD", &key, (0, field)));
                }
                _ => commands.push(Command::new("ZREM", &key, field)),
            }
        }
        commands.extend(Buckets::additions(&added, generation));
        commands.extend(Buckets::doubts(&removed, generation));
        // If a failover loses this, the next verification finds it again.
        self.shared.client.write_loosely(&commands).map(drop)
    }
}
