//! What the program prints about time.

use std::time::Duration;

use comfy_table::{CellAlignment, Table};
use dedup::print_table;

use crate::Pass;

/// Prints how long the passes took, and how the workers spent their time.
pub(crate) fn print_times(one: &Pass, all: &Pass) {
    let workers = all.workers.len();
    let speed_up = one.time.as_secs_f64() / all.time.as_secs_f64();
    let mut times = Table::new();
    times
        .add_row(["time on 1 worker", &duration(one.time)])
        .add_row([&format!("time on {workers} workers"), &duration(all.time)])
        .add_row(["speed-up", &format!("{speed_up:.2}x")]);
    println!();
    print_table(times, [CellAlignment::Left, CellAlignment::Right]);

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
    println!();
    print_table(times, [CellAlignment::Right; 4]);
}

fn duration(duration: Duration) -> String {
    format!("{duration:.1?}")
}
