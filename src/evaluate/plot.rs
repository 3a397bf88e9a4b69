//! Plots of the share of copies caught, by attack, length and language.

use std::collections::BTreeSet;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::findings::Key;
use super::pieces::Length;
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

/// A chart: the labels of its points from left to right, and a line for each detector, with gaps where nothing was checked.
struct Chart {
    title: String,
    below: Vec<String>,
    lines: Vec<Vec<Option<f64>>>,
}

/// Draws `by-attack.svg`, `by-length.svg` and `by-language.svg`.
pub(super) fn draw(evaluation: &Evaluation, folder: &Path) -> Result<(), EvaluateError> {
    let plots = [
        ("by-attack.svg", by_attack(evaluation), 4, WIDTH),
        ("by-length.svg", by_length(evaluation), 4, WIDTH),
        ("by-language.svg", vec![by_language(evaluation)], 1, 2 * WIDTH),
    ];
    for (name, charts, columns, width) in plots {
        let path = folder.join(name);
        let failed = |why: Box<dyn std::error::Error + Send + Sync>| EvaluateError::Plot {
            path: path.clone(),
            why: why.to_string(),
        };
        grid(evaluation, &path, &charts, columns, width).map_err(failed)?;
    }
    Ok(())
}

/// For each detector, the percentage caught of the copies with a `wanted` key.
fn caught(evaluation: &Evaluation, wanted: impl Fn(&Key) -> bool) -> Vec<Option<f64>> {
    let of = |detector: usize| evaluation.findings.sum(|key| key.detector == detector && wanted(key));
    let counts = (0..evaluation.detectors.len()).map(of);
    counts.map(|count| (count.copies > 0).then(|| 100.0 * count.caught as f64 / count.copies as f64)).collect()
}

/// A chart of labelled points, each with a value for each detector.
fn chart(title: &str, evaluation: &Evaluation, points: Vec<(String, Vec<Option<f64>>)>) -> Chart {
    let (below, values): (Vec<String>, Vec<Vec<Option<f64>>>) = points.into_iter().unzip();
    let line = |detector: usize| values.iter().map(|of_detectors| of_detectors[detector]).collect();
    Chart { title: title.to_owned(), below, lines: (0..evaluation.detectors.len()).map(line).collect() }
}

fn by_attack(evaluation: &Evaluation) -> Vec<Chart> {
    let attacks = evaluation.attacks.0.iter().enumerate();
    let charts = attacks.map(|(number, attack)| {
        let points = attack.all_strengths().iter().enumerate().map(|(strength, share)| {
            let wanted = |key: &Key| (key.attack, key.strength, key.length) == (number, strength, Length::Whole);
            (attack.strength(*share), caught(evaluation, wanted))
        });
        chart(&format!("{}: whole books", attack.name), evaluation, points.collect())
    });
    charts.collect()
}

fn by_length(evaluation: &Evaluation) -> Vec<Chart> {
    let attacks = evaluation.attacks.with_strengths().filter(|(_, _, attack, _)| !attack.whole);
    let charts = attacks.map(|(number, strength, attack, share)| {
        let points = Length::ALL.iter().map(|length| {
            let wanted = |key: &Key| (key.attack, key.strength, key.length) == (number, strength, *length);
            (length.name(), caught(evaluation, wanted))
        });
        let title = format!("{} {}", attack.name, attack.strength(share));
        chart(title.trim(), evaluation, points.collect())
    });
    charts.collect()
}

fn by_language(evaluation: &Evaluation) -> Chart {
    let languages: BTreeSet<&str> = evaluation.findings.counts.keys().map(|key| key.language.as_str()).collect();
    let points = languages.into_iter().map(|language| {
        let wanted = |key: &Key| key.language == language && key.length == Length::Whole;
        (language.to_owned(), caught(evaluation, wanted))
    });
    chart("whole books, all attacks", evaluation, points.collect())
}

fn grid(evaluation: &Evaluation, path: &Path, charts: &[Chart], columns: usize, width: u32) -> Outcome {
    let rows = charts.len().div_ceil(columns).max(1);
    let size = (width * columns as u32, HEIGHT * rows as u32 + LEGEND);
    let picture = SVGBackend::new(path, size).into_drawing_area();
    picture.fill(&WHITE)?;
    let (legend, below) = picture.split_vertically(LEGEND);
    let mut x = 16_u32;
    for (detector, colour) in evaluation.detectors.iter().zip(COLOURS.iter().cycle()) {
        let left = x.cast_signed();
        legend.draw(&PathElement::new([(left, 18), (left + 20, 18)], colour.stroke_width(3)))?;
        legend.draw(&Text::new(detector.name.clone(), (left + 26, 11), (FONT, 14)))?;
        x += 60 + 8 * detector.name.chars().count() as u32;
    }
    for (area, chart) in below.split_evenly((rows, columns)).iter().zip(charts) {
        draw_chart(area, chart)?;
    }
    Ok(picture.present()?)
}

fn draw_chart(area: &Area<'_>, chart: &Chart) -> Outcome {
    let right = chart.below.len().saturating_sub(1).max(1) as f64;
    let mut builder = ChartBuilder::on(area);
    builder.caption(&chart.title, (FONT, 14)).margin(10).x_label_area_size(24).y_label_area_size(36);
    let mut plane = builder.build_cartesian_2d(-0.2..right + 0.2, 0.0..100.0)?;
    let label = |x: &f64| {
        let whole = (x - x.round()).abs() < 1e-9;
        let at = whole.then(|| chart.below.get(x.round() as usize).cloned()).flatten();
        at.unwrap_or_default()
    };
    let mut mesh = plane.configure_mesh();
    mesh.x_labels(2 * chart.below.len() + 1).x_label_formatter(&label).y_labels(5);
    mesh.y_label_formatter(&|y| format!("{y:.0} %")).light_line_style(WHITE).draw()?;
    for (line, colour) in chart.lines.iter().zip(COLOURS.iter().cycle()) {
        let points: Vec<(f64, f64)> = line.iter().enumerate().filter_map(|(x, y)| Some((x as f64, (*y)?))).collect();
        plane.draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?;
    }
    Ok(())
}
