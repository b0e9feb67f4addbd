//! Thieves whom the system refuses the process fence.

use super::*;

/// A system that has taken back its promise.
pub(super) struct Refusal;

// SAFETY: obligation 1: no call returns true. Obligations 2 and 3: no function of the crate calls
// `light`, and nothing panics.
unsafe impl AsymmetricFence for Refusal {
    fn light() {}

    fn heavy() -> bool {
        false
    }
}

// SAFETY: 1. no call of `heavy` returns true; 2. nothing panics.
unsafe impl FencePrice for Refusal {
    fn price() -> Option<NonZeroU32> {
        None
    }
}

/// Thieves take what the owner has answered for, and nothing else.
#[test]
fn a_refused_fence_against_pops() {
    check_with::<Refusal>(
        3,
        &[2],
        |worker| worker.bias_now(),
        |worker| (0, pops(worker, 2)),
    );
}

#[test]
fn two_thieves_are_refused_the_fence() {
    check_with::<Refusal>(
        3,
        &[1, 2],
        |worker| worker.bias_now(),
        |worker| (0, pops(worker, 1)),
    );
}

/// The owner pops without a fence, and then leaves the rest to thieves that no system helps.
#[test]
fn an_owner_that_ends_the_bias_against_refused_thieves() {
    check_with::<Refusal>(
        2,
        &[2],
        |worker| worker.bias_now(),
        |worker| {
            let taken = pops(worker, 1);
            worker.end_bias();
            (0, taken)
        },
    );
}

/// The owner pops without a fence, and then takes its oldest element, which answers.
#[test]
fn an_owner_that_takes_its_oldest_element_against_refused_thieves() {
    check_with::<Refusal>(
        2,
        &[2],
        |worker| worker.bias_now(),
        |worker| {
            let mut taken = pops(worker, 1);
            taken.extend(worker.pop_oldest());
            (0, taken)
        },
    );
}

/// A thief that may rely on the end of a bias sees what the owner did before, whether or not
/// another thief has begun a revocation.
#[test]
fn the_end_of_a_bias_hands_over_what_the_owner_did() {
    for revocation_has_begun in [false, true] {
        check_what_is_handed_over(revocation_has_begun, |worker| worker.end_bias());
    }
}

#[test]
fn a_pop_of_the_oldest_hands_over_what_the_owner_did() {
    check_what_is_handed_over(true, |worker| {
        assert_eq!(worker.pop_oldest(), Some(0));
    });
}

/// Lets the owner do something, and then answer.
fn check_what_is_handed_over(revocation_has_begun: bool, answer: fn(&Worker<&Biased>)) {
    ::loom::model(move || {
        let deque = Deque::fixed(Order::Lifo).with_process_fence::<Refusal>();
        let deque: Arc<Biased> = Arc::new(deque);
        let worker = deque.worker().unwrap();
        worker.try_push(0).unwrap();
        worker.bias_now();
        if revocation_has_begun {
            let top = &deque.top;
            assert!(top.begin_revocation(top.load(Ordering::Relaxed)));
        }
        let is_done = Arc::new(AtomicBool::new(false));
        let thief = {
            let (deque, is_done) = (deque.clone(), is_done.clone());
            thread::spawn(move || {
                if deque.top.load(Ordering::Acquire).mode() == ends::Mode::Fenced {
                    assert!(is_done.load(Ordering::Relaxed));
                }
                if deque.top.is_answered() {
                    full_fence();
                    assert!(is_done.load(Ordering::Relaxed));
                }
            })
        };
        is_done.store(true, Ordering::Relaxed);
        answer(&worker);
        thief.join().unwrap();
    });
}
