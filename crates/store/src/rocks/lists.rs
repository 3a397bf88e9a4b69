//! Reads posting lists, each with its changes since the last merge into the main index.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use lapidary_gems::Gem;
use rocksdb::{DBRawIterator, ReadOptions};

use super::owners::{LibraryNo, Owners};
use super::parallel;
use super::read::RocksSnapshot;
use super::schema::{self, Bucket, Family, Sign};
use crate::postings::{List, Reader, Unreadable};
use crate::recipes::KnownRecipe;
use crate::{BookNo, Limits, StoreError};

/// The number of entries that are passed one by one before an iterator looks the next key up. A look-up takes about as long
/// as passing this many.
const PASSED: u32 = 8;

/// Reads posting lists.
pub(super) struct PostingLists<'a> {
    snapshot: &'a RocksSnapshot<'a>,
    recipe: &'a KnownRecipe,
    caps: Caps,
    /// The only library to read, if limited to one.
    only: Option<LibraryNo>,
    /// The changes since the last merge into the main index; `None` if there are none.
    delta: Option<DBRawIterator<'a>>,
    /// Whether so many lists are read in order that the next one is mostly near the one before.
    many: bool,
}

/// In how many books of a library a gem may be that counts there.
struct Caps {
    usual: usize,
    lower: HashMap<LibraryNo, usize>,
}

impl Caps {
    fn new(owners: &Owners, limits: Limits<'_>) -> Self {
        let lower = limits.informing.iter().filter_map(|library| {
            let cap = limits.cap_of(library);
            (cap < limits.cap).then_some((owners.number(library)?, cap as usize))
        });
        Self {
            usual: limits.cap as usize,
            lower: lower.collect(),
        }
    }

    fn of(&self, library: LibraryNo) -> usize {
        self.lower.get(&library).copied().unwrap_or(self.usual)
    }

    fn least(&self) -> usize {
        self.lower.values().copied().min().unwrap_or(self.usual)
    }
}

/// Takes the books of a gem in a library; `None` if there are more than the cap.
pub(super) type EachLibrary<'a> = &'a mut dyn FnMut(LibraryNo, Gem, Option<&[BookNo]>);

/// How a gem's list differs from the main index.
#[derive(Default)]
struct Changes {
    removed: Vec<BookNo>,
    /// May be incomplete for a library in which the gem is common anyway.
    added: Vec<BookNo>,
}

impl Changes {
    /// The books that are added to each library, and how many are removed from it.
    fn by_library(
        &self,
        owners: &Owners,
    ) -> (BTreeMap<LibraryNo, Vec<BookNo>>, BTreeMap<LibraryNo, usize>) {
        let (mut added, mut removed) = (BTreeMap::<_, Vec<BookNo>>::new(), BTreeMap::new());
        let mut walk = owners.walk();
        for book in &self.added {
            added.entry(walk.of(*book)).or_default().push(*book);
        }
        for book in &self.removed {
            *removed.entry(walk.of(*book)).or_default() += 1;
        }
        (added, removed)
    }
}

impl<'a> PostingLists<'a> {
    /// Returns `None` if the limits are to a library that never had a book. `many`: whether the lists of very many gems will
    /// be read.
    pub(super) fn new(
        snapshot: &'a RocksSnapshot<'a>,
        recipe: &'a KnownRecipe,
        limits: Limits<'_>,
        many: bool,
    ) -> Result<Option<Self>, StoreError> {
        let only = match limits
            .library
            .map(|library| snapshot.owners().number(library))
        {
            Some(None) => return Ok(None),
            Some(number) => number,
            None => None,
        };
        let mut delta = None;
        if snapshot.postings()?.delta > 0 {
            let mut options = ReadOptions::default();
            if many {
                options.set_total_order_seek(true);
                options.fill_cache(false);
            } else {
                options.set_prefix_same_as_start(true);
            }
            delta = Some(snapshot.iterator(Family::Delta, options));
        }
        Ok(Some(Self {
            snapshot,
            recipe,
            caps: Caps::new(snapshot.owners(), limits),
            only,
            delta,
            many,
        }))
    }

    /// Reads the lists of gems in ascending order, without those that the recipe cannot produce.
    pub(super) fn read(&mut self, gems: &[Gem], each: EachLibrary<'_>) -> Result<(), StoreError> {
        let recipe = self.recipe;
        let groups = gems.chunk_by(|a, b| Bucket::of(recipe, *a) == Bucket::of(recipe, *b));
        if self.many {
            return self.read_in_order(groups, each);
        }
        let groups: Vec<&[Gem]> = groups.collect();
        let keys: Vec<_> = groups
            .iter()
            .map(|gems| Bucket::of(recipe, gems[0]).key(recipe))
            .collect();
        let buckets = parallel::read(&keys, |keys| {
            self.snapshot.get_sorted(Family::Postings, keys)
        })?;
        groups
            .into_iter()
            .zip(buckets)
            .try_for_each(|(gems, value)| self.bucket(gems, value.as_deref(), each))
    }

    /// Reads the buckets of groups of gems with one iterator.
    fn read_in_order<'g>(
        &mut self,
        groups: impl Iterator<Item = &'g [Gem]>,
        each: EachLibrary<'_>,
    ) -> Result<(), StoreError> {
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        let mut buckets = self.snapshot.iterator(Family::Postings, options);
        let mut is_begun = false;
        for gems in groups {
            let key = Bucket::of(self.recipe, gems[0]).key(self.recipe);
            if is_begun {
                advance(&mut buckets, &key);
            } else {
                is_begun = true;
                buckets.seek(key);
                if let Some(delta) = &mut self.delta {
                    delta.seek(schema::gem_key(self.recipe, gems[0]));
                }
            }
            let value = buckets
                .item()
                .filter(|(at, _)| *at == key)
                .map(|(_, value)| value);
            self.bucket(gems, value, each)?;
        }
        self.snapshot.end(&buckets)
    }

    /// Reads the lists of gems of one bucket.
    fn bucket(
        &mut self,
        gems: &[Gem],
        value: Option<&[u8]>,
        each: EachLibrary<'_>,
    ) -> Result<(), StoreError> {
        let (snapshot, recipe) = (self.snapshot, self.recipe);
        let unreadable = |Unreadable| snapshot.unreadable(recipe, Bucket::of(recipe, gems[0]));
        let bucket = value
            .map(|value| Reader::new(value, schema::rest_bits(recipe)))
            .transpose()
            .map_err(unreadable)?;
        for gem in gems {
            let rest = schema::rest_of(recipe, *gem);
            let list = bucket
                .as_ref()
                .map(|bucket| bucket.find(rest))
                .transpose()
                .map_err(unreadable)?
                .flatten();
            self.list(*gem, list, each)?;
        }
        Ok(())
    }

    fn is_read(&self, library: LibraryNo) -> bool {
        self.only.is_none_or(|only| only == library)
    }

    fn list(
        &mut self,
        gem: Gem,
        list: Option<List<'_>>,
        each: EachLibrary<'_>,
    ) -> Result<(), StoreError> {
        let length = list.as_ref().map_or(0, |list| list.books() as usize);
        let changes = self.changes(gem)?;
        let passed = changes.added.len() + changes.removed.len();
        self.snapshot.has_changes(self.recipe, gem, length, passed);
        if length + changes.added.len() > self.caps.least() + changes.removed.len() {
            return self.by_library(gem, list, &changes, each);
        }
        // Too few to be common anywhere.
        let mut books: Vec<BookNo> = match list {
            Some(List::Short(books)) => books.collect(),
            list => self.snapshot.books_of(self.recipe, gem, list)?,
        };
        if !changes.removed.is_empty() {
            books.retain(|book| changes.removed.binary_search(book).is_err());
        }
        books.extend(changes.added);
        let owners = self.snapshot.owners();
        let mut walk = owners.walk();
        let one = if let [book] = *books {
            Some(walk.of(book))
        } else {
            owners.only()
        };
        if let Some(library) = one {
            if self.is_read(library) {
                hold(library, gem, &books, each);
            }
            return Ok(());
        }
        let mut of_libraries: HashMap<LibraryNo, Vec<BookNo>> = HashMap::new();
        for book in books {
            let library = walk.of(book);
            if self.is_read(library) {
                of_libraries.entry(library).or_default().push(book);
            }
        }
        for (library, books) in of_libraries {
            hold(library, gem, &books, each);
        }
        Ok(())
    }

    /// Like [`PostingLists::list`], for a gem with more books than the cap. Reads no part of a library that has too many.
    fn by_library(
        &mut self,
        gem: Gem,
        list: Option<List<'_>>,
        changes: &Changes,
        each: EachLibrary<'_>,
    ) -> Result<(), StoreError> {
        let (snapshot, recipe) = (self.snapshot, self.recipe);
        let owners = snapshot.owners();
        let is_long = matches!(list, Some(List::Long(_)));
        let mut counts: BTreeMap<LibraryNo, usize> = BTreeMap::new();
        let mut short: BTreeMap<LibraryNo, Vec<BookNo>> = BTreeMap::new();
        match list {
            Some(List::Short(books)) => {
                let mut walk = owners.walk();
                for book in books {
                    short.entry(walk.of(book)).or_default().push(book);
                }
                counts.extend(short.iter().map(|(library, books)| (*library, books.len())));
            }
            Some(List::Long(count)) => {
                let parts = snapshot.list_parts(recipe, gem, count)?;
                let parts = parts.into_iter();
                counts.extend(parts.map(|(library, count)| (library, count as usize)));
            }
            None => {}
        }
        // Other libraries have only changes.
        let with_part: BTreeSet<LibraryNo> = if is_long {
            counts.keys().copied().collect()
        } else {
            BTreeSet::new()
        };
        let (mut added, removed) = changes.by_library(owners);
        for (library, added) in &added {
            *counts.entry(*library).or_default() += added.len();
        }
        for (library, count) in counts {
            if !self.is_read(library) {
                continue;
            }
            if count > self.caps.of(library) + removed.get(&library).copied().unwrap_or(0) {
                each(library, gem, None);
                continue;
            }
            let mut books = if with_part.contains(&library) {
                snapshot.list_part(recipe, gem, library)?
            } else {
                short.remove(&library).unwrap_or_default()
            };
            books.retain(|book| changes.removed.binary_search(book).is_err());
            books.extend(added.remove(&library).unwrap_or_default());
            hold(library, gem, &books, each);
        }
        Ok(())
    }

    /// Reads the changes of a gem's list. Once a library has so many added books that the gem is common there, the
    /// rest of each of its runs is skipped.
    fn changes(&mut self, gem: Gem) -> Result<Changes, StoreError> {
        let mut changes = Changes::default();
        let Some(delta) = &mut self.delta else {
            return Ok(changes);
        };
        let gem_key = schema::gem_key(self.recipe, gem);
        if !self.snapshot.may_have_changes(&gem_key) {
            return Ok(changes);
        }
        // The smallest key of the gem: the prefix filter of `RocksDB` needs a complete key.
        let first = schema::delta_key(self.recipe, gem, Sign::Removed, BookNo(0));
        if self.many {
            advance(delta, first.as_ref());
        } else {
            delta.seek(first);
        }
        let mut walk = self.snapshot.owners().walk();
        let mut added: HashMap<LibraryNo, usize> = HashMap::new();
        while let Some((found, sign, book)) = delta.key().and_then(schema::split_delta_key)
            && found == gem_key
        {
            // Removals sort first.
            match sign {
                Sign::Removed => changes.removed.push(book),
                Sign::Added => {
                    let library = walk.of(book);
                    let of_library = added.entry(library).or_default();
                    *of_library += 1;
                    changes.added.push(book);
                    if *of_library > self.caps.of(library) + changes.removed.len() {
                        let Some(end) = walk.end() else { break };
                        delta.seek(schema::delta_key(self.recipe, gem, Sign::Added, end));
                        continue;
                    }
                }
            }
            delta.next();
        }
        self.snapshot.end(delta)?;
        Ok(changes)
    }
}

fn hold(library: LibraryNo, gem: Gem, books: &[BookNo], each: EachLibrary<'_>) {
    if !books.is_empty() {
        each(library, gem, Some(books));
    }
}

/// Moves an iterator on, to the first key that is not before this one.
fn advance(entries: &mut DBRawIterator<'_>, key: &[u8]) {
    for _ in 0..PASSED {
        if entries.key().is_none_or(|at| at >= key) {
            return;
        }
        entries.next();
    }
    if entries.key().is_some_and(|at| at < key) {
        entries.seek(key);
    }
}
