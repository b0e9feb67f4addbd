//! What the count of references publishes from one thread to another.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize as Tally, Ordering::Relaxed},
};

use ::loom::{cell::UnsafeCell, model, thread};

use super::super::*;
use crate::testing::{FEWEST_REFERENCES, Test, registry};

/// A pool, and what was done under each of two references.
struct Scene {
    registry: Arc<Registry<Test>>,
    done: [UnsafeCell<bool>; 2],
    /// Not an atomic of loom, so it orders nothing.
    was_called: AtomicBool,
}

// SAFETY: the count of references passes the cells from thread to thread, which loom checks.
unsafe impl Sync for Scene {}
// SAFETY: as above.
unsafe impl Send for Scene {}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            registry: registry(1),
            done: std::array::from_fn(|_| UnsafeCell::new(false)),
            was_called: AtomicBool::new(false),
        })
    }

    /// Writes something, and then makes the call.
    fn act(&self, index: usize, call: fn(&Registry<Test>)) {
        // SAFETY: other threads read only after they know about the call.
        self.done[index].with_mut(|done| unsafe { *done = true });
        call(&self.registry);
        self.was_called.store(true, Relaxed);
    }

    fn spawn(this: &Arc<Self>, call: fn(&Registry<Test>)) -> thread::JoinHandle<()> {
        let scene = this.clone();
        thread::spawn(move || scene.act(0, call))
    }

    fn assert_done(&self, index: usize) {
        // SAFETY: callers know that it was written, and nothing writes it again.
        self.done[index].with(|done| assert!(unsafe { *done }));
    }
}

/// Models two threads that remove the last two references. A worker that is requested to stop sees
/// what both did.
#[test]
fn a_worker_ends_after_what_was_done_under_any_reference() {
    model(|| {
        let scene = Scene::new();
        scene.registry.add_reference();
        let other = Scene::spawn(&scene, Registry::remove_reference);
        let worker = {
            let scene = scene.clone();
            thread::spawn(move || {
                while !scene.registry.workers()[0].terminate.probe() {
                    thread::yield_now();
                }
                scene.assert_done(0);
                scene.assert_done(1);
            })
        };
        scene.act(1, Registry::remove_reference);
        other.join().unwrap();
        worker.join().unwrap();
    });
}

#[test]
fn a_thread_that_sees_the_end_sees_what_was_done_before() {
    static SEEN: Tally = Tally::new(0);
    model(|| {
        let scene = Scene::new();
        let other = Scene::spawn(&scene, Registry::remove_reference);
        // Loom does not see for itself that the other thread may have finished before the load.
        thread::yield_now();
        if !scene.registry.has_references() {
            scene.assert_done(0);
            SEEN.fetch_add(1, Relaxed);
        }
        other.join().unwrap();
    });
    assert!(SEEN.load(Relaxed) > 0, "a late look was explored");
}

#[test]
fn a_new_beginning_comes_after_the_end() {
    static SEEN: Tally = Tally::new(0);
    model(|| {
        let scene = Scene::new();
        let other = Scene::spawn(&scene, Registry::remove_reference);
        thread::yield_now();
        let has_ended = scene.was_called.load(Relaxed);
        scene.registry.renew_reference();
        if has_ended {
            scene.assert_done(0);
            SEEN.fetch_add(1, Relaxed);
        }
        other.join().unwrap();
    });
    assert!(SEEN.load(Relaxed) > 0, "a late call was explored");
}

#[test]
fn a_worker_of_a_renewed_pool_sees_what_was_done_before() {
    static SEEN: Tally = Tally::new(0);
    model(|| {
        let scene = Scene::new();
        scene.registry.remove_reference();
        let other = Scene::spawn(&scene, Registry::renew_reference);
        thread::yield_now();
        if scene.registry.has_references() {
            scene.assert_done(0);
            SEEN.fetch_add(1, Relaxed);
        }
        other.join().unwrap();
    });
    assert!(SEEN.load(Relaxed) > 0, "a late look was explored");
}

/// Models a thread that waits until its reference and the owner's are the only ones. It sees that
/// they are, or the thread that removes the last other one is notified.
#[test]
fn a_watcher_overlooks_no_removal() {
    static SEEN: Tally = Tally::new(0);
    static TOLD: Tally = Tally::new(0);
    model(|| {
        FEWEST_REFERENCES.set(usize::MAX);
        let scene = Scene::new();
        scene.registry.add_reference();
        let other = Scene::spawn(&scene, |registry| {
            // A job that spawns another one.
            registry.add_reference();
            registry.remove_reference();
            registry.remove_reference();
        });
        scene.registry.add_reference();
        scene.registry.watch();
        let is_idle = scene.registry.num_references() == 2;
        if is_idle {
            scene.assert_done(0);
            SEEN.fetch_add(1, Relaxed);
        }
        other.join().unwrap();
        if !is_idle {
            assert_eq!(FEWEST_REFERENCES.get(), 2);
            TOLD.fetch_add(1, Relaxed);
        }
        scene.registry.unwatch();
        assert_eq!(scene.registry.num_references(), 2);
        scene.registry.remove_reference();
        assert!(scene.registry.has_references());
        scene.registry.remove_reference();
        assert!(!scene.registry.has_references());
    });
    assert!(SEEN.load(Relaxed) > 0, "a late look was explored");
    assert!(TOLD.load(Relaxed) > 0, "an early look was explored");
}
