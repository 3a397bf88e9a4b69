//! Text on a terminal: wrapped, indented and coloured, without control characters from untrusted input.

use std::io::{self, Write};

use console::{Style, Term, measure_text_width, truncate_str};

/// The minimum line width, also on narrower terminals: the maps need some columns.
const NARROWEST: usize = 40;
/// The maximum line width: longer lines are hard to read.
const WIDEST: usize = 80;

/// A writer of human-readable text.
pub struct TerminalPage<'o, W> {
    out: &'o mut W,
    width: usize,
    colour: bool,
}

impl<'o, W: Write> TerminalPage<'o, W> {
    /// Creates a page as wide as the terminal, or 80 columns wide without one.
    pub fn new(out: &'o mut W, colour: bool) -> Self {
        let columns = Term::stdout()
            .size_checked()
            .map_or(WIDEST, |(_, columns)| columns.into());
        Self {
            out,
            width: columns.clamp(NARROWEST, WIDEST),
            colour,
        }
    }

    /// Sets the width in columns, whatever the terminal has.
    #[must_use]
    pub fn of_width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The width in columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Writes a text of any length, wrapped. Untrusted text is cleaned.
    pub fn say(&mut self, indent: usize, style: &Style, text: &str) -> io::Result<()> {
        self.say_at_most(usize::MAX, indent, style, text)
    }

    /// Like [`TerminalPage::say`], truncated to this many lines.
    pub(super) fn say_at_most(
        &mut self,
        lines: usize,
        indent: usize,
        style: &Style,
        text: &str,
    ) -> io::Result<()> {
        let mut wrapped = wrap(&clean(text), self.width - indent);
        if wrapped.len() > lines {
            wrapped.truncate(lines);
            if let Some(last) = wrapped.last_mut() {
                *last = truncate_str(&format!("{last} …"), self.width - indent, "…").into_owned();
            }
        }
        for line in wrapped {
            self.line(indent, style, &line)?;
        }
        Ok(())
    }

    /// Writes one trusted line as it is.
    pub fn line(&mut self, indent: usize, style: &Style, line: &str) -> io::Result<()> {
        let styled = style.clone().force_styling(self.colour).apply_to(line);
        writeln!(self.out, "{:indent$}{styled}", "")
    }
}

/// Makes a text safe to print: replaces control characters with spaces, and removes invisible characters that change the
/// writing direction or carry hidden text.
#[must_use]
pub fn clean(text: &str) -> String {
    harmless(text).replace(char::is_control, " ")
}

/// Like [`clean`], but keeps newlines and tabs.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars()
        .filter(|c| !is_invisible(*c))
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}'
    ) || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Wraps a text into lines of at most `width` columns, but not at no-break spaces. Longer words are truncated.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split(is_break).filter(|word| !word.is_empty()) {
        let word = truncate_str(word, width, "…");
        let columns = measure_text_width(&word);
        match lines.last_mut() {
            Some(line) if used + 1 + columns <= width => {
                line.push(' ');
                line.push_str(&word);
                used += 1 + columns;
            }
            _ => {
                lines.push(word.into_owned());
                used = columns;
            }
        }
    }
    lines
}

fn is_break(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::{clean, wrap};

    #[test]
    fn nothing_steers_the_terminal() {
        let table = [
            ("a\u{1b}[31mred\u{7}", "a [31mred "),
            ("\u{9b}2J\u{90}q", " 2J q"),
            ("two\r\nlines\tand\u{85}more", "two  lines and more"),
            ("txt\u{202e}cod.exe", "txtcod.exe"),
            ("tag\u{e0041}ged", "tagged"),
            ("«Ёлка» – 猫", "«Ёлка» – 猫"),
        ];
        for (text, expected) in table {
            assert_eq!(clean(text), expected);
        }
    }

    #[test]
    fn wrapping_counts_columns() {
        assert_eq!(wrap(" one two\nthree ", 7), ["one two", "three"]);
        assert_eq!(wrap("猫猫 猫猫", 7), ["猫猫", "猫猫"]);
        assert_eq!(wrap("a immeasurable b", 6), ["a", "immea…", "b"]);
        assert_eq!(wrap("12\u{a0}345 книг", 9), ["12\u{a0}345", "книг"]);
        assert_eq!(wrap("Он 12\u{a0}345", 6), ["Он", "12\u{a0}345"]);
        assert_eq!(wrap(" ", 6), [""; 0]);
    }
}
