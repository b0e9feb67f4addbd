//! What decides whether a thread outside every pool is a guest: the builder of the pool, or else
//! the function that is called. Each test runs itself once more, as a process of its own, whose
//! global pool it builds.
#![cfg(all(feature = "metrics", not(miri)))]

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread::{self, ThreadId},
    time::Duration,
};

use crate::{again, support};
use pool_std::{
    CurrentPool, IdlePolicy, SleepKind, ThreadPoolBuilder, current_state, spawn, spawn_future,
};

const WITH_GUESTS: CurrentPool = CurrentPool::with_default_guests(|| true);
const WITHOUT_GUESTS: CurrentPool = CurrentPool::with_default_guests(|| false);

/// How often to call at most. Only ends a test that fails.
const ATTEMPTS: usize = 10_000;

/// In the child, builds the global pool and runs `body`. Otherwise runs the test `name` as a child,
/// and expects that it passes.
fn in_a_global_pool(name: &str, guests: Option<bool>, body: impl FnOnce()) {
    if again::is_child() {
        let mut builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .sleep(SleepKind::Jec)
            .idle_policy(IdlePolicy::IMMEDIATE);
        if let Some(guests) = guests {
            builder = builder.guests(guests);
        }
        builder.build_global().unwrap();
        body();
        return;
    }
    let mut child = again::child(&format!("current_pool::{name}"));
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

/// A call from outside, which returns the thread that its closure runs on.
type Call = fn(CurrentPool) -> ThreadId;

const CALLS: [Call; 4] = [
    |pool| pool.join(this_thread, || ()).0,
    |pool| pool.join_context(|_| this_thread(), |_| ()).0,
    |pool| pool.scope(|_| this_thread()),
    |pool| pool.scope_fifo(|_| this_thread()),
];

fn this_thread() -> ThreadId {
    thread::current().id()
}

/// Waits until a worker of the global pool sleeps, so that its place may be taken.
fn wait_for_a_sleeper() {
    while current_state().asleep().count() == 0 {
        thread::yield_now();
    }
}

/// Calls until the closure runs on this thread, which it does as soon as a worker has left its
/// place.
fn assert_guest(pool: CurrentPool) {
    for call in CALLS {
        let is_guest = || {
            wait_for_a_sleeper();
            call(pool) == this_thread()
        };
        assert!((0..ATTEMPTS).any(|_| is_guest()), "never a guest");
    }
}

fn assert_no_guest(pool: CurrentPool) {
    for call in CALLS.repeat(3) {
        wait_for_a_sleeper();
        assert_ne!(call(pool), this_thread());
    }
}

#[test]
fn the_default_counts_if_the_builder_says_nothing() {
    let name = "the_default_counts_if_the_builder_says_nothing";
    in_a_global_pool(name, None, || {
        assert_guest(WITH_GUESTS);
        assert_no_guest(WITHOUT_GUESTS);
    });
}

#[test]
fn a_builder_with_guests_overrides_the_default() {
    let name = "a_builder_with_guests_overrides_the_default";
    in_a_global_pool(name, Some(true), || {
        assert_guest(WITH_GUESTS);
        assert_guest(WITHOUT_GUESTS);
    });
}

#[test]
fn a_builder_without_guests_overrides_the_default() {
    let name = "a_builder_without_guests_overrides_the_default";
    in_a_global_pool(name, Some(false), || {
        assert_no_guest(WITH_GUESTS);
        assert_no_guest(WITHOUT_GUESTS);
    });
}

#[test]
fn the_default_is_not_asked_for_a_worker() {
    const UNASKED: CurrentPool = CurrentPool::with_default_guests(|| panic!("asked"));
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for call in CALLS {
            assert_eq!(call(UNASKED), this_thread());
        }
    });
}

/// Reproduces a bug: whether the waits of a call were isolated depended on how much stack its
/// caller had left.
#[test]
fn a_call_on_a_short_stack_is_isolated() {
    in_a_global_pool("a_call_on_a_short_stack_is_isolated", None, || {
        let (release, released) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        spawn(move || {
            begin.send(()).unwrap();
            _ = released.recv();
        });
        begun.recv().unwrap();
        // Of two workers, one is left. It runs a call that waits for what never comes, beside a job
        // that does not belong to the call.
        let is_run = Arc::new(AtomicBool::new(false));
        let call = || {
            let sets = is_run.clone();
            thread::scope(|threads| _ = threads.spawn(|| spawn(move || sets.store(true, SeqCst))));
            let mut never = spawn_future(pending::<()>());
            assert!(!never.wait_timeout(Duration::from_millis(20)));
            is_run.load(SeqCst)
        };
        let is_run_meanwhile = thread::scope(|threads| {
            let thread = thread::Builder::new().stack_size(256 << 10);
            let call = || pool_std::scope(|_| call());
            thread.spawn_scoped(threads, call).unwrap().join().unwrap()
        });
        assert!(!is_run_meanwhile);
        drop(release);
        support::wait_for(|| is_run.load(SeqCst));
    });
}
