//! Plots as SVG, drawn by the server. Colours come from the stylesheet.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::{Markup, html};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
const LEFT: f64 = 6.0;
const TOP: f64 = 16.0;
/// The most columns in which the pointer finds values.
const COLUMNS: usize = 60;

/// A line of a plot.
pub(super) struct PlotLine {
    /// Its name in the legend.
    pub(super) name: String,
    /// Its class in the stylesheet.
    pub(super) class: &'static str,
    /// Its values over time; `None` where there is none.
    pub(super) values: Vec<Option<f64>>,
}

/// Where values are drawn.
struct Scale {
    highest: f64,
    /// The position of the last value.
    last: f64,
}

impl Scale {
    /// The points of a line through values at their positions.
    fn points(&self, values: &[(f64, f64)]) -> String {
        let points = values.iter().map(|(at, value)| {
            let x = LEFT + at / self.last * (WIDTH - 2.0 * LEFT);
            let y = TOP + (1.0 - value / self.highest) * (HEIGHT - TOP);
            format!("{x:.1},{y:.1}")
        });
        points.collect::<Vec<_>>().join(" ")
    }
}

/// Draws lines over time. `shown` words a value.
pub(super) fn plot(
    title: &str,
    times: &[Timestamp],
    lines: &[PlotLine],
    shown: impl Fn(f64) -> String,
) -> Markup {
    let highest = lines
        .iter()
        .flat_map(|line| &line.values)
        .flatten()
        .copied()
        .fold(0.0, f64::max);
    let scale = Scale {
        highest: if highest > 0.0 { highest } else { 1.0 },
        last: times.len().saturating_sub(1).max(1) as f64,
    };
    let of_lines: Vec<String> = lines.iter().map(|line| now(line, &shown)).collect();
    let label = format!("{title}: {}", of_lines.join(", "));
    html! {
        figure class="plot" {
            figcaption {
                (title)
                @for (line, now) in lines.iter().zip(&of_lines) { " " span class={"key " (line.class)} { (now) } }
            }
            svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + 20.0)) role="img" aria-label=(label) {
                (axes(&shown(highest), times.first().map(clock), times.last().map(clock)))
                (under_pointer(times, lines, &scale, &shown))
                @for line in lines {
                    @for piece in pieces(&line.values, scale.last) {
                        polyline class=(line.class) points=(scale.points(&piece)) {}
                    }
                }
            }
        }
    }
}

/// What the pointer shows of the lines.
fn under_pointer(
    times: &[Timestamp],
    lines: &[PlotLine],
    scale: &Scale,
    shown: &impl Fn(f64) -> String,
) -> Markup {
    let step = times.len().div_ceil(COLUMNS).max(1);
    let width = step as f64 / scale.last * (WIDTH - 2.0 * LEFT);
    let words = |at: usize| {
        let values = lines
            .iter()
            .filter_map(|line| Some((line, (*line.values.get(at)?)?)));
        let words = values.map(|(line, value)| format!("{} {}", line.name, shown(value)));
        words.collect::<Vec<_>>().join(", ")
    };
    html! {
        @for (at, when) in times.iter().enumerate().step_by(step) {
            g {
                title { (clock(when)) ": " (words(at)) }
                rect class="whole" x=(rounded(LEFT + at as f64 / scale.last * (WIDTH - 2.0 * LEFT) - width / 2.0)) y=(TOP)
                    width=(rounded(width)) height=(HEIGHT - TOP) {}
            }
        }
    }
}

/// A bar of a chart.
pub(super) struct Bar {
    pub(super) day: Date,
    pub(super) whole: u64,
    /// The part of it that is drawn in another colour.
    pub(super) part: u64,
    /// What the pointer shows.
    pub(super) words: String,
}

/// Draws a bar for each day. `highest` words the highest value.
pub(super) fn bars(title: &str, bars: &[Bar], highest: impl Fn(u64) -> String) -> Markup {
    let most = bars.iter().map(|bar| bar.whole).max().unwrap_or(0);
    let scale = (HEIGHT - TOP) / most.max(1) as f64;
    let width = (WIDTH - 2.0 * LEFT) / bars.len().max(1) as f64;
    let [first, last] = [bars.first(), bars.last()].map(|bar| bar.map(|bar| bar.day.to_string()));
    html! {
        figure class="plot" {
            svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + 20.0)) role="img" aria-label=(title) {
                (axes(&highest(most), first, last))
                @for (at, bar) in bars.iter().enumerate() {
                    @let left = LEFT + at as f64 * width;
                    g {
                        title { (bar.words) }
                        rect class="whole" x=(rounded(left)) y=(TOP) width=(rounded(width)) height=(HEIGHT - TOP) {}
                        @for (value, hue) in [(bar.whole, "hue-main"), (bar.part, "hue-bad")] {
                            @let height = value as f64 * scale;
                            rect class=(hue) x=(rounded(left)) y=(rounded(HEIGHT - height)) width=(rounded(width * 0.8))
                                height=(rounded(height)) {}
                        }
                    }
                }
            }
        }
    }
}

fn rounded(value: f64) -> String {
    format!("{value:.1}")
}

/// The lowest and the highest value, and the first and the last time.
fn axes(highest: &str, first: Option<String>, last: Option<String>) -> Markup {
    html! {
        @for y in [HEIGHT, TOP] { line class="axis" x1="0" y1=(y) x2=(WIDTH) y2=(y) {} }
        text x="0" y=(TOP - 4.0) { (highest) }
        @if let (Some(first), Some(last)) = (first, last) {
            text x="0" y=(HEIGHT + 16.0) { (first) }
            text x=(WIDTH) y=(HEIGHT + 16.0) text-anchor="end" { (last) }
        }
    }
}

/// The name of a line with its last value.
fn now(line: &PlotLine, shown: &impl Fn(f64) -> String) -> String {
    match line.values.iter().rev().flatten().next() {
        Some(value) => format!("{} {}", line.name, shown(*value)),
        None => line.name.clone(),
    }
}

/// The parts of a line without gaps. A single value is drawn as a short line. `last`: the last position.
fn pieces(values: &[Option<f64>], last: f64) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut goes_on = false;
    for (at, value) in values.iter().enumerate() {
        if let Some(value) = value {
            let point = (at as f64, *value);
            match pieces.last_mut().filter(|_| goes_on) {
                Some(piece) => piece.push(point),
                None => pieces.push(vec![point]),
            }
        }
        goes_on = value.is_some();
    }
    for piece in &mut pieces {
        if let [(at, value)] = piece[..] {
            let reach = last / 100.0;
            let ends = [(at - reach).max(0.0), (at + reach).min(last)];
            *piece = ends.map(|at| (at, value)).into();
        }
    }
    pieces
}

fn clock(when: &Timestamp) -> String {
    when.to_zoned(TimeZone::UTC)
        .strftime("%m-%d %H:%M")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stay_gaps_and_the_highest_value_is_at_the_top() {
        let values = vec![Some(0.0), Some(4.0), None, Some(2.0)];
        let times: Vec<Timestamp> = (0..4)
            .filter_map(|at| Timestamp::from_second(at * 60).ok())
            .collect();
        let line = PlotLine {
            name: "checks".to_owned(),
            class: "a",
            values,
        };
        let drawn = plot("Checks", &times, &[line], |value| format!("{value}/s")).into_string();
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(
            drawn.contains("<title>01-01 00:01: checks 4/s</title>"),
            "{drawn}"
        );
        assert!(
            drawn.contains("6.0,120.0 202.0,16.0")
                && drawn.contains("aria-label=\"Checks: checks 2/s\""),
            "{drawn}"
        );
        assert!(
            drawn.contains("588.1,68.0 594.0,68.0"),
            "a single value is seen: {drawn}"
        );
        assert!(
            plot("Empty", &[], &[], |value| value.to_string())
                .into_string()
                .contains("</svg>")
        );
    }
}
