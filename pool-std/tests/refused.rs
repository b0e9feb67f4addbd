//! A sandbox that a program enters when its pools run already, and that forbids `membarrier`.
#![cfg(all(target_os = "linux", feature = "metrics", not(miri)))]

#[path = "support/seccomp.rs"]
mod seccomp;

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{ProcessBarrier, ThreadPoolBuilder, WorkerState, join, spawn};

/// Whether the filter has any effect: under an emulator it may have been given numbers of system
/// calls of another architecture.
fn is_forbidden() -> bool {
    const QUERY: libc::c_int = 0;
    // SAFETY: The call takes numbers only, and this one asks for a list of commands.
    unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) < 0 }
}

/// Pushes and takes back a job on the worker until nothing of the deque's past counts.
fn many_joins() {
    for _ in 0..50_000 {
        join(|| (), || ());
    }
}

/// Parks a worker that has biased its deque and has jobs on it, while the other worker of its pool
/// is held. Returns a function that lets the other worker go on, and an iterator over the jobs that
/// were run.
fn leave_jobs_on_a_biased_deque() -> impl FnOnce() -> mpsc::IntoIter<()> {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let pool = Arc::new(pool);
    let (is_held, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (sender, receiver) = mpsc::channel();
    pool.spawn_broadcast({
        let (pool, is_held, go_on) = (Arc::downgrade(&pool), is_held, go_on.clone());
        move |context| {
            is_held.wait();
            if context.index() == 0 {
                go_on.wait();
                return;
            }
            many_joins();
            for _ in 0..10 {
                let sender = sender.clone();
                spawn(move || sender.send(()).unwrap());
            }
            pool.upgrade().unwrap().set_active_workers(1).unwrap();
        }
    });
    let has_parked = || {
        // A worker whose thread has not started yet is absent, too.
        pool.active_workers() == 1 && pool.metrics().workers()[1].state == WorkerState::Absent
    };
    while !has_parked() {
        thread::yield_now();
    }
    move || {
        go_on.wait();
        drop(pool);
        receiver.into_iter()
    }
}

// The only test of this process, because the filter stays.
#[test]
fn pools_go_on_when_the_system_takes_membarrier_back() {
    if !ProcessBarrier::is_by_system() {
        println!("the system has no membarrier: nothing to take back");
        return;
    }
    let refuse = libc::SECCOMP_RET_ERRNO;
    if !seccomp::has_action(refuse) {
        println!("the system cannot forbid membarrier");
        return;
    }
    let jobs_of_parked = leave_jobs_on_a_biased_deque();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (is_held, go_on) = (Barrier::new(2), Barrier::new(2));
    pool.in_place_scope(|scope| {
        // One worker is held, so that nothing is stolen from the other, which biases its deque.
        scope.spawn(|_| {
            is_held.wait();
            go_on.wait();
        });
        is_held.wait();
        pool.install(|| {
            many_joins();
            if let Err(error) = seccomp::forbid_membarrier(refuse | libc::EPERM as u32) {
                println!("no filter can be installed: {error}");
            }
            if !is_forbidden() {
                go_on.wait();
                return;
            }
            let is_stolen = AtomicBool::new(false);
            let owner = thread::current().id();
            join(
                || {
                    go_on.wait();
                    // The deque is biased and its owner pops nothing, so the thief needs the fence.
                    while ProcessBarrier::is_by_system() {
                        thread::yield_now();
                    }
                    // The owner answers the thief when it takes a job back.
                    while !is_stolen.load(SeqCst) {
                        join(|| (), thread::yield_now);
                    }
                },
                || {
                    assert_ne!(
                        thread::current().id(),
                        owner,
                        "the first half waits for a thief"
                    );
                    is_stolen.store(true, SeqCst);
                },
            );
        });
    });
    // A parked worker answers no thief, so it has ended the bias.
    assert_eq!(jobs_of_parked().count(), 10);
    if !is_forbidden() {
        println!("membarrier goes on: nothing was taken back");
        return;
    }
    assert!(!ProcessBarrier::is_by_system());

    // Deques grow, whose rings progress would free; each has been biased before.
    for _ in 0..2 {
        pool.broadcast(|_| many_joins());
        let sum = std::sync::atomic::AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..20_000 {
                scope.spawn(|_| {
                    sum.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(sum.into_inner(), 20_000);
    }
    pool.shutdown().unwrap();

    // A new pool begins with fences, and ends with what progress has not freed.
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.broadcast(|_| many_joins());
    pool.shutdown().unwrap();
}
