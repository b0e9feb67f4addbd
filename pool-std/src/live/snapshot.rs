//! What a viewer is told.

use std::{
    env,
    fmt::{self, Write as _},
    iter,
    path::Path,
    process,
    time::Duration,
};

use pool_core::WorkerMetrics;

use crate::{
    blocking::state::{WorkerStatus, state_of},
    clock,
    metrics::metrics_of,
    platform::Registry,
    thread_pool::pools,
    trace::{RunningJob, json::Text},
};

/// Returns what all workers of the process do, as one line of JSON.
pub(super) fn take() -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    _ = write(&mut text);
    text
}

fn write(text: &mut String) -> fmt::Result {
    let program = env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name);
    let program = program.map_or_else(Default::default, |name| name.to_string_lossy());
    write!(
        text,
        "{{\"process\":{},\"program\":{},\"time_ns\":{},\"pools\":[",
        process::id(),
        Text(&program),
        clock::now().unwrap_or(0)
    )?;
    for (separator, (number, registry)) in separators().zip(pools::all()) {
        text.push_str(separator);
        write_pool(text, number, &registry)?;
    }
    text.push_str("]}\n");
    Ok(())
}

fn write_pool(text: &mut String, number: usize, registry: &Registry) -> fmt::Result {
    let state = state_of(registry);
    let jobs = registry.data().rings.running_jobs();
    let metrics = metrics_of(registry);
    let outside = state.jobs_from_outside();
    write!(
        text,
        "{{\"number\":{number},\"jobs_from_outside\":{outside},\"workers\":["
    )?;
    let workers = state.workers().iter().zip(metrics.workers());
    for (separator, (status, metrics)) in separators().zip(workers) {
        text.push_str(separator);
        let job = jobs.get(status.index).and_then(Option::as_ref);
        write_worker(text, status, metrics, job)?;
    }
    text.push_str("]}");
    Ok(())
}

fn write_worker(
    text: &mut String,
    status: &WorkerStatus,
    metrics: &WorkerMetrics,
    job: Option<&RunningJob>,
) -> fmt::Result {
    let counts = metrics.counts;
    let label = status.label().map(Text);
    write!(
        text,
        "{{\"state\":\"{}\",\"label\":{},\"blocked_ns\":{},\"queued\":{},\"jobs\":{},\
         \"posted\":{},\"stolen\":{},\"sleeps\":{},\"wakes\":{},\"fruitless\":{}",
        status.activity.name(),
        OrNull(label),
        OrNull(status.blocked_for.as_ref().map(Duration::as_nanos)),
        status.queued,
        counts.jobs_run,
        counts.jobs_posted,
        counts.steals_succeeded,
        counts.sleeps,
        counts.wakes,
        counts.fruitless_wakes,
    )?;
    let times = metrics.times.unwrap_or_default();
    write!(
        text,
        ",\"active_ns\":{},\"idle_ns\":{},\"asleep_ns\":{},\"job\":{}}}",
        times.active.as_nanos(),
        times.idle.as_nanos(),
        times.asleep.as_nanos(),
        OrNull(job.map(Job))
    )
}

struct Job<'j>(&'j RunningJob);

impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunningJob {
            name,
            part,
            running_for,
            depth,
        } = *self.0;
        let (short, full) = match name {
            Some(name) => (
                crate::trace::short_name(name),
                name.get().unwrap_or("unknown"),
            ),
            None => ("guest", "guest"),
        };
        write!(
            f,
            "{{\"name\":{},\"type\":{},\"part\":{},\"for_ns\":{},\"depth\":{depth}}}",
            Text(short),
            Text(full),
            OrNull(part.map(Text)),
            running_for.as_nanos()
        )
    }
}

/// A value, or `null`.
struct OrNull<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OrNull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// Returns what stands before each element of a list.
fn separators() -> impl Iterator<Item = &'static str> {
    iter::once("").chain(iter::repeat(","))
}
