//! Reports on the terminal, and what both kinds of report say.

use lapidary_gems::{Rule, Trick};

use super::{disguised, example, extent, found, page, printed, report};
use crate::terminal::map;
use crate::words::accident;
use crate::{PageTexts, print_comparison, print_report};
use lapidary_catalogue::Comparison;
use lapidary_catalogue::api::{Disguise, HiddenText, Match};
use lapidary_checking::{Identity, Relation};
use lapidary_extract::{HiddenCount, Hiding};
use lapidary_language::Language::English;
use lapidary_store::Rights;

#[test]
fn nothing_found() {
    let expected = "\
No match in the catalogue
    novel.txt: 50,000 bytes, 20 gems
    method: recipe 'documented'; a match takes 3 gems in common

";
    assert_eq!(
        printed(80, "novel.txt", &report(vec![]), Some(50_000)),
        expected
    );
}

#[test]
fn one_match() {
    let expected = "\
PROTECTED: 38 % of this text is in protected books
    novel.txt: 50,000 bytes, 20 gems
    a match like this by accident is not to be expected in a million indexes of
    this size

1. The Sea
    A. Author, B. Author
    north/17, protected
    most of the text is in this book
    15 gems in common: 75 % of the text's gems, 38 % of the book's
    text  ░░░░░░░░░░░░░░░░░█████████████████████████████████████████████████████
    book  ███████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░

Method
    recipe 'documented'; a match takes 3 gems in common
    1. evidence 14.5; a match like this by accident is to be expected once in
    7,700 indexes of this size

";
    let mut report = report(vec![found(Some("The Sea"), Rights::Protected)]);
    report.e_value = Some(2e-9);
    report.matches[0].e_value = Some(1.3e-4);
    assert_eq!(printed(80, "novel.txt", &report, Some(50_000)), expected);
}

/// A report has one headline and one measure of certainty. All other figures are under "method", at its end.
#[test]
fn one_measure_of_certainty() {
    let mut report = report(vec![found(Some("The Sea"), Rights::Protected); 2]);
    report.matches[0].e_value = Some(1.3e-4);
    for (e_value, expected) in [
        (2e-9, "not to be expected in a million indexes"),
        (0.02, "to be expected once in 50 indexes"),
        (1.7, "about 2 unrelated books would match like this"),
    ] {
        report.e_value = Some(e_value);
        let text = printed(120, "novel.txt", &report, Some(50_000));
        let page = page(
            English,
            "novel.txt",
            &report,
            Some(50_000),
            &PageTexts::default(),
        );
        for (shown, heading) in [
            (text, "\nMethod\n"),
            (page, "<summary>How the verdict came about"),
        ] {
            let (before, method) = shown.split_once(heading).expect("a method");
            assert!(
                before.contains(expected) && before.matches("accident").count() == 1,
                "{shown}"
            );
            for figure in ["evidence", "once in 7,700 indexes"] {
                assert!(
                    !before.contains(figure) && method.contains(figure),
                    "{figure}: {shown}"
                );
            }
        }
    }
}

/// What is printed of a comparison that finds what a match does.
fn compared(found: &Match, relation: Relation) -> String {
    let comparison = Comparison {
        recipe: found.recipes[0].clone(),
        gems_a: 20,
        gems_b: 40,
        score: found.score,
        matches: true,
        rule: Rule::default(),
        relation,
        spans: found.spans.clone(),
        exact: Identity::default(),
        passages: Vec::new(),
    };
    let mut out = Vec::new();
    print_comparison(&mut out, English, ["a.txt", "b.txt"], &comparison).expect("memory");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_copy_with_changes_everywhere_is_told_as_one() {
    for (common, relation, is_told) in [
        (15, Relation::PartOfBook, false),
        (7, Relation::PartOfBook, true),
        (7, Relation::ContainsBook, true),
        (7, Relation::SameText, true),
        (7, Relation::Overlap, false),
    ] {
        let mut found = found(Some("A Book"), Rights::Protected);
        found.relation = Some(relation);
        found.spans[0].common = common;
        let compared = compared(&found, relation);
        let report = report(vec![found]);
        let text = printed(120, "novel.txt", &report, Some(50_000));
        let texts = PageTexts::default();
        let page = page(English, "novel.txt", &report, Some(50_000), &texts);
        for shown in [text, page, compared] {
            assert_eq!(shown.contains(", with changes"), is_told, "{shown}");
        }
    }
}

#[test]
fn narrow_long_and_missing() {
    let mut untitled = found(None, Rights::Unknown);
    untitled.book.authors.clear();
    untitled.e_value = Some(1.7);
    untitled.spans.clear();
    let long = "A Very Long Title ".repeat(20);
    let mut report = report(vec![found(Some(&long), Rights::PublicDomain), untitled]);
    (report.total, report.common_gems) = (500, 2);
    report.note = Some("the catalogue is being re-indexed".into());
    let expected = "\
Free to publish: this text, or part of
it, is in a book in the public domain
    gems: 20 gems, 2 of them in too many
    books of a library to count
    note: the catalogue is being
    re-indexed

1. A Very Long Title A Very Long Title A
Very Long Title A Very Long Title A Ver…
    A. Author, B. Author
    north/17, public domain
    most of the text is in this book
    15 gems in common: 75 % of the
    text's gems, 38 % of the book's
    text  ░░░░░░░░██████████████████████
    book  ███████████████░░░░░░░░░░░░░░░

2. (no title)
    north/17, rights unknown
    most of the text is in this book
    15 gems in common: 75 % of the
    text's gems, 38 % of the book's

… and 498 more

Method
    recipe 'documented'; a match takes 3
    gems in common
    1. evidence 14.5
    2. evidence 14.5; by accident, about
    2 unrelated books would match like
    this in an index of this size

";
    assert_eq!(printed(40, "gems", &report, None), expected);
}

#[test]
fn disguise_in_a_sentence_and_in_context() {
    let expected = "\
No match in the catalogue
    novel.txt: 50,000 bytes, 20 gems
    This text is disguised: 1,204 letters of another script in 38 % of the words

Method
    recipe 'documented'; a match takes 3 gems in common
    letters of another script, bytes 1,204 to 1,213: …in the box lay the
    tr[е=U+0435]asure, and…

";
    let mut report = report(vec![]);
    report.disguise = Some(disguised(vec![example(
        Trick::LookAlikes,
        "in the box\nlay the ",
        "trеasure",
        ", and",
    )]));
    assert_eq!(printed(80, "novel.txt", &report, Some(50_000)), expected);
    let page = page(
        English,
        "novel.txt",
        &report,
        Some(50_000),
        &PageTexts::default(),
    );
    let (before, method) = page.split_once("<h2>Books").unwrap_or((&page, &page));
    assert!(
        before.contains(
            "This text is disguised: 1,204 letters of another script in 38 % of the words"
        ),
        "{page}"
    );
    assert!(method.contains("tr[е=U+0435]asure"), "{page}");

    let several = Disguise {
        invisible: 1,
        digits: 2,
        share: 0.009,
        ..disguised(vec![])
    };
    report.disguise = Some(several.clone());
    let sentence = "This text is disguised: 1 invisible character, 1,204 letters of another script and 2 digits for letters \
                    in 1 % of the words";
    assert!(
        printed(140, "novel.txt", &report, None)
            .replace("\n    ", " ")
            .contains(sentence)
    );
    // Ordinary texts have a few signs, too.
    report.disguise = Some(Disguise {
        disguised: false,
        ..several
    });
    let text = printed(80, "novel.txt", &report, Some(50_000));
    assert!(!text.contains("disguise") && !text.contains("U+"), "{text}");
}

#[test]
fn hidden_words_are_told_however_few() {
    let way = |how, words| HiddenCount { method: how, words };
    let mut report = report(vec![]);
    let one = HiddenText {
        words: 1,
        share: 0.01,
        methods: vec![way(Hiding::Tiny, 1)],
    };
    let signs = Disguise {
        disguised: false,
        share: 0.0,
        look_alikes: 0,
        ..disguised(vec![])
    };
    report.disguise = Some(Disguise {
        hidden: Some(one),
        ..signs.clone()
    });
    let sentence = "1 word (1 %) of this file is hidden from its readers and was left out: in tiny letters (1)";
    assert!(
        printed(140, "novel.txt", &report, Some(50_000))
            .replace("\n    ", " ")
            .contains(sentence)
    );
    assert!(
        page(
            English,
            "novel.txt",
            &report,
            Some(50_000),
            &PageTexts::default()
        )
        .contains(sentence)
    );

    let ways = vec![way(Hiding::SameColour, 1_500), way(Hiding::OffPage, 30)];
    report.disguise = Some(Disguise {
        hidden: Some(HiddenText {
            words: 1_530,
            share: 0.61,
            methods: ways,
        }),
        ..signs
    });
    let sentence = "1,530 words (61 %) of this file are hidden from its readers and were left out: in the colour of the \
                    background (1,500) and beyond the page (30)";
    let text = printed(140, "novel.txt", &report, Some(50_000)).replace("\n    ", " ");
    assert!(
        text.contains(sentence) && !text.contains("disguised"),
        "{text}"
    );
}

#[test]
fn what_is_hidden_is_shown_and_steers_no_terminal() {
    let table = [
        (
            Trick::Invisible,
            "tre\u{200b}as\u{200d}ure",
            "tre[U+200B]as[U+200D]ure",
        ),
        (
            Trick::Invisible,
            "\u{202e}erusaert\u{1b}[2J",
            "[U+202E]erusaert[U+001B][2J",
        ),
        (Trick::LookAlikes, "Рacход", "Р[a=U+0061][c=U+0063]ход"),
        (
            Trick::LookAlikes,
            "ｔｒｅasure",
            "[ｔ=U+FF54][ｒ=U+FF52][ｅ=U+FF45]asure",
        ),
        (Trick::Marks, "t\u{336}reasure", "t[U+0336]reasure"),
        (Trick::LetterSpaced, "t r e a s u r e", "t r e a s u r e"),
        (Trick::Hyphens, "trea-\nsure", "trea- sure"),
        (Trick::Digits, "tr345ur3", "tr345ur3"),
    ];
    for (trick, word, shown) in table {
        let mut report = report(vec![]);
        report.disguise = Some(disguised(vec![example(
            trick,
            "\u{1b}[31m\u{202e}the ",
            word,
            " \u{7}<b>lay</b>",
        )]));
        let text = printed(140, "novel.txt", &report, None);
        assert!(text.contains(&format!("the {shown} ")), "{shown}: {text}");
        assert!(
            text.chars()
                .all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}' || c == '\u{200b}')),
            "{text:?}"
        );
        let page = page(English, "novel.txt", &report, None, &PageTexts::default());
        assert!(
            page.contains(&format!("the {shown} ")) && !page.contains("<b>"),
            "{shown}: {page}"
        );
        assert!(
            page.chars()
                .all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')),
            "{page:?}"
        );
    }
}

#[test]
fn five_hundred_matches() {
    let report = report(vec![found(Some("The Sea"), Rights::Free); 500]);
    let text = printed(80, "novel.txt", &report, Some(50_000));
    assert_eq!(
        text.lines()
            .filter(|line| line.ends_with("The Sea"))
            .count(),
        10
    );
    assert!(text.contains("\n\n… and 490 more\n\nMethod\n"), "{text}");
}

/// A server may send any figures.
#[test]
fn figures_that_cannot_be_do_no_harm() {
    let mut report = report(vec![found(Some("The Sea"), Rights::Protected)]);
    (report.common_gems, report.allowed_gems) = (u32::MAX, u32::MAX);
    assert!(printed(80, "novel.txt", &report, None).contains("The Sea"));
    let page = page(English, "novel.txt", &report, None, &PageTexts::default());
    assert!(page.contains("The Sea") && !page.contains("NaN"), "{page}");
}

#[test]
fn counted_but_not_shown() {
    let mut report = report(vec![]);
    (report.total, report.verdict) = (1, Rights::Protected);
    let text = printed(80, "novel.txt", &report, None);
    assert!(text.contains("\n\n1 match, not shown\n"), "{text}");
}

#[test]
fn no_escape_sequence_leaks() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}Title\r\n";
    let mut found = found(Some(evil), Rights::Protected);
    found.book.authors = vec![evil.into()];
    (found.book.library, found.book.id) = (evil.into(), evil.into());
    let mut report = report(vec![found]);
    report.note = Some(evil.into());
    let text = printed(80, evil, &report, None);
    let harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    assert!(text.chars().all(harmless), "{text:?}");
    assert!(text.contains("Title"));
}

#[test]
fn colours_only_when_asked() {
    let report = report(vec![found(Some("The Sea"), Rights::Protected)]);
    let [without, with] = [false, true].map(|colour| {
        let mut out = Vec::new();
        print_report(&mut out, English, "novel.txt", &report, None, colour).expect("memory");
        String::from_utf8(out).expect("text")
    });
    assert!(
        !without.contains('\u{1b}') && with.contains("\u{1b}[31m"),
        "{with:?}"
    );
    assert_eq!(console::strip_ansi_codes(&with), without);
}

#[test]
fn accidents_in_words() {
    let once = |indexes: &str| {
        format!(
            "a match like this by accident is to be expected once in {indexes} indexes of this size"
        )
    };
    let in_this = |books: &str| {
        format!("by accident, about {books} would match like this in an index of this size")
    };
    let never =
        "a match like this by accident is not to be expected in a million indexes of this size";
    for (expected, words) in [
        (123.4, in_this("123 unrelated books")),
        (0.6, in_this("1 unrelated book")),
        (0.3, once("3")),
        (1.0 / 1_234.0, once("1,200")),
        (1.1e-6, once("910,000")),
        (1e-6, never.to_owned()),
        (0.0, never.to_owned()),
    ] {
        assert_eq!(accident(English, expected), words);
    }
}

#[test]
fn maps() {
    let ends = [
        extent((0, 1), Some((0, 10))),
        extent((9, 10), Some((95, 100))),
    ];
    assert_eq!(map(&ends, Some(100), 10, 10), "█░░░░░░░░█");
    assert_eq!(map(&ends, None, 10, 10), "█░░░░░░░░█");
    assert_eq!(map(&ends[..1], Some(100), 10, 5), "█░░░░");
    assert_eq!(map(&ends[1..], Some(100), 10, 5), "░░░░▒");
    let placeless = [extent((1, 2), None)];
    assert_eq!(
        map(&placeless, Some(100), 4, 8),
        "░░██░░░░",
        "by gems where a span has no bytes"
    );
    assert_eq!(
        map(&placeless, None, 0, 3),
        "░░░",
        "an impossible length draws nothing"
    );
}
