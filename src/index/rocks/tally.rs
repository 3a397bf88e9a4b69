//! Counting which books have how many of a check's gems.

use hashbrown::HashMap;
use rocksdb::{DBRawIterator, ReadOptions};

use super::parallel;
use super::postings::{List, Reader, Unreadable};
use super::read::RocksSnapshot;
use super::recipes::KnownRecipe;
use super::schema::{self, Bucket, Family, Sign};
use crate::fingerprint::Gem;
use crate::index::{BookNo, Limits, StoreError, Tally};

/// A count under way.
pub(super) struct Counting<'a> {
    snapshot: &'a RocksSnapshot<'a>,
    recipe: &'a KnownRecipe,
    limits: Limits,
    /// The changes since the main index; `None` when there are none.
    delta: Option<DBRawIterator<'a>>,
    counts: HashMap<BookNo, u32>,
}

/// How a gem's list differs from the main index.
#[derive(Default)]
struct Changes {
    removed: Vec<BookNo>,
    added: Vec<BookNo>,
}

impl<'a> Counting<'a> {
    pub(super) fn new(
        snapshot: &'a RocksSnapshot<'a>,
        recipe: &'a KnownRecipe,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let mut delta = None;
        if snapshot.postings()?.delta > 0 {
            let mut options = ReadOptions::default();
            options.set_prefix_same_as_start(true);
            delta = Some(snapshot.iterator(Family::Delta, options));
        }
        Ok(Self { snapshot, recipe, limits, delta, counts: HashMap::new() })
    }

    pub(super) fn tally(mut self, gems: &[Gem]) -> Result<Tally, StoreError> {
        // In the order of the keys, so that what lies together is read together.
        let mut sorted: Vec<Gem> = gems.iter().copied().filter(|gem| self.recipe.fits(*gem)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let of_bucket = |gem: &Gem| Bucket::of(self.recipe, *gem);
        let groups: Vec<&[Gem]> = sorted.chunk_by(|a, b| of_bucket(a) == of_bucket(b)).collect();
        let keys: Vec<_> = groups.iter().map(|gems| of_bucket(&gems[0]).key(self.recipe)).collect();
        let buckets = parallel::read(&keys, |keys| self.snapshot.get_sorted(Family::Postings, keys))?;

        let (mut common, mut holders) = (Vec::new(), Vec::new());
        for (gems, value) in groups.into_iter().zip(buckets) {
            let (snapshot, recipe) = (self.snapshot, self.recipe);
            let unreadable = |Unreadable| snapshot.unreadable(recipe, Bucket::of(recipe, gems[0]));
            let read = |value| Reader::new(value, schema::rest_bits(recipe));
            let bucket = value.as_deref().map(read).transpose().map_err(unreadable)?;
            for gem in gems {
                let rest = schema::rest_of(recipe, *gem);
                let list = bucket.as_ref().map(|bucket| bucket.find(rest)).transpose().map_err(unreadable)?.flatten();
                match self.count(*gem, list)? {
                    None => common.push(*gem),
                    Some(0) => {}
                    Some(books) => holders.push((*gem, books)),
                }
            }
        }

        let fewest = self.limits.fewest;
        let mut tally = Tally {
            books: self.counts.into_iter().filter(|(_, count)| *count >= fewest).collect(),
            common: Vec::with_capacity(common.len()),
            holders,
        };
        tally.books.sort_unstable();
        // `common` is sorted; those asked for are not. Each is named where it was first asked for.
        let mut unnamed = vec![true; common.len()];
        for gem in gems {
            if let Ok(i) = common.binary_search(gem)
                && std::mem::take(&mut unnamed[i])
            {
                tally.common.push(*gem);
            }
        }
        Ok(tally)
    }

    /// Counts the books of a gem, and says how many there are; `None` when it is a common one, and not counted.
    fn count(&mut self, gem: Gem, list: Option<List<'_>>) -> Result<Option<u32>, StoreError> {
        let length = list.as_ref().map_or(0, |list| list.len() as usize);
        let cap = self.limits.cap as usize;
        let changes = self.changes(gem, length)?;
        // The delta is exactly the difference, so that a list's length is known without reading it.
        if length + changes.added.len() > cap + changes.removed.len() {
            return Ok(None);
        }
        let books = (length + changes.added.len()).saturating_sub(changes.removed.len());
        let snapshot = self.snapshot;
        let mut add = |book| {
            if changes.removed.binary_search(&book).is_err() {
                *self.counts.entry(book).or_insert(0) += 1;
            }
        };
        match list {
            Some(List::Short(books)) => books.for_each(&mut add),
            list => snapshot.books_of(self.recipe, gem, list)?.into_iter().for_each(&mut add),
        }
        changes.added.into_iter().for_each(add);
        Ok(Some(books as u32))
    }

    /// What has changed in a gem's list of this length: all of it, or as much as makes the gem a common one.
    fn changes(&mut self, gem: Gem, length: usize) -> Result<Changes, StoreError> {
        let mut changes = Changes::default();
        let Some(delta) = &mut self.delta else { return Ok(changes) };
        let gem_key = schema::gem_key(self.recipe, gem);
        // With the least of the gem's keys: RocksDB knows a gem by a whole key.
        delta.seek(schema::delta_key(self.recipe, gem, Sign::Removed, BookNo(0)));
        while let Some((found, sign, book)) = delta.key().and_then(schema::split_delta_key)
            && found == gem_key
        {
            // What was removed comes first.
            match sign {
                Sign::Removed => changes.removed.push(book),
                Sign::Added if length + changes.added.len() > self.limits.cap as usize + changes.removed.len() => break,
                Sign::Added => changes.added.push(book),
            }
            delta.next();
        }
        self.snapshot.end(delta)?;
        Ok(changes)
    }
}
