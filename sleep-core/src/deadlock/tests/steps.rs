//! The accounting alone, step by step.

use std::{
    boxed::Box,
    cell::Cell,
    format,
    rc::Rc,
    string::ToString,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    vec::Vec,
};

use super::super::*;
use crate::{
    IdlePolicy, Jec, Purpose, SleepProtocol, Slot, WorkerIndex,
    testing::{TestRawMutex, scripted::Scripted},
};

mod lock;

/// Three active workers, and the number of reports.
struct Pool<H> {
    accounting: Accounting<TestRawMutex, [WorkerEntry; 3], H>,
    reports: Rc<Cell<usize>>,
}

type Handler = Box<dyn Fn(&Report<'_>)>;

fn pool() -> Pool<Handler> {
    let reports = Rc::new(Cell::new(0));
    let known = reports.clone();
    let handler: Handler = Box::new(move |_| known.set(known.get() + 1));
    pool_with(handler, reports)
}

fn pool_with<H: DeadlockHandler>(handler: H, reports: Rc<Cell<usize>>) -> Pool<H> {
    let accounting = Accounting::new([const { WorkerEntry::new() }; 3], handler);
    let pool = Pool {
        accounting,
        reports,
    };
    (0..3).for_each(|index| pool.accounting.arrive(worker(index)));
    pool
}

fn worker(index: usize) -> WorkerIndex {
    WorkerIndex::new(index, 3).unwrap()
}

impl<H: DeadlockHandler> Pool<H> {
    fn sleep(&self, index: usize) {
        let latch = CoreLatch::new();
        self.accounting
            .fall_asleep(worker(index), &latch, |_| false);
    }

    fn block(&self, index: usize) -> Ticket {
        self.accounting
            .mark_blocked(worker(index), |_| false)
            .unwrap()
    }

    fn states(&self) -> [State; 3] {
        [0, 1, 2].map(|index| self.accounting.state(worker(index)))
    }
}

use super::super::State::{Absent, Active, Asleep, Blocked};

#[test]
fn an_idle_pool_is_not_reported() {
    let pool = pool();
    (0..3).for_each(|index| pool.sleep(index));
    assert_eq!(pool.states(), [Asleep; 3]);
    assert_eq!(pool.reports.get(), 0);
}

#[test]
fn the_last_worker_to_sleep_reports() {
    let pool = pool();
    pool.block(0);
    pool.sleep(1);
    assert_eq!(pool.reports.get(), 0, "a worker is active");
    pool.sleep(2);
    assert_eq!(pool.reports.get(), 1);
}

#[test]
fn the_last_worker_to_block_reports() {
    let pool = pool();
    pool.sleep(1);
    pool.sleep(2);
    pool.block(0);
    assert_eq!(pool.reports.get(), 1);
}

#[test]
fn the_last_worker_to_leave_reports() {
    let pool = pool();
    pool.block(0);
    pool.sleep(1);
    pool.accounting.leave(worker(2), |_| false);
    assert_eq!(pool.states(), [Blocked, Asleep, Absent]);
    assert_eq!(pool.reports.get(), 1);
}

/// Work that only blocked workers could run is no way out.
#[test]
fn only_work_for_sleeping_workers_prevents_a_report() {
    for (recipient, expected) in [(0, 1), (1, 1), (2, 0)] {
        let pool = pool();
        pool.block(0);
        pool.block(1);
        let may_run = |worker: WorkerIndex| worker.get() == recipient;
        let latch = CoreLatch::new();
        pool.accounting.fall_asleep(worker(2), &latch, may_run);
        assert_eq!(pool.reports.get(), expected, "work for {recipient}");
    }
}

#[test]
fn a_deadlock_is_reported_again_only_after_a_worker_is_unblocked() {
    let pool = pool();
    pool.sleep(1);
    pool.sleep(2);
    let first = pool.block(0);
    // An event from outside wakes a worker, which finds nothing.
    pool.accounting.wake_up(worker(1));
    pool.sleep(1);
    assert_eq!(pool.reports.get(), 1);
    pool.accounting.mark_unblocked(first).unwrap();
    pool.block(0);
    assert_eq!(pool.reports.get(), 2);
}

/// The setter's note comes before the waiter tells that it sleeps; the look at the latch finds it.
#[test]
fn a_worker_whose_latch_is_set_stays_active() {
    let pool = pool();
    let latch = CoreLatch::new();
    assert!(latch.get_sleepy() && latch.fall_asleep());
    // SAFETY: 1. it lives; 2. no waiter relies on it.
    assert!(unsafe { CoreLatch::set(&latch) });
    pool.accounting.will_wake(worker(1));
    pool.accounting.fall_asleep(worker(1), &latch, |_| false);
    assert_eq!(pool.states(), [Active; 3]);
}

/// The note of a setter that comes too late, when the worker is awake, does not outlast the next
/// sleep.
#[test]
fn a_late_note_of_a_setter_hides_no_deadlock() {
    let pool = pool();
    pool.accounting.will_wake(worker(1));
    pool.sleep(1);
    pool.sleep(2);
    pool.block(0);
    assert_eq!(pool.reports.get(), 1);
}

#[test]
fn a_worker_that_is_going_to_be_woken_prevents_a_report() {
    let pool = pool();
    pool.sleep(1);
    pool.sleep(2);
    pool.accounting.will_wake(worker(1));
    pool.block(0);
    assert_eq!(pool.reports.get(), 0);
    pool.accounting.wake_up(worker(1));
    pool.sleep(1);
    assert_eq!(pool.reports.get(), 1);
}

#[test]
fn only_active_workers_can_block() {
    let pool = pool();
    pool.block(0);
    pool.sleep(1);
    pool.accounting.leave(worker(2), |_| true);
    for (index, state) in [Blocked, Asleep, Absent].into_iter().enumerate() {
        let worker = worker(index);
        let error = pool.accounting.mark_blocked(worker, |_| true).unwrap_err();
        assert_eq!(
            error,
            NotActive {
                worker: index,
                state
            }
        );
    }
}

#[test]
fn a_section_ends_once() {
    let pool = pool();
    let first = pool.block(0);
    pool.accounting.mark_unblocked(first).unwrap();
    let error = Err(NotBlocked { worker: 0 });
    assert_eq!(pool.accounting.mark_unblocked(first), error);
    let second = pool.block(0);
    assert_ne!(first, second);
    assert_eq!(pool.accounting.mark_unblocked(first), error);
    assert_eq!(pool.accounting.mark_self_unblocked(first), error);
    assert_eq!(pool.states(), [Blocked, Active, Active]);
    pool.accounting.mark_self_unblocked(second).unwrap();
    assert_eq!(pool.states(), [Active; 3]);
}

/// The worker that completed the deadlock has called the handler in its last look, and parks after
/// it.
#[test]
fn a_worker_whose_sleep_is_reported_sleeps_afterwards() {
    let slots = [const { Slot::new(Scripted) }; 3];
    let sleep = Rc::new(Jec::<_>::from_array(slots, IdlePolicy::IMMEDIATE));
    let pool = Rc::new(pool());
    pool.block(0);
    pool.sleep(1);
    let (me, latch) = (worker(2), CoreLatch::new());
    let mut idle = sleep.start_looking(me, Purpose::Job);
    // The first search only announces that the worker gets sleepy.
    sleep.no_work_found(&mut idle, &latch, || unreachable!());
    // Plays a thread outside, which wakes the worker when it has parked.
    let (seen, waker) = (pool.clone(), sleep.clone());
    Scripted::prepare(move || {
        assert_eq!(seen.reports.get(), 1, "reported before it parks");
        assert_eq!(seen.states(), [Blocked, Asleep, Asleep]);
        assert_eq!(seen.accounting.counts.lock().active, 0);
        assert!(waker.wake_worker(me), "it counts as a sleeper");
    });
    sleep.no_work_found(&mut idle, &latch, || {
        pool.accounting.fall_asleep(me, &latch, |_| false);
        false
    });
    Scripted::assert_done();
    assert_eq!(pool.states(), [Blocked, Asleep, Asleep], "until `wake_up`");
    pool.accounting.wake_up(me);
    assert_eq!(pool.states(), [Blocked, Asleep, Active]);
    sleep.work_found(idle, || false);
}

/// A worker that completes a deadlock by blocking is blocked when the handler has returned, as it
/// was before.
#[test]
fn a_worker_whose_section_is_reported_stays_blocked() {
    let pool = pool();
    pool.sleep(1);
    pool.sleep(2);
    pool.block(0);
    assert_eq!(pool.reports.get(), 1);
    assert_eq!(pool.states(), [Blocked, Asleep, Asleep]);
    assert_eq!(pool.accounting.counts.lock().active, 0);
}

/// A resumed worker shows that it runs by what it does next, and is counted once.
#[test]
fn a_worker_that_is_resumed_without_its_name_shows_that_it_runs() {
    let next: [fn(&Pool<Handler>); 4] = [
        |pool| pool.sleep(0),
        |pool| _ = pool.block(0),
        |pool| pool.accounting.leave(worker(0), |_| false),
        |pool| {
            let entry = pool.accounting.entry(worker(0));
            let ticket = Ticket::new(worker(0), entry.episode());
            pool.accounting.mark_self_unblocked(ticket).unwrap();
            pool.sleep(0);
        },
    ];
    for act in next {
        let pool = pool();
        pool.block(0);
        pool.block(1);
        pool.accounting.mark_any_unblocked(1).unwrap();
        pool.sleep(2);
        assert_eq!(pool.reports.get(), 0, "worker 0 was resumed");
        act(&pool);
        assert_eq!(pool.reports.get(), 1);
    }
}

#[test]
fn no_more_workers_are_unmarked_than_are_blocked() {
    let pool = pool();
    pool.block(0);
    pool.block(1);
    pool.accounting.mark_any_unblocked(1).unwrap();
    let (requested, blocked) = (2, 1);
    let error = Err(TooManyUnblocked { requested, blocked });
    assert_eq!(pool.accounting.mark_any_unblocked(2), error);
    pool.accounting.mark_any_unblocked(0).unwrap();
    pool.accounting.mark_any_unblocked(1).unwrap();
    pool.sleep(2);
    assert_eq!(pool.reports.get(), 0);
}

#[test]
fn a_report_says_what_every_worker_does() {
    let lines = Rc::new(Cell::new(Vec::new()));
    let known = lines.clone();
    let handler = move |report: &Report<'_>| {
        let tickets = report.blocked().map(|ticket| ticket.worker().get());
        known.set(std::vec![
            report.to_string(),
            format!("{report:?}"),
            format!("{:?}", tickets.collect::<Vec<_>>())
        ]);
    };
    let pool = pool_with(handler, Rc::default());
    pool.block(1);
    pool.sleep(0);
    pool.block(2);
    let expected = [
        "deadlock: of 3 workers 2 are blocked and 1 asleep; blocked: 1 2",
        "[Asleep, Blocked, Blocked]",
        "[1, 2]",
    ];
    assert_eq!(lines.take(), expected);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "more threads outside end than have begun"]
fn a_thread_outside_that_has_not_begun_does_not_end() {
    pool().accounting.end_outside(|_| false);
}

/// Otherwise it would never be counted, and no deadlock would be reported.
#[test]
#[cfg(debug_assertions)]
#[should_panic = "worker 2 falls asleep, but has not arrived"]
fn a_worker_that_has_not_arrived_does_not_fall_asleep() {
    let pool = pool();
    pool.accounting.leave(worker(2), |_| false);
    pool.sleep(2);
}

#[test]
fn a_thread_outside_prevents_a_report_until_it_ends() {
    let pool = pool();
    pool.accounting.begin_outside();
    pool.accounting.begin_outside();
    (0..3).for_each(|index| _ = pool.block(index));
    pool.accounting.end_outside(|_| false);
    assert_eq!(pool.reports.get(), 0);
    pool.accounting.end_outside(|_| false);
    assert_eq!(pool.reports.get(), 1);
}
