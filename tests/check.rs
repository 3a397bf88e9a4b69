//! Compares the reports of checks with results computed naively, book by book.

use crate::common;
use std::collections::BTreeSet;

use lapidary_catalogue::api::{Amendment, Match, Report};
use lapidary_catalogue::{
    Allowable, BookGems, Catalogue, CatalogueError, CheckOptions, Content, NewEntry, Query,
    Recipes, Text, TextGems, compare,
};
use lapidary_checking::{InformationalReason, Reason, Relation, RuleChanges, Score, align};
use lapidary_gems::{Gem, Place, PlacedGem, Recipe, Rule, WrittenGem, misspelling};
use lapidary_store::{Actor, BookKey, Library, Rights, Validity};
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
    select(
        &[
            Rights::Protected,
            Rights::Free,
            Rights::PublicDomain,
            Rights::Unknown,
        ][..],
    )
}

fn library() -> impl Strategy<Value = &'static str> {
    select(&["one", "two"][..])
}

fn book() -> impl Strategy<Value = Book> {
    (
        library(),
        vec(GEMS, 0..10),
        rights(),
        option::of(rights()),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(library, mut gems, rights, otherwise, disabled)| {
            gems.sort_unstable();
            gems.dedup();
            Book {
                library,
                gems,
                rights,
                otherwise,
                disabled,
            }
        })
}

fn case() -> impl Strategy<Value = Case> {
    let rule = (
        1..4_u32,
        select(&[0.0, 0.3, 0.7][..]),
        2..12_u32,
        select(&[0.0, 1.5, 3.0][..]),
    );
    let rule = rule.prop_map(|(min_common, min_share, common_cap, min_support)| Rule {
        min_common,
        min_share,
        common_cap,
        min_support,
        ..Rule::default()
    });
    let asked = (vec(GEMS, 0..12), rule, 0..6_usize, option::of(library()));
    (
        vec(book(), 0..14),
        asked,
        vec(GEMS, 0..2),
        option::of(0..14_usize),
    )
        .prop_map(
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
    BookKey {
        library: library.parse().expect("a name"),
        id: format!("{book:02}").parse().expect("a name"),
    }
}

fn gems(gems: &[u64]) -> Vec<WrittenGem> {
    gems.iter().copied().map(WrittenGem::Number).collect()
}

/// Sets every field of a rule that can be set.
fn changes(rule: Rule) -> RuleChanges {
    let Rule {
        min_common,
        min_share,
        common_cap,
        min_evidence,
        min_support,
        ..
    } = rule;
    RuleChanges {
        min_common: Some(min_common),
        min_share: Some(min_share),
        common_cap: Some(common_cap),
        min_evidence: Some(min_evidence),
        min_support: Some(min_support),
    }
}

/// The gems of a query, each once.
fn asked_of(query: &[u64]) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    query
        .iter()
        .copied()
        .filter(|gem| seen.insert(*gem))
        .collect()
}

fn placed(gems: &[u64]) -> Vec<PlacedGem> {
    gems.iter()
        .map(|&gem| PlacedGem {
            gem: Gem(gem),
            place: None,
        })
        .collect()
}

fn answered(case: &Case) -> Result<Report, CatalogueError> {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path())
        .expect("a catalogue")
        .with_rule(changes(case.rule));
    for (number, book) in case.books.iter().enumerate() {
        let key = key(book.library, number);
        let past = |otherwise| Validity {
            from: None,
            until: "2000-01-01".parse().ok(),
            otherwise,
        };
        let (rights, validity) = (book.rights, book.otherwise.map(past));
        let content = Content::Gems(BookGems {
            recipe: None,
            gems: gems(&book.gems),
        });
        let entry = NewEntry::new(key.clone(), rights, content);
        catalogue
            .by(Actor::Local)
            .books()
            .add(NewEntry { validity, ..entry })
            .expect("added");
        let amendment = Amendment {
            disabled: Some(book.disabled),
            ..Amendment::default()
        };
        catalogue
            .by(Actor::Local)
            .books()
            .amend(&key, &amendment)
            .expect("amended");
    }
    if !case.allowed_gems.is_empty() {
        let list = Allowable::Gems(Content::Gems(BookGems {
            recipe: None,
            gems: gems(&case.allowed_gems),
        }));
        catalogue
            .by(Actor::Local)
            .allow_lists()
            .put("gems".parse().expect("a name"), list, None)
            .expect("allowed");
    }
    if let Some(book) = case
        .allowed_book
        .and_then(|book| Some((case.books.get(book)?.library, book)))
    {
        catalogue
            .by(Actor::Local)
            .allow_lists()
            .put(
                "book".parse().expect("a name"),
                Allowable::Book(key(book.0, book.1)),
                None,
            )
            .expect("allowed");
    }
    let library = case
        .library
        .map(|library| library.parse::<Library>().expect("a name"));
    let options = CheckOptions {
        limit: case.limit,
        library,
        ..CheckOptions::default()
    };
    catalogue
        .checks()
        .report(&Query::Gems(gems(&case.query).into()), &options)
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
        let mut query = asked_of(&case.query);
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

        let place = |gem: u64| asked_of(&case.query).iter().position(|of| *of == gem).expect("a gem of the query");
        let (mut matches, mut disabled, mut covered) = (Vec::new(), 0, BTreeSet::new());
        for (number, book) in case.books.iter().enumerate() {
            let query: Vec<u64> = asked.iter().copied().filter(|gem| !is_common(gem, book.library)).collect();
            let shared = book.gems.iter().filter(|gem| query.contains(gem)).count() as u32;
            let score = Score::new(shared, query.len() as u32, book.gems.len() as u32);
            let shares = score.share_of_query.max(score.share_of_book) >= case.rule.min_share;
            let alignment = align(&placed(&query), &placed(&book.gems), &Recipe::documented(), |_| Some(1.0));
            let support = alignment.support;
            let meets = shared >= case.rule.min_common && shares && support >= case.rule.min_support;
            if counts(book.library) && meets {
                if book.disabled {
                    disabled += 1;
                } else {
                    let rights = book.otherwise.unwrap_or(book.rights);
                    if rights == Rights::Protected && case.allowed_book != Some(number) {
                        let has = |gem: &u64| book.gems.contains(gem);
                        for run in query.chunk_by(|one, next| has(one) && has(next)).filter(|run| has(&run[0])) {
                            covered.extend(place(run[0])..=place(run[run.len() - 1]));
                        }
                    }
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
        prop_assert_eq!(report.reason == Reason::Match, !matches.is_empty(), "{:?}", report.reason);
        let all = asked_of(&case.query).len();
        let share = if all == 0 { 0.0 } else { covered.len() as f64 / all as f64 };
        let found = report.covered.expect("it is known");
        prop_assert!((found - share).abs() < 1e-12, "{found} {share}");
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
    catalogue
        .by(Actor::Local)
        .recipes()
        .ensure(&[Recipe::hardened()])
        .expect("a recipe");
    (folder, catalogue)
}

/// Under `hardened`, a lookup uses more gems than the text has. Reports count only the gems of the text.
#[test]
fn a_text_is_told_the_gems_it_has_and_not_those_it_is_looked_up_by() {
    let recipe = Recipe::hardened();
    let text = common::prose(1, 3_000);
    let (has, looked_up) = (
        recipe.gems(&text).len() as u32,
        recipe.probes(&text).len() as u32,
    );
    let (_folder, catalogue) = hardened_catalogue();
    for number in 1..=2 {
        let content = Content::text(text.clone());
        catalogue
            .by(Actor::Local)
            .books()
            .add(NewEntry::new(
                key("one", number),
                Rights::Protected,
                content,
            ))
            .expect("added");
    }
    let check = |catalogue: &Catalogue, text: &str| {
        catalogue
            .checks()
            .report(&Query::text(text.to_owned()), &CheckOptions::default())
            .expect("a report")
    };
    let report = check(&catalogue, &text);
    assert!(
        report.gems <= has && has < looked_up,
        "{} {has} {looked_up}",
        report.gems
    );
    assert_eq!(
        (report.total, report.common_gems, report.allowed_gems),
        (2, 0, 0)
    );
    assert!(
        report.matches[0].score.share_of_query >= 1.0
            && report.matches[0].score.common >= report.gems
    );
    // Each gem is in two books, which exceeds the cap of one.
    let capped = catalogue.with_rule(RuleChanges {
        common_cap: Some(1),
        ..RuleChanges::default()
    });
    let report = check(&capped, &text);
    // The identical text is still found; one with a changed word is not.
    assert_eq!((report.total, report.common_gems), (2, report.gems));
    assert!(
        report.gems > 0
            && report
                .matches
                .iter()
                .all(|found| found.identical && found.score.common == 0)
    );
    let report = check(&capped, &text.replacen(' ', " another ", 1));
    assert_eq!(report.total, 0);
    assert!(report.note.is_some_and(|note| note.contains("boilerplate")));
}

/// Under `hardened`, two gems far apart count as two quotations, not as a copy.
#[test]
fn gems_that_stand_alone_count_half() {
    let (_folder, catalogue) = hardened_catalogue();
    let catalogue = catalogue.with_rule(RuleChanges {
        min_share: Some(0.0),
        ..RuleChanges::default()
    });
    let recipe = Recipe::hardened();
    let digits = |gems: Vec<u64>| gems.into_iter().map(WrittenGem::Digits).collect::<Vec<_>>();
    let all: Vec<u64> = (1..=210).map(|i| i * 37 % 211).collect();
    let content = Content::Gems(BookGems {
        recipe: Some(recipe.name().clone()),
        gems: digits(all.clone()),
    });
    catalogue
        .by(Actor::Local)
        .books()
        .add(NewEntry::new(key("one", 0), Rights::Protected, content))
        .expect("added");
    // A text that shares only the gems at these positions. Its other gems occur in no book.
    let total = |common: &[usize]| {
        let gems = all.iter().enumerate().map(|(at, gem)| {
            if common.contains(&at) {
                *gem
            } else {
                1_000 + gem
            }
        });
        catalogue
            .checks()
            .report(
                &Query::Gems(digits(gems.collect()).into()),
                &CheckOptions::default(),
            )
            .expect("a report")
            .total
    };
    let is_posted = recipe.posted(&placed(&all));
    let (posted, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|at| is_posted[*at]);
    // Posted gems that are too far apart to belong together.
    let mut far: Vec<usize> = Vec::new();
    for at in &posted {
        if far
            .last()
            .is_none_or(|last| at - last > recipe.passages().reach)
        {
            far.push(*at);
        }
    }
    let beside = *posted
        .iter()
        .find(|at| others.contains(&(*at + 1)))
        .expect("more others than posted ones");
    let found = [
        &far[..1],
        &far[..2],
        &far[..3],
        &[beside, beside + 1],
        &far[..4],
    ];
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
            format!(
                "{}\n\n{boilerplate}\n\n{}",
                common::prose(seed, words),
                common::prose(seed + 1, words)
            )
        };
        for number in 0..BOOKS as usize {
            let text = with_boilerplate(2_000 + 2 * number as u64, 500 + 50 * number);
            catalogue
                .by(Actor::Local)
                .books()
                .add(NewEntry::new(
                    key("one", number),
                    Rights::Protected,
                    Content::text(text),
                ))
                .expect("added");
        }
        for (common_cap, named) in [(BOOKS, BOOKS as usize), (BOOKS - 1, 0), (BOOKS / 4, 0)] {
            let rule = RuleChanges {
                common_cap: Some(common_cap),
                ..RuleChanges::default()
            };
            catalogue = catalogue.with_rule(rule);
            let query = Query::text(with_boilerplate(1, 1_000));
            let report = catalogue
                .checks()
                .report(&query, &CheckOptions::default())
                .expect("a report");
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
    let digits = |gems: &[u64]| {
        gems.iter()
            .copied()
            .map(WrittenGem::Digits)
            .collect::<Vec<_>>()
    };
    let scattered = |from: u64| (1..=60).map(move |i| from + i * 37 % 61);
    let passage: Vec<u64> = scattered(0).collect();
    // Before and after the passage, each book has its own gems.
    let book = |number: u64| -> Vec<u64> {
        scattered(10_000 * number)
            .chain(passage.iter().copied())
            .chain(scattered(10_000 * number + 100))
            .collect()
    };
    for number in 1..=3 {
        let content = Content::Gems(BookGems {
            recipe: Some(recipe.name().clone()),
            gems: digits(&book(number)),
        });
        catalogue
            .by(Actor::Local)
            .books()
            .add(NewEntry::new(
                key("one", number as usize),
                Rights::Protected,
                content,
            ))
            .expect("added");
    }
    let unposted = recipe.posted(&placed(&book(1)))[60..120]
        .iter()
        .filter(|posted| !**posted)
        .count();
    assert!(unposted > 10, "{unposted}");
    let rare = book(1)
        .into_iter()
        .zip(recipe.posted(&placed(&book(1))))
        .take(30)
        .find(|(_, posted)| *posted);
    let (rare, _) = rare.expect("a posted gem of its own");
    let query: Vec<u64> = [rare]
        .into_iter()
        .chain(scattered(900_000))
        .chain(passage.iter().copied())
        .collect();
    let check = |catalogue: &Catalogue| {
        catalogue
            .checks()
            .report(
                &Query::Gems(digits(&query).into()),
                &CheckOptions::default(),
            )
            .expect("a report")
    };
    assert_eq!(check(&catalogue).total, 3);
    let capped = catalogue.with_rule(RuleChanges {
        common_cap: Some(2),
        ..RuleChanges::default()
    });
    let report = check(&capped);
    assert_eq!(report.total, 0);
    // Gems next to the passage that have no posting are counted as part of it.
    assert!(
        (60..64).contains(&report.common_gems),
        "{}",
        report.common_gems
    );
}

fn add(catalogue: &Catalogue, number: usize, rights: Rights, content: Content) {
    catalogue
        .by(Actor::Local)
        .books()
        .add(NewEntry::new(key("one", number), rights, content))
        .expect("added");
}

fn checked(catalogue: &Catalogue, text: &str, options: &CheckOptions) -> Report {
    catalogue
        .checks()
        .report(&Query::text(text.to_owned()), options)
        .expect("a report")
}

/// The tales of `docs/case`.
fn tales() -> String {
    let tale = |name| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/case/");
        std::fs::read_to_string(format!("{folder}{name}.txt")).expect("a tale")
    };
    let names = [
        "the-tell-tale-heart",
        "the-masque-of-the-red-death",
        "the-cask-of-amontillado",
    ];
    names.map(tale).concat()
}

/// A text with every fourteenth consonant wrong.
fn with_wrong_letters(text: &str) -> String {
    let mut consonants = 0;
    let letters = text.chars().map(|letter| {
        consonants += u32::from("bcdfgklmnpqrstvxz".contains(letter));
        match letter {
            'a' | 'e' | 'h' | 'i' | 'j' | 'o' | 'u' | 'w' | 'y' => letter,
            'l' if consonants.is_multiple_of(14) => 'b',
            'a'..='z' if consonants.is_multiple_of(14) => 'l',
            _ => letter,
        }
    });
    letters.collect()
}

/// Of a long text with many wrong letters, parts are looked up. What they find is compared with all of it.
#[test]
fn a_whole_copy_with_wrong_letters_is_told_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let editor = catalogue.by(Actor::Local);
    let recipes = [Recipe::hardened_compact()];
    editor.recipes().ensure(&recipes).expect("a recipe");
    let book = tales();
    add(
        &catalogue,
        0,
        Rights::Protected,
        Content::text(book.clone()),
    );
    let text = with_wrong_letters(&book);
    let told = || {
        let options = CheckOptions {
            library: Some("one".parse().expect("a name")),
            ..CheckOptions::default()
        };
        [CheckOptions::default(), options].map(|options| {
            let report = checked(&catalogue, &text, &options);
            let mut found = report.matches.iter();
            let found = found.find(|found| found.book.library == "one");
            let Some(Match {
                relation, score, ..
            }) = found
            else {
                panic!("not found");
            };
            (*relation, score.common, report.covered.expect("a share"))
        })
    };
    let alone = told();
    let [(relation, common, covered), in_library] = alone;
    assert_eq!((Some(Relation::SameText), alone[0]), (relation, in_library));
    assert!(2 * common > recipes[0].gems(&book).len() as u32, "{common}");
    assert!(covered > 0.5, "{covered}");
    let [query, of_book] = [&text, &book].map(|text| Text::new(text, None));
    let compared = compare(&recipes[0], recipes[0].rule(), &query, &of_book);
    let compared = (Some(compared.relation), compared.score.common);
    assert_eq!(compared, (relation, common));

    // Others' books with as much in common take nothing away.
    for library in ["two", "three"] {
        for part in 0..6 {
            let letters = text.chars().skip(part * 1_000);
            let half: String = letters.take(text.len() / 2).collect();
            let key = BookKey {
                library: library.parse().expect("a name"),
                id: part.to_string().parse().expect("a name"),
            };
            let entry = NewEntry::new(key, Rights::Protected, Content::text(half));
            editor.books().add(entry).expect("added");
        }
    }
    let [among_others, in_library] = told();
    assert_eq!(in_library, alone[1]);
    assert!(
        among_others.1 >= common && among_others.2 >= covered,
        "{among_others:?}"
    );
}

/// A book that looks misspelled, as old verse does, is not put right where the catalogue has it as it is.
#[test]
fn a_book_that_looks_misspelled_is_looked_up_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let recipes = [Recipe::hardened_compact()];
    let made = catalogue.by(Actor::Local).recipes().ensure(&recipes);
    made.expect("a recipe");
    let text = with_wrong_letters(&tales());
    let looked_up = || checked(&catalogue, &text, &CheckOptions::default()).looked_up;
    let alone = looked_up();
    let protected = |number, text: &str| {
        let content = Content::text(text.to_owned());
        add(&catalogue, number, Rights::Protected, content);
    };
    protected(0, &text);
    assert_eq!(looked_up(), alone);
    protected(1, &tales());
    assert!(looked_up() > alone);
}

/// Among many books that decide, a few gems in common are an accident.
#[test]
fn a_few_gems_are_an_accident_among_many_books() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let editor = catalogue.by(Actor::Local);
    let recipes = [Recipe::hardened_compact()];
    editor.recipes().ensure(&recipes).expect("a recipe");
    let book = common::prose(1, 60_000);
    add(
        &catalogue,
        0,
        Rights::Protected,
        Content::text(book.clone()),
    );
    let tale = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/case/the-tell-tale-heart.txt"
    );
    let tale = std::fs::read_to_string(tale).expect("a text");
    let letters = tale.chars().take(3_000).enumerate();
    // Where letters are wrong, most gems are looked up.
    let page: String = letters
        .map(|(at, letter)| {
            if at % 13 == 0 && letter.is_alphabetic() {
                'b'
            } else {
                letter
            }
        })
        .collect();
    assert!(misspelling(&page).is_some());
    let quoting = |length: usize| format!("{page} {} {page}", &book[100_000..100_000 + length]);
    let found = |text: &str| {
        let report = checked(&catalogue, text, &CheckOptions::default());
        (report.informational, report.reason)
    };
    let lengths = (60..600).step_by(10);
    let text = lengths
        .map(quoting)
        .find(|text| found(text).0 > 0)
        .expect("a quotation");
    assert_eq!(
        found(&text),
        (1, Reason::NoMatch),
        "who quotes copies nothing"
    );

    let add_many = |library: &str| {
        let prepared = (0..5_000).map(|number| {
            let key = BookKey {
                library: library.parse().expect("a name"),
                id: number.to_string().parse().expect("a name"),
            };
            let entry = NewEntry::new(
                key,
                Rights::Protected,
                Content::text(format!("The book {number}.")),
            );
            editor.books().prepare(entry, &recipes).expect("a book")
        });
        editor.books().commit(prepared.collect()).expect("added");
    };
    editor
        .libraries()
        .set_trust(&"stranger".parse().expect("a name"), false)
        .expect("distrusted");
    add_many("stranger");
    assert_eq!(
        found(&text),
        (1, Reason::NoMatch),
        "who decides nothing hides nothing"
    );
    add_many("two");
    assert_eq!(found(&text), (0, Reason::NoMatch));
}

/// No answer is `unknown` without a reason.
#[test]
fn every_verdict_has_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let (text, usual) = (common::prose(1, 3_000), CheckOptions::default());
    assert_eq!(
        checked(&catalogue, &text, &usual).reason,
        Reason::NothingToCompare
    );
    add(&catalogue, 1, Rights::Unknown, Content::text(text.clone()));
    let reason = |catalogue: &Catalogue, text: &str| checked(catalogue, text, &usual).reason;
    assert_eq!(
        reason(&catalogue, &text),
        Reason::Match,
        "its rights are unknown, but it matches"
    );
    assert_eq!(
        reason(&catalogue, &common::prose(2, 3_000)),
        Reason::NoMatch
    );
    for short in ["", "word", "Three short words."] {
        let report = checked(&catalogue, short, &usual);
        assert_eq!(report.reason, Reason::TooShort, "{short:?}");
        assert!(
            report
                .note
                .is_some_and(|note| note.contains("at least 130 characters")),
            "{short:?}"
        );
    }
    add(
        &catalogue,
        2,
        Rights::Unknown,
        Content::text(text.replacen(' ', " another ", 1)),
    );
    let capped = catalogue.with_rule(RuleChanges {
        common_cap: Some(1),
        ..RuleChanges::default()
    });
    assert_eq!(
        reason(&capped, &text.replacen(' ', " third ", 1)),
        Reason::MostlyCommon
    );
}

/// A text made of several books is covered by them together, is the same as none of them, and names editions of one
/// work as such.
#[test]
fn a_compilation_is_covered_by_its_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let works: Vec<String> = [(1, 9_000), (2, 3_000), (3, 3_000)]
        .map(|(seed, words)| common::prose(seed, words))
        .into();
    for (number, work) in works.iter().enumerate() {
        add(
            &catalogue,
            number,
            Rights::Protected,
            Content::text(work.clone()),
        );
    }
    let edition = format!(
        "{}{}",
        common::prose(9, 300),
        works[1].replace(" ba", " bo")
    );
    add(&catalogue, 3, Rights::Protected, Content::text(edition));
    add(
        &catalogue,
        4,
        Rights::Free,
        Content::text(common::prose(4, 3_000)),
    );

    let usual = CheckOptions::default();
    let report = checked(&catalogue, &works.concat(), &usual);
    assert!(report.covered > Some(0.97), "{:?}", report.covered);
    let mut found: Vec<(&str, u32)> = report
        .matches
        .iter()
        .map(|m| (m.book.id.as_str(), m.work))
        .collect();
    found.sort_unstable();
    let ids: Vec<&str> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["00", "01", "02", "03"]);
    let works_found: BTreeSet<u32> = found.iter().map(|(_, work)| *work).collect();
    assert_eq!(
        (works_found.len(), found[1].1),
        (3, found[3].1),
        "{found:?}"
    );
    for part in &report.matches {
        assert_eq!(
            part.relation,
            Some(Relation::ContainsBook),
            "{}",
            part.book.id
        );
    }
    // What is free, or in no book, is not covered.
    let half = format!(
        "{}{}{}",
        works[1],
        common::prose(4, 3_000),
        common::prose(5, 3_000)
    );
    let report = checked(&catalogue, &half, &usual);
    let third = report.covered.expect("it is known");
    assert!((third - 1.0 / 3.0).abs() < 0.03, "{third}");
    let few = CheckOptions {
        limit: 1,
        detail: false,
        ..usual
    };
    let [few_shown, all_shown] = [&few, &CheckOptions::default()].map(|options| {
        checked(&catalogue, &works.concat(), options)
            .covered
            .unwrap()
    });
    assert!(
        (few_shown - all_shown).abs() < f64::EPSILON,
        "{few_shown} {all_shown}"
    );
    assert_eq!(
        checked(&catalogue, &common::prose(4, 3_000), &few).covered,
        Some(0.0)
    );
}

/// A long text that quotes a book here and there is no copy of it. What it quotes is covered, whether the match is shown or not.
#[test]
fn what_is_scattered_informs() {
    let (_folder, catalogue) = hardened_catalogue();
    let [book, other] = [1, 2].map(|seed| common::prose(seed, 26_000));
    add(
        &catalogue,
        1,
        Rights::Protected,
        Content::text(book.clone()),
    );
    let [book, other] = [&book, &other].map(|text| text.split(' ').collect::<Vec<_>>());
    let parts = (0..40).flat_map(|at| {
        // Not in the order of the book.
        let quoted = at * 7 % 40 * 550;
        [&other[at * 550..(at + 1) * 550], &book[quoted..quoted + 50]]
    });
    let text = parts
        .map(|words| words.join(" "))
        .collect::<Vec<_>>()
        .join(" ");
    let shown = checked(&catalogue, &text, &CheckOptions::default());
    let [found] = &shown.matches[..] else {
        panic!("{:?}", shown.matches);
    };
    assert_eq!(
        (
            shown.verdict,
            shown.reason,
            shown.total,
            shown.informational
        ),
        (Rights::Unknown, Reason::NoneDecides, 0, 1)
    );
    assert_eq!(
        (found.informational, found.relation),
        (
            Some(InformationalReason::Scattered),
            Some(Relation::Quotations)
        )
    );
    let covered = shown.covered.expect("it is known");
    assert!((covered - 50.0 / 600.0).abs() < 0.04, "{covered}");
    let none_shown = CheckOptions {
        limit: 0,
        ..CheckOptions::default()
    };
    let hidden = checked(&catalogue, &text, &none_shown);
    assert_eq!((hidden.matches.len(), hidden.covered), (0, shown.covered));
}

/// With several recipes, a book is found if any of them finds it, and the verdict is the strictest.
#[test]
fn several_recipes_answer_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let [released, hardened] = [Recipe::released(), Recipe::hardened()];
    let recipes = [hardened.clone(), released.clone()];
    let editor = catalogue.by(Actor::Local);
    editor.recipes().ensure(&recipes).expect("recipes");
    let text = common::prose(1, 6_000);
    let gems = |recipe: &Recipe, text: &str| {
        recipe
            .gems(text)
            .iter()
            .map(|g| recipe.write(g.gem))
            .collect::<Vec<_>>()
    };
    add(&catalogue, 0, Rights::Free, Content::text(text.clone()));
    let all = CheckOptions {
        recipes: Recipes::All,
        ..CheckOptions::default()
    };
    let one = |recipe: &Recipe| CheckOptions {
        recipes: Recipes::Named(vec![recipe.name().clone()]),
        allow_incomplete: true,
        ..CheckOptions::default()
    };
    let found = |report: &Report| -> Vec<(String, String)> {
        let names = |m: &lapidary_catalogue::api::Match| {
            m.recipes
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        let mut found: Vec<_> = report
            .matches
            .iter()
            .map(|m| (m.book.id.clone(), names(m)))
            .collect();
        found.sort();
        found
    };
    let pair = |id: &str, recipes: &str| (id.to_owned(), recipes.to_owned());
    assert_eq!(
        found(&checked(&catalogue, &text, &all)),
        [pair("00", "hardened,released")]
    );
    // Letters of another script: only one of the recipes sees through them.
    let disguised = text.replace('a', "а").replace('e', "е").replace('p', "р");
    assert_eq!(checked(&catalogue, &disguised, &one(&released)).total, 0);
    assert_eq!(
        found(&checked(&catalogue, &disguised, &all)),
        [pair("00", "hardened")]
    );

    // A book of which only gems are known is found although it has none of the default recipe.
    add(
        &catalogue,
        1,
        Rights::Protected,
        Content::Gems(BookGems {
            recipe: None,
            gems: gems(&released, &text),
        }),
    );
    assert_eq!(
        checked(&catalogue, &text, &one(&hardened)).verdict,
        Rights::Free
    );
    for options in [CheckOptions::default(), all] {
        let report = checked(&catalogue, &text, &options);
        assert_eq!(
            (report.verdict, report.total, &report.recipe),
            (Rights::Protected, 2, released.name())
        );
        assert_eq!(found(&report)[1], pair("01", "released"));
        assert!(report.covered > Some(0.9), "{:?}", report.covered);
    }
    // Each recipe that is asked could have accused a book by mistake, so the expected numbers add up.
    let page: String = disguised.chars().take(4_000).collect();
    let expected =
        |options: &CheckOptions| checked(&catalogue, &page, options).e_value.expect("fitted");
    let (alone, together) = (
        expected(&one(&hardened)),
        expected(&CheckOptions::default()),
    );
    assert!(
        0.0 < alone && alone < 1e-6 && (together / alone - 2.0).abs() < 1e-9,
        "{alone} {together}"
    );
    // Gems are of the recipe that they are written like.
    for recipe in [&released, &hardened] {
        let report = catalogue
            .checks()
            .report(
                &Query::Gems(gems(recipe, &text).into()),
                &CheckOptions::default(),
            )
            .expect("a report");
        assert_eq!(
            (&report.recipes[..], report.reason),
            (&[recipe.name().clone()][..], Reason::Match)
        );
    }
}

/// What is looked up of a text says as much as the text, and where each span is.
#[test]
fn the_gems_that_a_text_is_looked_up_by_find_what_the_text_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let works = [1, 2, 3].map(|seed| common::prose(seed, 5_000));
    for (number, (work, rights)) in works
        .iter()
        .zip([Rights::Protected, Rights::Free, Rights::Protected])
        .enumerate()
    {
        add(&catalogue, number, rights, Content::text(work.clone()));
    }
    // These do not count, so the gems that do have other positions than in the list.
    let preface = Allowable::Gems(Content::text(works[0][2_000..6_000].to_owned()));
    catalogue
        .by(Actor::Local)
        .allow_lists()
        .put("preface".parse().expect("a name"), preface, None)
        .expect("allowed");
    let [copied, changed] = [
        works[0][500..15_000].to_owned(),
        works[1][..9_000].replace(" ba", " bo"),
    ];
    let text = [
        common::prose(8, 800),
        copied,
        common::prose(9, 800),
        changed,
    ]
    .concat();
    for recipe in [Recipe::hardened(), Recipe::released()] {
        let named = Recipes::Named(vec![recipe.name().clone()]);
        let options = CheckOptions {
            recipes: named,
            ..CheckOptions::default()
        };
        let probes = Text::new(&text, None).probes(&recipe);
        let own = probes
            .iter()
            .zip(0..)
            .filter(|(probe, _)| probe.kept)
            .map(|(_, at)| at)
            .collect();
        let gems = probes
            .iter()
            .map(|probe| recipe.write(probe.placed.gem))
            .collect();
        let query = Query::Gems(TextGems {
            gems,
            indexed: Some(own),
        });
        let mut by_gems = catalogue
            .checks()
            .report(&query, &options)
            .expect("a report");
        let by_text = checked(&catalogue, &text, &options);
        assert!(
            by_text.allowed_gems > 0 && by_text.total == 2,
            "{by_text:?}"
        );
        let place = |at: u32| probes[at as usize].placed.place.expect("a place");
        let spans = |report: &Report| -> Vec<_> {
            report
                .matches
                .iter()
                .flat_map(|found| found.spans.iter().map(|span| (span.common, span.query)))
                .collect()
        };
        for ((common, of_text), (of, of_list)) in spans(&by_text).into_iter().zip(spans(&by_gems)) {
            let (first, last) = (place(of_list.gems.start), place(of_list.gems.end - 1));
            assert_eq!(
                (
                    Some(Place {
                        start: first.start,
                        end: last.end
                    }),
                    of
                ),
                (of_text.bytes, common)
            );
        }
        // By gems instead of bytes.
        let [of_gems, of_text] =
            [&by_gems, &by_text].map(|report| report.covered.expect("it is known"));
        assert!((of_gems - of_text).abs() < 0.05, "{of_gems} {of_text}");
        by_gems.covered = by_text.covered;
        for (of_list, of_text) in by_gems.matches.iter_mut().zip(&by_text.matches) {
            of_list
                .spans
                .iter_mut()
                .zip(&of_text.spans)
                .for_each(|(list, text)| list.query = text.query);
        }
        assert_eq!(by_gems, by_text);
    }
    let beyond = TextGems {
        gems: gems(&[1, 2]),
        indexed: Some(vec![2]),
    };
    let refused = catalogue
        .checks()
        .report(&Query::Gems(beyond), &CheckOptions::default());
    assert!(
        matches!(
            refused,
            Err(CatalogueError::NoSuchPosition { at: 2, gems: 2 })
        ),
        "{refused:?}"
    );
}

/// An excerpt is looked up by more gems than a book with the same text would have. Its report does not say that it has more in
/// common with a book than it has.
#[test]
fn a_match_has_no_more_gems_than_the_text() {
    let folder = TempDir::new().expect("a folder");
    let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
    let text = common::prose(1, 4_000);
    let book = BookKey {
        library: "house".parse().expect("a library"),
        id: "1".parse().expect("an id"),
    };
    let book = NewEntry::new(book, Rights::Protected, Content::text(text.clone()));
    let editor = catalogue.by(Actor::Local);
    editor.books().add(book).expect("it is added");
    let options = CheckOptions {
        exactly: true,
        ..CheckOptions::default()
    };
    let mut matched = 0;
    for at in (0..12_000).step_by(300) {
        let query = Query::text(text[at..at + 2_000].to_owned());
        let report = catalogue
            .checks()
            .report(&query, &options)
            .expect("a report");
        for found in &report.matches {
            matched += 1;
            assert!(found.score.common <= report.gems, "{report:?}");
        }
    }
    assert!(matched > 10, "{matched}");
}
