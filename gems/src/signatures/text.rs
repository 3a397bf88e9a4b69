//! A text made ready for its words: without what printing added, and split into paragraphs.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};

use super::characters::{is_ignorable, is_invisible, is_letter, is_lower_case};
use crate::fold::known;

/// A line of more characters is one that no printer broke.
const LONG: usize = 120;
const BLANK: char = ' ';

/// The text in one line per printed line, without page numbers, with the halves of broken words joined and without
/// invisible characters, in the normal form NFKC.
pub(super) fn cleaned(text: &str) -> String {
    let text = without_page_numbers(&with_line_feeds(text));
    let text: String = joined(&text).chars().filter(|c| !is_invisible(*c)).collect();
    match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => text,
        _ => text.nfkc().collect(),
    }
}

/// Ends every line with LF, makes other controls blanks, and hides what is newer than Unicode 14.
fn with_line_feeds(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut is_after_return = false;
    for c in text.chars() {
        match c {
            '\n' if is_after_return => {}
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => plain.push('\n'),
            c if c.is_control() => plain.push(BLANK),
            c => {
                let known = known(c);
                plain.push(if known == c || is_ignorable(c) { c } else { known });
            }
        }
        is_after_return = c == '\r';
    }
    plain
}

fn without_page_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (number, line) in text.split('\n').filter(|line| !is_page_number(line)).enumerate() {
        if number > 0 {
            kept.push('\n');
        }
        kept.push_str(line);
    }
    kept
}

/// One to four digits, perhaps between dashes.
fn is_page_number(line: &str) -> bool {
    fn past_dash(rest: &str) -> &str {
        let rest = rest.trim_start_matches(BLANK);
        rest.strip_prefix(['-', '–', '—']).unwrap_or(rest).trim_start_matches(BLANK)
    }
    let number = past_dash(line);
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    (1..=4).contains(&(number.len() - rest.len())) && past_dash(rest).is_empty()
}

/// Joins words broken at the end of a line.
fn joined(text: &str) -> Cow<'_, str> {
    let mut joined = String::new();
    let (mut copied, mut from) = (0, 0);
    while let Some((place, hyphen)) =
        text[from..].match_indices(['-', '\u{ac}', '\u{ad}', '\u{2010}', '\u{2011}']).next()
    {
        let place = from + place;
        let line = text[place + hyphen.len()..].trim_start_matches(BLANK);
        let next = if line.starts_with('\n') { line.trim_start_matches([BLANK, '\n']) } else { line };
        from = text.len() - next.len();
        if next.len() < line.len() && text[..place].ends_with(is_letter) && next.starts_with(is_lower_case) {
            joined.push_str(&text[copied..place]);
            copied = from;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    joined.push_str(&text[copied..]);
    Cow::Owned(joined)
}

/// The paragraphs of a cleaned text: its lines if most of the text is in long ones, else what is between blank lines.
pub(super) fn paragraphs(text: &str) -> Vec<&str> {
    let lengths = || text.split('\n').map(|line| line.chars().count());
    let in_long: usize = lengths().filter(|length| *length > LONG).sum();
    let by_line = 2 * in_long > lengths().sum();
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut start, mut is_open) = (0, false);
    for line in text.split('\n') {
        let end = start + line.len();
        let is_blank = line.trim_start_matches(BLANK).is_empty();
        match found.last_mut() {
            _ if is_blank => {}
            Some(paragraph) if is_open => paragraph.end = end,
            _ => found.push(start..end),
        }
        is_open = !is_blank && !by_line;
        start = end + 1;
    }
    found.into_iter().map(|paragraph| &text[paragraph]).collect()
}
