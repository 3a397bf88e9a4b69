//! Changing the store. Each call is one batch, written completely or not at all.

use std::collections::BTreeMap;

use lapidary_gems::{Recipe, RecipeName};

use super::change::{Change, Present};
use super::merge;
use super::schema::{self, Family, MetaKey};
use super::{RocksStore, error};
use crate::change::{amended, audited, last_of_each_key};
use crate::recipes::RecipeState;
use crate::{
    Action, Actor, Amended, AuditedBook, BookKey, Condition, LateGems, NewBook, Record,
    RecordChange, Snapshot, StoreError,
};

/// Assumed number of postings of a removed book.
const REMOVED_GEMS: u64 = 200;

pub(super) fn add_recipe(
    store: &RocksStore,
    by: &Actor,
    recipe: &Recipe,
) -> Result<(), StoreError> {
    let mut change = Change::begin(store, store.turn());
    let mut recipes = change.before.known().clone();
    let number = recipes
        .next_number()
        .ok_or_else(|| error::full(&store.dir, "no recipe numbers are left"))?;
    let Some(actions) = recipes.add(recipe, number)? else {
        return Ok(());
    };
    change.put_json(Family::Meta, MetaKey::Recipe(number).bytes(), recipe);
    if recipes.named(recipe.name())?.ready {
        change.mark(MetaKey::Ready(number));
    }
    change.audit.extend(actions);
    change.commit_recipes(by, recipes)
}

pub(super) fn set_recipe(
    store: &RocksStore,
    by: &Actor,
    name: &RecipeName,
    state: RecipeState,
) -> Result<u64, StoreError> {
    let mut change = Change::begin(store, store.turn());
    let mut recipes = change.before.known().clone();
    let Some(actions) = recipes.set(name, state)? else {
        return Ok(0);
    };
    let (number, mut without) = (recipes.named(name)?.number, 0);
    match state {
        RecipeState::Ready => change.mark(MetaKey::Ready(number)),
        RecipeState::Hidden => change.mark(MetaKey::Leaving(number)),
        RecipeState::Default { anyway } => {
            without = change.before.coverage(name)?.lacking();
            if without > 0 && !anyway {
                return Ok(without);
            }
            change.mark(MetaKey::Ready(number));
            let (meta, number) = (store.family(Family::Meta), number.to_be_bytes());
            change.batch.put_cf(meta, MetaKey::Default.bytes(), number);
        }
    }
    change.audit.extend(actions);
    change.commit_recipes(by, recipes)?;
    Ok(without)
}

pub(super) fn add_gems(
    store: &RocksStore,
    by: &Actor,
    recipe: &RecipeName,
    books: Vec<LateGems>,
) -> Result<(), StoreError> {
    has_room_for_books(store)?;
    let mut turn = store.turn();
    let gems: usize = books.iter().map(|book| book.gems.len()).sum();
    merge::keep_up(store, &mut turn, gems as u64)?;
    let mut change = Change::begin(store, turn);
    change.before.known().staying(recipe)?;
    for book in books {
        change.add_gems(recipe, book)?;
    }
    change.commit(by)
}

pub(super) fn put(store: &RocksStore, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError> {
    has_room_for_books(store)?;
    let mut turn = store.turn();
    let gems: usize = books
        .iter()
        .flat_map(|book| book.gems.values())
        .map(Vec::len)
        .sum();
    merge::keep_up(store, &mut turn, gems as u64)?;
    let mut change = Change::begin(store, turn);
    for book in last_of_each_key(books) {
        change.put(book)?;
    }
    change.commit(by)
}

pub(super) fn remove(
    store: &RocksStore,
    by: &Actor,
    keys: &[BookKey],
    condition: &Condition,
) -> Result<Vec<bool>, StoreError> {
    let mut turn = store.turn();
    merge::keep_up(store, &mut turn, REMOVED_GEMS * keys.len() as u64)?;
    let mut change = Change::begin(store, turn);
    let mut there = BTreeMap::new();
    for key in keys {
        if !there.contains_key(key) {
            there.insert(key, change.remove(key, condition)?);
        }
    }
    change.commit(by)?;
    Ok(keys.iter().map(|key| there[key]).collect())
}

pub(super) fn amend(
    store: &RocksStore,
    by: &Actor,
    key: &BookKey,
    change: RecordChange<'_>,
) -> Result<Option<Record>, StoreError> {
    let mut amendment = Change::begin(store, store.turn());
    let Some(Present {
        number,
        record: old,
    }) = amendment.present(key)?
    else {
        return Ok(None);
    };
    let new = amended(&old, change)?;
    amendment.change_terms(number, Some(&old), Some(&new));
    amendment.uncount(&old)?;
    amendment.count(&new)?;
    amendment.put_json(Family::Books, schema::book_key(number), &new);
    let changes = Amended::between(&old, &new);
    amendment.audit.push(Action::Amended(AuditedBook {
        changes,
        ..audited(&new)
    }));
    amendment.commit(by)?;
    Ok(Some(new))
}

/// Refuses books if the remaining space of a full disk is left to small records.
pub(super) fn has_room_for_books(store: &RocksStore) -> Result<(), StoreError> {
    if store.reserve.is_released() {
        Err(StoreError::DiskFull(error::show(&store.dir)))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_writing_keeps_nobody_from_writing() {
        let dir = tempfile::tempdir().unwrap();
        let store = RocksStore::open_or_create(dir.path()).unwrap();
        let key = BookKey {
            library: "lib".parse().unwrap(),
            id: "1".parse().unwrap(),
        };
        let panicked = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let _change = Change::begin(&store, store.turn());
                panic!("in the middle of a change");
            });
            writer.join().is_err()
        });
        assert!(panicked);
        assert_eq!(
            remove(&store, &Actor::Local, &[key], &Condition::default()).unwrap(),
            [false]
        );
    }
}
