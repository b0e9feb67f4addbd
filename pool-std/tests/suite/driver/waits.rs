//! Waits for signals, and the worst that a program does with them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::AtomicBool,
};

use pool_std::{
    IdlePolicy,
    driver::{Signal, wait, wait_blocking},
    spawn,
};

use super::*;

/// Runs a test on the only worker of a pool and outside every pool.
fn everywhere(test: impl Fn() + Send) {
    test();
    let builder = builder(1).idle_policy(IdlePolicy::IMMEDIATE);
    builder.build().unwrap().install(test);
}

/// A function that waits for a signal.
type Wait = fn(&mut dyn FnMut(Signal));

const WAITS: [Wait; 2] = [|begin| wait(begin), |begin| wait_blocking(begin)];

#[test]
fn a_signal_of_another_thread_ends_the_wait() {
    everywhere(|| {
        for wait in WAITS {
            let is_set = Arc::new(AtomicBool::new(false));
            wait(&mut |signal| {
                let is_set = is_set.clone();
                thread::spawn(move || {
                    is_set.store(true, SeqCst);
                    signal.set();
                });
            });
            assert!(is_set.load(SeqCst));
        }
    });
}

#[test]
fn a_signal_that_is_dropped_ends_the_wait() {
    everywhere(|| {
        for wait in WAITS {
            wait(&mut drop);
            wait(&mut |signal| _ = thread::spawn(move || drop(signal)));
        }
    });
}

#[test]
fn a_worker_runs_other_jobs_in_a_wait() {
    let pool = builder(1).build().unwrap();
    pool.install(|| wait(|signal| spawn(|| signal.set())));
}

/// The frame has a latch that the other thread sets.
#[test]
fn a_panic_leaves_the_frame_when_the_signal_is_set() {
    everywhere(|| {
        for wait in WAITS {
            let is_set = Arc::new(AtomicBool::new(false));
            let panic = catch_unwind(AssertUnwindSafe(|| {
                wait(&mut |signal| {
                    let is_set = is_set.clone();
                    thread::spawn(move || {
                        for _ in 0..100 {
                            thread::yield_now();
                        }
                        is_set.store(true, SeqCst);
                        signal.set();
                    });
                    panic!("by design");
                });
            }));
            assert!(is_set.load(SeqCst), "the frame is gone");
            assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "by design");
        }
    });
}

/// The worker of such a thread lives until the wait has ended.
#[test]
fn a_wait_cannot_end_the_worker_of_its_thread() {
    let thread = thread::spawn(|| {
        let pool = builder(2).use_current_thread().build().unwrap();
        wait(|signal| {
            assert_eq!(pool.shutdown(), Err(ShutdownError::FromWorker));
            drop(signal);
        });
    });
    thread.join().unwrap();
}

#[test]
fn signals_are_set_by_jobs_of_any_pool() {
    let pools = [1, 2].map(|threads| {
        let builder = builder(threads).idle_policy(IdlePolicy::IMMEDIATE);
        Arc::new(builder.build().unwrap())
    });
    for round in 0..if cfg!(miri) { 5 } else { 500 } {
        let [one, two] = [round % 2, 1 - round % 2].map(|number| pools[number].clone());
        one.install(|| {
            wait(|signal| two.spawn(move || signal.set()));
        });
    }
}

/// A signal that is forgotten makes its thread wait for good, and nothing else.
#[test]
fn a_signal_that_is_forgotten_keeps_its_frame() {
    let (sender, has_begun) = mpsc::channel();
    let thread = thread::spawn(move || {
        wait_blocking(|signal| {
            std::mem::forget(signal);
            sender.send(()).unwrap();
        });
    });
    has_begun.recv().unwrap();
    for _ in 0..100 {
        assert!(!thread.is_finished());
        thread::yield_now();
    }
}
