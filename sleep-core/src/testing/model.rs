//! What models of protocols share: a whole pool, and a pool whose workers are played by tests.

use ::loom::{
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::{Pool, TestProtocol, process_fence};
use crate::{CoreLatch, IdlePolicy, primitive::Ordering::Relaxed};

/// Models a pool whose workers sleep as early as they may, and a poster outside, which posts so many
/// jobs at once. The poster waits for its jobs before it terminates the pool, so a lost wake-up is a
/// deadlock, which loom reports.
pub(crate) fn check_pool<S: TestProtocol>(
    preemptions: usize,
    workers: usize,
    posts: &'static [usize],
) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        let pool = Pool::<S>::new(workers, IdlePolicy::IMMEDIATE);
        let threads = Pool::start(&pool);
        let mut posted = 0;
        for &jobs in posts {
            pool.inject(jobs);
            posted += jobs;
            pool.wait_for(posted);
        }
        pool.terminate();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// A pool whose queues are two numbers, which order nothing, and whose workers are played by tests.
pub(crate) struct Scene<S> {
    pub(crate) sleep: S,
    queues: [AtomicUsize; 2],
}

impl<S: TestProtocol> Scene<S> {
    pub(crate) fn new(workers: usize) -> Arc<Self> {
        Self::with_policy(workers, IdlePolicy::IMMEDIATE)
    }

    pub(crate) fn with_policy(workers: usize, policy: IdlePolicy) -> Arc<Self> {
        Arc::new(Self {
            sleep: TestProtocol::new(workers, policy),
            queues: std::array::from_fn(|_| AtomicUsize::new(0)),
        })
    }

    /// Queues a job, which no worker takes.
    pub(crate) fn queue(&self, queue: usize) {
        self.queues[queue].store(1, Relaxed);
    }

    pub(crate) fn holds_job(&self, queue: usize) -> bool {
        self.queues[queue].load(Relaxed) > 0
    }

    pub(crate) fn has_work(&self) -> bool {
        self.holds_job(0) || self.holds_job(1)
    }

    /// Plays a worker that ends when it sees work for it, and sleeps until then.
    pub(crate) fn run_until(&self, index: usize, has_work: fn(&Self) -> bool) {
        let latch = CoreLatch::new();
        let mut idle = self.sleep.start_looking(self.sleep.worker(index).unwrap());
        while !has_work(self) {
            self.sleep
                .no_work_found(&mut idle, &latch, || has_work(self));
        }
        self.sleep.work_found(idle, || false);
    }
}

/// Models workers that fall asleep while a caller queues a job, which all of them wait for, and
/// announces it by `post`.
pub(crate) fn check_sleepers<S: TestProtocol>(
    preemptions: usize,
    workers: usize,
    post: fn(&Scene<S>),
) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let scene = Scene::new(workers);
        let threads: std::vec::Vec<_> = (0..workers)
            .map(|index| {
                let scene = scene.clone();
                thread::spawn(move || scene.run_until(index, Scene::has_work))
            })
            .collect();
        scene.queue(0);
        post(&scene);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Models a worker that falls asleep while a poster queues a job without a fence. The worker executes a process
/// fence before its last look, so it sees the job, or the poster sees the worker.
pub(crate) fn check_process_fence<S: TestProtocol>(preemptions: usize) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(|| {
        let scene = Scene::<S>::new(1);
        let sleeper = {
            let scene = scene.clone();
            thread::spawn(move || {
                let latch = CoreLatch::new();
                let worker = scene.sleep.worker(0).unwrap();
                let mut idle = scene.sleep.start_looking(worker);
                while !scene.has_work() {
                    scene.sleep.no_work_found(&mut idle, &latch, || {
                        process_fence::heavy();
                        scene.has_work()
                    });
                }
                scene.sleep.work_found(idle, || false);
            })
        };
        process_fence::interruption_point();
        scene.queue(0);
        process_fence::interruption_point();
        scene.sleep.new_internal_jobs(1, || true);
        process_fence::retire();
        sleeper.join().unwrap();
    });
}
