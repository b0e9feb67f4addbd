//! Owners that take no fence while no thread steals.

use core::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, AtomicU32},
};
use std::sync::atomic::{AtomicUsize as Count, Ordering::SeqCst};

use super::*;
use crate::{AsymmetricFence, Steal};

/// What a fence for tests on one thread counts; there is nothing to order.
struct Counted {
    calls: Count,
    price: AtomicU32,
    is_refused: AtomicBool,
}

impl Counted {
    const fn new(price: u32) -> Self {
        Self {
            calls: Count::new(0),
            price: AtomicU32::new(price),
            is_refused: AtomicBool::new(false),
        }
    }
}

/// Defines a fence `Fence` of such a price for one test, and its counts, `FENCE`.
macro_rules! counted_fence {
    ($price:expr) => {
        static FENCE: Counted = Counted::new($price);

        struct Fence;

        // SAFETY: obligations 1 and 2: no test has another thread. Obligation 3: nothing panics.
        unsafe impl AsymmetricFence for Fence {
            fn light() {}

            fn heavy() -> bool {
                FENCE.calls.fetch_add(1, SeqCst);
                !FENCE.is_refused.load(SeqCst)
            }
        }

        // SAFETY: 1. no test has another thread; 2. nothing panics.
        unsafe impl FencePrice for Fence {
            fn price() -> Option<NonZeroU32> {
                NonZeroU32::new(FENCE.price.load(SeqCst))
            }
        }
    };
}

mod callbacks;
#[cfg(all(target_os = "linux", not(miri)))]
mod threads;

type Shared = Deque<usize, Fixed<usize, 8>>;

fn is_biased(deque: &Shared) -> bool {
    deque.top.load(SeqCst).mode() == ends::Mode::Biased
}

/// Pushes two elements first, so that no later pop takes the last one.
fn two_elements(deque: &Shared) -> Worker<&Shared> {
    let worker = deque.worker().unwrap();
    two_elements_more(&worker);
    worker
}

/// Pops until the deque is biased, at a price of at most 20.
fn biased_owner(deque: &Shared) -> Worker<&Shared> {
    let worker = two_elements(deque);
    push_and_pop(&worker, 30);
    assert!(is_biased(deque));
    worker
}

fn two_elements_more(worker: &Worker<&Shared>) {
    worker.try_push(0).unwrap();
    worker.try_push(1).unwrap();
}

fn push_and_pop(worker: &Worker<&Shared>, times: u32) {
    for _ in 0..times {
        worker.try_push(7).unwrap();
        assert_eq!(worker.pop(), Some(7));
    }
}

#[test]
fn an_owner_takes_no_fence_when_pops_have_paid_for_it() {
    counted_fence!(20);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    push_and_pop(&worker, 19);
    assert!(!is_biased(&deque));
    push_and_pop(&worker, 2);
    assert!(is_biased(&deque));
    push_and_pop(&worker, 10);
    assert_eq!(FENCE.calls.load(SeqCst), 0, "no thread has stolen");

    assert_eq!(deque.stealer().steal(), Steal::Success(0));
    assert_eq!(FENCE.calls.load(SeqCst), 1);
    assert!(!is_biased(&deque));
    assert_eq!(deque.stealer().steal(), Steal::Success(1));
    assert_eq!(
        FENCE.calls.load(SeqCst),
        1,
        "one while the deque stays fenced"
    );
}

#[test]
fn steals_keep_the_owner_fenced() {
    counted_fence!(10);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    for _ in 0..5 {
        push_and_pop(&worker, 9);
        worker.try_push(2).unwrap();
        assert!(deque.stealer().steal().success().is_some());
        assert!(!is_biased(&deque));
    }
    assert_eq!(FENCE.calls.load(SeqCst), 0);
}

#[test]
fn stealing_from_an_empty_deque_revokes_nothing() {
    counted_fence!(2);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    push_and_pop(&worker, 5);
    assert!(is_biased(&deque));
    assert_eq!((worker.pop(), worker.pop()), (Some(1), Some(0)));
    assert_eq!(deque.stealer().steal(), Steal::Empty);
    assert!(is_biased(&deque));
    assert_eq!(FENCE.calls.load(SeqCst), 0);
}

#[test]
fn an_unknown_price_keeps_the_deque_fenced() {
    counted_fence!(0);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    push_and_pop(&worker, 60);
    assert!(!is_biased(&deque));
    FENCE.price.store(10, SeqCst);
    push_and_pop(&worker, 60);
    assert!(is_biased(&deque), "asked again");
}

/// Lets the system refuse the fence when deques are already biased.
#[test]
fn a_refused_fence_leaves_the_elements_until_the_owner_answers() {
    counted_fence!(10);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = biased_owner(&deque);
    FENCE.is_refused.store(true, SeqCst);
    FENCE.price.store(0, SeqCst);

    // Neither the thief that revokes nor one that finds the revocation takes what the owner may be
    // taking at the same time.
    let thief = deque.stealer();
    assert_eq!(thief.steal(), Steal::Retry);
    assert_eq!(thief.steal(), Steal::Retry);
    let other: Shared = Deque::fixed(Order::Lifo);
    assert_eq!(thief.steal_batch(&other.worker().unwrap()), Steal::Retry);

    push_and_pop(&worker, 1);
    assert_eq!(thief.steal(), Steal::Success(0));
    let calls = FENCE.calls.load(SeqCst);
    assert_eq!(thief.steal(), Steal::Success(1));
    assert_eq!(thief.steal(), Steal::Empty);
    assert_eq!(FENCE.calls.load(SeqCst), calls, "the answer is enough");

    two_elements_more(&worker);
    push_and_pop(&worker, 60);
    assert!(!is_biased(&deque));
    assert_eq!(thief.steal(), Steal::Success(0));
    assert_eq!(worker.pop(), Some(1));
}

/// Reproduces a bug: an owner that takes its oldest elements moved `top` and did not answer.
#[test]
fn an_owner_that_takes_its_oldest_element_answers() {
    counted_fence!(10);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = biased_owner(&deque);
    FENCE.is_refused.store(true, SeqCst);
    let thief = deque.stealer();
    assert_eq!(thief.steal(), Steal::Retry);
    assert_eq!(worker.pop_oldest(), Some(0));
    let calls = FENCE.calls.load(SeqCst);
    assert_eq!(thief.steal(), Steal::Success(1));
    assert_eq!(FENCE.calls.load(SeqCst), calls, "the answer is enough");
    two_elements_more(&worker);
    assert_eq!((worker.pop(), thief.steal()), (Some(1), Steal::Success(0)));
}

#[test]
fn a_refused_fence_does_not_hide_that_the_deque_is_empty() {
    counted_fence!(10);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    push_and_pop(&worker, 30);
    FENCE.is_refused.store(true, SeqCst);
    assert_eq!(deque.stealer().steal(), Steal::Retry);
    // These two pops answer; a third thief would find the deque empty without that, too.
    assert_eq!((worker.pop(), worker.pop()), (Some(1), Some(0)));
    assert_eq!(deque.stealer().steal(), Steal::Empty);
}

/// The thread of an owner may end while the deque is biased. No pop answers a thief then.
#[test]
fn an_owner_that_ends_the_bias_leaves_its_elements_to_thieves() {
    counted_fence!(10);
    for thief_comes_first in [false, true] {
        FENCE.is_refused.store(false, SeqCst);
        let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
        let worker = biased_owner(&deque);
        FENCE.is_refused.store(true, SeqCst);
        if thief_comes_first {
            assert_eq!(deque.stealer().steal(), Steal::Retry);
        }
        worker.end_bias();
        worker.end_bias();
        let calls = FENCE.calls.load(SeqCst);
        assert_eq!(deque.stealer().steal(), Steal::Success(0));
        assert_eq!(deque.stealer().steal(), Steal::Success(1));
        assert_eq!(deque.stealer().steal(), Steal::Empty);
        assert_eq!(
            FENCE.calls.load(SeqCst),
            calls,
            "the owner's fence is enough"
        );
    }
}

/// Reproduces a bug: if the system refused the fence by then, no thief ever got the elements.
#[test]
fn an_owner_that_is_dropped_leaves_its_elements_to_thieves() {
    counted_fence!(10);
    for thief_comes_first in [false, true] {
        FENCE.is_refused.store(false, SeqCst);
        let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
        let worker = biased_owner(&deque);
        FENCE.is_refused.store(true, SeqCst);
        if thief_comes_first {
            assert_eq!(deque.stealer().steal(), Steal::Retry);
        }
        drop(worker);
        assert_eq!(deque.stealer().steal(), Steal::Success(0));
        // The next owner has the rest, and may bias the deque again, unless a thief has given up.
        let worker = deque.worker().unwrap();
        assert_eq!(worker.pop(), Some(1));
        FENCE.is_refused.store(false, SeqCst);
        two_elements_more(&worker);
        push_and_pop(&worker, 30);
        assert_eq!(is_biased(&deque), !thief_comes_first);
    }
}

std::thread_local! {
    /// The deque that [`Hostile`] meddles with: of the thread's test.
    static VICTIM: Worker<std::sync::Arc<Deque<usize, Fixed<usize, 8>>>> = {
        let deque = Deque::fixed(Order::Lifo).with_process_fence::<Hostile>();
        Worker::new(std::sync::Arc::new(deque)).unwrap()
    };
    static MEDDLE: core::cell::Cell<fn()> = const { core::cell::Cell::new(|| ()) };
}

/// Keeps both obligations, but uses the deque that asks.
struct Hostile;

// SAFETY: obligations 1 and 2: no test has another thread. Obligation 3: nothing panics.
unsafe impl AsymmetricFence for Hostile {
    fn light() {}

    fn heavy() -> bool {
        MEDDLE.get()();
        true
    }
}

// SAFETY: 1. no test has another thread; 2. nothing panics.
unsafe impl FencePrice for Hostile {
    fn price() -> Option<NonZeroU32> {
        MEDDLE.get()();
        NonZeroU32::new(2)
    }
}

/// Checks that each number that was pushed comes out once, whatever the fence does to the deque.
#[test]
fn a_fence_that_uses_the_deque_doubles_nothing() {
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 200 };
    std::thread_local! {
        static TAKEN: core::cell::RefCell<std::vec::Vec<usize>> = const {
            core::cell::RefCell::new(std::vec::Vec::new())
        };
        static PUSHED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
    }
    fn take(element: impl IntoIterator<Item = usize>) {
        TAKEN.with_borrow_mut(|taken| taken.extend(element));
    }
    fn push() {
        let number = PUSHED.replace(PUSHED.get() + 1);
        VICTIM.with(|worker| take(worker.try_push(number).err().map(|full| full.0)));
    }
    /// Runs `with` without meddling from within.
    fn meddle(with: fn()) {
        let outer = MEDDLE.replace(|| ());
        with();
        MEDDLE.set(outer);
    }
    let meddles: [fn(); 5] = [
        || (),
        || meddle(|| take(VICTIM.with(Worker::pop))),
        || meddle(|| take(VICTIM.with(|worker| worker.stealer().steal().success()))),
        || meddle(push),
        || {
            meddle(|| {
                take(VICTIM.with(Worker::pop));
                push();
                push();
            });
        },
    ];
    for meddle in meddles {
        MEDDLE.set(meddle);
        for round in 0..ROUNDS {
            (0..1 + round % 3).for_each(|_| push());
            if round % 2 == 0 {
                take(VICTIM.with(Worker::pop));
            } else {
                let place = VICTIM.with(|worker| worker.try_push(PUSHED.get()));
                match place {
                    Ok(place) => {
                        let number = PUSHED.replace(PUSHED.get() + 1);
                        // SAFETY: 1. it is from this worker.
                        let taken = VICTIM.with(|worker| unsafe { worker.take_back(place) });
                        take((taken == TakeBack::Taken).then_some(number));
                    }
                    Err(Full(_)) => take(VICTIM.with(Worker::pop)),
                }
            }
            if round % 7 == 0 {
                take(VICTIM.with(|worker| worker.stealer().steal().success()));
            }
        }
        MEDDLE.set(|| ());
        take(core::iter::from_fn(|| VICTIM.with(Worker::pop)));
        let mut times = std::vec![0; PUSHED.get()];
        TAKEN.with_borrow(|taken| taken.iter().for_each(|&number| times[number] += 1));
        assert_eq!(times.iter().position(|&times| times != 1), None);
    }
}

/// Reproduces a bug: a price that pops asked for the price again, once for each element.
#[test]
fn a_price_that_pops_is_not_asked_within_itself() {
    std::thread_local! {
        static DEPTHS: core::cell::Cell<[u32; 2]> = const { core::cell::Cell::new([0; 2]) };
    }
    MEDDLE.set(|| {
        let [depth, deepest] = DEPTHS.get();
        DEPTHS.set([depth + 1, deepest.max(depth + 1)]);
        VICTIM.with(Worker::pop);
        let [_, deepest] = DEPTHS.get();
        DEPTHS.set([depth, deepest]);
    });
    for _ in 0..100 {
        VICTIM.with(|worker| while worker.try_push(7).is_ok() {});
        VICTIM.with(Worker::pop);
    }
    MEDDLE.set(|| ());
    assert_eq!(DEPTHS.get(), [0, 1]);
}

#[test]
fn the_next_owner_begins_with_fences() {
    counted_fence!(2);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    push_and_pop(&worker, 5);
    assert!(is_biased(&deque));
    drop(worker);
    assert!(!is_biased(&deque));
    let worker = deque.worker().unwrap();
    assert_eq!(
        (worker.pop(), worker.pop(), worker.pop()),
        (Some(1), Some(0), None)
    );
}

#[test]
fn the_newest_is_taken_back_and_no_other() {
    for order in [Order::Lifo, Order::Fifo] {
        let deque: Shared = Deque::fixed(order);
        let worker = deque.worker().unwrap();
        let one = worker.try_push(1).unwrap();
        let two = worker.try_push(2).unwrap();
        // SAFETY: 1. both are from this worker.
        let take_back = |place| unsafe { worker.take_back(place) };
        assert_eq!(take_back(one), TakeBack::NotNewest);
        if order == Order::Fifo {
            assert_eq!((one, two), (Position::NOWHERE, Position::NOWHERE));
            assert_eq!(take_back(two), TakeBack::NotNewest);
            continue;
        }
        assert_eq!(take_back(two), TakeBack::Taken);
        let is_there = |place, number| worker.newest_is(place, |[word]| word.addr() == number);
        assert!(is_there(one, 1) && !is_there(one, 2) && !is_there(two, 2));
        assert_eq!(deque.stealer().steal(), Steal::Success(1));
        assert!(!is_there(one, 1), "the deque is empty");
        assert_eq!(take_back(one), TakeBack::Stolen);
        assert!(worker.is_empty());
    }
}

/// Checks that the owner soon risks another revocation after one that it has answered.
#[test]
fn an_answered_revocation_is_cheap() {
    counted_fence!(400);
    for (is_answered, pops) in [(false, 112), (true, 16)] {
        let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
        let worker = two_elements(&deque);
        revoke(&deque, &worker, is_answered);
        push_and_pop(&worker, pops - 1);
        assert!(!is_biased(&deque));
        push_and_pop(&worker, 2);
        assert!(is_biased(&deque));
    }
}

/// Biases the deque, and lets a thief revoke that.
fn revoke(deque: &Shared, worker: &Worker<&Shared>, is_answered: bool) {
    worker.bias_now();
    assert!(deque.top.begin_revocation(deque.top.load(SeqCst)));
    deque.top.end_revocation(is_answered);
    push_and_pop(worker, 1);
}

/// Checks that one process fence among many answers does not keep the owner from biasing the deque:
/// with a steal now and then, it would never come to the whole price.
#[test]
#[cfg_attr(miri, ignore = "hundreds of pops, on one thread")]
fn one_process_fence_among_answers_counts_a_quarter() {
    counted_fence!(400);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = two_elements(&deque);
    (0..10).for_each(|_| revoke(&deque, &worker, true));
    revoke(&deque, &worker, false);
    // 16 - 16 / 4 + 400 / 4
    push_and_pop(&worker, 110);
    assert!(!is_biased(&deque));
    push_and_pop(&worker, 2);
    assert!(is_biased(&deque));
    // The next answers are counted, too.
    (0..10).for_each(|_| revoke(&deque, &worker, true));
    push_and_pop(&worker, 40);
    assert!(is_biased(&deque));
    // An owner that ends the bias itself has paid for no revocation.
    FENCE.price.store(1000, SeqCst);
    worker.end_bias();
    push_and_pop(&worker, 40);
    assert!(is_biased(&deque));
    (0..10).for_each(|_| revoke(&deque, &worker, false));
    push_and_pop(&worker, 800);
    assert!(!is_biased(&deque), "process fences alone");
}

/// A biased owner that takes the last element moves nothing that other threads could tell it from.
#[test]
fn a_biased_owner_may_replace_the_oldest_element_at_its_position() {
    counted_fence!(2);
    let deque = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
    let worker = deque.worker().unwrap();
    worker.try_push(0).unwrap();
    let oldest = deque.oldest();
    assert_eq!(worker.pop(), Some(0));
    worker.try_push(1).unwrap();
    assert_ne!(deque.oldest(), oldest, "fenced");

    two_elements_more(&worker);
    push_and_pop(&worker, 5);
    assert!(is_biased(&deque));
    while worker.pop().is_some() {}
    worker.try_push(2).unwrap();
    let oldest = deque.oldest();
    assert_eq!(worker.pop(), Some(2));
    worker.try_push(3).unwrap();
    assert!(is_biased(&deque));
    assert_eq!(deque.oldest(), oldest);
}
