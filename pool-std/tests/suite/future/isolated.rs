//! Futures that a worker joins which takes nothing from the pool's queues meanwhile.

use std::{hint::black_box, mem, sync::atomic::AtomicBool};

use pool_std::Isolation;

use super::*;

/// Each way in which a worker may be isolated.
pub(super) fn isolated_pools(workers: usize) -> [ThreadPool; 3] {
    let builder = || ThreadPoolBuilder::new().num_threads(workers).guests(true);
    [
        builder().build().unwrap(),
        builder().isolation(Isolation::Subtree).build().unwrap(),
        builder().isolation(Isolation::Nothing).build().unwrap(),
    ]
}

/// A worker that joins a future, and takes nothing from the pool's queues, polls the future when it
/// is woken.
#[test]
fn an_isolated_worker_polls_the_future_that_it_joins() {
    for pool in isolated_pools(1) {
        let event = Event::default();
        let join = || {
            pool_std::isolate(|| {
                let event = event.clone();
                let future = pool_std::spawn_future(async move {
                    event.wait().await;
                    1
                });
                future.join().unwrap()
            })
        };
        thread::scope(|threads| {
            threads.spawn(|| {
                event.wait_until_awaited();
                event.happen();
            });
            assert_eq!(pool.install(join), 1);
        });
        // Now the event has happened, and a guest joins.
        assert_eq!(pool.call(join), 1);
    }
}

#[test]
fn an_isolated_worker_joins_a_future_that_wakes_itself() {
    for pool in isolated_pools(1) {
        let rounds = Arc::new(AtomicUsize::new(0));
        let polled = rounds.clone();
        let future = poll_fn(move |context| {
            if polled.fetch_add(1, Relaxed) == 9 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        pool.install(|| pool_std::isolate(|| pool_std::spawn_future(future).join().unwrap()));
        assert_eq!(rounds.load(Relaxed), 10);
    }
}

#[test]
fn an_isolated_worker_waits_for_a_future_for_a_limited_time() {
    for pool in isolated_pools(1) {
        let event = Event::default();
        let awaited = event.clone();
        thread::scope(|threads| {
            threads.spawn(|| {
                event.wait_until_awaited();
                event.happen();
            });
            pool.install(|| {
                pool_std::isolate(|| {
                    let mut future = pool_std::spawn_future(async move { awaited.wait().await });
                    while !future.wait_timeout(Duration::from_millis(5)) {}
                    future.join().unwrap();
                });
            });
        });
    }
}

/// The future yields until a job has run, which no other worker could run.
#[test]
fn an_isolated_worker_runs_broadcast_jobs_while_it_joins_a_future_that_wakes_itself() {
    for pool in &isolated_pools(1) {
        let event = Event::default();
        let awaited = event.clone();
        let (begun, begins) = mpsc::channel();
        thread::scope(|threads| {
            threads.spawn(move || {
                begins.recv().unwrap();
                pool.broadcast(|_| event.happen());
            });
            pool.install(|| {
                let future = async move {
                    begun.send(()).unwrap();
                    let ask = || awaited.poll(&Context::from_waker(Waker::noop()));
                    while ask().is_pending() {
                        give_way().await;
                    }
                };
                pool_std::isolate(|| pool_std::spawn_future(future).join().unwrap());
            });
        });
    }
}

/// The wake-up comes at any moment of the join, and the future goes back and forth between the
/// workers.
#[test]
fn wake_ups_against_an_isolated_join() {
    let rounds = if cfg!(miri) { 5 } else { 2_000 };
    for workers in [1, 2] {
        for pool in isolated_pools(workers) {
            beside_a_waker(|waker| {
                for _ in 0..rounds {
                    let events = [(); 2].map(|()| Event::default());
                    let [first, second] = events.clone();
                    waker.send(events.into()).unwrap();
                    let future = async move {
                        first.wait().await;
                        second.wait().await;
                    };
                    let join = || pool_std::spawn_future(future).join().unwrap();
                    pool.install(|| pool_std::isolate(join));
                }
            });
        }
    }
}

/// A reference that was brought to the worker is out of date when the future has ended, and does
/// nothing.
#[test]
fn a_future_that_was_joined_is_polled_no_more() {
    let [pool, ..] = isolated_pools(2);
    let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
    let kept = wakers.clone();
    let polls = Arc::new(AtomicUsize::new(0));
    let polled = polls.clone();
    let future = poll_fn(move |context| {
        kept.lock().unwrap().push(context.waker().clone());
        context.waker().wake_by_ref();
        match polled.fetch_add(1, Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    });
    pool.install(|| pool_std::isolate(|| pool_std::spawn_future(future).join().unwrap()));
    wakers.lock().unwrap().drain(..).for_each(Waker::wake);
    pool.wait_idle().unwrap();
    assert_eq!(polls.load(Relaxed), 2);
}

/// A nested wait is not for the future, which may need what a job below that wait holds.
#[test]
fn a_future_is_polled_by_the_wait_of_its_join_alone() {
    for pool in isolated_pools(1) {
        let [first, second] = [(); 2].map(|()| Event::default());
        let lock = Arc::new(Mutex::new(()));
        let (event, locked) = (first.clone(), lock.clone());
        let future = pool.spawn_future(async move {
            event.wait().await;
            locked.try_lock().is_ok()
        });
        thread::scope(|threads| {
            threads.spawn(|| {
                second.wait_until_awaited();
                first.happen();
                // Time in which the future would be polled.
                thread::sleep(Duration::from_millis(20));
                second.happen();
            });
            let job = || {
                let _guard = lock.lock().unwrap();
                let event = second.clone();
                let other = pool_std::spawn_future(async move { event.wait().await });
                pool_std::isolate(|| other.join().unwrap());
            };
            let is_free = pool.install(|| {
                pool_std::isolate(|| {
                    pool_std::scope(|scope| {
                        scope.spawn(|_| job());
                        future.join().unwrap()
                    })
                })
            });
            assert!(is_free);
        });
    }
}

/// Also in a poll that comes after a wake-up: what another thread spawns in a scope of the frame
/// below is nothing that the future waits for.
#[test]
fn a_poll_by_its_joiner_leaves_jobs_of_the_frame_below_alone() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let holds = Arc::new(AtomicBool::new(false));
    let (begun, begins) = mpsc::channel::<()>();
    let (spawned, is_spawned) = mpsc::channel::<()>();
    let (held, mut is_second) = (holds.clone(), false);
    let polled = poll_fn(move |context| {
        if !mem::replace(&mut is_second, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        held.store(true, SeqCst);
        begun.send(()).unwrap();
        is_spawned.recv().unwrap();
        pool_std::spawn_handle(|| ()).join().unwrap();
        held.store(false, SeqCst);
        Poll::Ready(())
    });
    let ran_meanwhile = AtomicBool::new(false);
    pool.install(|| {
        // In no isolated call, so that its polls are not isolated by themselves.
        let future = pool_std::spawn_future(polled);
        pool_std::isolate(|| {
            pool_std::scope(|scope| {
                thread::scope(|threads| {
                    let (scope, ran) = (&scope, &ran_meanwhile);
                    threads.spawn(move || {
                        begins.recv().unwrap();
                        scope.spawn(move |_| ran.store(holds.load(SeqCst), SeqCst));
                        spawned.send(()).unwrap();
                    });
                    future.join().unwrap();
                });
            });
        });
    });
    assert!(!ran_meanwhile.into_inner());
}

/// A queue has one reference to a future, however often its joiner polls it.
#[cfg(feature = "metrics")]
#[test]
fn wake_ups_of_a_joined_future_leave_no_jobs() {
    const WAKE_UPS: usize = if cfg!(miri) { 50 } else { 10_000 };
    for pool in isolated_pools(1) {
        let mut left = WAKE_UPS;
        let future = poll_fn(move |context| {
            left -= 1;
            if left == 0 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        pool.install(|| pool_std::isolate(|| pool_std::spawn_future(future).join().unwrap()));
        pool.wait_idle().unwrap();
        let jobs = pool.metrics().sum().jobs_run;
        assert!(jobs < 10, "{jobs}");
    }
}

#[test]
fn a_future_that_wakes_itself_in_isolation_lets_no_other_job_run() {
    let pool = pool(1);
    let [held, ran] = [(); 2].map(|()| AtomicUsize::new(0));
    pool.install(|| {
        pool_std::isolate(|| {
            pool_std::scope(|scope| {
                scope.spawn(|_| _ = ran.fetch_or(held.load(SeqCst), SeqCst));
                held.store(1, SeqCst);
                let mut polls = 0;
                pool_std::block_on(poll_fn(move |context| {
                    polls += 1;
                    context.waker().wake_by_ref();
                    if polls < 3 {
                        Poll::Pending
                    } else {
                        Poll::Ready(())
                    }
                }));
                held.store(0, SeqCst);
            })
        })
    });
    assert_eq!(ran.into_inner(), 0);
}

/// Reproduces a hang: the wait was isolated and its join was not, because the wait is deeper in the
/// stack. Half of a stack is the bound.
#[test]
#[cfg(not(miri))]
fn a_future_is_joined_at_each_depth_of_the_stack() {
    /// The stack, of which each level takes at least `FRAME`.
    const STACK: usize = 1 << 19;
    const FRAME: usize = 512;

    fn join<const DEEPER: usize>() {
        let frame = black_box([0_u8; DEEPER]);
        pool_std::spawn_future(give_way()).join().unwrap();
        pool_std::block_on(pool_std::spawn_future(give_way())).unwrap();
        while !pool_std::spawn_future(give_way()).wait_timeout(Duration::MAX) {}
        black_box(&frame);
    }
    fn descend(end: usize) {
        let frame = black_box([0_u8; FRAME]);
        join::<1>();
        join::<65>();
        join::<129>();
        join::<193>();
        join::<257>();
        join::<321>();
        join::<385>();
        join::<449>();
        if frame.as_ptr().addr() > end {
            descend(end);
        }
        black_box(&frame);
    }
    let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(STACK);
    let pool = builder.build().unwrap();
    let (end, ends) = mpsc::channel();
    pool.spawn(move || {
        let here = 0_u8;
        descend((&raw const here).addr() - STACK * 5 / 8);
        end.send(()).unwrap();
    });
    ends.recv_timeout(Duration::from_secs(120)).unwrap();
}
