//! The test suite of every protocol: a protocol passes it by one line below.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    vec::Vec,
};

use super::*;
use crate::{
    IdlePolicy, Relax,
    testing::{
        Counting, EarlyParker, Pool, SpinningParker, TestBusy, TestClassic, TestHints, TestJec,
        TestParker, TestProtocol, TestSockets, take_wakes,
    },
};

#[cfg(debug_assertions)]
mod mistakes;

const POLICIES: [IdlePolicy; 4] = [
    IdlePolicy::IMMEDIATE,
    IdlePolicy::DEFAULT,
    // One searcher at a time.
    IdlePolicy::POWER,
    IdlePolicy::new(3, 10, Relax::Spin(5)),
];

fn start<S: TestProtocol>(workers: usize, policy: IdlePolicy) -> Running<S> {
    let pool = Pool::<S>::new(workers, policy);
    let threads = Pool::start(&pool);
    Running { pool, threads }
}

/// A pool, and the threads that are its workers.
struct Running<S> {
    pool: std::sync::Arc<Pool<S>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl<S: TestProtocol> Running<S> {
    fn end(self) -> std::sync::Arc<Pool<S>> {
        self.pool.terminate();
        for thread in self.threads {
            thread.join().unwrap();
        }
        let sleep = &self.pool.sleep;
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
        self.pool
    }
}

/// Puts a whole pool to sleep and wakes it `cycles` times, with one burst of jobs each.
pub(crate) fn cycles<S: TestProtocol>(workers: usize, policy: IdlePolicy, cycles: usize) {
    let running = start::<S>(workers, policy);
    let mut jobs = 0;
    for cycle in 0..cycles {
        let burst = cycle % (workers + 1) + 1;
        running.pool.inject(burst);
        jobs += burst;
        running.pool.wait_for(jobs);
    }
    assert_eq!(running.end().finished.load(Ordering::SeqCst), jobs);
}

fn smoke<S: TestProtocol>() {
    for policy in POLICIES {
        cycles::<S>(1, policy, 3);
    }
}

fn stress<S: TestProtocol>() {
    // Eight threads take Miri most of its time, and would show it nothing that three do not.
    let (count, all): (_, &[usize]) = if cfg!(miri) {
        (3, &[1, 3])
    } else {
        (2_000, &[1, 2, 3, 8])
    };
    for policy in POLICIES {
        for &workers in all {
            cycles::<S>(workers, policy, count);
        }
    }
}

/// Terminates pools while their workers are anywhere on their way to sleep (oven-sh/bun#32494,
/// rayon#201).
fn stampede_of_terminations<S: TestProtocol>() {
    for _ in 0..if cfg!(miri) { 3 } else { 500 } {
        start::<S>(4, IdlePolicy::IMMEDIATE).end();
    }
}

/// Sets the latch that the only worker waits for.
fn a_latch_ends_the_wait<S: TestProtocol>() {
    for policy in POLICIES {
        let sleep = &S::new(1, policy);
        let latch = &CoreLatch::new();
        let worker = sleep.worker(0).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(move || {
                let mut idle = sleep.start_looking(worker, Purpose::Job);
                while !latch.probe() {
                    sleep.no_work_found(&mut idle, latch, || false);
                }
                sleep.work_found(idle, || false);
            });
            // SAFETY: 1. to 3. all of them live in this frame, and only that worker waits; 4. for
            // this.
            unsafe { set_latch(sleep, latch, worker) };
        });
    }
}

/// Posts a job that only the second worker may run while both fall asleep.
fn a_job_for_one_worker_is_not_overlooked<S: TestProtocol>() {
    for _ in 0..if cfg!(miri) { 3 } else { 300 } {
        let sleep = &S::new(2, IdlePolicy::IMMEDIATE);
        let latch = &CoreLatch::new();
        let job = &AtomicBool::new(false);
        let [first, second] = [0, 1].map(|index| sleep.worker(index).unwrap());
        std::thread::scope(|threads| {
            threads.spawn(move || {
                let mut idle = sleep.start_looking(first, Purpose::Job);
                while !latch.probe() {
                    sleep.no_work_found(&mut idle, latch, || false);
                }
                sleep.work_found(idle, || false);
            });
            threads.spawn(move || {
                let never = CoreLatch::new();
                let mut idle = sleep.start_looking(second, Purpose::Job);
                while !job.load(Ordering::Relaxed) {
                    sleep.no_work_found(&mut idle, &never, || job.load(Ordering::Relaxed));
                }
                sleep.work_found(idle, || false);
                // SAFETY: 1. to 3. all of them live in the frame of the test; the first worker
                // waits,
                // 4. for this.
                unsafe { set_latch(sleep, latch, first) };
            });
            job.store(true, Ordering::Relaxed);
            sleep.announce_for([second]);
        });
    }
}

fn a_worker_that_does_not_exist_is_a_typed_error<S: TestProtocol>() {
    let sleep = S::new(2, IdlePolicy::DEFAULT);
    assert_eq!(sleep.worker(1).unwrap().get(), 1);
    let error = sleep.worker(2).unwrap_err();
    assert_eq!(
        error,
        UnknownWorker {
            index: 2,
            workers: 2
        }
    );
}

#[test]
#[deny(unfulfilled_lint_expectations)]
fn the_compiler_finds_an_answer_that_is_ignored() {
    let sleep = <TestJec as TestProtocol>::new(2, IdlePolicy::DEFAULT);
    #[expect(unused_must_use, reason = "the compiler finds this line")]
    sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
    let sleep = <TestBusy as TestProtocol>::new(2, IdlePolicy::DEFAULT);
    #[expect(unused_must_use, reason = "the compiler finds this line")]
    sleep.start_looking(sleep.worker(1).unwrap(), Purpose::Wait);
    #[expect(unused_must_use, reason = "the compiler finds this line")]
    sleep.borrow_sleeper(|_| true);
}

/// A batch that turns out to be empty announces nothing.
fn no_jobs_wake_no_worker<S: TestProtocol>() {
    let sleep = &S::new(1, IdlePolicy::IMMEDIATE);
    let latch = &CoreLatch::new();
    let worker = sleep.worker(0).unwrap();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let mut idle = sleep.start_looking(worker, Purpose::Job);
            while !latch.probe() {
                sleep.no_work_found(&mut idle, latch, || false);
            }
            sleep.work_found(idle, || false);
        });
        // Liveness: there is no job, so the worker falls asleep.
        while sleep.num_sleeping() == 0 {
            std::thread::yield_now();
        }
        for queue_was_empty in [true, false] {
            sleep.announce(NewJobs::injected(0, queue_was_empty));
            sleep.announce(NewJobs::injected(0, queue_was_empty).at(Hint::Injector));
            sleep.announce(NewJobs::internal(0, || queue_was_empty));
            sleep.announce(NewJobs::internal(0, || queue_was_empty).at(Hint::Injector));
        }
        // A waker lowers the count before it returns.
        let asleep = sleep.num_sleeping();
        // SAFETY: 1. to 3. all of them live in this frame, and only that worker waits; 4. for this.
        unsafe { set_latch(sleep, latch, worker) };
        assert_eq!(asleep, 1);
    });
}

/// Puts a pool to sleep and wakes it, as often as the environment variable `SLEEP_CYCLES` says.
/// Every second time all workers sleep before the next burst; otherwise they are anywhere on their
/// way. Prints how many workers were woken.
fn sleep_cycles<S: TestProtocol>(policy: IdlePolicy) {
    const WORKERS: usize = 3;
    // Tests may share a thread, and one that failed leaves its number.
    take_wakes();
    let cycles = num_cycles();
    let running = start::<S>(WORKERS, policy);
    let mut jobs = 0;
    for cycle in 0..cycles {
        // Liveness: no job is left, so all workers fall asleep.
        while cycle % 2 == 0 && running.pool.sleep.num_sleeping() < WORKERS {
            std::thread::yield_now();
        }
        let burst = cycle / 2 % (WORKERS + 1) + 1;
        running.pool.inject(burst);
        jobs += burst;
        running.pool.wait_for(jobs);
    }
    let pool = running.end();
    assert_eq!(pool.finished.load(Ordering::SeqCst), jobs);
    let wakes = take_wakes() + pool.wakes.load(Ordering::Relaxed);
    std::println!("{cycles} cycles, {wakes} wakes of workers");
}

fn num_cycles() -> usize {
    match std::env::var("SLEEP_CYCLES") {
        Ok(cycles) => cycles.parse().expect("SLEEP_CYCLES is a number"),
        Err(_) if cfg!(miri) => 3,
        Err(_) => 300,
    }
}

/// The whole suite for one protocol.
macro_rules! suite {
    ($name:ident, $protocol:ty: $($test:ident)*) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $test() {
                    super::$test::<$protocol>();
                }
            )*
        }
    };
    ($name:ident, $protocol:ty) => {
        suite! { $name, $protocol:
            smoke
            stress
            stampede_of_terminations
            a_latch_ends_the_wait
            a_job_for_one_worker_is_not_overlooked
            a_worker_that_does_not_exist_is_a_typed_error
        }
    };
}

/// The mistakes that a protocol finds.
#[cfg(debug_assertions)]
macro_rules! mistakes {
    ($name:ident, $protocol:ty: $($test:ident $message:literal)*) => {
        mod $name {
            use super::*;

            $(
                #[test]
                #[should_panic = $message]
                fn $test() {
                    super::mistakes::$test::<$protocol>();
                }
            )*
        }
    };
    ($name:ident, $protocol:ty) => {
        mistakes! { $name, $protocol:
            an_idle_state_that_is_dropped_is_found "worker 0 begins a search in the middle of another"
            two_threads_that_are_one_worker_are_found "worker 1 begins a search in the middle of another"
            a_worker_that_left_its_last_look_by_a_panic_is_found "worker 0 begins a search in the middle of another"
            an_idle_state_of_another_pool_is_found "worker 1 has begun no search here"
            an_idle_state_that_ends_in_another_pool_is_found "worker 1 ends a search that it has not begun here"
        }
    };
}

suite!(jec, TestJec);
suite!(sockets, TestSockets);
suite!(classic, TestClassic);
suite!(busy, TestBusy);
suite!(hints, TestHints);
suite!(jec_without_jobs, TestJec: no_jobs_wake_no_worker);
suite!(sockets_without_jobs, TestSockets: no_jobs_wake_no_worker);
suite!(classic_without_jobs, TestClassic: no_jobs_wake_no_worker);
suite!(hints_without_jobs, TestHints: no_jobs_wake_no_worker);

#[cfg(debug_assertions)]
mistakes!(mistakes_with_jec, TestJec);
#[cfg(debug_assertions)]
mistakes!(mistakes_with_classic, TestClassic);
#[cfg(debug_assertions)]
mistakes!(mistakes_with_hints, TestHints);
#[cfg(debug_assertions)]
mistakes! { mistakes_with_busy, TestBusy:
    an_idle_state_that_is_dropped_is_found "more searches than workers"
    an_idle_state_that_ends_in_another_pool_is_found "more searches end than have begun"
}

/// The [`sleep_cycles`] of a protocol with each parker, without rounds and with the default.
macro_rules! cycles {
    ($name:ident: $($parker:ident, $protocol:ty;)*) => {
        mod $name {
            $(
                mod $parker {
                    use super::super::*;

                    #[test]
                    fn immediate() {
                        sleep_cycles::<$protocol>(IdlePolicy::IMMEDIATE);
                    }

                    #[test]
                    fn default() {
                        sleep_cycles::<$protocol>(IdlePolicy::DEFAULT);
                    }
                }
            )*
        }
    };
}

cycles! { jec_cycles:
    condvar, TestJec<IdlePolicy, Counting<TestParker>>;
    spinning, TestJec<IdlePolicy, Counting<SpinningParker>>;
    early, TestJec<IdlePolicy, Counting<EarlyParker>>;
}
cycles! { sockets_cycles:
    condvar, TestSockets<Counting<TestParker>>;
    spinning, TestSockets<Counting<SpinningParker>>;
    early, TestSockets<Counting<EarlyParker>>;
}
cycles! { classic_cycles:
    condvar, TestClassic<Counting<TestParker>>;
    spinning, TestClassic<Counting<SpinningParker>>;
    early, TestClassic<Counting<EarlyParker>>;
}
cycles! { hints_cycles:
    condvar, TestHints<Counting<TestParker>>;
    spinning, TestHints<Counting<SpinningParker>>;
    early, TestHints<Counting<EarlyParker>>;
}
