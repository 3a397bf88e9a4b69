//! Which books of a catalogue are copies, editions or parts of one another.
//!
//! The work grows with the number of gems, whatever they are: a gem connects a book with at most [`COMMON_CAP`] others of a
//! library, and a book is compared with at most [`MOST_COMPARED`] others. What that leaves out is counted ([`LeftOut`]).

use std::cmp::Reverse;
use std::ops::Deref;

use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;
use lapidary_gems::{PlacedGem, Recipe, RecipeName, Rule};
use rayon::prelude::*;

use super::check::today;
use super::checking::Stored;
use super::copy::total_books;
use super::libraries::holds_books;
use super::pages::{GrowingBatches, pages};
use super::recipes::chosen;
use super::told::Told;
use super::{Catalogue, CatalogueError, Checks};
use crate::duplicate_groups::{Group, GroupedPairs, Grouping, LeftOut, Pair, Segment, history};
use lapidary_checking::{
    Judged, LookedUp, Question, Relation, RuleChanges, judge, kept_probes, limits, with_identical,
};
use lapidary_store::{BookNo, Library, Limits, Record, Snapshot, StoreError, Tally, Watch};

/// Which duplicates to look for.
#[derive(Debug, Clone, Default)]
pub struct DuplicateOptions {
    /// Compare by the gems of this recipe; if `None`, the catalogue's default.
    pub recipe: Option<RecipeName>,
    /// Changes to its rule.
    pub rule: RuleChanges,
    /// Look only for duplicates of the books that changed at this time or later.
    pub since: Option<Timestamp>,
    /// Compare only the books of this library; if `None`, all books.
    pub library: Option<Library>,
    /// Whether [`FoundDuplicates::connected`] is wanted.
    pub connected: bool,
}

/// A gem in more books than this does not connect them. Without a bound, a notice that 100,000 books begin with would
/// cost ten billion comparisons.
const COMMON_CAP: u32 = 500;
/// A book with at least this many earlier copies to the letter is only paired with the first of them.
const MANY_COPIES: u32 = 100;
/// A book that has gems of more earlier books than this is compared with those that have most of its gems.
const MOST_COMPARED: usize = 32;

/// What a search for duplicates found.
#[derive(Debug, Clone, Default)]
pub struct FoundDuplicates {
    /// The groups of books that are the same.
    pub groups: Vec<Duplicates>,
    /// The books of different groups, or of none, that have text in common, with most first.
    pub overlaps: Duplicates,
    /// The books that are connected by text in common of any kind.
    pub connected: Vec<Duplicates>,
    /// What was left out.
    pub left_out: LeftOut,
}

/// Books that have text in common.
#[derive(Debug, Clone, Default)]
pub struct Duplicates {
    /// The books.
    pub books: Vec<Record>,
    /// What connects them, by their places in `books`, in order.
    pub pairs: Vec<Pair<u32>>,
}

impl<C: Deref<Target = Catalogue>> Checks<C> {
    /// Finds all books that have text in common: more than quotations, and as much as the rule requires.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], [`CatalogueError::NoSuchLibrary`], and the errors of the store and of `watch`.
    pub fn duplicates(
        &self,
        options: &DuplicateOptions,
        watch: Watch<'_>,
    ) -> Result<FoundDuplicates, CatalogueError> {
        let snapshot = &*self.0.store.snapshot();
        holds_books(snapshot, options.library.as_ref())?;
        let Some(wanted) = DuplicateScope::new(snapshot, options)? else {
            return Ok(FoundDuplicates::default());
        };
        let search = DuplicateSearch {
            snapshot,
            wanted: &wanted,
        };
        let all = total_books(&snapshot.libraries()?);
        let (mut grouping, mut left_out, mut done) = (Grouping::default(), LeftOut::default(), 0);
        let mut batches = GrowingBatches::from(BookNo(0));
        while let Some(books) = batches.read(snapshot)? {
            let found = search.pairs(&books, &|of_batch| watch(done + of_batch, all))?;
            found.pairs.into_iter().for_each(|pair| grouping.add(pair));
            left_out += found.left_out;
            done += books.len() as u64;
        }
        let connected = if options.connected {
            Duplicates::read_all(snapshot, grouping.connected())?
        } else {
            Vec::new()
        };
        let GroupedPairs {
            groups,
            overlaps,
            left_out: pairs,
        } = grouping.grouped();
        left_out.pairs += pairs;
        let overlaps = Duplicates::read_pairs(snapshot, overlaps)?;
        Ok(FoundDuplicates {
            groups: Duplicates::read_all(snapshot, groups)?,
            overlaps,
            connected,
            left_out,
        })
    }

    /// The passages of each book of a group that came from earlier ones with which it is paired. `order` has the books' places
    /// in the group, the earliest first.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], and the errors of the store.
    pub fn history(
        &self,
        found: &Duplicates,
        order: &[u32],
        options: &DuplicateOptions,
    ) -> Result<Vec<Vec<Segment>>, CatalogueError> {
        let snapshot = &*self.0.store.snapshot();
        let Some(DuplicateScope { recipe, .. }) = DuplicateScope::new(snapshot, options)? else {
            return Ok(Vec::new());
        };
        let mut gems: HashMap<u32, Vec<PlacedGem>> = HashMap::with_capacity(order.len());
        for book in order {
            let of_book = match snapshot.find(&found.books[*book as usize].key)? {
                Some(number) => snapshot.gems(recipe.name(), number)?,
                None => None,
            };
            gems.insert(*book, of_book.unwrap_or_default());
        }
        let pairs: HashSet<(u32, u32)> = found
            .pairs
            .iter()
            .flat_map(|pair| [(pair.a, pair.b), (pair.b, pair.a)])
            .collect();
        let mut of_books = vec![Vec::new(); found.books.len()];
        for (at, book) in order.iter().enumerate() {
            let earlier = order[..at]
                .iter()
                .filter(|earlier| pairs.contains(&(*book, **earlier)));
            let earlier = earlier.map(|earlier| (*earlier, &*gems[earlier]));
            let bytes = |book: u32| found.books[book as usize].bytes;
            let passages = history(&recipe, &gems[book], earlier).into_iter();
            let told = passages.map(|passage| Segment {
                place: Told::of(&recipe, false).place(passage.place, bytes(*book)),
                there: Told::of(&recipe, false).place(passage.there, bytes(passage.from)),
                ..passage
            });
            of_books[*book as usize] = told.collect();
        }
        Ok(of_books)
    }
}

/// Which books are compared, and how.
pub(super) struct DuplicateScope {
    pub(super) recipe: Recipe,
    pub(super) rule: Rule,
    pub(super) library: Option<Library>,
    /// If not all books are compared with others, those that are.
    pub(super) recent: Option<HashSet<BookNo>>,
    /// The number of books that one is compared with at most.
    pub(super) most_compared: usize,
}

impl DuplicateScope {
    /// `None` if there are no recipes, and so no books with gems.
    pub(super) fn new(
        snapshot: &dyn Snapshot,
        options: &DuplicateOptions,
    ) -> Result<Option<Self>, CatalogueError> {
        let known = snapshot.recipes();
        if known.is_empty() && options.recipe.is_none() {
            return Ok(None);
        }
        let (recipe, rule) = (chosen(known, options.recipe.as_ref())?, options.rule);
        let rule = RuleChanges {
            common_cap: rule.common_cap.or(Some(COMMON_CAP)),
            ..rule
        }
        .on(recipe.rule());
        let recent = options
            .since
            .map(|since| recent(snapshot, since))
            .transpose()?;
        Ok(Some(Self {
            recipe,
            rule,
            library: options.library.clone(),
            recent,
            most_compared: MOST_COMPARED,
        }))
    }

    /// Which of the books with a book's gems it is compared with.
    pub(super) fn limits(&self) -> Limits<'_> {
        limits(&self.recipe, &self.rule, self.library.as_ref())
    }

    /// Whether a book is compared with others.
    pub(super) fn is_compared(&self, number: BookNo, record: &Record) -> bool {
        self.library
            .as_ref()
            .is_none_or(|library| *library == record.key.library)
            && self
                .recent
                .as_ref()
                .is_none_or(|recent| recent.contains(&number))
            && !record.is_disabled()
    }
}

/// The books that changed at this time or later.
fn recent(snapshot: &dyn Snapshot, since: Timestamp) -> Result<HashSet<BookNo>, StoreError> {
    let mut recent = HashSet::new();
    for books in pages(snapshot) {
        recent.extend(
            books?
                .into_iter()
                .filter(|(_, record)| record.changed_at >= since)
                .map(|(number, _)| number),
        );
    }
    Ok(recent)
}

/// Is called now and then with the number of books of the batch that are done, to report progress and to find out whether to
/// stop.
pub(super) type Halt<'a> = &'a dyn Fn(u64) -> Result<(), StoreError>;

/// The pairs of some books, and what was left out.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoundPairs {
    pub(super) pairs: Vec<Pair<u32>>,
    pub(super) left_out: LeftOut,
}

pub(super) struct DuplicateSearch<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) wanted: &'a DuplicateScope,
}

impl DuplicateSearch<'_> {
    /// The pairs of these books and others, each pair with the book that it is not left to.
    pub(super) fn pairs(
        &self,
        books: &[(BookNo, Record)],
        halt: Halt<'_>,
    ) -> Result<FoundPairs, CatalogueError> {
        let compared: Vec<_> = books
            .iter()
            .filter(|(number, record)| self.wanted.is_compared(*number, record))
            .collect();
        let mut all = FoundPairs::default();
        let suspects = self.suspects(&compared, &mut all.left_out, halt)?;
        for some in suspects {
            let first = some.first().map_or(BookNo(0), |(number, _)| *number);
            halt(books.partition_point(|(number, _)| *number < first) as u64)?;
            let parts = some.par_chunks(some.len().div_ceil(rayon::current_num_threads()).max(1));
            let found: Vec<FoundPairs> = parts
                .map(|part| self.of_suspects(part))
                .collect::<Result<_, _>>()?;
            for FoundPairs { pairs, left_out } in found {
                all.pairs.extend(pairs);
                all.left_out += left_out;
            }
        }
        Ok(all)
    }

    /// The pairs of some books.
    pub(super) fn of_suspects(
        &self,
        books: &[&(BookNo, Record)],
    ) -> Result<FoundPairs, CatalogueError> {
        let recipe = self.wanted.recipe.name();
        let (mut lists, mut queries) = (Vec::new(), Vec::new());
        for (number, _) in books {
            let gems = self.snapshot.gems(recipe, *number)?;
            let gems = gems.unwrap_or_default();
            queries.push(gems.iter().map(|placed| placed.gem).collect());
            lists.push(gems);
        }
        let tallies = self
            .snapshot
            .tallies(recipe, &queries, self.wanted.limits())?;
        let mut all = FoundPairs::default();
        for (((number, record), gems), tally) in books.iter().zip(lists).zip(tallies) {
            let (pairs, has_many) = self.others(*number, record, gems, tally)?;
            all.left_out.texts_with_many += u64::from(has_many);
            all.pairs.extend(
                pairs
                    .into_iter()
                    .map(|pair| pair.renumbered(|number| number.0)),
            );
        }
        Ok(all)
    }

    /// Whether a pair of books is left to the other book. Each pair is so compared once.
    pub(super) fn is_left(&self, number: BookNo, other: BookNo) -> bool {
        let recent = self.wanted.recent.as_ref();
        other == number || (other > number && recent.is_none_or(|recent| recent.contains(&other)))
    }

    /// The books that have text in common with this one, of those with its gems, and whether these are too many to compare.
    pub(super) fn others(
        &self,
        number: BookNo,
        record: &Record,
        gems: Vec<PlacedGem>,
        mut tally: Tally,
    ) -> Result<(Vec<Pair<BookNo>>, bool), CatalogueError> {
        let DuplicateScope {
            recipe,
            rule,
            library,
            ..
        } = self.wanted;
        let reader = Stored {
            snapshot: self.snapshot,
            recipe: recipe.name(),
            is_new: false,
        };
        let probes = kept_probes(gems);
        let digests: Vec<String> = record.digests().cloned().collect();
        if let Some(first) = self.first_of_many(number, &digests)? {
            return Ok((vec![same_text(number, first)], false));
        }
        let question = Question {
            recipe,
            rule,
            probes: &probes,
            positions: None,
            digests: &digests,
            library: library.as_ref(),
            is_left_out: &|other, _| self.is_left(number, other),
            day: today(),
            is_allowed: &|_| false,
            informs: &|_| None,
            informing: Limits::NONE.informing,
        };
        self.leave_out(number, &mut tally);
        let has_many_more = tally.libraries.iter().any(|library| library.left_out > 0);
        let dropped = drop_all_but(self.wanted.most_compared, &mut tally);
        // Copies to the letter are paired in any case.
        let mut tally = with_identical(&reader, &question, tally)?;
        self.leave_out(number, &mut tally);
        let has_many = has_many_more || dropped.iter().any(|number| !has(&tally, *number));
        Ok((pairs_of(number, &reader, &question, &tally)?, has_many))
    }

    /// Leaves the books out of a tally with which this one is not paired.
    fn leave_out(&self, number: BookNo, tally: &mut Tally) {
        for library in &mut tally.libraries {
            library
                .books
                .retain(|(other, _)| !self.is_left(number, *other));
        }
    }

    /// The first of very many earlier books with the same text that are not disabled.
    fn first_of_many(
        &self,
        number: BookNo,
        digests: &[String],
    ) -> Result<Option<BookNo>, CatalogueError> {
        for digest in digests {
            let limits = Limits {
                cap: MANY_COPIES,
                library: self.wanted.library.as_ref(),
                ..Limits::NONE
            };
            let copies = self.snapshot.with_digest(digest, limits)?;
            let earlier: Vec<BookNo> = copies.into_iter().filter(|copy| *copy < number).collect();
            if earlier.len() < MANY_COPIES as usize {
                continue;
            }
            let outlines = self.snapshot.outline(&earlier)?.into_iter().zip(earlier);
            let mut copies = outlines.filter(|(outline, _)| {
                outline
                    .as_ref()
                    .is_some_and(|of| of.is_of(digests) && of.standing.disabled_at.is_none())
            });
            if let Some((_, first)) = copies.next() {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }
}

/// Leaves in a tally the books with most gems, if there are too many. Returns the others.
fn drop_all_but(most: usize, tally: &mut Tally) -> Vec<BookNo> {
    let books = tally.libraries.iter().flat_map(|library| &library.books);
    let mut counts: Vec<(Reverse<u32>, BookNo)> = books
        .map(|(number, count)| (Reverse(*count), *number))
        .collect();
    if counts.len() <= most {
        return Vec::new();
    }
    counts.sort_unstable();
    let dropped: Vec<BookNo> = counts.drain(most..).map(|(_, number)| number).collect();
    let kept: HashSet<BookNo> = counts.into_iter().map(|(_, number)| number).collect();
    for library in &mut tally.libraries {
        library.books.retain(|(number, _)| kept.contains(number));
    }
    dropped
}

impl Duplicates {
    /// Reads the books of pairs. Those with a book that was removed meanwhile are left out; those with most in common come first.
    fn read_pairs(snapshot: &dyn Snapshot, pairs: Vec<Pair<u32>>) -> Result<Self, CatalogueError> {
        let mut members: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        members.sort_unstable();
        members.dedup();
        let mut found = Self::read(snapshot, Group { members, pairs })?;
        found
            .pairs
            .sort_by(|a, b| b.strength().total_cmp(&a.strength()));
        Ok(found)
    }

    fn read_all(snapshot: &dyn Snapshot, groups: Vec<Group>) -> Result<Vec<Self>, CatalogueError> {
        let groups = groups.into_iter();
        groups.map(|group| Self::read(snapshot, group)).collect()
    }

    /// Reads the records of a group. A book that was removed meanwhile is left out.
    pub(super) fn read(snapshot: &dyn Snapshot, group: Group) -> Result<Self, CatalogueError> {
        let numbers: Vec<BookNo> = group.members.iter().map(|number| BookNo(*number)).collect();
        let records = snapshot.fetch(&numbers)?;
        let books: Vec<(u32, Record)> = group
            .members
            .iter()
            .zip(records)
            .filter_map(|(number, record)| Some((*number, record?)))
            .filter(|(_, record)| record.standing.removed_at.is_none())
            .collect();
        Ok(Self::of(books, group.pairs))
    }

    /// The books with their numbers in `pairs`, in the order in which they are given.
    fn of(books: Vec<(u32, Record)>, pairs: Vec<Pair<u32>>) -> Self {
        let places: HashMap<u32, u32> = (0..)
            .zip(&books)
            .map(|(place, (number, _))| (*number, place))
            .collect();
        let mut pairs: Vec<Pair<u32>> = pairs
            .into_iter()
            .filter(|pair| places.contains_key(&pair.a) && places.contains_key(&pair.b))
            .map(|pair| pair.renumbered(|number| places[&number]))
            .collect();
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        Self {
            books: books.into_iter().map(|(_, record)| record).collect(),
            pairs,
        }
    }

    /// The same with the books in the order of their names.
    #[must_use]
    pub fn ordered_by(self, name: impl Fn(&Record) -> String) -> Self {
        let mut books: Vec<(u32, Record)> = (0..).zip(self.books).collect();
        books.sort_by_cached_key(|(_, record)| name(record));
        Self::of(books, self.pairs)
    }
}
/// Whether a book is in a tally.
fn has(tally: &Tally, number: BookNo) -> bool {
    tally.libraries.iter().any(|of| {
        of.books
            .binary_search_by_key(&number, |(number, _)| *number)
            .is_ok()
    })
}

/// A pair of books with the same text.
fn same_text(a: BookNo, b: BookNo) -> Pair<BookNo> {
    Pair {
        a,
        b,
        identical: true,
        relation: Relation::SameText,
        share_of_a: 1.0,
        share_of_b: 1.0,
    }
}

/// The pairs of a book and those of a tally that have more of its text than quotations.
fn pairs_of(
    number: BookNo,
    reader: &Stored<'_>,
    question: &Question<'_>,
    tally: &Tally,
) -> Result<Vec<Pair<BookNo>>, StoreError> {
    // What may be an accident is a quotation, and pairs nothing.
    let looked_up = LookedUp::by_library(reader, question, tally, 0)?;
    let mut pairs = Vec::new();
    for found in judge(reader, question, &looked_up, usize::MAX)?.matches {
        let pair = pair_of(number, &found, &looked_up[found.library])?;
        if pair.relation != Relation::Quotations {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

/// A book and one that it matches.
fn pair_of(
    number: BookNo,
    found: &Judged,
    library: &LookedUp<'_>,
) -> Result<Pair<BookNo>, StoreError> {
    if found.identical {
        return Ok(same_text(number, found.number));
    }
    Ok(Pair {
        a: number,
        b: found.number,
        identical: false,
        relation: library.aligned(found.number)?.relation,
        share_of_a: found.score.share_of_query,
        share_of_b: found.score.share_of_book,
    })
}
