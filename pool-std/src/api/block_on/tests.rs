//! Futures that are woken before, during and after a wait.

use std::{
    future::poll_fn,
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::{ThreadPool, ThreadPoolBuilder, isolate};

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

/// The second poll does not wake the future, so that a call which counted twice would end the wait
/// before the other thread does.
#[test]
fn calls_between_two_polls_count_once() {
    let program = || {
        let (sender, receiver) = mpsc::channel::<Waker>();
        let is_woken = Arc::new(AtomicUsize::new(0));
        let waking = thread::spawn({
            let is_woken = is_woken.clone();
            move || {
                let waker = receiver.recv().unwrap();
                is_woken.store(1, SeqCst);
                waker.wake();
            }
        });
        let mut polls = 0;
        let future = poll_fn(|context| {
            polls += 1;
            match polls {
                1 => (0..3).for_each(|_| context.waker().wake_by_ref()),
                2 => sender.send(context.waker().clone()).unwrap(),
                _ => return Poll::Ready(is_woken.load(SeqCst)),
            }
            Poll::Pending
        });
        assert_eq!(block_on(future), 1);
        assert_eq!(polls, 3);
        waking.join().unwrap();
    };
    program();
    pool(1).install(program);
}

/// It belongs to no thread any more, and does not wake a later wait.
#[test]
fn a_waker_that_outlives_its_future_wakes_nothing() {
    let (sender, receiver) = mpsc::channel();
    let mut give = Some(sender);
    block_on(poll_fn(move |context| {
        let sender = give.take().unwrap();
        sender.send(context.waker().clone()).unwrap();
        Poll::Ready(())
    }));
    let waker: Waker = receiver.recv().unwrap();
    assert_eq!(
        block_on(pending(1, |other| {
            waker.wake_by_ref();
            assert!(!waker.will_wake(&other));
            other.wake();
        })),
        2
    );
    thread::spawn(move || waker.wake()).join().unwrap();
}

#[test]
fn a_panic_of_the_future_leaves_its_waker_valid() {
    let (sender, receiver) = mpsc::channel();
    let panics = || {
        block_on(poll_fn(|context| -> Poll<()> {
            sender.send(context.waker().clone()).unwrap();
            panic!("in a poll");
        }));
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
    assert!(result.is_err());
    receiver.recv().map(Waker::wake).unwrap();
}

/// The worker runs no other job in between.
#[test]
fn a_future_that_wakes_itself_in_an_isolated_call_is_polled_again() {
    let pool = pool(1);
    let runs = Arc::new(AtomicUsize::new(0));
    let seen = pool.install(|| {
        isolate(|| {
            let job_runs = runs.clone();
            crate::spawn(move || _ = job_runs.fetch_add(1, SeqCst));
            let polls = block_on(pending(5, |waker| waker.wake_by_ref()));
            (polls, runs.load(SeqCst))
        })
    });
    assert_eq!(seen, (6, 0));
    pool.wait_idle().unwrap();
    assert_eq!(runs.load(SeqCst), 1);
}

/// No other worker can run that job, so it is run in every wait.
#[test]
fn a_future_that_wakes_itself_in_an_isolated_call_delays_no_broadcast() {
    let pool = pool(1);
    let [is_polled, is_over] = [(); 2].map(|()| AtomicUsize::new(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            while is_polled.load(SeqCst) == 0 {
                thread::yield_now();
            }
            pool.broadcast(|_| ());
            is_over.store(1, SeqCst);
        });
        let limit = Instant::now() + Duration::from_secs(120);
        let itself = poll_fn(|context| {
            is_polled.store(1, SeqCst);
            context.waker().wake_by_ref();
            match is_over.load(SeqCst) == 1 || Instant::now() > limit {
                true => Poll::Ready(is_over.load(SeqCst)),
                false => Poll::Pending,
            }
        });
        assert_eq!(pool.install(|| isolate(|| block_on(itself))), 1);
    });
}
