use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use progress_core::Operation;

use super::*;
use crate::{ThreadPoolBuilder, current_thread_index};

/// What a thread that ends has spawned and not run is run by the others, and by them only.
#[test]
fn a_thread_that_ends_leaves_its_jobs_to_others() {
    let (sender, receiver) = mpsc::channel();
    let other_goes_on = Arc::new(Barrier::new(2));
    let barrier = other_goes_on.clone();
    let pool = thread::spawn(move || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .build()
            .unwrap();
        let (began, has_begun) = mpsc::channel();
        pool.spawn(move || {
            began.send(()).unwrap();
            barrier.wait();
        });
        has_begun.recv().unwrap();
        pool.spawn(move || sender.send(current_thread_index()).unwrap());
        pool
    })
    .join()
    .unwrap();
    assert!(
        receiver.try_recv().is_err(),
        "nothing runs while a thread ends"
    );
    other_goes_on.wait();
    assert_eq!(receiver.recv().unwrap(), Some(1));
    pool.shutdown().unwrap();
}

/// The others sleep, and are woken for what is left to them.
#[test]
fn a_thread_that_ends_leaves_its_operations_to_others() {
    static HAS_RUN: AtomicBool = AtomicBool::new(false);
    let pool = thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .build()
            .unwrap();
        // SAFETY: 1. it is used at once.
        let worker = unsafe { WorkerThread::current() }.unwrap();
        while worker.registry().num_sleeping() == 0 {
            thread::yield_now();
        }
        worker.schedule(Box::new(Operation::new(|| HAS_RUN.store(true, SeqCst))));
        pool
    })
    .join()
    .unwrap();
    while !HAS_RUN.load(SeqCst) {
        thread::yield_now();
    }
    pool.shutdown().unwrap();
}
