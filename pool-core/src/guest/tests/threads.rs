//! Guests of pools with real threads.

use std::{
    boxed::Box,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize as Tally, Ordering::SeqCst},
        mpsc,
    },
    thread::{self, ThreadId},
    thread_local,
};

use progress_core::Operation;
use sleep_core::CoreLatch;

use super::super::*;
use crate::{
    deadlock::DeadlockDetection,
    job::{JobName, StackJob},
    latch::BlockingLatch,
    queue::JobQueue as _,
    testing::{
        Accounted, Event, Test, TestDetection, TestJec, TestOn, TestPlatform, TestQueue,
        TestTogether, accounting::accounted, observe, on_platform, run_until_stopped,
        with_registry, with_worker,
    },
};

mod stops;

/// Runs `body` with a pool that has guests.
fn with_guests<P: TestPlatform<Data = AtomicBool>>(
    workers: usize,
    body: impl FnOnce(&Arc<Registry<P>>),
) {
    let registry = P::registry(workers);
    registry.data().store(true, SeqCst);
    with_registry(&registry, |registry| body(registry));
}

/// Calls as a guest as soon as a worker sleeps.
fn call_as_guest<P: TestPlatform, R>(
    registry: &Registry<P>,
    closure: impl FnOnce(&WorkerThread<P>) -> R,
) -> R {
    let mut closure = Some(closure);
    loop {
        let take = |worker: &WorkerThread<P>| (closure.take().expect("called once"))(worker);
        if let Ok(result) = registry.try_call(take) {
            return result;
        }
        thread::yield_now();
    }
}

fn this_thread() -> ThreadId {
    thread::current().id()
}

on_platform!(fixed, crate::testing::Test: a_guest_stays_on_its_thread_and_is_the_worker
    a_panic_gives_the_seat_back a_guest_is_no_guest_within_itself
    a_guest_is_not_at_top_level a_guest_keeps_no_references jobs_that_a_guest_leaves_are_run
    a_job_for_the_seat_is_run joins_of_a_guest_are_stolen more_guests_than_seats
    work_that_waits_keeps_guests_out);
on_platform!(growing, crate::testing::Growing: a_guest_stays_on_its_thread_and_is_the_worker
    a_panic_gives_the_seat_back a_guest_is_no_guest_within_itself
    a_guest_is_not_at_top_level a_guest_keeps_no_references jobs_that_a_guest_leaves_are_run
    a_job_for_the_seat_is_run joins_of_a_guest_are_stolen more_guests_than_seats
    work_that_waits_keeps_guests_out);

fn a_guest_stays_on_its_thread_and_is_the_worker<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(2, |registry| {
        for _ in 0..10 {
            let caller = this_thread();
            let index = call_as_guest(registry, |worker| {
                assert_eq!(this_thread(), caller);
                assert!(ptr::eq(P::current(), worker));
                assert!(ptr::eq(worker.registry(), &raw const **registry));
                worker.index().get()
            });
            assert!(index < 2);
            assert!(P::current().is_null(), "the guest has left");
        }
    });
}

fn a_panic_gives_the_seat_back<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(1, |registry| {
        for number in 0..3 {
            let call = || call_as_guest(registry, |_| resume_unwind(Box::new(number)));
            let panic: Result<(), _> = catch_unwind(AssertUnwindSafe(call));
            assert_eq!(*panic.unwrap_err().downcast::<i32>().unwrap(), number);
            assert!(P::current().is_null(), "the guest has left");
        }
        assert_eq!(registry.call(|_, _| 7), 7);
    });
}

/// A guest that calls is a worker, so it runs the closure at once.
fn a_guest_is_no_guest_within_itself<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(2, |registry| {
        call_as_guest(registry, |_| {
            assert!(registry.try_call(|_| ()).is_err(), "it is a worker already");
            let outer = P::current().addr();
            registry.call(|inner, migrated| {
                assert_eq!(outer, ptr::from_ref(inner).addr());
                assert!(!migrated);
            });
        });
    });
}

/// Its waits take no fair looks, although the loop of the host does.
fn a_guest_is_not_at_top_level<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(1, |registry| {
        for _ in 0..2 {
            call_as_guest(registry, |worker| assert!(!worker.is_at_top_level()));
        }
    });
}

/// It may go on for any time, although the host would keep references for its next jobs.
fn a_guest_keeps_no_references<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(1, |registry| {
        let before = registry.num_references();
        call_as_guest(registry, |worker| {
            worker.run_as_job(JobName::UNKNOWN, || {
                assert!(worker.try_add_reference());
                assert_eq!(registry.num_references(), before + 1);
                worker.remove_reference();
                assert_eq!(registry.num_references(), before);
            });
        });
    });
}

/// The only worker sleeps when the guest has queued the job, and must be woken for it. A guest sees
/// a job when it gives the seat back, but a second guest takes the seat before the first one can
/// wake the host. The second guest may wait for the job.
fn work_that_waits_keeps_guests_out<P: TestPlatform<Data = AtomicBool, Queue = TestQueue>>() {
    with_guests::<P>(1, |registry| {
        for _ in 0..10 {
            // The host sleeps on.
            call_as_guest(registry, |_| ());
            let latch = BlockingLatch::<P>::new();
            let job = StackJob::new(|_| (), latch);
            let mut node = TestQueue::node();
            let node = core::ptr::NonNull::from(&mut node);
            // SAFETY: as in `a_job_for_the_seat_is_run`.
            unsafe {
                // No thread is woken for it.
                registry.injectors().normal().push(node, job.as_job_ref());
                assert!(registry.try_call(|_| ()).is_err());
                job.latch().wait();
                job.take_result();
            }
        }
    });
}

fn jobs_that_a_guest_leaves_are_run<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(1, |registry| {
        for _ in 0..10 {
            let caller = this_thread();
            let latch = BlockingLatch::<P>::new();
            let job = StackJob::new(|_| assert_ne!(this_thread(), caller), latch);
            // SAFETY: `as_job_ref`: 1. it stays until the latch is set, 2. which any thread may
            // set; `post`: 1. once; `take_result`: 1. the latch is set; 2. once.
            unsafe {
                call_as_guest(registry, |worker| worker.post(job.as_job_ref()));
                job.latch().wait();
                job.take_result();
            }
        }
    });
}

/// Other workers leave out the deque of a sleeper, and do not disable its fast push.
#[test]
fn a_guest_leaves_fast_push_disabled() {
    with_guests::<Test>(1, |registry| {
        call_as_guest(registry, |worker| {
            assert!(worker.own().enable_fast_push(|| true));
        });
        let was_enabled = registry.workers()[0].deque.disable_fast_push();
        assert!(!was_enabled);
    });
}

/// A detection of deadlocks whose handler joins, on the thread of the test alone.
struct Joins;

thread_local! {
    static MAY_JOIN: Cell<bool> = const { Cell::new(false) };
}

type TestJoins = TestOn<<Test as Platform>::Storage, TestJec, Joins>;

impl TestDetection for Joins {
    fn new(_workers: usize) -> Self {
        Self
    }
}

impl DeadlockDetection for Joins {
    fn fall_asleep(
        &self,
        _worker: WorkerIndex,
        _latch: &CoreLatch,
        _may_run: impl Fn(WorkerIndex) -> bool,
    ) {
        if MAY_JOIN.get() {
            // SAFETY: 1. it is used at once.
            let worker = unsafe { WorkerThread::<TestJoins>::current() }.unwrap();
            // What a join does if no worker sleeps.
            assert!(worker.own().enable_fast_push(|| true));
        }
    }
}

#[test]
fn a_deadlock_handler_leaves_fast_push_disabled() {
    with_guests::<TestJoins>(1, |registry| {
        call_as_guest(registry, |_| MAY_JOIN.set(true));
        let was_enabled = registry.workers()[0].deque.disable_fast_push();
        assert!(!was_enabled);
    });
}

/// The job comes while a guest has the seat, so no thread is woken for it.
fn a_job_for_the_seat_is_run<P: TestPlatform<Data = AtomicBool, Queue = TestQueue>>() {
    with_guests::<P>(1, |registry| {
        for _ in 0..10 {
            let latch = BlockingLatch::<P>::new();
            let job = StackJob::new(|_| (), latch);
            let mut node = TestQueue::node();
            let node = core::ptr::NonNull::from(&mut node);
            // SAFETY: as in `jobs_that_a_guest_leaves_are_run`; `inject_broadcast`: 1. the node
            // stays as long as the job.
            unsafe {
                call_as_guest(registry, |_| {
                    registry.inject_broadcast([(node, job.as_job_ref())].into_iter());
                });
                job.latch().wait();
                job.take_result();
            }
        }
    });
}

/// The first half waits until another worker has the second one.
fn joins_of_a_guest_are_stolen<P: TestPlatform<Data = AtomicBool>>() {
    with_guests::<P>(2, |registry| {
        for _ in 0..10 {
            let has_begun = AtomicBool::new(false);
            let (caller, thief) = call_as_guest(registry, |worker| {
                worker.join_context(
                    |_| {
                        while !has_begun.load(SeqCst) {
                            // Without a process fence a worker that falls asleep may overlook one
                            // job.
                            worker.join_context(|_| (), |_| (), false);
                            thread::yield_now();
                        }
                        this_thread()
                    },
                    |_| {
                        has_begun.store(true, SeqCst);
                        this_thread()
                    },
                    false,
                )
            });
            assert_eq!(caller, this_thread());
            assert_ne!(caller, thief);
        }
    });
}

/// Threads that find no seat free inject their closures; never more of them run than there are
/// workers.
fn more_guests_than_seats<P: TestPlatform<Data = AtomicBool>>() {
    let calls = if cfg!(miri) { 3 } else { 500 };
    let (running, run) = (Tally::new(0), Tally::new(0));
    with_guests::<P>(2, |registry| {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..calls {
                        registry.call(|worker, _| {
                            assert!(running.fetch_add(1, SeqCst) < 2, "more than workers");
                            thread::yield_now();
                            running.fetch_sub(1, SeqCst);
                            let sum = worker.join_context(|_| 1, |_| 2, false);
                            run.fetch_add(sum.0 + sum.1, SeqCst);
                        });
                    }
                });
            }
        });
    });
    assert_eq!(run.into_inner(), 4 * calls * 3);
}

#[test]
fn a_pool_without_guests_has_none() {
    let registry = <Test as TestPlatform>::registry(1);
    with_registry(&registry, |registry| {
        while registry.num_sleeping() == 0 {
            thread::yield_now();
        }
        assert!(registry.try_call(|_| ()).is_err());
        let caller = this_thread();
        assert_ne!(registry.call(|_, _| this_thread()), caller);
    });
}

#[test]
fn a_protocol_that_lends_nothing_has_none() {
    with_guests::<TestTogether>(1, |registry| {
        while registry.num_sleeping() == 0 {
            thread::yield_now();
        }
        assert!(registry.try_call(|_| ()).is_err());
        assert_eq!(registry.call(|_, _| 7), 7);
    });
}

/// Reproduces a bug: a guest that leaves looks for operations before its host counts as asleep.
/// That completes a deadlock, whose handler runs while the guest still is the worker; and what the
/// handler scheduled stayed with a worker that slept on.
#[test]
fn a_host_wakes_for_what_the_deadlock_handler_of_its_guest_schedules() {
    let guest = this_thread();
    let is_run = Arc::new(AtomicBool::new(false));
    let flag = is_run.clone();
    let registry = accounted::<TestJec>(2, move |_| {
        if this_thread() == guest {
            let flag = flag.clone();
            let operation = Operation::new(move || flag.store(true, SeqCst));
            // SAFETY: 1. the guest is the worker until this returns.
            let worker = unsafe { WorkerThread::<Accounted>::current() }.unwrap();
            worker.schedule(Box::new(operation));
        }
    });
    registry.data().store(true, SeqCst);
    with_registry(&registry, |registry| {
        let (release, event) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        thread::scope(|threads| {
            // Or the other worker would complete the deadlock.
            call_as_guest(registry, |_| {
                threads.spawn(move || {
                    registry.in_worker(move |worker, _| {
                        let ticket = worker.mark_blocked().unwrap();
                        tell.send(()).unwrap();
                        assert!(event.recv().is_err());
                        registry.deadlock().mark_self_unblocked(ticket).unwrap();
                    });
                });
                told.recv().unwrap();
            });
            while !is_run.load(SeqCst) {
                thread::yield_now();
            }
            drop(release);
        });
    });
}
