//! Exports the workers' counters to the crate [`metrics`](https://docs.rs/metrics), for whichever
//! recorder the program has installed: Prometheus, statsd, or another one.
//!
//! Requires the feature `metrics-facade`. A pool does not record by itself: the program calls
//! [`record`] from time to time, in a timer or before each scrape. This costs the workers nothing.
//!
//! Each metric has the label `pool`, and those of a worker also the label `worker`, its number:
//!
//! | name | kind | what it is |
//! | --- | --- | --- |
//! | `pool_std_jobs_run` and the like | counters of a worker | as in [`Counts`](crate::Counts) |
//! | `pool_std_active_seconds` and the like | gauges of a worker | as in [`WorkerTimes`] |
//! | `pool_std_queued` | gauge of a worker | about how many jobs are on its deque |
//! | `pool_std_jobs_from_outside` | gauge of a pool | about how many jobs from outside are queued |
//! | `pool_std_workers` | gauges of a pool, by the label `state` | how many workers are in it |
//!
//! The counters are `pool_std_jobs_run`, `pool_std_jobs_posted`, `pool_std_steals_tried`,
//! `pool_std_steals_succeeded`, `pool_std_steals_retried`, `pool_std_searches`, `pool_std_sleeps`,
//! `pool_std_wakes`, `pool_std_fruitless_wakes`, `pool_std_deque_full` and `pool_std_revocations`.
//! The times are `pool_std_active_seconds`, `pool_std_idle_seconds` and `pool_std_asleep_seconds`.
//! The states are `active`, `idle`, `asleep` and `absent`.
//!
//! [`WorkerTimes`]: crate::WorkerTimes

use metrics::{SharedString, Unit};

use crate::{PoolMetrics, WorkerState};

/// The states of workers that a gauge counts.
const STATES: [WorkerState; 4] = [
    WorkerState::Active,
    WorkerState::Idle,
    WorkerState::Asleep,
    WorkerState::Absent,
];

/// Calls a macro for each counter of a worker: its name, its field, and what it counts.
macro_rules! for_each_counter {
    ($macro:ident) => {
        $macro! {
            "pool_std_jobs_run" jobs_run "Jobs that workers took from queues and ran",
            "pool_std_jobs_posted" jobs_posted "Jobs that workers spawned onto their own deques",
            "pool_std_steals_tried" steals_tried "Attempts to steal from deques that were not empty",
            "pool_std_steals_succeeded" steals_succeeded "Attempts to steal that gave a job",
            "pool_std_steals_retried" steals_retried "Attempts to steal that were repeated",
            "pool_std_searches" searches "Looks at all sources of work",
            "pool_std_sleeps" sleeps "How often workers fell asleep",
            "pool_std_wakes" wakes "How often workers were woken",
            "pool_std_fruitless_wakes" fruitless_wakes "Wake-ups after which workers found no job",
            "pool_std_deque_full" deque_full "Jobs that workers ran because their deques were full",
            "pool_std_revocations" revocations "Steals after which victims pop with fences again",
        }
    };
}

/// Reports what the workers of a pool have done to the program's recorder. `pool` is the value of
/// the label `pool`.
///
/// For each pool, pass the metrics in the order in which they were taken, because counters must not
/// decrease.
///
/// # Complexity
/// Linear in the number of workers. Allocates, and calls the recorder some fifteen times per
/// worker.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// pool_std::facade::describe();
/// pool.install(|| pool_std::join(|| (), || ()));
///
/// // From time to time:
/// pool_std::facade::record("images", &pool.metrics());
/// // For a program that uses a drop-in:
/// pool_std::facade::record("rayon", &pool_std::current_metrics());
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn record(pool: impl Into<SharedString>, metrics: &PoolMetrics) {
    let pool = pool.into();
    for (index, worker) in metrics.workers().iter().enumerate() {
        let number = SharedString::from(index.to_string());
        macro_rules! record {
            ($($name:literal $field:ident $about:literal,)*) => {
                $(metrics::counter!($name, "pool" => pool.clone(), "worker" => number.clone())
                    .absolute(worker.counts.$field);)*
            };
        }
        if worker.state != WorkerState::Unknown {
            for_each_counter!(record);
        }
        if let Some(times) = worker.times {
            let gauges = [
                ("pool_std_active_seconds", times.active),
                ("pool_std_idle_seconds", times.idle),
                ("pool_std_asleep_seconds", times.asleep),
            ];
            for (name, time) in gauges {
                metrics::gauge!(name, "pool" => pool.clone(), "worker" => number.clone())
                    .set(time.as_secs_f64());
            }
        }
        metrics::gauge!("pool_std_queued", "pool" => pool.clone(), "worker" => number)
            .set(worker.queued as f64);
    }
    if let Some(jobs) = metrics.injector_len() {
        metrics::gauge!("pool_std_jobs_from_outside", "pool" => pool.clone()).set(jobs as f64);
    }
    for state in STATES {
        let workers = metrics.num_in(state) as f64;
        metrics::gauge!("pool_std_workers", "pool" => pool.clone(), "state" => state.to_string())
            .set(workers);
    }
}

/// Describes the metrics of [`record`] to the program's recorder. One call is enough.
///
/// # Examples
/// ```
/// // After the program has installed its recorder.
/// pool_std::facade::describe();
/// ```
pub fn describe() {
    macro_rules! describe {
        ($($name:literal $field:ident $about:literal,)*) => {
            $(metrics::describe_counter!($name, $about);)*
        };
    }
    for_each_counter!(describe);
    let times = [
        ("pool_std_active_seconds", "How long workers ran jobs"),
        (
            "pool_std_idle_seconds",
            "How long workers searched for jobs",
        ),
        ("pool_std_asleep_seconds", "How long workers slept"),
    ];
    for (name, about) in times {
        metrics::describe_gauge!(name, Unit::Seconds, about);
    }
    metrics::describe_gauge!("pool_std_queued", "Jobs on the deques of workers");
    metrics::describe_gauge!(
        "pool_std_jobs_from_outside",
        "Jobs from outside that no worker has taken"
    );
    metrics::describe_gauge!("pool_std_workers", "Workers in each state");
}
