//! What the program prints about time.

use std::{
    io::{self, Write},
    time::Duration,
};

use comfy_table::{CellAlignment, Table};
use dedup::print_table;

use crate::Pass;

/// Prints how long the passes took, and how the workers spent their time.
pub(crate) fn print_times(out: &mut impl Write, one: &Pass, all: &Pass) -> io::Result<()> {
    let workers = all.workers.len();
    let mut times = Table::new();
    times
        .add_row(["time on 1 worker", &duration(one.time)])
        .add_row([&format!("time on {workers} workers"), &duration(all.time)])
        .add_row(["speed-up", &speed_up(one.time, all.time)]);
    writeln!(out)?;
    print_table(out, times, [CellAlignment::Left, CellAlignment::Right])?;

    let mut times = Table::new();
    times.set_header(["worker", "active", "idle", "asleep"]);
    for (index, worker) in all.workers.iter().enumerate() {
        times.add_row([
            index.to_string(),
            duration(worker.active),
            duration(worker.idle),
            duration(worker.asleep),
        ]);
    }
    writeln!(out)?;
    print_table(out, times, [CellAlignment::Right; 4])
}

/// The shortest pass that tells something: in a shorter one, a worker that wakes late or a page
/// that is read for the first time is a large part.
const MEASURABLE: Duration = Duration::from_millis(10);

/// Returns how many times as fast the second pass was.
fn speed_up(one: Duration, all: Duration) -> String {
    if one.min(all) < MEASURABLE {
        return "too short to measure".to_owned();
    }
    format!("{:.2}x", one.as_secs_f64() / all.as_secs_f64())
}

fn duration(duration: Duration) -> String {
    format!("{duration:.1?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_is_too_short_to_measure_has_no_speed_up() {
        let milliseconds = Duration::from_millis;
        let micros = Duration::from_micros;
        assert_eq!(speed_up(milliseconds(300), milliseconds(200)), "1.50x");
        for (one, all) in [
            (547, 100),
            (100, 100),
            (11_000, 9_999),
            (9_999, 11_000),
            (0, 0),
        ] {
            assert_eq!(speed_up(micros(one), micros(all)), "too short to measure");
        }
    }
}
