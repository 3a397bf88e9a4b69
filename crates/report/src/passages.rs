//! Matching passages side by side, with their differences marked.

use std::fmt::Write as _;
use std::ops::Range;

use lapidary_gems::Place;
use maud::{Markup, PreEscaped, html};

use super::html::PageTexts;
use super::map::chip;
use super::page::clean;
use super::words::{identity, likeness, located, position};
use super::works::{Part, PartLikeness, TextLength, Work};
use lapidary_checking::{Identity, Likeness, Passage, Piece};
use lapidary_extract::position::PositionRange;
use lapidary_language::Language;

/// The most bytes of a text that the passages of a page show together.
const SHOWN: u64 = 1_000_000;
/// A row of a passage ends after this many bytes.
const ROW: u64 = 400;
/// The most bytes in a cell of a spreadsheet, some of which take 32,767 characters.
pub(super) const CELL: usize = 32_000;
/// How many bytes of a passage its summary shows.
const FIRST: usize = 300;

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

/// The passages of two texts next to each other, in the order of the first.
pub(super) fn side_by_side(
    language: Language,
    heads: [&str; 2],
    texts: [Side<'_>; 2],
    passages: &[Passage],
) -> Markup {
    let lengths: Vec<u64> = passages.iter().map(bytes_of).collect();
    html! {
        @for (at, (passage, room)) in passages.iter().zip(rooms(&lengths)).enumerate() {
            (ListedPassage {
                number: at + 1,
                of: passages.len(),
                hue: "hue-0".to_owned(),
                places: [passage.query_position.clone(), passage.book_position.clone()],
                start: Some(first_words(&texts[0], passage.query)),
                body: Some(words_of_both(language, heads, texts, passage, room)),
                identity: Some(passage.identity),
            }.show(language))
        }
    }
}

/// The passages of each work.
pub(super) fn of_works(
    language: Language,
    works: &[Work<'_>],
    texts: &PageTexts<'_>,
    length: &TextLength,
) -> Markup {
    let parts = works.iter().flat_map(|work| &work.parts);
    let lengths: Vec<u64> = parts
        .clone()
        .filter(|part| part.number.is_some())
        .map(bytes_of_part)
        .collect();
    let (listed, rooms) = (lengths.len(), rooms(&lengths));
    html! {
        @for work in works.iter().filter(|work| !work.parts.is_empty()) {
            @if works.len() > 1 { h3 { (chip(work)) " " (work.title()) } }
            @for part in &work.parts {
                @if let Some((number, room)) = part.number.and_then(|at| Some((at, *rooms.get(at - 1)?))) {
                    (ListedPassage {
                        number,
                        of: listed,
                        hue: work.hue(),
                        places: [part.located(length), part.located_in_book()],
                        start: start_of(part, texts),
                        body: body_of(language, part, texts, room),
                        identity: identity_of(part),
                    }.show(language))
                }
            }
        }
        @let rest = parts.count() - listed;
        @if rest > 0 { p class="quiet" { (language.more_passages(rest as u64)) } }
    }
}

/// A passage in the list: its first words, and behind them all of it.
struct ListedPassage {
    number: usize,
    /// How many are listed.
    of: usize,
    hue: String,
    /// Where readers find it in the text and in the book.
    places: [Option<PositionRange>; 2],
    identity: Option<Identity>,
    start: Option<Markup>,
    /// `None` if the text is not known.
    body: Option<Markup>,
}

impl ListedPassage {
    fn show(&self, language: Language) -> Markup {
        let id = format!("passage-{}", self.number);
        let Some(body) = &self.body else {
            return html! {
                div class={"passage " (self.hue)} id=(id) { (self.head(language)) (self.places(language)) }
            };
        };
        html! {
            details class={"passage " (self.hue)} {
                summary { (self.head(language)) }
                // A link to what is inside opens it.
                div id=(id) { (self.steps(language)) (self.places(language)) (body) }
            }
        }
    }

    fn head(&self, language: Language) -> Markup {
        html! {
            span class="number" { span class="unseen" { (language.passage(self.number as u64)) } span aria-hidden="true" { (self.number) } }
            @let [here, there] = self.places.each_ref().map(|at| at.as_ref().map(|at| position(language, &at.start)));
            span class="where" { (here.unwrap_or_default()) }
            span class="there" { @if let Some(there) = there { (language.in_book_at(&there)) } }
            span class="alike" { @if let Some(identity) = &self.identity { (likeness(language, identity)) } }
            @if let Some(start) = &self.start { (start) }
        }
    }

    /// From where to where it goes, and how much of it is identical.
    fn places(&self, language: Language) -> Markup {
        let [here, there] = self
            .places
            .each_ref()
            .map(|at| at.as_ref().map(|at| located(language, at)));
        html! {
            p class="places quiet" {
                @if let Some(here) = here { (language.in_text_at(&here)) }
                @if let Some(there) = there { "; " (language.in_book_at(&there)) }
                @if let Some(same) = &self.identity { "; " (identity(language, same)) }
            }
        }
    }

    /// Links to the passages before and after it.
    fn steps(&self, language: Language) -> Markup {
        html! {
            p class="steps" {
                @if self.number > 1 {
                    a rel="prev" href={"#passage-" (self.number - 1)} { "← " (language.previous_passage()) }
                }
                @if self.number < self.of {
                    a rel="next" href={"#passage-" (self.number + 1)} { (language.next_passage()) " →" }
                }
            }
        }
    }
}

fn identity_of(part: &Part<'_>) -> Option<Identity> {
    match part.likeness {
        PartLikeness::Words(passage) => Some(passage.identity),
        PartLikeness::Gems(_) => None,
    }
}

/// The length of a passage in the text or in the book, whichever is more.
fn bytes_of(passage: &Passage) -> u64 {
    let in_query = passage.query.end.saturating_sub(passage.query.start);
    in_query.max(passage.book.end.saturating_sub(passage.book.start))
}

fn bytes_of_part(part: &Part<'_>) -> u64 {
    match part.likeness {
        PartLikeness::Words(passage) => bytes_of(passage),
        PartLikeness::Gems(span) => {
            let place = span.query.bytes;
            place.map_or(0, |place| place.end.saturating_sub(place.start))
        }
    }
}

/// How many bytes of each passage are shown. If there is no room for all, only the longest are cut.
fn rooms(lengths: &[u64]) -> Vec<u64> {
    let mut shortest: Vec<usize> = (0..lengths.len()).collect();
    shortest.sort_by_key(|at| lengths[*at]);
    let (mut rooms, mut room) = (vec![0; lengths.len()], SHOWN);
    for (done, at) in shortest.into_iter().enumerate() {
        rooms[at] = lengths[at].min(room / (lengths.len() - done) as u64);
        room -= rooms[at];
    }
    rooms
}

/// The first words of a passage, for its summary.
fn first_words(side: &Side<'_>, place: Place) -> Markup {
    let whole = side.at(place);
    let start = up_to(whole, FIRST);
    html! {
        span class="start" lang=(side.tag()) dir="auto" {
            (visible(start)) @if start.len() < whole.len() { "…" }
        }
    }
}

fn start_of(part: &Part<'_>, texts: &PageTexts<'_>) -> Option<Markup> {
    match texts.side() {
        Some(side) => Some(first_words(&side, part.bytes()?)),
        // The page of the console fills it.
        None => texts
            .adds_passages
            .then(|| html! { span class="start" dir="auto" {} }),
    }
}

/// All of a passage: of both texts if the book's is known, otherwise of the text.
fn body_of(
    language: Language,
    part: &Part<'_>,
    texts: &PageTexts<'_>,
    room: u64,
) -> Option<Markup> {
    let heads = [language.head_in_text(), language.head_in_book()];
    let heads = heads.each_ref().map(String::as_str);
    match (texts.side(), part.likeness) {
        (Some(text), PartLikeness::Words(passage)) => {
            let book = texts.books.get(part.at).and_then(Option::as_deref)?;
            let tag = part.edition.book.language.as_deref();
            let sides = [
                text,
                Side {
                    text: book,
                    language: tag,
                },
            ];
            Some(words_of_both(language, heads, sides, passage, room))
        }
        (Some(text), PartLikeness::Gems(_)) => {
            let whole = text.at(part.bytes()?);
            let shown = up_to(whole, room as usize);
            let cell = html! { td lang=(text.tag()) dir="auto" { (visible(shown)) } };
            Some(excerpt(language, heads[0], &cell, &whole[shown.len()..]))
        }
        (None, PartLikeness::Gems(span)) if texts.adds_passages => {
            let gems = span.query.gems;
            let cell = html! { td dir="auto" data-gems={(gems.start) "-" (gems.end)} {} };
            Some(excerpt(language, heads[0], &cell, ""))
        }
        (None, _) => None,
    }
}

/// The words of a passage in the text and in the book, as far as these are known.
pub(super) fn words_of(part: &Part<'_>, texts: &PageTexts<'_>) -> [String; 2] {
    let text = texts.side().zip(part.bytes());
    let book = match part.likeness {
        PartLikeness::Words(passage) => Some(passage.book),
        PartLikeness::Gems(_) => None,
    };
    let book = texts
        .books
        .get(part.at)
        .and_then(Option::as_deref)
        .zip(book);
    let book = book.map(|(text, place)| {
        (
            Side {
                text,
                language: None,
            },
            place,
        )
    });
    [text, book].map(|known| {
        known.map_or_else(String::new, |(side, place)| {
            clean(up_to(side.at(place), CELL))
        })
    })
}

/// A passage of both texts in rows, as far as there is room.
fn words_of_both(
    language: Language,
    heads: [&str; 2],
    [query, book]: [Side<'_>; 2],
    passage: &Passage,
    room: u64,
) -> Markup {
    let rows = rows(passage, room);
    let last = rows
        .last()
        .and_then(|row| passage.pieces[row.clone()].last());
    let start = last.map_or(passage.query.start, |piece| piece.query.end);
    let rest = query.at(Place {
        start,
        end: passage.query.end.max(start),
    });
    html! {
        table class="sides" {
            thead { tr { @for head in heads { th scope="col" { (head) } } } }
            tbody { (rows_of_passage(passage, &rows, &query, &book)) }
        }
        (goes_on(language, rest))
    }
}

/// A passage of one text, of which the rest is not shown.
fn excerpt(language: Language, head: &str, cell: &Markup, rest: &str) -> Markup {
    html! {
        table class="sides" {
            thead { tr { th scope="col" { (head) } } }
            tbody { tr { (cell) } }
        }
        (goes_on(language, rest))
    }
}

/// How much of a passage there was no room for.
fn goes_on(language: Language, rest: &str) -> Markup {
    let characters = rest.trim().chars().count();
    html! { @if characters > 0 { p class="quiet" { (language.passage_goes_on(characters as u64)) } } }
}

fn rows_of_passage(
    passage: &Passage,
    rows: &[Range<usize>],
    query: &Side<'_>,
    book: &Side<'_>,
) -> Markup {
    html! {
        @for row in rows {
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

/// What the marks mean.
pub(super) fn legend(language: Language) -> Markup {
    html! {
        p class="quiet legend" {
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
pub(super) fn up_to(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
