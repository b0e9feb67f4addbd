use super::*;

#[cfg(not(loom))]
mod batch;
#[cfg(not(loom))]
mod linear;
#[cfg(loom)]
mod loom;

#[cfg(not(loom))]
mod threads {
    use std::{boxed::Box, thread, vec::Vec};

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{MANY, Taken, Tally, with_thieves};

    /// Reproduces a bug: in builds without optimization, a block came to its memory by way of the
    /// stack.
    #[test]
    fn a_block_of_large_elements_is_not_built_on_the_stack() {
        const STACK: usize = 1 << 20;

        let push = || {
            let queue = Injector::new();
            queue.push([7_usize; STACK / 32 / size_of::<usize>()]);
            assert!(queue.steal().success().is_some_and(|words| words[0] == 7));
        };
        let thread = thread::Builder::new().stack_size(STACK).spawn(push);
        thread.unwrap().join().unwrap();
    }

    #[test]
    fn smoke() {
        const COUNT: usize = 3 * BLOCK + 8;
        for start in [0, usize::MAX] {
            let queue = Injector::new().starting_at(start);
            assert!(queue.is_empty());
            assert_eq!(queue.steal(), Steal::Empty);
            for round in 0..3 {
                for element in 0..COUNT {
                    assert_eq!(queue.len(), element, "in round {round}");
                    queue.push(element);
                }
                for element in 0..COUNT {
                    assert_eq!(queue.len(), COUNT - element, "in round {round}");
                    assert!(!queue.is_empty());
                    assert_eq!(queue.steal(), Steal::Success(element));
                }
                assert_eq!(queue.steal(), Steal::Empty);
            }
        }
    }

    #[test]
    fn spsc() {
        let queue = Injector::new().starting_at(usize::MAX - MANY / 2);
        let next = std::sync::atomic::AtomicUsize::new(0);
        with_thieves(
            1,
            || queue.steal(),
            |element| {
                let expected = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                assert_eq!(element, expected);
            },
            || (0..MANY).for_each(|element| queue.push(element)),
        );
    }

    #[test]
    fn mpmc() {
        const PRODUCERS: usize = if cfg!(miri) { 2 } else { 3 };
        let queue = Injector::new();
        let taken = Taken::new(PRODUCERS * MANY);
        with_thieves(
            3,
            || queue.steal(),
            |element: usize| taken.note(element),
            || {
                thread::scope(|scope| {
                    for producer in 0..PRODUCERS {
                        let queue = &queue;
                        scope.spawn(move || {
                            (0..MANY).for_each(|number| queue.push(producer * MANY + number));
                        });
                    }
                });
            },
        );
        taken.assert_all();
        assert!(queue.is_empty());
    }

    /// Stops a consumer that has claimed the last element of a block before it goes on to the next
    /// block.
    #[test]
    fn a_queue_is_empty_while_a_consumer_links_the_next_block() {
        let queue = Injector::new();
        (0..BLOCK).for_each(|number| queue.push(number));
        (1..BLOCK).for_each(|_| assert!(queue.steal().is_success()));
        let head = &queue.head.end.index;
        let before = head.fetch_add(1, Ordering::SeqCst);
        assert_eq!((queue.len(), queue.is_empty()), (0, true));
        queue.push(BLOCK);
        assert_eq!((queue.len(), queue.is_empty()), (1, false));
        head.store(before, Ordering::SeqCst);
        assert_eq!(queue.steal(), Steal::Success(BLOCK - 1));
        assert_eq!(queue.steal(), Steal::Success(BLOCK));
    }

    #[test]
    fn each_producer_is_served_in_its_order() {
        let queue = Injector::new();
        thread::scope(|scope| {
            for producer in 0..2_usize {
                let queue = &queue;
                scope.spawn(move || {
                    (0..MANY).for_each(|number| queue.push((producer, number)));
                });
            }
        });
        let mut next = [0; 2];
        while let Steal::Success((producer, number)) = queue.steal() {
            assert_eq!(number, next[producer]);
            next[producer] += 1;
        }
        assert_eq!(next, [MANY; 2]);
    }

    #[test]
    fn destructors() {
        const STOLEN: usize = BLOCK + 2;
        for left in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let tally = Tally::default();
            let queue = Injector::new();
            (0..STOLEN + left).for_each(|_| queue.push(tally.element()));
            (0..STOLEN).for_each(|_| drop(queue.steal()));
            assert_eq!(tally.dropped(), STOLEN);
            drop(queue);
            assert_eq!(tally.dropped(), STOLEN + left);
        }
    }

    /// Makes the second destructor panic. All other elements are dropped, and the memory is freed,
    /// which Miri checks.
    #[test]
    fn a_destructor_that_panics_leaves_no_element_behind() {
        let tally = Tally::default();
        let queue = Injector::new();
        let count = BLOCK + 7;
        (0..count).for_each(|number| queue.push(tally.panicking_element(number == 1)));
        let drop = std::panic::AssertUnwindSafe(|| drop(queue));
        assert!(std::panic::catch_unwind(drop).is_err());
        assert_eq!(tally.dropped(), count);
    }

    /// Refuses to be taken apart when its number is odd.
    #[derive(Debug, PartialEq, Eq)]
    struct Moody(usize);

    // SAFETY: 1. the word is the number; 2. there is nothing to own.
    unsafe impl Element for Moody {
        type Words = [*mut (); 1];

        fn into_words(self) -> Self::Words {
            assert!(self.0.is_multiple_of(2), "odd");
            self.0.into_words()
        }

        unsafe fn from_words(words: Self::Words) -> Self {
            // SAFETY: 1. and 2. are forwarded to our caller.
            Self(unsafe { usize::from_words(words) })
        }
    }

    /// Checks what would be a deadlock: a cell that is claimed and never filled keeps every later
    /// steal, and the drop, waiting.
    #[test]
    fn an_element_that_panics_when_taken_apart_claims_no_slot() {
        // At the first cell, in the middle of a block, and at its last cell.
        for before in [0, 1, BLOCK - 1] {
            let queue = core::mem::ManuallyDrop::new(Injector::new());
            (0..before).for_each(|number| queue.push(Moody(2 * number)));
            let push = std::panic::AssertUnwindSafe(|| queue.push(Moody(1)));
            assert!(std::panic::catch_unwind(push).is_err());
            // Before anything that would wait.
            assert_eq!(queue.len(), before, "the slot is claimed");
            queue.push(Moody(2 * before));
            for number in 0..=before {
                assert_eq!(queue.steal(), Steal::Success(Moody(2 * number)));
            }
            drop(core::mem::ManuallyDrop::into_inner(queue));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn any_sequence_agrees_with_a_vec_deque(
            pushes in prop::collection::vec(any::<bool>(), 0..if cfg!(miri) { 60 } else { 500 }),
            start: usize,
        ) {
            let queue = Injector::new().starting_at(start);
            let mut model = std::collections::VecDeque::new();
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    queue.push(Box::new(number));
                    model.push_back(Box::new(number));
                } else {
                    prop_assert_eq!(queue.steal().success(), model.pop_front());
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.is_empty(), model.is_empty());
            }
            let rest: Vec<_> = core::iter::from_fn(|| queue.steal().success()).collect();
            prop_assert_eq!(rest, Vec::from(model));
        }
    }
}
