//! A group over sizes as curves: how the time of each system compares with the sequential
//! program's, over the size of what is done.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use plotters::{
    element::{Circle, PathElement},
    prelude::{ChartBuilder, IntoDrawingArea, IntoLogRange, SVGBackend},
    series::LineSeries,
    style::{BLACK, Color, IntoFont, Palette, Palette99, WHITE},
};

use super::measure::Comparison;

/// The system that the others are compared with.
const SEQUENTIAL: &str = "sequential";
const SIZE: (u32, u32) = (960, 540);
/// Where a curve leaves the chart.
const GREATEST: f64 = 3.0;

/// One system's ratios over the sizes, which are in microseconds.
struct Curve<'a> {
    system: &'a str,
    points: Vec<(f64, f64)>,
}

/// Whether the names of this group are sizes, such as `0.2us`, and there is a sequential program.
pub(super) fn fits(group: &[Comparison]) -> bool {
    let has_a_point = |row| size(row).is_some() && sequential(row).is_some();
    group.len() > 1 && group.iter().all(has_a_point)
}

/// Draws a chart for each number of workers: `GROUP-N.svg`.
pub(super) fn draw(group: &[Comparison], directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    for rows in group.chunk_by(|one, next| one.threads == next.threads) {
        let (name, threads) = (&rows[0].group, rows[0].threads);
        let file = directory.join(format!("{name}-{threads}.svg"));
        let title = format!("{name}, {threads} workers: time, the sequential program's is 1");
        chart(&title, &curves(rows), &file)
            .with_context(|| format!("{} could not be drawn", file.display()))?;
        println!("{}", file.display());
    }
    Ok(())
}

fn curves(rows: &[Comparison]) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for row in rows {
        let (Some(size), Some(sequential)) = (size(row), sequential(row)) else {
            continue;
        };
        for (system, result) in &row.systems {
            let Ok(result) = result else { continue };
            if system == SEQUENTIAL {
                continue;
            }
            let point = (size, result.median / sequential);
            match curves.iter_mut().find(|curve| curve.system == system) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve {
                    system,
                    points: vec![point],
                }),
            }
        }
    }
    curves
}

fn chart(title: &str, curves: &[Curve<'_>], file: &Path) -> Result<()> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let least = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let most = points().map(|point| point.0).fold(0.0, f64::max) * 1.1;
    let highest = points().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20).into_font())
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(48)
        .build_cartesian_2d((least..most).log_scale(), 0.0..highest.min(GREATEST))?;
    let sizes = "microseconds that a region takes on one thread";
    chart.configure_mesh().x_desc(sizes).draw()?;
    let one = PathElement::new([(least, 1.0), (most, 1.0)], BLACK);
    chart.draw_series(std::iter::once(one))?;
    for (index, curve) in curves.iter().enumerate() {
        let color = Palette99::pick(index);
        let inside = curve.points.iter();
        let inside = inside.map(|&(size, ratio)| (size, ratio.min(GREATEST)));
        let key = move |(x, y)| {
            PathElement::new(
                [(x, y), (x + 20, y)],
                Palette99::pick(index).stroke_width(2),
            )
        };
        chart
            .draw_series(LineSeries::new(inside.clone(), color.stroke_width(2)))?
            .label(curve.system)
            .legend(key);
        chart.draw_series(inside.map(|point| Circle::new(point, 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(())
}

/// Returns the size that is the name of a row, in microseconds.
fn size(row: &Comparison) -> Option<f64> {
    row.name.strip_suffix("us")?.parse().ok()
}

fn sequential(row: &Comparison) -> Option<f64> {
    let mut systems = row.systems.iter();
    let (_, result) = systems.find(|(system, _)| system == SEQUENTIAL)?;
    result.as_ref().ok().map(|result| result.median)
}

#[cfg(test)]
mod tests {
    use protocol::Unit;

    use super::*;
    use crate::bench::measure::Summary;

    fn row(name: &str, systems: &[(&str, f64)]) -> Comparison {
        let summary = |median| Summary {
            median,
            min: median,
            max: median,
            n: 1,
        };
        let systems = systems.iter();
        Comparison {
            group: "regions".to_owned(),
            name: name.to_owned(),
            threads: 2,
            unit: Unit::Microseconds,
            more_is_better: false,
            systems: systems
                .map(|&(system, median)| (system.to_owned(), Ok(summary(median))))
                .collect(),
        }
    }

    #[test]
    fn a_curve_has_the_ratio_at_each_size() {
        let rows = [
            row("0.2us", &[("ours", 6.0), ("sequential", 5.0)]),
            row("10us", &[("ours", 10.0), ("sequential", 20.0)]),
        ];
        assert!(fits(&rows));
        let curves = curves(&rows);
        assert_eq!(curves.len(), 1);
        assert_eq!(curves[0].points, [(0.2, 1.2), (10.0, 0.5)]);
    }

    #[test]
    fn other_groups_are_no_curves() {
        let both = [("ours", 1.0), ("sequential", 1.0)];
        let one = || row("10us", &both);
        assert!(!fits(&[one()]));
        assert!(!fits(&[one(), row("20us", &[("ours", 1.0)])]));
        assert!(!fits(&[one(), row("fib", &both)]));
    }
}
