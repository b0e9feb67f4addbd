//! Wake-ups against polls. A lost wake-up is a deadlock, and loom reports accesses to the future
//! that nothing orders.
//!
//! What fails if something were missing:
//! - `a_wake_up_against_a_poll`: the release of `wake`, also where it changes nothing, or the
//!   acquire of `begin`; the change of `POLLING` to `WOKEN`, or the look for it in `end`; the
//!   exchange in `end`.
//! - `the_owner_of_the_handle_polls_too`: the release of `end`; the exchange of `begin`.
//! - `the_owner_of_the_handle_waits`: the release of `wait_for_change`, and the acquire of those
//!   that tell; the release of `finish`, and the acquire of `wait_for_change`.
//! - `the_owner_of_the_handle_helps`: the flag `LEFT_TO_QUEUES`, and that `end` tells.

use std::sync::Arc;

use ::loom::{
    cell::UnsafeCell,
    sync::{Condvar, Mutex, atomic::AtomicBool},
    thread,
};

use super::super::*;
use crate::testing::model;

/// A future that is ready when all its events have happened, and a queue for it alone.
struct Task<const EVENTS: usize> {
    state: PollState,
    /// What belongs to the thread that polls.
    polls: UnsafeCell<u32>,
    /// Relaxed: only the wake-up orders an event before the poll that must see it.
    events: [AtomicBool; EVENTS],
    /// How many references are in the queue.
    queued: Mutex<u32>,
    is_queued: Condvar,
    /// Whether the result is there. Relaxed: the state orders it before what the owner of the
    /// handle is told, or sees itself.
    has_result: AtomicBool,
    /// What that owner has left: whether to tell it. Whether it was told.
    owner: UnsafeCell<bool>,
    told: Mutex<bool>,
    is_told: Condvar,
}

// SAFETY: that is what the models check.
unsafe impl<const EVENTS: usize> Sync for Task<EVENTS> {}
// SAFETY: as above.
unsafe impl<const EVENTS: usize> Send for Task<EVENTS> {}

impl<const EVENTS: usize> Task<EVENTS> {
    fn queued() -> Arc<Self> {
        let task = Self {
            state: PollState::new(),
            polls: UnsafeCell::new(0),
            events: std::array::from_fn(|_| AtomicBool::new(false)),
            queued: Mutex::new(1),
            is_queued: Condvar::new(),
            has_result: AtomicBool::new(false),
            owner: UnsafeCell::new(false),
            told: Mutex::new(false),
            is_told: Condvar::new(),
        };
        Arc::new(task)
    }

    fn do_duties(&self, duties: PollDuties) {
        if duties.queue {
            self.queue();
        }
        if duties.tell {
            // SAFETY: loom checks it: the owner has left it, and waits, or has not left it yet.
            let is_there = self.owner.with(|owner| unsafe { *owner });
            assert!(is_there, "the thread that tells finds whom");
            *self.told.lock().unwrap() = true;
            self.is_told.notify_one();
        }
    }

    fn queue(&self) {
        *self.queued.lock().unwrap() += 1;
        self.is_queued.notify_one();
    }

    fn happen(&self, event: usize) {
        self.events[event].store(true, Ordering::Relaxed);
        self.do_duties(self.state.wake());
    }

    /// Polls, for the thread that has begun to, and calls `end` if the future has not ended.
    /// Returns whether it has.
    fn poll(&self, end: impl FnOnce(&PollState) -> PollDuties) -> bool {
        // SAFETY: loom checks it: one thread polls at a time.
        self.polls.with_mut(|polls| unsafe { *polls += 1 });
        let mut events = self.events.iter();
        let is_ready = events.all(|event| event.load(Ordering::Relaxed));
        if is_ready {
            self.has_result.store(true, Ordering::Relaxed);
            self.do_duties(self.state.finish());
            // For a worker whose reference is out of date.
            self.queue();
        } else {
            self.do_duties(end(&self.state));
        }
        is_ready
    }

    /// Polls until the future has ended, as a worker does.
    fn run(&self) {
        loop {
            let mut queued = self.queued.lock().unwrap();
            while *queued == 0 {
                queued = self.is_queued.wait(queued).unwrap();
            }
            *queued -= 1;
            drop(queued);
            if self.state.begin_queued() && self.poll(PollState::end) || self.is_done() {
                return;
            }
        }
    }

    /// Polls whenever the future is due until it has ended, as the owner of the handle does that
    /// takes nothing from queues. Calls `help` before each poll.
    fn join(&self, help: impl Fn(&Self)) {
        // SAFETY: loom checks it: no thread tells yet.
        self.owner.with_mut(|owner| unsafe { *owner = true });
        // If the state said that the future has ended, and not that the result is there, this would
        // never end.
        while !self.has_result.load(Ordering::Relaxed) {
            if self.state.wait_for_change() {
                let mut told = self.told.lock().unwrap();
                while !*told {
                    told = self.is_told.wait(told).unwrap();
                }
                *told = false;
            }
            if self.state.begin_isolated() {
                help(self);
                self.poll(PollState::end_isolated);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.state.0.load(Ordering::Relaxed) & DONE != 0
    }
}

fn against_wake_ups<const EVENTS: usize>(preemptions: usize) {
    model(preemptions, || {
        let task = Task::<EVENTS>::queued();
        let wakers: [_; EVENTS] = std::array::from_fn(|event| {
            let task = task.clone();
            thread::spawn(move || task.happen(event))
        });
        task.run();
        wakers.into_iter().for_each(|waker| waker.join().unwrap());
    });
}

#[test]
fn a_wake_up_against_a_poll() {
    against_wake_ups::<1>(5);
}

#[test]
fn two_wake_ups_against_a_poll() {
    against_wake_ups::<2>(3);
}

#[test]
fn the_owner_of_the_handle_polls_too() {
    model(3, || {
        let task = Task::<1>::queued();
        let [owner, waker] = [task.clone(), task.clone()];
        let owner = thread::spawn(move || _ = owner.state.begin() && owner.poll(PollState::end));
        let waker = thread::spawn(move || waker.happen(0));
        task.run();
        owner.join().unwrap();
        waker.join().unwrap();
    });
}

#[test]
fn the_owner_of_the_handle_waits() {
    model(3, || {
        let task = Task::<1>::queued();
        let [owner, waker] = [task.clone(), task.clone()];
        let owner = thread::spawn(move || owner.join(|_| ()));
        let waker = thread::spawn(move || waker.happen(0));
        task.run();
        owner.join().unwrap();
        waker.join().unwrap();
    });
}

/// What the future awaits happens only in a poll of the owner.
#[test]
fn the_owner_of_the_handle_helps() {
    model(3, || {
        let task = Task::<1>::queued();
        let owner = task.clone();
        let help = |task: &Task<1>| task.events[0].store(true, Ordering::Relaxed);
        let owner = thread::spawn(move || owner.join(help));
        task.run();
        owner.join().unwrap();
    });
}
