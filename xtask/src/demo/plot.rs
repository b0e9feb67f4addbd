//! What each process of a demo did, as a chart.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use plotters::{
    coord::ranged1d::{IntoSegmentedCoord, SegmentValue},
    prelude::{ChartBuilder, DrawingArea, IntoDrawingArea, Rectangle, SVGBackend},
    style::{BLACK, Color, IntoFont, Palette, Palette99, WHITE},
};
use serde::Deserialize;

const WIDTH: u32 = 960;
const ROW: u32 = 24;
/// Title, axis and legend of one of the two charts.
const FRAME: u32 = 110;

/// What is drawn of a report.
#[derive(Deserialize)]
struct Report {
    processes: Vec<Process>,
}

#[derive(Deserialize)]
struct Process {
    process: usize,
    files: u32,
    digests: u32,
    workers: Vec<Worker>,
}

#[derive(Deserialize)]
struct Worker {
    active: f64,
    idle: f64,
    asleep: f64,
}

/// A row of a chart: parts of a bar, one after the other.
struct Row {
    label: String,
    parts: Vec<f64>,
}

/// Draws the times of all workers, and how many files each process hashed and how many digests it
/// grouped.
pub(super) fn draw(report: &Path, chart: &Path) -> Result<()> {
    let text = fs::read_to_string(report).with_context(|| report.display().to_string())?;
    let report: Report = serde_json::from_str(&text)?;
    let times: Vec<_> = report.processes.iter().flat_map(rows_of_workers).collect();
    let files: Vec<_> = report.processes.iter().flat_map(rows_of_files).collect();
    let height = |rows: &[Row]| Ok::<_, anyhow::Error>(FRAME + ROW * u32::try_from(rows.len())?);
    let (above, below) = (height(&times)?, height(&files)?);
    let area = SVGBackend::new(chart, (WIDTH, above + below)).into_drawing_area();
    area.fill(&WHITE)?;
    let (above, below) = area.split_vertically(above);
    let kinds = ["active", "idle", "asleep"];
    bars(&above, "seconds of each worker", &kinds, &times)?;
    bars(&below, "files of each process", &["files"], &files)?;
    area.present()?;
    println!("{}", chart.display());
    Ok(())
}

fn rows_of_workers(process: &Process) -> impl Iterator<Item = Row> {
    let workers = process.workers.iter().enumerate();
    workers.map(|(index, worker)| Row {
        label: format!("process {}, worker {index}", process.process),
        parts: vec![worker.active, worker.idle, worker.asleep],
    })
}

fn rows_of_files(process: &Process) -> [Row; 2] {
    [("hashed", process.files), ("grouped", process.digests)].map(|(what, count)| Row {
        label: format!("process {}: {what}", process.process),
        parts: vec![count.into()],
    })
}

fn bars(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    kinds: &[&str],
    rows: &[Row],
) -> Result<()> {
    let count = i32::try_from(rows.len())?;
    let sum = |row: &Row| row.parts.iter().sum::<f64>();
    let greatest = rows.iter().map(sum).fold(f64::MIN_POSITIVE, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20).into_font())
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(180)
        .build_cartesian_2d(0.0..greatest * 1.2, (0..count).into_segmented())?;
    let label = |row: &SegmentValue<i32>| match row {
        SegmentValue::CenterOf(row) => usize::try_from(count - 1 - row)
            .ok()
            .and_then(|row| rows.get(row))
            .map_or_else(String::new, |row| row.label.clone()),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(rows.len())
        .y_label_formatter(&label)
        .draw()?;
    for (kind, name) in kinds.iter().enumerate() {
        let style = Palette99::pick(kind).filled();
        let series = (0..count).rev().zip(rows).map(|(row, bar)| {
            let start: f64 = bar.parts[..kind].iter().sum();
            let corners = [
                (start, SegmentValue::Exact(row)),
                (start + bar.parts[kind], SegmentValue::Exact(row + 1)),
            ];
            let mut rectangle = Rectangle::new(corners, style);
            rectangle.set_margin(4, 4, 0, 0);
            rectangle
        });
        chart
            .draw_series(series)?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], style));
    }
    if kinds.len() > 1 {
        chart
            .configure_series_labels()
            .background_style(WHITE)
            .border_style(BLACK)
            .draw()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_every_worker_and_process() {
        let name = format!("demo-plot-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let (report, chart) = (directory.join("report.json"), directory.join("chart.svg"));
        let worker = r#"{"active":1.0,"idle":0.1,"asleep":0.5}"#;
        let process = |number| {
            format!(r#"{{"process":{number},"files":1,"digests":7,"workers":[{worker},{worker}]}}"#)
        };
        let text = format!(r#"{{"processes":[{},{}]}}"#, process(0), process(1));
        fs::write(&report, text).unwrap();
        draw(&report, &chart).unwrap();
        let drawn = fs::read_to_string(&chart).unwrap();
        for label in ["process 0, worker 1", "process 1: grouped", "asleep"] {
            assert!(drawn.contains(label), "{label}");
        }
        fs::write(&report, "{").unwrap();
        assert!(draw(&report, &chart).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
