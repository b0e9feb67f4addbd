//! Threads of the host in place of cores.

use std::{cell::Cell, ptr, sync::Barrier, thread};

use pool_core::UnknownWorker;

use super::*;

std::thread_local! {
    static LOCAL: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

struct HostCore;

struct Host;

impl Machine for Host {
    type Local = HostCore;
    type Parker = Spin;
}

// SAFETY: 1. a thread-local variable is just that.
unsafe impl CoreLocal for HostCore {
    fn get() -> *const () {
        LOCAL.get()
    }

    unsafe fn set(pointer: *const ()) {
        LOCAL.set(pointer);
    }
}

fn fib<const N: usize, const JOBS: usize>(core: Worker<'_, Host, N, JOBS>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = core.join(|core| fib(core, n - 1), |core| fib(core, n - 2));
    a + b
}

fn with_workers<const N: usize, const JOBS: usize>(
    pool: &'static Pool<Host, N, JOBS>,
    body: impl FnOnce(),
) {
    thread::scope(|threads| {
        for index in 0..N {
            threads.spawn(move || pool.run_worker(index).unwrap());
        }
        body();
        pool.end();
    });
}

#[test]
fn smoke() {
    static POOL: Pool<Host, 2, 64> = Pool::new();
    with_workers(&POOL, || {
        assert_eq!(POOL.install(|core| fib(core, 16)), 987)
    });
}

/// Bug 11 of the collection: less searching exposed a deadlock. So with no rounds at all, too.
#[test]
fn stress_without_rounds() {
    static POOL: Pool<Host, 3, 2> = Pool::with_idle_policy(IdlePolicy::IMMEDIATE);
    with_workers(&POOL, || {
        for _ in 0..200 {
            assert_eq!(POOL.install(|core| fib(core, 8)), 21);
        }
    });
}

#[test]
fn both_closures_run_at_the_same_time() {
    static POOL: Pool<Host, 2, 64> = Pool::new();
    with_workers(&POOL, || {
        let barrier = Barrier::new(2);
        let (a, b) = POOL.install(|core| {
            core.join(
                |core| {
                    barrier.wait();
                    core.index()
                },
                |core| {
                    barrier.wait();
                    core.index()
                },
            )
        });
        assert_eq!(a + b, 1, "on both workers");
    });
}

#[test]
fn bad_workers_are_typed_errors() {
    static POOL: Pool<Host, 1, 64> = Pool::new();
    let error = POOL.run_worker(1).unwrap_err();
    assert_eq!(
        error,
        RunError::UnknownWorker(UnknownWorker {
            index: 1,
            workers: 1
        })
    );
    with_workers(&POOL, || {
        POOL.install(|_| assert_eq!(POOL.run_worker(0), Err(RunError::AlreadyWorker)));
        assert_eq!(POOL.run_worker(0), Err(RunError::Taken));
    });
}

/// Pools of two types share a core's pointer; neither may take the other's worker for its own.
#[test]
fn pools_of_different_types_share_cores() {
    static SMALL: Pool<Host, 1, 2> = Pool::new();
    static LARGE: Pool<Host, 2, 64> = Pool::new();
    with_workers(&SMALL, || {
        with_workers(&LARGE, || {
            let answer = SMALL.install(|core| {
                assert_eq!(core.index(), 0);
                LARGE.install(|core| fib(core, 10))
            });
            assert_eq!(answer, 55);
        });
    });
}

#[test]
fn a_second_end_does_nothing() {
    static POOL: Pool<Host, 1, 2> = Pool::new();
    with_workers(&POOL, || {});
    POOL.end();
}
