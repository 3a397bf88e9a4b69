//! Repairs what [`super::verify`] finds. Records and gem lists are the truth; everything else is made to match them.
//!
//! A record or gem list that cannot be read cannot be restored: it is removed and reported, so that the book can be
//! added again. If a fold is stored, the gem list is recomputed from it. Writers wait; readers see each book, name
//! and bucket change atomically.

use std::collections::BTreeMap;

use lapidary_gems::{PlacedGem, RecipeName};
use rocksdb::{ReadOptions, WriteBatch};

use super::change::digest_keys;
use super::owners::Owners;
use super::read::RocksSnapshot;
use super::schema::{self, Family, MetaKey};
use super::search::{is_of_a_book, term_keys};
use super::sync::durably;
use super::{RocksStore, audit, rebuild};
use crate::change::make_distinct;
use crate::gem_list;
use crate::recipes::KnownRecipe;
use crate::{BookNo, Library, LibrarySummary, Record, Sizes, StoreError, Watch};

/// Repairs the store. Returns what was lost, by book.
pub(super) fn repair(store: &RocksStore, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
    let mut turn = store.turn();
    let mut repair = Repair {
        store,
        said: Vec::new(),
        next: BookNo(0),
        sizes: BTreeMap::new(),
        libraries: BTreeMap::new(),
    };
    each(
        &store.view(),
        Family::Books,
        watch,
        |snapshot, key, value| repair.book(snapshot, key, value),
    )?;
    let snapshot = store.view();
    repair.sums(&snapshot)?;
    repair.owners()?;
    // Terms are by the new owners.
    let snapshot = store.view();
    each(&snapshot, Family::Books, watch, |snapshot, key, _| {
        repair.terms(snapshot, key)
    })?;
    for family in [
        Family::Ids,
        Family::Gems,
        Family::Digests,
        Family::Terms,
        Family::Folds,
        Family::Texts,
    ] {
        each(&snapshot, family, watch, |snapshot, key, value| {
            if belongs(snapshot, family, key, value)? {
                return Ok(());
            }
            if family == Family::Ids {
                let name = schema::show_id_key(key);
                repair.say(format!(
                    "{name} has no readable record: add it again, unless it was removed"
                ));
            }
            repair.delete(family, key)
        })?;
    }
    rebuild::postings(store, &mut turn, watch)?;
    Ok(repair.said)
}

/// Calls back for every entry of a family.
fn each(
    snapshot: &RocksSnapshot<'_>,
    family: Family,
    watch: Watch<'_>,
    mut show: impl FnMut(&RocksSnapshot<'_>, &[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let total = snapshot.estimate(family);
    let mut entries = snapshot.iterator(family, ReadOptions::default());
    entries.seek_to_first();
    let mut read = 0;
    while let Some((key, value)) = entries.item() {
        show(snapshot, key, value)?;
        entries.next();
        read += 1;
        watch(read, total.max(read))?;
    }
    snapshot.end(&entries)
}

fn is_id(snapshot: &RocksSnapshot<'_>, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
    let record = schema::read_book(value)
        .map(|book| snapshot.record(book))
        .transpose()?
        .flatten();
    Ok(record.is_some_and(|record| schema::id_key(&record.key) == key))
}

fn is_digest(snapshot: &RocksSnapshot<'_>, key: &[u8]) -> Result<bool, StoreError> {
    let book = schema::read_digest_key(key).map(|(_, book)| book);
    let record = book
        .map(|book| Ok((book, snapshot.record(book)?)))
        .transpose()?;
    Ok(record.is_some_and(|(book, record)| {
        record.is_some_and(|record| {
            digest_keys(book, &record).any(|of_record| of_record.as_ref() == key)
        })
    }))
}

fn is_gem_list(snapshot: &RocksSnapshot<'_>, key: &[u8]) -> Result<bool, StoreError> {
    let Some((number, book)) = schema::read_gems_key(key) else {
        return Ok(false);
    };
    let Some(recipe) = snapshot.known().numbered(number) else {
        return Ok(false);
    };
    Ok(recipe.leaving
        || snapshot
            .record(book)?
            .is_some_and(|record| record.gems.contains_key(recipe.name())))
}

fn is_text(snapshot: &RocksSnapshot<'_>, key: &[u8]) -> Result<bool, StoreError> {
    let record = schema::read_book(key)
        .map(|book| snapshot.record(book))
        .transpose()?
        .flatten();
    Ok(record.is_some_and(|record| record.text_kept))
}

struct Repair<'a> {
    store: &'a RocksStore,
    said: Vec<String>,
    /// One past the highest book number.
    next: BookNo,
    sizes: BTreeMap<u16, Sizes>,
    libraries: BTreeMap<Library, LibrarySummary>,
}

impl Repair<'_> {
    fn say(&mut self, sentence: impl Into<String>) {
        self.said.push(sentence.into());
    }

    fn delete(&self, family: Family, key: &[u8]) -> Result<(), StoreError> {
        self.store
            .db
            .delete_cf(self.store.family(family), key)
            .map_err(|e| self.store.failed(&e))
    }

    fn put(&self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.store
            .db
            .put_cf(self.store.family(family), key, value)
            .map_err(|e| self.store.failed(&e))
    }

    fn book(
        &mut self,
        snapshot: &RocksSnapshot<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), StoreError> {
        let Some(number) = schema::read_book(key) else {
            self.say(format!("a record with the invalid key {key:?} was removed"));
            return self.delete(Family::Books, key);
        };
        self.next = BookNo(number.0.saturating_add(1));
        let Ok(mut record) = serde_json::from_slice::<Record>(value) else {
            // A book that an id points to is reported with its id.
            if !has_name(snapshot, number)? {
                self.say(format!(
                    "book {} was removed because its record cannot be read",
                    number.0
                ));
            }
            return self.delete(Family::Books, key);
        };
        if !self.is_the_one(number, &record)? {
            self.say(format!(
                "{} existed twice: book {} was removed",
                record.key, number.0
            ));
            return self.delete(Family::Books, key);
        }
        let before = record.clone();
        self.parts(snapshot, number, &mut record)?;
        for key in digest_keys(number, &record) {
            self.put(Family::Digests, key.as_ref(), &[])?;
        }
        if record != before {
            self.put(Family::Books, key, &schema::json(&record))?;
        }
        LibrarySummary::count(&mut self.libraries, &record);
        Ok(())
    }

    /// Takes what cannot be read of a book's gems and text out of its record.
    fn parts(
        &mut self,
        snapshot: &RocksSnapshot<'_>,
        number: BookNo,
        record: &mut Record,
    ) -> Result<(), StoreError> {
        let names: Vec<RecipeName> = record.gems.keys().cloned().collect();
        for name in names {
            match snapshot.known().named(&name) {
                Ok(recipe) if recipe.leaving => {}
                Ok(recipe) => self.gems(snapshot, number, record, recipe)?,
                Err(_) => {
                    record.gems.remove(&name);
                    let key = &record.key;
                    self.say(format!("{key} had gems of recipe {name}, which is unknown"));
                }
            }
        }
        if record.text_kept {
            let text = snapshot.text(number).ok().flatten();
            record.text_kept = text.is_some_and(|text| record.is_of(&text));
            if !record.text_kept {
                let key = &record.key;
                self.say(format!("{key} has lost its kept text: add it again"));
            }
        }
        Ok(())
    }

    /// Writes the terms of a book.
    fn terms(&self, snapshot: &RocksSnapshot<'_>, key: &[u8]) -> Result<(), StoreError> {
        let Some(book) = schema::read_book(key) else {
            return Ok(());
        };
        let Some(record) = snapshot.record(book)? else {
            return Ok(());
        };
        let mut batch = WriteBatch::default();
        for key in term_keys(snapshot.owners().of(book), book, &record) {
            batch.put_cf(self.store.family(Family::Terms), key, []);
        }
        snapshot.write(batch)
    }

    /// Rewrites the owners of book numbers in one batch.
    fn owners(&self) -> Result<(), StoreError> {
        let (owners, kept) = Owners::derive(&self.store.view())?;
        let meta = self.store.family(Family::Meta);
        let mut batch = WriteBatch::default();
        // No book has the last number.
        let (first, last) = (MetaKey::Owner(BookNo(0)), MetaKey::Owner(BookNo(u32::MAX)));
        batch.delete_range_cf(meta, first.bytes(), last.bytes());
        for (key, value) in kept {
            batch.put_cf(meta, key, value);
        }
        durably(self.store, batch)?;
        self.store.set_owners(owners);
        Ok(())
    }

    /// Whether this is the book that its id points to, after pointing the id to it if no other book claims it.
    fn is_the_one(&self, number: BookNo, record: &Record) -> Result<bool, StoreError> {
        let now = self.store.view();
        let id = schema::id_key(&record.key);
        let leads_to = now
            .get(Family::Ids, &id)?
            .and_then(|value| schema::read_book(&value));
        if leads_to == Some(number) {
            return Ok(true);
        }
        if let Some(other) = leads_to
            && let Ok(Some(other)) = now.record(other)
            && other.key == record.key
        {
            return Ok(false);
        }
        self.put(Family::Ids, &id, &schema::book_key(number))?;
        Ok(true)
    }

    /// Makes the gem list and the gem count of a recipe match.
    fn gems(
        &mut self,
        snapshot: &RocksSnapshot<'_>,
        book: BookNo,
        record: &mut Record,
        recipe: &KnownRecipe,
    ) -> Result<(), StoreError> {
        let read = snapshot.gem_list(recipe, book).ok().flatten();
        let Some(mut list) = read.clone().or_else(|| -> Option<Vec<PlacedGem>> {
            recipe
                .recipe
                .recut(&snapshot.fold(recipe.recipe.base(), book).ok().flatten()?)
        }) else {
            record.gems.remove(recipe.name());
            self.say(format!(
                "{} has lost its gems of recipe {}: add it again",
                record.key,
                recipe.name()
            ));
            return Ok(());
        };
        list.retain(|gem| recipe.fits(gem.gem));
        make_distinct(recipe, &record.key, &mut list)?;
        if read.as_ref() != Some(&list) {
            self.put(
                Family::Gems,
                &schema::gems_key(recipe, book),
                &gem_list::encode(&list, recipe.gem_bytes()),
            )?;
        }
        record.gems.insert(recipe.name().clone(), list.len() as u32);
        self.sizes
            .entry(recipe.number)
            .or_default()
            .add(list.len() as u32);
        Ok(())
    }

    /// Rewrites the totals, and deletes meaningless entries.
    fn sums(&mut self, snapshot: &RocksSnapshot<'_>) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        self.delete_meaningless(snapshot, &mut batch)?;
        audit::renumber(self.store)?;
        let family = self.store.family(Family::Meta);
        for recipe in snapshot.known().0.iter().filter(|recipe| !recipe.leaving) {
            let sizes = self.sizes.remove(&recipe.number).unwrap_or_default();
            let key = MetaKey::Sizes(recipe.number).bytes();
            batch.put_cf(family, key, schema::json(&sizes));
        }
        for (library, mut summary) in std::mem::take(&mut self.libraries) {
            if let Ok(Some(kept)) = snapshot.summary(&library) {
                summary.changed_at = summary.changed_at.max(kept.changed_at);
            }
            let key = MetaKey::library(&library).bytes();
            batch.put_cf(family, key, schema::json(&summary));
        }
        let next = snapshot.next_book().unwrap_or(self.next).max(self.next);
        batch.put_cf(family, MetaKey::Next.bytes(), schema::book_key(next));
        durably(self.store, batch)
    }

    /// Deletes the entries that mean nothing, and those of libraries, which are rewritten.
    fn delete_meaningless(
        &self,
        snapshot: &RocksSnapshot<'_>,
        batch: &mut WriteBatch,
    ) -> Result<(), StoreError> {
        let is_known = |number| snapshot.known().numbered(number).is_some();
        let mut entries = snapshot.iterator(Family::Meta, ReadOptions::default());
        entries.seek_to_first();
        while let Some((key, value)) = entries.item() {
            let means_something = match MetaKey::read(key) {
                None | Some(MetaKey::Library(_)) => false,
                Some(MetaKey::Default) => schema::read_recipe(value).is_some_and(is_known),
                Some(key) => key.recipe().is_none_or(is_known),
            };
            if !means_something {
                batch.delete_cf(self.store.family(Family::Meta), key);
            }
            entries.next();
        }
        snapshot.end(&entries)
    }
}

/// Whether an id points to a book.
fn has_name(snapshot: &RocksSnapshot<'_>, book: BookNo) -> Result<bool, StoreError> {
    let mut ids = snapshot.iterator(Family::Ids, ReadOptions::default());
    ids.seek_to_first();
    while let Some(value) = ids.value() {
        if schema::read_book(value) == Some(book) {
            return Ok(true);
        }
        ids.next();
    }
    snapshot.end(&ids)?;
    Ok(false)
}

/// Whether an entry is of a book.
fn belongs(
    snapshot: &RocksSnapshot<'_>,
    family: Family,
    key: &[u8],
    value: &[u8],
) -> Result<bool, StoreError> {
    match family {
        Family::Ids => is_id(snapshot, key, value),
        Family::Gems => is_gem_list(snapshot, key),
        Family::Digests => is_digest(snapshot, key),
        Family::Terms => is_of_a_book(snapshot, key),
        Family::Texts => is_text(snapshot, key),
        _ => Ok(schema::read_fold_key(key)
            .map(|(book, _)| snapshot.record(book))
            .transpose()?
            .flatten()
            .is_some()),
    }
}
