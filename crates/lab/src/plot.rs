//! Plots of the share of copies caught: by attack, length and language, and of everything at a glance.
//!
//! What has an order is a line: strengths, lengths. What has none is bars: attacks without a strength, languages.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::findings::CopyCount;
use super::pieces::CopyLength;
use super::table::Rates;
use super::{EvaluateError, Evaluation};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

const FONT: &str = "sans-serif";
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(90, 90, 90),
];
/// The size of a chart, and the height of the legend above all charts, in pixels.
const WIDTH: u32 = 300;
const HEIGHT: u32 = 220;
const LEGEND: u32 = 36;
/// The size of a cell of the overview, and of its margins for names, in pixels.
const CELL: (i32, i32) = (34, 18);
const NAMES: (i32, i32) = (240, 120);

/// A chart: its labels from left to right, and the values of each detector, with gaps where nothing was checked.
struct Chart {
    title: String,
    below: Vec<String>,
    values: Vec<Vec<Option<f64>>>,
    /// Whether the labels have an order.
    is_ordered: bool,
}

/// Draws `overview.svg`; `by-attack.svg`, `by-length.svg`, `by-language.svg` and `short-texts.svg` of the first six detectors,
/// and `by-attack-2.svg` and so on of the next six.
pub(super) fn draw(evaluation: &Evaluation, folder: &Path) -> Result<(), EvaluateError> {
    let path = folder.join("overview.svg");
    overview(evaluation, &path).map_err(|why| plot_failed(&path, &*why))?;
    let detectors = evaluation.detectors.len();
    for first in (0..detectors).step_by(COLOURS.len()) {
        let of = first..detectors.min(first + COLOURS.len());
        let mut plots = vec![
            ("by-attack", by_attack(evaluation, &of), 4, WIDTH),
            ("by-length", by_length(evaluation, &of), 4, WIDTH),
            (
                "by-language",
                vec![by_language(evaluation, &of)],
                1,
                4 * WIDTH,
            ),
        ];
        if !evaluation.short.is_empty() {
            plots.push(("short-texts", short_texts(evaluation, &of), 3, WIDTH));
        }
        let number = first / COLOURS.len() + 1;
        let suffix = if number > 1 {
            format!("-{number}")
        } else {
            String::new()
        };
        for (name, charts, columns, width) in plots {
            let path = folder.join(format!("{name}{suffix}.svg"));
            grid(evaluation, &of, &path, &charts, columns, width)
                .map_err(|why| plot_failed(&path, &*why))?;
        }
    }
    Ok(())
}

fn plot_failed(path: &Path, why: &dyn std::error::Error) -> EvaluateError {
    EvaluateError::Plot {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

/// The percentage caught, if anything was checked.
fn caught(count: CopyCount) -> Option<f64> {
    (count.copies > 0).then(|| 100.0 * count.caught as f64 / count.copies as f64)
}

/// A chart with a value for each label and detector.
fn chart<L>(
    title: &str,
    labels: &[(String, L)],
    of: &Range<usize>,
    is_ordered: bool,
    value: impl Fn(&L, usize) -> Option<f64>,
) -> Chart {
    let values = of.clone().map(|detector| {
        let labels = labels.iter();
        labels.map(|(_, label)| value(label, detector)).collect()
    });
    Chart {
        title: title.trim().to_owned(),
        below: labels.iter().map(|(name, _)| name.clone()).collect(),
        values: values.collect(),
        is_ordered,
    }
}

/// The copies of whole books by this attack.
fn of_attack(
    evaluation: &Evaluation,
    detector: usize,
    attack: usize,
    strength: Option<usize>,
) -> CopyCount {
    let of = (detector, attack, CopyLength::Whole);
    evaluation.findings.sum(|key| {
        (key.detector, key.attack, key.length) == of
            && strength.is_none_or(|strength| key.strength == strength)
    })
}

/// A chart for each attack with strengths, and one for all others.
fn by_attack(evaluation: &Evaluation, of: &Range<usize>) -> Vec<Chart> {
    let attacks = evaluation.attacks.0.iter().enumerate();
    let (with, without): (Vec<_>, Vec<_>) =
        attacks.partition(|(_, attack)| !attack.strengths.is_empty());
    let mut charts = Vec::new();
    for (number, attack) in with {
        let strengths: Vec<(String, usize)> = attack
            .strengths
            .iter()
            .enumerate()
            .map(|(i, share)| (attack.strength(*share), i))
            .collect();
        let title = format!("{}: whole books", attack.name);
        charts.push(chart(&title, &strengths, of, true, |strength, detector| {
            caught(of_attack(evaluation, detector, number, Some(*strength)))
        }));
    }
    let without: Vec<(String, usize)> = without
        .into_iter()
        .map(|(number, attack)| (attack.name.to_owned(), number))
        .collect();
    for some in without.chunks(3) {
        charts.push(chart("whole books", some, of, false, |attack, detector| {
            caught(of_attack(evaluation, detector, *attack, None))
        }));
    }
    charts
}

fn by_length(evaluation: &Evaluation, of: &Range<usize>) -> Vec<Chart> {
    let attacks = evaluation
        .attacks
        .with_strengths()
        .filter(|(_, _, attack, _)| !attack.whole);
    let lengths = CopyLength::ALL.map(|length| (length.name(), length));
    let charts = attacks.map(|(number, strength, attack, share)| {
        let title = format!("{} {}", attack.name, attack.strength(share));
        chart(&title, &lengths, of, true, |length, detector| {
            let wanted = (detector, number, strength, *length);
            caught(
                evaluation
                    .findings
                    .sum(|key| (key.detector, key.attack, key.strength, key.length) == wanted),
            )
        })
    });
    charts.collect()
}

fn by_language(evaluation: &Evaluation, of: &Range<usize>) -> Chart {
    let languages: BTreeSet<&str> = evaluation
        .findings
        .counts
        .keys()
        .map(|key| key.language.as_str())
        .collect();
    let languages: Vec<(String, &str)> = languages
        .into_iter()
        .map(|language| (language.to_owned(), language))
        .collect();
    chart(
        "whole books, all attacks",
        &languages,
        of,
        false,
        |language, detector| {
            let wanted = (detector, *language, CopyLength::Whole);
            caught(
                evaluation
                    .findings
                    .sum(|key| (key.detector, key.language.as_str(), key.length) == wanted),
            )
        },
    )
}

fn short_texts(evaluation: &Evaluation, of: &Range<usize>) -> Vec<Chart> {
    let lengths: Vec<_> = evaluation
        .short
        .iter()
        .map(|(length, findings)| (length.to_string(), findings))
        .collect();
    vec![
        chart(
            "short texts: exact copies caught",
            &lengths,
            of,
            true,
            |findings, detector| {
                caught(
                    findings
                        .sum(|key| key.detector == detector && evaluation.is_unchanged(key.attack)),
                )
            },
        ),
        chart(
            "short texts: all copies caught",
            &lengths,
            of,
            true,
            |findings, detector| caught(findings.sum(|key| key.detector == detector)),
        ),
        chart(
            "short texts: precision",
            &lengths,
            of,
            true,
            |findings, detector| precision(findings.sum(|key| key.detector == detector)),
        ),
    ]
}

/// The percentage of the books reported that are right, if any was reported.
fn precision(count: CopyCount) -> Option<f64> {
    let rates = Rates::new(count.caught, count.false_alarms, count.copies);
    (count.caught + count.false_alarms > 0).then_some(100.0 * rates.precision)
}

fn grid(
    evaluation: &Evaluation,
    of: &Range<usize>,
    path: &Path,
    charts: &[Chart],
    columns: usize,
    width: u32,
) -> Outcome {
    let rows = charts.len().div_ceil(columns).max(1);
    let size = (width * columns as u32, HEIGHT * rows as u32 + LEGEND);
    let picture = SVGBackend::new(path, size).into_drawing_area();
    picture.fill(&WHITE)?;
    let (legend, below) = picture.split_vertically(LEGEND);
    let mut x = 16_u32;
    for (detector, colour) in evaluation.detectors[of.clone()].iter().zip(COLOURS) {
        let left = x.cast_signed();
        legend.draw(&PathElement::new(
            [(left, 18), (left + 20, 18)],
            colour.stroke_width(3),
        ))?;
        legend.draw(&Text::new(
            detector.name.clone(),
            (left + 26, 11),
            (FONT, 14),
        ))?;
        x += 60 + 8 * detector.name.chars().count() as u32;
    }
    for (area, chart) in below.split_evenly((rows, columns)).iter().zip(charts) {
        draw_chart(area, chart)?;
    }
    Ok(picture.present()?)
}

fn draw_chart(area: &Area<'_>, chart: &Chart) -> Outcome {
    let right = chart.below.len().saturating_sub(1) as f64;
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(&chart.title, (FONT, 14))
        .margin(10)
        .x_label_area_size(24)
        .y_label_area_size(36);
    let mut plane = builder.build_cartesian_2d(-0.5..right + 0.5, 0.0..100.0)?;
    plane
        .configure_mesh()
        .x_labels(2 * chart.below.len() + 1)
        .x_label_formatter(&|x| chart.label(*x))
        .y_labels(5)
        .y_label_formatter(&|y| format!("{y:.0} %"))
        .light_line_style(WHITE)
        .draw()?;
    let bar = 0.8 / chart.values.len().max(1) as f64;
    for ((number, values), colour) in chart.values.iter().enumerate().zip(COLOURS) {
        let values = values.iter().enumerate();
        let points = values.filter_map(|(x, y)| Some((x as f64, (*y)?)));
        if chart.is_ordered {
            plane.draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?;
        } else {
            let first = bar * number as f64 - 0.4;
            plane.draw_series(points.map(|(x, y)| {
                Rectangle::new([(x + first, 0.0), (x + first + bar, y)], colour.filled())
            }))?;
        }
    }
    Ok(())
}

impl Chart {
    /// The label at a place of the axis; empty between two of them.
    fn label(&self, x: f64) -> String {
        if (x - x.round()).abs() >= 1e-9 {
            return String::new();
        }
        self.below
            .get(x.round() as usize)
            .cloned()
            .unwrap_or_default()
    }
}

/// Where a column of the overview begins.
fn left(column: usize) -> i32 {
    NAMES.0 + CELL.0 * i32::try_from(column).unwrap_or_default()
}

/// Where a row of the overview begins.
fn top(row: usize) -> i32 {
    NAMES.1 + CELL.1 * i32::try_from(row).unwrap_or_default()
}

/// A table of all detectors and attacks: whole books caught, over all strengths, the darker the more.
fn overview(evaluation: &Evaluation, path: &Path) -> Outcome {
    let (attacks, detectors) = (&evaluation.attacks.0, &evaluation.detectors);
    let (width, height) = (left(attacks.len()) + 10, top(detectors.len()) + 10);
    let picture =
        SVGBackend::new(path, (width.cast_unsigned(), height.cast_unsigned())).into_drawing_area();
    picture.fill(&WHITE)?;
    let upright = (FONT, 12).into_font().transform(FontTransform::Rotate270);
    for (column, attack) in attacks.iter().enumerate() {
        let at = (left(column) + 11, NAMES.1 - 6);
        picture.draw(&Text::new(attack.name, at, upright.clone()))?;
    }
    for (row, detector) in detectors.iter().enumerate() {
        let name = detector.name.split('@').next().unwrap_or_default();
        let name: String = name.chars().take(36).collect();
        picture.draw(&Text::new(name, (6, top(row) + 3), (FONT, 12)))?;
        for column in 0..attacks.len() {
            if let Some(share) = caught(of_attack(evaluation, row, column, None)) {
                cell(&picture, (left(column), top(row)), share)?;
            }
        }
    }
    Ok(picture.present()?)
}

/// A cell of the overview with a percentage.
fn cell(picture: &Area<'_>, (left, top): (i32, i32), share: f64) -> Outcome {
    let colour = RGBColor(paler(120, share), paler(180, share), paler(220, share));
    let corners = [(left, top), (left + CELL.0 - 1, top + CELL.1 - 1)];
    picture.draw(&Rectangle::new(corners, colour.filled()))?;
    let middle = (left + CELL.0 / 2, top + CELL.1 / 2);
    let centred = (FONT, 10)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(HPos::Center, VPos::Center));
    picture.draw(&Text::new(format!("{share:.0}"), middle, centred))?;
    Ok(())
}

/// So much of a shade, on white.
fn paler(shade: u8, percent: f64) -> u8 {
    255 - (f64::from(255 - shade) * percent / 100.0) as u8
}
