//! The libraries of the catalogue, and which of them each book number belongs to.
//!
//! The numbers of a shard are given to libraries in blocks, and neither blocks nor libraries ever change. So a server
//! keeps all it has read of them, and reads more when it meets a number that it does not know.

use std::collections::{BTreeSet, HashMap};

use redis::Value;

use super::Shared;
use super::command::Command;
use super::keys::{NUMBER_BITS, SHARDS, join, split};
use super::scripts::{LIBRARY, NUMBER};
use lapidary_store::{BookNo, Library, StoreError};

/// The numbers that a library is given at a time.
pub(super) const BLOCK: u32 = 64;

/// What is known of libraries and numbers.
#[derive(Debug, Default)]
pub(super) struct LibraryNumbers {
    names: Vec<Library>,
    numbers: HashMap<Library, u32>,
    /// The owners of the blocks of each shard.
    blocks: Vec<Vec<u32>>,
    /// Whether numbers may have been lost and given again since they were read.
    is_old: bool,
}

impl LibraryNumbers {
    pub(super) fn name(&self, library: u32) -> Option<&Library> {
        self.names.get(library as usize)
    }

    pub(super) fn number(&self, library: &Library) -> Option<u32> {
        self.numbers.get(library).copied()
    }

    /// The library of a number, if it is known.
    pub(super) fn of(&self, book: BookNo) -> Option<u32> {
        let (shard, number) = split(book);
        self.blocks
            .get(shard as usize)?
            .get((number / BLOCK) as usize)
            .copied()
    }

    /// A number as its library sees it: its shard, and how many numbers of the library precede it there. It says nothing
    /// of other libraries, and never changes.
    pub(super) fn rank(&self, library: u32, book: BookNo) -> u32 {
        let (shard, number) = split(book);
        let blocks = self
            .blocks
            .get(shard as usize)
            .map_or(&[][..], Vec::as_slice);
        let before = blocks
            .iter()
            .take((number / BLOCK) as usize)
            .filter(|owner| **owner == library)
            .count() as u32;
        // A number of another library counts like the next one of this library.
        let within = if self.of(book) == Some(library) {
            number % BLOCK
        } else {
            0
        };
        join(shard, before * BLOCK + within).0
    }

    /// The number with a rank, or the first one after all numbers of its shard.
    pub(super) fn ranked(&self, library: u32, rank: u32) -> BookNo {
        let (shard, rank) = split(BookNo(rank));
        let blocks = self
            .blocks
            .get(shard as usize)
            .map_or(&[][..], Vec::as_slice);
        let mut own = (0..)
            .zip(blocks)
            .filter(|(_, owner)| **owner == library)
            .map(|(block, _)| block);
        let block: u32 = own
            .nth((rank / BLOCK) as usize)
            .unwrap_or(blocks.len() as u32);
        join(shard, block * BLOCK + rank % BLOCK)
    }
}

/// The numbers of libraries and books, and who owns them.
pub(super) struct Numbering<'s>(pub(super) &'s Shared);

impl Numbering<'_> {
    /// Reads everything again before it is needed, because numbers may have been lost and given again. What is being done
    /// goes on with what was known.
    pub(super) fn doubt(&self) {
        let mut owners = self.0.owners.write();
        owners.is_old = !owners.blocks.is_empty() || !owners.names.is_empty();
    }

    /// The library of a number, as far as it is known.
    pub(super) fn owner(&self, book: BookNo) -> Option<u32> {
        let owners = self.0.read_owners();
        owners.of(book)
    }

    /// The number of a library, if it has ever had a book.
    pub(super) fn library(&self, library: &Library) -> Result<Option<u32>, StoreError> {
        let known = || self.0.read_owners().number(library);
        if known().is_none() {
            self.learn_libraries()?;
        }
        Ok(known())
    }

    /// The number of a library, which it gets if it has none.
    pub(super) fn number_library(&self, library: &Library) -> Result<u32, StoreError> {
        if let Some(number) = self.0.read_owners().number(library) {
            return Ok(number);
        }
        let key = self.0.keys.meta("libraries");
        let number = self
            .0
            .write_one(Command::script(&LIBRARY, &[key], library.as_str()))?;
        self.learn_libraries()?;
        self.0.answer(number)
    }

    pub(super) fn learn_libraries(&self) -> Result<(), StoreError> {
        let all = self
            .0
            .read_one(Command::bare("HGETALL", &self.0.keys.meta("libraries")))?;
        let all: HashMap<String, u32> = self.0.answer(all)?;
        let mut sorted: Vec<(u32, Library)> = Vec::new();
        for (name, number) in all {
            let name = name
                .parse()
                .map_err(|_| self.0.damaged("a library has no valid name"))?;
            sorted.push((number, name));
        }
        sorted.sort_unstable();
        if sorted
            .iter()
            .zip(0..)
            .any(|((number, _), expected)| *number != expected)
        {
            return Err(self.0.damaged("the libraries are not numbered one by one"));
        }
        let mut owners = self.0.owners.write();
        // Another thread may have read more.
        if sorted.len() > owners.names.len() || owners.is_old {
            owners.names = sorted.into_iter().map(|(_, name)| name).collect();
            owners.numbers = owners.names.iter().cloned().zip(0..).collect();
        }
        Ok(())
    }

    /// Takes a number for a new book.
    pub(super) fn number_books(&self, wanted: &[(u32, u32)]) -> Result<Vec<BookNo>, StoreError> {
        let commands: Vec<Command> = wanted
            .iter()
            .map(|(shard, library)| {
                let keys = ["next", "owners"].map(|name| self.0.keys.shard(*shard, name));
                let owner = library.to_be_bytes();
                let text = library.to_string();
                let (block, end) = (BLOCK.to_string(), (1 << NUMBER_BITS).to_string());
                Command::script(
                    &NUMBER,
                    &keys,
                    &[text.as_bytes(), &owner, block.as_bytes(), end.as_bytes()][..],
                )
            })
            .collect();
        let numbers = self.0.client.write_loosely(&commands)?;
        let given = numbers.into_iter().zip(wanted).map(|(number, (shard, _))| {
            let number: i64 = self.0.answer(number)?;
            u32::try_from(number)
                .map(|number| join(*shard, number))
                .map_err(|_| self.0.damaged("no book numbers are left in a shard"))
        });
        given.collect()
    }

    /// Reads the owners of these numbers, as far as they are not known. Numbers that were never given have none.
    pub(super) fn learn_owners(
        &self,
        books: impl IntoIterator<Item = BookNo>,
    ) -> Result<(), StoreError> {
        let mut unknown: BTreeSet<u32> = BTreeSet::new();
        let mut libraries = false;
        let is_old = {
            let owners = self.0.read_owners();
            owners.is_old
        };
        if is_old {
            self.learn_all_owners()?;
        }
        {
            let owners = self.0.read_owners();
            for book in books {
                match owners.of(book) {
                    None => drop(unknown.insert(split(book).0)),
                    Some(owner) => libraries |= owners.name(owner).is_none(),
                }
            }
        }
        if !unknown.is_empty() {
            let shards: Vec<u32> = unknown.into_iter().collect();
            let read = self.0.client.read(&self.owners_commands(&shards))?;
            libraries |= self.add_owners(&shards, read)?;
        }
        if libraries {
            self.learn_libraries()
        } else {
            Ok(())
        }
    }

    /// Reads all owners.
    pub(super) fn learn_all_owners(&self) -> Result<(), StoreError> {
        let shards: Vec<u32> = (0..SHARDS).collect();
        let read = self.0.client.read(&self.owners_commands(&shards))?;
        self.add_owners(&shards, read)?;
        self.learn_libraries()?;
        let mut owners = self.0.owners.write();
        owners.is_old = false;
        Ok(())
    }

    fn owners_commands(&self, shards: &[u32]) -> Vec<Command> {
        shards
            .iter()
            .map(|shard| Command::bare("GET", &self.0.keys.shard(*shard, "owners")))
            .collect()
    }

    /// Adds what was read of shards. Returns whether there is a library without a known name.
    fn add_owners(&self, shards: &[u32], read: Vec<Value>) -> Result<bool, StoreError> {
        let mut owners = self.0.owners.write();
        owners.blocks.resize(SHARDS as usize, Vec::new());
        let mut nameless = false;
        for (shard, value) in shards.iter().zip(read) {
            let bytes: Option<Vec<u8>> = self.0.answer(value)?;
            let blocks = bytes.unwrap_or_default();
            let blocks: Vec<u32> = blocks
                .chunks_exact(4)
                .map(|owner| owner.iter().fold(0, |n, byte| n << 8 | u32::from(*byte)))
                .collect();
            nameless |= blocks.iter().any(|owner| owners.name(*owner).is_none());
            let is_old = owners.is_old;
            let known = &mut owners.blocks[*shard as usize];
            if blocks.len() > known.len() || is_old {
                *known = blocks;
            }
        }
        Ok(nameless)
    }
}
