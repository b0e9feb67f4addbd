//! Futures that are woken before, during and after a wait.

use std::{
    future::poll_fn,
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use super::*;
use crate::{ThreadPool, ThreadPoolBuilder};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().unwrap()
}

/// A future that is pending so often, and gives its waker away each time.
fn pending(times: usize, give: impl Fn(Waker)) -> impl Future<Output = usize> {
    let mut polls = 0;
    poll_fn(move |context| {
        polls += 1;
        if polls > times {
            return Poll::Ready(polls);
        }
        give(context.waker().clone());
        Poll::Pending
    })
}

#[test]
fn a_future_that_wakes_itself_is_polled_again() {
    let itself = || pending(5, |waker| waker.wake_by_ref());
    assert_eq!(block_on(itself()), 6);
    assert_eq!(pool(1).install(|| block_on(itself())), 6);
}

#[test]
fn a_future_is_woken_by_other_threads() {
    const TIMES: usize = if cfg!(miri) { 5 } else { 500 };
    let (sender, receiver) = mpsc::channel::<Waker>();
    let waking = thread::spawn(move || receiver.iter().for_each(Waker::wake));
    let woken = || {
        let sender = sender.clone();
        block_on(pending(TIMES, move |waker| sender.send(waker).unwrap()))
    };
    assert_eq!(woken(), TIMES + 1);
    assert_eq!(pool(1).install(woken), TIMES + 1);
    drop(sender);
    waking.join().unwrap();
}

#[test]
fn a_worker_runs_the_jobs_that_its_future_waits_for() {
    let pool = pool(1);
    let count = Arc::new(AtomicUsize::new(0));
    let sum = pool.install(|| {
        block_on(async {
            let mut sum = 0;
            for number in 0..10 {
                let count = count.clone();
                let job = crate::spawn_handle(move || {
                    count.fetch_add(1, SeqCst);
                    number
                });
                sum += job.await.unwrap();
            }
            sum
        })
    });
    assert_eq!((sum, count.load(SeqCst)), (45, 10));
}

#[test]
fn waits_may_be_nested() {
    let pool = pool(2);
    let depth = |depth: u32| {
        fn nested(depth: u32) -> u32 {
            if depth == 0 {
                return 0;
            }
            1 + block_on(async move {
                crate::spawn_handle(move || nested(depth - 1))
                    .await
                    .unwrap()
            })
        }
        nested(depth)
    };
    assert_eq!(pool.install(|| depth(5)), 5);
}
