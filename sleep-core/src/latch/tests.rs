use super::*;

#[cfg(loom)]
mod loom;

fn set(latch: &CoreLatch) -> bool {
    // SAFETY: 1. the reference shows that the latch lives; 2. no frame ends with it.
    unsafe { CoreLatch::set(latch) }
}

#[cfg(not(loom))]
mod transitions {
    use std::format;

    use super::*;

    /// The first one would sleep on when the latch is set, and the second one would not sleep at
    /// all.
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "two workers wait for one latch"]
    fn two_workers_that_wait_for_one_latch_are_found() {
        let latch = latch(&[CoreLatch::get_sleepy, CoreLatch::fall_asleep]);
        _ = latch.get_sleepy();
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "two workers wait for one latch"]
    fn a_second_waiter_that_wakes_up_is_found_by_the_first_one() {
        let latch = latch(&[CoreLatch::get_sleepy]);
        latch.wake_up();
        _ = latch.fall_asleep();
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "a latch is reset while a worker waits for it"]
    fn a_reset_while_the_waiter_sleeps_is_found() {
        latch(&[CoreLatch::get_sleepy, CoreLatch::fall_asleep]).reset();
    }

    #[test]
    #[deny(unfulfilled_lint_expectations)]
    fn the_compiler_finds_steps_whose_answer_is_ignored() {
        let latch = CoreLatch::new();
        #[expect(unused_must_use, reason = "the compiler finds this line")]
        latch.get_sleepy();
        #[expect(unused_must_use, reason = "the compiler finds this line")]
        latch.fall_asleep();
    }

    #[test]
    #[deny(unfulfilled_lint_expectations)]
    #[expect(unused_must_use, reason = "the compiler finds this line")]
    fn the_compiler_finds_a_set_whose_answer_is_ignored() {
        let latch = latch(&[CoreLatch::get_sleepy, CoreLatch::fall_asleep]);
        // SAFETY: 1. the latch lives; 2. no waiter relies on it.
        unsafe { CoreLatch::set(&latch) };
    }

    /// Creates a latch that has gone through the given waiter's steps.
    fn latch(steps: &[fn(&CoreLatch) -> bool]) -> CoreLatch {
        let latch = CoreLatch::new();
        for step in steps {
            assert!(step(&latch));
        }
        latch
    }

    #[test]
    fn smoke() {
        let latch = latch(&[CoreLatch::get_sleepy, CoreLatch::fall_asleep]);
        assert!(!latch.probe());
        assert!(set(&latch), "a sleeping waiter must be woken");
        assert!(latch.probe());
        assert!(!set(&latch), "but only once");
    }

    #[test]
    fn a_waiter_that_is_awake_or_only_sleepy_needs_no_wake() {
        assert!(!set(&latch(&[])));
        assert!(!set(&latch(&[CoreLatch::get_sleepy])));
    }

    #[test]
    fn set_before_getting_sleepy() {
        let latch = CoreLatch::new();
        set(&latch);
        assert!(!latch.get_sleepy());
        assert!(latch.probe());
    }

    #[test]
    fn set_between_sleepy_and_sleeping() {
        let latch = latch(&[CoreLatch::get_sleepy]);
        set(&latch);
        assert!(!latch.fall_asleep());
        latch.wake_up();
        assert!(latch.probe(), "waking up keeps the latch set");
    }

    #[test]
    fn a_spurious_wake_starts_over() {
        let latch = latch(&[CoreLatch::get_sleepy, CoreLatch::fall_asleep]);
        latch.wake_up();
        assert!(!latch.probe());
        assert!(latch.get_sleepy() && latch.fall_asleep());
        assert!(set(&latch));
    }

    #[test]
    fn turning_back_from_sleepy_starts_over() {
        let latch = latch(&[CoreLatch::get_sleepy]);
        latch.wake_up();
        assert!(latch.get_sleepy());
    }

    #[test]
    #[cfg(not(debug_assertions))]
    fn no_step_can_be_skipped() {
        assert!(!CoreLatch::new().fall_asleep());
        assert!(!latch(&[CoreLatch::get_sleepy]).get_sleepy());
    }

    #[test]
    fn debug_names_the_state() {
        let latch = CoreLatch::default();
        assert_eq!(format!("{latch:?}"), "CoreLatch(UNSET)");
        assert!(latch.get_sleepy());
        assert_eq!(format!("{latch:?}"), "CoreLatch(SLEEPY)");
        assert!(latch.fall_asleep());
        assert_eq!(format!("{latch:?}"), "CoreLatch(SLEEPING)");
        set(&latch);
        assert_eq!(format!("{latch:?}"), "CoreLatch(SET)");
    }
}
