//! Reports on a terminal.

use std::io::{self, Write};

use console::Style;

use lapidary_catalogue::api::{Match, Report};
use lapidary_checking::Extent;
use lapidary_language::Language;
use lapidary_store::Rights;

use super::disguise::{disguise, examples, hidden};
use super::page::{TerminalPage, clean};
use super::words::{
    certainty, counted, disabled, edition, figures, identity, informing, not_described, recipes,
    relation, reservation, rights, rule, shares, subject, verdict, whole,
};

/// The maximum number of matches to describe. The rest are only counted.
const DESCRIBED: usize = 10;
/// The maximum number of lines for a title or the authors.
const TITLE_LINES: usize = 2;
/// The indentation of a match's lines, and the width of a map's label, in columns.
const INDENT: usize = 4;
const LABEL: usize = 6;

/// Prints a check's report: the verdict, what was checked, the best matches, and an empty line.
///
/// `name` is the name of what was checked. `bytes` is its length, or `None` if gems rather than a text were checked. Escape
/// sequences are written only with `colour`.
pub fn print_report(
    out: &mut impl Write,
    language: Language,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
    colour: bool,
) -> io::Result<()> {
    TerminalPage::new(out, colour).report(language, name, report, bytes)
}

impl<W: Write> TerminalPage<'_, W> {
    /// Writes a report, as [`print_report`] prints it.
    pub fn report(
        &mut self,
        language: Language,
        name: &str,
        report: &Report,
        bytes: Option<u64>,
    ) -> io::Result<()> {
        let plain = Style::new();
        let style = if report.is_answer() {
            style(report.verdict)
        } else {
            Style::new().yellow()
        };
        self.say(0, &style.bold(), &verdict(language, report))?;
        self.say(INDENT, &plain, &subject(language, name, report, bytes))?;
        let facts = [
            certainty(language, report),
            disguise(language, report),
            hidden(language, report),
            disabled(language, report).map(|aside| language.not_counted(&aside)),
            informing(language, report).map(|aside| language.not_counted(&aside)),
        ];
        for fact in facts.into_iter().flatten() {
            self.say(INDENT, &plain, &fact)?;
        }
        if let Some(note) = &report.note {
            self.say(INDENT, &plain, &language.note(note))?;
        }
        if report.text_kept == Some(false) {
            self.say(INDENT, &plain, &language.text_not_kept())?;
        }
        for (i, found) in report.matches.iter().take(DESCRIBED).enumerate() {
            self.gap()?;
            self.found(language, i, found, report, bytes)?;
        }
        self.rest(language, report)?;
        if report.gems > 0 || disguise(language, report).is_some() {
            self.method(language, report)?;
        }
        self.gap()
    }

    /// Writes how many matches are not described.
    fn rest(&mut self, language: Language, report: &Report) -> io::Result<()> {
        let rest = not_described(report, DESCRIBED) as u64;
        if rest == 0 {
            return Ok(());
        }
        self.gap()?;
        let rest = match report.matches.len() {
            0 => language.not_shown(rest),
            _ => language.more(rest),
        };
        self.say(0, &Style::new(), &rest)
    }

    /// Writes how the verdict came about, for readers who check it. An answer without matches and disguise has it in
    /// one line.
    fn method(&mut self, language: Language, report: &Report) -> io::Result<()> {
        let plain = Style::new();
        let rule = format!(
            "{}; {}",
            recipes(language, &report.recipes),
            rule(language, report)
        );
        let examples: Vec<String> = examples(language, report).collect();
        if report.matches.is_empty() && examples.is_empty() {
            return self.say(INDENT, &plain, &language.method_in_short(&rule));
        }
        self.gap()?;
        self.say(0, &plain, &language.head_method())?;
        self.say(INDENT, &plain, &rule)?;
        for (number, found) in (1..).zip(report.matches.iter().take(DESCRIBED)) {
            self.say(
                INDENT,
                &plain,
                &format!("{number}. {}", figures(language, found)),
            )?;
        }
        examples
            .iter()
            .try_for_each(|example| self.say(INDENT, &plain, example))
    }

    /// Writes what there is to say of a match.
    fn found(
        &mut self,
        language: Language,
        at: usize,
        found: &Match,
        report: &Report,
        bytes: Option<u64>,
    ) -> io::Result<()> {
        let plain = Style::new();
        self.book(language, at + 1, found)?;
        if let Some(edition) = edition(language, report, at) {
            self.say(INDENT, &plain, &edition)?;
        }
        self.say(INDENT, &plain, &relation(language, found))?;
        self.say(INDENT, &plain, &shares(language, found))?;
        if let Some(exact) = &found.exact {
            self.say(INDENT, &plain, &identity(language, exact))?;
        }
        if found.spans.is_empty() {
            return Ok(());
        }
        let Match { book, score, .. } = found;
        let text: Vec<Extent> = found.spans.iter().map(|span| span.query).collect();
        self.map(&language.text(), &text, bytes, counted(report))?;
        let this: Vec<Extent> = found.spans.iter().map(|span| span.book).collect();
        let known = Some(book.bytes).filter(|bytes| *bytes > 0);
        let of_book = whole(score.common, score.share_of_book);
        self.map(&language.book(), &this, known, of_book)
    }

    /// Writes the title of a match, its authors and its rights.
    fn book(&mut self, language: Language, number: usize, found: &Match) -> io::Result<()> {
        let book = &found.book;
        let title = match &book.title {
            Some(title) if !clean(title).trim().is_empty() => title.clone(),
            _ => language.no_title(),
        };
        let title = format!("{number}. {title}");
        self.say_at_most(TITLE_LINES, 0, &Style::new().bold(), &title)?;
        if !book.authors.is_empty() {
            let authors = book.authors.join(", ");
            self.say_at_most(TITLE_LINES, INDENT, &Style::new(), &authors)?;
        }
        let rights = rights(language, book.rights);
        let mut standing = format!("{}/{}, {rights}", book.library, book.id);
        if let Some(why) = reservation(language, found) {
            standing.extend([", ", &why]);
        }
        self.say(INDENT, &style(book.rights), &standing)
    }

    /// Writes a line with a map.
    fn map(
        &mut self,
        label: &str,
        extents: &[Extent],
        bytes: Option<u64>,
        gems: u32,
    ) -> io::Result<()> {
        let map = map(extents, bytes, gems, self.width() - INDENT - LABEL);
        self.line(INDENT, &Style::new(), &format!("{label:LABEL$}{map}"))
    }
}

/// The style for rights.
#[must_use]
pub fn style(rights: Rights) -> Style {
    match rights {
        Rights::Forbidden | Rights::Protected => Style::new().red(),
        Rights::Free | Rights::PublicDomain => Style::new().green(),
        Rights::Unknown => Style::new(),
    }
}

/// Draws the extents within a text, by bytes if they are known, otherwise by gems. A column is full if at least half of it
/// is covered, and half full if any of it is.
pub(super) fn map(extents: &[Extent], bytes: Option<u64>, gems: u32, columns: usize) -> String {
    let in_bytes: Option<Vec<(f64, f64)>> = extents
        .iter()
        .map(|extent| extent.bytes.map(|b| (b.start as f64, b.end as f64)))
        .collect();
    let (length, stretches) = match bytes.zip(in_bytes) {
        Some((bytes, stretches)) => (bytes as f64, stretches),
        None => (
            f64::from(gems),
            extents
                .iter()
                .map(|extent| (extent.gems.start.into(), extent.gems.end.into()))
                .collect(),
        ),
    };
    let column = length / columns as f64;
    (0..columns)
        .map(|i| {
            shade(
                &stretches,
                i as f64 * column,
                (i + 1) as f64 * column,
                column,
            )
        })
        .collect()
}

/// How a column is drawn.
fn shade(stretches: &[(f64, f64)], left: f64, right: f64, width: f64) -> char {
    let covered: f64 = stretches
        .iter()
        .map(|(start, end)| (end.min(right) - start.max(left)).max(0.0))
        .sum();
    match covered / width {
        part if part >= 0.5 => '█',
        part if part > 0.0 => '▒',
        _ => '░',
    }
}
