//! Rebuilds the postings from the books' gems while others read. Each bucket is replaced in one batch.
//!
//! Postings that are already correct are read but not written, so a rebuild can be stopped and restarted at any
//! point.

use rocksdb::{DBRawIterator, ReadOptions, WriteBatch};

use super::RocksStore;
use super::build::StoredBucket;
use super::merge::MergeCursor;
use super::read::RocksSnapshot;
use super::schema::{self, Bucket, Family, MetaKey, Postings};
use super::sync::durably;
use crate::gem_list;
use crate::recipes::KnownRecipe;
use crate::runs::Runs;
use crate::{StoreError, Watch};

/// Approximate number of entries that a batch changes.
const BATCH: usize = 10_000;

/// The postings of all books with gems of a recipe. `each` is called for each book.
fn runs_of<'a>(
    snapshot: &RocksSnapshot<'_>,
    recipe: &'a KnownRecipe,
    store: &'a RocksStore,
    each: &mut dyn FnMut() -> Result<(), StoreError>,
) -> Result<Runs<'a>, StoreError> {
    let mut runs = Runs::new(&store.dir, recipe, &store.dir, 1);
    let mut gems = whole(snapshot, Family::Gems);
    gems.seek(recipe.number.to_be_bytes());
    while let Some((key, value)) = gems.item() {
        let of_recipe = schema::read_gems_key(key).filter(|(of, _)| *of == recipe.number);
        let Some((_, book)) = of_recipe else { break };
        let list = gem_list::decode(value, recipe.gem_bytes()).unwrap_or_default();
        for gem in recipe.posted(&list) {
            runs.push(gem, book)?;
        }
        gems.next();
        each()?;
    }
    snapshot.end(&gems)?;
    Ok(runs)
}

/// Makes the postings match the gem lists, and empties the delta. The caller holds the write lock. An unreadable gem
/// list counts as empty.
pub(super) fn postings(
    store: &RocksStore,
    _turn: &mut MergeCursor,
    watch: Watch<'_>,
) -> Result<(), StoreError> {
    let snapshot = store.view();
    let mut counts = Postings::default();
    let mut rebuild = Rebuild {
        store,
        batch: WriteBatch::default(),
        buckets: whole(&snapshot, Family::Postings),
        lists: whole(&snapshot, Family::Lists),
        delta: whole(&snapshot, Family::Delta),
    };
    let mut recipes: Vec<&KnownRecipe> = snapshot.known().0.iter().collect();
    recipes.sort_by_key(|recipe| recipe.number);
    let total = snapshot.estimate(Family::Gems);
    let mut read = 0;
    for recipe in recipes {
        let runs = runs_of(&snapshot, recipe, store, &mut || {
            read += 1;
            watch(read, total.max(read))
        })?;
        runs.merge(
            |gem| Bucket::of(recipe, gem),
            |bucket, postings| {
                counts.main += postings.len() as u64;
                rebuild.bucket(
                    &StoredBucket::new(recipe, bucket, postings, snapshot.owners()),
                    &bucket.end(recipe),
                )?;
                watch(read, total.max(read))
            },
        )?;
    }
    rebuild.rest(&snapshot)?;
    rebuild.batch.put_cf(
        store.family(Family::Meta),
        MetaKey::Postings.bytes(),
        counts.write(),
    );
    durably(store, rebuild.batch)
}

/// An iterator at the first entry of a family.
fn whole<'a>(snapshot: &'a RocksSnapshot<'_>, family: Family) -> DBRawIterator<'a> {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    options.fill_cache(false);
    let mut entries = snapshot.iterator(family, options);
    entries.seek_to_first();
    entries
}

/// Existing entries from the next bucket on, and the batch that changes those before it.
struct Rebuild<'a> {
    store: &'a RocksStore,
    batch: WriteBatch,
    buckets: DBRawIterator<'a>,
    lists: DBRawIterator<'a>,
    delta: DBRawIterator<'a>,
}

impl Rebuild<'_> {
    /// Writes a bucket if it differs, and deletes stale entries before it and in its part of the delta. `end` is
    /// greater than all keys of its gems.
    fn bucket(&mut self, bucket: &StoredBucket, end: &[u8]) -> Result<(), StoreError> {
        self.replace_postings(bucket);
        self.replace_lists(bucket, end);
        let delta = self.store.family(Family::Delta);
        while let Some(key) = self.delta.key().filter(|key| *key < end) {
            self.batch.delete_cf(delta, key);
            self.delta.next();
        }
        if self.batch.len() >= BATCH {
            let batch = std::mem::take(&mut self.batch);
            self.store
                .db
                .write(batch)
                .map_err(|e| self.store.failed(&e))?;
        }
        Ok(())
    }

    /// Replaces the value of a bucket, and drops those before it that should not be there.
    fn replace_postings(&mut self, bucket: &StoredBucket) {
        let postings = self.store.family(Family::Postings);
        while let Some(key) = self
            .buckets
            .key()
            .filter(|key| *key < bucket.key.as_slice())
        {
            self.batch.delete_cf(postings, key);
            self.buckets.next();
        }
        let mut is = None;
        if let Some((_, value)) = self.buckets.item().filter(|(key, _)| *key == bucket.key) {
            is = Some(value == bucket.value.as_deref().unwrap_or_default());
        }
        if is.is_some() {
            self.buckets.next();
        }
        if let Some(value) = bucket.value.as_ref().filter(|_| is != Some(true)) {
            self.batch.put_cf(postings, &bucket.key, value);
        }
    }

    /// Replaces the long lists of a bucket, which end before `end`.
    fn replace_lists(&mut self, bucket: &StoredBucket, end: &[u8]) {
        let lists = self.store.family(Family::Lists);
        let mut wanted = bucket.lists.iter().peekable();
        while let Some((key, value)) = self.lists.item().filter(|(key, _)| *key < end) {
            while let Some((missing, list)) = wanted.next_if(|(wanted, _)| wanted.as_slice() < key)
            {
                self.batch.put_cf(lists, missing, list);
            }
            match wanted.next_if(|(wanted, _)| wanted == key) {
                Some((_, list)) if list == value => {}
                Some((key, list)) => self.batch.put_cf(lists, key, list),
                None => self.batch.delete_cf(lists, key),
            }
            self.lists.next();
        }
        wanted.for_each(|(key, list)| self.batch.put_cf(lists, key, list));
    }

    /// Deletes everything after the last bucket.
    fn rest(&mut self, snapshot: &RocksSnapshot<'_>) -> Result<(), StoreError> {
        let entries = [
            (&mut self.buckets, Family::Postings),
            (&mut self.lists, Family::Lists),
            (&mut self.delta, Family::Delta),
        ];
        for (entries, family) in entries {
            while let Some(key) = entries.key() {
                self.batch.delete_cf(self.store.family(family), key);
                entries.next();
            }
            snapshot.end(entries)?;
        }
        Ok(())
    }
}
