//! Waits that are isolated because a worker is deep in its jobs, or in its stack.

use super::*;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs jobs that each wait for another pool (rayon#751). Returns how many were one inside the
/// other.
fn deepest(builder: ThreadPoolBuilder, jobs: usize) -> usize {
    let (pool, other) = (builder.num_threads(2).build().unwrap(), pool(1));
    let deepest = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|_| {
                DEPTH.set(DEPTH.get() + 1);
                deepest.fetch_max(DEPTH.get(), SeqCst);
                other.install(|| ());
                DEPTH.set(DEPTH.get() - 1);
            });
        }
    });
    deepest.into_inner()
}

#[test]
fn nesting_is_bounded_by_the_number_of_jobs() {
    const JOBS: usize = if cfg!(miri) { 4 } else { 5_000 };
    for bound in [0, 1, 4].into_iter().take(if cfg!(miri) { 2 } else { 3 }) {
        let deepest = deepest(ThreadPoolBuilder::new().max_nesting(bound), JOBS);
        // The job that waits is deeper than the bound when it runs no other one.
        assert!(deepest <= bound + 1, "{deepest} of {bound}");
    }
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[test]
fn nesting_is_bounded_by_the_stack() {
    let deepest = deepest(ThreadPoolBuilder::new().stack_size(128 << 10), 50_000);
    assert!(deepest > 1, "some are one inside the other");
}

/// A worker whose stack is half used waits in isolation. Before that, its job has yielded, which
/// has run an older job. It must not run the one that is older still.
#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
#[test]
fn a_worker_deep_in_its_stack_leaves_older_jobs_alone_after_a_yield() {
    /// glibc may give the worker the stack of a thread that has ended, if that is up to four times
    /// as large. Those of other tests are smaller than this one, or larger than that.
    const STACK: usize = 8 << 20;

    /// Uses half of a stack.
    #[inline(never)]
    fn wait_in_the_depth() {
        let frame = [0_u8; STACK / 8 * 5];
        std::hint::black_box(&frame);
        pool_std::scope(|scope| pool_std::spawn_handle_in(scope, |_| ()).join().unwrap());
        // The worker runs what it may, and then polls.
        let mut job = pool(1).spawn_handle(|| thread::sleep(CHANCE));
        while !job.wait_timeout(Duration::from_millis(1)) {}
    }

    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.stack_size(STACK).build().unwrap();
    pool.install(|| {
        let jobs_run = Arc::new(AtomicUsize::new(0));
        let older = [(); 2].map(|()| {
            let jobs_run = jobs_run.clone();
            pool_std::spawn_handle(move || _ = jobs_run.fetch_add(1, SeqCst))
        });
        let newest = pool_std::spawn_handle(move || {
            assert_eq!(pool_std::yield_now(), Some(Yield::Executed));
            wait_in_the_depth();
            jobs_run.load(SeqCst)
        });
        assert_eq!(newest.join().unwrap(), 1);
        older.into_iter().for_each(|job| job.join().unwrap());
    });
}
