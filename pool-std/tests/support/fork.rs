//! Tests whose process forks.

#[path = "again.rs"]
mod again;

use std::{
    any, io,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::{Duration, Instant},
};

/// After which a child hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs a test in a process in which no other test runs. The standard library takes a lock while a
/// thread starts or ends, and a child of that moment has it forever.
pub(crate) fn alone<T: FnOnce()>(test: T) {
    if again::is_child() {
        return test();
    }
    let name = any::type_name::<T>();
    let name = name.trim_end_matches("::{{closure}}");
    let (_program, name) = name.split_once("::").expect("a closure of a test");
    let output = again::child(name).output().expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let has_passed = output.status.success() && text.contains("1 passed");
    assert!(has_passed, "{}\n{text}\n{errors}", output.status);
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
