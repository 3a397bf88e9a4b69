//! The comparison of two texts, in words.

use std::io::{self, Write};

use jiff::Timestamp;
use lapidary_gems::Place;
use maud::{Markup, html};

use super::html::{date, whole_page};
use super::page::clean;
use super::passages::{Side, legend, side_by_side};
use super::words::{identity, located, place, with_changes};
use lapidary_catalogue::Comparison;
use lapidary_checking::Relation;
use lapidary_extract::position::PositionRange;
use lapidary_language::Language;

/// Prints a comparison of the texts with these names.
pub fn print_comparison(
    out: &mut impl Write,
    language: Language,
    [a, b]: [&str; 2],
    comparison: &Comparison,
) -> io::Result<()> {
    let [gems_a, gems_b] = [comparison.gems_a, comparison.gems_b].map(u64::from);
    writeln!(out, "{}", language.compared("A", a, gems_a))?;
    writeln!(out, "{}", language.compared("B", b, gems_b))?;
    writeln!(out, "{}", outcome(language, comparison))?;
    if comparison.score.common > 0 {
        writeln!(out, "{}", shares(language, comparison))?;
    }
    for span in &comparison.spans {
        let a = place(language, &span.query, span.query_position.as_ref());
        let b = place(language, &span.book, span.book_position.as_ref());
        let said = language.compared_span(span.common.into(), &a, &b);
        writeln!(out, "  {said}")?;
    }
    if comparison.passages.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", exactly(language, comparison))?;
    for passage in &comparison.passages {
        let a = passage_place(language, passage.query, passage.query_position.as_ref());
        let b = passage_place(language, passage.book, passage.book_position.as_ref());
        let said = language.compared_passage(&a, &b, &identity(language, &passage.identity));
        writeln!(out, "  {said}")?;
    }
    Ok(())
}

/// Whether the texts match.
fn outcome(language: Language, comparison: &Comparison) -> String {
    let common = comparison.score.common.into();
    let recipe = comparison.recipe.as_str();
    if comparison.matches {
        language.compared_match(common, recipe)
    } else {
        language.compared_no_match(common, recipe)
    }
}

/// How much of the passages is identical.
fn exactly(language: Language, comparison: &Comparison) -> String {
    let identity = identity(language, &comparison.exact);
    language.compared_exactly(comparison.passages.len() as u64, &identity)
}

fn passage_place(language: Language, place: Place, at: Option<&PositionRange>) -> String {
    match at {
        Some(at) => located(language, at),
        None => language.place_bytes(place.start, place.end),
    }
}

/// Formats a comparison as an HTML page, with the passages of both texts side by side.
#[must_use]
pub fn html_comparison(
    language: Language,
    names: [&str; 2],
    texts: [Side<'_>; 2],
    comparison: &Comparison,
    when: Timestamp,
) -> String {
    let [a, b] = names.map(clean);
    let part = comparison_part(language, names, texts, comparison, when);
    whole_page(language, &language.comparison_of(&a, &b), &part)
}

/// The same as a part of a page.
#[must_use]
pub fn comparison_part(
    language: Language,
    names: [&str; 2],
    texts: [Side<'_>; 2],
    comparison: &Comparison,
    when: Timestamp,
) -> Markup {
    let names = names.map(clean);
    let title = language.comparison_of(&names[0], &names[1]);
    html! {
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
                p { (outcome(language, comparison)) }
                @if comparison.score.common > 0 { p { (shares(language, comparison)) } }
                @if !comparison.passages.is_empty() {
                    p { (exactly(language, comparison)) }
                }
            }
        }
        @if !comparison.passages.is_empty() {
            section {
                h2 { (language.head_passages()) }
                (legend(language))
                @let heads = names.each_ref().map(|name| language.head_in(name));
                (side_by_side(language, heads.each_ref().map(String::as_str), texts, &comparison.passages))
            }
        }
    }
}

fn shares(language: Language, comparison: &Comparison) -> String {
    let score = &comparison.score;
    let [of_a, of_b] = [score.share_of_query, score.share_of_book]
        .map(|share| language.percent_of(&language.decimal(100.0 * share, 1)));
    let shares = language.compared_shares(&of_a, &of_b);
    format!("{shares}; {}", relation(language, comparison))
}

fn relation(language: Language, comparison: &Comparison) -> String {
    let words = match comparison.relation {
        Relation::SameText => language.compared_same_text(),
        Relation::PartOfBook => language.compared_part_of_book(),
        Relation::ContainsBook => language.compared_contains_book(),
        Relation::Overlap => return language.compared_overlap(),
        Relation::Quotations => return language.compared_quotations(),
        Relation::SameWork => return language.compared_same_work(),
    };
    with_changes(language, words, &comparison.spans)
}
