//! Threads that yield, or poll, in an isolated call.

use super::*;

/// Yields until the condition holds. Returns false if it never does.
fn yield_until(condition: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !condition() {
        if begin.elapsed() > LIMIT {
            return false;
        }
        pool_std::yield_now();
    }
    true
}

/// Calls the test in calls from outside, and on workers that are isolated.
fn in_each_call(workers: &[usize], test: impl Fn(usize) + Sync) {
    for &workers in workers {
        let pool = pool(workers);
        pool.call(|| test(workers));
        pool.install(|| isolate(|| test(workers)));
    }
}

#[test]
fn a_thread_yields_until_each_worker_has_run_its_job_of_a_broadcast() {
    in_each_call(&[1, 3], |workers| {
        let jobs_run = Arc::new(AtomicUsize::new(0));
        let count = jobs_run.clone();
        pool_std::spawn_broadcast(move |_| _ = count.fetch_add(1, SeqCst));
        assert!(yield_until(|| jobs_run.load(SeqCst) == workers));
    });
}

#[test]
fn jobs_of_a_scope_yield_until_all_have_begun() {
    in_each_call(&[1, 2], |_| {
        let (begun, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool_std::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|_| {
                    begun.fetch_add(1, SeqCst);
                    let has_met = yield_until(|| begun.load(SeqCst) == 8);
                    met.fetch_add(usize::from(has_met), SeqCst);
                });
            }
        });
        assert_eq!(met.into_inner(), 8);
    });
}

#[test]
fn a_thread_yields_until_a_detached_job_has_ended() {
    in_each_call(&[1, 2], |_| {
        let has_ended = Arc::new(AtomicBool::new(false));
        let ends = has_ended.clone();
        pool_std::spawn(move || ends.store(true, SeqCst));
        assert!(yield_until(|| has_ended.load(SeqCst)));
    });
}

/// What waits after a yield runs what it would have run before it.
#[test]
fn a_wait_after_a_yield_leaves_older_jobs_alone() {
    let pool = pool(1);
    let (begun, at_the_wait) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.install(|| {
        pool_std::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|_| _ = begun.fetch_add(1, SeqCst));
            }
            isolate(|| {
                assert_eq!(pool_std::yield_now(), Some(Yield::Executed));
                assert_eq!(begun.load(SeqCst), 1);
                let join_once = || join(|| (), || ());
                join(join_once, join_once);
                pool_std::scope(|inner| inner.spawn(|_| ()));
                at_the_wait.store(begun.load(SeqCst), SeqCst);
                assert_eq!(pool_std::yield_local(), Some(Yield::Executed));
            });
        });
    });
    assert_eq!((at_the_wait.into_inner(), begun.into_inner()), (1, 3));
}

#[test]
fn a_thread_waits_for_a_limited_time_for_a_job_that_needs_its_worker() {
    in_each_call(&[2, 3], |_| {
        let mut job = pool_std::spawn_handle(|| pool_std::broadcast(|_| ()).len());
        let begin = Instant::now();
        while !job.wait_timeout(Duration::from_millis(1)) {
            assert!(begin.elapsed() < LIMIT);
        }
        assert!(job.join().is_ok());
    });
}

/// A pool that isolates all waits, with its owner as a worker.
fn adopting(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .use_current_thread()
        .isolation(Isolation::Subtree)
        .build()
        .unwrap()
}

#[test]
fn the_owner_of_an_isolated_pool_runs_what_is_spawned_before_the_end() {
    for workers in [1, 2] {
        let end = move || {
            let pool = adopting(workers);
            let jobs_run = Arc::new(AtomicUsize::new(0));
            let [first, second] = [(); 2].map(|()| jobs_run.clone());
            pool.spawn(move || _ = first.fetch_add(1, SeqCst));
            pool.spawn_broadcast(move |_| _ = second.fetch_add(1, SeqCst));
            assert_eq!(pool.shutdown_timeout(LIMIT), Ok(()));
            assert_eq!(jobs_run.load(SeqCst), 1 + workers);
        };
        thread::spawn(end).join().unwrap();
    }
}
