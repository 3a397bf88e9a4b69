//! What a [`Store`](lapidary_store::Store) changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hashbrown::HashSet;
use lapidary_gems::{PackedFold, PlacedGem, Recipe, RecipeName};

use super::Shared;
use super::audit::audited;
use super::buckets::Posts;
use super::change::{BookChange, ChangeKind, Plan, without};
use super::command::Command;
use super::intent::{Locked, Old};
use super::keys::{TEXT, fold_field, gem_field};
use super::meta::RecipesThen;
use super::record;
use super::sharing::Fence;
use super::snapshot::ClusterSnapshot;
use lapidary_store::change::{
    amended, audited as told, keep_amendments, last_of_each_key, make_distinct,
};
use lapidary_store::recipes::{KnownRecipe, RecipeState, Recipes};
use lapidary_store::{
    Action, Actor, Amended, AuditedBook, BookKey, BookNo, Condition, LateGems, NewBook, Record,
    RecordChange, Snapshot as _, StoreError, Watch, gem_list,
};

/// Number of books changed at a time while a recipe is dropped.
const BATCH: usize = 64;

/// The field of a record.
fn record_field(record: &Record) -> (Vec<u8>, Vec<u8>) {
    (b"r".to_vec(), record::encode(record))
}

/// Completes the record of a book by its gems.
fn complete(book: &mut NewBook, recipes: &Recipes) -> Result<(), StoreError> {
    let NewBook {
        record, gems, text, ..
    } = book;
    // The gems may have been computed before dropping the recipe started.
    gems.retain(|name, _| recipes.named(name).map_or(true, |recipe| !recipe.leaving));
    for (name, gems) in gems.iter_mut() {
        make_distinct(recipes.named(name)?, &record.key, gems)?;
    }
    record.gems = gems
        .iter()
        .map(|(name, gems)| (name.clone(), gems.len() as u32))
        .collect();
    record.text_kept = text.is_some();
    Ok(())
}

/// What a store writes under leases: recipes and books.
pub(super) struct Writing<'s>(pub(super) &'s Shared, pub(super) &'s [Fence]);

impl Writing<'_> {
    pub(super) fn add_recipe(&self, by: &Actor, recipe: &Recipe) -> Result<(), StoreError> {
        let meta = self.0.meta();
        meta.change_recipes(by, self.1, |recipes, next| recipes.add(recipe, next))
    }

    pub(super) fn set_recipe(
        &self,
        by: &Actor,
        name: &RecipeName,
        state: RecipeState,
    ) -> Result<u64, StoreError> {
        let (meta, mut without) = (self.0.meta(), 0);
        if let RecipeState::Default { anyway } = state {
            // Books that were added without knowing the recipe are counted: no more can be, and all are in the totals.
            meta.change_recipes(by, self.1, |recipes, _| recipes.staying(name).map(|_| None))?;
            self.0.changes().sweep()?;
            without = ClusterSnapshot::new(self.0).coverage(name)?.lacking();
            if without > 0 && !anyway {
                return Ok(without);
            }
        }
        meta.change_recipes(by, self.1, |recipes, _| recipes.set(name, state))?;
        Ok(without)
    }

    pub(super) fn drop_recipe(
        &self,
        by: &Actor,
        name: &RecipeName,
        watch: Watch<'_>,
    ) -> Result<(), StoreError> {
        // No book gets gems of it after this.
        self.set_recipe(by, name, RecipeState::Hidden)?;
        let recipes = self.0.meta().recipes()?;
        let Ok(recipe) = recipes.named(name) else {
            return Ok(());
        };
        let snapshot = ClusterSnapshot::new(self.0);
        let (mut from, mut done) = (BookNo(0), 0);
        loop {
            let books = snapshot.books(from, BATCH)?;
            let Some((last, _)) = books.last() else { break };
            from = BookNo(last.0.saturating_add(1));
            done += books.len() as u64;
            let having = books
                .into_iter()
                .filter(|(_, record)| record.gems.contains_key(name));
            let keys: Vec<BookKey> = having.map(|(_, record)| record.key).collect();
            self.strip(&recipes, recipe, &keys)?;
            watch(done, done)?;
        }
        for key in self.bucket_keys(recipe.number)?.chunks(1000) {
            let unlink: Vec<Command> = key.iter().map(|key| Command::bare("UNLINK", key)).collect();
            self.0.client.write_loosely(&unlink)?;
        }
        self.0.meta().change_recipes(by, self.1, |recipes, _| {
            recipes.0.retain(|known| known.number != recipe.number);
            Ok(Some(Vec::new()))
        })
    }

    /// Removes a recipe from books.
    fn strip(
        &self,
        recipes: &RecipesThen,
        recipe: &KnownRecipe,
        keys: &[BookKey],
    ) -> Result<(), StoreError> {
        self.change(recipes, keys, false, |book| Ok(plan_strip(book, recipe)))
    }

    /// Locks books, all or none, and makes the changes that `plan` says. If it fails, nothing is changed.
    fn change(
        &self,
        recipes: &RecipesThen,
        keys: &[BookKey],
        create: bool,
        plan: impl FnMut(&Locked) -> Result<Option<BookChange>, StoreError>,
    ) -> Result<(), StoreError> {
        let locked = self.0.intents().lock(recipes, keys, create)?;
        self.0
            .intents()
            .keep_during(locked, |locked| self.change_locked(recipes, locked, plan))
    }

    fn change_locked(
        &self,
        recipes: &RecipesThen,
        locked: Vec<Locked>,
        mut plan: impl FnMut(&Locked) -> Result<Option<BookChange>, StoreError>,
    ) -> Result<(), StoreError> {
        let changes: Result<Vec<_>, _> = locked.iter().map(&mut plan).collect();
        let changes = match changes {
            Ok(changes) => changes,
            Err(refused) => {
                self.0.intents().end(&locked)?;
                return Err(refused);
            }
        };
        let (mut plans, mut unchanged) = (Vec::new(), Vec::new());
        for (book, change) in locked.into_iter().zip(changes) {
            match change {
                Some(change) => plans.push(Plan { book, change }),
                None => unchanged.push(book),
            }
        }
        self.0.intents().end(&unchanged)?;
        self.0.changes().make(recipes, self.1, plans)
    }

    /// The keys of all buckets of a recipe.
    pub(super) fn bucket_keys(&self, recipe: u16) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut all = HashSet::new();
        self.scan(&self.0.keys.buckets(recipe), &mut |keys| {
            all.extend(keys);
            Ok(())
        })?;
        Ok(all.into_iter().collect())
    }

    /// Calls back for all keys that match a pattern, page by page. Some may come twice.
    pub(super) fn scan(
        &self,
        pattern: &str,
        each: &mut dyn FnMut(Vec<Vec<u8>>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut pages = self.0.client.on_each_primary(&scan(pattern, 0))?;
        while let Some((node, page)) = pages.pop() {
            let (cursor, keys): (u64, Vec<Vec<u8>>) = self.0.answer(page)?;
            each(keys)?;
            if cursor != 0 {
                let next = self.0.client.on(&node, &scan(pattern, cursor))?;
                pages.push((node, next));
            }
        }
        Ok(())
    }

    pub(super) fn put(&self, by: &Actor, books: Vec<NewBook>) -> Result<(), StoreError> {
        let recipes = self.0.meta().recipes()?;
        let mut books = last_of_each_key(books);
        for book in &mut books {
            complete(book, &recipes)?;
            book.has_all(recipes.shown().map(Recipe::name))?;
        }
        let keys: Vec<BookKey> = books.iter().map(|book| book.record.key.clone()).collect();
        let mut books: HashMap<BookKey, NewBook> = keys.iter().cloned().zip(books).collect();
        self.change(&recipes, &keys, true, |locked| {
            let Some(book) = books.remove(&locked.key) else {
                return Ok(None);
            };
            may_replace(locked, &book, &recipes)?;
            self.plan_put(by, &recipes, book, locked).map(Some)
        })
    }

    /// Plans to store a book.
    pub(super) fn plan_put(
        &self,
        by: &Actor,
        recipes: &Recipes,
        book: NewBook,
        locked: &Locked,
    ) -> Result<BookChange, StoreError> {
        let NewBook {
            mut record,
            gems,
            folds,
            text,
            fills,
            ..
        } = book;
        let old = locked.old.as_ref();
        if let Some(old) = old {
            keep_amendments(&mut record, &old.record);
        }
        let mut fields = vec![record_field(&record)];
        push_content(&mut fields, recipes, &gems, &folds)?;
        fields.extend(text.map(|text| (TEXT.to_vec(), text.into_bytes())));
        // The postings of all books are built at once later.
        let gems = if fills { BTreeMap::new() } else { gems };
        let (changes, number) = (self.0.changes(), locked.number);
        let has = changes.new_posts(recipes, number, &record, &gems)?;
        let had = changes.posts(recipes, number, old)?;
        let action = if old.is_some() {
            Action::Replaced
        } else {
            Action::Added
        };
        Ok(BookChange {
            kind: ChangeKind::Replace,
            fields,
            added: without(has.clone(), &had),
            removed: without(had, &has),
            audit: vec![audited(by, action(told(&record)))],
            records: [old.map(|old| old.record.clone()), Some(record)],
        })
    }

    pub(super) fn remove(
        &self,
        by: &Actor,
        keys: &[BookKey],
        condition: &Condition,
    ) -> Result<Vec<bool>, StoreError> {
        let recipes = self.0.meta().recipes()?;
        let distinct: BTreeSet<BookKey> = keys.iter().cloned().collect();
        let mut there = BTreeSet::new();
        self.change(&recipes, &Vec::from_iter(distinct), false, |book| {
            if let Some(old) = &book.old {
                condition.holds(&book.key, Some(&old.record))?;
            }
            there.insert(book.key.clone());
            self.plan_removal(by, &recipes, book)
        })?;
        Ok(keys.iter().map(|key| there.contains(key)).collect())
    }

    /// Plans to remove a book.
    pub(super) fn plan_removal(
        &self,
        by: &Actor,
        recipes: &Recipes,
        book: &Locked,
    ) -> Result<Option<BookChange>, StoreError> {
        let Some(old) = &book.old else {
            return Ok(None);
        };
        Ok(Some(BookChange {
            kind: ChangeKind::Remove,
            fields: Vec::new(),
            added: Posts::new(),
            removed: self.0.changes().posts(recipes, book.number, Some(old))?,
            audit: vec![audited(by, Action::Removed(told(&old.record)))],
            records: [Some(old.record.clone()), None],
        }))
    }

    pub(super) fn amend(
        &self,
        by: &Actor,
        key: &BookKey,
        change: RecordChange<'_>,
    ) -> Result<Option<Record>, StoreError> {
        let recipes = self.0.meta().recipes()?;
        let mut new = None;
        self.change(&recipes, std::slice::from_ref(key), false, |book| {
            let Some(Old { record: old, .. }) = &book.old else {
                return Ok(None);
            };
            let record = amended(old, change)?;
            new = Some(record.clone());
            Ok(Some(plan_amendment(by, old, record)))
        })?;
        Ok(new)
    }

    pub(super) fn add_gems(
        &self,
        name: &RecipeName,
        books: Vec<LateGems>,
    ) -> Result<(), StoreError> {
        let recipes = self.0.meta().recipes()?;
        let recipe = recipes.staying(name)?;
        let mut late = self.acceptable(recipe, books)?;
        let keys: Vec<BookKey> = late.keys().cloned().collect();
        self.change(&recipes, &keys, false, |book| {
            let (Some(late), Some(old)) = (late.remove(&book.key), &book.old) else {
                return Ok(None);
            };
            if late.book != book.number || !accepts(&old.record, name, &late) {
                return Ok(None);
            }
            self.plan_gems(&recipes, recipe, old, late).map(Some)
        })
    }

    /// The gems of books that have none of the recipe, and still the text that the gems are of.
    fn acceptable(
        &self,
        recipe: &KnownRecipe,
        books: Vec<LateGems>,
    ) -> Result<HashMap<BookKey, LateGems>, StoreError> {
        let numbers: Vec<BookNo> = books.iter().map(|late| late.book).collect();
        let records = ClusterSnapshot::new(self.0).fetch(&numbers)?;
        let mut late: HashMap<BookKey, LateGems> = HashMap::new();
        for (mut gems, record) in books.into_iter().zip(records) {
            if let Some(record) = record.filter(|record| accepts(record, recipe.name(), &gems)) {
                make_distinct(recipe, &record.key, &mut gems.gems)?;
                late.insert(record.key, gems);
            }
        }
        Ok(late)
    }

    /// The change that gives a book gems of one more recipe.
    fn plan_gems(
        &self,
        recipes: &Recipes,
        recipe: &KnownRecipe,
        old: &Old,
        late: LateGems,
    ) -> Result<BookChange, StoreError> {
        let name = recipe.name();
        let mut record = old.record.clone();
        record.gems.insert(name.clone(), late.gems.len() as u32);
        let list = gem_list::encode(&late.gems, recipe.gem_bytes());
        let mut fields = vec![record_field(&record), (gem_field(recipe.number), list)];
        if let Some(fold) = &late.fold {
            fields.push((fold_field(fold.base()), fold.as_bytes().to_vec()));
        }
        let gems = BTreeMap::from([(name.clone(), late.gems)]);
        let changes = self.0.changes();
        let had = changes.posts(recipes, late.book, Some(old))?;
        let has = changes.new_posts(recipes, late.book, &record, &gems)?;
        Ok(BookChange {
            kind: ChangeKind::Patch,
            fields,
            added: without(has, &had),
            removed: Posts::new(),
            records: [Some(old.record.clone()), Some(record)],
            audit: Vec::new(),
        })
    }
}

/// The change of what is said of a book.
fn plan_amendment(by: &Actor, old: &Record, new: Record) -> BookChange {
    let book = AuditedBook {
        changes: Amended::between(old, &new),
        ..told(&new)
    };
    BookChange {
        audit: vec![audited(by, Action::Amended(book))],
        ..patch(vec![record_field(&new)], old, new)
    }
}

/// A change of fields that changes no postings.
fn patch(fields: Vec<(Vec<u8>, Vec<u8>)>, old: &Record, new: Record) -> BookChange {
    BookChange {
        kind: ChangeKind::Patch,
        fields,
        added: Posts::new(),
        removed: Posts::new(),
        records: [Some(old.clone()), Some(new)],
        audit: Vec::new(),
    }
}

/// Whether a book has the text that gems are of, and none of their recipe.
fn accepts(record: &Record, recipe: &RecipeName, late: &LateGems) -> bool {
    record.digest == late.digest && !record.gems.contains_key(recipe)
}

/// Whether a book may take the place of what is there.
fn may_replace(locked: &Locked, book: &NewBook, recipes: &Recipes) -> Result<(), StoreError> {
    let old = locked.old.as_ref().map(|old| &old.record);
    book.condition.holds(&book.record.key, old)?;
    match old {
        Some(old) if !book.allow_empty => {
            old.not_emptied_by(&book.record, recipes.shown().map(Recipe::name))
        }
        _ => Ok(()),
    }
}

/// Adds the fields of gem lists and folds.
fn push_content(
    fields: &mut Vec<(Vec<u8>, Vec<u8>)>,
    recipes: &Recipes,
    gems: &BTreeMap<RecipeName, Vec<PlacedGem>>,
    folds: &[PackedFold],
) -> Result<(), StoreError> {
    for (name, gems) in gems {
        let recipe = recipes.named(name)?;
        let list = gem_list::encode(gems, recipe.gem_bytes());
        fields.push((gem_field(recipe.number), list));
    }
    for fold in folds {
        fields.push((fold_field(fold.base()), fold.as_bytes().to_vec()));
    }
    Ok(())
}

/// Plans to remove a recipe from a book, if that is there.
fn plan_strip(book: &Locked, recipe: &KnownRecipe) -> Option<BookChange> {
    let old = &book.old.as_ref()?.record;
    let mut record = old.clone();
    record.gems.remove(recipe.name());
    let field = [b"-", gem_field(recipe.number).as_slice()].concat();
    Some(patch(
        vec![record_field(&record), (field, Vec::new())],
        old,
        record,
    ))
}

/// The command that reads a page of the keys that match a pattern.
fn scan(pattern: &str, cursor: u64) -> redis::Cmd {
    redis::cmd("SCAN")
        .arg(cursor)
        .arg("MATCH")
        .arg(pattern)
        .arg("COUNT")
        .arg(1000)
        .clone()
}
