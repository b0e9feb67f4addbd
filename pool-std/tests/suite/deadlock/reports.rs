//! Which deadlocks are reported, and how often.

use std::{
    future::poll_fn,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    task::{Poll, Waker},
    thread,
};

use pool_std::{
    Activity, Blocked, Isolation, MarkError, ThreadPoolBuilder, blocking, current_state, join,
    mark_all_unblocked, mark_blocked, scope, spawn_future, spawn_handle,
};

use super::ROUNDS;
use crate::support::{
    Gate, Reports, builder_with_reports, pool_with_reports, wait_for, wait_for_asleep,
};

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

// The worker that waits for the handle can do nothing for the job, which another worker runs.
#[test]
fn a_worker_that_joins_a_handle_counts_as_asleep() {
    for isolation in [Isolation::Anything, Isolation::Subtree] {
        let (pool, reports) =
            builder_with_reports(2, |builder| builder.isolation(isolation).build().unwrap());
        let gate = Arc::new(Gate::default());
        let (waiting, seen) = (gate.clone(), gate.clone());
        pool.spawn(move || {
            let job = spawn_handle(move || waiting.wait("a gate"));
            // So that this worker does not run the job.
            seen.wait_for_blocked(1);
            job.join().unwrap();
        });
        let report = reports.next();
        assert_eq!((report.blocked().count(), report.asleep().count()), (1, 1));
        gate.open();
        reports.expect_no_more(pool);
    }
}

// The future is woken from outside.
#[test]
fn a_worker_that_joins_a_future_is_active() {
    let (pool, reports) = pool_with_reports(2);
    let gate = Arc::new(Gate::default());
    let (waiting, seen) = (gate.clone(), gate.clone());
    let (sender, receiver) = mpsc::channel();
    pool.spawn(move || {
        let pending = poll_fn(move |context| match sender.send(context.waker().clone()) {
            Ok(()) => Poll::Pending,
            Err(_) => Poll::Ready(()),
        });
        seen.wait_for_blocked(1);
        spawn_future(pending).join().unwrap();
        seen.open();
    });
    pool.spawn(move || waiting.wait("a gate"));
    let waker: Waker = receiver.recv().unwrap();
    drop(receiver);
    gate.wait_for_blocked(1);
    wait_for_asleep(&pool, 1);
    reports.expect_none();
    waker.wake();
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
            // While the test ends the two sections one after the other, there may be a second
            // report.
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
