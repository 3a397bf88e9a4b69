//! Counts which books have how many of a check's gems. Each library is counted on its own: how common a gem is in one
//! library never affects whether it counts in another.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use hashbrown::HashMap;
use lapidary_gems::Gem;
use rocksdb::{DBRawIterator, ReadOptions};

use super::owners::LibraryNo;
use super::parallel;
use super::read::RocksSnapshot;
use super::schema::{self, Bucket, Family, Sign};
use crate::index::postings::{List, Reader, Unreadable};
use crate::index::recipes::KnownRecipe;
use crate::index::{BookNo, LibraryTally, Limits, StoreError, Tally};

/// A count in progress.
pub(super) struct Counting<'a> {
    snapshot: &'a RocksSnapshot<'a>,
    recipe: &'a KnownRecipe,
    cap: usize,
    fewest: u32,
    /// The only library to count, if limited to one.
    only: Option<LibraryNo>,
    /// The changes since the last merge into the main index; `None` if there are none.
    delta: Option<DBRawIterator<'a>>,
    counts: HashMap<BookNo, u32>,
    common: BTreeMap<LibraryNo, Vec<Gem>>,
    /// Number of books of a library that have a gem that counts there.
    holders: Vec<(LibraryNo, Gem, u32)>,
}

/// How a gem's list differs from the main index.
#[derive(Default)]
struct Changes {
    removed: Vec<BookNo>,
    /// May be incomplete for a library in which the gem is common anyway.
    added: Vec<BookNo>,
}

impl<'a> Counting<'a> {
    /// Starts a count. Returns `None` if it is limited to a library that never had a book.
    pub(super) fn new(
        snapshot: &'a RocksSnapshot<'a>,
        recipe: &'a KnownRecipe,
        limits: Limits<'_>,
    ) -> Result<Option<Self>, StoreError> {
        let only = match limits.library.map(|library| snapshot.owners().number(library)) {
            Some(None) => return Ok(None),
            Some(number) => number,
            None => None,
        };
        let mut delta = None;
        if snapshot.postings()?.delta > 0 {
            let mut options = ReadOptions::default();
            options.set_prefix_same_as_start(true);
            delta = Some(snapshot.iterator(Family::Delta, options));
        }
        Ok(Some(Self {
            snapshot,
            recipe,
            cap: limits.cap as usize,
            fewest: limits.fewest,
            only,
            delta,
            counts: HashMap::new(),
            common: BTreeMap::new(),
            holders: Vec::new(),
        }))
    }

    pub(super) fn tally(mut self, gems: &[Gem]) -> Result<Tally, StoreError> {
        // In key order, so that neighbouring gems are read together.
        let mut sorted: Vec<Gem> = gems.iter().copied().filter(|gem| self.recipe.fits(*gem)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let of_bucket = |gem: &Gem| Bucket::of(self.recipe, *gem);
        let groups: Vec<&[Gem]> = sorted.chunk_by(|a, b| of_bucket(a) == of_bucket(b)).collect();
        let keys: Vec<_> = groups.iter().map(|gems| of_bucket(&gems[0]).key(self.recipe)).collect();
        let buckets = parallel::read(&keys, |keys| self.snapshot.get_sorted(Family::Postings, keys))?;
        for (gems, value) in groups.into_iter().zip(buckets) {
            let (snapshot, recipe) = (self.snapshot, self.recipe);
            let unreadable = |Unreadable| snapshot.unreadable(recipe, Bucket::of(recipe, gems[0]));
            let read = |value| Reader::new(value, schema::rest_bits(recipe));
            let bucket = value.as_deref().map(read).transpose().map_err(unreadable)?;
            for gem in gems {
                let rest = schema::rest_of(recipe, *gem);
                let list = bucket.as_ref().map(|bucket| bucket.find(rest)).transpose().map_err(unreadable)?.flatten();
                self.count(*gem, list)?;
            }
        }
        self.by_library(gems)
    }

    fn counts_in(&self, library: LibraryNo) -> bool {
        self.only.is_none_or(|only| only == library)
    }

    /// Counts the books of a gem.
    fn count(&mut self, gem: Gem, list: Option<List<'_>>) -> Result<(), StoreError> {
        let length = list.as_ref().map_or(0, |list| list.len() as usize);
        let changes = self.changes(gem)?;
        if length + changes.added.len() > self.cap + changes.removed.len() {
            return self.count_by_library(gem, list, &changes);
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
        if let Some(library) = owners.only() {
            if self.counts_in(library) {
                self.hold(library, gem, &books);
            }
            return Ok(());
        }
        let mut of_libraries: HashMap<LibraryNo, Vec<BookNo>> = HashMap::new();
        let mut walk = owners.walk();
        for book in books {
            let library = walk.of(book);
            if self.counts_in(library) {
                of_libraries.entry(library).or_default().push(book);
            }
        }
        for (library, books) in of_libraries {
            self.hold(library, gem, &books);
        }
        Ok(())
    }

    /// Counts the books of a library that has few enough of them.
    fn hold(&mut self, library: LibraryNo, gem: Gem, books: &[BookNo]) {
        if !books.is_empty() {
            self.holders.push((library, gem, books.len() as u32));
        }
        for book in books {
            *self.counts.entry(*book).or_insert(0) += 1;
        }
    }

    /// Like [`Counting::count`], for a gem with more books than the cap. Reads no part of a library that has too
    /// many.
    fn count_by_library(&mut self, gem: Gem, list: Option<List<'_>>, changes: &Changes) -> Result<(), StoreError> {
        let (snapshot, recipe) = (self.snapshot, self.recipe);
        let owners = snapshot.owners();
        let (mut counts, mut short): (BTreeMap<LibraryNo, usize>, BTreeMap<LibraryNo, Vec<BookNo>>) =
            Default::default();
        let long = matches!(list, Some(List::Long(_)));
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
                counts.extend(parts.into_iter().map(|(library, count)| (library, count as usize)));
            }
            None => {}
        }
        let mut added: BTreeMap<LibraryNo, Vec<BookNo>> = BTreeMap::new();
        let mut walk = owners.walk();
        for book in &changes.added {
            added.entry(walk.of(*book)).or_default().push(*book);
        }
        let mut removed: BTreeMap<LibraryNo, usize> = BTreeMap::new();
        for book in &changes.removed {
            *removed.entry(walk.of(*book)).or_default() += 1;
        }
        for (library, added) in &added {
            *counts.entry(*library).or_default() += added.len();
        }
        for (library, count) in counts {
            let count = count.saturating_sub(removed.get(&library).copied().unwrap_or(0));
            if !self.counts_in(library) {
                continue;
            }
            if count > self.cap {
                self.common.entry(library).or_default().push(gem);
                continue;
            }
            let mut books = short.remove(&library).unwrap_or_default();
            if long {
                books = snapshot.list_part(recipe, gem, library)?;
            }
            books.retain(|book| changes.removed.binary_search(book).is_err());
            books.extend(added.remove(&library).unwrap_or_default());
            self.hold(library, gem, &books);
        }
        Ok(())
    }

    /// Reads the changes of a gem's list. Once a library has so many added books that the gem is common there, the
    /// rest of each of its runs is skipped.
    fn changes(&mut self, gem: Gem) -> Result<Changes, StoreError> {
        let mut changes = Changes::default();
        let Some(delta) = &mut self.delta else { return Ok(changes) };
        let gem_key = schema::gem_key(self.recipe, gem);
        // Seek to the smallest key of the gem: the prefix filter of `RocksDB` needs a complete key.
        delta.seek(schema::delta_key(self.recipe, gem, Sign::Removed, BookNo(0)));
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
                    if *of_library > self.cap + changes.removed.len() {
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

    /// Groups the counts by library.
    fn by_library(self, gems: &[Gem]) -> Result<Tally, StoreError> {
        let snapshot = self.snapshot;
        let owners = snapshot.owners();
        let mut tallies: BTreeMap<LibraryNo, LibraryTally> = BTreeMap::new();
        let tally_of = |library: LibraryNo| {
            let name = owners.name(library).cloned();
            let name = name.ok_or_else(|| snapshot.damaged(format!("the name of library {} is lost", library.0)))?;
            Ok::<_, StoreError>(LibraryTally {
                library: name,
                books: Vec::new(),
                common: Vec::new(),
                holders: Vec::new(),
            })
        };
        let mut walk = owners.walk();
        let mut books: Vec<(BookNo, u32)> =
            self.counts.into_iter().filter(|(_, count)| *count >= self.fewest).collect();
        books.sort_unstable();
        for (book, count) in books {
            let library = walk.of(book);
            let tally = match tallies.entry(library) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(tally_of(library)?),
            };
            tally.books.push((book, count));
        }
        for (library, common) in self.common {
            // These are sorted but the query is not: report each gem where it first occurs in the query.
            let mut unnamed = vec![true; common.len()];
            let named =
                gems.iter().filter(|gem| common.binary_search(gem).is_ok_and(|at| std::mem::take(&mut unnamed[at])));
            let named = named.copied().collect();
            match tallies.get_mut(&library) {
                Some(tally) => tally.common = named,
                None => {
                    tallies.insert(library, LibraryTally { common: named, ..tally_of(library)? });
                }
            }
        }
        for (library, gem, books) in self.holders {
            if let Some(tally) = tallies.get_mut(&library) {
                tally.holders.push((gem, books));
            }
        }
        Ok(Tally { libraries: tallies.into_values().collect() })
    }
}
