//! What the crate `metrics` is told.

use std::collections::HashMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshot};
use pool_std::{ThreadPoolBuilder, facade};

/// Returns what was recorded, by name and labels.
fn recorded(snapshot: Snapshot) -> HashMap<String, f64> {
    let text_and_value = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| {
        let labels = key.key().labels();
        let labels: Vec<_> = labels
            .map(|it| format!("{}={}", it.key(), it.value()))
            .collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(_) => panic!("there is none"),
        };
        (format!("{} {}", key.key().name(), labels.join(" ")), value)
    };
    snapshot
        .into_vec()
        .into_iter()
        .map(text_and_value)
        .collect()
}

#[test]
fn the_recorder_has_what_the_workers_have_counted() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| ());
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let metrics = pool.metrics();
    metrics::with_local_recorder(&recorder, || {
        facade::describe();
        facade::record("sums", &metrics);
    });
    let values = recorded(snapshotter.snapshot());
    for (index, worker) in metrics.workers().iter().enumerate() {
        let value = |name: &str| values.get(&format!("pool_std_{name} pool=sums worker={index}"));
        assert_eq!(value("queued"), Some(&0.0));
        if cfg!(feature = "metrics") {
            assert_eq!(value("jobs_run"), Some(&(worker.counts.jobs_run as f64)));
            assert_eq!(value("sleeps"), Some(&(worker.counts.sleeps as f64)));
            // A thread that has not begun yet has no times.
            let active = worker.times.map(|times| times.active.as_secs_f64());
            assert_eq!(value("active_seconds").copied(), active);
        }
    }
    assert_eq!(values["pool_std_jobs_from_outside pool=sums"], 0.0);
    let states = ["active", "idle", "asleep", "absent"];
    let workers = states.map(|state| values[&format!("pool_std_workers pool=sums state={state}")]);
    assert_eq!(workers.iter().sum::<f64>(), 2.0);

    // Counters go on from where they were.
    pool.install(|| ());
    let later = pool.metrics();
    metrics::with_local_recorder(&recorder, || facade::record("sums", &later));
    let values = recorded(snapshotter.snapshot());
    let runs = values
        .iter()
        .filter(|(name, _)| name.starts_with("pool_std_jobs_run"));
    let runs: f64 = runs.map(|(_, value)| value).sum();
    assert_eq!(runs, later.sum().jobs_run as f64);
}

/// What is recorded is what is described.
#[test]
fn all_that_is_recorded_is_described() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        facade::describe();
        facade::record("one", &pool.metrics());
    });
    for (key, _, description, _) in snapshotter.snapshot().into_vec() {
        assert!(description.is_some(), "{key:?}");
    }
}
