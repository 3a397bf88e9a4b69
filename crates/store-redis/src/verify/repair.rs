//! Repairs references to books: adds what is missing, and removes what no book needs.
//!
//! A book is locked meanwhile, as for any other change. What refers to a book that does not exist needs no lock, because
//! numbers are not given again.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Shared;
use super::super::buckets::{Buckets, Posts};
use super::super::command::Command;
use super::super::intent::read_member;
use super::super::keys::{KeyName, shard_of_key, split};
use super::super::owners::BLOCK;
use super::loss::{Difference, DifferentBook, Losses};
use super::{ClusterVerification, FaultLimit, ReadBook, Reference};
use lapidary_store::{Actor, BookNo, Condition, Library, StoreError, Watch};

/// How often to look for faults that others have hidden.
const ROUNDS: u32 = 16;

/// The books that are lost.
#[derive(Default)]
struct Lost {
    /// A sentence for each whose id is left.
    named: BTreeSet<String>,
    /// Those that are not as the audit log says.
    different: Vec<DifferentBook>,
    /// The numbers of all that something refers to.
    numbers: BTreeSet<BookNo>,
}

impl Lost {
    /// A sentence for each. Nodes that have lost something may have lost the names, too.
    fn sentences(self, losses: &Losses) -> Vec<String> {
        let missing = self
            .different
            .iter()
            .filter(|book| book.how == Difference::Missing);
        let mut named: BTreeMap<u32, usize> = BTreeMap::new();
        for book in missing {
            *named.entry(shard_of_key(&book.key)).or_default() += 1;
        }
        let mut numbers: BTreeMap<u32, Vec<BookNo>> = BTreeMap::new();
        for number in self.numbers.iter().filter(|_| !losses.are_none()) {
            numbers.entry(split(*number).0).or_default().push(*number);
        }
        // The log does not say which number a book had.
        numbers.retain(|shard, numbers| numbers.len() > named.get(shard).copied().unwrap_or(0));
        let different = self.different.iter().map(DifferentBook::sentence);
        let nameless = numbers.into_values().flatten().map(|number| {
            format!(
                "book {} has no record, and nothing names it: compare with what you have",
                number.0
            )
        });
        different.chain(self.named).chain(nameless).collect()
    }
}

/// Repairs everything that can be. Returns the books that are lost. What else is still wrong afterwards cannot be repaired.
pub(super) fn run(
    shared: &Shared,
    watch: Watch<'_>,
    losses: &Losses,
) -> Result<Vec<String>, StoreError> {
    let mut lost = Lost::default();
    for round in 0..ROUNDS {
        let mut found = ClusterVerification::run(shared, watch, losses, FaultLimit::Repairable)?;
        if round == 0 && !losses.are_none() {
            found.name_libraries()?;
        }
        let has_repaired = found.repair(&mut lost)?;
        // These may have been of the books that could be found then.
        if !has_repaired {
            let wrong = std::mem::take(&mut found.amiss);
            if shared.meta().correct_totals(wrong)? {
                break;
            }
        }
    }
    Ok(lost.sentences(losses))
}

/// The library of numbers that may have been given by a shard that has lost its own.
const NOBODY: u32 = u32::MAX;
/// A generation after all others.
const LAST: i64 = 1 << 53;

impl ClusterVerification<'_> {
    /// Repairs what was found. Returns whether there was anything but totals. `lost` gets the books that are lost.
    fn repair(&mut self, lost: &mut Lost) -> Result<bool, StoreError> {
        let wrong = std::mem::take(&mut self.wrong);
        for (number, wrong) in &wrong {
            self.mend(*number, wrong, lost)?;
        }
        if !self.losses.are_none() {
            self.reserve_numbers(&lost.numbers)?;
        }
        let (back, different): (Vec<_>, Vec<_>) = std::mem::take(&mut self.different)
            .into_iter()
            .partition(|book| book.how == Difference::Back);
        for book in &back {
            let (key, anyway) = (std::slice::from_ref(&book.key), Condition::default());
            self.shared
                .writing(&[])
                .remove(&Actor::Local, key, &anyway)?;
        }
        for segment in std::mem::take(&mut self.segments) {
            self.shared.audit_log().give_up(segment)?;
        }
        self.large_values().mend()?;
        lost.different = different;
        Ok(!wrong.is_empty() || !back.is_empty())
    }

    /// Whether ids of books are under this key.
    fn is_id(&self, key: &[u8]) -> bool {
        let name = self.shared.keys.read(key);
        matches!(name, Some(KeyName::Shard(_, name)) if name.starts_with("ids:"))
    }

    /// Removes what refers to a book without a record.
    fn forget(
        &self,
        number: BookNo,
        wrong: &[(Reference, bool)],
        lost: &mut Lost,
    ) -> Result<(), StoreError> {
        if self.exists(number)? {
            return Ok(());
        }
        let ids = wrong
            .iter()
            .filter_map(|((_, member), _)| Some(read_member(member)?.0));
        lost.numbers.insert(number);
        lost.named.extend(ids.map(|id| {
            format!("the book {id:?} has no record: add it again, unless it was removed")
        }));
        self.write(number, None, wrong, LAST)
    }

    fn mend(
        &mut self,
        number: BookNo,
        wrong: &[(Reference, bool)],
        lost: &mut Lost,
    ) -> Result<(), StoreError> {
        let Some(book) = self.books(&[number])?.pop().flatten() else {
            return self.forget(number, wrong, lost);
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
            let ids = wrong.iter().filter(|((key, _), _)| self.is_id(key));
            let ids: Vec<(Reference, bool)> = ids.cloned().collect();
            if locked.is_empty() && !ids.is_empty() {
                self.write(number, Some(&book), &ids, 0)?;
                return self.mend(number, wrong, lost);
            }
            return self.shared.intents().end(&locked);
        };
        self.shared.intents().keep_during(locked, |locked| {
            let mended = self.mend_locked(number, wrong, generation);
            self.shared.intents().end(&locked)?;
            mended
        })
    }

    fn mend_locked(
        &mut self,
        number: BookNo,
        wrong: &[(Reference, bool)],
        generation: i64,
    ) -> Result<(), StoreError> {
        let book = self.books(&[number])?.pop().flatten();
        match book.filter(|book| self.is_whole(book)) {
            Some(book) => self.write(number, Some(&book), wrong, generation),
            None => Ok(()),
        }
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
            let command = match self.shared.keys.read(&key) {
                Some(KeyName::PackedBucket(..) | KeyName::Digest(_)) => {
                    let posts = if self.needs(book, reference)? {
                        &mut added
                    } else {
                        &mut removed
                    };
                    posts.entry(key).or_default().insert(field);
                    continue;
                }
                Some(KeyName::Shard(_, "books")) if *is_needed => {
                    Command::new("ZADD", &key, (split(number).1, field))
                }
                Some(KeyName::Shard(_, "books")) => Command::new("ZREM", &key, field),
                Some(KeyName::Book(..)) => Command::bare("UNLINK", &key),
                _ if self.needs(book, reference)? => Command::new("ZADD", &key, (0, field)),
                _ => Command::new("ZREM", &key, field),
            };
            commands.push(command);
        }
        commands.extend(Buckets::additions(&added, generation));
        commands.extend(Buckets::doubts(&removed, generation));
        // If a failover loses this, the next verification finds it again.
        self.shared.client.write_loosely(&commands).map(drop)
    }

    /// Names libraries whose names are lost after the books that have their numbers.
    fn name_libraries(&mut self) -> Result<(), StoreError> {
        let mut names: BTreeMap<u32, Library> = BTreeMap::new();
        self.each_book(|check, book| {
            let owners = check.shared.numbering().owner(book.number);
            if let Some(owner) = owners.filter(|owner| *owner != NOBODY) {
                names.insert(owner, book.record.key.library.clone());
            }
            Ok(())
        })?;
        let key = self.shared.keys.meta("libraries");
        let known: BTreeSet<u32> = self.shared.ask(Command::bare("HVALS", &key))?;
        let last = names.keys().next_back().copied();
        for number in (0..=last.unwrap_or(0)).filter(|number| !known.contains(number)) {
            let name = match names.get(&number) {
                Some(name) => name.to_string(),
                None if last.is_some() => format!("lost-{number}"),
                None => break,
            };
            self.shared
                .write_one(Command::new("HSET", &key, (name, number)))?;
        }
        self.shared.numbering().doubt();
        self.shared.numbering().learn_all_owners()
    }

    /// Keeps numbers that something referred to from being given again.
    fn reserve_numbers(&self, referred: &BTreeSet<BookNo>) -> Result<(), StoreError> {
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        for (shard, number) in referred.iter().map(|book| split(*book)) {
            let known = last.entry(shard).or_default();
            *known = number.max(*known);
        }
        for (shard, last) in last {
            let owners = self.shared.keys.shard(shard, "owners");
            let length = self.shared.read_one(Command::bare("STRLEN", &owners))?;
            let blocks: u32 = self.shared.answer::<u32>(length)? / 4;
            let nobody = (blocks..=last / BLOCK).flat_map(|_| NOBODY.to_be_bytes());
            let nobody: Vec<u8> = nobody.collect();
            // Every library goes on in a new block.
            let mut writes = vec![Command::bare("DEL", &self.shared.keys.shard(shard, "next"))];
            if !nobody.is_empty() {
                writes.push(Command::new("APPEND", &owners, nobody));
            }
            self.shared.client.write(&writes)?;
        }
        Ok(())
    }
}
