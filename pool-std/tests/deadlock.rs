//! Which deadlocks are reported, and that nothing else is.

mod support;

use std::{
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{
    Activity, Blocked, MarkError, ThreadPoolBuilder, blocking, current_state, current_thread_index,
    join, mark_all_unblocked, mark_blocked, scope, spawn_broadcast,
};
use support::{Gate, Reports, builder_with_reports, pool_with_reports, wait_for, wait_for_asleep};

/// How often a test tries to hit the moment in which a mistake would show.
const ROUNDS: usize = if cfg!(miri) { 3 } else { 2_000 };

#[test]
fn one_worker_that_blocks_is_a_deadlock() {
    let (pool, reports) = pool_with_reports(1);
    let gate = Arc::new(Gate::default());
    let waiting = gate.clone();
    pool.spawn(move || waiting.wait("a gate"));
    let report = reports.next();
    let [worker] = report.workers() else {
        panic!("there is one worker")
    };
    let Activity::Blocked(section) = &worker.activity else {
        panic!("the worker is blocked")
    };
    assert_eq!((worker.index, &*section.label), (0, "a gate"));
    assert!(section.since.is_some() && worker.blocked_for.is_some());
    let text = report.to_string();
    assert!(
        text.starts_with("deadlock: 1 of 1 workers blocked"),
        "{text}"
    );
    assert!(text.contains("a gate"), "{text}");
    gate.open();
    reports.expect_no_more(pool);
}

// Without the check on blocking, there is no report.
#[test]
fn two_workers_that_wait_for_each_other_are_reported_once() {
    let (pool, reports) = pool_with_reports(2);
    let gates = Arc::new([Gate::default(), Gate::default()]);
    let both_run = Arc::new(Barrier::new(2));
    for (own, other) in [(0, 1), (1, 0)] {
        let (gates, both_run) = (gates.clone(), both_run.clone());
        pool.spawn(move || {
            both_run.wait();
            gates[other].wait(["the first", "the second"][other]);
            gates[own].open();
        });
    }
    assert_eq!(reports.next_labels(), ["the first", "the second"]);
    // Breaks the cycle.
    gates[0].open();
    reports.expect_no_more(pool);
}

#[test]
fn the_report_comes_when_the_last_worker_blocks() {
    let (pool, reports) = pool_with_reports(2);
    let (gate, may_block) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let (first, second, flag) = (gate.clone(), gate.clone(), may_block.clone());
    let (sender, started) = mpsc::channel();
    pool.spawn(move || {
        sender.send(()).unwrap();
        wait_for(|| flag.load(SeqCst));
        second.wait("second");
    });
    // One worker is active before the other blocks. Otherwise the first block is a deadlock.
    started.recv().unwrap();
    pool.spawn(move || first.wait("first"));
    gate.wait_for_blocked(1);
    reports.expect_none();
    may_block.store(true, SeqCst);
    assert_eq!(reports.next_labels(), ["first", "second"]);
    gate.open();
    reports.expect_no_more(pool);
}

// Without the check on falling asleep, there is no report.
#[test]
fn the_report_comes_when_the_last_worker_falls_asleep() {
    let (pool, reports) = pool_with_reports(2);
    let (gate, may_end) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let (waiting, flag) = (gate.clone(), may_end.clone());
    let (sender, started) = mpsc::channel();
    pool.spawn(move || {
        sender.send(()).unwrap();
        wait_for(|| flag.load(SeqCst));
    });
    started.recv().unwrap();
    pool.spawn(move || waiting.wait("a gate"));
    gate.wait_for_blocked(1);
    reports.expect_none();
    may_end.store(true, SeqCst);
    let report = reports.next();
    assert_eq!((report.blocked().count(), report.asleep().count()), (1, 1));
    gate.open();
    reports.expect_no_more(pool);
}

#[test]
fn a_worker_that_waits_in_a_join_counts_as_asleep() {
    let (pool, reports) = pool_with_reports(2);
    let gate = Gate::default();
    thread::scope(|threads| {
        let gate = &gate;
        let reports = &reports;
        threads.spawn(move || {
            let report = reports.next();
            assert_eq!((report.blocked().count(), report.asleep().count()), (1, 1));
            gate.open();
        });
        let other_runs = Barrier::new(2);
        pool.install(|| {
            let here = || _ = other_runs.wait();
            join(here, || {
                other_runs.wait();
                gate.wait("a gate");
            })
        });
    });
    reports.expect_no_more(pool);
}

#[test]
fn a_worker_that_ends_completes_a_deadlock() {
    // An adopted thread is a worker until it ends.
    let (reports, gate) = thread::spawn(|| {
        let (pool, reports) =
            builder_with_reports(2, |builder| builder.use_current_thread().build().unwrap());
        let gate = Arc::new(Gate::default());
        let waiting = gate.clone();
        pool.spawn(move || waiting.wait("a gate"));
        gate.wait_for_blocked(1);
        // While the adopted thread works, it may open the gate.
        reports.expect_none();
        (reports, gate)
    })
    .join()
    .unwrap();
    let report = reports.next();
    assert_eq!(report.workers()[0].activity, Activity::Absent);
    assert_eq!(report.workers()[1].label(), Some("a gate"));
    gate.open();
}

#[test]
fn an_adopted_thread_that_works_is_active() {
    thread::spawn(|| {
        let (pool, reports) =
            builder_with_reports(2, |builder| builder.use_current_thread().build().unwrap());
        for _ in 0..ROUNDS / 10 {
            let gate = Arc::new(Gate::default());
            let waiting = gate.clone();
            // This thread does not run it: it takes no job.
            pool.spawn(move || waiting.wait("a gate"));
            gate.wait_for_blocked(1);
            gate.open();
        }
        reports.expect_no_more(pool);
    })
    .join()
    .unwrap();
}

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

/// A handler that starts threads may drop one. The pool has counted that worker as there.
#[test]
fn a_worker_whose_thread_is_never_started_is_absent() {
    let gate = Arc::new(Gate::default());
    let (pool, reports) = builder_with_reports(2, |builder| {
        let start = |thread: pool_std::ThreadBuilder| {
            if thread.index() == 0 {
                thread::spawn(|| thread.run());
            }
            Ok(())
        };
        builder.spawn_handler(start).build().unwrap()
    });
    let waiting = gate.clone();
    pool.spawn(move || waiting.wait("a gate"));
    let report = reports.next();
    assert_eq!(report.workers()[1].activity, Activity::Absent);
    gate.open();
    reports.expect_no_more(pool);
}

/// The known hole of rustc's accounting: a job arrives between the sleeper's last look at the queue and
/// the moment when it counts as asleep.
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
            // Blocks once the job is queued, perhaps before the thread that queues it has looked for sleepers.
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
                    // This half is stolen. Its worker blocks as soon as it has set the latch of the join,
                    // for which the other worker may be asleep.
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
            // The worker that waits for the other pool is the only one that can run the inner closure.
            two.install(|| one.install(|| gate.open()));
        });
    }
    reports_of_one.expect_no_more(one);
    reports_of_two.expect_no_more(two);
}

#[test]
fn a_deadlock_that_goes_on_is_reported_once() {
    let (pool, reports) = pool_with_reports(2);
    let gate = Arc::new(Gate::default());
    let waiting = gate.clone();
    pool.spawn(move || waiting.wait("first"));
    assert_eq!(reports.next_labels(), ["first"]);
    // The pool still works, and its other worker falls asleep again and again.
    for number in 0..20 {
        assert_eq!(pool.install(|| number), number);
        wait_for_asleep(&pool, 1);
    }
    let (second, waiting) = (Arc::new(Gate::default()), gate.clone());
    let waiting_second = second.clone();
    pool.spawn(move || waiting_second.wait("second"));
    second.wait_for_blocked(1);
    reports.expect_none();
    // A worker is unblocked: the next deadlock is a new one.
    second.open();
    assert_eq!(reports.next_labels(), ["first"]);
    waiting.open();
    let again = Arc::new(Gate::default());
    let waiting = again.clone();
    pool.spawn(move || waiting.wait("again"));
    assert_eq!(reports.next_labels(), ["again"]);
    again.open();
    reports.expect_no_more(pool);
}

#[test]
fn jobs_that_only_blocked_workers_could_run_do_not_hide_a_deadlock() {
    let (pool, reports) = pool_with_reports(1);
    let gate = Arc::new(Gate::default());
    let (waiting, opening) = (gate.clone(), gate.clone());
    let (sender, started) = mpsc::channel();
    let may_block = Arc::new(AtomicBool::new(false));
    let flag = may_block.clone();
    pool.spawn(move || {
        sender.send(()).unwrap();
        wait_for(|| flag.load(SeqCst));
        waiting.wait("a job behind this one");
    });
    started.recv().unwrap();
    // It would open the gate, but there is no worker to run it.
    pool.spawn(move || opening.open());
    may_block.store(true, SeqCst);
    let report = reports.next();
    assert_eq!(report.state().jobs_from_outside(), 1);
    gate.open();
    reports.expect_no_more(pool);
}

#[test]
fn a_handler_cannot_mark_and_can_look() {
    let (sender, answers) = mpsc::channel();
    let (sender, ticket) = (
        Mutex::new(Some(sender)),
        Arc::new(Mutex::new(None::<Blocked>)),
    );
    let of_first = ticket.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .deadlock_handler(move |report| {
            // While the test ends the two sections one after the other, there may be a second report.
            let Some(sender) = sender.lock().unwrap().take() else {
                return;
            };
            let unmarked = of_first
                .lock()
                .unwrap()
                .as_ref()
                .map(Blocked::mark_unblocked);
            let all = of_first.lock().unwrap().clone();
            let all_unmarked = mark_all_unblocked(all);
            let marked = mark_blocked("in the handler").map(drop);
            let inner = blocking("in the handler", |blocked| blocked.mark_unblocked());
            let answers = [unmarked.unwrap(), all_unmarked, marked, inner];
            let states = [&current_state(), report.state()];
            let [now, reported] = states.map(|state| {
                let activities = state.workers().iter().map(|worker| worker.activity.clone());
                activities.collect::<Vec<_>>()
            });
            let looks_the_same = now == reported;
            sender.send((answers, looks_the_same)).unwrap();
        })
        .build()
        .unwrap();
    let gate = Gate::default();
    thread::scope(|threads| {
        let (gate, ticket) = (&gate, &ticket);
        threads.spawn(move || {
            let (answers, looks_the_same) = answers.recv().unwrap();
            assert_eq!(answers, [Err(MarkError::InHandler); 4]);
            assert!(looks_the_same);
            // What the handler could not do, any other thread can.
            ticket
                .lock()
                .unwrap()
                .take()
                .unwrap()
                .mark_unblocked()
                .unwrap();
            gate.open();
        });
        pool.scope(|scope| {
            scope.spawn(|_| {
                // The lock is not held while the worker is marked, which may call the handler.
                let blocked = mark_blocked("first").unwrap();
                *ticket.lock().unwrap() = Some(blocked);
                wait_for(|| ticket.lock().unwrap().is_none());
            });
            wait_for(|| ticket.lock().unwrap().is_some());
            gate.wait("second");
        });
    });
}

#[test]
fn handlers_of_scoped_pools_are_called() {
    let (_, reports): ((), Reports) = builder_with_reports(1, |builder| {
        let build = builder.build_scoped(pool_std::ThreadBuilder::run, |pool| {
            let gate = Gate::default();
            thread::scope(|threads| {
                threads.spawn(|| {
                    gate.wait_for_blocked(1);
                    gate.open();
                });
                pool.install(|| scope(|_| gate.wait("a gate")));
            });
        });
        build.unwrap();
    });
    reports.next();
}
