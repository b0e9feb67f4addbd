//! What the detection of deadlocks knows of threads that the system has refused.

use std::{
    sync::{OnceLock, mpsc},
    time::Duration,
};

use pool_core::accounting::State;

use super::*;
use crate::{ThreadPool, ThreadPoolBuilder};

/// Makes the system refuse the thread of a worker, or start it.
fn refuse(registry: &Registry, index: usize, is_refused: bool) {
    let mut pending = lock(&registry.data().lazy.pending);
    let thread = pending.iter_mut().find(|it| it.index.get() == index);
    // No system has so many addresses.
    thread.unwrap().stack_size = is_refused.then_some(usize::MAX / 4);
}

fn assert_refused(registry: &Arc<Registry>, expected: usize) {
    match LazyThreads::start(registry) {
        Err(BuildError::Spawn { index, .. }) => assert_eq!(index, expected),
        other => panic!("{other:?}"),
    }
}

/// Whether each worker is absent for the detection of deadlocks.
fn absent(registry: &Registry) -> Vec<bool> {
    let workers = (0..registry.num_workers()).map(|index| registry.worker(index).unwrap());
    let states = workers.map(|worker| registry.deadlock().state(worker));
    states.map(|state| state == State::Absent).collect()
}

fn lazy() -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(3).lazy_threads()
}

/// A worker whose thread is being started could still end what another one waits for.
#[test]
fn a_worker_counts_from_the_start_of_its_thread_to_its_refusal() {
    let pool: Arc<OnceLock<ThreadPool>> = Arc::default();
    let (sender, seen) = mpsc::channel();
    let builder = lazy().start_handler({
        let pool = pool.clone();
        move |index| {
            if index == 1 {
                sender.send(absent(&pool.get().unwrap().registry)).unwrap();
            }
        }
    });
    let registry = &pool.get_or_init(|| builder.build().unwrap()).registry;
    assert_eq!(absent(registry), [false; 3], "no thread was refused");
    refuse(registry, 1, true);
    for _ in 0..2 {
        assert_refused(registry, 1);
        assert_eq!(absent(registry), [false, true, true]);
    }
    refuse(registry, 1, false);
    refuse(registry, 2, true);
    assert_refused(registry, 2);
    assert_eq!(absent(registry), [false, false, true]);
    assert!(!seen.recv().unwrap()[1]);
    refuse(registry, 2, false);
    LazyThreads::start(registry).unwrap();
    assert_eq!(absent(registry), [false; 3]);
    pool.get().unwrap().shutdown_timeout(Duration::MAX).unwrap();
}

/// The first thread runs a job that blocks, and the system refuses the second one.
#[test]
fn a_deadlock_of_the_threads_that_have_started_is_reported() {
    let (sender, reports) = mpsc::channel();
    let (go_on, is_over) = mpsc::channel::<()>();
    let is_over = Mutex::new(Some(is_over));
    let builder = lazy().deadlock_handler(move |report| sender.send(report.to_string()).unwrap());
    let pool = builder.start_handler(move |_| {
        if let Some(is_over) = lock(&is_over).take() {
            crate::spawn(move || _ = crate::blocking("a message", |_| is_over.recv()));
        }
    });
    let pool = pool.build().unwrap();
    refuse(&pool.registry, 1, true);
    assert_refused(&pool.registry, 1);
    let report = reports.recv_timeout(Duration::from_secs(120)).unwrap();
    assert!(report.contains("a message"), "{report}");
    drop(go_on);
    pool.shutdown().unwrap();
}

/// The thread that calls the handler may be in the middle of starting them.
#[test]
fn a_deadlock_handler_of_the_pool_starts_no_threads() {
    let pool: Arc<OnceLock<ThreadPool>> = Arc::default();
    let (sender, reports) = mpsc::channel();
    let (go_on, is_over) = mpsc::channel::<()>();
    let (job_sender, job_runs) = mpsc::channel();
    let is_over = Mutex::new(Some(is_over));
    let builder = lazy().deadlock_handler({
        let pool = pool.clone();
        move |_| {
            let (pool, job_sender) = (pool.get().unwrap(), job_sender.clone());
            pool.spawn(move || job_sender.send(()).unwrap());
            pool.start_threads().unwrap();
            sender.send(()).unwrap();
        }
    });
    let builder = builder.start_handler(move |_| {
        if let Some(is_over) = lock(&is_over).take() {
            crate::spawn(move || {
                // The second report comes on this thread.
                for _ in 0..2 {
                    _ = crate::blocking("a message", |_| is_over.recv());
                }
            });
        }
    });
    let registry = &pool.get_or_init(|| builder.build().unwrap()).registry;
    refuse(registry, 1, true);
    let starting = registry.clone();
    std::thread::spawn(move || assert_refused(&starting, 1));
    let limit = Duration::from_secs(120);
    for _ in 0..2 {
        reports.recv_timeout(limit).expect("the handler returns");
        go_on.send(()).unwrap();
    }
    for _ in 0..2 {
        job_runs.recv_timeout(limit).expect("the first thread runs");
    }
    assert_eq!(absent(registry), [false, true, true]);
    pool.get().unwrap().shutdown_timeout(Duration::MAX).unwrap();
}
