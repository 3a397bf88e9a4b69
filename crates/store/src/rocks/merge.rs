//! Merges the delta into the main index, one bucket at a time. A bucket and the changes merged into it are written in
//! one batch, so readers never see a difference.
//!
//! Every change does part of the merging that its postings will need. So the delta stays a small fraction of the main
//! index, no reader waits for a long merge, and no extra thread is needed.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::mem::take;

use parking_lot::{Mutex, MutexGuard};

use lapidary_gems::Gem;
use rocksdb::{DBRawIterator, FlushOptions, ReadOptions, WriteBatch};

use super::RocksStore;
use super::long_list::long_list;
use super::read::RocksSnapshot;
use super::schema::{self, Bucket, Family, MetaKey, Postings, Sign};
use super::write::has_room_for_books;
use crate::postings::{LONG, List, Reader, Unreadable, Writer};
use crate::recipes::KnownRecipe;
use crate::{BookNo, StoreError, Watch};

/// A delta up to this size is left alone: it fits into memory.
const SMALL: u64 = 1 << 19;
/// A larger delta is kept this many times smaller than the main index. A merge rewrites about this many postings of
/// the main index for each one of the delta.
const PART: u64 = 8;
/// Fixed cost of a bucket, in postings, on top of those it contains.
const BUCKET_COST: u64 = 8;
/// Number of postings that a batch rewrites when everything is merged.
const BATCH: u64 = 1 << 18;

/// Number of changes of a gem from which on its bucket is merged out of turn, or a `CROWDED_PART` of its books if that is more:
/// each check that has the gem reads them one by one.
const CROWDED: usize = 256;
const CROWDED_PART: usize = 32;
/// Number of such buckets that are remembered.
const MOST_CROWDED: usize = 10_000;
/// Number of changes from which on they are deleted as one range. The tests have few.
const RANGE: usize = if cfg!(test) { 3 } else { 256 };
/// Number of postings of them that a change rewrites.
const CROWDED_BATCH: u64 = 1 << 16;

/// Where the next merge starts. It is not stored on disk: any position is correct.
#[derive(Default)]
pub(super) struct MergeCursor(Vec<u8>);

/// Buckets with so many changes that they are merged first, as reads have met them: where their changes begin.
#[derive(Default)]
pub(super) struct CrowdedBuckets(Mutex<BTreeSet<Vec<u8>>>);

impl CrowdedBuckets {
    fn starts(&self) -> MutexGuard<'_, BTreeSet<Vec<u8>>> {
        self.0.lock()
    }

    /// Notes the bucket of a gem of so many books if it has so many changes that these cost more than the list.
    pub(super) fn note(&self, recipe: &KnownRecipe, gem: Gem, books: usize, changes: usize) {
        if changes < CROWDED.max(books / CROWDED_PART) {
            return;
        }
        let mut starts = self.starts();
        if starts.len() < MOST_CROWDED {
            starts.insert(Bucket::of(recipe, gem).start(recipe));
        }
    }
}

/// Merges as much as a change of this many postings should pay for.
pub(super) fn keep_up(
    store: &RocksStore,
    cursor: &mut MergeCursor,
    changed: u64,
) -> Result<(), StoreError> {
    merge_crowded(store)?;
    let snapshot = store.view();
    let Postings { main, delta } = snapshot.postings()?;
    if delta < SMALL.max(main / PART) {
        return Ok(());
    }
    // Twice what would keep the size of the delta constant.
    merge(&snapshot, cursor, 2 * PART * changed)
}

/// Merges some of the buckets that a read has met, or the next ones would be as slow. A writer, if there is one, will do that; it
/// also meets the errors.
pub(super) fn after_read(store: &RocksStore) {
    if store.crowded.starts().is_empty() {
        return;
    }
    if let Some(_turn) = store.writing.try_lock()
        && has_room_for_books(store).is_ok()
    {
        let _ = merge_crowded(store);
    }
}

/// Merges some of the buckets that have too many changes. The caller holds the write lock: no change may be written between
/// the snapshot and the deletion of a range.
fn merge_crowded(store: &RocksStore) -> Result<(), StoreError> {
    let crowded = take(&mut *store.crowded.starts());
    if crowded.is_empty() {
        return Ok(());
    }
    let snapshot = store.view();
    let mut delta = every_change(&snapshot);
    let mut merge = Merge::new(&snapshot)?;
    let mut left = crowded.into_iter();
    // Each bucket once: all are read as they were before the first.
    for start in left.by_ref() {
        delta.seek(&start);
        let Some(key) = delta.key() else { continue };
        let (recipe, gem, ..) = snapshot.read_delta(key)?;
        // The number of a recipe that was dropped may be that of another one now, whose buckets begin elsewhere.
        if Bucket::of(recipe, gem).start(recipe) == start {
            merge.bucket(&mut delta)?;
        }
        if merge.rewritten >= CROWDED_BATCH {
            break;
        }
    }
    snapshot.end(&delta)?;
    store.crowded.starts().extend(left);
    if merge.rewritten == 0 {
        return Ok(());
    }
    merge.write()?;
    // In memory, readers still pass what is deleted.
    let mut options = FlushOptions::default();
    options.set_wait(false);
    let flushed = store.db.flush_cf_opt(store.family(Family::Delta), &options);
    flushed.map_err(|e| store.failed(&e))
}

/// Merges as many changes as the delta has now, some at a time. Between them, others write. `watch` is called with the number
/// of changes that are merged, and of all.
pub(super) fn merge_in_turns(store: &RocksStore, watch: Watch<'_>) -> Result<(), StoreError> {
    merge_in_steps(store, BATCH, watch)
}

fn merge_in_steps(store: &RocksStore, budget: u64, watch: Watch<'_>) -> Result<(), StoreError> {
    let all = store.view().postings()?.delta;
    let mut merged = 0;
    while merged < all {
        {
            let mut turn = store.turn();
            let before = store.view().postings()?.delta;
            if before == 0 {
                break;
            }
            merge(&store.view(), &mut turn, budget)?;
            merged += before.saturating_sub(store.view().postings()?.delta);
        }
        watch(merged.min(all), all)?;
        RocksStore::let_others_write();
    }
    Ok(())
}

/// A change of a bucket in the delta: the lower bits of the gem, added or removed, and the book.
type DeltaChange = (u64, Sign, BookNo);
/// The rest of a gem of a bucket, and its list.
type ReadList<'a> = Result<(u64, List<'a>), Unreadable>;

/// Merges whole buckets, starting at the cursor and wrapping around at most once, until about `budget` postings are
/// rewritten.
fn merge(
    snapshot: &RocksSnapshot<'_>,
    cursor: &mut MergeCursor,
    budget: u64,
) -> Result<(), StoreError> {
    let mut delta = every_change(snapshot);
    let mut merge = Merge::new(snapshot)?;
    delta.seek(&cursor.0);
    if !delta.valid() {
        snapshot.end(&delta)?;
        delta.seek_to_first();
    }
    while merge.rewritten < budget && delta.valid() {
        merge.bucket(&mut delta)?;
    }
    snapshot.end(&delta)?;
    cursor.0 = delta.key().unwrap_or_default().to_vec();
    merge.write()
}

fn every_change<'s>(snapshot: &'s RocksSnapshot<'_>) -> DBRawIterator<'s> {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    snapshot.iterator(Family::Delta, options)
}

struct Merge<'a> {
    snapshot: &'a RocksSnapshot<'a>,
    batch: WriteBatch,
    counts: Postings,
    rewritten: u64,
}

/// The keys of successive changes.
#[derive(Default)]
struct SuccessiveKeys {
    /// All of them, or the first ones if they are so many that they are deleted as one range.
    first: Vec<Vec<u8>>,
    /// The last one then.
    last: Vec<u8>,
}

impl SuccessiveKeys {
    fn push(&mut self, key: &[u8]) {
        if self.first.len() < RANGE {
            self.first.push(key.to_vec());
        } else {
            self.last.clear();
            self.last.extend_from_slice(key);
        }
    }
}

impl<'a> Merge<'a> {
    fn new(snapshot: &'a RocksSnapshot<'a>) -> Result<Self, StoreError> {
        Ok(Self {
            snapshot,
            batch: WriteBatch::default(),
            counts: snapshot.postings()?,
            rewritten: 0,
        })
    }

    /// Writes what was merged.
    fn write(mut self) -> Result<(), StoreError> {
        self.batch.put_cf(
            self.snapshot.family(Family::Meta),
            MetaKey::Postings.bytes(),
            self.counts.write(),
        );
        // No need to wait for the disk: a merge alters no answer. The next change waits for both.
        self.snapshot.write(self.batch)?;
        self.snapshot.merged(self.rewritten);
        Ok(())
    }

    /// Merges the bucket of the next change, and moves `delta` past the bucket's last change.
    fn bucket(&mut self, delta: &mut DBRawIterator<'_>) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        let mut merged: Option<(&KnownRecipe, Bucket)> = None;
        let mut changes: Vec<DeltaChange> = Vec::new();
        let mut keys = SuccessiveKeys::default();
        while let Some(key) = delta.key() {
            let (recipe, gem, sign, book) = snapshot.read_delta(key)?;
            let bucket = Bucket::of(recipe, gem);
            let first = merged.get_or_insert((recipe, bucket));
            if (recipe.number, bucket) != (first.0.number, first.1) {
                break;
            }
            changes.push((schema::rest_of(recipe, gem), sign, book));
            keys.push(key);
            delta.next();
        }
        let Some((recipe, bucket)) = merged else {
            return Ok(());
        };
        self.counts.delta = self.counts.delta.saturating_sub(changes.len() as u64);
        self.rewritten += BUCKET_COST;
        self.delete(keys);
        self.apply(recipe, bucket, &changes)
    }

    /// Deletes successive changes. If they are many, that is one range: readers would pass each mark of a deletion.
    fn delete(&mut self, SuccessiveKeys { first, mut last }: SuccessiveKeys) {
        let family = self.snapshot.family(Family::Delta);
        if last.is_empty() {
            for key in first {
                self.batch.delete_cf(family, key);
            }
        } else {
            // Behind the last key.
            last.push(0);
            self.batch.delete_range_cf(family, &first[0], &last);
        }
    }

    fn apply(
        &mut self,
        recipe: &KnownRecipe,
        bucket: Bucket,
        delta: &[DeltaChange],
    ) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        let key = bucket.key(recipe);
        let before = snapshot.get(Family::Postings, &key)?;
        let damaged = |Unreadable| snapshot.unreadable(recipe, bucket);
        let rest_bits = schema::rest_bits(recipe);
        let lists = before
            .as_deref()
            .map(|value| Reader::new(value, rest_bits))
            .transpose()
            .map_err(damaged)?;
        let mut lists = lists.into_iter().flatten().peekable();
        let mut groups = delta.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut writer = Writer::new(rest_bits);
        while let Some((list, changed)) = next_of_both(&mut lists, &mut groups) {
            let list = list.transpose().map_err(damaged)?;
            match (list, changed) {
                (Some((rest, List::Short(books))), []) => {
                    self.rewritten += books.len() as u64;
                    writer.short(rest, books);
                }
                (Some((rest, List::Long(count))), []) => writer.long(rest, count),
                (list, changed) => {
                    let gem = bucket.gem(recipe, changed[0].0).ok_or(Unreadable);
                    let gem = gem.map_err(damaged)?;
                    let list = list.map(|(_, list)| list);
                    self.list(recipe, gem, list, changed, &mut writer)?;
                }
            }
        }
        match writer.finish() {
            Some(value) => self
                .batch
                .put_cf(snapshot.family(Family::Postings), key, value),
            None => self.batch.delete_cf(snapshot.family(Family::Postings), key),
        }
        Ok(())
    }

    /// Writes a changed list.
    fn list(
        &mut self,
        recipe: &KnownRecipe,
        gem: Gem,
        list: Option<List<'_>>,
        changed: &[DeltaChange],
        writer: &mut Writer,
    ) -> Result<(), StoreError> {
        let rest = schema::rest_of(recipe, gem);
        let before = self.snapshot.books_of(recipe, gem, list)?;
        let (removed, added) =
            changed.split_at(changed.partition_point(|(_, sign, _)| *sign == Sign::Removed));
        let Some(books) = applied(&before, removed, added) else {
            let gem = recipe.shown(gem);
            return Err(self.snapshot.damaged(format!(
                "the changes of gem {gem} ({}) do not apply",
                recipe.name()
            )));
        };
        self.counts.main =
            (self.counts.main + added.len() as u64).saturating_sub(removed.len() as u64);
        self.rewritten += books.len() as u64;
        if before.len() > LONG as usize {
            self.drop_long_list(recipe, gem, before.len() as u32)?;
        }
        let family = self.snapshot.family(Family::Lists);
        if books.len() > LONG as usize {
            for (key, part) in long_list(recipe, gem, &books, self.snapshot.owners()) {
                self.batch.put_cf(family, key, part);
            }
            writer.long(rest, books.len() as u32);
        } else {
            writer.short(rest, books);
        }
        Ok(())
    }

    /// Drops the parts of a long list, one for each library.
    fn drop_long_list(
        &mut self,
        recipe: &KnownRecipe,
        gem: Gem,
        count: u32,
    ) -> Result<(), StoreError> {
        let family = self.snapshot.family(Family::Lists);
        for (library, _) in self.snapshot.list_parts(recipe, gem, count)? {
            let key = schema::list_key(recipe, gem, library);
            self.batch.delete_cf(family, key);
        }
        let key = schema::gem_key(recipe, gem);
        self.batch.delete_cf(family, key);
        Ok(())
    }
}

/// The next list of a bucket, and its changes: of the smaller gem of the two, or of both. `None` at the end.
fn next_of_both<'l, 'd>(
    lists: &mut Peekable<impl Iterator<Item = ReadList<'l>>>,
    groups: &mut Peekable<impl Iterator<Item = &'d [DeltaChange]>>,
) -> Option<(Option<ReadList<'l>>, &'d [DeltaChange])> {
    let order = match (lists.peek(), groups.peek()) {
        (None, None) => return None,
        (Some(Ok((rest, _))), Some(changed)) => rest.cmp(&changed[0].0),
        (Some(_), _) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    };
    let list = lists.next_if(|_| order.is_le());
    let changed = groups.next_if(|_| order.is_ge());
    Some((list, changed.unwrap_or_default()))
}

/// The books of a list after its changes. `None` if a book is removed that is not there, or added that is.
fn applied(
    before: &[BookNo],
    removed: &[DeltaChange],
    added: &[DeltaChange],
) -> Option<Vec<BookNo>> {
    let is_removed = |book: &BookNo| {
        let found = removed.binary_search_by_key(book, |(.., book)| *book);
        found.is_ok()
    };
    let mut books: Vec<BookNo> = before.to_vec();
    books.retain(|book| !is_removed(book));
    books.extend(added.iter().map(|(.., book)| *book));
    books.sort_unstable();
    let fits = before.len() + added.len() == books.len() + removed.len()
        && books.windows(2).all(|two| two[0] != two[1]);
    fits.then_some(books)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicU8;
    use std::sync::atomic::Ordering::Relaxed;
    use std::thread;

    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::verify::verify;
    use super::*;
    use crate::{
        Actor, Administration as _, BookKey, Condition, LibraryTally, Limits, NewBook, Record,
        Rights, Snapshot as _, Standing, Store, Tally, UNWATCHED,
    };
    use lapidary_common::description::Description;
    use lapidary_gems::{PlacedGem, Recipe};

    /// A book with these gems, some of which share a bucket.
    fn book(id: u8, gems: &[u64]) -> NewBook {
        let recipe = Recipe::documented().name().clone();
        let gems: Vec<PlacedGem> = gems
            .iter()
            .map(|gem| PlacedGem {
                gem: gem_of(*gem),
                place: None,
            })
            .collect();
        let record = Record {
            key: key(id),
            rights: Rights::Free,
            description: Description::default(),
            digest: String::new(),
            clean_digest: None,
            bytes: 0,
            clean: None,
            text_kept: false,
            gems: BTreeMap::new(),
            changed_at: Timestamp::UNIX_EPOCH,
            fetched_at: None,
            standing: Standing::default(),
        };
        NewBook {
            gems: BTreeMap::from([(recipe, gems)]),
            ..NewBook::without_gems(record, true)
        }
    }

    fn gem_of(i: u64) -> Gem {
        Gem(((i / 3) << 20) | (i % 3))
    }

    fn key(id: u8) -> BookKey {
        BookKey {
            library: "lib".parse().unwrap(),
            id: id.to_string().parse().unwrap(),
        }
    }

    fn any_step() -> impl Strategy<Value = (u8, Option<Vec<u64>>, u64)> {
        let gems = proptest::option::weighted(0.7, proptest::collection::vec(0..12_u64, 0..8));
        (0..4_u8, gems, 0..60_u64)
    }

    /// Which gems have changes is found out while a snapshot still has some that are merged by then.
    #[test]
    fn an_older_snapshot_keeps_its_changes() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let recipe = Recipe::documented();
        store.add_recipe(&Actor::Local, &recipe).unwrap();
        let gems: Vec<u64> = (0..40).collect();
        let all: Vec<Gem> = gems.iter().copied().map(gem_of).collect();
        let holders = |view: &RocksSnapshot<'_>| {
            let limits = Limits {
                cap: 9,
                fewest: 1,
                ..Limits::NONE
            };
            let tally = view.tally(recipe.name(), &all, limits).unwrap();
            let holders = tally.libraries.iter().flat_map(|of| &of.holders);
            holders.map(|(_, books)| *books).sum::<u32>()
        };
        store.put(&Actor::Local, vec![book(0, &gems)]).unwrap();
        let older = store.view();
        assert_eq!(holders(&older), 40);
        merge_in_turns(&store, UNWATCHED).unwrap();
        assert!(store.changed.known(&store).is_some());
        assert_eq!([holders(&older), holders(&store.view())], [40; 2]);
        store.put(&Actor::Local, vec![book(1, &gems)]).unwrap();
        assert_eq!([holders(&older), holders(&store.view())], [40, 80]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_delta_merged_in_part_is_never_seen(steps in proptest::collection::vec(any_step(), 1..12)) {
            let dir = tempfile::tempdir().unwrap();
            let store = RocksStore::open_or_create(dir.path()).unwrap();
            let recipe = Recipe::documented();
            store.add_recipe(&Actor::Local, &recipe).unwrap();
            let mut books: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
            for (id, gems, budget) in steps {
                let before_change = store.view();
                match gems {
                    Some(gems) => {
                        store.put(&Actor::Local, vec![book(id, &gems)]).unwrap();
                        books.insert(id, gems);
                    }
                    None => {
                        prop_assert_eq!(store.remove(&Actor::Local, &[key(id)], &Condition::default()).unwrap(), [books.remove(&id).is_some()]);
                    }
                }
                let before = store.view();
                if budget % 2 == 0 {
                    merge(&store.view(), &mut store.turn(), budget).unwrap();
                } else {
                    let known = before.known().named(recipe.name()).unwrap();
                    for gem in [0, 1, 7] {
                        store.crowded.note(known, gem_of(gem), 0, CROWDED);
                    }
                    // As of a recipe that was dropped, and had this number.
                    let mut elsewhere = Bucket::of(known, gem_of(0)).start(known);
                    elsewhere.push(0);
                    store.crowded.starts().insert(elsewhere);
                    let _turn = store.turn();
                    merge_crowded(&store).unwrap();
                }
                prop_assert_eq!(verify(&before_change, UNWATCHED).unwrap(), Vec::<String>::new());
                for view in [before, store.view()] {
                    prop_assert_eq!(verify(&view, UNWATCHED).unwrap(), Vec::<String>::new());
                    for gem in 0..13 {
                        let mut expected = LibraryTally::empty("lib".parse().unwrap());
                        for (id, _) in books.iter().filter(|(_, gems)| gems.contains(&gem)) {
                            expected.books.push((view.find(&key(*id)).unwrap().unwrap(), 1));
                        }
                        expected.books.sort_unstable();
                        if !expected.books.is_empty() {
                            expected.holders.push((gem_of(gem), expected.books.len() as u32));
                        }
                        let limits = Limits { cap: 4, fewest: 1, ..Limits::NONE };
                        let tally = view.tally(recipe.name(), &[gem_of(gem)], limits).unwrap();
                        let libraries = if expected.books.is_empty() { vec![] } else { vec![expected] };
                        prop_assert_eq!(tally, Tally { libraries });
                    }
                }
            }
        }
    }

    /// Another library adds a book with a gem that has a long list, and more books than the cap.
    #[test]
    fn a_library_without_a_part_of_a_long_list_has_its_changes() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let recipe = Recipe::documented();
        store.add_recipe(&Actor::Local, &recipe).unwrap();
        let mut books = vec![book(0, &[1]); LONG as usize + 1];
        for (book, number) in books.iter_mut().zip(0..) {
            let number: u32 = number;
            book.record.key.id = number.to_string().parse().unwrap();
        }
        store.put(&Actor::Local, books).unwrap();
        merge_in_turns(&store, UNWATCHED).unwrap();
        let mut other = book(0, &[1]);
        other.record.key.library = "other".parse().unwrap();
        store.put(&Actor::Local, vec![other]).unwrap();
        let limits = Limits {
            cap: LONG,
            ..Limits::NONE
        };
        let view = store.view();
        let tally = view.tally(recipe.name(), &[gem_of(1)], limits).unwrap();
        let [common, counted] = tally.libraries.as_slice() else {
            panic!("{tally:?}");
        };
        assert_eq!((common.common.len(), common.books.len()), (1, 0));
        assert_eq!((counted.common.len(), counted.books.len()), (0, 1));
    }

    /// Which gems have changes is known in memory only.
    #[test]
    fn changes_are_found_after_the_folder_was_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let recipe = Recipe::documented();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        store.add_recipe(&Actor::Local, &recipe).unwrap();
        store
            .put(&Actor::Local, vec![book(0, &[1]), book(1, &[1])])
            .unwrap();
        merge_in_turns(&store, UNWATCHED).unwrap();
        store.put(&Actor::Local, vec![book(2, &[1, 7])]).unwrap();
        let removed = store.remove(&Actor::Local, &[key(0)], &Condition::default());
        assert_eq!(removed.unwrap(), [true]);
        drop(store);
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        assert!(store.view().postings().unwrap().delta > 0);
        let limits = Limits {
            fewest: 1,
            ..Limits::NONE
        };
        let books_of = |gem: u64| {
            let tally = store
                .view()
                .tally(recipe.name(), &[gem_of(gem)], limits)
                .unwrap();
            tally
                .libraries
                .iter()
                .map(|of| of.books.len())
                .sum::<usize>()
        };
        assert_eq!([1, 7].map(books_of), [2, 1]);
    }

    /// Buckets with many changes of a gem are merged by a read that has met them, unless somebody writes.
    #[test]
    fn crowded_buckets_are_merged_by_a_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let recipe = Recipe::documented();
        store.add_recipe(&Actor::Local, &recipe).unwrap();
        let copies = |from: usize| -> Vec<NewBook> {
            let mut books = vec![book(0, &[1, 2, 4, 7]); CROWDED];
            for (book, number) in books.iter_mut().zip(from..) {
                book.record.key.id = number.to_string().parse().unwrap();
            }
            books
        };
        let each_gem = 2 * CROWDED as u64;
        store.put(&Actor::Local, copies(0)).unwrap();
        store.put(&Actor::Local, copies(CROWDED)).unwrap();
        let postings = || {
            let Postings { main, delta } = store.view().postings().unwrap();
            (main, delta)
        };
        assert_eq!(postings(), (0, 4 * each_gem), "nobody has asked for them");
        // The first two are in one bucket, and another one is between the buckets.
        let asked = [gem_of(1), gem_of(2), gem_of(7)];
        let tally = |view: &RocksSnapshot<'_>| view.tally(recipe.name(), &asked, Limits::NONE);
        let before = store.view();
        let turn = store.turn();
        let expected = tally(&before).unwrap();
        assert_eq!(postings(), (0, 4 * each_gem), "somebody else writes");
        drop(turn);
        assert_eq!(tally(&before).unwrap(), expected);
        let but_of_4 = "but gem 4, which was not asked for";
        assert_eq!(postings(), (3 * each_gem, each_gem), "{but_of_4}");
        assert_eq!(tally(&before).unwrap(), expected);
        assert_eq!(tally(&store.view()).unwrap(), expected);
        assert_eq!(
            verify(&store.view(), UNWATCHED).unwrap(),
            Vec::<String>::new()
        );
    }

    /// Each step of a compaction waits until a book was added.
    #[test]
    fn books_are_written_while_the_delta_is_merged() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        store
            .add_recipe(&Actor::Local, &Recipe::documented())
            .unwrap();
        store
            .put(
                &Actor::Local,
                vec![book(0, &(0..3_000).collect::<Vec<u64>>())],
            )
            .unwrap();
        let (steps, partly) = (AtomicU8::new(1), AtomicU8::new(0));
        let watch = |merged: u64, all: u64| {
            let step = steps.fetch_add(1, Relaxed);
            partly.fetch_add(
                u8::from(merged < all && store.view().postings()?.delta > 0),
                Relaxed,
            );
            // Others can write now: this waits for one of them.
            thread::scope(|scope| {
                scope
                    .spawn(|| store.put(&Actor::Local, vec![book(step, &[1])]))
                    .join()
                    .unwrap()
            })
        };
        merge_in_steps(&store, 1_000, &watch).unwrap();
        assert!(partly.into_inner() > 1);
        assert_eq!(
            verify(&store.view(), UNWATCHED).unwrap(),
            Vec::<String>::new()
        );
    }

    /// A first compaction has only what was flushed: changes, their deletions, and each bucket several times.
    #[test]
    fn one_compaction_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let recipe = Recipe::documented();
        store.add_recipe(&Actor::Local, &recipe).unwrap();
        let sizes = || {
            store.compact(UNWATCHED).unwrap();
            let tables = store.vitals().unwrap().tables;
            let of = |family: Family| tables.iter().find(|(name, _)| *name == family.name());
            [Family::Delta, Family::Postings].map(|family| of(family).unwrap().1)
        };
        let gems: Vec<u64> = (0..3_000).collect();
        for id in 0..3 {
            store.put(&Actor::Local, vec![book(id, &gems)]).unwrap();
        }
        let first = sizes();
        assert_eq!(first[0], 0);
        assert_eq!(sizes(), first);
    }

    #[test]
    fn every_change_pays_for_a_part_of_the_merge() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        store
            .add_recipe(&Actor::Local, &Recipe::documented())
            .unwrap();
        let gems: Vec<u64> = (0..12_000).collect();
        let mut largest = 0;
        for i in 0..60 {
            store.put(&Actor::Local, vec![book(i, &gems)]).unwrap();
            largest = largest.max(store.view().postings().unwrap().delta);
        }
        let Postings { main, delta } = store.view().postings().unwrap();
        assert!(largest < SMALL + 12_000, "{largest}");
        assert!(main > 0 && delta > 0, "{main} {delta}");
        merge_in_turns(&store, UNWATCHED).unwrap();
        let merged = store.view().postings().unwrap();
        assert_eq!((merged.main, merged.delta), (main + delta, 0));
        assert_eq!(
            verify(&store.view(), UNWATCHED).unwrap(),
            Vec::<String>::new()
        );
    }
}
