//! The works that a report names, and which parts of the text each has.

use std::cmp::Reverse;

use lapidary_gems::Place;

use super::page::clean;
use super::words::counted;
use lapidary_catalogue::api::{Match, Report};
use lapidary_checking::{Passage, Span, join_passages};
use lapidary_extract::position::PositionRange;

/// The most parts that a page lists, the longest; the map shows all.
const LISTED: usize = 500;
/// How many works have a colour of their own.
const HUES: usize = 8;

/// A work, and the parts of the text that it has.
pub(super) struct Work<'a> {
    /// Its number on the page, counted from 1.
    pub(super) number: usize,
    /// The edition that stands for it: the best, or the best that forbids to publish.
    pub(super) best: &'a Match,
    /// Its other editions.
    pub(super) others: Vec<&'a Match>,
    /// Its parts, in the order of the text.
    pub(super) parts: Vec<Part<'a>>,
}

/// A part of the text that is in an edition of a work.
pub(super) struct Part<'a> {
    /// Its number on the page, counted from 1, if it is listed.
    pub(super) number: Option<usize>,
    /// The edition.
    pub(super) edition: &'a Match,
    /// The edition's place among the matches.
    pub(super) at: usize,
    pub(super) likeness: PartLikeness<'a>,
}

/// What is known of a part.
#[derive(Clone, Copy)]
pub(super) enum PartLikeness<'a> {
    /// It was compared with the book, word by word.
    Words(&'a Passage),
    /// It has these gems of the book.
    Gems(&'a Span),
}

impl Part<'_> {
    /// Where it is in the text, if that is known in bytes.
    pub(super) fn bytes(&self) -> Option<Place> {
        match self.likeness {
            PartLikeness::Words(passage) => Some(passage.query),
            PartLikeness::Gems(span) => span.query.bytes,
        }
    }

    /// Where it begins and ends: in bytes, or in gems if only those are known.
    fn ends(&self) -> (u64, u64) {
        match (self.bytes(), self.likeness) {
            (Some(place), _) => (place.start, place.end),
            (None, PartLikeness::Gems(span)) => {
                (span.query.gems.start.into(), span.query.gems.end.into())
            }
            (None, PartLikeness::Words(_)) => (0, 0),
        }
    }

    fn length(&self) -> u64 {
        let (start, end) = self.ends();
        end.saturating_sub(start)
    }

    /// Where readers find it in the text.
    pub(super) fn located(&self, text: &TextLength) -> Option<PositionRange> {
        let known = match self.likeness {
            PartLikeness::Words(passage) => passage.query_position.clone(),
            PartLikeness::Gems(span) => span.query_position.clone(),
        };
        let (start, end) = self.ends();
        known.or_else(|| PositionRange::in_length(Place { start, end }, text.of(self)))
    }

    /// Where readers find it in the book.
    pub(super) fn located_in_book(&self) -> Option<PositionRange> {
        match self.likeness {
            PartLikeness::Words(passage) => passage.book_position.clone(),
            PartLikeness::Gems(span) => span.book_position.clone(),
        }
    }

    /// Where it begins and ends, from 0 to 1.
    pub(super) fn stretch(&self, text: &TextLength) -> (f64, f64) {
        let length = text.of(self).max(1) as f64;
        let (start, end) = self.ends();
        let [start, end] = [start, end].map(|at| (at as f64 / length).clamp(0.0, 1.0));
        (start, end.max(start))
    }
}

/// How long the text is.
pub(super) struct TextLength {
    bytes: Option<u64>,
    gems: u64,
}

impl TextLength {
    pub(super) fn new(report: &Report, bytes: Option<u64>) -> Self {
        let mut spans = report.matches.iter().flat_map(|found| &found.spans);
        let has_places = spans.all(|span| span.query.bytes.is_some());
        let gems = counted(report);
        Self {
            bytes,
            gems: if has_places {
                gems
            } else {
                gems.max(report.looked_up)
            }
            .into(),
        }
    }

    /// In the unit of a part.
    fn of(&self, part: &Part<'_>) -> u64 {
        match part.bytes() {
            Some(place) => self.bytes.unwrap_or(place.end),
            None => self.gems,
        }
    }
}

impl<'a> Work<'a> {
    /// Adds an edition. One that forbids comes before those that do not.
    fn add(&mut self, edition: &'a Match) {
        if forbids(edition) && !forbids(self.best) {
            self.others.insert(0, self.best);
            self.best = edition;
        } else {
            self.others.push(edition);
        }
    }

    /// Adds the parts of an edition that other editions do not have.
    fn add_parts(&mut self, at: usize, edition: &'a Match, is_compared: bool) {
        let before = joined(&self.parts);
        let added = likenesses(edition, is_compared).map(|likeness| Part {
            number: None,
            edition,
            at,
            likeness,
        });
        let new = added.filter(|part| 2 * overlap(&before, part.ends()) <= part.length());
        self.parts.extend(new);
    }

    /// The title of the edition that stands for it.
    pub(super) fn title(&self) -> String {
        title(self.best)
    }

    /// The letter that tells it from others without colour, or its number.
    pub(super) fn label(&self) -> String {
        match u8::try_from(self.number) {
            Ok(number @ 1..=26) => char::from(b'A' + number - 1).to_string(),
            _ => self.number.to_string(),
        }
    }

    /// The class of its colour.
    pub(super) fn hue(&self) -> String {
        format!("hue-{}", (self.number - 1) % HUES)
    }
}

fn forbids(found: &Match) -> bool {
    found.decides() && found.book.rights.forbids()
}

/// The title of a book, or its id if it has none.
pub(super) fn title(found: &Match) -> String {
    let title = found.book.title.as_deref().map(clean);
    title
        .filter(|title| !title.trim().is_empty())
        .unwrap_or_else(|| clean(&found.book.id))
}

fn likenesses(found: &Match, is_compared: bool) -> impl Iterator<Item = PartLikeness<'_>> {
    let is_compared = is_compared && !found.passages.is_empty();
    let passages = found.passages.iter().filter(move |_| is_compared);
    let spans = found.spans.iter().filter(move |_| !is_compared);
    passages
        .map(PartLikeness::Words)
        .chain(spans.map(PartLikeness::Gems))
}

/// Parts joined where they overlap, in order.
fn joined(parts: &[Part<'_>]) -> Vec<(u64, u64)> {
    let mut ends: Vec<(u64, u64)> = parts.iter().map(Part::ends).collect();
    join_passages(&mut ends);
    ends
}

/// How much of a stretch is in others, which are in order and do not overlap.
fn overlap(others: &[(u64, u64)], (start, end): (u64, u64)) -> u64 {
    let first = others.partition_point(|other| other.1 <= start);
    let near = others[first..].iter().take_while(|other| other.0 < end);
    near.map(|other| other.1.min(end).saturating_sub(other.0.max(start)))
        .sum()
}

/// The works of a report, best first. The books of some matches were compared with the text, word by word.
pub(super) fn works(report: &Report, is_compared: impl Fn(usize) -> bool) -> Vec<Work<'_>> {
    let mut works: Vec<Work<'_>> = Vec::new();
    for (at, found) in report.matches.iter().enumerate() {
        let known = works.iter().position(|one| one.best.work == found.work);
        let of = known.unwrap_or(works.len());
        match works.get_mut(of) {
            Some(work) => work.add(found),
            None => works.push(Work {
                number: of + 1,
                best: found,
                others: Vec::new(),
                parts: Vec::new(),
            }),
        }
        works[of].add_parts(at, found, is_compared(at));
    }
    number_parts(&mut works);
    works
}

/// Numbers the longest parts in the order of the page.
fn number_parts(works: &mut [Work<'_>]) {
    for work in works.iter_mut() {
        work.parts.sort_by_key(Part::ends);
    }
    let mut longest: Vec<&mut Part<'_>> =
        works.iter_mut().flat_map(|work| &mut work.parts).collect();
    longest.sort_by_key(|part| Reverse(part.length()));
    longest.truncate(LISTED);
    for part in longest {
        part.number = Some(0);
    }
    let numbers = works
        .iter_mut()
        .flat_map(|work| &mut work.parts)
        .filter_map(|part| part.number.as_mut());
    for (number, listed) in (1..).zip(numbers) {
        *listed = number;
    }
}
