//! No request is lost, and no thread waits without end.

use super::*;

/// Reproduces OTP-16870: all threads go to sleep at once, each with an operation that waits for
/// progress.
#[test]
fn all_threads_sleep_at_once() {
    model(2, || {
        let scene = Scene::new(2);
        fn sleep(scene: &Scene) {
            let tally = StdArc::new(Tally::new(0));
            let mut this = scene.progress.register().unwrap();
            this.activate().schedule(counting(&tally));
            while this.pending() > 0 {
                this.wait();
            }
            assert_eq!(tally.load(SeqCst), 1);
        }
        let other = Scene::run(&scene, sleep);
        sleep(&scene);
        other.join().unwrap();
    });
}

/// Lets a leader go to wait while another thread relies on it.
#[test]
fn leader_hand_over() {
    model(2, || {
        let scene = Scene::new(2);
        let leader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let mut active = this.activate();
            if active.update() {
                active.leader_update();
            }
        });
        let mut this = scene.progress.register().unwrap();
        let value = this.activate().later();
        this.wait_for(value);
        leader.join().unwrap();
    });
}

/// Ends a delay while a thread waits for what it delayed.
#[test]
fn the_end_of_a_delay_wakes() {
    the_end_wakes(|scene| drop(scene.progress.delay()));
}

#[test]
fn the_end_of_a_counted_delay_wakes() {
    the_end_wakes(|scene| drop(scene.progress.delay_counted()));
}

/// Both delays may stand in the way, and the leader sees only one of them.
#[test]
fn the_ends_of_two_delays_wake() {
    the_end_wakes(|scene| {
        let first = scene.progress.delay();
        let second = scene.progress.delay();
        drop(first);
        drop(second);
    });
}

fn the_end_wakes(delay: fn(&Scene)) {
    model(3, move || {
        let scene = Scene::new(1);
        let delaying = Scene::run(&scene, delay);
        let mut this = scene.progress.register().unwrap();
        let value = scene.progress.later();
        this.wait_for(value);
        delaying.join().unwrap();
    });
}

/// Waits, on a thread that is not managed, for what another thread delays.
#[test]
fn any_thread_waits() {
    model(3, || {
        let scene = Scene::new(0);
        let delaying = Scene::run(&scene, |scene| drop(scene.progress.delay()));
        let value = scene.progress.later();
        scene.progress.wait_for(value, &TestParker::new());
        delaying.join().unwrap();
    });
}

/// Lets two threads that are not managed wait, each perhaps while the other one leads.
#[test]
fn two_threads_that_are_not_managed_wait() {
    model(2, || {
        let scene = Scene::new(0);
        fn wait(scene: &Scene) {
            let value = scene.progress.later();
            scene.progress.wait_for(value, &TestParker::new());
        }
        let other = Scene::run(&scene, wait);
        wait(&scene);
        other.join().unwrap();
    });
}

/// Runs a scene in which an unmanaged thread schedules while another one stands in the way, or
/// leads to poll a value. When both have ended, the operation is due: the last one has made
/// progress.
fn an_operation_is_due_in_the_end(preemptions: usize, participants: usize, other: fn(&Scene)) {
    model(preemptions, move || {
        let scene = Scene::new(participants);
        let tally = StdArc::new(Tally::new(0));
        let other = Scene::run(&scene, other);
        scene.progress.schedule(counting(&tally));
        other.join().unwrap();
        scene.progress.run_reached();
        assert_eq!(tally.load(SeqCst), 1);
    });
}

#[test]
fn an_operation_and_a_delay() {
    an_operation_is_due_in_the_end(3, 0, |scene| drop(scene.progress.delay()));
}

#[test]
fn an_operation_and_a_counted_delay() {
    an_operation_is_due_in_the_end(3, 0, |scene| drop(scene.progress.delay_counted()));
}

#[test]
fn an_operation_and_an_active_thread() {
    an_operation_is_due_in_the_end(2, 1, |scene| {
        let mut this = scene.progress.register().unwrap();
        let mut active = this.activate();
        let _ = active.update();
        active.leader_update();
    });
}

#[test]
fn an_operation_and_a_thread_that_polls() {
    an_operation_is_due_in_the_end(2, 0, |scene| {
        let value = scene.progress.later();
        scene.progress.has_reached(value);
    });
}

#[test]
fn two_operations() {
    static RUNS: Tally = Tally::new(0);
    model(2, || {
        RUNS.store(0, SeqCst);
        let scene = Scene::new(0);
        fn schedule(scene: &Scene) {
            scene.progress.defer(|| {
                RUNS.fetch_add(1, SeqCst);
            });
        }
        let other = Scene::run(&scene, schedule);
        schedule(&scene);
        other.join().unwrap();
        scene.progress.run_reached();
        assert_eq!(RUNS.load(SeqCst), 2);
    });
}

/// Ends a thread that has an operation, while another thread waits for its own.
#[test]
fn operations_are_left_behind() {
    model(2, || {
        let scene = Scene::new(2);
        let tally = StdArc::new(Tally::new(0));
        let mut this = scene.progress.register().unwrap();
        let leaver = {
            let (scene, tally) = (scene.clone(), tally.clone());
            thread::spawn(move || {
                let mut this = scene.progress.register().unwrap();
                this.schedule(counting(&tally));
            })
        };
        while tally.load(SeqCst) == 0 {
            this.wait();
            thread::yield_now();
        }
        leaver.join().unwrap();
    });
}
