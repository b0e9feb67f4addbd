//! The global pool is taken out, ended, built again, and forbidden: one a process, so these tests
//! are one.

use std::{
    panic::catch_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{
    BuildError, PoolHandle, ShutdownError, ThreadPool, ThreadPoolBuilder, WaitIdleError,
    current_num_threads, driver, forbid_global_pool, in_place_scope, in_place_scope_fifo,
    take_global_pool,
};

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);
const ROUNDS: usize = if cfg!(miri) { 3 } else { 200 };
const CALLERS: usize = 4;

fn build(num_threads: usize) {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build_global().unwrap();
}

#[test]
fn the_global_pool_is_taken_out() {
    assert!(take_global_pool().is_none(), "nothing has used it yet");

    a_pool_that_was_taken_out_is_the_callers();
    its_workers_go_on_to_use_it();
    a_thread_that_keeps_the_pool_does_not_wait_for_its_end();
    calls_go_on_while_pools_are_taken_out_and_ended();

    assert!(current_num_threads() > 0, "there is one from here on");
    let forbidden = forbid_global_pool();
    assert!(matches!(
        forbidden,
        Err(BuildError::GlobalPoolAlreadyInitialized)
    ));
    take_global_pool().unwrap().shutdown().unwrap();
    a_forbidden_pool_is_not_built();
}

fn a_pool_that_was_taken_out_is_the_callers() {
    build(2);
    let first = PoolHandle::current();
    let taken = take_global_pool().unwrap();
    assert_eq!(taken.handle(), first);
    assert!(take_global_pool().is_none());
    build(3);
    assert_eq!(current_num_threads(), 3);
    assert_eq!(taken.install(current_num_threads), 2);
    taken.wait_idle().unwrap();
    taken.shutdown().unwrap();
    first.wait_until_stopped().unwrap();
    assert_eq!(current_num_threads(), 3);
}

/// A worker of the taken pool spawns on that one.
fn its_workers_go_on_to_use_it() {
    let (sender, receiver) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    pool_std::spawn(move || {
        wait.recv().unwrap();
        pool_std::spawn(move || sender.send(current_num_threads()).unwrap());
    });
    let taken = take_global_pool().unwrap();
    build(1);
    go.send(()).unwrap();
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(3));
    taken.shutdown().unwrap();
}

/// The functions that call code of the user on this thread keep the pool meanwhile.
fn a_thread_that_keeps_the_pool_does_not_wait_for_its_end() {
    #[derive(Default)]
    struct Nothing;
    impl driver::Driver for Nothing {}

    fn end() -> ThreadPool {
        let taken = take_global_pool().unwrap();
        let ended = taken.shutdown_timeout(Duration::ZERO);
        assert_eq!(ended, Err(ShutdownError::FromWorker));
        assert_eq!(taken.wait_idle(), Err(WaitIdleError::FromWorker));
        taken
    }

    let keeping: [fn() -> ThreadPool; 4] = [
        || in_place_scope(|_| end()),
        || in_place_scope_fifo(|_| end()),
        || driver::with(Nothing::default, |_, _| end()),
        || {
            let mut taken = None;
            let jobs = (0..1).map(|_| {
                taken = Some(end());
                || ()
            });
            pool_std::spawn_many(jobs);
            taken.unwrap()
        },
    ];
    // That of the last test.
    drop(take_global_pool());
    for keep in keeping {
        build(2);
        keep().shutdown().unwrap();
    }
}

/// Threads call all the time. Each call has its result, whichever pool it meets.
fn calls_go_on_while_pools_are_taken_out_and_ended() {
    let (is_over, spawned, run) = (AtomicBool::new(false), AtomicUsize::new(0), {
        Arc::new(AtomicUsize::new(0))
    });
    thread::scope(|threads| {
        for caller in 0..CALLERS {
            let (is_over, spawned, run) = (&is_over, &spawned, &run);
            threads.spawn(move || {
                for round in caller.. {
                    if is_over.load(SeqCst) {
                        break;
                    }
                    call(round, spawned, run);
                }
            });
        }
        for round in 0..ROUNDS {
            thread::yield_now();
            if let Some(pool) = take_global_pool() {
                match round % 3 {
                    0 => pool.shutdown().unwrap(),
                    1 => pool.shutdown_timeout(LIMIT).unwrap(),
                    // It ends by itself.
                    _ => drop(pool),
                }
            }
            if round % 4 == 0 {
                // A caller may have been faster.
                _ = ThreadPoolBuilder::new().num_threads(2).build_global();
            }
        }
        is_over.store(true, SeqCst);
    });
    let expected = spawned.load(SeqCst);
    while run.load(SeqCst) < expected {
        thread::yield_now();
    }
}

/// Uses the global pool in one of several ways.
fn call(round: usize, spawned: &AtomicUsize, run: &Arc<AtomicUsize>) {
    match round % 6 {
        0 => assert_eq!(pool_std::join(|| round, || 2), (round, 2)),
        1 => {
            let sum = AtomicUsize::new(0);
            pool_std::scope(|scope| {
                for number in 0..10 {
                    let sum = &sum;
                    scope.spawn(move |_| _ = sum.fetch_add(number, SeqCst));
                }
            });
            assert_eq!(sum.into_inner(), 45);
        }
        2 => {
            let run = run.clone();
            spawned.fetch_add(1, SeqCst);
            pool_std::spawn(move || _ = run.fetch_add(1, SeqCst));
        }
        3 => assert_eq!(pool_std::spawn_handle(move || round).join().unwrap(), round),
        4 => {
            let indices = pool_std::broadcast(|context| context.index());
            assert!(indices.iter().copied().eq(0..indices.len()));
        }
        _ => {
            let index = pool_std::with_worker(|worker| worker.index());
            assert!(index < pool_std::max_num_threads());
        }
    }
}

fn a_forbidden_pool_is_not_built() {
    forbid_global_pool().unwrap();
    forbid_global_pool().unwrap();
    let uses: [fn(); 4] = [
        || _ = pool_std::join(|| 1, || 2),
        || pool_std::spawn(|| ()),
        || _ = current_num_threads(),
        || pool_std::scope(|_| ()),
    ];
    for in_vain in uses {
        let message = catch_unwind(in_vain).unwrap_err();
        let message = message.downcast_ref::<String>().unwrap();
        assert!(message.contains("forbidden"), "{message}");
    }
    let built = ThreadPoolBuilder::new().build_global();
    assert!(matches!(built, Err(BuildError::GlobalPoolForbidden)));
    assert!(take_global_pool().is_none());
    let own = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!(own.install(|| pool_std::join(|| 1, || 2)), (1, 2));
    own.shutdown().unwrap();
}
