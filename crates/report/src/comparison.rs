//! The comparison of two texts, in words.

use std::io::{self, Write};

use jiff::Timestamp;
use lapidary_gems::Place;
use maud::html;

use super::html::{date, whole_page};
use super::page::clean;
use super::passages::{Room, Side, legend, side_by_side};
use super::words::{identity, located, place};
use lapidary_catalogue::Comparison;
use lapidary_checking::Relation;
use lapidary_extract::position::Located;
use lapidary_language::Language;

/// Prints a comparison of the texts with these names.
pub fn print_comparison(
    out: &mut impl Write,
    language: Language,
    [a, b]: [&str; 2],
    comparison: &Comparison,
) -> io::Result<()> {
    let Comparison { score, recipe, .. } = comparison;
    writeln!(
        out,
        "{}",
        language.compared("A", a, comparison.gems_a.into())
    )?;
    writeln!(
        out,
        "{}",
        language.compared("B", b, comparison.gems_b.into())
    )?;
    let (common, recipe) = (u64::from(score.common), recipe.as_str());
    let said = if comparison.matches {
        Language::compared_match
    } else {
        Language::compared_no_match
    };
    writeln!(out, "{}", said(language, common, recipe))?;
    if common > 0 {
        writeln!(out, "{}", shares(language, comparison))?;
    }
    for span in &comparison.spans {
        let a = place(language, &span.query, span.query_at.as_ref());
        let b = place(language, &span.book, span.book_at.as_ref());
        writeln!(
            out,
            "  {}",
            language.compared_span(span.common.into(), &a, &b)
        )?;
    }
    if comparison.passages.is_empty() {
        return Ok(());
    }
    let passages = comparison.passages.len() as u64;
    writeln!(
        out,
        "{}",
        language.compared_exactly(passages, &identity(language, &comparison.exact))
    )?;
    for passage in &comparison.passages {
        let of = |place: Place, at: &Option<Located>| match at {
            Some(at) => located(language, at),
            None => language.place_bytes(place.start, place.end),
        };
        let (a, b) = (
            of(passage.query, &passage.query_at),
            of(passage.book, &passage.book_at),
        );
        writeln!(
            out,
            "  {}",
            language.compared_passage(&a, &b, &identity(language, &passage.identity))
        )?;
    }
    Ok(())
}

/// Formats a comparison as an HTML page, with the passages of both texts side by side.
#[must_use]
pub fn html_comparison(
    language: Language,
    [a, b]: [&str; 2],
    texts: [Side<'_>; 2],
    comparison: &Comparison,
    when: Timestamp,
) -> String {
    let Comparison { score, recipe, .. } = comparison;
    let names = [clean(a), clean(b)];
    let common = u64::from(score.common);
    let said = if comparison.matches {
        Language::compared_match
    } else {
        Language::compared_no_match
    };
    let title = language.comparison_of(&names[0], &names[1]);
    let body = html! {
        h1 { (title) }
        dl {
            dt { (language.head_compared()) }
            dd {
                p { (language.compared("A", &names[0], comparison.gems_a.into())) }
                p { (language.compared("B", &names[1], comparison.gems_b.into())) }
            }
            dt { (language.head_when()) } dd { (date(when)) }
            dt { (language.head_matches()) }
            dd {
                p { (said(language, common, recipe.as_str())) }
                @if common > 0 { p { (shares(language, comparison)) } }
                @if !comparison.passages.is_empty() {
                    p { (language.compared_exactly(comparison.passages.len() as u64, &identity(language, &comparison.exact))) }
                }
            }
        }
        @if !comparison.passages.is_empty() {
            section {
                h2 { (language.head_passages()) }
                (legend(language))
                @let heads = names.each_ref().map(|name| language.head_in(name));
                (side_by_side(language, &Room::default(), heads.each_ref().map(String::as_str), texts, &comparison.passages))
            }
        }
    };
    whole_page(language, &title, &body)
}

fn shares(language: Language, comparison: &Comparison) -> String {
    let Comparison { score, .. } = comparison;
    let percent = |share: f64| language.percent_of(&language.decimal(100.0 * share, 1));
    let shares = language.compared_shares(
        &percent(score.share_of_query),
        &percent(score.share_of_book),
    );
    format!("{shares}; {}", relation(language, comparison.relation))
}

fn relation(language: Language, relation: Relation) -> String {
    match relation {
        Relation::SameText => language.compared_same_text(),
        Relation::PartOfBook => language.compared_part_of_book(),
        Relation::ContainsBook => language.compared_contains_book(),
        Relation::Overlap => language.compared_overlap(),
        Relation::Quotations => language.compared_quotations(),
    }
}
