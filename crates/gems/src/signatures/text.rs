//! A text made ready for its words: without what printing added, and split into paragraphs.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::characters::{is_ignorable, is_invisible, is_letter, is_lower_case};
use crate::fold::known;
use crate::gem::Place;
use memchr::memchr_iter;

/// A line of more characters is one that no printer broke.
const LONG: usize = 120;
const BLANK: char = ' ';
/// What ends a line.
const ENDS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// A cleaned text.
pub(super) struct Cleaned {
    text: String,
    /// Where each of its lines is in the text that it was.
    lines: Vec<Range<usize>>,
}

/// The text in one line per printed line, without page numbers, with the halves of broken words joined and without
/// invisible characters, in the normal form NFKC.
pub(super) fn cleaned(text: &str) -> Cleaned {
    let (text, lines) = with_line_feeds(text);
    let (text, lines) = without_page_numbers(&text, lines);
    let (text, lines) = joined(&text, lines);
    // What follows changes no end of a line.
    let text: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    let text = match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => text,
        _ => text.nfkc().collect(),
    };
    Cleaned { text, lines }
}

/// Ends every line with LF, makes other controls blanks, and hides what is newer than Unicode 14.
fn with_line_feeds(text: &str) -> (String, Vec<Range<usize>>) {
    let mut plain = String::with_capacity(text.len());
    // As many as there can be: a text can be all lines.
    let most = 1 + text.chars().filter(|c| ENDS.contains(c)).count();
    let (mut lines, mut start) = (Vec::with_capacity(most), 0);
    let mut is_after_return = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' if is_after_return => start = at + c.len_utf8(),
            c if ENDS.contains(&c) => {
                plain.push('\n');
                lines.push(start..at);
                start = at + c.len_utf8();
            }
            c if c.is_control() => plain.push(BLANK),
            c => {
                let known = known(c);
                plain.push(if known == c || is_ignorable(c) {
                    c
                } else {
                    known
                });
            }
        }
        is_after_return = c == '\r';
    }
    lines.push(start..text.len());
    (plain, lines)
}

fn without_page_numbers(text: &str, mut lines: Vec<Range<usize>>) -> (String, Vec<Range<usize>>) {
    let mut kept = String::with_capacity(text.len());
    let (mut all, mut is_first) = (text.split('\n'), true);
    lines.retain(|_| {
        let line = all.next().filter(|line| !is_page_number(line));
        if let Some(line) = line {
            if !std::mem::take(&mut is_first) {
                kept.push('\n');
            }
            kept.push_str(line);
        }
        line.is_some()
    });
    (kept, lines)
}

/// One to four digits, perhaps between dashes.
fn is_page_number(line: &str) -> bool {
    fn past_dash(rest: &str) -> &str {
        let rest = rest.trim_start_matches(BLANK);
        rest.strip_prefix(['-', '–', '—'])
            .unwrap_or(rest)
            .trim_start_matches(BLANK)
    }
    let number = past_dash(line);
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..=4).contains(&(number.len() - rest.len())) && past_dash(rest).is_empty()
}

/// Joins words broken at the end of a line, and the lines that they are in.
fn joined(text: &str, all: Vec<Range<usize>>) -> (Cow<'_, str>, Vec<Range<usize>>) {
    let mut joined = String::new();
    let mut lines = KeptLines {
        rest: all.into_iter(),
        joined: Vec::new(),
        open: None,
    };
    let (mut copied, mut from) = (0, 0);
    while let Some((place, hyphen)) = text[from..]
        .match_indices(['-', '\u{ac}', '\u{ad}', '\u{2010}', '\u{2011}'])
        .next()
    {
        let place = from + place;
        let line = text[place + hyphen.len()..].trim_start_matches(BLANK);
        let next = if line.starts_with('\n') {
            line.trim_start_matches([BLANK, '\n'])
        } else {
            line
        };
        from = text.len() - next.len();
        if next.len() < line.len()
            && text[..place].ends_with(is_letter)
            && next.starts_with(is_lower_case)
        {
            joined.push_str(&text[copied..place]);
            lines.keep(&text[copied..place]);
            lines.remove(&text[place..from]);
            copied = from;
        }
    }
    if copied == 0 {
        return (Cow::Borrowed(text), lines.rest.collect());
    }
    joined.push_str(&text[copied..]);
    lines.keep(&text[copied..]);
    lines.joined.extend(lines.open);
    (Cow::Owned(joined), lines.joined)
}

/// Follows the lines of a text of which pieces are removed.
struct KeptLines {
    rest: std::vec::IntoIter<Range<usize>>,
    joined: Vec<Range<usize>>,
    /// The line that has not ended.
    open: Option<Range<usize>>,
}

impl KeptLines {
    fn keep(&mut self, piece: &str) {
        self.open = self.open.take().or_else(|| self.rest.next());
        for _ in memchr_iter(b'\n', piece.as_bytes()) {
            self.joined.extend(self.open.take());
            self.open = self.rest.next();
        }
    }

    fn remove(&mut self, piece: &str) {
        for _ in memchr_iter(b'\n', piece.as_bytes()) {
            let next = self.rest.next();
            if let Some((open, next)) = self.open.as_mut().zip(next) {
                open.end = next.end;
            }
        }
    }
}

impl Cleaned {
    /// Its paragraphs, and where each is in the text that it was.
    pub(super) fn paragraphs(&self) -> impl Iterator<Item = (&str, Place)> {
        paragraphs(&self.text).map(|TextParagraph { text, lines }| {
            let first = self.lines.get(lines.start);
            let last = self.lines.get(lines.end - 1);
            let place = Place {
                start: first.map_or(0, |line| line.start as u64),
                end: last.map_or(0, |line| line.end as u64),
            };
            (&self.text[text], place)
        })
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// A paragraph of a cleaned text: what it is, in bytes and in lines.
struct TextParagraph {
    text: Range<usize>,
    lines: Range<usize>,
}

/// The paragraphs of a cleaned text: its lines if most of the text is in long ones, else what is between blank lines.
fn paragraphs(text: &str) -> impl Iterator<Item = TextParagraph> {
    let (mut in_long, mut in_all) = (0, 0);
    for length in text.split('\n').map(|line| line.chars().count()) {
        in_all += length;
        in_long += if length > LONG { length } else { 0 };
    }
    let by_line = 2 * in_long > in_all;
    let (mut lines, mut start) = (text.split('\n').enumerate(), 0);
    std::iter::from_fn(move || {
        let mut found: Option<TextParagraph> = None;
        for (number, line) in lines.by_ref() {
            let (here, end) = (start, start + line.len());
            start = end + 1;
            if line.trim_start_matches(BLANK).is_empty() {
                if found.is_some() {
                    break;
                }
                continue;
            }
            let paragraph = found.get_or_insert(TextParagraph {
                text: here..end,
                lines: number..number + 1,
            });
            (paragraph.text.end, paragraph.lines.end) = (end, number + 1);
            if by_line {
                break;
            }
        }
        found
    })
}
