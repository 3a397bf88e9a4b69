//! Dropping a recipe: marked first, so that nobody finds it any more; then no record names it; then all else goes at once.
//!
//! Gem lists, postings and sizes of the recipe stay to the end, and are as they would be if no book had changed since it was
//! marked, but for those whose records named it still: their sum stays right.

use std::sync::{Arc, PoisonError};

use rocksdb::{ReadOptions, WriteBatch};

use super::recipes::KnownRecipe;
use super::schema::{self, Family, Sign};
use super::write::durably;
use super::{RocksStore, audit};
use crate::fingerprint::RecipeName;
use crate::index::{Action, BookNo, Snapshot, StoreError, Watch};

/// How many records are rewritten in one batch.
const BATCH: usize = 1000;

pub(super) fn drop_recipe(store: &RocksStore, name: &RecipeName, watch: Watch<'_>) -> Result<(), StoreError> {
    let Some(recipe) = mark(store, name)? else { return Ok(()) };
    let end = store.view().next_book()?;
    let mut from = BookNo(0);
    while let Some(last) = strip(store, name, from)? {
        from = BookNo(last.0.saturating_add(1));
        watch(u64::from(from.0), u64::from(end.0))?;
    }
    erase(store, &recipe)
}

/// Marks the recipe; `None` when it is not there.
pub(super) fn mark(store: &RocksStore, name: &RecipeName) -> Result<Option<KnownRecipe>, StoreError> {
    let _turn = store.turn();
    // Before the lock, which it takes too.
    let before = store.view();
    let mut recipes = store.recipes.write().unwrap_or_else(PoisonError::into_inner);
    let Ok(recipe) = recipes.named(name).cloned() else { return Ok(None) };
    if recipe.leaving {
        return Ok(Some(recipe));
    }
    if recipes.shown().next() == Some(&recipe.recipe) {
        return Err(StoreError::IsDefault(name.clone()));
    }
    let mut batch = WriteBatch::default();
    batch.put_cf(store.family(Family::Meta), schema::leaving_key(recipe.number), []);
    audit::append(&before, &mut batch, [Action::RecipeDropped { recipe: name.clone() }])?;
    durably(store, batch)?;
    let mut changed = (**recipes).clone();
    changed.0.iter_mut().filter(|known| known.number == recipe.number).for_each(|known| known.leaving = true);
    *recipes = Arc::new(changed);
    Ok(Some(KnownRecipe { leaving: true, ..recipe }))
}

/// Takes the name out of some records from `from` on; returns the last book that was looked at, `None` at the end.
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

/// Takes away all that is left.
fn erase(store: &RocksStore, recipe: &KnownRecipe) -> Result<(), StoreError> {
    let _turn = store.turn();
    let snapshot = store.view();
    let (first, end) = (recipe.number.to_be_bytes(), recipe.number.checked_add(1).map(u16::to_be_bytes));
    // The numbers would have to be used up for the last one to be there.
    let end = end.as_ref().map_or(&[0xff; 3][..], |end| end.as_slice());
    let mut counts = snapshot.postings()?;
    let gems: u64 = snapshot.sizes_of(recipe)?.classes.iter().map(|class| class.gems).sum();
    let (mut added, mut removed) = (0, 0);
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    let mut delta = snapshot.iterator(Family::Delta, options);
    delta.seek(first);
    while let Some(key) = delta.key().filter(|key| key.starts_with(&first)) {
        match schema::split_delta_key(key) {
            Some((_, Sign::Removed, _)) => removed += 1,
            _ => added += 1,
        }
        delta.next();
    }
    snapshot.end(&delta)?;
    counts.delta = counts.delta.saturating_sub(added + removed);
    counts.main = (counts.main + added).saturating_sub(gems + removed);

    let mut batch = WriteBatch::default();
    for family in [Family::Gems, Family::Postings, Family::Lists, Family::Delta] {
        batch.delete_range_cf(store.family(family), &first[..], end);
    }
    let meta = store.family(Family::Meta);
    for key in [schema::recipe_key, schema::sizes_key, schema::leaving_key, schema::ready_key] {
        batch.delete_cf(meta, key(recipe.number));
    }
    batch.put_cf(meta, schema::POSTINGS, counts.write());
    let mut recipes = store.recipes.write().unwrap_or_else(PoisonError::into_inner);
    durably(store, batch)?;
    let mut left = (**recipes).clone();
    left.0.retain(|known| known.number != recipe.number);
    *recipes = Arc::new(left);
    Ok(())
}
