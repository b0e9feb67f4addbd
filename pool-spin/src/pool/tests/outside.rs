//! Cores that are not workers, and wait for the pool.

use core::cell::Cell;
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread_local,
    time::Duration,
};

use super::*;
use crate::{CoreParker, Parker};

thread_local!(static IS_OUTSIDE: Cell<bool> = const { Cell::new(false) });

/// Whether the thread outside the pool has let others run.
static HAS_RELAXED: AtomicBool = AtomicBool::new(false);

/// A machine that has fewer processors than cores, if it is a busy computer.
struct Crowded;

struct CrowdedParker(<Host as Machine>::Parker);

impl Parker for CrowdedParker {
    fn park(&self) {
        self.0.park();
    }

    fn unpark(&self) {
        self.0.unpark();
    }

    fn relax(&self) {
        HAS_RELAXED.fetch_or(IS_OUTSIDE.get(), SeqCst);
        self.0.relax();
    }
}

impl CoreParker for CrowdedParker {
    const NEW: Self = Self(CoreParker::NEW);
}

// SAFETY: 1. and 2. as for `Host`, whose pointers it has.
unsafe impl Machine for Crowded {
    type Local = <Host as Machine>::Local;
    type Parker = CrowdedParker;
}

/// Otherwise the thread keeps the processor from the worker for which it waits.
#[test]
fn a_core_that_waits_for_the_pool_relaxes_as_its_parker_does() {
    static POOL: SpinPool<Cores<Crowded, 1, 4>> = SpinPool::new();
    IS_OUTSIDE.set(true);
    with_workers(&POOL, || {
        POOL.install(|_| {
            // The limit only ends a test that fails.
            let mut rounds = 0..60_000;
            while !HAS_RELAXED.load(SeqCst) && rounds.next().is_some() {
                thread::sleep(Duration::from_millis(1));
            }
        });
    });
    assert!(HAS_RELAXED.load(SeqCst));
}
