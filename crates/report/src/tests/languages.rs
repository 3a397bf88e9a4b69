//! Reports in other languages.

use lapidary_gems::Trick;

use super::{disguised, example, found, hidden_in_all_ways, page, printed_in, report};
use crate::{Checked, Outcome, PageTexts, Summary, html_index, print_comparison, summary};
use lapidary_catalogue::api::{Disguise, Match, Report};
use lapidary_checking::{InformationalReason, Reason, Relation};
use lapidary_language::Language::{English, Russian};
use lapidary_store::Rights;

/// A report with everything that a report can say, and with names in Cyrillic.
fn full() -> Report {
    let cyrillic = |mut found: Match| {
        (found.book.library, found.book.id) = ("север".into(), "17".into());
        (found.book.title, found.book.authors) = (Some("Море".into()), vec!["А. Автор".into()]);
        found
    };
    let mut report = report(vec![cyrillic(found(None, Rights::Protected)); 4]);
    (
        report.total,
        report.disabled,
        report.common_gems,
        report.allowed_gems,
    ) = (1_300, 2, 3, 1);
    (report.rule.min_support, report.rule.min_share) = (2.0, 0.03);
    (report.e_value, report.matches[0].e_value) = (Some(2.5e-10), Some(1.3e-4));
    (
        report.matches[1].e_value,
        report.matches[1].work,
        report.matches[1].allowed,
    ) = (Some(1.0), 1, true);
    (report.matches[2].e_value, report.matches[2].book.title) = (Some(1.7), None);
    report.matches[3].spans[0].query.bytes = None;
    (report.informational, report.matches[3].informational) =
        (3, Some(InformationalReason::UntrustedLibrary));
    for (found, relation) in report.matches.iter_mut().zip([
        Relation::SameText,
        Relation::PartOfBook,
        Relation::ContainsBook,
        Relation::Quotations,
    ]) {
        found.relation = Some(relation);
    }
    let word = example(Trick::Digits, "в ящике лежал ", "кла4", ", и");
    report.disguise = Some(Disguise {
        invisible: 1,
        marks: 21,
        letter_spaced: 2,
        digits: 5,
        hyphens: 11,
        markup: 1,
        misspelled: 3,
        ..disguised(vec![word])
    });
    report
        .disguise
        .iter_mut()
        .for_each(|signs| signs.hidden = Some(hidden_in_all_ways()));
    report.note = Some("оговорка".into());
    report
}

#[test]
fn in_russian() {
    let expected = "\
ОХРАНЯЕТСЯ: 38_% этого текста содержится в охраняемых книгах
    роман.txt: 50_000 байт, 20 отпечатков, из них не учтено 3: они есть в
    слишком многих книгах одной библиотеки, из них разрешён 1
    случайного совпадения такого рода не следует ожидать и на миллион каталогов
    такого размера
    Текст замаскирован: 1 невидимый знак, 1_204 буквы чужого алфавита, 21
    надстрочный или подстрочный знак, 2 слова вразрядку, 5 цифр вместо букв, 11
    дефисов внутри слов, разметка внутри 1 слова и 3 слова с удвоенными или
    переставленными буквами в 38_% слов
    12_066 слов (61_%) этого файла скрыто от читателя и не учтено: помечены как
    скрытые (1_000), не отображаются (1_001), начертаны невидимо (1_002),
    прозрачные (1_003), цвета фона (1_004), крошечными буквами (1_005), обрезаны
    (1_006), за пределами страницы (1_007), закрыты (1_008), на скрытом слое
    (1_009), удалены в режиме правки (1_010) и отклонённые вставки (1_011)
    не учтено: 2 отключённые книги, которые совпали бы
    не учтено: 3 совпавшие книги, которые приведены только для сведения
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
        "только для сведения: этой библиотеке не доверяют",
        "… и ещё 1_297",
        "рецепт «documented»; для совпадения нужно не менее 3 общих отпечатков (отдельно стоящий считается за \
         половину) и 3_% текста или книги 1. доказательная сила 14,5; случайного совпадения такого рода следует ожидать \
         один раз на 7_700 каталогов такого размера",
        "случайно так же совпали бы примерно 2 посторонние книги в каталоге такого размера",
        "цифры вместо букв, байты 1_204–1_211: …в ящике лежал кла4, и…",
    ] {
        assert!(
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(said),
            "{said}: {text}"
        );
    }
}

/// Nothing is left in another language: the only Latin letters are those of names and of markup.
#[test]
fn nothing_is_left_untranslated() {
    let report = full();
    let listed = |outcome| Checked {
        name: "роман".into(),
        summary: Ok(Summary {
            page: "1".into(),
            outcome,
            not_checked: None,
            covered: Some(0.3),
            matches: 5,
        }),
    };
    let mut rows = Vec::from(Outcome::ALL.map(listed));
    rows.push(Checked {
        name: "роман".into(),
        summary: Err("нет файла".into()),
    });
    let verdicts = Rights::ALL;
    let reasons = [
        Reason::NoneDecides,
        Reason::NoMatch,
        Reason::TooShort,
        Reason::MostlyCommon,
        Reason::NothingToCompare,
        Reason::Match,
    ];
    let mut said: Vec<String> = [Some(50_000), None]
        .iter()
        .map(|&bytes| printed_in(Russian, 80, "роман", &report, bytes))
        .collect();
    for verdict in verdicts {
        for reason in reasons {
            let found: Vec<Match> = report
                .matches
                .iter()
                .take(usize::from(reason == Reason::Match))
                .cloned()
                .collect();
            let mut few = Report {
                verdict,
                reason,
                matches: found,
                ..report.clone()
            };
            for (of, error) in few.matches.iter_mut().zip([Some(1.0)]) {
                (of.book.rights, few.e_value) = (verdict, error);
            }
            said.push(printed_in(Russian, 80, "роман", &few, None));
        }
    }
    said.push(summary(Russian, &rows));
    let page = page(
        Russian,
        "роман",
        &report,
        Some(50_000),
        &PageTexts::default(),
    );
    let index = html_index(Russian, &rows, jiff::Timestamp::UNIX_EPOCH);
    for page in [page, index] {
        assert!(
            page.starts_with("<!DOCTYPE html><html lang=\"ru\">"),
            "{page}"
        );
        let (_, body) = page.split_once("</style>").expect("a page");
        // The text between the tags.
        said.push(
            body.split('<')
                .filter_map(|tag| tag.split_once('>'))
                .map(|(_, text)| text)
                .collect(),
        );
    }
    for said in said {
        let names = ["documented", "UTC", "&gt;", "&lt;", "gems", "A", "B", "C"];
        let rest = names
            .iter()
            .fold(said.clone(), |said, name| said.replace(name, ""));
        assert!(!rest.contains(|c: char| c.is_ascii_alphabetic()), "{said}");
    }
    assert_eq!(
        summary(Russian, &rows),
        "9 файлов: запрещено — 1, охраняется — 1, не решено — 1, слишком короткий текст — 1, не проверено — 1, не удалось \
         прочитать — 2, можно публиковать — 1, без совпадений — 1"
    );
}

#[test]
fn comparisons() {
    let recipe = lapidary_gems::Recipe::documented();
    let words: Vec<String> = (0..9_000_u64)
        .map(|i| format!("{:x}stone", i * 2_654_435_761 % 999_983))
        .collect();
    let text = words.join(" ");
    let [a, b] =
        [&text, &text[..text.len() / 2]].map(|text| lapidary_catalogue::Text::new(text, None));
    let comparison = lapidary_catalogue::compare(&recipe, recipe.rule(), &a, &b);
    let shown = |language| {
        let mut out = Vec::new();
        print_comparison(&mut out, language, ["one.txt", "two.txt"], &comparison).expect("memory");
        String::from_utf8(out).expect("text")
    };
    let (english, russian) = (shown(English), shown(Russian));
    assert!(
        english.contains("in common under documented: a match\n"),
        "{english}"
    );
    assert!(
        english.contains(" % of A, 100.0 % of B; most of B is in A\n"),
        "{english}"
    );
    assert!(
        russian.contains(" по рецепту documented: тексты совпадают\n"),
        "{russian}"
    );
    assert!(
        russian
            .contains("\u{a0}% текста A, 100,0\u{a0}% текста B; большая часть B содержится в A\n"),
        "{russian}"
    );
}
