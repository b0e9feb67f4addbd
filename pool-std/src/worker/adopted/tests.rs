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

// The other workers run what a thread has spawned and not run when it ends.
#[test]
fn an_ending_thread_leaves_its_jobs_to_other_workers() {
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

// The other workers sleep, and wake up for what is left to them.
#[test]
fn an_ending_thread_leaves_its_operations_to_other_workers() {
    static HAS_RUN: AtomicBool = AtomicBool::new(false);
    let pool = thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .build()
            .unwrap();
        // SAFETY: 1. the reference is used at once.
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
