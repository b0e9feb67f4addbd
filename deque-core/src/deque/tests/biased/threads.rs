//! The operating system's fence, with delays at every step of a steal and of a pop.

use rustix::thread::{MembarrierCommand, membarrier};

use super::*;
use crate::testing::{MANY, Taken, delay, delay_often, with_thieves};

/// Defines a fence `Fence` for one test, and the count of its calls, `CALLS`.
macro_rules! membarrier_fence {
    () => {
        static CALLS: Count = Count::new(0);

        struct Fence;

        // SAFETY: obligations 1 and 2: what the system call promises. Obligation 3: the test
        // registers before, so it is not refused.
        unsafe impl AsymmetricFence for Fence {
            fn light() {
                core::sync::atomic::compiler_fence(SeqCst);
            }

            fn heavy() -> bool {
                delay();
                membarrier(MembarrierCommand::PrivateExpedited).expect("registered");
                delay();
                CALLS.fetch_add(1, SeqCst);
                true
            }
        }

        // SAFETY: 1. what the system call promises; 2. nothing panics.
        unsafe impl FencePrice for Fence {
            fn price() -> Option<NonZeroU32> {
                NonZeroU32::new(4)
            }
        }
    };
}

#[test]
fn a_busy_owner_answers() {
    membarrier_fence!();
    membarrier(MembarrierCommand::RegisterPrivateExpedited)
        .expect("Linux 4.14, and no sandbox that forbids it");
    let deque: Shared = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let worker = deque.worker().unwrap();
            while !is_over.load(SeqCst) {
                while worker.len() < 3 {
                    worker.try_push(7).unwrap();
                }
                worker.pop();
            }
        });
        let is_stolen_by_answer = || {
            let calls = CALLS.load(SeqCst);
            is_biased(&deque)
                && deque.stealer().steal().success().is_some()
                && deque.top.was_answered()
                && CALLS.load(SeqCst) == calls
        };
        while !is_stolen_by_answer() {
            std::thread::yield_now();
        }
        is_over.store(true, SeqCst);
    });
}

/// Replaces rings while the owner takes no fence, and while a thief revokes that.
#[test]
fn stampede_while_shrinking() {
    membarrier_fence!();
    membarrier(MembarrierCommand::RegisterPrivateExpedited)
        .expect("Linux 4.14, and no sandbox that forbids it");
    for pops in 6..=8 {
        let deque = Deque::growable(Order::Lifo).with_process_fence::<Fence>();
        let deque = deque.starting_at(usize::MAX - MANY / 2);
        super::super::shrink::stampede(deque, pops);
    }
}

#[test]
fn calls_of_a_biased_deque_have_an_order() {
    membarrier_fence!();
    membarrier(MembarrierCommand::RegisterPrivateExpedited)
        .expect("Linux 4.14, and no sandbox that forbids it");
    let make = || Deque::growable(Order::Lifo).with_process_fence::<Fence>();
    super::super::linear::check(make, usize::MAX, 20);
    assert!(
        CALLS.load(SeqCst) > 0,
        "no thief met an owner without fences"
    );
}

/// Steals and pops `BIASED_ELEMENTS` elements with delays everywhere. Thieves take single elements
/// and batches.
#[test]
fn stress_with_delays() {
    membarrier_fence!();
    membarrier(MembarrierCommand::RegisterPrivateExpedited)
        .expect("Linux 4.14, and no sandbox that forbids it");
    let elements = std::env::var("BIASED_ELEMENTS").map_or(MANY, |count| {
        count.parse().expect("BIASED_ELEMENTS is a number")
    });
    for thieves in 1..=3 {
        let deque = Deque::growable(Order::Lifo).with_process_fence::<Fence>();
        let deque = deque.starting_at(usize::MAX - elements / 3);
        let worker = deque.worker().unwrap();
        let taken = Taken::new(elements);
        let turn = Count::new(0);
        let steal = || {
            delay_often();
            if turn.fetch_add(1, SeqCst).is_multiple_of(2) {
                return deque.stealer().steal();
            }
            let batch = Deque::<usize, Fixed<usize, 32>>::fixed(Order::Lifo);
            let batch = batch.worker().unwrap();
            let first = deque.stealer().steal_batch_and_pop(&batch);
            std::iter::from_fn(|| batch.pop()).for_each(|element| taken.note(element));
            first
        };
        let own = || {
            delay_often();
            let mut next = 0..elements;
            // Pushes some, pops one less: longer and shorter runs, near empty and far from it.
            for run in (1..=9).cycle() {
                let pushed = next.by_ref().take(run).map(|element| worker.push(element));
                let pushed = pushed.count();
                (1..pushed).for_each(|_| worker.pop().into_iter().for_each(|e| taken.note(e)));
                if pushed == 0 {
                    break;
                }
            }
            std::iter::from_fn(|| worker.pop()).for_each(|element| taken.note(element));
        };
        with_thieves(thieves, steal, |element| taken.note(element), own);
        taken.assert_all();
    }
    assert!(CALLS.load(SeqCst) > 0, "nothing was revoked");
    std::println!("{} revocations", CALLS.load(SeqCst));
}
