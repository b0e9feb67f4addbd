//! Two workers that sleep as early as they may, and a poster outside; and steps against each other.

use ::loom::{model::Builder, thread};

use super::*;
use crate::{
    Relax, Searchers,
    testing::model::{Scene, check_pool, check_sleepers},
};

#[test]
fn one_worker_one_poster() {
    check_pool::<TestJec>(3, 1, &[1]);
}

/// With one forced switch of threads less than the model of one post. It shows what posting again
/// adds: that the worker sleeps again.
#[test]
fn one_worker_two_posts() {
    check_pool::<TestJec>(2, 1, &[1, 1]);
}

#[test]
fn two_workers_one_poster_jec_of_one_bit() {
    check_pool::<TestJec<JecOfOneBit>>(2, 2, &[1]);
}

/// With one forced switch of threads less than the model of one bit. It shows what another width
/// adds: values of the counter that are neither the first nor the last.
#[test]
fn two_workers_one_poster_jec_of_two_bits() {
    check_pool::<TestJec<JecOfTwoBits>>(1, 2, &[1]);
}

/// With one forced switch of threads less than the model of one job, or it takes longer than all
/// others. It shows what posting two adds: that both are done, and that the workers that are woken
/// for them sleep again.
#[test]
fn two_workers_two_jobs_at_once() {
    check_pool::<TestJec<JecOfOneBit>>(1, 2, &[2]);
}

/// Models two workers of which one at a time may search. Both run out of work while a job is
/// posted, so the one that comes second sleeps at once. The poster may have counted on it, and the
/// first one may have left.
#[test]
fn one_searcher_at_a_time_and_two_workers_without_work() {
    let policy = IdlePolicy::new(1, 1, Relax::Spin(0)).with_max_searchers(Searchers::ONE);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let scene = Scene::<TestJec>::with_policy(2, policy);
        let workers = [0, 1].map(|index| {
            let scene = scene.clone();
            thread::spawn(move || {
                let latch = CoreLatch::new();
                let mut idle = scene
                    .sleep
                    .start_looking(scene.sleep.worker(index).unwrap(), Purpose::Job);
                while !scene.has_work() {
                    scene
                        .sleep
                        .no_work_found(&mut idle, &latch, || scene.has_work());
                }
                scene.sleep.work_found(idle, || scene.has_work());
            })
        });
        scene.queue(0);
        scene.sleep.announce(NewJobs::injected(1, true));
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_job_for_one_worker_is_not_overlooked() {
    check_sleepers::<TestJec>(3, 1, |scene| {
        scene.sleep.announce_for([scene.sleep.worker(0).unwrap()]);
    });
}

/// Checks that one fence is enough for the jobs of two workers.
#[test]
fn jobs_for_two_workers_are_not_overlooked() {
    check_sleepers::<TestJec>(2, 2, |scene| {
        let worker = |index| scene.sleep.worker(index).unwrap();
        scene.sleep.announce_for([worker(0), worker(1)]);
    });
}

/// Checks that a waker finds the bit of a worker that may have overlooked its job.
#[test]
fn waking_any_worker_after_queueing_overlooks_none() {
    check_sleepers::<TestJec>(3, 1, |scene| {
        wake_any(&scene.sleep, 1);
    });
}

/// Models a worker that is woken for a job of its own and falls asleep again, while another thread
/// posts a job that any worker may run. The first waker must not take back what the worker says
/// about its second sleep.
#[test]
fn a_waker_leaves_the_next_sleep_alone() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let scene = Scene::<TestJec>::new(1);
        let sleeper = {
            let scene = scene.clone();
            thread::spawn(move || scene.run_until(0, |scene| scene.holds_job(1)))
        };
        let waker = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.queue(0);
                scene.sleep.announce_for([scene.sleep.worker(0).unwrap()]);
            })
        };
        scene.queue(1);
        wake_any(&scene.sleep, 1);
        sleeper.join().unwrap();
        waker.join().unwrap();
    });
}

/// Models a sleeper, a searcher and a poster. The searcher finds a job in the first queue and
/// leaves, while the poster puts a job into the second queue and counts on the searcher if it reads
/// the counters early enough. One of the two must wake the sleeper.
#[test]
fn a_searcher_that_leaves_sees_the_job_that_a_poster_left_to_it() {
    check_job_left_to_a_searcher(true);
}

/// As above, with a backlog: then the poster counts on the searcher because no more workers are
/// woken at a time.
#[test]
fn a_searcher_that_leaves_sees_the_backlog_that_a_poster_left_to_it() {
    check_job_left_to_a_searcher(false);
}

fn check_job_left_to_a_searcher(queue_was_empty: bool) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let scene = Scene::<TestJec>::new(2);
        let latch = CoreLatch::new();
        let [searcher, sleeper] = [0, 1].map(|index| scene.sleep.worker(index).unwrap());
        let searching = scene.sleep.start_looking(searcher, Purpose::Job);
        let mut idle = scene.sleep.start_looking(sleeper, Purpose::Job);
        scene.sleep.no_work_found(&mut idle, &latch, || false);
        scene.sleep.no_work_found(&mut idle, &latch, || {
            let searcher = {
                let scene = scene.clone();
                thread::spawn(move || scene.sleep.work_found(searching, || scene.has_work()))
            };
            scene.queue(1);
            scene.sleep.announce(NewJobs::injected(1, queue_was_empty));
            searcher.join().unwrap();
            assert_eq!(scene.sleep.counters().sleeping(), 0);
            true
        });
        scene.sleep.work_found(idle, || false);
    });
}

#[test]
fn a_process_fence_in_the_last_look_leaves_no_job_overlooked() {
    crate::testing::model::check_process_fence::<TestJec>(3);
}
