//! A pool that discards its jobs.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    task::{Poll, Waker},
    thread,
    time::Duration,
};

use pool_std::{JoinError, Priority, ShutdownError, ThreadPool, ThreadPoolBuilder};

use super::{Held, LIMIT, held, pool};
use crate::support::wait_for;

/// Counts its drops: each job has one.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Creates a pool whose only worker is in a job.
fn busy_pool() -> (ThreadPool, Held) {
    let pool = pool(1);
    let (job, held) = held();
    pool.spawn(job);
    held.wait();
    (pool, held)
}

/// Begins the end of a pool whose worker is held, lets it go on, and returns how many jobs were
/// discarded.
fn discard(pool: &ThreadPool, held: &Held) -> usize {
    let begun = pool.shutdown_now(Duration::ZERO);
    assert_eq!(begun, Err(ShutdownError::TimedOut));
    held.release();
    pool.shutdown_now(LIMIT).unwrap()
}

#[test]
fn each_kind_of_job_is_discarded_and_counted() {
    let (pool, held) = busy_pool();
    let (runs, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let job = || {
        let (runs, counted) = (runs.clone(), Counted(drops.clone()));
        move || {
            let _counted = &counted;
            runs.fetch_add(1, Relaxed);
        }
    };
    pool.spawn(job());
    pool.spawn_fifo(job());
    pool.spawn_urgent(job());
    pool.spawn_background(job());
    pool.spawn_many((0..3).map(|_| job()));
    pool.spawn_broadcast({
        let job = job();
        move |_| job()
    });
    let priorities = [Priority::Urgent, Priority::Normal, Priority::Background];
    let handles = priorities.map(|priority| pool.spawn_handle_with(priority, job()));
    let future = pool.spawn_future({
        let job = job();
        async move { job() }
    });
    assert_eq!(discard(&pool, &held), 12);
    assert_eq!((runs.load(SeqCst), drops.load(SeqCst)), (0, 12));
    for handle in handles {
        assert!(handle.join().unwrap_err().is_aborted());
    }
    assert!(future.join().unwrap_err().is_aborted());
    assert_eq!(pool.shutdown_now(Duration::ZERO), Ok(12), "again");
}

/// Jobs spawn others at the same time. Each one that was spawned was run or discarded.
#[test]
fn every_job_was_run_or_discarded() {
    const JOBS: usize = if cfg!(miri) { 20 } else { 5_000 };
    for threads in [1, 2, 5] {
        let pool = pool(threads);
        let [spawned, runs, drops] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
        for _ in 0..JOBS {
            let (spawned, runs, drops) = (spawned.clone(), runs.clone(), drops.clone());
            let counted = Counted(drops.clone());
            spawned.fetch_add(1, SeqCst);
            pool.spawn(move || {
                let _counted = counted;
                runs.fetch_add(1, SeqCst);
                spawned.fetch_add(2, SeqCst);
                let child = Counted(drops.clone());
                let own = runs.clone();
                pool_std::spawn(move || {
                    let _child = child;
                    own.fetch_add(1, SeqCst);
                });
                let child = Counted(drops);
                // Some are joined by the job, which runs them itself.
                let handle = pool_std::spawn_handle(move || {
                    let _child = child;
                    runs.fetch_add(1, SeqCst);
                });
                let result = handle.join();
                assert!(result.is_ok() || result.unwrap_err().is_aborted());
            });
        }
        let discarded = pool.shutdown_now(LIMIT).unwrap();
        let spawned = spawned.load(SeqCst);
        assert_eq!(runs.load(SeqCst) + discarded, spawned);
        assert_eq!(drops.load(SeqCst), spawned);
    }
}

/// In an isolated call, a worker runs the job of a handle although no queue gives it to the worker.
#[test]
fn a_job_that_its_owner_would_run_is_discarded() {
    let pool = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    pool.install(|| {
        pool_std::isolate(|| {
            let handles = [(); 3].map(|()| {
                let counted = Counted(drops.clone());
                pool_std::spawn_handle(move || {
                    drop(counted);
                    panic!("it is discarded")
                })
            });
            let begin = || pool.shutdown_now(Duration::ZERO);
            let begun = thread::scope(|threads| threads.spawn(begin).join().unwrap());
            assert_eq!(begun, Err(ShutdownError::TimedOut));
            let [joined, mut waited, polled] = handles;
            let results: [Result<(), _>; 3] = [
                joined.join(),
                {
                    assert!(waited.wait_timeout(LIMIT));
                    waited.join()
                },
                pool_std::block_on(polled),
            ];
            assert!(
                results
                    .map(Result::unwrap_err)
                    .iter()
                    .all(JoinError::is_aborted)
            );
        });
    });
    assert_eq!(drops.load(SeqCst), 3);
    assert_eq!(pool.shutdown_now(LIMIT), Ok(3));
}

/// A caller waits for them.
#[test]
fn calls_and_their_scopes_go_on() {
    let (pool, held) = busy_pool();
    let sum = AtomicUsize::new(0);
    thread::scope(|threads| {
        let call = threads.spawn(|| {
            pool.install(|| {
                pool_std::scope(|scope| {
                    for number in 0..100 {
                        let sum = &sum;
                        scope.spawn(move |_| _ = sum.fetch_add(number, SeqCst));
                    }
                });
                pool_std::join(|| 1, || 2)
            })
        });
        wait_for(|| call.is_finished() || !pool.metrics().injector_is_empty());
        assert_eq!(discard(&pool, &held), 0);
        assert_eq!(call.join().unwrap(), (1, 2));
    });
    assert_eq!(sum.into_inner(), 4950);
}

#[test]
fn a_future_that_waits_is_dropped_when_it_is_woken() {
    let pool = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let handle = pool.spawn_future({
        let (counted, waker) = (Counted(drops.clone()), waker.clone());
        poll_fn(move |context| {
            let _counted = &counted;
            *waker.lock().unwrap() = Some(context.waker().clone());
            Poll::<()>::Pending
        })
    });
    wait_for(|| waker.lock().unwrap().is_some());
    assert_eq!(
        pool.shutdown_now(Duration::from_millis(5)),
        Err(ShutdownError::TimedOut)
    );
    waker.lock().unwrap().take().unwrap().wake();
    assert_eq!(pool.shutdown_now(LIMIT), Ok(1));
    assert_eq!(drops.load(SeqCst), 1);
    assert!(handle.join().unwrap_err().is_aborted());
}

#[test]
fn the_panic_of_a_drop_goes_to_the_handler() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.panic_handler(move |_| _ = count.fetch_add(1, SeqCst));
    let pool = builder.build().unwrap();
    let (job, held) = held();
    pool.spawn(job);
    held.wait();
    let bomb = || {
        let bomb = Bomb;
        move || std::mem::forget(bomb)
    };
    pool.spawn(bomb());
    let handle = pool.spawn_handle(bomb());
    let future = pool.spawn_future({
        let bomb = bomb();
        async move { bomb() }
    });
    assert_eq!(discard(&pool, &held), 3);
    assert_eq!(panics.load(SeqCst), 3);
    assert!(handle.join().unwrap_err().is_aborted());
    assert!(future.join().unwrap_err().is_aborted());
}

#[test]
fn a_worker_that_begins_the_end_is_told_so() {
    let pool = Arc::new(pool(1));
    let (own, log) = (pool.clone(), Arc::new(Mutex::new(None)));
    let seen = log.clone();
    pool.spawn(move || {
        pool_std::spawn(|| unreachable!("it is discarded"));
        *seen.lock().unwrap() = Some(own.shutdown_now(LIMIT));
    });
    wait_for(|| log.lock().unwrap().is_some());
    assert_eq!(*log.lock().unwrap(), Some(Err(ShutdownError::FromWorker)));
    assert_eq!(pool.shutdown_now(LIMIT), Ok(1));
    let refused = catch_unwind(AssertUnwindSafe(|| pool.spawn(|| ())));
    assert!(refused.is_err(), "the pool has ended");
}
