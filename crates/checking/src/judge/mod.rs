//! Judging: which books match a query, and the resulting verdict.
//!
//! For each recipe, [`candidates`] looks a query up and [`judge`] decides which candidates match. [`merge`] combines the
//! recipes, [`rank`] orders the matches and determines the verdict, and [`Ranked::shown`] picks those to show. The first
//! two read an index through a [`Reader`].

use std::cmp::Ordering;
use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use lapidary_gems::{Gem, Recipe, Rule};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{LookedUp, Meets, Question, Reader, Score, verdict};
use lapidary_store::tally::fair_shares;
use lapidary_store::{
    BookKey, BookNo, Library, LibraryTally, Limits, Outline, Rights, StoreError, Tally,
};

/// Maximum number of exact copies considered per library.
const MOST_COPIES: u32 = 1_000;
/// Maximum number of books whose gems are read for a check in one recipe, of all libraries together.
pub const MOST_COMPARED: usize = 300;
/// Maximum number of books besides these that are only information.
const MOST_INFORMING: usize = 50;
/// As many books a library may have in any case, if its books decide.
const COMPARED_OF_ONE: usize = 10;
/// Number of outlines read at a time.
const READ_AT_ONCE: usize = 1_000;

/// Looks up the gems of a query, and the books with an identical text. Those are candidates even if they have no gem
/// in common.
pub fn candidates(reader: &dyn Reader, question: &Question<'_>) -> Result<Tally, StoreError> {
    let gems: Vec<Gem> = question
        .probes
        .iter()
        .map(|probe| probe.placed.gem)
        .collect();
    let limits = limits(question.recipe, question.rule, question.library);
    let limits = Limits {
        informing: question.informing,
        ..limits
    };
    with_identical(reader, question, reader.tally(&gems, limits)?)
}

/// The limits within which the gems of a query are looked up.
#[must_use]
pub fn limits<'a>(recipe: &Recipe, rule: &Rule, library: Option<&'a Library>) -> Limits<'a> {
    // If not all gems are posted, only one of the common gems may have a posting.
    let fewest = if recipe.posts_all() { rule.fewest() } else { 1 };
    Limits {
        cap: rule.common_cap,
        fewest,
        library,
        ..Limits::NONE
    }
}

/// Adds the books with an identical text to what looking up the gems of a query has found.
pub fn with_identical(
    reader: &dyn Reader,
    question: &Question<'_>,
    mut tally: Tally,
) -> Result<Tally, StoreError> {
    let limits = limits(question.recipe, question.rule, question.library);
    for digest in question.digests {
        let numbers = reader.with_digest(
            digest,
            Limits {
                cap: MOST_COPIES,
                ..limits
            },
        )?;
        for (outline, number) in reader.outline(&numbers)?.into_iter().zip(numbers) {
            if let Some(outline) = outline.filter(|outline| outline.is_of(question.digests)) {
                add(&mut tally, outline.library, number);
            }
        }
    }
    Ok(tally)
}

/// Adds a book without common gems, unless it is already there.
fn add(tally: &mut Tally, library: Library, number: BookNo) {
    let at = tally.libraries.iter().position(|of| of.library == library);
    let at = at.unwrap_or_else(|| {
        tally.libraries.push(LibraryTally::empty(library));
        tally.libraries.len() - 1
    });
    let books = &mut tally.libraries[at].books;
    if let Err(place) = books.binary_search_by_key(&number, |(number, _)| *number) {
        books.insert(place, (number, 0));
    }
}

/// Why a matching book is only information: it decides nothing in this answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InformationalReason {
    /// Its library is not trusted, and belongs to somebody else.
    UntrustedLibrary,
    /// It may be a collage of other books, which an administrator has not confirmed, and belongs to somebody else.
    Quarantined,
    /// Too little of the text and the book is literally the same. They are the same work in other words, such as two
    /// translations, or one quotes the other here and there.
    Scattered,
    /// One quotes the other: a few sentences are the same, a small share of either.
    Quoted,
    /// Only `rewriting` found it: both have content words in common, as the same work in other words has.
    Reworded,
    /// What they share is too little, by the policy of its library or of the check.
    TooLittle,
}

impl InformationalReason {
    /// Whether a policy says so: under another one, the match would count.
    #[must_use]
    pub fn is_of_policy(self) -> bool {
        self == Self::TooLittle
    }
}

/// A book that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its number.
    pub number: BookNo,
    /// Its library and id.
    pub key: BookKey,
    /// The position of its library among those looked up with the first of `recipes`.
    pub library: usize,
    /// The positions of the recipes that found it, in the order in which they were asked for.
    pub recipes: Vec<usize>,
    /// Its rights on the day of the question.
    pub rights: Rights,
    /// Whether its text is identical to the query.
    pub identical: bool,
    /// How much it has in common with the query.
    pub score: Score,
    /// Whether it is in an allow-list, and so does not affect the verdict.
    pub allowed: bool,
    /// Why it is only information, if it is.
    pub informs: Option<InformationalReason>,
}

impl Judged {
    /// Whether it is to be shown as this recipe found it, and not as an earlier one did.
    fn says_more_than(&self, earlier: &Self) -> bool {
        let informed = matches!(
            earlier.informs,
            Some(InformationalReason::Scattered | InformationalReason::Quoted)
        );
        let decides_now = informed && self.informs.is_none();
        decides_now || (earlier.score.common == 0 && self.score.common > 0)
    }

    /// Whether what it has of the text counts as covered. Only that too little is the same may keep it from deciding.
    #[must_use]
    pub fn covers(&self) -> bool {
        let could_decide = matches!(
            self.informs,
            None | Some(
                InformationalReason::Scattered
                    | InformationalReason::Quoted
                    | InformationalReason::TooLittle
            )
        );
        could_decide && !self.allowed && self.rights.forbids()
    }

    /// Whether it affects the verdict.
    #[must_use]
    pub fn decides(&self) -> bool {
        !self.allowed && self.informs.is_none()
    }
}

/// The matching books, in no particular order.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Judgements {
    /// Those that count.
    pub matches: Vec<Judged>,
    /// The disabled books that would match, without those that would only inform.
    pub disabled: Vec<BookNo>,
    /// Number of books with common gems that were not compared with the query, because there were too many. Those that would
    /// only inform are not counted.
    pub left_out: usize,
}

impl Judgements {
    /// Adds a book if it meets the rule or is identical.
    fn add(&mut self, question: &Question<'_>, found: Candidate, score: Score, meets: Meets) {
        let Candidate {
            number,
            library,
            outline,
            identical,
            informs,
            rights,
            ..
        } = found;
        let informs = match meets {
            _ if identical => informs,
            Meets::No => return,
            Meets::Quoted => informs.or(Some(InformationalReason::Quoted)),
            Meets::Scattered => informs.or(Some(InformationalReason::Scattered)),
            Meets::Yes => informs,
        };
        if outline.standing.disabled_at.is_some() {
            self.disabled.extend(informs.is_none().then_some(number));
            return;
        }
        // No allow-list lifts a ban.
        let allowed = rights != Rights::Forbidden && (question.is_allowed)(&outline);
        let key = BookKey {
            library: outline.library,
            id: outline.id,
        };
        let recipes = vec![0];
        self.matches.push(Judged {
            number,
            key,
            library,
            recipes,
            rights,
            identical,
            score,
            allowed,
            informs,
        });
    }
}

impl Judgements {
    /// Adds the matches of another recipe, at this position, that are no matches yet.
    pub fn add_others(&mut self, others: Self, recipe: usize) {
        let known: HashSet<BookNo> = self.matches.iter().map(|found| found.number).collect();
        let others = others.matches.into_iter();
        let new = others.filter(|found| !known.contains(&found.number));
        self.matches.extend(new.map(|found| Judged {
            recipes: vec![recipe],
            ..found
        }));
    }
}

/// A book that may match.
struct Candidate {
    number: BookNo,
    /// The position of its library.
    library: usize,
    /// The number of query gems with a posting for it.
    posted: u32,
    /// How likely this makes a match.
    promise: f64,
    outline: Outline,
    identical: bool,
    informs: Option<InformationalReason>,
    /// Its rights on the day of the question.
    rights: Rights,
}

impl Candidate {
    /// Who is compared first: books with the same text, then those with the strictest rights, because these decide, then those
    /// that most likely match. Disabled books are last.
    fn order(&self, other: &Self) -> Ordering {
        let rank = |of: &Self| {
            (
                of.outline.standing.disabled_at.is_some(),
                !of.identical,
                of.rights,
            )
        };
        rank(self)
            .cmp(&rank(other))
            .then(other.promise.total_cmp(&self.promise))
            .then(self.number.cmp(&other.number))
    }
}

/// Combines what several recipes found. A book found by more than one is shown as the first of them found it, preferably as
/// one that decides, and with gems in common.
#[must_use]
pub fn merge(of_recipes: Vec<Judgements>) -> Judgements {
    let mut all = Judgements::default();
    let mut places: HashMap<BookNo, usize> = HashMap::new();
    for (
        recipe,
        Judgements {
            matches,
            disabled,
            left_out,
        },
    ) in of_recipes.into_iter().enumerate()
    {
        all.disabled.extend(disabled);
        all.left_out = all.left_out.max(left_out);
        for found in matches {
            let place = *places.entry(found.number).or_insert(all.matches.len());
            match all.matches.get_mut(place) {
                Some(known) if found.says_more_than(known) => {
                    let recipes = std::iter::once(recipe)
                        .chain(known.recipes.drain(..))
                        .collect();
                    *known = Judged { recipes, ..found };
                }
                Some(known) => known.recipes.push(recipe),
                None => all.matches.push(Judged {
                    recipes: vec![recipe],
                    ..found
                }),
            }
        }
    }
    all.disabled.sort_unstable();
    all.disabled.dedup();
    all
}

/// Decides which candidates match. `looked_up` has the libraries of the candidates, in the same order. Reads the gems of at most
/// `most` books, and a fair part of them from each library, so that the books of one displace none of another. A few books
/// that are only information are read besides.
pub fn judge(
    reader: &dyn Reader,
    question: &Question<'_>,
    looked_up: &[LookedUp<'_>],
    most: usize,
) -> Result<Judgements, StoreError> {
    let mut all = Judgements::default();
    let [mut deciding, mut informing]: [Vec<Vec<Candidate>>; 2] = Default::default();
    for (library, query) in looked_up.iter().enumerate() {
        all.left_out += query.left_out();
        let undecided = sift(reader, question, library, query, &mut all)?;
        let (decide, inform) = undecided
            .into_iter()
            .partition(|found| found.informs.is_none());
        deciding.push(decide);
        informing.push(inform);
    }
    for (undecided, most, of_one) in [
        (deciding, most, COMPARED_OF_ONE),
        (informing, MOST_INFORMING, 1),
    ] {
        let needs: Vec<usize> = undecided.iter().map(Vec::len).collect();
        let shares = fair_shares(&needs, most, of_one);
        for ((query, candidates), share) in looked_up.iter().zip(undecided).zip(shares) {
            compare(question, query, candidates, share, &mut all)?;
        }
    }
    Ok(all)
}

/// Decides about the candidates of a library. Only the gems of the first are read: as many as its share.
fn compare(
    question: &Question<'_>,
    query: &LookedUp<'_>,
    mut candidates: Vec<Candidate>,
    share: usize,
    all: &mut Judgements,
) -> Result<(), StoreError> {
    candidates.sort_unstable_by(Candidate::order);
    for (at, found) in candidates.into_iter().enumerate() {
        let Candidate {
            number,
            posted,
            ref outline,
            identical,
            informs,
            ..
        } = found;
        let of_book = gems_of(outline, question);
        let (score, meets) = if at < share {
            query.judge(question.rule, number, posted, of_book, identical)?
        } else {
            all.left_out += usize::from(!identical && informs.is_none());
            (query.score(posted, of_book), Meets::No)
        };
        all.add(question, found, score, meets);
    }
    Ok(())
}

/// Decides about the candidates of a library for which the numbers of gems are enough, and returns the others.
fn sift(
    reader: &dyn Reader,
    question: &Question<'_>,
    library: usize,
    query: &LookedUp<'_>,
    all: &mut Judgements,
) -> Result<Vec<Candidate>, StoreError> {
    let mut undecided = Vec::new();
    for some in query.candidates().chunks(READ_AT_ONCE) {
        let numbers: Vec<BookNo> = some.iter().map(|(number, _)| *number).collect();
        for (outline, &(number, posted)) in reader.outline(&numbers)?.into_iter().zip(some) {
            let Some(outline) = outline.filter(|outline| !(question.is_left_out)(number, outline))
            else {
                continue;
            };
            let identical = outline.is_of(question.digests);
            let rights = outline.standing.rights_on(question.day, outline.rights);
            let of_book = gems_of(&outline, question);
            let promise = query.promise(question.rule, posted, of_book);
            let informs = (question.informs)(&outline);
            let found = Candidate {
                number,
                library,
                posted,
                promise,
                outline,
                identical,
                informs,
                rights,
            };
            match query.decided(question.rule, posted, of_book) {
                None => undecided.push(found),
                Some((score, meets)) => all.add(question, found, score, meets),
            }
        }
    }
    Ok(undecided)
}

/// The number of a book's gems.
fn gems_of(outline: &Outline, question: &Question<'_>) -> u32 {
    outline
        .gems
        .get(question.recipe.name())
        .copied()
        .unwrap_or_default()
}

/// The matches in order, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The strictest rights among the matches that affect it; `unknown` if there are none.
    pub verdict: Rights,
    matches: Vec<Judged>,
}

/// Orders matches: first those that are more than information, and last those that say the same in other words; then identical
/// texts, by number of common gems, and by score.
#[must_use]
pub fn rank(mut matches: Vec<Judged>) -> Ranked {
    fn order(a: &Judged, b: &Judged) -> Ordering {
        let by_informs = |of: &Judged| {
            (
                of.informs.is_some(),
                of.informs == Some(InformationalReason::Reworded),
            )
        };
        let informs = by_informs(a).cmp(&by_informs(b));
        let identical = b.identical.cmp(&a.identical);
        let common = b.score.common.cmp(&a.score.common);
        let alike = b.score.score.total_cmp(&a.score.score);
        informs
            .then(identical)
            .then(common)
            .then(alike)
            .then_with(|| a.key.cmp(&b.key))
    }

    matches.sort_by(order);
    let verdict = verdict(
        matches
            .iter()
            .filter(|found| found.decides())
            .map(|found| found.rights),
    );
    Ranked { verdict, matches }
}

/// The matches to show.
#[derive(Debug, Clone, PartialEq)]
pub struct ToShow {
    /// The matches, best first.
    pub matches: Vec<Judged>,
    /// The best match behind the verdict.
    pub decisive: Option<Judged>,
}

impl Ranked {
    /// Up to `most` matches that [cover](Judged::covers) a part of the text and that [`Ranked::shown`] leaves out with this limit.
    #[must_use]
    pub fn hidden(&self, limit: usize, most: usize) -> Vec<Judged> {
        self.matches
            .iter()
            .skip(limit)
            .filter(|found| found.covers())
            .take(most)
            .cloned()
            .collect()
    }

    /// The first matches that are more than information.
    pub fn deciding(&self, most: usize) -> impl Iterator<Item = &Judged> {
        self.matches[..self.total()].iter().take(most)
    }

    /// The number of matches, without those that only inform.
    #[must_use]
    pub fn total(&self) -> usize {
        self.matches
            .partition_point(|found| found.informs.is_none())
    }

    /// The number of matches that only inform.
    #[must_use]
    pub fn informing(&self) -> usize {
        self.matches.len() - self.total()
    }

    /// The number of these that are quotations.
    #[must_use]
    pub fn quoted(&self) -> usize {
        let informing = self.matches[self.total()..].iter();
        informing
            .filter(|found| found.informs == Some(InformationalReason::Quoted))
            .count()
    }

    /// The number of these that only `rewriting` found.
    #[must_use]
    pub fn reworded(&self) -> usize {
        let informing = &self.matches[self.total()..];
        let is_other = |found: &Judged| found.informs != Some(InformationalReason::Reworded);
        informing.len() - informing.partition_point(is_other)
    }

    /// The libraries of the matches that count for whoever asked. A policy of their own hides none.
    #[must_use]
    pub fn libraries(&self) -> BTreeSet<Library> {
        let counting = self
            .matches
            .iter()
            .filter(|found| found.informs.is_none_or(InformationalReason::is_of_policy));
        counting.map(|found| found.key.library.clone()).collect()
    }

    /// Up to `limit` matches. The best one behind the verdict takes the last place if it would not be shown, so that
    /// other matches cannot hide it.
    #[must_use]
    pub fn shown(self, limit: usize) -> ToShow {
        let Self {
            verdict,
            mut matches,
        } = self;
        let at = matches
            .iter()
            .position(|found| found.decides() && found.rights == verdict);
        let decisive = at.map(|at| matches[at].clone());
        if let (Some(at), Some(last)) = (at, limit.checked_sub(1))
            && at > last
        {
            matches[last..=at].rotate_right(1);
        }
        matches.truncate(limit);
        ToShow { matches, decisive }
    }
}

#[cfg(test)]
mod tests;
