//! On which processors deques are biased.

use core::num::NonZeroU32;

use super::*;
use crate::AsymmetricFence;

/// For a test on one thread.
struct Cheap;

// SAFETY: obligations 1 and 2: no test has another thread. Obligation 3: nothing panics.
unsafe impl AsymmetricFence for Cheap {
    fn light() {}

    fn heavy() -> bool {
        true
    }
}

// SAFETY: 1. no test has another thread; 2. nothing panics.
unsafe impl FencePrice for Cheap {
    fn price() -> Option<NonZeroU32> {
        NonZeroU32::new(2)
    }
}

/// Checks the gate: on POWER and, by its documents, on Armv7 a store may be visible to one
/// processor before another. The `miri` lane runs this test as a program for POWER too.
#[test]
fn deques_are_biased_only_where_stores_are_multi_copy_atomic() {
    let deque: Deque<usize, Fixed<usize, 4>> =
        Deque::fixed(Order::Lifo).with_process_fence::<Cheap>();
    let worker = deque.worker().unwrap();
    worker.try_push(0).unwrap();
    for element in 1..10 {
        worker.try_push(element).unwrap();
        assert_eq!(worker.pop(), Some(element));
    }
    let is_biased = deque.top.load(Ordering::Relaxed).is_biased();
    let is_expected = match std::env::consts::ARCH {
        "x86" | "x86_64" | "aarch64" | "riscv32" | "riscv64" => true,
        "powerpc" | "powerpc64" | "arm" => false,
        // No expectation.
        _ => return,
    };
    assert_eq!(is_biased, is_expected);
}
