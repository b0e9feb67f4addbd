//! The parts that the programs share: no start code, a machine of one core, no text for panics.
#![no_std]

use core::panic::PanicInfo;

#[cfg(feature = "critical-section")]
use cortex_m as _;
use pool_spin::{CoreNumber, CorePointer, Cores, Machine, Numbered, Spin, SpinPool, Worker};

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
pub type System = Cores<OneCore, 2, 16>;

/// The pool that is measured.
pub type Pool = SpinPool<System>;

/// Computes a Fibonacci number with a join at every level.
pub fn fib(worker: Worker<'_, System>, n: u32) -> u32 {
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
