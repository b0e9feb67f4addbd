//! The parts that the programs share: no start code, a machine of one core, no text for panics.
#![no_std]

use core::panic::PanicInfo;

#[cfg(feature = "critical-section")]
use cortex_m as _;
use pool_spin::{
    CoreNumber, CorePointer, Cores, Machine, Numbered, Parker, Spin, SpinPool, Worker,
};

/// A parker that neither blocks nor wakes.
#[derive(Debug)]
pub struct Halt;

impl Parker for Halt {
    fn park(&self) {}
    fn unpark(&self) {}
}

/// Makes a program of sleep-core by itself: a worker's loop, a poster of jobs, and a latch, with
/// this sleep protocol.
#[macro_export]
macro_rules! sleep_program {
    ($protocol:ty, $new:expr) => {
        use portable_atomic::{AtomicBool, Ordering};
        use sleep_core::{CoreLatch, NewJobs, Purpose, SleepProtocol as _, set_latch};

        static SLEEP: $protocol = $new;
        static JOB: AtomicBool = AtomicBool::new(false);
        static LATCH: CoreLatch = CoreLatch::new();

        /// Runs a worker, which searches, sleeps and works until its latch is set.
        fn work() {
            let Ok(worker) = SLEEP.worker(0) else { return };
            let has_work = || JOB.load(Ordering::Relaxed);
            while !LATCH.probe() {
                let mut idle = SLEEP.start_looking(worker, Purpose::Job);
                while !LATCH.probe() && !JOB.swap(false, Ordering::Acquire) {
                    SLEEP.no_work_found(&mut idle, &LATCH, has_work);
                }
                SLEEP.work_found(idle, has_work);
            }
        }

        /// Posts jobs, and ends the worker.
        fn post() {
            JOB.store(true, Ordering::Release);
            SLEEP.announce(NewJobs::injected(1, true));
            SLEEP.announce(NewJobs::internal(1, || true));
            if let Ok(worker) = SLEEP.worker(0) {
                // SAFETY: 1. and 3. Both are statics. 2. Worker 0 waits on it, 4. for this.
                unsafe { set_latch(&SLEEP, &raw const LATCH, worker) };
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
    };
}

/// The machine.
#[derive(Debug)]
pub struct OneCore;

// SAFETY: 1. The pointer is null at first. 2. Nothing else runs.
unsafe impl Machine for OneCore {
    type Local = Numbered<Self>;
    type Parker = Spin;
}

// SAFETY: 1. There is one core, with number 0, and one pointer. 2. There is one static.
unsafe impl CoreNumber for OneCore {
    fn number() -> usize {
        0
    }

    fn pointers() -> &'static [CorePointer] {
        static POINTERS: [CorePointer; 1] = [CorePointer::new()];
        &POINTERS
    }
}

/// Two workers, with room for 16 jobs each.
pub type Chip = Cores<OneCore, 2, 16>;

/// The pool that is measured.
pub type Pool = SpinPool<Chip>;

/// Computes a Fibonacci number with a join at every level.
pub fn fib(worker: Worker<'_, Chip>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
    a + b
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
