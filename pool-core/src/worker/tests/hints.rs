//! Workers that are woken with hints, one by one, in one thread: what other workers do while one is
//! parked is done when it parks.

use std::{
    boxed::Box,
    cell::Cell,
    ptr::NonNull,
    rc::Rc,
    sync::{Arc, Mutex},
    vec::Vec,
};

use sleep_core::{CoreLatch, Hint};

use super::super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    queue::JobQueue,
    testing::{Event, TestHinted, TestPlatform as _, observe},
};

type Queue = <TestHinted as Platform>::Queue;

/// Three workers on this thread, the first of which sleeps.
struct Scene {
    /// Dropped before the registry that they belong to.
    workers: Rc<[WorkerThread<TestHinted>; 3]>,
    registry: Arc<Registry<TestHinted>>,
}

impl Scene {
    fn new() -> Self {
        let registry = TestHinted::registry(3);
        let workers = std::array::from_fn(|index| {
            let index = registry.worker(index).unwrap();
            // SAFETY: 1. the scene holds the registry; 2. it is the `Arc`'s pointer.
            unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap()
        });
        let workers = Rc::new(workers);
        Self { workers, registry }
    }

    /// Puts the first worker to sleep, runs `post` with one job for each of two sources when it
    /// parks, and returns in which order the worker has run them. The worker must park once.
    fn order(&self, post: impl Fn(&Self, [JobRef; 2]) + 'static) -> Vec<usize> {
        let (order, latch) = (Mutex::new(Vec::new()), CoreLatch::new());
        let (registry, sleeper) = (&self.registry, self.registry.worker(0).unwrap());
        let run = |job: usize| {
            let mut order = order.lock().unwrap();
            order.push(job);
            if order.len() == 2 {
                // SAFETY: 1. and 3. both live in this call; 2. the sleeper waits; 4. for both jobs.
                unsafe { registry.set_latch(&latch, sleeper) };
            }
        };
        let run = &run;
        let jobs = [0, 1].map(|job| {
            StackJob::new(
                move |_: JobContext<'_, _>| run(job),
                BlockingLatch::<TestHinted>::new(),
            )
        });
        // SAFETY: 1. they stay, and are run below.
        let references = unsafe { [jobs[0].as_job_ref(), jobs[1].as_job_ref()] };
        let parks = Rc::new(Cell::new(0));
        observe(Some(Box::new({
            let scene = Self {
                workers: self.workers.clone(),
                registry: self.registry.clone(),
            };
            let parks = parks.clone();
            move |event| {
                if event == Event::Park {
                    assert_eq!(parks.replace(parks.get() + 1), 0, "the worker sleeps once");
                    post(&scene, references);
                }
            }
        })));
        self.workers[0].wait_until(&latch);
        observe(None);
        assert_eq!(parks.get(), 1);
        assert_eq!(self.registry.num_sleeping(), 0);
        for job in jobs {
            // SAFETY: 1. it has been run; 2. once.
            unsafe { job.take_result() };
        }
        order.into_inner().unwrap()
    }

    /// Queues a job on a worker's deque, and tells no worker.
    fn push(&self, worker: usize, job: JobRef) {
        assert!(self.workers[worker].own().try_push(job).is_ok());
    }
}

/// Whichever of two victims the poster is, the woken worker begins there; without hints it would
/// begin with the same one each time.
#[test]
fn a_woken_worker_takes_the_hinted_victim_first() {
    for (poster, other) in [(1, 2), (2, 1)] {
        let order = Scene::new().order(move |scene, [hinted, unknown]| {
            scene.push(other, unknown);
            // SAFETY: 1. it stays until it has been run.
            unsafe { scene.workers[poster].post(hinted) };
        });
        assert_eq!(order, [0, 1], "posted by worker {poster}");
    }
}

/// A worker searches the injector last, unless it is told that the job is there.
#[test]
fn a_worker_woken_for_a_job_from_outside_takes_it_first() {
    let mut node = Queue::node();
    let node = NonNull::from(&mut node);
    let order = Scene::new().order(move |scene, [hinted, unknown]| {
        scene.push(1, unknown);
        // SAFETY: 1. the node lives in the frame of the test.
        unsafe { scene.registry.inject(node, hinted) };
    });
    assert_eq!(order, [0, 1]);
}

/// The worker looks where the hint says, finds nothing there, and goes on to search everywhere,
/// without another sleep. That is also so for numbers that a channel may make up.
#[test]
fn a_hint_that_is_out_of_date_costs_one_look() {
    let hints = [
        Hint::Unknown,
        Hint::Injector,
        Hint::Worker(0),
        Hint::Worker(1),
        Hint::Worker(3),
        Hint::Worker(u16::MAX),
    ];
    for hint in hints {
        let scene = Scene::new();
        let mut order = scene.order(move |scene, [first, second]| {
            scene.push(2, first);
            scene.push(2, second);
            scene.registry.announce_jobs_at(hint, 1, true);
        });
        order.sort_unstable();
        assert_eq!(order, [0, 1], "{hint:?}");
        let counts = scene
            .registry
            .worker_metrics(scene.workers[0].index())
            .counts;
        assert_eq!((counts.sleeps, counts.wakes), (1, 1), "{hint:?}");
    }
}
