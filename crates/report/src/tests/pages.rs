//! Reports and comparisons as HTML pages.

use super::{extent, found, page, report};
use crate::{PageTexts, Side, html_comparison};
use lapidary_extract::position::Locator;
use lapidary_language::Language::{English, Russian};
use lapidary_store::Rights;

#[test]
fn a_page_shows_all_and_nothing_of_it_is_markup() {
    let mut report = report(vec![found(
        Some("<script>alert(1)</script>"),
        Rights::Protected,
    )]);
    report.allowed_gems = 2;
    report.matches[0].allowed = true;
    let page = page(
        English,
        "<b>.txt",
        &report,
        Some(50_000),
        &PageTexts::default(),
    );
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    for said in [
        "&lt;script&gt;",
        "&lt;b&gt;.txt",
        "1970-01-01",
        "2026-01-31",
        "<svg",
        "A. Author",
        "north/17",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    for element in ["rect", "g", "svg", "a"] {
        let count = |tag: &str| page.matches(tag).count();
        // Browsers put whatever follows an unclosed SVG element inside it.
        assert_eq!(
            count(&format!("<{element} ")),
            count(&format!("</{element}>")),
            "{element}"
        );
    }
    for never in ["<script", "<b>", "http://", "https://", "src=", "NaN"] {
        assert!(!page.contains(never), "{never}: {page}");
    }
}

/// A story, and a copy of it with hostile words in it.
fn hostile_texts() -> (String, String) {
    let words: Vec<String> = (0..900_u64)
        .map(|i| {
            format!(
                "{:x}stone",
                (i + 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30
            )
        })
        .collect();
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
    let texts = PageTexts {
        text: Some(&copy),
        adds_passages: false,
        books: vec![Some(book.clone())],
    };
    let bytes = Some(copy.len() as u64);
    let both = page(English, "x", &report, bytes, &texts);
    for said in [
        "<ins>script&gt;alert(1)&lt;/script</ins>",
        "<del>",
        "<mark>",
        "st·оne",
        "<details class=\"passage hue-0\">",
        "Passage 1",
        "lang=\"\"",
    ] {
        assert!(both.contains(said), "{said}: {both}");
    }
    for never in [
        "<script", "<img", "<b>", "\u{202e}", "\u{7}", "\u{1b}", "http://", "https://",
    ] {
        assert!(!both.contains(never), "{never}: {both}");
    }
    for element in [
        "table", "tr", "td", "details", "summary", "ins", "del", "mark", "h1", "h2", "h3",
    ] {
        let starts = both.matches(&format!("<{element}>")).count()
            + both.matches(&format!("<{element} ")).count();
        assert_eq!(
            starts,
            both.matches(&format!("</{element}>")).count(),
            "{element}"
        );
    }
    // Without the book's text there are still the excerpts.
    let alone = PageTexts {
        text: Some(&copy),
        adds_passages: false,
        books: Vec::new(),
    };
    let in_russian = page(Russian, "x", &report, bytes, &alone);
    for (said, shown) in [
        ("Отрывок 1", true),
        ("&lt;script&gt;", true),
        ("<del>", false),
    ] {
        assert_eq!(in_russian.contains(said), shown, "{said}: {in_russian}");
    }
    // Spans that a server invents show nothing that is not there.
    report.matches[0].spans[0].query = extent((0, 1), Some((7, u64::MAX)));
    let again = report.matches[0].spans[0].clone();
    report.matches[0].spans.push(again);
    report.matches[0].spans[1].query = extent((0, 1), Some((9, 3)));
    for texts in [&texts, &alone] {
        assert!(page(English, "x", &report, bytes, texts).ends_with("</html>"));
    }
}

#[test]
fn a_comparison_as_a_page() {
    let (copy, book) = hostile_texts();
    let recipe = lapidary_gems::Recipe::hardened_fine();
    let [a, b] = [&copy, &book].map(|text| lapidary_catalogue::Text::new(text, None));
    let mut comparison = lapidary_catalogue::compare(&recipe, recipe.rule(), &a, &b);
    comparison.locate(&Locator::new(&copy, &[]), &Locator::new(&book, &[]));
    let sides = [&copy, &book].map(|text| Side {
        text,
        language: None,
    });
    let page = html_comparison(
        Russian,
        ["<a>.txt", "b.txt"],
        sides,
        &comparison,
        jiff::Timestamp::UNIX_EPOCH,
    );
    for said in [
        "<html lang=\"ru\">",
        "&lt;a&gt;.txt",
        "Отрывок 1",
        "совпадает дословно",
        "абзац 1",
        "<ins>",
        "<del>",
    ] {
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
        let page = page(
            English,
            "gems",
            &report(matches),
            None,
            &PageTexts::default(),
        );
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
