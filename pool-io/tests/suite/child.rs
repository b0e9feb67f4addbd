//! Tests that change their whole process, and so run in a process of their own.

use std::{env, process::Command};

use crate::support::wait_for;

/// Set in the process of such a test.
const VARIABLE: &str = "POOL_IO_TEST_CHILD";

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
    allow_files(0);
}

/// Allows the process so many open files. Those that are open already stay open.
pub(crate) fn allow_files(count: libc::rlim_t) {
    let limit = libc::rlimit {
        rlim_cur: count,
        rlim_max: count,
    };
    // SAFETY: the structure lives during the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

/// Allows the process so many open files, which it may change again.
pub(crate) fn set_open_files(count: libc::rlim_t) {
    // SAFETY: zeros are a valid value of a structure of numbers, which the first call overwrites;
    // it lives during the calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = count.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}

/// Lets signals interrupt the system calls of all threads, and sends one to each until `stop` says
/// so.
pub(crate) fn interrupt_all_threads_until(stop: impl Fn() -> bool) {
    extern "C" fn ignore(_signal: libc::c_int) {}

    // SAFETY: zeros are a valid structure without flags, so without `SA_RESTART`; the handler does
    // nothing.
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

/// The calls that a filter makes fail.
#[derive(Clone, Copy)]
pub(crate) struct Forbidden {
    /// The number of the system call.
    pub(crate) call: libc::c_long,
    /// Its second argument, or `None` for all calls with that number.
    pub(crate) second_argument: Option<u32>,
    /// What they fail with.
    pub(crate) error: i32,
}

/// Makes system calls fail, in this process, for good.
pub(crate) fn forbid_system_calls(calls: Forbidden) {
    const ALL_THREADS: libc::c_long = 1;
    forbid(calls, ALL_THREADS);
}

/// Makes system calls of this thread fail, for good.
pub(crate) fn forbid_system_calls_here(calls: Forbidden) {
    forbid(calls, 0);
}

fn forbid(calls: Forbidden, flags: libc::c_long) {
    const LOAD: u16 = 0x20;
    const SKIP_UNLESS_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const FAIL: u32 = 0x0005_0000;
    /// Where a filter finds the number of the call, and the second argument's half that a small
    /// number is in.
    const NUMBER: u32 = 0;
    const SECOND_ARGUMENT: u32 = if cfg!(target_endian = "little") {
        24
    } else {
        28
    };

    let step = |code, unless, k| libc::sock_filter {
        code,
        jt: 0,
        jf: unless,
        k,
    };
    let Forbidden {
        call,
        second_argument,
        error,
    } = calls;
    let mut filter = vec![step(LOAD, 0, NUMBER)];
    match second_argument {
        None => filter.push(step(SKIP_UNLESS_EQUAL, 1, call as u32)),
        Some(argument) => filter.extend([
            step(SKIP_UNLESS_EQUAL, 3, call as u32),
            step(LOAD, 0, SECOND_ARGUMENT),
            step(SKIP_UNLESS_EQUAL, 1, argument),
        ]),
    }
    filter.push(step(RETURN, 0, FAIL | error as u32));
    filter.push(step(RETURN, 0, ALLOW));
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the filter and the structure live during the calls, which copy them. The filter reads
    // fields of what it is given.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let result = libc::syscall(libc::SYS_seccomp, 1, flags, &raw const program);
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }
}

/// Returns how many descriptors the process has open. Reading that takes one more, which counts
/// each time.
pub(crate) fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns how many descriptors the process has open, and how many threads it has.
pub(crate) fn files_and_threads() -> (usize, usize) {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    (open_files(), threads)
}

/// Returns what the process has open when `first` has built a pool and shut it down: what the first
/// pool of a process makes for all of them counts, its threads do not.
pub(crate) fn files_and_threads_after(first: impl FnOnce()) -> (usize, usize) {
    let (_, before) = files_and_threads();
    first();
    // The system lists a thread for a moment after another thread has joined it.
    wait_for(|| files_and_threads().1 == before);
    files_and_threads()
}

/// Refuses the process every further thread. The limit does not bind the superuser, so the process
/// gives that up.
pub(crate) fn allow_no_more_threads() {
    const UNPRIVILEGED: libc::uid_t = 65_534;
    // SAFETY: the calls take numbers, and a structure that lives during the call.
    unsafe {
        if libc::geteuid() == 0 {
            assert_eq!(libc::setuid(UNPRIVILEGED), 0);
        }
        let limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit), 0);
    }
    std::thread::Builder::new()
        .spawn(|| ())
        .expect_err("no thread is allowed");
}
