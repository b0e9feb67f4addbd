//! A sandbox that kills each process that calls `membarrier`. The test runs itself once more, as
//! processes of their own in such a sandbox.
#![cfg(all(target_os = "linux", not(miri)))]

#[path = "support/seccomp.rs"]
mod seccomp;

use std::{
    env,
    os::unix::process::ExitStatusExt as _,
    process::{Command, Output},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use pool_std::{ProcessBarrier, ThreadPoolBuilder, join};

const MEMBARRIER: &str = "POOL_STD_MEMBARRIER";
const CHILD: &str = "POOL_STD_KILLED_CHILD";
const NAME: &str = "the_variable_keeps_pools_from_a_membarrier_that_kills";
/// What the child prints if there is no sandbox.
const NO_SANDBOX: &str = "no filter can be installed";

/// Does everything that may ask the system for a process fence.
fn use_pools() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.broadcast(|_| {
        for _ in 0..50_000 {
            join(|| (), || ());
        }
    });
    // A worker that sleeps asks the system if the build could not do so quickly.
    let deadline = Instant::now() + Duration::from_secs(120);
    while format!("{pool:?}").contains("is being asked") {
        assert!(Instant::now() < deadline, "no worker asks: {pool:?}");
        thread::yield_now();
    }
    // Progress executes process fences.
    static IS_FREED: AtomicBool = AtomicBool::new(false);
    pool.progress().defer(|| IS_FREED.store(true, SeqCst));
    while !IS_FREED.load(SeqCst) {
        assert!(Instant::now() < deadline, "nothing is freed: {pool:?}");
        thread::yield_now();
    }
    pool.shutdown().unwrap();

    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = builder.overlook_no_jobs(true).build().unwrap();
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    pool.shutdown().unwrap();
    println!("by the system: {}", ProcessBarrier::is_by_system());
}

/// Runs this test in a sandbox, with this value of the variable.
fn in_sandbox(membarrier: &str) -> Output {
    Command::new(env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "yes")
        .env(MEMBARRIER, membarrier)
        .output()
        .unwrap()
}

#[test]
fn the_variable_keeps_pools_from_a_membarrier_that_kills() {
    let kill = libc::SECCOMP_RET_KILL_PROCESS;
    if env::var_os(CHILD).is_some() {
        match seccomp::forbid_membarrier(kill) {
            Ok(()) => use_pools(),
            Err(error) => println!("{NO_SANDBOX}: {error}"),
        }
        return;
    }
    if !seccomp::has_action(kill) {
        println!("the system cannot forbid membarrier");
        return;
    }
    let without = in_sandbox("");
    if String::from_utf8_lossy(&without.stdout).contains(NO_SANDBOX) {
        println!("{NO_SANDBOX}");
        return;
    }
    assert_eq!(without.status.signal(), Some(libc::SIGSYS), "{without:?}");
    let with = in_sandbox("0");
    assert!(with.status.success(), "{with:?}");
    let output = String::from_utf8_lossy(&with.stdout);
    assert!(output.contains("by the system: false"), "{output}");
}
