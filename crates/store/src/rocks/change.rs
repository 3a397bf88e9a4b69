//! A change of books being assembled: it reads the state before, and writes one batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;
use jiff::Timestamp;
use lapidary_gems::{Gem, PackedFold, PlacedGem, Recipe, RecipeName};
use parking_lot::MutexGuard;
use rocksdb::{ReadOptions, WriteBatch};
use serde::Serialize;

use super::merge::MergeCursor;
use super::owners::Owners;
use super::read::RocksSnapshot;
use super::schema::{self, DeltaKey, Family, MetaKey, Postings, Sign};
use super::search::term_keys;
use super::{RocksStore, audit, error};
use crate::change::{audited, keep_amendments, make_distinct};
use crate::gem_list;
use crate::recipes::{KnownRecipe, Recipes};
use crate::{
    Action, Actor, BookKey, BookNo, Condition, LateGems, Library, LibrarySummary, NewBook, Record,
    Sizes, Snapshot, StoreError,
};

/// A change being assembled. Each key is changed at most once, so all it reads is the state before.
pub(super) struct Change<'a> {
    store: &'a RocksStore,
    pub(super) before: RocksSnapshot<'a>,
    pub(super) batch: WriteBatch,
    /// Keys of the delta, and whether each will exist afterwards.
    delta: Vec<(DeltaKey, bool)>,
    /// The totals over books after the change, read when first needed.
    next: Option<BookNo>,
    sizes: BTreeMap<u16, Sizes>,
    libraries: BTreeMap<Library, LibrarySummary>,
    postings: Option<Postings>,
    /// The audit log entries of the change.
    pub(super) audit: Vec<Action>,
    /// The owners of book numbers, if the change starts a new run.
    owners: Option<Owners>,
    /// Declared after `before`: the next change must not begin until this one is completely over.
    _turn: MutexGuard<'a, MergeCursor>,
}

/// An existing book.
pub(super) struct Present {
    pub(super) number: BookNo,
    pub(super) record: Record,
}

impl<'a> Change<'a> {
    pub(super) fn begin(store: &'a RocksStore, turn: MutexGuard<'a, MergeCursor>) -> Self {
        Self {
            store,
            before: store.view(),
            batch: WriteBatch::default(),
            delta: Vec::new(),
            next: None,
            sizes: BTreeMap::new(),
            libraries: BTreeMap::new(),
            postings: None,
            audit: Vec::new(),
            owners: None,
            _turn: turn,
        }
    }

    fn change_all_gems(
        &mut self,
        number: BookNo,
        old: Option<&Record>,
        gems: &BTreeMap<RecipeName, Vec<PlacedGem>>,
    ) -> Result<(), StoreError> {
        let had = old.map(|old| old.gems.keys());
        let recipes: BTreeSet<&RecipeName> = had.into_iter().flatten().chain(gems.keys()).collect();
        for recipe in recipes {
            let new = gems.get(recipe).map(Vec::as_slice);
            self.change_gems(recipe, number, old, new)?;
        }
        Ok(())
    }

    pub(super) fn put(&mut self, mut book: NewBook) -> Result<(), StoreError> {
        self.prepare(&mut book)?;
        let NewBook {
            mut record,
            gems,
            folds,
            text,
            ..
        } = book;
        let (number, old) = match self.present(&record.key)? {
            Some(present) => (present.number, Some(present.record)),
            None => (self.take_number(&record.key.library)?, None),
        };
        let old = old.as_ref();
        book.condition.holds(&record.key, old)?;
        if let Some(old) = old.filter(|_| !book.allow_empty) {
            old.not_emptied_by(&record, staying(self.before.known()))?;
        }
        self.change_all_gems(number, old, &gems)?;
        match old {
            Some(old) => {
                self.uncount(old)?;
                self.remove_folds(number)?;
                self.remove_digests(number, old);
                keep_amendments(&mut record, old);
            }
            None => self.put_id(&record.key, number),
        }
        for fold in folds {
            self.put_fold(number, &fold);
        }
        self.change_text(number, old, text.as_deref());
        self.put_digests(number, &record);
        self.change_terms(number, old, Some(&record));
        self.count(&record)?;
        let action = if old.is_some() {
            Action::Replaced
        } else {
            Action::Added
        };
        self.audit.push(action(audited(&record)));
        self.put_json(Family::Books, schema::book_key(number), &record);
        Ok(())
    }

    /// Makes the gems of a book those of the recipes there are, and its record tell what is stored with it.
    fn prepare(&self, book: &mut NewBook) -> Result<(), StoreError> {
        let known = self.before.known();
        book.has_all(staying(known))?;
        // The gems may have been computed before dropping the recipe started.
        book.gems
            .retain(|name, _| !known.named(name).is_ok_and(|of| of.leaving));
        for (name, gems) in &mut book.gems {
            make_distinct(known.named(name)?, &book.record.key, gems)?;
        }
        let gems = book.gems.iter();
        book.record.gems = gems
            .map(|(name, gems)| (name.clone(), gems.len() as u32))
            .collect();
        book.record.text_kept = book.text.is_some();
        Ok(())
    }

    fn put_id(&mut self, key: &BookKey, book: BookNo) {
        let ids = self.store.family(Family::Ids);
        self.batch
            .put_cf(ids, schema::id_key(key), schema::book_key(book));
    }

    pub(super) fn add_gems(&mut self, name: &RecipeName, late: LateGems) -> Result<(), StoreError> {
        let LateGems {
            book,
            digest,
            mut gems,
            fold,
        } = late;
        let Some(mut record) = self.before.record(book)? else {
            return Ok(());
        };
        if record.digest != digest || record.gems.contains_key(name) {
            return Ok(());
        }
        make_distinct(self.before.known().named(name)?, &record.key, &mut gems)?;
        self.change_gems(name, book, Some(&record), Some(&gems))?;
        self.sizes(name)?.add(gems.len() as u32);
        let before = record.clone();
        record.gems.insert(name.clone(), gems.len() as u32);
        self.touch(&before.key.library, before.changed_at)?
            .count_recipes(Some(&before), Some(&record));
        if let Some(fold) = fold {
            self.put_fold(book, &fold);
        }
        self.put_json(Family::Books, schema::book_key(book), &record);
        Ok(())
    }

    fn put_fold(&mut self, book: BookNo, fold: &PackedFold) {
        self.batch.put_cf(
            self.store.family(Family::Folds),
            schema::fold_key(book, fold.base()),
            fold.as_bytes(),
        );
    }

    fn remove_folds(&mut self, book: BookNo) -> Result<(), StoreError> {
        let mut folds = self.before.iterator(Family::Folds, ReadOptions::default());
        folds.seek(schema::book_key(book));
        while let Some(key) = folds
            .key()
            .filter(|key| key.starts_with(&schema::book_key(book)))
        {
            self.batch.delete_cf(self.store.family(Family::Folds), key);
            folds.next();
        }
        self.before.end(&folds)
    }

    /// Changes the kept text of a book. `before` is its record, or `None` for a new book.
    fn change_text(&mut self, book: BookNo, before: Option<&Record>, text: Option<&str>) {
        let (texts, key) = (self.store.family(Family::Texts), schema::book_key(book));
        match text {
            Some(text) => self.batch.put_cf(texts, key, text),
            None if before.is_some_and(|before| before.text_kept) => {
                self.batch.delete_cf(texts, key);
            }
            None => {}
        }
    }

    pub(super) fn remove(
        &mut self,
        key: &BookKey,
        condition: &Condition,
    ) -> Result<bool, StoreError> {
        let Some(Present { number, record }) = self.present(key)? else {
            return Ok(false);
        };
        condition.holds(key, Some(&record))?;
        for recipe in record.gems.keys() {
            self.change_gems(recipe, number, Some(&record), None)?;
        }
        self.remove_folds(number)?;
        self.change_text(number, Some(&record), None);
        self.remove_digests(number, &record);
        self.change_terms(number, Some(&record), None);
        self.uncount(&record)?;
        self.touch(&record.key.library, Timestamp::now())?;
        self.audit.push(Action::Removed(audited(&record)));
        self.batch
            .delete_cf(self.store.family(Family::Ids), schema::id_key(key));
        self.batch
            .delete_cf(self.store.family(Family::Books), schema::book_key(number));
        Ok(true)
    }

    pub(super) fn present(&self, key: &BookKey) -> Result<Option<Present>, StoreError> {
        let Some(number) = self.before.find(key)? else {
            return Ok(None);
        };
        match self.before.record(number)? {
            Some(record) if record.key == *key => Ok(Some(Present { number, record })),
            _ => Err(self.before.damaged(format!("{key} has no record"))),
        }
    }

    fn put_digests(&mut self, book: BookNo, record: &Record) {
        for key in digest_keys(book, record) {
            self.batch
                .put_cf(self.store.family(Family::Digests), key, []);
        }
    }

    fn remove_digests(&mut self, book: BookNo, record: &Record) {
        for key in digest_keys(book, record) {
            self.batch
                .delete_cf(self.store.family(Family::Digests), key);
        }
    }

    /// Changes the terms that a book is found by, as far as they differ.
    pub(super) fn change_terms(
        &mut self,
        book: BookNo,
        before: Option<&Record>,
        after: Option<&Record>,
    ) {
        let library = self
            .owners
            .as_ref()
            .unwrap_or(self.before.owners())
            .of(book);
        let [had, has] = [before, after].map(|record| {
            record
                .map(|record| term_keys(library, book, record))
                .unwrap_or_default()
        });
        let terms = self.store.family(Family::Terms);
        had.difference(&has)
            .for_each(|key| self.batch.delete_cf(terms, key));
        has.difference(&had)
            .for_each(|key| self.batch.put_cf(terms, key, []));
    }

    fn take_number(&mut self, library: &Library) -> Result<BookNo, StoreError> {
        let number = match self.next {
            Some(next) => next,
            None => self.before.next_book()?,
        };
        let next = number.0.checked_add(1);
        self.next = Some(BookNo(next.ok_or_else(|| {
            error::full(&self.store.dir, "no book numbers are left")
        })?));
        if !self
            .owners
            .as_ref()
            .unwrap_or(self.before.owners())
            .continues(number, library)
        {
            let owners = self
                .owners
                .get_or_insert_with(|| self.before.owners().clone());
            if let Some((key, value)) = owners.give(number, library) {
                self.batch
                    .put_cf(self.store.family(Family::Meta), key, value);
            }
        }
        Ok(number)
    }

    /// Which keys of the delta come and go when the postings of some gems of a book become those of others.
    fn changed_postings(
        &self,
        recipe: &KnownRecipe,
        book: BookNo,
        old: &[PlacedGem],
        new: &[PlacedGem],
    ) -> Result<Vec<(DeltaKey, bool)>, StoreError> {
        let [old, new] = [old, new].map(|gems| recipe.posted(gems).collect::<HashSet<Gem>>());
        let removed = old
            .difference(&new)
            .map(|gem| (gem, Sign::Removed, Sign::Added));
        let added = new
            .difference(&old)
            .map(|gem| (gem, Sign::Added, Sign::Removed));
        let mut changes = Vec::new();
        for (gem, sign, opposite) in removed.chain(added) {
            // If the delta has the opposite change, removing that restores what the main index says.
            let undone = schema::delta_key(recipe, *gem, opposite, book);
            if self.before.get(Family::Delta, undone.as_ref())?.is_some() {
                changes.push((undone, false));
            } else {
                changes.push((schema::delta_key(recipe, *gem, sign, book), true));
            }
        }
        Ok(changes)
    }

    /// The gems that a book had under a recipe.
    fn old_gems(&self, recipe: &KnownRecipe, book: BookNo) -> Result<Vec<PlacedGem>, StoreError> {
        self.before.gem_list(recipe, book)?.ok_or_else(|| {
            self.before.damaged(format!(
                "the gems of book {} ({}) are lost",
                book.0,
                recipe.name()
            ))
        })
    }

    /// Changes a book's gems under a recipe, and the postings that differ. `before` is the book's record, or `None`
    /// for a new book.
    fn change_gems(
        &mut self,
        recipe: &RecipeName,
        book: BookNo,
        before: Option<&Record>,
        new: Option<&[PlacedGem]>,
    ) -> Result<(), StoreError> {
        let had = before.is_some_and(|before| before.gems.contains_key(recipe));
        let recipe = self.before.known().named(recipe)?;
        let old = if had {
            self.old_gems(recipe, book)?
        } else {
            Vec::new()
        };
        let added = new.unwrap_or_default();
        let changes = if before.is_some() {
            self.changed_postings(recipe, book, &old, added)?
        } else {
            // A new book is in no list and has no changes in the delta.
            let added = recipe.posted(added);
            let keys = added.map(|gem| schema::delta_key(recipe, gem, Sign::Added, book));
            keys.map(|key| (key, true)).collect()
        };
        let (gems, key) = (
            self.store.family(Family::Gems),
            schema::gems_key(recipe, book),
        );
        match new.map(|new| gem_list::encode(new, recipe.gem_bytes())) {
            Some(list) => self.batch.put_cf(gems, key, list),
            None => self.batch.delete_cf(gems, key),
        }
        let postings = match &mut self.postings {
            Some(postings) => postings,
            none => none.insert(self.before.postings()?),
        };
        for (_, is_new) in &changes {
            postings.delta = if *is_new {
                postings.delta + 1
            } else {
                postings.delta.saturating_sub(1)
            };
        }
        self.delta.extend(changes);
        Ok(())
    }

    /// Adds a book to the totals.
    pub(super) fn count(&mut self, record: &Record) -> Result<(), StoreError> {
        for (recipe, gems) in &record.gems {
            self.sizes(recipe)?.add(*gems);
        }
        self.touch(&record.key.library, record.changed_at)?
            .add(record);
        Ok(())
    }

    /// Removes a book from the totals.
    pub(super) fn uncount(&mut self, record: &Record) -> Result<(), StoreError> {
        for (recipe, gems) in &record.gems {
            if self.sizes(recipe)?.take(*gems).is_none() {
                return Err(self.before.damaged(format!(
                    "the sizes of recipe {recipe} do not include a book"
                )));
            }
        }
        let library = &record.key.library;
        let taken = self.touch(library, record.changed_at)?.take(record);
        taken.ok_or_else(|| {
            self.before.damaged(format!(
                "the summary of library {library} does not include a book"
            ))
        })
    }

    fn sizes(&mut self, recipe: &RecipeName) -> Result<&mut Sizes, StoreError> {
        let recipe = self.before.known().named(recipe)?;
        if !self.sizes.contains_key(&recipe.number) {
            self.sizes
                .insert(recipe.number, self.before.sizes_of(recipe)?);
        }
        Ok(self.sizes.entry(recipe.number).or_default())
    }

    /// The library's summary, with its time of change set to `changed` or later.
    fn touch(
        &mut self,
        library: &Library,
        changed: Timestamp,
    ) -> Result<&mut LibrarySummary, StoreError> {
        if !self.libraries.contains_key(library) {
            self.libraries.insert(
                library.clone(),
                self.before
                    .summary(library)?
                    .unwrap_or_else(|| LibrarySummary::empty(library, changed)),
            );
        }
        let summary = self
            .libraries
            .get_mut(library)
            .expect("it was there or has just been inserted");
        summary.changed_at = summary.changed_at.max(changed);
        Ok(summary)
    }

    pub(super) fn put_json(
        &mut self,
        family: Family,
        key: impl AsRef<[u8]>,
        value: &impl Serialize,
    ) {
        self.batch
            .put_cf(self.store.family(family), key, schema::json(value));
    }

    /// Commits a change of the recipes, which no view sees until it is on disk.
    pub(super) fn commit_recipes(self, by: &Actor, recipes: Recipes) -> Result<(), StoreError> {
        let mut known = self.store.recipes_to_change();
        self.commit(by)?;
        *known = Arc::new(recipes);
        Ok(())
    }

    /// Puts an entry that says all by being there.
    pub(super) fn mark(&mut self, key: MetaKey<'_>) {
        let meta = self.store.family(Family::Meta);
        self.batch.put_cf(meta, key.bytes(), []);
    }

    /// Writes the change and waits until it is on disk.
    pub(super) fn commit(mut self, by: &Actor) -> Result<(), StoreError> {
        let (meta, delta) = (
            self.store.family(Family::Meta),
            self.store.family(Family::Delta),
        );
        // Sort in memtable order, so that the memtable searches from each key to the next.
        self.delta.sort_unstable_by_key(|(key, _)| key.order());
        for (key, there) in &self.delta {
            if *there {
                self.store.changed.note(key.as_ref());
                self.batch.put_cf(delta, key, []);
            } else {
                self.batch.delete_cf(delta, key);
            }
        }
        if let Some(next) = self.next {
            self.batch
                .put_cf(meta, MetaKey::Next.bytes(), schema::book_key(next));
        }
        for (recipe, sizes) in std::mem::take(&mut self.sizes) {
            self.put_json(Family::Meta, MetaKey::Sizes(recipe).bytes(), &sizes);
        }
        for (library, summary) in std::mem::take(&mut self.libraries) {
            if summary.books > 0 {
                self.put_json(Family::Meta, MetaKey::library(&library).bytes(), &summary);
            } else {
                self.batch
                    .delete_cf(meta, MetaKey::library(&library).bytes());
            }
        }
        if let Some(postings) = self.postings {
            self.batch
                .put_cf(meta, MetaKey::Postings.bytes(), postings.write());
        }
        if let Some(owners) = self.owners {
            self.store.set_owners(owners);
        }
        audit::commit(self.store, by, self.batch, self.audit)
    }
}

/// The names of the recipes that are not being dropped.
fn staying(recipes: &Recipes) -> impl Iterator<Item = &RecipeName> {
    recipes.shown().map(Recipe::name)
}

/// The keys of a book's digests.
pub(super) fn digest_keys(
    book: BookNo,
    record: &Record,
) -> impl Iterator<Item = schema::DigestKey> + use<> {
    let digests = [Some(&record.digest), record.clean_digest.as_ref()];
    digests
        .map(|digest| schema::digest_key(digest?, book))
        .into_iter()
        .flatten()
}
