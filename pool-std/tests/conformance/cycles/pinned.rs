//! All workers and their caller on one processor, so that a wake-up costs least and several runs do
//! not disturb each other.

use pool_std::{ThreadPool, ThreadPoolBuilder};

/// Builds a pool. If `SLEEP_PROCESSOR` has the number of a processor, its workers run there, as
/// does the caller from then on.
///
/// A process that is started on one processor (`taskset`) has pools without idle rounds. So the
/// caller has all of its processors while it builds the pool.
pub(crate) fn build(builder: ThreadPoolBuilder) -> ThreadPool {
    let Ok(processor) = std::env::var("SLEEP_PROCESSOR") else {
        return builder.build().unwrap();
    };
    let processor = processor.parse().expect("SLEEP_PROCESSOR is a number");
    affinity::unpin();
    let processors = std::thread::available_parallelism().unwrap().get();
    assert!(processors > 1, "with one processor there are no rounds");
    let pool = builder
        .start_handler(move |_| affinity::pin(processor))
        .build()
        .unwrap();
    affinity::pin(processor);
    pool
}

#[cfg(target_os = "linux")]
mod affinity {
    use std::{io, mem, sync::OnceLock};

    /// The processors of the process before its first thread was pinned.
    static ALL: OnceLock<libc::cpu_set_t> = OnceLock::new();

    /// Gives the calling thread all processors of the process.
    pub(super) fn unpin() {
        set(ALL.get_or_init(|| {
            // SAFETY: a set is made of integers.
            let mut all: libc::cpu_set_t = unsafe { mem::zeroed() };
            // SAFETY: the set has the size that the call is told.
            let result = unsafe { libc::sched_getaffinity(0, size_of_val(&all), &raw mut all) };
            assert_eq!(result, 0, "{}", io::Error::last_os_error());
            all
        }));
    }

    /// Gives the calling thread one processor.
    pub(super) fn pin(processor: usize) {
        // SAFETY: a set is made of integers.
        let mut one: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: the function checks the number against the size of the set.
        unsafe { libc::CPU_SET(processor, &mut one) };
        set(&one);
    }

    fn set(processors: &libc::cpu_set_t) {
        // SAFETY: the set has the size that the call is told.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(processors), processors) };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
    }
}

#[cfg(not(target_os = "linux"))]
mod affinity {
    pub(super) fn unpin() {
        panic!("SLEEP_PROCESSOR works on Linux only");
    }

    pub(super) fn pin(_processor: usize) {}
}
