//! Random histories of a pool against an oracle that knows what is true.
//!
//! One thread plays all workers and all threads outside, with the real protocol, the real latch and
//! the real accounting. A worker that parks is put aside by unwinding out of the protocol, which
//! leaves no trace of a call that has parked, and continues when it has been unparked. The steps of
//! a setter and of a poster are separate, and others may act between any two of them, and within
//! the last look of a worker. Workers lend their places, and their number changes.

mod elastic;
mod single_thread;
mod truth;
mod worker;

use std::{
    boxed::Box,
    cell::{Cell, RefCell},
    panic::{catch_unwind, resume_unwind},
    rc::Rc,
    vec::Vec,
};

use self::{
    single_thread::{Recorder, SingleThread},
    truth::{Oracle, Rest, Truth},
};
use super::super::*;
use crate::{IdlePolicy, Jec, NewJobs, SleepProtocol, Slot, protocol::jec::IdleState};

const HISTORIES: u64 = if cfg!(miri) {
    1
} else if cfg!(debug_assertions) {
    5_000
} else {
    100_000
};
const STEPS: usize = 24;

type Handler = Box<dyn Fn(&Report<'_>)>;

struct World {
    oracle: Rc<Oracle>,
    sleep: Jec<Box<[Slot<Recorder>]>>,
    accounting: Accounting<SingleThread, Box<[WorkerEntry]>, Handler>,
    /// Of the workers that are parked.
    idle: Vec<Cell<Option<IdleState>>>,
    /// In the middle of falling asleep.
    is_busy: Vec<Cell<bool>>,
    tickets: Vec<Cell<Option<Ticket>>>,
    /// The workers below this number are wanted.
    wanted: Cell<usize>,
    /// Resumers name no workers in this history.
    is_nameless: bool,
    random: Cell<u64>,
    depth: Cell<usize>,
}

impl World {
    fn new(seed: u64) -> Self {
        let random = Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            below(&random, 2);
        }
        let workers = 1 + below(&random, 4);
        let oracle = Rc::new(Oracle {
            truths: (0..workers).map(|_| Cell::new(Truth::Absent)).collect(),
            latches: (0..workers).map(|_| CoreLatch::new()).collect(),
            injector: Cell::new(0),
            deques: (0..workers).map(|_| Cell::new(0)).collect(),
            inboxes: (0..workers).map(|_| Cell::new(0)).collect(),
            rests: RefCell::new(Vec::new()),
            loans: RefCell::new(Vec::new()),
            reports: Cell::new(0),
            all_reports: Cell::new(0),
        });
        let known = oracle.clone();
        let slots = (0..workers).map(|_| {
            let has_token = Cell::new(false);
            Slot::new(Recorder { has_token })
        });
        let entries: Box<[_]> = (0..workers).map(|_| WorkerEntry::new()).collect();
        let handler: Handler = Box::new(move |report| known.handle(report));
        let world = Self {
            oracle,
            sleep: Jec::new(slots.collect(), IdlePolicy::IMMEDIATE).unwrap(),
            accounting: Accounting::new(entries, handler),
            idle: (0..workers).map(|_| Cell::new(None)).collect(),
            is_busy: (0..workers).map(|_| Cell::new(false)).collect(),
            tickets: (0..workers).map(|_| Cell::new(None)).collect(),
            wanted: Cell::new(workers),
            is_nameless: below(&random, 3) == 0,
            random,
            depth: Cell::new(0),
        };
        for worker in 0..workers {
            if world.below(8) > 0 {
                world.arrive(worker);
            }
        }
        world
    }

    fn below(&self, limit: usize) -> usize {
        below(&self.random, limit)
    }

    fn workers(&self) -> std::ops::Range<usize> {
        0..self.idle.len()
    }

    fn any_worker(&self) -> usize {
        self.below(self.idle.len())
    }

    fn index(&self, worker: usize) -> WorkerIndex {
        self.sleep.worker(worker).unwrap()
    }

    fn set_truth(&self, worker: usize, truth: Truth) {
        self.oracle.truths[worker].set(truth);
    }

    /// Plays one step of any thread.
    fn step(&self) {
        let rests = self.oracle.rests.borrow().len();
        match self.below(8) {
            0..3 if rests > 0 => self.finish(self.below(rests)),
            0..2 => self.outside(),
            _ => self.act(self.any_worker()),
        }
    }

    /// Lets others act between two steps of a worker.
    fn interleave(&self) {
        if self.depth.get() < 2 && self.below(3) == 0 {
            self.depth.set(self.depth.get() + 1);
            for _ in 0..=self.below(3) {
                self.step();
            }
            self.depth.set(self.depth.get() - 1);
        }
    }

    fn finish(&self, rest: usize) {
        let (by, rest) = self.oracle.rests.borrow_mut().swap_remove(rest);
        match rest {
            Rest::Announce => self
                .sleep
                .announce(NewJobs::injected(1, self.below(2) == 0)),
            Rest::AnnounceFor(worker) => self.sleep.announce_for([self.index(worker)]),
            Rest::WillWake(worker) => {
                self.accounting.will_wake(self.index(worker));
                let next = (by, Rest::Wake(worker));
                self.oracle.rests.borrow_mut().push(next);
            }
            Rest::Wake(worker) => _ = self.sleep.wake_worker(self.index(worker)),
            Rest::EndClosure(worker) => self.end_closure(worker),
            Rest::EndOutside(worker) => self.end_outside(worker),
        }
    }

    fn outside(&self) {
        match self.below(6) {
            0 => self.post(None),
            1 => self.set_latch(None, self.any_worker()),
            2 => self.unmark(),
            3 => self.end_any_closure(),
            4 => self.set_active_workers(None),
            _ => self.misuse(),
        }
    }

    fn spawn(&self, worker: usize) {
        let deque = &self.oracle.deques[worker];
        deque.set(deque.get() + 1);
        let rest = (Some(worker), Rest::Announce);
        self.oracle.rests.borrow_mut().push(rest);
    }

    /// Queues a job in the injector or in an inbox. The announcement follows.
    fn post(&self, by: Option<usize>) {
        let worker = self.any_worker();
        let for_one = self.below(3) == 0 && self.oracle.truths[worker].get() != Truth::Absent;
        let (queue, rest) = if for_one {
            (&self.oracle.inboxes[worker], Rest::AnnounceFor(worker))
        } else {
            (&self.oracle.injector, Rest::Announce)
        };
        queue.set(queue.get() + 1);
        self.oracle.rests.borrow_mut().push((by, rest));
    }

    fn set_latch(&self, by: Option<usize>, worker: usize) {
        let latch = &self.oracle.latches[worker];
        // A latch is set once for each wait.
        if by == Some(worker) || latch.probe() {
            return;
        }
        // SAFETY: 1. it lives; 2. no memory depends on it.
        if unsafe { CoreLatch::set(latch) } {
            let rest = (by, Rest::WillWake(worker));
            self.oracle.rests.borrow_mut().push(rest);
        }
    }

    /// Unmarks up to three workers, at once or without their names.
    fn unmark(&self) {
        let mut blocked: Vec<_> = self
            .workers()
            .filter(|&worker| {
                self.oracle.is_blocked(worker) && self.tickets[worker].get().is_some()
            })
            .collect();
        let count = self.below(3.min(blocked.len()) + 1);
        let rotation = self.below(blocked.len().max(1));
        blocked.rotate_left(rotation);
        blocked.truncate(count);
        if blocked.is_empty() {
            return;
        }
        self.oracle.reports.set(0);
        let is_nameless = self.is_nameless;
        for &worker in &blocked {
            let resumed = Truth::Blocked { is_resumed: true };
            self.set_truth(worker, if is_nameless { resumed } else { Truth::Active });
        }
        if is_nameless {
            self.accounting.mark_any_unblocked(count).unwrap();
            return;
        }
        let tickets = blocked
            .iter()
            .map(|&worker| self.tickets[worker].get().unwrap());
        if count == 1 {
            self.accounting
                .mark_unblocked(tickets.last().unwrap())
                .unwrap();
        } else {
            self.accounting.mark_all_unblocked(tickets).unwrap();
        }
    }

    /// Unmarks what is not marked.
    fn misuse(&self) {
        let worker = self.any_worker();
        let is_blocked = matches!(self.oracle.truths[worker].get(), Truth::Blocked { .. });
        if let (Some(ticket), false) = (self.tickets[worker].get(), is_blocked) {
            let error = Err(NotBlocked { worker });
            assert_eq!(self.accounting.mark_unblocked(ticket), error);
            assert_eq!(self.accounting.mark_self_unblocked(ticket), error);
        }
        let blocked = self
            .workers()
            .filter(|&it| self.oracle.is_blocked(it))
            .count();
        let requested = blocked + 1;
        assert_eq!(
            self.accounting.mark_any_unblocked(requested),
            Err(TooManyUnblocked { requested, blocked })
        );
    }

    /// Lets everything come to rest and checks what is known: first while closures of lent workers
    /// go on, then after their end.
    fn settle(&self) {
        self.depth.set(2);
        self.come_to_rest();
        self.end_all_closures();
        self.come_to_rest();
        assert!(self.oracle.loans.borrow().is_empty());
        self.depth.set(0);
    }

    /// Lets all threads end what they do, and all workers fall asleep that can. Then checks what is
    /// known.
    fn come_to_rest(&self) {
        loop {
            while !self.oracle.rests.borrow().is_empty() {
                self.finish(0);
            }
            let mut has_acted = false;
            for worker in self.workers() {
                has_acted |= self.wake_up(worker);
                if self.oracle.runs(worker) {
                    has_acted = true;
                    self.search(worker);
                }
            }
            if !has_acted && self.oracle.rests.borrow().is_empty() {
                break;
            }
        }
        let oracle = &self.oracle;
        for worker in self.workers() {
            let state = self.accounting.state(self.index(worker));
            assert_eq!(state, oracle.expected(worker), "worker {worker}");
            let is_asleep = oracle.truths[worker].get() == Truth::Asleep;
            assert!(!is_asleep || !oracle.may_run(worker), "a lost wake-up");
        }
        let expected = usize::from(oracle.is_stuck());
        let is_lent = !oracle.loans.borrow().is_empty();
        // A report from before the loan is still the last one.
        assert!(
            is_lent || oracle.reports.get() == expected,
            "a missed report"
        );
    }
}

/// Returns a random number, by xorshift64.
fn below(random: &Cell<u64>, limit: usize) -> usize {
    let mut word = random.get();
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    random.set(word);
    ((word >> 32) as usize) % limit
}

/// Runs one history, which settles in the middle and at the end. Returns the number of reports.
fn history(seed: u64) -> usize {
    let world = World::new(seed);
    for _ in 0..2 {
        for _ in 0..STEPS {
            world.step();
        }
        world.settle();
    }
    world.oracle.all_reports.get()
}

#[test]
fn reports_of_random_histories_are_true_and_none_is_missed() {
    let mut reports = 0;
    for seed in 1..=HISTORIES {
        match catch_unwind(|| history(seed)) {
            Ok(count) => reports += count,
            Err(panic) => {
                std::eprintln!("history {seed}");
                resume_unwind(panic);
            }
        }
    }
    assert!(reports > HISTORIES as usize / 4, "the histories report");
}
