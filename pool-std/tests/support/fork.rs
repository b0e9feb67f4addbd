//! Tests whose process forks.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// After which a child hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Returns what the test that runs holds: a child has what other threads of the process hold at
/// that moment.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a child has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exit(i32),
    Signal(i32),
}

/// Forks. Returns the number of the child in the parent, and None in the child.
pub(crate) fn fork() -> Option<libc::pid_t> {
    // SAFETY: this pool is made for what the child does then, and so are the standard library's
    // threads, locks and allocator on this system.
    match unsafe { libc::fork() } {
        0 => None,
        -1 => panic!("no process: {}", io::Error::last_os_error()),
        child => Some(child),
    }
}

/// Waits for a child.
pub(crate) fn end_of(child: libc::pid_t) -> End {
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: `status` may be written to.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > LIMIT {
            // SAFETY: it is a child of ours, which has not been waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("a child hangs");
        }
        thread::sleep(Duration::from_micros(200));
    }
    if libc::WIFSIGNALED(status) {
        End::Signal(libc::WTERMSIG(status))
    } else {
        End::Exit(libc::WEXITSTATUS(status))
    }
}

/// Runs a closure in a child, and checks that it has returned true.
pub(crate) fn in_child(body: impl FnOnce() -> bool) {
    let Some(child) = fork() else {
        let is_good = catch_unwind(AssertUnwindSafe(body));
        // SAFETY: it runs no handler of the parent.
        unsafe { libc::_exit(i32::from(!is_good.unwrap_or(false))) }
    };
    assert_eq!(end_of(child), End::Exit(0));
}
