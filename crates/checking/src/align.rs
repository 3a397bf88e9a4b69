//! Alignment: which parts of a query match which parts of a book, and how the two relate.

use hashbrown::HashMap;
use lapidary_gems::{Gem, Place, PlacedGem, Recipe, RecipeName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ALONE;
use lapidary_extract::position::PositionRange;

/// A text is contained in another if spans cover at least this share of it.
const COVERED: f64 = 0.5;
/// Two texts that contain each other are the same if one is covered at least this much as the other. Otherwise the less
/// covered one has more in it, as a collection has.
const ALIKE: f64 = 0.8;
/// Texts share more than quotations if these cover at least this share of one of them.
pub(super) const MUCH: f64 = 0.125;
/// A run of gems with gaps is one passage if the gaps are spread evenly, as in a copy that was changed everywhere. If a
/// common gem follows another one more often than this, compared with all gems of the run, it is quotations with other text
/// between them.
const CLUSTERED: f64 = 1.3;
/// A run with gaps is one passage only if it has at least this share of common gems, or words were replaced. Translations of one work
/// share less.
const DENSE: f64 = 0.15;
/// A run with gaps is one passage only if it has at least this many common gems.
const ENOUGH: usize = 4;
/// A passage is the same if so many of so many successive gems are common.
const PASSAGE: (usize, usize) = (12, 16);
/// How much a gem that is not common takes from the score of a segment. A copy of which one gem in twenty is left still gets a
/// score that grows with its length, and what two unrelated books have in common here and there does not add up.
const MISSING_COST: f64 = 0.05;
/// Texts are in the same order if at least this share of the common gems is. Of translations, nearly all are; of quotations from
/// everywhere, about as many as by chance.
const IN_ORDER: f64 = 0.75;
/// Two texts are the same work in other words if so many times as many common gems are in the same order as of numbers in random
/// order. Of unrelated texts it was at most 1.2 times as many.
const ORDERED: f64 = 2.0;
/// Common gems keep their distance if it differs in the two texts by at most one in so many bytes of a gem, which are about four letters
/// of any script, and one in so many of the longer distance. Replaced words and scanning errors change it less, and another translation
/// usually more.
const SLACK: (u64, u64) = (10, 64);
/// A distance is similar if it is at least this share of the other one.
const SIMILAR: f64 = 0.6;
/// In a copy with other words for some, at least this share of the common gems keep their distance, and so many do so over missing
/// gems. Of pieces of translations less than half did.
const REPLACED: (f64, usize) = (0.65, 3);
/// In a page, which has few gems, so many over missing gems are enough to tell how much is left. They decide nothing.
const REPLACED_IN_PAGE: usize = 2;
/// If so many gems are common, this share is enough. Of whole translations at most 0.35 did, and of copies with 30 % of the
/// words replaced at least 0.6.
const REPLACED_OF_MANY: (usize, f64) = (100, 0.55);
/// The common gems of such a copy are spread over at least this share of the query or the book. A quotation is in one place.
const SPREAD: f64 = 0.5;
/// Where words were replaced at random, a gem is left if about so many words in a row are, and the next one if so many more are. With wrong
/// letters it takes fewer words, as some letters change no gem.
const WORDS_OF_GEM: (f64, f64) = (8.0, 6.5);
/// A disguise usually makes gems longer or shorter by more than one in so many bytes, and another translation by less.
const LENGTHENED: u64 = 8;

/// The alignment of a query and a book.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// How they relate.
    pub relation: Relation,
    /// The matching passages, in query order.
    pub spans: Vec<Span>,
    /// What of the query is the same, as far as gems can tell: each common gem, up to the middle of what lies between it and a gem
    /// that is not common. If words were replaced, also as much of what lies between as was left.
    pub same: Vec<Extent>,
    /// Whether a passage is the same, with hardly a gem missing.
    pub has_passage: bool,
    /// Whether the common gems are in the same order in both texts, over all passages.
    pub is_in_order: bool,
    /// What `rewriting` goes by; `None` with other recipes.
    pub rewording: Option<Rewording>,
    /// Total weight of the common gems. Isolated gems count half.
    pub evidence: f64,
    /// Number of common gems. Isolated gems count half.
    pub support: f64,
    /// Number of common gems that do not overlap: several gems of one phrase count once.
    pub apart: u32,
    /// Number of these that are as far from the one before or behind as they are in the book.
    pub at_same_distance: u32,
    /// How the distances between these compare in the two texts.
    pub spacing: Spacing,
    /// The maximal segment score (Karlin and Altschul 1990): over the best part of the query, the number of common gems that do
    /// not overlap, less a little for each other gem.
    pub segment_score: f64,
}

impl Alignment {
    /// The number of gems of the query in the longest passage.
    #[must_use]
    pub fn longest_passage(&self) -> u32 {
        let gems = self.spans.iter().map(|span| span.query.gems);
        gems.map(|gems| gems.end - gems.start).max().unwrap_or(0)
    }

    /// How the texts relate if what they have in common is scattered over both.
    #[must_use]
    pub fn relation_if_scattered(&self) -> Relation {
        let is_same_work = match self.rewording {
            // Words in a row may be a quotation.
            Some(rewording) => rewording.follows_order() || !self.has_passage,
            None => self.is_in_order,
        };
        if is_same_work {
            Relation::SameWork
        } else {
            Relation::Quotations
        }
    }
}

/// How distances between common gems compare in two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Most are the same although gems between are missing, and these gems are spread over most of a text: words were replaced.
    Same,
    /// At least half are similar, but not the same, as in another translation.
    Similar,
    /// Neither.
    Other,
}

impl Spacing {
    /// The least share of common gems of a run that is one passage.
    fn density(self) -> f64 {
        match self {
            Self::Same => 0.0,
            Self::Similar | Self::Other => DENSE,
        }
    }
}

/// What tells that two texts say the same in other words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rewording {
    /// How many times as many common gems are in the same order as of gems in random order. Those of one passage count once.
    pub ordered: f64,
    /// The most common gems within a [reach](lapidary_gems::PassageRule::reach) of gems of both texts.
    pub nearby: u32,
}

/// A passage of the query and the passage of the book that it matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Span {
    /// Number of gems that the two passages have in common, in the same order.
    pub common: u32,
    /// The passage of the query.
    pub query: Extent,
    /// The passage of the book.
    pub book: Extent,
    /// Where readers find it in the query.
    #[serde(alias = "query_at", default, skip_serializing_if = "Option::is_none")]
    pub query_position: Option<PositionRange>,
    /// Where readers find it in the book.
    #[serde(alias = "book_at", default, skip_serializing_if = "Option::is_none")]
    pub book_position: Option<PositionRange>,
}

/// A passage of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Extent {
    /// The range of gems, counted from 0: `start..end`. Of a text, those that count; of a list of gems, its own positions,
    /// where a repeated gem counts once.
    pub gems: Range,
    /// The range of bytes in the text as UTF-8; `null` if only the gems are known.
    pub bytes: Option<Place>,
}

/// A passage of a query that was made in several recipes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The recipe whose gems are counted.
    pub recipe: RecipeName,
    /// The passage.
    pub extent: Extent,
}

impl Claimed {
    /// Whether two passages have a part in common: of the text, or else of the gems. Gems of two recipes are not counted alike.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        if let Some((a, b)) = self.extent.bytes.zip(other.extent.bytes) {
            return a.start < b.end && b.start < a.end;
        }
        let (a, b) = (self.extent.gems, other.extent.gems);
        self.recipe == other.recipe && a.start < b.end && b.start < a.end
    }

    /// Whether some of these passages have a part in common with some of the others.
    #[must_use]
    pub fn any_overlap(some: &[Self], others: &[Self]) -> bool {
        some.iter()
            .any(|passage| others.iter().any(|other| passage.overlaps(other)))
    }
}

/// A half-open range of gems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Range {
    /// The first gem.
    pub start: u32,
    /// One past the last gem.
    pub end: u32,
}

/// How a query and a book relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Each covers most of the other.
    SameText,
    /// The query is contained in the book.
    PartOfBook,
    /// The book is contained in the query.
    ContainsBook,
    /// They share passages.
    Overlap,
    /// They share short passages only, or hardly any others, as texts do that quote each other or the same source.
    Quotations,
    /// They are the same work in other words, such as two translations: what is the same is scattered over both, in order.
    SameWork,
}

impl Relation {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameText => "same_text",
            Self::PartOfBook => "part_of_book",
            Self::ContainsBook => "contains_book",
            Self::Overlap => "overlap",
            Self::Quotations => "quotations",
            Self::SameWork => "same_work",
        }
    }
}

/// Aligns a query with a book: finds the spans, the relation that follows from how much of each text they cover, and
/// the evidence from the weights of the common gems. Gems without a weight do not count. The gems are of this recipe. Both
/// lists must be in text order and free of duplicates.
#[must_use]
pub fn align(
    query: &[PlacedGem],
    book: &[PlacedGem],
    recipe: &Recipe,
    weight: impl Fn(Gem) -> Option<f64>,
) -> Alignment {
    let runs = runs_of(query, book, recipe, weight);
    let common = in_query_order(&runs);
    let apart = without_overlaps(&common, query, book);
    let at_same_distance = at_same_distance(&apart, query, book);
    let bridges = replaced_between(&common, &apart, at_same_distance, [query, book]);
    let spacing = spacing(bridges, &apart, query, book);
    let rule = recipe.passages();
    let of_runs = runs
        .iter()
        .flat_map(|run| run.passages(rule.gap, spacing.density()));
    let passages: Vec<&[CommonGem]> = of_runs.collect();
    Alignment {
        relation: relation(&runs, &passages, [query.len(), book.len()], recipe),
        spans: shown(&passages, rule.fewest)
            .map(|common| span(common, query, book))
            .collect(),
        same: same(&common, [query, book], bridges >= REPLACED_IN_PAGE),
        has_passage: has_passage(&common),
        is_in_order: longest_order(&common) as f64 >= IN_ORDER * common.len() as f64,
        rewording: recipe
            .is_rewriting()
            .then(|| Rewording::of(&common, rule.reach)),
        evidence: firm_sum(&runs, |run| run.weight),
        support: firm_sum(&runs, |run| run.common.len() as f64),
        apart: apart.len() as u32,
        at_same_distance,
        spacing,
        segment_score: segment_score(&common, &apart),
    }
}

/// How texts of this many gems relate that have these runs in common, which consist of these passages.
fn relation(
    runs: &[GemRun],
    passages: &[&[CommonGem]],
    [query, book]: [usize; 2],
    recipe: &Recipe,
) -> Relation {
    let covered_of_query = covered(passages, |gem| gem.query, query);
    let covered_of_book = covered(passages, |gem| gem.book, book);
    match (covered_of_query >= COVERED, covered_of_book >= COVERED) {
        (true, true) if covered_of_query < ALIKE * covered_of_book => Relation::ContainsBook,
        (true, true) if covered_of_book < ALIKE * covered_of_query => Relation::PartOfBook,
        (true, true) => Relation::SameText,
        (true, false) => Relation::PartOfBook,
        (false, true) => Relation::ContainsBook,
        (false, false) if covered_of_query.max(covered_of_book) >= MUCH => Relation::Overlap,
        (false, false) if are_quotations(runs, recipe) => Relation::Quotations,
        (false, false) => Relation::Overlap,
    }
}

/// The runs of gems that both texts have, in the order in which they begin in the query.
fn runs_of(
    query: &[PlacedGem],
    book: &[PlacedGem],
    recipe: &Recipe,
    weight: impl Fn(Gem) -> Option<f64>,
) -> Vec<GemRun> {
    let reach = recipe.passages().reach;
    let in_book: HashMap<Gem, usize> = book.iter().enumerate().map(|(at, g)| (g.gem, at)).collect();
    let mut runs: Vec<GemRun> = Vec::new();
    for (q, placed) in query.iter().enumerate() {
        let Some((&b, weight)) = in_book.get(&placed.gem).zip(weight(placed.gem)) else {
            continue;
        };
        // A gem from elsewhere may interrupt a run, so any run still within reach can be extended.
        let open = runs
            .iter_mut()
            .rev()
            .take(reach)
            .filter(|run| run.reaches(q, b, reach))
            .min_by_key(|run| b - run.last().book);
        let gem = CommonGem { query: q, book: b };
        match open {
            Some(run) => {
                run.common.push(gem);
                run.weight += weight;
            }
            None => runs.push(GemRun {
                common: vec![gem],
                weight,
            }),
        }
    }
    runs
}

/// The gems of runs, in the order of the query.
fn in_query_order(runs: &[GemRun]) -> Vec<CommonGem> {
    let mut common: Vec<CommonGem> = runs.iter().flat_map(|run| &run.common).copied().collect();
    common.sort_unstable_by_key(|gem| gem.query);
    common
}

/// The share of a text's gems that are in its part of the passages.
fn covered(passages: &[&[CommonGem]], part: fn(&CommonGem) -> usize, of: usize) -> f64 {
    if of == 0 {
        return 0.0;
    }
    let gems = passages.iter().map(|common| length(common, part));
    gems.sum::<usize>() as f64 / of as f64
}

/// Number of gems of one of the texts from the first common gem to the last. Both texts have them in the same order.
fn length(common: &[CommonGem], part: fn(&CommonGem) -> usize) -> usize {
    match common {
        [] => 0,
        [first, .., last] => part(last) - part(first) + 1,
        [_] => 1,
    }
}

/// What the runs have together, each as far as it is firm.
fn firm_sum(runs: &[GemRun], of: fn(&GemRun) -> f64) -> f64 {
    // Start from 0.0: the sum of nothing is -0.0.
    runs.iter()
        .fold(0.0, |sum, run| sum + run.firmness() * of(run))
}

/// Whether at least half of the common gems are in runs as short as quotations.
fn are_quotations(runs: &[GemRun], recipe: &Recipe) -> bool {
    let sizes = || runs.iter().map(|run| run.common.len());
    let quotation = recipe.passages().quotation;
    let is_short = |common: &usize| *common <= quotation;
    let quoted: usize = sizes().filter(is_short).sum();
    quoted > 0 && 2 * quoted >= sizes().sum()
}

/// A gem that both texts have: its position in either.
#[derive(Debug, Clone, Copy)]
struct CommonGem {
    query: usize,
    book: usize,
}

impl CommonGem {
    fn is_one_phrase_with(self, other: Self, query: &[PlacedGem], book: &[PlacedGem]) -> bool {
        overlap(&query[self.query], &query[other.query])
            || overlap(&book[self.book], &book[other.book])
    }

    /// How far it is from this one to the next in both texts. `None` without places, if the book has them in another order, or if
    /// one of them is much longer or shorter there: then a disguise may have changed the distance, too.
    fn distances(self, next: Self, query: &[PlacedGem], book: &[PlacedGem]) -> Option<Distances> {
        let places = |gem: Self| Some([query[gem.query].place?, book[gem.book].place?]);
        let ([from, to], [before, behind]) = (places(self)?, places(next)?);
        if !are_as_long([from, to]) || !are_as_long([before, behind]) {
            return None;
        }
        Some(Distances {
            in_query: before.start.checked_sub(from.start)?,
            in_book: behind.start.checked_sub(to.start)?,
            gem: bytes(from),
        })
    }
}

fn bytes(place: Place) -> u64 {
    place.end.saturating_sub(place.start)
}

/// Whether a gem is about as long in both texts.
fn are_as_long(in_both: [Place; 2]) -> bool {
    let [a, b] = in_both.map(bytes);
    a.abs_diff(b) <= a.min(b) / LENGTHENED
}

/// How far it is from a gem to another one, in bytes.
#[derive(Clone, Copy)]
struct Distances {
    in_query: u64,
    in_book: u64,
    /// The length of the gem.
    gem: u64,
}

impl Distances {
    fn are_same(self) -> bool {
        let longer = self.in_query.max(self.in_book);
        let slack = (self.gem + SLACK.0 / 2) / SLACK.0 + longer / SLACK.1;
        self.in_query.abs_diff(self.in_book) <= slack
    }

    fn are_similar(self) -> bool {
        let (shorter, longer) = (
            self.in_query.min(self.in_book),
            self.in_query.max(self.in_book),
        );
        shorter as f64 >= SIMILAR * longer as f64
    }
}

/// Common gems that are near each other, in the same order in both texts.
struct GemRun {
    /// Not empty.
    common: Vec<CommonGem>,
    weight: f64,
}

impl GemRun {
    fn last(&self) -> CommonGem {
        self.common[self.common.len() - 1]
    }

    fn reaches(&self, q: usize, b: usize, reach: usize) -> bool {
        let last = self.last();
        q - last.query <= reach && b > last.book && b - last.book <= reach
    }

    /// How much each of its gems counts.
    fn firmness(&self) -> f64 {
        if self.common.len() == 1 { ALONE } else { 1.0 }
    }

    /// The passages that it consists of, each without a gap of more missing gems than this, unless the run is one passage.
    fn passages(&self, gap: usize, density: f64) -> impl Iterator<Item = &[CommonGem]> {
        let is_one = self.is_one_passage(density);
        self.common.chunk_by(move |one, next| {
            is_one || next.query - one.query <= gap + 1 && next.book - one.book <= gap + 1
        })
    }

    /// Whether at least this share of its gems is common, and those that are missing are spread evenly.
    fn is_one_passage(&self, density: f64) -> bool {
        let common = self.common.len();
        let gems = length(&self.common, |gem| gem.query);
        let followed = self
            .common
            .windows(2)
            .filter(|two| two[1].query == two[0].query + 1);
        let expected = common as f64 / gems as f64;
        let often = followed.count() as f64 / (common as f64 - 1.0).max(1.0);
        common >= ENOUGH && expected >= density && often <= CLUSTERED * expected
    }
}

/// The passages of at least so many common gems, or else the longest ones.
fn shown<'a>(
    passages: &'a [&'a [CommonGem]],
    fewest: usize,
) -> impl Iterator<Item = &'a [CommonGem]> {
    let longest = passages.iter().map(|common| common.len()).max();
    let fewest = fewest.min(longest.unwrap_or(0));
    passages
        .iter()
        .copied()
        .filter(move |common| common.len() >= fewest)
}

/// The passage from the first of these gems to the last.
fn span(common: &[CommonGem], query: &[PlacedGem], book: &[PlacedGem]) -> Span {
    let (first, last) = (common[0], common[common.len() - 1]);
    Span {
        common: common.len() as u32,
        query: extent(query, (first.query, last.query)),
        book: extent(book, (first.book, last.book)),
        query_position: None,
        book_position: None,
    }
}

/// What of the query is the same. Where a passage ends is not known, only that it ends before the end of the next gem that
/// would otherwise be common. On average, that is in the middle.
fn same(common: &[CommonGem], [query, book]: [&[PlacedGem]; 2], is_replaced: bool) -> Vec<Extent> {
    let mut all: Vec<Extent> = Vec::new();
    for gem in common {
        let Extent { gems, bytes } = stretch(query, gem.query);
        match all.last_mut() {
            Some(last) if last.gems.end == gems.start => {
                last.gems.end = gems.end;
                last.bytes = last.bytes.zip(bytes).map(|(last, bytes)| Place {
                    end: bytes.end,
                    ..last
                });
            }
            _ => all.push(Extent { gems, bytes }),
        }
    }
    if is_replaced {
        all.extend(left_between(common, query, book));
    }
    all
}

/// What is left of the text between the common gems of a copy in which words were replaced. Which words these are is not known, so what is
/// left of a gap is put at both of its ends.
fn left_between(common: &[CommonGem], query: &[PlacedGem], book: &[PlacedGem]) -> Vec<Extent> {
    let pairs = common.windows(2).filter_map(|two| {
        let distances = two[0].distances(two[1], query, book)?;
        distances
            .are_similar()
            .then_some((two[0], two[1], distances))
    });
    let pairs: Vec<(CommonGem, CommonGem, Distances)> = pairs.collect();
    let steps: Vec<usize> = pairs.iter().map(|(a, b, _)| b.query - a.query).collect();
    let gaps = pairs
        .iter()
        .filter_map(|(a, b, _)| between(query, a.query, b.query));
    let gaps: Vec<(Range, Place)> = gaps.collect();
    let length: f64 = pairs.iter().map(|(.., both)| both.in_query as f64).sum();
    let room: f64 = gaps.iter().map(|(_, gap)| bytes(*gap) as f64).sum();
    let missing = (1.0 - share_left(&steps)) * length;
    let half = (1.0 - missing / room).max(0.0) / 2.0;
    let ends = gaps.into_iter().flat_map(|(gems, Place { start, end })| {
        let half = (half * (end - start) as f64) as u64;
        [(start, start + half), (end - half, end)].map(|(start, end)| Extent {
            gems,
            bytes: Some(Place { start, end }),
        })
    });
    ends.collect()
}

/// The gems between two others, and the text that is nearer to them than to these.
fn between(query: &[PlacedGem], one: usize, next: usize) -> Option<(Range, Place)> {
    let start = stretch(query, one).bytes?.end;
    let end = stretch(query, next).bytes?.start;
    let gems = Range {
        start: one as u32 + 1,
        end: next as u32,
    };
    (gems.start < gems.end && start < end).then_some((gems, Place { start, end }))
}

/// The share of the words that are left, if it is so many gems from each common one to the next. If most of these follow one another, some
/// passages are unchanged, and others are not of the book.
fn share_left(steps: &[usize]) -> f64 {
    let (of_gem, of_next) = WORDS_OF_GEM;
    let common = steps.len() as f64;
    let left = common / steps.iter().sum::<usize>() as f64;
    let followed = steps.iter().filter(|step| **step == 1).count() as f64 / common;
    let in_passages = followed.powf(1.0 / of_next).max(left.powf(1.0 / of_gem));
    left / in_passages.powf(of_gem - 1.0)
}

/// The common gems without those that overlap the last one that counts.
fn without_overlaps(
    common: &[CommonGem],
    query: &[PlacedGem],
    book: &[PlacedGem],
) -> Vec<CommonGem> {
    let mut apart: Vec<CommonGem> = Vec::new();
    for gem in common {
        let last = apart.last();
        if !last.is_some_and(|last| gem.is_one_phrase_with(*last, query, book)) {
            apart.push(*gem);
        }
    }
    apart
}

/// How many of these gems are as far from the one before or behind as in the book.
fn at_same_distance(apart: &[CommonGem], query: &[PlacedGem], book: &[PlacedGem]) -> u32 {
    let steady = apart.chunk_by(|gem, next| {
        let distances = gem.distances(*next, query, book);
        distances.is_some_and(Distances::are_same)
    });
    let gems = steady.map(<[_]>::len).filter(|gems| *gems > 1);
    gems.sum::<usize>() as u32
}

/// How the distances between these gems compare, over so many of which words were replaced.
fn spacing(
    bridges: usize,
    apart: &[CommonGem],
    query: &[PlacedGem],
    book: &[PlacedGem],
) -> Spacing {
    if bridges >= REPLACED.1 {
        Spacing::Same
    } else if drifts(apart, query, book) {
        Spacing::Similar
    } else {
        Spacing::Other
    }
}

/// Between how many common gems words were replaced: how many keep their distance over missing ones. None in texts of which too few
/// keep it at all, or that have a quotation in common.
fn replaced_between(
    common: &[CommonGem],
    apart: &[CommonGem],
    at_same_distance: u32,
    [query, book]: [&[PlacedGem]; 2],
) -> usize {
    let (many, share_of_many) = REPLACED_OF_MANY;
    let share = if apart.len() >= many {
        share_of_many
    } else {
        REPLACED.0
    };
    if f64::from(at_same_distance) < share * apart.len() as f64
        || !are_spread(common, [query.len(), book.len()])
    {
        return 0;
    }
    bridges(apart, query, book)
}

/// How many of these gems are as far from the next one as in the book, although gems between them are missing. Between two gems of an
/// unchanged text, one may be missing at the edge of a passage.
fn bridges(apart: &[CommonGem], query: &[PlacedGem], book: &[PlacedGem]) -> usize {
    let is_bridge = |two: &&[CommonGem]| {
        two[1].query - two[0].query > 2
            && two[0]
                .distances(two[1], query, book)
                .is_some_and(Distances::are_same)
    };
    apart.windows(2).filter(is_bridge).count()
}

/// Whether what texts of so many gems have in common is spread over most of one of them.
fn are_spread(common: &[CommonGem], [query, book]: [usize; 2]) -> bool {
    let in_book = || common.iter().map(|gem| gem.book);
    let of_book = in_book().max().unwrap_or(0) - in_book().min().unwrap_or(0);
    length(common, |gem| gem.query) as f64 >= SPREAD * query as f64
        || (of_book + 1) as f64 >= SPREAD * book as f64
}

/// Whether at least half of the distances between these gems are similar in the book, but not the same.
fn drifts(apart: &[CommonGem], query: &[PlacedGem], book: &[PlacedGem]) -> bool {
    let distances = |two: &[CommonGem]| two[0].distances(two[1], query, book);
    let drifting = apart
        .windows(2)
        .filter_map(distances)
        .filter(|of_both| of_both.are_similar() && !of_both.are_same());
    let drifting = drifting.count();
    drifting > 0 && 2 * drifting >= apart.len() - 1
}

/// Whether nearly all of some successive gems of either text are common.
fn has_passage(common: &[CommonGem]) -> bool {
    let (most, of) = PASSAGE;
    common.windows(most).any(|some| {
        let (first, last) = (&some[0], &some[most - 1]);
        last.query - first.query < of || last.book.abs_diff(first.book) < of
    })
}

/// The score of the best part of the query (Kadane's algorithm), to which the gems that are `apart` count.
fn segment_score(common: &[CommonGem], apart: &[CommonGem]) -> f64 {
    let (mut best, mut score, mut next) = (0.0_f64, 0.0_f64, 0);
    let mut apart = apart.iter().peekable();
    for gem in common {
        let missing = gem.query - next;
        score = (score - MISSING_COST * missing as f64).max(0.0);
        next = gem.query + 1;
        if apart
            .next_if(|counted| counted.query == gem.query)
            .is_some()
        {
            score += 1.0;
        }
        best = best.max(score);
    }
    best
}

/// How many of the common gems are in the same order: as many as the longest increasing subsequence has (Fredman 1975).
fn longest_order(common: &[CommonGem]) -> usize {
    // The smallest last element of an increasing subsequence of each length.
    let mut ends: Vec<usize> = Vec::new();
    for gem in common {
        match ends.partition_point(|end| *end < gem.book) {
            at if at == ends.len() => ends.push(gem.book),
            at => ends[at] = gem.book,
        }
    }
    ends.len()
}

impl Rewording {
    fn of(common: &[CommonGem], reach: usize) -> Self {
        Self {
            ordered: ordered(common, reach),
            nearby: nearby(common, reach) as u32,
        }
    }

    /// Whether many more of the common gems are in the same order than of unrelated texts.
    pub(super) fn follows_order(self) -> bool {
        self.ordered >= ORDERED
    }
}

/// How much longer the longest increasing subsequence of the common gems, one of each reach of the query, is than that of numbers in
/// random order, which is twice the square root of their number (Vershik and Kerov 1977).
fn ordered(common: &[CommonGem], reach: usize) -> f64 {
    let mut spread: Vec<CommonGem> = Vec::new();
    for gem in common {
        let last = spread.last();
        if last.is_none_or(|last| gem.query - last.query > reach) {
            spread.push(*gem);
        }
    }
    let random = 2.0 * (spread.len().max(1) as f64).sqrt();
    longest_order(&spread) as f64 / random
}

/// The most common gems, in any order, within a reach of both texts.
fn nearby(common: &[CommonGem], reach: usize) -> usize {
    let mut most = 0;
    for (at, first) in common.iter().enumerate() {
        let near = common[at..].partition_point(|gem| gem.query - first.query <= reach);
        if near > most {
            let mut in_book: Vec<usize> =
                common[at..at + near].iter().map(|gem| gem.book).collect();
            in_book.sort_unstable();
            most = most.max(longest_within(&in_book, reach));
        }
    }
    most
}

/// The most of these ascending numbers that differ by at most a reach.
fn longest_within(numbers: &[usize], reach: usize) -> usize {
    let within = |at: usize| numbers[at..].partition_point(|number| number - numbers[at] <= reach);
    (0..numbers.len()).map(within).max().unwrap_or(0)
}

/// A gem, and the text around it that is nearer to it than to others.
fn stretch(query: &[PlacedGem], at: usize) -> Extent {
    let before = at.checked_sub(1).and_then(|before| query[before].place);
    let behind = query.get(at + 1);
    let bytes = query[at].place.map(|place| Place {
        start: before.map_or(0, |before| before.start.midpoint(place.start)),
        end: match behind {
            Some(behind) => behind
                .place
                .map_or(place.end, |behind| place.end.midpoint(behind.end)),
            None => u64::MAX,
        },
    });
    Extent {
        gems: Range {
            start: at as u32,
            end: at as u32 + 1,
        },
        bytes,
    }
}

/// Whether two gems of a text overlap.
fn overlap(one: &PlacedGem, other: &PlacedGem) -> bool {
    one.place
        .zip(other.place)
        .is_some_and(|(one, other)| one.start < other.end && other.start < one.end)
}

fn extent(gems: &[PlacedGem], (first, last): (usize, usize)) -> Extent {
    let bytes = gems[first].place.zip(gems[last].place).map(|(a, b)| Place {
        start: a.start,
        end: b.end,
    });
    Extent {
        gems: Range {
            start: first as u32,
            end: last as u32 + 1,
        },
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Alignment, Claimed, Extent, Place, PlacedGem, Range, Relation, Spacing, align, share_left,
    };
    use lapidary_gems::{Gem, Recipe};

    fn passage(recipe: &Recipe, start: u32, bytes: Option<u64>) -> Claimed {
        let bytes = bytes.map(|start| Place {
            start,
            end: start + 9,
        });
        let extent = Extent {
            gems: Range {
                start,
                end: start + 9,
            },
            bytes,
        };
        Claimed {
            recipe: recipe.name().clone(),
            extent,
        }
    }

    /// Each recipe counts its own gems, so what two of them found is compared by the bytes of the text.
    #[test]
    fn passages_of_two_recipes_are_compared_in_the_text() {
        let (hardened, released) = (Recipe::hardened(), Recipe::released());
        let table = [
            ((&hardened, 10, Some(500)), (&released, 90, Some(505)), true),
            (
                (&hardened, 10, Some(500)),
                (&released, 10, Some(900)),
                false,
            ),
            (
                (&hardened, 10, Some(500)),
                (&hardened, 10, Some(900)),
                false,
            ),
            ((&hardened, 10, None), (&released, 10, None), false),
            ((&hardened, 10, None), (&hardened, 15, None), true),
            ((&hardened, 10, Some(500)), (&hardened, 15, None), true),
        ];
        for (a, b, expected) in table {
            let [one, other] = [a, b].map(|(recipe, start, bytes)| passage(recipe, start, bytes));
            assert_eq!(
                (one.overlaps(&other), other.overlaps(&one)),
                (expected, expected),
                "{one:?} {other:?}"
            );
        }
    }

    /// Eight words in a row make a gem, and 6.5 more the next.
    #[test]
    fn what_is_left_of_a_text_of_which_words_were_replaced() {
        let is_about = |left: f64, expected: f64| (left - expected).abs() < 0.005;
        assert!(is_about(share_left(&[1; 90]), 1.0));
        // A fifth of the words at random: 1 of 6 gems are left.
        assert!(is_about(share_left(&[6; 90]), 0.8));
        // Each second passage is of another text: nine gems follow one another, and ten are missing.
        let passages = [[1; 9].as_slice(), &[11]].concat().repeat(20);
        assert!(is_about(share_left(&passages), 0.56));
    }

    fn side_by_side(query: &[PlacedGem], book: &[PlacedGem]) -> Alignment {
        align(query, book, &Recipe::documented(), |_| Some(1.0))
    }

    fn text(gems: impl IntoIterator<Item = u64>) -> Vec<PlacedGem> {
        let place = |i: usize| {
            Some(Place {
                start: 100 * i as u64,
                end: 100 * i as u64 + 90,
            })
        };
        gems.into_iter()
            .enumerate()
            .map(|(i, gem)| PlacedGem {
                gem: Gem(gem),
                place: place(i),
            })
            .collect()
    }

    #[test]
    fn relations() {
        use Relation::{ContainsBook, Overlap, PartOfBook, Quotations, SameText};
        let strange = 1000..1100;
        let table = [
            ("equal", text(0..50), text(0..50), SameText),
            (
                "every third gem changed",
                text((0..60).map(|i| if i % 3 == 0 { i + 500 } else { i })),
                text(0..60),
                SameText,
            ),
            ("an extract", text(20..30), text(0..100), PartOfBook),
            (
                "a collection",
                text((0..20).chain(strange.clone())),
                text(0..20),
                ContainsBook,
            ),
            (
                "a collection, mostly of one work",
                text((0..60).chain(1000..1040)),
                text(0..60),
                ContainsBook,
            ),
            (
                "most of a collection",
                text(0..60),
                text((0..60).chain(1000..1040)),
                PartOfBook,
            ),
            (
                "a new edition",
                text((0..70).chain(1000..1030)),
                text((0..70).chain(2000..2030)),
                SameText,
            ),
            (
                "a foreword",
                text((0..85).chain(1000..1015)),
                text(0..85),
                SameText,
            ),
            (
                "a chapter in common",
                text((0..20).chain(strange)),
                text((0..20).chain(2000..2100)),
                Overlap,
            ),
            (
                "scattered gems",
                text((0..100).map(|i| if i % 20 == 0 { i } else { i + 500 })),
                text(0..100),
                Quotations,
            ),
            (
                "chapters swapped",
                text((50..100).chain(0..50)),
                text(0..100),
                SameText,
            ),
        ];
        for (what, query, book, relation) in table {
            assert_eq!(side_by_side(&query, &book).relation, relation, "{what}");
        }
    }

    /// With `hardened`, sixteen gems are four thousand characters.
    #[test]
    fn quotations_are_short() {
        let relation = |shared: &[(u64, u64)]| {
            let is_shared = |gem: u64| shared.iter().any(|(from, to)| (*from..*to).contains(&gem));
            let query = (0..4_000).map(|gem| if is_shared(gem) { gem } else { gem + 10_000 });
            align(&text(query), &text(0..4_000), &Recipe::hardened(), |_| {
                Some(1.0)
            })
            .relation
        };
        assert_eq!(
            relation(&[(0, 16), (500, 516), (1_000, 1_001)]),
            Relation::Quotations
        );
        assert_eq!(relation(&[(0, 17)]), Relation::Overlap);
        // A passage that is more than all quotations.
        assert_eq!(relation(&[(0, 17), (500, 516)]), Relation::Overlap);
        assert_eq!(
            relation(&[(0, 17), (500, 516), (1_000, 1_001)]),
            Relation::Quotations
        );
        assert_eq!(relation(&[]), Relation::Overlap);
    }

    /// The query has those of the book's gems that `is_common` selects.
    fn with_gems(is_common: impl Fn(u64) -> bool) -> Alignment {
        with_gems_of(is_common, &text(0..240))
    }

    fn with_gems_of(is_common: impl Fn(u64) -> bool, book: &[PlacedGem]) -> Alignment {
        let query = (0..240).map(|gem| if is_common(gem) { gem } else { gem + 10_000 });
        align(&text(query), book, &Recipe::hardened(), |_| Some(1.0))
    }

    /// Gems that a text has here and there are one passage if they are spread evenly, and otherwise several.
    #[test]
    fn quotations_are_not_joined() {
        let worn = with_gems(|gem| gem % 3 == 0);
        assert_eq!((worn.spans.len(), worn.relation), (1, Relation::SameText));
        let quoted = with_gems(|gem| gem % 20 < 5);
        assert_eq!(quoted.spans.len(), 12);
        assert!(quoted.spans.iter().all(|span| span.common == 5));
        assert_eq!(quoted.relation, Relation::Overlap);
        let replaced = with_gems(|gem| gem % 20 == 0);
        assert_eq!(
            (replaced.spans.len(), replaced.relation),
            (1, Relation::SameText)
        );
        let mut translation = text(0..240);
        for place in translation.iter_mut().filter_map(|gem| gem.place.as_mut()) {
            (place.start, place.end) = (place.start * 11 / 10, place.start * 11 / 10 + 90);
        }
        let scattered = with_gems_of(|gem| gem % 20 == 0, &translation);
        assert_eq!(scattered.spans.len(), 12, "too few to be one passage");
        let with_gap = with_gems(|gem| gem % 120 != 50);
        assert_eq!(
            (with_gap.spans.len(), with_gap.relation),
            (1, Relation::SameText)
        );
    }

    #[test]
    fn a_gem_stands_for_the_text_around_it() {
        let same = |is_common: &dyn Fn(u64) -> bool| -> Vec<(u64, u64)> {
            let bytes = with_gems(is_common)
                .same
                .into_iter()
                .map(|same| same.bytes.unwrap());
            bytes.map(|place| (place.start, place.end)).collect()
        };
        assert_eq!(same(&|gem| gem == 7), [(650, 840)]);
        assert_eq!(
            same(&|gem| (7..9).contains(&gem) || gem == 20),
            [(650, 940), (1_950, 2_140)]
        );
        assert_eq!(same(&|_| true), [(0, u64::MAX)], "all of it");
        assert_eq!(same(&|_| false), []);
    }

    #[test]
    fn spans_have_the_bytes_of_both() {
        let Alignment { spans, .. } = side_by_side(&text((900..905).chain(10..20)), &text(0..30));
        let [span] = spans.as_slice() else {
            panic!("one span, not {spans:?}")
        };
        assert_eq!(span.common, 10);
        assert_eq!((span.query.gems.start, span.query.gems.end), (5, 15));
        assert_eq!(
            span.query.bytes,
            Some(Place {
                start: 500,
                end: 1490
            })
        );
        assert_eq!(
            span.book.bytes,
            Some(Place {
                start: 1000,
                end: 1990
            })
        );
    }

    #[test]
    fn what_is_near_in_other_words_is_one_passage() {
        let book = text(0..300);
        let common = |recipe: Recipe, is_common: fn(u64) -> bool| -> Vec<u32> {
            let query = text((0..300).map(|gem| if is_common(gem) { gem } else { 1_000 + gem }));
            let spans = align(&query, &book, &recipe, |_| Some(1.0)).spans;
            spans.iter().map(|span| span.common).collect()
        };
        let near = |gem| gem < 100 && gem % 10 == 0 || gem == 200;
        assert_eq!(common(Recipe::rewriting(), near), [10], "not gem 200 alone");
        assert_eq!(common(Recipe::documented(), near), [1; 11]);
        let far = |gem| gem % 100 == 0;
        assert_eq!(
            common(Recipe::rewriting(), far),
            [1; 3],
            "there is no other"
        );
    }

    #[test]
    fn the_gems_of_a_phrase_count_once() {
        let gem = |gem, start| PlacedGem {
            gem: Gem(gem),
            place: Some(Place {
                start,
                end: start + 40,
            }),
        };
        // Three that begin within the first, one that touches it, and one in another place of the book.
        let query: Vec<_> = [0, 10, 39, 40, 500]
            .iter()
            .zip(1..)
            .map(|(start, number)| gem(number, *start))
            .collect();
        let book: Vec<_> = [0, 10, 39, 40, 9_000]
            .iter()
            .zip(1..)
            .map(|(start, number)| gem(number, *start))
            .collect();
        let apart = |query: &[PlacedGem], book: &[PlacedGem]| side_by_side(query, book).apart;
        assert_eq!(apart(&query, &book), 3);
        assert!((side_by_side(&query, &book).segment_score - 3.0).abs() < 1e-9);
        // Places in one of the two are enough; without any, all count.
        let placeless: Vec<_> = book
            .iter()
            .map(|gem| PlacedGem {
                place: None,
                ..*gem
            })
            .collect();
        assert_eq!(
            [
                apart(&query, &placeless),
                apart(&placeless, &book),
                apart(&placeless, &placeless)
            ],
            [3, 3, 5]
        );
    }

    #[test]
    fn scores_are_of_the_best_segment() {
        let score = |common: &dyn Fn(u64) -> bool| with_gems(common).segment_score;
        let table: [(&dyn Fn(u64) -> bool, f64); 7] = [
            (&|_| false, 0.0),
            (&|gem| gem == 100, 1.0),
            (&|_| true, 240.0),
            // 48 of which each but the first comes after four others.
            (&|gem| gem % 5 == 0, 48.0 - 47.0 * 4.0 * 0.05),
            // What is scattered does not add up.
            (&|gem| gem % 24 == 0, 1.0),
            (&|gem| !(10..235).contains(&gem), 10.0),
            (
                &|gem| gem < 10 || (20..30).contains(&gem),
                20.0 - 10.0 * 0.05,
            ),
        ];
        for (at, (common, expected)) in table.into_iter().enumerate() {
            let found = score(common);
            assert!((found - expected).abs() < 1e-9, "{at}: {found}");
        }
        // Wherever the book has it.
        let moved = side_by_side(&text((50..100).chain(0..50)), &text(0..100));
        assert!((moved.segment_score - 100.0).abs() < 1e-9);
    }

    /// Another gem in common never makes a score less.
    #[test]
    fn scores_grow_with_what_is_common() {
        let mut is_common = [false; 240];
        let mut last = 0.0;
        for step in 0..240 {
            is_common[step * 77 % 240] = true;
            let score = with_gems(|gem| is_common[gem as usize]).segment_score;
            assert!(score >= last, "{step}: {last} {score}");
            last = score;
        }
        assert!((last - 240.0).abs() < 1e-9);
    }

    #[test]
    fn swapped_chapters_are_two_spans() {
        let Alignment { spans, .. } = side_by_side(&text((50..100).chain(0..50)), &text(0..100));
        let found: Vec<_> = spans
            .iter()
            .map(|s| (s.common, s.query.gems.start, s.book.gems.start))
            .collect();
        assert_eq!(found, [(50, 0, 50), (50, 50, 0)]);
    }

    #[test]
    fn gems_without_places() {
        let query: Vec<_> = (5..10)
            .map(|gem| PlacedGem {
                gem: Gem(gem),
                place: None,
            })
            .collect();
        let Alignment {
            relation, spans, ..
        } = side_by_side(&query, &text(0..10));
        assert_eq!(relation, Relation::PartOfBook);
        assert_eq!(spans[0].query.bytes, None);
        assert_eq!(
            spans[0].book.bytes,
            Some(Place {
                start: 500,
                end: 990
            })
        );
        let nothing = Alignment {
            relation: Relation::Overlap,
            spans: vec![],
            same: vec![],
            has_passage: false,
            is_in_order: true,
            rewording: None,
            evidence: 0.0,
            support: 0.0,
            apart: 0,
            at_same_distance: 0,
            spacing: Spacing::Other,
            segment_score: 0.0,
        };
        assert_eq!(side_by_side(&[], &[]), nothing);
    }

    #[test]
    fn order_and_rarity_say_more() {
        let evidence = |query: Vec<PlacedGem>, weight: fn(Gem) -> Option<f64>| {
            align(&query, &text(0..100), &Recipe::documented(), weight).evidence
        };
        let alike = |_| Some(1.0);
        let in_order = evidence(text(10..20), alike);
        // The same gems, far apart and in reverse order.
        let scattered = evidence(
            text(
                (10..20)
                    .rev()
                    .flat_map(|gem| (0..9).map(move |i| 1_000 * gem + i).chain([gem])),
            ),
            alike,
        );
        assert_eq!((in_order, scattered), (10.0, 5.0));
        let rare_ones = |gem: Gem| Some(if gem.0.is_multiple_of(2) { 1.0 } else { 0.25 });
        assert_eq!(
            (
                evidence(text(10..20), rare_ones),
                evidence(text(500..600), alike)
            ),
            (6.25, 0.0)
        );
    }
}
