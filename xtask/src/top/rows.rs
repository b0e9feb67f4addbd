//! What happened between two answers, worker by worker.

use std::{fmt, time::Duration};

use comfy_table::{CellAlignment, Table, presets};

use super::program::{Answer, Pool, Worker};

/// The headings of a worker's fields.
pub(super) const HEADINGS: [&str; 9] = [
    "worker", "state", "queued", "jobs/s", "stolen/s", "wakes/s", "active", "for", "runs",
];
/// Which fields are numbers.
pub(super) const IS_NUMBER: [bool; 9] = [true, false, true, true, true, true, true, true, false];

/// What the workers of a program did between two answers.
pub(super) struct Rows {
    pub(super) program: String,
    pub(super) process: u32,
    pub(super) pools: Vec<PoolRows>,
}

/// What the workers of one pool did.
pub(super) struct PoolRows {
    /// One line about the whole pool.
    pub(super) summary: String,
    pub(super) workers: Vec<WorkerRow>,
}

/// What one worker did.
pub(super) struct WorkerRow {
    pub(super) state: String,
    /// In the order of the headings.
    pub(super) fields: [String; 9],
}

impl Rows {
    /// Compares two answers of one program. Of a pool that is new there are no rates.
    pub(super) fn between(before: &Answer, now: &Answer) -> Self {
        let time = Duration::from_nanos(now.time_ns.saturating_sub(before.time_ns));
        let pools = now.pools.iter().map(|pool| {
            let is_same =
                |it: &&Pool| it.number == pool.number && it.workers.len() == pool.workers.len();
            PoolRows::between(before.pools.iter().find(is_same), pool, time)
        });
        Self {
            program: now.program.clone(),
            process: now.process,
            pools: pools.collect(),
        }
    }
}

impl PoolRows {
    fn between(before: Option<&Pool>, now: &Pool, time: Duration) -> Self {
        let workers: Vec<_> = now
            .workers
            .iter()
            .enumerate()
            .map(|(index, worker)| {
                let before = before.map(|pool| &pool.workers[index]);
                WorkerRow::between(index, before, worker, time)
            })
            .collect();
        let jobs = |pool: &Pool| pool.workers.iter().map(|worker| worker.jobs).sum::<u64>();
        let queued: u64 = now.workers.iter().map(|worker| worker.queued).sum();
        let summary = format!(
            "pool {}: {} worker{}, {} jobs/s, {queued} queued, {} from outside",
            now.number,
            now.workers.len(),
            if now.workers.len() == 1 { "" } else { "s" },
            rate(before.map(jobs), jobs(now), time),
            now.jobs_from_outside
        );
        Self { summary, workers }
    }
}

impl WorkerRow {
    fn between(index: usize, before: Option<&Worker>, now: &Worker, time: Duration) -> Self {
        let rate_of = |number: fn(&Worker) -> u64| rate(before.map(number), number(now), time);
        let (runs, since) = match (&now.label, &now.job) {
            (Some(label), _) => (format!("waits: {label}"), now.blocked_ns),
            (None, Some(job)) => (job.to_string(), Some(job.for_ns)),
            (None, None) => (String::new(), None),
        };
        let fields = [
            index.to_string(),
            now.state.clone(),
            now.queued.to_string(),
            rate_of(|worker| worker.jobs),
            rate_of(|worker| worker.stolen),
            rate_of(|worker| worker.wakes),
            share_of_time(before, now),
            since.map_or_else(String::new, |since| length(Duration::from_nanos(since))),
            // A name must not break the table.
            runs.replace(char::is_control, " "),
        ];
        let state = now.state.clone();
        Self { state, fields }
    }
}

/// Returns how often something happened per second. A dash if that is not known.
fn rate(before: Option<u64>, now: u64, time: Duration) -> String {
    let Some(before) = before.filter(|_| !time.is_zero()) else {
        return "-".to_owned();
    };
    let per_second = now.saturating_sub(before) as f64 / time.as_secs_f64();
    match per_second {
        0.0..10_000.0 => format!("{per_second:.0}"),
        10_000.0..10_000_000.0 => format!("{:.0} k", per_second / 1e3),
        _ => format!("{:.0} M", per_second / 1e6),
    }
}

/// Returns the share of the time in which a worker was active.
fn share_of_time(before: Option<&Worker>, now: &Worker) -> String {
    let times = |worker: &Worker| [worker.active_ns, worker.idle_ns, worker.asleep_ns];
    let Some(before) = before.map(times) else {
        return "-".to_owned();
    };
    let mut spent = times(now);
    for (time, before) in spent.iter_mut().zip(before) {
        *time = time.saturating_sub(before);
    }
    let percent = (spent[0] * 100).checked_div(spent.iter().sum());
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"))
}

fn length(time: Duration) -> String {
    match time.as_secs() {
        0 if time.as_micros() < 1_000 => format!("{} us", time.as_micros()),
        0 => format!("{} ms", time.as_millis()),
        1..100 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min", seconds / 60),
    }
}

/// The tables of all pools.
impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, process {}", self.program, self.process)?;
        for pool in &self.pools {
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            table.set_header(HEADINGS);
            for worker in &pool.workers {
                table.add_row(&worker.fields);
            }
            for (column, is_number) in table.column_iter_mut().zip(IS_NUMBER) {
                if is_number {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
            writeln!(f, "\n{}\n{}", pool.summary, table.trim_fmt())?;
        }
        if self.pools.is_empty() {
            writeln!(f, "\nno pool")?;
        }
        Ok(())
    }
}
