//! Positions as readers know them: chapter, page, paragraph and percent.

use lapidary_gems::Place;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::headings::lines;
use crate::{Heading, headings_in};

/// The most paragraphs, and pages, that are counted.
const PARAGRAPHS: usize = 1 << 16;

/// A position in a text.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Position {
    /// How much of the text is before it, from 0 to 100.
    pub percent: f64,
    /// The heading that it comes after.
    pub chapter: Option<String>,
    /// The page, counted from 1.
    pub page: Option<u32>,
    /// The paragraph of the chapter, or of the text if it has no chapters, counted from 1.
    pub paragraph: Option<u32>,
}

/// The positions between which a passage lies.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PositionRange {
    /// Where it begins.
    #[serde(alias = "from")]
    pub start: Position,
    /// Where it ends.
    #[serde(alias = "to")]
    pub end: Position,
}

impl PositionRange {
    /// A place in a text of which only the length is known; `None` if not even that.
    #[must_use]
    pub fn in_length(place: Place, bytes: u64) -> Option<Self> {
        let position = |at| Position {
            percent: percent(at, bytes),
            ..Position::default()
        };
        (bytes > 0).then(|| Self {
            start: position(place.start),
            end: position(place.end),
        })
    }
}

/// Finds the positions of a text.
#[derive(Debug)]
pub struct Locator {
    bytes: u64,
    headings: Vec<Heading>,
    /// Where each page but the first begins.
    pages: Vec<u64>,
    paragraphs: Vec<u64>,
}

impl Locator {
    /// For a text with these headings; if there are none, with the chapter headings that its lines look like.
    #[must_use]
    pub fn new(text: &str, headings: &[Heading]) -> Self {
        let headings = if headings.is_empty() {
            headings_in(text)
        } else {
            headings.to_vec()
        };
        let feeds = memchr::memchr_iter(b'\x0C', text.as_bytes());
        let pages = feeds.take(PARAGRAPHS).map(|at| at as u64 + 1).collect();
        Self {
            bytes: text.len() as u64,
            headings,
            pages,
            paragraphs: paragraphs(text),
        }
    }

    /// Where a place of the text is.
    #[must_use]
    pub fn locate(&self, place: Place) -> PositionRange {
        PositionRange {
            start: self.position(place.start),
            end: self.position(place.end.saturating_sub(1).max(place.start)),
        }
    }

    fn position(&self, at: u64) -> Position {
        let chapter = self
            .headings
            .partition_point(|heading| heading.at <= at)
            .checked_sub(1);
        let chapter = chapter.and_then(|chapter| self.headings.get(chapter));
        // The heading itself is not a paragraph of the chapter.
        let first = chapter.map_or(0, |chapter| {
            self.paragraphs
                .partition_point(|start| *start <= chapter.at)
        });
        let paragraph = self
            .paragraphs
            .partition_point(|start| *start <= at)
            .saturating_sub(first);
        let is_counted = paragraph > 0 && self.paragraphs.len() < PARAGRAPHS;
        Position {
            percent: percent(at, self.bytes),
            chapter: chapter.map(|chapter| chapter.title.clone()),
            page: (!self.pages.is_empty())
                .then(|| self.pages.partition_point(|start| *start <= at) as u32 + 1),
            paragraph: is_counted.then_some(paragraph as u32),
        }
    }
}

/// With one decimal.
fn percent(at: u64, bytes: u64) -> f64 {
    (1_000.0 * at.min(bytes) as f64 / bytes.max(1) as f64).round() / 10.0
}

/// Where paragraphs begin: after empty lines, or on every line of a text that has none.
fn paragraphs(text: &str) -> Vec<u64> {
    let has_empty = text
        .split('\n')
        .skip(1)
        .any(|line| line.trim_end_matches('\r').is_empty());
    let (mut starts, mut at, mut after_empty) = (Vec::new(), 0, true);
    for line in lines(text) {
        let is_empty = line.trim().is_empty();
        if !is_empty && (after_empty || !has_empty) && starts.len() < PARAGRAPHS {
            starts.push(at as u64);
        }
        after_empty = is_empty;
        at += line.len();
    }
    starts
}

#[cfg(test)]
mod tests {
    use lapidary_gems::Place;

    use super::{Locator, Position, PositionRange};
    use crate::Heading;

    fn position(
        percent: f64,
        chapter: Option<&str>,
        page: Option<u32>,
        paragraph: Option<u32>,
    ) -> Position {
        Position {
            percent,
            chapter: chapter.map(Into::into),
            page,
            paragraph,
        }
    }

    fn found(text: &str, headings: &[Heading], word: &str) -> PositionRange {
        let start = text.find(word).unwrap();
        Locator::new(text, headings).locate(Place {
            start: start as u64,
            end: (start + word.len()) as u64,
        })
    }

    #[test]
    fn positions_of_a_plain_text() {
        let text =
            "Title\n\nChapter 1\n\nOne line\nand another.\n\nSecond.\n\nChapter 2\n\nThird part.";
        let of = |word| found(text, &[], word);
        assert_eq!(of("Title").start, position(0.0, None, None, Some(1)));
        let across = of("another.\n\nSecond");
        assert_eq!(
            across.start,
            position(43.1, Some("Chapter 1"), None, Some(1))
        );
        assert_eq!(across.end, position(63.9, Some("Chapter 1"), None, Some(2)));
        assert_eq!(of("Third").start.paragraph, Some(1));
        assert_eq!(
            of("Chapter 2").start,
            position(69.4, Some("Chapter 2"), None, None)
        );
    }

    #[test]
    fn pages_and_headings_of_a_file() {
        let text = "One.\nTwo.\x0CThree.\nFour.\x0CFive.";
        let headings = [Heading {
            at: 10,
            title: "The third".into(),
        }];
        assert_eq!(
            found(text, &headings, "Two").start,
            position(17.9, None, Some(1), Some(2))
        );
        assert_eq!(
            found(text, &headings, "Four").start,
            position(60.7, Some("The third"), Some(2), Some(1))
        );
        assert_eq!(found(text, &headings, "Five").start.page, Some(3));
    }

    #[test]
    fn places_beyond_the_text_are_at_its_end() {
        let located = Locator::new("", &[]).locate(Place { start: 5, end: 2 });
        assert_eq!((located.start.percent, located.end.paragraph), (0.0, None));
        assert_eq!(
            PositionRange::in_length(Place { start: 5, end: 50 }, 0),
            None
        );
        let place = PositionRange::in_length(Place { start: 5, end: 500 }, 100).unwrap();
        assert_eq!((place.start.percent, place.end.percent), (5.0, 100.0));
    }
}
