//! The accounting with the real protocol and the real latch. Each model waits for its last report,
//! so a report that is missed is a deadlock, which loom finds. Each handler checks that its report
//! is true.

use std::{
    boxed::Box,
    cell::Cell,
    sync::Arc,
    sync::atomic::{
        AtomicBool, AtomicUsize as Tally,
        Ordering::{Relaxed, SeqCst},
    },
    vec::Vec,
};

use ::loom::{model::Builder, sync::atomic::AtomicUsize, thread, thread_local};

use super::super::*;
use crate::{
    IdlePolicy, NewJobs, Parker, Purpose, SleepProtocol,
    primitive::Ordering::Relaxed as LoomRelaxed,
    testing::{TestJec, TestParker, TestProtocol, TestRawMutex},
};

thread_local! {
    /// Whether the post had returned when this thread last called the accounting. A post that comes
    /// later may come after the accounting's look at the queue, and then also after the report.
    static POSTED_BEFORE: Cell<bool> = Cell::new(false);
}

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(body);
}

type Handler = Box<dyn Fn(&Report<'_>) + Send + Sync>;

/// A pool whose queue is a number, which orders nothing, and whose workers are played by tests. All
/// of them are active at first.
struct Scene {
    sleep: TestJec,
    accounting: Accounting<TestRawMutex, Box<[WorkerEntry]>, Handler>,
    facts: Arc<Facts>,
}

/// What a handler knows. Flags and tallies are not of loom, so they order nothing.
struct Facts {
    queue: AtomicUsize,
    /// A call that posts has returned.
    was_posted: AtomicBool,
    /// A worker that is going to be woken has not run yet.
    wakes: AtomicBool,
    reports: Tally,
    /// Told of each report that completes the model.
    last: TestParker,
}

impl Facts {
    /// Called right before the accounting.
    fn note_post(&self) {
        POSTED_BEFORE.with(|posted| posted.set(self.was_posted.load(SeqCst)));
    }
}

impl Scene {
    fn new(workers: usize, handler: fn(&Facts, &Report<'_>)) -> Arc<Self> {
        let facts = Arc::new(Facts {
            queue: AtomicUsize::new(0),
            was_posted: AtomicBool::new(false),
            wakes: AtomicBool::new(false),
            reports: Tally::new(0),
            last: TestParker::new(),
        });
        let entries: Vec<_> = (0..workers).map(|_| WorkerEntry::new()).collect();
        let known = facts.clone();
        let handler: Handler = Box::new(move |report| {
            known.reports.fetch_add(1, SeqCst);
            handler(&known, report);
        });
        let scene = Self {
            sleep: TestProtocol::new(workers, IdlePolicy::IMMEDIATE),
            accounting: Accounting::new(entries.into(), handler),
            facts,
        };
        for index in 0..workers {
            scene.accounting.arrive(scene.worker(index));
        }
        Arc::new(scene)
    }

    fn worker(&self, index: usize) -> WorkerIndex {
        self.sleep.worker(index).unwrap()
    }

    fn has_work(&self) -> bool {
        self.facts.queue.load(LoomRelaxed) > 0
    }

    fn block(&self, index: usize) -> Ticket {
        let worker = self.worker(index);
        self.facts.note_post();
        self.accounting
            .mark_blocked(worker, |_| self.has_work())
            .unwrap()
    }

    fn post(&self) {
        self.facts.queue.fetch_add(1, LoomRelaxed);
        self.sleep.announce(NewJobs::injected(1, true));
        self.facts.was_posted.store(true, SeqCst);
    }

    /// Plays a worker that takes jobs, which do nothing, and sleeps, until its latch is set.
    fn run_until(&self, index: usize, latch: &CoreLatch) {
        let worker = self.worker(index);
        let mut idle = self.sleep.start_looking(worker, Purpose::Job);
        while !latch.probe() {
            if self.has_work() {
                self.sleep.work_found(idle, || false);
                self.facts.queue.store(0, LoomRelaxed);
                idle = self.sleep.start_looking(worker, Purpose::Job);
                continue;
            }
            let mut has_slept = false;
            self.sleep.no_work_found(&mut idle, latch, || {
                let has_work = self.has_work();
                if !has_work {
                    has_slept = true;
                    self.facts.note_post();
                    let deadlock = &self.accounting;
                    deadlock.fall_asleep(worker, latch, |_| self.has_work());
                }
                has_work
            });
            if has_slept {
                self.accounting.wake_up(worker);
            }
        }
        self.sleep.work_found(idle, || false);
    }

    /// Sets the latch of a worker, as a worker of the pool does.
    fn set(&self, latch: &CoreLatch, index: usize) {
        // SAFETY: 1. the caller holds it; 2. the waiter waits for this.
        if unsafe { CoreLatch::set(latch) } {
            self.accounting.will_wake(self.worker(index));
            self.sleep.wake_worker(self.worker(index));
        }
    }

    /// Plays a worker on a thread of its own. It ends when the latch is set.
    fn spawn(this: &Arc<Self>, index: usize) -> (Arc<CoreLatch>, thread::JoinHandle<()>) {
        let (scene, latch) = (this.clone(), Arc::new(CoreLatch::new()));
        let waited = latch.clone();
        (
            latch,
            thread::spawn(move || scene.run_until(index, &waited)),
        )
    }

    /// Waits for the last report, then ends a worker of [`spawn`](Self::spawn). Returns the number
    /// of reports until then.
    fn end(
        &self,
        (latch, thread): (Arc<CoreLatch>, thread::JoinHandle<()>),
        index: usize,
    ) -> usize {
        self.facts.last.park();
        let reports = self.facts.reports.load(SeqCst);
        self.set(&latch, index);
        thread.join().unwrap();
        assert_eq!(self.facts.reports.load(SeqCst), reports, "reported once");
        reports
    }
}

/// Models a worker that blocks while another one falls asleep, in either order: the last one
/// reports.
#[test]
fn blocking_against_falling_asleep() {
    model(3, || {
        let scene = Scene::new(2, |facts, report| {
            assert_eq!((report.num_blocked(), report.num_asleep()), (1, 1));
            facts.last.unpark();
        });
        let sleeper = Scene::spawn(&scene, 1);
        scene.block(0);
        assert_eq!(scene.end(sleeper, 1), 1);
    });
}

/// Models a worker that blocks while a job is posted from outside and another worker falls asleep.
/// No report comes between the post and the run of the job; afterwards one does, unless it came
/// before.
fn check_blocking_against_posting(preemptions: usize) {
    model(preemptions, || {
        let scene = Scene::new(2, |facts, _| {
            let is_queued = facts.queue.load(LoomRelaxed) > 0;
            assert!(
                !(POSTED_BEFORE.with(Cell::get) && is_queued),
                "reported although a job is queued"
            );
            facts.last.unpark();
        });
        let sleeper = Scene::spawn(&scene, 1);
        let blocker = {
            let scene = scene.clone();
            thread::spawn(move || _ = scene.block(0))
        };
        scene.post();
        blocker.join().unwrap();
        assert_eq!(scene.end(sleeper, 1), 1);
    });
}

#[test]
fn blocking_against_posting_from_outside() {
    check_blocking_against_posting(2);
}

/// Models a resumer of one worker while a second one falls asleep and a third one blocks. The
/// resumed worker blocks again in the end.
#[test]
fn unblocking_against_blocking_and_falling_asleep() {
    static TWICE: Tally = Tally::new(0);
    static ONCE: Tally = Tally::new(0);
    model(2, || {
        let scene = Scene::new(3, |facts, report| {
            assert_eq!((report.num_blocked(), report.num_asleep()), (2, 1));
            if report.blocked().any(|ticket| ticket.episode() == 2) {
                facts.last.unpark();
            }
        });
        let ticket = scene.block(0);
        let sleeper = Scene::spawn(&scene, 1);
        let blocker = {
            let scene = scene.clone();
            thread::spawn(move || _ = scene.block(2))
        };
        scene.accounting.mark_unblocked(ticket).unwrap();
        // From here on this thread plays the worker that was resumed.
        scene.block(0);
        blocker.join().unwrap();
        let reports = scene.end(sleeper, 1);
        (if reports == 2 { &TWICE } else { &ONCE }).fetch_add(1, Relaxed);
        assert!((1..=2).contains(&reports));
    });
    assert!(
        TWICE.load(Relaxed) > 0 && ONCE.load(Relaxed) > 0,
        "both ends were explored"
    );
}

/// Models a worker that sets the latch of another one, which falls asleep meanwhile, and then
/// blocks. The other one is woken, so there is no deadlock until it blocks too.
#[test]
fn setting_a_latch_and_blocking_against_falling_asleep() {
    model(3, || {
        let scene = Scene::new(2, |facts, report| {
            assert!(
                !facts.wakes.load(SeqCst),
                "reported although a worker is being woken"
            );
            assert_eq!(report.num_blocked(), 2);
        });
        let latch = Arc::new(CoreLatch::new());
        scene.facts.wakes.store(true, SeqCst);
        let waiter = {
            let (scene, latch) = (scene.clone(), latch.clone());
            thread::spawn(move || {
                scene.run_until(1, &latch);
                scene.facts.wakes.store(false, SeqCst);
                scene.block(1);
            })
        };
        scene.set(&latch, 1);
        scene.block(0);
        waiter.join().unwrap();
        assert_eq!(scene.facts.reports.load(SeqCst), 1);
    });
}
