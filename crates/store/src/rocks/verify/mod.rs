//! Checks everything against everything else.
//!
//! Each family is read once in key order, with lookups in the others; only totals are kept in memory. Postings and
//! terms are too many for lookups, so those required and those that exist are each reduced to a checksum. Only if the
//! checksums differ do further passes look for what is missing and what is superfluous.

mod lists;
mod texts;

use std::collections::BTreeMap;

use hashbrown::HashSet;
use lapidary_gems::Gem;
use rocksdb::ReadOptions;

use super::audit;
use super::change::digest_keys;
use super::read::RocksSnapshot;
use super::schema::{self, Family, MetaKey};
use super::search::{is_of_a_book, term_keys};
use crate::faults::{Faults, Sum};
use crate::recipes::KnownRecipe;
use crate::{BookNo, Library, LibrarySummary, Record, Sizes, Snapshot, StoreError, Term, Watch};

/// Read-ahead size; passes read whole families.
const READAHEAD_BYTES: usize = 2 << 20;

pub(super) fn verify(
    snapshot: &RocksSnapshot<'_>,
    watch: Watch<'_>,
) -> Result<Vec<String>, StoreError> {
    let mut check = Verification {
        snapshot,
        watch,
        read: 0,
        to_read: PASSES.iter().map(|family| snapshot.estimate(*family)).sum(),
        faults: Faults::default(),
        needed: Sum::default(),
        needed_terms: Sum::default(),
        needed_texts: 0,
        next: BookNo(u32::MAX),
        sizes: BTreeMap::new(),
        libraries: BTreeMap::new(),
    };
    if let Some(next) = check.or_fault(snapshot.next_book())? {
        check.next = next;
    }
    check.pass(Family::Books, Verification::book)?;
    check.sums()?;
    check.pass(Family::Meta, Verification::meta)?;
    check.pass(Family::Ids, Verification::id)?;
    check.pass(Family::Gems, Verification::gem_list)?;
    check.pass(Family::Digests, Verification::digest)?;
    check.terms()?;
    check.pass(Family::Folds, Verification::fold)?;
    check.texts()?;
    check.pass(Family::Audit, Verification::audited)?;
    check.postings()?;
    Ok(check.faults.finish())
}

/// The families read if nothing is wrong.
const PASSES: [Family; 11] = [
    Family::Books,
    Family::Meta,
    Family::Ids,
    Family::Gems,
    Family::Digests,
    Family::Terms,
    Family::Folds,
    Family::Texts,
    Family::Postings,
    Family::Lists,
    Family::Delta,
];
/// Number of entries read between progress reports.
const WATCHED: u64 = 256;

/// A posting: recipe, gem and book.
type RecipePosting = (u16, Gem, BookNo);

struct Verification<'a> {
    snapshot: &'a RocksSnapshot<'a>,
    watch: Watch<'a>,
    /// Number of entries read, and an estimate of the total.
    read: u64,
    to_read: u64,
    faults: Faults,
    /// The postings that books need.
    needed: Sum,
    /// The keys of the terms that books need.
    needed_terms: Sum,
    /// How many books keep their texts.
    needed_texts: u64,
    next: BookNo,
    sizes: BTreeMap<u16, Sizes>,
    libraries: BTreeMap<Library, LibrarySummary>,
}

impl Verification<'_> {
    fn fault(&mut self, sentence: impl Into<String>) {
        self.faults.add(sentence);
    }

    fn or_fault<T>(&mut self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        self.faults.or_fault(result)
    }

    /// Calls `each` for every entry of a family.
    fn pass(
        &mut self,
        family: Family,
        mut each: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let snapshot = self.snapshot;
        let mut options = ReadOptions::default();
        options.fill_cache(false);
        options.set_readahead_size(READAHEAD_BYTES);
        options.set_total_order_seek(true);
        let mut entries = snapshot.iterator(family, options);
        entries.seek_to_first();
        while let Some((key, value)) = entries.item() {
            each(self, key, value)?;
            entries.next();
            self.read += 1;
            if self.read.is_multiple_of(WATCHED) {
                (self.watch)(self.read, self.to_read.max(self.read))?;
            }
        }
        self.or_fault(snapshot.end(&entries))?;
        Ok(())
    }

    fn lacks(&mut self, family: Family, key: &[u8]) -> Result<bool, StoreError> {
        let entry = self.or_fault(self.snapshot.get(family, key))?;
        Ok(entry.is_some_and(|entry| entry.is_none()))
    }

    fn book(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let Some(number) = schema::read_book(key) else {
            self.fault(format!("a record has the invalid key {key:?}"));
            return Ok(());
        };
        let record = self
            .snapshot
            .json(value, format_args!("the record of book {}", number.0));
        let Some(record): Option<Record> = self.or_fault(record)? else {
            return Ok(());
        };
        let name = format!("{} (book {})", record.key, number.0);
        if number >= self.next {
            self.fault(format!(
                "{name} has a number that may be assigned again, because the next one is {}",
                self.next.0
            ));
        }
        let found = self.or_fault(self.snapshot.find(&record.key))?;
        if found.is_some_and(|found| found != Some(number)) {
            self.fault(format!("{name} is not found by its id"));
        }
        self.gems_of(&name, number, &record)?;
        let owner = self.snapshot.owners().of(number);
        if self.snapshot.owners().number(&record.key.library) != Some(owner) {
            self.fault(format!("the number of {name} belongs to another library"));
        }
        for key in digest_keys(number, &record) {
            if self.lacks(Family::Digests, key.as_ref())? {
                self.fault(format!("{name} is not found by the digest of its text"));
            }
        }
        for key in term_keys(owner, number, &record) {
            self.needed_terms.add(key.as_slice());
        }
        self.needed_texts += u64::from(record.text_kept);
        LibrarySummary::count(&mut self.libraries, &record);
        Ok(())
    }

    fn gems_of(&mut self, name: &str, number: BookNo, record: &Record) -> Result<(), StoreError> {
        for (recipe, count) in &record.gems {
            match self.snapshot.known().named(recipe) {
                // Its remains are consistent only once no record names it.
                Ok(recipe) if recipe.leaving => {}
                Ok(recipe) => self.gems(name, number, recipe, *count)?,
                Err(_) => self.fault(format!(
                    "{name} has gems of recipe {recipe}, which is unknown"
                )),
            }
        }
        Ok(())
    }

    /// Compares a record's gem count for a recipe with the gem list, and adds its postings to the checksum.
    fn gems(
        &mut self,
        name: &str,
        book: BookNo,
        recipe: &KnownRecipe,
        count: u32,
    ) -> Result<(), StoreError> {
        self.sizes.entry(recipe.number).or_default().add(count);
        let Some(list) = self.or_fault(self.snapshot.gem_list(recipe, book))? else {
            return Ok(());
        };
        let Some(list) = list else {
            self.fault(format!(
                "{name} has no gems of recipe {}, but its record counts {count}",
                recipe.name()
            ));
            return Ok(());
        };
        let distinct = list
            .iter()
            .map(|gem| gem.gem)
            .collect::<HashSet<Gem>>()
            .len();
        if list.len() != count as usize {
            let found = list.len();
            self.fault(format!(
                "{name} has {found} gems of recipe {}, but its record counts {count}",
                recipe.name()
            ));
        }
        if distinct != list.len() {
            self.fault(format!(
                "{name} has a gem of recipe {} twice",
                recipe.name()
            ));
        }
        for gem in recipe.posted(&list).collect::<HashSet<Gem>>() {
            self.needed.add((recipe.number, gem, book));
        }
        Ok(())
    }

    /// Compares the stored totals with those just computed.
    fn sums(&mut self) -> Result<(), StoreError> {
        for recipe in self
            .snapshot
            .known()
            .0
            .iter()
            .filter(|recipe| !recipe.leaving)
        {
            let made = self.sizes.remove(&recipe.number).unwrap_or_default();
            if let Some(kept) = self.or_fault(self.snapshot.sizes_of(recipe))?
                && kept != made
            {
                self.fault(format!(
                    "the stored sizes of recipe {} do not match its books",
                    recipe.name()
                ));
            }
        }
        for (library, made) in std::mem::take(&mut self.libraries) {
            let Some(kept) = self.or_fault(self.snapshot.summary(&library))? else {
                continue;
            };
            let Some(kept) = kept else {
                self.fault(format!(
                    "library {library} holds {} books, but has no summary",
                    made.books
                ));
                continue;
            };
            if sums_of(&kept) != sums_of(&made) {
                self.fault(format!(
                    "library {library} holds {}, but its summary says {}",
                    sums_of(&made),
                    sums_of(&kept)
                ));
            }
            if kept.recipes != made.recipes {
                self.fault(format!(
                    "the summary of library {library} does not say which recipes its books have gems of"
                ));
            }
            if kept.changed_at < made.changed_at || kept.library != library {
                self.fault(format!(
                    "the summary of library {library} does not match its books"
                ));
            }
        }

        Ok(())
    }

    /// Looks for entries that nothing else reads.
    fn meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let is_unknown = |number| self.snapshot.known().numbered(number).is_none();
        match MetaKey::read(key) {
            Some(MetaKey::Library(name)) => {
                let name = String::from_utf8_lossy(name).into_owned();
                let books = match name.parse() {
                    Ok(library) => self.or_fault(self.snapshot.walk(&library, None, 1))?,
                    Err(_) => Some(Vec::new()),
                };
                if books.is_some_and(|books| books.is_empty()) {
                    self.fault(format!("library {name} has a summary, but no book"));
                }
            }
            Some(MetaKey::Default) if schema::read_recipe(value).is_none_or(is_unknown) => {
                self.fault(format!("the default recipe is {value:?}, which is unknown"));
            }
            Some(key) => {
                if let Some(number) = key.recipe().filter(|number| is_unknown(*number)) {
                    self.fault(format!(
                        "there is an entry for recipe number {number}, which is unknown"
                    ));
                }
            }
            None => self.fault(format!(
                "there is an unknown entry {:?}",
                String::from_utf8_lossy(key)
            )),
        }
        Ok(())
    }

    fn audited(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let last = self.snapshot.last_audited();
        let entry = self.or_fault(audit::entry(self.snapshot, key, value))?;
        if let (Some(entry), Ok(last)) = (entry, last)
            && entry.number > last
        {
            self.fault(format!(
                "entry {} of the audit log comes after the last number, {last}",
                entry.number
            ));
        }
        Ok(())
    }

    fn id(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let name = schema::show_id_key(key);
        let Some(number) = schema::read_book(value) else {
            self.fault(format!("the number of {name} cannot be read"));
            return Ok(());
        };
        // An unreadable record was reported with the records.
        match self.snapshot.record(number) {
            Ok(Some(record)) if schema::id_key(&record.key) == key => {}
            Ok(Some(record)) => self.fault(format!(
                "{name} refers to book {}, which is {}",
                number.0, record.key
            )),
            Ok(None) => self.fault(format!(
                "{name} refers to book {}, which does not exist",
                number.0
            )),
            Err(StoreError::Damaged { .. }) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn gem_list(&mut self, key: &[u8], _: &[u8]) -> Result<(), StoreError> {
        let Some((number, book)) = schema::read_gems_key(key) else {
            self.fault(format!("a gem list has the invalid key {key:?}"));
            return Ok(());
        };
        let Some(recipe) = self.snapshot.known().numbered(number) else {
            self.fault(format!(
                "book {} has gems of recipe number {number}, which is unknown",
                book.0
            ));
            return Ok(());
        };
        match self.snapshot.record(book) {
            _ if recipe.leaving => {}
            Ok(Some(record)) if record.gems.contains_key(recipe.name()) => {}
            Ok(_) => self.fault(format!(
                "there are gems of recipe {} for book {}, but no record lists them",
                recipe.name(),
                book.0
            )),
            Err(StoreError::Damaged { .. }) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn digest(&mut self, key: &[u8], _: &[u8]) -> Result<(), StoreError> {
        let Some((digest, book)) = schema::read_digest_key(key) else {
            self.fault(format!("a digest has the invalid key {key:?}"));
            return Ok(());
        };
        match self.snapshot.record(book) {
            Ok(Some(record))
                if digest_keys(book, &record).any(|of_record| of_record.as_ref() == key) => {}
            Ok(_) => self.fault(format!(
                "there is a digest {digest}… for book {}, which has no such text",
                book.0
            )),
            Err(StoreError::Damaged { .. }) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn terms(&mut self) -> Result<(), StoreError> {
        let mut there = Sum::default();
        self.pass(Family::Terms, |_, key, _| {
            there.add(key);
            Ok(())
        })?;
        if there != self.needed_terms {
            self.pass(Family::Books, Self::missing_terms)?;
            self.pass(Family::Terms, Self::term)?;
        }
        Ok(())
    }

    /// Reports a book's terms that it is not found by.
    fn missing_terms(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        // Unreadable records were reported in the first pass.
        let record = serde_json::from_slice::<Record>(value).ok();
        let Some((book, record)) = schema::read_book(key).zip(record) else {
            return Ok(());
        };
        for term in Term::of(&record) {
            let key = schema::term_key(
                schema::term_prefix(&term),
                self.snapshot.owners().of(book),
                book,
            );
            if self.lacks(Family::Terms, &key)? {
                self.fault(format!(
                    "{} (book {}) is not found by {term}",
                    record.key, book.0
                ));
            }
        }
        Ok(())
    }

    /// Reports a term that no book has.
    fn term(&mut self, key: &[u8], _: &[u8]) -> Result<(), StoreError> {
        match is_of_a_book(self.snapshot, key) {
            Ok(true) | Err(StoreError::Damaged { .. }) => {}
            Ok(false) => match schema::read_term_key(key) {
                Some((.., book)) => {
                    self.fault(format!(
                        "there is a term of book {}, whose record lacks it",
                        book.0
                    ));
                }
                None => self.fault(format!("a term has the invalid key {key:?}")),
            },
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn fold(&mut self, key: &[u8], _: &[u8]) -> Result<(), StoreError> {
        let Some((book, base)) = schema::read_fold_key(key) else {
            self.fault(format!("a fold has the invalid key {key:?}"));
            return Ok(());
        };
        match self.snapshot.record(book) {
            Ok(Some(_)) | Err(StoreError::Damaged { .. }) => {}
            Ok(None) => self.fault(format!(
                "there is a fold ({base}) of book {}, which does not exist",
                book.0
            )),
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

fn sums_of(of: &LibrarySummary) -> String {
    let LibrarySummary {
        books,
        disabled,
        quarantined,
        bytes,
        kept_texts,
        kept_bytes,
        ..
    } = of;
    format!(
        "{books} books, {disabled} of them disabled and {quarantined} in quarantine, with {bytes} bytes, and \
             {kept_texts} texts of {kept_bytes} bytes"
    )
}
