//! Guests against posters, against the setter of a latch, and against each other. A worker that is
//! not woken in time is a deadlock, which loom reports.
//!
//! | if this were missing | this fails |
//! | --- | --- |
//! | the fence of `give_back` | `a_job_is_not_overlooked_while_a_guest_comes_and_goes` |
//! | the look in `give_back` | the same model |
//! | the setter's fence | `a_latch_is_not_overlooked_while_a_guest_comes_and_goes` |
//! | the second token, of the guest | `a_guest_that_waits_is_woken_by_its_latch` |
//! | the guest's bit in the slot | the same model |

use ::loom::{
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::*;
use crate::{
    primitive::{Custody, Ordering::Relaxed},
    testing::model::Scene,
};

/// A worker whose place may be lent while `vacant` says so, and what the tenant of the place uses.
struct Guesthouse {
    scene: Arc<Scene<TestJec>>,
    latch: CoreLatch,
    /// 0 while the host has its place, 1 while it is vacant, 2 while a guest has it.
    seat: AtomicUsize,
    place: Custody,
}

const HOST: usize = 0;
const VACANT: usize = 1;
const GUEST: usize = 2;

impl Guesthouse {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            scene: Scene::new(1),
            latch: CoreLatch::new(),
            seat: AtomicUsize::new(HOST),
            place: Custody::new(),
        })
    }

    fn change_seat(&self, from: usize, to: usize) -> bool {
        let exchange = self
            .seat
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        exchange.is_ok()
    }

    /// Plays the worker's own thread until its latch is set, or until there is a job.
    fn host(&self) {
        let sleep = &self.scene.sleep;
        let worker = sleep.worker(0).unwrap();
        let mut idle = sleep.start_looking(worker, Purpose::Job);
        while !self.latch.probe() && !self.scene.has_work() {
            self.place.hold();
            let mut has_slept = false;
            sleep.no_work_found(&mut idle, &self.latch, || {
                has_slept = !self.scene.has_work();
                if has_slept {
                    assert!(self.change_seat(HOST, VACANT));
                }
                !has_slept
            });
            if has_slept {
                assert!(self.change_seat(VACANT, HOST), "awake beside a guest");
            }
        }
        self.place.hold();
        sleep.work_found(idle, || false);
    }

    /// Plays a guest that comes and goes, if the worker sleeps. Calls `stay` on the worker
    /// meanwhile.
    fn guest(&self, stay: impl FnOnce(WorkerIndex)) {
        let sleep = &self.scene.sleep;
        let eligible = |_| self.seat.load(Relaxed) == VACANT;
        let Some(worker) = sleep.borrow_sleeper(eligible) else {
            return;
        };
        if !self.change_seat(VACANT, GUEST) {
            sleep.give_back(worker, || true);
            return;
        }
        self.place.hold();
        stay(worker);
        self.place.hold();
        assert!(self.change_seat(GUEST, VACANT));
        sleep.give_back(worker, || self.latch.probe() || self.scene.has_work());
    }
}

/// Runs the host and all others at the same time, the first of them on the model's own thread.
fn check(preemptions: usize, others: &'static [fn(&Arc<Guesthouse>)]) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        let house = Guesthouse::new();
        let spawn = |part: fn(&Arc<Guesthouse>)| {
            let house = house.clone();
            thread::spawn(move || part(&house))
        };
        let mut threads = std::vec![spawn(|house| house.host())];
        threads.extend(others[1..].iter().map(|&other| spawn(other)));
        others[0](&house);
        for thread in threads {
            thread.join().unwrap();
        }
        let sleep = &house.scene.sleep;
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    });
}

fn come_and_go(house: &Arc<Guesthouse>) {
    house.guest(|_| ());
}

fn post(house: &Arc<Guesthouse>) {
    house.scene.queue(0);
    house.scene.sleep.announce(NewJobs::injected(1, true));
}

fn set_latch(house: &Arc<Guesthouse>) {
    // SAFETY: 1. the latch lives as long as the model; 4. no frame ends with it.
    if unsafe { CoreLatch::set(&raw const house.latch) } {
        fence(Ordering::SeqCst);
        house
            .scene
            .sleep
            .wake_worker(house.scene.sleep.worker(0).unwrap());
    }
}

#[test]
fn a_job_is_not_overlooked_while_a_guest_comes_and_goes() {
    check(3, &[come_and_go, post]);
}

#[test]
fn a_job_for_one_worker_is_not_overlooked_while_a_guest_comes_and_goes() {
    check(
        3,
        &[come_and_go, |house| {
            house.scene.queue(0);
            let sleep = &house.scene.sleep;
            sleep.announce_for([sleep.worker(0).unwrap()]);
        }],
    );
}

#[test]
fn a_latch_is_not_overlooked_while_a_guest_comes_and_goes() {
    check(3, &[come_and_go, set_latch]);
}

#[test]
fn two_guests_take_turns() {
    check(
        2,
        &[
            |house| {
                come_and_go(house);
                set_latch(house);
            },
            come_and_go,
        ],
    );
}

/// Models a guest that waits for a latch of its own, as in a join whose second half was stolen,
/// while the host's latch is set.
#[test]
fn a_guest_that_waits_is_woken_by_its_latch() {
    check(
        2,
        &[|house| {
            house.guest(|worker| {
                let latch = Arc::new(CoreLatch::new());
                let thief = {
                    let (house, latch) = (house.clone(), latch.clone());
                    thread::spawn(move || {
                        // SAFETY: 1. to 3. the thread holds both; 2. the guest waits; 4. no frame
                        // ends with it.
                        unsafe { crate::set_latch(&house.scene.sleep, &*latch, worker) };
                    })
                };
                let sleep = &house.scene.sleep;
                let mut idle = sleep.start_looking(worker, Purpose::Job);
                while !latch.probe() {
                    sleep.no_work_found(&mut idle, &latch, || false);
                }
                sleep.work_found(idle, || false);
                thief.join().unwrap();
            });
            set_latch(house);
        }],
    );
}

/// Checks that the models above have guests.
#[test]
fn a_guest_comes_in_some_interleavings() {
    use std::sync::atomic::AtomicBool;

    static CAME: AtomicBool = AtomicBool::new(false);
    check(
        2,
        &[|house| {
            house.guest(|_| CAME.store(true, Relaxed));
            set_latch(house);
        }],
    );
    assert!(CAME.load(Relaxed));
}
