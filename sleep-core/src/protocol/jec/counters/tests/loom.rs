//! What a worker knows that gets sleepy after a post: that post's job. No fence takes part, as for
//! jobs that a worker queues on its own deque.

use std::sync::atomic::{AtomicUsize as Tally, Ordering::Relaxed};

use ::loom::{
    model,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::super::*;

/// The jobs event counter rolls over at every second change.
const ONE_BIT: Widths = Widths::new(3, 1);

/// A pool whose only queue is a number.
struct Scene {
    counters: AtomicCounters,
    queued: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Self> {
        Self::with(Widths::DEFAULT)
    }

    /// Begins where a worker has got sleepy: the counter is zero, and the next post changes it.
    fn with(widths: Widths) -> Arc<Self> {
        let counters = AtomicCounters::new(widths);
        counters.make_jec_sleepy();
        Arc::new(Self {
            counters,
            queued: AtomicUsize::new(0),
        })
    }

    fn post(&self) {
        self.queued.store(1, Ordering::Relaxed);
        self.counters.increment_jec_if_sleepy();
    }

    fn get_sleepy(&self) -> JobsEventCounter {
        self.counters.make_jec_sleepy()
    }

    fn sees_job(&self) -> bool {
        self.queued.load(Ordering::Relaxed) == 1
    }
}

/// Models one worker that gets sleepy while others do something that contains a post. If the
/// counter, as that worker remembers it, says that this came after the post, the job must be
/// visible.
fn check(prepare: fn(&Scene), others: fn(&Scene), after_the_post: Word) {
    let seen = std::sync::Arc::new(Tally::new(0));
    let tally = seen.clone();
    model(move || {
        let scene = Scene::new();
        prepare(&scene);
        // This thread plays the others: loom tries first what comes late in a thread that is
        // spawned. Letting the others pass by a yield would show the worker all that they
        // did.
        let worker = {
            let (scene, tally) = (scene.clone(), tally.clone());
            thread::spawn(move || {
                if scene.get_sleepy().0 == after_the_post {
                    assert!(scene.sees_job());
                    tally.fetch_add(1, Relaxed);
                }
            })
        };
        others(&scene);
        worker.join().unwrap();
    });
    assert!(seen.load(Relaxed) > 0, "coming later was explored");
}

#[test]
fn getting_sleepy_after_a_post_shows_its_job() {
    check(|_| (), Scene::post, 2);
}

/// Models another worker that got sleepy in between: the value is that worker's, and still
/// publishes the job.
#[test]
fn getting_sleepy_together_shows_the_job_too() {
    let others = |scene: &Scene| {
        scene.post();
        scene.get_sleepy();
    };
    check(|_| (), others, 2);
}

/// Models an exchange to make the counter even that finds it even, since others did so after
/// another post.
#[test]
fn failing_to_make_the_counter_even_shows_the_job_too() {
    let prepare = |scene: &Scene| {
        scene.counters.increment_jec_if_sleepy();
    };
    let others = |scene: &Scene| {
        scene.get_sleepy();
        scene.post();
        scene.get_sleepy();
    };
    check(prepare, others, 4);
}

/// Models a counter that has come round between the load and the exchange.
#[test]
fn getting_sleepy_a_lap_later_shows_the_job_too() {
    model(|| {
        let scene = Scene::with(ONE_BIT);
        scene.counters.increment_jec_if_sleepy();
        let worker = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.get_sleepy();
                scene.sees_job()
            })
        };
        scene.get_sleepy();
        scene.post();
        let sees_job = worker.join().unwrap();
        // The post makes the counter odd. If it is even, getting sleepy came later.
        if scene.counters.load().jec().is_sleepy() {
            assert!(sees_job);
        }
    });
}

/// Models a worker that registers as a sleeper while a post changes the jobs event counter. Between
/// its look at the counter and its count there may be the post; then the worker is not counted in
/// the end.
#[test]
fn a_worker_that_registers_after_a_post_takes_itself_back() {
    // How often the worker was counted, was not, and was seen by the poster but not counted in the
    // end.
    let tallies = std::sync::Arc::new([const { Tally::new(0) }; 3]);
    let seen = tallies.clone();
    model(move || {
        let scene = Scene::new();
        scene.counters.add_inactive_thread();
        let sleepy = scene.get_sleepy();
        let poster = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.post();
                scene.counters.load().sleeping()
            })
        };
        let registered = scene.counters.try_add_sleeping_thread(sleepy).is_ok();
        let seen_by_poster = poster.join().unwrap();
        assert_eq!(scene.counters.load().sleeping(), usize::from(registered));
        seen[usize::from(registered)].fetch_add(1, Relaxed);
        if !registered && seen_by_poster == 1 {
            seen[2].fetch_add(1, Relaxed);
        }
    });
    assert!(tallies.iter().all(|tally| tally.load(Relaxed) > 0));
}
