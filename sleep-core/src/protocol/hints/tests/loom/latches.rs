//! Latches that are set beside notifications.

use super::*;

/// Sets a latch while its waiter is anywhere on its way to sleep: in its first attempt, or
/// registered since an earlier one.
fn check_latch(attempts_before: usize) {
    check(3, move || {
        let scene = Scene::new(1);
        let latch = Arc::new(CoreLatch::new());
        let waiter = {
            let (scene, latch) = (scene.clone(), latch.clone());
            thread::spawn(move || {
                let mut idle = scene.start(0);
                for _ in 0..attempts_before {
                    scene.sleep.no_work_found(&mut idle, &latch, || true);
                }
                while !latch.probe() {
                    scene.sleep.no_work_found(&mut idle, &latch, || false);
                }
                scene.sleep.work_found(idle, || false);
                assert_eq!(scene.sleep.sleepers(), 0);
            })
        };
        let worker = scene.sleep.worker(0).unwrap();
        // SAFETY: 1. and 3. the test holds both; 2. only that worker waits, 4. for this.
        unsafe { set_latch(&scene.sleep, &*latch, worker) };
        waiter.join().unwrap();
    });
}

#[test]
fn a_latch_is_set_against_every_step() {
    check_latch(0);
}

#[test]
fn a_latch_is_set_against_every_step_of_a_registered_worker() {
    check_latch(1);
}

/// A latch and a notification for one worker: it leaves, and the notification reaches the other
/// one.
#[test]
fn a_notification_of_a_worker_whose_latch_is_set_reaches_another_one() {
    check(2, || {
        let scene = Scene::new(2);
        scene.sleep_while(1, || {
            let latch = Arc::new(CoreLatch::new());
            let waiter = {
                let (scene, latch) = (scene.clone(), latch.clone());
                thread::spawn(move || {
                    let mut idle = scene.start(0);
                    while !latch.probe() {
                        // It does not take the job, so it would search without end.
                        scene.sleep.no_work_found(&mut idle, &latch, || false);
                    }
                    scene.sleep.work_found(idle, || scene.has_work());
                })
            };
            let notifier = {
                let scene = scene.clone();
                thread::spawn(move || {
                    scene.queues[0].store(1, Relaxed);
                    scene.sleep.announce(NewJobs::injected(1, true));
                })
            };
            let worker = scene.sleep.worker(0).unwrap();
            // SAFETY: 1. and 3. the test holds both; 2. only that worker waits, 4. for this.
            unsafe { set_latch(&scene.sleep, &*latch, worker) };
            notifier.join().unwrap();
            waiter.join().unwrap();
            assert!(!scene.is_asleep(1), "the sleeper was woken");
            assert!(scene.sleep.sleepers() <= 0, "no worker is registered");
            assert!(scene.sleep.slots()[0].claim().is_none());
        });
    });
}
