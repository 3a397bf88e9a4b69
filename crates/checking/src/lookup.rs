//! A query that was looked up in one library, and its comparison with the books found there.

use std::cell::{Cell, OnceCell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use lapidary_gems::{Gem, Place, PlacedGem, Probe, Recipe, Rule};

use super::{
    Alignment, Calibration, Extent, Fit, Listed, Meets, Question, Range, Reader, Score, align,
    is_too_little, meets, spread, weight,
};
use lapidary_store::{BookNo, Enough, Library, LibraryTally, StoreError, Tally};

/// A match of few gems is none if more than so many books are expected to have as much in common with the text by accident.
const ACCIDENTS: f64 = 0.5;

/// How many gems the books that stay in memory have together, so that what matches is compared with the query only once: ten novels.
const REMEMBERED: usize = 1 << 16;

/// A query, and the result of its lookup in the posting lists of one library.
pub struct LookedUp<'a> {
    recipe: &'a Recipe,
    reader: &'a dyn Reader,
    tally: &'a LibraryTally,
    /// Gems that do not count because too many books have them.
    common: HashSet<Gem>,
    /// All other probes.
    probes: Vec<Probe>,
    /// See [`kept`].
    kept: u32,
    in_query: HashSet<Gem>,
    /// Number of books in the library.
    books: u64,
    /// Where each gem is in the list that was asked about, if there is no text.
    positions: Option<&'a HashMap<Gem, u32>>,
    /// Number of books that decide.
    deciding: u64,
    /// The books that were compared and are remembered.
    compared: RefCell<HashMap<BookNo, Rc<ComparedBook>>>,
    /// How many more gems of such books may be, in all libraries.
    room: Rc<Cell<usize>>,
}

/// A book being compared with the query.
struct ComparedBook {
    gems: Vec<PlacedGem>,
    /// The common gems that count, with the assumed number of books that have each.
    holders: HashMap<Gem, u32>,
    alignment: OnceCell<Alignment>,
}

impl<'a> LookedUp<'a> {
    /// What looking up a query found in one library. `deciding`: see [`by_library`](Self::by_library).
    pub(super) fn new(
        reader: &'a dyn Reader,
        question: &Question<'a>,
        tally: &'a LibraryTally,
        deciding: u64,
        room: Rc<Cell<usize>>,
    ) -> Result<Self, StoreError> {
        let recipe = question.recipe;
        let mut probes = question.probes.to_vec();
        let books = reader.books(&tally.library)?;
        let common = tally.common.iter().copied().collect();
        let mut query = Self {
            recipe,
            reader,
            tally,
            common,
            probes: Vec::new(),
            kept: 0,
            in_query: HashSet::new(),
            books,
            positions: question.positions,
            deciding,
            compared: RefCell::default(),
            room,
        };
        if !recipe.posts_all() {
            let near_common = query.taken_for_common(&probes);
            query.common.extend(near_common);
        }
        probes.retain(|probe| !query.common.contains(&probe.placed.gem));
        query.in_query = probes.iter().map(|probe| probe.placed.gem).collect();
        query.kept = kept(&probes);
        query.probes = probes;
        Ok(query)
    }

    /// The gems without a posting that are between common ones, and are taken for common too.
    fn taken_for_common(&self, probes: &[Probe]) -> Vec<Gem> {
        let kept = probes.iter().filter(|probe| probe.kept);
        let kept: Vec<PlacedGem> = kept.map(|probe| probe.placed).collect();
        let listed = kept.iter().zip(self.listed(&kept));
        let common = listed.filter(|(_, listed)| *listed == Listed::Common);
        common.map(|(placed, _)| placed.gem).collect()
    }

    /// What looking up a query found, by library. `deciding`: how many books with gems of the recipe decide. A match of few
    /// gems is none if so many are expected to have as much by accident. The others do not count, so that nobody hides
    /// matches of another by adding books.
    pub fn by_library(
        reader: &'a dyn Reader,
        question: &Question<'a>,
        tally: &'a Tally,
        deciding: u64,
    ) -> Result<Vec<Self>, StoreError> {
        let room = Rc::new(Cell::new(REMEMBERED));
        let libraries = tally.libraries.iter();
        libraries
            .map(|of| Self::new(reader, question, of, deciding, Rc::clone(&room)))
            .collect()
    }

    /// The library.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.tally.library
    }

    /// Gems that do not count because too many books of the library have them.
    pub fn common(&self) -> impl Iterator<Item = Gem> {
        self.common.iter().copied()
    }

    /// The gems that count.
    #[must_use]
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// The candidates, with the number of query gems that have a posting for each.
    pub(super) fn candidates(&self) -> &[(BookNo, u32)] {
        &self.tally.books
    }

    /// The number of candidates that are left out because there are too many.
    pub(super) fn left_out(&self) -> usize {
        self.tally.left_out
    }

    /// A book's score if it has these of the query's gems, and so many itself.
    pub(super) fn score(&self, found: u32, of_book: u32) -> Score {
        Score::new(found, self.kept, of_book)
    }

    /// A book's score and whether it meets the rule, if its number of gems and the number of query gems with a posting for it
    /// say so. `None` if the book must be [compared](Self::judge).
    pub(super) fn decided(&self, rule: &Rule, found: u32, of_book: u32) -> Option<(Score, Meets)> {
        let score = self.score(found, of_book);
        if self.recipe.posts_all() {
            let meets = self.meets(rule, &score, of_book, || Err(())).ok()?;
            return Some((score, meets));
        }
        // Whatever two long texts share by chance is not read.
        let most_unposted = f64::from(self.recipe.most_unposted());
        (most_unposted * self.promise(rule, found, of_book) < 1.0).then_some((score, Meets::No))
    }

    /// Whether a book of so many gems with this score matches.
    fn meets<E>(
        &self,
        rule: &Rule,
        score: &Score,
        of_book: u32,
        aligned: impl Fn() -> Result<Alignment, E>,
    ) -> Result<Meets, E> {
        let shorter = self.kept.min(of_book);
        // Few gems are aligned for each of several reasons.
        let known = RefCell::new(None);
        let aligned = || {
            let mut known = known.borrow_mut();
            match &*known {
                Some(alignment) => Ok(Alignment::clone(alignment)),
                None => Ok(known.insert(aligned()?).clone()),
            }
        };
        let met = meets(self.recipe, rule, score, shorter, aligned)?;
        let is_accident = met != Meets::No
            && rule.is_few(score.common)
            && self.may_be_accident(of_book, &aligned()?);
        Ok(if is_accident { Meets::No } else { met })
    }

    /// Whether books that decide are to be expected to have as much in common with the query as this one, of so many gems.
    fn may_be_accident(&self, of_book: u32, alignment: &Alignment) -> bool {
        let fit = Calibration::built_in().of(self.recipe.name());
        let looked_up = self.probes.len() as u64;
        let in_one = |fit: &Fit| fit.e_value(looked_up, of_book.into(), alignment.segment_score);
        fit.is_some_and(|fit| in_one(fit) * self.deciding as f64 > ACCIDENTS)
    }

    /// How much of what a match needs the postings of a book are.
    pub(super) fn promise(&self, rule: &Rule, found: u32, of_book: u32) -> f64 {
        f64::from(found) / rule.needed(self.kept.min(of_book))
    }

    /// Computes a book's score from its number of gems and the number of query gems with a posting for it, and
    /// whether the book meets the rule.
    pub(super) fn judge(
        &self,
        rule: &Rule,
        book: BookNo,
        found: u32,
        of_book: u32,
        is_identical: bool,
    ) -> Result<(Score, Meets), StoreError> {
        if self.recipe.posts_all() {
            let score = self.score(found, of_book);
            let meets = self.meets(rule, &score, of_book, || self.aligned(book))?;
            return Ok((score, meets));
        }
        // Most candidates have one gem of a text, by chance.
        let is_enough = |in_both| {
            let score = self.score(in_both, of_book);
            is_identical || self.recipe.is_rewriting() || !is_too_little(rule, &score)
        };
        let enough = Enough {
            among: &self.in_query,
            is_enough: &is_enough,
        };
        let Some(gems) = self.reader.gems_if(book, enough)? else {
            return Ok((self.score(found, of_book), Meets::No));
        };
        let beside = self.remembered(book, gems);
        let score = self.score(beside.holders.len() as u32, of_book);
        let aligned = || Ok(self.align(&beside).clone());
        let Ok::<Meets, Infallible>(meets) = self.meets(rule, &score, of_book, aligned);
        Ok((score, meets))
    }

    /// Aligns the query with a book.
    pub fn aligned(&self, book: BookNo) -> Result<Alignment, StoreError> {
        Ok(self.align(&*self.beside(book)?).clone())
    }

    /// Aligns the query with a book, and returns the book's gems too.
    pub fn compared(&self, book: BookNo) -> Result<(Alignment, Vec<PlacedGem>), StoreError> {
        let beside = self.beside(book)?;
        Ok((self.align(&beside).clone(), beside.gems.clone()))
    }

    /// Where in the query the gems are that a book has, too: in bytes, or by their positions in a list. And all gems of the book.
    pub fn shared(&self, book: BookNo) -> Result<(Vec<Place>, Vec<PlacedGem>), StoreError> {
        let beside = self.beside(book)?;
        let in_both = self
            .probes
            .iter()
            .enumerate()
            .filter(|(_, Probe { placed, .. })| beside.holders.contains_key(&placed.gem));
        let places = in_both.map(|(at, Probe { placed, .. })| {
            placed.place.unwrap_or_else(|| {
                let position = self.positions.and_then(|all| all.get(&placed.gem));
                let start = position.map_or(at as u64, |position| u64::from(*position));
                Place {
                    start,
                    end: start + 1,
                }
            })
        });
        Ok((places.collect(), beside.gems.clone()))
    }

    /// The assumed number of books that have each gem of a text.
    fn listed(&self, gems: &[PlacedGem]) -> Vec<Listed> {
        let holders = &self.tally.holders;
        let listed = |gem: Gem| match holders.binary_search_by_key(&gem, |(gem, _)| *gem) {
            Ok(at) => Listed::In(holders[at].1),
            Err(_) if self.common.contains(&gem) => Listed::Common,
            Err(_) => Listed::Not,
        };
        if self.recipe.posts_all() {
            return gems.iter().map(|placed| listed(placed.gem)).collect();
        }
        let posted = gems.iter().zip(self.recipe.posted(gems));
        spread(
            &posted
                .map(|(placed, posted)| (listed(placed.gem), posted))
                .collect::<Vec<_>>(),
        )
    }

    fn beside(&self, book: BookNo) -> Result<Rc<ComparedBook>, StoreError> {
        if let Some(known) = self.compared.borrow().get(&book) {
            return Ok(Rc::clone(known));
        }
        Ok(self.remembered(book, self.reader.gems(book)?))
    }

    /// Compares a book of these gems, and remembers it if there is room.
    fn remembered(&self, book: BookNo, gems: Vec<PlacedGem>) -> Rc<ComparedBook> {
        let holders = if self.recipe.is_rewriting() {
            self.unweighed(&gems)
        } else {
            self.weighed(&gems)
        };
        let compared = Rc::new(ComparedBook {
            gems,
            holders,
            alignment: OnceCell::new(),
        });
        if let Some(left) = self.room.get().checked_sub(compared.gems.len()) {
            self.room.set(left);
            self.compared
                .borrow_mut()
                .insert(book, Rc::clone(&compared));
        }
        compared
    }

    /// The gems that the query has, too, with the assumed number of books that have each.
    fn weighed(&self, gems: &[PlacedGem]) -> HashMap<Gem, u32> {
        let taken = gems
            .iter()
            .zip(self.listed(gems))
            .filter(|(placed, _)| self.in_query.contains(&placed.gem));
        let counted = taken.filter_map(|(placed, listed)| match listed {
            Listed::In(books) => Some((placed.gem, books)),
            Listed::Not | Listed::Common => None,
        });
        counted.collect()
    }

    /// The same if all count alike, which takes less time.
    fn unweighed(&self, gems: &[PlacedGem]) -> HashMap<Gem, u32> {
        let gems = gems.iter().map(|placed| placed.gem);
        let in_both = gems.filter(|gem| self.in_query.contains(gem));
        in_both.map(|gem| (gem, 1)).collect()
    }

    fn align<'c>(&self, beside: &'c ComparedBook) -> &'c Alignment {
        beside
            .alignment
            .get_or_init(|| self.alignment(&beside.gems, &beside.holders))
    }

    fn alignment(&self, gems: &[PlacedGem], holders: &HashMap<Gem, u32>) -> Alignment {
        let query = of_both(&self.probes, gems);
        let mut alignment = align(&query, gems, self.recipe, |gem| {
            holders
                .get(&gem)
                .map(|holders| weight(*holders, self.books))
        });
        if let Some(positions) = self.positions {
            let position = |at: u32| {
                positions
                    .get(&query[at as usize].gem)
                    .copied()
                    .unwrap_or(at)
            };
            let spans = alignment.spans.iter_mut().map(|span| &mut span.query);
            for Extent {
                gems: Range { start, end },
                ..
            } in spans.chain(&mut alignment.same)
            {
                (*start, *end) = (position(*start), position(*end - 1) + 1);
            }
        }
        alignment
    }
}

/// The gems of a book or a list, all of which count.
pub fn kept_probes(gems: impl IntoIterator<Item = PlacedGem>) -> Vec<Probe> {
    let gems = gems.into_iter();
    gems.map(|placed| Probe { placed, kept: true }).collect()
}

/// The number of gems that a book containing the whole query would share with it: at least one if there are any probes.
#[must_use]
pub fn kept(probes: &[Probe]) -> u32 {
    let kept = probes.iter().filter(|probe| probe.kept).count() as u32;
    kept.max(u32::from(!probes.is_empty()))
}

/// The query gems to align with a book: those that a copy of the query would have, plus others that this book has.
#[must_use]
pub fn of_both(probes: &[Probe], book: &[PlacedGem]) -> Vec<PlacedGem> {
    let in_book: HashSet<Gem> = book.iter().map(|placed| placed.gem).collect();
    let laid = probes
        .iter()
        .filter(|probe| probe.kept || in_book.contains(&probe.placed.gem));
    laid.map(|probe| probe.placed).collect()
}
