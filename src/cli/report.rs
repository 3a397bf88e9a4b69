//! A check's report for a person at a terminal. Programs read `--json`.

mod page;

pub(super) use self::page::{Page, clean, wrap};

use std::io::{self, Write};

use console::Style;

use crate::catalogue::{Match, Report};
use crate::index::Rights;
use crate::matching::{Extent, Relation};

/// How many matches are described; the rest are counted.
const DESCRIBED: usize = 10;
/// How many lines a title or the authors may take.
const TITLE_LINES: usize = 2;
/// How far the lines of a match are indented, and the columns of a map's label.
const INDENT: usize = 4;
const LABEL: usize = 6;

/// Prints what a check found: the verdict, what was checked, the best matches, and an empty line.
///
/// `name` says what was checked, `bytes` how long it is where a text was checked, not its gems. `colour` asks for
/// colours; without it no escape sequence is written.
pub fn print_report(
    out: &mut impl Write,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
    colour: bool,
) -> io::Result<()> {
    Page::new(out, colour).report(name, report, bytes)
}

impl<W: Write> Page<'_, W> {
    /// What [`print_report`] prints.
    pub(super) fn report(&mut self, name: &str, report: &Report, bytes: Option<u64>) -> io::Result<()> {
        let plain = Style::new();
        self.say(0, &style(report.verdict).bold(), verdict(report))?;
        self.say(INDENT, &plain, &subject(name, report, bytes))?;
        if report.total == 0 && report.gems > 0 {
            self.say(INDENT, &plain, &rule(report))?;
        }
        if let Some(note) = &report.note {
            self.say(INDENT, &plain, &format!("note: {note}"))?;
        }
        for (i, found) in report.matches.iter().take(DESCRIBED).enumerate() {
            self.gap()?;
            self.found(i + 1, found, report, bytes)?;
        }
        let rest = report.total.saturating_sub(report.matches.len().min(DESCRIBED));
        if rest > 0 {
            self.gap()?;
            let rest = match report.matches.len() {
                0 => format!("{}, not shown", count(rest as u64, "match", "matches")),
                _ => format!("… and {} more", grouped(rest as u64)),
            };
            self.say(0, &plain, &rest)?;
        }
        self.gap()
    }

    fn found(&mut self, number: usize, found: &Match, report: &Report, bytes: Option<u64>) -> io::Result<()> {
        let Match { book, score, .. } = found;
        let (plain, counted) = (Style::new(), report.gems.saturating_sub(report.common_gems));
        let title = book.title.as_deref().filter(|title| !clean(title).trim().is_empty());
        let title = format!("{number}. {}", title.unwrap_or("(no title)"));
        self.say_at_most(TITLE_LINES, 0, &Style::new().bold(), &title)?;
        if !book.authors.is_empty() {
            self.say_at_most(TITLE_LINES, INDENT, &plain, &book.authors.join(", "))?;
        }
        self.say(INDENT, &style(book.rights), &format!("{}/{}, {}", book.library, book.id, rights(book.rights)))?;
        let of_book = whole(score.common, score.share_of_book);
        let [of_text, of_this] = [score.share_of_query, score.share_of_book].map(percent);
        let common = count(score.common.into(), "gem", "gems");
        let common =
            format!("{common} in common: {of_text} of the text's {counted}, {of_this} of the book's {of_book}");
        self.say(INDENT, &plain, relation(found.relation))?;
        self.say(INDENT, &plain, &common)?;
        self.say(INDENT, &plain, &odds(found.chance))?;
        if !found.spans.is_empty() {
            let text: Vec<Extent> = found.spans.iter().map(|span| span.query).collect();
            let this: Vec<Extent> = found.spans.iter().map(|span| span.book).collect();
            let columns = self.width() - INDENT - LABEL;
            let known = Some(book.bytes).filter(|bytes| *bytes > 0);
            self.line(INDENT, &plain, &format!("{:LABEL$}{}", "text", map(&text, bytes, counted, columns)))?;
            self.line(INDENT, &plain, &format!("{:LABEL$}{}", "book", map(&this, known, of_book, columns)))?;
        }
        Ok(())
    }
}

/// The colour of rights.
pub(super) fn style(rights: Rights) -> Style {
    match rights {
        Rights::Protected => Style::new().red(),
        Rights::Free | Rights::PublicDomain => Style::new().green(),
        Rights::Unknown => Style::new(),
    }
}

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Rights::Protected => "PROTECTED: this text, or part of it, is in a protected book",
        Rights::Free => "free: this text, or part of it, is in a book that is free to publish",
        Rights::PublicDomain => "public domain: this text, or part of it, is in a book in the public domain",
        Rights::Unknown if report.total > 0 => {
            "unknown: it matches, but nobody has said what may be done with the book"
        }
        Rights::Unknown if report.gems == 0 => "unknown: there is nothing in this text to check",
        Rights::Unknown => "unknown: nothing in the catalogue matches",
    }
}

fn subject(name: &str, report: &Report, bytes: Option<u64>) -> String {
    let bytes = bytes.map(|bytes| format!("{}, ", count(bytes, "byte", "bytes"))).unwrap_or_default();
    let gems = count(report.gems.into(), "gem", "gems");
    let common = match report.common_gems {
        0 => String::new(),
        common => format!(", {common} of them in too many books to count"),
    };
    format!("{name}: {bytes}{gems} under '{}'{common}", report.recipe)
}

/// What it takes to match, for one who wonders why nothing does.
fn rule(report: &Report) -> String {
    let gems = count(report.rule.min_common.into(), "gem", "gems");
    let share = match report.rule.min_share {
        share if share > 0.0 => format!(" and {} of the text or the book", percent(share)),
        _ => String::new(),
    };
    format!("a match takes {gems} in common{share}; {}", odds(report.chance))
}

fn rights(rights: Rights) -> &'static str {
    match rights {
        Rights::Protected => "protected",
        Rights::Free => "free to publish",
        Rights::PublicDomain => "public domain",
        Rights::Unknown => "rights unknown",
    }
}

fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::SameText => "text and book are, for the most part, the same",
        Relation::PartOfBook => "most of the text lies inside this book",
        Relation::ContainsBook => "most of this book lies inside the text",
        Relation::Overlap => "text and book share parts",
    }
}

/// The expected number of unrelated books with so many common gems, in words.
///
/// A small one is also the probability that a check meets such a book at all, which is easier to grasp.
fn odds(expected: f64) -> String {
    if expected >= 0.5 {
        let books = count(expected.round() as u64, "unrelated book", "unrelated books");
        format!("by chance alone, about {books} would have as many")
    } else if expected > 0.0 {
        format!("by chance alone: once in {} checks like this one", many(expected.recip()))
    } else {
        "by chance alone: practically never".to_owned()
    }
}

/// A large number to two digits, in words as far as they are known to everybody.
fn many(number: f64) -> String {
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

fn superscript(number: u32) -> String {
    let raised = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().map(|digit| raised[usize::from(digit - b'0')]).collect()
}

/// A part of 1 as a percentage that says 0 or 100 only when it is.
fn percent(share: f64) -> String {
    match (share * 100.0).round() {
        0.0 if share > 0.0 => "<1 %".to_owned(),
        100.0 if share < 1.0 => ">99 %".to_owned(),
        rounded => format!("{rounded} %"),
    }
}

fn count(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// A number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// How many gems there are if `common` are this share of them.
fn whole(common: u32, share: f64) -> u32 {
    if share > 0.0 { (f64::from(common) / share).round() as u32 } else { 0 }
}

/// The extents within a text of `bytes`, or where those are not known, of `gems`: a column is full when it is covered
/// by half or more, and half full when at all.
fn map(extents: &[Extent], bytes: Option<u64>, gems: u32, columns: usize) -> String {
    let by_bytes = |e: &Extent| e.bytes.map(|b| (b.start as f64, b.end as f64));
    let by_gems = |e: &Extent| (f64::from(e.gems.start), f64::from(e.gems.end));
    let placed = bytes.zip(extents.iter().map(by_bytes).collect::<Option<Vec<_>>>());
    let (length, stretches) = match placed {
        Some((bytes, stretches)) => (bytes as f64, stretches),
        None => (f64::from(gems), extents.iter().map(by_gems).collect()),
    };
    let column = length / columns as f64;
    let shade = |i: usize| {
        let (left, right) = (i as f64 * column, (i + 1) as f64 * column);
        let covered: f64 = stretches.iter().map(|(start, end)| (end.min(right) - start.max(left)).max(0.0)).sum();
        match covered / column {
            part if part >= 0.5 => '█',
            part if part > 0.0 => '▒',
            _ => '░',
        }
    };
    (0..columns).map(shade).collect()
}

#[cfg(test)]
mod tests;
