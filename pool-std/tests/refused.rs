//! A sandbox that a program enters when its pools run already, and that forbids `membarrier`.
#![cfg(all(target_os = "linux", feature = "metrics", not(miri)))]

use std::{
    io, ptr,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{ProcessBarrier, ThreadPoolBuilder, WorkerState, join, spawn};

/// Makes the kernel refuse `membarrier` to all threads of this process, until it ends.
fn forbid_membarrier() -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        // The number of the system call is the first field of what a filter sees.
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_EQUAL, libc::SYS_membarrier as u32, 0, 1),
        instruction(RETURN, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: The arguments are numbers.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: The kernel reads the program, which lives until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            ptr::from_ref(&program),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether the kernel filters system calls: a user-mode emulator does not.
fn can_forbid() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: The kernel reads the action, which lives until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            ptr::from_ref(&action),
        )
    };
    result == 0
}

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

/// Parks a worker that has biased its deque and has jobs on it, while the other worker of its pool is
/// held. Returns a function that lets the other worker go on, and an iterator over the jobs that were run.
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
    if !can_forbid() {
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
            if let Err(error) = forbid_membarrier() {
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
