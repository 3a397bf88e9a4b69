//! The ids of a library. Each shard has some of them, in order.

use super::Shared;
use super::command::Command;
use super::intent::read_member;
use super::keys::SHARDS;
use lapidary_store::{BookNo, StoreError};

/// Number of ids read of a shard at a time, at most.
const AT_ONCE: usize = 1000;

/// The ids of a library behind one, as they are read page by page from all shards.
pub(super) struct LibraryIds<'a> {
    shared: &'a Shared,
    library: u32,
    /// Number of ids read of a shard at a time.
    at_once: usize,
    /// Where to go on in each shard that may have more, as `ZRANGEBYLEX` takes it.
    from: Vec<Option<Vec<u8>>>,
    found: Vec<(String, BookNo)>,
    /// Ids up to this one are all known; `None` if all are.
    known: Option<String>,
}

impl<'a> LibraryIds<'a> {
    /// `limit`: how many are going to be read.
    pub(super) fn after(
        shared: &'a Shared,
        library: u32,
        after: Option<&str>,
        limit: usize,
    ) -> Self {
        let from = after.map_or(b"-".to_vec(), |id| [b"[", id.as_bytes(), b"\x01"].concat());
        let of_shard = (limit / SHARDS as usize).saturating_mul(2);
        Self {
            shared,
            library,
            at_once: of_shard.saturating_add(4).min(AT_ONCE),
            from: vec![Some(from); SHARDS as usize],
            found: Vec::new(),
            known: Some(String::new()),
        }
    }

    /// Reads up to `limit` ids with their books, in order.
    pub(super) fn read(mut self, limit: usize) -> Result<Vec<(String, BookNo)>, StoreError> {
        while let Some(known) = &self.known
            && self.found.iter().filter(|(id, _)| id <= known).count() < limit
        {
            let shards = self.open_shards(known);
            self.read_page(&shards)?;
        }
        self.found.sort_unstable();
        if let Some(known) = &self.known {
            self.found.retain(|(id, _)| id <= known);
        }
        self.found.truncate(limit);
        Ok(self.found)
    }

    /// Each shard that may have an id before those that are known.
    fn open_shards(&self, known: &str) -> Vec<u32> {
        let is_open = |from: &[u8]| {
            known.is_empty() || from.starts_with(known.as_bytes()) || from <= known.as_bytes()
        };
        (0..SHARDS)
            .zip(&self.from)
            .filter(|(_, from)| from.as_ref().is_some_and(|from| is_open(&from[1..])))
            .map(|(shard, _)| shard)
            .collect()
    }

    /// Reads a page of each of these shards.
    fn read_page(&mut self, shards: &[u32]) -> Result<(), StoreError> {
        let commands: Vec<_> = shards.iter().map(|shard| self.page_of(*shard)).collect();
        let pages: Vec<Vec<Vec<u8>>> = self.shared.ask_all(&commands)?;
        for (shard, page) in shards.iter().zip(pages) {
            let last = page.last().filter(|_| page.len() == self.at_once);
            self.from[*shard as usize] = last.map(|last| [b"(", last.as_slice()].concat());
            for member in page {
                let (id, number) = read_member(&member)
                    .ok_or_else(|| self.shared.damaged("an id cannot be read"))?;
                self.found.push((id.to_owned(), number));
            }
        }
        let ends = self.from.iter().flatten();
        self.known = ends
            .filter_map(|from| Some(read_member(&from[1..])?.0.to_owned()))
            .min();
        Ok(())
    }

    fn page_of(&self, shard: u32) -> Command {
        let from = self.from[shard as usize].clone().unwrap_or_default();
        let count = self.at_once.to_string().into_bytes();
        let range: [&[u8]; 5] = [&from, b"+", b"LIMIT", b"0", &count];
        let ids = self.shared.keys.ids(shard, self.library);
        Command::new("ZRANGEBYLEX", &ids, &range[..])
    }
}
