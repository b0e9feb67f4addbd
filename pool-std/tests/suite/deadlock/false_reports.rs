//! What is not a deadlock and must not be reported.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{Activity, current_state, current_thread_index, join, spawn_broadcast};

use super::ROUNDS;
use crate::support::{Gate, builder_with_reports, pool_with_reports, wait_for_asleep};

#[test]
fn no_report_of_a_fresh_or_idle_pool() {
    for round in 0..ROUNDS / 20 + 1 {
        let (pool, reports) = pool_with_reports(round % 4 + 1);
        if round % 3 > 0 {
            wait_for_asleep(&pool, pool.current_num_threads());
        }
        if round % 2 > 0 {
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
            wait_for_asleep(&pool, pool.current_num_threads());
        }
        reports.expect_no_more(pool);
    }
}

/// The first worker of a pool may block while the threads of the others are still being started.
#[test]
fn workers_whose_threads_have_not_started_are_active() {
    for _ in 0..ROUNDS / 20 + 1 {
        let gate = Arc::new(Gate::default());
        let (waiting, opening) = (gate.clone(), gate.clone());
        let (pool, reports) = builder_with_reports(2, |builder| {
            builder
                .start_handler(move |index| match index {
                    0 => waiting.wait("the other worker"),
                    _ => opening.open(),
                })
                .build()
                .unwrap()
        });
        reports.expect_no_more(pool);
    }
}

/// A thread that is dropped after the build is replaced. The pool has counted that worker as there,
/// and goes on to do so.
#[test]
fn a_worker_whose_thread_is_replaced_counts_once() {
    let gate = Arc::new(Gate::default());
    let mut kept = None;
    let (pool, reports) = builder_with_reports(2, |builder| {
        let start = |thread: pool_std::ThreadBuilder| {
            if thread.index() == 0 {
                thread::spawn(|| thread.run());
            } else {
                kept = Some(thread);
            }
            Ok(())
        };
        builder.spawn_handler(start).build().unwrap()
    });
    let waiting = gate.clone();
    pool.spawn(move || waiting.wait("a gate"));
    gate.wait_for_blocked(1);
    reports.expect_none();
    drop(kept);
    let report = reports.next();
    assert_eq!(report.workers()[1].activity, Activity::Asleep);
    gate.open();
    reports.expect_no_more(pool);
}

/// The known hole of rustc's accounting: a job arrives between the sleeper's last look at the queue
/// and the moment when it counts as asleep.
///
/// Without the look at the queues before a report, some round reports.
#[test]
fn no_report_while_an_external_job_is_queued() {
    let (pool, reports) = pool_with_reports(2);
    for round in 0..ROUNDS / 2 + 1 {
        let gate = Arc::new(Gate::default());
        let may_block = Arc::new(AtomicBool::new(false));
        let (waiting, flag) = (gate.clone(), may_block.clone());
        let (sender, started) = mpsc::channel();
        let (sender_at_end, ended) = mpsc::channel();
        pool.spawn(move || {
            sender.send(()).unwrap();
            // Blocks once the job is queued, perhaps before the thread that queues it has looked
            // for sleepers.
            spin_until(|| current_state().jobs_from_outside() > 0 || flag.load(SeqCst));
            waiting.wait("the external job");
            sender_at_end.send(()).unwrap();
        });
        started.recv().unwrap();
        if round % 2 > 0 {
            // Then the other worker must be woken for the job, which takes a while.
            wait_for_asleep(&pool, 1);
        } else {
            // The other worker comes to another point of its search each time.
            (0..round % 64 * 8).for_each(|_| std::hint::spin_loop());
        }
        pool.spawn(move || gate.open());
        may_block.store(true, SeqCst);
        // Keeps a processor busy, on which the other worker could run.
        spin_until(|| ended.try_recv().is_ok());
        reports.expect_none();
    }
    reports.expect_no_more(pool);
}

/// Waits without giving away the processor at once, so that what comes next is done in time.
fn spin_until(mut happened: impl FnMut() -> bool) {
    let mut looks = 0_u32;
    while !happened() {
        looks += 1;
        if looks.is_multiple_of(64) {
            thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// As above, but the job is posted by the worker that blocks, on its own deque.
#[test]
fn no_report_while_a_job_on_the_deque_of_the_blocked_worker_can_be_stolen() {
    let (pool, reports) = pool_with_reports(2);
    for round in 0..ROUNDS {
        let gate = Gate::default();
        pool.install(|| {
            (0..round % 64 * 8).for_each(|_| std::hint::spin_loop());
            join(|| gate.wait("the other half"), || gate.open());
        });
        let gate = Gate::default();
        pool.scope(|scope| {
            scope.spawn(|_| gate.open());
            gate.wait("a spawned job");
        });
    }
    reports.expect_no_more(pool);
}

#[test]
fn no_report_when_several_waiters_are_resumed_at_once() {
    let (pool, reports) = pool_with_reports(3);
    for _ in 0..ROUNDS / 2 + 1 {
        let (first, second) = (Gate::default(), Gate::default());
        pool.scope(|scope| {
            scope.spawn(|_| {
                first.wait("first");
                second.wait("second");
            });
            scope.spawn(|_| {
                first.wait("first");
                second.open();
            });
            // On one of the three workers, which may fall asleep at once.
            scope.spawn(|_| {
                first.wait_for_blocked(2);
                first.open();
            });
        });
    }
    reports.expect_no_more(pool);
}

/// A worker that has been woken for its latch counts as active before it runs.
#[test]
fn no_report_when_a_worker_sets_a_latch_and_blocks() {
    let (pool, reports) = pool_with_reports(2);
    for _ in 0..ROUNDS {
        let gate = Arc::new(Gate::default());
        let waiting = gate.clone();
        let other_runs = Barrier::new(2);
        pool.install(|| {
            join(
                || _ = other_runs.wait(),
                || {
                    // This half is stolen. Its worker blocks as soon as it has set the latch of the
                    // join, for which the other worker may be asleep.
                    other_runs.wait();
                    let this_worker = current_thread_index().unwrap();
                    spawn_broadcast(move |context| {
                        if context.index() == this_worker {
                            waiting.wait("the end of the join");
                        }
                    });
                },
            );
            gate.open();
        });
    }
    reports.expect_no_more(pool);
}

#[test]
fn a_worker_that_waits_for_another_pool_is_active() {
    let (pool, reports) = pool_with_reports(2);
    let (other, reports_of_other) = pool_with_reports(1);
    for _ in 0..ROUNDS / 4 + 1 {
        let gate = Gate::default();
        pool.scope(|scope| {
            scope.spawn(|_| gate.wait("a job of another pool"));
            // This worker does not run the job above while it waits: the other one has it.
            gate.wait_for_blocked(1);
            other.install(|| gate.open());
        });
    }
    reports_of_other.expect_no_more(other);
    reports.expect_no_more(pool);
}

/// Two pools whose workers wait for each other and go on.
#[test]
fn pools_that_install_in_each_other_go_on() {
    let (one, reports_of_one) = pool_with_reports(2);
    let (two, reports_of_two) = pool_with_reports(1);
    for _ in 0..ROUNDS / 4 + 1 {
        let gate = Gate::default();
        one.scope(|scope| {
            scope.spawn(|_| gate.wait("a job that comes back"));
            gate.wait_for_blocked(1);
            // The worker that waits for the other pool is the only one that can run the inner
            // closure.
            two.install(|| one.install(|| gate.open()));
        });
    }
    reports_of_one.expect_no_more(one);
    reports_of_two.expect_no_more(two);
}
