//! Tests whose process forks.

#[path = "again.rs"]
mod again;

use std::{
    any, io,
    os::unix::process::CommandExt as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

/// After which a child hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a test in a process in which no other test runs, and whose threads take no lock of the
/// standard library while they start and end.
///
/// By default they do, for the message about an overflow of the stack, and a child that is forked
/// in such a moment has the lock forever. The standard library leaves this out if a program starts
/// with these signals ignored.
pub(crate) fn alone<T: FnOnce()>(test: T) {
    if again::is_child() {
        return test();
    }
    let name = any::type_name::<T>();
    let name = name.trim_end_matches("::{{closure}}");
    let (_program, name) = name.split_once("::").expect("a closure of a test");
    let mut process = again::child(name);
    let ignore_faults = || {
        for signal in [libc::SIGSEGV, libc::SIGBUS] {
            // SAFETY: the signal may be ignored. A fault ends the process all the same.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        Ok(())
    };
    // SAFETY: the closure may be called after a fork: it makes system calls alone.
    unsafe { process.pre_exec(ignore_faults) };
    let output = process.output().expect("a process");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let has_passed = output.status.success() && text.contains("1 passed");
    assert!(has_passed, "{}\n{text}\n{errors}", output.status);
}

/// Sets a flag at the end of a test, also if that panics: threads that go on until then would keep
/// its process forever.
#[allow(dead_code, reason = "not every test program uses it")]
pub(crate) struct SetOnDrop<'f>(pub(crate) &'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
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
