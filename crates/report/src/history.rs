//! Where the passages of texts came from: an HTML page.

use jiff::Timestamp;
use maud::{Markup, html};

use super::html::{date, whole_page};
use super::page::clean;
use lapidary_catalogue::duplicate_groups::Segment;
use lapidary_checking::Covered;
use lapidary_language::Language;

/// The size of a bar, in SVG user units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 18.0;
/// How many colours sources have before they repeat.
const COLOURS: u32 = 8;
/// The most passages of a text that the table lists, the longest first. The bar shows all.
const LISTED: usize = 100;
/// How many characters of a passage are shown.
const SHOWN: usize = 120;

/// A group of texts in the order of their dates.
#[derive(Debug, Clone, PartialEq)]
pub struct Lineage {
    /// The texts, the earliest first.
    pub texts: Vec<Descendant>,
    /// How many later texts of the group were left out.
    pub left_out: u64,
}

/// A text, and what it has of earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Descendant {
    /// Its name.
    pub name: String,
    /// Its date, as it is shown.
    pub date: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its passages; `from` is a place in the list of texts.
    pub segments: Vec<Segment>,
    /// The text, if it is at hand.
    pub text: Option<String>,
}

/// Formats groups as an HTML page.
#[must_use]
pub fn html_history(language: Language, groups: &[Lineage], when: Timestamp) -> String {
    let title = language.head_history();
    let body = html! {
        h1 { (title) }
        p class="quiet" { (language.checked_on(&date(when))) }
        p class="quiet" { (language.history_note()) }
        @for group in groups { section {
            @for (number, text) in group.texts.iter().enumerate() { (one(language, group, number, text)) }
            @if group.left_out > 0 { p class="quiet" { (language.more(group.left_out)) } }
        } }
    };
    whole_page(language, &title, &body)
}

fn one(language: Language, group: &Lineage, number: usize, text: &Descendant) -> Markup {
    let mut covered = Covered::default();
    text.segments
        .iter()
        .for_each(|of| covered.add((of.place.start, of.place.end)));
    let share = covered.share(text.bytes);
    html! {
        h3 { (number + 1) ". " (clean(&text.name)) " " span class="quiet" { (clean(&text.date)) } }
        @if text.segments.is_empty() {
            p class="quiet" { @if number == 0 { (language.history_first()) } @else { (language.history_none()) } }
        } @else {
            p { (language.history_share(&language.percent(share))) }
            (bar(language, text))
            (table(language, group, text))
        }
    }
}

/// The text as a bar, with each passage in the colour of its source.
fn bar(language: Language, text: &Descendant) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(language.head_history()) {
            rect class="bar" x="0" y="0" width=(WIDTH) height=(HEIGHT) {}
            @for segment in &text.segments {
                @let (start, end) = (at(text, segment.place.start), at(text, segment.place.end));
                rect class=(colour(segment.from)) x=(format!("{start:.1}")) y="0"
                    width=(format!("{:.1}", (end - start).max(1.0))) height=(HEIGHT) {
                    title { (segment.from + 1) }
                }
            }
        }
    }
}

/// Where a byte of a text is on its bar.
fn at(text: &Descendant, byte: u64) -> f64 {
    WIDTH * byte as f64 / text.bytes.max(1) as f64
}

fn colour(from: u32) -> String {
    format!("source-{}", from % COLOURS)
}

fn table(language: Language, group: &Lineage, text: &Descendant) -> Markup {
    let mut longest: Vec<&Segment> = text.segments.iter().collect();
    longest.sort_by_key(|segment| {
        std::cmp::Reverse(segment.place.end.saturating_sub(segment.place.start))
    });
    longest.truncate(LISTED);
    longest.sort_by_key(|segment| segment.place.start);
    let rest = text.segments.len() - longest.len();
    html! {
        table class="index" {
            tr {
                th { (language.head_here()) } th { (language.head_from()) } th { (language.head_there()) }
                @if text.text.is_some() { th { (language.head_begins()) } }
            }
            @for segment in longest { (row(language, group, text, segment)) }
        }
        @if rest > 0 { p class="quiet" { (language.more_passages(rest as u64)) } }
    }
}

fn row(language: Language, group: &Lineage, text: &Descendant, segment: &Segment) -> Markup {
    let (here, there) = (segment.place, segment.there);
    let source = &group.texts[segment.from as usize];
    html! {
        tr {
            td { (position(language, here.start, here.end, text.bytes)) }
            td {
                svg class="key" viewBox="0 0 10 10" aria-hidden="true" { rect class=(colour(segment.from)) width="10" height="10" {} }
                (segment.from + 1) ". " (clean(&source.name))
            }
            td { (position(language, there.start, there.end, source.bytes)) }
            @if text.text.is_some() { td dir="auto" { (beginning(text.text.as_deref(), segment)) } }
        }
    }
}

/// Where a passage is, in percent of its text, and how long.
fn position(language: Language, start: u64, end: u64, bytes: u64) -> String {
    let [from, to] =
        [start, end].map(|byte| language.decimal(100.0 * byte as f64 / bytes.max(1) as f64, 1));
    language.history_place(&from, &to, end.saturating_sub(start))
}

/// The first words of a passage.
fn beginning(text: Option<&str>, segment: &Segment) -> String {
    let passage =
        text.and_then(|text| text.get(segment.place.start as usize..segment.place.end as usize));
    let passage = passage.unwrap_or_default();
    let end = passage
        .char_indices()
        .nth(SHOWN)
        .map_or(passage.len(), |(end, _)| end);
    let words = clean(&passage[..end])
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if end < passage.len() {
        words + " …"
    } else {
        words
    }
}
