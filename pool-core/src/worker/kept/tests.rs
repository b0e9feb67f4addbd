use std::{
    boxed::Box,
    cell::Cell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use progress_core::Operation;

use super::*;
use crate::{
    job::{Job, JobHeader, JobRef},
    testing::{Event, Test, observe, registry, run_until_stopped, with_worker},
};

/// The number of jobs on a deque at most.
const ROOM: usize = 8;
/// The reference of the pool's owner.
const OWNER: usize = 1;

type Closure = Box<dyn FnOnce(&WorkerThread<Test>)>;

/// A detached job, which has a reference to the pool and borrows nothing.
#[repr(C)]
struct Detached {
    header: JobHeader,
    closure: Closure,
}

// SAFETY: 1. the header comes first; `spawn` makes it for this type.
unsafe impl Job for Detached {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 this is the pointer of `spawn`, and used once.
        let Self { closure, .. } = *unsafe { Box::from_raw(this.cast_mut().cast::<Self>()) };
        let worker = current();
        closure(worker);
        worker.registry().remove_reference_of_job();
    }
}

/// Puts a detached job on the deque of this thread's worker.
fn spawn(closure: impl FnOnce(&WorkerThread<Test>) + 'static) {
    let worker = current();
    assert!(worker.registry().try_add_reference_of_job());
    let job = Box::into_raw(Box::new(Detached {
        header: JobHeader::new::<Detached>(),
        closure: Box::new(closure),
    }));
    // SAFETY: 1. the block lives until the job is run; 2. it stays on this thread.
    let job = unsafe { JobRef::new(job) };
    assert!(worker.own().try_push(job).is_ok());
}

/// Returns the worker that this thread is.
fn current<'a>() -> &'a WorkerThread<Test> {
    // SAFETY: 1. tests use it only in a job, or while they are the worker.
    unsafe { WorkerThread::current() }.unwrap()
}

fn kept() -> usize {
    current().num_kept_references()
}

fn references() -> usize {
    current().registry().num_references()
}

fn stop(registry: &Registry<Test>) {
    registry.request_stop(registry.worker(0).unwrap());
}

/// Runs one worker with these jobs until it is requested to stop. Then there are no references but
/// the owner's.
fn run(spawn_jobs: impl FnOnce()) {
    with_worker(&registry::<Test>(1), 0, |worker| {
        spawn_jobs();
        run_until_stopped(worker);
        assert_eq!((references(), kept()), (OWNER, 0));
        while worker.yield_now() {}
    });
}

#[test]
fn a_worker_adds_several_references_at_a_time_and_keeps_those_of_ended_jobs() {
    let batch = usize::from(BATCH);
    run(move || {
        spawn(move |_| {
            assert_eq!((references(), kept()), (OWNER + 1, 0));
            spawn(move |_| {
                assert_eq!((references(), kept()), (OWNER + 1 + batch, batch));
                spawn(move |worker| {
                    assert_eq!((references(), kept()), (OWNER + 1 + batch, batch));
                    stop(worker.registry());
                });
                assert_eq!((references(), kept()), (OWNER + 1 + batch, batch - 1));
            });
            assert_eq!((references(), kept()), (OWNER + 1 + batch, batch - 1));
        });
    });
}

/// Runs trees of jobs that spawn from 0 to 3 others, against a model: at each moment there is a
/// reference for each job that has not ended, and for each that is kept.
#[test]
fn each_reference_is_of_a_job_or_kept() {
    #[derive(Clone)]
    struct Tree {
        pending: Rc<Cell<usize>>,
        left: Rc<Cell<usize>>,
        random: Rc<Cell<u64>>,
    }

    impl Tree {
        fn spawn(&self) {
            self.pending.set(self.pending.get() + 1);
            let tree = self.clone();
            spawn(move |worker| tree.run(worker));
            self.check();
        }

        fn run(&self, worker: &WorkerThread<Test>) {
            self.check();
            let random = self.random.get().wrapping_mul(6_364_136_223_846_793_005) + 1;
            self.random.set(random);
            for _ in 0..(random >> 62) {
                let left = self.left.get();
                if left > 0 && worker.own().len() < ROOM {
                    self.left.set(left - 1);
                    self.spawn();
                }
            }
            // Some jobs wait for others, as in a join.
            if random >> 40 & 3 == 0 && worker.yield_now() {
                self.check();
            }
            self.pending.set(self.pending.get() - 1);
            if self.pending.get() == 0 {
                stop(worker.registry());
            }
        }

        fn check(&self) {
            assert_eq!(references(), OWNER + self.pending.get() + kept());
            assert!(kept() <= usize::from(LIMIT));
        }
    }

    for seed in 0..if cfg!(miri) { 2 } else { 50_u64 } {
        let tree = Tree {
            pending: Rc::default(),
            left: Rc::new(Cell::new(60)),
            random: Rc::new(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
        };
        run(|| tree.spawn());
    }
}

/// A thread that the pool has adopted runs its own code for any time after it has waited.
#[test]
fn none_are_kept_outside_the_loop() {
    with_worker(&registry::<Test>(1), 0, |worker| {
        for _ in 0..2 {
            spawn(|_| spawn(|_| ()));
            assert_eq!((references(), kept()), (OWNER + 1, 0));
            assert!(worker.yield_now());
            assert_eq!((references(), kept()), (OWNER + 1, 0), "the second one");
            assert!(worker.yield_now());
            assert_eq!((references(), kept()), (OWNER, 0));
        }
    });
}

/// An operation runs in a search, and the worker may sleep after it.
#[test]
fn none_are_kept_in_an_operation() {
    run(|| {
        current().schedule(Box::new(Operation::new(|| {
            assert_eq!((references(), kept()), (OWNER, 0));
            spawn(|worker| stop(worker.registry()));
            assert_eq!((references(), kept()), (OWNER + 1, 0));
        })));
    });
}

/// A job that an operation waits for may end long before the operation.
#[test]
fn none_are_kept_in_a_job_that_is_run_within_an_operation() {
    let most_kept = Arc::new(AtomicUsize::new(0));
    let seen = most_kept.clone();
    run(|| {
        current().schedule(Box::new(Operation::new(move || {
            stop(current().registry());
            spawn(|_| spawn(|_| ()));
            while current().yield_now() {
                seen.fetch_max(kept(), Relaxed);
            }
        })));
    });
    assert_eq!(most_kept.load(Relaxed), 0);
}

/// Otherwise the pool would look busy while its workers sleep.
#[test]
fn a_worker_that_parks_keeps_none() {
    let pool: Arc<Registry<Test>> = registry(1);
    with_worker(&pool, 0, |worker| {
        let parks = Rc::new(Cell::new(0));
        observe(Some(Box::new({
            let (pool, parks) = (pool.clone(), parks.clone());
            move |event| {
                if event == Event::Park {
                    parks.set(parks.get() + 1);
                    assert_eq!(pool.num_references(), OWNER);
                    stop(&pool);
                }
            }
        })));
        spawn(|_| {
            for count in [3, 1, 4] {
                spawn(move |_| (0..count).for_each(|_| spawn(|_| ())));
            }
        });
        run_until_stopped(worker);
        observe(None);
        assert_eq!((parks.get(), kept()), (1, 0));
    });
}
