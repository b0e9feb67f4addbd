//! sleep-core by itself: a worker's loop, a poster of jobs, and a latch, with the protocol of the
//! jobs event counter.
#![no_std]
#![no_main]

use portable_atomic::{AtomicBool, Ordering};
use size as _;
use sleep_core::{CoreLatch, IdlePolicy, Jec, Parker, SleepProtocol as _, Slot};

struct Halt;

impl Parker for Halt {
    fn park(&self) {}
    fn unpark(&self) {}
}

static SLEEP: Jec<Halt, [Slot<Halt>; 2]> =
    Jec::from_array([const { Slot::new(Halt) }; 2], IdlePolicy::IMMEDIATE);
static JOB: AtomicBool = AtomicBool::new(false);
static LATCH: CoreLatch = CoreLatch::new();

/// Runs a worker, which searches, sleeps and works until its latch is set.
fn work() {
    let Ok(worker) = SLEEP.worker(0) else { return };
    let has_work = || JOB.load(Ordering::Relaxed);
    while !LATCH.probe() {
        let mut idle = SLEEP.start_looking(worker);
        while !LATCH.probe() && !JOB.swap(false, Ordering::Acquire) {
            SLEEP.no_work_found(&mut idle, &LATCH, has_work);
        }
        SLEEP.work_found(idle, has_work);
    }
}

/// Posts jobs, and ends the worker.
fn post() {
    JOB.store(true, Ordering::Release);
    SLEEP.new_injected_jobs(1, true);
    SLEEP.new_internal_jobs(1, || true);
    if let Ok(worker) = SLEEP.worker(0) {
        // SAFETY: 1. and 3. Both are statics. 2. Worker 0 waits on it, 4. for this.
        unsafe { SLEEP.set_latch(&raw const LATCH, worker) };
    }
}

/// Runs the program: the linker begins here.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    loop {
        post();
        work();
    }
}
