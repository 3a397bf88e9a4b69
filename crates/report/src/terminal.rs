//! Reports on a terminal.

use std::io::{self, Write};

use console::Style;

use lapidary_catalogue::api::{Match, Report};
use lapidary_checking::Extent;
use lapidary_language::Language;
use lapidary_store::Rights;

use super::disguise::{disguise, examples, hidden};
use super::page::{Page, clean};
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
    Page::new(out, colour).report(language, name, report, bytes)
}

impl<W: Write> Page<'_, W> {
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
        if let Some(certainty) = certainty(language, report) {
            self.say(INDENT, &plain, &certainty)?;
        }
        if let Some(disguise) = disguise(language, report) {
            self.say(INDENT, &plain, &disguise)?;
        }
        if let Some(hidden) = hidden(language, report) {
            self.say(INDENT, &plain, &hidden)?;
        }
        for aside in [disabled(language, report), informing(language, report)]
            .into_iter()
            .flatten()
        {
            self.say(INDENT, &plain, &language.not_counted(&aside))?;
        }
        if let Some(note) = &report.note {
            self.say(INDENT, &plain, &language.note(note))?;
        }
        for (i, found) in report.matches.iter().take(DESCRIBED).enumerate() {
            self.gap()?;
            self.found(language, i, found, report, bytes)?;
        }
        let rest = not_described(report, DESCRIBED);
        if rest > 0 {
            self.gap()?;
            let rest = match report.matches.len() {
                0 => language.not_shown(rest as u64),
                _ => language.more(rest as u64),
            };
            self.say(0, &plain, &rest)?;
        }
        if report.gems > 0 || disguise(language, report).is_some() {
            self.method(language, report)?;
        }
        self.gap()
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

    fn found(
        &mut self,
        language: Language,
        at: usize,
        found: &Match,
        report: &Report,
        bytes: Option<u64>,
    ) -> io::Result<()> {
        let Match { book, score, .. } = found;
        let (plain, counted) = (Style::new(), counted(report));
        let title = book
            .title
            .as_deref()
            .filter(|title| !clean(title).trim().is_empty());
        let title = format!(
            "{}. {}",
            at + 1,
            title.map_or_else(|| language.no_title(), ToOwned::to_owned)
        );
        self.say_at_most(TITLE_LINES, 0, &Style::new().bold(), &title)?;
        if !book.authors.is_empty() {
            self.say_at_most(TITLE_LINES, INDENT, &plain, &book.authors.join(", "))?;
        }
        let aside = reservation(language, found).map_or_else(String::new, |why| format!(", {why}"));
        let standing = format!(
            "{}/{}, {}{aside}",
            book.library,
            book.id,
            rights(language, book.rights)
        );
        self.say(INDENT, &style(book.rights), &standing)?;
        let of_book = whole(score.common, score.share_of_book);
        if let Some(edition) = edition(language, report, at) {
            self.say(INDENT, &plain, &edition)?;
        }
        self.say(INDENT, &plain, &relation(language, found.relation))?;
        self.say(INDENT, &plain, &shares(language, found))?;
        if let Some(exact) = &found.exact {
            self.say(INDENT, &plain, &identity(language, exact))?;
        }
        if !found.spans.is_empty() {
            let text: Vec<Extent> = found.spans.iter().map(|span| span.query).collect();
            let this: Vec<Extent> = found.spans.iter().map(|span| span.book).collect();
            let columns = self.width() - INDENT - LABEL;
            let known = Some(book.bytes).filter(|bytes| *bytes > 0);
            self.line(
                INDENT,
                &plain,
                &format!(
                    "{:LABEL$}{}",
                    language.text(),
                    map(&text, bytes, counted, columns)
                ),
            )?;
            self.line(
                INDENT,
                &plain,
                &format!(
                    "{:LABEL$}{}",
                    language.book(),
                    map(&this, known, of_book, columns)
                ),
            )?;
        }
        Ok(())
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
        let covered: f64 = stretches
            .iter()
            .map(|(start, end)| (end.min(right) - start.max(left)).max(0.0))
            .sum();
        match covered / column {
            part if part >= 0.5 => '█',
            part if part > 0.0 => '▒',
            _ => '░',
        }
    };
    (0..columns).map(shade).collect()
}
