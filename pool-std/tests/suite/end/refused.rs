//! Jobs with a handle that come when their pool has ended.

use std::{
    future::{Ready, ready},
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
    time::Duration,
};

use pool_std::{CancelToken, JoinHandle, Priority, ThreadPool, ThreadPoolBuilder, block_on};

use super::{LIMIT, pool};

/// Counts how often it is dropped, and panics then if it should.
struct Captured {
    drops: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Captured {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
        assert!(!self.panics, "the drop of what a job has captured");
    }
}

/// The ways to spawn a job with a handle on a pool.
fn ways() -> [fn(&ThreadPool, Captured) -> JoinHandle<u32>; 4] {
    [
        |pool, captured| {
            pool.spawn_handle(move || {
                let _captured = captured;
                1
            })
        },
        |pool, captured| {
            pool.spawn_handle_with(Priority::Background, move || {
                let _captured = captured;
                1
            })
        },
        |pool, captured| {
            let token = CancelToken::new();
            pool.spawn_handle_unless(&token, move || {
                let _captured = captured;
                1
            })
        },
        |pool, captured| {
            pool.spawn_future(async {
                let _captured = captured;
                1
            })
        },
    ]
}

/// The ways to use a handle, which say whether its job was aborted.
fn uses() -> [fn(JoinHandle<u32>) -> bool; 4] {
    [
        |handle| handle.join().unwrap_err().is_aborted(),
        |handle| block_on(handle).unwrap_err().is_aborted(),
        |mut handle| {
            assert!(!handle.abort(), "a second time");
            assert!(handle.wait_timeout(Duration::ZERO));
            handle.is_finished()
        },
        |handle| {
            drop(handle.abort_on_drop());
            true
        },
    ]
}

#[test]
fn a_job_with_a_handle_that_comes_after_the_end_is_aborted() {
    let pools = [
        pool(2),
        ThreadPoolBuilder::new()
            .num_threads(1)
            .lazy_threads()
            .build()
            .unwrap(),
    ];
    for pool in pools {
        pool.shutdown_timeout(LIMIT).unwrap();
        for way in ways() {
            for is_aborted in uses() {
                let drops = Arc::new(AtomicUsize::new(0));
                let captured = Captured {
                    drops: drops.clone(),
                    panics: false,
                };
                let handle = way(&pool, captured);
                assert_eq!(drops.load(SeqCst), 1, "at once");
                assert!(is_aborted(handle));
            }
        }
        assert_eq!(pool.wait_idle(), Ok(()));
    }
}

#[test]
fn the_handle_of_a_refused_job_outlives_its_pool_and_works_elsewhere() {
    let ended = pool(1);
    ended.shutdown_timeout(LIMIT).unwrap();
    let handles = [
        ended.spawn_handle(|| 1),
        ended.spawn_future::<Ready<i32>>(ready(1)),
    ];
    drop(ended);
    let other = pool(1);
    for handle in handles {
        let error = other
            .install(|| pool_std::isolate(|| handle.join()))
            .unwrap_err();
        assert_eq!(error.to_string(), "the job was aborted");
    }
}

#[test]
fn a_panic_when_a_refused_job_is_dropped_goes_to_the_handler() {
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    pool.shutdown_timeout(LIMIT).unwrap();
    for (index, way) in ways().into_iter().enumerate() {
        let drops = Arc::new(AtomicUsize::new(0));
        let captured = Captured {
            drops: drops.clone(),
            panics: true,
        };
        assert!(way(&pool, captured).join().unwrap_err().is_aborted());
        assert_eq!((drops.load(SeqCst), panics.load(SeqCst)), (1, index + 1));
    }
}

// What is accepted is done, and what is not is aborted.
#[test]
fn jobs_with_handles_that_race_with_a_shutdown_run_or_are_aborted() {
    const JOBS: usize = if cfg!(miri) { 60 } else { 300 };
    for _ in 0..if cfg!(miri) { 1 } else { 100 } {
        let pool = &pool(2);
        let spawned = AtomicUsize::new(0);
        let drops = Arc::new(AtomicUsize::new(0));
        thread::scope(|threads| {
            let spawn_all = || {
                let mut handles = Vec::new();
                for way in ways().into_iter().cycle().take(JOBS) {
                    let captured = Captured {
                        drops: drops.clone(),
                        panics: false,
                    };
                    handles.push(way(pool, captured));
                    spawned.fetch_add(1, Relaxed);
                    thread::yield_now();
                }
                handles
            };
            let handles = threads.spawn(spawn_all);
            while spawned.load(Relaxed) < 10 {
                thread::yield_now();
            }
            pool.shutdown_timeout(LIMIT).unwrap();
            let handles = handles.join().unwrap();
            let results: Vec<_> = handles.into_iter().map(JoinHandle::join).collect();
            let first_refused = results
                .iter()
                .position(Result::is_err)
                .unwrap_or(results.len());
            assert!(first_refused >= 10, "these came before the end");
            let (accepted, refused) = results.split_at(first_refused);
            assert!(accepted.iter().all(|result| matches!(result, Ok(1))));
            assert!(
                refused
                    .iter()
                    .all(|result| result.as_ref().is_err_and(|error| error.is_aborted()))
            );
        });
        assert_eq!(drops.load(SeqCst), JOBS);
    }
}
