//! A trace as a picture: a row for each worker, states as colors, steals and wake-ups as arrows.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use anyhow::Result;
use plotters::{
    coord::Shift,
    prelude::{
        Circle, DrawingArea, EmptyElement, IntoDrawingArea, PathElement, Rectangle, SVGBackend,
        Text,
    },
    style::{BLACK, Color, IntoFont, RGBColor, ShapeStyle, WHITE},
};

use super::file::{Kind, Row, Slice, TraceFile};

/// What one looks for in any timeline.
pub(super) const WHAT_TO_LOOK_FOR: &str = "Look for rows that are gray while others have work, and for long orange stretches: workers \
     that search in vain.";

const WIDTH: i32 = 1_200;
/// The names of the rows.
const NAMES: i32 = 220;
const MARGIN: i32 = 20;
/// Title and caption above the rows, legend and axis below.
const HEAD: i32 = 64;
const FOOT: i32 = 84;
const ROW: i32 = 34;
const BAR: i32 = 24;
/// A slice inside another one is lower by this.
const INSET: i32 = 4;
/// More arrows than this would hide everything else.
const MAX_ARROWS: usize = 300;
const TICKS: i32 = 8;

const JOB: RGBColor = RGBColor(0x4c, 0x8b, 0xc4);
const INNER_JOB: RGBColor = RGBColor(0x1f, 0x5a, 0x8f);
const PART: RGBColor = RGBColor(0x9c, 0xc8, 0xe8);
const SEARCHING: RGBColor = RGBColor(0xf2, 0xa9, 0x3b);
const ASLEEP: RGBColor = RGBColor(0xd4, 0xd4, 0xd4);
const BLOCKED: RGBColor = RGBColor(0xd0, 0x4a, 0x3f);
const GUEST: RGBColor = RGBColor(0x8a, 0x63, 0xb5);
const STEAL: RGBColor = RGBColor(0x1c, 0x7c, 0x54);
const WAKE: RGBColor = RGBColor(0x90, 0x20, 0x60);

const LEGEND: [(&str, RGBColor); 8] = [
    ("job", JOB),
    ("job in a job that waits", INNER_JOB),
    ("part with a name", PART),
    ("searching", SEARCHING),
    ("asleep", ASLEEP),
    ("blocked", BLOCKED),
    ("guest", GUEST),
    ("wakes", WAKE),
];

/// A picture to draw.
pub(super) struct Timeline<'t> {
    pub(super) title: Cow<'t, str>,
    /// What one should look for.
    pub(super) caption: &'t str,
    pub(super) trace: &'t TraceFile,
}

type Area<'f> = DrawingArea<SVGBackend<'f>, Shift>;

impl Timeline<'_> {
    /// Draws the picture into a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn draw(&self, file: &Path) -> Result<()> {
        let (from, to) = (self.trace.begin, self.trace.end);
        let rows = self.trace.rows.keys().copied().zip(0..).collect();
        let scale = Scale { from, to, rows };
        let height = HEAD + ROW * scale.rows.len() as i32 + FOOT;
        let area = SVGBackend::new(file, (WIDTH as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        text(&area, &self.title, (MARGIN, 12), 20)?;
        text(&area, self.caption, (MARGIN, 38), 14)?;
        for (row, name) in &self.trace.rows {
            let (_, y) = scale.point((*row, from));
            text(&area, name, (MARGIN, y - 7), 14)?;
        }
        self.draw_slices(&area, &scale)?;
        self.draw_arrows(&area, &scale)?;
        draw_axis(&area, &scale, height)?;
        draw_legend(&area, height)?;
        area.present()?;
        Ok(())
    }

    fn draw_slices(&self, area: &Area<'_>, scale: &Scale) -> Result<()> {
        // Where the last slice of a row and depth ends. What would be less than a pixel, right
        // after another one, is left out.
        let mut drawn: BTreeMap<(Row, usize), i32> = BTreeMap::new();
        for slice in &self.trace.slices {
            let ((left, y), (right, _)) = (
                scale.point((slice.row, slice.begin)),
                scale.point((slice.row, slice.end)),
            );
            let right = right.max(left + 1);
            let last = drawn.insert((slice.row, slice.depth), right);
            if last.is_some_and(|last| right <= last) {
                continue;
            }
            let half = BAR / 2 - INSET * slice.depth.min(2) as i32;
            let corners = [(left, y - half), (right, y + half)];
            area.draw(&Rectangle::new(corners, color_of(slice).filled()))?;
            if right - left > 6 {
                // So that one sees where one job ends and the next one begins.
                let edge = ShapeStyle::from(WHITE.mix(0.8)).stroke_width(1);
                area.draw(&Rectangle::new(corners, edge))?;
            }
        }
        Ok(())
    }

    fn draw_arrows(&self, area: &Area<'_>, scale: &Scale) -> Result<()> {
        let arrows = self.trace.arrows.iter();
        let arrows: Vec<_> = arrows.filter(|arrow| arrow.from.0 != arrow.to.0).collect();
        let step = arrows.len().div_ceil(MAX_ARROWS).max(1);
        for arrow in arrows.iter().step_by(step) {
            let (from, to) = (scale.point(arrow.from), scale.point(arrow.to));
            let color = if arrow.is_steal { STEAL } else { WAKE };
            area.draw(&PathElement::new([from, to], color.stroke_width(1)))?;
            area.draw(&(EmptyElement::at(to) + Circle::new((0, 0), 3, color.filled())))?;
        }
        Ok(())
    }
}

/// From rows and times to pixels.
struct Scale {
    from: f64,
    to: f64,
    rows: BTreeMap<Row, i32>,
}

impl Scale {
    /// Returns the middle of a row at a time, or where the picture ends.
    fn point(&self, (row, time): (Row, f64)) -> (i32, i32) {
        let left = MARGIN + NAMES;
        let width = f64::from(WIDTH - MARGIN - left);
        let share = ((time - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        let row = self.rows.get(&row).copied().unwrap_or(0);
        (left + (share * width) as i32, HEAD + ROW * row + ROW / 2)
    }
}

fn color_of(slice: &Slice) -> RGBColor {
    match (slice.kind, &*slice.name) {
        (Kind::Job, _) if slice.depth > 0 => INNER_JOB,
        (Kind::Job, _) => JOB,
        (Kind::Part, _) => PART,
        (Kind::State, name) => color_of_state(name),
    }
}

fn color_of_state(name: &str) -> RGBColor {
    match name {
        "searching" => SEARCHING,
        "asleep" => ASLEEP,
        "blocked" => BLOCKED,
        "guest" => GUEST,
        _ => WAKE,
    }
}

fn draw_axis(area: &Area<'_>, scale: &Scale, height: i32) -> Result<()> {
    let left = MARGIN + NAMES;
    let y = height - FOOT + 8;
    let ends = [(left, y), (WIDTH - MARGIN, y)];
    area.draw(&PathElement::new(ends, BLACK.stroke_width(1)))?;
    let width = WIDTH - MARGIN - left;
    for tick in 0..=TICKS {
        let x = left + width * tick / TICKS;
        let time = scale.from + (scale.to - scale.from) * f64::from(tick) / f64::from(TICKS);
        area.draw(&PathElement::new(
            [(x, y), (x, y + 4)],
            BLACK.stroke_width(1),
        ))?;
        let digits = if scale.to - scale.from < 100.0 { 2 } else { 0 };
        let label = format!("{time:.digits$}");
        text(area, &label, (x - 6 * label.len() as i32 / 2, y + 8), 12)?;
    }
    text(area, "ms", (MARGIN, y + 8), 12)
}

fn draw_legend(area: &Area<'_>, height: i32) -> Result<()> {
    let y = height - 34;
    let mut x = MARGIN;
    for (name, color) in LEGEND {
        let corners = [(x, y), (x + 14, y + 14)];
        area.draw(&Rectangle::new(corners, color.filled()))?;
        text(area, name, (x + 20, y), 13)?;
        x += 40 + 7 * name.len() as i32;
    }
    for (name, color) in [("steal", STEAL), ("wake-up", WAKE)] {
        let ends = [(x, y + 7), (x + 22, y + 7)];
        area.draw(&PathElement::new(ends, color.stroke_width(1)))?;
        area.draw(&(EmptyElement::at(ends[1]) + Circle::new((0, 0), 3, color.filled())))?;
        text(area, name, (x + 30, y), 13)?;
        x += 60 + 7 * name.len() as i32;
    }
    Ok(())
}

fn text(area: &Area<'_>, words: &str, place: (i32, i32), size: u32) -> Result<()> {
    let style = ("sans-serif", size).into_font().color(&BLACK);
    // XML has no control characters, and names of files and rows may.
    let words = words.replace(char::is_control, " ");
    area.draw(&Text::new(words, place, style))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"otherData":{"overwritten":0},"traceEvents":[
        {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker 0"}},
        {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker 1"}},
        {"ph":"X","name":"main","cat":"job","pid":1,"tid":1,"ts":0,"dur":4000,"args":{}},
        {"ph":"X","name":"a part","cat":"label","pid":1,"tid":1,"ts":1000,"dur":1000,"args":{}},
        {"ph":"X","name":"asleep","cat":"state","pid":1,"tid":2,"ts":0,"dur":500,"args":{}},
        {"ph":"s","name":"wake-up","id":1,"cat":"wake-up","pid":1,"tid":1,"ts":400},
        {"ph":"f","name":"wake-up","id":1,"cat":"wake-up","bp":"e","pid":1,"tid":2,"ts":500}]}"#;

    fn drawn(trace: &TraceFile) -> String {
        let file = format!("timeline-{}-{}.svg", std::process::id(), trace.begin);
        let file = std::env::temp_dir().join(file);
        let timeline = Timeline {
            title: "a title".into(),
            caption: WHAT_TO_LOOK_FOR,
            trace,
        };
        timeline.draw(&file).unwrap();
        let svg = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        svg
    }

    fn has(svg: &str, color: RGBColor) -> bool {
        let RGBColor(red, green, blue) = color;
        // Beside the one in the legend.
        let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
        svg.matches(&fill).count() > 1
    }

    #[test]
    fn draws_rows_states_and_a_caption() {
        let svg = drawn(&TraceFile::parse(TRACE).unwrap());
        for word in [
            "a title",
            WHAT_TO_LOOK_FOR,
            "worker 0",
            "worker 1",
            "blocked",
        ] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
        assert!(
            has(&svg, JOB) && has(&svg, ASLEEP) && !has(&svg, BLOCKED),
            "{svg}"
        );
    }

    /// Reproduces a bug: a control character in the name of the file or of a row was written as it
    /// is, which XML does not allow, so that no browser showed the picture.
    #[test]
    fn names_have_no_control_characters() {
        let text = TRACE.replace("worker 0", "worker \\u0001\\u001b[31m<0>");
        let svg = drawn(&TraceFile::parse(&text).unwrap());
        let is_control = |it: char| it.is_control() && it != '\n';
        assert!(!svg.contains(is_control), "{svg}");
        assert!(svg.contains("[31m&lt;0&gt;"), "{svg}");
    }

    #[test]
    fn draws_a_part() {
        let part = TraceFile::parse(TRACE).unwrap().between(1.0, 2.0).unwrap();
        let svg = drawn(&part);
        let has = |color| has(&svg, color);
        assert!(has(JOB) && has(PART) && !has(ASLEEP), "{svg}");
    }
}
