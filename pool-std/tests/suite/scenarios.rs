//! What others shipped, by the numbers of the page "What others shipped": here the scenarios that
//! handles, futures, priorities and the ends of pools bring back. The page names the tests of the
//! others.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{BuildError, CancelToken, IdlePolicy, ThreadPool, ThreadPoolBuilder};

use super::support::wait_for_asleep;

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);
const ROUNDS: usize = if cfg!(miri) { 2 } else { 100 };

/// Builds a pool whose workers sleep as soon as they find nothing.
fn pool(num_threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.idle_policy(IdlePolicy::IMMEDIATE).build().unwrap()
}

/// A queue that is new was missing from the check before sleep.
#[test]
fn scenario_03_a_sleeping_pool_sees_each_queue() {
    let spawns: [fn(&ThreadPool, mpsc::Sender<()>); 7] = [
        |pool, sender| pool.spawn(move || sender.send(()).unwrap()),
        |pool, sender| pool.spawn_urgent(move || sender.send(()).unwrap()),
        |pool, sender| pool.spawn_background(move || sender.send(()).unwrap()),
        |pool, sender| drop(pool.spawn_handle(move || sender.send(()).unwrap())),
        |pool, sender| drop(pool.spawn_future(async move { sender.send(()).unwrap() })),
        |pool, sender| pool.spawn_many([move || sender.send(()).unwrap()]),
        |pool, sender| {
            let sender = Mutex::new(sender);
            // The test waits for the first of two.
            pool.spawn_broadcast(move |_| _ = sender.lock().unwrap().send(()));
        },
    ];
    let pool = pool(2);
    for _ in 0..ROUNDS {
        for spawn in spawns {
            wait_for_asleep(&pool, 2);
            let (sender, receiver) = mpsc::channel();
            spawn(&pool, sender);
            receiver.recv_timeout(LIMIT).unwrap();
        }
    }
}

/// The number of threads overflowed its field.
#[test]
fn scenario_04_too_many_threads_are_an_error_before_any_is_started() {
    let builders: [fn(ThreadPoolBuilder) -> ThreadPoolBuilder; 3] = [
        |builder| builder,
        |builder| builder.lazy_threads(),
        |builder| builder.follow_processors(),
    ];
    for build in builders {
        let result = build(ThreadPoolBuilder::new().num_threads(70_000)).build();
        assert!(matches!(result, Err(BuildError::TooManyThreads { .. })));
    }
}

/// An end without a wake-up left sleepers, or missed workers that were just falling asleep.
#[test]
fn scenario_06_each_end_wakes_all_workers() {
    let ends: [fn(ThreadPool); 4] = [
        |pool| pool.shutdown().unwrap(),
        |pool| pool.shutdown_timeout(LIMIT).unwrap(),
        |pool| _ = pool.shutdown_now(LIMIT).unwrap(),
        |pool| {
            let handle = pool.handle();
            drop(pool);
            handle.wait_until_stopped().unwrap();
        },
    ];
    for round in 0..ROUNDS {
        let pool = pool(3);
        match round % 3 {
            0 => wait_for_asleep(&pool, 3),
            1 => pool.install(|| ()),
            // The workers have not even started to search.
            _ => {}
        }
        ends[round % ends.len()](pool);
    }
}

/// Less spinning exposed a deadlock.
#[test]
fn scenario_11_all_that_has_a_handle_works_without_spinning() {
    let pool = pool(2);
    for round in 0..ROUNDS {
        let token = CancelToken::new();
        let jobs = [(); 4].map(|()| pool.spawn_handle_unless(&token, move || round));
        let first = pool.spawn_handle(|| ());
        let future = pool.spawn_future(async { first.await.is_ok() });
        assert!(future.join().unwrap());
        assert!(jobs.into_iter().all(|job| job.join().unwrap() == round));
        wait_for_asleep(&pool, 2);
    }
}

/// Fields of a latch were read after `set` had let the frame of the waiter die, and the waiter's
/// pool with it.
#[test]
fn scenario_17_the_pool_of_a_waiter_may_end_when_its_job_has() {
    let runs = pool(1);
    for round in 0..ROUNDS {
        let waits = pool(1);
        let job = runs.spawn_handle(move || round);
        let result = waits.install(|| job.join());
        assert_eq!(result.unwrap(), round);
        drop(waits);
        let job = runs.spawn_handle(move || round);
        let waited = thread::spawn(|| job.join());
        assert_eq!(waited.join().unwrap().unwrap(), round);
    }
}

/// A panic in a job that was stolen or spawned did not release the waiter.
#[test]
fn scenario_19_a_panic_releases_each_waiter() {
    let pool = pool(2);
    let panics = || -> u32 { panic!("in a job") };
    for _ in 0..ROUNDS {
        assert!(pool.spawn_handle(panics).join().unwrap_err().is_panic());
        let future = pool.spawn_future(async move { panics() });
        assert!(future.join().unwrap_err().is_panic());
        let awaited = pool_std::block_on(pool.spawn_handle(panics));
        assert!(awaited.unwrap_err().is_panic());
        let scoped = pool.scope(|scope| {
            let job = pool_std::spawn_handle_in(scope, move |_| panics());
            job.join().unwrap_err().is_panic()
        });
        assert!(scoped);
        let tried = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                pool_std::try_scope(|scope| {
                    scope.spawn(move |_| Err::<(), u32>(panics()));
                    Ok(())
                })
            })
        }));
        assert!(tried.is_err());
    }
    assert_eq!(pool.install(|| 7), 7);
}

/// A worker that waits runs a job which takes a lock that the waiting one holds.
#[test]
fn scenario_26_a_lock_may_be_held_while_an_isolated_job_joins() {
    let pool = pool(1);
    let lock = Arc::new(Mutex::new(0));
    let (own, other) = (lock.clone(), lock.clone());
    pool.install(move || {
        // It must not run before the lock is free.
        let takes = pool_std::spawn_handle(move || *other.lock().unwrap() += 1);
        pool_std::isolate(|| {
            let mut guard = own.lock().unwrap();
            let job = pool_std::spawn_handle(|| 7);
            *guard += job.join().unwrap();
        });
        takes.join().unwrap();
    });
    assert_eq!(*lock.lock().unwrap(), 8);
}

/// Pools that are called in each other.
#[test]
fn scenario_27_pools_join_the_jobs_of_each_other() {
    let (first, second) = (Arc::new(pool(1)), Arc::new(pool(1)));
    let ended = Arc::new(AtomicUsize::new(0));
    for _ in 0..ROUNDS {
        let jobs = [(&first, &second), (&second, &first)].map(|(one, other)| {
            let (other, ended) = (other.clone(), ended.clone());
            one.spawn_handle(move || {
                let inner = other.spawn_handle(|| pool_std::join(|| 1, || 2));
                other.spawn_urgent(move || _ = ended.fetch_add(1, SeqCst));
                inner.join().unwrap()
            })
        });
        for job in jobs {
            assert_eq!(job.join().unwrap(), (1, 2));
        }
    }
    first.wait_idle().unwrap();
    second.wait_idle().unwrap();
    assert_eq!(ended.load(SeqCst), 2 * ROUNDS);
}
