//! Reports as self-contained HTML pages, without scripts or external resources, so that they can be archived.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::disguise::{disguise, examples, hidden};
use super::outcome::Outcome;
use super::page::clean;
use super::passages::{PassageRoom, Side, blanks, excerpts, legend, read_aloud, side_by_side};
use super::words::{
    certainty, counted, disabled, edition, figures, identity, informing, not_described, place,
    recipes, relation, reservation, rights, rule, shares, subject, verdict, whole,
};
use lapidary_catalogue::api::{Match, Report};
use lapidary_checking::Extent;
use lapidary_language::Language;

/// The maximum number of spans to list with their positions for each match. The map shows all.
const LISTED_SPANS: usize = 200;
/// The map's dimensions, in SVG user units.
const WIDTH: f64 = 1000.0;
const BAR: f64 = 18.0;
const GAP: f64 = 46.0;
const STYLE: &str = "
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 62rem; margin: 2rem auto; padding: 0 1.5rem; overflow-wrap: anywhere }
h1 { font-size: 1.35rem; border-left: .5rem solid; padding: .4rem 0 .4rem .8rem; margin: 0 0 1rem }
h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere } h3 { font-size: 1rem; margin: 1.2rem 0 .3rem }
section { border-top: 1px solid #d5dae0; padding: 1.2rem 0; break-inside: avoid }
p { margin: .15rem 0 } .quiet { color: #57606a }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; margin: 0 0 1.4rem }
dt { color: #57606a } dd { margin: 0; overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; margin-top: .6rem }
th, td { text-align: start; padding: .1rem 1.2rem .1rem 0; font-weight: normal; vertical-align: top } th { color: #57606a }
svg { display: block; width: 100%; height: auto; margin: .8rem 0 0 }
.forbidden, .protected { color: #b3261e } .free, .public_domain, .no_match { color: #1a6d37 } .unknown { color: #57606a } .not_checked { color: #8a5300 }
.bar { fill: #e6e9ed } .part { fill: currentColor } .ribbon { fill: currentColor; opacity: .22 }
text { font: 13px system-ui, sans-serif; fill: #57606a }
details { margin: .6rem 0; overflow-x: clip } summary { cursor: pointer; font-weight: 600; break-after: avoid }
.sides { width: 100%; table-layout: fixed; font-size: 1rem; line-height: 1.45 }
.sides th, .sides td { text-align: start; vertical-align: top; padding: .3rem 1rem .3rem 0; overflow-wrap: anywhere; hyphens: auto }
.sides tr { break-inside: avoid; border-top: 1px solid #e6e9ed } .sides .quiet { font-size: .85rem }
.sides caption, td ins::before, td ins::after, td del::before, td del::after, td mark::before, td mark::after {
position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
ins { background: #ffd8d3; text-decoration: underline; text-decoration-thickness: 2px } del { background: #e2e6ea }
mark { background: #fff0b3; color: inherit; text-decoration: underline dotted }
.index td, .index th { text-align: left; vertical-align: top }
.group { width: 15rem } .group line { stroke: currentColor; opacity: .45 } .group circle { fill: Canvas; stroke: currentColor }
.key { display: inline-block; width: .7em; margin: 0 .4em 0 0 }
.source-0 { fill: #4477aa } .source-1 { fill: #ee6677 } .source-2 { fill: #228833 } .source-3 { fill: #ccbb44 }
.source-4 { fill: #66ccee } .source-5 { fill: #aa3377 } .source-6 { fill: #ee8866 } .source-7 { fill: #8899aa }
.group .best { fill: GrayText } .group text { fill: currentColor; text-anchor: middle } a { color: inherit }
@media screen and (prefers-color-scheme: dark) {
body { color: #e6e9ed; background: #16191d } section { border-color: #3a4149 } .bar { fill: #333a42 }
.quiet, dt, th, .unknown { color: #9aa4ae } text { fill: #9aa4ae }
.forbidden, .protected { color: #ff8a80 } .free, .public_domain, .no_match { color: #6fcf8a } .not_checked { color: #e8b35a } .sides tr { border-color: #333a42 }
ins { background: #6d2620 } del { background: #3c444d } mark { background: #5a4a08 } .quiet :is(ins, del, mark) { color: #e6e9ed }
}
@media screen and (max-width: 40rem) {
body { padding: 0 1rem } td { padding-inline-end: .6rem; overflow-wrap: anywhere } .sides { font-size: .9rem } .sides th, .sides td { padding-inline-end: .5rem }
dl { grid-template-columns: 1fr } dd { margin-bottom: .4rem }
}
@media print {
body { margin: 0; max-width: none } details::details-content { content-visibility: visible; display: block }
section { break-inside: auto } ins, del, mark { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
";

/// The texts that a page may show passages of.
#[derive(Debug, Default)]
pub struct PageTexts<'a> {
    /// What was checked.
    pub text: Option<&'a str>,
    /// Whether the page has the text, and adds its passages: where they are, it finds the positions of their gems.
    pub adds_passages: bool,
    /// The books of the matches, as far as their texts are known.
    pub books: Vec<Option<String>>,
}

/// An HTML page of what [`report_part`] made; `name` is the name of what was checked.
#[must_use]
pub fn html_report(language: Language, name: &str, part: &Markup) -> String {
    whole_page(language, &language.check_of(&clean(name)), part)
}

/// Formats a check's report as a part of a page, which has the [stylesheet].
///
/// `name` is the name of what was checked. `bytes` is its length, or `None` if gems rather than a text were checked. `when` is
/// the time of the check.
#[must_use]
pub fn report_part(
    language: Language,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
    texts: &PageTexts<'_>,
    when: Timestamp,
) -> Markup {
    let (name, room) = (clean(name), PassageRoom::default());
    html! {
        h1 class=(Outcome::of(report).class()) { (verdict(language, report)) }
        (facts(language, &name, report, bytes, &date(when)))
        @for (at, found) in report.matches.iter().enumerate() {
            (one_match(language, at, found, report, bytes, (texts, &room)))
        }
        @let rest = not_described(report, report.matches.len());
        @if rest > 0 {
            section { p class="quiet" { (language.more_matches(rest as u64)) } }
        }
        (method(language, report))
    }
}

/// The stylesheet of all reports in a language.
#[must_use]
pub fn stylesheet(language: Language) -> String {
    STYLE.to_owned() + &read_aloud(language)
}

fn facts(
    language: Language,
    name: &str,
    report: &Report,
    bytes: Option<u64>,
    when: &str,
) -> Markup {
    html! {
        dl {
            dt { (language.head_checked()) } dd { (subject(language, name, report, bytes)) }
            dt { (language.head_when()) } dd { (language.rights_as_of(when, &report.day.to_string())) }
            @if let Some(certainty) = certainty(language, report) {
                dt { (language.head_certainty()) } dd { (certainty) }
            }
            dt { (language.head_matches()) } dd { (language.number(report.total as u64)) }
            @if let Some(disguise) = disguise(language, report) {
                dt { (language.head_disguise()) } dd { (disguise) }
            }
            @if let Some(hidden) = hidden(language, report) {
                dt { (language.head_hidden()) } dd { (hidden) }
            }
            @for aside in [disabled(language, report), informing(language, report)].into_iter().flatten() {
                dt { (language.head_not_counted()) } dd { (aside) }
            }
            @if let Some(note) = &report.note {
                dt { (language.head_note()) } dd { (clean(note)) }
            }
            @if report.text_kept == Some(false) {
                dt { (language.head_note()) } dd { (language.text_not_kept()) }
            }
        }
    }
}

/// How the verdict came about, for readers who check it.
fn method(language: Language, report: &Report) -> Markup {
    html! {
        section class="quiet" {
            h2 { (language.head_method()) }
            p { (recipes(language, &report.recipes)) "; " (rule(language, report)) }
            @if !report.matches.is_empty() {
                ol {
                    @for found in &report.matches {
                        li { (figures(language, found)) }
                    }
                }
            }
            @if disguise(language, report).is_some() {
                p { (language.head_disguised_words()) }
                ul {
                    @for example in examples(language, report) {
                        li { (example) }
                    }
                }
            }
        }
    }
}

fn one_match(
    language: Language,
    at: usize,
    found: &Match,
    report: &Report,
    bytes: Option<u64>,
    texts: (&PageTexts<'_>, &PassageRoom),
) -> Markup {
    html! {
        section {
            (book(language, at + 1, found))
            @if let Some(edition) = edition(language, report, at) { p { (edition) } }
            p { (relation(language, found.relation)) }
            p { (shares(language, found)) }
            @if !found.spans.is_empty() {
                @let has_places = found.spans.iter().all(|span| span.query.bytes.is_some());
                @let gems = if has_places { counted(report) } else { report.looked_up.max(counted(report)) };
                (map(language, found, bytes, gems))
                (places(language, found))
                (passages(language, at, found, texts))
            }
        }
    }
}

/// The title of a match, its authors and its rights.
fn book(language: Language, number: usize, found: &Match) -> Markup {
    let book = &found.book;
    html! {
        h2 { (number) ". " (book.title.as_deref().map_or_else(|| language.no_title(), clean)) }
        @if !book.authors.is_empty() { p { (clean(&book.authors.join(", "))) } }
        p class=(book.rights) {
            (clean(&book.library)) "/" (clean(&book.id)) ", " (rights(language, book.rights))
            @if let Some(validity) = &book.validity {
                @if let Some(from) = validity.from { "; " (language.valid_from(&from.to_string())) }
                @if let Some(until) = validity.until { "; " (language.valid_until(&until.to_string())) }
            }
            @if let Some(why) = reservation(language, found) { "; " (why) }
        }
    }
}

/// The matching passages: of both texts if the book's is known, otherwise of the text.
fn passages(
    language: Language,
    at: usize,
    found: &Match,
    (texts, room): (&PageTexts<'_>, &PassageRoom),
) -> Markup {
    let [in_text, in_book] = [language.head_in_text(), language.head_in_book()];
    let Some(text) = texts.text else {
        return html! {
            @if texts.adds_passages {
                h3 { (language.head_passages()) }
                (blanks(language, room, &in_text, &found.spans))
            }
        };
    };
    let text = Side {
        text,
        language: None,
    };
    html! {
        h3 { (language.head_passages()) }
        @match texts.books.get(at).and_then(Option::as_deref) {
            Some(book) => {
                @if let Some(exact) = &found.exact { p { (identity(language, exact)) } }
                (legend(language))
                @let book = Side { text: book, language: found.book.language.as_deref() };
                (side_by_side(language, room, [&in_text, &in_book], [text, book], &found.passages))
            }
            None => (excerpts(language, room, &in_text, text, &found.spans))
        }
    }
}

/// Draws the text above, the book below, and bands between the parts that match.
fn map(language: Language, found: &Match, bytes: Option<u64>, gems: u32) -> Markup {
    let Match { book, score, .. } = found;
    let text = Scale::of(found.spans.iter().map(|span| span.query), bytes, gems);
    let known = Some(book.bytes).filter(|bytes| *bytes > 0);
    let of_book = whole(score.common, score.share_of_book);
    let book = Scale::of(found.spans.iter().map(|span| span.book), known, of_book);
    let bottom = BAR + GAP;
    let colour = if found.book.rights.forbids() {
        "protected"
    } else {
        "free"
    };
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {}", 2.0 * (BAR + 18.0) + GAP)) class=(colour) role="img"
            aria-label=(language.map_shows()) {
            g transform="translate(0 18)" {
                text x="0" y="-5" { (language.text()) }
                rect class="bar" x="0" y="0" width=(WIDTH) height=(BAR) {}
                rect class="bar" x="0" y=(bottom) width=(WIDTH) height=(BAR) {}
                @for span in &found.spans { (ribbon(text.place(span.query), book.place(span.book))) }
                text x="0" y=(bottom + BAR + 14.0) { (language.book()) }
            }
        }
    }
}

/// Two parts that match, from left to right, and the band between them.
fn ribbon((a, b): (f64, f64), (c, d): (f64, f64)) -> Markup {
    let (top, bottom) = (BAR, BAR + GAP);
    html! {
        rect class="part" x=(figure(a)) y="0" width=(figure(b - a)) height=(BAR) {}
        rect class="part" x=(figure(c)) y=(bottom) width=(figure(d - c)) height=(BAR) {}
        polygon class="ribbon"
            points=(format!("{},{top} {},{top} {},{bottom} {},{bottom}", figure(a), figure(b), figure(d), figure(c))) {}
    }
}

fn places(language: Language, found: &Match) -> Markup {
    html! {
        table {
            tr { th { (language.head_gems()) } th { (language.head_in_text()) } th { (language.head_in_book()) } }
            @for span in found.spans.iter().take(LISTED_SPANS) {
                tr { td { (span.common) }
                    td { (place(language, &span.query, span.query_position.as_ref())) }
                    td { (place(language, &span.book, span.book_position.as_ref())) }
                }
            }
        }
        @let rest = found.spans.len().saturating_sub(LISTED_SPANS);
        @if rest > 0 { p class="quiet" { (language.more_in_map(rest as u64)) } }
    }
}

/// A coordinate, rounded to visible precision.
fn figure(number: f64) -> String {
    format!("{number:.1}")
}

/// The scale of one text on the map: by bytes if all are known, otherwise by gems.
struct Scale {
    by_bytes: bool,
    length: f64,
}

impl Scale {
    fn of(mut extents: impl Iterator<Item = Extent>, bytes: Option<u64>, gems: u32) -> Self {
        match bytes {
            Some(bytes) if extents.all(|extent| extent.bytes.is_some()) => Self {
                by_bytes: true,
                length: bytes.max(1) as f64,
            },
            _ => Self {
                by_bytes: false,
                length: f64::from(gems.max(1)),
            },
        }
    }

    /// The left and right ends, at least one unit apart so that the extent is visible.
    fn place(&self, extent: Extent) -> (f64, f64) {
        let (start, end) = match extent.bytes {
            Some(bytes) if self.by_bytes => (bytes.start as f64, bytes.end as f64),
            _ => (f64::from(extent.gems.start), f64::from(extent.gems.end)),
        };
        let left = (start / self.length * WIDTH).clamp(0.0, WIDTH - 1.0);
        (left, (end / self.length * WIDTH).clamp(left + 1.0, WIDTH))
    }
}

/// A time as shown on a page.
pub(super) fn date(when: Timestamp) -> String {
    when.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d %H:%M:%S UTC")
        .to_string()
}

/// A page with this body.
pub(super) fn whole_page(language: Language, title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang=(language) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(stylesheet(language))) }
            }
            body { (body) }
        }
    };
    page.into_string()
}
