//! Matching passages side by side, with their differences marked.

use std::cell::Cell;
use std::fmt::Write as _;
use std::ops::Range;

use lapidary_gems::Place;
use maud::{Markup, PreEscaped, html};

use super::page::clean;
use super::words::{identity, located};
use lapidary_checking::{Likeness, Passage, Piece, Span};
use lapidary_language::Language;

/// The most bytes of a text that the passages of a page show together, and each; and what one counts at least.
const SHOWN: usize = 1_000_000;
const EACH: usize = 20_000;
const LEAST: usize = 2_000;
/// A row of a passage ends after this many bytes.
const ROW: u64 = 400;

/// A text that passages are shown of.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The text.
    pub text: &'a str,
    /// Its language as a tag, if known.
    pub language: Option<&'a str>,
}

impl<'a> Side<'a> {
    fn at(&self, place: Place) -> &'a str {
        // Places may have been widened without looking at the text.
        let start = self.text.floor_char_boundary(place.start as usize);
        let end = self.text.ceil_char_boundary(place.end as usize);
        self.text.get(start..end).unwrap_or_default()
    }

    /// What stands between two words; nothing if they overlap.
    fn between(&self, start: u64, end: u64) -> String {
        visible(self.at(Place { start, end })).into_string()
    }

    /// The language for screen readers; empty if unknown, so that it is not taken for the page's.
    fn tag(&self) -> &'a str {
        self.language.filter(|tag| is_tag(tag)).unwrap_or_default()
    }
}

fn is_tag(language: &str) -> bool {
    language.len() <= 35
        && language
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// What a page may still show.
pub(super) struct PassageRoom(Cell<usize>);

impl Default for PassageRoom {
    fn default() -> Self {
        Self(Cell::new(SHOWN))
    }
}

impl PassageRoom {
    fn for_one(&self) -> Option<usize> {
        Some(self.0.get().min(EACH)).filter(|left| *left > 0)
    }

    fn take(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_sub(bytes.max(LEAST)));
    }
}

/// The passages of two texts next to each other, longest first.
pub(super) fn side_by_side(
    language: Language,
    room: &PassageRoom,
    heads: [&str; 2],
    [query, book]: [Side<'_>; 2],
    passages: &[Passage],
) -> Markup {
    let mut sorted: Vec<&Passage> = passages.iter().collect();
    sorted.sort_by_key(|passage| std::cmp::Reverse(passage.identity.characters));
    let shown: Vec<ShownPassage> = sorted
        .into_iter()
        .map_while(|passage| ShownPassage::new(passage, room))
        .collect();
    html! {
        @for (i, shown) in shown.iter().enumerate() {
            details open {
                summary { (language.passage(i as u64 + 1)) ": " (identity(language, &shown.passage.identity)) }
                table class="sides" {
                    caption { (language.passage(i as u64 + 1)) }
                    thead { tr { @for head in heads { th scope="col" { (head) } } } }
                    tbody { (rows_of_passage(language, shown, &query, &book)) }
                }
                @if shown.rest > 0 { p class="quiet" { (language.passage_goes_on(shown.rest)) } }
            }
        }
        (more(language, passages.len() - shown.len()))
    }
}

/// A passage as far as there is room for it.
struct ShownPassage<'a> {
    passage: &'a Passage,
    /// The places of the pieces of each row.
    rows: Vec<Range<usize>>,
    /// How many bytes of the query are not shown.
    rest: u64,
}

impl<'a> ShownPassage<'a> {
    /// `None` if there is no room.
    fn new(passage: &'a Passage, room: &PassageRoom) -> Option<Self> {
        let rows = rows(passage, room.for_one()? as u64);
        let last = rows
            .last()
            .and_then(|row| passage.pieces[row.clone()].last());
        let end = last.map_or(passage.query.start, |piece| piece.query.end);
        room.take((end - passage.query.start) as usize);
        Some(Self {
            passage,
            rows,
            rest: passage.query.end - end,
        })
    }
}

fn rows_of_passage(
    language: Language,
    shown: &ShownPassage<'_>,
    query: &Side<'_>,
    book: &Side<'_>,
) -> Markup {
    let passage = shown.passage;
    html! {
        @if passage.query_position.is_some() || passage.book_position.is_some() {
            tr class="quiet" {
                @for at in [&passage.query_position, &passage.book_position] {
                    td { @if let Some(at) = at { (located(language, at)) } }
                }
            }
        }
        @for row in &shown.rows {
            tr {
                td lang=(query.tag()) dir="auto" {
                    (words(query, passage, row, |piece| piece.query, "ins"))
                }
                td lang=(book.tag()) dir="auto" {
                    (words(book, passage, row, |piece| piece.book, "del"))
                }
            }
        }
    }
}

/// The excerpts of a text of which only the other side's gems are known, longest first.
pub(super) fn excerpts(
    language: Language,
    room: &PassageRoom,
    head: &str,
    text: Side<'_>,
    spans: &[Span],
) -> Markup {
    let mut places: Vec<(Place, &Span)> = spans
        .iter()
        .filter_map(|span| Some((span.query.bytes?, span)))
        .collect();
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.end.saturating_sub(place.start)));
    let shown: Vec<_> = places
        .iter()
        .map_while(|(place, span)| {
            let whole = text.at(*place);
            let shown = up_to(whole, room.for_one()?);
            room.take(shown.len());
            Some((span, shown, whole.len() - shown.len()))
        })
        .collect();
    html! {
        @for (i, (span, shown, rest)) in shown.iter().enumerate() {
            (excerpt(language, i, span, head, &html! { td lang=(text.tag()) dir="auto" { (visible(shown)) } }, *rest))
        }
        (more(language, places.len() - shown.len()))
    }
}

/// Room for the excerpts of a text that is elsewhere, most gems first. Each says which gems of the text it has.
pub(super) fn blanks(language: Language, room: &PassageRoom, head: &str, spans: &[Span]) -> Markup {
    let mut sorted: Vec<&Span> = spans.iter().collect();
    sorted.sort_by_key(|span| std::cmp::Reverse(span.query.gems.end - span.query.gems.start));
    let shown = sorted
        .iter()
        .take_while(|_| room.for_one().inspect(|_| room.take(LEAST)).is_some())
        .count();
    html! {
        @for (i, span) in sorted[..shown].iter().enumerate() {
            @let gems = span.query.gems;
            (excerpt(language, i, span, head, &html! { td dir="auto" data-gems={(gems.start) "-" (gems.end)} {} }, 0))
        }
        (more(language, spans.len() - shown))
    }
}

/// A passage of one text, of which so many bytes are not shown.
fn excerpt(
    language: Language,
    at: usize,
    span: &Span,
    head: &str,
    cell: &Markup,
    rest: usize,
) -> Markup {
    html! {
        details open {
            summary {
                (language.passage(at as u64 + 1))
                @if let Some(at) = &span.query_position { ": " (located(language, at)) }
            }
            table class="sides" {
                caption { (language.passage(at as u64 + 1)) }
                thead { tr { th scope="col" { (head) } } }
                tbody { tr { (cell) } }
            }
            @if rest > 0 { p class="quiet" { (language.passage_goes_on(rest as u64)) } }
        }
    }
}

fn more(language: Language, rest: usize) -> Markup {
    html! { @if rest > 0 { p class="quiet" { (language.more_passages(rest as u64)) } } }
}

/// What the marks mean.
pub(super) fn legend(language: Language) -> Markup {
    html! {
        p class="quiet" {
            (language.legend()) " " ins { (language.legend_added()) } ", " del { (language.legend_missing()) } ", "
            mark { (language.legend_respelled()) } "; · " (language.legend_invisible())
        }
    }
}

/// How the marks are read aloud.
pub(super) fn read_aloud(language: Language) -> String {
    let mut style = String::new();
    for (element, start) in [
        ("ins", language.aloud_added()),
        ("del", language.aloud_missing()),
        ("mark", language.aloud_respelled()),
    ] {
        let _ = writeln!(
            style,
            "td {element}::before {{ content: '[{start} ' }} td {element}::after {{ content: '] ' }}"
        );
    }
    style
}

/// The pieces of a passage in rows, up to this many bytes of the query or of the book.
fn rows(passage: &Passage, most: u64) -> Vec<Range<usize>> {
    let (mut rows, mut start) = (Vec::new(), 0);
    for (i, piece) in passage.pieces.iter().enumerate() {
        if bytes_to(piece, passage.query.start, passage.book.start) > most {
            break;
        }
        let first = &passage.pieces[start];
        if bytes_to(piece, first.query.start, first.book.start) > ROW
            || i + 1 == passage.pieces.len()
        {
            rows.push(start..i + 1);
            start = i + 1;
        }
    }
    rows
}

/// The bytes from these places of the query and the book to the end of a piece, of whichever are more.
fn bytes_to(piece: &Piece, query: u64, book: u64) -> u64 {
    let in_query = piece.query.end.saturating_sub(query);
    in_query.max(piece.book.end.saturating_sub(book))
}

/// One side of a row, with what stands between its words and before the next row.
fn words(
    side: &Side<'_>,
    passage: &Passage,
    row: &Range<usize>,
    of: fn(&Piece) -> Place,
    different: &str,
) -> Markup {
    let mut written = String::new();
    let mut end = None;
    for piece in &passage.pieces[row.clone()] {
        let place = of(piece);
        written.push_str(&side.between(end.unwrap_or(place.start), place.start));
        end = end.max(Some(place.end));
        let text = visible(side.at(place)).into_string();
        let element = match piece.likeness {
            Likeness::Identical => None,
            Likeness::Respelled => Some("mark"),
            Likeness::Different => Some(different),
        };
        match element.filter(|_| !text.is_empty()) {
            Some(element) => _ = write!(written, "<{element}>{text}</{element}>"),
            None => written.push_str(&text),
        }
    }
    if let Some((end, next)) = end.zip(passage.pieces.get(row.end)) {
        written.push_str(&side.between(end, of(next).start));
    }
    PreEscaped(written)
}

/// A text as it can be shown: escaped, on one line, and with a dot in place of what is invisible.
fn visible(text: &str) -> Markup {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_hidden =
            !c.is_ascii() && (clean(c.encode_utf8(&mut [0; 4])).is_empty() || is_blank(c));
        shown.push(if is_hidden && c != '\u{ad}' { '·' } else { c });
    }
    let shown = clean(&shown);
    let mut words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.starts_with(char::is_whitespace) {
        words.insert(0, ' ');
    }
    if shown.ends_with(char::is_whitespace) && !words.ends_with(' ') {
        words.push(' ');
    }
    html! { (words) }
}

/// Characters without width that are harmless elsewhere.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'
            ..='\u{180f}' | '\u{3164}'
    ) || matches!(
        c,
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
    )
}

/// The start of a text, up to a whole character.
fn up_to(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
