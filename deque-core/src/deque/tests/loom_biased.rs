//! Owners that take no fence, and thieves that make them take one: no element is lost, none is
//! taken twice.

use ::loom::{model::Builder, sync::Arc, thread};
use core::num::NonZeroU32;
use std::vec::Vec;

use super::*;
use crate::{
    AsymmetricFence,
    primitive::{AtomicBool, Ordering, full_fence, light_fence},
    testing::interrupt,
};

mod refused;

use refused::Refusal;

type Elements = Vec<usize>;
type Biased = Deque<usize, Fixed<usize, 4>>;

/// An interrupt that the owner takes at some point.
struct Interrupts;

// SAFETY: obligations 1 and 2: the call waits until the owner has taken a fence, and takes one
// before and after. Obligation 3: if the model fails, it is over.
unsafe impl AsymmetricFence for Interrupts {
    fn light() {
        light_fence();
    }

    fn heavy() -> bool {
        interrupt::fence_all();
        true
    }
}

// SAFETY: 1. as above; 2. nothing panics.
unsafe impl FencePrice for Interrupts {
    fn price() -> Option<NonZeroU32> {
        NonZeroU32::new(2)
    }
}

/// Runs `own` as the owner of a biased deque, against thieves that make this many attempts each.
fn check(
    prefilled: usize,
    thieves: &'static [usize],
    own: impl Fn(&Worker<&Biased>) -> (usize, Elements) + Sync + Send + 'static,
) {
    check_from_fenced(prefilled, thieves, |worker| worker.bias_now(), own);
}

/// Checks as `check` does, but `prepare` may bias the deque before the thieves come.
fn check_from_fenced(
    prefilled: usize,
    thieves: &'static [usize],
    prepare: fn(&Worker<&Biased>),
    own: impl Fn(&Worker<&Biased>) -> (usize, Elements) + Sync + Send + 'static,
) {
    check_with::<Interrupts>(prefilled, thieves, prepare, own);
}

/// Checks as `check_from_fenced` does, with a process fence of another kind.
fn check_with<F: FencePrice>(
    prefilled: usize,
    thieves: &'static [usize],
    prepare: fn(&Worker<&Biased>),
    own: impl Fn(&Worker<&Biased>) -> (usize, Elements) + Sync + Send + 'static,
) {
    let mut model = Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        interrupt::be_owner(thieves.len());
        let deque = Deque::fixed(Order::Lifo).starting_at(usize::MAX);
        let deque: Arc<Biased> = Arc::new(deque.with_process_fence::<F>());
        let worker = deque.worker().unwrap();
        for element in 0..prefilled {
            worker.try_push(element).unwrap();
        }
        // As after an earlier revocation.
        deque.top.answer();
        prepare(&worker);
        let handles: Vec<_> = thieves
            .iter()
            .enumerate()
            .map(|(number, &attempts)| {
                let deque = deque.clone();
                thread::spawn(move || -> Elements {
                    interrupt::be_thief(number);
                    let steal = |_| deque.stealer().steal().success();
                    (0..attempts).filter_map(steal).collect()
                })
            })
            .collect();
        let (pushed, mut taken) = own(&worker);
        interrupt::retire();
        for handle in handles {
            taken.extend(handle.join().unwrap());
        }
        taken.extend(core::iter::from_fn(|| worker.pop()));
        taken.sort_unstable();
        assert_eq!(taken, (0..prefilled + pushed).collect::<Elements>());
    });
}

fn pops(worker: &Worker<&Biased>, count: usize) -> Elements {
    (0..count).filter_map(|_| worker.pop()).collect()
}

#[test]
fn biased_pops_against_a_steal() {
    check(2, &[1], |worker| (0, pops(worker, 2)));
}

#[test]
fn a_biased_pop_of_the_oldest_against_a_steal() {
    check(3, &[2], |worker| {
        let oldest = worker.pop_oldest();
        (0, oldest.into_iter().chain(worker.pop()).collect())
    });
}

#[test]
fn the_last_element_against_a_revocation() {
    check(1, &[1], |worker| {
        let taken = worker.pop();
        assert!(taken.is_some() || worker.is_empty(), "the element is lost");
        (0, taken.into_iter().collect())
    });
}

#[test]
fn two_thieves_revoke() {
    check(2, &[1, 2], |worker| (0, pops(worker, 1)));
}

/// Stops a thief within its revocation, while another one steals twice.
#[test]
fn an_answer_is_heard_by_others() {
    let revoke = |worker: &Worker<&Biased>| {
        worker.bias_now();
        let top = &worker.deque().top;
        assert!(top.begin_revocation(top.load(Ordering::Relaxed)));
    };
    check_from_fenced(3, &[2], revoke, |worker| (0, pops(worker, 2)));
}

#[test]
fn an_earlier_answer_does_not_count() {
    check(2, &[2], |worker| (0, pops(worker, 1)));
}

#[test]
fn an_earlier_answer_does_not_count_when_the_bias_begins() {
    let unprepared = |_: &Worker<&Biased>| ();
    check_from_fenced(2, &[2], unprepared, |worker| {
        worker.bias_now();
        (0, pops(worker, 1))
    });
}

/// Lets a thief read the mode biased, and begin a revocation when the deque was revoked, with an
/// answer, and biased again: that answer must be gone.
#[test]
fn a_revocation_sees_the_answer_taken_back() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let top = Arc::new(ends::AtomicTop::new());
        assert!(top.bias(top.load(Ordering::Relaxed)));
        let found = top.load(Ordering::Relaxed);
        let thief = {
            let top = top.clone();
            thread::spawn(move || {
                if top.begin_revocation(found) {
                    assert!(!top.is_answered(), "an answer to another revocation");
                    true
                } else {
                    false
                }
            })
        };
        // Another thief, and then the owner.
        if top.begin_revocation(found) {
            top.answer();
            top.end_revocation(true);
            assert!(top.bias(top.load(Ordering::Relaxed)));
        }
        thief.join().unwrap();
    });
}

#[test]
fn pops_after_a_revocation() {
    check(3, &[1], |worker| (0, pops(worker, 2)));
}

/// Pops the last element twice; the second time needs no exchange as long as the deque is biased.
#[test]
fn the_last_element_again_and_again() {
    check(1, &[1], |worker| {
        let mut taken = pops(worker, 1);
        worker.try_push(1).unwrap();
        taken.extend(pops(worker, 1));
        worker.try_push(2).unwrap();
        (2, taken)
    });
}

/// Checks that a thief with the words of the first element does not find `top` unchanged after the
/// owner has taken that element, another thief has revoked, and another element was pushed.
#[test]
fn a_bias_at_the_element_that_a_thief_has_read() {
    let unprepared = |_: &Worker<&Biased>| ();
    check_from_fenced(1, &[1], unprepared, |worker| {
        worker.bias_now();
        let taken = pops(worker, 1);
        // The other thief, which then does no more.
        let top = &worker.deque().top;
        let found = top.load(Ordering::Relaxed);
        if found.is_biased() && top.begin_revocation(found) {
            top.end_revocation(false);
        }
        worker.try_push(1).unwrap();
        (1, taken)
    });
}

/// Replaces the owner while the deque is biased; the next one takes the last element.
#[test]
fn the_next_owner_against_a_steal() {
    check(2, &[1], |worker| {
        let mut taken = pops(worker, 1);
        // As if the first worker had been dropped. It is used again when the second one is gone.
        worker.deque().shared.owned.store(false, Ordering::Relaxed);
        let next = worker.deque().worker().unwrap();
        taken.extend(next.pop());
        core::mem::forget(next);
        (0, taken)
    });
}

/// Lets the owner take no fences, then take them, and then take none again.
#[test]
fn biased_anew_against_steals() {
    check(3, &[1], |worker| {
        let mut taken = pops(worker, 1);
        worker.bias_now();
        taken.extend(pops(worker, 2));
        (0, taken)
    });
}

#[test]
fn push_and_take_back_against_a_steal() {
    check(1, &[2], |worker| {
        let pushed = worker.try_push(1).unwrap();
        // SAFETY: 1. it is from this worker.
        let taken = match unsafe { worker.take_back(pushed) } {
            TakeBack::Taken => Vec::from([1]),
            TakeBack::Stolen => Vec::new(),
            TakeBack::NotNewest => unreachable!("no other push or pop came between"),
        };
        (1, taken)
    });
}

/// Pushes with fast push enabled while another thread falls asleep. That thread's process fence
/// takes effect anywhere in the push: either the owner sees that fast push is disabled, or the
/// other thread sees the element.
#[test]
fn a_fast_push_against_a_sleeper_with_a_process_fence() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        interrupt::be_owner(1);
        let deque: Arc<Biased> = Arc::new(Deque::fixed(Order::Lifo));
        let worker = deque.worker().unwrap();
        worker.try_push(0).unwrap();
        assert_eq!(worker.pop(), Some(0));
        assert!(worker.enable_fast_push(|| true));
        let sleeper = {
            let deque = deque.clone();
            thread::spawn(move || {
                interrupt::be_thief(0);
                deque.disable_fast_push();
                assert!(Interrupts::heavy(), "nothing refuses it here");
                !deque.is_empty()
            })
        };
        // SAFETY: 1. it is from just now.
        let pushed = unsafe { worker.fast_push(worker.next_position(), 1) };
        interrupt::retire();
        let sleeper_sees = sleeper.join().unwrap();
        assert!(
            pushed == FastPush::PushedWhileDisabled || sleeper_sees,
            "overlooked"
        );
    });
}

/// Checks that a thread which looks for the oldest element finds one, in a deque that always has
/// one.
#[test]
fn the_oldest_element_of_a_deque_that_is_never_empty_is_found() {
    ::loom::model(|| {
        let deque = Arc::new(Deque::<usize, Fixed<usize, 4>>::fixed(Order::Lifo));
        let worker = deque.worker().unwrap();
        worker.try_push(0).unwrap();
        let observer = {
            let deque = deque.clone();
            thread::spawn(move || assert!(deque.oldest().is_some()))
        };
        worker.try_push(1).unwrap();
        assert_eq!(deque.stealer().steal().success(), Some(0));
        observer.join().unwrap();
    });
}

/// Checks that a thief does not miss both of two elements, of which the second is pushed before the
/// first is stolen.
#[test]
fn a_biased_deque_that_is_never_empty_does_not_look_empty() {
    ::loom::model(|| {
        let deque = Deque::fixed(Order::Lifo).with_process_fence::<Refusal>();
        let deque: Arc<Biased> = Arc::new(deque);
        let worker = deque.worker().unwrap();
        worker.try_push(0).unwrap();
        worker.bias_now();
        let thief = {
            let deque = deque.clone();
            thread::spawn(move || assert!(!deque.stealer().steal().is_empty()))
        };
        worker.try_push(1).unwrap();
        worker.end_bias();
        let _ = deque.stealer().steal();
        thief.join().unwrap();
    });
}
