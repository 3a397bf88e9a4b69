//! Tests of reports on the terminal and as HTML.

use lapidary_gems::{Place, Rule, Trick};

use super::terminal::map;
use super::words::{many, odds};
use super::{
    Checked, Page, Side, Summary, Texts, html_comparison, html_index, html_report, print_comparison, print_report,
    summary,
};
use crate::api::{BookRef, Disguise, DisguisedWord, Match, Report};
use crate::index::Rights;
use crate::language::Language::{self, English, Russian};
use crate::matching::{Extent, Range, Reason, Relation, Score, Span};
use crate::position::Locator;

fn extent(gems: (u32, u32), bytes: Option<(u64, u64)>) -> Extent {
    let bytes = bytes.map(|(start, end)| Place { start, end });
    Extent { gems: Range { start: gems.0, end: gems.1 }, bytes }
}

fn found(title: Option<&str>, rights: Rights) -> Match {
    Match {
        book: BookRef {
            library: "north".into(),
            id: "17".into(),
            rights,
            validity: None,
            title: title.map(Into::into),
            authors: vec!["A. Author".into(), "B. Author".into()],
            language: None,
            bytes: 100_000,
        },
        recipes: vec!["documented".parse().expect("a name")],
        work: 1,
        score: Score::new(15, 20, 40),
        relation: Relation::PartOfBook,
        identical: false,
        chance: 2.5e-10,
        evidence: 14.5,
        error_probability: None,
        spans: vec![Span {
            common: 15,
            query: extent((5, 20), Some((12_500, 50_000))),
            book: extent((0, 20), Some((0, 50_000))),
            query_at: None,
            book_at: None,
        }],
        exact: None,
        passages: Vec::new(),
        allowed: false,
    }
}

fn report(mut matches: Vec<Match>) -> Report {
    (1..).zip(&mut matches).for_each(|(work, found)| found.work = work);
    Report {
        verdict: matches.iter().map(|found| found.book.rights).min().unwrap_or(Rights::Unknown),
        reason: if matches.is_empty() { Reason::NoMatch } else { Reason::Match },
        covered: if matches.is_empty() { 0.0 } else { 0.375 },
        recipe: "documented".parse().expect("a name"),
        recipes: vec!["documented".parse().expect("a name")],
        coverage: None,
        gems: 20,
        common_gems: 0,
        allowed_gems: 0,
        day: jiff::civil::date(2026, 1, 31),
        rule: Rule::default(),
        chance: 1.3e-5,
        total: matches.len(),
        disabled: 0,
        error_probability: None,
        matches,
        disguise: None,
        filed: None,
        note: None,
    }
}

fn printed(width: usize, name: &str, report: &Report, bytes: Option<u64>) -> String {
    printed_in(English, width, name, report, bytes)
}

fn printed_in(language: Language, width: usize, name: &str, report: &Report, bytes: Option<u64>) -> String {
    let mut out = Vec::new();
    Page::new(&mut out, false).of_width(width).report(language, name, report, bytes).expect("memory");
    String::from_utf8(out).expect("text")
}

#[test]
fn nothing_found() {
    let expected = "\
unknown: nothing in the catalogue matches
    novel.txt: 50,000 bytes, 20 gems
    method: recipe 'documented'; a match takes 3 gems in common; by chance
    alone: once in 77,000 checks like this one

";
    assert_eq!(printed(80, "novel.txt", &report(vec![]), Some(50_000)), expected);
}

#[test]
fn one_match() {
    let expected = "\
PROTECTED: 38 % of this text is in protected books
    novel.txt: 50,000 bytes, 20 gems
    measured false-alarm rate: below 1 in 50

1. The Sea
    A. Author, B. Author
    north/17, protected
    most of the text is in this book
    15 gems in common: 75 % of the text's, 38 % of the book's
    text  ░░░░░░░░░░░░░░░░░█████████████████████████████████████████████████████
    book  ███████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░

Method
    recipe 'documented'; a match takes 3 gems in common; by chance alone: once
    in 77,000 checks like this one
    1. evidence 14.5; fewer than 1 in 7,700 unrelated books has as much; by
    chance alone: once in 4 billion checks like this one

";
    let mut report = report(vec![found(Some("The Sea"), Rights::Protected)]);
    report.error_probability = Some(0.02);
    report.matches[0].error_probability = Some(1.3e-4);
    assert_eq!(printed(80, "novel.txt", &report, Some(50_000)), expected);
}

/// A report has one headline and one measure of certainty. All other figures are under "method", at its end.
#[test]
fn one_measure_of_certainty() {
    let mut report = report(vec![found(Some("The Sea"), Rights::Protected); 2]);
    report.matches[0].error_probability = Some(1.3e-4);
    let table = [
        (Some(0.02), "measured false-alarm rate: below 1 in 50"),
        (Some(1.0), "false-alarm rate: unknown, since too few unrelated books were measured"),
        (None, "false-alarm rate: not measured for recipe 'documented'"),
    ];
    for (error, expected) in table {
        report.error_probability = error;
        let text = printed(120, "novel.txt", &report, Some(50_000));
        let page =
            html_report(English, "novel.txt", &report, Some(50_000), &Texts::default(), jiff::Timestamp::UNIX_EPOCH);
        for (shown, heading) in [(text, "\nMethod\n"), (page, "<h2>Method</h2>")] {
            let (before, method) = shown.split_once(heading).expect("a method");
            assert!(before.contains(expected) && before.matches("rate").count() == 1, "{shown}");
            for figure in ["chance", "evidence", "unrelated books has"] {
                assert!(!before.contains(figure) && method.contains(figure), "{figure}: {shown}");
            }
        }
    }
}

#[test]
fn narrow_long_and_missing() {
    let mut untitled = found(None, Rights::Unknown);
    untitled.book.authors.clear();
    untitled.chance = 1.7;
    untitled.spans.clear();
    let long = "A Very Long Title ".repeat(20);
    let mut report = report(vec![found(Some(&long), Rights::PublicDomain), untitled]);
    (report.total, report.common_gems) = (500, 2);
    report.note = Some("the catalogue is being re-indexed".into());
    let expected = "\
public domain: this text, or part of it,
is in a book in the public domain
    gems: 20 gems, 2 of them in too many
    books of a library to count
    false-alarm rate: not measured for
    recipe 'documented'
    note: the catalogue is being
    re-indexed

1. A Very Long Title A Very Long Title A
Very Long Title A Very Long Title A Ver…
    A. Author, B. Author
    north/17, public domain
    most of the text is in this book
    15 gems in common: 75 % of the
    text's, 38 % of the book's
    text  ░░░░░░░░██████████████████████
    book  ███████████████░░░░░░░░░░░░░░░

2. (no title)
    north/17, rights unknown
    most of the text is in this book
    15 gems in common: 75 % of the
    text's, 38 % of the book's

… and 498 more

Method
    recipe 'documented'; a match takes 3
    gems in common; by chance alone:
    once in 77,000 checks like this one
    1. evidence 14.5; by chance alone:
    once in 4 billion checks like this
    one
    2. evidence 14.5; by chance alone,
    about 2 unrelated books would have
    as many

";
    assert_eq!(printed(40, "gems", &report, None), expected);
}

fn example(trick: Trick, before: &str, word: &str, after: &str) -> DisguisedWord {
    let bytes = Place { start: 1_204, end: 1_204 + word.len() as u64 };
    DisguisedWord { trick, bytes, at: None, before: before.into(), word: word.into(), after: after.into() }
}

fn disguised(examples: Vec<DisguisedWord>) -> Disguise {
    Disguise {
        disguised: true,
        share: 0.38,
        invisible: 0,
        look_alikes: 1_204,
        marks: 0,
        letter_spaced: 0,
        digits: 0,
        hyphens: 0,
        examples,
    }
}

#[test]
fn disguise_in_a_sentence_and_in_context() {
    let expected = "\
unknown: nothing in the catalogue matches
    novel.txt: 50,000 bytes, 20 gems
    This text is disguised: 1,204 letters of another script in 38 % of the words

Method
    recipe 'documented'; a match takes 3 gems in common; by chance alone: once
    in 77,000 checks like this one
    letters of another script, bytes 1,204 to 1,213: …in the box lay the
    tr[е=U+0435]asure, and…

";
    let mut report = report(vec![]);
    report.disguise = Some(disguised(vec![example(Trick::LookAlikes, "in the box\nlay the ", "trеasure", ", and")]));
    assert_eq!(printed(80, "novel.txt", &report, Some(50_000)), expected);
    let page = html_report(English, "novel.txt", &report, Some(50_000), &Texts::default(), jiff::Timestamp::UNIX_EPOCH);
    let (before, method) = page.split_once("<h2>Method</h2>").expect("a method");
    assert!(before.contains("This text is disguised: 1,204 letters of another script in 38 % of the words"), "{page}");
    assert!(method.contains("tr[е=U+0435]asure"), "{page}");

    let several = Disguise { invisible: 1, digits: 2, share: 0.009, ..disguised(vec![]) };
    report.disguise = Some(several.clone());
    let sentence = "This text is disguised: 1 invisible character, 1,204 letters of another script and 2 digits for letters \
                    in 1 % of the words";
    assert!(printed(140, "novel.txt", &report, None).replace("\n    ", " ").contains(sentence));
    // Ordinary texts have a few signs, too.
    report.disguise = Some(Disguise { disguised: false, ..several });
    let text = printed(80, "novel.txt", &report, Some(50_000));
    assert!(!text.contains("disguise") && !text.contains("U+"), "{text}");
}

#[test]
fn what_is_hidden_is_shown_and_steers_no_terminal() {
    let table = [
        (Trick::Invisible, "tre\u{200b}as\u{200d}ure", "tre[U+200B]as[U+200D]ure"),
        (Trick::Invisible, "\u{202e}erusaert\u{1b}[2J", "[U+202E]erusaert[U+001B][2J"),
        (Trick::LookAlikes, "Рacход", "Р[a=U+0061][c=U+0063]ход"),
        (Trick::LookAlikes, "ｔｒｅasure", "[ｔ=U+FF54][ｒ=U+FF52][ｅ=U+FF45]asure"),
        (Trick::Marks, "t\u{336}reasure", "t[U+0336]reasure"),
        (Trick::LetterSpaced, "t r e a s u r e", "t r e a s u r e"),
        (Trick::Hyphens, "trea-\nsure", "trea- sure"),
        (Trick::Digits, "tr345ur3", "tr345ur3"),
    ];
    for (trick, word, shown) in table {
        let mut report = report(vec![]);
        report.disguise = Some(disguised(vec![example(trick, "\u{1b}[31m\u{202e}the ", word, " \u{7}<b>lay</b>")]));
        let text = printed(140, "novel.txt", &report, None);
        assert!(text.contains(&format!("the {shown} ")), "{shown}: {text}");
        assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}' || c == '\u{200b}')), "{text:?}");
        let page = html_report(English, "novel.txt", &report, None, &Texts::default(), jiff::Timestamp::UNIX_EPOCH);
        assert!(page.contains(&format!("the {shown} ")) && !page.contains("<b>"), "{shown}: {page}");
        assert!(page.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{page:?}");
    }
}

#[test]
fn five_hundred_matches() {
    let report = report(vec![found(Some("The Sea"), Rights::Free); 500]);
    let text = printed(80, "novel.txt", &report, Some(50_000));
    assert_eq!(text.lines().filter(|line| line.ends_with("The Sea")).count(), 10);
    assert!(text.contains("\n\n… and 490 more\n\nMethod\n"), "{text}");
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
    assert!(!without.contains('\u{1b}') && with.contains("\u{1b}[31m"), "{with:?}");
    assert_eq!(console::strip_ansi_codes(&with), without);
}

#[test]
fn chance_in_words() {
    let table = [
        (123.4, "by chance alone, about 123 unrelated books would have as many"),
        (0.6, "by chance alone, about 1 unrelated book would have as many"),
        (0.3, "by chance alone: once in 3 checks like this one"),
        (2.5e-10, "by chance alone: once in 4 billion checks like this one"),
        (0.0, "by chance alone: practically never"),
        (5e-324, "by chance alone: once in 10³⁰⁸ checks like this one"),
    ];
    for (expected_books, words) in table {
        assert_eq!(odds(English, expected_books), words);
    }
}

#[test]
fn numbers_in_words() {
    let table = [
        (12.0, "12"),
        (1_234.0, "1,200"),
        (999_999.0, "1,000,000"),
        (1.25e6, "1.2 million"),
        (43e9, "43 billion"),
        (7e12, "7 trillion"),
        (3e23, "10²³"),
    ];
    for (number, words) in table {
        assert_eq!(many(English, number), words);
    }
}

/// A report with everything that a report can say, and with names in Cyrillic.
fn full() -> Report {
    let cyrillic = |mut found: Match| {
        (found.book.library, found.book.id) = ("север".into(), "17".into());
        (found.book.title, found.book.authors) = (Some("Море".into()), vec!["А. Автор".into()]);
        found
    };
    let mut report = report(vec![cyrillic(found(None, Rights::Protected)); 4]);
    (report.total, report.disabled, report.common_gems, report.allowed_gems) = (1_300, 2, 3, 1);
    (report.rule.min_support, report.rule.min_share) = (2.0, 0.03);
    (report.error_probability, report.matches[0].error_probability) = (Some(2.5e-10), Some(1.3e-4));
    (report.matches[1].error_probability, report.matches[1].work, report.matches[1].allowed) = (Some(1.0), 1, true);
    (report.matches[2].chance, report.matches[2].book.title) = (1.7, None);
    report.matches[3].spans[0].query.bytes = None;
    for (found, relation) in report.matches.iter_mut().zip([
        Relation::SameText,
        Relation::PartOfBook,
        Relation::ContainsBook,
        Relation::Overlap,
    ]) {
        found.relation = relation;
    }
    let word = example(Trick::Digits, "в ящике лежал ", "кла4", ", и");
    report.disguise =
        Some(Disguise { invisible: 1, marks: 21, letter_spaced: 2, digits: 5, hyphens: 11, ..disguised(vec![word]) });
    report.note = Some("оговорка".into());
    report
}

#[test]
fn in_russian() {
    let expected = "\
ОХРАНЯЕТСЯ: 38_% этого текста содержится в охраняемых книгах
    роман.txt: 50_000 байт, 20 отпечатков, из них не учтено 3: они есть в
    слишком многих книгах одной библиотеки, из них разрешён 1
    измеренная доля ложных тревог: менее 1 на 4 миллиарда
    Текст замаскирован: 1 невидимый знак, 1_204 буквы чужого алфавита, 21
    надстрочный или подстрочный знак, 2 слова вразрядку, 5 цифр вместо букв и 11
    дефисов внутри слов в 38_% слов
    не учтено: 2 отключённые книги, которые совпали бы
    примечание: оговорка

1. Море
    А. Автор
    север/17, охраняется
    текст и книга в основном совпадают
    15 общих отпечатков: 75_% отпечатков текста, 38_% отпечатков книги
    текст ░░░░░░░░░░░░░░░░░█████████████████████████████████████████████████████
    книга ███████████████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
";
    let text = printed_in(Russian, 80, "роман.txt", &full(), Some(50_000)).replace('\u{a0}', "_");
    assert!(text.starts_with(expected), "{text}");
    for said in [
        "другое издание книги 1",
        "в списке разрешённых: на вывод не влияет",
        "(без названия)",
        "… и ещё 1_296",
        "алгоритм «documented»; для совпадения нужно не менее 3 общих отпечатков (отдельно стоящий считается за \
         половину) и 3_% текста или книги; вероятность случайного совпадения при такой проверке: 1 на 77_000",
        "1. доказательная сила 14,5; у посторонних книг такая бывает реже, чем 1 раз на 7_700",
        "случайно столько же общих отпечатков имели бы примерно 2 посторонние книги",
        "цифры вместо букв, байты 1_204–1_211: …в ящике лежал кла4, и…",
    ] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{said}: {text}");
    }
}

/// Nothing is left in another language: the only Latin letters are those of names and of markup.
#[test]
fn nothing_is_left_untranslated() {
    let report = full();
    let rows = |outcome| Checked { name: "роман".into(), outcome };
    let listed = |verdict| rows(Ok(Summary { page: "1".into(), verdict, covered: 0.3, matches: 5 }));
    let rows = [
        listed(Rights::Forbidden),
        listed(Rights::Protected),
        listed(Rights::Free),
        listed(Rights::PublicDomain),
        listed(Rights::Unknown),
        rows(Err("нет файла".into())),
    ];
    let verdicts = Rights::ALL;
    let reasons = [Reason::NoMatch, Reason::TooShort, Reason::MostlyCommon, Reason::NothingToCompare, Reason::Match];
    let mut said: Vec<String> =
        [Some(50_000), None].iter().map(|&bytes| printed_in(Russian, 80, "роман", &report, bytes)).collect();
    for verdict in verdicts {
        for reason in reasons {
            let found: Vec<Match> = report.matches.iter().take(usize::from(reason == Reason::Match)).cloned().collect();
            let mut few = Report { verdict, reason, matches: found, ..report.clone() };
            for (of, error) in few.matches.iter_mut().zip([Some(1.0)]) {
                (of.book.rights, few.error_probability) = (verdict, error);
            }
            said.push(printed_in(Russian, 80, "роман", &few, None));
        }
    }
    said.push(summary(Russian, &rows));
    let page = html_report(Russian, "роман", &report, Some(50_000), &Texts::default(), jiff::Timestamp::UNIX_EPOCH);
    let index = html_index(Russian, &rows, jiff::Timestamp::UNIX_EPOCH);
    for page in [page, index] {
        assert!(page.starts_with("<!DOCTYPE html><html lang=\"ru\">"), "{page}");
        let (_, body) = page.split_once("</style>").expect("a page");
        // The text between the tags.
        said.push(body.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, text)| text).collect());
    }
    for said in said {
        let names = ["documented", "UTC", "&gt;", "&lt;", "gems"];
        let rest = names.iter().fold(said.clone(), |said, name| said.replace(name, ""));
        assert!(!rest.contains(|c: char| c.is_ascii_alphabetic()), "{said}");
    }
    assert_eq!(
        summary(Russian, &rows),
        "6 файлов: запрещено — 1, охраняется — 1, свободно — 1, общественное достояние — 1, неизвестно — 1, не проверено — \
         1"
    );
}

#[test]
fn comparisons() {
    let recipe = lapidary_gems::Recipe::documented();
    let words: Vec<String> = (0..9_000_u64).map(|i| format!("{:x}stone", i * 2_654_435_761 % 999_983)).collect();
    let text = words.join(" ");
    let [a, b] = [&text, &text[..text.len() / 2]].map(|text| crate::catalogue::Text::new(text, None));
    let comparison = crate::catalogue::compare(&recipe, recipe.rule(), &a, &b);
    let shown = |language| {
        let mut out = Vec::new();
        print_comparison(&mut out, language, ["one.txt", "two.txt"], &comparison).expect("memory");
        String::from_utf8(out).expect("text")
    };
    let (english, russian) = (shown(English), shown(Russian));
    assert!(english.contains("in common under documented: a match\n"), "{english}");
    assert!(english.contains(" % of A, 100.0 % of B; most of B is in A\n"), "{english}");
    assert!(russian.contains(" по алгоритму documented: тексты совпадают\n"), "{russian}");
    assert!(russian.contains("\u{a0}% текста A, 100,0\u{a0}% текста B; большая часть B содержится в A\n"), "{russian}");
}

#[test]
fn maps() {
    let ends = [extent((0, 1), Some((0, 10))), extent((9, 10), Some((95, 100)))];
    assert_eq!(map(&ends, Some(100), 10, 10), "█░░░░░░░░█");
    assert_eq!(map(&ends, None, 10, 10), "█░░░░░░░░█");
    assert_eq!(map(&ends[..1], Some(100), 10, 5), "█░░░░");
    assert_eq!(map(&ends[1..], Some(100), 10, 5), "░░░░▒");
    let placeless = [extent((1, 2), None)];
    assert_eq!(map(&placeless, Some(100), 4, 8), "░░██░░░░", "by gems where a span has no bytes");
    assert_eq!(map(&placeless, None, 0, 3), "░░░", "an impossible length draws nothing");
}

#[test]
fn a_page_shows_all_and_nothing_of_it_is_markup() {
    let mut report = report(vec![found(Some("<script>alert(1)</script>"), Rights::Protected)]);
    report.allowed_gems = 2;
    report.matches[0].allowed = true;
    let page = html_report(English, "<b>.txt", &report, Some(50_000), &Texts::default(), jiff::Timestamp::UNIX_EPOCH);
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    for said in
        ["&lt;script&gt;", "&lt;b&gt;.txt", "1970-01-01", "2026-01-31", "<svg", "<polygon", "A. Author", "north/17"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    for element in ["rect", "polygon", "g", "svg"] {
        let count = |tag: &str| page.matches(tag).count();
        // Browsers put whatever follows an unclosed SVG element inside it.
        assert_eq!(count(&format!("<{element} ")), count(&format!("</{element}>")), "{element}");
    }
    for never in ["<script", "<b>", "http://", "https://", "src=", "NaN"] {
        assert!(!page.contains(never), "{never}: {page}");
    }
}

/// A story, and a copy of it with hostile words in it.
fn hostile_texts() -> (String, String) {
    let words: Vec<String> =
        (0..900_u64).map(|i| format!("{:x}stone", (i + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30)).collect();
    let mut copy = words.clone();
    copy[100] = "<script>alert(1)</script>".to_owned();
    copy[200] = "\"><img src=x onerror=alert(1)>".to_owned();
    copy[300] = "\u{202e}desrever\u{202c}\u{7}\u{1b}[2J".to_owned();
    copy[400] = "endless".repeat(500);
    copy[500] = copy[500].replace("stone", "st\u{200b}оne");
    copy[600] = "</td></table></details><h1>".to_owned();
    copy.remove(700);
    (copy.join(" "), words.join(" "))
}

#[test]
fn passages_side_by_side_mark_what_differs_and_nothing_of_them_is_markup() {
    let (copy, book) = hostile_texts();
    let mut report = report(vec![found(Some("A book"), Rights::Protected)]);
    report.matches[0].book.language = Some("en\"><b>".into());
    report.matches[0].spans[0].query = extent((0, 1), Some((0, copy.len() as u64)));
    report.matches[0].spans[0].book = extent((0, 1), Some((0, book.len() as u64)));
    let [in_text, in_book] = [&copy, &book].map(|text| Locator::new(text, &[]));
    report.matches[0].compare(&copy, &in_text, &book, &in_book);
    let texts = Texts { text: Some(&copy), books: vec![Some(book.clone())] };
    let bytes = Some(copy.len() as u64);
    let page = html_report(English, "x", &report, bytes, &texts, jiff::Timestamp::UNIX_EPOCH);
    for said in [
        "<ins>script&gt;alert(1)&lt;/script</ins>",
        "<del>",
        "<mark>",
        "st·оne",
        "<details open>",
        "Passage 1",
        "lang=\"\"",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    for never in ["<script", "<img", "<b>", "\u{202e}", "\u{7}", "\u{1b}", "http://", "https://"] {
        assert!(!page.contains(never), "{never}: {page}");
    }
    for element in ["table", "tr", "td", "details", "summary", "ins", "del", "mark", "h1", "h3"] {
        let starts = page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
        assert_eq!(starts, page.matches(&format!("</{element}>")).count(), "{element}");
    }
    // Without the book's text there are still the excerpts.
    let alone = Texts { text: Some(&copy), books: Vec::new() };
    let page = html_report(Russian, "x", &report, bytes, &alone, jiff::Timestamp::UNIX_EPOCH);
    assert!(page.contains("Отрывок 1") && page.contains("&lt;script&gt;") && !page.contains("<del>"), "{page}");
    // Spans that a server invents show nothing that is not there.
    report.matches[0].spans[0].query = extent((0, 1), Some((7, u64::MAX)));
    let again = report.matches[0].spans[0].clone();
    report.matches[0].spans.push(again);
    report.matches[0].spans[1].query = extent((0, 1), Some((9, 3)));
    for texts in [&texts, &alone] {
        assert!(html_report(English, "x", &report, bytes, texts, jiff::Timestamp::UNIX_EPOCH).ends_with("</html>"));
    }
}

#[test]
fn a_comparison_as_a_page() {
    let (copy, book) = hostile_texts();
    let recipe = lapidary_gems::Recipe::hardened_fine();
    let [a, b] = [&copy, &book].map(|text| crate::catalogue::Text::new(text, None));
    let mut comparison = crate::catalogue::compare(&recipe, recipe.rule(), &a, &b);
    comparison.locate(&Locator::new(&copy, &[]), &Locator::new(&book, &[]));
    let sides = [&copy, &book].map(|text| Side { text, language: None });
    let page = html_comparison(Russian, ["<a>.txt", "b.txt"], sides, &comparison, jiff::Timestamp::UNIX_EPOCH);
    for said in ["<html lang=\"ru\">", "&lt;a&gt;.txt", "Отрывок 1", "совпадает дословно", "абзац 1", "<ins>", "<del>"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("<a>") && !page.contains("<script"), "{page}");
}

#[test]
fn a_page_of_gems_alone_and_of_nothing() {
    let mut only_gems = found(None, Rights::Free);
    only_gems.book.bytes = 0;
    for span in &mut only_gems.spans {
        (span.query.bytes, span.book.bytes) = (None, None);
    }
    for matches in [vec![only_gems], vec![]] {
        let page = html_report(English, "gems", &report(matches), None, &Texts::default(), jiff::Timestamp::UNIX_EPOCH);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
