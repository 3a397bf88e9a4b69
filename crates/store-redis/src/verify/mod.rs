//! Checks everything against everything else, and repairs what can be.
//!
//! Books are the truth. They are read once, with look-ups of what refers to them; then all keys are, with look-ups of the
//! books that they refer to. Postings are too many for look-ups: those that the books need and those that the buckets have
//! are each reduced to checksums, one for each group of buckets (`lists`). Only where these differ is every posting
//! compared.
//!
//! Other servers change books meanwhile, in several steps. So whatever seems wrong is looked at again (`suspicion`), and counts
//! only if it is still wrong while its book does not change.

mod keys;
mod large;
mod lists;
mod loss;
mod repair;
mod suspicion;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use hashbrown::HashSet;
use lapidary_gems::{Gem, PackedFold};

use self::keys::KeyPass;
use self::large::{FoundValues, ValuePass};
use self::lists::BucketGroup;
use self::loss::{AuditedBooks, DifferentBook, Losses};
use self::suspicion::{SecondLook, Suspicion};
use super::address::ClusterAddress;
use super::buckets::{Posts, half};
use super::client::Belief;
use super::command::Command;
use super::intent::{Intent, Old, member};
use super::keys::{BookState, SHARDS, join, shard_of_key};
use super::meta::{RecipesThen, Sums, WrongTotals};
use super::{Recovery, Shared, record};
use lapidary_store::faults::Faults;
use lapidary_store::gem_list;
use lapidary_store::{AuditFrom, BookNo, Record, StoreError, Term, Watch};

/// Number of books read at a time, with their texts.
const BOOKS: usize = 32;
/// Number of numbers, keys or entries read at a time.
const PAGE: usize = 1000;
/// How often to count the totals again, when books are changed meanwhile.
const COUNTS: u32 = 3;

/// Number of faults to repair at a time.
const REPAIRED: usize = 1_000_000;

/// How many faults to look for.
#[derive(Clone, Copy)]
enum FaultLimit {
    /// As many as anybody reads.
    Readable,
    /// As many as are repaired at a time.
    Repairable,
}

/// What a field or member of a key says of a book.
type Reference = (Vec<u8>, Vec<u8>);

/// A book as it is read here.
struct ReadBook {
    number: BookNo,
    record: Record,
    gems: Vec<(u16, Vec<u8>)>,
    keeps_text: bool,
}

impl ReadBook {
    /// Takes a field of the book, whose name is said in errors.
    fn take(&mut self, name: &str, field: &[u8], value: Vec<u8>) -> Result<(), String> {
        let unknown = || format!("{name} has an unknown field");
        let (kind, rest) = field.split_first().ok_or_else(unknown)?;
        let rest = str::from_utf8(rest).map_err(|_| unknown())?;
        match (kind, rest) {
            (b'G', recipe) => {
                let recipe = recipe.parse().map_err(|_| unknown())?;
                self.gems.push((recipe, value));
            }
            (b'F', base) => {
                let fold = PackedFold::new(base, value);
                fold.ok_or_else(|| format!("no recipe has the base of a fold of {name}"))?;
            }
            (b'X', "") => {
                self.keeps_text = true;
                if !str::from_utf8(&value).is_ok_and(|text| self.record.is_of(text)) {
                    return Err(format!("the kept text of {name} is not its text"));
                }
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// The reasons to doubt and what was counted.
struct ClusterVerification<'a> {
    shared: &'a Shared,
    recipes: Arc<RecipesThen>,
    watch: Watch<'a>,
    read: u64,
    to_read: u64,
    faults: Faults,
    doubts: Vec<Suspicion>,
    /// What should refer to books, and is not looked up yet.
    references: Vec<(BookNo, Reference)>,
    groups: Vec<BucketGroup>,
    sums: Sums,
    /// What is confirmed to be wrong: what books lack, and what refers to them and should not.
    wrong: BTreeMap<BookNo, Vec<(Reference, bool)>>,
    /// The totals that are wrong.
    amiss: WrongTotals,
    /// The segments of the audit log that are missing.
    segments: BTreeSet<u64>,
    values: FoundValues,
    losses: &'a Losses,
    /// The books that nodes have lost, or as they were, as far as the audit log names them.
    different: Vec<DifferentBook>,
}

/// See [`Administration::verify`](lapidary_store::Administration::verify).
pub(super) fn verify(shared: &Shared, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
    let believing = Shared::connect(shared.address(), Belief::All)?;
    let losses = Losses::of(&believing)?;
    if losses.are_none() {
        find(shared, watch, &losses)
    } else {
        find(&believing, watch, &losses)
    }
}

/// See [`Administration::repair`](lapidary_store::Administration::repair).
pub(super) fn repair(shared: &Shared, watch: Watch<'_>) -> Result<Vec<String>, StoreError> {
    let believing = Shared::connect(shared.address(), Belief::All)?;
    let losses = Losses::of(&believing)?;
    if losses.are_none() {
        repair::run(shared, watch, &losses)
    } else {
        repair_losses(&believing, watch, &losses)
    }
}

/// See [`ClusterStore::recover`](super::ClusterStore::recover).
pub(super) fn recover(
    address: &ClusterAddress,
    fix: bool,
    watch: Watch<'_>,
) -> Result<Option<Recovery>, StoreError> {
    let believing = Shared::connect(address, Belief::All)?;
    let losses = Losses::of(&believing)?;
    if losses.are_none() {
        return Ok(None);
    }
    let found = find(&believing, watch, &losses)?;
    let lost = if fix {
        repair_losses(&believing, watch, &losses)?
    } else {
        Vec::new()
    };
    Ok(Some(Recovery { found, lost }))
}

fn find(shared: &Shared, watch: Watch<'_>, losses: &Losses) -> Result<Vec<String>, StoreError> {
    let check = ClusterVerification::run(shared, watch, losses, FaultLimit::Readable)?;
    let mut faults = losses.sentences(shared);
    faults.extend(check.different.iter().map(DifferentBook::sentence));
    faults.extend(check.faults.finish());
    Ok(faults)
}

fn repair_losses(
    believing: &Shared,
    watch: Watch<'_>,
    losses: &Losses,
) -> Result<Vec<String>, StoreError> {
    losses.prepare(believing)?;
    let lost = repair::run(believing, watch, losses)?;
    loss::believe_again(believing)?;
    Ok(lost)
}

impl<'a> ClusterVerification<'a> {
    pub(super) fn second_look(&mut self) -> SecondLook<'_, 'a> {
        SecondLook(self)
    }

    pub(super) fn keys(&mut self) -> KeyPass<'_, 'a> {
        KeyPass(self)
    }

    pub(super) fn large_values(&mut self) -> ValuePass<'_, 'a> {
        ValuePass(self)
    }

    fn run(
        shared: &'a Shared,
        watch: Watch<'a>,
        losses: &'a Losses,
        limit: FaultLimit,
    ) -> Result<Self, StoreError> {
        if losses.are_none() {
            // What servers that are gone have left is no fault.
            shared.changes().sweep()?;
        }
        shared.numbering().learn_all_owners()?;
        let recipes = losses.recipes(shared)?;
        let mut check = Self {
            shared,
            recipes,
            watch,
            read: 0,
            to_read: 0,
            faults: match limit {
                FaultLimit::Readable => Faults::default(),
                FaultLimit::Repairable => Faults::up_to(REPAIRED),
            },
            doubts: Vec::new(),
            references: Vec::new(),
            groups: lists::groups(),
            sums: Sums::default(),
            wrong: BTreeMap::new(),
            amiss: WrongTotals::default(),
            segments: BTreeSet::new(),
            values: FoundValues::default(),
            losses,
            different: Vec::new(),
        };
        check.to_read = 2 * shared.meta().totals()?.books;
        let before = shared.audit_log().last()?;
        check.each_book(Self::book)?;
        check.look_up()?;
        check.totals(before)?;
        check.keys().all_keys()?;
        check.large_values().all_values()?;
        check.postings()?;
        check.second_look().settle_doubts()?;
        check.audit()?;
        Ok(check)
    }

    fn step(&mut self, read: usize) -> Result<(), StoreError> {
        self.read += read as u64;
        (self.watch)(self.read, self.to_read.max(self.read))
    }

    /// Calls back for every book that can be read.
    fn each_book(
        &mut self,
        mut each: impl FnMut(&mut Self, &ReadBook) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for shard in 0..SHARDS {
            let mut from = 0_u32;
            loop {
                let range = [
                    from.to_string(),
                    "+inf".into(),
                    "LIMIT".into(),
                    "0".into(),
                    PAGE.to_string(),
                ];
                let page = Command::new(
                    "ZRANGEBYSCORE",
                    &self.shared.keys.shard(shard, "books"),
                    &range,
                );
                let page: Vec<u32> = self.shared.ask(page)?;
                let Some(last) = page.last() else { break };
                from = last + 1;
                let numbers: Vec<BookNo> = page.iter().map(|number| join(shard, *number)).collect();
                self.shared
                    .numbering()
                    .learn_owners(numbers.iter().copied())?;
                for some in numbers.chunks(BOOKS) {
                    for (number, book) in some.iter().zip(self.books(some)?) {
                        match book {
                            Some(book) => each(self, &book)?,
                            None => self.doubts.push(Suspicion::Lost(*number)),
                        }
                    }
                    self.step(some.len())?;
                }
            }
        }
        Ok(())
    }

    /// Reads books. Reports those that cannot be read; `None` for those that are not there.
    fn books(&mut self, numbers: &[BookNo]) -> Result<Vec<Option<ReadBook>>, StoreError> {
        let reads = numbers.iter().map(|book| {
            Command::bare("HGETALL", &self.shared.keys.book(BookState::Present, *book))
        });
        let mut books = Vec::new();
        for (number, fields) in numbers
            .iter()
            .zip(self.shared.client.read(&reads.collect::<Vec<_>>())?)
        {
            let fields: HashMap<Vec<u8>, Vec<u8>> = self.shared.answer(fields)?;
            books.push(if fields.is_empty() {
                None
            } else {
                self.parse(*number, fields)
            });
        }
        Ok(books)
    }

    /// Whether a book is there, even if it cannot be read.
    fn exists(&self, book: BookNo) -> Result<bool, StoreError> {
        let lookup = Command::bare("EXISTS", &self.shared.keys.book(BookState::Present, book));
        Ok(is_there(&self.shared.read_one(lookup)?))
    }

    /// Reads only the records of books.
    fn records(&self, numbers: &[BookNo]) -> Result<Vec<Option<ReadBook>>, StoreError> {
        let keys = &self.shared.keys;
        let reads: Vec<Command> = numbers
            .iter()
            .map(|book| Command::new("HGET", &keys.book(BookState::Present, *book), "r"))
            .collect();
        let read = self.shared.client.read(&reads)?;
        let books = numbers.iter().zip(read).map(|(number, record)| {
            let record: Option<Vec<u8>> = self.shared.answer(record)?;
            let record = record.and_then(|record| record::decode(&record));
            Ok(record.map(|record| ReadBook {
                number: *number,
                record,
                gems: Vec::new(),
                keeps_text: false,
            }))
        });
        books.collect()
    }

    fn parse(&mut self, number: BookNo, mut fields: HashMap<Vec<u8>, Vec<u8>>) -> Option<ReadBook> {
        let record = fields
            .remove(b"r".as_slice())
            .and_then(|record| record::decode::<Record>(&record));
        let generation = fields
            .remove(b"g".as_slice())
            .and_then(|text| str::from_utf8(&text).ok()?.parse::<i64>().ok());
        let Some((record, _)) = record.zip(generation) else {
            self.faults
                .add(format!("the record of book {} cannot be read", number.0));
            return None;
        };
        let name = format!("{} (book {})", record.key, number.0);
        let mut book = ReadBook {
            number,
            record,
            gems: Vec::new(),
            keeps_text: false,
        };
        for (field, value) in fields {
            if let Err(fault) = book.take(&name, &field, value) {
                self.faults.add(fault);
            }
        }
        Some(book)
    }

    fn count_gems(&mut self, book: &ReadBook) {
        for (recipe, bytes) in &book.gems {
            if let Some(recipe) = self.recipes.numbered(*recipe)
                && !recipe.leaving
                && let Some(gems) = gem_list::decode(bytes, recipe.gem_bytes())
            {
                lists::count(&mut self.groups, recipe, book.number, &gems);
            }
        }
    }

    /// Compares a book with itself, with its totals, and with what refers to it.
    fn book(&mut self, book: &ReadBook) -> Result<(), StoreError> {
        let ReadBook { number, record, .. } = book;
        let name = format!("{} (book {})", record.key, number.0);
        let library = self.shared.numbering().library(&record.key.library)?;
        let owner = self.shared.read_owners().of(*number);
        let in_shard = join(shard_of_key(&record.key), 0).0 == number.0 & join(SHARDS - 1, 0).0;
        let Some(library) = library.filter(|library| Some(*library) == owner && in_shard) else {
            self.faults.add(format!(
                "the number of {name} belongs to another library or shard"
            ));
            return Ok(());
        };
        match (record.text_kept, book.keeps_text) {
            (true, false) => self.faults.add(format!("the kept text of {name} is lost")),
            (false, true) => self.faults.add(format!(
                "the kept text of {name} is there, but the book keeps none"
            )),
            _ => {}
        }
        self.gems(&name, book);
        self.sums.count(library, record, &self.recipes, false);
        self.sums.touch(library, record.changed_at);
        self.count_gems(book);
        let references = self
            .references(library, book)
            .into_iter()
            .map(|reference| (*number, reference));
        self.references.extend(references);
        if self.references.len() < PAGE {
            Ok(())
        } else {
            self.look_up()
        }
    }

    /// Looks up what should refer to the books that were read.
    fn look_up(&mut self) -> Result<(), StoreError> {
        let references = std::mem::take(&mut self.references);
        let lookups: Vec<Command> = references
            .iter()
            .map(|(_, reference)| lookup(reference))
            .collect();
        for ((book, reference), found) in references
            .into_iter()
            .zip(self.shared.client.read(&lookups)?)
        {
            if !is_there(&found) {
                self.doubts.push(Suspicion::Reference { book, reference });
            }
        }
        Ok(())
    }

    /// Whether all gem lists of a book can be read.
    fn is_whole(&self, book: &ReadBook) -> bool {
        book.record.gems.keys().all(|recipe| {
            let list = self.recipes.named(recipe).ok().and_then(|recipe| {
                let (_, bytes) = book
                    .gems
                    .iter()
                    .find(|(number, _)| *number == recipe.number)?;
                gem_list::decode(bytes, recipe.gem_bytes())
            });
            list.is_some()
        })
    }

    /// Compares the gem lists of a book with the counts of its record.
    fn gems(&mut self, name: &str, book: &ReadBook) {
        for (recipe, count) in &book.record.gems {
            let Ok(recipe) = self.recipes.named(recipe) else {
                self.faults.add(format!(
                    "{name} has gems of recipe {recipe}, which is unknown"
                ));
                continue;
            };
            let list = book
                .gems
                .iter()
                .find(|(number, _)| *number == recipe.number);
            let Some(list) =
                list.and_then(|(_, bytes)| gem_list::decode(bytes, recipe.gem_bytes()))
            else {
                let sentence = format!(
                    "{name} has no readable gems of recipe {}, but its record counts {count}",
                    recipe.name()
                );
                self.faults.add(sentence);
                continue;
            };
            let distinct = list
                .iter()
                .map(|gem| gem.gem)
                .collect::<HashSet<Gem>>()
                .len();
            if list.len() != *count as usize || distinct != list.len() {
                let (found, recipe) = (list.len(), recipe.name());
                self.faults.add(format!(
                    "{name} has {found} gems of recipe {recipe}, {distinct} of them different, but its record counts {count}"
                ));
            }
        }
        for (number, _) in &book.gems {
            let recipe = self.recipes.numbered(*number);
            if recipe.is_none_or(|recipe| {
                !recipe.leaving && !book.record.gems.contains_key(recipe.name())
            }) {
                self.faults.add(format!(
                    "{name} has gems of recipe number {number}, but its record lists none"
                ));
            }
        }
    }

    /// The postings that a book needs. A gem list that cannot be read was reported.
    fn postings_of(&self, book: &ReadBook) -> Result<Posts, StoreError> {
        let old = Old {
            record: book.record.clone(),
            gems: book
                .gems
                .iter()
                .filter(|(number, bytes)| {
                    let recipe = self
                        .recipes
                        .numbered(*number)
                        .filter(|recipe| !recipe.leaving);
                    recipe
                        .is_some_and(|recipe| gem_list::decode(bytes, recipe.gem_bytes()).is_some())
                })
                .cloned()
                .collect(),
        };
        self.shared
            .changes()
            .posts(&self.recipes, book.number, Some(&old))
    }

    /// What refers to a book, if its library is known, but for its postings.
    fn all_references(&self, book: &ReadBook) -> Result<BTreeSet<Reference>, StoreError> {
        let library = self.shared.numbering().library(&book.record.key.library)?;
        Ok(library
            .map(|library| self.references(library, book))
            .unwrap_or_default())
    }

    /// Whether a book, or nothing, needs a reference.
    fn needs(&self, book: Option<&ReadBook>, (key, field): &Reference) -> Result<bool, StoreError> {
        let Some(book) = book else { return Ok(false) };
        if self
            .postings_of(book)?
            .get(key)
            .is_some_and(|fields| fields.contains(field))
        {
            return Ok(true);
        }
        Ok(self
            .all_references(book)?
            .contains(&(key.clone(), field.clone())))
    }

    /// What refers to a book of this library, but for its postings.
    fn references(&self, library: u32, book: &ReadBook) -> BTreeSet<Reference> {
        let ReadBook { number, record, .. } = book;
        let (keys, shard) = (&self.shared.keys, shard_of_key(&record.key));
        let mut all = BTreeSet::from([(keys.ids(shard, library), member(&record.key, *number))]);
        let terms = Term::of(record);
        all.extend(
            terms
                .iter()
                .map(|term| keys.in_term(term, library, *number)),
        );
        let digests = [Some(&record.digest), record.clean_digest.as_ref()];
        let halves = digests
            .into_iter()
            .flatten()
            .filter_map(|digest| half(digest));
        all.extend(halves.map(|half| (keys.digest(half), number.0.to_be_bytes().to_vec())));
        all
    }

    /// Compares the totals with those of the books that were read, or are read again if books were changed since then.
    fn totals(&mut self, mut before: u64) -> Result<(), StoreError> {
        for _ in 0..COUNTS {
            let wrong = self.sums.compared(&*self.shared.meta().totals()?);
            if wrong.all.is_empty() {
                return Ok(());
            }
            if self.losses.are_none() {
                // A change is seen in its book before it is in the totals and the log.
                self.shared.changes().empty_outboxes()?;
            }
            let now = self.shared.audit_log().last()?;
            if now == before {
                for total in &wrong.all {
                    let key = total.key();
                    self.faults
                        .add(format!("the total {key} does not match the books"));
                }
                self.amiss = wrong;
                return Ok(());
            }
            before = now;
            self.sums = Sums::default();
            let (faults, doubts) = (
                std::mem::take(&mut self.faults),
                std::mem::take(&mut self.doubts),
            );
            self.each_book(|check, book| {
                if let Some(library) = check.shared.numbering().library(&book.record.key.library)? {
                    check
                        .sums
                        .count(library, &book.record, &check.recipes, false);
                    check.sums.touch(library, book.record.changed_at);
                }
                Ok(())
            })?;
            (self.faults, self.doubts) = (faults, doubts);
        }
        tracing::warn!("the totals were not verified, because books are changed all the time");
        Ok(())
    }

    fn audit(&mut self) -> Result<(), StoreError> {
        let (mut last, mut books) = (0, AuditedBooks::default());
        loop {
            let page = self.shared.audit_log().read(AuditFrom::Behind(last), PAGE);
            let Some(page) = self.faults.or_fault(page)? else {
                return Ok(());
            };
            let Some(end) = page.last().map(|entry| entry.number) else {
                self.different = books.different(self.shared)?;
                return Ok(());
            };
            for entry in page.iter().filter(|_| !self.losses.are_none()) {
                books.note(entry, self.losses, self.shared);
            }
            let numbers = page.iter().map(|entry| entry.number).collect();
            // A long log has lost its oldest entries.
            let first = if last == 0 { page[0].number } else { last + 1 };
            let missing = self.shared.audit_log().missing(first..=end, &numbers)?;
            if let Some(mut lost) = missing {
                self.segments.append(&mut lost);
                self.faults.add(format!(
                    "entries between {first} and {end} are missing from the audit log"
                ));
            }
            last = end;
        }
    }
}

fn lookup((key, field): &Reference) -> Command {
    let is_digest = field.len() == 4;
    Command::new(
        if is_digest { "HEXISTS" } else { "ZSCORE" },
        key,
        field.as_slice(),
    )
}

/// The number at the end of a posting, or of what else refers to a book.
fn book_at_end(bytes: &[u8]) -> Option<BookNo> {
    let number = bytes.last_chunk()?;
    Some(BookNo(u32::from_be_bytes(*number)))
}

/// The answer to a look-up.
fn is_there(answer: &redis::Value) -> bool {
    !matches!(answer, redis::Value::Nil | redis::Value::Int(0))
}

/// The books that are being changed in a shard.
fn being_changed(store: &Shared, shard: u32) -> Result<BTreeSet<BookNo>, StoreError> {
    let intents: Vec<String> =
        store.ask(Command::bare("HVALS", &store.keys.shard(shard, "intents")))?;
    Ok(intents
        .iter()
        .filter_map(|intent| Some(Intent::read(intent)?.number))
        .collect())
}
