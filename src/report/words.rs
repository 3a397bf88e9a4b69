//! The wording of reports, shared by the terminal and the HTML page.

use lapidary_gems::RecipeName;

use crate::api::{Match, Report};
use crate::count::{count, grouped};
use crate::index::Rights;
use crate::matching::{Reason, Relation};

/// The headline: the verdict, and how much of the text it is about or why nothing is known.
pub(super) fn verdict(report: &Report) -> String {
    let only_allowed = report.total > 0 && report.total == report.matches.iter().filter(|m| m.allowed).count();
    let unknown = match report.reason {
        Reason::Match if only_allowed => "it matches only books on an allow-list",
        Reason::Match => "it matches a book whose rights are unknown",
        Reason::NothingToCompare => "the catalogue has nothing to compare it with",
        Reason::TooShort if report.gems == 0 => "there is nothing in this text to check",
        Reason::TooShort => "the text is too short to check",
        Reason::MostlyCommon => "most of this text is in too many books to tell",
        Reason::NoMatch => "nothing in the catalogue matches",
    };
    match report.verdict {
        Rights::Protected => format!("PROTECTED: {} of this text is in protected books", percent(report.covered)),
        Rights::Free => "free: this text, or part of it, is in a book that is free to publish".to_owned(),
        Rights::PublicDomain => "public domain: this text, or part of it, is in a book in the public domain".to_owned(),
        Rights::Unknown => format!("unknown: {unknown}"),
    }
}

/// The number of an earlier match of the same work, if the match at this index has one. Matches are counted from 1.
pub(super) fn edition(report: &Report, at: usize) -> Option<String> {
    let work = report.matches.get(at)?.work;
    let first = report.matches.iter().position(|found| found.work == work)?;
    (first < at).then(|| format!("another edition of {}", first + 1))
}

/// The recipes of a report.
pub(super) fn recipes(recipes: &[RecipeName]) -> String {
    let names: Vec<String> = recipes.iter().map(|name| format!("'{name}'")).collect();
    format!("{} {}", if recipes.len() == 1 { "recipe" } else { "recipes" }, names.join(", "))
}

pub(super) fn subject(name: &str, report: &Report, bytes: Option<u64>) -> String {
    let bytes = bytes.map(|bytes| format!("{}, ", count(bytes, "byte", "bytes"))).unwrap_or_default();
    let gems = count(report.gems.into(), "gem", "gems");
    let common = match report.common_gems {
        0 => String::new(),
        common => format!(", {common} of them in too many books of a library to count"),
    };
    let allowed = match report.allowed_gems {
        0 => String::new(),
        allowed => format!(", {allowed} of them allowed"),
    };
    format!("{name}: {bytes}{gems}{common}{allowed}")
}

/// The report's only measure of certainty: the upper bound on the probability that the verdict is a false alarm. `None` if
/// the verdict accuses nobody.
pub(super) fn certainty(report: &Report) -> Option<String> {
    match report.error_probability {
        Some(error) if error < 0.5 => Some(format!("measured false-alarm rate: below 1 in {}", many(error.recip()))),
        Some(_) => Some("false-alarm rate: unknown, since too few unrelated books were measured".to_owned()),
        None if report.verdict == Rights::Unknown => None,
        None => Some(format!("false-alarm rate: not measured for recipe '{}'", report.recipe)),
    }
}

/// How much of the text and of the book is common to both.
pub(super) fn shares(found: &Match) -> String {
    let common = count(found.score.common.into(), "gem", "gems");
    let [text, book] = [found.score.share_of_query, found.score.share_of_book].map(percent);
    format!("{common} in common: {text} of the text's, {book} of the book's")
}

/// Describes the rule for a match.
pub(super) fn rule(report: &Report) -> String {
    let gems = count(report.rule.min_common.into(), "gem", "gems");
    let share = match report.rule.min_share {
        share if share > 0.0 => format!(" and {} of the text or the book", percent(share)),
        _ => String::new(),
    };
    let alone = if report.rule.min_support > 0.0 { " (an isolated one counts half)" } else { "" };
    format!("a match takes {gems} in common{alone}{share}; {}", odds(report.chance))
}

/// The number of disabled books that would match otherwise.
pub(super) fn disabled(report: &Report) -> Option<String> {
    let books = report.disabled as u64;
    (books > 0).then(|| format!("{} would match", count(books, "disabled book", "disabled books")))
}

pub(super) fn rights(rights: Rights) -> &'static str {
    match rights {
        Rights::Protected => "protected",
        Rights::Free => "free to publish",
        Rights::PublicDomain => "public domain",
        Rights::Unknown => "rights unknown",
    }
}

pub(super) fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::SameText => "text and book are mostly the same",
        Relation::PartOfBook => "most of the text is in this book",
        Relation::ContainsBook => "most of this book is in the text",
        Relation::Overlap => "text and book share passages",
    }
}

/// The expected number of unrelated books with this many common gems, in words.
///
/// A small number is also the probability that a check finds any such book, which is easier to understand.
pub(super) fn odds(expected: f64) -> String {
    if expected >= 0.5 {
        let books = count(expected.round() as u64, "unrelated book", "unrelated books");
        format!("by chance alone, about {books} would have as many")
    } else if expected > 0.0 {
        format!("by chance alone: once in {} checks like this one", many(expected.recip()))
    } else {
        "by chance alone: practically never".to_owned()
    }
}

/// The evidence of a match, with the upper bound on the probability that an unrelated book has as much.
pub(super) fn evidence(found: &Match) -> String {
    let evidence = match found.recipes.len() {
        1 => format!("evidence {:.1}", found.evidence),
        _ => format!("{}: evidence {:.1}", recipes(&found.recipes), found.evidence),
    };
    match found.error_probability {
        None => evidence,
        Some(error) if error < 0.5 => {
            format!("{evidence}; fewer than 1 in {} unrelated books has as much", many(error.recip()))
        }
        Some(_) => format!("{evidence}, as unrelated books have"),
    }
}

/// A large number rounded to two digits, in words up to trillions.
pub(super) fn many(number: f64) -> String {
    const WORDS: [(f64, &str); 3] = [(1e12, "trillion"), (1e9, "billion"), (1e6, "million")];
    if number >= 1e15 {
        return format!("10{}", superscript(number.log10().floor().min(f64::from(f64::MAX_10_EXP)) as u32));
    }
    if let Some((unit, word)) = WORDS.into_iter().find(|(unit, _)| number >= *unit) {
        let times = number / unit;
        let digits = usize::from(times < 9.95);
        return format!("{} {word}", format!("{times:.digits$}").trim_end_matches(".0"));
    }
    let step = if number < 100.0 { 1.0 } else { 10_f64.powf(number.log10().floor() - 1.0) };
    grouped(((number / step).round() * step) as u64)
}

pub(super) fn superscript(number: u32) -> String {
    let raised = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().map(|digit| raised[usize::from(digit - b'0')]).collect()
}

/// A share as a percentage. Shows 0 or 100 only if the share is exactly that.
pub(super) fn percent(share: f64) -> String {
    match (share * 100.0).round() {
        0.0 if share > 0.0 => "<1 %".to_owned(),
        100.0 if share < 1.0 => ">99 %".to_owned(),
        rounded => format!("{rounded} %"),
    }
}

/// The total number of gems, if `common` of them are this share.
pub(super) fn whole(common: u32, share: f64) -> u32 {
    if share > 0.0 { (f64::from(common) / share).round() as u32 } else { 0 }
}
