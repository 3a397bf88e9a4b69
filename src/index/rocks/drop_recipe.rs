//! Dropping a recipe, in three steps: it is marked, so that it is hidden; it is removed from all records; then
//! everything else is deleted at once.
//!
//! Until the last step, the recipe's gem lists, postings and sizes stay as if no book had changed since the recipe
//! was marked, except for changed books whose records still named it. The number of postings to delete is counted in
//! the last step.

use std::sync::{Arc, PoisonError};

use lapidary_gems::RecipeName;
use rocksdb::{ReadOptions, WriteBatch};

use super::durable::durably;
use super::read::RocksSnapshot;
use super::schema::{self, Family, MetaKey, Postings};
use super::{RocksStore, audit};
use crate::index::postings::{Reader, Unreadable};
use crate::index::recipes::KnownRecipe;
use crate::index::{Action, Actor, BookNo, Snapshot, StoreError, UNWATCHED, Watch};

/// Number of records rewritten in one batch.
const BATCH: usize = 1000;

pub(super) fn drop_recipe(
    store: &RocksStore,
    by: &Actor,
    name: &RecipeName,
    watch: Watch<'_>,
) -> Result<(), StoreError> {
    let Some(recipe) = mark(store, by, name)? else { return Ok(()) };
    strip_all(store, name, watch)?;
    erase(store, &recipe)
}

/// Removes the gems of recipes that were changed before they were released, because this version cannot compute such gems.
/// The recipes stay, with their present definition, and checks refuse them until all books have gems of them again.
pub(super) fn renew(store: &RocksStore) -> Result<(), StoreError> {
    let former: Vec<KnownRecipe> = store.view().known().0.iter().filter(|known| known.former).cloned().collect();
    for recipe in former {
        tracing::warn!(
            "{0}: the gems of '{1}' are by an earlier definition and are removed; give the books new ones: lapidary reindex \
             --data {0} --recipe {1} --from sources PATH…",
            store.dir.display(),
            recipe.name()
        );
        strip_all(store, recipe.name(), UNWATCHED)?;
        erase(store, &recipe)?;
    }
    Ok(())
}

/// Removes the name from all records.
fn strip_all(store: &RocksStore, name: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError> {
    let end = store.view().next_book()?;
    let mut from = BookNo(0);
    while let Some(last) = strip(store, name, from)? {
        from = BookNo(last.0.saturating_add(1));
        watch(u64::from(from.0), u64::from(end.0))?;
    }
    Ok(())
}

/// Marks the recipe. Returns `None` if it does not exist.
pub(super) fn mark(store: &RocksStore, by: &Actor, name: &RecipeName) -> Result<Option<KnownRecipe>, StoreError> {
    let _turn = store.turn();
    let mut recipes = store.recipes.write().unwrap_or_else(PoisonError::into_inner);
    let Ok(recipe) = recipes.named(name).cloned() else { return Ok(None) };
    if recipe.leaving {
        return Ok(Some(recipe));
    }
    if recipes.shown().next() == Some(&recipe.recipe) {
        return Err(StoreError::IsDefault(name.clone()));
    }
    let mut batch = WriteBatch::default();
    batch.put_cf(store.family(Family::Meta), MetaKey::Leaving(recipe.number).bytes(), []);
    audit::commit(store, by, batch, vec![Action::RecipeDropped { recipe: name.clone() }])?;
    let mut changed = (**recipes).clone();
    changed.0.iter_mut().filter(|known| known.number == recipe.number).for_each(|known| known.leaving = true);
    *recipes = Arc::new(changed);
    Ok(Some(KnownRecipe { leaving: true, ..recipe }))
}

/// Removes the name from some records, starting at `from`. Returns the last book processed, or `None` at the end.
fn strip(store: &RocksStore, name: &RecipeName, from: BookNo) -> Result<Option<BookNo>, StoreError> {
    let _turn = store.turn();
    let books = store.view().books(from, BATCH)?;
    let mut batch = WriteBatch::default();
    let last = books.last().map(|(book, _)| *book);
    for (book, mut record) in books {
        if record.gems.remove(name).is_some() {
            batch.put_cf(store.family(Family::Books), schema::book_key(book), schema::json(&record));
        }
    }
    store.db.write(batch).map_err(|e| store.failed(&e))?;
    Ok(last)
}

/// Deletes everything that is left, except for the definition of a recipe to renew.
fn erase(store: &RocksStore, recipe: &KnownRecipe) -> Result<(), StoreError> {
    let _turn = store.turn();
    let snapshot = store.view();
    let (first, end) = (recipe.number.to_be_bytes(), recipe.number.checked_add(1).map(u16::to_be_bytes));
    // The last number is only assigned when all others are used up.
    let end = end.as_ref().map_or(&[0xff; 3][..], |end| end.as_slice());
    let mut counts = snapshot.postings()?;
    let gone = count(&snapshot, recipe)?;
    counts.main = counts.main.saturating_sub(gone.main);
    counts.delta = counts.delta.saturating_sub(gone.delta);

    let mut batch = WriteBatch::default();
    for family in [Family::Gems, Family::Postings, Family::Lists, Family::Delta] {
        batch.delete_range_cf(store.family(family), &first[..], end);
    }
    let meta = store.family(Family::Meta);
    for key in MetaKey::of_recipe(recipe.number) {
        batch.delete_cf(meta, key.bytes());
    }
    if recipe.former {
        batch.put_cf(meta, MetaKey::Recipe(recipe.number).bytes(), schema::json(&recipe.recipe));
    }
    batch.put_cf(meta, MetaKey::Postings.bytes(), counts.write());
    let mut recipes = store.recipes.write().unwrap_or_else(PoisonError::into_inner);
    durably(store, batch)?;
    let mut left = (**recipes).clone();
    left.0.retain(|known| recipe.former || known.number != recipe.number);
    for known in left.0.iter_mut().filter(|known| known.number == recipe.number) {
        (known.former, known.ready) = (false, false);
        known.gem_bits = known.recipe.gem_bits();
    }
    *recipes = Arc::new(left);
    Ok(())
}

/// Counts the postings of a recipe by reading the lengths of its lists. The books' gem counts are no substitute,
/// because not every gem has a posting.
fn count(snapshot: &RocksSnapshot<'_>, recipe: &KnownRecipe) -> Result<Postings, StoreError> {
    let first = recipe.number.to_be_bytes();
    let of_recipe = |family| {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        options.fill_cache(false);
        let mut entries = snapshot.iterator(family, options);
        entries.seek(first);
        entries
    };
    let mut counts = Postings::default();
    let mut buckets = of_recipe(Family::Postings);
    while let Some((_, value)) = buckets.item().filter(|(key, _)| key.starts_with(&first)) {
        let lists = Reader::new(value, schema::rest_bits(recipe));
        let sum = |lists: Reader<'_>| {
            lists.into_iter().try_fold(0, |sum, list| list.map(|(_, list)| sum + u64::from(list.len())))
        };
        counts.main += lists.and_then(sum).map_err(|Unreadable| {
            snapshot.damaged(format!("the postings of recipe {} cannot be read", recipe.name()))
        })?;
        buckets.next();
    }
    snapshot.end(&buckets)?;
    let mut delta = of_recipe(Family::Delta);
    while delta.key().is_some_and(|key| key.starts_with(&first)) {
        counts.delta += 1;
        delta.next();
    }
    snapshot.end(&delta)?;
    Ok(counts)
}
