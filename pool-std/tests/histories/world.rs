//! What the threads of a history share, and how they run its steps.

use std::sync::{
    Arc, Mutex, OnceLock, Weak,
    atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    mpsc::Sender,
};

use pool_std::{DeadlockReport, Scope, ThreadPool, block_in_place, join, mark_all_unblocked};

use super::{
    EVENTS,
    author::{Actors, Random, Step},
    event::Event,
};

/// Everything of one history that several threads share.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) actors: Actors,
    pub(crate) events: [Event; EVENTS],
    /// How many steps have been begun.
    pub(crate) progress: AtomicU64,
    pub(crate) runnable: AtomicUsize,
    pub(crate) workers: usize,
    pub(crate) other: Option<ThreadPool>,
    pub(crate) pool: OnceLock<Weak<ThreadPool>>,
    /// To the thread outside.
    pub(crate) injections: Mutex<Sender<Injection>>,
    /// Jobs that were injected and have not ended.
    pub(crate) injected: AtomicUsize,
}

pub(crate) type Injection = Arc<Vec<Step>>;

impl World {
    pub(crate) fn run<'scope>(
        self: &'scope Arc<Self>,
        steps: &'scope [Step],
        scope: Option<&Scope<'scope>>,
    ) {
        for step in steps {
            self.progress.fetch_add(1, SeqCst);
            match step {
                Step::Wait { event, in_section } => self.events[*event].wait(*event, *in_section),
                Step::Open(events) => self.open(events),
                Step::Compute(rounds) => (0..*rounds).for_each(|_| std::hint::spin_loop()),
                Step::Spawn(steps) => match scope {
                    Some(scope) => scope.spawn(move |scope| self.run(steps, Some(scope))),
                    None => pool_std::scope(|scope| {
                        scope.spawn(move |scope| self.run(steps, Some(scope)));
                    }),
                },
                Step::Join(first, second) => {
                    join(|| self.run(first, None), || self.run(second, None));
                }
                Step::Inject(steps) => {
                    self.injected.fetch_add(1, SeqCst);
                    let job = Arc::new(steps.iter().map(Step::copy).collect());
                    self.injections.lock().unwrap().send(job).unwrap();
                }
                Step::Install(steps) => {
                    let other = self.other.as_ref().expect("with all actors");
                    other.install(|| self.run(steps, None));
                }
                Step::InPlace(steps) => block_in_place(|| self.run(steps, None)),
                Step::SetActive(number) => self.set_active(*number),
            }
        }
    }

    /// Sets the number of active workers, which a random number chooses.
    pub(crate) fn set_active(&self, number: usize) {
        let pool = self.pool.get().and_then(Weak::upgrade);
        let pool = pool.expect("the pool outlives its jobs");
        pool.set_active_workers(1 + number % self.workers).unwrap();
    }

    /// Brings about events, as a query that ends does: unmarks all waiters, and then lets them go
    /// on.
    pub(crate) fn open(&self, events: &[usize]) {
        let mut events: Vec<_> = events.to_vec();
        // In one order, because all are locked at once.
        events.sort_unstable();
        events.dedup();
        let mut locked: Vec<_> = events
            .iter()
            .map(|&event| self.events[event].lock())
            .collect();
        let tickets: Vec<_> = locked
            .iter_mut()
            .flat_map(|tickets| tickets.drain(..))
            .collect();
        mark_all_unblocked(tickets).unwrap();
        for &event in &events {
            self.events[event].is_open.store(true, SeqCst);
            self.events[event].opened.notify_all();
        }
    }

    /// Ends a deadlock: opens one of the events, or all, for which workers wait.
    pub(crate) fn break_deadlock(&self, reported: &Reported, random: &mut Random) {
        let labels = reported
            .report
            .blocked()
            .map(|worker| worker.label().unwrap());
        let events: Vec<usize> = labels.map(|label| label.parse().unwrap()).collect();
        assert!(
            !events.is_empty(),
            "seed {}: {}",
            self.seed,
            reported.report
        );
        if random.below(2) == 0 {
            self.open(&events);
        } else {
            self.open(&[events[random.below(events.len())]]);
        }
    }
}

/// What the handler saw.
pub(crate) struct Reported {
    pub(crate) report: DeadlockReport,
    pub(crate) progress: u64,
}
