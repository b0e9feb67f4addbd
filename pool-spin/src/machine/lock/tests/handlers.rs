//! Handlers that want the lock, on threads whose interrupts are two flags.

use core::cell::Cell;
use std::{
    sync::atomic::{AtomicBool as Flag, Ordering::SeqCst},
    thread, thread_local,
};

use lock_api::Mutex;

use super::*;

thread_local! {
    static MASKED: Cell<bool> = const { Cell::new(false) };
    static PENDING: Cell<bool> = const { Cell::new(false) };
    static HANDLED: Cell<usize> = const { Cell::new(0) };
}

/// The interrupts of a thread. The handler takes the lock, and fails if it would wait.
struct Core;

impl Core {
    fn handle_pending() {
        if !MASKED.get() && PENDING.take() {
            let count = COUNT.try_lock();
            *count.expect("the core that the handler interrupts holds the lock") += 1;
            HANDLED.set(HANDLED.get() + 1);
        }
    }

    fn interrupt() {
        PENDING.set(true);
        Self::handle_pending();
    }
}

impl Interrupts for Core {
    type State = bool;

    fn mask() -> bool {
        MASKED.replace(true)
    }

    fn restore(masked: bool) {
        MASKED.set(masked);
        Self::handle_pending();
    }

    fn halt() {
        unreachable!("a lock does not halt");
    }
}

/// Only one test uses this lock: handlers fail if another core holds it.
static COUNT: Mutex<InterruptLock<Core>, usize> = Mutex::new(0);

#[test]
fn a_handler_takes_the_lock_when_its_core_has_given_it_up() {
    let mut count = COUNT.lock();
    Core::interrupt();
    assert_eq!(HANDLED.get(), 0, "masked while the lock is held");
    *count += 1;
    drop(count);
    assert_eq!(HANDLED.get(), 1);
    assert_eq!(*COUNT.lock(), 2);
    Core::interrupt();
    assert_eq!(HANDLED.get(), 2, "not masked any more");
}

/// Relaxes, and notes whether interrupts were masked.
struct NoteMask;

static HAS_WAITED: Flag = Flag::new(false);
static WAITED_MASKED: Flag = Flag::new(false);

impl RelaxStrategy for NoteMask {
    fn relax() {
        WAITED_MASKED.fetch_or(MASKED.get(), SeqCst);
        HAS_WAITED.store(true, SeqCst);
        thread::yield_now();
    }
}

#[test]
fn a_core_that_waits_takes_interrupts() {
    static LOCK: Mutex<InterruptLock<Core, NoteMask>, ()> = Mutex::new(());
    let guard = LOCK.lock();
    assert!(LOCK.try_lock().is_none());
    assert!(
        MASKED.get(),
        "an attempt that fails restores what was before"
    );
    thread::scope(|threads| {
        threads.spawn(|| {
            drop(LOCK.lock());
            assert!(!MASKED.get());
        });
        while !HAS_WAITED.load(SeqCst) {
            thread::yield_now();
        }
        drop(guard);
    });
    assert!(!WAITED_MASKED.load(SeqCst));
}

#[test]
fn locks_nest_and_restore_the_mask_that_was() {
    static OUTER: Mutex<InterruptLock<Core>, ()> = Mutex::new(());
    static INNER: Mutex<InterruptLock<Core>, ()> = Mutex::new(());
    let outer = OUTER.lock();
    drop(INNER.lock());
    assert!(MASKED.get(), "the outer lock is held");
    drop(outer);
    assert!(!MASKED.get());
}

#[test]
fn one_core_at_a_time() {
    const ROUNDS: usize = if cfg!(miri) { 50 } else { 5000 };
    static LOCK: Mutex<InterruptLock<Core, NoteMask>, [usize; 2]> = Mutex::new([0; 2]);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..ROUNDS {
                    let mut pair = LOCK.lock();
                    assert_eq!(pair[0], pair[1]);
                    pair[0] += 1;
                    pair[1] += 1;
                }
            });
        }
    });
    assert_eq!(*LOCK.lock(), [4 * ROUNDS; 2]);
}
