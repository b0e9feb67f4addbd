//! What the workers of a child need from the system, and a thread of the parent was asking for.

use std::{
    ffi::{c_uint, c_void},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use pool_std::ThreadPoolBuilder;

use crate::support::{alone, in_child};

const LIMIT: Duration = Duration::from_secs(120);

/// Whether the system takes its time for random numbers.
static IS_SLOW: AtomicBool = AtomicBool::new(false);
/// Whether a thread waits for some.
static IS_AWAITED: AtomicBool = AtomicBool::new(false);

/// What the standard library calls.
///
/// # Safety
/// 1. The buffer has this length.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    while IS_SLOW.load(SeqCst) {
        IS_AWAITED.store(true, SeqCst);
        thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: by obligation 1.
    let count = unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) };
    isize::try_from(count).unwrap()
}

#[test]
fn a_child_does_not_wait_for_the_seeds_of_its_parent() {
    alone(|| {
        let pool = || ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        IS_SLOW.store(true, SeqCst);
        let of_parent = pool();
        let begin = Instant::now();
        while !IS_AWAITED.load(SeqCst) {
            assert!(begin.elapsed() < LIMIT, "the system is not asked");
            thread::yield_now();
        }
        in_child(|| {
            IS_SLOW.store(false, SeqCst);
            pool().install(|| true)
        });
        IS_SLOW.store(false, SeqCst);
        of_parent.install(|| ());
    });
}
