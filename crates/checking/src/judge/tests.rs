//! Judging a few books in memory, compared with counting by hand.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::rc::Rc;

use hashbrown::HashSet;
use jiff::civil::Date;
use lapidary_gems::{Place, PlacedGem, Probe, Recipe, Rule};
use proptest::prelude::*;

use super::*;
use crate::{Alignment, Relation, Spacing, is_match, kept};
use lapidary_store::{Enough, Standing};

const DAY: Date = Date::constant(2026, 3, 1);

/// Some books; a book's number is its place in the list.
struct Books {
    books: Vec<Stored>,
    gem_lists_read: Cell<usize>,
}

struct Stored {
    outline: Outline,
    gems: Vec<PlacedGem>,
    posted: HashSet<Gem>,
}

impl Stored {
    fn new(recipe: &Recipe, outline: Outline, gems: Vec<PlacedGem>) -> Self {
        let posted = gems
            .iter()
            .zip(recipe.posted(&gems))
            .filter_map(|(placed, posted)| posted.then_some(placed.gem));
        Self {
            posted: posted.collect(),
            outline,
            gems,
        }
    }
}

impl Books {
    fn holders(&self, library: &Library, gem: Gem) -> u32 {
        self.books
            .iter()
            .filter(|book| book.outline.library == *library && book.posted.contains(&gem))
            .count() as u32
    }
}

impl Reader for Books {
    fn tally(&self, gems: &[Gem], limits: Limits<'_>) -> Result<Tally, StoreError> {
        let mut tally = Tally::default();
        for book in &self.books {
            let library = &book.outline.library;
            let done = tally.libraries.iter().any(|of| of.library == *library);
            if done || limits.library.is_some_and(|only| only != library) {
                continue;
            }
            let (common, counted): (Vec<Gem>, Vec<Gem>) = gems
                .iter()
                .copied()
                .partition(|gem| self.holders(library, *gem) > limits.cap);
            let mut holders: Vec<(Gem, u32)> = counted
                .iter()
                .map(|gem| (*gem, self.holders(library, *gem)))
                .collect();
            holders.retain(|(_, holders)| *holders > 0);
            holders.sort_unstable();
            let mut books = Vec::new();
            for (number, book) in self
                .books
                .iter()
                .enumerate()
                .filter(|(_, book)| book.outline.library == *library)
            {
                let shared = counted
                    .iter()
                    .filter(|gem| book.posted.contains(*gem))
                    .count() as u32;
                if shared >= limits.fewest {
                    books.push((BookNo(number as u32), shared));
                }
            }
            tally.libraries.push(LibraryTally {
                books,
                common,
                holders,
                ..LibraryTally::empty(library.clone())
            });
        }
        Ok(tally)
    }

    fn with_digest(&self, digest: &str, limits: Limits<'_>) -> Result<Vec<BookNo>, StoreError> {
        let books = self
            .books
            .iter()
            .enumerate()
            .filter(|(_, Stored { outline, .. })| {
                outline.digest == digest
                    && limits.library.is_none_or(|only| outline.library == *only)
            });
        Ok(books.map(|(number, _)| BookNo(number as u32)).collect())
    }

    fn outline(&self, books: &[BookNo]) -> Result<Vec<Option<Outline>>, StoreError> {
        Ok(books
            .iter()
            .map(|number| {
                self.books
                    .get(number.0 as usize)
                    .map(|book| book.outline.clone())
            })
            .collect())
    }

    fn gems(&self, book: BookNo) -> Result<Vec<PlacedGem>, StoreError> {
        self.gem_lists_read.set(self.gem_lists_read.get() + 1);
        Ok(self.books[book.0 as usize].gems.clone())
    }

    fn gems_if(
        &self,
        book: BookNo,
        Enough { among, is_enough }: Enough<'_>,
    ) -> Result<Option<Vec<PlacedGem>>, StoreError> {
        let gems = self.gems(book)?;
        let found = gems.iter().filter(|placed| among.contains(&placed.gem));
        Ok(is_enough(found.count() as u32).then_some(gems))
    }

    fn books(&self, library: &Library) -> Result<u64, StoreError> {
        Ok(self
            .books
            .iter()
            .filter(|book| book.outline.library == *library)
            .count() as u64)
    }
}

#[derive(Debug, Clone)]
struct Book {
    library: u8,
    rights: Rights,
    gems: Vec<u64>,
    digest: u8,
    disabled: bool,
    allowed: bool,
}

fn book() -> impl Strategy<Value = Book> {
    let rights = prop::sample::select(Rights::ALL.to_vec());
    let gems = prop::sample::subsequence((0..12_u64).collect::<Vec<_>>(), 0..12);
    (
        0..2_u8,
        rights,
        gems,
        0..6_u8,
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(library, rights, gems, digest, disabled, allowed)| Book {
            library,
            rights,
            gems,
            digest,
            disabled,
            allowed,
        })
}

fn placed(gems: &[u64]) -> Vec<PlacedGem> {
    gems.iter()
        .map(|gem| PlacedGem {
            gem: Gem(*gem),
            place: None,
        })
        .collect()
}

fn key(number: usize, book: &Book) -> BookKey {
    BookKey {
        library: format!("l{}", book.library).parse().unwrap(),
        id: format!("b{number}").parse().unwrap(),
    }
}

fn stored(recipe: &Recipe, books: &[Book]) -> Books {
    let books = books.iter().enumerate().map(|(number, book)| {
        let BookKey { library, id } = key(number, book);
        let disabled_since = book.disabled.then_some(jiff::Timestamp::UNIX_EPOCH);
        let outline = Outline {
            library,
            id,
            rights: book.rights,
            digest: book.digest.to_string(),
            clean_digest: None,
            gems: BTreeMap::from([(recipe.name().clone(), book.gems.len() as u32)]),
            standing: Standing {
                disabled_at: disabled_since,
                ..Standing::default()
            },
        };
        Stored::new(recipe, outline, placed(&book.gems))
    });
    Books {
        books: books.collect(),
        gem_lists_read: Cell::new(0),
    }
}

/// The matches, counted book by book: number, whether identical, common gems, and similarity.
fn by_hand(
    books: &[Book],
    query: &[u64],
    rule: &Rule,
    except: Option<usize>,
) -> Vec<(usize, bool, u32, f64)> {
    let mut found = Vec::new();
    for (number, book) in books
        .iter()
        .enumerate()
        .filter(|(number, _)| except != Some(*number))
    {
        let holders = |gem: u64| {
            books
                .iter()
                .filter(|of| of.library == book.library && of.gems.contains(&gem))
                .count()
        };
        let counted: HashSet<u64> = query
            .iter()
            .copied()
            .filter(|gem| holders(*gem) <= rule.common_cap as usize)
            .collect();
        let mut common = book
            .gems
            .iter()
            .filter(|gem| counted.contains(*gem))
            .count() as u32;
        let identical = book.digest == 0;
        if common < rule.fewest() {
            if !identical {
                continue;
            }
            common = 0;
        }
        let share = |of: usize| {
            if of == 0 {
                0.0
            } else {
                f64::from(common) / of as f64
            }
        };
        let (of_query, of_book) = (share(counted.len()), share(book.gems.len()));
        if identical || of_query.max(of_book) >= rule.min_share {
            let both = counted.len() + book.gems.len();
            let alike = if both == 0 {
                0.0
            } else {
                2.0 * f64::from(common) / both as f64
            };
            found.push((number, identical, common, alike));
        }
    }
    found
}

proptest! {
    #[test]
    fn as_counted_by_hand(
        books in prop::collection::vec(book(), 0..10),
        query in prop::sample::subsequence((0..12_u64).collect::<Vec<_>>(), 0..12),
        (min_common, half, common_cap) in (0..4_u32, any::<bool>(), 1..6_u32),
        except in prop::option::of(0..10_usize),
        limit in 0..6_usize,
        untrusted in any::<bool>(),
    ) {
        let only_informs = |book: &Book| untrusted && book.library == 1;
        let recipe = Recipe::documented();
        let rule = Rule { min_common, min_share: if half { 0.5 } else { 0.0 }, common_cap, ..Rule::EXACT };
        let reader = stored(&recipe, &books);
        let probes: Vec<Probe> = placed(&query).into_iter().map(|placed| Probe { placed, kept: true }).collect();
        let allowed: HashSet<BookKey> =
            books.iter().enumerate().filter(|(_, book)| book.allowed).map(|(number, book)| key(number, book)).collect();
        let question = Question {
            recipe: &recipe,
            rule: &rule,
            probes: &probes,
            positions: None,
            digests: &["0".to_owned()],
            library: None,
            is_left_out: &|number, _| except == Some(number.0 as usize),
            day: DAY,
            is_allowed: &|book| allowed.contains(&BookKey { library: book.library.clone(), id: book.id.clone() }),
            informs: &|book| (untrusted && book.library.as_str() == "l1").then_some(InformationalReason::UntrustedLibrary),
            informing: Limits::NONE.informing,
        };
        let candidates = candidates(&reader, &question).unwrap();
        let look_up = |of_library| LookedUp::new(&reader, &question, of_library, 0, Rc::default()).unwrap();
        let looked_up: Vec<LookedUp<'_>> = candidates.libraries.iter().map(look_up).collect();
        let Judgements { matches, disabled, left_out } = judge(&reader, &question, &looked_up, MOST_COMPARED).unwrap();
        prop_assert_eq!(left_out, 0);
        prop_assert_eq!(reader.gem_lists_read.get(), 0, "the score decides, so no list of gems is read");

        let (off, mut expected): (Vec<_>, Vec<_>) =
            by_hand(&books, &query, &rule, except).into_iter().partition(|(number, ..)| books[*number].disabled);
        prop_assert_eq!(disabled.len(), off.iter().filter(|(number, ..)| !only_informs(&books[*number])).count());
        expected.sort_by(|(a, a_identical, a_common, a_alike), (b, b_identical, b_common, b_alike)| {
            let key = |number: usize| key(number, &books[number]);
            only_informs(&books[*a]).cmp(&only_informs(&books[*b]))
                .then((b_identical, b_common).cmp(&(a_identical, a_common)))
                .then(b_alike.total_cmp(a_alike))
                .then_with(|| key(*a).cmp(&key(*b)))
        });
        let is_allowed = |book: &Book| book.allowed && book.rights != Rights::Forbidden;
        let decides = |book: &Book| !is_allowed(book) && !only_informs(book);
        let counts: Vec<usize> = expected.iter().map(|found| found.0).filter(|number| decides(&books[*number])).collect();
        let strictest = counts.iter().map(|number| books[*number].rights).min().unwrap_or(Rights::Unknown);
        let ranked = rank(matches);
        let informing = expected.iter().filter(|found| only_informs(&books[found.0])).count();
        prop_assert_eq!((ranked.verdict, ranked.total()), (strictest, expected.len() - informing));
        prop_assert_eq!(ranked.informing(), informing);

        let all = ranked.clone().shown(usize::MAX);
        let found: Vec<_> = all.matches.iter().map(|m| (m.number.0 as usize, m.identical, m.score.common)).collect();
        let by_hand: Vec<_> = expected.iter().map(|(number, identical, common, _)| (*number, *identical, *common)).collect();
        prop_assert_eq!(&found, &by_hand);
        for judged in &all.matches {
            prop_assert_eq!(judged.allowed, is_allowed(&books[judged.number.0 as usize]));
            let alike = expected.iter().find(|found| found.0 == judged.number.0 as usize).unwrap().3;
            prop_assert!((judged.score.score - alike).abs() < 1e-12 || kept(&probes) == 0);
        }
        let decisive = counts.into_iter().find(|number| books[*number].rights == strictest);
        prop_assert_eq!(all.decisive.map(|found| found.number.0 as usize), decisive);

        let some = ranked.shown(limit);
        prop_assert_eq!(some.matches.len(), limit.min(expected.len()));
        let shown: Vec<usize> = some.matches.iter().map(|judged| judged.number.0 as usize).collect();
        prop_assert!(limit == 0 || decisive.is_none_or(|number| shown.contains(&number)));
        let first = by_hand.iter().map(|found| found.0).take(limit.saturating_sub(1));
        prop_assert_eq!(first.collect::<Vec<_>>(), &shown[..shown.len().min(limit.saturating_sub(1))]);
    }
}

/// How the gems that a query shares with a book lie in the book.
#[derive(Debug, Clone, Copy)]
enum Shared {
    Passages,
    Scattered,
    MostlyUnposted,
}

proptest! {
    /// Only some gems have a posting. A match is missed only if almost none of the common gems has one, and never if they are
    /// in passages of at least three.
    #[test]
    fn nearly_all_matches_are_found_by_some_of_their_gems(
        shared in prop::sample::select(vec![Shared::Passages, Shared::Scattered, Shared::MostlyUnposted]),
        (likely, rarely) in (0.0..0.2_f64, 0.0..0.5_f64),
        gems in prop::collection::vec((any::<u64>(), 40..80_u64, 0.0..1.0_f64), 20..2_500),
        others in 0..1_500_u64,
        recipe in prop::sample::select(vec![Recipe::hardened(), Recipe::hardened_compact()]),
    ) {
        let rule = Rule { min_support: 0.0, ..recipe.rule() };
        let place = |at: usize, length: u64| Place { start: at as u64 * 240, end: at as u64 * 240 + length };
        let list: Vec<PlacedGem> = gems.iter().enumerate().map(|(at, (gem, length, _))| {
            PlacedGem { gem: Gem(gem ^ at as u64), place: Some(place(at, *length)) }
        }).collect();
        let posted = recipe.posted(&list);
        let is_shared = |at: usize| match shared {
            Shared::Passages => gems[at - at % 3].2 < likely && at - at % 3 + 3 <= gems.len(),
            Shared::Scattered => gems[at].2 < likely,
            Shared::MostlyUnposted => gems[at].2 < if posted[at] { likely * rarely } else { likely },
        };
        let common: Vec<usize> = (0..gems.len()).filter(|at| is_shared(*at)).collect();
        let found = common.iter().filter(|at| posted[**at]).count();
        let of_others = (0..others).map(|gem| Gem(gem.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let query = common.iter().map(|at| list[*at].gem).chain(of_others);
        let probes: Vec<Probe> = query.map(|gem| Probe { placed: PlacedGem { gem, place: None }, kept: true }).collect();

        let one = Book { library: 0, rights: Rights::Protected, gems: vec![], digest: 1, disabled: false, allowed: false };
        let mut reader = stored(&recipe, &[one]);
        let outline = Outline { gems: BTreeMap::from([(recipe.name().clone(), list.len() as u32)]), ..reader.books[0].outline.clone() };
        let score = Score::new(common.len() as u32, probes.len() as u32, list.len() as u32);
        reader.books[0] = Stored::new(&recipe, outline, list);
        let question = Question {
            recipe: &recipe,
            rule: &rule,
            probes: &probes,
            positions: None,
            digests: &[],
            library: None,
            is_left_out: &|_, _| false,
            day: DAY,
            is_allowed: &|_| false,
            informs: &|_| None,
            informing: Limits::NONE.informing,
        };
        let tally = candidates(&reader, &question).unwrap();
        let looked_up: Vec<_> =
            tally.libraries.iter().map(|of_library| LookedUp::new(&reader, &question, of_library, 0, Rc::default()).unwrap()).collect();
        let matches = judge(&reader, &question, &looked_up, MOST_COMPARED).unwrap().matches;
        // No gems overlap.
        let (relation, spans, apart) = (Relation::Overlap, Vec::new(), score.common);
        let alignment = Alignment { relation, spans, same: Vec::new(), has_passage: false, is_in_order: true, rewording: None, evidence: 0.0, support: 0.0, apart, at_same_distance: apart, spacing: Spacing::Other, segment_score: 0.0 };
        let Ok::<bool, Infallible>(is_one) = is_match(&rule, &score, || Ok(alignment));
        match matches.as_slice() {
            [] if is_one => {
                prop_assert!(recipe.most_unposted() as usize * found < common.len(), "{found} of {}", common.len());
                prop_assert!(!matches!(shared, Shared::Passages));
            }
            [] => {}
            [found] => {
                prop_assert!(is_one);
                prop_assert_eq!(found.score, score);
            }
            _ => prop_assert!(false, "there is one book"),
        }
    }
}

#[test]
fn what_several_recipes_found_is_combined() {
    let of = |number: u32, common: u32| Judged {
        number: BookNo(number),
        key: key(
            number as usize,
            &Book {
                library: 0,
                rights: Rights::Free,
                gems: vec![],
                digest: 0,
                disabled: false,
                allowed: false,
            },
        ),
        library: number as usize,
        recipes: vec![0],
        rights: Rights::Free,
        identical: common == 0,
        score: Score::new(common, 10, 10),
        allowed: false,
        informs: None,
    };
    let judged = |matches: Vec<Judged>, disabled: &[u32]| Judgements {
        matches,
        disabled: disabled.iter().copied().map(BookNo).collect(),
        left_out: 0,
    };
    let all = merge(vec![
        judged(vec![of(1, 5), of(2, 0)], &[8]),
        judged(vec![], &[]),
        judged(vec![of(2, 7), of(3, 2), of(1, 9)], &[9, 8]),
    ]);
    let found: Vec<_> = all
        .matches
        .iter()
        .map(|of| (of.number.0, of.recipes.clone(), of.score.common))
        .collect();
    assert_eq!(
        found,
        [(1, vec![0, 2], 5), (2, vec![2, 0], 7), (3, vec![2], 2)]
    );
    assert_eq!(all.disabled, [BookNo(8), BookNo(9)]);
}

/// However many books have the gems, few are compared: a fair part of each library, those that decide first.
#[test]
fn a_flood_is_compared_in_part_and_displaces_nothing() {
    const FLOOD: usize = 2_000;
    let (recipe, rule) = (
        Recipe::documented(),
        Rule {
            min_evidence: 0.000_1,
            ..Rule::EXACT
        },
    );
    let gems: Vec<u64> = (0..20).collect();
    let book = |library, rights, digest, gems: &[u64]| Book {
        library,
        rights,
        gems: gems.to_vec(),
        digest,
        disabled: false,
        allowed: false,
    };
    let mut books: Vec<Book> = (0..FLOOD)
        .map(|_| book(0, Rights::Free, 1, &gems))
        .collect();
    books.push(book(0, Rights::Protected, 1, &gems[..9]));
    books.push(book(0, Rights::Free, 0, &[]));
    books.push(book(1, Rights::Unknown, 1, &gems[..4]));
    let reader = stored(&recipe, &books);
    let probes: Vec<Probe> = placed(&gems)
        .into_iter()
        .map(|placed| Probe { placed, kept: true })
        .collect();
    let digests = ["0".to_owned()];
    let question = Question {
        recipe: &recipe,
        rule: &rule,
        probes: &probes,
        positions: None,
        digests: &digests,
        library: None,
        is_left_out: &|_, _| false,
        day: DAY,
        is_allowed: &|_| false,
        informs: &|_| None,
        informing: Limits::NONE.informing,
    };
    let tally = candidates(&reader, &question).unwrap();
    let looked_up: Vec<_> = tally
        .libraries
        .iter()
        .map(|of| LookedUp::new(&reader, &question, of, 0, Rc::default()).unwrap())
        .collect();
    let judged = judge(&reader, &question, &looked_up, 50).unwrap();
    assert!(
        reader.gem_lists_read.get() <= 50,
        "{}",
        reader.gem_lists_read.get()
    );
    let is_found = |number: usize| {
        judged
            .matches
            .iter()
            .any(|found| found.number.0 as usize == number)
    };
    assert!(
        (FLOOD..FLOOD + 3).all(is_found),
        "protected, the same text, of another library"
    );
    assert_eq!(judged.matches.len() + judged.left_out, FLOOD + 3);
}

/// Thousands of books that only inform, of another library or in quarantine, take no comparison from those that decide, and
/// nothing of them counts as left out.
#[test]
fn a_flood_that_only_informs_changes_nothing() {
    const MOST: usize = 50;
    const LIBRARIES: u8 = 60;
    let (recipe, rule) = (
        Recipe::documented(),
        Rule {
            min_evidence: 0.000_1,
            ..Rule::EXACT
        },
    );
    let gems: Vec<u64> = (0..20).collect();
    let book = |library, rights| Book {
        library,
        rights,
        gems: gems.clone(),
        digest: 1,
        disabled: false,
        allowed: false,
    };
    // One more than may be compared.
    let mut books: Vec<Book> = (0..=MOST as u8)
        .map(|at| book(2 * (at % 2), Rights::Free))
        .collect();
    let deciding = books.len();
    let probes: Vec<Probe> = placed(&gems)
        .into_iter()
        .map(|placed| Probe { placed, kept: true })
        .collect();
    let judged = |books: &[Book]| {
        let reader = stored(&recipe, books);
        let is_flood = |id: &str| id[1..].parse::<usize>().unwrap() >= deciding;
        let question = Question {
            recipe: &recipe,
            rule: &rule,
            probes: &probes,
            positions: None,
            digests: &[],
            library: None,
            is_left_out: &|_, _| false,
            day: DAY,
            is_allowed: &|_| false,
            informs: &|book| is_flood(book.id.as_str()).then_some(InformationalReason::Quarantined),
            informing: Limits::NONE.informing,
        };
        let tally = candidates(&reader, &question).unwrap();
        let looked_up: Vec<_> = tally
            .libraries
            .iter()
            .map(|of| LookedUp::new(&reader, &question, of, 0, Rc::default()).unwrap())
            .collect();
        let Judgements {
            matches, left_out, ..
        } = judge(&reader, &question, &looked_up, MOST).unwrap();
        let (decide, inform): (Vec<Judged>, _) = matches.into_iter().partition(Judged::decides);
        (
            decide.iter().map(|found| found.number).collect::<Vec<_>>(),
            left_out,
            inform.len(),
            reader.gem_lists_read.get(),
        )
    };
    let (expected, left_out, informing, _) = judged(&books);
    assert_eq!((expected.len(), left_out, informing), (MOST, 1, 0));
    for library in [1, 0] {
        books.truncate(deciding);
        books.extend((0..3_000).map(|_| book(library, Rights::Forbidden)));
        let (found, left_out, informing, read) = judged(&books);
        assert_eq!((found, left_out), (expected.clone(), 1));
        assert_eq!((informing, read), (MOST_INFORMING, MOST + MOST_INFORMING));
    }
    // Of each library one, if they are many.
    books.truncate(deciding);
    for library in 10..10 + LIBRARIES {
        books.extend((0..20).map(|_| book(library, Rights::Forbidden)));
    }
    let (found, left_out, informing, read) = judged(&books);
    assert_eq!((found, left_out), (expected, 1));
    let most = MOST_INFORMING.max(LIBRARIES.into());
    assert_eq!((informing, read), (most, MOST + most));
}
