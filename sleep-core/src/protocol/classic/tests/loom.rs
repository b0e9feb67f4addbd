//! Sleepers against tickles, latches and jobs for one worker. A lost wake-up is a deadlock, which
//! loom reports.

use ::loom::{model::Builder, sync::Arc, thread};

use super::super::*;
use crate::set_latch;
use crate::testing::{
    TestClassic, TestProtocol,
    model::{Scene, check_pool, check_sleepers},
};

#[test]
fn one_worker_one_poster() {
    check_pool::<TestClassic>(3, 1, &[1, 1]);
}

/// With one forced switch of threads less than the models of each step, which catch what this one
/// would with more.
#[test]
fn two_workers_one_poster() {
    check_pool::<TestClassic>(1, 2, &[1]);
}

/// Models one worker on its whole way from awake to asleep, and a tickle from outside.
#[test]
fn a_sleepy_worker_against_a_tickle() {
    check_sleepers::<TestClassic>(3, 1, |scene| {
        scene.sleep.announce(NewJobs::injected(1, true))
    });
}

#[test]
fn two_sleepers_against_a_tickle() {
    check_sleepers::<TestClassic>(2, 2, |scene| {
        scene.sleep.announce(NewJobs::injected(1, true))
    });
}

/// Models two posters: the second one may find that the first has taken the state, and rely on it.
#[test]
fn a_sleeper_against_two_tickles() {
    check_sleepers::<TestClassic>(2, 1, |scene| {
        // The sleeper sees work when both have posted.
        scene.sleep.announce(NewJobs::injected(1, true));
        scene.sleep.announce(NewJobs::injected(1, true));
    });
}

#[test]
fn a_job_for_one_worker_is_not_overlooked() {
    check_sleepers::<TestClassic>(3, 1, |scene| {
        scene.sleep.announce_for([scene.sleep.worker(0).unwrap()]);
    });
}

#[test]
fn jobs_for_several_workers_need_one_fence() {
    check_sleepers::<TestClassic>(3, 1, |scene| {
        scene.sleep.announce_for(scene.sleep.worker(0));
    });
}

fn new(workers: usize) -> TestClassic {
    TestProtocol::new(workers, IdlePolicy::IMMEDIATE)
}

fn check(preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(scenario);
}

/// Models a worker that is asleep, or has its last look, and posters that announce their jobs
/// without a fence. One of them takes out that workers are asleep, and wakes it; the others rely on
/// that.
#[test]
fn an_asleep_worker_against_two_tickles() {
    check(3, || {
        let sleep = Arc::new(new(1));
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        let mut posters = None;
        sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
        sleep.no_work_found(&mut idle, &latch, || {
            posters = Some([(); 2].map(|()| {
                let sleep = sleep.clone();
                thread::spawn(move || sleep.announce(NewJobs::internal(1, || unreachable!())))
            }));
            false
        });
        sleep.work_found(idle, || false);
        for poster in posters.unwrap() {
            poster.join().unwrap();
        }
        assert!(sleep.all_are_awake());
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    });
}

/// Models a worker that is falling asleep while a tickle takes out that workers are asleep. If that
/// passes the worker over, the next tickle must wake it.
#[test]
fn a_worker_that_a_tickle_passes_over_is_woken_by_the_next_one() {
    check(3, || {
        let sleep = Arc::new(new(1));
        let latch = CoreLatch::new();
        let mut idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.no_work_found(&mut idle, &latch, || unreachable!("only gets sleepy"));
        let worker = {
            let sleep = sleep.clone();
            thread::spawn(move || {
                // Another worker has taken the jobs: the last look finds none.
                sleep.no_work_found(&mut idle, &latch, || false);
                sleep.work_found(idle, || false);
            })
        };
        sleep.announce(NewJobs::injected(1, true));
        while sleep.num_inactive() > 0 && sleep.num_sleeping() == 0 {
            thread::yield_now();
        }
        sleep.announce(NewJobs::injected(1, true));
        worker.join().unwrap();
    });
}

/// Models a worker that waits for a latch, on its whole way to sleep, and a thread that sets the
/// latch after it has done something else.
fn check_latch(preemptions: usize, before: fn(&TestClassic)) {
    check(preemptions, move || {
        let sleep = Arc::new(new(1));
        let latch = Arc::new(CoreLatch::new());
        let worker = sleep.worker(0).unwrap();
        let waiter = {
            let (sleep, latch) = (sleep.clone(), latch.clone());
            thread::spawn(move || {
                let mut idle = sleep.start_looking(worker, Purpose::Job);
                while !latch.probe() {
                    sleep.no_work_found(&mut idle, &latch, || false);
                }
                sleep.work_found(idle, || false);
            })
        };
        before(&sleep);
        // SAFETY: 1. and 3. this frame holds both; 2. only that worker waits on the latch, 4. for
        // this.
        unsafe { set_latch(&*sleep, &*latch, worker) };
        waiter.join().unwrap();
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
    });
}

#[test]
fn a_latch_against_every_step() {
    check_latch(3, |_| ());
}

#[test]
fn a_latch_after_a_tickle_against_every_step() {
    check_latch(3, |sleep| {
        sleep.announce(NewJobs::internal(1, || unreachable!()))
    });
}

/// Models two workers on their way to sleep. One is woken alone, for its job; the other one must
/// still be found by the tickle that comes then.
#[test]
fn a_worker_that_is_woken_alone_hides_no_other() {
    check(2, || {
        let scene = Scene::<TestClassic>::new(2);
        let [first, second] = [0, 1].map(|index| {
            let scene = scene.clone();
            thread::spawn(move || match index {
                0 => scene.run_until(index, |scene| scene.holds_job(0)),
                _ => scene.run_until(index, |scene| scene.holds_job(1)),
            })
        });
        scene.queue(0);
        scene.sleep.announce_for([scene.sleep.worker(0).unwrap()]);
        first.join().unwrap();
        scene.queue(1);
        scene.sleep.announce(NewJobs::injected(1, true));
        second.join().unwrap();
    });
}

#[test]
fn a_process_fence_in_the_last_look_leaves_no_job_overlooked() {
    crate::testing::model::check_process_fence::<crate::testing::TestClassic>(3);
}
