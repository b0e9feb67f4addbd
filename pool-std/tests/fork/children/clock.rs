//! What a child sets up once, and a thread of its parent was setting up.

use std::{
    process,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};

use crate::support::{End, alone, end_of, fork};
use pool_std::ThreadPoolBuilder;

/// Whether the system takes its time to tell the time.
static IS_SLOW: AtomicBool = AtomicBool::new(false);
/// Whether a thread waits for it.
static IS_AWAITED: AtomicBool = AtomicBool::new(false);

/// What the standard library calls.
///
/// # Safety
/// 1. The time may be written to.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> i32 {
    while IS_SLOW.load(SeqCst) {
        IS_AWAITED.store(true, SeqCst);
        thread::yield_now();
    }
    // SAFETY: by obligation 1.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    i32::try_from(result).unwrap()
}

/// Builds a pool in a process of several threads, which asks the clock.
fn the_global_pool_works() -> bool {
    let join = || pool_std::join(|| 1, || 2) == (1, 2);
    thread::spawn(join).join().unwrap()
}

/// Reproduces a bug: the moment of the first build was in a `OnceLock`, for whose initialization by
/// a thread of the parent the child waited.
#[test]
fn a_child_does_not_wait_for_the_clock_of_its_parent() {
    alone(|| {
        IS_SLOW.store(true, SeqCst);
        let build = || {
            let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            pool.install(|| ());
        };
        thread::scope(|threads| {
            let builder = threads.spawn(build);
            while !IS_AWAITED.load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            let Some(child) = fork() else {
                IS_SLOW.store(false, SeqCst);
                process::exit(i32::from(!the_global_pool_works()));
            };
            IS_SLOW.store(false, SeqCst);
            assert_eq!(end_of(child), End::Exit(0));
            builder.join().unwrap();
        });
    });
}
