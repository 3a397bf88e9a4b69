//! The gems of books under a recipe, and their postings.

use lapidary_gems::PlacedGem;

use super::bucket::StoredBucket;
use super::tables::{Tables, Workplace};
use crate::change::make_distinct;
use crate::gem_list;
use crate::recipes::KnownRecipe;
use crate::rocks::owners::Owners;
use crate::rocks::schema::{self, Bucket, Family};
use crate::runs::Runs;
use crate::{BookNo, Record, Sizes, StoreError};

/// The gem lists of a recipe, with the postings that follow from them.
pub(super) struct GemTables<'a> {
    pub(super) recipe: &'a KnownRecipe,
    lists: Tables<'a>,
    runs: Runs<'a>,
    pub(super) sizes: Sizes,
}

impl<'a> GemTables<'a> {
    /// Those of one of several recipes, which share memory.
    pub(super) fn new(
        workplace: &'a Workplace<'a>,
        recipe: &'a KnownRecipe,
        index: usize,
        recipes: usize,
    ) -> Self {
        Self {
            recipe,
            lists: Tables::new(workplace, Family::Gems, index),
            runs: Runs::new(&workplace.store.dir, recipe, workplace.place, recipes),
            sizes: Sizes::default(),
        }
    }

    /// Adds the gems of a book.
    pub(super) fn put(
        &mut self,
        book: BookNo,
        record: &mut Record,
        mut gems: Vec<PlacedGem>,
    ) -> Result<(), StoreError> {
        make_distinct(self.recipe, &record.key, &mut gems)?;
        for gem in self.recipe.posted(&gems) {
            self.runs.push(gem, book)?;
        }
        self.lists.put(
            &schema::gems_key(self.recipe, book),
            &gem_list::encode(&gems, self.recipe.gem_bytes()),
        )?;
        let count = gems.len() as u32;
        self.sizes.add(count);
        record.gems.insert(self.recipe.name().clone(), count);
        Ok(())
    }

    /// Merges the postings into the main index and returns their number.
    pub(super) fn merge(
        self,
        buckets: &mut Tables<'_>,
        lists: &mut Tables<'_>,
        owners: &Owners,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        let recipe = self.recipe;
        self.runs.merge(
            |gem| Bucket::of(recipe, gem),
            |bucket, postings| {
                count += postings.len() as u64;
                let bucket = StoredBucket::new(recipe, bucket, postings, owners);
                for (key, list) in &bucket.lists {
                    lists.put(key, list)?;
                }
                bucket
                    .value
                    .map_or(Ok(()), |value| buckets.put(&bucket.key, &value))
            },
        )?;
        self.lists.ingest()?;
        Ok(count)
    }
}
