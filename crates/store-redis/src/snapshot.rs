//! Reads of the catalogue.
//!
//! There are no snapshots in Redis. What a check needs is weaker ([`Snapshot`]): each book in one state. So a snapshot
//! remembers the generation of each book that it has read anything of, its record, and of the rest what there is room for.
//! If more of the book is read later and its generation is another one, the answer is [`StoreError::Changed`], and the check
//! is made again.

use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use lapidary_gems::{Gem, PackedFold, PlacedGem, RecipeName};
use parking_lot::{Mutex, MutexGuard};
use redis::Value;
use serde::de::DeserializeOwned;

use super::Shared;
use super::buckets::half;
use super::command::Command;
use super::confirmation::Confirmed;
use super::keys::{BookState, NUMBER_BITS, SHARDS, TEXT, fold_field, gem_field, join, split};
use super::library_ids::LibraryIds;
use super::meta::RecipesThen;
use super::totals::Totals;
use super::{record, search, tally};
use lapidary_store::gem_list;
use lapidary_store::recipes::{KnownRecipe, Recipes};
use lapidary_store::{
    BookId, BookKey, BookNo, BookParts, Coverage, Each, Enough, Found, Library, LibrarySummary,
    Limits, Outline, Record, Search, Sizes, Snapshot, StoreError, Tally, WantedParts,
};

/// The number of states that a snapshot remembers. One that reads more, such as that of an export, forgets all at the
/// beginning of its next page.
const MOST_SEEN: usize = 50_000;
/// The number of bytes of fields, such as lists of gems, that a snapshot remembers.
const MOST_REMEMBERED: usize = 1 << 20;
/// Number of states read at a time.
const AT_ONCE: usize = 1000;
/// Number of shards that a list of all books is read from at a time.
const SHARDS_AT_ONCE: u32 = 32;

/// A snapshot of a [`ClusterStore`](super::ClusterStore).
pub(super) struct ClusterSnapshot<'a> {
    pub(super) shared: &'a Shared,
    pub(super) recipes: Arc<RecipesThen>,
    /// Whether these are the recipes of the catalogue, once it is known.
    pub(super) confirmed: OnceLock<Confirmed>,
    pub(super) totals: OnceLock<Arc<Totals>>,
    seen: Mutex<SeenStates>,
}

#[derive(Default)]
struct SeenStates {
    states: HashMap<BookNo, Option<Arc<SeenState>>>,
    /// What else was read of books, by field. A check reads the lists of gems of its candidates twice: to count, and to judge.
    fields: HashMap<BookNo, HashMap<Vec<u8>, Option<Vec<u8>>>>,
    /// The bytes of these fields.
    remembered: usize,
    /// Books that were looked for, and were not there.
    absent: BTreeSet<BookKey>,
}

/// What is remembered of a book.
pub(super) struct SeenState {
    pub(super) generation: i64,
    record: Vec<u8>,
}

/// The values of fields of a book, in the order in which they were asked for.
type Values = Vec<Option<Vec<u8>>>;

/// A book, and the fields that were read with it.
type Read = (Arc<SeenState>, Values);

impl SeenStates {
    /// These fields of a book, if it and all of them are remembered.
    fn of(&self, book: BookNo, fields: &[Vec<u8>]) -> Option<Values> {
        self.states.get(&book)?;
        let known = self.fields.get(&book);
        let values = fields.iter().map(|field| known?.get(field).cloned());
        values.collect()
    }

    /// Remembers fields of a book, as long as there is room.
    fn remember(&mut self, book: BookNo, fields: &[Vec<u8>], values: &[Option<Vec<u8>>]) {
        let bytes: usize = values.iter().flatten().map(Vec::len).sum();
        if fields.is_empty() || self.remembered + bytes > MOST_REMEMBERED {
            return;
        }
        self.remembered += bytes;
        let named = fields.iter().cloned().zip(values.iter().cloned());
        self.fields.entry(book).or_default().extend(named);
    }
}

impl<'a> ClusterSnapshot<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        let (recipes, confirmed) = match shared.meta().recipes() {
            Ok(recipes) => (recipes, Confirmed::Same),
            Err(error) => (shared.meta().last_recipes(), Confirmed::Unread(error)),
        };
        Self {
            recipes,
            confirmed: confirmed.into(),
            ..Self::unconfirmed(shared)
        }
    }

    /// A snapshot with the recipes as they were last read. They are compared with what the first read finds.
    pub(super) fn unconfirmed(shared: &'a Shared) -> Self {
        let (recipes, confirmed, totals) = (
            shared.meta().last_recipes(),
            OnceLock::new(),
            OnceLock::new(),
        );
        Self {
            shared,
            recipes,
            confirmed,
            totals,
            seen: Mutex::default(),
        }
    }

    pub(super) fn damaged(&self, detail: impl Into<String>) -> StoreError {
        self.shared.damaged(detail)
    }

    fn seen(&self) -> MutexGuard<'_, SeenStates> {
        self.seen.lock()
    }

    /// Reads books, each as it was when it was first read. `more` are more fields to read of each.
    pub(super) fn states(
        &self,
        books: &[BookNo],
        more: &[Vec<u8>],
    ) -> Result<Vec<Option<Read>>, StoreError> {
        self.known()?;
        let mut all = Vec::with_capacity(books.len());
        for some in books.chunks(AT_ONCE) {
            self.read_states(some, more, &mut all)?;
        }
        Ok(all)
    }

    fn read_states(
        &self,
        books: &[BookNo],
        more: &[Vec<u8>],
        all: &mut Vec<Option<Read>>,
    ) -> Result<(), StoreError> {
        // What is remembered completely need not be read.
        let mut read: HashMap<BookNo, Values> = {
            let seen = self.seen();
            let known = books.iter().map(|book| (*book, seen.of(*book, more)));
            known
                .filter_map(|(book, fields)| Some((book, fields?)))
                .collect()
        };
        let needed = books.iter().copied();
        let needed: Vec<BookNo> = needed.filter(|book| !read.contains_key(book)).collect();
        let commands = self.reads_of_states(&needed, more);
        for (book, value) in needed.iter().zip(self.shared.client.read(&commands)?) {
            read.insert(*book, self.take_in(*book, more, value)?);
        }
        let seen = self.seen();
        all.extend(books.iter().map(|book| {
            let state = seen.states.get(book)?.clone()?;
            Some((state, read.get(book).cloned().unwrap_or_default()))
        }));
        Ok(())
    }

    /// Remembers what was read of a book. Returns the fields.
    fn take_in(&self, book: BookNo, fields: &[Vec<u8>], read: Value) -> Result<Values, StoreError> {
        let mut values: Values = self.shared.answer(read)?;
        let generation = values
            .first()
            .and_then(Option::as_ref)
            .and_then(|text| str::from_utf8(text).ok()?.parse().ok());
        let record = if values.len() > 1 + fields.len() {
            values.pop().flatten()
        } else {
            None
        };
        self.remember(book, generation, record)?;
        let values: Values = values.into_iter().skip(1).collect();
        self.seen().remember(book, fields, &values);
        Ok(values)
    }

    /// Commands that read the generation of each book, these fields, and the record unless it is remembered.
    fn reads_of_states(&self, books: &[BookNo], more: &[Vec<u8>]) -> Vec<Command> {
        let mut fields: Vec<&[u8]> = vec![b"g"];
        fields.extend(more.iter().map(Vec::as_slice));
        fields.push(b"r");
        let reads = books.iter().map(|book| {
            let wanted = fields.len() - usize::from(self.is_seen(*book));
            let key = self.shared.keys.book(BookState::Present, *book);
            Command::new("HMGET", &key, &fields[..wanted])
        });
        reads.collect()
    }

    fn is_seen(&self, book: BookNo) -> bool {
        self.seen().states.contains_key(&book)
    }

    /// Remembers a book, or compares it with what is remembered.
    fn remember(
        &self,
        book: BookNo,
        generation: Option<i64>,
        record: Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let mut seen = self.seen();
        if let Some(known) = seen.states.get(&book) {
            let known = known.as_ref().map(|state| state.generation);
            // A book that was not there when it was first looked for stays away.
            let same = known.is_none() || known == generation;
            return if same {
                Ok(())
            } else {
                Err(StoreError::Changed("a book".to_owned()))
            };
        }
        let state = generation
            .zip(record)
            .map(|(generation, record)| Arc::new(SeenState { generation, record }));
        let state = match state {
            Some(state) if !seen.absent.is_empty() => {
                let outline: Outline = self.parse(book, &state)?;
                let key = BookKey {
                    library: outline.library,
                    id: outline.id,
                };
                (!seen.absent.contains(&key)).then_some(state)
            }
            state => state,
        };
        seen.states.insert(book, state);
        Ok(())
    }

    /// Forgets what was seen, if it is too much. A page that is read afterwards is of one state again.
    fn begin_page(&self) {
        let mut seen = self.seen();
        if seen.states.len() > MOST_SEEN {
            *seen = SeenStates::default();
        }
    }

    pub(super) fn parse<T: DeserializeOwned>(
        &self,
        book: BookNo,
        state: &SeenState,
    ) -> Result<T, StoreError> {
        let read = record::decode(&state.record);
        read.ok_or_else(|| self.damaged(format!("the record of book {} cannot be read", book.0)))
    }

    fn records<T: DeserializeOwned>(&self, books: &[BookNo]) -> Result<Vec<Option<T>>, StoreError> {
        let states = self.states(books, &[])?;
        let read = books.iter().zip(states).map(|(book, state)| {
            state
                .map(|(state, _)| self.parse(*book, &state))
                .transpose()
        });
        read.collect()
    }

    fn gem_list(
        &self,
        recipe: &KnownRecipe,
        book: BookNo,
        bytes: &[u8],
        enough: Option<Enough<'_>>,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        let gems = gem_list::decode_if(bytes, recipe.gem_bytes(), enough);
        gems.ok_or_else(|| {
            self.damaged(format!(
                "the gems of book {} ({}) cannot be read",
                book.0,
                recipe.name()
            ))
        })
    }

    fn packed_fold(
        &self,
        base: &str,
        book: BookNo,
        bytes: Vec<u8>,
    ) -> Result<PackedFold, StoreError> {
        let fold = PackedFold::new(base, bytes);
        fold.ok_or_else(|| {
            self.damaged(format!(
                "no recipe has the base {base} of the fold of book {}",
                book.0
            ))
        })
    }

    fn kept_text(&self, book: BookNo, bytes: Vec<u8>) -> Result<String, StoreError> {
        String::from_utf8(bytes)
            .map_err(|_| self.damaged(format!("the text of book {} is not UTF-8", book.0)))
    }

    /// Reads up to `limit` numbers of books of a shard, from this one on.
    fn numbers_from(&self, shard: u32, first: u32, limit: usize) -> Command {
        let (first, limit) = (first.to_string(), limit.to_string());
        let range = [&first, "+inf", "LIMIT", "0", &limit];
        Command::new(
            "ZRANGEBYSCORE",
            &self.shared.keys.shard(shard, "books"),
            &range,
        )
    }

    /// What the gems of these recipes, the folds of these bases, and the text of a book are in fields that were read.
    fn parts_in(
        &self,
        book: BookNo,
        fields: Values,
        recipes: &[&KnownRecipe],
        wanted: WantedParts<'_>,
    ) -> Result<BookParts, StoreError> {
        let (mut parts, mut fields) = (BookParts::default(), fields.into_iter());
        for (recipe, bytes) in recipes.iter().zip(fields.by_ref()) {
            if let Some(bytes) = bytes {
                let list = self.gem_list(recipe, book, &bytes, wanted.gems_if)?;
                parts
                    .gems
                    .extend(list.map(|list| (recipe.name().clone(), list)));
            }
        }
        for (base, bytes) in wanted.folds.iter().zip(fields.by_ref()) {
            if let Some(bytes) = bytes {
                parts.folds.push(self.packed_fold(base, book, bytes)?);
            }
        }
        if let Some(bytes) = fields.next().flatten() {
            parts.text = Some(self.kept_text(book, bytes)?);
        }
        Ok(parts)
    }

    /// Up to `count` numbers of books in each of these shards, of the first one from `first` on; and the shard and the number
    /// from which on more must be read.
    fn numbers_in(
        &self,
        shards: Range<u32>,
        first: u32,
        count: usize,
    ) -> Result<(Vec<BookNo>, (u32, u32)), StoreError> {
        let firsts = iter::once(first).chain(iter::repeat(0));
        let commands = shards.clone().zip(firsts);
        let commands: Vec<Command> = commands
            .map(|(shard, first)| self.numbers_from(shard, first, count))
            .collect();
        let mut numbers = Vec::new();
        let pages: Vec<Vec<u32>> = self.shared.ask_all(&commands)?;
        for (shard, page) in shards.clone().zip(pages) {
            numbers.extend(page.iter().map(|number| join(shard, *number)));
            // What follows in this shard precedes what was read of the later ones.
            if let Some(last) = page
                .last()
                .filter(|last| page.len() == count && **last < (1 << NUMBER_BITS) - 1)
            {
                return Ok((numbers, (shard, last + 1)));
            }
        }
        Ok((numbers, (shards.end, 0)))
    }

    /// # Errors
    /// If a recipe was dropped since the snapshot was taken: what was read of it may lack books.
    pub(super) fn still_has(&self, recipe: &KnownRecipe) -> Result<(), StoreError> {
        let now = self.shared.meta().recipes()?;
        let staying = now.numbered(recipe.number).is_some_and(|known| {
            // Buckets of other gems have other names.
            !known.leaving && known.bucket_bits == recipe.bucket_bits
        });
        if staying {
            Ok(())
        } else {
            Err(StoreError::Changed(format!(
                "the recipe '{}'",
                recipe.name()
            )))
        }
    }
}

impl Snapshot for ClusterSnapshot<'_> {
    fn known_recipes(&self) -> &Recipes {
        &self.recipes
    }

    fn tally(
        &self,
        recipe: &RecipeName,
        gems: &[Gem],
        limits: Limits<'_>,
    ) -> Result<Tally, StoreError> {
        tally::tally(self, self.recipes.staying(recipe)?, gems, limits)
    }

    fn holders(
        &self,
        recipe: &RecipeName,
        gems: &[Gem],
        limits: Limits<'_>,
        each: Each<'_>,
    ) -> Result<(), StoreError> {
        tally::holders(self, self.recipes.staying(recipe)?, gems, limits, each)
    }

    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError> {
        self.known()?;
        let Some(half) = half(digest) else {
            return Ok(Vec::new());
        };
        let command = Command::bare("HKEYS", &self.shared.keys.digest(half));
        let fields: Vec<Vec<u8>> = self.shared.ask(command)?;
        let numbers = fields
            .iter()
            .filter_map(|field| field.as_slice().try_into().ok());
        let mut books: Vec<BookNo> = numbers
            .map(|number| BookNo(u32::from_be_bytes(number)))
            .collect();
        books.sort_unstable();
        let mut counts: HashMap<Library, u32> = HashMap::new();
        let mut found = Vec::new();
        for (book, outline) in books.iter().zip(self.outline(&books)?) {
            let Some(outline) = outline.filter(|outline| {
                [Some(&outline.digest), outline.clean_digest.as_ref()]
                    .into_iter()
                    .flatten()
                    .any(|known| known.starts_with(half))
            }) else {
                continue;
            };
            if limits
                .library
                .is_some_and(|library| *library != outline.library)
            {
                continue;
            }
            let count = counts.entry(outline.library).or_default();
            if *count < limits.cap {
                *count += 1;
                found.push(*book);
            }
        }
        Ok(found)
    }

    fn search(&self, search: &Search<'_>) -> Result<Found, StoreError> {
        self.known()?;
        search::search(self, search)
    }

    fn find(&self, key: &BookKey) -> Result<Option<BookNo>, StoreError> {
        self.known()?;
        let number = match self.shared.numbering().library(&key.library)? {
            Some(library) => self
                .shared
                .intents()
                .find_all(&[(library, key)])?
                .pop()
                .flatten(),
            None => None,
        };
        let Some(number) = number else {
            self.seen().absent.insert(key.clone());
            return Ok(None);
        };
        // It may have been removed in between.
        Ok(self.states(&[number], &[])?.pop().flatten().map(|_| number))
    }

    fn fetch(&self, books: &[BookNo]) -> Result<Vec<Option<Record>>, StoreError> {
        self.records(books)
    }

    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError> {
        self.records(books)
    }

    fn parts(
        &self,
        books: &[BookNo],
        wanted: WantedParts<'_>,
    ) -> Result<Vec<BookParts>, StoreError> {
        let known = self.known()?;
        let recipes = wanted.gems.iter().map(|name| known.staying(name));
        let recipes: Vec<&KnownRecipe> = recipes.collect::<Result<_, _>>()?;
        let gems = recipes.iter().map(|recipe| gem_field(recipe.number));
        let folds = wanted.folds.iter().map(|base| fold_field(base));
        let text = wanted.text.then(|| TEXT.to_vec());
        let fields: Vec<Vec<u8>> = gems.chain(folds).chain(text).collect();
        let mut all = Vec::with_capacity(books.len());
        for (book, read) in books.iter().zip(self.states(books, &fields)?) {
            let values = read.map(|(_, values)| values).unwrap_or_default();
            all.push(self.parts_in(*book, values, &recipes, wanted)?);
        }
        Ok(all)
    }

    fn walk(
        &self,
        library: &Library,
        after: Option<&BookId>,
        limit: usize,
    ) -> Result<Vec<(BookNo, Record)>, StoreError> {
        self.known()?;
        self.begin_page();
        let Some(number) = self.shared.numbering().library(library)? else {
            return Ok(Vec::new());
        };
        let mut after = after.map(|id| id.as_str().to_owned());
        let mut found: Vec<(BookNo, Record)> = Vec::new();
        // Books that are removed meanwhile leave gaps, but only the last page may be short.
        while found.len() < limit {
            let more = limit - found.len();
            let ids = LibraryIds::after(self.shared, number, after.as_deref(), more);
            let members = ids.read(more)?;
            let Some((last, _)) = members.last() else {
                break;
            };
            after = Some(last.clone());
            let books: Vec<BookNo> = members.into_iter().map(|(_, book)| book).collect();
            let records = self.fetch(&books)?;
            found.extend(
                books
                    .into_iter()
                    .zip(records)
                    .filter_map(|(book, record)| Some((book, record?))),
            );
        }
        Ok(found)
    }

    fn books(&self, from: BookNo, limit: usize) -> Result<Vec<(BookNo, Record)>, StoreError> {
        self.known()?;
        self.begin_page();
        let mut all: Vec<(BookNo, Record)> = Vec::new();
        let (mut shard, mut first) = split(from);
        while shard < SHARDS && all.len() < limit {
            let end = (shard + SHARDS_AT_ONCE).min(SHARDS);
            let count = (limit - all.len()).min(AT_ONCE);
            let (numbers, next) = self.numbers_in(shard..end, first, count)?;
            let records = self.fetch(&numbers)?;
            let read = numbers.into_iter().zip(records);
            all.extend(read.filter_map(|(number, record)| Some((number, record?))));
            (shard, first) = next;
        }
        all.truncate(limit);
        Ok(all)
    }

    fn summaries(&self, only: Option<&Library>) -> Result<Vec<Arc<LibrarySummary>>, StoreError> {
        let mut all = self
            .shared
            .meta()
            .summaries(self.totals()?, &self.recipes)?;
        if let Some(library) = only {
            all.retain(|summary| summary.library == *library);
        }
        Ok(all)
    }

    fn coverage(&self, recipe: &RecipeName) -> Result<Coverage, StoreError> {
        let books = self
            .sizes(recipe)?
            .classes
            .iter()
            .map(|class| class.books)
            .sum();
        let total = self.totals()?.books;
        Ok(Coverage { books, total })
    }

    fn sizes(&self, recipe: &RecipeName) -> Result<Sizes, StoreError> {
        let recipe = self.recipes.staying(recipe)?;
        self.shared.meta().sizes(self.totals()?, recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_snapshot_remembers_is_bounded() {
        let (mut seen, fields) = (SeenStates::default(), [gem_field(0)]);
        let books = || (0..100).map(BookNo);
        let value = vec![0; MOST_REMEMBERED / 16];
        for book in books() {
            assert_eq!(seen.of(book, &fields), None);
            seen.states.insert(book, None);
            seen.remember(book, &fields, &[Some(value.clone())]);
        }
        let known = books().filter_map(|book| seen.of(book, &fields));
        assert_eq!(known.collect::<Vec<_>>(), vec![[Some(value)]; 16]);
        // That a book was looked for is known in any case.
        assert!(books().all(|book| seen.of(book, &[]) == Some(Vec::new())));
    }
}
