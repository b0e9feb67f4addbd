//! Small scenes with two to four preemptions. Readers look at a loom cell: to free it too early is
//! a race that loom reports. To wait without end is a deadlock, which it reports too.

mod readers;
mod requests;

use ::loom::{
    cell::UnsafeCell,
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::*;
use sleep_primitives::Ordering::Relaxed;

fn model(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(scene);
}

/// A structure of one element, which is replaced once.
struct Scene {
    progress: TestProgress,
    /// Which of the elements is in reach.
    reachable: AtomicUsize,
    elements: [UnsafeCell<usize>; 2],
}

impl Scene {
    fn new(participants: usize) -> Arc<Self> {
        Arc::new(Self {
            progress: progress(participants),
            reachable: AtomicUsize::new(0),
            elements: [UnsafeCell::new(1), UnsafeCell::new(1)],
        })
    }

    /// Reads the element that is in reach. The caller holds a guard.
    fn read(&self) {
        let index = self.reachable.load(Relaxed);
        // SAFETY: the element is freed only when progress has been made.
        self.elements[index].with(|element| assert_eq!(unsafe { *element }, 1));
    }

    /// Puts the other element in reach.
    fn replace(&self) {
        self.reachable.store(1, Relaxed);
    }

    /// Frees the first element.
    fn free(&self) {
        // SAFETY: the element is out of reach, and progress has been made.
        self.elements[0].with_mut(|element| unsafe { *element = 0 });
    }

    fn run(this: &Arc<Self>, body: fn(&Self)) -> thread::JoinHandle<()> {
        let scene = this.clone();
        thread::spawn(move || body(&scene))
    }

    fn replace_and_free(&self) {
        let mut this = self.progress.register().unwrap();
        self.replace();
        let value = self.progress.later();
        this.wait_for(value);
        self.free();
    }
}
