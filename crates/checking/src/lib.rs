//! Matching: from the gems of a query to the books that match it. Decides what matches (`judge`), and computes how much
//! is shared, where, how the texts relate, the resulting rights, and how rare such a match is by accident.
//!
//! Everything here is arithmetic on gems and rights, apart from what judging reads through a [`Reader`].
//!
//! It knows no files, no requests and no language: a report puts its findings into words.
//!
//! ```
//! use lapidary_checking::{Meets, RuleChanges, Score, meets};
//! use lapidary_gems::Recipe;
//!
//! let recipe = Recipe::documented();
//! // A query of 40 gems that has five in common with a book of 2,000.
//! let score = Score::new(5, 40, 2_000);
//! let aligned = || Err("as the rule asks for no evidence, nobody aligns the texts");
//! assert_eq!(meets(&recipe, &recipe.rule(), &score, 40, aligned)?, Meets::Yes);
//! let stricter = RuleChanges { min_share: Some(0.2), ..RuleChanges::default() }.on(recipe.rule());
//! assert_eq!(meets(&recipe, &stricter, &score, 40, aligned)?, Meets::No);
//! # Ok::<(), &str>(())
//! ```

mod align;
mod calibration;
mod collage;
mod covered;
mod exact;
mod judge;
mod listed;
mod lookup;
mod policy;
mod question;
mod works;

pub use align::{Alignment, Claimed, Extent, Range, Relation, Spacing, Span, align};
pub use calibration::{Calibration, Fit};
pub use collage::{SharedWork, is_collage, name_words};
pub use covered::{Covered, join_passages};
pub use exact::memory_to_compare;
pub use exact::{Exact, Identity, Likeness, Passage, Piece, exact, exact_in_other_words};
pub use judge::{
    InformationalReason, Judged, Judgements, MOST_COMPARED, Ranked, ToShow, candidates, judge,
    limits, merge, rank, with_identical,
};
use lapidary_gems::{Recipe, Rule};
pub use listed::{Listed, spread};
pub use lookup::{LookedUp, kept, kept_probes, of_both};
pub use policy::Policy;
pub use question::{Question, Reader};
pub use works::{Sketch, works};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use lapidary_store::Rights;

/// Whether a score and an alignment meet a rule.
fn is_match<E>(
    rule: &Rule,
    score: &Score,
    aligned: impl FnOnce() -> Result<Alignment, E>,
) -> Result<bool, E> {
    let few = rule.is_few(score.common);
    if is_too_little(rule, score) {
        return Ok(false);
    }
    if !few && rule.min_evidence <= 0.0 && ALONE * f64::from(score.common) >= rule.min_support {
        return Ok(true);
    }
    let Alignment {
        evidence,
        support,
        apart,
        ..
    } = aligned()?;
    let is_more_than_a_phrase = !few || apart >= rule.fewest();
    Ok(evidence >= rule.min_evidence && support >= rule.min_support && is_more_than_a_phrase)
}

/// Whether a score is too low for a match, however the gems are placed.
fn is_too_little(rule: &Rule, score: &Score) -> bool {
    let share = score.share_of_query.max(score.share_of_book);
    score.common < rule.fewest() || share < rule.min_share || score.score < rule.min_score
}

/// If both texts have at least this many gems, and less than this share of the gems of each in common, but no passage, then
/// what they have in common is scattered over both. `docs/explanation/evidence.md` has what was measured.
const LONG: u32 = 64;
const SCATTERED: f64 = 0.12;
/// What is less than this share of either is scattered, even if it is a passage.
const LITTLE: f64 = 0.03;
/// Fewer than [`Rule::FEW`] common gems are scattered, too, if their distances drift as in another translation. Then enough of them
/// must keep their distance, or at least so many that do not overlap be this share of the gems.
const MOVED: (u32, f64) = (4, 0.2);
/// A copy in which words were [replaced](Spacing::Same) has at least this share of the gems of one text: if few are
/// common, and if they may be scattered and are fewer than [`LONG`].
const REPLACED: (f64, f64) = (0.08, 0.05);

/// Whether a book matches a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meets {
    /// It does not meet the rule.
    No,
    /// It meets the rule, but by a quotation: what both have in common is too small a [share](Rule::min_share_of_few) of either.
    Quoted,
    /// It meets the rule, but what both have in common is scattered over them: they are the same work in other words, or
    /// one quotes the other here and there.
    Scattered,
    /// It does.
    Yes,
}

/// Whether two texts say the same in other words: enough of it near each other in both, or much of it in the same order.
fn says_the_same<E>(
    rule: &Rule,
    score: &Score,
    aligned: impl FnOnce() -> Result<Alignment, E>,
) -> Result<Meets, E> {
    if score.common < rule.fewest() {
        return Ok(Meets::No);
    }
    let share = score.share_of_query.max(score.share_of_book);
    let is_met = aligned()?.rewording.is_some_and(|rewording| {
        let has_passage = rewording.nearby >= rule.fewest() && share >= rule.min_share;
        has_passage || rewording.follows_order()
    });
    Ok(if is_met { Meets::Scattered } else { Meets::No })
}

/// Whether a book matches a text by their score and alignment, of which the `shorter` one has so many gems. The alignment is
/// computed only if the score does not already decide.
///
/// # Errors
/// The errors of computing the alignment.
pub fn meets<E>(
    recipe: &Recipe,
    rule: &Rule,
    score: &Score,
    shorter: u32,
    aligned: impl Fn() -> Result<Alignment, E>,
) -> Result<Meets, E> {
    if recipe.is_rewriting() {
        return says_the_same(rule, score, aligned);
    }
    if !is_match(rule, score, &aligned)? {
        return Ok(Meets::No);
    }
    let share = score.share_of_query.max(score.share_of_book);
    // A rule without a least share is for texts that share little, and gems of signatures stand for the whole text.
    let may_be_scattered =
        shorter >= LONG && share < SCATTERED && rule.min_share > 0.0 && !recipe.is_signature();
    if rule.is_few(score.common) {
        return Ok(by_few(rule, score, &aligned()?));
    }
    let is_enough = share >= REPLACED.1 || score.common >= LONG;
    let is_copied = |alignment: Alignment| {
        alignment.has_passage || alignment.spacing == Spacing::Same && is_enough
    };
    let is_scattered = may_be_scattered && (share < LITTLE || !is_copied(aligned()?));
    Ok(if is_scattered {
        Meets::Scattered
    } else {
        Meets::Yes
    })
}

/// Whether a match of few gems is one. They may be too small a [share](Rule::min_share_of_few), or the distances between them drift,
/// and they are not so many that this proves nothing.
fn by_few(rule: &Rule, score: &Score, alignment: &Alignment) -> Meets {
    let share = score.share_of_query.max(score.share_of_book);
    let share_of = |gems: u32| share * f64::from(gems) / f64::from(score.common);
    let Alignment {
        apart,
        at_same_distance,
        spacing,
        ..
    } = *alignment;
    if spacing == Spacing::Same && share_of(apart) >= REPLACED.0 {
        return Meets::Yes;
    }
    let (least, least_share) = MOVED;
    let is_moved = apart >= least && share_of(apart) >= least_share;
    if share_of(apart) < rule.min_share_of_few {
        Meets::Quoted
    } else if spacing == Spacing::Similar
        && !is_moved
        && share_of(at_same_distance) < rule.min_share_of_few
    {
        Meets::Scattered
    } else {
        Meets::Yes
    }
}

/// Overrides for parts of a rule.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct RuleChanges {
    /// Minimum number of common gems.
    pub min_common: Option<u32>,
    /// Minimum share in common, however few gems are.
    pub min_share: Option<f64>,
    /// A gem in more books than this does not count.
    pub common_cap: Option<u32>,
    /// Minimum evidence.
    pub min_evidence: Option<f64>,
    /// Minimum support.
    pub min_support: Option<f64>,
}

impl RuleChanges {
    /// Applies these overrides to a rule.
    #[must_use]
    pub fn on(self, rule: Rule) -> Rule {
        Rule {
            min_common: self.min_common.unwrap_or(rule.min_common),
            min_share: self.min_share.unwrap_or(rule.min_share),
            min_score: rule.min_score,
            min_share_of_few: if self.min_share.is_some() {
                0.0
            } else {
                rule.min_share_of_few
            },
            common_cap: self.common_cap.unwrap_or(rule.common_cap),
            min_evidence: self.min_evidence.unwrap_or(rule.min_evidence),
            min_support: self.min_support.unwrap_or(rule.min_support),
        }
    }
}

/// How much a query and a book have in common.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Score {
    /// Number of common gems.
    pub common: u32,
    /// Share of the query's gems that the book has, from 0 to 1.
    pub share_of_query: f64,
    /// Share of the book's gems that the query has, from 0 to 1.
    pub share_of_book: f64,
    /// Overall similarity, from 0 to 1: twice the common gems over the gems of both (Dice 1945).
    pub score: f64,
}

impl Score {
    /// The score for `common` gems between a query of `query` gems and a book of `book` gems.
    #[must_use]
    pub fn new(common: u32, query: u32, book: u32) -> Self {
        let part = |of: f64| {
            if of > 0.0 {
                (f64::from(common) / of).min(1.0)
            } else {
                0.0
            }
        };
        let (query, book) = (f64::from(query), f64::from(book));
        Self {
            common,
            share_of_query: part(query),
            share_of_book: part(book),
            score: part(f64::midpoint(query, book)),
        }
    }
}

/// How much an isolated gem counts, compared with one that is near another in the order of both texts.
/// Chance, quotations and forgers scatter gems; a copy keeps their order.
const ALONE: f64 = 0.5;

/// The weight of a gem that this many books of an index have: 1 if it is in one book, and towards 0 if it is in all
/// books of an unlimited index. This is the inverse document frequency of Spärck Jones (1972), relative to its
/// maximum.
#[must_use]
pub fn weight(holders: u32, books: u64) -> f64 {
    let books = books.max(1) as f64;
    let frequency = f64::from(holders).clamp(1.0, books);
    (1.0 + books / frequency).log2() / (1.0 + books).log2()
}

/// Why a check came to its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Books match.
    Match,
    /// Books match, but all of them are only information: none decides.
    NoneDecides,
    /// No book matches.
    NoMatch,
    /// The text is too short for a match: it has fewer gems than a match needs.
    TooShort,
    /// Most of the text is in so many books that it does not count.
    MostlyCommon,
    /// No book has gems of the recipe, so there was nothing to compare with.
    NothingToCompare,
}

impl Reason {
    /// Whether the check could have found a match. If it could not, its finding none says nothing about the text.
    #[must_use]
    pub fn is_answer(self) -> bool {
        match self {
            Self::Match | Self::NoneDecides | Self::NoMatch => true,
            Self::TooShort | Self::MostlyCommon | Self::NothingToCompare => false,
        }
    }
}

/// The strictest rights among the matches; `unknown` if there are none.
#[must_use]
pub fn verdict(rights: impl IntoIterator<Item = Rights>) -> Rights {
    rights.into_iter().min().unwrap_or(Rights::Unknown)
}

#[cfg(test)]
mod tests {
    use lapidary_gems::{Gem, Place, PlacedGem, Recipe};

    use super::{
        Alignment, Meets, Relation, Rule, Score, Spacing, align, is_match, meets, verdict, weight,
    };
    use lapidary_store::Rights::{Forbidden, Free, Protected, PublicDomain, Unknown};

    fn by_score(rule: &Rule, score: Score) -> bool {
        is_match(rule, &score, || Err(())).expect("the score decides")
    }

    #[test]
    fn gems_that_stand_alone_count_half() {
        let rule = Rule {
            min_common: 2,
            min_support: 2.0,
            ..Rule::default()
        };
        let met = |common, support| {
            let (spans, same, apart) = (Vec::new(), Vec::new(), common);
            let alignment = Alignment {
                relation: Relation::Overlap,
                spans,
                same,
                has_passage: false,
                is_in_order: true,
                rewording: None,
                evidence: 0.0,
                support,
                apart,
                at_same_distance: apart,
                spacing: Spacing::Other,
                segment_score: 0.0,
            };
            is_match(&rule, &Score::new(common, 100, 100), || {
                Ok::<_, ()>(alignment)
            })
        };
        assert_eq!(
            [met(2, 1.0), met(2, 2.0), met(3, 1.5), met(3, 2.5)].map(Result::unwrap),
            [false, true, false, true]
        );
        assert!(
            by_score(&rule, Score::new(4, 100, 100)),
            "four are enough wherever they stand"
        );
        let asks = Rule {
            min_evidence: 0.1,
            ..rule
        };
        assert_eq!(
            is_match(&asks, &Score::new(4, 100, 100), || Err("read")),
            Err("read")
        );
    }

    /// A query of so many gems has those of the book's that `common` selects, from another place of the book if `moved`.
    fn of_long_texts(
        recipe: &Recipe,
        gems: u32,
        common: impl Fn(u64) -> bool,
        moved: bool,
    ) -> (Meets, Relation) {
        let all = 0..u64::from(gems);
        let text = |gems: &mut dyn Iterator<Item = u64>| -> Vec<PlacedGem> {
            let placed = gems.map(|gem| PlacedGem {
                gem: Gem(gem),
                place: None,
            });
            placed.collect()
        };
        let book = text(&mut all.clone());
        let taken = |at: u64| if moved { at * 7 % all.end } else { at };
        let other = |at: u64| at + 10_000;
        let query = all
            .clone()
            .map(|at| if common(at) { taken(at) } else { other(at) });
        let query = text(&mut query.into_iter());
        let alignment = align(&query, &book, recipe, |_| Some(1.0));
        let common = all.filter(|at| common(*at)).count() as u32;
        let score = Score::new(common, gems, gems);
        let met = meets(recipe, &recipe.rule(), &score, gems, || {
            Ok::<_, ()>(alignment.clone())
        });
        (met.expect("no error"), alignment.relation_if_scattered())
    }

    #[test]
    fn what_is_scattered_over_long_texts_is_no_copy() {
        for recipe in [Recipe::hardened(), Recipe::hardened_fine()] {
            let long = |common: fn(u64) -> bool, moved| of_long_texts(&recipe, 400, common, moved);
            let every_eighth: fn(u64) -> bool = |at| at % 8 == 0;
            let fewer: fn(u64) -> bool = |at| at % 20 < 2 && at % 40 != 0;
            assert_eq!(long(every_eighth, false).0, Meets::Yes);
            assert_eq!(long(fewer, false), (Meets::Scattered, Relation::SameWork));
            assert_eq!(long(fewer, true), (Meets::Scattered, Relation::Quotations));
            let a_passage: fn(u64) -> bool = |at| (100..112).contains(&at) || at % 40 == 0;
            assert_eq!(long(a_passage, false).0, Meets::Yes);
            assert_eq!(long(|at| at == 50, false).0, Meets::No);
        }
        let exact = Recipe::documented();
        assert_eq!(
            of_long_texts(&exact, 400, |at| at % 40 == 0, false).0,
            Meets::Yes
        );
        let compact = Recipe::hardened_compact();
        let of_passage = |length: u64| {
            let (met, _) = of_long_texts(
                &compact,
                1_000,
                |at| (100..100 + length).contains(&at),
                false,
            );
            met
        };
        assert_eq!(
            [9, 10, 15, 16, 29, 30].map(of_passage),
            [
                Meets::No,
                Meets::Quoted,
                Meets::Quoted,
                Meets::Scattered,
                Meets::Scattered,
                Meets::Yes
            ]
        );
        let short = Score::new(4, 63, 1_000);
        let scattered = |shorter| {
            let alignment = align(&[], &[], &Recipe::hardened(), |_| None);
            meets(
                &Recipe::hardened(),
                &Rule {
                    min_support: 0.0,
                    ..Rule::QUOTED
                },
                &short,
                shorter,
                || Ok::<_, ()>(alignment.clone()),
            )
        };
        assert_eq!(
            [scattered(63), scattered(64)],
            [Ok(Meets::Yes), Ok(Meets::Scattered)]
        );
    }

    /// Whether a query of 2,000 gems says the same as a book of as many, if it has these of the book's, each at a place of its own.
    fn reworded(common: impl Iterator<Item = (usize, u64)>) -> Meets {
        let text = |first: u64| -> Vec<PlacedGem> {
            let gems = (first..first + 2_000).map(Gem);
            gems.map(|gem| PlacedGem { gem, place: None }).collect()
        };
        let (mut query, book, mut shared) = (text(10_000), text(0), 0);
        for (at, gem) in common {
            query[at].gem = Gem(gem);
            shared += 1;
        }
        let recipe = Recipe::rewriting();
        let score = Score::new(shared, 2_000, 2_000);
        let met = meets(&recipe, &recipe.rule(), &score, 2_000, || {
            Ok::<_, ()>(align(&query, &book, &recipe, |_| Some(1.0)))
        });
        met.expect("no error")
    }

    #[test]
    fn the_same_in_other_words_is_near_or_in_order() {
        let near = |gems: u64| reworded((0..gems).map(|at| (900 + at as usize, at * 7 % 20)));
        assert_eq!([near(19), near(20)], [Meets::No, Meets::Scattered]);
        let near_in_one = reworded((0..20).map(|at| (900 + at as usize, at * 100)));
        assert_eq!(near_in_one, Meets::No);
        let in_order = |gems: u64| reworded((0..gems).map(|at| (at as usize * 100, at * 90)));
        assert_eq!([in_order(15), in_order(16)], [Meets::No, Meets::Scattered]);
        let in_no_order = reworded((0..20).map(|at| (at as usize * 100, at * 7 % 20 * 100)));
        assert_eq!(in_no_order, Meets::No);
    }

    /// Below sixteen gems, one phrase is nothing, and what does not overlap must be a large share.
    #[test]
    fn a_phrase_or_quotation_is_no_copy() {
        let met = |common: u32, apart, of| {
            let (spans, same, support) = (Vec::new(), Vec::new(), f64::from(common));
            let alignment = Alignment {
                relation: Relation::Quotations,
                spans,
                same,
                has_passage: false,
                is_in_order: true,
                rewording: None,
                evidence: 0.0,
                support,
                apart,
                at_same_distance: apart,
                spacing: Spacing::Other,
                segment_score: 0.0,
            };
            let (recipe, score) = (Recipe::hardened(), Score::new(common, of, 1_000));
            let met = meets(&recipe, &Rule::HARDENED, &score, of, || {
                Ok::<_, ()>(alignment.clone())
            });
            met.expect("no error")
        };
        let [yes, quoted] = [Meets::Yes, Meets::Quoted];
        assert_eq!(
            [met(2, 2, 8), met(2, 1, 8), met(2, 2, 17), met(2, 2, 67)],
            [yes, Meets::No, quoted, Meets::No]
        );
        assert_eq!([met(6, 6, 50), met(6, 5, 50)], [yes, quoted]);
        assert_eq!(
            [met(15, 14, 100), met(15, 11, 100), met(16, 3, 100)],
            [yes, quoted, yes]
        );
    }

    /// Whether a page of so many gems, 200 bytes apart and 40 long, matches a book that has some of them, as far apart and as
    /// long as it says.
    fn of_a_page(gems: u32, common: &[usize], distance: u64, length: Option<u64>) -> Meets {
        let text = |gems: &mut dyn Iterator<Item = (u64, u64)>, length: Option<u64>| {
            let placed = gems.map(|(gem, start)| PlacedGem {
                gem: Gem(gem),
                place: length.map(|length| Place {
                    start,
                    end: start + length,
                }),
            });
            placed.collect::<Vec<_>>()
        };
        let page = text(
            &mut (0..u64::from(gems)).map(|at| (at, 200 * at)),
            length.map(|_| 40),
        );
        let book = (0..)
            .zip(common)
            .map(|(at, gem)| (*gem as u64, distance * at));
        let book = text(&mut book.into_iter(), length);
        let recipe = Recipe::hardened();
        let score = Score::new(common.len() as u32, gems, 400);
        let met = meets(&recipe, &recipe.rule(), &score, gems, || {
            Ok::<_, ()>(align(&page, &book, &recipe, |_| Some(1.0)))
        });
        met.expect("no error")
    }

    /// Whether a text of gems 200 bytes apart matches a book that has some of them, and others between them, 200 and so many bytes apart.
    fn of_a_text(gems: u64, is_common: impl Fn(u64) -> bool, stretched: u64) -> Meets {
        of_letters(1, gems, is_common, stretched)
    }

    /// The same if a letter has so many bytes, and gems are as many letters apart.
    fn of_letters(bytes: u64, gems: u64, is_common: impl Fn(u64) -> bool, stretched: u64) -> Meets {
        let text = |first: u64, distance: u64| {
            let placed = (0..gems).map(|at| PlacedGem {
                gem: Gem(if is_common(at) { at } else { first + at }),
                place: Some(Place {
                    start: distance * at,
                    end: distance * at + 40 * bytes,
                }),
            });
            placed.collect::<Vec<_>>()
        };
        let distance = 200 * bytes;
        let (query, book) = (text(10_000, distance), text(20_000, distance + stretched));
        let common = (0..gems).filter(|at| is_common(*at)).count() as u32;
        let (recipe, score) = (
            Recipe::hardened_compact(),
            Score::new(common, gems as u32, gems as u32),
        );
        let met = meets(&recipe, &recipe.rule(), &score, gems as u32, || {
            Ok::<_, ()>(align(&query, &book, &recipe, |_| Some(1.0)))
        });
        met.expect("no error")
    }

    /// A copy with other words for some has as few gems as another translation, but they keep their distance, all over the text.
    #[test]
    fn replaced_words_are_not_another_translation() {
        let [yes, scattered, quoted] = [Meets::Yes, Meets::Scattered, Meets::Quoted];
        let few = [0, 3, 4].map(|stretched| of_a_text(100, |at| at % 8 == 3, stretched));
        assert_eq!(few, [yes, yes, quoted]);
        let of_two_bytes =
            [0, 7, 8].map(|stretched| of_letters(2, 100, |at| at % 8 == 3, stretched));
        assert_eq!(of_two_bytes, [yes, yes, quoted]);
        let many = [0, 3, 4].map(|stretched| of_a_text(400, |at| at % 16 == 3, stretched));
        assert_eq!(many, [yes, yes, scattered]);
        // In one place, they are a quotation; and too few prove nothing.
        assert_eq!(of_a_text(100, |at| (40..52).contains(&at), 0), quoted);
        assert_eq!(
            of_a_text(100, |at| at > 40 && at < 80 && at % 3 == 0, 0),
            quoted
        );
        assert_eq!(of_a_text(100, |at| at % 14 == 3, 0), quoted);
        assert_eq!(of_a_text(640, |at| at % 32 == 3, 0), scattered);
        assert_eq!(of_a_text(6_400, |at| at % 32 == 3, 0), yes);
        assert_eq!(of_a_text(6_400, |at| at % 32 == 3, 4), scattered);
    }

    /// Two translations of a page have a few words in common, but seldom at the same distance.
    #[test]
    fn few_gems_of_a_copy_keep_their_distance() {
        let [yes, scattered] = [Meets::Yes, Meets::Scattered];
        let of_ten = |common: &[usize], distance| of_a_page(10, common, distance, Some(40));
        let of_two = [389, 390, 400, 410, 411].map(|distance| of_ten(&[3, 5], distance));
        assert_eq!(of_two, [scattered, yes, yes, yes, scattered]);
        assert_eq!(of_ten(&[3, 5, 7], 300), scattered);
        assert_eq!(of_ten(&[3, 5, 8], 400), yes, "two of them do");
        assert_eq!(of_ten(&[3, 5], 200), yes, "half is left out");
        let of_four = [20, 21].map(|gems| of_a_page(gems, &[3, 5, 7, 9], 300, Some(40)));
        assert_eq!(of_four, [yes, scattered], "20 % of a page");
        let lengthened = [45, 46].map(|length| of_a_page(10, &[3, 5], 300, Some(length)));
        assert_eq!(lengthened, [scattered, yes], "an eighth is disguise");
        assert_eq!(of_a_page(10, &[3, 5], 300, None), yes, "nobody knows");
    }

    #[test]
    fn the_strictest_rights_decide() {
        assert_eq!(verdict([Unknown, Protected, Forbidden, Free]), Forbidden);
        assert_eq!(verdict([Unknown, PublicDomain, Protected, Free]), Protected);
        assert_eq!(verdict([Unknown, PublicDomain, Free]), Free);
        assert_eq!(verdict([Unknown, PublicDomain]), PublicDomain);
        assert_eq!(verdict([]), Unknown);
    }

    #[test]
    fn the_rule() {
        let rule = Rule {
            min_share: 0.1,
            ..Rule::default()
        };
        let table = [
            (3, 10, 10, true),
            (2, 10, 10, false),
            (3, 100, 100, false),
            (3, 100, 30, true),
            (3, 30, 100, true),
        ];
        for (common, query, book, matches) in table {
            assert_eq!(
                by_score(&rule, Score::new(common, query, book)),
                matches,
                "{common} of {query} and {book}"
            );
        }
        let none = Rule {
            min_common: 0,
            ..Rule::default()
        };
        assert!(
            !by_score(&none, Score::new(0, 10, 10)),
            "nothing in common is never a match"
        );
    }

    #[test]
    fn a_rare_gem_weighs_more() {
        assert_eq!((weight(1, 1), weight(1, 1_000_000)), (1.0, 1.0));
        let [few, some, all] = [2, 1_000, 1_000_000].map(|holders| weight(holders, 1_000_000));
        assert!(
            1.0 > few && few > some && some > all && all > 0.0,
            "{few} {some} {all}"
        );
        assert_eq!(
            [weight(9, 3)].map(f64::to_bits),
            [weight(3, 3)].map(f64::to_bits),
            "no more than all"
        );
    }

    #[test]
    fn scores() {
        let score = Score::new(5, 10, 20);
        assert_eq!((score.share_of_query, score.share_of_book), (0.5, 0.25));
        assert!((score.score - 1.0 / 3.0).abs() < 1e-12);
        assert!(Score::new(0, 0, 0).score < f64::MIN_POSITIVE);
    }
}
