//! Dropping a recipe, in three steps: it is marked, so that it is hidden; it is removed from all records; then
//! everything else is deleted at once.
//!
//! Until the last step, the recipe's gem lists, postings and sizes stay as if no book had changed since the recipe
//! was marked, except for changed books whose records still named it. The number of postings to delete is counted in
//! the last step.

use std::collections::BTreeMap;
use std::sync::Arc;

use lapidary_gems::RecipeName;
use rocksdb::{DBRawIterator, ReadOptions, WriteBatch};

use super::read::RocksSnapshot;
use super::schema::{self, Family, MetaKey};
use super::sync::durably;
use super::{RocksStore, write};
use crate::postings::{Reader, Unreadable};
use crate::recipes::{KnownRecipe, RecipeState};
use crate::{Actor, BookNo, Library, LibrarySummary, Snapshot, StoreError, Watch};

/// Number of records rewritten in one batch.
const BATCH: usize = 1000;
/// Number of changes of the delta that are deleted in one batch.
const CHANGES: usize = 20_000;
/// Number of buckets that are counted between two looks at whether to stop.
const BUCKETS: u64 = 1_000;

pub(super) fn drop_recipe(
    store: &RocksStore,
    by: &Actor,
    name: &RecipeName,
    watch: Watch<'_>,
) -> Result<(), StoreError> {
    write::set_recipe(store, by, name, RecipeState::Hidden)?;
    let recipes = store.known_recipes();
    let Ok(recipe) = recipes.named(name) else {
        return Ok(());
    };
    strip_all(store, name, watch)?;
    erase(store, recipe, watch)
}

/// Removes the name from all records.
fn strip_all(store: &RocksStore, name: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError> {
    let end = store.view().next_book()?;
    let mut from = BookNo(0);
    // Books that are added meanwhile do not have it.
    while from < end
        && let Some(last) = strip(store, name, from)?
    {
        from = BookNo(last.0.saturating_add(1));
        watch(u64::from(from.0), u64::from(end.0))?;
        RocksStore::let_others_write();
    }
    Ok(())
}

/// Removes the name from some records, starting at `from`. Returns the last book processed, or `None` at the end.
fn strip(
    store: &RocksStore,
    name: &RecipeName,
    from: BookNo,
) -> Result<Option<BookNo>, StoreError> {
    let _turn = store.turn();
    let view = store.view();
    let books = view.books(from, BATCH)?;
    let mut batch = WriteBatch::default();
    let mut libraries: BTreeMap<Library, LibrarySummary> = BTreeMap::new();
    let last = books.last().map(|(book, _)| *book);
    for (book, before) in books {
        let mut record = before.clone();
        if record.gems.remove(name).is_none() {
            continue;
        }
        batch.put_cf(
            store.family(Family::Books),
            schema::book_key(book),
            schema::json(&record),
        );
        let library = &record.key.library;
        if !libraries.contains_key(library) {
            libraries.extend(
                view.summary(library)?
                    .map(|summary| (library.clone(), summary)),
            );
        }
        if let Some(summary) = libraries.get_mut(library) {
            summary.count_recipes(Some(&before), Some(&record));
        }
    }
    for (library, summary) in &libraries {
        batch.put_cf(
            store.family(Family::Meta),
            MetaKey::library(library).bytes(),
            schema::json(summary),
        );
    }
    view.write(batch)?;
    Ok(last)
}

/// Deletes everything that is left. No book has the recipe any more, so without its changes in the delta, its postings stay as they are, and can be counted while others write.
fn erase(store: &RocksStore, recipe: &KnownRecipe, watch: Watch<'_>) -> Result<(), StoreError> {
    let mut from = recipe.number.to_be_bytes().to_vec();
    while erase_changes(store, recipe, &mut from, CHANGES)? {
        watch(0, 1)?;
        RocksStore::let_others_write();
    }
    let gone = count(&store.view(), recipe, watch)?;
    let _turn = store.turn();
    let snapshot = store.view();
    let first = recipe.number.to_be_bytes();
    let end = recipe.number.checked_add(1).map(u16::to_be_bytes);
    // The last number is only assigned when all others are used up.
    let end = end.as_ref().map_or(&[0xff; 3][..], |end| end.as_slice());
    let mut counts = snapshot.postings()?;
    counts.main = counts.main.saturating_sub(gone);

    let mut batch = WriteBatch::default();
    for family in [Family::Gems, Family::Postings, Family::Lists, Family::Delta] {
        batch.delete_range_cf(store.family(family), &first[..], end);
    }
    let meta = store.family(Family::Meta);
    for key in MetaKey::of_recipe(recipe.number) {
        batch.delete_cf(meta, key.bytes());
    }
    batch.put_cf(meta, MetaKey::Postings.bytes(), counts.write());
    let mut recipes = store.recipes_to_change();
    durably(store, batch)?;
    let known = &mut Arc::make_mut(&mut recipes).0;
    known.retain(|known| known.number != recipe.number);
    Ok(())
}

/// Deletes up to `limit` changes of a recipe from the delta, beginning at `from`, which becomes the last of them: the next call
/// does not walk over what was deleted before. Returns whether there were any.
fn erase_changes(
    store: &RocksStore,
    recipe: &KnownRecipe,
    from: &mut Vec<u8>,
    limit: usize,
) -> Result<bool, StoreError> {
    let _turn = store.turn();
    let snapshot = store.view();
    let first = recipe.number.to_be_bytes();
    let mut batch = WriteBatch::default();
    let mut delta = entries(&snapshot, Family::Delta, from);
    while let Some(key) = delta
        .key()
        .filter(|key| key.starts_with(&first) && batch.len() < limit)
    {
        batch.delete_cf(store.family(Family::Delta), key);
        key.clone_into(from);
        delta.next();
    }
    snapshot.end(&delta)?;
    if batch.is_empty() {
        return Ok(false);
    }
    let mut counts = snapshot.postings()?;
    counts.delta = counts.delta.saturating_sub(batch.len() as u64);
    batch.put_cf(
        store.family(Family::Meta),
        MetaKey::Postings.bytes(),
        counts.write(),
    );
    snapshot.write(batch)?;
    Ok(true)
}

/// The entries of a family from a key on.
fn entries<'a>(snapshot: &'a RocksSnapshot<'_>, family: Family, from: &[u8]) -> DBRawIterator<'a> {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    options.fill_cache(false);
    let mut entries = snapshot.iterator(family, options);
    entries.seek(from);
    entries
}

/// Counts the postings of a recipe in the main index by reading the lengths of its lists. The books' gem counts are no substitute,
/// because not every gem has a posting.
fn count(
    snapshot: &RocksSnapshot<'_>,
    recipe: &KnownRecipe,
    watch: Watch<'_>,
) -> Result<u64, StoreError> {
    let first = recipe.number.to_be_bytes();
    let (mut postings, mut read) = (0, 0_u64);
    let mut buckets = entries(snapshot, Family::Postings, &first);
    while let Some((_, value)) = buckets.item().filter(|(key, _)| key.starts_with(&first)) {
        let lists = Reader::new(value, schema::rest_bits(recipe));
        postings += lists
            .and_then(|lists| {
                lists.into_iter().try_fold(0, |sum, list| {
                    list.map(|(_, list)| sum + u64::from(list.books()))
                })
            })
            .map_err(|Unreadable| {
                snapshot.damaged(format!(
                    "the postings of recipe {} cannot be read",
                    recipe.name()
                ))
            })?;
        buckets.next();
        if read.is_multiple_of(BUCKETS) {
            watch(0, 1)?;
        }
        read += 1;
    }
    snapshot.end(&buckets)?;
    Ok(postings)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::thread;

    use jiff::Timestamp;
    use lapidary_gems::{Gem, PlacedGem, Recipe};
    use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};

    use super::super::verify::verify;
    use super::*;
    use crate::{BookKey, NewBook, Record, Rights, Standing, Store as _, UNWATCHED};
    use lapidary_common::description::Description;

    fn book(id: u8, recipes: &[&Recipe]) -> NewBook {
        let key = BookKey {
            library: "lib".parse().unwrap(),
            id: id.to_string().parse().unwrap(),
        };
        let gems: Vec<PlacedGem> = (0..2_000_u64)
            .map(|gem| PlacedGem {
                gem: Gem(gem << 20),
                place: None,
            })
            .collect();
        let record = Record {
            key,
            rights: Rights::Free,
            description: Description::default(),
            digest: String::new(),
            clean_digest: None,
            bytes: 0,
            clean: None,
            text_kept: false,
            gems: std::collections::BTreeMap::new(),
            changed_at: Timestamp::UNIX_EPOCH,
            fetched_at: None,
            standing: Standing::default(),
        };
        let gems = recipes
            .iter()
            .map(|recipe| (recipe.name().clone(), gems.clone()))
            .collect();
        NewBook {
            gems,
            ..NewBook::without_gems(record, true)
        }
    }

    fn hidden(store: &RocksStore, recipe: &Recipe) -> KnownRecipe {
        let (name, state) = (recipe.name(), RecipeState::Hidden);
        store.set_recipe(&Actor::Local, name, state).unwrap();
        store.known_recipes().named(name).unwrap().clone()
    }

    /// Otherwise the time that others wait for a step grows with the number of steps before it.
    #[test]
    fn no_step_passes_what_the_steps_before_it_have_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let (kept, dropped) = (Recipe::documented(), Recipe::released());
        for recipe in [&kept, &dropped] {
            store.add_recipe(&Actor::Local, recipe).unwrap();
        }
        store
            .put(&Actor::Local, vec![book(0, &[&kept, &dropped])])
            .unwrap();
        let recipe = hidden(&store, &dropped);
        strip_all(&store, dropped.name(), UNWATCHED).unwrap();
        set_perf_stats(PerfStatsLevel::EnableCount);
        let mut from = recipe.number.to_be_bytes().to_vec();
        let mut passed = Vec::new();
        loop {
            let mut counts = PerfContext::default();
            counts.reset();
            if !erase_changes(&store, &recipe, &mut from, 100).unwrap() {
                break;
            }
            passed.push(counts.metric(PerfMetric::InternalDeleteSkippedCount));
        }
        set_perf_stats(PerfStatsLevel::Disable);
        assert_eq!(passed.len(), 20, "of 2,000 changes");
        assert!(passed.iter().all(|passed| *passed <= 1), "{passed:?}");
    }

    /// The scans of the last step wait until a book was added.
    #[test]
    fn books_are_written_while_a_recipe_is_counted_and_erased() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let (kept, dropped) = (Recipe::documented(), Recipe::released());
        for recipe in [&kept, &dropped] {
            store.add_recipe(&Actor::Local, recipe).unwrap();
        }
        store
            .put(&Actor::Local, vec![book(0, &[&kept, &dropped])])
            .unwrap();
        crate::Administration::compact(&store, UNWATCHED).unwrap();
        store
            .put(&Actor::Local, vec![book(1, &[&kept, &dropped])])
            .unwrap();
        let recipe = hidden(&store, &dropped);
        strip_all(&store, dropped.name(), UNWATCHED).unwrap();
        let steps = AtomicU8::new(2);
        let watch = |_, _| {
            let step = steps.fetch_add(1, Ordering::Relaxed);
            thread::scope(|scope| {
                scope
                    .spawn(|| store.put(&Actor::Local, vec![book(step, &[&kept])]))
                    .join()
                    .unwrap()
            })
        };
        erase(&store, &recipe, &watch).unwrap();
        // While changes were deleted, and while postings were counted.
        let added = u64::from(steps.into_inner() - 2);
        assert!(added > 1);
        assert_eq!(
            verify(&store.view(), UNWATCHED).unwrap(),
            Vec::<String>::new()
        );
        let counts = store.view().postings().unwrap();
        assert_eq!((counts.main, counts.delta), (2_000, (1 + added) * 2_000));
        assert!(store.view().known().named(dropped.name()).is_err());
    }
}
