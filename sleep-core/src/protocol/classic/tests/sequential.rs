//! Random histories of a whole pool, in one thread, against the words of rayon's first sleep
//! module: one counter `yields` for each worker, and which worker is sleepy.
//!
//! A worker that sleeps does so inside its last look at the queues: there the rest of the history
//! happens, until that worker is woken.

use std::{cell::RefCell, collections::VecDeque};

use proptest::prelude::*;

use super::super::*;
use crate::{policy::Relax, set_latch, testing::scripted::Scripted};

const WORKERS: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The worker searches in vain. Its last look, if it comes to that, sees work or not.
    SearchInVain {
        worker: usize,
        last_look_sees_work: bool,
    },
    FindWork(usize),
    PostFromOutside,
    PostFromInside,
    PostFor(usize),
    SetLatch(usize),
}

fn event() -> impl Strategy<Value = Event> {
    use Event::*;
    let worker = 0..WORKERS;
    prop_oneof![
        24 => (worker.clone(), prop::bool::weighted(0.2)).prop_map(|(worker, last_look_sees_work)| {
            SearchInVain { worker, last_look_sees_work }
        }),
        2 => worker.clone().prop_map(FindWork),
        1 => Just(PostFromOutside),
        1 => Just(PostFromInside),
        1 => worker.clone().prop_map(PostFor),
        1 => worker.prop_map(SetLatch),
    ]
}

/// A pool as those words describe it.
#[derive(Debug, Default)]
struct Seed {
    rounds_until_sleepy: u32,
    rounds_until_asleep: u32,
    /// For each worker that is not active.
    yields: [Option<u32>; WORKERS],
    sleepy: Option<usize>,
    asleep: [bool; WORKERS],
    /// What bit 0 says. It may be out of date.
    some_asleep: bool,
}

impl Seed {
    /// Does what `no_work_found` does. Returns whether the worker falls asleep.
    fn no_work_found(&mut self, worker: usize) -> bool {
        let yields = self.yields[worker].as_mut().unwrap();
        let is_sleepy = self.sleepy == Some(worker);
        if *yields < self.rounds_until_sleepy {
            *yields += 1;
        } else if *yields == self.rounds_until_sleepy {
            if self.sleepy.is_none() {
                self.sleepy = Some(worker);
                *yields += 1;
            }
        } else if *yields < self.rounds_until_asleep {
            *yields = if is_sleepy { *yields + 1 } else { 0 };
        } else {
            *yields = 0;
            if is_sleepy {
                self.sleepy = None;
                self.some_asleep = true;
                self.asleep[worker] = true;
                return true;
            }
        }
        false
    }

    fn work_found(&mut self, worker: usize) {
        self.yields[worker] = None;
        self.sleepy = self.sleepy.filter(|sleepy| *sleepy != worker);
    }

    fn tickle(&mut self) {
        self.sleepy = None;
        if self.some_asleep {
            self.asleep = [false; WORKERS];
        }
        self.some_asleep = false;
    }
}

struct History<'s> {
    sleep: &'s Classic<Inline<ClassicSlot<Scripted>, WORKERS>>,
    seed: RefCell<Seed>,
    events: RefCell<VecDeque<Event>>,
    idle: RefCell<[Option<IdleState>; WORKERS]>,
    latches: [CoreLatch; WORKERS],
}

impl History<'_> {
    /// Runs events until they end, or until the worker is woken that sleeps meanwhile.
    fn run(&self, sleeper: Option<usize>) {
        while sleeper.is_none_or(|sleeper| self.seed.borrow().asleep[sleeper]) {
            let event = self.events.borrow_mut().pop_front();
            match event {
                Some(event) => self.happen(event),
                // No worker sleeps for good.
                None if sleeper.is_some() => self.happen(Event::PostFromOutside),
                None => return,
            }
            self.compare();
        }
    }

    fn worker(&self, index: usize) -> WorkerIndex {
        self.sleep.worker(index).unwrap()
    }

    fn happen(&self, event: Event) {
        match event {
            Event::SearchInVain {
                worker,
                last_look_sees_work,
            } => self.search_in_vain(worker, last_look_sees_work),
            Event::FindWork(worker) => self.leave(worker),
            Event::PostFromOutside => {
                self.seed.borrow_mut().tickle();
                self.sleep.announce(NewJobs::injected(1, true));
            }
            Event::PostFromInside => {
                self.seed.borrow_mut().tickle();
                self.sleep
                    .announce(NewJobs::internal(1, || unreachable!("is never asked")));
            }
            Event::PostFor(worker) => {
                self.seed.borrow_mut().asleep[worker] = false;
                self.sleep.announce_for([self.worker(worker)]);
            }
            Event::SetLatch(worker) => {
                self.seed.borrow_mut().asleep[worker] = false;
                let worker_index = self.worker(worker);
                // SAFETY: 1. to 3. all of them live longer than the call, and that worker alone
                // waits;
                // 4. no frame ends with it.
                unsafe { set_latch(self.sleep, &self.latches[worker], worker_index) };
            }
        }
    }

    fn search_in_vain(&self, worker: usize, last_look_sees_work: bool) {
        let idle = self.idle.borrow_mut()[worker].take();
        let Some(mut idle) = idle else {
            if self.seed.borrow().yields[worker].is_none() {
                self.seed.borrow_mut().yields[worker] = Some(0);
                self.latches[worker].reset();
                let idle = self.sleep.start_looking(self.worker(worker), Purpose::Job);
                self.idle.borrow_mut()[worker] = Some(idle);
            }
            // Otherwise the worker is in its last look.
            return;
        };
        if self.latches[worker].probe() {
            self.idle.borrow_mut()[worker] = Some(idle);
            return self.leave(worker);
        }
        let falls_asleep = self.seed.borrow_mut().no_work_found(worker);
        let mut has_looked = false;
        self.sleep
            .no_work_found(&mut idle, &self.latches[worker], || {
                has_looked = true;
                self.compare();
                if last_look_sees_work {
                    self.seed.borrow_mut().asleep[worker] = false;
                } else {
                    self.run(Some(worker));
                }
                last_look_sees_work
            });
        assert_eq!(has_looked, falls_asleep);
        self.idle.borrow_mut()[worker] = Some(idle);
    }

    /// The worker finds work, or sees that its latch is set.
    fn leave(&self, worker: usize) {
        let idle = self.idle.borrow_mut()[worker].take();
        if let Some(idle) = idle {
            self.seed.borrow_mut().work_found(worker);
            self.sleep.work_found(idle, || {
                unreachable!("posters leave nothing to this worker")
            });
            self.latches[worker].reset();
        }
    }

    #[track_caller]
    fn compare(&self) {
        let seed = self.seed.borrow();
        let state = self.sleep.state();
        assert_eq!(
            (state.sleepy_worker(), state.some_asleep()),
            (seed.sleepy, seed.some_asleep)
        );
        let count = |flags: [bool; WORKERS]| flags.iter().filter(|flag| **flag).count();
        assert_eq!(self.sleep.num_sleeping(), count(seed.asleep));
        let inactive = count(seed.yields.map(|yields| yields.is_some()));
        assert_eq!(self.sleep.num_inactive(), inactive);
    }
}

fn agrees_with_the_seed(events: &[Event], policy: IdlePolicy) {
    let sleep = Classic::from_array([const { ClassicSlot::new(Scripted) }; WORKERS], policy);
    let rounds_until_sleepy = policy.rounds_until_sleepy();
    let history = History {
        sleep: &sleep,
        seed: RefCell::new(Seed {
            rounds_until_sleepy,
            // At least one search comes between getting sleepy and falling asleep.
            rounds_until_asleep: policy.rounds_until_sleeping().max(rounds_until_sleepy + 1),
            ..Seed::default()
        }),
        events: RefCell::new(events.iter().copied().collect()),
        idle: RefCell::default(),
        latches: [const { CoreLatch::new() }; WORKERS],
    };
    history.run(None);
    for worker in 0..WORKERS {
        history.leave(worker);
    }
    assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    assert_eq!(sleep.state().sleepy_worker(), None);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_history_agrees_with_the_seed(
        events in prop::collection::vec(event(), 0..if cfg!(miri) { 40 } else { 400 })
    ) {
        for policy in [
            IdlePolicy::IMMEDIATE,
            IdlePolicy::new(2, 2, Relax::Spin(0)),
            IdlePolicy::new(1, 4, Relax::Spin(0)),
        ] {
            agrees_with_the_seed(&events, policy);
        }
    }
}
