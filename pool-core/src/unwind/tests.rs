use std::{
    env,
    os::unix::process::ExitStatusExt as _,
    process::Command,
    string::String,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
};

use crate::testing::{PARK_PANICS, with_pool};

static FRAME_IS_LEFT: AtomicBool = AtomicBool::new(false);

struct SetOnDrop;

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        FRAME_IS_LEFT.store(true, SeqCst);
    }
}

const CHILD: &str = "POOL_CORE_UNWIND_CHILD";

/// Checks that a thread that waits does not leave its frame even if its waiter panics, which it
/// promised not to do: a worker runs a job in that frame. Runs itself once more, as a process of
/// its own.
#[test]
fn a_waiter_that_panics_ends_the_process() {
    if env::var_os(CHILD).is_some() {
        PARK_PANICS.set(true);
        with_pool(1, |registry| {
            let _left = SetOnDrop;
            registry.in_worker(|_, _| {
                while !FRAME_IS_LEFT.load(SeqCst) {
                    thread::yield_now();
                }
            });
        });
    }
    let child = Command::new(env::current_exe().unwrap())
        .args(["waiter_that_panics", "--test-threads=1"])
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
