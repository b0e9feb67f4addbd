use super::*;

fn fib<S: System>(core: Worker<'_, S>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = core.join(|core| fib(core, n - 1), |core| fib(core, n - 2));
    a + b
}

#[test]
fn smoke() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    let (n, result) = if cfg!(miri) { (6, 8) } else { (10, 55) };
    with_workers(&POOL, || {
        assert_eq!(POOL.install(|core| fib(core, n)), result)
    });
}

/// Joins without idle rounds: bug 11 of the collection is a deadlock that less searching exposed.
#[test]
fn stress_without_rounds() {
    static POOL: SpinPool<TestCores<3, 2>> = pool(IdlePolicy::IMMEDIATE);
    with_workers(&POOL, || {
        for _ in 0..times(200) {
            assert_eq!(POOL.install(|core| fib(core, 8)), 21);
        }
    });
}

#[test]
fn both_closures_run_at_the_same_time() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    with_workers(&POOL, || {
        let barrier = Barrier::new(2);
        let meet = |core: Worker<'_, TestCores<2, 64>>| {
            barrier.wait();
            core.index()
        };
        let (a, b) = POOL.install(|core| core.join(meet, meet));
        assert_eq!(a + b, 1, "on both workers");
    });
}

#[test]
fn the_core_that_boots_is_a_worker_for_a_while() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    let (n, result) = if cfg!(miri) { (6, 8) } else { (12, 144) };
    assert_eq!(POOL.run_with(0, |core| fib(core, n)), Ok(result));
    assert_eq!(POOL.run_with(1, |core| core.index()), Ok(1));
    assert!(POOL.with_current_worker(|worker| worker.is_none()));
    let inside = POOL.run_with(0, |_| {
        POOL.with_current_worker(|worker| worker.map(Worker::index))
    });
    assert_eq!(inside, Ok(Some(0)));
}

#[test]
fn bad_workers_are_typed_errors() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    let unknown = UnknownWorker {
        index: 1,
        workers: 1,
    };
    assert_eq!(POOL.run_worker(1), Err(RunError::UnknownWorker(unknown)));
    assert_eq!(
        POOL.release_worker(1),
        Err(ReleaseError::UnknownWorker(unknown))
    );
    assert_eq!(POOL.worker_metrics(1), Err(unknown));
    with_workers(&POOL, || {
        POOL.install(|_| assert_eq!(POOL.run_worker(0), Err(RunError::AlreadyWorker)));
        assert_eq!(POOL.run_worker(0), Err(RunError::Taken));
    });
    assert_eq!(POOL.run_worker(0), Ok(ExitReason::Ended));
    assert_eq!(POOL.run_with(0, |_| ()), Err(RunError::Ended));
}

/// Checks that pools of two types, which share a core's pointer, do not mistake each other's
/// workers.
#[test]
fn pools_of_different_types_share_cores() {
    static SMALL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    static LARGE: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    with_workers(&SMALL, || {
        with_workers(&LARGE, || {
            let answer = SMALL.install(|core| {
                assert_eq!(core.index(), 0);
                assert!(LARGE.with_current_worker(|worker| worker.is_none()));
                LARGE.install(|core| fib(core, 10))
            });
            assert_eq!(answer, 55);
        });
    });
}

/// Joins with a full deque, where the second closure is never queued, but run after the first.
/// Large closures stay in place, small ones are moved.
#[test]
fn destructors_with_a_full_deque() {
    type Cores = TestCores<1, 1>;
    static POOL: SpinPool<Cores> = pool(IdlePolicy::DEFAULT);
    let value = Arc::new(7);
    let large = |padding| (value.clone(), [padding; 2]);
    let joined = POOL.run_with(0, |core| {
        let in_a_full_deque = |core: Worker<'_, Cores>| {
            let (a, b, c, d) = (large(1), large(2), value.clone(), value.clone());
            let (e, f, g, h) = (large(3), value.clone(), value.clone(), large(4));
            [
                core.join(move |_| *a.0 + a.1[0], move |_| *b.0 + b.1[1]),
                core.join(move |_| *c, move |_| *d),
                core.join(move |_| *e.0 + e.1[0], move |_| *f),
                core.join(move |_| *g, move |_| *h.0 + h.1[1]),
            ]
        };
        core.join(in_a_full_deque, |_| ()).0
    });
    assert_eq!(joined, Ok([(8, 9), (7, 7), (10, 7), (7, 11)]));
    assert_eq!(Arc::strong_count(&value), 1);
}
