//! Headings: where the chapters of a text begin.

use std::sync::LazyLock;

use memchr::memchr2_iter;
use serde::{Deserialize, Serialize};

/// The maximum number of headings of a text, and of bytes of a title.
const MOST: usize = 2_000;
const LONGEST: usize = 120;
/// A line that is longer, in characters, is not a heading.
const LINE: usize = 80;

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// Where it begins, in bytes.
    pub at: u64,
    /// Its words, or the first of them, on one line.
    pub title: String,
}

impl Heading {
    /// The memory that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.title.len()
    }
}

/// Adds a heading, unless it has no words or there are too many.
pub(super) fn add(headings: &mut Vec<Heading>, at: usize, title: &str) {
    if headings.len() < MOST
        && let Some(title) = shortened(title)
    {
        headings.push(Heading {
            at: at as u64,
            title,
        });
    }
}

/// Appends the headings of a text that follows at this position.
pub(super) fn append(headings: &mut Vec<Heading>, at: usize, others: Vec<Heading>) {
    let left = MOST.saturating_sub(headings.len());
    let moved = others.into_iter().take(left).map(|heading| Heading {
        at: heading.at + at as u64,
        ..heading
    });
    headings.extend(moved);
}

fn shortened(title: &str) -> Option<String> {
    if !title.contains(char::is_alphanumeric) {
        return None;
    }
    let mut short = String::new();
    for word in title
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
    {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if short.len() > LONGEST {
            let end = (0..=LONGEST)
                .rev()
                .find(|end| short.is_char_boundary(*end))
                .unwrap_or(0);
            short.truncate(end);
            short.push('…');
            break;
        }
    }
    Some(short)
}

/// The headings of a text without markup: short lines between empty ones, or at the start, that begin with the word for
/// a part of a book and its number.
#[must_use]
pub fn headings_in(text: &str) -> Vec<Heading> {
    let (mut headings, mut after_empty) = (Vec::new(), true);
    let mut lines = lines(text).scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line.trim_end()))
    });
    let mut next = lines.next();
    while let Some((at, line)) = next {
        next = lines.next();
        let before_empty = next.is_none_or(|(_, line)| line.is_empty());
        if after_empty && before_empty && is_heading(line.trim_start()) {
            add(&mut headings, at, line);
        }
        after_empty = line.is_empty();
    }
    headings
}

/// The lines of a text, each with the line feed or form feed behind it.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr2_iter(b'\n', b'\x0C', text.as_bytes()).map(|at| at + 1);
    let rest = (!text.is_empty() && !text.ends_with(['\n', '\x0C'])).then_some(text.len());
    let mut start = 0;
    ends.chain(rest).map(move |end| {
        let line = &text[start..end];
        start = end;
        line
    })
}

fn is_heading(line: &str) -> bool {
    /// The words, in lower case, in languages that name parts in the same order.
    const PARTS: [&str; 20] = [
        "chapter",
        "part",
        "book",
        "volume",
        "act",
        "scene",
        "canto",
        "глава",
        "часть",
        "том",
        "книга",
        "раздел",
        "действие",
        "явление",
        "kapitel",
        "teil",
        "chapitre",
        "partie",
        "capítulo",
        "capitolo",
    ];
    static NUMBERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let numbers = "one two three four five six seven eight nine ten eleven twelve first second third fourth fifth last \
                       первая вторая третья четвертая четвёртая пятая шестая седьмая восьмая девятая десятая последняя \
                       первый второй третий четвертый четвёртый пятый первое второе третье четвертое четвёртое пятое";
        numbers.split_whitespace().collect()
    });
    // Most lines are long: this is cheap.
    if line.is_empty() || line.len() > 4 * LINE || line.chars().nth(LINE).is_some() {
        return false;
    }
    let lower = line.to_lowercase();
    let mut words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let (Some(part), Some(number)) = (words.next(), words.next()) else {
        return false;
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit())
        || number.chars().all(|c| "ivxlcdmіхс".contains(c))
        || NUMBERS.contains(&number);
    PARTS.contains(&part) && is_number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Heading, MOST, add, headings_in, lines};

    proptest! {
        #[test]
        fn lines_end_at_feeds(text in "[aé\r\n\x0C]{0,20}") {
            let as_defined: Vec<&str> = text.split_inclusive(['\n', '\x0C']).collect();
            prop_assert_eq!(lines(&text).collect::<Vec<_>>(), as_defined);
        }
    }

    #[test]
    fn headings_of_plain_texts() {
        let text = "CHAPTER I.\n\nChapter two of this was long.\nIt went on.\n\n  Глава вторая. О камнях\n\nЧасть речи\n\n\
                    part 3\x0C\nbook of stones\n\nТОМ II";
        let found: Vec<(usize, String)> = headings_in(text)
            .into_iter()
            .map(|Heading { at, title }| (at as usize, title))
            .collect();
        let at = |title: &str| (text.find(title).unwrap(), title.trim().to_owned());
        assert_eq!(
            found,
            [
                at("CHAPTER I."),
                at("  Глава вторая. О камнях"),
                at("part 3"),
                at("ТОМ II")
            ]
        );
    }

    #[test]
    fn headings_are_bounded() {
        let mut headings = Vec::new();
        add(&mut headings, 7, &"гранит \u{7}\n".repeat(1_000));
        assert!(
            headings[0].title.len() < 130 && headings[0].title.ends_with('…'),
            "{headings:?}"
        );
        assert!(!headings[0].title.contains(char::is_control));
        add(&mut headings, 9, " — ");
        assert_eq!(headings.len(), 1);
        (0..3_000).for_each(|i| add(&mut headings, i, "x"));
        assert_eq!(headings.len(), MOST);
    }
}
