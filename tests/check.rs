//! Compares the reports of checks with results computed naively, book by book.

mod common;

use lapidary::api::{Amendment, Report};
use lapidary::catalogue::{Allowable, Catalogue, CatalogueError, CheckOptions, Content, NewEntry, Query};
use lapidary::index::{Actor, BookKey, Library, Rights, Validity};
use lapidary::matching::{RuleChanges, Score, align};
use lapidary_gems::{Gem, PlacedGem, Recipe, Rule, WrittenGem};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

/// Few enough gems that books share them.
const GEMS: std::ops::Range<u64> = 0..14;

#[derive(Debug, Clone)]
struct Book {
    library: &'static str,
    gems: Vec<u64>,
    rights: Rights,
    /// The rights recorded for the day of the check, if they differ.
    otherwise: Option<Rights>,
    disabled: bool,
}

#[derive(Debug, Clone)]
struct Case {
    books: Vec<Book>,
    query: Vec<u64>,
    rule: Rule,
    limit: usize,
    library: Option<&'static str>,
    allowed_gems: Vec<u64>,
    allowed_book: Option<usize>,
}

fn rights() -> impl Strategy<Value = Rights> {
    select(&[Rights::Protected, Rights::Free, Rights::PublicDomain, Rights::Unknown][..])
}

fn library() -> impl Strategy<Value = &'static str> {
    select(&["one", "two"][..])
}

fn book() -> impl Strategy<Value = Book> {
    (library(), vec(GEMS, 0..10), rights(), option::of(rights()), prop::bool::weighted(0.2)).prop_map(
        |(library, mut gems, rights, otherwise, disabled)| {
            gems.sort_unstable();
            gems.dedup();
            Book { library, gems, rights, otherwise, disabled }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let rule = (1..4_u32, select(&[0.0, 0.3, 0.7][..]), 2..12_u32, select(&[0.0, 1.5, 3.0][..]));
    let rule = rule.prop_map(|(min_common, min_share, common_cap, min_support)| Rule {
        min_common,
        min_share,
        common_cap,
        min_support,
        ..Rule::default()
    });
    let asked = (vec(GEMS, 0..12), rule, 0..6_usize, option::of(library()));
    (vec(book(), 0..14), asked, vec(GEMS, 0..2), option::of(0..14_usize)).prop_map(
        |(books, (query, rule, limit, library), allowed_gems, allowed_book)| Case {
            books,
            query,
            rule,
            limit,
            library,
            allowed_gems,
            allowed_book,
        },
    )
}

fn key(library: &str, book: usize) -> BookKey {
    BookKey { library: library.parse().expect("a name"), id: format!("{book:02}").parse().expect("a name") }
}

fn gems(gems: &[u64]) -> Vec<WrittenGem> {
    gems.iter().copied().map(WrittenGem::Number).collect()
}

/// Sets every field of a rule.
fn changes(rule: Rule) -> RuleChanges {
    let Rule { min_common, min_share, common_cap, min_evidence, min_support } = rule;
    RuleChanges {
        min_common: Some(min_common),
        min_share: Some(min_share),
        common_cap: Some(common_cap),
        min_evidence: Some(min_evidence),
        min_support: Some(min_support),
    }
}

fn placed(gems: &[u64]) -> Vec<PlacedGem> {
    gems.iter().map(|&gem| PlacedGem { gem: Gem(gem), place: None }).collect()
}

fn answered(case: &Case) -> Result<Report, CatalogueError> {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue").with_rule(changes(case.rule));
    for (number, book) in case.books.iter().enumerate() {
        let key = key(book.library, number);
        let past = |otherwise| Validity { from: None, until: "2000-01-01".parse().ok(), otherwise };
        let (rights, validity) = (book.rights, book.otherwise.map(past));
        let content = Content::Gems { recipe: None, gems: gems(&book.gems) };
        let entry = NewEntry::new(key.clone(), rights, content);
        catalogue.by(Actor::Local).add(NewEntry { validity, ..entry }).expect("added");
        let amendment = Amendment { disabled: Some(book.disabled), ..Amendment::default() };
        catalogue.by(Actor::Local).amend(&key, &amendment).expect("amended");
    }
    if !case.allowed_gems.is_empty() {
        let list = Allowable::Gems(Content::Gems { recipe: None, gems: gems(&case.allowed_gems) });
        catalogue.by(Actor::Local).allow("gems".parse().expect("a name"), list, None).expect("allowed");
    }
    if let Some(book) = case.allowed_book.and_then(|book| Some((case.books.get(book)?.library, book))) {
        catalogue
            .by(Actor::Local)
            .allow("book".parse().expect("a name"), Allowable::Book(key(book.0, book.1)), None)
            .expect("allowed");
    }
    let library = case.library.map(|library| library.parse::<Library>().expect("a name"));
    let options = CheckOptions { limit: case.limit, library, ..CheckOptions::default() };
    catalogue.check(&Query::Gems(gems(&case.query)), &options)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_report_is_what_the_books_make_it(case in case()) {
        let answer = answered(&case);
        if case.library.is_some_and(|library| case.books.iter().all(|book| book.library != library)) {
            prop_assert!(matches!(answer, Err(CatalogueError::NoSuchLibrary(_))));
            return Ok(());
        }
        let report = answer.expect("a report");
        let mut query: Vec<u64> = Vec::new();
        for gem in &case.query {
            if !query.contains(gem) {
                query.push(*gem);
            }
        }
        let allowed = query.iter().filter(|gem| case.allowed_gems.contains(gem)).count();
        query.retain(|gem| !case.allowed_gems.contains(gem));
        let asked = query;
        // Each library is evaluated as if it were the only one.
        let is_common = |gem: &u64, library: &str| {
            let holders = case.books.iter().filter(|book| book.library == library && book.gems.contains(gem));
            holders.count() > case.rule.common_cap as usize
        };
        let counts = |library: &str| case.library.is_none_or(|only| only == library);
        let libraries: Vec<&str> = case.books.iter().map(|book| book.library).filter(|library| counts(library)).collect();
        let common = asked.iter().filter(|gem| libraries.iter().any(|library| is_common(gem, library))).count();

        let (mut matches, mut disabled) = (Vec::new(), 0);
        for (number, book) in case.books.iter().enumerate() {
            let query: Vec<u64> = asked.iter().copied().filter(|gem| !is_common(gem, book.library)).collect();
            let shared = book.gems.iter().filter(|gem| query.contains(gem)).count() as u32;
            let score = Score::new(shared, query.len() as u32, book.gems.len() as u32);
            let shares = score.share_of_query.max(score.share_of_book) >= case.rule.min_share;
            let support = align(&placed(&query), &placed(&book.gems), |_| Some(1.0)).support;
            let meets = shared >= case.rule.min_common && shares && support >= case.rule.min_support;
            if counts(book.library) && meets {
                if book.disabled {
                    disabled += 1;
                } else {
                    matches.push((score, key(book.library, number), book.otherwise.unwrap_or(book.rights), number));
                }
            }
        }
        let deciding = matches.iter().filter(|(.., number)| case.allowed_book != Some(*number));
        let verdict = deciding.map(|(_, _, rights, _)| *rights).min().unwrap_or(Rights::Unknown);
        matches.sort_by(|(a, of_a, ..), (b, of_b, ..)| {
            b.common.cmp(&a.common).then(b.score.total_cmp(&a.score)).then(of_a.cmp(of_b))
        });
        // The match that decides the verdict is always among those shown.
        let decides = |(_, _, rights, number): &(_, _, Rights, usize)| {
            *rights == verdict && case.allowed_book != Some(*number)
        };
        if let Some(at) = matches.iter().position(decides).filter(|at| case.limit > 0 && *at >= case.limit) {
            matches[case.limit - 1..=at].rotate_right(1);
        }

        prop_assert_eq!((report.verdict, report.total, report.disabled), (verdict, matches.len(), disabled));
        prop_assert_eq!((report.common_gems as usize, report.allowed_gems as usize), (common, allowed));
        prop_assert_eq!(report.matches.len(), matches.len().min(case.limit));
        for (shown, (score, key, rights, number)) in report.matches.iter().zip(&matches) {
            prop_assert_eq!((&shown.book.library, &shown.book.id), (&key.library.to_string(), &key.id.to_string()));
            prop_assert_eq!((&shown.score, shown.book.rights), (score, *rights));
            prop_assert_eq!(shown.allowed, case.allowed_book == Some(*number));
        }
    }
}

fn hardened_catalogue() -> (TempDir, Catalogue) {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    catalogue.by(Actor::Local).ensure_recipes(&[Recipe::hardened()]).expect("a recipe");
    (folder, catalogue)
}

/// Under `hardened`, a lookup uses more gems than the text has. Reports count only the gems of the text.
#[test]
fn a_text_is_told_the_gems_it_has_and_not_those_it_is_looked_up_by() {
    let recipe = Recipe::hardened();
    let text = common::prose(1, 3_000);
    let (has, looked_up) = (recipe.gems(&text).len() as u32, recipe.probes(&text).len() as u32);
    let (_folder, catalogue) = hardened_catalogue();
    for number in 1..=2 {
        let content = Content::text(text.clone());
        catalogue.by(Actor::Local).add(NewEntry::new(key("one", number), Rights::Protected, content)).expect("added");
    }
    let check = |catalogue: &Catalogue, text: &str| {
        catalogue.check(&Query::text(text.to_owned()), &CheckOptions::default()).expect("a report")
    };
    let report = check(&catalogue, &text);
    assert!(report.gems <= has && has < looked_up, "{} {has} {looked_up}", report.gems);
    assert_eq!((report.total, report.common_gems, report.allowed_gems), (2, 0, 0));
    assert!(report.matches[0].score.share_of_query >= 1.0 && report.matches[0].score.common >= report.gems);
    // Each gem is in two books, which exceeds the cap of one.
    let capped = catalogue.with_rule(RuleChanges { common_cap: Some(1), ..RuleChanges::default() });
    let report = check(&capped, &text);
    // The identical text is still found; one with a changed word is not.
    assert_eq!((report.total, report.common_gems), (2, report.gems));
    assert!(report.gems > 0 && report.matches.iter().all(|found| found.identical && found.score.common == 0));
    let report = check(&capped, &text.replacen(' ', " another ", 1));
    assert_eq!(report.total, 0);
    assert!(report.note.is_some_and(|note| note.contains("boilerplate")));
}

/// Under `hardened`, two gems far apart count as two quotations, not as a copy.
#[test]
fn gems_that_stand_alone_count_half() {
    let (_folder, catalogue) = hardened_catalogue();
    let recipe = Recipe::hardened();
    let digits = |gems: Vec<u64>| gems.into_iter().map(WrittenGem::Digits).collect::<Vec<_>>();
    let all: Vec<u64> = (1..=60).map(|i| i * 37 % 61).collect();
    let content = Content::Gems { recipe: Some(recipe.name().clone()), gems: digits(all.clone()) };
    catalogue.by(Actor::Local).add(NewEntry::new(key("one", 0), Rights::Protected, content)).expect("added");
    // A text that shares only the gems at these positions. Its other gems occur in no book.
    let total = |common: &[usize]| {
        let gems = all.iter().enumerate().map(|(at, gem)| if common.contains(&at) { *gem } else { 1_000 + gem });
        catalogue.check(&Query::Gems(digits(gems.collect())), &CheckOptions::default()).expect("a report").total
    };
    let is_posted = recipe.posted(&placed(&all));
    let (posted, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|at| is_posted[*at]);
    // Posted gems that are more than 8 gems apart.
    let mut far: Vec<usize> = Vec::new();
    for at in &posted {
        if far.last().is_none_or(|last| at - last > 8) {
            far.push(*at);
        }
    }
    let beside = *posted.iter().find(|at| others.contains(&(*at + 1))).expect("more others than posted ones");
    let found = [&far[..1], &far[..2], &far[..3], &[beside, beside + 1], &far[..4]];
    assert_eq!(found.map(total), [0, 0, 0, 1, 1]);
    // Gems without postings find nothing by themselves. They count only next to a gem with a posting.
    let last = *others.last().expect("more others than posted ones");
    assert_eq!([&others[..], &[beside, last]].map(total), [0, 0]);
}

/// The surroundings of a passage decide which of the gems at its edges are posted, so the posting lists of those gems
/// contain only some of the books.
#[test]
fn boilerplate_of_many_books_names_none() {
    const BOOKS: u32 = 40;
    for words in [600, 3_000, 6_000] {
        let (_folder, mut catalogue) = hardened_catalogue();
        let boilerplate = common::prose(1_000, words);
        let with_boilerplate = |seed: u64, words: usize| {
            format!("{}\n\n{boilerplate}\n\n{}", common::prose(seed, words), common::prose(seed + 1, words))
        };
        for number in 0..BOOKS as usize {
            let text = with_boilerplate(2_000 + 2 * number as u64, 500 + 50 * number);
            catalogue
                .by(Actor::Local)
                .add(NewEntry::new(key("one", number), Rights::Protected, Content::text(text)))
                .expect("added");
        }
        for (common_cap, named) in [(BOOKS, BOOKS as usize), (BOOKS - 1, 0), (BOOKS / 4, 0)] {
            let rule = RuleChanges { common_cap: Some(common_cap), ..RuleChanges::default() };
            catalogue = catalogue.with_rule(rule);
            let query = Query::text(with_boilerplate(1, 1_000));
            let report = catalogue.check(&query, &CheckOptions::default()).expect("a report");
            assert_eq!(report.total, named, "{words} words, cap {common_cap}");
        }
    }
}

/// Under `hardened`, most gems of a passage shared by many books have no posting. They must count as little as those
/// that do.
#[test]
fn a_passage_that_too_many_books_have_accuses_none_of_them() {
    let (_folder, catalogue) = hardened_catalogue();
    let recipe = Recipe::hardened();
    let digits = |gems: &[u64]| gems.iter().copied().map(WrittenGem::Digits).collect::<Vec<_>>();
    let scattered = |from: u64| (1..=60).map(move |i| from + i * 37 % 61);
    let passage: Vec<u64> = scattered(0).collect();
    // Before and after the passage, each book has its own gems.
    let book = |number: u64| -> Vec<u64> {
        scattered(10_000 * number).chain(passage.iter().copied()).chain(scattered(10_000 * number + 100)).collect()
    };
    for number in 1..=3 {
        let content = Content::Gems { recipe: Some(recipe.name().clone()), gems: digits(&book(number)) };
        catalogue
            .by(Actor::Local)
            .add(NewEntry::new(key("one", number as usize), Rights::Protected, content))
            .expect("added");
    }
    let unposted = recipe.posted(&placed(&book(1)))[60..120].iter().filter(|posted| !**posted).count();
    assert!(unposted > 10, "{unposted}");
    let rare = book(1).into_iter().zip(recipe.posted(&placed(&book(1)))).take(30).find(|(_, posted)| *posted);
    let (rare, _) = rare.expect("a posted gem of its own");
    let query: Vec<u64> = [rare].into_iter().chain(scattered(900_000)).chain(passage.iter().copied()).collect();
    let check = |catalogue: &Catalogue| {
        catalogue.check(&Query::Gems(digits(&query)), &CheckOptions::default()).expect("a report")
    };
    assert_eq!(check(&catalogue).total, 3);
    let capped = catalogue.with_rule(RuleChanges { common_cap: Some(2), ..RuleChanges::default() });
    let report = check(&capped);
    assert_eq!(report.total, 0);
    // Gems next to the passage that have no posting are counted as part of it.
    assert!((60..64).contains(&report.common_gems), "{}", report.common_gems);
}
