//! What the detection of deadlocks knows of workers that are parked, and of those whose places are
//! lent.

use std::sync::{
    Arc, Barrier, Mutex,
    atomic::{AtomicBool, Ordering::SeqCst},
    mpsc,
};

#[cfg(not(miri))]
use crate::handlers::child_aborts;
use crate::support::{Gate, builder_with_reports, pool_with_reports, wait_for, wait_for_asleep};
use pool_std::{
    ActiveWorkersError, PoolHandle, ThreadPool, ThreadPoolBuilder, block_in_place,
    current_thread_index, spawn, spawn_broadcast,
};

/// How often a test tries to hit the moment in which a mistake would show.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 500 };

#[test]
fn parked_workers_do_not_hide_a_deadlock() {
    let (pool, reports) = pool_with_reports(3);
    pool.set_active_workers(1).unwrap();
    let gate = Arc::new(Gate::default());
    let waiting = gate.clone();
    pool.spawn(move || waiting.wait("a gate"));
    assert_eq!(reports.next_labels(), ["a gate"]);
    gate.open();
    reports.expect_no_more(pool);
}

/// Lets worker 0 of two wait at the gate, and parks worker 1 when it does.
fn block_one_and_park_the_other(pool: &Arc<ThreadPool>, gate: &Arc<Gate>) {
    let (waiting, inner) = (gate.clone(), pool.clone());
    let both_run = Barrier::new(2);
    pool.spawn_broadcast(move |context| {
        // A worker that blocks before the other one has its job, and while that one sleeps, is a
        // deadlock.
        both_run.wait();
        match context.index() {
            0 => waiting.wait("a gate"),
            _ => {
                waiting.wait_for_blocked(1);
                inner.set_active_workers(1).unwrap();
            }
        }
    });
}

/// The handler runs on a thread that has ceased to be a worker, and under a lock that the workers
/// need.
#[test]
#[cfg(not(miri))]
fn a_handler_of_a_parking_worker_that_waits_for_the_pool_aborts() {
    let name = "elastic_deadlock::a_handler_of_a_parking_worker_that_waits_for_the_pool_aborts";
    let message = "pool-std: a deadlock handler waited for its own pool; aborting";
    child_aborts(name, message, || {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let handle: Arc<Mutex<Option<Arc<ThreadPool>>>> = Arc::default();
        let of_handler = handle.clone();
        let builder = builder.deadlock_handler(move |_| {
            let pool = of_handler.lock().unwrap().clone().unwrap();
            pool.install(|| ());
        });
        let pool = Arc::new(builder.build().unwrap());
        *handle.lock().unwrap() = Some(pool.clone());
        let gate = Arc::new(Gate::default());
        block_one_and_park_the_other(&pool, &gate);
        loop {
            std::thread::park();
        }
    });
}

// The worker that parks is the last one that was active.
#[test]
fn a_worker_that_parks_completes_a_deadlock() {
    let (pool, reports) = pool_with_reports(2);
    let pool = Arc::new(pool);
    for _ in 0..ROUNDS.min(50) {
        let gate = Arc::new(Gate::default());
        block_one_and_park_the_other(&pool, &gate);
        assert_eq!(reports.next_labels(), ["a gate"]);
        gate.open();
        pool.set_active_workers(2).unwrap();
    }
    reports.expect_none();
}

// The thread is not the worker any more, but the handler is one of its pool.
#[test]
fn the_current_pool_of_a_handler_of_a_worker_that_parks_is_its_own() {
    let (sender, receiver) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .deadlock_handler(move |_| sender.send(PoolHandle::current()).unwrap())
        .build()
        .unwrap();
    let (pool, gate) = (Arc::new(pool), Arc::new(Gate::default()));
    block_one_and_park_the_other(&pool, &gate);
    assert_eq!(receiver.recv(), Ok(pool.handle()));
    gate.open();
}

// The handler runs while the pool's worker parks, and uses pools that are not concerned.
#[test]
fn a_handler_of_a_worker_that_parks_may_broadcast_to_another_pool_and_end_one() {
    let build = || ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (other, last) = (build(), Mutex::new(Some(build())));
    let (sender, receiver) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .deadlock_handler(move |_| {
            let sender = sender.clone();
            other.spawn_broadcast(move |_| sender.send(()).unwrap());
            drop(last.lock().unwrap().take());
        })
        .build()
        .unwrap();
    let (pool, gate) = (Arc::new(pool), Arc::new(Gate::default()));
    block_one_and_park_the_other(&pool, &gate);
    receiver.recv().unwrap();
    gate.open();
}

// The job of a broadcast opens the gate. It is queued for a worker that is parked, or about to
// park.
#[test]
fn a_parked_worker_with_a_job_counts() {
    let (pool, reports) = pool_with_reports(2);
    for _ in 0..ROUNDS {
        pool.set_active_workers(1).unwrap();
        let gate = Arc::new(Gate::default());
        pool.install(|| {
            if current_thread_index() == Some(1) {
                // It took this job before it saw that it shall park. It cannot open the gate while
                // it waits.
                return;
            }
            let opening = gate.clone();
            spawn_broadcast(move |context| {
                if context.index() == 1 {
                    opening.open();
                }
            });
            gate.wait("a gate");
        });
        pool.set_active_workers(2).unwrap();
    }
    reports.expect_no_more(pool);
}

#[test]
fn a_handler_cannot_change_the_number_of_active_workers() {
    let pool: Arc<Mutex<Option<ThreadPool>>> = Arc::default();
    let (sender, receiver) = mpsc::channel();
    let (inner, sender) = (pool.clone(), Mutex::new(sender));
    let built = ThreadPoolBuilder::new()
        .num_threads(2)
        .deadlock_handler(move |_| {
            let pool = inner.lock().unwrap();
            let result = pool.as_ref().unwrap().set_active_workers(1);
            sender.lock().unwrap().send(result).unwrap();
        })
        .build()
        .unwrap();
    let gate = Arc::new(Gate::default());
    let waiting = gate.clone();
    let mut guard = pool.lock().unwrap();
    built.spawn(move || waiting.wait("a gate"));
    *guard = Some(built);
    drop(guard);
    assert_eq!(receiver.recv(), Ok(Err(ActiveWorkersError::InHandler)));
    gate.open();
    let built = pool.lock().unwrap().take().unwrap();
    assert_eq!(built.set_active_workers(1), Ok(2));
}

// The closure opens the gate for which a job waits that a spare runs: no worker runs meanwhile, but
// the closure does.
#[test]
fn a_closure_that_blocks_in_place_counts() {
    let (pool, reports) = builder_with_reports(1, |builder| {
        builder.max_blocking_threads(1).build().unwrap()
    });
    for _ in 0..ROUNDS.min(50) {
        let gate = Arc::new(Gate::default());
        pool.install(|| {
            let waiting = gate.clone();
            spawn(move || waiting.wait("a gate"));
            block_in_place(|| {
                gate.wait_for_blocked(1);
                reports.expect_none();
                gate.open();
            });
        });
    }
    reports.expect_no_more(pool);
}

// The spare is blocked in a job, and the lender waits for it.
#[test]
fn a_closure_that_has_ended_does_not_count() {
    let (pool, reports) = builder_with_reports(1, |builder| {
        builder.max_blocking_threads(1).build().unwrap()
    });
    let gate = Arc::new(Gate::default());
    let (waiting, seen) = (gate.clone(), gate.clone());
    pool.spawn(move || {
        spawn(move || waiting.wait("a gate"));
        block_in_place(|| seen.wait_for_blocked(1));
    });
    assert_eq!(reports.next_labels(), ["a gate"]);
    gate.open();
    reports.expect_no_more(pool);
}

// The closure waits for the outside while everything else is blocked or asleep.
#[test]
fn a_lent_worker_stays_active() {
    let (pool, reports) = builder_with_reports(2, |builder| {
        builder.max_blocking_threads(1).build().unwrap()
    });
    let gate = Arc::new(Gate::default());
    let may_end = Arc::new(AtomicBool::new(false));
    let (ends, waiting) = (may_end.clone(), gate.clone());
    pool.spawn(move || block_in_place(|| wait_for(|| ends.load(SeqCst))));
    pool.spawn(move || waiting.wait("a gate"));
    gate.wait_for_blocked(1);
    reports.expect_none();
    may_end.store(true, SeqCst);
    // Now the other worker falls asleep.
    assert_eq!(reports.next_labels(), ["a gate"]);
    wait_for_asleep(&pool, 1);
    gate.open();
    reports.expect_no_more(pool);
}
