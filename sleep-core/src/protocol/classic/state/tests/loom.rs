//! What the word alone hands over, without a fence: a job to workers that get sleepy after its
//! tickle, and open slots to the thread that takes out that workers are asleep.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize as Tally, Ordering::Relaxed},
};

use ::loom::{model, sync::atomic::AtomicUsize, thread};

use super::super::*;
use crate::protocol::slot::SlotState;

/// The state of a pool of two workers, their slots, and a queue that is a number.
struct Scene {
    state: AtomicState,
    slots: [SlotState<()>; 2],
    queued: AtomicUsize,
    /// Which workers have put in that they are asleep. Not of loom, so it orders nothing.
    registered: [AtomicBool; 2],
}

impl Scene {
    fn new() -> ::loom::sync::Arc<Self> {
        ::loom::sync::Arc::new(Self {
            state: AtomicState::new(),
            slots: [SlotState::new(()), SlotState::new(())],
            queued: AtomicUsize::new(0),
            registered: [AtomicBool::new(false), AtomicBool::new(false)],
        })
    }

    fn post(&self) {
        self.queued.store(1, Ordering::Relaxed);
        self.state.strip();
    }

    fn sees_job(&self) -> bool {
        self.queued.load(Ordering::Relaxed) == 1
    }

    /// Plays a sleepy worker that falls asleep.
    fn fall_asleep(&self, index: usize) -> bool {
        self.slots[index].open();
        let asleep = self.state.fall_asleep(worker(index));
        self.registered[index].store(asleep, Relaxed);
        asleep
    }
}

fn worker(index: usize) -> WorkerIndex {
    WorkerIndex::new(index, 2).unwrap()
}

/// Models a poster whose tickle strips worker 0, and a worker that asks the state. When that says
/// that the tickle has come, the job must be visible.
fn check_job(tickle_has_come: fn(&Scene) -> bool) {
    let tally = Arc::new(Tally::new(0));
    let seen = tally.clone();
    model(move || {
        let scene = Scene::new();
        assert!(scene.state.get_sleepy(worker(0)));
        let asker = {
            let (scene, tally) = (scene.clone(), tally.clone());
            thread::spawn(move || {
                if tickle_has_come(&scene) {
                    assert!(scene.sees_job());
                    tally.fetch_add(1, Relaxed);
                }
            })
        };
        scene.post();
        asker.join().unwrap();
    });
    assert!(seen.load(Relaxed) > 0, "coming later was explored");
}

#[test]
fn getting_sleepy_after_a_tickle_shows_its_job() {
    check_job(|scene| scene.state.get_sleepy(worker(1)));
}

#[test]
fn noticing_a_tickle_shows_its_job() {
    check_job(|scene| !scene.state.is_sleepy(worker(0)));
}

#[test]
fn failing_to_fall_asleep_shows_the_job() {
    check_job(|scene| !scene.fall_asleep(0));
}

/// Models workers that fall asleep one after the other, each on a thread of its own, and a tickle
/// that takes out that they are. It finds the slot open of each that has put that in before.
#[test]
fn a_tickle_finds_all_slots_open_that_were_open_before_it() {
    static BOTH: Tally = Tally::new(0);
    model(|| {
        let scene = Scene::new();
        assert!(scene.state.get_sleepy(worker(0)));
        let sleepers = [0, 1].map(|index| {
            let scene = scene.clone();
            thread::spawn(move || {
                if index == 0 || scene.state.get_sleepy(worker(index)) {
                    scene.fall_asleep(index);
                }
            })
        });
        if scene.state.strip() {
            // In a model no other thread runs between two atomic operations of this one.
            let registered = [0, 1].map(|index| scene.registered[index].load(Relaxed));
            for index in (0..2).filter(|index| registered[*index]) {
                assert!(scene.slots[index].is_asleep());
            }
            if registered == [true; 2] {
                BOTH.fetch_add(1, Relaxed);
            }
        }
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
    assert!(BOTH.load(Relaxed) > 0, "two sleepers were explored");
}
