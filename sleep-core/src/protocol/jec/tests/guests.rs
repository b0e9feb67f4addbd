//! Guests, which take the place of a sleeping worker and give it back.

#[cfg(loom)]
mod loom;

use super::*;
#[cfg(not(loom))]
use crate::LendSeats as _;

#[cfg(not(loom))]
mod steps {
    use std::{boxed::Box, vec::Vec};

    use super::*;
    use crate::{policy::Relax, protocol::Tenant, testing::TestParker};

    type TwoWorkers = Jec<Box<[Slot<TestParker>]>>;

    fn two_workers() -> TwoWorkers {
        let slots = (0..2).map(|_| Slot::new(TestParker::new())).collect();
        Jec::new(slots, IdlePolicy::IMMEDIATE).unwrap()
    }

    /// Plays a worker until it has registered as a sleeper. Then runs `asleep`, which must wake it.
    fn while_one_sleeps(sleep: &TwoWorkers, asleep: impl FnOnce(WorkerIndex)) {
        let worker = sleep.worker(1).unwrap();
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        let mut asleep = Some(asleep);
        while asleep.is_some() {
            sleep.no_work_found(&mut idle, &latch, || {
                asleep.take().expect("asked once")(worker);
                false
            });
        }
        sleep.work_found(idle, || false);
    }

    #[test]
    fn nothing_is_lent_while_all_are_awake() {
        let sleep = two_workers();
        let asked = |_| unreachable!("no worker sleeps");
        assert_eq!(sleep.borrow_sleeper(asked), None);
    }

    #[test]
    fn a_lent_worker_counts_as_active_and_is_lent_once() {
        let sleep = two_workers();
        while_one_sleeps(&sleep, |worker| {
            let counts = || (sleep.num_inactive(), sleep.num_sleeping());
            assert_eq!(counts(), (1, 1));
            assert_eq!(sleep.borrow_sleeper(|_| false), None, "not eligible");
            assert_eq!(sleep.borrow_sleeper(|_| true), Some(worker));
            assert_eq!(counts(), (0, 0));
            assert!(sleep.all_are_awake() || sleep.counters().jec().is_sleepy());
            assert_eq!(sleep.borrow_sleeper(|_| true), None, "it is lent");
            assert!(!sleep.wake_worker(worker), "no waker claims it");
            assert_eq!(wake_any(&sleep, 2), 0);

            assert!(!sleep.give_back(worker, || {
                assert_eq!(counts(), (1, 1), "asked after registering");
                false
            }));
            assert_eq!(counts(), (1, 1));
            assert_eq!(sleep.borrow_sleeper(|_| true), Some(worker), "once more");
            assert!(sleep.give_back(worker, || true));
            assert_eq!(counts(), (1, 0));
        });
    }

    #[test]
    fn a_guest_that_sleeps_is_woken_and_its_host_is_not() {
        let sleep = two_workers();
        while_one_sleeps(&sleep, |worker| {
            assert_eq!(sleep.borrow_sleeper(|_| true), Some(worker));
            for by_latch in [true, false] {
                let latch = CoreLatch::new();
                let mut idle = sleep.start_looking(worker, Purpose::Job);
                sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
                sleep.no_work_found(&mut idle, &latch, || {
                    assert_eq!(sleep.borrow_sleeper(|_| true), None, "a guest is not lent");
                    if by_latch {
                        // SAFETY: 1. to 3. all of them live in this frame; 4. no frame ends with
                        // it.
                        unsafe { crate::set_latch(&sleep, &latch, worker) };
                    } else {
                        assert_eq!(wake_any(&sleep, 2), 1);
                    }
                    false
                });
                assert_eq!(latch.probe(), by_latch);
                sleep.work_found(idle, || false);
                assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
                let slot = &sleep.slots()[1];
                assert!(!slot.state().is_awake(Tenant::Host), "the host sleeps on");
            }
            assert!(!sleep.give_back(worker, || false));
            // Those that woke the guest have cleared the worker's bit.
            assert_eq!(wake_any(&sleep, 1), 1, "a waker finds the host");
        });
    }

    /// With room for one searcher: the guest and its host take that room only while they search.
    #[test]
    fn a_guest_counts_among_the_searchers_only_while_it_searches() {
        let slots: Box<[_]> = (0..3).map(|_| Slot::new(TestParker::new())).collect();
        let policy =
            IdlePolicy::new(2, 2, Relax::Spin(1)).with_max_searchers(crate::Searchers::ONE);
        let sleep: TwoWorkers = Jec::new(slots, policy).unwrap();
        let searchers = || sleep.num_inactive() - sleep.num_sleeping();
        // Whether a worker that begins to search now relaxes before it gets sleepy.
        let is_admitted = |worker| {
            let mut idle = sleep.start_looking(worker, Purpose::Job);
            // From here on, getting sleepy changes the counter.
            sleep.announce(NewJobs::injected(1, true));
            let jec = sleep.counters().jec();
            sleep.no_work_found(&mut idle, &CoreLatch::new(), || {
                unreachable!("no sleep yet")
            });
            let relaxed = sleep.counters().jec() == jec;
            sleep.work_found(idle, || false);
            relaxed
        };
        while_one_sleeps(&sleep, |worker| {
            let other = sleep.worker(2).unwrap();
            assert_eq!(sleep.borrow_sleeper(|_| true), Some(worker));
            assert_eq!(searchers(), 0, "a guest that runs its closure");
            assert!(is_admitted(other));
            let idle = sleep.start_looking(worker, Purpose::Job);
            assert_eq!(searchers(), 1, "a guest that waits in a join");
            assert!(!is_admitted(other));
            sleep.work_found(idle, || false);
            assert!(is_admitted(worker));
            assert!(!sleep.give_back(worker, || false));
            assert_eq!(searchers(), 0, "a host that sleeps on");
            assert_eq!(sleep.borrow_sleeper(|_| true), Some(worker));
            assert!(sleep.give_back(worker, || true));
            assert_eq!(searchers(), 1, "a host that was woken");
        });
        assert_eq!(searchers(), 0);
    }

    /// A guest whose last look is not over yet has registered, so a waker may be faster.
    #[test]
    fn a_worker_that_was_woken_during_the_look_is_not_woken_twice() {
        let sleep = two_workers();
        while_one_sleeps(&sleep, |worker| {
            assert_eq!(sleep.borrow_sleeper(|_| true), Some(worker));
            let woken = sleep.give_back(worker, || {
                assert_eq!(wake_any(&sleep, 1), 1);
                true
            });
            assert!(!woken, "the other waker has woken it");
            assert_eq!(sleep.num_sleeping(), 0);
        });
    }

    #[test]
    fn of_two_sleepers_the_eligible_one_is_lent() {
        let sleep = two_workers();
        let latch = CoreLatch::new();
        let first = sleep.worker(0).unwrap();
        let mut idle = sleep.start_looking(first, Purpose::Job);
        sleep.no_work_found(&mut idle, &latch, || unreachable!("only announces"));
        sleep.no_work_found(&mut idle, &latch, || {
            while_one_sleeps(&sleep, |second| {
                let mut asked = Vec::new();
                let lent = sleep.borrow_sleeper(|worker| {
                    asked.push(worker);
                    worker == second
                });
                assert_eq!(lent, Some(second));
                asked.dedup();
                assert!(asked.len() <= 2, "each is offered once");
                // A poster finds the other sleeper.
                assert_eq!(wake_any(&sleep, 1), 1);
                assert_eq!(sleep.num_sleeping(), 0);
                assert!(sleep.give_back(second, || true));
            });
            false
        });
        sleep.work_found(idle, || false);
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    }
}

#[test]
#[cfg(all(debug_assertions, not(loom)))]
#[should_panic = "worker 0 is given back, but no guest has it"]
fn a_worker_that_no_guest_has_is_not_given_back() {
    let sleep =
        <crate::testing::TestJec as crate::testing::TestProtocol>::new(1, IdlePolicy::IMMEDIATE);
    let worker = sleep.worker(0).unwrap();
    let _idle = sleep.start_looking(worker, Purpose::Job);
    sleep.give_back(worker, || false);
}
