use super::*;
use crate::testing::Test;

#[cfg(loom)]
mod loom;

/// A pointer that is sent to the setter.
struct Sent<T>(*const T);

// SAFETY: the latches are `Sync`.
unsafe impl<T: Sync> Send for Sent<T> {}

impl<T: Latch> Sent<T> {
    /// # Safety
    /// 1. As for [`Latch::set`].
    unsafe fn set(self) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { T::set(self.0) };
    }
}

#[cfg(not(loom))]
mod threads {
    use std::{boxed::Box, cell::RefCell, rc::Rc, sync::Arc, thread};

    use sleep_core::CoreLatch;

    use super::*;
    use crate::{
        WorkerThread,
        testing::{Event, observe, registry, with_pool},
    };

    const ROUNDS: usize = if cfg!(miri) { 3 } else { 500 };

    #[test]
    fn a_count_that_would_begin_again_at_zero_is_refused() {
        with_pool(1, |registry| {
            let latch = CountLatch::<Test>::new(None, registry);
            latch.increment(2);
            let add = |count| {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| latch.increment(count)))
            };
            assert!(add(usize::MAX).is_err());
            assert!(add(isize::MAX.cast_unsigned() - 2).is_err());
            assert_eq!(latch.pending(), 3);
        });
    }

    /// The wait may be over, and would be ended twice.
    #[test]
    fn a_job_that_is_added_when_none_is_pending_is_refused() {
        with_pool(1, |registry| {
            let latch = CountLatch::<Test>::new(None, registry);
            // SAFETY: 1. it lives; 2. for the job that `new` has counted.
            unsafe { Latch::set(&raw const latch) };
            let add = || latch.increment(1_000);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(add)).is_err());
            assert_eq!(latch.pending(), 0);
            latch.wait(None);
        });
    }

    /// Frees the latch as soon as its waiter has seen it set (rayon#739, #929). Under Miri, a
    /// setter that reads it later is an error.
    #[test]
    fn a_blocking_latch_may_die_while_it_is_being_set() {
        for _ in 0..ROUNDS {
            let latch = Box::new(BlockingLatch::<Test>::new());
            let pointer = Sent(&raw const *latch);
            // SAFETY: 1. it lives until it is set.
            let setter = thread::spawn(move || unsafe { pointer.set() });
            latch.wait();
            drop(latch);
            setter.join().unwrap();
        }
    }

    #[test]
    fn a_count_latch_waits_for_every_job() {
        with_pool(1, |registry| {
            for _ in 0..ROUNDS {
                let latch = Box::new(CountLatch::new(None, registry));
                let setters: std::vec::Vec<_> = (0..2)
                    .map(|_| {
                        latch.increment(1);
                        let pointer = Sent(&raw const *latch);
                        // SAFETY: 1. it counts us, and lives until it is set.
                        thread::spawn(move || unsafe { pointer.set() })
                    })
                    .collect();
                // SAFETY: 1. it lives.
                unsafe { Latch::set(&raw const *latch) };
                latch.wait(None);
                drop(latch);
                for setter in setters {
                    setter.join().unwrap();
                }
            }
        });
    }

    /// Replays rayon#740 step by step. From the moment when the waiter may see the latch set, go on
    /// and drop its pool, until the waiter has been woken, the setter itself holds that pool.
    #[test]
    fn a_cross_latch_holds_the_waiters_pool_while_it_is_being_set() {
        let registry = registry(1);
        let index = registry.worker(0).unwrap();
        // SAFETY: 1. the registry is held here; 2. it is the `Arc`'s pointer.
        let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap();
        let latch = SpinLatch::<Test>::cross(&worker);

        let events = Rc::new(RefCell::new(std::vec::Vec::new()));
        let observer = {
            let (events, registry) = (events.clone(), Arc::downgrade(&registry));
            let core: *const CoreLatch = latch.core();
            move |event| {
                // SAFETY: the latch lives in the frame of the test.
                let is_set = unsafe { &*core }.probe();
                events
                    .borrow_mut()
                    .push((event, registry.strong_count(), is_set));
            }
        };
        let mut idle = registry.begin_idle(index, sleep_core::Purpose::Job);
        idle.no_work_found(latch.core(), || unreachable!("only announces"));
        idle.no_work_found(latch.core(), || {
            observe(Some(Box::new(observer)));
            // SAFETY: 1. it lives.
            unsafe { Latch::set(&raw const latch) };
            observe(None);
            false
        });
        idle.end(|| false);
        assert_eq!(
            *events.borrow(),
            [(Event::KeepAlive, 1, false), (Event::Unpark, 2, true)]
        );
        assert_eq!(Arc::strong_count(&registry), 1);
    }

    /// Repeats that for a worker that waits for another pool's job, which may be the last to hold
    /// the worker's pool (rayon#740).
    #[test]
    fn a_cross_latch_keeps_the_waiters_pool_alive() {
        for _ in 0..ROUNDS {
            with_pool(1, |first| {
                let second = with_pool(1, |second| {
                    first.in_worker(|_, _| second.in_worker(|_, _| ()));
                    Arc::downgrade(second)
                });
                assert!(second.upgrade().is_none(), "nothing holds the pool forever");
            });
        }
    }
}
