//! Groups of duplicates: on a terminal, or as an HTML page with a picture of each group.

use std::f64::consts::TAU;
use std::io::{self, Write};

use jiff::Timestamp;
use maud::{Markup, html};

use super::html::{date, whole_page};
use super::page::clean;
use lapidary_catalogue::duplicate_groups::{LeftOut, Merit, Pair};
use lapidary_checking::Relation;
use lapidary_language::Language;

/// The maximum number of texts in a picture. More would be a tangle.
const MOST_DRAWN: usize = 24;
/// The size of a picture, the radius of its circle of texts, and that of the largest text.
const SIZE: f64 = 240.0;
const RADIUS: f64 = 95.0;
const DOT: f64 = 14.0;

/// What a search for duplicates found.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicatesReport {
    /// The groups of texts that are the same.
    pub groups: Vec<Copies>,
    /// The other texts with text in common.
    pub overlaps: Overlaps,
    /// What was left out.
    pub left_out: LeftOut,
}

/// Texts of different groups, or of none, that have text in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlaps {
    /// The names of the texts.
    pub names: Vec<String>,
    /// What connects them, by their places, those with most in common first.
    pub pairs: Vec<Pair<u32>>,
}

impl Overlaps {
    /// The pairs with the names of their texts.
    pub fn named(&self) -> impl Iterator<Item = ([&str; 2], &Pair<u32>)> {
        self.pairs.iter().map(|pair| {
            (
                [pair.a, pair.b].map(|text| self.names[text as usize].as_str()),
                pair,
            )
        })
    }
}

/// A group of texts that are the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Copies {
    /// The names of the texts.
    pub names: Vec<String>,
    /// Their lengths in bytes.
    pub bytes: Vec<u64>,
    /// The best of them.
    pub best: usize,
    /// Why it is the best.
    pub merit: Merit,
    /// What connects them, by their places, in order.
    pub pairs: Vec<Pair<u32>>,
}

impl Copies {
    /// How a text relates to the best one, if the two have text in common. The text is `a`, the best one `b`.
    #[must_use]
    pub fn to_best(&self, text: usize) -> Option<Pair<u32>> {
        let (text, best) = (text as u32, self.best as u32);
        let place = self
            .pairs
            .binary_search_by_key(&(text.min(best), text.max(best)), |pair| (pair.a, pair.b));
        let pair = self.pairs.get(place.ok()?)?;
        Some(pair.renumbered(|number| u32::from(number == best)))
    }

    /// The texts other than the best.
    fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|text| *text != self.best)
    }
}

/// Prints groups, overlaps, and a summary.
pub fn print_duplicates(
    out: &mut impl Write,
    language: Language,
    found: &DuplicatesReport,
) -> io::Result<()> {
    let DuplicatesReport {
        groups,
        overlaps,
        left_out,
    } = found;
    for (group, number) in groups.iter().zip(1..) {
        writeln!(out, "{number}. {}", group.names[group.best])?;
        writeln!(out, "   {}", merit(language, group.merit))?;
        for text in group.others() {
            writeln!(
                out,
                "   {}\n      {}",
                group.names[text],
                relation(language, group, text)
            )?;
        }
    }
    if !overlaps.pairs.is_empty() {
        writeln!(out, "{}", language.head_overlaps())?;
    }
    for ([a, b], pair) in overlaps.named() {
        writeln!(
            out,
            "   A: {a}\n   B: {b}\n      {}",
            overlap(
                language,
                pair.relation_name(),
                pair.share_of_a,
                pair.share_of_b
            )
        )?;
    }
    for sentence in duplicates_left_out(language, *left_out) {
        writeln!(out, "{sentence}")?;
    }
    writeln!(out, "{}", summary(language, found))
}

/// What was left out, in sentences.
#[must_use]
pub fn duplicates_left_out(language: Language, left_out: LeftOut) -> Vec<String> {
    let LeftOut {
        texts_with_many,
        texts_with_common_gems,
        pairs,
    } = left_out;
    let told = [
        (texts_with_many, language.left_out_many(texts_with_many)),
        (
            texts_with_common_gems,
            language.left_out_common(texts_with_common_gems),
        ),
        (pairs, language.left_out_pairs(pairs)),
    ];
    told.into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(_, sentence)| sentence)
        .collect()
}

/// How two texts overlap, by the name of their relation.
#[must_use]
pub fn overlap(language: Language, relation: &str, share_of_a: f64, share_of_b: f64) -> String {
    let [of_a, of_b] = [share_of_a, share_of_b].map(|share| language.percent(share));
    match relation {
        "part_of_book" => language.overlap_part(&of_a, &of_b),
        "contains_book" => language.overlap_whole(&of_a, &of_b),
        _ => language.overlap_passages(&of_a, &of_b),
    }
}

/// Formats groups as an HTML page.
#[must_use]
pub fn html_duplicates(language: Language, found: &DuplicatesReport, when: Timestamp) -> String {
    let DuplicatesReport {
        groups,
        overlaps,
        left_out,
    } = found;
    let body = html! {
        h1 { (summary(language, found)) }
        p class="quiet" { (language.checked_on(&date(when))) }
        @for sentence in duplicates_left_out(language, *left_out) { p { (sentence) } }
        @if !groups.is_empty() { p class="quiet" { (language.duplicates_picture()) } }
        @for (group, number) in groups.iter().zip(1..) { (html_group(language, group, number)) }
        @if !overlaps.pairs.is_empty() { (html_overlaps(language, overlaps)) }
    };
    whole_page(language, &language.head_duplicates(), &body)
}

fn html_group(language: Language, group: &Copies, number: usize) -> Markup {
    html! {
        section {
            h2 { (number) ". " (clean(&group.names[group.best])) }
            p { (merit(language, group.merit)) }
            (picture_of(language, group, number))
            table class="index" {
                tr { th { (language.head_number()) } th { (language.head_file()) } th { (language.head_to_best()) } }
                @for (text, name) in group.names.iter().enumerate() {
                    tr {
                        td { (text + 1) }
                        td { (clean(name)) }
                        td { @if text == group.best { (language.is_best()) } @else { (relation(language, group, text)) } }
                    }
                }
            }
        }
    }
}

fn html_overlaps(language: Language, overlaps: &Overlaps) -> Markup {
    html! {
        section {
            h2 { (language.head_overlaps()) }
            table class="index" {
                tr { th { "A" } th { "B" } th { } }
                @for ([a, b], pair) in overlaps.named() {
                    tr {
                        td { (clean(a)) }
                        td { (clean(b)) }
                        td { (overlap(language, pair.relation_name(), pair.share_of_a, pair.share_of_b)) }
                    }
                }
            }
        }
    }
}

fn summary(
    language: Language,
    DuplicatesReport {
        groups, overlaps, ..
    }: &DuplicatesReport,
) -> String {
    let texts = groups.iter().map(|group| group.names.len() as u64).sum();
    let groups = language.duplicates(groups.len() as u64, texts);
    if overlaps.pairs.is_empty() {
        groups
    } else {
        language.and_overlaps(&groups, overlaps.pairs.len() as u64)
    }
}

fn merit(language: Language, merit: Merit) -> String {
    match merit {
        Merit::Complete => language.best_complete(),
        Merit::Format => language.best_format(),
        Merit::Metadata => language.best_metadata(),
        Merit::First => language.best_first(),
    }
}

/// How a text relates to the best of its group.
fn relation(language: Language, group: &Copies, text: usize) -> String {
    let Some(pair) = group.to_best(text) else {
        return language.to_best_indirect();
    };
    let shares = [pair.share_of_a, pair.share_of_b].map(|share| language.percent(share));
    let [of_text, of_best] = shares.each_ref().map(String::as_str);
    match pair.relation {
        _ if pair.identical => language.to_best_identical(),
        Relation::SameText => language.to_best_same(of_text, of_best),
        Relation::PartOfBook => language.to_best_part(of_text, of_best),
        Relation::ContainsBook => language.to_best_whole(of_text, of_best),
        Relation::Overlap | Relation::Quotations | Relation::SameWork => {
            language.to_best_overlap(of_text, of_best)
        }
    }
}

fn picture_of(language: Language, group: &Copies, number: usize) -> Markup {
    let pairs: Vec<(u32, u32, f64)> = group
        .pairs
        .iter()
        .map(|pair| (pair.a, pair.b, pair.share_of_a.max(pair.share_of_b)))
        .collect();
    group_picture(language, &group.bytes, group.best, &pairs, number)
}

/// The texts of a group on a circle, the longer the larger, connected if they have text in common, the more the thicker.
/// `bytes` are their lengths, and `pairs` what connects them, with the share that they have in common.
#[must_use]
pub fn group_picture(
    language: Language,
    bytes: &[u64],
    best: usize,
    pairs: &[(u32, u32, f64)],
    number: usize,
) -> Markup {
    let drawn = bytes.len().min(MOST_DRAWN);
    if drawn < 3 {
        return html! {};
    }
    let pairs = pairs.iter().filter(|(_, b, _)| (*b as usize) < drawn);
    html! {
        svg class="group" width=(SIZE) height=(SIZE) viewBox=(format!("0 0 {SIZE} {SIZE}")) role="img"
            aria-labelledby=(format!("group-{number}")) {
            title id=(format!("group-{number}")) { (language.duplicates_picture()) }
            @for (a, b, share) in pairs { (line(*a as usize, *b as usize, *share, drawn)) }
            (circles(bytes, best, drawn))
        }
        @if drawn < bytes.len() { p class="quiet" { (language.more((bytes.len() - drawn) as u64)) } }
    }
}

/// Where a text of so many is on the circle.
fn on_circle(text: usize, of: usize) -> (f64, f64) {
    let angle = TAU * text as f64 / of as f64 - TAU / 4.0;
    (
        SIZE / 2.0 + RADIUS * angle.cos(),
        SIZE / 2.0 + RADIUS * angle.sin(),
    )
}

fn line(a: usize, b: usize, share: f64, drawn: usize) -> Markup {
    let ((x1, y1), (x2, y2)) = (on_circle(a, drawn), on_circle(b, drawn));
    html! {
        line x1=(rounded(x1)) y1=(rounded(y1)) x2=(rounded(x2)) y2=(rounded(y2))
            stroke-width=(rounded(1.0 + 4.0 * share)) {}
    }
}

fn circles(bytes: &[u64], best: usize, drawn: usize) -> Markup {
    let longest = bytes.iter().copied().max().unwrap_or_default().max(1) as f64;
    html! {
        @for text in 0..drawn {
            @let (x, y) = on_circle(text, drawn);
            circle class=(if text == best { "best" } else { "copy" }) cx=(rounded(x)) cy=(rounded(y))
                r=(rounded(DOT * (0.6 + 0.4 * (bytes[text] as f64 / longest).sqrt()))) {}
            text x=(rounded(x)) y=(rounded(y + 4.0)) { (text + 1) }
        }
    }
}

fn rounded(number: f64) -> String {
    format!("{number:.1}")
}
