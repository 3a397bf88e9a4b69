//! Judging: which books match a query, and the resulting verdict.
//!
//! For each recipe, [`candidates`] looks a query up and [`judge`] decides which candidates match. [`merge`] combines the
//! recipes, [`rank`] orders the matches and determines the verdict, and [`Ranked::shown`] picks those to show. The first
//! two read an index through a [`Reader`].

use std::cmp::Ordering;

use hashbrown::HashMap;
use lapidary_gems::{Gem, Recipe, Rule};

use super::{LookedUp, Question, Reader, Score, verdict};
use crate::index::{BookKey, BookNo, Library, LibraryTally, Limits, Outline, Rights, StoreError, Tally};

/// Maximum number of exact copies considered per library.
const MOST_COPIES: u32 = 10_000;
/// Number of outlines read at a time.
const READ_AT_ONCE: usize = 1_000;

/// Looks up the gems of a query, and the books with an identical text. Those are candidates even if they have no gem
/// in common.
pub fn candidates(reader: &dyn Reader, question: &Question<'_>) -> Result<Tally, StoreError> {
    let gems: Vec<Gem> = question.probes.iter().map(|probe| probe.placed.gem).collect();
    let limits = limits(question.recipe, question.rule, question.library);
    with_identical(reader, question, reader.tally(&gems, limits)?)
}

/// The limits within which the gems of a query are looked up.
#[must_use]
pub fn limits<'a>(recipe: &Recipe, rule: &Rule, library: Option<&'a Library>) -> Limits<'a> {
    // If not all gems are posted, only one of the common gems may have a posting.
    let fewest = if recipe.posts_all() { rule.fewest() } else { 1 };
    Limits { cap: rule.common_cap, fewest, library }
}

/// Adds the books with an identical text to what looking up the gems of a query has found.
pub fn with_identical(reader: &dyn Reader, question: &Question<'_>, mut tally: Tally) -> Result<Tally, StoreError> {
    let limits = limits(question.recipe, question.rule, question.library);
    for digest in question.digests {
        let numbers = reader.with_digest(digest, Limits { cap: MOST_COPIES, ..limits })?;
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
    /// Whether it does not affect the verdict.
    pub allowed: bool,
}

/// The matching books, in no particular order.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Judgements {
    /// Those that count.
    pub matches: Vec<Judged>,
    /// The disabled books that would match.
    pub disabled: Vec<BookNo>,
}

/// Combines what several recipes found. A book found by more than one is shown as the first of them found it, preferably
/// with gems in common.
#[must_use]
pub fn merge(of_recipes: Vec<Judgements>) -> Judgements {
    let mut all = Judgements::default();
    let mut places: HashMap<BookNo, usize> = HashMap::new();
    for (recipe, Judgements { matches, disabled }) in of_recipes.into_iter().enumerate() {
        all.disabled.extend(disabled);
        for found in matches {
            let place = *places.entry(found.number).or_insert(all.matches.len());
            match all.matches.get_mut(place) {
                Some(known) if known.score.common == 0 && found.score.common > 0 => {
                    let recipes = std::iter::once(recipe).chain(known.recipes.drain(..)).collect();
                    *known = Judged { recipes, ..found };
                }
                Some(known) => known.recipes.push(recipe),
                None => all.matches.push(Judged { recipes: vec![recipe], ..found }),
            }
        }
    }
    all.disabled.sort_unstable();
    all.disabled.dedup();
    all
}

/// Decides which candidates match. `looked_up` has the libraries of the candidates, in the same order.
pub fn judge(
    reader: &dyn Reader,
    question: &Question<'_>,
    looked_up: &[LookedUp<'_>],
) -> Result<Judgements, StoreError> {
    let mut all = Judgements::default();
    for (library, query) in looked_up.iter().enumerate() {
        for some in query.candidates().chunks(READ_AT_ONCE) {
            let numbers: Vec<BookNo> = some.iter().map(|(number, _)| *number).collect();
            for (outline, &(number, posted)) in reader.outline(&numbers)?.into_iter().zip(some) {
                let Some(outline) = outline.filter(|outline| !(question.is_left_out)(number, outline)) else {
                    continue;
                };
                let identical = outline.is_of(question.digests);
                let of_book = outline.gems.get(question.recipe.name()).copied().unwrap_or_default();
                let (score, meets) = query.judge(question.rule, number, posted, of_book)?;
                if !(meets || identical) {
                    continue;
                }
                if outline.standing.disabled_since.is_some() {
                    all.disabled.push(number);
                    continue;
                }
                let Outline { library: name, id, rights, standing, .. } = outline;
                let (key, rights) = (BookKey { library: name, id }, standing.rights_on(question.day, rights));
                // No allow-list lifts a ban.
                let allowed = rights != Rights::Forbidden && (question.is_allowed)(&key);
                all.matches.push(Judged { number, key, library, recipes: vec![0], rights, identical, score, allowed });
            }
        }
    }
    Ok(all)
}

/// The matches in order, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The strictest rights among the matches that affect it; `unknown` if there are none.
    pub verdict: Rights,
    matches: Vec<Judged>,
}

/// Orders matches, best first: identical texts, then by number of common gems, then by score.
#[must_use]
pub fn rank(mut matches: Vec<Judged>) -> Ranked {
    fn order(a: &Judged, b: &Judged) -> Ordering {
        let identical = b.identical.cmp(&a.identical);
        let common = b.score.common.cmp(&a.score.common);
        let alike = b.score.score.total_cmp(&a.score.score);
        identical.then(common).then(alike).then_with(|| a.key.cmp(&b.key))
    }

    matches.sort_by(order);
    let verdict = verdict(matches.iter().filter(|found| !found.allowed).map(|found| found.rights));
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
    /// Up to `most` matches that others must not publish and that [`Ranked::shown`] leaves out with this limit.
    #[must_use]
    pub fn hidden(&self, limit: usize, most: usize) -> Vec<Judged> {
        let forbids = |found: &&Judged| !found.allowed && found.rights.forbids();
        self.matches.iter().skip(limit).filter(forbids).take(most).cloned().collect()
    }

    /// The number of matches.
    #[must_use]
    pub fn total(&self) -> usize {
        self.matches.len()
    }

    /// Up to `limit` matches. The best one behind the verdict takes the last place if it would not be shown, so that
    /// other matches cannot hide it.
    #[must_use]
    pub fn shown(self, limit: usize) -> ToShow {
        let Self { verdict, mut matches } = self;
        let at = matches.iter().position(|found| !found.allowed && found.rights == verdict);
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
