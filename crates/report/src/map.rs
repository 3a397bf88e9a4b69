//! The map of a report: the whole text from left to right, with a lane for each work.

use maud::{Markup, html};

use super::words::located;
use super::works::{Part, TextLength, Work};
use lapidary_language::Language;

/// How many works have a lane of their own. The others share one.
const LANES: usize = 12;
/// The width of a lane in its own units, its height, and the least width of a part.
const WIDTH: f64 = 1000.0;
const HEIGHT: u32 = 16;
const LEAST: f64 = 2.0;
/// How many times the map can be magnified.
const ZOOMS: [u32; 3] = [1, 4, 16];
/// The marks of its axis, in percent.
const AXIS: [u64; 5] = [0, 25, 50, 75, 100];

/// The map of these works.
pub(super) fn map(language: Language, works: &[Work<'_>], text: &TextLength) -> Markup {
    let (own, rest) = works.split_at(works.len().min(LANES));
    html! {
        section id="map" class="map" {
            h2 { (language.head_map()) }
            (zoom(language))
            div class="lanes" {
                ol {
                    @for work in own { li { a href={"#work-" (work.number)} { (label(work)) } } }
                    @if !rest.is_empty() { li { a href="#works" { (language.more_works(rest.len() as u64)) } } }
                }
                div class="scroller" tabindex="0" role="region" aria-label=(language.map_shows()) {
                    div class="scale" {
                        div class="axis" aria-hidden="true" {
                            @for mark in AXIS { span { (language.percent_of(&mark.to_string())) } }
                        }
                        @for work in own { (lane(language, std::slice::from_ref(work), text)) }
                        @if !rest.is_empty() { (lane(language, rest, text)) }
                    }
                }
            }
        }
    }
}

/// The letter and the title of a work.
fn label(work: &Work<'_>) -> Markup {
    html! { (chip(work)) span { (work.title()) } }
}

/// The letter of a work, in its colour.
pub(super) fn chip(work: &Work<'_>) -> Markup {
    html! { span class={"chip " (work.hue())} { (work.label()) } }
}

/// The choice of how much the map is magnified, which needs no script.
fn zoom(language: Language) -> Markup {
    html! {
        fieldset class="zoom" {
            legend class="unseen" { (language.zoom()) }
            @for times in ZOOMS {
                label {
                    input type="radio" name="zoom" value=(times) id={"zoom-" (times)} checked[times == 1] autocomplete="off";
                    span { @if times == 1 { (language.zoom_whole()) } @else { "×" (times) } }
                }
            }
        }
    }
}

fn lane(language: Language, works: &[Work<'_>], text: &TextLength) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" {
            rect class="bar" width=(WIDTH) height=(HEIGHT) {}
            @for work in works {
                g class=(work.hue()) { @for part in &work.parts { (part_of(language, work, part, text)) } }
            }
        }
    }
}

/// A part, which leads to its passage.
fn part_of(language: Language, work: &Work<'_>, part: &Part<'_>, text: &TextLength) -> Markup {
    let (start, end) = part.stretch(text);
    let left = (start * WIDTH).min(WIDTH - LEAST);
    let width = (end * WIDTH - left).max(LEAST);
    let drawn = html! {
        rect class="part" x=(format!("{left:.1}")) width=(format!("{width:.1}")) height=(HEIGHT) {}
    };
    let Some(number) = part.number else {
        return drawn;
    };
    let place = part.located(text).map(|at| located(language, &at));
    let label = language.map_part(&work.title(), number as u64, &place.unwrap_or_default());
    html! {
        a href={"#passage-" (number)} aria-label=(label) { title { (label) } (drawn) }
    }
}
