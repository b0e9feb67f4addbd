//! Workers that sleep as early as they may, and posters. A lost wake-up is a deadlock, which loom
//! reports.

use ::loom::{
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::*;
use crate::{
    primitive::Ordering::Relaxed,
    set_latch,
    testing::{
        TestHints, TestProtocol,
        model::{check_pool, check_process_fence},
    },
};

mod latches;

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

#[test]
fn one_worker_one_poster() {
    check_pool::<TestHints>(3, 1, &[1, 1]);
}

#[test]
fn two_workers_one_poster() {
    check_pool::<TestHints>(2, 2, &[1]);
}

/// With one forced switch of threads less than the model of one job, or it takes longer than all
/// others. It shows what posting two adds: that both are done, and that the workers that are woken
/// for them sleep again.
#[test]
fn two_workers_two_jobs_at_once() {
    check_pool::<TestHints>(1, 2, &[2]);
}

/// A pool whose queues are two numbers, which order nothing, and whose workers are played by tests.
struct Scene {
    sleep: TestHints,
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

    fn take(&self) -> bool {
        let take = |queue: &AtomicUsize| {
            let less = |jobs: usize| jobs.checked_sub(1);
            queue.fetch_update(Relaxed, Relaxed, less).is_ok()
        };
        self.queues.iter().any(take)
    }

    fn start(&self, index: usize) -> IdleState {
        self.sleep
            .start_looking(self.sleep.worker(index).unwrap(), Purpose::Job)
    }

    /// Plays a worker that ends with the first job that it gets, and sleeps until then. Its last
    /// look says what `look` says.
    fn run_one(&self, index: usize, look: fn(&Self) -> bool) {
        let latch = CoreLatch::new();
        let mut idle = self.start(index);
        while !self.take() {
            self.sleep.no_work_found(&mut idle, &latch, || look(self));
        }
        self.sleep.work_found(idle, || self.has_work());
    }

    /// Plays a worker that sleeps while a test goes on, until it is sure to be awake.
    fn sleep_while(&self, index: usize, test: impl FnOnce()) {
        let latch = CoreLatch::new();
        let mut idle = self.start(index);
        self.sleep.no_work_found(&mut idle, &latch, || {
            test();
            true
        });
        self.sleep.work_found(idle, || false);
    }

    fn is_asleep(&self, index: usize) -> bool {
        self.sleep.slots()[index].is_asleep()
    }
}

/// Models one worker that falls asleep while a caller queues a job and announces it by `post`.
fn check_one_sleeper(prepare: fn(&Scene), look: fn(&Scene) -> bool, post: fn(&Scene)) {
    check(3, move || {
        let scene = Scene::new(1);
        prepare(&scene);
        let worker = {
            let scene = scene.clone();
            thread::spawn(move || scene.run_one(0, look))
        };
        scene.queues[0].store(1, Relaxed);
        post(&scene);
        worker.join().unwrap();
    });
}

/// The notification comes before the sleeper or after it. The worker's last look sees nothing, so
/// only the negative count keeps it awake in the first case, and shows it the job.
#[test]
fn a_notification_that_comes_before_its_sleeper_is_not_lost() {
    check_one_sleeper(
        |_| (),
        |_| false,
        |scene| scene.sleep.notify_anywhere(1, Hint::Unknown),
    );
}

#[test]
fn a_notification_from_inside_after_a_fence_is_not_lost() {
    check_one_sleeper(
        |_| (),
        Scene::has_work,
        |scene| {
            fence(Ordering::SeqCst);
            scene.sleep.notify(1, Hint::Unknown);
        },
    );
}

#[test]
fn a_job_for_one_worker_is_not_overlooked() {
    check_one_sleeper(
        |_| (),
        Scene::has_work,
        |scene| scene.sleep.announce_for([scene.sleep.worker(0).unwrap()]),
    );
}

#[test]
fn jobs_for_several_workers_need_one_fence() {
    check_one_sleeper(
        |_| (),
        Scene::has_work,
        |scene| {
            scene.sleep.announce_for(scene.sleep.worker(0));
        },
    );
}

#[test]
fn a_full_channel_loses_no_wake_up() {
    check_one_sleeper(
        |scene| scene.sleep.slots()[0].channel().jam(),
        |_| false,
        |scene| scene.sleep.notify_anywhere(1, Hint::Injector),
    );
}

/// Begins with as many notifications as there are workers, so that the poster may change nothing.
#[test]
fn a_post_at_saturation_is_not_lost() {
    check_one_sleeper(
        |scene| scene.sleep.notify_anywhere(1, Hint::Unknown),
        Scene::has_work,
        |scene| scene.sleep.announce(NewJobs::injected(1, true)),
    );
}

/// Two notifiers with a job each, a worker that sleeps, and one that is on its way to sleep. That
/// one takes one job and ends, so the sleeper must be woken for the other job, by a notifier or by
/// that worker.
#[test]
fn two_notifiers_reach_two_workers() {
    check(2, || {
        let scene = Scene::new(2);
        scene.sleep_while(1, || {
            let worker = {
                let scene = scene.clone();
                thread::spawn(move || scene.run_one(0, Scene::has_work))
            };
            let notifier = {
                let scene = scene.clone();
                thread::spawn(move || {
                    scene.queues[1].store(1, Relaxed);
                    scene.sleep.announce(NewJobs::injected(1, true));
                })
            };
            scene.queues[0].store(1, Relaxed);
            scene.sleep.announce(NewJobs::injected(1, true));
            notifier.join().unwrap();
            worker.join().unwrap();
            assert!(!scene.is_asleep(1), "the sleeper was woken");
        });
    });
}

#[test]
fn two_notifiers_wake_one_sleeper() {
    check(2, || {
        let scene = Scene::new(1);
        let worker = {
            let scene = scene.clone();
            thread::spawn(move || (0..2).for_each(|_| scene.run_one(0, Scene::has_work)))
        };
        let notifier = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.queues[1].store(1, Relaxed);
                scene.sleep.announce(NewJobs::injected(1, true));
            })
        };
        scene.queues[0].store(1, Relaxed);
        scene.sleep.announce(NewJobs::injected(1, true));
        notifier.join().unwrap();
        worker.join().unwrap();
    });
}

/// One worker sleeps. Another one is on its way to sleep when a notifier takes the unit of the
/// first one and may claim the second one, which has not counted itself; and when a poster leaves
/// some notifications, which the second worker may consume too. The first one must stay counted.
fn check_notifications_for_one_worker(count: usize) {
    check(3, move || {
        let scene = Scene::new(2);
        scene.sleep_while(1, || {
            let second = {
                let scene = scene.clone();
                thread::spawn(move || {
                    let mut idle = scene.start(0);
                    let latch = CoreLatch::new();
                    scene.sleep.no_work_found(&mut idle, &latch, || true);
                    scene.sleep.work_found(idle, || false);
                })
            };
            let notifier = {
                let scene = scene.clone();
                thread::spawn(move || scene.sleep.notify(1, Hint::Unknown))
            };
            scene.sleep.notify_anywhere(count, Hint::Unknown);
            notifier.join().unwrap();
            second.join().unwrap();
            assert!(!scene.is_asleep(1) || scene.sleep.sleepers() == 1);
        });
    });
}

#[test]
fn two_notifications_for_one_worker_leave_the_other_one_counted() {
    check_notifications_for_one_worker(1);
}

#[test]
fn three_notifications_for_one_worker_leave_the_other_one_counted() {
    check_notifications_for_one_worker(2);
}

/// One worker sleeps, another one is about to, and its latch is set. A notifier that has taken the
/// sleeper's unit for the other worker finds the count at zero, and takes all for awake. Then the
/// sleeper must be woken, or the other worker must have its last look after that.
#[test]
fn a_set_latch_leaves_no_sleeper_that_was_missing_from_the_count() {
    check(3, || {
        let scene = Scene::new(2);
        scene.sleep_while(1, || {
            let latch = Arc::new(CoreLatch::new());
            let second = {
                let (scene, latch) = (scene.clone(), latch.clone());
                thread::spawn(move || {
                    let mut idle = scene.start(0);
                    let mut has_looked = false;
                    scene.sleep.no_work_found(&mut idle, &latch, || {
                        has_looked = true;
                        true
                    });
                    scene.sleep.work_found(idle, || false);
                    has_looked
                })
            };
            scene.sleep.notify(1, Hint::Unknown);
            let all_seem_awake = scene.sleep.all_are_awake();
            let worker = scene.sleep.worker(0).unwrap();
            // SAFETY: 1. and 3. the model holds both; 2. only that worker waits; 4. for this.
            unsafe { set_latch(&scene.sleep, &raw const *latch, worker) };
            let has_looked = second.join().unwrap();
            assert!(!all_seem_awake || has_looked || !scene.is_asleep(1));
        });
    });
}

/// One worker sleeps. Another one is registered and leaves with work, while a notifier may claim
/// it. The notification must reach the sleeper, and the count must be exact afterwards.
#[test]
fn a_worker_that_withdraws_passes_its_notification_on() {
    check(3, || {
        let scene = Scene::new(2);
        scene.sleep_while(1, || {
            let mut idle = scene.start(0);
            scene
                .sleep
                .no_work_found(&mut idle, &CoreLatch::new(), || true);
            assert_eq!(scene.sleep.sleepers(), 2, "both are registered");
            let leaver = {
                let scene = scene.clone();
                thread::spawn(move || scene.sleep.work_found(idle, || scene.has_work()))
            };
            scene.queues[0].store(1, Relaxed);
            scene.sleep.announce(NewJobs::injected(1, true));
            leaver.join().unwrap();
            assert!(!scene.is_asleep(1), "the sleeper was woken");
            assert!(scene.sleep.sleepers() <= 0, "no worker is registered");
            assert!(scene.sleep.slots()[0].claim().is_none());
        });
    });
}

/// The only registered worker leaves with work while a notifier holds its unit: whichever of the
/// two comes first, no registration is left and no unit.
#[test]
fn a_registration_that_is_left_to_a_notifier_is_discarded() {
    check(3, || {
        let scene = Scene::new(1);
        let mut idle = scene.start(0);
        scene
            .sleep
            .no_work_found(&mut idle, &CoreLatch::new(), || true);
        let leaver = {
            let scene = scene.clone();
            thread::spawn(move || scene.sleep.work_found(idle, || false))
        };
        scene.sleep.notify(1, Hint::Unknown);
        leaver.join().unwrap();
        assert_eq!(scene.sleep.sleepers(), 0);
        assert!(scene.sleep.slots()[0].claim().is_none());
    });
}

#[test]
fn a_process_fence_in_the_last_look_leaves_no_job_overlooked() {
    check_process_fence::<TestHints>(3);
}
