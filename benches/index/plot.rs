//! Plots check times and bytes per posting by the number of postings.

use std::path::Path;
use std::time::Duration;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::Outcome;
use crate::arguments::Size;
use crate::latency::Latencies;
use crate::load::Footprint;

/// The measurements of one index.
pub struct Point {
    pub postings: u64,
    pub check: Option<Latencies>,
    pub footprint: Option<Footprint>,
}

type Series = (&'static str, Vec<(f64, f64)>);
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 560;
const HEIGHT: u32 = 420;
const FONT: &str = "sans-serif";
const COLOURS: [RGBColor; 3] = [RGBColor(31, 119, 180), RGBColor(214, 39, 40), RGBColor(110, 110, 110)];

/// Draws the two charts side by side.
pub fn draw(file: &Path, points: &[Point]) -> Outcome<()> {
    let picture = SVGBackend::new(file, (2 * WIDTH, HEIGHT)).into_drawing_area();
    picture.fill(&WHITE)?;
    let (left, right) = picture.split_horizontally(WIDTH);

    let checks = |value: fn(&Latencies) -> Duration| {
        let times = points.iter().filter_map(|point| Some((point.postings as f64, value(point.check.as_ref()?))));
        times.map(|(postings, time)| (postings, time.as_secs_f64() * 1e3)).collect()
    };
    let times = [("p99", checks(Latencies::p99)), ("p50", checks(Latencies::p50))];
    if let Some((least, most)) = extent(&times, |(_, time)| time) {
        let decades = 10_f64.powf(least.log10().floor())..10_f64.powf(most.log10().ceil());
        chart(&left, "Check of 200 gems over HTTP, ms", &times, decades.log_scale())?;
    }

    let bytes = |value: fn(&Footprint) -> f64| {
        points.iter().filter_map(|point| Some((point.postings as f64, value(point.footprint.as_ref()?)))).collect()
    };
    let sizes = [
        ("with records, gem lists and ids", bytes(|footprint| footprint.whole)),
        ("posting lists", bytes(|footprint| footprint.lists)),
        ("information limit", bytes(|footprint| footprint.limit)),
    ];
    if let Some((_, most)) = extent(&sizes, |(_, bytes)| bytes) {
        chart(&right, "Bytes on disk, a posting", &sizes, 0.0..most * 1.3)?;
    }
    Ok(picture.present()?)
}

fn chart<Y>(area: &Area, caption: &str, all: &[Series], y: Y) -> Outcome<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let Some((least, most)) = extent(all, |(postings, _)| postings) else { return Ok(()) };
    let mut builder = ChartBuilder::on(area);
    builder.caption(caption, (FONT, 18)).margin(16).x_label_area_size(44).y_label_area_size(56);
    let mut chart = builder.build_cartesian_2d((least / 1.5..most * 1.5).log_scale(), y)?;
    let size = |postings: &f64| Size(postings.round() as u64).to_string();
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("postings").x_label_formatter(&size).light_line_style(WHITE).draw()?;
    for ((name, points), colour) in all.iter().zip(COLOURS) {
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3);
        let drawn = chart.draw_series(line)?.label(*name);
        drawn.legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    let mut legend = chart.configure_series_labels();
    legend.position(SeriesLabelPosition::UpperLeft).background_style(WHITE).border_style(COLOURS[2]);
    Ok(legend.draw()?)
}

/// The minimum and maximum of a coordinate, if there are any points.
fn extent(all: &[Series], coordinate: fn((f64, f64)) -> f64) -> Option<(f64, f64)> {
    let values = || all.iter().flat_map(|(_, points)| points).map(|point| coordinate(*point));
    Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
}
