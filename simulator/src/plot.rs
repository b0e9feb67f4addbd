//! The outcomes as charts: how a number grows with the workers.

use std::{error::Error, fs, path::Path};

use plotters::{
    prelude::{
        ChartBuilder, Circle, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, SVGBackend,
    },
    style::{BLACK, Color, IntoFont, Palette, Palette99, WHITE},
};

use crate::{
    report::Row,
    simulation::{Outcome, microseconds},
};

const SIZE: (u32, u32) = (860, 420);

/// A number of an outcome that is drawn.
struct Chart {
    file: &'static str,
    title: &'static str,
    workload: &'static str,
    value: fn(&Outcome) -> Option<f64>,
}

const CHARTS: &[Chart] = &[
    Chart {
        file: "trickle-lines",
        title: "trickle: shared lines touched for a job",
        workload: "trickle",
        value: |outcome| outcome.probe.mean_lines(),
    },
    Chart {
        file: "trickle-searching",
        title: "trickle: core-microseconds of searching for a job",
        workload: "trickle",
        value: |outcome| Some(outcome.per_job(outcome.idle_ns) / 1_000.0),
    },
    Chart {
        file: "tick-searching",
        title: "tick: core-microseconds of searching for a job",
        workload: "tick",
        value: |outcome| Some(outcome.per_job(outcome.idle_ns) / 1_000.0),
    },
    Chart {
        file: "tick-searches",
        title: "tick: fruitless searches for a job",
        workload: "tick",
        value: |outcome| Some(outcome.per_job(outcome.fruitless_searches)),
    },
    Chart {
        file: "split-occupancy",
        title: "split: microseconds until all workers run",
        workload: "split",
        value: |outcome| outcome.probe.full_occupancy.map(microseconds),
    },
    Chart {
        file: "burst-occupancy",
        title: "burst: microseconds until all workers run",
        workload: "burst",
        value: |outcome| outcome.probe.full_occupancy.map(microseconds),
    },
];

/// Draws the charts into a directory. Returns the names of the files.
///
/// # Errors
/// If the directory or a file cannot be written.
pub fn draw(rows: &[Row], directory: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    let mut files = Vec::new();
    for chart in CHARTS {
        let file = directory.join(format!("{}.svg", chart.file));
        if draw_one(chart, &series(chart, rows), &file)? {
            files.push(file.display().to_string());
        }
    }
    Ok(files)
}

/// A curve: a name, and points with a number of workers and a value.
type Curve = (String, Vec<(f64, f64)>);

fn series(chart: &Chart, rows: &[Row]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for row in rows {
        let outcome = row
            .outcomes
            .iter()
            .find(|outcome| outcome.workload == chart.workload);
        let Some(value) = outcome.and_then(chart.value).filter(|&value| value > 0.0) else {
            continue;
        };
        let name = format!("{}, {}", row.protocol, row.policy);
        let point = (row.workers as f64, value);
        match curves.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(point),
            None => curves.push((name, vec![point])),
        }
    }
    curves
}

fn draw_one(chart: &Chart, curves: &[Curve], file: &Path) -> Result<bool, Box<dyn Error>> {
    let points: Vec<(f64, f64)> = curves
        .iter()
        .flat_map(|(_, points)| points.clone())
        .collect();
    if points.len() < 2 {
        return Ok(false);
    }
    let range = |of: fn(&(f64, f64)) -> f64| {
        let least = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let greatest = points.iter().map(of).fold(0.0, f64::max);
        (least / 1.3..greatest * 1.3).log_scale()
    };
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut canvas = ChartBuilder::on(&area)
        .caption(chart.title, ("sans-serif", 18).into_font())
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(range(|point| point.0), range(|point| point.1))?;
    canvas.configure_mesh().x_desc("workers").draw()?;
    for (index, (name, points)) in curves.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        canvas
            .draw_series(LineSeries::new(
                points.iter().copied(),
                colour.stroke_width(2),
            ))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        canvas.draw_series(
            points
                .iter()
                .map(|&point| Circle::new(point, 3, colour.filled())),
        )?;
    }
    canvas
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(true)
}
