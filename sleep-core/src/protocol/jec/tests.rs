use super::*;
use crate::testing::{TestJec, TestPolicy};

#[cfg(not(loom))]
mod callers;
mod guests;
#[cfg(loom)]
mod left_out;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod steps;

/// Wakes up to `count` sleepers, as a poster does that leaves none to others. Returns how many.
fn wake_any<S: Slots, I: AsRef<IdlePolicy>>(sleep: &Jec<S, I>, count: usize) -> usize {
    fence(Ordering::SeqCst);
    if count == 0 {
        0
    } else {
        sleep.wake_some(count, None)
    }
}

/// A policy with a jobs event counter of so many bits.
pub(crate) struct Rolling<const JEC_BITS: u32>(IdlePolicy);

impl<const JEC_BITS: u32> AsRef<IdlePolicy> for Rolling<JEC_BITS> {
    fn as_ref(&self) -> &IdlePolicy {
        &self.0
    }
}

impl<const JEC_BITS: u32> TestPolicy for Rolling<JEC_BITS> {
    const WIDTHS: Widths = Widths::new(4, JEC_BITS);

    fn new(policy: IdlePolicy) -> Self {
        Self(policy)
    }
}

/// The jobs event counter rolls over at every second change.
type JecOfOneBit = Rolling<1>;

/// ... and at every fourth.
type JecOfTwoBits = Rolling<2>;

#[cfg(not(loom))]
mod threads {
    use std::{boxed::Box, vec::Vec};

    use super::*;
    use crate::{
        index::UnknownWorker, parker::Parker, protocol::tests::cycles, testing::TestParker,
    };

    /// Stresses a JEC that rolls over: only the check after registering finds the job (rayon#746).
    #[test]
    fn stress_with_rollover() {
        let count = if cfg!(miri) { 5 } else { 2_000 };
        for workers in [2, 4] {
            cycles::<TestJec<JecOfOneBit>>(workers, IdlePolicy::IMMEDIATE, count);
            cycles::<TestJec<JecOfTwoBits>>(workers, IdlePolicy::IMMEDIATE, count);
        }
    }

    struct Never;

    impl Parker for Never {
        fn park(&self) {
            panic!("this worker must not park");
        }
        fn unpark(&self) {}
    }

    fn one_worker() -> Jec<Inline<Slot<Never>, 1>> {
        Jec::from_array([Slot::new(Never)], IdlePolicy::IMMEDIATE)
    }

    #[test]
    fn a_post_after_getting_sleepy_keeps_the_worker_awake() {
        let sleep = one_worker();
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        for _ in 0..5 {
            sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
            sleep.announce(NewJobs::internal(1, || true));
            sleep.no_work_found(&mut idle, &latch, || unreachable!("the JEC has changed"));
        }
        assert_eq!(sleep.counters().sleeping(), 0);
    }

    #[test]
    fn work_seen_after_registering_keeps_the_worker_awake() {
        let sleep = one_worker();
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
        sleep.no_work_found(&mut idle, &latch, || {
            assert_eq!(sleep.counters().sleeping(), 1, "asked after registering");
            true
        });
        let counters = sleep.counters();
        assert_eq!((counters.inactive(), counters.sleeping()), (1, 0));
    }

    /// Replays step by step the lap of the JEC that rayon#746 is about.
    #[test]
    fn a_rolled_over_jec_is_caught_by_the_last_check() {
        let slots = [Slot::new(Never), Slot::new(Never)];
        let sleep =
            Jec::with_widths(&slots[..], IdlePolicy::IMMEDIATE, JecOfOneBit::WIDTHS).unwrap();
        let latch = CoreLatch::new();
        let mut first = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        let mut second = sleep.start_looking(sleep.worker(1).unwrap(), Purpose::Job);
        sleep.no_work_found(&mut first, &latch, || unreachable!("only announces"));
        sleep.announce(NewJobs::injected(1, true));
        sleep.no_work_found(&mut second, &latch, || unreachable!("only announces"));
        let mut asked = false;
        sleep.no_work_found(&mut first, &latch, || {
            asked = true;
            true
        });
        assert!(
            asked,
            "the JEC has the value that the first worker remembers"
        );
    }

    #[test]
    fn a_set_latch_keeps_the_worker_awake() {
        let sleep = one_worker();
        let latch = CoreLatch::new();
        let worker = sleep.worker(0).unwrap();
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
        // SAFETY: 1. to 3. all of them live in this frame, and the only worker is this thread; 4.
        // it waits for this.
        unsafe { crate::set_latch(&sleep, &latch, worker) };
        sleep.no_work_found(&mut idle, &latch, || unreachable!("the latch is set"));
        assert_eq!(sleep.counters().sleeping(), 0);
    }

    /// Sets the latch, or claims the worker, just after it has registered.
    #[test]
    fn a_wake_before_the_park_is_not_lost() {
        let slots: Vec<_> = (0..2).map(|_| Slot::new(TestParker::new())).collect();
        let sleep: Jec<_> = Jec::new(slots, IdlePolicy::IMMEDIATE).unwrap();
        let worker = sleep.worker(1).unwrap();
        for by_latch in [true, false] {
            let latch = CoreLatch::new();
            let mut idle = sleep.start_looking(worker, Purpose::Job);
            sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
            sleep.no_work_found(&mut idle, &latch, || {
                if by_latch {
                    // SAFETY: 1. to 3. all of them live in this frame; 4. no frame ends with it.
                    unsafe { crate::set_latch(&sleep, &latch, worker) };
                } else {
                    assert_eq!(wake_any(&sleep, 2), 1);
                }
                false
            });
            assert_eq!(latch.probe(), by_latch);
            sleep.work_found(idle, || false);
            let counters = sleep.counters();
            assert_eq!((counters.inactive(), counters.sleeping()), (0, 0));
        }
    }

    #[test]
    fn the_cascade_asks_for_more_work_only_while_others_sleep() {
        let slots = [Slot::new(Never), Slot::new(Never)];
        let sleep: Jec<_> = Jec::new(&slots[..], IdlePolicy::IMMEDIATE).unwrap();
        let idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.work_found(idle, || unreachable!("no worker sleeps"));
    }

    #[test]
    fn idle_workers_are_counted_on_before_sleepers_are_woken() {
        let sleep: Jec<_> = Jec::new(
            (0..3)
                .map(|_| Slot::new(TestParker::new()))
                .collect::<Box<[_]>>(),
            IdlePolicy::IMMEDIATE,
        )
        .unwrap();
        let latch = CoreLatch::new();
        let _idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        let mut sleeper = sleep.start_looking(sleep.worker(1).unwrap(), Purpose::Job);
        sleep.no_work_found(&mut sleeper, &latch, || false);
        sleep.no_work_found(&mut sleeper, &latch, || {
            sleep.announce(NewJobs::injected(1, true));
            assert_eq!(
                sleep.counters().sleeping(),
                1,
                "the idle worker will find the job"
            );
            sleep.announce(NewJobs::injected(2, true));
            assert_eq!(sleep.counters().sleeping(), 0, "it will not find both");
            false
        });
        sleep.no_work_found(&mut sleeper, &latch, || false);
        sleep.no_work_found(&mut sleeper, &latch, || {
            sleep.announce(NewJobs::injected(1, false));
            assert_eq!(
                sleep.counters().sleeping(),
                0,
                "a backlog: idle workers do not suffice"
            );
            false
        });
    }

    #[test]
    fn bad_sizes_and_indices_are_typed_errors() {
        let slots: Vec<_> = (0..16).map(|_| Slot::new(Never)).collect();
        let widths = JecOfOneBit::WIDTHS;
        let error = Jec::with_widths(&slots[..], IdlePolicy::DEFAULT, widths);
        assert_eq!(
            error.unwrap_err(),
            TooManyWorkers {
                requested: 16,
                maximum: 15
            }
        );
        let error = one_worker().worker(1);
        assert_eq!(
            error.unwrap_err(),
            UnknownWorker {
                index: 1,
                workers: 1
            }
        );
    }
}
