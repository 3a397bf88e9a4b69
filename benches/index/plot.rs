//! Plots check times and bytes per posting by the number of postings, or check times and the work of nodes by their number.

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
    pub clusters: Vec<OnCluster>,
}

/// The measurements of a cluster, beside those of a folder.
pub struct OnCluster {
    pub primaries: u32,
    pub p50: Duration,
    pub p50_of_folder: Duration,
    /// The commands, and the bytes received and sent, by a node for a check.
    pub commands: f64,
    pub bytes: f64,
}

type Series = (&'static str, Vec<(f64, f64)>);
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Areas<'a> = (Area<'a>, Area<'a>);

const WIDTH: u32 = 560;
const HEIGHT: u32 = 420;
const FONT: &str = "sans-serif";
const COLOURS: [RGBColor; 3] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(110, 110, 110),
];

/// Draws two charts side by side: of clusters, if there are any.
pub fn draw(file: &Path, points: &[Point]) -> Outcome<()> {
    let picture = SVGBackend::new(file, (2 * WIDTH, HEIGHT)).into_drawing_area();
    picture.fill(&WHITE)?;
    let charts = picture.split_horizontally(WIDTH);
    let clusters: Vec<&OnCluster> = points.iter().flat_map(|point| &point.clusters).collect();
    let drawn = if clusters.is_empty() {
        draw_sizes(&charts, points)
    } else {
        draw_clusters(&charts, &clusters)
    };
    drawn?;
    Ok(picture.present()?)
}

/// Draws what depends on the number of postings.
fn draw_sizes((left, right): &Areas, points: &[Point]) -> Outcome<()> {
    let checks = |value: fn(&Latencies) -> Duration| {
        let times = points
            .iter()
            .filter_map(|point| Some((point.postings as f64, value(point.check.as_ref()?))));
        times
            .map(|(postings, time)| (postings, time.as_secs_f64() * 1e3))
            .collect()
    };
    let times = [
        ("p99", checks(Latencies::p99)),
        ("p50", checks(Latencies::p50)),
    ];
    if let Some((least, most)) = extent(&times, |(_, time)| time) {
        let decades = 10_f64.powf(least.log10().floor())..10_f64.powf(most.log10().ceil());
        chart(
            left,
            ["Check of 200 gems over HTTP, ms", "postings"],
            &times,
            decades.log_scale(),
        )?;
    }

    let bytes = |value: fn(&Footprint) -> f64| {
        points
            .iter()
            .filter_map(|point| Some((point.postings as f64, value(point.footprint.as_ref()?))))
            .collect()
    };
    let sizes = [
        (
            "with records, gem lists and ids",
            bytes(|footprint| footprint.whole),
        ),
        ("posting lists", bytes(|footprint| footprint.lists)),
        ("information limit", bytes(|footprint| footprint.limit)),
    ];
    if let Some((_, most)) = extent(&sizes, |(_, bytes)| bytes) {
        chart(
            right,
            ["Bytes on disk, a posting", "postings"],
            &sizes,
            0.0..most * 1.3,
        )?;
    }
    Ok(())
}

/// Draws what depends on the number of nodes.
fn draw_clusters((left, right): &Areas, clusters: &[&OnCluster]) -> Outcome<()> {
    let by_primaries = |value: &dyn Fn(&OnCluster) -> f64| {
        clusters
            .iter()
            .map(|cluster| (f64::from(cluster.primaries), value(cluster)))
            .collect()
    };
    let times = [
        (
            "on the cluster",
            by_primaries(&|cluster| cluster.p50.as_secs_f64() * 1e3),
        ),
        (
            "in a folder",
            by_primaries(&|cluster| cluster.p50_of_folder.as_secs_f64() * 1e3),
        ),
    ];
    let least = clusters.iter().min_by_key(|cluster| cluster.primaries);
    let share =
        |of: f64, value: fn(&OnCluster) -> f64| of / least.map_or(1.0, |least| value(least));
    let work = [
        (
            "commands",
            by_primaries(&|cluster| share(cluster.commands, |least| least.commands)),
        ),
        (
            "bytes",
            by_primaries(&|cluster| share(cluster.bytes, |least| least.bytes)),
        ),
        (
            "1 / primaries",
            by_primaries(&|cluster| {
                least.map_or(1.0, |of| of.primaries.into()) / f64::from(cluster.primaries)
            }),
        ),
    ];
    for (area, caption, all) in [
        (
            left,
            "Check of 200 gems over HTTP, p50, ms",
            times.as_slice(),
        ),
        (right, "Work of a node for it, as a share", &work),
    ] {
        if let Some((_, most)) = extent(all, |(_, value)| value) {
            chart(area, [caption, "primaries"], all, 0.0..most * 1.5)?;
        }
    }
    Ok(())
}

fn chart<Y>(area: &Area, [caption, by]: [&str; 2], all: &[Series], y: Y) -> Outcome<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let Some((least, most)) = extent(all, |(by, _)| by) else {
        return Ok(());
    };
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(caption, (FONT, 18))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56);
    let mut chart = builder.build_cartesian_2d((least / 1.5..most * 1.5).log_scale(), y)?;
    let size = |by: &f64| Size(by.round() as u64).to_string();
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(by)
        .x_label_formatter(&size)
        .light_line_style(WHITE)
        .draw()?;
    for ((name, points), colour) in all.iter().zip(COLOURS) {
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3);
        let drawn = chart.draw_series(line)?.label(*name);
        drawn.legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    let mut legend = chart.configure_series_labels();
    legend
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(COLOURS[2]);
    Ok(legend.draw()?)
}

/// The minimum and maximum of a coordinate, if there are any points.
fn extent(all: &[Series], coordinate: fn((f64, f64)) -> f64) -> Option<(f64, f64)> {
    let values = || {
        all.iter()
            .flat_map(|(_, points)| points)
            .map(|point| coordinate(*point))
    };
    Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
}
