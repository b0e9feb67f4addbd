//! Tests that change their whole process, and so run in a process of their own.

use std::{env, process::Command};

/// Set in the process of such a test.
const VARIABLE: &str = "POOL_STD_TEST_CHILD";

/// Runs a test in a process of its own. `name` is the full name of the test that calls.
pub(crate) fn in_child(name: &str, test: impl FnOnce()) {
    if env::var_os(VARIABLE).is_some() {
        test();
        return;
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(VARIABLE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Allows the process no more open files than it has.
pub(crate) fn allow_no_more_files() {
    let limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure lives during the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

/// Lets signals interrupt the system calls of all threads, and sends one to each until `stop` says so.
pub(crate) fn interrupt_all_threads_until(stop: impl Fn() -> bool) {
    extern "C" fn ignore(_signal: libc::c_int) {}

    // SAFETY: zeros are a valid structure without flags, so without `SA_RESTART`; the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
    while !stop() {
        for thread in std::fs::read_dir("/proc/self/task").unwrap() {
            let id: i32 = thread
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            // SAFETY: The call takes numbers only; the handler does nothing.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), id, libc::SIGUSR1) };
        }
        std::thread::yield_now();
    }
}
