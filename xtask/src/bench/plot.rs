//! The results as charts: for each group, how the others compare with ours. Groups over sizes are
//! drawn by `curve`.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use plotters::{
    coord::ranged1d::{IntoSegmentedCoord, SegmentValue},
    prelude::{ChartBuilder, IntoDrawingArea, Rectangle, SVGBackend},
    style::{BLACK, Color, IntoFont, Palette, Palette99, WHITE},
};

use super::{curve, measure::Comparison};

const WIDTH: u32 = 960;
const ROW: u32 = 18;
/// Title, axis and legend.
const FRAME: u32 = 120;

/// A bar of a chart.
struct Bar<'a> {
    label: String,
    system: &'a str,
    /// The other's time to ours.
    ratio: f64,
}

/// Draws `GROUP.svg` for each group that we take part in, or curves. Where all systems are ours,
/// draws a chart for each workload: `GROUP-NAME.svg`.
pub(crate) fn draw(comparisons: &[Comparison], directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    for group in comparisons.chunk_by(|one, next| one.group == next.group) {
        let name = &group[0].group;
        if curve::fits(group) {
            curve::draw(group, directory)?;
        } else if group.iter().all(has_no_peer) {
            for workload in group.chunk_by(|one, next| one.name == next.name) {
                draw_one(&format!("{name}-{}", workload[0].name), workload, directory)?;
            }
        } else {
            draw_one(name, group, directory)?;
        }
    }
    Ok(())
}

fn has_no_peer(comparison: &Comparison) -> bool {
    let mut systems = comparison.systems.iter();
    systems.all(|(system, _)| system.starts_with("ours"))
}

fn draw_one(name: &str, comparisons: &[Comparison], directory: &Path) -> Result<()> {
    let bars = bars(comparisons);
    if !bars.is_empty() {
        let file = directory.join(format!("{name}.svg"));
        chart(name, &bars, &file)
            .with_context(|| format!("{} could not be drawn", file.display()))?;
        println!("{}", file.display());
    }
    Ok(())
}

fn bars(group: &[Comparison]) -> Vec<Bar<'_>> {
    let mut bars = Vec::new();
    for comparison in group {
        for (system, result) in comparison.systems.iter().skip(1) {
            let ratio = result
                .as_ref()
                .ok()
                .and_then(|other| comparison.ratio(other));
            // What was not done at all has no bar.
            if let Some(ratio) = ratio.map(f64::recip).filter(|ratio| ratio.is_finite()) {
                bars.push(Bar {
                    label: format!(
                        "{}, {} workers: {system}",
                        comparison.name, comparison.threads
                    ),
                    system,
                    ratio,
                });
            }
        }
    }
    bars
}

fn chart(group: &str, bars: &[Bar<'_>], file: &Path) -> Result<()> {
    let rows = i32::try_from(bars.len())?;
    let height = FRAME + ROW * u32::try_from(rows)?;
    let area = SVGBackend::new(file, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let greatest = bars.iter().map(|bar| bar.ratio).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(
            format!("{group}: the other's time, ours is 1"),
            ("sans-serif", 20).into_font(),
        )
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(300)
        .build_cartesian_2d(0.0..greatest * 1.1, (0..rows).into_segmented())?;
    let label = |row: &SegmentValue<i32>| match row {
        SegmentValue::CenterOf(row) => usize::try_from(rows - 1 - row)
            .ok()
            .and_then(|row| bars.get(row))
            .map_or_else(String::new, |bar| bar.label.clone()),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(bars.len())
        .y_label_formatter(&label)
        .draw()?;
    let mut systems: Vec<&str> = bars.iter().map(|bar| bar.system).collect();
    systems.sort_unstable();
    systems.dedup();
    chart.draw_series((0..rows).rev().zip(bars).map(|(row, bar)| {
        let colour = systems.iter().position(|system| *system == bar.system);
        let style = Palette99::pick(colour.unwrap_or(0)).filled();
        let corners = [
            (0.0, SegmentValue::Exact(row)),
            (bar.ratio, SegmentValue::Exact(row + 1)),
        ];
        let mut rectangle = Rectangle::new(corners, style);
        rectangle.set_margin(3, 3, 0, 0);
        rectangle
    }))?;
    let ours = [
        (1.0, SegmentValue::Exact(0)),
        (1.0, SegmentValue::Exact(rows)),
    ];
    chart.draw_series(std::iter::once(plotters::element::PathElement::new(
        ours, BLACK,
    )))?;
    area.present()?;
    Ok(())
}
