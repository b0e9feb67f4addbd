//! Two workers that sleep as early as they may, and a poster outside. The poster waits for its
//! jobs before it terminates the pool, so a lost wake-up is a deadlock, which loom reports.

use ::loom::{
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::*;
use crate::{
    primitive::Ordering::Relaxed,
    testing::{Pool, TestProtocol},
};

fn model<W: Widths>(preemptions: usize, workers: usize, posts: &'static [usize]) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(move || {
        let pool = Pool::<TestJec<W>>::new(workers, IdlePolicy::IMMEDIATE);
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

#[test]
fn one_worker_one_poster() {
    model::<DefaultWidths>(3, 1, &[1, 1]);
}

#[test]
fn two_workers_one_poster_jec_of_one_bit() {
    model::<JecOfOneBit>(2, 2, &[1]);
}

#[test]
fn two_workers_one_poster_jec_of_two_bits() {
    model::<JecOfTwoBits>(2, 2, &[1]);
}

#[test]
fn two_workers_two_jobs_at_once() {
    model::<JecOfOneBit>(2, 2, &[2]);
}

/// A pool whose queues are two numbers, which order nothing, and whose workers are played by tests.
struct Scene {
    sleep: TestJec,
    queues: [AtomicUsize; 2],
}

impl Scene {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            sleep: TestProtocol::new(workers, IdlePolicy::IMMEDIATE),
            queues: std::array::from_fn(|_| AtomicUsize::new(0)),
        })
    }

    fn has_work(&self) -> bool {
        self.queues.iter().any(|queue| queue.load(Relaxed) > 0)
    }

    /// Plays a worker that ends when it sees work, and sleeps until then.
    fn run_until_work(&self, index: usize) {
        let latch = CoreLatch::new();
        let mut idle = self.sleep.start_looking(self.sleep.worker(index).unwrap());
        while !self.has_work() {
            self.sleep
                .no_work_found(&mut idle, &latch, || self.has_work());
        }
        self.sleep.work_found(idle, || false);
    }
}

/// Models one worker that falls asleep while a caller queues a job and announces it by `post`.
fn check_one_sleeper(post: fn(&Scene)) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let scene = Scene::new(1);
        let worker = {
            let scene = scene.clone();
            thread::spawn(move || scene.run_until_work(0))
        };
        scene.queues[0].store(1, Relaxed);
        post(&scene);
        worker.join().unwrap();
    });
}

#[test]
fn a_job_for_one_worker_is_not_overlooked() {
    check_one_sleeper(|scene| scene.sleep.new_job_for(scene.sleep.worker(0).unwrap()));
}

/// Checks that `wake_any` has a fence of its own: callers need none after queueing.
#[test]
fn waking_any_worker_after_queueing_overlooks_none() {
    check_one_sleeper(|scene| {
        scene.sleep.wake_any(1);
    });
}

/// Models a sleeper, a searcher and a poster. The searcher finds a job in the first queue and leaves,
/// while the poster puts a job into the second queue and counts on the searcher if it reads the
/// counters early enough. One of the two must wake the sleeper.
#[test]
fn a_searcher_that_leaves_sees_the_job_that_a_poster_left_to_it() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let scene = Scene::new(2);
        let latch = CoreLatch::new();
        let [searcher, sleeper] = [0, 1].map(|index| scene.sleep.worker(index).unwrap());
        let searching = scene.sleep.start_looking(searcher);
        let mut idle = scene.sleep.start_looking(sleeper);
        scene.sleep.no_work_found(&mut idle, &latch, || false);
        scene.sleep.no_work_found(&mut idle, &latch, || {
            let searcher = {
                let scene = scene.clone();
                thread::spawn(move || scene.sleep.work_found(searching, || scene.has_work()))
            };
            scene.queues[1].store(1, Relaxed);
            scene.sleep.new_injected_jobs(1, true);
            searcher.join().unwrap();
            assert_eq!(scene.sleep.counters().sleeping(), 0);
            true
        });
        scene.sleep.work_found(idle, || false);
    });
}
