//! Machines whose functions panic.

use core::cell::Cell;
use std::{
    env, os::unix::process::ExitStatusExt as _, panic, process::Command, ptr, string::String,
    thread_local,
};

use super::*;
use crate::machine::{CoreLocal, Spin};

thread_local!(static POINTER: Cell<*const ()> = const { Cell::new(ptr::null()) });

/// A core's pointer that panics when the worker leaves.
struct Stuck;

// SAFETY: 1. Each thread has a variable of its own. A call that panics sets nothing.
unsafe impl CoreLocal for Stuck {
    fn get() -> *const () {
        POINTER.get()
    }

    unsafe fn set(pointer: *const ()) {
        assert!(!pointer.is_null(), "the pointer stays");
        POINTER.set(pointer);
    }
}

struct StuckMachine;

// SAFETY: 1. and 2. as for `Host`.
unsafe impl Machine for StuckMachine {
    type Local = Stuck;
    type Parker = Spin;
}

const CHILD: &str = "POOL_SPIN_UNWIND_CHILD";

/// Checks that no panic leaves the frame of a worker that the core's pointer leads to: a job of the
/// next pool would find a worker that is gone. Runs itself once more, as a process of its own.
#[test]
fn a_worker_that_cannot_leave_ends_the_process() {
    static POOL: SpinPool<Cores<StuckMachine, 1, 2>> = SpinPool::new();
    if env::var_os(CHILD).is_some() {
        assert!(panic::catch_unwind(|| POOL.run_with(0, |_| ())).is_err());
        return;
    }
    let child = Command::new(env::current_exe().unwrap())
        .args(["worker_that_cannot_leave", "--test-threads=1"])
        .env(CHILD, "yes")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.signal().is_some(),
        "{:?} {errors}",
        child.status
    );
}
