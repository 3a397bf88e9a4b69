//! The comparison of two texts, in words.

use std::io::{self, Write};

use super::words::{identity, place};
use crate::catalogue::Comparison;
use crate::language::Language;
use crate::matching::Relation;

/// Prints a comparison of the texts with these names.
pub fn print_comparison(
    out: &mut impl Write,
    language: Language,
    [a, b]: [&str; 2],
    comparison: &Comparison,
) -> io::Result<()> {
    let Comparison { score, recipe, .. } = comparison;
    writeln!(out, "{}", language.compared("A", a, comparison.gems_a.into()))?;
    writeln!(out, "{}", language.compared("B", b, comparison.gems_b.into()))?;
    let (common, recipe) = (u64::from(score.common), recipe.as_str());
    let said = if comparison.matches { Language::compared_match } else { Language::compared_no_match };
    writeln!(out, "{}", said(language, common, recipe))?;
    if common > 0 {
        let percent = |share: f64| language.percent_of(&language.decimal(100.0 * share, 1));
        let shares = language.compared_shares(&percent(score.share_of_query), &percent(score.share_of_book));
        writeln!(out, "{shares}; {}", relation(language, comparison.relation))?;
    }
    for span in &comparison.spans {
        let [a, b] = [span.query, span.book].map(|extent| place(language, &extent));
        writeln!(out, "  {}", language.compared_span(span.common.into(), &a, &b))?;
    }
    if comparison.passages.is_empty() {
        return Ok(());
    }
    let passages = comparison.passages.len() as u64;
    writeln!(out, "{}", language.compared_exactly(passages, &identity(language, &comparison.exact)))?;
    for passage in &comparison.passages {
        let [a, b] = [passage.query, passage.book].map(|place| language.place_bytes(place.start, place.end));
        writeln!(out, "  {}", language.compared_passage(&a, &b, &identity(language, &passage.identity)))?;
    }
    Ok(())
}

fn relation(language: Language, relation: Relation) -> String {
    match relation {
        Relation::SameText => language.compared_same_text(),
        Relation::PartOfBook => language.compared_part_of_book(),
        Relation::ContainsBook => language.compared_contains_book(),
        Relation::Overlap => language.compared_overlap(),
    }
}
