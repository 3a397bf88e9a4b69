//! Building all buckets at once, for a catalogue that nobody reads yet. Its books are stored without postings; these are
//! sorted in the end, and written a bucket at a time. That takes a command for each bucket, and not for each posting.

use std::collections::HashMap;

use super::Shared;
use super::buckets::{packed, place};
use super::command::Command;
use super::keys::{BookState, SHARDS, gem_field, join};
use lapidary_store::gem_list;
use lapidary_store::recipes::KnownRecipe;
use lapidary_store::runs::Runs;
use lapidary_store::{Actor, BookNo, StoreError, Watch};

/// Number of books read, or buckets written, at a time.
const AT_ONCE: usize = 1000;
/// The least number of postings of a bucket, on average. The engine takes about 150 bytes for a bucket, whatever is in it; a check
/// reads a bucket for each gem.
const POSTINGS: u64 = 64;
/// How many bits may number a bucket.
const BITS: std::ops::RangeInclusive<u32> = 10..=28;

/// Building all postings of an empty store at once.
pub(super) struct BulkBuild<'s>(pub(super) &'s Shared);

impl BulkBuild<'_> {
    /// Builds the buckets from the gem lists of the books.
    pub(super) fn build(&self, watch: Watch<'_>) -> Result<(), StoreError> {
        self.choose_buckets()?;
        let recipes = self.0.meta().recipes()?;
        let folder = tempfile::tempdir().map_err(|e| StoreError::Io {
            path: "the temporary folder".to_owned(),
            detail: e.to_string(),
        })?;
        let total = self.0.meta().totals()?.books;
        for recipe in &recipes.0 {
            let mut runs = Runs::new(folder.path(), recipe, folder.path(), 1);
            let mut read = 0;
            for shard in 0..SHARDS {
                read += self.sort(recipe, shard, &mut runs)?;
                watch(read, total.max(read))?;
            }
            self.write_buckets(recipe, runs)?;
        }
        Ok(())
    }

    /// Removes all buckets, and chooses how many there will be, so that their number suits that of the postings.
    fn choose_buckets(&self) -> Result<(), StoreError> {
        let mut chosen: HashMap<u16, u32> = HashMap::new();
        let totals = self.0.meta().totals()?;
        for recipe in &self.0.meta().recipes()?.0 {
            for keys in self
                .0
                .writing(&[])
                .bucket_keys(recipe.number)?
                .chunks(AT_ONCE)
            {
                let unlink: Vec<Command> = keys
                    .iter()
                    .map(|key| Command::bare("UNLINK", key))
                    .collect();
                self.0.client.write(&unlink)?;
            }
            let sizes = self.0.meta().sizes(&totals, recipe)?;
            let gems: u64 = sizes.classes.iter().map(|class| class.gems).sum();
            // Without any, the catalogue begins to grow now.
            if gems > 0 {
                chosen.insert(
                    recipe.number,
                    (gems / POSTINGS)
                        .max(1)
                        .ilog2()
                        .clamp(*BITS.start(), *BITS.end()),
                );
            }
        }
        self.0
            .meta()
            .change_recipes(&Actor::Local, &[], |recipes, _| {
                for recipe in &mut recipes.0 {
                    recipe.bucket_bits = chosen
                        .get(&recipe.number)
                        .copied()
                        .unwrap_or(recipe.bucket_bits);
                }
                Ok(Some(Vec::new()))
            })
    }

    /// Adds the postings of a shard. Returns the number of its books.
    fn sort(
        &self,
        recipe: &KnownRecipe,
        shard: u32,
        runs: &mut Runs<'_>,
    ) -> Result<u64, StoreError> {
        let all = Command::new(
            "ZRANGE",
            &self.0.keys.shard(shard, "books"),
            &["0", "-1"][..],
        );
        let all: Vec<u32> = self.0.ask(all)?;
        let books: Vec<BookNo> = all.into_iter().map(|number| join(shard, number)).collect();
        let field = gem_field(recipe.number);
        for some in books.chunks(AT_ONCE) {
            let lists = self.0.client.read(
                &some
                    .iter()
                    .copied()
                    .map(|book| {
                        Command::new("HGET", &self.0.keys.book(BookState::Present, book), &field)
                    })
                    .collect::<Vec<_>>(),
            )?;
            for (book, list) in some.iter().zip(lists) {
                let Some(list) = self.0.answer::<Option<Vec<u8>>>(list)? else {
                    continue;
                };
                let gems = gem_list::decode(&list, recipe.gem_bytes());
                let gems = gems.ok_or_else(|| {
                    self.0
                        .damaged(format!("the gems of book {} cannot be read", book.0))
                })?;
                recipe
                    .posted(&gems)
                    .try_for_each(|gem| runs.push(gem, *book))?;
            }
        }
        Ok(books.len() as u64)
    }

    fn write_buckets(&self, recipe: &KnownRecipe, runs: Runs<'_>) -> Result<(), StoreError> {
        let mut writes = Vec::new();
        runs.merge(
            |gem| place(recipe, gem).0,
            |bucket, postings| {
                let lists = postings.chunk_by(|a, b| a.0 == b.0);
                let lists = lists.map(|list| {
                    (
                        place(recipe, list[0].0).1,
                        list.iter().map(|(_, book)| *book).collect::<Vec<_>>(),
                    )
                });
                let fields = packed(recipe, lists, &HashMap::new());
                let fields: Vec<Vec<u8>> = fields
                    .into_iter()
                    .flat_map(|(field, value)| [field, value])
                    .collect();
                writes.push(Command::new(
                    "HSET",
                    &self.0.keys.bucket(recipe.number, bucket),
                    fields,
                ));
                if writes.len() == AT_ONCE {
                    self.0.client.write(&std::mem::take(&mut writes))?;
                }
                Ok(())
            },
        )?;
        self.0.client.write(&writes).map(drop)
    }
}
