//! Waiting until a pool has ended.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{PoolHandle, ShutdownError, ThreadPool, ThreadPoolBuilder};

use super::{LIMIT, chain, held, pool, pool_with_this_thread};
use crate::block_in_place::lend_until_a_job_has_run;

// Systems that tell whether a thread has ended with its destructors.
#[cfg(any(
    all(target_os = "linux", any(target_env = "gnu", target_env = "musl")),
    windows
))]
#[cfg(not(miri))]
mod destructors;

#[test]
fn a_shutdown_that_is_not_in_time_loses_nothing() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = ended.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .exit_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    let (job, held) = held();
    pool.spawn(job);
    let links = Arc::new(AtomicUsize::new(0));
    let own = links.clone();
    pool.spawn(move || chain(10, own));
    held.wait();
    for timeout in [Duration::ZERO, Duration::from_millis(20)] {
        let result = pool.shutdown_timeout(timeout);
        assert_eq!(result, Err(ShutdownError::TimedOut));
    }
    assert_eq!((links.load(Relaxed), ended.load(SeqCst)), (0, 0));
    // A pool that has not ended yet takes jobs.
    let own = links.clone();
    pool.spawn(move || chain(5, own));
    held.release();
    pool.shutdown_timeout(Duration::MAX).unwrap();
    assert_eq!((links.load(Relaxed), ended.load(SeqCst)), (15, 1));
    // Again, and in the other way.
    pool.shutdown_timeout(Duration::ZERO).unwrap();
    pool.shutdown().unwrap();
}

#[test]
fn a_pool_that_was_shut_down_refuses_jobs() {
    let pool = pool(2);
    pool.shutdown_timeout(LIMIT).unwrap();
    let uses: [fn(&ThreadPool); 11] = [
        |pool| pool.install(|| ()),
        |pool| pool.call(|| ()),
        |pool| _ = pool.join(|| (), || ()),
        |pool| pool.scope(|_| ()),
        |pool| pool.in_place_scope(|_| ()),
        |pool| pool.spawn(|| ()),
        |pool| pool.spawn_fifo(|| ()),
        |pool| pool.spawn_many([|| ()]),
        |pool| _ = pool.broadcast(|_| ()),
        |pool| pool.spawn_broadcast(|_| ()),
        |pool| pool.install_with(|_| ()),
    ];
    for (index, call) in uses.into_iter().enumerate() {
        let panic = catch_unwind(AssertUnwindSafe(|| call(&pool))).expect_err("no worker is left");
        let text = panic.downcast_ref::<&str>().unwrap();
        assert_eq!(*text, "the thread pool has been shut down", "{index}");
    }
    assert_eq!(pool.wait_idle(), Ok(()));
    assert_eq!(pool.progress().defer(|| ()), ());
}

// What is accepted is done, and what is not is refused by a panic.
#[test]
fn jobs_that_race_with_a_shutdown_run_or_are_refused() {
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let pool = &pool(2);
        let accepted = AtomicUsize::new(0);
        let run = Arc::new(AtomicUsize::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                let spawn_all = || {
                    for _ in 0..1_000 {
                        let run = run.clone();
                        pool.spawn(move || _ = run.fetch_add(1, Relaxed));
                        accepted.fetch_add(1, Relaxed);
                        thread::yield_now();
                    }
                };
                let _all_or_not = catch_unwind(AssertUnwindSafe(spawn_all));
            });
            while accepted.load(Relaxed) < 10 {
                thread::yield_now();
            }
            pool.shutdown_timeout(LIMIT).unwrap();
        });
        assert_eq!(run.load(Relaxed), accepted.load(Relaxed));
    }
}

#[test]
fn a_worker_of_another_pool_shuts_a_pool_down() {
    let (here, other) = (Arc::new(pool(1)), pool(1));
    let (job, held) = held();
    other.spawn(job);
    held.wait();
    let result = here.install(|| other.shutdown_timeout(Duration::from_millis(20)));
    assert_eq!(result, Err(ShutdownError::TimedOut));
    // The last job needs the worker that waits.
    let count = Arc::new(AtomicUsize::new(0));
    let (needed, done) = (here.clone(), count.clone());
    other.spawn(move || needed.install(|| _ = done.fetch_add(1, Relaxed)));
    held.release();
    here.install(|| other.shutdown_timeout(LIMIT)).unwrap();
    assert_eq!(count.load(Relaxed), 1);
}

#[test]
fn a_worker_does_not_wait_for_the_end_of_its_own_pool() {
    let pool = Arc::new(pool(1));
    let own = pool.clone();
    let result = pool.install(move || own.shutdown_timeout(LIMIT));
    assert_eq!(result, Err(ShutdownError::FromWorker));
    pool.shutdown_timeout(LIMIT).unwrap();
}

#[test]
fn a_handle_waits_for_the_threads_of_a_pool_that_is_dropped() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = ended.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .exit_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    let handle = pool.handle();
    let from_worker = pool.install(|| handle.wait_until_stopped());
    assert!(matches!(from_worker, Err(ShutdownError::FromWorker)));
    drop(pool);
    handle.wait_until_stopped().unwrap();
    assert_eq!(ended.load(SeqCst), 2);
}

/// A value whose drop takes a while, in a thread-local of a worker's thread.
struct Slow(Arc<AtomicUsize>);

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(50));
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn each_thread_that_waits_for_the_end_waits_for_the_destructors_of_threads() {
    thread_local!(static SLOW: Cell<Option<Slow>> = const { Cell::new(None) });

    for _ in 0..5 {
        let ended = Arc::new(AtomicUsize::new(0));
        let pool = pool(2);
        pool.broadcast(|_| SLOW.set(Some(Slow(ended.clone()))));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let (handle, ended) = (pool.handle(), ended.clone());
                thread::spawn(move || {
                    handle.wait_until_stopped().unwrap();
                    ended.load(SeqCst)
                })
            })
            .collect();
        pool.shutdown().unwrap();
        assert_eq!(ended.load(SeqCst), 2);
        for other in others {
            assert_eq!(other.join().unwrap(), 2);
        }
    }
}

/// In the destructor of a thread-local, after the worker has left, and in the exit handler of a
/// spare.
#[test]
fn a_thread_of_the_pool_does_not_wait_for_its_own_end() {
    struct Waits(PoolHandle, mpsc::Sender<Result<(), ShutdownError>>);

    impl Drop for Waits {
        fn drop(&mut self) {
            self.1.send(self.0.wait_until_stopped()).unwrap();
        }
    }

    thread_local!(static WAITS: Cell<Option<Waits>> = const { Cell::new(None) });

    let (sender, results) = mpsc::channel();
    let known = Arc::new(Mutex::new(None::<PoolHandle>));
    let (of_handler, handle) = (sender.clone(), known.clone());
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .exit_handler(move |_| {
            let handle = handle.lock().unwrap().clone().unwrap();
            of_handler.send(handle.wait_until_stopped()).unwrap();
        })
        .build()
        .unwrap();
    *known.lock().unwrap() = Some(pool.handle());
    let waits = Waits(pool.handle(), sender);
    pool.install(|| {
        WAITS.set(Some(waits));
        // Starts the spare.
        lend_until_a_job_has_run();
    });
    pool.shutdown().unwrap();
    drop(known);
    let results: Vec<_> = results.try_iter().collect();
    assert!(results.len() >= 2, "{results:?}");
    assert!(
        results
            .iter()
            .all(|it| *it == Err(ShutdownError::FromWorker)),
        "{results:?}"
    );
}

#[test]
fn an_adopted_thread_shuts_its_pool_down_in_time_or_not() {
    let on_new_thread = thread::spawn(|| {
        let pool = pool_with_this_thread(2);
        let (job, held) = held();
        // The thread might run it itself.
        let (sender, receiver) = mpsc::channel();
        let job = std::sync::Mutex::new(Some(job));
        pool.spawn_broadcast(move |context| {
            if context.index() == 1 {
                let job = job.lock().unwrap().take();
                job.unwrap()();
            } else {
                sender.send(()).unwrap();
            }
        });
        held.wait();
        // The time may be over before this thread has looked for a job.
        loop {
            let result = pool.shutdown_timeout(Duration::from_millis(20));
            assert_eq!(result, Err(ShutdownError::TimedOut));
            if receiver.try_recv().is_ok() {
                break;
            }
        }
        held.release();
        pool.shutdown_timeout(LIMIT).unwrap();
    });
    on_new_thread.join().unwrap();
}

/// Some run their closure there, scopes are of the global pool, jobs with handles are aborted, and
/// the others panic.
#[test]
fn an_adopted_thread_calls_a_pool_that_has_ended() {
    let on_new_thread = thread::spawn(|| {
        let pool = pool_with_this_thread(2);
        pool.shutdown_timeout(LIMIT).unwrap();
        let here = || thread::current().id();
        let this = here();
        assert_eq!(pool.install(here), this);
        assert_eq!(pool.call(here), this);
        assert_eq!(pool.join(here, here), (this, this));
        assert_eq!(pool.install_with(|_| here()), this);
        assert_ne!(pool.scope(|_| here()), this);
        assert_ne!(pool.scope_fifo(|_| here()), this);
        assert!(pool.spawn_handle(|| ()).join().unwrap_err().is_aborted());
        let refused: [fn(&ThreadPool); 4] = [
            |pool| pool.in_place_scope(|_| ()),
            |pool| pool.in_place_scope_fifo(|_| ()),
            |pool| pool.spawn(|| ()),
            |pool| _ = pool.broadcast(|_| ()),
        ];
        for call in refused {
            assert!(catch_unwind(AssertUnwindSafe(|| call(&pool))).is_err());
        }
    });
    on_new_thread.join().unwrap();
}

/// A worker of another pool that waits runs jobs, which may wait for the same pool.
#[test]
fn waits_of_a_worker_for_the_end_of_another_pool_may_be_nested() {
    thread_local!(static SLOW: Cell<Option<Slow>> = const { Cell::new(None) });

    let ended = Arc::new(AtomicUsize::new(0));
    let waited_for = pool(2);
    waited_for.broadcast(|_| SLOW.set(Some(Slow(ended.clone()))));
    let handle = waited_for.handle();
    let other = pool(1);
    let results: Vec<_> = (0..3)
        .map(|_| {
            let (handle, ended) = (handle.clone(), ended.clone());
            other.spawn_handle(move || {
                handle.wait_until_stopped().unwrap();
                ended.load(SeqCst)
            })
        })
        .collect();
    waited_for.shutdown().unwrap();
    for result in results {
        assert_eq!(result.join().unwrap(), 2);
    }
}

/// Reproduces a bug: the workers left the closure to the drop of the pool, which its own handle of
/// the pool prevented for good.
#[test]
fn what_a_job_has_deferred_is_run_before_the_end() {
    for workers in [1, 2] {
        let pool = pool(workers);
        let runs = Arc::new(AtomicUsize::new(0));
        let (progress, count) = (pool.progress(), runs.clone());
        let (job, held) = held();
        pool.spawn(move || {
            job();
            let own = progress.clone();
            progress.defer(move || {
                let _own = own;
                count.fetch_add(1, SeqCst);
            });
        });
        held.wait();
        // The job has the last reference to the pool, so that no worker searches after it.
        assert!(pool.shutdown_timeout(Duration::ZERO).is_err());
        held.release();
        pool.shutdown_timeout(Duration::MAX).unwrap();
        assert_eq!(runs.load(SeqCst), 1);
    }
}
