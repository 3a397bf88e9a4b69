//! Which books of a catalogue are copies, editions or parts of one another.

use hashbrown::{HashMap, HashSet};
use jiff::Timestamp;
use lapidary_gems::{Probe, Recipe, RecipeName, Rule};
use rayon::prelude::*;

use super::check::today;
use super::checking::Stored;
use super::pages::pages;
use super::{Catalogue, CatalogueError};
use crate::duplicates::{Group, Pair, group};
use crate::index::{BookNo, Limits, Outline, Record, Snapshot, StoreError, Watch};
use crate::matching::{LookedUp, Question, Relation, RuleChanges, candidates, judge};

/// Which duplicates to look for.
#[derive(Debug, Clone, Default)]
pub struct DuplicateOptions {
    /// Compare by the gems of this recipe; if `None`, the catalogue's default.
    pub recipe: Option<RecipeName>,
    /// Changes to its rule.
    pub rule: RuleChanges,
    /// Look only for duplicates of the books that changed at this time or later.
    pub since: Option<Timestamp>,
}

/// A gem in more books than this does not connect them. Without a bound, a notice that 100,000 books begin with would
/// cost ten billion comparisons.
const COMMON_CAP: u32 = 500;
/// A book with at least this many earlier copies to the letter is only paired with the first of them.
const MANY_COPIES: u32 = 100;

/// Books that have text in common.
#[derive(Debug, Clone)]
pub struct Duplicates {
    /// The books.
    pub books: Vec<Record>,
    /// What connects them, by their places in `books`, in order.
    pub pairs: Vec<Pair<u32>>,
}

impl Catalogue {
    /// Finds all groups of books that have text in common, directly or through others: more than quotations, and as much as
    /// the rule requires. Each book is compared with those that have a gem in common, so the time grows with the number of
    /// books and of their copies.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchRecipe`], and the errors of the store and of `watch`.
    pub fn duplicates(&self, options: &DuplicateOptions, watch: Watch<'_>) -> Result<Vec<Duplicates>, CatalogueError> {
        let snapshot = &*self.store.snapshot();
        let known = snapshot.recipes();
        let recipe = match &options.recipe {
            None => known.first(),
            Some(name) => Some(
                known
                    .iter()
                    .find(|known| known.name() == name)
                    .ok_or_else(|| CatalogueError::no_such_recipe(name, &known))?,
            ),
        };
        let Some(recipe) = recipe else { return Ok(Vec::new()) };
        let rule = options.rule;
        let rule = RuleChanges { common_cap: rule.common_cap.or(Some(COMMON_CAP)), ..rule }.on(recipe.rule());
        let all = snapshot.libraries()?.iter().map(|library| library.books).sum();
        let recent = options.since.map(|since| recent(snapshot, since)).transpose()?;
        let search = Search { snapshot, recipe, rule, recent };
        let (mut pairs, mut done) = (Vec::new(), 0);
        for books in pages(snapshot) {
            watch(done, all)?;
            let books = books?;
            done += books.len() as u64;
            let found: Vec<Vec<Pair<BookNo>>> = books
                .par_iter()
                .filter(|(number, _)| search.recent.as_ref().is_none_or(|recent| recent.contains(number)))
                .map(|(number, record)| search.others(*number, record))
                .collect::<Result<_, CatalogueError>>()?;
            pairs.extend(found.into_iter().flatten().map(|pair| pair.renumbered(|number| number.0)));
        }
        group(pairs).into_iter().map(|group| search.with_records(group)).collect()
    }
}

/// The books that changed at this time or later.
fn recent(snapshot: &dyn Snapshot, since: Timestamp) -> Result<HashSet<BookNo>, StoreError> {
    let mut recent = HashSet::new();
    for books in pages(snapshot) {
        recent.extend(books?.into_iter().filter(|(_, record)| record.changed >= since).map(|(number, _)| number));
    }
    Ok(recent)
}

struct Search<'a> {
    snapshot: &'a dyn Snapshot,
    recipe: &'a Recipe,
    rule: Rule,
    /// If not all books are compared with others, those that are.
    recent: Option<HashSet<BookNo>>,
}

impl Search<'_> {
    /// Whether a pair of books is left to the other book. Each pair is so compared once.
    fn is_left(&self, number: BookNo, other: BookNo) -> bool {
        other == number || (other > number && self.recent.as_ref().is_none_or(|recent| recent.contains(&other)))
    }

    /// The books that have text in common with this one.
    fn others(&self, number: BookNo, record: &Record) -> Result<Vec<Pair<BookNo>>, CatalogueError> {
        if record.is_disabled() {
            return Ok(Vec::new());
        }
        let reader = Stored { snapshot: self.snapshot, recipe: self.recipe.name(), is_new: false };
        let gems = self.snapshot.gems(self.recipe.name(), number)?.unwrap_or_default();
        let probes: Vec<Probe> = gems.into_iter().map(|placed| Probe { placed, kept: true }).collect();
        let digests: Vec<String> =
            [Some(&record.digest), record.clean_digest.as_ref()].into_iter().flatten().cloned().collect();
        if let Some(first) = self.first_of_many(number, &digests)? {
            let (a, b, identical, relation) = (number, first, true, Relation::SameText);
            return Ok(vec![Pair { a, b, identical, relation, share_of_a: 1.0, share_of_b: 1.0 }]);
        }
        let is_left_out = |other: BookNo, _: &Outline| self.is_left(number, other);
        let question = Question {
            recipe: self.recipe,
            rule: &self.rule,
            probes: &probes,
            digests: &digests,
            library: None,
            is_left_out: &is_left_out,
            day: today(),
            is_allowed: &|_| false,
        };
        let mut tally = candidates(&reader, &question)?;
        for library in &mut tally.libraries {
            library.books.retain(|(other, _)| !self.is_left(number, *other));
        }
        let looked_up: Vec<LookedUp<'_>> =
            tally.libraries.iter().map(|of| LookedUp::new(&reader, &question, of)).collect::<Result<_, _>>()?;
        let mut pairs = Vec::new();
        for found in judge(&reader, &question, &looked_up)?.matches {
            let (relation, share_of_a, share_of_b) = if found.identical {
                (Relation::SameText, 1.0, 1.0)
            } else {
                let relation = looked_up[found.library].aligned(found.number)?.relation;
                (relation, found.score.share_of_query, found.score.share_of_book)
            };
            if relation == Relation::Quotations {
                continue;
            }
            let (a, b, identical) = (number, found.number, found.identical);
            pairs.push(Pair { a, b, identical, relation, share_of_a, share_of_b });
        }
        Ok(pairs)
    }

    /// The first of very many earlier books with the same text that are not disabled.
    fn first_of_many(&self, number: BookNo, digests: &[String]) -> Result<Option<BookNo>, CatalogueError> {
        for digest in digests {
            let limits = Limits { cap: MANY_COPIES, fewest: 0, library: None };
            let copies = self.snapshot.with_digest(digest, limits)?;
            let earlier: Vec<BookNo> = copies.into_iter().filter(|copy| *copy < number).collect();
            if earlier.len() < MANY_COPIES as usize {
                continue;
            }
            let outlines = self.snapshot.outline(&earlier)?.into_iter().zip(earlier);
            let mut copies = outlines.filter(|(outline, _)| {
                let is_copy = |of: &Outline| of.is_of(digests) && of.standing.disabled_since.is_none();
                outline.as_ref().is_some_and(is_copy)
            });
            if let Some((_, first)) = copies.next() {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// Reads the records of a group. A book that was removed meanwhile is left out.
    fn with_records(&self, group: Group) -> Result<Duplicates, CatalogueError> {
        let numbers: Vec<BookNo> = group.members.iter().map(|number| BookNo(*number)).collect();
        let records = self.snapshot.fetch(&numbers)?;
        let books: Vec<(u32, Record)> =
            group.members.iter().zip(records).filter_map(|(number, record)| Some((*number, record?))).collect();
        Ok(Duplicates::of(books, group.pairs))
    }
}

impl Duplicates {
    /// The books with their numbers in `pairs`, in the order in which they are given.
    fn of(books: Vec<(u32, Record)>, pairs: Vec<Pair<u32>>) -> Self {
        let places: HashMap<u32, u32> = (0..).zip(&books).map(|(place, (number, _))| (*number, place)).collect();
        let is_there = |pair: &Pair<u32>| places.contains_key(&pair.a) && places.contains_key(&pair.b);
        let mut pairs: Vec<Pair<u32>> =
            pairs.into_iter().filter(is_there).map(|pair| pair.renumbered(|number| places[&number])).collect();
        pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
        Self { books: books.into_iter().map(|(_, record)| record).collect(), pairs }
    }

    /// The same with the books in the order of their names.
    #[must_use]
    pub fn ordered_by(self, name: impl Fn(&Record) -> String) -> Self {
        let mut books: Vec<(u32, Record)> = (0..).zip(self.books).collect();
        books.sort_by_cached_key(|(_, record)| name(record));
        Self::of(books, self.pairs)
    }
}
